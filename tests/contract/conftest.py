"""What contracts of learners share: two streams that are hard to learn from."""

import numpy as np
import pytest

from scant.data import simulated


@pytest.fixture(scope="package")
def noisy(packed):
    """Simulated: no ranker is right, and grades are 0 to 4."""
    queries, _ = simulated.linear(np.random.default_rng(2), 60, 9, 7)
    return packed((grades, x) for _, grades, x in queries)


@pytest.fixture(scope="package")
def odd(packed):
    """Queries of one document, two, more than the radix sort's least; one grade, none above 0."""
    random = np.random.default_rng(3)

    def queries():
        for q, m in enumerate([1, 2, 5, 12, 33, 45] * 8):
            grades = random.integers(0, 5, m)
            if q % 6 == q // 6:
                grades[:] = 0
            elif (q + 3) % 6 == q // 6:
                grades[:] = 3
            x = random.standard_normal((m, 6)).astype(np.float32)
            if m > 3:
                x[3] = x[0]
            yield grades, x

    return packed(queries())
