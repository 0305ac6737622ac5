"""The learners that see every grade: their settings, and each in plain Python.

A learner is a class with `rank(features)` and `learn(features, grades, ranking)`; the built-in ones also have a
compiled step in `scant.kernels`, which the studies run and tests hold to the class here. A learner of one's own is
named in the settings as `module:Class` and is made as `Class(features=d, rate=rate, random=generator, **options)`.
"""

import importlib
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from scant import surrogates
from scant.errors import SettingError, unknown
from scant.measures import function_of, rank
from scant.theory import bounds

# What learners may learn, each a function of (ranking, grades, empty=0.0); in the order of the columns recorded first.
MEASURES = {name: function_of(name) for name in ("ndcg@10", "ndcg", "ap")}


@dataclass(frozen=True)
class Settings:
    """What makes a learner, but for its rate.

    measure : the measure whose loss is the learner's own, and that its SLAM weights belong to
    trigger : the learner updates only if this measure is below 1; the same as `measure` unless set
    decay : the step at round t is rate * t^-decay
    by_loss : the step is multiplied by 1 - trigger measure
    margin : SLAM's margin, a number or "grade-gap" for the difference of the grades
    averaged : SLAM's weights are those of the whole list, averaged within each grade
    learn_on_empty : ListNet learns, too, from queries without a relevant document (that scores should be equal)
    """

    kind: str
    measure: str = "ndcg@10"
    trigger: str | None = None
    decay: float = 0.0
    by_loss: bool = False
    margin: float | str = 1.0
    averaged: bool = False
    learn_on_empty: bool = False

    @property
    def as_proved(self) -> bool:
        """Whether the learner is the one that the papers' bounds are about."""
        proved = self.kind in ("slam", "max-hinge", "binary-perceptron")
        return proved and self == Settings(self.kind, self.measure, self.measure)

    def labels(self, grades: np.ndarray) -> np.ndarray:
        """What the learner learns from: the grades, or, for AP, whether they are above 0."""
        return np.minimum(grades, 1) if self.measure == "ap" else grades


# What the authors' released code does that the text does not say (reading `source: released-code`).
RELEASED_CODE = {
    "slam": {"decay": 0.5, "margin": "grade-gap", "averaged": True, "trigger": "ndcg@10"},
    "max-hinge": {"by_loss": True, "trigger": "ndcg@10"},
    "listnet": {"decay": 0.5, "learn_on_empty": True},
}
RELEASED_RATES = {"slam": [1.0], "max-hinge": [1.0], "listnet": [1.0]}


def resolve(learner: dict, source: str = "text", simulated: bool = False) -> tuple[Settings, list]:
    """The settings and the rates (numbers, or "theory") of one learner of a study under a reading `source`.

    Raises
    ------
    SettingError : an unknown kind, measure or key
    """
    options = {key: value for key, value in learner.items() if key not in ("rates", "options", "k")}
    kind = options.get("kind", "")
    if ":" not in kind and kind not in LEARNERS:
        raise unknown("kind of learner", kind, LEARNERS)
    for key in options:
        if key not in {field.name for field in fields(Settings)}:
            raise unknown("setting of a learner", key, [field.name for field in fields(Settings)])
    for key in ("measure", "trigger"):
        if options.get(key) is not None and options[key] not in MEASURES:
            raise unknown("measure", options[key], MEASURES)
    if kind == "listnet":
        options.setdefault("decay", 0.5)
    rates = learner.get("rates", [1.0])
    if source == "released-code":
        options |= RELEASED_CODE.get(kind, {})
        rates = RELEASED_RATES.get(kind, rates)
        if kind == "max-hinge" and simulated:
            options["decay"] = 0.5
    options["trigger"] = options.get("trigger") or options.get("measure", "ndcg@10")
    return Settings(**options), list(rates)


def theory_rate(settings: Settings, stream: dict) -> float:
    """The rate that theory gives this learner on a stream with this metadata.

    Raises
    ------
    SettingError : theory gives none
    """
    radius = stream["radius"] or 1.0
    if settings.kind == "slam":
        return bounds.slam_rate(places(settings, stream), radius, stream["weight_ratio"][settings.measure])
    if settings.kind == "max-hinge":
        return bounds.max_hinge_rate(radius)
    raise SettingError(f"rate 'theory': theory gives no rate for the learner {settings.kind!r}. Use a number")


def places(settings: Settings, stream: dict) -> int:
    """How many documents of a query can bear weight: m of the bounds, or k for NDCG@k."""
    m = stream["largest_query"]
    return min(10, m) if settings.measure == "ndcg@10" else m


class NonFiniteScores(ArithmeticError):
    """A learner's weights have grown beyond what its scores can hold; its run ends in a row that says so."""


class Linear:
    """What the linear learners share; each adds `surrogate(scores, labels)`, a value and a gradient."""

    def __init__(self, features: int, rate: float, settings: Settings):
        self.weights, self.rate, self.settings, self.round = np.zeros(features), rate, settings, 0

    def scores(self, features) -> np.ndarray:
        return (features.astype(np.float64) @ self.weights).astype(np.float32)

    def rank(self, features) -> np.ndarray:
        self.round += 1
        scores = self.scores(features)
        if not np.isfinite(scores).all():
            raise NonFiniteScores
        return rank(scores)

    def learn(self, features, grades, ranking) -> bool:
        """Update on the grades (m) of the query just ranked; whether there was an update."""
        loss = 1 - MEASURES[self.settings.trigger](ranking, grades)
        if loss <= 0 or not np.any(grades > 0):
            return False
        labels = self.settings.labels(grades)
        _, gradient = self.surrogate(self.scores(features).astype(np.float64), labels)
        self.descend(features, gradient, loss if self.settings.by_loss else 1.0)
        return True

    def descend(self, features, gradient, share=1.0) -> None:
        size = self.rate * self.round**-self.settings.decay * share
        self.weights -= size * (features.astype(np.float64).T @ gradient)


class Slam(Linear):
    """SLAM perceptron (perceptron paper, Algorithm 2)."""

    def surrogate(self, scores, labels):
        kind, cut = {
            "ap": ("ap", None),
            "ndcg": ("ndcg", None),
            "ndcg@10": ("ndcg", None if self.settings.averaged else 10),
        }[self.settings.measure]
        weights = surrogates.slam_weights(kind, scores, labels, cut)
        if self.settings.averaged:
            weights = surrogates.average_within_grade(weights, labels)
        return surrogates.slam(scores, labels, weights, self.settings.margin)


class MaxHinge(Linear):
    """Max-hinge perceptron (perceptron paper, Algorithm 3)."""

    def surrogate(self, scores, labels):
        return surrogates.max_hinge(scores, labels)


class ListNet(Linear):
    """Online gradient descent on ListNet's cross entropy, every round (perceptron paper, section 8)."""

    def learn(self, features, grades, ranking) -> bool:
        if not (np.any(grades > 0) or self.settings.learn_on_empty):
            return False
        labels = self.settings.labels(grades)
        _, gradient = surrogates.listnet(self.scores(features).astype(np.float64), labels)
        self.descend(features, gradient)
        return True


class BinaryPerceptron(Linear):
    """Classification perceptron (Algorithm 1) on the difference of two documents of different grades.

    Each round draws one pair; a mistake is a pair in the wrong order (or a tie).
    """

    def __init__(self, features, rate, settings, random):
        super().__init__(features, rate, settings)
        self.random = random

    def learn(self, features, grades, ranking) -> bool:
        labels = self.settings.labels(grades)
        if labels.min() == labels.max():
            return False
        while True:
            i, j = int(self.random.random() * len(labels)), int(self.random.random() * len(labels))
            if labels[i] > labels[j]:
                break
        x = features[i].astype(np.float64) - features[j]
        if self.weights @ x > 0:
            return False
        self.weights += self.rate * self.round**-self.settings.decay * x
        return True


class Random:
    """A uniformly random ranking each round: what no learning gives."""

    def __init__(self, random):
        self.random = random

    def rank(self, features) -> np.ndarray:
        return rank(np.array([self.random.random() for _ in features], np.float32))

    def learn(self, features, grades, ranking) -> bool:
        return False


class Ideal:
    """Ranks by the grades, which it is shown: the control that any correct measure gives its maximum."""

    sees_grades = True

    def rank(self, features, grades) -> np.ndarray:
        return rank(grades)

    def learn(self, features, grades, ranking) -> bool:
        return False


# Each kind of learner, as made from (features, rate, settings, random).
LEARNERS = {
    "slam": lambda d, rate, settings, random: Slam(d, rate, settings),
    "max-hinge": lambda d, rate, settings, random: MaxHinge(d, rate, settings),
    "listnet": lambda d, rate, settings, random: ListNet(d, rate, settings),
    "binary-perceptron": BinaryPerceptron,
    "random": lambda d, rate, settings, random: Random(random),
    "ideal": lambda d, rate, settings, random: Ideal(),
}


def make(settings: Settings, features: int, rate: float, random: np.random.Generator, options=None):
    """A learner in plain Python: a built-in one, or one's own named `module:Class`.

    Raises
    ------
    SettingError : the module or class cannot be imported
    """
    if settings.kind in LEARNERS:
        return LEARNERS[settings.kind](features, rate, settings, random)
    module, _, name = settings.kind.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # the console script does not look there, and modules of one's own are there
    try:
        made = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingError(
            f"learner {settings.kind!r} cannot be imported ({error}). It is to be module:Class"
        ) from error
    try:
        return made(features=features, rate=rate, random=random, **(options or {}))
    except TypeError as error:
        raise SettingError(f"learner {settings.kind!r} cannot be made with its options: {error}") from error
