"""Roles of columns that have to be said: the id of a visit, and whose visit it was."""

import numpy as np
import pandas as pd
import pytest
from test_ads_api import frame
from test_ads_parts import written

import scant_ads as sa
from scant.errors import DataError, SettingError

ROWS = 1200


def made(seed=0, **columns) -> pd.DataFrame:
    return frame(ROWS, seed).assign(**columns)


def read(rows: pd.DataFrame, **columns) -> sa.Log:
    return sa.Log.from_frame(rows, columns)


def problems(log: sa.Log, *kinds) -> list[dict]:
    return [problem for problem in log.check()["problems"] if problem["kind"] in kinds]


def ids(rows=ROWS) -> np.ndarray:
    return np.random.default_rng(1).permutation(10**9 + np.arange(rows))


def test_neither_is_a_feature_and_both_have_to_be_said():
    others = {"key:id": 1, "id": 7, "user": np.arange(ROWS) % 5}
    rows = made(visit=ids(), who=[f"u{i % 300}" for i in range(ROWS)], **others)
    log = read(rows, id="visit", user="who")
    assert {*others} <= {*log.visits.names} and not {"visit", "who"} & {*log.visits.names}
    assert log.visits.id.shape == (ROWS, 2) and len(np.unique(log.visits.user)) == 300
    assert read(rows).visits.id is None and read(rows).visits.user is None
    with pytest.raises(SettingError, match="column 'visit' cannot be id and user"):
        read(rows, id="visit", user="visit")
    with pytest.raises(SettingError, match="unknown column 'vist'"):
        read(rows, id="vist")


@pytest.mark.parametrize("write", ["to_csv", "to_parquet"])
def test_ids_are_the_same_as_numbers_or_texts_in_any_file(tmp_path, write):
    numbers, rows = ids(), made()
    path = tmp_path / f"log.{write[3:]}"
    getattr(rows.assign(visit=numbers), write)(path, index=False)
    expected = read(rows.assign(visit=numbers.astype(str)), id="visit").visits.id
    np.testing.assert_array_equal(sa.Log.read(path, {"id": "visit"}).visits.id, expected)
    for kind in (float, object, "category", "string"):
        typed = rows.assign(visit=pd.Series(numbers).astype(kind))
        np.testing.assert_array_equal(read(typed, id="visit").visits.id, expected)
    assert len(np.unique(expected[:, 0])) == len(np.unique(expected[:, 1])) == ROWS


@pytest.mark.parametrize("role", ["id", "user"])
@pytest.mark.parametrize("lacking", [None, "", "NULL"])
def test_one_that_is_missing_is_an_error(role, lacking):
    values = [*map(str, ids())]
    values[3] = values[700] = lacking
    log = read(made(it=values), **{role: "it"})
    (problem,) = problems(log, "missing")
    assert problem["severity"] == "error" and problem["count"] == 2 and problem["place"] == "row 4"
    with pytest.raises(DataError, match=f"row 4: {role} is missing"):
        _ = log.visits


def test_rows_of_one_id_were_logged_twice_and_equal_rows_of_two_were_not():
    alike = made(age=1, colour="red", reward=0)  # rows that equal each other
    assert problems(read(alike.assign(visit=ids())), "duplicates") == []
    assert problems(read(alike.assign(visit=ids()), id="visit"), "duplicates", "lists") == []
    assert problems(read(alike), "duplicates")[0]["severity"] == "warning"
    twice = made(visit=ids())
    # the click came later
    twice = pd.concat([twice, twice.iloc[:30].assign(reward=lambda part: 1 - part["reward"])])
    (problem,) = problems(read(twice, id="visit"), "id-twice", "lists")
    assert (problem["severity"], problem["count"]) == ("error", 30)
    assert "logged twice" in problem["reason"]
    with pytest.raises(DataError, match=r"logged twice\. Keep one row of each"):
        sa.evaluate([], read(twice, id="visit"))


def test_rows_of_one_id_with_several_ads_share_a_visit():
    slates = made(request=np.arange(ROWS) // 3, position=np.arange(ROWS) % 3)
    (problem,) = problems(read(slates, id="request"), "duplicates", "lists")
    assert (problem["severity"], problem["count"]) == ("warning", ROWS * 2 // 3)
    second = np.arange(ROWS) == 1
    few = made(request=np.arange(ROWS) - second, position=second.astype(int))
    (problem,) = problems(read(few, id="request"), "duplicates", "lists", "requests")
    assert (problem["kind"], problem["count"]) == ("requests", 1)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("user_id", 100, "user"),
        ("userId", 100, "user"),
        ("SESSION_UUID", 100, "user"),
        ("user_age", 100, None),
        ("zip", 100, None),
        ("user", 5, None),
        ("user", ROWS, "id"),
    ],
)
def test_a_column_that_is_called_so_and_repeats_looks_like_users(name, values, kind):
    for texts in (str, int):
        code = (np.arange(ROWS) % values).astype(texts)
        found = problems(read(made(**{name: code})), "id", "user")
        assert [problem["kind"] for problem in found] == [kind] * (kind is not None)
        if kind == "user":
            assert f"--user {name} takes visits of one together" in found[0]["mend"]
            told = sa.evaluate([], read(made(**{name: code})))
            assert "Visits of one are not independent, which bounds ignore" in " ".join(told.notes)
            assert told.text().startswith(f"Careful: feature {name!r} has")


def test_rows_of_two_logs_are_the_same_if_their_ids_are():
    visit = ids(2 * ROWS)
    train, test = made(0, visit=visit[:ROWS]), made(1, visit=visit[ROWS:])
    # two ids of the training log, with other rows
    shared = test.assign(visit=[*visit[:2], *visit[ROWS + 2 :]])
    log = read(train, id="visit")
    with pytest.raises(DataError, match=r"2 of 1,200 rows are in data frame, too \(by chance: abo"):
        sa.evaluate([], read(shared, id="visit"), train=log)
    found = sa.evaluate([], read(shared, id="visit"), train=log, shared="drop")
    assert any("2 of 1,200 rows are in" in note and "left out" in note for note in found.notes)
    again = train.assign(visit=visit[ROWS:])  # the same rows, of other visits
    assert sa.evaluate([], read(again, id="visit"), train=log).rows
    bare = (sa.Log.from_frame(rows, ignore=["visit"]) for rows in (again, train))
    with pytest.raises(DataError, match=r"rows are in data frame, too|the same log"):
        sa.evaluate([], next(bare), train=next(bare))


def test_a_users_visits_stay_together_when_a_log_is_split(tmp_path):
    who = np.random.default_rng(3).integers(0, 200, ROWS)
    rows, chosen = made(who=who), []
    parts = sa.Log.read(written(tmp_path / "log", rows), {"user": "who"})
    for log in (read(rows, user="who"), parts):
        train, test = log.split(0.7, seed=4)
        chosen.append(train.chosen)
        assert not {*train.visits.user} & {*test.visits.user} and len({*train.visits.user}) == 140
        assert len(train) + len(test) == ROWS
    np.testing.assert_array_equal(*chosen)


def test_rows_of_a_request_stay_together_when_a_log_is_split(tmp_path):
    request = np.random.default_rng(3).integers(0, 400, ROWS)
    time = pd.Timestamp("2026-01-01") + pd.to_timedelta(request, "h")
    rows = made(request=request, position=range(ROWS), time=time)
    roles = {"id": "request", "timestamp": "time"}
    parts = sa.Log.read(written(tmp_path / "log", rows), roles)
    for log in (read(rows, **roles), parts):
        for by in ("random", "time"):
            train, test = log.split(0.5, by)
            parts = [{*rows["request"][part.chosen]} for part in (train, test)]
            assert not parts[0] & parts[1] and abs(len(train) - ROWS // 2) < 60
            assert by == "random" or max(parts[0]) < min(parts[1])
        train, test = log.split(0.5)
        assert sa.evaluate(["logistic"], test, train=train).rows
    with pytest.raises(SettingError, match="without any"):
        read(rows.assign(request=1), **roles).split(0.5, "time")
