"""Learners for stochastic relevances: phases of exploration, each followed by greedy exploitation.

Chaudhuri & Tewari, *Phased Exploration with Greedy Exploitation in Stochastic Combinatorial Partial
Monitoring Games* (2016). Rounds are independent draws from one distribution. For a linear loss the
best ranking sorts items by their mean values, which the rankings with one cell of k items each on
top reveal: the global observable set of the paper, of ceil(m/k) rankings. Against an adversary that
is not stochastic these learners have no guarantee.
"""

import math
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look
from scant.errors import SettingError
from scant.games.player import K, Player, check_k
from scant.measures import rank
from scant.theory import game_bounds


class Phases(Player):
    """The base class: exploration shows each cell of k items on top, `repeats()` times in a phase,
    by index.

    The other items are in the order of the leader, the ranking by the mean of all that was seen
    while exploring; it is also what is shown in the `exploited()` rounds that end the phase.
    Nothing is drawn.

    k : how many items on top are seen
    """

    sees = "top"
    draws = False

    def __init__(self, facts, random, k: int):
        super().__init__(facts, random)
        if facts.loss.normalised:
            raise SettingError(
                f"learner {self.kind!r}: it estimates the mean value of each item, which decides "
                "the best ranking for linear losses (sum-loss, pairwise-loss, dcg, precision@n), "
                f"not for {facts.loss.name}"
            )
        self.k, self.cells = check_k(k, facts.items), game_bounds.cells(facts.items, k)
        self.phase, self.to_explore, self.to_exploit = 0, 0, 0
        self.sums, self.leader = np.zeros(facts.items), np.arange(facts.items)

    def repeats(self) -> int:
        """How often each cell is shown in phase number `self.phase`, from 1."""
        raise NotImplementedError

    def exploited(self) -> int:
        """How many rounds of the phase then show the leader."""
        raise NotImplementedError

    def rank(self):
        if self.to_explore == self.to_exploit == 0:
            self.phase += 1
            self.to_explore = self.cells * self.repeats()
        if not self.to_explore:
            return self.leader
        first = self._cell()
        return np.r_[first, self.leader[~np.isin(self.leader, first)]]

    def _cell(self) -> np.ndarray:
        """The items that this round of exploration has on top; the last cell may be shorter."""
        start = (self.to_explore - 1) % self.cells * self.k
        return np.arange(start, min(self.facts.items, start + self.k))

    def learn(self, ranking, seen):
        if not self.to_explore:
            self.to_exploit -= 1
            return
        new = len(self._cell())
        self.sums[ranking[:new]] += seen[:new]
        self.to_explore -= 1
        self.explored += 1
        if not self.to_explore:
            self.leader = rank(self.sums)
            self.to_exploit = self.exploited()


class PEGE(Phases):
    """PEGE: in phase b, b explorations of each cell, and then exp(b) rounds of the leader
    (Chaudhuri & Tewari 2016).

    The regret is of the order log^2 T / gap^2 (see `game_bounds.pege`). The gap is the least
    difference of the means of two items whose order matters; it need not know it, nor T, and
    rankings may tie for the best.

    k : see `Phases`
    """

    kind = "pege"
    about = (
        "PEGE, for stochastic relevances: phases of exploration and exploitation (Chaudhuri & "
        "Tewari 2016)."
    )
    settings = (K,)
    looks: ClassVar = {"": Look("olive", "D")}

    def __init__(self, facts, random, k: int = 1):
        super().__init__(facts, random, k)
        # The lists of phases end at T, but no phase depends on T.
        self.schedule = game_bounds.pege_phases(facts.rounds, self.cells)

    def repeats(self):
        return int(self.schedule[0][self.phase - 1])

    def exploited(self):
        return int(self.schedule[1][self.phase - 1])

    def loop(self):
        return "pege:play_phases", {
            "k": self.k,
            "repeats": self.schedule[0],
            "lengths": self.schedule[1],
            "estimates_gap": False,
            "spread": 1.0,
            "failure": 1.0,
        }


class PEGE2(Phases):
    """PEGE2: explores until it has a lower bound on the gap, then PEGE with it (Chaudhuri & Tewari
    2016).

    Every phase shows each cell once. After b of them every mean is known to within w, but for a
    probability of 1/T in all: w = s sqrt(log(2 m b (b + 1) T) / (2b)), s being the range of values
    (Hoeffding). Once the least difference g of means that are next to each other, and whose places
    differ in weight, is at least 4w, the gap is at least g/2. From then on phase b ends with exp(b
    g^2 / (16 s^2)) rounds of the leader. The paper leaves constants to a norm of the global
    observable set; these here follow from the argument for single items.

    The regret is of the order log T / gap^2 (see `game_bounds.pege2`). It needs T, and a single
    best ranking (places of equal weight count as one): where items that matter tie, it explores for
    ever.

    k : see `Phases`
    """

    kind = "pege2"
    about = (
        "PEGE2, for stochastic relevances with one best ranking: it estimates the gap "
        "(Chaudhuri & Tewari 2016)."
    )
    settings = (K,)
    looks: ClassVar = {"": Look("vermilion", "H")}

    def __init__(self, facts, random, k: int = 1):
        super().__init__(facts, random, k)
        self.spread = (facts.largest - facts.lowest) or 1.0
        self.growth = 0.0

    def repeats(self):
        return 1

    def gap(self) -> float:
        """The least difference between the mean values of two neighbours in the leader's ranking; 0
        if no neighbours count.

        Only neighbours whose places differ in weight count: to swap others costs nothing.
        """
        matter = np.diff(self.facts.weights) != 0
        return (
            float(np.min(-np.diff(self.sums[self.leader])[matter] / self.phase))
            if matter.any()
            else 0.0
        )

    def exploited(self):
        b = self.phase
        if self.growth == 0.0:
            width = game_bounds.hoeffding(b, self.facts.items, self.facts.rounds, self.spread)
            if self.gap() < 4 * width:
                return 0
            self.growth = (self.gap() / (4 * self.spread)) ** 2
        return int(min(math.exp(min(self.growth * b, 40.0)), 1e15))  # no game lasts longer

    def loop(self):
        none = np.zeros(0, np.int64)
        return "pege:play_phases", {
            "k": self.k,
            "repeats": none,
            "lengths": none,
            "estimates_gap": True,
            "spread": float(self.spread),
            "failure": 1 / self.facts.rounds,
        }
