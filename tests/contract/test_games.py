"""What learners of games keep to; compiled loops and plain classes play the same game."""

from itertools import product

import numpy as np
import pytest
import yaml
from regret import regret

from scant.errors import SettingError
from scant.games import losses, streams
from scant.games.cells import cell
from scant.games.learners import LEARNERS, Perturbed
from scant.games.play import Game, build, play
from scant.kernels.sorting import COUNTING_LIMIT
from scant.randomness import generator
from scant.theory import game_bounds

SORTS = ("quicksort", "plackett-luce")
LOOPS = {
    "random": "random",
    "ftpl": "ftpl",
    "ftpl, ailon": {"kind": "ftpl", "parameters": "ailon"},
    "ftpl, no noise": {"kind": "ftpl", "epsilon": np.inf},
    "fpl-gumbel": "fpl-gumbel",
    **{f"online-rank, {sort}": {"kind": "online-rank", "sort": sort} for sort in SORTS},
    "rtopkf": "rtopkf",
    "rtopkf, leader": {"kind": "rtopkf", "rest": "leader", "blocks": 7},
    "rtopkf, top 4": {"kind": "rtopkf", "k": 4, "black_box": {"kind": "ftpl", "epsilon": 0.3}},
    "rtopkf, one block": {"kind": "rtopkf", "k": 3, "blocks": 1},
    **{
        f"rtopkf, {sort}": {
            "kind": "rtopkf",
            "k": 2,
            "black_box": {"kind": "online-rank", "sort": sort},
        }
        for sort in SORTS
    },
    "rtopkf-anytime": "rtopkf-anytime",
    "rtopkf-anytime, random": {"kind": "rtopkf-anytime", "k": 2, "rest": "random"},
    "rtopkf-adaptive": "rtopkf-adaptive",
    "rtopkf-adaptive, random": {"kind": "rtopkf-adaptive", "k": 3, "rest": "random"},
    "pege": "pege",
    "pege, top 3": {"kind": "pege", "k": 3},
    "pege2": {"kind": "pege2", "k": 2},
    **{f"semi-bandit, top {k}": {"kind": "semi-bandit", "k": k} for k in (1, 2, 4)},
    "forecaster": {"kind": "forecaster", "k": 2},
    "exploration-by-optimisation": {"kind": "exploration-by-optimisation", "k": 2},
    "hedge": "hedge",
    "multiplicative-weights": "multiplicative-weights",
}
PLAIN = {"best-fixed": "best-fixed", "permelearn": "permelearn", "comb-band": "comb-band"}
PLAIN |= {"rtopkf, hedge": {"kind": "rtopkf", "black_box": "hedge"}}
LOSSES = yaml.safe_load(
    "[sum-loss, pairwise-loss, dcg, dcg@3, precision@4, ndcg, ndcg@3, auc-loss, ap]"
)
NOT_FOR_AP = {"rtopkf-adaptive", "rtopkf-adaptive, random", "permelearn", "comb-band"}
TABLES = {"hedge", "multiplicative-weights"}  # a weight for each of at most 6! rankings
# few items, and losses that are observable from the top 2
OF_CELLS = ("forecaster", "exploration-by-optimisation")
ATLAS = [
    ("all alike", "precision@3", 3, 1, 1), ("locally", "sum-loss", 3, 2, 1),
    ("locally", "dcg", 3, 2, 1),
    ("locally", "precision@2", 3, 1, 1), ("locally", "precision@2", 4, 2, 1),
    ("locally", "dcg@1", 3, 1, 2),
    ("globally", "sum-loss", 3, 1, 1), ("globally", "ndcg", 3, 2, 1), ("globally", "dcg", 3, 1, 2),
    ("all", "pairwise-loss", 3, 3, 1), ("all", "ndcg", 3, 3, 1), ("all", "ap", 3, 3, 1),
    ("all", "sum-loss", 3, 3, 2),
]  # fmt: skip


def real_values(random, rounds, items):
    """Values for the position loss: negative ones, fractions, and rounds without any."""
    return np.round(random.standard_normal((rounds, items)), 3) * (
        np.arange(rounds)[:, None] % 7 > 0
    )


def stream_of(name, rounds=70, items=7):
    random = generator(0, "stream", name)
    if name == "real":
        return real_values(random, rounds, items)
    if name == "indistinguishable":
        return streams.draw(name, random, rounds)
    if name == "three items":
        return streams.draw("bernoulli", random, rounds, items=3, relevant=2)
    if name == "five items":
        return streams.draw("bernoulli", random, rounds, items=5, relevant=2)
    return streams.draw(
        name,
        random,
        rounds,
        items=items,
        **({"relevant": 3} if name in ("flip", "switching") else {}),
    )


GAMES = {
    **{f"flip, {loss}": ("flip", loss) for loss in LOSSES},
    "flip, precision@2": ("flip", "precision@2"),
    "graded, dcg": ("graded", "dcg"),
    "graded, ndcg@3": ("graded", "ndcg@3"),
    "graded, sum-loss": ("graded", "sum-loss"),
    "rankings, spearman-loss": ("rankings", "spearman-loss"),
    "uniform, position-loss": ("uniform", "position-loss"),
    "real, position-loss": ("real", "position-loss"),
    "indistinguishable, ndcg": ("indistinguishable", "ndcg"),
    **{
        f"three items, {loss}": ("three items", loss)
        for loss in ("sum-loss", "dcg", "precision@2", "auc-loss")
    },
    **{
        f"five items, {loss}": ("five items", loss)
        for loss in ("position-loss", "dcg", "ndcg", "ap")
    },
}


@pytest.fixture(scope="module")
def games():
    """Each game, made once."""
    return {name: Game(stream_of(stream), loss) for name, (stream, loss) in GAMES.items()}


def test_no_learner_or_stream_or_loss_is_left_out(games):
    kinds = {
        one if isinstance(one, str) else one["kind"] for one in [*LOOPS.values(), *PLAIN.values()]
    }
    assert kinds == set(LEARNERS)
    result = {loss.partition("@")[0] for _, loss in GAMES.values()}
    assert result == {*losses.LOSSES, *losses.CUT_LOSSES}
    for name, learner in LOOPS.items():
        assert build(Game(small_stream(name), loss_for(name)), learner, generator(0)).loop(), name
    for name, learner in PLAIN.items():
        assert not build(Game(stream_of("flip", items=4), "dcg"), learner, generator(0)).loop(), (
            name
        )


# --- how they play
def playable(name, learner, game):
    k = learner.get("k", 1) if isinstance(learner, dict) else 1
    if name in OF_CELLS and (
        game.items > 3 or (name == "exploration-by-optimisation" and game.loss.name == "ndcg")
    ):
        return False  # NDCG is observable from the top 2 of 3, not locally
    if name.startswith("semi-bandit") and not game.loss.name.startswith("precision"):
        return False
    if name.startswith("pege") and game.loss.normalised:
        return False
    if name in TABLES and game.items > 6:
        return False
    return not (name in NOT_FOR_AP and game.loss.places is None) and k <= game.items


def small_stream(name, rounds=70):
    """A binary stream of few items, as this learner can play."""
    return stream_of("three items", rounds) if name in OF_CELLS else stream_of("flip", rounds, 5)


def loss_for(name):
    """A loss that this learner can play on its small stream."""
    return "precision@2" if name.startswith(("semi-bandit", *OF_CELLS)) else "dcg"


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("name", LOOPS)
def test_the_compiled_loop_is_the_plain_class(games, game, name):
    game = games[game]
    if not playable(name, LOOPS[name], game):
        return
    one, two = generator(1, "noise"), generator(1, "noise")
    compiled, plain = play(game, LOOPS[name], one), play(game, LOOPS[name], two, compiled=False)
    np.testing.assert_allclose(compiled.value, plain.value, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(compiled.explored, plain.explored)
    assert one.random() == two.random()  # as many numbers were drawn


@pytest.mark.parametrize("name", OF_CELLS)
@pytest.mark.parametrize(("kind", "loss", "m", "k", "grades"), ATLAS)
def test_so_it_is_on_a_cell_of_every_kind_for_a_thousand_rounds(kind, loss, m, k, grades, name):
    """Rounding does not grow: optimised exploration, which would amplify it, has none."""
    rate = cell(loss, m, k, grades).rate
    observed = (
        "all alike" if rate.rate == "0" else "locally" if rate.locally_observable else "globally"
    )
    assert kind == ("all" if observed == "locally" and k == m else observed)
    assert rate.globally_observable
    if name == "exploration-by-optimisation" and kind == "globally":
        return  # refused
    settings = {"grades": grades, "k": k, "loss": loss} if kind != "all alike" else {"relevant": 1}
    stream = streams.draw(
        "hard" if "k" in settings else "bernoulli", generator(4), 1000, items=m, **settings
    )
    game, kept = Game(stream, loss), np.arange(1, 1001)
    one, two = generator(1, "noise"), generator(1, "noise")
    compiled = play(game, {"kind": name, "k": k}, one, kept)
    plain = play(game, {"kind": name, "k": k}, two, kept, compiled=False)
    np.testing.assert_allclose(compiled.value, plain.value, rtol=1e-12, atol=1e-9)
    assert one.random() == two.random()
    if name == "exploration-by-optimisation":
        np.testing.assert_array_equal(compiled.bound, plain.bound)


@pytest.mark.parametrize(
    "name", ["ftpl", "fpl-gumbel", *(f"online-rank, {sort}" for sort in SORTS), "rtopkf-adaptive"]
)
def test_so_it_is_with_more_items_than_are_sorted_by_counting(name):
    game = Game(
        streams.draw("k-choice", generator(2), 60, items=COUNTING_LIMIT + 10, choices=20),
        "position-loss",
    )
    learner = LOOPS[name] if name != "rtopkf-adaptive" else {"kind": "rtopkf-adaptive", "k": 50}
    compiled, plain = (
        play(game, learner, generator(1), compiled=compiled) for compiled in (True, False)
    )
    np.testing.assert_array_equal(compiled.value, plain.value)
    assert regret(compiled)[-1] != 0


@pytest.mark.parametrize(("items", "k"), [(2, 1), (3, 1), (3, 2)])
def test_so_it_is_with_blocks_that_grow_and_shrink(items, k):
    """Two items change places again and again, so that blocks are short, and then no more."""
    rounds = np.arange(4000)
    stream = np.zeros((4000, items), np.int8)
    stream[rounds, np.minimum(rounds, 3000) // 300 % 2] = 1
    game, learner = Game(stream, "dcg"), {"kind": "rtopkf-adaptive", "k": k}
    compiled, plain = (
        play(game, learner, generator(1), rounds + 1, compiled) for compiled in (True, False)
    )
    np.testing.assert_allclose(compiled.value, plain.value, rtol=1e-12)
    np.testing.assert_array_equal(compiled.explored, plain.explored)


def test_so_it_is_with_large_values_and_long_games(monkeypatch):
    """Weights drift beyond exp(), up and down, and the quick sort's odds are computed anew."""
    for sign in (1, -1):
        game = Game(sign * stream_of("graded", 300, 5).astype(float) * 10, "position-loss")
        for sort, eta in product(SORTS, (0.001, 1.0, 40.0)):
            monkeypatch.setattr(game_bounds, "online_rank_eta", lambda *_, eta=eta: eta)
            learner = {"kind": "online-rank", "sort": sort}
            compiled, plain = (
                play(game, learner, generator(1), compiled=compiled) for compiled in (True, False)
            )
            np.testing.assert_allclose(compiled.value, plain.value, rtol=1e-12)


@pytest.mark.parametrize("name", [*LOOPS, *PLAIN])
def test_a_game_again_is_the_same_game_and_leaves_the_stream_as_it_was(name):
    stream = small_stream(name)
    before, learner = stream.tobytes(), {**LOOPS, **PLAIN}[name]
    one, two = (play(Game(stream, loss_for(name)), learner, generator(3)) for _ in range(2))
    for array in ("value", "best", "best_at_horizon", "explored", "bound"):
        assert getattr(one, array).tobytes() == getattr(two, array).tobytes()
    assert stream.tobytes() == before
    other = play(Game(stream, loss_for(name)), learner, generator(4))
    kind = learner["kind"] if isinstance(learner, dict) else learner
    drawn = LEARNERS[kind].draws and name != "ftpl, no noise"
    assert (other.value.tobytes() != one.value.tobytes()) == drawn


@pytest.mark.parametrize("name", [name for name in [*LOOPS, *PLAIN] if name != "best-fixed"])
def test_a_ranking_is_made_before_its_round_is_seen(name):
    """Other values from some round on change nothing of the rounds before."""
    stream, learner = small_stream(name), {**LOOPS, **PLAIN}[name]
    kept = np.arange(1, 71)
    whole = np.diff(
        play(Game(stream, loss_for(name)), learner, generator(3), kept).value, prepend=0
    )
    for t in (1, 40):
        changed = stream.copy()
        changed[t:] = changed[t:, ::-1]
        parts = np.diff(
            play(Game(changed, loss_for(name)), learner, generator(3), kept).value, prepend=0
        )
        np.testing.assert_allclose(parts[:t], whole[:t], atol=1e-9)


ANYTIME = ["rtopkf-anytime", "rtopkf-anytime, random", "rtopkf-adaptive", "pege", "pege, top 3"]
ANYTIME += ["semi-bandit, top 1", "semi-bandit, top 4", "exploration-by-optimisation"]


@pytest.mark.parametrize("name", ANYTIME)
def test_the_anytime_learners_need_no_horizon(name):
    items = 3 if name in OF_CELLS else 7
    stream = streams.draw("bernoulli", generator(5), 4000, items=items, relevant=2)
    kept = np.array([1, 7, 100, 333, 600])
    long = play(Game(stream, loss_for(name)), LOOPS[name], generator(6), kept)
    short = play(Game(stream[:600], loss_for(name)), LOOPS[name], generator(6), kept)
    np.testing.assert_array_equal(long.value, short.value)
    np.testing.assert_array_equal(long.explored, short.explored)
    np.testing.assert_array_equal(long.bound, short.bound)


@pytest.mark.parametrize(
    "name", [name for name in LOOPS if LEARNERS[name.partition(",")[0]].sees == "top"]
)
def test_what_is_not_shown_on_top_changes_no_ranking(name):
    """The value of an item is only known from rounds in which it was among the top k: with k = 1
    (or more, in turn),

    a stream in which unseen values are drawn anew gives the same rankings.
    """
    stream, learner = small_stream(name, 90), LOOPS[name]
    player = build(Game(stream, loss_for(name)), learner, generator(8))
    shown = []
    for row in stream:
        ranking = player.rank()
        player.learn(ranking, row[ranking[: player.k]].astype(float))
        shown.append(ranking)
    other = 1 - stream
    for t, ranking in enumerate(shown):
        other[t, ranking[: player.k]] = stream[t, ranking[: player.k]]
    game = Game(other, loss_for(name))
    kept = np.arange(1, 91)
    played = np.diff(play(game, learner, generator(8), kept).value, prepend=0)
    expected = [game.loss.measure(ranking, row) for ranking, row in zip(shown, other, strict=True)]
    np.testing.assert_allclose(played, expected, atol=1e-9)


def test_what_a_black_box_learns_from():
    game = Game(stream_of("flip", items=5), "dcg")
    for kind, made in LEARNERS.items():
        learner = {"kind": "rtopkf", "blocks": 9, "black_box": kind}
        if made.sees == "all":
            player = build(game, learner, generator(0))
            assert player.black_box.facts.rounds == 9
            assert bool(player.loop()) == issubclass(made, Perturbed)
            assert play(game, learner, generator(0)).explored[-1] == 45
        else:
            with pytest.raises(SettingError, match=f"'{kind}' cannot be a black box"):
                build(game, learner, generator(0))
