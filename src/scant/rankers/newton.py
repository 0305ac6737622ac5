"""Newton steps on the cross entropy between gains and scores, with every grade seen: the best
linear learner from all grades on most sets here.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look
from scant.measures import rank
from scant.rankers.learners import REMEMBER, Contextual
from scant.rankers.ridge import LAMBDAS


@dataclass(frozen=True)
class Settings:
    """The settings by which `Newton` plays, except lambda, which has the place of a rate.

    remember : whether it remembers grades
    measure : the measure whose loss is recorded as the learner's own
    """

    kind: str
    remember: bool = False
    measure: str = "ndcg@10"


class Newton(Contextual):
    """Aims the softmax of its scores at gains, 2^grade - 1, as shares of their sum over the query.

    In a round with the shares y and the softmax p, the matrix A, lambda I at first, grows by the
    Hessian of the cross entropy, the covariance of the documents x under p; then the weights move
    by -A^-1 X' (p - y). A query without a relevant document teaches nothing.
    """

    kind = "newton"
    about = (
        "Newton steps on the cross entropy between gains and the softmax of scores, with every "
        "grade seen."
    )
    settings = (LAMBDAS, REMEMBER)
    draws = False
    looks: ClassVar = {"": Look("green", "*", "--")}
    branch = 0
    by_weights = True

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        self.recalls = settings.remember
        self.matrix = rate * np.eye(facts["features"])

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        return Settings(cls.kind, entry.get("remember", REMEMBER.absent))

    @classmethod
    def rates(cls, entry, readings):
        """The penalties, in the place of rates."""
        return list(entry.get("lambdas", LAMBDAS.absent))

    def rank(self, features) -> np.ndarray:
        self.last_scores = self.scores(features)
        return rank(self.last_scores)

    def learn(self, features, grades, ranking) -> bool:
        if not np.any(grades > 0):
            return False
        x, gains = features.astype(np.float64), np.exp2(grades) - 1.0
        odds = np.exp(self.last_scores.astype(np.float64) - self.last_scores.max())
        odds /= odds.sum()
        apart = x - odds @ x
        self.matrix += (odds * apart.T) @ apart
        self.weights -= np.linalg.solve(self.matrix, x.T @ (odds - gains / gains.sum()))
        return True

    def loop(self, stream, records):
        from scant.kernels import newton

        return newton.play, {"penalty": float(self.rate)}
