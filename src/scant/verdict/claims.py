"""The claims of the papers, each with its verdict in a study and under each of its readings.

config/claims says what is claimed: about which quantity and which learners, on which data, under
which settings. Every experiment of a study that fits a claim gives one reading of it for each way
of choosing learning rates that its runs allow; where the claim names its document's own data, there
is one reading on these and one on all others. The claim's verdict is that of the first reading: the
first experiment that fits, with its own `tuning`. Readings on other data than the document's come
after those on its own, and readings in which nothing could violate the claim after all others.
Where a claim has parts (`cells`), its first reading joins the first readings of all parts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import chain, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from scant.declare import families
from scant.declare.families import Quantity, called
from scant.errors import check_name, errors_of
from scant.present import making
from scant.present.traces import Played
from scant.study.grouping import parts
from scant.study.plan import Plan
from scant.study.selectors import span
from scant.study.sweeps import learner_level, readings_of, unheeded
from scant.verdict import judging, selection
from scant.verdict import statistics as verdicts
from scant.verdict.examined import Cell, Examined, Reading
from scant.verdict.judging import compared_with
from scant.verdict.selection import all_fit, chosen, fits, in_words
from scant.verdict.words import SILENT

# The columns of a quantity's values that verdicts read. `why` says why a value is missing.
# `ceiling` is the most that the value could have come to in its place (of a bound from below, the
# least), `says_from` the horizon or sample size from which on that would violate the bound. `local`
# has local slopes, as text; `edge` the chosen rates that are the last of their grid, as text.
VALUES = [
    "stream",
    "learner",
    "seed",
    "value",
    "why",
    "epsilon",
    "lambda",
    "ceiling",
    "says_from",
    "local",
    "edge",
]
TABLE = "table"  # the quantity of claims about tables that are computed without runs


def examine(
    claims: Mapping[str, dict],
    plan: Plan,
    traces_by_experiment: Mapping[str, tuple[pd.DataFrame, dict]],
    comparators: pd.DataFrame | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
    coverage: pd.DataFrame | None = None,
    whole: Plan | None = None,
) -> dict[str, Examined]:
    """Each claim's readings in a study, with the verdict under each, not yet corrected for the
    family of claims.

    Parameters
    ----------
    claims : by id, as `scant.study.settings.claims` returns them
    plan : the study's plan
    traces_by_experiment : for each experiment with runs, its traces and details, see
        `scant.present.traces.read`
    comparators : the best fixed weights, see `scant.present.traces.read_comparators`; claims about
        regret need them
    tables : tables that are computed without runs, by name; those that are missing here are
        computed
    coverage : the rows of the study of bounds, see `scant.ads.coverage.coverage`, if the study has
        one
    whole : the plan of the study with the data sets that it has left out; None if it has left out
        none

    Raises
    ------
    SettingError : a claim cannot be judged; names it
    """
    known = dict(tables or {})
    examiner = _Examiner(plan, traces_by_experiment, comparators, known, coverage, whole)
    examined = {}
    for name, claim in claims.items():
        with errors_of(f"claim {name}"):
            parts_examined = [examiner.with_control(part) for part in parts(claim)]
            examined[name] = _counted(claim, _joined(claim, parts_examined))
    return examined


class _Fitting(NamedTuple):
    """The streams and learners of an experiment that fit a claim.

    streams, learners : the ids that the claim is about
    elsewhere : the experiment to compare with, which may be the same; None if the claim compares
        with no learner
    others : the learners to compare with; None to compare each learner with itself in the other
        experiment
    """

    streams: tuple[str, ...]
    learners: tuple[str, ...]
    elsewhere: str | None = None
    others: tuple[str, ...] | None = None

    @property
    def involved(self) -> set[str]:
        """All learners that the claim is about or compares with."""
        return {*self.learners, *(self.others or ())}


class _Lacking(NamedTuple):
    """Why an experiment does not fit a claim.

    progress : how many of the claim's conditions it passed; the reason of the experiment with most
        is reported
    """

    progress: int
    reason: str


class _Examiner:
    """Finds the readings of claims in a study.

    A quantity that several claims are about is computed once.
    """

    def __init__(self, plan, played, comparators, tables, coverage, whole):
        self.plan, self.study, self.played, self.comparators = plan, plan.study, played, comparators
        self.tables, self.coverage, self.whole = tables, coverage, whole
        self.declared, self.values = cache(selection.declared), cache(self._values)

    def with_control(self, claim: dict) -> Examined:
        """The readings of a part of a claim, and the reading of its control."""
        examined = self._examined(claim)
        if "control" not in claim or not examined.readings:
            return examined
        control = claim | claim["control"]
        for key in ("control", "words", "each"):
            control.pop(key, None)
        first = examined.readings[0]
        only = None if "where" in claim["control"] else (first.experiment, first.tuning)
        of_control = self._examined(control, only)
        reading = next(iter(of_control.readings), None)
        return replace(examined, control=reading, control_missing=of_control.missing)

    def _examined(self, claim: dict, only: tuple[str, str | None] | None = None) -> Examined:
        """A claim's readings, or that of a single experiment and tuning."""
        if claim["quantity"] == TABLE:
            return self._table(claim)
        declared = self.declared(claim["quantity"]).values()
        if any(quantity.reads == "coverage" for quantity in declared):
            return self._of_coverage(claim)
        readings, lacking = [], [_Lacking(0, "")]
        for name, experiment in self.study["experiments"].items():
            if only and name != only[0]:
                continue
            fitting = self._fitting(claim, name, experiment)
            if isinstance(fitting, _Lacking):
                lacking.append(fitting)
                continue
            for tuning in [only[1]] if only else self._tunings(claim, name, fitting):
                cells = list(self._cells(claim, name, tuning, fitting))
                if cells and all(cell.why for cell in cells):
                    lacking.append(_Lacking(6, cells[0].why))
                    continue
                if not cells:
                    what = claim.get("measure", claim["quantity"])
                    lacking.append(_Lacking(5, f"no {what} is known there"))
                for own, of_kind in self._by_data(claim, name, cells):
                    reading = self._reading(claim, name, tuning, fitting, of_kind, own)
                    if not any(_repeats(reading, earlier) for earlier in readings):
                        readings.append(reading)
        readings.sort(key=lambda one: (one.verdict.verdict == SILENT, one.lacks != "", not one.own))
        closest = max(lacking, key=lambda reason: reason.progress)  # the first of several
        reason = selection.lacking(self.plan, self.whole, claim) or closest.reason
        return Examined(claim, readings, "" if readings else reason)

    def _fitting(self, claim: dict, name: str, experiment: dict) -> _Fitting | _Lacking:
        """The streams and learners of an experiment that fit a claim, or why the experiment does
        not.
        """
        kinds, where, kind = [*self.declared(claim["quantity"])], claim["where"], experiment["kind"]
        wanted = where.get("kind", kinds)
        if kind not in kinds or not fits(kind, wanted):
            return _Lacking(1, f"no experiment with {in_words({'kind': wanted})}")
        if name not in self.played or not all_fit(experiment, where, name):
            return _Lacking(2, f"no experiment with {in_words(where)}")
        place, on = self.plan.families[name].place.key, claim.get("on") or {}
        streams = self._chosen(place, experiment, on)
        if not streams:
            return _Lacking(3, f"none of the {place} with {in_words(on)}")
        learners = self._chosen("learners", experiment, claim["learner"])
        if not learners:
            return _Lacking(4, f"no learner with {in_words(claim['learner'])}")
        of_learner = isinstance(claim.get("against"), dict)
        if not ("other" in claim or of_learner):
            return _Fitting(streams, learners)
        elsewhere = self._elsewhere(claim, name, experiment)
        if elsewhere is None:
            return _Lacking(5, f"no experiment with {in_words(claim['other'])} to compare with")
        if not of_learner:
            return _Fitting(streams, learners, elsewhere)
        others = self._chosen("learners", self.study["experiments"][elsewhere], claim["against"])
        if not others:
            return _Lacking(5, f"no learner with {in_words(claim['against'])} to compare with")
        return _Fitting(streams, learners, elsewhere, others)

    def _lacks(self, claim: dict, learners: Iterable[str]) -> str:
        """The learners that the statement of a claim names, but that the reading with these
        learners lacks.
        """
        absent = [
            in_words(wanted)
            for wanted in claim.get("each", ())
            if not any(chosen(self.study, "learners", id, wanted) for id in learners)
        ]
        if not absent:
            return ""
        return f"no learner with {', or '.join(absent)}, which the statement names"

    def _by_data(
        self, claim: dict, name: str, cells: list[Cell]
    ) -> Iterator[tuple[bool, list[Cell]]]:
        """The cells of an experiment on the document's own data, with True, and those on others,
        with False, if any.

        If the claim does not say which data are its document's own, all are.
        """
        own, section = cells, self.plan.families[name].place.key
        if "own" in claim:
            own = [cell for cell in cells if chosen(self.study, section, cell.stream, claim["own"])]
        others = [cell for cell in cells if cell not in own]
        if own:
            yield True, own
        if others:
            yield False, others

    def _chosen(self, section: str, experiment: dict, wanted: dict) -> tuple[str, ...]:
        """The places or learners of an experiment that have the wanted settings."""
        return tuple(id for id in experiment[section] if chosen(self.study, section, id, wanted))

    def _elsewhere(self, claim: dict, name: str, experiment: dict) -> str | None:
        """The experiment to compare with: this one, or, if the claim has settings for `other`, the
        first with these.

        That experiment has all other settings of this one, and at least one place in common with
        it; if each learner is compared with itself, also at least one learner. None if there is no
        such experiment.
        """
        if "other" not in claim:
            return name
        family, free = self.plan.families[name], {*claim["where"], *claim["other"]}
        conditions = family.conditions(experiment)
        same = {key: conditions[key] for key in conditions.keys() - free} | {"kind": family.kind}
        keys = [family.place.key]
        if not isinstance(claim.get("against"), dict):
            keys.append("learners")
        for id, settings in self.study["experiments"].items():
            alike = all(settings.get(key) == value for key, value in same.items())
            shared = alike and all({*settings[key]} & {*experiment[key]} for key in keys)
            if shared and id in self.played and all_fit(settings, claim["other"], id):
                return id
        return None

    def _tunings(self, claim: dict, name: str, fitting: _Fitting) -> list[str | None]:
        """The readings of `tuning` that the runs allow, the experiment's own first; [None] if it
        does not matter.
        """
        if not self._quantity(claim["quantity"], name).tuned:
            return [None]
        frame, details = self.played[name]
        return self.plan.families[name].tunings(self.study, details, frame, fitting.involved)

    def _quantity(self, quantity: str, experiment: str) -> Quantity:
        """The declaration of a quantity by the family of an experiment."""
        return self.declared(quantity)[self.plan.families[experiment].kind]

    def _values(
        self, quantity: str, name: str, tuning: str | None, streams: tuple, options: tuple
    ) -> dict[tuple[str, str], pd.DataFrame]:
        """The values of a quantity in an experiment, by stream and learner:
        `scant.declare.families.Quantity.values`.

        Those of a stream and learner are by seed.
        """
        (frame, details), declared = self.played[name], self._quantity(quantity, name)
        traces = frame[frame["stream"].isin(streams)]
        if traces.empty:
            return {}
        played = Played(name, tuning, traces, details, self.comparators)
        values = called(declared.values)(played, **dict(options))
        columns = [column for column in (*VALUES, *declared.plays) if column in values]
        groups = values[columns].groupby(["stream", "learner"], sort=False)
        return {key: rows.set_index("seed") for key, rows in groups}

    def _cells(
        self, claim: dict, name: str, tuning: str | None, fitting: _Fitting
    ) -> Iterator[Cell]:
        """The pairs of learners that a claim compares in an experiment, as far as they have
        values.
        """
        streams, learners, elsewhere, others = fitting
        quantity, declared = claim["quantity"], self._quantity(claim["quantity"], name)
        options = tuple((key, claim[key]) for key in declared.options if key in claim)
        values = self.values(quantity, name, tuning, streams, options)
        family = self.plan.families[name]
        other_values, section = values, family.place.key
        if elsewhere not in (None, name):
            other_values = self.values(quantity, elsewhere, tuning, streams, options)
        for stream, learner in product(dict.fromkeys(stream for stream, _ in values), learners):
            # A value over several games, such as a slope in the number of items, is of all of the
            # claim's.
            places = [stream] if stream in streams else streams
            of_learner = Cell(
                self._original(section, stream),
                self._original("learners", learner),
                drawn=self._drawn_anew(name, places, learner),
                within=_within(declared, claim, elsewhere is not None),
                share=declared.share,
                sample=self._of_sample(section, stream),
                claim=claim,
                experiment=name,
                tuning=tuning,
            )
            for epsilon, rows in _policies(values.get((stream, learner)), claim.get("epsilon")):
                rows = self._played_instead(claim, name, rows)
                # A trivial play that comes to the same with every seed involves no chance.
                trivial = "plays" in claim and np.ptp(rows["value"]) == 0
                policy = "" if epsilon is None else f", epsilon {epsilon:g}"
                alone = replace(
                    of_learner,
                    learner=of_learner.learner + policy,
                    exact=trivial or declared.certain or family.certain(self.study, stream),
                    edge=_edges(rows),
                    why=_why(rows),
                )
                if elsewhere is None:
                    yield replace(alone, **_differences(rows, claim), **_extreme(rows, claim))
                    continue
                for other in (learner,) if others is None else others:
                    policies = _policies(other_values.get((stream, other)), None)
                    other_rows = _with_epsilon(policies, epsilon)
                    if other_rows is None or (elsewhere, other) == (name, learner):
                        continue
                    where = "" if elsewhere == name else f" ({elsewhere})"
                    yield replace(
                        alone,
                        against=self._original("learners", other) + where,
                        **_differences_of_two(rows["value"], other_rows["value"], claim),
                        drawn=alone.drawn or self._drawn_anew(elsewhere, places, other),
                        edge=_edges(rows, other_rows),
                        why=alone.why or _why(other_rows),
                    )

    def _played_instead(self, claim: dict, name: str, rows: pd.DataFrame) -> pd.DataFrame:
        """A quantity's values; if the claim is a control that names a trivial play, the values of
        that play.
        """
        if "plays" not in claim:
            return rows
        plays = self._quantity(claim["quantity"], name).plays
        check_name(f"play of {claim['quantity']}", claim["plays"], plays)
        return rows.assign(value=rows[claim["plays"]])

    def _drawn_anew(self, name: str, places: Iterable[str], learner: str) -> bool:
        """Whether each seed of a learner draws something anew at one of some places of an
        experiment.
        """
        settings = self.study, self.plan.datasets, self.study["experiments"][name]
        return any(
            self.plan.families[name].drawn_anew(*settings, place, learner) for place in places
        )

    def _original(self, section: str, id: str) -> str:
        """The id of a place or learner; of a copy that a sweep made, that of the one that it stands
        for.
        """
        return self.study[section].get(id, {}).get("stands_for", id)

    def _of_sample(self, section: str, id: str) -> bool:
        """Whether a place has a sample of a data set, or of a stream that has one."""
        settings = self.study[section].get(id, {})
        dataset = (settings | self.study["streams"].get(settings.get("stream"), {})).get("dataset")
        return dataset is not None and self.plan.datasets[dataset].sample

    def _reading(
        self,
        claim: dict,
        name: str,
        tuning: str | None,
        fitting: _Fitting,
        cells: list[Cell],
        own: bool,
    ) -> Reading:
        experiment, family = self.study["experiments"][name], self.plan.families[name]
        place, learners = family.place, fitting.involved
        kinds = {self.study["learners"][learner]["kind"] for learner in learners}
        conditions = family.conditions(experiment).items()
        levels = {key: value for key, value in conditions if not unheeded(experiment, key, kinds)}
        levels["tuning"], measured = tuning, {cell.stream for cell in cells}
        streams = [id for id in fitting.streams if self._original(place.key, id) in measured]
        levels |= self._levels(
            place.readings,
            place.key,
            streams or fitting.streams,
            partial(place.level, datasets=None),
        )

        def level(learner: dict, key: str):
            """The learner's own, or else the experiment's, where the learner heeds it."""
            heeds = key in levels and not unheeded(experiment, key, {learner["kind"]})
            own = learner_level(learner, key)
            return levels[key] if own is None and heeds else own

        of_learners = readings_of(chain.from_iterable(families.kinds().values()))
        levels |= self._levels(of_learners, "learners", learners, level)
        judged = judging.judged(claim, cells)
        return Reading(name, tuning, levels, cells, *judged, own, self._lacks(claim, learners))

    def _levels(self, keys, section: str, names, level: Callable) -> dict[str, str]:
        """The levels that places or learners have for each of their readings, joined; "" if none
        has the reading.
        """
        by_key = {key: [level(self.study[section][name], key) for name in names] for key in keys}
        return {
            key: ", ".join(sorted({str(value) for value in values if value is not None}))
            for key, values in by_key.items()
        }

    def _table(self, claim: dict) -> Examined:
        """The verdict on a claim about a table that is computed without runs."""
        name = claim["table"]
        declared = families.shown()
        computed = {shown.name: family for family, shown in declared if shown.reads == "nothing"}
        check_name("table", name, computed)
        if name not in self.plan.tables:
            return Examined(claim, missing=f"no experiment of kind {computed[name].kind}")
        if name not in self.tables:
            target = self.plan.tables[name]
            self.tables[name] = making.frame_of(target.shown, *making.Inputs(self.plan)(target))
        verdict = judging.of_table(claim, self.tables[name])
        return Examined(claim, [Reading("", None, {}, [], [], verdict)])

    def _of_coverage(self, claim: dict) -> Examined:
        """The verdict on a claim about how often a bound holds: in the study of bounds each
        simulated log is a seed.
        """
        if self.coverage is None:
            return Examined(claim, missing="no study of bounds (coverage)")
        [declared] = self.declared(claim["quantity"]).values()  # by the only family that has it
        wanted = claim.get("on", {})
        rows = self.coverage[[all_fit(row, wanted, "") for row in self.coverage.to_dict("records")]]
        options = {key: claim[key] for key in declared.options if key in claim}
        values = called(declared.values)(rows, **options)
        if values.empty:
            return Examined(claim, missing=f"no bound {claim.get('bound')} on {in_words(wanted)}")
        facts = {"within": _within(declared, claim), "share": declared.share, "claim": claim}
        cells = [
            Cell(stream, learner, **_differences(cell.set_index("seed"), claim), **facts)
            for (stream, learner), cell in values.groupby(["stream", "learner"], sort=False)
        ]
        judged = judging.judged(claim, cells)
        return Examined(claim, [Reading("", None, {}, cells, *judged)])


def _joined(claim: dict, examined: list[Examined]) -> Examined:
    """A claim's readings from those of its parts: the first readings of all parts as one, then the
    others as they are.

    A table's verdict on a part has no cell by itself; where a claim has several parts, it is given
    one.
    """
    if len(examined) == 1:
        return replace(examined[0], claim=claim)
    judged = [part for part in examined if part.readings]
    missing = "; ".join(dict.fromkeys(part.missing for part in examined if part.missing))
    if not judged:
        return Examined(claim, missing=missing)
    first = [_with_cell(part.claim, part.readings[0]) for part in judged]
    controls = [_with_cell(part.claim, part.control) for part in judged if part.control]
    others = chain.from_iterable(part.readings[1:] for part in judged)
    control = _of_all(controls) if controls else None
    lacking = next((one.control_missing for one in judged if one.control_missing), "")
    return Examined(claim, [_of_all(first, missing), *others], "", control, lacking)


def _counted(claim: dict, examined: Examined) -> Examined:
    """A claim's readings, of which the first lacks places if its parts together have fewer than
    the statement is about.
    """
    if "places" not in claim or not examined.readings:
        return examined
    first, *others = examined.readings
    places = len({cell.stream for cell in first.cells})
    if places >= claim["places"]:
        return examined
    missing = f"{places} of the {claim['places']} places that the statement is about"
    lacks = "; ".join(filter(None, [first.lacks, missing]))
    return replace(examined, readings=[replace(first, lacks=lacks), *others])


def _with_cell(claim: dict, reading: Reading) -> Reading:
    """A reading with a cell; what a table says has one whose stream is the table's rows in
    words.
    """
    if reading.cells:
        return reading
    rows = ", ".join(str(value) for value in claim["cell"].values())
    return replace(
        reading,
        cells=[Cell(rows, "", claim=claim)],
        single=[reading.verdict],
    )


def _of_all(readings: list[Reading], missing: str = "") -> Reading:
    """The first readings of a claim's parts as one: it holds if all of them do, and fails if one
    does.

    missing : what the study lacks for its other parts
    """
    judged = chain.from_iterable(
        [reading.verdict] if reading.cells[0].claim.get("over") == "mean" else reading.single
        for reading in readings
    )
    lacks = dict.fromkeys(filter(None, [missing, *(reading.lacks for reading in readings)]))
    return replace(
        readings[0],
        levels={},
        cells=[cell for reading in readings for cell in reading.cells],
        single=[verdict for reading in readings for verdict in reading.single],
        verdict=verdicts.together([*judged]),
        summary=None,
        own=all(reading.own for reading in readings),
        lacks="; ".join(lacks),
    )


def _repeats(reading: Reading, earlier: Reading) -> bool:
    """Whether a reading compares what an earlier one did, under the same settings (an experiment
    for a figure, say).
    """
    compared, before = ({*map(pair, one.cells)} for one in (reading, earlier))
    return reading.levels == earlier.levels and compared <= before


def pair(cell: Cell) -> tuple[str, str, str]:
    """The stream, the learner, and the learner compared with, without the name of its experiment if
    it is from another one.
    """
    return cell.stream, cell.learner, cell.against.partition(" (")[0]


def _policies(rows: pd.DataFrame | None, only_epsilon: float | None) -> list[tuple]:
    """A learner's values on a stream, by seed, as a list of (epsilon, rows).

    A learner of ads has rows for each of its epsilons, or for `only_epsilon`; for others there is
    one entry, of None.

    rows : None if there are no values
    """
    if rows is None:
        return []
    if "lambda" not in rows or rows["epsilon"].isna().all():
        return [(None, rows)]
    epsilons = sorted(rows["epsilon"].unique()) if only_epsilon is None else [only_epsilon]
    policies = [(epsilon, rows[rows["epsilon"] == epsilon]) for epsilon in epsilons]
    return [(epsilon, policy) for epsilon, policy in policies if len(policy)]


def _with_epsilon(policies: list[tuple], epsilon: float | None) -> pd.DataFrame | None:
    """The rows with this epsilon; all rows if there is one policy only."""
    return policies[0][1] if len(policies) == 1 else dict(policies).get(epsilon)


def _differences(rows: pd.DataFrame, claim: dict) -> dict[str, pd.Series]:
    """A learner's values by seed minus the number that the claim names, and what a relative margin
    is a share of.
    """
    values, against = rows["value"], claim.get("against")
    if against is None or claim["comparison"] == "slope":
        return {"differences": values}
    return {"differences": values - against, "of": values * 0 + against}


def _extreme(rows: pd.DataFrame, claim: dict) -> dict:
    """The `ceiling` and `says_from` of a cell whose learner is compared with a number or a bound,
    and local slopes.
    """
    columns = {"local": str(rows["local"].iloc[0])} if "local" in rows and len(rows) else {}
    if "ceiling" not in rows or rows["ceiling"].isna().all():
        return columns
    extremes = _differences(rows.assign(value=rows["ceiling"]), claim)["differences"]
    furthest = extremes.min() if claim["comparison"] == "greater" else extremes.max()
    columns["ceiling"] = float(furthest)
    if "says_from" in rows:
        columns["says_from"] = float(rows["says_from"].max())
    return columns


def _edges(*sides: pd.DataFrame) -> str:
    """What the rows of a cell say of rates at the edge of their grid."""
    known = (rows["edge"].dropna().unique() for rows in sides if "edge" in rows)
    return "; ".join(dict.fromkeys(filter(None, chain.from_iterable(known))))


def _within(declared: Quantity, claim: dict, of_two: bool = False) -> tuple[float, float] | None:
    """The least and the largest that a claim's differences can be; None if that is not known.

    of_two : whether they are differences between two learners' values, not between a value and the
        claim's number
    """
    if (ends := span(declared, claim)) is None:
        return None
    least, most = ends
    if of_two:
        return least - most, most - least
    return least - compared_with(claim), most - compared_with(claim)


def _why(rows: pd.DataFrame) -> str:
    """Why the quantity has no values in these rows; "" if it has, or if it gives no reason."""
    return "" if "why" not in rows or rows["value"].notna().any() else str(rows["why"].iloc[0])


def _differences_of_two(values: pd.Series, other: pd.Series, claim: dict) -> dict[str, pd.Series]:
    """A learner's values minus another's, by seed, and what a relative margin is a share of: the
    other's values.
    """
    difference = values - other
    other = other.reindex(difference.index)
    if claim["quantity"] == "ctr_gain":
        difference = 100 * difference / other[difference.notna()].mean()
    return {"differences": difference, "of": other}
