"""Tables that are no log of visits: sums by ad, as of a dashboard, and rows that hold whole lists."""

import re
from collections.abc import Mapping

import numpy as np

from scant.errors import short
from scant_ads.reading import arrays
from scant_ads.reading.names import words_of
from scant_ads.reading.visits import Problem

FEW = 100  # rows of a table of sums, at most
FEWEST = 30  # visits that each of them counts, at least
HEAD = 1000  # the first rows, by which it is decided whether cells hold lists
COUNTS = frozenset((  # words in names of columns that count visits
    "count", "denominator", "exposures", "impressions", "n", "sessions", "total", "trials", "users", "views",
    "visitors", "visits",
))  # fmt: skip
SUMS = frozenset((  # and in names of those that count what came of them
    "clicks", "conversions", "events", "numerator", "orders", "purchases", "reward", "successes", "sum",
))  # fmt: skip
LIST = re.compile(r"\[[^{}]*\]|[^\s|;]+([|;][^\s|;]+)+")  # a text of several ids
LISTS = frozenset(("impressions", "items", "list", "ranking", "results", "shown", "slate"))


def problem(table: Mapping, rows: int) -> Problem | None:
    """The error that a table holds sums, or lists; None if it does not seem to.

    table : by role or name, a column of Arrow
    """
    return _of_sums(table, rows) or _of_lists(table, rows)


def _of_sums(table: Mapping, rows: int) -> Problem | None:
    if not 0 < rows <= FEW:
        return None
    numbers = {name: arrays.numeric(arrays.plain(column))[0] for name, column in table.items()
               if arrays.is_number(column.type)}  # fmt: skip
    counts = [name for name, values in numbers.items() if words_of(name) & COUNTS and (values >= FEWEST).all()]
    names = [name for name in numbers if words_of(name) & SUMS and name not in counts and (numbers[name] > 1).any()]
    if "reward" in table:
        of_arms = "action" in table and len(table["action"].unique()) == rows
        names = ["reward"] if of_arms and "reward" in names else []
    pairs = [(count, name) for count in counts for name in names if (numbers[name] <= numbers[count]).all()]
    if not pairs:
        return None
    count, name = pairs[0]
    reason = (f"each row is a sum over visits, and no visit: in the first, {name!r} is {numbers[name][0]:,g} and "
              f"{count!r} is {numbers[count][0]:,g}")  # fmt: skip
    mend = (f"Write a row for each visit: in pandas, log.loc[log.index.repeat(log[{count!r}])], of whose rows with one "
            f"index the first {name!r} have reward 1, and the others 0")  # fmt: skip
    return Problem("sums", "error", reason, mend)


def _of_lists(table: Mapping, rows: int) -> Problem | None:
    names = ["action"] if "action" in table else [*table]
    for name in names:
        column = table[name].slice(0, HEAD)
        values = [value for value in column.to_pylist() if value is not None]
        lengths = np.array([_length(value) for value in values])
        is_called_so = bool(words_of(name) & LISTS)
        alike = len(lengths) > 1 and (is_called_so or lengths.min() == lengths.max())
        differ = len({*map(str, values)}) * 2 > len(values) or is_called_so
        if alike and differ and np.count_nonzero(lengths > 2) * 2 > len(lengths):
            reason = f"each row is a list, and no visit with one ad: {name!r} is {short(str(values[0]))} in the first"
            mend = ("Write a row for each list, of its first place: the ad there, its reward, and the probability of "
                    "that ad there")  # fmt: skip
            return Problem("list-cells", "error", reason, mend)
    return None


def _length(value) -> int:
    """How many ids a cell holds; 1 if it is no list."""
    if isinstance(value, str):
        return len(re.split(r"[|;,]", value)) if LIST.fullmatch(value.strip()) else 1
    return len(value) if isinstance(value, list) else 1
