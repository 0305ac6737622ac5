"""Time the scorers of ads: pair SGD beside scikit-learn's, forests, and one repeat of figure 5.1.

    python benchmarks/ads_scorers.py [--rows 7797 --features 617 --classes 26]

One thread. Targets: 10^6 steps on pairs in 0.2 s at d = 617 and in 0.05 s at d = 16. Scikit-learn gets pairs sampled
and subtracted beforehand, which is not counted. The data are drawn, in the sizes of UCI's sets; a repeat of figure 5.1
is 70 % training, four lambdas, three kinds, without under-sampling and with 1:2 (the ranker's models serve for both),
and judging each model on the test. Times vary between machines and minutes.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from rounds import best

from scant.ads.learners import made
from scant.ads.scorers import Settings, fit_grid
from scant.data.logs import Log
from scant.randomness import generator

SETS = {  # rows, features, classes (Table 5.1)
    "optdigits": (5620, 64, 10),
    "isolet": (7797, 617, 26),
    "letter": (20000, 16, 26),
    "pendigits": (10992, 16, 10),
    "movement_libras": (360, 90, 15),
}
PAIRS = 1_000_000
BLOCK = 50_000  # of scikit-learn's presampled pairs, to spare memory


def examples(rows: int, d: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    random = generator(0, "examples", rows, d)
    clicked = random.random(rows) < rate
    clicked[:2] = True, False
    return (random.standard_normal((rows, d)) + 0.3 * clicked[:, None]).astype(np.float32), clicked


def scikit_learn(features: np.ndarray, clicked: np.ndarray) -> float:
    """Seconds of 10^6 steps of SGDClassifier on the differences of pairs, each with a random sign."""
    from sklearn.linear_model import SGDClassifier

    random = generator(0, "pairs")
    learner = SGDClassifier(loss="log_loss", alpha=0.01, fit_intercept=False, shuffle=False, average=True)
    sign = random.choice([-1, 1], BLOCK)
    x = (
        features[random.choice(np.flatnonzero(clicked), BLOCK)]
        - features[random.choice(np.flatnonzero(~clicked), BLOCK)]
    )
    x = np.ascontiguousarray(x * sign[:, None], np.float32)
    learner.partial_fit(x, sign, classes=[-1, 1])
    start = time.perf_counter()
    for _ in range(PAIRS // BLOCK):
        learner.partial_fit(x, sign)
    return time.perf_counter() - start


def bandit(rows: int, d: int, classes: int) -> tuple[Log, np.ndarray, np.ndarray]:
    """A training log and a test of drawn data, converted as in 5.5.1."""
    random = generator(0, "bandit", rows, d, classes)
    label = random.integers(0, classes, rows)
    x = (random.standard_normal((classes, d))[label] + 2 * random.standard_normal((rows, d))).astype(np.float32)
    n = int(0.7 * rows)
    shown = random.integers(0, classes, n, np.int32)
    log = Log(
        x[:n], shown, (shown == label[:n]).astype(float), np.full(n, 1 / classes), tuple(map(str, range(classes))),
        tuple(map(str, range(d))),
    )  # fmt: skip
    return log, x[n:], label[n:]


def repeat(rows: int, d: int, classes: int) -> dict[str, tuple[float, float]]:
    """Seconds, and the best CTR on the test, of each part of one repeat of figure 5.1."""
    log, x, label = bandit(rows, d, classes)
    parts = {}
    for kind, ratios in (("logistic", (None, 2)), ("forest", (None, 2)), ("auc-ranker", (None,))):
        for ratio in ratios:
            start = time.perf_counter()
            models = fit_grid(kind, log, generator(0, kind), settings=replace(Settings(), undersample=ratio))
            distinct = {id(model): model for model in models.values()}
            ctr = max(np.mean(model.best(x) == label) for model in distinct.values())
            parts[f"{kind}, {'1:2' if ratio else 'all'}"] = time.perf_counter() - start, ctr
    return parts


def fitted(kind: str, features: np.ndarray, clicked: np.ndarray, **options):
    model = made(kind, 0.01, options)
    model.fit(features, clicked, generator(0))
    return model


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--rows", type=int, help="one set of one's own in place of those of figure 5.1")
    arguments.add_argument("--features", type=int, default=617)
    arguments.add_argument("--classes", type=int, default=26)
    chosen = arguments.parse_args()

    print(
        "seconds of 10^6 steps                  pairs, logistic   pairs, hinge   single examples   scikit-learn, pairs"
    )
    for rows, d in ((210, 617), (540, 16), (40_000, 16)):
        x, clicked = examples(rows, d, 0.05)
        times = [
            best(lambda kind=kind, x=x, y=clicked, options=options: fitted(kind, x, y, **options), 3)
            for kind, options in (("auc-ranker", {}), ("auc-ranker", {"pair_loss": "hinge"}), ("logistic", {}))
        ]
        peer = scikit_learn(x, clicked)
        print(f"  {rows:6} rows, d = {d:4} {times[0]:24.3f} {times[1]:14.3f} {times[2]:17.3f} {peer:21.2f}")

    print("seconds of a forest of 200 trees       training   10,000 scores")
    for rows, d in ((210, 617), (540, 16), (10_000, 16)):
        x, clicked = examples(rows, d, 0.05)
        start = time.perf_counter()
        forest = fitted("forest", x, clicked)
        middle = time.perf_counter()
        forest.score(np.tile(x, (10_000 // rows + 1, 1))[:10_000])
        print(f"  {rows:6} rows, d = {d:4} {middle - start:21.3f} {time.perf_counter() - middle:15.3f}")

    sizes = {"one's own": (chosen.rows, chosen.features, chosen.classes)} if chosen.rows else SETS
    print("one repeat of figure 5.1: seconds (best CTR)")
    total = 0.0
    for name, size in sizes.items():
        parts = repeat(*size)
        total += (seconds := sum(spent for spent, _ in parts.values()))
        listed = ", ".join(f"{part} {spent:.1f} ({ctr:.3f})" for part, (spent, ctr) in parts.items())
        print(f"  {name:16} {seconds:6.1f}: {listed}", flush=True)
    print(f"  {'all':16} {total:6.1f}; ten repeats on two cores: {total * 10 / 2 / 60:.1f} min")


if __name__ == "__main__":
    main()
