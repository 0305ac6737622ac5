"""`scant.play`: learners from Python, without a study."""

import gzip
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

import scant
from scant import notebook
from scant.data import tables
from scant.data.registry import Dataset, Part
from scant.errors import DataError, ScantError, SettingError
from scant.measures import rank
from scant.rankers.learners import NonFiniteScores


class First:
    """Leaves documents as they come."""

    def __init__(self, features, rate, random):
        pass

    def rank(self, features):
        return rank(np.zeros(len(features)))

    def learn(self, features, grades, ranking):
        assert (grades >= 0).sum() <= 2  # it sees two
        return False


class Watcher(First):
    """Keeps the lowest grade of each round that it sees, and the working folder."""

    seen: ClassVar[list] = []

    def learn(self, features, grades, ranking):
        print("seen")
        self.seen.append((min(grades), Path.cwd(), sys.stdout))
        return False


class Counter(First):
    """Keeps how many threads linear algebra has."""

    threads: ClassVar[set] = set()

    def learn(self, features, grades, ranking):
        self.threads.update(library["num_threads"] for library in threadpool_info())
        return False


class Unmade(First):
    def __init__(self, features, rate, random):
        raise KeyError("no device")


class Masked(First):
    def rank(self, features):
        return np.ma.masked_equal(super().rank(features), 0)


class Changing(First):
    def learn(self, features, grades, ranking):
        ranking[:] = 0


class Configured(First):
    settings: ClassVar = {"depth": 3}  # declares nothing


class Outer:
    class Inner(First):
        pass


class TooLarge:
    """Like a sparse matrix that no memory can hold as a dense one."""

    def toarray(self):
        raise MemoryError("Unable to allocate 74.5 GiB")


Later = type("First", (First,), {})  # another class of the name


def arrays(random, queries=20):
    features = random.random((10 * queries, 3))
    return features, (features[:, 0] > 0.7).astype(int), np.arange(10 * queries) // 10


def test_learners_of_ones_own_and_built_in_on_arrays_files_and_settings(tmp_path):
    """Each learner is compared on each stream, and the study that is written can be read."""
    features, grades, queries = arrays(np.random.default_rng(5))
    text = tmp_path / "patients.txt"
    lines = [
        f"{grade} qid:{query} 1:{x[0]!r} 2:{x[1]!r} 3:{x[2]!r}\n"
        for x, grade, query in zip(features.tolist(), grades, queries, strict=True)
    ]
    text.write_text("".join(lines))
    linear = {"generator": "linear", "settings": {"queries": 9}}
    streams = [(features, grades, queries), text, linear]
    ridge = {"kind": "ridge", "lambdas": [1.0]}
    board = scant.play(ridge, streams, [First, "random", ridge], seeds=13, k=2, rounds=40)
    assert isinstance(board, notebook.Leaderboard)
    means = board.pivot_table("mean", "learner", "stream", sort=False)
    assert {*means} == {"arrays", "patients", "linear"}
    assert {*means.index} == {"ridge", "first", "random", "ridge-2"}
    of_twins = board[board["learner"] == "ridge-2"]
    assert (of_twins["difference"] == 0).all() and (of_twins["ahead"] == 0).all()
    assert (of_twins["verdict"] == "undecided").all()
    of_random = board[board["learner"] == "random"].set_index("stream")
    assert of_random.loc["arrays", "verdict"] == "holds" and of_random.loc["arrays", "ahead"] == 13
    difference = means.loc["ridge"] - means.loc["random"]
    np.testing.assert_allclose(of_random.loc[difference.index, "difference"], difference)
    given = board.given["learners"]
    assert given["first"]["k"] == given["ridge"]["k"] == 2 and "k" not in given["random"]
    assert board.given["datasets"]["patients"]["features"] == 3
    file = board.study(tmp_path / "study.yaml")
    assert notebook.settings.load(notebook.yaml.safe_load(file.read_text()))


class Broken(First):
    def rank(self, features):
        raise NonFiniteScores


@pytest.mark.parametrize("first", [Broken, First])
def test_a_learner_whose_runs_all_failed_has_a_row_without_numbers(first):
    against = First if first is Broken else Broken
    data = arrays(np.random.default_rng(5))
    board = scant.play(first, data, against, seeds=12, k=2, rounds=10).set_index("learner")
    assert board.loc["broken", "n"] == 0 and np.isnan(board.loc["broken", "mean"])
    assert board.loc["first", "n"] == 12 and board["verdict"].dropna().tolist() == ["undecided"]


def test_the_other_side_is_at_its_best():
    """The papers' estimate has its constant chosen, unless another list is."""
    grid = notebook.GRIDS["mismatch"]
    papers = {"kind": "rtop", "surrogate": "squared"}
    assert notebook._learner(papers, 1)[1]["mismatch"] == grid
    assert notebook._learner(papers | {"mismatch": 10}, 1)[1]["mismatch"] == 10
    assert "mismatch" not in notebook._learner(papers | {"gamma": [0.1, 0.3]}, 1)[1]
    assert "alphas" not in notebook._learner("ridge", 1)[1]
    assert notebook._learner({"kind": "ridge", "explore": "ucb"}, 1)[1]["alphas"]


@pytest.mark.parametrize(
    ("learner", "streams", "message"),
    [
        ("listnte", "linear", "did you mean 'listnet'"),
        ("listnet", "digts", "did you mean 'digits'"),
        ("listnet", "x" * 300, "unknown generator, data set or file"),
        ("slam", "linear", "do not play in one experiment"),
        ("listnet", 3, "a stream is .* no instance of int"),
        ("listnet", pd.DataFrame({"f1": [1]}), "no instance of DataFrame"),
        ("listnet", {"title": "Neither"}, "streams.stream"),
        ("listnet", {"dataset": 3}, "3 is not of type 'string'"),
        ("listnet", {"generator": First}, "'type' is no setting"),
        (
            "listnet",
            ("linear", "digits"),
            "a tuple is of three arrays, .*missing 1 required positional argument: 'queries'",
        ),
        *((one, "linear", "is no learner") for one in (None, First(1, 1, 1), ["ridge"], len)),
        (pd.Series([1, 2]), "linear", r"0    1\\n1    2\\ndtype: int64 is no learner"),
        (Outer.Inner, "linear", "as its module has it now, outside of functions and classes"),
        (Later, "linear", "as its module has it now"),
        ({"kind": "nowhere:Mine"}, "linear", "No module named 'nowhere'"),
    ],
)
def test_what_cannot_be_played_is_refused(learner, streams, message):
    with pytest.raises(SettingError, match=message):
        scant.play(learner, streams, against="ridge", seeds=2, rounds=5)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Unmade, "cannot be made with its options: KeyError: 'no device'"),
        (Masked, r"round 1: ValueError: values are masked"),
        (Changing, r"round 1: ValueError: .* read-only \(.*test_notebook"),
    ],
)
def test_what_a_class_does_that_it_cannot_is_said(learner, message):
    with pytest.raises(SettingError, match=message):
        scant.play(learner, "linear", "random", seeds=1, rounds=5)


@pytest.mark.parametrize("value", [0, False, True, -1, "3", [2], 2.0, float("nan")])
@pytest.mark.parametrize("name", ["seeds", "rounds", "k", "lists"])
def test_a_number_is_a_whole_one_from_1(name, value):
    with pytest.raises(SettingError, match=f"{name} is .*; a whole number from 1 is expected"):
        scant.play(First, "linear", **{name: value})


@pytest.mark.parametrize("name", ["seeds", "rounds"])
def test_a_number_of_seeds_and_rounds_is_needed(name):
    with pytest.raises(SettingError, match=f"{name} is None"):
        scant.play(First, "linear", **{name: None})


def test_a_class_of_ones_own_sees_every_grade_and_the_process_stays_as_it_is(tmp_path, monkeypatch):
    """In a thread, what it prints goes where it went before, and nothing is written but in the
    folder for temporary files.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Watcher, "seen", [])
    monkeypatch.setattr(os, "chdir", None)
    data = arrays(np.random.default_rng(5))
    with ThreadPoolExecutor() as pool:
        alone = pool.submit(scant.play, Watcher, data, "random", np.int64(2), None, 30)
        board = scant.play(Watcher, [data, "linear"], "random", seeds=2, rounds=30)
    pd.testing.assert_frame_equal(alone.result(), board[board["stream"] == "arrays"])
    assert {row[1:] for row in Watcher.seen} == {(tmp_path, sys.stdout)}
    assert min(row[0] for row in Watcher.seen) == 0
    assert not any(tmp_path.iterdir()) and not any("scant-" in path for path in sys.path)
    assert dict(zip(board["stream"], board["features"], strict=True)) == {
        "arrays": "query-minmax",
        "linear": "as-is",
    }


def test_linear_algebra_has_one_thread_while_learners_play():
    before = threadpool_info()
    scant.play(Counter, "linear", "random", seeds=2, rounds=30)
    after = threadpool_info()
    assert Counter.threads == {1} and all(library in after for library in before)


def test_names_of_streams_are_ids_and_each_its_own():
    named = [("data-2", {"a": 1}), ("data", {"b": 2}), ("data", {"c": 3}), ("data", {"d": 4})]
    assert [*notebook._by_id(named)] == ["data-2", "data", "data-3", "data-4"]
    assert [*map(notebook._id, ("My Data (1)", "Größe", "_", "m:Mine"))] == [
        *("my-data-1", "gr-e", "unnamed", "m-mine")
    ]


GRADED = arrays(np.random.default_rng(8), queries=4)


def changed(features=None, grades=None, queries=None):
    """The arrays, each changed by a function if there is one."""
    changes = zip((features, grades, queries), GRADED, strict=True)
    return tuple(change(array) if change else array for change, array in changes)


def test_other_kinds_of_arrays_give_the_results_of_plain_ones():
    swapped = changed(*[lambda one: one.astype(one.dtype.newbyteorder(">"))] * 3)
    boards = [scant.play("slam", one, [], seeds=1, rounds=9) for one in (GRADED, swapped)]
    pd.testing.assert_frame_equal(*boards)


@pytest.mark.parametrize(
    "same",
    [
        changed(*[lambda one: one.astype(np.longdouble)] * 3),
        changed(*[lambda one: one.astype(object)] * 3),
        changed(*[lambda one: one.tolist()] * 3),
        changed(*[lambda one: np.repeat(one, 2, axis=0)[::-2][::-1]] * 3),
        changed(np.asfortranarray, np.ma.asarray, pd.Categorical),
        changed(sparse.csr_array, lambda one: one > 0, lambda one: one.astype(np.float16)),
        changed(
            lambda one: pd.DataFrame(one).astype("Float64"), pd.Series, lambda one: one.astype(str)
        ),
        changed(None, lambda one: pd.array(one, "Int64"), lambda one: pd.Series(one.astype(str))),
        changed(None, None, lambda one: pd.Categorical(one.astype(str))),
        changed(None, None, lambda one: one.astype(np.dtypes.StringDType())),
    ],
)
def test_arrays_are_read_whatever_holds_them(same, tmp_path):
    """So are those of a function of one's own, which are read in the same way."""
    for one in same:
        if isinstance(one, np.ndarray):
            one.flags.writeable = False
    toy = {"parts": {"all": Part("all", "own")}, "cover": ("all",), "folder": "toy"}
    pq.write_table(tables.of_arrays(*same), tmp_path / "own")
    tables.convert(
        Dataset("toy", "ranking", "parquet", 3, **toy), "all", tmp_path / "own", tmp_path / "t"
    )
    [(queries, grades, features)] = tables.read_ranking(tmp_path / "t")
    np.testing.assert_array_equal(features, GRADED[0].astype(np.float32))
    assert (queries == GRADED[2]).all() and (grades == GRADED[1]).all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (changed(lambda one: np.ma.masked_greater(one, 0.9)), "values are masked"),
        (changed(lambda one: [*np.ma.masked_greater(one, 0.9)]), "values are masked"),
        (changed(None, lambda one: pd.array([None, *one[1:]], "Int64")), "masked or missing"),
        (changed(lambda one: pd.DataFrame(one).astype("Float64").mask(one > 0.9)), "<NA>"),
        (changed(None, None, lambda one: one.astype("M8[D]")), "an array has the type datetime64"),
        (changed(None, None, lambda one: [1, *one[1:].astype(str)]), "Could not convert"),
        (changed(None, None, lambda one: np.array([2**70, *one[1:]])), "int too large"),
        (changed(lambda one: [[1, 2], [3]]), "inhomogeneous shape"),
        (changed(lambda one: TooLarge()), "Unable to allocate"),
        (changed(None, lambda one: one.astype(str)), "column 'grade' has type string"),
    ],
)
def test_an_array_that_cannot_be_read_is_said_in_a_line(arrays, message):
    with pytest.raises(ScantError, match=message) as refused:
        scant.play("listnet", arrays, "random", seeds=1, rounds=9)
    assert "\n" not in str(refused.value) and "scant-" not in str(refused.value)


def test_a_file_is_read_by_what_it_holds(tmp_path, monkeypatch):
    text = "2 qid:1 1:3 2:1\n0 qid:1 1:2\n"
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    table = pd.DataFrame({"query": ["x", "x"], "grade": [2, 0], "f1": [3, 2], "f2": [1, 0]})
    table.to_parquet(tmp_path / "b.csv")
    table.to_csv(tmp_path / "c.csv.gz", index=False)
    files = sorted(tmp_path.iterdir())
    board = scant.play("listnet", files, "random", seeds=1, rounds=5)
    assert [entry["features"] for entry in board.given["datasets"].values()] == [2, 2, 2]
    for bad in (text.encode(), gzip.compress(text.encode())[:-9]):
        (tmp_path / "d.txt.gz").write_bytes(bad)
        with pytest.raises(DataError, match="packed by gzip if its name ends"):
            scant.play("listnet", tmp_path / "d.txt.gz")
    monkeypatch.setattr(notebook, "_of_file", TooLarge.toarray)
    with pytest.raises(DataError, match=r"c\.csv\.gz: a line of it is larger than memory"):
        scant.play("listnet", tmp_path / "c.csv.gz")


def test_a_class_of_a_notebook_has_no_study(tmp_path):
    board = notebook.Leaderboard()
    board.given = {"learners": {"mine": {"kind": "__main__:Mine"}}, "datasets": {}}
    with pytest.raises(SettingError, match="Mine is defined in a notebook"):
        board.study(tmp_path / "study.yaml")
    assert not (tmp_path / "study.yaml").exists()
