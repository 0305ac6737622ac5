"""Sweeps: what else the readings of an experiment could be, each combination an experiment of its own."""

import re
from collections.abc import Mapping
from itertools import product

from scant import families
from scant.declared import Setting
from scant.errors import SettingError
from scant.families import Family
from scant.schema import check
from scant.study.schema import learner_settings, readings


def expand(study: dict, datasets: Mapping) -> dict:
    """A study in which every combination of what its experiments sweep is an experiment, after the one that sweeps.

    Such an experiment, and a place or learner that differs in it, says in `stands_for` whose place it takes. Claims
    alone read it: it is in no figure and no other table.

    Raises
    ------
    SettingError : a sweep has a level that cannot be, or a reading that changes nothing in its experiment; or the name
        of what it makes is taken
    """
    study = study | {key: dict(study[key]) for key in (*families.places(), "learners")}
    experiments, stated = {}, study["experiments"]
    for name, experiment in stated.items():
        basis = experiments[name] = {key: value for key, value in experiment.items() if key != "sweep"}
        found = []
        try:
            for levels in _combinations(experiment):
                _check(study, basis, levels)
                for id, variant in _variant(study, datasets, name, basis, levels).items():
                    if variant["sweeps"] in found:
                        continue
                    if id in stated or id in experiments:
                        raise SettingError(f"there is an experiment {id!r} already")
                    found.append(variant["sweeps"])
                    experiments[id] = variant
        except SettingError as error:
            raise SettingError(f"experiments.{name}.sweep: {error}") from None
    return study | {"experiments": experiments}


def learner_readings() -> dict[str, Setting]:
    """The readings that learners have, by name."""
    every = (setting for made_of in families.kinds().values() for learner in made_of for setting in learner.settings)
    return {setting.name: setting for setting in every if setting.reading}


def learner_level(learner: dict, reading: str):
    """What a learner has for a reading that can change it; None for another, and for what theory chooses."""
    setting = learner_settings(learner["kind"]).get(reading) if learner["kind"] in families.kinds() else None
    if setting is None or (setting.when and learner.get(setting.when[0]) != setting.when[1]):
        return None
    return learner.get(reading, setting.absent)


def _changes(learner: dict, reading: str) -> bool:
    """Whether a reading can change what a learner does."""
    setting = learner_settings(learner["kind"]).get(reading) if learner["kind"] in families.kinds() else None
    return setting is not None and (not setting.when or learner.get(setting.when[0]) == setting.when[1])


def unheeded(experiment: dict, reading: str, kinds: set[str]) -> tuple[str, ...]:
    """The kinds of learners that heed a reading of an experiment, if no learner of some `kinds` does; else none."""
    family = families.of(experiment)
    setting = _of_experiment(family).get(reading)
    if setting is None or not setting.some:
        return ()
    heeding = tuple(kind for kind, learner in family.learners.items() if learner.heeds_in(reading, experiment))
    own = any(":" in kind for kind in kinds)  # who knows what a learner of one's own heeds
    return () if own or kinds & {*heeding} else heeding


def _of_experiment(family: Family) -> dict[str, Setting]:
    return {setting.name: setting for setting in family.settings}


def _of_learners(family: Family) -> dict[str, Setting]:
    """The readings that learners of a family have; in another, one of the same name may be something else."""
    every = (setting for learner in family.learners.values() for setting in learner.settings)
    return {setting.name: setting for setting in every if setting.reading}


def _combinations(experiment: dict) -> list[dict]:
    """All that an experiment sweeps, each combination with its readings in the order of the schema."""
    family, found = families.of(experiment), []
    rules = {name: setting.schema for name, setting in (_of_learners(family) | _of_experiment(family)).items()}
    rules |= {name: family.place.schema["properties"][name] for name in family.place.readings}
    for item in experiment["sweep"]:
        ordered = {key: item[key] for key in readings() if key in item}
        for key, values in ordered.items():
            for value in values:
                check({key: value}, {"properties": {key: rules.get(key, readings()[key])}}, "a level")
        found += [dict(zip(ordered, values, strict=True)) for values in product(*ordered.values())]
    return found


def _check(study: dict, experiment: dict, levels: dict) -> None:
    """Raise a SettingError if one of the levels would change nothing in an experiment, whatever it is."""
    family, under = families.of(experiment), experiment | levels
    kinds = {study["learners"][learner]["kind"] for learner in experiment["learners"]}
    settings = _of_learners(family) | _of_experiment(family)
    for key in levels:
        if key not in settings and key not in family.place.readings:
            raise SettingError(f"{key} does nothing in an experiment of kind {family.kind!r}")
        if heeding := unheeded(under, key, kinds):
            raise SettingError(f"{key} does nothing without a learner of kind {' or '.join(heeding)}")
        for other, value in (settings[key].unless if key in settings else {}).items():
            if other in under and under[other] == value:
                raise SettingError(f"{key} does nothing where {other} is {_text(value)}")
        if reason := family.idle(study, experiment, key):
            raise SettingError(f"{key} does nothing {reason}")


def _variant(study: dict, datasets: Mapping, name: str, experiment: dict, levels: dict) -> dict[str, dict]:
    """The experiment of these levels, by its id; none if they are the experiment's own."""
    place = families.of(experiment).place
    changed, changes = {}, {}  # levels that differ; and of each place or learner, those that do
    for key, value in levels.items():
        if key in experiment:
            if experiment[key] != value:
                changed[key] = value
            continue
        section = place.key if key in place.readings else "learners"
        having = [id for id in experiment[section] if _can_change(study, place, section, id, key)]
        if not having:
            raise SettingError(f"{key} does nothing for the {section} of this experiment")
        for id in having:
            settings = study[section][id]
            now = place.level(settings, key, datasets) if section == place.key else learner_level(settings, key)
            if now != value:
                changes.setdefault((section, id), {})[key] = changed[key] = value
    if not changed:
        return {}
    new = {}
    for (section, id), settings in changes.items():
        new[section, id] = stand_in = _name(id, settings)
        made = study[section][id] | settings | {"title": study[section][id].get("title", id), "stands_for": id}
        if study[section].setdefault(stand_in, made) != made:
            raise SettingError(f"{section} have {stand_in!r} already")
    variant = experiment | {key: value for key, value in changed.items() if key in experiment}
    for section in (place.key, "learners"):
        variant[section] = [new.get((section, id), id) for id in experiment[section]]
    if "baseline" in experiment:
        variant["baseline"] = new.get(("learners", experiment["baseline"]), experiment["baseline"])
    about = {"title": f"{experiment.get('title', name)}, {said(changed)}", "figures": []}
    return {_name(name, changed): variant | about | {"stands_for": name, "sweeps": changed}}


def _can_change(study: dict, place: families.Place, section: str, id: str, reading: str) -> bool:
    """Whether a reading can change one of the experiment's places or learners."""
    settings = study[section][id]
    return place.changes(settings, reading) if section == place.key else _changes(settings, reading)


def said(levels: dict) -> str:
    """Levels in words."""
    return ", ".join(f"{key} {_text(value)}" for key, value in levels.items())


def _name(name: str, levels: dict) -> str:
    return "+".join([name, *(f"{key}-{_text(value)}" for key, value in levels.items())])


def _text(value) -> str:
    """A level as part of an id."""
    text = "none" if value is None else "-".join(map(str, value)) if isinstance(value, list) else str(value).lower()
    return re.sub(r"[^A-Za-z0-9@._-]", "_", text)
