"""Bounds on the generalisation of linear rankers, chapter IV of the thesis, with every constant and
logarithm.

A query is a matrix X of m documents (rows) and their grades y; scores are Xw, the loss is a
surrogate phi(Xw, y), its expectation the risk L(w), and its mean over n training queries the
empirical risk. Every bound is a function `bound(n, problem)`; n may be an array. Where a bound was
proved only while the argument of a logarithm is large enough, it is NaN below; `first_telling` says
from which n it is below the trivial bound, the largest loss B. What papers call O~ is written out
from their proofs.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scant.theory import constants


@dataclass(frozen=True)
class Problem:
    """What bounds depend on beside n.

    m : documents of a query, the largest number
    d : features
    ball : W, the bound on the norm of the weights: l2 norm for F2, l1 norm for F1
    radius : R_X, the bound on the norm of a document: l2 norm for F2, sup norm for F1
    lipschitz, smoothness : G and H, in the sup norm of the scores
    lipschitz_l2 : the Lipschitz constant in the l2 norm of the scores
    largest_loss : B, the range of the loss
    delta : bounds "with high probability" hold with probability 1 - delta
    best_risk : L(w*), the least risk of all weights in the ball
    """

    m: int
    d: int
    ball: float
    radius: float
    lipschitz: float
    lipschitz_l2: float
    smoothness: float
    largest_loss: float
    delta: float = 0.05
    best_risk: float = 0.0

    @property
    def scale(self) -> float:
        """`G W R_X`, the factor of most bounds: how far a loss may be from the loss at equal
        scores.
        """
        return self.lipschitz * self.ball * self.radius

    @property
    def weight_smoothness(self) -> float:
        """`H R_X^2`, the smoothness of the loss in the weights, in l2 (thesis, appendix C)."""
        return self.smoothness * self.radius**2


def problem(
    surrogate: str,
    m: int,
    d: int,
    largest: int,
    ball: float,
    radius: float,
    sigma: float = 1.0,
    **others,
) -> Problem:
    """The `Problem` of a surrogate, with its exact constants (`scant.theory.constants`) for scores
    up to W R_X.

    others : further fields; constants replace the exact ones, by the thesis's, for instance
    """
    bound = ball * radius
    exact = {
        "lipschitz": constants.lipschitz(surrogate, m, largest, bound, sigma),
        "lipschitz_l2": constants.lipschitz(surrogate, m, largest, bound, sigma, "l2"),
        "smoothness": constants.smoothness(surrogate, m, largest, bound, sigma),
        "largest_loss": constants.largest_loss(surrogate, m, largest, bound),
    }
    return Problem(m=m, d=d, ball=ball, radius=radius, **(exact | others))


# --- gradient descent and regularised ERM: bounds on the expected excess risk, convex losses


def descent_rate(n, problem: Problem):
    """The step size `W / (G R_X sqrt(2n))` of online gradient descent in Theorem 35."""
    return problem.ball / (problem.lipschitz * problem.radius * np.sqrt(2 * np.asarray(n, float)))


def descent_excess(n, problem: Problem):
    """Theorem 35: E L(w) - L(w*) <= G W R_X sqrt(2/n), w the average of n steps of online gradient
    descent on F2.

    Convex losses, one pass, step size `descent_rate`, starting from 0. Below B from n = 2 (G W R_X
    / B)^2 on.
    """
    return problem.scale * np.sqrt(2 / np.asarray(n, float))


def regularisation(n, problem: Problem):
    """The lambda of Theorem 45, `sqrt((4 G^2 R_X^2 / n) / (W^2 / 2 + 4 W^2 / n))`, in
    (lambda/2)||w||^2 + risk.
    """
    n = np.asarray(n, float)
    return np.sqrt(
        4 * (problem.lipschitz * problem.radius) ** 2 / n / (problem.ball**2 * (0.5 + 4 / n))
    )


def regularised_excess(n, problem: Problem):
    """Theorem 36: E L(w) - L(w*) <= 2 G W R_X (8/n + sqrt(2/n)), for regularised ERM on F2 with
    `regularisation`.

    Convex losses. Twice Theorem 35's and more: below B from a little above n = 8 (G W R_X / B)^2
    on.
    """
    n = np.asarray(n, float)
    return 2 * problem.scale * (8 / n + np.sqrt(2 / n))


# --- uniform bounds on F2: L(w) <= empirical risk + gap, for all w at once; convex or not


def chapelle_wu(n, problem: Problem):
    """Chapelle & Wu 2010, Theorem 1 (thesis, section 4.4): 3 G_2 W R_X sqrt(m/n) + B sqrt(8
    log(1/delta) / n).

    A uniform bound on L - empirical risk over F2 with probability 1 - delta; G_2 is the constant in
    the l2 norm. As printed the second term is for a loss of range 1. Below B only from n > 8
    log(1/delta) on.
    """
    n = np.asarray(n, float)
    width = 3 * problem.lipschitz_l2 * problem.ball * problem.radius * np.sqrt(problem.m / n)
    return width + problem.largest_loss * np.sqrt(8 * math.log(1 / problem.delta) / n)


def covering_l2(epsilon, n, problem: Problem):
    """Proposition 3: log2 of the covering number of the losses of F2 on n queries, in the sup
    metric at scale epsilon.

    `ceil((G W R_X / epsilon)^2) log2(2 m n + 1)`, from the bound for mn documents (Zhang 2002,
    Corollary 3).
    """
    return np.ceil((problem.scale / np.asarray(epsilon, float)) ** 2) * np.log2(
        2 * problem.m * np.asarray(n) + 1
    )


def rademacher_l2(n, problem: Problem):
    """Corollary 37: the empirical Rademacher complexity of the losses of F2.

    `10 G W R_X sqrt(log2(3mn) / n) log(6 B sqrt(n) / (5 G W R_X sqrt(log2(3mn))))`. It comes from
    `dudley` with alpha = 2.5 G W R_X sqrt(log2(3mn) / n), which must be at most B: NaN where the
    logarithm's argument is below 3.
    """
    n = np.asarray(n, float)
    root = problem.scale * np.sqrt(np.log2(3 * problem.m * n) / n)
    return _where_proved(10 * root, 6 * problem.largest_loss / (5 * root))


def uniform_gap_l2(n, problem: Problem):
    """Theorem 38: L(w) - empirical risk, for all w of F2, with probability 1 - delta: twice
    `rademacher_l2`, and `3 B sqrt(log(2/delta) / (2n))` (Bartlett & Mendelson 2003, with the
    empirical complexity).

    It says something only where both terms are small against B: some 2 x 10^5 queries for G W R_X =
    B.
    """
    return 2 * rademacher_l2(n, problem) + deviation(n, problem)


def erm_excess_l2(n, problem: Problem):
    """Theorem 38: L(w^) - L(w*), w^ an empirical risk minimiser over F2, with probability 1 - 2
    delta.

    The uniform gap at w^, and Hoeffding's inequality at w*.
    """
    return uniform_gap_l2(n, problem) + _hoeffding(n, problem)


# --- F1: weights bounded in l1, documents in the sup norm


def covering_l1(epsilon, n, problem: Problem):
    """Proposition 4: log2 of the covering number of the losses of F1 (Zhang 2002, Corollary 5).

    `ceil(288 (G W R_X / epsilon)^2 (2 + log d)) log2(2 ceil(8 G W R_X / epsilon) m n + 1)`.
    """
    ratio = problem.scale / np.asarray(epsilon, float)
    return np.ceil(288 * ratio**2 * (2 + math.log(problem.d))) * np.log2(
        2 * np.ceil(8 * ratio) * problem.m * np.asarray(n) + 1
    )


def rademacher_l1(n, problem: Problem):
    """Corollary 39: the empirical Rademacher complexity of the losses of F1.

    `a sqrt(log(d) log2(24 m n s) / n) log^2((B + 24 m n s) / (a/3 sqrt(log(d) log2(24 m n s))))`,
    with s = G W R_X and a = 120 sqrt(2) s. It is printed with log d where Proposition 4 has 2 + log
    d, so needs two features; NaN where an argument of a logarithm is below 1.
    """
    n = np.asarray(n, float)
    size = 24 * problem.m * n * problem.scale
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(math.log(problem.d) * np.where(size > 1, np.log2(size), np.nan))
        argument = (problem.largest_loss + size) / (40 * math.sqrt(2) * problem.scale * root)
        value = 120 * math.sqrt(2) * problem.scale * root / np.sqrt(n) * np.log(argument) ** 2
    return np.where(argument >= 1, value, np.nan)[()]


def uniform_gap_l1(n, problem: Problem):
    """Theorem 40: L(w) - empirical risk, for all w of F1, with probability 1 - delta; see
    `uniform_gap_l2`.

    Below B from some 10^13 queries on for G W R_X = B, since Corollary 39 is so large;
    `scant.theory.entropy` has less.
    """
    return 2 * rademacher_l1(n, problem) + deviation(n, problem)


def erm_excess_l1(n, problem: Problem):
    """Theorem 40: L(w^) - L(w*), w^ an empirical risk minimiser over F1, with probability 1 - 2
    delta.
    """
    return uniform_gap_l1(n, problem) + _hoeffding(n, problem)


# --- smooth losses: optimistic rates


def optimistic_rate(n, problem: Problem):
    """The step size (4.7) of online gradient descent, `W / (4HW + 2 sqrt(4 H^2 W^2 + 2 H L* n))`.

    H is the smoothness in the weights, `problem.weight_smoothness`; L* is `problem.best_risk`.
    """
    smooth, ball = problem.weight_smoothness, problem.ball
    root = np.sqrt((2 * smooth * ball) ** 2 + 2 * smooth * problem.best_risk * np.asarray(n, float))
    return ball / (4 * smooth * ball + 2 * root)


def descent_risk(n, problem: Problem, rate):
    """E L(w) of the average of online gradient descent with step size `rate`, smooth convex losses
    (section 4.8.3).

    `L* / (1 - 4 rate H) + W^2 / (2 rate (1 - 4 rate H) n)`, least at (4.7); rates below 1 / (4H).
    """
    left = 1 - 4 * np.asarray(rate) * problem.weight_smoothness
    return problem.best_risk / left + problem.ball**2 / (2 * rate * left * np.asarray(n, float))


def optimistic_excess(n, problem: Problem):
    """(4.8): E L(w) - L* <= 2 sqrt(2 H W^2 L* / n) + 8 H W^2 / n, for gradient descent with (4.7).

    For convex, smooth losses that are not negative. It falls as 1/n if L* = 0, else as 1/sqrt(n);
    it is infinite for RankSVM, whose loss is not smooth. If L* = 0, it is below B from
    n = 8 H W^2 / B on.
    """
    term = problem.weight_smoothness * problem.ball**2 / np.asarray(n, float)
    return 2 * np.sqrt(2 * term * problem.best_risk) + 8 * term


def covering_smooth(epsilon, n, problem: Problem, risk: float):
    """Proposition 5: log2 of the covering number, in the l2 metric, of the losses of all w in F2
    with a small risk.

    The empirical risk is at most `risk`: `ceil(12 H W^2 R_X^2 risk / epsilon^2) log2(2 m n + 1)`.
    """
    square = 12 * problem.weight_smoothness * problem.ball**2 * risk
    return np.ceil(square / np.asarray(epsilon, float) ** 2) * np.log2(
        2 * problem.m * np.asarray(n) + 1
    )


def rademacher_smooth(n, problem: Problem, risk: float):
    """Corollary 43: the empirical Rademacher complexity of the class of `covering_smooth`.

    `4 sqrt(risk) C log(3 sqrt(B) / C)`, C = 5 sqrt(3) W R_X sqrt(H log2(3mn) / n); NaN where C >
    sqrt(B), as in `rademacher_l2`. It is `sqrt(risk)` times a number; r* of `smooth_gap` is that
    number squared.
    """
    return math.sqrt(risk) * np.sqrt(_fixed_point(n, problem))


def smooth_gap(n, problem: Problem, risk):
    """Theorem 44: L(w) - empirical risk, for all w of F2 with L(w) = `risk`, with probability 1 -
    delta.

    `45 r* + sqrt(8 r* L(w)) + sqrt(4 r0 L(w)) + 20 r0`, r* = (4 C log(3 sqrt(B) / C))^2 as in
    `rademacher_smooth`, r0 = B (log(1/delta) + log log n) / n (Bousquet 2002, Theorem 6.1). From n
    = 3 on, where log log n is positive; below B from some 10^8 queries on for H (W R_X)^2 = B.
    Losses are not negative, so SmoothDCG's is counted from its least.
    """
    fixed, noise = _fixed_point(n, problem), _noise(n, problem)
    return 45 * fixed + 20 * noise + (np.sqrt(8 * fixed) + np.sqrt(4 * noise)) * np.sqrt(risk)


# --- from which n on


def first_telling(bound: Callable, problem: Problem, most: int = 10**18) -> float:
    """The least n from which on `bound(n, problem)` is below B, the trivial bound; infinite if
    beyond `most`.
    """
    return _first(lambda n: bound(n, problem) < problem.largest_loss, most)


def _first(true: Callable[[int], bool], most: int) -> float:
    """The least n with `true(n)`, by bisection, as it stays true from there on; or infinity."""
    high = 1
    while not true(high):
        if high > most:
            return math.inf
        high *= 2
    low = high // 2 + 1
    return low + bisect_left(range(low, high), True, key=true)


def _where_proved(factor, argument):
    """`factor * log(argument)`, NaN where the argument is below 3: alpha is then above the largest
    loss.
    """
    argument = np.asarray(argument)
    return np.where(argument >= 3, factor * np.log(np.maximum(argument, 3)), np.nan)[()]


def _fixed_point(n, problem: Problem):
    """r* of Theorem 44, the largest solution of r = rademacher_smooth(r)."""
    n = np.asarray(n, float)
    width = (
        5 * problem.ball * np.sqrt(3 * problem.weight_smoothness * np.log2(3 * problem.m * n) / n)
    )
    return _where_proved(4 * width, 3 * math.sqrt(problem.largest_loss) / width) ** 2


def _noise(n, problem: Problem):
    """r0 of Theorem 44."""
    n = np.asarray(n, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        doubled = np.where(n >= 3, np.log(np.log(n)), np.nan)
    return (problem.largest_loss * (math.log(1 / problem.delta) + doubled) / n)[()]


def deviation(n, problem: Problem):
    """The last term of uniform bounds with an empirical Rademacher complexity, 3 B
    sqrt(log(2/delta) / (2n)).
    """
    return 3 * _range_deviation(n, problem, 2 / problem.delta)


def _hoeffding(n, problem: Problem):
    """Hoeffding's bound on the empirical risk of fixed weights, with probability 1 - delta."""
    return _range_deviation(n, problem, 1 / problem.delta)


def _range_deviation(n, problem: Problem, inverse: float):
    return problem.largest_loss * np.sqrt(math.log(inverse) / (2 * np.asarray(n, float)))
