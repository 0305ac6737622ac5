"""The most that a learner could lose on a simulated stream, which says whether a bound could have
been exceeded.

Streams are drawn again, as `scant.data.simulated.simulate` draws them, since claims are judged
without their files.
"""

import json
from collections.abc import Iterator
from functools import cache

import numpy as np

from scant.data import simulated
from scant.data.stream import CUT, LARGEST_GRADE, discounts, gains, ideal_dcg, random_name, scale
from scant.randomness import generator
from scant.surrogates import kl, ranksvm, squared

# Without checks, since what is drawn is valid; of many queries at once.
SURROGATES = {"squared": squared.__wrapped__, "kl": kl.__wrapped__, "ranksvm": ranksvm.__wrapped__}
ASCENTS = 20  # steps of an ascent to the worst weights; most end after five


def worst_losses(
    drawn: dict, seed: int, measure: str, empty: str, rounds: np.ndarray
) -> np.ndarray:
    """The largest loss in `measure`, summed over the first t rounds, for each t of `rounds`
    (float64): every query is ranked worst.

    Of a pass that is not whole, the queries that can lose most count.

    drawn : how the stream is drawn, see `scant.rankers.family.Contextual.details`
    empty : the reading of queries without a relevant document
    rounds : int64
    """
    losses = _by_query(*_draw(drawn, seed), measure, empty)
    if not len(losses):  # all queries are skipped
        return np.zeros(len(rounds))
    passes, rest = np.divmod(rounds, len(losses))
    return passes * losses.sum() + np.r_[0.0, np.cumsum(losses)][rest]


@cache
def _by_query(drawn: str, seed: int, measure: str, empty: str) -> np.ndarray:
    """The loss of the worst ranking of each query that is played, in descending order."""
    grades = _grades(drawn, seed)
    some = grades.any(axis=1)
    losses = 1 - _worst(grades[some], measure)
    if empty != "skip":
        losses = np.r_[losses, np.full((~some).sum(), float(empty == "zero"))]
    return -np.sort(-losses)


def _worst(grades: np.ndarray, measure: str) -> np.ndarray:
    """The measure of each query's worst ranking, by ascending grade.

    grades : (queries, m), each row with a relevant document
    """
    ascending = np.sort(grades, axis=1)
    if measure == "ap":
        relevant = ascending > 0
        precision = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
        return (precision * relevant).sum(axis=1) / relevant.sum(axis=1)
    cut = CUT if measure == f"ndcg@{CUT}" else None
    lowest = (gains(LARGEST_GRADE)[ascending] * discounts(grades.shape[1]))[:, :cut].sum(axis=1)
    return lowest / ideal_dcg(grades, cut)


@cache
def _grades(drawn: str, seed: int) -> np.ndarray:
    """The grades of all queries (queries x m), which have equally many documents."""
    return np.array([grades for grades, _ in _queries(drawn, seed)])


def worst_surrogate(drawn: dict, seed: int, surrogate: str, radius: float) -> float:
    """The mean over queries of a convex surrogate's value at the worst weights of the ball ||w|| <=
    radius.

    A convex function is largest on the sphere. Each step of an ascent goes to the sphere's point in
    the gradient's direction: the value at its end is attained, but may be below the largest.

    drawn : how the stream is drawn, see `scant.rankers.family.Contextual.details`
    """
    return _ascended(*_draw(drawn, seed), surrogate, radius)


@cache
def _ascended(drawn: str, seed: int, surrogate: str, radius: float) -> float:
    value = SURROGATES[surrogate]
    grades, features = map(np.array, zip(*_queries(drawn, seed), strict=True))
    starts = (_turned(value(np.zeros(grades.shape), grades)[1], features), features.sum(axis=1))
    most = np.full(len(grades), -np.inf)
    # both ways, since an ascent ends at a maximum near its start
    for directions in (*starts, *(-start for start in starts)):
        best, rising = np.full(len(grades), -np.inf), np.arange(len(grades))
        for _ in range(ASCENTS):
            # 0 where gradients cancel
            norms = np.maximum(np.linalg.norm(directions, axis=1), 1e-300)[:, None]
            scores = np.einsum("qmd,qd->qm", features[rising], radius * directions / norms)
            here, slopes = value(scores, grades[rising])
            up = ~(here <= best[rising] * (1 + 1e-9))
            rising = rising[up]
            best[rising], directions = here[up], _turned(slopes[up], features[rising])
        most = np.maximum(most, best)
    return float(np.mean(most))


def _turned(slopes: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Each query's gradient in the weights (queries x d), of `slopes`, those in the scores."""
    return np.einsum("qmd,qm->qd", features, slopes)


def _draw(drawn: dict, seed: int) -> tuple[str, int]:
    """The arguments of `_queries`, which can be cached: `drawn` as JSON, and the draw's seed."""
    return json.dumps(drawn, sort_keys=True), 0 if drawn["settings"]["shared"] else seed


def _queries(drawn: str, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The grades and features of each query of a stream."""
    stream = json.loads(drawn)
    settings = stream["settings"]
    random = generator(stream["study_seed"], "stream", random_name(stream["name"], settings), seed)
    queries, _ = simulated.draw(random, settings)
    scaling = settings.get("features", "as-is")
    return ((grades, scale(x, scaling).astype(float)) for _, grades, x in queries)
