"""Everything that Numba compiles for the studies: the loops over rounds and what they are made of.

Numba keys its cache of compiled code by the path and time of the outer function's file, so an edit
to an inner function in another file would go unnoticed, and another clone of this repository would
compile all loops again. Here compiled code is cached in a folder named by the digest of all files
here and of the versions of what compiles them: an edit to any of them compiles anew, and clones
with the same files share what one of them has compiled. A file of it is named by the function, the
types, the processor and Numba's settings.

Compiled code is run as it is read, so it is read only where nobody but its user, or root, can have
put it.
"""

import hashlib
import os
import pickle
import stat
import sys
import tempfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.np import linalg

from scant.errors import SettingError

SEALED = b"scant-crc32:"  # what precedes the CRC-32 at the end of a file of compiled code

# settings of Numba that change no code
UNLIKE = {"CACHE_DIR", "NUMBA_DEFAULT_NUM_THREADS", "NUMBA_NUM_THREADS"}


def _skip_blas() -> None:
    """Have Numba load its array functions without a look at SciPy's BLAS.

    Numba does so with the first compiled function that it loads, and imports scipy.linalg for it,
    which costs every run a sixth of a second. The loops use no linear algebra; code that does has
    SciPy looked at when it is compiled.
    """
    check, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        from numba.np import arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = check


_skip_blas()


def _digest() -> str:
    digest = hashlib.sha256(
        repr((sys.version, numba.__version__, llvmlite.__version__, np.__version__)).encode()
    )
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


@cache
def _say(text: str) -> None:
    """Print a line, once."""
    print(f"scant: {text}", file=sys.stderr)


def _distrust(about: os.stat_result) -> str:
    """Why somebody else may have put something into a file or folder; empty if nobody but its user
    or root can have.
    """
    if about.st_uid not in (os.geteuid(), 0):
        return "belongs to somebody else"
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not stat.S_ISLNK(about.st_mode):
        return "can be written to by others"
    return ""


def _make(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its user alone."""
    if not folder.exists():
        _make(folder.parent)
        folder.mkdir(0o700, exist_ok=True)


def _folder(name: str) -> Path | None:
    """Make the folder of compiled code; None, with a line that says so, if there is none to be had.

    The user has not chosen the default folder, and a job does well without it: it goes on if that
    one is unsafe.

    Raises
    ------
    SettingError : others can write to the folder that is set, or have made it
    """
    chosen = numba.config.CACHE_DIR
    try:
        root = Path(chosen).absolute() if chosen else Path.home() / ".cache" / "scant"
        for folder in (root, root / name):
            _make(folder)
            if folder == root and not chosen and root.stat().st_uid == os.geteuid():
                root.chmod(0o700)  # earlier versions left that to the umask
            for about in (folder.lstat(), folder.stat()):
                if reason := _distrust(about):
                    raise SettingError(
                        f"{folder} {reason}, whose code would be run as yours: set "
                        "NUMBA_CACHE_DIR to a folder that you alone can write to (chmod 700)"
                    )
        return root / name
    except SettingError as error:
        if chosen:
            raise
        _say(f"{error.text}. Until then compiled code is not kept")
    except (OSError, RuntimeError) as error:  # it cannot be made, or there is no home
        _say(
            f"compiled code is not kept ({error}): set NUMBA_CACHE_DIR to a folder that you can "
            "write to"
        )
    return None


FOLDER = _folder(f"numba-{_digest()[:12]}")
LOOPS = []  # all that are cached, of the modules that have been imported


def _unsealed(path: Path) -> bytes:
    """The content of a file of compiled code.

    Raises
    ------
    ValueError : its seal is missing or wrong, or somebody else may have written it
    OSError : it is not there, cannot be read, or is a link
    """
    # a pipe may have no other end
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        about = os.fstat(file.fileno())
        if reason := _distrust(about) or (
            "" if stat.S_ISREG(about.st_mode) else "is no plain file"
        ):
            raise ValueError(f"it {reason}")
        content, mark, crc = file.read().rpartition(SEALED)
    if not mark or crc != zlib.crc32(content).to_bytes(4):
        raise ValueError("its CRC-32 is missing or wrong")
    return content


class _Cache(FunctionCache):
    """The compiled code of one function, in a sealed file for each of its keys.

    Numba's own cache has an index beside them, and trusts both: damaged code could do anything, and
    so could a pickle.
    """

    def __init__(self, function):
        self._py_func, self._cache_path = function, str(FOLDER)
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    def path(self, sig, codegen) -> Path:
        """The file of the code for some types of arguments."""
        settings = sorted(
            (name, repr(value))
            for name, value in vars(numba.config).items()
            if name.isupper() and name not in UNLIKE
        )
        function = self._py_func
        key = repr(
            (self._index_key(sig, codegen), function.__code__.co_firstlineno, settings)
        ).encode()
        return FOLDER / f"{self.name}.{hashlib.sha256(key).hexdigest()[:16]}.nbc"

    def load_overload(self, sig, target_context):
        """What was compiled for a signature, or None."""
        target_context.refresh()
        path = self.path(sig, target_context.codegen())
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(_unsealed(path)))
        except FileNotFoundError:
            pass
        except OSError as error:
            _say(f"{FOLDER}: compiled code cannot be read ({error.strerror}), and is made again")
        except Exception as error:  # of any kind, since it is what reading anything can end in
            _say(f"{path}: compiled code cannot be used ({error}), and is made again")
        return None

    def save_overload(self, sig, data):
        """Keep what was compiled for a signature, if it can be kept."""
        if data.library.has_dynamic_globals:
            return _say("compiled code that holds addresses, as with NUMBA_OPT=0, is not kept")
        content, path = dumps(data._reduce()), self.path(sig, data.codegen)
        try:
            handle, name = tempfile.mkstemp(dir=FOLDER, prefix=f"{path.name}.tmp.")
            temporary = Path(name)
            try:
                with open(handle, "wb") as file:
                    file.write(content + SEALED + zlib.crc32(content).to_bytes(4))
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            _say(
                f"{FOLDER}: compiled code cannot be kept ({error.strerror}): the job goes on "
                "without"
            )


def compiled(**options):
    """`numba.njit` that caches in the folder above.

    Both options of arithmetic are always set. A function without them would take them from the
    first function that calls it, and its last bits would depend on what had been compiled before.
    """
    options = {"fastmath": False, "error_model": "python", "no_cfunc_wrapper": True} | options

    def decorate(function):
        loop = numba.njit(**options)(function)
        # there is none where Numba is told not to compile
        if FOLDER and isinstance(loop, Dispatcher):
            loop._cache = _Cache(function)
            LOOPS.append(loop)
        return loop

    return decorate


def load() -> None:
    """Load the kept machine code of the loops of all imported modules.

    A file that cannot be used is skipped: the loop is compiled when it is called.
    """
    files = {}  # by the name of the loop
    for path in FOLDER.glob("*.nbc") if FOLDER else ():
        files.setdefault(path.name.rsplit(".", 2)[0], []).append(path)
    for loop in LOOPS:
        for path in files.get(loop._cache.name, ()):
            with suppress(Exception):
                types = tuple(pickle.loads(_unsealed(path))[3].args)
                if loop._cache.path(types, loop.targetctx.codegen()) == path:
                    loop.compile(types)
