"""One pass of online gradient descent over a sample, and the losses of single queries.

Queries have lists of equal length: the documents of query q are rows q m to (q + 1) m of
`features`.
"""

import numpy as np

from scant.kernels import compiled
from scant.kernels.batch import hinges
from scant.kernels.pieces import project, score, step
from scant.kernels.top import RANKSVM, smooth_surrogate


@compiled()
def descend(features, labels, m, n, objective, rate, radius, gains, exponentials, weights, average):
    """Online gradient descent with step size `rate` over the first n queries, in the l2 ball of
    this radius. RankSVM's subgradient counts only hinges above 0.

    weights : float64 (features), where to start; where it ends after the call
    average : float64 (features), set to the mean of the weights before each of the n steps
    """
    d = features.shape[1]
    scores, scratch, g = np.empty(m), np.empty(m), np.empty(m)
    bits, goals = np.empty(m, np.int64), np.empty(exponentials.shape[0])
    nothing = features.reshape(features.size)[:0]
    average[:] = 0.0
    for q in range(n):
        for j in range(d):
            average[j] += (weights[j] - average[j]) / (q + 1)
        x, label = features[q * m : (q + 1) * m], labels[q * m : (q + 1) * m]
        score(x, weights, scores, nothing)
        if objective == RANKSVM:
            hinges(scores, label, 1e-12, bits, g)
        else:
            smooth_surrogate(
                objective, scores, label, 0.0, 1.0, gains, exponentials, scratch, bits, goals, g
            )
        step(x, g, rate, weights, nothing)
        project(weights, radius)


@compiled()
def losses(features, labels, m, objective, gains, exponentials, weights, values):
    """Write the surrogate loss of each query at `weights`, float64 (features), into `values`,
    float64 (queries).
    """
    scores, scratch, g = np.empty(m), np.empty(m), np.empty(m)
    bits, goals = np.empty(m, np.int64), np.empty(exponentials.shape[0])
    nothing = features.reshape(features.size)[:0]
    for q in range(values.shape[0]):
        x, label = features[q * m : (q + 1) * m], labels[q * m : (q + 1) * m]
        score(x, weights, scores, nothing)
        if objective == RANKSVM:
            values[q], _, _ = hinges(scores, label, 1.0, bits, g)
        else:
            values[q], _ = smooth_surrogate(
                objective, scores, label, 0.0, 1.0, gains, exponentials, scratch, bits, goals, g
            )
