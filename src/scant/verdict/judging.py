"""The verdict on a claim from what was measured: on each of its cells, on all together, and on
entries of a table.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from scant.errors import SettingError, check_name, unknown
from scant.verdict import selection
from scant.verdict import statistics as verdicts
from scant.verdict.anytime import LEAST_SEEDS
from scant.verdict.examined import Cell, Reading
from scant.verdict.selection import all_fit, fits, in_words
from scant.verdict.words import SILENT


def judged(
    claim: dict, cells: list[Cell]
) -> tuple[list[verdicts.Verdict], verdicts.Verdict, verdicts.Verdict | None]:
    """The verdict on each cell, on all of them together, and, if they are several, on their mean.

    If the claim compares the quantity with a number, estimates are of the quantity itself.
    """
    seeds = sorted(set().union(*(cell.differences.index for cell in cells)))
    single = [_verdict(claim, [cell], seeds) for cell in cells]
    pairs = zip(cells, single, strict=True)
    speaking = [cell for cell, one in pairs if one.verdict != SILENT] or cells
    by_chance = claim["comparison"] != "exact" and not any(cell.exact for cell in speaking)
    of_mean, mean = claim.get("over") == "mean", None
    if of_mean or (by_chance and len(speaking) > 1):
        mean = _verdict(claim, speaking, seeds)
    together, number = mean if of_mean else verdicts.together(single), compared_with(claim)

    def shifted(verdict):
        names = ("estimate", "low", "high", "worst")
        return replace(verdict, **{name: getattr(verdict, name) + number for name in names})

    return [*map(shifted, single)], shifted(together), mean and shifted(mean)


def _verdict(claim: dict, cells: list[Cell], seeds: list) -> verdicts.Verdict:
    """The verdict on a cell, or on the mean over several cells in each seed that all of them have.

    Cells that could not violate their claim say nothing, unless they do, which shows that a ceiling
    is wrong.
    """
    differences = sum(cell.differences.reindex(seeds) for cell in cells) / len(cells)
    first, drawn = cells[0], any(cell.drawn for cell in cells)
    if claim["comparison"] == "exact":
        verdict = _exactly(claim, differences.dropna())
    elif all(cell.exact for cell in cells):
        verdict = verdicts.certain(differences, _claimed(claim, cells, seeds))
    else:
        interval, values = _claimed(claim, cells, seeds), differences
        if not drawn:  # all seeds are one observation
            values = values.where(values.index == values.first_valid_index())
        if drawn and all(map(_equal, cells)):
            alike = verdicts.certain(values, interval)
            verdict = replace(alike, test=verdicts.EQUAL, missed=1.0)  # other seeds may differ
        else:
            verdict = verdicts.judge(values, interval, first.within, first.share)
            verdict = verdict if drawn else replace(verdict, test="nothing drawn")
    return _silenced(verdict, all(map(_says_nothing, cells)))


def _claimed(claim: dict, cells: list[Cell], seeds: list) -> verdicts.Claimed:
    """The interval in which a claim says that the mean over some cells lies, see `_interval`."""
    of = [cell.of.reindex(seeds).abs() for cell in cells if cell.of is not None]
    return _interval(claim, sum(of) / len(of) if of else None)


def _interval(claim: dict, of) -> verdicts.Claimed:
    """The interval in which a claim says that a mean lies; `of` is what a relative margin is a
    share of.
    """
    margin, comparison = claim.get("margin", 0.0), claim["comparison"]
    bound = claim["against"] if comparison == "slope" else math.nan
    if not isinstance(margin, dict):
        return verdicts.claimed(comparison, margin, bound=bound)
    sizes = np.maximum(np.abs(of), np.finfo(float).tiny)  # a regret may be below 0
    return verdicts.claimed(comparison, margin["relative"], sizes, bound)


def _exactly(claim: dict, values: pd.Series) -> verdicts.Verdict:
    """The verdict on what involves no chance: whether shares of bounds are in range, or numbers are
    equal.
    """
    tolerance, most = claim.get("margin", 0.0), allowed(claim["quantity"])
    if most is None:
        return verdicts.exact(values, 0.0, tolerance)
    at_most = verdicts.claimed("slope", tolerance, bound=most)
    return replace(verdicts.certain([values.max()], at_most), n=len(values))


def _equal(cell: Cell) -> bool:
    """Whether two learners came to the same with every seed, and seeds are enough for a test."""
    values = cell.differences.dropna()
    return bool(cell.against and len(values) >= LEAST_SEEDS and not values.any())


def _silenced(verdict: verdicts.Verdict, silent: bool) -> verdicts.Verdict:
    """The verdict on a cell that cannot violate its claim, unless it does, which shows that its
    ceiling is wrong.
    """
    if not silent or verdict.verdict == "fails":
        return verdict
    return replace(verdict, verdict=SILENT, p_holds=1.0, p_fails=1.0, sides=())


def compared_with(claim: dict) -> float:
    """The number that a claim compares its quantity with; 0 if there is none. A cell's
    `differences` are less this number already.
    """
    against = claim.get("against")
    if not isinstance(against, int | float) or claim["comparison"] in ("slope", "exact"):
        return 0.0
    return float(against)


def claimed_interval(cell: Cell) -> tuple[float, float]:
    """The interval, low and high, in which a claim says that a cell's estimate lies."""
    low, high = _ends(cell)
    return low + compared_with(cell.claim), high + compared_with(cell.claim)


def _ends(cell: Cell) -> tuple[float, float]:
    """The interval in which a claim says that a cell's difference lies; a relative margin is taken
    at its mean.
    """
    claim = cell.claim
    if claim["comparison"] == "exact":
        most, margin = allowed(claim["quantity"]), claim.get("margin", 0.0)
        return (-margin, margin) if most is None else (-math.inf, most + margin)
    low, high, _ = _claimed(claim, [cell], cell.differences.index)
    return float(np.nanmean(low)), float(np.nanmean(high))


def _says_nothing(cell: Cell) -> bool:
    """Whether a cell cannot violate its claim: even the most that could have been measured is as it
    says.
    """
    low, high = _ends(cell)
    return low <= cell.ceiling <= high


def allowed(quantity: str) -> float | None:
    """The limit that every value of a quantity has to keep (`Quantity.most`); None without one."""
    by_kind = selection.declared(quantity)
    return next((declared.most for declared in by_kind.values()), None)


def deciding(reading: Reading, outcome: str) -> int | None:
    """The index of the cell that decides that a reading's claim comes to `outcome`; None if no
    single cell does.

    A claim that fails is decided by the cell with the smallest `p_fails`; one that holds, or is
    undecided, by the cell with the largest `p_holds`. Ties go to the cell whose estimate is closest
    to violating the claim, or violates it most. If all cells are silent, ceilings take the place of
    estimates.
    """
    if not reading.cells or any(cell.claim.get("over") == "mean" for cell in reading.cells):
        return None
    speaking = [
        number for number, verdict in enumerate(reading.single) if verdict.verdict != SILENT
    ]

    def by_p_value_then_room(number: int) -> tuple[float, float]:
        cell, verdict = reading.cells[number], reading.single[number]
        value = verdict.estimate if speaking else cell.ceiling + compared_with(cell.claim)
        low, high = claimed_interval(cell)
        # to the nearest end; below 0 where the claim is violated
        room = min(value - low, high - value)
        if outcome == "fails":
            return verdict.p_fails, room
        return -verdict.p_holds, room  # the largest first

    return min(speaking or range(len(reading.single)), key=by_p_value_then_room)


def of_table(claim: dict, table: pd.DataFrame) -> verdicts.Verdict:
    """The verdict on a claim about entries of a table: its `column` in the rows that its `cell`
    selects.
    """
    against, margin = claim.get("against"), claim.get("margin", 0.0)
    columns, of_rows = list(np.atleast_1d(claim["column"])), isinstance(against, dict)
    for key in (*claim["cell"], *(against if of_rows else ()), *columns):
        check_name(f"column of the table {claim['table']}", key, table.columns)
    values = _entries(claim, table, claim["cell"], columns)
    if "expected" in claim:
        expected = np.array(claim["expected"], object)
        expected = expected[:, None] if expected.ndim and len(columns) == 1 else expected
        if expected.ndim and expected.shape[-expected.ndim :] != values.shape[-expected.ndim :]:
            raise SettingError(
                f"expected has not one value for each of {values.shape} rows and columns"
            )
        pairs = zip(values.ravel(), np.broadcast_to(expected, values.shape).ravel(), strict=True)
        return verdicts.exact([_deviation(*pair) for pair in pairs], 0.0, margin)
    values = values.astype(float)
    if claim["comparison"] == "slope":  # the largest entry, at most `against`
        verdict = verdicts.certain([values.max()], _interval(claim, None))
        most = math.inf
        if "ceiling" in table:
            most = _entries(claim, table, claim["cell"], ["ceiling"]).max()
        return _silenced(replace(verdict, n=values.size), most <= against + margin)
    other = np.full(values.shape, against)
    if of_rows:
        other = _entries(claim, table, claim["cell"] | against, columns)
    if other.shape != values.shape:
        raise SettingError(
            f"{len(values)} rows of the table {claim['table']} and {len(other)} to compare with"
        )
    other = other.astype(float).ravel()
    differences = values.ravel() - other
    if claim["comparison"] == "exact":
        return verdicts.exact(differences, 0.0, margin)
    weakest = int(_interval(claim, other).distances(differences).min(axis=0).argmin())
    verdict = verdicts.certain([differences[weakest]], _interval(claim, other[weakest]))
    return replace(verdict, n=len(differences))


def _entries(claim: dict, table: pd.DataFrame, wanted: dict, columns: list[str]) -> np.ndarray:
    """(rows, columns) the entries of the rows of a claim's table that have the wanted values."""
    for key, options in wanted.items():
        values = table[key].unique()
        for option in options if isinstance(options, list) else ():
            if not any(fits(value, [option]) for value in values):
                raise unknown(f"{key} in the table {claim['table']}", option, values)
    rows = table[[all_fit(row, wanted, "") for row in table.to_dict("records")]]
    if rows.empty:
        raise SettingError(f"the table {claim['table']} has no row with {in_words(wanted)}")
    return rows[columns].to_numpy(object)


def _deviation(value, expected) -> float:
    """An entry of a table minus the number that is expected; for words, 1 if they differ and 0 if
    not.

    Any entry that ends in "agrees" is as expected if that word is: tables say so where they agree
    with the thesis.
    """
    if expected == "agrees":
        return float(not str(value).endswith("agrees"))
    if isinstance(expected, str):
        return float(str(value) != expected)
    return float(value) - float(expected)
