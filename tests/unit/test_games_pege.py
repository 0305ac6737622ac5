"""Learners for stochastic relevances: phases by hand; bounds; log T; what they refuse."""

import math

import numpy as np
import pytest

from scant.errors import SettingError
from scant.games.play import Game, build, play
from scant.randomness import generator
from scant.theory import game_bounds


def steps(rounds, chances, seed=0):
    """Independent items with these chances of being relevant."""
    return (generator(seed, "items").random((rounds, len(chances))) < np.array(chances)).astype(
        np.int8
    )


@pytest.mark.parametrize(("m", "k"), [(3, 1), (5, 2), (4, 4), (7, 3)])
def test_phases_are_those_of_the_paper(m, k):
    """Every cell on top as often as the phase says, then the ranking by the means seen."""
    stream = steps(300, np.linspace(0.9, 0.1, m))
    learner = build(Game(stream, "dcg"), {"kind": "pege", "k": k}, None)
    t, seen, number = 0, np.zeros(m), 0
    for b in range(1, 20):
        repeats, length = b, int(math.exp(b))
        shown = np.zeros(m)
        for _ in range(repeats * -(-m // k)):
            if t == 300:
                return
            ranking = learner.rank()
            assert sorted(ranking) == list(range(m))
            cell = ranking[0] // k
            first = np.arange(cell * k, min(m, cell * k + k))
            np.testing.assert_array_equal(ranking[: len(first)], first)
            shown[first] += 1
            seen[first] += stream[t, first]
            learner.learn(ranking, stream[t, ranking[:k]].astype(float))
            t += 1
        number += repeats
        assert np.all(shown == repeats)
        assert learner.explored == number * -(-m // k)
        for _ in range(length):
            if t == 300:
                return
            ranking = learner.rank()
            np.testing.assert_array_equal(ranking, np.argsort(-seen, kind="stable"))
            learner.learn(ranking, stream[t, ranking[:k]].astype(float))
            t += 1


def test_the_gap_is_that_of_the_places_that_matter():
    # the second's mean less the third's, the least, none
    gaps = {"precision@2": 0.4, "dcg": 0.1, "precision@4": 0}
    for loss, gap in gaps.items():
        learner = build(Game(steps(50, [0.5] * 4), loss), "pege2", None)
        learner.sums, learner.leader, learner.phase = (
            np.array([1.0, 9.0, 4.0, 8.0]),
            np.array([1, 3, 2, 0]),
            10,
        )
        assert learner.gap() == pytest.approx(gap)


def test_pege2_explores_until_it_is_sure_of_the_order():
    game = Game(steps(20_000, [0.9, 0.1]), "dcg")
    learner = build(game, "pege2", None)
    for t, row in enumerate(game.values):
        ranking = learner.rank()
        learner.learn(ranking, row[ranking[:1]].astype(float))
        if learner.growth:
            break
        assert learner.explored == t + 1
    b, width = learner.phase, game_bounds.hoeffding(learner.phase, 2, 20_000, 1.0)
    assert 4 * width <= learner.gap() < 4 * game_bounds.hoeffding(b - 1, 2, 20_000, 1.0) + 2 / b
    assert learner.growth == pytest.approx(learner.gap() ** 2 / 16)
    assert learner.to_exploit == int(math.exp(learner.growth * b))


def plain_pege2(values, weights, k):
    """The ranking of each round, and whether it explores, in plain Python."""
    rounds, m = values.shape
    spread = values.max() - values.min()
    cells = [range(first, min(m, first + k)) for first in range(0, m, k)]
    sums, leader, growth, b, t = [0] * m, list(range(m)), None, 0, 0
    while True:
        b += 1
        for cell in reversed(cells):
            yield [*cell, *(item for item in leader if item not in cell)], True
            for item in cell:
                sums[item] += int(values[t, item])
            t += 1
        leader = sorted(range(m), key=lambda item: -sums[item])
        if growth is None:
            width = spread * math.sqrt(math.log(2 * m * b * (b + 1) * rounds) / (2 * b))
            above = zip(leader, leader[1:], weights, weights[1:], strict=False)
            gap = min((sums[i] - sums[j]) / b for i, j, heavy, light in above if heavy != light)
            if gap < 4 * width:
                continue
            growth = gap**2 / (16 * spread**2)
        for _ in range(int(math.exp(growth * b))):
            yield leader, False
            t += 1


@pytest.mark.parametrize(
    ("loss", "chances", "grade", "k", "rounds", "compiled"),
    [
        ("sum-loss", [0.02, 0.98], 2, 1, 500_000, True),
        ("precision@2", [0.0, 1.0, 0.01, 0.98], 1, 2, 500_000, True),
        *(("dcg", [0.9, 0.0, 0.4], 1, 2, 20_000, compiled) for compiled in (True, False)),
    ],
)
def test_pege2_is_as_described_round_by_round(loss, chances, grade, k, rounds, compiled):
    game = Game(grade * steps(rounds, chances), loss)
    trace, weights = (
        play(game, {"kind": "pege2", "k": k}, None, compiled=compiled),
        game.loss.weights(len(chances)),
    )
    values, explored = np.empty(rounds), np.empty(rounds)
    worth = np.empty(len(chances))
    for t, (ranking, explores) in zip(
        range(rounds), plain_pege2(game.values, weights.tolist(), k), strict=False
    ):
        worth[ranking] = weights
        values[t], explored[t] = worth @ game.values[t], explores
    np.testing.assert_allclose(trace.value, values.cumsum()[trace.round - 1], rtol=1e-9)
    np.testing.assert_array_equal(trace.explored, explored.cumsum()[trace.round - 1])
    assert np.any(np.diff(explored) == -1) and (rounds == 20_000 or np.any(np.diff(explored) == 1))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("loss", "grade"), [("dcg", 1), ("sum-loss", 2)])
def test_pege2_is_sure_in_the_very_phase_in_which_four_widths_are_the_gap(loss, grade, compiled):
    """One item has value s, others none: 4w <= s in phase b if T <= exp(b / 8) / (4 b (b + 1))."""
    for b in (140, 150):
        longest = int(math.exp(b / 8) / (4 * b * (b + 1)))
        for rounds, phases in ((longest, b), (longest + 1, b + 1)):
            game = Game(np.tile(np.array([grade, 0], np.int8), (rounds, 1)), loss)
            assert play(game, "pege2", None, compiled=compiled).explored[-1] == 2 * phases


def test_where_the_best_ranking_is_not_unique_pege2_never_exploits_and_pege_does():
    game = Game(steps(20_000, [0.8, 0.8, 0.2]), "dcg")
    assert play(game, "pege2", None).explored[-1] == 20_000
    assert play(game, "pege", None).explored[-1] < 200
    on_sets = Game(game.stream, "precision@2")  # there it is
    assert play(on_sets, "pege2", None).explored[-1] < 10_000


def test_bounds_by_hand():
    repeats, lengths = game_bounds.pege_phases(100, 2)
    np.testing.assert_array_equal(repeats, [1, 2, 3, 4])  # 2 + 2, 4 + 7, 6 + 20, 8 + 54: 103
    np.testing.assert_array_equal(lengths, [2, 7, 20, 54])
    assert game_bounds.pege(100, 100.0, 4, 2, 3.0, 1.0) == pytest.approx(3 * 2 * 10)  # never wrong
    assert game_bounds.pege(100, 1e-9, 4, 2, 3.0, 1.0) == pytest.approx(3 * 100)  # always
    assert game_bounds.hoeffding(2, 3, 10, 5.0) == pytest.approx(5 * math.sqrt(math.log(360) / 4))


@pytest.mark.parametrize("loss", ["ndcg", "ap", "auc-loss", "ndcg@2"])
@pytest.mark.parametrize("kind", ["pege", "pege2"])
def test_losses_that_are_not_linear_are_refused(loss, kind):
    with pytest.raises(SettingError, match=f"'{kind}'.*linear losses.*not for {loss}"):
        build(Game(steps(50, [0.5] * 3), loss), kind, None)
