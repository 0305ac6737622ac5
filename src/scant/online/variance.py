"""The table of the bias and variance of gradient estimates, by the number of grades seen; exact on small lists."""

import numpy as np
import pandas as pd

from scant.online.estimators import ALL, NEEDS, moments, value_and_gradient
from scant.randomness import generator

MISMATCHES = (1.0, 10.0, 100.0)


def variance_table(seed: int, gamma: float = 0.1, epsilon: float = 1.0, m: int = 5, lists: int = 200) -> pd.DataFrame:
    """The squared bias and the variance of the estimates for each surrogate, k and `mismatch`.

    Both are computed exactly for each of `lists` random lists of m documents (standard Gaussian scores, grades uniform
    on 0..4), by enumeration. Their sums over the lists are divided by the sum of the squared norms of the full
    gradients. So the unit of both columns is the squared norm of what is estimated. With every document seen (k = m)
    both are 0.

    Parameters
    ----------
    seed : of the lists
    gamma : the probability of exploring
    epsilon : SmoothDCG's smoothing

    Returns
    -------
    frame : surrogate, k, documents, gamma, mismatch, bias, variance, lists
    """
    random = generator(seed, "variance")
    queries = [(random.standard_normal(m), random.integers(0, 5, m)) for _ in range(lists)]
    rows = []
    for surrogate, (fewest, _) in NEEDS.items():
        if fewest == ALL:
            continue
        gradients = [value_and_gradient(surrogate, *query, epsilon)[1] for query in queries]
        scale = sum(float(gradient @ gradient) for gradient in gradients)
        for k in range(fewest, m + 1):
            for mismatch in MISMATCHES:
                bias = variance = 0.0
                for query, gradient in zip(queries, gradients, strict=True):
                    mean, spread = moments(surrogate, *query, k, gamma, epsilon, mismatch)
                    bias += float(np.sum((mean - gradient) ** 2))
                    variance += spread
                # With k = m nothing is estimated, and what is not 0 is rounding.
                bias, variance = round(bias / scale, 12), round(variance / scale, 12)
                row = {"surrogate": surrogate, "k": k, "documents": m, "gamma": gamma, "mismatch": mismatch}
                rows.append(row | {"bias": bias, "variance": variance, "lists": lists})
    return pd.DataFrame(rows)
