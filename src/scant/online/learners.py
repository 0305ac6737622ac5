"""The learners that see every grade: their declarations, and their reference implementations in plain Python.

A learner is a class with `rank(features)` and `learn(features, grades, ranking)`. Built-in ones also have a compiled
step in `scant.kernels`, which studies run; tests check that it does the same as the class here. A user's own learner is
named as `module:Class` in the settings, and made as `Class(features=d, rate=rate, random=generator, **options)`.
"""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from scant import declared, surrogates
from scant.declared import Look, Setting, own_class, settings_of
from scant.errors import SettingError, unknown
from scant.measures import function_of, rank
from scant.online import steps
from scant.online.iterates import ITERATE, Iterates
from scant.online.steps import SCHEDULE
from scant.theory import bounds

# The measures that learners may learn, as functions of (ranking, grades, empty=0.0), in the order of runs' columns.
MEASURES = {name: function_of(name) for name in ("ndcg@10", "ndcg", "ap")}


@dataclass(frozen=True)
class Settings:
    """The settings of a learner, except its rate.

    measure : the measure whose loss the learner suffers, and which its SLAM weights are for
    trigger : the learner updates only if this measure is below 1; if None, the same as `measure`
    decay : the step at round t is rate * t^-decay
    by_loss : whether the step is multiplied by 1 - trigger measure
    margin : SLAM's margin, a number or "grade-gap" for the difference of the grades
    averaged : whether SLAM's weights are computed over the whole list and averaged within each grade
    learn_on_empty : whether ListNet also learns from queries without a relevant document (namely equal scores)
    steps : how steps are taken: "schedule", or one of `scant.online.steps.STEPS`, which need no rate
    iterate : the weights that it ranks by, one of `scant.online.iterates.CHOICES`
    """

    kind: str
    measure: str = "ndcg@10"
    trigger: str | None = None
    decay: float = 0.0
    by_loss: bool = False
    margin: float | str = 1.0
    averaged: bool = False
    learn_on_empty: bool = False
    steps: str = SCHEDULE
    iterate: str = "last"

    @property
    def as_proved(self) -> bool:
        """Whether the learner is the one that the papers' bounds are about."""
        proved = self.kind in LEARNERS and LEARNERS[self.kind].proved
        return proved and self == Settings(self.kind, self.measure, self.measure)

    def labels(self, grades: np.ndarray) -> np.ndarray:
        """The labels that the learner learns from: the grades, or, for AP, 1 for grades above 0."""
        return np.minimum(grades, 1) if self.measure == "ap" else grades


def resolve(learner: dict, source: str = "text", simulated: bool = False) -> tuple[Settings, list]:
    """The complete settings of a learner, and its rates: numbers, or "theory".

    learner : its settings in a study; the rate of steps that need none is None
    source : the reading "text" or "released-code"
    simulated : whether the stream is simulated, for which the released code has settings of its own

    Raises
    ------
    SettingError : the kind, a measure or a key is unknown
    """
    kind = learner.get("kind", "")
    if ":" not in kind and kind not in LEARNERS:
        raise unknown("kind of learner", kind, LEARNERS)
    cls = LEARNERS.get(kind, Contextual)
    known = [field.name for field in fields(Settings)]
    options = {key: value for key, value in learner.items() if key not in ("rates", "options", "k")}
    if ":" in kind and not options.keys() <= {*known}:  # the others may be declared by its class
        options = {key: value for key, value in options.items() if key not in own_settings(learner)}
    for key in options:
        if key not in known:
            raise unknown("setting of a learner", key, known)
    for key in ("measure", "trigger"):
        if options.get(key) is not None and options[key] not in MEASURES:
            raise unknown("measure", options[key], MEASURES)
    options = {**cls.defaults, **options}
    rates = learner.get("rates", [1.0])
    if source == "released-code":
        options |= cls.released | (cls.released_simulated if simulated else {})
        rates = cls.released_rates or rates
    options["trigger"] = options.get("trigger") or options.get("measure", "ndcg@10")
    if options.get("steps", SCHEDULE) != SCHEDULE:
        options, rates = options | {"decay": 0.0}, [None]
    return Settings(**options), list(rates)


def own_settings(learner: dict) -> dict:
    """The keyword arguments of a user's own learner: its `options`, and the settings that its class declares."""
    known = settings_of(own_class(learner["kind"]))
    return learner.get("options", {}) | {key: value for key, value in learner.items() if key in known}


def theory_rate(settings: Settings, stream: dict) -> float:
    """The rate of the bounds for a learner, on a stream with this metadata.

    Raises
    ------
    SettingError : theory gives the learner no rate
    """
    return LEARNERS.get(settings.kind, Contextual).theory_rate(settings, stream)


def places(settings: Settings, stream: dict) -> int:
    """How many documents of a query can have weight: m in the bounds; at most 10 for NDCG@10."""
    m = stream["largest_query"]
    return min(10, m) if settings.measure == "ndcg@10" else m


class NonFiniteScores(ArithmeticError):
    """A learner's scores are no longer finite, since its weights are too large. Its run ends in a row that says so."""


MEASURED = {"enum": list(MEASURES)}
MEASURE = Setting("measure", MEASURED, about="The measure whose loss is the learner's own.", absent="ndcg@10")
TRIGGER = Setting(
    "trigger", MEASURED, about="The learner updates only if this measure is below 1; by default the same as measure."
)
RATES = Setting(
    "rates",
    {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {
            "description": "A rate is a number above 0 (0.001, not 1e-3, which YAML reads as text), or theory.",
            "oneOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "theory"}],
        },
    },
    about='Learning rates to play, numbers or "theory" for the rate of the bounds. All are kept.',
)
DECAY = Setting(
    "decay", {"type": "number", "minimum": 0, "maximum": 1}, about="The step at round t is rate * t^-decay."
)
STEPS = Setting(
    "steps",
    {"enum": list(steps.CHOICES)},
    about="How steps are taken: by rates that follow a schedule (schedule), or as large as the gradients so far tell, "
    "without a rate: adagrad, dog, coin (betting) or cocob.",
    absent=SCHEDULE,
    ours=True,
)
BY_LOSS = Setting("by_loss", {"type": "boolean"}, about="Whether the step is multiplied by the round's loss.")
MARGIN = Setting(
    "margin",
    {"oneOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "grade-gap"}]},
    about="SLAM's margin, or grade-gap for the difference of the two grades.",
)
AVERAGED = Setting(
    "averaged",
    {"type": "boolean"},
    about="Whether SLAM's weights are those of the whole list, averaged within each grade.",
)
LEARN_ON_EMPTY = Setting(
    "learn_on_empty",
    {"type": "boolean"},
    about="Whether ListNet learns, too, from queries without a relevant document.",
)


class Contextual(declared.Learner):
    """What learners on streams of queries declare, besides what all learners do.

    branch : the learner's number in the compiled loop
    defaults : its default settings, where they differ from the defaults of `Settings`
    released_simulated : the settings that differ in the released code for simulated streams, besides `released`
    learns : whether it learns, and so has rates
    neutral : whether it has no measure of its own, so that it is shown under every measure
    pairwise : whether its loss counts pairs of documents in the wrong order, instead of what its rankings lose
    sees_grades : whether it gets the grades before it ranks
    proved : whether the papers prove bounds for it
    at_any_rate : whether the bound for separable streams holds at every rate
    gives_rate : whether theory gives it a rate
    """

    branch: ClassVar[int]
    defaults: ClassVar[dict] = {}
    released_simulated: ClassVar[dict] = {}
    learns: ClassVar[bool] = True
    neutral: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False
    sees_grades: ClassVar[bool] = False
    proved: ClassVar[bool] = False
    at_any_rate: ClassVar[bool] = False
    gives_rate: ClassVar[bool] = False

    @classmethod
    def made(cls, features: int, rate: float, settings: Settings, random: np.random.Generator):
        """A learner for streams with this number of features; `random` is the generator of its random numbers."""
        return cls(features, rate, settings)

    @classmethod
    def theory_rate(cls, settings: Settings, stream: dict) -> float:
        """The rate of the bounds on a stream with this metadata. Raise a SettingError if theory gives none."""
        raise SettingError(f"rate 'theory': theory gives no rate for the learner {settings.kind!r}. Use a number")

    @classmethod
    def separable_bound(cls, settings: Settings, stream: dict) -> float:
        """The bound on the loss on a separable stream with this metadata and a margin above 0; NaN if there is none."""
        return np.nan

    @classmethod
    def general_constants(cls, settings: Settings, stream: dict) -> tuple[int, float] | None:
        """m and v_max in the bound for streams that need not be separable; None if there is no such bound."""
        return None


class Linear(Contextual):
    """What linear learners share. Each adds `surrogate(scores, labels)`, which returns a value and a gradient."""

    draws = False

    def __init__(self, features: int, rate: float, settings: Settings):
        self.weights, self.rate, self.setup, self.round = np.zeros(features), rate, settings, 0
        self.steps = steps.made(settings.steps, features, scale=1.0)
        self.iterates = Iterates(settings.iterate)

    @classmethod
    def check(cls, settings) -> None:
        steps.check(settings)

    def scores(self, features, weights=None) -> np.ndarray:
        """The scores of documents, float32 (m), by the last weights if none are given."""
        return (features.astype(np.float64) @ (self.weights if weights is None else weights)).astype(np.float32)

    def rank(self, features) -> np.ndarray:
        self.round += 1
        scores, shown = self.scores(features), self.scores(features, self.iterates.mean(self.weights))
        if not np.isfinite([scores, shown]).all():
            raise NonFiniteScores
        self.by_last = rank(scores)
        return rank(shown)

    def learn(self, features, grades, ranking) -> bool:
        """Update on the grades (m) of the query that was ranked last; return whether there was an update."""
        loss = 1 - MEASURES[self.setup.trigger](self.by_last, grades)
        if loss <= 0 or not np.any(grades > 0):
            return False
        labels = self.setup.labels(grades)
        _, gradient = self.surrogate(self.scores(features).astype(np.float64), labels)
        self.descend(features, gradient, loss if self.setup.by_loss else 1.0)
        return True

    def descend(self, features, gradient, share=1.0) -> None:
        slope = features.astype(np.float64).T @ gradient
        if self.steps:
            self.steps.take(self.weights, share * slope)
        else:
            self.weights -= self.rate * self.round**-self.setup.decay * share * slope


class Slam(Linear):
    """SLAM perceptron (perceptron paper, Algorithm 2)."""

    kind = "slam"
    about = "SLAM perceptron (perceptron paper, Algorithm 2)."
    settings = (MEASURE, TRIGGER, RATES, DECAY, STEPS, ITERATE, BY_LOSS, MARGIN, AVERAGED)
    looks: ClassVar = {"": Look("blue", "o"), "ndcg": Look("sky", "^")}
    heeds = ("source",)
    released: ClassVar = {"decay": 0.5, "margin": "grade-gap", "averaged": True, "trigger": "ndcg@10"}
    released_rates = (1.0,)
    branch = 2
    proved = gives_rate = True

    @classmethod
    def theory_rate(cls, settings, stream):
        ratio = stream["weight_ratio"][settings.measure]
        return bounds.slam_rate(places(settings, stream), stream["radius"] or 1.0, ratio)

    @classmethod
    def separable_bound(cls, settings, stream):
        ratio = stream["weight_ratio"][settings.measure]
        return bounds.slam_separable(places(settings, stream), stream["radius"], ratio, stream["margin"])

    @classmethod
    def general_constants(cls, settings, stream):
        return places(settings, stream), stream["weight_ratio"][settings.measure]

    def surrogate(self, scores, labels):
        kind, cut = {
            "ap": ("ap", None),
            "ndcg": ("ndcg", None),
            "ndcg@10": ("ndcg", None if self.setup.averaged else 10),
        }[self.setup.measure]
        weights = surrogates.slam_weights(kind, scores, labels, cut)
        if self.setup.averaged:
            weights = surrogates.average_within_grade(weights, labels)
        return surrogates.slam(scores, labels, weights, self.setup.margin)


class MaxHinge(Linear):
    """Max-hinge perceptron (perceptron paper, Algorithm 3)."""

    kind = "max-hinge"
    about = "Max-hinge perceptron (perceptron paper, Algorithm 3)."
    settings = (MEASURE, TRIGGER, RATES, DECAY, STEPS, ITERATE, BY_LOSS)
    looks: ClassVar = {"": Look("orange", "s")}
    heeds = ("source",)
    released: ClassVar = {"by_loss": True, "trigger": "ndcg@10"}
    released_simulated: ClassVar = {"decay": 0.5}
    released_rates = (1.0,)
    branch = 3
    proved = at_any_rate = gives_rate = True

    @classmethod
    def theory_rate(cls, settings, stream):
        return bounds.max_hinge_rate(stream["radius"] or 1.0)

    @classmethod
    def separable_bound(cls, settings, stream):
        return bounds.max_hinge_separable(stream["radius"], stream["margin"])

    @classmethod
    def general_constants(cls, settings, stream):
        return 1, 1.0

    def surrogate(self, scores, labels):
        return surrogates.max_hinge(scores, labels)


class ListNet(Linear):
    """Online gradient descent on ListNet's cross entropy, every round (perceptron paper, section 8)."""

    kind = "listnet"
    about = "Online gradient descent on ListNet's cross entropy (perceptron paper, section 8)."
    settings = (MEASURE, RATES, DECAY, STEPS, ITERATE, LEARN_ON_EMPTY)
    looks: ClassVar = {"": Look("green", "D")}
    heeds = ("source",)
    released: ClassVar = {"decay": 0.5, "learn_on_empty": True}
    released_rates = (1.0,)
    defaults: ClassVar = {"decay": 0.5}
    branch = 4
    neutral = True

    def learn(self, features, grades, ranking) -> bool:
        if not (np.any(grades > 0) or self.setup.learn_on_empty):
            return False
        labels = self.setup.labels(grades)
        _, gradient = surrogates.listnet(self.scores(features).astype(np.float64), labels)
        self.descend(features, gradient)
        return True


class BinaryPerceptron(Linear):
    """Classification perceptron (Algorithm 1) on the difference of two documents with different grades.

    It draws one pair in each round. A mistake is a pair in the wrong order, or a tie.
    """

    kind = "binary-perceptron"
    about = "Classification perceptron on pairs of documents (perceptron paper, Algorithm 1)."
    settings = (MEASURE, RATES, DECAY)
    draws = True
    looks: ClassVar = {"": Look("purple", "v")}
    branch = 5
    pairwise = proved = at_any_rate = True

    @classmethod
    def made(cls, features, rate, settings, random):
        return cls(features, rate, settings, random)

    @classmethod
    def separable_bound(cls, settings, stream):  # the perceptron's instances are differences of two documents
        return bounds.binary_separable(2 * stream["radius"], stream["margin"])

    def __init__(self, features, rate, settings, random):
        super().__init__(features, rate, settings)
        self.random = random

    def learn(self, features, grades, ranking) -> bool:
        labels = self.setup.labels(grades)
        if labels.min() == labels.max():
            return False
        while True:
            i, j = int(self.random.random() * len(labels)), int(self.random.random() * len(labels))
            if labels[i] > labels[j]:
                break
        x = features[i].astype(np.float64) - features[j]
        if self.weights @ x > 0:
            return False
        self.weights += self.rate * self.round**-self.setup.decay * x
        return True


class Random(Contextual):
    """A uniformly random ranking in each round: a control that learns nothing."""

    kind = "random"
    about = "A uniformly random ranking in each round, the control that has learnt nothing."
    settings = (MEASURE,)
    looks: ClassVar = {"": Look("grey", "x", "--")}
    branch = 0
    learns = False
    neutral = True

    @classmethod
    def made(cls, features, rate, settings, random):
        return cls(random)

    def __init__(self, random):
        self.random = random

    def rank(self, features) -> np.ndarray:
        return rank(np.array([self.random.random() for _ in features], np.float32))

    def learn(self, features, grades, ranking) -> bool:
        return False


class Ideal(Contextual):
    """The ranking by the grades: a control for which every correct measure has its maximum."""

    kind = "ideal"
    about = "The ranking by the grades themselves, the control that every measure gives its maximum."
    settings = (MEASURE,)
    draws = False
    looks: ClassVar = {"": Look("#000000", "+")}
    branch = 1
    learns = False
    neutral = sees_grades = True

    @classmethod
    def made(cls, features, rate, settings, random):
        return cls()

    def rank(self, features, grades) -> np.ndarray:
        return rank(grades)

    def learn(self, features, grades, ranking) -> bool:
        return False


LEARNERS = {learner.kind: learner for learner in (Slam, MaxHinge, ListNet, BinaryPerceptron, Random, Ideal)}


def make(settings: Settings, features: int, rate: float, random: np.random.Generator, options=None):
    """A learner in plain Python: a built-in one, or a user's own, whose kind is `module:Class`.

    options : further keyword arguments for a user's own class

    Raises
    ------
    SettingError : the class cannot be imported, or does not take these arguments
    """
    if settings.kind in LEARNERS:
        return LEARNERS[settings.kind].made(features, rate, settings, random)
    try:
        return own_class(settings.kind)(features=features, rate=rate, random=random, **(options or {}))
    except TypeError as error:
        raise SettingError(f"learner {settings.kind!r} cannot be made with its options: {error}") from error
