"""Exact intervals of policies that are certain, and approximate ones beside the guaranteed."""

import numpy as np
import pandas as pd
import pytest

import scant_ads as sa
from scant.ads.evaluation import snips


def made(rows=3000, seed=0, rate=0.1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    action, x = random.integers(0, 5, rows), random.integers(0, 3, rows)
    return pd.DataFrame({"action": action, "reward": (random.random(rows) < rate) * 1, "propensity": 0.2,
                         "who": random.integers(0, rows // 4, rows), "policy:one": (action == 1) * 1.0,
                         "policy:mine": (action == x) * 1.0,
                         "policy:mixed": np.where(action == 1, 0.6, 0.1)})  # fmt: skip


def test_a_policy_of_0_and_1_has_the_exact_interval_of_its_terms():
    from scipy import stats

    frame = made()
    found = {row["policy"]: row for row in sa.evaluate(["mine", "mixed", "one"], sa.Log.from_frame(frame)).rows}
    assert [found[name]["bound"] for name in ("mine", "mixed", "one")] == [
        "clopper-pearson",
        "betting",
        "clopper-pearson",
    ]
    clicks = int((frame["reward"] * frame["policy:mine"]).sum())
    ends = stats.binomtest(clicks, len(frame)).proportion_ci(0.95, "exact")
    assert (found["mine"]["low"], found["mine"]["high"]) == pytest.approx((5 * ends.low, 5 * ends.high))
    of_clicks = stats.binomtest(clicks, int(frame["reward"].sum())).proportion_ci(0.95, "exact")
    assert (found["mine"]["lift_low"], found["mine"]["lift_high"]) == pytest.approx(
        (5 * of_clicks.low - 1, 5 * of_clicks.high - 1)
    )


@pytest.mark.parametrize(
    ("changes", "columns", "least"),
    [
        ({"reward": lambda log: log["reward"] * 0.5}, {}, None),
        ({}, {"user": "who"}, None),
        ({"propensity": lambda log: np.where(log["action"] == 1, 0.2, 0.19)}, {}, 0.19),
    ],
)
def test_it_is_exact_for_one_propensity_and_independent_clicks_alone(changes, columns, least):
    log = sa.Log.from_frame(made().assign(**changes), columns)
    assert sa.evaluate(["mine"], log, least_propensity=least).rows[-1]["bound"].startswith("betting")


def test_the_approximate_interval_is_the_delta_methods_and_decides_nothing():
    frame = made()
    row = sa.evaluate(["mixed"], sa.Log.from_frame(frame)).rows[-1]
    estimate, error = snips(frame["reward"], frame["propensity"], frame["policy:mixed"])
    assert (row["approx_low"], row["approx_high"]) == pytest.approx(
        (estimate - 1.96 * error, estimate + 1.96 * error), rel=1e-4
    )
    assert row["high"] - row["low"] > row["approx_high"] - row["approx_low"]


def test_by_user_it_is_robust_to_what_visits_of_a_user_have_in_common():
    frame = made()
    again = pd.concat([frame] * 4, ignore_index=True).assign(who=[*range(len(frame))] * 4)
    once = sa.evaluate(["mixed"], sa.Log.from_frame(frame.assign(who=range(len(frame))), {"user": "who"})).rows
    four = sa.evaluate(["mixed"], sa.Log.from_frame(again, {"user": "who"})).rows
    alone = sa.evaluate(["mixed"], sa.Log.from_frame(frame)).rows
    for row, same, visits in zip(once, four, alone, strict=True):
        ends = row["approx_low"], row["approx_high"]
        assert ends == pytest.approx((same["approx_low"], same["approx_high"]))
        assert ends == pytest.approx((visits["approx_low"], visits["approx_high"]), rel=1e-3)


def test_a_policy_that_is_worse_is_said_to_be(tmp_path):
    random, rows = np.random.default_rng(0), 8000
    action = random.integers(0, 2, rows)
    frame = pd.DataFrame({"action": np.array(["new", "old"])[action], "propensity": 0.5,
                          "reward": (random.random(rows) < np.where(action == 1, 0.2, 0.05)) * 1})  # fmt: skip
    found = sa.evaluate(["ad:new"], sa.Log.from_frame(frame))
    assert found.choice["worse"] and not found.choice["better"] and found.choice["lift_upper"] < 0
    worst = 100 * -found.choice["lift_upper"]
    assert "ad:new is worse than today's policy" in found.decision() and found.decision().endswith(
        f"at least {worst:.1f} %"
    )
    found.report(tmp_path / "out.html")
    assert "<h1>Keep today&#39;s policy: ad:new is worse</h1>" in (tmp_path / "out.html").read_text()
    best = sa.evaluate("each-ad", sa.Log.from_frame(frame))
    assert best.choice["better"] and not best.choice["worse"]
