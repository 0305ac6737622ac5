"""The study `seen` beside numbers that independent code got for the same designs on other seeds.

    python benchmarks/worlds.py [--results results/reference/seen]

Standard errors are of means over seeds: ours as measured; the other code's, of 12 seeds (8 where
queries return), as if its seeds varied as ours do. Where queries return, its rates and penalties
were fixed, and ours are chosen.
"""

import argparse
import math
from pathlib import Path

import pandas as pd
from scipy import stats

SETS = ("linear", "digits", "mq2008", "ohsumed")
RETURNS = tuple(f"returns-{times}" for times in (2, 5, 10, 25, 50, 100))
NAN = math.nan
KNOWN = [  # experiment, learner, column of tables/top.csv, streams, the other code's values
    ("seen", "listnet", "mean", SETS, (0.693, 0.825, 0.506, 0.464)),
    ("seen", "newton", "mean", SETS, (0.6935, 0.8204, 0.5149, 0.4632)),
    ("seen", "ridge-all", "mean", SETS, (0.6937, 0.8255, 0.5078, 0.4651)),
    ("seen", "ridge-10-within", "mean", SETS, (NAN, NAN, 0.5119, NAN)),
    ("seen", "ridge-2-within", "mean", SETS, (NAN, NAN, 0.5049, NAN)),
    ("seen", "ucb-1", "mean", SETS, (0.682, 0.807, 0.4965, 0.447)),
    ("seen", "ucb-1-remembers", "mean", SETS, (NAN, 0.816, 0.599, 0.533)),
    ("seen", "ridge-10-remembers", "mean", SETS, (NAN, NAN, 0.688, 0.939)),
    ("seen", "newton-remembers", "mean", SETS, (NAN, 0.9445, 0.710, 0.988)),
    ("seen", "papers-1-thesis", "mean", SETS, (0.641, NAN, 0.430, 0.340)),
    ("seen", "papers-1-kl", "mean", SETS, (0.626, NAN, 0.473, 0.402)),
    ("seen", "papers-2-ranksvm", "mean", SETS, (0.664, NAN, 0.498, 0.389)),
    ("seen-clicks", "ridge-position", "mean", SETS[:1], (0.678,)),
    ("seen-clicks", "ridge-trust", "mean", SETS[:1], (0.661,)),
    ("seen-richer", "boosted-1", "mean", SETS[1:3], (0.815, 0.5116)),
    ("seen-levels", "ucb-1", "mean", ("levels", "levels-centred"), (0.311, 0.901)),
    ("seen-levels", "ridge-10", "mean", ("levels",), (0.262,)),
    ("seen-levels", "listnet", "mean", ("levels",), (0.908,)),
    ("seen-returns", "listnet", "mean", RETURNS, (0.693, 0.694, 0.694, 0.697, 0.699, 0.713)),
    ("seen-returns", "ucb-1", "mean", RETURNS, (0.681, 0.681, 0.675, 0.664, 0.644, 0.625)),
    ("seen-returns", "listnet", "unvisited", RETURNS, (0.693, 0.693, 0.692, 0.691, 0.689, 0.681)),
    ("seen-returns", "ucb-1", "unvisited", RETURNS, (0.688, 0.685, 0.677, 0.656, 0.621, 0.574)),
    (
        "seen-returns",
        "ucb-1-remembers",
        "mean",
        RETURNS,
        (0.701, 0.717, 0.728, 0.739, 0.733, 0.713),
    ),
    (
        "seen-returns",
        "newton-remembers",
        "mean",
        RETURNS,
        (0.877, 0.938, 0.969, 0.987, 0.993, 0.997),
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("results/reference/seen"))
    table = pd.read_csv(parser.parse_args().results / "tables/top.csv")
    rows = table.set_index(["experiment", "learner", "stream"])
    print(f"{'experiment':13}{'learner':20}{'column':11}{'stream':16} known   ours  apart (s.e.)")
    for experiment, learner, column, streams, values in KNOWN:
        for stream, value in zip(streams, values, strict=True):
            if math.isnan(value):
                continue
            row = rows.loc[(experiment, learner, stream)]
            ours, seeds = row[column], 8 if experiment == "seen-returns" else 12
            half_width = row[f"{column}_high" if column != "mean" else "high"] - ours
            own = half_width / stats.t.ppf(0.975, row["ok"] - 1)
            apart = (ours - value) / (own * math.sqrt(1 + row["ok"] / seeds))
            print(
                f"{experiment:13}{learner:20}{column:11}{stream:16} {value:.3f}  {ours:.3f}"
                f"  {ours - value:+.4f} ({apart:+.1f})"
            )


if __name__ == "__main__":
    main()
