"""Parquet tables: what goes in comes out, whole queries together, and nothing half-written."""

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scant import files
from scant.data import letor, logs, tables
from scant.data.registry import Dataset, Part
from scant.errors import DataError, SettingError

RANKING = "2 qid:7 1:0.5 2:-1 #a\r\n0 qid:7 2:3\r\n\r\n0 qid:3\r\n"


def dataset(task="ranking", parser="letor", features=2, part=None, **settings):
    parts = {"test": Part("test", "file.txt", **(part or {}))}
    common = {"cover": ("test",), "folder": "toy"}
    return Dataset("toy", task, parser, features, parts, **{**common, **settings})


def convert(folder, content, toy):
    original, target = folder / "original", folder / "table.parquet"
    original.write_bytes(content.encode())
    tables.convert(toy, "test", original, target)
    return target


def own_parquet(folder, columns):
    path = folder / "own.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_a_ranking_table(tmp_path):
    path = convert(tmp_path, RANKING, dataset(grades=2, part={"rows": 3, "queries": 2}))
    schema = pq.read_schema(path)
    assert [f"{field.name} {field.type}" for field in schema] == [
        "query int64",
        "grade int16",
        "f1 float",
        "f2 float",
    ]
    assert files.metadata_of(schema) == {
        "dataset": "toy",
        "part": "test",
        "task": "ranking",
        "rows": 3,
        "queries": 2,
        "features": 2,
        "source_sha256": hashlib.sha256(RANKING.encode()).hexdigest(),
        "grades": {"0": 2, "2": 1},
    }
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    [(query, grade, features)] = tables.read_ranking(path)
    assert query.tolist() == [7, 7, 3] and grade.tolist() == [2, 0, 0]
    assert features.tolist() == [[0.5, -1], [0, 3], [0, 0]]
    assert (query.dtype, grade.dtype, features.dtype) == (np.int64, np.int16, np.float32)
    assert features.flags.c_contiguous


def test_a_table_of_rounded_grades_keeps_those_of_the_file(tmp_path):
    toy = dataset(parser="letor-qid-in-comment", fractions="half-up", grades=4)
    path = convert(tmp_path, "0.5 1:1 # 7\n2.33333 2:1 # 7\n3 1:2 # 9\n", toy)
    table = pq.read_table(path)
    assert table.column_names == ["query", "grade", "printed", "f1", "f2"]
    assert table["grade"].to_pylist() == [1, 2, 3]
    np.testing.assert_array_equal(table["printed"], np.float32([0.5, 2.33333, 3]))
    [(query, grade, features)] = tables.read_ranking(path)
    assert (query.tolist(), grade.tolist()) == ([7, 7, 9], [1, 2, 3])
    assert features.tolist() == [[1, 0], [0, 1], [2, 0]]


def test_a_classification_table(tmp_path):
    toy = dataset("classification", "csv-label-last", classes=("0", "1"))
    path = convert(tmp_path, "1,2,0\n3,4,1\n5,6,0\n", toy)
    metadata = files.metadata_of(pq.read_schema(path))
    assert (
        metadata["classes"] == {"0": 2, "1": 1}
        and metadata["rows"] == 3
        and "queries" not in metadata
    )
    features, labels = tables.read_classification([path, path])
    assert labels.tolist() == ["0", "1", "0"] * 2
    assert features.tolist() == [[1, 2], [3, 4], [5, 6]] * 2 and features.dtype == np.float32


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(64, 2000))
def test_row_groups_hold_whole_queries(tmp_path_factory, sizes, block):
    folder = tmp_path_factory.getbasetemp()
    queries = np.repeat(np.arange(len(sizes)), sizes)
    original = folder / "rows.txt"
    original.write_text("".join(f"{i % 3} qid:{query} 1:{i}\n" for i, query in enumerate(queries)))
    blocks = list(tables.whole_queries(letor.read_letor(original, 1, block=block)))
    assert np.concatenate([block.query for block in blocks]).tolist() == queries.tolist()
    assert np.concatenate([block.features for block in blocks])[:, 0].tolist() == list(
        range(len(queries))
    )
    ends = [(block.query[0], block.query[-1]) for block in blocks]
    assert all(before[1] != after[0] for before, after in pairwise(ends))


def test_large_files_become_several_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "FLOATS", 20)
    text = "".join(f"0 qid:{i // 4} 1:{i} 2:1\n" for i in range(50))
    path = convert(tmp_path, text, dataset())
    assert pq.ParquetFile(path).num_row_groups > 3
    groups = list(tables.read_ranking([path]))
    assert np.concatenate([x for _, _, x in groups])[:, 0].tolist() == list(range(50))
    assert len(set.union(*[set(q.tolist()) for q, _, _ in groups])) == sum(
        len(set(q)) for q, _, _ in groups
    )


LOG = "action,reward,propensity,age\nb,1,0.5,30\na,0,0.25,41.5\nb,0,0.5,-2\n"


@pytest.mark.parametrize(
    ("kind", "content", "part", "reason"),
    [
        ((), RANKING + "0 qid:1 1:nan\n", {}, "line 5: the value of feature 1 is not finite"),
        ((), RANKING + "0 qid:7 1:1\n", {}, "line 5: query 7 goes on here"),
        ((), RANKING, {"rows": 4}, "3 rows; toy/test has 4"),
        ((), RANKING, {"queries": 1}, "2 queries; toy/test has 1"),
        ((), "", {}, "no rows"),
        (
            (),
            "\n<!DOCTYPE html>\n<p>Sign in",
            {},
            "it is a web page, as a server sends it in place of the file",
        ),
        (("ads", "log", None), LOG + "a,2,1,1\n", {}, "line 5: reward 2.0 is not in [0, 1]"),
        (("ads", "log", None), LOG[:-5], {}, "line 4 has 3 fields, the header 4"),
        (("ads", "log", None), "PAR1" + LOG, {}, "not a readable parquet file"),
    ],
)
def test_nothing_is_written_if_the_original_is_bad(tmp_path, kind, content, part, reason):
    with pytest.raises(DataError) as caught:
        convert(tmp_path, content, dataset(*kind, part=part))
    assert reason in str(caught.value) and str(tmp_path / "original") in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["original"]


def test_an_absent_original_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        tables.convert(dataset(), "test", tmp_path / "absent", tmp_path / "table.parquet")


COLUMNS = yaml.safe_load(
    "{query: [1, 1, 2], grade: [0, 2, 1], f1: [0.5, 1, 2], f2: [1, 2, 3], title: [a, b, c]}"
)


@pytest.mark.parametrize("parser", ["parquet", "csv", "numbers_of_mine:read"])
def test_own_columns_for_ranking(tmp_path, monkeypatch, parser):
    columns = {**COLUMNS, "grade": [0.0, 2.0, 1.0]}
    original = own_parquet(tmp_path, columns)
    if parser == "csv":
        original.write_text("title,query,grade,f1,f2\na,1,0,0.5,1\nb,1,2,1,2\nc,2,1,2,3\n")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "numbers_of_mine.py").write_text(
        "import pyarrow.parquet as pq\n\ndef read(path):\n    table = "
        "pq.read_table(path).to_pandas()\n"
        "    return table[['f1', 'f2']].to_numpy(), table['grade'], table['query'].to_numpy()\n"
    )
    tables.convert(dataset(parser=parser, grades=2), "test", original, tmp_path / "table.parquet")
    [(query, grade, features)] = tables.read_ranking(tmp_path / "table.parquet")
    assert query.tolist() == [1, 1, 2] and grade.tolist() == [0, 2, 1]
    assert features.tolist() == [[0.5, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("[[1, 2]], [0], [1], 4", "does not return features, grades and ids of queries of it"),
        (
            "[[1, 2, 3]], [0], [1]",
            (
                r"arrays of shapes \(1, 3\), \(1,\), \(1,\); \(n, 2\), \(n,\) "
                r"and \(n,\)"
            ),
        ),
        ("[[1, 2]], [0, 1], [1]", r"arrays of shapes \(1, 2\), \(2,\), \(1,\)"),
        ("[[1, 2], [3, float('nan')]], [0, 1], [1, 1]", "row 2: f2 is not finite"),
        ("[[1, 2], [3, 4], [5, 6]], [0, 1, 3], [1, 2, 1]", "row 3: grade 3 is above 2"),
        ("[[1, 2], [3, 4], [5, 6]], [0, 1, 0], [1, 2, 1]", "row 3: query 1 goes on here"),
    ],
)
def test_what_a_function_of_ones_own_returns_is_checked(tmp_path, monkeypatch, returned, reason):
    monkeypatch.setattr(tables, "own", lambda *_: lambda path: eval(returned))
    with pytest.raises(DataError, match=reason):
        convert(tmp_path, "anything", dataset(parser="mine:read", grades=2))


def test_queries_of_columns_may_be_named(tmp_path):
    original = own_parquet(tmp_path, {**COLUMNS, "query": ["rambo", "rambo", "rocky"]})
    tables.convert(dataset(parser="parquet"), "test", original, tmp_path / "table.parquet")
    [(query, *_)] = tables.read_ranking(tmp_path / "table.parquet")
    assert query.tolist() == [1, 1, 2]


def test_a_note_names_the_files_beside_that_are_not_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "file.txt": "1 qid:1 1:1 2:1\n",
        "file.txt.weight": "2\n",
        "file.txt.position": "0\n",
    }.items():
        Path(name).write_text(text)
    tables.convert(dataset(), "test", "file.txt", "table.parquet")
    assert [line for line in capsys.readouterr().err.splitlines() if "note" in line] == [
        "scant: note: file.txt.weight is not read",
        "scant: note: file.txt.position is not read",
    ]


def test_own_parquet_for_classification(tmp_path):
    original = own_parquet(
        tmp_path, yaml.safe_load("{label: [1, 2, 1], f1: [0.5, 1, 2], f2: [1, 2, 3]}")
    )
    toy = dataset("classification", "parquet")
    tables.convert(toy, "test", original, tmp_path / "table.parquet")
    features, labels = tables.read_classification(tmp_path / "table.parquet")
    assert labels.tolist() == ["1", "2", "1"] and features.tolist() == [[0.5, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"f2": None}, "there is no column 'f2'"),
        ({"f3": [1, 2, 3]}, "'f3' beyond the declared features"),
        ({"query": [1, None, 2]}, "row 2: query is missing"),
        ({"query": [1, 2, 1]}, "row 3: query 1 goes on here"),
        ({"query": ["a", "b", "a"]}, "row 3: query 1 goes on here"),
        ({"query": ["a", "", "b"]}, "row 2: query is missing"),
        ({"f0": [1, 2, 3], "f2": None}, "its features count from f0. Rename"),
        ({"grade": [0, 1, 3]}, "row 3: grade 3 is above 2"),
        ({"grade": [0, 1.5, 1]}, "row 2: grade 1.5 is not a whole number"),
        ({"f1": [0, float("nan"), 1]}, "row 2: f1 is not finite"),
        ({"f1": [0, 1, 1e39]}, "row 3: f1 is not finite in single precision"),
        ({"f1": [0, 1, None]}, "row 3: f1 is missing"),
        ({name: [] for name in COLUMNS}, "no rows"),
    ],
)
def test_own_parquet_is_checked_like_text(tmp_path, change, reason):
    columns = {name: values for name, values in {**COLUMNS, **change}.items() if values is not None}
    types = {"query": pa.int64(), "grade": pa.int64(), "f1": pa.float64(), "f2": pa.float64()}
    if not columns["query"]:
        columns = {name: pa.array([], types.get(name, pa.string())) for name in columns}
    original = own_parquet(tmp_path, columns)
    with pytest.raises(DataError) as caught:
        tables.convert(
            dataset(parser="parquet", grades=2), "test", original, tmp_path / "table.parquet"
        )
    assert reason in str(caught.value) and str(original) in str(caught.value)
    assert not (tmp_path / "table.parquet").exists()


def test_labels_of_own_parquet_have_to_be_classes(tmp_path):
    original = own_parquet(tmp_path, {"label": ["a", "z"], "f1": [1, 2]})
    toy = dataset("classification", "parquet", 1, classes=("a", "b"))
    with pytest.raises(DataError, match="row 2: label 'z' is not among the classes"):
        tables.convert(toy, "test", original, tmp_path / "table.parquet")


@pytest.mark.parametrize("keep", [0, 3, 100, -8, -1])
def test_truncated_tables_are_refused(tmp_path, keep):
    path = convert(tmp_path, RANKING, dataset())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match="not a readable parquet file") as caught:
        list(tables.read_ranking(path))
    assert str(path) in str(caught.value)


def test_other_tables_are_refused(tmp_path):
    foreign = own_parquet(tmp_path, COLUMNS)
    with pytest.raises(DataError, match="not a ranking table of this project"):
        list(tables.read_ranking(foreign))
    ranking = convert(tmp_path, RANKING, dataset())
    with pytest.raises(
        DataError, match="not a classification table of this project: its task is ranking"
    ):
        tables.read_classification(ranking)


def test_a_log_of_ones_own_becomes_ours(tmp_path):
    path = convert(tmp_path, LOG, dataset("ads", "log", None, part={"rows": 3}))
    log, metadata = logs.read(path)
    assert log.action.tolist() == [1, 0, 1] and log.features.tolist() == [[30], [41.5], [-2]]
    assert metadata == {
        "dataset": "toy",
        "part": "test",
        "task": "ads",
        "rows": 3,
        "features": 1,
        "kind": "ads log",
        "source_sha256": hashlib.sha256(LOG.encode()).hexdigest(),
        "actions": ["a", "b"],
        "names": ["age"],
        "duplicates": 0,
    }
    with pytest.raises(DataError, match="not a ranking table of this project: its task is ads"):
        list(tables.read_ranking(path))


@pytest.mark.parametrize(
    ("parser", "task", "line"),
    [
        ("letor", "ranking", b"0 qid:1 1:0.5 2:34"),
        ("csv-label-last", "classification", b"0.5,34,1"),
        ("log", "ads", b"action,reward,propensity,x\na,0,0.5,1\nb,1,0.5,34"),
    ],
)
def test_a_last_line_that_may_be_cut_inside_a_field(tmp_path, parser, task, line):
    def converted(content, **part):
        (path := tmp_path / "a.txt").write_bytes(content)
        toy = dataset(task, parser, None if task == "ads" else 2, part)
        tables.convert(toy, "test", path, tmp_path / "a.parquet")

    converted(line + b"\n")
    for cut in (line, line + b" "):
        with pytest.raises(
            DataError,
            match=(
                r"may have been cut inside a field\. If it is whole, "
                r"end the line"
            ),
        ):
            converted(cut)
    # what is declared tells that no line is lacking
    converted(line, rows=2 if task == "ads" else 1)


def test_without_the_package_that_reads_logs_one_line_says_so(monkeypatch):
    """As with the source on Python's path alone: then nothing says which package reads them."""
    monkeypatch.setattr(tables, "reader", lambda parser: None)
    with pytest.raises(SettingError, match="scant_ads, which is not installed: pip install"):
        tables.LOG_READERS["log"]("log.csv", False)
