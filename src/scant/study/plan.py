"""The jobs, figures and tables of a study, and the files that each reads."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from scant.data.registry import Dataset
from scant.declare import families
from scant.declare.declarations import TUNING
from scant.declare.families import Family, Job, Shown
from scant.errors import check_name

# A data set of a study's own is `dataset@study` here, so that two studies may have one with the
# same id.
ORIGINAL = "results/data/original/{dataset}/{part}.txt"
TABLE = "results/data/tables/{dataset}/{part}.parquet"
STREAM = "results/{study}/streams/{stream}.arrow"  # made from a data set
DRAW = "results/{study}/streams/{stream}/{seeds}/seed-{seed}.arrow"  # simulated
CAMPAIGN = "results/{study}/campaigns/{stream}.json"
BANDIT = "results/{study}/bandit/{stream}/{seeds}/seed-{seed}/{part}.parquet"
CLICKS = "results/{study}/clicks/{stream}/{seeds}/seed-{seed}.parquet"
RUN = "results/{study}/runs/{run}.parquet"
COMPARATOR = "results/{study}/comparators/{run}.parquet"
COVERAGE = "results/{study}/coverage.parquet"
PAPERS = ("config", "claims")  # the folder of claims about the papers
DRAWN = 8  # how many seeds of a stream or log a job draws: one after another, while runs wait
DRAWS = "results/{study}/{kind}/{stream}"  # the folder of all draws of a stream or log

# One job draws several seeds of a stream or log, into a folder that is named by them. A family
# leaves the name open.
OPEN = "{seeds}"
_DRAWN = re.compile(
    r"(?P<place>results/[^/]+/(?:streams|bandit|clicks)/[^/]+)/(?P<seeds>[^/]+)/seed-(?P<seed>[0-9]+)"
)


class Target(NamedTuple):
    """A figure or table of a study: its family, its declaration, and the experiments that it
    shows.
    """

    family: Family
    shown: Shown
    experiments: list[str]


class Runs(NamedTuple):
    """The run files of an experiment, and what reports need to know of it:
    `scant.declare.families.Family.details`.
    """

    experiment: str
    files: list[str]
    details: dict


class Plan:
    """The jobs, figures and tables of a study.

    study : the complete settings, as `scant.study.settings.load` returns them
    datasets : by id, as `load` returns them
    draws : as the property of that name, if only some of the study's experiments are planned here
    """

    def __init__(
        self, study: dict, datasets: Mapping, draws: Mapping[str, list[str]] | None = None
    ):
        self.study, self.datasets, self._draws = study, datasets, draws
        self.families = {
            name: families.of(experiment) for name, experiment in study["experiments"].items()
        }

    @cached_property
    def _planned(self) -> dict[str, list[Job]]:
        """The run files of each experiment, with the folders of draws still open."""
        return {
            name: family.jobs(self.study, self.datasets, name)
            for name, family in self.families.items()
        }

    @cached_property
    def jobs(self) -> dict[str, list[Job]]:
        """For each experiment, the jobs that play it."""
        return {name: list(map(self._placed, jobs)) for name, jobs in self._planned.items()}

    @cached_property
    def runs(self) -> dict[str, Job]:
        """The jobs of all run files, by their path below results/{study}/runs."""
        return {job.path: job for jobs in self.jobs.values() for job in jobs}

    @cached_property
    def draws(self) -> dict[str, list[str]]:
        """The seeds that each job draws of a stream or log, as `span` names them, by the folder of
        its draws.

        A job draws all seeds that a run needs and no run before it, so that each seed is drawn
        once. Seeds that choose rates are drawn apart from seeds that are reported. So what is added
        to a study leaves its folders as they are: an experiment at the end, seeds that none has
        yet, or a learner, if experiments that share a place tune alike.
        """
        if self._draws is not None:
            return dict(self._draws)
        draws, drawn = {}, set()
        for job in chain.from_iterable(self._planned.values()):
            new = {}
            for match in filter(None, map(_DRAWN.match, job.files)):
                draw = match["place"], int(match["seed"])
                if draw not in drawn:
                    new.setdefault(match["place"], set()).add(draw[1])
            for place, seeds in new.items():
                draws.setdefault(place, []).extend(_spans(sorted(seeds)))
                drawn.update((place, seed) for seed in seeds)
        return draws

    @cached_property
    def _folders(self) -> dict[tuple[str, int], str]:
        """The name of the folder that a seed is drawn into, by the folder of all draws of its
        stream or log.
        """
        draws = ((place, seeds) for place, spans in self.draws.items() for seeds in spans)
        return {(place, seed): seeds for place, seeds in draws for seed in spanned(seeds)}

    def _placed(self, job: Job) -> Job:
        return replace(job, inputs={role: self.placed(files) for role, files in job.inputs.items()})

    def placed(self, files: Iterable[str]) -> list[str]:
        """`files`, in which `OPEN` is replaced by the folder of the job that draws the file."""

        def folder(draw: re.Match) -> str:
            return self._folders[draw["place"], int(draw["seed"])]

        draws = ((file, _DRAWN.match(file)) for file in files)
        return [file.replace(OPEN, folder(draw)) if draw else file for file, draw in draws]

    @cached_property
    def comparators(self) -> dict[str, list[Job]]:
        """For each experiment, the jobs that find its best fixed weights."""
        return {
            name: list(map(self._placed, family.comparators(self.study, name)))
            for name, family in self.families.items()
        }

    @cached_property
    def compared(self) -> dict[str, Job]:
        """The jobs of all files of best fixed weights, by their path below
        results/{study}/comparators.
        """
        return {job.path: job for jobs in self.comparators.values() for job in jobs}

    @property
    def stated(self) -> list[str]:
        """The experiments that the study file itself lists.

        Others were added by sweeps, and are for claims alone.
        """
        experiments = self.study["experiments"].items()
        return [name for name, one in experiments if "stands_for" not in one]

    @cached_property
    def shown(self) -> list[tuple[Family, Shown]]:
        """Figures and tables that families declare, in the page's order, then the study's own."""
        return [*families.shown(), *families.shown_of(self.study)]

    @cached_property
    def figures(self) -> dict[str, Target]:
        """The figures that the study has something to show in, by name."""
        return {name: target for name, target in self._targets() if target.shown.draw}

    @cached_property
    def tables(self) -> dict[str, Target]:
        """The tables that the study has something to show in, by name; tables of theory only where
        the study judges claims about the papers.
        """
        return {name: target for name, target in self._targets() if not target.shown.draw}

    @cached_property
    def shown_by(self) -> dict[str, dict[str, Target]]:
        """Which figures and tables each job makes: by the job's name, then by the target's.

        A job makes all figures of a family, all its tables of runs, or its tables of theorems,
        which wait for no run. A user's own figure or table is made alone, so that an error in its
        code stops no other.
        """
        jobs = {}
        for name, target in (self.figures | self.tables).items():
            tables = "theorems" if target.shown.reads == "nothing" else "tables"
            group = target.family.kind if target.shown in target.family.shown else name
            job = f"{'figures' if target.shown.draw else tables}_{group}"
            jobs.setdefault(re.sub(r"\W", "_", job), {})[name] = target
        return jobs

    def shown_from(self, targets: Mapping[str, Target]) -> list[str]:
        """The files and folders, written by earlier jobs, that some figures or tables are made
        from.
        """
        return sources(file for target in targets.values() for file in self.files(target))

    def _targets(self):
        for family, shown in self.shown:
            target = Target(family, shown, self._experiments(family, shown))
            checked = shown.reads == "nothing" and judges_papers(self.study)
            if self.files(target) or (checked and family in self.families.values()):
                yield shown.name, target

    def _experiments(self, family: Family, shown: Shown) -> list[str]:
        """The experiments that a figure or table shows."""
        stated = (name for name in self.stated if self.families[name] is family)
        return [name for name in stated if shown.includes(self.study, name)]

    def files(self, target: Target) -> list[str]:
        """The files that a figure or table reads."""
        family, shown, experiments = target
        if shown.reads in ("traces", "regret"):
            runs = [file for name in experiments for file in self.run_files(name)]
            return runs + (self.comparator_files(experiments) if shown.reads == "regret" else [])
        return self.placed(family.read(self, shown)) if shown.reads != "nothing" else []

    def comparator_files(self, experiments) -> list[str]:
        """The files of best fixed weights of some experiments."""
        jobs = (job for name in experiments for job in self.comparators[name])
        return [COMPARATOR.format(study=self.study["study"], run=job.path) for job in jobs]

    def run_files(self, experiment: str) -> list[str]:
        """The run files of an experiment."""
        study = self.study["study"]
        return [RUN.format(study=study, run=job.path) for job in self.jobs[experiment]]

    @cached_property
    def made(self) -> dict[str, Job]:
        """The jobs that write run files and files of best fixed weights, by path."""
        jobs = ((RUN, self.runs), (COMPARATOR, self.compared))
        return {
            path.format(study=self.study["study"], run=run): job
            for path, by in jobs
            for run, job in by.items()
        }

    def stored(self, name: str) -> Dataset:
        """The data set whose tables are stored under `name`, in the folder that studies share.

        Raises
        ------
        SettingError : the study has none
        """
        datasets = {dataset.stored: dataset for dataset in self.datasets.values()}
        check_name("data set", name, datasets)
        return datasets[name]

    def data_tables(self) -> list[str]:
        """The parquet tables that the study's streams and logs, and its key `tables_of`, read."""
        places = chain.from_iterable(self.study[key].values() for key in families.places())
        read = [settings for settings in places if "dataset" in settings]
        read += [{"dataset": name} for name in self.study["tables_of"]]
        return list(dict.fromkeys(chain.from_iterable(map(self._tables_read, read))))

    def stream_files(self) -> list[str]:
        """The streams that learners play on."""
        return sources(file for job in self.runs.values() for file in job.inputs.get("streams", ()))

    def stream_tables(self, stream: str) -> list[str]:
        """The parquet tables that the stream of a data set is packed from."""
        return self._tables_read(self.study["streams"][stream])

    def _tables_read(self, settings: Mapping) -> list[str]:
        """The parquet tables of the data set that a stream or log reads."""
        parts = parts_read(settings, self.datasets[settings["dataset"]])
        return tables_of(self.datasets, settings["dataset"], parts)

    @property
    def theory(self) -> list[str]:
        """The CSV files of the tables that need no run."""
        names = [name for name, target in self.tables.items() if target.shown.reads == "nothing"]
        return [f"results/{self.study['study']}/tables/{name}.csv" for name in names]

    def modules(self, experiment: str, learner: str = "") -> list[str]:
        """The modules whose code plays a learner, or all learners of an experiment: the family's
        and users' own.
        """
        settings = self.study["experiments"][experiment]
        learners = [learner] if learner else settings["learners"]
        named = [self.study["learners"][id]["kind"] for id in learners]
        named += settings.get("measures", ())
        own = (name.partition(":")[0] for name in named if ":" in name)
        return [self.families[experiment].code, *own]

    def details(self, experiment: str) -> dict:
        """What reports need to know of an experiment, see
        `scant.declare.families.Family.details`.
        """
        return self.families[experiment].details(self.study, experiment)


def judges_papers(study: Mapping) -> bool:
    """Whether a study judges claims about the papers, and not only its own."""
    listed = study["claims"] or []
    paths = [listed] if isinstance(listed, str) else listed
    return any(Path(path).parts[:2] == PAPERS for path in paths)


def sources(files: Iterable[str]) -> list[str]:
    """The outputs of the jobs that write some files, each once; if one job draws several seeds, its
    folder.
    """
    draws = ((file, _DRAWN.match(file)) for file in files)
    made = (f"{draw['place']}/{draw['seeds']}" if draw else file for file, draw in draws)
    return list(dict.fromkeys(made))


def untitled(settings: dict, *others: str) -> dict:
    """Settings without title, so that a new title does not rerun a job.

    others : further keys to leave out
    """
    return {key: value for key, value in settings.items() if key not in ("title", *others)}


def learners_of(study: Mapping, experiment: Mapping) -> list[list]:
    """The id and settings of each learner of an experiment, for jobs that play all of them."""
    return [[id, untitled(study["learners"][id], "stands_for")] for id in experiment["learners"]]


def span(seeds: list[int]) -> str:
    """The seeds of a job as a part of its file's name: "3", "0-4", "tuning-0-2", or
    "0-4+tuning-0-2".

    Seeds that are reported are consecutive, and so are seeds that tune.
    """
    reported = [seed for seed in seeds if seed < TUNING]
    tuning = [seed - TUNING for seed in seeds if seed >= TUNING]
    parts = []
    for prefix, part in (("", reported), ("tuning-", tuning)):
        ends = dict.fromkeys([*part[:1], *part[-1:]])
        parts += [prefix + "-".join(map(str, ends))] if part else []
    return "+".join(parts)


def _spans(seeds: list[int]) -> list[str]:
    """The names of the jobs that draw some seeds: each draws `DRAWN` at most."""
    parts = (spanned(part) for part in span(seeds).split("+"))
    return [
        span(part[start : start + DRAWN]) for part in parts for start in range(0, len(part), DRAWN)
    ]


def spanned(text: str) -> list[int]:
    """The seeds that a name of `span` stands for: its inverse."""
    seeds = []
    for part in text.split("+"):
        first = TUNING if part.startswith("tuning-") else 0
        ends = part.removeprefix("tuning-").split("-")
        seeds += range(first + int(ends[0]), first + int(ends[-1]) + 1)
    return seeds


def total(seeds: int | list[int]) -> int:
    """How many seeds an experiment reports.

    seeds : their number, or numbers that were added one by one
    """
    return seeds if isinstance(seeds, int) else sum(seeds)


def batches(seeds: int | list[int], size: int, tuning: int = 0) -> list[list[int]]:
    """The seeds of each job: 0, 1, 2 and so on, in batches of at most `size`.

    Each number of a list `seeds` begins new batches, so that a number added at the end leaves
    earlier batches as they are.

    tuning : how many seeds choose learning rates. They are `TUNING`, `TUNING` + 1, and so on. The
        first job plays them after its own if the batch has room for all of them; otherwise they are
        in batches of their own
    """
    reported, first = [], 0
    for count in [seeds] if isinstance(seeds, int) else seeds:
        reported += [
            list(range(start, min(start + size, first + count)))
            for start in range(first, first + count, size)
        ]
        first += count
    choosing = [seed + TUNING for seed in range(tuning)]
    if len(reported[0]) + tuning <= size:
        return [reported[0] + choosing, *reported[1:]]
    return reported + [choosing[start : start + size] for start in range(0, tuning, size)]


def parts_read(settings: Mapping, dataset: Dataset) -> list[str]:
    """The parts of its data set that a stream or log reads; by default, parts that together hold
    each query or row once.
    """
    named = settings.get("parts") or [settings[key] for key in ("train", "test") if key in settings]
    return named or list(dataset.cover)


def tables_of(datasets, dataset: str, parts=None) -> list[str]:
    """The parquet tables of some parts of a data set; by default, of parts that together hold each
    query or row once.
    """
    return [
        TABLE.format(dataset=datasets[dataset].stored, part=part)
        for part in parts or datasets[dataset].cover
    ]
