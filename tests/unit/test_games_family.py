"""The family of games on fixed items: it plans, plays and shows them.

Digests of its plans: test_plan_digests.
"""

from itertools import product
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from rows import gathered

from scant.declare import families
from scant.declare.declarations import called
from scant.errors import SettingError
from scant.files import metadata_of, read_parquet
from scant.games import quantities
from scant.games.family import FixedItems
from scant.present.traces import Played

ROOT = Path(__file__).parents[2]
FAMILY = FixedItems()


# --- planning
@pytest.mark.parametrize(
    ("game", "words"),
    [
        ({"stream": "graded", "loss": "ap"}, "0 or 1"),
        ({"settings": {"items": 21}, "loss": "ap"}, "up to 20 items"),
    ],
)
def test_a_game_that_cannot_be_is_refused_without_a_learner(game, words):
    with pytest.raises(SettingError, match=words):
        FAMILY.place.check({"stream": "flip", "settings": {}, "loss": "dcg"} | game, {})


# --- settings
def test_settings_that_play_and_readings():
    assert {setting.name: (setting.plays, setting.reading) for setting in FAMILY.settings} == {
        "rounds": (True, True), "comparator": (False, True), "baseline": (False, False),
    }  # fmt: skip
    # a game has no horizon of its own: no null, unlike other families
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(None, FAMILY.settings[0].schema)


# --- what is shown
# --- quantities of claims
# items; all but the last are of one stream
GAMES = {"small": 5, "middle": 10, "large": 20, "other": 5}
EXPONENTS = {"one": 0.7, "two": 0.5}


def regret(game, learner, seed, t):
    return (seed + 1) * GAMES[game] ** 2 * t ** EXPONENTS[learner]


@pytest.fixture
def played():
    """Games of two learners, two seeds, four horizons; regret is a power of rounds and items."""
    rows = []
    for game, learner, seed, horizon in product(GAMES, EXPONENTS, (0, 1), (100, 300, 1000, 3000)):
        items = GAMES[game]
        t = np.array([one for one in (1, 10, 30, 100, 300, 1000, 3000) if one <= horizon])
        row = {"stream": game, "learner": learner, "seed": seed, "horizon": horizon, "round": t}
        row |= {"items": items, "best": 2.0 * t, "bound": 8.0 * t * items**2, "k": 1}
        row |= {"value": 2.0 * t - regret(game, learner, seed, t), "worst": -1000.0 * t * items**2}
        rows.append(pd.DataFrame(row))
    frame = gathered(*rows).assign(experiment="e", loss="dcg", gain=True)
    frame["game"] = np.where(frame["stream"] == "other", "zipf", "flip")
    frame["best_at_horizon"] = frame["best"]
    frame.loc[frame["learner"] == "two", "bound"] = np.nan
    return Played("e", None, frame, {"kind": "fixed-items", "comparator": "prefix"}, None)


def worked_out(name, played, **options):
    """A quantity's values by stream, learner and seed."""
    made = families.called(FAMILY.quantities[name].values)(played, **options)
    assert not made.duplicated(["stream", "learner", "seed"]).any()
    return made.set_index(["stream", "learner", "seed"])["value"].to_dict()


@pytest.mark.parametrize(
    ("options", "t"),
    [({}, 3000), ({"round": 300}, 300), ({"round": 299}, 100), ({"round": 10}, 10)],
)
def test_regret_is_that_at_the_end_of_a_horizon_or_up_to_a_round(played, options, t):
    expected = {(game, learner, seed): regret(game, learner, seed, t)
                for game in GAMES for learner in EXPONENTS for seed in (0, 1)}  # fmt: skip
    assert worked_out("game_regret", played, **options) == pytest.approx(expected)


def test_average_regret_after_a_round(played):
    def average(*run):
        return regret(*run) / run[-1]

    runs = [(game, learner, seed) for game in GAMES for learner in EXPONENTS for seed in (0, 1)]
    expected = {run: average(*run, 3000) - average(*run, 100) for run in runs}
    assert worked_out("average_change", played, since=299) == pytest.approx(expected)


def test_slopes_on_how_much_is_seen_are_of_the_learner_that_sees_most(played):
    more = played.traces.query("learner == 'one'").assign(learner="eight", k=8)
    more["value"] = more["best"] - (more["best"] - more["value"]) * 8**-0.25
    both = pd.concat([played.traces.query("learner == 'one'"), more]).assign(kind="rtopkf")
    expected = {(game, "eight", seed): -0.25 for game in GAMES for seed in (0, 1)}
    seen = Played("e", None, both, played.details, None)
    assert worked_out("game_slope", seen, along="seen") == pytest.approx(expected)


def test_slopes_over_rounds_may_begin_later(played):
    late = played.traces["round"] >= 100
    bent = played.traces.assign(value=played.traces["value"].where(late, -1e6))
    expected = worked_out("game_slope", played, along="rounds")
    bent = Played("e", None, bent, played.details, None)
    assert worked_out("game_slope", bent, along="rounds", since=100) == pytest.approx(expected)
    assert worked_out("game_slope", bent, along="rounds") != pytest.approx(expected)


@pytest.mark.parametrize("options", [{}, {"along": "horizon"}, {"along": "rounds"}])
def test_slopes_over_rounds_and_horizons(played, options):
    expected = {(game, learner, seed): EXPONENTS[learner]
                for game in GAMES for learner in EXPONENTS for seed in (0, 1)}  # fmt: skip
    assert worked_out("game_slope", played, **options) == pytest.approx(expected)


def test_slopes_over_items_are_of_games_of_one_stream(played):
    expected = {("flip, dcg", learner, seed): 2.0 for learner in EXPONENTS for seed in (0, 1)}
    assert worked_out("game_slope", played, along="items") == pytest.approx(expected)


def test_the_largest_share_of_a_bound_over_horizons_where_there_is_one(played):
    expected = {
        (game, "one", seed): (seed + 1) * 100**-0.3 / 8 for game in GAMES for seed in (0, 1)
    }
    assert worked_out("bound_share", played) == pytest.approx(expected)


def test_regret_over_a_bound_at_each_horizon(played):
    expected = {
        (f"{game}, T = {horizon:,}", "one", seed): (seed + 1) * horizon**-0.3 / 8
        for game in GAMES for horizon in (100, 300, 1000, 3000) for seed in (0, 1)
    }  # fmt: skip
    assert worked_out("game_share", played) == pytest.approx(expected)
    longest = Played(
        "e", None, played.traces[played.traces["horizon"] == 3000], played.details, None
    )
    # named as it is
    assert {stream for stream, *_ in worked_out("game_share", longest)} == {*GAMES}


def test_regret_over_the_papers_own_bounds(played):
    frame = played.traces[played.traces["horizon"] == 300].assign(
        game="indistinguishable", loss="ndcg"
    )
    games = Played("e", None, frame, played.details, None)
    shares = worked_out("game_share", games, bound="theorem-24")
    result = shares["large", "two", 0]
    assert result == pytest.approx(regret("large", "two", 0, 300) / (300 * 0.0141966), rel=1e-05)
    elsewhere = Played("e", None, frame.assign(loss="dcg"), played.details, None)
    # no learner has to lose there
    assert quantities.game_share(elsewhere, bound="theorem-24").empty
    elsewhere = Played("e", None, frame.assign(game="flip"), played.details, None)
    assert quantities.game_share(elsewhere, bound="theorem-24").empty
    with pytest.raises(SettingError, match="bound of game_share 'theorem-3'"):
        quantities.game_share(games, bound="theorem-3")


@pytest.mark.parametrize(
    ("bound", "kind"), [("theorem-19", "rtopkf"), ("theorem-3.1", "online-rank")]
)
def test_regret_over_the_bound_of_another_learner(played, bound, kind):
    """Of learner two, which has none of its own, over the bound of learner one in the same game."""
    frame = played.traces.assign(kind=played.traces["learner"].map({"one": kind, "two": "random"}))
    shares = worked_out("game_share", Played("e", None, frame, played.details, None), bound=bound)
    share = regret("large", "two", 1, 300) / (8.0 * 300 * 20**2)
    assert shares["large, T = 300", "two", 1] == pytest.approx(share)
    result = worked_out("game_share", played)["large, T = 300", "one", 1]
    assert result == shares["large, T = 300", "one", 1]
    others = Played("e", None, frame[frame["learner"] == "two"], played.details, None)
    assert quantities.game_share(others, bound=bound).empty


@pytest.mark.parametrize(
    ("loss", "floor"),
    [("ndcg", 0.0142), ("ap", 0.0208), ("dcg", 0), ("auc-loss", 0), ("sum-loss", 0)],
)
def test_what_table_b1_makes_learners_from_the_top_one_lose(loss, floor):
    """NDCG by the printed means of gains: the best for each of the two against that for both."""
    assert quantities._floor(loss) == pytest.approx(floor, abs=5e-5)
    if loss == "ndcg":
        discounts, means = (
            1 / np.log2([2, 3, 4]),
            np.array([[0.3533, 0.3920, 0.3226], [0.3339, 0.3339, 0.4000]]),
        )
        best = [np.sort(mean)[::-1] @ discounts for mean in (*means, means.mean(axis=0))]
        assert quantities._floor(loss) == pytest.approx(np.mean(best[:2]) - best[2], abs=1e-4)


# --- running and gathering
def test_a_run_is_played_and_identified(tmp_path):
    job = {
        "study_seed": 3, "kind": "fixed-items", "learners": [["all", {"kind": "ftpl"}]],
        "rounds": [60],
        "game": {"stream": "flip", "settings": {"items": 6, "relevant": 2}, "loss": "dcg",
                 "shared": False},
        "study": "s", "experiment": "e", "stream": "g",
    }  # fmt: skip
    called(FAMILY.engine)(job, tmp_path / "run.parquet", [0], {})
    table = read_parquet(tmp_path / "run.parquet")
    run = metadata_of(table.schema)
    assert {key: run[key] for key in job} == job
    assert FAMILY.identity(run) == {
        "experiment": "e", "stream": "g", "items": 6, "loss": "dcg", "gain": True, "game": "flip",
        "choices": 1, "grades": 2,
    }  # fmt: skip
    assert FAMILY.completed(table) is table
    assert (FAMILY.code, FAMILY.memory, FAMILY.minutes) == ("scant.games.run", 1000, 5)
