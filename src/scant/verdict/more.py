"""More seeds for a finished study: how many would decide which claims, what they cost, and a study file with them.

A step is a number of seeds to add to one experiment, or to several that a claim compares with each other. Steps are
taken in ascending order of their cost for each claim that they decide.
"""

import json
import math
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean

import yaml

from scant.errors import DataError, SettingError, printable
from scant.files import foreign
from scant.learning.families import TUNING
from scant.schema import read_yaml
from scant.study import settings
from scant.study.plan import Plan, spanned, total
from scant.study.schema import COMMON
from scant.verdict import readings

START = 0.5  # seconds that a job takes to start, however many seeds it plays
DRAWN_BY = {"streams": "simulate", "bandit": "draw"}  # the rule that makes a seed's file, by the folder of the file
OFTEN_SAMPLED = 15  # seconds for which Snakemake samples a job every half second; then it does every half minute
DEFAULT = COMMON["seeds"]["default"]
WIDTH = 100


@dataclass(frozen=True)
class Step:
    """Seeds to add, besides those of the steps before it.

    seeds : by experiment, how many seeds it has before and after the step
    claims : the ids of the claims that they would decide
    seconds : what they cost on one core
    """

    seeds: dict[str, tuple[int, int]]
    claims: tuple[str, ...]
    seconds: float

    @property
    def added(self) -> list[tuple[str, int, int]]:
        """Each experiment, and how many seeds it has before and after the step."""
        return [(name, before, after) for name, (before, after) in self.seeds.items()]

    @property
    def seconds_per_claim(self) -> float:
        return self.seconds / len(self.claims)


@dataclass(frozen=True)
class More:
    """What more seeds would do for a study.

    steps : to take, in ascending order of seconds for each claim where one does not rest on another
    beyond : the ids of claims that more seeds would decide, but not within the seconds allowed
    never : the ids of undecided claims that no number of seeds would decide, as far as it is known
    """

    study: str
    steps: list[Step]
    beyond: list[str]
    never: list[str]

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def seeds(self) -> dict[str, tuple[int, int]]:
        """By experiment, how many seeds it has before and after all steps."""
        ends: dict[str, tuple[int, int]] = {}
        for step in self.steps:
            for name, (before, after) in step.seeds.items():
                ends[name] = (ends.get(name, (before,))[0], after)
        return ends


def more(folder, study_file, within: float | None = None) -> More:
    """What more seeds would do for a finished study.

    folder : the study's results, results/{study}
    study_file : the file of its settings
    within : how many seconds of one core the steps may take in all; None for any number

    Raises
    ------
    SettingError : the file is of another study, or not valid; or the seconds are not a number above 0
    DataError : the study is not finished, or a file of its results is damaged
    """
    if within is not None and not 0 < within < math.inf:
        raise SettingError(f"--within: {within:g} is no number of seconds above 0")
    folder = Path(folder)
    config = read_yaml(study_file)
    if config.get("study") != folder.name:
        raise SettingError(
            f"{study_file} is of the study {config.get('study')!r}, and {folder} has the results of another. Name the "
            "right file with --study-file"
        )
    plan = Plan(*settings.looked_at(config))
    wanted = _wanted(folder, plan)
    never = [name for name, targets in wanted.items() if not targets]
    wanted = {name: targets for name, targets in wanted.items() if targets}
    costs = _Costs(folder, plan, study_file)
    seeds = {name: total(experiment["seeds"]) for name, experiment in plan.study["experiments"].items()}
    steps, left = [], math.inf if within is None else within
    while step := _next(wanted, seeds, costs, left):
        steps.append(step)
        seeds |= {name: after for name, (_, after) in step.seeds.items()}
        wanted = {name: targets for name, targets in wanted.items() if name not in step.claims}
        left -= step.seconds
    return More(folder.name, steps, list(wanted), never)


def _wanted(folder: Path, plan: Plan) -> dict[str, dict[str, int]]:
    """For each undecided claim, from how many seeds on they would decide it, by experiment; {} if none are known to."""
    advice = f"Finish the study first, and give the folder results/{folder.name}"
    path, experiments = folder / "claims.parquet", plan.study["experiments"]
    if not path.is_file():
        raise DataError(path, "there are no claims to decide", advice=advice)
    undecided = [claim for claim in readings.claims(path) if claim["verdict"] == "undecided"]
    others = _compared_with(folder / "claims-readings.csv", experiments)
    wanted: dict[str, dict[str, int]] = {}
    for claim in undecided:
        involved = [name for name in (claim["experiment"], *others.get(claim["id"], ())) if name]  # bounds have none
        if unknown := [name for name in involved if name not in experiments]:
            raise SettingError(
                f"claim {claim['id']} is judged on the experiment {unknown[0]!r}, which the study file has not: name "
                "the file that the study was run with (--study-file)"
            )
        targets = wanted[claim["id"]] = {}
        if claim["needed"] is None or claim["needed"] > TUNING:
            continue
        for name in dict.fromkeys(_stated(plan, name) for name in involved):
            now, needed = total(experiments[name]["seeds"]), math.ceil(claim["needed"])
            # Where runs failed, a claim is over fewer seeds than were played.
            targets[name] = needed if needed > now else now + max(1, needed - claim["n"])
    return wanted


def _compared_with(path: Path, experiments: Mapping) -> dict[str, list[str]]:
    """For each claim, the experiments that its first reading is from or compares with, from the table of readings."""
    others: dict[str, list[str]] = {}
    for cell in readings.cells(path):
        if cell["first"]:
            named = [
                name for name in experiments if name == cell["experiment"] or cell["against"].endswith(f" ({name})")
            ]
            others.setdefault(cell["claim"], []).extend(named)
    return others


def _stated(plan: Plan, name: str) -> str:
    """The experiment of the study file that an experiment is of: of a sweep's, the one that sweeps."""
    return plan.study["experiments"][name].get("stands_for", name)


def _next(
    wanted: Mapping[str, Mapping[str, int]], seeds: Mapping[str, int], costs: "_Costs", left: float
) -> Step | None:
    """The step of at most `left` seconds that costs least for each claim that it decides; None if there is none.

    wanted : for each claim, the seeds that it needs by experiment
    seeds : that experiments have
    """
    best = None
    for targets in {tuple(targets.items()): targets for targets in wanted.values()}.values():
        after = {name: max(seeds[name], target) for name, target in targets.items()}
        decided = [
            name
            for name, needs in wanted.items()
            if all(target <= after.get(id, seeds[id]) for id, target in needs.items())
        ]
        added = {name: (seeds[name], count) for name, count in after.items() if count > seeds[name]}
        seconds = sum(costs(name, count - before) for name, (before, count) in added.items())
        step = Step(added, tuple(decided), seconds)
        if seconds <= left and (best is None or step.seconds_per_claim < best.seconds_per_claim):
            best = step
    return best


class _Costs:
    """What more seeds of an experiment cost, by what its jobs took so far; called with its name and their number.

    The runs of the experiment and of those that it sweeps, their best fixed weights, and the draws of streams and logs
    that no experiment has so far. What is made of them (tables, figures, claims) is left out.
    """

    def __init__(self, folder: Path, plan: Plan, study_file):
        self.folder, self.plan, self.study_file = folder, plan, study_file
        self.rates: dict[str, tuple[float, float]] = {}

    def __call__(self, name: str, count: int) -> float:
        if name not in self.rates:
            self.rates[name] = self._rates(name)
        per_batch, per_seed = self.rates[name]
        return math.ceil(count / self.plan.study["experiments"][name]["batch"]) * per_batch + count * per_seed

    def _rates(self, name: str) -> tuple[float, float]:
        """The seconds of a batch of all runs of an experiment that do not depend on its seeds, and those of a seed."""
        per_batch = per_seed = 0.0
        variants = [variant for variant in self.plan.study["experiments"] if _stated(self.plan, variant) == name]
        for rule, by_experiment in (("run", self.plan.jobs), ("comparator", self.plan.comparators)):
            costs: dict[str, list[tuple[float, float, int]]] = {}  # of each job's start and work, and its seeds
            for job in chain.from_iterable(by_experiment[variant] for variant in variants):
                seconds = self._seconds(f"{rule}/{job.path}")
                start = min(START, seconds)
                costs.setdefault(job.path.rpartition("/")[0], []).append((start, seconds - start, len(job.seeds)))
            for starts, works, seeds in (zip(*of_learner, strict=True) for of_learner in costs.values()):
                per_batch += fmean(starts)
                per_seed += sum(works) / sum(seeds)
        return per_batch, per_seed + sum(self._draws(variants))

    def _draws(self, variants: list[str]) -> Iterator[float]:
        """The seconds of each draw that one more seed of some experiments needs."""
        study = deepcopy(self.plan.study)
        for name in variants:
            seeds = study["experiments"][name]["seeds"]
            study["experiments"][name]["seeds"] = [*([seeds] if isinstance(seeds, int) else seeds), 1]
        grown = Plan(study, self.plan.datasets)
        for place, spans in grown.draws.items():
            if spans == (drawn := self.plan.draws.get(place, [])):
                continue
            kind, name = Path(place).parts[2:]
            seconds = sum(self._seconds(f"{DRAWN_BY[kind]}/{name}/{span}") for span in drawn)
            yield seconds / max(1, sum(len(spanned(span)) for span in drawn))

    def _seconds(self, job: str) -> float:
        """The seconds that a job took of one core, at most, from Snakemake's benchmark of it.

        Snakemake samples the processor time, every half second at first; what it may have missed is added. On a machine
        that did other things besides, this is less than the time from the job's start to its end.
        """
        path = self.folder / "benchmarks" / f"{job}.jsonl"
        if not path.is_file():
            command = f"snakemake --cores all --configfile {shlex.quote(str(self.study_file))}"
            raise DataError(
                path, "is missing, so that the job has not run", advice=f"Finish the study first: {command}"
            )
        with foreign(path, "benchmark of Snakemake", "Remove the file"):
            benchmark = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
            seconds, processor = float(benchmark["s"]), benchmark.get("cpu_time")  # "NA" if a job was too short
        if not isinstance(processor, int | float):
            return seconds
        return min(seconds, processor + (0.5 if seconds <= OFTEN_SAMPLED else 30.0))


# --- the study file that asks for them


def study_with(study_file, more_seeds: More) -> str:
    """The study file with the seeds of all steps, each number added to those that are there, as YAML without comments.

    Raises
    ------
    SettingError : the file is no valid study
    """
    study = read_yaml(study_file)
    experiments = study["experiments"]
    for name, (before, after) in more_seeds.seeds.items():
        now = experiments[name].get("seeds", DEFAULT)
        experiments[name] = experiments[name] | {"seeds": [*(now if isinstance(now, list) else [now]), after - before]}
    return yaml.safe_dump(study, sort_keys=False, allow_unicode=True, width=120)


# --- for the terminal


def describe(more_seeds: More, within: float | None = None) -> str:
    """What more seeds would do, as text for the terminal; `within` as for `more_seeds`."""
    decided = sum(len(step.claims) for step in more_seeds.steps)
    undecided = decided + len(more_seeds.beyond) + len(more_seeds.never)
    if not undecided:
        return f"Study {more_seeds.study}: every claim that can be tested is decided.\n"
    head = f"Study {more_seeds.study}: {_claims(undecided)} undecided."
    if more_seeds.steps:
        head += f" {more_seeds.seconds:,.1f} s of one core would decide {decided}, each with probability 0.8 if its"
        head += " estimate is right; tables and figures come on top."
    lines = textwrap.wrap(head, WIDTH)
    for step in more_seeds.steps:
        added = [f"{after - before:,} more seeds of {name} ({before:,} so far)" for name, before, after in step.added]
        costs = f"{step.seconds:,.1f} s, {step.seconds_per_claim:,.1f} s for each claim"
        lines += ["", f"{' and '.join(added)}: {costs}", *_listed(step.claims)]
    if more_seeds.beyond:
        lines += ["", f"More than {within:,.0f} s in all:", *_listed(more_seeds.beyond)]
    if more_seeds.never:
        lines += ["", "As far as is known, no number of seeds would decide:", *_listed(more_seeds.never)]
    return "\n".join(lines) + "\n"


def _claims(count: int) -> str:
    return f"{count} claims are" if count != 1 else "1 claim is"


def _listed(names) -> list[str]:
    """Names in indented lines."""
    indent = "    "
    text = ", ".join(map(printable, names))
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
