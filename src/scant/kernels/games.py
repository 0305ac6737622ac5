"""The loops over rounds of the games on fixed items, and the best fixed ranking for AP.

`values` (rounds x items, int8 or float64, read-only) times `scale` (rounds) is what each item is worth in each round.
`place[u]` is the place of item u, from 0; ties go by index. Random numbers are drawn one by one in an order that the
plain learners of `scant.games.learners` share, so that both play the same game.
"""

import math

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import average_precision
from scant.kernels.sorting import place_by, sorter

UNIFORM, GUMBEL, QUICKSORT = range(3)
FAR = 1000  # powers of two beyond which odds count as 0
POWERS = 2.0 ** np.arange(-FAR, FAR + 1)


@compiled()
def set_odds(weight, odds, exponents, u):
    """exp(weight) as `odds[u] * 2^exponents[u]`, odds from 1 to 2: weights of any size, far apart or not, fit."""
    exponents[u] = math.floor(weight * 1.4426950408889634)
    odds[u] = math.exp(weight - exponents[u] * 0.6931471805599453)


@compiled()
def _comes_first(odds, exponents, v, odds_p, exponent_p, uniform):
    """Whether v comes before the pivot p in a comparison that `uniform` decides; `exponent_p` is p's plus `FAR`."""
    apart = POWERS[min(max(exponent_p - exponents[v], 0), 2 * FAR)]
    return uniform * (odds[v] + odds_p * apart) < odds[v]


@compiled()
def quicksort(odds, exponents, random, order, spare, stack, uniforms):
    """`order` by noisy QuickSort of weights given as in `set_odds`. See `scant.games.sorting.quicksort`.

    order, spare, stack : uint32 (as unsigned they are quicker indices); spare and stack are scratch, `spare` as long as
        `order`, `stack` twice as long and 4
    uniforms : float64, scratch as long as `order`
    """
    m = order.shape[0]
    for i in range(m):
        order[i] = i
    stack[0], stack[1] = 0, m
    top = 2 * (m > 1)
    while top > 0:  # few branches, none of which could be foreseen: only sides of two or more are put on the stack
        top -= 2
        start, stop = stack[top], stack[top + 1]
        n = stop - start
        if n == 2:
            v, p = order[start], order[start + 1]
            first = _comes_first(odds, exponents, v, odds[p], exponents[p] + FAR, random.random())
            order[start] = v if first else p
            order[start + 1] = p if first else v
            continue
        pivot = start + int(random.random() * n)
        for i in range(n - 1):  # apart, since the loop below is quicker without calls
            uniforms[i] = random.random()
        p, left, right = order[pivot], start, 0
        odds_p, exponent_p = odds[p], exponents[p] + FAR
        for i in range(n - 1):
            at = start + i
            v = order[at + (at >= pivot)]
            first = _comes_first(odds, exponents, v, odds_p, exponent_p, uniforms[i])
            order[left] = v
            spare[right] = v
            left += first
            right += 1 - first
        order[left] = p
        for i in range(right):
            order[left + 1 + i] = spare[i]
        stack[top], stack[top + 1] = left + 1, stop
        top += 2 * (stop - left > 2)
        stack[top], stack[top + 1] = start, left  # the left side is next
        top += 2 * (left - start > 1)


@compiled(inline="always")  # a call with so many arrays takes a tenth of a round
def _show(procedure, weights, noise, odds, exponents, random, scores, place, order, spare, stack, by_score):
    """Draw a ranking: the places of the items by `weights`, sorted with noise."""
    m = weights.shape[0]
    if procedure == QUICKSORT:
        quicksort(odds, exponents, random, order, spare, stack, scores)
        for i in range(m):
            place[order[i]] = i
        return
    if procedure == UNIFORM:
        for u in range(m):
            scores[u] = weights[u] + noise * random.random()
    else:
        for u in range(m):
            scores[u] = weights[u] - noise * math.log(random.standard_exponential())
    place_by(scores, place, order, by_score)


@compiled()
def _worth(place, row, weights, by_ap, ranked):
    """A ranking's value against one round's values, but for the round's scale and constant."""
    m, total = place.shape[0], 0.0
    if not by_ap:
        for u in range(m):
            total += weights[place[u]] * row[u]
        return total
    relevant = 0
    for u in range(m):
        ranked[place[u]] = row[u]
        relevant += row[u] > 0
    return average_precision(ranked, relevant) if relevant > 0 else 0.0


@compiled()
def play_full(values, scale, place_weights, by_ap, learns, procedure, rate, noise, random, kept, total):
    """Play a learner that sorts what it has seen of all items, with fresh noise in each round.

    Parameters
    ----------
    place_weights : float64 (items), the weight of each place; by_ap : the measure is AP instead
    learns : if not, the weights stay 0: a uniformly random ranking each round
    procedure : how noise enters: UNIFORM on [0, noise], GUMBEL times noise, QUICKSORT
    rate : what a round's values are multiplied by as they are added to the weights
    kept : the rounds, from 1 and ascending, to report; total : float64, the cumulative value at each
    """
    rounds, m = values.shape
    weights, scores = np.zeros(m), np.empty(m)
    odds, exponents = np.ones(m), np.zeros(m, np.int64)
    place, ranked = np.empty(m, np.uint32), np.empty(m, values.dtype)
    order, spare, stack = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(2 * m + 4, np.uint32)
    by_score = sorter(scores)
    at, value = 0, 0.0
    for t in range(rounds):
        row = values[t]
        _show(procedure, weights, noise, odds, exponents, random, scores, place, order, spare, stack, by_score)
        value += _worth(place, row, place_weights, by_ap, ranked) * scale[t]
        if at < kept.shape[0] and kept[at] == t + 1:
            total[at] = value
            at += 1
        if not learns:
            continue
        step = rate * scale[t]
        for u in range(m):
            if row[u] != 0:
                weights[u] += step * row[u]
                if procedure == QUICKSORT:
                    set_odds(weights[u], odds, exponents, u)


@compiled()
def _spread(estimate, place, place_weights, ordered):
    """A R of a block's estimate: its l1 distance to its median, times the worth between its best and worst ranking.

    place : the items' places by the estimate; ordered : scratch
    """
    m = estimate.shape[0]
    for u in range(m):
        ordered[place[u]] = estimate[u]
    middle, distance, difference = ordered[m // 2], 0.0, 0.0
    for i in range(m):
        distance += abs(ordered[i] - middle)
        difference += (place_weights[i] - place_weights[m - 1 - i]) * ordered[i]
    return distance * abs(difference)


@compiled()
def play_blocks(
    values, scale, place_weights, by_ap, procedure, rate, k, lengths, noises, counted, at_random, adaptive, gain, prior,
    random, kept, total, explored,
):  # fmt: skip
    """Play RTop-kF: blocks, in each of which every cell of k items is once shown on top, at a random time.

    Parameters
    ----------
    procedure, rate : of the full-information learner, as in `play_full`
    lengths, noises : int64 and float64, the length and the noise of each block, as many as cover the rounds
    counted : float64, how many times each block's estimate is counted
    at_random : while a cell is shown, the other items are in uniformly random order, else in the learner's
    adaptive : blocks take their length and noise from the data instead, see `scant.games.learners.AdaptiveRTopKF`
    gain, prior : for that: whether greater is better; A R / D of a block before it is seen
    kept, total : as in `play_full`; explored : int64, the exploration rounds up to each kept one
    """
    rounds, m = values.shape
    c = (m + k - 1) // k
    weights, scores = np.zeros(m), np.empty(m)
    odds, exponents = np.ones(m), np.zeros(m, np.int64)
    place, ranked = np.empty(m, np.uint32), np.empty(m, values.dtype)
    order, spare, stack = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(2 * m + 4, np.uint32)
    by_score = sorter(scores)
    estimate, cells, flat = np.zeros(m), np.empty(c, np.int64), np.zeros(m)
    at, value, exploring = 0, 0.0, 0
    block, length, left, noise = -1, c, 0, 0.0
    # for the adaptive: what was shown in this block, and over all blocks, exploiting and exploring
    shown, seen, obtained = np.zeros((2, m)), np.zeros((2, m)), np.zeros(2)
    squares, difference = 0.0, 0.0
    if adaptive:
        for i in range(m):
            difference += abs(place_weights[i] - place_weights[m - 1 - i])
        difference = 1.0 if difference == 0.0 else difference
    for t in range(rounds):
        row = values[t]
        if left == 0:
            block += 1
            if adaptive:
                least = max(c, int(1.5 * (c * c * t / m) ** (1 / 3)))
                length = min(max(length, least), max(least, int(math.sqrt(c * t))))
                noise = max(noise, math.sqrt(squares / difference + length * length * prior))
            else:
                length, noise = lengths[block], noises[block]
            left, remaining = length, c
            for j in range(c):
                cells[j] = j
        # The cells that remain take random times among the rounds that do.
        x = int(random.random() * left)
        left -= 1
        explores = x < remaining
        shuffles = explores and at_random
        _show(
            UNIFORM if shuffles else procedure, flat if shuffles else weights, 1.0 if shuffles else noise, odds,
            exponents, random, scores, place, order, spare, stack, by_score,
        )  # fmt: skip
        if explores:
            cell = cells[x]
            remaining -= 1
            cells[x] = cells[remaining]
            exploring += 1
            start, stop = cell * k, min(m, cell * k + k)
            for u in range(m):  # the cell comes first, by index
                if u < start or u >= stop:
                    before = 0
                    for v in range(start, stop):
                        before += place[v] < place[u]
                    scores[u] = place[u] + (stop - start) - before
            for u in range(m):
                place[u] = u - start if start <= u < stop else int(scores[u])
            for u in range(start, stop):
                estimate[u] = row[u]
        value += _worth(place, row, place_weights, by_ap, ranked) * scale[t]
        if at < kept.shape[0] and kept[at] == t + 1:
            total[at], explored[at] = value, exploring
            at += 1
        if adaptive:
            kind = 1 if explores else 0
            for u in range(m):
                shown[kind, u] += place_weights[place[u]]
        if left > 0:
            continue
        # The block ends.
        times = float(length) if adaptive else counted[block]
        for u in range(m):
            weights[u] += rate * times * estimate[u]
            if procedure == QUICKSORT:
                set_odds(weights[u], odds, exponents, u)
        if adaptive:
            for kind in range(2):
                number = c if kind == 1 else length - c
                for u in range(m):
                    obtained[kind] += shown[kind, u] * estimate[u]
                    seen[kind, u] += number * estimate[u]
                    shown[kind, u] = 0.0
            place_by(estimate, place, order, by_score)
            squares += length * length * _spread(estimate, place, place_weights, scores)
            place_by(weights, place, order, by_score)
            exploiting_lost, exploring_lost = -obtained[0], -obtained[1]
            for u in range(m):
                exploiting_lost += place_weights[place[u]] * seen[0, u]
                exploring_lost += place_weights[place[u]] * seen[1, u]
            if not gain:
                exploiting_lost, exploring_lost = -exploiting_lost, -exploring_lost
            length = 2 * length if exploiting_lost < exploring_lost else length // 2


@compiled()
def sums_at(values, scale, kept, sums):
    """`sums[i]`, float64 (items): the sum of scaled values over the rounds up to the i-th kept one."""
    rounds, m = values.shape
    total, at = np.zeros(m), 0
    for t in range(rounds):
        row, factor = values[t], scale[t]
        for u in range(m):
            total[u] += factor * row[u]
        if at < kept.shape[0] and kept[at] == t + 1:
            for u in range(m):
                sums[at, u] = total[u]
            at += 1


@compiled()
def overlaps_at(values, kept, overlaps):
    """`overlaps[i, a, b]`: the sum of R_t(a) R_t(b) / sum(R_t) over the rounds up to the i-th kept one (binary R)."""
    rounds, m = values.shape
    total, at, items = np.zeros((m, m)), 0, np.empty(m, np.int64)
    for t in range(rounds):
        relevant = 0
        for u in range(m):
            if values[t, u] > 0:
                items[relevant] = u
                relevant += 1
        for i in range(relevant):
            for j in range(relevant):
                total[items[i], items[j]] += 1.0 / relevant
        if at < kept.shape[0] and kept[at] == t + 1:
            for a in range(m):
                for b in range(m):
                    overlaps[at, a, b] = total[a, b]
            at += 1


@compiled()
def best_path(overlap, order):
    """The greatest total AP of a fixed ranking, and that ranking into `order`: see `losses.best_average_precision`.

    With Q(S) the sum of overlaps of the pairs within S, each item with itself and each pair once, the item a placed
    below S adds (Q(S + a) - Q(S)) / (|S| + 1).
    """
    m = overlap.shape[0]
    within, best = np.zeros(1 << m), np.zeros(1 << m)
    last = np.zeros(1 << m, np.int8)
    for top in range(m):  # Q by the highest item of the set
        for rest in range(1 << top):
            total = overlap[top, top]
            for b in range(top):
                if rest >> b & 1:
                    total += overlap[top, b]
            within[(1 << top) + rest] = within[rest] + total
    for members in range(1, 1 << m):
        size, greatest = 0, -math.inf
        for a in range(m):
            size += members >> a & 1
        for a in range(m):
            if members >> a & 1:
                rest = members - (1 << a)
                value = best[rest] + (within[members] - within[rest]) / size
                if value > greatest:
                    greatest = value
                    last[members] = a
        best[members] = greatest
    members = (1 << m) - 1
    for i in range(m - 1, -1, -1):
        order[i] = last[members]
        members -= 1 << order[i]
    return best[(1 << m) - 1]


@compiled()
def extremes(values, scale):
    """Of the scaled values: the least, the largest, and the largest sum of squared differences over pairs of items."""
    rounds, m = values.shape
    lowest, largest, pairs = math.inf, -math.inf, 0.0
    for t in range(rounds):
        total, squares = 0.0, 0.0
        for u in range(m):
            value = values[t, u] * scale[t]
            lowest, largest = min(lowest, value), max(largest, value)
            total += value
            squares += value * value
        pairs = max(pairs, m * squares - total * total)
    return lowest, largest, pairs


@compiled()
def balance(matrix, tolerance, most):
    """Sinkhorn's iteration in place: scale rows, then columns, until rows sum to 1 too, up to `tolerance`.

    Returns the number of iterations, at most `most`.
    """
    m = matrix.shape[0]
    for iteration in range(most):
        error = 0.0
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += matrix[i, j]
            error = max(error, abs(total - 1.0))
            for j in range(m):
                matrix[i, j] /= total
        for j in range(m):
            total = 0.0
            for i in range(m):
                total += matrix[i, j]
            for i in range(m):
                matrix[i, j] /= total
        if error <= tolerance:
            return iteration + 1
    return most
