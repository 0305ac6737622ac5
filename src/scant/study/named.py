"""Whether a file of a study is what its name says: its own metadata are held against its path.

A file can be where another one belongs, with a time that tells nothing. Paths that `scant.study.plan` does not compose
say nothing, and are not looked at.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from scant.errors import DataError
from scant.files import anew, foreign, metadata_of
from scant.study import plan

SEEDS = "seed-{seed}"


def _pattern(path: str) -> re.Pattern:
    """A regular expression for the end of paths of this form."""
    parts = re.escape(path).replace(r"\{", "{").replace(r"\}", "}")
    return re.compile("(?:^|/)" + re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", parts) + "$")


_OF_RUN = "{experiment}/{stream}/{player}/" + SEEDS
_OF_GAME = "{experiment}/{stream}/" + SEEDS
PATTERNS = {  # by what it holds, the form of the path of a file
    "table": [plan.TABLE],
    "stream": [plan.STREAM, plan.DRAW],
    "log": [plan.BANDIT],
    "run": [plan.RUN.replace("{run}", _OF_RUN), plan.RUN.replace("{run}", _OF_GAME)],
    "comparator": [plan.COMPARATOR.replace("{run}", _OF_RUN)],
    "traces": [plan.TRACES],
}
_COMPILED = {kind: [_pattern(path) for path in paths] for kind, paths in PATTERNS.items()}
PLAYER = {"run": "learner", "comparator": "judge"}


def named(path) -> tuple[str, dict] | None:
    """What the file at a path holds ("run", "stream", ...), and what its metadata should say; None for other paths."""
    for kind, patterns in _COMPILED.items():
        for found in (pattern.search(str(path)) for pattern in patterns):
            if found:
                return kind, _expected(kind, found.groupdict())
    return None


def _expected(kind: str, parts: dict) -> dict:
    """The metadata of a file of a kind, of the parts of its path."""
    if kind in PLAYER:
        parts["seeds"] = plan.spanned(parts.pop("seed"))
        if "player" in parts:
            parts[PLAYER[kind]] = parts.pop("player")
        return parts
    if "seed" in parts:
        parts["seed"] = int(parts["seed"])
    if kind == "log":
        parts["log"] = parts.pop("stream")
    if kind == "table":  # a study's own sets are stored by the study's name, too
        parts["dataset"] = parts["dataset"].partition("@")[0]
    return parts if kind == "traces" else {key: value for key, value in parts.items() if key != "study"}


def check(paths, settings: Mapping | None = None, jobs: Mapping[str, Mapping] | None = None) -> None:
    """Hold the metadata of some files against their paths.

    settings : of the stream or log that learners play on, with which its file should have been made
    jobs : the settings of the jobs that made some of the files, by path

    Raises
    ------
    DataError : a file is another one than its name says, or made with other settings; or it is damaged
    """
    for path in paths:
        if (expected := named(path)) is None or not Path(path).is_file():  # who reads it says that it is not there
            continue
        kind, parts = expected
        with foreign(path, f"whole {kind} file", anew(path)):
            metadata = _metadata(path)
        differing(path, metadata, parts | dict((jobs or {}).get(str(path), {})))
        if settings and "settings" in metadata:
            _check_settings(path, kind, metadata, settings)


def _check_settings(path, kind: str, metadata: Mapping, settings: Mapping) -> None:
    """Raise a DataError for a stream or log that was made with other settings than the study has for it."""
    differing(
        path, metadata, {key: settings[key] for key in ("campaign", "dataset") if key in settings and key in metadata}
    )
    made_with = {key: value for key, value in metadata["settings"].items() if key != "normalised"}
    wanted = settings
    if kind == "log":
        wanted = settings.get("settings") or made_with | {key: settings[key] for key in made_with if key in settings}
    if digest(made_with) != digest(wanted):
        raise DataError(path, f"it was made with other settings: {_said(made_with)}", advice=anew(path))


def label(study_plan: plan.Plan, experiment: str) -> dict:
    """What the traces of an experiment carry so that those who read them can tell whether they are the right ones.

    Returns
    -------
    label : study, experiment, `settings` (the names of the settings of runs), and `runs` (a digest of the settings of
        the runs of each place and learner)
    """
    jobs = study_plan.jobs[experiment]
    names = sorted({name for job in jobs for name in job.settings})
    runs = {"/".join(job.path.split("/")[1:-1]): job.settings for job in jobs}
    digests = {run: digest(settings) for run, settings in runs.items()}
    return {"study": study_plan.study["study"], "experiment": experiment, "settings": names, "runs": digests}


def check_runs(paths, label: Mapping) -> None:
    """Hold the run files of an experiment against their paths and against its label.

    Raises
    ------
    DataError : a file is another one than its name says, or its run had other settings; or it is damaged
    """
    for path in paths:
        check([path])
        if "runs" not in label or not Path(path).is_file():
            continue
        with foreign(path, "whole run file", anew(path)):
            metadata = _metadata(path)
            run = "/".join(metadata[key] for key in ("stream", "learner") if key in metadata)
            settings = {name: metadata[name] for name in label["settings"] if name in metadata}
        if digest(settings) != label["runs"].get(run):
            raise DataError(path, "its run had other settings than this study has", advice=anew(path))


def told(study_plan: plan.Plan, experiment: str) -> dict:
    """All that the traces of an experiment carry: the details for reports, and the label."""
    return study_plan.details(experiment) | label(study_plan, experiment)


def check_told(path, found: Mapping, expected: str) -> None:
    """Raise a DataError unless what a file of traces carries, as `scant.present.traces.read` gives it, has a digest."""
    if digest({key: value for key, value in found.items() if key != "measures"}) != expected:
        advice = f"{anew(path)}; its runs then say whether they are the right ones"
        raise DataError(path, "it is of other settings or seeds than this study has", advice=advice)


def differing(path, metadata: Mapping, expected: Mapping) -> None:
    """Raise a DataError for the first key whose value in the metadata of a file is not the expected one."""
    for key, value in expected.items():
        if metadata.get(key) != value:
            found, wanted = _said(metadata.get(key)), _said(value)
            raise DataError(
                path, f"it is not what its name says: its {key} is {found}, not {wanted}", advice=anew(path)
            )


def _said(value) -> str:
    return json.dumps(value) if len(json.dumps(value)) < 80 else f"{json.dumps(value)[:80]}..."


def _metadata(path) -> dict:
    """The metadata of a parquet file or a stream."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if str(path).endswith(".arrow"):
        with pa.memory_map(str(path), "r") as file, pa.ipc.open_file(file) as reader:
            return metadata_of(reader.schema)
    with pq.ParquetFile(path) as file:
        return metadata_of(file.schema_arrow)


def compact(value) -> str:
    """A value as JSON in canonical form: equal ones give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value) -> str:
    """A digest of a value that JSON can hold."""
    return hashlib.sha256(compact(value).encode()).hexdigest()[:12]
