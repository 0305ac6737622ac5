"""The adversary of the lower bound (perceptron paper, Theorem 9)."""

from collections.abc import Callable, Iterator

import numpy as np


class LowerBoundAdversary:
    """The lower bound's stream of queries, with R_X = 1: round i shows documents `e_(i+1)`,
    `-e_(i+1)` and, for all others, `e_1`.

    If the learner puts the first document on top, only the second is relevant, else only the first.
    The margin is `1 / sqrt(ratio)`. There are `ratio` features, `ratio - 1` rounds and no chance.

    Parameters
    ----------
    ratio : R_X^2 / margin^2, 3 or more; there are ratio - 1 rounds
    documents : m, 2 or more
    """

    def __init__(self, ratio: int, documents: int = 20):
        self.rounds, self.documents, self.features = ratio - 1, documents, ratio
        self.margin = 1 / np.sqrt(ratio)
        # A ranker of norm below 1 that separates all answers so far by `margin`. At norm 1 it does
        # by more.
        self.ranker = np.zeros(self.features)
        self.ranker[0] = -self.margin / 2

    def __iter__(self) -> Iterator[tuple[np.ndarray, Callable]]:
        for i in range(1, self.rounds + 1):
            x = np.zeros((self.documents, self.features), np.float32)
            x[0, i], x[1, i], x[2:, 0] = 1, -1, 1
            yield x, lambda ranking, i=i: self._answer(i, ranking)

    def _answer(self, i: int, ranking: np.ndarray) -> np.ndarray:
        """The grades (m): 1 for the second document if the first is on top, else for the first; 0
        for all others.
        """
        relevant = 1 if ranking[0] == 0 else 0
        self.ranker[i] = (1 if relevant == 0 else -1) * self.margin / 2
        grades = np.zeros(self.documents, np.int16)
        grades[relevant] = 1
        return grades

    def metadata(self) -> dict:
        """The metadata that the file of a stream would have: the constants of the bounds."""
        return {
            "features": self.features,
            "largest_query": self.documents,
            "largest_grade": 1,
            "radius": 1.0,
            "weight_ratio": {"ap": 1.0, "ndcg": 1.0, "ndcg@10": 1.0},
            "ranker": [],
            "margin": self.margin,
            "generator": "adversary",
        }
