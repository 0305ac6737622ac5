"""Logs with a row for each list, whose action, reward and propensity are lists: taken apart, a row
for each place.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyarrow import compute

from scant.data import logs
from scant.errors import DataError
from scant_ads.reading import arrays, eligibility, tables
from scant_ads.reading.lists import BESIDE
from scant_ads.reading.visits import KEY

ONE_REWARD = (
    "If it is that of the whole list, the list is one action: write it as one text, and the "
    "probability of the list"
)


def apart(path, table, column_of: Callable[[str], str], lines: np.ndarray | None) -> tuple:
    """A table whose cells hold lists, taken apart into a row for each place; and for each row the
    line of its list, or else the list's number from 1. A table without lists as it is, and None.

    column_of : the table's name for a role
    lines : the line of each row, int (rows); None if rows have no lines
    """
    names = [
        column_of("action"),
        *(column_of(role) for role in ("reward", "propensity")),
        *(name for name in table.column_names if name.startswith((logs.POLICY, BESIDE))),
    ]
    lists = {name: _lists(table.column(name)) for name in names if name in table.column_names}
    one_reward = lists.get(names[1]) is None
    # an id such as red|left is no list
    if lists.get(names[0]) is None or (one_reward and arrays.is_text(table[names[0]].type)):
        return table, None
    number = np.arange(1, table.num_rows + 1) if lines is None else lines
    what, length = ("line" if lines is not None else "row"), None
    for name, values in lists.items():
        if values is None:
            advice = ONE_REWARD if name == names[1] else "Give it a value for each place"
            raise DataError(path, f"{names[0]!r} has lists, and {name!r} none", advice=advice)
        of_column = np.asarray(compute.list_value_length(values).fill_null(0))
        length = of_column if length is None else length
        if (bad := (of_column != length) | (length == 0)).any():
            row = int(np.argmax(bad))
            reason = (
                f"{what} {number[row]}: {name!r} has {of_column[row]} values, and {names[0]!r} "
                f"{length[row]} ({np.count_nonzero(bad):,} rows)"
            )
            raise DataError(path, reason, advice="Give each a value for every place of the list")
    starts = np.repeat(np.cumsum(length) - length, length)
    of_row = np.repeat(np.arange(table.num_rows), length)
    columns = {
        name: pa.chunked_array([lists[name].flatten()])
        if name in lists
        else table.column(name).take(pa.array(of_row))
        for name in table.column_names
    }
    columns.setdefault(column_of("position"), pa.array(np.arange(len(of_row)) - starts + 1))
    if not {KEY + "list", column_of("list")} & {*table.column_names}:
        columns[KEY + "list"] = pa.array(of_row)
    return pa.table(columns), number[of_row]


def _lists(column):
    """An Arrow array of lists, also of those that texts are; None for other values."""
    values = arrays.decoded(column)
    if eligibility.is_list(values.type):
        return values
    if not arrays.is_text(values.type):
        return None
    first = (text or "" for text in values.slice(0, 100).to_pylist())
    return eligibility.as_lists(values) if all(map(tables.LIST.fullmatch, first)) else None
