"""The claims and tables of a finished study, for the terminal."""

import textwrap
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from scant.errors import DataError, SettingError, check_name, printable
from scant.files import check_unlinked, visible
from scant.page import page, templates
from scant.page.numbers import ABSENT, interval, shown
from scant.page.terminal import aligned, width
from scant.present.tables import read as read_table
from scant.verdict import readings, words
from scant.verdict.readings import Cell, Claim

ADVICE = "Run the study (snakemake --cores all), and give the folder results/{study}"


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
    verdict, family, row : show only the claims that have them; verdicts also in the words of a kind
        of row, "reproduces"
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
    check_unlinked(folder)
    tables = {path.stem: path for path in visible(folder, "tables/*.csv")}
    if name is not None:
        if not tables:
            raise DataError(folder, "holds no tables", advice=ADVICE)
        check_name("table", name, tables)
        return _table(tables[name])
    if not (path := folder / "claims.parquet").is_file():
        raise DataError(folder, "holds no finished claims", advice=ADVICE)
    rows = list(map(_printable, readings.claims(path)))
    if claim is not None:
        by_id = {one["id"]: one for one in rows}
        check_name("claim", claim, by_id)
        return _whole(by_id[claim], _cells(folder, claim))
    summary = "".join(f"{textwrap.fill(one, width())}\n" for one in page.sentences(rows))
    if brief:
        return summary
    chosen = _chosen(rows, verdict, family, row)
    return summary + _claims(chosen, _cells(folder) if cells else None) + _names(folder, tables)


def _cells(folder: Path, claim: str | None = None) -> list[Cell]:
    """The cells of a study's claims, or of one claim."""
    cells = map(_printable, readings.cells(folder / "claims-readings.csv"))
    return [cell for cell in cells if claim in (None, cell["claim"])]


def _chosen(
    rows: list[Claim], verdict: str | None, family: str | None, kind: str | None
) -> list[Claim]:
    """The claims of this verdict, family and kind of row (None: any). A SettingError, if none."""
    families, verdicts = {row["family"] for row in rows}, {*words.VERDICTS, *words.PLURAL}
    for key, wanted, names in (
        ("verdict", verdict, verdicts), ("family", family, families), ("row", kind, words.ROWS)
    ):  # fmt: skip
        if wanted is not None:
            check_name(key, wanted, names)
    chosen = [
        row
        for row in rows
        if verdict in (None, row["verdict"], words.said(row["row"], row["verdict"]))
        and family in (None, row["family"]) and kind in (None, row["row"])
    ]  # fmt: skip
    if not chosen:
        raise SettingError("no claim has all of that verdict, family and row")
    return chosen


def _claims(rows: list[Claim], cells: list[Cell] | None) -> str:
    """Claims as text below headings of kind and family, each with its cells if these are given."""
    text = ""
    for kind, (several, _) in words.ROWS.items():
        for family in dict.fromkeys(row["family"] for row in rows if row["row"] == kind):
            text += f"\n{several.capitalize()}, {family}\n"
            for row in rows:
                if (row["row"], row["family"]) == (kind, family):
                    text += _claim(row)
                    of_claim = [cell for cell in cells or () if cell["claim"] == row["id"]]
                    text += _aligned([cell for cell in of_claim if cell["first"]], 6)
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
        facts.append(words.cells(row))
    if row["readings_total"] > 1:
        facts.append(f"holds under {row['readings_holding']} of {row['readings_total']} readings")
    if row["needed"] is not None:
        facts.append(f"{words.needed(row['needed'])} would decide it")
    sentences = [row["statement"]] + ([row["data"]] if row["verdict"] == words.UNTESTABLE else [])
    indent = "      "
    lines = textwrap.wrap(
        " ".join(sentences), width(), initial_indent=indent, subsequent_indent=indent
    )
    return "\n".join(["  " + "; ".join(facts), *lines]) + "\n"


def _estimate(row: Mapping) -> str:
    """The estimate of a claim or cell and its interval: "0.5 [0.4, 0.6]"."""
    return f"{shown(row['estimate'])} {interval(row['low'], row['high'])}".rstrip()


def _whole(row: Claim, cells: list[Cell]) -> str:
    """All that is known of a claim, as text, with its cells by experiment and reading."""
    claimed = {words.claimed(cell["from"], cell["to"], shown) for cell in cells}
    control = {key: row[f"control_{key}"] for key in ("estimate", "low", "high")}
    claimed = claimed.pop() if len(claimed) == 1 else ""
    used = {"words": words, "shown": shown, "estimate": _estimate}
    facts = templates.render("claim.txt", row=row, claimed=claimed, control=control, **used)
    said = words.said(row["row"], row["verdict"])
    text = f"{page.VERDICTS[row['verdict']]} {row['id']}: {said}\n"
    text += textwrap.indent(textwrap.fill(row["statement"], width() - 2), "  ") + "\n\n"
    for line in facts.splitlines():
        name, _, fact = line.partition("\t")
        if fact:
            head = f"  {name:<13} "
            text += textwrap.fill(fact, width(), initial_indent=head, subsequent_indent=" " * 16)
            text += "\n"
    for experiment, tuning in dict.fromkeys((cell["experiment"], cell["tuning"]) for cell in cells):
        of_experiment = [cell for cell in cells if cell["experiment"] == experiment]
        under = [cell for cell in of_experiment if cell["tuning"] == tuning]
        head = f"experiment {experiment}" if experiment else "the study of bounds"
        head += f", tuning {tuning}" if tuning else ""
        head += ", which the verdict is under" if all(cell["first"] for cell in under) else ""
        text += f"\n  {head}\n" + _aligned(under, 4)
    return text


def _aligned(cells: list[Cell], indent: int) -> str:
    """Cells as aligned text, a line for each: what is compared, estimate, claim, n, verdict."""
    compared = ["stream", "learner"]
    if any(cell["against"] for cell in cells):
        compared.append("against")
    lines = [[*compared, "estimate", "claimed", "n", "verdict"]]
    for cell in cells:
        claimed = words.claimed(cell["from"], cell["to"], shown)
        said = words.said(cell["row"], cell["verdict"])
        names = [cell[name] for name in compared]
        lines.append([*names, _estimate(cell), claimed, str(cell["n"]), said])
    return aligned(lines, " " * indent) if cells else ""


def _printable(row: Mapping) -> dict:
    """The row with texts that a terminal may show, each in one line."""
    texts = {
        name: printable(" ".join(value.split()))
        for name, value in row.items()
        if isinstance(value, str)
    }
    return {**row, **texts}


def _table(path: Path) -> str:
    """A table's CSV file as aligned text."""
    frame = read_table(path).map(
        lambda value: printable(value) if isinstance(value, str) else value
    )
    frame = frame.rename(columns=printable)
    numbers = {name: partial(shown, column=name) for name in frame.select_dtypes("float")}
    return frame.to_string(index=False, na_rep=ABSENT, formatters=numbers) + "\n"


def _names(folder: Path, tables: dict) -> str:
    """Which tables there are, and the command that shows them."""
    names = printable(", ".join(tables)) or "none"
    return "\n" + textwrap.fill(f"Tables (scant show {folder} NAME): {names}", width()) + "\n"
