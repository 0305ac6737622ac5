"""UCI tables: the five formats as their files write them, each defect with line and reason."""

import numpy as np
import pytest

from scant.data import uci
from scant.errors import DataError


def write(folder, text):
    path = folder / "set.data"
    path.write_bytes(text.encode())
    return path


def read(path, *settings):
    labels, features, lines = map(np.concatenate, zip(*uci.read_uci(path, *settings), strict=True))
    return labels.tolist(), features, lines.tolist()


@pytest.mark.parametrize(
    ("text", "label", "labels"),
    [
        ("T,2,8\nI,5,12\n", "first", ["T", "I"]),  # letter
        ("2,8,0\n5,12,7\n", "last", ["0", "7"]),  # optdigits
        ("  2,  8, 0\n  5, 12, 7\n", "last", ["0", "7"]),  # pendigits
        ("2.0000, 8.0000, 1.\r\n5.0, 12.0, 26.\r\n", "last", ["1", "26"]),  # isolet
        ("\n2,8,a\n\n\n5,12,b", "last", ["a", "b"]),
        ("\ufeff2,8,a\n5,12,b\n", "last", ["a", "b"]),
        ("\ufeffa 2  8\nb 5\t12\r\n", "first", ["a", "b"]),
    ],
)
def test_formats(tmp_path, text, label, labels):
    found, features, lines = read(write(tmp_path, text), 2, label)
    assert found == labels
    assert features.tolist() == [[2, 8], [5, 12]] and features.dtype == np.float32
    assert lines == [i for i, line in enumerate(text.split("\n"), 1) if line.strip()]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,2", "2 fields, separated by commas; 2 features and a label are expected"),
        ("1;2;0", "1 fields, separated by commas; 2 features and a label are expected"),
        ("1,x,0", "value of feature 2 is not a number: 'x'"),
        ("1,1_0,0", "not a number: '1_0'"),
        ("1,nan,0", "value of feature 2 is not finite"),
        ("1,1e39,0", "not finite in single precision: '1e39'"),
        ("1,2,9", "label '9' is not among the classes"),
    ],
)
def test_a_defect_names_file_line_and_reason(tmp_path, line, reason):
    path = write(tmp_path, f"1,2,0\n\n{line}\n")
    with pytest.raises(DataError) as caught:
        read(path, 2, "last", ("0", "1"))
    assert caught.value.line == 3 and reason in caught.value.reason
    assert str(caught.value).startswith(f"{path}, line 3: ")


def test_the_largest_number_as_c_prints_it(tmp_path):
    _, features, _ = read(write(tmp_path, "3.4028235e38,-3.4028235e+38,0\n"), 2)
    assert features.tolist() == [[np.finfo(np.float32).max, np.finfo(np.float32).min]]


def test_a_delimiter_is_that_of_the_first_line(tmp_path):
    with pytest.raises(DataError, match=r"line 2: 1 fields, separated by blanks; "):
        read(write(tmp_path, "1 2 0\n1,2,0\n"), 2)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_rows_is_refused(tmp_path, text):
    with pytest.raises(DataError, match="no rows"):
        read(write(tmp_path, text), 2)


def test_blocks_join_to_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(uci, "ROWS", 3)
    path = write(tmp_path, "".join(f"{i},{i % 2}\n" for i in range(9)))
    labels, features, lines = read(path, 1)
    assert features[:, 0].tolist() == list(range(9)) and lines == list(range(1, 10))
    assert labels == ["0", "1"] * 4 + ["0"]
