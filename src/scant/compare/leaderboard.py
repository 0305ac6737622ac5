"""The table of final measures, for the terminal or a paper: see `scant.present.ranking`."""

from pathlib import Path

import numpy as np
import pandas as pd

from scant.errors import SettingError, printable, unknown
from scant.files import write_csv, write_text
from scant.page import page
from scant.present import tables
from scant.present.ranking import HOW

ROWS = ("learners", "streams")
ENDINGS = (".csv", ".tex")
BEST, ALIKE = "*", "†"  # marks in the terminal: the best, and those that are not told apart from it


def note(board: pd.DataFrame) -> str:
    """What the table shows, in a line."""
    row, n = board.iloc[0], board["n"]
    seeds = f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
    tuned = f", tuning {row['tuning']}" if row["tuning"] else ""
    played = board.groupby("stream").size() == board["learner"].nunique()
    return (
        f"{row['experiment']}: {row['measure']}{tuned}; means with 95 % t intervals over {seeds} seeds; "
        f"mean ranks over {played.sum()} of {len(played)} streams, where every learner played"
    )


def text(board: pd.DataFrame, rows: str = "learners") -> str:
    """The table for the terminal, with a note."""

    def cell(row) -> str:
        mark = BEST if row.best else "" if row.told_apart else ALIKE
        return f"{page.shown(row.mean)}{mark}{_interval(row)}"

    grid = [[printable(value) for value in line] for line in _grid(board, rows, cell, page.ABSENT)]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in grid]
    return "\n".join([*lines, "", printable(note(board)), f"{BEST} best, {ALIKE} not told apart from it: {HOW}", ""])


def latex(board: pd.DataFrame, rows: str = "learners") -> str:
    """The table as a LaTeX tabular for the package booktabs: the best in bold, those not told apart with a dagger."""

    def cell(row) -> str:
        mean = page.shown(row.mean)
        marked = rf"\textbf{{{mean}}}" if row.best else mean if row.told_apart else rf"{mean}$^\dagger$"
        return f"{marked}{_interval(row)}"

    grid = _grid(board.map(lambda value: tables.escaped(value) if isinstance(value, str) else value), rows, cell, "--")
    notes = f"% {tables.escaped(note(board))}\n% bold: best, dagger: not told apart from it: {HOW}\n"
    return notes + tables.tabular("l" * len(grid[0]), grid)


def write(board: pd.DataFrame, path, rows: str = "learners") -> None:
    """Write the table to a file, as CSV with a row for each learner and stream or as LaTeX, by its ending."""
    if Path(path).suffix == ".csv":
        write_csv(board, path)
    else:
        write_text(path, latex(board, rows))


def check(rows: str, output=None) -> None:
    """Raise a SettingError if `rows` or the file to write cannot be what is meant."""
    if rows not in ROWS:
        raise unknown("kind of rows", rows, ROWS)
    if output is not None and Path(output).suffix not in ENDINGS:
        raise SettingError(f"{output} does not say which form the table is to have: end it in {' or '.join(ENDINGS)}")


def _interval(row) -> str:
    """The interval after a mean; "" with a single seed."""
    return "" if np.isnan(row.low) else f" [{page.shown(row.low)}, {page.shown(row.high)}]"


def _grid(board: pd.DataFrame, rows: str, cell, absent: str) -> list[list[str]]:
    """The texts of the table, its head first: learners by streams with the mean rank at the end, or turned over."""
    cells = {(row.learner, row.stream): cell(row) for row in board.itertuples()}
    streams = list(dict.fromkeys(board["stream"]))
    ranks = board.drop_duplicates("learner").set_index("learner")["mean_rank"]
    grid = [["", *streams, "mean rank"]]
    for learner, rank in ranks.items():
        mean_rank = absent if np.isnan(rank) else f"{rank:.3g}"
        grid.append([learner, *(cells.get((learner, stream), absent) for stream in streams), mean_rank])
    return grid if rows == "learners" else list(map(list, zip(*grid, strict=True)))
