"""The tables of claims: one with a row for each claim, one with a row for every estimate behind them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from scant.files import BLANK, SEAL, anew, atomic, check_seal, crc, foreign, seal, write_csv, write_parquet
from scant.learning import families
from scant.measures import recordable, title_of
from scant.present.tables import read as read_table
from scant.present.tables import write as write_table
from scant.study.grouping import parts
from scant.verdict import selection
from scant.verdict import statistics as verdicts
from scant.verdict.anytime import LEAST_SEEDS
from scant.verdict.claims import OWN, TABLE, pair
from scant.verdict.examined import Cell, Examined, Reading
from scant.verdict.judging import allowed, claimed_interval, compared_with, deciding
from scant.verdict.readings import CELL_COLUMNS, COLUMNS, OVERALL, titled
from scant.verdict.words import ALIKE, DECIDED, PREMISES, SILENT, UNTESTABLE, UNTOLD, needed


def read_theory(paths) -> dict[str, pd.DataFrame]:
    """The tables in some CSV files, by name.

    Raises
    ------
    DataError : a file is damaged
    """
    return {path.stem: read_table(path) for path in map(Path, paths)}


def claim_rows(examined: Mapping[str, Examined], study: dict) -> list[dict]:
    """One row for each claim. Verdicts are with Holm's correction within the claim's family, all of which is examined.

    Its columns, `COLUMNS`, are among others:

    verdict : under the claim's first reading, one of `scant.verdict.words.VERDICTS`
    estimate, low, high, n, test : of the cell that decides, with its interval, under the first reading; of exact claims
        about tables, the deviation
    deciding : the cell that decides, in words: the learners and the stream; "" for claims about tables
    note : what a reader needs to know of the verdict: why it is undecided, local slopes, rates at the edge of a grid
    needed : from how many seeds on they would decide an undecided claim, with power 0.8
    readings_holding, readings_total : under how many readings the claim would hold if they were the first, of how many
        that say something
    matters, matters_share : the reading that the estimate depends on most, and its share of the estimate's variance
        over readings with the same streams and learners
    data : the streams of the first reading; for a claim that is not testable, what it needs and what is missing
    experiment : of the first reading
    row : its kind, one of `scant.verdict.words.ROWS`
    words, chosen : a quotation by which the statement is found in its source; what was chosen where that leaves room
    quantity : what the estimate is of, in words, with its unit
    cells_holding, cells_failing, cells_silent, cells_total : in how many cells of the first reading the claim holds,
        fails and says nothing, each cell by itself, of how many; 0 for claims about tables
    says_from : the least horizon or sample size from which on a cell that says nothing would say something
    tightness : of a claim about a bound, the share of the bound that was measured in the cell that decides; of a lower
        bound, its share of what was measured: 1 is a bound that is attained, more than 1 one that does not hold
    control, control_verdict, control_estimate, control_low, control_high : where the claim is false, in words, with the
        verdict on it by the same test, in the claim's place in its family, and the estimate of the cell that decides
    refuted_by : in words, the least violation that would have been seen in that cell, with an interval as wide; ""
        where no chance is involved
    premise : of a verdict that rests on one, what its test supposes of seeds; "" of others
    bets, bets_needed : where a test has a premise and the range of the quantity is known, what bets, which have none,
        say of the same seeds, and from how many seeds on they would decide what they leave undecided
    """
    first = {name: examination.readings[0].verdict for name, examination in examined.items() if examination.readings}
    families = {}
    for name, verdict in first.items():
        families.setdefault(examined[name].claim["family"], {})[name] = verdict
    rows = []
    for name, examination in examined.items():
        claim, readings, family = examination.claim, examination.readings, examination.claim["family"]
        row = _untested(name, claim)
        if not readings:
            row["data"] = "; ".join(filter(None, [claim.get("data"), f"missing here: {examination.missing}"]))
            rows.append(row)
            continue
        by_reading = [_corrected(name, reading, families[family]) for reading in readings]
        verdict, shares, matters = by_reading[0], verdicts.shares(dict(enumerate(by_reading))), _matters(readings)
        cell, decides = _deciding(readings[0], verdict)
        part = cell.claim if cell else parts(claim)[0]
        if not readings[0].own:
            row["row"] = UNTOLD
        row |= {key: getattr(verdict, key) for key in ("verdict", "needed")} | _estimate(decides)
        row |= {key: shares[key] for key in ("readings_holding", "readings_total")}
        row |= dict(zip(("matters", "matters_share"), next(iter(matters.items()), ("", np.nan)), strict=True))
        row |= {"data": _where(readings[0], study, part), "experiment": readings[0].experiment}
        row |= _cells(readings[0]) | {"tightness": _tightness(part, decides), "quantity": _quantity_words(part)}
        row["refuted_by"] = _refuted_by(readings[0], cell, decides)
        row["premise"] = _premise(readings[0], verdict, decides)
        if verdict.bets:
            row |= {"bets": verdict.bets.verdict, "bets_needed": verdict.bets.needed}
        row |= {"deciding": _named(readings[0], cell, study), "says_from": _says_from(readings[0])}
        ceiling = cell.ceiling + compared_with(part) if cell else None
        row |= {"note": _note(part, readings[0], verdict, decides, ceiling)}
        if examination.missing:
            row["note"] = " ".join(filter(None, [row["note"], f"In part missing here: {examination.missing}."]))
        if examination.control:
            of_control = _corrected(name, examination.control, families[family])
            _, decides = _deciding(examination.control, of_control)
            row |= {f"control_{key}": getattr(decides, key) for key in ("estimate", "low", "high")}
            row["control_verdict"] = of_control.verdict
            if verdict.verdict == of_control.verdict == "holds":
                row["verdict"] = ALIKE
        elif examination.control_missing:
            row["control"] += f" (missing here: {examination.control_missing})"
        rows.append(row)
    return rows


def _untested(name: str, claim: dict) -> dict:
    """The row of a claim that is not testable, with what is known of any claim before it is tested."""
    row = {"id": name, "source": _source(claim), "statement": claim["statement"], "verdict": UNTESTABLE}
    row |= {"family": claim["family"], "figure": claim.get("figure") or "", "n": 0, "experiment": "", "matters": ""}
    row |= dict.fromkeys(("readings_holding", "readings_total"), 0) | _cells(Reading("", None, {}, [], [], None))
    row |= {"row": claim.get("row", UNTOLD), "words": _words(claim), "chosen": claim.get("chosen", "")}
    row |= {"quantity": _quantity_words(parts(claim)[0]), "refuted_by": ""}
    row |= dict.fromkeys(("test", "deciding", "note", "control_verdict"), "")
    controls = (part["control"]["words"] for part in parts(claim) if "control" in part)
    return row | {"control": "; ".join(dict.fromkeys(controls)), "premise": "", "bets": ""}


def _corrected(name: str, reading: Reading, family: Mapping[str, verdicts.Verdict]) -> verdicts.Verdict:
    """The verdict under a reading, corrected for the claim's family, in which it takes the place of the first."""
    return verdicts.holm({"": {**family, name: reading.verdict}})[""][name]


def save(examined: Mapping[str, Examined], study: dict, order: Sequence[str], path) -> None:
    """Write the rows of some claims as JSON, for `gathered`, and seal the file.

    order : the ids of all claims of the study
    """
    cells = {name: cell_rows({name: examination}) for name, examination in examined.items()}
    rows = [[order.index(row["id"]), row, cells[row["id"]]] for row in claim_rows(examined, study)]
    with atomic(path) as temporary:
        temporary.write_text(json.dumps({"rows": rows, SEAL: BLANK}, default=lambda value: value.item()) + "\n")
        seal(temporary)


def gathered(paths) -> tuple[list[dict], list[dict]]:
    """The `claim_rows` and the `cell_rows` of all claims of a study, from the files that `save` wrote.

    Raises
    ------
    DataError : a file is damaged
    """
    rows = []
    for path in map(Path, paths):
        with foreign(path, "whole file of judged claims", anew(path)):
            check_seal(path)
            rows += json.loads(path.read_text())["rows"]
    rows.sort(key=itemgetter(0))
    return [claim for _, claim, _ in rows], [cell for _, _, cells in rows for cell in cells]


def write(claim_rows: list[dict], cell_rows: list[dict], study: str, stem) -> None:
    """Write `claim_rows` as `stem`.csv, .tex and .parquet, and `cell_rows` as `stem`-readings.csv.

    The metadata of the parquet file have the CRC-32 of the readings, see `scant.verdict.readings.read`.
    """
    claims, stem = pd.DataFrame(claim_rows, columns=COLUMNS), Path(stem)
    write_table(claims, stem)
    path = stem.with_name(f"{stem.name}-readings.csv")
    write_csv(cells_frame(cell_rows), path)
    metadata = {"study": study, "readings": crc(path)}
    write_parquet(pa.Table.from_pandas(claims, preserve_index=False), f"{stem}.parquet", metadata)


def _source(claim: dict) -> str:
    """The document that a claim is from, and the place in it."""
    source = claim["source"]
    return f"{source.get('document') or source['title']}, {source['place']}"


def _words(claim: dict) -> str:
    """The words of the document by which the claim is found there; "" if it quotes none."""
    return claim["source"].get("words", "")


def _cells(reading: Reading) -> dict[str, int]:
    """In how many cells of a reading its claim holds, fails and says nothing, each cell by itself, of how many."""
    outcomes = [verdict.verdict for verdict in reading.single]
    counted = {"holding": "holds", "failing": "fails", "silent": SILENT}
    counts = {f"cells_{name}": outcomes.count(outcome) for name, outcome in counted.items()}
    return counts | {"cells_total": len(outcomes)}


def _deciding(reading: Reading, verdict: verdicts.Verdict) -> tuple[Cell | None, verdicts.Verdict]:
    """The cell of a reading that decides on its corrected verdict, with the verdict on it; that on all without one."""
    number = deciding(reading, verdict.verdict)
    return (None, reading.verdict) if number is None else (reading.cells[number], reading.single[number])


def _estimate(verdict: verdicts.Verdict) -> dict:
    return {key: getattr(verdict, key) for key in ("estimate", "low", "high", "n", "test")}


def _refuted_by(reading: Reading, cell: Cell | None, decides: verdicts.Verdict) -> str:
    """The least violation of a claim that would have refuted it, in words: "a mean below 2".

    A mean refutes if an interval around it, as wide as the one measured, is outside what is claimed. Where seeds that
    are missing could overturn a verdict by t, the mean has to be so far outside that they cannot. "" where no chance
    is involved, where so few seeds give no interval, or where no mean that is possible is far enough.
    """
    if decides.test in ("exact", "none", "nothing drawn") or math.isnan(decides.low + decides.high):
        return ""
    low, high = np.mean([claimed_interval(one) for one in ([cell] if cell else reading.cells)], axis=0).tolist()
    known = (cell or reading.cells[0]).within
    least, most = np.add(known or (-math.inf, math.inf), compared_with((cell or reading.cells[0]).claim)).tolist()
    # The interval around such a mean ends where what is claimed begins.
    below, above = low - (decides.high - decides.estimate), high + (decides.estimate - decides.low)
    if known and decides.test in PREMISES:
        missed = (1 - decides.level) ** (-1 / decides.n) - 1  # the odds of a seed that n seeds may well have missed
        # Seeds at the far end of the range, with these odds, would not bring the mean back to what is claimed.
        below, above = min(below, low - missed * (most - low)), max(above, high + missed * (high - least))
    ends = [f"below {below:.3g}"] if math.isfinite(low) and below > least else []
    ends += [f"above {above:.3g}"] if math.isfinite(high) and above < most else []
    return f"a mean {' or '.join(ends)}" if ends else ""


def _premise(reading: Reading, verdict: verdicts.Verdict, decides: verdicts.Verdict) -> str:
    """What the tests of a verdict suppose of seeds; "" if nothing is decided, or if they suppose nothing."""
    tests = [decides.test] if verdict.verdict in DECIDED else []
    if verdict.verdict == "holds":  # in every cell
        tests += [single.test for single in reading.single if single.verdict != SILENT]
    return next((PREMISES[test] for test in tests if test in PREMISES), "")


def _named(reading: Reading, cell: Cell | None, study: dict) -> str:
    """A cell in words: "SLAM minus ListNet on digits"; the mean of all if no single one decides, "" for tables."""
    if cell is None:
        return OVERALL if reading.cells else ""
    titles = {name: settings.get("title", name) for name, settings in study["learners"].items()}
    if not cell.learner:  # rows of a table
        return cell.stream
    if cell.experiment:
        place = study[families.of(study["experiments"][cell.experiment]).place.key]
        titles |= {name: settings.get("title", name) for name, settings in place.items()}
    learner, against, stream = (titled(name, titles) for name in (cell.learner, cell.against, cell.stream))
    return (f"{learner} minus {against}" if against else learner) + f" on {stream}"


def _says_from(reading: Reading) -> float:
    """The least horizon or sample size from which on a cell that says nothing would; NaN if none is known."""
    horizons = [
        cell.says_from
        for cell, verdict in zip(reading.cells, reading.single, strict=True)
        if verdict.verdict == SILENT and not math.isnan(cell.says_from)
    ]
    return min(horizons, default=math.nan)


def _note(
    claim: dict, reading: Reading, verdict: verdicts.Verdict, decides: verdicts.Verdict, ceiling: float | None
) -> str:
    """What a reader needs to know of a claim's verdict.

    Why it is undecided; of a slope, whether it is only the margin that makes it hold, and how it changes on the way;
    which rates are at the edge of their grid.

    decides : the verdict on the cell that decides
    ceiling : the worst that could have been measured there; None if that is not known
    """
    notes = []
    if verdict.verdict == "undecided":
        notes.append(_undecided(reading, verdict, decides))
    if verdict.verdict == SILENT and ceiling is not None:
        notes.append(f"even {ceiling:.3g}, the worst that could have been measured, is as claimed")
    of_slope = claim["comparison"] == "slope" and claim["quantity"] != TABLE
    if of_slope and verdict.verdict == "holds" and decides.low > claim["against"]:
        notes.append(f"within {claim['margin']:g} of {claim['against']:g}, above it")
    if local := [f"{cell.learner} on {cell.stream} {cell.local}" for cell in reading.cells if cell.local]:
        notes.append(f"local slopes, by power of ten: {'; '.join(local)}")
    if edges := list(dict.fromkeys(cell.edge for cell in reading.cells if cell.edge)):
        notes.append(f"rates at the edge of their grid: {'; '.join(edges)}")
    return ". ".join(note[:1].upper() + note[1:] for note in notes)


def _undecided(reading: Reading, verdict: verdicts.Verdict, decides: verdicts.Verdict) -> str:
    """Why a claim is undecided."""
    if reading.verdict.verdict != "undecided":
        alone = {"holds": "hold", "fails": "fail"}[reading.verdict.verdict]
        return f"by itself it would {alone}; the correction for its family of claims leaves it undecided"
    if decides.test == "nothing drawn":
        return "all seeds are one observation, since they draw nothing anew"
    if math.isnan(decides.low):
        if decides.n < LEAST_SEEDS:
            return f"{decides.n} seed{'s allow' if decides.n > 1 else ' allows'} no test"
        return f"{decides.n} seeds with so few different values allow no test"
    if not math.isnan(decides.overturned):
        return (
            f"by what {decides.n} seeds have it would be decided, but they may have missed what overturns it: one seed "
            f"in {1 / decides.overturned:.3g} at the far end of the range; {needed(verdict.needed)} would decide it"
        )
    counts = _cells(reading)
    several = f"it holds in {counts['cells_holding']} of {counts['cells_total']} cells and fails in none; here "
    text = several if counts["cells_total"] > 1 and not counts["cells_failing"] else ""
    return f"{text}the interval has values on both sides of what is claimed" + (
        ", and no number of seeds is known to be enough"
        if math.isinf(verdict.needed)
        else f"; {needed(verdict.needed)} would decide it"
    )


def _tightness(claim: dict, decides: verdicts.Verdict) -> float:
    """What was measured as a share of its bound, in the cell that decides; NaN if the claim is about no bound.

    Of a lower bound it is the bound as a share of what was measured. A claim is about a bound if its quantity involves
    no chance and has a most that it may be, or if it is a theorem check that holds a share against 1.
    """
    most, against = allowed(claim["quantity"]), claim.get("against")
    of_share = claim["quantity"].endswith("_share") or claim.get("column") == "share"
    of_bound = most is not None or (of_share and against == 1 and claim.get("row") == "theorem")
    if decides.verdict == SILENT or not of_bound:
        return math.nan
    share = decides.estimate
    if claim["quantity"] == TABLE and claim["comparison"] != "slope":  # the estimate is a difference
        share += against
    if claim["comparison"] != "greater":
        return share
    return 1 / share if share > 0 else math.inf


def _where(reading: Reading, study: dict, claim: dict) -> str:
    """The titles of the streams that a reading is about; the table's name if it is about a table."""
    if not reading.cells:
        return claim["table"]

    def title(cell: Cell) -> str:
        if cell.claim["quantity"] == TABLE:
            return cell.claim["table"]
        if not cell.experiment:  # it is about kinds of logs in the study of bounds
            return cell.stream
        place = study[families.of(study["experiments"][cell.experiment]).place.key]
        return place.get(cell.stream, {}).get("title", cell.stream)

    return "; ".join(dict.fromkeys(map(title, reading.cells)))  # titles may have commas


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


def cells_frame(rows: list[dict]) -> pd.DataFrame:
    """The frame of `cell_rows`."""
    return pd.DataFrame(rows, columns=None if rows else CELL_COLUMNS)


def cell_rows(examined: Mapping[str, Examined]) -> list[dict]:
    """One row for each claim, reading, stream and pair of learners, and for rows of tables that are parts of a claim.

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
            kind = claim.get("row", UNTOLD) if reading.own else UNTOLD
            levels = {key: str(value) for key, value in reading.levels.items() if key != "tuning"}
            levels = {f"{key} (setting)" if key in CELL_COLUMNS else key: value for key, value in levels.items()}
            judged = [
                (cell, verdict, claimed_interval(cell))
                for cell, verdict in zip(reading.cells, reading.single, strict=True)
            ]
            if reading.summary and len({cell.stream for cell in reading.cells}) > 1:
                ends = tuple(np.mean([ends for _, _, ends in judged], axis=0).tolist())
                judged.append(
                    (replace(reading.cells[0], stream=OVERALL, learner="", against=""), reading.summary, ends)
                )
            rows += [
                {"claim": name, "statement": claim["statement"], "family": claim["family"], "row": kind}
                | {"quantity": _quantity_words(cell.claim), "experiment": cell.experiment, "tuning": cell.tuning}
                | {"first": reading is readings[0], "stream": cell.stream}
                | {"learner": cell.learner, "against": cell.against}
                | {key: getattr(verdict, key) for key in ("estimate", "low", "high", "n", "verdict", "test")}
                | dict(zip(("from", "to"), ends, strict=True))
                | levels
                for cell, verdict, ends in judged
            ]
    return rows


def _quantity_words(claim: dict) -> str:
    """The quantity that a claim's estimate is of, in words, with its unit."""
    against, exact = claim.get("against"), claim["comparison"] == "exact"
    if claim["quantity"] == TABLE:
        columns = ", ".join(np.atleast_1d(claim["column"]))
        words = f"{columns} in the table {claim['table']}"
        if claim["comparison"] == "slope":
            return words
        return f"deviation of {words}" if exact or "expected" in claim else f"difference in {words}"
    quantity = next(iter(selection.declared(claim["quantity"]).values()))
    measure = claim.get("measure", "ndcg@10")
    name = measure.removeprefix(OWN)
    of = ", ".join(["own ranking"] * (name != measure) + ["last rounds"] * ("last" in claim))
    title = (title_of(name) if recordable(name) else name.upper()) + (f" ({of})" if of else "")
    words = quantity.words.replace("time-averaged measure", title)
    compared = "other" in claim or isinstance(against, dict)
    return f"difference in {words}" if compared and not quantity.compared else words
