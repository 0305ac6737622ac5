"""The learners of the games on fixed items: what a learner is, the list of them, and how one is
made.

A learner is a class with two methods. `rank()` returns the ranking to show (item indices, best
first); `learn(ranking, seen)` takes the feedback of the round. The attribute `sees` says what this
is: "all" (the values of all items), "top" (the values of the first `k` items of the ranking, in its
order), "loss" (the value of the ranking alone) or "nothing". Values are what the loss makes of the
relevances, such as 2^r - 1 for DCG; a learner that sees all of them gets them divided by the
normaliser of the round, if there is one.

Learners are in plain Python. Some also have a compiled loop, which their `loop()` names; tests
check that it plays exactly as the class. Parameters that are not set have the values of theory.
`bound(t)` is the bound on the expected regret at rounds t, NaN where none is known.

Each class declares its kind, its settings (the arguments of its `__init__` after facts and random)
and how figures draw it, as `scant.declare.declarations.Learner` says. A new one is added to
`BUILT_IN`, at the end of this module. The classes are here, in `perturbed` (noise added to sums of
values), `weights` (a weight for each ranking), `blocks` (exploration in blocks), `pege` (phases),
`precision` (sets), `forecaster` and `optimisation` (partial monitoring).

A user's own learner is named `module:Class` in the settings, and made as `Class(items=m, rounds=T,
random=generator, **settings)`. It may have the attributes `sees` ("all" if absent), `k` if that is
"top", and `explored`, the number of rounds spent on exploring; and the method `bound`. If it
declares `settings`, no others are accepted.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting, own_class, settings_of, whole_number
from scant.declare.own import making
from scant.errors import SettingError, unknown
from scant.games.blocks import REST, AdaptiveRTopKF, AnytimeRTopKF, Blocks
from scant.games.forecaster import Forecaster
from scant.games.optimisation import ExplorationByOptimisation
from scant.games.pege import PEGE, PEGE2
from scant.games.perturbed import FTPL, SORTERS, FPLGumbel, OnlineRank, Perturbed
from scant.games.player import Facts, K, Player
from scant.games.precision import SemiBandit
from scant.games.weights import CombBand, Hedge, MultiplicativeWeights, PermELearn
from scant.measures import rank
from scant.theory import game_bounds


class Random(Player):
    """A uniformly random ranking in each round: a control that learns nothing."""

    kind = "random"
    about = "A uniformly random ranking in each round: a control, which learns nothing."
    looks: ClassVar = {"": Look("grey", "x", "--")}
    sees = "nothing"

    def rank(self):
        return rank(self.random.random(self.facts.items))

    def loop(self):
        return "games:play_full", {
            "learns": False,
            "sorter": SORTERS["uniform"],
            "rate": 0.0,
            "noise": 1.0,
        }


class BestFixed(Player):
    """The best fixed ranking in hindsight: a control whose regret is 0 at the horizon."""

    kind = "best-fixed"
    about = "The best fixed ranking in hindsight: the control whose regret is 0 at the horizon."
    draws = False
    looks: ClassVar = {"": Look("#000000", "+")}
    sees = "nothing"

    def rank(self):
        return self.facts.best


class RTopKF(Blocks):
    """RTop-kF: K blocks of equal length and a full-information learner (Chaudhuri 2016, Algorithm
    4).

    k : how many items on top are seen
    blocks : K, m^(1/3) (T / ceil(m/k))^(2/3) unless set; if it does not divide T, the last block is
        longer
    rest : see `Blocks`
    black_box : the full-information learner, which plays K rounds: a kind, or a mapping with `kind`
        and settings
    """

    kind = "rtopkf"
    about = (
        "RTop-kF: blocks in each of which every item is once among the top k (Chaudhuri 2016, "
        "Algorithm 4)."
    )
    settings = (
        K,
        Setting(
            "blocks",
            whole_number(),
            about="K, the number of blocks; theory's if absent.",
        ),
        replace(REST, absent="random"),
        Setting(
            "black_box",
            {"type": ["string", "object"]},
            about=(
                "The learner that it gives its estimates to: a kind, or a mapping of kind and "
                "its settings."
            ),
            absent="ftpl",
        ),
    )
    looks: ClassVar = {
        "": Look("blue", "o"),
        # By the ids in the project's studies: some figures show several of this kind.
        "#blocks-200": Look("brown", "*"),
        "#blocks-10": Look("sky", "X"),
        "#blocks-400": Look("pink", "d"),
        "#blocks-200-top5": Look("sky", "p"),
        "#blocks-200-top10": Look("pink", "h"),
        "#released-100": Look("olive", "H"),
    }

    def __init__(
        self, facts, random, k=1, blocks: int | None = None, rest="random", black_box="ftpl"
    ):
        super().__init__(facts, random, k, rest)
        if blocks is None:
            blocks = game_bounds.theory_blocks(facts.items, k, facts.rounds)
        self.length = facts.rounds // blocks
        if self.length < self.cells:
            raise SettingError(
                f"K = {blocks} blocks of T = {facts.rounds} rounds have {self.length} rounds each, "
                f"too few to show m = {facts.items} items k = {k} at a time, which takes "
                f"{self.cells}. With these T, m and k the largest K is {facts.rounds // self.cells}"
            )
        self.blocks = blocks
        settings = {"kind": black_box} if isinstance(black_box, str) else dict(black_box)
        kind = settings.pop("kind", "")
        if kind in LEARNERS and LEARNERS[kind].sees != "all":
            raise SettingError(
                f"learner {kind!r} cannot be a black box: it does not learn from the values of all "
                "items"
            )
        # An estimate combines values of several rounds, so that its differences may be larger than
        # in any round.
        pairs = (facts.items * (facts.largest - facts.lowest) / 2) ** 2
        norm = facts.items * facts.scale
        of_estimates = replace(
            facts,
            rounds=blocks,
            pairs=pairs,
            round_constants=(norm * float(np.abs(facts.weights).max()), norm),
        )
        self.black_box = make(kind, of_estimates, random, **settings)

    def begin(self):
        last = self.block == self.blocks - 1
        return self.facts.rounds - self.length * (self.blocks - 1) if last else self.length

    def end(self):
        self.black_box.learn(None, self.estimate.copy())

    def bound(self, t):
        if self.facts.loss.normalised or not isinstance(self.black_box, Player):
            return super().bound(t)
        facts = self.facts
        R = facts.constants[1]
        return game_bounds.rtopkf(
            t, facts.rounds, self.blocks, facts.items, self.k, R, self.black_box.bound
        )

    def loop(self):
        if not isinstance(self.black_box, Perturbed):
            return None
        lengths = np.full(self.blocks, self.length)
        lengths[-1] = self.facts.rounds - self.length * (self.blocks - 1)
        noises = np.full(self.blocks, self.black_box.noise)
        return self._loop(lengths, noises, np.ones(self.blocks))


BUILT_IN = (
    Random,
    BestFixed,
    FTPL,
    FPLGumbel,
    OnlineRank,
    Hedge,
    MultiplicativeWeights,
    PermELearn,
    CombBand,
    RTopKF,
    AnytimeRTopKF,
    AdaptiveRTopKF,
    Forecaster,
    ExplorationByOptimisation,
    SemiBandit,
    PEGE,
    PEGE2,
)
LEARNERS = {learner.kind: learner for learner in BUILT_IN}


def make(kind: str, facts: Facts, random: np.random.Generator, /, **settings):
    """Make a learner of this kind, built in or a user's `module:Class`.

    Raises
    ------
    SettingError : an unknown kind or setting, an invalid value, or a class that cannot be imported
        or made
    """
    if ":" in str(kind):
        return _make_user_class(kind, facts, random, settings)
    if kind not in LEARNERS:
        raise unknown("learner of a game", kind, LEARNERS)
    _check_names(kind, settings, settings_of(LEARNERS[kind]))
    return LEARNERS[kind](facts, random, **settings)


def _make_user_class(kind: str, facts: Facts, random, settings: dict):
    """A learner of a user's `module:Class`."""
    learner = own_class(kind)
    if declared := settings_of(learner):  # else only its `__init__` knows which it takes
        _check_names(kind, settings, declared)
    with making(f"learner {kind!r} cannot be made with its settings"):
        return learner(items=facts.items, rounds=facts.rounds, random=random, **settings)


def _check_names(kind: str, settings: Collection[str], names: Collection[str]) -> None:
    """Raise a SettingError for a setting that the learner does not have."""
    for name in settings:
        if name not in names:
            raise unknown(f"setting of the learner {kind!r}", name, names)
