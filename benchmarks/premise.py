"""Measure how often verdicts are false in worlds that the premise of t, seeds near normal, does not
hold in.

    python benchmarks/premise.py [--studies 1000]

The first table has single claims (`greater`, level 0.95) exactly on their margin, so that every
verdict on them is false: its percentage, with so many seeds, and, after the slash, that of the
verdicts with the mark "whatever seeds are like". Differences are between -1 and 1, and hardly ever
equal.

The second has families of twelve claims. Each has an effect (mean over standard deviation) drawn
from those that the tracked studies see, `EFFECTS`, and a spread of 0.02. Some claims are bistable:
one seed in ten, or in fifty, is on the other side by a reach of 0.1, 0.3 or 0.98, so that the mean
may be there, too. `false` is the percentage of families with any false verdict, `right` that of
claims that are decided rightly, `marked` that of claims whose verdict has the mark, and `wrong`
that of families in which a marked verdict is false.
"""

import argparse

import numpy as np

from scant.randomness import generator
from scant.verdict import anytime
from scant.verdict.statistics import LEVEL, Verdict, claimed, holm, judge

SEEDS = (8, 12, 16, 30)
SPREAD = 0.02
SHARES, REACHES = (0.1, 0.02), (0.1, 0.3, 0.98)
# Deciles, and the middles of the outer ones, of the effects on NDCG and CTR of the default study's
# cells.
EFFECTS = (0.3, 0.9, 1.5, 2.6, 3.5, 4.6, 6.2, 9.0, 15.0, 42.0, 67.0, 117.0)
FARTHEST = 0.5  # means are no further from the margin


def rare(share: float, reach: float):
    """Draws of which a share is `reach` above the rest; their mean is 0."""

    def draws(random, shape):
        far = random.random(shape) < share
        return reach * (far - share) + SPREAD * random.standard_normal(shape)

    return draws


def lognormal(random, shape):
    """Draws whose logarithms have the standard deviation 1/2; their mean is 0."""
    return SPREAD * (np.exp(random.normal(0, 0.5, shape)) - np.exp(1 / 8))


WORLDS = {
    "normal": lambda random, shape: SPREAD * random.standard_normal(shape),
    "skewed: lognormal, sigma 1/2": lambda random, shape: (
        SPREAD * (np.exp(random.normal(0, 0.5, shape)) - np.exp(1 / 8))
    ),
    "skewed: exponential": lambda random, shape: SPREAD * (random.exponential(size=shape) - 1),
    "two points, 50/50": rare(0.5, 0.2),
    "two points, 30/70": rare(0.3, 0.2),
    **{
        f"one in {1 / share:.0f}, {reach} away": rare(share, reach)
        for share in SHARES
        for reach in REACHES
    },
}


def marked(verdict: Verdict) -> bool:
    """Whether a verdict is so whatever seeds are like."""
    return verdict.verdict != "undecided" and verdict.missed <= 1 - LEVEL


def false(world: str, seeds: int, studies: int) -> tuple[float, float]:
    """The shares of studies with a false verdict on a claim on its margin, and with one that is
    marked.
    """
    drawn = np.clip(WORLDS[world](generator(0, "premise", world), (studies, seeds)), -1, 1)
    verdicts = [judge(row, claimed("greater"), within=(-1.0, 1.0)) for row in drawn]
    decided = np.mean([verdict.verdict != "undecided" for verdict in verdicts])
    return float(decided), float(np.mean(list(map(marked, verdicts))))


def family(
    seeds: int, bistable: float, random: np.random.Generator
) -> tuple[dict[int, np.ndarray], list[bool]]:
    """The differences of a family of twelve claims, and which of their true means are above the
    margin.
    """
    drawn, true = {}, []
    for claim in range(12):
        mean = min(SPREAD * random.choice(EFFECTS), FARTHEST)
        share, reach = random.choice(SHARES), random.choice(REACHES)
        if random.random() >= bistable:
            share = 0.0
        sign = random.choice((-1, 1))
        far = random.random(seeds) < share
        values = mean - reach * far + SPREAD * random.standard_normal(seeds)
        drawn[claim] = np.clip(sign * values, -1, 1)
        true.append(bool(sign * (mean - share * reach) > 0))
    return drawn, true


def rates(seeds: int, bistable: float, studies: int) -> tuple[float, float, float, float]:
    """`false`, `right`, `marked` and `wrong`, see the head of this file, as shares."""
    random = generator(0, "families", seeds, bistable)
    outcomes = []
    for _ in range(studies):
        drawn, true = family(seeds, bistable, random)
        single = {
            at: judge(values, claimed("greater"), within=(-1.0, 1.0))
            for at, values in drawn.items()
        }
        verdicts = holm(single)
        right = [
            verdicts[at].verdict == ("holds" if above else "fails") for at, above in enumerate(true)
        ]
        decided = [verdict.verdict != "undecided" for verdict in verdicts.values()]
        with_mark = [marked(verdict) for verdict in verdicts.values()]
        wrong = np.array(decided) & ~np.array(right)
        outcomes.append(
            (wrong.any(), np.mean(right), np.mean(with_mark), (wrong & np.array(with_mark)).any())
        )
    return tuple(map(float, np.mean(outcomes, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--studies", type=int, default=1000, help="studies, or families, of each kind"
    )
    asked = parser.parse_args()
    anytime.LEAST_SEEDS = SEEDS[0]  # to see what fewer would do
    print(f"{'on the margin, false / marked, %':34} {' '.join(f'{n:>12}' for n in SEEDS)}")
    for world in WORLDS:
        shares = [false(world, seeds, asked.studies) for seeds in SEEDS]
        print(
            (
                f"{world:34} "
                f"{' '.join(f'{100 * one:5.1f} / {100 * mark:4.1f}' for one, mark in shares)}"
            ),
            flush=True,
        )
    print(
        f"\n{'families of twelve, %':34} {'seeds':>6} {'false':>6} {'right':>6} {'marked':>6} "
        f"{'wrong':>6}"
    )
    for bistable in (0.0, 0.1, 0.3):
        for seeds in SEEDS:
            shares = " ".join(
                f"{100 * share:6.1f}" for share in rates(seeds, bistable, asked.studies)
            )
            print(f"{f'{bistable:.0%} bistable':34} {seeds:6} {shares}", flush=True)


if __name__ == "__main__":
    main()
