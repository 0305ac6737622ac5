"""What rewards are counted in, and numbers as text.

In computations every reward is a share of the largest one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scant.present.rounding import rounded

MEANS = ("estimate", "lower", "low", "high")
PAIR = ("difference", "low", "high")  # columns of a pair of policies, differences of means
# columns that are differences of means, too
LIFTS = (
    *("lift", "lift_low", "lift_high", "lift_lower", "lift_upper"),
    *("lift_first", "lift_second", "lift_last"),
)


@dataclass(frozen=True)
class Unit:
    """Clicks, whose rates are shown in percent; or a unit of the user's own.

    largest : the reward that is 1 in computations
    name : the unit, such as EUR; "" for clicks, or for shares of the largest reward
    binary : whether every reward is the least or the largest
    least : the reward that is 0 in computations
    places : how many places a list has on average, if means are of lists; 0 if they are of rows
    """

    largest: float = 1.0
    name: str = ""
    binary: bool = True
    least: float = 0.0
    places: float = 0.0

    @property
    def percent(self) -> bool:
        """Whether means are shown in percent."""
        return self._is_plain and not self.places

    @property
    def clicks(self) -> bool:
        """Whether rewards are clicks."""
        return self._is_plain and self.binary

    @property
    def _is_plain(self) -> bool:
        """Whether rewards are from 0 to 1, in no unit."""
        return (self.least, self.largest) == (0, 1) and not self.name

    @property
    def events(self) -> str:
        """What rewards are called."""
        return "clicks" if self.clicks else "rewards"

    @property
    def mean(self) -> str:
        """What the mean of rewards is called."""
        if self.places:
            return f"number of {self.events} a visit"
        return "CTR" if self.clicks else "mean reward"

    @property
    def heading(self) -> str:
        """What a column of means is called, with their unit."""
        return f"{self.mean}, {self.symbol}" if self.symbol else self.mean

    @property
    def symbol(self) -> str:
        """The unit in which means are shown: "%", or its name."""
        return "%" if self.percent else self.name

    @property
    def total_heading(self) -> str:
        """What a column of sums is called, with their unit."""
        total = f"sum, {self.name}" if self.name else "sum"
        return self.events if self.clicks else total

    @property
    def words(self) -> str:
        """The heading of means in a sentence."""
        return self.heading.replace(", ", " in ")

    @property
    def width(self) -> float:
        """From the least reward to the largest."""
        return self.largest - self.least

    @property
    def nothing(self) -> float:
        """A reward of 0 as computations have it: a share of the width.

        It is outside [0, 1] if no reward can be 0.
        """
        return (0.0 - self.least) / self.width

    @property
    def relative(self) -> bool:
        """Whether lifts are in percent of today's mean; else they are differences, as means may be
        0 or below.
        """
        return self.least == 0

    def value(self, share: float) -> float:
        """A mean in this unit, from the mean in computations."""
        return (self.places or 1) * (self.least + share * self.width)

    def converted(self, row: Mapping) -> dict:
        """A row of a result with its means and sums in this unit, in place of shares."""
        if "difference" in row:
            return dict(row) | {name: row[name] * self.width for name in PAIR}
        in_unit = dict(row) | {name: self.value(row[name]) for name in MEANS if name in row}
        if not self.relative:
            width = (self.places or 1) * self.width
            in_unit |= {name: row[name] * width for name in LIFTS if name in row}
        if "clicks" in row:
            matched = row["rows"] * (1 - row["unmatched"])
            in_unit |= {"clicks": self.sum(row["clicks"], row["rows"]),
                        "matched_clicks": self.sum(row["matched_clicks"], matched)}  # fmt: skip
        return in_unit

    def sum(self, shares: float, rows: float) -> float:
        """Rewards summed, in this unit.

        shares : the sum over the rows of rewards as computations have them, from 0 to 1
        """
        return shares * self.width + rows * self.least

    def number(self, mean: float, column: str = "", sign: str = "") -> str:
        """A mean in this unit as text, with a fixed number of decimals; a dash for NaN.

        column : of the row that has the mean: ends of intervals are rounded outwards
        sign : "+" writes the sign of positive numbers, too
        """
        if mean != mean:
            return "-"
        most = max(self.largest, -self.least)
        decimals = next(few for few, end in ((3, 1e3), (1, 1e5), (0, math.inf)) if most <= end)
        return rounded(100 * mean if self.percent else mean, f"{sign},.{decimals}f", column)

    def rate(self, mean: float, column: str = "") -> str:
        """A mean with the unit; see `number`."""
        return f"{self.number(mean, column)} {self.symbol}".rstrip()

    def interval(self, low: float, high: float) -> str:
        """An interval of a mean, with the unit."""
        return f"{self.number(low, 'low')} to {self.rate(high, 'high')}"

    @property
    def how_much(self) -> str:
        """The question that a lift answers: "how many percent" or "how much"."""
        return "how many percent" if self.relative else "how much"

    @property
    def lift_unit(self) -> str:
        """What lifts are counted in."""
        return "%" if self.relative else self.name

    @property
    def lift_heading(self) -> str:
        """What a column of lifts is called."""
        return f"lift, {self.lift_unit}" if self.lift_unit else "lift"

    def total(self, rewards: float, rows: float) -> str:
        """The sum of rewards as text; `rewards` is the sum in computations, as for `sum`."""
        if self.clicks:
            return f"{rewards:,.0f} clicks"
        total = self.sum(rewards, rows)
        written = f"{total:,.6g}" if total < 1e6 else f"{total:,.0f}"
        return f"{written} {self.name} in all" if self.name else f"rewards of {written} in all"


CLICKS = Unit()
