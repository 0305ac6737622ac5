"""Bounds on the quotient of two means, by betting against each candidate as `scant.ads.intervals.betting` does.

The quotient of E[gain] and E[stake] is m where gain - m stake has a mean of 0. The capital prod_i (1 + b_i (gain_i - m
stake_i)) is a supermartingale if the quotient is m or less, for bets that earlier stages decide and that lose no more
than the capital: b_i m max(stake) < 1. It falls in m, so that the lower bound is the largest m against which it
reached its goal at the end of a stage. With stakes of 1 this is the bound on a mean.

Bets are those of `intervals.betting` but for two things. First, the variance of gains that a bet goes by is a mean over
the units of earlier stages and over some that are assumed. The variance of the latter is v = m (1 - m), that of a rate
of m, times a guess at the mean stake; where m is above 1/2 it is that of a rate of 1/2. There are 1 + 1 / (4 v) of
them. So their squares add up to v + 1/4: the quarter is for what was not seen yet. As m grows b falls and b m rises, so
that the capital still falls in m. Second, units may have stakes above 1, and then bets may lose more of the capital.
What limits them is a unit of the largest stake that loses all of it. The larger that stake, the rarer such a unit is.
"""

import math
from dataclasses import dataclass

import numpy as np

from scant.ads import intervals

HALVINGS = 30  # of the interval in which an end of an approximate interval is searched
UNSEEN = 0.25  # the largest variance of a gain with a stake of 1


@dataclass(frozen=True)
class Quotient:
    """The quotient of the sums of two terms of units, rows or users, which are in random order.

    gain, stake : float64 (cells), terms of the numerator and of the denominator, the latter above 0
    stage, count : int64 (cells), in which stage they occur, and how often
    units : int64 (stages), all units of each stage, also those without a stake
    most : the largest stake possible
    prior : a guess at the mean stake of a unit, from which the variance of gains is assumed until much is known
    low, high : between which the quotient of each unit is; `high` may be infinite, and the quotient is at most 1 then
    """

    gain: np.ndarray
    stake: np.ndarray
    stage: np.ndarray
    count: np.ndarray
    units: np.ndarray
    most: float
    prior: float
    low: float
    high: float

    @property
    def estimate(self) -> float:
        """The quotient of the sums."""
        return float(self.count @ self.gain / (self.count @ self.stake))

    def lower(self, level: float) -> float:
        """The one-sided lower bound."""
        width = self.high - self.low if np.isfinite(self.high) else 1.0
        above = np.maximum(self.gain - self.low * self.stake, 0.0) / width
        return min(self.low + width * self._refuted(above, level), self.estimate)

    def upper(self, level: float) -> float:
        """The one-sided upper bound."""
        width = self.high - self.low
        below = np.maximum(self.high * self.stake - self.gain, 0.0) / width
        return max(self.high - width * self._refuted(below, level), self.estimate)

    def interval(self, level: float) -> tuple[float, float]:
        """The two-sided interval, with an error of (1 - level) / 2 on either side."""
        return self.lower((1 + level) / 2), self.upper((1 + level) / 2)

    def _refuted(self, gain: np.ndarray, level: float) -> float:
        """The largest quotient in [0, 1] that betting refutes from below, or 0; see `intervals.betting`.

        gain : float64 (cells), terms of the numerator, 0 or more
        """
        stages, goal = len(self.units), -np.log1p(-level)
        powers = (gain, self.stake, gain**2, gain * self.stake, self.stake**2)
        sums = np.stack([np.bincount(self.stage, self.count * power, stages) for power in powers])
        # of the units of all earlier stages: sums, their quotient, the squares of gain - quotient * stake, and how many
        gained, staked, gains_squared, products, stakes_squared = np.cumsum(sums, axis=1) - sums
        quotient = np.divide(gained, staked, out=np.zeros(stages), where=staked > 0)
        spread = np.maximum(gains_squared - 2 * quotient * products + quotient**2 * stakes_squared, 0.0)
        before = np.cumsum(self.units) - self.units
        cap = 1 - (1 - intervals.CAP) / np.sqrt(self.most)

        def reached(m: float) -> bool:
            rate = min(m, 0.5)
            assumed = self.prior * rate * (1 - rate)
            variance = (assumed + UNSEEN + spread) / (1 + UNSEEN / assumed + before)
            bet = np.sqrt(2 * goal / (self.units.sum() * variance))[self.stage]
            shares = np.minimum(bet, cap / (m * self.most))
            gains = np.bincount(self.stage, self.count * np.log1p(shares * (gain - m * self.stake)), stages)
            return np.cumsum(gains).max() >= goal

        low, high = 0.0, 1.0
        for _ in range(intervals.HALVINGS):
            middle = (low + high) / 2
            if reached(middle):
                low = middle
            else:
                high = middle
        return low


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
