"""Deletes files of a finished study that its settings no longer ask for, or that can be drawn again."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scant.compare import finished, manifest
from scant.compare.provenance import DRAWN, FINISH, FOLDERS
from scant.errors import DataError, printable
from scant.files import FOLDER_MARK, sha256


@dataclass(frozen=True)
class Prunable:
    """Files below a study's folder that its settings do not ask for.

    deleted : what `prune --delete` deletes
    size : of what is deleted, in bytes
    foreign : kept, since they are links, or no manifest of this study has listed them
    changed : kept, since they are not what the manifest lists
    """

    deleted: list[str]
    size: int
    foreign: list[str]
    changed: list[str]


def prunable(folder, drawn: bool = False) -> Prunable:
    """What can be deleted of a finished study: files that only earlier states of the study asked for.

    Only files are deleted whose content is what its manifest lists for earlier states. Links are not followed, nor
    deleted. Logs, benchmarks and what does not lie in a folder of results are left alone.

    drawn : whether to delete streams and logs, too: most of a study's size, which jobs that need them draw again

    Raises
    ------
    SettingError : the folder is a link
    DataError : the study is not finished, has another name than its folder, or a run is at work
    """
    folder = Path(folder).absolute()
    content, root = finished.owned(folder), folder.parent.parent
    if not (listed := content.get("results")):
        raise DataError(folder / manifest.NAME, "lists no results", advice=FINISH)
    if any((root / ".snakemake/locks").glob("*")):
        raise DataError(
            root, "a run of Snakemake is at work here, whose files would be deleted",
            advice="Wait for its end; if it was killed: snakemake --unlock",
        )  # fmt: skip
    unasked = content.get("earlier", {}) | {name: listed[name] for name in listed if drawn and name.startswith(DRAWN)}
    deleted, foreign, changed = {}, [], []
    for name in sorted(_files(folder)):
        path = folder / name
        if name in listed and name not in unasked:
            continue
        if name not in unasked or path.is_symlink() or not path.is_file():
            foreign.append(name)
        elif sha256(path) != unasked[name]:
            changed.append(name)
        else:
            deleted[name] = path.stat().st_size
    return Prunable([*deleted], sum(deleted.values()), foreign, changed)


def _files(folder: Path) -> Iterator[str]:
    """The files in the folders of a study's results, and the links there, which are not followed.

    Without Snakemake's marks in folders: where one is gone, all that was made of the folder would be made anew.
    """
    for place, folders, names in os.walk(folder):
        if Path(place) == folder:
            folders[:], names = [name for name in folders if name in FOLDERS], []
        links = [name for name in folders if Path(place, name).is_symlink()]
        paths = (Path(place, name) for name in names + links if name != FOLDER_MARK)
        yield from (path.relative_to(folder).as_posix() for path in paths)


def delete(folder, prunable: Prunable) -> None:
    """Delete those files, and the folders of draws that are empty then: Snakemake takes one that is there for drawn."""
    for name in prunable.deleted:
        path = Path(folder, name)
        path.unlink()
        for place in path.parents[: len(Path(name).parents) - 1]:
            if {*place.iterdir()} - {place / FOLDER_MARK}:
                break
            (place / FOLDER_MARK).unlink(missing_ok=True)
            place.rmdir()


def describe(prunable: Prunable, drawn: bool, deletes: bool) -> Iterator[str]:
    """What is deleted, and what is not, as lines for the terminal."""
    yield from map(printable, prunable.deleted)
    yield from (f"not ours, kept: {printable(name)}" for name in prunable.foreign)
    yield from (f"not what {manifest.NAME} lists, kept: {printable(name)}" for name in prunable.changed)
    why = "can be made again, or are asked for" if drawn else "are asked for"
    what = "they are deleted" if deletes else "--delete deletes them"
    yield f"{len(prunable.deleted):,} files, {prunable.size / 1e6:,.0f} MB, {why} by no setting of the study; {what}."
