"""Parquet tables: what goes in comes out, whole queries together, and nothing half-written."""

import gzip
import hashlib
import re
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
from scant.data import conversion, letor, logs, tables
from scant.data.registry import Dataset, Part
from scant.errors import DataError

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


def converted(folder, columns, toy):
    """The table of one's own Parquet file."""
    pq.write_table(pa.table(columns), folder / "own.parquet")
    tables.convert(toy, "test", folder / "own.parquet", folder / "table.parquet")
    return folder / "table.parquet"


def test_an_error_names_the_studys_own_file_not_its_copy(tmp_path):
    (tmp_path / "copy").write_text("2 qid:7 1:x\n")
    for own, name in ((True, "file.txt"), (False, str(tmp_path / "copy"))):
        with pytest.raises(DataError) as refused:
            conversion.convert(dataset(own=own), "test", tmp_path / "copy", tmp_path / "made")
        assert (refused.value.file, refused.value.line) == (name, 1)


def test_a_ranking_table(tmp_path):
    path = convert(tmp_path, RANKING, dataset(grades=2, part={"rows": 3, "queries": 2}))
    schema = pq.read_schema(path)
    types = [f"{field.name} {field.type}" for field in schema]
    assert types == ["query int64", "grade int16", "f1 float", "f2 float"]
    assert files.metadata_of(schema) == {
        **{"dataset": "toy", "part": "test", "task": "ranking", "rows": 3, "queries": 2},
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
    assert metadata["classes"] == {"0": 2, "1": 1} and metadata["rows"] == 3
    assert "queries" not in metadata
    features, labels = tables.read_classification([path, path])
    assert labels.tolist() == ["0", "1", "0"] * 2
    assert features.tolist() == [[1, 2], [3, 4], [5, 6]] * 2 and features.dtype == np.float32


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(64, 2000))
def test_row_groups_hold_whole_queries(tmp_path_factory, sizes, block):
    queries = np.repeat(np.arange(len(sizes)), sizes)
    original = tmp_path_factory.getbasetemp() / "rows.txt"
    original.write_text("".join(f"{i % 3} qid:{query} 1:{i}\n" for i, query in enumerate(queries)))
    blocks = list(tables.whole_queries(letor.read_letor(original, 1, block=block)))
    assert np.concatenate([block.query for block in blocks]).tolist() == queries.tolist()
    features = np.concatenate([block.features for block in blocks])[:, 0]
    assert features.tolist() == list(range(len(queries)))
    ends = [(block.query[0], block.query[-1]) for block in blocks]
    assert all(before[1] != after[0] for before, after in pairwise(ends))


def test_large_files_become_several_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "FLOATS", 20)
    text = "".join(f"0 qid:{i // 4} 1:{i} 2:1\n" for i in range(50))
    path = convert(tmp_path, text, dataset())
    assert pq.ParquetFile(path).num_row_groups > 3
    groups = list(tables.read_ranking([path]))
    assert np.concatenate([x for _, _, x in groups])[:, 0].tolist() == list(range(50))
    queries = [set(q.tolist()) for q, _, _ in groups]
    assert len(set.union(*queries)) == sum(map(len, queries))


LOG = "action,reward,propensity,age\nb,1,0.5,30\na,0,0.25,41.5\nb,0,0.5,-2\n"
ADS = ("ads", "log", None)


@pytest.mark.parametrize(
    ("kind", "content", "part", "reason"),
    [
        ((), RANKING + "0 qid:1 1:nan\n", {}, "line 5: the value of feature 1 is not finite"),
        ((), RANKING + "0 qid:7 1:1\n", {}, "line 5: query 7 goes on here"),
        ((), RANKING, {"rows": 4}, "3 rows; toy/test has 4"),
        ((), "", {}, "no rows"),
        ((), "\n<!DOCTYPE html>\n<p>Sign in", {}, "it is a web page, as a server sends it"),
        (ADS, LOG + "a,2,1,1\n", {}, "line 5: reward 2.0 is not in [0, 1]"),
        (ADS, LOG[:-5], {}, "line 4 has 3 fields, the header 4"),
    ],
)
def test_nothing_is_written_if_the_original_is_bad(tmp_path, kind, content, part, reason):
    with pytest.raises(DataError, match=re.escape(reason)) as caught:
        convert(tmp_path, content, dataset(*kind, part=part))
    assert str(tmp_path / "original") in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["original"]
    with pytest.raises(DataError, match="no such file"):
        tables.convert(dataset(), "test", tmp_path / "absent", tmp_path / "table.parquet")


COLUMNS = yaml.safe_load(
    "{query: [1, 1, 2], grade: [0.0, 2.0, 1.0], f1: [0.5, 1, 2], f2: [1, 2, 3], title: [a, b, c]}"
)
READER = """
import pyarrow.parquet as pq

def read(path):
    table = pq.read_table(path).to_pandas()
    return table[['f1', 'f2']].to_numpy(), table['grade'], table['query'].to_numpy()
"""


@pytest.mark.parametrize("parser", ["parquet", "csv", "numbers_of_mine:read"])
def test_own_columns_for_ranking(tmp_path, monkeypatch, parser):
    original, table = tmp_path / "own", tmp_path / "table.parquet"
    pq.write_table(pa.table(COLUMNS), original)
    if parser == "csv":
        original.write_text("title,query,grade,f1,f2\na,1,0,0.5,1\nb,1,2,1,2\nc,2,1,2,3\n")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "numbers_of_mine.py").write_text(READER)
    tables.convert(dataset(parser=parser, grades=2), "test", original, table)
    [(query, grade, features)] = tables.read_ranking(table)
    assert query.tolist() == [1, 1, 2] and grade.tolist() == [0, 2, 1]
    assert features.tolist() == [[0.5, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("[[1, 2]], [0], [1], 4", "does not return features, grades and ids of queries of it"),
        ("[[1, 2, 3]], [0], [1]", "a column 'f3' beyond the declared features"),
        ("[[1, 2]], [0], [1, 1]", r"shapes \(1, 2\), \(1,\), \(2,\); \(n, d\), \(n,\)"),
        ("[[1, 2]], np.ma.masked_all(1), [1]", "values are masked"),
        ("[[1, 2]], [0], [1j]", "an array has the type complex128"),
        ("[[1, 2], [3, 4]], [0, 1], ['a', 2]", "does not return features, grades"),
        ("[[1, 2], [3, float('nan')]], [0, 1], [1, 1]", "row 2: f2 is not finite"),
        ("[[1, 2], [3, 4], [5, 6]], [0, 1, 3], [1, 2, 1]", "row 3: grade 3 is above 2"),
        ("[[1, 2], [3, 4], [5, 6]], [0, 1, 0], [1, 2, 1]", "row 3: its query goes on"),
    ],
)
def test_what_a_function_of_ones_own_returns_is_checked(tmp_path, monkeypatch, returned, reason):
    monkeypatch.setattr(tables, "own", lambda *_: lambda path: eval(returned))
    with pytest.raises(DataError, match=reason):
        convert(tmp_path, "anything", dataset(parser="mine:read", grades=2))


TEXTS = pa.array(["rambo", "rambo", "01"])


@pytest.mark.parametrize(
    "queries",
    [
        TEXTS,
        TEXTS.cast(pa.large_string()),
        TEXTS.cast(pa.string_view()),
        TEXTS.dictionary_encode(),
        pa.array([5, 5, 9]).dictionary_encode(),
    ],
)
def test_queries_of_columns_may_be_named(tmp_path, queries):
    columns = {**COLUMNS, "query": queries}
    [(query, *_)] = tables.read_ranking(converted(tmp_path, columns, dataset(parser="parquet")))
    assert query.tolist() == ([1, 1, 2] if "string" in str(queries.type) else [5, 5, 9])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["7", "7", "0"], [7, 7, 0]),
        (["01", "1", "1"], [1, 2, 2]),
        (["1000", "1e3", "1e3"], [1, 2, 2]),
        (["1.0", "1", "x"], [1, 2, 3]),
        (["'18446744073709551615'", "'18446744073709551614'", "5"], [1, 2, 3]),
        (["12", "12", "NA"], "row 3: query is missing"),
        (["12", "a", ""], "row 3: query is missing"),
        (["a", "a", "'NA'"], [1, 1, 2]),
        ([*map(str, range(200_000)), "007"], "query '007' is no whole number, as those before"),
        ([*map(str, range(200_000)), "x"], "query 'x' is no whole number, as those before"),
    ],
)
def test_ids_of_csv_are_whole_numbers_or_told_apart_as_they_are_written(tmp_path, written, read):
    """In a large file the first megabyte decides."""
    text = "".join(f"{id},1,2,3\n" for id in written).replace("'", '"')
    if isinstance(read, str):
        with pytest.raises(DataError, match=read):
            convert(tmp_path, f"query,grade,f1,f2\n{text}", dataset(parser="csv"))
    else:
        path = convert(tmp_path, f"query,grade,f1,f2\n{text}", dataset(parser="csv"))
        assert [id for ids, *_ in tables.read_ranking(path) for id in ids] == read


LETOR = b"2 qid:1 1:1 2:2\n0 qid:1 1:3\n"
TABLE = b"query,grade,f1,f2\n1,2,1,2\n1,0,3,0\n"


@pytest.mark.parametrize(
    ("content", "parsers", "form"),
    [
        (b"PAR1\x15\0", "letor csv letor-groups", "a parquet file. Its parser is parquet"),
        (
            gzip.compress(LETOR, mtime=0),
            "letor csv parquet",
            "packed by gzip. Let its name end in .gz",
        ),
        (b"PK\3\4..", "letor csv", "packed, or a sheet of Excel"),
        (b"% a\n\n@RELATION x\n@DATA\n1,2\n", "letor csv parquet", "an ARFF file. Make it CSV"),
        (b"9 Q0 doc-1 1 -3.5e-1 me\n", "letor csv", "a run file of TREC"),
        (b"9 0 doc-1 2\n9 0 doc-2 0\n", "letor csv letor-qid-in-comment", "judgments (qrels)"),
        (b"9\tQ0\tdoc-1\t2\r\n", "letor csv", "a file of judgments (qrels) of TREC"),
        (b"grade qid f1\n" + LETOR, "letor", "LETOR's text with a header. Delete its first line"),
        (b"grade,qid,f1\n" + LETOR, "letor", "LETOR's text with a header"),
        (TABLE, "letor parquet", "a table separated by commas, semicolons or tabs. Make it CSV"),
        (TABLE.replace(b",", b"\t"), "letor", "a table separated by commas, semicolons or tabs"),
        (LETOR, "csv parquet", "LETOR's text. Its parser is letor"),
    ],
)
def test_a_file_in_another_form_is_named(tmp_path, content, parsers, form):
    (tmp_path / "file.txt.query").write_text("1\n")
    (tmp_path / "file.txt").write_bytes(content)
    for parser in parsers.split():
        with pytest.raises(DataError, match=re.escape(f"it is {form}" if form[0] == "a" else form)):
            conversion.convert(
                dataset(parser=parser), "test", tmp_path / "file.txt", tmp_path / "made"
            )


@pytest.mark.parametrize(
    ("parser", "content"),
    [
        ("letor", LETOR),
        ("letor", b"# grade, query\n" + LETOR),
        ("letor-qid-in-comment", b"2 1:1 # 7 a, b\n0 # 7\n"),
        ("csv", TABLE),
        ("csv", b'query,grade,f1,f2,title\n1,2,1,2,"9 qid:2"\n'),
    ],
)
def test_a_file_in_its_own_form_is_no_other(tmp_path, parser, content):
    """It is read; and if a grade in it is wrong, the error says so."""
    (tmp_path / "file").write_bytes(content)
    conversion.convert(dataset(parser=parser), "test", tmp_path / "file", tmp_path / "made")
    with pytest.raises(DataError, match=r"above (the highest grade, )?1"):
        conversion.convert(
            dataset(parser=parser, grades=1), "test", tmp_path / "file", tmp_path / "made"
        )


def test_a_form_is_not_looked_for_where_another_may_be_meant(tmp_path, monkeypatch):
    """A function of one's own reads any form, and classes may stand in a table like judgments."""
    monkeypatch.setattr(tables, "own", lambda *_: lambda path: ([[1, 2]], [9], [1]))
    (tmp_path / "file").write_text("1 0 2 4\n")
    classes = dataset("classification", "csv-label-last")
    for toy, reason in ((dataset(parser="my:read", grades=4), "grade 9"), (classes, "4 fields")):
        with pytest.raises(DataError, match=reason):
            conversion.convert(toy, "test", tmp_path / "file", tmp_path / "made")


@pytest.mark.parametrize(
    ("grades", "note"),
    [
        ("12 53", "no grade is 0, .* If 1 means"),
        ("22 2", "all grades are 2, so that no"),
        ("00", "all grades are 0"),
        ("10 11", ""),
        ("1 2 1", ""),
    ],
)
def test_a_note_names_grades_that_may_be_wrong(tmp_path, capsys, grades, note):
    lines = [f"{one} qid:{i} 1:1\n" for i, group in enumerate(grades.split()) for one in group]
    convert(tmp_path, "".join(lines), dataset())
    notes = [line for line in capsys.readouterr().err.splitlines() if "note" in line]
    assert len(notes) == bool(note)
    assert not note or re.search(f"scant: note: toy/test: {note}", notes[0])


def test_a_note_names_the_files_beside_that_are_not_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("file.txt").write_text("1 qid:1 1:1 2:1\n")
    beside = ("file.txt.weight", "file.txt.position")
    for name in beside:
        Path(name).write_text("2\n")
    tables.convert(dataset(), "test", "file.txt", "table.parquet")
    notes = [line for line in capsys.readouterr().err.splitlines() if "note" in line]
    assert notes == [f"scant: note: {name} is not read" for name in beside]


def test_own_parquet_for_classification(tmp_path):
    columns = {"label": [1, 2, 1], "f1": [0.5, 1, 2], "f2": [1, 2, 3]}
    path = converted(tmp_path, columns, dataset("classification", "parquet"))
    features, labels = tables.read_classification(path)
    assert labels.tolist() == ["1", "2", "1"] and features.tolist() == [[0.5, 1], [1, 2], [2, 3]]
    toy = dataset("classification", "parquet", 1, classes=("a", "b"))
    with pytest.raises(DataError, match="row 2: label 'z' is not among the classes"):
        converted(tmp_path, {"label": ["a", "z"], "f1": [1, 2]}, toy)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"f2": None}, "no column 'f2'; .* Give it the columns 'query', 'grade', 'f1', 'f2', with"),
        ({"f3": [1, 2, 3]}, "'f3' beyond the declared features"),
        ({"query": [1, None, 2]}, "row 2: query is missing"),
        ({"query": [1, 2, 1]}, "row 3: its query goes on after another query"),
        ({"query": [1.0, 2.0, 2.0**53]}, "row 3: query 9007199254740992.0, as float64, may have"),
        ({"query": np.float32([1, 2, 2**24])}, "row 3: query 16777216.0, as float32, may have"),
        ({"query": np.uint64([1, 1, 2**64 - 1])}, "query 18446744073709551615 is above 92233720"),
        ({"query": ["a", "", "b"]}, "row 2: query is missing"),
        ({"f0": [1, 2, 3], "f2": None}, "its features count from f0. Rename"),
        ({"grade": [0, 1, 3]}, "row 3: grade 3 is above 2"),
        ({"grade": [0, 1.5, 1]}, "row 2: grade 1.5 is not a whole number"),
        ({"f1": [0, float("nan"), 1]}, "row 2: f1 is not finite"),
        ({"f1": [0, 1, 1e39]}, "row 3: f1 is not finite in single precision"),
        ({name: pa.array([], pa.float64()) for name in COLUMNS}, "no rows"),
    ],
)
def test_own_parquet_is_checked_like_text(tmp_path, change, reason):
    columns = {name: one for name, one in (COLUMNS | change).items() if one is not None}
    with pytest.raises(DataError, match=reason) as caught:
        converted(tmp_path, columns, dataset(parser="parquet", grades=2))
    assert str(tmp_path / "own.parquet") in str(caught.value)
    assert not (tmp_path / "table.parquet").exists()


def test_other_tables_are_refused(tmp_path):
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pa.table(COLUMNS), foreign)
    with pytest.raises(DataError, match="not a ranking table of this project"):
        list(tables.read_ranking(foreign))
    ranking = convert(tmp_path, RANKING, dataset())
    with pytest.raises(DataError, match="not a classification table of this project"):
        tables.read_classification(ranking)


def test_a_log_of_ones_own_becomes_ours(tmp_path):
    path = convert(tmp_path, LOG, dataset(*ADS, part={"rows": 3}))
    log, metadata = logs.read(path)
    assert log.action.tolist() == [1, 0, 1] and log.features.tolist() == [[30], [41.5], [-2]]
    assert metadata == {
        **{"dataset": "toy", "part": "test", "task": "ads", "rows": 3, "features": 1},
        **{"kind": "ads log", "actions": ["a", "b"], "names": ["age"], "duplicates": 0},
        "source_sha256": hashlib.sha256(LOG.encode()).hexdigest(),
    }
    with pytest.raises(DataError, match="not a ranking table of this project"):
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
        with pytest.raises(DataError, match=r"cut inside a field\. If it is whole, end the line"):
            converted(cut)
    # what is declared tells that no line is lacking
    converted(line, rows=2 if task == "ads" else 1)
