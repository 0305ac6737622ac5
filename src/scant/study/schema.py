"""The JSON schema of a study file, generated from the declarations of families and learners.

The file in workflow/schemas is this schema as text, for readers and editors. A test checks that the
two are equal.
"""

import json
from functools import cache
from typing import Any

from scant.declare.declarations import Setting, settings_of
from scant.declare.families import (
    TITLE,
    TUNING,
    Family,
    asked_for,
    families,
    kinds,
    named_or_own,
    places,
)

ID = {"$ref": "#/$defs/id"}
IDS = {"type": "array", "uniqueItems": True, "items": ID}
# settings of built-in learners that a user's own have, too
OWN = ("measure", "rates", "k", "lambdas")
OPTIONS = {
    "description": (
        "What your own learner is made with besides features, rate and random (or "
        "items, rounds, random)."
    ),
    "type": "object",
}
TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 1}
SEEDS = {**COUNT, "maximum": TUNING}
COMMON = {  # settings of the experiments of all families, besides their places and figures
    "title": {"description": "The name that figures show; the id if absent.", "type": "string"},
    "learners": {"description": "Ids of learners.", **IDS, "minItems": 1},
    "seeds": {
        "description": "How many seeds the results are over. A list is of numbers that were added "
        "one after another: [8, 12] are 20 seeds, of which those of 8 are not played again.",
        **SEEDS,
        "type": ["integer", "array"],
        "minItems": 1,
        "items": SEEDS,
        "default": 10,
    },
    "batch": {
        "description": "How many seeds one job plays. Results do not depend on it.",
        **COUNT,
        "default": 5,
    },
    "sweep": {
        "description": "Other readings of the experiment, its streams and its learners. Each item "
        "maps readings to "
        "levels; all its combinations are played, each as an experiment of its own, which only "
        "claims read. Claims see both levels of tuning without a sweep.",
        "type": "array",
        "default": [],
        "items": {"$ref": "#/$defs/sweep"},
    },
}
STUDY = {  # sections of a study besides places, learners and experiments
    "study": {"description": "The study's id. Its results go to results/{study}.", **ID},
    "seed": {
        "description": "The seed from which every random number of the study is derived.",
        "type": "integer",
        "minimum": 0,
        "default": 2016,
    },
    "data": {
        "description": "Where original files are looked for.",
        "type": "object",
        "additionalProperties": False,
        "default": {},
        "properties": {
            "mirror": {
                "description": "A folder or an http(s) address that holds original files as "
                "{set}/{file}; it is tried "
                "before the folder data/ and before any download. Null for the environment "
                "variable SCANT_DATA.",
                "type": ["string", "null"],
                "default": None,
            }
        },
    },
    "datasets": {
        "description": "Your own data sets by id, in the form of config/datasets.yaml.",
        "type": "object",
        "default": {},
    },
    "missing": {
        "description": "What is done about data sets that cannot be had: `stop`, which is the "
        "default, or `leave-out` "
        "all that needs them. A list names data sets to leave out, whether they are missing or "
        "not.",
        "anyOf": [
            {"enum": ["stop", "leave-out"]},
            {"type": "array", "items": ID, "uniqueItems": True},
        ],
    },
    "claims": {
        "description": "The files of claims to judge, or folders of them: the project's, "
        "config/claims, and your own, "
        "in the same form. A single one needs no list; null is for none.",
        "type": ["string", "array", "null"],
        "items": {"type": "string"},
        "minItems": 1,
        "uniqueItems": True,
        "default": "config/claims",
    },
    "attribution": {
        "description": (
            "Whose results these are, and what others may do with them, for archives of the study."
        ),
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {
            "authors": {
                "description": "Their names.",
                "type": "array",
                "minItems": 1,
                "items": TEXT,
            },
            "publisher": {"description": "The authors' institution.", **TEXT},
            "url": {
                "description": "Where more is said of them.",
                "type": "string",
                "pattern": r"^https?://[^\s{}<>]+$",
            },
            "licence": {
                "description": "An SPDX id, such as CC-BY-4.0.",
                "type": "string",
                "pattern": "^[A-Za-z0-9.+-]+$",
            },
        },
    },
    "figures": {
        "description": "How figures are made: `pdf`, whether as PDF, too, besides SVG and PNG; "
        "`width`, whether panels "
        "lie side by side over a page or below each other in a column; `font_size`, in points.",
        "type": "object",
        "default": {},
        "additionalProperties": False,
        "properties": {
            "pdf": {"description": "Whether as PDF, too.", "type": "boolean", "default": False},
            "width": {
                "description": "How wide figures are.",
                "enum": ["page", "column"],
                "default": "page",
            },
            "font_size": {
                "description": "The size of axis labels, in points.",
                "type": "number",
                "minimum": 6,
                "maximum": 14,
                "default": 9,
            },
        },
    },
    "tables_of": {
        "description": "Data sets to fetch and convert besides those that the streams need.",
        **IDS,
        "default": [],
    },
}
# characters of an id of a study file; sweeps make longer ones, and a file's name has 255 at most
LONGEST_ID = 100
ID_RULE = {
    "description": "A short name, which becomes part of file names.",
    "type": "string",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9@._+-]*$",
    "maxLength": LONGEST_ID,
}
DEFAULT_KIND = next(iter(families()))  # of experiments whose kind a study does not say


@cache
def schema() -> dict:
    """The schema of a study file."""
    named = {"type": "object", "propertyNames": ID}
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
            **STUDY,
            **of_places,
            **of_families,
            "learners": {
                "description": "Learners by id.", **named, "minProperties": 1,
                "additionalProperties": _ref("learner"),
            },
            "experiments": {
                "description": "Experiments by id. Each plays all its learners on all its streams "
                               "(games, logs) under "
                "one set of readings.",
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
    """The clause that applies `then` to entries whose `kind` fits the rule; also to those without,
    if not required.
    """
    condition: dict[str, Any] = {"properties": {"kind": rule}}
    return {"if": condition | ({"required": ["kind"]} if required else {}), "then": then}


def learner_settings(kind: str) -> dict[str, Setting]:
    """The settings of a kind of built-in learner, by name; of all its classes, if it has
    several.
    """
    return {setting.name: setting for learner in kinds()[kind] for setting in learner.settings}


def own_settings(learner: type) -> dict:
    """The schema of a user's own learner: the settings that its class declares, and those of all
    learners.
    """
    declared = {name: setting.schema for name, setting in settings_of(learner).items()}
    built_in = {
        name: setting.schema for kind in kinds() for name, setting in learner_settings(kind).items()
    }
    of_all = {"title": TITLE, "kind": {}, "options": {**OPTIONS, "properties": declared}}
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
    kind = {
        "description": "; ".join(
            f"{family.kind}: {', '.join(family.learners)}"
            for family in families().values()
            if family.learners
        )
        + "; or your own as module:Class.",
        "type": "string",
        "pattern": "^[A-Za-z0-9_.-]+(:[A-Za-z0-9_]+)?$",
    }
    clauses = []
    for name, classes in kinds().items():
        properties = {
            setting.name: _described(setting) for setting in learner_settings(name).values()
        }
        description = " ".join(dict.fromkeys(learner.about for learner in classes))
        clauses.append(
            _if_kind(
                {"const": name},
                {"description": description} | _closed({"title": {}, "kind": {}} | properties),
            )
        )
    return {
        "description": (
            "One learner. Its kind decides its other keys: see the clause below that names it."
        ),
        "type": "object",
        "required": ["kind"],
        "properties": {"title": TITLE, "kind": kind},
        "allOf": [*clauses, _if_kind({"pattern": ":"}, {"properties": {"options": OPTIONS}})],
    }


def experiment_settings(family: Family) -> dict[str, dict]:
    """The schema of each setting of a family's experiments, except `kind`, by name."""
    place = {"description": f"Ids of {family.place.key}.", **IDS, "default": []}
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
    return [shown.name for shown in family.shown if shown.draw and shown.shows is asked_for]


def _experiment() -> dict:
    """The schema of an experiment: its kind, and for each kind the settings that its family
    declares.
    """
    kind = {
        "description": "; ".join(f"{family.kind}: {family.about}" for family in families().values())
        + ".",
        "enum": list(families()),
        "default": DEFAULT_KIND,
    }
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
            for name, family in families().items()
        ],
    }


@cache
def readings() -> dict[str, dict]:
    """The rule for the levels of each reading that a sweep may vary: of experiments, then places,
    then learners.

    If families or kinds of learners have different rules for a reading, a level need only fit one
    of them.
    """
    allowed: dict[str, list[dict]] = {}
    for family in families().values():
        for setting in family.settings:
            if setting.reading:
                allowed.setdefault(setting.name, []).append(dict(setting.rule))
    for place in places().values():
        for name in place.readings:
            allowed.setdefault(name, []).append(place.schema["properties"][name])
    for classes in kinds().values():
        for setting in (setting for learner in classes for setting in learner.settings):
            if setting.reading:
                allowed.setdefault(setting.name, []).append(dict(setting.rule))
    unique = {
        name: [rule for i, rule in enumerate(rules) if rule not in rules[:i]]
        for name, rules in allowed.items()
    }
    return {
        name: rules[0] if len(rules) == 1 else {"anyOf": rules} for name, rules in unique.items()
    }
