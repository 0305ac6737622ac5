"""Bounds on rates of independent rows, and by how much one is above another: the lift, CTR / CTR of
today - 1.

Rates of the same rows are compared at once: E[w r] over E[r], or over E[v r] of an arm, or less it,
by betting (`quotients`). All these bets are on rewards less a constant, which is taken from earlier
rows.

With rewards of 0 or 1 and weights of 0 or c, E[w r] / E[r] is c times the chance that a click is on
an ad with weight c. Given how many clicks there are, Clopper-Pearson's interval of this chance is
exact.

If the two rates are of different logs, the interval's ends are quotients of the ends of the two
rates' intervals.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from scant.bandits import intervals
from scant_ads.evaluation import quotients
from scant_ads.evaluation.quotients import Quotient
from scant_ads.reading.tally import ROUNDED, Both
from scant_ads.text import HOPELESS

CELLS = 4096  # pairs of weight and reward that are kept as they are; more are rounded at random
BITS = 49  # low bits of a double that this rounding drops: three after the first are left
FEW, FINER = 16, 3  # with so few weights rewards keep so many bits more
PRIOR = 0.25  # a guess at the mean reward
HALVINGS = 6  # of the interval in which the number of rows is searched that would do


@dataclass(frozen=True)
class Bounds:
    """One-sided bounds at a confidence, as `Quotient` has them.

    lower, upper : functions of the confidence
    grown : a function of a factor: the bounds of a log with so many times the rows that is like
        this one
    estimate : their own, which replaces the importance-weighted estimate; None without
    """

    lower: Callable[[float], float]
    upper: Callable[[float], float]
    grown: Callable[[float], "Bounds"] | None = None
    estimate: float | None = None


def of_rows(
    kind, both: Both, largest: tuple[float, float], random: np.random.Generator
) -> Quotient | Bounds | None:
    """The quotient of rows in random order; None if all stakes are 0.

    kind : `quotients.rate`, `difference` or `ratio`
    both : the weights w and v of two policies, and the rewards
    largest : the weights w and v possible
    random : the generator of the order
    """
    first, second, reward, count = _few(both, largest, random)
    if rest := both.rows - count.sum():  # with neither weight
        first, second, reward, count = (
            np.r_[part, value]
            for part, value in ((first, 0), (second, 0), (reward, 0), (count, rest))
        )
    excess = first - second if both.excess else np.zeros(len(count))
    terms = np.stack([*kind(first * reward, second * reward, np.ones(len(count))), excess])
    corners = quotients.corners(kind, largest, both.fixed)
    corners[2] *= both.excess
    if not terms[1].any():
        return None
    some = terms.any(axis=0)
    terms, count = terms[:, some], count[some]
    staged = intervals.in_random_order(np.r_[both.rows - count.sum(), count], random)
    stage, cell = np.nonzero(staged[:, 1:])
    marks = quotients.marks(kind, largest, both.fixed)
    prior = PRIOR if kind is quotients.ratio else 1.0
    units, of_stage = staged.sum(axis=1), staged[stage, cell + 1]
    quotient = Quotient(terms[:, cell], stage, of_stage, units, corners, marks, prior=prior)
    if not both.rounded:
        return quotient
    # Weights and rewards may be off by this share, and the excess by this share of either weight.
    off = 3 * ROUNDED * float(count @ np.abs(terms[0])) / both.rows
    mean_stake = float(count @ terms[1]) / both.rows
    return Moved(quotient, by=off / mean_stake)


def single(weight, reward, count, largest: float, random: np.random.Generator) -> Bounds | None:
    """The exact quotient of E[w r] and E[r] for weights of 0 or `largest` and rewards of 0 or 1;
    None without a reward.

    weight, reward, count : (cells), pairs and how often each occurs
    """
    clicked = reward > 0
    if not clicked.any():
        return None
    return of_rate(
        intervals.drawn(weight[clicked], count[clicked], largest, random, (largest,)), True
    )


def of_rate(terms: intervals.Terms, exact: bool, missed: intervals.Terms | None = None) -> Bounds:
    """The bounds of a mean, such as a click rate, from its terms, such as w r.

    exact : whether they are Clopper-Pearson's, else betting's
    missed : the terms w (1 - r), if no largest weight is known; see
        `intervals.betting_without_range`
    """
    reflected = terms.reflected()

    def lower(level: float) -> float:
        if exact:
            return float(intervals.clopper_pearson(terms, level))
        bound = intervals.betting if missed is None else intervals.betting_without_range
        return float(bound(terms, level))

    def upper(level: float) -> float:
        if exact:
            return float(intervals.clopper_pearson(terms, level, upper=True))
        if missed is not None:
            return 1 - float(intervals.betting_without_range(missed, level))
        return terms.largest - float(intervals.betting(reflected, level))

    def grown(factor: float) -> Bounds:
        more = (
            replace(part, count=part.count * factor) if part else None for part in (terms, missed)
        )
        return of_rate(next(more), exact, next(more))

    return Bounds(lower, upper, grown)


def without_range(rate: Quotient, missed: Quotient) -> Bounds:
    """Bounds of a rate whose weights have no largest value: the rate's own lower bound, and 1 minus
    the lower bound of `missed`.

    missed : the mean of w (1 - r), which is 1 - rate if weights average 1
    """
    return Bounds(
        rate.lower,
        lambda level: 1 - missed.lower(level),
        lambda factor: without_range(rate.grown(factor), missed.grown(factor)),
    )


def quotient(over: Bounds, under: Bounds) -> Bounds:
    """The bounds of the quotient of two rates, each of which has half of the error."""

    def lower(level: float) -> float:
        most = under.upper((1 + level) / 2)
        return over.lower((1 + level) / 2) / most if most > 0 else 0.0

    def upper(level: float) -> float:
        denominator = under.lower((1 + level) / 2)
        return min(over.upper((1 + level) / 2), 1.0) / denominator if denominator > 0 else np.inf

    return Bounds(lower, upper, lambda factor: quotient(over.grown(factor), under.grown(factor)))


def difference(over: Bounds, under: Bounds) -> Bounds:
    """The bounds of the difference of two rates, each of which has half of the error."""
    return Bounds(
        lambda level: over.lower((1 + level) / 2) - under.upper((1 + level) / 2),
        lambda level: over.upper((1 + level) / 2) - under.lower((1 + level) / 2),
        lambda factor: difference(over.grown(factor), under.grown(factor)),
    )


@dataclass(frozen=True)
class Moved:
    """The bounds of a number times `sign`, which is 1 or -1, plus `shift`, each further off by
    `by`.
    """

    bounds: Bounds | Quotient
    sign: int = 1
    shift: float = 0.0
    by: float = 0.0

    @property
    def estimate(self) -> float | None:
        """The estimate of the bounds, times the sign, plus the shift; None if they have none."""
        inner = self.bounds.estimate
        return None if inner is None else self.sign * inner + self.shift

    def lower(self, level: float) -> float:
        """The one-sided lower bound."""
        end = self.bounds.lower(level) if self.sign > 0 else -self.bounds.upper(level)
        return end - self.by + self.shift

    def upper(self, level: float) -> float:
        """The one-sided upper bound."""
        end = self.bounds.upper(level) if self.sign > 0 else -self.bounds.lower(level)
        return end + self.by + self.shift

    def grown(self, factor: float) -> "Moved":
        """The bounds of a log with so many times the rows that is like this one."""
        return replace(self, bounds=self.bounds.grown(factor))


def excludes(bounds, value: float, above: bool, level: float) -> bool:
    """Whether a bound leaves out a value: the lower one, which is then `above` it, or else the
    upper one.

    Of betting it is enough to know whether it refutes the value.
    """
    if isinstance(bounds, Moved):
        inner = bounds.sign * (value - bounds.shift + (bounds.by if above else -bounds.by))
        return excludes(bounds.bounds, inner, above == (bounds.sign > 0), level)
    if isinstance(bounds, Quotient):
        return bounds.evidence(level, 1 if above else -1)(value) >= 0
    return bounds.lower(level) > value if above else bounds.upper(level) < value


def needed(bounds: Bounds | Quotient, nothing: float, above: bool, level: float) -> float:
    """How many times as many rows it takes for the interval to leave out a value with an even
    chance, if the larger log is like this one; infinity above `HOPELESS`.

    In logs like this one a bound is about as often above its value in the average log as below it.

    nothing : the value that the two-sided interval is to leave out, with a confidence of `level`
    above : whether the interval is to be above it
    """

    def enough(factor: float) -> bool:
        return excludes(bounds.grown(factor), nothing, above, (1 + level) / 2)

    few, many = 1.0, 1.0
    while not enough(many):
        if many >= HOPELESS:
            return np.inf
        few, many = many, 2 * many
    for _ in range(HALVINGS):
        middle = (few * many) ** 0.5
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many


def lift(
    estimate: float, today: float, bounds: Bounds | Quotient, level: float, relative: bool = True
) -> dict:
    """The columns of a policy's lift over today's: the estimate, and the ends of the two-sided
    interval.

    estimate, today : the CTRs of the policy and of today's policy
    bounds : of 1 plus the lift
    relative : whether the lift is estimate / today - 1, else it is estimate - today
    """
    one_sided = (1 + level) / 2
    value = estimate - today
    if relative:
        value = estimate / today - 1 if today else np.nan
    return {
        "lift": value,
        "lift_low": bounds.lower(one_sided) - 1,
        "lift_high": bounds.upper(one_sided) - 1,
    }


def verdict(row: Mapping, lift: Bounds, level: float, rows: int) -> dict:
    """The columns `verdict`, by the interval of a row's lift, and, if open, `needed_test`, how many
    rows would tell.

    lift : the bounds of 1 plus the lift
    level : the confidence of its interval
    rows : of the log
    """
    if row["lift_low"] > 0 or row["lift_high"] < 0:
        return {"verdict": "yes" if row["lift_low"] > 0 else "no"}
    times = needed(lift, 1.0, row["lift"] > 0, level) if row["lift"] else np.inf
    return {"verdict": "cannot tell", "needed_test": times * rows}


def _few(both: Both, largest: tuple[float, float], random) -> tuple[np.ndarray, ...]:
    """The weights, rewards and counts of cells; if there are very many, rounded at random.

    Where the second weight is not fixed, one of the two is 0 in each cell.
    """
    if len(both.count) <= CELLS:
        return both.first, both.second, both.reward, both.count
    parts = []
    for weights, most in zip((both.first, both.second), largest, strict=True):
        cells = np.ones(len(weights), bool) if both.fixed else weights > 0
        weight, reward, count = _thinned(
            weights[cells], both.reward[cells], both.count[cells], most, random
        )
        if both.fixed:
            return weight, np.ones(len(weight)), reward, count
        parts.append((weight, reward, count))
    (first, reward, count), (second, other_reward, other_count) = parts
    return (
        np.r_[first, 0 * second],
        np.r_[0 * first, second],
        np.r_[reward, other_reward],
        np.r_[count, other_count],
    )


def _thinned(
    weight, reward, count, largest: float, random
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fewer cells: weights and rewards are rounded up or down at random, expectations kept."""
    first, second = weight, reward
    of_rewards = BITS - FINER * (len(np.unique(weight)) <= FEW)
    # of weights, then of rewards: the two change places
    for most, dropped in ((largest, BITS), (1.0, of_rewards)):
        bits = np.ascontiguousarray(first).view(np.int64) >> dropped
        low = (bits << dropped).view(float)
        high = np.minimum((bits + 1 << dropped).view(float), most)
        share = np.divide(first - low, high - low, out=np.zeros(len(low)), where=high > low)
        up = random.binomial(count, share)
        # As complex numbers pairs are sorted by one, then by the other.
        pairs, count = np.r_[second, second] + 1j * np.r_[low, high], np.r_[count - up, up]
        pairs, place = np.unique(pairs[count > 0], return_inverse=True)
        first = pairs.real
        second = pairs.imag
        count = np.bincount(place, count[count > 0]).astype(np.int64)
    return first, second, count
