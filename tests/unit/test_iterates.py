"""The weights a learner ranks by: the mean of all rounds, or of those since a power of two."""

import numpy as np
import pytest

from scant.kernels import iterates as kernel
from scant.rankers.iterates import CHOICES, Iterates


@pytest.mark.parametrize("iterate", CHOICES[1:])
def test_weights_are_averaged_over_the_rounds_that_the_choice_names(iterate):
    # changed in place
    weights, current = np.random.default_rng(0).standard_normal((70, 3)), np.zeros(3)
    plain, kept = Iterates(iterate), np.zeros((kernel.ROWS, 3))
    for t in range(70):
        powers = [2**n for n in range(7) if 2**n <= t]
        start = powers[-2] if iterate == "suffix" and len(powers) > 1 else 0
        assert iterate == "average" or t < 2 or 0.5 < (t + 1 - start) / (t + 1) <= 0.75
        current[:] = weights[t]
        expected = weights[start : t + 1].sum(axis=0) / (t + 1 - start)
        np.testing.assert_allclose(plain.mean(current), expected)
        kernel.gather(CHOICES.index(iterate), t, current, kept)
        np.testing.assert_allclose(kept[kernel.MEAN], expected)


def test_the_last_weights_are_their_own_mean():
    plain = Iterates("last")
    for weights in np.random.default_rng(0).standard_normal((5, 3)):
        np.testing.assert_array_equal(plain.mean(weights), weights)
