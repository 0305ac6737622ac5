"""Least squares on the grades seen: loop and class agree, and are ridge regression."""

import numpy as np
import pytest

from scant.errors import SettingError
from scant.measures import rank
from scant.randomness import generator
from scant.rankers.play import play, play_plain, query_order
from scant.rankers.ridge import EXPLORE, Ridge

MISMATCHED = 1
START = {"start": "trusted", "lists": 3}


@pytest.fixture(params=["noisy", "odd"])
def stream(request):
    return request.getfixturevalue(request.param)


def learner(stream, entry, penalty=0.5):
    ranker = Ridge.from_study(entry, {}, stream.metadata, penalty, generator(3, "noise"))
    if ranker.lists:
        ranker.start_from(stream[q] for q in range(ranker.lists))
    return ranker


def both(stream, entry, rounds=120):
    """The plays of the compiled loop and of the class."""
    queries = query_order(stream, generator(3, "queries"), rounds)
    compiled = play(stream, queries, learner(stream, entry))
    return compiled, play_plain((stream[q] for q in queries), rounds, learner(stream, entry))


@pytest.mark.parametrize("explore", EXPLORE)
@pytest.mark.parametrize("k", [1, 2, 10, 100])
@pytest.mark.parametrize(
    "further",
    [
        {},
        {"remember": True},
        {"within": 0.6},
        {"user": "almost-random"},
        {"user": "trust", "propensities": "affine", "remember": True, "within": 0.3},
        {"start": "trusted", "lists": 2},
        {"start": "chosen", "lists": 3, "within": 0.2},
        {"start": "chosen", "lists": 3, "user": "trust", "propensities": "affine"},
    ],
)
def test_the_compiled_loop_is_the_plain_class(stream, explore, k, further):
    """The class solves the normal equations in each round; the loop takes in documents."""
    one, other = both(stream, {"k": k, "explore": explore, "alpha": 0.7} | further)
    np.testing.assert_array_equal(one.events, other.events)
    for name in ("measured", "loss", "ranker", "weights"):
        of_both = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(*of_both, rtol=1e-7, atol=1e-9, err_msg=name)
    explores = explore != "greedy" and k < stream.metadata["largest_query"]
    assert one.events[:, MISMATCHED].any() == explores


def test_it_fits_what_it_saw_as_ridge_regression_of_a_library_does(noisy):
    from sklearn import linear_model

    queries = query_order(noisy, generator(4, "queries"), 50)
    ranker = learner(noisy, {"k": 3, "explore": "ucb", "alpha": 1.0})
    x, y = [], []
    for features, grades in (noisy[q] for q in queries):
        ranking = ranker.rank(features)
        ranker.learn(features, grades, ranking)
        x += [np.append(features[i], 1.0) for i in ranking[:3]]
        y += [grades[i] for i in ranking[:3]]
    ridge = linear_model.Ridge(alpha=0.5, fit_intercept=False).fit(x, y)
    np.testing.assert_allclose(ranker.weights, ridge.coef_, rtol=1e-7, atol=1e-9)


def test_grades_that_are_all_alike_teach_nothing_but_the_intercept(packed):
    random = np.random.default_rng(5)
    alike = packed((np.full(2, 2), random.random((2, 1), np.float32)) for _ in range(200))
    ranker = learner(alike, {}, 1e-3)
    play(alike, np.arange(200), ranker)
    np.testing.assert_allclose(ranker.weights, [0.0, 2.0], atol=1e-3)


def test_draws_have_the_covariance_of_ridge_regression(noisy):
    ranker = learner(noisy, {"k": 2, "explore": "thompson", "alpha": 1.0})
    for q in range(30):
        features, grades = noisy[q]
        ranker.learn(features, grades, np.arange(len(features)))
    covariance = ranker.roots[0] @ ranker.roots[0].T
    np.testing.assert_allclose(covariance, np.linalg.inv(ranker.matrices[0]), rtol=1e-8, atol=1e-12)


def test_optimism_finds_what_greed_overlooks(packed):
    """A kind of document is good but rarely on top: greed stays with what it saw first."""
    fair, good = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    stream = packed((np.array([1, 2]), np.array([fair, good])) for _ in range(40))
    shown = {}
    for explore in ("greedy", "ucb"):
        played = play(stream, np.arange(40), learner(stream, {"explore": explore, "alpha": 2.0}))
        shown[explore] = played.measured[-1, 0]
    assert shown["ucb"] == 1 > shown["greedy"]


def test_each_penalty_and_each_alpha_is_played():
    entry = {"explore": "ucb", "lambdas": [0.1, 1.0], "alphas": [0.3, 1.0, 3.0]}
    assert Ridge.rates(entry, {}) == [0.1, 1.0]
    assert [variant["alpha"] for variant in Ridge.variants(entry)] == [0.3, 1.0, 3.0]
    assert Ridge.variants({"alphas": [0.3, 1.0]}) == [{"alphas": [0.3, 1.0]}]


def test_settings_that_do_nothing_are_refused():
    for settings, reason in (
        ({"alphas": [1.0]}, "alphas do nothing"),
        ({"k": "all", "explore": "ucb"}, "explore: where all grades are seen"),
        ({"within": 1}, "within: one grade less its own mean"),
        ({"k": 10, "user": "position"}, "user: below the first place clicks depend on the place"),
        ({"k": 10, "user": "navigational", "propensities": "known"}, "known needs a user"),
        ({"k": "all", "user": "trust", "propensities": "affine"}, "user: clicks are"),
        ({"propensities": "known"}, "propensities: known is for clicks: name a user"),
        ({"lists": 3}, "lists needs a start"),
        ({"judged_by": "coin"}, "judged_by needs a start"),
        ({"start": "chosen"}, "start: chosen needs judged lists"),
        ({"start": "alone", "lists": 3, "explore": "ucb"}, "start: alone learns from no round"),
        (START | {"judged_by": {"confusion": [[1.0], [0.5, 0.5]]}}, "its 2 rows are to be as long"),
        (START | {"judged_by": {"confusion": [[1, 0], [0.3, 0.3]]}}, "grade 1 sums to 0.6, not to"),
        (START | {"judged_by": {"confusion": [[1, 0], [np.nan, 1]]}}, "grade 1 sums to nan"),
    ):
        with pytest.raises(SettingError, match=reason):
            Ridge.check(settings)


def test_within_the_query_levels_of_queries_do_not_matter(packed):
    """With every grade, less all of the means, it is ridge regression of centred queries."""
    from sklearn import linear_model

    random = np.random.default_rng(6)
    queries = [(random.integers(0, 5, 6), random.random((6, 3), np.float32)) for _ in range(20)]
    levels = random.integers(0, 9, 20)
    raised = [(grades + level, x) for (grades, x), level in zip(queries, levels, strict=True)]
    centred = [(grades - grades.mean(), x - x.mean(axis=0)) for grades, x in queries]
    y, x = map(np.concatenate, zip(*centred, strict=True))
    expected = linear_model.Ridge(alpha=0.5, fit_intercept=False).fit(x, y).coef_
    for stream in map(packed, (queries, raised)):
        ranker = learner(stream, {"k": "all", "within": 1})
        play(stream, np.arange(20), ranker)
        np.testing.assert_allclose(ranker.weights, [*expected, 0.0], rtol=1e-6, atol=1e-9)


def test_what_is_remembered_is_ranked_by_its_grades(packed):
    """From one grade a round, each of three documents is looked at once; then all are in order."""
    stream = packed([(np.array([0, 2, 1]), np.eye(3, dtype=np.float32))])
    for explore in ("ucb", "thompson"):
        entry = {"explore": explore, "alpha": 9.0, "remember": True}
        played = play(stream, np.zeros(6, int), learner(stream, entry))
        assert (played.measured[3:, 0] == 1).all() and (played.ranker[3:] == 1).all()
        assert played.measured[:3, 0].min() < 1


def test_trusted_lists_are_rounds_of_its_own(noisy):
    """With every grade seen, it is the learner that played them before."""
    longer, started = learner(noisy, {"k": "all", "within": 0.3}), {"start": "trusted", "lists": 5}
    play(noisy, np.arange(12), longer)
    shorter = learner(noisy, {"k": "all", "within": 0.3} | started)
    play(noisy, np.arange(5, 12), shorter)
    np.testing.assert_allclose(shorter.weights, longer.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("explore", EXPLORE)
def test_each_round_is_shown_by_the_state_with_the_least_errors(noisy, explore):
    """Each state is the learner with such a start that saw the same grades, whoever showed them."""
    entry = {"explore": explore, "alpha": 0.7, "start": "chosen", "lists": 4}
    ranker, states = learner(noisy, entry), [learner(noisy, {}) for _ in range(3)]
    for state, weight in zip(states, (1.0, 0.1, 0.0), strict=True):
        for features, grades in (noisy[q] for q in range(4)):
            x = np.c_[features, np.ones(len(features))].astype(float)
            state.matrices += weight * x.T @ x
            state.sums += weight * x.T @ grades
        state.fitted[0] = np.linalg.solve(state.matrices[0], state.sums[0])
    errors, showing = np.zeros(3), set()
    for features, grades in (noisy[q] for q in range(4, 60)):
        first = int(np.argmin(errors))
        showing.add(first)
        ranking = ranker.rank(features)
        expected = rank(states[first].scores(features, states[first].fitted[0, :-1]))
        np.testing.assert_array_equal(ranker.own_ranking, expected)
        x, grade = np.append(features[ranking[0]], 1.0), grades[ranking[0]]
        errors += [(grade - state.fitted[0] @ x) ** 2 for state in states]
        ranker.learn(features, grades, ranking)
        for state in states:
            state.learn(features, grades, ranking)
    np.testing.assert_allclose(ranker.errors, errors)
    assert len(showing) > 1


def test_a_ranker_of_lists_alone_stays_as_it_is(noisy):
    ranker = learner(noisy, {"start": "alone", "lists": 5})
    before = ranker.weights.copy()
    played = play(noisy, np.arange(5, 60), ranker)
    np.testing.assert_array_equal(ranker.weights, before)
    plain = play_plain((noisy[q] for q in range(5, 60)), 55, ranker)
    np.testing.assert_allclose(played.measured[:, 0], plain.measured[:, 0], rtol=1e-14)
    assert not played.updated.any() and not plain.updated.any()
