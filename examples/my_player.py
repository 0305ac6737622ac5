"""A player of one's own, for games on fixed items: it sees the items on top alone, and explores at
random.
"""

from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting
from scant.measures import rank


class EpsilonGreedy:
    """Ranks items by the mean of the values seen of each; with probability epsilon the ranking is a
    random one.

    Parameters
    ----------
    items, rounds : m and T; given by the study
    random : a NumPy random generator, the learner's own
    k : how many items on top of a ranking are seen
    epsilon : the share of rounds that explore
    """

    about = "Epsilon-greedy on the items that are seen on top."
    settings = (
        Setting(
            "k",
            {"type": "integer", "minimum": 1},
            "How many items on top are seen (1 if absent).",
            absent=1,
        ),
        Setting(
            "epsilon",
            {"type": "number", "minimum": 0, "maximum": 1},
            "The share of rounds that explore (0.1 if absent).",
            absent=0.1,
        ),
    )
    looks: ClassVar = {"": Look("pink", "P")}
    sees = "top"  # or "all", "loss", "nothing"

    def __init__(self, items, rounds, random, k=1, epsilon=0.1):
        self.random, self.k, self.epsilon = random, k, epsilon
        self.sums, self.counts = np.zeros(items), np.zeros(items)
        self.explored = 0  # tables show it

    def rank(self):
        """The ranking to show: item indices, best first."""
        if self.random.random() < self.epsilon:
            self.explored += 1
            return self.random.permutation(len(self.sums))
        return rank(self.sums / np.maximum(self.counts, 1))

    def learn(self, ranking, seen):
        """Learn from the values (k) of the items that were on top, in their order."""
        top = ranking[: self.k]
        self.sums[top] += seen
        self.counts[top] += 1
