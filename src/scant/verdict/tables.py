"""The tables of claims: one with a row for each claim, one with a row for every estimate behind them."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from scant import families
from scant.files import crc, write_csv, write_parquet
from scant.measures import recordable, title_of
from scant.present.tables import read as read_table
from scant.present.tables import write as write_table
from scant.verdict import selection
from scant.verdict import statistics as verdicts
from scant.verdict.claims import TABLE, Cell, Examined, Reading, between, compared_with, pair, test_settings
from scant.verdict.readings import CELL_COLUMNS, COLUMNS, OF_CELLS, OVERALL
from scant.verdict.words import UNTESTABLE, UNTOLD


def read_theory(paths) -> dict[str, pd.DataFrame]:
    """The tables in some CSV files, by name.

    Raises
    ------
    DataError : a file is damaged
    """
    return {path.stem: read_table(path) for path in map(Path, paths)}


def table(examined: Mapping[str, Examined], study: dict) -> pd.DataFrame:
    """One row for each claim. Verdicts are with Holm's correction within the claim's family.

    Its columns, `COLUMNS`, are among others:

    verdict : "holds", "fails", "undecided" or "not testable here", under the claim's first reading
    estimate, low, high, n : under the first reading, with its t interval; of exact claims about tables, the deviation
    needed : from how many seeds on they would decide an undecided claim, with power 0.8
    readings_holding, readings_total : under how many readings the claim would hold if they were the first, of how many
    matters, matters_share : the reading that the estimate depends on most, and its share of the estimate's variance
        over readings with the same streams and learners
    data : the streams of the first reading; for a claim that is not testable, what it needs and what is missing
    experiment : of the first reading
    row : "theorem", "reproduction" or "extension"
    words, chosen : a quotation by which the statement is found in its source; what was chosen where that leaves room
    quantity, test : what the estimate is of, in words, with its unit; the test that the verdict rests on
    cells_holding, cells_failing, cells_total : in how many cells of the first reading the claim holds, and in how many
        it fails, each cell by itself, of how many; 0 for claims about tables
    tightness : of a claim about a bound, the largest share of the bound that was measured; of a lower bound, its
        share of what was measured: 1 is a bound that is attained, more than 1 one that does not hold
    """
    first = {name: examination.readings[0].verdict for name, examination in examined.items() if examination.readings}
    families = {}
    for name, verdict in first.items():
        families.setdefault(examined[name].claim["family"], {})[name] = verdict
    rows = []
    for name, examination in examined.items():
        claim, readings, family = examination.claim, examination.readings, examination.claim["family"]
        row = {"id": name, "source": _source(claim), "statement": claim["statement"], "verdict": UNTESTABLE}
        row |= {"family": family, "figure": claim.get("figure") or "", "n": 0, "experiment": "", "matters": ""}
        row |= {"readings_holding": 0, "readings_total": 0, "cells_holding": 0, "cells_failing": 0, "cells_total": 0}
        row |= {"row": claim.get("row", UNTOLD), "words": _words(claim), "chosen": claim.get("chosen", "")}
        row |= {"quantity": _quantity_words(claim), "test": ""}
        if not readings:
            row["data"] = "; ".join(filter(None, [claim.get("data"), f"missing here: {examination.missing}"]))
            rows.append(row)
            continue
        corrected = [
            verdicts.holm({family: families[family] | {name: reading.verdict}})[family][name] for reading in readings
        ]
        shares = verdicts.shares(dict(enumerate(corrected)))
        matters = _matters(readings)
        row |= {
            key: getattr(corrected[0], key) for key in ("verdict", "estimate", "low", "high", "n", "test", "needed")
        }
        row |= {key: shares[key] for key in ("readings_holding", "readings_total")}
        row |= dict(zip(("matters", "matters_share"), next(iter(matters.items()), ("", np.nan)), strict=True))
        row |= {"data": _where(readings[0], study, claim), "experiment": readings[0].experiment}
        row |= _cells(readings[0]) | {"tightness": _tightness(claim, readings[0])}
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def write(examined: Mapping[str, Examined], study: dict, stem) -> None:
    """Write `table` as `stem`.csv, .tex and .parquet, and `cells_table` as `stem`-readings.csv.

    The metadata of the parquet file have the CRC-32 of the readings, see `scant.verdict.readings.read`.
    """
    claims, stem = table(examined, study), Path(stem)
    write_table(claims, stem)
    path = stem.with_name(f"{stem.name}-readings.csv")
    write_csv(cells_table(examined), path)
    metadata = {"study": study["study"], "readings": crc(path)}
    write_parquet(pa.Table.from_pandas(claims, preserve_index=False), f"{stem}.parquet", metadata)


def _source(claim: dict) -> str:
    """The document that a claim is from, and the place in it."""
    source = claim["source"]
    return source if isinstance(source, str) else f"{source['document']}, {source['place']}"


def _words(claim: dict) -> str:
    """The words of the document by which the claim is found there; "" if it quotes none."""
    return "" if isinstance(claim["source"], str) else claim["source"].get("words", "")


def _cells(reading: Reading) -> dict[str, int]:
    """In how many cells of a reading its claim holds and fails, each cell by itself, of how many."""
    outcomes = [verdict.verdict for verdict in reading.single]
    counts = {"cells_holding": outcomes.count("holds"), "cells_failing": outcomes.count("fails")}
    return counts | {"cells_total": len(outcomes)}


def _tightness(claim: dict, reading: Reading) -> float:
    """What was measured as a share of its bound, in the cell closest to it; NaN if the claim is about no bound.

    Of a lower bound it is the bound as a share of what was measured. A claim is about a bound if its quantity involves
    no chance and has an interval, or if it is a theorem check that holds a share against 1. A claim about the mean over
    cells has that of the mean.
    """
    ends, against = between(claim["quantity"]), claim.get("against")
    of_bound = claim["quantity"].endswith("_share") or claim.get("column") == "share"
    if ends is None and not (of_bound and against == 1 and claim.get("row") == "theorem"):
        return math.nan
    upper = math.isfinite(ends[1]) if ends else claim["comparison"] != "greater"
    subtracted = against if claim["quantity"] == TABLE and claim["comparison"] != "slope" else 0.0
    together = claim.get("over") == "mean" or not reading.single
    shares = [verdict.estimate + subtracted for verdict in ([reading.verdict] if together else reading.single)]
    if upper:
        return max(shares)
    return 1 / min(shares) if min(shares) > 0 else math.inf


def _where(reading: Reading, study: dict, claim: dict) -> str:
    """The titles of the streams that a reading is about; the table's name if it is about a table."""
    if not reading.cells:
        return claim["table"]
    streams = dict.fromkeys(cell.stream for cell in reading.cells)
    if not reading.experiment:  # it is about kinds of logs in the study of bounds
        return "; ".join(streams)
    place = study[families.of(study["experiments"][reading.experiment]).place.key]
    return "; ".join(place.get(stream, {}).get("title", stream) for stream in streams)  # titles may have commas


def _matters(readings: list[Reading]) -> dict[str, float]:
    """The share of the estimates' variance that is due to each varied setting, largest first; only shares above 0.

    Only readings with the same streams and learners as the first are compared, since the estimates of others may differ
    for that reason alone. The variance is that within each cell, summed over cells.
    """

    def estimates(reading: Reading) -> dict[tuple, float]:
        return dict(zip(map(pair, reading.cells), (verdict.estimate for verdict in reading.single), strict=True))

    alike = [reading for reading in readings if estimates(reading).keys() == estimates(readings[0]).keys()]
    keys = dict.fromkeys(key for reading in alike for key in reading.levels)
    levels = {key: [str(reading.levels.get(key)) for reading in alike] for key in keys}
    varied = {key: column for key, column in levels.items() if len(set(column)) > 1}
    by_cell, sums = pd.DataFrame(map(estimates, alike)), dict.fromkeys(varied, 0.0)
    squares = ((by_cell - by_cell.mean()) ** 2).sum()
    for cell, values in by_cell.items():
        for key, share in verdicts.matters(values, varied).items():
            sums[key] += share * squares[cell] / (squares.sum() or 1.0)
    return {key: share for key, share in sorted(sums.items(), key=lambda item: -item[1]) if share > 0}


def cells_table(examined: Mapping[str, Examined]) -> pd.DataFrame:
    """One row for each claim, reading, stream and pair of learners.

    Columns: claim, statement, family, row, quantity (in words, with its unit), experiment, tuning, first (whether the
    claim's verdict is under this reading), stream, learner, against, estimate, low, high, n (as counted), verdict and
    test (on this cell alone, without a correction for the family), from and to (the interval in which the claim says
    that the estimate lies; a relative margin is taken at its mean), and a column for each setting that differs between
    readings; "n (setting)" if another column has its name. Where a reading has several streams and a mean over its
    cells, a row of it follows, whose stream is `OVERALL`.
    """
    rows = []
    for name, examination in examined.items():
        claim, readings = examination.claim, examination.readings
        for reading in readings:
            of_claim = (name, claim["statement"], claim["family"], claim.get("row", UNTOLD), _quantity_words(claim))
            of_claim += (reading.experiment, reading.tuning, reading is readings[0])
            levels = {key: str(value) for key, value in reading.levels.items() if key != "tuning"}
            levels = {f"{key} (setting)" if key in CELL_COLUMNS else key: value for key, value in levels.items()}
            judged = [
                ((cell.stream, cell.learner, cell.against), verdict, _claimed_interval(claim, cell))
                for cell, verdict in zip(reading.cells, reading.single, strict=True)
            ]
            if reading.summary and len({cell.stream for cell in reading.cells}) > 1:
                ends = tuple(np.mean([ends for _, _, ends in judged], axis=0).tolist())
                judged.append(((OVERALL, "", ""), reading.summary, ends))
            rows += [
                dict(zip(OF_CELLS, (*of_claim, *pair_of_cell), strict=True))
                | {key: getattr(verdict, key) for key in ("estimate", "low", "high", "n", "verdict", "test")}
                | dict(zip(("from", "to"), ends, strict=True))
                | levels
                for pair_of_cell, verdict, ends in judged
            ]
    return pd.DataFrame(rows, columns=None if rows else CELL_COLUMNS)


def _quantity_words(claim: dict) -> str:
    """The quantity that a claim's estimate is of, in words, with its unit; "" if the claim says none."""
    if "quantity" not in claim:
        return ""
    against, exact = claim.get("against"), claim["comparison"] == "exact"
    if claim["quantity"] == TABLE:
        columns = ", ".join(np.atleast_1d(claim["column"]))
        words = f"{columns} in the table {claim['table']}"
        if claim["comparison"] == "slope":
            return words
        return f"deviation of {words}" if exact or "expected" in claim else f"difference in {words}"
    quantity = next(iter(selection.quantities()[claim["quantity"]].values()))
    measure = claim.get("measure", "ndcg@10")
    title = title_of(measure) if recordable(measure) else measure.upper()
    words = quantity.words.replace("time-averaged measure", title)
    if against == "bound":
        return f"{words} less its bound"
    compared = "other" in claim or isinstance(against, dict)
    return f"difference in {words}" if compared and not quantity.compared else words


def _claimed_interval(claim: dict, cell: Cell) -> tuple[float, float]:
    """The ends of the interval in which a claim says that a cell's estimate lies."""
    settings, relative = test_settings(claim, 0.95)
    margin = settings["margin"]
    if claim["comparison"] == "exact":
        low, high = between(claim["quantity"]) or (0.0, 0.0)
        return low - margin, high + margin
    margin *= cell.of.abs().mean() if relative else 1.0
    low, high = verdicts.COMPARISONS[claim["comparison"]](margin, -math.inf, settings.get("bound", math.nan))[:2]
    return low + compared_with(claim), high + compared_with(claim)
