"""Queries that a learner never visits, and how well it ranks them: what the field calls offline
performance.

Who remembers the queries that return gains nothing here.
"""

import numpy as np

from scant.data.stream import CUT, Stream
from scant.declare.runs import spaced_rounds
from scant.rankers.judges import part_of
from scant.rankers.learners import MEASURES, Contextual
from scant.rankers.play import Play, play, tables_of

PER_DECADE = 2  # rounds after which it is measured, in each power of ten


def milestones(rounds: int) -> np.ndarray:
    """The rounds after which learners are measured, int64."""
    return spaced_rounds(rounds, PER_DECADE)


def set_aside(
    stream: Stream, eligible: np.ndarray, how_many: list[float], random: np.random.Generator
) -> list[np.ndarray]:
    """Disjoint sets of queries, drawn from the eligible ones, to be kept out of all rounds. All
    copies of a query, with the same id, are in one set.

    how_many : for each set, how many different queries, or which share of them, see `part_of`
    """
    first = np.sort(np.unique(stream.query[eligible], return_index=True)[1])
    drawn, parts = random.permutation(eligible[first]), []
    for number in how_many:
        size = part_of(number, len(first))
        copies = np.isin(stream.query[eligible], stream.query[drawn[:size]])
        parts.append(np.r_[drawn[:size], np.setdiff1d(eligible[copies], drawn[:size])])
        drawn = drawn[size:]
    return parts


def never_visited(stream: Stream, queries: np.ndarray, eligible: np.ndarray) -> np.ndarray:
    """The queries of `eligible` that are not visited in any round, nor any copy with the same id.

    queries : the query of each round; as all queries here, an index in the stream
    """
    visited = np.isin(stream.query, stream.query[np.unique(queries)])
    return eligible[~visited[eligible]]


def ndcg(
    stream: Stream, queries: np.ndarray, learner: Contextual, played: Play, empty: str
) -> np.ndarray:
    """The mean NDCG@10, over `queries`, of the learner's own ranking without exploration, after
    each of the `milestones` of its rounds: float64.

    A learner that does not rank by its weights is measured after the last round alone, with NaN
    before; a class of one's own by what its `rank` returns then.

    queries : never visited, one at least
    played : a run that did not fail
    """
    values = np.full(len(milestones(len(played.loss))), np.nan)
    value = 1.0 if empty == "one" else 0.0
    if learner.by_weights:
        from scant.kernels import pieces, unvisited

        of_queries = pieces.Rounds(
            stream.features, stream.offsets, stream.grades, stream.relevant, queries
        )
        ideals, tables = stream.ideal_dcg_at_cut, tables_of(stream)
        last = learner.weights[: stream.features.shape[1]]
        for n, weights in enumerate([*played.weights_kept[:-1], last]):
            values[n] = unvisited.mean_ndcg(of_queries, ideals, CUT, value, tables, weights)
        return values
    if not learner.learns:  # a control, whose compiled loop is quicker
        values[-1] = sum(play(stream, queries, learner, empty).ranker) / len(queries)
        return values
    total = 0.0
    for features, grades in map(stream.__getitem__, queries):
        given = (features, grades) if learner.sees_grades else (features,)
        total += MEASURES["ndcg@10"](learner.rank(*given), grades, value)
    values[-1] = total / len(queries)
    return values
