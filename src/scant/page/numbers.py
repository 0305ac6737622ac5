"""Numbers as the page writes them: three significant figures at most, and a noun for what each is
of.
"""

import math
import re
from collections.abc import Iterable, Mapping

from scant.present.rounding import rounded

ABSENT = "\N{EN DASH}"
FIGURES = 3
BOUNDS = re.compile(r"(?P<what>.+) / (?P<bound>(?:lower )?bound|floor)")
OF_TABLE = re.compile(
    r"(?P<kind>difference|deviation|share)(?: (?:in|of) (?P<column>.+?))? in the table "
    r"(?P<table>\S+)"
)
DIFFERENCE = "difference in "
EXACT = 1e-9  # a deviation as small is due to rounding


def shown(value, column: str = "") -> str:
    """A number as text, to three significant figures, with an exponent only if it is very large or
    small; a dash for None, "" and NaN. Whole numbers stay in full.

    column : see `scant.present.rounding.rounded`
    """
    if value is None or value == "":
        return ABSENT
    if re.fullmatch(r"-?\d+", str(value)):
        return str(value)
    value = float(rounded(float(value), f".{FIGURES}g", column))
    if math.isnan(value):
        return ABSENT
    value = value or 0.0  # not minus 0
    size = abs(value)
    if 1000 <= size < 1e7:
        return f"{value:,.0f}"
    if 1e-6 <= size < 1e-4:
        return f"{value:.{FIGURES + 5}f}".rstrip("0")
    return f"{value:.{FIGURES}g}"


def signed(value: float, column: str = "") -> str:
    """A difference, with its sign: "+0.02"."""
    return ("+" if value > 0 else "") + shown(value, column)


def percent(share: float, column: str = "") -> str:
    """A share of a bound: "2 %", "less than 0.01 %"; "13.2 times" if the bound does not hold."""
    if share > 1 + EXACT:
        return f"{shown(float(share), column)} times"
    return (
        "less than 0.01 %"
        if 0 < share < 1e-4
        else f"{shown(rounded(100 * share, '.2g', column))} %"
    )


def spread(values: Iterable[float], write=shown) -> str:
    """A number, or the least and the greatest of several, "0.1 to 0.4", with the decimals of the
    larger one.
    """
    ends = min(values := list(values)), max(values)
    size = max(map(abs, ends))
    if size and write is not percent:
        decimals = FIGURES - 1 - math.floor(math.log10(size))
        ends = [end if end in (size, -size) else round(end, decimals) for end in ends]
    texts = list(dict.fromkeys(map(write, ends)))
    if len(texts) > 1 and all(text.endswith(" %") for text in texts):
        texts[0] = texts[0].removesuffix(" %")
    return " to ".join(texts)


def interval(low, high, write=shown) -> str:
    """An interval, "[0.1, 0.4]", rounded outwards; "" without one.

    low, high : numbers, also as text; None or "" where there is none
    """
    if low in (None, "") or high in (None, "") or low == high:
        return ""
    return f"[{write(low, 'low')}, {write(high, 'high')}]"


def of_bound(quantity: str) -> bool:
    """Whether a quantity, as claims write it, is a share of a bound."""
    of_table = OF_TABLE.fullmatch(quantity)
    return bool(BOUNDS.fullmatch(quantity) or (of_table and of_table["kind"] == "share"))


def in_words(quantity: str) -> str:
    """A quantity as a reader knows it: "share of the bound", "difference in raw variance"."""
    if match := BOUNDS.fullmatch(quantity):
        return f"{match['what']} as a share of its {match['bound']}"
    if match := OF_TABLE.fullmatch(quantity):
        if match["kind"] == "share":
            return "share of the bound"
        if match["kind"] == "deviation":
            return "deviation from what is stated"
        return f"difference in {match['column'].replace('_', ' ')}".removesuffix(" in value")
    return quantity


def measured(rows: list[Mapping], quantity: str, pair: str = "") -> str:
    """What was measured, in words: "SLAM minus ListNet: -0.127 [-0.132, -0.122] of NDCG@10", "2 %
    of the bound".

    rows : claims or cells, with `estimate`, `low`, `high`. Of several, the range of the estimates
        is told
    quantity : what they estimate, as claims write it
    pair : what is compared, "SLAM minus ListNet"
    """
    estimates = [row["estimate"] for row in rows]

    def numbers(write) -> str:
        ends = interval(rows[0]["low"], rows[0]["high"], write) if len(rows) == 1 else ""
        return f"{spread(estimates, write)} {ends}".rstrip()

    named = f"{pair}: " if pair else ""
    if found := BOUNDS.fullmatch(quantity):
        return _of(spread(estimates, percent), found["bound"])
    if found := OF_TABLE.fullmatch(quantity):
        if found["kind"] == "deviation":
            largest = max(map(abs, estimates))
            return "exactly so" if largest < EXACT else f"off by {shown(largest)}"
        if found["kind"] == "share":
            return _of(spread(estimates, percent), "bound")
        of = f" of {found['column'].replace('_', ' ')}".removesuffix(" of value")
        return f"{named}{numbers(signed)}{of}"
    if " / " in quantity:
        what, whole = quantity.split(" / ")
        return f"{numbers(percent)} of {whole if whole in what else f'{whole} {what}'}"
    if quantity.startswith("gain in "):
        of = quantity.removeprefix("gain in ").removesuffix(" (%)")
        return f"{named}{numbers(signed)} % of {of}"
    if quantity.startswith(DIFFERENCE):
        return f"{named}{numbers(signed)} of {quantity.removeprefix(DIFFERENCE)}"
    return f"{quantity} {numbers(shown)}"


def _of(share: str, bound: str) -> str:
    """A share, as `percent` writes it, of a bound: "2 % of the bound", "13.2 times the bound"."""
    return f"{share} {'' if share.endswith('times') else 'of '}the {bound}"
