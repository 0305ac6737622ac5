"""Everything that Numba compiles for the studies: the loops over rounds and what they are made of.

Numba keys its cache of compiled code by the file of the outer function alone, so an edit to an inner function
in another file would go unnoticed. Compiled code is therefore cached in a folder named by the digest of all
files here: an edit to any of them compiles anew.
"""

import hashlib
import os
from pathlib import Path

import numba
from numba.np import linalg


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


def compiled(**options):
    """`numba.njit` that caches in this package's own folder."""

    def decorate(function):
        saved, numba.config.CACHE_DIR = numba.config.CACHE_DIR, FOLDER
        try:
            return numba.njit(cache=True, **options)(function)
        finally:
            numba.config.CACHE_DIR = saved

    return decorate
