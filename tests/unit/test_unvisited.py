"""Queries that a learner never visits, and its rankings of them."""

import numpy as np
import pytest

from scant.data import stream as streams
from scant.measures import rank
from scant.randomness import generator
from scant.rankers import unvisited
from scant.rankers.learners import MEASURES
from scant.rankers.play import play
from scant.rankers.ridge import Ridge


@pytest.fixture
def stream(packed):
    random = np.random.default_rng(1)
    return packed((random.integers(0, 4, 6), random.random((6, 3), np.float32)) for _ in range(40))


def test_they_are_those_of_which_no_copy_is_visited(stream):
    copied = stream.query.copy()
    copied[7] = copied[3]  # of one query twice in the data, as in folds
    doubled = streams.Stream(**(vars(stream) | {"query": copied}))
    queries, all_of_them = np.array([3, 5, 5]), np.arange(40)
    assert {*unvisited.never_visited(stream, queries, all_of_them)} == {*range(40)} - {3, 5}
    assert {*unvisited.never_visited(doubled, queries, all_of_them)} == {*range(40)} - {3, 5, 7}


@pytest.mark.parametrize(("how_many", "number"), [(0.3, 12), (25, 25), (1, 1)])
def test_a_share_or_a_number_is_set_aside(stream, how_many, number):
    (apart,) = unvisited.set_aside(stream, np.arange(40), [how_many], generator(1, "unvisited"))
    assert len({*apart}) == number


def test_copies_of_a_query_are_on_one_side(stream):
    folds = streams.Stream(**(vars(stream) | {"query": np.arange(40) % 20}))
    parts = unvisited.set_aside(folds, np.arange(40), [0.3, 8], generator(1, "unvisited"))
    ids = [{*folds.query[part]} for part in parts]
    assert [*map(len, ids)] == [6, 8] and not ids[0] & ids[1]
    assert [*map(len, parts)] == [12, 16]


@pytest.mark.parametrize("empty", ["zero", "one"])
def test_the_ranking_by_the_weights_after_each_milestone_is_measured(stream, empty):
    """Each is that of a shorter play."""
    queries, others = np.arange(30), np.arange(30, 40)
    kept, ranker = (
        unvisited.milestones(30),
        Ridge.from_study({}, {}, stream.metadata, 1.0, generator(2, "noise")),
    )
    played = play(stream, queries, ranker, empty, kept=kept)
    measured = unvisited.ndcg(stream, others, ranker, played, empty)
    for rounds, value in zip(kept, measured, strict=True):
        shorter = Ridge.from_study({}, {}, stream.metadata, 1.0, generator(2, "noise"))
        play(stream, queries[:rounds], shorter, empty)
        rankings = [rank(shorter.scores(stream[q][0], shorter.weights[:-1])) for q in others]
        of_queries = [
            MEASURES["ndcg@10"](ranking, stream[q][1], float(empty == "one"))
            for q, ranking in zip(others, rankings, strict=True)
        ]
        assert value == pytest.approx(np.mean(of_queries), abs=1e-12)
