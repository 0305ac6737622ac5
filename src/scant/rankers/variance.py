"""The table of the bias and variance of gradient estimates, by the number of grades seen; exact on
small lists.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from scant.measures import gain
from scant.randomness import generator
from scant.rankers.estimators import NEEDS

MISMATCHES = (1.0, 10.0, 100.0)
GRADES = {  # the shares of grades 0 to 4
    "uniform": (0.2, 0.2, 0.2, 0.2, 0.2),
    "web": (0.515, 0.325, 0.134, 0.019, 0.007),  # as in MSLR-WEB30K
}
LENGTHS = (5, 10, 20)


def variance_table(
    seed: int, gamma: float = 0.1, epsilon: float = 1.0, m: int = 5, lists: int = 200
) -> pd.DataFrame:
    """The squared bias and the variance of the estimates for each surrogate, k and `mismatch`.

    Both are computed exactly for each of `lists` random lists with standard Gaussian scores, by
    enumeration: of m documents with uniform grades 0 to 4 for every k and mismatch; of `LENGTHS`
    documents with `GRADES` for the fewest grades that an estimate needs, and mismatch 1. `bias` and
    `variance` are sums over the lists, divided by the sum of the full gradients' squared norms; 0
    with every document seen (k = m). `raw_variance` is a mean over the lists, undivided.

    Parameters
    ----------
    seed : of the lists
    gamma : the probability of exploring
    epsilon : SmoothDCG's smoothing

    Returns
    -------
    frame : surrogate, k, documents, grades, gamma, mismatch, bias, variance, raw_variance, lists
    """
    surrogates = [
        (surrogate, NEEDS[surrogate][0]) for surrogate in ("squared", "kl", "smoothdcg", "ranksvm")
    ]
    kinds = [(m, "uniform"), *((length, grades) for grades in GRADES for length in LENGTHS)]
    rows = []
    for documents, grades in dict.fromkeys(kinds):
        random = generator(seed, "variance", documents, grades)
        scores = random.standard_normal((lists, documents))
        labels = random.choice(5, (lists, documents), p=GRADES[grades])
        whole = (documents, grades) == (m, "uniform")
        for surrogate, fewest in surrogates:
            constants, terms, units = _terms(surrogate, scores, labels, epsilon)
            gradients = constants + terms.sum(axis=1)
            scale = np.sum(gradients**2)
            for k in range(fewest, m + 1) if whole else [fewest]:
                for mismatch in MISMATCHES if whole else [1.0]:
                    means, variances = _moments(scores, constants, terms, units, k, gamma, mismatch)
                    row = {
                        "surrogate": surrogate,
                        "k": k,
                        "documents": documents,
                        "grades": grades,
                        "gamma": gamma,
                    }
                    row |= {"mismatch": mismatch, "bias": np.sum((means - gradients) ** 2) / scale}
                    row |= {
                        "variance": variances.sum() / scale,
                        "raw_variance": variances.mean(),
                        "lists": lists,
                    }
                    rows.append(row)
    # With k = m nothing is estimated, and what is not 0 is rounding.
    return pd.DataFrame(rows).round({"bias": 12, "variance": 12, "raw_variance": 9})


def _terms(surrogate: str, scores: np.ndarray, grades: np.ndarray, epsilon: float) -> tuple:
    """The gradients (lists, m) as constants + the sum over units of terms.

    scores, grades : shape (lists, m)

    Returns
    -------
    constants : (lists, m), what depends on no grade
    terms : (lists, units, m), each seen if its documents are
    units : (units, 1) or (units, 2), the documents of each term
    """
    m = scores.shape[1]
    if surrogate == "ranksvm":
        units = np.array(list(combinations(range(m), 2)))
        i, j = units.T
        better = np.sign(grades[:, i] - grades[:, j])
        violated = better * (1 + better * (scores[:, j] - scores[:, i]) > 0)
        return np.zeros_like(scores), violated[:, :, None] * (np.eye(m)[j] - np.eye(m)[i]), units
    constants, units = np.zeros_like(scores), np.arange(m)[:, None]
    if surrogate == "squared":
        return 2 * scores, -2.0 * grades[:, :, None] * np.eye(m), units
    if surrogate == "kl":
        return constants, (np.exp(scores) - np.exp(grades))[:, :, None] * np.eye(m), units
    soft = np.exp((scores - scores.max(axis=1, keepdims=True)) / epsilon)
    soft /= soft.sum(axis=1, keepdims=True)
    return (
        constants,
        (gain(grades) * soft)[:, :, None] * (soft[:, None] - np.eye(m)) / epsilon,
        units,
    )


def _moments(
    scores, constants, terms, units, k: int, gamma: float, mismatch: float
) -> tuple[np.ndarray, np.ndarray]:
    """The estimates' exact expectations, float64 (lists, m), and variances `E ||g - E g||^2`,
    float64 (lists), over which documents are on top. constants, terms, units : see `_terms`
    """
    lists, m = scores.shape
    own_top = np.zeros((lists, m), bool)
    np.put_along_axis(own_top, np.argsort(-scores, axis=1, kind="stable")[:, :k], True, axis=1)
    tops = np.array([np.isin(range(m), top) for top in combinations(range(m), k)])
    # Shape (tops, units) for rankings drawn at random, and (lists, 1, units) for the one by the
    # scores.
    seen, own_seen = tops[:, units].all(axis=2).astype(float), own_top[:, None, units].all(axis=3)
    chance = gamma * seen.mean(axis=0)
    probabilities = np.where(own_seen[:, 0], 1 - gamma + chance, chance * mismatch)
    weighted = terms / probabilities[:, :, None]
    estimates = constants[:, None] + np.concatenate([seen @ weighted, own_seen @ weighted], axis=1)
    chances = np.append(np.full(len(tops), gamma / len(tops)), 1 - gamma)
    means = np.einsum("t,lti->li", chances, estimates)
    return means, np.einsum("t,lti->l", chances, (estimates - means[:, None]) ** 2)
