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
            major_formatter="{x:.1%}",
            minor_locator=ticker.NullLocator(),
        )
        texts = {}
        for learner, look in looks.items():
            rows = panel[(panel["learner"] == learner) & (panel["mean"] > 0)]
            if len(rows):
                last = rows.sort_values("visits").iloc[-1]
                count = "" if np.isnan(last["held"]) else f", {last['held']:.0f}/{last['n']}"
                texts[learner] = last["mean"], f"{100 * last['bias']:+.1f} %{count}", look
        panels.beside(axis, texts)
        axis.set_ylabel("relative error")
    return figure


def learning(frame: pd.DataFrame):
    """NDCG@10 on held-out queries against visits, which are logarithmic."""
    figure, _, drawn = _panels(frame)
    for axis, _ in drawn:
        axis.set_ylabel("held-out NDCG@10")
    return figure


def _panels(frame: pd.DataFrame, beside: float = 0.0, note: str = ""):
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
    panels.legend(figure, handles, "\n".join(notes))
    return figure, looks, drawn
