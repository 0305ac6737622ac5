"""The table of the estimates' bias and variance."""

import itertools

import numpy as np
import pytest

from scant.online.estimators import estimate, moments, value_and_gradient
from scant.online.variance import variance_table


@pytest.mark.parametrize(
    ("surrogate", "k", "mismatch", "ordered"),
    [
        ("squared", 1, 1.0, False),
        ("kl", 3, 10.0, False),
        ("smoothdcg", 2, 1.0, False),
        ("ranksvm", 2, 10.0, False),
        ("ranksvm", 3, 1.0, False),
        ("ranksvm", 2, 0.5, True),
    ],
)
def test_moments_are_those_over_all_rankings(surrogate, k, mismatch, ordered):
    random = np.random.default_rng(3)
    scores, grades, gamma = random.standard_normal(4), random.integers(0, 4, 4), 0.3
    own = tuple(np.argsort(-scores, kind="stable"))
    rankings = list(itertools.permutations(range(4)))
    chances = np.array([gamma / 24 + (1 - gamma) * (ranking == own) for ranking in rankings])
    estimates = np.array(
        [estimate(surrogate, scores, grades, ranking, k, gamma, 0.5, mismatch, ordered) for ranking in rankings]
    )
    mean = chances @ estimates
    variance = chances @ ((estimates - mean) ** 2).sum(axis=1)
    got = moments(surrogate, scores, grades, k, gamma, 0.5, mismatch, ordered)
    np.testing.assert_allclose(got[0], mean, atol=1e-12)
    assert got[1] == pytest.approx(variance)


def test_one_list_by_hand():
    # Two documents, the second on top: with gamma 0.5 it is seen with probability 3/4, the other with 1/4.
    mean, variance = moments("squared", [0.0, 1.0], [1, 2], 1, 0.5)
    np.testing.assert_allclose(mean, [-2, -2])  # 2 (s - R)
    # Seen first: (0 - 8, 2); seen second: (0, 2 - 16/3).
    assert variance == pytest.approx(1 / 4 * (36 + 16) + 3 / 4 * (4 + (4 / 3) ** 2))


def test_the_table_is_unbiased_without_mismatch_and_exact_with_every_grade():
    table = variance_table(1, lists=10)
    assert (table.loc[table["mismatch"] == 1, "bias"] == 0).all()
    assert (table.loc[(table["mismatch"] > 1) & (table["k"] < 5), "bias"] > 0).all()
    assert (table.loc[table["k"] == 5, ["bias", "variance"]] == 0).all().all()
    falling = table[table["mismatch"] == 1].groupby("surrogate")["variance"]
    assert falling.apply(lambda one: (one.diff().dropna() < 0).all()).all()
    assert table.groupby("surrogate")["k"].min().to_dict() == {"kl": 1, "ranksvm": 2, "smoothdcg": 1, "squared": 1}


def test_the_table_is_relative_to_the_gradients():
    table = variance_table(1, gamma=0.2, m=3, lists=1).set_index(["surrogate", "k", "mismatch"])
    from scant.randomness import generator

    random = generator(1, "variance")
    scores, grades = random.standard_normal(3), random.integers(0, 5, 3)
    _, gradient = value_and_gradient("kl", scores, grades)
    _, variance = moments("kl", scores, grades, 1, 0.2)
    assert table.loc[("kl", 1, 1.0), "variance"] == pytest.approx(variance / (gradient @ gradient))
