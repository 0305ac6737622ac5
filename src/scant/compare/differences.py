"""What differs between two finished studies: verdicts, estimates, tables, settings, code, packages and data."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from scant.compare.finished import CELL, NUMBERS, Finished, number
from scant.errors import SettingError
from scant.verdict import readings

RELATIVE, ABSOLUTE = 1e-6, 1e-9  # numbers within the first of the larger, or within the second, are equal to rounding
# How an estimate of B lies to that of A, the most telling first.
ONLY_A, ONLY_B = "only in A", "only in B"
APART, UNEQUAL, OUTSIDE, WITHIN, INTERVAL, SAME = "apart", "unequal", "outside", "within", "interval", "same"
MEANINGS = {
    ONLY_A: "A has an estimate, B has none",
    ONLY_B: "B has an estimate, A has none",
    APART: "the intervals of A and B do not overlap",
    UNEQUAL: "the estimates differ, and at least one of them has no interval",
    OUTSIDE: "the intervals overlap, but an estimate lies outside the other's interval",
    WITHIN: "the estimates differ, and each lies within the other's interval",
    INTERVAL: "the estimates are the same to rounding, their intervals are not",
    SAME: f"all numbers are the same to rounding: within {RELATIVE:g} of the larger, or {ABSOLUTE:g}",
}
HOWS = tuple(MEANINGS)
BEYOND = (APART, UNEQUAL)  # moved beyond their intervals
# Columns of tables that say what a row is about; the first where they hold words, as `bound` does in some tables.
NAMES = (
    *("experiment", "stream", "log", "campaign", "policy", "learner", "against", "measure", "tuning", "along"),
    *("estimator", "bound", "part"),
)
LEVELS = ("rounds", "epsilon", "seed")
ENDS = ("_low", "_high")


class Estimate(NamedTuple):
    """An estimate with the ends of its interval and the number of seeds; each None if there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: float | None = None


@dataclass(frozen=True)
class Judged:
    """A claim, or a cell of one, in both studies.

    name : the claim's id
    where : which cell of the claim it is, in words; "" for the claim as a whole
    verdicts : in A and in B; "" in a study that does not judge it
    a, b : the estimates; None in a study that does not judge it
    how : a key of MEANINGS
    row : the row of the claim or cell in B, with what only that in A has: references have no statements
    """

    name: str
    where: str
    verdicts: tuple[str, str]
    a: Estimate | None
    b: Estimate | None
    how: str
    row: readings.Claim | readings.Cell

    @property
    def shared(self) -> bool:
        """Whether both studies judge it."""
        return "" not in self.verdicts

    @property
    def turned(self) -> bool:
        """Whether both studies judge it, and their verdicts differ."""
        return self.shared and self.verdicts[0] != self.verdicts[1]


@dataclass(frozen=True)
class Cell:
    """A cell of a table that differs: its table, row (in words) and column; its text or estimate in both."""

    table: str
    row: str
    column: str
    a: Estimate | str | None
    b: Estimate | str | None
    how: str


class Change(NamedTuple):
    """A setting, version or checksum that differs, as text; "" in the study that has none."""

    name: str
    a: str
    b: str


@dataclass(frozen=True)
class Comparison:
    """What differs between the studies A and B.

    claims, cells : judged in both studies, whether they differ or not; what changed most comes first
    alone : the claims that only one study judges
    tables : by table, the cells that differ; what changed most comes first
    rows : by table, how many rows both studies have
    settings, code, modules, versions, data : what differs, by key path, part of the code, module, package, data set
    restated : the claims that are tested otherwise
    """

    a: Finished
    b: Finished
    claims: list[Judged]
    cells: list[Judged]
    alone: list[Judged]
    tables: dict[str, list[Cell]]
    rows: dict[str, int]
    settings: list[Change]
    code: list[Change]
    modules: list[Change]
    versions: list[Change]
    data: list[Change]
    restated: list[str]

    @property
    def documented(self) -> bool:
        """Whether both studies have a manifest; if not, nothing is known of what made them."""
        return bool(self.a.manifest and self.b.manifest)

    @property
    def alike(self) -> bool:
        """Whether both have the same settings, and so the same seeds, and the same data."""
        return self.documented and not self.settings and not self.data

    @property
    def turned(self) -> list[Judged]:
        """The claims whose verdicts differ."""
        return [claim for claim in self.claims if claim.turned]

    def fails(self, on: str) -> bool:
        """Whether the studies differ in verdicts, or in what they judge; if `on` is "estimates", or in estimates that
        moved beyond their intervals; if it is "numbers", or in any number by more than rounding.
        """
        judged = [*self.claims, *self.cells]
        differs = bool(self.turned or self.alone)
        if on == "estimates":
            differs |= any(item.how in (*BEYOND, ONLY_A, ONLY_B) for item in judged)
        elif on == "numbers":
            differs |= any(item.how != SAME for item in judged) or any(self.tables.values())
        return differs


def compare(a: Finished, b: Finished) -> Comparison:
    """What differs between two studies. Columns and tables of only one of them are left out.

    Raises
    ------
    SettingError : they have neither claims nor a table in common
    """
    judged = a.claims is not None and b.claims is not None
    tables = [name for name in b.tables if name in a.tables]
    if not judged and not tables:
        raise SettingError(
            f"{a.folder} and {b.folder} have no claims and no table in common: there is nothing to compare"
        )
    cells_by_table, rows = {}, {}
    for name in tables:
        cells_by_table[name], rows[name] = compare_tables(name, a.tables[name], b.tables[name])
    made = [study.manifest if a.manifest and b.manifest else {} for study in (a, b)]
    changes = {
        part: differing(*(manifest.get(part, {}) for manifest in made))
        for part in ("settings", "code", "versions", "data", "modules", "claims")
    }
    claims = _ordered(_claims(a.claims, b.claims) if judged else [])
    alone = [claim for claim in claims if not claim.shared]
    only = {claim.name for claim in alone}
    cells = [cell for cell in _cells(a.cells, b.cells) if cell.name not in only] if judged else []
    both = {part: [change for change in changes.pop(part) if change.a and change.b] for part in ("modules", "claims")}
    return Comparison(
        a=a,
        b=b,
        claims=[claim for claim in claims if claim.shared],
        cells=_ordered(cells),
        alone=alone,
        tables=cells_by_table,
        rows=rows,
        modules=both["modules"],
        restated=[change.name for change in both["claims"]],
        **changes,
    )


def equal(a: float | None, b: float | None) -> bool:
    """Whether two numbers are the same to rounding, or both are absent."""
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def moved(a: Estimate | None, b: Estimate | None) -> str:
    """How the estimate of B lies to that of A: a key of MEANINGS."""
    has_a, has_b = (estimate is not None and estimate.value is not None for estimate in (a, b))
    if not has_a or not has_b:
        return SAME if has_a == has_b else ONLY_A if has_a else ONLY_B
    if equal(a.value, b.value):
        return SAME if equal(a.low, b.low) and equal(a.high, b.high) else INTERVAL
    if None in (a.low, a.high, b.low, b.high):
        return UNEQUAL
    if a.high < b.low or b.high < a.low:
        return APART
    return WITHIN if a.low <= b.value <= a.high and b.low <= a.value <= b.high else OUTSIDE


def differing(a: Mapping, b: Mapping, path: str = "") -> list[Change]:
    """The values that differ between two nested mappings, by the path of their keys, in the order of B, then of A.

    Lists are compared as a whole. A mapping that only one of them has is one change.
    """
    changes = []
    for key in dict.fromkeys([*b, *a]):
        name, values = f"{path}{key}", (a.get(key), b.get(key))
        if key in a and key in b and all(isinstance(value, Mapping) for value in values):
            changes += differing(*values, f"{name}.")
        elif key not in a or key not in b or values[0] != values[1]:
            changes.append(Change(name, *(_text(part[key]) if key in part else "" for part in (a, b))))
    return changes


def _text(value) -> str:
    """A setting as one line: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def compare_tables(name: str, a: list[dict], b: list[dict]) -> tuple[list[Cell], int]:
    """The cells of a table that differ, and how many rows both have.

    Rows belong together if they have the same words in the columns NAMES and the same numbers in LEVELS. Where several
    rows have the same, they are matched in their order. An estimate with its interval is one cell.
    """
    columns = [column for column in (b[0] if b else {}) if a and column in a[0]]
    about = [column for column in columns if column in LEVELS or (column in NAMES and _words(column, a, b))]
    rows_a, rows_b = (_by_key(rows, about) for rows in (a, b))
    intervals = {column: _interval(column, columns) for column in columns if column not in about}
    ends = {end for interval in intervals.values() for end in interval}
    cells = []
    for key in dict.fromkeys([*rows_b, *rows_a]):
        row_a, row_b, words = rows_a.get(key), rows_b.get(key), _key_words(key)
        if row_a is None or row_b is None:
            cells.append(Cell(name, words, "", None, None, ONLY_B if row_a is None else ONLY_A))
            continue
        for column, interval in intervals.items():
            if column in ends:
                continue
            values = [_value(row, column, interval) for row in (row_a, row_b)]
            if all(isinstance(value, Estimate) for value in values):
                how = moved(*values)
            else:
                values = [row_a[column], row_b[column]]
                how = SAME if values[0] == values[1] else UNEQUAL
            if how != SAME:
                cells.append(Cell(name, words, column, *values, how))
    return sorted(cells, key=lambda cell: HOWS.index(cell.how)), len(rows_a.keys() & rows_b.keys())


def _words(column: str, *tables: list[dict]) -> bool:
    """Whether a column holds something that is no number."""
    return any(row[column] and number(row[column]) is None for rows in tables for row in rows)


def _by_key(rows: Iterable[dict], about: Iterable[str]) -> dict[tuple, dict]:
    """Rows by what they are about, and by how many earlier rows are about the same; numbers in one form."""
    seen, by_key = Counter(), {}
    for row in rows:
        key = tuple(_name(row.get(column, "")) for column in about)
        by_key[*key, seen[key]] = row
        seen[key] += 1
    return by_key


def _name(text: str) -> str:
    value = number(text)
    return text if value is None else f"{value:.9g}"


def _key_words(key: tuple) -> str:
    """What a row is about, in words; the second row about the same is called so, and those after it."""
    *words, before = key
    return ", ".join([*filter(None, words), *([f"row {before + 1}"] if before or not any(words) else [])])


def _interval(column: str, columns: list[str]) -> tuple[str, ...]:
    """The columns that hold the ends of a column's interval; none without one."""
    ends = tuple(f"{column}{end}" for end in ENDS)
    if column in ("mean", "estimate"):
        ends = ("low", "high")
    return ends if {*ends} <= {*columns} else ()


def _value(row: dict, column: str, interval: tuple[str, ...]) -> Estimate | str:
    """A cell as an estimate if it is a number or empty, else its text."""
    if row[column] and number(row[column]) is None:
        return row[column]
    return Estimate(number(row[column]), *(number(row[end]) for end in interval))


def _estimate(row: dict | None) -> Estimate | None:
    return None if row is None else Estimate(*(row[name] for name in NUMBERS))


def _judged(name: str, where: str, a: dict | None, b: dict | None) -> Judged:
    verdicts = tuple("" if row is None else row["verdict"] for row in (a, b))
    estimates = _estimate(a), _estimate(b)
    return Judged(name, where, verdicts, *estimates, moved(*estimates), (a or {}) | (b or {}))


def _claims(a: dict, b: dict) -> list[Judged]:
    return [_judged(name, "", a.get(name), b.get(name)) for name in dict.fromkeys([*b, *a])]


def _cells(a: list[dict], b: list[dict]) -> list[Judged]:
    rows_a, rows_b = _by_key(a, CELL), _by_key(b, CELL)
    keys = dict.fromkeys([*rows_b, *rows_a])
    return [_judged(key[0], _key_words(key[1:]), rows_a.get(key), rows_b.get(key)) for key in keys]


def _ordered(judged: list[Judged]) -> list[Judged]:
    """In order: first what turned its verdict, then what moved most."""
    return sorted(judged, key=lambda item: (not item.turned, HOWS.index(item.how)))
