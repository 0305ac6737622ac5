"""Which of its weights a learner ranks by, in plain Python: `scant.kernels.iterates` is the same,
compiled.
"""

import numpy as np

from scant.declare.declarations import Setting

CHOICES = ("last", "average", "suffix")
ITERATE = Setting(
    "iterate",
    {"enum": list(CHOICES)},
    about="The weights that lists are ranked by: the last ones, the average of all so far, or of a "
    "suffix, the last half to three quarters of the rounds. Steps are those of the last weights.",
    absent=CHOICES[0],
    ours=True,
)


class Iterates:
    """The weights of all rounds so far; a learner ranks by `mean`, an average of them.

    The "suffix" of rounds that ends at round t, counted from 0, begins at half the largest power of
    two up to t, so that two sums are enough.
    """

    def __init__(self, iterate: str):
        self.iterate, self.rounds = iterate, []

    def mean(self, weights: np.ndarray) -> np.ndarray:
        """Take in the weights (d) of the next round, and return the weights to rank it by."""
        if self.iterate == "last":
            return weights
        self.rounds.append(weights.copy())
        last, start = len(self.rounds) - 1, 0
        if self.iterate == "suffix" and last >= 2:
            start = 1 << (last.bit_length() - 2)
        return np.mean(self.rounds[start:], axis=0)
