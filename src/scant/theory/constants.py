"""Lipschitz and smoothness constants of surrogates as functions of the scores (thesis, section 4.3
and appendix C).

In the sup norm of the scores they are `G = sup ||grad||_1` and `H = sup ||Hessian||_(inf -> 1)`, in
the l2 norm `sup ||grad||_2` and `sup ||Hessian||_(2 -> 2)`, over all scores and all grades of m
documents. Norms are called "sup" and "l2". Throughout, `largest` is the largest grade (Ymax;
`math.inf` for label vectors of any size), `score_bound` the largest absolute score U = W R_X, and
sigma the smoothing of SmoothDCG. `scant.theory.suprema` finds the same constants by search.
"""

import math

import numpy as np

SURROGATES = ("listnet", "smoothdcg", "ranksvm", "squared", "kl")
CONVEX = tuple(surrogate for surrogate in SURROGATES if surrogate != "smoothdcg")
NORMS = ("sup", "l2")


def lipschitz(
    surrogate: str,
    m: int,
    largest: float,
    score_bound: float = math.inf,
    sigma: float = 1.0,
    norm: str = "sup",
) -> float:
    """The least Lipschitz constant G of a surrogate, of m documents with grades from 0 to
    `largest`.

    For ListNet and SmoothDCG it holds for all scores, and needs no `score_bound`; RankSVM's is
    reached at equal scores; the constants of squared and KL are infinite unless scores are bounded.
    All are exact.

    - ListNet, sup norm: `2 (1 - 1 / (1 + (m - 1) e^largest))`, approached where softmax(s) goes to
      the document with the least of softmax(y). It tends to 2 as m or `largest` grows, and is 2 for
      labels of any size. In l2 it is the distance of a corner of the simplex from softmax(y),
      sqrt(2) for labels of any size.
    - SmoothDCG, sup norm: `G(largest) / (2 sigma)`, the largest mean absolute deviation of the
      gains: documents of the largest grade have half of the probability, the others have grade 0.
      In l2 it is sqrt(2) times smaller.
    - RankSVM: all pairs' hinges are positive at s = 0, and any gradient is majorised by that one.
      Its l1 norm is `2 r (m - r)` with r relevant documents; its squared l2 norm `(m^3 - sum of
      n^3) / 3` with n documents a grade.
    """
    sup = norm == "sup"
    if surrogate == "listnet":
        return _listnet_sup(m, largest) if sup else _listnet_l2(m, largest)
    if surrogate == "smoothdcg":
        return _gain(largest) / sigma * (0.5 if sup else math.sqrt(0.125)) if m > 1 else 0.0
    if surrogate == "ranksvm":
        if largest < 1:
            return 0.0
        return (
            float(2 * (m * m // 4)) if sup else math.sqrt((m**3 - _grade_counts(m, largest, 3)) / 3)
        )
    entry = {
        "squared": 2 * (score_bound + largest),
        "kl": max(_exp(score_bound) - 1, _exp(largest) - math.exp(-score_bound)),
    }[surrogate]
    return m * entry if sup else math.sqrt(m) * entry


def smoothness(
    surrogate: str,
    m: int,
    largest: float,
    score_bound: float = math.inf,
    sigma: float = 1.0,
    norm: str = "sup",
) -> float:
    """The least smoothness constant H of a surrogate; infinite for RankSVM, whose gradient jumps.

    ListNet's Hessian is the covariance of the documents under p = softmax(s), so that H is the
    largest variance of signs, 1 (in l2 the largest eigenvalue, 1/2). SmoothDCG's is a third central
    moment of gains g and signs u, v, `E[(g - E g)(u - E u)(v - E v)]`: 1/2 of the largest gain with
    four documents or more, `2 / (3 sqrt(3))` of it with two or three, and `1 / (3 sqrt(3))` in l2.
    These three were found by search (m to 6), not proved; all others are exact.
    """
    sup = norm == "sup"
    if surrogate == "listnet":
        return 0.0 if m == 1 else 1.0 if sup else 0.5
    if surrogate == "smoothdcg":
        third = 2 / (3 * math.sqrt(3))
        share_in_sup = third if m < 4 else 0.5
        share = share_in_sup if sup else third / 2
        return share * _gain(largest) / sigma**2 if m > 1 else 0.0
    entry = {"ranksvm": math.inf, "squared": 2.0, "kl": _exp(score_bound)}[surrogate]
    return m * entry if sup else entry


def printed_lipschitz(
    surrogate: str, m: int, largest: float, sigma: float = 1.0, norm: str = "sup"
) -> float:
    """The Lipschitz constant as the thesis prints it, NaN where it prints none (thesis, 4.3.1 to
    4.3.3).

    ListNet 2 (Proposition 1), in l2 "also 2"; SmoothDCG `2 D(1) G(Ymax) / sigma` (Proposition 2),
    in l2 "the same". RankSVM's is printed as O(m^2), without a constant.
    """
    return {"listnet": 2.0, "smoothdcg": 2 * _gain(largest) / sigma}.get(surrogate, math.nan)


def printed_smoothness(surrogate: str, norm: str = "sup") -> float:
    """The smoothness constant as the thesis prints it: ListNet 2 in the sup norm (Proposition 1),
    else NaN.
    """
    return 2.0 if surrogate == "listnet" and norm == "sup" else math.nan


def largest_loss(surrogate: str, m: int, largest: int, score_bound: float) -> float:
    """B: the largest value of a surrogate over all scores of absolute value at most `score_bound`,
    and all grades.

    SmoothDCG counts from its least value, minus the largest gain. Exact, but for RankSVM with more
    than two grades, where it is an upper bound. It grows with m for all but SmoothDCG: for ListNet
    as log m, since equal scores cost log m.
    """
    if surrogate == "listnet":
        # documents with score U and grade 0; the others have score -U and the largest grade
        high = np.arange(m + 1)
        ratio = math.exp(-2 * score_bound)
        log_sum = np.full(m + 1, math.log(m) - 2 * score_bound)  # of e^(s - U); so if no score is U
        log_sum[1:] = np.log(high[1:] + (m - high[1:]) * ratio)
        on_low = (m - high) / (m - high + high * math.exp(-largest))
        return float(np.max(log_sum + 2 * score_bound * on_low))
    if surrogate == "smoothdcg":
        return _gain(largest)
    if surrogate == "ranksvm":
        if largest < 1:
            return 0.0
        return (m * m - _grade_counts(m, largest, 2)) / 2 + 2 * score_bound * (m * m // 4)
    if surrogate == "squared":
        return m * (score_bound + largest) ** 2
    corners = [(s, y) for s in (-score_bound, score_bound) for y in (0, largest)]
    return m * max(_exp(y) * (y - s - 1) + _exp(s) for s, y in corners)


def _listnet_sup(m: int, largest: float) -> float:
    return 2 * (1 - 1 / (1 + (m - 1) * _exp(largest)))


def _listnet_l2(m: int, largest: float) -> float:
    """The largest l2 distance of a corner of the simplex from softmax(y), over grades of m
    documents.

    The corner belongs to a document of grade 0; `top` of the others have the largest grade, and the
    rest have grade 0. In units of e^largest, with `low` for e^-largest, the softmax's denominator
    is `total`, and the squared distance has its maximum at total = 2 m low / (1 - low) if `top` may
    be any number.
    """
    low = math.exp(-largest)
    if m == 1 or low == 1:
        return math.sqrt(1 - 1 / m)
    wanted = (2 * m * low / (1 - low) - m * low) / (1 - low)
    squares = []
    for top in {min(max(near, 1), m - 1) for near in (math.floor(wanted), math.ceil(wanted))}:
        total = m * low + top * (1 - low)
        squares.append(1 + (1 - low) / total - m * low / total**2)
    return math.sqrt(max(squares))


def _grade_counts(m: int, largest: float, power: int) -> int:
    """The sum over grades of n^power, where n of the m documents have the grade, evenly split."""
    grades = m if math.isinf(largest) else min(m, int(largest) + 1)
    each, more = divmod(m, grades)
    return more * (each + 1) ** power + (grades - more) * each**power


def _gain(grade: float) -> float:
    return 2.0**grade - 1


def _exp(x: float) -> float:
    """exp(x), or infinity if it would overflow."""
    return math.exp(x) if x < 700 else math.inf
