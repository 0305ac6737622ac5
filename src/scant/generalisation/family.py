"""What the family `generalisation` declares: learners of a whole sample, and how far what they
learn is from the best.

A job draws its samples itself, which is faster than reading them. It gives each to all learners,
for which the best weights are then found once.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from scant.data.registry import find
from scant.declare.declarations import Setting, whole_number
from scant.declare.families import Family, Job, Place, Quantity, Shown
from scant.errors import SettingError, errors_of, unknown
from scant.generalisation.learners import LEARNERS
from scant.generalisation.questions import GENERALISATION
from scant.study.plan import STREAM, batches, learners_of, span, untitled

LARGEST_SAMPLE = 6e8  # bytes of the features of a sample
SIMULATED = 20  # features of a simulated population, if an experiment does not say

# what the settings of generators mean, and their limits, see `scant.declare.families.Place`
RULES = {
    "grades": ("The highest grade.", {"minimum": 1, "maximum": 30}),
    "noise": ("The standard deviation of a document's own noise.", {"minimum": 0}),
    "variation": ("The standard deviation of the score that is a query's own.", {"minimum": 0}),
    "entries": ("Features are uniform on [-1, 1], or signs.", {"enum": ["uniform", "signs"]}),
    "informative": ("How many features grades depend on; all if absent.", {"minimum": 1}),
    "decay": ("Feature j is multiplied by j^(-decay / 2).", {"minimum": 0}),
    "distinct": (
        (
            "How many different documents a query has, so that its list repeats some; all differ "
            "if absent."
        ),
        {"minimum": 1},
    ),
    "moves": ("The share of grades that move by one.", {"minimum": 0, "maximum": 1}),
    "length": ("The norm of the ranker.", {"exclusiveMinimum": 0}),
}
POPULATION = {
    "description": "A population has either a generator or a stream.",
    "oneOf": [{"required": ["generator"]}, {"required": ["stream"]}],
    "properties": {
        "generator": {
            "description": (
                "The simulation: linear (noisy scores, cut at thresholds) or separable "
                "(grades are scores)."
            ),
        },
        "stream": {
            "description": (
                "The id of a stream, made of a data set, whose queries are the population."
            ),
            "$ref": "#/$defs/id",
        },
        "lists": {
            "description": "Reading: of a stream's query, m documents are drawn with replacement "
            "(resampled), or without, from the queries that have as many (cut).",
            "enum": ["resampled", "cut"],
            "default": "resampled",
        },
        "settings": {
            "description": (
                "Settings of the generator; docs/generalisation.md has them, with their defaults."
            ),
        },
    },
}


def _check_population(population: dict, datasets: dict) -> None:
    """Raise a SettingError if a population's settings contradict each other."""
    if "stream" in population and population.get("settings"):
        raise SettingError("settings does nothing for a stream")
    if "stream" not in population and population.get("lists", "resampled") != "resampled":
        raise SettingError("lists does nothing for a generator, whose lists have any length")
    if population.get("generator") == "separable" and population["settings"].get("grades", 2) < 2:
        raise SettingError(
            "settings.grades: the separable population needs a highest grade of 2 or more"
        )


POPULATIONS = Place(
    key="populations",
    name="population",
    about="Populations of queries, by id, from which samples are drawn: simulated (generator), or "
    "the queries of a stream of the study (stream).",
    keys=POPULATION,
    simulations=("generator", "scant.generalisation.populations:GENERATORS"),
    rules=RULES,
    check=_check_population,
    readings=("lists",),
    level=lambda settings, reading, datasets: settings[reading] if "stream" in settings else None,
    changes=lambda settings, reading: "stream" in settings,
)


def _sizes(**rule) -> dict:
    return {"type": "array", "minItems": 1, "uniqueItems": True, "items": whole_number(), **rule}


def _check_sizes(study: dict, datasets: Mapping, experiment: dict, population: dict) -> None:
    """Raise a SettingError for samples that the population cannot give, or that learners cannot
    take.
    """
    n, m, features = max(experiment["n"]), max(experiment["m"]), experiment["d"]
    d, settings = max(features or [SIMULATED]), population.get("settings", {})
    if "stream" in population:
        d, bounded = _check_stream(study, datasets, experiment, population)
        if not bounded and any(
            study["learners"][name]["kind"] == "erm-l1" for name in experiment["learners"]
        ):
            raise SettingError(
                "erm-l1 needs features that are bounded: set features: query-minmax of the stream"
            )
    if (informative := settings.get("informative") or 1) > min(features or [SIMULATED]):
        raise SettingError(
            f"d is {min(features or [SIMULATED])}, and grades depend on {informative} features"
        )
    used = settings.get("informative") or d
    for key, queries, width in (("n", n, d), ("reference", experiment["reference"], used)):
        drawn = max(m, settings.get("distinct") or 1)
        if (size := 4 * queries * drawn * width) > LARGEST_SAMPLE:
            raise SettingError(
                f"{key} x m x d: {queries:,} queries of {drawn:,} documents with {width:,} "
                f"features take {size / 1e9:.1f} GB, and {LARGEST_SAMPLE / 1e9:.1f} GB are the "
                f"most: lower {key}"
            )


def _check_stream(
    study: dict, datasets: Mapping, experiment: dict, population: dict
) -> tuple[int, bool]:
    """The number of features of a population made of a stream, and whether they are bounded.

    Raises a SettingError if there is no such stream, or if n, m or d are beyond what it has, as far
    as the registry knows that.
    """
    name = population["stream"]
    if name not in study["streams"]:
        raise unknown("stream", name, study["streams"])
    stream = study["streams"][name]
    if "dataset" not in stream:
        raise SettingError(
            f"the stream {name!r} is simulated. A population of a stream needs a data set; else "
            "set generator"
        )
    if "retrieval" in stream:
        return max(experiment["d"] or [SIMULATED]), True  # what these have, runs find out
    dataset = find(datasets, stream["dataset"])
    parts = [dataset.parts[part] for part in stream.get("parts") or dataset.cover]
    wanted = {"n": max(experiment["n"]), "d": max(experiment["d"] or [1])}
    available = {"d": dataset.features}
    if all(part.queries for part in parts):
        available["n"] = sum(part.queries for part in parts)
        if population["lists"] == "cut" and all(part.rows for part in parts):
            available["m"], wanted["m"] = (
                sum(part.rows for part in parts) - available["n"] + 1,
                max(experiment["m"]),
            )
    units = {"n": "queries", "m": "documents in a query at most", "d": "features"}
    for key, most in available.items():
        if most is not None and wanted[key] > most:
            raise SettingError(f"{key} is {wanted[key]:,}, and {name} has {most:,} {units[key]}")
    scaled = (
        stream.get("features") == "query-minmax" or dataset.normalised or "features" not in stream
    )
    return max(experiment["d"] or [dataset.features]), scaled


BALL = {"type": "number", "exclusiveMinimum": 0}
SETTINGS = (
    Setting(
        "n",
        _sizes(default=[100, 300, 1000]),
        "How many queries a sample has; a list, each is learnt from.",
    ),
    Setting("m", _sizes(default=[20]), "How many documents a query has; a list."),
    Setting(
        "d",
        {
            "type": ["array", "null"],
            "minItems": 1,
            "uniqueItems": True,
            "items": whole_number(),
            "default": None,
        },
        (
            "How many features documents have; a list. Null for those of the population's stream, "
            "or 20 in a simulation."
        ),
    ),
    Setting("W", {**BALL, "default": 1.0}, "The radius of the l2 ball of weights.", reading=True),
    Setting("W1", {**BALL, "default": 1.0}, "The radius of the l1 ball of weights.", reading=True),
    Setting(
        "sigma", {**BALL, "default": 1.0}, "Reading: the smoothing of SmoothDCG.", reading=True
    ),
    Setting(
        "fresh",
        whole_number(2, default=4000),
        "How many fresh queries measure the risk.",
    ),
    Setting(
        "reference",
        whole_number(4, default=20000),
        "How many further queries the best weights are found on.",
    ),
    Setting(
        "ascents",
        whole_number(0, 100_000, default=0),
        (
            "From how many weights a search for the largest gap between risk and mean loss starts; "
            "0 for no search."
        ),
    ),
)


# --- what is shown

FRAMES, QUANTITIES = "scant.generalisation.frames", "scant.generalisation.quantities"
GROWTH = (
    "both logarithmic, with 95 % t intervals over seeds. Beside each line is the slope of the "
    "mean, with its 95 % bootstrap interval over seeds. Dotted lines are the learners' bounds."
)


def _against(name: str, heading: str, words: str, along: str, measured: str = "excess") -> Shown:
    return Shown(
        name,
        caption=f"{words}, {GROWTH}",
        frame=f"{FRAMES}:against",
        draw=f"scant.generalisation.drawings:against_{along}",
        options={"along": along, "measured": measured},
        asked=True,
        heading=heading,
    )


FIGURES = (
    _against(
        "figure-generalisation-n",
        "How fast does excess risk fall with more queries?",
        "Excess risk against the number n of queries learnt from",
        "n",
    ),
    _against(
        "figure-generalisation-gap",
        "How fast does the gap between risk and mean loss close?",
        "Largest difference between risk and mean loss on the sample that ascent found in the "
        "ball, a lower bound on the uniform gap, against the number n of queries",
        "n",
        "uniform",
    ),
    _against(
        "figure-generalisation-m",
        "Does excess risk grow with the length of lists?",
        "Excess risk against the number m of documents of a query",
        "m",
    ),
    _against(
        "figure-generalisation-d",
        "How fast does excess risk grow with the number of features?",
        "Excess risk of learners in the l2 and l1 balls against the number d of features",
        "d",
    ),
    _against(
        "figure-generalisation-rates",
        "Does excess risk fall faster without noise?",
        (
            "Excess risk where the least risk can be 0 and where it cannot, against the number n "
            "of queries"
        ),
        "n",
    ),
)
TABLES = (
    Shown(
        "generalisation",
        caption="Risks of what is learnt from the largest sample: fresh queries tell the risk, and "
        "how far it is above that of the best weights known. certificate is how far the mean loss "
        "on the sample may be above the least in the ball; not_certified counts seeds where that "
        "is more than asked for.",
        frame=f"{FRAMES}:risks_table",
        printed=(
            "experiment",
            "stream",
            "learner",
            "n",
            "m",
            "d",
            "risk",
            "best",
            "excess",
            "gap",
            "uniform",
            "seeds",
        ),
        heading="Risks of what is learnt from a sample",
    ),
)
THEORY = (
    Shown(
        "theorems-generalisation",
        heading="Theorems on generalisation",
        caption="Theorems on generalisation, held against numbers. share is how much of a bound is "
        "used, at most 1 where it holds; over several cases, that of the worst. No run is needed.",
        frame="scant.generalisation.theorems:theorems_table",
        reads="nothing",
    ),
    Shown(
        "constants",
        heading="Lipschitz and smoothness constants",
        caption="Lipschitz and smoothness constants of surrogates with m documents: as the thesis "
        "prints them, the least that hold, and what a search found. slope is that of log least on "
        "log m, from m = 10 to 100.",
        frame="scant.generalisation.theory_tables:constants_table",
        reads="nothing",
    ),
    Shown(
        "table-4.1",
        heading="Bounds on excess risk and gaps, computed",
        repeats="Table 4.1 of the thesis",
        caption="Bounds on excess risk and gaps, W = R_X = 1, grades to 4, delta = 0.05. constant "
        "is the bound over G W R_X / sqrt(n); tells_from is from which n the bound is below the "
        "largest loss.",
        frame="scant.generalisation.theory_tables:table_4_1",
        reads="nothing",
    ),
)


class Generalisation(Family):
    """Excess risk and gap of what is learnt from n queries of m documents with d features (thesis,
    chapter IV).
    """

    kind = "generalisation"
    about = "learn from a sample of queries, judged by the risk on fresh ones"
    place = POPULATIONS
    settings = SETTINGS
    learners = LEARNERS
    methods = ("fit",)
    shown = (*FIGURES, *TABLES, *THEORY)
    questions = GENERALISATION
    quantities: ClassVar = {
        "excess_slope": Quantity(
            "slope of excess risk", f"{QUANTITIES}:excess_slope", options=("along",)
        ),
        "excess_share": Quantity(
            "excess risk / bound", f"{QUANTITIES}:excess_share", plays=("weights 0",)
        ),
        "gap_slope": Quantity(
            "slope of largest gap", f"{QUANTITIES}:gap_slope", options=("along",)
        ),
    }
    engine = "scant.generalisation.run:run"
    toys = "scant.generalisation.toys:play"
    memory, minutes = 3000, 30

    def jobs(self, study: dict, datasets: Mapping, name: str) -> list[Job]:
        experiment, jobs = study["experiments"][name], []
        for population in experiment["populations"]:
            settings = {
                "study_seed": study["seed"],
                "kind": self.kind,
                "population": untitled(study["populations"][population]),
                "learners": learners_of(study, experiment),
                **self.played(experiment),
            }
            stream = study["populations"][population].get("stream")
            if stream is None and experiment["d"] is None:
                settings["d"] = [SIMULATED]
            inputs = (
                {}
                if stream is None
                else {"streams": [STREAM.format(study=study["study"], stream=stream)]}
            )
            for seeds in batches(experiment["seeds"], experiment["batch"]):
                jobs.append(Job(f"{name}/{population}/seed-{span(seeds)}", settings, seeds, inputs))
        return jobs

    def details(self, study: dict, name: str) -> dict:
        learners = {
            id: untitled(study["learners"][id]) for id in study["experiments"][name]["learners"]
        }
        return super().details(study, name) | {"learners": learners}

    def check(self, study: dict, datasets: dict, experiment: dict) -> None:
        for name in experiment["populations"]:
            with errors_of(name):
                _check_sizes(study, datasets, experiment, study["populations"][name])

    def identity(self, run: dict) -> dict[str, Any]:
        return {key: run[key] for key in ("experiment", "stream", "largest_grade", "sigma")}
