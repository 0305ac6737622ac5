"""Numbers as text that promises no more than they do."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

OUTWARDS = dict.fromkeys(("low", "lower"), ROUND_FLOOR)
OUTWARDS |= dict.fromkeys(("high", "upper"), ROUND_CEILING)
CERTAIN = ".12g"  # the digits of a float64 that arithmetic leaves right


def rounded(value: float, spec: str, column: str = "") -> str:
    """A number as text; the ends of intervals are rounded outwards, so that the text promises no
    more than the number.

    spec : the format of the text, as `format` takes it, such as ".2f"
    column : a table's column; an end of an interval is "low", "lower", "high", "upper", or any name
        with one of these behind its last "_"
    """
    rounding = OUTWARDS.get(column.rpartition("_")[2])
    if rounding is None or math.isinf(value):
        return format(value, spec)
    with localcontext(rounding=rounding):
        return format(Decimal(format(value, CERTAIN)), spec)
