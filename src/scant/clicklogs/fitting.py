"""Linear rankers fitted to values of documents: what clicks are worth, or grades."""

from typing import NamedTuple

import numpy as np

RIDGE = 1.0  # the penalty of ridge regression
PENALTY = 1e-3  # that of the cross entropy, whose values sum to 1


class Documents(NamedTuple):
    """The documents of some queries, one after another.

    features : float64 (documents, d)
    starts : int (queries), the first document of each query
    """

    features: np.ndarray
    starts: np.ndarray

    @property
    def query(self) -> np.ndarray:
        """The query of each document, from 0: int (documents)."""
        sizes = np.diff(self.starts, append=len(self.features))
        return np.repeat(np.arange(len(self.starts)), sizes)


def documents(stream, queries) -> Documents:
    """The documents of these queries of a stream."""
    features = [stream[q][0] for q in queries]
    starts = np.cumsum([0, *map(len, features)])[:-1]
    return Documents(np.concatenate(features).astype(float), starts)


def ridge(features: np.ndarray, values: np.ndarray, counts=None) -> tuple[np.ndarray, float]:
    """The weights and the intercept of ridge regression, whose intercept is not penalised.

    features, values : float64 (rows, d) and (rows)
    counts : float64 (rows), how often each row counts; once if absent
    """
    counts = np.ones(len(values)) if counts is None else counts
    middle, mean = np.average(features, 0, counts), np.average(values, weights=counts)
    x = features - middle
    matrix = x.T @ (counts[:, None] * x) + RIDGE * np.eye(x.shape[1])
    weights = np.linalg.solve(matrix, x.T @ (counts * (values - mean)))
    return weights, float(mean - middle @ weights)


def cross_entropy(found: Documents, values: np.ndarray) -> np.ndarray:
    """The weights with the least cross entropy of the documents' values and the softmax of their
    scores (ListNet, Cao et al. 2007), plus PENALTY / 2 times the weights' square: float64 (d).

    Queries count as their values sum up. Without a value above 0, the weights are 0.

    values : float64 (documents), 0 or more
    """
    from scipy.optimize import minimize  # here, since it takes long to import

    features, starts, query = found.features, found.starts, found.query
    if not values.sum() > 0:
        return np.zeros(features.shape[1])
    shares = values / values.sum()
    of_query = np.add.reduceat(shares, starts)

    def loss(weights):
        scores = features @ weights
        scores -= np.maximum.reduceat(scores, starts)[query]
        odds = np.exp(scores)
        sums = np.add.reduceat(odds, starts)
        value = of_query @ np.log(sums) - shares @ scores + PENALTY / 2 * weights @ weights
        slopes = of_query[query] * odds / sums[query] - shares
        return value, features.T @ slopes + PENALTY * weights

    start = np.zeros(features.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
