"""Bounds on the mean of importance-weighted rewards X_i in [0, B], where B is declared, not taken
from the log.

Every bound works on counted terms (`Terms`): which values X takes, and how often. With 0/1 rewards
and an epsilon-greedy policy there are three values, so that no bound needs the rows. Each function
returns a lower bound that holds with a confidence of `level` (one-sided); `interval` makes a
two-sided interval from any of them. Counts may have leading axes, for many logs at once.

Hoeffding's, the empirical Bernstein, Clopper-Pearson and betting bounds hold for every
distribution; Student's t and the bootstrap only in the limit of many rows. If rows are independent
but have means of their own (rates that drift), all but betting's bound the average of these means;
betting's does if the rows are put in random order first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from scant.errors import SettingError

EXACT = 1024  # distinct values kept as they are; more are put into bins

# low bits of a double's mantissa that a bin ignores, so that its width is at most 1/512 of its
# value
BITS = 43
OCTAVES = 20  # below B / 2^20 there is one bin, down to 0
FIRST = 128  # rows of the first stage of betting; a stage ends whenever this number has doubled
CAP = 0.75  # the largest share of the capital that a bet can lose in one row
HALVINGS = 40  # of the interval in which the betting bound is searched


@dataclass(frozen=True)
class Terms:
    """Counted terms X_i: their values, and how often each occurs in each stage of betting.

    value : float64 (distinct), ascending, in [0, largest]
    count : int64 (..., stages, distinct), the stages in the log's order
    largest : B, the declared upper end of the range
    support : every value that a term can take, if these are few and declared
    low, high : float64 (distinct), the ends of the bin that a value stands for. With few values
        they are `value`; with very many, `value` is the mean of the bin, so that means are exact,
        and variances up to 1e-6 of the mean square
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
        """n, the mean, and the variance with n - 1 in its denominator (NaN for fewer than two
        terms); each (...).
        """
        total = self.total
        n = total.sum(axis=-1)
        mean = total @ self.value / n
        with np.errstate(invalid="ignore", divide="ignore"):
            return n, mean, (total * (self.value - mean[..., None]) ** 2).sum(axis=-1) / (n - 1)

    def reflected(self) -> "Terms":
        """The terms B - X: B minus a lower bound on their mean is an upper bound on that of X."""
        low, high = (
            None if end is None else (self.largest - end)[::-1] for end in (self.high, self.low)
        )
        return Terms(
            (self.largest - self.value)[::-1], self.count[..., ::-1], self.largest, None, low, high
        )


def stage_ends(rows: int) -> np.ndarray:
    """The number of rows at the end of each stage of betting, int64 (stages): 128, 256, 512, ...,
    and all rows.
    """
    ends = FIRST << np.arange(64 - FIRST.bit_length())
    return np.r_[ends[ends < rows], rows]


def counted(x: np.ndarray, largest: float, support: tuple[float, ...] | None = None) -> Terms:
    """Count the terms of a log.

    Parameters
    ----------
    x : float64 (rows), in [0, B], in the log's order
    largest : B, the declared upper end of the range
    support : every value that a term can take, if these are few and declared; 0 always belongs to
        it. Values within 1e-9 B of each other are taken as one
    """
    largest = float(largest)
    ends, rows = stage_ends(len(x)), np.flatnonzero(x)
    nonzero = np.minimum(x[rows], largest)
    stage = np.searchsorted(ends, rows, side="right")
    # in the first rows: spares sorting all where there are many
    few = len(np.unique(nonzero[:10_000])) <= EXACT
    value = np.unique(nonzero) if few else np.empty(0)
    if few and len(value) <= EXACT:
        code, low, high = np.searchsorted(value, nonzero), value, value
    else:
        code, value, low, high = _binned(nonzero, largest)
    count = np.bincount(stage * len(value) + code, minlength=len(ends) * len(value)).reshape(
        len(ends), len(value)
    )
    zeros = np.diff(ends, prepend=0) - count.sum(axis=1)
    count = np.column_stack([zeros, count])
    value, low, high = (np.r_[0.0, part] for part in (value, low, high))
    if support is not None:
        support = sorted({0.0, *map(float, support)})
        # values that differ by rounding are merged, else a term near several of them would count
        # for each
        support = (support[0], *(b for a, b in pairwise(support) if b - a > 1e-9 * largest))
        distance = np.abs(value[:, None] - np.array(support)).min(axis=1)
        if np.any(distance > 1e-9 * largest):
            seen = value[np.argmax(distance)]
            raise SettingError(
                f"a term is {seen:g}, which is not among the declared values {support}"
            )
    return Terms(value, count, largest, support, low, high)


def _binned(
    x: np.ndarray, largest: float, count: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """The bin of each term above 0, int (terms), and for each bin the mean of its terms and its
    ends, float64 (bins).

    count : how often each term occurs; once unless given
    """
    lowest = (np.array([largest * 2.0**-OCTAVES]).view(np.int64) >> BITS)[0]
    code = np.maximum(x.view(np.int64) >> BITS, lowest) - lowest
    edges = (np.arange(lowest, lowest + code.max() + 2) << BITS).view(float)
    edges[0] = 0.0
    counts = np.bincount(code, count)
    kept = counts > 0
    value = np.bincount(code, x if count is None else x * count)[kept] / counts[kept]
    low, high = edges[:-1][kept], np.minimum(edges[1:], largest)[kept]
    return (np.cumsum(kept) - 1)[code], np.clip(value, low, high), low, high


def drawn(
    x, count, largest: float, random: np.random.Generator, support: tuple[float, ...] | None = None
) -> Terms:
    """`counted` terms of a log in a random order of its rows, from how often each value occurs.

    x, count : float64 and int64 (cells), values, which may repeat, and how often each occurs
    largest, support : see `counted`
    """
    value, place = np.unique(np.r_[0.0, np.minimum(x, largest)], return_inverse=True)
    total = np.bincount(place[1:], count, len(value)).astype(np.int64)
    low = high = None
    if len(value) > EXACT + 1:
        code, *bins = _binned(value[1:], float(largest), total[1:])
        total = np.r_[total[0], np.bincount(code, total[1:]).astype(np.int64)]
        value, low, high = (np.r_[0.0, part] for part in bins)
    support = None if support is None else counted(value, largest, support).support
    return Terms(value, in_random_order(total, random), float(largest), support, low, high)


def in_random_order(total: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """How often each value occurs in each stage, int64 (stages, distinct), of rows in random order.

    total : int64 (distinct), how often each occurs in all rows
    """
    ends, left = stage_ends(int(total.sum())), total.copy()
    stages = np.zeros((len(ends), len(total)), np.int64)
    for stage, rows in enumerate(np.diff(ends, prepend=0)):
        stages[stage] = random.multivariate_hypergeometric(left, rows, method="marginals")
        left -= stages[stage]
    return stages


# --- bounds in closed form


def t(terms: Terms, level: float) -> np.ndarray:
    """Student's t lower bound (thesis, eq. 5.5). It is not cut at 0."""
    return t_of(*terms.moments(), level)


def t_of(n, mean, variance, level: float):
    """The bound of `t` for n terms with this mean and variance."""
    from scipy import special

    return mean - np.sqrt(variance / n) * special.stdtrit(np.maximum(n - 1, 1), level)


def hoeffding(terms: Terms, level: float) -> np.ndarray:
    """Hoeffding's lower bound: mean - B sqrt(ln(1/delta) / 2n), or 0."""
    n, mean, _ = terms.moments()
    return np.maximum(mean - terms.largest * np.sqrt(-np.log1p(-level) / (2 * n)), 0.0)


def empirical_bernstein(terms: Terms, level: float) -> np.ndarray:
    """Lower bound from the variance seen and the range declared (Maurer and Pontil 2009, theorem
    4), or 0.
    """
    return np.maximum(empirical_bernstein_of(*terms.moments(), terms.largest, level), 0.0)


def empirical_bernstein_of(n, mean, variance, width: float, level: float):
    """The bound of `empirical_bernstein`, not cut at 0, for n terms with this mean, variance and
    width of the range.
    """
    log = np.log(2 / (1 - level))
    with np.errstate(divide="ignore"):  # of one term it says nothing
        return mean - np.sqrt(2 * variance * log / n) - 7 * width * log / (3 * np.subtract(n, 1.0))


def clopper_pearson(terms: Terms, level: float, upper: bool = False) -> np.ndarray:
    """Exact bound: the sum, over the declared values c > 0, of c times the Clopper-Pearson bound on
    how often c occurs.

    With m such values, each of these bounds has confidence 1 - (1 - level) / m, so that all hold at
    once with a confidence of `level`. If terms are 0 or c, this is c times the Clopper-Pearson
    bound itself. `upper` gives the upper bound.
    """
    from scipy import special  # not stats, which takes half a second to import

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

    With delta = 1 - level: if m is the mean, the capital prod_i (1 + lambda_i (X_i - m)) is a
    nonnegative martingale, which ever reaches 1/delta with a probability of at most delta. The
    capital decreases in m. The bound is the largest m against which the capital has reached 1/delta
    at the end of a stage, or the mean of the terms if that is less. The bets are lambda_i =
    min(sqrt(2 ln(1/delta) / (N s^2)), CAP / m), with s^2 the regularised variance of the stages
    before. They are constant within a stage, so that counts of its rows suffice. Every row must
    have the same mean, given the rows before it. Rows in the order in which they were logged have
    it if rates do not change. Rows in random order have it whatever happened, if the moments of the
    visits were random, too. For given moments, the expected product of shuffled rows at a constant
    bet is e_k(a) / binom(n, k) <= mean(a)^k with a_i = 1 + lambda (mu_i - m), by Maclaurin's
    inequality; bets that depend on earlier stages are left to simulation (`scant.ads.coverage`).

    planned : if true, N is the number n of rows, which must not depend on their rewards; this bound
        is the tightest at n. If false, N is T ln(1 + T), with T the end of the stage if it were
        complete: a confidence sequence, for a log that grows and is looked at repeatedly. Its
        bounds at all lengths hold at once.
    """
    x = (terms.value if terms.low is None else terms.low) / terms.largest
    count, goal = terms.count, -np.log1p(-level)
    before = np.cumsum(count, axis=-2) - count
    rows = before.sum(axis=-1)
    mean = before @ x / np.maximum(rows, 1)
    # 1/4, the largest variance in [0, 1], counts as a row: without rows there is none to be seen.
    variance = (0.25 + np.maximum(before @ x**2 - rows * mean**2, 0.0)) / (rows + 1)
    whole = np.maximum(2 * rows, FIRST)
    horizon = count.sum(axis=(-2, -1))[..., None] if planned else whole * np.log1p(whole)
    bet = np.sqrt(2 * goal / (horizon * variance))

    def reached(m):  # (...) whether the capital against m reaches its goal at the end of a stage
        shares = np.minimum(bet, CAP / m[..., None])[..., None]
        gains = (count * np.log1p(shares * (x - m[..., None, None]))).sum(axis=-1)
        return np.cumsum(gains, axis=-1).max(axis=-1) >= goal

    low, high = np.zeros(count.shape[:-2]), np.ones(count.shape[:-2])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = reached(middle)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    # early rows may refute even the mean of all
    return np.minimum(low * terms.largest, terms.moments()[1])


def betting_without_range(terms: Terms, level: float) -> np.ndarray:
    """`betting`'s lower bound where no largest value is known: of terms that are 0 or more, with a
    mean of at most 1.

    The proof of `betting` uses the range only to show that no bet loses more than the capital. A
    bet of at most 1 / m cannot, since X >= 0. The range also sets the first bets: here it is [0,
    1], which values may exceed. Later bets follow from the variance of the stages before. There is
    no such upper bound, since a rare large value may not have been seen yet. But if the mean weight
    is 1, which needs every ad of the policy to be possible, 1 minus this bound for the terms w (1 -
    r) is an upper bound.
    """
    return betting(Terms(terms.value, terms.count, 1.0, None, terms.low, terms.high), level)


# --- bootstrap


def resampled(terms: Terms, random: np.random.Generator, replicates: int = 10_000) -> np.ndarray:
    """The means of bootstrap samples of one log (counts without leading axes), ascending, float64
    (replicates).

    A sample is one multinomial draw of how often each value occurs, which has the distribution of
    drawing rows. More than 64 distinct values are put into bins of at most 1/8 of their value,
    represented by their means, which lowers the variance by 0.2 % at most.
    """
    value, total = terms.value, terms.total
    if len(value) > 64:
        # positive doubles sort as their bits do; three of the mantissa are kept
        bins = value.view(np.int64) >> 49
        bins = np.searchsorted(np.unique(bins), bins)
        counts = np.bincount(bins, total)
        value, total = np.bincount(bins, total * value) / np.maximum(counts, 1), counts
    n = int(total.sum())
    draws = random.multinomial(n, total / n, replicates)
    return np.sort(draws @ value) / n


def percentile(means: np.ndarray, probability):
    """The bound of the percentile bootstrap: quantiles of the resampled means (ascending), shaped
    as `probability`.
    """
    return means[np.maximum(np.ceil(np.multiply(probability, len(means))).astype(int) - 1, 0)]


def bca(terms: Terms, means: np.ndarray, probability):
    """The bound of the bootstrap corrected for bias and acceleration (Efron 1987), for skewed
    terms.

    Resampled means that equal the mean count half below it: with few clicks, such ties are
    frequent. Shapes are as in `percentile`.
    """
    from scipy import special

    n, mean, variance = terms.moments()
    if not variance > 0:
        return np.full(np.shape(probability), mean)
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
    "betting-sequence": partial(betting, planned=False),
}


def interval(bound, terms: Terms, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The two-sided interval of a bound, with an error of (1 - level) / 2 on either side; each end
    (...).

    bound : a function of `BOUNDS`
    """
    one_sided = (1 + level) / 2
    if bound is clopper_pearson:
        return bound(terms, one_sided), bound(terms, one_sided, upper=True)
    return bound(terms, one_sided), terms.largest - bound(terms.reflected(), one_sided)
