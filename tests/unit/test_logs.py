from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from comparing import same
from hypothesis import given
from hypothesis import strategies as st

from scant import files
from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError


def log_of(rows=200, dimensions=3, offers=4, seed=0, **changes):
    random = np.random.default_rng(seed)
    made = Log(
        features=random.standard_normal((rows, dimensions)).astype(np.float32),
        action=random.integers(0, offers, rows, dtype=np.int32),
        reward=(random.random(rows) < 0.3).astype(np.float64),
        propensity=random.uniform(0.1, 1, rows),
        actions=tuple("abcdefgh"[:offers]),
        names=tuple(f"x{i}" for i in range(dimensions)),
    )
    return replace(made, **changes)


def full_log():
    log = log_of()
    times = np.datetime64("2019-11-24T00:03:13.442536", "us") + np.arange(
        len(log)
    ) * np.timedelta64(1, "s")
    return replace(log, position=np.arange(len(log), dtype=np.int32) % 3, timestamp=times)


@pytest.mark.parametrize(
    "log", [log_of(), full_log(), log_of(rows=1, dimensions=1)], ids=["plain", "full", "one row"]
)
def test_a_log_comes_back_from_its_file_as_it_was(log, tmp_path):
    logs.write(log, tmp_path / "log.parquet", {"policy": "uniform"})
    back, metadata = logs.read(tmp_path / "log.parquet")
    same(back, log)
    assert metadata["policy"] == "uniform" and metadata["rows"] == len(log)
    assert metadata["duplicates"] == 0


def test_a_log_of_several_row_groups_and_chunks_comes_back_in_order(tmp_path):
    log = log_of(rows=1_100_000, dimensions=1)  # pyarrow's row groups end at 2^20 rows
    logs.write(log, tmp_path / "log.parquet")
    same(logs.read(tmp_path / "log.parquet")[0], log)


def test_take_keeps_rows_and_ids():
    log = full_log()
    mask = log.action == 2
    part = log.take(mask)
    assert len(part) == mask.sum() and part.actions == log.actions
    np.testing.assert_array_equal(part.timestamp, log.timestamp[mask])
    same(part, log.take(np.flatnonzero(mask)))


def changed(name, row, value):
    log = full_log()
    column = getattr(log, name).copy()
    column[row] = value
    return replace(log, **{name: column})


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (changed("reward", 4, 1.01), r"row 5: reward 1.01 is not in \[0, 1\]"),
        (changed("reward", 4, np.nan), "row 5: reward nan"),
        (changed("propensity", 7, 0.0), r"row 8: propensity 0.0 is not in \(0, 1\]"),
        (changed("propensity", 7, np.nan), "row 8: propensity nan"),
        (changed("action", 0, 4), "row 1: action 4 is not among the 4 actions"),
        (changed("features", (9, 1), np.inf), "row 10: feature 'x1' is missing, or not finite"),
        (changed("timestamp", 3, np.datetime64("NaT")), "row 4: timestamp NaT"),
        (log_of().take(slice(0)), "the log has no rows"),
        (log_of(dimensions=0), "the log has no features"),
        (log_of(names=("x", "y", "x")), "two features are called 'x'"),
        (log_of(actions=("a", "b", "a", "d")), "two actions"),
        (log_of(reward=np.zeros(3)), "3 rows of reward for 200 actions"),
    ],
)
def test_what_is_no_log_is_neither_checked_nor_written(log, reason, tmp_path):
    with pytest.raises(DataError, match=f"here: {reason}"):
        logs.check(log, "here")
    with pytest.raises(DataError, match=reason):
        logs.write(log, tmp_path / "log.parquet")
    assert not list(tmp_path.iterdir())


def test_reading_refuses_other_files(tmp_path):
    path = tmp_path / "log.parquet"
    with pytest.raises(DataError, match="no such file"):
        logs.read(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match="not a readable parquet"):
        logs.read(path)
    pd.DataFrame({"x": [1.0]}).to_parquet(path)
    with pytest.raises(DataError, match="not an ads log"):
        logs.read(path)


def test_reading_checks_what_another_program_changed(tmp_path):
    path = tmp_path / "log.parquet"
    logs.write(log_of(), path)
    table = pq.read_table(path)
    bad = table.set_column(table.column_names.index("reward"), "reward", [np.full(len(table), 2.0)])
    files.write_parquet(bad, path, files.metadata_of(table.schema))
    with pytest.raises(DataError, match=r"row 1: reward 2\.0"):
        logs.read(path)


# Facts and duplicates


def test_facts_are_counts_by_action():
    log = log_of(
        rows=5,
        action=np.array([0, 0, 0, 2, 2], np.int32),
        reward=np.array([1, 0, 0.5, 0, 0]),
        propensity=np.array([0.2, 0.3, 0.4, 0.5, 0.6]),
        actions=("a", "b", "c"),
    )
    assert logs.by_ad(log) == [
        {"action": "a", "impressions": 3, "clicks": 1.5, "rate": 0.5},
        {"action": "b", "impressions": 0, "clicks": 0.0, "rate": None},
        {"action": "c", "impressions": 2, "clicks": 0.0, "rate": 0.0},
    ]


@given(st.integers(0, 2**32), st.integers(1, 60), st.booleans())
def test_duplicates_are_those_of_pandas(seed, rows, placed):
    random = np.random.default_rng(seed)
    log = Log(
        features=random.choice([-1.0, -0.0, 0.0, 2.0], (rows, 2)).astype(np.float32),
        action=random.integers(0, 2, rows, dtype=np.int32),
        reward=random.integers(0, 2, rows).astype(np.float64),
        propensity=random.choice([0.5, 1.0], rows),
        actions=("a", "b"),
        names=("x", "y"),
        position=random.integers(0, 2, rows, dtype=np.int32) if placed else None,
    )
    columns = {"x": log.features[:, 0], "y": log.features[:, 1], "a": log.action, "r": log.reward}
    columns |= {"p": log.propensity}
    frame = pd.DataFrame(columns | ({"position": log.position} if placed else {}))
    assert logs.duplicates(log) == frame.duplicated().sum()


def test_rows_at_different_times_are_no_duplicates():
    log = log_of().take(np.zeros(3, int))
    times = np.array(["2020-01-01T00:00", "2020-01-01T00:01", "2020-01-01T00:00"], "datetime64[us]")
    assert logs.duplicates(log) == 2
    assert logs.duplicates(replace(log, timestamp=times)) == 1


# Alignment


def test_align_moves_actions_and_features_to_the_places_of_another_log():
    log = log_of(offers=3)
    moved = logs.align(log, ("c", "new", "a", "b"), ("x2", "x0", "x1"))
    assert [moved.actions[a] for a in moved.action] == [log.actions[a] for a in log.action]
    np.testing.assert_array_equal(moved.features, log.features[:, [2, 0, 1]])
    assert moved.names == ("x2", "x0", "x1") and moved.action.dtype == np.int32
    same(logs.align(moved, log.actions, log.names), log)


def test_align_refuses_what_the_other_log_does_not_know():
    log = log_of(offers=3)
    with pytest.raises(DataError, match=r"test\.csv: 'b' not among the actions of the policy"):
        logs.align(log, ("a", "c"), where="test.csv")
    with pytest.raises(DataError, match="only one of the two logs has: 'x2', 'y'"):
        logs.align(log, log.actions, ("x0", "x1", "y"))


def test_align_puts_one_hot_columns_in_the_place_of_those_of_another_log():
    log = log_of(
        rows=2,
        features=np.array([[1, 0, 5], [0, 1, 6]], np.float32),
        names=("c=blue", "c=red", "age"),
    )
    moved = logs.align(log, log.actions, ("age", "c=green", "c=red"))
    assert moved.names == ("age", "c=green", "c=red") and moved.features.dtype == np.float32
    assert moved.features.tolist() == [[5, 0, 0], [6, 0, 1]]  # blue is unknown there
    assert moved.features.flags.c_contiguous


def test_align_refuses_a_variable_of_which_one_log_has_no_category():
    log = log_of(names=("c=blue", "c=red", "age"))
    with pytest.raises(DataError, match="only one of the two logs has: 'age', 'c', 'c='"):
        logs.align(log, log.actions, ("c",))
    with pytest.raises(DataError, match="only one of the two logs has: 'd='"):
        logs.align(log, log.actions, (*log.names, "d=1"))
