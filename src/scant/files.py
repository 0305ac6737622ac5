"""Files that are either whole or absent, and parquet files that say what they are."""

import csv
import fcntl
import hashlib
import json
import math
import mmap
import os
import re
import shlex
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from itertools import combinations
from pathlib import Path

from scant.errors import DataError, SettingError, without_controls

METADATA_KEY = b"scant"
# what Snakemake puts into a folder that is the output of a job
FOLDER_MARK = ".snakemake_timestamp"
SEAL, BLANK = "crc32", "00000000"
MARK = f'"{SEAL}": "'.encode()  # what precedes the seal in a file, as JSON writes it
FREE, RATIO = 1 << 30, 200  # beyond FREE bytes in memory, at most times the size of a parquet file
ROWS = 1 << 20  # of a parquet file, read at once
READ = 1 << 20  # bytes that are read at once to compute a seal
LONGEST = 64 << 20  # bytes of a line of a log
BOM = b"\xef\xbb\xbf"  # the byte order mark that some programs begin UTF-8 with


@contextmanager
def atomic(path) -> Iterator[Path]:
    """Give a temporary path beside `path`; move it there if the block succeeds, else remove it.

    Files that killed writers of `path` have left are removed.

    Raises
    ------
    SettingError : `path` is no regular file: root could replace /dev/null
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise SettingError(
            f"{path} is there, and is no file that could be replaced: give another name"
        )
    with hidden(path, path.suffix) as temporary:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        temporary.replace(path)


def link(path, target) -> None:
    """Make `path` a symbolic link to the file `target`, atomically, in place of what is there.

    The link to a file below the working folder is relative, so that the folder can be moved.

    Raises
    ------
    SettingError : `path` is `target` itself
    """
    path, target = Path(path), Path(target).resolve()
    if not path.is_symlink():
        check_outputs([path], [target])
    path.parent.mkdir(parents=True, exist_ok=True)
    if target.is_relative_to(Path.cwd()):
        target = Path(os.path.relpath(target, path.parent.resolve()))
    temporary = path.with_name(f".{path.name}.link")
    temporary.unlink(missing_ok=True)
    try:
        temporary.symlink_to(target)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def hidden(path: Path, ending: str) -> Iterator[Path]:
    """An empty hidden file beside `path`, which is removed after the block, or by the next writer
    of `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=ending)
    try:
        _lock(handle)  # held as long as this process lives
        _sweep(path)
        yield Path(name)
    finally:
        os.close(handle)
        Path(name).unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove the hidden files that killed writers of `path` have left: the files whose lock nobody
    holds.
    """
    for left in path.parent.glob(f".{escape(path.name)}.*"):
        try:
            handle = os.open(left, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # gone meanwhile, or somebody else's
            continue
        try:
            if _lock(handle):
                left.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _lock(handle: int) -> bool:
    """Lock an open file, if nobody has, and if its file system can."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def check_outputs(outputs: Iterable, inputs: Iterable = ()) -> None:
    """Refuse files to be written that would replace what is read, or each other.

    The same file is known by whatever path, hard link or letter case it is named; a folder that is
    read holds all files below it.

    outputs, inputs : paths of files that are to be written and read; an input may be a folder

    Raises
    ------
    SettingError : a file to be written is an input or below one, or is to be written twice
    """
    written, read = list(map(Path, outputs)), list(map(Path, inputs))
    for target in written:
        for path in read:
            if _same_file(target, path):
                raise SettingError(
                    f"{target} is also an input, which is never overwritten: give another name"
                )
            if path.is_dir() and any(
                _same_file(folder, path) for folder in target.resolve().parents
            ):
                raise SettingError(
                    f"{target} is in {path}, which is an input, and would become a part of it: "
                    "give a name in another folder"
                )
    for first, second in combinations(written, 2):
        if _same_file(first, second):
            raise SettingError(f"{second} is to be written twice: give two names")


def _same_file(a: Path, b: Path) -> bool:
    """Whether two paths name one file, here or on a file system that takes upper and lower case for
    the same.
    """
    if a.exists() and b.exists() and a.samefile(b):
        return True
    return str(a.resolve()).casefold() == str(b.resolve()).casefold()


def anew(path) -> str:
    """Advice for a file of a study that is damaged or gone: to have Snakemake write it again by
    --forcerun.
    """
    whole = (folder for folder in Path(path).parents if (folder / FOLDER_MARK).is_file())
    # as the workflow names it
    name = shlex.quote(re.sub(r"^.*/(?=results/)", "", str(next(whole, path))))
    return f"To make it anew, with what follows from it, run the study again with --forcerun {name}"


def damaged(path, reason: str) -> DataError:
    """The error for a file of a study that is not what was made, with the advice of `anew`."""
    return DataError(path, reason, advice=anew(path))


def visible(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that fit a pattern, in order, without the hidden ones of writers that
    were killed.
    """
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("."))


def check_unlinked(folder) -> None:
    """Refuse links, and all else that is neither file nor folder, below a folder that may be
    somebody else's: they could lead to a secret of whoever reads them, or never end.

    Raises
    ------
    DataError : names the first linked file
    """
    for place, folders, names in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *names)):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise linked(path)


def linked(path) -> DataError:
    """The error for a link in somebody's results."""
    advice = "Put the file or folder itself there"
    return DataError(path, "a link, or no file, which is not followed", advice=advice)


def parts(folder) -> tuple[list[Path], list[Path]]:
    """The parquet files of a folder and its subfolders; and the files left out, both sorted.

    Parts end in .parquet, in whatever case. As in Arrow and Spark, files are left out if their
    names, or the names of their folders, begin with "." or "_": a writer has not finished them, or
    other programs keep them there. Files of other kinds are left out, too; those that are also
    hidden in this way, such as _SUCCESS, are not returned.

    Raises
    ------
    DataError : there is no part; one is there twice, by a link; a link to a folder, or what cannot
        be read
    """
    folder, parquet, left_out, first_by_inode = Path(folder), [], [], {}

    def aside(path: Path) -> bool:
        return any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)

    def refuse(error: OSError):
        raise error

    try:
        for place, folders, names in os.walk(folder, onerror=refuse):
            for path in (Path(place, name) for name in folders):
                if path.is_symlink() and not aside(path):
                    reason = "a link to a folder, which is not followed"
                    raise DataError(path, reason, advice="Put the folder there")
            for path in (Path(place, name) for name in names):
                is_parquet, hidden = path.name.lower().endswith(".parquet"), aside(path)
                if is_parquet or not hidden:
                    (parquet if is_parquet and not hidden else left_out).append(path)
        for path in sorted(parquet):
            about = path.stat()
            if (first := first_by_inode.setdefault((about.st_dev, about.st_ino), path)) is not path:
                reason = f"the same file as {first}, so that its rows would count twice"
                raise DataError(path, reason, advice="Leave one of them out")
    except OSError as error:
        raise DataError(error.filename, f"cannot be read ({error.strerror})") from None
    if not parquet:
        raise DataError(folder, "the folder has no parquet files")
    return sorted(parquet), sorted(left_out)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path, text: str) -> None:
    """Write `text` to `path` atomically, as UTF-8 with LF line ends."""
    with atomic(path) as temporary:
        temporary.write_bytes(text.encode())


def refuse_page(path, origin=None, advice: str = "Get the file again") -> None:
    """Raise a DataError for a page of HTML or XML, which servers send where they have no file.

    origin, advice : where the file is from, and what to do, for the error
    """
    with open(path, "rb") as file:
        start = file.read(1 << 10).removeprefix(BOM).lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        reason = "it is a web page, as a server sends it in place of the file"
        raise DataError(origin or path, reason, advice=advice)


def skip_mark(file) -> None:
    """Go to the first byte of a binary file after its byte order mark, if it has one."""
    if file.read(len(BOM)) != BOM:
        file.seek(0)


def numbered_lines(path) -> Iterator[tuple[int, bytes]]:
    """The lines of a text with their ends, without a byte order mark, and their numbers from 1."""
    with open(path, "rb") as file:
        skip_mark(file)
        yield from enumerate(file, start=1)


def sha256(path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_metadata(schema, metadata: dict):
    """An Arrow schema that carries `metadata` (JSON) under the key `scant`."""
    return schema.with_metadata(encoded(metadata))


def encoded(metadata: dict) -> dict:
    """Metadata as Arrow and parquet files carry them, with a place for the file's seal."""
    return {METADATA_KEY: json.dumps(metadata | {SEAL: BLANK}, sort_keys=True).encode()}


def seal(path) -> None:
    """Write a file's CRC-32 into the place that its metadata keep for it."""
    with open(path, "r+b", buffering=0) as file:
        place = _place_of_seal(file)
        crc = _crc(file, place)
        file.seek(place)
        file.write(crc)


def check_seal(path) -> None:
    """Look through a sealed file for damage, at 2.5 GB/s, block by block: to map it would count as
    memory.

    Raises
    ------
    ValueError : a byte has changed since it was sealed, or it has no seal
    """
    with open(path, "rb", buffering=0) as file:
        place = _place_of_seal(file)
        file.seek(place)
        if file.read(len(BLANK)) != _crc(file, place):
            raise ValueError("its CRC-32 is another, so some of its bytes have changed")


def write_sealed(path, content: dict) -> None:
    """Write a mapping as JSON, atomically, and seal the file. NumPy's arrays and numbers become
    lists and Python's.
    """
    text = json.dumps(content | {SEAL: BLANK}, default=lambda value: value.tolist())
    with atomic(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")
        seal(temporary)


def read_sealed(path) -> dict:
    """What `write_sealed` wrote, with its seal; a ValueError for a file that has changed since."""
    check_seal(path)
    return _loaded(Path(path).read_text(encoding="utf-8"))


def _loaded(text) -> dict:
    """An object of JSON; a ValueError for what is none, or too deep."""
    with suppress(RecursionError):
        if isinstance(content := json.loads(text), dict):
            return content
    raise ValueError("its JSON is no object, or too deep")


def _place_of_seal(file) -> int:
    """Where the seal of an open file is: after the last MARK. A ValueError if there is none."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if (place := content.rfind(MARK)) < 0:
            raise ValueError("it has no seal, as files of this project have")
        return place + len(MARK)


def _crc(file, place: int) -> bytes:
    """The CRC-32 of an open file whose seal, at this place, is blank, as the seal has it."""
    crc, block = 0, memoryview(bytearray(min(READ, file.seek(0, os.SEEK_END))))
    file.seek(0)
    while place and (size := file.readinto(block[:place])):
        crc, place = zlib.crc32(block[:size], crc), place - size
    crc = zlib.crc32(BLANK.encode(), crc)
    file.seek(len(BLANK), os.SEEK_CUR)
    while size := file.readinto(block):
        crc = zlib.crc32(block[:size], crc)
    return b"%08x" % crc


# a cell of text that begins so is a formula to a spreadsheet
RUNS = ("=", "+", "-", "@", "\t", "\r")


def harmless_text(text):
    """A text with an apostrophe before it if a spreadsheet would run it as a formula, its control
    characters escaped; any other value as it is.
    """
    if not isinstance(text, str):
        return text
    text, runs = without_controls(text), text.startswith(RUNS) and number(text) is None
    return f"'{text}" if runs else text


def write_csv(frame, path) -> None:
    """Write a frame as CSV, atomically. Texts that a spreadsheet would run as formulas begin with
    an apostrophe.

    Numbers written as texts are left as they are.
    """
    with atomic(path) as temporary:
        harmless(frame).to_csv(temporary, index=False, lineterminator="\n")


def harmless(frame):
    """The frame with an apostrophe before every text that a spreadsheet would run as a formula."""
    changed = {}
    for name, column in frame.items():
        if column.dtype.kind not in "biufMm":
            texts = list(column.astype(object))
            kept = list(map(harmless_text, texts))
            if any(text is not other for text, other in zip(kept, texts, strict=True)):
                changed[name] = kept
    frame = frame.assign(**changed) if changed else frame
    return frame.rename(columns=harmless_text)


def number(text: str | None) -> float | None:
    """The number that the text of a cell spells; None for NaN, or if it spells none."""
    try:
        value = float(text) if text else math.nan
    except ValueError:
        return None
    return None if math.isnan(value) else value


def read_cells(path, advice: str = "") -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a CSV file, as texts; a table without columns is an empty line.

    advice : what to do if the file is damaged; by default `anew`

    Raises
    ------
    DataError : it has no head, or a row has more or fewer cells than the head; names its line
    """
    advice, rows = advice or anew(path), []
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            head = next(reader, None)
            for row in reader:
                if len(row) != len(head):
                    reason = f"has {len(row)} cells, and not {len(head)} as the head"
                    raise DataError(path, reason, reader.line_num, advice)
                rows.append(row)
    except FileNotFoundError:
        raise DataError(path, "there is no such file", advice=advice) from None
    except (ValueError, csv.Error):
        head = None
    if head is None:
        raise DataError(path, "is no table with a head", advice=advice)
    return head, rows


def read_rows(path, advice: str = "") -> tuple[list[str], list[dict[str, str]]]:
    """The head of a CSV file and its rows as mappings of columns to texts, see `read_cells`."""
    head, rows = read_cells(path, advice)
    return head, [dict(zip(head, row, strict=True)) for row in rows]


def crc(path) -> str:
    """The CRC-32 of a file, as seals have it."""
    return f"{zlib.crc32(Path(path).read_bytes()):08x}"


@contextmanager
def foreign(
    path, what: str = "readable parquet file", advice: str = "Make it again"
) -> Iterator[None]:
    """Turn what Arrow, NumPy and pandas raise on a damaged or foreign file into a DataError.

    what, advice : what the file should be, and what to do, for the error
    """
    import pyarrow as pa

    try:
        yield
    except MemoryError:  # Arrow's, too
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        EOFError,
        zlib.error,
    ) as error:
        raise DataError(path, f"not a {what} ({error})", advice=advice) from error


def metadata_of(schema) -> dict:
    """The `scant` metadata of an Arrow schema, without the seal; empty if it has none."""
    metadata = _loaded((schema.metadata or {}).get(METADATA_KEY, b"{}"))
    metadata.pop(SEAL, None)
    return metadata


def write_parquet(table, path, metadata: dict, split: Iterable[str] = ()) -> None:
    """Write an Arrow table atomically as zstd parquet with `metadata` in its schema, and seal it.

    split : columns, as parquet names them, of numbers that hardly repeat. Their first bytes are
        stored together, then their second ones, and so on. This is smaller than a dictionary of the
        values, and faster to write and read
    """
    import pyarrow.parquet as pq

    apart = {name.partition(".")[0] for name in split}
    options = {
        "use_dictionary": [name for name in table.column_names if name not in apart],
        "column_encoding": dict.fromkeys(split, "BYTE_STREAM_SPLIT"),
    }
    table = table.replace_schema_metadata(encoded(metadata))
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", **options if split else {})
        seal(temporary)


def batches(
    file, rows: int, groups: Iterable[int] | None = None, columns: list[str] | None = None
) -> Iterator:
    """The checked record batches, of at most `rows` rows, of an open parquet file, of some row
    groups or columns.

    Raises
    ------
    ValueError : the rows are fewer than the metadata say: Arrow silently ends a column at a damaged
        page
    pyarrow.ArrowException : it is damaged, or has text that is not UTF-8
    """
    about = file.metadata
    expected = left = (
        about.num_rows
        if groups is None
        else sum(about.row_group(group).num_rows for group in groups)
    )
    for batch in file.iter_batches(rows, groups, columns):
        batch.validate(full=True)
        left -= batch.num_rows
        yield batch
    if left:
        raise ValueError(f"{expected - left:,} rows, where its metadata say {expected:,}")


def read_parquet(path, groups: Iterable[int] | None = None, ours: bool = True):
    """The Arrow table of a parquet file, or of some of its row groups.

    ours : whether this project has to have written it; if not, its seal is checked only if its
        metadata say that the project did

    Raises
    ------
    ValueError : its seal is broken, or it has not as many rows as its metadata say
    pyarrow.ArrowException : it is damaged, or has text that is not UTF-8
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if groups is None and (ours or METADATA_KEY in (file.schema_arrow.metadata or {})):
            check_seal(path)
        return pa.Table.from_batches(batches(file, ROWS, groups), file.schema_arrow)


def arrow_array(values, kind):
    """Numbers, truth values or times, or at most 2 GB of texts, as an Arrow array of the type
    `kind`.

    It is made of buffers: `pa.array` would import pandas, a third of a second for every job.
    """
    import numpy as np
    import pyarrow as pa

    if kind == pa.string():
        texts = [text.encode() for text in values]
        buffers = [np.cumsum([0, *map(len, texts)], dtype=np.int32), b"".join(texts)]
    elif kind == pa.bool_():
        buffers = [np.packbits(np.asarray(values, bool), bitorder="little")]
    else:
        buffers = [np.ascontiguousarray(values, kind.to_pandas_dtype())]
    return pa.Array.from_buffers(kind, len(values), [None, *map(pa.py_buffer, buffers)])
