"""Time the evaluation of a policy from a log, with every bound, beside Open Bandit Pipeline, and
the coverage study.

    python benchmarks/ads_evaluation.py [--rows 1000000] [--actions 80] [--repeats 2000]
    python benchmarks/ads_evaluation.py --peers 500

Processor time of one thread. Targets: 0.5 s and 300 MB beyond the log's arrays for 10^6 rows of 80
ads, whose uniform log lets terms take three values. Besides: propensities that differ between rows,
so that terms take very many values, and rewards that are not 0 or 1. Open Bandit Pipeline cannot be
installed beside this project (it pins an old NumPy, and brings 5.8 GB); its times for 10^6 rows of
80 ads are those of an earlier run on two cores of the same kind. Like it, our estimates then start
from the probabilities of all ads, rows x ads. Times vary between machines and minutes.

With --peers nothing is timed: how often 95 % intervals of a policy's CTR hold over so many
simulated logs, and how wide they are, beside those of vw-estimators and statsmodels where these are
installed (neither is needed otherwise), and the bootstrap of Open Bandit Pipeline. The logs are of
2,000 visits: five ads alike and few clicks; propensities from 0.01 up, lognormal; 300 users of 1 to
12 visits, whose rates differ.
"""

import argparse
import time
import tracemalloc
from contextlib import suppress

import numpy as np
from rounds import best

from scant.ads.coverage import coverage, settings
from scant.bandits import intervals
from scant.bandits.evaluation import declared_weights, evaluate, importance_weighted, snips
from scant.randomness import generator
from scant_ads.evaluation import clusters

EPSILON = 0.2
# seconds: from its IPW to its doubly robust estimator
PIPELINE = {"point": (0.066, 0.418), "bootstrap": (72, 142)}


def log(rows: int, actions: int, rate: float, kind: str) -> dict:
    """The arguments of `evaluate`: a uniform log, or one whose propensities differ; an
    epsilon-greedy policy.
    """
    random = generator(0, rows, rate, kind)
    least = 1 / actions if kind == "uniform" else 0.5 / actions
    best_one = np.full(rows, least) if kind == "uniform" else random.uniform(least, 3 * least, rows)
    logged = random.random(rows) < best_one
    other = (1 - best_one) / (actions - 1)
    reward = (
        random.random(rows) * rate * 2
        if kind == "graded"
        else (random.random(rows) < rate).astype(float)
    )
    arguments = {
        "reward": reward,
        "propensity": np.where(logged, best_one, other),
        "target": np.where(logged, 1 - EPSILON, EPSILON / (actions - 1)),
        "largest_weight": declared_weights((least,), EPSILON, actions)[-1],
        "q": (np.full(rows, rate), np.full(rows, rate)),
    }
    if kind == "uniform":
        arguments["weights"] = declared_weights([least], EPSILON, actions)
    return arguments


def beside(rows: int, actions: int) -> None:
    """Print our times beside those of Open Bandit Pipeline, from the probabilities of all ads."""
    made = log(rows, actions, 0.08, "uniform")
    random, place = generator(3), np.arange(rows)
    shown = random.integers(0, actions, rows)
    policy = np.full((rows, actions), EPSILON / (actions - 1))
    policy[place, np.where(made["target"] > 0.5, shown, (shown + 1) % actions)] = 1 - EPSILON
    given = made["reward"], made["propensity"]

    def point():
        target = policy[place, shown]
        return importance_weighted(*given, target), snips(*given, target)

    def bootstrap():
        weight = policy[place, shown] / made["propensity"]
        terms = intervals.counted(made["reward"] * weight, made["largest_weight"], made["weights"])
        return intervals.percentile(intervals.resampled(terms, generator(4)), 0.05)

    def everything():
        return evaluate(
            *given,
            policy[place, shown],
            made["largest_weight"],
            weights=made["weights"],
            random=generator(5),
        )

    print(
        f"{rows} rows x {actions} ads: seconds of processor time; Open Bandit Pipeline's; how "
        "many times ours"
    )
    for name, call, theirs in (("estimates IPS and SNIPS", point, "point"),
                               ("bootstrap interval, 10,000 samples", bootstrap, "bootstrap"),
                               ("every estimate and bound", everything, "bootstrap")):  # fmt: skip
        ours, (low, high) = best(call, 3, time.process_time), PIPELINE[theirs]
        print(
            f"  {name:35} {ours:6.3f} {low:8g} to {high:g} {low / ours:9.1f} to {high / ours:.1f}"
        )


def visits(kind: str, random) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The users, weights and clicks of a log, and the policy's CTR."""
    rows = 2000
    if kind == "users":
        user = np.repeat(np.arange(300), random.integers(1, 13, 300))
        rate = random.beta(0.5, 9.5, 300)[user]
        return (
            user,
            5.0 * (random.random(len(user)) < 0.2),
            (random.random(len(user)) < rate) * 1.0,
            0.05,
        )
    if kind == "few clicks":
        return (
            np.arange(rows),
            5 * np.where(random.random(rows) < 0.2, 0.8, 0.05),
            (random.random(rows) < 0.02) * 1.0,
            0.02,
        )
    shown = np.clip(np.exp(random.normal(-1.5, 1.0, rows)), 0.01, 1)
    weight = np.where(random.random(rows) < shown, 1 / shown, 0.0)
    return np.arange(rows), weight, (random.random(rows) < 0.08) * 1.0, 0.08


def intervals_of(user, weight, reward, random) -> dict[str, tuple[float, float]]:
    """95 % intervals of a policy's CTR, by who makes them."""
    kept, largest = clusters.Users(), 100.0 if weight.max() > 5 else float(weight.max())
    kept.add(user.astype(np.uint64), {"": np.ones(len(user)), "policy": weight}, reward)
    of_users = clusters.ByUser(kept, 5, random)
    terms = intervals.drawn(weight * reward, np.ones(len(user), np.int64), largest, random)
    estimate, error = snips(reward, np.ones(len(user)), weight)
    independent = len(of_users) == len(user)
    found = {
        "guaranteed": intervals.interval(intervals.betting, terms, 0.95) if independent
        else of_users.rate("policy", largest).interval(0.95),
        "delta method": (estimate - 1.96 * error, estimate + 1.96 * error),
        "bootstrap, as in obp": tuple(intervals.percentile(intervals.resampled(terms, random, 1000),
                                                           (0.025, 0.975))),
    }  # fmt: skip
    with suppress(ImportError):
        from estimators.bandits import cressieread, gaussian

        for name, kind in (("vw: Cressie-Read", cressieread), ("vw: Gaussian", gaussian)):
            peer = kind.Interval()
            for one, clicked in zip(weight.tolist(), reward.tolist(), strict=True):
                peer.add_example(1.0, clicked, one)
            found[name] = tuple(peer.get(0.05))
    with suppress(ImportError):
        from statsmodels.api import WLS

        how = (
            {"cov_type": "HC1"}
            if independent
            else {"cov_type": "cluster", "cov_kwds": {"groups": user}}
        )
        found["statsmodels: robust"] = tuple(
            WLS(reward, np.ones(len(user)), weights=weight).fit(**how).conf_int()[0]
        )
    return found


def peers(logs: int) -> None:
    """Print how often intervals hold, at which end they fail, and how wide they are, of several
    makers.
    """
    print(
        f"{'95 % intervals':13} {'':22} {'hold, %':>8} {'too high':>9} {'too low':>8} "
        f"{'width, points':>14}"
    )
    for kind in ("few clicks", "skewed", "users"):
        ends: dict[str, list] = {}
        for repeat in range(logs):
            random = generator(0, "benchmark", "peers", kind, repeat)
            *log, truth = visits(kind, random)
            for name, (low, high) in intervals_of(*log, random).items():
                ends.setdefault(name, []).append((low > truth, high < truth, high - low))
        for name, found in ends.items():
            above, below, width = 100 * np.mean(found, axis=0)
            print(
                (
                    f"{kind:13} {name:22} {100 - above - below:8.1f} {above:9.1f} {below:8.1f} "
                    f"{width:14.2f}"
                ),
                flush=True,
            )


def megabytes(call) -> float:
    """The most memory that a call holds at once."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--actions", type=int, default=80)
    parser.add_argument(
        "--repeats",
        type=int,
        default=2000,
        help="campaigns of each setting of the coverage study",
    )
    parser.add_argument(
        "--peers",
        type=int,
        help="compare intervals with others' on so many logs, and time nothing",
    )
    arguments = parser.parse_args()
    if arguments.peers:
        return peers(arguments.peers)

    print(f"{arguments.rows} rows, {arguments.actions} ads, every estimate and bound")
    for kind in ("uniform", "varied", "graded"):
        for rate in (0.08, 0.003):
            made = log(arguments.rows, arguments.actions, rate, kind)

            def call(made=made):
                return evaluate(**made, random=generator(1))

            milliseconds = best(call, clock=time.process_time) * 1e3
            print(f"  {kind:8} CTR {rate:5.3f} {milliseconds:7.0f} ms {megabytes(call):6.0f} MB")
    beside(arguments.rows, arguments.actions)

    study, random = settings((2_000, 20_000, 200_000), ()), generator(2)
    seconds = best(lambda: coverage(study, arguments.repeats, random), 1, time.process_time)
    print(
        f"coverage study, {len(study)} settings of {arguments.repeats} campaigns: {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
