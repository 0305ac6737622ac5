"""Get one original file of a data set: find or download it, decompress it, check it."""

import os
import shutil
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from scant import files
from scant.data.registry import Dataset, Part, check_address
from scant.errors import DataError, SettingError, printable
from scant.schema import of_project

FOLDER = "data"  # the project's own data folder, below the working directory
SUFFIXES = ("", ".gz", ".Z")  # a file may be stored plain or compressed
ATTEMPTS = 3  # to download a file
REASON = 200  # characters that an error shows of what a server said

# What decompressors and readers of archives raise on damaged input; gzip raises OSError.
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    RuntimeError,
    OverflowError,
    zlib.error,
    struct.error,
    zipfile.BadZipFile,
)


def fetch(dataset: Dataset, part: str, target, mirror: str | None = None, log=print) -> str:
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
    mirror : folder of a mirror; by default the environment variable SCANT_DATA
    log : a function that takes lines of text about progress

    Returns
    -------
    source : the path or URL used
    """
    wanted, target = dataset.part(part), Path(target)
    here = on_disk(dataset, wanted, mirror or os.environ.get("SCANT_DATA"))
    if here and here.suffix not in SUFFIXES[1:]:
        source, digest = str(here), check_content(wanted, here, here)
        files.link(target, here)
    else:
        with files.atomic(target) as output:
            if here:
                source = str(here)
                with _corruption(here), open(here, "rb") as stream:
                    _decompress(stream, here.name, output)
            elif not downloadable(dataset, wanted):
                raise SettingError(_how_to_get(dataset, wanted))
            elif wanted.url:
                source = wanted.url
                with files.hidden(target, ".download") as packed:
                    _download(source, packed, dataset, wanted, log)
                    with _corruption(source), open(packed, "rb") as stream:
                        _decompress(stream, urlsplit(source).path, output)
            else:
                source = _from_archive(dataset, wanted, target.parent, output, log)
            digest = check_content(wanted, output, source)
    log(f"{dataset.id}/{wanted.id}: from {source}, with SHA-256 {digest}")
    return source


def on_disk(dataset: Dataset, part: Part, mirror: str | None = None) -> Path | None:
    """The file of a part that is on this machine, plain or compressed; None if there is none.

    mirror : the folder of a mirror
    """
    if part.package is not None:
        return _in_package(dataset, part.package)
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


def _decompress(stream, name: str, output: Path) -> None:
    """Write the content of a binary stream to `output`, decompressed as the suffix of `name`
    says.
    """
    import gzip
    import io
    import subprocess

    if name.endswith(".gz"):
        stream = gzip.GzipFile(fileobj=stream)
    elif name.endswith(".Z"):  # which Python does not read, and the program gzip does
        done = subprocess.run(["gzip", "-dc"], input=stream.read(), capture_output=True)
        if done.returncode:
            raise ValueError(printable(done.stderr.decode().strip()))
        stream = io.BytesIO(done.stdout)
    with open(output, "wb") as file:
        shutil.copyfileobj(stream, file)


@contextmanager
def _corruption(origin, advice: str = "Get the file again") -> Iterator[None]:
    """A context that turns what decompressors raise on damaged input into a DataError."""
    try:
        yield
    except DAMAGE as error:
        raise DataError(origin, f"it is corrupt or cut short ({error})", advice=advice) from None


# Downloads


def _download(url: str, path: Path, dataset: Dataset, part: Part, log: Callable) -> None:
    """Download to `path`, in `ATTEMPTS` attempts at most. A failure may leave a part of the file
    there.

    Whatever a server or an address can have wrong is a DataError, in one line.
    """
    import pooch
    from urllib3.exceptions import HTTPError

    def check(response, **_) -> None:  # also where redirects lead
        check_address(dataset, part, response.url, url)

    download = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=1 << 20,
        timeout=60,
        headers={"Accept-Encoding": "identity"},
        hooks={"response": check},
    )
    log(f"{dataset.id}: downloading {url}")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            download(url, path, None)
            return files.refuse_page(path, url, _how_to_place(dataset, part))
        except (OSError, ValueError, HTTPError) as error:
            if attempt == ATTEMPTS:
                reason = f"the download failed: {printable(error)[:REASON]}"
                raise DataError(url, reason, advice=_how_to_place(dataset, part)) from None
            time.sleep(attempt)
    raise AssertionError


def _from_archive(dataset: Dataset, part: Part, folder: Path, output: Path, log: Callable) -> str:
    """Write the content of a part from the publisher's archive, which is downloaded into `folder`
    once for all parts, to `output`; returns the archive's address and the file's name in it.
    """
    path = _archive(dataset, part, folder, log)
    names = [dataset.archive.members + part.file + suffix for suffix in SUFFIXES]
    advice = "Delete it to download it again" + (
        f"; see {dataset.home} if the publisher changed it" if dataset.home else ""
    )
    with _corruption(path, advice), zipfile.ZipFile(path) as archive:
        name = next((name for name in names if name in archive.namelist()), None)
        if name is None:
            raise DataError(path, f"the archive has no {names[0]}", advice=advice)
        with archive.open(name) as stream:
            _decompress(stream, name, output)
    return f"{dataset.archive.url} ({name})"


def _archive(dataset: Dataset, part: Part, folder: Path, log: Callable) -> Path:
    """The publisher's archive in a folder, downloaded if it is not there.

    Its name is made of the address, so that it is downloaded again if that changes in the registry;
    its checksum is compared whenever it is read.
    """
    import fcntl

    archive, path = dataset.archive, folder / cache_name(dataset)
    with open(folder / f".{dataset.id}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists() and archive.sha256 not in (None, files.sha256(path)):
            log(f"{path}: its SHA-256 is not that of the registry: it is downloaded again")
            path.unlink()
        if not path.exists():
            with files.atomic(path) as partial:
                _download(archive.url, partial, dataset, part, log)
                _check_sum("SHA-256", archive.sha256, files.sha256(partial), archive.url)
    return path


def cache_name(dataset: Dataset) -> str:
    """The name of the file that keeps a data set's archive."""
    return f"{dataset.id}-{zlib.crc32(dataset.archive.url.encode()):08x}.archive"


# Checks


def check_content(part: Part, path, source) -> str:
    """Compare the content of a file with the registered checksums; return its SHA-256.

    source : where it is from, for the error
    """
    digest = files.sha256(path)
    _check_sum("SHA-256", part.sha256, digest, source)
    if part.git_blob is not None:
        _check_sum("git blob id", part.git_blob, _git_blob(path), source)
    return digest


def _check_sum(name: str, expected: str | None, measured: str, source) -> None:
    """Raise a DataError for a checksum that is not the expected one, if there is one.

    name : of the kind of checksum, "sha256"; source : where the content is from
    """
    if expected not in (None, measured):
        reason = f"checksum mismatch: expected {name} {expected}, found {measured}"
        raise DataError(source, reason, advice="Replace the file, or remove it")


def _git_blob(path) -> str:
    """The id that git gives to a file's content: SHA-1 over a header with its size, then the
    content.
    """
    import hashlib

    content = Path(path).read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


# What to do by hand


def _how_to_get(dataset: Dataset, part: Part) -> str:
    place = _how_to_place(dataset, part)
    if dataset.own and not dataset.get:
        return f"{dataset.id}/{part.id}: there is no file {part.file}. {place}"
    return (
        f"{dataset.id}/{part.id} is not downloaded automatically. {dataset.get}. {place}. "
        f"Home: {dataset.home}. Terms: {dataset.terms}"
    )


def _how_to_place(dataset: Dataset, part: Part) -> str:
    place = f"{dataset.folder}/{part.file}"
    return (
        f"Put the file at {FOLDER}/{place}, or at {place} in a mirror (setting `data: mirror` or "
        "environment variable SCANT_DATA); it may be compressed, with .gz or .Z appended to its "
        "name"
    )
