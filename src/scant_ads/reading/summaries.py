"""A job for each file of a log in a folder: its `tally.Summary` is written to a file, and all of them are put together.

A file is parquet. Its rows are the digests of the part's rows; all else is in its metadata. They also say what it was
made of: the log's files and their rows, the part as it then was, how columns were read, the policies, the training log.
Parts are put together only if all of this is the same, so that numbers equal one process's to the last bit.
"""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path

import numpy as np

from scant import __version__, files
from scant.errors import DataError, SettingError
from scant_ads.evaluation.arms import Always
from scant_ads.policies.policy import Policy
from scant_ads.progress import silent
from scant_ads.reading import summing
from scant_ads.reading.folder import Folder
from scant_ads.reading.log import Log
from scant_ads.reading.summing import Training
from scant_ads.reading.tally import Summary

KIND = "ads part"  # `kind` in the metadata of a file
VERSION = [9, __version__]  # of the file's form, and of the program whose numbers it has
HALVES = ("first", "second")
OTHER = {  # why a file cannot be used, by what differs
    "version": "is of another version of this program",
    "log": "was made when the folder had other files, or other rows in them",
    "reading": "was read with other options of reading, such as --columns or --ignore",
    "policies": "was made with other policies",
    "train": "was made with another training log",
    "file": "has changed since",
}


def write(
    log: Log, name: str, target, policies: Mapping[str, Policy | str], train: Training | None = None, progress=silent
) -> Summary:
    """Read one file of a log, and write its summary, whole or not at all.

    Parameters
    ----------
    log : the whole log
    name : of the file, in the log's folder
    target : the file to write
    policies : fitted ones, or columns `policy:NAME`, by name
    train : the log that they were learnt from

    Raises
    ------
    SettingError : the folder has no such file; a policy that is not fitted, or cannot be saved
    DataError : the file cannot be read
    """
    import pyarrow as pa

    for policy, value in policies.items():
        if isinstance(value, Policy) and not value.fitted:
            raise SettingError(f"{policy} is to be learnt once, for all parts: see `scant ads fit`")
    path = _path(log.folder, name)
    content = {"kind": KIND, "made of": _made_of(log.folder, path, policies, train)}
    summary = summing.summary(log, policies, train, progress, only=path)
    digests = np.concatenate([np.empty((2, 0), np.uint64), *summary.digests.runs()], axis=1)
    columns = {half: files.arrow_array(values, pa.uint64()) for half, values in zip(HALVES, digests, strict=True)}
    files.write_parquet(pa.table(columns), target, content | {"summary": summary.packed()})
    return summary


def read(
    log: Log, folder, policies: Mapping[str, Policy | str] | None = None, train: Training | None = None,
    progress=silent,
) -> Summary:  # fmt: skip
    """The summary of a log, from the files that `write` wrote.

    Parameters
    ----------
    log : the whole log
    folder : with a file for each file of the log, of the same name
    policies, train : as for `write`; None for any

    Raises
    ------
    DataError : a file is absent, damaged, or was made of something else
    """
    parts = log.folder
    names = [path.relative_to(parts.path) for path in parts.files]
    absent = [name for name in names if not (Path(folder) / name).is_file()]
    if absent:
        more = f" and {len(absent) - 1:,} more of {len(names):,}" if len(absent) > 1 else ""
        advice = f"Make it: scant ads part {parts.path} {absent[0]} --output {Path(folder) / absent[0]}"
        raise DataError(folder, f"there is no result for {absent[0]}{more}", advice=advice)
    whole = Summary()
    expected = _made_of(parts, None, policies, train)
    if policies is None:
        del expected["policies"], expected["train"]
    for number, (name, path) in enumerate(zip(names, parts.files, strict=True)):
        progress(f"read the results of {number:,} of {len(names):,} parts")
        result = Path(folder) / name
        with files.foreign(result, "result of `scant ads part`"):
            summary, made_of = _read(result)
        for what, value in (expected | {"file": _as_it_is(parts, path)}).items():
            if made_of.get(what) != value:
                raise DataError(result, f"{name} {OTHER[what]}", advice="Make it again, by `scant ads part`")
        with files.foreign(result, "result of `scant ads part`"):
            wrong = any(problem.severity == "error" for _, problem, _ in summary.problems.values())
            if not wrong and summary.alone.rows + summary.shared.rows != parts.counts[number]:
                raise ValueError("other rows than the part has")
            whole.merge(summary)
    log.summarised = whole
    return whole


def _read(path) -> tuple[Summary, dict]:
    """The summary in a file, and what it was made of; a ValueError for another file."""
    import pyarrow as pa

    table = files.read_parquet(path)
    content = files.metadata_of(table.schema)
    if content.get("kind") != KIND:
        raise ValueError("it holds something else")
    if content["made of"]["version"] != VERSION:
        return Summary(), content["made of"]
    if table.schema.names != [*HALVES] or {*table.schema.types} != {pa.uint64()}:
        raise ValueError("other columns")
    summary = Summary.unpacked(content["summary"])
    if table.num_rows != summary.alone.rows + summary.shared.rows:
        raise ValueError("not as many digests as rows")
    if table.num_rows:
        summary.digests.add(np.stack([table.column(half).to_numpy() for half in HALVES]))
    return summary, content["made of"]


def _path(log: Folder, name: str) -> Path:
    """The path of a file of a log; a SettingError if the log has no such file."""
    path = log.path / name
    if path not in log.files:
        raise SettingError(f"{log.path} has no parquet file {str(name)!r}: name one in it, such as "
                           f"{log.files[0].relative_to(log.path)}")  # fmt: skip
    return path


def _made_of(log: Folder, path: Path | None, policies, train: Training | None) -> dict:
    """All that the summary of a part of a log depends on, for JSON; only what all parts share if `path` is None."""
    listed = [[str(file.relative_to(log.path)), rows] for file, rows in zip(log.files, log.counts, strict=True)]
    inputs = {
        "version": VERSION, "log": hashlib.sha256(json.dumps(listed).encode()).hexdigest(),
        "reading": [log.renamed, sorted(log.ignore), sorted(log.categorical), *astuple(log.units)],
        "policies": {name: _identity(policy) for name, policy in (policies or {}).items()},
        "train": None if train is None else train.mark,
    }  # fmt: skip
    return inputs if path is None else inputs | {"file": _as_it_is(log, path)}


def _identity(policy: Policy | Always | str) -> str:
    """What tells a policy from others: its column, the ad that it shows, or the SHA-256 of its file."""
    if isinstance(policy, str):
        return f"column {policy}"
    if isinstance(policy, Always):
        return f"ad {policy.ad}"
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / "policy.arrow")
        return files.sha256(Path(folder) / "policy.arrow")


def _as_it_is(log: Folder, path: Path) -> list[str]:
    """A file's name and the SHA-256 of its content."""
    return [str(path.relative_to(log.path)), files.sha256(path)]
