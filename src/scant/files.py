"""Files that are either whole or absent, and parquet files that say what they are."""

import hashlib
import json
import os
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from scant.errors import DataError

METADATA_KEY = b"scant"
FREE, RATIO = 1 << 30, 200  # beyond FREE bytes in memory, at most times the size of a parquet file
VALUES = 1 << 24  # of a parquet file, read at once
LONGEST = 64 << 20  # bytes of a line of text: 100,000 features take 3 MB


@contextmanager
def atomic(path) -> Iterator[Path]:
    """Give a temporary path beside `path`; move it there if the block succeeds, else remove it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path, text: str) -> None:
    """Write `text` to `path` atomically, as UTF-8 with LF line ends."""
    with atomic(path) as temporary:
        temporary.write_bytes(text.encode())


def braces(paths) -> str:
    """Paths, in their order, as words of bash with brace expansion.

    A command holds at most 128 KB, but what bash makes of it up to 2 MB: some 20,000 paths.
    """
    split = [(path[: path.rfind("/") + 1], path[path.rfind("/") + 1 :]) for path in map(str, paths)]
    folders = [(folder, [name for _, name in of]) for folder, of in groupby(split, key=itemgetter(0))]
    alike = groupby(folders, key=itemgetter(1))
    return " ".join(_braced([folder for folder, _ in of]) + _braced(names) for names, of in alike)


def _braced(texts: list[str]) -> str:
    """Texts as one word of bash, in which what all begin and end with is written once."""
    start = os.path.commonprefix(texts)  # noqa: RUF071 (letter by letter is what is meant)
    rest = [text.removeprefix(start)[::-1] for text in texts]
    end = os.path.commonprefix(rest)  # noqa: RUF071
    inner = ",".join(_quoted(text.removeprefix(end)[::-1]) for text in rest)
    start, end = (_quoted(text) if text else "" for text in (start, end[::-1]))
    return f"{start}{{{inner}}}{end}" if len(texts) > 1 else start


def _quoted(text: str) -> str:
    """A text that bash takes for itself also between braces, where a comma has a meaning."""
    quoted = shlex.quote(text)
    return text.replace(",", r"\,") if quoted == text else quoted


def sha256(path, chunk: int = 1 << 20) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(chunk):
            digest.update(block)
    return digest.hexdigest()


def with_metadata(schema, metadata: dict):
    """An Arrow schema that carries `metadata` (JSON) under the key `scant`."""
    return schema.with_metadata(_encoded(metadata))


def _encoded(metadata: dict) -> dict:
    return {METADATA_KEY: json.dumps(metadata, sort_keys=True).encode()}


@contextmanager
def foreign(path, what: str = "readable parquet file", advice: str = "Make it again") -> Iterator[None]:
    """Turn what Arrow, NumPy and pandas raise on a damaged or foreign file into a DataError."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(path, f"not a {what} ({error})", advice=advice) from error


def metadata_of(schema) -> dict:
    """The `scant` metadata of an Arrow schema; empty if it has none that are a JSON object."""
    try:
        metadata = json.loads((schema.metadata or {}).get(METADATA_KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def write_parquet(table, path, metadata: dict) -> None:
    """Write an Arrow table atomically as zstd parquet with `metadata` in its schema, and a checksum of each page."""
    import pyarrow.parquet as pq

    with atomic(path) as temporary:
        table = table.replace_schema_metadata(_encoded(metadata))
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read_parquet(path, groups: Iterable[int] | None = None):
    """The Arrow table of a parquet file, or of some of its row groups.

    It is read in parts, since what its metadata say of sizes need not be so: to read a whole row group is to reserve
    what it claims, and to ask for the sizes of a forged column ends the process.

    Raises
    ------
    ValueError : it holds more than FREE bytes, and more than RATIO times those of the file
    pyarrow.ArrowException : it is damaged, or has text that is not UTF-8
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    limit, parts = max(FREE, RATIO * Path(path).stat().st_size), []
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for batch in file.iter_batches(max(VALUES // max(len(file.schema_arrow), 1), 1), groups):
            batch.validate(full=True)
            parts.append(batch)
            limit -= batch.nbytes
            if limit < 0:
                raise ValueError("a small file that holds too much")
        return pa.Table.from_batches(parts, file.schema_arrow)


def arrow_array(values, kind):
    """Numbers as an Arrow array of the type `kind`.

    It is made of a buffer: `pa.array` would import pandas, a third of a second for every job.
    """
    import numpy as np
    import pyarrow as pa

    values = np.ascontiguousarray(values, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
