"""Measure how often intervals for the slope of the mean regret cover it, over simulated
experiments.

    python benchmarks/slopes.py [--experiments 1000]

The expected regret is T^0.6 at five horizons from 10^3 to 10^5. The regret of a seed is that times
a factor with mean 1: normal (spread 0.15), gamma (exponential) or lognormal (its logarithm has
spread 1), drawn for each horizon by itself; or `drifting`, the logarithm of which is a random walk
over horizons. Compared are the bootstrap of tables and figures, with its percentiles moved outwards
and without, the t interval of pseudo-values that fixed tests of claims use, and the t interval of
the mean of the seeds' own slopes, which is another quantity where seeds differ in theirs.
"""

import argparse

import numpy as np
import pandas as pd

from scant.present.intervals import t_interval
from scant.present.slopes import pseudo_values, slope, slope_columns
from scant.randomness import generator

TRUE = 0.6
HORIZONS = np.array([1e3, 3e3, 1e4, 3e4, 1e5])
FACTORS = {
    "normal": lambda random, shape: 1 + 0.15 * random.standard_normal(shape),
    "gamma": lambda random, shape: random.exponential(size=shape),
    "lognormal": lambda random, shape: np.exp(random.standard_normal(shape) - 0.5),
    "drifting": lambda random, shape: np.exp(
        0.5 * random.standard_normal(shape).cumsum(axis=0)
        - 0.125 * np.arange(1, shape[0] + 1)[:, None]
    ),
}


def intervals(regret: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """The ends of each kind of interval, for the regret of seeds (columns) at horizons (rows)."""
    columns = slope_columns(regret, 3)
    seeds = regret.shape[1]
    shares = (
        generator(0, "resamples", seeds).multinomial(seeds, np.full(seeds, 1 / seeds), 500) / seeds
    )
    plain = np.quantile([slope(HORIZONS, regret @ share, 3) for share in shares], [0.025, 0.975])
    own = [slope(HORIZONS, regret[seed], 3) for seed in regret]
    return {
        "bootstrap": (columns["slope_low"], columns["slope_high"]),
        "plain bootstrap": tuple(plain),
        "pseudo-values": t_interval(pseudo_values(regret))[1:3],
        "own slopes": t_interval(own)[1:3],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--experiments", type=int, default=1000)
    asked = parser.parse_args()
    print(f"{'regret':10} {'seeds':>5}  share of intervals that cover the slope")
    for name, factor in FACTORS.items():
        for seeds in (5, 10, 30):
            random, covered = generator(0, "slopes", name, seeds), {}
            for _ in range(asked.experiments):
                drawn = HORIZONS[:, None] ** TRUE * factor(random, (len(HORIZONS), seeds))
                for kind, (low, high) in intervals(pd.DataFrame(drawn, index=HORIZONS)).items():
                    covered.setdefault(kind, []).append(low <= TRUE <= high)
            said = "  ".join(f"{kind} {np.mean(hits):6.1%}" for kind, hits in covered.items())
            print(f"{name:10} {seeds:5}  {said}", flush=True)


if __name__ == "__main__":
    main()
