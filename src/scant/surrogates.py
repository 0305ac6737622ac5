"""Surrogates: losses of the scores that a learner can descend on, each with a (sub)gradient.

A surrogate takes one query's `scores` (finite, shape (m,)) and `grades` (shape (m,), whole numbers
from 0, as in `scant.measures`) and returns `(value, gradient)`: a float and float64 of shape (m,).
All are to be minimised, and all are convex in the scores but `smoothdcg`. Where one has no
derivative the gradient is a subgradient; a hinge of exactly 0 contributes none. Where a maximum is
attained twice, the document with the smaller index is taken. Bad input raises a `ValueError` that
says where.
"""

from functools import wraps
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from scant.measures import GAINS, as_cutoff, as_grades, as_scores, discount

# kl takes the exponential only up to here: exp(300) is about 2e130, so that its square, sums of it
# and its quotients by small probabilities all stay finite.
EXP_CLIP = 300.0
Surrogate = TypeVar("Surrogate")


class Evaluation(NamedTuple):
    """A sum, or a mean, of a surrogate over queries at some weights w; see
    `scant.kernels.batch.total`.

    smooth : the value with smoothed hinges, for RankSVM
    support : support + <gradient, v - w> is nowhere above the value, at any weights v
    gradient : of the smoothed value, shape (d,)
    """

    value: float
    smooth: float
    support: float
    gradient: np.ndarray


def _query(scores, grades):
    scores = as_scores(scores)
    return scores, as_grades(grades, len(scores))


def _of_query(surrogate: Surrogate) -> Surrogate:
    """The surrogate, with scores and grades checked; its `__wrapped__` takes arrays unchecked. The
    `__wrapped__` of `squared`, `kl` and `ranksvm` takes several queries at once, (..., m).
    """

    @wraps(surrogate)
    def checked(scores, grades, *more, **named):
        value, gradient = surrogate(*_query(scores, grades), *more, **named)
        return float(value), gradient

    return checked


def slam_weights(
    kind: str, scores: ArrayLike, grades: ArrayLike, k: int | None = None
) -> np.ndarray:
    """The weights that make `slam` an upper bound of a measure's loss.

    Documents are ordered by grade, then by score, both descending, then by index. "ap": `1/r` on
    each of the r relevant documents (perceptron paper, Eq. 10). "ndcg": `G(R_i) D(i) / Z` for the
    i-th in that order (Eq. 11), with k only for i <= k and `Z_k` (Eq. 24). With them and margin 1,
    `slam >= 1 - measure` (Theorem 4; Theorem 8's proof for NDCG@k), given a relevant document.

    Parameters
    ----------
    kind : "ap" or "ndcg"
    scores, grades : shape (m,)
    k : cut-off >= 1 of "ndcg", None for the whole list; "ap" has none

    Returns
    -------
    weights : float64 of shape (m,), non-negative; their sum is 1, or 0 if no document is relevant
    """
    scores, grades = _query(scores, grades)
    weights = np.zeros(len(scores))
    if kind == "ap":
        if k is not None:
            raise ValueError(
                f"average precision has no cut-off: k must be None for kind 'ap', got {k!r}"
            )
        weights[grades > 0] = 1.0
    elif kind == "ndcg":
        top = np.lexsort((-scores, -grades))[: as_cutoff(k, len(scores))]  # stable: ties by index
        weights[top] = GAINS[grades[top]] * discount(np.arange(1, len(top) + 1))
    else:
        raise ValueError(f"unknown kind of SLAM weights {kind!r}: 'ap' or 'ndcg'")
    total = weights.sum()
    return weights / total if total > 0 else weights


def average_within_grade(weights, grades):
    """For each document, the mean weight of its grade (code released with the perceptron paper).

    Parameters
    ----------
    weights : finite numbers of shape (m,)
    grades : shape (m,)

    Returns
    -------
    weights : float64 of shape (m,), with the same sum
    """
    weights = as_scores(weights, "weights")
    grades = as_grades(grades, len(weights))
    return (np.bincount(grades, weights) / np.maximum(np.bincount(grades), 1))[grades]


@_of_query
def slam(
    scores: ArrayLike, grades: ArrayLike, weights: ArrayLike, margin: float | str = 1.0
) -> tuple[float, np.ndarray]:
    """Weighted hinge of each document against the best-scored document of lower grade.

    `sum_i v_i max(0, max_{j: R_j < R_i} (margin + s_j - s_i))` (perceptron paper, Eq. 9). For each
    i with a positive hinge, attained at j, the gradient has `+v_i` at j and `-v_i` at i (Eq. 13).
    Among equal scores j is the document with the smallest index. O(m log m).

    Parameters
    ----------
    scores, grades : shape (m,)
    weights : v, non-negative, shape (m,); see `slam_weights`
    margin : a number >= 0, or "grade-gap" for `R_i - R_j` inside the maximum, as in the released
        code

    Returns
    -------
    value : float in [0, inf)
    gradient : float64 of shape (m,); its entries sum to 0
    """
    weights = as_scores(weights, "weights")
    if len(weights) != len(scores) or weights.min() < 0:
        raise ValueError("weights must be non-negative, one for each document")
    if margin == "grade-gap":
        scores, margin = scores - grades, 0.0  # R_i - R_j + s_j - s_i = (s_j - R_j) - (s_i - R_i)
    worst, rival = _worst_gaps(scores, grades)
    hinge = np.maximum(0.0, _margin(margin) + worst)
    active = hinge > 0
    gradient = np.where(active, -weights, 0.0)
    np.add.at(gradient, rival[active], weights[active])
    return weights @ hinge, gradient


@_of_query
def max_hinge(scores, grades, margin=1.0):
    """The worst hinge of any pair, `max_{R_i > R_j} max(0, margin + s_j - s_i)` (perceptron paper,
    Eq. 27).

    The gradient has +1 at j and -1 at i of the pair that attains it (Eq. 29). Among several, i is
    the document with the smallest index, and j the best-scored document of lower grade, equal
    scores by index. The pair is chosen by `s_j - s_i`, before the margin is added, so that scores
    scaled by a power of two choose the same pair bit for bit: the perceptron on this surrogate then
    does not depend on its rate. O(m log m).

    Parameters
    ----------
    scores, grades : shape (m,)
    margin : a number >= 0

    Returns
    -------
    value : float in [0, inf), 0 if all grades are equal
    gradient : float64 of shape (m,), two entries or none
    """
    worst, rival = _worst_gaps(scores, grades)
    gradient = np.zeros(len(scores))
    i = int(np.argmax(worst))
    value = max(0.0, _margin(margin) + worst[i])
    if value > 0:
        gradient[rival[i]] += 1.0
        gradient[i] -= 1.0
    return value, gradient


@_of_query
def ranksvm(scores, grades):
    """The sum of all pairs' hinges, `sum_{R_i > R_j} max(0, 1 + s_j - s_i)` (thesis 3.3.3.1).

    The gradient sums `e_j - e_i` over the pairs with a positive hinge. Needs m x m numbers.

    Returns
    -------
    value : float in [0, inf)
    gradient : float64 of shape (m,), whole numbers that sum to 0
    """
    hinge = np.maximum(0.0, 1.0 + (scores[..., None, :] - scores[..., None]))
    hinge[grades[..., None] <= grades[..., None, :]] = 0.0
    active = hinge > 0
    gradient = active.sum(axis=-2) - active.sum(axis=-1)
    return hinge.sum(axis=(-2, -1)), gradient.astype(np.float64)


@_of_query
def logistic(scores, grades):
    """The sum over pairs with `R_i > R_j` of `log(1 + exp(s_j - s_i))`, RankNet's loss (Burges et
    al. 2005).

    A pair adds `(e_j - e_i) / (1 + exp(s_i - s_j))` to the gradient.

    Returns
    -------
    value : float in [0, inf)
    gradient : float64 of shape (m,), entries that sum to 0
    """
    better = grades[:, None] > grades[None, :]
    behind = np.where(better, scores[None, :] - scores[:, None], -np.inf)
    slope = np.exp(-np.logaddexp(0.0, -behind))
    return np.logaddexp(0.0, behind).sum(), slope.sum(axis=0) - slope.sum(axis=1)


def _worst_gaps(scores, grades):
    """For each document i, the greatest `s_j - s_i` over documents j of lower grade, and that j.

    The gap is -inf, and j is -1, where no grade is lower. Among equal scores j has the smallest
    index.
    """
    by_score = np.argsort(-scores, kind="stable")
    place = np.empty_like(by_score)  # of each document by score, 0 for the highest
    place[by_score] = np.arange(len(scores))
    by_grade = np.argsort(grades, kind="stable")
    # the document of the highest score among the first one, two, ... from the lowest grade up
    best_so_far = by_score[np.minimum.accumulate(place[by_grade])]
    # how many documents have a lower grade: the first ones
    lower = np.searchsorted(grades[by_grade], grades)
    rival = np.where(lower > 0, best_so_far[lower - 1], -1)
    return np.where(lower > 0, scores[rival] - scores, -np.inf), rival


@_of_query
def squared(scores, grades):
    """`||s - R||^2`, gradient `2 (s - R)` (thesis 3.3.3.1).

    Returns
    -------
    value : float in [0, inf)
    gradient : float64 of shape (m,)
    """
    return _squared_distance(scores, grades)


@_of_query
def ndcg_squared(scores, grades):
    """`||s - G(R)/Z(R)||^2`, gradient `2 (s - G(R)/Z(R))`; calibrated for NDCG (thesis, after
    Theorem 31).

    `Z` is the ideal DCG of the whole list; without a relevant document the target is 0.

    Returns
    -------
    value : float in [0, inf)
    gradient : float64 of shape (m,)
    """
    gains = GAINS[grades]
    ideal = np.sum(np.sort(gains)[::-1] * discount(np.arange(1, len(gains) + 1)))
    return _squared_distance(scores, gains / ideal if ideal > 0 else gains)


@_of_query
def listnet(scores, grades):
    """The cross entropy of softmax(R) and softmax(s) (ListNet's top-one form, thesis 3.3.3.1).

    The gradient is `softmax(s) - softmax(R)`. Both are shifted by their maximum, so that nothing
    overflows.

    Returns
    -------
    value : float in [0, inf), least at the entropy of softmax(R)
    gradient : float64 of shape (m,), entries in [-1, 1] that sum to 0
    """
    target, chosen = _softmax(grades.astype(np.float64)), _softmax(scores)
    shifted = scores - scores.max()
    # not log(chosen), which can underflow to log(0)
    log_chosen = shifted - np.log(np.sum(np.exp(shifted)))
    return -(target @ log_chosen), chosen - target


@_of_query
def kl(scores, grades):
    """Unnormalised Kullback-Leibler divergence, `sum e^R (R - s) - e^R + e^s`, gradient `e^s -
    e^R`.

    Thesis 3.3.3.1. A maximum cannot be shifted out of it, so beyond `EXP_CLIP` the exponential goes
    on along its tangent: the surrogate remains convex and finite, and its gradient is `e^min(s,
    EXP_CLIP) - e^R`.

    Returns
    -------
    value : float in [0, inf), 0 at s = R, up to rounding
    gradient : float64 of shape (m,)
    """
    clipped = np.minimum(scores, EXP_CLIP)
    exp_s, exp_r = np.exp(clipped), np.exp(grades)
    tangent = exp_s * (scores - clipped)  # 0 unless clipped
    return np.sum(exp_r * (grades - scores) - exp_r + exp_s + tangent, axis=-1), exp_s - exp_r


@_of_query
def smoothdcg(scores, grades, epsilon):
    """Minus the smoothed DCG@1, `-sum_i G(R_i) softmax(s / epsilon)_i` (thesis 3.3.3.2). Not
    convex.

    The papers print the gain, without the minus. Here, as everywhere in this module, the value is
    to be minimised, so that descent on it raises the gain. With p the softmax, the gradient is
    `-p_i (G(R_i) - sum_j p_j G(R_j)) / epsilon`.

    Parameters
    ----------
    scores, grades : shape (m,)
    epsilon : smoothing > 0; the value goes to minus the gain of the top document as it goes to 0

    Returns
    -------
    value : float in [-max G(R), 0]
    gradient : float64 of shape (m,); its entries sum to 0
    """
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be a number above 0; got {epsilon!r}")
    chosen, gains = _softmax(scores, epsilon), GAINS[grades]
    expected = chosen @ gains
    return -expected, -chosen * (gains - expected) / epsilon


def _squared_distance(scores, target):
    difference = scores - target
    return np.sum(difference**2, axis=-1), 2.0 * difference


def _softmax(values, temperature=1.0):
    shifted = np.exp((values - values.max()) / temperature)
    return shifted / shifted.sum()


def _margin(margin):
    if isinstance(margin, str) or not (np.isfinite(margin) and margin >= 0):
        raise ValueError(
            f"margin must be a number of at least 0 (or 'grade-gap' in slam); got {margin!r}"
        )
    return float(margin)
