"""Sweeps: what else the readings of an experiment could be, each combination an experiment of its own."""

import re
from collections.abc import Mapping
from itertools import product

from scant.ads import run as ads
from scant.ads.scorers import AS_THEY_ARE, RANKERS
from scant.errors import SettingError
from scant.online import top
from scant.online.learners import RELEASED_CODE
from scant.schema import check

OF_STREAMS = ("features", "documents", "drop_last")  # readings that a study says of its streams
OF_LEARNERS = {  # and of its learners: the kinds that have them, and what they are if absent
    "sign": (("rtop", "ogd"), "negated"),
    "epsilon": (("rtop", "ogd", "ftpl"), None),
    "epsilon_decay": (("rtop", "ogd"), 0),
    "pair_loss": (("auc-ranker",), "logistic"),
}
SMOOTHED = ("sign", "epsilon", "epsilon_decay")  # those that, of contextual learners, SmoothDCG alone has
UNDERSAMPLED = ("logistic", "forest")
SCORERS = tuple(kind for kind in ads.KINDS if kind not in ads.CONTROLS)
NEEDS = {  # readings of experiments of a kind that change only some kinds of learners
    ("perceptron", "source"): tuple(RELEASED_CODE),
    **{("top", key): top.KINDS for key in ("source", "schedule", "radius")},
    ("top", "mismatch"): ("rtop",),
    ("ads", "threshold"): RANKERS,
    ("ads", "undersample"): (*UNDERSAMPLED, *RANKERS),
    ("ads", "undersampled"): RANKERS,
    ("ads", "standardise"): tuple(kind for kind in SCORERS if kind not in AS_THEY_ARE),
    ("ads", "select"): SCORERS,
    ("ads", "validation"): tuple(kind for kind in ads.KINDS if kind not in ads.WITHOUT_LAMBDA),
}
UNDER = {  # levels under which other readings change nothing
    ("source", "released-code"): ("schedule", *top.RELEASED_CODE["smoothdcg"]),
    ("undersample", None): ("undersampled",),
    ("tuning", "paper"): ("validation",),
}
NOT_OF_ADVERSARY = ("rounds", "order", "keep", "empty")


def expand(study: dict, datasets: Mapping, schema: dict, for_kinds: Mapping[str, tuple]) -> dict:
    """A study in which every combination of what its experiments sweep is an experiment, after the one that sweeps.

    Such an experiment, and a stream or learner that differs in it, says in `stands_for` whose place it takes. Claims
    alone read it: it is in no figure and no other table.

    for_kinds : the kinds of experiments that have a setting, where not all have it

    Raises
    ------
    SettingError : a sweep has a level that cannot be, or a reading that changes nothing in its experiment; or the name
        of what it makes is taken
    """
    study = study | {place: dict(study[place]) for place in ("streams", "learners")}
    experiments, stated = {}, study["experiments"]
    for name, experiment in stated.items():
        sweep = experiment["sweep"]
        own = experiments[name] = {key: value for key, value in experiment.items() if key != "sweep"}
        found = []
        try:
            for levels in _combinations(sweep, schema):
                _check(study, own, levels, for_kinds)
                for one, variant in _variant(study, datasets, name, own, levels).items():
                    if variant["sweeps"] in found:
                        continue
                    if one in stated or one in experiments:
                        raise SettingError(f"there is an experiment {one!r} already")
                    found.append(variant["sweeps"])
                    experiments[one] = variant
        except SettingError as error:
            raise SettingError(f"experiments.{name}.sweep: {error}") from None
    return study | {"experiments": experiments}


def level_of(settings: dict, key: str, datasets: Mapping | None = None):
    """What a stream or learner has for a reading that can change it; None for another, and for what theory chooses.

    datasets : by id; without them the scale of a ranking set's features is not known, unless the stream says it
    """
    if not _has(settings, key):
        return None
    if key in OF_LEARNERS:
        absent = 0.01 if key == "epsilon" and settings["kind"] != "ftpl" else OF_LEARNERS[key][1]
        return settings.get(key, absent)
    if key == "features" and key not in settings:
        if "generator" in settings or "retrieval" in settings:
            return "as-is"
        return None if datasets is None else "as-is" if datasets[settings["dataset"]].normalised else "query-minmax"
    return settings[key]


def unheeded(experiment: dict, key: str, learners: set[str]) -> tuple[str, ...]:
    """The kinds of learners that a reading of an experiment is for, if none of these kinds is; else none."""
    needed = NEEDS.get((experiment["kind"], key), ())
    if key == "undersample" and experiment["undersampled"] == "classifiers":
        needed = UNDERSAMPLED
    own = any(":" in kind for kind in learners)  # who knows what a learner of one's own heeds
    return () if own or learners & {*needed} else needed


def _combinations(sweep: list[dict], schema: dict) -> list[dict]:
    """All that a sweep names, each with its readings in the order of the schema."""
    places = [schema["$defs"][place]["properties"] for place in ("experiment", "stream", "learner")]
    order, found = schema["$defs"]["sweep"]["propertyNames"]["enum"], []
    for one in sweep:
        one = {key: one[key] for key in order if key in one}
        for key, values in one.items():
            rule = next(properties[key] for properties in places if key in properties)
            for value in values:
                check({key: value}, {"properties": {key: rule}}, "a level")
        found += [dict(zip(one, values, strict=True)) for values in product(*one.values())]
    return found


def _check(study: dict, experiment: dict, levels: dict, for_kinds: Mapping[str, tuple]) -> None:
    """Raise a SettingError if one of the levels would change nothing in an experiment, whatever it is."""
    kind, under = experiment["kind"], experiment | levels
    learners = {study["learners"][one]["kind"] for one in experiment["learners"]}
    generators = {study["streams"][one].get("generator") for one in experiment["streams"]}
    for key in levels:
        if kind not in for_kinds.get(key, (kind,)):
            raise SettingError(f"{key} does nothing in an experiment of kind {kind!r}")
        if needed := unheeded(under, key, learners):
            raise SettingError(f"{key} does nothing without a learner of kind {' or '.join(needed)}")
        for (other, value), without in UNDER.items():
            if key in without and under[other] == value:
                raise SettingError(f"{key} does nothing where {other} is {_text(value)}")
        if key in NOT_OF_ADVERSARY and generators == {"adversary"}:
            raise SettingError(f"{key} does nothing against the adversary")


def _variant(study: dict, datasets: Mapping, name: str, experiment: dict, levels: dict) -> dict[str, dict]:
    """The experiment of these levels, by its id; none if they are the experiment's own."""
    changed, own = {}, {}
    for key, value in levels.items():
        if key in OF_STREAMS or key in OF_LEARNERS:
            place = "streams" if key in OF_STREAMS else "learners"
            having = [one for one in experiment[place] if _has(study[place][one], key)]
            if not having:
                raise SettingError(f"{key} does nothing for the {place} of this experiment")
            for one in having:
                if level_of(study[place][one], key, datasets) != value:
                    own.setdefault((place, one), {})[key] = changed[key] = value
        elif experiment[key] != value:
            changed[key] = value
    if not changed:
        return {}
    new = {}
    for (place, one), settings in own.items():
        new[place, one] = stand_in = _name(one, settings)
        made = study[place][one] | settings | {"title": study[place][one].get("title", one), "stands_for": one}
        if study[place].setdefault(stand_in, made) != made:
            raise SettingError(f"{place} have {stand_in!r} already")
    variant = experiment | {key: value for key, value in changed.items() if key in experiment}
    for place in ("streams", "learners"):
        variant[place] = [new.get((place, one), one) for one in experiment[place]]
    variant["baseline"] = new.get(("learners", experiment["baseline"]), experiment["baseline"])
    about = {"title": f"{experiment.get('title', name)}, {said(changed)}", "figures": []}
    return {_name(name, changed): variant | about | {"stands_for": name, "sweeps": changed}}


def _has(settings: dict, key: str) -> bool:
    """Whether a reading can change what a stream is, or what a learner does."""
    if key == "drop_last":
        return "dataset" in settings and "retrieval" not in settings
    if key in OF_STREAMS:
        return settings.get("generator") != "adversary"
    smoothdcg = settings.get("surrogate") == "smoothdcg" or settings["kind"] == "ftpl"
    return settings["kind"] in OF_LEARNERS[key][0] and (smoothdcg or key not in SMOOTHED)


def said(levels: dict) -> str:
    """Levels in words."""
    return ", ".join(f"{key} {_text(value)}" for key, value in levels.items())


def _name(name: str, levels: dict) -> str:
    return "+".join([name, *(f"{key}-{_text(value)}" for key, value in levels.items())])


def _text(value) -> str:
    """A level as part of an id."""
    text = "none" if value is None else "-".join(map(str, value)) if isinstance(value, list) else str(value).lower()
    return re.sub(r"[^A-Za-z0-9@._-]", "_", text)
