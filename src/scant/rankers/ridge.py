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
from scant.rankers import clicks, estimators
from scant.rankers.learners import REMEMBER, Contextual

EXPLORE = ("greedy", "ucb", "thompson")  # in the order of scant.kernels.ridge
EVERY_GRADE = 2**31 - 1  # a k that no query has as many documents as


def _numbers(name: str, about: str) -> Setting:
    """A setting of numbers above 0 to play, 1 if the study gives none."""
    number = {"type": "number", "exclusiveMinimum": 0}
    rule = {"type": "array", "minItems": 1, "uniqueItems": True, "items": number}
    return Setting(name, rule, about, absent=[1.0])


K = Setting(
    "k",
    {"oneOf": [whole_number(), {"const": estimators.ALL}]},
    "How many grades on top the learner sees, or all.",
    absent=1,
)
WITHIN = Setting(
    "within",
    {"type": "number", "minimum": 0, "maximum": 1},
    "The share of their means over the documents seen that is taken from features and grades "
    "before they are fitted: with 1 nothing but differences within a query is learnt, and nothing "
    "from one grade.",
    absent=0,
    ours=True,
)
EXPLORED = Setting(
    "explore",
    {"enum": list(EXPLORE)},
    "How place k explores: not at all (greedy), or with the document from there on that has the "
    "largest score plus alpha standard errors (ucb), or the largest score by weights drawn around "
    "the fitted ones (thompson).",
    absent="greedy",
)
USER = Setting(
    "user",
    clicks.RULE,
    "The simulated user whose clicks on the first k documents are seen in place of grades, as of "
    "learners from clicks; every grade is seen as it is if absent.",
)
PROPENSITIES = Setting(
    "propensities",
    {"enum": ["known", "affine"]},
    "What clicks below the first place are divided by: the probability that their place is looked "
    "at (known), or that corrected for trust (affine), as of the kind ips.",
    ours=True,
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
    within : the share of the means over the documents seen that is taken from what is fitted
    remember : whether it remembers grades
    refits : how often boosted trees are fitted, see `boosted`
    user : the name of the user from whose clicks it learns; "" if it sees grades
    click, stop, look : the user's probabilities, see `clicks.User`
    propensities : what clicks are divided by, see `PROPENSITIES`; "none" for nothing
    measure : the measure whose loss is recorded as the learner's own
    """

    kind: str
    k: int
    explore: str
    alpha: float
    within: float = 0.0
    remember: bool = False
    refits: int = 0
    user: str = ""
    click: tuple[tuple[float, ...], ...] = ()
    stop: tuple[float, ...] = ()
    look: tuple[float, ...] = (1.0,)
    propensities: str = "none"
    measure: str = "ndcg@10"


class Ridge(Contextual):
    """Ranks by w of A w = b, with A = lambda I + sum of x x' and b = sum of g x over the documents
    seen.

    x is a document's features with a 1 for the intercept behind them, and g its grade. The list is
    sorted by x' w, but for place k: the document from there on with the largest x' w + alpha
    sqrt(x' A^-1 x) moves up to it (ucb), or the one with the largest x' v, v being drawn from the
    normal distribution N(w, alpha² A^-1) (thompson). If it remembers, a document that was seen
    before has the mean of its grades in the place of x' w, without a standard error. The share
    `within` of the means of x and g over the documents seen in a round is taken from them before
    they are fitted.
    """

    kind = "ridge"
    about = (
        "Ridge regression of the grades seen, with an intercept: greedy, optimistic (LinUCB; Li et "
        "al. 2010) or by Thompson sampling (Agrawal & Goyal 2013) at place k."
    )
    settings = (K, EXPLORED, LAMBDAS, ALPHAS, WITHIN, REMEMBER, USER, PROPENSITIES)
    looks: ClassVar = {"": Look("vermilion", "*"), "greedy": Look("vermilion", "s", ":")}
    sees = "top"
    branch = 0
    by_weights = True

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        self.k, n = settings.k, facts["features"] + 1
        self.memory = {}  # of each query, by its features, the sums and counts of grades seen
        # a click in a place counts click / chance - shift
        self.user, shown = None, settings.k if settings.user else 0
        self.chances, self.shifts = np.ones(shown), np.zeros(shown)
        if settings.user:
            self.user = clicks.User(settings.click, settings.stop, settings.look)
            if settings.propensities == "known":
                self.chances = self.user.propensities(shown)
            elif settings.propensities == "affine":
                self.chances, self.shifts = self.user.affine(shown)
        self.weights = np.zeros(n)
        self.matrix, self.sums = rate * np.eye(n), np.zeros(n)
        self.root = np.eye(n) / np.sqrt(rate)  # root root' is the matrix's inverse

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        k, explore = entry.get("k", K.absent), entry.get("explore", EXPLORED.absent)
        alpha = 0.0 if explore == "greedy" else entry["alpha"]
        k = EVERY_GRADE if k == estimators.ALL else k
        names = ("within", "remember", "refits", "propensities")
        options = {key: entry[key] for key in names if key in entry}
        if chosen := entry.get("user"):
            user = clicks.user_for(chosen, facts["largest_grade"])
            options |= {"click": user.click, "stop": user.stop, "look": user.look}
            options["user"] = chosen if isinstance(chosen, str) else clicks.OWN
        return Settings(cls.kind, k, explore, alpha, **options)

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
        k, explore = settings.get("k", K.absent), settings.get("explore", EXPLORED.absent)
        if k == estimators.ALL and explore != "greedy":
            raise SettingError(f"explore: where all grades are seen {explore} has nothing to find")
        if k == 1 and settings.get("within") == 1:
            raise SettingError("within: one grade less its own mean teaches nothing. Use k above 1")
        cls._check_user(settings, k)

    @classmethod
    def _check_user(cls, settings, k) -> None:
        """Raise a SettingError for clicks that say nothing of grades, and what goes without
        them.
        """
        propensities = settings.get("propensities")
        if "user" not in settings:
            if propensities:
                raise SettingError(f"propensities: {propensities} is for clicks: name a user")
            return
        if propensities:
            clicks.check_propensities(propensities, settings["user"])
        elif k != 1:
            raise SettingError(
                "user: below the first place clicks depend on the place, too. Use k: 1, or "
                "propensities: known or affine"
            )
        if k == estimators.ALL:
            raise SettingError(
                "user: clicks are seen on documents shown. Say how many, such as k: 10"
            )

    def rank(self, features) -> np.ndarray:
        scores = self.scores(features, self.weights[:-1])
        sums, counts = self._memory(features)
        known = counts > 0
        means = sums[known] / counts[known]
        scores[known] = means - self.weights[-1]
        self.own_ranking = ranking = rank(scores)
        slot, x = min(self.k, len(ranking)) - 1, _with_intercept(features)
        if self.setup.explore == "greedy":
            return ranking
        if self.setup.explore == "ucb":
            widths = np.sqrt(np.einsum("ij,jk,ik->i", x, np.linalg.inv(self.matrix), x))
            widths[known] = 0.0
            values = (scores + self.weights[-1] + self.setup.alpha * widths).astype(np.float32)
        else:
            normal = np.array([self.random.standard_normal() for _ in self.weights])
            drawn = self.weights + self.setup.alpha * self.root @ normal
            values = self.scores(features, drawn[:-1])
            values[known] = means - drawn[-1]
        candidates = np.sort(ranking[slot:])
        best = candidates[np.argmax(values[candidates])]
        place = int(np.flatnonzero(ranking == best)[0])
        return np.insert(np.delete(ranking, place), slot, best)

    def learn(self, features, grades, ranking) -> bool:
        """Fit the grades of the first k documents shown, too."""
        seen, within = ranking[: self.k], self.setup.within
        documents, of_seen = _with_intercept(features[seen]), grades[seen].astype(np.float64)
        if self.user:
            clicked = self.user.clicks(grades[seen], self.random)
            of_seen = clicked / self.chances[: len(seen)] - self.shifts[: len(seen)]
        if self.setup.remember:
            sums, counts = self._memory(features)
            sums[seen] += of_seen
            counts[seen] += 1
        documents -= within * documents.mean(axis=0)
        of_seen -= within * of_seen.mean()
        for x, grade in zip(documents, of_seen, strict=True):
            self.matrix += np.outer(x, x)
            self.sums += grade * x
            if self.setup.explore == "thompson":
                turned = self.root.T @ x
                square = turned @ turned
                shrink = (1 - 1 / np.sqrt(1 + square)) / square
                self.root -= shrink * np.outer(self.root @ turned, turned)
        self.weights = np.linalg.solve(self.matrix, self.sums)
        return True

    def _memory(self, features) -> np.ndarray:
        """The sums and the counts of the grades seen of a query's documents: float64 (2 x m)."""
        nothing = np.zeros((2, len(features)))
        if not self.setup.remember:
            return nothing
        return self.memory.setdefault(features.tobytes(), nothing)

    def events(self, ranking) -> list[int]:
        """Whether another document was at place k than by its scores; nothing is clipped or
        idle.
        """
        top = slice(0, self.k)
        return [0, set(ranking[top]) != set(self.own_ranking[top]), 0, 0]

    def loop(self, stream, records):
        from scant.kernels import ridge

        explore, setup = EXPLORE.index(self.setup.explore), self.setup
        click = self.user.chances(setup.k) if self.user else np.empty((0, 0))
        learner = ridge.Learner(
            explore,
            setup.k,
            float(self.rate),
            float(setup.alpha),
            float(setup.within),
            click,
            np.array(setup.stop, np.float64),
            self.chances,
            self.shifts,
        )
        documents = len(stream.features)
        own = {name: records[name] for name in ("ranker", "events")}
        own["sums"] = np.zeros(documents if setup.remember else 0)
        own["counts"] = np.zeros(documents, np.int32)
        return ridge.play, {"learner": learner, **own}


def _with_intercept(features: np.ndarray) -> np.ndarray:
    """The features of documents, float64 (m x (d + 1)), with a 1 behind them."""
    return np.c_[features.astype(np.float64), np.ones(len(features))]
