"""Rewards in their own unit: the evaluation of their shares of the largest, in the unit."""

import json

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads
from hypothesis import given
from hypothesis import strategies as st

import scant_ads as sa
from scant.errors import SettingError
from scant_ads import text
from scant_ads.unit import CLICKS, Unit

MOST = 500.0


def sales(rows=4000, seed=0) -> pd.DataFrame:
    """Three ads; revenue in EUR, nearly always 0, at most 500."""
    random = np.random.default_rng(seed)
    action, x = random.integers(0, 3, rows), random.standard_normal(rows)
    bought = random.random(rows) < 0.03 + 0.12 * (action == (x > 0))
    reward = np.round(bought * random.gamma(2, 20, rows).clip(0, MOST), 2)
    made = {"action": np.array(list("abc"))[action], "propensity": 1 / 3, "x": x, "reward": reward}
    return pd.DataFrame(made | {"policy:mine": (action == (x > 0)) * 1.0})


def test_numbers_are_those_of_shares_times_the_largest():
    made = sales()
    shares = sa.evaluate(["mine"], sa.Log.from_frame(made.assign(reward=made["reward"] / MOST)))
    found = sa.evaluate(["mine"], sa.Log.from_frame(made, reward_max=MOST, reward_unit="EUR"))
    for row, expected in zip(found.rows, shares.rows, strict=True):
        for key in ("estimate", "lower", "low", "high", "clicks", "matched_clicks"):
            assert row[key] == pytest.approx(MOST * expected[key])
        assert row["lift"] == pytest.approx(expected["lift"], nan_ok=True)
        assert row["verdict"] == expected["verdict"]
    assert found.rows[0]["estimate"] == pytest.approx(made["reward"].mean())
    differences = (of.pairs["difference"].to_numpy() for of in (found, shares))
    assert next(differences) == pytest.approx(MOST * next(differences))
    assert found.choice["lower"] == pytest.approx(MOST * shares.choice["lower"])


def test_all_that_is_told_is_in_the_unit(tmp_path, capsys):
    made = sales()
    made.to_csv(tmp_path / "sales.csv", index=False)
    reading = f"{tmp_path}/sales.csv --reward-max 500 --reward-unit EUR"
    assert ads(f"check {reading}") == 0
    checked = capsys.readouterr().out
    assert "mean reward, EUR" in checked and "click" not in checked
    written = f"--output {tmp_path}/out.json --report {tmp_path}/out.html"
    assert ads(f"evaluate {reading} --policy mine {written}") == 0
    printed, page = capsys.readouterr().out, (tmp_path / "out.html").read_text()
    assert "Mean rewards in EUR" in printed and f"{made['reward'].mean():.3f}" in printed
    assert f"{made['reward'].sum():,.6g} EUR in all" in printed and " EUR" in page
    for written in (printed, page.partition("<h2>Words</h2>")[0].partition("</style>")[2]):
        assert "click" not in written.lower() and "CTR" not in written
    unit = {"reward_max": 500.0, "reward_unit": "EUR", "reward_min": 0.0}
    assert json.loads((tmp_path / "out.json").read_text())["unit"] == unit


def test_a_reward_above_the_largest_is_refused_with_the_options_that_say_it(tmp_path, capsys):
    sales().to_csv(tmp_path / "sales.csv", index=False)
    assert ads(f"evaluate {tmp_path}/sales.csv --policy mine") == 1
    said = capsys.readouterr().err
    assert all(word in said for word in ("is not in [0, 1]", "--reward-max", "--reward-unit"))
    assert ads(f"check {tmp_path}/sales.csv --reward-max 20") == 1
    assert "is not in [0, 20]" in capsys.readouterr().out
    for largest in (0, -1, np.inf, np.nan, 1e300):
        with pytest.raises(SettingError, match="the largest reward is a number above 0"):
            sa.Log.from_frame(sales(), reward_max=largest)


def test_logs_in_other_units_are_not_compared():
    train, test = (
        sa.Log.from_frame(sales(seed=seed), reward_max=most) for seed, most in ((1, 500), (2, 1000))
    )
    with pytest.raises(SettingError, match="are counted in other units"):
        sa.evaluate(["mine"], test, train=train)


def test_clicks_are_told_in_percent_and_other_rewards_are_no_clicks():
    euro, shares = Unit(500.0, "EUR", False), Unit(binary=False)
    for said, expected in (
        (CLICKS.interval(0.0123, 0.02), "1.230 to 2.000 %"),
        (CLICKS.total(175.0, 200), "175 clicks"),
        (euro.heading, "mean reward, EUR"),
        (euro.words, "mean reward in EUR"),
        (euro.rate(3.2), "3.200 EUR"),
        (euro.total(175.25, 200), "87,625 EUR in all"),
        (euro.number(np.nan), "-"),
        (Unit(20.0).rate(3.2), "3.200"),
        (shares.heading, "mean reward, %"),
        (shares.rate(0.5), "50.000 %"),
        (shares.total(175.25, 200), "rewards of 175.25 in all"),
        (Unit(1e6, "EUR").number(1234567.8), "1,234,568"),
    ):
        assert said == expected


@given(st.tuples(*[st.floats(-0.9, 0.9)] * 2).map(sorted))
def test_ends_of_intervals_are_rounded_outwards(ends):
    """Of means and of lifts, in percent and in a unit in which they may be below 0."""
    euro = Unit(1.0, "EUR", False, -1.0)
    for unit, of_mean, of_lift in ((CLICKS, 100, 100), (euro, 1, 1)):
        means = (unit.interval(*ends).removesuffix(unit.symbol), 1e-3, of_mean)
        lifts = (text.interval(*ends, unit), 0.1 if unit is CLICKS else 1e-3, of_lift)
        for words, digit, times in (means, lifts):
            low, high = map(float, words.split(" to "))
            assert 0 <= times * ends[0] - low + 1e-9 < digit + 2e-9
            assert 0 <= high - times * ends[1] + 1e-9 < digit + 2e-9
