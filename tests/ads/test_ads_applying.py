"""Policies in use: saved and loaded they choose the same ads, and what they log next has the right
propensities.
"""

import json
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import OneHotEncoder
from test_ads_api import LEARNT, QUICK, frame

import scant_ads as sa
from scant import files
from scant.cli import main
from scant.errors import DataError, SettingError
from scant_ads.policies import applying, encoding, saving
from scant_ads.reading import arrays, formats

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


@pytest.mark.parametrize("kind", LEARNT)
@given(rows=some_contexts(1, 30))
@settings(max_examples=30, deadline=None)
def test_a_loaded_policy_chooses_as_the_saved_one(kind, policies, rows):
    policy, path = policies[kind]
    loaded = sa.Policy.load(path)
    contexts = pd.DataFrame(rows, columns=CONTEXTS).astype({"kind": object, "age": float})
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
@settings(max_examples=40, deadline=None)
def test_encoding_is_that_of_scikit_learn(train, test):
    def read(rows):
        made = pd.DataFrame(rows, columns=CONTEXTS).astype({"kind": object, "age": float})
        return formats.read_frame(
            made.assign(action="a", reward=0, propensity=1.0), categorical=["kind"]
        ).visits

    train, test = read([("red", 1.0), *train]), read([("red", 1.0), *test])
    encoder = encoding.fit(train)
    found = encoder.transform(test).features
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(train.features[:, 1:])
    np.testing.assert_array_equal(found[:, 0], imputer.transform(test.features[:, 1:])[:, 0])
    texts = [
        np.array(log.categories["kind"], object)[log.features[:, [0]].astype(int)]
        for log in (train, test)
    ]
    one_hot = OneHotEncoder(
        categories=[list(train.categories["kind"])], handle_unknown="ignore", sparse_output=False
    )
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
    """In the log, in new visits, and where another file has numbers or truth values in place of the
    texts.
    """
    (texts, kind), random = WRITTEN[name], np.random.default_rng(0)
    which, shown = random.integers(0, 2, (2, 600))
    values = np.array(texts)[which]
    clicked = random.random(600) < np.where(which == shown, 0.5, 0.1)
    made = pd.DataFrame({"action": shown, "reward": clicked * 1, "propensity": 0.5, name: values})
    typed = (
        made
        if kind is None
        else made.assign(**{name: [kind(text != "False" and text) for text in values]})
    )
    made.to_csv(tmp_path / "log.csv", index=False)
    typed.to_parquet(tmp_path / "log.parquet")
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


def test_hours_are_texts_where_it_is_said(tmp_path):
    (tmp_path / "log.csv").write_text(
        "action,reward,propensity,hour\n" + "a,0,0.5,08:30\nb,1,0.5,17:45\n" * 20
    )
    problem, *_ = sa.Log.read(tmp_path / "log.csv").check()["problems"]
    assert problem["mend"].endswith("or take it as text with --categorical hour")
    assert sa.Log.read(tmp_path / "log.csv", categorical=["hour"]).check().ok


@pytest.mark.parametrize(
    ("text", "labels", "place"),
    [
        ("1067", ["1067", "01067"], 0),
        ("1067.0", ["x", "01067"], 1),
        ("1067.0", ["1067", "01067"], -1),
        ("TRUE", ["false", "true"], 1),
        ("1.1", ["1.10"], -1),
        ("1000", ["1e3"], 0),
        ("nan", ["NaN"], -1),
        ("a", [], -1),
        ("inf", ["Infinity"], -1),
        ("Yes", ["yes"], -1),
    ],
)
def test_a_text_is_one_of_others_or_the_only_one_of_its_value(text, labels, place):
    assert arrays.places([text], labels).tolist() == [place]


def test_what_cannot_be_saved_or_loaded_says_why(policies, tmp_path):
    own = tmp_path / "own.arrow"
    with pytest.raises(
        SettingError,
        match="scores by GaussianNB cannot be saved: a file of it would have to hold",
    ):
        sa.fit(frame(300), GaussianNB()).save(own)
    with pytest.raises(SettingError, match="has not learnt anything yet"):
        sa.Policy().save(own)
    assert not own.exists()
    frame(5).to_feather(tmp_path / "frame.arrow")
    content = policies["forest"][1].read_bytes()
    for wrong, message in (
        (None, "there is no such file"),
        (content[: len(content) // 2], "not a saved policy"),
        (
            content[:2000] + bytes([content[2000] ^ 1]) + content[2001:],
            "some of its bytes have changed",
        ),
        ((tmp_path / "frame.arrow").read_bytes(), "it has no seal"),
    ):
        if wrong:
            own.write_bytes(wrong)
        with pytest.raises(DataError, match=message):
            sa.Policy.load(own)


@pytest.mark.parametrize("kind", LEARNT)
def test_forged_numbers_are_refused(kind, policies, tmp_path):
    """Each array with one more entry, or one out of range: refused, or a policy that still chooses
    among its ads.
    """
    arrays, described = saving._read(policies[kind][1])

    def forged(**changes):
        table = pa.table(
            {name: pa.array([held]) for name, held in (arrays | changes).items() if name in arrays}
        )
        about = described | {key: value for key, value in changes.items() if key not in arrays}
        table = table.replace_schema_metadata(files.encoded(about))
        with (
            pa.OSFile(str(tmp_path / "x"), "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table)
        return sa.Policy.load(tmp_path / "x")

    for name, values in arrays.items():
        for wrong in (
            np.append(values, values[:1]),
            values[1:],
            np.where(values == values, values + 10**6, 0),
        ):
            with suppress(DataError):
                assert {*forged(**{name: wrong}).predict(frame(20)[CONTEXTS])} <= {*"abc"}
    for key, value in (
        ("actions", ["a", "a", "b"]),
        ("untrained", ["z"]),
        ("settings", {"kind": "os:system"}),
        ("version", 2),
        ("threshold", "x"),
    ):
        with pytest.raises(DataError, match="not a saved policy"):
            forged(**{key: value})


# --- new visits


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_ads_are_shown_with_the_probabilities_that_are_logged(policies, epsilon):
    """By enumeration over a fine grid of u, each ad is shown in the share of cases that its
    propensity says.
    """
    policy, _ = policies["logistic"]
    one = pd.DataFrame({"kind": ["red"], "age": [40.0]})
    u = (np.arange(30_000) + 0.5) / 30_000
    action, propensity = applying.drawn(policy, pd.concat([one] * len(u)), u, epsilon)
    best = policy.actions.index(policy.predict(one)[0])
    for ad in range(3):
        expected = 1 - epsilon if ad == best else epsilon / 2
        assert np.mean(action == ad) == pytest.approx(expected, abs=1e-4)
        assert np.allclose(propensity[action == ad], expected)


def test_what_a_policy_logs_next_can_be_evaluated(policies):
    """Unbiased by enumeration: over all ads that may be shown, the weighted reward of any other
    policy is its own.
    """
    policy, other = policies["logistic"][0], policies["forest"][0]
    contexts = frame(50, 3)[CONTEXTS]
    shown, wanted = policy.predict_proba(contexts), other.predict_proba(contexts)
    rewards = np.random.default_rng(0).random(shown.shape)
    weighted = (shown * (wanted / shown) * rewards).sum(axis=1)
    np.testing.assert_allclose(weighted, (wanted * rewards).sum(axis=1))


@pytest.fixture
def visitors(tmp_path):
    """New visits in each form, with a column that is no feature; messy CSV has decimal commas, and
    is packed.
    """
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
        assert (metadata["seed"], metadata["epsilon"], metadata["input"]) == (
            5,
            0.25,
            files.sha256(path),
        )


def test_a_policy_goes_from_log_to_use_on_the_command_line(tmp_path, capsys):
    log, policy, new, shown = (
        tmp_path / name for name in ("log.csv", "policy.arrow", "new.csv", "shown.csv")
    )
    frame(1500).to_csv(log, index=False)
    frame(400, 1)[CONTEXTS].assign(visit=range(400)).to_csv(new, index=False)
    learning = ["--policy", "logistic", "--steps", "2000", "--lambdas", "0.1", "--epsilon", "0.2"]
    assert main(["ads", "fit", str(log), *learning, "--output", str(policy)]) == 0
    assert "logistic, learnt from 1,500 rows" in capsys.readouterr().out
    assert (
        main(
            [
                "ads",
                "apply",
                str(policy),
                str(new),
                "--keep",
                "visit",
                "--seed",
                "1",
                "--output",
                str(shown),
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "400 visits; ads shown:" in printed
    assert "20 % of them explore (seed 1); least propensity by design: 0.1" in printed
    rows = pd.read_csv(shown).merge(pd.read_csv(new), on="visit")
    next_log = rows.assign(
        reward=(rows["action"] == rows["kind"].map({"red": "a", "green": "b", "blue": "c"})) * 1
    )
    next_log.drop(columns="visit").to_csv(tmp_path / "next.csv", index=False)
    evaluated = [
        "ads",
        "evaluate",
        str(tmp_path / "next.csv"),
        "--policy",
        str(policy),
        "--least-propensity",
        "0.1",
    ]
    assert main([*evaluated, "--output", str(tmp_path / "table.json")]) == 0
    row = json.loads((tmp_path / "table.json").read_text())["policies"][-1]
    # its own log
    assert row["policy"] == "policy" and row["estimate"] == pytest.approx(next_log["reward"].mean())
    assert (
        main(["ads", "apply", str(policy), str(new), "--epsilon", "0", "--output", str(shown)]) == 0
    )
    assert "nothing is explored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made.drop(columns="age"), "no column 'age', a feature of the policy"),
        (
            lambda made: made.assign(age=made["age"].astype(object).where(made.index != 5, "old")),
            "row 6: age 'old' is not a number",
        ),
        (lambda made: made.iloc[:0], "it has no rows"),
        (lambda made: made.rename(columns={"kind": "kin"}), "Is it 'kin'? Rename it"),
    ],
)
def test_visits_that_cannot_be_used_leave_no_file(policies, tmp_path, change, message, capsys):
    change(frame(50, 1)[CONTEXTS]).to_csv(tmp_path / "new.csv", index=False)
    arguments = [
        str(policies["logistic"][1]),
        str(tmp_path / "new.csv"),
        "--output",
        str(tmp_path / "shown.csv"),
    ]
    assert main(["ads", "apply", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_no_visit_is_lost_in_a_text_whose_quotation_mark_is_left_open(policies, tmp_path, capsys):
    rows, path = [f"{20 + number},red\n" for number in range(40)], tmp_path / "new.csv"
    arguments = [str(policies["logistic"][1]), str(path), "--output", str(tmp_path / "shown.csv")]
    path.write_text("age,kind\n" + "".join([*rows[:10], '30,"red\n', *rows[10:]]))
    assert main(["ads", "apply", *arguments]) == 1
    assert "line 12: a quotation mark begins a text" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]
    path.write_text("age,kind\n" + "".join([*rows[:10], '30,"red\nor blue"\n', *rows[10:]]))
    assert applying.apply(policies["logistic"][0], path, tmp_path / "shown.csv").rows == 41


@pytest.mark.parametrize(
    ("column", "keep", "message"),
    [
        ({"age": [1.0, 2.0]}, [], "two columns are called 'age'"),
        ({"kind": [["red"], ["blue"]]}, [], "not a log whose column 'kind' holds texts"),
        (
            {"visit": [[1], [2]]},
            ["visit"],
            "shown.csv: cannot hold a column that is to be kept (Unsupported Type:list",
        ),
        (
            {"visit": [1, 2]},
            ["visit", "visit"],
            "--keep visit: another column that is written has this name",
        ),
        (
            {"action": ["a", "b"]},
            ["action"],
            "--keep action: another column that is written has this name",
        ),
        ({"visit": [1, 2]}, ["vist"], "'vist'"),
    ],
)
def test_columns_that_cannot_be_used_leave_no_file(
    policies, tmp_path, column, keep, message, capsys
):
    table = pa.table({"kind": ["red", "blue"], "age": [30.0, 40.0]})
    if "kind" in column:
        table = table.drop_columns("kind")
    for name, values in column.items():
        table = table.append_column(name, pa.array(values))
    pq.write_table(table, tmp_path / "new.parquet")
    arguments = [
        str(policies["logistic"][1]),
        str(tmp_path / "new.parquet"),
        "--output",
        str(tmp_path / "shown.csv"),
    ]
    assert main(["ads", "apply", *arguments, *(["--keep", *keep] if keep else [])]) == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["new.parquet"]


def test_visits_that_a_damaged_page_lacks_are_noticed(policies, tmp_path):
    table = pa.table({"age": [30.0, 40.0], "kind": ["red", "blue"]})
    path, plain = tmp_path / "new.parquet", {"use_dictionary": False, "write_statistics": False}
    pq.write_table(table, path, compression="none", **plain)
    content = path.read_bytes()
    path.write_bytes(content[:12] + b"\0" + content[13:])  # how many values the first page has
    with pytest.raises(DataError, match="0 rows, where its metadata say 2"):
        applying.apply(policies["logistic"][0], path, tmp_path / "shown.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["new.parquet"]


@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_texts_may_be_views(policies, visitors, tmp_path, output):
    """Arrow's `string_view`, in which polars keeps texts."""
    made, _ = visitors
    table = pa.Table.from_pandas(made, preserve_index=False)
    for at, name in enumerate(table.column_names):
        if pa.types.is_string(table.schema.types[at]) or pa.types.is_large_string(
            table.schema.types[at]
        ):
            table = table.set_column(at, name, table.column(name).cast(pa.string_view()))
    assert pa.string_view() in table.schema.types
    with (
        pa.OSFile(str(tmp_path / "new.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table)
    policy, target = policies["logistic"][0], tmp_path / f"shown.{output}"
    assert applying.apply(
        policy, tmp_path / "new.arrow", target, epsilon=0, keep=["note"]
    ).rows == len(made)
    read = pd.read_csv(target) if output == "csv" else pd.read_parquet(target)
    assert read["action"].tolist() == policy.predict(made).tolist() and set(read["note"]) == {"x;y"}
    log = frame(300)
    views = pa.table(
        {
            name: pa.array(values.tolist(), pa.string_view() if values.dtype == object else None)
            for name, values in log.astype({"kind": object, "action": object}).items()
        }
    )
    assert str(sa.Log.from_frame(views).check()) == str(sa.Log.from_frame(log).check())


@pytest.mark.parametrize(
    "metadata",
    [
        b"x",
        b"\xff",
        b"[]",
        b"{}",
        b'{"index_columns": ["none"], "columns": [], "column_indexes": []}',
        (
            b'{"index_columns": [], "columns": [], "column_indexes": [{"pandas_type": "none", '
            b'"numpy_type": "none"}]}'
        ),
    ],
)
def test_what_a_file_of_visits_says_for_pandas_does_not_matter(policies, tmp_path, metadata):
    table, policy = (
        pa.table({"age": [30.0, 40.0], "kind": ["red", "blue"]}),
        policies["logistic"][0],
    )
    for name, described in (
        ("plain", table),
        ("odd", table.replace_schema_metadata({b"pandas": metadata})),
    ):
        pq.write_table(described, tmp_path / f"{name}.parquet")
        for ending in ("csv", "parquet"):
            applying.apply(
                policy,
                tmp_path / f"{name}.parquet",
                tmp_path / f"to-{name}.{ending}",
                0,
                0,
                ["kind"],
            )
    assert (tmp_path / "to-odd.csv").read_bytes() == (tmp_path / "to-plain.csv").read_bytes()
    assert pq.read_table(tmp_path / "to-odd.parquet").equals(
        pq.read_table(tmp_path / "to-plain.parquet")
    )
