"""The adversary of the lower bound (perceptron paper, Theorem 9)."""

from collections.abc import Callable, Iterator

import numpy as np


class LowerBoundAdversary:
    """Shows, in round i, documents R_X e_{i+1}, -R_X e_{i+1} and R_X e_1 (all others), and makes the top one wrong.

    Parameters
    ----------
    ratio : R_X^2 / margin^2, 3 or more; there are ratio - 1 rounds
    documents : m, 2 or more
    radius : R_X
    """

    def __init__(self, ratio: int, documents: int = 20, radius: float = 1.0):
        if ratio < 3 or documents < 2:
            raise ValueError(f"the adversary needs ratio >= 3 and documents >= 2; got {ratio} and {documents}")
        self.rounds, self.documents, self.radius = ratio - 1, documents, radius
        self.margin = radius / np.sqrt(ratio)
        self.features = ratio
        # A ranker of norm below 1 that separates every answer so far by `margin`; its unit-norm multiple does more.
        self.ranker = np.zeros(self.features)
        self.ranker[0] = -self.margin / (2 * radius)

    def __iter__(self) -> Iterator[tuple[np.ndarray, Callable]]:
        for i in range(1, self.rounds + 1):
            x = np.zeros((self.documents, self.features), np.float32)
            x[0, i], x[1, i], x[2:, 0] = self.radius, -self.radius, self.radius
            yield x, lambda ranking, i=i: self._answer(i, ranking)

    def _answer(self, i: int, ranking: np.ndarray) -> np.ndarray:
        """Relevance vector (m): the second document's if the first is on top, else the first's."""
        relevant = 1 if ranking[0] == 0 else 0
        self.ranker[i] = (1 if relevant == 0 else -1) * self.margin / (2 * self.radius)
        grades = np.zeros(self.documents, np.int16)
        grades[relevant] = 1
        return grades

    def metadata(self) -> dict:
        """What a stream's metadata would say: the constants of the bounds."""
        return {
            "features": self.features,
            "largest_query": self.documents,
            "largest_grade": 1,
            "radius": self.radius,
            "weight_ratio": {"ap": 1.0, "ndcg": 1.0, "ndcg@10": 1.0},
            "ranker": [],
            "margin": self.margin,
            "generator": "adversary",
        }
