"""Ridge regression with boosted trees of its residuals."""

import numpy as np
import pytest

from scant.errors import SettingError
from scant.randomness import generator
from scant.rankers import held_out
from scant.rankers.boosted import Boosted
from scant.rankers.play import play
from scant.rankers.ridge import Ridge

ROUNDS = 200


def learner(cls, stream, **entry):
    facts = stream.metadata | {"rounds": ROUNDS}
    return cls.from_study(entry, {}, facts, 1.0, generator(3, "noise"))


def test_it_is_greedy_ridge_regression_until_its_first_refit(noisy):
    """With one refit: after half of the rounds."""
    queries = np.arange(ROUNDS) % len(noisy)
    boosted = play(noisy, queries, learner(Boosted, noisy, refits=1))
    ridge = play(noisy, queries, learner(Ridge, noisy))
    same = np.isclose(boosted.measured, ridge.measured, atol=1e-9).all(axis=1)
    assert same[: ROUNDS // 2].all() and not same[ROUNDS // 2 :].all()


def test_it_learns_what_no_linear_ranker_can(packed):
    """A document is relevant if its one feature is near 0."""
    random = np.random.default_rng(5)
    features = [random.uniform(-1, 1, (8, 1)).astype(np.float32) for _ in range(ROUNDS)]
    stream = packed((2 * (abs(x[:, 0]) < 0.3), x) for x in features)
    queries = np.arange(ROUNDS)
    late = slice(ROUNDS // 2, None)
    boosted, ridge = (
        play(stream, queries, learner(cls, stream, k="all")).measured[late, 0].mean()
        for cls in (Boosted, Ridge)
    )
    assert boosted > ridge + 0.2


def test_without_lightgbm_it_is_refused(monkeypatch):
    monkeypatch.setattr(held_out, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"pip install 'scant\[trees\]'"):
        Boosted.check({"kind": "boosted-ridge"})
