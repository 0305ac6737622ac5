"""One ad for everyone: A/B tests have exact bounds, and differences that keep their coverage."""

import itertools

import numpy as np
import pandas as pd
import pytest
from ads_logs import rows_of
from regressed import regressed
from scipy import stats

import scant_ads as sa
from scant.errors import DataError, SettingError
from scant_ads.evaluation import arms
from scant_ads.evaluation.arms import Difference, Ratio


def ab(rows=4000, shares=(0.5, 0.5), rates=(0.1, 0.14), seed=0) -> pd.DataFrame:
    """An A/B test without features."""
    random = np.random.default_rng(seed)
    arm = random.choice(len(shares), rows, p=np.array(shares) / sum(shares))
    clicked = random.random(rows) < np.array(rates)[arm]
    columns = {"action": np.array(list("ABC"))[arm], "reward": clicked * 1.0}
    columns |= {"propensity": np.array(shares)[arm]}
    return pd.DataFrame(columns)


# --- differences of two rates
def bounds_of(kind, clicks, rows, level=0.95):
    of_both = kind(clicks, rows)
    return of_both.lower((1 + level) / 2), of_both.upper((1 + level) / 2)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (12, 7), (40, 20)])
@pytest.mark.parametrize(("kind", "truth"), [(Difference, np.subtract), (Ratio, np.divide)])
def test_intervals_of_differences_and_ratios_keep_their_coverage_in_small_samples(
    n, m, kind, truth
):
    """Of all samples, by how likely they are under many pairs of rates."""
    ends = [[bounds_of(kind, (x, y), (n, m)) for y in range(m + 1)] for x in range(n + 1)]
    low, high = np.moveaxis(ends, 2, 0)
    rates = np.r_[0.001, 0.01, np.arange(0.05, 1, 0.1), 0.99]
    for first, second in itertools.product(rates, rates):
        counts = stats.binom(n, first).pmf(range(n + 1)), stats.binom(m, second).pmf(range(m + 1))
        true = truth(first, second)
        held = (low <= true + 1e-9) & (high >= true - 1e-9)
        assert np.outer(*counts)[held].sum() >= 0.95


def test_its_ends_are_where_the_score_test_stops_refuting():
    """With the likeliest rates for a given difference, by a search, and their variance."""
    difference = Difference((7, 30), (40, 90))

    def likeliest(gap):
        second = np.linspace(max(0, -gap), min(1, 1 - gap), 2_000_001)[1:-1]
        first = second + gap
        likely = (
            7 * np.log(first) + 33 * np.log1p(-first) + 30 * np.log(second) + 60 * np.log1p(-second)
        )
        return first[likely.argmax()], second[likely.argmax()]

    for gap in (-0.4, -0.2, 0.0, 0.1):
        assert difference._rates(gap) == pytest.approx(likeliest(gap), abs=1e-5)
    for end in bounds_of(Difference, (7, 30), (40, 90), 0.9):
        first, second = likeliest(end)
        variance = (first * (1 - first) / 40 + second * (1 - second) / 90) * 130 / 129
        beyond = abs(7 / 40 - 30 / 90 - end) - (1 / 40 + 1 / 90) / 2
        assert beyond / np.sqrt(variance) == pytest.approx(stats.norm.ppf(0.95), abs=1e-4)
    swapped = [-end for end in bounds_of(Difference, (30, 7), (90, 40), 0.9)[::-1]]
    assert bounds_of(Difference, (7, 30), (40, 90), 0.9) == pytest.approx(swapped, abs=1e-12)


# --- evaluations
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1)])
def test_arms_have_clopper_pearsons_bounds_of_their_own_rows(shares):
    made = ab(12_000, shares)
    found = sa.evaluate("each-ad", sa.Log.from_frame(made))
    for arm in "AB":
        clicks = made["reward"][made["action"] == arm]
        row = rows_of(found)[f"ad:{arm}"]
        exact = stats.binomtest(int(clicks.sum()), len(clicks)).proportion_ci(0.95)
        assert (row["estimate"], row["bound"]) == (pytest.approx(clicks.mean()), "clopper-pearson")
        assert (row["low"], row["high"]) == pytest.approx((exact.low, exact.high))
        assert row["rows"] == len(clicks)
    pairs = {(pair["policy"], pair["other"]): pair for pair in found.comparisons}
    pair, by_arm = pairs["ad:A", "ad:B"], made.groupby("action")["reward"]
    expected = bounds_of(Difference, [*by_arm.sum().astype(int)], [*by_arm.count()])
    assert (pair["low"], pair["high"]) == pytest.approx(expected) and pair["better"] == "ad:B"
    assert found.choice["policy"] == "ad:B" and "ad:B" in found.decision()


def test_an_ad_that_some_visits_cannot_get_is_not_judged_by_its_own_rows():
    """Its propensity is 0.5 where it can be shown, and these visits click more."""
    random = np.random.default_rng(3)
    able = random.random(6000) < 0.5
    shown = able & (random.random(6000) < 0.5)
    columns = {"action": np.where(shown, "B", "A"), "propensity": np.where(able, 0.5, 1.0)}
    columns |= {"reward": (random.random(6000) < np.where(able, 0.3, 0.05)) * 1.0}
    made = pd.DataFrame(columns)
    found = sa.evaluate(["ad:B"], sa.Log.from_frame(made), least_propensity=0.5)
    row = rows_of(found)["ad:B"]
    assert row["rows"] == 6000 and row["verdict"] == "none" and "mean-weight" in row["warnings"]
    # of the others nothing is known
    assert np.isnan(row["estimate"]) and np.isnan(row["high"]) and row["lower"] < 0.3
    assert any("sample ratio mismatch" in note for note in found.notes)


@pytest.mark.parametrize(("rows", "propensity"), [(12, 0.5), (60, 0.9), (400, 0.02)])
def test_rows_of_an_ad_are_too_few_or_too_many_as_the_binomial_test_says(rows, propensity):
    """Of all numbers of rows: either is said of a right log with a chance of 0.05 % at most."""
    for of_ad in range(1, rows + 1):
        of = stats.binom(rows, propensity)
        few, many = of.cdf(of_ad), of.sf(of_ad - 1)
        count = np.array([of_ad, rows - of_ad])[: 1 + (of_ad < rows)]
        as_many = arms.as_many(np.array([1 / propensity, 0.0])[: len(count)], count)
        assert as_many == (min(few, many) > 0.0005), of_ad


def test_an_ad_whose_propensities_differ_is_not_judged_by_its_own_rows():
    """Though as many as its propensities say, visits that get an ad more often are more of them."""
    random = np.random.default_rng(4)
    often = random.random(3000) < 0.5
    chance = np.where(often, 0.51, 0.49)
    shown = random.random(3000) < chance
    made = pd.DataFrame(
        {
            "action": np.where(shown, "B", "A"),
            "propensity": np.where(shown, chance, 1 - chance),
            "reward": (random.random(3000) < np.where(often, 0.4, 0.1)) * 1.0,
        }
    )
    found = sa.evaluate(["ad:B"], sa.Log.from_frame(made), least_propensity=0.49)
    row = rows_of(found)["ad:B"]
    assert row["rows"] == 3000 and row["bound"] == "betting"
    weight = shown / chance
    assert row["estimate"] == pytest.approx(regressed(made["reward"] * weight, weight - 1))
    assert not any("sample ratio mismatch" in note for note in found.notes)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("clicked", [0, 1])
def test_an_ad_that_a_single_row_shows_is_no_sample(clicked):
    made = ab(1000, (0.4995, 0.4995))
    made.loc[500] = ["C", clicked, 0.001]
    found = sa.evaluate(["each-ad"], sa.Log.from_frame(made))
    rows = rows_of(found)
    assert (rows["ad:C"]["rows"], rows["ad:C"]["verdict"]) == (1, "none")
    assert rows["ad:A"]["verdict"] != "none"
    assert "ad:C: the weights leave an effective sample of 1.0 rows" in found.text()


def test_rewards_between_0_and_1_are_bounded_by_betting_on_the_own_rows():
    made = ab()
    made["reward"] = np.random.default_rng(1).beta(1, 9, len(made))
    row = rows_of(sa.evaluate(["ad:B"], sa.Log.from_frame(made)))["ad:B"]
    own = made["reward"][made["action"] == "B"]
    assert (row["bound"], row["declared_weight"]) == ("betting", 1)
    assert row["estimate"] == pytest.approx(own.mean())
    assert row["low"] < own.mean() < row["high"] and row["high"] - row["low"] < 0.02


def test_what_cannot_be_shown_is_refused():
    log = sa.Log.from_frame(ab())
    with pytest.raises(SettingError, match="unknown ad 'C'"):
        sa.evaluate(["ad:C"], log)
    with pytest.raises(DataError, match="it has no features, so that nothing can be learnt"):
        sa.fit(log, "logistic")
    many = ab(2000).assign(action=[f"{number % 30}" for number in range(2000)], propensity=1 / 30)
    with pytest.raises(SettingError, match="there are 30 ads, and 20 can be compared at once"):
        sa.evaluate(["each-ad"], sa.Log.from_frame(many))


def test_names_of_ads_do_not_meet_columns():
    # a column of this name is meant: a policy that is today's
    made = ab().assign(**{"policy:ad:A": 0.5})
    row = sa.evaluate(["ad:A"], sa.Log.from_frame(made)).rows[-1]
    assert row["rows"] == len(made) and row["estimate"] == pytest.approx(made["reward"].mean())
    both, mine = [("ad:A", "ad:A"), ("ad:B", "ad:B")], ("mine", 3)
    assert arms.with_each([("each", "each-ad"), mine], "AB") == [*both, mine]
