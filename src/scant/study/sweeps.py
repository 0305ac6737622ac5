"""Sweeps: an experiment is repeated under other readings, each combination of them as a separate
experiment.

A level is a value that a sweep gives to a reading.
"""

import math
import re
from collections.abc import Iterable, Mapping
from itertools import product

from scant.declare import families
from scant.declare.declarations import Learner, Setting
from scant.declare.families import Family
from scant.errors import SettingError, errors_of
from scant.schema import check
from scant.study.schema import learner_settings, readings

COMBINATIONS = 1_000  # of the levels of a sweep; the largest of the project has 16


def expand(study: dict, datasets: Mapping) -> dict:
    """The study with a further experiment for every combination of levels, after the experiment
    that sweeps.

    If a level belongs to a place or learner, a changed copy of that place or learner is added, too.
    All that is added says in `stands_for` which experiment, place or learner it replaces. Only
    claims read these experiments: no figure and no other table shows them.

    Raises
    ------
    SettingError : a level is not valid, a reading has no effect in its experiment, or an id is
        taken
    """
    study = study | {key: dict(study[key]) for key in (*families.places(), "learners")}
    experiments, stated = {}, study["experiments"]
    for name, experiment in stated.items():
        basis = experiments[name] = {
            key: value for key, value in experiment.items() if key != "sweep"
        }
        with errors_of(f"experiments.{name}.sweep"):
            different = []  # two items of a sweep may come to the same levels
            for levels in _combinations(experiment):
                _check(study, basis, levels)
                for id, variant in _variant(study, datasets, name, basis, levels).items():
                    if variant["sweeps"] not in different:
                        if id in stated or id in experiments:
                            raise SettingError(f"there is an experiment {id!r} already")
                        experiments[id] = variant
                        different.append(variant["sweeps"])
    return study | {"experiments": experiments}


def readings_of(learners: Iterable[type[Learner]]) -> dict[str, Setting]:
    """By name, the settings of some classes of learners that a sweep may vary."""
    settings = (setting for learner in learners for setting in learner.settings)
    return {setting.name: setting for setting in settings if setting.reading}


def learner_level(learner: dict, reading: str):
    """The value of a learner's reading (a setting that a sweep may vary); None if the reading
    cannot change what the learner does, or if theory chooses the value.
    """
    if not _changes(learner, reading):
        return None
    return learner.get(reading, learner_settings(learner["kind"])[reading].absent)


def defaults_in_force(learner: dict) -> dict:
    """By name, the defaults that a built-in learner has for settings that the study leaves out;
    without settings that do nothing.
    """
    return {
        key: setting.absent
        for key, setting in learner_settings(learner["kind"]).items()
        if key not in learner and setting.absent is not None and _changes(learner, key)
    }


def ours(learner: dict) -> list[str]:
    """The settings of a learner that go beyond the papers and that the study sets to other values
    than the default.
    """
    return [
        key
        for key, setting in learner_settings(learner["kind"]).items()
        if setting.ours and learner.get(key, setting.absent) != setting.absent
    ]


def _changes(learner: dict, reading: str) -> bool:
    """Whether a reading can change what a learner does."""
    setting = learner_settings(learner["kind"]).get(reading)
    if setting is None or not setting.when:
        return setting is not None
    key, value = setting.when
    return learner.get(key) == value


def unheeded(experiment: dict, reading: str, kinds: set[str]) -> tuple[str, ...]:
    """If a reading affects no learner of its experiment, the kinds of learners that it does affect;
    else empty.

    kinds : the kinds of the experiment's learners; a user's own may be affected by any reading
    """
    family = families.of(experiment)
    some = {setting.name for setting in family.settings if setting.some}
    if reading not in some:
        return ()
    heeding = tuple(
        kind for kind, learner in family.learners.items() if learner.heeds_in(reading, experiment)
    )
    unknown = any(":" in kind for kind in kinds)  # a user's own learner may heed any reading
    return () if unknown or kinds & {*heeding} else heeding


def _settings(family: Family) -> dict[str, Setting]:
    """The readings of a family's learners and the settings of its experiments, by name.

    Learners of other families may have other rules.
    """
    declared = {setting.name: setting for setting in family.settings}
    return readings_of(family.learners.values()) | declared


def _combinations(experiment: dict) -> list[dict]:
    """Every combination of levels of an experiment's sweep, by reading, in the order of the
    schema.
    """
    family, combinations = families.of(experiment), []
    rules = readings() | {name: one.schema for name, one in _settings(family).items()}
    rules |= {name: family.place.schema["properties"][name] for name in family.place.readings}
    for item in experiment["sweep"]:
        ordered = {key: item[key] for key in readings() if key in item}
        for key, values in ordered.items():
            for value in values:
                check({key: value}, {"properties": {key: rules[key]}}, "a level")
        if (count := math.prod(map(len, ordered.values())) + len(combinations)) > COMBINATIONS:
            raise SettingError(
                f"{count:,} combinations, and {COMBINATIONS:,} are the most: give fewer levels"
            )
        combinations += [
            dict(zip(ordered, values, strict=True)) for values in product(*ordered.values())
        ]
    return combinations


def _check(study: dict, experiment: dict, levels: dict) -> None:
    """Raise a SettingError if one of the readings has no effect in an experiment, whatever its
    level.
    """
    family, changed = families.of(experiment), experiment | levels
    kinds = {study["learners"][learner]["kind"] for learner in experiment["learners"]}
    settings = _settings(family)
    for key in levels:
        if key not in settings and key not in family.place.readings:
            raise SettingError(f"{key} does nothing in an experiment of kind {family.kind!r}")
        if heeding := unheeded(changed, key, kinds):
            raise SettingError(
                f"{key} does nothing without a learner of kind {' or '.join(heeding)}"
            )
        for other, value in (settings[key].unless if key in settings else {}).items():
            if other in changed and changed[other] == value:
                raise SettingError(f"{key} does nothing where {other} is {_text(value)}")
        if reason := family.idle(study, experiment, key):
            raise SettingError(f"{key} does nothing {reason}")


def _variant(
    study: dict, datasets: Mapping, name: str, experiment: dict, levels: dict
) -> dict[str, dict]:
    """The experiment with these levels, by its id; empty if the levels are those that it already
    has.

    Changed copies of places and learners are added to the study.
    """
    place = families.of(experiment).place
    # levels that differ from the experiment's; and which of them each place or learner gets
    changed, changes = {}, {}
    for key, value in levels.items():
        if key in experiment:
            if experiment[key] != value:
                changed[key] = value
            continue
        section = place.key if key in place.readings else "learners"
        affected = [id for id in experiment[section] if _can_change(study, place, section, id, key)]
        if not affected:
            raise SettingError(f"{key} does nothing for the {section} of this experiment")
        for id in affected:
            settings = study[section][id]
            if section == place.key:
                now = place.level(settings, key, datasets)
            else:
                now = learner_level(settings, key)
            if now != value:
                changes.setdefault((section, id), {})[key] = changed[key] = value
    if not changed:
        return {}
    copies = {}
    for (section, id), settings in changes.items():
        copies[section, id] = new_id = _name(id, settings)
        copy = {"title": id} | study[section][id] | settings | {"stands_for": id}
        if study[section].setdefault(new_id, copy) != copy:
            raise SettingError(f"{section} have {new_id!r} already")
    variant = experiment | {key: value for key, value in changed.items() if key in experiment}
    for section in (place.key, "learners"):
        variant[section] = [copies.get((section, id), id) for id in experiment[section]]
    if "baseline" in experiment:
        baseline = experiment["baseline"]
        variant["baseline"] = copies.get(("learners", baseline), baseline)
    words = {"title": f"{experiment.get('title', name)}, {said(changed)}", "figures": []}
    return {_name(name, changed): variant | words | {"stands_for": name, "sweeps": changed}}


def _can_change(study: dict, place: families.Place, section: str, id: str, reading: str) -> bool:
    """Whether a reading can change the place or learner with this id."""
    settings = study[section][id]
    return place.changes(settings, reading) if section == place.key else _changes(settings, reading)


def said(levels: dict) -> str:
    """Levels as text, such as "rounds 100, source text"."""
    return ", ".join(f"{key} {_text(value)}" for key, value in levels.items())


def _name(name: str, levels: dict) -> str:
    """The id of an experiment, place or learner under some levels, such as "letor+rounds-100"."""
    return "+".join([name, *(f"{key}-{_text(value)}" for key, value in levels.items())])


def _text(value) -> str:
    """A level as part of an id."""
    text = "-".join(map(str, value)) if isinstance(value, list) else str(value).lower()
    return re.sub(r"[^A-Za-z0-9@._-]", "_", text)
