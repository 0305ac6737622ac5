"""The loops over rounds of learners that keep a number for each ranking, on a cell of the atlas.

All take a `Cell` first, and last `random` and a `Record`, as the loops of `scant.kernels.games`.
Random numbers are drawn in the order of the plain learners.
"""

import math
from typing import NamedTuple

import numpy as np

from scant.kernels import compiled


class Cell(NamedTuple):
    """A cell and what comes in it, read-only; see `scant.games.cells.Cell`.

    outcomes : int64 (rounds), the number of each round's relevance vector
    losses : float64 (rankings x outcomes)
    top_of : int64 (rankings), the number of each ranking's top set
    feedback : int64 (sets x outcomes), what each top set shows
    """

    outcomes: np.ndarray
    losses: np.ndarray
    top_of: np.ndarray
    feedback: np.ndarray


@compiled()
def play_forecaster(cell, estimators, eta, gamma, random, record):
    """Play the forecaster, see `scant.games.forecaster.Forecaster`.

    estimators : float64 (sets x feedbacks x rankings)
    eta, gamma : its rates
    random, record : the generator, and a `scant.kernels.games.Record` to fill
    """
    outcomes, losses, top_of, feedback = cell
    kept, total, explored = record
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
