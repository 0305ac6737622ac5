"""Losses of games: their linear form, and the best fixed ranking, held to enumeration."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scant.errors import SettingError
from scant.games import losses
from scant.games.play import Game
from scant.measures import positions

BINARY = ["pairwise-loss", "precision@2", "auc-loss", "ap", "precision@9"]
GRADED = ["sum-loss", "dcg", "dcg@2", "ndcg", "ndcg@2", "dcg@50"]
LOSSES = [*BINARY, *GRADED, "position-loss", "spearman-loss"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


def stream_for(loss, random, rounds, items, grades=4):
    if loss in BINARY:
        return random.integers(0, 2, (rounds, items))
    if loss == "position-loss":
        return np.round(random.standard_normal((rounds, items)), 2)
    if loss == "spearman-loss":
        return np.array([random.permutation(items) + 1 for _ in range(rounds)])
    return random.integers(0, grades + 1, (rounds, items))


def measured(game, ranking, t):
    return game.loss.measure(np.array(ranking), game.stream[t])


# --- the linear form
@every_loss
@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([1, 4, 7, 9]))
def test_a_loss_is_what_its_measure_says(loss, items, seed, grades):
    if loss == "ap":
        return
    random = np.random.default_rng(seed)
    game = Game(stream_for(loss, random, 6, items, grades), loss)
    constant = np.zeros(6) if game.constant is None else game.constant
    for t in range(6):
        ranking = random.permutation(items)
        linear = (
            game.scale[t] * (game.loss.weights(items)[positions(ranking) - 1] @ game.values[t])
            + constant[t]
        )
        assert linear == pytest.approx(measured(game, ranking, t), rel=1e-12, abs=1e-12)


def test_values_are_compact_where_they_fit():
    random = np.random.default_rng(0)
    cases = (("dcg", 1, np.int8), ("dcg", 7, np.int8), ("dcg", 8, np.float64))
    cases += (("sum-loss", 100, np.int8), ("sum-loss", 128, np.float64))
    for loss, grades, dtype in cases:
        stream = np.r_[random.integers(0, grades + 1, (5, 4)), np.full((1, 4), grades)]
        game = Game(stream, loss)
        assert game.values.dtype == dtype
        np.testing.assert_array_equal(game.values, 2.0**stream - 1 if loss == "dcg" else stream)
    assert Game(np.array([[1, 2, 3]], np.uint8), "spearman-loss").values.tolist() == [[-1, -2, -3]]
    assert Game(np.array([[True, False]]), "dcg").values.dtype == np.int8


# --- the best fixed ranking
@every_loss
@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_best_fixed_ranking_is_the_best_of_all(loss, items, seed):
    rounds = 9
    game = Game(stream_for(loss, np.random.default_rng(seed), rounds, items), loss)
    table = np.array(
        [
            np.cumsum([measured(game, one, t) for t in range(rounds)])
            for one in permutations(range(items))
        ]
    )
    best = table.max(axis=0) if game.loss.gain else table.min(axis=0)
    kept = np.array([1, 2, 5, 8])
    prefix, horizon, ranking = game.best(kept)
    np.testing.assert_allclose(prefix, best[kept - 1], rtol=1e-12, atol=1e-12)
    shown = np.cumsum([measured(game, ranking, t) for t in range(rounds)])
    assert shown[-1] == pytest.approx(best[-1], rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(horizon, shown[kept - 1], rtol=1e-12, atol=1e-12)


# --- bad input
@pytest.mark.parametrize(
    ("loss", "stream", "message"),
    [
        ("precision@2", [[0, 1], [1, 3]], "that are 0 or 1, and the stream's go up to 3"),
        ("ndcg", [[54, 1]], "grades of at most 53"),
        ("spearman-loss", [[1, 2], [0, 1]], "a ranking in each round"),
        ("precision", [[1]], "it needs a cut-off"),
    ],
)
def test_what_a_loss_is_not_defined_for_is_refused(loss, stream, message):
    with pytest.raises(SettingError, match=message):
        Game(np.array(stream), loss)


def test_average_precision_of_too_many_items_is_refused():
    game = Game(np.ones((2, 21), int), "ap")
    with pytest.raises(SettingError, match=r"up to 20 items; this stream has 21\. Use ndcg"):
        game.best(np.array([2]))


def test_which_losses_are_normalised():
    normalised = {loss for loss in LOSSES if losses.make(loss).normalised}
    assert normalised == {"auc-loss", "ap", "ndcg", "ndcg@2"}
