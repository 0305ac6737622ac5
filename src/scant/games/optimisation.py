"""Exploration by optimisation: a learner with regret T^(1/2) for every locally observable cell of
few items.
"""

import math
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from scant.declare.declarations import Look
from scant.errors import SettingError
from scant.games.cells import Cell, cell_of
from scant.games.player import K, Player, check_k

# of the convex program: a step of Newton's method takes a tenth of a second with as many
VARIABLES = 500
ACCURACY = 0.02  # to which the program is solved, relative
TOLERANCE = 0.1  # how far weights, or the value reached, may move before it is solved anew


class Problem(NamedTuple):
    """A cell as the convex program has it (`scant.kernels.optimisation`). Rankings with equal
    losses are one class.

    shown : int64 (actions), the number of the ranking that an action shows: the first of its class
        and top set
    losses : float64 (classes x outcomes)
    actions_class, actions_top : int64 (actions)
    signal : int64 (top sets x outcomes), the number of the signal, that is, of a top set and its
        feedback
    base : float64 (signals x classes), an estimator of the differences of losses to their mean over
        classes
    null : float64 (signals x r0), a basis of what all top sets together estimate as 0, whatever the
        outcome
    span : float64 (signals x r), a basis of the rest
    """

    shown: np.ndarray
    losses: np.ndarray
    actions_class: np.ndarray
    actions_top: np.ndarray
    signal: np.ndarray
    base: np.ndarray
    null: np.ndarray
    span: np.ndarray

    @property
    def variables(self) -> int:
        """The number of variables of the convex program."""
        return len(self.losses) * self.null.shape[1] + self.span.shape[1] + len(self.shown) + 1


@lru_cache(maxsize=64)
def problem(cell: Cell) -> Problem:
    """The convex program of a cell."""
    # Losses that differ by rounding alone are of one class.
    losses, of_ranking = np.unique(np.round(cell.losses, 12), axis=0, return_inverse=True)
    actions, first_rankings = np.unique(
        np.c_[of_ranking.ravel(), cell.top_of], axis=0, return_index=True
    )
    signals = cell.signals.reshape(-1, len(cell.relevances))
    signal = cell.feedback + cell.feedbacks * np.arange(len(cell.tops))[:, None]
    base = np.linalg.lstsq(signals.T, (losses - losses.mean(axis=0)).T, rcond=None)[0]
    _, sizes, rows = np.linalg.svd(signals.T)
    rank = np.count_nonzero(sizes > 1e-9)  # the other singular values are 0, but for rounding
    arrays = (
        first_rankings,
        losses,
        actions[:, 0],
        actions[:, 1],
        signal,
        base,
        rows[rank:].T,
        rows[:rank].T,
    )
    return Problem(*(np.ascontiguousarray(array) for array in arrays))


class ExplorationByOptimisation(Player):
    """Exploration by optimisation, for every locally observable cell (Lattimore & Szepesvari 2020),
    of few items.

    Exponential weights q_t on the classes of rankings with equal losses, of estimated losses, with
    learning rate eta_t. Rankings are drawn not from q_t, but from the distribution p over rankings
    for which, with an unbiased estimator G of the differences of losses from what rankings show,
    the largest value V_t over relevance vectors x of

        <p - q, losses(x)> / eta + sum_s P_s <q, psi(eta G(s, x) / P_s)> / eta^2,
        psi(a) = exp(-a) + a - 1,

    is least; P_s is the probability that the top set s is shown, and G(s, x) / P_s is what is then
    added to estimates. For any p and unbiased G, optimal or not, the expected regret after t rounds
    is at most the expectation of

        log C / eta_t + sum of eta_i V_i over i <= t

    by their analysis of exponential weights, with learning rates that do not grow. `bound` returns
    this certificate: V_t is computed for the very p, G and weights that are played, and G is
    unbiased by construction, so that an inexact solution makes the bound larger, not wrong. In
    locally observable games the least V_t is bounded over all weights: this is proved for games
    without duplicates, which classes do not have. So the regret is of the order T^(1/2). The rate
    eta_t = sqrt(log C / (2 (R^2 + sum of V_i, i < t))), R being the largest difference of losses in
    a round, needs no T, and the certificate is then at most some 2 sqrt(2 log C (R^2 + sum of
    V_i)).

    The problem is solved by an interior-point method to within 2 %. It is solved anew if q has
    since moved by more than `TOLERANCE` in total variation, or if V_t, which is computed in every
    round, has risen by more than this share (of at least R^2 / 100). Until then the change of a
    class in q is shared among its rankings in p.

    k : how many items on top are seen
    """

    kind = "exploration-by-optimisation"
    about = (
        "Exploration by optimisation, for locally observable games of few items (Lattimore & "
        "Szepesvari 2020)."
    )
    settings = (K,)
    looks: ClassVar = {"": Look("purple", "P")}
    sees = "top"

    def __init__(self, facts, random, k: int = 1):
        super().__init__(facts, random)
        self.k = check_k(k, facts.items)
        self.cell = cell_of(self.kind, facts, k, locally=True)
        self.problem = problem(self.cell)
        if self.problem.variables > VARIABLES:
            raise SettingError(
                f"learner {self.kind!r}: {self.cell} is a convex program of "
                f"{self.problem.variables} variables; it solves those of up to {VARIABLES}. Use "
                "fewer items, or semi-bandit for precision@n"
            )
        classes, actions = len(self.problem.losses), len(self.problem.shown)
        self.scale = self.cell.largest_difference**2 or 1.0
        self.logarithm = math.log(max(2, classes))
        self.estimates, self.spent, self.regret = np.zeros(classes), self.scale, 0.0
        self.certificate, self.round, self.solved = (
            np.full(facts.rounds, np.nan),
            0,
            np.zeros(1, np.int64),
        )
        self.variables, self.reached = np.zeros(self.problem.variables), math.inf
        self.p, self.P, self.G = (
            np.empty(actions),
            np.empty(len(self.cell.tops)),
            np.empty(self.problem.base.shape),
        )

    @property
    def eta(self) -> float:
        return math.sqrt(self.logarithm / (2 * self.spent))

    def _solve(self, q: np.ndarray) -> float:
        """Solve the problem for these weights: p (actions), P (top sets) and G are then the
        solution's.

        Returns the value reached.
        """
        from scant.kernels import optimisation

        program, warm = self.problem, self.round > 0
        value = optimisation.optimise(
            q, self.eta, ACCURACY, 0.01 * self.scale, program, self.variables, warm
        )
        if math.isinf(value):
            raise ArithmeticError("exploration by optimisation: no estimator was found")
        self.solved += 1
        optimisation.fill(self.variables, program, self.G, self.P)
        self.p[:] = self.variables[-len(self.p) - 1 : -1]
        self.solved_p, self.solved_q, self.reached = self.p.copy(), q, value
        return value

    def rank(self):
        # The functions of the compiled loop: the solver would amplify the rounding of others.
        from scant.kernels.optimisation import carry, value_of, weigh

        program, q = self.problem, np.empty(len(self.estimates))
        values = np.empty(program.losses.shape[1])
        weigh(self.estimates, self.eta, q)
        moved = value = math.inf
        if self.round:
            moved = carry(
                self.solved_p,
                self.solved_q,
                q,
                program.actions_class,
                program.actions_top,
                self.p,
                self.P,
            )
            value = value_of(q, self.eta, program, self.p, self.G, self.P, values)
        if moved > TOLERANCE or not value <= self.reached + TOLERANCE * max(
            self.reached, 0.01 * self.scale
        ):
            value = self._solve(q)
        self.q, self.reaches = q, value
        u, self.action = self.random.random(), 0
        while self.action < len(self.p) - 1 and u >= self.p[self.action]:
            u -= self.p[self.action]
            self.action += 1
        return self.cell.rankings[self.problem.shown[self.action]]

    def learn(self, ranking, seen):
        """Add this round's estimated losses to their sums, and the round's term to the certificate;
        see the class.
        """
        top = self.problem.actions_top[self.action]
        signal = top * self.cell.feedbacks + self.cell.number_of(ranking, seen)
        self.estimates += self.G[signal] / self.P[top]
        self.regret += self.eta * self.reaches
        self.certificate[self.round] = self.logarithm / self.eta + self.regret
        self.spent += max(self.reaches, 0.0)
        self.round += 1

    def bound(self, t):
        """The certificate after t rounds, which have been played. Its expectation bounds the
        expected regret.
        """
        return self.certificate[np.asarray(t) - 1]

    def loop(self):
        return "optimisation:play_optimised", {
            "cell": self.cell,
            "program": self.problem,
            "accuracy": ACCURACY,
            "tolerance": TOLERANCE,
            "scale": float(self.scale),
            "certificate": self.certificate,
            "solved": self.solved,
        }
