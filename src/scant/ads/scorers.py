"""Scorers of ads learnt from a bandit log: one per ad, or one for all.

A scorer of one ad is fitted as `fit(features, clicked, random, settings)` to the rows that showed the ad and has
`score(features)`; `SCORERS` names them. `PEERS` learn from the whole log. `train` makes the `Model` of either kind.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real

import numpy as np

from scant.ads.policies import MEASURES, threshold
from scant.data.logs import Log
from scant.errors import DataError, SettingError, unknown

LAMBDAS = (0.01, 0.1, 1.0, 10.0)  # thesis, 5.6
LOSSES = ("logistic", "hinge")
UNDERSAMPLED = ("classifiers", "all")
CHUNK = 1 << 25  # features and scores in work at a time, which bounds memory
NEVER = -np.inf  # the score of an ad that nothing could be learnt of


@dataclass(frozen=True)
class Settings:
    """How scorers are trained. The thesis does not say whether features are scaled, nor whether rankers are
    under-sampled.

    regularisation : lambda of `lambda / 2 |w|^2` beside the mean loss; forests have none
    steps : of stochastic gradient descent
    loss : of the pairs of a ranker, "logistic" or "hinge"
    trees : of a forest
    standardise : features get mean 0 and deviation 1 over the training log (forests take them as they are)
    undersample : negatives kept for each positive, drawn at random for each ad; None for all
    undersampled : whose negatives, "classifiers" (logistic, forest) or "all" (rankers too); peers keep theirs

    Raises
    ------
    SettingError : a value that cannot be
    """

    regularisation: float = 0.01
    steps: int = 1_000_000
    loss: str = "logistic"
    trees: int = 200
    standardise: bool = True
    undersample: int | None = None
    undersampled: str = "classifiers"

    def __post_init__(self):
        if not (isinstance(self.regularisation, Real) and 0 < self.regularisation < math.inf):
            raise SettingError(f"regularisation is {self.regularisation!r}; lambda must be a number above 0")
        for name in ("steps", "trees", "undersample"):
            value = getattr(self, name)
            if value is None and name == "undersample":
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise SettingError(f"{name} is {value!r}; it must be a whole number from 1")
        for name, known in (("loss", LOSSES), ("undersampled", UNDERSAMPLED)):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)


def resolve(options: Mapping) -> Settings:
    """Settings from a study's options; a SettingError for an unknown one suggests the nearest."""
    known = [one.name for one in fields(Settings)]
    for key in options:
        if key not in known:
            raise unknown("setting of scorers", key, known)
    return Settings(**options)


# Scorers of one ad


@dataclass(frozen=True)
class Linear:
    """The score w.x + b."""

    weights: np.ndarray  # float64 (d)
    intercept: float = 0.0

    def score(self, features: np.ndarray) -> np.ndarray:
        return np.einsum("ij,j->i", features, self.weights.astype(np.float32)) + self.intercept


@dataclass(frozen=True)
class Forest:
    """The probability of a click, the mean of the trees' (thesis, 5.5)."""

    trees: object

    def score(self, features: np.ndarray) -> np.ndarray:
        return self.trees.predict_proba(features)[:, 1]


def fit_logistic(features: np.ndarray, clicked: np.ndarray, random, settings: Settings) -> Linear:
    """The linear classifier of least mean logistic loss plus lambda / 2 |w|^2, by SGD; b is not regularised.

    Parameters
    ----------
    features : float32 (rows x d), finite
    clicked : bool (rows), of both kinds
    random : a NumPy generator
    """
    from scant.kernels.pairs import descend_examples

    features, clicked = _two_classes(features, clicked)
    rate = clicked.mean()
    square = _squares(features, settings).mean()
    weights, intercept = descend_examples(
        features, clicked, float(settings.regularisation), _offset(square, settings), math.log(rate / (1 - rate)),
        settings.steps, random,
    )  # fmt: skip
    return Linear(weights, intercept)


def fit_ranker(features: np.ndarray, clicked: np.ndarray, random, settings: Settings) -> Linear:
    """The linear ranker of least mean loss of the pairs (thesis, eq. 5.1) plus lambda / 2 |w|^2, by SGD.

    Parameters are those of `fit_logistic`.
    """
    from scant.kernels.pairs import descend_pairs

    features, clicked = _two_classes(features, clicked)
    positive, negative = features[clicked], features[~clicked]
    squares = _squares(features, settings)
    means = [one.mean(axis=0, dtype=np.float64) for one in (positive, negative)]
    square = squares[clicked].mean() + squares[~clicked].mean() - 2 * means[0] @ means[1]  # of the difference of a pair
    weights = descend_pairs(
        positive, negative, float(settings.regularisation), _offset(square, settings), settings.steps,
        settings.loss == "hinge", random,
    )  # fmt: skip
    return Linear(weights)


def fit_forest(features: np.ndarray, clicked: np.ndarray, random, settings: Settings) -> Forest:
    """Scikit-learn's random forest; parameters are those of `fit_logistic`."""
    from sklearn.ensemble import RandomForestClassifier

    features, clicked = _two_classes(features, clicked)
    forest = RandomForestClassifier(settings.trees, n_jobs=1, random_state=int(random.integers(2**31)))
    return Forest(forest.fit(features, clicked))


def _squares(features: np.ndarray, settings: Settings) -> np.ndarray:
    """|x|^2 of each row; a DataError if sums of products could leave single precision."""
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    if squares.max() * 4 * settings.steps > np.finfo(np.float32).max:  # |x - y|^2 <= 4 max |x|^2
        raise DataError("features", f"too large for single precision: one row's squares sum to {squares.max():.3g}",
                        advice="Set standardise to true, or scale the features")  # fmt: skip
    return squares


def _offset(square: float, settings: Settings) -> float:
    """The offset that makes the first step 4 / (mean square of x): the loss's curvature is a quarter of that."""
    return float(1.0 + max(square, 0.0) / (4 * settings.regularisation))


def _two_classes(features, clicked) -> tuple[np.ndarray, np.ndarray]:
    features, clicked = np.ascontiguousarray(features, np.float32), np.asarray(clicked, bool)
    if features.ndim != 2 or features.shape[:1] != clicked.shape:
        raise DataError("features", f"shape {features.shape} for clicks of shape {clicked.shape}")
    _check_finite(features)
    if clicked.all() or not clicked.any():
        which = "all" if clicked.any() else "none"
        raise DataError("clicks", f"{which} of {len(clicked)} rows is clicked; a scorer learns from both kinds")
    return features, clicked


def _check_finite(features: np.ndarray) -> None:
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise DataError("features", f"row {row + 1}: feature {column + 1} is not finite")


SCORERS = {"logistic": fit_logistic, "forest": fit_forest, "auc-ranker": fit_ranker}
RANKERS = ("auc-ranker",)
AS_THEY_ARE = ("forest",)  # scaling a feature changes no split


# Peers that learn from the whole log


@dataclass(frozen=True)
class OneAgainstAll:
    """A regression of each ad's reward on the context."""

    regression: object

    def best(self, features: np.ndarray, untrained: np.ndarray) -> np.ndarray:
        return np.where(untrained, NEVER, self.scores(features)).argmax(axis=1)

    def scores(self, features: np.ndarray) -> np.ndarray:
        return self.regression.predict(features).reshape(len(features), -1)


@dataclass(frozen=True)
class FilterTree:
    """A knock-out tournament; `matches` are (left, right, referee), players as nodes: leaves first, then winners."""

    leaves: np.ndarray  # int32, the ads that take part
    matches: tuple

    def best(self, features: np.ndarray, untrained: np.ndarray) -> np.ndarray:
        winners = [np.full(len(features), ad, np.int32) for ad in self.leaves]
        for left, right, referee in self.matches:
            winners.append(_decide(referee, features, winners[left], winners[right]))
        return winners[-1] if winners else np.zeros(len(features), np.int32)


def fit_one_against_all(features, log: Log, learnt: np.ndarray, random, settings: Settings) -> OneAgainstAll:
    """Ridge regressions, one per ad, of the importance-weighted reward, which is 0 where another ad was shown.

    Its expectation given the context is the ad's, so that the best ad is estimated to have the largest (cost-sensitive
    one-against-all: Beygelzimer et al. 2005). Minimises half the mean squared error plus lambda / 2 |w|^2.
    """
    from sklearn.linear_model import Ridge

    weighted = np.zeros((len(log), len(log.actions)))
    weighted[np.arange(len(log)), log.action] = log.reward / log.propensity
    return OneAgainstAll(Ridge(settings.regularisation * len(log)).fit(features.astype(np.float64), weighted))


def fit_filter_tree(features, log: Log, learnt: np.ndarray, random, settings: Settings) -> FilterTree:
    """A filter tree (Beygelzimer, Langford, Ravikumar 2007) on importance-weighted rewards.

    Ads are paired by index, an odd one goes on to the next round. A match's referee is a logistic regression of which
    side has the larger reward, weighted by the difference, on the rows where the two sides' winners below differ in
    reward: a row counts if its ad won below and was clicked. Where only one side has such rows, it always wins; where
    neither has, the left one does.
    """
    players, leaves = list(range(len(learnt))), [np.full(len(log), ad, np.int32) for ad in learnt]
    winners, matches = leaves, []
    weight = log.reward / log.propensity
    while len(players) > 1:
        following = []
        for left, right in zip(players[::2], players[1::2], strict=False):
            gain = weight * ((winners[left] == log.action).astype(float) - (winners[right] == log.action))
            referee = _referee(features, gain, settings.regularisation)
            winners.append(_decide(referee, features, winners[left], winners[right]))
            matches.append((left, right, referee))
            following.append(len(winners) - 1)
        players = following + (players[-1:] if len(players) % 2 else [])
    return FilterTree(np.asarray(learnt, np.int32), tuple(matches))


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


PEERS = {"cost-sensitive-oaa": fit_one_against_all, "filter-tree": fit_filter_tree}
KINDS = (*SCORERS, *PEERS)


# Models


@dataclass(frozen=True)
class Model:
    """What was learnt from a log.

    An ad without a click, or with nothing but clicks, or never shown, is untrained: it is chosen only if all ads are,
    and then the first one is.
    """

    kind: str
    actions: tuple[str, ...]
    centre: np.ndarray  # float32 (d): features are (x - centre) / width
    width: np.ndarray
    untrained: tuple[str, ...]  # ids of the ads that nothing could be learnt of
    scorers: tuple = ()  # one per ad, None if untrained; empty for a peer
    peer: object = None
    # Of rankers: by measure, float64 (K), over the rows that the ad's ranker learnt from.
    thresholds: dict[str, np.ndarray] = field(default_factory=dict)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """The scores of all ads, float32 (rows x K); -inf for untrained ones.

        Raises
        ------
        DataError : features of another number, or not finite
        SettingError : a filter tree, which has no scores
        """
        if self.kind == "filter-tree":
            raise SettingError("a filter tree chooses ads without scoring them")
        made = np.empty((len(features), len(self.actions)), np.float32)
        for rows, chunk in self._chunks(features):
            made[rows] = self._scores(chunk)
        return made

    def best(self, features: np.ndarray, by: str = "f1") -> np.ndarray:
        """The ad to show in each context, int32 (rows): the largest score, for rankers less the ad's threshold.

        Ties go to the ad that comes first.

        Parameters
        ----------
        features : float32 (rows x d)
        by : the measure that a ranker's thresholds maximise (thesis, eq. 5.2); nothing to other kinds
        """
        if by not in MEASURES:
            raise unknown("measure of a threshold", by, MEASURES)
        best = np.empty(len(features), np.int32)
        for rows, chunk in self._chunks(features):
            if self.peer is not None:
                best[rows] = self.peer.best(chunk, self._untrained())
            else:
                best[rows] = (self._scores(chunk) - self.thresholds.get(by, 0.0)).argmax(axis=1)
        return best

    def _untrained(self) -> np.ndarray:
        return np.isin(self.actions, self.untrained)

    def _scores(self, chunk: np.ndarray) -> np.ndarray:
        if self.peer is not None:
            return np.where(self._untrained(), NEVER, self.peer.scores(chunk))
        scores = np.full((len(chunk), len(self.actions)), NEVER)
        for ad, scorer in enumerate(self.scorers):
            if scorer is not None:
                scores[:, ad] = scorer.score(chunk)
        return scores

    def _chunks(self, features: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        if np.ndim(features) != 2 or features.shape[1] != len(self.centre):
            raise DataError("features", f"shape {np.shape(features)}; the model has {len(self.centre)} features")
        rows = max(1, CHUNK // (len(self.centre) + len(self.actions)))
        for start in range(0, len(features), rows):
            part = slice(start, start + rows)
            _check_finite(features[part])
            yield part, _scaled(features[part], self.centre, self.width)


def train(kind: str, log: Log, random: np.random.Generator, settings: Settings = Settings()) -> Model:
    """Learn one kind of model from a log.

    Equal generators draw the same negatives and examples for each ad whatever lambda is, so that models along a grid
    are paired.

    Parameters
    ----------
    kind : see `KINDS`
    log : a checked log
    random : a NumPy generator
    settings : see `Settings`

    Raises
    ------
    SettingError : an unknown kind
    DataError : rewards other than 0 and 1, which only `cost-sensitive-oaa` and `filter-tree` can use
    """
    if kind not in KINDS:
        raise unknown("kind of scorer", kind, KINDS)
    rows = [np.flatnonzero(log.action == ad) for ad in range(len(log.actions))]
    seeds = random.integers(2**63, size=len(rows))
    if kind in SCORERS and (odd := np.flatnonzero((log.reward != 0) & (log.reward != 1))).size:
        reason = f"row {odd[0] + 1}: reward {log.reward[odd[0]]}; {kind} learns from clicks, 0 or 1"
        raise DataError("log", reason, advice=f"Round the rewards, or use {' or '.join(PEERS)}")
    clicked = log.reward > 0
    learnt = [ad for ad, held in enumerate(rows) if clicked[held].any() and not clicked[held].all()]
    untrained = tuple(action for ad, action in enumerate(log.actions) if ad not in learnt)
    centre, width = _scale(log.features, settings.standardise and kind not in AS_THEY_ARE)
    model = Model(kind, log.actions, centre, width, untrained)
    if kind in PEERS:
        peer = PEERS[kind](_scaled(log.features, centre, width), log, np.array(learnt, int), random, settings)
        return replace(model, peer=peer)
    scorers, thresholds = [None] * len(rows), {by: np.zeros(len(rows)) for by in MEASURES if kind in RANKERS}
    for ad in learnt:
        own = np.random.Generator(np.random.PCG64(seeds[ad]))
        held = rows[ad]
        if settings.undersample and (kind not in RANKERS or settings.undersampled == "all"):
            held = held[undersample(clicked[held], settings.undersample, own)]
        features = _scaled(log.features[held], centre, width)
        scorers[ad] = SCORERS[kind](features, clicked[held], own, settings)
        if thresholds:
            scores = scorers[ad].score(features)
            for by, values in thresholds.items():
                values[ad] = threshold(scores, clicked[held], by)
    return replace(model, scorers=tuple(scorers), thresholds=thresholds)


def undersample(clicked: np.ndarray, ratio: int, random: np.random.Generator) -> np.ndarray:
    """Indices, ascending, of all positives and of `ratio` times as many negatives drawn at random, or all there are."""
    positive, negative = np.flatnonzero(clicked), np.flatnonzero(~np.asarray(clicked, bool))
    if ratio * len(positive) < len(negative):
        negative = random.choice(negative, ratio * len(positive), replace=False, shuffle=False)
    return np.sort(np.concatenate([positive, negative]))


def _scale(features: np.ndarray, standardise: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each feature, float32; a constant feature has deviation 1."""
    d = features.shape[1]
    if not standardise:
        return np.zeros(d, np.float32), np.ones(d, np.float32)
    centre = features.mean(axis=0, dtype=np.float64)
    width = features.std(axis=0, dtype=np.float64)
    constant = (features == features[0]).all(axis=0)
    centre[constant], width[constant] = features[0, constant], 1.0
    return centre.astype(np.float32), np.maximum(width, np.finfo(np.float32).tiny).astype(np.float32)


def _scaled(features: np.ndarray, centre: np.ndarray, width: np.ndarray) -> np.ndarray:
    return (features - centre) / width if centre.any() or (width != 1).any() else features


# The grid of lambda


def fit_grid(
    kind: str, log: Log, random: np.random.Generator, lambdas=LAMBDAS, settings: Settings = Settings()
) -> dict[float, Model]:  # fmt: skip
    """A model for each lambda, all from the same random numbers; a forest, which has no lambda, is fitted once.

    Raises
    ------
    SettingError : no lambda, one that occurs twice, or one that is not above 0
    """
    if not len(lambdas) or len(set(lambdas)) < len(lambdas):
        raise SettingError(f"lambdas are {list(lambdas)}; give each once, and at least one")
    grid = [replace(settings, regularisation=value) for value in lambdas]
    seed = int(random.integers(2**63))
    models = {}
    for one in grid:
        if kind == "forest" and models:
            models[one.regularisation] = next(iter(models.values()))
        else:
            models[one.regularisation] = train(kind, log, np.random.Generator(np.random.PCG64(seed)), one)
    return models


def split(log: Log, share: float, random: np.random.Generator) -> tuple[Log, Log]:
    """A training part and a validation part, which is about `share` of the rows; each keeps their order.

    Raises
    ------
    SettingError : a share that leaves one of them without rows
    """
    count = round(share * len(log)) if 0 < share < 1 else 0
    if not 0 < count < len(log):
        raise SettingError(f"validation share is {share}; of {len(log)} rows it leaves one part without any")
    held = np.zeros(len(log), bool)
    held[random.choice(len(log), count, replace=False, shuffle=False)] = True
    return log.take(~held), log.take(held)


def validate(models: Mapping[float, Model], log: Log, by: str = "f1") -> dict[float, float]:
    """The importance-weighted CTR (thesis, eq. 5.4) on a log of each lambda's deterministic policy."""
    weighted = log.reward / log.propensity
    return {value: float(np.mean(weighted * (model.best(log.features, by) == log.action)))
            for value, model in models.items()}  # fmt: skip


def select(values: Mapping[float, float]) -> float:
    """The lambda of the largest value, such as of `validate`; of equal ones the largest lambda.

    Raises
    ------
    SettingError : no value, or one that is not a number
    """
    if not values or any(math.isnan(value) for value in values.values()):
        raise SettingError(f"no lambda can be selected by {dict(values)}")
    return max(values, key=lambda one: (values[one], one))
