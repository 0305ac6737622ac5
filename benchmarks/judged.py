"""Hold judged lists to the numbers of independent code: both are printed, and by how many standard
errors they differ.

    snakemake --cores all --configfile config/studies/judged.yaml
    python benchmarks/judged.py [--results results/judged]

NDCG@10 of queries never visited, after so many rounds of one grade or so many lists, and what a
start from 30 lists earns over the first 1,000 rounds, less the cold learner's. Settings are chosen
on tuning seeds here, the independent code's LinUCB is untuned. The independent code leaves out
queries without a relevant document, whose NDCG is 0 here: on MQ2008 our means are divided by the
share of its queries that have one. Last, the time of a round of a start that is chosen, in rounds
of LinUCB.

Measured on the study of 24 seeds: cold, human and wrong judges within 2.5 standard errors, of 29
numbers, on the simulated stream; leaning judges are apart, since cues are others: here a direction
of all features that tells nothing of grades, which hurts less the more features there are.
"""

import argparse
import time
from math import hypot, nan
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from scant.data.stream import Stream
from scant.randomness import generator
from scant.rankers.play import play
from scant.rankers.ridge import Ridge

NUMBERS = (1, 3, 10, 30, 100, 300)
# of the independent code: the mean and its standard error, NaN where none is told
COLD = {
    ("linear", 10): (0.3132, 0.0152),
    ("linear", 30): (0.4322, 0.0126),
    ("linear", 100): (0.5520, 0.0089),
    ("linear", 300): (0.6330, 0.0035),
    ("linear", 1000): (0.6752, 0.0011),
    ("linear", 3000): (0.6838, 0.0014),
    ("mq2008", 10): (0.5662, nan),
    ("mq2008", 30): (0.5923, nan),
    ("mq2008", 100): (0.6355, nan),
    ("mq2008", 300): (0.6670, nan),
    ("mq2008", 1000): (0.6828, nan),
    ("mq2008", 3000): (0.6850, nan),
}
LISTS = {  # after these numbers of lists
    ("linear", "human"): dict(
        zip(NUMBERS, (0.4226, 0.5475, 0.6366, 0.6733, 0.6883, 0.6923), strict=True)
    ),
    ("linear", "30% wrong"): dict(
        zip(NUMBERS, (0.4013, 0.5173, 0.6181, 0.6657, 0.6861, 0.6914), strict=True)
    ),
    ("linear", "leans 1 sd"): dict(
        zip(NUMBERS, (0.3781, 0.4334, 0.4466, 0.4505, 0.4505, 0.4500), strict=True)
    ),
    ("mq2008", "human"): dict(
        zip(NUMBERS, (0.5934, 0.6605, 0.6627, 0.6706, 0.6866, 0.6951), strict=True)
    ),
    ("mq2008", "leans 1 sd"): dict(
        zip(NUMBERS, (0.567, 0.575, 0.561, 0.561, 0.562, 0.563), strict=True)
    ),
}
WORTH = {  # rounds of ten human lists, and of thirty
    "linear": (330, 960),
    "digits": (180, 570),
    "mq2008": (260, 390),
}
START = {  # trusted, chosen
    ("linear", "human"): (0.052, 0.044),
    ("linear", "30% wrong"): (0.047, 0.041),
    ("linear", "leans 0.5 sd"): (-0.007, 0.020),
    ("linear", "leans 1 sd"): (-0.092, 0.000),
    ("digits", "human"): (0.032, 0.033),
    ("digits", "30% wrong"): (-0.014, -0.002),
    ("digits", "leans 0.5 sd"): (-0.067, -0.027),
    ("digits", "leans 1 sd"): (-0.359, 0.001),
    ("mq2008", "human"): (-0.002, -0.001),
    ("mq2008", "leans 1 sd"): (-0.034, -0.002),
}


RELEVANT = {"mq2008": 564 / 784}  # the share of queries with a relevant document


def line(what: str, known: float, error: float, mean: float, low: float, n: int) -> None:
    share = RELEVANT.get(what.partition(",")[0], 1)
    own, mean = (mean - low) / stats.t.ppf(0.975, n - 1) / share, mean / share
    off = (mean - known) / hypot(own, own if np.isnan(error) else error)
    print(f"{what:34} {known:8.4f} {mean:8.4f} ({own:.4f})  {off:+5.1f}")


def timed() -> None:
    """Print the time of a round of LinUCB, and of a start that is chosen."""
    random, rounds = np.random.default_rng(1), 4000
    x, grades = random.random((40 * 300, 50), np.float32), random.integers(0, 5, 40 * 300)
    ones = np.ones(300)
    metadata = {"features": 50, "largest_grade": 4, "largest_query": 40}
    stream = Stream(
        x,
        np.arange(0, 40 * 300 + 1, 40),
        grades.astype(np.int16),
        np.full(300, 30, np.int32),
        ones,
        ones,
        np.arange(300),
        metadata,
    )
    for array in (stream.features, stream.offsets, stream.grades, stream.relevant):
        array.flags.writeable = False
    queries, seconds = random.integers(30, 300, rounds), {}
    for start in ({}, {"start": "chosen", "lists": 30}):
        for _ in range(3):  # the first compiles
            ranker = Ridge.from_study(
                {"explore": "ucb", "alpha": 1.0} | start, {}, metadata, 1.0, generator(1, "noise")
            )
            if start:
                ranker.start_from(stream[q] for q in range(30))
            begun = time.process_time()
            play(stream, queries, ranker)
            seconds[len(start)] = time.process_time() - begun
    cold, chosen = seconds.values()
    print(f"a round: LinUCB {1000 * cold / rounds:.4f} ms, chosen {chosen / cold:.2f} of it (3.5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results/judged"))
    args = parser.parse_args()
    print(f"{'':34} {'known':>8} {'ours':>8} (s. e.)   s. e. apart")
    points = pd.read_csv(args.results / "figures/figure-worth.csv")
    cold = points[(points["part"] == "worth") & (points["line"] == "none")]
    for (stream, rounds), (known, error) in COLD.items():
        near = cold[cold["stream"] == stream]
        [row] = near.iloc[(near["grades"] - rounds).abs().argsort()[:1]].itertuples()
        line(f"{stream}, cold, {row.grades:.0f} rounds", known, error, row.mean, row.low, row.n)
    table = pd.read_csv(args.results / "tables/judged.csv")
    table = table[table["rounds"] == 3000].drop_duplicates(["stream", "learner"])
    for (stream, judge), lists in LISTS.items():
        for number, known in lists.items():
            what = {"stream": stream, "judged_by": judge, "lists": number, "start": "alone"}
            for row in table.loc[(table[[*what]] == pd.Series(what)).all(axis=1)].itertuples():
                name = f"{stream}, {judge}, {number} lists"
                line(name, known, nan, row.unvisited, row.unvisited_low, row.ok)
    human = table[(table["judged_by"] == "human") & (table["start"] == "alone")]
    for stream, values in WORTH.items():
        for number, known in zip((10, 30), values, strict=True):
            rows = human[(human["stream"] == stream) & (human["lists"] == number)]
            for row in rows.itertuples():
                name = f"{stream}, worth of {number} lists"
                print(f"{name:34} {known:8.0f} {row.worth:8.0f}  median {row.worth_median:.0f}")
    for (stream, judge), values in START.items():
        for start, known in zip(("trusted", "chosen"), values, strict=True):
            what = {"stream": stream, "judged_by": judge, "lists": 30, "start": start}
            for row in table.loc[(table[[*what]] == pd.Series(what)).all(axis=1)].itertuples():
                line(f"{stream}, {start}, {judge}", known, nan, row.first, row.first_low, row.ok)
    timed()


if __name__ == "__main__":
    main()
