"""Evidence that may be looked at after any number of seeds: tests and intervals that stay valid
however often.

Evidence against a null hypothesis is a number that starts at 1 and that, while the null holds,
grows no more on average than a fair bet's winnings (an e-process). Whenever one stops looking, and
for whatever reason, the probability that it has ever reached 1/p is at most p (Ville, 1939). So
1/evidence is a p-value that needs no plan of how many seeds there will be. Evidence is given as its
logarithm.
"""

import math
from functools import lru_cache

import numpy as np

# Prior on the effect of the t test, in standard deviations: half of it half-normal with the first
# scale, for effects of ordinary size; half with the second, for those of learners that share nearly
# all chance. benchmarks/verdicts.py measures what it does with differences that are not normal.
SCALES = (0.5, 10.0)
# fewer decide nothing by t: they may be alike by luck. benchmarks/premise.py says what fewer would
# do
LEAST_SEEDS = 12
LEAST_VALUES = 5  # nor do fewer different values
LARGEST_T = 1e9
BISECTIONS = 60


def log_t_evidence(t, n: int) -> np.ndarray:
    """The logarithm of the evidence against "the mean is at most 0" in the t statistic of n values.

    It is the ratio of likelihoods of the scale-invariant part of the data under effects delta > 0
    (mean over standard deviation), mixed by the prior of `SCALES`, and under delta = 0. For normal
    values with delta = 0 it is a martingale with mean 1 (right-Haar prior on the scale; Lai, 1976;
    Perez-Ortiz et al., 2022; Wang and Ramdas, 2023). It grows with t. A smaller mean makes t
    smaller in every sequence of values, so that it is valid for all means up to 0.

    Parameters
    ----------
    t : any shape, mean / standard deviation * sqrt(n); infinite where all values are equal
    n : how many values, 2 or more

    Returns
    -------
    log_evidence : of the same shape
    """
    from scipy import special

    t = np.asarray(t, float)
    outside = (n - 1) / (n - 1 + t**2)  # the share of the sum of squares that is not the mean's
    cosine = np.sign(t) * np.sqrt(1 - outside)
    parts = []
    for scale in SCALES:
        # With a normal prior of both signs the ratio is spread^(-1/2) shrunk^(-n/2). To restrict it
        # to effects above 0 is to multiply by twice the posterior probability of these, which has a
        # t distribution.
        spread = 1 + n * scale**2
        shrunk = outside + cosine**2 / spread
        above = special.stdtr(n, np.sqrt(n * (1 - 1 / spread) / shrunk) * cosine)
        with np.errstate(divide="ignore"):
            parts.append(np.log(2 * above) - (np.log(spread) + n * np.log(shrunk)) / 2)
    return np.logaddexp.reduce(parts) - math.log(len(SCALES))


@lru_cache(maxsize=4096)
def least_t(n: int, p: float) -> float:
    """The least t statistic of n values whose evidence is 1/p, enough to decide at level p.

    Infinite if even equal values have less evidence, or if n is below `LEAST_SEEDS`.
    """
    if n < LEAST_SEEDS:
        return math.inf
    low, high, wanted = 0.0, LARGEST_T, -math.log(p)
    if log_t_evidence(high, n) < wanted:
        return math.inf
    for _ in range(BISECTIONS):
        # from far above, the root halves the number of digits: the mean would take 30 steps down to
        # ordinary values
        middle = math.sqrt(high) if high > 100 and low < 1 else (low + high) / 2
        low, high = (low, middle) if log_t_evidence(middle, n) >= wanted else (middle, high)
    return high


def log_share_evidence(ones: int, n: int, bound: float) -> float:
    """The logarithm of the evidence against "the share is at most `bound`" in n values of 0 and 1.

    It is the ratio of binomial likelihoods under shares above the bound, uniform between it and 1,
    and at the bound: the truncated beta-binomial mixture (Robbins, 1970). It falls with the bound.

    Returns
    -------
    log_evidence : infinite where these values are impossible for a share at the bound
    """
    from scipy import special

    if bound < 0 or (bound == 0 and ones):
        return math.inf
    if bound >= 1:
        return -math.inf
    # the probability that a beta variable is
    above = special.betaincc(ones + 1, n - ones + 1, bound)
    log_above = math.log(above) if above > 0 else -math.inf
    mixed = special.betaln(ones + 1, n - ones + 1) + log_above - math.log1p(-bound)
    return float(mixed - special.xlogy(ones, bound) - special.xlog1py(n - ones, -bound))


@lru_cache(maxsize=65536)
def least_share(ones: int, n: int, p: float) -> float:
    """The lower end of the confidence sequence of a share: the largest bound against which the
    evidence is 1/p.
    """
    low, high = 0.0, ones / n
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        against = log_share_evidence(ones, n, middle) >= -math.log(p)
        low, high = (middle, high) if against else (low, middle)
    return low
