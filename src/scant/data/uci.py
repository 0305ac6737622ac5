"""Tables of the UCI repository: one example a line, numbers and a class label separated by commas
or blanks.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scant.errors import DataError, short
from scant.files import numbered_lines

ROWS = 8192  # rows of a block
LARGEST = 3.40282356e38  # numbers up to this round to a finite float32: also FLT_MAX as C prints it


class Examples(NamedTuple):
    """Consecutive rows of a file: examples with their classes."""

    label: np.ndarray  # text (n,)
    features: np.ndarray  # float32 (n, d)
    line: np.ndarray  # int64 (n,), the line of each row in the file, from 1


def read_uci(
    path, features: int, label: str = "last", classes: tuple[str, ...] | None = None
) -> Iterator[Examples]:
    """Read a table without a header in blocks of rows.

    Fields are separated by commas if there is one on the first line, and may then be padded with
    blanks; else by blanks. Lines may end in CR LF, blank lines are skipped. A label that is a whole
    number is written as one ("1." becomes "1").

    Parameters
    ----------
    path : plain text file
    features : number of features d; a line has d + 1 fields
    label : which field is the class label, "first" or "last"
    classes : the labels allowed; any if None
    """
    place = {"first": 0, "last": features}[label]
    labels, rows, lines, any_rows, delimiter = [], [], [], False, b""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        if delimiter == b"":  # of the first line
            delimiter = b"," if b"," in line else None
        count = line.count(delimiter) + 1 if delimiter else len(line.split())
        if count != features + 1:
            between = "commas" if delimiter else "blanks"
            reason = f"{count} fields, separated by {between}; {features} features and a label"
            advice = "Separate all fields by commas, or by blanks"
            raise DataError(path, f"{reason} are expected", number, advice)
        fields = line.split(delimiter)
        name = label_text(fields.pop(place).decode("latin-1"))
        if not name or (classes is not None and name not in classes):
            raise DataError(path, f"label {short(name)} is not among the classes", number)
        labels.append(name)
        rows.append(_numbers(path, fields, number))
        lines.append(number)
        if len(rows) == ROWS:
            yield _examples(labels, rows, lines)
            labels, rows, lines, any_rows = [], [], [], True
    if rows:
        yield _examples(labels, rows, lines)
    elif not any_rows:
        raise DataError(
            path, "the file has no rows", advice="It may have been cut short; fetch it again"
        )


def _examples(labels: list[str], rows: list, lines: list[int]) -> Examples:
    return Examples(np.array(labels, dtype=object), np.stack(rows), np.array(lines, np.int64))


def label_text(text: str) -> str:
    """A class label as tables have it: stripped of blanks; whole numbers lose leading zeros and a
    decimal point.
    """
    whole = re.fullmatch(r"\s*(\d+)(\.0*)?\s*", text, re.ASCII)
    return (whole[1].lstrip("0") or "0") if whole else text.strip()


def _numbers(path, fields: list[bytes], number: int) -> np.ndarray:
    """The features of one line as float32. Raises a DataError that names the first bad field."""
    values = []
    for index, field in enumerate(fields, start=1):
        reason = "is not a number"
        try:
            values.append(_number(field))
            if abs(values[-1]) <= LARGEST:  # false for NaN, too
                continue
            reason = "is not finite in single precision"
        except ValueError:
            pass
        text = short(field.strip().decode("latin-1"))
        reason = f"the value of feature {index} {reason}: {text}"
        raise DataError(path, reason, number, "Correct the line, or fetch the file again")
    return np.array(values, np.float32)


def _number(field: bytes) -> float:
    if b"_" in field:  # Python reads 1_0 as 10
        raise ValueError
    return float(field)
