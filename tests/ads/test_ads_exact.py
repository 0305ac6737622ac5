"""Exact intervals of policies that are certain, and a policy that is worse."""

import numpy as np
import pandas as pd
import pytest
from ads_logs import rows_of
from scipy import stats
from test_ads_arms import ab

import scant_ads as sa


def made(rows=3000, seed=0, rate=0.1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    action, x = random.integers(0, 5, rows), random.integers(0, 3, rows)
    columns = {"action": action, "reward": (random.random(rows) < rate) * 1, "propensity": 0.2}
    columns |= {"who": random.integers(0, rows // 4, rows), "policy:one": (action == 1) * 1.0}
    columns |= {"policy:mine": (action == x) * 1.0, "policy:mixed": np.where(action == 1, 0.6, 0.1)}
    return pd.DataFrame(columns)


def test_a_policy_of_0_and_1_has_the_exact_interval_of_its_terms():
    frame = made()
    found = rows_of(sa.evaluate(["mine", "mixed", "one"], sa.Log.from_frame(frame)))
    bounds = {"mine": "clopper-pearson", "mixed": "betting", "one": "clopper-pearson"}
    assert {name: found[name]["bound"] for name in bounds} == bounds
    mine, clicks = found["mine"], int((frame["reward"] * frame["policy:mine"]).sum())
    ends = stats.binomtest(clicks, len(frame)).proportion_ci(0.95, "exact")
    assert (mine["low"], mine["high"]) == pytest.approx((5 * ends.low, 5 * ends.high))
    joint = 1 - 0.05 / 3  # lifts of three policies hold together
    ends = stats.binomtest(clicks, int(frame["reward"].sum())).proportion_ci(joint, "exact")
    lift = mine["lift_low"], mine["lift_high"]
    assert lift == pytest.approx((5 * ends.low - 1, 5 * ends.high - 1))


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
    assert (
        sa.evaluate(["mine"], log, least_propensity=least).rows[-1]["bound"].startswith("betting")
    )


def test_a_policy_that_is_worse_is_said_to_be(tmp_path):
    frame = ab(8000, rates=(0.05, 0.2)).replace({"A": "new", "B": "old"})
    found = sa.evaluate(["ad:new"], sa.Log.from_frame(frame))
    assert found.choice["worse"] and not found.choice["better"] and found.choice["lift_upper"] < 0
    ends = [100 * found.choice[end] for end in ("lift_lower", "lift_upper")]
    assert "ad:new is worse than today's policy" in found.decision()
    assert "interval: {:.1f} to {:.1f})".format(*ends) in found.decision()
    found.report(tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    assert "<h1>Keep today&#39;s policy: ad:new is worse</h1>" in page
    best = sa.evaluate("each-ad", sa.Log.from_frame(frame))
    assert best.choice["better"] and not best.choice["worse"]
