"""Learners that keep a weight for each ranking, or for each item at each place."""

from itertools import permutations
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look
from scant.errors import SettingError
from scant.games.player import Player
from scant.theory import game_bounds

LARGEST_TABLE = 6  # items, for learners that keep a number for each of the m! rankings
LARGEST_BAND = 5  # items, for CombBand, which also inverts a matrix of m^2 rows each round


class Table(Player):
    """Keeps the logarithm of a weight for each of the m! rankings, and draws a ranking in
    proportion to the weights.
    """

    def __init__(self, facts, random, largest: int = LARGEST_TABLE):
        super().__init__(facts, random)
        m = facts.items
        if m > largest:
            raise SettingError(
                f"learner {self.kind!r}: it keeps a number for each of the m! rankings, so it "
                f"plays up to {largest} items; this game has {m}. Use a stream of fewer items, or "
                "ftpl, fpl-gumbel or online-rank"
            )
        self.rankings = np.array(list(permutations(range(m))), np.int64)
        self.logs = np.zeros(len(self.rankings))

    def probabilities(self) -> np.ndarray:
        """The probability of each ranking, float64 (m!)."""
        weights = np.exp(self.logs - self.logs.max())
        return weights / weights.sum()

    def rank(self):
        edges = np.cumsum(self.probabilities())
        # The product may round up to the last edge, beyond which there is no ranking.
        self.drawn = min(
            int(np.searchsorted(edges, self.random.random() * edges[-1], "right")), len(edges) - 1
        )
        return self.rankings[self.drawn]

    def range(self) -> float:
        """The largest difference of the losses of two rankings in one round."""
        return 1.0 if self.facts.loss.places is None else self.facts.constants[1] or 1.0

    def _loop(self, eta: float, spread: float) -> tuple[str, dict]:
        """The compiled loop of a learner that sees all of a round; `spread` as in
        `scant.kernels.table.play_table`.
        """
        sign = -1.0 if self.facts.loss.gain else 1.0
        return "table:play_table", {
            "rankings": self.rankings,
            "sign": sign,
            "eta": eta,
            "spread": spread,
        }


class Hedge(Table):
    """Hedge over all rankings: weights are multiplied by exp(-eta loss) (Freund & Schapire 1997).

    eta is sqrt(8 log m! / T) / R.
    """

    kind = "hedge"
    about = "Hedge, with a weight for each of the m! rankings (Freund & Schapire 1997)."
    looks: ClassVar = {"": Look("brown", "*", "--")}

    def __init__(self, facts, random):
        super().__init__(facts, random)
        self.eta = game_bounds.hedge_eta(max(2, len(self.logs)), self.range(), facts.rounds)

    def learn(self, ranking, seen):
        self.logs -= self.eta * self.facts.costs(self.rankings, seen)

    def loop(self):
        return self._loop(self.eta, 0.0)

    def bound(self, t):
        return game_bounds.hedge(t, self.eta, len(self.logs), self.range())


class MultiplicativeWeights(Table):
    """Multiplicative weights over all rankings: weights are multiplied by 1 - eta loss, with losses
    scaled to [0, 1].

    eta is min(1/2, sqrt(log m! / T)) (Arora, Hazan & Kale 2012).
    """

    kind = "multiplicative-weights"
    about = "Multiplicative weights, one for each of the m! rankings (Arora, Hazan & Kale 2012)."
    looks: ClassVar = {"": Look("pink", "h", "--")}

    def __init__(self, facts, random):
        super().__init__(facts, random)
        self.eta = game_bounds.multiplicative_eta(max(2, len(self.logs)), facts.rounds)

    def learn(self, ranking, seen):
        costs = self.facts.costs(self.rankings, seen)
        self.logs += np.log1p(-self.eta * (costs - costs.min()) / self.range())

    def loop(self):
        return self._loop(self.eta, self.range())

    def bound(self, t):
        return game_bounds.multiplicative_weights(t, self.eta, len(self.logs), self.range())


class PermELearn(Player):
    """Exponential weights on items at places, kept doubly stochastic (Helmbold & Warmuth 2009).

    Each round multiplies the weight of each item at each place by exp(-eta cost), with costs scaled
    to [0, 1]. Then Sinkhorn's iteration makes rows and columns sum to 1 again. Rankings are drawn
    from a Birkhoff decomposition of the matrix of weights.

    eta is log(1 + sqrt(2 m log m / L)), where L is the largest scaled loss of uniformly random
    rankings.
    """

    kind = "permelearn"
    about = (
        "PermELearn: exponential weights on items at places, kept doubly stochastic (Helmbold "
        "& Warmuth 2009)."
    )
    looks: ClassVar = {"": Look("olive", "<", "--")}

    # of the sums of rows and columns, and so of expected losses, relative to their size
    TOLERANCE = 1e-6

    def __init__(self, facts, random):
        super().__init__(facts, random)
        if facts.loss.places is None:
            raise SettingError(
                f"learner 'permelearn': it plays linear losses; {facts.loss.name} is none. Use "
                "hedge"
            )
        m, weights = facts.items, facts.weights
        costs = -weights if facts.loss.gain else weights
        self.span = np.ptp(costs) or 1.0  # range of the weights of places
        self.costs = (costs - costs.min()) / self.span
        self.spread = (facts.largest - facts.lowest) or 1.0  # range of values
        self.weights = np.full((m, m), 1 / m)  # items x places
        self.largest_loss = facts.rounds * m * self.costs.mean()
        self.eta = game_bounds.permelearn_eta(max(2, m), self.largest_loss)

    def rank(self):
        u, ranking = self.random.random(), np.empty(self.facts.items, np.int64)
        # decomposed no further than the draw needs
        for probability, places in birkhoff(self.weights):
            ranking[places] = np.arange(self.facts.items)
            u -= probability
            if u < 0:
                break
        return ranking

    def learn(self, ranking, seen):
        scaled = (np.asarray(seen, float) - self.facts.lowest) / self.spread
        self.weights = sinkhorn(
            self.weights * np.exp(-self.eta * np.outer(scaled, self.costs)), self.TOLERANCE
        )

    def bound(self, t):
        t = np.asarray(t, float)
        best = self.largest_loss * t / self.facts.rounds
        return self.span * self.spread * game_bounds.permelearn(best, self.eta, self.facts.items)


def sinkhorn(matrix: np.ndarray, tolerance: float, most: int = 100_000) -> np.ndarray:
    """Scale the rows and columns of a positive matrix in turn until each sums to 1, up to
    `tolerance`.

    It stops after `most` iterations. Returns a copy, float64 (m x m).
    """
    from scant.kernels import games

    matrix = np.maximum(matrix, 1e-300)  # with zeros there may be no scaling at which all sum to 1
    games.balance(matrix, tolerance, most)
    return matrix


def birkhoff(matrix: np.ndarray, smallest: float = 1e-12):
    """Decompose a doubly stochastic matrix into permutations: yields pairs of a permutation's
    probability and the column that it takes in each row.

    Each step takes the permutation with the largest sum among the entries that are still above
    `smallest`, gives it the smallest of its entries as probability, and subtracts this from all of
    them. It ends when no permutation is left; the probabilities then sum to 1 up to rounding.
    """
    from scipy.optimize import linear_sum_assignment

    remaining = matrix.copy()
    while True:
        rows, columns = linear_sum_assignment(
            np.where(remaining > smallest, -remaining, len(remaining))
        )
        probability = remaining[rows, columns].min()
        if probability <= smallest:
            return
        yield probability, columns
        remaining[rows, columns] -= probability


class CombBand(Table):
    """ComBand on permutation matrices: learns from the loss of its own ranking alone (Cesa-Bianchi
    & Lugosi 2012).

    Hedge on estimated losses, mixed with uniform exploration. If one item is relevant in each
    round, the loss tells which one; this is the bandit game of Ailon, section 4.

    Hedge's learning rate eta, on losses scaled to [0, 1], is theory's. The share of exploration is
    eta m (m - 1), at most 1.
    """

    kind = "comb-band"
    about = "ComBand on permutations, which sees its own loss alone (Cesa-Bianchi & Lugosi 2012)."
    looks: ClassVar = {"": Look("brown", ">")}
    sees = "loss"

    def __init__(self, facts, random):
        super().__init__(facts, random, LARGEST_BAND)
        m = facts.items
        if facts.loss.places is None:
            raise SettingError(
                f"learner 'comb-band': it plays linear losses; {facts.loss.name} is none. Use hedge"
            )
        self.eta = game_bounds.comb_band_rates(max(2, m), facts.rounds)[0]
        self.gamma = min(1.0, self.eta * m * (m - 1))
        self.matrices = np.zeros((len(self.rankings), m * m))
        for i, ranking in enumerate(self.rankings):
            self.matrices[i, ranking * m + np.arange(m)] = 1.0
        self.least, self.span = facts.losses[0], (facts.losses[1] - facts.losses[0]) or 1.0

    def probabilities(self):
        return (1 - self.gamma) * super().probabilities() + self.gamma / len(self.rankings)

    def rank(self):
        self.p = self.probabilities()
        return super().rank()

    def learn(self, ranking, seen):
        loss = (seen - self.least) / self.span
        if self.facts.loss.gain:
            loss = 1 - loss
        second_moment = (self.matrices * self.p[:, None]).T @ self.matrices
        # Singular, since the rows and the columns of all permutations sum to 1.
        direction = np.linalg.pinv(second_moment, hermitian=True) @ self.matrices[self.drawn]
        self.logs -= self.eta * loss * (self.matrices @ direction)

    def bound(self, t):
        if self.eta * self.facts.items * (self.facts.items - 1) > 1:
            return super().bound(t)
        return self.span * game_bounds.comb_band(t, self.eta, self.facts.items)
