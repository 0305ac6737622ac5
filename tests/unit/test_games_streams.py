"""The streams of the games: what they hold, and that they are drawn as they say."""

import numpy as np
import pytest

from scant.errors import SettingError
from scant.games import streams
from scant.games.streams import FIRST, SECOND, STREAMS, VECTORS, draw
from scant.randomness import generator

ROUNDS = 4000


def mean_error(chance, n=ROUNDS):
    """Five standard errors of a mean of n binary numbers."""
    return 5 * np.sqrt(chance * (1 - chance) / n) + 1e-12


@pytest.mark.parametrize("name", STREAMS)
def test_shape_type_and_range(name):
    stream = draw(name, generator(0), 300)
    items = {"gauss": 10, "indistinguishable": 3, "hard": 3}.get(name, 20)
    assert (stream.shape, stream.dtype) == ((300, items), np.int8)
    top = {"graded": 4, "rankings": 20}.get(name, 1)
    assert set(np.unique(stream)) == set(range(1 if name == "rankings" else 0, top + 1))


@pytest.mark.parametrize("name", STREAMS)
def test_equal_generators_give_equal_streams_and_longer_ones_go_on(name, monkeypatch):
    one, two, long = (draw(name, generator(1), rounds) for rounds in (200, 200, 500))
    np.testing.assert_array_equal(one, two)
    if name not in ("switching", "hard"):
        np.testing.assert_array_equal(long[:200], one)
    if name != "ties":
        assert draw(name, generator(2), 200).tobytes() != one.tobytes()
    monkeypatch.setattr(streams, "CHUNK", 777)  # drawn in other parts, it is the same stream
    np.testing.assert_array_equal(draw(name, generator(1), 200), one)


def test_bernoulli_is_that_of_the_released_code():
    means = np.sort(draw("bernoulli", generator(3), ROUNDS).mean(axis=0))
    np.testing.assert_allclose(means, np.repeat([0.2, 0.7], 10), atol=mean_error(0.5))


def test_graded():
    stream = draw("graded", generator(3), ROUNDS, items=30, grades=4, probability=0.25)
    counts = np.array([np.bincount(item, minlength=5) for item in stream.T]) / ROUNDS
    np.testing.assert_allclose(counts.max(axis=1), 0.75 + 0.05, atol=mean_error(0.8))
    np.testing.assert_allclose(np.sort(counts, axis=1)[:, :4], 0.05, atol=mean_error(0.05))
    assert set(counts.argmax(axis=1)) == set(range(5))
    assert (draw("graded", generator(3), 50, probability=0.0).std(axis=0) == 0).all()


def test_switching_changes_what_is_true():
    stream = draw("switching", generator(3), 1003, items=9, relevant=3, probability=0.0)
    changes = np.flatnonzero((np.diff(stream, axis=0) != 0).any(axis=1)) + 1
    assert changes.tolist() == [250, 501, 752]
    assert set(stream.sum(axis=1)) == {3}


def test_ties():
    stream = draw("ties", generator(0), 5, items=5)
    assert stream.tolist() == [*[[0, 0, 1, 1, 1], [1, 1, 0, 0, 0]] * 2, [0, 0, 1, 1, 1]]


@pytest.mark.parametrize(("distribution", "chances"), [("first", FIRST), ("second", SECOND)])
def test_indistinguishable(distribution, chances):
    stream = draw("indistinguishable", generator(3), ROUNDS, distribution=distribution)
    shares = [(stream == vector).all(axis=1).mean() for vector in VECTORS]
    assert np.all(np.abs(np.array(shares) - chances) <= [*map(mean_error, chances)])


def test_either_is_one_of_the_two_for_the_whole_stream():
    both = (
        stream == [1, 0, 1]
        for stream in (draw("indistinguishable", generator(s), 400) for s in range(60))
    )
    # 0.15 a round in the first, never in the second
    first = [bool(one.all(axis=1).any()) for one in both]
    assert 15 < sum(first) < 45


def test_k_choice_draws_without_replacement():
    stream = draw("k-choice", generator(3), ROUNDS, items=3, choices=2, exponent=1.0)
    assert set(stream.sum(axis=1)) == {2}
    p = np.array([6, 3, 2]) / 11
    out = [
        sum(p[a] * p[b] / (1 - p[a]) for a, b in [(x, y), (y, x)])
        for x, y in [(1, 2), (0, 2), (0, 1)]
    ]
    np.testing.assert_allclose(
        -np.sort(-stream.mean(axis=0)), 1 - np.array(out), atol=mean_error(0.5)
    )
    assert (draw("k-choice", generator(3), 20, items=4, choices=4) == 1).all()


def test_rankings():
    stream = draw("rankings", generator(3), ROUNDS, items=5)
    assert (np.sort(stream, axis=1) == np.arange(1, 6)).all()
    center = np.argsort(stream.mean(axis=0))
    # of two items, the one `distance` places up is first with logistic probability
    for i, u in enumerate(center):
        for distance, v in enumerate(center[i:]):
            chance = 1 / (1 + np.exp(-0.2 * distance))
            if distance:
                result = (stream[:, u] < stream[:, v]).mean()
                assert result == pytest.approx(chance, abs=mean_error(0.5))
    assert draw("rankings", generator(3), 3, items=200).dtype == np.int16


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("flip", {"relevant": 21}, "relevant is 21; with 20 items it must be from 1 to 20"),
        ("k-choice", {"items": 3}, "choices is 5; with 3 items it must be from 1 to 3"),
    ],
)
def test_what_cannot_be_is_refused(name, settings, message):
    with pytest.raises(SettingError, match=message):
        draw(name, generator(0), 50, **settings)
