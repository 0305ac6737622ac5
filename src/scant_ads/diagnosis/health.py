"""Doubts about a readable log: probabilities that do not sum to 1, rates that drift, rows logged
twice, or sorted.

Defects of single cells are found in reading (`scant_ads.reading.layout`).
"""

import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from shlex import quote

import numpy as np

from scant.bandits import evaluation, intervals
from scant.bandits.learners import Uniform
from scant.data import logs
from scant.randomness import generator
from scant_ads.diagnosis import lists, measurement, showings
from scant_ads.evaluation import clusters
from scant_ads.reading import amounts, arrays
from scant_ads.reading.visits import Problem
from scant_ads.severity import CERTAIN, SORTED
from scant_ads.unit import CLICKS, Unit

BLOCKS = 20  # parts of a log whose rates are compared, at most
FEWEST = 10  # effective clicks that a part should have on average
DRIFTS = 0.01  # rates drift if the p-value is below this one


@dataclass(frozen=True)
class Drift:
    """How rates differ between successive parts of a log.

    p : the p-value of the chi-squared test that all parts have one rate; NaN with too few clicks
        for two parts
    rates : float64 (parts), the rate of each
    """

    p: float
    rates: np.ndarray

    @property
    def significant(self) -> bool:
        return self.p < DRIFTS

    def words(self, unit: Unit) -> str:
        """The range in which the rate drifts, as text in the unit of rewards."""
        ends = self.rates.min(), self.rates.max()
        low, high = (
            (f"{100 * end:.3g}" for end in ends)
            if unit.percent
            else map(unit.number, map(unit.value, ends))
        )
        between = f"from {low} to {high} {unit.symbol}".rstrip()
        return f"{between} between {len(self.rates)} successive parts of the log, p = {self.p:.2g}"


UNKNOWN = Drift(math.nan, np.array([math.nan]))  # where nothing is known of the order of rows


def drift(
    lengths: np.ndarray,
    sums: np.ndarray,
    square: float,
    cuts,
    most: int = BLOCKS,
    design: float = 1.0,
) -> Drift:
    """Test whether the mean of terms, such as rewards or weighted rewards, changes over a log.

    The log is cut into `most` parts of equal length, or fewer, so that each has ten effective
    clicks. The statistic is the sum over parts of n (mean - mean of all)^2 / variance; for terms of
    0 and 1 it is Pearson's. Where visits of one user depend on each other, it is divided by the
    design effect (Rao and Scott 1981).

    lengths, sums : int64 and float64 (pieces), the rows of each piece of the log, and the sum of
        their terms
    square : the sum of squares of all terms
    cuts : float (pieces), the fraction of the log at which each piece ends; pieces have to fit into
        equal parts, whatever their number up to `BLOCKS`
    design : the design effect
    """
    from scipy import special

    rows, total = int(lengths.sum()), float(sums.sum())
    mean = total / rows if rows else math.nan
    parts = int(min(most, (total**2 / square if square else 0.0) // FEWEST, rows))
    if parts < 2:
        return Drift(np.nan, np.array([mean]))
    part = np.array([math.ceil(cut * parts) - 1 for cut in cuts])
    counts, sums = np.bincount(part, lengths, parts), np.bincount(part, sums, parts)
    counts, sums = counts[counts > 0], sums[counts > 0]
    variance = square / rows - mean**2
    if len(counts) < 2 or not variance > 0:
        return Drift(np.nan, np.array([mean]))
    statistic = (counts * (sums / counts - mean) ** 2).sum() / (variance * design)
    return Drift(float(special.chdtrc(len(counts) - 1, statistic)), sums / counts)


def problems(summary, unit: Unit = CLICKS) -> Iterator[Problem]:
    """All doubts about a log.

    summary : `tally.Summary`, of all rows
    unit : what rewards are counted in
    """
    tally = summary.all()
    reward = tally.cells[""].arrays()[1]
    if no_reward(tally, unit):
        yield Problem(
            "no-clicks",
            f"all {tally.rows:,} rewards are 0: rewards look missing",
            f"Look at how {unit.events} are joined to visits. There is no verdict without any",
        )
    elif tally.rows > 1 and (reward == 1).all():
        reason = (
            f"all {tally.rows:,} rewards are {unit.largest:g}: visits without a click look missing"
        )
        yield Problem("all-clicks", reason, "Log every visit, also those that earn nothing")
    yield from propensities(summary)
    yield from measurement.problems(summary, tally, unit)
    yield from equal_rows(summary)
    yield from sorted_rows(summary)
    yield from alike_ids(logs.ordered({*tally.ads}))
    if not summary.showings.in_no_order:
        yield from tally.late()
        yield from _drifts(tally, unit)
    if constant := summary.features.constant:
        reason = f"features with one value only: {logs.listing(constant)}"
        yield Problem("constant", reason, "They tell nothing")
    dull = [ad for ad in logs.ordered({*tally.ads}) if not tally.clicks(ad)]
    if dull and unit.relative and reward.any():
        yield Problem(
            "ads-without-clicks",
            f"ads without {unit.events}: {logs.listing(dull)}",
            "A policy learnt from this log never shows them",
        )


def no_reward(tally, unit: Unit) -> bool:
    """Whether every reward of a log is 0, in the log's own unit."""
    return bool((tally.cells[""].arrays()[1] == unit.nothing).all())


def _drifts(tally, unit: Unit) -> Iterator[Problem]:
    """A warning if some rate drifts, by the strongest of the tests of `Tally.drifts` after
    Bonferroni's correction.
    """
    tests = [(name, test) for name, test in tally.drifts() if test.p == test.p]
    if not tests:
        return
    name, strongest = min(tests, key=lambda pair: pair[1].p)
    corrected = replace(strongest, p=min(1.0, strongest.p * len(tests)))
    if corrected.significant:
        rate = "click rate" if unit.clicks else "mean reward"
        whose = f"{rate} of ad {name}" if name else rate
        reason = f"the {whose} drifts: {corrected.words(unit)}"
        reason += f" (the strongest of {len(tests)} tests, corrected)" if name else ""
        yield Problem(
            "drift",
            reason,
            "Rates are then averages over the log's period. Look for a change of the logging, or "
            "of the users",
        )


def propensities(summary) -> Iterator[Problem]:
    """Problems of propensities by which ads cannot have been shown, see `showings.problem`; if
    there are none, the problems of `probabilities`.

    summary : `tally.Summary`, of all rows
    """
    tally = summary.all()
    if tally.cells[""].first.min() == 1 and len(tally.ads) > 1 and not tally.eligible:
        reason = (
            f"every propensity is 1, and {len(tally.ads):,} ads are shown: they were not logged"
        )
        mend = (
            "Log the probability with which each ad is drawn, such as 0.2 for one of five at "
            "random; if nothing was left to chance, nothing can be judged"
        )
        yield Problem(CERTAIN, reason, mend)
        return
    users = (
        clusters.ByUser(tally.users, tally.uniform_divisor, generator(0, "advice", "weights"))
        if summary.by_user
        else None
    )
    # an item of whole lists is in many of them
    of_lists = summary.propensity_of == "list"
    wrong = None if of_lists else showings.problem(summary.showings, users.most if users else 1)
    if wrong:
        yield wrong
    elif not summary.propensity_of:
        yield from probabilities(tally, summary.policies, users)


def uniform_ads(tally) -> int | None:
    """How many ads the log shows with equal probability; None if its probabilities differ, or vary
    by row.

    Where visits have lists of eligible ads, each propensity has to be 1 / the list's length;
    without lists see `amounts.uniform_ads`.
    """
    if tally.eligible:
        uniform = np.abs(tally.table(Uniform.kind)[0] - 1).max() < 1e-9
        return len(tally.ads) if uniform else None
    propensity = tally.cells[""].first
    return (
        amounts.uniform_ads(float(propensity[0]), len(tally.ads))
        if propensity[0] == propensity[-1]
        else None
    )


def probabilities(
    tally,
    policies: Iterable[str],
    users: clusters.ByUser | None = None,
) -> Iterator[Problem]:
    """Problems of probabilities that do not sum to 1: the log's propensities, and those of each
    policy in it.

    The mean weight of a policy is the sum of its probabilities, on average over users, if the
    propensities are right and every ad can be shown to everyone. If all is right, its confidence
    interval misses 1 in 0.1 % of logs. An interval below 1 is an error only where the largest
    weight is known. The uniform policy shows all ads that the log has with equal probability, so
    its mean weight is above 1 where ads are missing from the log.

    policies : columns `policy:NAME`, by name
    users : the sums by user; None if visits are independent
    """
    least_propensity, ads = float(tally.cells[""].first.min()), len(tally.ads)
    mean, low, high = _mean_weight(
        tally, Uniform.kind, 1 / (tally.uniform_divisor * least_propensity), users
    )
    if not low <= 1 <= high and uniform_ads(tally) is None:
        if high < 1:
            what, which = "cannot be shown to everyone", ads
            if tally.eligible:
                what, which = "are eligible and never shown", "eligible"
            reason = (
                f"some ads {what}, or propensities are too large: showing all {which} ads "
                f"alike has a mean weight of {mean:.4g} ({low:.4g} to {high:.4g}), not 1"
            )
            yield Problem("propensity-sum", reason, "Look at how propensities are logged")
        return
    for name in policies:
        key = f"{logs.POLICY}{name}"
        mean, low, high = _mean_weight(tally, key, 1 / least_propensity, users)
        if mean and not low <= 1 <= high:  # without overlap the evaluation says so
            reason = (
                f"the probabilities of policy:{name} do not sum to 1: over the ads of a "
                f"visit they sum to {mean:.4g} on average ({low:.4g} to {high:.4g})"
            )
            mend = (
                f"Divide them by their sum over all ads, or leave them out: --ignore {quote(key)}"
            )
            mend += (
                ". Or log with a policy that can show all that this one does" if high < 1 else ""
            )
            # a log may lack rare showings, whose weights are larger than all that were seen
            is_sure = low > 1 or uniform_ads(tally) is not None
            yield Problem("policy-sum" if is_sure else "policy-low", reason, mend)


def _mean_weight(tally, policy: str, largest: float, users) -> tuple[float, float, float]:
    """A policy's mean weight, and its betting interval at `evaluation.ALARM`, wider by
    `logs.SLACK`.
    """
    weight, _, count = tally.table(policy)
    largest, slack = max(largest, float(weight.max())), logs.SLACK
    if users is not None:
        quotient = users.mean_weight(policy, largest)
        low, high = quotient.interval(evaluation.ALARM)
        return quotient.estimate, low - slack, high + slack
    terms = intervals.drawn(weight, count, largest, generator(0, "advice", "weights"))
    low, high = intervals.interval(intervals.betting, terms, evaluation.ALARM)
    return float(terms.moments()[1]), float(low) - slack, float(high) + slack


def alike_ids(ads: Iterable[str]) -> Iterator[Problem]:
    """A warning if ids of ads differ only by blanks, Unicode form, or digits (1 and 1.0)."""
    same: dict[str, list[str]] = {}
    for ad in ads:
        plain = " ".join(unicodedata.normalize("NFKC", ad).split())
        same.setdefault(arrays.briefly(plain), []).append(ad)
    groups = [
        f"{' and '.join(map(ascii, written))}" for written in same.values() if len(written) > 1
    ]
    if groups:
        yield Problem(
            "ids",
            f"ids of ads look alike: {'; '.join(groups[:3])}"
            + (f"; and {len(groups) - 3} more" if len(groups) > 3 else ""),
            "They are taken for different ads: write each ad in one way if they are the same",
        )


def sorted_rows(summary) -> Iterator[Problem]:
    """A warning if rows are sorted by ad or reward: then their order tells nothing of time."""
    if by := summary.showings.sorted_by:
        mend = (
            "Their times are used where order matters"
            if summary.showings.order.timed
            else "If ads took turns, such as one a week, no answer holds, and this cannot be seen. "
            "Name the time by --time COLUMN"
        )
        yield Problem(SORTED, f"rows are sorted by {by}", mend)


def equal_rows(summary) -> Iterator[Problem]:
    """Warnings and errors of rows logged twice: rows equal to an earlier row or, in a log with ids,
    rows with an earlier row's id.

    summary : `tally.Summary`, of all rows
    """
    count, rows = summary.digests.equal(), summary.rows
    if not summary.by_id:
        if count and summary.names:  # without features nearly all rows are equal
            yield Problem(
                "duplicates",
                f"{count:,} of {rows:,} rows equal an earlier one",
                "All are kept; if visits were logged twice, bounds are too good",
                count,
            )
        return
    if count:
        reason = (
            f"{count:,} of {rows:,} rows have the id, the ad and the position of an earlier "
            "one: logged twice"
        )
        mend = (
            "Keep one row of each. If an ad is shown in several places, name them by --columns "
            "position=COLUMN"
        )
        yield Problem("id-twice", reason, mend, count)
    if (more := summary.digests.equal(half=True) - count) and not summary.propensity_of:
        reason = (
            f"rows share a visit: {more:,} of {rows:,} have the id of an earlier one, but "
            "another ad or position"
        )
        few = more < lists.SHARED * rows
        mend = (
            "Keep the first row of each"
            if few
            else lists.MEND + lists.OWN.format("give it an id of its own")
        )
        yield Problem("requests" if few else lists.LISTS, reason, mend, more)


def beyond_chance(count: int, rows: int, repeats: int, half: int) -> bool:
    """Whether a test log shares more rows with its training log than chance makes equal.

    Chance makes a row of the training log's second half equal to one of its first half. The whole
    training log has twice as many rows, so that chance finds a row of the test in it at most twice
    as often. If it is found twice as often, the share of the test's rows among all rows found is
    binomial. This is an exact test of two Poisson rates (Przyborowski and Wilenski 1940), here at
    0.1 %.

    count : how many of the test's `rows` rows are in the training log, too
    repeats : how many of the `half` rows of the training log's second half are in its first half,
        too
    """
    from scipy import special

    share = 2 * rows / (2 * rows + half)
    return (
        count > 0 and float(special.bdtrc(count - 1, count + repeats, share)) < 1 - evaluation.ALARM
    )
