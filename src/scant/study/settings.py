"""Loading a study: its settings are checked, defaults are filled in, and sweeps are expanded to
experiments.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from scant.data import fetch, registry
from scant.declare import families
from scant.declare.declarations import TUNING, Learner, own, own_class, settings_of
from scant.errors import SettingError, check_name, errors_of, nearest
from scant.files import write_text
from scant.schema import check, of_project, read_yaml, with_defaults
from scant.study import absent_data, grouping, plan, settled, sweeps
from scant.study.checked import check_once
from scant.study.schema import (
    learner_settings,
    own_settings,
    schema,
)
from scant.study.selectors import check_selectors, quantities

DEFAULT = "config/config.yaml"  # the study that Snakemake plays by default
CLAIMS_SCHEMA = "workflow/schemas/claims.schema.yaml"
JOBS = 100_000  # the project's largest study has 1,228
TAKEN = ("data", "reference")  # folders of results that are no study's


def study_file() -> str:
    """The path of the study file that plain `snakemake` plays; in an unpacked archive, of its
    study's file.
    """
    manifests = [*Path("results").glob("*/manifest.json")]
    unpacked = Path("ro-crate-metadata.json").is_file() and not Path(DEFAULT).is_file()
    if not unpacked or len(manifests) != 1:
        return DEFAULT
    given = manifests[0].with_name("study.json")
    return read_yaml(manifests[0])["made"]["study_file"] or str(given)


def load(
    config: dict, registry_path="config/datasets.yaml", checked: bool = False
) -> tuple[dict, dict]:
    """Check a study's settings, fill in the defaults, expand its sweeps, and read the registry of
    data sets.

    config : the content of a study file
    checked : whether the settings were checked before, at planning, so that a job need not do so:
        it takes seconds

    Returns
    -------
    study : the complete settings, with an experiment for each combination of a sweep (see
        `scant.study.sweeps`), and without the data sets that its key `missing` names (see
        `scant.study.absent_data.without`)
    datasets : the data sets of the registry and of the study, by id

    Raises
    ------
    SettingError : names the key at fault, and the nearest valid name if there is one
    """
    if not checked:
        check_once(config, schema(), "study")
        if config["study"].casefold() in TAKEN:
            raise SettingError(
                f"study: results/{config['study']} is for what studies share. Choose another id"
            )
    study = with_defaults(config, schema())
    datasets = registry.load(registry_path, study["datasets"], study=study["study"])
    if not checked:
        for name in study["tables_of"]:
            registry.find(datasets, name)
        _check(study, datasets)
    study = sweeps.expand(study, datasets)
    _check_jobs(study)
    swept = any("stands_for" in experiment for experiment in study["experiments"].values())
    if swept and not checked:
        _check(study, datasets)
    if not checked:
        for section in (*families.places(), "learners", "experiments"):
            _refuse_alike(section, study[section])
    names = study.get("missing", absent_data.STOP)
    if isinstance(names, list):
        study = absent_data.without(study, datasets, names)
    return study, datasets


def decide_missing(
    config: dict, registry_path="config/datasets.yaml"
) -> tuple[dict, dict[str, str]]:
    """A study file's content with `leave-out`, under the key `missing`, replaced by the data sets
    that cannot be had.

    What is left out is thus decided once, and no job looks at the disk again.

    Returns
    -------
    config : the content of the study file, with a list of data sets under `missing`
    missing_files : by data set left out, see `scant.study.absent_data.absent`
    """
    if config.get("missing") != absent_data.LEAVE_OUT:
        return config, {}
    missing_files = absent_data.absent(*load(config, registry_path))
    return config | {"missing": list(missing_files)}, missing_files


def _refuse_alike(section: str, ids) -> None:
    """Raise a SettingError for ids that differ in letter case alone: on some systems they are one
    file.
    """
    spelling = {}
    for id in ids:
        if (other := spelling.setdefault(id.casefold(), id)) != id:
            raise SettingError(
                f"{section}: {other!r} and {id!r} differ in upper and lower case alone. Rename one "
                "of them"
            )


def settle(config: dict, study_files: Sequence, target) -> tuple[settled.Settled, dict[str, str]]:
    """Check a study, and write its settled study, see `scant.study.settled`.

    config : the content of the study file
    study_files : the files that Snakemake read it from, the study file last
    target : the file to write

    Returns
    -------
    settled : the settled study
    missing_files : by data set left out, see `decide_missing`

    Raises
    ------
    SettingError : names the key at fault
    """
    decided, missing_files = decide_missing(config)
    study, datasets = load(decided)
    check_own_files(study, datasets)
    if study_files:
        check_file(config, os.path.relpath(study_files[-1]), Path(target).with_suffix(".file"))
    stated = claims(*claims_files(study), datasets=datasets, study=study)
    content = settled.content(decided, plan.Plan(study, datasets), stated)
    settled.save(target, content)
    return settled.Settled(content), missing_files


def unplayed(config: dict) -> list[str]:
    """A line for each section with learners or places that a study file defines and no experiment
    names.
    """
    entries = {key: config.get(key) or {} for key in (*families.places(), "learners")}
    named = set()
    for experiment in config["experiments"].values():
        named.update(*(experiment.get(key, ()) for key in entries))
    # of populations
    named |= {one.get("stream") for section in entries.values() for one in section.values()}
    unnamed = {key: [id for id in section if id not in named] for key, section in entries.items()}
    return [f"{key}: no experiment names {', '.join(ids)}" for key, ids in unnamed.items() if ids]


def check_file(config: dict, file, record) -> None:
    """Refuse a study file whose id another file has, whose results it would overwrite; else
    write its path to `record`.

    A file that differs only in numbers of seeds goes on with the results of the other.

    Parameters
    ----------
    config : the content of the study file
    file : its path
    record : the file that keeps the path of the study file that was planned last under this id

    Raises
    ------
    SettingError : names both files
    """
    file, record, id = str(file), Path(record), config["study"]
    first = record.read_text(encoding="utf-8") if record.is_file() else ""
    if first == file:
        return
    if first and Path(first).is_file() and Path("results", id).is_dir():
        earlier = read_yaml(first)
        if earlier.get("study") == id and _without_seeds(earlier) != _without_seeds(config):
            raise SettingError(
                f"study: {file} and {first} are both named {id!r}, and results/{id} has the "
                "results of the latter. Give one of them another id"
            )
    write_text(record, file)


def check_own_files(study: dict, datasets: Mapping) -> None:
    """Refuse a file of the study's own data that is neither at its path nor where mirrors and data/
    are looked up.

    Files of sets with a folder or an address are not looked for: they may come later.

    study, datasets : as `load` returns them

    Raises
    ------
    SettingError : names the file, and the nearest name in its folder
    """
    mirror = study["data"]["mirror"] or os.environ.get("SCANT_DATA")
    for name, entry in study["datasets"].items():
        for part, settings in entry["parts"].items():
            file = Path(settings["file"])
            elsewhere = {"archive", "folder"} & entry.keys() or {"url", "package"} & settings.keys()
            if elsewhere:
                continue
            if fetch.on_disk(datasets[name], datasets[name].part(part), mirror):
                continue
            near = nearest(file.name, [path.name for path in file.parent.glob("*")])
            raise SettingError(
                f"datasets.{name}.parts.{part}: there is no file {file}"
                + (f"; did you mean {file.with_name(near)}?" if near else "")
            )


def _without_seeds(config: dict) -> dict:
    experiments = {
        name: {key: value for key, value in experiment.items() if key != "seeds"}
        for name, experiment in config.get("experiments", {}).items()
    }
    return config | {"experiments": experiments}


def own_names(study: dict, stated: Mapping[str, dict]) -> list[str]:
    """All names `module:name` of a user's own code in a study and its claims.

    stated : the study's claims, see `claims`
    """
    kinds = [learner["kind"] for learner in study["learners"].values()]
    parsers = [dataset["parser"] for dataset in study["datasets"].values()]
    generators = [stream.get("generator", "") for stream in study["streams"].values()]
    listed = []
    for experiment in study["experiments"].values():
        listed += [*experiment.get("measures", ()), *experiment.get("figures", ())]
    shown = [name for _, one in families.shown_of(study) for name in (one.frame, one.draw)]
    quantities = families.own_quantities(stated)
    computed = [quantity.values for quantity in quantities.values()]
    names = dict.fromkeys([*kinds, *parsers, *generators, *listed, *shown, *quantities, *computed])
    return [name for name in names if ":" in name and not name.startswith("scant.")]


def claims_files(study: dict) -> list[str]:
    """The files with the claims that a study judges. A folder stands for all its .yaml files."""
    listed = study["claims"] or []
    files = []
    for path in [listed] if isinstance(listed, str) else listed:
        place = of_project(path)
        files += sorted(map(str, place.glob("*.yaml"))) if place.is_dir() else [path]
    return files


def claims(
    *paths,
    schema_path=CLAIMS_SCHEMA,
    datasets: Mapping | None = None,
    study: Mapping | None = None,
) -> dict[str, dict]:
    """The claims in some files, by their ids, with defaults filled in.

    They are about any quantity and table that a family declares. An entry that has `claims` is a
    group of them, whose other keys all of them have in common, see `scant.study.grouping`.

    datasets : the data sets that they may name, by id; those of the registry if None
    study : the study that judges them, whose ids and figures they may name; any ids if None

    Raises
    ------
    SettingError : names each claim with a defect, and the key at fault; or claims of two files have
        the same id
    """
    rules, stated = read_yaml(of_project(schema_path)), {}
    datasets = registry.load() if datasets is None else datasets
    allowed = rules["$defs"]["claim"]["properties"]
    allowed["quantity"]["else"]["enum"] = [*quantities(), "table"]
    own = families.shown_of(study) if study else ()
    figures = [*(one for _, one in families.shown()), *(one for _, one in own)]
    allowed["figure"]["enum"] = [one.name for one in figures if one.draw]
    allowed["table"]["enum"] = [one.name for one in figures if one.reads == "nothing"]
    for path in paths:
        content = grouping.ungrouped(read_yaml(of_project(path)), str(path))
        parts = {}
        for name, claim in content.items():
            of_claim = grouping.parts(claim)
            for number, part in enumerate(of_claim, 1):
                parts[name if len(of_claim) == 1 else f"{name}.cells.{number}"] = part
        check_once(parts, rules, str(path), of_each=True)
        for name, claim in parts.items():
            with errors_of(f"{path}: {name}"):
                check_selectors(claim, datasets, study)
        if twice := stated.keys() & content.keys():
            raise SettingError(
                f"{path}: {min(twice)}: another file of claims has this id: choose another"
            )
        stated |= with_defaults(content, rules)
    return stated


def _check(study: dict, datasets: dict) -> None:
    """Check what the schema cannot: that settings fit each other, and that what they name
    exists.
    """
    for key, place in families.places().items():
        for name, settings in study[key].items():
            with errors_of(f"{key}.{name}"):
                place.check(settings, datasets)
    for name, dataset in study["datasets"].items():
        if ":" in dataset["parser"] and not callable(own(dataset["parser"], "parser", "function")):
            raise SettingError(f"datasets.{name}: {dataset['parser']} is no function")
    _check_own(study["learners"])
    for name, learner in study["learners"].items():
        with errors_of(f"learners.{name}"):
            _check_learner(learner)
    families.shown_of(study)
    _check_ids(study)
    for name, experiment in study["experiments"].items():
        where = f"experiments.{name}"
        if swept := experiment.get("sweeps"):
            where = f"experiments.{experiment['stands_for']}.sweep: {sweeps.said(swept)}"
        with errors_of(where):
            _check_experiment(study, datasets, name)


def _check_jobs(study: dict) -> None:
    """Raise a SettingError for more jobs than Snakemake can plan."""
    jobs = 0
    for one in study["experiments"].values():
        counts = [one["seeds"]] if isinstance(one["seeds"], int) else one["seeds"]
        counts = [*counts, one.get("tuning_seeds", 0)]
        players = len(one[families.of(one).place.key]) * len(one["learners"])
        jobs += sum(-(-count // one["batch"]) for count in counts) * players
    if jobs > JOBS:
        raise SettingError(
            f"experiments: {jobs:,} jobs, and {JOBS:,} are the most: raise batch, or lower seeds"
        )


def _check_ids(study: dict) -> None:
    """Raise a SettingError for an experiment with a place or a learner that the study does not
    define.
    """
    for name, experiment in study["experiments"].items():
        for key in (families.of(experiment).place.key, "learners"):
            with errors_of(f"experiments.{name}.{key}"):
                for id in experiment[key]:
                    check_name(key[:-1], id, study[key])


def _check_own(learners: dict) -> None:
    """Check the settings of users' own learners against those that their classes declare.

    The study's schema does this for built-in ones.
    """
    rules = {}
    for name, learner in learners.items():
        if ":" in learner["kind"]:
            with errors_of(f"learners.{name}"):
                rules[name] = own_settings(own_class(learner["kind"]))
    theirs = {name: learners[name] for name in rules}
    check({"learners": theirs}, {"properties": {"learners": {"properties": rules}}}, "study")


def _check_learner(learner: dict) -> None:
    kind, kinds, errors = learner["kind"], families.kinds(), []
    if ":" not in kind:
        check_name("kind of learner", kind, kinds)
    classes = kinds.get(kind) or [own_class(kind)]
    # one of each family that has the kind; the settings need only fit one of them
    for cls in classes:
        try:
            if isinstance(cls, type) and issubclass(cls, Learner):
                cls.check(learner)
        except SettingError as error:
            errors.append(error)
    if len(errors) == len(classes):
        raise errors[0]
    settings = learner_settings(kind) or settings_of(classes[0])
    for key, setting in settings.items():
        if key in learner and setting.when:
            other, value = setting.when
            if (actual := learner.get(other, settings[other].absent)) != value:
                raise SettingError(f"{key} does nothing for the {other} {actual!r}")
    gives_rate = any(getattr(cls, "gives_rate", False) for cls in kinds.get(kind, ()))
    if "theory" in learner.get("rates", []) and not gives_rate:
        raise SettingError(f"theory gives no rate for the kind {kind!r}. Use numbers")


def _check_experiment(study: dict, datasets: dict, name: str) -> None:
    experiment = study["experiments"][name]
    family = families.of(experiment)
    if plan.total(experiment["seeds"]) > TUNING:
        raise SettingError(
            f"seeds: {TUNING:,} are the most; those that follow choose learning rates"
        )
    if not experiment[family.place.key]:
        raise SettingError(f"an experiment of kind {family.kind!r} needs {family.place.key}")
    if experiment.get("baseline"):
        with errors_of("baseline"):
            check_name("learner", experiment["baseline"], experiment["learners"])
    _check_titles(study["learners"], experiment["learners"])
    for learner in experiment["learners"]:
        _check_plays(family, learner, study["learners"][learner])
    family.check(study, datasets, experiment)
    if experiment.get("sweep") and not family.jobs(study, datasets, name):
        raise SettingError("sweep does nothing in an experiment of which only the time is measured")


def _check_titles(learners: Mapping, ids: Sequence[str]) -> None:
    """Raise a SettingError if two learners of an experiment have one title: a claim would say "SLAM
    minus SLAM".
    """
    by_title = {}
    for id in ids:
        title = learners[id].get("title", id)
        if (other := by_title.setdefault(title, id)) != id:
            raise SettingError(
                f"learners: {other} and {id} have the same title, {title!r}. Give one of them "
                "another"
            )


def _check_plays(family: families.Family, name: str, learner: dict) -> None:
    """Raise a SettingError for a learner that does not play in a family's experiments, or not with
    such settings.
    """
    kind = learner["kind"]
    if ":" in kind:
        cls = own_class(kind)
        lacking = [method for method in family.methods if not callable(getattr(cls, method, None))]
        if lacking or not isinstance(cls, type):
            lacks = f"has no {lacking[0]}" if lacking else "is no class"
            raise SettingError(
                f"the learner {name!r} of an experiment of kind {family.kind!r} is to be a class "
                f"with {' and '.join(family.methods)}, and {kind} {lacks}"
            )
        return
    if kind not in family.learners:
        raise SettingError(
            f"the learner {name!r} is of the kind {kind!r}, which does not play in an experiment "
            f"of kind {family.kind!r}"
        )
    for key in learner:
        if key in learner_settings(kind) and key not in settings_of(family.learners[kind]):
            raise SettingError(
                f"{key} of the learner {name!r} does nothing in an experiment of kind "
                f"{family.kind!r}"
            )
