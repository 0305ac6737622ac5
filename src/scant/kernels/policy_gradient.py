"""The loop over rounds of the policy gradient on the grade of place 1.

The readable counterpart, which tests hold it to, is `scant.rankers.policy_gradient`.
"""

import math

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import keep, longest, measure_both, prefetch, score, step
from scant.kernels.sorting import sort_scores, sorter

EXPLORED, MISMATCHED = 0, 1


@compiled()
def draw_first(scores, order, random, chances):
    """The place of a document drawn by the softmax of the scores; its probabilities go into
    `chances`.

    order : the documents by descending score; chances : float64 (m)
    """
    m, total = scores.shape[0], 0.0
    largest = np.float64(scores[order[0]])
    for i in range(m):
        chances[i] = math.exp(np.float64(scores[i]) - largest)
        total += chances[i]
    for i in range(m):
        chances[i] /= total
    left = random.random()
    for place in range(m):
        left -= chances[order[place]]
        if left < 0:
            return place
    return 0  # what rounding leaves of the sum


@compiled()
def play(rounds, tables, rate, recorded, random, weights, ranker, events, updated):
    """Play the policy gradient on the grade of place 1.

    Parameters
    ----------
    rounds, tables, recorded : `Rounds`, `Tables` and `Measured` of `scant.kernels.pieces`
    rate : the step at round t is rate / sqrt(t)
    weights : float64 (features), where to start; where it ends after the call
    ranker : float64 (rounds), NDCG@10 of the ranking by the weights
    events : int32 (rounds, 4): 1, whether place 1 had another document than by the weights, 0 and 0
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
    all_scores, all_g = np.empty(largest, np.float32), np.empty(largest)
    all_own, all_shown = np.empty(largest, np.uint32), np.empty(largest, np.uint32)
    by_score, ranked, seen = sorter(all_scores), np.empty(largest, np.int16), 0.0

    for t in range(queries.shape[0]):
        filled = keep(recorded, filled, t, weights)
        q = queries[t]
        start, end = offsets[q], offsets[q + 1]
        m = end - start
        x, label, scores, g = features[start:end], grades[start:end], all_scores[:m], all_g[:m]
        own, shown = all_own[:m], all_shown[:m]
        after = queries[min(t + 1, queries.shape[0] - 1)]  # it is fetched meanwhile
        prefetch(flat_ideals, after * measures.shape[0])
        if not score(x, weights, scores, flat[offsets[after] * d : offsets[after + 1] * d]):
            return t
        sort_scores(scores, own, by_score)
        place = draw_first(scores, own, random, g)
        shown[0], shown[1 : place + 1], shown[place + 1 :] = (
            own[place],
            own[:place],
            own[place + 1 :],
        )
        events[t, EXPLORED], events[t, MISMATCHED] = 1, place > 0
        ranker[t] = measure_both(
            shown,
            own,
            place > 0,
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

        grade = label[shown[0]]
        ahead = grade - (seen / t if t > 0 else 0.0)
        seen += grade
        for i in range(m):
            g[i] *= ahead
        g[shown[0]] -= ahead
        step(x, g, rate / math.sqrt(t + 1.0), weights, flat[:0])
        updated[t] = 1
    return queries.shape[0]
