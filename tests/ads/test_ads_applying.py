"""Policies in use: loaded they choose the same ads, and log the right propensities."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from ads_logs import ads
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import OneHotEncoder
from test_ads_api import LEARNT, QUICK, SUITED, frame
from test_ads_parts import write_without_a_page

import scant_ads as sa
from scant import files
from scant.errors import DataError, SettingError
from scant_ads.policies import applying, encoding
from scant_ads.reading import arrays, formats
from scant_ads.reading.visits import Options

CONTEXTS = ["kind", "age"]


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    """A policy of each kind, and its file."""
    folder, made = tmp_path_factory.mktemp("policies"), {}
    for kind in LEARNT:
        policy = sa.fit(frame(1500), kind, epsilon=0.25, select=0.8, **QUICK)
        policy.save(folder / f"{kind}.arrow")
        made[kind] = policy, folder / f"{kind}.arrow"
    return made


ages = st.one_of(st.none(), st.floats(-1e6, 1e6, width=32))
kinds = st.sampled_from(["red", "green", "blue", "violet", "", None])


def some_contexts(least, most):
    return st.lists(st.tuples(kinds, ages), min_size=least, max_size=most)


def framed(rows):
    return pd.DataFrame(rows, columns=CONTEXTS).astype({"kind": object, "age": float})


@pytest.mark.parametrize("kind", LEARNT)
@given(rows=some_contexts(1, 30))
@settings(max_examples=10, deadline=None)
def test_a_loaded_policy_chooses_as_the_saved_one(kind, policies, rows):
    policy, path = policies[kind]
    loaded = sa.Policy.load(path)
    contexts = framed(rows)
    np.testing.assert_array_equal(loaded.predict(contexts), policy.predict(contexts))
    np.testing.assert_array_equal(loaded.predict_proba(contexts), policy.predict_proba(contexts))
    assert loaded.get_params() == policy.get_params() | {"lambdas": (0.1,)}
    assert (loaded.actions, loaded.untrained) == (policy.actions, policy.untrained)
    np.testing.assert_equal(loaded.regularisation, policy.regularisation)


@pytest.mark.parametrize("kind", LEARNT)
def test_a_loaded_policy_has_the_same_scores_and_can_be_saved_again(kind, policies, tmp_path):
    policy, path = policies[kind]
    loaded = sa.Policy.load(path)
    width = len(policy.learnt.fitted.seen)
    features = np.random.default_rng(0).standard_normal((500, width)).astype(np.float32)
    if kind != "filter-tree":
        model, again = policy.learnt.fitted.model, loaded.learnt.fitted.model
        np.testing.assert_array_equal(again.scores(features), model.scores(features))
    loaded.save(tmp_path / "again.arrow")
    assert (tmp_path / "again.arrow").read_bytes() == path.read_bytes()


@given(some_contexts(3, 60), some_contexts(1, 20))
@settings(max_examples=15, deadline=None)
def test_encoding_is_that_of_scikit_learn(train, test):
    logs = []
    for rows in (train, test):
        made = framed([("red", 1.0), *rows]).assign(action="a", reward=0, propensity=1.0)
        logs.append(formats.read_frame(made, Options(categorical=["kind"])).visits)
    train, test = logs
    encoder = encoding.fit(train)
    found = encoder.transform(test).features
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(train.features[:, 1:])
    np.testing.assert_array_equal(found[:, 0], imputer.transform(test.features[:, 1:])[:, 0])
    texts = [
        np.array(log.categories["kind"], object)[log.features[:, [0]].astype(int)]
        for log in (train, test)
    ]
    known = [list(train.categories["kind"])]
    one_hot = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
    expected = one_hot.fit(texts[0]).transform(texts[1])
    np.testing.assert_array_equal(found[:, 1 + len(encoder.lacking) :], expected)


WRITTEN = {  # texts that look like something else, and what a file of typed columns has of them
    "zip": (["01067", "20095"], int),
    "version": (["1.10", "1.1"], None),
    "flag": (["True", "False"], bool),
    "size": (["1e3", "1e4"], float),
    "hour": (["08:30", "17:45"], None),
    "day": (["2026-01-01", "2026-02-01"], None),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_categorical_feature_is_the_text_that_is_written(name, tmp_path):
    """In the log, new visits, and where another file has numbers or truth values for texts."""
    (texts, kind), random = WRITTEN[name], np.random.default_rng(0)
    which, shown = random.integers(0, 2, (2, 600))
    values = np.array(texts)[which]
    clicked = random.random(600) < np.where(which == shown, 0.5, 0.1)
    made = pd.DataFrame({"action": shown, "reward": clicked * 1, "propensity": 0.5, name: values})
    typed = [kind(text != "False" and text) for text in values] if kind else values
    made.to_csv(tmp_path / "log.csv", index=False)
    made.assign(**{name: typed}).to_parquet(tmp_path / "log.parquet")
    logs = [
        sa.Log.read(tmp_path / f"log.{form}", categorical=[name]) for form in ("csv", "parquet")
    ]
    assert sorted(logs[0].visits.categories[name]) == sorted(texts)
    for log in logs:
        policy = sa.fit(log, "logistic", **QUICK)
        for form in ("csv", "parquet"):
            applying.apply(policy, tmp_path / f"log.{form}", tmp_path / "out.parquet")
            assert (pd.read_parquet(tmp_path / "out.parquet")["action"].astype(int) == which).all()
        for other in logs:
            assert not [note for note in sa.evaluate([policy], other).notes if "lacks" in note]


def test_numbers_that_stand_for_several_texts_of_a_policy_are_refused():
    """Such as 1.1, which pandas makes of 1.10, too."""
    texts, random = np.array(["1.1", "1.10", "2.0"]), np.random.default_rng(0)
    made = pd.DataFrame({"action": random.integers(0, 2, 400), "propensity": 0.5})
    made = made.assign(reward=random.integers(0, 2, 400), version=random.choice(texts, 400))
    policy = sa.fit(sa.Log.from_frame(made, categorical=["version"]), "logistic", **QUICK)
    policy.predict(made[["version"]])
    with pytest.raises(DataError, match=r"'version' has numbers, .* of one number\. Read"):
        policy.predict(made[["version"]].astype(float))


def test_hours_are_texts_where_it_is_said(tmp_path):
    (tmp_path / "log.csv").write_text(
        "action,reward,propensity,hour\n" + "a,0,0.5,08:30\nb,1,0.5,17:45\n" * 20
    )
    problem, *_ = sa.Log.read(tmp_path / "log.csv").check()["problems"]
    assert problem["mend"].endswith("or take it as text with --categorical hour")
    assert sa.Log.read(tmp_path / "log.csv", categorical=["hour"]).check().ok


@pytest.mark.parametrize(
    ("text", "labels", "place"),
    yaml.safe_load("""
[['1067', ['1067', '01067'], 0], ['1067.0', [x, '01067'], 1], ['1067.0', ['1067', '01067'], -1],
 ['TRUE', ['false', 'true'], 1], ['1.1', ['1.10'], 0], ['1.1', ['1.10', '1.100'], -1],
 ['9007199254740993', ['9007199254740992'], -1], ['1000', [1e3], 0], [nan, [NaN], -1],
 [a, [], -1], [inf, [Infinity], -1], ['Yes', ['yes'], -1]]
"""),
)
def test_a_text_is_one_of_others_or_the_only_one_of_its_value(text, labels, place):
    assert arrays.places([text], labels).tolist() == [place]


def test_what_cannot_be_saved_or_loaded_says_why(policies, tmp_path):
    own = tmp_path / "own.arrow"
    with pytest.raises(SettingError, match="scores by GaussianNB cannot be saved"):
        sa.fit(frame(300), GaussianNB()).save(own)
    with pytest.raises(SettingError, match="has not learnt anything yet"):
        sa.Policy().save(own)
    with pytest.raises(DataError, match="there is no such file"):
        sa.Policy.load(own)
    frame(5).to_feather(tmp_path / "frame.arrow")
    content = policies["forest"][1].read_bytes()
    changed = content[:2000] + bytes([content[2000] ^ 1]) + content[2001:]
    for wrong, message in (
        (content[: len(content) // 2], "not a saved policy"),
        (changed, "some of its bytes have changed"),
        ((tmp_path / "frame.arrow").read_bytes(), "it has no seal"),
    ):
        own.write_bytes(wrong)
        with pytest.raises(DataError, match=message):
            sa.Policy.load(own)


# --- new visits
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_ads_are_shown_with_the_probabilities_that_are_logged(policies, epsilon):
    """Over a fine grid of u, each ad is shown in the share of cases that its propensity says."""
    policy, _ = policies["logistic"]
    one = pd.DataFrame({"kind": ["red"], "age": [40.0]})
    u = (np.arange(30_000) + 0.5) / 30_000
    action, propensity = applying.drawn(policy, pd.concat([one] * len(u)), u, epsilon)
    best = policy.actions.index(policy.predict(one)[0])
    for ad in range(3):
        expected = 1 - epsilon if ad == best else epsilon / 2
        assert np.mean(action == ad) == pytest.approx(expected, abs=1e-4)
        assert np.allclose(propensity[action == ad], expected)


@pytest.fixture
def visitors(tmp_path):
    """New visits in each form, with a column beside the features; messy CSV has decimal commas."""
    made = frame(700, 9)[CONTEXTS].assign(visit=range(700), note="x;y")
    paths = {form: tmp_path / f"visits.{form}" for form in ("csv", "parquet", "arrow", "csv.gz")}
    made.to_csv(paths["csv"], index=False)
    made.to_parquet(paths["parquet"], index=False)
    made.to_feather(paths["arrow"])
    made.to_csv(paths["csv.gz"], index=False, sep=";", decimal=",")
    return made, paths


@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_batches_and_forms_do_not_matter(policies, visitors, tmp_path, monkeypatch, output):
    made, paths = visitors
    policy, found = policies["logistic"][0], []
    for form, path in paths.items():
        for rows in (64, 1 << 16):
            monkeypatch.setattr(applying, "ROWS", rows)
            target = tmp_path / f"shown {form}.{output}"
            done = applying.apply(policy, path, target, seed=5, keep=["visit"])
            read = pd.read_csv(target) if output == "csv" else pd.read_parquet(target)
            assert done.rows == sum(done.shown.values()) == 700
            assert read["visit"].astype(int).tolist() == [*range(700)]
            found.append(read[["action", "propensity"]])
    for other in found[1:]:
        pd.testing.assert_frame_equal(other, found[0])
    best = found[0]["action"] == policy.predict(made)
    np.testing.assert_allclose(found[0]["propensity"], np.where(best, 0.75, 0.125))
    assert 0.2 < 1 - best.mean() < 0.3
    if output == "parquet":
        metadata = files.metadata_of(pq.read_schema(target))
        result = (metadata["seed"], metadata["epsilon"], metadata["input"])
        assert result == (5, 0.25, files.sha256(path))


def test_a_policy_goes_from_log_to_use_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame(1500).to_csv("log.csv", index=False)
    frame(400, 1)[CONTEXTS].assign(visit=range(400)).to_csv("new.csv", index=False)
    learning = "--policy logistic --epsilon 0.2"
    assert ads(f"fit log.csv {learning} --output policy.arrow") == 0
    assert "logistic, learnt from 1,500 rows" in capsys.readouterr().out
    apply = "apply policy.arrow new.csv --output shown.csv"
    assert ads(f"{apply} --keep visit --seed 1") == 0
    printed = capsys.readouterr().out
    assert "400 visits; ads shown:" in printed
    assert "20 % of them explore (seed 1); least propensity by design: 0.1" in printed
    rows = pd.read_csv("shown.csv").merge(pd.read_csv("new.csv"), on="visit")
    next_log = rows.assign(reward=(rows["action"] == rows["kind"].map(SUITED)) * 1)
    next_log.drop(columns="visit").to_csv("next.csv", index=False)
    least = "--least-propensity 0.1 --output table.json"
    assert ads(f"evaluate next.csv --policy policy.arrow {least}") == 0
    row = json.loads(Path("table.json").read_text())["policies"][-1]
    # its own log
    assert row["policy"] == "policy" and row["estimate"] == pytest.approx(next_log["reward"].mean())
    assert ads(f"{apply} --epsilon 0") == 0
    assert "nothing is explored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made.drop(columns="age"), "no column 'age', a feature of the policy"),
        (lambda made: made.assign(age=[*made["age"][:49], "old"]), "row 50: age 'old' is not a"),
        (lambda made: made.iloc[:0], "it has no rows"),
        (lambda made: made.rename(columns={"kind": "kin"}), "Is it 'kin'? Rename it"),
    ],
)
def test_visits_that_cannot_be_used_leave_no_file(policies, tmp_path, change, message, capsys):
    change(frame(50, 1)[CONTEXTS]).to_csv(tmp_path / "new.csv", index=False)
    files = f"{policies['logistic'][1]} {tmp_path}/new.csv --output {tmp_path}/shown.csv"
    assert ads(f"apply {files}") == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_visits_that_a_damaged_page_lacks_are_noticed(policies, tmp_path):
    path = tmp_path / "new.parquet"
    write_without_a_page(pa.table({"age": [30.0, 40.0], "kind": ["red", "blue"]}), path)
    with pytest.raises(DataError, match="0 rows, where its metadata say 2"):
        applying.apply(policies["logistic"][0], path, tmp_path / "shown.csv")
    assert [*tmp_path.iterdir()] == [path]


def test_no_visit_is_lost_in_a_text_whose_quotation_mark_is_left_open(policies, tmp_path):
    rows, path = [f"{20 + number},red\n" for number in range(40)], tmp_path / "new.csv"
    for text, right in (('30,"red\n', False), ('30,"red\nor blue"\n', True)):
        path.write_text("age,kind\n" + "".join([*rows[:10], text, *rows[10:]]))
        if right:
            done = applying.apply(policies["logistic"][0], path, tmp_path / "shown.csv")
            assert done.rows == 41
            continue
        with pytest.raises(DataError, match="a quotation mark begins a text") as error:
            applying.apply(policies["logistic"][0], path, tmp_path / "shown.csv")
        assert error.value.line == 12 and [*tmp_path.iterdir()] == [path]


def write_arrow(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
