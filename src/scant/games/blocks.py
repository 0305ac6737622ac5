"""Learners with feedback at the top that play in blocks and need no horizon, and their base class.

RTop-kF itself, which may have any other learner as its black box, is in `scant.games.learners`.
"""

import math
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting
from scant.errors import SettingError
from scant.games.perturbed import FTPL, SORTERS
from scant.games.player import K, Player, check_k
from scant.measures import rank
from scant.theory import game_bounds

REST = Setting(
    "rest",
    {"enum": ["random", "leader"]},
    about="What stands below the items that a round explores: a random order, or the leader's.",
    absent="leader",
)


class Blocks(Player):
    """The base class of learners with feedback at the top: in each block of rounds, every item is
    once among the top k.

    Items are divided by index into cells of k. In a block, each cell is shown on top once, in a
    round drawn at random such that cells have different rounds. The values seen in these rounds are
    an unbiased estimate of the mean values of the block (thesis, Lemma 18). In the other rounds a
    full-information learner, the black box, ranks. It learns from the estimate at the end of the
    block.

    k : how many items on top are seen
    rest : the order of the items below a cell: "leader", the black box's, or "random"; the thesis
        allows any
    """

    sees = "top"

    def __init__(self, facts, random, k: int, rest: str):
        super().__init__(facts, random)
        check_k(k, facts.items)
        self.k, self.rest, self.cells = k, rest, game_bounds.cells(facts.items, k)
        if facts.rounds < self.cells:
            raise SettingError(
                f"T = {facts.rounds} rounds are too few: with m = {facts.items} items and k = {k}, "
                f"a block has at least {self.cells} rounds, one for each cell of k items. Use more "
                "rounds or a larger k"
            )
        self.block, self.left, self.exploring = -1, 0, None
        self.estimate = np.zeros(facts.items)

    def begin(self) -> int:
        """Start block number `self.block`, and return its length in rounds."""
        raise NotImplementedError

    def end(self) -> None:
        """Let the black box learn from the estimate of the block."""
        raise NotImplementedError

    def rank(self):
        if self.left == 0:
            self.block += 1
            self.left = self.begin()
            self.waiting = list(range(self.cells))
        # Each waiting cell gets a different round of those left in the block; all assignments are
        # equally likely.
        choice = int(self.random.random() * self.left)
        self.left -= 1
        if choice >= len(self.waiting):
            self.exploring = None
            return self.black_box.rank()
        cell, self.waiting[choice] = self.waiting[choice], self.waiting[-1]
        self.waiting.pop()
        self.explored += 1
        self.exploring = np.arange(cell * self.k, min(self.facts.items, (cell + 1) * self.k))
        ranking = (
            rank(self.random.random(self.facts.items))
            if self.rest == "random"
            else self.black_box.rank()
        )
        return np.r_[self.exploring, ranking[~np.isin(ranking, self.exploring)]]

    def learn(self, ranking, seen):
        if self.exploring is not None:
            self.estimate[self.exploring] = seen[: len(self.exploring)]
        if self.left == 0:
            self.end()

    def _loop(self, lengths, noises, counted, prior: float | None = None) -> tuple[str, dict]:
        """The compiled loop of a black box that is a perturbed leader; parameters as in its
        `play_blocks`.

        prior : if set, the blocks are adaptive
        """
        from scant.kernels import games

        return "games:play_blocks", {
            "sorter": SORTERS[self.black_box.sorter],
            "rate": float(self.black_box.rate),
            "k": self.k,
            "blocks": games.Blocks(lengths, noises, counted),
            "at_random": self.rest == "random",
            "adaptive": prior is not None,
            "gain": self.facts.loss.gain,
            "prior": float(prior or 0.0),
        }


class AnytimeRTopKF(Blocks):
    """RTop-kF with FTPL that needs no T: blocks grow so that there are as many as theory says at
    every horizon.

    Block i ends at round ceil(m/k) i^(3/2) / sqrt(m). Its estimate is weighted by its number of
    rounds, and FTPL has the noise for i such blocks. Not in the papers; the bound is
    `game_bounds.anytime`.

    k, rest : see `Blocks`
    """

    kind = "rtopkf-anytime"
    about = "RTop-kF with blocks that grow, so that it needs no horizon (scant; beyond the papers)."
    settings = (K, REST)
    looks: ClassVar = {"": Look("purple", "^")}

    def __init__(self, facts, random, k=1, rest="leader"):
        super().__init__(facts, random, k, rest)
        self.black_box = FTPL(facts, random)
        # The list of lengths ends at T, but no length depends on T.
        self.lengths = game_bounds.anytime_lengths(facts.items, k, facts.rounds)
        self.noises = game_bounds.anytime_noise(self.lengths, facts.items, facts.scale)

    def begin(self):
        self.black_box.noise = self.noises[self.block]
        return int(self.lengths[self.block])

    def end(self):
        self.black_box.learn(None, self.lengths[self.block] * self.estimate)

    def bound(self, t):
        if self.facts.loss.normalised:
            return super().bound(t)
        facts = self.facts
        return game_bounds.anytime(
            t, self.lengths, self.noises, facts.items, self.k, *facts.constants
        )

    def loop(self):
        return self._loop(self.lengths, self.noises, self.lengths.astype(float))


class AdaptiveRTopKF(Blocks):
    """RTop-kF with FTPL that needs no T: it chooses the length of each block, and the noise, by
    what it has seen.

    The estimates also give unbiased estimates of the average loss of rankings in their block. After
    each block, the learner compares the cost of exploiting with the cost of exploring so far, each
    against the leader. If exploring has cost more, the next block is twice as long, else half as
    long; its length stays between the one of theory's K at this time and sqrt(ceil(m/k) t). The
    noise N follows the size of the estimates, `N^2 = (sum_i b_i^2 A_i R_i) / D`, with the worst
    case for the coming block. Not in the papers; the bound, for any lengths chosen, is
    `game_bounds.adaptive`.

    k, rest : see `Blocks`
    """

    kind = "rtopkf-adaptive"
    about = (
        "RTop-kF with blocks and noise that its data choose, so that it needs no horizon (scant; "
        "beyond the papers)."
    )
    settings = (K, REST)
    looks: ClassVar = {"": Look("vermilion", "s")}

    def __init__(self, facts, random, k=1, rest="leader"):
        super().__init__(facts, random, k, rest)
        if facts.loss.places is None:
            raise SettingError(
                f"learner 'rtopkf-adaptive': it weighs linear losses; {facts.loss.name} is none. "
                "Use rtopkf-anytime"
            )
        self.black_box = FTPL(facts, random)
        self.black_box.noise = 0.0
        self.rounds, self.length, self.squares = 0, self.cells, 0.0
        self.shown, self.seen, self.obtained = (
            np.zeros((2, facts.items)),
            np.zeros((2, facts.items)),
            np.zeros(2),
        )

    @property
    def prior(self) -> float:
        """A R / D (see the class) of a round in the worst case, where half of the values are the
        lowest and half the largest.
        """
        return self.facts.items * (self.facts.largest - self.facts.lowest) ** 2 / 4

    def begin(self):
        shortest, longest = game_bounds.adaptive_lengths(self.rounds, self.facts.items, self.k)
        self.length = min(max(self.length, shortest), longest)
        self.rounds += self.length
        D = self.facts.constants[0] or 1.0  # 0 where no ranking is better than another
        noise = math.sqrt(self.squares / D + self.length * self.length * self.prior)
        self.black_box.noise = max(self.black_box.noise, noise)
        return self.length

    def rank(self):
        ranking = super().rank()
        self.shown[int(self.exploring is not None), ranking] += self.facts.weights
        return ranking

    def end(self):
        weights, estimate = self.facts.weights, self.estimate
        rounds = np.array([self.length - self.cells, self.cells])  # exploiting, exploring
        self.black_box.learn(None, self.length * estimate)
        self.obtained = _added(self.obtained, self.shown * estimate)
        self.seen += np.outer(rounds, estimate)
        self.shown[:] = 0
        ideal = -np.sort(-estimate)
        distance = np.abs(ideal - ideal[len(ideal) // 2]).sum()
        self.squares += self.length**2 * distance * abs((weights - weights[::-1]) @ ideal)
        places = np.argsort(rank(self.black_box.scores))
        losses = _added(-self.obtained, weights[places] * self.seen) * (
            1 if self.facts.loss.gain else -1
        )
        self.length = 2 * self.length if losses[0] < losses[1] else self.length // 2

    def bound(self, t):
        if self.facts.loss.normalised:
            return super().bound(t)
        return game_bounds.adaptive(t, self.facts.items, self.k, *self.facts.constants)

    def loop(self):
        return self._loop(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), prior=self.prior)


def _added(start: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """The sums of `start` (n) and the rows of `terms` (n x m), added from left to right; float64
    (n).

    A matrix product adds in an order that differs between machines, so that ties on one would not
    be ties on another.
    """
    return np.cumsum(np.column_stack([start, terms]), axis=1)[:, -1]
