"""What claims are about, checked as study files are: a setting, or a value of one, that no study
can have is refused.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from scant.declare import families
from scant.declare.declarations import own_class, settings_of
from scant.declare.families import Family
from scant.errors import SettingError, check_name, errors_of
from scant.schema import check
from scant.study.schema import any_of, experiment_settings, own_settings

# What claims about the study of bounds choose its rows by, in place of streams.
COVERAGE = {
    "campaign": {},
    "policy": {},
    "rows": {},
    "side": {"enum": ["lower", "two-sided"]},
    "level": {},
}
NAMES = {"ids": {}, "title": {}}  # of whatever a study has


def check_selectors(claim: Mapping, datasets: Mapping) -> None:
    """Raise a SettingError for a key or value of a claim's selectors that no study can have.

    claim : a part of a claim, which fits the schema of claims
    datasets : the data sets of the registry and the study, by id
    """
    _check_selectors(claim, datasets)
    if "control" in claim:
        replaced = {key: value for key, value in claim["control"].items() if key != "words"}
        with errors_of("control"):
            _check_selectors({**claim, **replaced}, datasets)


def _check_selectors(claim: Mapping, datasets: Mapping) -> None:
    if claim["quantity"] == "table":
        return  # its columns are known once the table is computed
    if claim["quantity"] == "coverage":
        _check(claim["on"], COVERAGE, "on")
        return
    kinds = families.families()
    having = kinds if ":" in claim["quantity"] else _with_quantity(claim["quantity"])
    where = claim["where"]
    _check({"kind": where.get("kind")}, {"kind": {"enum": [*having]}}, "where")
    named = _named(where.get("kind")) or [*having]
    playing = [kinds[kind] for kind in named]
    if "plays" in claim:
        named_by = (one.quantities.get(claim["quantity"]) for one in playing)
        plays = {play for quantity in named_by if quantity for play in quantity.plays}
        with errors_of("plays"):
            check_name("play", claim["plays"], plays)
    for key in ("where", "other"):
        rules = chain.from_iterable(experiment_settings(one).items() for one in playing)
        rules = {**NAMES, "kind": {"enum": named}, **any_of(rules)}
        _check(claim.get(key, {}), rules, key)
    for key in ("on", "own"):
        _check_places(claim.get(key, {}), playing, datasets, key)
    for key, wanted in _of_learners(claim):
        _check_learners(wanted, playing, key)


def _with_quantity(name: str) -> dict[str, Family]:
    return {kind: one for kind, one in families.families().items() if name in one.quantities}


def _of_learners(claim: Mapping) -> Iterator[tuple[str, dict]]:
    """The selectors of learners, each with its key."""
    yield "learner", claim["learner"]
    if isinstance(claim.get("against"), dict):
        yield "against", claim["against"]
    yield from (
        (f"each.{number}", wanted) for number, wanted in enumerate(claim.get("each", ()), 1)
    )


def _check_learners(wanted: dict, playing: list[Family], where: str) -> None:
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
    _check(wanted, {**rules, **NAMES, "kind": {}}, where)


def _check_places(wanted: dict, playing: list[Family], datasets: Mapping, where: str) -> None:
    for one in {family.place.key: family.place for family in playing}.values():
        simulation = one.simulations[0] if one.simulations else ""
        rules = {**one.schema["properties"], **NAMES, "settings": {}}
        if "dataset" in rules:
            rules["dataset"] = {"enum": [*datasets]}
        _check(wanted, rules, where)
        if ":" not in str(wanted.get(simulation)) and isinstance(wanted.get("settings"), dict):
            limits = {name: dict(rule) for name, (_, rule) in one.rules.items()}
            _check(wanted["settings"], limits, f"{where}.settings")


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
        if value == []:
            raise SettingError(f"{where}.{key}: a list without alternatives fits nothing")
        for one in _values(value):
            check({key: one}, {"properties": {key: rules[key]}}, where)


def _values(wanted) -> Iterator:
    """The settings that a selector's value stands for, without null, which stands for a setting
    that is absent.
    """
    if isinstance(wanted, list):
        for option in wanted:
            yield from [option] if isinstance(option, list) else _values(option)
    elif isinstance(wanted, dict) and wanted.keys() == {"not"}:
        yield from _values(wanted["not"])
    elif wanted is not None:
        yield wanted
