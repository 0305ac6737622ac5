"""The loops over rounds of learners that keep a number for each ranking, on a cell of the atlas.

All take first, read-only: `outcomes`, int64 (rounds), the number of each round's relevance vector; `losses`, float64
(rankings x outcomes); `top_of`, int64 (rankings), the number of each ranking's top set; and `feedback`, int64 (sets x
outcomes), what each top set shows. See `scant.games.cells.Cell`. And last: `random`, `kept`, `total` and `explored` as
the loops of `scant.kernels.games`. Random numbers are drawn in the order of the plain learners.
"""

import math

import numpy as np

from scant.kernels import compiled


@compiled()
def play_forecaster(outcomes, losses, top_of, feedback, estimators, eta, gamma, random, kept, total, explored):
    """Play the forecaster, see `scant.games.forecaster.Forecaster`.

    estimators : float64 (sets x feedbacks x rankings)
    eta, gamma : its rates
    """
    rankings, sets = losses.shape[0], feedback.shape[0]
    logs, edges, shares = np.zeros(rankings), np.empty(rankings), np.empty(sets)
    report, value, exploring = 0, 0.0, 0
    for t in range(outcomes.shape[0]):
        largest, sum_ = logs[0], 0.0
        for i in range(1, rankings):
            largest = max(largest, logs[i])
        shares[:] = 0.0
        for i in range(rankings):
            weight = math.exp(logs[i] - largest)
            sum_ += weight
            edges[i] = sum_
            shares[top_of[i]] += weight
        u, number = random.random(), 0
        if u < gamma:
            top = min(int(u / gamma * sets), sets - 1)
            best = -math.inf
            for i in range(rankings):
                if top_of[i] == top and logs[i] > best:
                    number, best = i, logs[i]
            exploring += 1
        else:
            x = (u - gamma) / (1.0 - gamma) * sum_
            while number < rankings - 1 and edges[number] <= x:
                number += 1
            top = top_of[number]
        value += losses[number, outcomes[t]]
        if report < kept.shape[0] and kept[report] == t + 1:
            total[report], explored[report] = value, exploring
            report += 1
        probability = (1.0 - gamma) * (shares[top] / sum_) + gamma / sets
        step, estimate = eta / probability, estimators[top, feedback[top, outcomes[t]]]
        for i in range(rankings):
            logs[i] -= step * estimate[i]
