"""A surrogate summed over queries, with its gradient and its curvature in the weights: what a batch
solver asks for.

Unlike in the loops over rounds, scores are float64: a certificate is no better than the sums it is
made of. RankSVM's hinges also have a smoothed form. With z = 1 + s_j - s_i for a pair R_i > R_j,
and u > 0, it is

    h(z) = max over 0 <= a <= 1 of (a z - u a^2 / 2),
    attained at a = h'(z) = min(1, max(0, z / u)),

so that max(0, z) - u / 2 <= h(z) <= max(0, z), and a z <= max(0, z) for every pair and all weights.
"""

import math
from typing import NamedTuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import EXP_CLIP, SUMS, longest, score, softmax, step
from scant.kernels.sorting import place_by, sorter
from scant.kernels.top import KL, LISTNET, RANKSVM, smooth_surrogate

LONG = 60  # documents: from here on sorting is quicker than looking at all pairs
DAMPING = 1e-12  # a share of the Hessian's diagonal, far above rounding
SHIFTS = 60  # of Newton's method in `model_step`; seven are usual


class Queries(NamedTuple):
    """Queries, each as often as `counts` says.

    features, offsets, labels, ideal : the stream's features, offsets, grades and ideal DCG
    counts : int64 (queries)
    """

    features: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    ideal: np.ndarray
    counts: np.ndarray


@compiled()
def sorted_hinges(scores, labels, smoothing, g):
    """What `hinges` computes, up to rounding, by sorting the scores.

    It takes each pair of grades by itself and goes down the scores of the better documents. On the
    way, ever more of the others have z > 0, and ever more have z >= u, where the hinge is not
    smoothed. The sums of their scores and of the squares of their scores give all three values.
    """
    m, value, smooth, support = scores.shape[0], 0.0, 0.0, 0.0
    centre, largest = 0.0, 0
    for i in range(m):
        centre += scores[i]
        largest = max(largest, labels[i] + 1)
    centre /= m
    starts = np.zeros(largest + 1, np.int64)
    for i in range(m):
        starts[labels[i] + 1] += 1
    for label in range(largest):
        starts[label + 1] += starts[label]
    # Documents by grade, and by descending score within each.
    filled, places, by_grade = starts[:-1].copy(), np.empty(m, np.int64), np.empty(m)
    documents, s, pulls = np.empty(m, np.int64), np.empty(m), np.empty(m)
    order, by_score = np.empty(m, np.uint32), sorter(by_grade)
    for i in range(m):
        documents[filled[labels[i]]] = i
        by_grade[filled[labels[i]]] = scores[i]
        filled[labels[i]] += 1
    for label in range(largest):
        a, b = starts[label], starts[label + 1]
        place_by(by_grade[a:b], places[a:b], order[a:b], by_score)
        for i in range(a, b):
            places[i] += a
    for i in range(m):
        s[places[i]] = by_grade[i] - centre
        pulls[i] = 0.0
    for low in range(largest):
        a, b = starts[low], starts[low + 1]
        if a == b:
            continue
        for high in range(low + 1, largest):
            # Of the lower documents, those from a to q have z > 0, and those from a to p have z >=
            # u.
            p, q, plain_sum, sum_1, sum_2 = a, a, 0.0, 0.0, 0.0
            for place in range(starts[high], starts[high + 1]):
                base = 1.0 - s[place]  # z = base + score of the lower document
                while q < b and base + s[q] > 0:
                    sum_1 += s[q]
                    sum_2 += s[q] * s[q]
                    q += 1
                while p < q and base + s[p] >= smoothing:
                    plain_sum += s[p]
                    sum_1 -= s[p]
                    sum_2 -= s[p] * s[p]
                    p += 1
                plain, bent = p - a, q - p
                linear, first = plain * base + plain_sum, bent * base + sum_1
                if bent == 0:
                    first = 0.0
                square = bent * base * base + 2.0 * base * sum_1 + sum_2 if bent > 0 else 0.0
                value += linear + first
                support += linear + square / smoothing
                smooth += linear - 0.5 * smoothing * plain + 0.5 * square / smoothing
                pulls[place] -= plain + first / smoothing
    # The same from the other side, up the scores of the lower documents.
    for high in range(1, largest):
        a, b = starts[high], starts[high + 1]
        if a == b:
            continue
        for low in range(high):
            p, q, sum_1 = b, b, 0.0
            for place in range(starts[low + 1] - 1, starts[low] - 1, -1):
                base = 1.0 + s[place]
                while q > a and base - s[q - 1] > 0:
                    q -= 1
                    sum_1 += s[q]
                while p > q and base - s[p - 1] >= smoothing:
                    p -= 1
                    sum_1 -= s[p]
                plain, bent = b - p, p - q
                pulls[place] += plain + ((bent * base - sum_1) / smoothing if bent > 0 else 0.0)
    for i in range(m):
        g[documents[i]] = pulls[places[i]]
    return value, smooth, support


@compiled()
def hinged(scores, labels, i, end, documents):
    """Write the documents j of lower grade than i with 0 < 1 + s_j - s_i < end into `documents`
    (int64); returns how many there are.
    """
    count = 0
    for j in range(scores.shape[0]):  # without branches, which could not be foreseen
        z = 1.0 + (scores[j] - scores[i])
        documents[count] = j
        count += (labels[j] < labels[i]) & (z > 0) & (z < end)
    return count


@compiled()
def hinges(scores, labels, smoothing, active, g):
    """RankSVM's sum of pairwise hinges, the smoothed sum, and the sum of `a z` (see the module).

    The smoothed sum's gradient in the scores, which is the sum of `a (e_j - e_i)`, goes into `g`.
    `active` is int64 scratch as long as the scores. O(m^2), and O(m (log m + grades)) for lists of
    `LONG` or more.
    """
    m, value, smooth, support = scores.shape[0], 0.0, 0.0, 0.0
    if m >= LONG:
        return sorted_hinges(scores, labels, smoothing, g)
    for i in range(m):
        g[i] = 0.0
    for i in range(m):
        if labels[i] == 0:
            continue
        count, pulled = hinged(scores, labels, i, np.inf, active), 0.0
        for place in range(count):
            j = active[place]
            z = 1.0 + (scores[j] - scores[i])
            a = min(1.0, z / smoothing)
            value += z
            support += a * z
            smooth += a * z - 0.5 * smoothing * a * a
            pulled += a
            g[j] += a
        g[i] -= pulled
    return value, smooth, support


@compiled()
def total(queries, objective, smoothing, weights, gains, exponentials, gradient):
    """Sum the surrogate over `Queries`; its gradient in the weights goes into `gradient`.

    Parameters
    ----------
    objective : a convex one of the constants of `scant.kernels.top`
    smoothing : u > 0 of RankSVM; other surrogates ignore it
    weights : float64 (features)
    gains, exponentials : G(r) and exp(-r) for each grade r
    gradient : float64 (features), any content; for RankSVM it becomes the gradient of the smoothed
        sum

    Returns
    -------
    value : the sum itself
    smooth : the sum whose gradient `gradient` is
    support : `support + <gradient, v - weights>` is no more than the sum at any weights v

    Except for RankSVM, `smooth` and `support` equal `value`.
    """
    features, offsets, labels, ideal, counts = queries
    largest = longest(offsets)
    scores, scratch, g = np.empty(largest), np.empty(largest), np.empty(largest)
    bits, goals = np.empty(largest, np.int64), np.empty(exponentials.shape[0])
    nothing = features.reshape(features.size)[:0]
    value, smooth, support = 0.0, 0.0, 0.0
    gradient[:] = 0.0
    for q in range(counts.shape[0]):
        if counts[q] == 0:
            continue
        x, label = features[offsets[q] : offsets[q + 1]], labels[offsets[q] : offsets[q + 1]]
        m = label.shape[0]
        score(x, weights, scores[:m], nothing)
        if objective == RANKSVM:
            plain, smooth_one, support_one = hinges(scores[:m], label, smoothing, bits, g[:m])
        else:
            plain, _ = smooth_surrogate(
                objective,
                scores[:m],
                label,
                ideal[q],
                1.0,
                gains,
                exponentials,
                scratch[:m],
                bits[:m],
                goals,
                g[:m],
            )
            smooth_one, support_one = plain, plain
        value += counts[q] * plain
        smooth += counts[q] * smooth_one
        support += counts[q] * support_one
        step(x, g[:m], -np.float64(counts[q]), gradient, nothing)
    return value, smooth, support


@compiled(fastmath=SUMS)
def curvature(queries, objective, smoothing, weights, hessian):
    """The second derivative in the weights of the (smoothed) sum, into `hessian`, float64
    (features, features).

    A query's part is X' W X, where the matrix W of its documents is 2 I (squares), diag(e^s) (KL),
    diag(p) - p p' with p = softmax(s) (ListNet), or 1 / u times the Laplacian of the pairs with 0 <
    z < u (RankSVM). Arguments as in `total`.
    """
    features, offsets, labels, _, counts = queries
    largest, d = longest(offsets), features.shape[1]
    scores, scratch, p = np.empty(largest), np.empty(largest), np.empty(largest)
    bits, mean = np.empty(largest, np.int64), np.empty(d)
    # X, shifted where that changes nothing, and W X
    x, y = np.empty((largest + 3, d)), np.empty((largest + 3, d))
    nothing = features.reshape(features.size)[:0]
    hessian[:] = 0.0
    for q in range(counts.shape[0]):
        if counts[q] == 0:
            continue
        raw, label = features[offsets[q] : offsets[q + 1]], labels[offsets[q] : offsets[q + 1]]
        m, times = label.shape[0], np.float64(counts[q])
        s = scores[:m]
        score(raw, weights, s, nothing)
        # Where only differences of documents count they are taken first: what is constant stays 0
        # to the last bit.
        differences = objective in (RANKSVM, LISTNET)
        for i in range(m):
            for a in range(d):
                x[i, a] = (
                    np.float64(raw[i, a]) - np.float64(raw[0, a])
                    if differences
                    else np.float64(raw[i, a])
                )
        if objective == RANKSVM:
            y[:m] = 0.0
            for i in range(m):
                if label[i] == 0:
                    continue
                count = hinged(s, label, i, smoothing, bits)
                for j in bits[:count]:
                    for a in range(d):
                        pull = (x[i, a] - x[j, a]) / smoothing
                        y[i, a] += pull
                        y[j, a] -= pull
        else:
            mean[:] = 0.0
            if objective == LISTNET:
                softmax(s, 1.0, scratch[:m], bits[:m], p[:m])
                for i in range(m):
                    for a in range(d):
                        mean[a] += p[i] * x[i, a]
            elif objective == KL:
                for i in range(m):
                    p[i] = math.exp(s[i]) if s[i] <= EXP_CLIP else 0.0
            else:
                p[:m] = 2.0
            for i in range(m):
                for a in range(d):
                    x[i, a] -= mean[a]
                    y[i, a] = p[i] * x[i, a]
        for i in range(m, m + -m % 4):
            x[i], y[i] = 0.0, 0.0
        # four documents at a time, so that the Hessian passes by a quarter as often
        for i in range(0, m, 4):
            y0, y1, y2, y3 = y[i], y[i + 1], y[i + 2], y[i + 3]
            for a in range(d):
                x0, x1, x2, x3 = (
                    times * x[i, a],
                    times * x[i + 1, a],
                    times * x[i + 2, a],
                    times * x[i + 3, a],
                )
                row = hessian[a]
                for b in range(a, d):
                    row[b] += x0 * y0[b] + x1 * y1[b] + x2 * y2[b] + x3 * y3[b]
    for a in range(d):
        for b in range(a):
            hessian[a, b] = hessian[b, a]


@compiled(fastmath=SUMS, error_model="numpy")
def factorise(matrix, shift, ridge, factor):
    """Write Cholesky's factor of `matrix + DAMPING diag(matrix) + (shift + ridge) I` into the lower
    triangle of `factor`.

    Each diagonal entry is damped by its size, as features may be on scales far apart. O(d^3 / 3).
    """
    for i in range(matrix.shape[0]):
        row = factor[i]
        for j in range(i):
            dot, other = 0.0, factor[j]
            for k in range(j):
                dot += row[k] * other[k]
            row[j] = (matrix[i, j] - dot) / other[j]
        dot = 0.0
        for k in range(i):
            dot += row[k] * row[k]
        diagonal = (1 + DAMPING) * matrix[i, i] + shift + ridge
        row[i] = math.sqrt(max(diagonal - dot, 0.01 * DAMPING * diagonal))


@compiled(fastmath=SUMS, error_model="numpy")
def solve(factor, vector):
    """Solve `factor factor' x = vector` in place: `vector` becomes x."""
    d = vector.shape[0]
    for i in range(d):
        dot = 0.0
        for k in range(i):
            dot += factor[i, k] * vector[k]
        vector[i] = (vector[i] - dot) / factor[i, i]
    for i in range(d - 1, -1, -1):
        vector[i] /= factor[i, i]
        for k in range(i):
            vector[k] -= factor[i, k] * vector[i]


@compiled()
def inner(a, b):
    """The inner product of two vectors, added up in their order."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@compiled(error_model="numpy")
def model_step(hessian, gradient, weights, radius, step):
    """The `step` of least <gradient, step> + <step, hessian step> / 2 with ||weights + step|| <=
    radius.

    It is -(hessian + shift I)^-1 (gradient + shift weights). If shift 0 keeps `end` = weights +
    step in the ball, that is the step. Otherwise the shift is the root of 1 / ||end|| - 1 / radius,
    which Newton's method nears from below (Moré and Sorensen 1983). As the shift grows, `end` falls
    by `fall` = (hessian + shift I)^-1 end, so that the derivative of 1 / ||end|| is <end, fall> /
    ||end||^3.

    hessian : float64 (d, d), positive semidefinite up to rounding
    gradient : float64 (d), not 0; weights : float64 (d), with ||weights|| <= radius; step : float64
        (d), any content
    """
    d, shift = weights.shape[0], 0.0
    factor, end, fall = np.empty((d, d)), np.empty(d), np.empty(d)
    # Where the model is flat the step should only be bounded by the ball.
    ridge = 1e-16 * math.sqrt(inner(gradient, gradient)) / radius
    for _ in range(SHIFTS):
        factorise(hessian, shift, ridge, factor)
        for j in range(d):
            step[j] = -gradient[j] - shift * weights[j]
        solve(factor, step)
        for j in range(d):
            end[j] = weights[j] + step[j]
            fall[j] = end[j]
        norm = math.sqrt(inner(end, end))
        if norm <= radius * (1 + 1e-12):
            break
        solve(factor, fall)
        # Newton's method: minus 1 / norm - 1 / radius, over the derivative above
        shift += norm * norm / inner(end, fall) * (norm / radius - 1)
    if norm > radius:  # by rounding, or as there were not shifts enough
        for j in range(d):
            step[j] = end[j] * (radius / norm) - weights[j]
