"""The loop over rounds of RTop-kF, the contextual learner that sees the grades of its top k
(thesis, Algorithm 5).
"""

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import (
    EXP_CLIP,
    centre,
    keep,
    kl,
    listnet,
    longest,
    measure_both,
    prefetch,
    project,
    ranksvm,
    score,
    softmax,
    squared,
    step,
)
from scant.kernels.sorting import sort_scores, sorter
from scant.kernels.steps import KEPT, ROWS, SQUARES, Past, move

SQUARED, KL, SMOOTHDCG, RANKSVM, LISTNET, NDCG_SQUARED, LOGISTIC = range(7)
EXPLORED, MISMATCHED, CLIPPED, IDLE = range(4)
Learner = namedtuple(
    "Learner",
    "objective judge top gamma gamma_decay slot mismatch ordered floor control rate decay steps "
    "radius epsilon epsilon_decay ascend centre",
)


class Feedback(NamedTuple):
    """What a round shows, and what is seen of it.

    scores : float32 (m), of the last weights; order : the documents in the learner's own ranking
    shown : the documents as shown, of which the first k are seen; explored : whether by exploring
    inside : int8, at least m, whether each document is in the top k of `order`; looked at only if
        `explored`
    labels : int16 (m), the grades, of which only those of the first k shown are looked at
    """

    scores: np.ndarray
    order: np.ndarray
    shown: np.ndarray
    explored: bool
    inside: np.ndarray
    k: int
    labels: np.ndarray


class Scratch(NamedTuple):
    """Scratch arrays, made once: to slice them in each round would take a twentieth of its time.

    floats, bits : float64 and int64, at least as long as the scores; counts : float64 (2, labels)
    seen : of the labels' type, at least as long as the scores
    """

    floats: np.ndarray
    bits: np.ndarray
    counts: np.ndarray
    seen: np.ndarray


@compiled()
def surrogate(
    objective, scores, order, labels, ideal, epsilon, gains, exponentials, scratch, bits, counts, g
):
    """The surrogate's value under full feedback, and how many exponents were clipped; its gradient
    goes into `g`.

    order : the documents by descending score; ideal : the query's ideal DCG
    g : float64 (m), written to
    Scratch: scratch float64 (m), bits int64 (m), counts float64 (2, labels)
    """
    if objective == RANKSVM:
        return ranksvm(scores, order, labels, counts[0], counts[1], g), 0
    return smooth_surrogate(
        objective, scores, labels, ideal, epsilon, gains, exponentials, scratch, bits, counts[0], g
    )


@compiled()
def smooth_surrogate(
    objective, scores, labels, ideal, epsilon, gains, exponentials, scratch, bits, goals, g
):
    """`surrogate` for any surrogate but RankSVM."""
    m = scores.shape[0]
    if objective == KL:
        return kl(scores, labels, exponentials, bits, g)
    if objective == LISTNET:
        return listnet(scores, labels, exponentials, bits, goals, g), 0
    if objective == SMOOTHDCG:
        over = softmax(scores, epsilon, scratch, bits, g)
        expected = 0.0
        for i in range(m):
            expected += g[i] * gains[labels[i]]
        for i in range(m):
            g[i] *= (expected - gains[labels[i]]) / epsilon
        return -expected, over
    for i in range(m):
        if objective == SQUARED:
            scratch[i] = labels[i]
        else:
            scratch[i] = gains[labels[i]] / ideal if ideal > 0 else 0.0
    return squared(scores, scratch, g), 0


@compiled()
def divisor(learner, place, k, by_own, gamma, chance):
    """What a term of the estimate is divided by: the probability that a document, or a pair, is
    seen; at least `learner.floor`.

    by_own : whether the document, or the pair, would be seen without exploration
    chance : the probability with which exploration shows it, gamma included
    place : the document's place, or the place of the pair's lower document
    """
    if learner.slot and place < k - 1:
        return 1.0
    return max(1 - gamma + chance if by_own else chance * learner.mismatch, learner.floor)


@compiled()
def estimate(learner, feedback, gamma, epsilon, tables, scratch, g):
    """The estimate of the surrogate's gradient from the grades of the first k documents shown, into
    `g`.

    Horvitz-Thompson: each document or pair seen is divided by the probability with which it is
    shown on top, or by `learner.floor` if that is larger. The probability is (1-gamma) 1[in the top
    k of `order`] + gamma k/m; for pairs the second term is gamma k(k-1)/(m(m-1)). If only place k
    explores (`learner.slot`), the first k - 1 of `order` are seen for certain, and the second term
    is gamma/(m-k+1), of a pair as of its other document. With a floor of 1 this is the gradient of
    the loss of the documents seen.

    learner : a `Learner`, whose objective, slot, mismatch, ordered, floor and control count
    feedback, scratch : a `Feedback` and a `Scratch`
    gamma, epsilon : the probability of exploring, and SmoothDCG's smoothing

    Returns
    -------
    How many exponents were clipped (or, for SmoothDCG, would overflow without a shift), and whether
    the estimate is 0 because there are too few documents.
    """
    scores, order, shown, explored, inside, k, labels = feedback
    gains, _, exponentials = tables
    objective, m = learner.objective, scores.shape[0]
    floats, bits, counts, seen = (
        scratch.floats[:m],
        scratch.bits[:m],
        scratch.counts,
        scratch.seen[:m],
    )
    clipped, chance = 0, gamma / (m - k + 1) if learner.slot else gamma * k / m
    if objective in (RANKSVM, LOGISTIC):
        g[:] = 0.0
        if m < 2:
            return 0, True
        if not learner.slot:
            chance = gamma * k * (k - 1) / (m * (m - 1))
        if learner.ordered:
            chance /= 2
        # what is shown is `order`
        if objective == RANKSVM and not learner.slot and not explored:
            ranksvm(scores, order[:k], labels, counts[0], counts[1], g)
            for p in range(k):
                g[order[p]] /= divisor(learner, p, k, True, gamma, chance)
            return 0, False
        for p in range(k):
            for q in range(p + 1, k):
                i, j = shown[p], shown[q]
                if labels[i] == labels[j]:
                    continue
                both = not explored or (
                    inside[i] and inside[j] and not (learner.ordered and i != order[0])
                )
                slope = 1 / divisor(learner, q, k, both, gamma, chance)
                if labels[i] < labels[j]:
                    i, j = j, i
                behind = np.float64(scores[j]) - np.float64(scores[i])
                if objective == LOGISTIC:
                    slope /= 1.0 + math.exp(-behind)
                elif 1.0 + behind <= 0:
                    continue
                g[i] -= slope
                g[j] += slope
        return 0, False
    if objective == LISTNET:
        for p in range(k):
            floats[p], seen[p] = scores[shown[p]], labels[shown[p]]
        listnet(floats[:k], seen[:k], exponentials, bits[:k], counts[0], g[:k])
        for p in range(k):
            floats[p] = g[p]
        g[:] = 0.0
        for p in range(k):
            g[shown[p]] = floats[p]
        return 0, False
    if objective == SQUARED and not learner.control:
        for i in range(m):
            g[i] = 2.0 * np.float64(scores[i])
    elif objective in (SQUARED, KL):
        g[:] = 0.0
    else:
        clipped = softmax(scores, epsilon, floats, bits, g)
        total = 0.0
        for p in range(k):
            i = shown[p]
            weight = 1 / divisor(learner, p, k, not explored or inside[i], gamma, chance)
            floats[p] = gains[labels[i]] * weight * g[i]
            total += floats[p]
        for i in range(m):
            g[i] *= total / epsilon
        for p in range(k):
            g[shown[p]] -= floats[p] / epsilon
        return clipped, False
    for p in range(k):
        i = shown[p]
        weight = 1 / divisor(learner, p, k, not explored or inside[i], gamma, chance)
        if objective == SQUARED:
            g[i] -= 2.0 * (labels[i] - np.float64(scores[i]) * learner.control) * weight
        else:
            s = np.float64(scores[i])
            clipped += s > EXP_CLIP
            g[i] = (np.exp(min(s, EXP_CLIP)) - 1.0 / exponentials[labels[i]]) * weight
    return clipped, False


@compiled()
def play(
    rounds,
    ideal,
    tables,
    learner,
    recorded,
    random,
    weights,
    ranker,
    loss,
    events,
    updated,
    watched,
):
    """Play RTop-kF, or with full feedback online gradient descent.

    Parameters
    ----------
    rounds, tables, recorded : `Rounds`, `Tables` and `Measured` of `scant.kernels.pieces`
    ideal : float64 (queries), their ideal DCG
    learner : a `Learner`, with these fields
    objective, judge : the surrogate to descend on, and the one whose loss is recorded; constants
        above
    top : k; 0 if every grade is seen and nothing explored
    gamma, gamma_decay : round t explores with probability gamma * t^-gamma_decay
    slot : whether a round that explores shows its own ranking but for place k, where any document
        from k on may be
    mismatch : a factor on the probability of what is not in the weights' own top k
    ordered : divide a pair by the probability of its two documents in their order (k = 2 only;
        released code)
    floor : no probability that the estimate divides by counts as less; 1 for no weights
    control : whether the squared surrogate's estimate has the learner's own scores as its control
        variate
    rate, decay : the step at round t is rate * t^-decay
    steps : `steps.SCHEDULE`, or another way to take steps, without rate and decay
    radius : of the ball that the weights are kept in
    epsilon, epsilon_decay : SmoothDCG's smoothing at round t is epsilon * t^-epsilon_decay
    ascend : step along the gradient in place of against it (SmoothDCG's sign as the papers print
        it)
    centre : whether features are centred in each query: scores and gradients are, which comes to
        the same
    weights : float64 (features), where to start; where it ends after the call
    ranker : float64 (rounds), NDCG@10 of the ranking by the weights, shown or not
    loss : float64 (rounds), the judging surrogate of the scores shown; with a slot, of the
        learner's own
    events : int32 (rounds, 4): whether the round explored, whether the top k shown were not the
        weights' own, how many exponents were clipped, whether the query had too few documents to
        learn from
    updated : uint8 (rounds)
    watched : float64 (rounds, 2), sums up to each round: of the squared norms of the gradients in
        the weights (of their estimates, if k > 0), and of the probabilities of exploring. Of no
        rows if steps follow a schedule

    Returns
    -------
    The number of rounds played: fewer than asked if a score was not finite in the round that
    follows.
    """
    features, offsets, grades, relevant, queries = rounds
    gains, discounts, exponentials = tables
    measures, ideals, empty, measured, _, _ = recorded
    filled = 0  # rows of weights kept
    largest = longest(offsets)
    scores, drawn, g = (
        np.empty(largest, np.float32),
        np.empty(largest, np.float32),
        np.empty(largest, np.float64),
    )
    order, other, by_score = (
        np.empty(largest, np.uint32),
        np.empty(largest, np.uint32),
        sorter(scores),
    )
    bits, scratch, counts = (
        np.empty(largest, np.int64),
        np.empty(largest, np.float64),
        np.empty((2, gains.shape[0]), np.float64),
    )
    ranked, inside = np.empty(largest, np.int16), np.empty(largest, np.int8)
    arrays = Scratch(scratch, bits, counts, ranked)
    d, flat, flat_ideals = (
        features.shape[1],
        features.reshape(features.size),
        ideals.reshape(ideals.size),
    )
    past, chances = Past(np.zeros(KEPT), np.zeros((ROWS, d)), np.empty(d)), 0.0

    for t in range(queries.shape[0]):
        filled = keep(recorded, filled, t, weights)
        q = queries[t]
        start, stop = offsets[q], offsets[q + 1]
        m = stop - start
        x, label, s, own = features[start:stop], grades[start:stop], scores[:m], order[:m]
        # The next query is fetched meanwhile: most of it in the scores, since the step is short
        # where few documents take part.
        after = queries[min(t + 1, queries.shape[0] - 1)]
        begin, end = offsets[after] * d, offsets[after + 1] * d
        middle = begin + (end - begin) * 3 // 4
        prefetch(flat_ideals, after * measures.shape[0])
        if not score(x, weights, s, flat[begin:middle]):
            return t
        sort_scores(s, own, by_score)
        if learner.centre:
            centre(s)

        k = m if learner.top == 0 else min(learner.top, m)
        chance = learner.gamma * (t + 1.0) ** -learner.gamma_decay
        smoothing = learner.epsilon * (t + 1.0) ** -learner.epsilon_decay
        explored = learner.top > 0 and random.random() < chance
        s_shown, shown = s, own
        if explored:
            shown = other[:m]
            if learner.slot:
                place = k - 1 + int(random.random() * (m - k + 1))
                shown[: k - 1], shown[k - 1] = own[: k - 1], own[place]
                shown[k : place + 1], shown[place + 1 :] = own[k - 1 : place], own[place + 1 :]
            else:
                s_shown = drawn[:m]
                for i in range(m):
                    s_shown[i] = random.random()
                sort_scores(s_shown, shown, by_score)
            inside[:m] = 0
            for p in range(k):
                inside[own[p]] = 1
            for p in range(k):
                if not inside[shown[p]]:
                    events[t, MISMATCHED] = 1
        events[t, EXPLORED] = explored
        ranker[t] = measure_both(
            shown,
            own,
            explored,
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
        loss[t], clipped = surrogate(
            learner.judge,
            s_shown,
            own if learner.slot else shown,
            label,
            ideal[q],
            smoothing,
            gains,
            exponentials,
            scratch[:m],
            bits[:m],
            counts,
            g[:m],
        )

        size, idle = learner.rate * (t + 1.0) ** -learner.decay, False
        if learner.top > 0:
            feedback = Feedback(s, own, shown, explored, inside, k, label)
            clipped, idle = estimate(learner, feedback, chance, smoothing, tables, arrays, g[:m])
        elif learner.judge != learner.objective:
            _, clipped = surrogate(
                learner.objective,
                s,
                own,
                label,
                ideal[q],
                smoothing,
                gains,
                exponentials,
                scratch[:m],
                bits[:m],
                counts,
                g[:m],
            )
        if learner.top == 0 and learner.objective == RANKSVM:
            idle = m < 2
        events[t, CLIPPED], events[t, IDLE] = clipped, idle
        if not idle:
            if learner.centre:
                centre(g[:m])
            if watched.shape[0] == 0:
                step(x, g[:m], -size if learner.ascend else size, weights, flat[middle:end])
            else:
                sign = -1.0 if learner.ascend else 1.0
                move(
                    x,
                    g[:m],
                    sign,
                    flat[middle:end],
                    learner.steps,
                    learner.radius,
                    weights,
                    past,
                )
            project(weights, learner.radius)
            updated[t] = 1
        if watched.shape[0]:
            chances += chance
            watched[t, 0], watched[t, 1] = past.sums[SQUARES], chances
    return queries.shape[0]
