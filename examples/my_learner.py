"""A learner of one's own: online gradient descent on the pairwise logistic loss.

It declares nothing, or it does.
"""

from typing import ClassVar

import numpy as np
from scipy.special import expit

from scant.declare.declarations import Look, Setting
from scant.measures import rank


class PairwiseLogistic:
    """The loss of a query is the mean of log(1 + exp(s_j - s_i)) over the pairs i, j with grade i
    above grade j.

    Parameters
    ----------
    features : d, the number of features; given by the study
    rate : the learning rate, one of the study's `rates`
    random : a NumPy random generator; not needed here
    decay : the step at round t is rate * t^-decay; from the study's `options`
    """

    def __init__(self, features, rate, random, decay=0.5):
        self.weights = np.zeros(features)
        self.rate, self.decay, self.round = rate, decay, 0

    def rank(self, features):
        """The ranking to show for a query (m x d): document indices, best first."""
        self.round += 1
        return rank(features @ self.weights)

    def learn(self, features, grades, ranking):
        """Learn from the grades (m) of the query just ranked; whether the weights changed."""
        better = grades[:, None] > grades
        if not better.any():
            return False
        scores = features @ self.weights
        pull = np.where(better, expit(scores - scores[:, None]), 0.0) / better.sum()
        gradient = pull.sum(axis=0) - pull.sum(axis=1)
        self.weights -= self.rate * self.round**-self.decay * (features.T @ gradient)
        return True


class DeclaredPairwiseLogistic(PairwiseLogistic):
    """The same learner, with its setting and its look declared: study files are checked."""

    about = "Online gradient descent on the pairwise logistic loss."
    settings = (
        Setting(
            "decay",
            {"type": "number", "minimum": 0, "maximum": 1},
            "The step at round t is rate * t^-decay (0.5 if absent).",
            absent=0.5,
        ),
    )
    looks: ClassVar = {"": Look("pink", "P")}
