"""Relevances that are hard for a cell: what the lower bounds' construction must satisfy."""

import numpy as np
import pytest
from test_games_cells import CELLS, LEARNABLE, OTHERS

from scant.errors import SettingError
from scant.games import hard, streams
from scant.games.cells import cell
from scant.games.streams import FIRST, SECOND, VECTORS
from scant.randomness import generator
from scant.theory import game_bounds, observability

SMALL = 1e-9


@pytest.mark.parametrize("made", CELLS, ids=str)
def test_both_ends_are_distributions(made):
    pair = hard.pair(made)
    for sign in (1, -1):
        end = pair.middle + sign * pair.direction
        assert end.min() > -SMALL and end.sum() == pytest.approx(1)


def neighbourhood(made, pair):
    """The best ranking under p - d, which is a neighbour of ranking 0, and their neighbourhood."""
    j = int(np.argmin(made.losses @ (pair.middle - pair.direction)))
    measure, m, top_grade = made.game
    assert observability.neighbours(measure, m, top_grade)[0, j]
    return j, observability.neighbourhood(measure, m, j, top_grade)


@pytest.mark.parametrize("made", LEARNABLE, ids=str)
def test_two_neighbours_tie_and_the_gap_is_as_said(made):
    pair = hard.pair(made)
    j, near = neighbourhood(made, pair)
    for w in (-1, -0.3, 0, 0.1, 1):
        expected = made.losses @ (pair.middle + w * pair.direction)
        assert expected[j] - expected[0] == pytest.approx(w * pair.gap, abs=SMALL)
        assert min(expected[0], expected[j]) == pytest.approx(expected.min(), abs=SMALL)
        result = set(np.flatnonzero(expected < expected.min() + pair.cost - SMALL))
        assert result <= set(near.tolist())
    assert pair.gap > 0.01 and pair.cost > 0.01


@pytest.mark.parametrize("made", LEARNABLE, ids=str)
def test_the_direction_shows_in_no_top_set_of_the_neighbourhood_unless_locally_observable(made):
    pair = hard.pair(made)
    _, near = neighbourhood(made, pair)
    shows = np.abs(made.signals @ pair.direction).max(axis=1) > 1e-6
    if made.rate.locally_observable:
        assert shows[made.top_of[near]].any()
    else:
        assert not shows[made.top_of[near]].any()
        assert shows.any()  # who explores can tell


@pytest.mark.parametrize("made", OTHERS, ids=str)
def test_where_nothing_shows_the_direction_any_learner_loses_the_cost(made):
    pair = hard.pair(made)
    np.testing.assert_allclose(made.signals @ pair.direction, 0, atol=SMALL)
    ends = np.array([pair.middle + pair.direction, pair.middle - pair.direction])
    assert game_bounds.top_one_floor(made.losses, ends) == pytest.approx(pair.cost, abs=SMALL)
    assert pair.cost > 0.01


@pytest.mark.parametrize("loss", ["ndcg", "ap"])
def test_a_learner_loses_more_than_on_table_b1(loss):
    made = cell(loss, 3, 1)
    order = [np.flatnonzero((vector == VECTORS).all(axis=1))[0] for vector in made.relevances]
    floor = game_bounds.top_one_floor(made.losses, np.array([FIRST, SECOND])[:, order])
    assert 0 < floor < hard.pair(made).cost


def test_the_width_falls_as_in_the_lower_bounds():
    cases = ((cell("ndcg", 3, 2), 1 / 3), (cell("dcg", 3, 2), 1 / 2), (cell("ndcg", 3, 1), 0))
    for made, exponent in cases:
        assert hard.width(made, 50, 100) == hard.width(made, 100, 100) == 1
        assert hard.width(made, 80_000, 10) == pytest.approx(8000**-exponent)


@pytest.mark.parametrize(
    "made", [cell("ndcg", 3, 2), cell("dcg", 3, 1, 2), cell("ndcg", 3, 1)], ids=str
)
@pytest.mark.parametrize("gap", ["falling", "wide", "either"])
def test_streams_are_drawn_from_either_end_with_the_items_in_any_order(made, gap):
    rounds, pair = 20_000, hard.pair(made)
    width = hard.width(made, rounds, 100)
    ends = [
        pair.middle + sign * w * pair.direction
        for sign in (1, -1)
        for w in {"falling": [width], "wide": [1], "either": [width, 1]}[gap]
    ]
    found = set()
    for seed in range(40):
        settings = {"items": 3, "k": made.k, "grades": made.top_grade, "gap": gap}
        stream = streams.draw("hard", generator(seed), rounds, made.name, **settings)
        fits = set()
        for ranking in made.rankings:
            counts = (
                np.bincount(made.outcomes(stream[:, ranking]), minlength=len(pair.middle)) / rounds
            )
            fits |= {
                number for number, end in enumerate(ends) if np.abs(counts - end).max() < 0.015
            }
        assert fits
        found |= fits
    assert found == set(range(len(ends)))


def test_what_has_no_hard_relevances_is_refused():
    with pytest.raises(SettingError, match="precision@3 at m = 3, k = 1: all rankings have the"):
        hard.pair(cell("precision@3", 3, 1))
    with pytest.raises(SettingError, match="k is 4"):
        streams.draw("hard", generator(0), 10, "dcg", k=4)
