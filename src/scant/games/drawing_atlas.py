"""The drawing of the atlas: the growth of minimax regret by measure, number of items m, and number
k of items seen.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from scant.games.atlas import LINEAR
from scant.present import panels, style

EXPONENTS = {"T^(1/2)": "1/2", "T^(2/3)": "2/3", "T": "1"}
# colour of a cell, its darkness in percent, colour of its text; darker for faster growth, also in
# grey
SHADES = {
    "T^(1/2)": (style.PALETTE[9], 17, "black"),
    "T^(2/3)": (style.PALETTE[1], 36, "black"),
    "T": (style.PALETTE[3], 66, "white"),
}
NAMES = {
    "sum-loss": "SumLoss",
    "pairwise-loss": "PairwiseLoss",
    "dcg": "DCG",
    "precision": "Precision",
    "auc": "AUC",
    "ndcg": "NDCG",
    "ap": "AP",
    "err": "ERR",
}
NAMED = {rate: f"${rate}$".translate(str.maketrans("()", "{}")) for rate in EXPONENTS}  # in TeX
GROUPS = (  # of rows, from the top: whether the measure has a cut-off, and which measures
    (False, LINEAR),
    (True, ("dcg",)),
    (True, ("precision",)),
    (False, ("auc", "ndcg", "ap", "err")),
    (True, ("ndcg",)),
)
WIDTH, ROW = 0.36, 0.38  # of a cell, in inches
GAP = 0.35  # between groups, in rows

# how much of a rate's colour a cell has if slopes are measured, but none there agrees with it
PALE = 0.25


def atlas(frame: pd.DataFrame):
    """Draw the frame of `scant.games.atlas.measured`: a panel for each m, a row a measure, a
    column for each k.
    """
    style.apply()
    colours = _colours()
    places = _places(frame)
    sizes, depth = sorted(frame["m"].unique()), max(places.values()) + 1
    width = WIDTH * (sum(sizes) + 0.5 * len(sizes))
    figure, axes = plt.subplots(
        1,
        len(sizes),
        figsize=(max(3.4, 1.3 + width), ROW * depth + 1.2),
        squeeze=False,
        sharey=True,
        width_ratios=sizes,
        layout="constrained",
    )
    full = frame["verdict"] == "agrees"
    for axis, m in zip(axes.flat, sizes, strict=True):
        panel = frame[frame["m"] == m]
        y = [places[row] for row in zip(panel["measure"], panel["grades"], strict=True)]
        _boxes(axis, y, panel, [colours[rate] for rate in panel["rate"]], full[panel.index])
        for height, cell in zip(y, panel.itertuples(), strict=True):
            _cell_texts(axis, height, cell, full[cell.Index])
        axis.set(xlim=(0.5, m + 0.5), xlabel="k", xticks=range(1, m + 1))
        axis.set_title(f"m = {m}")
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
    axes[0, 0].set_yticks(list(places.values()), [_label(*row) for row in places])
    axes[0, 0].set_ylim(depth - 0.5, -0.5)
    handles = {NAMED[rate]: Patch(color=colour) for rate, colour in colours.items()}
    title = (
        "how minimax regret grows with the rounds T; m items, of which the top k are seen\nin "
        "a cell: exponent of T; small: slope of the best learner's mean regret over seeds, "
        f"{panels.count(frame)}, and its {panels.BOOTSTRAP}"
        "\nfull colour: the interval is below the exponent plus 0.05, or, for 1, above 0.9; "
        "framed: it is not"
    )
    title = panels.wrapped(title, figure.get_figwidth() - 0.2, 8)
    legend = figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=3, title=title
    )
    legend.get_title().set_multialignment("center")
    return figure


def _boxes(axis, y: list, panel: pd.DataFrame, colours: list, full: pd.Series) -> None:
    """Draw the cells of a panel as boxes: `full` says which have their full colour; those that
    differ are framed.
    """
    faces = [_face(colour, agrees) for colour, agrees in zip(colours, full, strict=True)]
    framed = [_differs(cell) for cell in panel.itertuples()]
    axis.barh(
        y,
        0.95,
        0.92,
        panel["k"] - 0.475,
        color=faces,
        edgecolor=["0.35" if frame else "none" for frame in framed],
        linewidth=[0.8 if frame else 0 for frame in framed],
        label=[NAMED[rate] for rate in panel["rate"]],
    )


def _cell_texts(axis, height, cell, full: bool) -> None:
    """Write the exponent of T into a cell and, if it is measured, the slope and its interval
    below.
    """
    look = {"ha": "center", "va": "center_baseline", "label": NAMED[cell.rate]}
    look["color"] = SHADES[cell.rate][2] if full else "black"
    if np.isnan(cell.slope):
        axis.text(cell.k, height, EXPONENTS[cell.rate], fontsize=8, **look)
        return
    axis.text(cell.k, height - 0.26, EXPONENTS[cell.rate], fontsize=8, **look)
    axis.text(cell.k, height + 0.06, f"{cell.slope:.2f}", fontsize=6, **look)
    if np.isfinite(cell.low):
        axis.text(
            cell.k, height + 0.32, f"{_short(cell.low)}-{_short(cell.high)}", fontsize=6, **look
        )


def _short(slope: float) -> str:
    """A slope with two decimals and no leading zero: ".66"."""
    slope = round(slope, 2) + 0.0  # not -0.00
    return f"{slope:.2f}".replace("0.", ".", 1) if abs(slope) < 1 else f"{slope:.1f}"


def _face(colour: str, full: bool):
    """The colour of a cell, pale unless `full`."""
    return colour if full else tuple(1 - PALE * (1 - part) for part in to_rgb(colour))


def _differs(cell) -> bool:
    """Whether a cell's slope is measured, and does not agree with its rate."""
    return cell.verdict in ("faster", "slower", "undecided")


def _colours() -> dict[str, str]:
    """The colour of the cells of each rate."""
    import seaborn as sns  # imported here: it takes half a second

    return {
        rate: sns.blend_palette(["white", colour, "black"], 101).as_hex()[dark]
        for rate, (colour, dark, _) in SHADES.items()
    }


def _places(frame: pd.DataFrame) -> dict[tuple[str, int], float]:
    """The height of each row (a measure and its number of grades), counted in rows from the top."""
    rows = sorted(set(zip(frame["measure"], frame["grades"], strict=True)))
    places, height = {}, 0.0
    for cut, bases in GROUPS:
        for base in bases:
            for measure, grades in rows:
                if measure.partition("@")[0] == base and ("@" in measure) == cut:
                    places[measure, grades] = height
                    height += 1
        height += GAP
    return places


def _label(measure: str, grades: int) -> str:
    """The name of a row, "NDCG@2, 3 grades"."""
    base, mark, cut = measure.partition("@")
    return NAMES[base] + mark + cut + (f", {grades} grades" if grades > 2 else "")
