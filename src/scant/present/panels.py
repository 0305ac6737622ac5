"""What figures of several panels share: one for each experiment and stream, one legend, curves with bands."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

WIDTHS = {1: 3.4, 2: 5.4, 3: 7.0}  # inches of figures of so many panels abreast: up to a page
INTERVAL = "95 % t interval"


def split(frame: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    return list(frame.groupby(["experiment", "stream"], sort=False))


def grid(frame: pd.DataFrame, most: int = 3, beside: float = 0.0):
    """A figure with a panel for each experiment and stream, up to `most` abreast; and its axes.

    beside : the inches that text beside a panel takes
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
    """How many seeds (or whatever n counts) the frame's means are over, in words."""
    low, high = frame["n"].min(), frame["n"].max()
    return f"n = {low:,}" + (f" to {high:,}" if high > low else "")


def head(axis, panel: pd.DataFrame, more: str = "") -> None:
    """The panel's title: its stream, and below it the experiment's reading and n."""
    axis.set_title(panel["panel"].iloc[0], loc="left", pad=15)
    below = f"{panel['reading'].iloc[0]}{more}, {count(panel)}"
    axis.annotate(below, (0, 1), (0, 3), "axes fraction", "offset points", fontsize=7.5, color="0.35")


def legend(figure, handles: dict, title: str) -> None:
    """One legend for all panels, with as many columns as fit the figure's width."""
    longest = max(map(len, handles), default=0)
    columns = int(figure.get_figwidth() / (0.06 * longest + 0.55))  # inches of a letter, and of what is around
    columns = max(1, min(4, len(handles), columns))
    lines = -(-len(handles) // columns) + title.count("\n")
    figure.set_figheight(figure.get_figheight() + 0.17 * (lines - 1))
    made = figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, title=title)
    made.get_title().set_multialignment("center")


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with learners called by their titles, so that one title is one look and one entry of the legend.

    Where a title would stand for two learners of a panel, or of two kinds, their ids are added. `id` keeps the ids.
    """
    what = [name for name in ("kind", "own_measure", "objective") if name in frame]
    by_title = frame.astype(dict.fromkeys(what, str)).groupby("label")
    unclear = by_title[what].transform("nunique").gt(1).any(axis=1)
    unclear |= frame.groupby(["experiment", "stream", "label"])["learner"].transform("nunique") > 1
    called = frame["label"].where(~unclear, frame["label"] + " (" + frame["learner"] + ")")
    return frame.assign(id=frame["learner"], learner=called)


def learners(panel: pd.DataFrame, looks: dict) -> Iterator[tuple[str, pd.DataFrame, tuple[str, str, str]]]:
    """Each learner in a panel, its rows by round, and its look."""
    for learner, look in looks.items():
        rows = panel[panel["learner"] == learner]
        if len(rows):
            yield learner, rows.sort_values("round"), look


def curve(axis, curve: pd.DataFrame, look: tuple[str, str, str], alpha: float):
    """A learner's mean by round, with its band; the line."""
    colour, marker, dashed = look
    axis.fill_between(curve["round"], curve["low"], curve["high"], color=colour, alpha=alpha, lw=0)
    every = max(1, len(curve) // 6)
    start = len(axis.lines) % every  # so that one sees the markers of curves that coincide
    (line,) = axis.plot(
        curve["round"], curve["mean"], dashed, color=colour, marker=marker, markersize=3.5, markevery=(start, every)
    )
    return line


def alpha(looks: dict) -> float:
    """How dark bands are: the more of them may lie over each other, the less."""
    return min(0.2, 0.8 / len(looks))


def beside(axis, texts: list[tuple[float, str, str]], gap: float = 0.075) -> None:
    """Texts right of a panel at given heights (data), each tied to its own by a line; moved apart where they touch.

    texts : height, text and colour; gap : the least distance of two, as a share of the panel's height
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


def slope(one: pd.Series) -> str:
    """A slope and its interval in words."""
    if np.isnan(one["slope"]):
        return "no slope"
    ends = "" if np.isnan(one["slope_low"]) else f" [{one['slope_low']:.2f}, {one['slope_high']:.2f}]"
    return f"{one['slope']:.2f}{ends}"
