"""Numbers of somebody's own, from a file or a function, in the project's types: a value that these
cannot hold is refused.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

# takes which values are bad, and why, with {} for the first of them; raises
Refuse = Callable[[np.ndarray, str], None]


def plain(values) -> np.ndarray:
    """Somebody's own values as an array of a plain type: truth values as 0 and 1, floats of at most
    64 bits, in this machine's byte order; texts as they are. Sparse matrices become dense.

    Raises
    ------
    ValueError, TypeError, OverflowError : a value is masked, missing or of another kind than
        others, or rows differ in length
    """
    array = np.ma.asarray(values.toarray() if hasattr(values, "toarray") else values)
    if np.ma.is_masked(array):
        raise ValueError("values are masked or missing: leave them out, or fill them in")
    array = np.asarray(array)
    if array.dtype.kind in "OTU":
        # of values of one kind alone, while NumPy makes texts of numbers
        column = pa.array(np.asarray(values, object).ravel())
        array = column.to_numpy(zero_copy_only=False).reshape(array.shape)
    if array.dtype.kind not in "biufOU":
        raise ValueError(f"an array has the type {array.dtype}; numbers are expected")
    native = array.dtype.newbyteorder("=")
    return array.astype({"?": np.uint8, "g": float}.get(native.char, native), copy=False)


def single(values: np.ndarray, refuse: Refuse) -> np.ndarray:
    """Features as float32; `refuse` is called for those that are not finite in single precision."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    refuse(~np.isfinite(rounded), "is not finite in single precision: {}")
    return rounded


def whole(values: np.ndarray, top: int, refuse: Refuse) -> np.ndarray:
    """Grades or ids of queries as int64; `refuse` is called for what is not a whole number from 0
    to `top`, and for floats so large that their type may have rounded them.
    """
    refuse(values != np.floor(values), "{} is not a whole number")
    refuse(values < 0, "{} is negative")
    if values.dtype.kind == "f":
        exact = 2 ** (np.finfo(values.dtype).nmant + 1) - 1
        refuse(values > exact, f"{{}}, as {values.dtype}, may have been rounded: give integers")
        top = min(top, exact)
    refuse(values > top, f"{{}} is above {top}")
    return values.astype(np.int64)
