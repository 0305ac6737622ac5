"""What breaks ends in the right results or in a clear message, and no later run trusts what is
wrong.

docs/safety.md has the table of what was tried; tests/cluster has the faults of a cluster.
"""

import os
import re
import subprocess
import time

import pytest

pytestmark = pytest.mark.slow
FOLDER = "runs/perceptron-released/separable-released"
RUN, STREAM = f"{FOLDER}/listnet/seed-0-1.parquet", "streams/separable-released/0-1/seed-0.arrow"
RUNS = [f"results/tiny/{RUN}", f"results/tiny/{FOLDER}/slam-ndcg@10/seed-0-1.parquet"]
TABLE = "results/tiny/tables/finals.csv"  # which reads these runs
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


def ends_right(project, *arguments):
    """It succeeds now, and all there is is as an undisturbed run makes it; by default the runs."""
    project.snakemake(*(arguments or RUNS), "--cores", 2)
    digests = project.digests()
    assert {RUN, STREAM} <= digests.keys()
    assert digests.items() <= project.reference.items()


def hidden(project):
    """What a job was writing when it ended, if it is still there."""
    return [
        path
        for path in (project.folder / "results").rglob(".*")
        if path.name != ".snakemake_timestamp"
    ]


@pytest.fixture
def disk(fresh, tmp_path):
    """A file system of its own, of 8 MB, for the results and for all that Snakemake writes."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True, text=True
    )
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


@pytest.mark.parametrize("left", [0, 16, 64])
def test_a_full_disk(fresh, disk, left):
    """With so many KB free, each of which ends elsewhere: in Snakemake, a stream, a run."""
    fill(disk / "ballast", left)
    printed = fresh.snakemake(*RUNS, "--cores", 2, ok=False)
    print(printed)
    assert "No space left on device" in printed
    assert fresh.digests().items() <= fresh.reference.items()
    (disk / "ballast").unlink()
    ends_right(fresh)
    assert not hidden(fresh)


def fill(path, left):
    """Fill a disk but for so many KB."""
    with open(path, "wb", buffering=0) as file:
        while os.statvfs(path).f_bavail:
            file.write(bytes(4096))
        file.truncate(file.tell() - 1024 * left)


def test_a_clock_that_is_set_back_a_day(fresh):
    """What was made before is of tomorrow. Once its times are of today, nothing is lost."""
    fresh.snakemake(RUNS[0], "--cores", 1)
    made = [*(fresh.folder / "results").rglob("*")]
    for path in made:
        os.utime(path, times=(path.stat().st_mtime + 86400,) * 2)
    printed = fresh.snakemake(*RUNS, "--cores", 1, ok=False)
    assert "older modification time" in printed and "clock skew" in printed
    for path in made:
        path.touch()
    ends_right(fresh)


def test_results_that_cannot_be_written(fresh, disk):
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    printed = fresh.snakemake(*RUNS, "--cores", 2, ok=False)
    print(printed)
    assert "Read-only file system" in printed
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    ends_right(fresh)


@pytest.mark.parametrize("file", [RUN, STREAM])
def test_a_file_of_which_a_bit_turned(finished, file):
    """Its time is as before, so Snakemake takes it for whole.

    Readers refuse every other damage, too, by unit tests.
    """
    path = finished.folder / "results/tiny" / file
    content, times = path.read_bytes(), path.stat()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    (finished.folder / TABLE).unlink()
    if file == STREAM:
        (finished.folder / "results/tiny" / RUN).unlink()

    printed = finished.snakemake(TABLE, "--cores", 2, ok=False)
    print(printed)
    made = f"results/tiny/{file.removesuffix('/seed-0.arrow')}"  # a folder, of one job
    assert f"{file}: not a whole " in printed and f"--forcerun {made}\n" in printed
    ends_right(finished, TABLE, "--forcerun", made)


def test_a_file_that_changed_after_the_end(finished):
    """What follows from it is newer: Snakemake has nothing to do until it is told to."""
    path = finished.folder / "results/tiny" / RUN
    path.write_bytes(path.read_bytes()[:-9])
    os.utime(path, ns=(0, 0))
    assert "Nothing to be done" in finished.snakemake(TABLE, "--cores", 2)
    ends_right(finished, TABLE, "--forcerun", f"results/tiny/{RUN}")


def test_two_runs_at_once(fresh):
    first = subprocess.Popen(  # what it makes takes long enough for a second one to start
        fresh.command(*RUNS, "results/tiny/tables/games.csv", "--cores", 1),
        cwd=fresh.folder,
        env=fresh.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    locks = fresh.folder / ".snakemake/locks"
    while first.poll() is None and not (locks.exists() and any(locks.iterdir())):
        time.sleep(0.01)
    printed = fresh.snakemake(*RUNS, "--cores", 1, ok=False)
    assert "Directory cannot be locked" in printed
    assert first.wait(600) == 0
    ends_right(fresh)


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("too much", "not enough memory (Unable to allocate"),
        ("killed", "A job was killed, as where memory runs out."),
    ],
)
def test_a_job_over_its_memory(finished, trouble, says):
    (finished.folder / "troubled.py").write_text(TROUBLED)
    settings = finished.settings()
    settings["learners"]["troubled"] = {"kind": "troubled:Troubled"}
    settings["experiments"]["perceptron-released"]["learners"].append("troubled")
    settings["experiments"]["perceptron-released"]["rounds"] = 30
    finished.write(settings)
    (finished.folder / "trouble").write_text(trouble)

    printed = finished.snakemake("runs", "--cores", 1, ok=False)
    print(printed)
    assert says in printed
    runs = finished.folder / "results/tiny" / FOLDER
    result = {path.parent.name for path in runs.glob("*/seed-0-1.parquet")}
    assert result == {"slam-ndcg@10", "listnet"}
    path = f"results/tiny/{FOLDER}/troubled/seed-0-1.parquet"
    log = path.replace("runs/", "logs/run/").replace(".parquet", ".log")
    command = f"scant job run .* --output {path} 2>&1 [|] tee {log}'.*returned non-zero exit status"
    assert re.search(command, printed)  # docs/running.md: how a failed job is found and repeated

    (finished.folder / "trouble").unlink()
    finished.snakemake(path, "--cores", 1)
    finished.snakemake(TABLE, "--cores", 1)
    assert "troubled" in (finished.folder / TABLE).read_text()
