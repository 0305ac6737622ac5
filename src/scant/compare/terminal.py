"""What differs between two studies, as text for the terminal."""

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable

from scant.compare.differences import (
    BEYOND,
    HOWS,
    INTERVAL,
    MEANINGS,
    ONLY_A,
    ONLY_B,
    OUTSIDE,
    SAME,
    UNEQUAL,
    WITHIN,
    Cell,
    Change,
    Comparison,
    Judged,
)
from scant.compare.words import MADE_BY, both, called, has_value, listed, renewal, sentences
from scant.errors import printable
from scant.page import page

MOST = 20  # items of a section
LEAST = 40  # columns, however narrow the terminal
LONGEST = 60  # characters of a setting
SHOWN = (*BEYOND, OUTSIDE, ONLY_A, ONLY_B)  # estimates that are listed; between equal seeds, all that differ
COUNTED = {  # the words after a number of cells
    ONLY_A: "rows only in A",
    ONLY_B: "rows only in B",
    UNEQUAL: "differ",
    OUTSIDE: "out of an interval",
    WITHIN: "within intervals",
    INTERVAL: "with other intervals",
}


def describe(comparison: Comparison) -> str:
    """What differs between two studies: in sentences, then verdicts, estimates, tables, and what made them."""
    text = "".join(
        f"{side}  {printable(called(study))}\n" for side, study in (("A", comparison.a), ("B", comparison.b))
    )
    text += "\n" + _wrapped(" ".join(sentences(comparison)))
    text += _section("Verdicts", [_turned(claim, comparison.restated) for claim in comparison.turned])
    listed_moves = {*MEANINGS} - {SAME} if comparison.alike else SHOWN
    text += _section(
        "Estimates", [_moved(claim) for claim in comparison.claims if not claim.turned and claim.how in listed_moves]
    )
    text += _section("Tables", [_table(name, cells) for name, cells in comparison.tables.items() if cells])
    for part, title in MADE_BY.items():
        changes = getattr(comparison, part)
        text += _section(title, [_code(comparison)] if part == "code" and changes else map(_change, changes))
    restated = [name for name in comparison.restated if name not in {claim.name for claim in comparison.turned}]
    if restated:
        text += _section("Claims that are tested otherwise, with the same verdict", [_wrapped(listed(restated), 2)])
    return text + (f"\n{advice}\n" if (advice := renewal(comparison)) else "")


def _section(title: str, items: Iterable[str]) -> str:
    """A title and the first items; "" without any."""
    items = list(items)
    more = f"  and {len(items) - MOST} more: --output STEM writes all of them\n" if len(items) > MOST else ""
    return f"\n{title}\n" + "".join(items[:MOST]) + more if items else ""


def _wrapped(text: str, indent: int = 0) -> str:
    width = max(LEAST, shutil.get_terminal_size().columns - 1)
    return textwrap.fill(printable(text), width, initial_indent=" " * indent, subsequent_indent=" " * indent) + "\n"


def _verdict(verdict: str) -> str:
    return f"{page.VERDICTS[verdict]} {verdict}"


def _turned(claim: Judged, restated: list[str]) -> str:
    """A claim whose verdict differs: id, verdicts, estimates, statement."""
    text = f"  {printable(claim.name)}: {' → '.join(map(_verdict, claim.verdicts))}"
    text += "; tested otherwise\n" if claim.name in restated else "\n"
    return text + _estimates(claim) + _wrapped(claim.row.get("statement", ""), 6)


def _moved(claim: Judged) -> str:
    """A claim with the same verdict in both studies: id, verdict, estimates."""
    return f"  {printable(claim.name)}: {_verdict(claim.verdicts[1])}\n" + _estimates(claim)


def _estimates(claim: Judged) -> str:
    if not (has_value(claim.a) or has_value(claim.b)):
        return ""
    return f"      {' → '.join(both(claim.a, claim.b))}: {claim.how}\n"


def _table(name: str, cells: list[Cell]) -> str:
    """How many cells of a table differ in what way, and one that differs most."""
    counts = Counter(cell.how for cell in cells)
    text = ", ".join(f"{counts[how]} {COUNTED.get(how, how)}" for how in HOWS if counts[how])
    first = next((cell for cell in cells if cell.column), None)
    example = f"; {first.row}: {first.column} {' → '.join(both(first.a, first.b))}" if first else ""
    return _wrapped(f"{name}: {text}{example}", 2)


def _change(change: Change) -> str:
    a, b = (
        printable(textwrap.shorten(text, LONGEST, placeholder=" ...")) or page.ABSENT for text in (change.a, change.b)
    )
    return f"  {printable(change.name)}: {a} → {b}\n"


def _code(comparison: Comparison) -> str:
    """The parts of the code that differ, and the modules."""
    modules = f": {', '.join(change.name for change in comparison.modules)}" if comparison.modules else ""
    return _wrapped(f"{listed([change.name for change in comparison.code])}{modules}", 2)
