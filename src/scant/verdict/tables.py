"""The tables of claims: one with a row for each claim, one with a row for every estimate behind
them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from scant.declare import families
from scant.files import anew, crc, foreign, read_sealed, write_csv, write_parquet, write_sealed
from scant.measures import recordable, title_of
from scant.present.tables import read as read_table
from scant.present.tables import write as write_table
from scant.study.grouping import parts
from scant.study.selectors import OWN
from scant.verdict import selection, words
from scant.verdict import statistics as verdicts
from scant.verdict.anytime import LEAST_SEEDS
from scant.verdict.claims import TABLE, pair
from scant.verdict.examined import Cell, Examined, Reading
from scant.verdict.judging import allowed, claimed_interval, compared_with, deciding
from scant.verdict.readings import BESIDE, CELL_COLUMNS, COLUMNS, OVERALL, Claim, titled
from scant.verdict.words import DECIDED, DIFFERS, SILENT, UNTESTABLE, UNTOLD

CAPTION = "Claims, each with its verdict and the estimate that decides it."
# the columns that LaTeX prints
PRINTED = ("source", "statement", "verdict", "estimate", "n", "readings_holding", "readings_total")

PLACES = 4  # that a text names; of more it says how many
FAR = 10  # a claim that needs so many times the seeds is too near to its margin to be decided


def read_theory(paths) -> dict[str, pd.DataFrame]:
    """The tables in some CSV files, by name.

    Raises
    ------
    DataError : a file is damaged
    """
    return {path.stem: read_table(path) for path in map(Path, paths)}


class Judged(NamedTuple):
    """A reading of a claim with its verdict, corrected for the family of claims.

    verdict : one of `scant.verdict.words.VERDICTS`
    corrected : the verdict with its numbers, corrected as the claim's first reading is
    of_cells : the verdict on each cell, corrected for their number, too
    """

    reading: Reading
    verdict: str
    corrected: verdicts.Verdict
    of_cells: list[str]


class Outcome(NamedTuple):
    """The corrected verdicts on a claim's readings, and on its control, if it has one."""

    readings: list[Judged]
    control: Judged | None


def judged(examined: Mapping[str, Examined]) -> dict[str, Outcome]:
    """By id, the corrected verdicts on each claim. Needs all claims of a family, for Holm's
    correction.
    """
    families, outcomes = {}, {}
    for name, one in examined.items():
        if one.readings:
            families.setdefault(one.claim["family"], {})[name] = one.readings[0].verdict
    for name, one in examined.items():
        as_judged = partial(_judged, name, one.claim, families.get(one.claim["family"], {}))
        control = as_judged(one.control) if one.control else None
        outcomes[name] = Outcome(list(map(as_judged, one.readings)), control)
    return outcomes


def _judged(name: str, claim: dict, family: Mapping, reading: Reading) -> Judged:
    """A reading of a claim with its verdict; `family` has the first readings' verdicts.

    Where some measured cells hold and others fail the claim differs, but for a theorem, which has
    to hold in all. A reading that lacks what the statement names may refute the claim, never
    confirm it.
    """
    corrected = verdicts.holm({**family, name: reading.verdict})[name]
    of_mean = any(cell.claim.get("over") == "mean" for cell in reading.cells)
    of_cells = verdicts.cell_verdicts(corrected, reading.single, of_mean)
    outcome = corrected.verdict
    pairs = zip(of_cells, reading.single, strict=True)
    measured = {said for said, cell in pairs if cell.test != verdicts.EXACT}
    differs = {"holds", "fails"} <= measured and not of_mean
    if outcome == "fails" and differs and _kind(claim, reading) != "theorem":
        outcome = DIFFERS
    if reading.lacks and outcome not in ("fails", DIFFERS):
        outcome = UNTESTABLE
    return Judged(reading, outcome, corrected, of_cells)


def _kind(claim: dict, reading: Reading) -> str:
    """The kind of row that a claim is under a reading."""
    return claim.get("row", UNTOLD) if reading.own else UNTOLD


def claim_rows(examined: Mapping[str, Examined], study: dict) -> list[dict]:
    """One row for each claim. Verdicts are corrected within the claim's family, all of which is
    examined.

    Its columns are `COLUMNS`; docs/claims.md says what they mean.
    """
    outcomes = judged(examined)
    return [_row(name, one, outcomes[name], study) for name, one in examined.items()]


def _row(name: str, examination: Examined, outcome: Outcome, study: dict) -> dict:
    """The row of a claim, see `claim_rows`."""
    claim, row = examination.claim, _untested(name, examination.claim)
    first = next(iter(outcome.readings), None)
    if first is None or first.verdict == UNTESTABLE:
        missing = first.reading.lacks if first else examination.missing
        data = [claim.get("data"), f"missing here: {missing}"]
        return row | {"data": "; ".join(filter(None, data))}
    reading, (cell, decides) = first.reading, _deciding(first)
    part = cell.claim if cell else parts(claim)[0]
    row |= _estimate(decides) | _beside(decides, first.verdict) | _readings(outcome.readings)
    row |= _cells(first.of_cells) | {
        "verdict": first.verdict,
        "row": _kind(claim, reading),
        "needed": first.corrected.needed,
        "premise": _premise(first, decides),
        "mark": _mark(first.corrected, first.verdict),
        "data": _where(reading, study, part),
        "experiment": reading.experiment,
        "by_cell": _by_cell(first, study),
        "tightness": _tightness(part, decides),
        "quantity": _quantity_words(part),
        "refuted_by": _refuted_by(reading, cell, decides),
        "says_from": _says_from(reading),
        "deciding": _cell_named(reading, cell, study),
        "note": _note(part, first, cell, decides),
    }
    if outcome.control:
        _, of_control = _deciding(outcome.control)
        row |= {f"control_{key}": getattr(of_control, key) for key in ("estimate", "low", "high")}
        row["control_verdict"] = outcome.control.verdict
        if first.verdict == outcome.control.verdict == "holds":
            row["verdict"] = words.ALIKE
    elif examination.control_missing:
        row["control"] += f" (missing here: {examination.control_missing})"
    return row


def _untested(name: str, claim: dict) -> dict:
    """The row of a claim that is not testable, with what is known of any claim before it is
    tested.
    """
    source, of = claim["source"], parts(claim)
    controls = (part["control"]["words"] for part in of if "control" in part)
    kinds = Claim.__annotations__.items()
    return {column: kind() for column, kind in kinds if kind in (str, int)} | {
        "id": name,
        "source": f"{source.get('document') or source['title']}, {source['place']}",
        "statement": claim["statement"],
        "verdict": UNTESTABLE,
        "family": claim["family"],
        "figure": claim.get("figure") or "",
        "row": claim.get("row", UNTOLD),
        "chosen": claim.get("chosen", ""),
        **{key: source.get(key, "") for key in ("words", "named")},
        "control": "; ".join(dict.fromkeys(controls)),
        "quantity": _quantity_words(of[0]),
    }


def _readings(of_readings: list[Judged]) -> dict:
    """How many readings say something, under how many of these a claim holds, and which setting
    matters most.
    """
    outcomes = [one.verdict for one in of_readings if one.verdict not in (SILENT, UNTESTABLE)]
    matters = _matters([one.reading for one in of_readings])
    name, share = next(iter(matters.items()), ("", math.nan))
    counts = {"readings_holding": outcomes.count("holds"), "readings_total": len(outcomes)}
    return counts | {"matters": name, "matters_share": share}


def save(examined: Mapping[str, Examined], study: dict, order: Sequence[str], path) -> None:
    """Write the rows of some claims as JSON, for `gathered`, and seal the file.

    order : the ids of all claims of the study
    """
    cells = {name: [] for name in examined}
    for row in cell_rows(examined):
        cells[row["claim"]].append(row)
    rows = [[order.index(row["id"]), row, cells[row["id"]]] for row in claim_rows(examined, study)]
    write_sealed(path, {"rows": rows})


def gathered(paths) -> tuple[list[dict], list[dict]]:
    """The `claim_rows` and the `cell_rows` of all claims of a study, from the files that `save`
    wrote.

    Raises
    ------
    DataError : a file is damaged
    """
    rows = []
    for path in map(Path, paths):
        with foreign(path, "whole file of judged claims", anew(path)):
            rows += read_sealed(path)["rows"]
    rows.sort(key=itemgetter(0))
    return [claim for _, claim, _ in rows], [cell for _, _, cells in rows for cell in cells]


def write(claim_rows: list[dict], cell_rows: list[dict], study: str, stem) -> None:
    """Write `claim_rows` as `stem`.csv, .tex and .parquet, and `cell_rows` as `stem`-readings.csv.

    The metadata of the parquet file have the CRC-32 of the readings, see
    `scant.verdict.readings.read`.
    """
    claims, stem = pd.DataFrame(claim_rows, columns=COLUMNS), Path(stem)
    write_table(claims, stem, CAPTION, PRINTED)
    path = stem.with_name(f"{stem.name}-readings.csv")
    write_csv(cells_frame(cell_rows), path)
    metadata = {"study": study, "readings": crc(path)}
    write_parquet(pa.Table.from_pandas(claims, preserve_index=False), f"{stem}.parquet", metadata)


def _cells(of_cells: list[str]) -> dict[str, int]:
    """In how many cells a claim holds, fails and says nothing, of how many."""
    counted = {"holding": "holds", "failing": "fails", "silent": SILENT}
    counts = {f"cells_{name}": of_cells.count(outcome) for name, outcome in counted.items()}
    return counts | {"cells_total": len(of_cells)}


def _by_cell(first: Judged, study: dict) -> str:
    """The outcomes of a claim with their cells, "holds on digits; fails on letters"; "" if all
    cells have one outcome.

    Samples of data sets stand apart, at the end.
    """
    if len({*first.of_cells}) < 2:
        return ""
    of = list(zip(first.reading.cells, first.of_cells, strict=True))
    whole, samples = ([pair for pair in of if pair[0].sample == sample] for sample in (False, True))
    texts = [_sides(whole, study)] if whole else []
    return "; ".join(texts + ([f"on samples: {_sides(samples, study)}"] if samples else []))


def _sides(of: list[tuple[Cell, str]], study: dict) -> str:
    """Each outcome with its cells, named by stream; by learners, too, where one stream has both
    outcomes.
    """
    against = len({cell.against for cell, _ in of}) > 1
    namings = (
        lambda cell: f"on {_title(cell, study)}",
        lambda cell: f"for {_pair(cell, study, against)}",
        lambda cell: f"for {_pair(cell, study, against)} on {_title(cell, study)}",
    )
    for naming in namings:
        sides = {}
        for cell, outcome in of:
            sides.setdefault(outcome, {})[naming(cell)] = None
        if sum(map(len, sides.values())) == len(set().union(*sides.values())):
            break
    preposition, texts = f"{naming(of[0][0]).split(' ')[0]} ", []
    for outcome in filter(sides.__contains__, words.VERDICTS):
        names = [name.removeprefix(preposition) for name in sides[outcome]]
        where = preposition + " and ".join(names)
        texts.append(f"{outcome} {where if len(names) <= PLACES else f'in {len(names)} cells'}")
    return "; ".join(texts)


def _pair(cell: Cell, study: dict, against: bool = True) -> str:
    """The learner of a cell by its title, and, if `against`, the one that it is compared with."""
    titles = families.titles(study["learners"])
    pair = [cell.learner, cell.against] if cell.against and against else [cell.learner]
    return " minus ".join(titled(name, titles) for name in pair)


def _deciding(one: Judged) -> tuple[Cell | None, verdicts.Verdict]:
    """The cell that decides a reading's verdict, and the verdict on that cell; None and the verdict
    on all cells, if no single one decides.
    """
    number = deciding(one.reading, one.corrected.verdict)
    if number is None:
        return None, one.reading.verdict
    return one.reading.cells[number], one.reading.single[number]


def _beside(verdict: verdicts.Verdict, outcome: str) -> dict:
    """What stands beside the verdict on a cell, `outcome`, and needs no premise: the columns
    `BESIDE`.
    """
    if verdict.test not in (verdicts.T, verdicts.BINOMIAL) or outcome == SILENT:
        return dict.fromkeys(BESIDE, math.nan)
    agreeing = verdict.n - verdict.inside if outcome in ("fails", DIFFERS) else verdict.inside
    least = verdicts.agreeing_least(agreeing, verdict.n)
    tipping = verdict.tipping if outcome in DECIDED and verdict.test == verdicts.T else math.nan
    return dict(zip(BESIDE, (agreeing, least, tipping, verdict.worst), strict=True))


def _mark(verdict: verdicts.Verdict, outcome: str) -> str:
    """`MARK` if what is decided by a test with a premise does not need it."""
    needless = verdict.test in words.PREMISES and verdict.missed <= 1 - verdicts.LEVEL
    return words.MARK if needless and outcome in ("holds", "fails") else ""


def _estimate(verdict: verdicts.Verdict) -> dict:
    return {key: getattr(verdict, key) for key in ("estimate", "low", "high", "n", "test")}


def _refuted_by(reading: Reading, cell: Cell | None, decides: verdicts.Verdict) -> str:
    """The least violation of a claim that would have refuted it, in words: "a mean below 2".

    A mean refutes if an interval around it, as wide as the one measured, is outside what is
    claimed. "" where no chance is involved, where so few seeds give no interval, or where no mean
    that is possible is far enough.
    """
    tested = decides.test in (verdicts.T, verdicts.BINOMIAL)
    if not tested or math.isnan(decides.low + decides.high):
        return ""
    cells = [cell] if cell else reading.cells
    low, high = np.mean([claimed_interval(one) for one in cells], axis=0).tolist()
    least, most = np.add(cells[0].within or (-math.inf, math.inf), compared_with(cells[0].claim))
    # The interval around a mean that refutes ends where what is claimed begins.
    below, above = low - (decides.high - decides.estimate), high + (decides.estimate - decides.low)
    ends = []
    if math.isfinite(low) and below > least:
        ends.append(f"below {below:.3g}")
    if math.isfinite(high) and above < most:
        ends.append(f"above {above:.3g}")
    return f"a mean {' or '.join(ends)}" if ends else ""


def _premise(one: Judged, decides: verdicts.Verdict) -> str:
    """What the tests of a verdict suppose of seeds; "" if nothing is decided, or if they suppose
    nothing.
    """
    tests = [decides.test] if one.verdict in DECIDED else []
    if one.verdict == "holds":  # in every cell
        tests += [single.test for single in one.reading.single if single.verdict != SILENT]
    return next((words.PREMISES[test] for test in tests if test in words.PREMISES), "")


def _cell_named(reading: Reading, cell: Cell | None, study: dict) -> str:
    """A cell in words: "SLAM minus ListNet on digits"; the mean of all if no single one decides, ""
    for tables.
    """
    if cell is None:
        return OVERALL if reading.cells else ""
    if not cell.learner:  # rows of a table
        return cell.stream
    return f"{_pair(cell, study)} on {_title(cell, study)}"


def _title(cell: Cell, study: dict) -> str:
    """The title of the stream, game or log that a cell of a claim is about."""
    if not cell.experiment:  # rows of a table, or kinds of logs in the study of bounds
        return cell.stream
    places = study[families.of(study["experiments"][cell.experiment]).place.key]
    return titled(cell.stream, families.titles(places))


def _says_from(reading: Reading) -> float:
    """The least horizon or sample size from which on a cell that says nothing would; NaN if none is
    known.
    """
    pairs = zip(reading.cells, reading.single, strict=True)
    horizons = [cell.says_from for cell, verdict in pairs if verdict.verdict == SILENT]
    return min((one for one in horizons if not math.isnan(one)), default=math.nan)


def _note(claim: dict, one: Judged, cell: Cell | None, decides: verdicts.Verdict) -> str:
    """What a reader needs to know of a claim's verdict.

    Why it is undecided; of a slope, whether it is only the margin that makes it hold, and how it
    changes on the way; which rates are at the edge of their grid; what the study lacks.
    """
    notes, cells = [], one.reading.cells
    if one.verdict == "undecided":
        notes.append(_undecided(one, cell, decides))
    if one.verdict == SILENT and cell:
        most = cell.ceiling + compared_with(claim)
        notes.append(f"even {most:.3g}, the worst that could have been measured, is as claimed")
    of_slope = claim["comparison"] == "slope" and claim["quantity"] != TABLE
    if of_slope and one.verdict == "holds" and decides.low > claim["against"]:
        notes.append(f"within {claim['margin']:g} of {claim['against']:g}, above it")
    if local := [f"{cell.learner} on {cell.stream} {cell.local}" for cell in cells if cell.local]:
        notes.append(f"local slopes, by power of ten: {'; '.join(local)}")
    if edges := list(dict.fromkeys(cell.edge for cell in cells if cell.edge)):
        notes.append(f"rates at the edge of their grid: {'; '.join(edges)}")
    if one.reading.lacks:
        notes.append(f"in part missing here: {one.reading.lacks}")
    return ". ".join(note[:1].upper() + note[1:] for note in notes)


def _undecided(one: Judged, cell: Cell | None, decides: verdicts.Verdict) -> str:
    """Why a claim is undecided."""
    alone = one.reading.verdict.verdict
    if alone != "undecided":
        return (
            f"by itself it would {words.PLURAL[alone]}; the correction for its family of claims "
            f"leaves it undecided; {words.needed(one.corrected.needed)} would decide it"
        )
    if decides.test == "nothing drawn":
        return "all seeds are one observation, since they draw nothing anew"
    if decides.split:
        seeds = f"{decides.inside} of {decides.n} seeds"
        return f"the mean and the typical seed differ: it is as claimed in {seeds}"
    if math.isnan(decides.low):
        few = " with so few different values" if decides.n >= LEAST_SEEDS else ""
        seeds, allow = ("seeds", "allow") if decides.n > 1 else ("seed", "allows")
        return f"{decides.n} {seeds}{few} {allow} no test"
    several, cells, seeds = "", one.of_cells, one.corrected.needed
    low, high = claimed_interval(cell) if cell else (-math.inf, math.inf)
    if decides.high < low or decides.low > high:
        outside = "the interval lies outside of what is claimed"
        return f"{outside}; the correction for {len(cells)} cells leaves it undecided"
    if len(cells) > 1 and "fails" not in cells:
        holding = f"{cells.count('holds')} of {len(cells)} cells"
        several = f"it holds in {holding} and fails in none; here "
    enough = "no number of seeds is known to be enough"
    if math.isfinite(seeds):
        near = "it is too near, for how much seeds differ: " if seeds > FAR * decides.n else ""
        enough = f"{near}{words.needed(seeds)} would decide it"
    return f"{several}the interval has values on both sides of what is claimed; {enough}"


def _tightness(claim: dict, decides: verdicts.Verdict) -> float:
    """What was measured as a share of its bound, in the cell that decides; NaN if the claim is
    about no bound.

    Of a lower bound it is the bound as a share of what was measured. A claim is about a bound if
    its quantity involves no chance and has a most that it may be, or if it is a theorem check that
    holds a share against 1.
    """
    most, against = allowed(claim["quantity"]), claim.get("against")
    of_share = claim["quantity"].endswith("_share") or claim.get("column") == "share"
    of_bound = most is not None or (of_share and against == 1 and claim.get("row") == "theorem")
    if decides.verdict == SILENT or not of_bound:
        return math.nan
    share = decides.estimate
    # the estimate is a difference
    if claim["quantity"] == TABLE and claim["comparison"] != "slope":
        share += against
    if claim["comparison"] != "greater":
        return share
    return 1 / share if share > 0 else math.inf


def _where(reading: Reading, study: dict, claim: dict) -> str:
    """The titles of the streams that a reading is about; the table's name if it is about a
    table.
    """
    if not reading.cells:
        return claim["table"]
    titles = (
        cell.claim["table"] if cell.claim["quantity"] == TABLE else _title(cell, study)
        for cell in reading.cells
    )
    return "; ".join(dict.fromkeys(titles))  # titles may have commas


def _matters(readings: list[Reading]) -> dict[str, float]:
    """The share of the estimates' variance that is due to each varied setting, largest first; only
    shares above 0.

    Only readings with the same streams and learners as the first are compared, since the estimates
    of others may differ for that reason alone.
    """

    estimates = [
        {pair(cell): verdict.estimate for cell, verdict in zip(one.cells, one.single, strict=True)}
        for one in readings
    ]
    alike = [i for i, of in enumerate(estimates) if of.keys() == estimates[0].keys()]
    keys = dict.fromkeys(key for i in alike for key in readings[i].levels)
    levels = {key: [str(readings[i].levels.get(key)) for i in alike] for key in keys}
    varied = {key: column for key, column in levels.items() if len(set(column)) > 1}
    shares = verdicts.matters(pd.DataFrame([estimates[i] for i in alike]), varied)
    return {key: share for key, share in shares.items() if share > 0}


def cells_frame(rows: list[dict]) -> pd.DataFrame:
    """The rows of `cell_rows` as a data frame."""
    return pd.DataFrame(rows, columns=None if rows else CELL_COLUMNS)


def cell_rows(examined: Mapping[str, Examined]) -> list[dict]:
    """One row for each claim, reading, stream and pair of learners, and for rows of tables that are
    parts of a claim.

    Columns: claim, statement, family, row, quantity (in words, with its unit), experiment, tuning,
    first (whether the claim's verdict is under this reading), stream, learner, against, estimate,
    low, high, n (as counted), verdict and test (corrected for the family and the number of cells),
    from and to (the interval in which the claim says that the estimate lies; a relative margin is
    taken at its mean), `BESIDE` and mark as in `claim_rows`, and a column for each setting that
    differs between readings; "n (setting)" if another column has its name. Where a reading has
    several streams and a mean over its cells, a row of it follows, whose stream is `OVERALL`.
    """
    rows = []
    for name, outcome in judged(examined).items():
        claim = examined[name].claim
        for one in outcome.readings:
            reading = one.reading
            levels = {
                f"{key} (setting)" if key in CELL_COLUMNS else key: str(value)
                for key, value in reading.levels.items()
                if key != "tuning"
            }
            triples = zip(reading.cells, reading.single, one.of_cells, strict=True)
            of_cells = [(*triple, claimed_interval(triple[0])) for triple in triples]
            if reading.summary and len({cell.stream for cell in reading.cells}) > 1:
                ends = np.mean([ends for *_, ends in of_cells], axis=0).tolist()
                mean = replace(reading.cells[0], stream=OVERALL, learner="", against="")
                of_cells.append((mean, reading.summary, reading.summary.verdict, ends))
            rows += [
                {
                    "claim": name,
                    "statement": claim["statement"],
                    "family": claim["family"],
                    "row": _kind(claim, reading),
                    "quantity": _quantity_words(cell.claim),
                    "experiment": cell.experiment,
                    "tuning": cell.tuning,
                    "first": one is outcome.readings[0],
                    "stream": cell.stream,
                    "learner": cell.learner,
                    "against": cell.against,
                    **_estimate(verdict),
                    "verdict": said,
                    "from": low,
                    "to": high,
                    **_beside(verdict, said),
                    "mark": _mark(verdict, said),
                    **levels,
                }
                for cell, verdict, said, (low, high) in of_cells
            ]
    return rows


def _quantity_words(claim: dict) -> str:
    """The quantity that a claim's estimate is of, in words, with its unit."""
    against, comparison = claim.get("against"), claim["comparison"]
    if claim["quantity"] == TABLE:
        columns = ", ".join(np.atleast_1d(claim["column"]))
        text = f"{columns} in the table {claim['table']}"
        if comparison == "slope":
            return text
        return f"deviation of {text}" if comparison == "exact" else f"difference in {text}"
    quantity = next(iter(selection.declared(claim["quantity"]).values()))
    measure = claim.get("measure", "ndcg@10")
    name = measure.removeprefix(OWN)
    of = ", ".join(["own ranking"] * (name != measure) + ["last rounds"] * ("last" in claim))
    title = (title_of(name) if recordable(name) else name.upper()) + (f" ({of})" if of else "")
    text = quantity.words.replace("time-averaged measure", title)
    compared = "other" in claim or isinstance(against, dict)
    return f"difference in {text}" if compared and not quantity.compared else text
