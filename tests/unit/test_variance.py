"""The table of the estimates' bias and variance."""

import itertools

import numpy as np
import pytest

from scant.measures import rank
from scant.randomness import generator
from scant.rankers.estimators import estimate, value_and_gradient
from scant.rankers.variance import GRADES, variance_table


def moments(surrogate, scores, grades, k, gamma, epsilon, mismatch):
    """The mean of estimates and their variance, by which documents are on top."""
    m, options = len(scores), {"epsilon": epsilon, "mismatch": mismatch}
    tops = [*itertools.combinations(range(m), k), rank(scores)[:k]]
    chances = np.append(np.full(len(tops) - 1, gamma / (len(tops) - 1)), 1 - gamma)
    estimates = [estimate(surrogate, scores, grades, top, k, gamma, **options) for top in tops]
    mean = chances @ estimates
    return mean, chances @ ((estimates - mean) ** 2).sum(axis=1)


@pytest.mark.parametrize("grades", ["uniform", "web"])
@pytest.mark.parametrize("m", [3, 10])
def test_the_table_has_the_moments_of_the_estimates(m, grades):
    """Both variances, and the bias, by the enumeration of estimates one by one."""
    table = variance_table(1, gamma=0.2, epsilon=0.5, m=3, lists=2)
    table = table[(table["documents"] == m) & (table["grades"] == grades)]
    random = generator(1, "variance", m, grades)
    scores, labels = random.standard_normal((2, m)), random.choice(5, (2, m), p=GRADES[grades])
    assert len(table) == {(3, "uniform"): 11 * 3, (10, "uniform"): 4, (10, "web"): 4}.get(
        (m, grades), 0
    )
    for row in table.itertuples():
        bias = variance = scale = 0.0
        for query in zip(scores, labels, strict=True):
            _, gradient = value_and_gradient(row.surrogate, *query, 0.5)
            mean, spread = moments(row.surrogate, *query, row.k, 0.2, 0.5, row.mismatch)
            bias, variance = bias + np.sum((mean - gradient) ** 2), variance + spread
            scale += gradient @ gradient
        assert row.bias == pytest.approx(bias / scale, abs=1e-11)
        assert row.variance == pytest.approx(variance / scale, rel=1e-9, abs=1e-11)
        assert row.raw_variance == pytest.approx(variance / 2, rel=1e-9, abs=1e-8)
