"""Deletes files of a finished study that its settings no longer ask for, or that can be drawn again."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scant.compare import finished, manifest
from scant.compare.provenance import DRAWN, FINISH, FOLDERS
from scant.errors import DataError, printable
from scant.files import FOLDER_MARK
from scant.page.status import recorded


@dataclass(frozen=True)
class Prunable:
    """Files below a study's folder that its settings do not ask for.

    deleted : what `prune --delete` deletes
    size : of what is deleted, in bytes
    foreign : kept, since they are links, or no job of this study is recorded to have made them
    newer : kept, since they changed after the study was finished
    """

    deleted: list[str]
    size: int
    foreign: list[str]
    newer: list[str]


def prunable(folder, drawn: bool = False) -> Prunable:
    """What can be deleted of a finished study: files that its manifest does not list.

    Only files are deleted that Snakemake's records (`.snakemake/metadata`, in the project's folder) say that a job of
    this study made, and that have not changed since the manifest was written. Links are not followed, nor deleted.
    Logs, benchmarks and what does not lie in a folder of results are left alone.

    drawn : whether to delete streams and logs, too: most of a study's size, which jobs that need them draw again

    Raises
    ------
    SettingError : the folder is a link
    DataError : the study is not finished, has another name than its folder, or a run is at work
    """
    folder = Path(folder).absolute()
    listed, root = finished.owned(folder).get("results"), folder.parent.parent
    if not listed:
        raise DataError(folder / manifest.NAME, "lists no results", advice=FINISH)
    if any((root / ".snakemake/locks").glob("*")):
        raise DataError(
            root, "a run of Snakemake is at work here, whose files would be deleted",
            advice="Wait for its end; if it was killed: snakemake --unlock",
        )  # fmt: skip
    made, finish = {*recorded(root / ".snakemake/metadata", folder)}, (folder / manifest.NAME).stat().st_mtime_ns
    unasked = {
        name: folder / name
        for name in sorted(_files(folder))
        if name not in listed or (drawn and name.startswith(DRAWN))
    }
    ours = {
        name: path.stat()
        for name, path in unasked.items()
        if not path.is_symlink() and made.intersection(_places(f"results/{folder.name}/{name}"))
    }
    deleted = {name: about.st_size for name, about in ours.items() if about.st_mtime_ns <= finish}
    foreign = [name for name in unasked if name not in ours]
    return Prunable([*deleted], sum(deleted.values()), foreign, [name for name in ours if name not in deleted])


def _places(name: str) -> list[str]:
    """A file and the folders that it is in: where one job draws several seeds, Snakemake records the folder."""
    return [name, *map(str, Path(name).parents)]


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


def delete(folder, found: Prunable) -> None:
    """Delete those files, and the folders of draws that are empty then: Snakemake takes one that is there for drawn."""
    for name in found.deleted:
        path = Path(folder, name)
        path.unlink()
        for place in path.parents[: len(Path(name).parents) - 1]:
            if {*place.iterdir()} - {place / FOLDER_MARK}:
                break
            (place / FOLDER_MARK).unlink(missing_ok=True)
            place.rmdir()


def describe(found: Prunable, drawn: bool, deletes: bool) -> Iterator[str]:
    """What is deleted, and what is not, as lines for the terminal."""
    yield from map(printable, found.deleted)
    yield from (f"not ours, kept: {printable(name)}" for name in found.foreign)
    yield from (f"newer than {manifest.NAME}, kept: {printable(name)}" for name in found.newer)
    why = "can be made again, or are asked for" if drawn else "are asked for"
    what = "they are deleted" if deletes else "--delete deletes them"
    yield f"{len(found.deleted):,} files, {found.size / 1e6:,.0f} MB, {why} by no setting of the study; {what}."
