"""The one estimator of slopes: exponents of power laws, and what has none."""

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scant.declare.runs import kept_rounds
from scant.present.slopes import (
    FROM,
    late_rounds,
    pseudo_values,
    slope,
    slope_columns,
    slopes_of_seeds,
)


@given(st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=12), st.permutations(range(12)))
def test_it_is_the_least_squares_line_whatever_the_order_of_the_points(y, order):
    x, y = np.arange(1, len(y) + 1), np.array(y)
    expected = stats.linregress(np.log(x), np.log(y)).slope
    assert slope(x, y, 3) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    order = [i for i in order if i < len(y)]
    assert slope(x[order], y[order], 3) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, -np.inf])
@pytest.mark.parametrize("at", range(4))
def test_a_value_that_has_no_logarithm_leaves_no_slope(bad, at):
    y = np.array([1.0, 2, 3, 4])
    assert slope([1, 10, 100, 1000], y, 3) > 0
    y[at] = bad
    with np.errstate(all="raise"):
        assert np.isnan(slope([1, 10, 100, 1000], y, 3))


def test_too_few_points_leave_no_slope():
    assert slope([1, 10, 100], [1, 2, 3], 3) > 0
    assert np.isnan(slope([1, 10, 100], [1, 2, 3], 4))
    assert np.isnan(slope([1, 10, 10], [1, 2, 3], 3))  # of different x
    assert np.isnan(slope([], [], 3))


def regrets(*seeds) -> pd.DataFrame:
    """The regret of seeds, each a list with one for each of the points 10, 100 and so on."""
    return pd.DataFrame(
        np.transpose(seeds),
        index=10.0 ** np.arange(1, len(seeds[0]) + 1),
        columns=range(len(seeds)),
    )


SKEWED = regrets(*np.random.default_rng(1).exponential(size=(12, 4)) * 10 ** np.arange(1, 5) ** 0.9)


def test_the_slope_is_that_of_the_mean_regret_of_all_seeds():
    regret = regrets([1, 2, 4], [5, -1, 40], [9, 90, 2])
    columns = slope_columns(regret, 3)
    assert list(columns) == [
        "slope",
        "slope_low",
        "slope_high",
        "slopes",
        "nonpositive",
        "from",
        "to",
    ]
    assert columns["slope"] == slope([10, 100, 1000], regret.mean(axis=1), 3)
    assert (columns["slopes"], columns["nonpositive"], columns["from"], columns["to"]) == (
        3,
        0,
        10,
        1000,
    )


def test_where_the_mean_regret_is_not_above_0_there_is_no_slope():
    columns = slope_columns(regrets([1, 2, 4], [5, -2, 40]), 3)
    assert np.isnan([columns["slope"], columns["slope_low"]]).all()
    assert (columns["slopes"], columns["nonpositive"]) == (0, 1)


def test_columns_of_no_seed_at_all():
    columns = slope_columns(pd.DataFrame(), 3)
    assert (
        columns["slopes"] == 0
        and np.isnan([columns["slope"], columns["from"], columns["to"]]).all()
    )
    alone = slope_columns(regrets([1, 2, 4]), 3)
    assert alone["slopes"] == 1 and alone["slope"] == slope([10, 100, 1000], [1, 2, 4], 3)
    assert np.isnan([alone["slope_low"], alone["slope_high"]]).all()


def test_the_interval_is_a_bootstrap_over_seeds_wider_than_plain_percentiles():
    columns = slope_columns(SKEWED, 3)
    assert columns == slope_columns(SKEWED, 3)  # the same resamples
    random = np.random.default_rng(2)
    plain = [
        slope(SKEWED.index, SKEWED.to_numpy()[:, random.integers(0, 12, 12)].mean(axis=1), 3)
        for _ in range(4000)
    ]
    low, high = np.quantile(plain, [0.025, 0.975])
    assert columns["slope_low"] < low < columns["slope"] < high < columns["slope_high"]
    assert columns["slope_high"] - columns["slope_low"] < 1.6 * (high - low)
    wide, narrow = (slope_columns(SKEWED, 3, level) for level in (0.99, 0.8))
    assert wide["slope_low"] < columns["slope_low"] < narrow["slope_low"]


def test_an_interval_has_no_end_where_resamples_have_no_slope():
    columns = slope_columns(regrets([1, 2, 4], [5, -1.9, 40], [1, 2, 4], [1, 2, 4]), 3)
    assert (
        np.isfinite(columns["slope"])
        and np.isnan([columns["slope_low"], columns["slope_high"]]).all()
    )


def test_pseudo_values_have_the_slope_as_their_mean_and_move_it_to_first_order():
    values = pseudo_values(SKEWED)
    assert values.mean() == pytest.approx(slope_columns(SKEWED, 3)["slope"])
    # To give a seed a little more weight moves the slope by its pseudo-value less the slope.
    for seed in (0, 7):
        weights = np.full(12, (1 - 1e-6) / 12)
        weights[seed] += 1e-6
        moved = slope(SKEWED.index, SKEWED @ weights, 3) - values.mean()
        assert moved / 1e-6 == pytest.approx(values[seed] - values.mean(), rel=1e-3)
    same = regrets([1, 10, 100], [3, 30, 300], [2, 20, 200])
    assert pseudo_values(same).to_list() == pytest.approx([1.0, 1.0, 1.0])


def rows(**regret_by_learner) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "stream": "a",
                "learner": learner,
                "seed": seed,
                "round": 10 ** (at + 1),
                "regret": value,
            }
            for learner, seeds in regret_by_learner.items()
            for seed, values in enumerate(seeds)
            for at, value in enumerate(values)
        ]
    )


def test_every_seed_has_a_pseudo_value_or_the_reason_why_not():
    frame = rows(
        long=[[1, 2, 4], [5, -1, 40], [np.nan, np.nan, np.nan]],
        short=[[1, 2], [2, 3]],
        behind=[[1, -2, 4], [5, 1, 40]],
    )
    found = slopes_of_seeds(frame, "round", 3).set_index(["learner", "seed"])
    assert list(found.index) == [
        ("long", 0),
        ("long", 1),
        ("long", 2),
        ("behind", 0),
        ("behind", 1),
    ]
    long = found.loc["long", "value"]
    assert long[[0, 1]].mean() == pytest.approx(
        slope([10, 100, 1000], [3, 0.5, 22], 3)
    ) and np.isnan(long[2])
    assert found.loc["behind", "value"].isna().all()
    assert set(found.loc["long", "why"]) == {""}
    assert set(found.loc["behind", "why"]) == {
        "no slope: the mean regret of behind on a is not above 0 at round 100"
    }


def test_slopes_over_rounds_begin_at_a_hundredth_of_each_horizon():
    frame = pd.DataFrame(
        yaml.safe_load(
            """{round: [1, 9, 10, 99, 100, 1000], end: [1000, 1000, 1000, 10000, 10000, 1000]}"""
        )
    )
    assert FROM == 0.01
    assert late_rounds(frame, "end")["round"].tolist() == [10, 100, 1000]
    frame = pd.DataFrame(
        {"round": [100, 999, 1000, 1000, 9_999, 10_000], "end": [1000] * 3 + [10_000] * 3}
    )
    assert late_rounds(frame, "end")["round"].tolist() == [100, 1000, 1000, 10_000]


def test_slopes_over_rounds_have_points_that_are_evenly_spaced_on_the_log_scale():
    frame = pd.DataFrame({"round": kept_rounds(10_000)}).assign(end=10_000)
    rounds = late_rounds(frame, "end")["round"].to_numpy()
    # of the last ten rounds, which traces keep
    assert len(frame[frame["round"] >= 100]) - len(rounds) == 9
    assert rounds[-1] == 10_000 and np.diff(np.log10(rounds)) == pytest.approx(1 / 20, abs=2e-3)
