"""The claims of a study and the estimates behind them: the reader of their files, for all that
shows them.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import pandas as pd

from scant.errors import DataError
from scant.files import anew, crc, damaged, foreign, metadata_of, read_parquet, read_rows

OF_CELLS = [
    "claim", "statement", "family", "row", "quantity", "experiment", "tuning", "first", "stream",
    "learner", "against",
]  # fmt: skip
BESIDE = ("agreeing", "agreeing_least", "tipping", "worst")
OVERALL = "mean of all cells"  # the stream of a row that sums a reading up


class Claim(TypedDict):
    """A row of `scant.verdict.tables.claim_rows`."""

    id: str
    source: str
    statement: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    readings_holding: int
    readings_total: int
    data: str
    needed: float | None
    matters: str
    matters_share: float | None
    family: str
    figure: str
    experiment: str
    row: str
    words: str
    chosen: str
    quantity: str
    test: str
    cells_holding: int
    cells_failing: int
    cells_silent: int
    cells_total: int
    tightness: float | None
    deciding: str
    note: str
    refuted_by: str
    says_from: float | None
    control: str
    control_verdict: str
    control_estimate: float | None
    control_low: float | None
    control_high: float | None
    premise: str
    agreeing: float | None
    agreeing_least: float | None
    tipping: float | None
    worst: float | None
    mark: str
    by_cell: str
    named: str


# A row of `scant.verdict.tables.cell_rows`, which has the settings that differ between readings
# besides, as text.
Cell = TypedDict(
    "Cell",
    {
        **dict.fromkeys(OF_CELLS, str),
        "first": bool,
        **dict.fromkeys(("estimate", "low", "high"), float | None),
        "n": int,
        "from": float,
        "to": float,
        "verdict": str,
        "test": str,
        **dict.fromkeys(BESIDE, float | None),
        "mark": str,
    },
)
COLUMNS, CELL_COLUMNS = list(Claim.__annotations__), list(Cell.__annotations__)


def claims(path, needed: Iterable[str] = COLUMNS, advice: str = "") -> list[Claim]:
    """The claims of a study, from the parquet or the CSV file that `scant.verdict.tables.write`
    wrote.

    needed : the columns that have to be there; others are left out where they are not
    advice : what to do if the file is damaged; by default to make it anew

    Raises
    ------
    DataError : it is damaged, or holds something else
    """
    return _rows(Path(path), Claim, needed, advice or anew(path))


def cells(path, needed: Iterable[str] = CELL_COLUMNS, advice: str = "") -> list[Cell]:
    """The cells of a study's claims, from the CSV file that `scant.verdict.tables.write` wrote.

    The file is checked by the CRC-32 in the claims' parquet file beside it, if there is one.

    needed, advice : as for `claims`

    Raises
    ------
    DataError : one of the files is damaged
    """
    _check(Path(path))
    return _rows(Path(path), Cell, needed, advice or anew(path))


def read(path) -> pd.DataFrame:
    """The cells of a study's claims as a frame, see `cells`."""
    return frame(cells(path), Cell)


def frame(rows: Sequence[Mapping], kind: type) -> pd.DataFrame:
    """Rows of claims or cells as a data frame, with NaN for unknown numbers.

    kind : `Claim` or `Cell`
    """
    numbers = {name: float for name, of in kind.__annotations__.items() if of == float | None}
    return pd.DataFrame(rows, columns=None if rows else [*kind.__annotations__]).astype(numbers)


def _rows(path: Path, kind: type, needed: Iterable[str], advice: str) -> list:
    """The rows of a file, with values of the types that `kind` has for its columns."""
    with foreign(path, "whole file of claims", advice):
        if path.suffix == ".parquet":
            table = read_parquet(path)
            head, rows = table.column_names, table.to_pylist()
        else:
            head, rows = read_rows(path, advice)
        if missing := [name for name in needed if name not in head]:
            raise DataError(path, f"lacks the columns {', '.join(missing)}", advice=advice)
        types = {name: of for name, of in kind.__annotations__.items() if name in head}
        return [row | {name: _value(row[name], of) for name, of in types.items()} for row in rows]


def _value(value, of: type):
    """A cell as a value of the type that its column has: None, or NaN, where there is no number."""
    if of is bool:
        return value == "True"
    if of is str:
        return value
    if of is int:
        return int(value)
    number = math.nan if value in (None, "") else float(value)
    return None if math.isnan(number) and of is not float else number


def _check(path: Path) -> None:
    claims = path.with_name(f"{path.stem.removesuffix('-readings')}.parquet")
    if not (path.is_file() and claims.is_file()):
        return
    with foreign(claims, "whole file of claims", anew(claims)):
        expected = metadata_of(read_parquet(claims).schema).get("readings")
    if expected not in (None, crc(path)):
        reason = "it is not the file of readings that was written: its CRC-32 is another"
        raise damaged(path, reason)


def titled(name: str, titles: Mapping[str, str]) -> str:
    """A name whose id is replaced by the id's title. What follows the id stays: "flip, T = 200"
    becomes "Flip, T = 200" if `titles` has "flip": "Flip".
    """
    id = re.split(r", | \(", name, maxsplit=1)[0]
    return titles.get(id, id) + name[len(id) :]
