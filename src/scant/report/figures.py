"""Figures of the perceptron study. Each is drawn from a frame, and that frame is what its CSV file holds."""

from pathlib import Path

import pandas as pd

from scant.errors import SettingError, unknown
from scant.files import atomic
from scant.report.catalogue import FIGURES, SEPARABLE
from scant.report.intervals import t_interval
from scant.report.tables import belongs
from scant.report.traces import GROUP, at_chosen_rates, chosen_rates, finals

NAMES = {"ndcg@10": "NDCG@10", "ap": "AP", "ndcg": "NDCG"}


def curves(traces: pd.DataFrame, details: dict, measure: str, separable: bool) -> pd.DataFrame:
    """What a figure shows: the time-averaged measure at each kept round, its mean over seeds and 95 % t interval.

    Each learner is at its chosen rate under its experiment's tuning reading. Learners that show the ideal ranking
    are left out, and so are the streams of the adversary.
    """
    there = traces[traces["generator"] != "adversary"]
    there = there[there["generator"].isin(SEPARABLE) == separable]
    there = there[belongs(there, measure) & (there["kind"] != "ideal")]
    if there.empty:
        raise SettingError(
            "the study has no stream for this figure: "
            + ("a separable one" if separable else "a data set or one with noisy grades")
        )
    rows = []
    for experiment, part in there.groupby("experiment", sort=False):
        chosen = chosen_rates(finals(part), measure, details[experiment]["tuning"])
        titles = details[experiment]["titles"]
        shown = at_chosen_rates(part, chosen)
        shown = shown[shown["failed_in"] == 0]
        for key, group in shown.groupby([*GROUP, "round"], sort=False):
            mean, low, high, n = t_interval(group[measure])
            one = group.iloc[0]
            rows.append(
                dict(zip([*GROUP, "round"], key, strict=True))
                | {"measure": measure, "mean": mean, "low": low, "high": high, "n": n}
                | {"rate": one["setting"], "tuning": one["tuning"], "kind": one["kind"]}
                | {"own_measure": one["own_measure"]}
                | {"panel": titles["streams"][key[1]], "label": titles["learners"][key[2]]}
                | {"reading": details[experiment]["title"]}
            )
    if not rows:
        raise SettingError("every run of this figure failed: tables/finals and tables/rates say where")
    return pd.DataFrame(rows)


def draw(frame: pd.DataFrame, measure: str):
    """A figure of one panel for each experiment and stream, a curve and a band for each learner."""
    import matplotlib.pyplot as plt

    from scant.report import style

    style.apply()
    panels = list(dict.fromkeys(zip(frame["experiment"], frame["stream"], strict=True)))
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(2.6 * columns + 1.0, 2.3 * lines + 0.5), squeeze=False, layout="constrained"
    )
    learners = list(dict.fromkeys(frame["learner"]))
    looks, handles = style.looks(frame), {}
    for axis, (experiment, stream) in zip(axes.flat, panels, strict=False):
        panel = frame[(frame["experiment"] == experiment) & (frame["stream"] == stream)]
        for learner in learners:
            curve = panel[panel["learner"] == learner].sort_values("round")
            if curve.empty:
                continue
            one = curve.iloc[0]
            colour, marker, dashed = looks[learner]
            axis.fill_between(curve["round"], curve["low"], curve["high"], color=colour, alpha=0.2, lw=0)
            every = max(1, len(curve) // 6)
            (handles[one["label"]],) = axis.plot(
                curve["round"], curve["mean"], dashed, color=colour, marker=marker, markersize=3.5, markevery=every
            )  # fmt: skip
        low, high = panel["n"].min(), panel["n"].max()
        axis.set_title(f"{panel['panel'].iloc[0]}\n", loc="left")
        below = f"{panel['reading'].iloc[0]}, n = {low}" + (f" to {high}" if high > low else "")
        axis.annotate(below, (0, 1), (0, 3), "axes fraction", "offset points", fontsize=7.5, color="0.35")
        axis.set(xscale="log", xlabel="round")
        # The first rounds' averages are of a few lists: what is read off is the later part.
        late = panel[panel["round"] >= min(10, panel["round"].max())]
        floor, top = late["mean"].min(), late["mean"].max()
        room = 0.08 * max(top - floor, 0.02)
        axis.set_ylim(max(0, floor - room), min(1.005, top + room))
        if panel["round"].max() > 10:
            axis.set_xlim(10, panel["round"].max())
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel(f"time-averaged {NAMES[measure]}")
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=min(4, len(handles)),
        title="mean over n seeds; bands: 95 % t interval", title_fontsize=8,
    )  # fmt: skip
    return figure


def make(name: str, traces: pd.DataFrame, details: dict, stem) -> None:
    """Write `stem`.csv, .svg and .png of the figure `name`.

    Raises
    ------
    SettingError : there is no such figure, or the study has nothing to show in it
    """
    if name not in FIGURES:
        raise unknown("figure", name, FIGURES)
    measure, separable = FIGURES[name]
    frame = curves(traces, details, measure, separable)
    save(draw(frame, measure), frame, stem)


def save(figure, frame: pd.DataFrame, stem) -> None:
    """Write a figure as SVG and PNG, and beside them, as CSV, the frame that it shows."""
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    for ending, metadata in {"svg": {"Date": None}, "png": {"Software": None}}.items():
        with atomic(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            figure.savefig(temporary, format=ending, metadata=metadata)
