"""`scant_ads` in Python: logs, policies in scikit-learn's manner, evaluations with its numbers."""

import json
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ads_logs import ads
from regressed import regressed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

import scant_ads as sa
from scant.bandits.learners import KINDS
from scant.errors import DataError, SettingError

mpl.use("svg")
QUICK = {"steps": 2000, "lambdas": (0.1,), "trees": 5}
LEARNT = [kind for kind, learner in KINDS.items() if learner.learns]


def frame(rows=3000, seed=0) -> pd.DataFrame:
    """Three ads; which one suits a visitor is told by a text. A number lacks values."""
    random = np.random.default_rng(seed)
    kind, shown = random.integers(0, 3, rows), random.integers(0, 3, rows)
    clicked = random.random(rows) < np.where(kind == shown, 0.5, 0.1)
    columns = {"action": np.array(list("abc"))[shown], "reward": clicked.astype(int)}
    columns |= {"propensity": 1 / 3, "kind": np.array(["red", "green", "blue"])[kind]}
    columns |= {"age": np.where(random.random(rows) < 0.2, np.nan, random.normal(40, 10, rows))}
    return pd.DataFrame(columns)


SUITED = {"red": "a", "green": "b", "blue": "c"}


@pytest.fixture(scope="module")
def logs():
    return tuple(sa.Log.from_frame(frame(seed=seed)) for seed in (0, 1))


def test_scant_and_its_advice_are_light_to_import():
    code = (
        "import sys, scant_ads; print('numpy' in sys.modules, 'pandas' in sys.modules, "
        "'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3
    assert {*sa.__all__} <= {*dir(sa)}
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        _ = sa.evaluat
    stub = (Path(sa.__file__).with_suffix(".pyi")).read_text()
    assert all(f"import {name} as {name}" in stub for name in sa.__all__)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_frame_and_a_file_give_the_same_log(tmp_path, form):
    made = frame(500)
    path = tmp_path / f"log.{form}"
    made.to_csv(path, index=False) if form == "csv" else made.to_parquet(path, index=False)
    read = sa.Log.read(path).visits
    for one in (
        made.set_index(pd.Index(range(5, 505))),
        pa.Table.from_pandas(made, preserve_index=False),
    ):
        taken = sa.Log.from_frame(one).visits
        for name in ("names", "actions", "categories"):
            assert getattr(taken, name) == getattr(read, name)
        for name, column in read.columns().items():
            np.testing.assert_array_equal(column, taken.columns()[name], name)


def test_a_report_is_a_mapping_that_reads_as_text(logs):
    report = logs[0].check()
    assert report.ok and report["rows"] == 3000 and {*report} >= {"form", "problems"}
    assert "3,000 rows" in str(report)


@pytest.mark.parametrize("kind", LEARNT)
def test_a_policy_is_used_as_an_estimator(kind, logs):
    train, test = logs
    policy = sa.fit(train, kind, epsilon=0.3, **QUICK)
    contexts = frame(seed=1).drop(columns=["action", "reward", "propensity"]).assign(more=1)
    chosen = policy.predict(contexts)
    assert np.mean(chosen == contexts["kind"].map(SUITED)) > 0.9
    np.testing.assert_array_equal(chosen, policy.predict(test))
    probabilities = policy.predict_proba(contexts)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.shape == (3000, 3) and np.allclose(probabilities.max(axis=1), 0.7)
    np.testing.assert_array_equal(policy.classes_[probabilities.argmax(axis=1)], chosen)
    row, visits = sa.evaluate([policy], test).rows[-1], test.visits
    shown = [policy.classes_.tolist().index(visits.actions[ad]) for ad in visits.action]
    weight = policy.predict_proba(test)[range(3000), shown] / visits.propensity
    assert policy.score(test) == pytest.approx(np.mean(weight * visits.reward))
    assert row["estimate"] == pytest.approx(regressed(weight * visits.reward, weight - 1))


def test_settings_of_a_policy_are_those_of_an_estimator(logs):
    policy = sa.Policy("logistic", epsilon=0.1, undersample=2)
    copy = clone(policy)
    assert copy.get_params() == policy.get_params() and copy is not policy
    assert copy.set_params(epsilon=0.2).epsilon == 0.2
    assert repr(copy) == "Policy('logistic', epsilon=0.2, undersample=2)"
    for call, message in (
        (lambda: policy.set_params(epsilo=1), "'epsilo': did you mean 'epsilon'"),
        (lambda: policy.predict(frame(5)), "has not learnt anything yet"),
        (lambda: sa.fit(logs[0], "logistc"), "unknown kind of learner 'logistc'"),
        (lambda: sa.fit(logs[0], epsilon=2), "epsilon is 2"),
    ):
        with pytest.raises(SettingError, match=message):
            call()


CLASSIFIERS = GaussianNB(), make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=500))
REGRESSORS = Ridge(2.0), make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge())


@pytest.mark.parametrize("graded", [False, True])
def test_any_model_scores_ads_as_one_does_by_hand(graded):
    """A classifier by the probability of a click, a regressor by the reward that it predicts."""
    frames = [frame(seed=seed) for seed in (0, 1)]
    train, test = (sa.Log.from_frame(with_grades(made) if graded else made) for made in frames)
    for model in (*REGRESSORS, *(() if graded else CLASSIFIERS)):
        policy = sa.fit(train, model, standardise=False)
        assert policy.name == type(model).__name__ and not hasattr(model, "classes_")
        encoded, contexts = (policy.learnt.encoder.transform(log.visits) for log in (train, test))
        scores = []
        for ad in range(3):
            rows = encoded.action == ad
            rewards = encoded.reward[rows] > 0 if model in CLASSIFIERS else encoded.reward[rows]
            fitted = clone(model).fit(encoded.features[rows], rewards)
            predict = fitted.predict_proba if model in CLASSIFIERS else fitted.predict
            scores.append(predict(contexts.features).reshape(len(contexts), -1)[:, -1])
        # of equal scores
        assert np.mean(policy.predict(test) == policy.classes_[np.argmax(scores, axis=0)]) > 0.999
        assert np.mean(policy.predict(test) == frames[1]["kind"].map(SUITED)) > 0.9


def test_models_have_settings_and_what_is_none_is_refused(logs):
    assert clone(sa.Policy(GaussianNB())).get_params()["kind__var_smoothing"] == 1e-9
    assert sa.fit(logs[0], GaussianNB(), undersample=1).predict(logs[1]).shape == (3000,)
    for wrong, message in (
        (GaussianNB, "it is a class"),
        (PolynomialFeatures(), "neither a classifier"),
        (LinearSVC(), "neither a classifier with predict_proba nor a regressor"),
        (3, "3 is no classifier or regressor .* without fit"),
    ):
        with pytest.raises(SettingError, match=message):
            sa.fit(logs[0], wrong)


def with_grades(made: pd.DataFrame) -> pd.DataFrame:
    """The frame with rewards other than clicks: a click earns 0.7 or 1, all else 0.1 or 0.2."""
    at_random = np.random.default_rng(3).random(len(made)) < 0.5
    clicked, other = np.where(at_random, 1, 0.7), np.where(at_random, 0.1, 0.2)
    return made.assign(reward=np.where(made["reward"] > 0, clicked, other))


def test_rewards_that_are_no_clicks_are_for_learners_that_take_them(tmp_path):
    train, test = (sa.Log.from_frame(with_grades(frame(seed=seed))) for seed in (0, 1))
    suited = frame(seed=1)["kind"].map(SUITED)
    for kind in ("forest", "cost-sensitive-oaa", Ridge()):
        assert np.mean(sa.fit(train, kind, trees=5, select=0.8).predict(test) == suited) > 0.9
    assert sa.evaluate(["forest"], test, train=train).rows[-1]["verdict"] == "yes"
    forest = sa.fit(train, "forest", trees=5)
    forest.save(tmp_path / "forest.arrow")
    loaded = sa.Policy.load(tmp_path / "forest.arrow")
    features = forest.learnt.encoder.transform(test.visits).features
    scores = [policy.learnt.fitted.model.scores(features) for policy in (forest, loaded)]
    np.testing.assert_array_equal(*scores)
    assert 0.1 <= scores[0].min() < 0.2 < scores[0].max() <= 1  # mean rewards
    for kind in ("logistic", "auc-ranker", GaussianNB()):
        with pytest.raises(DataError, match=r"row 1: reward 0\..* learns from clicks"):
            sa.fit(train, kind, **QUICK)
    with pytest.raises(SettingError, match="undersample keeps misses for each click"):
        sa.fit(train, "forest", undersample=1)
    # which is for classifiers
    assert np.mean(sa.fit(train, Ridge(), undersample=1).predict(test) == suited) > 0.9


def test_ads_whose_rewards_are_all_the_same_are_named():
    train, test = (with_grades(frame(seed=seed)) for seed in (0, 1))
    train.loc[train["action"] == "b", "reward"] = 0.3
    policy = sa.fit(sa.Log.from_frame(train), Ridge())
    assert policy.untrained == ("b",) and "b" not in policy.predict(test)
    found = sa.evaluate([policy], sa.Log.from_frame(test), train=sa.Log.from_frame(train))
    assert "Ridge: ads b had the same reward in all rows of training" in found.text()


def test_steps_follow_from_rows_unless_they_are_said(logs):
    policies = [
        sa.fit(logs[0], "logistic", lambdas=(0.1,), steps=steps)
        for steps in (None, 50_000, 1_000_000)
    ]
    weights = [policy.learnt.fitted.model.scorers[0].weights for policy in policies]
    np.testing.assert_array_equal(*weights[:2])
    assert np.any(weights[0] != weights[2])
    np.testing.assert_allclose(weights[0], weights[2], atol=0.02)


def test_contexts_have_the_features_that_a_policy_learnt_from(logs):
    policy = sa.fit(logs[0], "logistic", **QUICK)
    new = frame(20, 5)
    ages = new["age"].astype(object).where(new.index != 7, "old").astype(str)
    for wrong, message in (
        (new.rename(columns={"kind": "kinds"}), "no column 'kind', a feature of the policy"),
        (new.assign(age=ages), "row 8: age 'old' is not a number"),
        (new.assign(age=[1, 2, 1e300, *range(17)]), "row 3: feature .age. is not finite"),
    ):
        with pytest.raises(DataError, match=message):
            policy.predict(wrong)
    unseen = new.assign(kind=[None, "violet"] * 10, age=np.nan)
    # a missing text, and an unknown one, are chosen for all the same
    assert len({*policy.predict(unseen)}) <= 2


def test_policies_are_named_and_learnt_on_the_way(logs):
    train, test = logs
    fitted, other = sa.fit(train, "logistic", **QUICK), sa.Policy("logistic", epsilon=0.5, **QUICK)
    found = sa.evaluate([fitted, other, "uniform"], test, train=train)
    assert [row["policy"] for row in found.rows] == ["logging", "logistic", "logistic 2"]
    assert found.policies["logistic"] is fitted and found.policies["logistic 2"].fitted
    named = sa.evaluate({"mine": other}, test, train=train)
    assert not other.fitted and [*named.policies] == ["mine"]
    assert named.rows[-1]["estimate"] == found.rows[-1]["estimate"]
    with pytest.raises(SettingError, match="logistic is learnt from a log"):
        sa.evaluate([other], test)
    with pytest.raises(SettingError, match="3 is no policy"):
        sa.evaluate([3], test)


def test_evaluations_are_frames_tables_and_plots(logs):
    found = sa.evaluate(["logistic"], logs[1], train=logs[0])
    table = found.to_frame()
    assert table["policy"].tolist() == ["logging", "logistic"]
    assert table["verdict"].iloc[-1] == "yes"
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == table["policy"].tolist()
    ends = [tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(ends, 100 * table[["low", "high"]].to_numpy())
    assert found.plot(axes) is axes
    assert f"{100 * table['low'].iloc[-1]:.3f}" in found.text()
    assert str(found) == repr(found) == found.text()  # one policy: no option is named


def test_the_command_and_the_functions_give_the_same_numbers(tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in ("train", "test")]
    for seed, path in enumerate(paths):
        frame(seed=seed).to_parquet(path, index=False)
    options = "--epsilon 0.2 --seed 4"
    kinds, output = ["logistic", "forest", "auc-ranker"], tmp_path / "table.json"
    asked = " ".join(f"--policy {kind}" for kind in kinds)
    logs = f"{paths[1]} --train {paths[0]}"
    assert ads(f"evaluate {logs} {asked} {options} --output {output}") == 0
    train, test = map(sa.Log.read, paths)
    policies = [sa.fit(train, kind, epsilon=0.2, seed=4) for kind in kinds]
    found = sa.evaluate(policies, test, train=train, seed=4)
    found.write(tmp_path / "same.json")
    assert json.loads((tmp_path / "same.json").read_text()) == json.loads(output.read_text())
