"""Measure how often verdicts are false, and how often they are reached, over simulated studies.

    python benchmarks/verdicts.py [--studies 1000] [--effect 1.5] [--test "sign flips"]

A study is a family of nine claims, judged and adjusted by Holm's method: three of each comparison, of which one is
true, one false, and one undecidable, its true mean exactly on the margin. True and false ones are off by `effect`
standard deviations of the paired differences. Differences hang together, for a claim's learner is compared with a
baseline that all claims of the study share, on the same seeds. In studies of the second kind, `at margin`, all nine
claims are undecidable.

`false` is the share of studies with any false `holds` or `fails`, `holds` on the margin included; 5 % is promised where
the test is exact, and up to 6.4 % is within what 1,000 studies of that rate give. `power` is the share of true and
false claims that get their verdict, `needed` the median of the seeds that the rest are said to need. The last noise is
one for which neither test is made: its rates say what that costs.
"""

import argparse

import numpy as np

from scant.randomness import generator
from scant.verdict.statistics import holm, judge

LEVEL = 0.95
SEEDS = (3, 5, 10, 30)
SETTINGS = {"greater": {}, "close": {"margin": 3.0}, "slope": {"bound": 0.5}}
MARGIN = {"greater": 0.0, "close": 3.0, "slope": 0.5}  # the end of what is claimed that the planted means are about
INWARDS = {"greater": 1, "close": -1, "slope": -1}
TRUTHS = {"holds": 1, "fails": -1, "undecided": 0}
CLAIMS = tuple((comparison, truth) for comparison in SETTINGS for truth in TRUTHS)
BASELINE = 0.5  # spread of the baseline's scores over seeds, in units of that of a learner's


def scores(noise: str, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Scores with mean 0 and variance 1."""
    if noise == "normal":
        return random.standard_normal(shape)
    if noise == "discrete":
        return random.integers(-2, 3, shape) / np.sqrt(2)
    return random.exponential(size=shape) - 1


NOISES = {"normal": BASELINE, "skewed": BASELINE, "discrete": BASELINE, "exponential": 0.0}


def study(noise: str, seeds: int, effect: float, random: np.random.Generator, test: str | None = None) -> dict:
    """The verdicts of one simulated study, by comparison and by what was planted."""
    own = scores(noise, random, (len(CLAIMS), seeds))
    baseline = NOISES[noise] * scores(noise, random, (seeds,))
    differences = (own - baseline) / np.hypot(1, NOISES[noise])
    verdicts = {}
    for at, (comparison, truth) in enumerate(CLAIMS):
        mean = MARGIN[comparison] + INWARDS[comparison] * TRUTHS[truth] * effect
        verdicts[comparison, truth] = judge(
            differences[at] + mean, comparison, level=LEVEL, test=test, **SETTINGS[comparison]
        )
    return holm({"claims": verdicts})["claims"]


def rates(noise: str, seeds: int, studies: int, effect: float, test: str | None = None) -> tuple[float, float, float]:
    """Shares of studies with a false verdict and of decidable claims decided; the median of the seeds needed.

    With an effect of 0, every claim is undecidable.
    """
    random = generator(0, "verdicts", noise, seeds, effect)
    false, right, needed = 0, [], []
    for _ in range(studies):
        verdicts = study(noise, seeds, effect, random, test)
        planted = {key: key[1] if effect else "undecided" for key in verdicts}
        false += any(one.verdict not in ("undecided", planted[key]) for key, one in verdicts.items())
        decidable = [key for key in verdicts if planted[key] != "undecided"]
        right += [verdicts[key].verdict == planted[key] for key in decidable]
        needed += [verdicts[key].needed for key in decidable if verdicts[key].verdict == "undecided"]
    return false / studies, np.mean(right) if right else np.nan, np.median(needed) if needed else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=1000, help="studies of each kind")
    parser.add_argument("--effect", type=float, default=1.5, help="of true and false claims, in standard deviations")
    parser.add_argument("--test", choices=("t", "sign flips"), help="the test that every claim names")
    asked = parser.parse_args()
    print(f"{'noise':12} {'seeds':>5} {'false':>7} {'power':>7} {'needed':>7} {'false, at margin':>17}")
    for noise in NOISES:
        for seeds in SEEDS:
            false, power, needed = rates(noise, seeds, asked.studies, asked.effect, asked.test)
            margin = rates(noise, seeds, asked.studies, 0.0, asked.test)[0]
            print(f"{noise:12} {seeds:5} {false:7.1%} {power:7.1%} {needed:7.0f} {margin:17.1%}", flush=True)


if __name__ == "__main__":
    main()
