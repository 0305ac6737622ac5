"""Learners from clicks: the compiled loop is the plain class, and both are as in the papers."""

from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scant.kernels import clicks as kernels
from scant.randomness import generator
from scant.rankers.click_learners import (
    LEARNERS,
    Settings,
    log_probability,
    pair_weights,
    preferences,
    sampled_ranking,
    team_draft,
)
from scant.rankers.clicks import USERS, user_for
from scant.rankers.play import play, play_plain, query_order

THREE = [np.array(ranking) for ranking in permutations(range(3))]
SCORES = [np.zeros(3), np.array([0.4, -0.3, 1.1]), np.array([3.0, 2.0, -1.0])]
PLACED = {"click": [0.2, 0.3, 0.5, 0.7, 0.9], "stop": [0] * 5, "look": [0.9, 0.6, 0.4]}
FURTHER = ("err", "precision@5", "ndcg@1", "ndcg@40")


@pytest.fixture(params=["noisy", "odd"])
def stream(request):
    return request.getfixturevalue(request.param)


def made(stream, kind, **settings):
    return LEARNERS[kind].complete_settings({"kind": kind, **settings}, {}, stream.metadata)


def compiled(stream, settings, rate, rounds=80, seed=3, empty="zero", measures=()):
    queries = query_order(stream, generator(seed, "queries"), rounds)
    learner = LEARNERS[settings.kind](stream.metadata, rate, settings, generator(seed, "noise"))
    return play(stream, queries, learner, empty, measures)


def plain(stream, settings, rate, rounds=80, seed=3, empty="zero", measures=(), learner=None):
    queries = query_order(stream, generator(seed, "queries"), rounds)
    kind = learner or LEARNERS[settings.kind]
    player = kind(stream.metadata, rate, settings, generator(seed, "noise"))
    return play_plain((stream[q] for q in queries), rounds, player, empty, measures)


# --- the compiled loop is the plain class
@pytest.mark.parametrize("shown", [2, 10])
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("kind", LEARNERS)
def test_the_compiled_loop_is_the_plain_class(stream, kind, user, shown):
    same(stream, replace(made(stream, kind, user=user), shown=shown, delta=0.7))


@pytest.mark.parametrize("user", ["position", "trust", PLACED])
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        *(("ips", {"propensities": name}) for name in ("affine", "swapped", "none")),
        ("clicked", {"pairs": "above"}),
    ],
)
def test_so_it_is_with_other_settings(stream, kind, more, user):
    weights = same(stream, made(stream, kind, user=user, **more))
    other = compiled(stream, made(stream, kind, user=user), 5.0, empty="one")
    assert not np.allclose(weights, other.weights)


def same(stream, settings):
    """Check that the compiled loop does what the plain class does; return the last weights."""
    for rate, empty in ((0.1, "zero"), (5.0, "one")):
        fast = compiled(stream, settings, rate, empty=empty, measures=FURTHER)
        slow = plain(stream, settings, rate, empty=empty, measures=FURTHER)
        assert fast.failed_in == slow.failed_in == 0
        np.testing.assert_array_equal(fast.events, slow.events)
        np.testing.assert_array_equal(fast.updated, slow.updated)
        for name in ("measured", "loss", "ranker"):
            both = getattr(fast, name), getattr(slow, name)
            np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-13, err_msg=name)
        np.testing.assert_allclose(fast.weights, slow.weights, rtol=1e-6, atol=1e-9)
        assert fast.updated.any()
    return fast.weights


def test_what_clicks_prefer_by_hand():
    """Clicks at places 2 and 4 of 5: one pair above the first, two above the second, one below."""
    scores, ranking = np.zeros(5, np.float32), np.array([4, 3, 2, 1, 0], np.int32)
    clicked, g = np.array([0, 1, 0, 1, 0], np.int8), np.full(5, np.nan)
    assert kernels.clicked_gradient(scores, ranking, clicked, True, g)
    np.testing.assert_array_equal(g, 0.5 * np.array([0, -2, 1, -1, 2]))
    assert kernels.clicked_gradient(scores, ranking, clicked, False, g)
    np.testing.assert_array_equal(g, 0.5 * np.array([2, -3, 2, -3, 2]))
    clicked = np.array([1, 1, 0, 0, 0], np.int8)
    assert not kernels.clicked_gradient(scores, ranking, clicked, True, g)


def compiled_gradient(scores, ranking, clicked):
    """Whether there is a preference, and the gradient of the compiled loop."""
    m = len(scores)
    g, odds, left, bits = np.zeros(m), np.zeros(m), np.zeros(10), np.zeros(m, np.int64)
    clicked = np.asarray(clicked, np.int8)
    return kernels.preference_gradient(scores, ranking, clicked, odds, left, bits, g), g


@given(st.data())
def test_the_compiled_gradient_is_that_of_the_plain_weights(data):
    m = data.draw(st.integers(2, 14))
    floats, places = st.floats(-40, 40, width=32), data.draw(st.integers(1, min(m, 10)))
    scores = np.array(data.draw(st.lists(floats, min_size=m, max_size=m)), np.float32)
    ranking = np.array(data.draw(st.permutations(range(m))), np.int32)
    clicked = np.array(data.draw(st.lists(st.booleans(), min_size=places, max_size=places)))
    found, g = compiled_gradient(scores, ranking, clicked)
    weights = pair_weights(scores, ranking, clicked)
    assert found == bool(preferences(clicked))
    np.testing.assert_allclose(g, weights.sum(1) - weights.sum(0), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_play_again_is_the_same_and_other_noise_is_another(stream, kind):
    before = stream.features.tobytes() + stream.grades.tobytes()
    settings = made(stream, kind, user="informational")
    first, again, other = (compiled(stream, settings, 0.5, seed=seed) for seed in (3, 3, 4))
    for name in ("measured", "loss", "updated", "weights", "ranker", "events"):
        assert getattr(first, name).tobytes() == getattr(again, name).tobytes()
    assert first.measured.tobytes() != other.measured.tobytes()
    assert stream.features.tobytes() + stream.grades.tobytes() == before


@pytest.mark.parametrize("kind", LEARNERS)
def test_scores_that_overflow_end_the_play_in_the_same_round(stream, kind):
    settings = made(stream, kind)
    fast, slow = (of(stream, settings, 1e300) for of in (compiled, plain))
    assert fast.failed_in == slow.failed_in > 1
    assert len(fast.loss) == len(slow.loss) == fast.failed_in - 1


# --- what reaches the learner
@pytest.mark.parametrize("kind", LEARNERS)
def test_grades_reach_the_learner_through_clicks_alone(noisy, packed, kind):
    """A user who minds no grade tells nothing of them."""
    indifferent = {"click": [0.3] * 5, "stop": [0.2] * 5}
    turned = packed((4 - noisy[q][1].astype(int), noisy[q][0]) for q in range(len(noisy)))
    settings = made(noisy, kind, user=indifferent)
    for of in (compiled, plain):
        first, second = of(noisy, settings, 0.5), of(turned, settings, 0.5)
        assert first.weights.tobytes() == second.weights.tobytes()
        assert first.measured.tobytes() != second.measured.tobytes()


@pytest.mark.parametrize("kind", LEARNERS)
def test_grades_of_documents_that_are_not_shown_change_nothing(noisy, packed, kind):
    settings = replace(made(noisy, kind, user="navigational"), shown=4)
    rankings = []

    class Watched(LEARNERS[kind]):
        def learn(self, features, grades, ranking):
            rankings.append(ranking)
            return super().learn(features, grades, ranking)

    queries = query_order(noisy, generator(3, "queries"), len(noisy))  # each query once
    plain(noisy, settings, 0.5, len(noisy), learner=Watched)
    others, hidden = {}, 0
    for q, ranking in zip(queries, rankings, strict=True):
        grades = noisy[q][1].astype(int)
        others[q] = np.where(np.isin(np.arange(len(grades)), ranking[:4]), grades, 4 - grades)
        hidden += np.count_nonzero(others[q] != grades)
    assert hidden > 50
    turned = packed((others[q], noisy[q][0]) for q in range(len(noisy)))
    for of in (plain, compiled):
        first, second = of(noisy, settings, 0.5, len(noisy)), of(turned, settings, 0.5, len(noisy))
        assert first.weights.tobytes() == second.weights.tobytes()
        assert first.measured.tobytes() != second.measured.tobytes()


# --- users
def patterns(user, grades):
    """Each pattern of clicks that a user may leave on documents of these grades, by probability."""
    found = {}

    def look(place, clicked, chance):
        if place == len(grades):
            found[clicked] = found.get(clicked, 0.0) + chance
            return
        click, stop = user.chances(len(grades))[place, grades[place]], user.stop[grades[place]]
        look(place + 1, (*clicked, False), chance * (1 - click))
        look(place + 1, (*clicked, True), chance * click * (1 - stop))
        left = (*clicked, True, *[False] * (len(grades) - place - 1))
        found[left] = found.get(left, 0.0) + chance * click * stop

    look(0, (), 1.0)
    return {clicked: chance for clicked, chance in found.items() if chance > 0}


@pytest.mark.parametrize("name", USERS)
def test_a_user_clicks_as_often_as_its_probabilities_say(name):
    user, random, grades = user_for(name, 2), generator(5, name), np.array([1, 0, 2])
    expected = patterns(user, grades)
    assert sum(expected.values()) == pytest.approx(1)
    counts = dict.fromkeys(expected, 0)
    for _ in range(6000):
        counts[tuple(user.clicks(grades, random).tolist())] += 1
    if len(counts) > 1:
        shares = np.array([6000 * expected[pattern] for pattern in counts])
        assert stats.chisquare([*counts.values()], shares).pvalue > 0.001


# --- Plackett-Luce
@pytest.mark.parametrize("scores", SCORES)
def test_probabilities_of_rankings(scores):
    """In proportion to the exponentials of the scores of those left; all rankings sum to 1."""
    odds = np.exp(scores)
    for ranking in THREE:
        a, b, _ = odds[ranking]
        assert np.exp(log_probability(scores, ranking, 1)) == pytest.approx(a / odds.sum())
        both = a / odds.sum() * b / (odds.sum() - a)
        assert np.exp(log_probability(scores, ranking, 3)) == pytest.approx(both)
    assert sum(np.exp(log_probability(scores, ranking, 3)) for ranking in THREE) == pytest.approx(1)


def test_rankings_are_sampled_with_these_probabilities():
    scores, random = np.array([0.4, -0.3, 1.1], np.float32), generator(7, "sampled")
    drawn = [tuple(sampled_ranking(scores, random)) for _ in range(6000)]
    counts = [drawn.count(tuple(ranking)) for ranking in THREE]
    expected = [6000 * np.exp(log_probability(scores, ranking, 3)) for ranking in THREE]
    assert stats.chisquare(counts, expected).pvalue > 0.001


# --- PDGD
@pytest.mark.parametrize(
    ("clicked", "found"),
    [
        ([0, 0, 0], []),
        ([1, 1, 1], []),
        ([1, 0, 0], [(0, 1)]),  # the third counts as not seen
        ([0, 1, 0], [(1, 0), (1, 2)]),
        ([0, 0, 1], [(2, 0), (2, 1)]),
        ([1, 0, 0, 1, 0, 0], [(0, 1), (0, 2), (0, 4), (3, 1), (3, 2), (3, 4)]),
    ],
)
def test_preferences_that_clicks_show(clicked, found):
    assert preferences(np.array(clicked, bool)) == found


def test_weights_of_pairs_are_those_of_the_paper():
    """Four documents, three shown, all clicks: rho of a ranking and its exchange sum to 1."""
    scores = np.array([0.4, -0.3, 1.1, 0.2])
    odds = np.exp(scores)
    for ranking in map(np.array, permutations(range(4))):
        chance = np.exp(log_probability(scores, ranking, 3))
        for pattern in product((False, True), repeat=3):
            clicked = np.array(pattern)
            weights, expected = pair_weights(scores, ranking, clicked), np.zeros((4, 4))
            for above, below in preferences(clicked):
                exchanged = ranking.copy()
                exchanged[[above, below]] = ranking[[below, above]]
                other = np.exp(log_probability(scores, exchanged, 3))
                k, j = ranking[above], ranking[below]
                expected[k, j] = other / (chance + other) * odds[k] * odds[j]
                expected[k, j] /= (odds[k] + odds[j]) ** 2
            np.testing.assert_allclose(weights, expected, rtol=1e-9)


def expected_weights(scores, shown, chances):
    """The expectation of PDGD's pair weights over all rankings of three documents and clicks."""
    total = np.zeros((3, 3))
    for ranking in THREE:
        for clicked, chance in chances(ranking[:shown]).items():
            total += chance * weights_of(tuple(scores), tuple(ranking), clicked)
    return total


@cache
def weights_of(scores, ranking, clicked):
    """The probability of a ranking, times the weights that clicks on it give to pairs."""
    scores, ranking, clicked = map(np.array, (scores, ranking, clicked))
    return np.exp(log_probability(scores, ranking, 3)) * pair_weights(scores, ranking, clicked)


def shown_preference(ranking, chances, above, below):
    """The probability that clicks on a ranking prefer the first document to the second."""
    found = 0.0
    for clicked, chance in chances(ranking).items():
        found += chance * any(
            (ranking[k], ranking[j]) == (above, below) for k, j in preferences(np.array(clicked))
        )
    return found


def advantages(i, j, shown, chances):
    """P(clicks prefer i to j | R) - P(clicks prefer j to i | R*) of rankings R that show both."""
    for ranking in THREE:
        if {i, j} <= {*ranking[:shown]}:
            exchanged = np.array([{i: j, j: i}.get(document, document) for document in ranking])
            yield (
                shown_preference(ranking[:shown], chances, i, j)
                - shown_preference(exchanged[:shown], chances, j, i)
            )


def of_user(user, grades):
    return lambda ranking: of_user_and_grades(user, tuple(grades[ranking]))


@cache
def of_user_and_grades(user, grades):
    return patterns(user, np.array(grades))


USERS_OF_THREE = {name: user_for(name, 2) for name in USERS}


@pytest.mark.parametrize("shown", [2, 3])
@pytest.mark.parametrize("scores", SCORES)
def test_the_gradient_is_unbiased_as_the_paper_says(scores, shown):
    """Oosterhuis & de Rijke 2018, 3.3: E[gradient] = sum of alpha_ij (f'(d_i) - f'(d_j)).

    alpha_ij is 0 if the user has no preference between the two, which is: clicks prefer i to j in a
    ranking as often as they prefer j to i in the one with the two exchanged. It is above 0 if they
    do so more often, in no ranking less.
    """
    seen = {"none": 0, "preferred": 0}
    for grades in map(np.array, product(range(3), repeat=3)):
        for chances in (of_user(user, grades) for user in USERS_OF_THREE.values()):
            weights = expected_weights(scores, shown, chances)
            for i, j in permutations(range(3), 2):
                alpha, differences = weights[i, j] - weights[j, i], advantages(i, j, shown, chances)
                differences = [*differences]
                if grades[i] == grades[j]:
                    np.testing.assert_allclose(differences, 0, atol=1e-12)
                    assert alpha == pytest.approx(0, abs=1e-12)
                    seen["none"] += 1
                elif min(differences) > -1e-12 and max(differences) > 1e-12:
                    assert alpha > 0
                    seen["preferred"] += 1
    assert min(seen.values()) > 100


# --- inverse propensities
def expected_gradient(user, grades, ranking, scores, propensities):
    """The expectation of the gradient in the scores over all clicks on the whole ranking."""
    settings = Settings(
        "ips", "own", user.click, user.stop, user.look, len(grades), propensities=propensities
    )
    learner = LEARNERS["ips"]({"features": len(grades)}, 1.0, settings, None)
    learner.round, learner.swapped, total = 1, 0, 0.0
    learner.last_scores = scores.astype(np.float32)
    for clicked, chance in patterns(user, grades[ranking]).items():
        direction = learner.direction(np.eye(len(grades)), ranking, np.array(clicked))
        total = total - chance * (0 if direction is None else direction)
    return total


def gradient_of_everything_looked_at(clicks, scores):
    """That of the loss in which a document counts as often as it would be clicked if looked at."""
    slope = clicks[:, None] / (1 + np.exp(scores[:, None] - scores))
    return slope.sum(0) - slope.sum(1)


@pytest.mark.parametrize(
    ("name", "propensities", "biased"),
    yaml.safe_load("""
[[position, known, false], [position, affine, false], [position, none, true], [trust, known, true],
 [trust, affine, false], [navigational, none, true]]
"""),
)
def test_which_propensities_make_the_gradient_unbiased(name, propensities, biased):
    """Its expectation is to be the same however documents are ranked."""
    user, scores, grades = USERS_OF_THREE[name], np.array([0.4, -0.3, 1.1]), np.array([0, 2, 1])
    found = [expected_gradient(user, grades, ranking, scores, propensities) for ranking in THREE]
    clicks = grades / 2 if propensities == "affine" else np.array(user.click)[0][grades]
    errors = np.abs(found - gradient_of_everything_looked_at(clicks, scores)).max(1)
    assert errors.max() > 0.1 if biased else errors.max() < 1e-6


def test_a_list_without_a_click_leaves_weights_of_0_where_they_are(stream):
    """Documents and scores are alike: whatever rounding left would rank the next query."""
    settings = made(stream, "ips", user="position", propensities="affine")
    learner = LEARNERS["ips"](stream.metadata, 1.0, settings, None)
    assert len({*learner.shifts}) == 1 and learner.shifts[0] > 0
    features, nothing = np.random.default_rng(2).normal(size=(10, 3)), np.zeros(10, bool)
    learner.last_scores, learner.round, learner.swapped = np.zeros(10, np.float32), 1, 0
    assert learner.direction(features, np.arange(10), nothing).tolist() == [0, 0, 0]
    g, clicked, order = np.ones(10), nothing.astype(np.int8), np.arange(10, dtype=np.uint32)
    told = learner.last_scores, order, clicked, learner.chances, learner.shifts
    assert kernels.weighted_gradient(*told, g) and not g.any()


@pytest.mark.parametrize(("name", "factor"), [("position", 1), ("trust", None)])
def test_swaps_estimate_propensities_of_a_user_without_trust_bias(noisy, name, factor):
    """Clicks are rarer in place k by the factor 1/k; with trust bias they are rarer still."""
    settings, chances = made(noisy, "ips", user=name, propensities="swapped"), np.ones(10)
    queries = query_order(noisy, generator(3, "queries"), 200_000)
    learner = LEARNERS["ips"](noisy.metadata, 1e-9, settings, generator(3, "noise"))
    learner.chances = chances
    played = play(noisy, queries, learner)
    assert played.events[:, 0].mean() == pytest.approx(0.1, abs=0.01)
    ratio = chances[:5] * np.arange(1, 6)
    if factor:
        np.testing.assert_allclose(ratio, factor, atol=0.12)
    else:
        assert (ratio[1:] < 0.9).all()


def test_without_swaps_it_shows_its_own_ranking_and_swaps_exchange_the_first(noisy):
    settings = made(noisy, "ips", propensities="swapped")
    learner = LEARNERS["ips"](noisy.metadata, 1.0, settings, generator(3, "swapped"))
    moved, places = 0, 0
    for _ in range(2000):
        ranking = learner.rank(noisy[0][0])
        apart = np.flatnonzero(ranking != learner.own_ranking)
        assert len(apart) == 0 or apart.tolist() == [0, learner.swapped]
        moved, places = moved + (len(apart) > 0), places + (learner.swapped > 0)
    assert 0.07 < places / 2000 < 0.13 and 0.03 < moved / 2000 < 0.07


# --- DBGD
class Coins:
    """Coins in a given order, as the numbers that decide them."""

    def __init__(self, coins):
        self.left = iter(coins)

    def random(self):
        return 0.0 if next(self.left) else 0.9


def drafts(current, candidate):
    """Each interleaved list with its teams, over all coins; all are equally probable."""
    coins = product((True, False), repeat=(len(current) + 1) // 2)
    return [team_draft(current, candidate, Coins(each)) for each in coins]


@pytest.mark.parametrize("candidate", THREE)
def test_every_place_is_either_teams_with_equal_chances(candidate):
    """A user who clicks without regard to documents prefers neither, whatever the two rankings."""
    teams = np.array([teams for _, teams in drafts(np.arange(3), candidate)])
    np.testing.assert_array_equal(teams.mean(0), 0.5)


@pytest.mark.parametrize("user", USERS)
def test_a_ranker_interleaved_with_itself_ties_in_expectation(user):
    for grades in product(range(3), repeat=4):
        chances = patterns(USERS_OF_THREE[user], grades)
        leads = {}
        for ranking, teams in drafts(np.arange(4), np.arange(4)):
            np.testing.assert_array_equal(ranking, np.arange(4))
            for clicked, chance in chances.items():
                lead = sum(np.where(teams[np.array(clicked)], 1, -1))
                leads[lead] = leads.get(lead, 0) + chance
        for lead, chance in leads.items():
            assert leads[-lead] == pytest.approx(chance)


def test_each_pick_is_the_best_that_is_left():
    current, candidate = np.array([0, 1, 2, 3, 4]), np.array([3, 0, 4, 1, 2])
    for ranking, teams in drafts(current, candidate):
        assert sorted(ranking) == [*range(5)]
        for place, (document, picks) in enumerate(zip(ranking, teams, strict=True)):
            left = [i for i in (candidate if picks else current) if i not in ranking[:place]]
            assert document == left[0]
        assert (abs(np.cumsum(np.where(teams, 1, -1))) <= 1).all()


@pytest.mark.parametrize("of", [compiled, plain])
def test_the_steps_of_dbgd_have_the_length_of_its_rate(noisy, of):
    """Each update is a unit vector times the rate."""
    settings = made(noisy, "dbgd", user="informational")
    weights = [of(noisy, settings, 0.25, rounds).weights for rounds in range(1, 40)]
    moved = np.linalg.norm(np.diff(weights, axis=0), axis=1)
    moved = moved[moved > 0]
    assert len(moved) > 5
    np.testing.assert_allclose(moved, 0.25, rtol=1e-6)


@pytest.mark.parametrize("kind", LEARNERS)
def test_learning_beats_not_learning(noisy, kind):
    settings = made(noisy, kind)
    silent = made(noisy, kind, user={"click": [0] * 5, "stop": [0] * 5})
    learnt, still = (compiled(noisy, each, 0.1, 3000) for each in (settings, silent))
    assert not still.updated.any() and not still.weights.any()
    assert learnt.ranker[-1000:].mean() > still.ranker[-1000:].mean() + 0.1
