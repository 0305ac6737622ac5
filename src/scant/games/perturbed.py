"""Learners that sort the items by the sums of all their values, with noise that is drawn anew in
each round.
"""

import math
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting
from scant.errors import unknown
from scant.games.player import Player, positive
from scant.games.sorting import plackett_luce, quicksort
from scant.measures import rank
from scant.theory import game_bounds

FTPL_PARAMETERS = ("thesis", "ailon")
SORTERS = {"uniform": 0, "gumbel": 1, "quicksort": 2}  # as the compiled loops number them


class Perturbed(Player):
    """Sorts items by the sum of all their values, with fresh noise in each round, which subclasses
    draw.
    """

    sorter = ""
    rate = 1.0
    noise = 1.0

    def __init__(self, facts, random):
        super().__init__(facts, random)
        self.scores = np.zeros(facts.items)

    def learn(self, ranking, seen):
        self.scores += self.rate * seen

    def loop(self):
        arguments = {
            "sorter": SORTERS[self.sorter],
            "rate": float(self.rate),
            "noise": float(self.noise),
        }
        return "games:play_full", {"learns": True, **arguments}


class FTPL(Perturbed):
    """Follow the perturbed leader, with noise uniform on [0, 1/epsilon] (Kalai & Vempala 2005;
    thesis 3.2.7.2).

    epsilon : one over the width of the noise; infinity for no noise. Unless set, `parameters` says
        which it is
    parameters : "thesis", 1 / (largest value * sqrt(m T)) (Corollaries 20 to 22), as if any item
        could have any value; or "ailon", sqrt(D / (R A T)) with the largest loss R and l1 norm A
        that any round has (Ailon, section 4.1), which is far less noise where few of the items have
        a value in each round
    """

    kind = "ftpl"
    about = (
        "Follow the perturbed leader, with uniform noise (Kalai & Vempala 2005; thesis 3.2.7.2)."
    )
    settings = (
        Setting(
            "epsilon",
            {"type": "number", "exclusiveMinimum": 0, "infinite": True},
            about=(
                "Reading: one over the width of the noise; theory's if absent, .inf for no noise."
            ),
            reading=True,
        ),
        Setting(
            "parameters",
            {"enum": list(FTPL_PARAMETERS)},
            about="Reading: whose epsilon it has if none is set, the thesis's or Ailon's.",
            reading=True,
            absent="thesis",
            when=("epsilon", None),
        ),
    )
    looks: ClassVar = {"": Look("green", "D", "--"), "#fpl": Look("purple", "d", "--")}
    sorter = "uniform"

    def __init__(self, facts, random, epsilon: float | None = None, parameters: str = "thesis"):
        super().__init__(facts, random)
        if parameters not in FTPL_PARAMETERS:
            raise unknown("parameters of the learner 'ftpl'", parameters, FTPL_PARAMETERS)
        self.constants = facts.constants
        theory = game_bounds.ftpl_epsilon(facts.items, facts.scale, facts.rounds)
        if parameters == "ailon":
            self.constants = facts.constants[0], *facts.round_constants
            D, R, A = (constant or 1.0 for constant in self.constants)
            theory = game_bounds.kalai_vempala_epsilon(D, R, A, facts.rounds)
        self.epsilon = positive("epsilon", epsilon, theory)
        self.noise = 1 / self.epsilon

    def rank(self):
        return rank(self.scores + self.noise * self.random.random(self.facts.items))

    def bound(self, t):
        if self.facts.loss.places is None or math.isinf(self.epsilon):
            return super().bound(t)
        return game_bounds.ftpl(t, self.epsilon, *self.constants)


class FPLGumbel(Perturbed):
    """Follow the perturbed leader with Gumbel noise, that is, draw from a Plackett-Luce model
    (Ailon, section 8).

    Standard Gumbel noise is added to the sums of values times `game_bounds.gumbel_eta`.
    """

    kind = "fpl-gumbel"
    about = "Follow the perturbed leader, with Gumbel noise (Ailon, section 8)."
    looks: ClassVar = {"": Look("sky", "v", "--")}
    sorter = "gumbel"

    def __init__(self, facts, random):
        super().__init__(facts, random)
        D, R, A = (constant or 1.0 for constant in facts.constants)
        self.rate = game_bounds.gumbel_eta(facts.items, D, R, A, facts.rounds)

    def rank(self):
        return plackett_luce(self.scores, self.random)

    def bound(self, t):
        if self.facts.loss.places is None:
            return super().bound(t)
        return game_bounds.fpl_gumbel(t, self.rate, self.facts.items, *self.facts.constants)


class OnlineRank(Perturbed):
    """OnlineRank: sorts items, with noise, by eta times the sum of all their values (Ailon,
    Algorithm 1).

    eta is m sqrt(log 2) / sqrt(T M) (Theorem 3.1), with the M of the stream.

    sort : "quicksort" (Algorithm 2) or "plackett-luce" (Algorithm 3)
    """

    kind = "online-rank"
    about = (
        "OnlineRank: a noisy sort of the items by the sum of all their values (Ailon, Algorithm 1)."
    )
    settings = (
        Setting(
            "sort",
            {"enum": ["quicksort", "plackett-luce"]},
            about="How it sorts with noise.",
            absent="quicksort",
        ),
    )
    looks: ClassVar = {"": Look("orange", "P", "--"), "#online-rank-pl": Look("blue", "^", "--")}

    def __init__(self, facts, random, sort: str = "quicksort"):
        super().__init__(facts, random)
        # the sort in plain Python, and the name of the same one in compiled loops
        sorts = {"quicksort": (quicksort, "quicksort"), "plackett-luce": (plackett_luce, "gumbel")}
        if sort not in sorts:
            raise unknown("sort of the learner 'online-rank'", sort, sorts)
        self.sort, self.sorter = sorts[sort]
        self.rate = game_bounds.online_rank_eta(facts.items, facts.pairs or 1.0, facts.rounds)

    def rank(self):
        return self.sort(self.scores, self.random)

    def bound(self, t):
        # The theorem is about losses that are sums over pairs of items, that is, place i has weight
        # i.
        if self.facts.loss.places is None or not np.array_equal(
            self.facts.weights, np.arange(self.facts.items) + 1
        ):
            return super().bound(t)
        return game_bounds.online_rank(t, self.rate, self.facts.items, self.facts.pairs)
