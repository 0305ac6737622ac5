"""Bounds where only users are independent: exact with one visit each, wider if visits agree."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from ads_logs import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from regressed import regressed
from scipy import stats
from test_ads_parts import told, written

import scant_ads as sa
from scant.bandits import intervals
from scant.errors import SettingError
from scant_ads.evaluation import clusters
from scant_ads.reading import summing


def users_of(user, reward, **weights) -> clusters.Users:
    found = clusters.Users()
    found.add(
        np.asarray(user, np.uint64), {"": np.ones(len(user)), **weights}, np.asarray(reward, float)
    )
    return found


def by_user(user, reward, seed=0, ads=2, **weights) -> clusters.ByUser:
    return clusters.ByUser(users_of(user, reward, **weights), ads, np.random.default_rng(seed))


def drawn(seed, users=300, most=6, largest=4.0):
    random = np.random.default_rng(seed)
    user = np.repeat(random.permutation(10 * users)[:users], random.integers(1, most + 1, users))
    weight = np.where(random.random(len(user)) < 0.4, random.uniform(0, largest, len(user)), 0.0)
    return user, (random.random(len(user)) < 0.3).astype(float), weight


@pytest.mark.parametrize(("users", "part"), [(300, 0.95), (5000, 1.02)])
def test_with_one_visit_of_each_user_they_are_bettings_and_narrower_for_few(users, part):
    """On average over 20 logs."""
    widths = np.zeros(2)
    for seed in range(20):
        random = np.random.default_rng(seed)
        reward = (random.random(users) < 0.1).astype(float)
        weight = np.where(random.random(users) < 0.25, 4.0, 0.0)
        rate = by_user(random.permutation(users), reward, seed, p=weight).rate("p", 4.0)
        assert rate.estimate == pytest.approx(regressed(weight * reward, weight - 1))
        terms = intervals.drawn(weight * reward, np.ones(users, np.int64), 4.0, random)
        bettings = intervals.interval(intervals.betting, terms, 0.95)
        widths += [np.diff(ends)[0] for ends in (rate.interval(0.95), bettings)]
    assert 0.8 < widths[0] / widths[1] < part


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(0, 2000), max_size=5),
    batch=st.integers(0, 3),
)
def test_sums_add_up_over_any_parts_in_any_order(seed, cuts, batch):
    user, reward, weight = drawn(seed)
    whole = users_of(user, reward, p=weight).settle()
    np.testing.assert_array_equal(whole.key, np.unique(user).astype(np.uint64))
    assert whole.sums[""].sum() == (len(user) + reward.sum()) * clusters.SCALE
    order, found = np.random.default_rng(seed).permutation(len(user)), clusters.Users()
    for part in np.split(order, sorted({cut % len(user) for cut in cuts})):
        if len(part):
            added = users_of(user[part], reward[part], p=weight[part])
            found.merge(added)
        if batch > 1:
            found.settle()
    np.testing.assert_array_equal(found.settle().key, whole.key)
    for name, sums in whole.sums.items():
        np.testing.assert_array_equal(found.sums[name], sums)
    assert found.largest == whole.largest


def test_quotients_are_those_of_sums():
    user, reward, weight = drawn(3)
    other = np.where(reward > 0, 1.0, 0.5) * 2
    found = by_user(user, reward, p=weight, q=other, uniform=weight)
    terms = weight * reward
    counts = np.unique(user, return_counts=True)[1]
    sums, weights = (
        np.bincount(np.unique(user, return_inverse=True)[1], part) for part in (terms, weight)
    )
    assert found.rate("p", 4.0).estimate == pytest.approx(regressed(sums, weights - counts, counts))
    assert found.rate("p", 4.0, supported=False).estimate == pytest.approx(terms.mean())
    assert found.missed("p").estimate == pytest.approx((weight - terms).mean())
    assert found.mean_weight("p", 4.0).estimate == pytest.approx(weight.mean())
    shown = by_user(user, reward, p=4.0 * (weight > 0)).of_shown("p", 4.0)
    assert shown.estimate == pytest.approx(reward[weight > 0].mean())
    lift = found.lift(("p", "logging"), (4.0, 1.0))
    for quotient in (found.rate("p", 4.0), found.difference(("p", "q"), (4.0, 2.0)), lift, shown):
        low, high = quotient.interval(0.9)
        assert quotient.low <= low < quotient.estimate < high <= quotient.high
        assert quotient.interval(0.99) <= (low, high) and quotient.upper(0.99) > high
    assert by_user(user, 0 * reward, p=weight).lift(("p", ""), (4.0, 1.0)) is None
    there, back = found.difference(("p", "q"), (4.0, 2.0)), found.difference(("q", "p"), (2.0, 4.0))
    assert (there.low, there.high) == (-2, 4)
    assert there.interval(0.95) == pytest.approx([-end for end in back.interval(0.95)[::-1]])


def capital(order, terms, visits, m, level) -> list[float]:
    """The log of the capital against a mean m at the end of each stage, user by user."""
    marks = np.r_[0.0, 2.0 ** np.arange(-10, 0.1, 0.5)]
    mark, before_it = marks[marks >= m][0], marks[marks < m][-1]
    ends = [end for end in 32 << np.arange(20) if end < len(order)] + [len(order)]
    found, gained = [], 0.0
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        before, now = order[:start], order[start:end]
        prior, cap = visits.mean() * max(mark * (1 - mark), 0.0025), 1 - 0.1 / np.sqrt(visits.max())
        mean = np.clip(terms[before].sum() / max(visits[before].sum(), 1), before_it, mark)
        variance = (0.25 + ((terms - mean * visits)[before] ** 2).sum()) / (start + 0.25 / prior)
        bet = np.sqrt(-2 * np.log1p(-level) / (len(order) * variance))
        bet = min(bet, cap / (mark * visits.max()))
        gained += sum(np.log1p(bet * (terms[user] - m * visits[user])) for user in now)
        found.append(gained)
    return found


@pytest.mark.parametrize(("users", "rate"), [(60, 0.7), (600, 0.6), (600, 0.1)])
def test_the_bound_is_the_least_mean_that_the_capital_does_not_refute(users, rate):
    random, level = np.random.default_rng(7), 0.95
    visits = random.integers(1, 9, users)
    user = np.repeat(np.arange(users), visits)
    reward = (random.random(len(user)) < rate).astype(float)
    terms, order = np.bincount(user, reward), np.random.default_rng(0).permutation(users)
    low = by_user(user, reward).rate("", 1.0).lower(level)
    assert max(capital(order, terms, visits, low - 1e-6, level)) >= -np.log1p(-level)
    assert max(capital(order, terms, visits, low + 1e-6, level)) < -np.log1p(-level)


def test_visits_that_are_copies_of_each_other_tell_no_more_than_one():
    """Ten copies of each visit: as wide as one; ten independent visits would be a third as wide."""
    random = np.random.default_rng(5)
    reward = (random.random(2000) < 0.2).astype(float)
    once, tenfold = (
        by_user(np.repeat(np.arange(2000), times), np.repeat(reward, times)).rate("", 1.0)
        for times in (1, 10)
    )
    assert np.diff(tenfold.interval(0.95)) > 0.95 * np.diff(once.interval(0.95))


def test_bounds_hold_for_users_with_rates_of_their_own():
    """400 logs at 90 %: ends too near in 8 % would be so in 20 or more; visits alone are worse."""
    missed, naive = np.zeros(2), np.zeros(2)
    for seed in range(400):
        random = np.random.default_rng(seed)
        visits = random.integers(1, 31, 300)
        rate = random.beta(0.5, 2.0, 300)
        user = np.repeat(np.arange(300), visits)
        reward = (random.random(len(user)) < rate[user]).astype(float)
        truth = float(np.repeat(0.2, 300) @ visits / visits.sum())
        low, high = by_user(user, reward, seed).rate("", 1.0).interval(0.9)
        missed += [low > truth, high < truth]
        terms = intervals.drawn(reward, np.ones(len(user), np.int64), 1.0, random)
        low, high = intervals.interval(intervals.betting, terms, 0.9)
        naive += [low > truth, high < truth]
    assert (missed <= 20).all() and naive.sum() > 100


def test_the_mean_weight_is_judged_by_users():
    """Each user keeps seeing one ad: by visits the mean weight is often far from 1."""
    alarms, naive = 0, 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        visits = random.integers(1, 200, 60)
        user = np.repeat(np.arange(60), visits)
        weight = 2.0 * np.repeat(random.random(60) < 0.5, visits)
        alarms += not by_user(user, 0 * weight, p=weight).may_be_one("p")
        naive += abs(weight.mean() - 1) > 3.3 * weight.std() / np.sqrt(len(weight))
    assert alarms <= 2 and naive > 30
    assert not by_user(user, 0 * weight, p=weight + 0.9).may_be_one("p")


@pytest.mark.parametrize("users", [3, 5, 40])
def test_with_one_visit_of_each_user_the_mean_weight_is_judged_by_students_t_test(users):
    answers = []
    for seed in range(300):
        random = np.random.default_rng(seed)
        weight = random.uniform(0.5, 1.5) + random.exponential(0.1, users)
        answers.append(by_user(np.arange(users), 0 * weight, p=weight).may_be_one("p"))
        assert answers[-1] == (stats.ttest_1samp(weight, 1).pvalue >= 0.001)
    assert 10 < sum(answers) < 290


def test_a_design_effect_is_that_of_copies():
    random = np.random.default_rng(2)
    reward = (random.random(3000) < 0.2).astype(float)
    assert users_of(np.arange(3000), reward).design("", 3000, reward.sum()) == pytest.approx(1)
    tenfold = users_of(np.repeat(np.arange(3000), 10), np.repeat(reward, 10))
    assert tenfold.design("", 30_000, 10 * reward.sum()) == pytest.approx(10)
    assert clusters.Users().design("", 5, 3.0) == 1


def test_rates_do_not_drift_since_users_come_one_after_the_other():
    """Each user's visits are together: with visits as independent 1 % would be far exceeded."""
    found, naive = 0, 0
    for seed in range(60):
        rows = log(seed, 300, 40).sort_values("who")
        drifts = (
            summing.summary(sa.Log.from_frame(rows, roles)).all().drift("").significant
            for roles in ({"user": "who"}, {})
        )
        found, naive = found + next(drifts), naive + next(drifts)
    assert found <= 4 and naive > 30


def test_the_drift_of_the_policy_that_a_log_shows_is_that_of_its_rewards():
    """Of all ads alike, whose terms are sums in units of 1 / their number."""
    made = log(0, 300, 10)
    tally = summing.summary(sa.Log.from_frame(made, {"user": "who"})).all()
    assert (
        tally.uniform_divisor == 3 and tally.users.design("", len(made), made["reward"].sum()) > 1.5
    )
    assert tally.drift("uniform").p == pytest.approx(tally.drift("").p)


def test_too_large_weights_are_refused():
    with pytest.raises(SettingError, match="too much for sums by user"):
        by_user(np.zeros(10), np.ones(10), p=np.full(10, 1e9))


# --- the whole
def log(seed=0, users=400, most=12) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), random.integers(1, most + 1, users))
    rate = random.beta(0.6, 2.0, users)[who]
    kind, shown = random.integers(0, 3, (2, len(who)))
    reward = random.random(len(who)) < rate * np.where(kind == shown, 1.3, 0.7)
    made = {"action": np.array(list("abc"))[shown], "propensity": 1 / 3}
    made |= {"kind": np.array(list("xyz"))[kind], "reward": reward.astype(int)}
    made |= {"policy:mine": 1.0 * (kind == shown), "who": [f"u{number}" for number in who]}
    return pd.DataFrame(made).sample(frac=1, random_state=seed)


def test_every_number_is_by_user_where_users_are_known():
    rows = log()
    users, alone = sa.Log.from_frame(rows, {"user": "who"}), sa.Log.from_frame(rows, ignore=["who"])
    assert users.check()["users"] == (400, 12) and alone.check()["users"] is None
    assert "users: 400, with up to 12 visits each" in str(users.check())
    plain, found = (sa.evaluate(["mine", "ad:a"], of) for of in (alone, users))
    assert [row["bound"] for row in found.rows] == ["betting, by user"] * 3
    assert not any("by user" in row["bound"] for row in plain.rows)
    assert "of 400 users, who made up to 12 visits each" in found.about[-1]
    weight = 3 * rows["policy:mine"]
    terms = pd.DataFrame({"gain": weight * rows["reward"], "excess": weight - 1, "stake": 1})
    today, _, of_ad = (row["estimate"] for row in plain.rows)
    estimates = [today, regressed(**terms.groupby(rows["who"]).sum()), of_ad]
    for row, other, estimate in zip(found.rows, plain.rows, estimates, strict=True):
        assert row["estimate"] == pytest.approx(estimate)
        assert row["low"] < other["low"] < other["high"] < row["high"]
        assert row["lower"] < other["lower"]
    for row, other in zip(found.rows[1:], plain.rows[1:], strict=True):
        assert row["lift_low"] < other["lift_low"] and row["lift_high"] > other["lift_high"]
        assert row["lift"] == pytest.approx(row["estimate"] / today - 1)
    for pair, (first, second) in zip(found.comparisons, combinations(estimates, 2), strict=True):
        assert pair["difference"] == pytest.approx(first - second)
        assert pair["low"] < pair["difference"] < pair["high"]
    assert found.choice["lower"] < plain.choice["lower"]


def test_without_a_range_and_beside_a_training_log():
    test = sa.Log.from_frame(log(), {"user": "who"})
    train = sa.Log.from_frame(log(1), {"user": "who"}, ignore=["policy:mine"])
    found = sa.evaluate(["mine"], test, train=train)
    assert {row["bound"] for row in found.rows} == {"betting, by user"}
    assert all("of 400 users, who made up to 12 visits each" in said for said in found.about)
    assert any("100 % of its users are in data frame, too" in note for note in found.notes)
    assert "users in random order" in str(found)
    row = rows_of(sa.evaluate(["mine"], test, least_propensity="unknown"))["mine"]
    assert row["lower"] <= rows_of(found)["mine"]["estimate"] <= row["high"]


def test_parts_and_batches_give_the_same_report(tmp_path):
    rows = log()
    whole = sa.Log.from_frame(rows, {"user": "who"})
    parted = sa.Log.read(written(tmp_path / "log", rows), {"user": "who"})
    assert told(sa.evaluate(["mine"], parted)) == told(sa.evaluate(["mine"], whole))
    small = summing.summary(whole, rows=97).all().users.settle()
    large = summing.summary(parted).all().users.settle()
    np.testing.assert_array_equal(small.key, large.key)
    assert small.sums.keys() == large.sums.keys()
    for name, sums in small.sums.items():
        np.testing.assert_array_equal(sums, large.sums[name])


def test_a_test_in_which_each_user_keeps_one_ad_is_judged_by_users():
    """As A/B tests by user are: by visits propensities look wrong, and arms no samples."""
    random = np.random.default_rng(0)
    visits = random.integers(1, 30, 3000)
    who, kept = np.repeat(np.arange(3000), visits), np.repeat(random.integers(0, 2, 3000), visits)
    rate = random.beta(0.5, 4.0, 3000)[who] * np.where(kept == 1, 1.0, 0.6)
    rows = {"action": np.array(list("ab"))[kept], "who": who, "x": who % 7}
    rows = pd.DataFrame(rows | {"reward": (random.random(len(who)) < rate) * 1, "propensity": 0.5})
    found = sa.evaluate(["each-ad"], sa.Log.from_frame(rows, {"user": "who"}), baseline="logging")
    assert not any("propensit" in note or "mean weight" in note for note in found.notes)
    for row, ad in zip(found.rows[1:], "ab", strict=True):
        assert row["bound"] == "betting, by user"
        assert row["estimate"] == pytest.approx(rows["reward"][rows["action"] == ad].mean())
        assert row["low"] < {"a": 0.6 / 9, "b": 1 / 9}[ad] < row["high"]
    assert found.rows[2]["lift_low"] > 0 > found.rows[1]["lift_high"]
    pairs = {(pair["policy"], pair["other"]): pair for pair in found.comparisons}
    pair, (_, a, b) = pairs["ad:a", "ad:b"], found.rows
    assert pair["difference"] == pytest.approx(a["estimate"] - b["estimate"])
    assert pair["low"] < -0.4 / 9 < pair["high"] < 0 and pair["better"] == "ad:b"
