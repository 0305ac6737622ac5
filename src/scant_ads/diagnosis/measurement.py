"""Rewards that are not measured as they should be: what a log shows of it.

A kind of visits, or an ad among these, has no reward where many are expected. An ad's last rewards are not joined yet,
its rewards are in another unit, or cut off at a maximum. A policy's column was made from the clicks. What a log cannot
show is listed in `docs/ads.md`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from shlex import quote

import numpy as np

from scant.data import logs
from scant_ads.diagnosis.order import BLOCKS
from scant_ads.diagnosis.showings import Groups
from scant_ads.reading.visits import Problem, Visits
from scant_ads.unit import Unit

DEAD, LATE, SCALE, HINDSIGHT = "dead", "late-ad", "scale", "hindsight"  # kinds of problems that leave no answer
ALARM = 1e-3  # the probability of a false alarm, if rates are alike
FEWEST = 30  # rewards of an ad, or a log, that are needed to say what these are like
FACTORS = (100.0, 1000.0)  # between units, such as cents and euros; means may be off this by `NEAR`
NEAR = 2.0
AT_MOST, OF_OTHERS = (0.1, 0.9), 0.2  # the share of an ad's rewards at its maximum, and the other ads' as a part of it
ALL, MOST = 0.99, 0.75  # the least share of rewards that a policy made from them has, and the most that its ads explain


@dataclass
class Rewards:
    """The rows with a reward, by ad.

    counts : by ad, int64 (groups of `Groups.marks`), the rows with a reward
    top : by ad, its largest reward, and how many rows have it
    policy_rows : by the NAME of a column `policy:NAME` and ad, the rows, with a reward or without, whose ad it may show
    """

    counts: dict[str, np.ndarray] = field(default_factory=dict)
    top: dict[str, tuple[float, int]] = field(default_factory=dict)
    policy_rows: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, visits: Visits, groups: Groups, block: np.ndarray) -> None:
        """Add the next rows; for `block` see `Groups.marks`."""
        some, added = np.flatnonzero(visits.reward), Rewards()
        for number, name in enumerate(visits.policies):
            counts = np.bincount(visits.action[visits.probabilities[:, number] > 0], minlength=len(visits.actions))
            added.policy_rows[name] = dict(zip(visits.actions, counts.tolist(), strict=True))
        part = visits.take(some)
        marks = groups.marks(part, block[some])
        for number in np.unique(part.action):
            of_ad, ad = part.action == number, part.actions[number]
            largest = float(part.reward[of_ad].max())
            added.counts[ad] = np.count_nonzero(marks[of_ad], axis=0).astype(np.int64)
            added.top[ad] = largest, int(np.count_nonzero(part.reward[of_ad] == largest))
        self.merge(added)

    def merge(self, other: "Rewards") -> None:
        """Add further rows of the same log."""
        for ad, counts in other.counts.items():
            self.counts[ad] = self.counts.get(ad, 0) + counts
        for ad, (largest, count) in other.top.items():
            own_largest, own_count = self.top.get(ad, (largest, 0))
            if own_largest == largest:
                self.top[ad] = largest, own_count + count
            elif own_largest < largest:
                self.top[ad] = largest, count
        for name, counts in other.policy_rows.items():
            of_policy = self.policy_rows.setdefault(name, {})
            for ad, count in counts.items():
                of_policy[ad] = of_policy.get(ad, 0) + count

    def packed(self) -> dict:
        """The content as JSON takes it, for `Rewards.unpacked`."""
        counts = {ad: values.tolist() for ad, values in self.counts.items()}
        return {"counts": counts, "top": self.top, "shown": self.policy_rows}

    @classmethod
    def unpacked(cls, content: Mapping) -> "Rewards":
        """What was packed; a ValueError for numbers that do not fit each other."""
        counts = {str(ad): np.array(values, np.int64) for ad, values in content["counts"].items()}
        top = {str(ad): (float(largest), int(count)) for ad, (largest, count) in content["top"].items()}
        if len({values.shape for values in counts.values()}) > 1 or counts.keys() != top.keys():
            raise ValueError("rewards that do not fit each other")
        policy_rows = {str(name): {str(ad): int(count) for ad, count in of_ads.items()}
                       for name, of_ads in content["shown"].items()}  # fmt: skip
        return cls(counts, top, policy_rows)


def problems(summary, tally, unit: Unit) -> Iterator[Problem]:
    """All that the rows of a log show; `summary` and `tally` are of all of them. No reward is the least one."""
    if int(sum(counts[0] for counts in summary.rewards.counts.values())) < FEWEST:
        return
    yield from _dead(summary, tally.of_rewards()[1])
    if not summary.showings.in_no_order and not any(tally.late()):
        yield from _late(tally)
    if unit.relative:
        yield from _scales(summary.rewards, tally)
    yield from _cut_off(summary.rewards)
    yield from _from_clicks(summary.rewards, tally)


def _dead(summary, design: float) -> Iterator[Problem]:
    """Groups of visits without a reward, and such groups of an ad, where rewards are very likely.

    Given how many rewards there are, that none falls into a group is hypergeometric. An ad's group has to be unlikely
    by the rewards of the ad, and by those of the group.

    design : see `Users.design`; counts are divided by it
    """
    groups, showings, ads = summary.showings.groups, summary.showings, [*summary.showings.ads]
    described = groups.described[:-1]
    none = np.zeros_like(showings.rows)
    impressions = np.array([_with_rest(groups, showings.ads[ad][0]) for ad in ads])
    rewarded = np.array([_with_rest(groups, summary.rewards.counts.get(ad, none)) for ad in ads])
    looked = np.array(
        [group.kind == "feature" or (group.kind == "time" and not showings.in_no_order) for group in described]
    )
    tests = int(looked.sum()) * (len(ads) + 1)
    rows, total = impressions.sum(axis=0), rewarded.sum(axis=0)
    dead = (
        looked & (total == 0) & (_none_of(*(of / design for of in (rows, rows[0], total[0]))) < ALARM / max(tests, 1))
    )
    for group in np.flatnonzero(dead):
        name, place = described[group].feature, described[group].words
        reason = (f"no visit {place} has a reward: about {rows[group] * total[0] / rows[0]:,.0f} are expected in "
                  f"{rows[group]:,} rows")  # fmt: skip
        mend = "If rewards are not measured there, leave these rows out: rates are too low"
        yield Problem("dead-segment", "warning", reason, mend, int(rows[group]), column=f"{name} {place}")
    for number, ad in enumerate(ads):
        of_group, of_ad = impressions[number] / design, (impressions[number, 0] / design, rewarded[number, 0] / design)
        chance = np.maximum(_none_of(of_group, *of_ad), _none_of(of_group, rows / design, total / design))
        dead = looked & (rewarded[number] == 0) & (total > 0) & (chance < ALARM / max(tests, 1))
        if dead.any():
            group = int(np.argmin(np.where(dead, chance, 1)))
            name, place = described[group].feature, described[group].words
            several = int(impressions[number, group])
            expected = several * min(total[group] / rows[group], rewarded[number, 0] / impressions[number, 0])
            reason = (f"ad {ad!r} has no reward {place}: about {expected:,.0f} are expected in {several:,} rows, by "
                      "its rewards elsewhere, and by those of other ads there")  # fmt: skip
            mend = "Look at how its rewards are measured there"
            mend += f". If there can be none, leave the column out with --ignore {quote(name)}" if name else ""
            yield Problem(DEAD, "warning", reason, mend, several, column=ad)


def _with_rest(groups: Groups, sums: np.ndarray) -> np.ndarray:
    """Sums of the groups of `Groups.marks`, and of the rows that are not above the middles of features."""
    return np.r_[sums, sums[0] - sums[1 + BLOCKS : 1 + BLOCKS + len(groups.middles)]]


def _none_of(part, rows, rewarded):
    """The chance that none of `rewarded` rows, drawn without replacement from `rows`, is among the first `part`."""
    from scipy.special import gammaln

    rest = np.maximum(rows - part, 0)
    logarithm = gammaln(rest + 1) - gammaln(np.maximum(rest - rewarded, 0) + 1)
    logarithm += gammaln(rows - rewarded + 1) - gammaln(rows + 1)
    return np.where(rest >= rewarded, np.exp(np.minimum(logarithm, 0)), 0.0)


def _late(tally) -> Iterator[Problem]:
    """Ads whose last rewards look not joined yet; see `leaks.late`."""
    for ad in logs.ordered({*tally.ads}):
        for problem in tally.late(ad):
            yield Problem(LATE, "warning", f"ad {ad!r}: {problem.reason}", problem.mend, column=ad)


def _scales(rewards: Rewards, tally) -> Iterator[Problem]:
    """The ad whose rewards are a hundred or a thousand times those of others, or as small a part of them."""
    means = {ad: tally.clicks(ad) / counts[0] for ad, counts in rewards.counts.items() if counts[0] >= FEWEST}
    for ad, mean in means.items():
        others = [other for name, other in means.items() if name != ad]
        times = mean / float(np.median(others)) if others else 1.0
        if any(factor / NEAR < times < factor * NEAR for factor in FACTORS):
            reason = f"rewards of ad {ad!r} are on average {times:,.3g} times those of other ads: in another unit?"
            yield Problem(SCALE, "warning", reason, "Write all rewards in one unit, such as EUR or cents", column=ad)
            return


def _cut_off(rewards: Rewards) -> Iterator[Problem]:
    """Ads with many rewards at their maximum, and fewer than those, where other ads have few at theirs."""
    share = {ad: rewards.top[ad][1] / counts[0] for ad, counts in rewards.counts.items() if counts[0] >= FEWEST}
    for ad, at_most in share.items():
        others = [other for name, other in share.items() if name != ad]
        if others and AT_MOST[0] <= at_most <= AT_MOST[1] and max(others) <= OF_OTHERS * at_most:
            reason = f"{100 * at_most:.2g} % of the rewards of ad {ad!r} are the largest one: they look cut off"
            yield Problem("cut-off", "warning", reason, "If they are, its mean is too low: log them whole", column=ad)


def _from_clicks(rewards: Rewards, tally) -> Iterator[Problem]:
    """Columns `policy:NAME` that show the ad of nearly every row with a reward, though not of others with this ad."""
    from scipy.special import bdtrc

    rewarded = int(sum(counts[0] for counts in rewards.counts.values()))
    for name, of_ads in rewards.policy_rows.items():
        weight, reward, count = tally.of(f"{logs.POLICY}{name}")
        both = int(count[(weight > 0) & (reward > 0)].sum())
        likely = sum(rewards.counts[ad][0] * rows / int(tally.ads[ad][0].sum())
                     for ad, rows in of_ads.items() if rows and ad in rewards.counts)  # fmt: skip
        share = likely / rewarded
        if both >= ALL * rewarded and share <= MOST and float(bdtrc(both - 1, rewarded, share)) < ALARM:
            reason = (f"policy:{name} would show the ad of {both:,} of {rewarded:,} rows with a reward, and of "
                      f"{sum(of_ads.values()):,} of all {tally.rows:,}: it looks made from these rewards")  # fmt: skip
            yield Problem(HINDSIGHT, "warning", reason, "Make it from an earlier log, and judge it on this one",
                          column=name)  # fmt: skip
