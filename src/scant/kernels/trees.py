"""Scores of forests from the arrays of their trees."""

import numpy as np

from scant.kernels import compiled


@compiled()
def average(features, roots, left, right, feature, threshold, value):
    """The mean over trees of the value of the leaf that each row ends in.

    Parameters
    ----------
    features : float32 (rows x d)
    roots : int64 (trees), the node at which each tree begins
    left, right : int32 (nodes), the children of a node, which come after it; -1 for those of a leaf
    feature, threshold : int32 and float64 (nodes): a row goes left if its feature is at most the threshold
    value : float64 (nodes)

    Returns
    -------
    mean : float64 (rows)
    """
    mean = np.zeros(features.shape[0])
    for tree in range(roots.shape[0]):
        for row in range(features.shape[0]):
            node = roots[tree]
            while left[node] >= 0:
                node = left[node] if features[row, feature[node]] <= threshold[node] else right[node]
            mean[row] += value[node]
    return mean / roots.shape[0]
