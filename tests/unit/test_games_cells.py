"""The tables of a cell of the atlas, and the forecaster that plays on them."""

import numpy as np
import pytest

from scant.errors import SettingError
from scant.games import losses, streams
from scant.games.cells import MEASURES, cell
from scant.games.play import Game, build, play
from scant.randomness import generator
from scant.theory import game_bounds, observability

NAMES = {measure: loss for loss, measure in MEASURES.items()}
# All cells that a game can have; the games know no ERR.
CELLS = [
    cell(NAMES.get(rate.measure, rate.measure), rate.m, rate.k, rate.top_grade)
    for rate in observability.atlas()
    if rate.measure != "err" and rate.m < 5
]
LEARNABLE = [found for found in CELLS if found.rate.globally_observable]
OTHERS = [found for found in CELLS if not found.rate.globally_observable]


def forecaster(k, **settings):
    return {"kind": "forecaster", "k": k, **settings}


def hard(cell, rounds, seed=0, **settings):
    settings = {"items": cell.m, "k": cell.k, "grades": cell.top_grade, **settings}
    return Game(
        streams.draw("hard", generator(seed, "hard"), rounds, cell.name, **settings), cell.name
    )


# --- tables
@pytest.mark.parametrize(
    "loss", ["sum-loss", "pairwise-loss", "dcg", "ndcg@2", "auc-loss", "ap", "precision@2"]
)
def test_losses_are_those_of_games(loss):
    made, of = cell(loss, 3, 2), losses.make(loss)
    sign = -1 if of.gain else 1
    wanted = [[sign * of.measure(ranking, r) for r in made.relevances] for ranking in made.rankings]
    np.testing.assert_allclose(made.losses, wanted, atol=1e-12)


def test_feedback_is_what_a_learner_sees():
    for made in (cell("dcg", 4, 2, 2), cell("ap", 3, 1), cell("ndcg", 3, 3, 3)):
        for ranking, top in zip(made.rankings, made.top_of, strict=True):
            np.testing.assert_array_equal(np.sort(ranking[: made.k]), made.tops[top])
            for x, relevance in enumerate(made.relevances):
                seen = made.values[relevance[ranking[: made.k]]]
                assert made.number_of(ranking, seen) == made.feedback[top, x]
        np.testing.assert_array_equal(
            made.outcomes(made.relevances), np.arange(len(made.relevances))
        )
        # Feedback is numbered without gaps, and tells apart exactly what the items of the set do.
        assert made.feedback.max() == made.feedbacks - 1
        for items, numbers in zip(made.tops, made.feedback, strict=True):
            result = len(np.unique(np.c_[made.relevances[:, items], numbers], axis=0))
            assert result == made.feedbacks


def test_a_cutoff_beyond_the_items_is_all_of_them():
    assert cell("dcg@7", 3, 1) is cell("dcg@3", 3, 1)
    np.testing.assert_array_equal(cell("dcg@3", 3, 1).losses, cell("dcg", 3, 1).losses)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("spearman-loss", 3, 1), "spearman-loss has no cell in the atlas"),
        (("dcg", 6, 1), "up to 5 items, for it keeps each of the m! rankings; this game has 6"),
        (("dcg", 3, 4), "k is 4; with 3 items it must be from 1 to 3"),
        (("dcg", 3, 1, 5), "the highest grade is 5; a cell of dcg has grades up to 4"),
        (("ap", 3, 1, 2), "a cell of ap has grades up to 1"),
    ],
)
def test_what_is_no_cell_is_refused(arguments, message):
    with pytest.raises(SettingError, match=message):
        cell(*arguments)


# --- estimates
@pytest.mark.parametrize("made", LEARNABLE, ids=str)
def test_estimates_of_differences_are_unbiased(made):
    """The sum over top sets of P(a) V_a[feedback] / P(a) is the difference of losses."""
    chances = generator(0, str(made)).dirichlet(np.ones(len(made.tops)))
    for x in range(len(made.relevances)):
        estimates = [
            made.estimators[top, made.feedback[top, x]] / chances[top]
            for top in range(len(made.tops))
        ]
        np.testing.assert_allclose(chances @ estimates, made.differences[:, x], atol=1e-10)


@pytest.mark.parametrize("made", OTHERS, ids=str)
def test_where_a_cell_is_not_observable_there_are_no_estimators(made):
    with pytest.raises(SettingError, match="not in the span of the signal rows"):
        made.estimators  # noqa: B018
    signals = made.signals.reshape(-1, len(made.relevances))
    fitted = signals.T @ np.linalg.lstsq(signals.T, made.differences.T, rcond=None)[0]
    assert np.abs(fitted - made.differences.T).max() > 1e-3


@pytest.mark.parametrize(
    "made", [cell("ndcg", 3, 2), cell("auc-loss", 3, 1), cell("dcg", 3, 1, 2)], ids=str
)
def test_what_the_forecaster_adds_is_unbiased_in_every_round(made):
    """By enumeration of what it may show after some rounds: the expected change of the log weights
    is -eta times the

    difference of losses to the mean ranking.
    """
    game = hard(made, 40)
    player = build(game, forecaster(made.k), generator(1))
    for row in game.values[:21]:
        ranking = player.rank()
        player.learn(ranking, row[ranking[: made.k]].astype(float))
    player.rank()
    gamma, before = player.gamma, player.logs.copy()
    weights = np.exp(before - before.max())
    shares = np.bincount(made.top_of, weights / weights.sum())
    chances = (1 - gamma) * shares + gamma / len(shares)
    for x, relevance in enumerate(made.relevances):
        change = 0
        for top, chance in enumerate(chances):
            player.logs, player.top, player.probability = before.copy(), top, chance
            ranking = made.rankings[np.flatnonzero(made.top_of == top)[0]]
            player.learn(ranking, made.values[relevance[ranking[: made.k]]])
            change = change + chance * (player.logs - before)
        np.testing.assert_allclose(change, -player.eta * made.differences[:, x], atol=1e-10)


# --- bounds and refusals
def test_rates_minimise_the_bound_and_give_its_closed_form():
    made, rounds = cell("ndcg", 3, 2), 10**7
    constants = game_bounds.forecaster_constants(made.estimators, made.feedback, made.losses)
    assert (constants.actions, constants.sets, constants.difference) == (6, 3, pytest.approx(0.5))
    eta, gamma = game_bounds.forecaster_rates(constants, rounds)
    least = game_bounds.forecaster(rounds, eta, gamma, constants)
    for other in (0.8, 1.25):
        assert game_bounds.forecaster(rounds, eta * other, gamma, constants) > least
        assert game_bounds.forecaster(rounds, eta, gamma * other, constants) > least
    C = (np.e - 2) * 3 * constants.squares * np.log(6)
    assert least == pytest.approx(3 * (C * 0.5) ** (1 / 3) * rounds ** (2 / 3))
    # eta beyond what the proof allows
    assert np.isnan(game_bounds.forecaster(rounds, 4 * gamma, gamma, constants))


def test_where_all_is_seen_the_bound_is_that_of_a_root():
    player = build(hard(cell("ap", 3, 3), 10_000), forecaster(3), generator(0))
    assert player.gamma == 0
    other = build(hard(cell("ap", 3, 3), 40_000), forecaster(3), generator(0))
    assert other.bound(40_000) == pytest.approx(2 * player.bound(10_000))


@pytest.mark.parametrize(
    "made",
    [
        cell("ap", 4, 3),
        cell("dcg", 4, 2, 2),
        cell("auc-loss", 3, 1),
        cell("precision@2", 4, 4),
        cell("sum-loss", 5, 1),
    ],
    ids=str,
)
def test_the_compiled_loop_is_the_plain_class(made):
    game, learner = hard(made, 200), forecaster(made.k)
    one, two = generator(1), generator(1)
    compiled, plain = play(game, learner, one), play(game, learner, two, compiled=False)
    np.testing.assert_allclose(compiled.value, plain.value, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(compiled.explored, plain.explored)
    assert one.random() == two.random()


@pytest.mark.parametrize(
    ("loss", "items", "k", "message"),
    [
        (
            "ndcg",
            3,
            1,
            "ndcg at m = 3, k = 1 cannot be learnt: its loss differences are not in the "
            "span of the signal "
            "rows, so that every learner has linear regret .* The least k with which it is "
            "globally observable is 2",
        ),
        ("auc-loss", 4, 2, "auc-loss at m = 4, k = 2 cannot be learnt.* is 3"),
        ("dcg", 6, 1, "up to 5 items"),
        ("dcg", 3, 4, "k is 4; with 3 items"),
    ],
)
def test_what_cannot_be_learnt_is_refused_with_the_reason_from_theory(loss, items, k, message):
    game = Game(streams.draw("flip", generator(0), 50, items=items, relevant=1), loss)
    with pytest.raises(
        SettingError, match=f"forecaster': {message}" if "items" not in message else message
    ):
        build(game, forecaster(k), generator(0))
