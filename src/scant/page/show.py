"""The claims and tables of a finished study, for the terminal."""

import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path

from scant.errors import DataError, SettingError, check_name, printable, unknown
from scant.files import visible
from scant.page import page
from scant.present.tables import read as read_table
from scant.verdict import readings, words
from scant.verdict.readings import Cell, Claim

LEAST = 40  # columns for statements, however narrow the terminal


def show(
    folder,
    name: str | None = None,
    verdict: str | None = None,
    family: str | None = None,
    row: str | None = None,
    claim: str | None = None,
    cells: bool = False,
    brief: bool = False,
) -> str:
    """The claims of a finished study, or one of its tables, as text for the terminal.

    folder : the study's results, results/{study}
    name : of a table; None for the claims
    verdict, family, row : show only the claims that have them; a verdict may have the word for a
        kind of row
    claim : the id of a claim, to show whole: its source, test and quantity, and every cell under
        every reading
    cells : show the cells of each claim
    brief : show only the sentences that sum the claims up

    Raises
    ------
    SettingError : there is no such table, verdict, family, kind of row or claim
    DataError : the folder holds no finished claims or tables
    """
    folder = Path(folder)
    tables = {path.stem: path for path in visible(folder, "tables/*.csv")}
    if name is not None:
        if name not in tables:
            raise (
                unknown("table", name, tables)
                if tables
                else DataError(folder, "holds no tables", advice=_advice())
            )
        return _table(tables[name])
    if not (path := folder / "claims.parquet").is_file():
        raise DataError(folder, "holds no finished claims", advice=_advice())
    rows = list(map(_printable, readings.claims(path)))
    if claim is not None:
        by_id = {one["id"]: one for one in rows}
        check_name("claim", claim, by_id)
        return _whole(by_id[claim], _cells(folder, claim))
    summary = "".join(
        f"{line}\n"
        for sentence in page.sentences(rows)
        for line in textwrap.wrap(sentence, _width())
    )
    if brief:
        return summary
    chosen = _chosen(rows, verdict, family, row)
    return summary + _claims(chosen, _cells(folder) if cells else None) + _names(folder, tables)


def _advice() -> str:
    return "Run the study (snakemake --cores all), and give the folder results/{study}"


def _cells(folder: Path, claim: str | None = None) -> list[Cell]:
    """The cells of a study's claims, or of one claim."""
    cells = map(_printable, readings.cells(folder / "claims-readings.csv"))
    return [cell for cell in cells if claim in (None, cell["claim"])]


def _chosen(
    rows: list[Claim], verdict: str | None, family: str | None, kind: str | None
) -> list[Claim]:
    """The claims with a verdict, of a family and of a kind; None for all of them."""
    said = {(row["id"]): words.said(row["row"], row["verdict"]) for row in rows}
    families = dict.fromkeys(row["family"] for row in rows)
    verdicts = dict.fromkeys([*words.VERDICTS, *words.PLURAL])
    for key, wanted, names in (
        ("verdict", verdict, verdicts), ("family", family, families), ("row", kind, words.ROWS)
    ):  # fmt: skip
        if wanted is not None and wanted not in names:
            raise unknown(key, wanted, names)
    chosen = [
        row
        for row in rows
        if verdict in (None, row["verdict"], said[row["id"]]) and family in (None, row["family"])
        and kind in (None, row["row"])
    ]  # fmt: skip
    if not chosen:
        raise SettingError("no claim has all of that verdict, family and row")
    return chosen


def _claims(rows: list[Claim], cells: list[Cell] | None) -> str:
    """Claims below the names of their kinds and families, each with its cells if these are
    given.
    """
    text = ""
    for kind, (several, _) in words.ROWS.items():
        for family in dict.fromkeys(row["family"] for row in rows if row["row"] == kind):
            text += f"\n{several.capitalize()}, {family}\n"
            for row in rows:
                if (row["row"], row["family"]) == (kind, family):
                    text += _claim(row)
                    if cells is not None:
                        text += _aligned(
                            [
                                cell
                                for cell in cells
                                if cell["first"] and cell["claim"] == row["id"]
                            ],
                            6,
                        )
    return text


def _claim(row: Claim) -> str:
    """A claim in a few lines: verdict, id, estimate and what else is known; then its statement,
    indented.

    A claim that cannot be tested here has the data that it would take after its statement.
    """
    facts = [f"{page.VERDICTS[row['verdict']]} {row['id']}"]
    if row["verdict"] != words.UNTESTABLE:
        facts[0] += f": {words.said(row['row'], row['verdict'])}"
    if row["estimate"] is not None:
        facts.append(f"{_estimate(row)}, n = {row['n']}")
    if row["cells_total"] > 1:
        facts.append(_cell_counts(row))
    if row["readings_total"] > 1:
        facts.append(f"holds under {row['readings_holding']} of {row['readings_total']} readings")
    if row["needed"] is not None:
        facts.append(f"{words.needed(row['needed'])} would decide it")
    sentences = [row["statement"]] + ([row["data"]] if row["verdict"] == words.UNTESTABLE else [])
    indent = "      "
    lines = textwrap.wrap(
        " ".join(sentences), _width(), initial_indent=indent, subsequent_indent=indent
    )
    return "\n".join(["  " + "; ".join(facts), *lines]) + "\n"


def _estimate(row: Mapping) -> str:
    """The estimate of a claim or cell and its interval: "0.5 [0.4, 0.6]"."""
    interval = (
        "" if row["low"] is None else f" [{page.shown(row['low'])}, {page.shown(row['high'])}]"
    )
    return page.shown(row["estimate"]) + interval


def _whole(row: Claim, cells: list[Cell]) -> str:
    """All that is known of a claim, and its cells under each reading, the one of its verdict
    first.
    """
    claimed = {words.claimed(cell["from"], cell["to"], page.shown) for cell in cells}
    facts = {
        "kind": f"{words.kind(row['row'])}, family {row['family']}",
        "source": row["source"] + (f': "{row["words"]}"' if row["words"] else ""),
        "chosen": row["chosen"],
        "quantity": row["quantity"] + (f"; claimed: {claimed.pop()}" if len(claimed) == 1 else ""),
        "estimate": _estimate(row) if row["estimate"] is not None else "",
        "tightness": f"the bound was attained to {100 * row['tightness']:.3g} %"
        if row["tightness"]
        else "",
        "test": f"{row['test']}, n = {row['n']}" if row["test"] else "",
        "refuted by": row["refuted_by"],
        "supposes": row["premise"] + (f"; it is so {row['mark']}" if row["mark"] else ""),
        "seeds": words.agreeing(row["agreeing"], row["n"], row["agreeing_least"])
        if row["agreeing"] is not None
        else "",
        "overturned": words.tipping(row["tipping"]) if row["tipping"] is not None else "",
        "worst seed": page.shown(row["worst"]) if row["worst"] is not None else "",
        "cells": _cell_counts(row),
        "by cell": row["by_cell"],
        "decides": row["deciding"],
        "control": _control(row),
        "readings": f"holds under {row['readings_holding']} of {row['readings_total']}",
        "matters most": f"{row['matters']}, {100 * row['matters_share']:.0f} % of the variance"
        if row["matters"]
        else "",
        "decided by": words.needed(row["needed"]) if row["needed"] is not None else "",
        "says from": f"{row['says_from']:,.0f} rounds or examples" if row["says_from"] else "",
        "note": row["note"],
        "data": row["data"],
        "figure": row["figure"],
    }
    if not row["cells_total"]:
        del facts["cells"]
    said = words.said(row["row"], row["verdict"])
    text = f"{page.VERDICTS[row['verdict']]} {row['id']}: {said}\n"
    text += "".join(f"  {line}\n" for line in textwrap.wrap(row["statement"], _width() - 2)) + "\n"
    for name, fact in facts.items():
        if fact:
            head = f"  {name:<13} "
            text += (
                textwrap.fill(
                    fact, _width(), initial_indent=head, subsequent_indent=" " * len(head)
                )
                + "\n"
            )
    for experiment, tuning in dict.fromkeys((cell["experiment"], cell["tuning"]) for cell in cells):
        under = [
            cell for cell in cells if (cell["experiment"], cell["tuning"]) == (experiment, tuning)
        ]
        verdict_here = (
            ", which the verdict is under" if all(cell["first"] for cell in under) else ""
        )
        chosen_by = f", tuning {tuning}" if tuning else ""
        of = f"experiment {experiment}" if experiment else "the study of bounds"
        text += f"\n  {of}{chosen_by}{verdict_here}\n" + _aligned(under, 4)
    return text


def _cell_counts(row: Claim) -> str:
    return words.cells(*(row[f"cells_{of}"] for of in ("holding", "failing", "silent", "total")))


def _control(row: Claim) -> str:
    """What a claim's control is, and what came of it: "Random: fails, 0.5 [0.4, 0.6]"."""
    if not row["control_verdict"]:
        return row["control"]
    estimate = {key: row[f"control_{key}"] for key in ("estimate", "low", "high")}
    return (
        f"{row['control']}: {words.said(row['row'], row['control_verdict'])}, {_estimate(estimate)}"
    )


def _aligned(cells: list[Cell], indent: int) -> str:
    """Cells as aligned text, a line for each: what is compared, estimate, claim, n, verdict."""
    compared = [
        "stream",
        "learner",
        *(["against"] if any(cell["against"] for cell in cells) else []),
    ]
    lines = [[*compared, "estimate", "claimed", "n", "verdict"]] if cells else []
    for cell in cells:
        claimed, said = (
            words.claimed(cell["from"], cell["to"], page.shown),
            words.said(cell["row"], cell["verdict"]),
        )
        lines.append(
            [*(cell[name] for name in compared), _estimate(cell), claimed, str(cell["n"]), said]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        f"{' ' * indent}{'  '.join(map(str.ljust, line, widths))}".rstrip() + "\n" for line in lines
    )


def _printable(row: Mapping) -> dict:
    """The row with texts that a terminal may show, each in one line."""
    texts = {
        name: printable(" ".join(value.split()))
        for name, value in row.items()
        if isinstance(value, str)
    }
    return {**row, **texts}


def _width() -> int:
    """How many columns text may take."""
    return max(LEAST, shutil.get_terminal_size().columns - 1)


def _table(path: Path) -> str:
    """A table's CSV file as aligned text."""
    frame = read_table(path).map(
        lambda value: printable(value) if isinstance(value, str) else value
    )
    return (
        frame.rename(columns=printable).to_string(
            index=False, na_rep=page.ABSENT, float_format=page.shown
        )
        + "\n"
    )


def _names(folder: Path, tables: dict) -> str:
    """Which tables there are, and the command that shows them."""
    names = printable(", ".join(tables)) or "none"
    return (
        "\n"
        + "\n".join(textwrap.wrap(f"Tables (scant show {folder} NAME): {names}", _width()))
        + "\n"
    )
