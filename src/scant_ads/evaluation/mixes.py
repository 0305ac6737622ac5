"""Which ads a policy shows, and how often: its mix."""

from collections.abc import Mapping

from scant.bandits.learners import Uniform
from scant.data import logs
from scant_ads.evaluation.arms import Always
from scant_ads.policies.policy import Policy
from scant_ads.reading.tally import SCALE, Tally
from scant_ads.reading.visits import Column

MOST = 10  # ads that a table lists


def of_log(tally: Tally) -> dict[str, float]:
    """The share of a log's rows that each ad has, in the order of ids."""
    return {ad: int(tally.ads[ad][0].sum()) / tally.rows for ad in logs.ordered({*tally.ads})}


def of_policy(tally: Tally, name: str, policy: Policy | Always | Column) -> dict[str, float]:
    """The share of a test's visits in which a policy shows each ad, by ad, in the order of ids. Ads
    never shown are left out.

    A learnt policy's share of an ad is the mean probability that it shows the ad. One ad for
    everyone has share 1; with lists of eligible ads, visits that cannot get this ad count for the
    ad that was logged. A column `policy:NAME` has an estimate, the sum of its weights in rows that
    show the ad over the number of all rows; these shares sum to the mean weight, about 1.

    tally : the test's tally
    name : the policy's name in the evaluation
    """
    if isinstance(policy, Always) and not tally.eligible:
        return {policy.ad: 1.0}
    if isinstance(policy, Column):
        sums = tally.mix[policy.key]
        return {ad: sums[ad] / SCALE / tally.rows for ad in logs.ordered({*sums})}
    best, shares, epsilon = tally.mix[name], {}, getattr(policy, "epsilon", 0.0)
    for ad in logs.ordered({*best} if isinstance(policy, Always) else {*policy.actions}):
        share = best.get(ad, 0) / tally.rows
        if tally.eligible:
            explored = epsilon * tally.explored.get(name, {}).get(ad, 0) / SCALE / tally.rows
        else:
            explored = epsilon * (1 - share) / (len(policy.actions) - 1) if epsilon else 0.0
        if share or explored:
            shares[ad] = (1 - epsilon) * share + explored
    return shares


def of_uniform(tally: Tally) -> dict[str, float]:
    """The share of visits in which the uniform policy shows each ad, by ad. It shows all ads, or
    all eligible ones, with equal probability.
    """
    ads, explored = logs.ordered({*tally.ads}), tally.explored.get(Uniform.kind, {})
    if not tally.eligible:
        return dict.fromkeys(ads, 1 / len(ads))
    return {ad: explored[ad] / SCALE / tally.rows for ad in ads if ad in explored}


def compared(
    mix: Mapping[str, float], today: Mapping[str, float]
) -> tuple[list[tuple[str, float, float]], int]:
    """The ads that a policy or today's policy shows most, each with both policies' shares; and how
    many other ads either shows.
    """
    shares = {
        ad: (mix.get(ad, 0.0), today.get(ad, 0.0))
        for ad in [*mix, *today]
        if mix.get(ad) or today.get(ad)
    }
    listed = sorted(shares, key=lambda ad: -max(shares[ad]))[:MOST]
    return [(ad, *shares[ad]) for ad in sorted(listed, key=lambda ad: -shares[ad][0])], len(
        shares
    ) - len(listed)
