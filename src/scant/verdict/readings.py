"""The estimates behind the claims, as the figures of families of claims show them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from scant.errors import DataError, short
from scant.files import anew, crc, foreign, metadata_of, read_cells, read_parquet
from scant.verdict.words import ROWS, VERDICTS

OF_CELLS = [
    *("claim", "statement", "family", "row", "quantity", "experiment", "tuning", "first", "stream", "learner"),
    "against",
]
COLUMNS = [
    *("id", "source", "statement", "verdict", "estimate", "low", "high", "n", "readings_holding", "readings_total"),
    *("data", "needed", "matters", "matters_share", "family", "figure", "experiment", "row", "words", "chosen"),
    *("quantity", "test", "cells_holding", "cells_failing", "cells_total", "tightness"),
]
COUNTS = ["n", "readings_holding", "readings_total", "cells_holding", "cells_failing", "cells_total"]
MEASURED = ["estimate", "low", "high", "needed", "matters_share", "tightness"]
NUMBERS = ["estimate", "low", "high", "n", "from", "to"]
OVERALL = "mean of all cells"  # the stream of a row that sums a reading up


def read(path) -> pd.DataFrame:
    """The rows of `scant.verdict.tables.cells_table`, from the file that `scant.verdict.tables.write` wrote.

    It is held against the CRC-32 that the parquet file of the claims beside it has, if there is one.

    Raises
    ------
    DataError : one of the files is damaged
    """
    _check(Path(path))
    read_cells(path)
    with foreign(path, "whole file of readings", anew(path)):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        _check_columns(frame, {*OF_CELLS, *NUMBERS, "verdict", "test"})
        frame[NUMBERS] = frame[NUMBERS].apply(pd.to_numeric)
        return frame.assign(first=frame["first"] == "True")


def claims(path) -> pd.DataFrame:
    """The rows of `scant.verdict.tables.table`, from the parquet file that `scant.verdict.tables.write` wrote.

    Raises
    ------
    DataError : it is damaged, or holds something else
    """
    with foreign(path, "whole file of claims", anew(path)):
        frame = read_parquet(path).to_pandas()
        _check_columns(frame, {*COLUMNS})
        for name in {*COUNTS, *MEASURED}:
            frame[name] = pd.to_numeric(frame[name])
        if (frame[COUNTS] != frame[COUNTS].round()).any(axis=None) or not frame["id"].is_unique:
            raise ValueError("counts that are not whole, or a claim twice")
        return frame.astype(dict.fromkeys(COUNTS, int))


def _check_columns(frame: pd.DataFrame, columns: set[str]) -> None:
    """Raise a ValueError unless a frame has these columns, with texts but for numbers, and known verdicts and rows."""
    if missing := columns - {*frame}:
        raise ValueError(f"without the columns {', '.join(sorted(missing))}")
    for name in sorted(columns - {*NUMBERS, *COUNTS, *MEASURED}):
        if not all(isinstance(text, str) for text in frame[name]):
            raise ValueError(f"{name} that is no text")
    for name, known in (("verdict", VERDICTS), ("row", ROWS)):
        if odd := [text for text in frame[name] if text not in known]:
            raise ValueError(f"{name} {short(odd[0])}")


def _check(path: Path) -> None:
    claims = path.with_name(f"{path.stem.removesuffix('-readings')}.parquet")
    if not (path.is_file() and claims.is_file()):
        return
    with foreign(claims, "whole file of claims", anew(claims)):
        expected = metadata_of(read_parquet(claims).schema).get("readings")
    if expected not in (None, crc(path)):
        reason = "it is not the file of readings that was written: its CRC-32 is another"
        raise DataError(path, reason, advice=anew(path))


def specification(frame: pd.DataFrame, claims: Sequence[str], titles: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The frame of a figure of claims.

    It has the rows of `scant.verdict.tables.cells_table` of these claims that have an estimate, and those readings that
    differ between them. The column `place` numbers the rows of each claim in ascending order of their estimates. The
    frame is empty if the study measures no quantity that one of the claims is about.

    titles : of streams and learners by their ids; an id stays where another of its column has the same title
    """
    rows = frame[frame["claim"].isin(claims) & frame["estimate"].notna()]
    order = {claim: place for place, claim in enumerate(claims)}
    rows = rows.sort_values(
        ["claim", "estimate"], key=lambda column: column.map(order) if column.name == "claim" else column, kind="stable"
    )
    rows = rows.assign(place=rows.groupby("claim", sort=False).cumcount())
    for column in ("stream", "learner", "against"):
        named = {id: _titled(id, titles or {}) for id in rows[column].unique()}
        counts = Counter(named.values())
        rows[column] = rows[column].map({id: id if counts[title] > 1 else title for id, title in named.items()})
    columns = [*OF_CELLS, "place", "estimate", "low", "high", "n", "verdict", "test", "from", "to"]
    readings = [key for key in rows if key not in columns and len(set(rows[key])) > 1]
    return rows[[*columns, *readings]].reset_index(drop=True)


def _titled(name: str, titles: Mapping[str, str]) -> str:
    """An id with its title in its place, and what follows it, as in "flip, T = 200"."""
    id, comma, rest = name.partition(", ")
    return f"{titles.get(id, id)}{comma}{rest}"
