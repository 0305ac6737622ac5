"""Bounds on a mean: held to SciPy, to plain loops, and to what they promise, by enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scant.bandits import intervals
from scant.bandits.intervals import (
    BOUNDS,
    Terms,
    bca,
    betting,
    counted,
    interval,
    percentile,
    resampled,
    stage_ends,
)
from scant.errors import SettingError

ALWAYS = ["hoeffding", "empirical-bernstein", "clopper-pearson", "betting", "betting-sequence"]
every_bound = pytest.mark.parametrize("name", BOUNDS)


def skewed(n, seed=0, values=(0.0, 0.25, 4.0), chance=(0.8, 0.15, 0.05)):
    return np.random.default_rng(seed).choice(values, n, p=chance)


@given(st.integers(1, 3000), st.integers(0, 2**32 - 1))
def test_terms_are_counted_in_each_stage(rows, seed):
    x = skewed(rows, seed)
    terms = counted(x, 4.0)
    ends = stage_ends(rows)
    assert ends[-1] == rows and np.all(np.diff(ends) > 0) and ends[0] <= 128
    assert terms.count.sum(axis=1).tolist() == np.diff(ends, prepend=0).tolist()
    for start, end, count in zip(np.r_[0, ends], ends, terms.count, strict=False):
        for value, often in zip(terms.value, count, strict=True):
            assert often == np.count_nonzero(x[start:end] == value)


# --- counting


@pytest.mark.parametrize("zeros", [0, 5000])
def test_many_values_are_binned_from_below_and_above_with_their_mean(zeros):
    random = np.random.default_rng(1)
    x = random.permutation(np.r_[np.zeros(zeros), 4 * random.random(20_000) ** 4, 1e-9, 4.0])
    terms = counted(x, 4.0)
    assert len(terms.value) < 11_000
    assert np.all((terms.low <= terms.value) & (terms.value <= terms.high))
    assert terms.high[-1] == 4.0
    some = terms.low > 0
    assert np.all(terms.high[some] - terms.low[some] <= terms.low[some] / 512 * (1 + 1e-12))
    n, mean, variance = terms.moments()
    assert n == len(x)
    assert mean == pytest.approx(x.mean(), rel=1e-12)
    assert variance == pytest.approx(x.var(ddof=1), rel=1e-5)
    value, count = np.unique(x, return_counts=True)
    ends = stage_ends(len(x))
    stages = [np.isin(value, part) * 1 for part in np.split(x, ends[:-1])]
    exact = Terms(value, np.array(stages), 4.0)
    assert count.tolist() == exact.total.tolist() or zeros
    if not zeros:  # all distinct, so that presence is a count
        (low, high), (lowest, highest) = (interval(betting, one, 0.9) for one in (exact, terms))
        assert low * 0.995 < lowest <= low + 1e-9 and high - 1e-9 <= highest < high * 1.005


def test_terms_outside_the_support_are_refused():
    with pytest.raises(SettingError, match=r"a term is 0\.25, which is not among"):
        counted(skewed(100), 4.0, (4.0,))


# --- against SciPy and formulas written out
@given(st.integers(2, 400), st.integers(0, 2**32 - 1), st.floats(0.5, 0.999))
def test_t_is_that_of_scipy(rows, seed, level):
    x = np.random.default_rng(seed).random(rows)
    terms = counted(x, 1.0)
    one = stats.ttest_1samp(x, 0, alternative="greater").confidence_interval(level)
    both = stats.ttest_1samp(x, 0).confidence_interval(level)
    assert intervals.t(terms, level) == pytest.approx(one.low, rel=1e-9, abs=1e-12)
    result = interval(intervals.t, terms, level)
    assert result == pytest.approx((both.low, both.high), rel=1e-09, abs=1e-12)


@given(st.integers(1, 300), st.data(), st.floats(0.5, 0.999), st.sampled_from([0.3, 1.0, 5.0]))
def test_clopper_pearson_is_that_of_scipy(rows, data, level, worth):
    clicks = data.draw(st.integers(0, rows))
    terms = counted(worth * (np.arange(rows) < clicks), worth, (worth,))
    test = stats.binomtest(clicks, rows, alternative="greater").proportion_ci(level, "exact")
    both = stats.binomtest(clicks, rows).proportion_ci(level, "exact")
    assert intervals.clopper_pearson(terms, level) == pytest.approx(worth * test.low)
    result = interval(intervals.clopper_pearson, terms, level)
    assert result == pytest.approx((worth * both.low, worth * both.high))


def test_values_that_rounding_tells_apart_are_one():
    x = np.repeat([0.0, 1.0 - 1e-16 * 4, 1.0], [60, 20, 20])
    near = counted(x, 1.0, (0.9999999999999998, 1.0))
    expected = stats.binomtest(40, 100, alternative="greater").proportion_ci(0.95).low
    assert near.support == (0.0, 0.9999999999999998)
    assert intervals.clopper_pearson(near, 0.95) == pytest.approx(expected)


def test_clopper_pearson_shares_delta_among_the_values_declared_not_those_seen():
    x = np.r_[np.zeros(80), np.full(20, 0.25)]
    terms = counted(x, 4.0, (0.25, 4.0))
    part = stats.binomtest(20, 100, alternative="greater").proportion_ci(0.975, "exact").low
    assert intervals.clopper_pearson(terms, 0.95) == pytest.approx(0.25 * part)
    few, none = (
        stats.binomtest(k, 100, alternative="less").proportion_ci(0.975, "exact").high
        for k in (20, 0)
    )
    result = intervals.clopper_pearson(terms, 0.95, upper=True)
    assert result == pytest.approx(0.25 * few + 4 * none)


def test_hoeffding_and_bernstein_as_written_out():
    x = skewed(2000)
    terms = counted(x, 5.0)
    result = intervals.hoeffding(terms, 0.9)
    assert result == pytest.approx(max(x.mean() - 5 * np.sqrt(np.log(10) / 4000), 0))
    bound = (
        x.mean() - np.sqrt(2 * x.var(ddof=1) * np.log(20) / 2000) - 7 * 5 * np.log(20) / (3 * 1999)
    )
    assert bound > 0
    assert intervals.empirical_bernstein(terms, 0.9) == pytest.approx(bound)


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_betting_is_the_least_mean_that_its_capital_does_not_refute(planned, level):
    x, largest = skewed(700, 3), 5.0

    def wealth(m):  # the greatest at the end of a stage, row by row
        capital, ends, bet = 1.0, [], None
        for i in range(700):
            if i in (0, 128, 256, 512):
                past = x[:i] / largest
                variance = (0.25 + (np.sum((past - past.mean()) ** 2) if i else 0.0)) / (i + 1)
                whole = max(2 * i, 128)
                horizon = 700 if planned else whole * np.log(1 + whole)
                bet = np.sqrt(2 * np.log(1 / (1 - level)) / (horizon * variance))
            capital *= 1 + min(bet, 0.75 / (m / largest)) * (x[i] - m) / largest
            if i + 1 in (128, 256, 512, 700):
                ends.append(capital)
        return max(ends)

    bound = betting(counted(x, largest), level, planned)
    assert 0 < bound < x.mean()
    assert wealth(bound * (1 - 1e-6)) > 1 / (1 - level) > wealth(bound * (1 + 1e-6))


# --- what bounds promise
@pytest.mark.parametrize("name", ALWAYS)
def test_bounds_hold_for_clicks_whatever_their_rate(name):
    rows, level = 60, 0.9
    clicks = np.arange(rows + 1)
    terms = Terms(
        np.array([0.0, 2.0]), np.stack([rows - clicks, clicks], axis=1)[:, None, :], 2.0, (0.0, 2.0)
    )
    lower, (low, high) = BOUNDS[name](terms, level), interval(BOUNDS[name], terms, level)
    assert lower.shape == (rows + 1,)
    for rate in np.linspace(0.001, 0.999, 101):
        chance, truth = stats.binom.pmf(clicks, rows, rate), 2 * rate
        assert chance[lower > truth].sum() <= 1 - level + 1e-12
        assert chance[(low > truth) | (high < truth)].sum() <= 1 - level + 1e-12


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.8])
@pytest.mark.parametrize("planned", [True, False])
def test_betting_holds_at_every_time_by_enumeration(monkeypatch, planned, rate):
    monkeypatch.setattr(intervals, "FIRST", 2)
    rows, level = 11, 0.7
    logs = np.array(list(product([0, 1], repeat=rows)))
    chance = np.prod(np.where(logs == 1, rate, 1 - rate), axis=1)
    ever = np.zeros(len(logs), bool)
    for t in [rows] if planned else range(1, rows + 1):
        parts = np.split(logs[:, :t], stage_ends(t)[:-1], axis=1)
        count = np.stack(
            [[part.shape[1] - part.sum(axis=1), part.sum(axis=1)] for part in parts]
        ).transpose(2, 0, 1)
        ever |= betting(Terms(np.array([0.0, 1.0]), count, 1.0), level, planned) > rate
    assert 0 < chance[ever].sum() <= 1 - level + 1e-12


@every_bound
@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 40), min_size=3, max_size=3),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.1, 8.0]),
)
def test_bounds_fall_with_the_level_and_scale_with_the_terms(name, often, seed, scale):
    x = np.random.default_rng(seed).permutation(np.repeat([0.0, 0.25, 4.0, 0.0], [*often, 150]))
    terms, scaled = (
        counted(x, 4.0, (0.25, 4.0)),
        counted(scale * x, scale * 4.0, (scale * 0.25, scale * 4.0)),
    )
    mean, last = x.mean(), np.inf
    for level in (0.5, 0.8, 0.95, 0.999):
        lower, (low, high) = BOUNDS[name](terms, level), interval(BOUNDS[name], terms, level)
        assert lower <= last + 1e-9
        assert low <= lower + 1e-9 and lower <= mean + 1e-9 and high >= mean - 1e-9
        assert BOUNDS[name](scaled, level) == pytest.approx(scale * lower, rel=1e-6, abs=1e-9)
        last = lower


@pytest.mark.parametrize("name", ["betting", "betting-sequence"])
def test_early_rows_that_refute_the_mean_of_all_leave_the_mean(name):
    x = np.r_[np.full(128, 4.0), np.zeros(2000)]
    assert BOUNDS[name](counted(x, 4.0, (4.0,)), 0.95) == pytest.approx(x.mean())


@pytest.mark.parametrize("name", ["t", "hoeffding", "empirical-bernstein", "clopper-pearson"])
def test_the_order_of_rows_matters_to_betting_only(name):
    x = skewed(1000)
    bound = BOUNDS[name]
    first, second = (bound(counted(y, 4.0, (0.25, 4.0)), 0.9) for y in (x, np.sort(x)))
    assert first == pytest.approx(second, rel=1e-12)
    assert betting(counted(x, 4.0), 0.9) != pytest.approx(
        betting(counted(np.sort(x), 4.0), 0.9), rel=1e-3
    )


@every_bound
def test_many_campaigns_are_bounded_at_once(name):
    logs = [counted(skewed(500, seed), 4.0, (0.25, 4.0)) for seed in range(6)]
    together = Terms(
        logs[0].value,
        np.stack([log.count for log in logs]).reshape(2, 3, -1, 3),
        4.0,
        logs[0].support,
    )
    each = np.reshape([BOUNDS[name](log, 0.9) for log in logs], (2, 3))
    np.testing.assert_allclose(BOUNDS[name](together, 0.9), each, rtol=1e-12)


# --- bootstrap


def test_percentiles_are_order_statistics():
    means = np.arange(1.0, 101.0)
    assert [percentile(means, p) for p in (0.0, 0.05, 0.051, 0.5, 1.0)] == [1, 5, 6, 50, 100]


def test_bca_is_that_of_scipy():
    x = np.random.default_rng(1).choice([0.0, 1.0, 3.0, 9.0], 250, p=[0.5, 0.3, 0.15, 0.05])
    terms = counted(x, 9.0)
    means = resampled(terms, np.random.default_rng(0), 50_000)
    other = stats.bootstrap(
        (x,), np.mean, n_resamples=20_000, confidence_level=0.9, method="BCa", rng=2
    )
    ends = bca(terms, means, 0.05), bca(terms, means, 0.95)
    # two clicks of one of 250
    assert ends == pytest.approx(tuple(other.confidence_interval), abs=0.0081)
    assert abs(ends[0] - percentile(means, 0.05)) > 0.01  # skew is seen to


def test_many_values_are_resampled_in_groups_of_equal_mean_and_spread():
    x = np.random.default_rng(2).exponential(1, 30_000)
    means = resampled(counted(x, 40.0), np.random.default_rng(0), 5000)
    error = x.std() / np.sqrt(len(x))
    assert means.mean() == pytest.approx(x.mean(), abs=5 * error / np.sqrt(5000))
    assert means.std() == pytest.approx(error, rel=0.04)


def test_a_group_of_a_single_row_keeps_its_value():
    x = 1.3 ** np.arange(70)  # each further from the last than a group is wide
    means = resampled(counted(x, x[-1]), np.random.default_rng(0), 50)
    draws = np.random.default_rng(0).multinomial(70, np.full(70, 1 / 70), 50)
    assert means == pytest.approx(np.sort(draws @ x) / 70)


def test_bca_of_equal_terms_is_their_mean():
    terms = counted(np.full(50, 0.5), 1.0)
    assert bca(terms, resampled(terms, np.random.default_rng(0), 100), 0.05) == 0.5
