"""What claims are about: which experiments, places and learners of a study fit what a claim asks for."""

from collections.abc import Iterator

from scant import families as registry
from scant.families import Quantity
from scant.study.plan import Plan


def fits(value, wanted) -> bool:
    """Whether a setting is what is wanted: of a list, one of its members; of a mapping, the same in its keys."""
    if isinstance(wanted, list):
        return any(value == one if isinstance(one, list) else fits(value, one) for one in wanted)
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all_fit(value, wanted, "")
    return bool(value == wanted)


def all_fit(settings: dict, wanted: dict, name: str) -> bool:
    """Whether all settings of the experiment, stream or learner `name` are what is wanted; "ids" are names."""
    return all(fits(name if key == "ids" else settings.get(key), value) for key, value in wanted.items())


def chosen(study: dict, place: str, name: str, wanted: dict) -> bool:
    """Whether a stream, game, log or learner of a study is what is wanted.

    One that takes another's place in a sweep goes by its name. What is wanted to be null, left to the default, it may
    have from the sweep, if the other has it not.
    """
    settings = study[place][name]
    source = settings.get("stands_for", name)
    swept = {key for key, value in wanted.items() if value is None and key not in study[place][source]}
    return all_fit(settings, {key: value for key, value in wanted.items() if key not in swept}, source)


def quantities() -> dict[str, dict[str, Quantity]]:
    """What claims may be of: for each quantity, the families that have it, by kind, and what each says of it."""
    found = {}
    for kind, family in registry.families().items():
        for name, quantity in family.quantities.items():
            found.setdefault(name, {})[kind] = quantity
    return found


def modules() -> list[str]:
    """The modules that work out quantities, and the families that judge their readings."""
    values = (quantity.values for of in quantities().values() for quantity in of.values())
    return sorted({dotted.partition(":")[0] for dotted in (*values, *registry.FAMILIES.values())})


def families(plan: Plan, claims: dict) -> list[str]:
    """The families of claims that have a figure: those with a claim of something that the study plays."""
    found = dict.fromkeys(claim["family"] for claim in claims.values() if any(_played(plan, claim)))
    return list(found)


def _played(plan: Plan, claim: dict) -> Iterator[bool]:
    """For each experiment, whether it has what a claim is of: settings, a place and learners that fit."""
    if "learner" not in claim:  # of a table, or not testable
        return
    against = claim.get("against")
    wanted = [("learners", claim["learner"])] + ([("learners", against)] if isinstance(against, dict) else [])
    for name in plan.played:
        experiment = plan.study["experiments"][name]
        places = [(plan.families[name].place.key, claim.get("on", {}))]
        yield all_fit(experiment, claim["where"], name) and all(
            any(chosen(plan.study, key, id, settings) for id in experiment[key]) for key, settings in (*places, *wanted)
        )
