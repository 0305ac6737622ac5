"""Confidence intervals over seeds."""

import numpy as np


def t_interval(values, level: float = 0.95) -> tuple[float, float, float, int]:
    """Mean, lower and upper end of Student's t interval of the mean, and n, of the values that are not NaN.

    The mean is NaN without a value, the ends with fewer than two.
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


def cells(name: str, values) -> dict[str, float]:
    """The columns `name`, `name_low` and `name_high` of a table: mean and 95 % t interval of the values."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), t_interval(values)[:3], strict=True))
