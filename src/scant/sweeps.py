"""Sweeps: what else the readings of an experiment could be, each combination an experiment of its own."""

import re
from itertools import product

from scant.errors import SettingError
from scant.schema import check

OF_STREAMS = ("features", "documents", "drop_last")  # readings that a study says of its streams
OF_LEARNERS = {  # and of its learners: the kinds that have them, and what they are if absent
    "sign": (("rtop", "ogd"), "negated"),
    "epsilon": (("rtop", "ogd", "ftpl"), None),
    "epsilon_decay": (("rtop", "ogd"), 0),
    "pair_loss": (("auc-ranker",), "logistic"),
}
SMOOTHED = ("sign", "epsilon", "epsilon_decay")  # those that, of contextual learners, SmoothDCG alone has


def expand(study: dict, datasets: dict, schema: dict) -> dict:
    """A study in which every combination of what its experiments sweep is an experiment, after the one that sweeps.

    Such an experiment, and a stream or learner that differs in it, says in `stands_for` whose place it takes. Claims
    alone read it: it is in no figure and no other table.

    Raises
    ------
    SettingError : a sweep has a level that cannot be, or a reading that changes nothing in its experiment
    """
    study = study | {place: dict(study[place]) for place in ("streams", "learners")}
    experiments = {}
    for name, experiment in study["experiments"].items():
        sweep = experiment["sweep"]
        experiments[name] = {key: value for key, value in experiment.items() if key != "sweep"}
        try:
            for levels in _combinations(sweep, schema):
                variant = _variant(study, datasets, name, experiments[name], levels)
                experiments |= {one: variant[one] for one in variant if one not in experiments}
        except SettingError as error:
            raise SettingError(f"experiments.{name}.sweep: {error}") from None
    return study | {"experiments": experiments}


def _combinations(sweep: list[dict], schema: dict) -> list[dict]:
    places = [schema["$defs"][place]["properties"] for place in ("experiment", "stream", "learner")]
    found = []
    for one in sweep:
        for key, values in one.items():
            rule = next(properties[key] for properties in places if key in properties)
            for value in values:
                check({key: value}, {"properties": {key: rule}}, "a level")
        found += [dict(zip(one, values, strict=True)) for values in product(*one.values())]
    return found


def _variant(study: dict, datasets: dict, name: str, experiment: dict, levels: dict) -> dict[str, dict]:
    """The experiment of these levels, by its id; none if they are the experiment's own."""
    changed, own = {}, {}
    for key, value in levels.items():
        if key in OF_STREAMS or key in OF_LEARNERS:
            place = "streams" if key in OF_STREAMS else "learners"
            having = [one for one in experiment[place] if _has(study[place][one], key, datasets)]
            if not having:
                raise SettingError(f"{key} does nothing for the {place} of this experiment")
            for one in having:
                if _own(study[place][one], key, datasets) != value:
                    own.setdefault((place, one), {})[key] = changed[key] = value
        elif experiment[key] != value:
            changed[key] = value
    if not changed:
        return {}
    new = {}
    for (place, one), settings in own.items():
        new[place, one] = _name(one, settings)
        titled = {"title": study[place][one].get("title", one)}
        study[place][new[place, one]] = study[place][one] | settings | titled | {"stands_for": one}
    variant = experiment | {key: value for key, value in changed.items() if key in experiment}
    for place in ("streams", "learners"):
        variant[place] = [new.get((place, one), one) for one in experiment[place]]
    variant["baseline"] = new.get(("learners", experiment["baseline"]), experiment["baseline"])
    said = ", ".join(f"{key} {_text(value)}" for key, value in changed.items())
    about = {"title": f"{experiment.get('title', name)}, {said}", "figures": [], "stands_for": name, "sweeps": changed}
    return {_name(name, changed): variant | about}


def _has(settings: dict, key: str, datasets: dict) -> bool:
    """Whether a reading can change what a stream is, or what a learner does."""
    if key in OF_STREAMS:
        return settings.get("generator") != "adversary" and ("dataset" in settings or key != "drop_last")
    smoothdcg = settings.get("surrogate") == "smoothdcg" or settings["kind"] == "ftpl"
    return settings["kind"] in OF_LEARNERS[key][0] and (smoothdcg or key not in SMOOTHED)


def _own(settings: dict, key: str, datasets: dict):
    """What a stream or learner has for a reading."""
    if key in OF_LEARNERS:
        absent = 0.01 if key == "epsilon" and settings["kind"] != "ftpl" else OF_LEARNERS[key][1]
        return settings.get(key, absent)
    if key == "features" and "features" not in settings:
        raw = "dataset" in settings and "retrieval" not in settings and not datasets[settings["dataset"]].normalised
        return "query-minmax" if raw else "as-is"
    return settings[key]


def _name(name: str, levels: dict) -> str:
    return "+".join([name, *(f"{key}-{_text(value)}" for key, value in levels.items())])


def _text(value) -> str:
    """A level as part of an id."""
    text = "none" if value is None else "-".join(map(str, value)) if isinstance(value, list) else str(value).lower()
    return re.sub(r"[^A-Za-z0-9@._-]", "_", text)
