"""Everything that Numba compiles for the studies: the loops over rounds and what they are made of.

Numba keys its cache of compiled code by the path and time of the outer function's file, so an edit to an inner function
in another file would go unnoticed, and another clone of this repository would compile all loops again. Here compiled
code is cached in a folder named by the digest of all files here and of the versions of what compiles them: an edit to
any of them compiles anew, and clones with the same files share what one of them has compiled. Numba itself tells apart
what was compiled for other types or another processor.
"""

import hashlib
import os
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.dispatcher import Dispatcher
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


def _digest() -> str:
    digest = hashlib.sha256(repr((sys.version, numba.__version__, llvmlite.__version__, np.__version__)).encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _cache_root() -> Path:
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    with suppress(OSError, RuntimeError):  # there is no home, or nobody may write to it
        root = Path.home() / ".cache" / "scant"
        root.mkdir(parents=True, exist_ok=True)
        if os.access(root, os.W_OK):
            return root
    return Path(__file__).parent / "__pycache__"


DIGEST = _digest()
FOLDER = _cache_root() / f"numba-{DIGEST[:12]}"


class _Sound(IndexDataCacheFile):
    """Numba's files of one function's compiled code. Those that are damaged are made again, and a line says so.

    A file of code has the CRC-32 of its content at its end, which Numba does not read: damaged code could do anything.
    """

    def save(self, key, data):
        """Save code in a file named by its key.

        Numba numbers files, so that two processes that save at once may both write the same one.
        """
        overloads = self._load_index()
        overloads[key] = self._data_name(zlib.crc32(repr(key).encode()))
        self._save_index(overloads)
        self._save_data(overloads[key], data)

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


class _Locator(_CacheLocator):
    def __init__(self, function):
        self.line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)

    def get_cache_path(self):
        return str(FOLDER)

    def get_source_stamp(self):
        return DIGEST

    def get_disambiguator(self):
        return str(self.line)


class _Files(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    _impl_class = _Files

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = _Sound(self.cache_path, self._impl.filename_base, DIGEST)


def compiled(**options):
    """`numba.njit` that caches in the folder above.

    Both options of arithmetic are always set. A function without them would take them from the first function that
    calls it, and its last bits would depend on what had been compiled before.
    """
    options = {"fastmath": False, "error_model": "python", "no_cfunc_wrapper": True} | options

    def decorate(function):
        loop = numba.njit(**options)(function)
        if isinstance(loop, Dispatcher):  # else Numba is told not to compile
            loop._cache = _Cache(function)
        return loop

    return decorate
