"""Regret bounds of games: constants by enumeration, by hand, held to what learners do."""

import math
from itertools import permutations, product

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from regret import regret

from scant.games import losses, streams
from scant.games.play import Game, play
from scant.measures import positions
from scant.randomness import generator
from scant.theory import game_bounds as bounds


# --- constants
@pytest.mark.parametrize("loss", ["sum-loss", "dcg", "dcg@2", "precision@3", "precision@9"])
@pytest.mark.parametrize("items", [1, 2, 3, 4, 5])
def test_the_constants_are_what_they_stand_for(loss, items):
    weights = losses.make(loss).weights(items)
    vectors = np.array([weights[positions(one) - 1] for one in permutations(range(items))])
    assert bounds.diameter(weights) == pytest.approx(
        np.abs(vectors[:, None] - vectors).sum(axis=2).max()
    )
    # a linear function is largest at the ends of its range
    rounds = np.array(list(product([0, 3], repeat=items))).T
    worth = vectors @ rounds
    result = bounds.largest_difference(weights, 3.0)
    assert result == pytest.approx((worth.max(axis=0) - worth.min(axis=0)).max())


def test_the_constants_of_the_papers_losses():
    game = Game(streams.draw("flip", generator(0), 50), "sum-loss")
    assert game.facts().constants == (200, 100, 20)  # m^2 / 2, m^2 / 4, m
    game = Game(streams.draw("graded", generator(0), 50), "dcg")
    assert game.facts().constants[2] == 20 * 15
    game = Game(streams.draw("rankings", generator(0), 50, items=10), "spearman-loss")
    assert game.facts().constants == (50, 225, 90)
    assert game.facts("top").constants == game.facts().constants
    game = Game(streams.draw("flip", generator(0), 50), "ndcg")
    assert game.facts("top").largest == 1
    assert game.facts().largest <= 1


# --- by hand
def test_perturbed_leaders_by_hand():
    assert bounds.ftpl_epsilon(20, 1.0, 10_000) == pytest.approx(1 / 447.2135955)
    assert bounds.ftpl_epsilon(20, 15.0, 10_000) == pytest.approx(1 / 15 / 447.2135955)
    assert bounds.kalai_vempala_epsilon(200, 20, 1, 10**6) == pytest.approx(1 / 316.2277660)
    np.testing.assert_allclose(bounds.ftpl([0, 100], 0.1, 8.0, 2.0, 3.0), [80, 140])
    eps = math.sqrt(8 / (2 * 3 * 100))  # sqrt(D / (R A T)): 2 sqrt(D R A T)
    assert bounds.ftpl(100, eps, 8.0, 2.0, 3.0) == pytest.approx(2 * math.sqrt(8 * 2 * 3 * 100))
    assert bounds.fpl_gumbel(10, 0.5, 1, 4.0, 2.0, 3.0) == pytest.approx(30 + 4 * 0.5772156649)


@pytest.mark.parametrize("items", [2, 5, 20, 1000])
def test_the_range_of_gumbel_noise(items):
    sample = np.random.default_rng(0).gumbel(size=(4000, items))
    spread = sample.max(axis=1) - sample.min(axis=1)
    error = 4 * spread.std() / math.sqrt(4000)
    assert spread.mean() - error < bounds.gumbel_range(items) < 1.35 * spread.mean()


def test_rates_are_where_bounds_are_least():
    for bound, rate in [
        (
            lambda eta: bounds.fpl_gumbel(500, eta, 7, 4.0, 2.0, 3.0),
            bounds.gumbel_eta(7, 4.0, 2.0, 3.0, 500),
        ),
        (lambda eta: bounds.hedge(500, eta, 24, 3.0), bounds.hedge_eta(24, 3.0, 500)),
        (
            lambda eta: bounds.multiplicative_weights(500, eta, 24, 3.0),
            bounds.multiplicative_eta(24, 500),
        ),
        (lambda eta: bounds.comb_band(5000, eta, 4), bounds.comb_band_rates(4, 5000)[0]),
    ]:
        assert bound(rate) < min(bound(0.99 * rate), bound(1.01 * rate))


def test_hedge_and_its_like_by_hand():
    result = bounds.hedge(200, bounds.hedge_eta(24, 3.0, 200), 24, 3.0)
    assert result == pytest.approx(3 * math.sqrt(100 * math.log(24)))
    result = bounds.multiplicative_weights(100, 0.1, 24, 3.0)
    assert result == pytest.approx(3 * (10 + 10 * math.log(24)))
    assert bounds.multiplicative_eta(720, 10) == 0.5
    result = bounds.comb_band_rates(4, 1000)[1]
    assert result == pytest.approx(12 * bounds.comb_band_rates(4, 1000)[0])
    assert bounds.comb_band(1000, 0.01, 4) == pytest.approx(100 * math.log(24) + 10 * (12 + 10))
    # At its rate, the bound of Helmbold & Warmuth: sqrt(2 L n log n) + n log n at most.
    best, n = 700.0, 6
    eta = bounds.permelearn_eta(n, best)
    most = math.sqrt(2 * best * n * math.log(n)) + n * math.log(n)
    assert 0.8 * most < bounds.permelearn(best, eta, n) <= most * (1 + 1e-12)


@pytest.mark.parametrize(("t", "phases"), [(10**5, 126), (10**7, 9 * math.log(10**7))])
def test_pege2_by_hand(t, phases):
    """With s = 1 and a gap of 2: by its 126th phase all means are within 1/3, unless more phases
    are needed to exploit all rounds.
    """
    T, m, R = 10**7, 4, 3.0
    assert bounds.hoeffding(126, m, T, 1.0) <= 1 / 3 < bounds.hoeffding(125, m, T, 1.0)
    expected = R * (m * (phases + 1) + 8 * m / 4 + 1)
    assert bounds.pege2(t, T, 2.0, m, 1, R, 1.0) == pytest.approx(expected)
    assert bounds.pege2(10, T, 2.0, m, 1, R, 1.0) == 10 * R


def test_online_rank_by_hand():
    n, T, M = 20, 10_000, 19
    eta = bounds.online_rank_eta(n, M, T)
    assert eta == pytest.approx(0.03820022542, rel=1e-9)
    paper = n * math.sqrt(T * M * math.log(2))
    assert 0.95 * paper < bounds.online_rank(T, eta, n, M) <= paper
    assert bounds.online_rank(T, eta, n, M) == pytest.approx(paper * (1 + 19 / 20) / 2)


def test_blocks_by_hand():
    # 20^(1/3) 500^(2/3), what the thesis rounds to 200
    assert bounds.theory_blocks(20, 1, 10_000) == 171
    assert bounds.theory_blocks(20, 5, 10_000) == 500  # 20^(1/3) 2500^(2/3)
    assert bounds.theory_blocks(20, 20, 1000) == 271
    assert bounds.theory_blocks(20, 1, 40) == 2
    assert bounds.theory_blocks(20, 1, 20) == 1
    # After i of 4 blocks of 10: R c i + 10 C(i); the last block takes 3 more rounds, at R = 2 each.
    one = bounds.rtopkf([1, 10, 11, 40, 41, 43], 43, 4, 6, 2, 2.0, lambda i: 5.0 * i)
    np.testing.assert_allclose(one, [56, 56, 112, 224, 226, 230])


@pytest.mark.parametrize(("items", "k"), [(20, 1), (20, 10), (5, 5), (7, 2), (3, 1)])
def test_anytime_blocks_follow_theory_at_every_horizon(items, k):
    lengths = bounds.anytime_lengths(items, k, 200_000)
    ends = np.cumsum(lengths)
    assert ends[-2] < 200_000 <= ends[-1]
    assert lengths.min() >= bounds.cells(items, k)
    for t in (1000, 20_000, 200_000):
        begun = int(np.searchsorted(ends, t)) + 1
        assert begun == pytest.approx(
            items ** (1 / 3) * (t / bounds.cells(items, k)) ** (2 / 3), rel=0.12, abs=2
        )
        np.testing.assert_array_equal(bounds.anytime_lengths(items, k, t), lengths[:begun])
    noise = bounds.anytime_noise(lengths, items, 3.0)
    assert np.all(np.diff(noise) >= 0)
    i = len(lengths)
    assert noise[-1] == pytest.approx(lengths[-1] * 3 * math.sqrt(items * i), rel=0.1)
    # Two blocks: R c n + D N_n + R A (b_1^2 / N_1 + b_2^2 / N_2).
    two = bounds.anytime([1, 4, 5, 10], [4, 6], [2.0, 3.0], 3, 1, 5.0, 2.0, 7.0)
    np.testing.assert_allclose(
        two, [6 + 10 + 112, 6 + 10 + 112, 12 + 15 + 14 * 20, 12 + 15 + 14 * 20]
    )


def test_adaptive_blocks_by_hand():
    assert bounds.adaptive_lengths(0, 20, 1) == (20, 20)
    # 1.5 (400 * 10^4 / 20)^(1/3), sqrt(20 * 10^4)
    assert bounds.adaptive_lengths(10_000, 20, 1) == (87, 447)
    assert bounds.adaptive_lengths(100, 2, 2) == (5, 10)
    value = bounds.adaptive(np.array([1.0]), 20, 1, 4.0, 2.0, 3.0)
    # one block; it ends by round 21
    assert value == pytest.approx(2 * 20 + 3 * math.sqrt(24 * 21 * 20))


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=40))
def test_the_sum_that_adaptive_noise_rests_on(x):
    assert np.sum(x / np.sqrt(np.cumsum(x))) <= 2 * math.sqrt(sum(x)) * (1 + 1e-12)


@pytest.mark.parametrize("items", [3, 20])
@pytest.mark.parametrize("k", [1, 2])
def test_no_choice_of_blocks_explores_more_or_has_longer_ones_than_the_bound_says(items, k):
    random, c = np.random.default_rng(0), bounds.cells(items, k)
    for style in ("short", "long", "any"):
        ends, squares = [0], 0
        while ends[-1] < 2500:
            least, most = bounds.adaptive_lengths(ends[-1], items, k)
            length = {"short": least, "long": most, "any": int(random.integers(least, most + 1))}[
                style
            ]
            ends.append(ends[-1] + length)
            squares += length**2
            t = random.integers(ends[-2] + 1, ends[-1] + 1)
            explored = bounds.adaptive(t, items, k, 0.0, 1.0, 0.0)
            assert c * (len(ends) - 1) <= explored
            assert (
                3 * math.sqrt(squares)
                <= bounds.adaptive(t, items, k, 1.0, 1.0, 1.0) - explored + 1e-9
            )
            if style == "short":
                assert explored == c * (len(ends) - 1)


# --- held to what learners do
HELD = yaml.safe_load("""
{ftpl: ftpl, 'ftpl, ailon': {kind: ftpl, parameters: ailon}, fpl-gumbel: fpl-gumbel,
 online-rank: online-rank, plackett-luce: {kind: online-rank, sort: plackett-luce}, rtopkf: rtopkf,
 'rtopkf, top 2': {kind: rtopkf, k: 2, black_box: online-rank}, rtopkf-anytime: rtopkf-anytime,
 rtopkf-adaptive: rtopkf-adaptive}
""")


@pytest.mark.parametrize("stream", ["flip", "switching", "ties"])
@pytest.mark.parametrize("name", HELD)
def test_mean_regret_is_within_the_bound_at_every_round(stream, name):
    items = {"items": 6, **({"relevant": 3} if stream in ("flip", "switching") else {})}
    for loss in ("sum-loss", "dcg", "precision@2"):
        if loss != "sum-loss" and "online-rank" in str(HELD[name]):
            continue
        regrets = []
        for seed in range(4):
            game = Game(streams.draw(stream, generator(seed), 3000, **items), loss)
            trace = play(game, HELD[name], generator(seed, "noise"))
            regrets.append(regret(trace))
            assert np.isfinite(trace.bound).all()
        assert np.all(np.mean(regrets, axis=0) <= trace.bound)


def test_where_no_bound_is_known_there_is_none():
    stream = streams.draw("flip", generator(0), 200, items=5, relevant=2)
    for loss, kinds in {
        "ndcg": ["rtopkf", "rtopkf-anytime", "rtopkf-adaptive", "random", "online-rank"],
        "ap": ["ftpl", "fpl-gumbel", "online-rank", "rtopkf", "rtopkf-anytime"],
        "dcg": ["online-rank", "random", "best-fixed", {"kind": "ftpl", "epsilon": math.inf}],
        "precision@2": ["online-rank", {"kind": "rtopkf", "black_box": "online-rank"}],
    }.items():
        for kind in kinds:
            assert np.isnan(play(Game(stream, loss), kind, generator(0)).bound).all(), (loss, kind)
    cases = (("ndcg", "ftpl"), ("auc-loss", "ftpl"), ("auc-loss", "online-rank"), ("ap", "hedge"))
    for loss, kind in cases:
        assert np.isfinite(play(Game(stream, loss), kind, generator(0)).bound).all()


def test_what_no_learner_from_the_top_one_avoids_by_enumeration():
    """Two actions, two outcomes of certain loss: one is wrong half of the time, whichever plays."""
    assert bounds.top_one_floor([[0, 1], [1, 0]], [[1, 0], [0, 1]]) == 0.5
    # the same action is best for both
    assert bounds.top_one_floor([[0, 1], [1, 0]], [[1, 0], [0.75, 0.25]]) == 0
    mixed = np.random.default_rng(0).random((3, 5)), np.full((2, 5), 0.2)
    assert bounds.top_one_floor(*mixed) == pytest.approx(0)
