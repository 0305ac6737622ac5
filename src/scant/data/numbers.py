"""Numbers of somebody's own, from a file or a function, in the project's types: none is changed
without a word.
"""

from collections.abc import Callable

import numpy as np

# takes which values are bad, and why, with {} for the first of them; raises
Refuse = Callable[[np.ndarray, str], None]


def single(values: np.ndarray, refuse: Refuse) -> np.ndarray:
    """Features as float32; they have to be finite in single precision."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    refuse(~np.isfinite(rounded), "is not finite in single precision: {}")
    return rounded


def whole(values: np.ndarray, top: int, refuse: Refuse) -> np.ndarray:
    """Grades or ids of queries as int64; they have to be whole numbers from 0 to `top`."""
    refuse(values != np.floor(values), "{} is not a whole number")
    refuse(values < 0, "{} is negative")
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        refuse(values >= float(top + 1), "{} is above " + str(top))
    else:
        refuse(values > top, "{} is above " + str(top))
    return values.astype(np.int64)
