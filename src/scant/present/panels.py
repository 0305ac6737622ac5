"""What figures of several panels share: a panel for each experiment and stream, one legend, curves with bands."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

WIDTHS = {1: 3.4, 2: 5.4, 3: 7.0}  # of a figure in inches, by its number of columns; the widest fills a page
INTERVAL = "95 % t interval"


def split(frame: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """The panels of a figure: (experiment, stream) and its rows, in the frame's order."""
    return list(frame.groupby(["experiment", "stream"], sort=False))


def grid(frame: pd.DataFrame, most: int = 3, beside: float = 0.0):
    """A new figure with a panel for each experiment and stream, and its axes (rows x columns).

    most : the largest number of columns
    beside : inches to leave for text to the right of each panel
    """
    count = len(split(frame))
    columns = min(most, count)
    lines = -(-count // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(WIDTHS[columns] + beside * columns, 2.2 * lines + 0.5), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, axes


def count(frame: pd.DataFrame) -> str:
    """How many seeds (or whatever n counts) each mean of the frame is over, in words: "n = 10", "n = 8 to 10"."""
    low, high = frame["n"].min(), frame["n"].max()
    return f"n = {low:,}" + (f" to {high:,}" if high > low else "")


def head(axis, panel: pd.DataFrame, more: str = "") -> None:
    """Write the panel's title: its stream, and below it, smaller, the experiment's reading, `more` and n."""
    axis.set_title(panel["panel"].iloc[0], loc="left", pad=15)
    below = f"{panel['reading'].iloc[0]}{more}, {count(panel)}"
    axis.annotate(below, (0, 1), (0, 3), "axes fraction", "offset points", fontsize=7.5, color="0.35")


def legend(figure, handles: dict, title: str) -> None:
    """Add one legend for all panels below them, in up to four columns, and make the figure as much higher.

    handles : Matplotlib's handle by the text beside it
    """
    longest = max(map(len, handles), default=0)
    columns = int(figure.get_figwidth() / (0.06 * longest + 0.55))  # inches of a letter, and of the handle and gaps
    columns = max(1, min(4, len(handles), columns))
    lines = -(-len(handles) // columns) + title.count("\n")
    figure.set_figheight(figure.get_figheight() + 0.17 * (lines - 1))
    box = figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, title=title)
    box.get_title().set_multialignment("center")


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with titles in place of learners' ids, so that each title is one entry of the legend, with one look.

    A title that two learners of a panel share, or learners of different kinds, is followed by the learner's id in
    parentheses. The column `id` keeps the ids.
    """
    sorts = [name for name in ("kind", "own_measure", "objective") if name in frame]
    by_title = frame.astype(dict.fromkeys(sorts, str)).groupby("label")
    ambiguous = by_title[sorts].transform("nunique").gt(1).any(axis=1)
    ambiguous |= frame.groupby(["experiment", "stream", "label"])["learner"].transform("nunique") > 1
    title = frame["label"].where(~ambiguous, frame["label"] + " (" + frame["learner"] + ")")
    return frame.assign(id=frame["learner"], learner=title)


def learners(panel: pd.DataFrame, looks: dict) -> Iterator[tuple[str, pd.DataFrame, tuple[str, str, str]]]:
    """The learners of a panel in the order of `looks`: title, rows in ascending order of rounds, and look.

    looks : colour, marker and line of each learner of the figure, by title
    """
    for learner, look in looks.items():
        rows = panel[panel["learner"] == learner]
        if len(rows):
            yield learner, rows.sort_values("round"), look


def curve(axis, curve: pd.DataFrame, look: tuple[str, str, str], alpha: float):
    """Draw a learner's mean against the round, with the band of its interval; returns the line."""
    colour, marker, dashes = look
    axis.fill_between(curve["round"], curve["low"], curve["high"], color=colour, alpha=alpha, lw=0)
    every = max(1, len(curve) // 6)
    start = len(axis.lines) % every  # shifted from curve to curve, so that markers show where curves coincide
    (line,) = axis.plot(
        curve["round"], curve["mean"], dashes, color=colour, marker=marker, markersize=3.5, markevery=(start, every)
    )
    return line


def alpha(looks: dict) -> float:
    """The opacity of bands: the more curves a figure has, the fainter its bands, which may overlap."""
    return min(0.2, 0.8 / len(looks))


def beside(axis, texts: list[tuple[float, str, str]], gap: float = 0.075) -> None:
    """Write texts to the right of a panel, moved apart where they would overlap, each with a line to its height.

    texts : height (in the data's units), text and the line's colour
    gap : the least distance between two texts, as a share of the panel's height
    """
    to_share = axis.transData + axis.transAxes.inverted()
    wanted = sorted((to_share.transform((axis.get_xlim()[1], y))[1], text, colour) for y, text, colour in texts)
    places = [max(share, 0.0) for share, _, _ in wanted]
    for i in range(1, len(places)):  # up from the lowest
        places[i] = max(places[i], places[i - 1] + gap)
    for i in range(len(places)):  # and down again from the highest, if that led out of the panel
        places[i] = min(places[i], 1.0 - gap * (len(places) - 1 - i))
    for (share, text, colour), place in zip(wanted, places, strict=True):
        axis.annotate(
            text, (1, share), (1.06, place), "axes fraction", "axes fraction", va="center", fontsize=7.5, color="0.2",
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip


def slope(row: pd.Series) -> str:
    """The slope of a row of `scant.present.slopes.slope_columns`, with its interval, as text: "0.66 [0.64, 0.69]"."""
    if np.isnan(row["slope"]):
        return "no slope"
    ends = "" if np.isnan(row["slope_low"]) else f" [{row['slope_low']:.2f}, {row['slope_high']:.2f}]"
    return f"{row['slope']:.2f}{ends}"
