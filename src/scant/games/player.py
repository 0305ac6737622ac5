"""What the learners of the games have in common: what they know beforehand, their base class, and
settings.

`scant.games.learners` says what a learner is.
"""

from dataclasses import dataclass

import numpy as np

from scant.declare import declarations
from scant.declare.declarations import Setting, whole_number
from scant.errors import SettingError
from scant.games.losses import Loss
from scant.theory import game_bounds

# A setting that several learners have. `absent` is the default of the argument of `__init__`.
K = Setting(
    "k",
    whole_number(),
    about="How many items on top of a ranking are seen.",
    absent=1,
)


@dataclass(frozen=True)
class Facts:
    """What a learner may know about a game before it starts.

    items, rounds : m and T
    lowest, largest : the lowest and the largest value that the learner may see
    pairs : the largest sum in a round, over pairs of items, of the squared difference of their
        values (Ailon's M)
    best : the best fixed ranking in hindsight, for the learner `BestFixed`
    losses : the least and the largest value of any ranking in any round, for `CombBand`
    round_constants : the largest absolute loss of any ranking in any round, and the largest l1 norm
        of a round's values, for `FTPL` with Ailon's parameters
    """

    items: int
    rounds: int
    loss: Loss
    lowest: float
    largest: float
    pairs: float
    best: np.ndarray | None = None
    losses: tuple[float, float] | None = None
    round_constants: tuple[float, float] | None = None

    @property
    def weights(self) -> np.ndarray:
        return self.loss.weights(self.items)

    @property
    def constants(self) -> tuple[float, float, float]:
        """D, R and A of `scant.theory.game_bounds`, for values measured from the lowest."""
        spread = self.largest - self.lowest
        weights = self.weights
        return (
            game_bounds.diameter(weights),
            game_bounds.largest_difference(weights, spread),
            self.items * spread,
        )

    @property
    def scale(self) -> float:
        """The largest absolute value, or 1 if all are 0: the noise of theory is proportional to
        it.
        """
        return max(abs(self.lowest), abs(self.largest)) or 1.0

    def costs(self, rankings: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The loss of each ranking in one round, float64 (rankings); gains count as negative
        losses.

        rankings : (rankings x m), item indices, best first
        values : (m), of the round
        """
        if self.loss.places is None:
            ranked = values[rankings]
            precision = np.cumsum(ranked, axis=1) / np.arange(1, self.items + 1)
            return -(precision * ranked).sum(axis=1) / max(values.sum(), 1e-300)
        totals = values[rankings] @ self.weights
        return -totals if self.loss.gain else totals


class Player(declarations.Learner):
    """The base class of the built-in learners.

    facts : what the learner knows about the game beforehand
    random : the generator for its randomness
    """

    explored = 0  # rounds spent so far on exploring

    def __init__(self, facts: Facts, random: np.random.Generator):
        self.facts, self.random = facts, random

    def rank(self) -> np.ndarray:
        """The ranking to show in this round, int64 (m)."""
        raise NotImplementedError

    def learn(self, ranking: np.ndarray, seen) -> None:
        """Learn from the feedback of the round."""

    def bound(self, t) -> np.ndarray:
        """The bound on the expected regret at rounds t; NaN where none is known."""
        return np.full(np.shape(t), np.nan)

    def loop(self) -> tuple[str, dict] | None:
        """The compiled loop of `scant.kernels`, "module:name", and its own arguments in its order;
        None without one.
        """
        return None


def check_k(k: int, items: int) -> int:
    """`k`, if there are so many items to see; else a SettingError."""
    if k > items:
        raise SettingError(f"k is {k}; with {items} items it must be from 1 to {items}")
    return k


def positive(name: str, value: float | None, theory: float) -> float:
    """A setting's value, or `theory` if it is None; a SettingError unless it is above 0.

    name : the setting's
    """
    if value is None:
        return theory
    if not value > 0:
        raise SettingError(f"{name} is {value}; it must be above 0")
    return value
