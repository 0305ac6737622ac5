"""LETOR files: SVMlight text with query ids, read in blocks by a compiled parser.

A line is `<grade> qid:<query> <index>:<value> ... [# comment]`. Fields are separated by blanks or
tabs, lines end in LF or CR LF, indices count from 1 and increase along the line unless the data set
says otherwise, features that are absent are 0. Blank lines and lines that hold only a comment are
skipped. In the layout "comment" (Yandex) there is no qid field, and the query id is the first word
of the comment.
"""

import math
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scant.errors import DataError, short
from scant.files import numbered_lines, skip_mark

MAX_GRADE = 30  # at which 2^grade - 1 is exact; a larger number is a score, not a grade
FLOATS = 1 << 24  # features of one block at most: 64 MB

# how grades that are not whole become whole; None if they are refused
FRACTIONS = (None, "half-up", "down", "up")
MISSING = "missing"  # of values beyond single precision: they count as absent

# numbers up to this round to a finite float32: also FLT_MAX as C prints it
_LARGEST = 3.40282356e38
# the first field of a line, and the rest
_GRADE = re.compile(rb"[ \t\r]*([^ \t\r\n#]*)(.*)", re.DOTALL)
_TENS = 10.0 ** np.arange(23)  # the powers of ten that float64 holds exactly


class Block(NamedTuple):
    """Consecutive rows of a file: documents with their queries."""

    query: np.ndarray  # int64 (n,)
    grade: np.ndarray  # int16 (n,)
    features: np.ndarray  # float32 (n, d)
    line: np.ndarray  # int64 (n,), the line of each row in the file, from 1
    printed: np.ndarray  # float32 (n,), the grade as the file has it, or that of a second judge


class _Form(NamedTuple):
    """How the lines of a file are written, see `read_letor`; the compiled parser takes it as it is.

    top : the highest grade
    in_comment : whether the query id is in the comment
    rounding : the index in `FRACTIONS` of how grades become whole
    overflow : NaN where values beyond single precision are refused
    """

    features: int
    top: int
    in_comment: bool
    rounding: int
    first_index: int
    unsorted: bool
    overflow: float


def read_letor(
    path,
    features: int,
    max_grade: int | None = None,
    block: int = 64 << 20,
    qid: str = "field",
    fractions: str | None = None,
    first_index: int = 1,
    unsorted: bool = False,
    overflow: float | str | None = None,
) -> Iterator[Block]:
    """Read a LETOR file in blocks of bounded size; queries may span blocks.

    Parameters
    ----------
    path : plain text file
    features : number of features d; indices run from `first_index` to d - 1 + `first_index`
    max_grade : highest grade allowed (30 if None)
    block : bytes to read at once
    qid : where the query id stands, "field" or "comment"
    fractions : how grades that are not whole become whole, one of `FRACTIONS`
    first_index, unsorted : the index of the first feature, 0 or 1; whether indices may come in any
        order
    overflow : what a value beyond single precision becomes: this number, with the value's sign, or
        `MISSING`, which is 0 as for features that are absent; such values are refused if None

    Yields
    ------
    Blocks, each of at least one row. Values are float64 parsed to 15 digits or more, rounded to
    float32.
    """
    form = _Form(
        features,
        MAX_GRADE if max_grade is None else max_grade,
        qid == "comment",
        FRACTIONS.index(fractions),
        first_index,
        unsorted,
        float({None: math.nan, MISSING: 0.0}.get(overflow, overflow)),
    )
    yield from checked(path, _blocks(path, form, block))


def read_grouped(
    path, sizes_path, features: int, max_grade: int | None = None, **settings
) -> Iterator[Block]:
    """Read a file in LETOR's format without query ids. A second file has, line by line, each
    query's number of rows; queries are numbered from 1.

    Parameters
    ----------
    path, features, max_grade, settings : as for `read_letor`
    sizes_path : the second file
    """
    sizes = []
    for number, line in numbered_lines(sizes_path):
        if text := line.decode("latin-1").strip():
            if not re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII):
                raise DataError(
                    sizes_path, f"{short(text)} is no number of rows of a query", number
                )
            sizes.append(int(text))
    queries = (query for query, size in enumerate(sizes, start=1) for _ in range(size))
    with tempfile.TemporaryDirectory() as folder:
        whole, rows = Path(folder, "with-queries.txt"), 0
        with open(whole, "wb") as target:
            for _, line in numbered_lines(path):
                grade, rest = _GRADE.fullmatch(line).groups()
                if grade:
                    rows += 1
                    # Rows beyond the last query are refused below, once they are counted.
                    line = b"%s qid:%d %s" % (grade, next(queries, len(sizes) + 1), rest)
                # each stays where it is, so that errors name the lines of the original
                target.write(line)
        # each query would have one document, so that every ranking were ideal
        if len(sizes) == rows > 1:
            reason = (
                f"it has a line for each of the {rows:,} rows of {Path(path).name}, as ids of "
                "queries have"
            )
            advice = (
                "Give how many rows each query has, one number a query; or write the ids into "
                "the rows, as qid:1"
            )
            raise DataError(sizes_path, reason, advice=advice)
        if rows != (total := sum(sizes)):
            reason = f"its queries have {total:,} rows in all, and {Path(path).name} has {rows:,}"
            raise DataError(sizes_path, reason)
        try:
            yield from read_letor(whole, features, max_grade, **settings)
        except DataError as error:
            raise DataError(path, error.reason, error.line, error.advice) from error


def checked(path, blocks: Iterable[Block], text: bool = True) -> Iterator[Block]:
    """Pass the blocks of a file on; a DataError if it has no rows, or if the rows of a query are
    not together.

    text : whether the file has lines; otherwise errors name the row
    """
    seen, last = set(), None
    for block in blocks:
        starts = np.flatnonzero(np.r_[True, block.query[1:] != block.query[:-1]])
        runs = block.query[starts].tolist()
        for start, query in zip(starts, runs, strict=True):
            if query in seen and (start > 0 or query != last):
                line = int(block.line[start])
                reason = f"query {query} goes on here after another query"
                advice = "Sort the file so that the rows of a query stand together"
                raise DataError(
                    path,
                    reason if text else f"row {line}: its query goes on after another query",
                    line if text else None,
                    advice,
                )
            seen.add(query)
        last = runs[-1]
        yield block
    if last is None:
        raise DataError(
            path, "the file has no rows", advice="It may have been cut short; fetch it again"
        )


def _blocks(path, form: _Form, size: int) -> Iterator[Block]:
    parser = _Parser(path, form)
    with open(path, "rb", buffering=0) as file:
        skip_mark(file)
        for text, end in _whole_lines(file, size):
            yield from parser.blocks(text, end)
    if parser.has_rows and not parser.used.any():
        reason = "no line has a feature"
        advice = "It is a list of judgments: give the file that has features, too"
        raise DataError(path, reason, advice=advice)


def _whole_lines(file, size: int) -> Iterator[tuple[bytearray, int]]:
    """The text of an open file, `size` bytes at a time, in a buffer that is written anew each time.

    Yields the buffer, and where its last whole line ends. The bytes that follow, of a line that is
    not whole yet, are moved to the front for the next time; a buffer half full of them is doubled.
    """
    length = os.fstat(file.fileno()).st_size or size  # 0 of what is no plain file
    # the last byte is for the end of a last line that lacks it
    text = bytearray(max(min(size, length), 64) + 1)
    rest = 0
    while count := file.readinto(memoryview(text)[rest:-1]):
        stop = rest + count
        end = text.rfind(b"\n", 0, stop) + 1
        rest = stop - end
        yield text, end
        text[:rest] = text[end:stop]
        if rest > len(text) // 2:
            text = text + bytearray(len(text))
    if rest:
        text[rest] = ord("\n")
        yield text, rest + 1


class _Parser:
    """Parses the text of a file, part by part.

    line : the number of the next line, from 1
    has_rows : whether there was a row so far
    used, widths : the state that the compiled parser carries on, see `scant.kernels.letor.parse`
    """

    def __init__(self, path, form: _Form):
        self.path, self.form = path, form
        self.line, self.has_rows = 1, False
        self.used, self.widths = np.zeros(form.features, np.int64), np.array([0, 19])

    def blocks(self, text: bytearray, end: int) -> Iterator[Block]:
        """The rows of `text[:end]`, the next whole lines of the file."""
        from scant.kernels.letor import parse  # compiled: most of what reads tables parses no text

        buffer, start = np.frombuffer(text, np.uint8), 0
        while start < end:
            # a row takes a byte at least
            rows = min(max(FLOATS // self.form.features, 1), end - start)
            block = _empty(rows, self.form.features)
            count, start, self.line, gave_up = parse(
                buffer, start, end, self.line, self.form, block, _TENS, self.used, self.widths
            )
            if gave_up:
                raise self._refusal(bytes(text[start : text.index(b"\n", start)]))
            if count:
                self.has_rows = True
                yield Block(*(column[:count] for column in block))

    def _refusal(self, line: bytes) -> DataError:
        """The error for the next line, which the compiled parser gave up on."""
        reason, advice = _defect(line, self.form), "Correct the line, or fetch the file again"
        setting = next(
            (setting for defect, setting in DECLARED.items() if re.match(defect, reason)), ""
        )
        if setting:
            advice = f"{advice}; if the set is written so, its entry says it ({setting})"
        elif ABOVE in reason:
            advice = (
                "Map grades to 0 to 30, since gains are 2^grade - 1: in the file, or by a "
                "parser of your own"
            )
        elif NAMED in reason:
            advice = (
                "Number the queries, or give the file as CSV (parser: csv), where they may "
                "have names"
            )
        return DataError(self.path, reason, self.line, advice)


def _empty(rows: int, features: int) -> Block:
    """A block to be filled, in which absent features are 0."""
    return Block(
        query=np.empty(rows, np.int64),
        grade=np.empty(rows, np.int16),
        features=np.zeros((rows, features), np.float32),
        line=np.empty(rows, np.int64),
        printed=np.empty(rows, np.float32),
    )


NOT_WHOLE = "is not a whole number"
UNSORTED = "have to increase along the line"
INFINITE = "in single precision"
ABOVE, NAMED = "is above the highest grade", "the query id is no number of at most 18 digits"
# What an entry of a data set says of lines that are refused where it does not, by how the reason
# reads.
DECLARED = {
    f"grade .* {NOT_WHOLE}": "fractions: half-up",
    rf"grade ([12]?\d(\.\d*)?|30(\.0*)?) {ABOVE}": "grades: 30 at most",
    "there is no qid:": "parser: letor-groups, with a file beside it that has each query's rows",
    "feature index '0' is not in 1.": "first_index: 0",
    f".* {UNSORTED}": "unsorted: true",
    f".* {INFINITE}": "overflow: missing, or the number that they become",
}


def rounded(grade: float, fractions: str | None) -> float:
    """A printed grade made whole, by one of `FRACTIONS`."""
    if not math.isfinite(grade):
        return grade
    return {"down": math.floor, "up": math.ceil}.get(
        fractions, lambda number: math.floor(number + 0.5)
    )(grade)


# linear also in what it refuses
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_NAME = re.compile(r"\d{1,18}", re.ASCII)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how such a file begins


def _foreign(text: bytes) -> str:
    """A sentence on the first character beyond ASCII in fields, and its encoding; "" if none."""
    match = re.search(rb"[\x80-\xff]", text)
    if match is None:
        return ""
    try:
        character, encoding = text[match.start() :].decode()[0], "UTF-8"
    except UnicodeDecodeError:
        character, encoding = match[0].decode("latin-1"), "no UTF-8; in Latin-1"
    name = unicodedata.name(character, "no printable character").lower()
    return (
        f"the fields have a character that is no ASCII: {name} (U+{ord(character):04X}, {encoding})"
    )


def _defect(line: bytes, form: _Form) -> str:
    """What is wrong with a line that the parser gave up on: it applies the same grammar again, with
    error messages.
    """
    if line.startswith(UTF_16):
        return (
            "the file is in UTF-16, and not in UTF-8 or ASCII (iconv -f UTF-16 -t UTF-8 "
            "converts it)"
        )
    if foreign := _foreign(line.partition(b"#")[0]):
        return foreign
    text, _, comment = line.decode("latin-1").partition("#")
    grade, *rest = re.split(r"[ \t\r]+", text.strip(" \t\r"))
    if reason := _defect_of_grade(grade, form):
        return reason
    if form.in_comment:
        query = re.split(r"[ \t\r#]", comment.lstrip(" \t\r"))[0]
        if not _NAME.fullmatch(query):
            return f"the comment does not start with a query id: {short(query)}"
    else:
        if not rest or not rest[0].startswith("qid:"):
            return "there is no qid:<id> after the grade"
        if not _NAME.fullmatch(rest[0][4:]):
            return f"{NAMED}: {short(rest[0])}"
        query, rest = rest[0][4:], rest[1:]
    if reason := _defect_of_features(rest, form):
        return reason
    return (
        f"query id {query} and one before it differ in the number of leading zeros, and may be "
        "one query or two"
    )


def _defect_of_grade(grade: str, form: _Form) -> str:
    """What is wrong with a grade; "" if it is right."""
    quoted, fractions = grade if len(grade) <= 40 else f"{grade[:37]}...", FRACTIONS[form.rounding]
    if not _NUMBER.fullmatch(grade):
        finite = " (not finite)" if _NOT_FINITE.fullmatch(grade) else ""
        return f"the line does not start with a grade: {short(grade)}{finite}"
    if grade.startswith("-"):
        return f"grade {quoted} is negative"
    if float(grade) % 1 != 0 and fractions is None:
        return f"grade {quoted} {NOT_WHOLE}"
    if rounded(float(grade), fractions) > form.top:
        return f"grade {quoted} {ABOVE}, {form.top}"
    if not re.fullmatch(r"\+?\d{1,18}(\.\d*)?", grade, re.ASCII):
        return f"grade {short(grade)} is not written as a whole number"
    return ""


def _defect_of_features(fields: list[str], form: _Form) -> str:
    """What is wrong with the first feature that is not right; "" if all are."""
    lowest, highest = form.first_index, form.features - 1 + form.first_index
    last, seen = lowest - 1, set()
    for field in fields:
        name, colon, value = field.partition(":")
        if not colon:
            return f"{short(field)} has no colon; <index>:<value> is expected"
        if not re.fullmatch(r"\d+", name, re.ASCII):
            return f"feature index {short(name)} is not a positive whole number"
        index = int(name.lstrip("0")[:10] or 0)  # enough digits to be out of range
        if not lowest <= index <= highest:
            return f"feature index {short(name)} is not in {lowest}..{highest}"
        if form.unsorted and index in seen:
            return f"feature index {name} is there twice"
        if not form.unsorted and index <= last:
            return f"feature index {index} comes after {last}; indices {UNSORTED}"
        if len(name) > 9:
            return f"feature index {short(name)} has too many digits"
        last = index
        seen.add(last)
        if _NOT_FINITE.fullmatch(value):
            return f"the value of feature {name} is not finite: {value}"
        if not _NUMBER.fullmatch(value):
            return f"the value of feature {name} is not a number: {short(value)}"
        if abs(float(value)) > _LARGEST and math.isnan(form.overflow):
            return f"the value of feature {name} is not finite {INFINITE}: {short(value)}"
    return ""
