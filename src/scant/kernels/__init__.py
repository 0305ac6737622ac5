"""Everything that Numba compiles for the studies: the loops over rounds and what they are made of.

Numba keys its cache of compiled code by the file of the outer function alone, so an edit to an inner function
in another file would go unnoticed. Compiled code is therefore cached in a folder named by the digest of all
files here: an edit to any of them compiles anew.
"""

import hashlib
import os
import sys
import zlib
from pathlib import Path

import numba
from numba.core.caching import IndexDataCacheFile
from numba.np import linalg

SEALED = b"scant-crc32:"  # what precedes the CRC-32 in a file of compiled code


def _skip_blas() -> None:
    """Have Numba load its array functions without a look at SciPy's BLAS.

    Numba does so with the first compiled function that it loads, and imports scipy.linalg for it, which takes every run
    a sixth of a second. The loops use no linear algebra; code that does has SciPy looked at when it is compiled.
    """
    found, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        from numba.np import arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = found


_skip_blas()


def _cache_folder() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    beside = Path(__file__).parent / "__pycache__"
    if numba.config.CACHE_DIR:
        root = Path(numba.config.CACHE_DIR)
    elif os.access(beside if beside.exists() else beside.parent, os.W_OK):
        root = beside
    else:
        root = Path.home() / ".cache" / "scant"
    return str(root / f"numba-{digest.hexdigest()[:12]}")


FOLDER = _cache_folder()


class _Sound(IndexDataCacheFile):
    """Numba's files of one function's compiled code. Those that are damaged are made again, and a line says so.

    A file of code has the CRC-32 of its content at its end, which Numba does not read: damaged code could do anything.
    """

    def _dump(self, obj) -> bytes:
        content = super()._dump(obj)
        return content + SEALED + zlib.crc32(content).to_bytes(4)

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception as error:  # of any kind, since it is what reading anything can end in
            self._say(self._index_path, error)
            return {}

    def _load_data(self, name):
        path = self._data_path(name)
        content, mark, crc = Path(path).read_bytes().rpartition(SEALED)
        try:
            if mark and crc != zlib.crc32(content).to_bytes(4):
                raise ValueError("another CRC-32")
            return super()._load_data(name)
        except Exception as error:
            self._say(path, error)
            raise OSError(path) from None  # which Numba takes for a file that is not there

    @staticmethod
    def _say(path, error: Exception) -> None:
        print(f"scant: {path}: compiled code is damaged ({error}), and is made again", file=sys.stderr)


def sound(function):
    """A compiled function of which damaged files in the cache are made again."""
    if hasattr(function, "_cache"):  # else Numba is told not to compile
        function._cache._cache_file.__class__ = _Sound
    return function


def compiled(**options):
    """`numba.njit` that caches in this package's own folder.

    An option that a function does not have it would inherit from whichever function happens to call it first, so that
    its last bits would depend on what is compiled, and run, before.
    """
    options = {"fastmath": False, "error_model": "python"} | options

    def decorate(function):
        saved, numba.config.CACHE_DIR = numba.config.CACHE_DIR, FOLDER
        try:
            return sound(numba.njit(cache=True, **options)(function))
        finally:
            numba.config.CACHE_DIR = saved

    return decorate
