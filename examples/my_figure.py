"""A figure of one's own, and a table: how often learners on streams update."""

import pandas as pd

from scant.present.intervals import t_interval
from scant.present.traces import GROUP, names
from scant.rankers.traces import at_tuned_rates


def updates(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The share of rounds up to each kept round in which a learner updated: means over seeds, 95 %
    t intervals.

    Learners are at the rates that NDCG@10 chooses.

    traces : a row for each experiment, stream, learner, rate, seed and kept round
    details : what the study says of each experiment, by its name
    """
    rows = []
    for experiment, part in traces.assign(share=traces["updates"] / traces["round"]).groupby(
        "experiment", sort=False
    ):
        tuned = at_tuned_rates(part, "ndcg@10", details[experiment]["tuning"])
        for key, group in tuned.groupby([*GROUP, "round"], sort=False):
            mean, low, high, n = t_interval(group["share"])
            rows.append(
                dict(zip([*GROUP, "round"], key, strict=True))
                | {"mean": mean, "low": low, "high": high, "n": n}
                # for the learner's look
                | {name: group[name].iloc[0] for name in ("kind", "own_measure")}
                | names(key, details)  # panel, label, reading: what figures call them
            )
    return pd.DataFrame(rows)


def updates_at_the_end(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The same after the last round alone: a row for each experiment, stream and learner."""
    frame = updates(traces, details)
    last = frame[frame["round"] == frame.groupby(GROUP)["round"].transform("max")]
    return last[[*GROUP, "round", "mean", "low", "high", "n"]]


def curves(frame: pd.DataFrame):
    """Draw the frame of `updates`: a panel for each experiment and stream, a curve for each
    learner.
    """
    from scant.present import panels, style  # here, since tables are made without Matplotlib

    style.apply()
    frame = panels.named(frame)
    figure, axes = panels.grid(frame)
    looks, handles = style.looks(frame), {}
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        for learner, rows, look in panels.learners(panel, looks):
            handles[learner] = panels.curve(axis, rows, look, panels.alpha(looks))
        panels.head(axis, panel)
        axis.set(xscale="log", xlabel="round t", ylim=(-0.02, 1.02))
    for axis in axes[:, 0]:
        axis.set_ylabel("share of rounds with an update")
    panels.legend(figure, handles, f"mean over n seeds; bands: {panels.INTERVAL}")
    return figure
