"""What `scant compile` plays: a toy with each compiled loop, for the types that studies call it
with.
"""

import numpy as np

from scant.bandits.learners import AucRanker, Forest, Logistic
from scant.randomness import generator


def fit() -> None:
    """Fit scorers to a small log of random numbers."""
    features = generator(0, "toy").standard_normal((40, 3)).astype(np.float32)
    clicked = features[:, 0] > 0
    for scorer in (
        Logistic(1.0, steps=100),
        AucRanker(1.0, steps=100, pair_loss="logistic"),
        Forest(trees=1),
    ):
        scorer.fit(features, clicked, generator(0, "noise"))
        scorer.score(features)
