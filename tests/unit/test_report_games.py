"""What tables and figures of games hold."""

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from toys import SHOWN

from scant.declare.families import called
from scant.errors import SettingError
from scant.games import drawings as drawing_games
from scant.games import frames as games
from scant.present import making, panels

DETAILS = yaml.safe_load("""
e:
  kind: fixed-items
  title: reading
  comparator: prefix
  baseline: slow
  seeds: 3
  readings: {rounds: [10, 100, 1000]}
  titles: {streams: {g3: Three, g6: Six, g12: Twelve}, learners: {slow: Slow, fast: Fast}}
""")  # fmt: skip
SLOPES = {"slow": 1.0, "fast": 0.5}


@pytest.fixture
def frame():
    """Traces whose regret is items^2 seed-wise constant times t^slope, exactly."""
    rows = []
    for m in (3, 6, 12):
        for learner, slope in SLOPES.items():
            for seed in range(3):
                for horizon in (10, 100, 1000):
                    for t in (1, 5, 10, 50, 100, 500, 1000):
                        if t <= horizon:
                            regret = (seed + 1) * m**2 * t**slope
                            rows.append(
                                {
                                    "experiment": "e",
                                    "stream": f"g{m}",
                                    "learner": learner,
                                    "kind": "ftpl",
                                    "k": 0,
                                }
                                | {
                                    "seed": seed,
                                    "horizon": horizon,
                                    "round": t,
                                    "value": -regret,
                                    "best": 0.0,
                                }
                                | {
                                    "worst": -10.0 * m**2 * t,
                                    "best_at_horizon": -1.0,
                                    "explored": seed,
                                }
                                | {"bound": 100.0 * m**3 * t**0.5}
                                | {
                                    "items": m,
                                    "loss": "dcg",
                                    "gain": True,
                                    "game": "flip",
                                    "grades": 2,
                                }
                            )
    return pd.DataFrame(rows)


def test_regret_follows_the_comparator_and_the_direction_of_the_loss(frame):
    np.testing.assert_allclose(games.regrets(frame, DETAILS)["regret"], -frame["value"])
    horizon = {"e": DETAILS["e"] | {"comparator": "horizon"}}
    np.testing.assert_allclose(games.regrets(frame, horizon)["regret"], -1.0 - frame["value"])
    loss = frame.assign(gain=False, value=-frame["value"], worst=-frame["worst"])
    np.testing.assert_allclose(games.regrets(loss, DETAILS)["regret"], loss["value"])
    for each in (frame, loss):
        worst = games.regrets(each, DETAILS)["worst_regret"]
        np.testing.assert_allclose(worst, 10.0 * frame["items"] ** 2 * frame["round"])


def test_the_table_of_games(frame):
    table = games.games_table(frame, DETAILS).set_index(["stream", "learner", "rounds"])
    assert len(table) == 3 * 2 * 3
    one = table.loc[("g6", "fast", 100)]
    values = np.array([1, 2, 3]) * 36 * 10.0
    assert one["regret"] == pytest.approx(values.mean())
    assert one["per_round"] == pytest.approx(values.mean() / 100)
    low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
    np.testing.assert_allclose(one[["regret_low", "regret_high"]].astype(float), [low, high])
    assert one["difference"] == pytest.approx((values - np.array([1, 2, 3]) * 36 * 100).mean())
    assert np.isnan(table.loc[("g6", "slow", 100), "difference"])
    assert one["bound_share"] == pytest.approx((values / (100 * 216 * 10)).mean()) and one["n"] == 3
    assert (
        games.games_table(frame, {"e": DETAILS["e"] | {"baseline": None}})["difference"]
        .isna()
        .all()
    )


def test_slopes_along_rounds_horizons_and_items(frame):
    table = games.slopes_table(frame, DETAILS)
    for row in table.itertuples():
        wanted = 2.0 if row.along == "items" else SLOPES[row.learner]
        assert row.slope == pytest.approx(wanted) and row.slopes == row.n == 3
        assert row.bound_slope == pytest.approx(3.0 if row.along == "items" else 0.5)
    assert table["along"].value_counts().to_dict() == {"rounds": 6, "horizon": 6, "items": 2}
    rounds = table[table["along"] == "rounds"]
    assert set(rounds["from"]) == {10} and set(rounds["to"]) == {1000}


def test_a_seed_whose_regret_is_not_positive_counts_like_any_other(frame):
    beaten = (
        (frame["seed"] == 1)
        & (frame["round"] == 100)
        & (frame["learner"] == "fast")
        & (frame["stream"] == "g3")
    )
    table = games.slopes_table(frame.assign(value=frame["value"].where(~beaten, 5.0)), DETAILS)
    one = table[(table["learner"] == "fast") & (table["stream"] == "g3")].set_index("along")
    assert (one["slopes"] == 3).all() and (one["n"] == 3).all() and (one["nonpositive"] == 0).all()
    # the middle of three points does not turn the line
    assert one.loc["horizon", "slope"] == pytest.approx(0.5)
    everywhere = (frame["round"] == 100) & (frame["learner"] == "fast") & (frame["stream"] == "g3")
    table = games.slopes_table(frame.assign(value=frame["value"].where(~everywhere, 5.0)), DETAILS)
    none = (
        table[(table["learner"] == "fast") & (table["stream"] == "g3")]
        .set_index("along")
        .loc["horizon"]
    )
    assert np.isnan(none["slope"]) and (none["nonpositive"], none["slopes"]) == (1, 0)


def test_without_points_there_is_no_table_of_slopes(frame):
    few = frame[(frame["horizon"] == 10) & (frame["round"] == 10) & (frame["stream"] == "g3")]
    with pytest.raises(SettingError, match="3 rounds"):
        games.slopes_table(few, DETAILS)
    with pytest.raises(SettingError, match="3 horizons"):
        games.observed(few, DETAILS)


def test_averages_are_of_the_longest_horizon(frame):
    shown = games.averages(frame, DETAILS, start=0.1).set_index(["stream", "learner", "round"])
    assert set(shown.index.get_level_values("round")) == {100, 500, 1000}
    assert set(shown["horizon"]) == {1000}
    assert shown.loc[("g3", "slow", 500), "mean"] == pytest.approx(2 * 9)
    assert shown.loc[("g3", "slow", 500), "panel"] == "Three"
    assert set(shown["reading"]) == {"reading"}


def test_the_largest_slope_of_each_learner_is_observed_in_a_cell(frame):
    frame = frame.assign(loss="auc-loss", k=frame["learner"].map({"slow": 2, "fast": 0}))
    other = frame.assign(
        stream=frame["stream"] + "h", value=frame["value"] * frame["horizon"] ** 0.25
    )
    seen = games.observed(pd.concat([frame, other]), DETAILS).set_index(
        ["measure", "grades", "m", "k"]
    )
    assert len(seen) == 2 * 3
    result = seen.loc[("auc", 2, 3, 2), ["slope", "learner", "stream"]].tolist()
    assert result == [pytest.approx(1.25), "slow", "g3h"]
    fast = seen.loc[("auc", 2, 3, 3)]
    assert fast[["slope", "learner", "horizon"]].tolist() == [pytest.approx(0.75), "fast", 1000]
    assert fast["regret"] == pytest.approx(2 * 9 * 1000**0.75)


@pytest.mark.parametrize(
    ("name", "along", "count"),
    [
        ("figure-3.1", "round", 3),
        ("figure-3.3", "round", 3),
        ("figure-games-horizon", "horizon", 3),
        ("figure-games-items", "items", 1),
    ],
)
def test_figures_are_drawn_of_their_frames(frame, tmp_path, name, along, count):
    shown = SHOWN[name]
    making.make(shown, tmp_path / name, frame, DETAILS)
    held = pd.read_csv(tmp_path / f"{name}.csv")
    drawn = called(shown.draw)(making.frame_of(shown, frame, DETAILS))
    result = len([axis for axis in drawn.axes if axis.get_visible() and axis.get_title(loc="left")])
    assert result == count
    for axis, (_, panel) in zip(drawn.axes, panels.split(held), strict=False):
        curves = {tuple(np.round(np.asarray(line.get_ydata(), float), 6)) for line in axis.lines}
        for _, rows in panel.groupby("learner"):
            assert tuple(np.round(rows.sort_values(along)["mean"], 6)) in curves
        assert "DCG" in axis.get_ylabel()


def test_a_bound_is_drawn_beside_the_regret(frame):
    shown = games.against_horizon(frame, DETAILS)
    axis = drawing_games.against_horizon(shown).axes[0]
    bounds = shown[(shown["stream"] == "g3") & (shown["learner"] == "slow")].sort_values("horizon")[
        "bound"
    ]
    assert any(
        line.get_linestyle() == ":" and np.allclose(line.get_ydata(), bounds) for line in axis.lines
    )
    assert {text.get_text()[:4] for text in axis.texts} >= {"1.00", "0.50"}
