"""RTop-kF with features (thesis, Algorithm 5): the learner that sees only the grades of its top k.

If it sees every grade and does not explore, it is online gradient descent. The comparison of the
two shows what restricted feedback costs. On ListNet's surrogate, gradient descent is the papers'
baseline.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting, settings_of, whole_number
from scant.errors import SettingError
from scant.measures import rank
from scant.rankers import click_learners, estimators, held_out, steps
from scant.rankers.boosted import Boosted
from scant.rankers.learners import RATES, REMEMBER, STEPS, Contextual, Ideal, Random
from scant.rankers.newton import Newton
from scant.rankers.policy_gradient import PolicyGradient
from scant.rankers.ridge import EVERY_GRADE, Ridge
from scant.rankers.steps import SCHEDULE
from scant.theory import bounds

EVENTS = ("explored", "mismatched", "clipped", "idle")  # events in rounds, which run files count

# in the order of scant.kernels.top
OBJECTIVES = ("squared", "kl", "smoothdcg", "ranksvm", "listnet", "ndcg-squared")
LOSSES = ("squared", "logistic", "listnet", "ranksvm")  # of the documents seen
CODES = (*OBJECTIVES, "logistic")  # what can be descended on, in the order of scant.kernels.top
PAIRWISE = ("ranksvm", "logistic")  # a query of one document has nothing for these

# before the name of a setting that lists several: a column of such a learner's run files
CHOSEN = "chosen_"
# settings of which one may list several, to choose from as rates
CHOSEN_FROM = ("exploration", "gamma", "mismatch")
# How a learner explores, besides by a schedule: at a constant probability, or at place k alone.
CONSTANT, SLOT = "constant", "slot"
NOT_CONVEX = "smoothdcg"  # the surrogate whose best fixed weights cannot be certified

# The papers' steps and exploration: the constants in front of t^-power, or of T^-power if fixed at
# the horizon T.
SCHEDULES = {
    "thesis": {"rate": 0.01, "gamma": 0.1, "fixed": False},
    "aistats16": {"rate": 1.0, "gamma": 1.0, "fixed": True},
    "released-code": {"rate": 0.1, "gamma": 0.1, "fixed": False},
}
PAPERS = ("thesis", "aistats16")  # whose schedules a learner's exploration may follow
RELEASED_CODE = {
    "smoothdcg": {"epsilon": 0.001, "sign": "as-printed"},
    "ranksvm": {"ordered": True},
}


@dataclass(frozen=True)
class Settings:
    """The settings by which a learner with feedback at the top plays, except the constant in front
    of its steps.

    kind : "rtop", "seen", "ogd" or "listnet"
    objective : the surrogate that the learner descends on
    judge : the surrogate whose loss is recorded
    k : how many grades it sees, 0 for all
    gamma, gamma_decay : round t explores with probability gamma * t^-gamma_decay
    exploration : "schedule" for the experiment's, "thesis" or "aistats16", CONSTANT or SLOT. A
        round that explores shows a uniformly random ranking, or, with a slot, its own but for place
        k, where any document from k on may be
    steps : how steps are taken: "schedule", or one of `scant.rankers.steps.STEPS`
    decay : the step at round t is rate * t^-decay
    scale : a factor on the rate: T^-power if the schedule is fixed at the horizon T, else 1
    mismatch : a factor, in the estimate, on the probability of documents that only exploration puts
        on top
    ordered, floor, control : see `estimators.estimate`
    epsilon, epsilon_decay : SmoothDCG's smoothing is epsilon * t^-epsilon_decay
    sign : "negated" descends on minus the smoothed gain, "as-printed" on the gain
    centre : whether features are centred in each query, which for squared losses is an intercept
        for each query
    intercept : whether documents have a further feature, 1 for all
    radius : U, of the ball that the weights are projected on
    remember : whether it remembers grades
    fixed : whether steps and exploration are fixed at the horizon T
    horizon : T
    measure : the measure whose loss is recorded as the learner's own
    """

    kind: str
    objective: str
    judge: str
    k: int = 0
    gamma: float = 0.0
    gamma_decay: float = 0.0
    exploration: str = SCHEDULE
    steps: str = SCHEDULE
    decay: float = 0.5
    scale: float = 1.0
    mismatch: float = 1.0
    ordered: bool = False
    floor: float = 0.0
    control: bool = False
    epsilon: float = 0.01
    epsilon_decay: float = 0.0
    sign: str = "negated"
    centre: bool = False
    intercept: bool = False
    radius: float = 1.0
    remember: bool = False
    fixed: bool = False
    horizon: int = 0
    measure: str = "ndcg@10"

    @property
    def slot(self) -> bool:
        """Whether only place k explores."""
        return self.exploration == SLOT

    @property
    def gamma_constant(self) -> float:
        """The constant in front of t^-1/3 in the exploration, or of T^-1/3 if it is fixed at the
        horizon T.
        """
        return self.gamma * self.horizon ** (1 / 3) if self.fixed else self.gamma


def _schedule(entry: Mapping, readings: Mapping) -> dict:
    """The schedule of `SCHEDULES` that a learner's settings name, or else the readings of its
    experiment.
    """
    if readings["source"] == "released-code":
        return SCHEDULES["released-code"]
    exploration = entry.get("exploration")
    return SCHEDULES[exploration if exploration in list(SCHEDULES) else readings["schedule"]]


def _exploring(
    settings: Settings, entry: Mapping, exploration: str | float, gamma: float
) -> Settings:
    """`settings` with exploration, gamma and its decay filled in. If exploration falls as t^-1/3,
    steps fall as t^-2/3, else as t^-1/2.

    exploration : a schedule's name, `SLOT`, or a constant probability
    gamma : the schedule's constant, unless `entry` has one
    """
    if exploration == SLOT:
        return replace(settings, exploration=SLOT, gamma=float(entry.get("gamma", 1.0)))
    if isinstance(exploration, str):
        gamma = entry.get("gamma", gamma)
        return replace(
            settings, exploration=exploration, gamma=gamma, gamma_decay=1 / 3, decay=2 / 3
        )
    return replace(settings, exploration=CONSTANT, gamma=exploration)


def _estimates_are_judged(settings: Settings) -> bool:
    """Whether the learner descends on unbiased estimates of its judge's gradient, and the judge is
    convex.
    """
    convex = (
        ("squared", "kl", "ranksvm")
        if settings.k
        else tuple(name for name in OBJECTIVES if name != NOT_CONVEX)
    )
    altered = (
        settings.mismatch != 1
        or settings.ordered
        or settings.floor > 0
        or settings.control
        or settings.slot
    )
    proved = settings.kind != "seen" and not (settings.k and altered) and not settings.centre
    return settings.objective in convex and settings.judge == settings.objective and proved


def check_theory(settings: Settings) -> None:
    """Raise a SettingError if no bound on the learner's regret is proved: theory gives it no rate
    then.
    """
    fewest = settings.k in (0, estimators.NEEDS[settings.objective][0])
    unknown_size = settings.objective == "ndcg-squared" or settings.exploration == CONSTANT
    if not _estimates_are_judged(settings) or not fewest or unknown_size:
        raise SettingError(
            f"rate 'theory': no regret bound is proved for this learner on {settings.objective!r}. "
            "Use a number, or: the fewest grades, mismatch 1 and its own surrogate as judge"
        )


def _several(number: Mapping) -> list[Mapping]:
    """Two schemas: of one number, and of a list of numbers of which one is chosen."""
    return [number, {"type": "array", "minItems": 2, "uniqueItems": True, "items": number}]


def _probabilities(limits: Mapping) -> list[Mapping]:
    """`_several` of a probability; limits : the part of its schema that bounds it from below."""
    return _several({"type": "number", "maximum": 1, **limits})


# the condition for settings of its smoothing, see `Setting.when`
SMOOTHED = ("surrogate", "smoothdcg")
SURROGATE = Setting(
    "surrogate", {"enum": list(OBJECTIVES)}, about="The surrogate that the learner descends on."
)
K = Setting(
    "k",
    whole_number(),
    about="How many grades on top the learner sees; by default the fewest that it can do with.",
)
MISMATCH = Setting(
    "mismatch",
    {"oneOf": _several({"type": "number", "exclusiveMinimum": 0})},
    about=(
        "Reading: the experiment's mismatch, for this learner; of several one is chosen as rates "
        "are."
    ),
    reading=True,
)
GAMMA = Setting(
    "gamma",
    {"oneOf": _probabilities({"exclusiveMinimum": 0})},
    about="The constant in front of the exploration, instead of that of the schedule, at most 1/2; "
    "with exploration slot, how likely a round explores (1 if absent). Of several one is chosen as "
    "rates are.",
)


def _explored(limits: Mapping) -> dict:
    """The schema of the setting `exploration`; limits : see `_probabilities`"""
    return {"oneOf": [*_probabilities(limits), {"enum": [SCHEDULE, *PAPERS, SLOT]}]}


HOW_EXPLORED = (
    "How it explores: with random rankings, as the experiment's schedule says (schedule), as one "
    "of the papers does (thesis, aistats16), or with a probability, or one of several, which is "
    "chosen as rates are; or at place k alone, where any document from k on may be (slot)."
)
EXPLORATION = Setting(
    "exploration", _explored({"exclusiveMinimum": 0}), HOW_EXPLORED, absent=SCHEDULE, ours=True
)
SEEN_LOSS = Setting(
    "surrogate",
    {"enum": list(LOSSES)},
    about="The loss of the documents seen that the learner descends on.",
)
SEEN_K = Setting(
    "k",
    {"oneOf": [whole_number(), {"const": estimators.ALL}]},
    about=(
        "How many grades on top the learner sees, or all; by default 1 for squared and 2 for the "
        "others."
    ),
)
EXPLORED = Setting("exploration", _explored({"minimum": 0}), HOW_EXPLORED, absent=0)
WEIGHTS = Setting(
    "weights",
    {"enum": ["none", "clipped", "full"]},
    about="What is seen counts as it is (none), by the inverse of the probability of seeing it "
    "(full, unbiased), or by the inverse of that probability or of clip, whichever is larger "
    "(clipped).",
    absent="none",
)
CLIP = Setting(
    "clip",
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    about="The least probability that clipped weights divide by.",
    absent=0.1,
    when=("weights", "clipped"),
    ours=True,
)
SIGN = Setting(
    "sign",
    {"enum": ["negated", "as-printed"]},
    about=(
        "Reading: whether SmoothDCG descends on minus its gain, or, as the papers print it, on "
        "the gain."
    ),
    reading=True,
    absent="negated",
    when=SMOOTHED,
    unless={"source": "released-code"},
)
EPSILON = Setting(
    "epsilon",
    {"type": "number", "exclusiveMinimum": 0},
    about="Reading: SmoothDCG's smoothing in round 1.",
    reading=True,
    absent=0.01,
    when=SMOOTHED,
    unless={"source": "released-code"},
)
EPSILON_DECAY = Setting(
    "epsilon_decay",
    {"type": "number", "minimum": 0, "maximum": 1},
    about="Reading: SmoothDCG's smoothing at round t is epsilon * t^-epsilon_decay.",
    reading=True,
    absent=0,
    when=SMOOTHED,
)
CENTRE = Setting(
    "centre",
    {"type": "boolean"},
    about="Reading: whether features are centred in each query, which gives the squared loss an "
    "intercept where every grade is seen, or estimated without bias.",
    reading=True,
    absent=False,
    when=("surrogate", "squared"),
    ours=True,
)
INTERCEPT = Setting(
    "intercept",
    {"type": "boolean"},
    about=(
        "Whether documents have a further feature, 1 for all of them, whose weight is the "
        "squared loss's intercept."
    ),
    absent=False,
    when=("surrogate", "squared"),
    ours=True,
)
COLOURS = {  # colour and marker of each surrogate that learners descend on
    "squared": ("blue", "o"),
    "kl": ("purple", "^"),
    "ranksvm": ("vermilion", "s"),
    "smoothdcg": ("sky", "v"),
    "listnet": ("green", "D"),
    "ndcg-squared": ("orange", "P"),
}
DASHED = {surrogate: Look(*look, "--") for surrogate, look in COLOURS.items()}


def _centred(scores: np.ndarray) -> np.ndarray:
    """The scores, float32 (m), less their mean."""
    return (scores - scores.mean(dtype=np.float64)).astype(np.float32)


class Top(Contextual):
    """RTop-kF in plain Python. `learn` gets -1 for the grades that are not seen.

    objective : the surrogate that it descends on if a study does not name one
    objectives : the surrogates that it can descend on
    """

    heeds = ("source", "schedule", "radius")
    objective: ClassVar[str] = ""
    objectives: ClassVar[tuple[str, ...]] = OBJECTIVES
    gives_rate = by_weights = True

    def __init__(self, facts, rate, settings, random):
        super().__init__(
            facts | {"features": facts["features"] + settings.intercept}, rate, settings, random
        )
        self.k, self.watches = settings.k or None, settings.steps != SCHEDULE
        self.recalls = settings.remember
        self.steps = steps.made(settings.steps, len(self.weights), settings.radius)

    @classmethod
    def rates(cls, entry, readings):
        """See `Contextual.rates`; by default the schedule's rate."""
        default = {"rates": [_schedule(entry, readings)["rate"]]}
        return super().rates(default | entry, readings)

    @classmethod
    def variants(cls, entry):
        """A variant for each value of the one setting of `CHOSEN_FROM` that lists several; the
        settings as they are if none does.
        """
        # one key at most
        several = [key for key in CHOSEN_FROM if isinstance(entry.get(key), list)]
        return [{**entry, key: number} for key in several for number in entry[key]] or [entry]

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        """See `Contextual.complete_settings`; of `readings` it takes source, schedule, mismatch,
        radius and judge, of `facts` rounds.

        Raises
        ------
        SettingError : the surrogate needs more feedback, or a schedule's probability of exploring
            is outside (0, 1/2]
        """
        objective, rounds = entry.get("surrogate", cls.objective), facts["rounds"]
        names = ("epsilon", "epsilon_decay", "sign", "steps", "centre", "intercept", "remember")
        options = {key: entry[key] for key in names if key in entry}
        if readings["source"] == "released-code":
            options |= RELEASED_CODE.get(objective, {})
        schedule, own_judge = (
            _schedule(entry, readings),
            "ranksvm" if objective == "logistic" else objective,
        )
        judge, radius = readings["judge"] or own_judge, readings["radius"]
        settings = Settings(cls.kind, objective, judge, radius=radius, horizon=rounds, **options)
        settings = cls._with_feedback(settings, entry, readings, schedule["gamma"])
        settings = replace(settings, ordered=settings.ordered and settings.k == 2)
        if schedule["fixed"]:
            settings = replace(
                settings,
                scale=rounds**-settings.decay,
                decay=0.0,
                gamma=settings.gamma * rounds**-settings.gamma_decay,
                gamma_decay=0.0,
                fixed=True,
            )
        if (
            settings.k
            and settings.exploration not in (CONSTANT, SLOT)
            and not 0 < settings.gamma <= 0.5
        ):
            horizon = f" (T^-1/3 for the horizon T = {settings.horizon}: play 8 rounds or more)"
            raise SettingError(
                f"gamma is {settings.gamma:.3g} in round 1, and has to be above 0 and at most 1/2"
                + (horizon if settings.fixed else "")
            )
        return settings if settings.steps == SCHEDULE else replace(settings, scale=1.0, decay=0.0)

    @classmethod
    def _with_feedback(
        cls, settings: Settings, entry: Mapping, readings: Mapping, gamma: float
    ) -> Settings:
        """`settings` with what the learner sees and how it explores filled in: here every grade,
        and no exploration. gamma : the schedule's constant
        """
        return settings

    def inputs(self, features) -> np.ndarray:
        """The features, with a last one that is 1 if it has an intercept."""
        ones = np.ones((len(features), 1), features.dtype)
        return np.hstack([features, ones]) if self.setup.intercept else features

    def rank(self, features) -> np.ndarray:
        """The ranking shown: its own, or, with the round's probability of exploring, one that
        explores.
        """
        self.round += 1
        features = self.inputs(features)
        scores = self.scores(features)
        self.own_ranking = ranking = rank(scores)
        self.last_scores = self.shown = _centred(scores) if self.setup.centre else scores
        self.chance = self.setup.gamma * self.round**-self.setup.gamma_decay
        self.explored = self.setup.k > 0 and self.random.random() < self.chance
        if self.explored and self.setup.slot:
            slot, m = min(self.setup.k, len(ranking)) - 1, len(ranking)
            place = slot + int(self.random.random() * (m - slot))
            ranking = np.insert(np.delete(ranking, place), slot, ranking[place])
        elif self.explored:
            self.shown = np.array([self.random.random() for _ in features], np.float32)
            ranking = rank(self.shown)
        return ranking

    @property
    def smoothing(self) -> float:
        """SmoothDCG's epsilon in this round."""
        return self.setup.epsilon * self.round**-self.setup.epsilon_decay

    def learn(self, features, grades, ranking) -> bool:
        """Step against the gradient, or its estimate from the grades seen, and project on the ball.
        Returns False, without a step, if a loss of pairs gets a query of one document.
        """
        settings, scores = self.setup, self.last_scores.astype(np.float64)
        if settings.objective in PAIRWISE and len(scores) < 2:
            return False
        if settings.k:
            gradient = estimators.estimate(
                settings.objective,
                scores,
                grades,
                ranking,
                settings.k,
                self.chance,
                epsilon=self.smoothing,
                mismatch=settings.mismatch,
                ordered=settings.ordered,
                floor=settings.floor,
                control=settings.control,
                order=self.own_ranking,
                slot=settings.slot,
            )
        else:
            _, gradient = estimators.value_and_gradient(
                settings.objective, scores, grades, self.smoothing
            )
        if settings.objective == "smoothdcg" and settings.sign == "as-printed":
            gradient = -gradient
        if settings.centre:
            gradient = gradient - gradient.mean()
        slope = self.inputs(features).astype(np.float64).T @ gradient
        if self.steps:
            self.steps.take(self.weights, slope)
        else:
            self.weights -= self.rate * settings.scale * self.round**-settings.decay * slope
        self.weights *= min(1.0, settings.radius / max(np.linalg.norm(self.weights), 1e-300))
        return True

    def events(self, ranking) -> list[int]:
        """Whether it explored; whether others than its top documents were shown on top; how many
        exponents were clipped; whether there were too few documents to learn from.
        """
        k = min(self.setup.k or len(ranking), len(ranking))
        scores, clipped = self.last_scores.astype(np.float64), 0
        if self.setup.objective == "kl":
            seen = ranking[:k]
            clipped = int(np.sum(scores[seen] > estimators.surrogates.EXP_CLIP))
        elif self.setup.objective == "smoothdcg":
            clipped = int(np.sum(scores / self.smoothing > np.log(np.finfo(float).max)))
        idle = self.setup.objective in PAIRWISE and len(ranking) < 2
        return [self.explored, set(ranking[:k]) != set(self.own_ranking[:k]), clipped, idle]

    def suffered(self, grades) -> float:
        scores = self.shown.astype(np.float64)
        return estimators.value_and_gradient(self.setup.judge, scores, grades, self.smoothing)[0]

    def loop(self, stream, records):
        from scant.kernels import top

        setup = self.setup
        learner = top.Learner(
            objective=CODES.index(setup.objective),
            judge=CODES.index(setup.judge),
            top=setup.k,
            gamma=setup.gamma,
            gamma_decay=setup.gamma_decay,
            slot=setup.slot,
            mismatch=float(setup.mismatch),
            ordered=setup.ordered,
            floor=float(setup.floor),
            control=setup.control and setup.objective == "squared",
            rate=1.0 if self.rate is None else float(self.rate) * setup.scale,
            decay=setup.decay,
            steps=steps.CHOICES.index(setup.steps),
            radius=float(setup.radius),
            epsilon=float(setup.epsilon),
            epsilon_decay=float(setup.epsilon_decay),
            ascend=setup.objective == "smoothdcg" and setup.sign == "as-printed",
            centre=setup.centre,
        )
        arguments = {"ideal": stream.ideal_dcg, "learner": learner, "loss": records["surrogate"]}
        return top.play, arguments | {
            name: records[name] for name in ("ranker", "events", "watched")
        }

    def theory_rate(self):
        """The constant in front of the steps that makes the regret bound smallest.

        Raises
        ------
        SettingError : no bound is proved for the learner, or it is infinite on this stream
        """
        (norm, constant), setup = self._constants(), self.setup
        rate = bounds.descent_rate(norm, setup.radius, setup.fixed)
        if setup.k:
            rate = bounds.top_rate(constant, setup.radius, setup.gamma_constant, setup.fixed)
        if rate == 0:
            raise SettingError(
                "rate 'theory': the bound is infinite on this stream, since e^(R_X U) is. Use a "
                "number"
            )
        return rate

    def bound(self, rounds, watched=None):
        """The bound on the expected regret; the horizon's in each round, if steps are fixed at it.

        AdaGrad's bound depends on a run's gradients: under feedback at the top its expectation
        bounds the expected regret.
        """
        setup, loss = self.setup, 0.0
        if setup.k and _estimates_are_judged(setup):
            loss = bounds.exploration_loss(
                setup.objective, self.facts["largest_query"], self.facts["largest_grade"]
            )
        if self.watches:
            if watched is None or setup.steps != "adagrad" or not _estimates_are_judged(setup):
                return np.nan
            squares, explored = watched.T
            return bounds.adagrad_regret(squares, setup.radius) + loss * explored
        try:
            norm, constant = self._constants()
        except SettingError:
            return np.nan
        horizons = np.where(setup.fixed, setup.horizon, rounds)
        if not setup.k:
            return bounds.descent_regret(horizons, self.rate, norm, setup.radius, setup.fixed)
        return bounds.top_regret(
            horizons, self.rate, constant, setup.radius, setup.gamma_constant, loss, setup.fixed
        )

    def _constants(self) -> tuple[float, float]:
        """The largest norm of a gradient, and the constant of Lemma 29 (NaN if it sees every
        grade).
        """
        setup = self.setup
        check_theory(setup)
        sizes = (self.facts[name] for name in ("largest_query", "radius", "largest_grade"))
        facts = (setup.objective, *sizes, setup.radius)
        return bounds.gradient_norm(*facts), bounds.estimate_constant(*facts) if setup.k else np.nan

    @classmethod
    def check(cls, settings) -> None:
        steps.check(settings)
        if "surrogate" not in settings and not cls.objective:
            raise SettingError(
                f"the kind {cls.kind!r} needs a surrogate, one of {', '.join(cls.objectives)}"
            )
        default = settings_of(cls)["exploration"].absent if cls.sees == "top" else 0
        exploration = settings.get("exploration", default)
        if "gamma" in settings and not isinstance(exploration, str):
            raise SettingError(
                "gamma does nothing unless exploration is a schedule or slot. Leave "
                "one of the two out"
            )
        several = [key for key in CHOSEN_FROM if isinstance(settings.get(key), list)]
        if several and settings.get("steps") in steps.STEPS:
            raise SettingError(
                f"{several[0]} is chosen as rates are, which these steps have none "
                "of: name one number"
            )
        if len(several) > 1:
            raise SettingError(
                f"{several[0]} and {several[1]} list several: choose from one at a time"
            )


class RTop(Top):
    """RTop-kF: sees the grades of its top k, and explores (thesis, Algorithm 5)."""

    kind = "rtop"
    about = "RTop-kF, which sees the grades of its top k (thesis, Algorithm 5)."
    settings = (
        SURROGATE,
        RATES,
        STEPS,
        K,
        GAMMA,
        EXPLORATION,
        MISMATCH,
        CENTRE,
        SIGN,
        EPSILON,
        EPSILON_DECAY,
    )
    looks: ClassVar = {surrogate: Look(*look) for surrogate, look in COLOURS.items()}
    sees = "top"
    heeds = (*Top.heeds, "mismatch")

    @classmethod
    def _with_feedback(cls, settings, entry, readings, gamma):
        needed = estimators.NEEDS[settings.objective][0]
        # which the check refuses, with the reason
        k = entry.get("k") or (1 if needed == estimators.ALL else needed)
        estimators.check(settings.objective, k)
        settings = replace(settings, k=k, mismatch=entry.get("mismatch", readings["mismatch"]))
        return _exploring(settings, entry, entry.get("exploration", EXPLORATION.absent), gamma)

    @classmethod
    def check(cls, settings) -> None:
        super().check(settings)
        if settings.get("exploration") == SLOT and settings["surrogate"] in PAIRWISE:
            raise SettingError(
                "exploration: a slot leaves pairs unseen, and the estimate biased. Use kind: seen"
            )


class Seen(Top):
    """Descends on a loss of the documents seen alone, weighted by the inverse of their
    probabilities or not at all.

    Without weights it is biased by what it shows, and no bound on its regret is proved. With full
    weights and the schedule's exploration it is RTop-kF with mismatch 1, but for the squared loss,
    whose estimate has the learner's own scores as its control variate.
    """

    kind = "seen"
    about = (
        "Descends on a loss of the k documents on top, whose grades it sees, as if they were "
        "the whole list."
    )
    settings = (
        SEEN_LOSS,
        RATES,
        STEPS,
        SEEN_K,
        GAMMA,
        EXPLORED,
        WEIGHTS,
        CLIP,
        CENTRE,
        INTERCEPT,
    )
    looks: ClassVar = {
        "squared": Look("blue", "o", ":"),
        "logistic": Look("brown", "X", ":"),
        "listnet": Look("green", "D", ":"),
        "ranksvm": Look("vermilion", "s", ":"),
    }
    sees = "top"
    objectives = LOSSES

    @classmethod
    def _with_feedback(cls, settings, entry, readings, gamma):
        if readings["source"] == "released-code":
            raise SettingError(
                "the authors' released code has no learner of the kind 'seen'. Use source: text"
            )
        fewest = 1 if settings.objective == "squared" else 2
        k = entry.get("k", fewest)
        if k != estimators.ALL and k < fewest:
            raise SettingError(
                f"{settings.objective} compares documents: from {k} grade nothing is learnt. Use "
                "k: 2 or more"
            )
        weights, exploration = (
            entry.get("weights", WEIGHTS.absent),
            entry.get("exploration", EXPLORED.absent),
        )
        floor = {"none": 1.0, "clipped": float(entry.get("clip", CLIP.absent)), "full": 0.0}[
            weights
        ]
        settings = replace(
            settings, k=EVERY_GRADE if k == estimators.ALL else k, control=True, floor=floor
        )
        return _exploring(settings, entry, exploration, gamma)

    @classmethod
    def check(cls, settings) -> None:
        super().check(settings)
        loss, weights = settings["surrogate"], settings.get("weights", WEIGHTS.absent)
        if weights != "none" and loss == "listnet":
            raise SettingError(
                f"weights: ListNet cannot be estimated so: {estimators.NEEDS[loss][1]}. Use "
                "weights: none"
            )
        if settings.get("centre") and weights == "none":
            raise SettingError(
                "centre: what is seen as it is has no such intercept. Use intercept: true"
            )
        if settings.get("intercept") and weights != "none":
            raise SettingError(
                "intercept: it is for what is seen as it is. With weights use centre: true"
            )
        exploration = settings.get("exploration", EXPLORED.absent)
        if weights != "none" and exploration == 0 and settings.get("k") != estimators.ALL:
            raise SettingError(
                "weights: without exploration what is seen is seen for certain, and its weights "
                "are 1. Set exploration, or leave the weights out"
            )


class GradientDescent(Top):
    """Online gradient descent with every grade seen: RTop-kF without its restriction."""

    kind = "ogd"
    about = "Online gradient descent on the same surrogates with every grade seen."
    settings = (SURROGATE, RATES, STEPS, CENTRE, SIGN, EPSILON, EPSILON_DECAY, REMEMBER)
    draws = False
    looks: ClassVar = DASHED


class ListNetDescent(Top):
    """Online gradient descent on ListNet's cross entropy, projected on the ball: the papers'
    baseline.
    """

    kind = "listnet"
    about = (
        "Online gradient descent on ListNet's cross entropy, with every grade seen (thesis 3.3)."
    )
    settings = (RATES, STEPS, REMEMBER)
    draws = False
    looks: ClassVar = DASHED
    objective = "listnet"


DESCENDING = {learner.kind: learner for learner in (RTop, Seen, GradientDescent, ListNetDescent)}
OTHERS = (Random, Ideal, Ridge, Boosted, Newton, PolicyGradient)
LEARNERS = (
    DESCENDING
    | {learner.kind: learner for learner in OTHERS}
    | held_out.LEARNERS
    | click_learners.LEARNERS
)
