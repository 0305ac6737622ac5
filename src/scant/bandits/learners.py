"""The learners of ads: what each declares about itself, and how it learns. `KINDS` lists the
built-in ones.

A scorer learns about one ad: there is one object for each ad, fitted to the rows that showed it. A
learner of the whole log is fitted once. Controls are policies to compare with; they learn nothing.
"""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from scant.bandits import forests, policies
from scant.data.logs import Log
from scant.declare.declarations import Learner, Look, Setting, own_class, settings_of, whole_number
from scant.declare.own import making
from scant.errors import DataError, SettingError, unknown

LAMBDAS = (0.01, 0.1, 1.0, 10.0)  # thesis, 5.6
NEVER = -np.inf  # the score of an ad that nothing could be learnt about
HEEDED = {  # the readings of an experiment that a learner heeds if this attribute is true
    "regularised": ("validation",),
    "ranker": ("threshold", "undersample", "undersampled"),
    "classifier": ("undersample",),
    "scaled": ("standardise",),
    "learns": ("select",),
}

GRID = Setting(
    "lambdas",
    {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {"type": "number", "exclusiveMinimum": 0},
    },
    about="The grid of lambda, the weight of a scorer's l2 regularisation.",
    absent=LAMBDAS,
)
STEPS = Setting(
    "steps",
    whole_number(),
    about="Steps of stochastic gradient descent for each ad.",
    absent=1_000_000,
)
TREES = Setting("trees", whole_number(1, 100_000), about="Trees of a forest.", absent=200)
TREE_ROWS = Setting(
    "tree_rows",
    whole_number(),
    about="The rows that each tree of a forest learns from, drawn at random; as many as the ad has "
    "if absent or more.",
)
LEAF = Setting(
    "leaf",
    whole_number(),
    about="The least rows of a leaf of a forest.",
    absent=1,
)
PAIR_LOSS = Setting(
    "pair_loss",
    {"enum": ["logistic", "hinge"]},
    about="Reading: the loss of a pair, for the AUC ranker.",
    reading=True,
    absent="logistic",
)


class AdLearner(Learner):
    """A learner of ads. These attributes, which come on top of those of `Learner`, determine which
    readings it heeds.

    learns : what it is fitted to: "ad", the rows of one ad; "log", the whole log; or "", nothing
    graded : whether it learns from any rewards in [0, 1]; else from clicks alone, 0 or 1
    ranker : whether its scores only order the contexts of one ad, so that ads need thresholds to be
        comparable
    classifier : whether its negatives are under-sampled whenever the reading `undersample` is set;
        a ranker's are only if `undersampled` is "all"
    regularised : whether it has a lambda, chosen from a grid
    scaled : whether its features are standardised, under the reading `standardise`
    explores : whether epsilon changes its policy
    logged : whether its policy is the one that logged the training log, so that this log tells its
        CTR
    needs_truth : whether it needs to know which ad is the best
    """

    learns: ClassVar[str] = ""
    graded: ClassVar[bool] = False
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
            readings = [
                reading
                for attribute, names in HEEDED.items()
                if getattr(cls, attribute)
                for reading in names
            ]
            cls.heeds = tuple(dict.fromkeys(readings))

    @classmethod
    def heeds_in(cls, name: str, experiment: Mapping) -> bool:
        if name == "undersample" and not cls.classifier and experiment["undersampled"] != "all":
            return False
        return name in cls.heeds


# --- scorers: one for each ad


class Scorer(AdLearner):
    """Learns how likely a click on one ad is in a context. Made as `Class(regularisation=lambda,
    **settings)`.

    `fit(features, clicked, random)` learns from the rows that showed the ad: finite features,
    float32 (rows x d); clicks, bool (rows), some true and some false; and a NumPy generator.
    `score(features)` returns a number for each row; the larger it is, the likelier is a click.
    Where `graded`, and rewards of the log are other than 0 and 1, `fit` gets these in place of
    clicks, float64 (rows), not all equal; scores then order expected rewards.
    """

    learns = "ad"
    regularised = scaled = True


class Linear(Scorer):
    """A scorer whose score is w.x + b."""

    weights: np.ndarray  # float64 (d)
    intercept: float = 0.0

    def score(self, features: np.ndarray) -> np.ndarray:
        return np.einsum("ij,j->i", features, self.weights.astype(np.float32)) + self.intercept


class Logistic(Linear):
    """The linear classifier that minimises mean logistic loss plus lambda / 2 |w|^2, by SGD; b is
    not regularised.
    """

    kind = "logistic"
    about = "A linear classifier of each ad's clicks, by the logistic loss (thesis, 5.5)."
    settings = (GRID, STEPS)
    looks: ClassVar = {"": Look("blue", "o")}
    classifier = True

    def __init__(self, regularisation: float, steps: int):
        self.regularisation, self.steps = regularisation, steps

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        from scant.kernels.pairs import descend_examples

        rate = clicked.mean()
        square = _squares(features, self.steps).mean()
        self.weights, self.intercept = descend_examples(
            features,
            clicked,
            float(self.regularisation),
            _offset(square, self.regularisation),
            math.log(rate / (1 - rate)),
            self.steps,
            random,
        )


class Forest(Scorer):
    """Scikit-learn's random forest. The score is the probability of a click, averaged over trees
    (thesis, 5.5).

    Of rewards other than 0 and 1 it is a forest of regression trees, and the score the expected
    reward.
    """

    kind = "forest"
    about = "A random forest of each ad's clicks, which scores their probability (thesis, 5.5)."
    settings = (TREES, TREE_ROWS, LEAF)
    looks: ClassVar = {"": Look("green", "D")}
    classifier = graded = True
    regularised = False
    scaled = False  # scaling a feature changes no split

    def __init__(self, trees: int, tree_rows: int | None = None, leaf: int = 1):
        self.trees, self.tree_rows, self.leaf = trees, tree_rows, leaf

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        rows = min(self.tree_rows or len(clicked), len(clicked))
        with _unchecked():
            self.forest = forests.grow(
                features, clicked, self.trees, rows, self.leaf, int(random.integers(2**31))
            )

    def score(self, features: np.ndarray) -> np.ndarray:
        return self.forest.mean_reward(features)


class AucRanker(Linear):
    """The linear ranker that minimises the mean loss of pairs plus lambda / 2 |w|^2, by SGD
    (thesis, equation 5.1).
    """

    kind = "auc-ranker"
    about = (
        "A linear ranker of each ad's clicked contexts above the others, with a threshold "
        "(thesis, 5.4)."
    )
    settings = (GRID, STEPS, PAIR_LOSS)
    looks: ClassVar = {"": Look("vermilion", "s")}
    ranker = True

    def __init__(self, regularisation: float, steps: int, pair_loss: str):
        self.regularisation, self.steps, self.pair_loss = regularisation, steps, pair_loss

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        from scant.kernels.pairs import descend_pairs

        positive, negative = features[clicked], features[~clicked]
        squares = _squares(features, self.steps)
        means = [rows.mean(axis=0, dtype=np.float64) for rows in (positive, negative)]
        # of a pair's difference
        square = squares[clicked].mean() + squares[~clicked].mean() - 2 * means[0] @ means[1]
        self.weights = descend_pairs(
            positive,
            negative,
            float(self.regularisation),
            _offset(square, self.regularisation),
            self.steps,
            self.pair_loss == "hinge",
            random,
        )


def _squares(features: np.ndarray, steps: int) -> np.ndarray:
    """|x|^2 of each row, float64 (rows); a DataError if sums over `steps` of products could
    overflow float32.
    """
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    if squares.max() * 4 * steps > np.finfo(np.float32).max:  # |x - y|^2 <= 4 max |x|^2
        raise DataError(
            "features",
            f"too large for single precision: one row's squares sum to {squares.max():.3g}",
            advice="Set standardise to true, or scale the features",
        )
    return squares


def _offset(square: float, regularisation: float) -> float:
    """The offset of the step sizes that makes the first one 4 / `square` (the mean of |x|^2), the
    loss's inverse curvature.
    """
    return float(1.0 + max(square, 0.0) / (4 * regularisation))


# --- learners of the whole log


class WholeLog(AdLearner):
    """Learns from a whole log which ad to show. Made as `Class(regularisation=lambda)`.

    `fit(features, log, learnt, random)` takes the scaled features of the log, the log, the indices
    of the ads that something can be learnt about, and a NumPy generator. `best(features, untrained,
    eligible)` returns the ad to show in each context, int32 (rows); `untrained`, bool (K), marks
    the ads that nothing could be learnt about, and `eligible`, bool (rows x K) or None for all,
    those that a context can get.
    """

    learns = "log"
    graded = True
    settings = (GRID,)
    regularised = scaled = True

    def __init__(self, regularisation: float):
        self.regularisation = regularisation

    def scores(self, features: np.ndarray) -> np.ndarray:
        """The scores of all ads, (rows x K); a SettingError if the learner has none."""
        raise SettingError(f"the kind {self.kind!r} chooses ads without scoring them")


class OneAgainstAll(WholeLog):
    """One ridge regression per ad of its importance-weighted reward, which is 0 where another ad
    was shown.

    Given the context, this reward has the expectation of the ad's reward, so that the ad with the
    largest estimate is shown (cost-sensitive one-against-all: Beygelzimer et al. 2005). Minimises
    half the mean squared error plus lambda / 2 |w|^2. An ad's rows are those in which it is
    eligible.
    """

    kind = "cost-sensitive-oaa"
    about = (
        "Ridge regressions of each ad's importance-weighted reward (one-against-all: "
        "Beygelzimer et al. 2005)."
    )
    draws = False
    looks: ClassVar = {"": Look("purple", "^")}

    def fit(self, features: np.ndarray, log: Log, learnt: np.ndarray, random) -> None:
        from sklearn.linear_model import Ridge

        weighted = np.zeros((len(log), len(log.actions)))
        weighted[np.arange(len(log)), log.action] = log.reward / log.propensity
        features = features.astype(np.float64)
        with _unchecked():
            # Scikit-learn's loss is the sum of squares, not half of their mean.
            self.regression = Ridge(self.regularisation * len(log)).fit(features, weighted)
            if log.eligible is None:  # all rows tell of every ad
                return
            for ad in learnt:
                rows = log.eligible[:, ad]
                of_ad = Ridge(self.regularisation * rows.sum()).fit(
                    features[rows], weighted[rows, ad]
                )
                self.regression.coef_[ad], self.regression.intercept_[ad] = (
                    of_ad.coef_,
                    of_ad.intercept_,
                )

    def best(
        self, features: np.ndarray, untrained: np.ndarray, eligible: np.ndarray | None = None
    ) -> np.ndarray:
        return policies.largest(np.where(untrained, NEVER, self.scores(features)), eligible)

    def scores(self, features: np.ndarray) -> np.ndarray:
        return self.regression.predict(features).reshape(len(features), -1)


class FilterTree(WholeLog):
    """A filter tree (Beygelzimer, Langford, Ravikumar 2007) on importance-weighted rewards: a
    knock-out tournament.

    Ads are paired by index; an odd one goes on to the next round. Each match has a referee, a
    logistic regression that predicts which side has the larger reward. It is fitted to the rows
    where the rewards of the two sides differ, each weighted by the difference: these are the rows
    with a click on an ad that won all of its matches before, on either side. If only one side has
    such rows, it always wins; if neither has, the left one does. Where only one side's ad is
    eligible, it wins without a match.

    leaves : int32, the ads that take part
    matches : (left, right, referee) each; left and right are numbers of players: first the leaves,
        then the winners of the matches in order
    """

    kind = "filter-tree"
    about = "A filter tree on importance-weighted rewards (Beygelzimer, Langford, Ravikumar 2007)."
    draws = False
    looks: ClassVar = {"": Look("sky", "v")}

    def fit(self, features: np.ndarray, log: Log, learnt: np.ndarray, random) -> None:
        players = list(range(len(learnt)))
        leaves = [np.full(len(log), ad, np.int32) for ad in learnt]
        winners, matches = leaves, []
        weighted_reward = log.reward / log.propensity
        while len(players) > 1:
            next_round = []
            for left, right in zip(players[::2], players[1::2], strict=False):
                gain = weighted_reward * (
                    (winners[left] == log.action).astype(float) - (winners[right] == log.action)
                )
                if log.eligible is not None:
                    gain *= _fits(log.eligible, winners[left]) & _fits(log.eligible, winners[right])
                referee = _referee(features, gain, self.regularisation)
                winners.append(
                    _decide(referee, features, winners[left], winners[right], log.eligible)
                )
                matches.append((left, right, referee))
                next_round.append(len(winners) - 1)
            players = next_round + (players[-1:] if len(players) % 2 else [])
        self.leaves, self.matches = np.asarray(learnt, np.int32), tuple(matches)

    def best(
        self, features: np.ndarray, untrained: np.ndarray, eligible: np.ndarray | None = None
    ) -> np.ndarray:
        winners = [np.full(len(features), ad, np.int32) for ad in self.leaves]
        for left, right, referee in self.matches:
            winners.append(_decide(referee, features, winners[left], winners[right], eligible))
        winner = winners[-1] if winners else np.zeros(len(features), np.int32)
        # Where no ad that takes part is eligible, the first that is.
        return (
            winner
            if eligible is None
            else np.where(_fits(eligible, winner), winner, eligible.argmax(axis=1))
        )


@dataclass(frozen=True)
class Referee:
    """A linear classifier that predicts the side of a match with the larger reward."""

    weights: np.ndarray  # float64 (d)
    intercept: float

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Whether the left side wins in each context, bool (rows)."""
        return features @ self.weights + self.intercept > 0


def _referee(features, gain: np.ndarray, regularisation: float) -> Referee | bool:
    """The referee of a match, which minimises weighted mean logistic loss plus lambda / 2 |w|^2; or
    a bool if the same side always wins.

    gain : float64 (rows), the weighted reward of the left side minus the right side's
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    rows = gain != 0
    side, share = np.sign(gain[rows]), np.abs(gain[rows]) / np.abs(gain).sum()
    if not (side < 0).any() or not (side > 0).any():
        return not (side < 0).any()
    x = features[rows].astype(np.float64)

    def loss(point):  # and its gradient
        weights, margin = point[:-1], side * (x @ point[:-1] + point[-1])
        slope = -share * side * expit(-margin)
        value = share @ np.logaddexp(0, -margin) + regularisation / 2 * (weights @ weights)
        return value, np.append(slope @ x + regularisation * weights, slope.sum())

    # As scikit-learn's LogisticRegression, which takes three times as long for the few clicks of a
    # log.
    options = {"gtol": 1e-4, "ftol": 64 * np.finfo(float).eps, "maxls": 50, "maxiter": 1000}
    minimum = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options=options)
    return Referee(minimum.x[:-1], float(minimum.x[-1]))


def _decide(
    referee, features, left: np.ndarray, right: np.ndarray, eligible: np.ndarray | None = None
) -> np.ndarray:
    """The ad that wins a match in each context, int32 (rows).

    left, right : int32 (rows), the ads of the two sides in each context
    """
    if isinstance(referee, bool) and eligible is None:
        return left if referee else right
    wins = np.full(len(left), referee) if isinstance(referee, bool) else referee.predict(features)
    if eligible is not None:
        of_left, of_right = _fits(eligible, left), _fits(eligible, right)
        wins = np.where(of_left == of_right, wins, of_left)
    return np.where(wins, left, right)


def _fits(eligible: np.ndarray, ad: np.ndarray) -> np.ndarray:
    """Whether the ad of each context is eligible there, bool (rows); ad : int32 (rows)"""
    return eligible[np.arange(len(ad)), ad]


def _unchecked():
    """A context without scikit-learn's checks, which repeat ours and take a tenth of the time of
    short fits.
    """
    from sklearn import config_context

    return config_context(assume_finite=True, skip_parameter_validation=True)


# --- controls


class Control(AdLearner):
    """A policy that learns nothing.

    `choice(features, actions, epsilon, world, best)` returns the policy on some contexts, as
    `scant.bandits.policies` has it. It takes their features, float32 (rows x d), the number of ads,
    the probability of exploring, the campaign or None, and the best ad of each row if it is known.
    """

    draws = False


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
        # which is the one that logs classification sets
        return policies.uniform(len(features), actions)


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
    for learner in (
        Logistic,
        Forest,
        AucRanker,
        OneAgainstAll,
        FilterTree,
        Uniform,
        Logging,
        Oracle,
    )
}


def learner_of(kind: str | type[AdLearner]) -> type[AdLearner]:
    """The class of a kind of learner. A user's `module:Class` gets what it does not declare from
    `Scorer`.

    kind : its name, or the class itself (of `of_model`)

    Raises
    ------
    SettingError : an unknown kind, or a user's class that cannot be imported or is no scorer
    """
    if isinstance(kind, type):
        return kind
    if ":" in kind:
        return _completed(kind, own_class(kind))
    if kind not in KINDS:
        raise unknown("kind of scorer", kind, KINDS)
    return KINDS[kind]


@cache
def _completed(kind: str, user_class: type) -> type[Scorer]:
    """A subclass of a user's scorer and of `Scorer`; a SettingError if it lacks `fit` or
    `score`.
    """
    for method in ("fit", "score"):
        if not (isinstance(user_class, type) and callable(getattr(user_class, method, None))):
            raise SettingError(
                f"{kind} is no scorer: it is to be a class with fit(features, clicked, random) and "
                f"score(features), and has no {method}"
            )
    heeds = {"heeds": user_class.heeds} if getattr(user_class, "heeds", ()) else {}
    learner = type(user_class.__name__, (user_class, Scorer), {"kind": kind} | heeds)
    if learner.regularised and GRID.name not in settings_of(learner):
        learner.settings = (GRID, *learner.settings)
    return learner


def of_model(model) -> type[Scorer]:
    """A kind of learner that fits a clone of a scikit-learn model to each ad.

    A classifier is fitted to clicks and scores their probability, by `predict_proba`; a regressor
    is fitted to rewards, clicks or not, and scores by `predict`. Where the model has a
    `random_state` that is None, the learner sets it.

    Raises
    ------
    SettingError : it is neither, or has no `fit` or `get_params`
    """
    for method in ("fit", "get_params"):
        if isinstance(model, type) or not callable(getattr(model, method, None)):
            what = (
                "a class, not an object of one" if isinstance(model, type) else f"without {method}"
            )
            raise SettingError(
                f"{model!r} is no classifier or regressor as scikit-learn has them: it is {what}"
            )
    classifies = callable(getattr(model, "predict_proba", None))
    if not classifies and not _is_regressor(model):
        raise SettingError(
            f"{model!r} is neither a classifier with predict_proba nor a regressor, as "
            "scikit-learn has them. Use such a one; a class of your own says that it is a "
            "regressor by scikit-learn's RegressorMixin"
        )

    class Fitted(Scorer):
        kind = type(model).__name__
        looks: ClassVar = {"": Look("grey", "P")}
        regularised = False
        classifier = classifies  # which heeds under-sampling
        graded = not classifies

        def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
            from sklearn.base import clone

            self.model = clone(model)
            if self.model.get_params().get("random_state", 0) is None:
                self.model.set_params(random_state=int(random.integers(2**31)))
            self.model.fit(features, clicked if classifies else clicked.astype(np.float64))

        def score(self, features: np.ndarray) -> np.ndarray:
            what = "has to score rows, a classifier by a column for each of two classes"
            with making(f"{model!r} {what}"):
                if not classifies:
                    return self.model.predict(features)
                no_click, click = np.asanyarray(self.model.predict_proba(features)).T
                return click if list(self.model.classes_)[1] else no_click

    return Fitted


def _is_regressor(model) -> bool:
    from sklearn.base import is_regressor

    try:
        return is_regressor(model)
    except AttributeError:  # a class from outside scikit-learn that does not say what it is
        return False


def check_options(kind: str | type[AdLearner], options: Mapping) -> None:
    """Raise a SettingError for settings that a kind of learner cannot have.

    options : settings by name. A built-in learner ignores settings of other kinds, which are in
        their limits; a user's class has to accept every one
    """
    from scant.schema import check

    learner = learner_of(kind)
    kind, known = learner.kind, settings_of(learner)
    if ":" not in kind:
        known = {name: of for other in KINDS.values() for name, of in settings_of(other).items()}
        for name in options:
            if name not in known:
                raise unknown("setting of scorers", name, known)
    check(
        dict(options),
        {"properties": {name: setting.schema for name, setting in known.items()}},
        kind,
    )
    if ":" in kind:
        arguments = _arguments(learner, 1.0, options)
        with making(f"{kind} cannot be made with {', '.join(arguments) or 'nothing'}"):
            inspect.signature(own_class(kind)).bind(**arguments)


def made(kind: str | type[AdLearner], regularisation: float, options: Mapping):
    """Make a learner, not yet fitted.

    regularisation : lambda, for a learner that has one
    options : its settings by name; absent ones have the declared defaults, and settings of other
        kinds are ignored
    """
    if isinstance(kind, type):
        return Checked(kind.kind, kind())
    arguments = _arguments(learner_of(kind), regularisation, options)
    return Checked(kind, own_class(kind)(**arguments)) if ":" in kind else KINDS[kind](**arguments)


def _arguments(learner: type[AdLearner], regularisation: float, options: Mapping) -> dict:
    """The arguments that make a learner: lambda, if it has one, and its settings; for a user's
    class, all options.
    """
    defaults = {
        name: setting.absent for name, setting in settings_of(learner).items() if name != GRID.name
    }
    settings = {name: default for name, default in defaults.items() if default is not None}
    settings |= {
        name: value for name, value in options.items() if name in defaults or ":" in learner.kind
    }
    return ({"regularisation": regularisation} if learner.regularised else {}) | settings


@dataclass(frozen=True)
class Checked:
    """A user's own scorer. A SettingError, if its scores are not a finite number for each row."""

    kind: str
    scorer: object

    def fit(self, features: np.ndarray, clicked: np.ndarray, random) -> None:
        with making(f"{self.kind} cannot learn"):
            self.scorer.fit(features, clicked, random)

    def score(self, features: np.ndarray) -> np.ndarray:
        features = features.view()
        features.flags.writeable = False  # other scorers see them, too
        with making(f"{self.kind} cannot score"):
            given = self.scorer.score(features)
        scores = np.asarray(given)
        if scores.shape != (len(features),):
            raise SettingError(
                f"{self.kind}: scores of shape {scores.shape} for {len(features)} rows; one each "
                "is needed"
            )
        if (
            scores.dtype.kind not in "fiub"
            or np.ma.is_masked(given)
            or not np.isfinite(scores).all()
        ):
            raise SettingError(f"{self.kind}: scores are to be finite numbers")
        return scores.astype(np.float64)
