"""Learners of games: unbiased estimates by enumeration, rules by hand, refusals."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regret import regret

from scant.errors import SettingError
from scant.games import streams
from scant.games.learners import Facts, make
from scant.games.losses import make as make_loss
from scant.games.play import Game, build, play
from scant.games.weights import birkhoff, sinkhorn
from scant.randomness import generator
from scant.theory import game_bounds


def facts(items, rounds, loss="dcg", lowest=0.0, largest=1.0, pairs=None, **others):
    return Facts(items, rounds, make_loss(loss), lowest, largest, pairs or items**2 / 4, **others)


def led(learner, stream, k=1):
    """The learner after the rounds of a stream of which it sees the top k."""
    for row in stream:
        ranking = learner.rank()
        learner.learn(ranking, row[ranking[:k]])
    return learner


# --- blocks
class Times:
    """Stands in for a generator: a script sets the times of exploration, perturbations are 0."""

    def __init__(self, script):
        self.script, self.at, self.chance = script, 0, Fraction(1)

    def random(self, size=None):
        return self if size is None else np.zeros(size)

    def __mul__(self, left):  # `int(random() * left)`: one of `left` equal choices
        self.chance /= left
        self.at += 1
        return self.script[self.at - 1] % left if self.at <= len(self.script) else 0


def every_time(length, cells):
    """Scripts for all choices in the rounds of a block; those that show no cell count, too."""
    scripts = [[]]
    for left in range(length, 0, -1):
        scripts = [[*script, choice] for script in scripts for choice in range(left)]
    return scripts


@pytest.mark.parametrize(
    ("items", "k", "length"), [(3, 1, 3), (3, 1, 5), (4, 2, 4), (5, 2, 4), (4, 4, 3), (2, 1, 6)]
)
@pytest.mark.parametrize("kind", ["rtopkf", "rtopkf-anytime", "rtopkf-adaptive"])
def test_the_estimate_of_a_block_is_unbiased(items, k, length, kind):
    """Lemma 18, exactly, over all random times; and each cell has a time of its own."""
    stream = np.random.default_rng(items + length).integers(0, 9, (length, items))
    mean, total = [Fraction(0)] * items, Fraction(0)
    for script in every_time(length, -(-items // k)):
        random = Times(script)
        settings = {"blocks": 1} if kind == "rtopkf" else {}
        learner = make(kind, facts(items, length, largest=9.0), random, k=k, **settings)
        learner.begin = lambda: length  # whatever the length that this kind gives its first block
        if kind != "rtopkf":
            learner.lengths = np.array([length])
        taken = []
        learner.end = lambda learner=learner, taken=taken: taken.append(learner.estimate.copy())
        led(learner, stream, k)
        assert len(taken) == 1
        assert learner.explored == -(-items // k)
        total += random.chance
        mean = [
            old + random.chance * Fraction(int(one))
            for old, one in zip(mean, taken[0], strict=True)
        ]
    assert total == 1
    assert mean == [Fraction(int(column.sum()), length) for column in stream.T]


def test_cells_are_shown_on_top_by_index_and_the_rest_as_the_leader_or_chance_has_it():
    for rest in ("leader", "random"):
        learner = make("rtopkf", facts(7, 40), generator(0), k=2, blocks=1, rest=rest)
        learner.black_box.scores, learner.black_box.noise = np.arange(7.0), 0.0
        tops, tails = [], set()
        for _ in range(40):
            ranking = learner.rank()
            learner.learn(ranking, np.zeros(2))
            if learner.exploring is None:
                assert ranking.tolist() == [6, 5, 4, 3, 2, 1, 0]
                continue
            top = learner.exploring.tolist()
            assert ranking[: len(top)].tolist() == top
            tops.append(top)
            tails.add(
                ranking[len(top) :].tolist() == sorted(set(range(7)) - set(top), reverse=True)
            )
        assert sorted(tops) == [[0, 1], [2, 3], [4, 5], [6]]
        assert (False in tails) == (rest == "random")


def test_blocks_of_a_horizon_that_they_do_not_divide():
    game = Game(streams.draw("flip", generator(0), 107, items=5, relevant=2), "dcg")
    trace = play(game, {"kind": "rtopkf", "blocks": 10}, generator(0), np.arange(1, 108))
    # ten rounds each, five to explore
    assert trace.explored[[9, 19, 29, 89]].tolist() == [5, 10, 15, 45]
    assert trace.explored[-1] == 50  # and seventeen in the last
    learner = build(game, {"kind": "rtopkf", "blocks": 10}, generator(0))
    assert learner.loop()[1]["blocks"].lengths.tolist() == [10] * 9 + [17]
    learner.block = 9
    assert learner.begin() == 17


def test_what_is_learnt_of_a_block():
    """The black box gets each block's estimate once; an anytime block's counts by its rounds."""
    given_to, random = [], generator(1)
    learner = make("rtopkf", facts(4, 40), random, blocks=4)
    learner.black_box.learn = lambda ranking, seen: given_to.append(seen)
    led(learner, np.repeat(np.eye(4), 10, axis=0))
    np.testing.assert_array_equal(given_to, np.eye(4))
    learner = led(make("rtopkf-anytime", facts(4, 400), random), np.tile(np.arange(4), (400, 1)))
    done = learner.lengths[: learner.block + (learner.left == 0)].sum()
    np.testing.assert_array_equal(learner.black_box.scores, done * np.arange(4))


def test_blocks_chosen_by_data_stay_within_theirs_and_grow_where_nothing_is_lost():
    stream = streams.draw("flip", generator(0), 5000, items=6, relevant=2, probability=0.02)
    game = Game(stream, "dcg")
    learner = build(game, "rtopkf-adaptive", generator(0))
    starts, lengths, noises, begin = [], [], [], learner.begin

    def watched():
        starts.append(learner.rounds)
        lengths.append(begin())
        noises.append(learner.black_box.noise)
        return lengths[-1]

    learner.begin = watched
    led(learner, stream)
    for start, length in zip(starts, lengths, strict=True):
        least, most = game_bounds.adaptive_lengths(start, 6, 1)
        assert least <= length <= most
    # the longest that is allowed
    assert lengths[-1] == game_bounds.adaptive_lengths(starts[-1], 6, 1)[1]
    assert np.all(np.diff(noises) >= 0)
    assert noises[-1] < starts[-1] / 4  # far from drowning what it has learnt


def test_where_exploiting_loses_more_blocks_are_short():
    """Two items change places: what was learnt is always wrong, and exploring no worse."""
    stream = np.zeros((4000, 2), np.int8)
    phases = np.arange(4000) // 400 % 2
    stream[np.arange(4000), phases] = 1
    explored = [
        led(build(Game(rounds, "dcg"), "rtopkf-adaptive", generator(0)), rounds).explored
        for rounds in (stream, np.tile(stream[:1], (4000, 1)))
    ]
    assert explored[0] > 1.5 * explored[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"blocks": 201}, "blocks of T = 1000 rounds have 4 rounds each, too few to show m = 10"),
        ({"blocks": 201}, "the largest K is 200"),
        ({"k": 11}, "k is 11; with 10 items it must be from 1 to 10"),
        ({"black_box": {"kind": "ftpl", "eta": 1}}, "unknown setting of the learner 'ftpl' 'eta'"),
        ({"black_box": {"epsilon": 1}}, "unknown learner of a game ''"),
        ({"black_box": "hedge"}, "up to 6 items; this game has 10"),
    ],
)
def test_blocks_that_cannot_be_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        make("rtopkf", facts(10, 1000), generator(0), **{"k": 2, **settings})
    if "blocks" not in settings and "black_box" not in settings:
        for kind in ("rtopkf-anytime", "rtopkf-adaptive"):
            with pytest.raises(SettingError, match=message):
                make(kind, facts(10, 1000), generator(0), **{"k": 2, **settings})


def test_the_largest_k_plays():
    for blocks in (200, 1):
        make("rtopkf", facts(10, 1000), generator(0), k=2, blocks=blocks)
    assert make("rtopkf", facts(20, 10_000), generator(0)).blocks == 171
    # theory's K, but for what a block needs
    assert make("rtopkf", facts(20, 30), generator(0)).blocks == 1


# --- perturbed leaders
def test_without_noise_the_leader_is_always_wrong_on_ties_and_with_noise_it_is_not():
    game = Game(streams.draw("ties", generator(0), 2000, items=10), "sum-loss")
    worst = play(game, {"kind": "ftpl", "epsilon": math.inf}, generator(0))
    assert worst.value[-1] == 2000 * (6 + 7 + 8 + 9 + 10)
    assert regret(worst)[-1] > 12 * 2000
    assert regret(play(game, "ftpl", generator(0)))[-1] < 2000
    assert regret(play(game, "online-rank", generator(0)))[-1] < 2000


def test_noise_is_as_wide_as_set():
    for epsilon in (0.01, 0.5):
        learner = make("ftpl", facts(2, 100), np.random.default_rng(0), epsilon=epsilon)
        # half the width apart: first with probability 1/8
        learner.scores = np.array([0.0, 0.5 / epsilon])
        first = np.mean([learner.rank()[0] == 0 for _ in range(4000)])
        assert first == pytest.approx(1 / 8, abs=0.026)
    for kind in ("fpl-gumbel", "online-rank"):
        learner = make(kind, facts(2, 100), np.random.default_rng(0))
        learner.rate = 0.25
        learner.learn(None, np.array([0.0, 4.0]))
        first = np.mean([learner.rank()[0] == 0 for _ in range(4000)])
        assert first == pytest.approx(1 / (1 + math.e), abs=0.035)


def test_theorys_parameters():
    assert make("ftpl", facts(20, 10_000), None).epsilon == pytest.approx(1 / math.sqrt(200_000))
    result = make("ftpl", facts(20, 10_000, largest=15.0), None).epsilon
    assert result == pytest.approx(1 / 15 / math.sqrt(200000))
    box = make("rtopkf", facts(20, 10_000, largest=3.0), None, blocks=200).black_box
    assert box.epsilon == pytest.approx(1 / 3 / math.sqrt(20 * 200))
    box = make(
        "rtopkf", facts(20, 10_000, pairs=19.0), None, blocks=200, black_box="online-rank"
    ).black_box
    # an estimate may have half the items
    assert box.rate == pytest.approx(20 * math.sqrt(math.log(2) / 200 / 100))
    learner = make("online-rank", facts(20, 10_000, pairs=19.0), None)
    assert learner.rate == pytest.approx(20 * math.sqrt(math.log(2) / 190_000))
    spearman = Game(streams.draw("rankings", generator(0), 100, items=10), "spearman-loss")
    assert spearman.facts().pairs == 10**2 * 99 / 12
    assert (spearman.facts().lowest, spearman.facts().largest) == (-10, -1)
    single = Game(streams.draw("zipf", generator(0), 100, items=10), "position-loss")
    assert single.facts().pairs == 9
    chosen = Game(streams.draw("k-choice", generator(0), 100, items=10, choices=4), "dcg")
    assert chosen.facts().pairs == 24


def test_the_perturbed_leader_as_ailon_tunes_it():
    """His section 4.1: D about n^2 / 2, R a round's largest loss, A = k items; 2 sqrt(DRAT)."""
    for stream, loss, R, A in (
        ("zipf", "position-loss", 20, 1),
        ("k-choice", "position-loss", 20 + 19 + 18 + 17 + 16, 5),
        ("rankings", "spearman-loss", 20 * 21 * 41 / 6, 210),
    ):
        game = Game(streams.draw(stream, generator(0), 100), loss)
        learner = build(game, {"kind": "ftpl", "parameters": "ailon"}, generator(0))
        assert learner.epsilon == pytest.approx(math.sqrt(200 / (R * A * 100)))
        assert learner.bound(100) == pytest.approx(2 * math.sqrt(200 * R * A * 100))
        assert learner.noise < build(game, "ftpl", generator(0)).noise
    tuned, ailon = facts(20, 100, round_constants=(1, 1)), {"parameters": "ailon"}
    assert make("ftpl", tuned, None, epsilon=0.5, **ailon).noise == 2
    box = {"blocks": 5, "black_box": {"kind": "ftpl"} | ailon}
    box = make("rtopkf", facts(4, 100, loss="sum-loss"), None, **box)
    assert box.black_box.constants == (8, 16, 4)  # an estimate has values of several rounds
    with pytest.raises(SettingError, match=r"parameters of the learner 'ftpl'.*thesis"):
        make("ftpl", facts(4, 100), None, parameters="theses")


def test_the_largest_loss_of_a_round_is_that_of_the_worst_ranking_and_round():
    random = generator(0)
    values = np.round(random.standard_normal((50, 4)), 2)
    game = Game(values, "position-loss")
    learner = build(game, {"kind": "ftpl", "parameters": "ailon"}, random)
    assert learner.constants[2] == pytest.approx(np.abs(values).sum(axis=1).max())
    worst = max(
        abs(values[:, order] @ learner.facts.weights).max() for order in permutations(range(4))
    )
    assert learner.constants[1] >= worst


# --- tables of rankings
def cumulative(game, rankings):
    sign = -1 if game.loss.gain else 1
    return np.array(
        [[sign * game.loss.measure(one, row) for one in rankings] for row in game.stream]
    )


@pytest.mark.parametrize("loss", ["sum-loss", "dcg", "ndcg", "ap", "auc-loss"])
def test_hedge_weighs_by_its_losses(loss):
    game = Game(streams.draw("flip", generator(0), 12, items=4, relevant=2), loss)
    learner = build(game, "hedge", generator(0))
    learner.eta = 0.3
    for t, row in enumerate(game.values * game.scale[:, None]):
        expected = np.exp(-0.3 * cumulative(game, learner.rankings)[:t].sum(axis=0))
        np.testing.assert_allclose(learner.probabilities(), expected / expected.sum(), rtol=1e-9)
        learner.learn(learner.rank(), row)


@pytest.mark.parametrize("loss", ["sum-loss", "dcg"])
def test_multiplicative_weights(loss):
    game = Game(streams.draw("flip", generator(0), 12, items=4, relevant=2), loss)
    learner = build(game, "multiplicative-weights", generator(0))
    learner.eta = 0.3
    losses, weights = cumulative(game, learner.rankings), np.sort(game.loss.weights(4))
    span = weights[2:].sum() - weights[:2].sum()  # R: two items relevant, on top or at the bottom
    scaled, expected = (losses - losses.min(axis=1, keepdims=True)) / span, np.ones(24)
    for row, loss_of in zip(game.values.astype(float), scaled, strict=True):
        np.testing.assert_allclose(learner.probabilities(), expected / expected.sum(), rtol=1e-9)
        learner.learn(learner.rank(), row)
        expected = expected * (1 - 0.3 * loss_of)
    assert learner.range() == pytest.approx(span)


@pytest.mark.parametrize(
    ("kind", "most"), [("hedge", 6), ("multiplicative-weights", 6), ("comb-band", 5)]
)
def test_tables_that_would_be_too_large(kind, most):
    settled = {"losses": (0.0, 1.0)}
    make(kind, Facts(most, 100, make_loss("dcg"), 0.0, 1.0, 1.0, **settled), generator(0))
    with pytest.raises(
        SettingError, match=f"'{kind}': .*plays up to {most} items; this .* {most + 1}"
    ):
        make(kind, facts(most + 1, 100), generator(0))


def test_comb_bands_estimate_is_unbiased():
    """Over the rankings drawn, estimated losses average to the true ones, up to scale."""
    game = Game(streams.draw("zipf", generator(0), 10_000, items=4), "position-loss")
    learner = build(game, "comb-band", generator(0))
    learner.logs = np.random.default_rng(0).standard_normal(24)
    learner.rank()
    p, row = learner.p.copy(), game.values[0].astype(float)
    true = game.facts().costs(learner.rankings, row)
    mean = np.zeros(24)
    for i in range(24):
        learner.logs, learner.drawn, learner.p = np.zeros(24), i, p
        learner.learn(learner.rankings[i], true[i])
        mean += p[i] * -learner.logs / learner.eta
    eta, gamma = game_bounds.comb_band_rates(4, 10_000)
    assert (learner.eta, learner.gamma) == (eta, gamma)
    assert 0 < gamma < 1
    assert p.min() >= learner.gamma / 24 - 1e-15
    np.testing.assert_allclose(mean, (true - learner.least) / learner.span, rtol=1e-9, atol=1e-12)
    assert (learner.least, learner.span) == (1, 3)


def test_comb_bands_bound_needs_a_share_of_random_rankings_below_one():
    """gamma = eta n (n - 1) is 1 at most."""
    few, many = (
        make("comb-band", facts(4, rounds, losses=(0, 2)), generator(0)) for rounds in (10, 10_000)
    )
    assert few.eta * 12 > 1 > many.eta * 12
    assert np.isnan(few.bound(10)) and few.gamma == 1
    assert many.bound(100) == 2 * game_bounds.comb_band(100, many.eta, 4)


def test_linear_losses_alone():
    for kind in ("permelearn", "comb-band", "rtopkf-adaptive"):
        with pytest.raises(SettingError, match="ap is none"):
            make(kind, Facts(4, 100, make_loss("ap"), 0.0, 1.0, 1.0, losses=(0, 1)), generator(0))


# --- PermELearn
@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_sinkhorn_and_birkhoff(m, seed):
    random = np.random.default_rng(seed)
    balanced = sinkhorn(random.random((m, m)) ** 3 + 1e-3, 1e-10)
    np.testing.assert_allclose(balanced.sum(axis=0), 1, atol=1e-9)
    np.testing.assert_allclose(balanced.sum(axis=1), 1, atol=1e-9)
    mixture, total = np.zeros((m, m)), 0.0
    for chance, columns in birkhoff(balanced):
        assert sorted(columns) == list(range(m))
        mixture[np.arange(m), columns] += chance
        total += chance
    np.testing.assert_allclose(mixture, balanced, atol=1e-8)
    assert total == pytest.approx(1, abs=1e-8)


def test_sinkhorn_scales_rows_and_columns_alone():
    matrix = np.random.default_rng(0).random((3, 3)) + 0.1
    ratio = sinkhorn(matrix, 1e-12) / matrix
    np.testing.assert_allclose(ratio * ratio[0, 0], np.outer(ratio[:, 0], ratio[0]), rtol=1e-9)


# --- a learner of one's own
OWN = """
import numpy as np

class Last:
    sees, k = "top", 2

    def __init__(self, items, rounds, random, start=0):
        self.items, self.made, self.seen = items, (items, rounds, random.random(), start), []

    def rank(self):
        return np.roll(np.arange(self.items), self.made[-1])

    def learn(self, ranking, seen):
        self.seen.append((ranking[:2].tolist(), seen.tolist()))
"""


def test_a_learner_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "own_game_learner.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    game = Game(np.array([[0, 1, 3], [1, 0, 2]]), "dcg")
    learner = build(game, {"kind": "own_game_learner:Last", "start": 1}, generator(0))
    assert learner.made == (3, 2, generator(0).random(), 1)
    trace = play(game, {"kind": "own_game_learner:Last", "start": 1}, generator(0))
    assert trace.value[0] == game.loss.measure(np.array([2, 0, 1]), [0, 1, 3])
    assert np.isnan(trace.bound).all()
    assert not trace.explored.any()
    from scant.games.play import _plain

    _plain(game, learner, np.array([2]))
    assert learner.seen == [([2, 0], [7.0, 0.0]), ([2, 0], [3.0, 1.0])]
    for kind, message in [
        ("own_game_learner:First", "cannot be imported .*module:Class"),
        ("no_such_module:First", "cannot be imported .*module:Class"),
    ]:
        with pytest.raises(SettingError, match=message):
            build(game, kind, generator(0))
    with pytest.raises(SettingError, match="cannot be made with its settings"):
        build(game, {"kind": "own_game_learner:Last", "begin": 1}, generator(0))


DECLARING = """
from scant.declare.declarations import Learner, Setting

class Declaring(Learner):
    settings = (Setting("start", {"type": "integer"}),)

    def __init__(self, items, rounds, random, **settings):
        self.made = items, rounds, settings
"""


def test_a_learner_of_ones_own_that_declares_its_settings_gets_no_others(tmp_path, monkeypatch):
    (tmp_path / "declaring_learner.py").write_text(DECLARING)
    monkeypatch.syspath_prepend(tmp_path)
    kind = "declaring_learner:Declaring"
    assert make(kind, facts(3, 2), generator(0), start=1).made == (3, 2, {"start": 1})
    with pytest.raises(SettingError, match=f"'{kind}' 'strat': did you mean 'start'"):
        make(kind, facts(3, 2), generator(0), strat=1)
