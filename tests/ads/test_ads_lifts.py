"""The lift over today's policy: identities, exact small cases, how often its interval holds."""

import math

import numpy as np
import pytest
from ads_logs import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from regressed import regressed
from scipy import stats
from test_ads_api import frame

import scant_ads as sa
from scant.bandits import intervals
from scant_ads.evaluation import lifts, quotients
from scant_ads.reading import tally


def cells(weight, reward):
    table = tally.Cells()
    table.add(np.asarray(weight, float), np.asarray(reward, float))
    return table.arrays()


def ratio(weight, reward, count, largest, random, single=False, rounded=False):
    """The quotient of E[w r] and E[r]."""
    if single:
        return lifts.single(weight, reward, count, largest, random)
    ones, rows = np.ones(len(count)), int(count.sum())
    both = tally.Both(weight, ones, reward, count, rows, rounded, fixed=True)
    return lifts.of_rows(quotients.ratio, both, (largest, 1.0), random)


def ends(found, level=0.95):
    return found.lower((1 + level) / 2), found.upper((1 + level) / 2)


def drawn(rows=2000, seed=0):
    """Weights of 0.25 or 4, rewards of tenths from 0 to 1, of which most are 0."""
    random = np.random.default_rng(seed)
    rewards = random.integers(0, 11, rows) / 10 * (random.random(rows) < 0.3)
    return random.choice([0.25, 4.0], rows, p=[0.8, 0.2]), rewards


def test_one_weight_and_clicks_give_the_binomial_interval():
    """Of 37 clicks 20 are on an ad with weight 3: thrice SciPy's exact interval of 20 of 37."""
    weight = np.repeat([3.0, 0.0, 3.0, 0.0], [20, 17, 500, 900])
    reward = np.repeat([1.0, 0.0], [37, 1400])
    found = ratio(*cells(weight, reward), 3.0, np.random.default_rng(0), single=True)
    expected = stats.binomtest(20, 37).proportion_ci(0.95, "exact")
    np.testing.assert_allclose(ends(found), [3 * expected.low, 3 * expected.high])


def test_with_all_rewards_alike_all_policies_earn_the_same():
    """E[w r] / E[r] is then the mean weight, 1 by right propensities: the interval is narrow."""
    weight = np.random.default_rng(1).choice([0.5, 3.0], 3000, p=[0.8, 0.2])
    for reward in (1.0, 0.3):
        found = ratio(*cells(weight, np.full(3000, reward)), 3.0, np.random.default_rng(0))
        assert found.estimate == pytest.approx(1.0)
        assert ends(found) == pytest.approx((1, 1), abs=0.02)


@pytest.mark.parametrize("factor", [0.5, 0.01])
def test_the_unit_of_rewards_matters_little_and_rows_without_one_less(factor):
    """The quotient has no unit; only the first bets know that rewards can be 1."""
    weight, reward = drawn(20000)
    whole, part = (
        ratio(*cells(weight, reward * unit), 4.0, np.random.default_rng(0))
        for unit in (1.0, factor)
    )
    assert whole.estimate == pytest.approx(part.estimate)
    (low, high), (lower, higher) = ends(whole), ends(part)
    assert lower <= low * 1.02 and higher >= high / 1.02 and low < whole.estimate < high


@given(st.integers(0, 2**32 - 1), st.sampled_from([20, 200, 2000]), st.floats(0.5, 0.999))
@settings(max_examples=15, deadline=None)
def test_intervals_hold_the_estimate_and_grow_with_confidence(seed, rows, level):
    made = cells(*drawn(rows, seed))
    for single, weights in ((False, made[0]), (True, np.where(made[0] > 1, 4.0, 0.0))):
        clicks = np.ceil(made[1]) if single else made[1]
        found = ratio(weights, clicks, made[2], 4.0, np.random.default_rng(seed), single=single)
        if found is None:
            assert not made[1].any()
            continue
        estimate = float(made[2] @ (weights * clicks) / (made[2] @ clicks))
        (low, high), (lower, higher) = ends(found, level), ends(found, (1 + level) / 2)
        assert 0 <= lower <= low <= estimate * (1 + 1e-9)
        assert estimate <= high * (1 + 1e-9) <= higher * (1 + 1e-8) <= 4.0 * (1 + 1e-8)


def test_of_very_many_weights_and_rewards_the_interval_is_nearly_the_same(monkeypatch):
    """Rounded at random: expectations stay the same, weights and rewards stay possible."""
    random = np.random.default_rng(5)
    weight, reward = 2 * random.random(20000), random.random(20000) * (random.random(20000) < 0.3)
    made, found = cells(weight, reward), []
    for most in (10**9, lifts.CELLS):
        monkeypatch.setattr(lifts, "CELLS", most)
        found.append(ratio(*made, 2.0, np.random.default_rng(0)))
    exact, thinned = found
    several = [len({*zip(*part.terms, strict=True)}) for part in (thinned, exact)]
    assert several[0] < 2000 < several[1] and thinned.units.sum() == exact.units.sum() == 20_000
    assert (thinned.terms[0] <= 2 * thinned.terms[1]).all() and thinned.terms[1].max() <= 1
    assert thinned.estimate == pytest.approx(exact.estimate, rel=0.01)
    np.testing.assert_allclose(ends(thinned), ends(exact), rtol=0.05)
    means, rewarded = [], [part[made[1] > 0] for part in made]
    for seed in range(300):
        w, r, n = lifts._thinned(*rewarded, 2.0, np.random.default_rng(seed))
        means.append([n @ (w * r), n @ r])
    expected = [made[2] @ (made[0] * made[1]), made[2] @ made[1]]
    error = np.std(means, axis=0) / 300**0.5
    assert (np.abs(np.mean(means, axis=0) - expected) < 4 * error).all()


def test_rows_of_neither_of_two_arms_count():
    """Of 3,000 rows a third are of each arm: means, their regression and stages are of all rows."""
    random = np.random.default_rng(3)
    arm, reward = random.integers(0, 3, 3000), random.random(3000)
    weights = [3.0 * (arm == which) for which in (0, 1)]
    some = arm < 2
    columns = (part[some] for part in (*weights, reward))
    both = tally.Both(*columns, np.ones(some.sum(), np.int64), 3000)
    first, second = (weight * reward for weight in weights)
    for kind in (quotients.difference, quotients.ratio):
        found = lifts.of_rows(kind, both, (3.0, 3.0), np.random.default_rng(0))
        gain, stake = kind(first, second, 1.0)
        assert found.estimate == pytest.approx(regressed(gain, weights[0] - weights[1], stake))
        assert found.lower(0.9) < found.estimate < found.upper(0.9)
        assert found.units.tolist() == np.diff(intervals.stage_ends(3000), prepend=0).tolist()


def test_rounded_sums_widen_the_interval():
    made = cells(*drawn())
    fine, rounded = (
        ratio(*made, 4.0, np.random.default_rng(0), rounded=known) for known in (False, True)
    )
    (low, high), (lower, higher) = ends(fine), ends(rounded)
    assert 0 < low - lower < 0.01 and low - lower == pytest.approx(higher - high)


def test_without_a_reward_there_is_no_lift():
    assert ratio(*cells([1.0, 2.0], [0.0, 0.0]), 2.0, np.random.default_rng(0)) is None


def test_the_quotient_of_two_intervals():
    """Each of them with half the error."""
    asked = []

    def known(value):
        return lambda level: asked.append(level) or value

    both = lifts.Bounds(known(0.02), known(0.08)), lifts.Bounds(known(0.01), known(0.04))
    found = lifts.quotient(*both)
    assert (found.lower(0.95), found.upper(0.95)) == (0.5, 8.0)
    assert asked == pytest.approx([0.975] * 4)
    nothing = lifts.quotient(*[lifts.Bounds(known(0.0), known(0.0))] * 2)
    assert (nothing.lower(0.9), nothing.upper(0.9)) == (0, math.inf)


KINDS = [
    (60, "one weight", "steady"), (1000, "one weight", "drifting"),
    (60, "two weights", "drifting"), (1000, "two weights", "drifting"),
    (60, "graded", "steady"), (1000, "graded", "drifting"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "kind", "rates"), KINDS)
def test_intervals_hold_as_often_as_they_say(rows, kind, rates):
    """1,000 simulated logs: each end fails in 2.5 % at most; above 41 has a chance of 0.1 %."""
    random, failed = np.random.default_rng(rows), np.zeros(2, int)
    single, graded, drifts = kind == "one weight", kind == "graded", rates == "drifting"
    for _ in range(1000):
        match = random.random(rows) < 1 / 3
        weight = np.where(match, 3.0, 0.0) if single else np.where(match, 2.4, 0.3)
        rate = np.linspace(0.05, 0.35, rows) if drifts else np.full(rows, 0.2)
        better = np.linspace(2.5, 1.0, rows) if drifts else np.full(rows, 1.5)
        clicked = random.random(rows) < rate * np.where(match, better, 1.0)
        reward = clicked * (random.random(rows) if graded else 1.0)
        share, other = (1.0, 0.0) if single else (0.8, 0.2)
        truth = (rate * (share * better + other)).sum() / (rate * (better + 2) / 3).sum()
        found = ratio(*cells(weight, reward), 3.0 if single else 2.4, random, single=single)
        if found is not None:
            failed += [lifts.excludes(found, truth, above, 0.975) for above in (True, False)]
    assert (failed <= 41).all(), failed


# --- in an evaluation
def evaluated(**options):
    train, test = (sa.Log.from_frame(frame(2000, seed)) for seed in (0, 1))
    policies = [sa.fit(train, "logistic", steps=2000, epsilon=epsilon) for epsilon in (0.0, 0.3)]
    options = options | {"train": train} if "train" in options else options
    return sa.evaluate(policies, test, **options)


def test_the_lift_is_that_of_the_estimates_and_decides_on_one_log():
    found = evaluated()
    today, *others = found.rows
    assert np.isnan(today["lift"]) and np.isnan(today["lift_low"])
    for row in others:
        assert row["lift"] == pytest.approx(row["estimate"] / today["estimate"] - 1)
        assert row["lift_low"] <= row["lift"] <= row["lift_high"]
        answers = [row["lift_low"] > 0, row["lift_high"] < 0]
        assert answers == [row["verdict"] == "yes", row["verdict"] == "no"]
    choice = found.choice
    chosen = rows_of(found)[choice["policy"]]
    assert choice["lift"] == chosen["lift"] and choice["better"] == (choice["lift_lower"] > 0)
    assert (choice["lift_lower"], choice["lift_upper"]) == (chosen["lift_low"], chosen["lift_high"])


@pytest.mark.parametrize("options", [{"train": True}, {"least_propensity": "unknown"}])
def test_otherwise_the_lift_is_a_quotient_of_two_rates(options):
    """Whose intervals hold with half the error."""
    # two policies, two rates each
    found, surer = evaluated(**options), evaluated(level=1 - 0.05 / 4, **options)
    today = surer.rows[0]
    for row, sure in zip(found.rows[1:], surer.rows[1:], strict=True):
        assert row["lift_low"] == pytest.approx(sure["low"] / today["high"] - 1)
        assert row["lift_high"] == pytest.approx(sure["high"] / today["low"] - 1)


def test_without_a_verdict_there_is_no_lift():
    policy = sa.fit(frame(600, 2), "logistic", steps=500)
    for wrong in ({"propensity": 0.5}, {"reward": 0}):
        found = sa.evaluate([policy], frame(600).assign(**wrong))
        assert np.isnan([row["lift_low"] for row in found.rows]).all()
        assert found.choice is None and {row["verdict"] for row in found.rows[1:]} == {"none"}
