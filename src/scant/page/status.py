"""The progress of a study: its jobs done, running and failed, from its record of events, benchmarks
and logs.
"""

import base64
import binascii
import json
import math
import shlex
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from scant.errors import DataError, printable, printable_lines
from scant.files import visible
from scant.page.terminal import aligned
from scant.study import events

TAIL = 5  # how many lines of a failed job's log are shown


@dataclass(frozen=True)
class Failure:
    """A failed job: the path of its log, the last lines of the log, and the command that repeats
    the job.
    """

    log: str
    lines: list[str]
    repeat: str


@dataclass(frozen=True)
class Status:
    """The progress of a study's latest run.

    state : "running", "interrupted" (killed before its end), "failed", "finished", or "unknown" if
        it left no record
    done, planned : how many of the run's jobs
    seconds : how long the run has taken; NaN without a record
    left : how many seconds the remaining jobs would take at the same pace; NaN if the run is not
        going on
    rules : a row for each rule: `rule`, `to do` (jobs of this run), and the columns of `by` over
        all runs so far
    learners : the rows of `by` for learners, over all runs so far
    running : the files that are being made, or were when the run was interrupted
    failed : the run's jobs that failed
    """

    study: str
    state: str
    done: int
    planned: int
    seconds: float
    left: float
    rules: list[dict]
    learners: list[dict]
    running: list[str]
    failed: list[Failure]


def status(folder, root=".") -> Status:
    """The progress of the study whose results are in `folder`, in the project `root`.

    Raises
    ------
    DataError : there is no such folder, no job has begun, or the record of events is damaged
    """
    folder, root = Path(folder), Path(root)
    jobs = benchmarks(folder) if folder.is_dir() else []
    record = events.read(root / events.RECORD.format(study=folder.name))
    if not jobs and not record:
        raise DataError(
            folder, "no job of this study has ended", advice="Run it: snakemake --cores all"
        )
    by_name = {
        name: [event for event in record if event["event"] == name]
        for name in (*events.KEPT, events.ENDED)
    }
    planned = Counter(by_name[events.PLANNED][0]["stats"] if record else {})
    total = planned.pop("total", 0)
    rule_of_job = {event["jobid"]: event["rule_name"] for event in by_name[events.BEGUN]}
    finished = {event["job_id"] for event in by_name[events.FINISHED]}
    done = Counter(rule_of_job[job] for job in finished)
    failed = _failures(
        [event for event in by_name[events.FAILED] if event["jobid"] not in finished], folder, root
    )
    state = "finished" if len(finished) == total else "interrupted"
    if not record:
        state = "unknown"
    elif not by_name[events.ENDED]:
        state = "running" if _alive(root) else "interrupted"
    elif failed:
        state = "failed"
    seconds = record[-1]["time"] - record[0]["time"] if record else math.nan
    rows = {row.pop("rule"): row for row in by("rule", jobs)}
    rules = [
        {"rule": rule, "to do": max(0, planned[rule] - done[rule])}
        | rows.get(rule, {"jobs": done[rule]})
        for rule in {**planned, **rows}
    ]
    left, begun, learners = math.nan, [], by("learner", jobs)
    if state == "running" and finished:
        left = seconds * (total - len(finished)) / len(finished)
    if state in ("running", "interrupted"):
        begun = recorded(root / ".snakemake/incomplete", folder)
    return Status(
        folder.name, state, len(finished), total, seconds, left, rules, learners, begun, failed
    )


def _named(folder: Path, root: Path) -> str:
    """The path of the study file that was planned last, from `root`; empty if none is known."""
    record = root / f".snakemake/scant/{folder.name}.file"
    return record.read_text(encoding="utf-8", errors="replace") if record.is_file() else ""


def benchmarks(folder) -> list[dict]:
    """The finished jobs of a study, from Snakemake's extended benchmarks: rule, learner, seconds
    and memory (MB).

    A line that is not what Snakemake writes, such as one that was cut short, is left out: it tells
    of times alone.
    """
    jobs = []
    for path in visible(Path(folder, "benchmarks"), "**/*.jsonl"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                job = json.loads(line)
                seconds, memory = float(job["s"]), job.get("max_rss")  # unknown if it was short
                memory = float(memory) if isinstance(memory, int | float) else 0.0
                row = {"rule": job["rule_name"], "learner": _alone(job)}
                jobs.append(row | {"seconds": seconds, "memory": memory})
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
    return jobs


def _alone(job: dict) -> str | None:
    """The learner that plays a run alone; None if all of them play, or the job is no run."""
    ids = job["wildcards"]["run"].split("/") if job["rule_name"] == "run" else ()
    return ids[2] if len(ids) == 4 else None


def by(key: str, jobs: list[dict]) -> list[dict]:
    """The time and memory of jobs by rule or learner, in descending order of seconds.

    key : "rule" or "learner"
    jobs : rows of `benchmarks`

    Returns
    -------
    rows : with `key`, `jobs` (how many), `seconds` (in all), `longest` (seconds of the longest job)
        and `memory` (the largest, MB)
    """
    groups = {}
    for job in jobs:
        if job[key] is not None:
            groups.setdefault(job[key], []).append(job)
    rows = [
        {key: name, "jobs": len(group), "seconds": round(sum(job["seconds"] for job in group), 2)}
        | {"longest": round(max(job["seconds"] for job in group), 2)}
        | {"memory": round(max(job["memory"] for job in group))}
        for name, group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["seconds"], row[key]))


def _alive(root: Path) -> bool:
    """Whether a process of Snakemake on this machine has `root` as its working folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"snakemake" in (process / "cmdline").read_bytes() and (process / "cwd").samefile(
                root
            ):
                return True
        except OSError:  # it has ended, or belongs to another user
            continue
    return False


def recorded(records: Path, folder: Path) -> list[str]:
    """The study's files that Snakemake has a record of in a folder of records, which has their
    paths in base64.
    """
    names = []
    for record in records.rglob("*"):
        try:
            names.append(
                base64.b64decode("".join(record.relative_to(records).parts), b"-_").decode()
            )
        except (binascii.Error, UnicodeDecodeError):
            continue
    return sorted(name for name in names if name.startswith(f"results/{folder.name}/"))


def _failures(errors: list[dict], folder: Path, root: Path) -> list[Failure]:
    """The jobs of some errors, each once, with their logs and how to repeat them."""
    named = _named(folder, root)
    study = f" --configfile {shlex.quote(named)}" if named else ""
    failures = {}
    for error in errors:
        log = next(iter(error["log"]), "")
        path = root / log
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        file = shlex.quote(next(iter(error["output"]), ""))
        repeat = f"snakemake {file} --cores 1{study}" if error["output"] else ""
        failures[error["jobid"]] = Failure(log, text.splitlines()[-TAIL:], repeat)
    return list(failures.values())


def describe(progress: Status) -> str:
    """The progress of a run as text for the terminal."""
    share = f", {100 * progress.done // progress.planned} %" if progress.planned else ""
    jobs = f"{progress.done} of {progress.planned} jobs of its latest run done{share}"
    head = f"Study {progress.study}: {progress.state}; {jobs}"
    head += f", in {_duration(progress.seconds)}" if math.isfinite(progress.seconds) else ""
    head += f"; about {_duration(progress.left)} to go" if math.isfinite(progress.left) else ""
    text = f"{head}\n\n{_table(progress.rules)}"
    if progress.learners:
        text += f"\n{_table(progress.learners)}"
    if progress.running:
        text += "\n" + ("Under way:" if progress.state == "running" else "Not ended:") + "\n"
        text += "".join(f"  {printable(name)}\n" for name in progress.running)
    for failure in progress.failed:
        if failure.lines:
            lines = textwrap.indent(printable_lines("\n".join(failure.lines)), "  ")
            text += f"\nFailed, {printable(failure.log)}:\n{lines}\n"
            text += f"Again: {printable(failure.repeat)}\n"
    if silent := [failure for failure in progress.failed if not failure.lines]:
        text += (
            "\nFailed without a word in their logs (killed, not begun, or thrown away with others "
            "of their group):\n"
        )
        text += "".join(f"Again: {printable(failure.repeat)}\n" for failure in silent)
    return text


def _duration(seconds: float) -> str:
    """A time in words, to the minute from an hour on: "1 h 5 min", "2 min 3 s"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _table(rows: list[dict]) -> str:
    """Rows as text in columns: the first aligned to the left, the others to the right, blank where
    a row lacks one.
    """
    head = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[str(row.get(key, "")) for key in head] for row in rows]
    return aligned([head, *cells], right=True)
