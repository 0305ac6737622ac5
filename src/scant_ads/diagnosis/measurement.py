"""What a log shows of rewards that are not measured as they should be.

A kind of visits has no reward where many are expected, or nothing but rewards. An ad, or several,
had rewards from a kind of visits, and lost them from one part of the log to the next. (An ad that
never had one from there may not be wanted there.) An ad's last rewards are not joined yet, its
rewards are in another unit, or cut off at a maximum. A policy's column was made from the clicks.
What a log cannot show is listed in `docs/safety.md`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote

import numpy as np

from scant.data import logs
from scant_ads.diagnosis.order import BLOCKS
from scant_ads.diagnosis.showings import Group, Groups
from scant_ads.reading.visits import Problem, Visits
from scant_ads.severity import DEAD, HINDSIGHT, SEGMENT
from scant_ads.unit import Unit

ALARM = 1e-3  # the probability of a false alarm, if rates are alike
LOSS = 1e-4  # the level of a loss of rewards, since an ad's rate in a group may drift by itself
ADS = 100  # at most, for which rewards are kept by part of the log
SIMILAR = 20.0  # times the odds of a reward elsewhere: a kind of visits may have as much
FEWEST_FULL = 20  # visits, all with a reward, that are needed to say so
FEWEST = 30  # rewards of an ad, or a log, that are needed to say what these are like
FACTORS = (100.0, 1000.0)  # between units, such as cents and euros; means may be off this by `NEAR`
NEAR = 2.0
# the share of an ad's rewards at its maximum, and the other ads' as a part of it
AT_MOST, OF_OTHERS = (0.1, 0.9), 0.2
AROUND, ROUNDED = 3.0, 1e-3  # times the share at a maximum that other ads have beyond it, at most
EXACT = 0.1  # of a share, how far two of its standard errors may be from it
# the least share of rewards that a policy made from them has, and the most that its ads explain
ALL, MOST = 0.99, 0.75


@dataclass
class Sizes:
    """Sums of sizes of rewards: gains, or losses, as shares of the range of rewards.

    rows, total : how many sizes, and their sum
    largest, at_largest : the largest size, and how many rows have it
    """

    rows: int = 0
    total: float = 0.0
    largest: float = 0.0
    at_largest: int = 0

    def add(self, size: np.ndarray) -> None:
        """Add the sizes above 0; `size` is float64 (rows)."""
        size = size[size > 0]
        largest = max(self.largest, float(size.max(initial=0.0)))
        self.at_largest *= largest == self.largest
        self.at_largest += np.count_nonzero(size == largest)
        self.rows, self.total, self.largest = (
            self.rows + len(size),
            self.total + size.sum(),
            largest,
        )


@dataclass
class Rewards:
    """The rows with a reward, by ad.

    counts : by ad, int64 (groups of `Groups.marks`), the rows with a reward
    course : by ad, int64 (2 x `BLOCKS` x groups): [0] rows, [1] rows with a reward, in each part of
        the log; None with more than `ADS` ads
    nothing : what a reward of 0 is as a share, see `Unit`
    sizes : by (sign, ad), `Sizes`; the sign is 1 for gains and -1 for losses
    policy_rows : by (NAME, ad), how many rows show an ad to which the column `policy:NAME` gives a
        probability above 0, with a reward or without
    """

    counts: dict[str, np.ndarray] = field(default_factory=dict)
    course: dict[str, np.ndarray] | None = field(default_factory=dict)
    nothing: float = 0.0
    sizes: dict[int, dict[str, Sizes]] = field(default_factory=lambda: {1: {}, -1: {}})
    policy_rows: dict[str, Counter] = field(default_factory=dict)

    def add(self, visits: Visits, marks: np.ndarray, block: np.ndarray) -> None:
        """Add the next rows of the log; `marks` and `block` as in `Groups.marks`."""
        some = np.flatnonzero(visits.reward)
        order = np.argsort(visits.action, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(visits.action))[:-1])
        for ad, rows in zip(visits.actions, parts, strict=False):
            reward = visits.reward[rows]
            counts = np.count_nonzero(marks[rows[reward != 0]], axis=0).astype(np.int64)
            self.counts[ad] = self.counts.get(ad, 0) + counts
            for sign, sizes in self.sizes.items():
                sizes.setdefault(ad, Sizes()).add(sign * (reward - self.nothing))
        for number, name in enumerate(visits.policies):
            may_show = visits.action[visits.probabilities[:, number] > 0]
            counts = np.bincount(may_show, minlength=len(visits.actions))
            of_policy = self.policy_rows.setdefault(name, Counter())
            of_policy.update(dict(zip(visits.actions, counts.tolist(), strict=True)))
        if self.course is not None and len({*self.course, *visits.actions}) <= ADS:
            for ad, sums in _course(visits, marks, block, some).items():
                self.course[ad] = self.course.get(ad, 0) + sums
        else:
            self.course = None


def _course(
    visits: Visits, marks: np.ndarray, block: np.ndarray, some: np.ndarray
) -> dict[str, np.ndarray]:
    """The sums of `Rewards.course`.

    marks, block : see `Groups.marks`
    some : int (rows with a reward), their indices
    """
    place, places = visits.action * np.int64(BLOCKS) + block, len(visits.actions) * BLOCKS
    of_rewards = place[some]
    sums = np.stack(
        [
            [
                np.bincount(place[mark], minlength=places),
                np.bincount(of_rewards[mark[some]], minlength=places),
            ]
            for mark in marks.T
        ],
        axis=-1,
    )
    by_ad = np.moveaxis(sums.reshape(2, len(visits.actions), BLOCKS, -1), 1, 0)
    return dict(zip(visits.actions, by_ad, strict=True))


def problems(summary, tally, unit: Unit) -> Iterator[Problem]:
    """All doubts about how rewards are measured.

    summary, tally : the sums over all rows of the log; a row with the least reward counts as one
        without a reward
    """
    if int(sum(counts[0] for counts in summary.rewards.counts.values())) < FEWEST:
        return
    design = tally.of_rewards()[1]
    yield from _dead(summary, design)
    if unit.binary:  # an amount above the least one is no click, and a group may always have one
        yield from _full(summary, design)
    if not summary.showings.in_no_order and summary.rewards.course:
        yield from _lost(summary, design)
    if not summary.showings.in_no_order and not any(tally.late()):
        yield from _late(tally, design)
    _, reward, count = tally.cells[""].arrays()
    for sign, of_ads in summary.rewards.sizes.items():
        sizes = {ad: size for ad, size in of_ads.items() if size.rows >= FEWEST}
        yield from _scales(sizes)
        yield from _cut_off(sizes, sign * (reward - summary.rewards.nothing), count)
    yield from _from_clicks(summary.rewards, tally)


def _dead(summary, design: float) -> Iterator[Problem]:
    """Problems of groups of visits, and of an ad's visits in a group, that have no reward though
    rewards are very likely.

    If rewards fall on rows at random, the probability that a group of rows gets none is
    hypergeometric. For an ad's visits in a group it has to be small by the ad's rate of rewards,
    and by the group's. Even so nobody in the group may want the ad.

    design : the design effect, see `Users.design`, by which counts are divided
    """
    described, tested, tests, impressions, rewarded = _of_groups(summary)
    rows, total = impressions.sum(axis=0), rewarded.sum(axis=0)
    dead = (
        tested
        & (total == 0)
        & (_none_of(*(of / design for of in (rows, rows[0], total[0]))) < ALARM / tests)
    )
    for group in np.flatnonzero(dead):
        name, place = described[group].feature, described[group].words
        reason = (
            f"no visit {place} has a reward: about {rows[group] * total[0] / rows[0]:,.0f} "
            f"are expected in {rows[group]:,} rows"
        )
        mend = "If rewards are not measured there, leave these rows out: rates are too low"
        yield Problem(SEGMENT, reason, mend, int(rows[group]), column=f"{name} {place}")
    is_feature = np.array([bool(group.feature) for group in described])
    of_ads = impressions / design, (impressions[:, :1] / design, rewarded[:, :1] / design)
    chance = np.maximum(
        _none_of(of_ads[0], *of_ads[1]), _none_of(of_ads[0], rows / design, total / design)
    )
    dead = tested & is_feature & (rewarded == 0) & (total > 0) & (chance < ALARM / tests)
    if dead.any():
        ad, group = np.unravel_index(int(np.argmin(np.where(dead, chance, 1))), dead.shape)
        name = [*summary.showings.ads][ad]
        place = described[group].words
        several = int(impressions[ad, group])
        others = int(np.count_nonzero(dead)) - 1
        reason = f"ad {name!r} has no reward {place}, in {several:,} rows" + (
            f" (and so in {others:,} more such groups of an ad)" if others else ""
        )
        mend = "Most likely nobody there wants it; look whether its rewards are measured there"
        yield Problem("unwanted", reason, mend, several, column=name)


def _of_groups(summary) -> tuple[list[Group], np.ndarray, int, np.ndarray, np.ndarray]:
    """Counts of rows in groups, and which groups to test.

    Returns
    -------
    described : the groups but the last
    tested : bool (groups), those to test
    tests : how many tests that makes
    impressions, rewarded : int64 (ads x groups), the rows, and the rows with a reward
    """
    groups, showings, ads = summary.showings.groups, summary.showings, [*summary.showings.ads]
    none = np.zeros_like(showings.rows)
    impressions = np.array([_with_rest(groups, showings.ads[ad][0]) for ad in ads])
    rewarded = np.array([_with_rest(groups, summary.rewards.counts.get(ad, none)) for ad in ads])
    described = groups.described[:-1]
    tested = np.array(
        [bool(of.feature) or (of.kind == "time" and not showings.in_no_order) for of in described]
    )
    return (
        described,
        tested,
        max((int(tested.sum()) + groups.seen) * (len(ads) + 1), 1),
        impressions,
        rewarded,
    )


def _full(summary, design: float) -> Iterator[Problem]:
    """Groups of visits that all have a reward, although these would be unlikely with `SIMILAR`
    times the odds.
    """
    described, tested, tests, impressions, rewarded = _of_groups(summary)
    rows, total = impressions.sum(axis=0), rewarded.sum(axis=0)
    rest = rows[0] - rows, total[0] - total
    odds = SIMILAR * rest[1] / np.maximum(rest[0] - rest[1], 1e-9)
    chance = (odds / (1 + odds)) ** (rows / design)
    full = (
        tested & (rows >= FEWEST_FULL) & (rest[0] > 0) & (total == rows) & (chance < ALARM / tests)
    )
    for group in np.flatnonzero(full)[:1]:
        name, place = described[group].feature, described[group].words
        reason = (
            f"all {rows[group]:,} visits {place} have a reward, of others {rest[1][group]:,} of "
            f"{rest[0][group]:,}: robots, or clicks without a visit?"
        )
        mend = "Leave these rows out" + (
            f", or the column with --ignore {quote(name)}" if name else ""
        )
        yield Problem("all-rewarded", reason, mend, int(rows[group]), column=f"{name} {place}")


def _lost(summary, design: float) -> Iterator[Problem]:
    """Problems of ads, or groups of visits, without rewards in some successive parts of the log
    where others have some: their rewards were lost, or not measured yet.

    The least likely loss of an ad, and of a group, is reported if it is unlikely among all losses
    that were possible; see `_chances`. Losses from the start, to the end and in between have a
    third of the error each.

    design : the design effect, by which counts are divided
    """
    groups, ads = summary.showings.groups, [*summary.rewards.course]
    described, tested, *_ = _of_groups(summary)
    tested &= np.array([bool(group.feature) for group in described])
    tested[0] = True  # all visits
    course = np.stack([_with_rest(groups, summary.rewards.course[ad]) for ad in ads])
    all_windows = [(start, end) for start in range(BLOCKS) for end in range(start + 1, BLOCKS + 1)]
    windows = [(start, end) for start, end in all_windows if end - start < BLOCKS]
    alike = Counter(map(_ends_of, windows))
    tests = 3 * (int(tested.sum()) + groups.seen)
    least = dict.fromkeys((DEAD, SEGMENT), (LOSS, ()))
    for start, end in windows:
        others = course[:, 1, start - 1 if start else end] > 0
        lost = (course[:, 1, start:end] == 0).all(axis=1) & others & tested
        if not lost.any():
            continue
        for kind, chances in zip(least, _chances(course, lost, start, end, design), strict=True):
            chances = chances * tests * alike[_ends_of((start, end))]
            index, group = np.unravel_index(int(np.argmin(chances)), chances.shape)
            if chances[index, group] < least[kind][0]:
                which = lost[:, group] if index == len(ads) else np.arange(len(ads)) == index
                which = which if kind == DEAD else np.ones(len(ads), bool)
                rows = int(course[which, 0, start:end, group].sum())
                least[kind] = chances[index, group], (group, which, start, end, rows)
    for kind, (_, loss) in least.items():
        if not loss:
            continue
        group, which, start, end, rows = loss
        place = f" {described[group].words}" if group else ""
        parts = f"part {end}" if end - start == 1 else f"parts {start + 1} to {end}"
        column = described[group].feature
        if kind == SEGMENT:
            order = "after some had" if start else "before some had"
            reason = (
                f"no visit{place} has a reward in {parts} of {BLOCKS} of the log, in {rows:,} "
                f"rows, {order}"
            )
            mend = "If rewards are not measured there, leave these rows out: rates are too low"
        else:
            names = [ad for ad, of in zip(ads, which, strict=True) if of]
            verb = "lost" if start else "did not yet have"
            several = f"ads {logs.listing(names)} {verb} their"
            who = several if len(names) > 1 else f"ad {names[0]!r} {verb} its"
            reason = (
                f"{who} rewards{place} in {parts} of {BLOCKS} of the log: there is none in "
                f"{rows:,} rows, while others have some"
            )
            mend, column = "Look at how rewards were measured there", names[0]
        yield Problem(kind, reason, mend, rows, column=f"{column} {start} {end}")


def _ends_of(window: tuple[int, int]) -> tuple[bool, bool]:
    """Whether a window of parts begins with the log's first part, and whether it ends with the
    last.
    """
    return window[0] == 0, window[1] == BLOCKS


def _chances(course: np.ndarray, lost: np.ndarray, start: int, end: int, design: float) -> tuple:
    """The chances of losses in the parts of the log from `start` to before `end`: of ads, and of
    all ads of a group.

    Each ad is tested in each group, and so are all ads together that lost their rewards there, by
    comparison with the group; a group is compared with all visits.

    course : int64 (ads x 2 x parts x groups), see `Rewards.course`
    lost : bool (ads x groups), which ads may have lost their rewards

    Returns
    -------
    of_ads, of_groups : float64 (ads + 1 x groups), the last row for all these ads together, and
        (1 x groups); at least 1 where nothing was lost
    """
    from scipy.special import comb

    near = [part for part in (start - 1, end) if 0 <= part < BLOCKS]
    (rows, rewards), (rows_near, rewards_near) = (
        course[:, :, parts].sum(axis=2).swapaxes(0, 1) for parts in (slice(start, end), near)
    )
    several = [lost * counts for counts in (np.ones_like(rows), rows, rows_near, rewards_near)]
    size, *of_ads = (np.vstack([counts, counts.sum(axis=0)]) for counts in several)
    total, total_near = rewards.sum(axis=0), rewards_near.sum(axis=0)
    subsets = (len(lost) - 1) * comb(len(lost), size)  # of one size or another, but not all ads
    chance = np.where(size > 0, subsets * _chance_of_loss(*of_ads, total, total_near, design), 1)
    of_groups = (counts.sum(axis=0) for counts in (rows, rows_near, rewards_near))
    chance_of_group = _chance_of_loss(*of_groups, total[0], total_near[0], design)
    return chance, np.where(lost.any(axis=0) & (total == 0), chance_of_group, 1)[None]


def _chance_of_loss(rows, rows_around, rewards, all_inside, all_around, design: float):
    """The chance that some rows have no reward inside a window of parts of a log, and all rewards
    in the parts next to it, if nothing was lost.

    If the rate of the rows does not change, the number of their rewards inside is hypergeometric.
    If rates drift, but alike for all rows, their number among all rewards inside is hypergeometric.
    The larger chance is returned.

    rows, rows_around : how many of the rows are inside the window, and around it
    rewards : how many rewards they have around it
    all_inside, all_around : the rewards of all rows compared, with these rows, inside and around
    design : the design effect, by which counts are divided
    """
    rows, rows_around, rewards, all_inside, all_around = (
        counts / design for counts in (rows, rows_around, rewards, all_inside, all_around)
    )
    return np.maximum(
        _none_of(rows, rows + rows_around, rewards),
        _none_of(all_inside, all_inside + all_around, rewards),
    )


def _with_rest(groups: Groups, sums: np.ndarray) -> np.ndarray:
    """`sums` of the groups of `Groups.marks`, int64 (..., groups), then of the rows not above each
    of the middles.
    """
    above = slice(1 + BLOCKS, 1 + BLOCKS + len(groups.middles))
    return np.concatenate([sums, sums[..., :1] - sums[..., above]], axis=-1)


def _none_of(part, rows, rewarded):
    """The chance that none of `rewarded` rows, drawn without replacement from `rows`, is among the
    first `part`.
    """
    from scipy.special import gammaln

    rest = np.maximum(rows - part, 0)
    logarithm = gammaln(rest + 1) - gammaln(np.maximum(rest - rewarded, 0) + 1)
    logarithm += gammaln(rows - rewarded + 1) - gammaln(rows + 1)
    return np.where(rest >= rewarded, np.exp(np.minimum(logarithm, 0)), 0.0)


def _late(tally, design: float) -> Iterator[Problem]:
    """Ads whose last rewards look not joined yet; see `leaks.late`."""
    for ad in logs.ordered({*tally.ads}):
        for problem in tally.late_of(ad, design):
            yield Problem("late-ad", f"ad {ad!r}: {problem.reason}", problem.mend, column=ad)


def _scales(sizes: dict[str, Sizes]) -> Iterator[Problem]:
    """A problem of the ad whose mean reward is about 100 or 1,000 times as large as, or as small
    as, other ads' mean rewards.
    """
    means = {ad: size.total / size.rows for ad, size in sizes.items()}
    for ad in sorted(means, key=means.get, reverse=True):
        others = [other for name, other in means.items() if name != ad]
        times = means[ad] / np.median(others) if others else 1.0
        if any(factor / NEAR < max(times, 1 / times) < factor * NEAR for factor in FACTORS):
            reason = (
                f"rewards of ad {ad!r} are on average {times:,.3g} times those of other ads: "
                "in another unit?"
            )
            yield Problem(
                "scale", reason, "Write all rewards in one unit, such as EUR or cents", column=ad
            )
            return


def _cut_off(sizes: dict[str, Sizes], size: np.ndarray, count: np.ndarray) -> Iterator[Problem]:
    """Problems of ads with many rewards of their largest size, where other ads have few.

    There is no answer if about as many rewards of other ads are larger, and no other size is as
    frequent; or if the rewards of other ads, cut off there, would be like the ad's. Where each
    other ad has rewards of one size, there is a warning.

    size, count : float64 and int64 (cells), all sizes, and how often each occurs
    """
    size, count = size[size > 0], count[size > 0]
    apart = ~np.isin(size, [of_ad.largest for of_ad in sizes.values()])
    place = np.unique(size[apart], return_inverse=True)[1]
    common = np.bincount(place, count[apart]).max() if len(place) else np.inf
    share = {ad: of_ad.at_largest / of_ad.rows for ad, of_ad in sizes.items()}
    for ad, at_most in share.items():
        of_ad, rest = sizes[ad], sum(other.rows for name, other in sizes.items() if name != ad)
        others = [other for name, other in share.items() if name != ad and other <= AT_MOST[1]]
        larger = count[size > of_ad.largest * (1 + ROUNDED)].sum() / max(rest, 1)
        lower = [other for other in sizes.values() if other.largest < of_ad.largest]
        as_if_cut = _are_as_if_cut(of_ad, lower, size, count)
        is_cut = at_most / AROUND <= larger <= AROUND * at_most
        may_be = rest and not others and at_most >= AT_MOST[0]
        is_alone = max([common / of_ad.rows, *others]) <= OF_OTHERS * at_most
        if at_most <= AT_MOST[1] and (as_if_cut or (is_alone and (is_cut or may_be))):
            reason = (
                f"{100 * at_most:.2g} % of the rewards of ad {ad!r} are the largest one: they "
                "look cut off"
            )
            mend = "If they are, its mean is wrong: log them whole, or cut off those of all ads"
            kind = "clipped" if as_if_cut or is_cut else "cut-off"
            yield Problem(kind, reason, mend, column=ad)


def _are_as_if_cut(of_ad: Sizes, lower: list[Sizes], size: np.ndarray, count: np.ndarray) -> bool:
    """Whether the sizes of an ad, such as counts, look like other ads' sizes cut off at its largest
    size: with the same mean, as many of this size, and larger ones of other ads, beyond chance.

    lower : the sums of ads whose largest size is smaller, which tell nothing of larger sizes
    size, count : float64 and int64 (cells), all sizes above 0, and how often each occurs
    """
    values = np.array([np.minimum(size, of_ad.largest), size >= of_ad.largest])
    own, rows, total = np.array([of_ad.total, of_ad.at_largest]), of_ad.rows, count.sum()
    others = max(total - rows - sum(ad.rows for ad in lower), 1)
    of_others = values @ count - own - [sum(ad.total for ad in lower), 0]
    variance = values**2 @ count / total - (values @ count / total) ** 2
    error = 2 * np.sqrt(np.maximum(variance, 0) * (1 / rows + 1 / others))
    gap = np.abs(own / rows - of_others / others)
    larger = count[size > of_ad.largest].sum() / others
    is_exact = (gap <= error).all() and error[1] <= EXACT * own[1] / rows
    return bool(is_exact and np.exp(-larger * rows) < ALARM)


def _from_clicks(rewards: Rewards, tally) -> Iterator[Problem]:
    """Problems of columns `policy:NAME` that show the ad of nearly every row with a reward, but not
    of other rows with this ad.
    """
    from scipy.special import bdtrc

    rewarded = int(sum(counts[0] for counts in rewards.counts.values()))
    for name, of_ads in rewards.policy_rows.items():
        weight, reward, count = tally.table(f"{logs.POLICY}{name}")
        both = int(count[(weight > 0) & (reward > 0)].sum())
        likely = sum(
            rewards.counts[ad][0] * rows / int(tally.ads[ad][0].sum())
            for ad, rows in of_ads.items()
            if rows and ad in rewards.counts
        )
        share = likely / rewarded
        if (
            both >= ALL * rewarded
            and share <= MOST
            and float(bdtrc(both - 1, rewarded, share)) < ALARM
        ):
            reason = (
                f"policy:{name} would show the ad of {both:,} of {rewarded:,} rows with a reward, "
                f"and of {sum(of_ads.values()):,} of all {tally.rows:,}: it looks made from these "
                "rewards"
            )
            yield Problem(
                HINDSIGHT,
                reason,
                "Make it from an earlier log, and judge it on this one",
                column=name,
            )
