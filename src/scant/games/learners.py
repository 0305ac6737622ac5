"""The learners of the games on fixed items, each in plain Python.

A learner is a class with two methods. `rank()` returns the ranking to show (item indices, best first);
`learn(ranking, seen)` takes the feedback of the round. The attribute `sees` says what this is: "all" (the values of all
items), "top" (the values of the first `k` items of the ranking, in its order), "loss" (the value of the ranking alone)
or "nothing". Values are what the loss makes of the relevances, such as 2^r - 1 for DCG; a learner that sees all of them
gets them divided by the normaliser of the round, if there is one.

Some learners also have a compiled loop in `scant.kernels.games`, named by their `loop()` with its arguments; tests
check that it plays exactly as the class here. Parameters that are not set have the values of theory. `bound(t)` is the
bound on the expected regret at rounds t, NaN where none is known.

Each class declares its kind, its settings (the arguments of its `__init__` after facts and random) and how figures
draw it, as `scant.declared.Learner` says. A new one is added to `BUILT_IN`, at the end of this module.

A user's own learner is named `module:Class` in the settings, and made as `Class(items=m, rounds=T, random=generator,
**settings)`. It may have the attributes `sees` ("all" if absent), `k` if that is "top", and `explored`, the number of
rounds spent on exploring; and the method `bound`. If it declares `settings`, no others are accepted.
"""

import math
from collections.abc import Collection
from dataclasses import replace
from itertools import permutations
from typing import ClassVar

import numpy as np

from scant.declared import Look, Setting, own_class, settings_of
from scant.errors import SettingError, unknown
from scant.games.forecaster import Forecaster
from scant.games.optimisation import ExplorationByOptimisation
from scant.games.pege import PEGE, PEGE2
from scant.games.player import ETA, Facts, K, Player, check_k, positive
from scant.games.precision import SemiBandit
from scant.games.sorting import plackett_luce, quicksort
from scant.measures import rank
from scant.theory import game_bounds

LARGEST_TABLE = 6  # items, for learners that keep a number for each of the m! rankings
LARGEST_BAND = 5  # items, for CombBand, which also inverts a matrix of m^2 rows each round
FTPL_PARAMETERS = ("thesis", "ailon")

# A setting that several learners have.
REST = Setting(
    "rest",
    {"enum": ["random", "leader"]},
    about="What stands below the items that a round explores: a random order, or the leader's.",
    absent="leader",
)


class Random(Player):
    """A uniformly random ranking in each round: a control that learns nothing."""

    kind = "random"
    about = "A uniformly random ranking in each round: a control, which learns nothing."
    looks: ClassVar = {"": Look("grey", "x", "--")}
    sees = "nothing"

    def rank(self):
        return rank(self.random.random(self.facts.items))

    def loop(self):
        return "play_full", {"learns": False, "sorter": "uniform", "rate": 0.0, "noise": 1.0}


class BestFixed(Player):
    """The best fixed ranking in hindsight: a control whose regret is 0 at the horizon."""

    kind = "best-fixed"
    about = "The best fixed ranking in hindsight: the control whose regret is 0 at the horizon."
    draws = False
    looks: ClassVar = {"": Look("#000000", "+")}
    sees = "nothing"

    def rank(self):
        return self.facts.best


class Perturbed(Player):
    """Sorts items by the sum of all their values, with fresh noise in each round, which subclasses draw."""

    sorter = ""
    rate = 1.0
    noise = 1.0

    def __init__(self, facts, random):
        super().__init__(facts, random)
        self.scores = np.zeros(facts.items)

    def learn(self, ranking, seen):
        self.scores += self.rate * seen

    def loop(self):
        return "play_full", {"learns": True, "sorter": self.sorter, "rate": self.rate, "noise": self.noise}


class FTPL(Perturbed):
    """Follow the perturbed leader, with noise uniform on [0, 1/epsilon] (Kalai & Vempala 2005; thesis 3.2.7.2).

    epsilon : one over the width of the noise; infinity for no noise. Unless set, it is that of `parameters`
    parameters : "thesis", 1 / (largest value * sqrt(m T)) (Corollaries 20 to 22), as if any item could have any value;
        or "ailon", sqrt(D / (R A T)) with the largest loss R and l1 norm A that any round has (Ailon, section 4.1),
        which is far less noise where few of the items have a value in each round
    """

    kind = "ftpl"
    about = "Follow the perturbed leader, with uniform noise (Kalai & Vempala 2005; thesis 3.2.7.2)."
    settings = (
        Setting(
            "epsilon",
            {"type": "number", "exclusiveMinimum": 0, "infinite": True},
            about="Reading: one over the width of the noise; theory's if absent, .inf for no noise.",
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
    """Follow the perturbed leader with Gumbel noise, that is, draw from a Plackett-Luce model (Ailon, section 8).

    eta : the factor of sums of values, to which standard Gumbel noise is added; `game_bounds.gumbel_eta` unless set
    """

    kind = "fpl-gumbel"
    about = "Follow the perturbed leader, with Gumbel noise (Ailon, section 8)."
    settings = (ETA,)
    looks: ClassVar = {"": Look("sky", "v", "--")}
    sorter = "gumbel"

    def __init__(self, facts, random, eta: float | None = None):
        super().__init__(facts, random)
        D, R, A = (constant or 1.0 for constant in facts.constants)
        self.rate = positive("eta", eta, game_bounds.gumbel_eta(facts.items, D, R, A, facts.rounds))

    def rank(self):
        return plackett_luce(self.scores, self.random)

    def bound(self, t):
        if self.facts.loss.places is None:
            return super().bound(t)
        return game_bounds.fpl_gumbel(t, self.rate, self.facts.items, *self.facts.constants)


class OnlineRank(Perturbed):
    """OnlineRank: sorts items, with noise, by eta times the sum of all their values (Ailon, Algorithm 1).

    sort : "quicksort" (Algorithm 2) or "plackett-luce" (Algorithm 3)
    eta : m sqrt(log 2) / sqrt(T M) unless set (Theorem 3.1), with the M of the stream
    """

    kind = "online-rank"
    about = "OnlineRank: a noisy sort of the items by the sum of all their values (Ailon, Algorithm 1)."
    settings = (
        Setting("sort", {"enum": ["quicksort", "plackett-luce"]}, about="How it sorts with noise.", absent="quicksort"),
        ETA,
    )
    looks: ClassVar = {"": Look("orange", "P", "--"), "#online-rank-pl": Look("blue", "^", "--")}

    def __init__(self, facts, random, sort: str = "quicksort", eta: float | None = None):
        super().__init__(facts, random)
        sorts = {"quicksort": (quicksort, "quicksort"), "plackett-luce": (plackett_luce, "gumbel")}
        if sort not in sorts:
            raise unknown("sort of the learner 'online-rank'", sort, sorts)
        self.sort, self.sorter = sorts[sort]
        theory = game_bounds.online_rank_eta(facts.items, facts.pairs or 1.0, facts.rounds)
        self.rate = positive("eta", eta, theory)

    def rank(self):
        return self.sort(self.scores, self.random)

    def bound(self, t):
        # The theorem is about losses that are sums over pairs of items, that is, place i has weight i.
        if self.facts.loss.places is None or not np.array_equal(self.facts.weights, np.arange(self.facts.items) + 1):
            return super().bound(t)
        return game_bounds.online_rank(t, self.rate, self.facts.items, self.facts.pairs)


class Table(Player):
    """Keeps the logarithm of a weight for each of the m! rankings, and draws a ranking in proportion to the weights."""

    def __init__(self, facts, random, largest: int = LARGEST_TABLE):
        super().__init__(facts, random)
        m = facts.items
        if m > largest:
            raise SettingError(
                f"learner {self.kind!r}: it keeps a number for each of the m! rankings, so it plays up to {largest} "
                f"items; this game has {m}. Use a stream of fewer items, or ftpl, fpl-gumbel or online-rank"
            )
        self.rankings = np.array(list(permutations(range(m))), np.int64)
        self.logs = np.zeros(len(self.rankings))

    def probabilities(self) -> np.ndarray:
        """The probability of each ranking, float64 (m!)."""
        weights = np.exp(self.logs - self.logs.max())
        return weights / weights.sum()

    def rank(self):
        edges = np.cumsum(self.probabilities())
        self.drawn = min(int(np.searchsorted(edges, self.random.random() * edges[-1], "right")), len(edges) - 1)
        return self.rankings[self.drawn]

    def range(self) -> float:
        """The largest difference of the losses of two rankings in a round."""
        return 1.0 if self.facts.loss.places is None else self.facts.constants[1] or 1.0

    def _loop(self, eta: float, spread: float) -> tuple[str, dict]:
        """The compiled loop of a learner that sees all of a round; `spread` as in `scant.kernels.table.play_table`."""
        sign = -1.0 if self.facts.loss.gain else 1.0
        return "table:play_table", {"rankings": self.rankings, "sign": sign, "eta": eta, "spread": spread}


class Hedge(Table):
    """Hedge over all rankings: weights are multiplied by exp(-eta loss) (Freund & Schapire 1997).

    eta : sqrt(8 log m! / T) / R unless set
    """

    kind = "hedge"
    about = "Hedge, with a weight for each of the m! rankings (Freund & Schapire 1997)."
    settings = (ETA,)
    looks: ClassVar = {"": Look("brown", "*", "--")}

    def __init__(self, facts, random, eta: float | None = None):
        super().__init__(facts, random)
        theory = game_bounds.hedge_eta(max(2, len(self.logs)), self.range(), facts.rounds)
        self.eta = positive("eta", eta, theory)

    def learn(self, ranking, seen):
        self.logs -= self.eta * self.facts.costs(self.rankings, seen)

    def loop(self):
        return self._loop(self.eta, 0.0)

    def bound(self, t):
        return game_bounds.hedge(t, self.eta, len(self.logs), self.range())


class MultiplicativeWeights(Table):
    """Multiplicative weights over all rankings: weights are multiplied by 1 - eta loss, with losses scaled to [0, 1].

    eta : min(1/2, sqrt(log m! / T)) unless set (Arora, Hazan & Kale 2012)
    """

    kind = "multiplicative-weights"
    about = "Multiplicative weights, one for each of the m! rankings (Arora, Hazan & Kale 2012)."
    settings = (ETA,)
    looks: ClassVar = {"": Look("pink", "h", "--")}

    def __init__(self, facts, random, eta: float | None = None):
        super().__init__(facts, random)
        self.eta = positive("eta", eta, game_bounds.multiplicative_eta(max(2, len(self.logs)), facts.rounds))
        if self.eta >= 1:
            raise SettingError(f"learner 'multiplicative-weights': eta is {eta}; it must be below 1")

    def learn(self, ranking, seen):
        costs = self.facts.costs(self.rankings, seen)
        self.logs += np.log1p(-self.eta * (costs - costs.min()) / self.range())

    def loop(self):
        return self._loop(self.eta, self.range())

    def bound(self, t):
        if self.eta > 0.5:
            return super().bound(t)
        return game_bounds.multiplicative_weights(t, self.eta, len(self.logs), self.range())


class PermELearn(Player):
    """Exponential weights on items at places, kept doubly stochastic (Helmbold & Warmuth 2009).

    Each round multiplies the weight of each item at each place by exp(-eta cost), with costs scaled to [0, 1]. Then
    Sinkhorn's iteration makes rows and columns sum to 1 again. Rankings are drawn from a Birkhoff decomposition of the
    matrix of weights.

    eta : log(1 + sqrt(2 m log m / L)) unless set, where L is the largest scaled loss of uniformly random rankings
    """

    kind = "permelearn"
    about = "PermELearn: exponential weights on items at places, kept doubly stochastic (Helmbold & Warmuth 2009)."
    settings = (ETA,)
    looks: ClassVar = {"": Look("olive", "<", "--")}

    TOLERANCE = 1e-6  # of the sums of rows and columns, and so of expected losses, relative to their size

    def __init__(self, facts, random, eta: float | None = None):
        super().__init__(facts, random)
        if facts.loss.places is None:
            raise SettingError(f"learner 'permelearn': it plays linear losses; {facts.loss.name} is none. Use hedge")
        m, weights = facts.items, facts.weights
        costs = -weights if facts.loss.gain else weights
        self.span = np.ptp(costs) or 1.0  # range of the weights of places
        self.costs = (costs - costs.min()) / self.span
        self.spread = (facts.largest - facts.lowest) or 1.0  # range of values
        self.weights = np.full((m, m), 1 / m)  # items x places
        self.largest_loss = facts.rounds * m * self.costs.mean()
        self.eta = positive("eta", eta, game_bounds.permelearn_eta(max(2, m), self.largest_loss))

    def rank(self):
        u, ranking = self.random.random(), np.empty(self.facts.items, np.int64)
        for probability, places in birkhoff(self.weights):  # decomposed no further than the draw needs
            ranking[places] = np.arange(self.facts.items)
            u -= probability
            if u < 0:
                break
        return ranking

    def learn(self, ranking, seen):
        scaled = (np.asarray(seen, float) - self.facts.lowest) / self.spread
        self.weights = sinkhorn(self.weights * np.exp(-self.eta * np.outer(scaled, self.costs)), self.TOLERANCE)

    def bound(self, t):
        t = np.asarray(t, float)
        best = self.largest_loss * t / self.facts.rounds
        return self.span * self.spread * game_bounds.permelearn(best, self.eta, self.facts.items)


def sinkhorn(matrix: np.ndarray, tolerance: float, most: int = 100_000) -> np.ndarray:
    """Scale the rows and columns of a positive matrix in turn until each sums to 1, up to `tolerance`.

    It stops after `most` iterations. Returns a copy, float64 (m x m).
    """
    from scant.kernels import games

    matrix = np.maximum(matrix, 1e-300)
    games.balance(matrix, tolerance, most)
    return matrix


def birkhoff(matrix: np.ndarray, least: float = 1e-12):
    """Decompose a doubly stochastic matrix into permutations: yields their probabilities and each row's column.

    Each step takes the permutation with the largest sum among the entries that are still above `least`, gives it the
    smallest of its entries as probability, and subtracts this from all of them. It ends when no permutation is left;
    the probabilities then sum to 1 up to rounding.
    """
    from scipy.optimize import linear_sum_assignment

    remaining = matrix.copy()
    while True:
        rows, columns = linear_sum_assignment(np.where(remaining > least, -remaining, len(remaining)))
        probability = remaining[rows, columns].min()
        if probability <= least:
            return
        yield probability, columns
        remaining[rows, columns] -= probability


class CombBand(Table):
    """ComBand on permutation matrices: learns from the loss of its own ranking alone (Cesa-Bianchi & Lugosi 2012).

    Hedge on estimated losses, mixed with uniform exploration. If one item is relevant in each round, the loss tells
    which one; this is the bandit game of Ailon, section 4.

    eta : the learning rate of Hedge, on losses scaled to [0, 1], that of theory unless set; the share of exploration is
        eta m (m - 1), at most 1
    """

    kind = "comb-band"
    about = "ComBand on permutations, which sees its own loss alone (Cesa-Bianchi & Lugosi 2012)."
    settings = (ETA,)
    looks: ClassVar = {"": Look("brown", ">")}
    sees = "loss"

    def __init__(self, facts, random, eta: float | None = None):
        super().__init__(facts, random, LARGEST_BAND)
        m = facts.items
        if facts.loss.places is None:
            raise SettingError(f"learner 'comb-band': it plays linear losses; {facts.loss.name} is none. Use hedge")
        self.eta = positive("eta", eta, game_bounds.comb_band_rates(max(2, m), facts.rounds)[0])
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
        direction = np.linalg.pinv(second_moment, hermitian=True) @ self.matrices[self.drawn]
        self.logs -= self.eta * loss * (self.matrices @ direction)

    def bound(self, t):
        if self.eta * self.facts.items * (self.facts.items - 1) > 1:
            return super().bound(t)
        return self.span * game_bounds.comb_band(t, self.eta, self.facts.items)


class Blocks(Player):
    """The base class of learners with feedback at the top: in each block of rounds, every item is once among the top k.

    Items are divided by index into cells of k. In a block, each cell is shown on top once, in a round drawn at random
    such that cells have different rounds. The values seen in these rounds are an unbiased estimate of the mean values
    of the block (thesis, Lemma 18). In the other rounds a full-information learner, the black box, ranks. It learns
    from the estimate at the end of the block.

    k : how many items on top are seen
    rest : the order of the items below a cell: "leader", that of the black box, or "random"; the thesis allows any
    """

    sees = "top"

    def __init__(self, facts, random, k: int, rest: str):
        super().__init__(facts, random)
        check_k(k, facts.items)
        if rest not in ("leader", "random"):
            raise unknown("rest", rest, ["leader", "random"])
        self.k, self.rest, self.cells = k, rest, game_bounds.cells(facts.items, k)
        if facts.rounds < self.cells:
            raise SettingError(
                f"T = {facts.rounds} rounds are too few: with m = {facts.items} items and k = {k}, a block has at "
                f"least {self.cells} rounds, one for each cell of k items. Use more rounds or a larger k"
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
        # Each waiting cell gets a different round of those left in the block; all assignments are equally likely.
        choice = int(self.random.random() * self.left)
        self.left -= 1
        if choice >= len(self.waiting):
            self.exploring = None
            return self.black_box.rank()
        cell, self.waiting[choice] = self.waiting[choice], self.waiting[-1]
        self.waiting.pop()
        self.explored += 1
        self.exploring = np.arange(cell * self.k, min(self.facts.items, (cell + 1) * self.k))
        ranking = rank(self.random.random(self.facts.items)) if self.rest == "random" else self.black_box.rank()
        return np.r_[self.exploring, ranking[~np.isin(ranking, self.exploring)]]

    def learn(self, ranking, seen):
        if self.exploring is not None:
            self.estimate[self.exploring] = seen[: len(self.exploring)]
        if self.left == 0:
            self.end()


class RTopKF(Blocks):
    """RTop-kF: K blocks of equal length and a full-information learner (Chaudhuri 2016, Algorithm 4).

    k : how many items on top are seen
    blocks : K, m^(1/3) (T / ceil(m/k))^(2/3) unless set; if it does not divide T, the last block is longer
    rest : see `Blocks`
    black_box : the full-information learner, which plays K rounds: a kind, or a mapping with `kind` and settings
    """

    kind = "rtopkf"
    about = "RTop-kF: blocks in each of which every item is once among the top k (Chaudhuri 2016, Algorithm 4)."
    settings = (
        K,
        Setting("blocks", {"type": "integer", "minimum": 1}, about="K, the number of blocks; theory's if absent."),
        replace(REST, absent="random"),
        Setting(
            "black_box",
            {"type": ["string", "object"]},
            about="The learner that it gives its estimates to: a kind, or a mapping of kind and its settings.",
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

    def __init__(self, facts, random, k=1, blocks: int | None = None, rest="random", black_box="ftpl"):
        super().__init__(facts, random, k, rest)
        if blocks is None:
            blocks = game_bounds.theory_blocks(facts.items, k, facts.rounds)
        if isinstance(blocks, bool) or not isinstance(blocks, int | np.integer) or blocks < 1:
            raise SettingError(f"blocks is {blocks!r}; K must be a whole number from 1")
        self.length = facts.rounds // blocks
        if self.length < self.cells:
            raise SettingError(
                f"K = {blocks} blocks of T = {facts.rounds} rounds have {self.length} rounds each, too few to show "
                f"m = {facts.items} items k = {k} at a time, which takes {self.cells}. "
                f"With these T, m and k the largest K is {facts.rounds // self.cells}"
            )
        self.blocks = blocks
        settings = {"kind": black_box} if isinstance(black_box, str) else dict(black_box)
        kind = settings.pop("kind", "")
        if kind in LEARNERS and LEARNERS[kind].sees != "all":
            raise SettingError(
                f"learner {kind!r} cannot be a black box: it does not learn from the values of all items"
            )
        # An estimate combines values of several rounds, so that its differences may be larger than in any round.
        pairs = (facts.items * (facts.largest - facts.lowest) / 2) ** 2
        norm = facts.items * facts.scale
        of_estimates = replace(
            facts, rounds=blocks, pairs=pairs, round_constants=(norm * float(np.abs(facts.weights).max()), norm)
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
        return game_bounds.rtopkf(t, facts.rounds, self.blocks, facts.items, self.k, R, self.black_box.bound)

    def loop(self):
        if not isinstance(self.black_box, Perturbed):
            return None
        lengths = np.full(self.blocks, self.length)
        lengths[-1] = self.facts.rounds - self.length * (self.blocks - 1)
        return "play_blocks", {
            "k": self.k,
            "sorter": self.black_box.sorter,
            "rate": self.black_box.rate,
            "lengths": lengths,
            "noises": np.full(self.blocks, self.black_box.noise),
            "counted": np.ones(self.blocks),
            "at_random": self.rest == "random",
        }


class AnytimeRTopKF(Blocks):
    """RTop-kF with FTPL that needs no T: blocks grow so that their number is that of theory at every horizon.

    Block i ends at round ceil(m/k) i^(3/2) / sqrt(m). Its estimate is weighted by its number of rounds, and the noise
    is that of FTPL after i such blocks. Not in the papers; the bound is `game_bounds.anytime`.

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
        return game_bounds.anytime(t, self.lengths, self.noises, facts.items, self.k, *facts.constants)

    def loop(self):
        return "play_blocks", {
            "k": self.k,
            "sorter": "uniform",
            "rate": 1.0,
            "lengths": self.lengths,
            "noises": self.noises,
            "counted": self.lengths.astype(float),
            "at_random": self.rest == "random",
        }


class AdaptiveRTopKF(Blocks):
    """RTop-kF with FTPL that needs no T: it chooses the length of each block, and the noise, by what it has seen.

    The estimates also give unbiased estimates of the average loss of rankings in their block. After each block, the
    learner compares the cost of exploiting with the cost of exploring so far, each against the leader. If exploring has
    cost more, the next block is twice as long, else half as long; its length stays between the one of theory's K at
    this time and sqrt(ceil(m/k) t). The noise N follows the size of the estimates, `N^2 = (sum_i b_i^2 A_i R_i) / D`,
    with the worst case for the coming block. Not in the papers; the bound, for any lengths chosen, is
    `game_bounds.adaptive`.

    k, rest : see `Blocks`
    """

    kind = "rtopkf-adaptive"
    about = (
        "RTop-kF with blocks and noise that its data choose, so that it needs no horizon (scant; beyond the papers)."
    )
    settings = (K, REST)
    looks: ClassVar = {"": Look("vermilion", "s")}

    def __init__(self, facts, random, k=1, rest="leader"):
        super().__init__(facts, random, k, rest)
        if facts.loss.places is None:
            raise SettingError(
                f"learner 'rtopkf-adaptive': it weighs linear losses; {facts.loss.name} is none. Use rtopkf-anytime"
            )
        self.black_box = FTPL(facts, random)
        self.black_box.noise = 0.0
        self.rounds, self.length, self.squares = 0, self.cells, 0.0
        self.shown, self.seen, self.obtained = np.zeros((2, facts.items)), np.zeros((2, facts.items)), np.zeros(2)

    @property
    def prior(self) -> float:
        """A R / D of one round in the worst case, where half of the values are the lowest and half the largest."""
        return self.facts.items * (self.facts.largest - self.facts.lowest) ** 2 / 4

    def begin(self):
        least, most = game_bounds.adaptive_lengths(self.rounds, self.facts.items, self.k)
        self.length = min(max(self.length, least), most)
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
        losses = _added(-self.obtained, weights[places] * self.seen) * (1 if self.facts.loss.gain else -1)
        self.length = 2 * self.length if losses[0] < losses[1] else self.length // 2

    def bound(self, t):
        if self.facts.loss.normalised:
            return super().bound(t)
        return game_bounds.adaptive(t, self.facts.items, self.k, *self.facts.constants)

    def loop(self):
        return "play_blocks", {
            "k": self.k,
            "sorter": "uniform",
            "rate": 1.0,
            "lengths": np.zeros(0, np.int64),
            "noises": np.zeros(0),
            "counted": np.zeros(0),
            "at_random": self.rest == "random",
            "adaptive": True,
            "gain": self.facts.loss.gain,
            "prior": self.prior,
        }


def _added(start: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """The sums of `start` (n) and the rows of `terms` (n x m), added from left to right; float64 (n).

    A matrix product adds in an order that differs between machines, so that ties on one would not be ties on another.
    """
    return np.cumsum(np.column_stack([start, terms]), axis=1)[:, -1]


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
    SettingError : an unknown kind or setting, an invalid value, or a class that cannot be imported or made
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
    if known := settings_of(learner):  # else only its `__init__` knows which it takes
        _check_names(kind, settings, known)
    try:
        return learner(items=facts.items, rounds=facts.rounds, random=random, **settings)
    except TypeError as error:
        raise SettingError(f"learner {kind!r} cannot be made with its settings: {error}") from error


def _check_names(kind: str, settings: Collection[str], known: Collection[str]) -> None:
    """Raise a SettingError for a setting that the learner does not have."""
    for name in settings:
        if name not in known:
            raise unknown(f"setting of the learner {kind!r}", name, known)
