"""Measure how often t decides falsely in worlds that its premise, seeds near normal, does not hold in.

    python benchmarks/premise.py [--studies 2000]

A study is a single claim (`greater`, level 0.95) exactly on its margin, so that every verdict on it is false. It has 5,
8, 10, 20, 50 or 100 seeds; `looked at` is the share of studies that have a false verdict at any of these numbers. In
each world differences have mean 0, are between -1 and 1, and hardly ever equal. Its rows are:

    t              t alone, from 5 seeds on: as where the range is not known, but for `anytime.LEAST_SEEDS`
    t, 37, 14, 5 % t where the range is known, and seeds at its far end that overturn the verdict are missing with at
                   most this probability (`statistics.judge` has that of 1 - level, 5 %)
    bets           what bets say where the range is known

Two choices rest on this table. How few seeds may decide, `anytime.LEAST_SEEDS`, is the least number at which t alone
has at most 5 % in worlds without rare values: normal, even odds, skewed, correlated by 0.3. How alike they may be is
the largest of the probabilities that leaves at most 5 % in every world of independent seeds, whatever their number.
"""

import argparse
import math
from collections.abc import Iterator

import numpy as np

from scant.randomness import generator
from scant.verdict import anytime
from scant.verdict.statistics import judge

SEEDS = (5, 8, 10, 20, 50, 100)
MISSED = (math.exp(-1), math.exp(-2), 0.05)
SPREAD = 0.1


def dependent(correlation: float):
    """Normal draws of which each has this correlation with the one before it."""

    def draws(random, shape):
        drawn = random.standard_normal(shape)
        for at in range(1, shape[1]):
            drawn[:, at] = correlation * drawn[:, at - 1] + np.sqrt(1 - correlation**2) * drawn[:, at]
        return drawn

    return draws


def rare(share: float, reach: float = 1.0, spread: float = 0.01):
    """Draws near -share * reach, of which this share is `reach` above that."""

    def draws(random, shape):
        return reach * ((random.random(shape) < share) - share) + spread * random.standard_normal(shape)

    return draws


def two(share: float):
    """Draws near two values, one of which this share is near, with mean 0, in tenths."""
    return rare(share, 2 * SPREAD, 0.002)


def scaled(draws):
    """Draws in tenths."""
    return lambda random, shape: SPREAD * draws(random, shape)


WORLDS = {
    "normal": scaled(lambda random, shape: random.standard_normal(shape)),
    "two points, 50/50": two(0.5),
    "two points, 30/70": two(0.3),
    "two points, 10/90": two(0.1),
    "skewed: lognormal, sigma 1/2": scaled(lambda random, shape: np.exp(random.normal(0, 0.5, shape)) - np.exp(1 / 8)),
    "skewed: exponential": scaled(lambda random, shape: random.exponential(size=shape) - 1),
    "dependent, correlation 0.3": scaled(dependent(0.3)),
    "dependent, correlation 0.6": scaled(dependent(0.6)),
    "one in fifty +0.98, the rest near -0.02": rare(0.02),
    "the same, nearer: spread 0.001": rare(0.02, spread=0.001),
    "one in twenty +0.95, the rest near -0.05": rare(0.05),
    "one in ten +0.9, the rest near -0.1": rare(0.1),
    "one in fifty 0.3 above the rest": rare(0.02, 0.3),
    "one in ten 0.3 above the rest": rare(0.1, 0.3),
}


def false(world: str, studies: int) -> Iterator[tuple[str, np.ndarray]]:
    """For each rule the share of studies with a false verdict at each of `SEEDS`, and at any of them."""
    drawn = np.clip(WORLDS[world](generator(0, "premise", world), (studies, SEEDS[-1])), -1, 1)
    names = ["t", *(f"t, {missed:.0%}" for missed in MISSED), "bets"]
    decided = np.zeros((len(names), studies, len(SEEDS)), bool)
    for study, row in enumerate(drawn):
        for at, n in enumerate(SEEDS):
            verdict = judge(row[:n], "greater", within=(-1.0, 1.0), share=False)
            by_t, withheld = verdict.verdict != "undecided", not math.isnan(verdict.overturned)
            unseen = (1 - verdict.overturned) ** n
            at_most = [by_t or (withheld and unseen <= missed) for missed in MISSED]
            decided[:, study, at] = by_t or withheld, *at_most, verdict.bets.verdict != "undecided"
    shares = np.column_stack([decided.mean(axis=1), decided.any(axis=2).mean(axis=1)])
    yield from zip(names, shares, strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=2000, help="studies of each world")
    asked = parser.parse_args()
    anytime.LEAST_SEEDS = SEEDS[0]  # to see what fewer would do
    print(f"{'world':42} {'rule':8} {' '.join(f'{n:>6}' for n in SEEDS)} {'looked at':>9}")
    for world in WORLDS:
        for rule, shares in false(world, asked.studies):
            print(
                f"{world:42} {rule:8} {' '.join(f'{share:6.1%}' for share in shares[:-1])} {shares[-1]:9.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
