"""The loop over rounds of the learners that explore in phases."""

import math

import numpy as np

from scant.kernels import compiled
from scant.kernels.sorting import place_by, sorter


@compiled()
def ordered_gap(sums, number, place_weights, place, ordered):
    """The least difference between the mean values of two neighbours in the ranking by mean; 0 if
    no neighbours count.

    Only neighbours whose places differ in weight count: to swap others costs nothing.

    sums : each item's values, summed over `number` rounds; place : the items' places by `sums`;
        ordered : scratch
    """
    m, gap = sums.shape[0], math.inf
    for i in range(m):
        ordered[place[i]] = sums[i]
    for j in range(m - 1):
        if place_weights[j] != place_weights[j + 1]:
            gap = min(gap, (ordered[j] - ordered[j + 1]) / number)
    return 0.0 if gap == math.inf else gap


@compiled()
def play_phases(game, k, repeats, lengths, estimates_gap, spread, failure, random, record):
    """Play `scant.games.pege.PEGE` or, if `estimates_gap`, `PEGE2`; parameters as in
    `scant.kernels.games.play_blocks`.

    repeats, lengths : int64, how often each cell is shown in each phase, and how many rounds are
        then exploited
    spread, failure : for PEGE2: the range of values, and the probability with which its gap may be
        wrong
    """
    values, scale, place_weights, _ = game
    kept, total, explored = record
    rounds, m = values.shape
    c = (m + k - 1) // k
    sums, ordered = np.zeros(m), np.empty(m)
    place, leader = np.empty(m, np.int64), np.empty(m, np.int64)
    order, by_score = np.empty(m, np.uint32), sorter(sums)
    for i in range(m):
        leader[i] = i
    report, value, exploring, phase, number = 0, 0.0, 0, 0, 0
    to_explore, to_exploit, growth = 0, 0, 0.0
    for t in range(rounds):
        row = values[t]
        if to_explore == 0 and to_exploit == 0:
            to_explore = c * (1 if estimates_gap else repeats[phase])
            phase += 1
        explores = to_explore > 0
        if explores:
            cell = (to_explore - 1) % c
            start, stop = cell * k, min(m, cell * k + k)
            for u in range(m):
                before = 0
                for v in range(start, stop):
                    before += leader[v] < leader[u]
                place[u] = u - start if start <= u < stop else leader[u] + (stop - start) - before
            for u in range(m):
                value += place_weights[place[u]] * row[u] * scale[t]
            for u in range(start, stop):
                sums[u] += row[u]
            to_explore -= 1
            exploring += 1
        else:
            for u in range(m):
                value += place_weights[leader[u]] * row[u] * scale[t]
            to_exploit -= 1
        if report < kept.shape[0] and kept[report] == t + 1:
            total[report], explored[report] = value, exploring
            report += 1
        if not explores or to_explore > 0:
            continue
        place_by(sums, leader, order, by_score)
        if not estimates_gap:
            to_exploit = lengths[phase - 1]
            continue
        number += 1
        if growth == 0.0:
            width = spread * math.sqrt(
                math.log(2 * m * number * (number + 1) / failure) / (2 * number)
            )
            gap = ordered_gap(sums, number, place_weights, leader, ordered)
            if gap < 4 * width:
                continue
            growth = (gap / (4 * spread)) ** 2
        to_exploit = int(min(math.exp(min(growth * number, 40.0)), 1e15))
