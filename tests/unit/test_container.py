"""The recipes of the container: both make the same image, of the lock file with its hashes.

No image is built here.
"""

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE, APPTAINER = (ROOT / "Dockerfile").read_text(), (ROOT / "scant.def").read_text()


def instructions(name):
    """The arguments of each instruction of the Dockerfile called so."""
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, re.M)


def section(name):
    """The lines of a section of the Apptainer recipe."""
    [body] = re.findall(rf"^%{name}\n(.*?)(?=^%|\Z)", APPTAINER, re.M | re.S)
    return [
        line.strip()
        for line in body.splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]


def copied():
    """What the Dockerfile copies, and to where."""
    for line in instructions("COPY"):
        *sources, target = line.split()
        yield from ((source, f"/scant/{source}") for source in sources)
        assert target in ("./", *sources)


def test_both_recipes_copy_the_same_files():
    assert sorted(copied()) == sorted(tuple(line.split()) for line in section("files"))


def test_what_builds_is_taken_from_the_lock():
    [command] = [line for line in instructions("RUN") if line.startswith("sed")]
    made = subprocess.run(
        command.partition(" >")[0], shell=True, cwd=ROOT, capture_output=True, text=True, check=True
    )
    head, *hashes = [line.strip() for line in made.stdout.split("\\\n")]
    assert re.fullmatch(r"setuptools==[0-9.]+", head) and hashes
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes)


def test_what_is_copied_is_there_and_not_ignored():
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line]
    assert ignored[0] == "*"
    for source, _ in copied():
        assert (ROOT / source).exists() and f"!{source}" in ignored
    assert not {line[1:] for line in ignored if line.startswith("!")} - {
        source for source, _ in copied()
    }
    assert any(fnmatch("src/scant/__pycache__", line) for line in ignored)


def test_the_container_is_not_roots_and_what_is_compiled_is_kept_in_its_users_home():
    assert [*instructions("USER")][-1] != "root"
    assert any("HOME=/tmp " in line for line in instructions("ENV"))
    assert "NUMBA_CACHE_DIR" not in DOCKERFILE + "".join(section("environment"))
