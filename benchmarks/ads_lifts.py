"""How often the interval of a lift fails, on simulated logs of today's policy: `scant_ads.evaluation.lifts`.

    python benchmarks/ads_lifts.py [--repeats 1000] [--seed 0]

Today's policy shows five ads alike. Rates are those of a campaign ("hotel", 7 % on average, or "bank", 0.3 %), once in
all rows and once rising to twice as much along the log. The policy shows one ad: always (one weight, so that the
interval is exact), with 10 % exploration (betting), or that with rewards from 0 to 1 in place of clicks. At 95 % each
end may fail in 2.5 % of logs.
"""

import argparse
from itertools import product

import numpy as np

from scant.randomness import generator
from scant_ads.evaluation import lifts, quotients
from scant_ads.reading.tally import Both

ADS, LEVEL = 5, 0.95
RATES = {"hotel": np.array([0.07, 0.09, 0.07, 0.07, 0.05]), "bank": np.array([0.0016, 0.0046, 0.0042, 0.0030, 0.0018])}
ROWS = {"hotel": (200, 2000, 20_000), "bank": (2000, 20_000)}
POLICIES = {"one weight": 0.0, "exploring": 0.1, "graded": 0.1}  # epsilon, by kind


def drawn(kind: str, rates: np.ndarray, rows: int, rising: bool, random) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights and rewards of a log, float64 (rows) each, and the largest weight possible."""
    ad, epsilon = random.integers(ADS, size=rows), POLICIES[kind]
    level = np.linspace(2 / 3, 4 / 3, rows) if rising else np.ones(rows)
    reward = (random.random(rows) < rates[ad] * level).astype(float)
    if kind == "graded":
        reward *= np.round(random.beta(1, 3, rows), 2)
    return ADS * np.where(ad == 1, 1 - epsilon, epsilon / (ADS - 1)), reward, ADS * (1 - epsilon)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{'rates':<14} {'policy':<11} {'rows':>7} {'too high, %':>12} {'too low, %':>11} {'width':>7}")
    for (name, rates), rising, kind in product(RATES.items(), (False, True), POLICIES):
        epsilon = POLICIES[kind]
        truth = ((1 - epsilon) * rates[1] + epsilon / (ADS - 1) * (rates.sum() - rates[1])) / rates.mean()
        for rows in ROWS[name]:
            random = generator(arguments.seed, "benchmark", "lifts", name, rising, kind, rows)
            low, high = [], []
            for _ in range(arguments.repeats):
                weight, reward, largest = drawn(kind, rates, rows, rising, random)
                cells, count = np.unique(np.stack([weight, reward]), axis=1, return_counts=True)
                if kind == "one weight":
                    bounds = lifts.single(*cells, count, largest, random)
                else:
                    both = Both(cells[0], np.ones(len(count)), cells[1], count, rows, fixed=True)
                    bounds = lifts.of_rows(quotients.ratio, both, (largest, 1.0), random)
                low.append(0.0 if bounds is None else bounds.lower((1 + LEVEL) / 2))
                high.append(largest if bounds is None else bounds.upper((1 + LEVEL) / 2))
            above, below = (100 * np.mean(fails) for fails in (np.array(low) > truth, np.array(high) < truth))
            told, width = name + (", rising" if rising else ""), np.mean(high) - np.mean(low)
            print(f"{told:<14} {kind:<11} {rows:>7,} {above:>12.1f} {below:>11.1f} {width:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
