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
# A learner that fails as it is told, where there is a file `trouble`.
TROUBLED = """
import os, signal
from pathlib import Path

import numpy as np


class Troubled:
    def __init__(self, features, rate, random, trouble):
        self.random = random
        there = Path("trouble").exists()
        if there and trouble == "greedy":
            np.ones(1 << 50)
        if there:
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


def test_a_disk_that_is_full_or_cannot_be_written(fresh, disk):
    """With so many KB free, each of which ends elsewhere: in Snakemake, a stream, a run."""
    settled = fresh.saved / ".snakemake/scant/tiny.json"  # which is written first
    for left in (0, *(settled.stat().st_size // 1024 + more for more in (16, 64))):
        fill(disk / "ballast", left)
        printed = fresh.snakemake(*RUNS, "--cores", 2, ok=False)
        print(printed)
        assert "No space left on device" in printed
        assert ("Error in rule" in printed) == (left > 0)
        assert fresh.digests().items() <= fresh.reference.items()
        (disk / "ballast").unlink()
        (disk / ".snakemake/scant" / settled.name).unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    printed = fresh.snakemake(*RUNS, "--cores", 2, ok=False)
    print(printed)
    assert "Read-only file system" in printed
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
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


def test_files_of_which_a_bit_turned(finished):
    """Their times are as before, so Snakemake takes them for whole.

    Readers refuse every other damage, too, by unit tests.
    """
    results, table = finished.folder / "results/tiny", "results/tiny/tables/top.csv"
    made = []
    for path in (results / STREAM, *results.glob("runs/top/linear/random/*.parquet")):
        content, times = path.read_bytes(), path.stat()
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :])
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        made.append(str(path.relative_to(finished.folder)))
    for reader in (RUNS[0], table):
        (finished.folder / reader).unlink()

    printed = finished.snakemake(RUNS[0], table, "--cores", 2, "--keep-going", ok=False)
    print(printed)
    assert len(made) == 2
    again = [made[0].removesuffix("/seed-0.arrow"), made[1]]  # a folder, of one job
    for file, named in zip(made, again, strict=True):
        name = file.removeprefix("results/tiny/")
        assert f"{name}: not a whole " in printed and f"--forcerun {named}\n" in printed
    ends_right(finished, RUNS[0], table, "--forcerun", *again)


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


def test_jobs_over_their_memory(finished):
    troubles = {
        "greedy": "not enough memory (Unable to allocate",
        "killed": "A job was killed, as where memory runs out.",
    }
    (finished.folder / "troubled.py").write_text(TROUBLED)
    settings = finished.settings()
    for name in troubles:
        kind = {"kind": "troubled:Troubled", "options": {"trouble": name}}
        settings["learners"][name] = kind | {"title": name}
        settings["experiments"]["perceptron-released"]["learners"].append(name)
    settings["experiments"]["perceptron-released"]["rounds"] = 30
    finished.write(settings)
    (finished.folder / "trouble").touch()

    printed = finished.snakemake("runs", "--cores", 1, "--keep-going", ok=False)
    print(printed)
    runs = finished.folder / "results/tiny" / FOLDER
    result = {path.parent.name for path in runs.glob("*/seed-0-1.parquet")}
    assert result == {"slam-ndcg@10", "listnet"}
    for name, says in troubles.items():
        path = f"results/tiny/{FOLDER}/{name}/seed-0-1.parquet"
        log = path.replace("runs/", "logs/run/").replace(".parquet", ".log")
        command = f"scant job run .* --output {path} 2>&1 [|] tee {log}'.*returned non-zero exit"
        # docs/running.md: how a failed job is found and repeated
        assert re.search(command, printed) and says in printed

    (finished.folder / "trouble").unlink()
    finished.snakemake(TABLE, "--cores", 1)
    assert {*troubles} <= {*re.findall(r"\w+", (finished.folder / TABLE).read_text())}
