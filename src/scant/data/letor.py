"""LETOR files: SVMlight text with query ids, read in blocks by a compiled parser.

A line is `<grade> qid:<query> <index>:<value> ... [# comment]`. Fields are separated by blanks or tabs, lines
end in LF or CR LF, indices count from 1 and increase along the line, features that are absent are 0. Blank
lines and lines that hold only a comment are skipped. In the layout "comment" (Yandex) there is no qid field,
and the query id is the first word of the comment.
"""

import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scant.errors import DataError, short
from scant.files import LONGEST, numbered_lines, skip_mark

MAX_GRADE = 30  # at which 2^grade - 1 is exact; a larger number is a score, not a grade
FLOATS = 1 << 24  # features of one block at most: 64 MB

FRACTIONS = (None, "half-up", "down", "up")  # how grades that are not whole become whole; None if they are refused
_LARGEST = 3.40282356e38  # numbers up to this round to a finite float32: also FLT_MAX as C prints it
_GRADE = re.compile(rb"[ \t\r]*([^ \t\r\n#]*)(.*)", re.DOTALL)  # the first field of a line, and the rest
_TENS = 10.0 ** np.arange(23)  # the powers of ten that float64 holds exactly


class Block(NamedTuple):
    """Consecutive rows of a file: documents with their queries."""

    query: np.ndarray  # int64 (n,)
    grade: np.ndarray  # int16 (n,)
    features: np.ndarray  # float32 (n, d)
    line: np.ndarray  # int64 (n,), the line of each row in the file, from 1
    printed: np.ndarray  # float32 (n,), the grade as the file has it


def read_letor(
    path, features: int, max_grade: int | None = None, block: int = 64 << 20, qid: str = "field",
    fractions: str | None = None,
) -> Iterator[Block]:  # fmt: skip
    """Read a LETOR file in blocks of bounded size; a query may span blocks.

    Parameters
    ----------
    path : plain text file
    features : number of features d; indices run from 1 to d
    max_grade : highest grade allowed (30 if None)
    block : bytes to read at once
    qid : where the query id stands, "field" or "comment"
    fractions : how grades that are not whole become whole, one of `FRACTIONS`

    Yields
    ------
    Blocks, each of at least one row. Values are float64 parsed to 15 digits or more, rounded to float32.

    Raises
    ------
    DataError : with the line, for anything but well-formed rows with finite values and such grades, for a
        query whose rows are not all together, and for a file without rows.
    """
    top = MAX_GRADE if max_grade is None else max_grade
    yield from checked(path, _blocks(path, features, top, block, qid == "comment", fractions))


def read_grouped(
    path, sizes_path, features: int, max_grade: int | None = None, fractions: str | None = None
) -> Iterator[Block]:
    """Read a file in LETOR's format without query ids, whose queries a second file tells: one number of rows a line.

    Queries are numbered from 1, in their order.

    Parameters
    ----------
    path, features, max_grade, fractions : as for `read_letor`
    sizes_path : the second file

    Raises
    ------
    DataError : as `read_letor`; a number of rows is not whole and above 0, or their sum is not the number of rows
    """
    sizes = []
    for number, line in numbered_lines(sizes_path, "It is no file of numbers of rows"):
        if text := line.decode("latin-1").strip():
            if not re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII):
                raise DataError(sizes_path, f"{short(text)} is no number of rows of a query", number)
            sizes.append(int(text))
    queries = (query for query, size in enumerate(sizes, start=1) for _ in range(size))
    with tempfile.TemporaryDirectory() as folder:
        whole, rows = Path(folder, "with-queries.txt"), 0
        with open(whole, "wb") as target:
            for _, line in numbered_lines(path, "It is no text of LETOR"):
                grade, rest = _GRADE.fullmatch(line).groups()
                if grade:
                    rows += 1
                    line = b"%s qid:%d %s" % (grade, next(queries, len(sizes) + 1), rest)
                target.write(line)  # each stays where it is, so that errors name the lines of the original
        if rows != (total := sum(sizes)):
            reason = f"its queries have {total:,} rows in all, and {Path(path).name} has {rows:,}"
            raise DataError(sizes_path, reason)
        try:
            yield from read_letor(whole, features, max_grade, fractions=fractions)
        except DataError as error:
            raise DataError(path, error.reason, error.line, error.advice) from error


def checked(path, blocks: Iterable[Block], text: bool = True) -> Iterator[Block]:
    """Pass the blocks of a file on; a DataError if it has no rows, or if the rows of a query are not together.

    text : whether the file has lines; otherwise errors name the row
    """
    seen, last = set(), None
    for block in blocks:
        starts = np.flatnonzero(np.r_[True, block.query[1:] != block.query[:-1]])
        runs = block.query[starts].tolist()
        for start, query in zip(starts, runs, strict=True):
            if query in seen and (start > 0 or query != last):
                at, reason = int(block.line[start]), f"query {query} goes on here after another query"
                advice = "Sort the file so that the rows of a query stand together"
                raise DataError(path, reason if text else f"row {at}: {reason}", at if text else None, advice)
            seen.add(query)
        last = runs[-1]
        yield block
    if last is None:
        raise DataError(path, "the file has no rows", advice="It may have been cut short; fetch it again")


def _blocks(path, features: int, top: int, size: int, in_comment: bool, fractions: str | None) -> Iterator[Block]:
    from scant.kernels.letor import parse  # compiled: most of what reads tables parses no text

    kept, line = 0, 1
    with open(path, "rb", buffering=0) as file:
        length = os.fstat(file.fileno()).st_size or size  # 0 of what is no plain file
        text = bytearray(max(min(size, length), 64) + 1)
        skip_mark(file)
        while True:
            if kept > LONGEST:
                raise DataError(path, f"the line is longer than {LONGEST:,} bytes", line, "It is no text of LETOR")
            if kept > len(text) // 2:  # a line as long as half the buffer
                text = text + bytearray(len(text))
            count = file.readinto(memoryview(text)[kept:-1])
            stop = kept + count
            if not count:
                if not kept:
                    return
                text[kept] = ord("\n")  # the last line may lack its end
                stop = kept + 1
            start, end, buffer = 0, text.rfind(b"\n", 0, stop) + 1, np.frombuffer(text, np.uint8)
            while start < end:
                rows = min(max(FLOATS // features, 1), end - start)  # a row takes a byte at least
                query, grade = np.empty(rows, np.int64), np.empty(rows, np.int16)
                x, lines = np.zeros((rows, features), np.float32), np.empty(rows, np.int64)
                printed, rounding = np.empty(rows, np.float32), FRACTIONS.index(fractions)
                n, start, line, gave_up = parse(
                    buffer, start, end, in_comment, top, rounding, query, grade, printed, x, lines, line, _TENS
                )
                if gave_up:
                    bad = bytes(text[start : text.index(b"\n", start)])
                    reason = _defect(bad, features, top, in_comment, fractions)
                    advice = "Correct the line, or fetch the file again"
                    if reason.endswith(NOT_WHOLE):
                        advice = f"{advice}; if the set has such grades, say how they become whole (fractions: half-up)"
                    raise DataError(path, reason, line, advice)
                if n:
                    yield Block(query[:n], grade[:n], x[:n], lines[:n], printed[:n])
            kept = stop - end
            text[:kept] = text[end:stop]
            if not count:
                return


NOT_WHOLE = "is not a whole number"


def rounded(grade: float, fractions: str | None) -> float:
    """A printed grade made whole, by one of `FRACTIONS`."""
    if not math.isfinite(grade):
        return grade
    return {"down": math.floor, "up": math.ceil}.get(fractions, lambda number: math.floor(number + 0.5))(grade)


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # linear also in what it refuses
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_NAME = re.compile(r"\d{1,18}", re.ASCII)


def _defect(line: bytes, features: int, top: int, in_comment: bool, fractions: str | None) -> str:
    """What is wrong with a line that the parser gave up on: it applies the same grammar again, with error messages."""
    text, _, comment = line.decode("latin-1").partition("#")
    fields = re.split(r"[ \t\r]+", text.strip(" \t\r"))
    grade, *rest = fields
    quoted = grade if len(grade) <= 40 else f"{grade[:37]}..."
    if not _NUMBER.fullmatch(grade):
        finite = " (not finite)" if _NOT_FINITE.fullmatch(grade) else ""
        return f"the line does not start with a grade: {short(grade)}{finite}"
    if grade.startswith("-"):
        return f"grade {quoted} is negative"
    if float(grade) % 1 != 0 and fractions is None:
        return f"grade {quoted} {NOT_WHOLE}"
    if rounded(float(grade), fractions) > top:
        return f"grade {quoted} is above the highest grade, {top}"
    if not re.fullmatch(r"\+?\d{1,18}(\.\d*)?", grade, re.ASCII):
        return f"grade {short(grade)} is not written as a whole number"
    if in_comment:
        name = re.split(r"[ \t\r#]", comment.lstrip(" \t\r"))[0]
        if not _NAME.fullmatch(name):
            return f"the comment does not start with a query id: {short(name)}"
    else:
        if not rest or not rest[0].startswith("qid:"):
            return "there is no qid:<id> after the grade"
        if not _NAME.fullmatch(rest[0][4:]):
            return f"the query id is not a whole number of at most 18 digits: {short(rest[0])}"
        rest = rest[1:]
    last = 0
    for field in rest:
        name, colon, value = field.partition(":")
        if not colon:
            return f"{short(field)} has no colon; <index>:<value> is expected"
        if not re.fullmatch(r"\d+", name, re.ASCII):
            return f"feature index {short(name)} is not a positive whole number"
        index = name.lstrip("0")[:10]
        if not 1 <= int(index or 0) <= features:
            return f"feature index {short(name)} is not in 1..{features}"
        if int(index) <= last:
            return f"feature index {index} comes after {last}; indices have to increase along the line"
        if len(name) > 9:
            return f"feature index {short(name)} has too many digits"
        last = int(index)
        if _NOT_FINITE.fullmatch(value):
            return f"the value of feature {name} is not finite: {value}"
        if not _NUMBER.fullmatch(value):
            return f"the value of feature {name} is not a number: {short(value)}"
        if abs(float(value)) > _LARGEST:
            return f"the value of feature {name} is not finite in single precision: {short(value)}"
    return "the line is malformed"
