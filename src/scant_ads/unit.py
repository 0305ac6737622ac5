"""What rewards are counted in, and numbers as text. In computations every reward is a share of the largest one."""

from collections.abc import Mapping
from dataclasses import dataclass

MEANS = ("estimate", "snips", "lower", "low", "high", "dr", "dr_lower", "dr_low", "dr_high", "difference", "today")
SUMS = ("clicks", "matched_clicks")


@dataclass(frozen=True)
class Unit:
    """Clicks, whose rates are shown in percent; or a unit of the user's own.

    largest : the reward that is 1 in computations
    name : the unit, such as EUR; "" for clicks, or for shares of the largest reward
    binary : whether every reward is 0 or the largest
    """

    largest: float = 1.0
    name: str = ""
    binary: bool = True

    @property
    def percent(self) -> bool:
        """Whether means are shown in percent."""
        return self.largest == 1 and not self.name

    @property
    def clicks(self) -> bool:
        """Whether rewards are clicks."""
        return self.percent and self.binary

    @property
    def events(self) -> str:
        """What rewards are called."""
        return "clicks" if self.clicks else "rewards"

    @property
    def mean(self) -> str:
        """What the mean of rewards is called."""
        return "CTR" if self.clicks else "mean reward"

    @property
    def heading(self) -> str:
        """What a column of means is called, with their unit."""
        return self.mean + (", %" if self.percent else f", {self.name}" if self.name else "")

    @property
    def total_heading(self) -> str:
        """What a column of sums is called, with their unit."""
        return self.events if self.clicks else f"sum, {self.name}" if self.name else "sum"

    @property
    def words(self) -> str:
        """The heading of means in a sentence."""
        return self.heading.replace(", ", " in ")

    def converted(self, row: Mapping) -> dict:
        """A row whose means and sums are in this unit, and no longer shares of the largest reward."""
        return dict(row) | {name: row[name] * self.largest for name in (*MEANS, *SUMS) if name in row}

    def number(self, mean: float) -> str:
        """A mean in this unit as text, with a fixed number of decimals; a dash for NaN."""
        if mean != mean:
            return "-"
        decimals = 3 if self.largest <= 1000 else 1 if self.largest <= 100_000 else 0
        return f"{100 * mean if self.percent else mean:,.{decimals}f}"

    def rate(self, *means: float) -> str:
        """A mean, or an interval, with the unit."""
        return " to ".join(map(self.number, means)) + (" %" if self.percent else f" {self.name}" if self.name else "")

    def total(self, rewards: float) -> str:
        """A sum of rewards as text; `rewards` is a sum of shares of the largest."""
        if self.clicks:
            return f"{rewards:,.0f} clicks"
        total = rewards * self.largest
        written = f"{total:,.6g}" if total < 1e6 else f"{total:,.0f}"
        return f"{written} {self.name} in all" if self.name else f"rewards of {written} in all"


CLICKS = Unit()
