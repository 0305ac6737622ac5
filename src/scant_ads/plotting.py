"""Plots of evaluations, for notebooks and reports.

They leave the settings of Matplotlib as they are.
"""

from collections.abc import Sequence

from scant.errors import printable
from scant_ads.text import percent
from scant_ads.unit import Unit

LONGEST = 40  # characters of a name
TODAY, OTHERS, BAND = "0.25", "#0173b2", "0.9"  # colours


def intervals(rows: Sequence[dict], level: float, unit: Unit, baseline: str, axes=None):
    """Draw mean rewards, click rates in percent: for each policy its estimate and interval on a
    line.

    Parameters
    ----------
    rows : the rows of an `Evaluation`; a policy that was refused has no marks
    level : confidence of intervals
    unit : of the rows
    baseline : the policy whose interval is a band behind all
    axes : Matplotlib's, to draw on; None for a new figure

    Returns
    -------
    axes
    """
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=(6.4, 1.1 + 0.34 * len(rows)), layout="constrained")
    scale = 100 if unit.percent else 1
    band = next(row for row in rows if row["policy"] == baseline)
    if band["low"] == band["low"]:
        axes.axvspan(scale * band["low"], scale * band["high"], color=BAND, lw=0, zorder=0)
    for place, row in enumerate(rows):
        look = {"color": OTHERS if place else TODAY}
        axes.plot(
            [scale * row["low"], scale * row["high"]],
            [place, place],
            lw=1.6,
            solid_capstyle="butt",
            **look,
        )
        axes.plot(scale * row["estimate"], place, marker="o", markersize=5, **look)
    as_written = {"parse_math": False}  # names and units are anybody's: "$" is no mathematics
    axes.set_yticks(range(len(rows)), [_label(row["policy"]) for row in rows], **as_written)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    grey = "today's policy" if band is rows[0] else _label(baseline)
    apart = "\n" if unit.places else " "
    words = f"{_label(unit.heading)}:{apart}estimate and {percent(level)} interval\ngrey: {grey}"
    axes.set_xlabel(words, **as_written)
    return axes


def _label(name: str) -> str:
    """A name as it is drawn: on one line, and cut if it is long."""
    name = printable(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
