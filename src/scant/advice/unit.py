"""What rewards are counted in: clicks, or a unit such as EUR. Inside, every reward is a share of the largest one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """How mean rewards, and their sums, are told.

    largest : the reward that is 1 inside
    name : the unit, such as EUR; "" for clicks, or for shares of the largest reward
    binary : whether every reward is 0 or the largest
    """

    largest: float = 1.0
    name: str = ""
    binary: bool = True

    @property
    def clicks(self) -> bool:
        """Whether rewards are clicks."""
        return self.binary and self.largest == 1 and not self.name

    @property
    def own(self) -> bool:
        """Whether means are told in a unit, and not in percent."""
        return self.largest != 1 or bool(self.name)

    @property
    def mean(self) -> str:
        """What a mean of rewards is called."""
        return "CTR" if self.clicks else "mean reward"

    @property
    def symbol(self) -> str:
        """What stands behind a mean: %, or the unit."""
        return (self.name or "a visit") if self.own else "%"

    @property
    def heading(self) -> str:
        """What numbers below are, with their unit: "CTR, %"."""
        return f"{self.mean}, {self.name}" if self.name else self.mean if self.own else f"{self.mean}, %"

    def scaled(self, value: float) -> float:
        """A mean as it is told, without its unit."""
        return value * (self.largest if self.own else 100)

    def number(self, value: float) -> str:
        """A mean as text without its unit, with as many decimals as all others; a dash for NaN."""
        if value != value:
            return "-"
        decimals = 3 if not self.own or self.largest <= 1000 else 1 if self.largest <= 100_000 else 0
        return f"{self.scaled(value):,.{decimals}f}"

    def rate(self, value: float) -> str:
        """A mean as text with its unit, as in a sentence."""
        return f"{self.number(value)} {self.symbol}" if self.name or not self.own else self.number(value)

    def total(self, value: float) -> str:
        """A sum of rewards as text with its unit."""
        if self.clicks:
            return f"{value:,.0f} clicks"
        total = f"{value * self.largest:,.6g}" if value * self.largest < 1e6 else f"{value * self.largest:,.0f}"
        return f"{total} {self.name} in all" if self.name else f"rewards of {total} in all"


CLICKS = Unit()
