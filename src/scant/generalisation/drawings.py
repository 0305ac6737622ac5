"""Drawings of the frames of `scant.generalisation.frames`."""

from functools import partial

import pandas as pd

from scant.present import panels, style

AXES = {"queries": "queries n", "documents": "documents of a query m", "features": "features d"}
SIZES = {"queries": "n", "documents": "m", "features": "d"}
# where bounds may be named: the row, the side, and the points above it
PLACES = ((-1, "right", 2), (0, "left", 2), (-1, "right", -9), (0, "left", -9))
CROWDED = 1.6  # a panel becomes smaller, and not its texts, when room is made for what is beside it
MEASURED = {"excess": "excess risk", "uniform": "largest gap found"}


def against(frame: pd.DataFrame, along: str):
    """Draw a quantity against n, m or d, both logarithmic, with slopes; bounds are dotted.

    along : the column "queries", "documents" or "features"
    """
    style.apply()
    frame = panels.named(frame)
    figure, axes = panels.grid(frame, most=2, beside=1.0)
    looks, handles = style.looks(frame), {}
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        axis.set(xscale="log", yscale="log", xlabel=AXES[along])
        values = pd.concat([panel.loc[panel["mean"] > 0, "mean"], panel["bound"].dropna()])
        first, last = panel[along].min(), panel[along].max()
        axis.set_xlim(first / 1.1, last * 1.1)
        if len(values):
            axis.set_ylim(values.min() / 2, values.max() * 4)
        texts, bounds, boxes = {}, [], []
        for learner, look in looks.items():
            rows = panel[panel["learner"] == learner].sort_values(along)
            if rows.empty:
                continue
            bounded = rows.dropna(subset="bound")
            _draw_bound(axis, bounded, along, look[0], learner)
            if len(bounded) and (name := bounded["bound_by"].iloc[-1]) not in bounds:
                boxes += _name_bound(axis, bounded, along, look[0], boxes)
                bounds.append(name)
            points = rows[rows["mean"] > 0]
            handles[learner] = panels.points(axis, points, along, look, learner)
            if len(points):
                texts[learner] = points["mean"].iloc[-1], panels.slope(rows.iloc[-1]), look
        panels.beside(axis, texts)
        others = [f"{SIZES[name]} = {panel[name].max():,}" for name in SIZES if name != along]
        axis.set_title(panel["panel"].iloc[0], loc="left", pad=15)
        several = len(frame["experiment"].unique()) > 1
        subtitle = ", ".join(
            [*panel["reading"].unique()[:several], *others, f"{panel['n'].max()} seeds"]
        )
        axis.annotate(
            subtitle, (0, 1), (0, 3), "axes fraction", "offset points", fontsize=7.5, color="0.35"
        )
        axis.set_ylabel(MEASURED[panel["measured"].iloc[0]])
        ticks = sorted(panel[along].unique())
        named = ticks if len(ticks) < 6 else ticks[::-2]
        axis.set_xticks(ticks, [f"{tick:,}" if tick in named else "" for tick in ticks])
        axis.set_xticks([], minor=True)
    title = (
        f"mean over seeds, and slope of the mean beside it; dotted: bounds, each named once\n"
        f"bars: {panels.INTERVAL}, brackets: {panels.BOOTSTRAP}"
    )
    panels.legend(figure, handles, title)
    return figure


def _draw_bound(axis, rows: pd.DataFrame, along: str, colour: str, learner: str) -> None:
    """Draw a learner's bound as a dotted line."""
    look = {"color": colour, "lw": 0.9, "zorder": 1, "marker": "_", "markersize": 3}
    axis.plot(rows[along], rows["bound"], ":", label=learner, **look)


def _name_bound(axis, rows: pd.DataFrame, along: str, colour: str, boxes: list) -> list:
    """Write the name of a bound at its first or last point, clear of the `boxes` of earlier names,
    and return the name's box; where there is no room for it, write nothing and return no box.
    """
    for place, side, above in PLACES:
        text = axis.annotate(
            rows["bound_by"].iloc[place],
            (rows[along].iloc[place], rows["bound"].iloc[place]),
            (0, above),
            textcoords="offset points",
            ha=side,
            fontsize=6.5,
            color=colour,
        )
        box = text.get_window_extent().expanded(CROWDED, CROWDED)
        if not box.count_overlaps(boxes):
            return [box]
        text.remove()
    return []


against_n = partial(against, along="queries")
against_m = partial(against, along="documents")
against_d = partial(against, along="features")
