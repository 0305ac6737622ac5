"""The jobs, figures and tables of a study, and the files that each reads. No other module composes a path."""

import re
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from scant import families
from scant.families import TUNING, Family, Job, Shown

# A data set of a study's own is `dataset@study` here, so that two studies may have one with the same id.
ORIGINAL = "results/data/original/{dataset}/{part}.txt"
TABLE = "results/data/tables/{dataset}/{part}.parquet"
STREAM = "results/{study}/streams/{stream}.arrow"  # made from a data set
DRAW = "results/{study}/streams/{stream}/seed-{seed}.arrow"  # simulated
CAMPAIGN = "results/{study}/campaigns/{stream}.json"
BANDIT = "results/{study}/bandit/{stream}/seed-{seed}/{part}.parquet"
RUN = "results/{study}/runs/{run}.parquet"
COMPARATOR = "results/{study}/comparators/{run}.parquet"
TRACES = "results/{study}/traces/{experiment}.parquet"
TIMES = "results/{study}/times/{experiment}.parquet"
COVERAGE = "results/{study}/coverage.parquet"
# The rules that have several names if the study's key `together` is set, each beginning with the rule's: `traces_top`.
SEVERAL = ("run", "traces", "figure", "table", "judged", "claims_figures", "simulate", "draw")
MOST_PLACES = 8  # of an experiment that one process plays: a command holds at most 128 KB
MOST_SEEDS = 150  # of all files of a process with `together: all`: cores are to share what plays longer
MOST_FIGURES = 5  # of a kind that one process draws
OF_CLAIMS = "figure-claims-"  # the start of the figures' names; the name of the family of claims follows


class Target(NamedTuple):
    """A figure or table of a study: its family, its declaration, and the experiments that it shows."""

    family: Family
    shown: Shown
    experiments: list[str]


class Plan:
    """The jobs, figures and tables of a study.

    study : the complete settings, as `scant.study.settings.load` returns them
    datasets : by id, likewise
    """

    def __init__(self, study: dict, datasets: Mapping):
        self.study, self.datasets = study, datasets
        self.families = {name: families.of(experiment) for name, experiment in study["experiments"].items()}

    @cached_property
    def jobs(self) -> dict[str, list[Job]]:
        """The run files of each experiment."""
        return {name: family.jobs(self.study, self.datasets, name) for name, family in self.families.items()}

    @cached_property
    def processes(self) -> dict[str, list[Job]]:
        """The run files that each process makes, by the path that names its log.

        One file each; or, with the study's key `together`, those of all built-in learners that play the same seeds of
        an experiment at one place. With "all" they may be at any of its places, if these are at most `MOST_PLACES`; and
        if all files together have more seeds than `MOST_SEEDS`, several processes share them, in the order of their
        paths. The path of several files is experiment/place/seeds, or experiment/seeds if they may be at any place, and
        experiment/part-2/seeds for the second process.
        """
        groups: dict[str, list[Job]] = {}
        for name, jobs in self.jobs.items():
            anywhere = self._anywhere(jobs)
            for job in jobs:
                _, place, *_, seeds = job.path.split("/")
                shared = f"{name}/{seeds}" if anywhere else f"{name}/{place}/{seeds}"
                groups.setdefault(shared if self._has_company(job) else job.path, []).append(job)
        processes = {}
        for path, jobs in groups.items():
            name, *place, seeds = path.split("/")
            ordered = sorted(jobs, key=lambda job: job.path)
            for number, part in enumerate([ordered] if place else _parts(ordered), 1):
                several = path if number == 1 else f"{name}/part-{number}/{seeds}"
                processes[several if len(part) > 1 else part[0].path] = part
        return processes

    def _anywhere(self, jobs: list[Job]) -> bool:
        """Whether a process plays an experiment at all of its places."""
        # What is left out may come later: then a process of all places would play them all again.
        stays = self.study.get("missing", "stop") == "stop"
        return (
            self.study["together"] == "all" and stays and len({job.path.split("/")[1] for job in jobs}) <= MOST_PLACES
        )

    def drawn(self, pattern: str) -> list[tuple[str, list[int]]]:
        """The stream or log, and the seeds, that each process draws: all that a job needs and none before it.

        So seeds that are added to an experiment are drawn by processes of their own. There are no such processes unless
        the study's key `together` is "all".

        pattern : of the files, `DRAW` or `BANDIT`
        """
        if self.study["together"] != "all":
            return []
        path = re.escape(pattern.replace("{study}", self.study["study"]))
        for name, values in {"stream": "(?P<stream>[^/]+)", "seed": "(?P<seed>[0-9]+)", "part": "[^/]+"}.items():
            path = path.replace(rf"\{{{name}\}}", values)
        drawn: dict[tuple[str, int], int] = {}  # the number of the job that first needs a draw
        for number, job in enumerate(job for jobs in self.jobs.values() for job in jobs):
            for file in (file for files in job.inputs.values() for file in files):
                if found := re.fullmatch(path, file):
                    drawn.setdefault((found["stream"], int(found["seed"])), number)
        processes: dict[tuple[str, int], list[int]] = {}
        for (stream, seed), number in drawn.items():
            processes.setdefault((stream, number), []).append(seed)
        return [(stream, seeds) for (stream, _), seeds in processes.items()]

    def _has_company(self, job: Job) -> bool:
        """Whether a run may be of a process that makes several: users' own learners are played alone."""
        learner = job.identity.get("learner")
        players = [learner] if learner else self.study["experiments"][job.identity["experiment"]]["learners"]
        return self.study["together"] and not any(":" in self.study["learners"][player]["kind"] for player in players)

    @cached_property
    def comparators(self) -> dict[str, list[Job]]:
        """The files of best fixed weights to make for each experiment."""
        return {name: family.comparators(self.study, name) for name, family in self.families.items()}

    @property
    def played(self) -> list[str]:
        """The experiments that have run files, not only measured times."""
        return [name for name, jobs in self.jobs.items() if jobs]

    @property
    def stated(self) -> list[str]:
        """The experiments that the study file lists. Those that sweeps add to them are for claims alone."""
        return [name for name, experiment in self.study["experiments"].items() if "stands_for" not in experiment]

    @cached_property
    def figures(self) -> dict[str, Target]:
        """The figures that the study has something to show in, by name."""
        return {name: target for name, target in self._targets() if target.shown.draw}

    @cached_property
    def tables(self) -> dict[str, Target]:
        """The tables that the study has something to show in, by name."""
        return {name: target for name, target in self._targets() if not target.shown.draw}

    def shared(self, targets: Mapping[str, Target]) -> dict[str, list[str]]:
        """Of the study's figures or tables, those that one job makes, by the kind of their family.

        If the study's key `together` is "all" these are all of a family, figures at most `MOST_FIGURES` to a job, but
        for tables that no run is needed for: all of them are of one job, "theory", so that claims need not wait for the
        others. Otherwise there are none.
        """
        by_kind: dict[str, list[str]] = {}
        for name, target in targets.items() if self.study["together"] == "all" else ():
            kind = "theory" if target.shown.reads == "nothing" else target.family.kind
            by_kind.setdefault(kind, []).append(name)
        parts = {}
        for kind, names in by_kind.items():
            most = MOST_FIGURES if targets[names[0]].shown.draw else len(names)
            for number, at in enumerate(range(0, len(names), most), 1):
                parts[kind if number == 1 else f"{kind}-{number}"] = names[at : at + most]
        return parts

    def _targets(self):
        for family, shown in families.shown():
            target = Target(family, shown, self._experiments(family, shown))
            if self.files(target) or (shown.reads == "nothing" and family in self.families.values()):
                yield shown.name, target

    def _experiments(self, family: Family, shown: Shown) -> list[str]:
        """The experiments that a figure or table shows."""
        names = [name for name in self.stated if self.families[name] is family]
        if shown.reads in ("traces", "regret"):
            names = [name for name in names if self.jobs[name]]
        return [name for name in names if shown.shows(self.study, name, shown.name)]

    def files(self, target: Target) -> list[str]:
        """The files that a figure or table reads, except those of best fixed weights."""
        family, shown, experiments = target
        study = self.study["study"]
        match shown.reads:
            case "traces" | "regret":
                return [TRACES.format(study=study, experiment=name) for name in experiments]
            case "times":
                return [TIMES.format(study=study, experiment=name) for name in experiments]
            case "nothing":
                return []
        return family.read(self, shown)

    def compared(self, target: Target) -> list[str]:
        """The files of best fixed weights that a figure or table reads."""
        return self.comparator_files(target.experiments) if target.shown.reads == "regret" else []

    def comparator_files(self, experiments) -> list[str]:
        """The files of best fixed weights of some experiments."""
        jobs = (job for name in experiments for job in self.comparators[name])
        return [COMPARATOR.format(study=self.study["study"], run=job.path) for job in jobs]

    def run_files(self, experiment: str) -> list[str]:
        """The run files of an experiment."""
        return [RUN.format(study=self.study["study"], run=job.path) for job in self.jobs[experiment]]

    def details(self, experiment: str) -> dict:
        """What reports need to know of an experiment, see `scant.families.Family.details`."""
        return self.families[experiment].details(self.study, experiment)


def _parts(jobs: list[Job]) -> list[list[Job]]:
    """Jobs with the same seeds in consecutive parts of nearly the same length, of at most `MOST_SEEDS` or two jobs."""
    count = -(-len(jobs) // max(2, MOST_SEEDS // len(jobs[0].seeds)))
    ends = [round(number * len(jobs) / count) for number in range(count + 1)]
    return [jobs[start:end] for start, end in pairwise(ends)]


def rule_of(name: str) -> str:
    """The rule that a rule with this name stands for, see `SEVERAL`."""
    return next((rule for rule in SEVERAL if name.startswith(f"{rule}_") and name not in SEVERAL), name)


def untitled(settings: dict, *others: str) -> dict:
    """Settings without the title (and `others`), for runs: so that a new title does not rerun them."""
    return {key: value for key, value in settings.items() if key not in ("title", *others)}


def span(seeds: list[int]) -> str:
    """The seeds of a job as a part of its file's name: "3", "0-4", "tuning-0-2", or "0-4+tuning-0-2".

    Those that are reported are consecutive, as are those that tune.
    """
    reported = [seed for seed in seeds if seed < TUNING]
    tuning = [seed - TUNING for seed in seeds if seed >= TUNING]
    parts = [(prefix, part) for prefix, part in (("", reported), ("tuning-", tuning)) if part]
    return "+".join(prefix + "-".join(map(str, dict.fromkeys((part[0], part[-1])))) for prefix, part in parts)


def spanned(text: str) -> list[int]:
    """The seeds that such a part of a name stands for: the inverse of `span`."""
    seeds = []
    for part in text.split("+"):
        first = TUNING if part.startswith("tuning-") else 0
        ends = part.removeprefix("tuning-").split("-")
        seeds += range(first + int(ends[0]), first + int(ends[-1]) + 1)
    return seeds


def total(seeds: int | list[int]) -> int:
    """How many seeds an experiment reports; its `seeds` are their number, or a list of numbers added one by one."""
    return seeds if isinstance(seeds, int) else sum(seeds)


def batches(seeds: int | list[int], size: int, tuning: int = 0) -> list[list[int]]:
    """The seeds of each job: 0, 1, 2 and so on, in batches of at most `size`.

    Each number of a list `seeds` begins new batches, so that a number added at the end leaves all others as they are.

    tuning : how many seeds choose learning rates. They are `TUNING` and those that follow it. The first job plays them
        after its own if the batch has room for all of them; otherwise they are in batches of their own
    """
    reported, first = [], 0
    for count in [seeds] if isinstance(seeds, int) else seeds:
        reported += [list(range(at, min(at + size, first + count))) for at in range(first, first + count, size)]
        first += count
    choosing = [seed + TUNING for seed in range(tuning)]
    if len(reported[0]) + tuning <= size:
        return [reported[0] + choosing, *reported[1:]]
    return reported + [choosing[at : at + size] for at in range(0, tuning, size)]


def tables_of(datasets, dataset: str, parts=None) -> list[str]:
    """The parquet tables of a data set's parts; by default of the parts that together hold each query or row once."""
    return [TABLE.format(dataset=datasets[dataset].stored, part=part) for part in parts or datasets[dataset].cover]
