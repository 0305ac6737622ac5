"""Figures with several panels: one for each experiment and stream, one legend, curves with
bands.
"""

import re
from collections.abc import Iterator
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.transforms import offset_copy

from scant.present import style
from scant.present.rounding import rounded

COLUMN, WIDEST = 3.4, 7.2  # inches of a column and of a page

# of figures without texts beside the panels, by the number of columns
WIDTHS = {1: COLUMN, 2: 5.4, 3: 7.0, 4: WIDEST}
ROW = 2.2  # inches of a row of panels
NAMED = 5  # curves of a panel, at most, that have their names beside them
LONGEST = 1.6  # inches of such a name, at most
SUBTITLE = 7.5  # points
INTERVAL = "95 % t interval"
BOOTSTRAP = "95 % bootstrap interval"  # of slopes


def split(frame: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """The panels of a figure, each as (experiment, stream) and its rows, in the order of the
    frame.
    """
    return list(frame.groupby(["experiment", "stream"], sort=False))


def narrow() -> bool:
    """Whether the study's figures are for a column of text."""
    return style.wanted()["width"] == "column"


def grid(frame: pd.DataFrame, most: int = 3, beside: float = 0.0, high: float = ROW):
    """A new figure with a panel for each experiment and stream, and an array (rows x columns) of
    its axes.

    most : the largest number of columns; in a figure for a column of text it is 1. In place of
        three there are four where experiments have four streams each, so that each stands on a row
    beside : the space for text to the right of each panel, in inches; a figure for a column of text
        is no wider for it
    high : the height of a row, in inches
    """
    panels, streams = len(split(frame)), frame.groupby("experiment")["stream"].nunique()
    if most == 3 and len(streams) > 1 and streams.max() == 4:
        most = 4
    columns = 1 if narrow() else min(most, panels)
    rows = -(-panels // columns)
    width = COLUMN if narrow() else min(WIDEST, WIDTHS[columns] + beside * columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, high * rows + 0.5), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[panels:]:
        axis.set_axis_off()
    return figure, axes


def room_for_names(frame: pd.DataFrame) -> float:
    """The inches that the names of curves take to the right of each panel; 0 where a legend is
    better: if a panel has more than NAMED curves, or names are long, or in a column of text.
    """
    most = frame.groupby(["experiment", "stream"])["learner"].nunique().max()
    longest = max(text_width(name, SUBTITLE) for name in frame["learner"].unique())
    return 0.0 if narrow() or most > NAMED or longest > LONGEST else 0.4 + longest


def count(frame: pd.DataFrame) -> str:
    """The least and the greatest n of a frame's rows, as text: "n = 10", "n = 8 to 10"."""
    low, high = frame["n"].min(), frame["n"].max()
    return f"n = {low:,}" + (f" to {high:,}" if high > low else "")


def head(axis, panel: pd.DataFrame, suffix: str = "", room: float = 0.0) -> None:
    """Write the panel's title: its stream, and below it, smaller, the experiment's title, `suffix`
    and the number of seeds, wrapped to `room` inches.

    room : by default, the width of a panel with numbers beside it
    """
    number = count(panel).removeprefix("n = ")
    seeds = "seed" if number == "1" else "seeds"
    columns = axis.get_subplotspec().get_gridspec().ncols
    room = room or axis.figure.get_figwidth() / columns - 0.6
    below = wrapped(f"{panel['reading'].iloc[0]}{suffix}, {number} {seeds}", room, SUBTITLE)
    title = wrapped(panel["panel"].iloc[0], room, axis.title.get_fontsize())
    axis.set_title(title, loc="left", pad=5 + 1.3 * SUBTITLE * (below.count("\n") + 1))
    axis.annotate(
        below, (0, 1), (0, 3), "axes fraction", "offset points", fontsize=SUBTITLE, color="0.35"
    )


@cache
def text_width(text: str, size: float) -> float:
    """The width of a line of text of this size (points), in inches."""
    return (
        text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]
        / 72
    )


def wrapped(text: str, width: float, size: float) -> str:
    """Text in lines of at most `width` inches, as far as its words allow, at `size` points; "n =
    3", "5 %" and "8 seeds" count as words.
    """
    lines = []
    for line in text.split("\n"):
        lines.append("")
        for word in re.findall(r"\b[nT] = \S+|\d+ (?:%|seed)\S*|\S+", line):
            longer = f"{lines[-1]} {word}".strip()
            if text_width(longer, size) <= width or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(word)
    return "\n".join(lines)


def legend(figure, handles: dict, title: str) -> None:
    """Add one legend, of up to four columns below all panels; or in the room that the last row of
    panels leaves.

    The figure is made higher to fit a legend below it.

    handles : Matplotlib's handles, by the text beside each
    """
    empty = [axis for axis in figure.axes if not axis.axison]
    if empty and handles:
        row = empty[0].get_subplotspec().rowspan.start
        beside = len([axis for axis in figure.axes if axis.get_subplotspec().rowspan.start == row])
        names = [text.get_text() for axis in figure.axes for text in axis.get_yticklabels()]
        left = max((text_width(name, 8) for name in names), default=0.0)
        width = 0.9 * (figure.get_figwidth() - left) / beside - 0.2
        title_lines = wrapped(title, width, 8)
        height = 0.17 * (len(handles) + title_lines.count("\n") + 2)
        if height < 2.2 and max(text_width(text, 8) for text in handles) + 0.5 < width:
            box = figure.legend(
                handles.values(),
                handles.keys(),
                loc="center left",
                bbox_to_anchor=(0, 0.5),
                bbox_transform=empty[0].transAxes,
                title=title_lines,
            )
            box.get_title().set_multialignment("center")
            return
    title = wrapped(title, figure.get_figwidth() - 0.2, 8)
    longest = max(map(len, handles), default=0)
    # inches for a letter, and for the handle and gaps
    columns = int(figure.get_figwidth() / (0.06 * longest + 0.55))
    columns = max(1, min(4, len(handles), columns))
    lines = max(1, -(-len(handles) // columns)) + title.count("\n")
    figure.set_figheight(figure.get_figheight() + 0.17 * (lines - 1))
    box = figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, title=title
    )
    box.get_title().set_multialignment("center")


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with titles in the column `learner`, and the ids in `id`: a title is an entry of
    the legend.

    If two learners of a panel, or learners of different kinds, have the same title, their ids
    follow it in parentheses.
    """
    traits = [name for name in ("kind", "own_measure", "objective") if name in frame]
    by_title = frame.astype(dict.fromkeys(traits, str)).groupby("label")
    ambiguous = by_title[traits].transform("nunique").gt(1).any(axis=1)
    ambiguous |= (
        frame.groupby(["experiment", "stream", "label"])["learner"].transform("nunique") > 1
    )
    title = frame["label"].where(~ambiguous, frame["label"] + " (" + frame["learner"] + ")")
    return frame.assign(id=frame["learner"], learner=title)


def distinct(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with `panel` (a title) and `reading` (the text below it) swapped where panels share
    a title, so that what tells them apart comes first.
    """
    firsts = frame.drop_duplicates(["experiment", "stream"])
    shared = firsts[
        firsts["panel"].duplicated(keep=False)
        & ~firsts.duplicated(["panel", "reading"], keep=False)
    ]
    swapped = pd.MultiIndex.from_frame(frame[["experiment", "stream"]]).isin(
        pd.MultiIndex.from_frame(shared[["experiment", "stream"]])
    )
    reading = frame["reading"].str[:1].str.upper() + frame["reading"].str[1:]
    return frame.assign(
        panel=frame["panel"].mask(swapped, reading),
        reading=frame["reading"].mask(swapped, frame["panel"]),
    )


def learners(
    panel: pd.DataFrame, looks: dict
) -> Iterator[tuple[str, pd.DataFrame, tuple[str, str, str]]]:
    """For each learner of a panel, in the order of `looks`: its title, its rows by ascending round,
    and its look.

    looks : the colour, marker and line of each learner of the figure, by title
    """
    for learner, look in looks.items():
        rows = panel[panel["learner"] == learner]
        if len(rows):
            yield learner, rows.sort_values("round"), look


def curve(axis, curve: pd.DataFrame, look: tuple[str, str, str], alpha: float):
    """Draw a learner's mean against the round, with a band for its interval; return the line."""
    colour, marker, dashes = look
    name = next(iter(curve["learner"]), None)
    axis.fill_between(
        curve["round"], curve["low"], curve["high"], color=colour, alpha=alpha, lw=0, label=name
    )
    every = max(1, len(curve) // 6)
    # another one for each curve, so that all markers are visible where curves coincide
    start = len(axis.lines) % every
    (line,) = axis.plot(
        curve["round"],
        curve["mean"],
        dashes,
        color=colour,
        marker=marker,
        markersize=3.5,
        markevery=(start, every),
        label=name,
    )
    return line


def points(axis, rows: pd.DataFrame, along: str, look: tuple[str, str, str], label: str):
    """Draw a line through the means at each value of the column `along`, with their intervals;
    returns its handle, for a legend.

    rows : with means above 0, since axes are logarithmic
    """
    colour, marker, dashes = look
    ends = np.clip([rows["mean"] - rows["low"], rows["high"] - rows["mean"]], 0, None)
    return axis.errorbar(
        rows[along],
        rows["mean"],
        ends,
        color=colour,
        marker=marker,
        ls=dashes,
        markersize=3.5,
        elinewidth=0.9,
        label=label,
    )


def alpha(curves) -> float:
    """The opacity of bands: less where there are more curves, whose bands may overlap."""
    return min(0.2, 0.8 / len(curves))


def beside(
    axis,
    texts: dict[str, tuple[float, str, tuple[str, str, str]]],
    gap: float = 0.075,
) -> None:
    """Write texts to the right of a panel, each with its learner's marker, and a line to the height
    that it belongs to. Texts that would overlap are moved apart.

    texts : by learner, the text's height in the data's units, the text, and the learner's colour,
        marker and line
    gap : the least distance between two texts, as a share of the panel's height
    """
    to_share = axis.transData + axis.transAxes.inverted()
    edge = axis.get_xlim()[1]
    ordered = sorted(
        (to_share.transform((edge, y))[1], text, look, learner)
        for learner, (y, text, look) in texts.items()
    )
    heights = [max(share, 0.0) for share, *_ in ordered]
    for i in range(1, len(heights)):  # move texts up, from the lowest
        heights[i] = max(heights[i], heights[i - 1] + gap)
    for i in range(len(heights)):  # and down again where they are above the panel now
        heights[i] = min(heights[i], 1.0 - gap * (len(heights) - 1 - i))
    of_marker, of_text = (
        offset_copy(axis.transAxes, axis.figure, x=inches) for inches in (0.2, 0.27)
    )
    for (share, text, (colour, marker, _), learner), height in zip(ordered, heights, strict=True):
        axis.annotate(
            text,
            (1, share),
            (1, height),
            "axes fraction",
            of_text,
            va="center",
            fontsize=7.5,
            color="0.2",
            label=learner,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.8,
                "shrinkA": 6,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )
        axis.plot(
            1,
            height,
            marker=marker,
            color=colour,
            ms=3.5,
            ls="",
            transform=of_marker,
            clip_on=False,
            zorder=5,
            scalex=False,
            scaley=False,
            label=learner,
        )


def slope(row: pd.Series) -> str:
    """A slope and its interval as text, from columns of `scant.present.slopes.slope_columns`: "0.66
    [0.64, 0.69]", with as many decimals, up to four, as tell its ends apart.
    """
    if np.isnan(row["slope"]):
        return "no slope"
    low, high = row["slope_low"], row["slope_high"]
    for places in (2, 3, 4):
        spec = f".{places}f"
        if format(low, spec) != format(high, spec):
            ends = f"[{rounded(low, spec, 'low')}, {rounded(high, spec, 'high')}]"
            return f"{row['slope']:{spec}} {ends}"
    return f"{row['slope']:.2f}"
