"""What tests share: one profile of Hypothesis, and streams made of queries."""

from itertools import count

import hypothesis
import numpy as np
import pytest

from scant.data import stream

# The same examples on every run, however long numba takes to compile before the first.
hypothesis.settings.register_profile("scant", deadline=None, derandomize=True, max_examples=60, print_blob=False)
hypothesis.settings.load_profile("scant")


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    """A function that writes queries, pairs of grades (m) and features (m x d), to a stream file and maps it."""
    folder, number = tmp_path_factory.mktemp("streams"), count()

    def pack(queries, ranker=None):
        path = folder / f"{next(number)}.arrow"
        stream.write(path, ((q, np.asarray(r), np.asarray(x)) for q, (r, x) in enumerate(queries)), {}, ranker)
        return stream.read(path)

    return pack
