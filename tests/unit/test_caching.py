"""Compiled code is private, is read as it was written, and is of one's own settings."""

import os
import pickle
import re
import resource
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from scant import kernels
from scant.errors import SettingError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
SOMEBODY = 12345
NAME = "numba-0123456789ab"


@pytest.fixture(autouse=True)
def each_line_is_new():
    kernels._say.cache_clear()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The folder that NUMBA_CACHE_DIR names, which is not there yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home, whose cache is not there yet, with no NUMBA_CACHE_DIR."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of compiled code, empty."""
    path = tmp_path / "compiled"
    path.mkdir(0o700)
    monkeypatch.setattr(kernels, "FOLDER", path)
    return path


def doubling():
    """A loop that has not been compiled or loaded; every time with the same key."""

    @kernels.compiled()
    def double(x):
        return 2 * x

    return double


def hits() -> int:
    """How often the loop was loaded, and not compiled."""
    loop = doubling()
    assert loop(1.5) == 3
    return sum(loop.stats.cache_hits.values())


def modes(folder):
    return {path.stat().st_mode & 0o7777 for path in folder.rglob("*")}


# --- where
@pytest.mark.parametrize("base", ["root", "home"])
def test_folders_are_made_for_their_user_alone(base, request, no_umask):
    request.getfixturevalue(base)
    folder = kernels._folder(NAME)
    assert folder.is_dir() and kernels._folder(NAME) == folder
    assert modes(request.getfixturevalue("tmp_path")) == {0o700}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
@pytest.mark.parametrize("inside", ["", NAME])
def test_a_folder_that_others_can_write_to_is_refused(root, inside, mode):
    planted = root / inside
    planted.mkdir(0o700, parents=True)
    planted.chmod(mode)
    with pytest.raises(
        SettingError, match=rf"^{re.escape(str(planted))} can be written to by others"
    ):
        kernels._folder(NAME)


@as_root
@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("inside", ["", NAME])
def test_what_somebody_else_has_made_is_refused(root, inside, link, tmp_path):
    """Also a link to a folder of one's own: it need not stay one."""
    planted = root / inside
    planted.parent.mkdir(0o700, exist_ok=True)
    if link:
        (tmp_path / "own").mkdir(0o700)
        planted.symlink_to(tmp_path / "own")
    else:
        planted.mkdir(0o700)
    os.chown(planted, SOMEBODY, SOMEBODY, follow_symlinks=False)
    with pytest.raises(SettingError, match=rf"^{re.escape(str(planted))} belongs to somebody else"):
        kernels._folder(NAME)


def test_a_job_goes_on_without_a_default_folder_that_is_unsafe(home, no_umask, capsys):
    (home / ".cache/scant" / NAME).mkdir(parents=True)
    assert kernels._folder(NAME) is kernels._folder(NAME) is None
    [line] = capsys.readouterr().err.splitlines()
    assert "can be written to by others" in line and "NUMBA_CACHE_DIR" in line
    assert "is not kept" in line


# --- what
def test_what_is_compiled_is_loaded(folder):
    assert [hits(), hits()] == [0, 1]


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def one_bit(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [None, half, one_bit])
def test_what_is_kept_can_be_loaded_before_it_is_called(folder, monkeypatch, damage):
    hits()
    if damage:
        [path] = folder.iterdir()
        path.write_bytes(damage(path.read_bytes()))
    loop = doubling()
    monkeypatch.setattr(kernels, "LOOPS", [loop])
    kernels.load()
    assert len(loop.overloads) == sum(loop.stats.cache_hits.values()) == (not damage)


class Trap:
    """A pickle that makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def sealed(content: bytes) -> bytes:
    return content + kernels.SEALED + zlib.crc32(content).to_bytes(4)


@pytest.mark.parametrize("damage", [half, one_bit, lambda content: b""])
def test_damaged_code_is_made_again_with_a_line_that_says_so(folder, capsys, damage):
    hits()
    [path] = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert hits() == 0
    assert (
        f"{path}: compiled code cannot be used (its CRC-32 is missing or wrong), and is made again"
    ) in (capsys.readouterr().err)
    assert hits() == 1


@pytest.mark.parametrize(
    "plant",
    ["unsealed", "open to others", "link", "pipe", pytest.param("somebody else's", marks=as_root)],
)
def test_nothing_is_unpickled_that_one_has_not_sealed_oneself(folder, tmp_path, capsys, plant):
    hits()
    [path] = folder.iterdir()
    sprung, trap = tmp_path / "sprung", pickle.dumps(Trap(tmp_path / "sprung"))
    path.write_bytes(sealed(trap))
    assert hits() == 0
    assert sprung.exists()  # one's own is read
    sprung.unlink()
    capsys.readouterr()
    path.write_bytes(trap if plant == "unsealed" else sealed(trap))
    if plant == "open to others":
        path.chmod(0o602)
    elif plant == "link":
        path.symlink_to(path.rename(tmp_path / "elsewhere"))
    elif plant == "pipe":  # nobody writes to it
        path.unlink()
        os.mkfifo(path, 0o600)
    elif plant == "somebody else's":
        os.chown(path, SOMEBODY, SOMEBODY)
    assert hits() == 0
    assert not sprung.exists()
    assert "and is made again" in capsys.readouterr().err
    assert hits() == 1
    assert capsys.readouterr().err == "" and modes(folder) == {0o600}


def test_a_job_goes_on_if_nothing_can_be_written(folder, capsys):
    """As with a full disk: a write fails half-way.

    Nothing half-written stays, and one line says so.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        assert [hits(), hits()] == [0, 0]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    [line] = capsys.readouterr().err.splitlines()
    assert "cannot be kept (File too large)" in line
    assert [*folder.iterdir()] == []


def test_code_that_holds_addresses_is_not_kept(folder, capsys):
    """Numba does not copy so large an array, and with NUMBA_OPT=0 calls functions by address."""
    large = np.ones(1 << 17)

    @kernels.compiled()
    def first():
        return large[0]

    assert first() == 1
    assert [*folder.iterdir()] == [] and "is not kept" in capsys.readouterr().err


# --- for whom
PROCESSOR = ("x86_64-pc-linux-gnu", "rocketlake", "+avx2,+fma")


def path_for(processor=PROCESSOR):
    return doubling()._cache.path((numba.float64,), SimpleNamespace(magic_tuple=lambda: processor))


CHANGE_CODE = ("BOUNDSCHECK", "CPU_FEATURES", "CPU_NAME", "DEBUGINFO_DEFAULT")
CHANGE_CODE += ("DEBUG_ARRAY_OPT_RUNTIME", "DEBUG_NRT", "DISABLE_INTEL_SVML", "ENABLE_AVX")
CHANGE_CODE += ("EXTEND_VARIABLE_LIFETIMES", "LLVM_REFPRUNE_FLAGS", "LLVM_REFPRUNE_PASS")
CHANGE_CODE += ("LOOP_VECTORIZE", "NRT_STATS", "OPT", "PARFOR_MAX_TUPLE_SIZE", "SLP_VECTORIZE")
CHANGE_CODE += ("USING_SVML",)


def test_each_setting_that_changes_code_has_its_own_files(folder, monkeypatch):
    paths = {path_for()}
    for setting in CHANGE_CODE:
        with monkeypatch.context() as changed:
            changed.setattr(numba.config, setting, not getattr(numba.config, setting))
            paths.add(path_for())
    assert len(paths) == 1 + len(CHANGE_CODE)


LOADING = """
import numpy as np
from scant.kernels import pieces
weights = np.random.default_rng(1).standard_normal((400, 37))
for row in weights:
    pieces.project(row, 1.0)
print(weights.tobytes().hex())
"""


def load(cache, source=None, code=LOADING):
    """Run code that loads a loop, of the package in the folder `source`, if any."""
    environment = (
        os.environ
        | {"NUMBA_CACHE_DIR": str(cache)}
        | ({"PYTHONPATH": str(source)} if source else {})
    )
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )


@pytest.mark.slow
def test_clones_share_what_is_compiled_until_a_source_differs(tmp_path):
    cache = tmp_path / "cache"
    first = load(cache)
    compiled = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}
    copy = tmp_path / "clone" / "scant"
    shutil.copytree(
        Path(kernels.__file__).parents[1], copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    for path in copy.rglob("*.py"):
        os.utime(path)
    where = "\nimport scant; print(scant.__file__)"
    again = load(cache, copy.parent, LOADING + where)
    assert again.stdout == first.stdout + f"{copy / '__init__.py'}\n"
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")} == compiled != {}
    with (copy / "kernels" / "cells.py").open("a") as source:
        source.write("# another line\n")
    load(cache, copy.parent)
    assert len(list(cache.rglob("*.nbc"))) == 2 * len(compiled)


def test_loops_are_played_where_numba_is_told_not_to_compile():
    code = "from scant.rankers import toys; toys.play()"
    subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=True
    )
