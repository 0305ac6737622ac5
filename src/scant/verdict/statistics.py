"""Verdicts: whether results over seeds show that a claim holds, show that it fails, or leave it
undecided.

A claim about random results is a claim about their mean over seeds. Two one-sided tests judge it: a
small `p_holds` supports the claim, a small `p_fails` its contrary. The tests are anytime ones,
which keep their level however often one looks while seeds are added. So the verdicts of a family of
claims that `holm` adjusts include a false one with probability 1 - LEVEL at most, as far as the
premise of t, seeds near normal, is met. What needs no premise stands beside each verdict: in how
many seeds it is so, and how many at the far end of their range would overturn it.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.verdict import anytime
from scant.verdict.words import SILENT

LEVEL = 0.95  # of all intervals and verdicts
THRESHOLD = (1 - LEVEL) / 2  # the largest p-value that decides a claim by itself
POWER = 0.8
MOST_SEEDS = 10**6  # a claim that needs more counts as one that no number of seeds decides
SAWTOOTH = 3.0  # the power for a share may fall below 0.8 again within this, over the effect, seeds
ROUNDING = 1e-12  # values this close to a margin count as equal to it
T, BINOMIAL, EXACT, NONE = "anytime t", "anytime binomial", "exact", "none"
EQUAL = "equal"  # two sides that come to the same with every seed


class Claimed(NamedTuple):
    """The interval in which a claim says that a mean lies.

    low, high : its ends, each a number or one for each seed; infinite where it has no end
    closed : whether the ends belong to it
    """

    low: float | np.ndarray = -math.inf
    high: float | np.ndarray = math.inf
    closed: bool = False

    def distances(self, values: np.ndarray) -> np.ndarray:
        """How far each value lies inside each end of the interval, (ends, n), below 0 outside; 0
        where only rounding differs.
        """
        sides = [values - self.low, self.high - values]
        sides = np.array([side for side in sides if np.all(np.isfinite(side))])
        return np.where(np.abs(sides) <= ROUNDING, 0.0, sides)


def claimed(comparison: str, margin: float = 0.0, of=None, bound: float = math.nan) -> Claimed:
    """The interval that a claim names.

    Parameters
    ----------
    comparison : "greater" or "less" than the margin; "close", at most the margin away from 0;
        "slope", at most the bound and the margin
    margin : a number, or, with `of`, a share of it
    of : (n,) for each seed the quantity, not below 0, that the margin is a share of
    bound : the largest slope allowed, for "slope"
    """
    of = 1.0 if of is None else np.asarray(of, float)
    ends = {
        "greater": (margin * of, math.inf, False),
        "less": (-math.inf, margin * of, False),
        "close": (-margin * of, margin * of, True),
        "slope": (-math.inf, bound + margin, True),
    }
    return Claimed(*ends[comparison])


class Side(NamedTuple):
    """What seeds say of one end of a claimed interval.

    mean : how far inside of the end they lie on average; of shares, how much the share of seeds on
        the inner side is above `end`
    spread : their standard deviation; NaN where no number of seeds like these allows a t test
    n : how many seeds
    end : of shares of values of 0 and 1, the end as a share; NaN for others
    """

    mean: float
    spread: float
    n: int
    end: float = math.nan

    def __neg__(self) -> "Side":
        """What they say of its other side."""
        return self._replace(mean=-self.mean, end=1 - self.end)

    @property
    def of_share(self) -> bool:
        return not math.isnan(self.end)

    @property
    def effect(self) -> float:
        """The effect size: the mean in standard deviations (0 if all values are equal). For a
        share, its distance from the end that is tested.
        """
        if self.of_share:
            return self.mean
        return self.mean / self.spread if self.spread > 0 else 0.0

    def p_value(self) -> float:
        """The p-value of the test that the mean lies on the inner side of the end."""
        if self.of_share:
            ones = round((self.mean + self.end) * self.n)
            evidence = anytime.log_share_evidence(ones, self.n, self.end)
        elif self.spread > 0 and self.n >= anytime.LEAST_SEEDS:
            evidence = anytime.log_t_evidence(self.effect * math.sqrt(self.n), self.n)
        else:
            return 1.0
        return math.exp(-max(0.0, float(evidence)))

    def missed(self, n: int, threshold: float) -> float:
        """The probability of a type II error: that a test of n seeds does not reach the threshold
        if mean and spread are as estimated.
        """
        from scipy import special

        if self.of_share:
            fewest = _fewest_ones(n, self.end, threshold)
            return float(special.bdtr(fewest - 1, n, self.mean + self.end)) if fewest else 0.0
        least = anytime.least_t(n, threshold)
        if math.isinf(least):
            return 1.0
        return float(special.nctdtr(n - 1, min(self.effect, 1e3) * math.sqrt(n), least))


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, with the numbers that it rests on.

    verdict : "holds", "fails", "undecided", or `words.SILENT` of what cannot violate the claim
    estimate, low, high : the mean over seeds and its confidence sequence at `LEVEL`, not corrected
        for the family; NaN where so few seeds give no bound
    n : the number of seeds; of exact claims, of numbers compared
    p_holds, p_fails : p-values for the claim and for its contrary; after `holm`, the adjusted ones
    test : "anytime t"; "anytime binomial" of shares; "equal" where two learners came to the same
        with every seed; "exact" where no chance is involved; "nothing drawn" where all seeds are
        one observation; "none" of fewer than two seeds
    threshold : the largest p-value, before `holm` adjusts it, that decides the claim
    sides : for each cell of the claim, what seeds say of each end of the claimed interval
    inside : in how many seeds it is as claimed; a value on the margin counts against the claim
    tipping : the share of all seeds that would move the mean to the margin if they were at the far
        end of their range; 1 if none could; NaN where the range is not known
    missed : the probability that a study of as many seeds has no such seed, if their share is
        `tipping`
    worst : the value of the seed that speaks most against what the mean says
    split : whether the mean would decide, but not more than half of the seeds agree with it
    """

    verdict: str
    estimate: float
    low: float
    high: float
    n: int
    p_holds: float
    p_fails: float
    test: str
    threshold: float = field(default=THRESHOLD, repr=False)
    sides: tuple[tuple[Side, ...], ...] = field(default=(), repr=False)
    inside: int = 0
    tipping: float = math.nan
    missed: float = 1.0
    worst: float = math.nan
    split: bool = False

    @property
    def tested(self) -> bool:
        """Whether the verdict is from a test: neither exact nor silent."""
        return self.test != EXACT and self.verdict != SILENT

    @property
    def needed(self) -> float:
        """The number of seeds with which an undecided claim is decided with power 0.8 or more.

        It takes the estimated mean and spread as true; adding seeds may decide the claim sooner. It
        is infinite if 10^6 seeds would not be enough, and NaN if the claim is decided, or n < 2.
        """
        if self.verdict != "undecided" or not self.sides:
            return math.nan
        ends = [end for cell in self.sides for end in cell]
        worst = min(ends, key=lambda end: end.effect)
        if worst.effect > 0:  # every cell may come to hold: each of its ends has to be refuted
            seeds = _seeds(ends, self.threshold)
        else:  # the claim may come to fail, by the end that is violated most
            tests = len(self.sides) * max(map(len, self.sides))
            seeds = _seeds([-worst], self.threshold / tests)
        return max(seeds, self.n + 1)


def judge(
    values,
    interval: Claimed,
    within: tuple[float, float] | None = None,
    share: bool = False,
) -> Verdict:
    """The verdict on a claim that the mean over seeds lies in an interval.

    One test is for the claim, and another for its contrary. The claim holds if the p-value of the
    first is at most `THRESHOLD`, and fails if the p-value of the second is. Either verdict is wrong
    with probability 1 - LEVEL at most, whatever the mean, and however often one looks.

    Values of 0 and 1 have a binomial test. Others have a t test, whose premise is that seeds are
    near normal; it needs `anytime.LEAST_SEEDS` seeds with `anytime.LEAST_VALUES` different values.
    If t decides, but at most half of the seeds agree with the mean, the claim is undecided.

    Parameters
    ----------
    values : (n,) one for each seed; NaN where a run failed
    interval : what is claimed, see `claimed`
    within : the least and the largest that a value can be, if that is known
    share : whether values are 0 or 1, less a number that the claim compares with

    Raises
    ------
    SettingError : values are not one number for each seed, or not within their range
    """
    values, interval = _checked(values, interval, within)
    n = len(values)
    estimate = float(np.mean(values)) if n else math.nan
    if n < 2:
        return Verdict("undecided", estimate, math.nan, math.nan, n, 1.0, 1.0, NONE)
    distances, ends = interval.distances(values), _ends(interval, within)
    if share and _of_two(values, within):
        test, sides = BINOMIAL, [_share(*side) for side in zip(distances, ends, strict=True)]
    else:
        test, sides = T, [_mean(side) for side in distances]
    p_holds, p_fails = _p_values(sides)
    split = test == T and min(p_holds, p_fails) <= THRESHOLD and not _typical(distances)
    if split:  # no number of seeds like these decides the claim
        sides = [side._replace(spread=math.nan) for side in sides]
        p_holds = p_fails = 1.0
    tipping = _tipping(distances, ends)
    return Verdict(
        _outcome(p_holds, p_fails),
        estimate,
        *_sequence(values, test, within),
        n,
        p_holds,
        p_fails,
        test,
        sides=(tuple(sides),),
        inside=int(np.all(distances > 0, axis=0).sum()),
        tipping=tipping,
        missed=1.0 if math.isnan(tipping) else (1 - tipping) ** n,
        worst=_worst(values, distances),
        split=split,
    )


def certain(values, interval: Claimed) -> Verdict:
    """The verdict on values that involve no chance: the claim holds if all lie in the interval.

    Raises
    ------
    SettingError : the values differ between seeds, so that chance has a part in them
    """
    values, interval = _checked(values, interval, None)
    if not len(values):
        return judge(values, interval)
    if np.ptp(values) > ROUNDING * max(1, np.abs(values).max()):
        raise SettingError("differences said to be exact differ between seeds: have them tested")
    inside = interval.distances(values).min()
    return _certain(inside >= 0 if interval.closed else inside > 0, values.mean(), len(values))


def exact(value, expected, tolerance: float = 0.0) -> Verdict:
    """The verdict on numbers that involve no chance: the claim holds if none deviates from
    `expected` by more than `tolerance`.

    Parameters
    ----------
    value, expected : numbers or truth values, of shapes that broadcast; for words, whether they
        agree
    tolerance : how much a number may deviate

    Returns
    -------
    verdict : its estimate is the largest deviation, with its sign; its n is how many numbers there
        are

    Raises
    ------
    SettingError : an expected number is not finite, there is no number, or the tolerance is below 0
    """
    deviations = np.atleast_1d(np.asarray(value, float) - np.asarray(expected, float)).ravel()
    if not deviations.size or not np.all(np.isfinite(expected)) or not tolerance >= 0:
        raise SettingError(
            "an exact claim needs finite numbers to expect, and a tolerance of 0 or more"
        )
    # The deviation of a number that is not finite is NaN or infinite, which is within no tolerance.
    largest = float(deviations[np.argmax(np.abs(deviations))])
    return _certain(abs(largest) <= tolerance + ROUNDING, largest, deviations.size)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim about every one of several cells, from the verdict of `judge` on each.

    The claim holds if it holds in each cell. `p_holds` is the largest of the cells', and needs no
    correction (intersection-union test; Berger, 1982). The claim fails if it fails in any cell.
    Since each cell may fail by chance, `p_fails` is the smallest of the cells', times their number
    (Bonferroni). Cells that say nothing do not count. All other fields are taken from the cell with
    the largest `p_holds`; `missed` is of all cells, or of the cell that fails.

    Raises
    ------
    SettingError : there is no cell
    """
    if not verdicts:
        raise SettingError("a claim about several cells has none: name its streams")
    speaking = [verdict for verdict in verdicts if verdict.verdict != SILENT]
    if not speaking:
        return verdicts[0]
    tested = [verdict for verdict in speaking if verdict.tested]
    weakest = max([*tested, *speaking], key=lambda verdict: verdict.p_holds)
    failing = min(speaking, key=lambda verdict: verdict.p_fails)
    p_holds, p_fails = weakest.p_holds, min(1.0, max(1, len(tested)) * failing.p_fails)
    by_chance = sum(one.test != EQUAL for one in tested)
    missed, sides = [one.missed for one in tested], [side for one in tested for side in one.sides]
    return replace(
        weakest,
        verdict=_outcome(p_holds, p_fails),
        p_holds=p_holds,
        p_fails=p_fails,
        threshold=THRESHOLD,
        sides=tuple(sides) if len(sides) == by_chance else (),
        missed=max(missed, default=0.0) if p_holds < p_fails else failing.missed,
    )


def cell_verdicts(claim: Verdict, cells: Sequence[Verdict], of_mean: bool = False) -> list[str]:
    """The verdicts on the cells of a claim, corrected for the family of claims and for the number
    of cells.

    A claim that holds does so in every cell, unless it is about the cells' mean (`of_mean`).
    Otherwise each cell's p-values are held against the claim's threshold over the number of cells,
    as in `together`.
    """
    tests = sum(cell.tested for cell in cells)

    def outcome(cell: Verdict) -> str:
        if not cell.tested:
            return cell.verdict
        if claim.verdict == "holds" and not of_mean:
            return "holds"
        return _outcome(cell.p_holds, cell.p_fails, claim.threshold / tests)

    return list(map(outcome, cells))


def holm(family: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """The verdicts on a family of claims, by their ids, with Holm's correction.

    A family of m claims has 2m one-sided tests: one for each claim and one for its contrary. In
    ascending order, their p-values are compared with (1 - LEVEL) / 2m, (1 - LEVEL) / (2m - 1), and
    so on, up to the first that is larger. The probability of any false verdict in the family is
    then 1 - LEVEL at most, whichever claims are true and however they depend on each other (Bauer,
    Hackl, Hommel and Sonnemann, 1986: Multiple testing of pairs of one-sided hypotheses). What was
    not tested stays as it is and is not counted. Which claims form a family is fixed before any
    result is known.
    """
    tested = {name: one for name, one in family.items() if one.tested}
    if not tested:
        return dict(family)
    error = 1 - LEVEL
    values = np.array([(one.p_holds, one.p_fails) for one in tested.values()]).ravel()
    order, adjusted = np.argsort(values, kind="stable"), np.empty_like(values)
    tests_left = np.arange(len(values), 0, -1)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * tests_left))
    threshold = error / float(len(values) - np.sum(adjusted <= error))
    corrected = dict(family)
    for (name, one), p in zip(tested.items(), adjusted.reshape(-1, 2).tolist(), strict=True):
        outcome, p_values = _outcome(*p, error), {"p_holds": p[0], "p_fails": p[1]}
        corrected[name] = replace(one, verdict=outcome, threshold=threshold, **p_values)
    return corrected


def matters(values, readings: Mapping[str, Sequence]) -> dict[str, float]:
    """Each reading's share of the variance of a claim's estimates over all readings, largest first.

    Here a reading is a setting that the claim's document leaves open. Its share is its main effect
    in a one-way layout: the sum of squares between the means of its levels, divided by the total
    sum of squares, each summed over cells. In a balanced design the shares add up to 1 at most, and
    the rest is due to interactions. In unbalanced designs the shares overlap.

    values : (N,) or (N, cells) the estimates under each combination of readings; NaN is left out
    readings : by name of a reading, (N,) its level in each combination
    """
    values = pd.DataFrame(values, dtype=float)
    squares = ((values - values.mean()) ** 2).sum()
    total, shares = squares.sum() or 1.0, {}
    for name, levels in readings.items():
        effects = [_main_effect(values[cell].to_numpy(), np.asarray(levels)) for cell in values]
        shares[name] = float(
            sum(effect * square / total for effect, square in zip(effects, squares, strict=True))
        )
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _main_effect(values: np.ndarray, levels: np.ndarray) -> float:
    """The share of the sum of squares of values that is between the means of levels."""
    finite = ~np.isnan(values)
    values = values[finite]
    if not len(values) or np.ptp(values) <= ROUNDING:
        return 0.0
    _, group, counts = np.unique(
        levels[finite].astype(str), return_inverse=True, return_counts=True
    )
    means = np.bincount(group, values) / counts
    return float(counts @ (means - values.mean()) ** 2 / np.sum((values - values.mean()) ** 2))


def agreeing_least(agreeing: int, n: int) -> float:
    """A lower bound on the share of all seeds that agree, if `agreeing` of n do
    (Clopper-Pearson).
    """
    from scipy import special

    return float(special.betaincinv(agreeing, n - agreeing + 1, THRESHOLD)) if agreeing else 0.0


def _checked(values, interval: Claimed, within: tuple | None) -> tuple[np.ndarray, Claimed]:
    """The values that are not NaN, and the interval that is claimed for each."""
    values = np.asarray(values, float)
    if values.ndim != 1:
        raise SettingError(f"values of shape {values.shape}, not one for each seed")
    low, high = (np.broadcast_to(end, values.shape) for end in interval[:2])
    kept = ~(np.isnan(values) | np.isnan(low) | np.isnan(high))
    values, interval = values[kept], Claimed(low[kept], high[kept], interval.closed)
    if not np.all(np.isfinite(values)):
        raise SettingError("a difference is not finite: leave out the seeds or the claim")
    least, most = within or (-math.inf, math.inf)
    if np.any((values < least - ROUNDING) | (values > most + ROUNDING)):
        raise SettingError(f"a value is not within {least} and {most}, its range as declared")
    return values, interval


def _of_two(values: np.ndarray, within: tuple[float, float]) -> bool:
    """Whether each value is at one of the ends of its range."""
    return bool(np.all(np.isclose(values[:, None], within, rtol=0, atol=ROUNDING).any(axis=1)))


def _mean(distances: np.ndarray) -> Side:
    """The mean of the distances of seeds from an end; without a spread if too few of them
    differ.
    """
    n, mean = len(distances), float(distances.mean())
    gaps = np.diff(np.sort(distances)) > ROUNDING * max(1, np.abs(distances).max())
    alike = 1 + gaps.sum() < (anytime.LEAST_VALUES if n >= anytime.LEAST_VALUES else 2)
    return Side(mean, math.nan if alike else float(distances.std(ddof=1)), n)


def _typical(distances: np.ndarray) -> bool:
    """Whether more than half of the seeds are on the side of the mean of each end that decides."""
    means = distances.mean(axis=1)
    if means.min() > 0:
        return bool(np.all(2 * (distances > 0).sum(axis=1) > distances.shape[1]))
    return bool(2 * (distances[means.argmin()] <= 0).sum() > distances.shape[1])


def _ends(interval: Claimed, within: tuple | None) -> np.ndarray | None:
    """(ends, 2) how far inside each end of a claimed interval the ends of the range lie."""
    middle = Claimed(float(np.mean(interval.low)), float(np.mean(interval.high)))
    return None if within is None else middle.distances(np.array(within, float))


def _share(distances: np.ndarray, ends: np.ndarray) -> Side:
    """The share of seeds at the inner end of their range, less the share that is claimed."""
    end = float(-ends.min() / np.ptp(ends))
    inner = np.isclose(distances, ends.max(), rtol=0, atol=ROUNDING)
    return Side(float(inner.mean()) - end, math.nan, len(distances), end)


def _p_values(sides: Sequence[Side]) -> tuple[float, float]:
    """`p_holds` and `p_fails`: all ends are to be kept, or any is violated."""
    against = min((-side).p_value() for side in sides)
    return max(side.p_value() for side in sides), min(1.0, len(sides) * against)


def _tipping(distances: np.ndarray, ends: np.ndarray | None) -> float:
    """`Verdict.tipping`, from the distances of seeds and of the range from each end."""
    if ends is None:
        return math.nan
    means = distances.mean(axis=1)
    if means.min() <= 0:  # not as claimed, by the end that is violated most
        means, ends = -means[[means.argmin()]], -ends[[means.argmin()]]
    far = ends.min(axis=1)
    return float(np.min(np.where(far < 0, means / (means - np.minimum(far, -ROUNDING)), 1.0)))


def _worst(values: np.ndarray, distances: np.ndarray) -> float:
    """`Verdict.worst`."""
    nearest = distances.min(axis=0)
    as_claimed = distances.mean(axis=1).min() > 0
    return float(values[nearest.argmin() if as_claimed else nearest.argmax()])


def _fewest_ones(n: int, end: float, threshold: float) -> int:
    """The fewest ones among n values of 0 and 1 that show a share above `end`; n + 1 if none do."""
    least = -math.log(threshold)
    return bisect_left(
        range(n + 1), True, key=lambda ones: bool(anytime.log_share_evidence(ones, n, end) >= least)
    )


def _seeds(sides: Sequence[Side], threshold: float) -> float:
    """The least n from which on tests of all sides, each above 0, reach the threshold together."""

    def enough(n: int) -> bool:
        return sum(side.missed(n, threshold) for side in sides) <= 1 - POWER

    if min(side.effect for side in sides) <= 0:
        return math.inf
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_SEEDS:
            return math.inf
    high = low + 1 + bisect_left(range(low + 1, high), True, key=enough)
    # The power for a share falls a little wherever one more 1 is wanted, and has risen beyond soon.
    soon = max((math.ceil(SAWTOOTH / side.effect) for side in sides if side.of_share), default=0)
    return float(next((n for n in range(high + soon, high, -1) if not enough(n - 1)), high))


def _sequence(values: np.ndarray, test: str, within: tuple | None) -> tuple[float, float]:
    """The confidence sequence of the mean that belongs to a test; NaN where there is no test."""
    n, mean = len(values), float(values.mean())
    if test == T:
        half = anytime.least_t(n, THRESHOLD) * _mean(values).spread / math.sqrt(n)
        return (mean - half, mean + half) if math.isfinite(half) else (math.nan, math.nan)
    least, width = within[0], within[1] - within[0]
    ones = int(np.isclose(values, within[1]).sum())
    low, high = (anytime.least_share(some, n, THRESHOLD) for some in (ones, n - ones))
    return float(least + width * low), float(least + width * (1 - high))


def _outcome(p_holds: float, p_fails: float, threshold: float = THRESHOLD) -> str:
    if p_holds <= threshold:
        return "holds"
    return "fails" if p_fails <= threshold else "undecided"


def _certain(holds: bool, estimate: float, n: int) -> Verdict:
    """The verdict on a claim that involves no chance."""
    outcome, p_values = ("holds", (0.0, 1.0)) if holds else ("fails", (1.0, 0.0))
    ends = (float(estimate),) * 3
    return Verdict(outcome, *ends, n, *p_values, EXACT, inside=n if holds else 0, missed=0.0)
