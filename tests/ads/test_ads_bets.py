"""Bets on rewards less what earlier rows tell: shifts change nothing, intervals hold."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ads_arms import ab

import scant_ads as sa
from scant.errors import DataError, SettingError
from scant_ads.evaluation import clusters, covariates, lifts, quotients
from scant_ads.evaluation.arms import Ratio
from scant_ads.reading import tally

KINDS = "clicks", "minutes", "revenue", "refunds"


def minutes(rows=2000, seed=0, gain=3.0) -> pd.DataFrame:
    """Minutes that two arms are watched: about 30, and a standard deviation of 5."""
    random = np.random.default_rng(seed)
    new = random.random(rows) < 0.5
    watched = np.clip(random.normal(30 + gain * new, 5), 0, 60).round(1)
    return pd.DataFrame(
        {"action": np.where(new, "new", "control"), "reward": watched, "propensity": 0.5}
    )


def judged(made, least, largest, **more) -> dict:
    log = sa.Log.from_frame(made, reward_min=least, reward_max=largest)
    return sa.evaluate("each-ad", log, baseline="ad:control", **more).rows[-1]


def test_a_shift_of_rewards_and_of_their_range_shifts_intervals_and_keeps_answers():
    made = minutes()
    first, second = (
        judged(made.assign(reward=made["reward"] + by), by, 60 + by) for by in (-1.0, -11.0)
    )
    for key in ("estimate", "low", "high"):
        assert second[key] == pytest.approx(first[key] - 10)
    for key in ("lift", "lift_low", "lift_high"):
        assert second[key] == pytest.approx(first[key])
    # of a ratio, and of a difference
    assert judged(made, 0, 60)["verdict"] == first["verdict"] == "yes"


@settings(max_examples=20, deadline=None)
@given(shift=st.floats(0.0, 0.5), seed=st.integers(0, 10**6))
def test_bets_are_the_same_where_all_rewards_are_moved_once_a_constant_is_known(shift, seed):
    """The estimate moves by the shift exactly; the difference of two policies stays."""
    random = np.random.default_rng(seed)
    weight, reward = random.choice([0.5, 3.0], 500, p=[0.8, 0.2]), random.random(500) / 2
    ones, found = np.ones(500), []
    for by in (0.0, shift):
        both = tally.Both(weight, ones, reward + by, ones.astype(int), 500, fixed=True)
        for kind in (quotients.rate, quotients.difference):
            of = lifts.of_rows(kind, both, (3.0, 1.0), np.random.default_rng(0))
            found.append(of.estimate)
    assert found[2:] == pytest.approx([found[0] + shift, found[1]])


def test_minutes_are_bounded_within_twice_the_width_of_the_delta_method():
    made = minutes()
    row = judged(made, -1, 60)
    arms = [made["reward"][made["action"] == arm] for arm in ("new", "control")]
    width = 2 * 1.96 * np.sqrt(sum(arm.var() / len(arm) for arm in arms))
    assert row["lift_high"] - row["lift_low"] < 2 * width and row["lift_low"] < 3 < row["lift_high"]
    assert row["high"] - row["low"] < 2 * 2 * 1.96 * arms[0].std() / np.sqrt(len(arms[0]))
    ratio = judged(made, 0, 60)  # of two means, of which the second is 30
    assert ratio["lift_high"] - ratio["lift_low"] < 2 * width / 30


def drawn(kind: str, rows: int, random) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """Whether the new arm was shown, rewards from 0 to 1, and the two means."""
    new = random.random(rows) < 0.5
    if kind == "clicks":
        return new, (random.random(rows) < np.where(new, 0.12, 0.1)) * 1.0, (0.12, 0.1)
    if kind == "minutes":
        return new, np.clip(random.normal(0.5 + 0.05 * new, 0.08), 0, 1), (0.55, 0.5)
    paid = random.random(rows) < np.where(new, 0.3, 0.2)
    amount = paid * random.choice([0.02, 0.1, 1.0], rows, p=[0.8, 0.18, 0.02])
    means = np.array([0.3, 0.2]) * (0.8 * 0.02 + 0.18 * 0.1 + 0.02)
    return (new, amount, tuple(means)) if kind == "revenue" else (new, 1 - amount, tuple(1 - means))


def small(seed: int) -> list[quotients.Quotient]:
    """The quotients of a log of 3 to 300 rows: clicks, minutes, revenue or refunds; users of 4."""
    random = np.random.default_rng(seed)
    rows, kind = int(random.choice([3, 20, 100, 300])), random.choice(KINDS)
    new, reward, _ = drawn(kind, rows, random)
    users = clusters.Users()
    weights = {"": np.ones(rows), "p": 2.0 * new, "q": 2.0 * ~new}
    users.add(np.arange(rows).astype(np.uint64) // 4, weights, reward)
    of_users = clusters.ByUser(users, 2, np.random.default_rng(seed))
    two = tally.Both(2.0 * new, 2.0 * ~new, reward, np.ones(rows, np.int64), rows)
    alone = two._replace(second=np.ones(rows), fixed=True)
    made = [
        lifts.of_rows(kind, both, (2.0, largest), np.random.default_rng(seed))
        for both, largest in ((two, 2.0), (alone, 1.0))
        for kind in (quotients.rate, quotients.difference, quotients.ratio)
    ]
    pair = (("p", "q"), (2.0, 2.0))
    made += [of_users.rate("p", 2.0), of_users.difference(*pair), of_users.lift(*pair)]
    return [quotient for quotient in made if quotient and np.isfinite(quotient.estimate)]


def of_stages(gain, count) -> quotients.Quotient:
    """The quotient of gains from 0 to 1 with stakes of 1; each stage has one kind of unit."""
    terms = np.stack([gain, np.ones(len(gain)), np.zeros(len(gain))])
    corners = np.array([(0.0, 1.0), (1.0, 1.0), (0.0, 0.0)])
    marks, count = quotients.marks_between(0.0, 1.0), np.array(count)
    return quotients.Quotient(terms, np.arange(len(gain)), count, count, corners, marks)


@pytest.mark.parametrize("sign", [1, -1])
def test_bets_of_a_stage_do_not_depend_on_it(sign):
    """The capital is affine in what its last visit gains, and rises: it is largest at its end."""
    capital = []
    for last in (0.2, 0.3, 0.4):
        quotient = of_stages(0.45 + sign * np.array([-0.3, -0.04, 0.34, last]), [50, 50, 50, 1])
        capital.append(np.exp(quotient.evidence(0.8, sign)(0.45)))
    assert capital[1] == pytest.approx((capital[0] + capital[2]) / 2, rel=1e-12)
    assert capital[0] < capital[1]


def check_evidence_falls(quotient: quotients.Quotient, level: float) -> None:
    """In every cell it falls away from the end, and a bound is the first that is not refuted."""
    for sign, bound in ((1, quotient.lower(level)), (-1, quotient.upper(level))):
        evidence = quotient.evidence(level, sign)
        for low, high in pairwise(quotient.marks):
            cell = low + (high - low) * np.array([0.0, 1e-6, 0.3, 0.7, 1 - 1e-6, 1.0])
            values = np.array([evidence(m) for m in (cell[1:] if sign > 0 else cell[:-1])])
            assert (sign * np.diff(values) < 1e-9).all() and not np.isnan(values).any()
        outside = quotient.marks[sign * (quotient.marks - bound) < 0]
        assert all(evidence(m) >= 0 for m in outside)
        if bound != quotient.estimate:
            assert evidence(bound + sign * 1e-5 * (1 + abs(bound))) < 0


def test_evidence_falls_between_marks_where_stages_differ():
    """Bets that follow each candidate make it rise first; those of the nearer mark lose it all."""
    check_evidence_falls(of_stages(np.array([0.19, 0.9]), [25, 30]), 0.8)
    check_evidence_falls(of_stages(np.array([1.0, 1.0, 1.0, 0.0]), [3, 3, 3, 1]), 0.8)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), level=st.sampled_from([0.8, 0.975, 0.9995]))
def test_evidence_falls_between_marks_and_a_bound_is_the_first_number_that_is_not_refuted(
    seed, level
):
    for quotient in small(seed):
        check_evidence_falls(quotient, level)


def test_a_log_grown_has_its_estimate_and_its_bounds_exclude_what_is_outside_of_them():
    for quotient in small(0) + small(1) + small(3):
        grown = quotient.grown(3)
        assert grown.estimate == pytest.approx(quotient.estimate, abs=1e-9)
        assert grown.units.sum() == 3 * quotient.units.sum()
        sums = grown.terms @ grown.count
        np.testing.assert_allclose(sums, 3 * quotient.terms @ quotient.count, atol=1e-9)
        moved = lifts.Moved(grown, -1, 0.25, 0.1)
        low, high = grown.lower(0.9), grown.upper(0.9)
        if grown.low < low < grown.estimate < high < grown.high:
            for bounds in (grown, moved):
                for above, end in ((True, bounds.lower(0.9)), (False, bounds.upper(0.9))):
                    values = end + np.array([-1e-5, 1e-5]) * (1 if above else -1)
                    assert [lifts.excludes(bounds, m, above, 0.9) for m in values] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "rows"), [*zip(KINDS, (1000, 200, 1000, 200), strict=True)])
def test_intervals_hold_as_often_as_they_say(kind, rows):
    """Of 200 logs each end may fail in 5; more than 12 have a chance of 0.2 %.

    An end fails where it excludes the truth, which one bet against the truth says, see above.
    """
    failed = np.zeros((3, 2), int)
    for seed in range(200):
        random = np.random.default_rng(seed)
        new, reward, means = drawn(kind, rows, random)
        two = tally.Both(2.0 * new, 2.0 * ~new, reward, np.ones(rows, np.int64), rows)
        alone = two._replace(second=np.ones(rows), fixed=True)
        of_all = ((quotients.rate, alone, 1.0, means[0]),)
        of_all += ((quotients.difference, two, 2.0, means[0] - means[1]),)
        of_all += ((quotients.ratio, two, 2.0, means[0] / means[1]),)
        for row, (of, both, largest, truth) in enumerate(of_all):
            bounds = lifts.of_rows(of, both, (2.0, largest), random)
            failed[row] += [lifts.excludes(bounds, truth, above, 0.975) for above in (True, False)]
    assert (failed <= 12).all(), failed


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_rows_that_are_needed_give_an_even_chance(share):
    """300 of 600 tests of so many rows say yes; under 252 or over 348 have a chance of 0.01 %."""
    rates, shares = np.array([0.12, 0.1]), np.array([1 - share, share])
    average = Ratio(tuple(1000 * shares * rates), tuple(1000 * shares))
    rows = round(1000 * lifts.needed(average, 1.0, True, 0.95))
    random = np.random.default_rng(0)
    shown = random.multinomial(rows, shares, 600)
    clicks = random.binomial(shown, rates)
    both = zip(clicks.tolist(), shown.tolist(), strict=True)
    assert 252 < sum(Ratio(*of).lower(0.975) > 1 for of in both) < 348


# --- a covariate
def revenue(rows=4000, seed=0) -> pd.DataFrame:
    """Revenue that a user's revenue before the test explains for the most part."""
    random = np.random.default_rng(seed)
    before, new = random.gamma(4, 5, rows), random.random(rows) < 0.5
    spent = np.clip(before * random.uniform(0.8, 1.2, rows) + 1.0 * new, 0, 100).round(2)
    made = {"action": np.where(new, "new", "control"), "reward": spent, "propensity": 0.5}
    return pd.DataFrame(made | {"before": before.round(2), "after": spent})


@pytest.mark.parametrize(("rows", "most"), [(4000, 2.0), (10_000, 1.75)])
def test_a_covariate_is_cuped_within_twice_the_width_of_its_t_interval(rows, most):
    made = revenue(rows)
    row, plain = (
        judged(made.drop(columns="after"), 0, 100, covariate=column) for column in ("before", None)
    )
    new, x, y = made["action"] == "new", made["before"], made["reward"]
    rest = y - np.cov(x, y)[0, 1] / x.var() * (x - x.mean())
    width = 2 * 1.96 * np.sqrt(rest[new].var() / new.sum() + rest[~new].var() / (~new).sum())
    assert row["lift_high"] - row["lift_low"] < most * width
    assert row["lift_low"] < 1 < row["lift_high"] and row["verdict"] == "yes"
    plainly = (plain["lift_high"] - plain["lift_low"]) * y[~new].mean()
    assert plainly > 2.5 * (row["lift_high"] - row["lift_low"])


def test_what_is_no_covariate_is_refused():
    made = revenue(2000)
    after = made.assign(after=made["after"] + 30 * (made["action"] == "new"))
    few = made.assign(before=made["before"].where(made["before"] > 5))
    for log, column, reason in (
        (after, "after", r"covariate after: its mean in visits that show \w+ differs"),
        (made, "befor", "unknown column for"),
        (few, "before", "it lacks numbers.*Fill gaps with one number, such as 0 or the mean"),
        (revenue(300), "before", "needs 100 rows"),
    ):
        with pytest.raises((DataError, SettingError), match=reason):
            judged(log, 0, 100, covariate=column)


def test_a_covariate_is_cut_at_the_range_of_the_first_rows_which_are_not_judged():
    made = revenue(1000).drop(columns="after")
    adjusted = []
    for outlier in (made["before"][:100].max(), 1e6):
        made.loc[999, "before"] = outlier
        log = sa.Log.from_frame(made, reward_max=100)
        adjusted.append(covariates.adjusted("before", log, None).log.visits.reward)
    assert len(adjusted[0]) == 900
    np.testing.assert_array_equal(*adjusted)


def test_a_covariate_that_tells_nothing_changes_little():
    made = ab(6000).assign(before=np.random.default_rng(1).random(6000))
    found = sa.evaluate("each-ad", sa.Log.from_frame(made), covariate="before", baseline="ad:A")
    assert any("explains 0 % of their variance" in note for note in found.notes)
    row = found.rows[-1]
    assert row["lift"] == pytest.approx(0.04, abs=0.02) and row["verdict"] == "yes"
