"""Time the evaluation of a policy from a log, with every bound, beside Open Bandit Pipeline, and the coverage study.

    python benchmarks/ads_evaluation.py [--rows 1000000] [--actions 80] [--repeats 2000]

Processor time of one thread. Targets: 0.5 s and 300 MB beyond the log's arrays for 10^6 rows of 80 ads, whose uniform
log lets terms take three values. Besides: propensities that differ between rows, so that terms take very many values,
and rewards that are not 0 or 1. Open Bandit Pipeline cannot be installed beside this project (it pins an old NumPy, and
brings 5.8 GB); its times for 10^6 rows of 80 ads are those of an earlier run on two cores of the same kind. Like it,
our estimates then start from the probabilities of all ads, rows x ads. Times vary between machines and minutes.
"""

import argparse
import time
import tracemalloc

import numpy as np
from rounds import best

from scant.ads import intervals
from scant.ads.coverage import coverage, settings
from scant.ads.evaluation import declared_weights, evaluate, importance_weighted, snips
from scant.randomness import generator

EPSILON = 0.2
PIPELINE = {"point": (0.066, 0.418), "bootstrap": (72, 142)}  # seconds: from its IPW to its doubly robust estimator


def log(rows: int, actions: int, rate: float, kind: str) -> dict:
    """The arguments of `evaluate`: a uniform log, or one whose propensities differ; an epsilon-greedy policy."""
    random = generator(0, rows, rate, kind)
    least = 1 / actions if kind == "uniform" else 0.5 / actions
    best_one = np.full(rows, least) if kind == "uniform" else random.uniform(least, 3 * least, rows)
    logged = random.random(rows) < best_one
    other = (1 - best_one) / (actions - 1)
    reward = random.random(rows) * rate * 2 if kind == "graded" else (random.random(rows) < rate).astype(float)
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
            *given, policy[place, shown], made["largest_weight"], weights=made["weights"], random=generator(5)
        )

    print(f"{rows} rows x {actions} ads: seconds of processor time; Open Bandit Pipeline's; how many times ours")
    for name, call, theirs in (("estimates IPS and SNIPS", point, "point"),
                               ("bootstrap interval, 10,000 samples", bootstrap, "bootstrap"),
                               ("every estimate and bound", everything, "bootstrap")):  # fmt: skip
        ours, (low, high) = best(call, 3, time.process_time), PIPELINE[theirs]
        print(f"  {name:35} {ours:6.3f} {low:8g} to {high:g} {low / ours:9.1f} to {high / ours:.1f}")


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
    parser.add_argument("--repeats", type=int, default=2000, help="campaigns of each setting of the coverage study")
    arguments = parser.parse_args()

    print(f"{arguments.rows} rows, {arguments.actions} ads, every estimate and bound")
    for kind in ("uniform", "varied", "graded"):
        for rate in (0.08, 0.003):
            made = log(arguments.rows, arguments.actions, rate, kind)

            def call(made=made):
                return evaluate(**made, random=generator(1))

            milliseconds = best(call, clock=time.process_time) * 1e3
            print(f"  {kind:8} CTR {rate:5.3f} {milliseconds:7.0f} ms {megabytes(call):6.0f} MB")
    beside(arguments.rows, arguments.actions)

    study, random = settings(), generator(2)
    seconds = best(lambda: coverage(study, arguments.repeats, random), 1, time.process_time)
    print(f"coverage study, {len(study)} settings of {arguments.repeats} campaigns: {seconds:.1f} s")


if __name__ == "__main__":
    main()
