"""Newton steps on the cross entropy of gains: loop and class agree, and the step is Newton's."""

import numpy as np
import pytest

from scant.randomness import generator
from scant.rankers.newton import Newton
from scant.rankers.play import play, play_plain, query_order


@pytest.fixture(params=["noisy", "odd"])
def stream(request):
    return request.getfixturevalue(request.param)


def learner(stream, penalty=0.5, **entry):
    return Newton.from_study(entry, {}, stream.metadata, penalty, generator(3, "noise"))


@pytest.mark.parametrize("remember", [False, True])
def test_the_compiled_loop_is_the_plain_class(stream, remember):
    queries = query_order(stream, generator(3, "queries"), 150)
    one = play(stream, queries, learner(stream, remember=remember))
    other = play_plain((stream[q] for q in queries), 150, learner(stream, remember=remember))
    np.testing.assert_array_equal(one.updated, other.updated)
    for name in ("measured", "loss", "ranker", "weights"):
        of_both = getattr(one, name), getattr(other, name)
        # scores are float32, whose last digit depends on the order of sums
        np.testing.assert_allclose(*of_both, rtol=1e-5, atol=1e-7, err_msg=name)


def test_a_step_is_that_of_numerical_derivatives(noisy):
    """From weights 0, with the penalty beside the Hessian of the cross entropy."""
    x, grades = noisy[0]
    x = x.astype(np.float64)
    share = (2.0**grades - 1) / (2.0**grades - 1).sum()

    def entropy(weights):
        scores = x @ weights
        return np.log(np.exp(scores).sum()) - share @ scores

    d, step = x.shape[1], 1e-4
    unit = step * np.eye(d)
    gradient = [(entropy(e) - entropy(-e)) / (2 * step) for e in unit]
    hessian = [
        [
            (entropy(a + b) - entropy(a - b) - entropy(b - a) + entropy(-a - b)) / (4 * step**2)
            for b in unit
        ]
        for a in unit
    ]
    ranker = learner(noisy, 0.5)
    play(noisy, np.zeros(1, int), ranker)
    expected = -np.linalg.solve(np.array(hessian) + 0.5 * np.eye(d), gradient)
    np.testing.assert_allclose(ranker.weights, expected, rtol=1e-4, atol=1e-6)


def test_who_remembers_every_grade_ranks_returning_queries_right(noisy):
    first, again = play(noisy, np.r_[:20, :20], learner(noisy, remember=True)).measured.reshape(
        2, 20, -1
    )
    forgets = play(noisy, np.r_[:20, :20], learner(noisy)).measured[:20]
    np.testing.assert_array_equal(first, forgets)
    relevant = noisy.relevant[:20] > 0
    assert (again[relevant] == 1).all() and (forgets < 1).any()
