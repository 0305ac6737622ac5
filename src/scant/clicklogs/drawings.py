"""Drawings of the frames of `scant.clicklogs.frames`."""

import numpy as np
import pandas as pd
from matplotlib import ticker

from scant.present import panels, style


def premises(frame: pd.DataFrame):
    """Draw relative errors against visits, both logarithmic; beside each line its bias, and how
    often betting's interval held.
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
    """The `texts` of `panels.beside`: `text` of each learner's row at the most visits."""
    rows = panel[panel["mean"] > 0].sort_values("visits").drop_duplicates("learner", keep="last")
    return {
        row["learner"]: (row["mean"], text(row), looks[row["learner"]])
        for _, row in rows.iterrows()
    }


def learning(frame: pd.DataFrame):
    """Draw NDCG@10 on held-out queries against visits, which are logarithmic; names are beside the
    lines if these are few.
    """
    names = panels.room_for_names(panels.named(frame))
    figure, looks, drawn = _panels(frame, beside=names, legend=not names)
    for axis, panel in drawn:
        axis.set_ylabel("held-out NDCG@10")
        if names:
            panels.beside(axis, _lasts(panel, looks, lambda row: row["learner"]))
    return figure


def strength(frame: pd.DataFrame):
    """Draw learners' gains over the ranker that logs against that ranker's own NDCG@10: a row of
    panels for each world, if it has two numbers of visits.

    The rankers that log are evenly spaced; gains are on a logarithmic scale from 0.02 on.
    """
    style.apply()
    frame = panels.named(frame)
    figure, axes = panels.grid(frame, most=2)
    looks, handles = style.looks(frame), {}
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        logging = sorted(panel["logging"].unique())
        panel = panel.assign(place=panel["logging"].map(logging.index))
        axis.axhline(0, color="0.5", lw=0.8, zorder=1)
        axis.set(xlabel="logging ranker's NDCG@10", ylabel="gain in NDCG@10")
        axis.set_yscale("symlog", linthresh=0.02, linscale=0.5)
        axis.set_ylim(frame["low"].min() - 0.01, frame["high"].max() + 0.05)
        ticks = [sign * gain for gain in (0.02, 0.05, 0.1, 0.2, 0.5) for sign in (-1, 1)]
        low, high = axis.get_ylim()
        ticks = [0.0, *(tick for tick in ticks if low <= tick <= high)]
        axis.set_yticks(ticks, [f"{tick:+g}" if tick else "0" for tick in ticks])
        axis.yaxis.set_minor_locator(ticker.NullLocator())
        axis.set_xticks(range(len(logging)), [f"{one:.3f}" for one in logging])
        for learner, look in looks.items():
            rows = panel[panel["learner"] == learner].sort_values("place")
            if len(rows):
                handles[learner] = panels.points(axis, rows, "place", look, learner)
        panels.head(axis, panel)
    panels.legend(figure, handles, f"means over seeds; bars: {panels.INTERVAL}")
    return figure


def _panels(frame: pd.DataFrame, beside: float = 0.0, note: str = "", legend: bool = True):
    """Draw the means of learners against visits; returns the figure, the learners' looks, and a
    list of each axis with its rows.
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
