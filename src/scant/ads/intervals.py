"""Bounds on the mean of importance-weighted rewards X_i in [0, B], where B is declared, not seen.

Every bound works on counted terms (`Terms`): which values X takes, and how often. With 0/1 rewards and an
epsilon-greedy policy there are three, so that no bound needs the rows. Each function gives a lower bound that holds
with a confidence of `level` (one-sided); `interval` makes a two-sided interval of any of them. Counts may have leading
axes, for many campaigns at once.

Which bounds hold for every distribution: Hoeffding, empirical Bernstein, Clopper-Pearson, betting. Student's t and the
bootstrap hold in the limit only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scant.errors import SettingError

EXACT = 1024  # distinct values kept as they are; more are put into bins
BITS = 43  # of a double's mantissa that a bin ignores: a bin is at most 1/512 of its value wide
OCTAVES = 20  # below B / 2^20 there is one bin, down to 0
FIRST = 128  # rows after which betting first renews its bet, and then at each doubling
CAP = 0.75  # the largest share of the capital that a bet can lose in one row
HALVINGS = 40


@dataclass(frozen=True)
class Terms:
    """What values the terms take, and how often, in each stage of the log.

    value : float64 (distinct), ascending, in [0, largest]
    count : int64 (..., stages, distinct), the stages in the log's order
    largest : B, the declared upper end of the range
    support : every value that a term can take, if these are few and declared
    low, high : float64 (distinct), the ends of the bin that a value stands for; `value` unless there are very many
        values. Then `value` is the bin's mean, so that means are exact, variances to 1e-6 of the mean square.
    """

    value: np.ndarray
    count: np.ndarray
    largest: float
    support: tuple[float, ...] | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @property
    def total(self) -> np.ndarray:
        """int64 (..., distinct), how often each value occurs in all stages."""
        return self.count.sum(axis=-2)

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """n, mean, and variance with n - 1 (NaN for fewer than two terms); each (...)."""
        total = self.total
        n = total.sum(axis=-1)
        mean = total @ self.value / n
        with np.errstate(invalid="ignore", divide="ignore"):
            return n, mean, (total * (self.value - mean[..., None]) ** 2).sum(axis=-1) / (n - 1)

    def reflected(self) -> "Terms":
        """The terms B - X: a lower bound on their mean is B minus an upper bound on that of X."""
        low, high = (None if end is None else (self.largest - end)[::-1] for end in (self.high, self.low))
        return Terms((self.largest - self.value)[::-1], self.count[..., ::-1], self.largest, None, low, high)


def stage_ends(rows: int) -> np.ndarray:
    """int64, the number of rows at the end of each stage of betting: 128, 256, 512, ..., and all."""
    ends = FIRST << np.arange(64 - FIRST.bit_length())
    return np.r_[ends[ends < rows], rows]


def counted(x: np.ndarray, largest: float, support: tuple[float, ...] | None = None) -> Terms:
    """Count the terms of a log.

    Parameters
    ----------
    x : float64 (rows), in the log's order
    largest : B, the declared upper end of the range
    support : every value that a term can take, if these are few and declared; 0 is always one. Values within 1e-9 B
        of each other count as one

    Raises
    ------
    SettingError : terms outside [0, B] or the support, no terms
    """
    x, largest = np.asarray(x, float), float(largest)
    if x.ndim != 1 or not len(x):
        raise SettingError(f"terms have shape {x.shape}; one row or more is needed")
    if not 0 <= x.min() <= x.max() <= largest * (1 + 1e-9):
        raise SettingError(
            f"terms range from {x.min():g} to {x.max():g}; [0, {largest:g}] was declared. "
            "Declare the largest weight from the policy and the logging propensities"
        )
    ends, at = stage_ends(len(x)), np.flatnonzero(x)
    some = np.minimum(x[at], largest)
    stage = np.searchsorted(ends, at, side="right")
    few = len(np.unique(some[:10_000])) <= EXACT
    value = np.unique(some) if few else np.empty(0)
    if few and len(value) <= EXACT:
        code, low, high = np.searchsorted(value, some), value, value
    else:
        least = (np.array([largest * 2.0**-OCTAVES]).view(np.int64) >> BITS)[0]
        code = np.maximum(some.view(np.int64) >> BITS, least) - least
        bins = np.arange(least, least + code.max() + 2)
        edges = (bins << BITS).view(float)
        edges[0] = 0.0
        often = np.bincount(code)
        kept = often > 0
        value = np.bincount(code, some)[kept] / often[kept]
        low, high = edges[:-1][kept], np.minimum(edges[1:], largest)[kept]
        value = np.clip(value, low, high)
        code = (np.cumsum(kept) - 1)[code]
    count = np.bincount(stage * len(value) + code, minlength=len(ends) * len(value)).reshape(len(ends), len(value))
    zeros = np.diff(ends, prepend=0) - count.sum(axis=1)
    count = np.column_stack([zeros, count])
    value, low, high = (np.r_[0.0, part] for part in (value, low, high))
    if support is not None:
        support = sorted({0.0, *map(float, support)})
        # values that only rounding tells apart are one, or what is seen of them would count for each
        support = (support[0], *(b for a, b in pairwise(support) if b - a > 1e-9 * largest))
        near = np.abs(value[:, None] - np.array(support)).min(axis=1)
        if np.any(near > 1e-9 * largest) or support[0] < 0 or support[-1] > largest * (1 + 1e-9):
            seen = value[np.argmax(near)]
            raise SettingError(f"a term is {seen:g}, which is not among the declared values {support}")
    return Terms(value, count, largest, support, low, high)


# --- bounds in closed form


def t(terms: Terms, level: float) -> np.ndarray:
    """Student's t lower bound (thesis, eq. 5.5). It is not cut at 0."""
    return t_of(*terms.moments(), level)


def t_of(n, mean, variance, level: float):
    """As `t`, of n terms of this mean and variance."""
    from scipy import special

    return mean - np.sqrt(variance / n) * special.stdtrit(np.maximum(n - 1, 1), level)


def hoeffding(terms: Terms, level: float) -> np.ndarray:
    """Hoeffding's lower bound: mean - B sqrt(ln(1/delta) / 2n), or 0."""
    n, mean, _ = terms.moments()
    return np.maximum(mean - terms.largest * np.sqrt(-np.log1p(-level) / (2 * n)), 0.0)


def empirical_bernstein(terms: Terms, level: float) -> np.ndarray:
    """Lower bound from the variance seen and the range declared (Maurer and Pontil 2009, theorem 4), or 0."""
    return np.maximum(empirical_bernstein_of(*terms.moments(), terms.largest, level), 0.0)


def empirical_bernstein_of(n, mean, variance, width: float, level: float):
    """As `empirical_bernstein`, of n terms of this mean and variance in a range of this width; not cut at 0."""
    log = np.log(2 / (1 - level))
    return mean - np.sqrt(2 * variance * log / n) - 7 * width * log / (3 * (n - 1))


def clopper_pearson(terms: Terms, level: float, upper: bool = False) -> np.ndarray:
    """Exact bound: sum of c times the Clopper-Pearson bound of how often c occurs, over the declared values c > 0.

    With m such values each of their bounds holds with 1 - delta / m. For terms that are 0 or c this is c times the
    Clopper-Pearson bound itself. `upper` gives the upper bound.

    Raises
    ------
    SettingError : no values were declared
    """
    from scipy import special  # not stats, which takes half a second to import

    if terms.support is None:
        raise SettingError("Clopper-Pearson needs every value that a term can take; declare the weights")
    values = [value for value in terms.support if value > 0]
    total, bound, delta = terms.total, 0.0, (1 - level) / max(len(values), 1)
    n = total.sum(axis=-1)
    for value in values:
        k = total[..., np.abs(terms.value - value) <= 1e-9 * terms.largest].sum(axis=-1)
        if upper:
            part = np.where(k < n, special.betainccinv(k + 1, np.maximum(n - k, 1), delta), 1.0)
        else:
            part = np.where(k > 0, special.betaincinv(np.maximum(k, 1), n - k + 1, delta), 0.0)
        bound = bound + value * part
    return np.minimum(bound, terms.largest)


# --- betting


def betting(terms: Terms, level: float, planned: bool = True) -> np.ndarray:
    """Lower bound by betting against each candidate mean m (Waudby-Smith and Ramdas 2024), or 0.

    The capital prod_i (1 + lambda_i (X_i - m)) is a nonnegative martingale if m is the mean, so that it ever reaches
    1/delta with a probability of delta at most; it falls in m. The bound is the largest m against which the capital
    has reached 1/delta at the end of a stage, or the terms' mean if that is less. Bets are
    lambda_i = min(sqrt(2 ln(1/delta) / (N s^2)), CAP / m), with s^2 the regularised variance of the stages before:
    constant in a stage, whose rows may thus be counted. The rows must be in an order that does not depend on the
    rewards to come, as that in which they were logged.

    planned : N is the number n of rows, which must not depend on their rewards: the tightest at n. Else N is
        T ln(1 + T), T the stage's end were it whole: a confidence sequence, for a log that grows and is looked at
        again and again; all these bounds hold at once.
    """
    x = (terms.value if terms.low is None else terms.low) / terms.largest
    count, goal = terms.count, -np.log1p(-level)
    before = np.cumsum(count, axis=-2) - count
    rows = before.sum(axis=-1)
    mean = before @ x / np.maximum(rows, 1)
    variance = (0.25 + np.maximum(before @ x**2 - rows * mean**2, 0.0)) / (rows + 1)
    whole = np.maximum(2 * rows, FIRST)
    horizon = count.sum(axis=(-2, -1))[..., None] if planned else whole * np.log1p(whole)
    bet = np.sqrt(2 * goal / (horizon * variance))

    def reached(m):  # (...) whether the capital against m has reached its goal
        shares = np.minimum(bet, CAP / m[..., None])[..., None]
        gains = (count * np.log1p(shares * (x - m[..., None, None]))).sum(axis=-1)
        return np.cumsum(gains, axis=-1).max(axis=-1) >= goal

    low, high = np.zeros(count.shape[:-2]), np.ones(count.shape[:-2])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = reached(middle)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.minimum(low * terms.largest, terms.moments()[1])  # early rows may refute even the mean


def betting_sequence(terms: Terms, level: float) -> np.ndarray:
    """As `betting`, for a log that grows: the bounds at all its lengths hold at once with a confidence of `level`."""
    return betting(terms, level, planned=False)


# --- bootstrap


def resampled(terms: Terms, random: np.random.Generator, replicates: int = 10_000) -> np.ndarray:
    """Means of bootstrap samples, ascending: float64 (replicates). One log, without leading axes.

    A sample is one multinomial draw of how often each value occurs, which is exact. More than 64 distinct values are
    put into bins of at most 1/8 of their value, each by its mean: the variance then falls short by 0.2 % at most.
    """
    value, total = terms.value, terms.total
    if len(value) > 64:
        code = value.view(np.int64) >> 49
        code = np.searchsorted(np.unique(code), code)
        often = np.bincount(code, total)
        value, total = np.bincount(code, total * value) / np.maximum(often, 1), often
    n = int(total.sum())
    draws = random.multinomial(n, total / n, replicates)
    return np.sort(draws @ value) / n


def percentile(means: np.ndarray, probability: float) -> float:
    """The percentile bootstrap's bound: this quantile of the resampled means."""
    return float(means[max(int(np.ceil(probability * len(means))) - 1, 0)])


def bca(terms: Terms, means: np.ndarray, probability: float) -> float:
    """The bootstrap's bound, corrected for bias and acceleration (Efron 1987), which skew calls for.

    Ties of the resampled means with the mean count half: counts of clicks are often equal.
    """
    from scipy import special

    n, mean, variance = terms.moments()
    if not variance > 0:
        return float(mean)
    slack = 1e-9 * terms.largest / n
    below = np.searchsorted(means, mean - slack), np.searchsorted(means, mean + slack, side="right")
    bias = special.ndtri(np.clip(sum(below) / 2, 0.5, len(means) - 0.5) / len(means))
    third = terms.total @ (terms.value - mean) ** 3
    acceleration = third / (6 * (variance * (n - 1)) ** 1.5)
    z = bias + special.ndtri(probability)
    return percentile(means, special.ndtr(bias + z / (1 - acceleration * z)))


# --- two-sided


BOUNDS: dict[str, Callable[[Terms, float], np.ndarray]] = {
    "t": t,
    "hoeffding": hoeffding,
    "empirical-bernstein": empirical_bernstein,
    "clopper-pearson": clopper_pearson,
    "betting": betting,
    "betting-sequence": betting_sequence,
}


def interval(bound, terms: Terms, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided interval of a bound, a function as those of `BOUNDS`: half of 1 - level on either side."""
    one = (1 + level) / 2
    if bound is clopper_pearson:
        return bound(terms, one), bound(terms, one, upper=True)
    return bound(terms, one), terms.largest - bound(terms.reflected(), one)
