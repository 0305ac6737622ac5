"""Choose one of many policies on simulated logs, by several rules: what is lost, and do the bounds
of the chosen hold?

    python benchmarks/ads_selection.py [--repeats 400] [--seed 0]

Each repeat draws a campaign of 5 ads and 40 kinds of users, policies that show each kind one ad,
and a log: by chance, or by a policy that shows one ad of each kind's 5 in 92 % of the visits
(weights up to 50), a random one ("skewed"), or the best one for three kinds in four ("good").
Rules: the largest estimate; the largest lower bound, each with an error of 5 %/m for m policies, by
empirical Bernstein, by betting, with and without the range of the terms, and by a mixture of
constant bets; and what `scant ads evaluate` does (`scant_ads.evaluation.pairs.chosen`). Of equal
bounds, which are 0 with few clicks, the larger estimate decides. Regret is the best policy's CTR
less the chosen one's, in % of the best one's, with its standard error over repeats. A failure is a
bound of the chosen policy (for the first rule, its estimate) above its true CTR: 5 % at most are
promised. Besides, the mean bound in % of the true CTR.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from scant.bandits import intervals
from scant.randomness import generator
from scant_ads.evaluation import pairs

ADS, KINDS, LEVEL = 5, 40, 0.95
RATES = {"7 %": 0.07, "0.3 %": 0.003}  # mean click rates, as of the thesis's hotel and bank
# the probability of the favourite ad of today's policy
FAVOURITE = {"uniform": 1 / ADS, "skewed": 0.92, "good": 0.92}
RULES = ("estimate", "Bernstein", "betting", "no range", "mixture", "scant")
# equally likely: the arcsine distribution on [0, 1]
BETS = np.sin(np.pi / 4 / 256 * (2 * np.arange(256) + 1)) ** 2


def worlds(
    rate: float, policies: int, logging: str, repeats: int, random
) -> tuple[np.ndarray, ...]:
    """Campaigns with policies to choose from.

    Returns
    -------
    click : float64 (repeats x kinds x ads), the probability of a click
    propensity : likewise, of today's policy, which has a favourite ad for each kind of user
    shown : int (repeats x policies x kinds), the ad that each policy shows. A policy shares some of
        today's favourites, has learnt the best ad for some of the other kinds, and shows an ad by
        chance to the rest
    """
    click = np.minimum(
        rate * np.exp(0.8 * random.standard_normal((repeats, KINDS, ADS)) - 0.32), 1.0
    )
    best, today = click.argmax(axis=2)[:, None], random.integers(0, ADS, (repeats, 1, KINDS))
    if logging == "good":
        today = np.where(random.random(today.shape) < 0.75, best, today)
    favourite = FAVOURITE[logging]
    propensity = np.where(
        np.arange(ADS) == today[:, 0, :, None], favourite, (1 - favourite) / (ADS - 1)
    )
    draws, shares = (
        random.random((2, repeats, policies, KINDS)),
        random.random((2, repeats, policies, 1)),
    )
    shown = np.where(
        draws[0] < shares[0], best, random.integers(0, ADS, (repeats, policies, KINDS))
    )
    return click, propensity, np.where(draws[1] < shares[1], today, shown)


def logged(click, propensity, rows: int, random) -> np.ndarray:
    """Clicks in each stage of betting, int64 (repeats x stages x kinds x ads), of logs with this
    number of rows.
    """
    chance = (propensity * click / KINDS).reshape(len(click), 1, -1)
    chance = np.concatenate([chance, 1 - chance.sum(axis=2, keepdims=True)], axis=2)
    counts = random.multinomial(np.diff(intervals.stage_ends(rows), prepend=0), chance)
    return counts[..., :-1].reshape(*counts.shape[:2], KINDS, ADS)


def terms_of(clicks, propensity, shown, rows: int) -> intervals.Terms:
    """The counted terms of all policies: leading axes repeats x policies."""
    weights = np.unique(np.round(1 / propensity, 9))
    chosen = shown[..., None] == np.arange(ADS)  # repeats x policies x kinds x ads
    counts = []
    for weight in weights:
        cells = (chosen & np.isclose(1 / propensity, weight)[:, None]).astype(float)
        cells = cells.reshape(*cells.shape[:2], -1)
        counts.append(np.matmul(cells, clicks.reshape(*clicks.shape[:2], -1).transpose(0, 2, 1)))
    stages = np.diff(intervals.stage_ends(rows), prepend=0)
    counts = np.stack([stages - sum(counts), *counts], axis=-1).astype(np.int64)
    return intervals.Terms(np.array([0.0, *weights]), counts, float(weights[-1]), (0.0, *weights))


def mixture(terms: intervals.Terms, level: float) -> np.ndarray:
    """The lower bound by a mixture of constant bets: of its capital, each of `BETS` has an equal
    part.

    A bet b against the mean m multiplies its part by 1 - b + b X / m with each term X. The sum of
    the parts is a nonnegative martingale if m is the mean, whatever the order of the rows. Bets
    between 0 and 1 as of the arcsine distribution are those of a universal portfolio (Cover and
    Ordentlich 1996).
    """
    total = terms.total.astype(float)
    low, high = np.full(total.shape[:-1], 1e-12), np.ones(total.shape[:-1])
    for _ in range(22):
        middle = np.sqrt(low * high)  # bounds to 1e-5 of themselves
        gains = sum(
            count[..., None] * np.log1p(BETS * (value / middle[..., None] - 1))
            for value, count in zip(terms.value, np.moveaxis(total, -1, 0), strict=True)
        )
        largest = gains.max(axis=-1)
        capital = largest + np.log(np.exp(gains - largest[..., None]).mean(axis=-1))
        reached = capital >= -np.log1p(-level)
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return np.where(low > 1e-12, low, 0.0)


def bounds_of(terms: intervals.Terms) -> dict[str, np.ndarray]:
    """By rule, what it takes for the best, repeats x policies: estimates, or lower bounds of all
    policies at once.
    """
    policies = terms.count.shape[1]
    joint = 1 - (1 - LEVEL) / policies
    exact = intervals.clopper_pearson if len(terms.value) == 2 else intervals.betting
    return {
        "estimate": terms.moments()[1],
        "Bernstein": intervals.empirical_bernstein(terms, joint),
        "betting": intervals.betting(terms, joint),
        "no range": intervals.betting_without_range(terms, joint),
        "mixture": mixture(terms, joint),
        "scant": exact(terms, 1 - (1 - LEVEL) / (policies + 1)),  # today's bound is one more
    }


def compared(
    rate: float, logging: str, rows: int, policies: int, repeats: int, random
) -> Iterator[dict]:
    """For each rule: regret and its standard error, in % of the best; failures in %; bounds in % of
    the truth.
    """
    click, propensity, shown = worlds(rate, policies, logging, repeats, random)
    terms = terms_of(logged(click, propensity, rows, random), propensity, shown, rows)
    truth = np.take_along_axis(click[:, None], shown[..., None], axis=3)[..., 0].mean(axis=2)
    found = bounds_of(terms)
    each = np.arange(repeats)
    for rule in RULES:
        bound = found[rule]
        choice = np.lexsort((found["estimate"], bound), axis=1)[:, -1]
        regret = 100 * (1 - truth[each, choice] / truth.max(axis=1))
        stated = bound[each, choice]
        yield {
            "rule": rule, "regret": regret.mean(), "error": regret.std(ddof=1) / repeats**0.5,
            "failed": 100 * np.mean(stated > truth[each, choice]),
            "share": 100 * np.mean(stated / truth[each, choice]),
        }  # fmt: skip


def agrees(random) -> None:
    """What is called "scant" here is what `pairs.chosen` chooses, and says of it."""
    for logging in FAVOURITE:
        click, propensity, shown = worlds(0.02, 8, logging, 9, random)
        terms = terms_of(logged(click, propensity, 5000, random), propensity, shown, 5000)
        bound = intervals.clopper_pearson if logging == "uniform" else intervals.betting
        found = bounds_of(terms)
        for expected, estimate, counts in zip(
            found["scant"], found["estimate"], terms.count, strict=True
        ):
            lowers = {
                at: partial(bound, replace(terms, count=of_policy))
                for at, of_policy in enumerate(counts)
            }
            choice = pairs.chosen(lowers, lambda level: 1.0, LEVEL, dict(enumerate(estimate)))
            assert np.allclose([choice["lower"], expected[choice["policy"]]], expected.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    agrees(generator(arguments.seed, "selection", "agrees"))
    print(
        "regret in % of the best (standard error), bounds of the chosen that fail in %, mean "
        "bound in % of the truth"
    )
    print(
        f"{'clicks':6} {'logging':7} {'rows':>7} {'m':>3}"
        + "".join(f"{rule:>24}" for rule in RULES)
    )
    for rate, logging, rows, policies in product(
        RATES, FAVOURITE, (2_000, 20_000, 200_000), (5, 20, 100)
    ):
        random = generator(arguments.seed, "selection", rate, logging, rows, policies)
        found = compared(RATES[rate], logging, rows, policies, arguments.repeats, random)
        cells = "".join(
            f"{row['regret']:7.2f} ({row['error']:4.2f}) {row['failed']:4.1f} {row['share']:4.0f}"
            for row in found
        )
        print(f"{rate:6} {logging:7} {rows:7,} {policies:3}{cells}", flush=True)


if __name__ == "__main__":
    main()
