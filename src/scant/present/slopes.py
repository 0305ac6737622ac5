"""Slopes: how regret grows with the round, the horizon or the number of items, as the exponent of a fitted power law.

Tables, figures and claims all take their slopes from `slope`. Its callers choose the points of a run, and what to do
with runs in which a regret is not above 0 and has no logarithm.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scant.present.intervals import cells

FROM = 1 / 100  # slopes over rounds begin at this share of the horizon: before, regret grows differently


def slope(x, y, points: int) -> float:
    """The slope of log y on log x by least squares, in which all points count alike.

    Parameters
    ----------
    x : shape (n,), the rounds, horizons or numbers of items, above 0
    y : shape (n,), the regret of one run at each of them
    points : how many different x a slope needs at least

    Returns
    -------
    slope : the exponent a of y = c x^a; NaN if there are too few points, or if any y is NaN or not above 0
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(np.unique(x)) < points or not np.all(y > 0):
        return np.nan
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def slope_columns(slopes, along) -> dict:
    """The columns of tables and figures that summarise the slopes of several seeds.

    Parameters
    ----------
    slopes : one slope for each seed, NaN where it has none
    along : the rounds, horizons or numbers of items that the slopes are over, in any order

    Returns
    -------
    columns : slope, slope_low and slope_high, the mean and its 95 % t interval; slopes, how many seeds have a slope;
        from and to, the least and the largest of `along`, NaN if it is empty
    """
    along = pd.Series(along)
    count = int(np.isfinite(slopes).sum())
    return cells("slope", slopes) | {"slopes": count, "from": along.min(), "to": along.max()}


def late_rounds(frame: pd.DataFrame, horizon: str) -> pd.DataFrame:
    """The rows that slopes over rounds use: those whose `round` is at least `FROM` times the column `horizon`."""
    return frame[frame["round"] >= FROM * frame[horizon]]


def slopes_of_seeds(rows: pd.DataFrame, along: str, points: int, places: Sequence[str] = ("stream",)) -> pd.DataFrame:
    """The slope of each seed's regret on the column `along`; NaN if a regret is not above 0.

    Parameters
    ----------
    rows : one for each point, with the columns `along`, regret, learner, seed and those of `places`
    points : how many different points a slope needs at least; seeds with fewer get no row
    places : the columns that, with learner and seed, say which points are of the same run

    Returns
    -------
    frame : stream (the values of `places`, joined), learner, seed, and value, the slope
    """
    slopes = [
        (", ".join(map(str, place)), learner, seed, slope(run[along], run["regret"], points))
        for (*place, learner, seed), run in rows.groupby([*places, "learner", "seed"], sort=False)
        if run[along].nunique() >= points
    ]
    return pd.DataFrame(slopes, columns=["stream", "learner", "seed", "value"])
