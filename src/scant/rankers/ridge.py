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
from scant.rankers import clicks, estimators, judges
from scant.rankers.learners import REMEMBER, Contextual

EXPLORE = ("greedy", "ucb", "thompson")  # in the order of scant.kernels.ridge
EVERY_GRADE = 2**31 - 1  # a k that no query has as many documents as
# With what weight each state of a learner has judged lists, by how it starts. Of states with equal
# errors the first shows.
COLD, TRUSTED, CHOSEN, ALONE = "none", "trusted", "chosen", "alone"
STATES = {COLD: (0.0,), TRUSTED: (1.0,), CHOSEN: (1.0, 0.1, 0.0), ALONE: (1.0,)}


def _numbers(name: str, about: str) -> Setting:
    """The `Setting` of a list of numbers above 0, each of which is played; by default [1]."""
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
START = Setting(
    "start",
    {"enum": [*STATES]},
    "What it makes of judged lists: nothing (none); rounds of its own before the first (trusted); "
    "three states, with the lists, with a tenth of their weight and without them, that learn from "
    "the same grades, each round being shown by the state whose squared errors on the grades seen "
    "so far are least (chosen); or all that it ever learns from (alone).",
    absent=COLD,
    ours=True,
)
LISTS = Setting("lists", whole_number(), "How many judged lists it starts from.")
JUDGED_BY = Setting(
    "judged_by",
    judges.RULE,
    "Who judged the lists: human, for the grades of the data; column, for those of a second judge "
    "in the data; coin, for any grade; wrong, leans or confusion, for a judge who errs so.",
    absent=judges.HUMAN,
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

    k : how many grades it sees
    explore : one of `EXPLORE`
    alpha : how many standard errors are added to a score, or how far weights are drawn
    within : the share of the means over a round's documents that is subtracted before fitting
    remember : whether it remembers grades
    refits : how often boosted trees are fitted, see `boosted`
    user : the name of the user from whose clicks it learns; "" if it sees grades
    click, stop, look : the user's probabilities, see `clicks.User`
    propensities : what clicks are divided by, see `PROPENSITIES`; "none" for nothing
    start, lists, judged_by : how it uses judged lists, how many, and the judge in words
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
    start: str = COLD
    lists: int = 0
    judged_by: str = ""
    measure: str = "ndcg@10"


class Ridge(Contextual):
    """Ranks by w of A w = b, with A = lambda I + sum of x x' and b = sum of g x over the documents
    seen.

    x is a document's features with a 1 for the intercept behind them, and g its grade. The list is
    sorted by x' w, but for place k: the document from there on with the largest x' w + alpha
    sqrt(x' A^-1 x) moves up to it (ucb), or the one with the largest x' v, v being drawn from
    N(w, alpha² A^-1) (thompson). If it remembers, a document seen before has the mean of its grades
    in the place of x' w, without a standard error. From x and g the share `within` of their means
    over the documents seen in the round is subtracted before they are fitted. A start that is
    chosen has three such A and b, see `STATES`.
    """

    kind = "ridge"
    about = (
        "Ridge regression of the grades seen, with an intercept: greedy, optimistic (LinUCB; Li et "
        "al. 2010) or by Thompson sampling (Agrawal & Goyal 2013) at place k."
    )
    settings = (K, EXPLORED, LAMBDAS, ALPHAS, WITHIN, REMEMBER, USER, PROPENSITIES)
    settings += (START, LISTS, JUDGED_BY)
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
        # of each state, root root' being the inverse of the matrix
        states = len(STATES[settings.start])
        self.matrices, self.sums = np.tile(rate * np.eye(n), (states, 1, 1)), np.zeros((states, n))
        self.roots = np.tile(np.eye(n) / np.sqrt(rate), (states, 1, 1))
        self.fitted, self.errors = np.zeros((states, n)), np.zeros(states)
        self.weights = self.fitted[0].copy()

    @property
    def lists(self) -> int:
        """How many judged lists it starts from."""
        return self.setup.lists

    def start_from(self, lists) -> None:
        """Take in judged lists, (features (m, d), grades (m)) of each. Grades are shares of the
        largest one if it learns from clicks.
        """
        most = self.facts["largest_grade"] if self.user else 1
        for features, grades in lists:
            documents, of_seen = self._less_means(_with_intercept(features), grades / most)
            for state, weight in enumerate(STATES[self.setup.start]):
                self.matrices[state] += weight * documents.T @ documents
                self.sums[state] += weight * documents.T @ of_seen
        self.fitted = np.linalg.solve(self.matrices, self.sums[:, :, None])[:, :, 0]
        self.roots = np.linalg.cholesky(np.linalg.inv(self.matrices))
        self.weights = self.fitted[0].copy()

    def _less_means(self, documents, answers) -> tuple[np.ndarray, np.ndarray]:
        """Features of documents (n, d + 1) and answers (grades or clicks, n), each less the share
        `within` of its mean over the documents.
        """
        share = self.setup.within
        return documents - share * documents.mean(axis=0), answers - share * answers.mean()

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        k, explore = entry.get("k", K.absent), entry.get("explore", EXPLORED.absent)
        alpha = 0.0 if explore == "greedy" else entry["alpha"]
        k = EVERY_GRADE if k == estimators.ALL else k
        names = ("within", "remember", "refits", "propensities", "start", "lists")
        options = {key: entry[key] for key in names if key in entry}
        if options.get("start", COLD) != COLD:
            options["judged_by"] = judges.name(entry.get("judged_by", judges.HUMAN))
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
        """A variant for each alpha; the settings as they are if it is greedy."""
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
        cls._check_start(settings)

    @classmethod
    def _check_start(cls, settings) -> None:
        """Raise a SettingError for a start without lists, for lists without a start, and for a
        judge of no grades.
        """
        start = settings.get("start", COLD)
        for key in ("lists", "judged_by"):
            if start == COLD and key in settings:
                raise SettingError(f"{key} needs a start: trusted, chosen or alone")
        if start != COLD and "lists" not in settings:
            raise SettingError(f"start: {start} needs judged lists. Say how many, as in lists: 30")
        judges.check_fits(settings.get("judged_by"))
        if start == ALONE and {"k", "explore", "user", "remember"} & settings.keys():
            raise SettingError(
                "start: alone learns from no round: leave k, explore, user and remember out"
            )

    @classmethod
    def _check_user(cls, settings, k) -> None:
        """Raise a SettingError for propensities without a user, and for a user whose clicks depend
        on the place, too, with nothing to correct them.
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
            inverse = np.linalg.inv(self.matrices[self.state])
            widths = np.sqrt(np.einsum("ij,jk,ik->i", x, inverse, x))
            widths[known] = 0.0
            values = (scores + self.weights[-1] + self.setup.alpha * widths).astype(np.float32)
        else:
            normal = np.array([self.random.standard_normal() for _ in self.weights])
            drawn = self.weights + self.setup.alpha * self.roots[self.state] @ normal
            values = self.scores(features, drawn[:-1])
            values[known] = means - drawn[-1]
        candidates = np.sort(ranking[slot:])
        best = candidates[np.argmax(values[candidates])]
        place = int(np.flatnonzero(ranking == best)[0])
        return np.insert(np.delete(ranking, place), slot, best)

    def learn(self, features, grades, ranking) -> bool:
        """Refit with the grades (or clicks) of the first k documents shown; return whether it did:
        a ranker of lists alone does not.
        """
        if self.setup.start == ALONE:
            return False
        seen = ranking[: self.k]
        documents, of_seen = _with_intercept(features[seen]), grades[seen].astype(np.float64)
        if self.user:
            clicked = self.user.clicks(grades[seen], self.random)
            of_seen = clicked / self.chances[: len(seen)] - self.shifts[: len(seen)]
        if self.setup.remember:
            sums, counts = self._memory(features)
            sums[seen] += of_seen
            counts[seen] += 1
        for x, grade in zip(*self._less_means(documents, of_seen), strict=True):
            self.errors += (grade - self.fitted @ x) ** 2
            self.matrices += np.outer(x, x)
            self.sums += grade * x
            self.fitted = np.linalg.solve(self.matrices, self.sums[:, :, None])[:, :, 0]
            for root in self.roots if self.setup.explore == "thompson" else ():
                turned = root.T @ x
                square = turned @ turned
                shrink = (1 - 1 / np.sqrt(1 + square)) / square
                root -= shrink * np.outer(root @ turned, turned)
        self.weights = self.fitted[self.state].copy()
        return True

    @property
    def state(self) -> int:
        """The state, of `STATES`, with the least summed squared error: it ranks the next round."""
        return int(np.argmin(self.errors))

    def _memory(self, features) -> np.ndarray:
        """The sums [0] and counts [1] of the grades seen of a query's documents: float64 (2 x m),
        the learner's own array.
        """
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
            0 if setup.start == ALONE else setup.k,
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
        own["fitted"], own["errors"] = self.fitted, self.errors
        roots = self.setup.explore == "thompson"
        own["spreads"] = self.roots if roots else np.linalg.inv(self.matrices)
        return ridge.play, {"learner": learner, **own}


def _with_intercept(features: np.ndarray) -> np.ndarray:
    """The features of documents, float64 (m x (d + 1)), with a 1 behind them."""
    return np.c_[features.astype(np.float64), np.ones(len(features))]
