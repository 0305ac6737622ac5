"""Bounds on the quotient of two means, by betting against each candidate as `scant.ads.intervals.betting` does.

The quotient of E[gain] and E[stake] is m where gain - m stake has a mean of 0. A third term, the excess, has a mean of
0 whatever m is: a weight less another one, since weights are 1 on average. So z = gain - m stake - c excess has a mean
of 0, too, for every c that earlier stages decide. The c of least squares of the earlier stages takes out of a reward
what is the same whatever is shown: with gain w r, stake 1 and excess w - 1, z is w (r - c) + c - m. Adding a constant
to all rewards adds it to c and m, and leaves z as it is.

The capital prod_i (1 + b_i z_i) is a supermartingale if the quotient is m or less, for bets b_i that earlier stages
decide and that lose no more than the capital. What a visit can lose at most is at a corner of the ranges of weights and
rewards; a user may lose `most` times that. The lower bound is the least m that is not refuted: against all lesser ones
the capital reached its goal at the end of a stage. The upper bound follows from -z.

Bets are b = min(sqrt(2 ln(1/delta) / (N s^2)), cap / loss). The variance s^2 is the mean square of z, at this m, over
the units of earlier stages and over some that are assumed. The variance of the latter is that of a z which has a mean
of 0 and is at the ends of its range only, times a guess at the mean stake. Their squares add up to a quarter of the
squared range, the largest variance there is. Units may have stakes above 1, and then bets may lose more of the capital.
What limits them is a unit of the largest stake that loses all of it. The larger that stake, the rarer such a unit is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from scant.ads import intervals

HALVINGS = 24  # of the interval in which an end is searched
MOST = 1e3  # what a quotient of two rates can be, times the largest weight: what is above is infinite
CLOSE = 1e-7  # to the goal is the logarithm of the capital where the search for an end stops
STEPS = 8  # from the least quotient to the estimate, at each of which the capital is looked at
FLOOR = 0.01  # of the largest variance, which is assumed at least
TINY = 1e-300  # in place of a loss of 0, by which a bet is divided


def rate(first, second, visits):
    """Gain and stake for the mean of w r; arguments are sums of w r, v r and 1."""
    return first, visits


def difference(first, second, visits):
    """Gain and stake for the mean of w r - v r; arguments are as those of `rate`."""
    return first - second, visits


def ratio(first, second, visits):
    """Gain and stake for the mean of w r over that of v r; arguments are as those of `rate`."""
    return first, second


def corners(kind, largest: tuple[float, float], fixed: bool) -> np.ndarray:
    """Gain, stake and excess at the ends of the ranges of weights and rewards, float64 (3 x corners).

    kind : `rate`, `difference` or `ratio`
    largest : the largest weights w and v possible
    fixed : whether v is always `largest`
    """
    second = largest[1:] if fixed else (0.0, largest[1])
    w, v, r = (part.ravel() for part in np.meshgrid((0.0, largest[0]), second, (0.0, 1.0)))
    return np.stack([*kind(w * r, v * r, np.ones(len(r))), w - v])


def ends(kind, largest: tuple[float, float], fixed: bool) -> tuple[float, float]:
    """Between which two numbers a quotient is; arguments are as those of `corners`."""
    if kind is ratio:
        return 0.0, largest[0] if fixed else largest[0] * MOST
    return (-largest[1] if kind is difference else 0.0), largest[0]


@dataclass(frozen=True)
class Quotient:
    """The quotient of the sums of two terms of units, rows or users, which are in random order.

    terms : float64 (3 x cells), gain, stake and excess; stakes are 0 or more
    stage, count : int64 (cells), in which stage they occur, and how often
    units : int64 (stages), all units of each stage, also those whose terms are 0
    corners : float64 (3 x corners), between which the terms of a visit are; see `corners`
    low, high : between which the quotient is; `high` may be infinite
    most : the most visits of a unit
    prior : a guess at the mean stake of a unit, from which the variance of gains is assumed until much is known
    """

    terms: np.ndarray
    stage: np.ndarray
    count: np.ndarray
    units: np.ndarray
    corners: np.ndarray
    low: float
    high: float
    most: float = 1.0
    prior: float = 1.0

    @property
    def estimate(self) -> float:
        """The regression estimate: mean gain over mean stake, each less its slope times the mean excess.

        The slope is that of least squares through the origin, mean(gain * excess) / mean(excess^2). The excess, whose
        mean is 0, is a control variate. Because the slope is of the same units, the estimate has a bias, of the order
        of 1 / units, while its error is of the order of 1 / sqrt(units) (Cochran 1977, chapter 7). Bounds do not
        depend on it but in where they are searched, since theirs is the slope of earlier stages.
        """
        sums, products = self.terms @ self.count, (self.terms * self.count) @ self.terms[2]
        slopes = products[:2] / products[2] if products[2] > 0 else np.zeros(2)
        gain, stake = sums[:2] - slopes * sums[2]
        return float(np.clip(gain / stake, self.low, self.high)) if stake > 0 else np.nan

    def lower(self, level: float) -> float:
        """The one-sided lower bound."""
        return self._bound(level, 1, self.low)

    def upper(self, level: float) -> float:
        """The one-sided upper bound."""
        return self._bound(level, -1, self.high)

    def interval(self, level: float) -> tuple[float, float]:
        """The two-sided interval, with an error of (1 - level) / 2 on either side."""
        return self.lower((1 + level) / 2), self.upper((1 + level) / 2)

    @cached_property
    def _products(self) -> np.ndarray:
        """Sums of the products of two terms over the units of all earlier stages, float64 (3 x 3 x stages)."""
        sums, stages = np.empty((3, 3, len(self.units))), len(self.units)
        for (i, x), (j, y) in combinations_with_replacement(enumerate(self.terms), 2):
            sums[i, j] = sums[j, i] = np.bincount(self.stage, self.count * x * y, stages)
        return np.cumsum(sums, axis=2) - sums

    @cached_property
    def _pooled(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct terms, float64 (3 x distinct), and how often each occurs in all stages, int64 (distinct)."""
        order = np.lexsort(self.terms)
        ranked = self.terms[:, order]
        starts = np.flatnonzero(np.r_[True, (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)])
        return ranked[:, starts], np.add.reduceat(self.count[order], starts)

    def grown(self, factor: float) -> "Quotient":
        """That of a log with so many times the units, whose stages are all alike."""
        units, (terms, count) = np.diff(intervals.stage_ends(round(self.units.sum() * factor)), prepend=0), self._pooled
        return replace(
            self, terms=np.tile(terms, len(units)), stage=np.repeat(np.arange(len(units)), len(count)),
            count=np.outer(units / self.units.sum(), count).ravel(), units=units,
        )  # fmt: skip

    def evidence(self, level: float, sign: int) -> Callable[[float], float]:
        """How far betting is from refuting a quotient: a function of it, which is 0 or more where it is refuted.

        It is the logarithm of the largest capital at the end of a stage, less that of the goal.

        sign : 1 to refute that the quotient is this number or less, -1 that it is this number or more
        """
        goal, stages, products = -np.log1p(-level), len(self.units), self._products
        before, cap = np.cumsum(self.units) - self.units, 1 - (1 - intervals.CAP) / np.sqrt(self.most)

        def against(m: float) -> float:
            of_excess, squared = products[0, 2] - m * products[1, 2], products[2, 2]
            c = np.divide(of_excess, squared, out=np.zeros(stages), where=squared > 0)
            slopes = sign * np.stack([np.ones(stages), np.full(stages, -m), -np.clip(c, 0.0, 1.0)])
            possible = slopes.T @ self.corners
            loss, most = np.maximum(-possible.min(axis=1), TINY), possible.max(axis=1)
            largest = (loss + most) ** 2 / 4
            assumed = self.prior * np.maximum(loss * most, FLOOR * largest)
            spread = np.einsum("is,js,ijs->s", slopes, slopes, products)
            variance = (largest + np.maximum(spread, 0.0)) / (largest / assumed + before)
            bet = np.minimum(np.sqrt(2 * goal / (self.units.sum() * variance)), cap / (loss * self.most))
            of_gain, of_stake, of_excess = (slopes * bet)[:, self.stage]
            gain, stake, excess = self.terms
            gains = self.count * np.log1p(of_gain * gain + of_stake * stake + of_excess * excess)
            return float(np.cumsum(np.bincount(self.stage, gains, stages)).max() - goal)

        return against

    def _bound(self, level: float, sign: int, end: float) -> float:
        """The first quotient, from an end of the range to the estimate, that betting does not refute.

        It is looked for at `STEPS` steps, then between two of them by false position (the Illinois rule). What is
        between two refuted numbers is supposed to be refuted, too. That is not proven, since bets follow the variance,
        which differs by quotient; a test looks for exceptions on fine grids.
        """
        against, outside, previous = self.evidence(level, sign), end, np.nan
        steps = np.linspace(end, self.estimate, STEPS + 1)[1:]
        if not (above := against(end)) >= 0:
            return float(end)
        for inside in steps:
            if (below := against(inside)) < 0:
                break
            outside, above = inside, below
        else:
            return float(outside)
        for _ in range(HALVINGS):
            middle = outside + (inside - outside) * above / (above - below)
            value = against(middle)
            if value >= 0:
                outside, above, below = middle, value, below * (0.5 if previous >= 0 else 1.0)
            else:
                inside, below, above = middle, value, above * (0.5 if previous < 0 else 1.0)
            previous = value
            if 0 <= value < CLOSE:
                break
        return float(outside)


def likely(gain: np.ndarray, stake: np.ndarray, count, level: float) -> tuple[float, float]:
    """The approximate interval of the quotient of E[gain] and E[stake]: by empirical likelihood, in [0, 1].

    A quotient m is in it if gain - m stake has a mean of 0 under some probabilities of the units, and these are not
    much less likely than equal ones (Owen 1988; of ratios: Qin and Lawless 1994). It holds in the limit of many
    units, as the delta method does. Where gains are skewed, its ends are not equally far from the estimate.

    gain, stake : float64 (cells), above 0 in some; count : how often each occurs
    """
    from scipy import special

    largest_ratio = float(special.ndtri((1 + level) / 2)) ** 2 / 2
    estimate = float((count * gain).sum() / (count * stake).sum())

    def end(outside: float) -> float:
        inside = estimate
        for _ in range(HALVINGS):
            between = (inside + outside) / 2
            if _log_ratio(gain - between * stake, count) >= largest_ratio:
                outside = between
            else:
                inside = between
        return inside

    return end(0.0), end(1.0)


def _log_ratio(x: np.ndarray, count) -> float:
    """How much less likely the units are where x has a mean of 0 than where all are alike, as a logarithm.

    It is the largest of sum log(1 + multiplier x) over multipliers: the root of its slope, which falls, by Newton's
    steps that stay between two multipliers of slopes above and below 0. Infinite if x has one sign only.

    x : float64 (cells); count : how often each occurs
    """
    lowest, highest = float(x.min()), float(x.max())
    if not lowest < 0 < highest:
        return math.inf
    low, high, multiplier = -1 / highest, -1 / lowest, 0.0
    for _ in range(HALVINGS):
        if not low < multiplier < high:
            multiplier = (low + high) / 2
        share = x / (1 + multiplier * x)
        slope, curve = float((count * share).sum()), float((count * share**2).sum())
        if slope > 0:
            low = multiplier
        else:
            high = multiplier
        multiplier += slope / curve
        if slope**2 < 1e-9 * curve:
            break
    return float((count * np.log1p(multiplier * x)).sum())
