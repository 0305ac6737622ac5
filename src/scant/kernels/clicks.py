"""The loop over rounds of learners from clicks, which are in plain Python in `scant.online.click_learners`."""

import math
from collections import namedtuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import (
    exponentials_below,
    longest,
    measure_ranking,
    ndcg,
    prefetch,
    score,
    step,
)
from scant.kernels.sorting import sort_scores, sorter

EXPLORED, MISMATCHED = 0, 1
PDGD, DBGD, CLICKED, IPS = range(4)  # in the order of scant.online.click_learners.LEARNERS
Learner = namedtuple("Learner", "kind shown click stop delta above swaps chances shifts rate")


@compiled()
def browse(ranking, labels, click, stop, random, clicked):
    """The user's clicks on the first documents of the ranking, into `clicked`: int8, as long as what is shown."""
    clicked[:] = 0
    for place in range(clicked.shape[0]):
        grade = labels[ranking[place]]
        if random.random() < click[place, grade]:
            clicked[place] = 1
            if random.random() < stop[grade]:
                return


@compiled()
def preference_gradient(scores, ranking, clicked, odds, left, bits, g):
    """PDGD's gradient in the scores, into `g`; returns whether the clicks show a preference at all.

    P(R) and P(R*) differ in the denominators from the pair's first place, excluded, to its second: with the two
    exchanged the first document is left there in place of the second.

    odds, g : float64 as long as the scores; bits : the same of int64; left : float64, as long as `clicked`
    """
    m, places, last = scores.shape[0], clicked.shape[0], -1
    for place in range(places):
        if clicked[place]:
            last = place
    observed, prefers = min(last + 2, places), False
    if last < 0:
        return False
    largest = scores[0]
    for i in range(m):
        largest = max(largest, scores[i])
    exponentials_below(scores, np.float64(largest), odds, bits)
    total = 0.0
    for place in range(m - 1, -1, -1):  # from below, so that the smallest are not lost
        total += odds[ranking[place]]
        if place < places:
            left[place] = total
    g[:] = 0.0
    for above in range(last + 1):
        if not clicked[above]:
            continue
        for below in range(observed):
            if clicked[below]:
                continue
            k, j = ranking[above], ranking[below]
            first, second = min(above, below), max(above, below)
            moved = odds[ranking[first]] - odds[ranking[second]]
            likelier = 1.0  # P(R) / P(R*)
            for place in range(first + 1, second + 1):
                likelier *= max(left[place] + moved, 0.0) / left[place]
            both = odds[k] + odds[j]
            weight = (odds[k] / both) * (odds[j] / both) / (1.0 + likelier)
            g[k] += weight
            g[j] -= weight
            prefers = True
    return prefers


@compiled()
def clicked_gradient(scores, ranking, clicked, above, g):
    """The gradient of the logistic loss of clicked documents against others that were observed, into `g`.

    Observed are all above the last click and, unless `above`, the first one below it. With `above` a clicked document
    is compared only with documents above it. Returns whether there is a pair at all.
    """
    places, last, prefers = clicked.shape[0], -1, False
    g[:] = 0.0
    for place in range(places):
        if clicked[place]:
            last = place
    for first in range(last + 1):
        if not clicked[first]:
            continue
        for second in range(first if above else min(last + 2, places)):
            if not clicked[second]:
                k, j = ranking[first], ranking[second]
                slope = 1.0 / (1.0 + math.exp(np.float64(scores[k]) - np.float64(scores[j])))
                g[k] -= slope
                g[j] += slope
                prefers = True
    return prefers


@compiled()
def weighted_gradient(scores, ranking, clicked, chances, shifts, g):
    """The gradient of the logistic loss of each document shown against all others, into `g`.

    A document counts (clicked - shift) / chance, by its place. Returns whether there is a pair at all.
    """
    places, clicked_any = clicked.shape[0], False
    g[:] = 0.0
    for first in range(places):
        count = (clicked[first] - shifts[first]) / chances[first]
        if count == 0.0:
            continue
        for second in range(places):
            if second != first:
                k, j = ranking[first], ranking[second]
                slope = count / (1.0 + math.exp(np.float64(scores[k]) - np.float64(scores[j])))
                g[k] -= slope
                g[j] += slope
                clicked_any = True
    return clicked_any


@compiled()
def team_draft(current, candidate, random, picked, ranking, teams):
    """Interleave two rankings into `ranking`; `teams[place]` is 1 where the candidate picked.

    picked : int8 (m), scratch
    """
    m, ahead, next_current, next_candidate = current.shape[0], 0, 0, 0
    picked[:] = 0
    for place in range(m):
        if ahead < 0 or (ahead == 0 and random.random() < 0.5):
            while picked[candidate[next_candidate]]:
                next_candidate += 1
            ranking[place], teams[place] = candidate[next_candidate], 1
            ahead += 1
        else:
            while picked[current[next_current]]:
                next_current += 1
            ranking[place], teams[place] = current[next_current], 0
            ahead -= 1
        picked[ranking[place]] = 1


@compiled()
def play(rounds, tables, learner, recorded, random, weights, ranker, events, updated):
    """Play a learner from clicks.

    Parameters
    ----------
    rounds, tables, recorded : `Rounds`, `Tables` and `Measured` of `scant.kernels.pieces`
    learner : a `Learner`, with these fields
    kind : one of the constants above
    length : how many documents the user is shown
    click : float64 (shown, grades), the probability of a click by a user who comes to a place
    stop : float64 (grades), that of leaving after it
    delta : how far DBGD's candidate is from the weights
    above : see `clicked_gradient`
    swaps : the share of rounds in which `IPS` swaps two documents, from whose clicks it estimates `chances`
    chances, shifts : float64 (shown), see `weighted_gradient`; `chances` are written to
    rate : the size of each step; of `CLICKED` and `IPS` at round t, rate / sqrt(t)
    weights : float64 (features), where to start; where it ends after the call
    ranker : float64 (rounds), NDCG@10 of the ranking by the weights
    events : int32 (rounds, 4): whether it explores, whether the documents shown were not the weights' own, 0 and 0
    updated : uint8 (rounds)

    Returns
    -------
    The number of rounds played: fewer than asked if a score was not finite in the round that follows.
    """
    features, offsets, grades, relevant, queries = rounds
    gains, discounts, _ = tables
    measures, ideals, empty, measured = recorded
    kind, length, click, stop, delta, above, swaps, chances, shifts, rate = learner
    largest = longest(offsets)
    scores, drawn, g = np.empty(largest, np.float32), np.empty(largest, np.float32), np.empty(largest, np.float64)
    order, other, by_score = np.empty(largest, np.uint32), np.empty(largest, np.uint32), sorter(scores)
    mixed, teams, inside = np.empty(largest, np.uint32), np.empty(largest, np.int8), np.empty(largest, np.int8)
    bits, odds = np.empty(largest, np.int64), np.empty(largest, np.float64)
    ranked, clicked, left = np.empty(largest, np.int16), np.empty(length, np.int8), np.empty(length, np.float64)
    d, flat, flat_ideals = features.shape[1], features.reshape(features.size), ideals.reshape(ideals.size)
    unit, candidate = np.empty(d, np.float64), np.empty(d, np.float64)
    clicks_on_first, clicks_on_other = np.ones(length), np.ones(length)

    for t in range(queries.shape[0]):
        q = queries[t]
        start, stop_at = offsets[q], offsets[q + 1]
        m = stop_at - start
        x, label, s, o, s_other, o_other = (
            features[start:stop_at],
            grades[start:stop_at],
            scores[:m],
            order[:m],
            drawn[:m],
            other[:m],
        )
        after = queries[min(t + 1, queries.shape[0] - 1)]  # it is fetched meanwhile
        prefetch(flat_ideals, after * measures.shape[0])
        if not score(x, weights, s, flat[offsets[after] * d : offsets[after + 1] * d]):
            return t
        sort_scores(s, o, by_score)
        ranking, places, swapped = o, min(length, m), 0
        if kind == DBGD:
            square = 0.0
            for j in range(d):
                unit[j] = random.standard_normal()
                square += unit[j] * unit[j]
            for j in range(d):
                unit[j] /= math.sqrt(square)
                candidate[j] = weights[j] + delta * unit[j]
            if not score(x, candidate, s_other, flat[:0]):
                return t
            sort_scores(s_other, o_other, by_score)
            ranking = mixed[:m]
            team_draft(o, o_other, random, inside[:m], ranking, teams)
        elif kind == PDGD:
            ranking = o_other
            for i in range(m):
                s_other[i] = s[i] - np.log(-np.log1p(-random.random()))
            sort_scores(s_other, o_other, by_score)
        elif swaps > 0.0 and random.random() < swaps and places > 1:
            swapped, ranking = 1 + int(random.random() * (places - 1)), o_other
            ranking[:] = o
            if random.random() < 0.5:
                ranking[0], ranking[swapped] = o[swapped], o[0]

        inside[:m] = 0
        for place in range(places):
            inside[o[place]] = 1
        events[t, EXPLORED] = kind in (PDGD, DBGD) or swapped > 0
        for place in range(places):
            if not inside[ranking[place]]:
                events[t, MISMATCHED] = 1
        measure_ranking(
            ranking, label, ranked[:m], relevant[q], ideals[q], empty, measures, gains, discounts, measured[t]
        )  # fmt: skip
        ranker[t] = ndcg(o, label, measures[0, 1], ideals[q, 0], gains, discounts) if relevant[q] > 0 else empty

        browse(ranking, label, click, stop, random, clicked[:places])
        if swapped > 0:
            clicks_on_first[swapped] += clicked[0]
            clicks_on_other[swapped] += clicked[swapped]
            chances[swapped] = clicks_on_other[swapped] / clicks_on_first[swapped]
        if kind == DBGD:
            lead = 0
            for place in range(places):
                if clicked[place]:
                    lead += 1 if teams[place] else -1
            if lead > 0:
                for j in range(d):
                    weights[j] += rate * unit[j]
                updated[t] = 1
        elif kind == CLICKED:
            if clicked_gradient(s, ranking, clicked[:places], above, g[:m]):
                step(x, g[:m], rate / math.sqrt(t + 1.0), weights, flat[:0])
                updated[t] = 1
        elif kind == IPS:
            if weighted_gradient(s, ranking, clicked[:places], chances, shifts, g[:m]):
                step(x, g[:m], rate / math.sqrt(t + 1.0), weights, flat[:0])
                updated[t] = 1
        elif preference_gradient(s, ranking, clicked[:places], odds[:m], left, bits[:m], g[:m]):
            step(x, g[:m], -rate, weights, flat[:0])
            updated[t] = 1
    return queries.shape[0]
