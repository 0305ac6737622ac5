"""Drawings of the claims of a family: every estimate of each, and what it was made under."""

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


SAME = (
    "claim",
    "family",
    "quantity",
    "first",
    "place",
    "estimate",
    "low",
    "high",
    "n",
    "verdict",
    "from",
    "to",
)  # no readings
WHICH = ("tuning", "stream", "learner", "against")  # cells; and experiments, if nothing else tells their cells apart
MANY = 50  # so many points are drawn smaller
PANEL, ROW = 0.85, 0.105  # inches: the height of estimates, and of a row below them


def specification(frame: pd.DataFrame):
    """The frame of `scant.verdict.claims.specification`: a panel for each claim of two estimates or more.

    Below it stands what each estimate was made under. What varies together has one row. Shaded is where the claim says
    that an estimate lies; filled and coloured points are decided, each by itself.
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
    axis.set_axis_on()
    values, ends = rows[["estimate", "low", "high"]].to_numpy(float), rows[["from", "to"]].to_numpy(float)
    shown = np.concatenate([values[np.isfinite(values)], ends[np.isfinite(ends)], [0.0]])
    room = 0.08 * (np.ptp(shown) or 1.0)
    limits = shown.min() - room, shown.max() + room
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
    """What varies among a claim's estimates: for each level of it, where it is so."""
    found, parts = {}, set()
    keys = [*(key for key in rows if key not in (*SAME, *WHICH, "experiment")), *WHICH]
    told_apart = not rows[keys].astype(str).duplicated().any()
    for key in keys if told_apart else (*keys, "experiment"):
        levels = rows[key].fillna("none").astype(str)
        part = tuple(pd.factorize(levels)[0])
        if len(set(part)) > 1 and part not in parts:
            called = {level: _short(level) for level in sorted(set(levels))}
            alike = len(set(called.values())) < len(called)
            found |= {f"{key}: {level if alike else name}": levels == level for level, name in called.items()}
            parts.add(part)
    return found


def _short(level: str) -> str:
    """A list by its ends; anything else as it is."""
    first, *others = level.removeprefix("[").removesuffix("]").split(", ")
    return f"{first} to {others[-1]}" if level.startswith("[") and len(others) > 1 else level


def _readings(axis, rows: pd.DataFrame, strip: dict[str, pd.Series], depth: int) -> None:
    if not strip:
        return
    axis.set_axis_on()
    for at, there in enumerate(strip.values()):
        places = rows.loc[there, "place"]
        axis.plot(places, np.full(len(places), at), "|", color="0.25", markersize=4, mew=1.1)
    axis.set_yticks(range(len(strip)), strip, fontsize=6)
    axis.set(xlim=(-0.7, len(rows) - 0.3), ylim=(depth - 0.4, -0.6), xticks=[])
    axis.tick_params(axis="y", length=0)
    axis.spines[:].set_visible(False)
    axis.grid(axis="x", visible=False)
