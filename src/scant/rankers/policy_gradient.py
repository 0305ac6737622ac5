"""The policy gradient on the grade of place 1 (REINFORCE, Williams 1992): unbiased, with no
exploration to choose.
"""

from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look
from scant.measures import rank
from scant.rankers.learners import RATES, Contextual


class PolicyGradient(Contextual):
    """Draws place 1 by the softmax of its scores, and climbs on the expected grade there.

    The other places are sorted. From the grade g of the document i that was drawn, the gradient's
    estimate is (g - b) (x_i - sum of p_j x_j), with b the mean of the grades seen before. It is
    unbiased for every b that does not depend on the draw. Steps are rate / sqrt(t).
    """

    kind = "policy-gradient"
    about = (
        "Policy gradient on the grade of place 1, drawn by the softmax of its scores (Williams "
        "1992)."
    )
    settings = (RATES,)
    looks: ClassVar = {"": Look("pink", "d")}
    sees = "top"
    k = 1
    branch = 0
    by_weights = True
    published_rate = 0.1  # ours: it was not published so

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        self.seen = []

    def rank(self, features) -> np.ndarray:
        self.round += 1
        scores = self.scores(features)
        self.own_ranking = rank(scores)
        odds = np.exp(scores.astype(np.float64) - scores.max())
        self.chances = odds / odds.sum()
        behind = self.random.random() - np.cumsum(self.chances[self.own_ranking]) < 0
        place = int(np.argmax(behind))  # the first one, or 0 if rounding leaves none
        return np.r_[self.own_ranking[place], np.delete(self.own_ranking, place)]

    def learn(self, features, grades, ranking) -> bool:
        first = ranking[0]
        ahead = grades[first] - (np.mean(self.seen) if self.seen else 0.0)
        self.seen.append(grades[first])
        pull = -self.chances
        pull[first] += 1
        self.weights += (
            self.rate / np.sqrt(self.round) * ahead * (features.astype(np.float64).T @ pull)
        )
        return True

    def events(self, ranking) -> list[int]:
        """It draws in every round; whether another document was first than by scores; nothing is
        clipped or idle.
        """
        return [1, int(ranking[0] != self.own_ranking[0]), 0, 0]

    def loop(self, stream, records):
        from scant.kernels import policy_gradient

        own = {name: records[name] for name in ("ranker", "events")}
        return policy_gradient.play, {"rate": float(self.rate), **own}
