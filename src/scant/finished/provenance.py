"""Where the results of a study come from: when and from which commit they are made, and all their
files.
"""

import json
import os
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from scant.data.registry import groups_beside
from scant.files import sha256
from scant.schema import PROJECT, of_project
from scant.study import code
from scant.study.plan import Plan
from scant.study.settings import claims_files, own_names

STUDY = "study.json"  # the settings that a study was given, as a study file that can be run again
LOCK = "requirements.lock"
BUILT = "built.json"  # in an installed scant: the commit that it was built from
# what runs are played on, which can be drawn or packed again
DRAWN = ("streams/", "bandit/", "clicks/", "campaigns/")
LARGE = ("runs/", "comparators/", *DRAWN)  # left out of archives unless asked for
CRATE = "ro-crate-metadata.json"  # which describes an archive
REGISTRY = "config/datasets.yaml"
WORKFLOW = (
    "Snakefile",
    "CITATION.cff",
    LOCK,
    "rules/*.smk",
    "workflow/**/*",
    REGISTRY,
    "profiles/default/*.yaml",
)
# The start of terms under which anybody may pass data on, and the most bytes that an archive takes
# of such a file.
FREE = re.compile(
    r"(CC0|CC[ -]BY([ -]SA)?[ -]\d|PDDL|ODC-By|ODbL|MIT|BSD|Apache|Public domain)\b", re.IGNORECASE
)
SMALL = 1 << 20
# a path below a folder
PLAIN = re.compile(r"[^/\\.\x00-\x1f][^/\\\x00-\x1f]*(/[^/\\.\x00-\x1f][^/\\\x00-\x1f]*)*")
PAGE = "report.html"
FINISH = "Finish the study: snakemake --cores all"
CLAIMS = ("claims.csv", "claims.parquet", "claims.tex", "claims-readings.csv")


def made(study_file: str = "") -> dict:
    """When and from what results are made now, for the manifest.

    study_file : the path of the study's file

    Returns
    -------
    made : date; commit and clean (whether nothing has changed since), None if the code is neither
        of a clone nor built from one; lock, the lock file's SHA-256 or None; study_file, its name
        in an archive, "" if none can have it; project, whether the study came with scant
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **_code(),
        "lock": sha256(PROJECT / LOCK) if (PROJECT / LOCK).is_file() else None,
        "study_file": (study_file and _name(Path(study_file))) or "",
        "project": Path(study_file).resolve().is_relative_to((PROJECT / "config").resolve()),
    }


def commit(made: dict) -> str:
    """The commit that results were made from, in words."""
    if not made["commit"]:
        return "unknown: neither a clone's nor built from one"
    return made["commit"] + ("" if made["clean"] else ", with changes that are not committed")


def _code() -> dict:
    """The `commit` and `clean` of `made`."""
    if commit := _git("rev-parse", "HEAD"):
        return {"commit": commit, "clean": _git("status", "--porcelain") == ""}
    built = PROJECT / BUILT
    if built.is_file():
        return json.loads(built.read_text(encoding="utf-8"))
    return {"commit": None, "clean": None}


def _git(*arguments: str) -> str | None:
    """What git says of the clone that the package is in; None if there is no clone, or no git."""
    if not (PROJECT / ".git").exists() or shutil.which("git") is None:
        return None
    command = ["git", "-C", os.fspath(PROJECT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else None


def workflow() -> list[str]:
    """The files of the workflow that archives have, below the project's folder."""
    paths = (path for pattern in WORKFLOW for path in sorted(PROJECT.glob(pattern)))
    return [path.relative_to(PROJECT).as_posix() for path in paths if path.is_file()]


def inputs(study: dict, stated: dict, study_file: str = "") -> tuple[dict[str, Path], list[str]]:
    """What a study reads besides the workflow and results: the study file, claims, code of one's
    own, data sets.

    Data of one's own count where they are small and free; others are known by their checksums.

    study : the complete settings
    stated : its claims by id; empty if it judges none
    study_file : the path of its file

    Returns
    -------
    files : by name, which is the path below the working folder, or below the project's
    elsewhere : what an archive cannot have, in words: it is in neither folder
    """
    modules = dict.fromkeys(name.partition(":")[0] for name in own_names(study, stated))
    closure = code.closure(*modules).items()
    closure = {name: path for name, path in closure if not path.is_absolute()}
    free = [entry for entry in study["datasets"].values() if FREE.match(entry.get("terms", ""))]
    data = [of_project(part["file"]) for entry in free for part in entry["parts"].values()]
    data += filter(None, map(groups_beside, data))
    registry = [REGISTRY] if Path(REGISTRY).is_file() else []
    paths = [study_file, *map(of_project, claims_files(study)), *closure.values(), *registry]
    small = [path for path in data if path.is_file() and path.stat().st_size <= SMALL]
    named = {path: _name(path) for path in map(Path, filter(None, (*paths, *small)))}
    elsewhere = [f"the file {path}" for path, name in named.items() if name is None]
    elsewhere += [f"the Python module {name}" for name in modules if name not in closure]
    return {name: path for path, name in named.items() if name}, elsewhere


def _name(path: Path) -> str | None:
    """The name of a file in an archive: its path below the working folder or the project's, the
    shorter one, if any.
    """
    whole = Path(os.path.normpath(Path.cwd() / path))  # links stay
    places = [place for place in (Path.cwd(), PROJECT) if whole.is_relative_to(place)]
    names = [whole.relative_to(place).as_posix() for place in places]
    return min(filter(PLAIN.fullmatch, names), key=len, default=None)


def source(name: str, folder) -> Path:
    """The path of a file that `inputs` names: beside `folder`'s results if it is there, else in the
    project.
    """
    place = Path(folder).absolute().parents[1] / name
    return place if place.is_file() else PROJECT / name


def results(plan: Plan, claims: dict) -> list[str]:
    """The files that the jobs of a study make, below its folder of results, without logs,
    benchmarks and the manifest.

    Each is after the files that it is made of.

    claims : the study's claims by id; empty if it judges none
    """
    folder, paths = f"results/{plan.study['study']}/", []
    endings = ["svg", "png", "csv"] + ["pdf"] * plan.study["figures"]["pdf"]
    for name, jobs in plan.jobs.items():
        paths += [file for job in jobs for file in job.files]
        paths += plan.run_files(name)
    paths += plan.comparator_files(plan.comparators)
    for target in plan.figures.values():
        paths += plan.files(target) if target.shown.reads == "coverage" else []
    paths += [f"figures/{name}.{ending}" for name in plan.figures for ending in endings]
    paths += [f"tables/{name}.{ending}" for name in plan.tables for ending in ("csv", "tex")]
    paths += [*(CLAIMS if claims else ()), STUDY, PAGE]
    own = (path.removeprefix(folder) for path in paths)
    return list(dict.fromkeys(path for path in own if not path.startswith("results/")))
