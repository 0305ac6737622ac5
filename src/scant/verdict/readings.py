"""Every estimate behind the claims, as the figure of a family of claims shows it."""

import pandas as pd

from scant.errors import DataError

OF_CELLS = ["claim", "family", "quantity", "experiment", "tuning", "first", "stream", "learner", "against"]
NUMBERS = ["estimate", "low", "high", "n", "from", "to"]


def read(path) -> pd.DataFrame:
    """The rows of `cells_table`, of the file that `scant.verdict.tables.write` wrote.

    Raises
    ------
    DataError : the file is not whole
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        frame[NUMBERS] = frame[NUMBERS].apply(pd.to_numeric)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(path, f"is not a whole file of readings ({error})", advice="Make the claims again") from None
    return frame.assign(first=frame["first"] == "True")


def specification(frame: pd.DataFrame, family: str) -> pd.DataFrame:
    """What the figure of a family shows: the rows of `cells_table`, those of each claim by estimate, in `place`s.

    Rows without an estimate are left out, and so are readings that are the same throughout. No row is left where no
    claim of the family is of a quantity measured in the study.
    """
    rows = frame[(frame["family"] == family) & frame["estimate"].notna()]
    claims = list(dict.fromkeys(rows["claim"]))
    rows = rows.sort_values(
        ["claim", "estimate"], key=lambda one: one.map(claims.index) if one.name == "claim" else one
    )
    rows = rows.assign(place=rows.groupby("claim", sort=False).cumcount())
    about = [*OF_CELLS, "place", "estimate", "low", "high", "n", "verdict", "from", "to"]
    readings = [key for key in rows if key not in about and len(set(rows[key])) > 1]
    return rows[[*about, *readings]].reset_index(drop=True)
