"""Logs that users bring, as CSV, parquet or Arrow: all that is wrong with one is listed, each with its mend.

A log of a study has finite features and no texts (`read_log`). A log of a practitioner may lack values and have texts
(`read`), which a policy's encoder turns into numbers.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from scant import files
from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError, SettingError, nearest, short, unknown

ROLES = (*logs.NEEDED, *logs.OPTIONAL)  # columns that a log may call otherwise
ALIASES = {  # what others call these columns
    "action": ("ad", "ad_id", "item", "item_id", "arm", "arm_id", "banner", "creative", "offer", "shown"),
    "reward": ("click", "clicked", "clicks", "is_click", "label", "converted", "conversion", "y"),
    "propensity": ("pscore", "propensity_score", "action_prob", "probability", "prob", "p"),
    "timestamp": ("time", "datetime", "ts", "date"),
    "position": ("slot", "place", "rank"),
}
MISSING = frozenset(("", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", "?", "#N/A"))
MOSTLY = 0.9  # a column of text with this share of numbers, or more, is one of numbers with mistakes
DELIMITERS = ",;\t|"
ARROW, FEATHER = b"ARROW1", b"FEA1"  # the first bytes of an Arrow file, and of its forerunner
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
OTHERS = {  # files that some take for text, by their first bytes
    b"PK": ("a zip archive or a spreadsheet", "Unpack it, or save the sheet as CSV"),
    b"BZh": ("packed with bzip2", "Unpack it, or pack it with gzip or zstd"),
    b"\xfd7zXZ": ("packed with xz", "Unpack it, or pack it with gzip or zstd"),
    b"\xff\xfe": ("text in UTF-16", "Save it as UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "Save it as UTF-8"),
    FEATHER: ("a Feather file of version 1", "Write it as Feather of version 2, or parquet"),
}
EPOCHS = (1e9, 1e12, 1e15, 1e18)  # times from 2001 to 2286 in s, ms, us and ns are from this to ten times this
LEAST_PROPENSITY = 1e-12  # with smaller ones, squares of weights could overflow
LEAST_ID = 100  # rows from which on a column of distinct values looks like an id
CODES = 1 << 24  # whole numbers up to this one are exact in single precision


@dataclass(frozen=True)
class Problem:
    """Something wrong with a log.

    kind : a short name
    severity : "error" if the log cannot be evaluated, else "warning"
    reason : what is wrong; for rows, with the first value at fault
    mend : what to do about it
    count : the rows at fault; 0 if the problem is not one of rows
    row : the index of the first row at fault
    """

    kind: str
    severity: str
    reason: str
    mend: str = ""
    count: int = 0
    row: int | None = None


@dataclass(frozen=True)
class Visits(Log):
    """A log as its user wrote it; of its features, numbers may be missing (NaN), and texts are codes.

    categories : by name of a text feature, its texts; its column in `features` holds their indices; "" is missing
    given : float64 (rows x policies), the probabilities of the logged ad under policies of the user's own
    policies : the names of these
    """

    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    given: np.ndarray | None = None
    policies: tuple[str, ...] = ()

    @property
    def missing(self) -> dict[str, int]:
        """How many numbers each feature lacks, for those that lack some."""
        counts = zip(self.names, np.isnan(self.features).sum(axis=0).tolist(), strict=True)
        return {name: count for name, count in counts if count}


@dataclass(frozen=True)
class Reading:
    """What came of reading a log.

    path : the file
    form : what kind of file it is, in words
    columns : the names of its columns, as they are in the file
    problems : all that were found, errors first
    visits : the log; None if there is an error
    lines : for text, the line of each row, int (rows); None where rows have no lines
    """

    path: object
    form: str
    columns: tuple[str, ...]
    problems: tuple[Problem, ...]
    visits: Visits | None = None
    lines: np.ndarray | None = None

    def place(self, problem: Problem) -> str:
        """Where the first row of a problem is: "line 3", "row 2", or nothing."""
        if problem.row is None:
            return ""
        return f"row {problem.row + 1}" if self.lines is None else f"line {self.lines[problem.row]}"

    def required(self) -> Visits:
        """The log; a DataError with the first error if it has one."""
        if self.visits is not None:
            return self.visits
        errors = [problem for problem in self.problems if problem.severity == "error"]
        first, line, row = errors[0], None, ""
        if first.row is not None:
            line = None if self.lines is None else int(self.lines[first.row])
            row = "" if line else f"row {first.row + 1}: "
        more = f" ({first.count - 1:,} more rows)" if first.count > 1 else ""
        rest = f"{len(errors) - 1} more problems" if len(errors) > 2 else "1 more problem"
        advice = [first.mend] if first.mend else []
        advice += [f"`scant ads check` lists {rest}"] if len(errors) > 1 else []
        raise DataError(self.path, f"{row}{first.reason}{more}", line, ". ".join(advice))


def read(path, columns: Mapping[str, str] | None = None, ignore=(), categorical=(), policies: bool = True) -> Reading:
    """Read a user's log: CSV, parquet or Arrow (Feather), told apart by their first bytes; CSV may be packed.

    Text is UTF-8 with a header. Its delimiter (comma, semicolon, tab or bar) and its decimal sign are found out from
    its first lines; it may be packed with gzip or zstd. Blank lines are skipped.

    Columns
    -------
    action : id of the ad shown, text or number
    reward : from 0 to 1; 1 for a click
    propensity : the logging policy's probability of showing that ad to that user, in (0, 1]
    timestamp : optional; ISO 8601 if it is text, in UTC unless a zone is given; or seconds, or thousandths, millionths,
        billionths of seconds, since 1970
    position : optional; a whole number
    propensity:ACTION : optional, one column for each ad that occurs; the full distribution, which has to sum to 1 and
        to agree with `propensity` (each within 1e-4, which allows for rounding)
    policy:NAME : the probability that one of the user's own policies gives to the ad shown
    any other : a feature: numbers, true or false, times (as days since 1970) or text. Empty cells, and those of
        `MISSING` in a column of numbers, are missing

    Actions are sorted as numbers if all are numbers, else as text.

    Parameters
    ----------
    columns : by role, one of `ROLES`, the column of the file that has it
    ignore : columns to leave out; those that the file lacks are passed over
    categorical : features to take as texts though they are numbers; those that the file lacks are passed over
    policies : whether to read the columns `policy:NAME`

    Raises
    ------
    DataError : there is no such file, or its columns cannot be read at all. All other defects are `problems`
    SettingError : an unknown role; a column that is not there, or is used twice
    """
    if not Path(path).is_file():
        raise DataError(path, "there is no such file")
    with open(path, "rb") as file:
        first = file.read(8)
    for magic, (what, advice) in OTHERS.items():
        if first.startswith(magic):
            raise DataError(path, f"the file is {what}", advice=advice)
    renaming = _Renaming(path, columns or {}, frozenset(ignore))
    if first.startswith(logs.MAGIC):
        table, form, lines, found = _parquet(path), "parquet", None, []
        if files.metadata_of(table.schema).get("kind") == logs.KIND:
            return _of_a_study(path)
    elif first.startswith(ARROW):
        table, form, lines, found = _arrow(path), "Arrow", None, []
    else:
        table, form, lines, found = _csv(path, renaming)
    if lines is None:
        table = renaming.applied(table)
    if not policies:
        table = table.select([name for name in table.column_names if not name.startswith(logs.POLICY)])
    return _Reader(path, form, renaming.header, table, lines, found, frozenset(categorical)).reading()


def read_frame(frame, columns: Mapping[str, str] | None = None, ignore=(), categorical=()) -> Reading:
    """Take a log from a data frame; see `read`, whose `path` is "data frame" then.

    frame : of pandas, polars or Arrow
    """
    renaming = _Renaming("data frame", columns or {}, frozenset(ignore))
    table = renaming.applied(table_of(frame))
    return _Reader("data frame", "data frame", renaming.header, table, None, [], frozenset(categorical)).reading()


def table_of(frame):
    """A data frame of pandas, polars or Arrow as an Arrow table.

    Raises
    ------
    DataError : no data frame, one whose columns have names that are no text, or with objects in its cells
    """
    import pyarrow as pa

    with files.foreign("data frame", "data frame with columns of numbers, texts or times", "Look at its dtypes"):
        if hasattr(frame, "to_numpy") and hasattr(frame, "index"):  # of pandas, which would add its index
            if odd := [name for name in frame.columns if not isinstance(name, str)]:
                raise ValueError(f"the column name {odd[0]!r} is no text")
            return pa.Table.from_pandas(frame, preserve_index=False)
        if isinstance(frame, pa.RecordBatch):
            return pa.Table.from_batches([frame])
        if isinstance(frame, pa.Table):
            return frame
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
        raise ValueError(f"a {type(frame).__name__} is none")


def contexts(table, names: tuple[str, ...], texts, where="data frame", first: int = 0) -> Visits:
    """The features of visits that no ad was chosen for yet.

    Parameters
    ----------
    table : Arrow; columns that are no features are passed over
    names : of the features, in their order; a one-hot column ("variable=category") that is absent is 0, if another of
        its variable is there
    texts : the names of those that are text
    where, first : what messages call the table, and how many rows came before its first one

    Raises
    ------
    DataError : a feature is not there, or has a value that is not a number
    """
    absent = _absent(table.column_names, names, where)
    rows, categories = table.num_rows, {}
    features = np.zeros((rows, len(names)), np.float32)
    for at, name in enumerate(names):
        if name in absent:
            continue
        column = _plain(table.column(name))
        if name in texts:
            with files.foreign(where, f"log whose column {name!r} holds texts", "Look at its type"):
                codes, found = _distinct(column)
            given = [*_ids(found), *([""] if (codes < 0).any() and "" not in _ids(found) else [])]
            features[:, at] = codes if "" not in given else np.where(codes < 0, given.index(""), codes)
            categories[name] = tuple(given)
            continue
        values, strings = _feature_numbers(column)
        if values is None:
            raise DataError(where, f"column {name!r} has type {column.type}; numbers are needed")
        if strings is not None:
            wrong = np.isnan(values) & np.array([text is not None and text.strip() not in MISSING
                                                 for text in column.to_pylist()], bool)  # fmt: skip
            if wrong.any():
                row = int(np.argmax(wrong))
                text = short(str(column[row].as_py()))
                raise DataError(where, f"row {first + row + 1}: {name} {text} is not a number",
                                advice="The policy learnt from numbers there. Empty the cell")  # fmt: skip
        with np.errstate(over="ignore"):
            features[:, at] = values
        if (bad := np.isinf(features[:, at])).any():
            reason = f"row {first + int(np.argmax(bad)) + 1}: {name} is not finite in single precision"
            raise DataError(where, reason, advice="Leave the cell empty")
    nothing = np.zeros(rows)
    return Visits(features, np.zeros(rows, np.int32), nothing, nothing + 1, (), names, categories=categories)


def _absent(columns, names: tuple[str, ...], where) -> list[str]:
    """The one-hot columns among the features `names` that are absent, though others of their variables are there.

    Raises
    ------
    DataError : another feature is absent, or there twice
    """
    features = {*names}
    if twice := [name for name in logs.repeated(columns) if name in features or "=" in name]:
        raise DataError(where, f"two columns are called {twice[0]!r}", advice="Rename one of them")
    there, variables = {*columns}, {name.partition("=")[0] for name in columns if "=" in name}
    absent = [name for name in names if name not in there]
    if lacking := [name for name in absent if "=" not in name or name.partition("=")[0] not in variables]:
        near = nearest(lacking[0], [name for name in columns if name not in features])
        advice = f"Is it {near!r}? Rename it" if near else "The policy learnt from it"
        raise DataError(where, f"there is no column {lacking[0]!r}, a feature of the policy", advice=advice)
    return absent


def batches(path, names: tuple[str, ...], texts, keep=(), rows: int = 1 << 16) -> Iterator:
    """Visits in a file, as Arrow tables of at most `rows` rows, one after the other.

    Of parquet and Arrow all of a file's columns that are asked for are read; in text, cells are read as numbers or
    texts as the features ask for.

    Parameters
    ----------
    path : CSV, which may be packed, parquet or Arrow
    names, texts : the features, and which of them are text
    keep : other columns

    Raises
    ------
    DataError : there is no such file, it cannot be read, lacks a feature, or has no rows
    SettingError : a column to keep is not there
    """
    if not Path(path).is_file():
        raise DataError(path, "there is no such file")
    with open(path, "rb") as file:
        first = file.read(8)
    empty = True
    if first.startswith(logs.MAGIC):
        parts = _parquet_batches(path, names, keep, rows)
    elif first.startswith(ARROW):
        parts = _arrow_batches(path, names, keep, rows)
    else:
        parts = _csv_batches(path, names, texts, keep)
    with files.foreign(path, "readable file of visits"):
        for table in parts:
            empty = empty and not table.num_rows
            if table.num_rows:
                yield table
    if empty:
        raise DataError(path, "it has no rows")


def _chosen(path, columns, names, keep) -> list[str]:
    """Those of a file's columns that are features or to be kept, or one-hot encoded.

    Raises
    ------
    DataError, SettingError : one that is absent, or there twice
    """
    _absent(columns, names, path)
    if lacking := [name for name in keep if name not in columns]:
        raise SettingError(f"{path}: {unknown('column', lacking[0], columns)}")
    if twice := [name for name in logs.repeated(columns) if name in keep]:
        raise SettingError(f"{path}: two columns are called {twice[0]!r}. Rename one of them")
    wanted = {*names, *keep}
    return [name for name in columns if name in wanted or "=" in name]


def _parquet_batches(path, names, keep, rows: int):
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        columns = _chosen(path, file.schema_arrow.names, names, keep)
        for batch in files.batches(file, rows, columns=columns):
            yield pa.Table.from_batches([batch])


def _arrow_batches(path, names, keep, rows: int):
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            table = _named(pa.Table.from_batches([batch]))
            table = table.select(_chosen(path, table.column_names, names, keep))
            for start in range(0, table.num_rows, rows):
                yield table.slice(start, rows)


def _csv_batches(path, names, texts, keep):
    import pyarrow as pa
    from pyarrow import csv

    files.refuse_page(path)
    with open(path, "rb") as file:
        first = file.read(8)
    packing = next((name for magic, name in PACKED.items() if first.startswith(magic)), None)
    with _Unpacked(path, packing) as stream:
        head = stream.first_lines()
    header, delimiter, comma = _sniffed(path, head)
    columns = _Renaming(path, {}, frozenset()).names(header)
    wanted = _chosen(path, columns, names, keep)
    numeric = [name for name in wanted if name not in texts and name not in keep]
    decimals = {"decimal_point": "," if comma else "."}
    reading = csv.ReadOptions(use_threads=False, block_size=1 << 22, column_names=columns, skip_rows=1)
    parsing = csv.ParseOptions(delimiter=delimiter)
    kinds = dict.fromkeys(numeric, pa.float64())
    with suppress(pa.ArrowInvalid):  # truth values and times, as the first lines have them
        lines = head[: head.rfind(b"\n") + 1]
        guess = csv.ConvertOptions(include_columns=numeric, null_values=sorted(MISSING), **decimals)
        sample = csv.read_csv(
            pa.BufferReader(lines), csv.ReadOptions(column_names=columns, skip_rows=1), parsing, guess
        )
        kinds |= {field.name: field.type for field in sample.schema
                  if pa.types.is_boolean(field.type) or pa.types.is_temporal(field.type)}  # fmt: skip
    options = csv.ConvertOptions(
        column_types=kinds | dict.fromkeys((*(name for name in texts if name in columns), *keep), pa.string()),
        include_columns=wanted, null_values=sorted(MISSING),
        strings_can_be_null=False, **decimals,
    )  # fmt: skip
    with _Unpacked(path, packing) as stream:
        try:
            with csv.open_csv(stream, reading, parsing, options) as reader:
                for batch in reader:
                    yield pa.Table.from_batches([batch])
        except pa.ArrowInvalid as error:
            advice = "Empty cells that are no numbers; quote texts with the delimiter in them"
            reason = f"not readable as visits ({str(error).splitlines()[0][:200]})"
            raise DataError(path, reason, advice=advice) from None


def _feature_numbers(column):
    """As `_numbers`, for features: times are days since 1970."""
    from pyarrow import types

    if types.is_timestamp(column.type) or types.is_date(column.type):
        return _days(column), None
    return _numbers(column)


def _days(column) -> np.ndarray:
    """Times as days since 1970, float64 (rows); NaN where one is missing."""
    times = column.cast("timestamp[us]", safe=False)
    days = np.asarray(times.cast("int64", safe=False).to_numpy(zero_copy_only=False), float) / 86400e6
    return np.where(np.asarray(column.is_null()), np.nan, days)


def read_log(path) -> Log:
    """Read a user's log for a study: `read`, but all features are to be numbers, and none missing.

    Texts have to be one-hot encoded as 0/1 columns called "variable=category" ("colour=red"); the logs of a study may
    have different categories (`logs.align`).

    Raises
    ------
    DataError : with line or row, and what `read` finds wrong
    """
    reading = read(path, policies=False)
    visits = reading.required()
    if lacking := visits.missing:
        name = next(iter(lacking))
        row = int(np.argmax(np.isnan(visits.features[:, visits.names.index(name)])))
        logs.refuse_row(path, row, f"{name} is missing", reading.lines, "Fill it in, or leave the row out")
    if visits.categories:
        name, texts = next(iter(visits.categories.items()))
        numeric = np.array([_number(text) is not None for text in texts])
        codes = visits.features[:, visits.names.index(name)].astype(np.int64)
        row = int(np.argmin(numeric[codes]))
        text = texts[codes[row]]
        reason = f"{name} {short(text)} is not a number" if text else f"{name} is missing"
        logs.refuse_row(path, row, reason, reading.lines, "One-hot encode a column of text, or drop it")
    log = Log(**{part.name: getattr(visits, part.name) for part in fields(Log)})
    return logs.check(log, path, reading.lines)


def _of_a_study(path) -> Reading:
    """The reading of a log that the project wrote."""
    log, _ = logs.read(path)
    visits = Visits(**{part.name: getattr(log, part.name) for part in fields(Log)})
    return Reading(path, "parquet of a study", (*log.columns(),), (), visits)


# --- files


class _Renaming:
    """Gives columns of a file their roles, and leaves some out.

    header : the names of the columns in the file, once known
    line : of the file that has them, if it is text
    """

    def __init__(self, path, columns: Mapping[str, str], ignore: frozenset[str]):
        for role in columns:
            if role not in ROLES:
                raise unknown("role of a column", role, ROLES)
        self.path, self.columns, self.ignore, self.header, self.line = path, columns, ignore, (), None

    def names(self, header) -> list[str]:
        """The names of the columns by their roles, "" for a column that is left out.

        Raises
        ------
        SettingError : a column that is not there, or whose role another column has, too
        DataError : two columns of one name
        """
        self.header = tuple(header)
        roles = {}
        for role, column in self.columns.items():
            if column in header:
                if column in roles:
                    raise SettingError(f"{self.path}: column {column!r} cannot be {roles[column]} and {role}")
                if column != role and role in header and role not in (*self.ignore, *self.columns.values()):
                    raise SettingError(f"{self.path}: {role} is to be column {column!r}, but there is also a column "
                                       f"{role!r}. Leave it out with --ignore {role}")  # fmt: skip
                roles[column] = role
            elif role not in header:
                raise SettingError(f"{self.path}: {unknown('column', column, header)}")
        names = [roles.get(name, "" if name in self.ignore else name) for name in header]
        if twice := logs.repeated(name for name in names if name):
            raise DataError(self.path, f"two columns are called {twice[0]!r}", self.line, "Rename one of them")
        return names

    def applied(self, table):
        """An Arrow table with its columns named by their roles."""
        names = self.names(table.column_names)
        kept = [number for number, name in enumerate(names) if name]
        return table.select(kept).rename_columns([names[number] for number in kept])


def _parquet(path):
    with files.foreign(path):
        return _named(files.read_parquet(path, ours=False))


def _named(table):
    """An Arrow table, once its column names are known to be text; a ValueError if they are not."""
    if not all(isinstance(name, str) for name in table.column_names):
        raise ValueError("column names that are no text")
    return table


def _arrow(path):
    """The table of an Arrow file, read in parts, which are checked."""
    import pyarrow as pa

    limit, parts = max(files.FREE, files.RATIO * Path(path).stat().st_size), []
    with files.foreign(path, "readable Arrow file"), pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            parts.append(batch)
            limit -= batch.nbytes
            if limit < 0:
                raise ValueError("a small file that holds too much")
        return _named(pa.Table.from_batches(parts, reader.schema))


def _csv(path, renaming: _Renaming):
    """The table of a CSV file, its form in words, the line of each row, and the problems of its lines."""
    import pyarrow as pa
    from pyarrow import csv

    files.refuse_page(path)
    with open(path, "rb") as file:
        first = file.read(8)
    packing = next((name for magic, name in PACKED.items() if first.startswith(magic)), None)
    with _Unpacked(path, packing) as stream:
        head = stream.first_lines()
    header, delimiter, comma = _sniffed(path, head)
    renaming.line = 1
    names = renaming.names(header)
    for number, name in enumerate(header, start=1):
        if not name:
            advice = "Drop the index column (in pandas, to_csv(..., index=False))"
            raise DataError(path, f"column {number} has no name", 1, advice)
    unequal = []

    def odd(row):
        unequal.append((row.number, row.actual_columns))
        return "skip"

    places = [name or f"\0{number}" for number, name in enumerate(names)]  # no two alike
    texts = {name: pa.string() for name in names if name in ("action", "timestamp")}
    options = {
        "read_options": csv.ReadOptions(use_threads=False, block_size=1 << 22, column_names=places, skip_rows=1),
        "parse_options": csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=odd),
        "convert_options": csv.ConvertOptions(
            column_types=texts, null_values=[""], strings_can_be_null=True, decimal_point="," if comma else ".",
            include_columns=[name for name in names if name], check_utf8=False,
        ),
    }  # fmt: skip
    with _Unpacked(path, packing) as stream:
        try:
            table = csv.read_csv(stream, **options)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                table = pa.table({name: pa.array([], pa.string()) for name in names if name})
            else:
                raise DataError(path, f"not readable as CSV ({str(error).splitlines()[0][:200]})") from None
    lines = np.delete(np.arange(table.num_rows + len(unequal)) + 2, [number - 2 for number, _ in unequal])
    if table.num_columns and all(column.null_count for column in table.columns):
        blank = np.all([column.is_null().to_numpy() for column in table.columns], axis=0)
        table, lines = table.filter(pa.array(~blank)), lines[~blank]
    problems = []
    if unequal:
        line, count = min(unequal)
        reason = f"line {line} has {count} fields, the header {len(header)}"
        mend = "Quote fields that hold the delimiter, and complete or drop lines that were cut"
        problems.append(Problem("fields", "error", reason, mend, len(unequal)))
    form = ["CSV"] + ([f"packed with {packing}"] if packing else [])
    form += [f"fields separated by {delimiter!r}"] if delimiter != "," else []
    form += ["with decimal commas"] if comma else []
    return table, ", ".join(form), lines, problems


class _Unpacked:
    """The bytes of a text file, unpacked if it is packed: UTF-8, and no more of them than the limits allow."""

    closed = False

    def __init__(self, path, packing: str | None):
        self.path, self.packing, self.left = path, packing, max(files.FREE, files.RATIO * Path(path).stat().st_size)
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def __enter__(self):
        import pyarrow as pa

        file = pa.OSFile(str(self.path))
        self.stream = pa.CompressedInputStream(file, self.packing) if self.packing else file
        return self

    def __exit__(self, *error):
        self.stream.close()

    def read(self, size: int = -1) -> bytes:
        try:
            block = self.stream.read(size if size >= 0 else self.left + 1)
        except OSError as error:
            raise DataError(self.path, f"damaged, or cut short ({error})", advice="Make it again") from None
        self.left -= len(block)
        if self.left < 0:
            raise DataError(self.path, "a small file that holds too much")
        try:
            self.decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            raise DataError(self.path, "not text in UTF-8", advice="Save it as CSV in UTF-8") from None
        return block

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """The context closes the stream."""

    def first_lines(self) -> bytes:
        """The first 64 KB, or more if the first line is longer."""
        head = b""
        while len(head) < 1 << 16 or (b"\n" not in head and len(head) < files.LONGEST):
            block = self.read(1 << 16)
            if not block:
                break
            head += block
        return head


def _sniffed(path, head: bytes) -> tuple[list[str], str, bool]:
    """The column names of a CSV file, its delimiter, and whether it has decimal commas, from its first lines."""
    import csv

    if not head.strip():
        raise DataError(path, "the file is empty")
    line = head.partition(b"\n")[0].decode("utf-8-sig", errors="replace").rstrip("\r")
    if not line.strip():
        raise DataError(path, "the first line is blank; it is to name the columns", 1)
    bare = re.sub(r'"[^"]*"', "", line)
    delimiter = max(DELIMITERS, key=bare.count)
    if bare.count(delimiter) > logs.COLUMNS:
        raise DataError(path, f"more than {logs.COLUMNS:,} columns", 1)
    csv.field_size_limit(files.LONGEST)
    try:
        header = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [""])]
    except csv.Error as error:
        raise DataError(path, f"the header is not readable ({error})", 1) from None
    rows = head.decode(errors="replace").splitlines()[1:100]
    cells = [cell.strip(' "') for row in rows for cell in row.split(delimiter)] if delimiter != "," else []
    commas, points = (sum(bool(re.fullmatch(rf"[+-]?\d*{sign}\d+", cell)) for cell in cells) for sign in (",", r"\."))
    return header, delimiter, commas > points


# --- columns


class _Reader:
    """Turns the columns of an Arrow table into a log, and gathers their problems."""

    def __init__(self, path, form, columns, table, lines, problems, categorical):
        self.path, self.form, self.columns, self.lines = path, form, columns, lines
        self.problems, self.categorical, self.rows = list(problems), categorical, table.num_rows
        self.names = table.column_names
        self.table = {name: table.column(name) for name in self.names}  # columns are dropped once they are read

    def reading(self) -> Reading:
        import pyarrow as pa

        if self.rows:
            with files.foreign(self.path, "readable log"):
                visits = self.visits()
            pa.default_memory_pool().release_unused()
        else:
            self.missing_columns()
            self.add("rows", "error", "the log has no rows")
            visits = None
        problems = sorted(self.problems, key=lambda problem: problem.severity)  # errors first
        visits = None if any(problem.severity == "error" for problem in problems) else visits
        return Reading(self.path, self.form, self.columns, tuple(problems), visits, self.lines)

    def add(self, kind: str, severity: str, reason: str, mend: str = "", bad: np.ndarray | None = None) -> None:
        """Note a problem; `bad`, bool (rows), marks the rows at fault."""
        count, row = (0, None) if bad is None else (int(np.count_nonzero(bad)), int(np.argmax(bad)))
        self.problems.append(Problem(kind, severity, reason, mend, count, row))

    def missing_columns(self) -> None:
        for role in logs.NEEDED:
            if role not in self.names:
                near = next((name for name in self.names if name.lower() in (role, *ALIASES[role])), None)
                near = near or nearest(role, self.names)
                mend = (
                    f"Is it {near!r}? Then --columns {role}={near}" if near else f"--columns {role}=COLUMN says which"
                )
                listed = logs.listing(self.names)
                self.add("column", "error", f"there is no column {role!r}; columns: {listed}", mend)

    def visits(self) -> Visits | None:
        self.missing_columns()
        prefixes = (logs.FULL, logs.POLICY)
        names = [name for name in self.names if name not in ROLES and not name.startswith(prefixes)]
        full = [name.removeprefix(logs.FULL) for name in self.names if name.startswith(logs.FULL)]
        policies = tuple(name.removeprefix(logs.POLICY) for name in self.names if name.startswith(logs.POLICY))
        reward, propensity = self.reward(), self.propensity()
        action, actions = self.action(full)
        given = [self.probability(logs.POLICY + name) for name in policies]
        distribution = self.distribution(full, actions, action, propensity)
        timestamp = self.timestamp() if "timestamp" in self.table else None
        position = self.position() if "position" in self.table else None
        features, names, categories = self.features(names)
        if distribution is False or any(problem.severity == "error" for problem in self.problems):
            return None
        return Visits(
            features, action, reward, propensity, actions, names, position, timestamp,
            categories, np.column_stack(given) if given else None, policies,
        )  # fmt: skip

    # numbers

    def numbers(self, name: str, mend: str = "") -> np.ndarray:
        """A column of which every row needs a number, float64 (rows); NaN where there is a problem."""
        column = _plain(self.table.pop(name))
        values, texts = _numbers(column)
        if values is None:
            self.add(f"{name}-type", "error", f"column {name!r} has type {column.type}; numbers are needed", mend)
            return np.full(self.rows, np.nan)
        lacking = np.isnan(values)
        if lacking.any():
            row = int(np.argmax(lacking))
            text = None if texts is None else column[row].as_py()
            if text is None or text in MISSING:
                self.add(f"{name}-missing", "error", f"{name} is missing", "Fill it in, or leave the rows out", lacking)
            else:
                self.add(f"{name}-text", "error", f"{name} {short(text)} is not a number", mend, lacking)
        return values

    def within(self, name: str, values, bad, reason: str, mend: str) -> None:
        if bad.any():
            self.add(f"{name}-range", "error", f"{name} {values[np.argmax(bad)]} {reason}", mend, bad)

    def reward(self) -> np.ndarray | None:
        if "reward" not in self.table:
            return None
        values = self.numbers("reward", "Write 1 for a click, and 0 for none")
        bad = (values < 0) | (values > 1)
        signs = np.isin(values[~np.isnan(values)], (-1, 1)).all()
        clicks = signs or (values < 0).any()
        mend = "Write 1 for a click, and 0 for none" if clicks else "Divide by the largest possible"
        self.within("reward", values, bad, "is not in [0, 1]", mend)
        known = values[~np.isnan(values)]
        if len(known) and not known.any():
            self.add("no-clicks", "warning", f"all {len(known):,} rewards are 0: rewards look missing",
                     "Look at how clicks are joined to visits. There is no verdict without any")  # fmt: skip
        elif len(known) > 1 and (known == 1).all():
            self.add("all-clicks", "warning", f"all {len(known):,} rewards are 1: visits without a click look missing",
                     "Log every visit, clicked or not")  # fmt: skip
        return values

    def propensity(self) -> np.ndarray | None:
        if "propensity" not in self.table:
            return None
        texts = _plain(self.table["propensity"])
        if _is_text(texts.type) and any(text.as_py().strip().endswith("%") for text in _distinct(texts)[1]):
            self.table.pop("propensity")
            self.add("percent", "error", "propensities are written with a percent sign", "Write 0.25 for 25 %")
            return None
        values = self.numbers("propensity", "It is the probability with which the ad shown was to be shown")
        bad = ~((values > 0) & (values <= 1)) & ~np.isnan(values)
        top = np.nanmax(values, initial=0)
        if bad.any() and 1 < top <= 100 and not (values <= 0).any():
            low = np.nanmin(values)
            self.add("percent", "error", f"propensity {values[np.argmax(bad)]:g} is not in (0, 1]; they are from "
                     f"{low:g} to {top:g}, which looks like percent", "Divide them by 100", bad)  # fmt: skip
        else:
            mend = "It is the probability with which the logging policy chose the action that it logged"
            self.within("propensity", values, bad, "is not in (0, 1]", mend)
            tiny = ~bad & (values < LEAST_PROPENSITY)
            self.within("propensity", values, tiny, f"is below {LEAST_PROPENSITY:g}, too small to be one", mend)
        return values

    def probability(self, name: str) -> np.ndarray:
        values = self.numbers(name, "It is the policy's probability of `action`")
        bad = (values < 0) | (values > 1)
        self.within(name, values, bad, "is not in [0, 1]", "It is the policy's probability of `action`")
        return values

    def position(self) -> np.ndarray:
        values = self.numbers("position", "It is a whole number, or leave the column out with --ignore position")
        bad = ((values != np.floor(values)) | (np.abs(values) >= 2**31)) & ~np.isnan(values)
        self.within("position", values, bad, "is not a whole number", "Leave the column out with --ignore position")
        return np.where(np.isnan(values) | bad, 0, values).astype(np.int32)

    # ads

    def action(self, full: list[str]) -> tuple[np.ndarray | None, tuple[str, ...]]:
        if "action" not in self.table:
            return None, logs.ordered(set(full))
        column = _plain(self.table.pop("action"))
        codes, texts = _distinct(column)
        if (codes < 0).any():
            self.add("action-missing", "error", "action is missing", "Fill it in, or leave the rows out", codes < 0)
        ids = _ids(texts)
        actions = logs.ordered({*ids, *full})
        index_of = {action: index for index, action in enumerate(actions)}
        moved = np.array([index_of[name] for name in ids] + [-1], np.int32)[codes]
        return moved, actions

    def distribution(self, full: list[str], actions, action, propensity) -> bool | None:
        """Check the columns of full propensities; False if they are at fault."""
        if not full or action is None or propensity is None:
            return None
        if absent := [name for name in actions if name not in full]:
            reason = f"there is no column {logs.FULL + absent[0]!r}"
            self.add("column", "error", reason, "Give it for every action, or none")
            return False
        total, outside, logged = np.zeros(self.rows), np.zeros(self.rows, bool), np.zeros(self.rows)
        for number, name in enumerate(actions):
            values = self.numbers(logs.FULL + name)
            total += values
            outside |= (values < 0) | (values > 1)
            logged = np.where(action == number, values, logged)
        known = ~np.isnan(total)
        for kind, bad, reason, values in (
            ("full-range", outside, "a propensity is not in [0, 1]; they sum to {}", total),
            ("full-sum", known & (np.abs(total - 1) > logs.SLACK), "the propensities sum to {:.6g}, not to 1", total),
            ("full-differs", known & (np.abs(logged - propensity) > logs.SLACK),
             "propensity differs from that of the action's own column, {}", logged),
        ):  # fmt: skip
            if bad.any():
                self.add(kind, "error", reason.format(values[np.argmax(bad)]), "", bad)
        return None

    # times

    def timestamp(self) -> np.ndarray:
        import pandas as pd
        from pyarrow import types

        column = _plain(self.table.pop("timestamp"))
        mend = "Write it as 2019-11-24 00:03:13+00:00, or leave the column out with --ignore timestamp"
        if _is_text(column.type):
            codes, texts = _distinct(column)
            numbers = [_number(text) for text in texts.to_pylist()]
            if numbers and None not in numbers:
                return self.epoch(np.array([*numbers, np.nan])[codes], mend)
            held = pd.Series(texts.to_pylist(), dtype=object)
            parsed = pd.to_datetime(held, utc=True, errors="coerce", format="ISO8601")
            times = np.append(parsed.dt.tz_localize(None).to_numpy("datetime64[us]"), np.datetime64("NaT", "us"))[codes]
        elif types.is_timestamp(column.type) or types.is_date(column.type):
            times = column.cast("timestamp[us]", safe=False).to_numpy().astype("datetime64[us]")
        else:
            values, _ = _numbers(column)
            return self.epoch(np.full(self.rows, np.nan) if values is None else values, mend)
        if (bad := np.isnat(times)).any():
            text = column[int(np.argmax(bad))].as_py()
            reason = "timestamp is missing" if text is None else f"timestamp {short(str(text))} is not a time"
            self.add("timestamp", "error", reason, mend, bad)
        return times

    def epoch(self, values: np.ndarray, mend: str) -> np.ndarray:
        """Times from numbers, whose unit follows from their size."""
        nothing = np.full(self.rows, np.datetime64("NaT", "us"))
        if (bad := np.isnan(values)).any():
            self.add("timestamp", "error", "timestamp is missing", mend, bad)
            return nothing
        for least in EPOCHS:
            if values.min() >= least and values.max() < 10 * least:
                return (values * (1e6 * 1e9 / least)).astype(np.int64).view("datetime64[us]")
        self.add("timestamp", "error", "the timestamps are plain numbers, and no seconds since 1970", mend)
        return nothing

    # features

    def features(self, names: list[str]) -> tuple[np.ndarray, tuple[str, ...], dict[str, tuple[str, ...]]]:
        matrix, categories, kept = np.empty((self.rows, len(names)), np.float32), {}, []
        for name in names:
            column = _plain(self.table.pop(name))
            values, texts = self.feature(name, column)
            if values is None:
                continue
            with np.errstate(over="ignore"):  # too large is infinite, which is found next
                matrix[:, len(kept)] = values
            if texts is not None:
                categories[name] = texts
            elif (bad := np.isinf(matrix[:, len(kept)])).any():
                reason = f"feature {name!r} is not finite in single precision"
                self.add("infinite", "error", reason, "Leave the cells empty, or scale the feature", bad)
            kept.append(name)
        if not kept:
            self.add("no-features", "error", "the log has no features", "A policy needs something to tell users apart")
        return (matrix if len(kept) == len(names) else matrix[:, : len(kept)].copy()), tuple(kept), categories

    def feature(self, name: str, column):
        """The values of a feature, float (rows), and its texts if they are codes; None for one that is left out."""
        from pyarrow import types

        if column.null_count == self.rows:
            self.add("empty", "warning", f"feature {name!r} has no value in any row, and is left out")
            return None, None
        if types.is_timestamp(column.type) or types.is_date(column.type):
            return _days(column), None
        if name in self.categorical or types.is_dictionary(column.type) or _is_text(column.type):
            return self.text_feature(name, column)
        values, _ = _numbers(column)
        if values is None:
            reason = f"column {name!r} has type {column.type}; a log has numbers, text and times"
            self.add("type", "error", reason, f"Leave it out with --ignore {name}")
            return None, None
        if types.is_integer(column.type) and _looks_like_an_id(values):
            self.id_like(name)
        return values, None

    def text_feature(self, name: str, column):
        codes, texts = _distinct(column)
        given = _ids(texts)
        numbers = np.array([np.nan if (number := _number(text)) is None else number for text in given])
        absent = np.array([text.strip() in MISSING for text in given], bool)
        counts = np.bincount(codes[codes >= 0], minlength=len(given))
        share = counts[~np.isnan(numbers)].sum() / max(counts[~absent].sum(), 1)
        if share >= MOSTLY and name not in self.categorical and _is_text(texts.type):
            wrong = np.append(np.isnan(numbers) & ~absent, False)[codes]
            if wrong.any():
                text = given[codes[np.argmax(wrong)]]
                self.add("mixed", "error", f"{name} {short(text)} is not a number; {100 * share:.3g} % of cells are",
                         f"Empty these cells, or take all as texts with --categorical {name}", wrong)  # fmt: skip
            return np.append(numbers, np.nan)[codes], None
        if len(given) >= CODES:
            mend = f"Leave it out with --ignore {name}"
            self.add("texts", "error", f"feature {name!r} has {len(given):,} different texts", mend)
            return None, None
        if self.rows >= LEAST_ID and len(given) > self.rows / 2:
            self.id_like(name, f"{len(given):,} different texts in {self.rows:,} rows")
        if (codes < 0).any():
            if "" not in given:
                given = [*given, ""]
            codes = np.where(codes < 0, given.index(""), codes)
        return codes, tuple(given)

    def id_like(self, name: str, why: str = "another value in every row") -> None:
        self.add("id", "warning", f"feature {name!r} has {why}: it looks like an id, which tells nothing of new visits",
                 f"Leave it out with --ignore {name}")  # fmt: skip


def _plain(column):
    """An Arrow column as one array, of dictionaries that hold texts, or of values."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_string_view(column.type):  # as polars has it, for which Arrow lacks functions
        column = column.cast(pa.string())
    if types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return logs.whole(column)


def _is_text(column_type) -> bool:
    from pyarrow import types

    return types.is_string(column_type) or types.is_large_string(column_type)


def _numbers(column):
    """Values as float64 (rows), NaN where there is no number, and the texts if it is a column of text.

    Values are None for a type that holds no numbers.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if _is_text(kind):
        codes, texts = _distinct(column)
        numbers = [_number(text) for text in texts.to_pylist()]
        return np.array([*(np.nan if number is None else number for number in numbers), np.nan])[codes], texts
    if types.is_null(kind):
        return np.full(len(column), np.nan), None
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        return None, None
    if column.type != pa.float64():
        column = column.cast(kind, safe=False).cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False), None


def _number(text: str) -> float | None:
    """The number that a text is; None if it is none."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _distinct(column):
    """The code of each row, int64 (rows), -1 where a value is missing; and the distinct values, an Arrow array."""
    import pyarrow as pa
    from pyarrow import types

    coded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    codes = coded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    values = coded.dictionary
    lacks = np.array([value is None or value != value for value in values.to_pylist()], bool)
    occurs = np.bincount(codes[codes >= 0], minlength=len(values)) > 0
    kept = occurs & ~lacks
    place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return place[codes], values.filter(pa.array(kept))


def _ids(values) -> list[str]:
    """Distinct values as texts, whole numbers without a decimal point."""
    held = values.to_pylist()
    if all(isinstance(value, float) and value.is_integer() and abs(value) < 2.0**63 for value in held):
        held = map(int, held)
    return list(map(str, held))


def _looks_like_an_id(values: np.ndarray) -> bool:
    """Whether no two rows of a column of whole numbers are alike."""
    few = values[:10_000]
    if len(values) < LEAST_ID or np.isnan(values).any() or len(np.unique(few)) < len(few):
        return False
    return len(np.unique(values)) == len(values)
