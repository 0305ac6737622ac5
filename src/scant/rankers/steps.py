"""Steps of descent as large as the gradients so far tell, in plain Python; `scant.kernels.steps` is
the same, compiled.

Each moves the weights of a learner against gradients, which it gets one by one. Weights start at 0.
"""

from collections.abc import Mapping

import numpy as np

from scant.errors import SettingError

# DoG's r_epsilon: how far the weights are taken to have moved before they move
FIRST_DISTANCE = 1e-6
ALPHA = 100.0  # COCOB's alpha: no bet is larger than one of that many largest gradients allows


class Steps:
    """What all steps share.

    squares : the sum of the squared norms of the gradients so far
    """

    kind = ""
    about = ""

    def __init__(self, features: int, radius: float = 1.0):
        """
        features : d, how many weights there are
        radius : of the ball that the weights are kept in; 1 without a ball
        """
        self.features, self.radius, self.squares = features, radius, 0.0

    def take(self, weights: np.ndarray, gradient: np.ndarray) -> None:
        """Move `weights` (d), in place, against `gradient` (d).

        The caller projects them on their ball, if any.
        """
        self.squares += gradient @ gradient
        if self.squares > 0:  # until then gradients were 0, and sizes would divide by it
            self._move(weights, gradient)

    def _move(self, weights, gradient) -> None:
        weights -= self._size(weights) * gradient


class AdaGrad(Steps):
    """AdaGrad's norm version: `sqrt(2) U / sqrt(sum of squared norms)` on the ball of radius U.

    Source: Streeter and McMahan 2010; Duchi, Hazan and Singer 2011; Orabona 2019, section 4.2.
    Without a ball nothing is proved.
    """

    kind = "adagrad"
    about = "AdaGrad"

    def _size(self, weights) -> float:
        return np.sqrt(2) * self.radius / np.sqrt(self.squares)


class DistanceOverGradients(Steps):
    """DoG: the largest distance from the start over the root of the sum of squared norms.

    Source: Ivgi, Hinder and Carmon 2023.
    """

    kind = "dog"
    about = "DoG"

    def __init__(self, features, radius=1.0):
        super().__init__(features, radius)
        self.distance = FIRST_DISTANCE

    def _size(self, weights) -> float:
        self.distance = max(self.distance, np.linalg.norm(weights))
        return self.distance / np.sqrt(self.squares)


class _Betting(Steps):
    """What steps by betting share: the point that they bet on may be outside the ball, and the
    weights are its projection. A gradient that would draw the point further out loses the part that
    does (Cutkosky 2020). The regret of the weights is then at most the regret of the point on what
    is left of the gradients.
    """

    def __init__(self, features, radius=1.0):
        super().__init__(features, radius)
        self.point, self.total = np.zeros(features), np.zeros(features)

    def _move(self, weights, gradient):
        beyond = self.point - weights
        outwards = gradient @ beyond
        if outwards < 0:
            gradient = gradient - outwards / (beyond @ beyond) * beyond
        self._bet(gradient)
        weights[:] = self.point


class CoinBetting(_Betting):
    """Betting on the direction of w by Krichevsky and Trofimov's rule, with initial wealth 1
    (Orabona and Pal 2016).

    A coin is a gradient over the largest norm so far, and counts by its length. A gradient that is
    longer than all before it is cut to their largest length before the bettor sees it (Cutkosky
    2019).
    """

    kind = "coin"
    about = "coin betting"

    def __init__(self, features, radius=1.0):
        super().__init__(features, radius)
        self.largest, self.lengths, self.reward = 0.0, 0.0, 0.0

    def _bet(self, gradient):
        length = np.linalg.norm(gradient)
        if length == 0:
            return
        self.largest = self.largest or length  # the first gradient has none before it to be cut to
        gradient = gradient * min(1.0, self.largest / length)
        self.largest = max(self.largest, length)
        self.lengths += np.linalg.norm(gradient)
        self.reward -= gradient @ self.point
        self.total -= gradient
        self.point = self.total / (self.largest + self.lengths) * (1 + self.reward / self.largest)


class Cocob(_Betting):
    """COCOB as it trains networks: a bet in each coordinate (Orabona and Tommasi 2017, Algorithm
    2).

    By coordinate, `largest` and `lengths` are the largest size of a gradient and the sum of the
    sizes, and `reward` is what bets have won.
    """

    kind = "cocob"
    about = "COCOB"

    def __init__(self, features, radius=1.0):
        super().__init__(features, radius)
        self.largest, self.lengths, self.reward = (
            np.zeros(features),
            np.zeros(features),
            np.zeros(features),
        )

    def _bet(self, gradient):
        lengths = np.abs(gradient)
        self.largest = np.maximum(self.largest, lengths)
        self.lengths += lengths
        self.reward = np.maximum(0.0, self.reward - gradient * self.point)
        self.total -= gradient
        bets = np.divide(
            self.total, self.largest, where=self.largest > 0, out=np.zeros(self.features)
        )
        most = np.maximum(self.lengths + self.largest, ALPHA * self.largest)
        self.point = np.divide(
            bets * (self.largest + self.reward), most, where=most > 0, out=np.zeros(self.features)
        )


SCHEDULE = "schedule"
STEPS = {steps.kind: steps for steps in (AdaGrad, DistanceOverGradients, CoinBetting, Cocob)}
CHOICES = (SCHEDULE, *STEPS)  # in the order of scant.kernels.steps


def made(kind: str, features: int, radius: float) -> Steps | None:
    """Make the `Steps` of a kind; None for a schedule, which has none."""
    return STEPS[kind](features, radius) if kind in STEPS else None


def check(settings: Mapping) -> None:
    """Raise a SettingError if a learner's settings give its steps a rate, or a decay, that would do
    nothing.
    """
    kind = settings.get("steps", SCHEDULE)
    for key in ("rates", "decay"):
        if kind != SCHEDULE and key in settings:
            raise SettingError(
                f"steps {kind!r} need no rate, so {key} would do nothing: leave it out, or set "
                f"steps: {SCHEDULE}"
            )
