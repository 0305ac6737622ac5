"""The claims and tables of a finished study, for the terminal."""

import math
import shutil
import textwrap
from pathlib import Path

import pandas as pd

from scant.errors import DataError, SettingError, unknown
from scant.page import about, page

LEAST = 40  # columns for statements, however narrow the terminal


def show(folder, name: str | None = None, verdict: str | None = None, family: str | None = None, brief=False) -> str:
    """The claims of a finished study, or one of its tables, as text for the terminal.

    folder : the study's results, results/{study}
    name : of a table; None for the claims
    verdict, family : show only the claims that have them
    brief : show only the three sentences that sum the claims up

    Raises
    ------
    SettingError : there is no such table, verdict or family
    DataError : the folder holds no finished claims or tables
    """
    folder = Path(folder)
    tables = {path.stem: path for path in sorted(folder.glob("tables/*.csv"))}
    if name is not None:
        if name not in tables:
            raise unknown("table", name, tables) if tables else DataError(folder, "holds no tables", advice=_advice())
        return _table(tables[name])
    if not (path := folder / "claims.parquet").is_file():
        raise DataError(folder, "holds no finished claims", advice=_advice())
    rows = [_without_nan(row) for row in about.claims(path)]
    summary = "\n".join(textwrap.wrap(" ".join(page.sentences(rows)), _width())) + "\n"
    return summary if brief else summary + _claims(rows, verdict, family) + _names(folder, tables)


def _advice() -> str:
    return "Run the study (snakemake --cores all), and give the folder results/{study}"


def _claims(rows: list[dict], verdict: str | None, family: str | None) -> str:
    """The claims with a verdict and of a family, below the names of their families; None for all of them."""
    for key, wanted in {"verdict": verdict, "family": family}.items():
        known = dict.fromkeys(row[key] for row in rows) | (dict.fromkeys(page.VERDICTS) if key == "verdict" else {})
        if wanted is not None and wanted not in known:
            raise unknown(key, wanted, known)
    shown = [row for row in rows if verdict in (None, row["verdict"]) and family in (None, row["family"])]
    if not shown:
        raise SettingError("no claim has both that verdict and that family")
    text = ""
    for heading in dict.fromkeys(row["family"] for row in shown):
        text += f"\n{heading}\n" + "".join(_claim(row) for row in shown if row["family"] == heading)
    return text


def _claim(row: dict) -> str:
    """A claim in a few lines: verdict, id, estimate and what else is known; then its statement, indented.

    A claim that cannot be tested here has the data that it would take after its statement.
    """
    facts = [f"{page.VERDICTS[row['verdict']]} {row['id']}"]
    if row["estimate"] is not None:
        interval = "" if row["low"] is None else f" [{page.shown(row['low'])}, {page.shown(row['high'])}]"
        facts.append(f"{page.shown(row['estimate'])}{interval}, n = {row['n']}")
    if row["readings_total"] > 1:
        facts.append(f"holds under {row['readings_holding']} of {row['readings_total']} readings")
    if row["needed"] is not None:
        facts.append(f"{row['needed']:g} seeds would decide it")
    sentences = [row["statement"]] + ([row["data"]] if row["verdict"] == "not testable here" else [])
    indent = "      "
    lines = textwrap.wrap(" ".join(sentences), _width(), initial_indent=indent, subsequent_indent=indent)
    return "\n".join(["  " + "; ".join(facts), *lines]) + "\n"


def _without_nan(row: dict) -> dict:
    """The row with None in place of NaN."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


def _width() -> int:
    """How many columns text may take."""
    return max(LEAST, shutil.get_terminal_size().columns - 1)


def _table(path: Path) -> str:
    """A table's CSV file as aligned text."""
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise DataError(path, f"is not a whole table ({error})", advice="Make the table again") from None
    return frame.to_string(index=False, na_rep=page.ABSENT, float_format=page.shown) + "\n"


def _names(folder: Path, tables: dict) -> str:
    """Which tables there are, and the command that shows them."""
    names = ", ".join(tables) or "none"
    return "\n" + "\n".join(textwrap.wrap(f"Tables (scant show {folder} NAME): {names}", _width())) + "\n"
