"""Writing tables as CSV and LaTeX.

The LaTeX ends in a comment with the CRC-32 of the CSV, by which damage to the CSV is noticed.
"""

import math
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from scant.files import anew, crc, damaged, foreign, read_cells, write_csv, write_text
from scant.present.rounding import rounded

COLUMNS = 12  # at most, of a table in LaTeX
LONG = 40  # rows, of which more take several pages
LINE = 26  # characters, of a cell that LaTeX breaks into lines
DECIMALS = 6  # at most
SMALL = r"\scriptsize\tabcolsep=3pt"
TITLES = {
    "n": "seeds",
    "ndcg@10": "NDCG@10",
    "ctr": "CTR",
    "ranker": "own ranking",
    "own": "own ranking",
    "late": "last tenth",
    "own_late": "own, last tenth",
    "unvisited": "unvisited queries",
    "to_listnet": "less ListNet",
    "to_random": "less random",
    "to_unbiased": "less unbiased",
    "to_full": "less every grade",
    "per_round": "a round",
    "bound_share": "share of bound",
    "difference": "less the reference",
    "readings_holding": "readings that hold",
    "readings_total": "readings",
}  # of columns; that of others is the name
SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\u2212": r"\ensuremath{-}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "≠": r"\ensuremath{\ne}",
    "∞": r"\ensuremath{\infty}",
    "√": r"\ensuremath{\surd}",
}
# what pdfLaTeX sets as it is: dashes, quotation marks, dots, signs; and accents on ASCII letters
PLAIN = "\u2013\u2014\u2018\u2019\u201c\u201d\u2026\u00d7\u00b1\u00b2\u00b3"
LATIN = "\u0180"  # letters before it
ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"
GREEK = {"β": "beta", "δ": "delta", "ε": "epsilon", "λ": "lambda", "π": "pi", "Θ": "Theta"}
SPECIAL |= {letter: rf"\ensuremath{{\{name}}}" for letter, name in GREEK.items()}

SEAL = "% CRC-32 of {}: {}\n"


def write(frame: pd.DataFrame, stem, caption: str = "", printed: Sequence[str] = ()) -> None:
    """Write `stem`.csv in full precision, and `stem`.tex as a paper prints it, see `latex`."""
    stem = Path(stem)
    path = stem.with_name(f"{stem.name}.csv")
    write_csv(frame, path)
    text = latex(frame, caption, stem.name, printed) + SEAL.format(path.name, crc(path))
    write_text(stem.with_name(f"{stem.name}.tex"), text)


def check(path) -> None:
    """Raise a DataError if the CSV file of a table is not the one that the comment in the LaTeX
    file beside it, if any, was written for.
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


def latex(frame: pd.DataFrame, caption: str, name: str, printed: Sequence[str] = ()) -> str:
    """The frame as LaTeX for the packages booktabs and longtable, with titles, caption and label.

    Estimates have their intervals in brackets, and the decimals that these bear out; other numbers
    have four significant digits.

    Parameters
    ----------
    caption : what the table shows
    name : of the table's files
    printed : the columns to print, but for the ends of intervals; those without a value are left
        out. By default all, or, where these are more than `COLUMNS`, the first ones of those whose
        values differ between rows
    """
    triples = zip(frame, frame.columns[1:], frame.columns[2:], strict=False)
    ends = {base: two for base, *two in triples if _are_ends(*two)}
    own = [column for column in frame if not any(column in two for two in ends.values())]
    columns = [column for column in printed or own if column in own]
    if len(columns) > COLUMNS:
        columns = [one for one in columns if len(frame[one].unique()) > 1]
    if printed:
        columns = [column for column in columns if frame[column].notna().any()]
    columns = columns[:COLUMNS]
    body = [
        [
            _cell(row[column], column, *(row[end] for end in ends.get(column, ())))
            for column in columns
        ]
        for row in frame.to_dict("records")
    ]
    head = [TITLES.get(column, str(column).replace("_", " ")) for column in columns]
    notes = [caption.strip()]
    if any(column in ends for column in columns):
        notes.append("In brackets: intervals.")
    if len(columns) < len(own):
        notes.append(f"{name}.csv has further columns.")
    numeric = [pd.api.types.is_numeric_dtype(frame[column]) for column in columns]
    rows = [[*map(escaped, row)] for row in (head, *body)]
    alignment = "".join(map(_aligned, zip(head, *body, strict=True), numeric))
    return floating(alignment, rows, escaped(" ".join(filter(None, notes))), f"tab:{name}")


def _are_ends(low: str, high: str) -> bool:
    """Whether two neighbouring columns, by name, are the ends of intervals: "x_low", "x_high"."""
    return low.endswith("low") and high == f"{low[:-3]}high"


def _cell(value, column: str, low: float = math.nan, high: float = math.nan) -> str:
    """A value as text; one with an interval, which follows it, has the decimals that show half the
    interval's width.
    """
    if pd.isna(value):
        return "--"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if not isinstance(value, (float, np.floating)):
        return str(value)
    plain = value == 0 or 1e-4 <= abs(value) < 1e6
    if math.isnan(low) or math.isinf(low) or math.isinf(high) or not low < high:
        return rounded(value, (".0f" if value.is_integer() else ".4g") if plain else ".3e", column)
    decimals = -math.floor(math.log10((high - low) / 2))
    spec = f".{min(max(decimals, 0), DECIMALS)}f" if plain else ".3e"
    return f"{value:{spec}} [{rounded(low, spec, 'low')}, {rounded(high, spec, 'high')}]"


def _aligned(texts: Sequence[str], numeric: bool) -> str:
    """How LaTeX aligns a column: numbers at the right, long texts in lines of `LINE` characters."""
    if numeric:
        return "r"
    return "l" if max(map(len, texts)) <= LINE else f"p{{{LINE / 2}em}}"


def floating(alignment: str, rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """The LaTeX of a table, for the packages booktabs and, with more than `LONG` rows, longtable.

    rows : the head first; cells and caption are LaTeX
    """
    # after the end of a row LaTeX takes a bracket for a distance
    texts = map(" & ".join, rows)
    head, *body = (f"{'{}' if text[:1] == '[' else ''}{text} \\\\" for text in texts)
    named = rf"\caption{{{caption}}}\label{{{label}}}"
    if len(body) > LONG:
        above = [rf"\begin{{longtable}}{{{alignment}}}", rf"{named}\\", r"\toprule", head]
        above, below = [*above, r"\midrule", r"\endhead"], [r"\end{longtable}"]
    else:
        above = [
            r"\begin{table}",
            r"\centering",
            SMALL,
            named,
            rf"\begin{{tabular}}{{{alignment}}}",
        ]
        above += [r"\toprule", head, r"\midrule"]
        below = [r"\end{tabular}", r"\end{table}"]
    lines = [*above, *body, r"\bottomrule", *below]
    if len(body) > LONG:
        lines = [r"\begingroup", SMALL, *lines, r"\endgroup"]
    return "\n".join([*lines, ""])


def escaped(value) -> str:
    """A text as LaTeX shows it, in one line. Characters that its default fonts do not have are
    written by their codes.
    """
    return "".join(map(_character, " ".join(str(value).split())))


@cache
def _character(one: str) -> str:
    if one in SPECIAL:
        return SPECIAL[one]
    if not one.isprintable():
        return ""
    letter, *marks = unicodedata.normalize("NFD", one)
    if one in PLAIN or (letter.isascii() and {*marks} <= {*ACCENTS} and one < LATIN):
        return one
    return f"[U+{ord(one):04X}]"
