"""Figures with several panels: one for each experiment and stream, one legend, curves with bands."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

WIDTHS = {1: 3.4, 2: 5.4, 3: 7.0}  # of figures in inches, by the number of columns; the widest fills a page
INTERVAL = "95 % t interval"
BOOTSTRAP = "95 % bootstrap interval"  # of slopes


def split(frame: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """The panels of a figure, each as (experiment, stream) and its rows, in the order of the frame."""
    return list(frame.groupby(["experiment", "stream"], sort=False))


def grid(frame: pd.DataFrame, most: int = 3, beside: float = 0.0):
    """A new figure with a panel for each experiment and stream, and an array (rows x columns) of its axes.

    most : the largest number of columns
    beside : the space for text to the right of each panel, in inches
    """
    panels = len(split(frame))
    columns = min(most, panels)
    rows = -(-panels // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTHS[columns] + beside * columns, 2.2 * rows + 0.5), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis in axes.flat[panels:]:
        axis.set_axis_off()
    return figure, axes


def count(frame: pd.DataFrame) -> str:
    """Over how many seeds (or whatever n counts) the means of the frame are, as text: "n = 10", "n = 8 to 10"."""
    low, high = frame["n"].min(), frame["n"].max()
    return f"n = {low:,}" + (f" to {high:,}" if high > low else "")


def head(axis, panel: pd.DataFrame, suffix: str = "", of: str = "seeds") -> None:
    """Write the panel's title: its stream, and below it, smaller, the experiment's reading, `suffix` and n.

    of : what n counts
    """
    axis.set_title(panel["panel"].iloc[0], loc="left", pad=15)
    number = count(panel).removeprefix("n = ")
    subtitle = f"{panel['reading'].iloc[0]}{suffix}, {number} {of.removesuffix('s') if number == '1' else of}"
    axis.annotate(subtitle, (0, 1), (0, 3), "axes fraction", "offset points", fontsize=7.5, color="0.35")


def legend(figure, handles: dict, title: str) -> None:
    """Add one legend below all panels, in up to four columns, and make the figure higher to fit it.

    handles : Matplotlib's handles, by the text beside each
    """
    longest = max(map(len, handles), default=0)
    columns = int(figure.get_figwidth() / (0.06 * longest + 0.55))  # inches for a letter, and for the handle and gaps
    columns = max(1, min(4, len(handles), columns))
    lines = -(-len(handles) // columns) + title.count("\n")
    figure.set_figheight(figure.get_figheight() + 0.17 * (lines - 1))
    box = figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, title=title)
    box.get_title().set_multialignment("center")


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with titles in the column `learner`, so that each title has one entry in the legend and one look.

    If two learners of a panel, or learners of different kinds, have the same title, their ids follow it in
    parentheses. The column `id` holds the ids.
    """
    traits = [name for name in ("kind", "own_measure", "objective") if name in frame]
    by_title = frame.astype(dict.fromkeys(traits, str)).groupby("label")
    ambiguous = by_title[traits].transform("nunique").gt(1).any(axis=1)
    ambiguous |= frame.groupby(["experiment", "stream", "label"])["learner"].transform("nunique") > 1
    title = frame["label"].where(~ambiguous, frame["label"] + " (" + frame["learner"] + ")")
    return frame.assign(id=frame["learner"], learner=title)


def learners(panel: pd.DataFrame, looks: dict) -> Iterator[tuple[str, pd.DataFrame, tuple[str, str, str]]]:
    """For each learner of a panel, in the order of `looks`: its title, its rows by ascending round, and its look.

    looks : the colour, marker and line of each learner of the figure, by title
    """
    for learner, look in looks.items():
        rows = panel[panel["learner"] == learner]
        if len(rows):
            yield learner, rows.sort_values("round"), look


def curve(axis, curve: pd.DataFrame, look: tuple[str, str, str], alpha: float):
    """Draw a learner's mean against the round, with a band for its interval; return the line."""
    colour, marker, dashes = look
    axis.fill_between(curve["round"], curve["low"], curve["high"], color=colour, alpha=alpha, lw=0)
    every = max(1, len(curve) // 6)
    start = len(axis.lines) % every  # another one for each curve, so that all markers are visible where curves coincide
    (line,) = axis.plot(
        curve["round"], curve["mean"], dashes, color=colour, marker=marker, markersize=3.5, markevery=(start, every)
    )
    return line


def alpha(looks: dict) -> float:
    """The opacity of bands. They may overlap, so that they are fainter in figures with more curves."""
    return min(0.2, 0.8 / len(looks))


def beside(axis, texts: list[tuple[float, str, str]], gap: float = 0.075) -> None:
    """Write texts to the right of a panel, each with a line to the height that it belongs to.

    Texts that would overlap are moved apart.

    texts : for each text, its height in the data's units, the text, and the line's colour
    gap : the least distance between two texts, as a share of the panel's height
    """
    to_share = axis.transData + axis.transAxes.inverted()
    ordered = sorted((to_share.transform((axis.get_xlim()[1], y))[1], text, colour) for y, text, colour in texts)
    heights = [max(share, 0.0) for share, _, _ in ordered]
    for i in range(1, len(heights)):  # move texts up, from the lowest
        heights[i] = max(heights[i], heights[i - 1] + gap)
    for i in range(len(heights)):  # and down again where they are above the panel now
        heights[i] = min(heights[i], 1.0 - gap * (len(heights) - 1 - i))
    for (share, text, colour), height in zip(ordered, heights, strict=True):
        axis.annotate(
            text, (1, share), (1.06, height), "axes fraction", "axes fraction", va="center", fontsize=7.5, color="0.2",
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip


def slope(row: pd.Series) -> str:
    """The slope and its interval, columns of `scant.present.slopes.slope_columns`, as text: "0.66 [0.64, 0.69]"."""
    if np.isnan(row["slope"]):
        return "no slope"
    ends = "" if np.isnan(row["slope_low"]) else f" [{row['slope_low']:.2f}, {row['slope_high']:.2f}]"
    return f"{row['slope']:.2f}{ends}"
