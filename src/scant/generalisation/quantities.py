"""The quantities that claims on generalisation are about: one number for each population, learner
and seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from scant.generalisation import frames
from scant.present.slopes import slopes_of_seeds

if TYPE_CHECKING:
    from scant.present.traces import Played


def excess_slope(played: Played, along: str = "n") -> pd.DataFrame:
    """The slope of the log of the mean excess risk on the log of n, m, d or log d, at the largest
    of the others.
    """
    return _slope(played, along, "excess")


def gap_slope(played: Played, along: str = "n") -> pd.DataFrame:
    """The slope of the log of the mean largest gap between risk and mean loss; see `excess_slope`.
    Ascent finds the gap.
    """
    return _slope(played, along, "uniform")


def excess_share(played: Played) -> pd.DataFrame:
    """Excess risk over its bound, at each n, m and d. With several sizes, `stream` names them, too.

    The ceiling is the larger share of two kinds of weights: 0, as of a learner that learns nothing;
    and the opposite of the best weights, the worst that are known. `says_from` is the n at which a
    bound that falls as n^(-1/2) comes below the ceiling.
    """
    rows = frames.bounded(played.traces, played.about)
    shares = {
        "value": rows["excess"],
        "ceiling": rows[["at_zero", "worst"]].max(axis=1) - rows["found"],
        "weights 0": rows["at_zero"] - rows["found"],
    }
    rows = rows.assign(**{name: size / rows["bound"] for name, size in shares.items()})
    rows = rows.dropna(subset="value")
    rows["says_from"] = (rows["n"] / rows["ceiling"] ** 2).where(rows["ceiling"] < 1)
    names = rows["stream"]
    for size in frames.SIZES:
        if len(rows[size].unique()) > 1:
            names = names + rows[size].map(f", {size} = {{:,}}".format)
    return rows.assign(stream=names)


def _slope(played: Played, along: str, measured: str) -> pd.DataFrame:
    size = "d" if along == "log d" else along
    rows = frames.largest(frames.bounded(played.traces, played.about), size).dropna(subset=measured)
    groups = rows.groupby(["stream", "learner"], sort=False)
    rows = pd.concat(
        [rows.iloc[:0], *(frames.resolved(group, size, measured) for _, group in groups)]
    )
    rows = rows.assign(regret=rows[measured], **{"log d": np.log(rows["d"])})
    slopes = slopes_of_seeds(rows, along, frames.POINTS)
    return slopes.assign(why=slopes["why"].str.replace("mean regret", "mean"))
