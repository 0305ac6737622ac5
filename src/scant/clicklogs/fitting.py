"""Linear rankers fitted to values of documents: what clicks are worth, or grades."""

from typing import NamedTuple

import numpy as np

RIDGE = 1.0  # the penalty of ridge regression
# of the cross entropy, whose values sum to 1
PENALTIES = (0.1, 0.01, 0.001)
FOLDS = 3  # of queries, by which one of these is chosen
# of Newton's method: at most so many; twice the gain of the last one, after which the error is
# about the square of this
STEPS, TOLERANCE = 50, 1e-4


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

    def take(self, kept: np.ndarray) -> "Documents":
        """The documents of some queries: `kept`, bool (documents), is equal within a query."""
        return Documents(self.features[kept], np.unique(self.query[kept], return_index=True)[1])


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


def cross_entropy(documents: Documents, values: np.ndarray) -> np.ndarray:
    """The weights with the least cross entropy of the documents' values and the softmax of their
    scores (ListNet, Cao et al. 2007), plus half a penalty times the weights' square: float64 (d).

    A query counts by the sum of its values. Without a value above 0, the weights are 0. The penalty
    is chosen from `PENALTIES` by threefold cross-validation of the cross entropy.

    values : float64 (documents), 0 or more
    """
    return penalised(documents, values, chosen_penalty(documents, values))


def chosen_penalty(documents: Documents, values: np.ndarray) -> float:
    """The penalty that `cross_entropy` chooses."""
    fold, parts = documents.query % FOLDS, []
    for one in range(FOLDS):
        kept, left = ((documents.take(rows), values[rows]) for rows in (fold != one, fold == one))
        if len(kept[1]) and len(left[1]):
            parts.append([kept, left, np.zeros(documents.features.shape[1])])
    chosen, least = PENALTIES[0], np.inf
    for penalty in PENALTIES:
        loss = 0.0
        for part in parts:
            kept, (left, of_left), start = part
            part[2] = penalised(*kept, penalty, start)
            loss -= of_left @ _log_softmax(left, part[2])
        if loss >= least:  # it falls to its least, and rises after it
            break
        chosen, least = penalty, loss
    return chosen


def penalised(documents: Documents, values: np.ndarray, penalty: float, start=0.0) -> np.ndarray:
    """The weights with the least cross entropy at this penalty, by Newton's steps from `start`."""
    features, starts, query = documents.features, documents.starts, documents.query
    d = features.shape[1]
    weights = np.zeros(d) + start
    if not values.sum() > 0:
        return np.zeros(d)
    shares = values / values.sum()
    of_query = np.add.reduceat(shares, starts)

    def loss(weights):
        log_odds = _log_softmax(documents, weights)
        return penalty / 2 * weights @ weights - shares @ log_odds, np.exp(log_odds)

    value, odds = loss(weights)
    for _ in range(STEPS):
        expected = of_query[query] * odds
        means = np.add.reduceat(odds[:, None] * features, starts)
        slopes = features.T @ (expected - shares) + penalty * weights
        scaled = np.sqrt(expected)[:, None] * features
        curvature = scaled.T @ scaled - (means.T * of_query) @ means
        step = np.linalg.solve(curvature + penalty * np.eye(d), slopes)
        gain, length = slopes @ step, 1.0
        while (new := loss(weights - length * step))[0] > value - length * gain / 4:
            length /= 2
        weights, (value, odds) = weights - length * step, new
        if not gain > TOLERANCE:
            break
    return weights


def _log_softmax(documents: Documents, weights: np.ndarray) -> np.ndarray:
    """The logarithm of the softmax of each query's scores: float64 (documents)."""
    scores = documents.features @ weights
    scores -= np.maximum.reduceat(scores, documents.starts)[documents.query]
    return scores - np.log(np.add.reduceat(np.exp(scores), documents.starts))[documents.query]
