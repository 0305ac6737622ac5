"""Doubly robust estimates whose reward model has seen earlier rows of the test log only.

The rows are put in random order, and in stages that end after 1,024, 2,048, 4,096 rows, and so on.
At the end of each a ridge regression of an ad's rewards on the features is fitted to all rows so
far, for each ad. It is used in the next stage; in the first one there is none, and terms are
importance-weighted rewards. Given the rows before it, a row's term has the policy's CTR as its
expectation, whatever the model says. So betting's intervals are as valid as for importance
weighting. The folds of the usual cross-fitting (Chernozhukov et al. 2018) depend on each other: its
intervals hold in the limit only.
"""

import numpy as np

from scant.bandits import evaluation
from scant.bandits.policies import Choice

FIRST = 1024  # rows before the first model
RIDGE = 10.0  # rows' worth of regularisation, features scaled


def doubly_robust(
    features, action, reward, weight, choice: Choice, order: np.ndarray
) -> np.ndarray:
    """The terms q(x, policy) + w (r - q(x, a)), in the given order, float64 (rows); each in [-B, B
    + 1] for w <= B.

    Parameters
    ----------
    features : float32 (rows x d), finite
    action : int (rows), among the policy's ads; -1 for others
    reward, weight : float64 (rows)
    choice : the policy on the rows
    order : int (rows), a random permutation
    """
    rows, d, ads = len(order), features.shape[1], choice.actions
    terms = np.empty(rows)
    first = order[:FIRST]
    centre = features[first].mean(axis=0, dtype=float)
    width = features[first].std(axis=0, dtype=float)
    width[width == 0] = 1
    squares, products = np.zeros((ads, d + 1, d + 1)), np.zeros((ads, d + 1))
    ridge = np.diag(np.r_[1e-9, np.full(d, RIDGE)])
    start, end = 0, min(FIRST, rows)
    while start < rows:
        stage = order[start:end]
        x = np.column_stack([np.ones(len(stage)), (features[stage] - centre) / width])
        if start:
            slopes = np.stack(
                [
                    np.linalg.solve(square + ridge, product)
                    for square, product in zip(squares, products, strict=True)
                ]
            )
            q = np.clip(x @ slopes.T, 0.0, 1.0)
        else:
            q = np.zeros((len(stage), ads))
        logged, expected = action[stage], choice.take(stage).expected(q)
        of_logged = np.where(logged >= 0, q[np.arange(len(stage)), logged], 0.0)
        terms[start:end] = evaluation.doubly_robust(
            reward[stage], weight[stage], of_logged, expected
        )
        for ad in range(ads):
            of_ad = logged == ad
            squares[ad] += x[of_ad].T @ x[of_ad]
            products[ad] += x[of_ad].T @ reward[stage][of_ad]
        start, end = end, min(2 * end, rows)
    return terms
