"""Reading finished studies, and keeping what others are held to: results/reference/{study}."""

import csv
import json
import math
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from scant.compare import manifest
from scant.errors import DataError, SettingError
from scant.files import sha256, visible, write_text
from scant.page.page import VERDICTS

REFERENCE = "reference"
CLAIMS, CELLS = "claims.csv", "claims-readings.csv"
NUMBERS = ("estimate", "low", "high", "n")
CELL = ("claim", "experiment", "tuning", "stream", "learner", "against")  # what tells one cell of a claim from another
NEEDED = {CLAIMS: ("id", "verdict", *NUMBERS), CELLS: (*CELL, "verdict", *NUMBERS)}
KEPT = ("finals", "top", "games", "ads")  # the tables of a reference: how all learners end
KEPT_OF_CELLS = (*CELL, "first", *NUMBERS, "verdict")
SIGNIFICANT = 9  # digits of the numbers of a reference: more than are compared, fewer than differ between processors
ADVICE = "Finish the study (snakemake --cores all), and give the folder results/{study}"


@dataclass(frozen=True)
class Finished:
    """A finished study, or a reference. Rows are mappings of columns to texts, as in the CSV files.

    folder : where it was read from
    study : its id
    claims : the row of each claim, by id; None if the study judges none
    cells : the rows of claims-readings.csv
    tables : the rows of each table, by name
    manifest : what made it, see `scant.compare.manifest`; empty if the study was made before there were manifests
    """

    folder: Path
    study: str
    claims: dict[str, dict[str, str]] | None = None
    cells: list[dict[str, str]] = field(default_factory=list)
    tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    manifest: dict = field(default_factory=dict)

    @property
    def is_reference(self) -> bool:
        """Whether it is what `keep` keeps of a study."""
        return is_reference(self.folder)


def is_reference(folder: Path) -> bool:
    """Whether the folder is that of a reference, results/reference/{study}."""
    return folder.resolve().parent.name == REFERENCE


def reference_of(folder) -> Path:
    """The folder of the reference of the study in `folder`: results/reference/{study} for results/{study}."""
    folder = Path(folder)
    return folder.parent / REFERENCE / folder.resolve().name


def studied(reference: Path) -> Path:
    """The folder of the study that a reference is of: the inverse of `reference_of`."""
    return reference.parent.parent / reference.name


def pair(a, b) -> tuple[Path, Path]:
    """The folders of two studies to compare. The word `reference` stands for that of the other study.

    Raises
    ------
    SettingError : both are that word
    """
    if a == b == REFERENCE:
        raise SettingError(f"{REFERENCE} stands for the reference of the other study: give one folder, results/STUDY")
    return (reference_of(b) if a == REFERENCE else Path(a)), (reference_of(a) if b == REFERENCE else Path(b))


def read(folder) -> Finished:
    """Read a finished study, or a reference.

    Raises
    ------
    DataError : it is not finished, or a file of it is damaged, lacks a column or does not fit its manifest
    """
    folder = Path(folder)
    if not folder.is_dir():
        advice = f"Make it of a finished study: scant reference {studied(folder)}"
        raise DataError(folder, "there is no such folder", advice=advice if is_reference(folder) else ADVICE)
    made = manifest_of(folder)
    names = [name for name in (CLAIMS, CELLS) if (folder / name).is_file()]
    tables = [path.stem for path in visible(folder, "tables/*.csv")]
    if made:  # files that earlier versions of the study left behind are no part of it
        names = [name for name in names if name in made["files"]]
        tables = [name for name in tables if f"tables/{name}.csv" in made["files"]]
    if not names and not tables:
        raise DataError(folder, "holds no finished claims or tables", advice=ADVICE)
    rows = {name: _rows(folder / name, NEEDED[name]) for name in names}
    return Finished(
        folder,
        made.get("study", folder.resolve().name),
        _claims(folder / CLAIMS, rows[CLAIMS]) if CLAIMS in rows else None,
        rows.get(CELLS, []),
        {name: _rows(folder / f"tables/{name}.csv") for name in tables},
        made,
    )


def keep(folder) -> Path:
    """Make a finished study the reference of its name, instead of the one before; returns the reference's folder.

    A reference is small: the claims, their cells, the tables KEPT and the manifest, with numbers to SIGNIFICANT digits.

    Raises
    ------
    SettingError : the folder is a reference itself
    DataError : the study is not finished, or damaged
    """
    folder = Path(folder)
    if is_reference(folder):
        raise SettingError(f"{folder} is a reference itself: give the folder of a study, results/STUDY")
    study, target = read(folder), reference_of(folder)
    if not study.manifest:
        raise DataError(folder, f"has no {manifest.NAME}, which says what made it", advice=ADVICE)
    shutil.rmtree(target, ignore_errors=True)
    contents = {f"tables/{name}.csv": study.tables[name] for name in KEPT if name in study.tables}
    if study.claims is not None:
        cells = [{name: row[name] for name in KEPT_OF_CELLS if name in row} for row in study.cells]
        contents = {CLAIMS: list(study.claims.values()), CELLS: cells} | contents
    contents = {name: rows for name, rows in contents.items() if rows}
    for name, rows in contents.items():
        write_text(target / name, csv_text(rows, rows[0], SIGNIFICANT))
    made = {name: part for name, part in study.manifest.items() if name not in manifest.OF_A_RUN}
    made["files"] = manifest.checksums(target, contents)
    manifest.save(made, target / manifest.NAME)
    return target


def csv_text(rows: Iterable[dict[str, str]], head: Iterable[str], significant: int | None = None) -> str:
    """Rows of texts as CSV with the columns `head`; numbers that have a point to so many significant digits."""
    lines = [list(head), *([_rounded(row[name], significant) for name in head] for row in rows)]
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines)


def _quoted(text: str) -> str:
    """A cell as CSV has it."""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n\r') else text


def _rounded(text: str, significant: int | None) -> str:
    value = number(text) if significant and "." in text else None
    return text if value is None else f"{value:.{significant}g}"


def number(text: str | None) -> float | None:
    """The number that a cell holds; None if it is empty or holds something else."""
    try:
        value = float(text) if text else math.nan
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _rows(path: Path, needed: Iterable[str] = ()) -> list[dict[str, str]]:
    """The rows of a CSV file. DataError if they differ in length, or a needed column is missing."""
    again = "Make it again (snakemake --cores all)"
    try:
        with open(path, encoding="utf-8", newline="") as file:
            head, *lines = csv.reader(file, strict=True)
    except (ValueError, csv.Error):
        raise DataError(path, "is no table with a head", advice=again) from None
    if wrong := [number for number, line in enumerate(lines, 2) if len(line) != len(head)]:
        raise DataError(path, f"has not {len(head)} cells", wrong[0], again)
    if missing := [name for name in needed if name not in head]:
        raise DataError(path, f"lacks the columns {', '.join(missing)}", advice=again)
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    for line, row in enumerate(rows, 2):
        for name in NUMBERS if needed else ():
            if row[name] and number(row[name]) is None:
                raise DataError(path, f"has {row[name]!r} for {name}, which is no number", line, again)
    return rows


def _claims(path: Path, rows: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """The rows of claims by id. DataError for an id that occurs twice, or a verdict that is none."""
    by_id = {}
    for line, row in enumerate(rows, 2):
        if row["verdict"] not in VERDICTS:
            raise DataError(path, f"{row['verdict']!r} is none of the verdicts {', '.join(VERDICTS)}", line)
        if row["id"] in by_id:
            raise DataError(path, f"the claim {row['id']} is there twice", line)
        by_id[row["id"]] = row
    return by_id


def manifest_of(folder: Path, held: bool = True) -> dict:
    """The manifest of a study, held against the files that studies are compared by unless told not to.

    It is empty if there is none.

    Raises
    ------
    DataError : it is damaged, or a file does not fit it
    """
    path = folder / manifest.NAME
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        checksums = dict(content["files"])
        sections = [content[name] for name in ("settings", "claims", "code", "modules", "versions", "data")]
        whole = isinstance(content["study"], str) and all(isinstance(section, dict) for section in sections)
    except (ValueError, LookupError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise DataError(path, "is no whole manifest of a study", advice=f"Remove it. {_again(folder)}")
    for name, checksum in checksums.items() if held else ():
        if not (folder / name).is_file():
            raise DataError(folder / name, f"is not there, though {path} lists it", advice=_again(folder))
        if sha256(folder / name) != checksum:
            raise DataError(folder / name, f"has changed since {path} was written", advice=_again(folder))
    return content


def _again(folder: Path) -> str:
    return (
        f"Make the reference again: scant reference {folder.parent.parent / folder.name}"
        if is_reference(folder)
        else ADVICE
    )
