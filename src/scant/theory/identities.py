"""Lemmas of chapter IV as numbers: both sides of each, for given or drawn cases.

Functions return pairs or single numbers that theorems say are equal or ordered;
`scant.generalisation.theorems` holds them against each other.
"""

import math

import numpy as np

from scant.theory.suprema import operator_norm

# --- Theorem 33: linear maps that are permutation invariant


def invariant_dimension(m: int, d: int) -> int:
    """The dimension of the linear maps f from m x d matrices to m scores with f(PX) = P f(X) for
    all permutations P.

    The null space of the conditions for two permutations that generate all others, a swap and a
    cycle.
    """
    if m < 2:
        return d
    maps = np.eye(m * m * d)  # as (m, m * d): scores by entries of X
    conditions = []
    swap, cycle = [1, 0, *range(2, m)], [*range(1, m), 0]
    for order in (swap, cycle):
        permutation = np.eye(m)[order]
        on_rows = np.kron(permutation, np.eye(d))
        conditions.append(
            [(permutation @ f - f @ on_rows).ravel() for f in maps.reshape(-1, m, m * d)]
        )
    return m * m * d - int(np.linalg.matrix_rank(np.concatenate(conditions, axis=1)))


# --- Lemma 34: the norms of X' from l1 to lp and of X from lq to l-infinity


def dual(p: float) -> float:
    """q with 1/p + 1/q = 1."""
    return math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)


def largest_row(x: np.ndarray, p: float) -> float:
    """The largest lp norm of a row of X."""
    return float(np.linalg.norm(x, p, axis=1).max())


def norm_of_transpose(
    x: np.ndarray, p: float, random: np.random.Generator, draws: int = 200
) -> float:
    """The largest `||X'v||_p / ||v||_1` over random v and the corners of the l1 ball."""
    vectors = np.concatenate([random.normal(size=(draws, len(x))), np.eye(len(x))])
    return _largest_ratio(vectors, x, p, 1)


def norm_to_sup(x: np.ndarray, p: float, random: np.random.Generator, draws: int = 200) -> float:
    """The largest `||Xu||_inf / ||u||_q`, q dual to p, over random u and those where Hoelder's is
    an equality.
    """
    if p == 1:
        tight = np.sign(x)
    elif math.isinf(p):
        tight = np.where(
            np.arange(x.shape[1]) == np.abs(x).argmax(axis=1)[:, None], np.sign(x), 0.0
        )
    else:
        tight = np.sign(x) * np.abs(x) ** (p - 1)
    vectors = np.concatenate([random.normal(size=(draws, x.shape[1])), tight])
    return _largest_ratio(vectors, x.T, math.inf, dual(p))


def _largest_ratio(vectors: np.ndarray, matrix: np.ndarray, above: float, below: float) -> float:
    size = np.linalg.norm(vectors, below, axis=1)
    some = size > 0
    return float((np.linalg.norm(vectors[some] @ matrix, above, axis=1) / size[some]).max())


# --- smoothness: in the weights (appendix C), and Lemmas 41 and 42


def smoothness_in_weights(x: np.ndarray, hessian: np.ndarray) -> tuple[float, float]:
    """`||X'HX||_(2 -> 2)` and what is above it, the largest squared l2 norm of a row times
    `||H||_(inf -> 1)`.
    """
    return operator_norm(x.T @ hessian @ x, "l2"), largest_row(x, 2) ** 2 * operator_norm(
        hessian, "sup"
    )


def self_bounding(
    first: float, second: float, smoothness: float, distance: float
) -> tuple[float, float]:
    """Both sides of Lemmas 41 and 42, `(f(s) - f(r))^2` and `6 H (f(s) + f(r)) ||s - r||^2`, of a
    non-negative f.

    first, second : f(s) and f(r); smoothness : H; distance : ||s - r||

    A constant of 1 would do in the place of 6: sqrt(f) has the Lipschitz constant sqrt(H/2), and
    `(sqrt a + sqrt b)^2 <= 2 (a + b)`. It is reached where s and r are close.
    """
    return (first - second) ** 2, 6 * smoothness * (first + second) * distance**2


def smooth_functions(random: np.random.Generator):
    """Non-negative smooth functions of one number, drawn at random, each as `(name, function,
    smoothness constant)`.
    """
    rate = float(random.uniform(0.1, 5))
    return [
        ("square", lambda t: rate * t * t / 2, rate),
        ("1 + cos", lambda t: 1 + math.cos(rate * t), rate**2),
        (
            "logistic",
            lambda t: math.log1p(math.exp(-abs(rate * t))) + max(-rate * t, 0.0),
            rate**2 / 4,
        ),
        ("huber", lambda t: t * t / 2 if abs(t) < rate else rate * (abs(t) - rate / 2), 1.0),
        ("root", lambda t: math.sqrt(1 + (rate * t) ** 2), rate**2),
    ]


# --- ListNet


def softmax_entropy(grades: np.ndarray) -> np.ndarray:
    """The entropy of softmax(y), the least value of ListNet over all scores; grades (..., m),
    entropies (...).

    So L* of ListNet is at least its mean over queries, and its optimistic bounds never have the
    rate 1/n.
    """
    shifted = np.asarray(grades, float)
    shifted = shifted - shifted.max(axis=-1, keepdims=True)
    weights = np.exp(shifted)
    total = weights.sum(axis=-1, keepdims=True)
    return np.log(total[..., 0]) - (weights * shifted).sum(axis=-1) / total[..., 0]
