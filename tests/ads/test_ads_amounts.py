"""Rewards as logs write them: words, money, costs, means below 0; advice that ends the asking."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads, problems, rows_of
from hypothesis import given
from hypothesis import strategies as st

import scant_ads as sa
from scant_ads.reading.amounts import Units, amounts


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["yes", "No", " YES "], ([1, 0, 1], "")),
        (["€0.00", "€1,234.50"], ([0, 1234.5], "EUR")),
        (["0,00 €", "1.234,50 €", "0"], ([0, 1234.5, 0], "EUR")),
        (["-$5", "$ -2.5", "$1,000,000"], ([-5, -2.5, 1e6], "USD")),
        (["CHF 1'200.05", "12.10 CHF"], ([1200.05, 12.1], "CHF")),
        (["1\u202f234,5", "0,5"], ([1234.5, 0.5], "")),
        (["€1,234", "€5"], None),  # either 1.234 or 1234
        (["€1,234", "€0.5"], ([1234, 0.5], "EUR")),
        (["1,234.5", "1.234,5"], None),
        (["€1.50", "$1.50"], None),
        (["yes", "0"], None),
        (["12,34,5", "1.5"], None),
        (["1e-3"], None),
    ],
)
def test_amounts_are_read_where_their_marks_leave_no_doubt(texts, expected):
    assert amounts(texts) == expected


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=1, max_size=5),
    st.booleans(),
)
def test_whoever_follows_the_advice_on_rewards_has_them_read(values, less):
    values = np.array(values)

    def fits(units):
        shares = units.shares(values)
        return ((shares >= 0) & (shares <= 1)).all()

    units = Units(less=less)
    if not fits(units):
        _, mend = units.refusal(values[0], values.min(), values.max(), "")
        ends = re.findall(r"--reward-(min|max) (-?[\d.e+]*\d)", mend)
        assert ends
        assert fits(Units(less=less, **{f"reward_{end}": float(text) for end, text in ends}))


def blocked(rows=3000, seed=0) -> pd.DataFrame:
    """Two actions of a fraud filter; a reward of -20, 0 or 20, more often for the right action."""
    random = np.random.default_rng(seed)
    action, risk = random.integers(0, 2, rows), random.random(rows)
    fraud = random.random(rows) < risk
    reward = np.where(action == 1, np.where(fraud, 20, -20), 0)
    columns = {"action": np.array(["allowed", "blocked"])[action], "propensity": 0.5, "risk": risk}
    columns |= {"reward": reward, "policy:mine": (action == (risk > 0.5)) * 1.0}
    columns |= {"policy:worse": (action == (risk < 0.5)) * 1.0}
    return pd.DataFrame(columns)


def test_rewards_below_0_are_told_in_their_unit_and_lifts_are_differences():
    made, names = blocked(), ["mine", "worse", "ad:blocked"]
    shares = sa.evaluate(names, sa.Log.from_frame(made.assign(reward=(made["reward"] + 20) / 40)))
    log = sa.Log.from_frame(made, reward_min=-20, reward_max=20, reward_unit="EUR")
    found = sa.evaluate(names, log)
    for row, expected in zip(found.rows, shares.rows, strict=True):
        for key in ("estimate", "lower", "low", "high"):
            assert row[key] == pytest.approx(40 * expected[key] - 20)

    today, mine, worse, _ = found.rows
    assert today["estimate"] == pytest.approx(made["reward"].mean())
    assert (mine["verdict"], worse["verdict"]) == ("yes", "no")
    pairs = {pair["policy"] + pair["other"]: pair for pair in found.comparisons}
    for row in (mine, worse):
        pair = pairs["logging" + row["policy"]]
        assert row["lift"] == pytest.approx(row["estimate"] - today["estimate"])
        (alone,) = sa.evaluate([row["policy"]], log).judged
        ends = alone["lift_low"], alone["lift_high"]
        assert ends == pytest.approx((-pair["high"], -pair["low"]))
        # of three together
        assert row["lift_low"] < alone["lift_low"] and row["lift_high"] > alone["lift_high"]
    choice = found.choice
    assert choice["policy"] == "mine" and 0 < choice["lift_lower"] < choice["lift"]
    assert f"{choice['lift']:.3f} EUR higher" in found.text()
    assert "%" not in found.decision().replace("95 %", "")


def test_the_difference_holds_where_today_is_known_by_another_log():
    train, test = (
        sa.Log.from_frame(blocked(8000, seed), reward_min=-20, reward_max=20) for seed in (1, 2)
    )
    mine = sa.evaluate(["mine"], test, train=train).rows[-1]
    # E[20 (2 risk - 1)+] = 5, today's 0
    assert mine["verdict"] == "yes" and mine["lift_low"] < 5 < mine["lift_high"]


ONES = {"user": "who"}  # each visit of a user of its own


@pytest.mark.parametrize("columns", [{}, ONES], ids=["by visit", "by user"])
@pytest.mark.parametrize(
    ("names", "truth"), [(("mine", "worse"), 10.0), (("ad:blocked", "ad:allowed"), 0.0)]
)
def test_the_difference_from_a_baseline_holds_with_rewards_below_0(columns, names, truth):
    """It turns with the two, is that of their pair, and stays where all rewards are 5 less."""
    made = blocked(4000).assign(who=range(4000))
    lifts = []
    for shift, of in ((0, names), (0, names[::-1]), (-5, names)):
        shifted = made.assign(reward=made["reward"] + shift)
        ignored, ends = [] if columns else ["who"], (-20 + shift, 20 + shift)
        log = sa.Log.from_frame(shifted, columns, ignored, reward_min=ends[0], reward_max=ends[1])
        found = sa.evaluate(of, log, baseline=of[1])
        row, base = map(rows_of(found).get, of)
        assert row["lift"] == pytest.approx(row["estimate"] - base["estimate"])
        assert base["verdict"] == ""
        (pair,) = [pair for pair in found.comparisons if {pair["policy"], pair["other"]} == {*of}]
        side = 1 if pair["policy"] == of[0] else -1
        ends = sorted((side * pair["low"], side * pair["high"]))
        assert ends == pytest.approx([row["lift_low"], row["lift_high"]])
        lifts.append(np.array([row["lift"], row["lift_low"], row["lift_high"]]))
    there, back, shifted = lifts
    assert there[1] < truth < there[2] and there[1] < there[0] < there[2]
    assert shifted == pytest.approx(there) and back[0] == pytest.approx(-there[0])
    # of another order
    assert back[1:] == pytest.approx(-there[:0:-1], abs=0.1 * (there[2] - there[1]))


def test_a_baseline_is_judged_on_the_test_beside_a_training_log_and_without_a_least_propensity():
    train, test = (
        sa.Log.from_frame(blocked(4000, seed), reward_min=-20, reward_max=20) for seed in (1, 2)
    )
    alone, beside, unknown = (
        rows_of(sa.evaluate(["mine", "worse"], test, baseline="worse", **more))["mine"]
        for more in ({}, {"train": train}, {"least_propensity": "unknown"})
    )
    assert all(beside[key] == alone[key] for key in ("lift", "lift_low", "lift_high"))
    made = blocked(4000, 2)
    excess = (made["policy:mine"] - made["policy:worse"]) / made["propensity"]
    # nothing is taken out
    assert unknown["lift"] == pytest.approx((excess * (made["reward"] + 20)).mean())
    assert all(row["lift_low"] < 10 < row["lift_high"] for row in (alone, unknown))
    assert unknown["lift_high"] - unknown["lift_low"] > alone["lift_high"] - alone["lift_low"]


def test_only_missing_rewards_are_missing_where_rewards_are_below_0():
    made, ends = blocked(), {"reward_min": -20, "reward_max": 20}
    assert [*problems(made.assign(reward=0.0), **ends)] == ["no-clicks"]
    assert "leak" in problems(made.assign(refund=(made["reward"] != 0) * 1.0), **ends)


def test_the_command_line_and_the_report_take_rewards_below_0(tmp_path, capsys):
    blocked().to_csv(tmp_path / "log.csv", index=False)
    reading = f"{tmp_path}/log.csv --reward-min -20 --reward-max 20"
    written = f"--output {tmp_path}/out.json --report {tmp_path}/out.html"
    assert ads(f"evaluate {reading} --split 0.5 --policy forest {written}") == 0
    assert "Lift: by how much the mean reward is above today's" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["unit"]["reward_min"] == -20
    assert "lift, %" not in (tmp_path / "out.html").read_text()
