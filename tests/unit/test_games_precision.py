"""Precision@n as a semi-bandit: draws and estimates by enumeration; bound, rate, refusals."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scant.games.play import Game, build
from scant.games.precision import systematic
from scant.kernels import precision as kernels
from scant.theory import game_bounds

SHAPES = [(2, 1, 1), (3, 1, 1), (3, 2, 1), (4, 2, 1), (5, 3, 2), (4, 2, 2), (5, 2, 3), (5, 2, 4)]
SHAPES += [(5, 4, 5), (6, 3, 4)]
EACH = 60  # a grid of draws whose cells are all alike for the probabilities below


class Grid:
    """Stands in for a generator: draws from the middles of a grid, in turn."""

    def __init__(self, *draws):
        self.draws = iter(draws)

    def random(self):
        return (next(self.draws) + 0.5) / EACH


def made(m, n, k, random=None):
    return build(
        Game(np.eye(m, dtype=np.int8), f"precision@{n}"), {"kind": "semi-bandit", "k": k}, random
    )


def sets_of(m, n, k, x):
    """All rankings of a learner with these inclusion probabilities, multiples of 1/60."""
    for draws in product(range(EACH), repeat=1 if k in (n, m) else 2):
        learner = made(m, n, k, Grid(*draws, 0))
        learner.inclusions = lambda x=x: x.copy()
        yield learner, learner.rank()


def probabilities(m, n):
    """Some inclusion probabilities that sum to n, multiples of 1/60."""
    x = np.full(m, 60 * n // m)
    x[: 60 * n - x.sum()] += 1
    shift = min(x[0], 60 - x[-1], 10)
    x[0] -= shift
    x[-1] += shift
    return x / 60


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_items_are_chosen_and_seen_as_often_as_it_takes_them_to_be(m, n, k):
    x = probabilities(m, n)
    learner, chosen, seen, number = made(m, n, k), np.zeros(m), np.zeros(m), 0
    for _, ranking in sets_of(m, n, k, x):
        assert sorted(ranking) == list(range(m))
        chosen[ranking[:n]] += 1
        seen[ranking[:k]] += 1
        number += 1
    np.testing.assert_allclose(chosen / number, x, atol=1e-9)
    learner.x = x
    np.testing.assert_allclose(seen / number, learner.seen(), atol=1e-9)


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_estimates_are_unbiased(m, n, k):
    x, values = probabilities(m, n), (np.arange(m) % 3 == 0).astype(float)
    mean, number = np.zeros(m), 0
    for learner, ranking in sets_of(m, n, k, x):
        learner.learn(ranking, values[ranking[:k]])
        mean += learner.estimates
        number += 1
    np.testing.assert_allclose(mean / number, 1 - values, atol=1e-9)


@given(
    estimates=st.lists(st.floats(0, 1e4), min_size=2, max_size=9),
    n=st.integers(1, 9),
    eta=st.floats(1e-3, 3.0),
)
def test_inclusion_probabilities_are_capped_weights(estimates, n, eta):
    """They sum to n; below the cap they are in proportion to the weights, no larger at the cap."""
    estimates, m = np.array(estimates), len(estimates)
    n = min(n, m)
    x, weights = np.empty(m), np.empty(m)
    kernels.inclusions(estimates, eta, n, weights, x)
    assert x.sum() == pytest.approx(n)
    assert np.all((x >= 0) & (x <= 1))
    levels = np.log(np.maximum(x, 1e-300)) + eta * estimates
    below = (x < 1) & (x > 1e-200)
    if below.any():
        assert np.ptp(levels[below]) < 1e-6 * (1 + eta * estimates.max())
        assert np.all(levels[x == 1] <= levels[below].min() + 1e-6 * (1 + eta * estimates.max()))
    learner = made(m, n, 1)
    learner.estimates, learner.eta = estimates, eta
    np.testing.assert_allclose(learner.inclusions(), x, rtol=1e-12, atol=0)


@given(
    raw=st.lists(st.floats(0, 1), min_size=1, max_size=30), start=st.floats(0, 1, exclude_max=True)
)
def test_a_systematic_sample_has_its_size_whatever_rounding_does(raw, start):
    n = math.ceil(sum(raw)) or 1
    x = np.array([*raw, max(0.0, n - sum(raw))])
    chosen = np.empty(len(x), bool)
    kernels.systematic(x, n, start, chosen)
    assert chosen.sum() == n
    np.testing.assert_array_equal(chosen, systematic(x, n, start))


def test_the_bound_by_hand():
    assert game_bounds.semi_bandit_eta(20, 5, 2) == pytest.approx(math.sqrt(2 * math.log(4) / 20))
    learner = made(20, 5, 2)
    assert learner.bound(10_000) == pytest.approx(2 * 5 * math.sqrt(10_000 * 20 * math.log(4) / 2))
    assert np.isfinite(made(3, 3, 1).bound(10))  # all items count: nothing to be learnt
