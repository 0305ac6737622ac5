"""How well weights rank queries that no learner has visited."""

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import longest, ndcg, score
from scant.kernels.sorting import sort_scores, sorter


@compiled()
def mean_ndcg(rounds, ideals, cut, empty, tables, weights):
    """NDCG@cut of the rankings by weights, averaged over queries.

    rounds, tables : `Rounds` and `Tables` of `scant.kernels.pieces`; they name the queries to rank
    ideals : float64 (queries of the stream), the largest DCG@cut of each
    empty : the NDCG of a query without a relevant document
    weights : float64 (features)

    Returns
    -------
    The mean; NaN if a score is not finite.
    """
    features, offsets, grades, relevant, queries = rounds
    largest, total = longest(offsets), 0.0
    all_scores, order = np.empty(largest, np.float32), np.empty(largest, np.uint32)
    by_score, nothing = sorter(all_scores), features.reshape(features.size)[:0]
    for q in queries:
        start, end = offsets[q], offsets[q + 1]
        scores, own = all_scores[: end - start], order[: end - start]
        if not score(features[start:end], weights, scores, nothing):
            return np.nan
        if relevant[q] == 0:
            total += empty
            continue
        sort_scores(scores, own, by_score)
        total += ndcg(own, grades[start:end], cut, ideals[q], tables.gains, tables.discounts)
    return total / queries.shape[0]
