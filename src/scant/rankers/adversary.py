"""The adversary of the lower bound (perceptron paper, Theorem 9)."""

from collections.abc import Callable, Iterator

import numpy as np


class LowerBoundAdversary:
    """The lower bound's (Theorem 9): round i shows `R e_(i+1)`, `-R e_(i+1)` and, else, `R e_1`.

    If the learner puts the first document on top, only the second is relevant, else only the first.
    In studies R is 1 and the margin `1 / sqrt(ratio)`. There are `ratio` features, `ratio - 1`
    rounds and no chance.

    Parameters
    ----------
    ratio : R_X^2 / margin^2, 3 or more; there are ratio - 1 rounds
    documents : m, 2 or more
    radius : R, which the papers call R_X
    """

    def __init__(self, ratio: int, documents: int = 20, radius: float = 1.0):
        if ratio < 3 or documents < 2:
            raise ValueError(
                f"the adversary needs ratio >= 3 and documents >= 2; got {ratio} and {documents}"
            )
        self.rounds, self.documents, self.radius = ratio - 1, documents, radius
        self.margin = radius / np.sqrt(ratio)
        self.features = ratio
        # A ranker of norm below 1 that separates all answers so far by `margin`. At norm 1 it does
        # by more.
        self.ranker = np.zeros(self.features)
        self.ranker[0] = -self.margin / (2 * radius)

    def __iter__(self) -> Iterator[tuple[np.ndarray, Callable]]:
        for i in range(1, self.rounds + 1):
            x = np.zeros((self.documents, self.features), np.float32)
            x[0, i], x[1, i], x[2:, 0] = self.radius, -self.radius, self.radius
            yield x, lambda ranking, i=i: self._answer(i, ranking)

    def _answer(self, i: int, ranking: np.ndarray) -> np.ndarray:
        """The grades (m): 1 for the second document if the first is on top, else for the first; 0
        for all others.
        """
        relevant = 1 if ranking[0] == 0 else 0
        self.ranker[i] = (1 if relevant == 0 else -1) * self.margin / (2 * self.radius)
        grades = np.zeros(self.documents, np.int16)
        grades[relevant] = 1
        return grades

    def metadata(self) -> dict:
        """The metadata that the file of a stream would have: the constants of the bounds."""
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
