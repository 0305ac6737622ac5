"""The table of final measures: what is best, what cannot be told from it, and bad input."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import gathered
from scipy import stats

import scant
from scant.cli import main
from scant.declare import families
from scant.errors import DataError, SettingError
from scant.files import write_parquet, write_text
from scant.finished import leaderboard
from scant.page import boards
from scant.present import ranking
from scant.study import settings as studies
from scant.study.plan import Plan

SEEDS = 6


def made_up(streams=("a", "b"), learners=("first", "second", "third", "fourth"), seeds=SEEDS):
    """Values of learners that share each seed's luck: paired differences vary less than values."""
    chance = np.random.default_rng(3)
    rows = []
    for stream in streams:
        luck = chance.normal(size=seeds)
        for place, learner in enumerate(learners):
            values = luck - 0.1 * place + 0.05 * chance.normal(size=seeds)
            rows += [(stream, learner, seed, value) for seed, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["stream", "learner", "seed", "value"])


@pytest.mark.parametrize("better", ["high", "low"])
def test_learners_are_told_apart_by_scipys_paired_t_test_times_the_number_of_pairs(better):
    values = made_up()
    board = ranking.ranked(values, better)
    for stream, rows in values.groupby("stream"):
        wide = rows.pivot_table("value", "seed", "learner")
        best = wide.mean().idxmax() if better == "high" else wide.mean().idxmin()
        for row in board[board["stream"] == stream].itertuples():
            assert row.best == (row.learner == best)
            p = 1.0 if row.best else stats.ttest_rel(wide[best], wide[row.learner]).pvalue
            assert row.told_apart == (6 * p < 0.05)  # six pairs of four learners
            assert row.difference == pytest.approx(row.mean - wide[best].mean())
            paired = wide[row.learner] - wide[best]
            ends = stats.t.interval(1 - 0.05 / 6, SEEDS - 1, paired.mean(), stats.sem(paired))
            assert row.best or (row.difference_low, row.difference_high) == pytest.approx(ends)
            interval = stats.t.interval(0.95, SEEDS - 1, row.mean, stats.sem(wide[row.learner]))
            assert (row.low, row.high) == pytest.approx(interval) and row.n == SEEDS
    assert set(board["told_apart"]) == {True, False}


def test_the_level_holds_for_all_pairs_together():
    spread = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5])
    spread -= spread.mean()
    behind = {"best": 0 * spread, "last": spread + 50}  # what each learner is behind the best by
    # of six pairs
    for learner, p in (("just told apart", 0.99 * 0.05 / 6), ("just not", 1.01 * 0.05 / 6)):
        behind[learner] = spread + stats.t.isf(p / 2, SEEDS - 1) * stats.sem(spread)
    seeds = np.arange(SEEDS)
    rows = [
        pd.DataFrame({"stream": "a", "learner": name, "seed": seeds, "value": seeds - one})
        for name, one in behind.items()
    ]
    board = ranking.ranked(gathered(*rows), "high")
    told_apart = {"best": False, "just told apart": True, "just not": False, "last": True}
    assert board.set_index("learner")["told_apart"].to_dict() == told_apart


def test_ranks_are_over_the_streams_that_all_learners_played():
    values = made_up(streams=("a", "b"), learners=("first", "second"))
    values = values[(values["stream"] == "a") | (values["learner"] == "second")]
    board = ranking.ranked(values, "high").set_index(["learner", "stream"])
    places = [("first", "a"), ("second", "a"), ("second", "b")]
    assert board["rank"].to_dict() == dict(zip(places, (1, 2, 1), strict=True))
    assert board["mean_rank"].to_dict() == dict(zip(places, (1, 2, 2), strict=True))
    assert board.loc[("second", "b"), "best"]  # nobody else played there


def test_equal_learners_are_both_best_and_differences_without_spread_tell_nothing():
    values = made_up(streams=("a",), learners=("first",))
    twin = values.assign(learner="twin")
    behind = values.assign(learner="behind", value=values["value"] - 1)
    board = ranking.ranked(pd.concat([values, twin, behind]), "high").set_index("learner")
    assert board["best"].to_dict() == {"first": True, "twin": True, "behind": False}
    assert board["rank"].to_dict() == {"first": 1.5, "twin": 1.5, "behind": 3}
    assert not board["told_apart"].any()


def test_runs_that_failed_are_left_out_of_pairs():
    values = made_up(streams=("a",), learners=("first", "second"))
    failed = (values["learner"] == "second") & (values["seed"] >= SEEDS - 1)
    board = ranking.ranked(values[~failed], "high").set_index("learner")
    assert board["n"].to_dict() == {"first": SEEDS, "second": SEEDS - 1}
    alone = ranking.ranked(values[(values["learner"] == "first") | (values["seed"] == 0)], "high")
    assert not alone["told_apart"].any()  # one pair has no interval


@settings(max_examples=15)
@given(st.integers(0, 1000), st.floats(-5, 5), st.floats(0.1, 10))
def test_a_change_of_scale_changes_no_mark_and_a_change_of_sign_swaps_the_sides(seed, shift, scale):
    values = made_up()
    values["value"] += 0.05 * np.random.default_rng(seed).standard_normal(len(values))

    def marks(one, better):
        board = ranking.ranked(values.assign(value=one), better)
        return board[["stream", "learner", "best", "told_apart", "rank", "mean_rank"]]

    high = marks(values["value"], "high")
    assert high.equals(marks(shift + scale * values["value"], "high"))
    assert high.equals(marks(-values["value"], "low"))
    assert not (high["best"] & high["told_apart"]).any()


def test_what_is_ranked_by_has_a_better_side_in_one_quantity_of_a_family():
    better = {
        kind: [quantity.better for quantity in family.quantities.values() if quantity.better]
        for kind, family in families.families().items()
    }
    high = {kind: ["high"] for kind in ("perceptron", "top", "ads", "rankings")}
    # learners of generalisation minimise different losses
    assert better == high | {"fixed-items": ["low"], "generalisation": []}


# --- the command
@pytest.fixture
def folder(tmp_path):
    """A study with an experiment on games whose regret is `value`, and one of a single seed."""
    study = yaml.safe_load("""
study: s
games:
  heads_1: &flip {stream: flip, settings: {items: 3}, loss: dcg}
  tails: *flip
learners: {good: {kind: ftpl}, bad: {kind: ftpl}, both: {kind: ftpl, title: b&w}}
experiments:
  games: &games
    {kind: fixed-items, games: [heads_1, tails], learners: [good, bad, both], rounds: 9, batch: 6,
     seeds: 6}
  once: {<<: *games, seeds: 1}
""")
    write_text(tmp_path / "study/study.json", json.dumps(study))
    values = made_up([*study["games"]], [*study["learners"]])
    played = {"horizon": 9, "round": 9, "best": 0.0, "best_at_horizon": 0.0, "worst": 1.0}
    played |= {"explored": 0, "bound": 1.0, "kind": "ftpl", "k": 0}
    about = {"kind": "fixed-items", "items": 3, "loss": "dcg", "gain": False}
    for job in Plan(*studies.load(study, checked=True)).runs.values():
        rows = values[(values["stream"] == job.identity["stream"]) & values["seed"].isin(job.seeds)]
        rows = rows.drop(columns="stream").assign(**played)
        metadata = about | {"game": job.settings["game"]} | job.identity
        table = pa.Table.from_pandas(rows, preserve_index=False)
        write_parquet(table, tmp_path / f"study/runs/{job.path}.parquet", metadata)
    return tmp_path / "study"


def test_the_command_prints_and_writes_what_the_frame_has(folder, tmp_path, capsys):
    board = scant.results(folder).leaderboard("games")
    csv, tex = tmp_path / "board.csv", tmp_path / "board.tex"
    command = ["table", str(folder), "--experiment", "games"]
    assert main([*command, "--output", str(csv)]) == 0
    assert pd.read_csv(csv).drop(columns="tuning").equals(board.drop(columns="tuning"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["learner", "heads_1", "tails"] and len(lines) == 1 + 3 + 3
    assert [line.split()[0] for line in lines[1:4]] == list(dict.fromkeys(board["learner_title"]))
    assert sum(map("".join(lines[:4]).count, "*†")) == (~board["told_apart"]).sum()
    assert "Bonferroni" in lines[-2] and f"over {SEEDS} seeds" in lines[-2]
    assert main([*command, "--rows", "streams", "--rank", "--output", str(tex)]) == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:4]]
    assert rows == ["heads_1", "tails", "mean"]
    text = tex.read_text()
    assert text.count(r"\textbf{") == board["best"].sum() == 2
    assert text.count(r"$^\dagger$") == (~board["best"] & ~board["told_apart"]).sum()
    assert r"\toprule" in text and r"heads\_1 & " in text and r"b\&w" in text
    assert r"\label{tab:games-game_regret}" in text
    assert r"\caption{Regret, lower is better: means over 6 seeds with 95 \% t intervals" in text
    assert main([*command, "--stream", "tails"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()[:4]
    assert "minus b&w" in head
    assert [row.split()[0] for row in rows] == board.query("stream == 'tails'").sort_values("rank")[
        "learner_title"
    ].tolist()
    assert main([*command, "--stream", "tail"]) == 1
    assert "did you mean 'tails'" in capsys.readouterr().err


def of_stream(*rows):
    """A frame of one stream, of (learner, mean, half the width of its interval, difference)."""
    frame = pd.DataFrame(rows, columns=["learner", "mean", "half", "difference"])
    best = frame["mean"] == frame["mean"].max()
    alike = {"stream": "s", "stream_title": "S", "feedback": "all", "n": 9, "mean_rank": 1.0}
    frame["rank"] = frame["mean"].rank(ascending=False)
    alike |= {
        "experiment": "e",
        "measure": "NDCG@10",
        "in_words": "NDCG@10",
        "better": "high",
        "tuning": None,
    }
    return frame.assign(
        learner_title=frame["learner"],
        low=frame["mean"] - frame["half"],
        high=frame["mean"] + frame["half"],
        difference_low=(frame["difference"] - 1e-4).mask(best),
        difference_high=(frame["difference"] + 1e-4).mask(best),
        best=best,
        told_apart=~best,
        **alike,
    )


@pytest.mark.parametrize(
    ("half", "decimals"), [(0.03, 2), (0.0042, 3), (0.0007, 4), (1e-9, 4), (0.0, 4)], ids=str
)
def test_decimals_are_equal_and_those_that_intervals_bear_out(half, decimals):
    """The narrowest interval decides; no number has more than four figures."""
    frame = of_stream(("a", 0.69123456, half, 0.0), ("b", 0.4, 0.2 * (half > 0), -0.29))
    assert boards.board(frame)["rows"][0]["cells"][0]["mean"] == f"{0.69123456:.{decimals}f}"


def test_where_means_print_equal_the_difference_tells_them_apart():
    near = of_stream(
        ("a", 0.6912, 0.003, 0.0), ("b", 0.6909, 0.003, -0.0003), ("c", 0.5, 0.003, -0.19)
    )
    cells = [row["cells"][0] for row in boards.board(near)["rows"]]
    assert [cell["mean"] for cell in cells] == ["0.691", "0.691", "0.500"]
    assert [cell["near"] for cell in cells] == ["", "-0.0003", ""]
    assert cells[1]["apart"] == "[-0.0004, -0.0002]"
    two = pd.concat([near, near.assign(stream="t", stream_title="T")])
    assert "0.691 [0.687, 0.694] (-0.0003)" in leaderboard.text(two)
    alone = leaderboard.text(near)  # has them in a column of their own
    assert "(-0.0003)" not in alone and "-0.0003 [-0.0004, -0.0002]" in alone


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, SettingError, "games, once"),
        ({"experiment": "gaems"}, SettingError, "did you mean 'games'"),
        ({"experiment": "games", "measure": "game_regert"}, SettingError, "mean 'game_regret'"),
        ({"experiment": "games", "tuning": "paper"}, SettingError, "no runs that were tuned so"),
        ({"experiment": "once"}, DataError, "single seed"),
    ],
)
def test_bad_input_is_named(folder, options, error, message):
    with pytest.raises(error, match=message):
        scant.results(folder).leaderboard(**options)
