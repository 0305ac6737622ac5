"""The families of experiments, and what each declares. Light to import: the workflow and every job may ask.

A family is a folder with a `Family` in its `family.py`. `FAMILIES` names them all; nothing else in the project names
one, but for its own folder, study files, tests and docs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from scant.declared import Learner, Setting, called, own_class
from scant.errors import unknown

FAMILIES = {  # by their kind, in the order of the page
    "perceptron": "scant.online.family:Perceptron",
    "top": "scant.online.family:Top",
    "fixed-items": "scant.games.family:FixedItems",
    "ads": "scant.ads.family:Ads",
}


@dataclass(frozen=True)
class Place:
    """Where learners play: streams, games or logs.

    key : its key in a study file; a single one is called `name`
    about : what it is, in a sentence
    schema : the JSON schema of one
    check : takes the settings of one and the data sets by id; raises a SettingError if it cannot be
    readings : the choices that a study makes in it, which a sweep may vary
    level : what one has for a reading that can change it, given (settings, reading, data sets or None), else None
    changes : whether a reading can change one, given (settings, reading)
    """

    key: str
    name: str
    about: str
    schema: Mapping[str, Any]
    check: Callable[[dict, dict], None]
    readings: tuple[str, ...] = ()
    level: Callable[[dict, str, Mapping | None], Any] = lambda settings, reading, datasets: None
    changes: Callable[[dict, str], bool] = lambda settings, reading: False


def asked_for(study: dict, experiment: str, name: str) -> bool:
    """Whether an experiment names a figure among its own."""
    return name in study["experiments"][experiment]["figures"]


def always(study: dict, experiment: str, name: str) -> bool:
    """Of every experiment."""
    return True


@dataclass(frozen=True)
class Shown:
    """A figure, if it is drawn, else a table.

    name : of its files
    caption : what it shows, in sentences
    frame : the function that makes its frame, as "module:function"
    draw : the function that draws that, likewise; none for a table
    reads : what the frame is made of: "traces" (the function is given them and the experiments' details), "regret"
        (comparators besides), "times", "coverage", "streams" or "logs" (the paths of their files), or "nothing" (but
        the study's seed, if it takes one)
    heading : what the page calls it; made of the name if absent
    options : further arguments of the frame's function
    shows : whether an experiment is in it: given (study, experiment, name)
    sources : of what reads logs or shows ads, the kinds of logs that it is of
    """

    name: str
    caption: str
    frame: str
    draw: str = ""
    reads: str = "traces"
    heading: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    shows: Callable[[dict, str, str], bool] = always
    sources: tuple[str, ...] = ()

    @property
    def writer(self) -> str:
        """What writes its files, as "module:function"."""
        return "scant.present.figures:save" if self.draw else "scant.present.tables:write"

    @property
    def modules(self) -> list[str]:
        """The modules that make it."""
        return [dotted.partition(":")[0] for dotted in (self.frame, self.draw, self.writer) if dotted]


@dataclass(frozen=True)
class Quantity:
    """What a claim may be of: one number for each stream (game, log), learner and seed.

    words : what figures call it, with its unit
    values : the function that works it out, as "module:function". It takes an experiment as played
        (`scant.present.traces.Played`) and the claim's `options`, and gives a frame with a row for each `stream`,
        `learner` and `seed`, their `value`, and `bound` where there is one
    tuned : whether it depends on how rates are chosen
    between : the ends that it must lie between, where chance has no part in it
    compared : whether it says by itself that it is a comparison
    """

    words: str
    values: str
    options: tuple[str, ...] = ()
    tuned: bool = False
    between: tuple[float, float] | None = None
    compared: bool = False


@dataclass(frozen=True)
class Job:
    """One run file to make: a place, its learner or learners, and a batch of seeds.

    path : below results/{study}/runs, without ending: experiment, place, learner if it has one, and seeds
    settings : all that can change its result, but for the seeds
    seeds : which it plays
    inputs : the files that it reads, by what they are
    player : what the last id of its path is of
    """

    path: str
    settings: dict
    seeds: list[int]
    inputs: dict[str, list[str]]
    player: str = "learner"

    @property
    def identity(self) -> dict[str, str]:
        """The ids of its experiment, place and learner (or judge)."""
        return dict(zip(("experiment", "stream", self.player), self.path.split("/")[:-1], strict=False))

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(file for files in self.inputs.values() for file in files))


class Family:
    """What all families share; each says the rest of itself.

    kind : its name in study files
    about : what its learners do, in a few words
    place : where they play
    settings : of its experiments, besides those that all have (`scant.study.schema.COMMON`)
    learners : the classes of its built-in learners, by kind
    shown : its figures and tables, in the page's order
    quantities : what claims may be of
    told : settings that reports are told, besides readings
    sections : what a study has of the family besides experiments and places: the schema of each key
    engine : the function that makes a run file, as "module:function". It takes the settings of a `Job` with `study`,
        `experiment`, `stream` (the place's id) and `learner`, if it has one; the file to write; the seeds; and the
        files that it reads, by what they are. A run imports its module, and nothing of the family besides: whatever
        that imports may change a result
    memory, minutes : what a run takes at most, in MB and minutes
    """

    kind: str
    about: str
    engine: str
    place: Place
    settings: tuple[Setting, ...] = ()
    learners: Mapping[str, type[Learner]] = {}
    shown: tuple[Shown, ...] = ()
    quantities: Mapping[str, Quantity] = {}
    told: tuple[str, ...] = ()
    sections: Mapping[str, Mapping] = {}
    memory, minutes = 2500, 15

    @property
    def code(self) -> str:
        """The module that its runs start from."""
        return self.engine.partition(":")[0]

    # --- planning

    def check(self, study: dict, datasets: dict, experiment: dict) -> None:
        """Raise a SettingError for an experiment that cannot be played, as far as that shows without its data.

        Its settings keep their rules, and its places, learners and figures are there and fit the family.
        """

    def jobs(self, study: dict, datasets: Mapping, name: str) -> list[Job]:
        """The run files of an experiment."""
        raise NotImplementedError

    def comparators(self, study: dict, name: str) -> list[Job]:
        """The files of the best fixed weights that the regret of an experiment is measured against, if it is."""
        return []

    def played(self, experiment: dict) -> dict:
        """The settings of an experiment that its runs are given: all that can change their results."""
        played = [setting.name for setting in self.settings if setting.plays]
        return {name: experiment[name] for name in played if name in experiment}

    def conditions(self, experiment: dict) -> dict:
        """The settings of an experiment that what its runs measure may depend on: those played, and all readings."""
        conditions = [setting for setting in self.settings if (setting.plays or setting.reading) and not setting.adds]
        return {setting.name: experiment[setting.name] for setting in conditions if setting.name in experiment}

    def details(self, study: dict, name: str) -> dict:
        """What reports are told of an experiment: its kind, readings, seeds, and the names to show."""
        experiment = study["experiments"][name]

        def titles(key: str) -> dict:
            return {id: study[key][id].get("title", id) for id in experiment[key]}

        return {
            "kind": self.kind,
            "readings": self.played(experiment),
            "seeds": experiment["seeds"],
            **{key: experiment[key] for key in self.told},
            "title": experiment.get("title", name),
            "titles": {"streams": titles(self.place.key), "learners": titles("learners")},
        }

    def certain(self, study: dict, place: str) -> bool:
        """Whether chance has no part in what is played at a place."""
        return False

    def idle(self, study: dict, experiment: dict, name: str) -> str:
        """Where a reading changes nothing in an experiment, for a reason that no setting declares: that reason."""
        return ""

    def read(self, plan, shown: Shown) -> list[str]:
        """The files that a figure or table is made of, if it `reads` something else than traces, times or nothing.

        plan : the study's `scant.study.plan.Plan`
        """
        return []

    # --- presenting

    def identity(self, run: dict) -> dict:
        """What a run file's metadata say of all its rows: columns of the traces, besides those of the file."""
        raise NotImplementedError

    def completed(self, table, seeds: int):
        """A run file's table with the columns that its rows settle; `seeds` is how many are reported."""
        return table

    def tunings(self, study: dict, details: dict, traces, learners: set[str]) -> list[str | None]:
        """The ways of choosing rates that the runs of some learners allow, the experiment's own first."""
        return [details.get("tuning")]


@cache
def family(kind: str) -> Family:
    """The family of experiments of this kind; the others are not imported.

    Raises
    ------
    SettingError : there is no such family
    """
    if kind not in FAMILIES:
        raise unknown("kind of experiment", kind, FAMILIES)
    return called(FAMILIES[kind])()


def families() -> dict[str, Family]:
    """All families, by kind."""
    return {kind: family(kind) for kind in FAMILIES}


def of(experiment: Mapping) -> Family:
    """The family of an experiment, of a job or of details: whatever has its `kind`."""
    return family(experiment["kind"])


def places() -> dict[str, Place]:
    """Where learners of all families play, by their key in a study."""
    return {family.place.key: family.place for family in families().values()}


@cache
def kinds() -> dict[str, list[type[Learner]]]:
    """The classes of each kind of built-in learner: one of each family that has it, unless they share it."""
    found = {}
    for family in families().values():
        for kind, learner in family.learners.items():
            if learner not in found.setdefault(kind, []):
                found[kind].append(learner)
    return found


def classes(kind: str) -> list[type[Learner]]:
    """The classes that a kind of learner stands for; of one's own, if it declares anything, that one."""
    if ":" in kind:
        return [learner for learner in [own_class(kind)] if hasattr(learner, "looks")]
    return kinds().get(kind, [])


def shown() -> Iterator[tuple[Family, Shown]]:
    """All figures and tables, in the page's order."""
    for family in families().values():
        yield from ((family, shown) for shown in family.shown)
