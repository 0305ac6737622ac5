"""Which experiments, places and learners of a study a claim is about."""

from collections.abc import Iterator, Mapping
from itertools import chain

from scant.declare import families as registry
from scant.declare.declarations import called, defaults_of
from scant.study.grouping import parts
from scant.study.plan import Plan
from scant.study.selectors import declared, quantities
from scant.study.sweeps import defaults_in_force, ours


def fits(value, wanted) -> bool:
    """Whether a setting has the value that a claim wants.

    A list wants any one of its values. A mapping wants its value for each of its keys; if "not" is
    its only key, it wants anything but that value.
    """
    if isinstance(wanted, dict) and wanted.keys() == {"not"}:
        return not fits(value, wanted["not"])
    if isinstance(wanted, list):
        return any(
            value == option if isinstance(option, list) else fits(value, option)
            for option in wanted
        )
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all_fit(value, wanted, "")
    return bool(value == wanted)


def all_fit(settings: dict, wanted: dict, name: str) -> bool:
    """Whether the settings of an experiment, place or learner all have the wanted values.

    name : its id, which the key "ids" of `wanted` is compared with
    """
    return all(
        fits(name if key == "ids" else settings.get(key), value) for key, value in wanted.items()
    )


def chosen(study: dict, section: str, name: str, wanted: dict) -> bool:
    """Whether a stream, game, log or learner of a study is one that a claim is about.

    Settings that the study leaves out have their defaults. A wanted value of null is for settings
    that the study leaves out. A copy made by a sweep counts under the id of its original. Where a
    claim wants null for a setting, a copy may have any level of this setting if its original leaves
    it out. A claim is about a learner with settings that go beyond the papers (`Setting.ours`) only
    if it names them.

    section : "streams", "games", "logs" or "learners"
    name : its id in this section
    wanted : the values of settings, see `fits`
    """
    settings = study[section][name]
    if section == "learners" and any(setting not in wanted for setting in ours(settings)):
        return False
    original = settings.get("stands_for", name)
    completed, stated = _completed(section, settings), study[section][original]
    return all(
        all_fit(settings, {key: value}, original) or all_fit(completed, {key: value}, original)
        for key, value in wanted.items()
        # null in the claim, and not set in the original: a copy may have any level of it
        if value is not None or key in stated
    )


def _completed(section: str, settings: dict) -> dict:
    """The settings of a place or learner with those that the study leaves out, as far as they have
    one default.
    """
    if section == "learners":
        return defaults_in_force(settings) | settings
    key, simulations = registry.places()[section].simulations or ("", "")
    draw = called(simulations).get(settings.get(key)) if simulations else None
    if draw is None:
        return settings
    return settings | {"settings": defaults_of(draw) | settings.get("settings", {})}


def in_words(wanted: dict) -> str:
    """Wanted settings in words, such as "kind slam or listnet and measure ap"."""

    def words(value) -> str:
        if isinstance(value, dict):
            return in_words(value)
        if isinstance(value, list):
            return " or ".join(map(words, value))
        return "none" if value is None else str(value)

    return " and ".join(f"{key} {words(value)}" for key, value in wanted.items())


def modules(claims: Mapping[str, dict]) -> list[str]:
    """The modules whose code computes quantities: those that claims name of a user's own, and the
    modules of families.

    Families decide on the readings of quantities.
    """
    own = registry.own_quantities(claims)
    by_kind = (declarations.values() for declarations in quantities().values())
    values = (quantity.values for quantity in chain(own.values(), *by_kind))
    dotted = (*values, *own, *registry.FAMILIES.values())
    return sorted({name.partition(":")[0] for name in dotted})


def jobs(plan: Plan, claims: dict) -> dict[str, tuple[list[str], list[str]]]:
    """The jobs that judge claims: by the job's name, the experiments it reads and the ids of its
    claims.

    Verdicts are corrected within a family of claims, so one job judges whole families: all that are
    read in the same kinds of experiments. The job's name joins these kinds; it is "theory" if the
    study has none of them.
    """
    played, kinds = {family.kind for family in plan.families.values()}, {}
    for claim in claims.values():
        for part in parts(claim):
            for judged in (part, part | part.get("control", {})):
                kinds.setdefault(claim["family"], set()).update(played & _kinds(judged))
    jobs = {}
    for name, claim in claims.items():
        of_family = kinds[claim["family"]]
        experiments = [name for name, family in plan.families.items() if family.kind in of_family]
        jobs.setdefault("-".join(sorted(of_family)) or "theory", (experiments, []))[1].append(name)
    return jobs


def _kinds(claim: dict) -> set[str]:
    """The kinds of experiments that a claim can be read in."""
    wanted = claim.get("where") or {}
    return {kind for kind in declared(claim["quantity"]) if fits(kind, wanted.get("kind", kind))}


def played_on(plan: Plan, claim: dict) -> Iterator[tuple[str, str]]:
    """The section and id of each place on which an experiment plays what a claim, or a part of it,
    is about.
    """
    if "learner" not in claim:  # it is about a table
        return
    against = claim.get("against")
    wanted = [claim["learner"]] + ([against] if isinstance(against, dict) else [])
    for name, family in plan.families.items():
        experiment, section = plan.study["experiments"][name], family.place.key
        learners, places = experiment["learners"], experiment[section]
        played = all(
            any(chosen(plan.study, "learners", id, settings) for id in learners)
            for settings in wanted
        )
        if played and all_fit(experiment, claim["where"], name):
            on = claim.get("on", {})
            yield from ((section, id) for id in places if chosen(plan.study, section, id, on))


def lacking(plan: Plan, whole: Plan | None, claim: dict) -> str:
    """The titles of the data sets without which a study plays nothing that a claim is about; "" if
    it lacks none.

    whole : the plan of the study with all data sets; None if it has left out none
    """
    sets = plan.study.get("left_out", {}).values() if whole else ()
    places = [place for part in parts(claim) for place in played_on(whole, part)] if sets else []
    return ", ".join(
        left["title"] for left in sets if any(id in left.get(section, ()) for section, id in places)
    )
