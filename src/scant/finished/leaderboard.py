"""The table of final measures, for the terminal or a paper: see `scant.present.ranking` and
`scant.page.boards`.
"""

from pathlib import Path

import pandas as pd

from scant.errors import SettingError, check_name, printable
from scant.files import write_csv, write_text
from scant.page.boards import DIFFERENCES, board, grid
from scant.page.numbers import ABSENT
from scant.page.terminal import aligned
from scant.present import tables

ROWS = ("learners", "streams")
ENDINGS = (".csv", ".tex")
BEST, ALIKE = "*", "†"  # marks in the terminal: the best, and those that are not told apart from it


def chosen(frame: pd.DataFrame, stream: str | None) -> pd.DataFrame:
    """The rows of one stream, the best first; all of them for None. A SettingError, if there is no
    such stream.
    """
    if stream is None:
        return frame
    check_name("stream", stream, frame["stream"].unique())
    return frame[frame["stream"] == stream].sort_values("rank", kind="stable")


def text(frame: pd.DataFrame, rows: str = "learners", rank: bool = False) -> str:
    """The table for the terminal, with a note.

    frame : see `scant.present.ranking.leaderboard`
    rows : "learners", or "streams" to turn the table over
    rank : with mean ranks
    """

    def cell(one: dict) -> str:
        return _cell(one, f"{one['mean']}{_marked(one, BEST, ALIKE, '')}")

    texts = board(frame)
    lines = [
        [printable(value) for value in line] for line in _turned(grid(texts, cell, rank), rows)
    ]
    caption = printable(f"{texts['experiment']}: {_caption(texts)}")
    ties = f", {ALIKE} not told apart from it" if _has_ties(texts) else ""
    return f"{aligned(lines)}\n{caption}\n{BEST} best{ties}\n"


def latex(frame: pd.DataFrame, rows: str = "learners", rank: bool = False) -> str:
    """The table as LaTeX (package booktabs): the best in bold, who is not told apart from it with a
    dagger. Arguments as for `text`.
    """

    def cell(one: dict) -> str:
        form = _marked(one, r"\textbf{%s}", r"%s$^\dagger$", "%s")
        return _cell(one, form % one["mean"])

    def name(title: str) -> str:
        return tables.escaped(title).replace(ABSENT, "--")

    texts = board(frame)
    lines = _turned(grid(texts, cell, rank, name), rows)
    ties = "; dagger: not told apart from it" if _has_ties(texts) else ""
    caption = tables.escaped(f"{_caption(texts)} Bold: the best{ties}.")
    left = 1 + (rows == "learners" and texts["feedback"])
    alignment = "l" * left + "r" * (len(lines[0]) - left)
    return tables.floating(alignment, lines, caption, texts["label"])


def write(frame: pd.DataFrame, path, rows: str = "learners", rank: bool = False) -> None:
    """Write the table to `path`: all columns of `frame` if it ends in .csv, else `latex`, which
    alone heeds rows and rank.
    """
    if Path(path).suffix == ".csv":
        write_csv(
            frame.map(lambda value: printable(value) if isinstance(value, str) else value), path
        )
    else:
        write_text(path, latex(frame, rows, rank))


def check(rows: str, output=None) -> None:
    """Raise a SettingError if `rows` is unknown, or the file to write has none of `ENDINGS`."""
    check_name("kind of rows", rows, ROWS)
    if output is not None and Path(output).suffix not in ENDINGS:
        raise SettingError(
            f"{output} does not say which form the table is to have: end it in "
            f"{' or '.join(ENDINGS)}"
        )


def _cells(texts: dict) -> list[dict]:
    """The cells of a board, of all learners and streams."""
    return [cell for row in texts["rows"] for cell in row["cells"] if cell]


def _caption(texts: dict) -> str:
    """The caption of a board; it explains differences only if `grid` shows some."""
    shows = len(texts["streams"]) == 1 or any(cell["near"] for cell in _cells(texts))
    return f"{texts['caption']} {DIFFERENCES}" if shows else texts["caption"]


def _has_ties(texts: dict) -> bool:
    """Whether a learner other than the best is not told apart from the best."""
    return any(not cell["best"] and not cell["told_apart"] for cell in _cells(texts))


def _marked(one: dict, best: str, alike: str, other: str) -> str:
    """The mark of a cell: that of the best, of who is not told apart from it, or of others."""
    if one["best"]:
        return best
    return other if one["told_apart"] else alike


def _cell(one: dict, mean: str) -> str:
    """A cell as text: `mean`, marked, its interval, and the difference to the best where both means
    print alike.
    """
    near = f"({one['near']})" if one["near"] else ""
    return " ".join(filter(None, (mean, one["interval"], near)))


def _turned(lines: list[list[str]], rows: str) -> list[list[str]]:
    """The lines of a table; transposed, if `rows` is not "learners"."""
    return lines if rows == "learners" else list(map(list, zip(*lines, strict=True)))
