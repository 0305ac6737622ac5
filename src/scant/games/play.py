"""Let one learner play one game: in its compiled loop if it has one, else in a Python loop."""

from dataclasses import dataclass, replace

import numpy as np

from scant.declare.own import OwnError, check_scores
from scant.declare.runs import kept_rounds
from scant.errors import ScantError
from scant.games import losses
from scant.games.learners import LEARNERS, Facts, make
from scant.measures import rank


class Game:
    """A stream of relevances, and the loss or gain of rankings.

    Parameters
    ----------
    stream : (rounds x items), the relevance (or position, or value) of each item in each round
    loss : the name of a loss or gain, see `scant.games.losses.make`
    foreseen : whether learners may foresee how rounds differ

    Attributes
    ----------
    values : int8 or float64 (rounds x items), read-only, the values that the loss makes of the
        relevances, unscaled
    scale : float64 (rounds), read-only, the factor of the values of each round, such as 1 / Z for
        NDCG
    constant : float64 (rounds), a part of the loss that is the same for every ranking; None for 0

    Raises
    ------
    SettingError : an unknown loss, or relevances that it is not defined for
    """

    def __init__(self, stream: np.ndarray, loss: str, foreseen: bool = False):
        self.stream, self.loss, self.foreseen = np.asarray(stream), losses.make(loss), foreseen
        losses.check(self.loss, self.stream)
        self.rounds, self.items = self.stream.shape
        values = self.loss.values(self.stream)
        # Where they fit, values take an eighth of the memory.
        small = values.dtype.kind in "biu" and values.min() >= -128 and values.max() <= 127
        self.values = _read_only(values, np.int8 if small else np.float64)
        self.scale = _read_only(
            np.ones(self.rounds) if self.loss.scale is None else self.loss.scale(self.stream)
        )
        self.constant = None if self.loss.constant is None else self.loss.constant(self.stream)
        self._best, self._worst, self._facts = {}, {}, {}

    def best(self, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The cumulative loss or gain of the best fixed rankings at each kept round, computed
        exactly.

        Parameters
        ----------
        kept : the rounds to report, from 1, ascending

        Returns
        -------
        prefix : float64 (kept), for each t of `kept`, the value over rounds 1..t of the ranking
            that is best for these
        horizon : float64 (kept), the value over rounds 1..t of the ranking that is best for all
            rounds
        ranking : the ranking that is best for all rounds

        Raises
        ------
        SettingError : AP with more than `losses.AP_ITEMS` items
        """
        key = kept.tobytes()
        if key not in self._best:
            # the last round decides which ranking is best for all
            rounds = np.union1d(kept, self.rounds)
            prefix, horizon, ranking = (
                self._best_ap(rounds) if self.loss.places is None else self._best_linear(rounds)
            )
            constant = self.constant_at(rounds)
            self._best[key] = (
                (prefix + constant)[: len(kept)],
                (horizon + constant)[: len(kept)],
                ranking,
            )
        return self._best[key]

    def worst(self, kept: np.ndarray) -> np.ndarray:
        """The cumulative loss or gain of the worst play: no learner can be expected to do worse.

        For each t of `kept` it is the value of the fixed ranking that is worst for rounds 1..t:
        where relevances are drawn anew in each round from one distribution, no play has a worse
        expectation. Where learners may foresee how rounds differ, and for AP, whose worst fixed
        ranking is hard to find, the worst ranking is taken in each round.
        """
        key = kept.tobytes()
        if key not in self._worst:
            self._worst[key] = self._worst_at(kept) + self.constant_at(kept)
        return self._worst[key]

    def _worst_at(self, kept: np.ndarray) -> np.ndarray:
        """The results of `worst`, without constants."""
        from scant.kernels import games

        if self.loss.places is None:
            # AP is worst with all relevant items at the bottom, so that their number tells it.
            of_counts = np.tri(self.items + 1, self.items, -1)  # row r has r relevant items
            worst = [
                float(self.loss.measure(np.arange(self.items)[::-1], row)) for row in of_counts
            ]
            return np.cumsum(np.take(worst, np.count_nonzero(self.stream, axis=1)))[kept - 1]
        weights = self.loss.weights(self.items)
        if self.foreseen:
            return np.cumsum((np.sort(self.values, axis=1) @ weights) * self.scale)[kept - 1]
        sums = np.zeros((len(kept), self.items))
        games.sums_at(self.values, self.scale, _read_only(kept, np.int64), sums)
        return np.sort(sums, axis=1) @ weights

    def _best_linear(self, rounds):
        """The results of `best` for a linear loss, without constants; `rounds` ends with the last
        one.
        """
        from scant.kernels import games

        sums, weights = np.zeros((len(rounds), self.items)), self.loss.weights(self.items)
        games.sums_at(self.values, self.scale, _read_only(rounds, np.int64), sums)
        ranking = rank(sums[-1])
        return -np.sort(-sums, axis=1) @ weights, sums[:, ranking] @ weights, ranking

    def _best_ap(self, rounds):
        """The results of `best` for AP; `rounds` ends with the last one."""
        from scant.kernels import games

        losses.check_ap(self.items)
        overlaps = np.zeros((len(rounds), self.items, self.items))
        games.overlaps_at(self.values, _read_only(rounds, np.int64), overlaps)
        best = [losses.best_average_precision(overlap) for overlap in overlaps]
        ranking = best[-1][1]
        return (
            np.array([value for value, _ in best]),
            np.array([losses.total_average_precision(overlap, ranking) for overlap in overlaps]),
            ranking,
        )

    def facts(self, sees: str = "all") -> Facts:
        """What a learner may know about the game before it starts.

        sees : what the learner is shown of a round, see `scant.games.learners`; with "all", it is
            shown scaled values
        """
        from scant.kernels import games

        scaled = sees == "all"
        if scaled not in self._facts:
            scale = self.scale if scaled else _read_only(np.ones(self.rounds))
            self._facts[scaled] = Facts(
                self.items, self.rounds, self.loss, *games.extremes(self.values, scale)
            )
        return self._facts[scaled]

    def constant_at(self, rounds: np.ndarray):
        """The constants of rounds 1..t, summed, for each t of `rounds`; float64."""
        return (
            np.zeros(len(rounds)) if self.constant is None else np.cumsum(self.constant)[rounds - 1]
        )


@dataclass(frozen=True)
class Trace:
    """The results of a game up to each kept round t. Every array has one entry for each kept round.

    round : int64, t
    value : the cumulative loss or gain of the rankings shown in rounds 1..t
    best : `value` of the fixed ranking that is best for rounds 1..t
    best_at_horizon : `value` of the fixed ranking that is best for all rounds
    worst : `value` of the worst play, see `Game.worst`
    explored : int64, how many of rounds 1..t were spent on exploring
    bound : the bound on the expected regret against `best`; NaN where none is known
    gain : whether greater values are better
    """

    round: np.ndarray
    value: np.ndarray
    best: np.ndarray
    best_at_horizon: np.ndarray
    worst: np.ndarray
    explored: np.ndarray
    bound: np.ndarray
    gain: bool


def build(game: Game, learner: dict | str, random: np.random.Generator):
    """Make a learner for this game.

    learner : its kind, or a mapping with its `kind` and settings
    random : the generator for the learner's randomness

    Raises
    ------
    SettingError : see `scant.games.learners.make`
    """
    settings = {"kind": learner} if isinstance(learner, str) else dict(learner)
    kind = settings.pop("kind", "")
    facts = game.facts(getattr(LEARNERS.get(kind), "sees", "all"))
    if kind == "best-fixed":
        facts = replace(facts, best=game.best(np.array([game.rounds]))[2])
    if kind == "comb-band":
        facts = replace(facts, losses=_least_and_largest(game))
    if settings.get("parameters") == "ailon":
        facts = replace(facts, round_constants=_round_constants(game))
    return make(kind, facts, random, **settings)


def play(
    game: Game,
    learner: dict | str,
    random: np.random.Generator,
    kept: np.ndarray | None = None,
    compiled: bool = True,
) -> Trace:
    """Let a learner play a game.

    Parameters
    ----------
    learner : its kind, or a mapping with its `kind` and settings, see `scant.games.learners`
    random : the generator for the learner's randomness
    kept : the rounds to report, from 1, ascending; `scant.declare.runs.kept_rounds` of the horizon
        unless set
    compiled : whether to use the compiled loop, if there is one

    Raises
    ------
    SettingError : the learner cannot play this game with its settings
    """
    kept = kept_rounds(game.rounds) if kept is None else kept
    player = build(game, learner, random)
    loop = player.loop() if compiled and hasattr(player, "loop") else None
    of_user = ":" in (learner if isinstance(learner, str) else learner["kind"])
    value, explored = (
        _compiled(game, loop, random, kept) if loop else _plain(game, player, kept, of_user)
    )
    best, horizon, _ = game.best(kept)
    worst = game.worst(kept)
    bound = player.bound(kept) if hasattr(player, "bound") else np.full(len(kept), np.nan)
    return Trace(kept, value, best, horizon, worst, explored, bound, game.loss.gain)


def _plain(
    game: Game, player, kept: np.ndarray, of_user: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Play in plain Python, with the class of the learner.

    of_user : whether it is a user's own learner; then errors become an OwnError that names the
        round

    Returns
    -------
    values : float64 (kept), the cumulative loss or gain of the rankings shown
    explored : int64 (kept), how many rounds so far were spent on exploring
    """
    shown = {
        "all": lambda t, ranking, value: game.values[t] * game.scale[t],
        "top": lambda t, ranking, value: game.values[t, ranking[: player.k]].astype(float),
        "loss": lambda t, ranking, value: value,
        "nothing": lambda t, ranking, value: None,
    }[getattr(player, "sees", "all")]
    values, explored, total, row = np.empty(len(kept)), np.zeros(len(kept), np.int64), 0.0, 0
    for t in range(kept[-1]):
        try:
            ranking = player.rank()
            if of_user:
                check_scores(player)
            value = float(game.loss.measure(ranking, game.stream[t]))
            total += value
            player.learn(ranking, shown(t, ranking, value))
        except Exception as error:
            if not of_user or isinstance(error, ScantError):
                raise
            raise OwnError(error, t + 1) from error
        if kept[row] == t + 1:
            values[row], explored[row] = total, getattr(player, "explored", 0)
            row += 1
    return values, explored


def _compiled(
    game: Game, loop: tuple[str, dict], random, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Play in a compiled loop; returns the same as `_plain`.

    loop : as the learner's `loop()` gives it: its name, and by name the arguments that not all
        loops take, in the order in which this one takes them
    """
    name, arguments = loop
    if "cell" in arguments:
        return _compiled_on_cell(game, name, arguments, random, kept)
    from scant.kernels import games

    weights, by_ap = _read_only(game.loss.weights(game.items)), game.loss.places is None
    played = games.Game(game.values[: kept[-1]], game.scale[: kept[-1]], weights, by_ap)
    record = games.Record(
        _read_only(kept, np.int64), np.empty(len(kept)), np.zeros(len(kept), np.int64)
    )
    _loop(name)(played, *arguments.values(), random, record)
    return record.total + game.constant_at(kept), record.explored


def _compiled_on_cell(
    game: Game, name: str, arguments: dict, random, kept
) -> tuple[np.ndarray, np.ndarray]:
    """Play in a compiled loop on a cell; returns the same as `_plain`.

    arguments : the `cell` (`scant.games.cells.Cell`) to play; then what not all loops on cells
        take, in their order
    """
    from scant.kernels import cells, games

    cell = arguments["cell"]
    tables = cell.outcomes(game.stream[: kept[-1]]), cell.losses, cell.top_of, cell.feedback
    types = np.int64, np.float64, np.int64, np.int64
    played = cells.Cell(*map(_read_only, tables, types))
    record = games.Record(
        _read_only(kept, np.int64), np.empty(len(kept)), np.zeros(len(kept), np.int64)
    )
    others = [value for key, value in arguments.items() if key != "cell"]
    _loop(name)(played, *others, random, record)
    return -record.total if game.loss.gain else record.total, record.explored


def _loop(name: str):
    """The compiled loop "module:name" of `scant.kernels`.

    Imports are written out: digests of code follow them.
    """
    from scant.kernels import cells, games, optimisation, pege, precision, table

    modules = {
        "cells": cells, "games": games, "optimisation": optimisation, "pege": pege,
        "precision": precision,
        "table": table,
    }  # fmt: skip
    module, _, function = name.partition(":")
    return getattr(modules[module], function)


def _least_and_largest(game: Game) -> tuple[float, float]:
    """The least and the largest value of any ranking in any round; for AP, 0 and 1."""
    if game.loss.places is None:
        return 0.0, 1.0
    ascending, places = np.sort(game.values, axis=1), game.loss.weights(game.items)
    constant = 0.0 if game.constant is None else game.constant
    ends = [(ascending @ weights) * game.scale + constant for weights in (places, places[::-1])]
    return float(np.min(ends)), float(np.max(ends))


def _round_constants(game: Game, at_once: int = 2**16) -> tuple[float, float]:
    """The largest absolute loss of any ranking in a round, and the largest l1 norm of a round's
    values.

    Kalai & Vempala's R and A. Values are scaled, as learners see them; the loss is without its
    constant.

    at_once : how many rounds are sorted at a time
    """
    places, loss, norm = np.sort(np.abs(game.loss.weights(game.items))), 0.0, 0.0
    for start in range(0, game.rounds, at_once):
        rounds = slice(start, start + at_once)
        sizes = (
            np.sort(np.abs(game.values[rounds].astype(float)), axis=1) * game.scale[rounds, None]
        )
        loss, norm = max(loss, (sizes @ places).max()), max(norm, sizes.sum(axis=1).max())
    return float(loss), float(norm)


def _read_only(array: np.ndarray, dtype=np.float64) -> np.ndarray:
    """A contiguous, read-only view: the compiled loops take read-only arrays, as memory-mapped ones
    are.
    """
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view
