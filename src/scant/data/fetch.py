"""Get one original file of a data set: find or download it, decompress it, check it."""

import os
import re
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from scant import files
from scant.data.registry import Dataset, Part, check_address
from scant.errors import DataError, SettingError
from scant.schema import of_project

FOLDER = "data"  # the project's own data folder, below the working directory
SUFFIXES = ("", ".gz", ".Z")  # a file may be stored plain or compressed

# Limits to what a file may use. The registry's largest archive (3.8 GB of MSLR-WEB30K) is well
# within them.
LIMIT = 32 << 30  # bytes of one file or archive, downloaded or decompressed
# content above FREE bytes may be RATIO times what it was packed in; features take 5 to 20
FREE, RATIO = 1 << 28, 200
# bytes of a .Z file and of its content, which is all in memory; UCI's largest has 40 MB
LZW = 1 << 28
MEMBERS = 10_000  # of an archive; none in the registry has 100
ATTEMPTS = 3  # to download a file
ABSENT = (403, 404, 410)  # statuses of files that a mirror does not have
# of HTTP
ENCODINGS = {
    "": "",
    "identity": "",
    "gzip": ".gz",
    "x-gzip": ".gz",
    "compress": ".Z",
    "x-compress": ".Z",
}
REASON = 200  # characters that an error shows of what a server said
READ = 16 << 20  # bytes that are read at once when the headers of an archive are read

# What decompressors and readers of archives raise on damaged input; gzip raises OSError.
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    IndexError,
    KeyError,
    RuntimeError,
    OverflowError,
    zlib.error,
    struct.error,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class _Request:
    """What to fetch (`dataset`, `part`, for `target`), a mirror to look in, and the file to write
    (`output`).
    """

    dataset: Dataset
    part: Part
    target: Path
    mirror: str | None
    output: Path
    log: Callable[[str], None]


def fetch(dataset: Dataset, part: str, target, mirror: str | None = None, log=print) -> dict:
    """Get the decompressed original content of one part of a data set at `target`.

    It looks in this order: in a Python package that contains the file; in the mirror; in the
    project's data folder; for a study's own sets, at the path that the study gives; at the
    publisher's file or archive, unless a person has to accept terms first. In mirror and data
    folder the file is `{folder}/{file}`, plain or with .gz or .Z appended. The first one found is
    used: content that is corrupt or has another checksum is an error, never a reason to look
    elsewhere. A plain file on this machine is not copied: `target` becomes a link to it.

    Parameters
    ----------
    dataset : an entry of the registry
    part : id of the part
    target : path of the file to write; it appears whole or not at all
    mirror : folder or http(s) URL of a mirror; by default the environment variable SCANT_DATA
    log : a function that takes lines of text about progress

    Returns
    -------
    record : dataset, part, source (the path or URL used), sha256 and bytes of the content
    """
    wanted, target = dataset.part(part), Path(target)
    mirror = mirror or os.environ.get("SCANT_DATA") or None
    here = None if is_address(mirror) else on_disk(dataset, wanted, mirror)
    if here and here.suffix not in SUFFIXES[1:]:
        source, size = str(here), here.stat().st_size
        digest = _verify(_Request(dataset, wanted, target, mirror, here, log), source)
        files.link(target, here)
    else:
        with files.atomic(target) as output:
            request = _Request(dataset, wanted, target, mirror, output, log)
            source = next(filter(None, (find(request) for find in _SOURCES)), None)
            if source is None:
                raise SettingError(_how_to_get(request))
            digest = _verify(request, source, rejected=_rejected(target))
            size = output.stat().st_size
    log(f"{dataset.id}/{wanted.id}: {size:,} bytes from {source}")
    return {
        "dataset": dataset.id,
        "part": wanted.id,
        "source": source,
        "sha256": digest,
        "bytes": size,
    }


def is_address(mirror: str | None) -> bool:
    """Whether a mirror is an address, not a folder."""
    return mirror is not None and mirror.lower().startswith(("http://", "https://"))


def on_disk(dataset: Dataset, part: Part, mirror: str | None = None) -> Path | None:
    """The file of a part that is on this machine, plain or compressed; None if there is none.

    mirror : a mirror; it is looked in if it is a folder, not if it is an address
    """
    if part.package is not None:
        return _in_package(dataset, part.package)
    mirror = None if is_address(mirror) else mirror
    if mirror and not Path(mirror).is_dir():
        raise SettingError(f"the mirror {mirror} is not a folder")
    stems = []
    if not Path(part.file).is_absolute():
        stems = [str(Path(root, dataset.folder, part.file)) for root in (mirror, FOLDER) if root]
    paths = [Path(stem + suffix) for stem in stems for suffix in SUFFIXES]
    paths += [of_project(part.file)] if dataset.own else []
    return next((path for path in paths if path.is_file()), None)


def downloadable(dataset: Dataset, part: Part) -> bool:
    """Whether the publisher has the file of a part at an address, and no person has to accept terms
    first.
    """
    return bool(part.url or dataset.archive) and not dataset.get


# Sources: each writes the content to `request.output` and returns where it came from, or None if it
# has no such file.


def _address_of_mirror(request: _Request) -> str | None:
    if (
        request.part.package
        or not is_address(request.mirror)
        or Path(request.part.file).is_absolute()
    ):
        return None
    from urllib.parse import quote

    base = f"{request.mirror.rstrip('/')}/{quote(f'{request.dataset.folder}/{request.part.file}')}"
    return next(filter(None, (_copy_url(request, base + end, ABSENT) for end in SUFFIXES)), None)


def _disk(request: _Request) -> str | None:
    path = on_disk(request.dataset, request.part, request.mirror)
    return _copy_file(request, path) if path else None


def _file_url(request: _Request) -> str | None:
    served = request.part.url and downloadable(request.dataset, request.part)
    return _copy_url(request, request.part.url) if served else None


def _archive(request: _Request) -> str | None:
    archive = request.dataset.archive
    if archive is None or not downloadable(request.dataset, request.part):
        return None
    path = _cached_archive(request)
    names = [archive.members + request.part.file + suffix for suffix in SUFFIXES]
    with _member(path, names, request.dataset.home) as (name, stream, packed):
        _copy(stream, name, request.output, f"{name} in {path}", lambda: packed)
    return f"{archive.url} ({name})"


_SOURCES = (_address_of_mirror, _disk, _file_url, _archive)


def _in_package(dataset: Dataset, package: str) -> Path:
    """A file that an installed Python package brings; `package` is the package's name and the
    file's path in it.
    """
    from importlib.util import find_spec

    name, _, file = package.partition("/")
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SettingError(
            f"{dataset.id} comes with the Python package {name}, which is not installed"
        )
    path = Path(spec.submodule_search_locations[0], file)
    if not path.is_file():
        raise SettingError(f"{dataset.id}: the Python package {name} has no file {file}")
    return path


# Files, plain or compressed


def _copy_file(
    request: _Request, path: Path, origin: str | None = None, name: str | None = None
) -> str:
    origin = origin or str(path)
    with open(path, "rb") as stream:
        _copy(stream, name or path.name, request.output, origin, stream.tell)
    return origin


def _blocks(stream, name: str, origin: str) -> Iterator[bytes]:
    """The content of a binary stream in blocks of bytes, decompressed according to the suffix of
    `name`.
    """
    import gzip
    import io

    from scant.data import lzw

    with _corruption(origin):
        if name.endswith(".gz"):
            stream = gzip.GzipFile(fileobj=stream)
        elif name.endswith(".Z"):
            stream = io.BytesIO(lzw.decompress(stream.read(LZW + 1), LZW))
    while True:
        with _corruption(origin):
            block = stream.read(1 << 20)
        if not block:
            return
        yield block


def _copy(stream, name: str, output: Path, origin: str, packed: Callable[[], int]) -> None:
    """Write the decompressed content of a binary stream to `output`.

    packed : gives how many bytes have been decompressed so far
    """
    size = 0
    with open(output, "wb") as file:
        for block in _blocks(stream, name, origin):
            size += len(block)
            if size > (limit := _limit(packed())):
                raise DataError(
                    origin, f"decompresses to more than {limit:,} bytes", advice=TOO_MUCH
                )
            file.write(block)


TOO_MUCH = "Get the file again; if it is right, decompress it yourself"


def _limit(packed: int) -> int:
    """The largest size in bytes to which a file of `packed` bytes may decompress."""
    return min(LIMIT, max(FREE, RATIO * packed))


@contextmanager
def _corruption(origin, advice: str = "Get the file again") -> Iterator[None]:
    """Turn what decompressors raise on damaged input into a DataError."""
    try:
        yield
    except DAMAGE as error:
        raise DataError(origin, f"it is corrupt or cut short ({error})", advice=advice) from None


# Downloads


def _copy_url(request: _Request, url: str, absent: tuple = ()) -> str | None:
    path = request.output.with_name(f"{request.output.name}.download")
    try:
        if (packed := _download(url, path, request, absent)) is None:
            return None
        name = re.split("[?#]", url)[0].removesuffix(packed) + packed
        return _copy_file(request, path, origin=url, name=name)
    finally:
        path.unlink(missing_ok=True)


def _download(url: str, path: Path, request: _Request, absent: tuple = ()) -> str | None:
    """Download to `path`, in `ATTEMPTS` attempts at most. A failure may leave a part of the file
    there.

    Whatever a server or an address can have wrong is a DataError, in one line.

    Returns
    -------
    the suffix of the packing that the server has put around the file; None if it answers with one
    of the statuses `absent`. Some servers answer 403 for files that they do not have: then the log
    says so
    """
    import pooch
    from urllib3.exceptions import HTTPError

    check_address(request.dataset, request.part, url)
    request.log(f"{request.dataset.id}: downloading {url}")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with open(path, "wb") as file:
                limited = _Limited(file, url, request)
                options = {
                    "timeout": 60,
                    "headers": {"Accept-Encoding": "identity"},
                    "chunk_size": 1 << 20,
                }
                options["hooks"] = {"response": limited.begin}
                pooch.HTTPDownloader(sys.stderr.isatty(), **options)(url, limited, None)
            files.refuse_page(path, url, _how_to_place(request))
            return limited.packed
        except (OSError, ValueError, HTTPError) as error:
            if (status := getattr(getattr(error, "response", None), "status_code", None)) in absent:
                if status == 403:
                    request.log(
                        f"{request.dataset.id}: {_said(error)}. The mirror may lack it, or "
                        "refuse it"
                    )
                return None
            if attempt == ATTEMPTS:
                reason = f"the download failed: {_said(error)}"
                raise DataError(url, reason, advice=_how_to_place(request)) from None
            time.sleep(attempt)
    raise AssertionError


def _said(error: BaseException) -> str:
    """What is at the root of a failed download, in one line: some of it may be what a server
    said.
    """
    while error.__context__:
        error = error.__context__
    text = f"{type(error).__name__}: {error}"[:REASON]
    return "".join(letter if letter.isprintable() else "?" for letter in text)


class _Limited:
    """A file to write to: at most LIMIT bytes, as they were sent.

    What was packed on its way is so still.
    """

    def __init__(self, file, origin: str, request: _Request):
        self.file, self.origin, self.request, self.packed = file, origin, request, ""

    def begin(self, response, *args, **kwargs) -> None:
        """Look at an answer before its content: where redirects have led, and what it says of the
        content.
        """
        check_address(self.request.dataset, self.request.part, response.url, self.origin)
        if response.is_redirect and response.headers["location"]:
            return response.close()  # or its content would be read to the end, whatever its size
        response.raise_for_status()
        if response.status_code != 200:  # such as 206, a part of the file
            raise ValueError(f"the server answers with status {response.status_code}")
        # Without this header, what comes is written as it was sent.
        encoding = response.raw.headers.pop("content-encoding", "").strip().lower()
        if encoding not in ENCODINGS:
            raise ValueError(f"the server packs it by {encoding!r}")
        self.packed = ENCODINGS[encoding]
        if int(response.headers.get("content-length", 0)) > LIMIT:
            self.refuse()

    def write(self, block: bytes) -> None:
        if self.file.tell() + len(block) > LIMIT:
            self.refuse()
        self.file.write(block)

    def refuse(self) -> NoReturn:
        raise DataError(self.origin, f"the download has more than {LIMIT:,} bytes", advice=TOO_MUCH)

    def flush(self) -> None:
        self.file.flush()


def _cached_archive(request: _Request) -> Path:
    """The publisher's archive beside the target, downloaded once for all parts.

    Its name tells the address, and its checksum is looked at whenever it is read, so that another
    entry in the registry downloads it again.
    """
    archive, folder = request.dataset.archive, request.target.parent
    check_address(request.dataset, request.part, archive.url)
    path = folder / cache_name(request.dataset)
    with _locked(folder / f".{request.dataset.id}.lock"):
        if path.exists() and archive.sha256 not in (None, files.sha256(path)):
            request.log(f"{path}: its SHA-256 is not that of the registry: it is downloaded again")
            path.unlink()
        if not path.exists():
            with files.atomic(path) as partial:
                _download(archive.url, partial, request)
                _expect(
                    partial, "SHA-256", archive.sha256, files.sha256, archive.url, _rejected(path)
                )
    return path


def cache_name(dataset: Dataset) -> str:
    """The name of the file that keeps a data set's archive."""
    return f"{dataset.id}-{zlib.crc32(dataset.archive.url.encode()):08x}.archive"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, which is freed when the process ends, however it does.

    A link to elsewhere is not followed.
    """
    import fcntl

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise DataError(path, f"it cannot be a lock file ({error})", advice="Remove it") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class _Bounded:
    """A file to read from, never more than READ bytes at once, whatever the header of an archive
    says.
    """

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name: str):
        return getattr(self.file, name)

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size if 0 <= size <= READ else READ + 1)
        if len(data) > READ:
            raise ValueError(f"a header of more than {READ:,} bytes")
        return data


@contextmanager
def _member(path: Path, names: list[str], home: str) -> Iterator[tuple]:
    """The first of `names` in an archive: its name, a binary stream, and the size of the archive in
    bytes.

    Nothing else is unpacked, and no name in the archive is used as a path.
    """
    advice = "Delete it to download it again" + (
        f"; see {home} if the publisher changed it" if home else ""
    )
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        with _corruption(path, advice):
            if not zipfile.is_zipfile(file):
                raise DataError(path, "no zip archive", advice=advice)
            archive = stack.enter_context(zipfile.ZipFile(_Bounded(file)))
            members, opened = _zip_members(path, archive)
        name = next((name for name in names if name in members), None)
        if name is None:
            raise DataError(path, f"the archive has no {names[0]}", advice=advice)
        if members[name] is None:
            raise DataError(path, f"{name} is not a regular file in the archive", advice=advice)
        with _corruption(f"{name} in {path}", advice):
            stream = stack.enter_context(opened(members[name]))
        yield name, stream, path.stat().st_size


def _zip_members(path: Path, archive: zipfile.ZipFile) -> tuple[dict, Callable]:
    """The members of a zip by name, None if a member is no regular file; and a function that opens
    one.
    """
    if len(archive.filelist) > MEMBERS:
        raise DataError(path, f"the archive has more than {MEMBERS:,} members")
    limit = _limit(path.stat().st_size)

    def is_file(info: zipfile.ZipInfo) -> bool:
        file_type = info.external_attr >> 16 & 0o170000  # of Unix; 0 if none is recorded
        return not info.is_dir() and file_type in (0, 0o100000)

    def opened(info: zipfile.ZipInfo):
        # Other methods decompress without a limit on the bytes at once.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError(f"compression method {info.compress_type}; deflate is read")
        if info.file_size > limit:  # no more than this is read, whatever it is in truth
            raise DataError(
                path, f"{info.filename} decompresses to more than {limit:,} bytes", advice=TOO_MUCH
            )
        return archive.open(info)

    return {info.filename: info if is_file(info) else None for info in archive.filelist}, opened


# Checks


def _rejected(target: Path) -> Path:
    """The file that keeps content with a wrong checksum, which is to be replaced at its source."""
    return target.with_name(target.name + ".rejected")


def _verify(request: _Request, source: str, rejected: Path | None = None) -> str:
    """Check the content against the registry; return its SHA-256. See `_expect`."""
    part, output = request.part, request.output
    digest = _expect(output, "SHA-256", part.sha256, files.sha256, source, rejected)
    if part.git_blob is not None:
        _expect(output, "git blob id", part.git_blob, _git_blob, source, rejected)
    elif part.sha256 is None and not request.dataset.own:
        request.log(
            f"{request.dataset.id}/{part.id}: no checksum is published; this content has "
            f"SHA-256 {digest}"
        )
    return digest


def check_copy(dataset: Dataset, part: str, original) -> None:
    """Compare what `fetch` made with the registered checksums, or with the study's own file if it
    is a copy of one.
    """
    wanted = dataset.part(part)
    advice = (
        "Correct the file itself, not its copy, and delete the copy; the next run fetches it anew"
    )
    for name, key, measure in CHECKSUMS:
        expected = getattr(wanted, key)
        if expected is not None and (measured := measure(original)) != expected:
            reason = f"checksum mismatch: {dataset.id}/{part} has {name} {expected}, this file "
            raise DataError(original, reason + measured, advice=advice)
    source = Path(wanted.file)
    copied = (
        dataset.own
        and source.is_file()
        and source.suffix not in SUFFIXES[1:]
        and not source.samefile(original)
    )
    if copied and files.sha256(source) != files.sha256(original):
        raise DataError(original, f"it is no longer a copy of {source}", advice=advice)


def _expect(
    path: Path,
    checksum: str,
    expected: str | None,
    measure,
    source: str,
    rejected: Path | None = None,
) -> str:
    """The checksum of a file; a DataError if it is not the expected one.

    checksum : its name, for the error
    measure : the function that computes it
    rejected : where to keep a copy of ours with another checksum; None for a file of the user,
        which stays
    """
    measured = measure(path)
    if expected is None or measured == expected:
        return measured
    reason = f"checksum mismatch: expected {checksum} {expected}, found {measured}"
    advice = "Replace the file, or remove it"
    if rejected:
        path.replace(rejected)
        advice = (
            f"The content is kept as {rejected}; replace the file at its source, or remove it there"
        )
    raise DataError(source, reason, advice=advice)


def _git_blob(path: Path) -> str:
    """The id that git gives to a file's content: SHA-1 over a header with its size, then the
    content.
    """
    import hashlib

    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


CHECKSUMS = (("SHA-256", "sha256", files.sha256), ("git blob id", "git_blob", _git_blob))


# What to do by hand


def _how_to_get(request: _Request) -> str:
    dataset, part = request.dataset, request.part
    if dataset.own and not dataset.get:
        return f"{dataset.id}/{part.id}: there is no file {part.file}. {_how_to_place(request)}"
    return (
        f"{dataset.id}/{part.id} is not downloaded automatically. {dataset.get}. "
        f"{_how_to_place(request)}. Home: {dataset.home}. Terms: {dataset.terms}"
    )


def _how_to_place(request: _Request) -> str:
    place = f"{request.dataset.folder}/{request.part.file}"
    return (
        f"Put the file at {FOLDER}/{place}, or at {place} in a mirror (setting `data: mirror` or "
        "environment "
        f"variable SCANT_DATA); it may be compressed, with .gz or .Z appended to its name"
    )
