"""The loop over rounds of the learners that see every grade (perceptron paper, Algorithms 1 to 3;
ListNet).
"""

from collections import namedtuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.iterates import LAST, MEAN, gather
from scant.kernels.iterates import ROWS as ITERATES
from scant.kernels.pieces import (
    Slam,
    listnet,
    longest,
    max_hinge,
    measure_ranking,
    prefetch,
    score,
    slam,
    step,
)
from scant.kernels.sorting import sort_scores, sorter
from scant.kernels.steps import KEPT, ROWS, SCHEDULE, Past, move

RANDOM, IDEAL, SLAM, MAX_HINGE, LISTNET, BINARY, HELD_OUT = range(7)
NDCG_AT_CUT, NDCG_WHOLE, AP_WHOLE = range(3)  # columns: the measures that learners may learn
Learner = namedtuple(
    "Learner",
    (
        "kind measure trigger rate decay steps by_loss margin by_grade averaged "
        "learn_on_empty cut iterate"
    ),
)


@compiled()
def _pair_step(features, labels, rate, weights, random):
    """A round of the classification perceptron (Algorithm 1) on the difference of two documents.

    They are drawn uniformly among the pairs of different grades. Returns whether it was mistaken;
    -1 if no pair.
    """
    m = labels.shape[0]
    lowest, highest = labels[0], labels[0]
    for i in range(m):
        lowest, highest = min(lowest, labels[i]), max(highest, labels[i])
    if lowest == highest:
        return -1
    while True:
        i, j = int(random.random() * m), int(random.random() * m)
        if labels[i] > labels[j]:
            break
    total = 0.0
    for k in range(features.shape[1]):
        total += weights[k] * (np.float64(features[i, k]) - np.float64(features[j, k]))
    if total > 0:
        return 0
    for k in range(features.shape[1]):
        weights[k] += rate * (np.float64(features[i, k]) - np.float64(features[j, k]))
    return 1


@compiled()
def _measure_by(
    weights,
    features,
    truth,
    relevant,
    ideals,
    empty,
    measures,
    gains,
    discounts,
    by_score,
    ranked,
    out,
):
    """Measure the ranking by other weights than the last, into `out`; return whether its scores are
    finite.
    """
    m = truth.shape[0]
    scores, order = np.empty(m, np.float32), np.empty(m, np.uint32)
    finite = score(features, weights, scores, features.reshape(features.size)[:0])
    sort_scores(scores, order, by_score)
    measure_ranking(order, truth, ranked, relevant, ideals, empty, measures, gains, discounts, out)
    return finite


@compiled()
def play(rounds, labels, tables, learner, recorded, random, weights, loss, updated):
    """Play one learner over the rounds.

    Parameters
    ----------
    rounds, tables, recorded : `Rounds`, `Tables` and `Measured` of `scant.kernels.pieces`
    labels : what the learner learns from: the grades, or whether they are above 0; of a held-out
        ranker, its scores
    learner : a `Learner`, with these fields
    kind : one of the constants above
    measure : the column of the measure whose loss is the learner's own, one of those above
    trigger : the column of the measure that must be below 1 for an update
    rate, decay, by_loss : the step at round t is rate * t^-decay, times the trigger's loss if
        `by_loss`
    steps : `steps.SCHEDULE`, or another way to take steps, without rate and decay
    margin, by_grade, averaged : see `slam`; cut : of NDCG@cut
    learn_on_empty : whether ListNet learns from queries without a relevant document
    iterate : which weights rank, see `iterates`; the last weights decide whether there is an update
    weights : float64 (features), where to start; where it ends after the call
    loss : float64 (rounds), of the learner's own measure; 0 without a relevant document, since no
        ranking loses less
    updated : uint8 (rounds)

    Returns
    -------
    The number of rounds played: fewer than asked if a score was not finite in the round that
    follows.
    """
    features, offsets, grades, relevant, queries = rounds
    gains, discounts, exponentials = tables
    measures, ideals, empty, measured, _, _ = recorded
    largest = longest(offsets)
    scores, g = np.empty(largest, np.float32), np.empty(largest, np.float64)
    order, by_score = np.empty(largest, np.uint32), sorter(scores)
    bits, scratch = np.empty(largest, np.int64), np.empty((6, gains.shape[0]))
    by_label = np.empty(largest, np.uint32)
    d = features.shape[1]
    ranked = np.empty(largest, np.int16)
    flat, flat_ideals = features.reshape(features.size), ideals.reshape(ideals.size)
    past, kept = Past(np.zeros(KEPT), np.zeros((ROWS, d)), np.empty(d)), np.zeros((ITERATES, d))

    for t in range(queries.shape[0]):
        q = queries[t]
        start, stop = offsets[q], offsets[q + 1]
        m = stop - start
        x, truth, label, s, o = (
            features[start:stop],
            grades[start:stop],
            labels[start:stop],
            scores[:m],
            order[:m],
        )
        # The next query is fetched while this one is at work: most of it in the scores, since the
        # step is short where few documents take part.
        after = queries[min(t + 1, queries.shape[0] - 1)]
        begin, end = offsets[after] * d, offsets[after + 1] * d
        middle = begin + (end - begin) * 3 // 4
        prefetch(flat_ideals, after * measures.shape[0])
        if learner.kind == RANDOM:
            for i in range(m):
                s[i] = random.random()
        elif learner.kind == IDEAL:
            for i in range(m):
                s[i] = truth[i]
        elif learner.kind == HELD_OUT:
            for i in range(m):
                s[i] = label[i]
        else:
            if not score(x, weights, s, flat[begin:middle]):
                return t
        sort_scores(s, o, by_score)

        out = measured[t]
        measure_ranking(
            o, truth, ranked[:m], relevant[q], ideals[q], empty, measures, gains, discounts, out
        )
        reached = out[learner.trigger]
        if learner.iterate != LAST:
            gather(learner.iterate, t, weights, kept)
            if not _measure_by(
                kept[MEAN],
                x,
                truth,
                relevant[q],
                ideals[q],
                empty,
                measures,
                gains,
                discounts,
                by_score,
                ranked[:m],
                out,
            ):
                return t
        loss[t] = 1.0 - out[learner.measure] if relevant[q] > 0 else 0.0
        updated[t] = 0

        size, share = learner.rate * (t + 1.0) ** -learner.decay, 1.0
        if learner.kind == BINARY:
            mistaken = _pair_step(x, label, size, weights, random)
            loss[t] = max(mistaken, 0)
            updated[t] = max(mistaken, 0)
        elif relevant[q] == 0 and not (learner.learn_on_empty and learner.kind == LISTNET):
            continue
        elif learner.kind == LISTNET:
            listnet(s, label, exponentials, bits[:m], scratch[0], g[:m])
            updated[t] = 1
        elif learner.kind in (SLAM, MAX_HINGE) and reached < 1.0:
            if learner.by_loss:
                share = 1.0 - reached
            if learner.kind == SLAM:
                places = (
                    learner.cut if learner.measure == NDCG_AT_CUT and not learner.averaged else m
                )
                uniform = learner.measure == AP_WHOLE
                choice = Slam(places, uniform, learner.margin, learner.by_grade, learner.averaged)
                slam(s, o, label, choice, tables, scratch, by_label[:m], g[:m])
            else:
                max_hinge(s, o, label, scratch, g[:m])
            updated[t] = 1
        if updated[t] and learner.kind != BINARY:
            if learner.steps == SCHEDULE:
                step(x, g[:m], size * share, weights, flat[middle:end])
            else:
                move(x, g[:m], share, flat[middle:end], learner.steps, 1.0, weights, past)
    return queries.shape[0]


@compiled()
def surrogates_along(
    rounds, labels, updated, kind, places, uniform, tables, weights, multiples, sums
):
    """Sums, up to each round, of the learner's surrogate at multiples of `weights` over the rounds
    it updated in.

    These are the sums of f_t(multiple * weights) in the general bounds (perceptron paper, Theorems
    6, 8 and 10).

    Parameters
    ----------
    rounds, tables : `Rounds` and `Tables` of `scant.kernels.pieces`
    labels : what the learner learns from, as in `play`
    updated : (rounds), whether the learner updated
    places, uniform : the SLAM weights, `cut` and `uniform` of `pieces.Slam`
    multiples : float64 (n), powers of two, which multiply scores without rounding, and so leave
        their order
    sums : float64 (n, rounds), any content
    """
    features, offsets, _, _, queries = rounds
    largest = longest(offsets)
    scores, scaled, g = (
        np.empty(largest, np.float32),
        np.empty(largest, np.float32),
        np.empty(largest, np.float64),
    )
    order, by_score = np.empty(largest, np.uint32), sorter(scores)
    scratch, by_label = np.empty((6, tables.gains.shape[0])), np.empty(largest, np.uint32)
    flat, n, totals = (
        features.reshape(features.size),
        multiples.shape[0],
        np.zeros(multiples.shape[0]),
    )
    other = kind != SLAM  # not False, for which Numba would compile `slam` once more
    computed, values = np.zeros(offsets.shape[0] - 1, np.bool_), np.empty((offsets.shape[0] - 1, n))
    for t in range(queries.shape[0]):
        q = queries[t]
        if updated[t] and not computed[q]:  # queries may come again and again
            computed[q] = True
            start, stop = offsets[q], offsets[q + 1]
            m = stop - start
            s, o, label = scaled[:m], order[:m], labels[start:stop]
            score(features[start:stop], weights, scores[:m], flat[:0])
            sort_scores(scores[:m], o, by_score)
            for k in range(n):
                for i in range(m):
                    s[i] = multiples[k] * scores[i]
                if kind == SLAM:
                    choice = Slam(min(places, m), uniform, 1.0, other, other)
                    values[q, k] = slam(s, o, label, choice, tables, scratch, by_label[:m], g[:m])
                else:
                    values[q, k] = max_hinge(s, o, label, scratch, g[:m])
        for k in range(n):
            if updated[t]:
                totals[k] += values[q, k]
            sums[k, t] = totals[k]
