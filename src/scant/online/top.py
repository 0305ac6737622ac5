"""RTop-kF with features (thesis, Algorithm 5): the learner that sees only the grades of its top k.

If it sees every grade and does not explore, it is online gradient descent. The comparison of the two shows what
restricted feedback costs. On ListNet's surrogate, gradient descent is the papers' baseline.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from scant import declared
from scant.declared import Look, Setting
from scant.errors import SettingError, unknown
from scant.measures import rank
from scant.online import estimators, steps
from scant.online.iterates import ITERATE, Iterates
from scant.online.learners import RATES, STEPS, Ideal, NonFiniteScores, Random
from scant.online.steps import SCHEDULE
from scant.theory import bounds

EVENTS = ("explored", "mismatched", "clipped", "idle")  # events in rounds, which run files count
OBJECTIVES = ("squared", "kl", "smoothdcg", "ranksvm", "listnet", "ndcg-squared")  # in the order of scant.kernels.top
LOSSES = ("squared", "logistic", "listnet", "ranksvm")  # of the documents seen
CODES = (*OBJECTIVES, "logistic")  # what can be descended on, in the order of scant.kernels.top
PAIRWISE = ("ranksvm", "logistic")  # a query of one document has nothing for these
EVERY_GRADE = 2**31 - 1  # a k that no query has as many documents as
ADAPTIVE = "adaptive"  # exploration that follows from the estimates so far
NOT_CONVEX = "smoothdcg"  # the surrogate whose best fixed weights cannot be certified
# The papers' steps and exploration: the constants in front of t^-power, or of T^-power if fixed at the horizon T.
SCHEDULES = {
    "thesis": {"rate": 0.01, "gamma": 0.1, "fixed": False},
    "aistats16": {"rate": 1.0, "gamma": 1.0, "fixed": True},
    "released-code": {"rate": 0.1, "gamma": 0.1, "fixed": False},
}
RELEASED_CODE = {"smoothdcg": {"epsilon": 0.001, "sign": "as-printed"}, "ranksvm": {"ordered": True}}


@dataclass(frozen=True)
class Settings:
    """The settings of a learner with feedback at the top, except the constant in front of its steps.

    kind : "rtop", "seen", "ogd" or "listnet"
    objective : the surrogate that the learner descends on
    judge : the surrogate whose loss is recorded
    k : how many grades it sees, 0 for all
    gamma, gamma_decay : round t explores with probability gamma * t^-gamma_decay
    exploration : "schedule" for that, or "adaptive" for `scant.online.steps.Exploration`
    steps : how steps are taken: "schedule", or one of `scant.online.steps.STEPS`, which need no rate
    iterate : the weights that it ranks by, one of `scant.online.iterates.CHOICES`
    decay : the step at round t is rate * t^-decay
    scale : a factor on the rate: T^-power if the schedule is fixed at the horizon T, else 1
    mismatch : a factor, in the estimate, on the probability of documents that only exploration puts on top
    ordered, floor, control : see `estimators.estimate`
    epsilon, epsilon_decay : SmoothDCG's smoothing is epsilon * t^-epsilon_decay
    sign : "negated" descends on minus the smoothed gain, "as-printed" on the gain
    radius : U, of the ball that the weights are projected on
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
    iterate: str = "last"
    decay: float = 0.5
    scale: float = 1.0
    mismatch: float = 1.0
    ordered: bool = False
    floor: float = 0.0
    control: bool = False
    epsilon: float = 0.01
    epsilon_decay: float = 0.0
    sign: str = "negated"
    radius: float = 1.0
    fixed: bool = False
    horizon: int = 0
    measure: str = "ndcg@10"

    @property
    def adaptive(self) -> bool:
        """Whether the probability of exploring follows from the estimates so far."""
        return self.exploration == ADAPTIVE

    @property
    def altered(self) -> bool:
        """Whether the estimate differs from the unbiased one of the papers."""
        return self.k > 0 and (self.mismatch != 1 or self.ordered or self.floor > 0 or self.control)

    @property
    def gamma_constant(self) -> float:
        """The constant in front of t^-1/3 in the exploration, or of T^-1/3 if it is fixed at the horizon T."""
        return self.gamma * self.horizon ** (1 / 3) if self.fixed else self.gamma


def resolve(learner: dict, readings: dict, rounds: int) -> tuple[Settings, list]:
    """The complete settings of a learner, and its rates: constants in front of the steps, or "theory".

    learner : its settings in a study; the rate of steps that need none is None
    readings : of the experiment: source, schedule, mismatch, radius and judge
    rounds : the horizon T

    Raises
    ------
    SettingError : the surrogate needs more feedback, or the probability of exploring is outside (0, 1/2]
    """
    kind = learner["kind"]
    if kind not in DESCENDING:
        raise unknown("kind of learner", kind, DESCENDING)
    objective, known = learner.get("surrogate", DESCENDING[kind].objective), LOSSES if kind == "seen" else OBJECTIVES
    if objective not in known:
        raise unknown("surrogate", objective, known)
    released = readings["source"] == "released-code"
    if released and kind == "seen":
        raise SettingError("the authors' released code has no learner of the kind 'seen'. Use source: text")
    schedule = SCHEDULES["released-code" if released else readings["schedule"]]
    options = {key: learner[key] for key in ("epsilon", "epsilon_decay", "sign", "iterate") if key in learner}
    if released:
        options |= RELEASED_CODE.get(objective, {})
    judge = readings["judge"] or ("ranksvm" if objective == "logistic" else objective)
    settings = Settings(kind, objective, judge, radius=readings["radius"], horizon=rounds, **options)
    if kind == "seen":
        settings = _resolve_seen(settings, learner, schedule["gamma"])
    elif DESCENDING[kind].sees == "top":
        k = learner.get("k") or estimators.NEEDS[objective][0]
        if k == estimators.ALL:
            k = 1  # the check refuses it and gives the reason
        estimators.check(objective, k)
        settings = replace(
            settings, k=k, gamma=learner.get("gamma", schedule["gamma"]), gamma_decay=1 / 3, decay=2 / 3,
            mismatch=readings["mismatch"],
        )  # fmt: skip
    settings = replace(settings, ordered=settings.ordered and settings.k == 2, steps=learner.get("steps", SCHEDULE))
    if learner.get("exploration") == ADAPTIVE:
        settings = replace(settings, exploration=ADAPTIVE, gamma=steps.MOST_EXPLORED, gamma_decay=0.0)
    if schedule["fixed"]:
        settings = replace(
            settings, scale=rounds**-settings.decay, decay=0.0,
            gamma=settings.gamma * rounds**-settings.gamma_decay, gamma_decay=0.0, fixed=True,
        )  # fmt: skip
    if settings.steps != SCHEDULE:
        settings = replace(settings, scale=1.0, decay=0.0)
    if kind == "rtop" and not 0 < settings.gamma <= 0.5:
        raise SettingError(
            f"gamma is {settings.gamma:.3g} in round 1, and has to be above 0 and at most 1/2"
            + (f" (T^-1/3 for the horizon T = {rounds}: play 8 rounds or more)" if schedule["fixed"] else "")
        )
    return settings, list(learner.get("rates", [schedule["rate"]])) if settings.steps == SCHEDULE else [None]


def _resolve_seen(settings: Settings, learner: dict, gamma: float) -> Settings:
    """The complete settings of a learner from what it saw; `gamma` is the constant of the schedule's exploration."""
    least = 1 if settings.objective == "squared" else 2
    k = learner.get("k", least)
    if k != estimators.ALL and k < least:
        raise SettingError(
            f"{settings.objective} compares documents: from {k} grade nothing is learnt. Use k: 2 or more"
        )
    weights, exploration = learner.get("weights", WEIGHTS.absent), learner.get("exploration", 0)
    settings = replace(
        settings, k=EVERY_GRADE if k == estimators.ALL else k,
        control=learner.get("control", CONTROL.absent) == "prediction",
        floor={"none": 1.0, "clipped": learner.get("clip", CLIP.absent), "full": 0.0}[weights],
    )  # fmt: skip
    if exploration == SCHEDULE:  # and its steps fall as RTop-kF's
        return replace(settings, gamma=learner.get("gamma", gamma), gamma_decay=1 / 3, decay=2 / 3)
    return settings if exploration == ADAPTIVE else replace(settings, gamma=exploration)


def theory_rate(settings: Settings, stream: dict) -> float:
    """The constant in front of the steps that makes the regret bound smallest, on a stream with this metadata.

    Raises
    ------
    SettingError : no bound is proved for the learner, or it is infinite on this stream
    """
    norm, constant = _constants(settings, stream)
    rate = bounds.descent_rate(norm, settings.radius, settings.fixed)
    if settings.k:
        rate = bounds.top_rate(constant, settings.radius, settings.gamma_constant, settings.fixed)
    if rate == 0:
        raise SettingError("rate 'theory': the bound is infinite on this stream, since e^(R_X U) is. Use a number")
    return rate


def regret_bound(
    settings: Settings, stream: dict, rate: float | None, rounds: np.ndarray, watched: np.ndarray | None = None
) -> np.ndarray:
    """The bound on the learner's expected regret after each of `rounds`, float64 of their shape.

    NaN if none is proved for the learner. If steps are fixed at the horizon, it is the bound at the horizon throughout.

    rate : the constant in front of the steps, None if they need none
    watched : the rows of `Play.watched` at these rounds. AdaGrad's bound depends on the gradients of a run, so that
        under feedback at the top its expectation bounds the expected regret
    """
    if settings.steps != SCHEDULE or settings.adaptive:
        if watched is None or settings.steps != "adagrad" or not _estimates_are_judged(settings):
            return np.full(len(rounds), np.nan)
        squares, explored = watched.T
        loss = 0.0
        if settings.k:
            loss = bounds.exploration_loss(settings.objective, stream["largest_query"], stream["largest_grade"])
        return bounds.adagrad_regret(squares, settings.radius) + loss * explored
    try:
        norm, constant = _constants(settings, stream)
    except SettingError:
        return np.full(len(rounds), np.nan)
    at = np.where(settings.fixed, settings.horizon, rounds)
    if not settings.k:
        return bounds.descent_regret(at, rate, norm, settings.radius, settings.fixed)
    loss = bounds.exploration_loss(settings.objective, stream["largest_query"], stream["largest_grade"])
    return bounds.top_regret(at, rate, constant, settings.radius, settings.gamma_constant, loss, settings.fixed)


def _estimates_are_judged(settings: Settings) -> bool:
    """Whether the learner descends on unbiased estimates of its judge's gradient, and the judge is convex."""
    convex = ("squared", "kl", "ranksvm") if settings.k else tuple(name for name in OBJECTIVES if name != NOT_CONVEX)
    proved = settings.kind != "seen" and settings.iterate == "last" and not settings.altered
    return settings.objective in convex and settings.judge == settings.objective and proved


def check_theory(settings: Settings) -> None:
    """Raise a SettingError if no bound on the learner's regret is proved: theory gives it no rate then."""
    fewest = settings.k in (0, estimators.NEEDS[settings.objective][0])
    unknown_size = settings.objective == "ndcg-squared" or settings.adaptive
    if not _estimates_are_judged(settings) or not fewest or unknown_size:
        raise SettingError(
            f"rate 'theory': no regret bound is proved for this learner on {settings.objective!r}. Use a number, or: "
            "the fewest grades, mismatch 1 and its own surrogate as judge"
        )


def _constants(settings: Settings, stream: dict) -> tuple[float, float]:
    """The largest norm of a gradient, and the constant of Lemma 29 (NaN under full feedback)."""
    check_theory(settings)
    facts = (stream["largest_query"], stream["radius"], stream["largest_grade"], settings.radius)
    constant = bounds.estimate_constant(settings.objective, *facts) if settings.k else np.nan
    return bounds.gradient_norm(settings.objective, *facts), constant


SMOOTHED = ("surrogate", "smoothdcg")  # the condition for settings of its smoothing, see `Setting.when`
SURROGATE = Setting("surrogate", {"enum": list(OBJECTIVES)}, about="The surrogate that the learner descends on.")
K = Setting(
    "k",
    {"type": "integer", "minimum": 1},
    about="How many grades on top the learner sees; by default the fewest that it can do with.",
)
GAMMA = Setting(
    "gamma",
    {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
    about="The constant in front of the exploration, instead of that of the schedule.",
)
EXPLORATION = Setting(
    "exploration",
    {"enum": [SCHEDULE, ADAPTIVE]},
    about="The probability of exploring: by the schedule, or from the variance of the estimates so far (adaptive).",
    absent=SCHEDULE, ours=True,
)  # fmt: skip
SEEN_LOSS = Setting(
    "surrogate", {"enum": list(LOSSES)}, about="The loss of the documents seen that the learner descends on."
)
SEEN_K = Setting(
    "k",
    {"oneOf": [{"type": "integer", "minimum": 1}, {"const": estimators.ALL}]},
    about="How many grades on top the learner sees, or all; by default 1 for squared and 2 for the others.",
)
EXPLORED = Setting(
    "exploration",
    {"oneOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"enum": [SCHEDULE, ADAPTIVE]}]},
    about="The probability of exploring: a number, that of RTop-kF (schedule), or from the variance of the estimates "
    "so far (adaptive).",
    absent=0,
)
WEIGHTS = Setting(
    "weights",
    {"enum": ["none", "clipped", "full"]},
    about="What is seen counts as it is (none), by the inverse of the probability of seeing it (full, unbiased), or by "
    "that of at least `clip`.",
    absent="none",
)
CLIP = Setting(
    "clip",
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    about="The least probability that clipped weights are the inverse of.",
    absent=0.1, when=("weights", "clipped"),
)  # fmt: skip
CONTROL = Setting(
    "control",
    {"enum": ["prediction", "none"]},
    about="The control variate of the squared loss's estimate: the learner's own scores, or none, as in the papers.",
    absent="prediction", when=("surrogate", "squared"),
)  # fmt: skip
SIGN = Setting(
    "sign",
    {"enum": ["negated", "as-printed"]},
    about="Reading: whether SmoothDCG descends on minus its gain, or, as the papers print it, on the gain.",
    reading=True, absent="negated", when=SMOOTHED, unless={"source": "released-code"},
)  # fmt: skip
EPSILON = Setting(
    "epsilon",
    {"type": "number", "exclusiveMinimum": 0},
    about="Reading: SmoothDCG's smoothing in round 1 (0.01 if absent).",
    reading=True, absent=0.01, when=SMOOTHED, unless={"source": "released-code"},
)  # fmt: skip
EPSILON_DECAY = Setting(
    "epsilon_decay",
    {"type": "number", "minimum": 0, "maximum": 1},
    about="Reading: SmoothDCG's smoothing at round t is epsilon * t^-epsilon_decay (0 if absent).",
    reading=True, absent=0, when=SMOOTHED,
)  # fmt: skip
COLOURS = {  # colour and marker of each surrogate that learners descend on
    "squared": ("blue", "o"),
    "kl": ("purple", "^"),
    "ranksvm": ("vermilion", "s"),
    "smoothdcg": ("sky", "v"),
    "listnet": ("green", "D"),
    "ndcg-squared": ("orange", "P"),
}
DASHED = {surrogate: Look(*look, "--") for surrogate, look in COLOURS.items()}


class Top(declared.Learner):
    """RTop-kF in plain Python. `learn` gets -1 for the grades that are not seen.

    objective : the surrogate that it descends on if a study does not name one
    learns, gives_rate : as for `scant.online.learners.Contextual`
    """

    heeds = ("source", "schedule", "radius")
    objective: ClassVar[str] = ""
    learns: ClassVar[bool] = True
    gives_rate: ClassVar[bool] = True

    def __init__(self, features: int, rate: float, settings: Settings, random: np.random.Generator):
        self.weights, self.rate, self.setup, self.random = np.zeros(features), rate, settings, random
        self.k = settings.k or None
        self.steps = steps.made(settings.steps, features, settings.radius)
        self.exploration = steps.Exploration()
        self.iterates = Iterates(settings.iterate)
        self.round = 0

    def rank(self, features) -> np.ndarray:
        """The ranking shown: with the round's probability of exploring, a uniformly random one."""
        self.round += 1
        self.scores = (features.astype(np.float64) @ self.weights).astype(np.float32)
        self.shown = (features.astype(np.float64) @ self.iterates.mean(self.weights)).astype(np.float32)
        if not np.isfinite([self.scores, self.shown]).all():
            raise NonFiniteScores
        self.own = rank(self.shown)
        self.chance = self.setup.gamma * self.round**-self.setup.gamma_decay
        if self.setup.adaptive:
            self.chance = self.exploration.chance
        self.explored = self.setup.k > 0 and self.random.random() < self.chance
        if self.explored:
            self.shown = np.array([self.random.random() for _ in features], np.float32)
        return rank(self.shown)

    @property
    def smoothing(self) -> float:
        """SmoothDCG's epsilon in this round."""
        return self.setup.epsilon * self.round**-self.setup.epsilon_decay

    def learn(self, features, grades, ranking) -> bool:
        """Take a step from the grades seen and project on the ball; return whether there was enough to learn."""
        settings, scores = self.setup, self.scores.astype(np.float64)
        if settings.objective in PAIRWISE and len(scores) < 2:
            self.exploration.saw(0.0, self.chance, self.explored)
            return False
        if settings.k:
            gradient = estimators.estimate(
                settings.objective, scores, grades, ranking, settings.k, self.chance, self.smoothing,
                settings.mismatch, settings.ordered, settings.floor, settings.control, self.own,
            )  # fmt: skip
        else:
            _, gradient = estimators.value_and_gradient(settings.objective, scores, grades, self.smoothing)
        if settings.objective == "smoothdcg" and settings.sign == "as-printed":
            gradient = -gradient
        slope = features.astype(np.float64).T @ gradient
        self.exploration.saw(slope @ slope, self.chance, self.explored)
        if self.steps:
            self.steps.take(self.weights, slope)
        else:
            self.weights -= self.rate * settings.scale * self.round**-settings.decay * slope
        self.weights *= min(1.0, settings.radius / max(np.linalg.norm(self.weights), 1e-300))
        return True

    def events(self, ranking) -> list[int]:
        """The counts of `EVENTS` for this round.

        Whether it explored; whether other documents than by its scores were on top; how many exponents were clipped;
        whether there were too few documents to learn from.
        """
        k = min(self.setup.k or len(ranking), len(ranking))
        scores, clipped = self.scores.astype(np.float64), 0
        if self.setup.objective == "kl":
            seen = ranking[:k]
            clipped = int(np.sum(scores[seen] > estimators.surrogates.EXP_CLIP))
        elif self.setup.objective == "smoothdcg":
            clipped = int(np.sum(scores / self.smoothing > np.log(np.finfo(float).max)))
        idle = self.setup.objective in PAIRWISE and len(ranking) < 2
        return [self.explored, set(ranking[:k]) != set(self.own[:k]), clipped, idle]

    def suffered(self, grades) -> float:
        """The judging surrogate's loss of the scores shown."""
        shown = self.shown.astype(np.float64)
        return estimators.value_and_gradient(self.setup.judge, shown, grades, self.smoothing)[0]

    @classmethod
    def check(cls, settings) -> None:
        steps.check(settings)
        if "gamma" in settings and settings.get("exploration", SCHEDULE) != SCHEDULE:
            raise SettingError(
                "gamma would do nothing: exploration 'adaptive' needs no constant. Leave one of the two out"
            )
        if "surrogate" not in settings and not cls.objective:
            raise SettingError(f"the kind {cls.kind!r} needs a surrogate, one of {', '.join(OBJECTIVES)}")


class RTop(Top):
    """RTop-kF: sees the grades of its top k, and explores (thesis, Algorithm 5)."""

    kind = "rtop"
    about = "RTop-kF, which sees the grades of its top k (thesis, Algorithm 5)."
    settings = (SURROGATE, RATES, STEPS, ITERATE, K, GAMMA, EXPLORATION, SIGN, EPSILON, EPSILON_DECAY)
    looks: ClassVar = {surrogate: Look(*look) for surrogate, look in COLOURS.items()}
    sees = "top"
    heeds = (*Top.heeds, "mismatch")


class Seen(Top):
    """Descends on a loss of the documents seen alone, weighted by the inverse of their probabilities or not at all.

    Without weights it is biased by what it shows, and no bound on its regret is proved. With full weights, no control
    variate and the schedule's exploration it is RTop-kF with mismatch 1.
    """

    kind = "seen"
    about = "Descends on a loss of the documents on top alone, whose grades it sees: without weights, or with them."
    settings = (SEEN_LOSS, RATES, STEPS, ITERATE, SEEN_K, GAMMA, EXPLORED, WEIGHTS, CLIP, CONTROL)
    looks: ClassVar = {
        "squared": Look("blue", "o", ":"),
        "logistic": Look("brown", "X", ":"),
        "listnet": Look("green", "D", ":"),
        "ranksvm": Look("vermilion", "s", ":"),
    }
    sees = "top"

    @classmethod
    def check(cls, settings) -> None:
        steps.check(settings)
        if "surrogate" not in settings:
            raise SettingError(f"the kind 'seen' needs a surrogate, one of {', '.join(LOSSES)}")
        loss, weights = settings["surrogate"], settings.get("weights", WEIGHTS.absent)
        if weights != "none" and loss == "listnet":
            raise SettingError(
                f"weights: ListNet cannot be estimated so: {estimators.NEEDS[loss][1]}. Use weights: none"
            )
        if weights == "none" and settings.get("control") == "none":
            raise SettingError("control: none takes grades that are not seen for 0, unless there are weights")
        exploration = settings.get("exploration", EXPLORED.absent)
        if weights != "none" and exploration == 0 and settings.get("k") != estimators.ALL:
            raise SettingError(
                f"weights: without exploration what is seen is seen for certain, and weights '{weights}' are 1. "
                "Set exploration, or leave the weights out"
            )
        if "gamma" in settings and exploration != SCHEDULE:
            raise SettingError("gamma does nothing unless exploration is 'schedule'")


class GradientDescent(Top):
    """Online gradient descent with every grade seen: RTop-kF without its restriction."""

    kind = "ogd"
    about = "Online gradient descent on the same surrogates with every grade seen."
    settings = (SURROGATE, RATES, STEPS, ITERATE, SIGN, EPSILON, EPSILON_DECAY)
    draws = False
    looks: ClassVar = DASHED


class ListNetDescent(Top):
    """Online gradient descent on ListNet's cross entropy, projected on the ball: the papers' baseline."""

    kind = "listnet"
    about = "Online gradient descent on ListNet's cross entropy, with every grade seen (thesis 3.3)."
    settings = (RATES, STEPS, ITERATE)
    draws = False
    looks: ClassVar = DASHED
    objective = "listnet"


DESCENDING = {learner.kind: learner for learner in (RTop, Seen, GradientDescent, ListNetDescent)}
LEARNERS = {**DESCENDING, **{learner.kind: learner for learner in (Random, Ideal)}}
