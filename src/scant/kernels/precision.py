"""The loop over rounds of the learner of sets, for Precision@n with feedback at the top."""

import math

import numpy as np

from scant.kernels import compiled


@compiled()
def inclusions(estimates, eta, n, weights, x):
    """Write inclusion probabilities into `x`, float64 (items): min(1, exp(-eta estimate + c)), with
    the c at which they sum to n.

    Items whose share exceeds 1 have 1, and the others share the rest anew, until no share does.
    Each pass measures weights from the largest that is left, so that they neither overflow nor
    vanish together. `weights` is scratch.
    """
    m, full = estimates.shape[0], 0
    for i in range(m):
        x[i] = 0.0
    while full < n:
        smallest, total = math.inf, 0.0
        for i in range(m):
            if x[i] < 1.0:
                smallest = min(smallest, estimates[i])
        for i in range(m):
            if x[i] < 1.0:
                weights[i] = math.exp(-eta * (estimates[i] - smallest))
                total += weights[i]
        share, before = (n - full) / total, full
        for i in range(m):
            if x[i] < 1.0 and weights[i] * share >= 1.0:
                x[i] = 1.0
                full += 1
        if full == before:
            for i in range(m):
                if x[i] < 1.0:
                    x[i] = weights[i] * share
            return


@compiled()
def systematic(x, n, start, chosen):
    """Draw n items into `chosen`, bool (items), each with probability x, by systematic sampling;
    `start` is uniform on [0, 1).

    An item is chosen if the sum of x up to the item passes the next of start, start + 1, ...
    """
    m, total, count = x.shape[0], 0.0, 0
    for i in range(m):
        total += x[i]
        chosen[i] = count < n and total > start + count
        count += chosen[i]
    for i in range(m - 1, -1, -1):  # rounding may leave the sum below the last threshold
        if count < n and not chosen[i]:
            chosen[i] = True
            count += 1


@compiled()
def play_sets(game, n, k, eta, random, record):
    """Play `scant.games.precision.SemiBandit`; parameters as in `scant.kernels.games.play_full`.

    n : how many items count; k : how many are seen; eta : the learning rate at round 1
    """
    values, scale, _, _ = game
    kept, total, _ = record
    rounds, m = values.shape
    estimates, weights, x = np.zeros(m), np.empty(m), np.empty(m)
    chosen, listed = np.empty(m, np.bool_), np.empty(m, np.int64)
    report, value = 0, 0.0
    seen_inside, seen_outside = min(k, n) / n, max(k - n, 0) / max(m - n, 1)
    for t in range(rounds):
        row = values[t]
        inclusions(estimates, eta / math.sqrt(t + 1), n, weights, x)
        systematic(x, n, random.random(), chosen)
        for i in range(m):
            if chosen[i]:
                value += row[i] * scale[t]
        if report < kept.shape[0] and kept[report] == t + 1:
            total[report] = value
            report += 1
        # Of the chosen items if they are more than k, else of the others, some are seen; the rest
        # of the k are all.
        inside = k < n
        size, some = (n, k) if inside else (m - n, k - n)
        count = 0
        for i in range(m):
            if chosen[i] == inside:
                listed[count] = i
                count += 1
            elif chosen[i]:
                estimates[i] += (1.0 - row[i]) / (x[i] + (1.0 - x[i]) * seen_outside)
        if some == 0:
            continue
        start = random.random()
        for j in range(some):
            i = listed[min(int((start + j) * size / some), size - 1)]
            estimates[i] += (1.0 - row[i]) / (x[i] * seen_inside + (1.0 - x[i]) * seen_outside)
