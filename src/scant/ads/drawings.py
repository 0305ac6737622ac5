"""Drawings of the frames of `scant.ads.frames`."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from scant.ads.frames import BOUNDS
from scant.present import panels, style

WEIGHTED = {"label": "importance-weighted", "markersize": 4.5}
TRUE = {
    "label": "true CTR",
    "marker": "D",
    "markerfacecolor": "none",
    "markeredgewidth": 0.9,
    "markersize": 5,
    "ls": "",
}
# A thick bar and a thin one: a triangle would be a learner.
T = {
    "label": "lower bound by Student's t",
    "marker": "_",
    "markersize": 5,
    "markeredgewidth": 2.2,
    "ls": "",
}
EXACT = {
    "label": "lower bound for every distribution (betting)",
    "marker": "_",
    "markersize": 10,
    "markeredgewidth": 0.8,
    "ls": "",
}
SIDES = {
    "lower": "Lower bound: it holds in % of logs",
    "two-sided": "Two-sided interval: it holds in % of logs",
}
NAMES = {
    "t": "Student's t",
    "clopper-pearson": "Clopper-Pearson",
    "empirical-bernstein": "empirical Bernstein",
    "empirical-bernstein, largest seen": "Bernstein, largest seen",
    "hoeffding": "Hoeffding",
    "betting-sequence": "betting sequence",
    "empirical-likelihood": "empirical likelihood",
    "bootstrap-percentile": "bootstrap, percentile",
    "bootstrap-bca": "bootstrap, BCa",
    "snips, delta": "SNIPS, delta",
    "snips, frozen": "SNIPS, frozen",
}


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with learners by title, and without objective: all variants of a kind have its
    colour and line.
    """
    return panels.named(frame).assign(objective="")


def _dodged(count: int, width: float = 0.7) -> np.ndarray:
    """Positions of `count` points side by side, centred on 0, float64 (count)."""
    return (np.arange(count) - (count - 1) / 2) * width / max(count, 1)


def _bars(
    axis, x, rows: pd.DataFrame, look: tuple[str, str, str], scale: float = 1.0, ls: str = ""
):
    """Draw means with their intervals; a mean over one seed has none. `look` is a colour, a marker
    and a line style, which `ls` replaces.
    """
    colour, marker, _ = look
    ends = scale * abs(rows[["low", "high"]].T.to_numpy() - rows["mean"].to_numpy())
    return axis.errorbar(
        x,
        scale * rows["mean"],
        ends,
        color=colour,
        marker=marker,
        ls=ls,
        markersize=4,
        elinewidth=0.9,
        lw=1.2,
        label=rows["learner"].iloc[0],
    )


def deterministic(frame: pd.DataFrame):
    """CTR by log: a panel for each experiment, a point with its interval for each learner."""
    style.apply()
    frame = _named(frame)
    looks, handles = style.looks(frame), {}
    # a single data set: experiments side by side
    if len({*frame["panel"]}) == 1 < len({*frame["experiment"]}):
        frame = frame.assign(
            panel=frame["reading"] + ",\n" + _choice(frame),
            reading=frame["panel"],
            experiment="all",
            tuning="",
        )
    places = frame["panel"].unique().tolist()
    shifts = dict(zip(looks, _dodged(len(looks)), strict=True))
    experiments = list(frame.groupby("experiment", sort=False))
    width = (
        panels.COLUMN if panels.narrow() else max(panels.COLUMN, min(7.0, 1.0 + 1.2 * len(places)))
    )
    figure, axes = plt.subplots(
        len(experiments),
        1,
        figsize=(width, 1.9 * len(experiments) + 0.6),
        squeeze=False,
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    for axis, (_, panel) in zip(axes.flat, experiments, strict=True):
        for learner, rows in panel.groupby("learner", sort=False):
            x = rows["panel"].map(places.index) + shifts[learner]
            handles[learner] = _bars(axis, x, rows, looks[learner], 100)
        panels.head(axis, panel.assign(panel=panel["reading"], reading=_choice(panel).iloc[0]))
        fitting = [panels.wrapped(place, (width - 0.7) / len(places), 8) for place in places]
        axis.set_xticks(range(len(places)), fitting)
        axis.set_xticks(np.arange(len(places) - 1) + 0.5, minor=True)
        axis.grid(axis="x", visible=False)
        axis.grid(axis="x", which="minor")
        axis.tick_params(axis="x", which="both", length=0)
        axis.set(xlim=(-0.5, len(places) - 0.5), ylabel="CTR (%)")
    bottom, top = axes[0, 0].get_ylim()  # of all: they share it
    axes[0, 0].set_ylim(max(0, bottom), min(102, top))
    axis.set_xlabel("experiment" if frame["tuning"].eq("").all() else "data set")
    panels.legend(
        figure, {name: handles[name] for name in looks}, f"mean over seeds; bars: {panels.INTERVAL}"
    )
    return figure


def _choice(panel: pd.DataFrame) -> pd.Series:
    """How lambda was chosen, as text for each row."""
    return panel["tuning"].map(
        {"held-out": "λ held-out", "paper": "λ best on test", "": "each experiment"}
    )


def weighted(frame: pd.DataFrame):
    """Importance-weighted CTR of each policy, its lower bounds and truth: a panel for each
    experiment and log.
    """
    style.apply()
    frame = _named(frame)
    figure, axes = panels.grid(frame)
    names_height = 0.045 * frame["learner"].str.len().max()  # inches, of the policies' names
    figure.set_figheight(figure.get_figheight() + names_height * len(axes))
    looks = style.looks(frame)
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        for place, row in enumerate(panel.itertuples()):
            colour, marker, _ = looks[row.learner]
            axis.plot(
                (place, place),
                (100 * row.mean, 100 * row.lower),
                color=colour,
                lw=0.8,
                ls=":",
                label=T["label"],
            )
            axis.plot(place, 100 * row.lower, color=colour, **T)
            axis.plot(place, 100 * row.mean, color=colour, marker=marker, **WEIGHTED)
            axis.plot(place, 100 * row.exact_lower, color=colour, **EXACT)
            axis.plot(place + 0.32, 100 * row.true, color="0.15", **TRUE)
        panels.head(axis, panel)
        axis.set_xticks(
            range(len(panel)), panel["learner"], rotation=40, ha="right", rotation_mode="anchor"
        )
        axis.set_xlim(-0.6, len(panel) - 0.4)
        axis.grid(axis="x", visible=False)
        bottom, top = axis.get_ylim()
        # Student's t may go below 0, the others may be 0
        axis.set_ylim(max(-0.03 * top, bottom), top)
    for axis in axes[:, 0]:
        axis.set_ylabel("CTR (%)")
    entries = [
        WEIGHTED | {"marker": "o", "ls": ""},
        T,
        EXACT,
        *([TRUE] if frame["true"].notna().any() else []),
    ]
    handles = {
        look["label"]: Line2D([], [], color="0.15" if look is TRUE else "0.2", **look)
        for look in entries
    }
    levels = ", ".join(f"{100 * level:g} %" for level in frame["level"].unique())
    panels.legend(figure, handles, f"means over seeds; lower bounds: {levels}, one-sided")
    return figure


def by_rate(frame: pd.DataFrame):
    """CTR / CTR of the uniform policy, against the click rate of the training log: a line for each
    learner.
    """
    style.apply()
    frame = _named(frame)
    looks, handles = style.looks(frame), {}
    experiments = frame.assign(stream="")
    figure, axes = panels.grid(experiments, most=2)
    for axis, (_, panel) in zip(axes.flat, panels.split(experiments), strict=False):
        rates = np.sort(panel["rate"].unique())
        for (learner, rows), shift in zip(
            panel.groupby("learner", sort=False),
            _dodged(panel["learner"].nunique(), 0.08),
            strict=True,
        ):
            rows = rows.sort_values("rate")
            # shifted a little, so that bars do not hide each other
            x = 100 * rows["rate"] * 10**shift
            handles[learner] = _bars(axis, x, rows, looks[learner], ls=looks[learner][2])
        axis.set(
            xscale="log",
            xlabel="click rate of the training log (%)",
            xlim=(80 * rates[0], 125 * rates[-1]),
        )
        axis.set_xticks(100 * rates, [f"{100 * rate:.2g}" for rate in rates])
        axis.set_xticks([], minor=True)
        panels.head(axis, panel.assign(panel=panel["reading"], reading=_choice(panel)))
    for axis in axes[:, 0]:
        axis.set_ylabel("CTR / uniform's CTR")
    panels.legend(
        figure,
        {name: handles[name] for name in looks},
        f"mean over seeds of the ratio; bars: {panels.INTERVAL}",
    )
    return figure


def coverage(frame: pd.DataFrame):
    """How often each lower bound and each two-sided interval holds, and how wide the bound is, by
    campaign.

    A cell shows the least coverage over policies and sizes of logs; it is coloured where the 95 %
    interval of this coverage ends below the level, more strongly the less often the bound holds.
    """
    style.apply()
    campaigns, names = frame["campaign"].unique().tolist(), _bounds_by_group(frame)
    level, largest = frame["level"].iloc[0], frame["rows"].max()
    worst = frame.sort_values("coverage").drop_duplicates(["side", "campaign", "bound"])
    lacking = (level - worst["coverage"]).where(worst["coverage_high"] < level)
    worst = worst.assign(share=100 * worst["coverage"], lacking=lacking).set_index("side")
    width = max(panels.COLUMN, min(panels.WIDEST, 1.7 + 0.5 * len(campaigns)))
    figure, axes = plt.subplots(
        3, 1, figsize=(width, 0.48 * len(names) + 2.2), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip

    def cells(rows: pd.DataFrame, column: str) -> np.ndarray:
        values = rows.pivot_table(column, "bound", "campaign", sort=False)
        return values.reindex(index=names, columns=campaigns).to_numpy()

    for (axis,), (side, title) in zip(axes, SIDES.items(), strict=False):
        rows = worst.loc[[side]]
        axis.imshow(cells(rows, "lacking"), "Oranges", aspect="auto", vmin=-0.2, vmax=1.6)
        _write(axis, cells(rows, "share"), ".0f")
        axis.set_title(title, loc="right", fontsize=8)
    in_largest = frame[(frame["side"] == "lower") & (frame["rows"] == largest)]
    _write(axes[2, 0], cells(in_largest, "width_mean"), ".2f")
    title = f"(Estimate - lower bound) / truth, {largest:,} rows"
    axes[2, 0].set_title(title, loc="right", fontsize=8)
    axes[2, 0].set_xticks(range(len(campaigns)), campaigns, rotation=35, ha="right", fontsize=7)
    _name_bounds(axes, names)
    logs = panels.count(frame.assign(n=frame["repeats"]))
    figure.supxlabel(
        f"simulated logs, {logs} of each setting\nthe least share over policies and sizes of logs"
        f"\ncoloured: its interval ends below the {100 * level:g} % that are meant",
        fontsize=7,
    )
    return figure


def _write(axis, values: np.ndarray, form: str) -> None:
    """Write numbers into the cells of a panel; cells without a number stay empty."""
    axis.grid(visible=False)
    axis.set(xlim=(-0.5, values.shape[1] - 0.5))
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            axis.text(column, row, f"{value:{form}}", ha="center", va="center", fontsize=6.5)


def _bounds_by_group(frame: pd.DataFrame) -> list[str]:
    """Labels from the top down: the name of each group, followed by the names of its bounds."""
    names = []
    for group in BOUNDS:
        bounds = frame.loc[frame["group"] == group, "bound"].unique().tolist()
        if bounds:
            names += [group, *bounds]
    return names


def _name_bounds(axes: np.ndarray, names: list[str]) -> None:
    """Write the labels of `_bounds_by_group` beside the panels in the first column; names of groups
    in italics, on a grey band.
    """
    heads = [tick for tick, name in enumerate(names) if name in BOUNDS]
    axes[0, 0].set_ylim(len(names) - 0.4, -0.6)  # all share it
    axes[0, 0].set_yticks(range(len(names)), [NAMES.get(name, name) for name in names])
    for axis in axes.flat:
        axis.tick_params(axis="y", length=0, labelsize=7)
        for head in heads:
            axis.axhspan(head - 0.5, head + 0.5, color="0.93", lw=0, zorder=0)
    for axis in axes[:, 0]:
        for head in heads:
            axis.get_yticklabels()[head].set_fontstyle("italic")
