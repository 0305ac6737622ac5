"""Where the results of a study come from: when and from which commit they are made, and all their files."""

import os
import shutil
import subprocess
from datetime import UTC, datetime

from scant.files import sha256
from scant.schema import PROJECT
from scant.study.plan import COMPARATOR, COVERAGE, OF_CLAIMS, RUN, TIMES, Plan
from scant.verdict import selection

STUDY = "study.json"  # the settings that a study was given, as a study file that can be run again
LOCK = "requirements.lock"
DRAWN = ("streams/", "bandit/", "campaigns/")  # what runs are played on, which can be drawn or packed again
FOLDERS = ("runs", "comparators", "times", "streams", "bandit", "campaigns", "figures", "tables")
WORKFLOW = ("Snakefile", "CITATION.cff", LOCK, "rules/*.smk", "workflow/**/*", "config/*.yaml", "config/claims/*.yaml")
PAGE = "report.html"
FINISH = "Finish the study: snakemake --cores all"
CLAIMS = ("claims.csv", "claims.parquet", "claims.tex", "claims-readings.csv")


def made() -> dict:
    """When and from what the results are made now: date, commit and state of the clone, and checksum of the lock file.

    `commit` and `clean` are None outside of a clone, `lock` is None where there is no lock file.
    """
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain") if commit else None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "clean": changed == "" if commit else None,
        "lock": sha256(PROJECT / LOCK) if (PROJECT / LOCK).is_file() else None,
    }


def commit(made: dict) -> str:
    """The commit that results were made from, in words."""
    if not made["commit"]:
        return "none: not made in a clone"
    return made["commit"] if made["clean"] else f"{made['commit']}, with changes that are not committed"


def _git(*arguments: str) -> str | None:
    """What git says of the clone that the package is in; None if there is no clone, or no git."""
    if not (PROJECT / ".git").exists() or shutil.which("git") is None:
        return None
    done = subprocess.run(
        ["git", "-C", os.fspath(PROJECT), *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip() if done.returncode == 0 else None


def workflow() -> list[str]:
    """The files of the workflow that archives have, below the project's folder."""
    paths = (path for pattern in WORKFLOW for path in sorted(PROJECT.glob(pattern)) if path.is_file())
    return [path.relative_to(PROJECT).as_posix() for path in paths]


def results(plan: Plan, claims: dict) -> list[str]:
    """The files that the jobs of a study make, below its folder of results, without logs, benchmarks and the manifest.

    claims : the study's claims by id; empty if it judges none
    """
    study, names = plan.study["study"], list(plan.figures)
    paths = [STUDY, PAGE] + ([*CLAIMS] if claims else [])
    for name, jobs in plan.jobs.items():
        paths += [RUN.format(study=study, run=job.path) for job in jobs]
        paths += [file for job in jobs for file in job.files]
        paths += [] if jobs else [TIMES.format(study=study, experiment=name)]
    paths += [COMPARATOR.format(study=study, run=job.path) for jobs in plan.comparators.values() for job in jobs]
    paths += [
        file for target in plan.tables.values() for file in plan.files(target) if target.shown.reads == "coverage"
    ]
    names += [f"{OF_CLAIMS}{name}" for name in selection.figures(plan, claims)] if claims else []
    endings = ("svg", "png", "csv", *(["pdf"] if plan.study["figures"]["pdf"] else []))
    paths += [f"figures/{name}.{ending}" for name in names for ending in endings]
    paths += [f"tables/{name}.{ending}" for name in plan.tables for ending in ("csv", "tex")]
    folder = COVERAGE.format(study=study).rpartition("/")[0] + "/"
    own = (path.removeprefix(folder) for path in paths)
    return list(dict.fromkeys(path for path in own if not path.startswith("results/")))
