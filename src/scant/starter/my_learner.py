"""A learner of yours: gradient steps on the squared error of the grades."""

import numpy as np

from scant.measures import rank


class Squared:
    def __init__(self, features, rate, random):
        self.weights, self.rate = np.zeros(features), rate

    def rank(self, features):
        return rank(features @ self.weights)

    def learn(self, features, grades, ranking):
        error = features @ self.weights - grades
        self.weights -= self.rate * error @ features / len(grades)
        return True
