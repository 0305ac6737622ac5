"""How tests read the rows of a table."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats


def gathered(*parts: pd.DataFrame) -> pd.DataFrame:
    """All rows, numbered anew."""
    return pd.concat(parts, ignore_index=True)


def row(table: pd.DataFrame, **where) -> dict:
    """The one row that has these values."""
    for key, value in where.items():
        table = table[table[key] == value]
    [one] = table.to_dict("records")
    return one


def entries(one: dict, columns: str) -> tuple:
    """What a row has in these columns, whose names are apart by spaces."""
    return tuple(one[name] for name in columns.split())


def three(one: dict, name: str) -> tuple:
    """An estimate and its interval."""
    return entries(one, f"{name} {name}_low {name}_high")


def interval(sample):
    """Mean and 95 % t interval of a sample by SciPy, as `three` is to be."""
    low, high = stats.ttest_1samp(sample, 0).confidence_interval()
    return pytest.approx((np.mean(sample), low, high))
