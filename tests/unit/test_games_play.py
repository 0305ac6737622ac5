"""A game as played: its traces, and what the papers and the project claim of them."""

import math
from itertools import permutations

import numpy as np
import pytest
from regret import regret

from scant.declare.runs import kept_rounds
from scant.games import streams
from scant.games.play import Game, play
from scant.randomness import generator


# --- traces
def test_what_a_trace_holds_by_hand():
    """Four rounds of two items, the first on top by a fixed order: SumLoss 1, 2, 1, 3."""
    game = Game(np.array([[1, 0], [0, 1], [1, 0], [1, 1]]), "sum-loss")
    trace = play(game, "best-fixed", generator(0), np.array([1, 2, 3, 4]))
    np.testing.assert_array_equal(trace.value, [1, 3, 4, 7])
    np.testing.assert_array_equal(trace.best, [1, 3, 4, 7])
    np.testing.assert_array_equal(trace.best_at_horizon, [1, 3, 4, 7])
    turned = Game(np.array([[0, 1], [1, 0], [1, 0], [1, 1]]), "sum-loss")
    trace = play(turned, "best-fixed", generator(0), np.array([1, 2, 4]))
    np.testing.assert_array_equal(trace.value, [2, 3, 7])
    np.testing.assert_array_equal(trace.best, [1, 3, 7])
    np.testing.assert_array_equal(regret(trace), [1, 0, 0])
    np.testing.assert_array_equal(regret(trace, "horizon"), [0, 0, 0])
    assert not trace.gain


def test_regret_of_a_gain_is_what_is_missed():
    game = Game(np.array([[0, 1], [1, 0], [1, 0]]), "precision@1")
    trace = play(game, "best-fixed", generator(0), np.array([1, 2, 3]))
    np.testing.assert_array_equal(trace.value, [0, 1, 2])
    np.testing.assert_array_equal(regret(trace), [1, 0, 0])
    assert trace.gain


def test_random_loses_what_all_rankings_do_on_average():
    game = Game(streams.draw("flip", generator(0), 20_000), "sum-loss")
    relevant = int(game.stream.sum())
    value = play(game, "random", generator(0)).value[-1]
    assert value == pytest.approx(10.5 * relevant, abs=4 * math.sqrt(relevant * (20**2 - 1) / 12))


def test_kept_rounds_are_those_of_the_other_studies_unless_given():
    game = Game(streams.draw("flip", generator(0), 500), "dcg")
    trace = play(game, "ftpl", generator(0))
    np.testing.assert_array_equal(trace.round, kept_rounds(500))
    some = play(game, "ftpl", generator(0), trace.round[3:9])
    np.testing.assert_array_equal(some.value, trace.value[3:9])
    np.testing.assert_allclose(some.best_at_horizon, trace.best_at_horizon[3:9], rtol=1e-14)


def test_one_item():
    for loss in ("sum-loss", "dcg", "ap"):
        game = Game(np.array([[1], [0], [1]]), loss)
        kinds = ("random", "ftpl", "online-rank", "hedge", "rtopkf", "rtopkf-anytime", "best-fixed")
        for kind in kinds:
            assert regret(play(game, kind, generator(0))).tolist() == [0, 0, 0]
        if loss != "ap":
            cases = ("rtopkf-adaptive", "permelearn", "comb-band", "fpl-gumbel")
            cases += ("multiplicative-weights",)
            for kind in cases:
                assert regret(play(game, kind, generator(0))).tolist() == [0, 0, 0]


def test_nothing_is_ever_relevant():
    game = Game(np.zeros((60, 4), int), "ndcg")
    kinds = ("ftpl", "fpl-gumbel", "online-rank", "hedge", "permelearn", "comb-band", "rtopkf")
    kinds += ("rtopkf-adaptive",)
    for kind in kinds:
        trace = play(game, kind, generator(0))
        assert not trace.value.any()
        assert not regret(trace).any()


# --- the worst play
@pytest.mark.parametrize("loss", ["dcg", "sum-loss", "precision@2", "pairwise-loss", "ndcg"])
def test_no_ranking_is_worse_than_the_worst(loss):
    stream = streams.draw("flip", np.random.default_rng(1), 40, loss, items=5, relevant=2)
    game, kept = Game(stream, loss), np.array([1, 7, 40])
    values = np.array(
        [
            np.cumsum([game.loss.measure(np.array(ranking), row) for row in stream])[kept - 1]
            for ranking in permutations(range(5))
        ]
    )
    worst = values.min(axis=0) if game.loss.gain else values.max(axis=0)
    np.testing.assert_allclose(game.worst(kept), worst, atol=1e-9)


@pytest.mark.parametrize("loss", ["dcg", "sum-loss", "ap"])
def test_no_play_is_worse_than_the_worst_where_rounds_differ(loss):
    stream = streams.draw("switching", np.random.default_rng(1), 12, loss, items=4, relevant=2)
    game, kept = Game(stream, loss, foreseen=True), np.arange(1, 13)
    values = np.array(
        [
            [game.loss.measure(np.array(ranking), row) for ranking in permutations(range(4))]
            for row in stream
        ]
    )
    worst = values.min(axis=1) if game.loss.gain else values.max(axis=1)
    np.testing.assert_allclose(game.worst(kept), np.cumsum(worst), atol=1e-9)
