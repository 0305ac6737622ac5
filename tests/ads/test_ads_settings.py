"""Settings of another kind are refused by name; how sure an answer is is written in full."""

import numpy as np
import pandas as pd
import pytest
import yaml
from ads_logs import ads
from numpy import inf, nan
from test_ads_api import frame

import scant_ads as sa
from scant.errors import SettingError
from scant_ads import text


@pytest.mark.parametrize(
    ("level", "percent"),
    [(0.95, "95 %"), (0.999999999, "99.9999999 %"), (1 - 0.05 / 14, "99.64 %")],
)
def test_a_confidence_below_one_is_not_one(level, percent):
    assert text.percent(level) == percent


@pytest.mark.parametrize("level", [0.9999999999999999, 1, "0.9", True, None, float("nan"), 0.4])
def test_a_confidence_that_cannot_be_is_refused(level):
    with pytest.raises(SettingError, match=r"a confidence is from 0\.5 to 0\.999999999"):
        sa.evaluate(["ad:a"], frame(300), level=level)


def test_the_largest_confidence_has_bounds():
    found = sa.evaluate(["each-ad"], frame(900), level=1 - 1e-9)
    assert "each interval with 99.9999999 % confidence" in found.text() and found.rows[1]["low"] > 0
    with pytest.raises(SettingError, match="a confidence is from"):  # of one of so many looks
        sa.evaluate(["each-ad"], frame(300), level=1 - 1e-9, looks=100)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"looks": True}, "`looks` is True"),
        ({"looks": 2.5}, "`looks` is 2.5"),
        ({"baseline": 0}, "`baseline`: 0 is no text"),
        ({"least_propensity": True}, "`least_propensity` is True; a propensity is"),
        ({"seed": 1.5}, "seed is 1.5"),
    ],
)
def test_settings_of_an_evaluation(asked, message):
    with pytest.raises(SettingError, match=message):
        sa.evaluate(["ad:a"], frame(300), **asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"epsilon": "0.1"}, "epsilon is '0.1'; it is a number"),
        ({"lambdas": 0.1}, "lambdas are 0.1; they are a list"),
        ({"select": "x"}, "select is 'x'"),
        ({"select": float("nan")}, "share of features is nan"),
        ({"validation": float("nan")}, "validation share is nan"),
        ({"steps": 1.5}, "steps is 1.5; it is a whole number, or None"),
        ({"threshold": "f2"}, "unknown threshold 'f2'"),
        ({"undersample": True}, "undersample is True"),
        ({"steps": -1}, "steps: -1 is less than the minimum of 1"),
        ({"trees": 0}, "trees: 0 is less than the minimum of 1"),
        *(({"lambdas": (most,)}, "lambda must be a number") for most in (inf, nan, 1e308, -1)),
    ],
)
def test_settings_of_a_policy(asked, message):
    with pytest.raises(SettingError, match=message):
        sa.fit(frame(300), "forest", **{"trees": 2} | asked)
    sa.fit(frame(300), "forest", trees=2, epsilon=np.float64(0.1), lambdas=np.array([0.1]))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"reward_max": "5"}, "`reward_max` is 5; the largest"),
        ({"reward_unit": 3}, "`reward_unit` is 3; it is a text"),
        ({"ignore": "age"}, r"ignore is 'age'; it is a list of columns, as \['age'\]"),
        ({"columns": ["a"]}, "they are a mapping"),
        ({"propensity": True}, "a share is above 0"),
        ({"less": 2}, "less is 2"),
    ],
)
def test_settings_of_a_log(asked, message):
    with pytest.raises(SettingError, match=message):
        sa.Log.from_frame(frame(300), **asked)


def test_the_share_of_a_split():
    for share in ("x", None, True, 1.5, 0, 1):
        with pytest.raises(SettingError, match="share"):
            sa.Log.from_frame(frame(300)).split(share)


# --- is more better, or less?
def refunds(rows=6000, seed=0) -> pd.DataFrame:
    """The new arm has two thirds of the refunds that the control has."""
    random = np.random.default_rng(seed)
    new = random.integers(0, 2, rows)
    refund = (random.random(rows) < np.where(new, 0.2, 0.3)) * random.integers(1, 11, rows)
    made = {"action": np.where(new, "new", "control"), "refund_eur": refund, "propensity": 0.5}
    return pd.DataFrame(made)


def read(made: pd.DataFrame, **settings) -> sa.Log:
    return sa.Log.from_frame(made, {"reward": made.columns[1]}, reward_unit="EUR", **settings)


def test_what_is_less_is_better_where_it_is_said():
    """As of minus these rewards, number by number."""
    made = refunds()
    less = sa.evaluate("each-ad", read(made, reward_max=10, less=True))
    minus = made.assign(refund_eur=-made["refund_eur"])
    expected = sa.evaluate("each-ad", read(minus, reward_min=-10, reward_max=0))
    assert less.to_frame().equals(expected.to_frame())
    assert less.choice == expected.choice and less.notes == expected.notes
    mean = made.groupby("action")["refund_eur"].mean()
    assert less.rows[-1]["lift"] == pytest.approx(mean["control"] - mean["new"])
    assert "Mean rewards in EUR, minus the costs" in less.text()
    more = sa.evaluate("each-ad", read(made, reward_max=10, less=False))
    assert more.rows[-1]["verdict"] == "no" and less.rows[-1]["verdict"] in ("yes", "cannot tell")


@pytest.mark.parametrize(
    ("name", "asked"),
    yaml.safe_load("""
[[refund_eur, true], [latencyMs, true], [cost, true], [revenue, false], [costs_saved, false],
 [no_churn, false], [waiter, false]]
"""),
)
def test_it_is_asked_where_rewards_are_called_like_costs(name, asked, tmp_path, capsys):
    made = refunds(900).rename(columns={"refund_eur": name})
    log = read(made, reward_max=10)
    found = sa.evaluate("each-ad", log)
    row = found.rows[-1]
    assert (row["verdict"] == "none") == asked and not np.isnan(row["estimate"])
    said = f"rewards are column {name!r}, of which less may be better"
    assert (said in str(log.check())) == asked
    assert found.text().startswith("Careful: rewards are column") == asked
    made.to_csv(tmp_path / "log.csv", index=False)
    words = f"evaluate {tmp_path}/log.csv --columns reward={name} --reward-max 10"
    for option in ("--less", "--no-less"):
        assert ads(f"{words} {option}") == 0
        printed = capsys.readouterr().out
        assert "--no-less if more is better" not in printed and " none" not in printed
    train, test = log.split(0.5)
    assert train.options == test.options == log.options
