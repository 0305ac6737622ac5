"""By how much a policy's click rate is above today's: its lift, CTR / CTR of today - 1, with an interval.

If today's policy logged the test, both rates are of the same rows: E[r w] and E[r]. Their quotient is m where r (w - m)
has mean 0: betting bounds it (`quotients`). Rows without a reward leave the capital as it is: what tells is which ads
were clicked, as the CTR itself does not matter.

With rewards of 0 or 1 and weights of 0 or c the quotient is c times the chance that a click is on an ad with weight c.
Given how many clicks there are, Clopper-Pearson's interval of this chance is exact.

If today's rate is known from another log, the interval's ends are quotients of the ends of the two rates' intervals.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scant.ads import intervals
from scant_ads.evaluation.quotients import Quotient
from scant_ads.reading.tally import ROUNDED

CELLS = 4096  # pairs of weight and reward that are kept as they are; more are rounded at random
BITS = 49  # low bits of a double that this rounding drops: three after the first are left


@dataclass(frozen=True)
class Bounds:
    """One-sided bounds at a confidence, as `Quotient` has them.

    lower, upper : functions of the confidence
    """

    lower: Callable[[float], float]
    upper: Callable[[float], float]


def ratio(
    weight, reward, count, largest: float, random: np.random.Generator, rounded: bool = False, single: bool = False
) -> Quotient | Bounds | None:
    """The quotient of E[r w] and E[r], rows in random order; None without a reward.

    weight, reward : float64 (cells), pairs, which may repeat
    count : int64 (cells), how often each occurs
    largest : the largest weight possible
    random : the generator of the order
    rounded : whether weights and rewards were rounded as `tally.Cells` does
    single : whether the largest weight is the only one possible above 0, and rewards are 0 or 1
    """
    clicked, rows = reward > 0, int(count.sum())
    if not clicked.any():
        return None
    weight, reward, count = weight[clicked], reward[clicked], count[clicked]
    if single:
        return of_rate(intervals.drawn(weight, count, largest, random, (largest,)), True)
    if len(count) > CELLS:
        weight, reward, count = _thinned(weight, reward, count, largest, random)
    staged = intervals.in_random_order(np.r_[rows - count.sum(), count], random)
    stage, cell = np.nonzero(staged[:, 1:])
    quotient = Quotient(
        (weight * reward)[cell], reward[cell], stage, staged[stage, cell + 1], staged.sum(axis=1), 1.0, 0.25, 0.0,
        float(largest),
    )  # fmt: skip
    if not rounded:
        return quotient
    # Above, weight and reward may be off by as much, and the reward below.
    slack = (1 + ROUNDED) ** 2 / (1 - ROUNDED)
    return Bounds(
        lambda level: quotient.lower(level) / slack, lambda level: min(quotient.upper(level) * slack, largest)
    )  # fmt: skip


def of_rate(terms: intervals.Terms, exact: bool, missed: intervals.Terms | None = None) -> Bounds:
    """The bounds of a mean, such as a click rate, from its terms, such as r w.

    exact : whether they are Clopper-Pearson's, else betting's
    missed : the terms w (1 - r), if no largest weight is known; see `intervals.betting_without_range`
    """
    if missed is not None:
        bound = intervals.betting_without_range
        return Bounds(lambda level: float(bound(terms, level)), lambda level: 1 - float(bound(missed, level)))
    if exact:
        bound = intervals.clopper_pearson
        return Bounds(lambda level: float(bound(terms, level)), lambda level: float(bound(terms, level, upper=True)))
    bound, reflected = intervals.betting, terms.reflected()
    return Bounds(lambda level: float(bound(terms, level)),
                  lambda level: terms.largest - float(bound(reflected, level)))  # fmt: skip


def quotient(over: Bounds, under: Bounds) -> Bounds:
    """The bounds of the quotient of two rates, each of which has half of the error."""

    def lower(level: float) -> float:
        most = under.upper((1 + level) / 2)
        return over.lower((1 + level) / 2) / most if most > 0 else 0.0

    def upper(level: float) -> float:
        denominator = under.lower((1 + level) / 2)
        return min(over.upper((1 + level) / 2), 1.0) / denominator if denominator > 0 else np.inf

    return Bounds(lower, upper)


def gain(mean) -> Bounds:
    """The bounds of 1 plus a difference of means.

    mean : how much higher the other one of the two is, a `decisions.Mean` or a `Quotient`
    """
    return Bounds(lambda level: 1 - mean.interval(2 * level - 1)[1], lambda level: 1 - mean.interval(2 * level - 1)[0])


def gain_of(over: Bounds, under: Bounds) -> Bounds:
    """The bounds of 1 plus the difference of two rates, each of which has half of the error."""

    def upper(level: float) -> float:
        return 1 + over.upper((1 + level) / 2) - under.lower((1 + level) / 2)

    return Bounds(lambda level: 1 + over.lower((1 + level) / 2) - under.upper((1 + level) / 2), upper)


def lift(estimate: float, today: float, bounds: Bounds | Quotient, level: float, relative: bool = True) -> dict:
    """The columns of a policy's lift over today's: the estimate, and the ends of the two-sided interval.

    estimate, today : the CTR of the policy, and today's
    bounds : of 1 plus the lift
    relative : whether it is relative to today's rate, else it is their difference
    """
    one_sided = (1 + level) / 2
    value = estimate - today if not relative else estimate / today - 1 if today else np.nan
    return {"lift": value, "lift_low": bounds.lower(one_sided) - 1,
            "lift_high": bounds.upper(one_sided) - 1}  # fmt: skip


def _thinned(weight, reward, count, largest: float, random) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells whose weights and rewards are rounded up or down at random, so that expectations stay the same."""
    first, second = weight, reward
    for most in (largest, 1.0):  # of weights, then of rewards: after each turn the two change places
        bits = np.ascontiguousarray(first).view(np.int64) >> BITS
        low, high = (bits << BITS).view(float), np.minimum((bits + 1 << BITS).view(float), most)
        share = np.divide(first - low, high - low, out=np.zeros(len(low)), where=high > low)
        up = random.binomial(count, share)
        # As complex numbers pairs are sorted by one, then by the other.
        pairs, count = np.r_[second, second] + 1j * np.r_[low, high], np.r_[count - up, up]
        pairs, place = np.unique(pairs[count > 0], return_inverse=True)
        first, second, count = pairs.real, pairs.imag, np.bincount(place, count[count > 0]).astype(np.int64)
    return first, second, count
