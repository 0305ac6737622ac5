"""The loop over rounds of learners from clicks, which are in plain Python in
`scant.rankers.click_learners`.
"""

import math
from collections import namedtuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import (
    exponentials_below,
    keep,
    longest,
    measure_both,
    prefetch,
    score,
    step,
)
from scant.kernels.sorting import sort_scores, sorter

EXPLORED, MISMATCHED = 0, 1
PDGD, DBGD, CLICKED, IPS = range(4)  # in the order of scant.rankers.click_learners.LEARNERS
Learner = namedtuple("Learner", "kind shown click stop delta above swaps chances shifts rate")


@compiled()
def browse(ranking, labels, click, stop, random, clicked):
    """Draw the user's clicks on the first documents of the ranking, into `clicked`: int8, as many
    as documents are shown.

    click, stop : the user's probabilities, see `play`
    """
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

    R is the ranking, and R* the ranking with a pair exchanged. P(R) and P(R*) differ only in the
    denominators of the places below the pair's first, down to its second: there R* still has to
    place the pair's first document, where R has to place its second.

    g : float64 (m), the gradient, written to
    Scratch: odds float64 (m), bits int64 (m), left float64 (as long as `clicked`)
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
    """Write the gradient of the logistic loss of clicked documents against observed, unclicked ones
    into `g`.

    The user has observed all documents above the last click and, unless `above` is set, the first
    one below it. With `above` a clicked document is compared only with documents above it. Returns
    whether there is any pair.
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
    """Write the gradient of the logistic loss of each document shown against all others into `g`.

    Returns whether there is any pair. A document weighs clicked / chance - shift, with the chance
    and shift of its place. Both sides of a pair are taken together: with equal scores and weights
    nothing is left, not even by rounding.
    """
    places, learns = clicked.shape[0], False
    g[:] = 0.0
    for first in range(places):
        count = clicked[first] / chances[first] - shifts[first]
        for second in range(first):
            other = clicked[second] / chances[second] - shifts[second]
            if count == 0.0 and other == 0.0:
                continue
            k, j = ranking[first], ranking[second]
            difference = np.float64(scores[k]) - np.float64(scores[j])
            slope = count / (1.0 + math.exp(difference)) - other / (1.0 + math.exp(-difference))
            g[k] -= slope
            g[j] += slope
            learns = True
    return learns


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
def draw_candidate(weights, delta, random, unit, candidate):
    """Write DBGD's candidate into `candidate`: the weights plus `delta` times a random unit vector,
    which `unit` takes.
    """
    square = 0.0
    for j in range(weights.shape[0]):
        unit[j] = random.standard_normal()
        square += unit[j] * unit[j]
    for j in range(weights.shape[0]):
        unit[j] /= math.sqrt(square)
        candidate[j] = weights[j] + delta * unit[j]


@compiled()
def perturb(scores, random, perturbed):
    """Write scores with Gumbel noise into `perturbed`: to sort by them is to draw documents by
    softmax, one after another.
    """
    for i in range(scores.shape[0]):
        perturbed[i] = scores[i] - np.log(-np.log1p(-random.random()))


@compiled()
def maybe_swapped(own, visible, random, ranking):
    """Write `own` into `ranking`, with a chance of 1/2 after a swap of its first document and
    another visible one.

    Returns the place of the other document, which is drawn even if there is no swap.

    own : the learner's own ranking
    visible : how many documents the user may see
    """
    place = 1 + int(random.random() * (visible - 1))
    ranking[:] = own
    if random.random() < 0.5:
        ranking[0], ranking[place] = own[place], own[0]
    return place


@compiled(inline="always")  # a call would take 4 % of a round
def differs(ranking, own, visible, inside):
    """Whether the visible documents of a ranking are another set than the visible documents of
    `own`.

    inside : int8, one for each document, scratch
    visible : how many documents the user may see
    """
    inside[:] = 0
    for place in range(visible):
        inside[own[place]] = 1
    outside = 0
    for place in range(visible):
        outside += not inside[ranking[place]]
    return outside > 0


@compiled()
def lead(clicked, teams):
    """The number of clicks on the candidate's documents, less the number on the other ranker's.

    teams : by place, 1 where the candidate picked the document
    """
    ahead = 0
    for place in range(clicked.shape[0]):
        if clicked[place]:
            ahead += 1 if teams[place] else -1
    return ahead


@compiled()
def play(rounds, tables, learner, recorded, random, weights, ranker, events, updated):
    """Play a learner from clicks.

    Parameters
    ----------
    rounds, tables, recorded : `Rounds`, `Tables` and `Measured` of `scant.kernels.pieces`
    learner : a `Learner`, with these fields
    kind : one of the constants above
    shown : how many documents the user is shown at most
    click : float64 (shown, grades), the probability of a click by a user who comes to a place
    stop : float64 (grades), the probability of leaving after a click
    delta : how far DBGD's candidate is from the weights
    above : see `clicked_gradient`
    swaps : the share of rounds in which `IPS` swaps two documents, to estimate `chances` from their
        clicks
    chances, shifts : float64 (shown), see `weighted_gradient`; `chances` are written to
    rate : the size of each step; of `CLICKED` and `IPS` at round t, rate / sqrt(t)
    weights : float64 (features), where to start; where it ends after the call
    ranker : float64 (rounds), NDCG@10 of the ranking by the weights
    events : int32 (rounds, 4): whether it explores, whether the documents shown were not the
        weights' own, 0 and 0
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
    kind, shown, click, stop, delta, above, swaps, chances, shifts, rate = learner
    largest, d = longest(offsets), features.shape[1]
    flat, flat_ideals = features.reshape(features.size), ideals.reshape(ideals.size)
    nothing = flat[:0]
    # The learner's own scores and ranking; others, by what it draws; and DBGD's mixture of both.
    all_scores, all_drawn = np.empty(largest, np.float32), np.empty(largest, np.float32)
    all_own, all_other = np.empty(largest, np.uint32), np.empty(largest, np.uint32)
    all_mixed, teams = np.empty(largest, np.uint32), np.empty(largest, np.int8)
    by_score = sorter(all_scores)
    unit, candidate = np.empty(d, np.float64), np.empty(d, np.float64)
    # Of the list shown: the grades in its order, and the clicks on it.
    ranked, all_clicked = np.empty(largest, np.int16), np.empty(shown, np.int8)
    clicks_on_first, clicks_on_other = np.ones(shown), np.ones(shown)
    # The gradient in the scores, and scratch.
    all_g, odds, bits = (
        np.empty(largest, np.float64),
        np.empty(largest, np.float64),
        np.empty(largest, np.int64),
    )
    left, marks = np.empty(shown, np.float64), np.empty(largest, np.int8)

    for t in range(queries.shape[0]):
        filled = keep(recorded, filled, t, weights)
        q = queries[t]
        start, end = offsets[q], offsets[q + 1]
        m = end - start
        visible = min(shown, m)
        x, label, scores, drawn = (
            features[start:end],
            grades[start:end],
            all_scores[:m],
            all_drawn[:m],
        )
        own, other, clicked, g = all_own[:m], all_other[:m], all_clicked[:visible], all_g[:m]
        after = queries[min(t + 1, queries.shape[0] - 1)]  # it is fetched meanwhile
        prefetch(flat_ideals, after * measures.shape[0])
        if not score(x, weights, scores, flat[offsets[after] * d : offsets[after + 1] * d]):
            return t
        sort_scores(scores, own, by_score)

        # The list to show.
        ranking, swapped = own, 0
        if kind == DBGD:
            draw_candidate(weights, delta, random, unit, candidate)
            if not score(x, candidate, drawn, nothing):
                return t
            sort_scores(drawn, other, by_score)
            ranking = all_mixed[:m]
            team_draft(own, other, random, marks[:m], ranking, teams)
        elif kind == PDGD:
            perturb(scores, random, drawn)
            sort_scores(drawn, other, by_score)
            ranking = other
        elif swaps > 0.0 and random.random() < swaps and visible > 1:
            swapped = maybe_swapped(own, visible, random, other)
            ranking = other

        # What is recorded of it.
        events[t, EXPLORED] = kind in (PDGD, DBGD) or swapped > 0
        events[t, MISMATCHED] = differs(ranking, own, visible, marks[:m])
        ranker[t] = measure_both(
            ranking,
            own,
            True,
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

        # What is learned from the clicks on it.
        browse(ranking, label, click, stop, random, clicked)
        if swapped > 0:
            clicks_on_first[swapped] += clicked[0]
            clicks_on_other[swapped] += clicked[swapped]
            chances[swapped] = clicks_on_other[swapped] / clicks_on_first[swapped]
        if kind == DBGD:
            if lead(clicked, teams) > 0:
                for j in range(d):
                    weights[j] += rate * unit[j]
                updated[t] = 1
        elif kind == PDGD:
            if preference_gradient(scores, ranking, clicked, odds[:m], left, bits[:m], g):
                step(x, g, -rate, weights, nothing)
                updated[t] = 1
        else:
            if kind == CLICKED:
                learns = clicked_gradient(scores, ranking, clicked, above, g)
            else:
                learns = weighted_gradient(scores, ranking, clicked, chances, shifts, g)
            if learns:
                step(x, g, rate / math.sqrt(t + 1.0), weights, nothing)
                updated[t] = 1
    return queries.shape[0]
