"""What claims are about, checked as study files are: a setting, or a value of one, that no study
can have is refused.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain

from scant.declare import families
from scant.declare.declarations import own_class, settings_of
from scant.declare.families import Family, Quantity
from scant.errors import SettingError, check_name, errors_of
from scant.measures import named as measure_named
from scant.measures import recordable
from scant.schema import check, of_project, read_yaml
from scant.study.schema import any_of, experiment_settings, own_settings

# What claims about the study of bounds choose its rows by, in place of streams.
COVERAGE = {
    "campaign": {},
    "policy": {},
    "rows": {},
    "side": {"enum": ["lower", "two-sided"]},
    "level": {},
}
# Rules with a default are of what no entry of a settled study lacks.
LACKED_BY_NONE = {"type": "string", "default": ""}
OWN = "ranker_"  # before the name of a measure, of the learner's own ranking
_FITTING = set()  # values that were found to fit, each with its key and rule


def quantities() -> dict[str, dict[str, Quantity]]:
    """By name of a quantity that claims can be about, its declarations by kind of family."""
    by_name = {}
    for kind, family in families.families().items():
        for name, quantity in family.quantities.items():
            by_name.setdefault(name, {})[kind] = quantity
    return by_name


def declared(quantity: str) -> dict[str, Quantity]:
    """The declarations of a quantity, by kind of family; for a user's own quantity all are the
    same.

    Empty if there is none.
    """
    if ":" in quantity:
        return dict.fromkeys(families.FAMILIES, families.own_quantity(quantity))
    return quantities().get(quantity, {})


def check_selectors(claim: Mapping, datasets: Mapping, study: Mapping | None = None) -> None:
    """Raise a SettingError for a key or value of a claim's selectors that no study can have, and
    for a number that its quantity cannot be compared with.

    claim : a part of a claim, which fits the schema of claims
    datasets : the data sets of the registry and the study, by id
    study : the study that judges it, whose ids it may name; any ids if None
    """
    _check_selectors(claim, datasets, study)
    if "control" in claim:
        replaced = {key: value for key, value in claim["control"].items() if key != "words"}
        with errors_of("control"):
            _check_selectors({**claim, **replaced}, datasets, study)


def _check_selectors(claim: Mapping, datasets: Mapping, study: Mapping | None) -> None:
    name, kind = claim["quantity"], claim.get("where", {}).get("kind")
    if name == "table":
        return  # its columns are known once the table is computed
    if ":" in name and not isinstance(kind, str):
        raise SettingError("where: name the kind of experiment, as in {kind: perceptron}")
    having = declared(name)
    _check({"kind": kind}, {"kind": {"enum": [*having]}}, "where")
    named = _named(kind) or [*having]
    playing = [families.families()[kind] for kind in named]
    measured = [having[kind] for kind in named]
    for least, most in filter(None, {span(quantity, claim) for quantity in measured}):
        of_value = {"minimum": least, "maximum": most}
        of_margin = {"minimum": least - most, "maximum": most - least}
        check(claim, {"properties": {"against": of_value, "margin": of_margin}}, name)
    if name == "coverage":
        _check(claim["on"], COVERAGE, "on")
        return
    if "plays" in claim:
        plays = {play for quantity in measured for play in quantity.plays}
        with errors_of("plays"):
            check_name("play", claim["plays"], plays)
    for key in ("where", "other"):
        wanted = claim.get(key, {})
        rules = chain.from_iterable(experiment_settings(one).items() for one in playing)
        rules = any_of([*rules, ("kind", {"enum": named, "default": ""})])
        _check(wanted, _names(wanted, study, "experiments") | rules, key)
    for key in ("on", "own"):
        _check_places(claim.get(key, {}), playing, datasets, study, key)
    ids = [wanted.get("ids") for _, wanted in _of_learners(claim)]
    for key, wanted in _of_learners(claim):
        _check_learners(wanted, playing, study, key, ids)


def span(quantity: Quantity, claim: Mapping) -> tuple[float, float] | None:
    """The range of a claim's quantity, least and largest; None if it is not known."""
    # "" is the measure of its quantity, which is up to 1
    name = claim.get("measure", "").removeprefix(OWN)
    up_to_one = not name or (recordable(name) and measure_named(name)[0].empty)
    return quantity.range if up_to_one or "measure" not in quantity.options else None


def _names(wanted: Mapping, study: Mapping | None, section: str, also=()) -> dict[str, dict]:
    """The rules for what entries of a section are named by.

    A misspelt id would narrow a claim, or, under "not", widen it. So ids have to be of the study or
    of one of the project's. A claim none of whose ids is the study's is about another one.

    also : the ids that the claim's other selectors of the section name
    """
    rules, ids = {"ids": LACKED_BY_NONE, "title": {}}, wanted.get("ids")
    if study:
        named = {id for each in (ids, *also) for id in _values(each) if isinstance(id, str)}
        left = (of.get(section, ()) for of in study.get("left_out", {}).values())
        here = {*study[section], *chain.from_iterable(left)}
        if named - here and (named & here or isinstance(ids, dict)):
            shipped = chain.from_iterable(study.get(section, ()) for study in _shipped())
            rules["ids"] = {"enum": [*here.union(shipped)]}
    return rules


@cache
def _shipped() -> list[dict]:
    """The project's own studies."""
    files = [of_project("config/config.yaml"), *of_project("config/studies").glob("*.yaml")]
    return [read_yaml(file) for file in files]


def _of_learners(claim: Mapping) -> Iterator[tuple[str, dict]]:
    """The selectors of learners, each with its key."""
    yield "learner", claim["learner"]
    if isinstance(claim.get("against"), dict):
        yield "against", claim["against"]
    yield from (
        (f"each.{number}", wanted) for number, wanted in enumerate(claim.get("each", ()), 1)
    )


def _check_learners(
    wanted: dict, playing: list[Family], study: Mapping | None, where: str, ids: list
) -> None:
    built_in = {kind: learner for one in playing for kind, learner in one.learners.items()}
    theirs = [kind for kind in _named(wanted.get("kind")) if ":" in kind]
    _check({"kind": wanted.get("kind")}, {"kind": {"enum": [*built_in, *theirs]}}, where)
    meant = _named(wanted.get("kind")) or built_in
    classes = (one.learners[kind] for one in playing for kind in one.learners if kind in meant)
    of_kinds = [
        (name, setting.schema)
        for learner in classes
        for name, setting in settings_of(learner).items()
    ]
    own = (own_settings(own_class(kind))["properties"].items() for kind in theirs)
    rules = any_of([*of_kinds, *chain.from_iterable(own)])
    rules |= _names(wanted, study, "learners", ids) | {"kind": LACKED_BY_NONE}
    _check(wanted, rules, where)


def _check_places(
    wanted: dict, playing: list[Family], datasets: Mapping, study: Mapping | None, where: str
) -> None:
    for one in {family.place.key: family.place for family in playing}.values():
        simulation = one.simulations[0] if one.simulations else ""
        rules = (
            one.schema["properties"]
            | _names(wanted, study, one.key)
            | {"settings": {"type": "object"}}
        )
        if "dataset" in rules:
            rules["dataset"] = {"enum": [*datasets]}
        _check(wanted, rules, where)
        if ":" not in str(wanted.get(simulation)):
            limits = {name: dict(rule) for name, (_, rule) in one.rules.items()}
            for settings in filter(None, _values(wanted.get("settings"))):
                _check(settings, limits, f"{where}.settings")


def _named(wanted) -> list:
    """The values that a selector names for a key; none if it has no such key, or names what it must
    not be.
    """
    values = wanted if isinstance(wanted, list) else [wanted]
    return [value for value in values if isinstance(value, str)]


def _check(wanted: Mapping, rules: Mapping[str, dict], where: str) -> None:
    """Raise a SettingError for a key that has no rule, or a value that does not fit its own."""
    for key, value in wanted.items():
        with errors_of(where):
            check_name("key", key, rules)
        if not (alternatives := [*_values(value)]):
            raise SettingError(f"{where}.{key}: a list without alternatives fits nothing")
        for one in alternatives:
            # null stands for a setting that is absent
            if one is not None or "default" in rules[key]:
                _check_value(key, one, rules[key], where)


def _check_value(key: str, value, rule: dict, where: str) -> None:
    """Raise a SettingError for a value that does not fit its rule; most claims ask for the same
    ones, and a validator takes long.
    """
    asked = json.dumps([key, value, rule], default=str)
    if asked not in _FITTING:
        check({key: value}, {"properties": {key: rule}}, where)
        _FITTING.add(asked)


def _values(wanted) -> Iterator:
    """The settings that a selector's value stands for."""
    if isinstance(wanted, list):
        for option in wanted:
            yield from [option] if isinstance(option, list) else _values(option)
    elif isinstance(wanted, dict) and wanted.keys() == {"not"}:
        yield from _values(wanted["not"])
    else:
        yield wanted
