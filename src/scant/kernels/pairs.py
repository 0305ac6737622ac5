"""Stochastic gradient descent for the linear scorers of ads: on single examples, and on pairs for
the AUC loss.

Both minimise a mean loss plus `regularisation / 2 |w|^2` with the step `1 / (regularisation (t +
offset))`, as Pegasos does. With it the weights before step t are a plain sum, `w = v /
(regularisation (t + offset))`, where v adds up the slope times the features of each step; the step
need not shrink them. What is returned is the mean of the weights after every sixteenth step of the
second half: neighbours hardly differ. Examples come in random order without replacement, reshuffled
when all have been seen, which leaves less noise than independent draws. Features, v and the
products are float32; means are float64.
"""

import math

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import LARGEST_EXPONENT, SUMS

EVERY = 16  # steps between the weights that are averaged


@compiled()
def _next(order, place, random):
    """The entry of `order` at place `place` of a random permutation that comes into being place by
    place.
    """
    other = place + int(random.random() * (order.shape[0] - place))
    chosen = order[other]
    order[other] = order[place]
    order[place] = chosen
    return chosen


@compiled()
def _logistic_slope(margin):
    """1 / (1 + exp(margin)), the negative derivative of log(1 + exp(-margin))."""
    return 1.0 / (1.0 + math.exp(min(margin, LARGEST_EXPONENT)))


@compiled(fastmath=SUMS)
def descend_pairs(positive, negative, regularisation, offset, steps, hinge, random):
    """Minimise the mean of loss(w.(x+ - x-)) over all pairs of a positive and a negative example.

    Parameters
    ----------
    positive, negative : float32 (rows x d)
    regularisation : lambda > 0
    offset : of the step, >= 1
    steps : number of steps, each of one random positive and one random negative example
    hinge : loss [1 - t]_+ if true, else log(1 + exp(-t))
    random : a NumPy generator

    Returns
    -------
    weights : float64 (d)
    """
    d = positive.shape[1]
    total, mean, kept = np.zeros(d, np.float32), np.zeros(d), 0
    positives, negatives = np.arange(positive.shape[0]), np.arange(negative.shape[0])
    i = j = 0
    for t in range(steps):
        x, y = positive[_next(positives, i, random)], negative[_next(negatives, j, random)]
        i = i + 1 if i + 1 < positives.shape[0] else 0
        j = j + 1 if j + 1 < negatives.shape[0] else 0
        product = np.float32(0)
        for k in range(d):
            product += total[k] * (x[k] - y[k])
        margin = np.float64(product) / (regularisation * (t + offset))
        if hinge:
            slope = np.float32(1.0 if margin < 1.0 else 0.0)
        else:
            slope = np.float32(_logistic_slope(margin))
        if slope != 0:
            for k in range(d):
                total[k] += slope * (x[k] - y[k])
        if 2 * t >= steps - 1 and (steps - 1 - t) % EVERY == 0:
            scale = 1.0 / (regularisation * (t + 1 + offset))
            for k in range(d):
                mean[k] += scale * total[k]
            kept += 1
    return mean / kept


@compiled(fastmath=SUMS)
def descend_examples(features, clicked, regularisation, offset, intercept, steps, random):
    """Minimise the mean of log(1 + exp(-y (w.x + b))) over examples, y = 1 where clicked, else -1.

    The intercept b is not regularised. Its step is 4 / sqrt(t), as the loss's curvature in b is at
    most 1/4, but has no lower limit; it is averaged like the weights.

    Parameters
    ----------
    features : float32 (rows x d)
    clicked : bool (rows)
    regularisation, offset, steps, random : as in `descend_pairs`
    intercept : where b starts

    Returns
    -------
    weights : float64 (d)
    intercept : float
    """
    d = features.shape[1]
    total, mean, kept = np.zeros(d, np.float32), np.zeros(d), 0
    order, i, bias, mean_bias = np.arange(features.shape[0]), 0, intercept, 0.0
    for t in range(steps):
        row = _next(order, i, random)
        i = i + 1 if i + 1 < order.shape[0] else 0
        x = features[row]
        product = np.float32(0)
        for k in range(d):
            product += total[k] * x[k]
        value = np.float64(product) / (regularisation * (t + offset)) + bias
        slope = _logistic_slope(value) if clicked[row] else -_logistic_slope(-value)
        single = np.float32(slope)
        for k in range(d):
            total[k] += single * x[k]
        bias += 4.0 / math.sqrt(t + 1.0) * slope
        if 2 * t >= steps - 1 and (steps - 1 - t) % EVERY == 0:
            scale = 1.0 / (regularisation * (t + 1 + offset))
            for k in range(d):
                mean[k] += scale * total[k]
            mean_bias += bias
            kept += 1
    return mean / kept, mean_bias / kept
