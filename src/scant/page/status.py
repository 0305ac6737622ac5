"""The progress of a study: its jobs done, running and failed, from the files that Snakemake and the jobs leave."""

import base64
import binascii
import json
import math
import os
import re
import shlex
import textwrap
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from scant.errors import DataError, SettingError, printable
from scant.files import visible
from scant.schema import read_yaml
from scant.study.plan import rule_of

STEPS = re.compile(r"^(\d+) of (\d+) steps", re.M)
DONE = re.compile(r"^Finished jobid: (\d+) \(Rule: (\w+)\)", re.M)
PLANNED = re.compile(r"^(\w+) +(\d+)$", re.M)
COMMAND = re.compile(r"^Command '(.*?)' returned non-zero exit status", re.M | re.S)
# What Snakemake prints about a failed job on a cluster, where it prints all fields of a job.
ERROR = re.compile(r"^( *)Error in rule \w+:\n((?:\1 +.*\n)*)", re.M)
FIELD = re.compile(r"^ +(jobid|output|log): ([^\s,]+)", re.M)
CONFIG = re.compile(r"^  Config file\(s\): \[(?:PosixPath\()?'(.*?)'", re.M)
LOG = re.compile(r"\| tee (\S+)")
ENDED, FAILED = "Complete log(s):", "Exiting because a job execution failed"
TAIL = 5  # how many lines of a failed job's log are shown
WHOLE = (".parquet", ".arrow", ".json", ".html", ".txt")  # endings of files; an --output without is a stem of .csv etc.


@dataclass(frozen=True)
class Failure:
    """A failed job: the path of its log, the last lines of the log, and the command that repeats the job."""

    log: str
    lines: list[str]
    repeat: str


@dataclass(frozen=True)
class Status:
    """The progress of a study's latest run.

    state : "running", "interrupted" (killed before its end), "failed", "finished", or "unknown" if it left no log
    done, planned : how many of the run's jobs
    seconds : how long the run has taken; NaN without a log
    left : how many seconds the remaining jobs would take at the same pace; NaN if the run is not going on
    rules : a row for each rule: `rule`, `to do` (jobs of this run), and the columns of `by` over all runs so far
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
    DataError : there is no such folder, or no job has begun
    """
    folder, root = Path(folder), Path(root)
    jobs = benchmarks(folder) if folder.is_dir() else []
    log = _latest(root / ".snakemake/log", folder)
    if not jobs and log is None:
        raise DataError(folder, "no job of this study has ended", advice="Run it: snakemake --cores all")
    text = log.read_text(encoding="utf-8", errors="replace") if log else ""
    table = text.partition("Job stats:")[2].partition("\n\n")[0]
    planned = Counter()
    for rule, count in PLANNED.findall(table):
        planned[rule_of(rule)] += int(count)
    total, done = planned.pop("total", 0), Counter(rule_of(rule) for _, rule in DONE.findall(text))
    steps = int(STEPS.findall(text)[-1][0]) if STEPS.search(text) else 0
    failed = _failures(text, root)
    if not text:
        state = "unknown"
    elif ENDED not in text:
        state = "running" if _alive(root) else "interrupted"
    else:
        state = "failed" if failed or FAILED in text else "finished" if steps == total else "interrupted"
    seconds = log.stat().st_mtime - _began(log) if log else math.nan
    rows = {row.pop("rule"): row for row in by("rule", jobs)}
    rules = [
        {"rule": rule, "to do": max(0, planned.get(rule, 0) - done[rule]), **rows.get(rule, {"jobs": done[rule]})}
        for rule in {**planned, **rows}
    ]
    left = seconds * (total - steps) / steps if state == "running" and steps else math.nan
    begun = recorded(root / ".snakemake/incomplete", folder) if state in ("running", "interrupted") else []
    return Status(folder.name, state, steps, total, seconds, left, rules, by("learner", jobs), begun, failed)


def study_file(folder, root=".") -> Path:
    """The file of a study's settings: the one that its latest run was given, else the workflow's copy, which is JSON.

    Raises
    ------
    SettingError : there is neither
    """
    folder, root = Path(folder), Path(root)
    log, copy = _latest(root / ".snakemake/log", folder), root / f".snakemake/scant/{folder.name}.json"
    if log is not None:
        named = CONFIG.search(log.read_text(encoding="utf-8", errors="replace"))[1]
        return Path(os.path.relpath(root / named))
    if not copy.is_file():
        raise SettingError(f"the settings of the study {folder.name!r} are not known here: name its --study-file")
    return copy


def benchmarks(folder) -> list[dict]:
    """The finished jobs of a study, from Snakemake's extended benchmarks: rule, learner, seconds and memory (MB).

    A line that is not what Snakemake writes, such as one that was cut short, is left out: it tells of times alone.
    """
    jobs = []
    for path in visible(Path(folder, "benchmarks"), "**/*.jsonl"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                job = json.loads(line)
                wildcards, memory = job["wildcards"], job.get("max_rss")  # unknown if the job was short
                rule = rule_of(job["rule_name"])
                jobs.append(
                    {
                        "rule": rule,
                        "learner": _learner(rule, wildcards),
                        "seconds": float(job["s"]),
                    }
                    | {"memory": float(memory) if isinstance(memory, (int, float)) else 0.0}
                )
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
    return jobs


def _learner(rule: str, wildcards: dict) -> str | None:
    """The learner of a run, if the run has only one: its path is then experiment/place/learner/seeds."""
    path = wildcards["run"].split("/") if rule == "run" and "run" in wildcards else []
    return path[2] if len(path) == 4 else None


def by(key: str, jobs: list[dict]) -> list[dict]:
    """The time and memory of jobs by rule or learner, in descending order of seconds.

    key : "rule" or "learner"
    jobs : rows of `benchmarks`

    Returns
    -------
    rows : with `key`, `jobs` (how many), `seconds` (in all), `longest` (seconds of the longest job) and `memory` (the
        largest, MB)
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


def _began(log: Path) -> float:
    """When a run began, in seconds of the epoch, from the name of its log."""
    return datetime.strptime(log.name.partition(".")[0], "%Y-%m-%dT%H%M%S").timestamp()


def _latest(logs: Path, folder: Path) -> Path | None:
    """Snakemake's log of the latest run of a study, dry runs aside; None if there is none."""
    for log in sorted(logs.glob("*.snakemake.log"), reverse=True):
        text = log.read_text(encoding="utf-8", errors="replace")
        if "Job stats:" in text and "This was a dry-run" not in text and _study(text, logs.parents[1]) == folder.name:
            return log
    return None


def _study(text: str, root: Path) -> str | None:
    """The id of the study of a log, from the settings file that the log names, as it is now."""
    config = CONFIG.search(text)
    try:
        return read_yaml(root / config[1]).get("study") if config else None
    except SettingError:
        return None


def _alive(root: Path) -> bool:
    """Whether a process of Snakemake on this machine has `root` as its working folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"snakemake" in (process / "cmdline").read_bytes() and (process / "cwd").samefile(root):
                return True
        except OSError:  # it has ended, or belongs to another user
            continue
    return False


def recorded(records: Path, folder: Path) -> list[str]:
    """The study's files that Snakemake has a record of in a folder of records, which has their paths in base64."""
    names = []
    for record in records.rglob("*"):
        try:
            names.append(base64.b64decode("".join(record.relative_to(records).parts), b"-_").decode())
        except (binascii.Error, UnicodeDecodeError):
            continue
    return sorted(name for name in names if name.startswith(f"results/{folder.name}/"))


def _failures(text: str, root: Path) -> list[Failure]:
    """The jobs that failed in a run and did not succeed later, from the commands or files that its log names."""
    settings = CONFIG.search(text)
    study = f" --configfile {os.path.relpath(root / settings[1], root)}" if settings else ""
    done, targets = {job for job, _ in DONE.findall(text)}, {}
    for command in COMMAND.findall(text):
        if (log := LOG.search(command)) is None:
            continue
        words = shlex.split(command.partition("2>&1")[0].partition("; scant")[2] or command.partition("2>&1")[0])
        target = next((words[i + 1] for i, word in enumerate(words) if word in ("--output", "--outputs")), "")
        target += "" if target.endswith(WHOLE) else ".csv"
        targets[log[1]] = target
    for _, block in ERROR.findall(text):
        fields = dict(FIELD.findall(block))
        if fields.get("jobid") not in done and {"log", "output"} <= fields.keys():
            targets.setdefault(fields["log"], fields["output"])
    failures = []
    for log, target in targets.items():
        path = root / log
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:] if path.is_file() else []
        failures.append(Failure(log, lines, f"snakemake {shlex.quote(target)} --cores 1{study}"))
    return failures


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
        text += "".join(f"  {name}\n" for name in progress.running)
    for failure in progress.failed:
        if failure.lines:
            text += f"\nFailed, {failure.log}:\n{textwrap.indent(chr(10).join(map(printable, failure.lines)), '  ')}\n"
            text += f"Again: {failure.repeat}\n"
    if silent := [failure for failure in progress.failed if not failure.lines]:
        text += (
            "\nFailed without a word in their logs (killed, not begun, or thrown away with others of their group):\n"
        )
        text += "".join(f"Again: {failure.repeat}\n" for failure in silent)
    return text


def _duration(seconds: float) -> str:
    """A time in words, to the minute from an hour on: "1 h 5 min", "2 min 3 s"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _table(rows: list[dict]) -> str:
    """Rows as text in columns: the first aligned to the left, the others to the right, blank where a row lacks one."""
    head = list(dict.fromkeys(key for row in rows for key in row))
    cells = [head, *([str(row.get(key, "")) for key in head] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)
