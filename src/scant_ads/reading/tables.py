"""Tables that are no log of visits: sums by ad, as of a dashboard, and rows that are whole
lists.
"""

import re
from collections.abc import Mapping

import numpy as np

from scant.errors import short
from scant_ads.reading import arrays
from scant_ads.reading.names import word_set, words_of
from scant_ads.reading.visits import Problem

FEW = 100  # rows of a table of sums, at most
FEWEST = 30  # visits that each of them counts, at least
HEAD = 1000  # the first rows, by which it is decided whether cells hold lists
COUNTS = word_set(  # in names of columns that count visits
    "count denominator exposures impressions n sessions total trials users views visitors visits"
)
SUMS = word_set(  # in names of columns that count what came of the visits
    "clicks conversions events numerator orders purchases reward successes sum"
)
LISTS = word_set("impressions items list ranking results shown slate")
LIST = re.compile(r"\[[^{}]*\]|[^\s|;]+([|;][^\s|;]+)+")  # a text of several ids


def problem(table: Mapping, rows: int) -> Problem | None:
    """The error that a table has sums, or lists, in its rows; None if it does not seem to.

    table : by role or name, a column of Arrow
    """
    return _of_sums(table, rows) or _of_lists(table)


def _of_sums(table: Mapping, rows: int) -> Problem | None:
    if not 0 < rows <= FEW:
        return None
    numbers = {
        name: arrays.numeric(arrays.plain(column))
        for name, column in table.items()
        if arrays.is_number(column.type)
    }
    counts = [
        name
        for name, values in numbers.items()
        if words_of(name) & COUNTS and (values >= FEWEST).all()
    ]
    sums = [
        name
        for name, values in numbers.items()
        if words_of(name) & SUMS and name not in counts and (values > 1).any()
    ]
    if "reward" in table:
        of_arms = "action" in table and len(table["action"].unique()) == rows
        sums = ["reward"] if of_arms and "reward" in sums else []
    for count in counts:
        for name in sums:
            if (numbers[name] <= numbers[count]).all():
                return _sums(name, count, numbers[name][0], numbers[count][0])
    return None


def _sums(name: str, count: str, of_first: float, visits: float) -> Problem:
    reason = (
        f"each row is a sum over visits, and no visit: in the first, {name!r} is "
        f"{of_first:,g} and {count!r} is {visits:,g}"
    )
    mend = (
        f"Write a row for each visit: in pandas, log.loc[log.index.repeat(log[{count!r}])], of "
        f"whose rows with one index the first {name!r} have reward 1, and the others 0"
    )
    return Problem("sums", reason, mend)


def _of_lists(table: Mapping) -> Problem | None:
    for name in ["action"] if "action" in table else table:
        values = [value for value in table[name].slice(0, HEAD).to_pylist() if value is not None]
        lengths = np.array([_length(value) for value in values])
        is_called_so = bool(words_of(name) & LISTS)
        alike = len(lengths) > 1 and lengths.min() == lengths.max()
        # as few ids of ads do, such as red|left
        differ = len({*map(str, values)}) * 2 > len(values)
        several = np.count_nonzero(lengths > 2) * 2 > len(lengths)
        if several and (is_called_so or (alike and differ)):
            reason = (
                f"each row is a list, and no visit with one ad: {name!r} is "
                f"{short(str(values[0]))} in the first"
            )
            mend = (
                "Write a row for each list, of its first place: the ad there, its reward, and "
                "the probability of that ad there"
            )
            return Problem("list-cells", reason, mend)
    return None


def _length(value) -> int:
    """How many ids a cell holds; 1 if it is no list."""
    if isinstance(value, str):
        return len(re.split(r"[|;,]", value)) if LIST.fullmatch(value.strip()) else 1
    return len(value) if isinstance(value, list) else 1
