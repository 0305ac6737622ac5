"""The cells of the atlas as tables: a loss on m items of which the top k are seen, for learners
that take any loss.

A cell is a finite game of partial monitoring. Its actions are the m! rankings, its outcomes the
relevance vectors with grades 0..top_grade, numbered as in `scant.theory.observability`. What a
ranking shows depends on the *set* of its top k items alone, so signals are kept by top set: an
outcome has one of (top_grade + 1)^k feedbacks in each.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from scant.errors import SettingError, errors_of
from scant.games import losses
from scant.games.losses import Loss
from scant.theory import observability

MEASURES = {"auc-loss": "auc"}  # losses that have another name in `scant.theory.observability`
MOST_GRADES = 16  # more than any cell of the atlas has
WITHOUT = ("position-loss", "spearman-loss")  # losses of unbounded values, or of rankings

# of the estimators: enough for any run, and the same on every machine, so that ties are the same,
# too
DIGITS = 12


@dataclass(frozen=True)
class Cell:
    """A loss on m items with grades 0..top_grade, of which the top k are seen. `cell` makes and
    keeps them.

    name : of the loss or gain, see `scant.games.losses.make`; a cut-off beyond m is m
    """

    name: str
    m: int
    k: int
    top_grade: int = 1

    def __str__(self):
        grades = f", grades 0 to {self.top_grade}" if self.top_grade > 1 else ""
        return f"{self.name} at m = {self.m}, k = {self.k}{grades}"

    @property
    def loss(self) -> Loss:
        return losses.make(self.name)

    @property
    def measure(self) -> str:
        """The name of the loss in `scant.theory.observability`."""
        return MEASURES.get(self.name, self.name)

    @property
    def game(self) -> tuple[str, int, int]:
        """The measure, m and top_grade, the arguments that functions of
        `scant.theory.observability` take.
        """
        return self.measure, self.m, self.top_grade

    @cached_property
    def rate(self) -> observability.Rate:
        """Whether the cell is observable, globally and locally, and the growth of its minimax
        regret.
        """
        return observability.regret_rate(self.measure, self.m, self.k, self.top_grade)

    @cached_property
    def rankings(self) -> np.ndarray:
        """All rankings, best first: int64 (m! x m)."""
        return observability.rankings(self.m)

    @cached_property
    def relevances(self) -> np.ndarray:
        """All relevance vectors: int64 (outcomes x m)."""
        return observability.relevances(self.m, self.top_grade)

    @cached_property
    def losses(self) -> np.ndarray:
        """The loss of each ranking for each outcome, float64 (m! x outcomes); a gain counts as a
        negative loss.
        """
        return observability.loss_matrix(*self.game)

    @cached_property
    def largest_difference(self) -> float:
        """The largest difference of the losses of two rankings for one outcome."""
        return float(np.ptp(self.losses, axis=0).max())

    @cached_property
    def tops(self) -> np.ndarray:
        """The top sets, each with its items ascending: int64 (sets x k)."""
        return np.array(list(combinations(range(self.m), self.k)))

    @cached_property
    def top_of(self) -> np.ndarray:
        """The number of each ranking's top set: int64 (m!)."""
        sets = {tuple(items): number for number, items in enumerate(self.tops.tolist())}
        return np.array(
            [sets[tuple(sorted(ranking[: self.k]))] for ranking in self.rankings.tolist()]
        )

    @property
    def feedbacks(self) -> int:
        """The number of different feedbacks that a top set can give."""
        return (self.top_grade + 1) ** self.k

    @cached_property
    def feedback(self) -> np.ndarray:
        """The number of the feedback that each top set gives for each outcome, int64 (sets x
        outcomes).
        """
        return self._number(self.relevances[:, self.tops].swapaxes(0, 1))

    @cached_property
    def signals(self) -> np.ndarray:
        """The signal matrices of the top sets: 0 or 1, float64 (sets x feedbacks x outcomes)."""
        return (self.feedback[:, None] == np.arange(self.feedbacks)[:, None]).astype(float)

    @cached_property
    def differences(self) -> np.ndarray:
        """The loss of each ranking less the mean over all rankings, by outcome: float64 (m! x
        outcomes).
        """
        return self.losses - self.losses.mean(axis=0)

    @cached_property
    def estimators(self) -> np.ndarray:
        """Estimators V of `differences` from feedback: float64 (sets x feedbacks x m!).

        For every outcome x and ranking i, `differences[i, x]` is the sum over top sets a of V[a,
        feedback[a, x], i]. So if a is shown with probability P(a) > 0, then V[a, feedback, i] /
        P(a) is an unbiased estimate of it. They are the solution of least squares.

        Raises
        ------
        SettingError : the cell is not globally observable: there are none
        """
        check_observable(self)
        signals = self.signals.reshape(-1, len(self.relevances))
        solved = np.linalg.lstsq(signals.T, self.differences.T, rcond=None)[0]
        # without negative zeros
        return np.round(solved.reshape(*self.signals.shape[:2], -1), DIGITS) + 0.0

    def number_of(self, ranking: np.ndarray, seen: np.ndarray) -> int:
        """The number of the feedback that a round gave.

        ranking : the ranking shown; seen : the values of its top k items, in its order
        """
        grades = np.searchsorted(self.values, seen)
        return int(self._number(grades[np.argsort(ranking[: self.k])]))

    @cached_property
    def values(self) -> np.ndarray:
        """The values that the loss makes of the grades, float64 (top_grade + 1)."""
        return np.asarray(self.loss.values(np.arange(self.top_grade + 1)), float)

    def outcomes(self, stream: np.ndarray) -> np.ndarray:
        """The number of each relevance vector of a stream (rounds x m), int64 (rounds)."""
        return self._number(np.asarray(stream, np.int64))

    def _number(self, grades: np.ndarray) -> np.ndarray:
        """Vectors of grades (... x n) as numbers, in lexicographic order."""
        return grades @ (self.top_grade + 1) ** np.arange(grades.shape[-1])[::-1]


def cell(loss: str, m: int, k: int, top_grade: int = 1) -> Cell:
    """The cell of a loss or gain (see `scant.games.losses.make`) on m items of which the top k are
    seen.

    Raises
    ------
    SettingError : the loss has no cell, there are too many items or grades for tables, or k is not
        1 to m
    """
    binary = losses.make(loss).binary
    if loss in WITHOUT:
        raise SettingError(
            f"{loss} has no cell in the atlas: it is not a loss of finitely many grades"
        )
    if m > observability.MAX_ITEMS:
        raise SettingError(
            f"a cell of the atlas has up to {observability.MAX_ITEMS} items, for it keeps each of "
            f"the m! rankings; this game has {m}. Use rtopkf for linear losses on more items"
        )
    if not 1 <= k <= m:
        raise SettingError(f"k is {k}; with {m} items it must be from 1 to {m}")
    if not 1 <= top_grade <= observability.MAX_TOP_GRADE or (binary and top_grade > 1):
        greatest = 1 if binary else observability.MAX_TOP_GRADE
        raise SettingError(
            f"the highest grade is {top_grade}; a cell of {loss} has grades up to {greatest}"
        )
    stem, mark, cut = loss.partition("@")
    return _cell(f"{stem}@{min(int(cut), m)}" if mark else loss, m, k, top_grade)


@lru_cache(maxsize=256)
def _cell(name: str, m: int, k: int, top_grade: int) -> Cell:
    return Cell(name, m, k, top_grade)


def cell_of(learner: str, facts, k: int, locally: bool = False) -> Cell:
    """The cell of a learner's game, of which it sees the top k.

    learner : its kind, which errors name
    facts : `scant.games.player.Facts`; their largest value tells the highest grade
    locally : whether the learner needs a locally observable cell, not just a globally observable
        one

    Raises
    ------
    SettingError : see `cell`; or the cell is not observable
    """
    values = np.arange(2) if facts.loss.binary else facts.loss.values(np.arange(MOST_GRADES))
    top_grade = max(1, int(np.searchsorted(values, facts.largest)))
    with errors_of(f"learner {learner!r}"):
        own_cell = cell(facts.loss.name, facts.items, k, top_grade)
        check_observable(own_cell, locally)
    return own_cell


def check_observable(cell: Cell, locally: bool = False) -> None:
    """Raise a SettingError, with the reason from theory, unless the cell is globally (or locally)
    observable.
    """
    if not cell.rate.globally_observable:
        raise SettingError(
            f"{cell} cannot be learnt: its loss differences are not in the span of the signal "
            "rows, so that every learner has linear regret against some relevances (thesis, "
            "Definition 3; Bartok et al. 2014). " + _remedy(cell, "globally_observable")
        )
    if locally and not cell.rate.locally_observable:
        raise SettingError(
            f"{cell} is not locally observable: its neighbouring rankings cannot be compared by "
            "what they show, so that no learner has less than the order of T^(2/3) (thesis, "
            "Definition 5; Bartok et al. 2014). Use the learner "
            "'forecaster'. " + _remedy(cell, "locally_observable")
        )


def _remedy(cell: Cell, observable: str) -> str:
    """The least k with which the game is observable, in words."""
    measure, m, top_grade = cell.game
    enough = next(
        k for k in range(1, m + 1) if getattr(observability, observable)(measure, m, k, top_grade)
    )
    return f"The least k with which it is {observable.replace('_', ' ')} is {enough}"
