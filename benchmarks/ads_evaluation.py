"""Time the evaluation of a policy from a log, with every bound, and the coverage study.

    python benchmarks/ads_evaluation.py [--rows 1000000] [--actions 80] [--repeats 2000]

One thread. Targets: 0.5 s and 300 MB beyond the log's arrays for 10^6 rows of 80 ads, whose uniform log lets terms take
three values. Besides: propensities that differ between rows, so that terms take very many values, and rewards that are
not 0 or 1. Times vary between machines and minutes.
"""

import argparse
import tracemalloc

import numpy as np
from rounds import best

from scant.ads.coverage import coverage, settings
from scant.ads.evaluation import declared_weight, declared_weights, evaluate
from scant.randomness import generator

EPSILON = 0.2


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
        "largest_weight": declared_weight(least, EPSILON, actions),
        "q": (np.full(rows, rate), np.full(rows, rate)),
    }
    if kind == "uniform":
        arguments["weights"] = declared_weights([least], EPSILON, actions)
    return arguments


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

            print(f"  {kind:8} CTR {rate:5.3f} {best(call) * 1e3:7.0f} ms {megabytes(call):6.0f} MB")

    study, random = settings(), generator(2)
    seconds = best(lambda: coverage(study, arguments.repeats, random), 1)
    print(f"coverage study, {len(study)} settings of {arguments.repeats} campaigns: {seconds:.1f} s")


if __name__ == "__main__":
    main()
