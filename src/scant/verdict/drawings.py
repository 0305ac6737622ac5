"""The figure of a family of claims: all estimates of each claim, and the readings that each is made under."""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from scant.present import panels, style

OUTCOMES = {  # colour, marker and whether it is filled
    "holds": (style.PALETTE[0], "o", True),
    "fails": (style.PALETTE[3], "s", True),
    "undecided": ("0.45", "o", False),
}
# The columns of the frame that are not readings: those that are drawn, and those that tell estimates under the same
# reading apart. Where these are not enough to do so, `experiment` is used, too.
DRAWN = ("claim", "family", "quantity", "first", "place", "estimate", "low", "high", "n", "verdict", "from", "to")
CELLS = ("tuning", "stream", "learner", "against")
MANY = 50  # points are smaller in panels with this many estimates or more
PANEL, ROW = 0.85, 0.105  # inches: the height of the estimates, and of each row of readings below them


def specification(frame: pd.DataFrame):
    """Draw specification curves: a panel for each claim that has at least two estimates.

    Marks below a panel show the readings, streams and learners of each estimate; columns of the frame that vary
    together share a row of marks. The interval in which the claim says that its estimate lies is shaded. Points are
    coloured by the verdict on each estimate alone.

    frame : of `scant.verdict.readings.specification`
    """
    style.apply()
    if frame.empty:
        figure = plt.figure(figsize=(panels.WIDTHS[1], 1.0))
        figure.text(0.5, 0.5, "No claim of this family is of a quantity measured in this study.", ha="center")
        return figure
    several = frame.groupby("claim")["place"].transform("size") > 1
    claims = dict(iter(frame[several if several.any() else several | True].groupby("claim", sort=False)))
    strips = {claim: _strip(rows) for claim, rows in claims.items()}
    columns = min(2, len(claims))
    lines = [list(claims)[at : at + columns] for at in range(0, len(claims), columns)]
    depths = [max(1, *(len(strips[claim]) for claim in line)) for line in lines]
    heights = [height for depth in depths for height in (PANEL, ROW * depth)]
    figure, axes = plt.subplots(
        2 * len(lines), columns, figsize=(panels.WIDTHS[1 + columns], sum(heights) + 0.55 * len(lines) + 0.5),
        squeeze=False, layout="constrained", height_ratios=heights,
    )  # fmt: skip
    figure.get_layout_engine().set(h_pad=0.02, hspace=0.0)
    for axis in axes.flat:
        axis.set_axis_off()
    for at, line in enumerate(lines):
        for column, claim in enumerate(line):
            _estimates(axes[2 * at, column], claim, claims[claim])
            _readings(axes[2 * at + 1, column], claims[claim], strips[claim], depths[at])
    handles = {
        outcome: Line2D([], [], color=colour, marker=marker, ls="", markersize=4, mfc=colour if filled else "white")
        for outcome, (colour, marker, filled) in OUTCOMES.items()
    }
    title = (
        f"each claim's estimates in ascending order, and below each what it was made under\n"
        f"mean over n seeds; bars: {panels.INTERVAL}; shaded: where the claim says that it lies"
    )
    panels.legend(figure, handles, title)
    return figure


def _estimates(axis, claim: str, rows: pd.DataFrame) -> None:
    """Draw a claim's estimates in ascending order, with their intervals, and the interval that is claimed."""
    axis.set_axis_on()
    values, ends = rows[["estimate", "low", "high"]].to_numpy(float), rows[["from", "to"]].to_numpy(float)
    shown = np.concatenate([values[np.isfinite(values)], ends[np.isfinite(ends)], [0.0]])
    margin = 0.08 * (np.ptp(shown) or 1.0)
    limits = shown.min() - margin, shown.max() + margin
    low, high = np.clip(ends, *limits).T
    axis.bar(rows["place"], high - low, 1.0, low, color="0.92", zorder=0, lw=0)
    axis.axhline(0, color="0.6", lw=0.6, zorder=0.5)
    size = 3.0 if len(rows) < MANY else 2.0
    for outcome, part in rows.groupby("verdict", sort=False):
        colour, marker, filled = OUTCOMES[outcome]
        axis.errorbar(
            part["place"], part["estimate"], abs(part[["low", "high"]].T.to_numpy() - part["estimate"].to_numpy()),
            color=colour, marker=marker, ls="", markersize=size, mfc=colour if filled else "white", elinewidth=size / 4,
        )  # fmt: skip
    axis.set_title(claim, loc="left", fontsize=7, pad=3)
    axis.set_ylabel(f"{textwrap.fill(rows['quantity'].iloc[0], 18)}\n{panels.count(rows)}", fontsize=6.5)
    axis.set(xlim=(-0.7, len(rows) - 0.3), ylim=limits, xticks=[])
    axis.tick_params(axis="y", labelsize=6)
    axis.yaxis.get_offset_text().set_fontsize(6)
    axis.grid(axis="x", visible=False)


def _strip(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """What varies among a claim's estimates: for each level, such as "source: text", the rows that have it.

    A column is left out if it divides the rows in the same way as an earlier one.
    """
    strip, divisions = {}, set()
    keys = [*(key for key in rows if key not in (*DRAWN, *CELLS, "experiment")), *CELLS]
    told_apart = not rows[keys].astype(str).duplicated().any()
    for key in keys if told_apart else (*keys, "experiment"):
        levels = rows[key].fillna("none").astype(str)
        division = tuple(pd.factorize(levels)[0])
        if len(set(division)) > 1 and division not in divisions:
            short = {level: _short(level) for level in sorted(set(levels))}
            alike = len(set(short.values())) < len(short)
            strip |= {f"{key}: {level if alike else name}": levels == level for level, name in short.items()}
            divisions.add(division)
    return strip


def _short(level: str) -> str:
    """A level as text that fits beside the marks: of a list only the first and last entries, "1000 to 100000"."""
    first, *others = level.removeprefix("[").removesuffix("]").split(", ")
    return f"{first} to {others[-1]}" if level.startswith("[") and len(others) > 1 else level


def _readings(axis, rows: pd.DataFrame, strip: dict[str, pd.Series], depth: int) -> None:
    """Mark, below a claim's estimates, which of them have each level of `strip`; there is room for `depth` levels."""
    if not strip:
        return
    axis.set_axis_on()
    for height, has_level in enumerate(strip.values()):
        places = rows.loc[has_level, "place"]
        axis.plot(places, np.full(len(places), height), "|", color="0.25", markersize=4, mew=1.1)
    axis.set_yticks(range(len(strip)), strip, fontsize=6)
    axis.set(xlim=(-0.7, len(rows) - 0.3), ylim=(depth - 0.4, -0.6), xticks=[])
    axis.tick_params(axis="y", length=0)
    axis.spines[:].set_visible(False)
    axis.grid(axis="x", visible=False)
