"""Measure a whole study: the first run, which compiles, and one with compiled loops; by rule, with start-up apart.

    python benchmarks/study.py [--study config/config.yaml] [--cores 2] [--folder DIR] [--recorded]

The study runs in a copy of the project, in a new folder that is removed afterwards, or in `--folder`, which is kept;
`cold` without compiled loops, `warm` with those of the first run and nothing else of it, and `again` once more, when
nothing is to be done. `wall` is the time from start to end, `processor` that of all processes, user and system, which
does not depend on what else the machine does as much.

Of the warm run, a row for each rule has the seconds of its jobs from Snakemake's benchmarks, those of the longest, and
`imports`: the seconds in which Python imported modules, which each job writes into its log. Loading compiled loops is
not among them. Then the schedule: how long the same jobs would take on 2, 8 and 32 cores, and the critical path, which
no number of cores makes shorter. `--recorded` prints it from the benchmarks of a study that has run in `--folder`.
"""

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from projects import ROOT, Project

IMPORT = re.compile(r"^import time: +(\d+) \|", re.MULTILINE)
PLANNED = re.compile(r"^(?:local)?rule (?P<rule>\w+):\n(?P<lines>(?: {4}.+\n)+)", re.MULTILINE)  # in a dry run
CORES = (2, 8, 32)


@dataclass
class Job:
    """A job of a study: its name, its seconds, its priority, and the numbers of the jobs that it waits for."""

    name: str
    seconds: float
    priority: int
    after: set[int]


class Recorded(Project):
    """A project that has run, as it is: nothing is copied into its folder."""

    def __init__(self, folder: Path):
        self.folder = folder


def timed(project: Project, study: str, cores: int, **variables) -> str:
    """Run the study; the seconds that it took, as text."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    project.snakemake("--cores", cores, study=study, timeout=None, **variables)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"wall {wall:.1f} s, processor {processor:.1f} s"


def by_rule(results: Path) -> dict[str, list[tuple[float, float]]]:
    """For each rule, the seconds of each job, and those of them that were spent on imports."""
    found = defaultdict(list)
    for folder in (results, results.with_name("data")):
        for path in (folder / "benchmarks").rglob("*.jsonl"):
            job = json.loads(path.read_text().splitlines()[-1])
            log = (folder / "logs" / path.relative_to(folder / "benchmarks")).with_suffix(".log")
            imports = sum(map(int, IMPORT.findall(log.read_text())))
            found[job["rule_name"]].append((job["s"], imports / 1e6))
    return found


def planned(project: Project, study: str) -> list[Job]:
    """The jobs of a study that has run, with their recorded seconds; those without a benchmark take none."""
    text = project.snakemake("all", "--forceall", "--dry-run", "--quiet", "host", study=study, timeout=None)
    found = []
    for match in PLANNED.finditer(text):
        told = dict(re.findall(r"^ {4}(\w+): (.*)$", match["lines"], re.MULTILINE))
        files = {key: set(filter(None, told.get(key, "").split(", "))) for key in ("input", "output")}
        record = project.folder / told["benchmark"] if "benchmark" in told else None
        seconds = json.loads(record.read_text().splitlines()[-1])["s"] if record else 0.0
        name = str(record.relative_to(project.folder).with_suffix("")) if record else match["rule"]
        found.append(
            (files, Job(name.partition("/benchmarks/")[2] or name, seconds, int(told.get("priority", 0)), set()))
        )
    maker = {file: number for number, (files, _) in enumerate(found) for file in files["output"]}
    for files, job in found:
        job.after = {maker[file] for file in files["input"] if file in maker}
    return [job for _, job in found]


def critical(jobs: list[Job]) -> list[int]:
    """The numbers of the jobs of the critical path, from the first to the last."""
    ends: dict[int, float] = {}

    def end(number: int) -> float:
        if number not in ends:
            ends[number] = jobs[number].seconds + max(map(end, jobs[number].after), default=0.0)
        return ends[number]

    path = [max(range(len(jobs)), key=end)]
    while jobs[path[-1]].after:
        path.append(max(jobs[path[-1]].after, key=end))
    return path[::-1]


def scheduled(jobs: list[Job], cores: int) -> float:
    """The seconds of a schedule that starts, whenever a core is free, the ready job of the highest priority."""
    waits = [len(job.after) for job in jobs]
    leads = [[later for later, job in enumerate(jobs) if number in job.after] for number in range(len(jobs))]
    ready, running, now = [], [], 0.0
    for number, job in enumerate(jobs):
        if not job.after:
            heappush(ready, (-job.priority, number))
    while ready or running:
        while ready and len(running) < cores:
            _, number = heappop(ready)
            heappush(running, (now + jobs[number].seconds, number))
        now, number = heappop(running)
        for later in leads[number]:
            waits[later] -= 1
            if not waits[later]:
                heappush(ready, (-jobs[later].priority, later))
    return now


def show_schedule(jobs: list[Job]) -> None:
    """Print the critical path, and the seconds on several numbers of cores, with the share of them that is used."""
    path, total = critical(jobs), sum(job.seconds for job in jobs)
    print(f"critical path: {sum(jobs[number].seconds for number in path):.1f} s of {total:.1f} s in {len(jobs)} jobs")
    for number in path:
        print(f"{jobs[number].seconds:8.1f}  {jobs[number].name}")
    for cores in CORES:
        seconds = scheduled(jobs, cores)
        print(f"{cores:2} cores: {seconds:6.1f} s, {total / seconds / cores:.0%} used")


def measure(folder: Path, study: str, cores: int) -> None:
    """Run the study in a copy of the project, and print what it took."""
    project = Project(folder)
    for compiled in (folder / "src").rglob("numba-*"):
        shutil.rmtree(compiled)
    print(f"{study} on {cores} cores", flush=True)
    print(f"cold:  {timed(project, study, cores)}", flush=True)
    for part in ("results", ".snakemake"):
        shutil.rmtree(folder / part)
    print(f"warm:  {timed(project, study, cores, PYTHONPROFILEIMPORTTIME='1')}", flush=True)
    print(f"again: {timed(project, study, cores)}", flush=True)

    (results,) = (path for path in (folder / "results").iterdir() if path.name != "data")
    rows = sorted(by_rule(results).items(), key=lambda row: -sum(seconds for seconds, _ in row[1]))
    rows.append(("all", [job for _, jobs in rows for job in jobs]))
    print(f"{'rule':16}{'jobs':>6}{'seconds':>9}{'imports':>9}{'longest':>9}")
    for rule, jobs in rows:
        seconds, imports = (sum(column) for column in zip(*jobs, strict=True))
        print(f"{rule:16}{len(jobs):6}{seconds:9.1f}{imports:9.1f}{max(jobs)[0]:9.1f}")
    show_schedule(planned(project, study))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--study", default="config/config.yaml", help="its file")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where to run, kept afterwards")
    parser.add_argument("--recorded", action="store_true", help="run nothing: only show the schedule")
    arguments = parser.parse_args()
    if arguments.recorded:
        show_schedule(planned(Recorded(arguments.folder or ROOT), arguments.study))
        sys.exit()
    with contextlib.ExitStack() as stack:
        place = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scant-study-")))
        measure(place, arguments.study, arguments.cores)
