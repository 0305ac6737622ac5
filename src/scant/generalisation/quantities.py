"""The quantities that claims on generalisation are about: one number for each population, learner and seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from scant.generalisation import frames
from scant.present.slopes import slopes_of_seeds

if TYPE_CHECKING:
    from scant.present.traces import Played


def excess_risk(played: Played) -> pd.DataFrame:
    """The excess risk at the largest n, m and d."""
    rows = frames.largest(frames.bounded(played.traces, played.about), "")
    return rows.assign(value=rows["excess"])


def excess_slope(played: Played, along: str = "n") -> pd.DataFrame:
    """The slope of the log of the mean excess risk on the log of n, m, d or log d, at the largest of the others."""
    return _slope(played, along, "excess")


def gap_slope(played: Played, along: str = "n") -> pd.DataFrame:
    """The same of the largest gap between risk and mean loss that ascent found."""
    return _slope(played, along, "uniform")


def excess_share(played: Played) -> pd.DataFrame:
    """The excess risk as a share of its bound, at each n, m and d: a population of several is named with them."""
    return _share(played, "excess", "bound")


def gap_share(played: Played) -> pd.DataFrame:
    """The largest gap that ascent found as a share of the least bound on it, likewise."""
    return _share(played, "uniform", "uniform_bound")


def _slope(played: Played, along: str, measured: str) -> pd.DataFrame:
    size = "d" if along == "log d" else along
    rows = frames.largest(frames.bounded(played.traces, played.about), size).dropna(subset=measured)
    groups = rows.groupby(["stream", "learner"], sort=False)
    rows = pd.concat([rows.iloc[:0], *(frames.resolved(group, size, measured) for _, group in groups)])
    rows = rows.assign(regret=rows[measured], **{"log d": np.log(rows["d"])})
    found = slopes_of_seeds(rows, along, frames.POINTS)
    return found.assign(why=found["why"].str.replace("mean regret", "mean"))


def _share(played: Played, measured: str, bound: str) -> pd.DataFrame:
    rows = frames.bounded(played.traces, played.about)
    rows = rows.assign(value=rows[measured] / rows[bound]).dropna(subset="value")
    several = [size for size in frames.SIZES if len(rows[size].unique()) > 1]
    sizes = rows[["stream", *several]].itertuples(index=False, name=None)
    named = [
        ", ".join([stream, *(f"{size} = {value:,}" for size, value in zip(several, values, strict=True))])
        for stream, *values in sizes
    ]
    return rows.assign(stream=named)
