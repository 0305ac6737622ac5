"""Whether a file of a study is what its name says: its own metadata are held against its path.

A file may lie where another one belongs, and its time need not show it. Paths that
`scant.study.plan` does not compose say nothing, and are not looked at.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from scant.files import anew, damaged, foreign, metadata_of
from scant.study import plan

SEEDS = "seed-{seeds}"


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
    "click log": [plan.CLICKS],
    "run": [plan.RUN.replace("{run}", _OF_RUN), plan.RUN.replace("{run}", _OF_GAME)],
    "comparator": [plan.COMPARATOR.replace("{run}", _OF_RUN)],
}
_COMPILED = {kind: [_pattern(path) for path in paths] for kind, paths in PATTERNS.items()}
PLAYER = {"run": "learner", "comparator": "judge"}


def named(path) -> tuple[str, dict] | None:
    """What kind of file a path names ("run", "stream", ...), and what the file's metadata should
    say; None for other paths.
    """
    for kind, patterns in _COMPILED.items():
        for match in (pattern.search(str(path)) for pattern in patterns):
            if match:
                return kind, _expected(kind, match.groupdict())
    return None


def _expected(kind: str, parts: dict) -> dict:
    """The metadata of a file of a kind, of the parts of its path."""
    seeds = parts.pop("seeds", "")
    if kind in PLAYER:
        parts["seeds"] = plan.spanned(seeds)
        if "player" in parts:
            parts[PLAYER[kind]] = parts.pop("player")
        return parts
    if "seed" in parts:
        parts["seed"] = int(parts["seed"])
    if kind == "log":
        parts["log"] = parts.pop("stream")
    if kind == "table":  # a study's own sets are stored by the study's name, too
        parts["dataset"] = parts["dataset"].partition("@")[0]
    return {key: value for key, value in parts.items() if key != "study"}


def runs(study_plan: plan.Plan, experiment: str) -> plan.Runs:
    """The run files of an experiment, after a check that they are what their paths say and were
    made with this study's settings.

    Raises
    ------
    DataError : a file is another one than its name says, or its run had other settings; or it is
        damaged
    """
    files = checked(study_plan, study_plan.run_files(experiment))
    return plan.Runs(experiment, files, study_plan.details(experiment))


def checked(study_plan: plan.Plan, files: Iterable[str]) -> list[str]:
    """The paths of run files, or of files of best fixed weights, after a check that they are what
    their paths say and were made with this study's settings.

    Raises
    ------
    DataError : what `runs` raises
    """
    files = list(files)
    check(files, jobs=study_plan.made)
    return files


def check(
    paths, settings: Mapping | None = None, jobs: Mapping[str, plan.Job] | None = None
) -> None:
    """Check that the metadata of some files agree with their paths.

    settings : the settings with which the file of a stream or log should have been made
    jobs : the jobs that make some of the files, by path

    Raises
    ------
    DataError : a file is another one than its name says, or made with other settings; or it is
        damaged
    """
    for path in paths:
        # who reads it says that it is not there
        if (expected := named(path)) is None or not Path(path).is_file():
            continue
        kind, parts = expected
        with foreign(path, f"whole {kind} file", anew(path)):
            metadata = _metadata(path)
        _check_equal(path, metadata, parts)
        if job := (jobs or {}).get(str(path)):
            of_run = {name: metadata.get(name) for name in job.settings}
            if digest(of_run) != digest(job.settings):
                raise damaged(path, f"its {kind} had other settings than this study has")
        if settings and "settings" in metadata:
            _check_settings(path, kind, metadata, settings)


def _check_settings(path, kind: str, metadata: Mapping, settings: Mapping) -> None:
    """Raise a DataError for a stream or log that was made with other settings than the study has
    for it.
    """
    source = ("campaign", "dataset")
    both = settings.keys() & metadata.keys()
    _check_equal(path, metadata, {key: settings[key] for key in source if key in both})
    made_with = {key: value for key, value in metadata["settings"].items() if key != "normalised"}
    wanted = settings
    if kind == "log" and settings.get("settings"):  # of a campaign
        wanted = settings["settings"]
    elif kind == "log":  # a data set's own settings, which the study does not name, are as they are
        wanted = made_with | {key: settings[key] for key in made_with if key in settings}
    if digest(made_with) != digest(wanted):
        raise damaged(path, f"it was made with other settings: {_said(made_with)}")


def _check_equal(path, metadata: Mapping, expected: Mapping) -> None:
    """Raise a DataError for the first key whose value in the metadata of a file is not the expected
    one.
    """
    for key, value in expected.items():
        if metadata.get(key) != value:
            stored, wanted = _said(metadata.get(key)), _said(value)
            raise damaged(
                path, f"it is not what its name says: its {key} is {stored}, not {wanted}"
            )


def _said(value) -> str:
    text = json.dumps(value)
    return text if len(text) < 80 else f"{text[:80]}..."


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
    """A value as canonical JSON: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value) -> str:
    """A digest of a value that JSON can hold."""
    return hashlib.sha256(compact(value).encode()).hexdigest()[:12]
