"""The loop over rounds of Newton steps on the cross entropy between gains and scores.

The readable counterpart, which tests hold it to, is `scant.rankers.newton`.
"""

import math

import numpy as np

from scant.kernels import compiled
from scant.kernels.batch import factorise, solve
from scant.kernels.pieces import (
    SUMS,
    keep,
    longest,
    measure_ranking,
    prefetch,
    score,
    softmax,
)
from scant.kernels.sorting import sort_scores, sorter


@compiled(fastmath=SUMS)
def add_curvature(curvature, x, mean, odds, apart):
    """Add odds (x - mean) (x - mean)' to the lower triangle of `curvature`.

    apart : float64 (features), scratch
    """
    root = math.sqrt(odds)
    for j in range(x.shape[0]):
        apart[j] = root * (x[j] - mean[j])
    for j in range(x.shape[0]):
        row, factor = curvature[j], apart[j]
        for l in range(j + 1):  # noqa: E741
            row[l] += factor * apart[l]


@compiled()
def play(rounds, tables, penalty, recorded, random, weights, updated):
    """Play Newton steps on the cross entropy of gains.

    Parameters
    ----------
    rounds, tables, recorded : `Rounds`, `Tables` and `Measured` of `scant.kernels.pieces`
    penalty : lambda, of which times the identity the matrix begins
    random : not used
    weights : float64 (features), where to start; where it ends after the call
    updated : uint8 (rounds)

    Returns
    -------
    The number of rounds played: fewer than asked if a score was not finite in the round that
    follows.
    """
    features, offsets, grades, relevant, queries = rounds
    gains, discounts, _ = tables
    measures, ideals, empty, measured, _, _ = recorded
    filled = 0  # rows of weights kept
    largest, d = longest(offsets), features.shape[1]
    flat, flat_ideals = features.reshape(features.size), ideals.reshape(ideals.size)
    all_scores, all_odds = np.empty(largest, np.float32), np.empty(largest)
    scratch, bits = np.empty(largest), np.empty(largest, np.int64)
    order, ranked = np.empty(largest, np.uint32), np.empty(largest, np.int16)
    by_score, curvature, factor = sorter(all_scores), np.zeros((d, d)), np.empty((d, d))
    mean, slope, apart = np.empty(d), np.empty(d), np.empty(d)

    for t in range(queries.shape[0]):
        filled = keep(recorded, filled, t, weights)
        q = queries[t]
        start, end = offsets[q], offsets[q + 1]
        m = end - start
        x, label, scores, odds = (
            features[start:end],
            grades[start:end],
            all_scores[:m],
            all_odds[:m],
        )
        after = queries[min(t + 1, queries.shape[0] - 1)]  # it is fetched meanwhile
        prefetch(flat_ideals, after * measures.shape[0])
        if not score(x, weights, scores, flat[offsets[after] * d : offsets[after + 1] * d]):
            return t
        sort_scores(scores, order[:m], by_score)
        measure_ranking(
            order[:m],
            label,
            ranked[:m],
            relevant[q],
            ideals[q],
            empty,
            measures,
            gains,
            discounts,
            measured[t],
        )
        if relevant[q] == 0:  # there is no gain to aim at
            continue

        softmax(scores, 1.0, scratch[:m], bits[:m], odds)
        total = 0.0
        for i in range(m):
            total += gains[label[i]]
        mean[:], slope[:] = 0.0, 0.0
        for i in range(m):
            for j in range(d):
                mean[j] += odds[i] * x[i, j]
                slope[j] += (odds[i] - gains[label[i]] / total) * x[i, j]
        for i in range(m):
            add_curvature(curvature, x[i], mean, odds[i], apart)
        factorise(curvature, 0.0, penalty, factor)
        solve(factor, slope)
        for j in range(d):
            weights[j] -= slope[j]
        updated[t] = 1
    return queries.shape[0]
