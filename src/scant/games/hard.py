"""Relevances that make the regret of any learner grow as fast as the minimax regret of a cell of the atlas.

The construction is that of the lower bounds for partial monitoring (Bartok et al. 2014, Theorems 4 and 5; Lattimore &
Szepesvari 2019), with numbers found by a linear program. There are two neighbouring rankings i and j, a distribution p
of relevance vectors, under which both are best and all other rankings (except duplicates of these) lose more, and a
direction d. Under p + w d ranking i is best, under p - w d ranking j, by a gap of w * `Pair.gap`. If the cell is not
locally observable, no ranking in the neighbourhood of i and j shows any of d: whoever plays only such rankings cannot
tell which of the two distributions it faces. If the cell is not observable, no ranking does.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scant.errors import SettingError
from scant.games.cells import DIGITS, Cell
from scant.theory import observability

EXPONENTS = {"T^(1/2)": 0.5, "T^(2/3)": 1 / 3, "T": 0.0}  # of the width of the gap at T rounds, by rate of the regret


@dataclass(frozen=True)
class Pair:
    """Two neighbouring rankings that are hard to tell apart.

    rankings : numbers of the two, i and j
    tie : float64 (outcomes), the distribution p under which they tie
    direction : float64 (outcomes), d; p + d and p - d are distributions, too
    gap : by how much i is better than j under p + d, and j better than i under p - d
    margin : by how much all rankings but i, j and their duplicates lose at least under p + w d, for any |w| <= 1,
        against the better of the two
    blind : numbers of the top sets that show the same under p + d and p - d by construction
    """

    rankings: tuple[int, int]
    tie: np.ndarray
    direction: np.ndarray
    gap: float
    margin: float
    blind: tuple[int, ...]


@lru_cache(maxsize=256)
def pair(cell: Cell) -> Pair:
    """The pair of neighbours of a cell for which the lesser of gap and margin is largest.

    Ranking 0 is one of them, which is no restriction: the items can be relabelled.

    Raises
    ------
    SettingError : all rankings of the cell have the same loss
    """
    of_first = np.flatnonzero(observability.neighbours(*cell.game)[0])
    if not len(of_first):
        raise SettingError(f"{cell}: all rankings have the same loss, so that no relevances are hard")
    return max((_hardest(cell, int(j)) for j in of_first), key=lambda found: min(found.gap, found.margin))


def width(cell: Cell, rounds: int, until: int) -> float:
    """w at T rounds: 1 up to T = `until`, then falling as T^(-1/2) or T^(-1/3); 1 where the cell is not observable."""
    return min(1.0, until / rounds) ** EXPONENTS[cell.rate.rate]


def _hardest(cell: Cell, j: int) -> Pair:
    """p and d for the neighbours 0 and j: a linear program, which maximises the lesser of gap and margin."""
    from scipy.optimize import linprog  # imported here: it takes a quarter of a second

    near = observability.neighbourhood(cell.measure, cell.m, 0, j, cell.top_grade)
    blind = _blind(cell, near)
    losses, outcomes = cell.losses, cell.losses.shape[1]
    first, second, others = losses[0], losses[j], np.delete(losses, near, axis=0)
    nothing, one = np.zeros(outcomes), np.ones(outcomes)
    # Variables: p, d, and the lesser of gap and margin. Each row of `least` times (p, d) is to be at least the latter.
    least = [np.concatenate([nothing, second - first])]
    for loss in others:
        least += [np.concatenate([loss - first, sign * (loss - best)]) for sign, best in ((0, first), (1, first))]
        least += [np.concatenate([loss - second, second - loss])]
    chances = np.block([[np.eye(outcomes), sign * np.eye(outcomes)] for sign in (1, -1)])
    above = -np.vstack(
        [np.column_stack([least, -np.ones(len(least))]), np.column_stack([chances, np.zeros(2 * outcomes)])]
    )
    alike = cell.signals[list(blind)].reshape(-1, outcomes)
    equal = np.vstack(
        [
            np.concatenate([one, nothing, [0]]),
            np.concatenate([nothing, one, [0]]),
            np.concatenate([second - first, nothing, [0]]),
            np.column_stack([np.zeros_like(alike), alike, np.zeros(len(alike))]),
        ]
    )
    goal = np.zeros(2 * outcomes + 1)
    goal[-1] = -1
    solved = linprog(
        goal, above, np.zeros(len(above)), equal, np.eye(len(equal))[0], bounds=(None, None), method="highs"
    )
    if solved.x is None:
        raise ArithmeticError(f"{cell}: no distribution found between rankings 0 and {j}")
    tie, direction = (np.round(part, DIGITS) + 0.0 for part in (solved.x[:outcomes], solved.x[outcomes:-1]))
    values = np.array(least) @ np.concatenate([tie, direction])
    return Pair((0, j), tie, direction, float(values[0]), float(min(values[1:], default=np.inf)), blind)


def _blind(cell: Cell, near: np.ndarray) -> tuple[int, ...]:
    """The top sets that must not show the direction: those of a neighbourhood, or all, or none, by the cell's rate."""
    if cell.rate.locally_observable:
        return ()
    return tuple(np.unique(cell.top_of[near] if cell.rate.globally_observable else cell.top_of).tolist())
