"""Which of its weights a learner ranks by, compiled.

`scant.rankers.iterates` is the same in plain Python.
"""

from scant.kernels import compiled

LAST, AVERAGE, SUFFIX = range(3)  # in the order of scant.rankers.iterates.CHOICES

# of the array `kept`: what is ranked by, and the sums that it is made of
MEAN, EARLIER, RECENT, ROWS = range(4)


@compiled()
def gather(iterate, t, weights, kept):
    """Add the weights of round t, from 0, to the mean of weights that the round is ranked by.

    iterate : AVERAGE, of all rounds so far, or SUFFIX, of the rounds from block / 2 to t, block
        being the largest power of two up to t; of all rounds while t is below 2
    weights : float64 (d); kept : float64 (ROWS, d), 0 at first
    """
    rounds = t + 1
    if iterate == SUFFIX:
        block = 1
        while 2 * block <= t:
            block *= 2
        # from here on the recent rounds begin anew, and those before are the earlier ones
        if t == block:
            for j in range(weights.shape[0]):
                kept[EARLIER, j], kept[RECENT, j] = kept[RECENT, j], 0.0
        if t >= 2:
            rounds = t + 1 - block // 2
    for j in range(weights.shape[0]):
        kept[RECENT, j] += weights[j]
        kept[MEAN, j] = (kept[EARLIER, j] + kept[RECENT, j]) / rounds
