"""What a contextual learner is, those that see every grade, and how a user's own learner is played.

A learner is a class with `rank(features)` and `learn(features, grades, ranking)`, in plain Python.
Built-in ones also have a compiled loop in `scant.kernels`, which their `loop()` names and studies
play; tests check that it does the same as the class. A user's own learner is named as
`module:Class` in the settings, and made as `Class(features=d, rate=rate, random=generator,
**options)`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from scant import surrogates
from scant.declare import declarations
from scant.declare.declarations import Look, Setting, own_class, settings_of
from scant.declare.own import OwnError, check_scores, making
from scant.errors import ScantError, SettingError, unknown
from scant.measures import as_ranking, function_of, rank
from scant.rankers import steps
from scant.rankers.iterates import CHOICES as ITERATES
from scant.rankers.iterates import ITERATE, Iterates
from scant.rankers.steps import SCHEDULE
from scant.theory import bounds

# The measures that learners may learn, as functions of (ranking, grades, empty=0.0), in the order
# of runs' columns.
MEASURES = {name: function_of(name) for name in ("ndcg@10", "ndcg", "ap")}


@dataclass(frozen=True)
class Settings:
    """The settings by which a learner that sees every grade plays, except its rate.

    A study sets all but `trigger`, `by_loss` and `learn_on_empty`, which the reading `source:
    released-code` does.

    measure : the measure whose loss the learner suffers, and which its SLAM weights are for
    trigger : the learner updates only if this measure is below 1; if None, the same as `measure`
    decay : the step at round t is rate * t^-decay
    by_loss : whether the step is multiplied by 1 - trigger measure
    margin : SLAM's margin, a number or "grade-gap" for the difference of the grades
    averaged : whether SLAM's weights are computed over the whole list and averaged within each
        grade
    learn_on_empty : whether ListNet also learns from queries without a relevant document, which
        teach it equal scores
    steps : how steps are taken: "schedule", or one of `scant.rankers.steps.STEPS`
    iterate : the weights that it ranks by, one of `scant.rankers.iterates.CHOICES`
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

    def labels(self, grades: np.ndarray) -> np.ndarray:
        """The labels that the learner learns from: the grades, or, for AP, 1 for grades above 0."""
        return np.minimum(grades, 1) if self.measure == "ap" else grades


# of a learner's entry in a study, which are no fields of `Settings`
OTHER_KEYS = ("rates", "options", "k")


class NonFiniteScores(ArithmeticError):
    """A learner's scores are no longer finite, since its weights are too large.

    Its run ends in a row that says so.
    """


MEASURE = Setting(
    "measure",
    {"enum": list(MEASURES)},
    about="The measure whose loss is the learner's own.",
    absent="ndcg@10",
)
RATES = Setting(
    "rates",
    {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {
            "description": (
                "A rate is a number above 0 (0.001, not 1e-3, which YAML reads as text), or theory."
            ),
            "oneOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "theory"}],
        },
    },
    about='Learning rates to play, numbers or "theory" for the rate of the bounds. All are kept. '
    "If absent, it is 1.0; at the top the constant of the schedule; for learners from clicks and "
    "the policy gradient 0.1, for dbgd 0.01.",
)
DECAY = Setting(
    "decay",
    {"type": "number", "minimum": 0, "maximum": 1},
    about="The step at round t is rate * t^-decay (0 if absent, for listnet 0.5).",
)
STEPS = Setting(
    "steps",
    {"enum": list(steps.CHOICES)},
    about="How steps are taken: by rates that follow a schedule (schedule), or without a rate, as "
    "large as the gradients so far tell (adagrad, dog, coin for betting, cocob).",
    absent=SCHEDULE,
    ours=True,
)
REMEMBER = Setting(
    "remember",
    {"type": "boolean"},
    about="Whether it remembers grades: a document whose grade was seen before is ranked by the "
    "mean of its grades, in the place of its score.",
    absent=False,
    ours=True,
)
MARGIN = Setting(
    "margin",
    {"oneOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "grade-gap"}]},
    about="SLAM's margin (1.0 if absent), or grade-gap for the difference of the two grades.",
)
AVERAGED = Setting(
    "averaged",
    {"type": "boolean"},
    about=(
        "Whether SLAM's weights are those of the whole list, averaged within each grade (false "
        "if absent)."
    ),
)


class Contextual(declarations.Learner):
    """What learners on streams of queries declare and do, besides what all learners do.

    branch : the learner's number in its compiled loop
    defaults : its default settings, where they differ from the defaults of `Settings`
    released_simulated : the settings that differ in the released code for simulated streams,
        besides `released`
    published_rate : its rate if a study gives none
    learns : whether it learns, and so has rates
    neutral : whether it has no measure of its own, so that it is shown under every measure
    pairwise : whether its loss counts pairs of documents in the wrong order, instead of what its
        rankings lose
    sees_grades : whether it gets the grades before it ranks
    proved : whether the papers prove bounds for it
    at_any_rate : whether the bound for separable streams holds at every rate
    gives_rate : whether theory gives it a rate
    k : how many grades on top of its ranking it sees (`learn` gets -1 for the others); None for all
    by_weights : whether it ranks by its weights alone, but for exploration and for what it
        remembers; its compiled loop keeps them
    lists : how many judged lists `start_from` is given before the first round
    recalls : whether it remembers every grade, and ranks a query that returns by its grades
    watches : whether its compiled loop records what `Play.watched` holds
    own_ranking : of the round, the ranking that it would show without exploration; None if that is
        what it shows
    overflowed : whether its weights are no longer finite, which ends the play
    """

    branch: ClassVar[int | None] = None
    defaults: ClassVar[dict] = {}
    released_simulated: ClassVar[dict] = {}
    published_rate: ClassVar[float] = 1.0
    learns: ClassVar[bool] = True
    neutral: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False
    sees_grades: ClassVar[bool] = False
    proved: ClassVar[bool] = False
    at_any_rate: ClassVar[bool] = False
    gives_rate: ClassVar[bool] = False
    by_weights: ClassVar[bool] = False
    lists = 0
    recalls = False
    k: int | None = None
    watches = False
    own_ranking: np.ndarray | None = None
    overflowed = False

    def __init__(
        self, facts: Mapping, rate: float | str | None, settings, random: np.random.Generator
    ):
        """
        facts : the metadata of the stream
        rate : a number, "theory" for that of the bounds, or None if the learner needs none
        settings : as `complete_settings` returns them
        random : the generator of its random numbers
        """
        self.facts, self.setup, self.random = facts, settings, random
        self.rate = self.theory_rate() if rate == "theory" else rate
        self.weights, self.round = np.zeros(facts["features"]), 0

    def inputs(self, features) -> np.ndarray:
        """What its weights multiply, (m, weights): the features, here as they are."""
        return features

    @classmethod
    def from_study(cls, entry: Mapping, readings: Mapping, facts: Mapping, rate, random):
        """The learner of a study at `rate`; entry, readings, facts : see `complete_settings`"""
        return cls(facts, rate, cls.complete_settings(entry, readings, facts), random)

    @classmethod
    def complete_settings(cls, entry: Mapping, readings: Mapping, facts: Mapping):
        """The settings by which a learner of a study plays.

        entry : its settings in the study
        readings : of the experiment, and `stream_settings`, those of the stream
        facts : the metadata of the stream, and its `rounds`

        Raises
        ------
        SettingError : a measure or a key is unknown, or the learner cannot play so
        """
        names = [field.name for field in fields(Settings)]
        options = {key: value for key, value in entry.items() if key not in OTHER_KEYS}
        for key in options:
            if key not in names:
                raise unknown("setting of a learner", key, names)
        for key in ("measure", "trigger"):
            if options.get(key) is not None and options[key] not in MEASURES:
                raise unknown("measure", options[key], MEASURES)
        options = {**cls.defaults, **options}
        if readings["source"] == "released-code":
            simulated = readings.get("stream_settings", {}).get("generator")
            options |= cls.released | (cls.released_simulated if simulated else {})
        options["trigger"] = options.get("trigger") or options.get("measure", "ndcg@10")
        if options.get("steps", SCHEDULE) != SCHEDULE:
            options["decay"] = 0.0
        return Settings(**options)

    @classmethod
    def rates(cls, entry: Mapping, readings: Mapping) -> list:
        """The rates to play: numbers or "theory"; [None] if the learner, or its steps, need none.

        entry, readings : see `complete_settings`
        """
        if not cls.learns or entry.get("steps") in steps.STEPS:
            return [None]
        released = cls.released_rates if readings["source"] == "released-code" else None
        return list(released or entry.get("rates", [cls.published_rate]))

    @classmethod
    def variants(cls, entry: Mapping) -> list[Mapping]:
        """The settings to play, each at each rate: here `entry` alone. Where a setting lists
        several values, one variant for each; one is then chosen, as rates are.
        """
        return [entry]

    def scores(self, features, weights=None) -> np.ndarray:
        """The scores of documents, float32 (m), by the last weights if none are given.

        Raises
        ------
        NonFiniteScores : one is not finite
        """
        with np.errstate(over="ignore", invalid="ignore"):
            scores = (
                features.astype(np.float64) @ (self.weights if weights is None else weights)
            ).astype(np.float32)
        if not np.isfinite(scores).all():
            raise NonFiniteScores
        return scores

    def rank(self, features) -> np.ndarray:
        """The ranking to show: indices of documents (m), best first."""
        raise NotImplementedError

    def learn(self, features, grades, ranking) -> bool:
        """Learn from the grades (m) of the query that was ranked last; return whether there was an
        update.
        """
        return False

    def loop(self, stream, records: Mapping[str, np.ndarray]) -> tuple[Callable, dict] | None:
        """The compiled loop of `scant.kernels` that plays the learner, with its own arguments; None
        without one.

        records : the arrays that the loop writes to, by their names in `scant.rankers.play.Play`
        """
        if self.branch is None:
            return None
        from scant.data.stream import CUT
        from scant.kernels import full

        setup, names, by_grade = self.setup, list(MEASURES), self.setup.margin == "grade-gap"
        labels = setup.labels(stream.grades)
        # the loop is compiled for read-only arrays, as memory-mapped ones are
        labels.flags.writeable = False
        learner = full.Learner(
            kind=self.branch,
            measure=names.index(setup.measure),
            trigger=names.index(setup.trigger),
            rate=1.0 if self.rate is None else float(self.rate),
            decay=float(setup.decay),
            steps=steps.CHOICES.index(setup.steps),
            by_loss=setup.by_loss,
            margin=1.0 if by_grade else float(setup.margin),
            by_grade=by_grade,
            averaged=setup.averaged,
            learn_on_empty=setup.learn_on_empty,
            cut=CUT,
            iterate=ITERATES.index(setup.iterate),
        )
        return full.play, {"labels": labels, "learner": learner, "loss": records["loss"]}

    def events(self, ranking) -> list[int]:
        """How often each of `scant.rankers.top.EVENTS` happened in the round; here never."""
        return [0, 0, 0, 0]

    def suffered(self, grades) -> float:
        """The judging surrogate's loss of the scores shown; NaN if no surrogate judges the
        learner.
        """
        return np.nan

    def theory_rate(self) -> float:
        """The rate of the bounds. Raise a SettingError if theory gives none."""
        if (constants := self.general_constants()) is None:
            raise SettingError(
                "rate 'theory': theory gives no rate for the learner "
                f"{self.setup.kind!r}. Use a number"
            )
        m, ratio = constants
        return bounds.slam_rate(m, self.facts["radius"] or 1.0, ratio)

    @property
    def as_proved(self) -> bool:
        """Whether the learner is the one that the papers' bounds are about."""
        return self.proved and self.setup == Settings(
            self.setup.kind, self.setup.measure, self.setup.measure
        )

    def bound(self, rounds: np.ndarray, watched: np.ndarray | None = None) -> np.ndarray | float:
        """The bound on the loss, or on the expected regret, after each of `rounds`: a number if it
        is the same after all; NaN if there is none.

        watched : the rows of `Play.watched` at these rounds
        """
        margin = self.facts.get("margin")
        if not self.as_proved or not margin or margin <= 0 or not np.isfinite(margin):
            return np.nan
        return self.separable_bound()

    def separable_bound(self) -> float:
        """The bound on the loss on a separable stream with a margin above 0, for a learner that is
        as proved.
        """
        m, ratio = self.general_constants()
        return bounds.slam_separable(m, self.facts["radius"], ratio, self.facts["margin"])

    def general_constants(self) -> tuple[int, float] | None:
        """m and v_max in the bounds for streams that need not be separable; None if there are no
        such bounds.
        """
        return None


class Linear(Contextual):
    """What linear learners share.

    Each adds `surrogate(scores, labels)`, which returns a value and a gradient.
    """

    draws = False

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        self.steps = steps.made(settings.steps, facts["features"], 1.0)
        self.iterates = Iterates(settings.iterate)

    @classmethod
    def check(cls, settings) -> None:
        steps.check(settings)

    def rank(self, features) -> np.ndarray:
        self.round += 1
        self.by_last = rank(self.scores(features))
        return rank(self.scores(features, self.iterates.mean(self.weights)))

    def learn(self, features, grades, ranking) -> bool:
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
    about = (
        "SLAM perceptron (perceptron paper, Algorithm 2): where its measure is below 1, a step on "
        "the measure's SLAM surrogate."
    )
    settings = (MEASURE, RATES, DECAY, STEPS, ITERATE, MARGIN, AVERAGED)
    looks: ClassVar = {"": Look("blue", "o"), "ndcg": Look("sky", "^")}
    heeds = ("source",)
    released: ClassVar = {
        "decay": 0.5,
        "margin": "grade-gap",
        "averaged": True,
        "trigger": "ndcg@10",
    }
    released_rates = (1.0,)
    branch = 2
    proved = gives_rate = True

    def general_constants(self):
        """m is how many documents of a query can have weight: at most 10 for NDCG@10."""
        m, measure = self.facts["largest_query"], self.setup.measure
        return min(10, m) if measure == "ndcg@10" else m, self.facts["weight_ratio"][measure]

    def surrogate(self, scores, labels):
        measure, _, cut = self.setup.measure.partition("@")
        # weights that are averaged within grades are those of the whole list, as in the released
        # code
        cut = int(cut) if cut and not self.setup.averaged else None
        weights = surrogates.slam_weights(measure, scores, labels, cut)
        if self.setup.averaged:
            weights = surrogates.average_within_grade(weights, labels)
        return surrogates.slam(scores, labels, weights, self.setup.margin)


class MaxHinge(Linear):
    """Max-hinge perceptron (perceptron paper, Algorithm 3)."""

    kind = "max-hinge"
    about = (
        "Max-hinge perceptron (perceptron paper, Algorithm 3): the same with the max-hinge "
        "surrogate. A constant rate does not change its rankings."
    )
    settings = (MEASURE, RATES, DECAY, STEPS, ITERATE)
    looks: ClassVar = {"": Look("orange", "s")}
    heeds = ("source",)
    released: ClassVar = {"by_loss": True, "trigger": "ndcg@10"}
    released_simulated: ClassVar = {"decay": 0.5}
    released_rates = (1.0,)
    branch = 3
    proved = at_any_rate = gives_rate = True

    def general_constants(self):
        return 1, 1.0

    def surrogate(self, scores, labels):
        return surrogates.max_hinge(scores, labels)


class ListNet(Linear):
    """Online gradient descent on ListNet's cross entropy, every round (perceptron paper, section
    8).
    """

    kind = "listnet"
    about = "Online gradient descent on ListNet's cross entropy (perceptron paper, section 8)."
    settings = (MEASURE, RATES, DECAY, STEPS, ITERATE)
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
    """Classification perceptron (Algorithm 1) on the difference of two documents with different
    grades.

    It draws one pair in each round. A mistake is a pair in the wrong order, or a tie.
    """

    kind = "binary-perceptron"
    about = (
        "Classification perceptron (perceptron paper, Algorithm 1) on one random pair of different "
        "grades a round; its loss counts mistakes."
    )
    settings = (MEASURE, RATES, DECAY)
    draws = True
    looks: ClassVar = {"": Look("purple", "v")}
    branch = 5
    pairwise = proved = at_any_rate = True

    def separable_bound(self):  # the perceptron's instances are differences of two documents
        return bounds.binary_separable(2 * self.facts["radius"], self.facts["margin"])

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

    def rank(self, features) -> np.ndarray:
        return rank(np.array([self.random.random() for _ in features], np.float32))


class Ideal(Contextual):
    """The ranking by the grades: a control for which every correct measure has its maximum."""

    kind = "ideal"
    about = (
        "The ranking by the grades themselves, the control that every measure gives its maximum."
    )
    settings = (MEASURE,)
    draws = False
    looks: ClassVar = {"": Look("#000000", "+")}
    branch = 1
    learns = False
    neutral = sees_grades = True

    def rank(self, features, grades) -> np.ndarray:
        return rank(grades)


BUILT_IN = (Slam, MaxHinge, ListNet, BinaryPerceptron, Random, Ideal)
LEARNERS = {learner.kind: learner for learner in BUILT_IN}


class UserLearner(Contextual):
    """A user's own learner, `module:Class`, which plays in plain Python.

    player : the user's object, made as `Class(features=d, rate=rate, random=generator, **options)`
    """

    @classmethod
    def from_study(cls, entry, readings, facts, rate, random):
        """See `Contextual.from_study`. A SettingError, if the class cannot be imported, or does not
        take its arguments.
        """
        learner, kind = super().from_study(entry, readings, facts, rate, random), entry["kind"]
        learner.k, options = entry.get("k"), cls._options(entry)
        made, options = own_class(kind), {"features": facts["features"], "random": random} | options
        with making(f"learner {kind!r} cannot be made with its options"):
            learner.player = made(rate=learner.rate, **options)
        return learner

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        if not entry.keys() <= {*OTHER_KEYS, *(field.name for field in fields(Settings))}:
            options = cls._options(entry)
            entry = {key: value for key, value in entry.items() if key not in options}
        return super().complete_settings(entry, readings, facts)

    @staticmethod
    def _options(entry: Mapping) -> dict:
        """The keyword arguments of the class: `options` of the entry, and the settings that the
        class declares.
        """
        declared_by_class = settings_of(own_class(entry["kind"]))
        return entry.get("options", {}) | {
            key: value for key, value in entry.items() if key in declared_by_class
        }

    def rank(self, features) -> np.ndarray:
        self.round += 1
        with self._errors_named():
            ranking = as_ranking(self.player.rank(features), len(features))
            check_scores(self.player)
        ranking.setflags(write=False)  # it is judged after the class has learnt from it
        return ranking

    def learn(self, features, grades, ranking) -> bool:
        with self._errors_named():
            updated = bool(self.player.learn(features, grades, ranking))
        self.weights = getattr(self.player, "weights", None)
        # it may sort NaN silently
        self.overflowed = self.weights is not None and not np.all(np.isfinite(self.weights))
        return updated

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """A context that turns an error of the class into an OwnError, which has the round."""
        try:
            yield
        except (ScantError, NonFiniteScores):
            raise
        except Exception as error:
            raise OwnError(error, self.round) from error


def class_of(kind: str, built_in: Mapping[str, type[Contextual]] = LEARNERS) -> type[Contextual]:
    """The class that plays learners of a kind: one of `built_in`, or `UserLearner` for a user's
    `module:Class`.

    Raises
    ------
    SettingError : the kind is unknown
    """
    if ":" not in kind and kind not in built_in:
        raise unknown("kind of learner", kind, built_in)
    return built_in.get(kind, UserLearner)
