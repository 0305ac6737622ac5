"""The loops over rounds of the games on fixed items, and the best fixed ranking for AP.

`values` (rounds x items, int8 or float64, read-only) times `scale` (rounds) is what each item is
worth in each round. `place[u]` is the place of item u, from 0; ties go by index. Random numbers are
drawn one by one in an order that the plain learners of `scant.games.learners` share, so that both
play the same game.
"""

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import average_precision
from scant.kernels.sorting import place_by, sorter

UNIFORM, GUMBEL, QUICKSORT = range(3)
FAR = 1000  # powers of two beyond which odds count as 0
POWERS = 2.0 ** np.arange(-FAR, FAR + 1)

# Items' weights w as exp(w) = mantissa * 2^exponent, mantissas from 1 to 2: weights of any size,
# far apart or not, fit. The rest is scratch of `quicksort`.
Odds = namedtuple("Odds", "mantissas exponents relative items sides")


class Game(NamedTuple):
    """What items are worth in each round.

    values : int8 or float64 (rounds x items); scale : float64 (rounds)
    place_weights : float64 (items), the weight of each place
    by_ap : the measure is AP instead
    """

    values: np.ndarray
    scale: np.ndarray
    place_weights: np.ndarray
    by_ap: bool


class Record(NamedTuple):
    """What is reported of a play.

    kept : int64, the rounds to report, from 1 and ascending
    total : float64, the cumulative value at each; explored : int64, the exploration rounds up to
        each
    """

    kept: np.ndarray
    total: np.ndarray
    explored: np.ndarray


class Blocks(NamedTuple):
    """The blocks of RTop-kF, as many as cover the rounds.

    lengths, noises : int64 and float64, the length and the noise of each
    counted : float64, how many times each block's estimate is counted
    """

    lengths: np.ndarray
    noises: np.ndarray
    counted: np.ndarray


@compiled()
def even_odds(m):
    """The `Odds` of m items with weight 0."""
    items, sides = np.empty(2 * m, np.uint32), np.empty((m + 2, 3), np.uint32)
    return Odds(np.ones(m), np.zeros(m, np.int64), np.empty(m), items, sides)


@compiled()
def set_odds(weight, odds, u):
    """Set item u's weight in `odds`."""
    odds.exponents[u] = math.floor(weight * 1.4426950408889634)
    odds.mantissas[u] = math.exp(weight - odds.exponents[u] * 0.6931471805599453)


@compiled()
def _relate(odds, items, exponent):
    """exp(w) of these items over 2^exponent, cut off at 2^FAR and 2^-FAR, into `odds.relative`."""
    for u in items:
        power = min(max(odds.exponents[u] - exponent, -FAR), FAR)
        odds.relative[u] = odds.mantissas[u] * POWERS[np.uint64(power + FAR)]


@compiled()
def quicksort(odds, random, uniforms, place):
    """Write the items' places by noisy QuickSort into `place`, see `scant.games.sorting.quicksort`.

    The items of each side follow one another in one half of `odds.items`. Those that come before
    the pivot go to the other half from the left, the others from the right, so that these are read
    backwards. A row of `odds.sides` has where a side begins that is left to sort, how many items it
    has, and whether they are read forwards.

    uniforms : float64, scratch as long as `place`, which is uint32 (as are all indices here:
        unsigned ones are quicker)
    """
    m, one = np.uint64(place.shape[0]), np.uint64(1)
    relative, items, sides = odds.relative, odds.items, odds.sides
    lowest, highest = odds.exponents[0], odds.exponents[0]
    for u in range(m):
        items[u] = u
        lowest, highest = min(lowest, odds.exponents[u]), max(highest, odds.exponents[u])
    far_apart = highest - lowest > FAR
    _relate(odds, items[:m], highest)
    place[0] = 0  # if it is alone
    sides[0, 0], sides[0, 1], sides[0, 2] = 0, m, 1
    left_over = np.uint64(m > 1)
    # few branches, none of which could be foreseen: sides of two or more alone are left over
    while left_over > 0:
        left_over -= one
        start_of_side, n, forwards = (
            np.uint64(sides[left_over, 0]),
            np.uint64(sides[left_over, 1]),
            sides[left_over, 2],
        )
        begin, step = (
            (np.int64(start_of_side), 1) if forwards else (np.int64(start_of_side + n - one), -1)
        )
        start, target = (
            (start_of_side, start_of_side + m)
            if start_of_side < m
            else (start_of_side - m, start_of_side - m)
        )
        skipped = np.int64(random.random() * n) if n > 2 else 1
        pivot = items[np.uint64(begin + step * skipped)]
        if far_apart:
            _relate(odds, items[start_of_side : start_of_side + n], odds.exponents[pivot])
        if n == 2:
            u = items[np.uint64(begin)]
            first = random.random() * (relative[u] + relative[pivot]) < relative[u]
            place[u], place[pivot] = start + np.uint64(not first), start + np.uint64(first)
            continue
        for i in range(n - one):  # apart, since the loop below is quicker without calls
            uniforms[i] = random.random()
        left, right, weight = target, target + n - one, relative[pivot]
        for i in range(n - one):
            u = items[np.uint64(begin + step * (np.int64(i) + (np.int64(i) >= skipped)))]
            first = uniforms[i] * (relative[u] + weight) < relative[u]
            items[left], items[right] = u, u
            left += np.uint64(first)
            right -= np.uint64(not first)
        items[left] = pivot
        before, after = left - target, n - one - (left - target)
        place[pivot], place[items[target]], place[items[target + n - one]] = (
            start + before,
            start,
            start + n - one,
        )
        sides[left_over, 0], sides[left_over, 1], sides[left_over, 2] = left + one, after, 0
        left_over += np.uint64(after > 1)
        # the left side is next
        sides[left_over, 0], sides[left_over, 1], sides[left_over, 2] = target, before, 1
        left_over += np.uint64(before > 1)


@compiled(inline="always")  # a call with so many arrays takes a tenth of a round
def _show(procedure, weights, noise, odds, random, scores, place, order, by_score):
    """Draw a ranking: the places of the items by `weights`, sorted with noise."""
    m = weights.shape[0]
    if procedure == QUICKSORT:
        quicksort(odds, random, scores, place)
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
def play_full(game, learns, procedure, rate, noise, random, record):
    """Play a learner that sorts what it has seen of all items, with fresh noise in each round.

    Parameters
    ----------
    game, record : a `Game` and a `Record`; no round explores
    learns : if not, the weights stay 0: a uniformly random ranking each round
    procedure : how noise enters: UNIFORM on [0, noise], GUMBEL times noise, QUICKSORT
    rate : what a round's values are multiplied by as they are added to the weights
    """
    values, scale, place_weights, by_ap = game
    kept, total, _ = record
    rounds, m = values.shape
    weights, scores = np.zeros(m), np.empty(m)
    place, order, ranked = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m, values.dtype)
    odds, by_score = even_odds(m), sorter(scores)
    report, value = 0, 0.0
    for t in range(rounds):
        row = values[t]
        _show(procedure, weights, noise, odds, random, scores, place, order, by_score)
        value += _worth(place, row, place_weights, by_ap, ranked) * scale[t]
        if report < kept.shape[0] and kept[report] == t + 1:
            total[report] = value
            report += 1
        if not learns:
            continue
        step = rate * scale[t]
        for u in range(m):
            if row[u] != 0:
                weights[u] += step * row[u]
                if procedure == QUICKSORT:
                    set_odds(weights[u], odds, u)


@compiled()
def _spread(estimate, place, place_weights, ordered):
    """The product A R of FTPL's bound for a block's estimate: A is the sum of the estimate's
    distances to its median, R the worth of its best ranking less that of its worst.

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
def play_blocks(game, procedure, rate, k, blocks, at_random, adaptive, gain, prior, random, record):
    """Play RTop-kF: blocks, in each of which every cell of k items is once shown on top, at a
    random time.

    Parameters
    ----------
    game, blocks, record : a `Game`, `Blocks` and a `Record`
    procedure, rate : of the full-information learner, as in `play_full`
    at_random : while a cell is shown, the other items are in uniformly random order, else in the
        learner's
    adaptive : blocks take their length and noise from the data instead, see
        `scant.games.learners.AdaptiveRTopKF`
    gain, prior : used if `adaptive`: whether greater values are better, and A R / D of a block
        before it is seen
    """
    values, scale, place_weights, by_ap = game
    lengths, noises, counted = blocks
    kept, total, explored = record
    rounds, m = values.shape
    c = (m + k - 1) // k
    weights, scores = np.zeros(m), np.empty(m)
    place, order, ranked = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m, values.dtype)
    odds, by_score = even_odds(m), sorter(scores)
    estimate, cells, flat = np.zeros(m), np.empty(c, np.int64), np.zeros(m)
    report, value, exploring = 0, 0.0, 0
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
                shortest = max(c, int(1.5 * (c * c * t / m) ** (1 / 3)))
                length = min(max(length, shortest), max(shortest, int(math.sqrt(c * t))))
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
            UNIFORM if shuffles else procedure,
            flat if shuffles else weights,
            1.0 if shuffles else noise,
            odds,
            random,
            scores,
            place,
            order,
            by_score,
        )
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
        if report < kept.shape[0] and kept[report] == t + 1:
            total[report], explored[report] = value, exploring
            report += 1
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
                set_odds(weights[u], odds, u)
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
    """Write sums into `sums`, float64 (kept x items): in row i, the scaled values summed over
    rounds up to the i-th kept round.
    """
    rounds, m = values.shape
    total, report = np.zeros(m), 0
    for t in range(rounds):
        row, factor = values[t], scale[t]
        for u in range(m):
            total[u] += factor * row[u]
        if report < kept.shape[0] and kept[report] == t + 1:
            for u in range(m):
                sums[report, u] = total[u]
            report += 1


@compiled()
def overlaps_at(values, kept, overlaps):
    """Write overlaps of binary relevances R into `overlaps`: `overlaps[i, a, b]` is R_t(a) R_t(b) /
    sum(R_t), summed over rounds t up to the i-th kept round.
    """
    rounds, m = values.shape
    total, report, items = np.zeros((m, m)), 0, np.empty(m, np.int64)
    for t in range(rounds):
        relevant = 0
        for u in range(m):
            if values[t, u] > 0:
                items[relevant] = u
                relevant += 1
        for i in range(relevant):
            for j in range(relevant):
                total[items[i], items[j]] += 1.0 / relevant
        if report < kept.shape[0] and kept[report] == t + 1:
            for a in range(m):
                for b in range(m):
                    overlaps[report, a, b] = total[a, b]
            report += 1


@compiled()
def best_path(overlap, order):
    """The largest total AP of a fixed ranking; the ranking goes into `order`. See
    `losses.best_average_precision`.

    With Q(S) the sum of overlaps of the pairs within S, each item with itself and each pair once,
    the item a placed below S adds (Q(S + a) - Q(S)) / (|S| + 1).
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
    """The least and the largest scaled value, and the largest sum in a round, over pairs of items,
    of squared differences.
    """
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
    """Sinkhorn's iteration in place: scale rows, then columns, until rows sum to 1 within
    `tolerance`.

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
