"""The table of what restricted feedback costs an estimate: its bias and variance by k, exact on small lists."""

import numpy as np
import pandas as pd

from scant.online.estimators import ALL, NEEDS, moments, value_and_gradient
from scant.randomness import generator

MISMATCHES = (1.0, 10.0, 100.0)


def variance_table(seed: int, gamma: float = 0.1, epsilon: float = 1.0, m: int = 5, lists: int = 200) -> pd.DataFrame:
    """For each surrogate, k and `mismatch`: the estimate's bias and variance, relative to the gradient's square.

    Both are exact on each list, by enumeration; their sums over `lists` random lists of m documents (standard Gaussian
    scores, grades uniform on 0..4) are divided by that of the squared norm of the full gradient. So `variance` is
    what one round's estimate is off by, in units of what it estimates. With every document seen (k = m) both are 0.

    seed : of the lists; gamma : the probability of exploring; epsilon : SmoothDCG's smoothing
    """
    random = generator(seed, "variance")
    queries = [(random.standard_normal(m), random.integers(0, 5, m)) for _ in range(lists)]
    rows = []
    for surrogate, (needed, _) in NEEDS.items():
        if needed == ALL:
            continue
        gradients = [value_and_gradient(surrogate, *query, epsilon)[1] for query in queries]
        scale = sum(float(gradient @ gradient) for gradient in gradients)
        for k in range(needed, m + 1):
            for mismatch in MISMATCHES:
                bias = variance = 0.0
                for query, gradient in zip(queries, gradients, strict=True):
                    mean, spread = moments(surrogate, *query, k, gamma, epsilon, mismatch)
                    bias += float(np.sum((mean - gradient) ** 2))
                    variance += spread
                # With k = m nothing is estimated; what differs is rounding.
                bias, variance = round(bias / scale, 12), round(variance / scale, 12)
                row = {"surrogate": surrogate, "k": k, "documents": m, "gamma": gamma, "mismatch": mismatch}
                rows.append(row | {"bias": bias, "variance": variance, "lists": lists})
    return pd.DataFrame(rows)
