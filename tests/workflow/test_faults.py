"""What breaks ends in the right results or in a clear message, and no later run trusts what is wrong.

docs/faults.md has the table of what was tried; tests/cluster has the faults of a cluster.
"""

import subprocess

import pytest

pytestmark = pytest.mark.slow

TRACES = "results/tiny/traces/perceptron-released.parquet"
FOLDER = "runs/perceptron-released/separable-released"
RUN, STREAM = f"{FOLDER}/listnet/seed-0-1.parquet", "streams/separable-released/seed-0.arrow"
# A learner that fails as the file `trouble` says, where there is one.
TROUBLED = """
import os, signal
from pathlib import Path

import numpy as np


class Troubled:
    def __init__(self, features, rate, random):
        self.random = random
        trouble = Path("trouble")
        if trouble.exists() and trouble.read_text() == "too much":
            np.ones(1 << 50)
        if trouble.exists():
            os.kill(os.getpid(), signal.SIGKILL)  # what the kernel does where memory runs out

    def rank(self, features):
        return self.random.permutation(len(features))

    def learn(self, features, grades, ranking):
        return False
"""


@pytest.fixture
def fresh(finished):
    """The project without results, but with compiled code."""
    finished.forget()
    return finished


def ends_right(project):
    """That a run to the traces succeeds, and that all there is then is as an undisturbed run makes it."""
    project.snakemake(TRACES, "--cores", 2)
    digests = project.digests()
    assert {RUN, STREAM, TRACES.removeprefix("results/tiny/")} <= digests.keys()
    assert digests.items() <= project.reference.items()


def hidden(project):
    """What a job was writing when it ended, if it is still there."""
    return [path for path in (project.folder / "results").rglob(".*") if path.name != ".snakemake_timestamp"]


@pytest.fixture
def disk(fresh, tmp_path):
    """A file system of its own, of 8 MB, for the results and for all that Snakemake writes."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a file system takes root to mount: {done.stderr.strip()}")
    try:
        for name in ("results", ".snakemake"):
            (place / name).mkdir()
            (fresh.folder / name).symlink_to(place / name)
        yield place
    finally:
        for name in ("results", ".snakemake"):
            (fresh.folder / name).unlink(missing_ok=True)
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("left", [0, 4, 64, 256, 512])
def test_a_full_disk(fresh, disk, left):
    with open(disk / "ballast", "wb") as ballast:
        ballast.write(bytes(8_000_000 - 1024 * left))
        with pytest.raises(OSError):
            while True:
                ballast.write(bytes(4096))
                ballast.flush()
        ballast.truncate(ballast.tell() // 4096 * 4096 - 1024 * left)
    printed = fresh.snakemake(TRACES, "--cores", 2, ok=False)
    assert "No space left on device" in printed
    assert "Traceback" not in printed
    assert fresh.digests().items() <= fresh.reference.items()
    assert not hidden(fresh)
    (disk / "ballast").unlink()
    fresh.snakemake("--unlock")
    ends_right(fresh)
