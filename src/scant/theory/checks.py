"""Rows of the tables that hold theorems against numbers: a number that was computed, and what the
theorem says of it.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain

import pandas as pd

TOLERANCE = 1e-9  # of rounding


@dataclass(frozen=True)
class Check:
    """A number beside what a theorem says of it.

    check : the name of what is checked, the same in all settings
    source : where it is stated
    quantity : what `value` is, in words
    setting : what it was computed for, in words
    m : the number of documents or items
    value : the number; of several cases, that of the case in which the theorem is closest to
        failing
    relation : "=", "<=", ">=" or ">": how `value` should stand to `stated`
    stated : the number or bound that the theorem states
    cases : how many cases were tried
    tolerance : how far from `stated` an equal value may be, relative to it (absolute if it is below
        1)
    """

    check: str
    source: str
    quantity: str
    setting: str
    m: int
    value: float
    relation: str
    stated: float
    cases: int = 1
    tolerance: float = TOLERANCE

    @property
    def share(self) -> float:
        """How much of a bound is used: at most 1 if it holds.

        Missing for the relations "=" and ">".
        """
        ends = {"<=": (self.value, self.stated), ">=": (self.stated, self.value)}.get(self.relation)
        if ends is None:
            return math.nan
        return ends[0] / ends[1] if ends[1] else math.inf

    @property
    def holds(self) -> bool:
        """Whether the value is what is stated, up to rounding."""
        if self.relation == "=":
            return math.isclose(
                self.value, self.stated, rel_tol=self.tolerance, abs_tol=self.tolerance
            )
        if self.relation == ">":
            return self.value > self.stated + self.tolerance
        return self.share <= 1 + TOLERANCE


def table(*theorems: Iterable[Check]) -> pd.DataFrame:
    """The checks of some theorems as a frame: their fields up to `cases`, then `share` and
    `holds`.
    """
    checks = chain.from_iterable(theorems)
    rows = [asdict(check) | {"share": check.share, "holds": check.holds} for check in checks]
    return pd.DataFrame(rows).drop(columns="tolerance")
