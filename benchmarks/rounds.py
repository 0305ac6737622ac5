"""Time a round of each learner, compiled, beside a plain NumPy round and the reading of its
features from memory.

    python benchmarks/rounds.py [--megabytes 400]

One thread. Streams are larger than any cache and queries come in random order, as in a study. Every
round measures NDCG@10, NDCG and AP of the ranking shown. "X times inverse" is what all widths of
LinUCB cost: a product of the documents with the inverse matrix, in float64. Times vary between
machines and minutes: read the ratios.
"""

import argparse
import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in a job; before NumPy is imported

import numba
import numpy as np

from scant.data.stream import CUT, Stream, discounts, gains
from scant.kernels.pieces import ideal_dcg
from scant.rankers import learners as of_all_grades
from scant.rankers import top
from scant.rankers.play import play

# documents, features and rounds; the last two have the features of embeddings
SHAPES = (
    (120, 136, 20_000), (24, 700, 20_000), (20, 20, 20_000), (1000, 136, 20_000), (100, 384, 220),
    (100, 768, 220),
)  # fmt: skip
LEARNERS = top.LEARNERS | of_all_grades.LEARNERS


def stream(m: int, d: int, megabytes: float) -> Stream:
    """Queries of m documents and d features, grades 0 to 4, about half of them above 0."""
    queries = max(200, int(megabytes * 1e6 / (4 * m * d)))
    random = np.random.default_rng(0)
    features = random.random((queries * m, d), np.float32)
    grades = random.choice(5, queries * m, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(np.int16)
    rows = grades.reshape(queries, m)
    counts, g, places = np.empty(64, np.int64), gains(30), discounts(m)
    made = Stream(
        features,
        np.arange(0, queries * m + 1, m),
        grades,
        np.count_nonzero(rows, axis=1).astype(np.int32),
        np.array([ideal_dcg(row, m, g, places, counts) for row in rows]),
        np.array([ideal_dcg(row, CUT, g, places, counts) for row in rows]),
        np.arange(queries),
        {"largest_grade": 4, "largest_query": m, "features": d},
    )
    for array in (
        made.features,
        made.offsets,
        made.grades,
        made.relevant,
        made.ideal_dcg,
        made.ideal_dcg_at_cut,
    ):
        array.flags.writeable = False
    return made


@numba.njit(fastmath=True)
def touch(features, offsets, queries):
    """Read every feature of the queries, in their order: what memory alone costs."""
    total = np.float32(0)
    for q in queries:
        block = features[offsets[q] : offsets[q + 1]]
        for i in range(block.shape[0]):
            for j in range(block.shape[1]):
                total += block[i, j]
    return total


def numpy_rounds(made: Stream, queries, rate=0.1) -> None:
    """ListNet as one would write it: score, argsort, NDCG@10, AP, gradient, update."""
    w = np.zeros(made.features.shape[1])
    x64, discount = made.features, discounts(made.metadata["largest_query"])
    for t, q in enumerate(queries):
        x, grade = (
            x64[made.offsets[q] : made.offsets[q + 1]],
            made.grades[made.offsets[q] : made.offsets[q + 1]],
        )
        s = x @ w.astype(np.float32)
        ranked = grade[np.argsort(-s, kind="stable")]
        (2.0 ** ranked[:CUT] - 1) @ discount[:CUT] / made.ideal_dcg_at_cut[q]
        relevant = np.flatnonzero(ranked > 0)
        np.mean(np.arange(1, len(relevant) + 1) / (relevant + 1))
        p, target = np.exp(s - s.max()), np.exp(grade - grade.max(), dtype=np.float32)
        w -= rate / np.sqrt(t + 1) * (x.T @ (p / p.sum() - target / target.sum()))


def best(call, repeats: int = 5, clock=time.perf_counter) -> float:
    """The shortest of some runs, in seconds, after one that compiles.

    clock : `time.process_time` for processor time, which other work on the machine changes less
    """
    call()
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument(
        "--megabytes", type=float, default=400, help="size of each stream's features"
    )
    megabytes = arguments.parse_args().megabytes
    learners = {
        "ListNet": ({"kind": "listnet"}, 0.1),
        "SLAM (NDCG@10)": ({"kind": "slam"}, 0.01),
        "SLAM (AP)": ({"kind": "slam", "measure": "ap"}, 0.01),
        "max-hinge": ({"kind": "max-hinge"}, 0.01),
        "ridge, top 1": ({"kind": "ridge"}, 10.0),
        "LinUCB, top 1": ({"kind": "ridge", "explore": "ucb", "alpha": 1.0}, 10.0),
        "Random": ({"kind": "random"}, None),
    }
    print(f"{'m':>5} {'d':>4}  {'round':16} {'us':>7} {'x memory':>9} {'NumPy / it':>11}")
    for m, d, rounds in SHAPES:
        made = stream(m, d, megabytes)
        queries = np.random.default_rng(1).permutation(len(made))[:rounds]
        few = queries[: rounds // 10]
        floor = best(
            lambda made=made, queries=queries: touch(made.features, made.offsets, queries)
        ) / len(queries)
        plain = best(lambda made=made, few=few: numpy_rounds(made, few), 3) / len(few)
        print(f"{m:5} {d:4}  {'memory alone':16} {floor * 1e6:7.2f}")
        print(f"{m:5} {d:4}  {'NumPy ListNet':16} {plain * 1e6:7.2f} {plain / floor:9.1f}")
        x, inverse = np.random.default_rng(3).random((m, d + 1)), np.eye(d + 1)
        product = best(lambda x=x, inverse=inverse: [x @ inverse for _ in range(50)]) / 50
        print(f"{m:5} {d:4}  {'X times inverse':16} {product * 1e6:7.2f} {product / floor:9.1f}")
        for name, (entry, rate) in learners.items():
            cls, random = of_all_grades.class_of(entry["kind"], LEARNERS), np.random.default_rng(2)
            seconds = best(
                lambda made=made, queries=queries, cls=cls, entry=entry, rate=rate, random=random: (
                    play(
                        made,
                        queries,
                        cls.from_study(entry, {"source": "text"}, made.metadata, rate, random),
                    )
                )
            ) / len(queries)
            print(
                f"{m:5} {d:4}  {name:16} {seconds * 1e6:7.2f} {seconds / floor:9.1f} "
                f"{plain / seconds:11.1f}"
            )


if __name__ == "__main__":
    main()
