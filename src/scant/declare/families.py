"""The families of experiments, and what each of them declares.

A family is a folder with a subclass of `Family` in its `family.py`. `FAMILIES` lists them all.
Outside its folder, only study files, tests and docs name a family. This module is quick to import.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any

from scant.declare.declarations import MOST, Learner, Setting, called, own, own_class
from scant.errors import SettingError, check_name, errors_of

FAMILIES = {  # by kind, in the order in which the page shows them
    "perceptron": "scant.rankers.family:Perceptron",
    "top": "scant.rankers.family:Top",
    "fixed-items": "scant.games.family:FixedItems",
    "ads": "scant.ads.family:Ads",
    "generalisation": "scant.generalisation.family:Generalisation",
    "rankings": "scant.clicklogs.family:Rankings",
}
HEADLINE = "feedback"  # the question that pages open with

# what figures and tables are made of
READS = ("traces", "regret", "coverage", "streams", "logs", "nothing")
TITLE = {
    "description": "The name that figures and tables show; the id if absent.",
    "type": "string",
}
CLOSED = {"type": "object", "additionalProperties": False}
TYPES = {
    int: {"type": "integer", "maximum": MOST},
    int | None: {"type": "integer", "maximum": MOST},
    float: {"type": "number"},
    str: {},
}


@dataclass(frozen=True)
class Place:
    """What learners of a family play on: streams, games or logs. A study defines several of them,
    each with an id.

    key : the section of a study file that defines them: "streams", "games" or "logs"
    name : what a single one is called: "stream", "game" or "log"
    about : what they are, in a sentence
    keys : the JSON schema of a place, without its title and what simulations take, which `schema`
        adds
    check : takes the settings of a place and the data sets by id; raises a SettingError if the
        settings are not valid
    simulations : of places that are simulated, the key that names the simulation, and "module:name"
        of a mapping from these names to the functions that draw it, whose parameters are its
        `settings`
    own : whether a simulation may be a user's own function, "module:function", whose settings it
        checks itself
    rules : of simulations' settings, by name: what each means, in a sentence, and its limits, as a
        JSON schema. Types and defaults are in the functions' signatures; a parameter without a rule
        is no setting
    readings : the settings of a place that are readings, which a sweep may vary
    level : takes (settings, reading, data sets or None) and returns the value of the reading, or
        None if it cannot change the place
    changes : takes (settings, reading) and returns whether the reading can change the place
    """

    key: str
    name: str
    about: str
    keys: Mapping[str, Any]
    check: Callable[[dict, dict], None]
    simulations: tuple[str, str] | None = None
    own: bool = False
    rules: Mapping[str, tuple[str, Mapping]] = field(default_factory=dict)
    readings: tuple[str, ...] = ()
    level: Callable[[dict, str, Mapping | None], Any] = lambda settings, reading, datasets: None
    changes: Callable[[dict, str], bool] = lambda settings, reading: False

    @cached_property
    def schema(self) -> dict:
        """The JSON schema of a place."""
        keys = dict(self.keys)
        description, properties = (
            keys.pop("description"),
            {"title": TITLE, **keys.pop("properties")},
        )
        if self.simulations:
            simulated, clauses = self._simulated()
            properties |= simulated
            keys |= {"allOf": clauses} if clauses else {}
        return {"description": description, **CLOSED, **keys, "properties": properties}

    def _simulated(self) -> tuple[dict, list[dict]]:
        """The schemas of a simulation's name and of its settings, and the clauses that say which go
        together.
        """
        key, dotted = self.simulations
        named, settings = self.keys["properties"][key], self.keys["properties"]["settings"]
        taken = {
            simulation: [
                one for one in inspect.signature(draw).parameters.values() if one.name in self.rules
            ]
            for simulation, draw in called(dotted).items()
        }
        types = {
            one.name: TYPES[one.annotation] for parameters in taken.values() for one in parameters
        }
        rules = {
            name: {"description": about, **types[name], **limits}
            for name, (about, limits) in self.rules.items()
        }
        built_in = {**settings, **CLOSED, "default": {}, "properties": rules}
        clauses = [
            _clause(key, simulation, parameters)
            for simulation, parameters in taken.items()
            if len(parameters) < len(rules)
        ]
        if not self.own:
            return {key: {**named, "enum": list(taken)}, "settings": built_in}, clauses
        # A user's own function checks its settings itself, so that only those of the others are
        # held to `built_in`.
        is_built_in = {"properties": {key: {"pattern": "^[^:]*$"}}, "required": [key]}
        of_built_in = {"if": is_built_in, "then": {"properties": {"settings": built_in}}}
        any_name = {**named, "type": "string", **named_or_own(list(taken))}
        any_settings = {**settings, "type": "object", "default": {}}
        return {key: any_name, "settings": any_settings}, [of_built_in, *clauses]


def titles(entries: Mapping[str, Mapping]) -> dict[str, str]:
    """The titles of places, learners or experiments by id, which stands for a title if there is
    none.
    """
    return {id: settings.get("title", id) for id, settings in entries.items()}


def named_or_own(names: list[str]) -> dict:
    """The JSON schema of a name: one of `names`, or a user's own function, "module:function"."""
    return {
        "if": {"pattern": ":"},
        "then": {"pattern": "^[A-Za-z0-9_.]+:[A-Za-z0-9_]+$"},
        "else": {"enum": names},
    }


def _clause(key: str, simulation: str, parameters: list[inspect.Parameter]) -> dict:
    """The JSON schema's clause that a simulation has only the settings that its function takes.

    key : the key that names the simulation; parameters : of its function
    """
    allowed = {"propertyNames": {"enum": [one.name for one in parameters]}}
    then = {"properties": {"settings": allowed}}
    if needed := [one.name for one in parameters if one.default is one.empty]:
        allowed["required"], then["required"] = needed, ["settings"]
    return {"if": {"properties": {key: {"const": simulation}}, "required": [key]}, "then": then}


def always(study: dict, experiment: str) -> bool:
    """Every experiment is shown."""
    return True


@dataclass(frozen=True)
class Shown:
    """A figure or a table. It is a figure if it has a function that draws it.

    name : of its files
    caption : what it shows, in sentences
    frame : the function that computes its data frame, as "module:function"
    draw : the function that draws the frame, as `module:name`; "" for a table
    reads : the input of the function `frame`: "traces" (the traces and the experiments' details),
        "regret" (these and comparators), "coverage" (the rows of the study of bounds), "streams"
        or "logs" (the paths of their files), or "nothing" (at most the study's seed)
    heading : its title on the page, of a figure the question that it answers; made from the name
        if empty
    repeats : the figure or table of a paper that it repeats, as "Figure 2.2 of the thesis"
    options : further keyword arguments of the function `frame`
    asked : whether it shows only experiments that list its name under `figures`
    shows : takes (study, experiment); whether it can show an experiment
    printed : the columns that LaTeX prints of a wide table, see `scant.present.tables.latex`
    sources : if it shows logs or experiments on them, the kinds of logs that it shows; empty for
        all
    """

    name: str
    caption: str
    frame: str
    draw: str = ""
    reads: str = "traces"
    heading: str = ""
    repeats: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    asked: bool = False
    shows: Callable[[dict, str], bool] = always
    printed: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def includes(self, study: dict, experiment: str) -> bool:
        """Whether it shows an experiment of a study."""
        listed = not self.asked or self.name in study["experiments"][experiment]["figures"]
        return listed and self.shows(study, experiment)

    @property
    def writer(self) -> str:
        """The function that writes its files, as "module:function"."""
        return "scant.present.figures:save" if self.draw else "scant.present.tables:write"

    @property
    def modules(self) -> list[str]:
        """The modules of the functions that compute, draw and write it."""
        named = filter(None, (self.frame, self.draw, self.writer))
        return [dotted.partition(":")[0] for dotted in named]


@dataclass(frozen=True)
class Quantity:
    """What a claim can be about: one number for each place, learner and seed of an experiment.

    words : its name in figures, with its unit
    values : the function that computes it, as "module:function". It takes a
        `scant.present.traces.Played` and the claim's `options`, and returns a frame with the
        columns `stream` (the place's id), `learner`, `seed` and `value`, and those of
        `scant.verdict.claims.VALUES` that it has
    options : the keys of a claim that are passed to the function
    plays : trivial plays, such as weights 0, each a column of the frame: what `value` would have
        been
    tuned : whether it depends on how learning rates are chosen
    certain : whether it involves no chance, so that one seed has it
    most : the most that it may be, for a quantity that involves no chance
    compared : whether `words` already says that it compares two things
    share : whether each value is 0 or 1, so that its mean is a share, and has exact tests
    range : the least and the largest value that it can have, if that is known. If it is of a
        `measure`, among its options, the range is that of measures between 0 and 1
    reads : what the function takes: the "traces" of an experiment, or "coverage", the rows of the
        study of bounds (see `scant.ads.coverage.coverage`) that have the columns' values that the
        claim is on
    better : "high" or "low", which values are better, of the one quantity of a family that `scant
        table` ranks by
    """

    words: str
    values: str
    options: tuple[str, ...] = ()
    plays: tuple[str, ...] = ()
    tuned: bool = False
    certain: bool = False
    most: float | None = None
    compared: bool = False
    share: bool = False
    range: tuple[float, float] | None = None
    reads: str = "traces"
    better: str = ""


@dataclass(frozen=True)
class Answer:
    """A sentence that answers a question by the verdict on a claim; the page adds where it is so,
    and the numbers.

    claim : its id
    subject : who or what the sentence is about, "SLAM"
    holds, fails : what is said of the subject if the claim holds, "keeps up with ListNet", and if
        it fails
    """

    claim: str
    subject: str
    holds: str
    fails: str


@dataclass(frozen=True)
class Question:
    """A question that the page of a study opens with, if the study tests one of its claims or has
    one of its figures.

    id : by which the page links to it
    text : the question
    claims : patterns of the ids of claims that it is about, as for `fnmatch`
    figures : names of figures that show it, the one to prefer first
    answers : sentences about some of these claims, the most telling first; on the page those whose
        claims are decided come first. If no claim of theirs is tested, the page says how many of
        `claims` hold and fail
    row : the only kind of row that it is about, such as "theorem"; any if empty
    alone : whether a figure without a claim is about it, too
    """

    id: str
    text: str
    claims: tuple[str, ...]
    figures: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    row: str = ""
    alone: bool = True


QUESTIONS = (  # of all families, after theirs
    Question("theorems", "Which theorems fail as printed?", ("*",), row="theorem"),
)


@dataclass(frozen=True)
class Job:
    """A run file to make: of one place, one learner or all of them, and a batch of seeds.

    path : of the file below results/{study}/runs, without its ending:
        experiment/place/learner/seeds, or experiment/place/seeds if all learners play in one job
    settings : everything that can change its result, except the seeds
    seeds : the seeds that it plays
    inputs : the paths of the files that it reads, by what they hold, such as "streams"
    player : whose id follows the place's in the path: "learner" or "judge"
    """

    path: str
    settings: dict
    seeds: list[int]
    inputs: dict[str, list[str]]
    player: str = "learner"

    @property
    def identity(self) -> dict[str, str]:
        """The ids in its path: `experiment`, `stream` (the place), and `learner` or `judge` if it
        has one.
        """
        names = ("experiment", "stream", self.player)
        return dict(zip(names, self.path.split("/")[:-1], strict=False))

    @property
    def files(self) -> list[str]:
        """The paths of all files that it reads, each once."""
        return list(dict.fromkeys(file for files in self.inputs.values() for file in files))


class Family:
    """What all families share. A subclass declares what is special to a family.

    kind : its name in study files
    about : what its learners do, in a few words
    engine : the function that makes a run file, as "module:function". It takes the settings of a
        `Job`, together with `study`, `experiment`, `stream` (the place's id) and `learner`, if the
        job has one; the file to write; the seeds; and the files to read, as `Job.inputs`. Besides
        these settings, only what this function's module imports can change a result
    place : what its learners play on
    settings : of its experiments, besides those of all experiments (`scant.study.schema.COMMON`)
    learners : the classes of its built-in learners, by kind
    methods : which a user's own class needs, to play in its experiments
    shown : its figures and tables, in the page's order
    quantities : what claims can be about, by name
    questions : what the page of a study opens with
    told : the settings that reports need, besides those of `played`
    sections : the family's own sections of a study file, besides experiments and places: the JSON
        schema of each
    toys : the function without arguments that plays a toy with each compiled loop of the family,
        for the types that studies call it with, as "module:function"; empty if there are none
    memory, minutes : what a run needs at most, in MB and minutes
    """

    kind: str
    about: str
    engine: str
    place: Place
    settings: tuple[Setting, ...] = ()
    learners: Mapping[str, type[Learner]] = {}
    methods: tuple[str, ...] = ()
    shown: tuple[Shown, ...] = ()
    quantities: Mapping[str, Quantity] = {}
    questions: tuple[Question, ...] = ()
    told: tuple[str, ...] = ()
    sections: Mapping[str, Mapping] = {}
    toys = ""
    memory, minutes = 2500, 15

    @property
    def code(self) -> str:
        """The module that runs are started from."""
        return self.engine.partition(":")[0]

    # --- planning

    def check(self, study: dict, datasets: dict, experiment: dict) -> None:
        """Raise a SettingError if the experiment cannot be played, as far as that can be told
        without its data.

        Its settings fit their schema already; its places, learners and figures exist and fit the
        family.
        """

    def jobs(self, study: dict, datasets: Mapping, name: str) -> list[Job]:
        """The run files of an experiment."""
        raise NotImplementedError

    def comparators(self, study: dict, name: str) -> list[Job]:
        """The files of best fixed weights, against which an experiment's regret is measured; none
        without a regret.
        """
        return []

    def played(self, experiment: dict) -> dict:
        """The settings of an experiment that are passed to its runs: all that can change their
        results.
        """
        played = [setting.name for setting in self.settings if setting.plays]
        return {name: experiment[name] for name in played if name in experiment}

    def conditions(self, experiment: dict) -> dict:
        """The settings of an experiment that its measured values may depend on: those played, and
        all readings.
        """
        mattering = (one for one in self.settings if one.plays or one.reading)
        names = [one.name for one in mattering if not one.adds]
        return {name: experiment[name] for name in names if name in experiment}

    def details(self, study: dict, name: str) -> dict:
        """What reports need to know of an experiment: its kind, readings and titles."""
        experiment = study["experiments"][name]

        def titles_of(key: str) -> dict:
            return {id: study[key][id].get("title", id) for id in experiment[key]}

        return {
            "kind": self.kind,
            "readings": self.played(experiment),
            **{key: experiment[key] for key in self.told},
            "title": experiment.get("title", name),
            "titles": {"streams": titles_of(self.place.key), "learners": titles_of("learners")},
        }

    def certain(self, study: dict, place: str) -> bool:
        """Whether the place with this id involves no chance, so that all seeds give the same
        result.
        """
        return False

    def drawn_anew(
        self, study: dict, datasets: Mapping, experiment: dict, place: str, learner: str
    ) -> bool:
        """Whether each seed of a learner at a place draws something anew.

        If not, all seeds are one observation.
        """
        return True

    def draws(self, study: dict, learner: str) -> bool:
        """Whether the learner with this id draws random numbers; a user's own does unless its class
        denies it.
        """
        kind = study["learners"][learner]["kind"]
        return getattr(own_class(kind) if ":" in kind else self.learners[kind], "draws", True)

    def idle(self, study: dict, experiment: dict, name: str) -> str:
        """Why the reading `name` changes nothing in an experiment, beyond what settings declare; ""
        if it may change something.
        """
        return ""

    def read(self, plan, shown: Shown) -> list[str]:
        """The files that a figure or table reads in place of traces; none if it reads traces.

        plan : the study's `scant.study.plan.Plan`
        """
        return []

    # --- presenting

    def identity(self, run: dict) -> dict:
        """The columns of traces that are the same in all rows of a run file, from its metadata
        `run`: value by name.
        """
        raise NotImplementedError

    def completed(self, table):
        """A run file's table, with the columns that are computed from its rows."""
        return table

    def feedback(self, traces) -> dict[str, str]:
        """What each learner of an experiment sees, by its id: "top 2"; empty if learners of the
        family see the same.
        """
        if "k" not in traces:
            return {}
        first = traces[~traces["learner"].duplicated()]
        return {
            learner: f"top {k}" if k > 0 else "all"
            for learner, k in zip(first["learner"], first["k"], strict=True)
        }

    def further_measures(self, columns) -> list[str]:
        """The measures among the columns of traces that an experiment asked for, besides those that
        all runs record.
        """
        return []

    def tunings(self, study: dict, details: dict, traces, learners: set[str]) -> list[str | None]:
        """The readings of `tuning` that the runs of some learners allow, the experiment's own
        first; [None] if it has none.
        """
        return [details.get("tuning")]


@cache
def family(kind: str) -> Family:
    """The family of this kind. The modules of other families are not imported.

    Raises
    ------
    SettingError : there is no such family
    """
    check_name("kind of experiment", kind, FAMILIES)
    return called(FAMILIES[kind])()


def families() -> dict[str, Family]:
    """All families, by kind."""
    return {kind: family(kind) for kind in FAMILIES}


def of(settings: Mapping) -> Family:
    """The family that the `kind` of an experiment, of a job or of details names."""
    return family(settings["kind"])


def places() -> dict[str, Place]:
    """What learners of all families play on, by the key of its section in a study."""
    return {family.place.key: family.place for family in families().values()}


@cache
def kinds() -> dict[str, list[type[Learner]]]:
    """The classes of each kind of built-in learner.

    Families that have the same kind may have different classes.
    """
    classes_by_kind = {}
    for family in families().values():
        for kind, learner in family.learners.items():
            if learner not in classes_by_kind.setdefault(kind, []):
                classes_by_kind[kind].append(learner)
    return classes_by_kind


def classes(kind: str) -> list[type[Learner]]:
    """The classes of a kind of learner; for a user's own, its class if that declares how it is
    drawn, else none.
    """
    if ":" in kind:
        return [learner for learner in [own_class(kind)] if hasattr(learner, "looks")]
    return kinds().get(kind, [])


def questions() -> list[Question]:
    """The questions that pages open with, in their order: the headline, then by family."""
    by_family = [question for family in families().values() for question in family.questions]
    return sorted([*by_family, *QUESTIONS], key=lambda question: question.id != HEADLINE)


def shown() -> Iterator[tuple[Family, Shown]]:
    """All figures and tables, in the page's order."""
    for family in families().values():
        yield from ((family, shown) for shown in family.shown)


def own_shown(named: str) -> Shown:
    """A user's own figure or table, a `Shown` that is named as "module:NAME".

    Raises
    ------
    SettingError : it cannot be imported, or is none; or what it names is no function, or cannot be
        read
    """
    shown = _own(named, "figure or table", Shown, "frame", "draw")
    with errors_of(named):
        check_name("input (reads)", shown.reads, READS)
    return shown


def own_quantity(named: str) -> Quantity:
    """A user's own quantity, a `Quantity` that is named as "module:NAME".

    Raises
    ------
    SettingError : it cannot be imported, or is none; or what it names is no function
    """
    quantity = _own(named, "quantity", Quantity, "values")
    if quantity.options or quantity.reads != "traces":
        raise SettingError(f"quantity {named!r}: your own reads traces, and has no options")
    return quantity


def own_quantities(claims: Mapping[str, dict]) -> dict[str, Quantity]:
    """The quantities of a user's own that claims are about, by "module:NAME"."""
    parts = (part for claim in claims.values() for part in (claim, *claim.get("cells", ())))
    names = dict.fromkeys(part.get("quantity", "") for part in parts)
    return {name: own_quantity(name) for name in names if ":" in name}


def _own(named: str, what: str, form: type, *functions: str) -> Any:
    """The object that "module:NAME" names in a user's module, which has to be a `form` whose fields
    `functions` name functions.
    """
    declared = own(named, what, "NAME")
    if not isinstance(declared, form):
        raise SettingError(
            f"{what} {named!r} is {type(declared).__name__}, and is to be a "
            f"scant.declare.families.{form.__name__}. docs/extending.md has an example"
        )
    for field_name in functions:
        dotted = getattr(declared, field_name)
        if dotted and not callable(own(dotted, f"{field_name} of {named}:", "function")):
            raise SettingError(f"{field_name} of {named}: {dotted} is no function")
    return declared


def shown_of(study: Mapping) -> list[tuple[Family, Shown]]:
    """A user's own figures and tables that the experiments of a study name, each with the family of
    the experiments that name it.

    Raises
    ------
    SettingError : a class that `own_shown` refuses; two with one name; or one named by experiments
        of several families
    """
    declarations, named = {}, dict.fromkeys((one.name for _, one in shown()), "of scant's own")
    for experiment, settings in study["experiments"].items():
        for dotted in (name for name in settings["figures"] if ":" in name):
            where = f"experiments.{experiment}.figures: {dotted}"
            family, _ = declarations.get(dotted, (of(settings), None))
            if family is not of(settings):
                raise SettingError(
                    f"{where} shows experiments of another kind, too. Declare one for each kind"
                )
            if dotted in declarations:
                continue
            with errors_of(f"experiments.{experiment}.figures"):
                declared = own_shown(dotted)
            if declared.name in named:
                raise SettingError(
                    f"{where}: a figure or table {named[declared.name]} has the name "
                    f"{declared.name!r}. Choose another"
                )
            named[declared.name] = f"({dotted})"
            names = partial(_names, dotted)
            declarations[dotted] = of(settings), replace(declared, asked=False, shows=names)
    return list(declarations.values())


def _names(dotted: str, study: dict, experiment: str) -> bool:
    """Whether the experiment lists a figure of a user's own under `figures`."""
    return dotted in study["experiments"][experiment]["figures"]
