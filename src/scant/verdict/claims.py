"""The claims of the papers, each with its verdict in a study, and with what its readings say.

config/claims.yaml says what is claimed: of which quantity, of which learners, on what data, under which settings.
Every experiment of a study that fits is a reading of the claim, once for each way of choosing rates that its runs
allow. The verdict is that of the first: the first such experiment of the study, with rates chosen as it says.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from scant import families
from scant.errors import SettingError, unknown
from scant.families import Quantity, called
from scant.present import making
from scant.present.traces import Played
from scant.study.plan import Plan
from scant.study.sweeps import learner_level, learner_readings, unheeded
from scant.verdict import selection
from scant.verdict import statistics as verdicts
from scant.verdict.selection import all_fit, chosen, fits

TABLE = "table"  # the quantity of claims about tables that need no run


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
    plan: Plan,
    traces_by_experiment: Mapping[str, tuple[pd.DataFrame, dict]],
    comparators: pd.DataFrame | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
    level: float = 0.95,
) -> dict[str, Examined]:
    """Each claim's readings in a study, with the verdict under each, not yet corrected for the family.

    claims : of `scant.study.settings.claims`
    plan : of the study
    traces_by_experiment : for each experiment played, its traces and details, as `scant.present.traces.read` gives them
    comparators : the best fixed weights, of `scant.present.traces.read_comparators`; regret needs them
    tables : tables that need no run, by their names; those that are not given are computed

    Raises
    ------
    SettingError : a claim asks for what cannot be judged; names it
    """
    examiner = _Examiner(plan, traces_by_experiment, comparators, dict(tables or {}), level)
    found = {}
    for name, claim in claims.items():
        try:
            found[name] = examiner(claim)
        except SettingError as error:
            raise SettingError(f"claim {name}: {error}") from None
    return found


class _Examiner:
    """Finds the readings of claims in one study. Quantities that several claims are of are worked out once."""

    def __init__(self, plan, traces_by_experiment, comparators, tables, level):
        self.plan, self.study, self.played, self.comparators = plan, plan.study, traces_by_experiment, comparators
        self.quantities = selection.quantities()
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
                    best = max(
                        best,
                        (5, f"no {claim.get('measure', claim['quantity'])} is known there"),
                        key=lambda one: one[0],
                    )
        return Examined(claim, readings, "" if readings else best[1])

    def _fitting(self, claim: dict, name: str, experiment: dict) -> tuple:
        """How far an experiment fits a claim, what it lacks, and what of it fits: streams, learners and the others."""
        kinds, where = self.quantities[claim["quantity"]], claim.get("where") or {}
        if experiment["kind"] not in kinds or not fits(experiment["kind"], where.get("kind", experiment["kind"])):
            return 1, f"no experiment with {_said({'kind': where.get('kind', list(kinds))})}", None
        if name not in self.played or not all_fit(experiment, where, name):
            return 2, f"no experiment with {_said(where)}", None
        place = self.plan.families[name].place.key
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
        kind, named, family = experiment["kind"], {*claim["where"], *claim["other"]}, self.plan.families[name]
        same = {key: value for key, value in family.conditions(experiment).items() if key not in named}
        keys = [family.place.key, *([] if isinstance(claim.get("against"), dict) else ["learners"])]
        for one, settings in self.study["experiments"].items():
            alike = settings["kind"] == kind and all(settings.get(key) == value for key, value in same.items())
            shared = alike and all({*settings[key]} & {*experiment[key]} for key in keys)
            if shared and one in self.played and all_fit(settings, claim["other"], one):
                return one
        return None

    def _tunings(self, claim: dict, name: str, fitting: tuple) -> list[str | None]:
        """The ways of choosing rates that the runs allow, the experiment's own first."""
        frame, details = self.played[name]
        if not self._quantity(claim["quantity"], name).tuned:
            return [None]
        _, learners, others = fitting
        involved = {*learners, *((others and others[1]) or ())}
        return self.plan.families[name].tunings(self.study, details, frame, involved)

    def _quantity(self, quantity: str, experiment: str) -> Quantity:
        """What the family of an experiment says of a quantity."""
        return self.quantities[quantity][self.plan.families[experiment].kind]

    def _values(self, quantity: str, name: str, tuning: str | None, streams: tuple, options: tuple) -> pd.DataFrame:
        frame, details = self.played[name]
        played = Played(name, tuning, frame[frame["stream"].isin(streams)], details, self.comparators)
        if not len(played.traces):
            return pd.DataFrame(columns=["stream", "learner", "seed", "value"])
        return called(self._quantity(quantity, name).values)(played, **dict(options))

    def _cells(self, claim, name, tuning, streams, learners, others) -> Iterator[Cell]:
        quantity, shown = claim["quantity"], claim.get("epsilon")
        options = tuple((key, claim[key]) for key in self._quantity(quantity, name).options if key in claim)
        values, family = self.values(quantity, name, tuning, streams, options), self.plan.families[name]
        elsewhere, named = others or (name, None)
        there = values if elsewhere == name else self.values(quantity, elsewhere, tuning, streams, options)
        for stream, learner in product(dict.fromkeys(values["stream"]), learners):
            exact = family.certain(self.study, stream)
            place = self._own(family.place.key, stream)
            for epsilon, own in _policies(values, stream, learner, shown):
                label = self._own("learners", learner) + ("" if epsilon is None else f", epsilon {epsilon:g}")
                if others is None:
                    yield Cell(place, label, "", *_differences(own, claim), exact)
                    continue
                for other in (learner,) if named is None else named:
                    theirs = _alike(_policies(there, stream, other, None), epsilon)
                    if theirs is None or (elsewhere, other) == (name, learner):
                        continue
                    against = self._own("learners", other) + ("" if elsewhere == name else f" ({elsewhere})")
                    yield Cell(place, label, against, *_less(own["value"], theirs["value"], claim), exact)

    def _own(self, place: str, name: str) -> str:
        """A stream or learner, or, of one that a sweep made, the one whose place it takes."""
        return self.study[place].get(name, {}).get("stands_for", name)

    def _reading(self, claim: dict, name: str, tuning: str | None, fitting: tuple, cells: list[Cell]) -> Reading:
        experiment, family = self.study["experiments"][name], self.plan.families[name]
        streams, learners, others = fitting
        learners = {*learners, *((others and others[1]) or ())}
        kinds = {self.study["learners"][learner]["kind"] for learner in learners}
        conditions = family.conditions(experiment).items()
        levels = {key: value for key, value in conditions if not unheeded(experiment, key, kinds)} | {"tuning": tuning}
        place = family.place
        levels |= self._levels(
            place.readings, place.key, streams, lambda settings, key: place.level(settings, key, None)
        )
        levels |= self._levels(learner_readings(), "learners", learners, learner_level)
        return Reading(name, tuning, levels, cells, *_judged(claim, cells, self.level))

    def _levels(self, keys, section: str, names, level: Callable) -> dict[str, str]:
        """What streams or learners have for their readings: those that have them at all."""
        found = {key: [level(self.study[section][name], key) for name in names] for key in keys}
        return {key: ", ".join(sorted({str(one) for one in of if one is not None})) for key, of in found.items()}

    def _table(self, claim: dict) -> Examined:
        name = claim["table"]
        known = {shown.name: family for family, shown in families.shown() if shown.reads == "nothing"}
        if name not in known:
            raise unknown("table", name, known)
        if name not in self.plan.tables:
            return Examined(claim, missing=f"no experiment of kind {known[name].kind}")
        if name not in self.tables:
            shown = self.plan.tables[name].shown
            self.tables[name] = making.frame_of(shown, *making.read(shown, (), seed=self.study["seed"]))
        verdict = _of_table(claim, self.tables[name], self.level)
        return Examined(claim, [Reading("", None, {}, [], [], verdict)])


def _repeats(reading: Reading, before: Reading) -> bool:
    """Whether an experiment plays what another has played under the same readings, for another figure, say."""
    return reading.levels == before.levels and {*map(pair, reading.cells)} <= {*map(pair, before.cells)}


def pair(cell: Cell) -> tuple[str, str, str]:
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
    settings, relative = test_settings(claim, level)
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


def test_settings(claim: dict, level: float) -> tuple[dict, bool]:
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
    ends = between(claim["quantity"])
    if ends is None:
        return verdicts.exact(values, 0.0, tolerance, level)
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
    settings, relative = test_settings(claim, level)
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


def between(quantity: str) -> tuple[float, float] | None:
    """The ends that a quantity must lie between, where chance has no part in it; None for any other."""
    of = selection.quantities().get(quantity, {})
    return next((family.between for family in of.values()), None)
