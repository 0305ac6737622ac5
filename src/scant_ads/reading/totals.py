"""Lists of which all rows have one arm, as in an A/B test of two rankers: such a list becomes one
visit, and its reward is the sum over its rows.
"""

from dataclasses import replace

import numpy as np

from scant_ads.reading.amounts import Units
from scant_ads.reading.visits import Problem, Reading

A_VISIT = "clicks a visit"


def by_visit(reading: Reading, units: Units) -> tuple[Reading, Units]:
    """A log of lists as a log with one row for each list, and the units of its rewards, which are
    sums.

    reading : a log whose `Visits.list` is known
    units : the units of the rewards of single rows
    """
    log = reading.visits
    _, first, list_of, rows = np.unique(
        log.list, return_index=True, return_inverse=True, return_counts=True
    )
    ends = [
        end * int(rows.max() if (end > 0) == is_largest else rows.min())
        for end, is_largest in ((units.reward_min, False), (units.reward_max, True))
    ]
    plain = (units.reward_min, units.reward_max, units.reward_unit) == (0, 1, "")
    summed = replace(
        units,
        reward_min=ends[0],
        reward_max=ends[1],
        reward_unit=A_VISIT * plain or units.reward_unit,
    )
    least, width = units.reward_min, units.reward_max - units.reward_min
    written = units.reward_max - width * log.reward if units.less else least + width * log.reward
    order = np.argsort(first)  # as the file has them
    numbers = np.nan_to_num(log.features, nan=np.inf).T
    changes = np.array([(of != of[first][list_of]).any() for of in numbers], bool)
    kept = [name for name, differs in zip(log.names, changes, strict=True) if not differs]
    visits = replace(
        log.take(first[order]),
        features=log.features[first[order]][:, ~changes],
        names=tuple(kept),
        categories={name: texts for name, texts in log.categories.items() if name in kept},
        exact=None,
        reward=summed.shares(np.bincount(list_of, written)[order]),
        position=None,
        list=None,
        place=None,
    )
    reason = (
        f"all rows of a list have one action: each of {len(first):,} lists is a visit, and its "
        f"reward the sum over up to {rows.max():,} rows"
    )
    lost = ", ".join(name for name in log.names if name not in kept)
    mend = (
        f"What differs within lists is left out: {lost}" if lost else "Lists are judged as wholes"
    )
    own = [problem for problem in reading.problems if not problem.column or problem.column in kept]
    lines = None if reading.lines is None else reading.lines[first[order]]
    problems = (*own, Problem("left-out", reason, mend))
    return replace(reading, visits=visits, problems=problems, lines=lines), summed


def are_of_one_arm(code: np.ndarray, *columns: np.ndarray) -> bool:
    """Whether all rows of a list have the same values in some columns, and some list has several
    rows.

    code : int (rows), the number of each row's list
    """
    _, first, list_of = np.unique(code, return_index=True, return_inverse=True)
    alike = all((values == values[first][list_of]).all() for values in columns)
    return alike and len(first) < len(code)
