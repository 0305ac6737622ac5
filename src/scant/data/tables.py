"""Parquet tables: the checked, typed form in which every data set is kept.

A ranking table has columns `query` (int64), `grade` (int16) and `f1` to `fd` (float32), one row per
document, and row groups of whole queries; where the registry rounds grades, also `printed`
(float32), the grade of the file; where it names the column of a second judge, also `judged`
(float32), that judge's grade. A classification table has `label` (string) and the features. A
log of ads is as `scant.data.logs` writes it. Rows are in the order of the original file. The
metadata of the schema describe the table (`scant.files.metadata_of`).
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scant import files
from scant.data import logs, openbandit
from scant.data.letor import FLOATS, MAX_GRADE, Block, checked, read_grouped, read_letor
from scant.data.numbers import plain, single, whole
from scant.data.registry import Dataset, Part, groups_beside, reader
from scant.data.uci import Examples, label_text, read_uci
from scant.declare.declarations import own
from scant.errors import DataError, SettingError, short

# the grade as the file has it, in tables of sets whose grades are not all whole
PRINTED = "printed"
JUDGED = "judged"  # a second judge's, in tables of sets that name his column
_WHOLE = re.compile("0|[1-9][0-9]{0,17}")  # as int64 holds it, in the one way to write it
KEYS = {
    "ranking": {"query": pa.int64(), "grade": pa.int16()},
    "classification": {"label": pa.string()},
}


def convert(dataset: Dataset, part: str, original, target) -> None:
    """Convert the original file of one part of a data set to a parquet table.

    Memory is bounded, except for logs of ads.

    Parameters
    ----------
    dataset : an entry of the registry
    part : id of the part
    original : path of the decompressed original file
    target : path of the table to write; it appears whole or not at all
    """
    wanted = dataset.part(part)
    if not Path(original).is_file():
        if Path(original).is_symlink():
            reason = f"it is a link to {Path(original).readlink()}, which is not there"
            raise DataError(
                original,
                reason,
                advice="Put the file there, or delete the link: the next run looks anew",
            )
        raise DataError(original, "there is no such file")
    files.refuse_page(original)
    if dataset.task == "ads":
        log = LOG_READERS[dataset.parser](original, _is_declared(wanted))
        logs.write(log, target, _metadata(dataset, wanted, original, len(log), len(log.names)))
        return
    for ending in UNREAD:
        if Path(f"{wanted.file}{ending}").is_file():
            # rows have no such thing here
            print(f"scant: note: {wanted.file}{ending} is not read", file=sys.stderr)
    beside = PRINTED if dataset.fractions else JUDGED if dataset.judged else None
    schema = _schema(dataset.task, dataset.features, beside)
    if dataset.parser == GROUPS:
        blocks = _grouped(original, dataset, wanted)
    elif ":" in dataset.parser:
        blocks = _read_own(original, dataset)
    else:
        blocks = READERS[dataset.parser](original, dataset)
    if dataset.task == "ranking":
        blocks = whole_queries(blocks)
    values, queries = Counter(), 0
    # Metadata are known only at the end; without the Arrow schema in the file, readers find them in
    # the schema.
    with files.atomic(target) as temporary:
        with pq.ParquetWriter(temporary, schema, compression="zstd", store_schema=False) as writer:
            for block in _with_progress(blocks, f"{dataset.id}/{wanted.id}", wanted.rows):
                writer.write_table(_table(block, schema), row_group_size=len(block.features))
                values.update(block.grade.tolist() if isinstance(block, Block) else block.label)
                queries += len(np.unique(block.query)) if isinstance(block, Block) else 0
            counts = {"queries": queries, "grades": values} if queries else {"classes": values}
            metadata = _metadata(
                dataset, wanted, original, values.total(), dataset.features, **counts
            )
            writer.add_key_value_metadata(files.encoded(metadata))
        files.seal(temporary)
    if values.total() > queries > 0 and (len(values) == 1 or 0 not in values):
        doubt = f"all grades are {min(values)}, so that no ranking is better than another"
        if len(values) > 1:
            doubt = (
                f"no grade is 0, so that every document counts as relevant. If {min(values)} means "
                "that it is not, lower all grades by as much"
            )
        print(f"scant: note: {dataset.id}/{wanted.id}: {doubt}", file=sys.stderr)


def _is_declared(part: Part) -> bool:
    """Whether the registry has a part's digest or number of rows, which tell a file cut short."""
    return any((part.sha256, part.git_blob, part.rows))


def _check_end(original, dataset: Dataset, part: Part) -> None:
    """Raise a DataError for a text whose last line does not end, unless `_is_declared`: it may have
    been cut inside a field, `3:34` to `3:3`, which no reader could see.
    """
    if _is_declared(part) or dataset.parser in ("parquet", "log") or ":" in dataset.parser:
        return
    with open(original, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        if size and file.read() != b"\n":
            reason = "its last line has no end, so that the file may have been cut inside a field"
            advice = (
                "If it is whole, end the line (echo >> FILE), or declare how many `rows` it "
                "has, or its sha256"
            )
            raise DataError(original, reason, advice=advice)


def read_ranking(paths) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Read ranking tables by row group.

    Parameters
    ----------
    paths : path of a table, or several in order

    Yields
    ------
    (query int64 (n,), grade int16 (n,), features float32 (n, d)); a query is never split. Grades
    are int16 (n, 2) if a second judge's are beside them.
    """
    for path in _paths(paths):
        for table in _row_groups(path, "ranking"):
            grade = _numpy(table["grade"])
            if JUDGED in table.column_names:
                grade = np.column_stack([grade, _numpy(table[JUDGED]).astype(np.int16)])
            yield _numpy(table["query"]), grade, _features(table)


def read_classification(paths) -> tuple[np.ndarray, np.ndarray]:
    """Read classification tables, one after another.

    Parameters
    ----------
    paths : path of a table, or several in order

    Returns
    -------
    (features float32 (n, d), labels (n,) of text)
    """
    tables = [table for path in _paths(paths) for table in _row_groups(path, "classification")]
    labels = np.array([label for table in tables for label in table["label"].to_pylist()])
    return np.concatenate([_features(table) for table in tables]), labels


def whole_queries(blocks: Iterable[Block]) -> Iterator[Block]:
    """Regroup rows into blocks of whole queries."""
    pending = None
    for block in blocks:
        if pending is not None:
            cut = len(pending.query)
            if block.query[0] == pending.query[-1]:  # the last query goes on in this block
                earlier = np.flatnonzero(pending.query != pending.query[-1])
                cut = earlier[-1] + 1 if len(earlier) else 0
            if cut:
                yield Block(*(column[:cut] for column in pending))
            if cut < len(pending.query):
                rest = (column[cut:] for column in pending)
                block = Block(*map(np.concatenate, zip(rest, block, strict=True)))
        pending = block
    if pending is not None:
        yield pending


# Reading files of columns, and what users' own functions read


def _read_parquet(path, dataset: Dataset) -> Iterator[Block | Examples]:
    """Read a user's parquet file, checked as strictly as text."""
    with files.foreign(path), pq.ParquetFile(path) as file:
        _check_columns(path, file.schema_arrow.names, dataset)
        names = _read_names(dataset)
        yield from _read_batches(
            path, files.batches(file, max(FLOATS // dataset.features, 1), columns=names), dataset
        )


def _read_csv(path, dataset: Dataset) -> Iterator[Block | Examples]:
    """Read a user's CSV file, whose header names the columns that a parquet file would have."""
    from pyarrow import csv

    options = csv.ConvertOptions(
        column_types={"label": pa.string(), "query": pa.string()},  # as they are written
        strings_can_be_null=dataset.task == "ranking",
        quoted_strings_can_be_null=False,
    )
    with (
        files.foreign(path, "readable CSV file", "Correct it"),
        csv.open_csv(path, convert_options=options) as file,
    ):
        _check_columns(path, file.schema.names, dataset)
        yield from _read_batches(path, file, dataset)


def _read_own(path, dataset: Dataset) -> Iterator[Block]:
    """Read a file by the user's own function: from its path to features (n x d), grades (n) and ids
    of queries (n).
    """
    name = dataset.parser
    try:
        features, grades, queries = own(name, "parser", "function")(str(path))
        table = of_arrays(features, grades, queries)
        _check_columns(path, table.column_names, dataset)
        yield from _read_batches(
            path, table.to_batches(max(FLOATS // dataset.features, 1)), dataset
        )
    except (TypeError, ValueError, OverflowError) as error:
        reason = f"{name} does not return features, grades and ids of queries of it ({error})"
        raise DataError(path, reason) from error


def of_arrays(features, grades, queries) -> pa.Table:
    """A user's own arrays as a table with the columns `query`, `grade` and `f1` to `fd`.

    Parameters
    ----------
    features, grades, queries : of shapes (n, d), (n,) and (n,); queries may have names. See
        `scant.data.numbers.plain`

    Raises
    ------
    ValueError, TypeError, OverflowError : they have other shapes; or as `plain`
    """
    features, grades, queries = plain(features), plain(grades), plain(queries)
    if (
        features.ndim != 2
        or not features.size
        or not grades.shape == queries.shape == (len(features),)
    ):
        shapes = f"{features.shape}, {grades.shape}, {queries.shape}"
        raise ValueError(f"shapes {shapes}; (n, d), (n,) and (n,) are expected")
    columns = {"query": queries, "grade": grades}
    columns |= {f"f{i}": values for i, values in enumerate(features.T, 1)}
    return pa.table(columns)


def _check_columns(path, names: list[str], dataset: Dataset) -> None:
    """Raise a DataError if the columns of a user's file are not those of the data set."""
    wanted = _read_names(dataset)
    if twice := [name for name in logs.repeated(names) if name in wanted]:
        raise DataError(path, f"two columns are called {twice[0]!r}")
    if "f0" in names and f"f{dataset.features}" not in names:
        raise DataError(
            path, "its features count from f0", advice="Rename its columns: they count from f1 here"
        )
    if missing := [name for name in wanted if name not in {*names}]:
        reason = f"there is no column {missing[0]!r}; columns: {logs.listing(names)}"
        advice = f"Give it the columns {logs.listing(wanted)}, with one value in each cell"
        raise DataError(path, reason, advice=advice)
    if f"f{dataset.features + 1}" in names:
        raise DataError(
            path, f"there is a column 'f{dataset.features + 1}' beyond the declared features"
        )


def _read_batches(
    path, batches: Iterable[pa.RecordBatch], dataset: Dataset
) -> Iterator[Block | Examples]:
    """The blocks of a user's columns, each checked and in the project's type."""
    blocks = _column_blocks(path, batches, dataset)
    return checked(path, blocks, text=False) if dataset.task == "ranking" else blocks


def _column_blocks(
    path, batches: Iterable[pa.RecordBatch], dataset: Dataset
) -> Iterator[Block | Examples]:
    first, queries = 1, {}
    names = _read_names(dataset)
    for batch in filter(len, batches):
        given = {name: batch[name] for name in names}
        # large_string and categories of texts, too
        if "query" in given and "string" in str(given["query"].type):
            given["query"] = _numbered(given["query"], queries)
        columns = {
            name: _column(path, column, name, first, dataset) for name, column in given.items()
        }
        features = np.column_stack([columns.pop(f"f{i + 1}") for i in range(dataset.features)])
        block_type = Block if dataset.task == "ranking" else Examples
        if "grade" in columns:
            beside = columns.pop(dataset.judged, columns["grade"])
            columns["printed"] = beside.astype(np.float32)
        yield block_type(**columns, features=features, line=np.arange(first, first + len(batch)))
        first += len(batch)
    if first == 1:
        raise DataError(path, "the file has no rows")


def _numbered(texts: pa.Array, known: dict[str, int]) -> pa.Array:
    """The numbers of queries whose ids are texts, int64, null where an id is missing.

    If all ids of a file's first batch are whole numbers, these are the numbers, and all later ids
    have to be whole, too. Otherwise ids are names, which are numbered from 1 as they come.

    known : number by id, of earlier batches; changed in place: this batch's are added
    """
    ids = texts.to_pylist()
    new = [id for id in dict.fromkeys(ids) if id and id not in known]
    named = not all(map(_WHOLE.fullmatch, known or new))
    for id in new:
        if not named and not _WHOLE.fullmatch(id):
            raise ValueError(f"query {short(id)} is no whole number, as those before it are")
        known[id] = len(known) + 1 if named else int(id)
    return pa.array(map(known.get, ids), pa.int64())


def _column(path, column: pa.Array, name: str, first: int, dataset: Dataset) -> np.ndarray:
    """One column of a user's file in the project's type; a DataError names the row (from 1) at
    fault.
    """

    def refuse(bad: np.ndarray, reason: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            value = column[row].as_py()
            raise DataError(path, f"row {first + row}: {name} {reason.format(value)}")

    refuse(column.is_null().to_numpy(zero_copy_only=False), "is missing")
    if pa.types.is_nested(column.type):
        raise DataError(
            path, f"column {name!r} has type {column.type}; numbers or text are expected"
        )
    if name == "label":
        labels = np.array([label_text(str(label)) for label in column.to_pylist()], dtype=object)
        if dataset.classes is not None:
            refuse(~np.isin(labels.astype(str), dataset.classes), "{!r} is not among the classes")
        return labels
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise DataError(path, f"column {name!r} has type {column.type}; numbers are expected")
    values = column.to_numpy(zero_copy_only=False)
    if name not in (*KEYS["ranking"], dataset.judged):
        return single(values, refuse)
    if name == "query":
        return whole(values, np.iinfo(np.int64).max, refuse)
    top = MAX_GRADE if dataset.grades is None else dataset.grades
    return whole(values, top, refuse).astype(np.int16)


def _grouped(path, dataset: Dataset, part: Part) -> Iterator[Block]:
    """The rows of a file without query ids; a second file says how many rows each query has.

    The second file is looked for beside the file that the study names, then beside its copy at
    `path`.
    """
    beside = groups_beside(part.file) or groups_beside(path)
    if beside is None:
        raise DataError(
            part.file,
            "no file beside it says how many rows each query has",
            advice=f"Put {Path(part.file).name}.query or .group beside it, with one number a line",
        )
    return read_grouped(path, beside, dataset.features, dataset.grades, **dataset.text)


def _read_log(path, whole: bool) -> logs.Log:
    """A log of visits in a user's file, read by scant_ads, which is found by its entry point.

    whole : whether the file is known to be whole, see `_is_declared`
    """
    if (reads := reader("log")) is None:
        raise SettingError(
            "parser: log is read by scant_ads, which is not installed: pip install -e . in the "
            "clone"
        )
    return reads.load()(path, whole)


GROUPS = "letor-groups"
UNREAD = (".weight", ".position")  # of files that LightGBM reads beside another
READERS = {
    "letor": lambda path, dataset: read_letor(
        path, dataset.features, dataset.grades, **dataset.text
    ),
    "letor-qid-in-comment": lambda path, dataset: read_letor(
        path, dataset.features, dataset.grades, qid="comment", **dataset.text
    ),
    "csv-label-first": lambda path, dataset: read_uci(
        path, dataset.features, "first", dataset.classes
    ),
    "csv-label-last": lambda path, dataset: read_uci(
        path, dataset.features, "last", dataset.classes
    ),
    "csv": _read_csv,
    "parquet": _read_parquet,
}
LOG_READERS = {"open-bandit": lambda path, whole: openbandit.read(path), "log": _read_log}


# Writing


def _read_names(dataset: Dataset) -> list[str]:
    """The names of the columns of a user's file that are read."""
    names = _schema(dataset.task, dataset.features).names
    return [*names, dataset.judged] if dataset.judged else names


def _schema(task: str, features: int, beside: str | None = None) -> pa.Schema:
    """The columns of a table of this task; beside : the name of a column of further grades."""
    keys = KEYS[task] | ({beside: pa.float32()} if beside else {})
    return pa.schema({**keys, **{f"f{i + 1}": pa.float32() for i in range(features)}})


def _table(block: Block | Examples, schema: pa.Schema) -> pa.Table:
    fields = (PRINTED if name == JUDGED else name for name in schema.names)
    keys = [getattr(block, name) for name in fields if name in block._fields]
    columns = np.ascontiguousarray(block.features.T)
    arrays = [
        _array(values, field.type) for values, field in zip([*keys, *columns], schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: np.ndarray, arrow_type: pa.DataType) -> pa.Array:
    text = pa.types.is_string(arrow_type)
    return pa.array(values.tolist(), arrow_type) if text else files.arrow_array(values, arrow_type)


def _metadata(dataset: Dataset, part: Part, original, rows: int, features: int, **counts) -> dict:
    """The metadata of a table; a DataError if its rows or queries are not as many as the registry
    says, or `_check_end` refuses the original.
    """
    metadata = {
        "dataset": dataset.id,
        "part": part.id,
        "task": dataset.task,
        "source_sha256": files.sha256(original),
        "rows": rows,
        "features": features,
        **counts,
    }
    for key in ("rows", "queries"):
        expected = getattr(part, key)
        if expected is not None and metadata.get(key) != expected:
            raise DataError(
                original, f"{metadata.get(key)} {key}; {dataset.id}/{part.id} has {expected}"
            )
    _check_end(original, dataset, part)
    return metadata


def _with_progress(blocks: Iterable, title: str, rows: int | None) -> Iterator:
    """Pass the blocks on; show progress on stderr if it takes more than two seconds."""
    from tqdm import tqdm

    with tqdm(desc=title, total=rows, unit=" rows", unit_scale=True, delay=2, disable=None) as bar:
        for block in blocks:
            yield block
            bar.update(len(block.features))


# Reading tables


def _paths(paths) -> list:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _row_groups(path, task: str) -> Iterator[pa.Table]:
    with files.foreign(path, advice=files.anew(path)), pq.ParquetFile(path) as file:
        if files.metadata_of(file.schema_arrow).get("task") != task:
            reason = f"not a {task} table of this project"
            raise DataError(path, reason, advice="Make it with `scant convert`")
        files.check_seal(path)
        for group in range(file.num_row_groups):
            yield files.read_parquet(path, [group])


def _features(table: pa.Table) -> np.ndarray:
    names = [
        name
        for name in table.column_names
        if name not in ("query", "grade", "label", PRINTED, JUDGED)
    ]
    features = np.empty((len(table), len(names)), np.float32)
    for i, name in enumerate(names):
        features[:, i] = _numpy(table[name])
    return features


def _numpy(column: pa.ChunkedArray) -> np.ndarray:
    return np.from_dlpack(column.combine_chunks())  # not to_numpy: it imports pandas
