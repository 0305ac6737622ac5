"""Whether the results of a study are still what was made."""

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scant.errors import DataError
from scant.files import anew, sha256
from scant.finished import manifest, provenance
from scant.schema import PROJECT
from scant.study import code


class Verified(NamedTuple):
    """How a study's files compare with its manifest.

    same : the number of files that are as they were
    changed, gone : the names of files that have changed, and of files that are missing
    drawn, unpacked : the number of files that may be missing and are not in `gone`: streams and
        logs, which a user deletes to free room; files that this archive was packed without
    workflow : the files of the workflow here, or read by the study, that are not as they were
    modules : scant's modules that have changed since they made the study; None if that cannot be
        told, since another version of Python made it, whose syntax trees differ
    made_by : the version of scant that made the study, with its commit
    """

    same: int
    changed: list[str]
    gone: list[str]
    drawn: int = 0
    workflow: tuple[str, ...] = ()
    unpacked: int = 0
    modules: tuple[str, ...] | None = ()
    made_by: str = ""


def verify(folder) -> Verified:
    """Compare all files of a study's results, and the workflow here, with the checksums of its
    manifest.

    Raises
    ------
    DataError : it has no manifest, a damaged one, or one without checksums of its results
    """
    folder = Path(folder)
    content = manifest.read(folder)
    if not (listed := content.get("results")):
        raise DataError(
            folder / manifest.NAME, "is not there, or lists no results", advice=provenance.FINISH
        )
    absent = [name for name in listed if not (folder / name).is_file()]
    archived = (folder.absolute().parents[1] / provenance.CRATE).is_file()
    large = provenance.LARGE if archived else provenance.DRAWN
    gone = [name for name in absent if not name.startswith(large)]
    spared = len(absent) - len(gone)
    present = {name: listed[name] for name in listed if name not in absent}
    changed = [name for name in present if sha256(folder / name) != present[name]]
    made_by = content.get("workflow", {}) | content.get("inputs", {})
    files = {name: provenance.source(name, folder) for name in content.get("inputs", {})}
    files = {name: PROJECT / name for name in provenance.workflow()} | files
    here = {name: sha256(path) for name, path in files.items() if path.is_file()}
    other = tuple(name for name in {**here, **made_by} if made_by.get(name) != here.get(name))
    drawn, unpacked = (0, spared) if archived else (spared, 0)
    version = f"scant {content['versions'].get('scant', 'of no known version')}"
    scant = f"{version}, commit {provenance.commit(content['made'])}"
    same = len(present) - len(changed)
    return Verified(same, changed, gone, drawn, other, unpacked, _other_modules(content), scant)


def _other_modules(content: dict) -> tuple[str, ...] | None:
    """The `modules` of `Verified`; content : the manifest"""
    python = str(content["versions"].get("Python")).split(".")
    if python[:2] != platform.python_version().split(".")[:2]:
        return None
    listed = {name: made for name, made in content["modules"].items() if name.startswith("scant")}
    here = code.digests(*listed)
    return tuple(name for name, made in listed.items() if here.get(name) != made)


def describe(verified: Verified, folder: Path) -> Iterator[str]:
    """What `verify` found in a folder, as lines for the terminal."""
    yield f"{verified.same:,} files are what they were when the study was made."
    if verified.drawn:
        yield f"{verified.drawn:,} streams and logs are gone: what needs them draws them again."
    if verified.unpacked:
        yield (
            f"{verified.unpacked:,} runs, streams and logs were never packed into this archive: "
            "snakemake runs"
        )
    yield from (f"changed: {name}" for name in verified.changed)
    yield from (f"gone: {name}" for name in verified.gone)
    if wrong := verified.changed + verified.gone:
        yield f"{anew(folder / wrong[0])}." + (" The others likewise." if wrong[1:] else "")
    if verified.workflow:
        yield (
            "The workflow here, or what the study reads, is not the one that the manifest lists: "
            f"{verified.workflow[0]} differs, for example."
        )
    if verified.modules is None:
        yield (
            f"Whether the code here made the study ({verified.made_by}) cannot be told under "
            "another version of Python."
        )
    elif verified.modules:
        yield (
            f"The code here is not the code that made the study ({verified.made_by}): "
            f"{verified.modules[0]} differs, for example."
        )
    else:
        yield f"The code here is the code that made the study ({verified.made_by})."
