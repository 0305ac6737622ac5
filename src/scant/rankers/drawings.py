"""The figures of contextual learners, drawn from their frames."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scant.measures import title_of
from scant.present import panels, style
from scant.rankers.frames_judged import START, WORTH, worth_in_rounds
from scant.rankers.frames_seen import FORGETTING, REMEMBERING, UNVISITED
from scant.rankers.frames_steps import ORDER
from scant.rankers.frames_top import OBJECTIVES
from scant.rankers.ridge import COLD
from scant.rankers.steps import STEPS
from scant.rankers.traces import (
    AS_SEEN,
    CLIPPED,
    CONTROL,
    EVERY_GRADE,
    LEAST_SQUARES,
    SCALED,
    UNBIASED,
)

# of regret with all feedback, on top, or no learning
POWERS = {"$t^{1/2}$": 1 / 2, "$t^{2/3}$": 2 / 3, "$t$": 1.0}
UNSURE = 0.05  # the gap of a comparator is drawn if it is above this share of the regret
WAYS = dict(  # the colour and marker of each way to take steps
    zip(
        ORDER,
        zip(
            ("#000000", "blue", "sky", "green", "vermilion", "purple", "orange"),
            "*osD^vP",
            strict=True,
        ),
        strict=True,
    )
)
ITERATES = {  # the same by the weights that learners rank by
    "last weights": ("#000000", "*"),
    "average of all": ("blue", "o"),
    "average of a suffix": ("green", "D"),
}
USES = {  # the same by what learners make of what they saw
    AS_SEEN: ("blue", "o"),
    LEAST_SQUARES: ("sky", "p"),
    CONTROL: ("purple", "s"),
    UNBIASED: ("vermilion", "v"),
    SCALED: ("orange", "<"),
    CLIPPED: ("pink", ">"),
    EVERY_GRADE: ("green", "D"),
    "clicks as they are": ("brown", "X"),
    "clicks by PDGD": ("olive", "*"),
    "clicks by DBGD": ("pink", "h"),
    "clicks by inverse propensities": ("purple", "P"),
    "grades of other queries": ("#000000", "D"),
    "no feedback": ("grey", "x"),
    "LinUCB, one click": ("blue", "*"),
    "ridge, one click": ("sky", "s"),
    "Thompson, one click": ("purple", "^"),
    "LinUCB, one click, chosen": ("green", "P"),
    "PDGD, ten clicks": ("vermilion", "o"),
    "pairs, ten clicks": ("orange", "D"),
}
USED = {  # titles of panels, in their order
    AS_SEEN: "Steps on what was seen",
    LEAST_SQUARES: "Least squares (LinUCB or ridge)",
    UNBIASED: "Steps on unbiased estimates",
}
RETURNING = {  # titles of panels, in their order
    FORGETTING: "Shown, grades forgotten",
    REMEMBERING: "Shown, grades remembered",
    UNVISITED: "Queries never visited",
}
STARTED = {"trusted": {"markerfacecolor": "none"}, "chosen": {}}  # how points of starts look
COST = 0.03  # of NDCG@10, beyond which one grade is said to be dear
PANEL = 2.4  # inches of the narrowest panel of final values that its heading fits over
# points of learners' own rankings
OWN = {"markerfacecolor": "none", "markeredgewidth": 0.8, "zorder": 1}


def curves(frame: pd.DataFrame, lost: bool = False):
    """Draw time averages by round: a curve and a band for each learner, with its name beside it if
    they are few.

    lost : whether to draw 1 - average, on a logarithmic axis, which tells averages near 1 apart
    """
    style.apply()
    frame = panels.distinct(panels.named(frame))
    if lost:
        frame = frame.assign(mean=1 - frame["mean"], low=1 - frame["high"], high=1 - frame["low"])
        frame = frame[frame["mean"] > 0]
    names = panels.room_for_names(frame)
    figure, axes = panels.grid(frame, most=2 if names else 3, beside=names)
    looks, handles = style.looks(frame), {}
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        texts = {}
        for learner, curve, look in panels.learners(panel, looks):
            handles[learner] = panels.curve(axis, curve, look, panels.alpha(looks))
            texts[learner] = curve["mean"].iloc[-1], learner, look
        panels.head(axis, panel)
        axis.set(xscale="log", xlabel="round t")
        # Early averages are over few lists and vary widely: the limits fit the later rounds.
        late = panel[panel["round"] >= min(10, panel["round"].max())]
        floor, top = late["mean"].min(), late["mean"].max()
        room = 0.08 * max(top - floor, 0.02)
        if lost:
            axis.set(yscale="log", ylim=(floor / 1.5, min(1, 1.5 * top)))
        else:
            axis.set_ylim(max(0, floor - room), min(1.005, top + room))
        if panel["round"].max() > 10:
            axis.set_xlim(10, panel["round"].max())
        if names:
            panels.beside(axis, texts)
    for axis in axes[:, 0]:
        of = title_of(frame["measure"].iloc[0])
        axis.set_ylabel(f"1 - time-averaged {of}" if lost else f"time-averaged {of}")
    panels.legend(figure, {} if names else handles, f"mean over seeds; bands: {panels.INTERVAL}")
    return figure


losses = partial(curves, lost=True)


def regrets(frame: pd.DataFrame):
    """Draw regret by round, both logarithmic, with each learner's slope, and thin lines with the
    slopes of bounds.
    """
    style.apply()
    frame = panels.named(frame)
    figure, axes = panels.grid(frame, most=2, beside=0.95)
    looks, handles, unsure = _by_steps(style.looks(frame), frame), {}, False
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        axis.set(xscale="log", yscale="log", xlabel="round t")
        means = panel.loc[panel["mean"] > 0, "mean"]
        floor, top = (means.min() / 5, means.max() * 2) if len(means) else (0.1, 10)
        first, last = panel["round"].min(), max(panel["round"].max(), panel["round"].min() + 1)
        axis.set(xlim=(first, last), ylim=(floor, top))
        start = floor * (top / floor) ** 0.05
        for share, (name, power) in zip((0.5, 0.7, 0.9), POWERS.items(), strict=True):
            end = min(last, first * (top / start) ** (1 / power))
            axis.plot(
                (first, end),
                (start, start * (end / first) ** power),
                color="0.7",
                lw=0.6,
                zorder=0.5,
            )
            step = (end / first) ** share
            axis.annotate(
                name,
                (first * step, start * step**power),
                (0, -1),
                textcoords="offset points",
                va="top",
                fontsize=8,
                color="0.45",
            )
        texts = {}
        for learner, curve, look in panels.learners(panel, looks):
            last, positive = curve.iloc[-1], curve[curve["mean"] > 0]
            handles[learner] = panels.curve(axis, positive, look, panels.alpha(looks))
            wide = positive["gap"] > UNSURE * positive["mean"]
            unsure |= wide.any()
            gap = (positive["mean"] + positive["gap"]).where(wide)
            axis.plot(positive["round"], gap, ":", color=look[0], lw=1.0, label=learner)
            if last["mean"] > 0:
                texts[learner] = last["mean"], panels.slope(last), look
        panels.beside(axis, texts)
        panels.head(axis, panel)
        judges = panel["judge"].unique()
        axis.set_ylabel(f"regret, {OBJECTIVES[judges[0]] if len(judges) == 1 else 'own surrogate'}")
    title = (
        f"mean over seeds, and slope of the mean beside it\nbands: {panels.INTERVAL}, "
        f"brackets: {panels.BOOTSTRAP}"
    )
    panels.legend(figure, handles, title + ("; dotted: plus the certified gap" if unsure else ""))
    return figure


def _by_steps(looks: dict, frame: pd.DataFrame) -> dict:
    """The looks by learner; one whose steps need no rate gets the colour and marker of its steps,
    unless another learner has them.
    """
    looks = dict(looks)
    for learner, way in frame[["learner", "steps"]].drop_duplicates().itertuples(index=False):
        if way in STEPS:
            colour, marker = WAYS[STEPS[way].about]
            look = (style.COLOURS.get(colour, colour), marker, looks[learner][2])
            looks[learner] = looks[learner] if look in looks.values() else look
    return looks


def _bars(axis, places, rows: pd.DataFrame, along: str, **look) -> None:
    """Draw means with intervals along the axis "x" or "y"; without intervals if there is only one
    seed.
    """
    ends = abs(rows[["low", "high"]].T.to_numpy() - rows["mean"].to_numpy())
    centres = (places, rows["mean"]) if along == "y" else (rows["mean"], places)
    axis.errorbar(*centres, **{f"{along}err": ends}, elinewidth=0.9, capsize=0, ls="", **look)


def _legend_of_rankings(figure, handles: dict) -> None:
    """Add the legend of a figure that shows both rankings."""
    point = {"color": "0.2", "marker": "o", "ls": "", "markersize": 4}
    handles["lists shown"] = Line2D([], [], **point)
    handles["own, no exploration"] = Line2D([], [], **point | OWN)
    panels.legend(figure, handles, f"mean over seeds; bars and bands: {panels.INTERVAL}")


def _horizon(panel: pd.DataFrame) -> str:
    """The horizon as a part of a panel's title."""
    return f", T = {panel['rounds'].max():,}"


def against_k(frame: pd.DataFrame):
    """Draw final values against k: a line for each objective, and reference lines for learners
    without a k. Points of own rankings are right of those of the lists shown.
    """
    style.apply()
    figure, axes = panels.grid(frame, most=2, beside=0.65)
    places = sorted(
        frame["place"].dropna().unique(), key=lambda place: (place == "all", len(place), place)
    )
    lines, handles = list(dict.fromkeys(frame.loc[frame["place"].notna(), "line"])), {}
    shifts = dict(
        zip(lines, np.linspace(-0.3, 0.2, len(lines)) if len(lines) > 1 else [0.0], strict=True)
    )
    references = frame.loc[frame["place"].isna(), "line"].unique()
    longest = max((panels.text_width(name, panels.SUBTITLE) for name in references), default=0.0)
    room = figure.get_figwidth() / axes.shape[1] - 0.6 - longest
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        texts = {}
        for line, row in (
            panel[panel["place"].isna()].drop_duplicates("line").set_index("line").iterrows()
        ):
            colour, _, dashed = style.own_look(row["kind"], row["user"] or row["objective"]) or (
                "0.3",
                "",
                ":",
            )
            axis.axhspan(row["low"], row["high"], color=colour, alpha=0.2, lw=0)
            axis.axhline(row["mean"], color=colour, ls=dashed, lw=1.0)
            texts[line] = row["mean"], line, (colour, "", dashed)
        for (line, ranking), rows in panel[panel["place"].notna()].groupby(
            ["line", "ranking"], sort=False
        ):
            of_lists = ranking == "shown"
            shift = shifts[line] + (0.0 if of_lists else 0.1)
            rows = rows.assign(x=rows["place"].map(places.index) + shift).sort_values("x")
            colour, marker, _ = style.own_look("rtop", rows["objective"].iloc[0])
            look = {"color": colour, "marker": marker, "label": line, "markersize": 4}
            _bars(axis, rows["x"], rows, "y", **look | ({} if of_lists else OWN))
            top = rows[rows["place"] != "all"]
            axis.plot(
                top["x"],
                top["mean"],
                color=colour,
                lw=1.5 if of_lists else 0.6,
                zorder=1,
                label=line,
            )
            if len(top) < len(rows):  # the last point is of another learner, which sees every grade
                axis.plot(
                    rows["x"].tail(2),
                    rows["mean"].tail(2),
                    "--",
                    color=colour,
                    lw=0.8,
                    zorder=0.9,
                    label=line,
                )
            if of_lists:
                handles[line] = Line2D([], [], **look)
        panels.head(axis, panel, _horizon(panel), room=room)
        axis.set(xlabel="k, grades seen", xlim=(-0.5, len(places) - 0.5))
        axis.set_ylim(max(0, axis.get_ylim()[0]), min(1.02, axis.get_ylim()[1]))
        axis.set_xticks(range(len(places)), places)
        panels.beside(axis, texts)
    for axis in axes[:, 0]:
        axis.set_ylabel(f"time-averaged {title_of(frame['measure'].iloc[0])}")
    _legend_of_rankings(figure, handles)
    return figure


def feedback(frame: pd.DataFrame):
    """Draw the gap to the best learner from every grade by feedback: a line for each stream, a
    column of panels for each use of the feedback.

    Lines join neighbouring numbers of grades; clicks stand apart.
    """
    style.apply()
    order = list(dict.fromkeys(frame.sort_values("seen", ascending=False)["feedback"]))
    xs = {text: number + 0.5 * (text == "clicks") for number, text in enumerate(order)}
    uses = [use for use in USED if (frame["use"] == use).any()]
    panels_of = [(part, use) for _, part in frame.groupby("experiment", sort=False) for use in uses]
    columns = 1 if panels.narrow() else len(uses)
    rows = len(panels_of) // columns
    width = panels.COLUMN if columns == 1 else min(panels.WIDEST, 2.5 * columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(width, 2.6 * rows + 0.8),
        squeeze=False,
        layout="constrained",
        sharey=True,
    )
    titles, handles = frame.drop_duplicates("stream").set_index("stream")["panel"], {}
    shifts = np.linspace(-0.16, 0.16, len(titles)) if len(titles) > 1 else [0.0]
    for axis, (part, use) in zip(axes.flat, panels_of, strict=True):
        panel = part[part["use"] == use].assign(panel=USED[use])
        axis.axhline(0, color="0.3", lw=0.9, zorder=0.5)
        for number, (stream, shift) in enumerate(zip(titles.index, shifts, strict=True)):
            line = panel[panel["stream"] == stream].set_index("feedback")
            look = {
                "color": style.PALETTE[number % 10],
                "marker": "osD^vP*Xhd"[number % 10],
                "markersize": 4.5,
            }
            _bars(axis, [xs[text] + shift for text in line.index], line, "y", label=stream, **look)
            grades = [text for text in order if text != "clicks"]
            means = line["mean"].reindex(grades)  # a place without a point ends the line
            axis.plot(
                [xs[text] + shift for text in grades],
                means,
                color=look["color"],
                lw=1.1,
                zorder=0.9,
            )
            handles[titles[stream]] = Line2D([], [], lw=1.1, **look)
        if len(panel):
            panels.head(axis, panel, _horizon(panel))
        if "clicks" in xs:
            axis.axvline(xs["clicks"] - 0.75, color="0.6", lw=0.8, ls=":", zorder=0.5)
        axis.set_xticks(list(xs.values()), list(xs))
        axis.set_xlim(-0.5, max(xs.values()) + 0.5)
        axis.set_xlabel("grades seen in each round")
    for axis in axes[:, 0]:
        axis.set_ylabel(f"{title_of(frame['measure'].iloc[0])}, difference")
    figure.suptitle(panels.wrapped(_lost(frame, uses), width - 0.2, 10), fontsize=10)
    panels.legend(figure, handles, f"mean over seeds; bars: {panels.INTERVAL}; {_zero(frame)}")
    return figure


def worth(frame: pd.DataFrame):
    """Draw what judged lists are worth: a row of two panels for each stream. On the left, NDCG@10
    by grades bought, with the reading for ten human lists; on the right, the first rounds less the
    cold learner's, by judge.
    """
    style.apply()
    split, handles = panels.split(frame), {}
    judges = [line for line in dict.fromkeys(frame["line"]) if line != COLD]
    colours = dict(zip([COLD, *judges], ["#000000", *style.PALETTE], strict=False))
    judged = [line for line in judges if (frame.query("part == @START")["line"] == line).any()]
    width = panels.COLUMN if panels.narrow() else panels.WIDEST
    columns = 1 if panels.narrow() else 2
    figure, axes = plt.subplots(
        2 // columns * len(split),
        columns,
        figsize=(width, 2.6 * 2 // columns * len(split) + 0.8),
        squeeze=False,
        layout="constrained",
    )
    longest = max((panels.text_width(line, 10) for line in judged), default=0.0)
    room = width / columns - 0.5 - longest
    for number, (_, panel) in enumerate(split):
        left, right = axes.flat[2 * number : 2 * number + 2]
        bought = panel[panel["part"] == WORTH]
        for line, points in bought.groupby("line", sort=False):
            look = {
                "color": colours[line],
                "marker": "" if line == COLD else "o",
                "markersize": 3.5,
            }
            points = points.sort_values("grades")
            _bars(left, points["grades"], points, "y", **look)
            (handle,) = left.plot(points["grades"], points["mean"], lw=1.2, **look)
            handles["one grade a round" if line == COLD else f"lists, {line}"] = handle
        _mark_reading(left, bought)
        left.set(xscale="log", xlabel="grades bought", ylabel="NDCG@10, never visited")
        panels.head(left, panel, _horizon(panel))
        starts = panel[panel["part"] == START]
        right.axvline(0, color="0.3", lw=0.9)
        for row in starts.itertuples():
            look = {"marker": "o", "markersize": 4.5} | STARTED[row.start]
            shift = 0.15 if row.start == "chosen" else -0.15
            place, rows = judged.index(row.line) + shift, starts.loc[[row.Index]]
            _bars(right, [place], rows, "x", color=colours[row.line], **look)
            handles[f"start {row.start}"] = Line2D([], [], color="0.2", ls="", **look)
        right.set_yticks(range(len(judged)), judged)
        right.xaxis.set_major_locator(MaxNLocator(4))
        right.set_ylim(len(judged) - 0.5, -0.5)
        right.grid(axis="y", visible=False)
        right.set_xlabel(panels.wrapped("NDCG@10 less cold, first rounds", room, 10))
        panels.head(right, panel, f", {starts['lists'].max()} lists" if len(starts) else "", room)
    panels.legend(figure, handles, f"mean over seeds; bars: {panels.INTERVAL}; 0: no judged lists")
    return figure


def _mark_reading(axis, bought: pd.DataFrame) -> None:
    """Draw a line from the point of ten human lists to the curve of the cold learner, and down to
    the round there.
    """
    human = bought[(bought["line"] == "human") & (bought["lists"] == 10)]
    cold = bought[bought["line"] == COLD].sort_values("grades")
    if human.empty or cold.empty:
        return
    value, rounds = human["mean"].iloc[0], cold["grades"].to_numpy(float)
    read = worth_in_rounds(rounds, cold["mean"].to_numpy(), value)
    more = "more than " if cold["mean"].max() < value else ""
    bottom, line = axis.get_ylim()[0], {"color": "0.3", "lw": 0.8, "ls": "--"}
    axis.plot([human["grades"].iloc[0], read, read], [value, value, bottom], **line)
    text = f"{more}{read:,.0f} rounds"
    axis.annotate(text, (read, bottom), (4, 3), textcoords="offset points", fontsize=8)
    axis.set_ylim(bottom=bottom)


def _zero(frame: pd.DataFrame) -> str:
    """What 0 stands for, in words, in figures of differences to the best learner from every
    grade.
    """
    return f"0: the best linear learner from every grade ({', '.join(frame['reference'].unique())})"


def returns(frame: pd.DataFrame):
    """Draw differences to the best learner from every grade by how often queries return: a panel
    for each way to treat queries that return, a colour for what is seen; data sets are marks.
    """
    style.apply()
    uses = [use for use in RETURNING if (frame["use"] == use).any()]
    columns = 1 if panels.narrow() else len(uses)
    width = panels.COLUMN if columns == 1 else panels.WIDEST
    rows = len(uses) // columns
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, 2.5 * rows + 0.8), squeeze=False, layout="constrained"
    )
    sets, handles = frame[frame["line"] == "data"].drop_duplicates("stream").set_index("stream"), {}
    marks = dict(zip(sets.index, "sD^vP*Xhd", strict=False))
    for axis, use in zip(axes.flat, uses, strict=True):
        panel = frame[frame["use"] == use].assign(panel=RETURNING[use])
        axis.axhline(0, color="0.3", lw=0.9, zorder=0.5)
        for whose, of_grades in panel.groupby("feedback", sort=False):
            look = {"color": style.PALETTE[whose == "every grade"], "markersize": 4.5}
            for line, points in of_grades.groupby("line", sort=False):
                points = points.sort_values("returns")
                if line != "data":
                    axis.plot(points["returns"], points["mean"], color=look["color"], lw=1.1)
                    _bars(axis, points["returns"], points, "y", marker="o", **look)
                    handles[f"{whose}, simulated"] = Line2D([], [], lw=1.1, marker="o", **look)
                    continue
                for stream, point in points.groupby("stream", sort=False):
                    of_set = look | {"marker": marks[stream], "markerfacecolor": "none"}
                    _bars(axis, point["returns"], point, "y", **of_set)
                    grey = of_set | {"color": "0.3", "ls": ""}
                    handles[sets["panel"][stream]] = Line2D([], [], **grey)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter("")  # numbers of a range below a decade would overlap
        panels.head(axis, panel, _horizon(panel))
        axis.set_xlabel("how often a query returns")
    for axis in axes[:, 0]:
        axis.set_ylabel(f"{title_of(frame['measure'].iloc[0])}, difference")
    figure.suptitle(panels.wrapped(_crossing(frame), width - 0.2, 10), fontsize=10)
    experiments = "; ".join(frame["reading"].unique())
    bars = f"{experiments}; mean over seeds; bars: {panels.INTERVAL}"
    panels.legend(figure, handles, f"{bars}; {_zero(frame)}")
    return figure


def _crossing(frame: pd.DataFrame) -> str:
    """Where what one grade costs on queries never visited passes `COST`, as a title: between the
    simulated streams on both sides of it, on a logarithmic scale.
    """
    one = frame[(frame["use"] == UNVISITED) & (frame["feedback"] == "one grade")]
    line = one[one["line"] != "data"].sort_values("returns")
    beyond = np.flatnonzero(line["mean"] < -COST)
    if not len(beyond) or not beyond[0]:
        return "What does one grade cost where queries come back?"
    costs, logs = -line["mean"].to_numpy(), np.log(line["returns"].to_numpy())
    place = slice(beyond[0] - 1, beyond[0] + 1)
    times = np.exp(np.interp(COST, costs[place], logs[place]))
    return (
        f"On queries never visited one grade a round costs more than {COST} where queries return "
        f"more than about {times:.0f} times"
    )


def _lost(frame: pd.DataFrame, uses: list[str]) -> str:
    """What seeing one grade a round costs, on the streams with the least and with the largest cost,
    as a title.

    The cost is that of the last of `uses` that is no unbiased estimate.
    """
    best = [use for use in uses if use != UNBIASED][-1:]
    one = frame[(frame["seen"] == 1) & frame["use"].isin(best)]
    if one.empty:
        return "How far from a ranker that sees every grade?"
    low, high = (f"{max(-gap, 0):.2f}" for gap in (one["mean"].max(), one["mean"].min()))
    lost = low if low == high else f"{low} to {high}"
    by = {AS_SEEN: "steps on what was seen lose", LEAST_SQUARES: "least squares loses"}[best[0]]
    return f"From one grade in each round, {by} {lost} of {title_of(frame['measure'].iloc[0])}"


def dots(frame: pd.DataFrame):
    """Draw final values with intervals: a line for each learner, panels by experiment (down) and
    stream (across).
    """
    style.apply()
    streams = frame["stream"].unique().tolist()
    labels = {
        name: _wrapped(rows.set_index("learner")["label"].to_dict())
        for name, rows in frame.groupby("experiment", sort=False)
    }
    names = [
        line
        for of_experiment in labels.values()
        for name in of_experiment.values()
        for line in name.split("\n")
    ]
    longest = max(panels.text_width(name, 8) for name in names)
    most = 1 if panels.narrow() else int((panels.WIDEST - 0.3 - longest) / PANEL)
    down = -(-len(streams) // max(1, most))  # lines of panels of an experiment
    columns = -(-len(streams) // down)
    split, places, heights = panels.split(frame), {}, {}
    for experiment, stream in (cell for cell, _ in split):
        line, column = divmod(streams.index(stream), columns)
        line += down * list(labels).index(experiment)
        places[experiment, stream] = line, column
        heights[line] = 0.75 + 0.2 * _lines(labels[experiment].values())
    lines = sorted(heights)  # without those whose streams an experiment does not have
    width = panels.COLUMN if panels.narrow() else min(panels.WIDEST, 0.3 + longest + 2.3 * columns)
    figure, axes = plt.subplots(
        len(heights),
        columns,
        figsize=(width, sum(heights.values()) + 0.5),
        squeeze=False,
        layout="constrained",
        height_ratios=[heights[line] for line in lines],
        sharey="row",
    )
    for axis in axes.flat:
        axis.set_axis_off()
    for (experiment, stream), panel in split:
        line, column = places[experiment, stream]
        axis = axes[lines.index(line), column]
        axis.set_axis_on()
        learners, exploring = (
            list(labels[experiment]),
            set(panel.loc[panel["ranking"] == "own", "learner"]),
        )
        for row in panel.itertuples():
            colour, marker, dashed = style.own_look(row.kind, row.user or row.objective) or (
                "0.3",
                "o",
                ":",
            )
            hollow = row.ranking == "own"
            height = learners.index(row.learner) + (
                0.16 if hollow else -0.16 if row.learner in exploring else 0.0
            )
            look = {"color": colour, "marker": marker, "markersize": 4} | (OWN if hollow else {})
            _bars(axis, [height], panel.loc[[row.Index]], "x", **look)
            if row.kind in ("listnet", "random"):
                axis.axvspan(row.low, row.high, color=colour, alpha=0.2, lw=0, zorder=0)
                axis.axvline(row.mean, color=colour, ls=dashed, lw=0.8, zorder=0.5)
        axis.set_yticks(range(len(learners)), labels[experiment].values())
        axis.set_ylim(len(learners) - 0.5, -0.5)
        axis.set_xlim(max(0, axis.get_xlim()[0]), min(1.02, axis.get_xlim()[1]))
        axis.grid(axis="y", visible=False)
        axis.set_xlabel(f"time-averaged {title_of(row.measure)}")
        panels.head(axis, panel, _horizon(panel), room=(width - 0.3 - longest) / columns - 0.1)
    _legend_of_rankings(figure, {})
    return figure


def _wrapped(labels: dict) -> dict:
    """Names of learners in lines that leave room for a panel, where the figure is for a column of
    text.
    """
    return {
        key: panels.wrapped(name, 1.35, 8) if panels.narrow() else name
        for key, name in labels.items()
    }


def _lines(labels) -> int:
    """The height of some labels in lines of text, each label as tall as the tallest."""
    labels = list(labels)
    return len(labels) * (1 + 0.7 * max(label.count("\n") for label in labels))


def steps(frame: pd.DataFrame):
    """Draw the final NDCG@10 of each way to play: a line for each learner, panels by experiment and
    stream.

    frame : each row has a learner (`base`) and its way to play (`steps`). Rows with the same base
        and way get a line each. If no learner plays in two ways, all panels have the same lines,
        named on the left alone
    """
    style.apply()
    again = frame.duplicated(["experiment", "stream", "base", "steps"])
    frame = frame.assign(base=frame["base"].mask(again, frame["label"]))
    played = list(dict.fromkeys(frame["steps"]))
    order = [*ORDER, *ITERATES, *USES]
    ways = [way for way in order if way in played] + [way for way in played if way not in order]
    beside = 1 if not frame.duplicated(["experiment", "stream", "base"]).any() else len(ways)
    shifts = dict(
        zip(ways, np.linspace(-0.35, 0.35, len(ways) + 2)[1:-1] * (beside > 1), strict=True)
    )
    split, handles = panels.split(frame), {}
    columns = 1 if panels.narrow() else min(3 if beside == 1 else 2, len(split))
    every = list(dict.fromkeys(frame["base"]))
    lines = [len(every) if beside == 1 else panel["base"].nunique() for _, panel in split]
    heights = [
        (0.075 * max(beside, 2) + 0.05) * max(lines[start : start + columns]) + 0.8
        for start in range(0, len(split), columns)
    ]
    width = panels.COLUMN if panels.narrow() else {1: 4.8, 2: 7.0, 3: panels.WIDEST}[columns]
    figure, axes = plt.subplots(
        len(heights),
        columns,
        figsize=(width, sum(heights) + 0.5),
        squeeze=False,
        layout="constrained",
        height_ratios=heights,
    )
    for axis in axes.flat[len(split) :]:
        axis.set_axis_off()
    longest = max(panels.text_width(base, 8) for base in every)
    room = width / columns - longest / (columns if beside == 1 else 1) - 0.3
    for axis, (_, panel) in zip(axes.flat, split, strict=False):
        bases = every if beside == 1 else list(dict.fromkeys(panel["base"]))
        for way in ways:
            rows = panel[panel["steps"] == way]
            colour, marker = (WAYS | ITERATES | USES).get(way, ("brown", "X"))
            look = {
                "color": style.COLOURS.get(colour, colour),
                "marker": marker,
                "markersize": 4,
                "label": way,
            }
            _bars(
                axis, [bases.index(base) + shifts[way] for base in rows["base"]], rows, "x", **look
            )
            handles[way] = Line2D([], [], ls="", **look)
        for line in range(1, len(bases)):
            axis.axhline(line - 0.5, color="0.85", lw=0.6, zorder=0)
        axis.set_yticks(range(len(bases)), _wrapped(dict(enumerate(bases))).values())
        if beside == 1 and axis not in axes[:, 0]:
            axis.tick_params(labelleft=False)
        axis.set_ylim(len(bases) - 0.5, -0.5)
        axis.grid(axis="y", visible=False)
        label = f"time-averaged {title_of(panel['measure'].iloc[0])}"
        axis.set_xlabel(panels.wrapped(label, max(room, 1.0), 9))
        panels.head(axis, panel, _horizon(panel), room=room)
    panels.legend(figure, handles, f"mean over seeds; bars: {panels.INTERVAL}")
    return figure
