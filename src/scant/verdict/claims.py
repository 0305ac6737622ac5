"""The claims of the papers, each with its verdict in a study, and with what its readings say.

config/claims.yaml says what is claimed: of which quantity, of which learners, on what data, under which settings.
Every experiment of a study that fits is a reading of the claim, once for each way of choosing rates that its runs
allow. The verdict is that of the first: the first such experiment of the study, with rates chosen as it says.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from scant.ads.run import WITHOUT_LAMBDA
from scant.errors import DataError, SettingError, unknown
from scant.files import atomic, write_parquet
from scant.games import atlas
from scant.online import variance
from scant.present import catalogue, tables
from scant.present.catalogue import all_fit, chosen, fits
from scant.study.settings import CONTEXTUAL, PLACES, READINGS
from scant.study.sweeps import OF_LEARNERS, OF_STREAMS, level_of, unheeded
from scant.verdict import statistics as verdicts
from scant.verdict.quantities import QUANTITIES, SHARES, Played

UNTESTABLE = "not testable here"
COLUMNS = [
    *("id", "source", "statement", "verdict", "estimate", "low", "high", "n", "readings_holding", "readings_total"),
    *("data", "needed", "matters", "matters_share", "family", "figure", "experiment"),
]
OF_CELLS = ["claim", "family", "quantity", "experiment", "tuning", "first", "stream", "learner", "against"]
NUMBERS = ["estimate", "low", "high", "n", "from", "to"]
TABLE = "table"  # the quantity of claims about tables that need no run
TABLES = {
    "table-3.1": atlas.table_3_1,
    "table-3.2": atlas.table_3_2,
    "table-b.1": atlas.table_b_1,
    "observability": atlas.atlas_table,
}


@dataclass(frozen=True)
class Cell:
    """One pair of learners on one stream: the differences over seeds, signed as the claim says.

    of : what a relative margin is a share of, by seed
    exact : chance has no part in it
    """

    stream: str
    learner: str
    against: str
    differences: pd.Series
    of: pd.Series | None = None
    exact: bool = False


@dataclass(frozen=True)
class Reading:
    """A claim under one reading.

    levels : what the experiment says of each reading that the learners heed
    single : the verdict on each cell by itself, which no family corrects
    """

    experiment: str
    tuning: str | None
    levels: dict
    cells: list[Cell]
    single: list[verdicts.Verdict]
    verdict: verdicts.Verdict


@dataclass(frozen=True)
class Examined:
    """A claim, its readings in a study, and what is missing in the study where there are none."""

    claim: dict
    readings: list[Reading] = field(default_factory=list)
    missing: str = ""


def examine(
    claims: Mapping[str, dict],
    study: dict,
    traces_by_experiment: Mapping[str, tuple[pd.DataFrame, dict]],
    comparators: pd.DataFrame | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
    level: float = 0.95,
) -> dict[str, Examined]:
    """Each claim's readings in a study, with the verdict under each, not yet corrected for the family.

    claims : of `scant.study.settings.claims`
    study : complete settings, as `scant.study.settings.load` gives them
    traces_by_experiment : for each experiment played, its traces and details, as `scant.present.traces.read` gives them
    comparators : the best fixed weights, of `scant.present.traces.read_comparators`; regret needs them
    tables : tables that need no run, by their names; those that are not given are computed

    Raises
    ------
    SettingError : a claim asks for what cannot be judged; names it
    """
    examiner = _Examiner(study, traces_by_experiment, comparators, dict(tables or {}), level)
    found = {}
    for name, claim in claims.items():
        try:
            found[name] = examiner(claim)
        except SettingError as error:
            raise SettingError(f"claim {name}: {error}") from None
    return found


class _Examiner:
    """Finds the readings of claims in one study. Quantities that several claims are of are worked out once."""

    def __init__(self, study, traces_by_experiment, comparators, tables, level):
        self.study, self.played, self.comparators = study, traces_by_experiment, comparators
        self.tables, self.level = tables, level
        self.values = cache(self._values)

    def __call__(self, claim: dict) -> Examined:
        if "not_testable" in claim:
            return Examined(claim, missing=claim["not_testable"])
        if claim["quantity"] == TABLE:
            return self._table(claim)
        readings, best = [], (0, "")
        for name, experiment in self.study["experiments"].items():
            *reached, fitting = self._fitting(claim, name, experiment)
            if fitting is None:
                best = max(best, tuple(reached), key=lambda one: one[0])
                continue
            for tuning in self._tunings(claim, name, fitting):
                cells = list(self._cells(claim, name, tuning, *fitting))
                if cells:
                    reading = self._reading(claim, name, tuning, fitting, cells)
                    if not any(_repeats(reading, one) for one in readings):
                        readings.append(reading)
                else:
                    best = max(best, (5, f"no {claim['quantity']} is known there"), key=lambda one: one[0])
        return Examined(claim, readings, "" if readings else best[1])

    def _fitting(self, claim: dict, name: str, experiment: dict) -> tuple:
        """How far an experiment fits a claim, what it lacks, and what of it fits: streams, learners and the others."""
        kinds, where = QUANTITIES[claim["quantity"]].kinds, claim.get("where") or {}
        if experiment["kind"] not in kinds or not fits(experiment["kind"], where.get("kind", experiment["kind"])):
            return 1, f"no experiment with {_said({'kind': where.get('kind', list(kinds))})}", None
        if name not in self.played or not all_fit(experiment, where, name):
            return 2, f"no experiment with {_said(where)}", None
        place = PLACES[experiment["kind"]]
        streams = self._those(place, experiment, claim.get("on") or {})
        if not streams:
            return 3, f"none of the {place} with {_said(claim.get('on') or {})}", None
        learners = self._those("learners", experiment, claim["learner"])
        if not learners:
            return 4, f"no learner with {_said(claim['learner'])}", None
        if not ("other" in claim or isinstance(claim.get("against"), dict)):
            return 6, "", (streams, learners, None)
        elsewhere = self._elsewhere(claim, name, experiment)
        if elsewhere is None:
            return 5, f"no experiment with {_said(claim['other'])} to compare with", None
        if not isinstance(claim.get("against"), dict):
            return 6, "", (streams, learners, (elsewhere, None))
        others = self._those("learners", self.study["experiments"][elsewhere], claim["against"])
        if not others:
            return 5, f"no learner with {_said(claim['against'])} to compare with", None
        return 6, "", (streams, learners, (elsewhere, others))

    def _those(self, key: str, experiment: dict, wanted: dict) -> tuple[str, ...]:
        return tuple(one for one in experiment[key] if chosen(self.study, key, one, wanted))

    def _elsewhere(self, claim: dict, name: str, experiment: dict) -> str | None:
        """The experiment to compare with: this one, or the first that has the settings `other` and else this one's."""
        if "other" not in claim:
            return name
        kind, named = experiment["kind"], {*claim["where"], *claim["other"]}
        same = {key: experiment[key] for key in READINGS[kind] if key not in named}
        keys = [PLACES[kind], *([] if isinstance(claim.get("against"), dict) else ["learners"])]
        for one, settings in self.study["experiments"].items():
            alike = settings["kind"] == kind and all(settings[key] == value for key, value in same.items())
            shared = alike and all({*settings[key]} & {*experiment[key]} for key in keys)
            if shared and one in self.played and all_fit(settings, claim["other"], one):
                return one
        return None

    def _tunings(self, claim: dict, name: str, fitting: tuple) -> list[str | None]:
        """The ways of choosing rates that the runs allow, the experiment's own first."""
        frame, details = self.played[name]
        if not QUANTITIES[claim["quantity"]].tuned:
            return [None]
        own = details["tuning"]
        _, learners, others = fitting
        involved = {*learners, *((others and others[1]) or ())}
        if details["kind"] == "ads":
            kinds = {self.study["learners"][one]["kind"] for one in involved}
            return [own] if own == "paper" or kinds <= {*WITHOUT_LAMBDA} else [own, "paper"]
        chosen = frame["tuning_seed"] & frame["learner"].isin(involved)
        return [own, "paper" if own == "held-out" else "held-out"] if chosen.any() else [own]

    def _values(self, quantity: str, name: str, tuning: str | None, streams: tuple, options: tuple) -> pd.DataFrame:
        frame, details = self.played[name]
        played = Played(name, tuning, frame[frame["stream"].isin(streams)], details, self.comparators)
        if not len(played.traces):
            return pd.DataFrame(columns=["stream", "learner", "seed", "value"])
        return QUANTITIES[quantity].values(played, **dict(options))

    def _cells(self, claim, name, tuning, streams, learners, others) -> Iterator[Cell]:
        quantity, shown = claim["quantity"], claim.get("epsilon")
        options = tuple((key, claim[key]) for key in QUANTITIES[quantity].options if key in claim)
        values = self.values(quantity, name, tuning, streams, options)
        elsewhere, named = others or (name, None)
        there = values if elsewhere == name else self.values(quantity, elsewhere, tuning, streams, options)
        for stream, learner in product(dict.fromkeys(values["stream"]), learners):
            exact = self.study["streams"].get(stream, {}).get("generator") == "adversary"
            place = self._own("streams", stream)
            for epsilon, own in _policies(values, stream, learner, shown):
                label = self._own("learners", learner) + ("" if epsilon is None else f", epsilon {epsilon:g}")
                if others is None:
                    yield Cell(place, label, "", *_differences(own, claim), exact)
                    continue
                for other in (learner,) if named is None else named:
                    theirs = _alike(_policies(there, stream, other, None), epsilon)
                    if theirs is None or (elsewhere, other) == (name, learner):
                        continue
                    called = self._own("learners", other) + ("" if elsewhere == name else f" ({elsewhere})")
                    yield Cell(place, label, called, *_less(own["value"], theirs["value"], claim), exact)

    def _own(self, place: str, name: str) -> str:
        """A stream or learner, or, of one that a sweep made, the one whose place it takes."""
        return self.study[place].get(name, {}).get("stands_for", name)

    def _reading(self, claim: dict, name: str, tuning: str | None, fitting: tuple, cells: list[Cell]) -> Reading:
        experiment = self.study["experiments"][name]
        streams, learners, others = fitting
        learners = {*learners, *((others and others[1]) or ())}
        kinds = {self.study["learners"][one]["kind"] for one in learners}
        heeded = [key for key in READINGS[experiment["kind"]] if not unheeded(experiment, key, kinds)]
        levels = {key: experiment[key] for key in heeded} | {"tuning": tuning}
        if experiment["kind"] == "fixed-items":
            levels["comparator"] = experiment["comparator"]
        if experiment["kind"] in CONTEXTUAL:
            levels |= self._levels(OF_STREAMS, "streams", streams)
        levels |= self._levels(OF_LEARNERS, "learners", learners)
        return Reading(name, tuning, levels, cells, *_judged(claim, cells, self.level))

    def _levels(self, keys, place: str, names) -> dict[str, str]:
        """What streams or learners have for their readings: those that have them at all."""
        found = {key: [level_of(self.study[place][one], key) for one in names] for key in keys}
        return {key: ", ".join(sorted({str(one) for one in of if one is not None})) for key, of in found.items()}

    def _table(self, claim: dict) -> Examined:
        name = claim["table"]
        if name not in catalogue.THEORY:
            raise unknown("table", name, catalogue.THEORY)
        if name not in catalogue.theory(self.study):
            return Examined(claim, missing=f"no experiment of kind {catalogue.THEORY[name]}")
        if name not in self.tables:
            made = variance.variance_table(self.study["seed"]) if name == "variance" else TABLES[name]()
            self.tables[name] = made
        verdict = _of_table(claim, self.tables[name], self.level)
        return Examined(claim, [Reading("", None, {}, [], [], verdict)])


def _repeats(reading: Reading, before: Reading) -> bool:
    """Whether an experiment plays what another has played under the same readings, for another figure, say."""
    return reading.levels == before.levels and {*map(_pair, reading.cells)} <= {*map(_pair, before.cells)}


def _pair(cell: Cell) -> tuple[str, str, str]:
    """What is compared, wherever the other is from."""
    return cell.stream, cell.learner, cell.against.partition(" (")[0]


def _said(wanted: dict) -> str:
    """What is wanted, in words."""

    def words(value) -> str:
        if isinstance(value, dict):
            return _said(value)
        return " or ".join(map(words, value)) if isinstance(value, list) else "none" if value is None else str(value)

    return " and ".join(f"{key} {words(value)}" for key, value in wanted.items())


def _policies(values: pd.DataFrame, stream: str, learner: str, shown: float | None) -> list[tuple]:
    """A learner's values on a stream, by seed: of ads, for each of its epsilons (or for the one `shown`)."""
    rows = values[(values["stream"] == stream) & (values["learner"] == learner)].set_index("seed")
    if rows.empty or "lambda" not in rows or rows["epsilon"].isna().all():
        return [] if rows.empty else [(None, rows)]
    epsilons = sorted(rows["epsilon"].unique()) if shown is None else [shown]
    policies = [(epsilon, rows[rows["epsilon"] == epsilon]) for epsilon in epsilons]
    return [(epsilon, of) for epsilon, of in policies if len(of)]


def _alike(policies: list[tuple], epsilon: float | None) -> pd.DataFrame | None:
    """The policy with this epsilon; if there is but one, that one."""
    return policies[0][1] if len(policies) == 1 else dict(policies).get(epsilon)


def _differences(own: pd.DataFrame, claim: dict) -> tuple[pd.Series, pd.Series | None]:
    """A learner's values less what they are compared with, and what a relative margin is a share of."""
    values, against = own["value"], claim.get("against")
    if against is None or claim["comparison"] == "slope":
        return values, None
    if against == "bound":
        if "bound" not in own:
            raise SettingError(f"the quantity {claim['quantity']} has no bound to compare with")
        against = own["bound"]
    return values - against, values * 0 + against


def _less(own: pd.Series, theirs: pd.Series, claim: dict) -> tuple[pd.Series, pd.Series]:
    """The same, of two learners."""
    difference = own - theirs
    theirs = theirs.reindex(difference.index)
    if claim["quantity"] == "ctr_gain":
        difference = 100 * difference / theirs[difference.notna()].mean()
    return difference, theirs


def _judged(claim: dict, cells: list[Cell], level: float) -> tuple[list[verdicts.Verdict], verdicts.Verdict]:
    """The verdict on each cell, and on all of them together."""
    comparison, how = claim["comparison"], claim.get("over", "all")
    if comparison == "exact":
        single = [_exactly(claim, cell.differences.dropna(), level) for cell in cells]
        sign = -1 if claim["quantity"] == "lower_bound_share" else 1
        worst = sorted(single, key=lambda one: -sign * one.estimate)  # the first of them stands for all
        return single, verdicts.together(worst, "any" if how == "any" else "all")
    settings, relative = _settings(claim, level)
    seeds = sorted(set().union(*(cell.differences.index for cell in cells)))
    differences = [cell.differences.reindex(seeds) for cell in cells]
    of = [_size(cell.of.reindex(seeds)) if relative else None for cell in cells]
    single = [
        verdicts.judge(difference, comparison, of=base, exact=cell.exact, **settings)
        for cell, difference, base in zip(cells, differences, of, strict=True)
    ]
    if how != "mean":
        return single, verdicts.together(single, how)
    settings["exact"] = all(cell.exact for cell in cells)
    return single, verdicts.over(differences, how, comparison, of=of if relative else None, **settings)


def _settings(claim: dict, level: float) -> tuple[dict, bool]:
    """What `verdicts.judge` takes besides the differences, and whether the margin is a share of the other's value."""
    margin = claim.get("margin", 0.0)
    relative = isinstance(margin, dict)
    settings = {"margin": margin["relative"] if relative else margin, "level": level, "test": claim.get("test")}
    if claim["comparison"] == "slope":
        settings["bound"] = claim["against"]
    return settings, relative


def _size(values):
    """What margins are shares of. A regret may be below 0; above it the size is in any case, as is a margin."""
    return np.maximum(np.abs(values), np.finfo(float).tiny)


def _exactly(claim: dict, values: pd.Series, level: float) -> verdicts.Verdict:
    """The verdict on a cell in which nothing is left to chance: on shares of bounds, or whether numbers are equal."""
    tolerance = claim.get("margin", 0.0)
    if claim["quantity"] not in SHARES:
        return verdicts.exact(values, 0.0, tolerance, level)
    ends = SHARES[claim["quantity"]]
    worst = values.max() if math.isfinite(ends[1]) else values.min()
    found = verdicts.judge([worst], "slope", tolerance, level, bound=ends, exact=True)
    return replace(found, n=len(values))


def _of_table(claim: dict, table: pd.DataFrame, level: float) -> verdicts.Verdict:
    """The verdict on the cells of a table: what `column` holds in the rows that `cell` selects."""
    columns, comparison = list(np.atleast_1d(claim["column"])), claim["comparison"]
    for key in (*claim["cell"], *columns):
        if key not in table:
            raise unknown(f"column of the table {claim['table']}", key, table.columns)

    def found(wanted: dict) -> np.ndarray:
        rows = table[[all_fit(row, wanted, "") for row in table.to_dict("records")]]
        if rows.empty:
            raise SettingError(f"the table {claim['table']} has no row with {_said(wanted)}")
        return rows[columns].to_numpy(object)

    values = found(claim["cell"])
    if "expected" in claim:
        expected = np.array(claim["expected"], object)
        expected = expected[:, None] if expected.ndim and len(columns) == 1 else expected
        if expected.ndim and expected.shape[-expected.ndim :] != values.shape[-expected.ndim :]:
            raise SettingError(f"expected has not one value for each of {values.shape} rows and columns")
        pairs = zip(values.ravel(), np.broadcast_to(expected, values.shape).ravel(), strict=True)
        return verdicts.exact([_off(*pair) for pair in pairs], 0.0, claim.get("margin", 0.0), level)
    settings, relative = _settings(claim, level)
    against = claim["against"]
    other = found(claim["cell"] | against) if isinstance(against, dict) else np.full(values.shape, against)
    if other.shape != values.shape:
        raise SettingError(f"{len(values)} rows of the table {claim['table']} and {len(other)} to compare with")
    other = other.astype(float).ravel()
    differences = values.astype(float).ravel() - other
    if comparison == "exact":
        return verdicts.exact(differences, 0.0, settings["margin"], level)
    single = [
        verdicts.judge([one], comparison, of=[_size(base)] if relative else None, exact=True, **settings)
        for one, base in zip(differences, other, strict=True)
    ]
    return replace(verdicts.together(single, "all"), n=len(single))


def _off(value, expected) -> float:
    """How far an entry of a table is from what is expected: of words, 1 if they differ.

    "agrees" is what a table says where what it computes is what the thesis states.
    """
    if expected == "agrees":
        return float(not str(value).endswith("agrees"))
    return float(str(value) != expected) if isinstance(expected, str) else float(value) - float(expected)


# --- what a study says of them


def read_tables(paths) -> dict[str, pd.DataFrame]:
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
    tables.write(verdicts_of, stem)
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
    place = study[PLACES[study["experiments"][reading.experiment]["kind"]]]
    streams = dict.fromkeys(cell.stream for cell in reading.cells)
    return ", ".join(place.get(stream, {}).get("title", stream) for stream in streams)


def _matters(readings: list[Reading]) -> dict[str, float]:
    """The shares, above 0, that readings have of the variance of the estimates.

    Over those of the first reading's streams and learners, since others may differ from it for that alone; and for each
    stream and pair by itself, since the estimate of a reading is of now one cell, now another.
    """

    def estimates(one: Reading) -> dict[tuple, float]:
        return dict(zip(map(_pair, one.cells), (verdict.estimate for verdict in one.single), strict=True))

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
    words = claim.get("measure", "ndcg@10").upper() if quantity == "final" else QUANTITIES[quantity].words
    compared = "other" in claim or (claim.get("against") is not None and claim["comparison"] != "slope")
    return f"difference in {words}" if compared and quantity != "ctr_gain" else words


def _claimed(claim: dict, cell: Cell) -> tuple[float, float]:
    """Between which ends the claim says that a cell's estimate lies."""
    settings, relative = _settings(claim, 0.95)
    margin = settings["margin"]
    if claim["comparison"] == "exact":
        low, high = SHARES.get(claim["quantity"], (0.0, 0.0))
        return low - margin, high + margin
    margin *= cell.of.abs().mean() if relative else 1.0
    return verdicts.COMPARISONS[claim["comparison"]](margin, -math.inf, settings.get("bound", math.nan))[:2]


# --- figures


def read_readings(path) -> pd.DataFrame:
    """The rows of `cells_table`, of the file that `write` wrote.

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
