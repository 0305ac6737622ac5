"""Constants of surrogates by search, without their closed forms: the suprema that
`scant.theory.constants` states.

`scant.surrogates` has the gradients. The results are lower bounds of the suprema, up to rounding,
attained at scores of absolute value at most `score_bound`.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product

import numpy as np

from scant import surrogates
from scant.measures import GAINS
from scant.randomness import generator

STARTS = 2  # random ones, of each ascent
SEARCHED = 5  # documents whose scores are searched for a Hessian; further ones have the least score
ENUMERATED = 10  # documents up to which all signs are tried


def gradient(surrogate: str, scores, grades, sigma: float = 1.0) -> np.ndarray:
    """The gradient (m) of a surrogate in the scores.

    Arrays are not checked, since searches call this too often.
    """
    function = getattr(surrogates, surrogate).__wrapped__
    return (
        function(scores, grades, sigma)[1]
        if surrogate == "smoothdcg"
        else function(scores, grades)[1]
    )


def hessian(surrogate: str, scores, grades, sigma: float = 1.0) -> np.ndarray:
    """The second derivative (m, m) of a surrogate in the scores, "listnet", "smoothdcg", "squared"
    or "kl".
    """
    weights, chosen = _curvature(surrogate, scores, grades, sigma)
    cross = np.outer(weights, chosen)
    # sum_i a_i (e_i - p)(e_i - p)', multiplied out
    return np.diag(weights) - cross - cross.T + weights.sum() * np.outer(chosen, chosen)


def _curvature(surrogate: str, scores, grades, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights a and p (m each) with which the second derivative is `sum_i a_i (e_i - p)(e_i -
    p)'`.
    """
    scores = np.asarray(scores, float)
    if surrogate in ("squared", "kl"):
        return np.full(len(scores), 2.0) if surrogate == "squared" else np.exp(scores), np.zeros(
            len(scores)
        )
    chosen = np.exp((scores - scores.max()) / (1.0 if surrogate == "listnet" else sigma))
    chosen /= chosen.sum()
    if surrogate == "listnet":
        return chosen, chosen
    gains = GAINS[grades]
    return -chosen * (gains - chosen @ gains) / sigma**2, chosen


def _times(surrogate: str, scores, grades, sigma: float, vector: np.ndarray) -> np.ndarray:
    """The second derivative times a vector, without the matrix."""
    weights, chosen = _curvature(surrogate, scores, grades, sigma)
    apart = vector - chosen @ vector
    return weights * apart - chosen * (weights @ apart)


def largest_gradient(
    surrogate: str,
    m: int,
    top_grade: int,
    score_bound: float,
    sigma: float = 1.0,
    norm: str = "sup",
):
    """The largest l1 norm (`norm` "sup") or l2 norm ("l2") of the gradient that was found, a float.

    Norms are convex in labels or gains, so grades are 0 or `top_grade`; for RankSVM also any number
    of even levels, at equal scores. Scores are found by ascent from several starts. The Hessian
    gives the gradient of the norm.
    """
    order = 1 if norm == "sup" else 2
    if surrogate == "ranksvm":
        return max(
            float(np.linalg.norm(gradient(surrogate, np.zeros(m), grades), order))
            for grades in _levels(m, top_grade)
        )

    def size_and_slope(scores, grades):
        slope = gradient(surrogate, scores, grades, sigma)
        size = np.linalg.norm(slope, order)
        direction = np.sign(slope) if order == 1 else slope / max(size, 1e-300)
        return size, _times(surrogate, scores, grades, sigma, direction)

    return max(
        _ascend(partial(size_and_slope, grades=grades), start, score_bound)
        for grades in _two_level_grades(m, top_grade)
        for start in _starts(m, score_bound, sigma)
    )


def largest_hessian(
    surrogate: str,
    m: int,
    top_grade: int,
    score_bound: float,
    sigma: float = 1.0,
    norm: str = "sup",
):
    """The largest norm of the Hessian that was found, inf -> 1 (`norm` "sup") or 2 -> 2 ("l2"), a
    float.

    The scores of the first `SEARCHED` documents are searched, the others are -`score_bound`. For
    "kl" and "squared" all are `score_bound`, since their Hessians are diagonal and do not fall in
    any score.
    """
    if surrogate in ("squared", "kl"):
        return operator_norm(hessian(surrogate, np.full(m, score_bound), np.zeros(m, int)), norm)
    searched = min(m, SEARCHED)
    scores, grades = _steepest(surrogate, searched, top_grade, score_bound, sigma, norm)
    scores = np.pad(scores, (0, m - searched), constant_values=-score_bound)
    return operator_norm(hessian(surrogate, scores, np.pad(grades, (0, m - searched)), sigma), norm)


@cache
def _steepest(surrogate: str, m: int, top_grade: int, score_bound: float, sigma: float, norm: str):
    """Scores in [0, `score_bound`], and grades (m each), where Nelder & Mead's search finds the
    largest norm of the Hessian.
    """
    from scipy.optimize import minimize

    # SmoothDCG's is 0 where all grades are equal, as the first and the last ones are; the others
    # depend on no grade
    all_grades = (
        _two_level_grades(m, top_grade)[1:-1] if surrogate == "smoothdcg" else [np.zeros(m, int)]
    )
    searches = []
    for grades in all_grades:
        for start in _starts(m, min(score_bound, 3.0 * sigma), sigma):
            search = minimize(
                lambda scores, grades=grades: (
                    -operator_norm(hessian(surrogate, scores, grades, sigma), norm)
                ),
                start - start.min(),
                method="Nelder-Mead",
                bounds=[(0.0, score_bound)] * m,
                options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 300},
            )
            searches.append((search.fun, search.x, grades))
    _, scores, grades = min(searches, key=lambda one: one[0])
    return scores, grades


def _ascend(function: Callable, scores: np.ndarray, score_bound: float, steps: int = 150) -> float:
    """The largest value that gradient ascent from `scores` finds within the bound.

    A step is twice as long as the last if that raised the value; else half as long, from the same
    point.

    function : takes scores; returns a value and its gradient
    """
    # libraries' optimisers call LAPACK for every step, in a thread for each processor
    value, slope = function(scores)
    length = 1.0
    for _ in range(steps):
        steepest = np.abs(slope).max()
        if steepest == 0 or length < 1e-9:
            break
        tried = np.clip(scores + length * slope / steepest, -score_bound, score_bound)
        reached, next_slope = function(tried)
        if reached > value:
            scores, value, slope, length = tried, reached, next_slope, 2 * length
        else:
            length /= 2
    return float(value)


def operator_norm(matrix: np.ndarray, norm: str) -> float:
    """`||M||_(inf -> 1)` ("sup") or `||M||_(2 -> 2)` ("l2") of a symmetric matrix.

    The former is the largest `sum_ij u_i M_ij v_j` of signs u, v: over all signs v up to 10
    documents; beyond that a lower bound, by taking turns in u and v from several starts.
    """
    size = np.abs(matrix).sum(axis=1)
    some = size > 1e-7 * size.max()  # without documents that have a probability of about 0
    if not some.any():
        return 0.0
    matrix = matrix[np.ix_(some, some)]
    if norm == "l2":
        return float(np.abs(np.linalg.eigvalsh(matrix)).max())
    m = len(matrix)
    if m <= ENUMERATED:
        signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=m - 1)])
        return float(np.abs(signs @ matrix).sum(axis=1).max())
    signs = generator(0, "signs").choice([-1.0, 1.0], (16, m))
    for _ in range(20):
        signs = np.where(signs @ matrix >= 0, 1.0, -1.0)
    return float(np.abs(signs @ matrix).sum(axis=1).max())


def _two_level_grades(m: int, top_grade: int) -> list[np.ndarray]:
    """Grades of which the first r are `top_grade` and the others 0, for a few r, from 0 to m."""
    counts = sorted({0, 1, 2, m // 2, m - 1, m} & set(range(m + 1)))
    return [np.where(np.arange(m) < r, top_grade, 0) for r in counts]


def _levels(m: int, top_grade: int) -> Iterator[np.ndarray]:
    """Grades of m documents: 0 and 1 with each possible number of 1s; then grades on 2 to
    `top_grade` + 1 levels, with as many documents on each.
    """
    yield from (np.where(np.arange(m) < r, 1, 0) for r in range(m))
    yield from (np.arange(m) * levels // m for levels in range(2, top_grade + 2))


def _starts(m: int, score_bound: float, sigma: float) -> Iterator[np.ndarray]:
    """Scores to start from: random ones within the score bound, then with the last document on top,
    then with the first and the last.
    """
    random = generator(0, "suprema", m)
    yield from (
        np.clip(random.normal(0, sigma, m), -score_bound, score_bound) for _ in range(STARTS)
    )
    for above in ([-1], [0, -1]):
        start = np.full(m, -score_bound / 2)
        start[above] = score_bound / 2
        yield start
