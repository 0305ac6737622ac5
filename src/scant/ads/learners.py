"""Learners of ads: what each declares of itself, and how it learns. `KINDS` has those built in.

A scorer learns of each ad alone: one object for each, fitted to the rows that showed it. A learner of the whole log is
fitted once. Controls learn nothing: results are compared with theirs.
"""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from scant.ads import policies
from scant.data.logs import Log
from scant.declared import Learner, Look, Setting, own_class, settings_of
from scant.errors import DataError, SettingError, unknown

LAMBDAS = (0.01, 0.1, 1.0, 10.0)  # thesis, 5.6
NEVER = -np.inf  # the score of an ad that nothing could be learnt of
HEEDED = {  # by what is true of a learner: the readings of an experiment that it heeds
    "regularised": ("validation",),
    "ranker": ("threshold", "undersample", "undersampled"),
    "classifier": ("undersample",),
    "scaled": ("standardise",),
    "learns": ("select",),
}

GRID = Setting(
    "lambdas",
    {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "number", "exclusiveMinimum": 0}},
    about="The grid of lambda, the weight of a scorer's l2 regularisation (0.01, 0.1, 1 and 10 if absent).",
    absent=LAMBDAS,
)
STEPS = Setting(
    "steps",
    {"type": "integer", "minimum": 1},
    about="Steps of stochastic gradient descent for each ad (a million if absent).",
    absent=1_000_000,
)
TREES = Setting(
    "trees", {"type": "integer", "minimum": 1}, about="Trees of a forest (200 if absent).", absent=200
)  # fmt: skip
PAIR_LOSS = Setting(
    "pair_loss",
    {"enum": ["logistic", "hinge"]},
    about="Reading: the loss of a pair, for the AUC ranker.",
    reading=True,
    absent="logistic",
)


class AdLearner(Learner):
    """What a learner of ads declares besides what all learners do. From it follows which readings it heeds.

    learns : from the rows of each "ad" alone, from the whole "log", or not at all ("")
    ranker : whether its scores order the contexts of one ad only, so that thresholds make ads comparable
    classifier : whether its negatives are under-sampled wherever any are; those of a ranker may be
    regularised : whether it has a lambda, chosen from a grid
    scaled : whether it takes features that are standardised; others take them as they are
    explores : whether epsilon changes its policy
    logged : whether its policy is the one that logged the training log, whose rewards are then its own
    needs_truth : whether it must be known which ad is the best
    """

    learns: ClassVar[str] = ""
    ranker: ClassVar[bool] = False
    classifier: ClassVar[bool] = False
    regularised: ClassVar[bool] = False
    scaled: ClassVar[bool] = False
    explores: ClassVar[bool] = True
    logged: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "heeds" not in vars(cls):
            readings = [reading for fact, names in HEEDED.items() if getattr(cls, fact) for reading in names]
            cls.heeds = tuple(dict.fromkeys(readings))

    @classmethod
    def heeds_in(cls, name: str, experiment: Mapping) -> bool:
        if name == "undersample" and not cls.classifier and experiment["undersampled"] != "all":
            return False
        return name in cls.heeds


# --- scorers: one for each ad


class Scorer(AdLearner):
    """Learns how likely a click on one ad is in a context. Made as `Class(regularisation=lambda, **settings)`.

    `fit(features, clicked, random)` learns from the rows that showed the ad: float32 (rows x d), finite; bool (rows),
    of both kinds; a NumPy generator. `score(features)` gives a number for each row, the larger the likelier a click.
    """

    learns = "ad"
    regularised = scaled = True


class Linear(Scorer):
    """The score w.x + b."""

    weights: np.ndarray  # float64 (d)
    intercept: float = 0.0

    def score(self, features: np.ndarray) -> np.ndarray:
        return np.einsum("ij,j->i", features, self.weights.astype(np.float32)) + self.intercept


class Logistic(Linear):
    """The linear classifier of least mean logistic loss plus lambda / 2 |w|^2, by SGD; b is not regularised."""

    kind = "logistic"
    about = "A linear classifier of each ad's clicks, by the logistic loss (thesis, 5.5)."
    settings = (GRID, STEPS)
    looks: ClassVar = {"": Look("blue", "o")}
    classifier = True

    def __init__(self, regularisation: float, steps: int):
        self.regularisation, self.steps = regularisation, steps

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        from scant.kernels.pairs import descend_examples

        features, clicked = _two_classes(features, clicked)
        rate = clicked.mean()
        square = _squares(features, self.steps).mean()
        self.weights, self.intercept = descend_examples(
            features, clicked, float(self.regularisation), _offset(square, self.regularisation),
            math.log(rate / (1 - rate)), self.steps, random,
        )  # fmt: skip


class Forest(Scorer):
    """Scikit-learn's random forest. The score is the probability of a click, the mean of the trees' (thesis, 5.5)."""

    kind = "forest"
    about = "A random forest of each ad's clicks, which scores their probability (thesis, 5.5)."
    settings = (TREES,)
    looks: ClassVar = {"": Look("green", "D")}
    classifier = True
    regularised = False
    scaled = False  # scaling a feature changes no split

    def __init__(self, trees: int):
        self.trees = trees

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        from sklearn.ensemble import RandomForestClassifier

        features, clicked = _two_classes(features, clicked)
        forest = RandomForestClassifier(self.trees, n_jobs=1, random_state=int(random.integers(2**31)))
        self.forest = forest.fit(features, clicked)

    def score(self, features: np.ndarray) -> np.ndarray:
        return self.forest.predict_proba(features)[:, 1]


class AucRanker(Linear):
    """The linear ranker of least mean loss of the pairs (thesis, eq. 5.1) plus lambda / 2 |w|^2, by SGD."""

    kind = "auc-ranker"
    about = "A linear ranker of each ad's clicked contexts above the others, with a threshold (thesis, 5.4)."
    settings = (GRID, STEPS, PAIR_LOSS)
    looks: ClassVar = {"": Look("vermilion", "s")}
    ranker = True

    def __init__(self, regularisation: float, steps: int, pair_loss: str):
        self.regularisation, self.steps, self.pair_loss = regularisation, steps, pair_loss

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        from scant.kernels.pairs import descend_pairs

        features, clicked = _two_classes(features, clicked)
        positive, negative = features[clicked], features[~clicked]
        squares = _squares(features, self.steps)
        means = [rows.mean(axis=0, dtype=np.float64) for rows in (positive, negative)]
        square = squares[clicked].mean() + squares[~clicked].mean() - 2 * means[0] @ means[1]  # of a pair's difference
        self.weights = descend_pairs(
            positive, negative, float(self.regularisation), _offset(square, self.regularisation), self.steps,
            self.pair_loss == "hinge", random,
        )  # fmt: skip


def _squares(features: np.ndarray, steps: int) -> np.ndarray:
    """|x|^2 of each row; a DataError if sums of products could leave single precision."""
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    if squares.max() * 4 * steps > np.finfo(np.float32).max:  # |x - y|^2 <= 4 max |x|^2
        raise DataError("features", f"too large for single precision: one row's squares sum to {squares.max():.3g}",
                        advice="Set standardise to true, or scale the features")  # fmt: skip
    return squares


def _offset(square: float, regularisation: float) -> float:
    """The offset that makes the first step 4 / (mean square of x): the loss's curvature is a quarter of that."""
    return float(1.0 + max(square, 0.0) / (4 * regularisation))


def _two_classes(features, clicked) -> tuple[np.ndarray, np.ndarray]:
    features, clicked = np.ascontiguousarray(features, np.float32), np.asarray(clicked, bool)
    if features.ndim != 2 or features.shape[:1] != clicked.shape:
        raise DataError("features", f"shape {features.shape} for clicks of shape {clicked.shape}")
    check_finite(features)
    if clicked.all() or not clicked.any():
        which = "all" if clicked.any() else "none"
        raise DataError("clicks", f"{which} of {len(clicked)} rows is clicked; a scorer learns from both kinds")
    return features, clicked


def check_finite(features: np.ndarray) -> None:
    """Raise a DataError that says where features are not finite."""
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise DataError("features", f"row {row + 1}: feature {column + 1} is not finite")


# --- learners of the whole log


class WholeLog(AdLearner):
    """Learns from a whole log which ad to show. Made as `Class(regularisation=lambda)`.

    `fit(features, log, learnt, random)` takes the log's features, scaled, the log, and the indices of the ads that
    something can be learnt of. `best(features, untrained)` gives the ad to show in each context, int32 (rows);
    `untrained`, bool (K), are the other ads.
    """

    learns = "log"
    settings = (GRID,)
    regularised = scaled = True

    def __init__(self, regularisation: float):
        self.regularisation = regularisation

    def scores(self, features: np.ndarray) -> np.ndarray:
        """The scores of all ads, (rows x K), where there are some."""
        raise SettingError(f"the kind {self.kind!r} chooses ads without scoring them")


class OneAgainstAll(WholeLog):
    """Ridge regressions, one per ad, of the importance-weighted reward, which is 0 where another ad was shown.

    Its expectation given the context is the ad's, so that the best ad is estimated to have the largest (cost-sensitive
    one-against-all: Beygelzimer et al. 2005). Minimises half the mean squared error plus lambda / 2 |w|^2.
    """

    kind = "cost-sensitive-oaa"
    about = "Ridge regressions of each ad's importance-weighted reward (one-against-all: Beygelzimer et al. 2005)."
    looks: ClassVar = {"": Look("purple", "^")}

    def fit(self, features: np.ndarray, log: Log, learnt: np.ndarray, random) -> None:
        from sklearn.linear_model import Ridge

        weighted = np.zeros((len(log), len(log.actions)))
        weighted[np.arange(len(log)), log.action] = log.reward / log.propensity
        self.regression = Ridge(self.regularisation * len(log)).fit(features.astype(np.float64), weighted)

    def best(self, features: np.ndarray, untrained: np.ndarray) -> np.ndarray:
        return np.where(untrained, NEVER, self.scores(features)).argmax(axis=1)

    def scores(self, features: np.ndarray) -> np.ndarray:
        return self.regression.predict(features).reshape(len(features), -1)


class FilterTree(WholeLog):
    """A filter tree (Beygelzimer, Langford, Ravikumar 2007) on importance-weighted rewards: a knock-out tournament.

    Ads are paired by index, an odd one goes on to the next round. A match's referee is a logistic regression of which
    side has the larger reward, weighted by the difference, on the rows where the two sides' winners below differ in
    reward: a row counts if its ad won below and was clicked. Where only one side has such rows, it always wins; where
    neither has, the left one does.

    `leaves`, int32, are the ads that take part; `matches` are (left, right, referee), whose players are numbered:
    leaves first, then winners.
    """

    kind = "filter-tree"
    about = "A filter tree on importance-weighted rewards (Beygelzimer, Langford, Ravikumar 2007)."
    looks: ClassVar = {"": Look("sky", "v")}

    def fit(self, features: np.ndarray, log: Log, learnt: np.ndarray, random) -> None:
        players, leaves = list(range(len(learnt))), [np.full(len(log), ad, np.int32) for ad in learnt]
        winners, matches = leaves, []
        weight = log.reward / log.propensity
        while len(players) > 1:
            following = []
            for left, right in zip(players[::2], players[1::2], strict=False):
                gain = weight * ((winners[left] == log.action).astype(float) - (winners[right] == log.action))
                referee = _referee(features, gain, self.regularisation)
                winners.append(_decide(referee, features, winners[left], winners[right]))
                matches.append((left, right, referee))
                following.append(len(winners) - 1)
            players = following + (players[-1:] if len(players) % 2 else [])
        self.leaves, self.matches = np.asarray(learnt, np.int32), tuple(matches)

    def best(self, features: np.ndarray, untrained: np.ndarray) -> np.ndarray:
        winners = [np.full(len(features), ad, np.int32) for ad in self.leaves]
        for left, right, referee in self.matches:
            winners.append(_decide(referee, features, winners[left], winners[right]))
        return winners[-1] if winners else np.zeros(len(features), np.int32)


def _referee(features, gain: np.ndarray, regularisation: float):
    """A classifier of which rows gain on the left, or True (always left) or False."""
    from sklearn.linear_model import LogisticRegression

    rows = gain != 0
    left, weights = gain[rows] > 0, np.abs(gain[rows])
    if left.all() or not left.any():
        return bool(left.all())
    model = LogisticRegression(C=1 / (regularisation * weights.sum()), max_iter=1000)
    return model.fit(features[rows], left, weights)


def _decide(referee, features, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if isinstance(referee, bool):
        return left if referee else right
    return np.where(referee.predict(features), left, right)


# --- controls


class Control(AdLearner):
    """A policy that learns nothing.

    `choice(features, actions, epsilon, world, best)` is what it does in some contexts: float32 (rows x d), the number
    of ads, the share of exploration, the campaign if there is one, and the best ad in each row if that is known.
    """


class Uniform(Control):
    kind = "uniform"
    about = "Shows every ad alike."
    looks: ClassVar = {"": Look("grey", "x", "--")}
    explores = False

    @staticmethod
    def choice(features, actions: int, epsilon: float, world, best):
        return policies.uniform(len(features), actions)


class Logging(Control):
    kind = "logging"
    about = "The policy that logged the training log."
    looks: ClassVar = {"": Look("brown", "*", "--")}
    explores = False
    logged = True

    @staticmethod
    def choice(features, actions: int, epsilon: float, world, best):
        if world:
            return policies.Mixed(world.propensities(features))
        return policies.uniform(len(features), actions)  # which logged classification sets


class Oracle(Control):
    kind = "oracle"
    about = "Shows the ad that is the best in truth; exploration is on top of it."
    looks: ClassVar = {"": Look("#000000", "+", "--")}
    needs_truth = True

    @staticmethod
    def choice(features, actions: int, epsilon: float, world, best):
        return policies.Choice(world.oracle(features) if world else best, epsilon, actions)


KINDS: dict[str, type[AdLearner]] = {
    learner.kind: learner
    for learner in (Logistic, Forest, AucRanker, OneAgainstAll, FilterTree, Uniform, Logging, Oracle)
}


def learner_of(kind: str) -> type[AdLearner]:
    """The class of a kind of learner; of one's own `module:Class`, with what it does not declare as `Scorer` has it.

    Raises
    ------
    SettingError : there is no such kind, or one's own cannot be imported or is no scorer
    """
    if ":" in kind:
        return _completed(kind, own_class(kind))
    if kind not in KINDS:
        raise unknown("kind of scorer", kind, KINDS)
    return KINDS[kind]


@cache
def _completed(kind: str, written: type) -> type[Scorer]:
    for method in ("fit", "score"):
        if not (isinstance(written, type) and callable(getattr(written, method, None))):
            raise SettingError(f"{kind} is no scorer: it is to be a class with fit(features, clicked, random) and "
                               f"score(features), and has no {method}")  # fmt: skip
    heeds = {"heeds": written.heeds} if getattr(written, "heeds", ()) else {}
    learner = type(written.__name__, (written, Scorer), {"kind": kind} | heeds)
    if learner.regularised and GRID.name not in settings_of(learner):
        learner.settings = (GRID, *learner.settings)
    return learner


def check_options(kind: str, options: Mapping) -> None:
    """Raise a SettingError for settings that a kind of learner cannot have.

    options : by name; those that other kinds have are passed over, but for a learner of one's own
    """
    from scant.schema import check

    learner = learner_of(kind)
    if ":" not in kind:
        known = {name for other in KINDS.values() for name in settings_of(other)}
        for name in options:
            if name not in known:
                raise unknown("setting of scorers", name, known)
    check(dict(options), {"properties": {name: one.schema for name, one in settings_of(learner).items()}}, kind)
    if ":" in kind:
        given = _arguments(learner, 1.0, options)
        try:
            inspect.signature(own_class(kind)).bind(**given)
        except TypeError as error:
            raise SettingError(f"{kind} cannot be made with {', '.join(given) or 'nothing'}: {error}") from None


def made(kind: str, regularisation: float, options: Mapping):
    """A learner of a kind, not fitted.

    regularisation : lambda, for one that has it
    options : its settings by name, and perhaps those of others; those that are absent are as it declares
    """
    given = _arguments(learner_of(kind), regularisation, options)
    return Checked(kind, own_class(kind)(**given)) if ":" in kind else KINDS[kind](**given)


def _arguments(learner: type[AdLearner], regularisation: float, options: Mapping) -> dict:
    """What a learner is made with: lambda, if it has one, and its settings; of one's own, all options."""
    declared = {name: one.absent for name, one in settings_of(learner).items() if name != GRID.name}
    given = {name: absent for name, absent in declared.items() if absent is not None}
    given |= {name: value for name, value in options.items() if name in declared or ":" in learner.kind}
    return ({"regularisation": regularisation} if learner.regularised else {}) | given


@dataclass(frozen=True)
class Checked:
    """A scorer of one's own, whose scores are checked.

    Raises
    ------
    SettingError : scores that are no finite numbers, or not one for each row
    """

    kind: str
    scorer: object

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        self.scorer.fit(features, clicked, random)

    def score(self, features: np.ndarray) -> np.ndarray:
        scores = np.asarray(self.scorer.score(features))
        if scores.shape != (len(features),):
            raise SettingError(
                f"{self.kind}: scores of shape {scores.shape} for {len(features)} rows; one each is needed"
            )
        if scores.dtype.kind not in "fiub" or not np.isfinite(scores).all():
            raise SettingError(f"{self.kind}: scores are to be finite numbers, and one is {_odd(scores)}")
        return scores.astype(np.float64)


def _odd(scores: np.ndarray):
    """The first score that is no finite number."""
    return next(score for score in scores.tolist() if not (isinstance(score, (int, float)) and math.isfinite(score)))
