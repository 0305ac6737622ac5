"""What differs between two finished studies: one table of verdicts, estimates, tables, settings,
code and data.
"""

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scant.errors import SettingError, printable, printable_lines
from scant.files import number, write_text
from scant.finished.reading import CELL, NUMBERS, Finished, csv_text, studied
from scant.page.numbers import ABSENT
from scant.page.terminal import aligned, width

# numbers within the first of the larger, or within the second, are equal to rounding
RELATIVE, ABSOLUTE = 1e-6, 1e-9
# How an estimate of B lies to that of A, the most telling first; docs/running.md says what each
# word means.
HOWS = ONLY_A, ONLY_B, APART, UNEQUAL, OUTSIDE, WITHIN, INTERVAL, SAME = (
    "only in A", "only in B", "apart", "unequal", "outside", "within", "interval", "same",
)  # fmt: skip
MOVED = (ONLY_A, ONLY_B, APART, UNEQUAL)  # beyond the intervals, or gone
OF_NUMBERS = VERDICT, CELL_VERDICT, ESTIMATE, OF_CELL, TABLE = (
    "verdict", "cell verdict", "estimate", "cell", "table",
)  # fmt: skip
MADE_BY = {  # what made the studies: keys of a manifest, and their names in sentences
    "settings": "settings", "code": "code", "modules": "", "versions": "packages",
    "data": "data sets",
    "claims": "claims",
}  # fmt: skip

# of what is counted
NOUNS = {VERDICT: "verdict", ESTIMATE: "estimate", OF_CELL: "cell", TABLE: "table cell"}
OF_BOTH = ("modules", "claims")  # the keys of which only that counts which both have
PARTS = (*OF_NUMBERS, *MADE_BY)
COLUMNS = ("part", "name", "where", "column", "difference")
COLUMNS += tuple(f"{side}{number}" for side in "ab" for number in ("", "_low", "_high", "_n"))
# Columns of tables that say what a row is about; the first where they hold words, as `bound` does
# in some tables.
NAMES = (
    "experiment", "stream", "log", "campaign", "policy", "learner", "against", "measure", "tuning",
    "along", "estimator", "bound", "part",
)  # fmt: skip
LEVELS = ("rounds", "epsilon", "seed")
MOST = 40  # differences in the terminal
LONGEST = 60  # characters of a name, or of one side of a difference


class Estimate(NamedTuple):
    """An estimate with the ends of its interval and the number of seeds; each None if there is
    none.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: float | None = None


class Difference(NamedTuple):
    """A row of the table of what differs.

    part : what it is about, one of PARTS
    name, where, column : a claim's id and its cell; a table, its row and its column; a setting's
        path of keys; a part of the code, a module, a package, a data set, or a claim that is tested
        otherwise
    how : of an estimate or a table's cell, one of HOWS; else ""
    a, b : in A and in B: an estimate or a text; "" or None where there is none
    """

    part: str
    name: str
    where: str = ""
    column: str = ""
    how: str = ""
    a: Estimate | str | None = ""
    b: Estimate | str | None = ""


@dataclass(frozen=True)
class Comparison:
    """What differs between the studies A and B.

    rows : what differs: verdicts, then what moved, the most telling first, then what made the
        studies
    shared : how many verdicts, cells of claims, and rows of tables both studies have, by "verdict",
        "cell", "table row"
    """

    a: Finished
    b: Finished
    rows: list[Difference]
    shared: Counter[str]

    def of(self, *parts: str) -> list[Difference]:
        """The rows about these parts."""
        return [row for row in self.rows if row.part in parts]

    def fails(self, on: str) -> bool:
        """Whether the studies differ in verdicts, in which claims they judge, or in what `on` adds.

        on : "verdicts" adds nothing; "estimates" those that moved beyond their intervals; "numbers"
            any number that differs by more than rounding
        """
        differing = self.of(VERDICT)
        if on == "estimates":
            differing += [row for row in self.of(ESTIMATE, OF_CELL) if row.how in MOVED]
        elif on == "numbers":
            differing += self.of(ESTIMATE, OF_CELL, TABLE)
        return bool(differing)


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
            f"{a.folder} and {b.folder} have no claims and no table in common: there is nothing to "
            "compare"
        )
    rows, shared = [], Counter()
    if judged:
        claims, cells = [], []
        both = a.claims.keys() & b.claims.keys()
        for study in (a, b):
            claims.append({(id,): row for id, row in study.claims.items()})
            cells.append(_by_key((row for row in study.cells if row["claim"] in both), CELL))
        shared["verdict"], shared["cell"] = len(both), len(cells[0].keys() & cells[1].keys())
        rows += [*_judged(*claims, VERDICT, ESTIMATE), *_judged(*cells, CELL_VERDICT, OF_CELL)]
    for name in tables:
        cells_of_table, count = compare_tables(name, a.tables[name], b.tables[name])
        rows += cells_of_table
        shared["table row"] += count
    for part in MADE_BY:
        for change in differing(*(study.manifest.get(part, {}) for study in (a, b))):
            if part not in OF_BOTH or all(change):
                rows.append(Difference(part, change[0], "", "", "", *change[1:]))
    return Comparison(a, b, sorted(rows, key=_order), shared)


def _order(row: Difference) -> tuple[bool, bool, int, int, bool]:
    """What rows are sorted by: verdicts, then what moved most, then what made the studies."""
    of_verdicts = row.part in (VERDICT, CELL_VERDICT)
    return (
        not of_verdicts,
        row.part in MADE_BY,
        HOWS.index(row.how or SAME),
        PARTS.index(row.part),
        bool(_alone(row)),
    )


def equal(a: float | None, b: float | None) -> bool:
    """Whether two numbers are the same to rounding, or both are absent."""
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def moved(a: Estimate | None, b: Estimate | None) -> str:
    """How B's estimate compares with A's: one of HOWS."""
    has_a, has_b = (estimate is not None and estimate.value is not None for estimate in (a, b))
    if not has_a or not has_b:
        only = ONLY_A if has_a else ONLY_B
        return SAME if has_a == has_b else only
    if equal(a.value, b.value):
        return SAME if equal(a.low, b.low) and equal(a.high, b.high) else INTERVAL
    if None in (a.low, a.high, b.low, b.high):
        return UNEQUAL
    if a.high < b.low or b.high < a.low:
        return APART
    return WITHIN if a.low <= b.value <= a.high and b.low <= a.value <= b.high else OUTSIDE


def differing(a: Mapping, b: Mapping, path: str = "") -> list[tuple[str, str, str]]:
    """The values that differ between two nested mappings, in the order of B, then of A: path of
    keys, and both as text.

    Lists are compared as a whole. A mapping that only one of them has is one change; the other's
    text is "".
    """
    changes = []
    for key in dict.fromkeys([*b, *a]):
        name, values = f"{path}{key}", (a.get(key), b.get(key))
        if key in a and key in b and all(isinstance(value, Mapping) for value in values):
            changes += differing(*values, f"{name}.")
        elif key not in a or key not in b or values[0] != values[1]:
            changes.append((name, *(_text(part[key]) if key in part else "" for part in (a, b))))
    return changes


def _text(value) -> str:
    """A setting as one line: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def compare_tables(name: str, a: list[dict], b: list[dict]) -> tuple[list[Difference], int]:
    """The cells of a table that differ, and how many rows both have.

    Rows belong together if they have the same words in the columns NAMES and the same numbers in
    LEVELS. Where several rows have the same, they are matched in their order. An estimate with its
    interval is one cell.
    """
    columns = [column for column in (b[0] if b else {}) if a and column in a[0]]
    words = {*LEVELS, *(name for name in NAMES if name in columns and _words(name, a, b))}
    about = [column for column in columns if column in words]
    rows_a, rows_b = (_by_key(rows, about) for rows in (a, b))
    intervals = {column: _interval(column, columns) for column in columns if column not in about}
    ends = {end for interval in intervals.values() for end in interval}
    cells = []
    for key in dict.fromkeys([*rows_b, *rows_a]):
        row_a, row_b, words = rows_a.get(key), rows_b.get(key), _key_words(key)
        if row_a is None or row_b is None:
            cells.append(Difference(TABLE, name, words, "", ONLY_B if row_a is None else ONLY_A))
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
                cells.append(Difference(TABLE, name, words, column, how, *values))
    return cells, len(rows_a.keys() & rows_b.keys())


def _words(column: str, *tables: list[dict]) -> bool:
    """Whether a column holds something that is no number."""
    return any(row[column] and number(row[column]) is None for rows in tables for row in rows)


def _by_key(rows: Iterable[dict], about: Iterable[str]) -> dict[tuple, dict]:
    """Rows by a key: their values in the columns `about`, numbers written in one way, and how many
    earlier rows have the same values.
    """
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
    """The key of a row in words: the second row with the same words ends in "row 2".

    key : the words, and how many earlier rows have the same
    """
    *parts, before = key
    words = [*filter(None, parts)]
    if before or not words:
        words.append(f"row {before + 1}")
    return ", ".join(words)


def _interval(column: str, columns: list[str]) -> tuple[str, ...]:
    """The columns that hold the ends of a column's interval; none without one."""
    before = "" if column in ("mean", "estimate") else f"{column}_"
    ends = f"{before}low", f"{before}high"
    return ends if {*ends} <= {*columns} else ()


def _value(row: dict, column: str, interval: tuple[str, ...]) -> Estimate | str:
    """A cell as an estimate if it is a number or empty, else its text."""
    if row[column] and number(row[column]) is None:
        return row[column]
    return Estimate(number(row[column]), *(number(row[end]) for end in interval))


def _judged(
    a: Mapping[tuple, Mapping], b: Mapping[tuple, Mapping], verdict: str, estimate: str
) -> Iterator[Difference]:
    """Where verdicts and estimates of claims, or of cells, differ.

    a, b : claims by (id,), or cells by the claim's id and what tells its cells apart
    verdict, estimate : the parts that the differences are of
    """
    for key in dict.fromkeys([*b, *a]):
        sides, where = (a.get(key), b.get(key)), _key_words(key[1:]) if key[1:] else ""
        verdicts = ["" if row is None else row["verdict"] for row in sides]
        if verdicts[0] != verdicts[1]:
            yield Difference(verdict, key[0], where, "", "", *verdicts)
        estimates = [row and Estimate(*(row[name] for name in NUMBERS)) for row in sides]
        if (how := moved(*estimates)) != SAME:
            yield Difference(estimate, key[0], where, "", how, *estimates)


# --- in words, and as CSV


def describe(comparison: Comparison) -> str:
    """What differs between two studies, for the terminal: a few sentences, and the first rows of
    the table.
    """
    text = "".join(f"{side}  {printable(_called(study))}\n" for side, study in _sides(comparison))
    text += "\n" + textwrap.fill(printable(" ".join(sentences(comparison))), width()) + "\n"
    if rows := comparison.rows[:MOST]:
        text += "\n" + aligned([(row.part, _shortened(_place(row)), _both(row)) for row in rows])
    if (more := len(comparison.rows) - MOST) > 0:
        text += f"and {more:,} more: --output FILE.csv writes all of them\n"
    folders = [study.folder for _, study in _sides(comparison) if study.is_reference]
    if folders and comparison.of(VERDICT):
        renew = f"scant reference {studied(folders[0])}"
        text += f"\nIf these verdicts are meant, renew the reference and commit it: {renew}\n"
    return text


def _sides(comparison: Comparison) -> tuple[tuple[str, Finished], ...]:
    return ("A", comparison.a), ("B", comparison.b)


def _called(study: Finished) -> str:
    """The folder of a study, followed by "(reference)" if it is one."""
    return f"{study.folder}" + (" (reference)" if study.is_reference else "")


def _place(row: Difference) -> str:
    """What a row is about: "finals: top, slam, 100: mean"."""
    return ": ".join(filter(None, (row.name, row.where, row.column)))


def _both(row: Difference) -> str:
    """What a row says of A and of B: "0.1 [-0.1, 0.3], n = 8 → 0.5 [0.4, 0.6], n = 9: apart"."""
    sides = map(_shortened, both(row.a, row.b)) if row.a or row.b else ()
    return ": ".join(filter(None, (" → ".join(sides), row.how)))


def _shortened(text: str) -> str:
    return printable(textwrap.shorten(text, LONGEST, placeholder=" ..."))


def sentences(comparison: Comparison) -> list[str]:
    """How much differs, and what made the studies, in a few sentences."""
    lacking = [side for side, study in _sides(comparison) if study.claims is None]
    verb, lines = "judge" if len(lacking) == 2 else "judges", []
    if lacking:
        lines.append(f"{_listed(lacking)} {verb} no claims.")
    of_both = [_many(count, noun) for noun, count in comparison.shared.items() if count]
    of_one = sum(row.how in (ONLY_A, ONLY_B) for row in comparison.rows)
    differing = (row for row in comparison.rows if row.part in NOUNS and not _alone(row))
    counts = Counter(row.part for row in differing if row.how not in (ONLY_A, ONLY_B))
    of_parts = _listed([_many(counts[part], noun) for part, noun in NOUNS.items() if counts[part]])
    differ = f"{of_parts} {'differs' if counts.total() == 1 else 'differ'}"
    if of_both:
        same = "all are the same to rounding"
        lines.append(f"Both have {_listed(of_both)}: {differ if counts else same}.")
    if of_one:
        lines.append(f"Estimates and rows of only one of them: {of_one:,}.")
    alone = Counter(_alone(row) for row in comparison.of(VERDICT) if _alone(row))
    lines += [
        f"{side} alone judges {_many(count, 'claim')}." for side, count in sorted(alone.items())
    ]
    return [*lines, _made_by(comparison)]


def _alone(row: Difference) -> str:
    """Of a verdict that one study alone has, "A" or "B"; "" for all other rows."""
    if row.part not in (VERDICT, CELL_VERDICT) or (row.a and row.b):
        return ""
    return "A" if row.a else "B"


def _made_by(comparison: Comparison) -> str:
    """Sentences: which of settings, code, packages, claims and data differ between the studies."""
    text = ""
    if comparison.a.study != comparison.b.study:
        text = f"They are different studies, {comparison.a.study} and {comparison.b.study}. "
    if changed := [title for part, title in MADE_BY.items() if title and comparison.of(part)]:
        text += f"They were made with different {_listed(changed)}."
        if comparison.of("settings", "data"):
            return text
        alike = "Seeds and data are the same, so this or the processor is what makes numbers differ"
        return f"{text} {alike}."
    text += "Both were made with the same settings, code, packages, claims and data."
    return text + (" What differs is due to the processor." * comparison.fails("numbers"))


def _many(count: int, noun: str) -> str:
    """A number of things: "1 claim", "3 claims"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _listed(names: list[str]) -> str:
    """Names as a list in words: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def both(a: Estimate | str | None, b: Estimate | str | None) -> tuple[str, str]:
    """Two values of a difference as text: estimates with interval and n; texts as they are."""
    if not isinstance(a, Estimate) and not isinstance(b, Estimate):
        return tuple(text or ABSENT for text in (a, b))
    pair = [side if isinstance(side, Estimate) else Estimate(None) for side in (a, b)]
    columns = [numbers(*(side[place] for side in pair)) for place in range(3)]
    texts = []
    for estimate, (text, low, high) in zip(pair, zip(*columns, strict=True), strict=True):
        if None not in estimate[:3]:
            text += f" [{low}, {high}]"
        if estimate.value is not None and estimate.n:
            text += f", n = {estimate.n:g}"
        texts.append(text)
    return tuple(texts)


def numbers(a: float | None, b: float | None) -> tuple[str, str]:
    """Two numbers, to four digits, or as many more as show that they differ by more than
    rounding.
    """
    for digits in range(4, 18):
        texts = tuple(ABSENT if value is None else f"{value:.{digits}g}" for value in (a, b))
        if equal(a, b) or texts[0] != texts[1]:
            break
    return texts


def write(comparison: Comparison, file: Path) -> None:
    """Write all that differs as CSV, with the columns COLUMNS, in full precision.

    Control characters are escaped, since they could steer a terminal.

    Raises
    ------
    SettingError : the name of the file does not end in .csv
    """
    if file.suffix != ".csv":
        raise SettingError(f"{file}: what differs is written as CSV: end its name in .csv")
    rows = [
        dict(zip(COLUMNS, (*row[:5], *_side(row.a), *_side(row.b)), strict=True))
        for row in comparison.rows
    ]
    write_text(file, printable_lines(csv_text(rows, COLUMNS)))


def _side(value: Estimate | str | None) -> list[str]:
    """Four cells of the CSV: an estimate's value, ends and n; or a text and three empty ones."""
    if isinstance(value, Estimate):
        return ["" if one is None else repr(one) for one in value]
    return [value or "", "", "", ""]
