"""Ridge regression, and boosted trees of its residuals: a ranker that is not linear.

With it a study asks whether the cost of few grades depends on the class of rankers.
"""

from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting, whole_number
from scant.measures import rank
from scant.rankers.held_out import SETTINGS, TREES, check_lightgbm, loaded_lightgbm
from scant.rankers.ridge import LAMBDAS, K, Ridge, Settings

REFITS = Setting(
    "refits",
    whole_number(),
    "How often the trees are fitted anew to all grades seen so far, at rounds spaced evenly.",
    absent=15,
    ours=True,
)


class Boosted(Ridge):
    """Ranks greedily by x' w + f(x): w is of ridge regression of all grades seen, f of boosted
    trees (LightGBM's) that were fitted to its residuals at the last refit.
    """

    kind = "boosted-ridge"
    about = (
        "Ridge regression of the grades seen, and boosted trees (LightGBM's) of its residuals, "
        "fitted anew some times."
    )
    settings = (K, LAMBDAS, REFITS)
    looks: ClassVar = {"": Look("brown", "^")}
    by_weights = False

    def __init__(self, facts, rate, settings: Settings, random):
        super().__init__(facts, rate, settings, random)
        self.seen, self.trees, self.round = [], None, 0
        number = np.arange(1, settings.refits + 1)
        self.refitted = set(number * facts["rounds"] // (settings.refits + 1))

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        entry = {REFITS.name: REFITS.absent, **entry}
        return super().complete_settings(entry, readings, facts)

    @classmethod
    def check(cls, settings) -> None:
        check_lightgbm()

    def rank(self, features) -> np.ndarray:
        scores = self.scores(features, self.weights[:-1])
        if self.trees:
            scores += self.trees.predict(features, num_threads=1)
        self.own_ranking = rank(scores)
        return self.own_ranking

    def learn(self, features, grades, ranking) -> bool:
        """Take in the grades of the first k documents shown; refit the trees after the rounds
        `refitted`. Returns True, as ridge regression changes in every round.
        """
        shown = ranking[: self.k]
        self.seen.append((features[shown], grades[shown]))
        super().learn(features, grades, ranking)
        self.round += 1
        if self.round in self.refitted:
            documents, seen = map(np.concatenate, zip(*self.seen, strict=True))
            left = seen - documents @ self.weights[:-1] - self.weights[-1]
            lightgbm = loaded_lightgbm()
            self.trees = lightgbm.train(SETTINGS, lightgbm.Dataset(documents, left), TREES)
        return True

    def loop(self, stream, records):
        return None
