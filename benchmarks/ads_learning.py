"""What the defaults of learning cost and are worth: true CTR of learnt policies, and seconds, for
few ads and many.

    python benchmarks/ads_learning.py [--seeds 5] [--ads 200] [--lambdas 0.01]

By default gradient descent takes 20 passes over each ad's rows, at least 50,000 steps and at most a
million. Beside it are a million steps for each ad, on the same logs: of the simulated campaigns,
logged by chance or by the campaign, and of many ads with a thousand rows each. The truth is known:
true CTR is the average over new users of the probability of a click on the ad shown. Differences
are with their standard errors over seeds. Seconds are processor time of learning. Where lambda is
chosen, a near tie may be decided otherwise, which moves a policy's CTR by more than all else: with
a single lambda nothing is chosen.
"""

import argparse
import time

import numpy as np

from scant.bandits import campaigns
from scant.bandits.learners import LAMBDAS
from scant.bandits.policies import Choice
from scant.data.logs import Log
from scant.randomness import generator
from scant_ads import Policy
from scant_ads.reading.visits import Visits

USERS = 1 << 17  # over whom true CTRs are averaged
FEATURES, INFORMATIVE = 20, 6  # of the log of many ads
MILLION = 1_000_000


def many(rows: int, ads: int, seed: int) -> tuple[Log, np.ndarray, np.ndarray]:
    """A log of many ads shown at random, clicked in about 7 %; new users, and their rates of a
    click on each ad.
    """
    random = generator(seed, "many ads")
    own, common = (random.standard_normal((INFORMATIVE, count)) for count in (ads, 1))
    weights = np.sqrt(0.5 / INFORMATIVE) * (own + common)
    intercepts = np.log(0.05) + 0.3 * random.standard_normal(ads)

    def rates(features):
        return 1 / (1 + np.exp(-(features[:, :INFORMATIVE] @ weights + intercepts)))

    features, users = (
        random.standard_normal((count, FEATURES), np.float32) for count in (rows, 1 << 14)
    )
    shown = random.integers(0, ads, rows, np.int32)
    clicked = random.random(rows) < rates(features)[np.arange(rows), shown]
    names = tuple(f"x{at}" for at in range(FEATURES))
    log = Log(
        features, shown, clicked * 1.0, np.full(rows, 1 / ads), tuple(map(str, range(ads))), names
    )
    return log, users, rates(users)


def learnt(policy: Policy, log: Log) -> tuple[Policy, float]:
    """The policy fitted to a log, and the seconds that it took."""
    visits = Visits(**vars(log))
    start = time.process_time()
    fitted = policy.fitted_to(visits)
    return fitted, time.process_time() - start


def shown(policy: Policy, features: np.ndarray) -> Choice:
    return policy.learnt.fitted.choice(features)


def judged(label: str, learner: tuple[str, int | None], lambdas, logs, truths) -> None:
    """Print the means over some logs of true CTR and seconds, with a million steps for each ad and
    by default.

    learner : kind, and misses kept for each click
    lambdas : the grid of regularisation
    logs : (log, what `truths` needs besides) each
    truths : gives the true CTRs of some policies
    """
    kind, undersample = learner
    results = []
    for log, known in logs:
        policies = [
            Policy(kind, lambdas=lambdas, undersample=undersample, steps=steps)
            for steps in (MILLION, None)
        ]
        fitted, seconds = zip(*(learnt(policy, log) for policy in policies), strict=True)
        results.append([*truths(fitted, *known), *seconds])
    old, new, before, now = np.mean(results, axis=0)
    differences = [new - old for old, new, *_ in results]
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    name = f"{kind}{' 1:1' if undersample else ''}"
    print(
        f"{label}  {name:14} {100 * old:6.3f} {before:7.2f}  {100 * new:6.3f} {now:7.2f}   "
        f"{100 * np.mean(differences):+.4f} {100 * error:.4f}",
        flush=True,
    )


def of_campaign(policies, world, seed) -> list[float]:
    """The true CTRs of some policies in a campaign."""
    choose = [lambda features, policy=policy: shown(policy, features) for policy in policies]
    return [
        value for value, _ in campaigns.true_ctrs(world, choose, USERS, generator(seed, "users"))
    ]


def of_many(policies, users, rates) -> list[float]:
    """The true CTRs of some policies, from the rates of new users."""
    return [rates[np.arange(len(users)), shown(policy, users).best].mean() for policy in policies]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="logs of each kind, 2 or more")
    parser.add_argument("--ads", type=int, default=200)
    parser.add_argument(
        "--lambdas", type=float, nargs="+", default=LAMBDAS, help="one, to choose none"
    )
    arguments = parser.parse_args()
    learners, seeds = (
        (("logistic", None), ("logistic", 1), ("auc-ranker", None)),
        range(arguments.seeds),
    )
    for kind in ("logistic", "auc-ranker"):
        learnt(Policy(kind, steps=100), many(2000, 3, 0)[0])  # compiles
    print(
        "                                          a million steps       default            "
        "difference of CTR"
    )
    print(
        "campaign logged by     rows  learner       CTR %  seconds   CTR %  seconds   %, and its "
        "standard error"
    )
    for campaign, logged in (
        ("hotel", "uniform"),
        ("hotel", "targeted"),
        ("bank-1", "uniform"),
        ("bank-1", "targeted"),
        ("bank-2", "uniform"),
    ):
        world = campaigns.make(campaign)
        for rows in (10_000, 100_000):
            logs = [
                (
                    world.log(rows, generator(seed, "learning", campaign, logged), logged),
                    (world, seed),
                )
                for seed in seeds
            ]
            for learner in learners:
                judged(
                    f"{campaign:8} {logged:8} {rows:8}",
                    learner,
                    arguments.lambdas,
                    logs,
                    of_campaign,
                )
    rows = 1000 * arguments.ads
    logs = [(log, known) for log, *known in (many(rows, arguments.ads, seed) for seed in seeds)]
    for learner in learners:
        judged(f"{arguments.ads} ads  uniform  {rows:8}", learner, arguments.lambdas, logs, of_many)


if __name__ == "__main__":
    main()
