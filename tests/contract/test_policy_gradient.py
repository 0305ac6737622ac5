"""The policy gradient on the grade of place 1: loop and class agree, the estimate is unbiased."""

import numpy as np
import pytest

from scant.randomness import generator
from scant.rankers.play import play, play_plain, query_order
from scant.rankers.policy_gradient import PolicyGradient


@pytest.fixture(params=["noisy", "odd"])
def stream(request):
    return request.getfixturevalue(request.param)


def learner(stream, rate):
    entry, readings = {"kind": "policy-gradient"}, {"source": "text"}
    return PolicyGradient.from_study(entry, readings, stream.metadata, rate, generator(3, "noise"))


@pytest.mark.parametrize("rate", [0.01, 1.0])
def test_the_compiled_loop_is_the_plain_class(stream, rate):
    queries = query_order(stream, generator(3, "queries"), 200)
    one = play(stream, queries, learner(stream, rate))
    other = play_plain((stream[q] for q in queries), 200, learner(stream, rate))
    np.testing.assert_array_equal(one.events, other.events)
    for name in ("measured", "loss", "ranker", "weights"):
        of_both = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(*of_both, rtol=1e-7, atol=1e-9, err_msg=name)
    assert one.events[:, 1].any()


def test_its_step_is_the_gradient_of_the_expected_grade(noisy):
    """By enumeration of who is drawn, with any baseline."""
    features, grades = noisy[0]
    x = features.astype(np.float64)
    for before in ([], [3, 1]):
        weights = np.linspace(-1, 1, x.shape[1])
        expected = np.zeros_like(weights)
        for first in range(len(x)):
            ranker = learner(noisy, 1.0)
            ranker.weights, ranker.seen = weights.copy(), list(before)
            ranker.rank(features)
            ranker.learn(features, grades, np.r_[first, np.delete(np.arange(len(x)), first)])
            expected += ranker.chances[first] * (ranker.weights - weights)
        p = ranker.chances
        gradient = x.T @ (p * (grades - p @ grades))
        np.testing.assert_allclose(expected, gradient, rtol=1e-6, atol=1e-9)
