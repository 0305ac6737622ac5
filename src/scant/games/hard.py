"""Relevances that make the regret of any learner grow as fast as the minimax regret of a cell of
the atlas.

The constructions come from the lower bounds for partial monitoring (Bartok et al. 2014; Lattimore &
Szepesvari 2019), with numbers found by linear programs: two rankings i and j, a distribution p of
relevance vectors, and a direction d. Relevances are drawn from p + w d in all rounds, or from p - w
d in all rounds.

- In an observable cell, i and j are neighbours, and both are best under p, while all other rankings
  (except duplicates of these) lose more. Under p + w d ranking i is best, under p - w d ranking j.
  If the cell is not locally observable, no ranking in the neighbourhood of i and j shows any of d:
  who plays only such rankings cannot tell which of the two distributions it faces, and who plays
  another one loses.
- In a cell that is not observable, no ranking shows any of d. So every learner plays alike under p
  + d and p - d, which are chosen so that it loses as much as possible on average over the two (as
  with the thesis's Table B.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scant.errors import SettingError
from scant.games.cells import DIGITS, Cell
from scant.theory import observability

# w falls by this power of T, by the rate of the regret
EXPONENTS = {"T^(1/2)": 1 / 2, "T^(2/3)": 1 / 3, "T": 0}


@dataclass(frozen=True)
class Pair:
    """Two rankings that are hard to tell apart.

    middle : float64 (outcomes), the distribution p
    direction : float64 (outcomes), d; p + d and p - d are distributions, too
    gap : by how much i is better than j under p + d and, in an observable cell, j better than i
        under p - d
    cost : in an observable cell, by how much all rankings but i, j and their duplicates lose at
        least against the better of the two under p + w d, for any |w| <= 1; else, what every
        ranking loses at least, on average over p + d and p - d
    """

    middle: np.ndarray
    direction: np.ndarray
    gap: float
    cost: float


@lru_cache(maxsize=256)
def pair(cell: Cell) -> Pair:
    """The hardest pair of a cell: with the largest min(gap, cost), or the largest cost where the
    cell is not observable.

    Ranking 0 is one of the two, which is no restriction: the items can be relabelled.

    Raises
    ------
    SettingError : all rankings of the cell have the same loss
    """
    if cell.rate.rate == "0":
        raise SettingError(
            f"{cell}: all rankings have the same loss, so that no relevances are hard"
        )
    if cell.rate.globally_observable:
        return max(_neighbours(cell), key=lambda neighbours: min(neighbours.gap, neighbours.cost))
    return max(_indistinguishable(cell), key=lambda neighbours: neighbours.cost)


def width(cell: Cell, rounds: int, until: int) -> float:
    """w at T rounds: 1 up to T = `until`, then falling as T^(-1/2) or T^(-1/3); 1 where the cell is
    not observable.
    """
    return min(1.0, until / rounds) ** EXPONENTS[cell.rate.rate]


def _neighbours(cell: Cell) -> Iterator[Pair]:
    """For each neighbour j of ranking 0, the p and d with the largest min(gap, cost)."""
    measure, m, top_grade = cell.game
    for j in np.flatnonzero(observability.neighbours(measure, m, top_grade)[0]).tolist():
        near = observability.neighbourhood(measure, m, j, top_grade)
        tops = [] if cell.rate.locally_observable else np.unique(cell.top_of[near])
        first, second, others = cell.losses[0], cell.losses[j], np.delete(cell.losses, near, axis=0)
        # Losses are linear in w between the ends and the middle, so that the cost is least at 1, 0
        # or -1. What it is there is written as coefficients of p and of d.
        costs = [
            (others - first, others - first),
            (others - first, 0 * others),
            (others - second, second - others),
        ]
        rows = np.vstack(
            [np.hstack([0 * first, second - first]), *(np.hstack(cost) for cost in costs)]
        )
        ties = np.hstack([second - first, 0 * first])
        middle, direction = _solve(cell, rows, ties[None], tops)
        values = rows @ np.hstack([middle, direction])
        yield Pair(middle, direction, float(values[0]), float(values[1:].min(initial=np.inf)))


def _indistinguishable(cell: Cell) -> Iterator[Pair]:
    """For each other ranking j, the p and d with the largest cost, supposing that 0 is best under p
    + d, j under p - d.

    If they are not the best there, the cost is larger for another j. Rankings with equal losses
    count once.
    """
    tops, losses = range(len(cell.tops)), cell.losses
    for j in np.unique(np.round(losses, DIGITS), axis=0, return_index=True)[1].tolist():
        first, second = losses[0], losses[j]
        # rows @ (p, d): what each ranking loses, less what 0 loses under p + d and j under p - d,
        # on average over both
        rows = np.hstack(
            [losses - (first + second) / 2, np.broadcast_to((second - first) / 2, losses.shape)]
        )
        middle, direction = _solve(cell, rows, np.zeros((0, 2 * len(first))), tops)
        cost = float((rows @ np.hstack([middle, direction])).min())
        yield Pair(middle, direction, float((second - first) @ (middle + direction)), cost)


def _solve(cell: Cell, rows: np.ndarray, zero: np.ndarray, tops) -> tuple[np.ndarray, np.ndarray]:
    """The p and d with the largest least entry of `rows @ (p, d)`.

    p + d and p - d are distributions, `zero @ (p, d)` is 0, and d shows in none of the top sets
    `tops`.
    """
    from scipy.optimize import linprog  # imported here: it takes a quarter of a second

    # The linear program's variables are p, d and the least entry, which is made as large as
    # possible.
    outcomes = cell.losses.shape[1]
    one, signals = np.ones((1, outcomes)), cell.signals[list(tops)].reshape(-1, outcomes)
    each = np.eye(outcomes)
    at_least_0 = _stacked(
        (rows, -np.ones((len(rows), 1))),  # each entry of `rows @ (p, d)`, less the least
        (np.hstack([each, each]), None),  # p + d
        (np.hstack([each, -each]), None),  # p - d
    )
    equal = _stacked(
        (np.hstack([one, 0 * one]), None),  # the sum of p: 1. All that follow are 0
        (np.hstack([0 * one, one]), None),  # the sum of d
        (np.hstack([0 * signals, signals]), None),  # what top sets show of d
        (zero, None),
    )
    minus_least = np.repeat([0.0, -1.0], [2 * outcomes, 1])
    one_then_zeros = np.eye(len(equal))[0]
    solved = linprog(
        minus_least,
        A_ub=-at_least_0,
        b_ub=np.zeros(len(at_least_0)),
        A_eq=equal,
        b_eq=one_then_zeros,
        bounds=(None, None),
        method="highs",
    )
    if solved.x is None:
        raise ArithmeticError(f"{cell}: a linear program has no solution: {solved.message}")
    middle, direction = np.split(np.round(solved.x[:-1], DIGITS) + 0.0, 2)  # + 0.0 turns -0 into 0
    return middle, direction


def _stacked(*blocks: tuple[np.ndarray, np.ndarray | None]) -> np.ndarray:
    """Rows of a linear program: blocks one below the other, of coefficients of (p, d) and of the
    least entry, or 0.
    """
    wide = [
        np.hstack([of_both, np.zeros((len(of_both), 1)) if least is None else least])
        for of_both, least in blocks
    ]
    return np.vstack(wide)
