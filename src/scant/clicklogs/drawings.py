"""Drawings of the frames of `scant.clicklogs.frames`."""

import numpy as np
import pandas as pd
from matplotlib import ticker

from scant.present import panels, style


def premises(frame: pd.DataFrame):
    """Relative errors against visits, both logarithmic; beside each line its bias, and how often
    betting's interval held.
    """
    note = "beside a line: its bias, and in how many logs betting's interval held"
    figure, looks, drawn = _panels(frame, beside=1.05, note=note)
    for axis, panel in drawn:
        axis.set_yscale("log")
        axis.yaxis.set(
            major_locator=ticker.LogLocator(subs=(1, 2, 5)),
            major_formatter=lambda share, _: f"{100 * share:g} %",
            minor_locator=ticker.NullLocator(),
        )
        panels.beside(axis, _lasts(panel, looks, _bias))
        axis.set_ylabel("relative error")
    return figure


def _bias(row: pd.Series) -> str:
    count = "" if np.isnan(row["held"]) else f", {row['held']:.0f}/{row['n']}"
    return f"{100 * row['bias']:+.1f} %{count}"


def _lasts(panel: pd.DataFrame, looks: dict, text) -> dict[str, tuple]:
    """What `panels.beside` writes of each learner's mean at the most visits."""
    rows = panel[panel["mean"] > 0].sort_values("visits").drop_duplicates("learner", keep="last")
    return {
        row["learner"]: (row["mean"], text(row), looks[row["learner"]])
        for _, row in rows.iterrows()
    }


def learning(frame: pd.DataFrame):
    """NDCG@10 on held-out queries against visits, which are logarithmic; names are beside the lines
    if these are few.
    """
    names = panels.room_for_names(panels.named(frame))
    figure, looks, drawn = _panels(frame, beside=names, legend=not names)
    for axis, panel in drawn:
        axis.set_ylabel("held-out NDCG@10")
        if names:
            panels.beside(axis, _lasts(panel, looks, lambda row: row["learner"]))
    return figure


def _panels(frame: pd.DataFrame, beside: float = 0.0, note: str = "", legend: bool = True):
    """A figure with the means of learners against visits: the figure, the learners' looks, and each
    axis with its rows.
    """
    style.apply()
    frame = panels.named(frame)
    figure, axes = panels.grid(frame, most=2 if beside else 3, beside=beside)
    looks, handles, drawn = style.looks(frame), {}, []
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        axis.set(xscale="log", xlabel="visits n")
        for learner, look in looks.items():
            rows = panel[(panel["learner"] == learner) & (panel["mean"] > 0)]
            if len(rows):
                rows = rows.sort_values("visits")
                handles[learner] = panels.points(axis, rows, "visits", look, learner)
        ticks = sorted(panel["visits"].unique())
        axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks], minor=False)
        axis.set_xticks([], minor=True)
        panels.head(axis, panel)
        drawn.append((axis, panel))
    notes = filter(None, [f"means over seeds; bars: {panels.INTERVAL}", note])
    panels.legend(figure, handles if legend else {}, "\n".join(notes))
    return figure, looks, drawn
