"""The loop over rounds of Newton steps on the cross entropy between gains and scores.

The readable counterpart, which tests hold it to, is `scant.rankers.newton`.
"""

import math

import numpy as np

from scant.kernels import compiled
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
def add_curvature(inverse, x, mean, odds, apart, product):
    """Take a document into the matrix: add odds (x - mean) (x - mean)' to the inverse of `inverse`.

    By the formula of Sherman and Morrison. apart, product : float64 (features), scratch
    """
    d, root = x.shape[0], math.sqrt(odds)
    for j in range(d):
        apart[j] = root * (x[j] - mean[j])
    square = 0.0
    for j in range(d):
        total, row = 0.0, inverse[j]
        for l in range(d):  # noqa: E741
            total += row[l] * apart[l]
        product[j] = total
        square += apart[j] * total
    shrink = 1 / (1 + square)
    for j in range(d):
        row, factor = inverse[j], shrink * product[j]
        for l in range(d):  # noqa: E741
            row[l] -= factor * product[l]


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
    by_score, inverse = sorter(all_scores), np.eye(d) / penalty
    mean, slope, apart, product = np.empty(d), np.empty(d), np.empty(d), np.empty(d)

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
            add_curvature(inverse, x[i], mean, odds[i], apart, product)
        for j in range(d):
            step = 0.0
            for l in range(d):  # noqa: E741
                step += inverse[j, l] * slope[l]
            weights[j] -= step
        updated[t] = 1
    return queries.shape[0]
