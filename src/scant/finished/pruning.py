"""Deletes files of a finished study that its settings no longer ask for, or that can be drawn
again.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scant.errors import DataError, printable
from scant.files import FOLDER_MARK, sha256
from scant.finished import manifest, reading
from scant.finished.provenance import DRAWN, FINISH


@dataclass(frozen=True)
class Prunable:
    """Files of a study that its manifest lists, and that its settings do not ask for.

    deleted : what `prune --delete` deletes
    size : of these, in bytes
    kept : links, or behind one, and files that are not what the manifest lists
    """

    deleted: list[str]
    size: int
    kept: list[str]


def prunable(folder, drawn: bool = False) -> Prunable:
    """What can be deleted of a finished study: files that only earlier states of the study asked
    for.

    Only files are deleted whose content is what its manifest lists for earlier states. What it does
    not list is not looked at. Links are not followed, nor deleted.

    drawn : whether to delete streams and logs, too: most of a study's size, which jobs that need
        them draw again

    Raises
    ------
    SettingError : the folder is a link
    DataError : the study is not finished, has another name than its folder, or a run is at work
    """
    folder = Path(folder).absolute()
    content, root = reading.owned(folder), folder.parent.parent
    if not (listed := content.get("results")):
        raise DataError(folder / manifest.NAME, "lists no results", advice=FINISH)
    if any((root / ".snakemake/locks").glob("*")):
        raise DataError(
            root,
            "a run of Snakemake is at work here, whose files would be deleted",
            advice="Wait for its end; if it was killed: snakemake --unlock",
        )
    unasked = content.get("earlier", {}) | {
        name: listed[name] for name in listed if drawn and name.startswith(DRAWN)
    }
    sizes, kept = {}, []
    for name, checksum in sorted(unasked.items()):
        path = folder / name
        linked = path.resolve() != folder.resolve() / name
        if not linked and path.is_file() and sha256(path) == checksum:
            sizes[name] = path.stat().st_size
        elif os.path.lexists(path):
            kept.append(name)
    return Prunable([*sizes], sum(sizes.values()), kept)


def delete(folder, prunable: Prunable) -> None:
    """Delete the files, and folders of draws that are empty then: Snakemake would take such a
    folder for drawn.
    """
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
    yield from (
        f"not what {manifest.NAME} lists, kept: {printable(name)}" for name in prunable.kept
    )
    why = "can be made again, or are asked for" if drawn else "are asked for"
    what = "they are deleted" if deletes else "--delete deletes them"
    yield (
        f"{len(prunable.deleted):,} files, {prunable.size / 1e6:,.0f} MB, {why} by no setting of "
        f"the study; {what}."
    )
