"""The one estimator of slopes: exponents of power laws, and what has none."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scant.present.slopes import FROM, late_rounds, slope, slope_columns
from scant.runs import kept_rounds


@pytest.mark.parametrize("power", [0.0, 0.5, 2 / 3, 1.0])
def test_slope_of_a_power_is_its_exponent(power):
    rounds = kept_rounds(10_000)
    for factor in (2, 3, 5):
        assert slope(rounds, factor * rounds**power, 3) == pytest.approx(power, abs=1e-12)


@given(st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=12), st.permutations(range(12)))
def test_it_is_the_least_squares_line_whatever_the_order_of_the_points(y, order):
    x, y = np.arange(1, len(y) + 1), np.array(y)
    expected = stats.linregress(np.log(x), np.log(y)).slope
    assert slope(x, y, 3) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    order = [i for i in order if i < len(y)]
    assert slope(x[order], y[order], 3) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_all_points_count_alike():
    x = np.array([1.0, 10, 100, 1000])
    bent = np.array([1.0, 1, 1, 10])
    line = np.polyfit(np.log(x), np.log(bent), 1)[0]
    assert slope(x, bent, 4) == line
    assert slope([*x, 1000], [*bent, 10], 4) > line  # a point that is there twice counts twice


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


def test_columns_are_over_the_seeds_that_have_a_slope():
    columns = slope_columns([0.5, np.nan, 0.6, 0.9], pd.Series([100, 10, 1000]))
    assert list(columns) == ["slope", "slope_low", "slope_high", "slopes", "from", "to"]
    found = np.array([0.5, 0.6, 0.9])
    ends = stats.t.interval(0.95, 2, found.mean(), stats.sem(found))
    assert (columns["slope"], columns["slope_low"], columns["slope_high"]) == pytest.approx((found.mean(), *ends))
    assert (columns["slopes"], columns["from"], columns["to"]) == (3, 10, 1000)


def test_columns_of_no_seed_at_all():
    columns = slope_columns([], [])
    assert columns["slopes"] == 0 and np.isnan([columns["slope"], columns["from"], columns["to"]]).all()
    one = slope_columns([0.5], [10, 20])
    assert (one["slope"], one["slopes"]) == (0.5, 1) and np.isnan([one["slope_low"], one["slope_high"]]).all()


def test_slopes_over_rounds_begin_at_a_hundredth_of_the_horizon():
    frame = pd.DataFrame({"round": [1, 9, 10, 99, 100, 1000], "end": [1000, 1000, 1000, 10_000, 10_000, 1000]})
    assert FROM == 0.01
    assert late_rounds(frame, "end")["round"].tolist() == [10, 100, 1000]
