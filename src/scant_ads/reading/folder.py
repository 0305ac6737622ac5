"""A log in a folder of parquet files, its parts, which is read in batches: it may be larger than
memory.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scant import files
from scant.data import logs
from scant.errors import DataError
from scant_ads.reading import arrays, formats, layout, nested
from scant_ads.reading.visits import ELIGIBLE, KEY, KEYS, Options, Problem, Reading, is_feature

ROWS = 1 << 18  # of a batch

# problems that one batch cannot tell of the log
OF_LOG = ("empty", "id", "left-out", "user", "time", "list", "braces", "index")


class Head(NamedTuple):
    """What the first rows of a log tell.

    kinds : by feature that has a value in some row, what it holds; see `layout.Columns`
    problems : of columns, which a single batch may not show
    """

    kinds: dict[str, str]
    problems: list[Problem]


class Folder:
    """The parts of a log, in the order of their names, which have the same columns, and of each
    feature the same kind.

    files, counts : the parts, in order, and their rows
    left_out : files that are no parts; see `files.parts`
    types : by column, named by its role, its Arrow type, unless that has no values
    """

    def __init__(self, folder, options: Options):
        self.path, self.options = Path(folder), options
        self.parts, self.inside = None, {}
        self.files, self.left_out = files.parts(folder)
        self.counts, self.types, kinds, of_first = [], {}, {}, None
        for path in self.files:
            schema = self._schema(path)
            renaming = formats.Renaming(path, options)
            names, self.inside = renaming.names(schema.names), renaming.inside
            variables = _variables(names)
            of_first = variables if of_first is None else of_first
            if odd := sorted(variables ^ of_first):
                reason = f"columns that only one of it and {self.files[0]} has: {logs.listing(odd)}"
                raise DataError(path, reason, advice="Give all parts the same columns")
            for name, field in zip(names, schema, strict=True):
                if name:
                    self.types[name] = _common(self.types.get(name, field.type), field.type)
                    self._check_kind(path, name, field.type, kinds)
        self.form, self.rows = f"{len(self.files):,} parquet files", sum(self.counts)
        if self.rows < 2:
            raise DataError(folder, "the log has fewer than two rows, of which nothing can be said")

    def _schema(self, path: Path) -> pa.Schema:
        """The columns of a part, without structs; its rows are counted."""
        with files.foreign(path):
            described = pq.read_metadata(path)
            empty = described.schema.to_arrow_schema().empty_table()
            parts = self._unstructured(empty)
        self.counts.append(described.num_rows)
        self.parts = self.parts or parts
        return parts.table.schema

    def _unstructured(self, table) -> nested.Parts:
        """The parts of a table, by `nested.unstructured`, with the log's options."""
        return nested.unstructured(table, self.options.ignore, self.options.columns.values())

    def _check_kind(self, path: Path, name: str, type: pa.DataType, kinds: dict) -> None:
        """Raise a DataError if a feature holds another kind of value than in an earlier part.

        kinds : by feature, its kind and the first part with values of it; this one is added
        """
        kind = arrays.kind_of(type) if is_feature(name) else None
        if kind is None:
            return
        kind = "text" if name in self.options.categorical else kind
        first, first_path = kinds.setdefault(name, (kind, path))
        if first != kind:
            reason = f"column {name!r} has {kind}, and {first} in {first_path}"
            advice = f"Write the same in all parts, or leave it out with --ignore {quote(name)}"
            raise DataError(path, reason, advice=advice)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns of the first file, and of the values in columns of objects."""
        return (*self.parts.table.column_names, *self._plan.names)

    @property
    def policies(self) -> tuple[str, ...]:
        """NAME of each column `policy:NAME`, the user's own policies."""
        return tuple(
            name.removeprefix(logs.POLICY) for name in self.types if name.startswith(logs.POLICY)
        )

    @property
    def optional(self) -> tuple[str, ...]:
        """Which of the columns timestamp, position, id, user, eligible and list the log has."""
        has = dict.fromkeys(logs.OPTIONAL, "") | dict.fromkeys(KEYS, KEY)
        names = {*self.types, *self.inside.values()}
        return tuple(role for role, prefix in has.items() if prefix + role in names)

    @property
    def fraction(self) -> str:
        """The fraction that a rounded propensity is taken for; see `Reading.fraction`."""
        return next(self.batches(1))[0].fraction if self.rounded_ads else ""

    @cached_property
    def rounded_ads(self) -> int:
        """What `layout.rounded_ads` returns for the whole log.

        Rows are read until their ads and propensities rule it out.
        """
        ads = {name.removeprefix(logs.FULL) for name in self.types if name.startswith(logs.FULL)}
        tables = (
            () if KEY + ELIGIBLE in self.types else self._tables(ROWS, ["action", "propensity"])
        )
        first = None
        for table, path, *_ in tables:
            columns = layout.Columns(path, self.form, table, options=self.options)
            action, actions = columns.action([])
            values = (
                columns.propensity()
                if self.options.units.propensity is None
                else columns.stated(action, actions, None)
            )
            first = values[:1] if first is None and values is not None else first
            ads = ads | {*actions}
            if (
                values is None
                or (values != first).any()
                or abs(round(1 / first[0]) * first[0] - 1) < 1e-12
            ):
                return 0
        return layout.rounded_ads(first, len(ads)) if first is not None else 0

    @property
    def exact(self) -> bool:
        """Whether no feature is given in single precision."""
        return not any(
            arrays.is_single(kind) for name, kind in self.types.items() if is_feature(name)
        )

    def batches(self, rows: int) -> Iterator[tuple[Reading, Path, int, int]]:
        """Readings of successive batches of rows; with each, its file, and the index of its first
        row in the file and in the log.

        rows : how many rows a batch has at most
        """
        for table, path, first_row, start in self._tables(rows):
            yield self._reading(table, path, dict(self._head.kinds)), path, first_row, start

    def entries(self, role: str, rows: int) -> Iterator[np.ndarray]:
        """The values of one column of all rows, in batches; see `Reading.entries`."""
        for table, path, *_ in self._tables(rows, [role if role == "timestamp" else KEY + role]):
            columns = layout.Columns(path, self.form, table)
            with files.foreign(path, "readable log"):
                values = columns.timestamp() if role == "timestamp" else columns.key(role, "")
            if values is None:
                raise DataError(path, columns.problems[0].reason, advice=columns.problems[0].mend)
            yield values if role == "timestamp" else values[:, 0]

    @property
    def problems(self) -> list[Problem]:
        """Problems of the folder, and of features by their first rows."""
        problems = []
        if self.left_out:
            names = logs.listing([str(path.relative_to(self.path)) for path in self.left_out])
            reason = f"files that are no parts, by their names, are left out: {names}"
            mend = (
                "Parts end in .parquet, and neither their names nor those of their folders "
                "begin with '.' or '_': rename what is one, or write it so"
            )
            problems.append(Problem("left-out", reason, mend))
        return problems + self._head.problems

    @cached_property
    def _head(self) -> Head:
        """The features that have a value in some row, and the problems of the log, by its first
        rows.
        """
        names = [
            name
            for name in filter(is_feature, self.types)
            if not pa.types.is_nested(self.types[name])
        ]
        head = self._first_rows(names)
        lacking = {name for name in names if head.column(name).null_count == head.num_rows}
        if lacking:  # a value may come later
            for table, *_ in self._tables(layout.HEAD, names=sorted(lacking)):
                lacking -= {
                    name for name in lacking if table.column(name).null_count < table.num_rows
                }
        kept = [name for name in names if name not in lacking and name not in self._plan.keys]
        kinds = dict.fromkeys((*kept, *self._plan.features), "")
        reading = self._reading(head, self.path, kinds)
        return Head(kinds, [problem for problem in reading.problems if problem.kind in OF_LOG])

    @cached_property
    def _plan(self) -> nested.Plan:
        """What becomes of columns of objects, by the first rows of columns of text, which alone may
        hold some.
        """
        plan = nested.Plan(self.path, self.options.ignore, self.inside, self.parts)
        texts = [
            name
            for name, kind in self.types.items()
            if is_feature(name) and arrays.kind_of(kind) == "text"
        ]
        head = self._first_rows(texts) if texts else pa.table({})
        return plan.decide(head, self.options.categorical)

    def _first_rows(self, names: list[str]):
        """Some features in the first rows, an Arrow table."""
        tables, rows = [], 0
        for table, *_ in self._tables(layout.HEAD, names=names):
            tables.append(table)
            rows += table.num_rows
            if rows >= layout.HEAD:
                break
        return pa.concat_tables(tables).slice(0, layout.HEAD)

    def _reading(self, table, path, kinds: dict[str, str]) -> Reading:
        columns = layout.Columns(
            path,
            self.form,
            table,
            options=self.options,
            kinds=kinds,
            plan=self._plan,
            rounded_ads=self.rounded_ads,
        )
        return columns.reading()

    def _tables(self, rows: int, names: list[str] | None = None) -> Iterator[tuple]:
        """Arrow tables of at most `rows` rows of all columns, or some; each with its file, and the
        index of its first row in the file and in the log.
        """
        start, wanted = 0, [name for name in self.types if names is None or name in names]
        for path, count in zip(self.files, self.counts, strict=True):
            first_row = 0
            if count:
                with files.foreign(path), pq.ParquetFile(path) as file:
                    empty = file.schema_arrow.empty_table()
                    header = self._unstructured(empty).table.column_names
                    renaming = formats.Renaming(path, self.options)
                    role = dict(zip(header, renaming.names(header), strict=True))
                    chosen = [name for name in header if role[name] in wanted]
                    for batch in files.batches(file, rows, columns=chosen):
                        if batch.num_rows:
                            table = self._unstructured(pa.Table.from_batches([batch])).table
                            columns = {role[name]: table.column(name) for name in chosen}
                            table = pa.table(
                                {
                                    name: self._column(name, columns.get(name), batch)
                                    for name in wanted
                                }
                            )
                            yield table, path, first_row, start + first_row
                        first_row += batch.num_rows
            start += count

    def _column(self, name: str, column, batch):
        """A column of a batch, cast, if it is a feature, to its type in all parts; zeros for a
        one-hot column that this part lacks.
        """
        if column is None:
            column = pa.array(np.zeros(batch.num_rows))
        kept = (
            not is_feature(name)
            or pa.types.is_nested(column.type)
            or pa.types.is_nested(self.types[name])
        )
        return column if kept else column.cast(self.types[name], safe=False)


def _variables(names: list[str]) -> set[str]:
    """The columns of a part, a one-hot variable as one: a part may lack some of its categories."""
    features = (name for name in names if name and not name.startswith(logs.FULL))
    return {name.partition("=")[0] for name in features}


def _common(first, second):
    """The Arrow type that columns of two types are cast to: one for their kind of feature, or text
    if their kinds differ.
    """
    if first == second or pa.types.is_null(second) or pa.types.is_nested(first):
        return first
    if pa.types.is_null(first) or pa.types.is_nested(second):
        return second
    kind = arrays.kind_of(first) if arrays.kind_of(first) == arrays.kind_of(second) else "text"
    return {"times": pa.timestamp("us"), "numbers": pa.float64()}.get(kind, pa.string())
