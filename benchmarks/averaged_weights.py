"""Measure what it is worth if SLAM's perceptron ranks by the average of all its weights so far.

    python benchmarks/averaged_weights.py results/real/streams/mq2008.arrow results/real/streams/ohsumed.arrow

No learner of the project does that: its perceptrons rank by their last weights, as the papers' do. Updates are those of
the last weights, with SLAM's weights for NDCG@10. For each stream, rate and margin, and either way of ranking: the
time-averaged NDCG@10 of the lists shown, a mean over seeds, which differ in the order of queries. Plain Python: a
run of 20,000 rounds takes about 10 s.
"""

import argparse

import numpy as np

from scant import surrogates
from scant.data import stream as streams
from scant.measures import function_of, rank

ndcg = function_of("ndcg@10")


def play(stream: streams.Stream, rate: float, margin: float | str, rounds: int, seed: int) -> tuple[float, float]:
    """The time-averaged NDCG@10 by the last weights, and by the average of all so far."""
    random = np.random.default_rng(seed)
    passes = [random.permutation(len(stream)) for _ in range(-(-rounds // len(stream)))]
    weights, total, gained = np.zeros(stream.features.shape[1]), np.zeros(stream.features.shape[1]), np.zeros(2)
    for query in np.concatenate(passes)[:rounds]:
        features, grades = stream[query][:2]
        features = features.astype(float)
        total += weights
        scores = features @ weights
        by_last = ndcg(rank(scores.astype(np.float32)), grades)
        gained += by_last, ndcg(rank((features @ total).astype(np.float32)), grades)
        if by_last < 1 and np.any(grades > 0):
            of_documents = surrogates.slam_weights("ndcg", scores, grades, 10)
            weights -= rate * (features.T @ surrogates.slam(scores, grades, of_documents, margin)[1])
    return tuple(gained / rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="+", help="stream files of a study")
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.03, 0.3])
    arguments = parser.parse_args()
    for path in arguments.streams:
        stream = streams.read(path)
        for rate in arguments.rates:
            for margin in (1.0, "grade-gap"):
                runs = [play(stream, rate, margin, arguments.rounds, seed) for seed in range(arguments.seeds)]
                last, average = np.mean(runs, axis=0)
                print(f"{path} rate {rate:g} margin {margin}: last {last:.4f}, average {average:.4f}", flush=True)


if __name__ == "__main__":
    main()
