"""Streams of queries, which contextual learners play on: their settings in a study.

Quick to import.
"""

import inspect
from collections.abc import Mapping

from scant.declare.declarations import check_numbers, defaults_of, own, whole_number
from scant.declare.families import Place
from scant.errors import SettingError

SEPARABLE = ("separable", "released-code")  # generators of streams that a ranker separates

# the generator that answers each ranking: it has no file, and involves no chance
ADVERSARY = "adversary"
READINGS = ("features", "documents", "drop_last")  # readings of a stream, which a sweep may vary
ID = {"$ref": "#/$defs/id"}
# what the settings of generators mean, and their limits, see `scant.declare.families.Place`
RULES = {
    "queries": ("How many queries.", {"minimum": 1}),
    "documents": ("Documents of each query.", {"minimum": 2}),
    "features": ("Features of each document.", {"minimum": 1, "maximum": 100_000}),
    "grades": ("The highest grade.", {"minimum": 1, "maximum": 30}),
    "margin": ("The score difference of neighbouring grades.", {"exclusiveMinimum": 0}),
    "noise": ("The noise of the scores that grades come from.", {"minimum": 0}),
    "relevant": ("The share of relevant documents.", {"exclusiveMinimum": 0, "maximum": 1}),
    "cosine": (
        "The cosine of the angle between good and fair documents.",
        {"minimum": -1, "maximum": 1},
    ),
    "level": ("How much the level of a query's feature lowers its grades.", {"minimum": 0}),
    "distribution": ("Which distribution of Table B.1.", {"enum": ["first", "second"]}),
    "ratio": ("R_X^2 / margin^2, one more than the rounds.", {"minimum": 3, "maximum": 100_000}),
}
STREAM = {
    "description": "A stream has either a generator or a dataset.",
    "oneOf": [{"required": ["generator"]}, {"required": ["dataset"]}],
    "properties": {
        "generator": {
            "description": "The simulation: separable (Figure 2.1), released-code (that of the "
            "authors' code), linear (noisy grades), indistinguishable (Table B.1), two-groups "
            "(fair documents hide good ones), levels (what ranks within queries misleads between "
            "them), or adversary (the lower bound's); or your own as module:function.",
        },
        "dataset": {"description": "A data set of the registry or of the study's own.", **ID},
        "settings": {
            "description": (
                "Settings of the generator. Which ones it has, and their defaults, "
                "docs/studies.md says."
            ),
        },
        "shared": {
            "description": (
                "Whether all seeds share one draw of the generator; else each seed draws its own."
            ),
            "type": "boolean",
            "default": False,
        },
        "parts": {
            "description": (
                "Parts of the data set, one after another; by default those that hold "
                "each query once."
            ),
            "type": "array",
            "items": ID,
            "minItems": 1,
        },
        "features": {
            "description": "Reading: query-minmax scales each feature to [0, 1] within its query, "
            "query-centred takes its mean over the query from it, as-is does nothing. By default "
            "as-is for sets published normalised and for simulations, query-minmax for all others.",
            "enum": ["query-minmax", "query-centred", "as-is"],
        },
        "documents": {
            "description": "Reading: the order of a query's documents, by which ties are broken. "
            "shuffled by a seed of the stream, as-is, or reversed (ties go to the later document "
            "of the file, as in the released code).",
            "enum": ["shuffled", "as-is", "reversed"],
            "default": "shuffled",
        },
        "drop_last": {
            "description": (
                "Reading: whether the last query of each file is left out, as the "
                "released code does."
            ),
            "type": "boolean",
            "default": False,
        },
        "retrieval": {
            "description": "Make a ranking stream of a classification set, whose queries are rows "
            "to find the class of.",
            "type": "object",
            "additionalProperties": False,
            "properties": {
                name: {"description": RULES[name][0], **whole_number(), **RULES[name][1]}
                for name in ("queries", "documents")
            },
        },
    },
}


def check(stream: dict, datasets: dict) -> None:
    """Raise a SettingError if a stream's settings contradict each other, or do not fit its data
    set.
    """
    others = ("settings", "shared") if "dataset" in stream else ("parts", "retrieval", "drop_last")
    for key in others:
        if stream.get(key):
            raise SettingError(
                f"{key} does nothing for a {'data set' if 'dataset' in stream else 'generator'}"
            )
    if ":" in stream.get("generator", ""):
        function = own(stream["generator"], "generator", "function")
        try:
            inspect.signature(function).bind(None, **stream["settings"])
        except TypeError as error:
            raise SettingError(f"{stream['generator']}: {error}") from None
    elif "generator" in stream:
        sizes = _drawn(stream).items()
        sizes = {key: size for key, size in sizes if key in ("queries", "documents", "features")}
        check_numbers(**sizes)
    if "dataset" in stream:
        from scant.data import registry  # here, since only planning needs it

        dataset = registry.find(datasets, stream["dataset"])
        for part in stream.get("parts", []):
            dataset.part(part)
        if dataset.task == "ads":
            raise SettingError(
                f"{dataset.id} is a set of bandit logs, which are for experiments of kind ads: see "
                "logs"
            )
        if (dataset.task == "ranking") == ("retrieval" in stream):
            raise SettingError(
                "retrieval makes a ranking stream of a classification set: it is needed for those, "
                f"and {dataset.id} is a {dataset.task} set"
            )


def largest_grade(stream: dict, datasets: Mapping) -> int | None:
    """The largest grade that a stream with these settings may have; None if it is not known without
    its data.
    """
    if "retrieval" in stream:
        return 1
    if "dataset" in stream:
        return datasets[stream["dataset"]].grades
    return _drawn(stream).get("grades")


def sizes(stream: dict, datasets: Mapping) -> dict[str, int]:
    """How many `queries` and `features` a stream with these settings has, as far as this is known
    without its data.
    """
    if "dataset" not in stream:
        return _drawn(stream)
    dataset = datasets[stream["dataset"]]
    known = {"features": dataset.features}
    if "retrieval" in stream:
        return known | stream["retrieval"]
    counts = [dataset.part(part).queries for part in stream.get("parts", dataset.cover)]
    return known if None in counts else known | {"queries": sum(counts)}


def _drawn(stream: dict) -> dict:
    """The settings that a simulated stream is drawn with, its generator's defaults among them."""
    from scant.rankers.generators import GENERATORS  # here, since only planning needs it

    name = stream["generator"]
    drawn = own(name, "generator", "function") if ":" in name else GENERATORS[name]
    return defaults_of(drawn) | stream["settings"]


def changes(stream: dict, reading: str) -> bool:
    """Whether a reading of `READINGS` can change the stream with these settings."""
    if reading == "drop_last":
        return "dataset" in stream and "retrieval" not in stream
    return stream.get("generator") != ADVERSARY


def level(stream: dict, reading: str, datasets: Mapping | None = None):
    """The value of a reading of a stream; None if the reading cannot change it, or if the value is
    not known.

    datasets : by id; without them the default scale of the features of a ranking data set is not
        known
    """
    if not changes(stream, reading):
        return None
    if reading == "features" and reading not in stream:
        if "generator" in stream or "retrieval" in stream:
            return "as-is"
        return (
            None
            if datasets is None
            else "as-is"
            if datasets[stream["dataset"]].normalised
            else "query-minmax"
        )
    return stream[reading]


STREAMS = Place(
    key="streams",
    name="stream",
    about="What learners see, by id: a simulated stream (generator), a ranking data set (dataset), "
    "or a ranking stream made of a classification data set (dataset and retrieval).",
    keys=STREAM,
    simulations=("generator", "scant.rankers.generators:GENERATORS"),
    own=True,
    rules=RULES,
    check=check,
    readings=READINGS,
    level=level,
    changes=changes,
)
