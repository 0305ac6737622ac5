"""The LETOR parser: agreement with its sources of truth, every defect with line and reason."""

import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scant.data import letor
from scant.data.letor import read_grouped, read_letor
from scant.data.registry import groups_beside
from scant.errors import DataError


def write(folder, text, name="set.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path, features, **settings):
    """All rows of a file: query, grade, features, line."""
    return tuple(map(np.concatenate, zip(*read_letor(path, features, **settings), strict=True)))[:4]


def test_rows_are_read_as_they_stand(tmp_path):
    text = (
        "# a file that has everything\r\n2 qid:10 1:0.5 3:-1.25e1 #docid = GX1\r\n\r\n"
        "  0 qid:10 2:1 \t\r\n1.0 qid:7\r\n+0 qid:9 1:.5 2:5. 3:+1E-2#no blank before the comment"
    )
    query, grade, features, line = read(write(tmp_path, text), 3)
    assert query.tolist() == [10, 10, 7, 9]
    assert grade.tolist() == [2, 0, 1, 0]
    assert features.tolist() == [[0.5, 0, -12.5], [0, 1, 0], [0, 0, 0], [0.5, 5, np.float32(0.01)]]
    assert line.tolist() == [2, 4, 5, 6]
    assert (query.dtype, grade.dtype, features.dtype) == (np.int64, np.int16, np.float32)


def test_query_id_in_the_comment(tmp_path):
    path = write(tmp_path, "1 1:0.5 # 3382\n0 2:0.25 # 3382 more\n0 #17\n")
    query, grade, features, _ = read(path, 2, qid="comment")
    assert query.tolist() == [3382, 3382, 17]
    assert grade.tolist() == [1, 0, 0]
    assert features.tolist() == [[0.5, 0], [0, 0.25], [0, 0]]


PRINTED = ["0.25", "0.5", "1.5", "2.33333", "2.0", "3", "0.07", "3.5", "2.4999999", "1.1", "0.9"]
ROUNDED = {"half-up": [0, 1, 2, 2, 2, 3, 0, 4, 2, 1, 1]}
ROUNDED |= {"down": [0, 0, 1, 2, 2, 3, 0, 3, 2, 1, 0], "up": [1, 1, 2, 3, 2, 3, 1, 4, 3, 2, 1]}


@pytest.mark.parametrize("fractions", ROUNDED)
def test_grades_that_are_not_whole_are_rounded_if_asked_for_and_kept(tmp_path, fractions):
    """As Yandex prints them."""
    path = write(tmp_path, "".join(f"{grade} 1:0.5 # 7\n" for grade in PRINTED))
    [block] = read_letor(path, 1, 4, qid="comment", fractions=fractions)
    assert block.grade.tolist() == ROUNDED[fractions]
    assert block.printed.tolist() == [float(np.float32(grade)) for grade in PRINTED]
    assert letor.rounded(0.5, fractions) == ROUNDED[fractions][1]


def test_rounded_grades_have_a_highest_one_too(tmp_path):
    path = write(tmp_path, "1 1:0.5 # 7\n4.5 1:0.5 # 7\n")
    with pytest.raises(DataError, match=r"line 2: grade 4\.5 is above the highest grade, 4"):
        read(path, 1, max_grade=4, qid="comment", fractions="half-up")
    assert read(path, 1, max_grade=4, qid="comment", fractions="down")[1].tolist() == [1, 4]
    for grade in ("1e999", "1.5e0", "0.5.5", "1.5x"):
        path = write(tmp_path, f"{grade} 1:0.5 # 7\n")
        with pytest.raises(DataError, match="line 1"):
            read(path, 1, max_grade=4, qid="comment", fractions="half-up")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("0.5 qid:1 1:2", "fractions: half-up"),
        ("1 qid:1 0:2", "first_index: 0"),
        ("1 qid:1 2:2 1:1", "unsorted: true"),
        ("1 qid:1 1:1.79769313486e+308", "overflow: "),
    ],
)
def test_the_advice_says_what_an_entry_may_declare(tmp_path, fields, said):
    path = write(tmp_path, f"{fields}\n")
    with pytest.raises(DataError) as caught:
        read(path, 2)
    assert said in caught.value.advice
    with pytest.raises(DataError, match=r"is there twice|not in 0\.\.1|is not finite|not a whole"):
        read(write(tmp_path, f"{fields} 2:1 2:1\n"), 2, first_index=0, unsorted=True)


def test_indices_may_begin_at_0_and_come_in_any_order(tmp_path):
    text = "1 qid:4 {2}:1 {0}:0.5 # {1}\n0 qid:4 {1}:2\n"
    rows = [[0.5, 0, 1], [0, 2, 0]]
    for first in (0, 1):
        path = write(tmp_path, text.format(*range(first, first + 3)))
        assert read(path, 3, first_index=first, unsorted=True)[2].tolist() == rows


@pytest.mark.parametrize(("overflow", "taken"), [(1e6, 1e6), ("missing", 0.0)])
def test_values_beyond_single_precision_become_what_the_set_says(tmp_path, overflow, taken):
    text = "0 qid:1 1:1.79769313486e+308 2:-1E400 3:3.4028235e38\n1 qid:1 2:nan\n"
    with pytest.raises(DataError, match="line 2: the value of feature 2 is not finite: nan"):
        read(write(tmp_path, text), 3, overflow=overflow)
    _, _, features, _ = read(write(tmp_path, text.replace("nan", "2")), 3, overflow=overflow)
    assert features.tolist() == [[taken, -taken, float(np.finfo(np.float32).max)], [0, 2, 0]]


@pytest.mark.parametrize("text", ["4 qid:1 # 11 a film\n0 qid:1 # 12\n", "4 # 1\n0 # 1\n"])
def test_judgments_without_features_are_refused(tmp_path, text):
    with pytest.raises(DataError, match="no line has a feature"):
        read(write(tmp_path, text), 3, qid="field" if "qid" in text else "comment")


@pytest.mark.parametrize(
    ("ids", "told"),
    [("01 1", 2), ("1 01", 2), ("001 01", 2), ("0 00", 2), ("01 10 11", None), ("0 1", None)],
)
@pytest.mark.parametrize("where", ["field", "comment"])
def test_ids_of_queries_that_differ_in_zeros_alone_are_refused(tmp_path, ids, told, where):
    lines = [f"1 qid:{id} 1:2\n" if where == "field" else f"1 1:2 # {id} x\n" for id in ids.split()]
    path = write(tmp_path, "".join(lines))
    if told is None:
        assert read(path, 1, qid=where)[0].tolist() == [*map(int, ids.split())]
        return
    said = f"line {told}: query id {ids.split()[told - 1]} and one before it .* leading zeros"
    with pytest.raises(DataError, match=said):
        read(path, 1, qid=where, block=64)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1 qid:1 1:2\n".encode("utf-16"), "line 1: the file is in UTF-16"),
        ("1 qid:1\u00a0 1:2\n".encode(), r"line 1: .* no-break space \(U\+00A0, UTF-8\)"),
        ("1 qid:1\u00a0 1:2\n".encode("latin-1"), r"line 1: .* \(U\+00A0, no UTF-8; in Latin-1\)"),
    ],
)
def test_encodings_are_named(tmp_path, content, said):
    (tmp_path / "set.txt").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read(tmp_path / "set.txt", 1)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("qid:1 1:2", "does not start with a grade: 'qid:1'"),
        ("nan qid:1 1:2", "not finite"),
        ("-1 qid:1 1:2", "grade -1 is negative"),
        ("1.5 qid:1 1:2", "grade 1.5 is not a whole number"),
        ("5 qid:1 1:2", "grade 5 is above the highest grade, 4"),
        ("1e0 qid:1 1:2", "not written as a whole number"),
        ("1", "no qid"),
        ("1 1:2 2:3", "no qid"),
        ("1 qid:a 1:2", "query id is no number"),
        ("1 qid:1234567890123456789 1:2", "at most 18 digits"),
        ("1 qid:1 garbage", "'garbage' has no colon"),
        ("1 qid:1 a:2", "index 'a' is not a positive whole number"),
        ("1 qid:1 0:2", "index '0' is not in 1..3"),
        ("1 qid:1 4:2", "index '4' is not in 1..3"),
        ("1 qid:1 2:2 2:3", "index 2 comes after 2"),
        ("1 qid:1 2:2 1:3", "index 1 comes after 2"),
        ("1 qid:1 2:", "value of feature 2 is not a number: ''"),
        ("1 qid:1 2:0x1", "not a number: '0x1'"),
        ("1 qid:1 2:1:2", "not a number: '1:2'"),
        ("1 qid:1 2:nan", "value of feature 2 is not finite: nan"),
        ("1 qid:1 2:1e39", "not finite in single precision: '1e39'"),
        ("1 qid:1 2:\x00", "not a number"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_defect_names_file_line_and_reason(tmp_path, line, reason, end):
    path = write(tmp_path, f"0 qid:1 1:1\n\n# comment\n{line}{end}")
    with pytest.raises(DataError) as caught:
        read(path, 3, max_grade=4)
    assert caught.value.line == 4
    assert reason in caught.value.reason
    assert str(caught.value).startswith(f"{path}, line 4: ")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("line", ["1 1:2", "1 1:2 #", "1 1:2 # x", "1 1:2 # 5x", "1 qid:5 1:2 # 5"])
def test_defects_of_query_ids_in_comments(tmp_path, line):
    with pytest.raises(DataError) as caught:
        read(write(tmp_path, f"0 1:1 # 5\n{line}\n"), 3, qid="comment")
    assert caught.value.line == 2


def test_grades_above_30_are_refused_where_the_registry_sets_no_limit(tmp_path):
    assert read(write(tmp_path, "30 qid:1 1:1"), 1)[1].tolist() == [30]
    with pytest.raises(DataError, match="grade 31 is above"):
        read(write(tmp_path, "31 qid:1 1:1"), 1)


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_a_query_in_two_places_is_refused_at_the_second(tmp_path, block):
    lines = [f"0 qid:{query} 1:1" for query in [1] * 20 + [2] * 20 + [1] + [3]]
    with pytest.raises(DataError, match="query 1 goes on here") as caught:
        read(write(tmp_path, "\n".join(lines)), 1, block=block)
    assert caught.value.line == 41


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_file_without_rows_is_refused(tmp_path, text):
    with pytest.raises(DataError, match="no rows"):
        read(write(tmp_path, text), 1)


@pytest.mark.parametrize("block", [64, 1000, 1 << 20])
def test_blocks_join_to_the_same_rows(tmp_path, block):
    random = np.random.default_rng(1)
    x = random.integers(-9, 9, (200, 7)).astype(np.float32)
    lines = []
    for i, row in enumerate(x):
        fields = " ".join(f"{j}:{v:g}" for j, v in enumerate(row, 1))
        lines.append(f"{i % 3} qid:{i // 9} {fields}" + "\n" * (i % 4 + 1))
    query, grade, features, line = read(write(tmp_path, "".join(lines)), 7, block=block)
    assert query.tolist() == [i // 9 for i in range(200)]
    assert grade.tolist() == [i % 3 for i in range(200)]
    assert np.array_equal(features, x)
    assert line.tolist() == [1 + sum(k % 4 + 1 for k in range(i)) for i in range(200)]


numbers = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-3e38, 3e38).map(repr),
    st.floats(-1e6, 1e6).map("{:.6f}".format),
    st.decimals(-(10**9), 10**9, allow_nan=False, allow_infinity=False).map("{:f}".format),
    st.from_regex(r"\A[+-]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?\Z"),
    st.from_regex(r"\A\.[0-9]{1,30}(e-[0-9]{1,4})?\Z"),
)


@settings(deadline=None)
@given(st.lists(numbers.filter(lambda text: abs(float(text)) < 3.4e38), min_size=1, max_size=40))
def test_numbers_equal_pythons_to_one_unit_in_the_last_place(tmp_path_factory, texts):
    row = " ".join(f"{i}:{t}" for i, t in enumerate(texts, 1))
    path = write(tmp_path_factory.getbasetemp(), f"0 qid:1 {row}")
    found = read(path, len(texts))[2][0]
    for text, value in zip(texts, found, strict=True):
        exact = np.float32(float(text))
        assert abs(float(value) - float(exact)) <= np.spacing(abs(exact)), text
        if len("".join(filter(str.isdigit, text))) <= 15 and "e" not in text.lower():
            assert value == exact, text


@settings(deadline=None)
@given(st.data())
def test_agrees_with_scikit_learn(tmp_path_factory, data):
    from sklearn.datasets import load_svmlight_file

    rows = data.draw(st.integers(1, 20))
    features = data.draw(st.integers(1, 8))
    value = st.floats(-1e4, 1e4).map("{:.4g}".format)
    lines = []
    for row in range(rows):
        indices = sorted(data.draw(st.sets(st.integers(1, features), min_size=row == 0)))
        fields = [f"{index}:{data.draw(value)}" for index in indices]
        lines.append(" ".join([str(data.draw(st.integers(0, 4))), f"qid:{row // 3}", *fields]))
    text = "\n".join(lines) + data.draw(st.sampled_from(["", "\n"]))
    path = write(tmp_path_factory.getbasetemp(), text)
    query, grade, x, _ = read(path, features)
    options = {"n_features": features, "query_id": True, "zero_based": False}
    theirs, grades, queries = load_svmlight_file(str(path), **options)
    assert np.array_equal(query, queries)
    assert np.array_equal(grade, grades)
    assert np.array_equal(x, theirs.toarray().astype(np.float32))


def test_smallest_and_largest_values(tmp_path):
    largest = float(np.finfo(np.float32).max)
    _, _, features, _ = read(
        write(tmp_path, f"0 qid:1 1:{largest!r} 2:1e-45 3:1e-400 4:0e999 5:-0"), 5
    )
    assert features[0, 0] == largest
    assert features[0].tolist()[1:] == [float(np.float32(1e-45)), 0, 0, 0]
    assert math.copysign(1, features[0, 4]) == -1


@pytest.mark.parametrize(
    ("line", "settings", "advice"),
    yaml.safe_load("""
- ['0.67 qid:q1 1:1', {}, '(fractions: half-up)']
- ['0.67 qid:q1 1:1', {fractions: half-up},
   '''qid:q1''. Number the queries, or give the file as CSV']
- ['5 qid:1 1:1', {max_grade: 4}, '(grades: 30 at most)']
- ['72 qid:1 1:1', {max_grade: 4}, 'is above the highest grade, 4. Map grades to 0 to 30']
- ['72 qid:1 1:1', {}, 'is above the highest grade, 30. Map grades to 0 to 30']
"""),
)
def test_advice_ends_what_it_is_for(tmp_path, line, settings, advice):
    with pytest.raises(DataError, match=re.escape(advice)):
        list(read_letor(write(tmp_path, f"{line}\n"), 1, **settings))


@pytest.mark.parametrize("name", ["rows.txt.query", "rows.txt.group", "rows.query"])
def test_queries_may_be_told_by_a_file_beside(tmp_path, name):
    """LightGBM's and XGBoost's form reads as the same rows with query ids."""
    path, sizes = tmp_path / "rows.txt", tmp_path / name
    path.write_text("2 1:0.5 3:1\n\n0 2:1 # a\n1\t1:2\n2# no feature\n", encoding="utf-8-sig")
    sizes.write_text("2\n2\n", encoding="utf-8-sig")
    assert groups_beside(path) == sizes
    (block,) = read_grouped(path, sizes, 3)
    assert block.query.tolist() == [1, 1, 2, 2] and block.grade.tolist() == [2, 0, 1, 2]
    assert block.features.tolist() == [[0.5, 0, 1], [0, 1, 0], [2, 0, 0], [0, 0, 0]]
    assert block.line.tolist() == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("sizes", "rows", "file", "line"),
    [
        ("2\n", "1 1:1\n", "sizes", None),
        ("1\n1\n", "1 1:1\n0 1:2\n", "sizes", None),
        ("0\n", "1 1:1\n", "sizes", 1),
        ("1\n", "1 1:x\n", "rows", 1),
    ],
)
def test_files_that_do_not_fit_each_other_are_named(tmp_path, sizes, rows, file, line):
    for name, text in {"sizes": sizes, "rows": rows}.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        list(read_grouped(tmp_path / "rows", tmp_path / "sizes", 1))
    assert (Path(caught.value.file).name, caught.value.line) == (file, line)
