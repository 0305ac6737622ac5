"""Chapter IV's Rademacher complexities by the entropy integral itself, (4.6), in the place of
corollaries 37 and 39.
"""

import math
from collections.abc import Callable

import numpy as np

from scant.theory.generalisation import Problem, deviation

PIECES = 1_000_000  # of an integral that are added up; the rest is bounded by a logarithm


def dudley(covering: Callable, n: float, largest: float) -> float:
    """(4.6): a bound on the empirical Rademacher complexity, `inf_a 4a + 10 int_a^B
    sqrt(covering(e) / n) de`.

    An upper sum over 4,000 scales, less than half a percent above the infimum.

    covering : the log2 of the covering number at scales e, a non-increasing function
    largest : B, the largest absolute value of a function of the class
    """
    scales = largest * np.geomspace(1e-7, 1, 4001)
    steps = np.sqrt(covering(scales[:-1]) / n) * np.diff(scales)
    above = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    return float(np.min(4 * scales + 10 * above))


def dudley_l2(n: float, problem: Problem) -> float:
    """The upper bound (4.6) on the empirical Rademacher complexity of the losses of F2 from n
    queries, with Proposition 3's covering numbers and its integral in closed form.

    Losses are counted from those at w = 0, which changes no Rademacher complexity. The largest loss
    is then B or G W R_X, whichever is less (`largest_loss` and `scale` of the problem). Corollary
    37 has x in place of `ceil(x)`; where B is above G W R_X, this makes the corollary less than its
    own derivation gives.

    With s = G W R_X the integrand is constant for scales from s / sqrt(k) to s / sqrt(k - 1). The
    best alpha is s / sqrt(K), the least at which the integrand is at most 4.
    """
    scale, factor = problem.scale, np.log2(2 * problem.m * n + 1) / n
    largest = min(scale, problem.largest_loss)
    first, last = math.ceil((scale / largest) ** 2), int(0.16 / factor)
    if last < first:
        return 4 * largest
    some = min(last, PIECES)
    k = np.arange(first + 1, some + 1)
    pieces = math.sqrt(first) * largest - scale + scale * np.sum(np.sqrt(k / (k - 1)) - 1)
    if last > some:  # sqrt(1 + x) - 1 <= x / 2
        pieces += scale / 2 * math.log((last - 1) / (some - 1))
    return float(4 * scale / math.sqrt(last) + 10 * math.sqrt(factor) * pieces)


def dudley_gap_l2(n, problem: Problem):
    """Theorem 38 with `dudley_l2` in the place of Corollary 37."""
    return 2 * dudley_l2(n, problem) + deviation(n, problem)
