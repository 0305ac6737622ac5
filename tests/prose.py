"""Numbers, verdicts and images in README and docs that come from a study.

Each number and verdict carries a mark, which says where it is from.

A mark is a comment of Markdown right after the number or the word, which readers do not see:

    0.452<!-- default/finals stream=mq2008 learner=slam: ndcg@10 -->
    13<!-- default/claims row=reproduction verdict=holds: count -->
    fails<!-- default/claims id=top-competitive: verdict -->

It names the study and the table of its reference (results/reference/STUDY/claims.csv,
claims-readings.csv, tables/TABLE.csv, or a figure's data, figures/FIGURE.csv.gz), settings that
select rows (KEY=VALUE, or KEY!=VALUE for all others), and the column of the one row that they
select. `count` is how many rows they select, and "COLUMN ±" half of a column's interval. A number
is rounded as it is printed, ends of intervals outwards; before a percent sign it is 100 times what
the table has. A verdict is one of `scant.verdict.words.VERDICTS`, which may be bold; the sentence
around it has to be right with any of them.

In a section of results, one that has a mark or an image of a study, no number that a run could have
made and no verdict stands bare. Let alone are code, headings, links, whole numbers below 1,000,
sizes ("10,000 rounds"), the level 95 % and places ("Figure 3.1"). What else is no result says so,
in a comment right after it, or at the end of a line for the whole line:

    0.05<!-- set -->      a setting or a margin, or what somebody else wrote down
    0.0024<!-- exact -->  what is computed without a run

An image is docs/images/STUDY/FIGURE.png: what today's code draws from what the study's reference
holds of the figure.

Tables of what the package declares are written anew, too: see tests/declared.py.

    python tests/prose.py           # says which numbers and images are not those of the references
    python tests/prose.py --write   # puts those of the references in their place
"""

import argparse
import csv
import gzip
import itertools
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import declared
import drawn
import numpy as np
from PIL import Image

from scant.present import figures
from scant.present.rounding import rounded
from scant.verdict.words import VERDICTS

ROOT = Path(__file__).parents[1]
NUMBER = rf"(?P<number>[-+]?\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(VERDICTS)}))(?P<unit>(?: ?%|\*\*)?)"
MARKED = re.compile(
    NUMBER
    + (
        r"<!-- (?P<study>[\w-]+)/(?P<table>[\w.-]+)(?P<where>(?: [^:>]+=[^:>]*)?): "
        r"(?P<column>[^>]+?) -->"
    )
)
MARK = re.compile(r"<!-- [\w-]+/[\w.-]+[^>]*: [^>]+ -->")
EXEMPT = r"<!-- (?:set|exact) -->"
PLACE = r"\d+(?:\.\d+)+[a-z]?"
PLACES = r"thesis|sections?|Figures?|Tables?|Theorems?|Corollar(?:y|ies)|Lemma|eq\.|arXiv"
SIZES = r"rounds|queries|documents|examples|rows|visits|logs|features|seeds|cells"
LET_ALONE = re.compile(
    "|".join(
        [
            r"(?s:^```.*?^```)|^#.*$|`[^`\n]*`|\]\([^)\s]*\)",  # code, headings, links
            rf"^.* {EXEMPT}[ |]*$|\S*{EXEMPT}",  # what says that it is no result
            rf"(?:{PLACES})\s{PLACE}|(?:,|and|to) {PLACE}(?=[,;)])|\({PLACE}(?:, .*?)?\)",
            r"\b\d+(?:\.\d+){2,}|\b(?:19|20)\d\d\b|\b95 %|\btop \d of \d",
            rf"\b[\d,]+ (?:\w+ )?(?:{SIZES})\b",
            r"\b\w (?:=|up to) [\d.,^]+(?: (?:to|and) [\d,^]+)?|\w\^\S+",  # T = 10,000; m^2
        ]
    ),
    re.MULTILINE,
)
BARE = re.compile(
    r"[-+±]? ?\d[\d,]*\.\d+|[-+±]? ?[\d.]+ ?%|± ?\d+|\b\d{1,3}(?:,\d{3})+|\b\d{4,}\b|\b\d+ of \d+\b"
    rf"|\b(?:{'|'.join(VERDICTS)})\b"
)


class Marked(NamedTuple):
    """A number or verdict with a mark: where it is, as it is printed, and as its table has it."""

    path: Path
    line: int
    printed: str
    expected: str
    span: tuple[int, int]


class Unresolved(Exception):
    """A mark that names no single number."""


FENCED = re.compile(r"(?s:^```.*?^```)", re.MULTILINE)
IMAGE = re.compile(r"!\[[^\]]*\]\((?:docs/)?images/(?P<name>[\w-]+/[\w.-]+)\.png\)")
ALIKE = 1e-3  # of the pixels: processors round otherwise where lines are drawn soft


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def numbers(path: Path) -> Iterator[Marked]:
    """The numbers and verdicts of a document that carry marks.

    Raises
    ------
    Unresolved : a mark is not after a number or verdict, or names no table, row or column; names
        the line
    """
    text = path.read_text(encoding="utf-8")
    found = list(MARKED.finditer(text))
    if astray := {match.end() for match in MARK.finditer(text)} - {match.end() for match in found}:
        raise Unresolved(
            f"{path.name}:{text.count(chr(10), 0, min(astray)) + 1}: the mark is not after a "
            "number or verdict"
        )
    for match in found:
        line = text.count("\n", 0, match.start()) + 1
        try:
            value, printed = (
                _value(match["study"], match["table"], match["where"], match["column"]),
                match["number"],
            )
            percent = match["unit"].endswith("%")
            expected = _printed(value, printed, percent, match["column"])
        except Unresolved as error:
            raise Unresolved(f"{path.name}:{line}: {error}") from None
        yield Marked(path, line, printed, expected, match.span("number"))


def bare(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each number and verdict in a section of results that nothing fills in."""
    text = path.read_text(encoding="utf-8")
    headings = re.finditer("^#", _blanked(text, FENCED), re.MULTILINE)
    edges = [0, *(match.start() for match in headings), len(text)]
    for start, end in itertools.pairwise(edges):
        section = text[start:end]
        if not (MARKED.search(section) or IMAGE.search(section)):
            continue
        left = _blanked(_blanked(section, MARKED), LET_ALONE)
        for match in BARE.finditer(left):
            yield text.count("\n", 0, start + match.start()) + 1, match.group().strip()


def _blanked(text: str, pattern: re.Pattern) -> str:
    """The text with blanks in the place of what matches."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _value(study: str, table: str, where: str, column: str) -> str | int | float:
    folder = ROOT / "results/reference" / study
    if table in ("claims", "claims-readings"):
        path = folder / f"{table}.csv"
    elif table.startswith("figure-"):
        path = folder / f"figures/{table}.csv.gz"
    else:
        path = folder / f"tables/{table}.csv"
    if not path.is_file():
        raise Unresolved(f"there is no {path.relative_to(ROOT)}")
    wanted = [part.partition("=")[::2] for part in shlex.split(where)]
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        head, rows = reader.fieldnames, list(reader)
    name, half, _ = column.partition(" ±")
    ends = [f"{name}_low", f"{name}_high"] if f"{name}_low" in head else ["low", "high"]
    used = [*(name.removesuffix("!") for name, _ in wanted), *(ends if half else [column])]
    if unknown := [name for name in used if name not in (*head, "count")]:
        raise Unresolved(f"{path.relative_to(ROOT)} has no column {unknown[0]}")
    for name, value in wanted:
        rows = [row for row in rows if (row[name.removesuffix("!")] == value) != name.endswith("!")]
    if column == "count":
        return len(rows)
    if len(rows) != 1:
        raise Unresolved(f"{path.relative_to(ROOT)} has {len(rows)} rows with {where.strip()}")
    return (float(rows[0][ends[1]]) - float(rows[0][ends[0]])) / 2 if half else rows[0][column]


def _printed(value: str | int | float, like: str, percent: bool, column: str) -> str:
    """A word as it is; a number with as many decimals, and with a sign and commas if the other has
    them. Ends of intervals are rounded outwards, and halves of them up.

    Raises
    ------
    Unresolved : one is a number and the other is not
    """
    if like in VERDICTS:
        if value not in VERDICTS:
            raise Unresolved(f"{value} is no verdict that a sentence can have: write it otherwise")
        return value
    try:
        value = float(value) * (100 if percent else 1)
    except ValueError:
        raise Unresolved(f"{value!r} is no number") from None
    decimals = len(like.partition(".")[2])
    sign = "+" if like[0] == "+" else ""
    thousands = "," if "," in like or abs(value) >= 1e4 else ""
    end = "high" if column.endswith(" ±") else column
    return rounded(value, f"{sign}{thousands}.{decimals}f", end)


def images() -> dict[str, Path]:
    """The image STUDY/FIGURE of each that the documents show."""
    texts = (path.read_text("utf-8") for path in documents())
    named = sorted({match["name"] for text in texts for match in IMAGE.finditer(text)})
    return {name: ROOT / "docs/images" / f"{name}.png" for name in named}


def drawn_anew(name: str, folder: Path) -> Path:
    """Draw a figure, STUDY/FIGURE, from its study's reference to a PNG file in a folder."""
    stem = folder / Path(name).name
    shown = drawn.frame(name)
    figures.save(drawn.draw(shown, stem.name), shown, stem)
    return folder / f"{stem.name}.png"


def same_image(one: Path, other: Path) -> bool:
    """Whether two images of figures show the same data alike."""
    (data, first), (others, second) = map(_content, (one, other))
    if data != others or first.shape != second.shape:
        return False
    return np.mean(np.abs(first - second).max(axis=-1) > 25) < ALIKE


def _content(path: Path) -> tuple[str, np.ndarray]:
    """What an image says that it shows, and its pixels."""
    with Image.open(path) as image:
        return image.info["Description"].partition(", code")[0], np.asarray(image, dtype=int)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the tables' numbers in the place of those that differ",
    )
    write, wrong = parser.parse_args().write, 0
    for path in documents():
        text = path.read_text(encoding="utf-8")
        for marked in reversed(list(numbers(path))):
            if marked.printed != marked.expected:
                wrong += not write
                print(
                    f"{path.name}:{marked.line}: {marked.printed}, and the table has "
                    f"{marked.expected}"
                )
                text = text[: marked.span[0]] + marked.expected + text[marked.span[1] :]
        if declared.renewed(text) != text:
            wrong += not write
            print(f"{path.name}: a table is not what the package declares")
        if write:
            path.write_text(declared.renewed(text), encoding="utf-8")
        for line, number in bare(path):
            wrong += 1
            print(
                f"{path.name}:{line}: {number} is bare: a mark has to fill it in, or say that it "
                "is no result"
            )
    with tempfile.TemporaryDirectory() as folder:
        for name, image in images().items():
            anew = drawn_anew(name, Path(folder))
            if image.is_file() and same_image(image, anew):
                continue
            wrong += not write
            print(f"{name}: the image is not what is drawn today" + (", put right" * write))
            if write:
                image.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(anew, image)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
