"""Reads finished studies, and keeps the references that others are compared with:
results/reference/{study}.
"""

import csv
import gzip
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from scant.errors import DataError, SettingError, nearest
from scant.files import (
    anew,
    atomic,
    check_unlinked,
    harmless_text,
    number,
    read_rows,
    sha256,
    visible,
    write_text,
)
from scant.finished import manifest
from scant.verdict import readings
from scant.verdict.readings import Cell, Claim

REFERENCE = "reference"
CLAIMS, CELLS = "claims.csv", "claims-readings.csv"
NUMBERS = ("estimate", "low", "high", "n")
# identify a cell of a claim
CELL = ("claim", "experiment", "tuning", "stream", "learner", "against")
# earlier versions had no others
NEEDED = {CLAIMS: ("id", "verdict", *NUMBERS), CELLS: (*CELL, "verdict", *NUMBERS)}
# The tables of a reference.
KEPT = (
    *("finals", "top", "steps", "steps-top", "seen", "games", "slopes", "generalisation", "ads"),
    *("rankings", "rankings-learnt", "judged"),
)
KEPT_OF_CELLS = (*CELL, "first", *NUMBERS, "verdict")
# of claims: config/claims has them, but for the last
NOT_KEPT = ("source", "statement", "words", "chosen", "data")
# digits of the numbers of a reference: more than are compared, fewer than differ between processors
SIGNIFICANT = 7
ADVICE = "Finish the study (snakemake --cores all), and give the folder results/{study}"


@dataclass
class Finished:
    """A finished study, or a reference.

    folder : where it was read from
    study : its id
    claims : by id; None if the study judges none
    cells : of the claims, see `scant.verdict.readings`
    tables : the rows of each table, by name, as mappings of columns to texts
    manifest : what made it, see `scant.finished.manifest`
    """

    folder: Path
    study: str
    manifest: dict
    claims: dict[str, Claim] | None = None
    cells: list[Cell] = field(default_factory=list)
    tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    @property
    def is_reference(self) -> bool:
        """Whether it is a reference."""
        return is_reference(self.folder)


def is_reference(folder: Path) -> bool:
    """Whether the folder holds a reference: results/reference/{study}."""
    return folder.resolve().parent.name == REFERENCE


def reference_of(folder) -> Path:
    """The folder of the reference of the study in `folder`: results/reference/{study} for
    results/{study}.
    """
    folder = Path(folder)
    return folder.parent / REFERENCE / folder.resolve().name


def studied(reference: Path) -> Path:
    """The folder of the study behind a reference: the inverse of `reference_of`."""
    return reference.parent.parent / reference.name


def pair(a, b) -> tuple[Path, Path]:
    """The folders of two studies to compare. The word `reference` stands for the reference of the
    other study.

    Raises
    ------
    SettingError : both are that word
    DataError : the other is not there
    """
    if a == b == REFERENCE:
        what = f"{REFERENCE} stands for the reference of the other study"
        raise SettingError(f"{what}: give one folder, results/STUDY")
    return (reference_of(_existing(b)) if a == REFERENCE else Path(a)), (
        reference_of(_existing(a)) if b == REFERENCE else Path(b)
    )


def _existing(folder) -> Path:
    """`folder` as a path. A DataError, which suggests the nearest one, if it is not there."""
    folder = Path(folder)
    if not folder.is_dir():
        near = nearest(folder.name, [path.name for path in folder.parent.glob("*/")])
        advice = f"Did you mean {folder.with_name(near)}?" if near else ADVICE
        raise DataError(folder, "there is no such folder", advice=advice)
    return folder


def read(folder) -> Finished:
    """Read a finished study, or a reference.

    Raises
    ------
    DataError : it is not finished, and has no manifest; or a file of it is damaged, lacks a column
        or does not fit its manifest
    """
    folder = Path(folder)
    if is_reference(folder) and not folder.is_dir() and (study := studied(folder)).is_dir():
        advice = f"Make it of a finished study: scant reference {study}"
        raise DataError(folder, "there is no such folder", advice=advice)
    _existing(folder)
    made = manifest_of(folder)
    # what earlier versions of the study left behind is no part of it
    listed = made.get("files", ())
    names = [name for name in (CLAIMS, CELLS) if name in listed]
    tables = [path.stem for path in visible(folder, "tables/*.csv")]
    tables = [name for name in tables if f"tables/{name}.csv" in listed]
    if not names and not tables:
        raise DataError(folder, "holds no finished claims or tables", advice=ADVICE)
    finished = Finished(folder, made["study"], made)
    if CLAIMS in names:
        claims = readings.claims(folder / CLAIMS, NEEDED[CLAIMS], _advice(folder / CLAIMS))
        finished.claims = {claim["id"]: claim for claim in claims}
    if CELLS in names:
        finished.cells = readings.cells(folder / CELLS, NEEDED[CELLS], _advice(folder / CELLS))
    for name in tables:
        path = folder / f"tables/{name}.csv"
        finished.tables[name] = read_rows(path, _advice(path))[1]
    return finished


def keep(folder) -> Path:
    """Make a finished study the reference of its name, in place of an earlier one; returns the
    reference's folder.

    A reference has the claims, their cells, the tables KEPT and the manifest, with numbers to
    SIGNIFICANT digits; and what figures show, compressed, so that they can be drawn anew. Other
    files in its folder are left alone.

    Raises
    ------
    SettingError : the folder is a reference itself
    DataError : the study is not finished, or damaged, or of another name than its folder
    """
    folder = Path(folder)
    if is_reference(folder):
        raise SettingError(
            f"{folder} is a reference itself: give the folder of a study, results/STUDY"
        )
    study, target = read(folder), reference_of(folder)
    if study.study != (name := folder.absolute().name):
        reason = f"is of the study {study.study}, and not of {name}"
        advice = "Nothing is changed in the results of another study"
        raise DataError(folder / manifest.NAME, reason, advice=advice)
    drawn = study.manifest.get("results", {}).items()
    drawn = {name: digest for name, digest in drawn if fnmatchcase(name, "figures/*.csv")}
    _check_unchanged(folder, drawn)
    check_unlinked(target.parent)  # or what is written would follow it
    contents = {f"tables/{name}.csv": study.tables[name] for name in KEPT if name in study.tables}
    if study.claims is not None:
        cells = [{name: row[name] for name in KEPT_OF_CELLS if name in row} for row in study.cells]
        claims = [
            {name: row[name] for name in row if name not in NOT_KEPT}
            for row in study.claims.values()
        ]
        contents = {CLAIMS: claims, CELLS: cells} | contents
    contents = {name: rows for name, rows in contents.items() if rows}
    for name, rows in contents.items():
        write_text(target / name, csv_text(rows, rows[0], SIGNIFICANT))
    for name in {CLAIMS, CELLS, *(f"tables/{name}.csv" for name in KEPT)} - {*contents}:
        (target / name).unlink(missing_ok=True)
    for path in visible(target, "figures/*.csv.gz"):
        path.unlink()
    for name in drawn:
        with atomic(target / f"{name}.gz") as temporary:
            temporary.write_bytes(gzip.compress((folder / name).read_bytes(), mtime=0))
    made = {name: part for name, part in study.manifest.items() if name not in manifest.OF_A_RUN}
    made["files"] = manifest.checksums(target, contents)
    made["figures"] = drawn
    manifest.save(made, target / manifest.NAME)
    return target


def csv_text(rows: Iterable[Mapping], head: Iterable[str], significant: int | None = None) -> str:
    """Rows as CSV with the columns `head`; numbers with a decimal point to `significant` digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        cells = ("" if row[name] is None else str(row[name]) for name in head)
        writer.writerow([harmless_text(_rounded(cell, significant)) for cell in cells])
    return text.getvalue()


def _rounded(text: str, significant: int | None) -> str:
    value = number(text) if significant and "." in text else None
    return text if value is None else f"{value:.{significant}g}"


def manifest_of(folder: Path) -> dict:
    """The manifest of a study, empty if there is none. Each file under `files`, which a comparison
    of studies reads, has to have the checksum there.

    Raises
    ------
    DataError : it is damaged, or a file does not fit it
    """
    content = manifest.read(folder, _advice(folder / manifest.NAME))
    _check_unchanged(folder, content.get("files", {}))
    return content


def _check_unchanged(folder: Path, checksums: Mapping[str, str]) -> None:
    """Raise a DataError unless the folder has these files as its manifest lists them."""
    path = folder / manifest.NAME
    for name, checksum in checksums.items():
        file, reason = folder / name, f"has changed since {path} was written"
        if not file.is_file():
            reason = f"is not there, though {path} lists it"
        elif sha256(file) == checksum:
            continue
        raise DataError(file, reason, advice=_advice(file))


def _advice(path: Path) -> str:
    """How to make anew a file, of a study or a reference, that is damaged or gone: a sentence."""
    folder = next((folder for folder in path.parents[:2] if is_reference(folder)), None)
    return f"Make the reference again: scant reference {studied(folder)}" if folder else anew(path)
