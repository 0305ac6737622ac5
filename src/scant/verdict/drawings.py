"""The figures of claims: all estimates of each claim, and the readings that each is made under."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter, FixedLocator, MaxNLocator, NullLocator

from scant.present import panels, style
from scant.verdict import words
from scant.verdict.readings import BESIDE, OVERALL, titled

OUTCOMES = {  # colour, marker and whether it is filled
    "holds": (style.PALETTE[0], "o", True),
    "fails": (style.PALETTE[3], "s", True),
    "undecided": ("0.45", "o", False),
    words.SILENT: ("0.75", "x", False),
}
CLAIMED = "0.9"  # the colour of where a claim says that an estimate lies
# The columns of the frame that are not readings: those that are drawn, and those that tell estimates under the same
# reading apart. Where these are not enough to do so, `experiment` is used, too.
DRAWN = (
    *("claim", "statement", "family", "row", "quantity", "first", "place", "estimate", "low", "high", "n", "verdict"),
    *("test", "from", "to", "mark", *BESIDE),
)
CELLS = ("stream", "learner", "against", "tuning")
MANY = 50  # points are smaller in panels with this many estimates or more
FAR = 20  # times the median estimate: where one or its interval is as large, the axis is in powers of ten
# In inches. A figure fits a page of PAGE with its legend.
PAGE, WIDTH, BETWEEN, EDGE, LEGEND = 9.6, 7.0, 0.2, 0.04, 0.55
TITLE, SUBTITLE, PANEL, ROW, GAP = 0.125, 0.115, 0.68, 0.105, 0.2  # heights of lines, of what they stand above, below
WIDE = 1.5  # labels beyond this do not narrow the panels of other claims
SIZES = {"title": 7.5, "subtitle": 6.5, "tick": 6.0}  # of text, in points


class _Part(NamedTuple):
    """A claim's part of the figure.

    rows : of the frame
    title, subtitle : its statement, and what is estimated, as lines
    strip : what varies among its estimates, see `_strip`
    """

    rows: pd.DataFrame
    title: str
    subtitle: str
    strip: dict[str, pd.Series]

    @property
    def height(self) -> float:
        """In inches, with the gap below it."""
        lines = (self.title.count("\n") + 1) * TITLE + (self.subtitle.count("\n") + 1) * SUBTITLE
        return lines + 0.06 + PANEL + 0.04 + ROW * len(self.strip) + GAP


def named(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """The frame of `scant.verdict.readings.specification` with titles for ids; those that share one follow it."""

    def texts(names: pd.Series) -> pd.Series:
        title = names.map(lambda name: titled(name, titles), na_action="ignore")
        shared = names.groupby(title).transform("nunique").gt(1) & title.ne(names)
        return title.mask(shared, title + " (" + names + ")")

    return frame.assign(**{column: texts(frame[column]) for column in CELLS[:3]})


def specification(frame: pd.DataFrame):
    """Draw specification curves: a panel for each claim, with its estimates in ascending order.

    Marks below a panel show the readings, streams and learners of each estimate; columns of the frame that vary
    together share a row of marks. Where they are too many for the page, the last columns of the claims with most of
    them are left out, and the panel says how many. The interval in which the claim says that its estimate lies is
    shaded, and ends in a line. Points are coloured by the verdict on each estimate alone; those of the reading that the
    claim's verdict is of are larger. An axis is in powers of ten beyond the median estimate if some estimate is FAR
    times as large, so that the others can be told apart.

    frame : of `scant.verdict.readings.specification`
    """
    style.apply()
    if frame.empty:
        figure = plt.figure(figsize=(panels.WIDTHS[1], 1.0))
        figure.text(0.5, 0.5, "No claim of this family is of a quantity measured in this study.", ha="center")
        return figure
    width = (WIDTH - BETWEEN) / 2
    parts, columns = _fitted([rows for _, rows in frame.groupby("claim", sort=False)], width)
    height = max(map(_height, _in_columns(parts, columns))) + LEGEND * (3 - columns)
    figure = plt.figure(figsize=(columns * width + (columns - 1) * BETWEEN, height))
    for column, stack in enumerate(_in_columns(parts, columns)):
        margins = [
            max(0.42, *(panels.text_width(name, SIZES["tick"]) + 0.1 for name in part.strip), 0.0) for part in stack
        ]
        usual = max(min(margin, WIDE) for margin in margins)
        left, top = column * (width + BETWEEN), height
        for part, margin in zip(stack, margins, strict=True):
            _draw(figure, part, left, max(margin, usual), width, top)
            top -= part.height
    handles = {
        outcome: Line2D([], [], color=colour, marker=marker, ls="", markersize=4, mfc=colour if filled else "white")
        for outcome, (colour, marker, filled) in OUTCOMES.items()
        if (frame["verdict"] == outcome).any()
    }
    handles["claimed"] = Patch(facecolor=CLAIMED, edgecolor="0.3", lw=0.6, ls="--")
    title = (
        "a claim's estimates in ascending order, and below each what it was made under; large: what the verdict is of\n"
        "means over n seeds and their 95 % intervals; decided or not each by itself"
    )
    if (frame["stream"] == OVERALL).any():
        title += f"; diamonds: {OVERALL}"
    figure.legend(
        handles.values(), handles.keys(), loc="lower center", bbox_to_anchor=(0.5, 0), ncols=4 if columns > 1 else 2,
        title=title if columns > 1 else panels.wrapped(title, width - 2 * EDGE, 6.5), fontsize=7, title_fontsize=6.5,
        borderaxespad=0.2,
    ).get_title().set_multialignment("center")  # fmt: skip
    return figure


def _fitted(groups: list[pd.DataFrame], width: float) -> tuple[list[_Part], int]:
    """The parts of a figure of claims, of this width, and in how many columns they fit a page.

    In a single column if there is one claim, or if the figure is for a column of text and fits; else in two.

    groups : the rows of each claim
    """
    strips = [_strip(rows) for rows in groups]
    numbers_of_columns = (1, 2) if len(groups) == 1 or panels.narrow() else (2,)
    for columns in numbers_of_columns:
        for most in range(max(map(len, strips)), -1, -1):
            parts = [_part(rows, strip, width, most) for rows, strip in zip(groups, strips, strict=True)]
            if len(groups) == 1 or max(map(_height, _in_columns(parts, columns))) <= PAGE - LEGEND * (3 - columns):
                return parts, columns
    return parts, columns


def _part(rows: pd.DataFrame, strip: dict[str, pd.Series], width: float, most: int) -> _Part:
    """A claim's part of the figure, with at most so many rows of marks of its strip."""
    claimed = {words.claimed(*ends) for ends in zip(rows["from"], rows["to"], strict=True)}
    of = f", claimed {claimed.pop()}" if len(claimed) == 1 and "any" not in claimed else ""
    kind = words.kind(rows["row"].iloc[0])
    short = _shortened(strip, most, rows["estimate"])
    subtitle = f"{kind}: {rows['quantity'].iloc[0]}{of}; {panels.count(rows)}"
    if left_out := len(_columns(strip)) - len(_columns(short)):
        subtitle += f" ({left_out} more reading{'s' if left_out > 1 else ''} in the CSV file)"
    title = panels.wrapped(rows["statement"].iloc[0], width - 2 * EDGE, SIZES["title"])
    return _Part(rows, title, panels.wrapped(subtitle, width - 2 * EDGE, SIZES["subtitle"]), short)


def _columns(strip: dict[str, pd.Series]) -> dict[str, dict[str, pd.Series]]:
    """The rows of marks of a strip, by the column of the frame that they are of."""
    columns = {}
    for name, rows in strip.items():
        columns.setdefault(name.partition(":")[0], {})[name] = rows
    return columns


def _shortened(strip: dict[str, pd.Series], most: int, estimates: pd.Series) -> dict[str, pd.Series]:
    """The columns of a strip on which the estimates depend most, as many as have at most so many rows together."""
    columns = _columns(strip)
    kept = set()
    for name in sorted(columns, key=lambda name: -_matters(estimates, columns[name])):
        if sum(len(columns[other]) for other in kept) + len(columns[name]) <= most:
            kept.add(name)
    return {mark: rows for name, column in columns.items() if name in kept for mark, rows in column.items()}


def _matters(estimates: pd.Series, column: dict[str, pd.Series]) -> float:
    """The share of the estimates' variance between the levels of a column, adjusted for how many levels there are."""
    groups = [estimates[has_level] for has_level in column.values()]
    between = sum(len(group) * (group.mean() - estimates.mean()) ** 2 for group in groups if len(group))
    total, rest = ((estimates - estimates.mean()) ** 2).sum(), len(estimates) - len(groups)
    return 1 - (total - between) / total * (len(estimates) - 1) / rest if total > 0 and rest > 0 else 0.0


def _height(stack: list[_Part]) -> float:
    return sum(part.height for part in stack)


def _in_columns(parts: list[_Part], columns: int) -> list[list[_Part]]:
    """The parts, in their order, in columns that are as nearly as high as can be."""
    if columns == 1:
        return [parts]
    splits = [[parts[:at], parts[at:]] for at in range(1, len(parts))]
    return min(splits, key=lambda split: max(map(_height, split)))


def _draw(figure, part: _Part, left: float, margin: float, width: float, top: float) -> None:
    """Draw a claim's part of a figure: all lengths are in inches, from the figure's left and lower edge.

    left, width, top : of the part
    margin : to the left of its panel, for labels
    """

    inner = width - margin - 2 * EDGE

    def axes(below: float, high: float):
        box = np.array([left + EDGE + margin, top - below - high, inner, high])
        return figure.add_axes(box / np.tile(figure.get_size_inches(), 2))

    titled = (part.title.count("\n") + 1) * TITLE
    above = titled + (part.subtitle.count("\n") + 1) * SUBTITLE + 0.06
    axis = axes(above, PANEL)
    _estimates(axis, part.rows)
    looks = {"ha": "left", "va": "top", "linespacing": 1.15}
    height = 1 + (above - 0.02) / PANEL
    axis.set_title(part.title, loc="left", fontsize=SIZES["title"], x=-margin / inner, y=height, pad=0, **looks)
    axis.set_ylabel(part.subtitle, fontsize=SIZES["subtitle"], rotation=0, color="0.35", **looks)
    axis.yaxis.set_label_coords(-margin / inner, 1 + (above - titled - 0.02) / PANEL)
    if part.strip:
        _readings(axes(above + PANEL + 0.04, ROW * len(part.strip)), part)


def _estimates(axis, rows: pd.DataFrame) -> None:
    """Draw a claim's estimates in ascending order, with their intervals, and the interval that is claimed."""
    values, ends = rows[["estimate", "low", "high"]].to_numpy(float), rows[["from", "to"]].to_numpy(float)
    values_and_ends = np.concatenate([values[np.isfinite(values)], ends[np.isfinite(ends)]])
    limits = _scale(axis, values, values_and_ends)
    edges = rows["place"].to_numpy()[:, None] + [-0.5, 0.5]
    low, high = np.repeat(np.clip(ends, *limits), 2, axis=0).T
    axis.fill_between(edges.ravel(), low, high, color=CLAIMED, zorder=0, lw=0, label="claimed")
    for end in ends.T:
        if np.isfinite(end).all():  # along all estimates, with a step where the claimed interval differs
            dashed = {"color": "0.3", "lw": 0.8, "ls": (0, (3, 2)), "zorder": 0.6, "label": "claimed"}
            axis.plot(edges.ravel(), np.repeat(end, 2), **dashed)
    if limits[0] < 0 < limits[1]:
        axis.axhline(0, color="0.6", lw=0.5, zorder=0.5)
    overall = rows["stream"] == OVERALL
    for (outcome, first, is_mean), part in rows.groupby(["verdict", "first", overall], sort=False):
        colour, marker, filled = OUTCOMES[outcome]
        marker = "D" if is_mean else marker
        size = (3.4 if first else 2.2) * (1.0 if len(rows) < MANY else 0.7)
        axis.errorbar(
            part["place"], part["estimate"], abs(part[["low", "high"]].T.to_numpy() - part["estimate"].to_numpy()),
            color=colour, marker=marker, ls="", markersize=size, mfc=colour if filled else "white", elinewidth=size / 4,
            mew=0.8, label=outcome,
        )  # fmt: skip
    axis.set(xlim=(-0.5, len(rows) - 0.5), ylim=limits, xticks=[])
    axis.tick_params(axis="y", labelsize=SIZES["tick"], length=2.5, width=0.7, pad=2)
    axis.spines[["left", "bottom"]].set_linewidth(0.7)
    axis.grid(axis="x", visible=False)


def _scale(axis, values: np.ndarray, values_and_ends: np.ndarray) -> tuple[float, float]:
    """Set the scale and ticks of a panel; returns its limits.

    The axis is linear; beyond the power of ten at the median estimate it is in powers of ten, if some estimate or end
    of an interval is FAR times as large.

    values : (N, 3) estimates and the ends of their intervals
    values_and_ends : (M,) what has to be within the limits
    """
    sizes = abs(values[:, 0])
    typical = np.median(sizes[sizes > 0]) if sizes.any() else 0.0
    if len(sizes) > 2 and np.nanmax(abs(values)) > FAR * typical > 0:
        power = np.floor(np.log10(typical))
        axis.set_yscale("symlog", linthresh=10**power, linscale=0.6)
        transform = axis.yaxis.get_transform()
        low, high = transform.transform(np.array([values_and_ends.min(), values_and_ends.max()]))
        margin = 0.08 * (high - low)
        low, high = transform.inverted().transform(np.array([low - margin, high + margin]))
        powers = np.arange(np.floor(np.log10(abs(values_and_ends).max())), power - 1, -1)
        powers = powers[:: -(-len(powers) // 3)][::-1]
        ticks = np.concatenate([-(10.0 ** powers[::-1]), [0.0], 10.0**powers])
        axis.yaxis.set_major_locator(FixedLocator(ticks[(low <= ticks) & (ticks <= high)]))
        axis.yaxis.set_minor_locator(NullLocator())
    else:
        margin = 0.1 * (np.ptp(values_and_ends) or abs(values_and_ends).max() or 1.0)
        low, high = values_and_ends.min() - margin, values_and_ends.max() + margin
        axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    if abs(values_and_ends).max() >= 10_000:
        axis.yaxis.set_major_formatter(EngFormatter(sep=""))
    elif axis.get_yscale() == "symlog":
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))
    return low, high


def _strip(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """What varies among a claim's estimates: for each level, such as "source: text", the rows that have it.

    A column is left out if it divides the rows in the same way as an earlier one, or if it has fewer than two levels.
    Where rows do not have the setting of a column, their level is empty, and does not count.
    """
    strip, divisions = {}, set()
    levels = rows.astype(object).fillna("").astype(str).replace("None", "none")
    keys = [*CELLS, *(key for key in rows if key not in (*DRAWN, *CELLS, "experiment"))]
    keys = [key for key in keys if len({*levels[key]} - {""}) > 1]
    told_apart = bool(keys) and not levels[keys].duplicated().any()
    for key in keys if told_apart or len(rows) == 1 else (*keys, "experiment"):
        division = tuple(pd.factorize(levels[key])[0])
        if len(set(division)) > 1 and division not in divisions:
            short = {level: _short(level) for level in sorted(set(levels[key]), key=_natural) if level}
            alike = len(set(short.values())) < len(short)
            strip |= {f"{key}: {level if alike else name}": levels[key] == level for level, name in short.items()}
            divisions.add(division)
    return strip


def _natural(text: str) -> list[tuple]:
    """What texts are sorted by, so that numbers in them count as numbers: T = 1,000 before T = 10,000."""
    parts = re.findall(r"\d[\d,]*(?:\.\d+)?|\D+", text)
    return [(0, float(part.replace(",", ""))) if part[0].isdigit() else (1, part) for part in parts]


def _short(level: str) -> str:
    """A level as text that fits beside the marks: of a list only the first and last entries, "1000 to 100000"."""
    first, *others = level.removeprefix("[").removesuffix("]").split(", ")
    return f"{first} to {others[-1]}" if level.startswith("[") and len(others) > 1 else level


def _readings(axis, part: _Part) -> None:
    """Mark, below a claim's estimates, which of them have each level of its strip."""
    for height, has_level in enumerate(part.strip.values()):
        places = part.rows.loc[has_level, "place"]
        axis.plot(places, np.full(len(places), height), "|", color="0.25", markersize=4, mew=1.1)
    axis.set_yticks(range(len(part.strip)), part.strip, fontsize=SIZES["tick"])
    axis.set(xlim=(-0.5, len(part.rows) - 0.5), ylim=(len(part.strip) - 0.4, -0.6), xticks=[])
    axis.tick_params(axis="y", length=0, pad=2)
    axis.spines[:].set_visible(False)
    axis.grid(axis="x", visible=False)
