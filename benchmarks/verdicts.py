"""Measure how often verdicts are false, and how often they are reached, over simulated studies.

    python benchmarks/verdicts.py [--studies 1000] [--effect 1.5]

A study is a family of nine claims, judged and adjusted by Holm's method: three of each comparison,
of which one is true, one false, and one undecidable, its true mean exactly on the margin. True and
false ones are off by `effect` standard deviations of the paired differences. Differences hang
together, for a claim's learner is compared with a baseline that all claims of the study share, on
the same seeds. In studies of the second kind, `on the margin`, all nine claims are undecidable.
Shares, of 0 and 1, are off by 0.18 and 0.3 instead.

A study has a fixed number of seeds, or it is looked at again and again while seeds are added
(`looking`), and each claim keeps the first verdict that it gets.

`false` is the share of studies with any false `holds` or `fails`, `holds` on the margin included; 5
% is promised where the test's assumption holds, and up to 6.4 % is within what 1,000 studies of
that rate give. `right` is the share of true and false claims that get their verdict, `seeds` the
median of how many these had by then. The exponential noise is one for which no test of means is
made: its rates say what that costs. benchmarks/premise.py has single claims in worlds that are
further from normal.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from scant.randomness import generator
from scant.verdict.statistics import claimed, holm, judge

SEEDS = ((12,), (16,), (30,))
# how many seeds there are when a study is looked at
LOOKS = (12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
SETTINGS = {"greater": {}, "close": {"margin": 3.0}, "slope": {"bound": 0.5}}
# the end of what is claimed that the planted means are about
MARGIN = {"greater": 0.0, "close": 3.0, "slope": 0.5}
INWARDS = {"greater": 1, "close": -1, "slope": -1}
TRUTHS = {"holds": 1, "fails": -1, "undecided": 0}
CLAIMS = tuple((comparison, truth) for comparison in SETTINGS for truth in TRUTHS)
BASELINE = 0.5  # spread of the baseline's scores over seeds, in units of that of a learner's
NOISES = {
    "normal": BASELINE,
    "discrete": BASELINE,
    "skewed": BASELINE,
    "0/1": BASELINE,
    "exponential": 0.0,
}
SHARE = 0.8  # that shares are compared with; `close` is within 0.1 of it
SHARE_SETTINGS = {"greater": {}, "close": {"margin": 0.1}, "slope": {"bound": 0.0}}
SHARES = {  # the true shares of claims
    "greater": {"holds": 0.98, "fails": 0.5, "undecided": 0.8},
    "close": {"holds": 0.8, "fails": 0.5, "undecided": 0.9},
    "slope": {"holds": 0.5, "fails": 0.98, "undecided": 0.8},
}


def scores(noise: str, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Scores with mean 0 and variance 1; normal ones for shares, which are cut from these."""
    if noise in ("normal", "0/1"):
        return random.standard_normal(shape)
    if noise == "discrete":
        return random.integers(-2, 3, shape) / np.sqrt(2)
    return random.exponential(size=shape) - 1


def differences(
    noise: str, seeds: int, effect: float, random: np.random.Generator
) -> list[np.ndarray]:
    """The paired differences of each of `CLAIMS`, by seed.

    With an effect of 0, every claim is undecidable.
    """
    from scipy import special

    own = scores(noise, random, (len(CLAIMS), seeds))
    baseline = NOISES[noise] * scores(noise, random, (seeds,))
    mixed = (own - baseline) / np.hypot(1, NOISES[noise])
    if noise == "0/1":
        true = [
            SHARES[comparison][truth if effect else "undecided"] for comparison, truth in CLAIMS
        ]
        return [
            (row < special.ndtri(share)) - SHARE for row, share in zip(mixed, true, strict=True)
        ]
    means = [
        MARGIN[comparison] + INWARDS[comparison] * TRUTHS[truth] * effect
        for comparison, truth in CLAIMS
    ]
    return [row + mean for row, mean in zip(mixed, means, strict=True)]


def study(noise: str, looks: Sequence[int], effect: float, random: np.random.Generator) -> dict:
    """The first verdict that each claim of one simulated study gets, with how many seeds;
    "undecided" if it gets none.

    looks : the numbers of seeds at which the study is looked at
    """
    drawn, within = differences(noise, looks[-1], effect, random), None
    settings = SETTINGS
    if noise == "0/1":
        settings, within = SHARE_SETTINGS, (-SHARE, 1 - SHARE)
    found = dict.fromkeys(CLAIMS, ("undecided", looks[-1]))
    for seeds in looks:
        verdicts = {
            claim: judge(
                row[:seeds],
                claimed(claim[0], **settings[claim[0]]),
                within,
                within is not None,
            )
            for claim, row in zip(CLAIMS, drawn, strict=True)
        }
        for claim, verdict in holm(verdicts).items():
            if found[claim][0] == "undecided":
                found[claim] = verdict.verdict, seeds
        if all(verdict != "undecided" for verdict, _ in found.values()):
            break
    return found


def rates(
    noise: str, looks: Sequence[int], studies: int, effect: float
) -> tuple[float, float, float]:
    """Shares of studies with a false verdict and of decidable claims decided; the median of the
    seeds these had.
    """
    random = generator(0, "verdicts", noise, str(looks), effect)
    false, right, seeds = 0, [], []
    for _ in range(studies):
        found = study(noise, looks, effect, random)
        planted = {claim: claim[1] if effect else "undecided" for claim in found}
        false += any(
            verdict not in ("undecided", planted[claim]) for claim, (verdict, _) in found.items()
        )
        decidable = [claim for claim in found if planted[claim] != "undecided"]
        right += [found[claim][0] == planted[claim] for claim in decidable]
        seeds += [found[claim][1] for claim in decidable if found[claim][0] == planted[claim]]
    return (
        false / studies,
        np.mean(right) if right else np.nan,
        np.median(seeds) if seeds else np.nan,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=1000, help="studies of each kind")
    parser.add_argument(
        "--effect",
        type=float,
        default=1.5,
        help="of true and false claims, in standard deviations",
    )
    asked = parser.parse_args()
    print(
        "{:12} {:>8} {:>7} {:>14} {:>7} {:>6}".format(
            "noise", "seeds", "false", "on the margin", "right", "seeds"
        )
    )
    for noise in NOISES:
        for looks in (*SEEDS, LOOKS):
            said = "looking" if len(looks) > 1 else looks[0]
            false, right, seeds = rates(noise, looks, asked.studies, asked.effect)
            margin = rates(noise, looks, asked.studies, 0.0)[0]
            print(
                f"{noise:12} {said:>8} {false:7.1%} {margin:14.1%} {right:7.1%} {seeds:6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
