"""Do bounds hold when visits of one user are alike? By visits, as if all were independent, and by
user (`--user`).

    python benchmarks/ads_users.py [--repeats 1000] [--seed 0]

Each repeat draws users with a click rate of their own, of a beta distribution whose correlation of
two visits of one user is given, and 1 to 30 visits each: equally likely ("even"), or one user in a
hundred with 300 visits besides ("heavy"), or with rates that are higher for users with more visits
("eager"). Five ads are shown at random. A user has one ad that suits, and clicks others half as
often; the policy shows the ad that suits, and today's shows all alike.

Failures are the ends of 95 % intervals on the wrong side of the truth, lower and upper, in % of the
logs, where 2.5 are promised: of today's CTR, the policy's, and the quotient of the two, which is
the lift; by visits and by user. Besides, the mean width of the interval by user, over that by
visits. With numbers of visits as drawn, true CTRs are averages over visits.
"""

import argparse
from itertools import product

import numpy as np

from scant.bandits import intervals
from scant.randomness import generator
from scant_ads.evaluation import clusters, lifts

ADS, LEVEL = 5, 0.95
# the mean rate of the ad that suits, and the part of it that other ads have
RATE, OTHERS = 0.05, 0.5


def drawn(users: int, visits: str, correlation: float, random) -> tuple:
    """The user of each visit, the reward, the weight of the policy, and the true CTRs of today's
    policy and of it.
    """
    made = random.integers(1, 31, users)
    if visits == "heavy":
        made[: users // 100] = 300
    mean = RATE * (made / made.mean() if visits == "eager" else np.ones(users))
    rate = (
        mean
        if not correlation
        else random.beta(*(np.array([mean, 1 - mean]) * (1 / correlation - 1)))
    )
    user = np.repeat(np.arange(users), made)
    suits = random.random(len(user)) < 1 / ADS
    reward = (random.random(len(user)) < rate[user] * np.where(suits, 1.0, OTHERS)).astype(float)
    best = float(made @ mean) / made.sum()
    return user, reward, ADS * suits.astype(float), best * (1 + (ADS - 1) * OTHERS) / ADS, best


def intervals_of(user, reward, weight, random) -> dict[str, list[tuple[float, float]]]:
    """The intervals of today's CTR, the policy's and their quotient, by visits and by user."""
    kept = clusters.Users()
    kept.add(user.astype(np.uint64), {"": np.ones(len(user)), "policy": weight}, reward)
    by_user, once = clusters.ByUser(kept, ADS, random), np.ones(len(user), np.int64)
    of_visits = [
        intervals.interval(
            intervals.clopper_pearson,
            intervals.drawn(terms, once, largest, random, (largest,)),
            LEVEL,
        )
        for terms, largest in ((reward, 1.0), (weight * reward, float(ADS)))
    ]
    quotient = lifts.single(weight, reward, once, float(ADS), random)
    of_users = [
        by_user.rate("", 1.0),
        by_user.rate("policy", float(ADS)),
        by_user.lift(("policy", ""), (float(ADS), 1.0)),
    ]
    one_sided = (1 + LEVEL) / 2
    return {"visits": [*of_visits, (quotient.lower(one_sided), quotient.upper(one_sided))],
            "users": [found.interval(LEVEL) for found in of_users]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("failures below and above in %, by visits and by user; width by user over that by visits")
    print(
        f"{'users':>6} {'visits':6} {'correlation':>11}"
        + "".join(f"{name:>30}" for name in ("today", "policy", "lift"))
    )
    for users, visits, correlation in product(
        (300, 3000), ("even", "heavy", "eager"), (0.0, 0.05, 0.3)
    ):
        failed, width = np.zeros((2, 3, 2)), np.zeros((2, 3))
        for repeat in range(arguments.repeats):
            random = generator(arguments.seed, "users", users, visits, correlation, repeat)
            user, reward, weight, *truth = drawn(users, visits, correlation, random)
            truth.append(truth[1] / truth[0])
            for way, found in enumerate(intervals_of(user, reward, weight, random).values()):
                ends = np.array(found, float)
                failed[way] += np.column_stack([ends[:, 0] > truth, ends[:, 1] < truth])
                width[way] += ends[:, 1] - ends[:, 0]
        shares = 100 * failed / arguments.repeats
        cells = "".join(
            f"{a:9.1f} {b:4.1f} {c:5.1f} {d:4.1f} {over:6.2f}"
            for (a, b), (c, d), over in zip(*shares, width[1] / width[0], strict=True)
        )
        print(f"{users:6,} {visits:6} {correlation:11}{cells}", flush=True)


if __name__ == "__main__":
    main()
