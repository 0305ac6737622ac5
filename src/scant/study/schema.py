"""The JSON schema of a study file, generated from the declarations of families and learners.

The file in workflow/schemas is this schema as text, for readers and editors. A test checks that the
two are equal.
"""

import json
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path

from scant.declare.declarations import Setting, settings_of
from scant.declare.families import (
    TITLE,
    Family,
    families,
    kinds,
    named_or_own,
    places,
)
from scant.schema import read_yaml

# What is written, and not declared by families or learners; the file says what each key is.
WRITTEN = read_yaml(Path(__file__).with_name("schema.yaml"))
ID_RULE, COMMON = WRITTEN["id"], WRITTEN["experiment"]
# settings of built-in learners that a user's own have, too
OWN = ("measure", "rates", "k", "lambdas")
DEFAULT_KIND = next(iter(families()))  # of experiments whose kind a study does not say


@cache
def schema() -> dict:
    """The schema of a study file."""
    named = {"type": "object", "propertyNames": _ref("id")}
    of_places = {
        place.key: {
            "description": place.about,
            **named,
            "default": {},
            "additionalProperties": _ref(place.name),
        }
        for place in places().values()
    }
    of_families = {
        key: rule for family in families().values() for key, rule in family.sections.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A study",
        "description": "One study, whole in one file. Unknown keys are refused.",
        "type": "object",
        "additionalProperties": False,
        "required": ["study", "learners", "experiments"],
        "properties": {
            **WRITTEN["study"],
            **of_places,
            **of_families,
            "learners": {
                "description": "Learners by id.", **named, "minProperties": 1,
                "additionalProperties": _ref("learner"),
            },
            "experiments": {
                "description": "Experiments by id. Each plays all its learners on all its streams "
                               "(games, logs) under one set of readings.",
                **named, "minProperties": 1, "additionalProperties": _ref("experiment"),
            },
        },
        "$defs": {
            "id": ID_RULE,
            **{place.name: place.schema for place in places().values()},
            "learner": _learner(),
            "experiment": _experiment(),
            "sweep": {
                "description": "Readings, each with levels.",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"type": "array", "minItems": 1, "uniqueItems": True},
                "propertyNames": {"enum": list(readings())},
            },
        },
    }  # fmt: skip


def _ref(name: str) -> dict:
    return {"$ref": f"#/$defs/{name}"}


def _closed(properties: dict) -> dict:
    """A rule for mappings that have these keys and no others."""
    return {"additionalProperties": False, "properties": properties}


def _if_kind(rule: dict, then: dict, required: bool = True) -> dict:
    """The clause that applies `then` to entries whose `kind` fits the rule; also to entries without
    a `kind`, if a kind is not required.
    """
    needed = {"required": ["kind"]} if required else {}
    return {"if": {"properties": {"kind": rule}} | needed, "then": then}


def learner_settings(kind: str) -> dict[str, Setting]:
    """The settings of a kind of built-in learner, by name; if the kind has several classes, of all
    of them. Empty for a user's own learner.
    """
    classes = kinds().get(kind, ())
    return {setting.name: setting for learner in classes for setting in learner.settings}


def own_settings(learner: type) -> dict:
    """The schema of a user's own learner: the settings that its class declares, and the settings of
    all learners.
    """
    declared = {name: setting.schema for name, setting in settings_of(learner).items()}
    learners = chain.from_iterable(kinds().values())
    built_in = {one.name: one.schema for learner in learners for one in learner.settings}
    of_all = {"title": TITLE, "kind": {}, "options": {**WRITTEN["options"], "properties": declared}}
    return _closed(of_all | {name: built_in[name] for name in OWN} | declared)


def _described(setting: Setting) -> dict:
    """The schema of a learner's setting, whose description says its default."""
    if setting.absent is None:
        return setting.schema
    default = setting.absent if isinstance(setting.absent, str) else json.dumps(setting.absent)
    return {**setting.schema, "description": f"{setting.about} Default: {default}."}


def _learner() -> dict:
    """The schema of a learner: its title, its kind, and for each kind the settings that its classes
    declare.
    """
    built_in = "; ".join(
        f"{family.kind}: {', '.join(family.learners)}"
        for family in families().values()
        if family.learners
    )
    kind = {
        "description": f"{built_in}; or your own as module:Class.",
        "type": "string",
        "pattern": "^[A-Za-z0-9_.-]+(:[A-Za-z0-9_]+)?$",
    }
    clauses = []
    for name, classes in kinds().items():
        properties = {key: _described(one) for key, one in learner_settings(name).items()}
        about = " ".join(dict.fromkeys(learner.about for learner in classes))
        rule = {"description": about} | _closed({"title": {}, "kind": {}} | properties)
        clauses.append(_if_kind({"const": name}, rule))
    return {
        "description": (
            "One learner. Its kind decides its other keys: see the clause below that names it."
        ),
        "type": "object",
        "required": ["kind"],
        "properties": {"title": TITLE, "kind": kind},
        "allOf": [
            *clauses,
            _if_kind({"pattern": ":"}, {"properties": {"options": WRITTEN["options"]}}),
        ],
    }


def experiment_settings(family: Family) -> dict[str, dict]:
    """The schema of each setting of a family's experiments, except `kind`, by name."""
    place = {"description": f"Ids of {family.place.key}.", **WRITTEN["ids"], "default": []}
    figures = {
        "description": (
            "The figures that the experiment is shown in; figures and tables of your "
            "own as module:NAME."
        ),
        "type": "array",
        "items": {"type": "string", **named_or_own(figures_to_ask_for(family))},
        "uniqueItems": True,
        "default": [],
    }
    declared = {setting.name: setting.schema for setting in family.settings}
    return {**COMMON, family.place.key: place, **declared, "figures": figures}


def figures_to_ask_for(family: Family) -> list[str]:
    """The figures of a family that show an experiment only if it lists them under `figures`."""
    return [shown.name for shown in family.shown if shown.draw and shown.asked]


def _experiment() -> dict:
    """The schema of an experiment: its kind, and for each kind the settings that its family
    declares.
    """
    declared = families()
    about = "; ".join(f"{kind}: {family.about}" for kind, family in declared.items())
    kind = {"description": f"{about}.", "enum": list(declared), "default": DEFAULT_KIND}
    return {
        "description": (
            "One experiment. Its kind decides its other keys: see the clause below that names it."
        ),
        "type": "object",
        "required": ["learners"],
        "properties": {"kind": kind},
        "allOf": [
            _if_kind(
                {"const": name},
                _closed({"kind": {}} | experiment_settings(family)),
                name != DEFAULT_KIND,
            )
            for name, family in declared.items()
        ],
    }


@cache
def readings() -> dict[str, dict]:
    """By reading that a sweep may vary, the schema of its levels: readings of experiments, then of
    places, then of learners.

    If families or kinds of learners have different schemas for a reading, a level need only fit
    one.
    """

    def rules(declaring) -> list[tuple[str, dict]]:
        settings = chain.from_iterable(one.settings for one in declaring)
        return [(setting.name, dict(setting.rule)) for setting in settings if setting.reading]

    of_places = [
        (name, place.schema["properties"][name])
        for place in places().values()
        for name in place.readings
    ]
    learners = chain.from_iterable(kinds().values())
    return any_of([*rules(families().values()), *of_places, *rules(learners)])


def any_of(rules: Iterable[tuple[str, dict]]) -> dict[str, dict]:
    """By key, a schema that accepts what any of the schemas given for the key accepts."""
    by_key = {}
    for key, rule in rules:
        if rule not in by_key.setdefault(key, []):
            by_key[key].append(rule)
    return {key: same[0] if len(same) == 1 else {"anyOf": same} for key, same in by_key.items()}
