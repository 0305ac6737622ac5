"""Places of documents under the Plackett-Luce model, exactly.

Document d arrives at an exponential time with rate exp(s_d), and documents are listed in the order
of their arrival (Yellott 1977). So d is in place k if k - 1 others arrive before it: an integral,
over the time t of its arrival, of its density times the probability of k - 1 successes among
independent others, of which each has arrived with probability 1 - exp(-exp(s) t).
"""

import math

import numpy as np

from scant.kernels import compiled

STEP = 0.15  # of the trapezoid rule in log t, whose error falls as exp(-pi^2 / STEP)
EARLIEST = -40.0  # log t of the first arrival that counts, for a score of 0
LATEST = 4.0  # log t of the last one


@compiled()
def marginals(scores, places, stays):
    """The probability that each document is in each place, and that a user comes to it: float64 (m,
    places).

    scores : float64 (m); places : at most m
    stays : float64 (m), the probability that a user who comes to a document goes on to the next; 1
        for all documents leaves the probability of the places
    """
    m = scores.shape[0]
    start, end = EARLIEST - scores.max(), LATEST - scores.min()
    chances, density = np.zeros((m, places)), np.empty(m)
    absent, passed = np.empty(m), np.empty(m)  # not there yet; there, and the user goes on
    # [d, j]: the probability that j of the documents from d on have arrived; j of those before d
    behind, ahead = np.empty((m + 1, places)), np.empty(places)
    for i in range(math.ceil((end - start) / STEP) + 1):
        for d in range(m):
            rate = math.exp(scores[d] + start + i * STEP)
            arrived, density[d] = -math.expm1(-rate), rate * math.exp(-rate)
            absent[d], passed[d] = 1 - arrived, arrived * stays[d]
        behind[m], ahead[:] = 0.0, 0.0
        behind[m, 0] = ahead[0] = 1.0
        for d in range(m - 1, 0, -1):
            behind[d, 0] = absent[d] * behind[d + 1, 0]
            for j in range(1, places):
                without = absent[d] * behind[d + 1, j]
                behind[d, j] = without + passed[d] * behind[d + 1, j - 1]
        for d in range(m):
            for k in range(places):
                others = 0.0
                for j in range(k + 1):
                    others += ahead[j] * behind[d + 1, k - j]
                chances[d, k] += STEP * density[d] * others
            for j in range(places - 1, 0, -1):
                ahead[j] = absent[d] * ahead[j] + passed[d] * ahead[j - 1]
            ahead[0] *= absent[d]
    return chances
