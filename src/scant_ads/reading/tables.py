"""Tables that are no log of visits by which anything can be judged: sums by ad, as of a dashboard,
or by user; rows that are whole lists; places of lists without propensities.
"""

import re
from collections.abc import Mapping
from itertools import permutations
from shlex import quote

import numpy as np
import pyarrow as pa

from scant.errors import short
from scant_ads.reading import arrays
from scant_ads.reading.names import is_called_a_place, proposed, word_set, words_of
from scant_ads.reading.visits import KEY, Problem

FEW = 100  # rows of a table of sums by ad, at most
FEWEST = 30  # visits that each of them counts, at least
ABOVE = 20  # sums by user above the count of a user drawn at random, at least, were they unrelated
HEAD = 1000  # the first rows, by which it is decided whether cells hold lists
FIRST = 1 << 16  # and whether rows are places of lists
COUNTS = word_set(  # in names of columns that count visits
    "count denominator exposures impressions n pageviews queries requests searches sessions total "
    "trials users views visitors visits"
)
SUMS = word_set(  # in names of columns that count what came of the visits
    "clicks conversions events numerator orders purchases reward successes sum"
)
LISTS = word_set("impressions items list ranking results shown slate")
# a text of several ids: [a, b], (a, b), {a,b}, a|b, or N1 N2
LIST = re.compile(
    r"\[[^{}]*\]|\([^{}]*\)|\{[^{}:]*\}|[^\s|;]+([|;][^\s|;]+)+|[A-Z]+\d[\d-]*( [A-Z]+\d[\d-]*)+"
)
ENOUGH = 100  # places from the third on by which it is told whether two rankers take turns
MOSTLY, FIXED = 0.95, 0.8  # share of pairs of places in which they do; of places that have one each
STATED = (  # of a log without propensities
    "Where chance shows each ad in a fixed share of visits, state the split: --propensity 0.5, or "
    "control=0.5,treatment=0.5. Where there was no chance, nothing can be judged by the log"
)
TO_LOG = (  # of lists without propensities
    "If a column has them, --columns propensity=COLUMN. If chance drew a ranker for each list, "
    "name the column that says which, and state the split: --columns action=COLUMN --propensity "
    "0.5. If a ranker chose alone, its log judges no other one: in a share of visits let chance "
    "order the first items, such as by scores plus Gumbel noise, and log with each row the "
    "probability of its item given the items above it (--propensity-of above)"
)
JUDGED_BY_LIST = (
    "It tells whose items are clicked more, and not what a ranker would earn alone. To judge it by "
    "list, take the ranker as the action and the list as the user, and leave out all else: "
    "--columns action=RANKER --columns reward=CLICK --user LIST --propensity 0.5 --ignore OTHERS"
)


def problem(table: Mapping, rows: int, is_stated: bool) -> Problem | None:
    """An error if a table is no log of visits, so that nothing can be judged by it; else None.

    table : by role or name, an Arrow column of `rows` rows
    is_stated : whether the user states the split of a log without propensities
    """
    return _of_sums(table, rows) or _of_lists(table) or _of_places(table, is_stated)


def _of_sums(table: Mapping, rows: int) -> Problem | None:
    numbers = {
        name: arrays.numeric(arrays.plain(column))
        for name, column in table.items()
        if words_of(name) & (COUNTS | SUMS) and arrays.is_number(column.type)
    }
    rewards = {"reward"} if "reward" in table else {*table}
    for name, count in permutations(numbers, 2):
        values, largest = numbers[name], numbers[count]
        are_called_so = name in rewards and words_of(name) & SUMS and words_of(count) & COUNTS
        if not (are_called_so and (values <= largest).all() and (values > 1).any()):
            continue
        if rows > FEW:
            fewer = np.searchsorted(np.sort(largest), values)  # rows with a count below each sum
            if fewer.sum() >= ABOVE * rows:
                return _ratio(name, count)
        elif (largest >= FEWEST).all():
            ads = {*map(str, table.get("action", range(rows)))}
            if len(ads) == rows:
                return _sums(name, count, values[0], largest[0])
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


def _ratio(name: str, count: str) -> Problem:
    reason = (
        f"each row has sums of several visits, {name!r} and {count!r}, as of one user: a ratio of "
        "such sums is not judged"
    )
    mend = (
        f"--ignore {quote(count)} judges {name!r} by row. The ratio of an ad is the sum of "
        f"{name!r} over that of {count!r} in its n rows; by the delta method its standard error is "
        f"the standard deviation of {name} - ratio * {count}, over sqrt(n) times the mean of "
        f"{count!r}"
    )
    return Problem("ratio", reason, mend)


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
                "If the list has one reward, it is one action: write it as one text, and the "
                "probability of the list. If rewards and propensities are lists, too, with a value "
                "for each place, say what propensities are of: --propensity-of above, place or "
                "list. Without propensities nothing can be judged by the log"
            )
            return Problem("list-cells", reason, mend)
    return None


def _of_places(table: Mapping, is_stated: bool) -> Problem | None:
    """The error that rows without propensities are places of lists: lists in which two rankers take
    turns, or, if no split is stated, lists that chance may have had no part in.
    """
    import pandas as pd

    place = next(filter(is_called_a_place, table), None)
    if place is None or proposed("propensity", [*table]):
        return None
    frame = pa.table(dict(table)).slice(0, FIRST).to_pandas()
    frame = frame.astype(str).where(frame.notna())  # cells of any type can be compared
    several = frame.columns[2 * frame.nunique() <= len(frame)]
    key = next((name for name in several if not frame.duplicated([name, place]).any()), None)
    if key is None:
        return None
    reason = f"rows are places of lists, by {key.strip(KEY)!r}, "
    rank = pd.to_numeric(frame[place], errors="coerce")
    pair = (rank - rank.min()) // 2
    pairs = frame.groupby([key, pair])
    for name in frame.columns[frame.nunique() == 2]:
        turns = pairs[name].nunique()[pairs.size() == 2] == 2
        one, other = pd.crosstab(frame[name], frame[place]).to_numpy()
        is_by_chance = abs(one - other).sum() < FIXED * len(frame)
        if is_by_chance and turns.mean() > MOSTLY and np.count_nonzero(pair > 0) >= ENOUGH:
            reason += f"in which two rankers take turns, by {name!r}: interleaving"
            return Problem("interleaved", reason, JUDGED_BY_LIST)
    if is_stated:
        return None
    reason += "and no column is called their propensity: without chance nothing can be judged"
    return Problem("no-chance", reason, TO_LOG)


def _length(value) -> int:
    """How many ids a cell holds; 1 if it is no list."""
    if isinstance(value, str) and LIST.fullmatch(value.strip()):
        value = re.split(r"[|;,\s]+", value.strip())
    return len(value) if isinstance(value, list) else 1
