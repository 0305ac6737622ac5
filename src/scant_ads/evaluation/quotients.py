"""Bounds on the quotient of two means, by betting against each candidate as `scant.ads.intervals.betting` does.

The quotient of E[gain] and E[stake] is m where gain - m stake has a mean of 0. The capital prod_i (1 + b_i (gain_i - m
stake_i)) is a supermartingale if the quotient is m or less, for bets that earlier stages decide and that lose no more
than the capital: b_i m max(stake) < 1. It falls in m, so that the lower bound is the largest m against which it
reached its goal at the end of a stage. With stakes of 1 this is the bound on a mean.

Bets are those of `intervals.betting` but for two things. As long as little is known, gains are taken to vary as those
of rates of m do, or of 1/2 where m is above, with a quarter more for what was not seen yet: b falls in m then, and b m
rises, so that the capital still falls in m. And where units may have stakes above 1, bets may lose more of the capital:
what limits them is a unit of the largest stake all of which is lost, the rarer the larger that stake is.
"""

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
        gained, staked, *squares = np.cumsum(sums, axis=1) - sums
        m = np.divide(gained, staked, out=np.zeros(stages), where=staked > 0)
        spread = np.maximum(squares[0] - 2 * m * squares[1] + m**2 * squares[2], 0.0)
        before, cap = np.cumsum(self.units) - self.units, 1 - (1 - intervals.CAP) / np.sqrt(self.most)

        def reached(m: float) -> bool:
            prior = self.prior * min(m, 0.5) * (1 - min(m, 0.5))
            variance = (prior + UNSEEN + spread) / (1 + UNSEEN / prior + before)
            bet = np.sqrt(2 * goal / (self.units.sum() * variance))[self.stage]
            shares = np.minimum(bet, cap / (m * self.most))
            gains = np.bincount(self.stage, self.count * np.log1p(shares * (gain - m * self.stake)), stages)
            return np.cumsum(gains).max() >= goal

        low, high = 0.0, 1.0
        for _ in range(intervals.HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if reached(middle) else (low, middle)
        return low


def likely(gain: np.ndarray, stake: np.ndarray, count, level: float) -> tuple[float, float]:
    """The approximate interval of the quotient of E[gain] and E[stake]: by empirical likelihood, in [0, 1].

    It has the quotients m at which gain - m stake can have a mean of 0 by probabilities of the units that are likely
    enough beside equal ones (Owen 1988; of ratios: Qin and Lawless 1994). It holds in the limit of many units, as the
    delta method does, with ends as far off as skewed gains ask for.

    gain, stake : float64 (cells), above 0 in some; count : how often each occurs
    """
    from scipy import special

    goal, middle = float(special.ndtri((1 + level) / 2)) ** 2 / 2, float((count * gain).sum() / (count * stake).sum())

    def refuted(m: float) -> bool:
        x = gain - m * stake
        lowest, highest = float(x.min()), float(x.max())
        if not lowest < 0 < highest:
            return True
        low, high, multiplier = -1 / highest, -1 / lowest, 0.0
        for _ in range(HALVINGS):
            multiplier = multiplier if low < multiplier < high else (low + high) / 2
            share = x / (1 + multiplier * x)
            slope, curve = float((count * share).sum()), float((count * share**2).sum())
            low, high = (multiplier, high) if slope > 0 else (low, multiplier)
            multiplier += slope / curve
            if slope**2 < 1e-9 * curve:
                break
        return float((count * np.log1p(multiplier * x)).sum()) >= goal

    def end(outside: float) -> float:
        inside = middle
        for _ in range(HALVINGS):
            between = (inside + outside) / 2
            inside, outside = (inside, between) if refuted(between) else (between, outside)
        return inside

    return end(0.0), end(1.0)
