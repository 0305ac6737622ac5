"""Writing tables as CSV and LaTeX.

The LaTeX ends in a comment with the CRC-32 of the CSV, by which damage to the CSV is noticed.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scant.files import anew, crc, damaged, foreign, read_cells, write_csv, write_text
from scant.present.rounding import rounded

SEAL = "% CRC-32 of {}: {}\n"


def write(frame: pd.DataFrame, stem) -> None:
    """Write `stem`.csv in full precision, and `stem`.tex with four significant digits."""
    stem = Path(stem)
    path = stem.with_name(f"{stem.name}.csv")
    write_csv(frame, path)
    write_text(stem.with_name(f"{stem.name}.tex"), latex(frame) + SEAL.format(path.name, crc(path)))


def check(path) -> None:
    """Hold the CSV file of a table against the comment in the LaTeX file beside it, if there is
    one.

    Raises
    ------
    DataError : it is not the file that was written
    """
    path = Path(path)
    beside = path.with_name(f"{path.stem}.tex")
    # The LaTeX file ends with a comment, `SEAL`, of this file's name and CRC; one without it is not
    # held against.
    last = (
        beside.read_text(encoding="utf-8", errors="replace").rpartition("%")[2]
        if beside.is_file()
        else ""
    )
    sealed = SEAL.partition("{}")[0].lstrip("%") + path.name
    if last.startswith(sealed) and f"%{last}" != SEAL.format(path.name, crc(path)):
        raise damaged(path, "it is not the table that was written: its CRC-32 is another")


def read(path) -> pd.DataFrame:
    """The frame in the CSV file of a table.

    Raises
    ------
    DataError : it is damaged, see `check` and `read_cells`
    """
    check(path)
    if not read_cells(path)[0]:  # it has no rows either
        return pd.DataFrame()
    with foreign(path, "whole table", anew(path)):
        return pd.read_csv(path)


def latex(frame: pd.DataFrame) -> str:
    """The frame as a LaTeX tabular for the package booktabs, with numbers to four significant
    digits, and ends of intervals rounded outwards.
    """

    def text(value, column: str) -> str:
        if pd.isna(value):
            return "--"
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if isinstance(value, (int, np.integer)):
            return str(value)
        if isinstance(value, float):
            return rounded(value, ".4g" if abs(value) < 1e6 else ".3e", column)
        return escaped(value)

    alignment = "".join(
        "r" if pd.api.types.is_numeric_dtype(dtype) else "l" for dtype in frame.dtypes
    )
    rows = (frame.columns, *frame.itertuples(index=False))
    return tabular(alignment, [[*map(text, row, frame)] for row in rows])


def tabular(alignment: str, rows: Sequence[Sequence[str]]) -> str:
    """A LaTeX tabular for the package booktabs, of cells in LaTeX; the first row is its head."""
    head, *body = (" & ".join(row) + r" \\" for row in rows)
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escaped(value) -> str:
    """A text as LaTeX shows it, in one line."""
    special = {character: f"\\{character}" for character in "&%$#_{}"} | {"~": r"\textasciitilde{}"}
    special |= {"^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    # others in LaTeX's default fonts
    special |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    one_line = " ".join(str(value).split())
    return "".join(
        special.get(character, character) for character in one_line if character.isprintable()
    )
