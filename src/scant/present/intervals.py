"""Confidence intervals over seeds."""

import numpy as np
import pandas as pd


def t_interval(values, level: float = 0.95) -> tuple[float, float, float, int]:
    """The mean of the values that are not NaN, the ends of its Student's t interval, and how many
    values there are.

    Returns
    -------
    mean : NaN if there is no value
    low, high : the ends of the interval at `level`; NaN with fewer than two values
    n : how many values there are
    """
    from scipy import special  # not stats, which takes half a second to import

    values = np.asarray(values, float)
    values = values[~np.isnan(values)]
    n = len(values)
    mean = float(values.mean()) if n else np.nan
    if n < 2:
        return mean, np.nan, np.nan, n
    half = special.stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half, n


def mean_cells(values, level: float = 0.95) -> dict[str, float]:
    """The `t_interval` of the values as the columns mean, low, high and n."""
    return dict(zip(("mean", "low", "high", "n"), t_interval(values, level), strict=True))


def over_seeds(frame: pd.DataFrame, keys: list[str], measured: str) -> pd.DataFrame:
    """The first row of each group of rows with the same `keys`, in their order, with the group's
    `t_interval` besides.

    Its columns are mean, low, high and n, of the column `measured`.
    """
    rows = [t_interval(values) for _, values in frame.groupby(keys, sort=False)[measured]]
    intervals = pd.DataFrame(rows, columns=["mean", "low", "high", "n"])
    return frame.drop_duplicates(keys).reset_index(drop=True).join(intervals)


def cells(name: str, values) -> dict[str, float]:
    """The columns `name`, `name`_low and `name`_high of a table: the mean of the values, and its 95
    % t interval.
    """
    return dict(zip((name, f"{name}_low", f"{name}_high"), t_interval(values)[:3], strict=True))
