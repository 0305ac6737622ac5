"""Measure what Snakemake adds to a study of many short jobs: planning, doing nothing, and each
job's share.

    python benchmarks/scale.py [--seeds 10000] [--batch 1] [--learners 10] [--idle] [--cores 2]
    [--folder DIR]

A study of simulated queries, `seeds` runs over so many learners; with `--batch` several of a
learner's seeds are one job, with `--idle` a run's job does nothing but touch its file, so that what
Snakemake adds is all there is. The study runs in a copy of the project, in a new folder that is
removed afterwards, or in `--folder`, which is kept.

`plan` is the time until a dry run knows all jobs, `told` until it has said them, `run` the study to
its table, `again` a second run, which finds nothing to do. `overhead` is what a job takes beyond
its own seconds, (wall time x cores - seconds of all jobs) / jobs, where a job's own seconds are
those of its benchmark file, with the start of its Python.
"""

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from projects import Project

TABLE, RUNS = "results/scale/tables/finals.csv", "runs"  # targets


def settings(seeds: int, learners: int, batch: int) -> dict:
    """A study of so many seeds of short runs in all."""
    names = [f"listnet-{number}" for number in range(learners)]
    return {
        "study": "scale",
        "seed": 1,
        "claims": None,
        "streams": {
            "linear": {
                "generator": "linear",
                "shared": True,
                "settings": {"queries": 60, "documents": 8},
            }
        },
        "learners": {name: {"kind": "listnet", "rates": [0.1]} for name in names},
        "experiments": {
            "perceptron": {
                "streams": ["linear"],
                "learners": names,
                "seeds": seeds // learners,
                "batch": batch,
                "tuning": "paper",
                "tuning_seeds": 0,
                "rounds": 60,
            }
        },
    }


def timed(project: Project, *flags) -> tuple[float, str]:
    """Seconds of a run of Snakemake, and what it printed."""
    start = time.perf_counter()
    printed = project.snakemake(*flags, study="scale", timeout=None)
    return time.perf_counter() - start, printed


def planned(project: Project, *flags) -> tuple[float, float]:
    """Seconds until a dry run knows all jobs, and until it has told them."""
    start, known = time.perf_counter(), None
    command = project.command(*flags, "--dry-run", study="scale")
    with subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout:
            if known is None and line.startswith("Job stats:"):
                known = time.perf_counter() - start
    assert process.returncode == 0 and known is not None
    return known, time.perf_counter() - start


def measure(folder: Path, arguments) -> None:
    """Run the study in a copy of the project, and print what it took."""
    project = Project(folder)
    project.write(settings(arguments.seeds, arguments.learners, arguments.batch), study="scale")
    target = RUNS if arguments.idle else TABLE
    if arguments.idle:
        rules = folder / "rules/runs.smk"
        rules.write_text(rules.read_text().replace('"scant job run ', '"touch {output:q}; : ', 1))
    plan, told = planned(project, target, "--cores", arguments.cores)
    wall, _ = timed(project, target, "--cores", arguments.cores)
    again, printed = timed(project, target, "--cores", arguments.cores)
    assert "Nothing to be done" in printed, printed

    files = list((folder / "results/scale/benchmarks").rglob("*.jsonl"))
    seconds = sum(json.loads(file.read_text())["s"] for file in files)
    own, overhead = (
        1000 * seconds / len(files),
        1000 * (wall * arguments.cores - seconds) / len(files),
    )
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{len(files)} jobs on {arguments.cores} cores, seconds:", end=" ")
    print(f"plan {plan:.1f}, told {told:.1f}, run {wall:.1f}, again {again:.1f}")
    print(
        f"a job: own {own:.0f} ms, overhead {overhead:.0f} ms; the largest process: {memory:.0f} MB"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10_000, help="in all")
    parser.add_argument("--batch", type=int, default=1, help="how many seeds a job")
    parser.add_argument("--learners", type=int, default=10)
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to run, kept afterwards")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = arguments.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="scant-scale-"))
        )
        measure(place, arguments)
