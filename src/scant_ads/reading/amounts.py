"""Rewards and propensities as a log writes them: numbers, yes and no, amounts of money, digits; and
other scales.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from scant.errors import SettingError, is_number, unknown
from scant_ads.reading.lists import KINDS

GREATEST = 1e100  # of a reward: its square has to be finite
UNIFORM = "uniform"  # a split that shows all eligible ads alike
ABOVE = 1e-6  # by which a probability may be above 1, since it is rounded to single precision

# by which the shares of a split that is stated may not sum to 1, since they are rounded
SPLIT = 0.01
PROPENSITIES = "percent", "log"  # other ways to write them
WORDS = {"yes": 1.0, "y": 1.0, "true": 1.0, "t": 1.0, "no": 0.0, "n": 0.0, "false": 0.0, "f": 0.0}
SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR"}
CURRENCY = rf"[{''.join(SIGNS)}]|[A-Z]{{3}}"
AMOUNT = re.compile(rf"([+-]?)\s*({CURRENCY})?\s*([+-]?)(\d[\d.,'\u2019\s]*?)\s*({CURRENCY})?")
# with marks between thousands, and of decimals
GROUPED = r"\d{{1,3}}(?:{0}\d{{3}})+(?:{1}\d+)?|\d+(?:{1}\d+)?"
POINT, COMMA = (
    re.compile(GROUPED.format(*marks))
    for marks in ((r"[,'\u2019\s]", r"\."), (r"[.'\u2019\s]", ","))
)


@dataclass(frozen=True)
class Units:
    """What a log's propensities and rewards are written as.

    propensities : "percent", or "log" for natural logarithms; None for probabilities
    reward_max, reward_min : the largest and the least reward possible, which become 1 and 0
    reward_unit : what rewards are counted in, such as EUR; "" for clicks, or shares of the largest
    propensity : the split of a log that has no propensities: with which probability chance showed
        each ad, by its id, or one for all ads; "uniform" for one that shows all ads of a list
        alike; None for a log that has them
    propensity_of : what the propensities of lists are of, one of `lists.KINDS`; None where rows are
        visits of their own
    less : whether less is better, so that rewards are minus what is written; None to ask the user
        if the column is called like a cost

    Raises
    ------
    SettingError : another value
    """

    propensities: str | None = None
    reward_max: float = 1.0
    reward_unit: str = ""
    reward_min: float = 0.0
    propensity: float | str | Mapping[str, float] | None = None
    less: bool | None = None
    propensity_of: str | None = None

    def __post_init__(self):
        shares = [*self.split.values()] or (
            [] if self.propensity in (None, UNIFORM) else [self.propensity]
        )
        if not all(is_number(share, 0, 1) and share > 0 for share in shares):
            raise SettingError(
                "--propensity: a share is above 0 and at most 1, as 0.5, or "
                "control=0.5,treatment=0.5"
            )
        if self.split and abs(sum(shares) - 1) > SPLIT + 1e-9:
            raise SettingError(
                f"--propensity: the shares sum to {sum(shares):.4g}, not to 1. Give "
                "the share that each ad of the log was to have among its rows"
            )
        if not is_number(self.reward_min, -GREATEST, GREATEST):
            raise SettingError(
                f"--reward-min is {self.reward_min}; the least reward is a number "
                f"from {-GREATEST:g}"
            )
        if not (is_number(self.reward_max, most=GREATEST) and self.reward_min < self.reward_max):
            raise SettingError(
                f"--reward-max is {self.reward_max}; the largest reward is a number above "
                f"{self.reward_min:g}, at most {GREATEST:g}"
            )
        if not isinstance(self.reward_unit, str):
            raise SettingError(f"--reward-unit is {self.reward_unit!r}; it is a text, such as EUR")
        if self.less not in (None, False, True):
            raise SettingError(f"less is {self.less!r}; it is true, false or None")
        for name, what, ways in (
            ("propensities", "way to write propensities", PROPENSITIES),
            ("propensity_of", "kind of --propensity-of", KINDS),
        ):
            value = getattr(self, name)
            if value is not None and value not in ways:
                raise unknown(what, value, ways)

    @property
    def split(self) -> dict[str, float]:
        """The propensity of each ad, if the log's split is stated by ad; else empty."""
        return dict(self.propensity) if isinstance(self.propensity, Mapping) else {}

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Probabilities from propensities as they are written; a probability above 1 by at most
        `ABOVE` becomes 1.
        """
        with np.errstate(over="ignore"):
            shares = {"log": np.exp, "percent": lambda values: values / 100}.get(
                self.propensities, np.copy
            )(values)
        return np.where((shares > 1) & (shares <= 1 + ABOVE), 1.0, shares)

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Rewards as written, mapped from [least, largest] to [0, 1]; outside of it if they are
        wrong.
        """
        shares = self.reward_max - values if self.less else values - self.reward_min
        return shares / (self.reward_max - self.reward_min)

    def refusal(self, value: float, low: float, high: float, currency: str) -> tuple[str, str]:
        """Why a value is no reward, and advice: options by which the whole column can be read.

        value : the value, as written
        low, high : the least and the largest value of the column, as written
        currency : the column's currency; "" for none
        """
        what, lowest, highest = "cost" if self.less else "reward", self.reward_min, self.reward_max
        reason = f"{what} {value} is not in [{lowest:g}, {highest:g}]; "
        reason += f"they are from {low:g} to {high + 0.0:g}" if low < high else "all are alike"
        unit = f" --reward-unit {currency}" if currency else ""
        if low >= 0:
            named = f", such as --reward-max {_written(high)}{unit}" if high > highest else ""
            return reason, (
                "Say the largest reward possible, which may be above the largest seen, by "
                f"--reward-max{named}. Name what it is counted in by --reward-unit"
            )
        wide = f"--reward-min {_written(low)} --reward-max {_written(max(high, 0.0))}{unit}"
        return reason, (
            f"Read them with {wide}, and with --less if less is better. The limits are what is "
            "possible, and may be further apart than what was seen"
        )


NO_UNITS = Units()


def _written(value: float) -> str:
    """A number as an option takes it back, without an exponent or a decimal point that says
    nothing.
    """
    return f"{value + 0.0:.12g}" if float(f"{value:.12g}") == value else repr(value + 0.0)


def amounts(texts: Sequence[str]) -> tuple[list[float], str] | None:
    """The numbers of texts that are all yes or no, or all amounts of money of one currency; and
    this currency, "" if none is written.

    What is a mark of decimals, and what of thousands, has to follow from the texts: 1,234.50 tells,
    1,234 does not. None if texts are something else, or do not tell.
    """
    words = [WORDS.get(text.strip().lower()) for text in texts]
    if None not in words:
        return words, ""
    matches = [AMOUNT.fullmatch(text.strip()) for text in texts]
    if None in matches:
        return None
    currencies = {match[2] or match[5] or "" for match in matches} - {""}
    digits = [match[4] for match in matches]
    readings = []
    for pattern, marks, decimal in ((POINT, r"[,'\u2019\s]", "."), (COMMA, r"[.'\u2019\s]", ",")):
        if all(map(pattern.fullmatch, digits)):
            readings.append(
                [float(re.sub(marks, "", text).replace(decimal, ".")) for text in digits]
            )
    if len(currencies) > 1 or not readings or any(reading != readings[0] for reading in readings):
        return None
    signed = [
        -number if "-" in (match[1], match[3]) else number
        for match, number in zip(matches, readings[0], strict=True)
    ]
    currency = min(currencies, default="")
    return signed, SIGNS.get(currency, currency)


def uniform_ads(propensity: float, ads: int) -> int | None:
    """The number n of ads if each is shown with this propensity, which is 1 / n or 1 / n rounded.

    If several n fit the digits, n is `ads`, the number of ads in the rows, provided that it fits.
    None if n is not clear, or below `ads`. It may be above `ads`, as some ads may never be shown.
    """
    whole = round(1 / propensity)
    if abs(whole * propensity - 1) > 1e-12:
        half = rounding(propensity)
        fewest = math.ceil(1 / (propensity + half) - 1e-9)
        most = math.floor(1 / max(propensity - half, 1e-300) + 1e-9)
        if fewest <= ads <= most:
            whole = ads
        else:
            whole = fewest if fewest == most else 0
    return whole if whole >= ads else None


def rounding(propensity: float) -> float:
    """The largest rounding error of a propensity: half of its last digit."""
    half = 0.5 * 10.0 ** Decimal(repr(round(float(propensity), 12))).as_tuple().exponent
    is_float32 = float(np.float32(propensity)) == propensity
    return max(half, float(np.spacing(np.float32(propensity)))) if is_float32 else half
