"""Pieces of text for the terminal."""

import math
from collections.abc import Iterable, Mapping

from scant.errors import printable
from scant.present import rounding
from scant_ads.diagnosis.health import DRIFTS
from scant_ads.severity import DOUBTS, WITHHELD
from scant_ads.unit import CLICKS, Unit

HOPELESS = 1000  # times the rows; if more are needed, no number is given


def headings(unit: Unit, places: int = 0) -> tuple[str, ...]:
    """The headings of the table of policies; of lists, with columns for `places` places."""
    of_places = (f"place {number}" for number in range(1, places + 1))
    return "policy", unit.mean, "from", "to", *of_places, unit.events, "rows", "weight"


def signed(value: float, unit: Unit = CLICKS, column: str = "") -> str:
    """A lift with its sign, in percent, or in the unit if lifts are differences; "-" for NaN, "any"
    for infinity.

    column : of the row that has the lift: ends of intervals are rounded outwards
    """
    if math.isnan(value):
        return "-"
    if not unit.relative:
        return unit.number(value, column, "+")
    return "any" if value == math.inf else rounding.rounded(100 * value, "+.1f", column)


def interval(low: float, high: float, unit: Unit = CLICKS) -> str:
    """The interval of a lift, see `signed`; empty for NaN."""
    return "" if low != low else f"{signed(low, unit, 'low')} to {signed(high, unit, 'high')}"


def much(value: float, unit: Unit, column: str = "") -> str:
    """The size of a lift in a sentence, such as "4.5 %"; see `signed`."""
    return f"{signed(abs(value), unit, column).removeprefix('+')} {unit.lift_unit}".rstrip()


def percent(level: float) -> str:
    """A confidence in percent, with two digits of its error, so that it is told from 100 %."""
    return f"{100 - float(f'{100 * (1 - level):.2g}'):.12g} %"


def rounded(count: float) -> str:
    """A count of rows, to two digits."""
    return f"{float(f'{count:.2g}'):,.0f}"


def joined(lines: Iterable[str]) -> str:
    """Lines as one text, in which no name that comes from a log can steer a terminal or begin a
    line.
    """
    return "".join(f"{printable(line)}\n" for line in lines)


def aligned(cells: list[tuple[str, ...]]) -> list[str]:
    """Lines of a text table: the first column aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in cells
    ]


def drifts(row: Mapping) -> bool:
    """Whether a policy's row says that its rate drifts: the p-value is below `DRIFTS`, not NaN."""
    return row["drift"] < DRIFTS


def falls(row: Mapping) -> bool:
    """Whether a policy's row says that its lift falls: the p-value is below `DRIFTS`, not NaN."""
    return row["lift_fall"] < DRIFTS


def of_periods(row: Mapping, unit: Unit) -> str:
    """The lift of a policy in each part of the log, in words; empty if it is not known."""
    if row["lift_first"] != row["lift_first"]:
        return ""
    first, second, last = (
        f"{signed(row[key], unit)} {unit.lift_unit}".rstrip()
        for key in ("lift_first", "lift_second", "lift_last")
    )
    return (
        f"its lift is {first} in the first half of the log, {second} in the second, {last} in "
        "the last quarter"
    )


def because(row: Mapping) -> str:
    """What follows a verdict in the text: its premise, why it is not clear, and what it would
    take. A verdict of "none" has no premise.
    """
    has_premise = "premise" in row and row["verdict"] != "none"
    return (f", {row['premise']}" if has_premise else "") + _because(row)


def _because(row: Mapping) -> str:
    if row["verdict"] == "none":
        for kind, reason in (WITHHELD | DOUBTS).items():
            if kind in (row["refused"], *row["warnings"].split()):
                return f": {reason}"
        if not row["refused"] and "mean-weight" in row["warnings"] and row["mean_weight"] < 1:
            return ": deficient support or wrong propensities, see below"
        return ": the log says nothing that can be used, see below"
    if row["verdict"] != "cannot tell":
        return (
            f", on average over the log's period: rates drift (p = {row['drift']:.2g})"
            if drifts(row)
            else ""
        )
    if not math.isfinite(row["needed_test"]):
        return f": the estimates are too close for {HOPELESS:,} times as many rows"
    parts = [(row["needed_test"], "test"), (row["needed_train"], "training")]
    needed = [f"{rounded(rows)} {log} rows" for rows, log in parts if rows == rows]
    users = row["needed_users"]
    units = "lists" if row["bound"].endswith("list") else "users"
    needed[0] += f" of {rounded(users)} {units}" if users == users else ""
    return (
        f": about {' and '.join(needed)} would give it an even chance, if the estimates are right"
    )
