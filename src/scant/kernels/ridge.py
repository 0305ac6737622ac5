"""The loop over rounds of least squares on the grades seen, with optimism or Thompson sampling.

The readable counterpart, which tests hold it to, is `scant.rankers.ridge`.
"""

import math
from collections import namedtuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.clicks import browse
from scant.kernels.pieces import SUMS, keep, longest, measure_both, prefetch, score
from scant.kernels.sorting import sort_scores, sorter

GREEDY, UCB, THOMPSON = range(3)  # in the order of scant.rankers.ridge.EXPLORE
MISMATCHED = 1
# documents whose widths are computed at once: the inverse is then read once for all of them
BLOCK = 16
# how many times as many rounds pass until the inverse's largest eigenvalue is computed again
RENEWED = 1.5
LOOSE = 1 + 1e-9  # an earlier width bounds a later one but for rounding
Learner = namedtuple("Learner", "explore k penalty alpha within click stop chances shifts")


@compiled(fastmath=SUMS)
def fit_by_inverse(inverse, weights, x, grade, product):
    """Update ridge regression with a document and its grade: `weights` and `inverse` change in
    place. Returns the prediction error of the weights before.

    By the formula of Sherman and Morrison. product : float64 (features + 1), scratch
    """
    n = x.shape[0]
    square, predicted = 0.0, 0.0
    for j in range(n):
        total, row = 0.0, inverse[j]
        for l in range(n):  # noqa: E741
            total += row[l] * x[l]
        product[j] = total
        square += x[j] * total
        predicted += x[j] * weights[j]
    shrink = 1 / (1 + square)
    error = (grade - predicted) * shrink
    for j in range(n):
        weights[j] += error * product[j]
        row, factor = inverse[j], shrink * product[j]
        for l in range(n):  # noqa: E741
            row[l] -= factor * product[l]
    return grade - predicted


@compiled(fastmath=SUMS)
def fit_by_root(root, weights, x, grade, product, turned):
    """`fit_by_inverse` with a square root of the inverse matrix, `root root'`, in its place.

    product, turned : float64 (features + 1), scratch
    """
    n = x.shape[0]
    turned[:] = 0.0
    for j in range(n):
        row, own = root[j], x[j]
        for l in range(n):  # noqa: E741
            turned[l] += row[l] * own
    square, predicted = 0.0, 0.0
    for j in range(n):
        total, row = 0.0, root[j]
        for l in range(n):  # noqa: E741
            total += row[l] * turned[l]
        product[j] = total
        square += turned[j] * turned[j]
        predicted += x[j] * weights[j]
    if square == 0.0:  # a document without features, and no intercept
        return grade
    error = (grade - predicted) / (1 + square)
    shrink = (1 - 1 / math.sqrt(1 + square)) / square
    for j in range(n):
        weights[j] += error * product[j]
        row, factor = root[j], shrink * product[j]
        for l in range(n):  # noqa: E741
            row[l] -= factor * turned[l]
    return grade - predicted


@compiled()
def fill(x, target):
    """Copy a document's features, float32, into `target`, float64, followed by a 1 for the
    intercept.
    """
    d = x.shape[0]
    for j in range(d):
        target[j] = x[j]
    target[d] = 1.0


@compiled(fastmath=SUMS)
def squared_width(x, product):
    """The squared width x' A x of a document's confidence interval, A being the inverse matrix.

    product : A x
    """
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * product[j]
    return max(total, 0.0)


@compiled(fastmath=SUMS)
def squared_length(x):
    """The squared length of a document's features, with the intercept's 1."""
    total = 1.0
    for j in range(x.shape[0]):
        total += np.float64(x[j]) * np.float64(x[j])
    return total


@compiled()
def most_optimistic(
    x, scores, order, start, intercept, alpha, inverse, largest, known, bounds, block, products
):
    """The place, from `start` on, of the document with the largest score + alpha * width; the first
    of equals in `x`.

    A document's width is computed only where it can still win: no width is above the document's
    length times the root of the inverse's largest eigenvalue, and none grows from round to round.

    scores : float32 (m), without the intercept; order : the documents by descending score
    known : int32 (m), above 0 for a document whose grade is remembered, and which has no width
    largest : a bound on the largest eigenvalue of the inverse
    bounds : float64 (m), each document's last width; infinite before the first. Written to
    block, products : float64 (BLOCK, features + 1), scratch
    """
    m = scores.shape[0]
    best, best_place = np.float32(-np.inf), -1
    places = np.empty(BLOCK, np.int64)
    filled = 0
    for place in range(start, m):
        i = order[place]
        if bounds[i] == np.inf:
            bounds[i] = math.sqrt(squared_length(x[i]) * largest)
        if known[i]:
            bounds[i] = 0.0
        if np.float32(scores[i] + intercept + alpha * bounds[i] * LOOSE) >= best:
            fill(x[i], block[filled])
            places[filled] = place
            filled += 1
        if filled < BLOCK and place < m - 1:
            continue
        np.dot(block[:filled], inverse, products[:filled])
        for b in range(filled):
            i = order[places[b]]
            bounds[i] = 0.0 if known[i] else math.sqrt(squared_width(block[b], products[b]))
            value = np.float32(scores[i] + intercept + alpha * bounds[i])
            if value > best or (value == best and i < order[best_place]):
                best, best_place = value, places[b]
        filled = 0
    return best_place


@compiled(fastmath=SUMS)
def draw_weights(weights, root, alpha, random, normal, drawn):
    """Weights drawn around the fitted ones, with the covariance alpha² root root', into `drawn`."""
    n = weights.shape[0]
    for j in range(n):
        normal[j] = random.standard_normal()
    for j in range(n):
        total, row = 0.0, root[j]
        for l in range(n):  # noqa: E741
            total += row[l] * normal[l]
        drawn[j] = weights[j] + alpha * total


@compiled()
def recall(known, sums, intercept, scores):
    """Give each document that was seen the mean of its grades, less the intercept, as its score.

    known : int32 (m), how often each was seen; sums : float64 (m), of the grades seen
    scores : float32 (m), written to
    """
    for i in range(known.shape[0]):
        if known[i]:
            scores[i] = sums[i] / known[i] - intercept


@compiled()
def means_seen(x, shown, answers, target):
    """Write the mean features of the first documents shown, followed by a 1, into `target`; returns
    the mean of the answers.

    answers : float64 (seen), the grades or clicks of the first documents shown
    """
    d, total, seen = x.shape[1], 0.0, answers.shape[0]
    target[:] = 0.0
    for p in range(seen):
        i = shown[p]
        total += answers[p]
        for j in range(d):
            target[j] += x[i, j]
        target[d] += 1.0
    for j in range(d + 1):
        target[j] /= seen
    return total / seen


@compiled()
def play(
    rounds,
    tables,
    learner,
    recorded,
    random,
    weights,
    fitted,
    spreads,
    errors,
    sums,
    counts,
    ranker,
    events,
    updated,
):
    """Play a learner that fits the grades of the documents seen by ridge regression.

    Parameters
    ----------
    rounds, tables, recorded : `Rounds`, `Tables` and `Measured` of `scant.kernels.pieces`
    learner : a `Learner`, with these fields
    explore : one of the constants above
    k : how many grades on top are seen; 0 for a learner that does not learn
    penalty : lambda of ridge regression
    alpha : how many widths are added to a score (UCB), or how far weights are drawn (THOMPSON)
    within : the share of the means over the documents seen that is taken from their features and
        grades before they are fitted
    click, stop : of the user from whose clicks it learns in place of grades, see
        `scant.kernels.clicks.play`; `click` has no rows if it sees grades
    chances, shifts : float64 (k), a click in a place counts click / chance - shift
    weights : float64 (features + 1), the intercept last, of the first state; of the state that
        would show the next round after the call
    fitted : float64 (states, features + 1), the weights of each state, which it moves
    spreads : float64 (states, features + 1, features + 1), of each state the inverse matrix of
        ridge regression, or its square root (THOMPSON), which it moves
    errors : float64 (states), the squared errors of each state on the grades seen, summed; it adds
        to them. The state with the least shows the next round
    sums : float64 (documents), of the grades seen of each, which it adds to, and ranks documents
        by in place of their scores; of none if it does not remember
    counts : int32 (documents), how often each was seen, which it adds to; 0 if it does not remember
    ranker : float64 (rounds), NDCG@10 of the ranking without exploration
    events : int32 (rounds, 4), of which it sets whether the documents on top were others than
        without exploration
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
    explore, k, penalty, alpha, within, click, stop, chances, shifts = learner
    largest, d, remembers = longest(offsets), features.shape[1], sums.shape[0] > 0
    flat, flat_ideals = features.reshape(features.size), ideals.reshape(ideals.size)
    all_scores, all_drawn = np.empty(largest, np.float32), np.empty(largest, np.float32)
    all_own, all_other = np.empty(largest, np.uint32), np.empty(largest, np.uint32)
    by_score, ranked = sorter(all_scores), np.empty(largest, np.int16)
    state, states = 0, fitted.shape[0]
    product, turned, drawn_weights = np.empty(d + 1), np.empty(d + 1), np.empty(d + 1)
    block, products = np.zeros((BLOCK, d + 1)), np.empty((BLOCK, d + 1))
    x_mean, mean = np.zeros(d + 1), 0.0
    all_answers, all_clicked = np.empty(largest), np.empty(click.shape[0], np.int8)
    # with fewer documents than features some direction is unseen: its eigenvalue is 1 / penalty
    eigenvalues, renewed = np.full(states, 1 / penalty), (d + 1) / max(k, 1)
    bounds = np.full((states, features.shape[0] if explore == UCB else 0), np.inf)

    for t in range(queries.shape[0]):
        filled = keep(recorded, filled, t, weights)
        q = queries[t]
        start, end = offsets[q], offsets[q + 1]
        m = end - start
        x, label, scores = features[start:end], grades[start:end], all_scores[:m]
        own, shown, seen = all_own[:m], all_own[:m], min(k, m)
        after = queries[min(t + 1, queries.shape[0] - 1)]  # it is fetched meanwhile
        prefetch(flat_ideals, after * measures.shape[0])
        if not score(x, weights[:d], scores, flat[offsets[after] * d : offsets[after + 1] * d]):
            return t
        known = counts[start:end]
        if remembers:
            recall(known, sums[start:end], weights[d], scores)
        sort_scores(scores, own, by_score)

        # The list to show: sorted, but that a document from place k on may move up to it.
        if explore != GREEDY:
            if explore == UCB:
                if t >= renewed:
                    for s in range(states):
                        eigenvalues[s] = np.linalg.eigvalsh(spreads[s])[d] * LOOSE
                    renewed = 1 + t * RENEWED
                place = most_optimistic(
                    x,
                    scores,
                    own,
                    seen - 1,
                    weights[d],
                    alpha,
                    spreads[state],
                    eigenvalues[state],
                    known,
                    bounds[state, start:end],
                    block,
                    products,
                )
            else:
                draw_weights(weights, spreads[state], alpha, random, product, drawn_weights)
                if not score(x, drawn_weights[:d], all_drawn[:m], flat[:0]):
                    return t
                if remembers:
                    recall(known, sums[start:end], drawn_weights[d], all_drawn)
                place = seen - 1
                for p in range(seen, m):
                    best, other = own[place], own[p]
                    ahead = all_drawn[other] > all_drawn[best]
                    if ahead or (all_drawn[other] == all_drawn[best] and other < best):
                        place = p
            shown = all_other[:m]
            shown[: seen - 1], shown[seen - 1] = own[: seen - 1], own[place]
            shown[seen : place + 1], shown[place + 1 :] = own[seen - 1 : place], own[place + 1 :]
            events[t, MISMATCHED] = place != seen - 1

        ranker[t] = measure_both(
            shown,
            own,
            events[t, MISMATCHED],
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

        answers = all_answers[:seen]
        if click.shape[0] > 0:
            clicked = all_clicked[:seen]
            browse(shown, label, click, stop, random, clicked)
            for p in range(seen):
                answers[p] = clicked[p] / chances[p] - shifts[p]
        else:
            for p in range(seen):
                answers[p] = label[shown[p]]
        if within > 0.0:
            mean = within * means_seen(x, shown, answers, x_mean)
        for p in range(seen):
            i = shown[p]
            fill(x[i], block[0])
            if within > 0.0:
                for j in range(d + 1):
                    block[0, j] -= within * x_mean[j]
            grade = answers[p] - mean
            for s in range(states):
                if explore == THOMPSON:
                    error = fit_by_root(spreads[s], fitted[s], block[0], grade, product, turned)
                else:
                    error = fit_by_inverse(spreads[s], fitted[s], block[0], grade, product)
                errors[s] += error * error
            if remembers:
                sums[start + i] += answers[p]
                known[i] += 1
        state = np.argmin(errors)
        weights[:] = fitted[state]
        updated[t] = k > 0
    return queries.shape[0]
