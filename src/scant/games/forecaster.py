"""A learner for every game that can be learnt: exponential weights on estimated differences of
losses.
"""

from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look
from scant.games.cells import cell_of
from scant.games.player import K, Player
from scant.theory import game_bounds


class Forecaster(Player):
    """Exponential weights on estimated loss differences (Piccolboni & Schindelhauer 2001;
    Cesa-Bianchi, Lugosi & Stoltz 2006, Figure 1), for any loss and any k with which it is globally
    observable, and up to 5 items.

    With probability gamma it explores: it draws a top set uniformly and shows, of the rankings with
    this set on top, the one with the largest weight. Else it draws a ranking in proportion to the
    weights. If it shows a top set a, which happens with probability P(a), and sees feedback g, the
    weight of ranking i is multiplied by `exp(-eta V[a, g, i] / P(a))`, where V are the estimators
    of the cell (`scant.games.cells.Cell.estimators`). Where all items are seen there is a single
    top set, and no exploration.

    The bound is `game_bounds.forecaster`. It is of the order T^(2/3), or T^(1/2) where all items
    are seen, against any sequence of relevances that does not depend on the learner's draws.

    k : how many items on top are seen
    Its rates, eta and gamma, are `game_bounds.forecaster_rates` for the horizon.

    Raises
    ------
    SettingError : the cell is not globally observable, or too large for tables; see
        `scant.games.cells`
    """

    kind = "forecaster"
    about = (
        "Exponential weights on estimated loss differences, for every game that can be learnt "
        "(Cesa-Bianchi, Lugosi & Stoltz 2006); up to 5 items."
    )
    settings = (K,)
    looks: ClassVar = {"": Look("vermilion", "P")}
    sees = "top"

    def __init__(self, facts, random, k: int = 1):
        super().__init__(facts, random)
        self.cell, self.k = cell_of(self.kind, facts, k), k
        self.constants = game_bounds.forecaster_constants(
            self.cell.estimators, self.cell.feedback, self.cell.losses
        )
        self.eta, self.gamma = game_bounds.forecaster_rates(self.constants, facts.rounds)
        self.logs = np.zeros(len(self.cell.rankings))

    def rank(self):
        gamma, top_of, sets = self.gamma, self.cell.top_of, len(self.cell.tops)
        weights = np.exp(self.logs - self.logs.max())
        edges, shares = np.cumsum(weights), np.zeros(sets)
        np.add.at(shares, top_of, weights)
        u = self.random.random()
        if u < gamma:
            self.top = min(int(u / gamma * sets), sets - 1)
            number = int(np.argmax(np.where(top_of == self.top, self.logs, -np.inf)))
            self.explored += 1
        else:
            x = (u - gamma) / (1 - gamma) * edges[-1]
            number = min(int(np.searchsorted(edges, x, "right")), len(edges) - 1)
            self.top = top_of[number]
        self.probability = (1 - gamma) * (shares[self.top] / edges[-1]) + gamma / sets
        return self.cell.rankings[number]

    def learn(self, ranking, seen):
        estimate = self.cell.estimators[self.top, self.cell.number_of(ranking, seen)]
        self.logs -= self.eta / self.probability * estimate

    def bound(self, t):
        return game_bounds.forecaster(t, self.eta, self.gamma, self.constants)

    def loop(self):
        return "cells:play_forecaster", {
            "cell": self.cell,
            "estimators": self.cell.estimators,
            "eta": self.eta,
            "gamma": self.gamma,
        }
