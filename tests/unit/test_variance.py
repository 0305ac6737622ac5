"""The table of the estimates' bias and variance."""

import itertools

import numpy as np
import pytest
import yaml

from scant.randomness import generator
from scant.rankers.estimators import estimate, moments, value_and_gradient
from scant.rankers.variance import GRADES, variance_table


@pytest.mark.parametrize(
    ("surrogate", "k", "mismatch", "ordered"),
    yaml.safe_load("""
[[squared, 1, 1.0, false], [kl, 3, 10.0, false], [smoothdcg, 2, 1.0, false],
 [ranksvm, 2, 10.0, false], [ranksvm, 3, 1.0, false], [ranksvm, 2, 0.5, true]]
"""),
)
def test_moments_are_those_over_all_rankings(surrogate, k, mismatch, ordered):
    random = np.random.default_rng(3)
    scores, grades, gamma = random.standard_normal(4), random.integers(0, 4, 4), 0.3
    own = tuple(np.argsort(-scores, kind="stable"))
    rankings = list(itertools.permutations(range(4)))
    chances = np.array([gamma / 24 + (1 - gamma) * (ranking == own) for ranking in rankings])
    options = {"epsilon": 0.5, "mismatch": mismatch, "ordered": ordered}
    estimates = np.array(
        [estimate(surrogate, scores, grades, ranking, k, gamma, **options) for ranking in rankings]
    )
    mean = chances @ estimates
    variance = chances @ ((estimates - mean) ** 2).sum(axis=1)
    got = moments(surrogate, scores, grades, k, gamma, 0.5, mismatch, ordered)
    np.testing.assert_allclose(got[0], mean, atol=1e-12)
    assert got[1] == pytest.approx(variance)


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
