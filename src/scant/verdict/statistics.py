"""Verdicts: whether the results over seeds show that a claim holds, show that it fails, or leave it undecided.

A claim about random results is a claim about their mean over seeds. Two one-sided tests judge it: a small `p_holds`
supports the claim, a small `p_fails` its contrary. If both tests keep their level, the verdicts of a family of claims
that `holm` adjusts include a false `holds` or a false `fails` with probability 1 - level at most. The tests are anytime
ones, which keep their level however often one looks while seeds are added, or those for a fixed number of seeds.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from scant.errors import SettingError, unknown
from scant.present.intervals import t_interval
from scant.verdict import anytime
from scant.verdict.words import PREMISES, SILENT

POWER = 0.8
MOST_SEEDS = 10**6  # a claim that needs more counts as one that no number of seeds decides
SAWTOOTH = 3.0  # over this many seeds, divided by the effect, the power for a share may fall below 0.8 again
ROUNDING = 1e-12  # values this close to a margin count as equal to it
ROUNDED = 12  # decimals of shares

# The interval in which a claim says that the mean lies: its ends, and whether they belong to it.
COMPARISONS = {
    "greater": lambda margin, bound: (margin, math.inf, False),
    "less": lambda margin, bound: (-math.inf, margin, False),
    "close": lambda margin, bound: (-margin, margin, True),
    "slope": lambda margin, bound: (-math.inf, bound + margin, True),
}
TESTING = ("anytime", "fixed")
SHARES = ("anytime binomial", "binomial", "betting")  # the tests of shares
FLIPS = 7  # up to how many seeds a fixed test is that of sign flips


class Effect(NamedTuple):
    """How far the mean lies inside one end of the claimed interval.

    size : in standard deviations over seeds, or 0 if they have too few values to tell; of a share, the share minus
        that end
    end : of a share, the end, between 0 and 1; NaN for other quantities
    overturning : the share of seeds that would put the mean on that end if they were at the far end of the range; 1 if
        the range is not known, or if no share would
    counted : of what is tested by betting, the different values as shares, and how often each occurred
    """

    size: float
    end: float = math.nan
    overturning: float = 1.0
    counted: tuple[tuple[float, ...], tuple[int, ...]] | None = None

    def __neg__(self) -> "Effect":
        """How far it lies outside of it."""
        counted = self.counted and (tuple(1 - value for value in self.counted[0]), self.counted[1])
        return Effect(-self.size, 1 - self.end, self.overturning, counted)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, with the numbers that it rests on.

    verdict : "holds", "fails", "undecided", or `words.SILENT` of what cannot violate the claim
    estimate, low, high : the mean over seeds and its two-sided interval at `level`, not corrected for the family; that
        of the same test, so that an anytime test has a confidence sequence. NaN where so few seeds give no bound
    n : the number of seeds
    p_holds, p_fails : p-values for the claim and for its contrary; after `holm`, the adjusted ones
    test : "anytime t", "t", "sign flips", "anytime binomial" and "binomial" (of shares), "betting" (of shares, and
        where seeds have too few values for t), "exact" (no chance is involved), "nothing drawn" (all seeds are one
        observation), or "none" (fewer than two seeds)
    threshold : the largest p-value, before `holm` adjusts it, that decides the claim
    effects : for each cell of the claim, how far the mean lies inside each end of the claimed interval
    testing : "anytime" or "fixed"
    overturned : where t or sign flips alone would decide, but seeds that were not drawn may overturn it (see `judge`):
        the share of all seeds that have to be at the far end of the range for that; NaN elsewhere
    bets : where a test rests on a premise and the range is known, the verdict of bets, which need none, on the same
        seeds, without an interval; after `holm`, that of a family whose tests need none
    """

    verdict: str
    estimate: float
    low: float
    high: float
    n: int
    p_holds: float
    p_fails: float
    test: str
    level: float = 0.95
    threshold: float = field(default=0.025, repr=False)
    effects: tuple[tuple[Effect, ...], ...] = field(default=(), repr=False)
    testing: str = field(default="anytime", repr=False)
    overturned: float = field(default=math.nan, repr=False)
    bets: "Verdict | None" = field(default=None, repr=False)

    @property
    def needed(self) -> float:
        """The least number of seeds from which on an undecided claim is decided with power 0.8 or more.

        That is if the true mean and spread are as estimated. With every greater number the power is 0.8, too: that of
        tests of shares rises and falls by a little from one number to the next, so that a few smaller numbers may have
        it as well. It is computed from the power of t tests, of binomial tests, if the claim is about a share, or of
        bets on values like those seen, at the present threshold. An anytime test may decide it sooner. Where all seeds
        of a fixed test are alike, 2^-n also has to be below the threshold, and one more seed may be needed.
        Infinite if the estimate is so close to the margin that 10^6 seeds would not be enough, or if seeds have too few
        values for an anytime t test. NaN if the claim is decided, or if the spread is not known (n < 2).
        """
        if self.verdict != "undecided" or not self.effects:
            return math.nan
        every_end = [end for cell in self.effects for end in cell]
        if min(every_end).size > 0:  # every cell may come to hold: each of its ends has to be refuted
            seeds = self._seeds(every_end, self.threshold)
        else:  # the claim may come to fail: by the end that is violated most, after Bonferroni's correction
            most_ends = max(map(len, self.effects))
            seeds = self._seeds([-min(every_end)], self.threshold / (len(self.effects) * most_ends))
        return max(seeds, self.n + 1)

    def _seeds(self, effects: Sequence[Effect], threshold: float) -> float:
        """The least n from which on tests of all these effects, each above 0, reach the threshold with power 0.8."""

        def enough(n: int) -> bool:
            return sum(self._missed(effect, n, threshold) for effect in effects) <= 1 - POWER

        if min(effects).size <= 0:
            return math.inf
        low, high = 1, 2
        while not enough(high):
            low, high = high, 2 * high
            if high > MOST_SEEDS:
                return math.inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        # The power for a share falls a little wherever one more 1 is wanted, and has risen beyond soon after.
        of_shares = [effect.size for effect in effects if not (math.isnan(effect.end) or effect.counted)]
        soon = max((math.ceil(SAWTOOTH / size) for size in of_shares), default=0)
        return float(next((n for n in range(high + soon, high, -1) if not enough(n - 1)), high))

    def _missed(self, effect: Effect, n: int, threshold: float) -> float:
        """The probability that a test of n seeds does not reach the threshold."""
        from scipy import special

        fixed = self.testing == "fixed"
        if effect.counted:
            return anytime.missed_by_bets(*effect.counted, effect.end, n, threshold)
        if not math.isnan(effect.end):
            fewest = _fewest_ones(n, effect.end, threshold, fixed)
            return float(special.bdtr(fewest - 1, n, effect.size + effect.end)) if fewest else 0.0
        alike = math.isinf(effect.size)
        if fixed and 2.0**-n > threshold and (alike or n <= FLIPS):
            return 1.0
        critical = -special.stdtrit(n - 1, threshold) if fixed else anytime.least_t(n, threshold)
        if math.isinf(critical):
            return 1.0
        missed = 0.0 if alike else float(special.nctdtr(n - 1, min(effect.size, 1e3) * math.sqrt(n), critical))
        if effect.overturning < 1:  # the mean has to be further inside than what n seeds may miss could move it
            odds = (1 - self.level) ** (-1 / n) - 1
            share = odds * (1 - effect.overturning) / effect.overturning
            missed += float(special.ndtr((share - 1) * effect.size * math.sqrt(n)))
        return missed


def judge(
    differences,
    comparison: str,
    margin: float = 0.0,
    level: float = 0.95,
    of=None,
    bound: float | None = None,
    exact: bool = False,
    testing: str = "anytime",
    within: tuple[float, float] | None = None,
    share: bool = True,
) -> Verdict:
    """The verdict on a claim about the mean of paired differences over seeds.

    The claim holds if the p-value of the test for it is at most (1 - level) / 2. It fails if the p-value of the test
    for its contrary is. Otherwise it is undecided. Together, false verdicts of both kinds have probability 1 - level at
    most, also if the mean is exactly on the margin. `holm` gives the same verdict to a family of one claim.

    Which test it is depends on what is known before any result is: on `testing`, `within` and the number of seeds.

    testing="anytime" : the p-value is 1 over the evidence of `scant.verdict.anytime`. It keeps its level for normal
        differences if seeds are added until it decides, however often one looks. It needs `anytime.LEAST_SEEDS` at
        least, and more seeds than a test of a number that is fixed beforehand. If fewer than `anytime.LEAST_VALUES`
        differences are unlike, t says nothing. If the range is known, the test by betting takes its place, which is
        valid for every distribution; if not, nothing is decided. No claim can choose between the two: differences with
        a density are never equal, and a quantity with fewer values never has a t test.
    testing="fixed" : with fewer than 8 seeds, the test of all 2^n sign flips, which is exact for differences that are
        symmetric about the margin. Its p-values are at least 2^-n, so that a single claim needs six seeds for a verdict
        at level 0.95. With 8 seeds or more, Student's t test.
    share : shares have tests of their own, which suppose nothing about their distribution: the binomial test, fixed or
        anytime, if a share is 0 or 1 in each seed, and the anytime test by betting if it lies between.

    t and sign flips rest on a premise, `words.PREMISES`, that a few seeds cannot show: a rare value may be missing,
    however alike they are. Where the range is known, t and sign flips decide only what such a value cannot overturn.
    Suppose that a share of all seeds is at the far end of the range, just large enough to put the mean on its margin:
    n seeds have none of them with a probability of at most 1 - level. Beside the verdict stands what bets say, which
    need no premise. Where the range is not known, nothing guards the premise; benchmarks/premise.py measures what that
    costs. Differences that are all equal may still be random, and have a fixed test's p-value of 2^-n at least, unless
    the caller says that they are exact.

    Parameters
    ----------
    differences : (n,) of the quantity, one for each seed, signed as the claim says; NaN where a run failed
    comparison : what is claimed of their mean: "greater" or "less" than the margin; "close", at most the margin away
        from 0 (two one-sided tests); "slope", within the bound, widened by the margin
    margin : in units of the differences, or, with `of`, as a share of it
    level : of the interval and of the verdict
    of : (n,) quantity, not below 0, that the margin is a share of, by seed, such as the score of the other learner
    bound : for "slope", the largest slope that is claimed
    exact : whether the differences involve no chance; they are then all equal, and a single one is enough
    testing : "anytime" or "fixed"
    within : the least and the largest that a difference can be, if that is known; of a share (0, 1), or (-0.9, 0.1) if
        0.9 has been subtracted, or (-1, 1) of two shares
    share : whether the quantity of which `within` is known is a share, with the tests of shares

    Raises
    ------
    SettingError : the comparison is unknown, or the numbers do not suit it
    """
    values, margins = _checked(differences, comparison, margin, level, of, bound, testing, within, share)
    low, high, closed = COMPARISONS[comparison](margins, bound)
    # The least and the largest margin that a seed can have, and by them the range of a seed's distance from either
    # end of what is claimed: `low` is the end that values are to be above, `high` the one that they are to be below.
    most = margin if of is None or within is None else margin * np.array([0, max(map(abs, within))])
    lows, highs, _ = COMPARISONS[comparison](most, bound)
    sides = []
    if np.all(np.isfinite(low)):
        sides.append(_Side(_snapped(values - low), within and (within[0] - np.max(lows), within[1] - np.min(lows))))
    if np.all(np.isfinite(high)):
        sides.append(_Side(_snapped(high - values), within and (np.min(highs) - within[1], np.max(highs) - within[0])))
    name = _name(values, testing, within, share)
    n, threshold, estimate = len(values), (1 - level) / 2, float(np.mean(values)) if len(values) else math.nan
    if exact and n:
        if np.ptp(values) > ROUNDING * max(1, np.abs(values).max(initial=0)):
            raise SettingError("differences said to be exact differ between seeds: drop `exact`, and have them tested")
        inside = min(side.values.min() for side in sides)
        return _certain(inside >= 0 if closed else inside > 0, estimate, n, level)
    about = {"testing": testing, "threshold": threshold}
    if n < 2:
        return Verdict("undecided", estimate, math.nan, math.nan, n, 1.0, 1.0, "none", level, **about)

    def tested(test: str, missed: float = 1.0, interval=(math.nan, math.nan)) -> Verdict:
        effects, p_values = tuple(_effect(side, test) for side in sides), _p_values(sides, test, missed)
        outcome = _outcome(*p_values, threshold)
        return Verdict(outcome, estimate, *interval, n, *p_values, test, level, effects=(effects,), **about)

    interval, overturned = _interval(values, name, within, level), math.nan
    if within is None or name in SHARES:
        return tested(name, interval=interval)
    alone, verdict = tested(name).verdict, tested(name, 1 - level, interval)
    if alone != verdict.verdict:
        deciding = [effect for effect in verdict.effects[0] if (effect.size > 0) == (alone == "holds")]
        overturned = min(effect.overturning for effect in deciding)
    return replace(verdict, bets=tested("betting"), overturned=overturned)


def exact(value, expected, tolerance: float = 0.0, level: float = 0.95) -> Verdict:
    """The verdict on numbers that involve no chance: the claim holds if none deviates by more than `tolerance`.

    Parameters
    ----------
    value, expected : numbers or truth values, of shapes that broadcast; for words, pass whether they agree

    Returns
    -------
    verdict : its estimate is the largest deviation, with its sign; its n is how many numbers there are

    Raises
    ------
    SettingError : an expected number is not finite, there is no number, or the tolerance is below 0
    """
    deviations = np.atleast_1d(np.asarray(value, float) - np.asarray(expected, float)).ravel()
    if not deviations.size or not np.all(np.isfinite(expected)) or not tolerance >= 0:
        raise SettingError("an exact claim needs finite numbers to expect, and a tolerance of 0 or more: give these")
    # The deviation of a number that is not finite is NaN or infinite, which is within no tolerance.
    largest = float(deviations[np.argmax(np.abs(deviations))])
    return _certain(abs(largest) <= tolerance + ROUNDING, largest, deviations.size, level)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim about every one of several cells, such as streams, from the verdict on each of them.

    The claim holds if it holds in each cell. `p_holds` is the largest of the cells', and needs no correction
    (intersection-union test; Berger, 1982). The claim fails if it fails in any cell. Since each cell may fail by
    chance, `p_fails` is the smallest of the cells', times their number (Bonferroni).

    Cells that say nothing count no more than if they were not there. Estimate, interval, n and test are those of the
    cell with the largest `p_holds`.

    Parameters
    ----------
    verdicts : one for each cell, as `judge` returns them; `holm` comes after, for the verdict on the claim

    Raises
    ------
    SettingError : there is no cell, a cell is itself about several, or levels differ
    """
    if not verdicts:
        raise SettingError("a claim about several cells has none: name its streams")
    if any(len(verdict.effects) > 1 for verdict in verdicts):
        raise SettingError("a cell of a claim is itself about several: join the verdicts of single cells")
    speaking = [verdict for verdict in verdicts if verdict.verdict != SILENT]
    if not speaking:
        return verdicts[0]
    verdicts = speaking
    chance = [verdict for verdict in verdicts if verdict.test != "exact"]
    level, chances = _level(chance or verdicts), max(1, len(chance))
    holding, failing = [verdict.p_holds for verdict in verdicts], [verdict.p_fails for verdict in verdicts]
    p_holds, p_fails = max(holding), min(1.0, chances * min(failing))
    cell = next(verdict for verdict in [*chance, *verdicts] if verdict.p_holds == p_holds)
    without = [verdict.bets or verdict for verdict in verdicts]
    return replace(
        cell,
        bets=together(without) if any(verdict.bets for verdict in verdicts) else None,
        verdict=_outcome(p_holds, p_fails, (1 - level) / 2),
        p_holds=p_holds,
        p_fails=p_fails,
        threshold=(1 - level) / 2,
        effects=tuple(verdict.effects[0] for verdict in chance) if all(verdict.effects for verdict in chance) else (),
    )


def over(cells, comparison: str, margin: float = 0.0, *, of=None, **settings) -> Verdict:
    """The verdict on a claim about the mean over several cells, such as streams, from the differences in each of them.

    Parameters
    ----------
    cells : for each cell, (n,) differences over seeds; seeds that are missing in a cell (NaN) are left out
    of : for each cell, (n,) quantity that the margin is a share of
    comparison, margin, settings : see `judge`

    Raises
    ------
    SettingError : see `judge`; cells and `of` do not fit each other
    """
    cells = [np.asarray(cell, float) for cell in cells]
    bases = [None] * len(cells) if of is None else [np.asarray(base, float) for base in of]
    if len(bases) != len(cells):
        raise SettingError(f"{len(cells)} cells and {len(bases)} quantities for shares: give as many")
    if len({values.shape for values in [*cells, *bases] if values is not None}) != 1:
        raise SettingError("a mean over cells needs the same seeds in each: give NaN for one that is missing")
    base = None if of is None else np.mean(bases, axis=0)
    return judge(np.mean(cells, axis=0), comparison, margin, of=base, **settings)


def holm(families: Mapping[str, Mapping[str, Verdict]]) -> dict[str, dict[str, Verdict]]:
    """The verdicts of families of claims, with Holm's correction within each family.

    A family of m claims has 2m one-sided tests: one for each claim and one for its contrary. Holm's method is applied
    to these: in ascending order, their p-values are compared with (1 - level) / 2m, (1 - level) / (2m - 1), and so on,
    up to the first that is larger. The probability of at least one false `holds` or `fails` in the family is then
    1 - level at most, whichever claims are true and however they depend on each other (Bauer, Hackl, Hommel and
    Sonnemann, 1986: Multiple testing of pairs of one-sided hypotheses). Holm's method with two-sided p-values would be
    a little more powerful, but is not known to keep this level for claims that share seeds.

    A claim holds if its adjusted `p_holds` is at most 1 - level, and fails if its adjusted `p_fails` is. Exact claims
    stay as they are and are not counted. Which claims form a family is fixed before any result is known.

    What bets say is corrected in the same way, in a family in which a test that rests on a premise decides nothing.

    families : for each family, the verdicts on its claims by their ids, as `judge`, `over` or `together` return them
    """
    return {name: dict(zip(family, _adjusted(list(family.values())), strict=True)) for name, family in families.items()}


def _without_premise(verdict: Verdict) -> Verdict:
    """The verdict on the same seeds without a premise: that of bets; undecided where the range is not known."""
    if verdict.test not in PREMISES or verdict.bets:
        return verdict.bets or verdict
    return replace(verdict, verdict="undecided", p_holds=1.0, p_fails=1.0)


def shares(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """Under how many readings a claim holds, and under how many it fails, of those that say something.

    verdicts : on the claim, by reading

    Returns
    -------
    counts : readings_holding, readings_failing and readings_total
    """
    outcomes = [verdict.verdict for verdict in verdicts.values() if verdict.verdict != SILENT]
    return {
        "readings_holding": outcomes.count("holds"),
        "readings_failing": outcomes.count("fails"),
        "readings_total": len(outcomes),
    }


def matters(values, readings: Mapping[str, Sequence]) -> dict[str, float]:
    """Each reading's share of the variance of a claim's estimate over all combinations of readings, largest first.

    A reading's share is its main effect in a one-way layout: the sum of squares between the means of its levels,
    divided by the total sum of squares. In a balanced design, in which all combinations of levels are equally frequent,
    the shares add up to 1 at most, and the rest is due to interactions. In other designs the shares overlap, and a
    reading may have a large share only because it has many levels.

    Parameters
    ----------
    values : (N,) the estimate under each combination of readings; NaN is left out
    readings : for each reading by name, (N,) its level in each combination

    Raises
    ------
    SettingError : a reading has not N levels
    """
    values = np.asarray(values, float)
    wrong = [name for name, levels in readings.items() if np.shape(levels) != values.shape]
    if values.ndim != 1 or wrong:
        raise SettingError(f"reading {(wrong or ['?'])[0]!r} has not one level for each value: give as many")
    finite = ~np.isnan(values)
    values = values[finite]
    total = float(np.sum((values - values.mean()) ** 2)) if len(values) else 0.0
    if not len(values) or np.ptp(values) <= ROUNDING:
        return dict.fromkeys(readings, 0.0)

    def share(levels) -> float:
        _, group, counts = np.unique(np.asarray(levels)[finite].astype(str), return_inverse=True, return_counts=True)
        means = np.bincount(group, values) / counts
        return float(counts @ (means - values.mean()) ** 2) / total

    by_reading = {name: share(levels) for name, levels in readings.items()}
    return dict(sorted(by_reading.items(), key=lambda item: -item[1]))


def sign_flips(differences) -> float:
    """The p-value of the exact sign-flip test for a mean above 0.

    It is the share of the 2^n choices of the differences' signs whose sum is at least the observed sum.

    differences : (n,), with n at most 15 unless they are all equal, since all 2^n sums are computed
    """
    differences = np.asarray(differences, float)
    if np.all(differences == differences[0]):
        return 2.0 ** -len(differences) if differences[0] > 0 else 1.0
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    # The first sum is the observed one. Sums equal to it may differ from it by rounding.
    return float(np.mean(sums >= sums[0] - 1e-9 * np.abs(differences).sum()))


def _checked(
    differences, comparison, margin, level, of, bound, testing, within, share
) -> tuple[np.ndarray, np.ndarray]:
    """The differences without those that are NaN, and the margin of each of them."""
    if comparison not in COMPARISONS:
        raise unknown("comparison", comparison, COMPARISONS)
    if testing not in TESTING:
        raise unknown("testing", testing, TESTING)
    if not 0.5 <= level < 1:
        raise SettingError(f"level {level} of a verdict is not within 0.5 and 1: 0.95 is usual")
    values = np.asarray(differences, float)
    if values.ndim != 1:
        raise SettingError(f"differences of shape {values.shape}, not one for each seed: several cells are for `over`")
    base = np.ones_like(values) if of is None else np.asarray(of, float)
    if base.shape != values.shape or np.any(base < 0):
        raise SettingError("`of` is to hold one quantity for each seed, none below 0: the margin is a share of it")
    finite = ~(np.isnan(values) | np.isnan(base))
    values, margins = values[finite], margin * base[finite]
    if not (np.all(np.isfinite(values)) and np.all(np.isfinite(margins))):
        raise SettingError("a difference or the margin is not finite: leave out the seeds or the claim")
    if within is not None:
        if of is not None and share:
            raise SettingError("a margin of a share is a number: give no `of` together with `within`")
        if not (-math.inf < within[0] < within[1] < math.inf):
            raise SettingError(f"within {within} is to be the least and the largest that a difference can be")
        if len(values) and (values.min() < within[0] - ROUNDING or values.max() > within[1] + ROUNDING):
            raise SettingError(f"a difference is not within {within[0]} and {within[1]}, its range as declared")
        if of is None:
            margins = margin
        elif np.any(base[finite] > max(map(abs, within)) + ROUNDING):
            raise SettingError(f"`of` is larger than any difference within {within[0]} and {within[1]}")
    if comparison == "close" and not (margin > 0 and np.all(margins >= 0) and (np.sum(margins) > 0 or not len(values))):
        raise SettingError("a claim of `close` needs a margin above 0: say how close is close")
    if (bound is not None) != (comparison == "slope"):
        raise SettingError("a bound goes with the comparison `slope`, and only with it")
    if bound is not None and (not math.isfinite(bound) or margin < 0):
        raise SettingError(f"bound {bound} of a slope: give the largest, and no margin below 0")
    return values, margins


def _snapped(side: np.ndarray) -> np.ndarray:
    """Distances to a margin, with 0 for those that are only rounding."""
    return np.where(np.abs(side) <= ROUNDING, 0.0, side)


class _Side(NamedTuple):
    """How far each seed's difference lies inside one end of the claimed interval.

    values : (n,)
    within : the least and the largest that a value can be; None if that is not known
    """

    values: np.ndarray
    within: tuple[float, float] | None = None

    def __neg__(self) -> "_Side":
        return _Side(-self.values, self.within and (-self.within[1], -self.within[0]))

    def overturning(self) -> float:
        """See `Effect.overturning`; 0 if the mean is not inside."""
        mean, beyond = self.values.mean(), max(0.0, -self.within[0]) if self.within else 0.0
        return float(mean / (mean + beyond)) if mean > 0 else 0.0

    def shares(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The different values as shares of what they can be, how often each occurred, and the end as such a share."""
        least, most = self.within
        values = np.round((self.values - least) / (most - least), ROUNDED)
        return *np.unique(values, return_counts=True), round(-least / (most - least), ROUNDED)


def _name(values: np.ndarray, testing: str, within: tuple | None, share: bool) -> str:
    """The name of the test that is used, see `Verdict.test`."""
    if within is None or not share:
        if testing == "fixed":
            return "sign flips" if len(values) <= FLIPS else "t"
        return "betting" if within and _few(values) else "anytime t"
    if not np.all(np.isclose(values, within[0], atol=ROUNDING) | np.isclose(values, within[1], atol=ROUNDING)):
        return "betting"
    return "anytime binomial" if testing == "anytime" else "binomial"


def _few(values: np.ndarray) -> bool:
    """Whether there are fewer different values than a t test takes; with fewer seeds than that, only one."""
    gaps = np.diff(np.sort(values)) > ROUNDING * max(1, np.abs(values).max(initial=0))
    return 1 + gaps.sum() < (anytime.LEAST_VALUES if len(values) >= anytime.LEAST_VALUES else 2)


def _p_values(sides: Sequence[_Side], test: str, missed: float = 1.0) -> tuple[float, float]:
    """`p_holds` and `p_fails` by a test, see `Verdict.test`.

    A p-value is 1 if seeds that are not there with more than the probability `missed` may overturn what it says.
    """

    def p_value(side: _Side) -> float:
        return 1.0 if (1 - side.overturning()) ** len(side.values) > missed else _p_value(side, test)

    return max(map(p_value, sides)), min(1.0, len(sides) * min(p_value(-side) for side in sides))


def _p_value(side: _Side, test: str) -> float:
    """The p-value of a test, see `Verdict.test`, for a mean above 0."""
    from scipy import special

    if test in SHARES:
        values, counts, end = side.shares()
        if test == "binomial":
            return _binomial(int(counts[values > 0.5].sum()), len(side.values), end)
        return _p_of(anytime.log_share_evidence(values, counts, end))
    n, mean, spread = len(side.values), side.values.mean(), _spread(side.values)
    if test == "sign flips":
        return sign_flips(side.values if spread else np.full(n, mean))
    if test == "anytime t":
        decides = n >= anytime.LEAST_SEEDS and not _few(side.values)
        return _p_of(anytime.log_t_evidence(mean / spread * math.sqrt(n), n)) if decides else 1.0
    return float(special.stdtr(n - 1, -mean / spread * math.sqrt(n))) if spread else sign_flips(np.full(n, mean))


def _p_of(log_evidence) -> float:
    """The p-value that some evidence is worth."""
    return math.exp(-max(0.0, float(log_evidence)))


def _binomial(ones: int, n: int, end: float) -> float:
    """The p-value of the binomial test for a share above `end`, which may be outside 0 and 1."""
    from scipy import special

    if end < 0:
        return 0.0
    return float(special.betainc(ones, n - ones + 1, end)) if ones and end < 1 else 1.0


def _fewest_ones(n: int, end: float, threshold: float, fixed: bool) -> int:
    """The fewest ones among n values of 0 and 1 that show a share above `end`; n + 1 if none do."""

    def shown(ones: int) -> bool:
        if fixed:
            return _binomial(ones, n, end) <= threshold
        return _p_of(anytime.log_share_evidence((0, 1), (n - ones, ones), end)) <= threshold

    return bisect_left(range(n + 1), True, key=shown)


def _interval(values: np.ndarray, test: str, within: tuple | None, level: float) -> tuple[float, float]:
    """The two-sided interval for the mean that belongs to a test: that of t for sign flips."""
    from scipy import special

    n, p = len(values), (1 - level) / 2
    if test in ("t", "sign flips"):
        return tuple(map(float, t_interval(values, level)[1:3]))
    if test == "anytime t":
        critical = anytime.least_t(n, p)
        if math.isinf(critical) or _few(values):
            return math.nan, math.nan
        half = critical * values.std(ddof=1) / math.sqrt(n)
        return float(values.mean() - half), float(values.mean() + half)
    shares, counts, _ = _Side(values, within).shares()
    if test == "binomial":
        ones = int(counts[shares > 0.5].sum())
        low = special.betaincinv(ones, n - ones + 1, p) if ones else 0.0
        high = special.betaincinv(ones + 1, n - ones, 1 - p) if ones < n else 1.0
    else:
        low = anytime.least_share(tuple(shares), tuple(counts), p)
        high = 1 - anytime.least_share(tuple(1 - shares), tuple(counts), p)
    width = within[1] - within[0]
    return float(within[0] + width * low), float(within[0] + width * high)


def _spread(values: np.ndarray) -> float:
    """The standard deviation over seeds; 0 where it is only rounding."""
    spread = values.std(ddof=1)
    return float(spread) if spread > ROUNDING * max(1, abs(values.mean())) else 0.0


def _effect(side: _Side, test: str) -> Effect:
    """The mean of a side; infinite if all seeds have the same value other than 0."""
    if test in SHARES:
        values, counts, end = side.shares()
        counted = (tuple(values.tolist()), tuple(counts.tolist())) if test == "betting" else None
        return Effect(float(values @ counts / counts.sum()) - end, end, counted=counted)
    mean, spread = float(side.values.mean()), _spread(side.values)
    if mean == 0 or (test == "anytime t" and _few(side.values)):
        return Effect(0.0)
    overturning = max(side.overturning(), (-side).overturning())  # one of them is 0
    return Effect(mean / spread if spread else math.copysign(math.inf, mean), overturning=overturning)


def _outcome(p_holds: float, p_fails: float, threshold: float) -> str:
    return "holds" if p_holds <= threshold else "fails" if p_fails <= threshold else "undecided"


def _certain(holds: bool, estimate: float, n: int, level: float) -> Verdict:
    """The verdict on a claim that involves no chance."""
    p_values = (0.0, 1.0) if holds else (1.0, 0.0)
    return Verdict("holds" if holds else "fails", estimate, estimate, estimate, n, *p_values, "exact", level)


def _level(verdicts: Sequence[Verdict]) -> float:
    """The level of all verdicts. Raise a SettingError if they differ in it."""
    levels = {verdict.level for verdict in verdicts}
    if len(levels) > 1:
        raise SettingError(f"verdicts at the levels {sorted(levels)} go together: judge them at one level")
    return levels.pop()


def _adjusted(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts of a family with Holm's correction, with what bets say, corrected likewise, in the same order."""
    bets = _corrected([_without_premise(verdict) for verdict in verdicts])
    return [
        replace(verdict, bets=said if before.bets else None)
        for before, verdict, said in zip(verdicts, _corrected(verdicts), bets, strict=True)
    ]


def _corrected(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts of a family with Holm's correction, in the same order."""
    chance = [index for index, verdict in enumerate(verdicts) if verdict.test != "exact" and verdict.verdict != SILENT]
    if not chance:
        return verdicts
    error = 1 - _level(verdicts)
    values = np.array([[verdicts[index].p_holds, verdicts[index].p_fails] for index in chance]).ravel()
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    threshold = error / float(len(values) - np.sum(adjusted <= error))
    corrected = list(verdicts)
    for index, (p_holds, p_fails) in zip(chance, adjusted.reshape(-1, 2).tolist(), strict=True):
        outcome = _outcome(p_holds, p_fails, error)
        corrected[index] = replace(
            corrected[index], verdict=outcome, p_holds=p_holds, p_fails=p_fails, threshold=threshold
        )
    return corrected
