"""The loop over rounds of learners that keep a weight for each of the m! rankings and see all of a
round.
"""

import math

import numpy as np

from scant.kernels import compiled


@compiled()
def _worths(row, scale, place_weights, by_ap, rankings, worths):
    """What each ranking is worth in a round, float64 (rankings): its loss or gain, without
    constants.
    """
    m, relevant = row.shape[0], 0
    for i in range(m):
        relevant += row[i] > 0
    for r in range(rankings.shape[0]):
        total, hits = 0.0, 0
        for i in range(m):
            value = row[rankings[r, i]]
            if by_ap:
                hits += value > 0
                total += hits / (i + 1) if value > 0 else 0.0
            else:
                total += place_weights[i] * value
        worths[r] = (total / relevant if relevant > 0 else 0.0) if by_ap else total * scale


@compiled()
def play_table(game, rankings, sign, eta, spread, random, record):
    """Play `scant.games.learners.Hedge` or `MultiplicativeWeights`; parameters as in
    `scant.kernels.games.play_full`.

    rankings : int64 (m!, items); sign : 1 for losses, -1 for gains; eta : the learning rate
    spread : the largest difference of two rankings' losses, by which multiplicative weights divide
        losses; 0 for Hedge
    """
    values, scale, place_weights, by_ap = game
    kept, total, _ = record
    rounds, count = values.shape[0], rankings.shape[0]
    logs, weights, worths = np.zeros(count), np.empty(count), np.empty(count)
    report, value = 0, 0.0
    for t in range(rounds):
        largest, whole = logs.max(), 0.0
        for r in range(count):
            weights[r] = math.exp(logs[r] - largest)
            whole += weights[r]
        left, drawn = random.random() * whole, 0
        while drawn < count - 1 and left >= weights[drawn]:
            left -= weights[drawn]
            drawn += 1
        _worths(values[t], scale[t], place_weights, by_ap, rankings, worths)
        value += worths[drawn]
        if report < kept.shape[0] and kept[report] == t + 1:
            total[report] = value
            report += 1
        if spread == 0.0:
            for r in range(count):
                logs[r] -= eta * sign * worths[r]
            continue
        smallest = (sign * worths).min()
        for r in range(count):
            logs[r] += math.log1p(-eta * (sign * worths[r] - smallest) / spread)
