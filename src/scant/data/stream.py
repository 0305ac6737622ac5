"""Streams: files of ranking data that jobs memory-map, so that all of them share one copy.

A stream is an Arrow file of one record batch with a row per query: `query` (int64), `relevant`
(int32, the number of documents of grade above 0), `ideal_dcg` and `ideal_dcg@10` (float64),
`grades` (list of int16) and `features` (list of float32 vectors); `judged` (list of int16), too,
if the data have the grades of a second judge. The metadata of its schema have
what bounds and tables need: the largest norm of a document, the largest ratio of SLAM weights, and,
for simulated separable streams, the ranker and its margin.
"""

import io
import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from scant.errors import DataError
from scant.files import (
    anew,
    arrow_array,
    atomic,
    check_seal,
    foreign,
    hidden,
    metadata_of,
    seal,
    with_metadata,
)

CUT = 10  # the k of every NDCG@10 of the papers
LARGEST_GRADE = 30
# how many grades `write` takes at once, or how many numbers where there are many features
BLOCK = 4096
NUMBERS = 1 << 20
WRITTEN = 1 << 25  # bytes of features that are mapped at once

Query = tuple[int, np.ndarray, np.ndarray]  # query id, grades (m), features (m x d)


@dataclass(frozen=True)
class Stream:
    """Queries as flat arrays: query q holds documents `offsets[q]` to `offsets[q + 1]`.

    Arrays are read-only.
    """

    features: np.ndarray  # float32, documents x features
    offsets: np.ndarray  # int64, queries + 1
    grades: np.ndarray  # int16, documents
    relevant: np.ndarray  # int32, queries
    ideal_dcg: np.ndarray  # float64, queries
    ideal_dcg_at_cut: np.ndarray  # float64, queries
    query: np.ndarray  # int64, queries
    metadata: dict
    judged: np.ndarray | None = None  # int16, documents, the grades of a second judge

    def __len__(self) -> int:
        return len(self.query)

    def __getitem__(self, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Features (m x d) and grades (m) of the query with index q."""
        documents = slice(self.offsets[q], self.offsets[q + 1])
        return self.features[documents], self.grades[documents]


def random_name(name: str, settings: dict) -> str:
    """The name from which the random numbers of a stream are derived.

    It is the stream's id; for a variant of a sweep of readings, the id of the stream that it stands
    for, so that results under two readings differ by the readings alone.
    """
    return settings.get("stands_for", name)


def gains(largest_grade: int) -> np.ndarray:
    """The gains G(r) for r = 0..largest_grade, float64, a table for the compiled loops."""
    return np.exp2(np.arange(largest_grade + 1)) - 1.0


def discounts(places: int) -> np.ndarray:
    """The discounts D(i) for i = 1..places, float64, a table for the compiled loops."""
    return 1.0 / np.log2(np.arange(2, places + 2))


def ideal_dcg(grades: np.ndarray, cut: int) -> np.ndarray:
    """The largest DCG@cut of grades (... x m), added in the order of the compiled
    `scant.kernels.pieces.ideal_dcg`.

    Not compiled: loading compiled code takes longer than drawing most streams.
    """
    return np.cumsum(_weights(grades, cut), axis=-1)[..., -1]


def weight_ratio(grades: np.ndarray, cut: int | None = None) -> np.ndarray:
    """The largest ratio of two positive NDCG (or NDCG@cut) SLAM weights of grades (... x m): v_max
    of the bounds.

    It is 1 for a query without relevant documents. Perceptron paper, Lemma 5 and Theorem 8.
    """
    weights = _weights(grades, cut)
    largest = weights[..., 0]
    return np.where(largest > 0, largest / np.where(weights > 0, weights, np.inf).min(axis=-1), 1.0)


def _weights(grades: np.ndarray, cut: int | None) -> np.ndarray:
    """NDCG's SLAM weights, up to a factor: gains times discounts of the `cut` largest of grades
    (... x m), in descending order.
    """
    ordered = -np.sort(-grades, axis=-1)[..., :cut]
    return gains(LARGEST_GRADE)[ordered] * discounts(ordered.shape[-1])


def gap(scores: np.ndarray, grades: np.ndarray) -> float:
    """The smallest lead in score of a document over one of a lower grade; inf if all grades are
    equal.
    """
    order = np.argsort(grades)
    starts = np.flatnonzero(np.diff(grades[order], prepend=-1))
    by_grade = np.asarray(scores, np.float64)[order]
    lowest, highest = np.minimum.reduceat(by_grade, starts), np.maximum.reduceat(by_grade, starts)
    return float((lowest[1:] - highest[:-1]).min(initial=np.inf))


def scale(features: np.ndarray, reading: str) -> np.ndarray:
    """Scale a query's features (m x d) as the reading `features` says.

    reading : "as-is"; "query-centred", which takes each feature's mean over the query from it; or
        "query-minmax", which maps each feature to [0, 1] within the query, and constants to 0
    """
    if reading == "as-is":
        return features
    if reading == "query-centred":
        return features - features.mean(axis=0, dtype=np.float64)
    low = features.min(axis=0)
    # In float32 the range of a feature can overflow, and a tiny one loses its digits.
    width = features.max(axis=0).astype(np.float64) - low
    return np.where(
        width > 0, (features - low.astype(np.float64)) / np.where(width > 0, width, 1.0), 0.0
    )


def joined(blocks: Iterable[Query], last: bool = True) -> Iterator[Query]:
    """Whole queries from blocks of documents `(query (n), grade (n), features (n x d))`, which may
    split queries.

    last : whether to keep the very last query; the released code drops it in each file
    """
    pending: list[Query] = []

    def whole() -> Query:
        return (
            pending[0][0],
            np.concatenate([part[1] for part in pending]),
            np.concatenate([part[2] for part in pending]),
        )

    for query, grade, features in blocks:
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
        for start, stop in zip(starts, np.r_[starts[1:], len(query)], strict=True):
            if pending and pending[0][0] != query[start]:
                yield whole()
                pending = []
            pending.append((query[start], grade[start:stop], features[start:stop]))
    if pending and last:
        yield whole()


def arrange(
    queries: Iterable[Query], random: np.random.Generator, features: str, documents: str
) -> Iterator[Query]:
    """Scale each query (see `scale`) and order its documents as the reading `documents` says.

    documents : "shuffled" by `random`, so that the order says nothing about grades; "as-is"; or
        "reversed", so that of documents with equal scores the later one in the file is ranked first
    """
    orders = {
        "shuffled": random.permutation,
        "as-is": np.arange,
        "reversed": lambda m: np.arange(m)[::-1],
    }
    for query, grade, x in queries:
        order = orders[documents](len(grade))
        yield query, grade[order], scale(x, features)[order]


def write(path, queries: Iterable[Query], metadata: dict, ranker: np.ndarray | None = None) -> dict:
    """Write a stream file atomically and return its metadata. Features are written to disk block by
    block.

    metadata : what to record besides the sizes, statistics and constants of bounds that are
        computed here
    ranker : weights of norm 1 that rank every query rightly; its margin on the float32 features is
        recorded
    """
    path, measured = Path(path), _Measured(ranker)
    with hidden(path, ".features") as features_path, open(features_path, "w+b") as raw:
        for block in map(measured.parted, _blocks(queries)):
            _check_sizes(path, block, measured.width)
            table = _Table.of(block)
            _check_values(path, block, table)
            raw.write(table.features.data)
            measured.add(block, table)
        if not measured.ids:
            raise DataError(path, "a stream needs at least one query")
        raw.flush()  # the map below is of the file, not of what is still in the buffer
        metadata = metadata | measured.metadata()
        mapped = mmap.mmap(raw.fileno(), 0)
        batch = measured.batch(pa.py_buffer(mapped))
        schema = with_metadata(batch.schema, metadata)
        with atomic(path) as temporary:
            with (
                _Forgetful(temporary, mapped) as file,
                pa.PythonFile(file, "w") as sink,
                pa.ipc.new_file(sink, schema) as writer,
            ):
                writer.write_batch(batch.replace_schema_metadata(schema.metadata))
            seal(temporary)
    return metadata


class _Table(NamedTuple):
    """A block of queries as arrays."""

    lengths: np.ndarray  # int64 (queries), documents of each

    # int16 (queries, longest); the zeros after a query's grades change nothing computed of them
    grades: np.ndarray
    features: np.ndarray  # float32 (documents, features)
    norms: np.ndarray  # float64 (documents)

    @classmethod
    def of(cls, block: list[Query]) -> "_Table":
        lengths = np.array([len(grade) for _, grade, _ in block])
        grades = np.zeros((len(block), lengths.max()), np.int16)
        grades[np.arange(grades.shape[1]) < lengths[:, None]] = np.concatenate(
            [grade for _, grade, _ in block]
        )
        features = np.concatenate([x for _, _, x in block])
        # squares could overflow float32
        norms = np.sqrt(np.square(features, dtype=np.float64).sum(axis=1))
        return cls(lengths, grades, features, norms)


def _check_sizes(path: Path, block: list[Query], width: int | None) -> None:
    """Raise a DataError for a query with another number of features than `width`, or the first
    query if None.
    """
    if width is None:
        width = block[0][2].shape[1]
    for query, _, x in block:
        if x.shape[1:] != (width,):
            raise DataError(path, f"query {query} has {x.shape[1]} features, others {width}")


def _check_values(path: Path, block: list[Query], table: _Table) -> None:
    """Raise a DataError for the first query with a grade out of range, or with features that are
    not finite.
    """
    outside = ((table.grades < 0) | (table.grades > LARGEST_GRADE)).any(axis=1)
    if outside.any():
        query = block[np.argmax(outside)][0]
        raise DataError(path, f"query {query} has a grade outside 0 to {LARGEST_GRADE}")
    finite = np.isfinite(table.norms)
    if not finite.all():
        query = np.repeat([query for query, _, _ in block], table.lengths)[np.argmin(finite)]
        raise DataError(path, f"query {query} has a feature that is not finite")


class _Measured:
    """What a stream records besides features, gathered block by block: columns, statistics and
    constants of bounds.
    """

    def __init__(self, ranker: np.ndarray | None):
        self.ids = []
        self.sizes = []
        self.relevant = []
        self.ideal = []
        self.ideal_at_cut = []
        self.grades = []
        self.judged = []
        self.width: int | None = None
        self.radius, self.ratio, self.ratio_at_cut = 0.0, 1.0, 1.0
        self.ranker, self.margin = ranker, np.inf

    def parted(self, block: list[Query]) -> list[Query]:
        """The block without the grades of a second judge, which move to `judged`."""
        if block[0][1].ndim == 1:
            return block
        self.judged.extend(grade[:, 1] for _, grade, _ in block)
        return [(query, np.ascontiguousarray(grade[:, 0]), x) for query, grade, x in block]

    def add(self, block: list[Query], table: _Table) -> None:
        self.width = table.features.shape[1]
        self.ids.extend(query for query, _, _ in block)
        self.sizes.extend(table.lengths)
        self.grades.extend(grade for _, grade, _ in block)
        self.relevant.extend(np.count_nonzero(table.grades, axis=1))
        self.ideal.extend(ideal_dcg(table.grades, table.grades.shape[1]))
        self.ideal_at_cut.extend(ideal_dcg(table.grades, CUT))
        self.radius = max(self.radius, float(table.norms.max()))
        self.ratio = max(self.ratio, float(weight_ratio(table.grades).max()))
        self.ratio_at_cut = max(self.ratio_at_cut, float(weight_ratio(table.grades, CUT).max()))
        if self.ranker is not None:
            self.margin = min(
                self.margin,
                *(gap(x.astype(np.float64) @ self.ranker, grade) for _, grade, x in block),
            )

    def metadata(self) -> dict:
        ranker = self.ranker
        return {
            "queries": len(self.ids),
            "documents": int(np.sum(self.sizes)),
            "features": self.width,
            "largest_query": int(max(self.sizes)),
            "largest_grade": int(max(grade.max() for grade in self.grades)),
            "without_relevant": int(np.sum(np.equal(self.relevant, 0))),
            "radius": self.radius,
            "weight_ratio": {"ap": 1.0, "ndcg": self.ratio, "ndcg@10": self.ratio_at_cut},
            "ranker": None if ranker is None else [float(value) for value in ranker],
            "margin": None if ranker is None else self.margin,
        }

    def batch(self, features: pa.Buffer) -> pa.RecordBatch:
        """The columns of the stream, with the features of all documents."""
        values = pa.Array.from_buffers(
            pa.float32(), int(np.sum(self.sizes)) * self.width, [None, features]
        )
        offsets = arrow_array(np.r_[0, np.cumsum(self.sizes)], pa.int64())
        grades = np.concatenate(self.grades)
        vectors = pa.FixedSizeListArray.from_arrays(values, self.width)
        columns = {
            "query": arrow_array(self.ids, pa.int64()),
            "relevant": arrow_array(self.relevant, pa.int32()),
            "ideal_dcg": arrow_array(self.ideal, pa.float64()),
            "ideal_dcg@10": arrow_array(self.ideal_at_cut, pa.float64()),
            "grades": pa.LargeListArray.from_arrays(offsets, arrow_array(grades, pa.int16())),
            "features": pa.LargeListArray.from_arrays(offsets, vectors),
        }
        if self.judged:
            judged = arrow_array(np.concatenate(self.judged), pa.int16())
            columns["judged"] = pa.LargeListArray.from_arrays(offsets, judged)
        return pa.RecordBatch.from_pydict(columns)


class _Forgetful(io.FileIO):
    """A file to write mapped arrays to, whose pages it gives back: they would count as memory."""

    def __init__(self, path, mapped: mmap.mmap):
        super().__init__(path, "wb")
        self.mapped = mapped

    def write(self, data) -> int:
        content = memoryview(data).cast("B")
        for start in range(0, len(content), WRITTEN):
            part = content[start : start + WRITTEN]
            while len(part):
                part = part[super().write(part) :]
            self.mapped.madvise(mmap.MADV_DONTNEED)
        return len(content)


def _blocks(queries: Iterable[Query]) -> Iterator[list[Query]]:
    """Queries with grades as int16 and features as float32, in lists that make a table of about
    `BLOCK` grades, or have about `NUMBERS` features.

    The table has a row per query, as long as the longest.
    """
    block, longest, numbers = [], 0, 0
    for query, grade, features in queries:
        block.append(
            (
                query,
                np.ascontiguousarray(grade, np.int16),
                np.ascontiguousarray(features, np.float32),
            )
        )
        longest, numbers = max(longest, len(grade)), numbers + features.size
        if longest * len(block) >= BLOCK or numbers >= NUMBERS:
            yield block
            block, longest, numbers = [], 0, 0
    if block:
        yield block


def read(path) -> Stream:
    """Memory-map a stream file.

    The file's seal is checked, since compiled loops check no bounds.

    Raises
    ------
    DataError : the file is missing, truncated, damaged, or no stream
    """
    if not Path(path).is_file():
        raise DataError(path, "there is no such stream")
    with (
        foreign(path, "whole stream", anew(path)),
        pa.memory_map(str(path), "r") as file,
        pa.ipc.open_file(file) as reader,
    ):
        check_seal(path)
        metadata = metadata_of(reader.schema)
        batch = reader.get_batch(0)
        features, grades = batch.column("features"), batch.column("grades")
        names = batch.schema.names
        return Stream(
            features=_values(features.values.values).reshape(-1, metadata["features"]),
            offsets=np.frombuffer(grades.buffers()[1], np.int64)[: len(batch) + 1],
            grades=_values(grades.values),
            relevant=_values(batch.column("relevant")),
            ideal_dcg=_values(batch.column("ideal_dcg")),
            ideal_dcg_at_cut=_values(batch.column("ideal_dcg@10")),
            query=_values(batch.column("query")),
            metadata=metadata,
            judged=_values(batch.column("judged").values) if "judged" in names else None,
        )


def _values(column: pa.Array) -> np.ndarray:
    """A view of a column without nulls.

    `to_numpy` would import pandas, which takes every job a sixth of a second.
    """
    return np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype())[: len(column)]
