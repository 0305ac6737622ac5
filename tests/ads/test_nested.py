"""Columns of objects are taken apart: JSON in texts, structs of parquet, Arrow, data frames."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ads_logs import problems
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ads_parts import written

import scant_ads as sa
from scant.errors import DataError, SettingError
from scant_ads.diagnosis import overview
from scant_ads.policies import applying
from scant_ads.reading import layout, nested, summing

ROWS = 400


def contexts(rows=ROWS, seed=0):
    """Contexts: a number, a truth value, two texts, one deeper, a list; each lacks some keys."""
    random = np.random.default_rng(seed)
    found = []
    for row in range(rows):
        made = {
            "age": int(random.integers(18, 80)),
            "vip": bool(random.random() < 0.2),
            "city": str(random.choice(["Ulm", "Köln"])),
            "geo": {"lat": float(random.normal()), "zone": str(random.choice(["a", "b", "c"]))},
            "tags": [1, 2],
        }
        found.append({key: made[key] for key in made if row == 0 or random.random() < 0.9})
    return found


def plain(made):
    """The same contexts, a column for each key, by pandas."""
    frame = pd.json_normalize(made).add_prefix("context.").drop(columns="context.tags")
    vip = frame["context.vip"].astype("boolean").astype("Float64").astype(float)
    return frame.assign(**{"context.vip": vip})


def log(made, **more):
    rows, random = len(made), np.random.default_rng(1)
    columns = {"action": random.choice(["a", "b"], rows), "reward": random.integers(0, 2, rows)}
    columns |= {"propensity": 0.5, "context": [*map(json.dumps, made)]}
    columns |= {"x": random.normal(size=rows)}
    return pd.DataFrame(columns).assign(**more)


def arrays(log):
    """Features of a log by name, texts as texts."""
    visits = log.visits
    found = {}
    for at, name in enumerate(visits.names):
        column = visits.features[:, at]
        texts = visits.categories.get(name)
        found[name] = column.tolist() if texts is None else [texts[int(code)] for code in column]
    return found


def test_json_struct_and_plain_columns_are_the_same_features(tmp_path):
    made = contexts()
    frame = log(made)
    bare = frame.drop(columns="context")
    expected = arrays(sa.Log.from_frame(pd.concat([bare, plain(made)], axis=1)))
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    frame.astype({"context": "category"}).to_parquet(tmp_path / "coded.parquet")
    frame.assign(context=made).to_parquet(tmp_path / "struct.parquet")
    logs = [sa.Log.read(path) for path in sorted(tmp_path.iterdir())]
    table = pa.table({**bare, "context": pa.array(made)})
    logs += map(sa.Log.from_frame, (frame, frame.assign(context=made), table))
    for one in logs:
        np.testing.assert_equal(arrays(one), expected)
        (problem,) = one.problems
        assert problem.kind == "list" and "'context.tags' holds lists" in problem.reason


def test_columns_may_be_left_out_or_taken_as_text(tmp_path):
    made = contexts()
    frame = log(made)
    written(tmp_path / "json", frame, 1)
    written(tmp_path / "struct", frame.assign(context=made), 1)
    frame.to_csv(tmp_path / "log.csv", index=False)
    for name in ("log.csv", "json", "struct"):

        def names(name=name, **options):
            return sa.Log.read(tmp_path / name, **options).visits

        assert names(ignore=["context"]).names == ("x",)
        some = names(ignore=["context.geo", "context.age"], categorical=["context.vip"])
        assert {*some.names} == {"x", "context.vip", "context.city"}
        assert {*some.categories} == {"context.vip", "context.city"}
        columns = sa.Log.read(tmp_path / name, ignore=["context.geo"]).column_names
        assert {"context.geo", "context.age"} <= {*columns}
    assert [*sa.Log.from_frame(frame, categorical=["context"]).visits.categories] == ["context"]


def test_mixed_values():
    """Numbers among texts are texts; numeric texts among numbers are numbers; truth is 0 and 1."""
    made = [{"a": 1, "b": "x", "c": True, "d": float("nan")}] * 9 + [
        {"a": "2.5", "b": 7.0, "c": None, "d": 3}
    ]
    found = arrays(sa.Log.from_frame(log(made)))
    assert found["context.a"] == [1.0] * 9 + [2.5] and found["context.b"] == ["x"] * 9 + ["7"]
    assert repr(found["context.c"]) == repr([1.0] * 9 + [np.nan])
    assert np.isnan(found["context.d"][:9]).all()


def test_dictionaries_of_a_frame_may_have_values_of_different_types():
    made = [{"a": np.int64(1), "b": "x"}] * 9 + [{"a": "2.5", "b": 7.0}]
    frame = log([{}] * 10).assign(context=made)
    texts = log([{"a": 1, "b": "x"}] * 9 + [made[9]])
    assert arrays(sa.Log.from_frame(frame)) == arrays(sa.Log.from_frame(texts))
    frame.loc[3, "context"] = '{"a": 1, "b": "x"}'
    assert arrays(sa.Log.from_frame(frame)) == arrays(sa.Log.from_frame(texts))
    with pytest.raises(DataError, match="data frame: not a data frame with columns of numbers"):
        sa.Log.from_frame(frame.assign(x=[object()] * 10))


def test_malformed_objects_are_named_with_their_place(tmp_path):
    frame = log(contexts())
    frame.loc[[7, 20], "context"] = ['{"age": 3', "[1]"]
    frame.to_csv(tmp_path / "log.csv", index=False)
    written(tmp_path / "folder", frame, 80)
    message = "context '{\"age\": 3' is no JSON object; most cells are.*categorical=\\['context'\\]"
    for path, place in (("log.csv", "line 9"), ("folder", "001.parquet, row 3")):
        with pytest.raises(DataError, match=f"{place}: {message}"):
            assert sa.Log.read(tmp_path / path).visits
        assert problems(sa.Log.read(tmp_path / path))["json"]["count"] == 2
    twice = log([{"a": {"b": 1}}] * 20)
    twice.loc[3, "context"] = '{"a": {"b": 1}, "a.b": 2}'
    with pytest.raises(DataError, match="row 4: context"):
        assert sa.Log.from_frame(twice).visits


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ('{"age": 3, "age": 4}', "has the key 'age' twice in one object"),
        (f'{{"age": {"9" * 400}}}', "has a whole number of 400 digits"),
    ],
)
def test_json_that_python_reads_and_nobody_means_is_refused_with_its_place(tmp_path, cell, reason):
    frame = log(contexts())
    for rows in ([7], range(ROWS)):
        frame.loc[rows, "context"] = cell
        frame.to_csv(tmp_path / "log.csv", index=False)
        place = f"line {rows[0] + 2}: context '{{\"age\": .*' {reason}"
        with pytest.raises(DataError, match=place):
            assert sa.Log.read(tmp_path / "log.csv").visits


def test_missing_cells_lack_all_keys():
    frame = log(contexts())
    frame.loc[[3, 4, 5, 6], "context"] = [None, "", "NA", "null"]
    found = arrays(sa.Log.from_frame(frame))
    assert np.isnan(found["context.age"][3:7]).all() and found["context.city"][3:7] == [""] * 4


def test_a_name_that_a_column_has_is_refused():
    with pytest.raises(DataError, match=r"two columns are called 'context.age'"):
        sa.Log.from_frame(log(contexts(), **{"context.age": 1.0}))


def test_objects_that_python_wrote_are_those_of_json():
    made = contexts()
    frame = log(made)
    found = sa.Log.from_frame(frame.assign(context=list(map(str, made))))
    assert str(arrays(found)) == str(arrays(sa.Log.from_frame(frame)))  # NaN equals nothing


def test_objects_that_are_not_json_are_one_text_and_told():
    made = contexts()
    texts = [f"{{'at': datetime.date(2026, 1, {at % 9})}}" for at in range(ROWS)]
    one = sa.Log.from_frame(log(made).assign(context=texts))
    assert "context" in one.visits.categories
    problem = problems(one)["braces"]
    assert "not JSON" in problem["reason"] and "json.dumps" in problem["mend"]
    ids = log(made).assign(context=[f"{{0f8-{at % 9}}}" for at in range(ROWS)])
    assert not sa.Log.from_frame(ids).problems


def test_keys_that_are_values_are_refused():
    made = [{f"user{at}": 1} for at in range(nested.MOST + 1)]
    with pytest.raises(DataError, match="context has more than 1,000 keys, as if they were"):
        sa.Log.from_frame(log(made))
    assert sa.Log.from_frame(log(made), ignore=["context"]).visits.names == ("x",)


def test_roles_id_and_user_may_be_in_an_object(tmp_path):
    made = [{"user": at // 2, "age": at} for at in range(40)]
    frame = log(made)
    frame.to_csv(tmp_path / "log.csv", index=False)
    written(tmp_path / "folder", frame)
    whole = sa.Log.from_frame(frame.assign(context=made), columns={"user": "context.user"}).visits
    for path in ("log.csv", "folder"):
        one = sa.Log.read(tmp_path / path, columns={"user": "context.user"})
        assert {*one.visits.names} == {"x", "context.age"}
        np.testing.assert_array_equal(one.visits.user, whole.user)
        assert len(np.unique(whole.user)) == 20 and "user" in one.source.optional
        with pytest.raises(SettingError, match=r"'context.usr': did you mean 'context.user'"):
            sa.Log.read(tmp_path / path, columns={"user": "context.usr"}).check()


# --- rows after the first ones
def test_a_key_that_comes_late_is_left_out_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "HEAD", 50)
    made = [{"age": at % 7} for at in range(200)]
    made[120] |= {"new": 1}
    made[150] |= {"new": 2, "other": 3}
    made[60] |= {"none": None}
    frame = log(made)
    frame.to_csv(tmp_path / "log.csv", index=False)
    (problem,) = sa.Log.read(tmp_path / "log.csv").check()["problems"]
    assert "'context.new' has no value in the first 50 rows" in problem["reason"]
    assert (problem["severity"], problem["count"], problem["place"]) == ("warning", 2, "line 122")
    made[170]["age"] = [1]
    with pytest.raises(DataError, match=r"row 171: context.age is a list here"):
        assert sa.Log.from_frame(log(made)).visits


def test_a_text_that_comes_late_among_numbers_is_an_error(monkeypatch):
    monkeypatch.setattr(layout, "HEAD", 50)
    made = [{"age": at % 7} for at in range(100)]
    made[80]["age"], made[90]["age"] = "12", True
    assert arrays(sa.Log.from_frame(log(made)))["context.age"][80:91:10] == [12, 1]
    made[80]["age"] = "old"
    with pytest.raises(DataError, match=r"row 81: context.age 'old' is not a number; most cells"):
        assert sa.Log.from_frame(log(made)).visits


TEXTS = st.sampled_from(["x", "3", "", "y"])
VALUES = st.one_of(st.none(), st.integers(-5, 5), st.floats(-2, 2), st.booleans(), TEXTS)
OBJECTS = st.dictionaries(
    st.sampled_from(["a", "b"]), st.one_of(VALUES, st.dictionaries(st.just("c"), VALUES))
)


@settings(max_examples=15, deadline=None)
@given(
    made=st.lists(OBJECTS, min_size=6, max_size=30),
    cut=st.integers(1, 5),
    batch=st.sampled_from([1, 4, 100]),
)
def test_however_rows_are_parted_the_report_is_the_same(tmp_path_factory, made, cut, batch):
    folder = tmp_path_factory.mktemp("log")
    frame = log(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "HEAD", 5)
        frame.to_csv(folder / "log.csv", index=False)
        (folder / "parts").mkdir()
        frame.iloc[:cut].to_parquet(folder / "parts/0.parquet")
        frame.iloc[cut:].to_parquet(folder / "parts/1.parquet")
        found = []
        for name, rows in (("log.csv", 10**6), ("log.csv", batch), ("parts", batch)):
            one = sa.Log.read(folder / name)
            facts = overview.facts(one, summing.summary(one, rows=rows)) | {"form": ""}
            facts["problems"] = [problem | {"place": ""} for problem in facts["problems"]]
            found.append(repr(facts))
        assert found[0] == found[1] == found[2]


# --- new visits
def test_a_policy_is_used_on_new_visits_with_the_column(tmp_path):
    made, other = contexts(600), contexts(seed=5)
    policy = sa.Policy("logistic", steps=500, lambdas=(0.1,)).fit(log(made))
    expected = policy.predict_proba(log(other))
    flat = pd.concat([log(other).drop(columns="context"), plain(other)], axis=1)
    bare = log(other)[["x", "context"]]
    bare.to_csv(tmp_path / "new.csv", index=False)
    bare.to_parquet(tmp_path / "new.parquet")
    bare.assign(context=other).to_parquet(tmp_path / "struct.parquet")
    bare.assign(context=other).to_feather(tmp_path / "struct.arrow")
    for visits in (bare, bare.assign(context=other), flat, sa.Log.from_frame(log(other))):
        np.testing.assert_array_equal(policy.predict_proba(visits), expected)

    for name in ("new.csv", "new.parquet", "struct.parquet", "struct.arrow"):
        keep = ["context"] if name.startswith("new") else []
        applying.apply(policy, tmp_path / name, tmp_path / "shown.parquet", seed=1, keep=keep)
        shown = pd.read_parquet(tmp_path / "shown.parquet")
        assert shown["action"].tolist() == policy.predict(bare).tolist()
        assert not keep or shown["context"].tolist() == bare["context"].tolist()


def test_new_visits_may_lack_keys_and_have_others():
    policy = sa.Policy("logistic", steps=500, lambdas=(0.1,)).fit(log(contexts()))
    one = pd.DataFrame({"x": [0.5], "context": ['{"age": 30, "more": 1}']})
    keys = {"age": 30, "vip": np.nan, "geo.lat": np.nan, "city": "", "geo.zone": ""}
    same = pd.DataFrame([keys]).add_prefix("context.").assign(x=0.5)
    expected = policy.choice(same).best
    for context in (one["context"], [{"age": 30, "more": 1}], [{"age": 30, "tags": [1]}]):
        assert policy.choice(one.assign(context=context)).best == expected
    nothing = policy.choice(pd.DataFrame({"x": [0.5], "context": [None]})).best
    assert nothing == policy.choice(pd.DataFrame({"x": [0.5], "context": ["{}"]})).best
    for wrong, message in (
        (one.assign(context="red"), "row 1: context 'red' is no JSON object"),
        (one.assign(context='{"age": "red"}'), "row 1: context.age 'red' is not a number"),
        (one.assign(context=3), "'context.age', a feature of the policy, nor objects"),
        (one.drop(columns="context"), "there is no column 'context.age', a feature of the policy"),
    ):
        with pytest.raises(DataError, match=message):
            policy.predict(wrong)
