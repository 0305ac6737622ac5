"""Bounds on the quotient of two means, by betting against each candidate as
`scant.bandits.intervals.betting` does.

The quotient of E[gain] and E[stake] is m where gain - m stake has a mean of 0. A third term, the
excess, has a mean of 0 whatever m is: a weight less another one, since weights are 1 on average. So
z = gain - m stake - c excess has a mean of 0, too, for every c that earlier stages decide. The c is
that of least squares in the earlier stages. It takes out of a reward what is the same whatever is
shown: with gain w r, stake 1 and excess w - 1, z is w (r - c) + c - m. Adding a constant to all
rewards adds it to c and m, and leaves z as it is. Of lists there are several excesses, each with
its c.

The capital prod_i (1 + b_i z_i) is a supermartingale if the quotient is m or less, for bets b_i
that earlier stages decide and that lose no more than the capital. What a visit can lose at most is
at a corner of the ranges of weights and rewards; a user may lose `most` times that. A number is
refuted if the capital reached its goal at the end of a stage. The lower bound is the least number
that is not refuted. The upper bound follows from -z.

Marks are numbers that are the same whatever the log is. All numbers between two marks are tested by
the bets of one of the two: for lower bounds the higher one, at which a visit can lose the most.
With given b and c, z falls as m rises, since stakes are not negative, and so does the capital at
the end of every stage. So where a mark is refuted, all numbers from the mark before on are, too,
and in the cell of the first mark that is not, the refuted numbers and the others are two intervals.
This is why a search from mark to mark, and then by halving, passes no number that is not refuted.

Bets are b = min(sqrt(2 ln(1/delta) / (N s^2)), cap / loss). The variance s^2 is the mean square of
z over the units of earlier stages and over some that are assumed; its m is the estimate of the
earlier stages, put into the cell. The variance of the latter units is that of a z which has a mean
of 0 and is at the ends of its range only, times a guess at the mean stake. Their squares add up to
a quarter of the squared range, the largest variance there is. Units may have stakes above 1, and
then bets may lose more of the capital. What limits them is a unit of the largest stake that loses
all of it. The larger that stake, the rarer such a unit is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations_with_replacement

import numpy as np

from scant.bandits import intervals

HALVINGS = 24  # of the interval in which an end is searched

# what a quotient of two rates can be, times the largest weight: what is above is infinite
MOST = 1e3
CLOSE = 1e-7  # to the goal is the logarithm of the capital where the search for an end stops
CAP = 0.9  # the largest share of the capital that a bet can lose in one visit
NEAREST, FARTHEST = -10, 10  # of the marks, as logarithms of base 2
FLOOR = 0.01  # of the largest variance, which is assumed at least
SINGULAR = 1e-9  # of the largest one, eigenvalues of products of excesses that count as 0
TINY = 1e-300  # in place of a loss of 0, by which a bet is divided


def rate(first, second, visits):
    """Gain and stake for the mean of w r; arguments are sums of w r, v r and 1."""
    return first, visits


def difference(first, second, visits):
    """Gain and stake for the mean of w r - v r; arguments as of `rate`."""
    return first - second, visits


def ratio(first, second, visits):
    """Gain and stake for the mean of w r / mean of v r; arguments as of `rate`."""
    return first, second


def corners(kind, largest: tuple[float, float], fixed: bool) -> np.ndarray:
    """Gain, stake and excess at the ends of the ranges of weights and rewards, float64 (3 x
    corners).

    kind : `rate`, `difference` or `ratio`
    largest : the largest weights w and v possible
    fixed : whether v is always `largest[1]`
    """
    second = largest[1:] if fixed else (0.0, largest[1])
    w, v, r = (part.ravel() for part in np.meshgrid((0.0, largest[0]), second, (0.0, 1.0)))
    return np.stack([*kind(w * r, v * r, np.ones(len(r))), w - v])


def marks(kind, largest: tuple[float, float], fixed: bool) -> np.ndarray:
    """The marks of a quotient, float64 (marks), ascending: the first and the last are the ends of
    its range.

    Between them they are 2^k from where two policies are alike, or from a rate of 0. Arguments are
    as in `corners`.
    """
    if kind is ratio:
        return marks_between(0.0, largest[0] if fixed else largest[0] * MOST, 1.0)
    return marks_between(-largest[1] if kind is difference else 0.0, largest[0])


def marks_between(low: float, high: float, centre: float = 0.0) -> np.ndarray:
    """The marks between two numbers, of which the second may be infinite; see `marks`."""
    powers = 2.0 ** np.arange(NEAREST, FARTHEST + 0.1, 0.5)
    inner = np.r_[centre - powers[::-1], centre, centre + powers]
    return np.r_[low, inner[(low < inner) & (inner < high)], high]


@dataclass(frozen=True)
class Quotient:
    """The quotient of the sums of two terms of units, rows or users, which are in random order.

    terms : float64 (3 or more x cells), gain, stake and excesses; stakes are 0 or more
    stage, count : int64 (cells), in which stage they occur, and how often
    units : int64 (stages), all units of each stage, also those whose terms are 0
    corners : float64 (3 or more x corners), between which the terms of a visit are; see `corners`
    marks : float64 (marks), see the function `marks`
    most : the most visits of a unit
    prior : a guess at the mean stake of a unit, from which the variance of gains is assumed until
        much is known
    """

    terms: np.ndarray
    stage: np.ndarray
    count: np.ndarray
    units: np.ndarray
    corners: np.ndarray
    marks: np.ndarray
    most: float = 1.0
    prior: float = 1.0

    @property
    def low(self) -> float:
        """The least that the quotient can be."""
        return float(self.marks[0])

    @property
    def high(self) -> float:
        """The most that the quotient can be, which may be infinite."""
        return float(self.marks[-1])

    @property
    def estimate(self) -> float:
        """The regression estimate: mean gain over mean stake, each less its slope times the mean
        excess.

        The slope is that of least squares through the origin, mean(gain * excess) / mean(excess^2).
        The excess, whose mean is 0, is a control variate. Because the slope is of the same units,
        the estimate has a bias, of the order of 1 / units, while its error is of the order of 1 /
        sqrt(units) (Cochran 1977, chapter 7). Bounds do not depend on it, but no lower one is above
        it, and no upper one below.
        """
        weighted = self.terms * self.count
        _, estimate = regressed(weighted.sum(axis=1), weighted @ self.terms.T)
        return float(np.clip(estimate, self.low, self.high))

    def lower(self, level: float) -> float:
        """The one-sided lower bound."""
        return self._bound(level, 1)

    def upper(self, level: float) -> float:
        """The one-sided upper bound."""
        return self._bound(level, -1)

    def interval(self, level: float) -> tuple[float, float]:
        """The two-sided interval, with an error of (1 - level) / 2 on either side."""
        return self.lower((1 + level) / 2), self.upper((1 + level) / 2)

    @cached_property
    def _earlier(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the units of all earlier stages of the terms, float64 (terms x stages), and of
        the products of two of them, float64 (terms x terms x stages).
        """
        terms, stages = len(self.terms), len(self.units)
        products = np.empty((terms, terms, stages))
        sums = np.array([np.bincount(self.stage, self.count * x, stages) for x in self.terms])
        for (i, x), (j, y) in combinations_with_replacement(enumerate(self.terms), 2):
            products[i, j] = products[j, i] = np.bincount(self.stage, self.count * x * y, stages)
        return np.cumsum(sums, axis=1) - sums, np.cumsum(products, axis=2) - products

    @cached_property
    def _pooled(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct terms, float64 (terms x distinct), and how often each occurs in all stages,
        int64 (distinct).
        """
        order = np.lexsort(self.terms)
        ranked = self.terms[:, order]
        starts = np.flatnonzero(np.r_[True, (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)])
        return ranked[:, starts], np.add.reduceat(self.count[order], starts)

    def grown(self, factor: float) -> "Quotient":
        """The quotient of a log with so many times the units, whose stages are all alike."""
        units, (terms, count) = (
            np.diff(intervals.stage_ends(round(self.units.sum() * factor)), prepend=0),
            self._pooled,
        )
        return replace(
            self,
            terms=np.tile(terms, len(units)),
            stage=np.repeat(np.arange(len(units)), len(count)),
            count=np.outer(units / self.units.sum(), count).ravel(),
            units=units,
        )

    def evidence(self, level: float, sign: int) -> Callable[[float], float]:
        """How far betting is from refuting a quotient: a function of it, which is 0 or more where
        it is refuted.

        It is log(largest capital at the end of a stage / goal).

        sign : 1 to refute that the quotient is this number or less, -1 that it is this number or
            more
        """
        goal, stages, (sums, products) = -np.log1p(-level), len(self.units), self._earlier
        before, cap = np.cumsum(self.units) - self.units, 1 - (1 - CAP) / np.sqrt(self.most)
        slopes, estimates = regressed(sums, products)

        @cache
        def bets(place: int) -> np.ndarray:
            """The bets from the mark before this place to the one at it, and the same times each c,
            float64 (terms - 1 x stages).
            """
            mark = self.marks[place if sign > 0 else place - 1]
            middle = np.clip(np.nan_to_num(estimates), *self.marks[place - 1 : place + 1])
            c = np.clip(slopes[0] - middle * slopes[1], 0.0, 1.0)
            farthest, of_z = (
                sign * np.stack([np.ones(stages), -m, *-c]) for m in (np.full(stages, mark), middle)
            )
            possible = farthest.T @ self.corners
            loss, most = np.maximum(-possible.min(axis=1), TINY), possible.max(axis=1)
            largest = (loss + most) ** 2 / 4
            assumed = self.prior * np.maximum(loss * most, FLOOR * largest)
            squares = np.maximum(np.einsum("is,js,ijs->s", of_z, of_z, products), 0.0)
            variance = (largest + squares) / (largest / assumed + before)
            bet = sign * np.minimum(
                np.sqrt(2 * goal / (self.units.sum() * variance)), cap / (loss * self.most)
            )
            return np.stack([bet, *bet * c])

        def against(m: float) -> float:
            place = np.searchsorted(self.marks, m, "left" if sign > 0 else "right").clip(
                1, len(self.marks) - 1
            )
            if np.isinf(m) or (sign > 0 and np.isinf(self.marks[place])):
                return -np.inf
            bet, *of_excess = bets(int(place))[:, self.stage]
            gain, stake, *excess = self.terms
            less = sum(map(np.multiply, of_excess, excess))
            gains = self.count * np.log1p(bet * (gain - m * stake) - less)
            return float(np.cumsum(np.bincount(self.stage, gains, stages)).max() - goal)

        return against

    def _bound(self, level: float, sign: int) -> float:
        """The first quotient, from an end of the range to the estimate, that betting does not
        refute.

        It is looked for from mark to mark, then between two of them by false position (the Illinois
        rule).
        """
        against = self.evidence(level, sign)
        outside = self.marks[::sign][0]
        below = 0.0
        previous = np.nan
        for inside in self.marks[::sign]:
            if (below := against(inside)) < 0:
                break
            outside, above = inside, below
        for _ in range(HALVINGS if outside != inside else 0):
            middle = outside + (inside - outside) * above / (above - below)
            value = against(middle)
            if value >= 0:
                outside, above, below = middle, value, below * (0.5 if previous >= 0 else 1.0)
            else:
                inside, below, above = middle, value, above * (0.5 if previous < 0 else 1.0)
            previous = value
            if 0 <= value < CLOSE:
                break
        return float(sign * min(sign * outside, sign * self.estimate))


def regressed(sums: np.ndarray, products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slopes of gain and stake on the excesses, float64 (2 x excesses x ...); and gain / stake
    after this regression, (...), NaN without a stake.

    sums : float64 (terms x ...), of gain, stake and excesses
    products : float64 (terms x terms x ...), the sums of products of two of these terms
    """
    inverse = np.linalg.pinv(products[2:, 2:].T, SINGULAR, hermitian=True)
    slopes = np.einsum("ij...,...jk->ik...", products[:2, 2:], inverse)
    gain, stake = sums[:2] - (slopes * sums[2:]).sum(axis=1)
    return slopes, np.divide(gain, stake, out=np.full_like(gain, np.nan), where=stake > 0)
