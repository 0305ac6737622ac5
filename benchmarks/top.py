"""Time a round of RTop-kF beside a round with full feedback on the same surrogate, and beside ListNet's.

Then rounds of learners that descend on the loss of what they saw, and of those from clicks on ten documents.

    python benchmarks/top.py [--rounds 200000] [--queries 19944] [--documents 24] [--features 700]

One thread, on a stream of the shape of Yahoo's set, if no other is asked for, drawn in memory. `x full` is the time
of the round over that of a round of gradient descent on the same surrogate with every grade seen. Read the ratios.
"""

import argparse

import numpy as np
from rounds import best, stream

from scant.online import click_learners, learners, top
from scant.online.play import play

READINGS = {"source": "text", "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": None}
LEARNERS = {"squared": (1, 5), "kl": (1, 5), "smoothdcg": (1, 5), "ranksvm": (2, 5), "listnet": (), "ndcg-squared": ()}
SEEN = {"squared": (1, 10, "all"), "logistic": (2, 10, "all"), "ranksvm": (2, 10, "all"), "listnet": (2, 10, "all")}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--rounds", type=int, default=200_000, help="rounds of a run")
    arguments.add_argument("--queries", type=int, default=19_944, help="queries of the stream")
    arguments.add_argument("--documents", type=int, default=24, help="documents of a query")
    arguments.add_argument("--features", type=int, default=700, help="features of a document")
    asked = arguments.parse_args()
    shape = (asked.documents, asked.features)
    made = stream(*shape, asked.queries * asked.documents * asked.features * 4 / 1e6)
    queries = np.random.default_rng(1).integers(0, len(made), asked.rounds)

    def seconds(cls, learner: dict) -> float:
        """The time of a run of a learner at its first rate, and its making, which takes no time beside it."""
        facts, rate = made.metadata | {"rounds": asked.rounds}, cls.rates(learner, READINGS)[0]
        return best(
            lambda: play(made, queries, cls.from_study(learner, READINGS, facts, rate, np.random.default_rng(2))), 3
        )

    listnet = seconds(learners.ListNet, {"kind": "listnet", "rates": [0.1]})
    print(f"{'surrogate':13} {'k':>4} {'s a run':>8} {'us':>6} {'x full':>7} {'x ListNet':>10}")
    print(f"{'perceptron study, ListNet':18} {listnet:8.2f} {listnet / asked.rounds * 1e6:6.2f}")
    for surrogate, tops in LEARNERS.items():
        full = None
        for k in ("all", *tops):
            learner = {"kind": "ogd" if k == "all" else "rtop", "surrogate": surrogate, "k": k}
            one = seconds(top.DESCENDING[learner["kind"]], learner)
            full = full or one
            each = one / asked.rounds * 1e6
            print(f"{surrogate:13} {k:>4} {one:8.2f} {each:6.2f} {one / full:7.2f} {one / listnet:10.2f}")
    for surrogate, tops in SEEN.items():
        for k in tops:
            learner = {"kind": "seen", "surrogate": surrogate, "k": k, "exploration": 0.05}
            one = seconds(top.Seen, learner)
            each = one / asked.rounds * 1e6
            print(f"{f'{surrogate}, as seen':18} {k:>4} {one:8.2f} {each:6.2f} {'':7} {one / listnet:10.2f}")
    for kind, cls in click_learners.LEARNERS.items():
        for user in ("perfect", "navigational", "informational"):
            one = seconds(cls, {"kind": kind, "user": user})
            print(f"{f'{kind}, {user}':18} {one:8.2f} {one / asked.rounds * 1e6:6.2f} {'':7} {one / listnet:10.2f}")


if __name__ == "__main__":
    main()
