"""How often `scant ads` says that propensities are wrong: of right logs (false alarms), and of wrong ones.

    python benchmarks/ads_propensities.py [--repeats 1000] [--seed 0]

Right logs show ads alike; by the user (a softmax of features, mixed with chance); nearly always one ad ("peaky", 98 %);
or alike those ads that a visit can get, each of them half of the time. At most 1 % of these may raise an alarm. Wrong
logs say that all ads are shown alike though one has more (by 2, 5 or 10 %), or give each ad's share of all rows though
users of two kinds see an ad more or less often by this much. The test is `scant.advice.showings.problem`.
"""

import argparse
from itertools import product

import numpy as np

from scant.advice import showings
from scant.advice.showings import BLOCKS, Groups, Showings
from scant.data.visits import Visits
from scant.randomness import generator

RIGHT = ("alike", "by user", "peaky", "not every ad")
WRONG = tuple(product(("one more", "by kind"), (0.02, 0.05, 0.1)))
ROWS, ADS, FEATURES = (20, 100, 1000, 10_000), (2, 6, 20), 5


def right(kind: str, features: np.ndarray, ads: int, random) -> np.ndarray:
    """Propensities, float64 (rows x ads)."""
    rows = len(features)
    if kind == "by user":
        shares = np.exp(features @ random.standard_normal((FEATURES, ads)))
        return 0.9 * shares / shares.sum(axis=1, keepdims=True) + 0.1 / ads
    if kind == "peaky":
        shares = np.full((rows, ads), 0.02 / (ads - 1))
        shares[np.arange(rows), random.integers(ads, size=rows)] = 0.98
        return shares
    if kind == "not every ad":
        shares = (random.random((rows, ads)) < 0.5) | (np.arange(ads) == random.integers(ads, size=(rows, 1)))
        return shares / shares.sum(axis=1, keepdims=True)
    return np.full((rows, ads), 1 / ads)


def wrong(kind: str, by: float, features: np.ndarray, ads: int) -> tuple[np.ndarray, np.ndarray]:
    """True and logged propensities, float64 (rows x ads) each."""
    logged = np.full((len(features), ads), 1 / ads)
    sign = 1 if kind == "one more" else np.where(features[:, 0] > 0, 1, -1)
    truly = logged.copy()
    truly[:, 0] *= 1 + by * sign
    truly[:, 1:] = ((1 - truly[:, 0]) / (ads - 1))[:, None]
    return truly, logged


def alarm(features: np.ndarray, truly: np.ndarray, logged: np.ndarray, random) -> bool:
    """Whether a log drawn by true propensities is said to have wrong ones."""
    rows = len(features)
    action = (truly.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1).astype(np.int32)
    names, ads = tuple(f"x{at}" for at in range(FEATURES)), tuple(map(str, range(truly.shape[1])))
    log = Visits(features, action, np.zeros(rows), logged[np.arange(rows), action], ads, names)
    found = Showings(Groups.of([log]))
    found.add(log, np.arange(rows) * BLOCKS // rows)
    return showings.problem(found) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{'propensities':<20} {'ads':>4} {'rows':>8}  alarms, %")
    cases = [(kind, 0.0, ads, rows) for kind in RIGHT for ads in ADS for rows in ROWS]
    cases += [(kind, by, 6, rows) for kind, by in WRONG for rows in (10_000, 100_000)]
    for kind, by, ads, rows in cases:
        random, repeats = generator(arguments.seed, "benchmark", kind, by, ads, rows), arguments.repeats
        repeats = max(1, repeats // 10) if by else repeats
        alarms = 0
        for _ in range(repeats):
            features = random.standard_normal((rows, FEATURES)).astype(np.float32)
            if by:
                truly, logged = wrong(kind, by, features, ads)
            else:
                truly = logged = right(kind, features, ads, random)
            alarms += alarm(features, truly, logged, random)
        name = f"{kind}, {100 * by:g} %" if by else kind
        print(f"{name:<20} {ads:>4} {rows:>8,}  {100 * alarms / repeats:.1f}", flush=True)


if __name__ == "__main__":
    main()
