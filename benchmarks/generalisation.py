"""Time ERM to a certified gap: each surrogate in both balls, and ListNet at the size of the target.

    python benchmarks/generalisation.py [--queries 10000 --documents 40 --features 50]

One thread, processor time. Target: ListNet on 10,000 queries of 40 documents with 50 features, to a gap of 1e-4 of the
mean loss, in 10 s. The features of the second sample are as ill-conditioned as those of web search: feature j has the
standard deviation 1/j. Compilation is not counted. Times vary between machines and minutes.
"""

import argparse
import time

import numpy as np

from scant.generalisation.populations import Linear
from scant.generalisation.solve import OBJECTIVES, Ball, Mean, Sample, from_starts, minimise
from scant.randomness import generator

GAP = 1e-4
SIZES = {"l2": 5.0, "l1": 5.0}  # radii of the balls


def timed(mean: Mean, ball: Ball) -> str:
    """The seconds that a search takes, its passes, and what it says of itself."""
    start = time.process_time()
    if mean.convex:
        found = minimise(mean, np.zeros(mean.sample.d), ball, GAP)
    else:
        found, _ = from_starts(mean, ball, 5, generator(0, "starts"))
    seconds = time.process_time() - start
    share = found.gap / abs(found.value)
    return f"{seconds:8.2f} s, {found.passes:4d} passes, gap {share:7.1e} of the mean loss, {found.status}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--features", type=int, default=50)
    sizes = parser.parse_args()
    for words, decay in (("features alike", 0.0), ("features of standard deviation 1/j", 2.0)):
        population = Linear(generator(0, "ranker"), sizes.features, noise=0.5, decay=decay)
        sample = Sample(*population.draw(generator(0, "sample"), sizes.queries, sizes.documents))
        print(f"{sizes.queries:,} queries of {sizes.documents} documents, {sizes.features} {words}")
        for surrogate in OBJECTIVES:
            for norm, radius in SIZES.items():
                mean = Mean(sample, surrogate)
                mean.at(np.zeros(sample.d))  # compiles
                print(f"  {surrogate:9s} {norm}  {timed(mean, Ball(norm, radius))}")


if __name__ == "__main__":
    main()
