"""Drawings of the frames of `scant.games.frames`."""

from functools import partial

import numpy as np
import pandas as pd

from scant.present import panels, style

NAMES = {
    "sum-loss": "SumLoss",
    "pairwise-loss": "PairwiseLoss",
    "position-loss": "position loss",
    "auc-loss": "AUC",
    "spearman-loss": "Spearman",
    "ap": "AP",
}
LOW = 1.75  # inches of a row of panels in a figure of many
AXES = {"horizon": "horizon T (rounds)", "items": "number of items m"}


def averages(frame: pd.DataFrame):
    """Average regret by round: a curve and a band for each learner, with names beside the curves,
    or in a legend where these would take too much room.

    If a game has more than `panels.NAMED` learners, it has several panels. Each shows some
    learners, and the others in grey.
    """
    style.apply()
    frame = panels.named(frame)
    looks, handles = style.looks(frame), {}
    divided = panels.distinct(_apart(frame))
    crowded = len(panels.split(divided)) > len(panels.split(frame))
    names = panels.room_for_names(divided)
    high = LOW if names and len(panels.split(divided)) > 6 else panels.ROW
    figure, axes = panels.grid(divided, most=2 if names else 3, beside=names, high=high)
    for axis, (_, panel) in zip(axes.flat, panels.split(divided), strict=False):
        texts, shown_here = {}, set(panel["learner"])
        same_game = frame["experiment"].isin(panel["experiment"]) & frame["stream"].isin(
            panel["of"]
        )
        for learner, curve, _ in panels.learners(frame[same_game], looks):
            if learner not in shown_here:
                axis.plot(curve["round"], curve["mean"], color="0.8", lw=0.8, zorder=0.8)
        for learner, curve, look in panels.learners(panel, looks):
            handles[learner] = panels.curve(axis, curve, look, panels.alpha(shown_here))
            texts[learner] = curve["mean"].iloc[-1], learner, look
        panels.head(axis, panel, f", T = {panel['horizon'].max():,}")
        first = max(panel["round"].min(), min(10, panel["round"].max() // 2))
        axis.set(xscale="log", xlabel="round t", xlim=(first, panel["round"].max()))
        means = panel.loc[panel["round"] >= first, "mean"]
        room = 0.05 * (means.max() - min(means.min(), 0.0))
        axis.set_ylim(min(means.min(), 0.0) - room, means.max() + room)
        axis.axhline(0, color="0.6", lw=0.6, zorder=0.5)
        axis.set_ylabel("regret / t" + ("\n" if names else " ") + f"({_name(panel)})")
        if names:
            panels.beside(axis, texts, gap=0.12 if high == LOW else 0.08)
    title = f"mean over seeds; bands: {panels.INTERVAL}"
    if crowded:
        title += "; grey: the game's other learners"
    panels.legend(figure, {} if names else handles, title)
    return figure


def _apart(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with each panel of more than `panels.NAMED` learners divided into panels of at most
    so many.

    Learners that see all items are apart from those that see a few. The title of a panel says which
    of the game's panels it is. The column `of` has the stream that they are parts of.
    """
    parts = []
    for _, rows in panels.split(frame.assign(of=frame["stream"])):
        groups = _groups(rows)
        for number, (sees, names) in enumerate(groups, 1):
            part = rows[rows["learner"].isin(names)]
            if len(groups) > 1:
                suffix = (
                    f", {sees}"
                    if [seen for seen, _ in groups].count(sees) == 1
                    else f", {number} of {len(groups)}"
                )
                part = part.assign(stream=part["stream"] + suffix, panel=part["panel"] + suffix)
            parts.append(part)
    return pd.concat(parts)


def _groups(rows: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """The learners of a game in groups of at most `panels.NAMED`, as equal as can be, each with
    what its learners see.
    """
    learners = rows.drop_duplicates("learner")
    if len(learners) <= panels.NAMED:
        return [("", learners["learner"].tolist())]
    groups = []
    for sees, part in learners.groupby(
        np.where(learners["k"] == 0, "all items seen", "the top seen"), sort=False
    ):
        count = -(-len(part) // panels.NAMED)
        groups += [
            (sees, names.tolist())
            for names in np.array_split(part["learner"].to_numpy(object), count)
        ]
    return groups


def growth(frame: pd.DataFrame, along: str):
    """Regret against the horizon or the number of items, both logarithmic, with slopes; bounds are
    dotted.
    """
    style.apply()
    frame = panels.distinct(panels.named(frame))
    figure, axes = panels.grid(frame, most=2, beside=1.0)
    looks, handles = style.looks(frame), {}
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        axis.set(xscale="log", yscale="log", xlabel=AXES[along])
        positive = panel.loc[panel["mean"] > 0, "mean"]
        values = pd.concat([positive, panel["bound"].dropna()])
        ends = panel[along].min(), panel[along].max()
        axis.set(xlim=(ends[0] / 1.05, ends[1] * 1.05))
        if len(values):
            axis.set_ylim(values.min() / 2, values.max() * 2)
        _whole_decades(axis)
        texts = {}
        for learner, rows in panel.groupby("learner", sort=False):
            look, rows = looks[learner], rows.sort_values(along)
            axis.plot(
                rows[along], rows["bound"], ":", color=look[0], lw=0.9, zorder=1, label=learner
            )
            points = rows[rows["mean"] > 0]
            handles[learner] = panels.points(axis, points, along, look, learner)
            if len(points) and points[along].iloc[-1] == ends[1]:
                texts[learner] = points["mean"].iloc[-1], panels.slope(rows.iloc[-1]), look
        panels.beside(axis, texts)
        ending = "" if along == "horizon" else f", T = {panel['horizon'].max():,}"
        panels.head(axis, panel, ending)
        axis.set_ylabel(f"regret ({_name(panel)})")
        if along == "items":
            _ticks(axis, panel["items"])
    title = (
        f"mean over seeds, and slope of the mean beside it; dotted: the learner's bound\n"
        f"bars: {panels.INTERVAL}, brackets: {panels.BOOTSTRAP}"
    )
    panels.legend(figure, handles, title)
    return figure


def _name(panel: pd.DataFrame) -> str:
    """The loss or gain of a panel's games, as the papers call it."""
    measure = panel["measure"].iloc[0]
    stem, mark, cut = measure.partition("@")
    return NAMES.get(measure) or {"precision": "Precision"}.get(stem, stem.upper()) + mark + cut


def _ticks(axis, items: pd.Series) -> None:
    """A tick at each number of items, and no others."""
    numbers = sorted(items.unique())
    axis.set_xticks(numbers, [f"{n:,}" for n in numbers], minor=False)
    axis.set_xticks([], minor=True)


def _whole_decades(axis) -> None:
    """Widen the limits of a logarithmic axis to powers of ten if fewer than two lie between them.

    Otherwise Matplotlib would label ticks between powers of ten, and these labels are too long.
    """
    low, high = np.log10(axis.get_ylim())
    if np.floor(high) - np.ceil(low) < 1:
        axis.set_ylim(10.0 ** np.floor(low), 10.0 ** np.ceil(high))


against_horizon = partial(growth, along="horizon")
against_items = partial(growth, along="items")
