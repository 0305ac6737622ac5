"""Slopes: how a regret grows with rounds, horizon or number of items, as the exponent of the power law that fits it.

Tables, figures and claims all take their slopes from `slope`. What counts as a point of a run, and what becomes of a
run with a point that has no logarithm, is up to those who call it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scant.present.intervals import cells

FROM = 1 / 100  # slopes over rounds begin at this share of the horizon: before it, regret does not grow as it will


def slope(x, y, points: int) -> float:
    """The slope of log y on log x by least squares, in which all points count alike.

    Parameters
    ----------
    x, y : shape (n,), one run's rounds (horizons, numbers of items) and its regret at each; x above 0
    points : how many different x a slope needs

    Returns
    -------
    slope : the exponent a of y = c x^a; NaN if there are too few points, or if a y is not above 0 or is NaN
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(np.unique(x)) < points or not np.all(y > 0):
        return np.nan
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def slope_columns(slopes, along) -> dict:
    """What tables and figures say of the slopes of several seeds.

    Parameters
    ----------
    slopes : one slope for each seed, NaN where it has none
    along : the rounds (horizons, numbers of items) that the slopes are over, in any order

    Returns
    -------
    slope, slope_low, slope_high : their mean and its 95 % t interval
    slopes : how many seeds have a slope
    from, to : the least and the largest of `along`; NaN if there are none
    """
    along = pd.Series(along)
    count = int(np.isfinite(slopes).sum())
    return cells("slope", slopes) | {"slopes": count, "from": along.min(), "to": along.max()}


def late_rounds(frame: pd.DataFrame, horizon: str) -> pd.DataFrame:
    """The rows that a slope over rounds is of: those whose `round` is at least `FROM` of the column `horizon`."""
    return frame[frame["round"] >= FROM * frame[horizon]]


def slopes_of_seeds(rows: pd.DataFrame, along: str, points: int, places: Sequence[str] = ("stream",)) -> pd.DataFrame:
    """The slope of each seed's regret on the column `along`; NaN where a regret is not above 0.

    Parameters
    ----------
    rows : one for each point: the columns of `places`, learner, seed, regret and `along`
    points : how many different points a slope needs; seeds with fewer have no row
    places : the columns that say which points belong together, besides learner and seed

    Returns
    -------
    frame : stream (the places, joined), learner, seed, value
    """
    found = [
        (", ".join(map(str, place)), learner, seed, slope(run[along], run["regret"], points))
        for (*place, learner, seed), run in rows.groupby([*places, "learner", "seed"], sort=False)
        if run[along].nunique() >= points
    ]
    return pd.DataFrame(found, columns=["stream", "learner", "seed", "value"])
