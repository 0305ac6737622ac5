"""Tables that are no log of visits are named by one message; logs are not taken for them."""

import json

import numpy as np
import pandas as pd
import pytest
from ads_logs import problems, rows_of

import scant_ads as sa
from scant.errors import DataError

SUMS = pd.DataFrame({"arm": ["control", "new"], "clicks": [1021, 1173], "visitors": [10120, 10044]})


def slates(rows=200, write="|".join) -> pd.DataFrame:
    lists = np.argsort(np.random.default_rng(0).random((rows, 9)), axis=1)[:, :5].astype(str)
    cells = [*map(write, lists.tolist())]
    return pd.DataFrame({"slate": cells, "click": np.arange(rows) % 5, "age": 30})


def visits(**columns) -> pd.DataFrame:
    random = np.random.default_rng(1)
    made = {"action": random.integers(0, 3, 90), "reward": random.integers(0, 2, 90)}
    return pd.DataFrame(made | {"propensity": 1 / 3} | columns)


@pytest.mark.parametrize("roles", [{}, {"action": "arm", "reward": "clicks"}])
def test_sums_are_named_and_become_a_log_as_the_message_says(roles):
    ((kind, problem),) = problems(SUMS, roles, propensity=0.5, reward_max=2000).items()
    count = "visitors"
    assert kind == "sums" and f"{count!r} is 10,120" in problem["reason"]
    assert f"log.loc[log.index.repeat(log[{count!r}])]" in problem["mend"]
    log = SUMS.loc[SUMS.index.repeat(SUMS[count])]
    log["reward"] = (log.groupby(level=0).cumcount() < log["clicks"]).astype(int)
    log = sa.Log.from_frame(log[["arm", "reward"]], {"action": "arm"}, propensity=0.5)
    lift = rows_of(sa.evaluate("each-ad", log))["ad:new"]["lift"]
    assert lift == pytest.approx(1173 / 10044 / (1021 / 10120) - 1)


@pytest.mark.parametrize("roles", [{}, {"action": "slate", "reward": "click"}])
@pytest.mark.parametrize("write", ["|".join, json.dumps, list])
def test_lists_in_cells_are_named(roles, write):
    found = problems(slates(write=write), roles, propensity=0.1, reward_max=4)
    assert [*found] == ["list-cells"]
    assert f"{'action' if roles else 'slate'!r} is" in found["list-cells"]["reason"]


@pytest.mark.parametrize(
    "columns",
    [
        {"visitors": 40, "clicks": 7},
        {"reward": 40.0, "impressions": 90},
        {"tags": "a|b|c"},
        {"action": np.random.default_rng(2).choice(["red|300x250|left", "blue|300x250|left"], 90)},
    ],
)
def test_a_log_is_not_taken_for_another_table(columns):
    assert not {"sums", "list-cells"} & problems(visits(**columns), reward_max=100).keys()


def test_features_with_several_values_are_no_lists_where_ads_lack_a_name():
    log = visits(agent="Mozilla/5.0 (X11; Linux; x86_64)", tags=["a|b|c", "a|b", "d"] * 30)
    assert "column" in problems(log.rename(columns={"action": "what"}))


@pytest.mark.parametrize(("values", "units"), [(1.0, None), (0.0, "log")])
def test_propensities_that_are_all_1_were_not_logged(values, units):
    log = sa.Log.from_frame(visits(propensity=values), propensities=units)
    assert problems(log)["certain"]["severity"] == "error"
    with pytest.raises(DataError, match="every propensity is 1, and 3 ads are shown: they were"):
        sa.evaluate("ad:1", log)


def test_propensities_that_are_all_0_were_not_logged():
    reason = problems(visits(propensity=0))["range"]["reason"]
    assert "0.0 is not in (0, 1], as in every row: none was logged" in reason
