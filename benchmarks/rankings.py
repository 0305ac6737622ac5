"""How often intervals from click logs hold, and how often tests of a log of lists accuse it, in a
small world whose clicks are known.

    python benchmarks/rankings.py [--logs 200] [--visits 10000] [--seed 0]

The world has four queries, visited alike, of six documents, three of which are shown, by the
Plackett-Luce model. The target sorts by grades. The first table has, by estimator and user, the
share of `logs` logs of `visits` visits whose 95 % interval has the target's clicks, by betting and
by t, and their mean widths. The second has logs of 1,000 visits with probabilities given what
stands above, or of the place, said to be of either: the share that `scant ads` takes for the other
kind. The third has the share of logs of 1,000 visits that, at the level of 1 %, are said to have
clicks which depend on what stands above. Mixed users look at all places, or, one in two, at the
first alone.
"""

import argparse
from dataclasses import astuple, replace

import numpy as np
import pandas as pd

from scant.clicklogs import estimates
from scant.clicklogs.estimates import Case
from scant.clicklogs.logs import Log, World
from scant.clicklogs.policies import Policy
from scant.randomness import generator
from scant.rankers.clicks import User, user_for
from scant_ads import Log as Read
from scant_ads.diagnosis import lists, premise

GRADES = np.array([[0, 2, 1, 0, 0, 1], [1, 0, 0, 2, 1, 0], [2, 0, 1, 0, 2, 0], [0, 1, 0, 0, 0, 2]])
SCORES = 0.5 * GRADES + np.sin(1 + 2 * np.arange(4)[:, None] + 3 * np.arange(6))
LOGGING, TARGET = Policy(tuple(SCORES), 3, "pl"), Policy(tuple(GRADES.astype(float)), 3)
LOOK = 1 / np.arange(1, 4)
RANDOM = User(((0.2, 0.2, 0.2),), (0.0, 0.0, 0.0), tuple(LOOK))
MIXED = "mixed"
USERS = {name: user_for(name, 2) for name in ("position", "trust", "navigational")}
USERS |= {"random": RANDOM, MIXED: USERS["position"]}
ESTIMATORS = (estimates.item_position, estimates.prefix, estimates.pooled)
# what propensities are said to be of, and the problem if they are of the other kind
KINDS = {"above": lists.PLACE, "place": lists.ABOVE}
TEST_VISITS, LEVEL = 1000, 0.01


def world(user: str) -> World:
    return World(tuple(GRADES), LOGGING, USERS[user])


def drawn(user: str, visits: int, random: np.random.Generator) -> Log:
    log = world(user).draw(visits, random)
    if user != MIXED:
        return log
    looks = np.arange(3) < np.where(random.random(visits) < 0.5, 1, 3)[:, None]
    return replace(log, click=log.click & looks)


def read(log: Log, kind: str, said: str) -> Read:
    """The log with propensities of one kind, said to be of one."""
    columns = {
        "visit": np.repeat(np.arange(len(log)), 3),
        "position": np.tile([1, 2, 3], len(log)),
        "query": np.repeat(log.query.astype(str), 3),
        "action": log.document.ravel(),
        "reward": log.click.ravel() * 1,
        "propensity": (log.marginal if kind == "place" else log.given_above).ravel(),
    }
    return Read.from_frame(pd.DataFrame(columns), {"list": "visit"}, propensity_of=said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--visits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    print(f"{'estimator':14} {'user':13} betting      t   width by betting, by t")
    for user in ("position", "trust", "navigational"):
        truth, ends = world(user).clicks_of(TARGET).sum(), {}
        for number in range(args.logs):
            log = drawn(user, args.visits, generator(args.seed, "coverage", user, number))
            for estimator in ESTIMATORS:
                weighted = estimator(Case(log, LOGGING, TARGET, LOOK))
                of_log = astuple(estimates.interval(weighted))[1:5]
                ends.setdefault(estimator.__name__, []).append(of_log)
        for name, of_logs in ends.items():
            t_low, t_high, low, high = np.array(of_logs).T
            held = [np.mean((a <= truth) & (truth <= b)) for a, b in ((low, high), (t_low, t_high))]
            widths = f"{np.mean(high - low):.3f} {np.mean(t_high - t_low):.3f}"
            print(f"{name:14} {user:13} {held[0]:7.3f} {held[1]:6.3f}   {widths}", flush=True)

    print("\npropensities of, said to be of, taken for the other")
    for kind in KINDS:
        for said, other in KINDS.items():
            accused = 0
            for number in range(args.logs):
                log = drawn("position", TEST_VISITS, generator(args.seed, "kinds", number))
                problems = lists.problems([read(log, kind, said).visits])
                accused += other in {problem.kind for problem in problems}
            print(f"{kind:15} {said:14} {accused / args.logs:.3f}", flush=True)

    print(f"\nuser          clicks depend on what stands above (p < {LEVEL})")
    for user in USERS:
        values = []
        for number in range(args.logs):
            log = drawn(user, TEST_VISITS, generator(args.seed, "above", user, number))
            values.append(premise.depends_on_above(read(log, "place", "place").visits).p)
        print(f"{user:13} {np.mean(np.array(values) < LEVEL):.3f}", flush=True)


if __name__ == "__main__":
    main()
