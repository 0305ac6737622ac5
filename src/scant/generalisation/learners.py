"""The learners of chapter IV: batch learners of linear scores, each for one of five surrogates.

A user's own learner is named `module:Class` in the settings, and made as `Class(radius=W,
random=generator, **settings)`. Its method `fit(features, grades)` takes float32 (n, m, d) and int16
(n, m), which it must not change, and returns weights (d). Its attribute `surrogate` ("listnet" if
absent) names the loss whose risk is measured. Its attribute `ball` says in which ball the best
weights are sought: "l2" (if absent), of radius W, or "l1", of radius W1.
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from scant.declare import declarations
from scant.declare.declarations import Look, Setting, whole_number
from scant.errors import SettingError
from scant.theory import generalisation as theory
from scant.theory.constants import SURROGATES

NOT_CONVEX = "smoothdcg"
COLOURS = dict(zip(SURROGATES, ("blue", "purple", "vermilion", "orange", "green"), strict=True))

SURROGATE = Setting(
    "surrogate", {"enum": list(SURROGATES)}, "The loss that it minimises.", absent="listnet"
)
STEP = Setting(
    "step",
    {"oneOf": [{"enum": ["theory", "optimistic"]}, {"type": "number", "exclusiveMinimum": 0}]},
    "Reading: the step size: theory's W / (G R sqrt(2n)), the optimistic one of (4.7), which knows "
    "L(w*), or a multiple of theory's.",
    absent="theory",
    reading=True,
)
LAMBDA = Setting(
    "lambda",
    {"oneOf": [{"const": "theory"}, {"type": "number", "minimum": 0}]},
    "Reading: the regularisation: theory's, or a multiple of it.",
    absent="theory",
    reading=True,
)
STARTS = Setting(
    "starts",
    whole_number(1, 100_000),
    "From how many weights a search for the least SmoothDCG starts: 0, and random ones.",
    absent=5,
    when=("surrogate", NOT_CONVEX),
)


def _looks(marker: str, line: str) -> dict[str, Look]:
    return {surrogate: Look(colour, marker, line) for surrogate, colour in COLOURS.items()}


class Fit(NamedTuple):
    """What a learner finds on a sample.

    solution : a `scant.generalisation.solve.Solution`
    rate : the step size, or lambda
    spread : the worst mean loss that a start led to, less the best
    """

    solution: object
    rate: float = np.nan
    spread: float = np.nan


class Batch(declarations.Learner):
    """What the learners share. Each minimises the mean of a surrogate over weights in a ball.

    options : its settings, none of which is absent
    ball : the norm of the ball, "l2" or "l1"
    minimises : whether it finds the least mean loss itself, so that ascents may start from its
        weights
    """

    ball: ClassVar[str] = "l2"
    minimises: ClassVar[bool] = False
    settings = (SURROGATE,)
    draws = False
    # the setting whose value theory knows for convex surrogates alone
    needs_convex: ClassVar[str] = ""

    def __init__(self, options: Mapping):
        self.options, self.surrogate = options, options["surrogate"]

    def fit(self, task) -> Fit:
        """Fit the sample of a `scant.generalisation.run.Task`."""
        raise NotImplementedError

    @classmethod
    def check(cls, settings):
        name = cls.needs_convex
        if settings.get("step") == "optimistic" and settings.get("surrogate") == "ranksvm":
            raise SettingError(
                "step: the optimistic step is for smooth surrogates, and ranksvm is not smooth"
            )
        if settings.get("surrogate") != NOT_CONVEX or not name:
            return
        raise SettingError(
            f"{name} is theory's or a multiple of it, which theory has for convex surrogates "
            f"alone, and {NOT_CONVEX} is not convex: use erm-l2 or erm-l1"
        )


class Descent(Batch):
    """Online gradient descent over the sample, once; the average of its weights (Theorem 35)."""

    kind = "averaged-ogd"
    about = (
        "Online gradient descent over the sample, once, from 0 in the l2 ball; its weights' "
        "average (Theorem 35)."
    )
    settings = (SURROGATE, STEP)
    looks = _looks("s", "--")
    needs_convex = "step"

    def fit(self, task):
        step = self.options["step"]
        rate = (theory.optimistic_rate if step == "optimistic" else theory.descent_rate)(
            task.sample.n, task.problem
        )
        rate = float(rate * (1.0 if isinstance(step, str) else step))
        return Fit(task.descend(rate), rate)


class Regularised(Batch):
    """Regularised empirical risk minimisation in the l2 ball (Theorem 36)."""

    kind = "regularised-erm"
    about = (
        "The least of the sample's mean loss plus lambda/2 times the squared l2 norm, in the "
        "l2 ball (Theorem 36)."
    )
    settings = (SURROGATE, LAMBDA)
    looks = _looks("^", ":")
    needs_convex = "lambda"

    def fit(self, task):
        factor = 1.0 if self.options["lambda"] == "theory" else self.options["lambda"]
        rate = float(theory.regularisation(task.sample.n, task.problem) * factor)
        return Fit(task.minimise(rate), rate)


class ERM(Batch):
    """Empirical risk minimisation in the l2 ball (Theorem 38)."""

    kind = "erm-l2"
    about = "The least of the sample's mean loss in the l2 ball of radius W (Theorem 38)."
    settings = (SURROGATE, STARTS)
    looks = _looks("o", "-")
    minimises = True

    def fit(self, task):
        solution, spread = task.from_starts(
            self.options["starts"] if self.surrogate == NOT_CONVEX else 1
        )
        return Fit(solution, spread=spread)


class SparseERM(ERM):
    """Empirical risk minimisation in the l1 ball (Theorem 40)."""

    kind = "erm-l1"
    about = "The least of the sample's mean loss in the l1 ball of radius W1 (Theorem 40)."
    looks = _looks("D", "--")
    ball = "l1"


LEARNERS = {learner.kind: learner for learner in (Descent, Regularised, ERM, SparseERM)}
