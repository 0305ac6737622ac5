"""Measure a whole study: the first run, which compiles, and one with compiled loops; by rule, with start-up apart.

    python benchmarks/study.py [--study config/config.yaml] [--cores 2] [--folder DIR]

The study runs in a copy of the project, in a new folder that is removed afterwards, or in `--folder`, which is kept;
`cold` without compiled loops, `warm` with those of the first run and nothing else of it, and `again` once more, when
nothing is to be done. `wall` is the time from start to end, `processor` that of all processes, user and system, which
does not depend on what else the machine does as much.

Of the warm run, a row for each rule has the seconds of its jobs from Snakemake's benchmarks, those of the longest, and
`imports`: the seconds in which Python imported modules, which each job writes into its log. Loading compiled loops is
not among them.
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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from projects import Project, rule_of

IMPORT = re.compile(r"^import time: +(\d+) \|", re.MULTILINE)


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
            found[rule_of(job["rule_name"])].append((job["s"], imports / 1e6))
    return found


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--study", default="config/config.yaml", help="its file")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where to run, kept afterwards")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scant-study-")))
        measure(place, arguments.study, arguments.cores)
