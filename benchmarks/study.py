"""Time the default study from a clean clone: set-up, wall time, processor time, memory and disk.

    python benchmarks/study.py [--commits HEAD] [--runs 1] [--folder DIR]

Each commit is cloned and set up once, in a new folder that is removed afterwards, or in `--folder`,
which is kept. Then the study is run as often as asked, by `make study` on all cores, the commits
taking turns, each time without results. Processor time is that of all processes which descend from
`make`, also of those that nothing waits for. Machines differ and are busy: read the ratios.
"""

import argparse
import contextlib
import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from scant.page.about import timings

ROOT = Path(__file__).parents[1]
RESULTS = "results/default"
PR_SET_CHILD_SUBREAPER = 36  # of prctl: who waits for processes whose parents have ended


def timed(command, folder: Path) -> tuple[float, float]:
    """Wall and processor seconds of a command and of all that descends from it."""

    def used():
        times = resource.getrusage(resource.RUSAGE_CHILDREN)
        return times.ru_utime + times.ru_stime

    before, start = used(), time.perf_counter()
    with open(folder / "printed.txt", "a") as printed:
        subprocess.run(command, cwd=folder, stdout=printed, stderr=printed, check=True)
    wall = time.perf_counter() - start
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    return wall, used() - before


def megabytes(folder: Path) -> float:
    """What the files below a folder take on disk."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commits", nargs="+", default=["HEAD"])
    parser.add_argument("--runs", type=int, default=1, help="of the study, for each commit")
    parser.add_argument("--folder", type=Path, help="where to clone to, kept afterwards")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.ExitStack() as stack:
        place = arguments.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="scant-study-"))
        )
        clones = {commit: place / commit for commit in arguments.commits}
        for commit, clone in clones.items():
            subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
            subprocess.run(["git", "checkout", "--quiet", commit], cwd=clone, check=True)
            wall, processor = timed(["make", "setup"], clone)
            disk = megabytes(clone / ".venv")
            print(f"{commit}: set-up {wall:.0f} s, processor {processor:.0f} s, {disk:.0f} MB")
        times = {commit: [] for commit in clones}
        for _ in range(arguments.runs):
            for commit, clone in clones.items():
                for made in (RESULTS, ".snakemake"):
                    shutil.rmtree(clone / made, ignore_errors=True)
                times[commit].append(timed(["make", "study"], clone))
                wall, processor = times[commit][-1]
                disk, job = (
                    megabytes(clone / "results"),
                    max(row["memory"] for row in timings(clone / RESULTS)),
                )
                print(
                    f"{commit}: study {wall:.0f} s, processor {processor:.0f} s, {disk:.0f} MB, "
                    f"largest job {job:.0f} MB",
                    flush=True,
                )
        first = arguments.commits[0]
        for commit in arguments.commits[1:]:
            pairs = zip(times[commit], times[first], strict=True)
            wall, processor = map(
                statistics.median, zip(*((a / b, c / d) for (a, c), (b, d) in pairs), strict=True)
            )
            print(f"{commit} / {first}: wall {wall:.2f}, processor {processor:.2f} (median)")


if __name__ == "__main__":
    main()
