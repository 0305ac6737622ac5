"""A stream of yours: each query has its id, grades and features."""

import numpy as np


def blocks(random, queries=200, documents=8):
    def drawn():
        for query in range(queries):
            features = random.normal(size=(documents, 3)).astype(np.float32)
            yield query, (features[:, 0] > 0.5).astype(int), features

    return drawn(), None  # no ranker is known that separates the grades
