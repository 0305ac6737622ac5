"""Precision@n with feedback at the top is a game of choosing sets, in which T^(1/2) is attained for
any m.

The order within the top n does not count. So a learner that has chosen n items may show any k of
them first (or, if k > n, all of them and any k - n others), and sees these: a semi-bandit on sets
of n items.
"""

import math
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look
from scant.errors import SettingError
from scant.games.player import K, Player, check_k
from scant.theory import game_bounds


class SemiBandit(Player):
    """Mirror descent with the entropy on sets of n items, for Precision@n with the top k seen (any
    m, n and k).

    Item i is among the n chosen with probability x_i = min(1, exp(-eta_t L_i + c)), sum_i x_i = n,
    where L_i is the sum of unbiased estimates of its losses 1 - R(i): those seen, over the
    probability with which they are seen. This is the algorithm of Audibert, Bubeck & Lugosi (2014)
    for semi-bandits with eta_t = sqrt(k log(m/n) / (m t)), which needs no T. Items are drawn by
    systematic sampling. Which k of the chosen (or, for k > n, which k - n of the others) are seen
    is drawn uniformly, so that i is seen with probability x_i k / n (or x_i + (1 - x_i) (k - n) /
    (m - n)).

    A round costs O(m), or O(mn) at worst. The regret is of the order n sqrt(m T log(m/n) / k), see
    `game_bounds.semi_bandit`. That T^(1/2) is the minimax rate of Precision@n for every k is due to
    Zhang & Tewari (2023), who attain it with a variant of NeighborhoodWatch2; this learner is not
    theirs.

    k : how many items on top are seen
    """

    kind = "semi-bandit"
    about = (
        "Mirror descent on sets of n items, for Precision@n from the top k (Audibert, Bubeck & "
        "Lugosi 2014)."
    )
    settings = (K,)
    looks: ClassVar = {"": Look("green", "p")}
    sees = "top"

    def __init__(self, facts, random, k: int = 1):
        super().__init__(facts, random)
        if not facts.loss.name.startswith("precision@"):
            raise SettingError(
                f"learner {self.kind!r}: it chooses the set of the top n, which is all that counts "
                f"for precision@n alone; the game is judged by {facts.loss.name}"
            )
        self.k, self.n = check_k(k, facts.items), int(facts.weights.sum())
        self.eta = game_bounds.semi_bandit_eta(facts.items, self.n, k)
        self.estimates, self.round = np.zeros(facts.items), 0

    def inclusions(self) -> np.ndarray:
        """The probability that each item is among the n chosen in this round, float64 (m)."""
        eta = self.eta / math.sqrt(self.round + 1)
        x = np.zeros(self.facts.items)
        while True:
            sharing, left = np.flatnonzero(x < 1), self.n - np.count_nonzero(x == 1)
            if not left:
                return x
            above = self.estimates[sharing] - self.estimates[sharing].min()
            # Not NumPy's exp, which differs from the compiled loop's in the last digit: estimates
            # divide by small probabilities, so that a difference of digits grows by a factor with
            # each time that an item is seen.
            weights = np.array([math.exp(-eta * distance) for distance in above])
            shares = weights * (left / np.cumsum(weights)[-1])
            if not np.any(shares >= 1):
                x[sharing] = shares
                return x
            x[sharing[shares >= 1]] = 1.0

    def seen(self) -> np.ndarray:
        """The probability that each item is seen in this round, float64 (m)."""
        m, n, k = self.facts.items, self.n, self.k
        return self.x * (min(k, n) / n) + (1 - self.x) * (max(k - n, 0) / max(m - n, 1))

    def rank(self):
        self.x = self.inclusions()
        chosen = systematic(self.x, self.n, self.random.random())
        inside, outside = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        if self.k < self.n:
            inside = self._first(inside, self.k)
        elif self.k > self.n:
            outside = self._first(outside, self.k - self.n)
        return np.r_[inside, outside]

    def _first(self, items: np.ndarray, count: int) -> np.ndarray:
        """The items reordered at random: each is among the first `count` with equal probability."""
        start = self.random.random()
        places = [min(int((start + j) * len(items) / count), len(items) - 1) for j in range(count)]
        return np.r_[items[places], np.delete(items, places)]

    def learn(self, ranking, seen):
        top = ranking[: self.k]
        self.estimates[top] += (1 - seen) / self.seen()[top]
        self.round += 1

    def bound(self, t):
        return game_bounds.semi_bandit(t, self.eta, self.facts.items, self.n, self.k)

    def loop(self):
        return "precision:play_sets", {"n": self.n, "k": self.k, "eta": float(self.eta)}


def systematic(x: np.ndarray, n: int, start: float) -> np.ndarray:
    """Which n items are chosen, bool (m), each with probability x, by systematic sampling.

    An item is chosen if the sum of x up to it passes the next of start, start + 1, ...

    x : the probabilities, with sum n
    start : uniform on [0, 1)
    """
    passed = (np.cumsum(x)[:, None] > start + np.arange(n)).sum(axis=1)
    passed[-1] = n  # which rounding may miss
    return np.diff(passed, prepend=0) > 0
