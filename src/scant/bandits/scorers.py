"""Models of ads, learnt from a bandit log: `train` fits one model, `fit_grid` one for each
lambda.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real

import numpy as np

from scant.bandits.learners import (
    GRID,
    KINDS,
    NEVER,
    STEPS,
    check_options,
    learner_of,
    made,
)
from scant.bandits.policies import MEASURES, largest, threshold
from scant.data.logs import Log
from scant.declare.declarations import settings_of
from scant.errors import DataError, SettingError, unknown

# settings of an experiment that change how models are fitted
READINGS = ("standardise", "undersample", "undersampled")
UNDERSAMPLED = ("classifiers", "all")
ROWS = 1 << 13  # rows worked on at a time, so that they stay in the cache

# of gradient descent for an ad, where they follow from its rows; they take 2 ms
LEAST_STEPS = 50_000
MOST = 1e100  # of a lambda, as in the settings of a study
CHUNK = 1 << 25  # numbers (features and scores) in work at a time, which bounds memory


@dataclass(frozen=True)
class Settings:
    """How models are fitted. The thesis does not say whether features are scaled, nor whether
    rankers are under-sampled.

    regularisation : lambda; `lambda / 2 |w|^2` is added to the mean loss. Forests have none
    standardise : whether features are scaled to mean 0 and deviation 1 over the training log (never
        for forests)
    undersample : how many negatives to keep for each positive, drawn at random for each ad; None
        for all
    undersampled : whose negatives are drawn: "classifiers", or "all" for those of rankers, too;
        learners of the whole log keep all
    options : the learner's own settings by name; one that is absent has the default that the
        learner declares
    passes : of gradient descent over an ad's rows, with `LEAST_STEPS` steps at least and at most as
        many as `options` say; None for the steps of `options`, however many rows an ad has
    """

    regularisation: float = 0.01
    standardise: bool = True
    undersample: int | None = None
    undersampled: str = "classifiers"
    options: Mapping = field(default_factory=dict)
    passes: int | None = None

    def __post_init__(self):
        if not (isinstance(self.regularisation, Real) and 0 < self.regularisation <= MOST):
            raise SettingError(
                f"regularisation is {self.regularisation!r}; lambda must be a number above 0, at "
                f"most {MOST:g}"
            )
        ratio = self.undersample
        if ratio is not None and (
            isinstance(ratio, bool) or not isinstance(ratio, Integral) or ratio < 1
        ):
            raise SettingError(f"undersample is {ratio!r}; it must be a whole number from 1")
        if self.undersampled not in UNDERSAMPLED:
            raise unknown("undersampled", self.undersampled, UNDERSAMPLED)


def resolve(learner: Mapping, readings: Mapping) -> Settings:
    """The settings, but for lambda, of a study's learner under the readings of an experiment."""
    declared = settings_of(learner_of(learner["kind"]))
    options = {name: learner[name] for name in declared if name in learner and name != GRID.name}
    options |= learner.get("options", {})
    return Settings(options=options, **{name: readings[name] for name in READINGS})


def check(learner: Mapping, readings: Mapping, log_origin: str) -> None:
    """Raise a SettingError if a learner cannot learn from a log, as far as this can be told without
    reading the log.

    log_origin : what the log is made from: "classification", "campaign" or "log", see
        `scant.ads.family`
    """
    check_options(learner["kind"], resolve(learner, readings).options)
    if learner_of(learner["kind"]).needs_truth and log_origin == "log":
        raise SettingError(
            "an oracle needs a campaign, or a classification set, where the best ad is known"
        )


# Models


@dataclass(frozen=True)
class Model:
    """A model learnt from a log.

    An ad that was never shown, or whose rewards are all the same (never or always clicked), is
    untrained. It is never chosen, unless all ads are untrained: then the first one is.
    """

    kind: str
    actions: tuple[str, ...]
    centre: np.ndarray  # float32 (d): features are (x - centre) / width
    width: np.ndarray
    untrained: tuple[str, ...]  # ids of the ads that nothing could be learnt about
    scorers: tuple = ()  # one per ad, None if untrained; empty for a learner of the whole log
    whole: object = None  # the learner of the whole log, if the model is one

    # For rankers, by measure: a threshold for each ad, float64 (K), chosen on the rows that its
    # ranker learnt from.
    thresholds: dict[str, np.ndarray] = field(default_factory=dict)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """The scores of all ads, float32 (rows x K), from finite features, float32 (rows x d); -inf
        for untrained ones. A SettingError if the learner has no scores (a filter tree).
        """
        scores = np.empty((len(features), len(self.actions)), np.float32)
        for rows, chunk in self._chunks(features):
            scores[rows] = self._scores(chunk)
        return scores

    def best(
        self, features: np.ndarray, by: str = "f1", eligible: np.ndarray | None = None
    ) -> np.ndarray:
        """The ad to show in each context, int32 (rows): the one with the largest score, less the
        threshold for rankers.

        Of ads with equal scores the first is shown; if all eligible ads are untrained, the first of
        them.

        Parameters
        ----------
        features : float32 (rows x d)
        by : the measure that a ranker's thresholds maximise (thesis, eq. 5.2), or "none" for scores
            as they are; other learners ignore it
        eligible : the ads of each context to choose from, bool (rows x K); None for all
        """
        best = np.empty(len(features), np.int32)
        for rows, chunk in self._chunks(features):
            among = None if eligible is None else eligible[rows]
            if self.whole is not None:
                best[rows] = self.whole.best(chunk, self._untrained(), among)
            else:
                best[rows] = largest(self._scores(chunk) - self.thresholds.get(by, 0.0), among)
        return best

    def _untrained(self) -> np.ndarray:
        return np.isin(self.actions, self.untrained)

    def _scores(self, chunk: np.ndarray) -> np.ndarray:
        if self.whole is not None:
            return np.where(self._untrained(), NEVER, self.whole.scores(chunk))
        scores = np.full((len(chunk), len(self.actions)), NEVER)
        for ad, scorer in enumerate(self.scorers):
            if scorer is not None:
                scores[:, ad] = scorer.score(chunk)
        return scores

    def _chunks(self, features: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """The rows in parts that bound memory: each a slice, and its scaled features."""
        rows = max(1, CHUNK // (len(self.centre) + len(self.actions)))
        for start in range(0, len(features), rows):
            part = slice(start, start + rows)
            with np.errstate(over="ignore"):
                scaled = _scaled(features[part], self.centre, self.width)
            if not np.isfinite(scaled).all():
                raise SettingError(
                    "a feature is too far from those of training: (value - centre) / width is no "
                    "number of single precision. Give it in another unit, or leave the rows out"
                )
            yield part, scaled


def train(
    kind: str | type,
    log: Log,
    random: np.random.Generator,
    settings: Settings = Settings(),
    progress=None,
    scale: tuple[np.ndarray, np.ndarray] | None = None,
) -> Model:
    """Fit one model to a log.

    Equal generators draw the same negatives and examples for each ad whatever lambda is, so that
    the models of a grid are paired.

    Parameters
    ----------
    kind : the learner, a key of `scant.bandits.learners.KINDS` or `module:Class`, or a class
    log : a checked log
    random : a NumPy generator
    settings : see `Settings`
    progress : called with a sentence on each step that begins
    scale : what `_scale` gives for this log, if it is known
    """
    learner = learner_of(kind)
    if not learner.learns:
        raise SettingError(
            f"the kind {learner.kind!r} is a control, which learns nothing from a log"
        )
    rows = [np.flatnonzero(log.action == ad) for ad in range(len(log.actions))]
    # one for each ad, so that what it draws does not depend on others
    seeds = random.integers(2**63, size=len(rows))
    rewards = _rewards(learner, log, settings)
    learnt = [ad for ad, shown in enumerate(rows) if (rewards[shown] != rewards[shown[:1]]).any()]
    untrained = tuple(action for ad, action in enumerate(log.actions) if ad not in learnt)
    centre, width = scale or _scale(log.features, settings.standardise and learner.scaled)
    model = Model(learner.kind, log.actions, centre, width, untrained)
    if learner.learns == "log":
        whole = made(kind, settings.regularisation, settings.options)
        whole.fit(_scaled(log.features, centre, width), log, np.array(learnt, int), random)
        return replace(model, whole=whole)
    scorers = [None] * len(rows)
    thresholds = {by: np.zeros(len(rows)) for by in MEASURES if learner.ranker}
    for number, ad in enumerate(learnt, start=1):
        if progress:
            at = f" at lambda {settings.regularisation:g}" if learner.regularised else ""
            progress(f"{learner.kind}: learns ad {number} of {len(learnt)}{at}")
        ad_random = np.random.Generator(np.random.PCG64(seeds[ad]))
        shown = rows[ad]
        if settings.undersample and learner.heeds_in(
            "undersample", {"undersampled": settings.undersampled}
        ):
            shown = shown[undersample(rewards[shown], settings.undersample, ad_random)]
        features = np.ascontiguousarray(_scaled(log.features[shown], centre, width))
        scorers[ad] = made(kind, settings.regularisation, _options(settings, learner, len(shown)))
        scorers[ad].fit(features, rewards[shown], ad_random)
        if thresholds:
            scores = scorers[ad].score(features)
            for by, values in thresholds.items():
                values[ad] = threshold(scores, rewards[shown], by)
    return replace(model, scorers=tuple(scorers), thresholds=thresholds)


def _rewards(learner: type, log: Log, settings: Settings) -> np.ndarray:
    """What a learner is fitted to: clicks, bool (rows), if all rewards are 0 or 1; else rewards,
    float64 (rows), or an error if it needs clicks.
    """
    odd = np.flatnonzero((log.reward != 0) & (log.reward != 1))
    if not odd.size:
        return log.reward > 0
    which = f"row {odd[0] + 1}: reward {log.reward[odd[0]]}"
    if not learner.graded:
        graded = " or ".join(name for name, other in KINDS.items() if other.graded)
        advice = (
            f"Use {graded}; or, with `scant ads`, a scikit-learn regressor, such as "
            "sklearn.linear_model:Ridge"
        )
        raise DataError("log", f"{which}; {learner.kind} learns from clicks, 0 or 1", advice=advice)
    if settings.undersample and learner.heeds_in(
        "undersample", {"undersampled": settings.undersampled}
    ):
        raise SettingError(
            f"undersample keeps misses for each click, and rewards are no clicks ({which}): "
            f"leave it out for {learner.kind}"
        )
    return log.reward


def _options(settings: Settings, learner: type, rows: int) -> Mapping:
    """The options of the scorer of an ad with so many rows: `settings.options`, with steps by
    `Settings.passes`.
    """
    steps = settings_of(learner).get(STEPS.name)
    if settings.passes is None or steps is None:
        return settings.options
    most = settings.options.get(STEPS.name, steps.absent)
    return {**settings.options, STEPS.name: min(most, max(LEAST_STEPS, settings.passes * rows))}


def undersample(clicked: np.ndarray, ratio: int, random: np.random.Generator) -> np.ndarray:
    """Indices, ascending, of all positives and of `ratio` times as many negatives, drawn at random.

    If there are fewer negatives, all of them are kept.
    """
    positive, negative = np.flatnonzero(clicked), np.flatnonzero(~np.asarray(clicked, bool))
    if ratio * len(positive) < len(negative):
        # Their order does not matter: they are sorted next.
        negative = random.choice(negative, ratio * len(positive), replace=False, shuffle=False)
    return np.sort(np.concatenate([positive, negative]))


def _scale(features: np.ndarray, standardise: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each feature, float32 (d) each; a constant feature gets deviation 1.

    Without `standardise` the means are 0 and the deviations 1, which leaves features as they are.
    """
    d = features.shape[1]
    if not standardise:
        return np.zeros(d, np.float32), np.ones(d, np.float32)
    centre = features.mean(axis=0, dtype=np.float64)
    width = _deviation(features, centre)
    constant = (features == features[0]).all(axis=0)
    # A mean that is rounded would leave them a deviation above 0.
    centre[constant], width[constant] = features[0, constant], 1.0
    return centre.astype(np.float32), np.maximum(width, np.finfo(np.float32).tiny).astype(
        np.float32
    )


def _deviation(features: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """The standard deviation of each feature, float64 (d): NumPy's number, without its copy of all
    as float64.
    """
    if features.shape[1] == 1:  # NumPy adds up a single column in another order
        return features.std(axis=0, dtype=np.float64)
    total = np.zeros((1, features.shape[1]))
    for start in range(0, len(features), ROWS):
        squares = features[start : start + ROWS] - centre
        squares *= squares
        total = np.add.reduce(np.concatenate([total, squares]), axis=0, keepdims=True)
    return np.sqrt(total[0] / len(features))


def _scaled(features: np.ndarray, centre: np.ndarray, width: np.ndarray) -> np.ndarray:
    return (features - centre) / width if centre.any() or (width != 1).any() else features


# The grid of lambda


def fit_grid(
    kind: str,
    log: Log,
    random: np.random.Generator,
    lambdas,
    settings: Settings,
    progress=None,
) -> dict[float, Model]:
    """By lambda, the model of a learner fitted with it, all with the same random numbers.

    progress : see `train`
    """
    if not len(lambdas) or len(set(lambdas)) < len(lambdas):
        raise SettingError(f"lambdas are {list(lambdas)}; give each once, and at least one")
    grid = [replace(settings, regularisation=value) for value in lambdas]
    seed = int(random.integers(2**63))
    scale = _scale(log.features, settings.standardise and learner_of(kind).scaled)
    models = {}
    for point in grid:
        same_random = np.random.Generator(np.random.PCG64(seed))
        models[point.regularisation] = train(kind, log, same_random, point, progress, scale)
    return models


def split(log: Log, share: float, random: np.random.Generator) -> tuple[Log, Log]:
    """Split a log at random into a training part and a validation part, which has the `share` of
    its rows (rounded).

    Rows keep their order.
    """
    count = round(share * len(log)) if 0 < share < 1 else 0
    if not 0 < count < len(log):
        raise SettingError(
            f"validation share is {share}; of {len(log)} rows it leaves one part without any"
        )
    held_out = np.zeros(len(log), bool)
    held_out[random.choice(len(log), count, replace=False, shuffle=False)] = True
    return log.take(~held_out), log.take(held_out)


def validate(models: Mapping[float, Model], log: Log, by: str = "f1") -> dict[float, float]:
    """By lambda, the importance-weighted CTR of the model's deterministic policy on a log (thesis,
    eq. 5.4).
    """
    weighted = log.reward / log.propensity
    return {
        regularisation: float(
            np.mean(weighted * (model.best(log.features, by, log.eligible) == log.action))
        )
        for regularisation, model in models.items()
    }


def select(values: Mapping[float, float], losses: Mapping[float, float]) -> float:
    """The lambda with the largest value; of equal ones with the least loss, then the largest
    lambda.

    values, losses : by lambda; values as `validate` returns them
    """
    return max(values, key=lambda candidate: (values[candidate], -losses[candidate], candidate))
