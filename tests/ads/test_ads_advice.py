"""Advice for practitioners: the evaluation's numbers, verdicts that follow, and doubts."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads, problems, rows_of
from regressed import regressed
from scipy import stats
from test_ads_health import as_log

from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError, SettingError
from scant_ads import Log as UserLog
from scant_ads import Policy, evaluate, text
from scant_ads.policies.learning import LEARNT
from scant_ads.reading import formats
from scant_ads.reading.visits import Visits

QUICK = {"steps": 2000, "lambdas": (0.01, 1.0)}


def advise(test, train=None, policies=(), declared=None, split=None, seed=0, **settings):
    """Policies on logs in files; `settings` are of learnt kinds, or of the evaluation."""
    test, train = (path and UserLog.read(path) for path in (test, train))
    of_all = {key: settings.pop(key) for key in ("level", "shared") if key in settings}
    if split:
        train, test = test.split(split[1], split[0], seed)
    policies = [
        Policy(name, seed=seed, **settings) if name in LEARNT else name for name in policies
    ]
    return evaluate(policies, test, train=train, least_propensity=declared, seed=seed, **of_all)


def log(rows=4000, seed=0, propensities=(0.25, 0.25, 0.25, 0.25), click=(0.05, 0.3)) -> Log:
    """Four ads, each for the users of two features' signs; the third feature is constant."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((rows, 3)).astype(np.float32)
    features[:, 2] = 1
    suits = 2 * (features[:, 0] > 0) + (features[:, 1] > 0)
    action = random.choice(4, rows, p=propensities).astype(np.int32)
    reward = (random.random(rows) < np.where(action == suits, click[1], click[0])).astype(float)
    return Log(
        features, action, reward, np.array(propensities)[action], tuple("abcd"), ("x", "y", "z")
    )


def write(path, made: Log, **policies):
    """As a user's own file."""
    frame = pd.DataFrame(made.features, columns=list(made.names))
    frame["action"] = np.array(made.actions)[made.action]
    frame["reward"], frame["propensity"] = made.reward, made.propensity
    frame = frame.assign(**{f"policy:{name}": values for name, values in policies.items()})
    (frame.to_csv if path.suffix == ".csv" else frame.to_parquet)(path, index=False)
    return path


def joined(first: Log, second: Log) -> Log:
    """The rows of one log, and then those of the other."""
    columns = second.columns()
    both = {name: np.concatenate([of, columns[name]]) for name, of in first.columns().items()}
    return replace(first, **both)


@pytest.fixture
def pair(tmp_path):
    """Test and training log."""
    skewed = log(6000, 1, (0.1, 0.2, 0.3, 0.4))
    return write(tmp_path / "test.parquet", log()), write(tmp_path / "train.parquet", skewed)


# --- the numbers
def test_numbers_are_those_of_counts(pair):
    test, train = (formats.read(path).required() for path in pair)
    found = rows_of(advise(*pair, [], level=0.9))
    assert list(found) == ["logging", "uniform"]
    for name, of in (("logging", train), ("uniform", test)):
        row, clicks, rows = found[name], of.reward.sum(), len(of)
        assert (row["bound"], row["clicks"], row["rows"]) == ("clopper-pearson", clicks, rows)
        assert row["estimate"] == pytest.approx(clicks / rows)
        assert row["lower"] == pytest.approx(stats.beta.ppf(0.1, clicks, rows - clicks + 1))
        ends = stats.binomtest(int(clicks), rows).proportion_ci(0.9)
        assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high))


def test_a_policy_is_learnt_from_one_log_and_evaluated_on_the_other(pair):
    test, train = (formats.read(path).required() for path in pair)
    options = {"lambdas": (0.01, 1.0), "select": 2 / 3, "seed": 3, "steps": 2000, "trees": 5}
    found = rows_of(advise(*pair, ["logistic", "forest"], epsilon=0.2, **options))
    policy = Policy("logistic", **options).fit(train).learnt
    assert policy.fitted.seen.tolist() == [0, 1]  # the third feature tells nothing
    target, row = policy.choice(test, 0.2).probability(test.action), found["logistic"]
    weight = target / test.propensity
    assert row["estimate"] == pytest.approx(regressed(weight * test.reward, weight - 1))
    assert (row["lambda"], row["epsilon"]) == (policy.fitted.regularisation, 0.2)
    assert row["declared_weight"] == pytest.approx(0.8 / 0.25)
    assert (found["logistic"]["verdict"], found["uniform"]["verdict"]) == ("yes", "cannot tell")
    assert np.isnan(found["forest"]["lambda"])


@pytest.mark.parametrize(
    ("propensities", "epsilon", "reward", "declared", "bound"),
    [
        ((0.25,) * 4, 0.0, 1.0, None, "clopper-pearson"),
        ((0.25,) * 4, 0.75, 1.0, None, "clopper-pearson"),  # every weight is 1
        ((0.25,) * 4, 0.2, 1.0, None, "betting"),
        ((0.25,) * 4, 0.0, 0.5, None, "betting"),
        ((0.25,) * 4, 0.0, 1.0, 0.2, "betting"),
        ((0.1, 0.2, 0.3, 0.4), 0.0, 1.0, 0.1, "betting"),
    ],
)
def test_the_bound_is_settled_by_how_the_test_was_logged(
    tmp_path, propensities, epsilon, reward, declared, bound
):
    test = log(propensities=propensities)
    test = write(tmp_path / "test.parquet", replace(test, reward=test.reward * reward))
    train = write(tmp_path / "train.parquet", log(seed=1))
    found = advise(test, train, ["logistic"], declared=declared, epsilon=epsilon, **QUICK)
    assert found.rows[-1]["bound"] == bound


# --- policies of one's own
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_policy_of_ones_own_needs_no_training_log(tmp_path, ending):
    test = log()
    right = test.action == 2 * (test.features[:, 0] > 0) + (test.features[:, 1] > 0)
    path = write(tmp_path / f"test.{ending}", test, best=right * 1.0, logistic=0.25)
    found = rows_of(advise(path, None, ["best", "column:logistic"]))
    visits = formats.read(path).visits
    assert (visits.policies, visits.names) == (("best", "logistic"), ("x", "y", "z"))
    assert found["best"]["estimate"] == pytest.approx(np.mean(test.reward * right / 0.25))
    assert found["best"]["verdict"] == "yes"
    assert found["column:logistic"]["estimate"] == pytest.approx(test.reward.mean())
    assert (found["best"]["bound"], found["best"]["declared_weight"]) == ("clopper-pearson", 4.0)
    assert found["logging"]["estimate"] == pytest.approx(test.reward.mean())


@pytest.mark.parametrize(
    ("ending", "value", "reason"),
    [
        ("csv", 1.5, r"test.csv, line 4: policy:best 1.5 is not in \[0, 1\]"),
        ("parquet", -0.5, r"row 3: policy:best -0.5 is not in \[0, 1\]"),
        ("csv", None, "line 4: policy:best is missing"),
        ("csv", "high", "line 4: policy:best 'high' is not a number"),
    ],
)
def test_what_is_no_probability_is_refused(tmp_path, ending, value, reason):
    values = pd.Series(0.5, range(4000), object if ending == "csv" else float)
    values[2] = value
    path = write(tmp_path / f"test.{ending}", log(), best=values)
    with pytest.raises(DataError, match=reason):
        advise(path, None, ["best"])


# --- verdicts
def test_how_many_rows_are_needed_is_said_in_words():
    row = {"verdict": "cannot tell", "needed_test": 12345.6, "needed_users": 449.6, "bound": "t"}
    said = text.because(row | {"needed_train": 2000.0})
    assert "about 12,000 test rows of 450 users and 2,000 training rows" in said
    row |= {"needed_users": np.nan, "needed_train": np.nan}
    assert "about 12,000 test rows would" in text.because(row)
    assert "too close" in text.because(row | {"needed_test": np.inf})


# --- doubts
def test_the_least_propensity_is_never_taken_from_the_log(pair, tmp_path):
    """But where each ad has one propensity, as in A/B tests, it is the least of them."""
    train, skewed = pair

    def weight(test, declared):
        found = advise(test, train, ["logistic"], declared=declared, **QUICK)
        return found.rows[-1]["declared_weight"]

    assert [weight(skewed, declared) for declared in (None, 0.1)] == pytest.approx([10, 10])
    halves = log(2000, 1, (0.1, 0.2, 0.3, 0.4)), log(2000, 2, (0.4, 0.3, 0.2, 0.1))
    test = write(tmp_path / "differ.parquet", joined(*halves))
    for declared, reason in (
        (None, r"differ\.parquet: propensities differ, so that `least_propensity` is need"),
        (0.2, r"`least_propensity` is 0.2, but .*differ.parquet has 0.1"),
        (0.0, "above 0 and at most 1"),
        (np.nan, "above 0 and at most 1"),
    ):
        with pytest.raises(SettingError, match=reason):
            weight(test, declared)
    assert weight(test, 0.05) == pytest.approx(20)


def test_wrong_propensities_withhold_the_verdict(pair, tmp_path):
    wrong = replace(log(), propensity=np.full(4000, 0.5))
    found = advise(write(tmp_path / "wrong.parquet", wrong), pair[1], ["logistic"], **QUICK)
    assert {row["verdict"] for row in found.rows[1:]} == {"none"}
    assert "logistic: the mean weight is" in "".join(found.notes)


def test_a_log_that_says_nothing_says_so(tmp_path):
    few = write(tmp_path / "few.csv", log(40), never=0.0)
    found = advise(few, write(tmp_path / "train.csv", log(seed=1)), ["logistic", "never"], **QUICK)
    rows = rows_of(found)
    assert (rows["logistic"]["refused"], rows["never"]["refused"]) == ("small-sample", "no-overlap")
    assert np.isnan(rows["logistic"]["lower"])
    said = " ".join(found.text().split())
    assert " logistic - none: the log says nothing that can be used, see below" in said
    assert "logistic: the weights leave an effective sample of" in said


def test_policies_are_not_judged_on_the_rows_that_they_were_learnt_from(pair, tmp_path):
    with pytest.raises(DataError, match="the same log as"):
        advise(pair[0], pair[0], ["logistic"])
    test, train = (formats.read(path).required() for path in pair)
    mixed = write(tmp_path / "mixed.csv", joined(train, test.take(np.r_[0:100, 0:50])))
    with pytest.raises(DataError, match=r"100 of 4,000 rows are in .*mixed.csv, too \(by chance"):
        advise(pair[0], mixed, [])
    dropped = advise(pair[0], mixed, [], shared="drop")
    assert dropped.rows[1]["rows"] == 3900
    assert any("100 of 4,000 rows are in" in note and "left out" in note for note in dropped.notes)
    assert not any("rows are in" in note for note in advise(*pair, []).notes)


def test_rows_that_are_alike_by_chance_are_kept(tmp_path):
    """Users who differ by one of three values only, so that nearly all rows are in both logs."""
    paths = []
    for made in (log(2000, 1), log(2000, 2)):
        alike = replace(made, features=made.features.round().clip(0, 2)[:, :1], names=("x",))
        paths.append(write(tmp_path / f"{len(paths)}.csv", alike))
    found = advise(*paths, ["logistic"], **QUICK)
    assert found.rows[-1]["rows"] == 2000
    assert any("about as many as chance makes" in note for note in found.notes)


def test_few_clicks_are_said(tmp_path):
    test = log(click=(0, 0.01))
    clicks = np.bincount(test.action, test.reward, minlength=4)
    dull = replace(test, reward=np.where(test.action == np.argmin(clicks), 0, test.reward))
    path = write(tmp_path / "test.csv", dull, none=(test.action == np.argmin(clicks)) * 1.0)
    found = advise(path, None, ["none"])
    assert "logging: few clicks: the bounds hold, but are wide" in found.notes
    assert "none: no clicks on ads that it shows" in " ".join(found.notes)


def test_ads_without_a_click_are_named(pair, tmp_path):
    train = log(seed=1)
    dull = replace(train, reward=np.where(train.action == 2, 0, train.reward))
    found = advise(pair[0], write(tmp_path / "dull.csv", dull), ["logistic"], **QUICK)
    assert found.rows[-1]["untrained"] == "c"
    assert any(note.startswith("logistic: ads c had the same reward") for note in found.notes)


def test_logs_that_do_not_fit_each_other_are_refused(pair, tmp_path):
    renamed = replace(formats.read(pair[1]).required(), names=("x", "y", "w"))
    other, one = write(tmp_path / "other.csv", renamed), write(tmp_path / "one.csv", log(1))
    for test, train, kind, reason in (
        (pair[0], other, "logistic", "features that only one of the two logs has: 'w', 'z'"),
        (one, pair[1], "logistic", r"one\.csv: the log has one row"),
        (*pair, "logistc", "unknown policy 'logistc': did you mean 'logistic'"),
        (pair[0], None, "logistic", "logistic is learnt from a log: give one with `train`"),
    ):
        with pytest.raises((DataError, SettingError), match=reason):
            advise(test, train, [kind])


@pytest.mark.parametrize("which", [0, 1])
def test_a_log_without_clicks_leaves_no_verdict(which, pair, tmp_path):
    paths = list(pair)
    dull = formats.read(paths[which]).required()
    paths[which] = write(tmp_path / "dull.csv", replace(dull, reward=np.zeros(len(dull))))
    found = advise(*paths, ["logistic"], **QUICK)
    assert {row["verdict"] for row in found.rows[1:]} == {"none"}
    assert found.about[0] == (
        f"No verdict: all rewards of {paths[which]} are 0: rewards look missing"
    )
    assert "To rely on" not in found.text()


def test_rates_that_drift_are_said_beside_the_verdict(tmp_path):
    both = joined(log(20_000, 1, click=(0.1, 0.1)), log(20_000, 2, click=(0.05, 0.05)))
    for step in (1, -1):
        path = write(tmp_path / f"{step}.csv", both.take(slice(None, None, step)))
        found = advise(path, None, [])
        assert found.rows[0]["drift"] < 1e-10
        assert found.rows[0]["low"] < found.rows[0]["estimate"] < found.rows[0]["high"]
        said = "logging: its rate drifts, from.*average over the log's period"
        assert any(re.search(said, note) for note in found.notes)
    row = {"verdict": "yes", "drift": 0.001}
    assert text.because(row) == ", on average over the log's period: rates drift (p = 0.001)"
    assert text.because(row | {"drift": 0.5}) == text.because(row | {"drift": np.nan}) == ""


def test_new_ads_of_the_test_keep_their_rows(pair, tmp_path):
    test, train = (formats.read(path).required() for path in pair)
    without = write(tmp_path / "without.csv", train.take(train.action != 1))
    found = advise(pair[0], without, ["logistic"], **QUICK)
    row, share = found.rows[-1], np.mean(test.action == 1)
    assert row["rows"] == 4000 and row["new_ads"] == share
    policy = Policy("logistic", **QUICK).fitted_to(UserLog.read(without).visits)
    shown = np.array(policy.actions)[policy.choice(test).best]
    chosen = shown == np.array(test.actions)[test.action]
    assert row["estimate"] == pytest.approx(np.mean(test.reward * chosen * 4))
    assert row["unmatched"] == pytest.approx(1 - chosen.mean())
    assert found.rows[1]["mean_weight"] == pytest.approx(1)
    said = f"{100 * share:.3g} % of rows show ads that the training log lacks ('b')"
    assert any(said in note for note in found.notes)


def test_probabilities_that_do_not_sum_to_one_are_refused_as_in_the_check(tmp_path):
    path = write(tmp_path / "test.csv", log(), double=0.5, fine=0.25)
    reason = r"test\.csv: the probabilities of policy:double do not sum to 1.*2 on average"
    for asked in ("double", "fine"):  # as `check` says of all
        with pytest.raises(DataError, match=reason):
            advise(path, None, [asked])
    assert problems(UserLog.read(path))["policy-sum"]["severity"] == "error"
    found = evaluate(["fine"], UserLog.read(path, ignore=["policy:double"]))
    assert found.rows[-1]["estimate"] == pytest.approx(log().reward.mean())


def test_an_estimate_is_never_outside_of_its_interval():
    """Rewards of 1 and a policy that happens to match more often than it should: IPS is above 1."""
    test = log(400)
    columns = vars(replace(test, reward=np.r_[np.ones(399), 0]))
    for matched in (100, 120, 130, 160):
        mine = (np.arange(400) < matched) * 1.0
        given = Visits(**columns, probabilities=mine[:, None], policies=("mine",))
        if matched == 160:  # of 400, where 100 are expected
            with pytest.raises(DataError, match="do not sum to 1"):
                evaluate(["mine"], as_log(given))
            continue
        found = evaluate(["mine"], as_log(given))
        row = found.rows[-1]
        assert row["low"] <= row["estimate"] <= row["high"] <= 1 or row["refused"] == "impossible"
        assert (matched > 100) == any("shown as 100 %" in note for note in found.notes)


def test_one_log_is_split(pair, capsys):
    whole = formats.read(pair[0]).required()
    found = advise(pair[0], None, ["logistic"], split=("random", 0.6), **QUICK)
    # today's policy is judged on the same part
    assert [row["rows"] for row in found.rows] == [1600] * 2
    assert "training part: 2,400 rows" in found.about[0] and "today's policy" in found.about[1]
    assert found.rows[0]["clicks"] == found.rows[1]["clicks"] < whole.reward.sum()
    assert ads(f"evaluate {pair[0]} --train {pair[1]} --policy logistic --split 0.6") == 1
    assert "either --split or --train" in capsys.readouterr().err
    with pytest.raises(SettingError, match="no column timestamp to split by"):
        advise(pair[0], None, ["logistic"], split=("time", 0.6))


def test_columns_left_out_are_to_be_in_one_of_the_logs(pair, capsys):
    evaluated = f"evaluate {pair[0]} --train {pair[1]} --policy uniform"
    assert ads(f"{evaluated} --ignore z") == 0
    for option in ("--ignore", "--categorical"):
        for command in (evaluated, f"check {pair[0]}"):
            assert ads(f"{command} {option} zz") == 1
            assert f"{option}: unknown column 'zz': did you mean 'z'" in capsys.readouterr().err


def test_logs_of_different_periods_are_named(pair, tmp_path):
    for number, path in enumerate(pair):
        frame = pd.read_parquet(path)
        frame["timestamp"] = pd.date_range(f"2026-0{3 - number}-01", periods=len(frame), freq="s")
        frame.to_parquet(tmp_path / path.name)
    notes = advise(tmp_path / "test.parquet", tmp_path / "train.parquet", []).notes
    assert "log is of 2026-02-01 to 2026-02-01, the test log of 2026-03-01 to 2026" in notes[0]


# --- what is written
def test_all_that_is_told_is_written(pair, tmp_path):
    found = advise(*pair, ["logistic"], **QUICK)
    found.write(tmp_path / "table.csv")
    found.write(tmp_path / "table.json")
    held = json.loads((tmp_path / "table.json").read_text())
    assert held["level"] == 0.95 and held["policies"][0]["needed_test"] is None
    frame, rows = pd.read_csv(tmp_path / "table.csv"), pd.DataFrame(held["policies"])
    assert [*frame["policy"]] == [*rows["policy"]] == ["logging", "uniform", "logistic"]
    np.testing.assert_array_equal(frame["lower"], rows["lower"])


def test_a_log_is_described(tmp_path):
    made = log(100)
    facts = UserLog.read(write(tmp_path / "log.csv", made, mine=0.5)).check()
    expected = {"rows": 100, "features": ["x", "y", "z"], "policies": ["mine"], "timestamps": None}
    assert expected.items() <= facts.items()
    said = str(facts)
    for line in ("100 rows, 0 of them", "0.25 in all rows", "one value only: 'z'", "own: mine"):
        assert line in said
    assert "the probabilities of policy:mine do not sum to 1" in said
    assert sum(int(line.split()[1]) for line in said.splitlines()[-4:]) == 100
    times = np.array(["2026-01-02", "2026-01-01"], "datetime64[us]").repeat(50)
    logs.write(replace(made, timestamp=times), tmp_path / "log.parquet")
    said = str(UserLog.read(tmp_path / "log.parquet").check())
    assert "2026-01-01T00:00:00.000000Z to 2026-01-02T00:00:00.000000Z" in said
