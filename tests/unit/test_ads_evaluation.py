"""Off-policy estimates: the Open Bandit Pipeline's formulas, unbiasedness by enumeration, cases by
hand, refusals.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scant.bandits import intervals
from scant.bandits.evaluation import (
    declared_weights,
    doubly_robust,
    evaluate,
    importance_weighted,
    least_propensity,
    snips,
)
from scant.errors import SettingError

seeds = st.integers(0, 2**32 - 1)


def problem(seed, rows=200, actions=4):
    """A random log, a random policy (rows x actions) and a random model of the rewards (rows x
    actions).
    """
    random = np.random.default_rng(seed)
    logging, policy = random.dirichlet(np.ones(actions), (2, rows))
    action = np.array([random.choice(actions, p=p) for p in logging])
    at = np.arange(rows), action
    return random.random(rows), logging[at], policy, action, random.random((rows, actions))


def campaign(rows=4000, actions=5, rate=0.1, epsilon=0.2, seed=0):
    """reward, propensity and target of a uniform log and an epsilon-greedy policy."""
    random = np.random.default_rng(seed)
    best = random.random(rows) < 1 / actions
    target = np.where(best, 1 - epsilon, epsilon / (actions - 1))
    return (random.random(rows) < rate).astype(float), np.full(rows, 1 / actions), target


def table(found):
    return {(row["estimator"], row["bound"]): row for row in found.rows()}


# --- estimates


@given(seeds)
def test_estimates_are_those_of_the_open_bandit_pipeline(seed):
    reward, propensity, action_dist, action, q = problem(seed)
    at = np.arange(len(reward)), action
    iw = action_dist[at] / propensity  # the Pipeline's names and formulas
    ips = (reward * iw).mean()
    snipw = (reward * iw / iw.mean()).mean()
    dr = (np.average(q, weights=action_dist, axis=1) + iw * (reward - q[at])).mean()
    log = reward, propensity, action_dist[at]
    assert importance_weighted(*log) == pytest.approx(ips, rel=1e-12)
    assert snips(*log)[0] == pytest.approx(snipw, rel=1e-12)
    model = q[at], (q * action_dist).sum(axis=1)
    assert doubly_robust(log[0], iw, *model).mean() == pytest.approx(dr, rel=1e-12)
    found = (
        table(evaluate(*log, 1 / propensity.min(), q=model))
        if iw.sum() ** 2 / (iw @ iw) >= 30
        else {}
    )
    for (estimator, _), row in found.items():
        expected = {"ips": ips, "snips": snipw, "doubly-robust": dr}[estimator]
        assert row["estimate"] == pytest.approx(expected, rel=1e-9)


def test_weighted_and_doubly_robust_are_unbiased_by_enumeration_of_all_logs():
    # dyadic numbers, so that floats are exact: two contexts, three ads
    context = [Fraction(1, 4), Fraction(3, 4)]
    logging = [
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
    ]
    policy = [
        [Fraction(1, 8), Fraction(7, 8), Fraction(0)],
        [Fraction(1, 2), Fraction(0), Fraction(1, 2)],
    ]
    click = [
        [Fraction(1, 2), Fraction(1, 8), Fraction(1, 4)],
        [Fraction(3, 4), Fraction(1, 2), Fraction(1, 16)],
    ]
    # wrong
    model = [
        [Fraction(1, 4), Fraction(1, 2), Fraction(1)],
        [Fraction(1, 8), Fraction(0), Fraction(3, 4)],
    ]
    cells = [(x, a, r) for x in range(2) for a in range(3) for r in range(2)]

    def chance(x, a, r):
        return context[x] * logging[x][a] * (click[x][a] if r else 1 - click[x][a])

    mean_ips = mean_dr = total = Fraction(0)
    for log in product(cells, repeat=2):
        likely = np.prod([chance(*row) for row in log])
        parts = [
            (r, logging[x][a], policy[x][a], model[x][a], np.dot(policy[x], model[x]))
            for x, a, r in log
        ]
        arrays = [np.array(part, float) for part in zip(*parts, strict=True)]
        total += likely
        mean_ips += likely * Fraction(importance_weighted(*arrays[:3]))
        mean_dr += likely * Fraction(
            doubly_robust(arrays[0], arrays[2] / arrays[1], *arrays[3:]).mean()
        )
    truth = sum(context[x] * policy[x][a] * click[x][a] for x in range(2) for a in range(3))
    assert total == 1 and mean_ips == truth and mean_dr == truth


def test_a_hand_worked_log():
    # weights 2, 2, 0, 1
    reward, propensity, target = [1, 0, 1, 0], [0.5, 0.25, 0.5, 0.25], [1.0, 0.5, 0.0, 0.25]
    assert importance_weighted(reward, propensity, target) == 0.5
    estimate, error = snips(reward, propensity, target)
    assert estimate == pytest.approx(2 / 5)
    assert error == pytest.approx(np.sqrt(4 * 0.36 + 4 * 0.16 + 0 + 0.16) / 5)


@given(seeds, st.floats(0.05, 1))
def test_what_leaves_the_estimates_as_they_are(seed, factor):
    reward, propensity, policy, action, q = problem(seed)
    target = policy[np.arange(len(reward)), action]
    estimate, error = snips(reward, propensity, target)
    assert snips(reward, propensity * factor, target) == pytest.approx((estimate, error), rel=1e-9)
    order = np.random.default_rng(seed).permutation(len(reward))
    assert snips(reward[order], propensity[order], target[order]) == pytest.approx(
        (estimate, error), rel=1e-9
    )
    assert snips(np.ones(200), propensity, target) == pytest.approx((1, 0), abs=1e-6)
    weight = target / propensity
    assert doubly_robust(reward, weight, 0 * reward, 0 * reward) == pytest.approx(reward * weight)
    assert doubly_robust(reward, weight, reward, q[:, 0]) == pytest.approx(q[:, 0])


def test_the_logging_policy_evaluates_to_the_mean_reward():
    reward, propensity, _ = campaign()
    found = table(evaluate(reward, propensity, propensity, 1.0))
    for row in found.values():
        assert row["estimate"] == pytest.approx(reward.mean(), rel=1e-12)


# --- everything at once


def test_every_estimator_with_each_of_its_bounds():
    log = campaign()
    q = np.full(4000, 0.1), np.full(4000, 0.1)
    random = np.random.default_rng(0)
    found = evaluate(*log, 4.0, random=random, q=q, weights=declared_weights([0.2], 0.2, 5))
    rows = table(found)
    assert {bound for estimator, bound in rows if estimator == "ips"} == {
        *intervals.BOUNDS, "bootstrap-percentile", "bootstrap-bca",
    }  # fmt: skip
    assert {key for key in rows if key[0] != "ips"} == {
        ("snips", "delta"), ("doubly-robust", "t"), ("doubly-robust", "empirical-bernstein"),
    }  # fmt: skip
    assert found.refused is None and found.warnings == ()
    for row in rows.values():
        assert row["low"] <= row["lower"] < row["estimate"] < row["high"] <= 1
    x = log[0] * log[2] / log[1]
    terms = intervals.counted(x, 4.0, (0.25, 4.0))
    for name, bound in intervals.BOUNDS.items():
        assert rows["ips", name]["lower"] == pytest.approx(bound(terms, 0.95), rel=1e-12)
        assert rows["ips", name]["exact"] == (name != "t")
    assert rows["ips", "t"]["lower"] == pytest.approx(
        x.mean() - 1.6452 * x.std(ddof=1) / np.sqrt(4000), rel=1e-4
    )
    row, (estimate, error) = rows["snips", "delta"], snips(*log)
    ends = estimate - 1.644854 * error, estimate - 1.959964 * error, estimate + 1.959964 * error
    assert (row["lower"], row["low"], row["high"]) == pytest.approx(ends, rel=1e-6)
    d = 0.1 + log[2] / log[1] * (log[0] - 0.1)
    row = rows["doubly-robust", "t"]
    assert row["lower"] == pytest.approx(
        d.mean() - 1.6452 * d.std(ddof=1) / np.sqrt(4000), rel=1e-4
    )
    spread = np.sqrt(2 * d.var(ddof=1) * np.log(40) / 4000) + 7 * 9 * np.log(40) / (3 * 3999)
    assert rows["doubly-robust", "empirical-bernstein"]["lower"] == pytest.approx(
        max(d.mean() - spread, 0), rel=1e-9
    )


def test_the_bootstrap_needs_a_generator_and_clopper_pearson_the_weights():
    bounds = {bound for _, bound in table(evaluate(*campaign(), 4.0))}
    assert not bounds & {"bootstrap-percentile", "bootstrap-bca", "clopper-pearson"}
    first, second = (evaluate(*campaign(), 4.0, random=np.random.default_rng(3)) for _ in range(2))
    assert first == second


def test_diagnostics_of_a_hand_worked_log():
    rows = [1, 0, 1, 0], [0.5, 0.25, 0.5, 0.25], [1, 0.5, 0, 0.25]
    d = evaluate(*(np.tile(row, 30) for row in rows), 4.0).diagnostics
    assert (d.rows, d.clicks, d.matched_clicks) == (120, 60, 30)
    assert (d.declared_weight, d.largest_weight) == (4, 2)
    assert d.effective == pytest.approx(150**2 / (30 * 9))
    assert d.effective_clicks == pytest.approx(30)  # of weight 2; those of weight 0 tell nothing
    assert d.unmatched == 0.25 and d.mean_weight == 1.25
    half = 1.9801 * np.std(np.tile([2, 2, 0, 1], 30), ddof=1) / np.sqrt(120)
    assert (d.mean_weight_low, d.mean_weight_high) == pytest.approx(
        (1.25 - half, 1.25 + half), rel=1e-4
    )


def test_a_declared_least_propensity_comes_first():
    assert (
        least_propensity(np.full(3, 0.5)) == 0.5 and least_propensity(np.full(3, 0.5), 0.1) == 0.1
    )
    assert least_propensity(np.array([0.5, 0.4, 0.5])) is None
    assert least_propensity(np.array([0.5, 0.4]), 0.2) == 0.2


# --- where estimates mean nothing


def numbers(found):
    return [row[key] for row in found.rows() for key in ("estimate", "lower", "low", "high")]


def test_a_small_effective_sample_is_refused():
    reward, propensity, _ = campaign()
    for matched, refused in ((29, True), (30, False)):
        found = evaluate(reward, propensity, 1.0 * (np.arange(4000) < matched), 5.0)
        assert found.diagnostics.effective == pytest.approx(matched)
        assert (found.refused is not None and found.refused.kind == "small-sample") == refused
        assert np.isnan(numbers(found)).all() == refused


def test_without_clicks_only_exact_bounds_are_given():
    _, propensity, target = campaign()
    options = {"weights": (0.25, 4.0), "random": np.random.default_rng(0)}
    found = evaluate(np.zeros(4000), propensity, target, 4.0, **options)
    assert [notice.kind for notice in found.warnings] == ["no-clicks"] and found.refused is None
    for row in found.rows():
        if row["exact"]:
            assert row["estimate"] == row["lower"] == row["low"] == 0 and 0 < row["high"] <= 1
        else:
            assert np.isnan([row["estimate"], row["lower"], row["low"], row["high"]]).all()


@pytest.mark.parametrize(("clicks", "kinds"), [(29, ["few-clicks"]), (30, [])])
def test_few_clicks_are_warned_of(clicks, kinds):
    _, propensity, target = campaign()
    reward = np.zeros(4000)
    reward[np.flatnonzero(target == target.max())[:clicks]] = 1
    found = evaluate(reward, propensity, target, 4.0)
    assert [notice.kind for notice in found.warnings] == kinds


def test_clicks_of_small_weight_count_for_little():
    _, propensity, target = campaign()
    reward = np.zeros(4000)
    large, small = np.flatnonzero(target == target.max()), np.flatnonzero(target == target.min())
    reward[large[:10]], reward[small[:100]] = 1, 1
    weight = (target / propensity)[[large[0], small[0]]]
    expected = (10 * weight[0] + 100 * weight[1]) ** 2 / (
        10 * weight[0] ** 2 + 100 * weight[1] ** 2
    )
    found = evaluate(reward, propensity, target, 4.0)
    assert found.diagnostics.effective_clicks == pytest.approx(expected) and expected < 30
    assert [notice.kind for notice in found.warnings] == ["few-clicks"]


# --- errors


def test_what_cannot_be_evaluated():
    for largest, options, message in (
        (3.9, {}, r"a weight is 4, above the largest one declared, 3\.9"),
        (np.nan, {}, "largest one declared"),
        (4.0, {"weights": (4.0,)}, "not among the declared values"),
    ):
        with pytest.raises(SettingError, match=message):
            evaluate(*campaign(), largest, **options)


def test_declared_weights():
    assert declared_weights([0.2], 1.0, 2) == pytest.approx((5,))
    assert declared_weights([0.2], 0.2, 5) == pytest.approx((0.25, 4))
    assert declared_weights([0.2]) == pytest.approx((5,))
    assert declared_weights([0.5, 0.25], 0.5, 2) == pytest.approx((1, 2))
