"""Ridge regression of the grades seen on documents' features: greedy, with optimism, or with
Thompson sampling.

Linear bandits have learnt so since Auer (2002): LinUCB (Li et al. 2010) and linear Thompson
sampling (Agrawal & Goyal 2013). The estimate, and how it explores, are theirs; that only one place
explores is our choice.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting, whole_number
from scant.errors import SettingError
from scant.measures import rank
from scant.rankers.learners import Contextual

EXPLORE = ("greedy", "ucb", "thompson")  # in the order of scant.kernels.ridge


def _numbers(name: str, about: str) -> Setting:
    """A setting of numbers above 0 to play, 1 if the study gives none."""
    number = {"type": "number", "exclusiveMinimum": 0}
    rule = {"type": "array", "minItems": 1, "uniqueItems": True, "items": number}
    return Setting(name, rule, about, absent=[1.0])


K = Setting("k", whole_number(), "How many grades on top the learner sees.", absent=1)
EXPLORED = Setting(
    "explore",
    {"enum": list(EXPLORE)},
    "How place k explores: not at all (greedy), or with the document from there on that has the "
    "largest score plus alpha standard errors (ucb), or the largest score by weights drawn around "
    "the fitted ones (thompson).",
    absent="greedy",
)
LAMBDAS = _numbers(
    "lambdas", "The penalties of ridge regression to play; one is chosen as rates are."
)
ALPHAS = _numbers(
    "alphas",
    (
        "How many standard errors ucb adds, or thompson draws weights apart, to play; one is "
        "chosen as rates are."
    ),
)


@dataclass(frozen=True)
class Settings:
    """The settings by which a learner by least squares plays, except lambda, which has the place of
    a rate.

    k : how many grades on top it sees
    explore : one of `EXPLORE`
    alpha : how many standard errors are added to a score, or how far weights are drawn
    measure : the measure whose loss is recorded as the learner's own
    """

    kind: str
    k: int
    explore: str
    alpha: float
    measure: str = "ndcg@10"


class Ridge(Contextual):
    """Ranks by w of A w = b, with A = lambda I + sum of x x' and b = sum of g x over the documents
    seen.

    x is a document's features with a 1 for the intercept behind them, and g its grade. The list is
    sorted by x' w, but for place k: the document from there on with the largest x' w + alpha
    sqrt(x' A^-1 x) moves up to it (ucb), or the one with the largest x' v, v being drawn from the
    normal distribution N(w, alpha² A^-1) (thompson).
    """

    kind = "ridge"
    about = (
        "Ridge regression of the grades seen, with an intercept: greedy, optimistic (LinUCB; Li et "
        "al. 2010) or by Thompson sampling (Agrawal & Goyal 2013) at place k."
    )
    settings = (K, EXPLORED, LAMBDAS, ALPHAS)
    looks: ClassVar = {"": Look("vermilion", "*"), "greedy": Look("vermilion", "s", ":")}
    sees = "top"
    branch = 0

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        self.k, n = settings.k, facts["features"] + 1
        self.weights = np.zeros(n)
        self.matrix, self.sums = rate * np.eye(n), np.zeros(n)
        self.root = np.eye(n) / np.sqrt(rate)  # root root' is the matrix's inverse

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        k, explore = entry.get("k", K.absent), entry.get("explore", EXPLORED.absent)
        alpha = 0.0 if explore == "greedy" else entry["alpha"]
        return Settings(cls.kind, k, explore, alpha)

    @classmethod
    def rates(cls, entry, readings):
        """The penalties, in the place of rates."""
        return list(entry.get("lambdas", LAMBDAS.absent))

    @classmethod
    def variants(cls, entry):
        """One for each alpha, unless it is greedy."""
        if entry.get("explore", EXPLORED.absent) == "greedy":
            return [entry]
        return [{**entry, "alpha": alpha} for alpha in entry.get("alphas", ALPHAS.absent)]

    @classmethod
    def check(cls, settings) -> None:
        if "alphas" in settings and settings.get("explore", EXPLORED.absent) == "greedy":
            raise SettingError(
                "alphas do nothing unless explore is ucb or thompson: leave them out"
            )

    def rank(self, features) -> np.ndarray:
        scores = self.scores(features, self.weights[:-1])
        self.own_ranking = ranking = rank(scores)
        slot, x = min(self.k, len(ranking)) - 1, _with_intercept(features)
        if self.setup.explore == "greedy":
            return ranking
        if self.setup.explore == "ucb":
            widths = np.sqrt(np.einsum("ij,jk,ik->i", x, np.linalg.inv(self.matrix), x))
            values = (scores + self.weights[-1] + self.setup.alpha * widths).astype(np.float32)
        else:
            normal = np.array([self.random.standard_normal() for _ in self.weights])
            drawn = self.weights + self.setup.alpha * self.root @ normal
            values = self.scores(features, drawn[:-1])
        candidates = np.sort(ranking[slot:])
        best = candidates[np.argmax(values[candidates])]
        place = int(np.flatnonzero(ranking == best)[0])
        return np.insert(np.delete(ranking, place), slot, best)

    def learn(self, features, grades, ranking) -> bool:
        """Fit the grades of the first k documents shown, too."""
        for i in ranking[: self.k]:
            x = _with_intercept(features[i : i + 1])[0]
            self.matrix += np.outer(x, x)
            self.sums += grades[i] * x
            if self.setup.explore == "thompson":
                turned = self.root.T @ x
                square = turned @ turned
                shrink = (1 - 1 / np.sqrt(1 + square)) / square
                self.root -= shrink * np.outer(self.root @ turned, turned)
        self.weights = np.linalg.solve(self.matrix, self.sums)
        return True

    def events(self, ranking) -> list[int]:
        """Whether another document was at place k than by its scores; nothing is clipped or
        idle.
        """
        top = slice(0, self.k)
        return [0, set(ranking[top]) != set(self.own_ranking[top]), 0, 0]

    def loop(self, stream, records):
        from scant.kernels import ridge

        explore, setup = EXPLORE.index(self.setup.explore), self.setup
        learner = ridge.Learner(explore, setup.k, float(self.rate), float(setup.alpha))
        own = {name: records[name] for name in ("ranker", "events")}
        return ridge.play, {"learner": learner, **own}


def _with_intercept(features: np.ndarray) -> np.ndarray:
    """The features of documents, float64 (m x (d + 1)), with a 1 behind them."""
    return np.c_[features.astype(np.float64), np.ones(len(features))]
