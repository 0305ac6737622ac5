"""What differs between two studies, as CSV and as a page."""

import math
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from scant.compare.differences import MEANINGS, SAME, Change, Comparison, Estimate, Judged
from scant.compare.finished import csv_text
from scant.compare.words import MADE_BY, both, called, has_value, sentences
from scant.errors import printable_lines
from scant.files import write_text
from scant.page import page

LISTED = 500  # items of a part on the page; the CSV has all
COLUMNS = (
    "part",
    "name",
    "where",
    "column",
    "difference",
    "a",
    "a_low",
    "a_high",
    "a_n",
    "b",
    "b_low",
    "b_high",
    "b_n",
)


def rows(comparison: Comparison) -> list[dict[str, str]]:
    """All that differs as rows of texts, in full precision, with the columns COLUMNS.

    part : "verdict", "estimate", "cell verdict", "cell", "table", "settings", "code", "modules", "versions", "data" or
        "restated"
    name, where, column : what differs: a claim's id and its cell; a table, its row and its column; a setting's path of
        keys; a part of the code, a module, a package or a data set
    difference : for estimates and tables, a key of `scant.compare.differences.MEANINGS`
    a, b : in A and in B, with the ends of the interval and the number of seeds of an estimate
    """
    listed = []
    for judged, part in (([*comparison.claims, *comparison.alone], ""), (comparison.cells, "cell ")):
        for item in judged:
            if item.turned or not item.shared:
                listed.append(_row(f"{part}verdict", item.name, item.where, "", "", *item.verdicts))
    for judged, part in (([*comparison.claims, *comparison.alone], "estimate"), (comparison.cells, "cell")):
        for item in judged:
            if item.how != SAME:
                listed.append(_row(part, item.name, item.where, "", item.how, item.a, item.b))
    for name, cells in comparison.tables.items():
        listed += [_row("table", name, cell.row, cell.column, cell.how, cell.a, cell.b) for cell in cells]
    for part in ("settings", "code", "modules", "versions", "data"):
        listed += [_row(part, change.name, "", "", "", change.a, change.b) for change in getattr(comparison, part)]
    return listed + [_row("restated", name, "", "", "", "", "") for name in comparison.restated]


def _row(*values) -> dict[str, str]:
    *identity, a, b = values
    return dict(zip(COLUMNS, [*identity, *_side(a), *_side(b)], strict=True))


def _side(value: Estimate | str | None) -> list[str]:
    """An estimate, or a text, in four columns."""
    if isinstance(value, Estimate):
        return ["" if number is None else repr(number) for number in value]
    return [value or "", "", "", ""]


def write(comparison: Comparison, stem) -> None:
    """Write what differs as `stem`.csv, with the columns COLUMNS, and as the page `stem`.html."""
    table, page_file = files(stem)
    write_text(table, _csv(comparison))
    write_text(page_file, printable_lines(html(comparison, table.name)))


def _csv(comparison: Comparison) -> str:
    """All that differs as CSV. What could steer a terminal that shows it is escaped."""
    return printable_lines(csv_text(rows(comparison), COLUMNS))


def files(stem) -> tuple[Path, Path]:
    """The files that `write` writes."""
    stem = Path(stem)
    return stem.with_name(f"{stem.name}.csv"), stem.with_name(f"{stem.name}.html")


def html(comparison: Comparison, file: str) -> str:
    """The page of a comparison: one file that loads no other, in the look of a study's page.

    file : the name of the CSV that it offers
    """
    sections = [
        _judged("verdicts", "Verdicts", comparison.turned),
        _judged(
            "estimates", "Estimates", [claim for claim in comparison.claims if not claim.turned and claim.how != SAME]
        ),
        _judged("cells", "Cells", [cell for cell in comparison.cells if cell.turned or cell.how != SAME]),
        _tables(comparison),
        *(_changes(part, title, getattr(comparison, part)) for part, title in MADE_BY.items()),
        _changes("modules", "Modules", comparison.modules),
        _changes(
            "restated", "Claims that are tested otherwise", [Change(name, "", "") for name in comparison.restated]
        ),
    ]
    title = (
        f"{comparison.a.study} and {comparison.b.study}"
        if comparison.a.study != comparison.b.study
        else f"{comparison.a.study}: A and B"
    )
    csv = "data:text/csv;charset=utf-8," + quote(_csv(comparison), safe=" ,.:;/@()[]|=+*-")
    parts = {
        "study": title, "a": called(comparison.a), "b": called(comparison.b), "sentences": sentences(comparison),
        "csv": csv,
        "file": file, "sections": [section for section in sections if section["items"]], "listed": LISTED,
        "meanings": MEANINGS, "verdicts": page.VERDICTS,
    }  # fmt: skip
    return page.render(parts, "compare.html")


def _section(id: str, title: str, items: int, judged: Iterable[dict] = (), tables: Iterable[dict] = ()) -> dict:
    """A section of the page; `items` is how many there are, of which the first LISTED are shown."""
    return {"id": id, "title": title, "items": items, "judged": [*judged], "tables": [*tables]}


def _judged(id: str, title: str, items: list[Judged]) -> dict:
    rows = [
        dict(zip("ab", both(item.a, item.b), strict=True))
        | {"name": item.name, "where": item.where, "verdicts": item.verdicts, "how": item.how}
        | {"statement": item.row.get("statement", ""), "places": _places(item)}
        for item in items[:LISTED]
    ]
    return _section(id, title, len(items), judged=rows)


def _places(item: Judged) -> dict[str, tuple]:
    """Where to draw low end, estimate and high end of both sides, from 16 to 232; empty unless both have estimates."""
    if not (has_value(item.a) and has_value(item.b)):
        return {}
    sides = {"A": item.a, "B": item.b}
    values = [value for side in sides.values() for value in side[:3] if value is not None]
    if not all(map(math.isfinite, values)):
        return {}
    first, width = min(values), (max(values) - min(values)) or 1.0

    def at(value: float | None) -> float | None:
        return None if value is None else round(16 + 216 * (value - first) / width, 1)

    return {name: (at(side.low), at(side.value), at(side.high)) for name, side in sides.items()}


def _tables(comparison: Comparison) -> dict:
    tables = []
    for name, cells in comparison.tables.items():
        if cells:
            lines = [(cell.row, cell.column, *both(cell.a, cell.b), cell.how) for cell in cells[:LISTED]]
            tables.append({"title": name} | _table_of(("row", "column", "A", "B", "difference"), lines))
    return _section("tables", "Tables", max(map(len, comparison.tables.values()), default=0), tables=tables)


def _changes(id: str, title: str, changes: list[Change]) -> dict:
    lines = [[text or page.ABSENT for text in change] for change in changes[:LISTED]]
    return _section(id, title, len(changes), tables=[{"title": ""} | _table_of(("", "A", "B"), lines)])


def _table_of(head: Iterable[str], lines: Iterable[Iterable[str]]) -> dict:
    """A table of texts for the template."""
    return {"columns": [(name, False) for name in head], "rows": [[(text, text) for text in line] for line in lines]}
