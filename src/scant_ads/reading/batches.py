"""Visits that no ad was chosen for yet."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyarrow import types

from scant.data import logs
from scant.errors import DataError, SettingError, nearest, unknown
from scant_ads.reading import arrays, formats, layout, nested
from scant_ads.reading.visits import ELIGIBLE, KEY, Options, Problem, Visits


def read(path, names: tuple[str, ...], texts, keep=(), rows: int = 1 << 16) -> Iterator:
    """Visits in a file, as Arrow tables of at most `rows` rows, one after the other.

    The file is read as a log is, see `formats.opened`, and cells of text as the features ask for.

    path : CSV, which may be packed, parquet or Arrow
    names, texts : the features, and those of them that are text
    keep : other columns to read
    """
    renaming = formats.Renaming(path, Options(categorical={*texts, *keep}))
    table, form, _, problems = formats.opened(path, renaming, named=names)
    if table is None:
        advice = (
            "Write CSV or parquet, with a column for each feature, or the contexts as a column "
            "c of JSON"
        )
        raise DataError(path, f"it is {form}, of which logs can be read", advice=advice)
    for problem in problems:
        if problem.severity == "error":
            raise DataError(path, problem.reason, advice=problem.mend)
    if not table.num_rows:
        raise DataError(path, "it has no rows")
    # what others keep in the metadata, such as pandas, need not be so
    table = table.rename_columns([name.removeprefix(KEY) for name in table.column_names])
    table = table.select(_chosen(path, table.column_names, names, keep)).replace_schema_metadata()
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _chosen(path, columns, names, keep) -> list[str]:
    """The columns of a file to read: `keep`, one-hot columns, and those that are features or may
    hold some. An error if one of `keep`, or a feature, is absent.
    """
    _absent(columns, names, path)
    if lacking := [name for name in keep if name not in columns]:
        raise SettingError(f"{path}: {unknown('column', lacking[0], columns)}")
    if twice := [name for name in logs.repeated(columns) if name in keep]:
        raise SettingError(f"{path}: two columns are called {twice[0]!r}. Rename one of them")
    wanted = {*names, *keep, *_holders(columns, names)}
    return [name for name in columns if name in wanted or "=" in name]


def contexts(
    table, names: tuple[str, ...], texts, where="data frame", first: int = 0, lists: str = ""
) -> Visits:
    """The features of visits that no ad was chosen for yet.

    table : Arrow; columns that are no features are passed over
    names : of the features, in their order; a one-hot column ("variable=category") that is absent
        is 0, if another of its variable is there; `COLUMN.KEY` may be in a column of JSON objects,
        or of structs, and is missing where that lacks the key
    texts : for each feature that is text, the known texts
    where, first : what messages call the table, and how many rows came before its first one
    lists : the column of lists of eligible ads, which may be a key of a column of objects; "" for
        none
    """
    table = _taken_apart(table, names, texts, where, first, lists)
    absent = _absent(table.column_names, names, where)
    columns = {name: table.column(name) for name in names if name not in absent}
    if lists and lists not in table.column_names:
        advice = (
            "The policy chooses among each visit's own: --eligible COLUMN says which column "
            "has them"
        )
        raise DataError(
            where, f"there is no column {lists!r}, the lists of eligible ads", advice=advice
        )
    for name in columns.keys() & {*texts}:
        different = {*map(arrays.briefly, texts[name])}
        if arrays.is_number(columns[name].type) and len(different) < len(texts[name]):
            reason = f"column {name!r} has numbers, and texts of the policy are of one number"
            raise DataError(where, reason, advice="Read it as text (of pandas: dtype=str)")
    listed = {KEY + ELIGIBLE: table.column(lists)} if lists else {}
    kinds = {name: "text" if name in texts else "numbers" for name in columns}
    read = layout.Columns(
        where, "", pa.table(columns | listed), kinds=kinds, options=Options(categorical=texts)
    )
    actions, eligible = read.lists()
    matrix, _, categories, _ = read.features([*columns])
    _refuse(read.problems, where, first)
    rows, nothing = table.num_rows, np.zeros(table.num_rows)
    features = np.zeros((rows, len(names)), np.float32)
    features[:, [name in columns for name in names]] = matrix
    return Visits(
        features,
        np.zeros(rows, np.int32),
        nothing,
        nothing + 1,
        tuple(actions),
        names,
        eligible=eligible,
        categories=categories,
    )


def _refuse(problems: list[Problem], where, first: int) -> None:
    """Raise a DataError for the first error among problems; `first` rows came before."""
    for problem in problems:
        if problem.severity == "error":
            place = "" if problem.row is None else f"row {first + problem.row + 1}: "
            advice = "Mend the column, or empty the cells"
            raise DataError(where, f"{place}{problem.reason}", advice=advice)


def _holders(columns, names: tuple[str, ...]) -> dict[str, list[str]]:
    """By column that may hold features which are no columns of their own, these features."""
    all_columns, holders = {*columns}, {}
    others = all_columns - {*names}
    for name in names:
        if name not in all_columns and (column := nested.holder(name, others)):
            holders.setdefault(column, []).append(name)
    return holders


def _taken_apart(table, names: tuple[str, ...], texts, where, first: int, lists: str):
    """An Arrow table of visits with a column for each feature that is in a column of objects; see
    `contexts`.
    """
    whole, table = table, nested.unstructured(table, kept=[lists]).table
    plan = nested.Plan(where)
    for column, features in _holders(
        whole.column_names, (*names, lists) if lists else names
    ).items():
        kind = whole.schema.field(column).type
        kinds = {name: "text" if name in texts or name == lists else "numbers" for name in features}
        if types.is_struct(kind) or types.is_null(kind):
            for name in features:
                if name not in table.column_names:
                    lacks = pa.nulls(table.num_rows, pa.string() if name in texts else pa.float64())
                    table = table.append_column(name, lacks)
        elif arrays.kind_of(kind) == "text":
            plan.keys[column] = nested.Keys(column, f"{column}.", eligible=lists, kinds=kinds)
        else:
            raise DataError(
                where,
                (
                    f"there is no column {features[0]!r}, a feature of the policy, nor objects "
                    f"in {column!r}"
                ),
            )
    table, problems = plan.apply(table)
    _refuse(problems, where, first)
    return table


def _absent(columns, names: tuple[str, ...], where) -> list[str]:
    """The absent one-hot columns among the features `names`, of variables that have others; a
    DataError for any other absent feature.
    """
    features = {*names}
    if twice := [name for name in logs.repeated(columns) if name in features or "=" in name]:
        raise DataError(where, f"two columns are called {twice[0]!r}", advice="Rename one of them")
    all_columns, variables = {*columns}, {name.partition("=")[0] for name in columns if "=" in name}
    absent = [
        name
        for name in names
        if name not in all_columns and not nested.holder(name, all_columns - features)
    ]
    if lacking := [
        name for name in absent if "=" not in name or name.partition("=")[0] not in variables
    ]:
        near = nearest(lacking[0], [name for name in columns if name not in features])
        advice = f"Is it {near!r}? Rename it" if near else "The policy learnt from it"
        raise DataError(
            where, f"there is no column {lacking[0]!r}, a feature of the policy", advice=advice
        )
    return absent
