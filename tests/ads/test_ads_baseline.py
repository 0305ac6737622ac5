"""A/B tests: what arms are compared with, a stated split, and samples as large as it says."""

import itertools

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads, problems, rows_of
from scipy import stats
from test_ads_arms import ab, bounds_of
from test_ads_parts import written

import scant_ads as sa
from scant.errors import DataError, SettingError
from scant_ads.diagnosis import showings
from scant_ads.diagnosis.showings import Showings
from scant_ads.evaluation import arms
from scant_ads.evaluation.arms import Always, Difference, Ratio


# --- the ratio of two rates
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_ratio_leaves_out_one_where_a_difference_leaves_out_zero(level):
    found = set()
    for clicks in itertools.product(range(0, 41, 4), range(0, 31, 3)):
        both = (bounds_of(kind, clicks, (40, 30), level) for kind in (Difference, Ratio))
        (low, high), ends = both
        assert ends[0] <= (clicks[0] / 40) / (clicks[1] / 30 or np.nan) <= ends[1] or not clicks[1]
        found.add(answer := (low > 0) - (high < 0))
        assert answer == (ends[0] > 1) - (ends[1] < 1)
    assert found == {-1, 0, 1}


def test_a_ratio_s_end_is_where_the_score_test_stops_refuting():
    """With the likeliest rates for a given ratio, by a search, and their variance."""
    end = Ratio((7, 30), (40, 90)).lower(0.95)
    second = np.linspace(0, min(1, 1 / end), 2_000_001)[1:-1]
    first = end * second
    likely = (
        7 * np.log(first) + 33 * np.log1p(-first) + 30 * np.log(second) + 60 * np.log1p(-second)
    )
    first, second = first[likely.argmax()], second[likely.argmax()]
    variance = (first * (1 - first) / 40 + end**2 * second * (1 - second) / 90) * 130 / 129
    beyond = 7 / 40 - end * 30 / 90 - (1 / 40 + end / 90) / 2
    assert beyond / np.sqrt(variance) == pytest.approx(stats.norm.ppf(0.95), abs=1e-4)


# --- what arms are compared with
def named(made: pd.DataFrame) -> pd.DataFrame:
    return made.replace({"action": {"A": "Control", "B": "treatment", "C": "third"}})


def test_an_arm_that_is_called_control_is_the_baseline():
    made = named(ab(12_000))
    found = sa.evaluate("each-ad", sa.Log.from_frame(made))
    rows, of_arm = rows_of(found), made.groupby("action")["reward"]
    row, rates = rows["ad:treatment"], of_arm.mean()
    assert found.baseline == "ad:Control"
    assert row["lift"] == pytest.approx(rates["treatment"] / rates["Control"] - 1)
    counts = ([int(of["treatment"]), int(of["Control"])] for of in (of_arm.sum(), of_arm.count()))
    ends = [end - 1 for end in bounds_of(Ratio, *counts)]
    assert [row["lift_low"], row["lift_high"]] == pytest.approx(ends)
    assert row["verdict"] == "yes" and not rows["ad:Control"]["verdict"]
    assert not rows["logging"]["verdict"]
    assert (found.choice["policy"], found.choice["of"]) == ("ad:treatment", 1)
    assert found.choice["lift_lower"] == row["lift_low"]
    said = found.text().lower()
    assert "better than ad:control" in said and "better than today" not in said
    (pair,) = found.comparisons
    assert (pair["policy"], pair["other"]) == ("ad:Control", "ad:treatment")


@pytest.mark.parametrize(
    ("baseline", "other"), [("treatment", "Control"), ("ad:Control", "treatment")]
)
def test_another_baseline_may_be_named(baseline, other, tmp_path, capsys):
    path, report = tmp_path / "ab.csv", tmp_path / "report.html"
    named(ab(12_000)).to_csv(path, index=False)
    assert ads(f"evaluate {path} --baseline {baseline} --report {report}") == 0
    name, printed = f"ad:{baseline.removeprefix('ad:')}", capsys.readouterr().out
    assert f"Better than {name}, the baseline?" in printed and f"\nad:{other} is " in printed
    assert f"Better than {name}?" in report.read_text() and f">CTR of {name}<" in report.read_text()
    found = sa.evaluate([f"ad:{other}"], sa.Log.read(path), baseline=baseline)
    assert f"\n{found.decision()}" in printed


def test_today_s_policy_may_be_the_baseline_and_is_without_a_control():
    made = ab(6000)
    first = made.replace({"action": {"A": "first", "B": "second"}})
    plain = sa.evaluate("each-ad", sa.Log.from_frame(first))
    assert any("one of them, as --baseline first" in note for note in plain.notes)
    control = sa.Log.from_frame(named(made))
    asked = sa.evaluate("each-ad", control, baseline="logging")
    assert plain.baseline == asked.baseline == "logging"
    tables = [found.to_frame().drop(columns="policy") for found in (plain, asked)]
    assert tables[0].equals(tables[1])
    with pytest.raises(SettingError, match="unknown ad 'contrl': did you mean 'Control'"):
        sa.evaluate("each-ad", control, baseline="contrl")
    two = sa.Log.from_frame(made.replace({"action": {"A": "control", "B": "Ctrl"}}))
    assert sa.evaluate("each-ad", two).baseline == "logging"


@pytest.mark.parametrize(
    ("arms", "baseline"),
    [
        (("B", "A"), "ad:A"),
        (("variant_b", "variant_a"), "ad:variant_a"),
        (("Group A", "Group B"), "ad:Group A"),
        (("a", "A"), "logging"),
        (("A", "C"), "logging"),
        (("beta", "alpha"), "logging"),
        (("A", "control"), "ad:control"),
    ],
)
def test_of_arms_a_and_b_the_first_is_the_baseline(arms, baseline):
    log = sa.Log.from_frame(ab(3000).replace({"action": dict(zip("AB", arms, strict=True))}))
    found = sa.evaluate("each-ad", log)
    assert found.baseline == baseline
    assert any("--baseline NAME" in note for note in found.notes) == (baseline == "logging")
    third = ab(3000)
    third = sa.Log.from_frame(third.assign(action=third["action"].where(third["reward"] == 0, "C")))
    assert sa.evaluate("each-ad", third, least_propensity="unknown").baseline == "logging"


def test_the_control_is_the_only_arm_that_is_called_so():
    def control(*ads):
        return arms.control({f"ad:{ad}": Always(ad) for ad in ads})

    assert control("new", " Control ") == "ad: Control "
    assert control("control", "Ctrl", "new") is None
    assert control("control") is None and control("old", "new") is None
    assert arms.control({"ad:control": Always("control"), "mine": "mine"}) is None


# --- a split that is stated
@pytest.mark.parametrize(
    ("shares", "split"),
    [
        ((0.5, 0.5), 0.5),
        ((0.5, 0.5), {"Control": 0.5, "treatment": 0.5}),
        ((0.9, 0.1), {"treatment": 0.1, "Control": 0.9}),
        ((1 / 3,) * 3, {"Control": 0.33, "treatment": 0.33, "third": 0.33}),
    ],
)
def test_a_split_that_is_stated_is_a_column_of_propensities(shares, split):
    made = named(ab(6000, shares, (0.1, 0.14, 0.1)))
    stated = sa.Log.from_frame(made.drop(columns="propensity"), propensity=split)
    column = sa.Log.from_frame(made)
    assert stated.visits.propensity == pytest.approx(column.visits.propensity, abs=1e-12)
    tables = [sa.evaluate("each-ad", log).to_frame() for log in (stated, column)]
    pd.testing.assert_frame_equal(*tables)


def test_a_split_is_stated_of_a_folder_too(tmp_path):
    made = named(ab(6000)).drop(columns="propensity")
    whole = sa.Log.from_frame(made, propensity=0.5)
    parts = sa.Log.read(written(tmp_path / "log", made), propensity=0.5)
    assert sa.evaluate("each-ad", parts).rows == sa.evaluate("each-ad", whole).rows


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (0.0, "above 0 and at most 1"),
        ("0.5", "above 0 and at most 1"),
        ({"Control": 0.5}, "sum to 0.5, not to 1"),
        ({"Control": 0.5, "treatmnt": 0.5}, "no share for ad 'treatment'; it has 'Control'"),
        (0.6, "propensity=0.6 for each of 2 ads is 1.2 in all"),
    ],
)
def test_a_split_that_cannot_be_is_refused(split, message):
    made = named(ab(60)).drop(columns="propensity")
    with pytest.raises((SettingError, DataError), match=message):
        sa.Log.from_frame(made, propensity=split).visits  # noqa: B018


def test_propensities_are_not_stated_twice_and_their_lack_is_mended():
    made = named(ab(60))
    with pytest.raises(SettingError, match="has a column 'propensity'"):
        sa.Log.from_frame(made, propensity=0.5)
    assert len(sa.Log.from_frame(made, ignore=["propensity"], propensity=0.5)) == 60
    mends = [one["mend"] for one in problems(made.drop(columns="propensity")).values()]
    assert any("--propensity 0.5, or control=0.5,treatment=0.5" in mend for mend in mends)


# --- looking again
def test_answers_hold_for_all_planned_looks_together():
    log = sa.Log.from_frame(named(ab(6000)))
    found = sa.evaluate("each-ad", log, looks=14)
    strict = sa.evaluate("each-ad", log, level=1 - 0.05 / 14)
    assert found.rows == strict.rows and found.choice == strict.choice
    assert "For 14 looks at this test" in found.notes[0] and "99.64 %" in found.notes[0]
    with pytest.raises(SettingError, match="is 0; it is how often"):
        sa.evaluate("each-ad", log, looks=0)


# --- the sample ratio
def counted(shown: dict[str, int], shares: dict[str, float]) -> Showings:
    """The sums of a log with so many rows of each ad, and the ad's propensity."""
    ads = {ad: np.array([[count], [0], [0]]) for ad, count in shown.items()}
    ranges = {ad: (shares[ad],) * 2 for ad in shown}
    return Showings(rows=np.array([sum(shown.values())]), ads=ads, range=ranges)


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("rows", [30, 400])
def test_a_sample_ratio_is_wrong_as_exactly_as_the_binomial_test_says(rows, share):
    """At most one in a thousand samples of a right log is accused."""
    shares, k = {"a": share, "b": 1 - share}, np.arange(rows + 1)
    found = [showings.mismatch(counted({"a": of_a, "b": rows - of_a}, shares)) for of_a in k]
    accused, of = [problem is not None for problem in found], stats.binom(rows, share)
    assert accused == list(2 * np.minimum(of.cdf(k), of.sf(k - 1)) < showings.MISMATCH)
    assert 0 < of.pmf(k)[accused].sum() <= showings.MISMATCH


def test_the_sample_ratios_of_several_ads_share_the_error():
    """Each is tested at a thousandth over the number of ads; two ads have one test."""
    shares = {"a": 0.5, "b": 0.25, "c": 0.25}
    accused, of = [], stats.binom(400, 0.25)
    for count in range(200):
        both_tails = 2 * min(of.cdf(count), of.sf(count - 1))
        others = {"a": 200, "b": count, "c": 200 - count}
        # b is the least likely, or c as much
        if 2 * of.cdf(min(count, 200 - count)) >= both_tails:
            found = showings.mismatch(counted(others, shares))
            assert (found is not None) == (3 * both_tails < showings.MISMATCH)
            accused.append((found is not None, both_tails < showings.MISMATCH))
    assert {(False, True), (True, True), (False, False)} == {*accused}


def test_a_wrong_sample_ratio_leaves_no_answer_unless_users_explain_it():
    made = named(ab(20_000))
    lost = np.flatnonzero(made["action"] == "treatment")[:640]
    made = made.drop(index=lost).sample(frac=1, random_state=0, ignore_index=True)
    log = sa.Log.from_frame(made)
    found = sa.evaluate("each-ad", log)
    assert {row["verdict"] for row in found.rows} == {"", "none"} and found.choice is None
    assert "sample ratio mismatch" in found.about[0] and found.about[0].startswith("No verdict")
    users = sa.Log.from_frame(made.assign(visitor=made.index // 2), {"user": "visitor"})
    for of, accused in ((log, True), (users, False)):
        reasons = [problem["reason"] for problem in problems(of).values()]
        assert any("sample ratio mismatch" in reason for reason in reasons) == accused
