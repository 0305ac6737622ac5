"""What a study says of the claims: a row for each, and one for every estimate behind it."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from scant import families
from scant.errors import DataError
from scant.files import atomic, write_parquet
from scant.measures import recordable, title_of
from scant.present.tables import write as write_table
from scant.verdict import selection
from scant.verdict import statistics as verdicts
from scant.verdict.claims import Cell, Examined, Reading, between, pair, test_settings
from scant.verdict.readings import NUMBERS, OF_CELLS

UNTESTABLE = "not testable here"
COLUMNS = [
    *("id", "source", "statement", "verdict", "estimate", "low", "high", "n", "readings_holding", "readings_total"),
    *("data", "needed", "matters", "matters_share", "family", "figure", "experiment"),
]


def read_theory(paths) -> dict[str, pd.DataFrame]:
    """Tables by name, of their CSV files.

    Raises
    ------
    DataError : a file is not whole
    """
    found = {}
    for path in map(Path, paths):
        try:
            found[path.stem] = pd.read_csv(path)
        except (OSError, ValueError) as error:
            raise DataError(path, f"is not a whole table ({error})", advice="Make the table again") from None
    return found


def table(examined: Mapping[str, Examined], study: dict) -> pd.DataFrame:
    """One row for each claim, with Holm's correction within its family.

    verdict : holds, fails, undecided or not testable here
    estimate, low, high, n : of the first reading, with its t interval; of exact claims about tables, the deviation
    needed : the seeds that would decide an undecided claim
    readings_holding, readings_total : a reading's verdict is what the claim's would be if it were the first
    matters, matters_share : the reading on which the estimate depends most, and its share of the variance, among those
        of the same streams and learners
    data : the streams of the first reading; of a claim that is not testable, what it needs and what is missing
    experiment : of the first reading
    """
    first = {name: one.readings[0].verdict for name, one in examined.items() if one.readings}
    families = {}
    for name, verdict in first.items():
        families.setdefault(examined[name].claim["family"], {})[name] = verdict
    rows = []
    for name, one in examined.items():
        claim, family = one.claim, one.claim["family"]
        row = {"id": name, "source": _source(claim), "statement": claim["statement"], "verdict": UNTESTABLE}
        row |= {"family": family, "figure": claim.get("figure") or "", "n": 0, "experiment": "", "matters": ""}
        row |= {"readings_holding": 0, "readings_total": 0}
        if not one.readings:
            row["data"] = "; ".join(filter(None, [claim.get("data"), f"missing here: {one.missing}"]))
            rows.append(row)
            continue
        corrected = [
            verdicts.holm({family: families[family] | {name: reading.verdict}})[family][name]
            for reading in one.readings
        ]
        shares = verdicts.shares(dict(enumerate(corrected)))
        own, matters = corrected[0], _matters(one.readings)
        row |= {key: getattr(own, key) for key in ("verdict", "estimate", "low", "high", "n", "needed")}
        row |= {key: shares[key] for key in ("readings_holding", "readings_total")}
        row |= dict(zip(("matters", "matters_share"), next(iter(matters.items()), ("", np.nan)), strict=True))
        row |= {"data": _where(one.readings[0], study, claim), "experiment": one.readings[0].experiment}
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def write(examined: Mapping[str, Examined], study: dict, stem) -> None:
    """Write the claims as `stem`.csv, .tex and .parquet, and every reading of each as `stem`-readings.csv."""
    verdicts_of, stem = table(examined, study), Path(stem)
    write_table(verdicts_of, stem)
    write_parquet(pa.Table.from_pandas(verdicts_of, preserve_index=False), f"{stem}.parquet", {"study": study["study"]})
    with atomic(stem.with_name(f"{stem.name}-readings.csv")) as temporary:
        cells_table(examined).to_csv(temporary, index=False, lineterminator="\n")


def _source(claim: dict) -> str:
    source = claim["source"]
    return source if isinstance(source, str) else f"{source['document']}, {source['place']}"


def _where(reading: Reading, study: dict, claim: dict) -> str:
    """The streams that a reading is of, as the study calls them."""
    if not reading.cells:
        return claim["table"]
    place = study[families.of(study["experiments"][reading.experiment]).place.key]
    streams = dict.fromkeys(cell.stream for cell in reading.cells)
    return ", ".join(place.get(stream, {}).get("title", stream) for stream in streams)


def _matters(readings: list[Reading]) -> dict[str, float]:
    """The shares, above 0, that readings have of the variance of the estimates.

    Over those of the first reading's streams and learners, since others may differ from it for that alone; and for each
    stream and pair by itself, since the estimate of a reading is of now one cell, now another.
    """

    def estimates(one: Reading) -> dict[tuple, float]:
        return dict(zip(map(pair, one.cells), (verdict.estimate for verdict in one.single), strict=True))

    alike = [one for one in readings if estimates(one).keys() == estimates(readings[0]).keys()]
    keys = dict.fromkeys(key for one in alike for key in one.levels)
    levels = {key: [str(one.levels.get(key)) for one in alike] for key in keys}
    varied = {key: column for key, column in levels.items() if len(set(column)) > 1}
    found, sums = pd.DataFrame(map(estimates, alike)), dict.fromkeys(varied, 0.0)
    squares = ((found - found.mean()) ** 2).sum()
    for cell, values in found.items():
        for key, share in verdicts.matters(values, varied).items():
            sums[key] += share * squares[cell] / (squares.sum() or 1.0)
    return {key: share for key, share in sorted(sums.items(), key=lambda one: -one[1]) if share > 0}


def cells_table(examined: Mapping[str, Examined]) -> pd.DataFrame:
    """One row for each claim, reading, stream and pair of learners.

    Columns: claim, family, quantity (in words, with its unit), experiment, tuning, first (whether it is of the reading
    that the claim's verdict is of), stream, learner, against, estimate, low, high, n, verdict (of the cell by itself:
    no family corrects it), from and to (between which the claim says that the estimate is; a relative margin at its
    mean), and a column for each reading.
    """
    rows = []
    for name, one in examined.items():
        for reading in one.readings:
            for cell, verdict in zip(reading.cells, reading.single, strict=True):
                about = (name, one.claim["family"], _said_of(one.claim), reading.experiment, reading.tuning)
                about += (reading is one.readings[0], cell.stream, cell.learner, cell.against)
                rows.append(
                    dict(zip(OF_CELLS, about, strict=True))
                    | {key: getattr(verdict, key) for key in ("estimate", "low", "high", "n", "verdict")}
                    | dict(zip(("from", "to"), _claimed(one.claim, cell), strict=True))
                    | {key: str(value) for key, value in reading.levels.items() if key != "tuning"}
                )
    kept = [*OF_CELLS, *NUMBERS, "verdict"]
    return pd.DataFrame(rows, columns=None if rows else kept)


def _said_of(claim: dict) -> str:
    """What a claim's estimate is of, in words, with its unit."""
    quantity = claim["quantity"]
    said = next(iter(selection.quantities()[quantity].values()))
    measure = claim.get("measure", "ndcg@10")
    called = title_of(measure) if recordable(measure) else measure.upper()
    words = called if "measure" in said.options else said.words
    compared = "other" in claim or (claim.get("against") is not None and claim["comparison"] != "slope")
    return f"difference in {words}" if compared and not said.compared else words


def _claimed(claim: dict, cell: Cell) -> tuple[float, float]:
    """Between which ends the claim says that a cell's estimate lies."""
    settings, relative = test_settings(claim, 0.95)
    margin = settings["margin"]
    if claim["comparison"] == "exact":
        low, high = between(claim["quantity"]) or (0.0, 0.0)
        return low - margin, high + margin
    margin *= cell.of.abs().mean() if relative else 1.0
    return verdicts.COMPARISONS[claim["comparison"]](margin, -math.inf, settings.get("bound", math.nan))[:2]
