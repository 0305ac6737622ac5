"""Logs that users bring, read from CSV, parquet or Arrow, or taken from a data frame.

A log of a study has finite features and no texts (`read_log`). A log of a practitioner may lack
values and have texts (`read`), which a policy's encoder turns into numbers.
"""

import codecs
import re
from dataclasses import fields, replace
from pathlib import Path
from shlex import quote

import numpy as np
import pyarrow as pa

from scant import files
from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError, SettingError, short, unknown
from scant_ads.reading import arrays, layout, nested, wabbit, wide
from scant_ads.reading.names import ALIASES
from scant_ads.reading.visits import (
    ELIGIBLE,
    KEY,
    KEYS,
    PLAIN,
    ROLES,
    Options,
    Problem,
    Reading,
    Visits,
)

DELIMITERS = ",;\t|"
SPARE = 1 << 26  # bytes of memory that are left before a block is read
BLOCK = 1 << 22  # bytes of a CSV file that Arrow reads at once, in which a row has to fit
ARROW = b"ARROW1"  # the first bytes of an Arrow file
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
OTHERS = {  # files that some take for text, by their first bytes
    b"PK": ("a zip archive or a spreadsheet", "Unpack it, or save the sheet as CSV"),
    b"BZh": ("packed by bzip2", "Unpack it"),
    b"\xfd7zXZ": ("packed by xz", "Unpack it"),
    b"sep=": ("CSV with a line for Excel alone", "Delete its first line"),
    b"\xff\xfe": ("text in UTF-16", "Save it as UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "Save it as UTF-8"),
}
NAMELESS = "Drop an index column (in pandas, to_csv(..., index=False)), or name it"
CUT = (  # what is wrong with a text like 0.2 of 0.25, which no reader could see, and its mend
    "its last line has no end, so that the file may have been cut inside a field",
    "If it is whole, end the line (echo >> FILE), before it is packed",
)


def read(path, options: Options = PLAIN, study: bool = False, whole: bool = False) -> Reading:
    """Read a user's log: CSV, parquet, Arrow (Feather), or a log of Vowpal Wabbit; all told apart
    by how they begin.

    Text is UTF-8, and may be packed with gzip or zstd; its last line has to end. CSV has a header.
    Its delimiter (comma, semicolon, tab or bar) and its decimal sign are found out from its first
    lines. Blank lines are skipped. A first column without a name that numbers the rows, as pandas
    writes its index, is left out. For Vowpal Wabbit's forms see `wabbit`.

    Columns
    -------
    action : id of the ad shown, text or number
    reward : from 0 to 1; 1 for a click
    propensity : the logging policy's probability of showing that ad to that user, in (0, 1]
    timestamp : optional; ISO 8601 if it is text, in UTC unless a zone is given; or seconds, or
        thousandths, millionths, billionths of seconds, since 1970
    position : optional; a whole number
    propensity:ACTION : optional, one column for each ad that occurs; the full distribution, which
        has to sum to 1 and to agree with `propensity` (within `logs.SLACK`, as rounding may be off)
    policy:NAME : the probability that one of the user's own policies gives to the ad shown
    id, user : optional, and only where `columns` says which they are; the visit, and who it was.
        Numbers or text
    eligible : optional; the ads that could be shown, a list, or a text such as `a|b`. The ad shown
        has to be among them
    any other : a feature: numbers, true or false, times (as days since 1970) or text. Empty cells,
        and those of `MISSING` in a column of numbers, are missing. Of a column of JSON objects, or
        of structs, each key becomes a feature of its own, `COLUMN.KEY` (`nested`)

    Actions are sorted as numbers if all are numbers, else as text.

    Parameters
    ----------
    study : whether it is for a study, which has no columns `policy:NAME`, no objects and no logs of
        Vowpal Wabbit
    whole : whether something else, such as a checksum, tells that a text is whole whose last line
        does not end
    """
    renaming = Renaming(path, options)
    table, form, lines, problems = opened(path, renaming, whole)
    if table is None:
        return _of_wabbit(path, form, renaming, study, whole)
    with files.foreign(path, "readable log"):
        metadata = files.metadata_of(table.schema)
    if metadata.get("kind") == logs.KIND:
        return _of_a_study(path, renaming)
    return _read(path, (table, form, lines, problems), renaming, study)


def opened(path, renaming: "Renaming", whole: bool = False, named=()) -> tuple:
    """Open a file, whatever its form.

    path, whole : see `read`
    named : columns that the user names; numbers among their names show that the file has a header

    Returns
    -------
    table : Arrow; None for a log of Vowpal Wabbit, still to be read by `wabbit.read`
    form : in words; for Vowpal Wabbit its `wabbit.kind`
    lines : int (rows), the line of each row; None where rows have none
    problems : of lines
    """
    first = first_bytes(path)
    for magic, (what, advice) in OTHERS.items():
        if first.startswith(magic):
            raise DataError(path, f"the file is {what}", advice=advice)
    if first.startswith(logs.MAGIC):
        return _parquet(path), "parquet", None, []
    if first.startswith(ARROW):
        return _arrow(path), "Arrow", None, []
    with Unpacked(path) as stream:
        head = stream.first_lines()
    if kind := wabbit.kind(path, head):
        return None, kind, None, []
    return _csv(path, head, renaming, whole, named)


def read_folder(folder, options: Options) -> Reading:
    """Read a log of lists from a folder of parquet files, all at once; see `read`."""
    parts, _ = files.parts(folder)
    with files.foreign(folder, "folder of parquet files with the same columns"):
        table = pa.concat_tables([_parquet(part) for part in parts], promote_options="permissive")
    content = table, f"{len(parts):,} parquet files", None, []
    return _read(folder, content, Renaming(folder, options))


def _read(path, content: tuple, renaming: "Renaming", study: bool = False) -> Reading:
    """The `Reading` of what `opened` returns, `content`; columns with lines are already named by
    their roles.
    """
    table, form, lines, problems = content
    row, options = None, renaming.options
    if options.units.propensity_of or "list" in renaming.columns:
        roles = {} if lines is not None else renaming.columns
        table, row = wide.apart(path, table, lambda role: roles.get(role, role), lines)
    with files.foreign(path, "readable log"):
        plan = parts = None
        if study:
            table = table if lines is not None else renaming.applied(table)
            names = [name for name in table.column_names if not name.startswith(logs.POLICY)]
            table = table.select(names).rename_columns([name.removeprefix(KEY) for name in names])
        elif lines is None:
            parts = nested.unstructured(table, renaming.ignore, renaming.columns.values())
            table = renaming.applied(parts.table)
        if not study:
            plan = nested.Plan(path, renaming.ignore, renaming.inside, parts)
            plan.decide(table, options.categorical)
    return layout.Columns(
        path,
        form,
        table,
        columns=renaming.header,
        lines=lines if row is None else row,
        problems=problems,
        options=options,
        plan=plan,
    ).reading()


def _of_wabbit(path, kind: str, renaming: "Renaming", study: bool, whole: bool) -> Reading:
    """The reading of a log in one of Vowpal Wabbit's forms, see `wabbit.kind`."""
    if study:
        raise DataError(path, f"it is {kind}", advice="A study takes CSV, parquet and Arrow")
    with Unpacked(path) as stream:
        content = wabbit.read(path, kind, stream, renaming.ignore)
    if stream.last != b"\n" and not whole:
        content.problems.append(Problem("cut", *CUT))
    # then it is the id of visits, unless there is to be another or none
    if wabbit.ID not in renaming.columns.values():
        is_id = not {wabbit.ID, "id"} & {*renaming.ignore, *renaming.columns}
        if is_id and wabbit.ID in content.table.column_names:
            renaming.columns = {"id": wabbit.ID, **renaming.columns}
        renaming.ignore |= {wabbit.ID}
    options, units = renaming.options, renaming.options.units
    if KEY + "list" in content.table.column_names and not units.propensity_of:
        options = replace(options, units=replace(units, propensity_of="above"))
    form = [kind] + ([f"packed with {stream.packing}"] if stream.packing else [])
    form += ["reward = -cost"]
    names = [name.removeprefix(KEY) for name in content.table.column_names]
    if ELIGIBLE in renaming.ignore:
        renaming.ignore |= {KEY + ELIGIBLE}
    columns = (*names, *content.keys.lists, *content.keys.met)
    return layout.Columns(
        path,
        ", ".join(form),
        renaming.applied(content.table),
        columns=columns,
        lines=content.lines,
        problems=content.problems,
        options=options,
    ).reading()


def first_bytes(path) -> bytes:
    """The first eight bytes of a file, by which its form is known; a DataError without a file."""
    if not Path(path).is_file():
        raise DataError(path, "there is no such file")
    with open(path, "rb") as file:
        return file.read(8)


def read_frame(frame, options: Options = PLAIN) -> Reading:
    """Take a log from a data frame of pandas, polars or Arrow; see `read`, whose `path` is "data
    frame" then.
    """
    name = "data frame"
    return _read(name, (table_of(frame), name, None, []), Renaming(name, options))


def read_log(path, whole: bool = False) -> Log:
    """Read a user's log for a study: `read`, but all features are to be numbers, and none missing.

    Texts have to be one-hot encoded as 0/1 columns called "variable=category" ("colour=red"); the
    logs of a study may have different categories (`logs.align`).

    whole : see `read`
    """
    reading = read(path, study=True, whole=whole)
    visits = reading.required()
    if lacking := visits.missing:
        name = next(iter(lacking))
        row = int(np.argmax(np.isnan(visits.feature(name))))
        logs.refuse_row(
            path, row, f"{name} is missing", reading.lines, "Fill it in, or leave the row out"
        )
    if visits.categories:
        name, texts = next(iter(visits.categories.items()))
        numeric = np.array([arrays.as_number(text) is not None for text in texts])
        row = int(np.argmin(numeric[visits.codes(name)]))
        text = texts[visits.codes(name)[row]]
        reason = f"{name} {short(text)} is not a number" if text else f"{name} is missing"
        logs.refuse_row(
            path, row, reason, reading.lines, "One-hot encode a column of text, or drop it"
        )
    log = Log(**{part.name: getattr(visits, part.name) for part in fields(Log)})
    return logs.check(log, path, reading.lines)


def _of_a_study(path, renaming: "Renaming") -> Reading:
    """The reading of a log that the project wrote; a SettingError for columns of other roles than
    they have there.
    """
    log, _ = logs.read(path)
    if renaming.names(log.columns()) and any(
        role != name for role, name in renaming.columns.items()
    ):
        raise SettingError(
            f"{path}: the columns of a log of a study have their roles: leave --columns out"
        )
    visits = Visits(**{part.name: getattr(log, part.name) for part in fields(Log)})
    return Reading(path, "parquet of a study", (*log.columns(),), (), visits)


def table_of(frame):
    """A data frame of pandas, polars or Arrow as an Arrow table."""
    with files.foreign(
        "data frame", "data frame with columns of numbers, texts or times", "Look at its dtypes"
    ):
        # of pandas, which would add its index
        if hasattr(frame, "to_numpy") and hasattr(frame, "index"):
            if odd := [name for name in frame.columns if not isinstance(name, str)]:
                raise ValueError(f"the column name {odd[0]!r} is no text")
            try:
                return pa.Table.from_pandas(frame, preserve_index=False)
            # so it is with dictionaries whose values have different types
            except pa.ArrowException:
                return pa.Table.from_pandas(nested.as_texts(frame), preserve_index=False)
        if isinstance(frame, pa.RecordBatch):
            return pa.Table.from_batches([frame])
        if isinstance(frame, pa.Table):
            return frame
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
        raise ValueError(f"a {type(frame).__name__} is none")


class Renaming:
    """Gives columns of a file their roles, and leaves some out.

    header : the names of the columns in the file, once known
    inside : by name, the roles of values that are within columns of objects, such as `user.id`
    line : the line of the header, if the file is text
    """

    def __init__(self, path, options: Options):
        for role, column in options.columns.items():
            if role not in ROLES:
                raise unknown("role of a column", role, ROLES)
            if column in options.ignore:
                raise SettingError(
                    f"{path}: column {column!r} is the {role}, and --ignore leaves it out: give "
                    "one of the two"
                )
        self.path, self.options = path, options
        self.columns, self.ignore = dict(options.columns), frozenset(options.ignore)
        self.header = ()
        self.line = None
        self.inside: dict[str, str] = {}

    def names(self, header) -> list[str]:
        """The role of each column of a header, or its name if it has no role; "" for a column that
        is left out.
        """
        self.header = tuple(header)
        roles, columns = {}, self.columns
        if ELIGIBLE in header and ELIGIBLE not in (*columns, *columns.values(), *self.ignore):
            columns = {**columns, ELIGIBLE: ELIGIBLE}
        for role, column in columns.items():
            if column not in header and role in KEYS and nested.holder(column, header):
                self.inside[column] = KEY + role
                continue
            if column not in header:
                raise SettingError(f"{self.path}: {unknown('column', column, header)}")
            if column in roles:
                first = roles[column].removeprefix(KEY)
                raise SettingError(f"{self.path}: column {column!r} cannot be {first} and {role}")
            if column in logs.NEEDED and column not in (role, *self.columns):
                raise SettingError(
                    f"{self.path}: column {column!r} cannot be {column} and {role}: --columns "
                    f"{column}=COLUMN says which other one is the {column}"
                )
            free = (
                role in KEYS or role not in header or role in (*self.ignore, *self.columns.values())
            )
            if column != role and not free:
                raise SettingError(
                    f"{self.path}: {role} is to be column {column!r}, but there is also a column "
                    f"{role!r}. Leave it out with --ignore {quote(role)}"
                )
            roles[column] = KEY + role if role in KEYS else role
        names = [roles.get(name, "" if name in self.ignore else name) for name in header]
        if twice := logs.repeated(name for name in names if name):
            raise DataError(
                self.path, f"two columns are called {twice[0]!r}", self.line, "Rename one of them"
            )
        return names

    def applied(self, table):
        """An Arrow table with its columns named by their roles."""
        names = self.names(table.column_names)
        kept = [number for number, name in enumerate(names) if name]
        return table.select(kept).rename_columns([names[number] for number in kept])


def _parquet(path):
    with files.foreign(path):
        return named(files.read_parquet(path, ours=False))


def named(table):
    """An Arrow table as it is; a ValueError unless all its column names are text."""
    if not all(isinstance(name, str) for name in table.column_names):
        raise ValueError("column names that are no text")
    return table


def _arrow(path):
    """The table of an Arrow file, read in parts, which are checked."""
    limit, parts = max(files.FREE, files.RATIO * Path(path).stat().st_size), []
    with (
        files.foreign(path, "readable Arrow file"),
        pa.OSFile(str(path)) as file,
        pa.ipc.open_file(file) as reader,
    ):
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            parts.append(batch)
            limit -= batch.nbytes
            if limit < 0:
                raise ValueError("a small file that holds too much")
        return named(pa.Table.from_batches(parts, reader.schema))


def _csv(path, head: bytes, renaming: Renaming, whole: bool, named):
    """The table of a CSV file, its form in words, the line of each row, and the problems of its
    lines.
    """
    from pyarrow import csv

    header, rows, delimiter, comma = sniffed(path, head)
    _check_header(path, header, rows, [*renaming.columns.values(), *named])
    renaming.line = 1
    names = renaming.names(header)
    index = not header[0] and len(header) > 1  # whether the first column may be one
    nameless = [
        number for number, name in enumerate(header) if not name and not (index and number == 0)
    ]
    if nameless:
        raise DataError(path, f"column {nameless[0] + 1} has no name", 1, NAMELESS)
    unequal = []  # the number of each row that is left out, and how many fields it has

    def odd(row):
        unequal.append((row.number, row.actual_columns))
        return "skip"

    places = [name or f"\0{number}" for number, name in enumerate(names)]  # no two alike
    included = [*([places[0]] if index else []), *filter(None, names)]
    are_texts = {"action", "timestamp", *renaming.options.categorical}
    texts = {name: pa.string() for name in names if name in are_texts or name.startswith(KEY)}
    reading = {
        "read_options": csv.ReadOptions(
            use_threads=False, block_size=BLOCK, column_names=places, skip_rows=1
        ),
        "parse_options": csv.ParseOptions(
            # Empty lines are kept, so that rows can be counted as lines.
            delimiter=delimiter,
            ignore_empty_lines=False,
            invalid_row_handler=odd,
            newlines_in_values=True,
        ),
        "convert_options": csv.ConvertOptions(
            column_types=texts,
            null_values=[""],
            strings_can_be_null=True,
            decimal_point="," if comma else ".",
            include_columns=included,
            check_utf8=False,
        ),
    }
    with Unpacked(path) as stream:
        try:
            table = csv.read_csv(stream, **reading)
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                refuse_unclosed(path, delimiter)
                raise DataError(path, f"not readable as CSV ({reason_of(error)})") from None
            table = pa.table({name: pa.array([], pa.string()) for name in included})
    if stream.ends > table.num_rows + len(unequal) + 1:
        refuse_unclosed(path, delimiter)
    lines = np.delete(
        np.arange(table.num_rows + len(unequal)) + 2, [number - 2 for number, _ in unequal]
    )
    # some rows may be blank
    if table.num_columns and all(column.null_count for column in table.columns):
        blank = np.all([column.is_null().to_numpy() for column in table.columns], axis=0)
        table, lines = table.filter(pa.array(~blank)), lines[~blank]
    problems = []
    if index:
        if table.num_rows and not arrays.numbers_rows(table.column(places[0])):
            raise DataError(path, "column 1 has no name, and does not number the rows", 1, NAMELESS)
        table = table.drop_columns([places[0]])
        reason = "the first column has no name and numbers the rows: it is an index, and left out"
        problems.append(Problem("index", reason))
    if unequal:
        line, count = min(unequal)
        reason = f"line {line} has {count} fields, the header {len(header)}"
        mend = "Quote fields that hold the delimiter, and complete or drop lines that were cut"
        problems.append(Problem("fields", reason, mend, len(unequal)))
    if stream.last != b"\n" and not whole:
        problems.append(Problem("cut", *CUT))
    form = "CSV"
    if stream.packing:
        form += f", packed with {stream.packing}"
    if delimiter != ",":
        form += f", fields separated by {delimiter!r}"
    if comma:
        form += ", with decimal commas"
    return table, form, lines, problems


def _check_header(path, header: list[str], rows: list[list[str]], named) -> None:
    """Raise a DataError if the first line of a CSV file does not name columns: it is one column, or
    has digits where the lines below have them, and no name above numbers.

    rows : the cells of lines below
    named : columns that the user names, which may be called by numbers
    """
    role_names = {*ROLES, *(alias for aliases in ALIASES.values() for alias in aliases), *named}
    columns = [[*map(_kinds, column)] for column in zip(header, *rows, strict=False)]
    data = [
        cell
        for cell, (own, *below) in zip(header, columns, strict=False)
        if "0" in own and 2 * below.count(own) > len(below)
    ]
    named = any(own - {"0"} and 2 * below.count({"0"}) > len(below) for own, *below in columns)
    reason = (
        "" if named or not data else f"its first line is no header, but data: {short(data[-1])}"
    )
    if len(header) == 1 and re.search(r"\s|\d", header[0]):
        reason = f"its first line is no header of several columns: {short(header[0])}"
    if reason and role_names.isdisjoint([*header, *(name.lower() for name in header)]):
        advice = (
            "A log is CSV, whose first line names action, reward, propensity and the "
            "features: write it above. Of a list that chance drew from, as in Yahoo's R6, write "
            "a|b as eligible, and say --propensity uniform. By lists of a ranker without chance, "
            "as in MIND, nothing can be judged"
        )
        raise DataError(path, reason, 1, advice)


def _kinds(text: str) -> set[str]:
    """The kinds of characters in a text: "0" for digits, "a" for letters, others as they are; "0"
    alone for a number.
    """
    letters = "0" if arrays.as_number(text) is not None else re.sub(r"[^\W\d_]", "a", text)
    return {*re.sub(r"\d", "0", letters)}


def refuse_unclosed(path, delimiter: str) -> None:
    """Raise a DataError if a CSV file has a text of several lines that never ends, or ends within a
    cell.
    """
    import csv

    with Unpacked(path) as stream:
        lines = (f"{line}\n" for _, line in wabbit.lines_of(path, stream))
        rows, begins = csv.reader(lines, delimiter=delimiter, strict=True), 1
        try:
            for _ in rows:
                begins = rows.line_num + 1
        except csv.Error:
            reason = "a quotation mark begins a text here that does not end as one"
            advice = "Close it; within a quoted text write a quotation mark twice"
            raise DataError(path, reason, begins, advice) from None


def reason_of(error: Exception) -> str:
    """Why Arrow cannot read a CSV file, in one line."""
    if "straddling" in str(error):
        return f"a row is longer than {BLOCK:,} bytes, as where a quotation mark is never closed"
    return str(error).splitlines()[0][:200]


class Unpacked:
    """The bytes of a text file, unpacked if it is packed: UTF-8, and no more of them than the
    limits allow.

    packing : "gzip" or "zstd"; None for a plain text
    last : the last byte that was read
    ends : how many lines ended so far
    """

    closed, last, ends = False, b"", 0

    def __init__(self, path):
        first = first_bytes(path)
        files.refuse_page(path)
        self.path, self.left = path, max(files.FREE, files.RATIO * Path(path).stat().st_size)
        self.packing = next(
            (name for magic, name in PACKED.items() if first.startswith(magic)), None
        )
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def __enter__(self):
        file = pa.OSFile(str(self.path))
        self.stream = pa.CompressedInputStream(file, self.packing) if self.packing else file
        return self

    def __exit__(self, *error):
        self.stream.close()

    def read(self, size: int = -1) -> bytes:
        np.empty(SPARE, np.uint8)  # a MemoryError, where one of Arrow's would end the process
        try:
            block = self.stream.read(size if size >= 0 else self.left + 1)
        except OSError as error:
            raise DataError(
                self.path, f"damaged, or cut short ({error})", advice="Make it again"
            ) from None
        self.left -= len(block)
        if self.left < 0:
            raise DataError(self.path, "a small file that holds too much")
        try:
            self.decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            raise DataError(
                self.path, "not text in UTF-8", advice="Save it as CSV in UTF-8"
            ) from None
        self.last, self.ends = block[-1:] or self.last, self.ends + block.count(b"\n")
        return block

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Does nothing: the context closes the stream."""

    def first_lines(self) -> bytes:
        """The first 64 KB, or more if the first line is longer; a DataError if it is longer than
        `files.LONGEST`.
        """
        blocks, size, ended = [], 0, False
        while (size < 1 << 16 or not ended) and (block := self.read(1 << 16)):
            blocks.append(block)
            size, ended = size + len(block), ended or b"\n" in block
            if size > files.LONGEST and not ended:
                raise DataError(
                    self.path, f"the line is longer than {files.LONGEST:,} bytes", 1, "It is no log"
                )
        return b"".join(blocks)


def sniffed(path, head: bytes) -> tuple[list[str], list[list[str]], str, bool]:
    """The column names of a CSV file, the cells of the next lines, the delimiter, and whether
    numbers have decimal commas; from `head`, the file's first lines.
    """
    import csv

    if not head.strip():
        raise DataError(path, "the file is empty")
    line = head.partition(b"\n")[0]
    if len(line) >= BLOCK:
        raise DataError(
            path, f"the line is longer than {BLOCK:,} bytes", 1, "It is to name the columns"
        )
    line = line.decode("utf-8-sig", errors="replace").rstrip("\r")
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
    lines = head.decode(errors="replace").splitlines()[1:100]
    rows = [[cell.strip(' "') for cell in line.split(delimiter)] for line in lines if line]
    cells = [cell for row in rows for cell in row if delimiter != ","]
    commas, points = (
        sum(bool(re.fullmatch(rf"[+-]?\d*{sign}\d+", cell)) for cell in cells)
        for sign in (",", r"\.")
    )
    return header, rows, delimiter, commas > points
