"""What families declare keeps to one contract: learners, settings, figures, tables and quantities.

What is misdeclared fails here, with words that say what is missing.
"""

import inspect
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from matplotlib.markers import MarkerStyle

from scant.bandits.learners import KINDS, AdLearner, Scorer
from scant.declare import families
from scant.declare.declarations import Look, Setting, defaults_of, own_class, settings_of
from scant.declare.families import Quantity, Shown
from scant.games.learners import Player
from scant.present import style
from scant.rankers import click_learners, top
from scant.rankers import learners as online
from scant.study.schema import COMMON

ROOT = Path(__file__).parents[2]
FAMILIES = list(families.families().values())
BUILT_IN = {
    f"{family.kind}, {kind}": (family, kind) for family in FAMILIES for kind in family.learners
}
SHOWN = {shown.name: shown for _, shown in families.shown()}
QUANTITIES = {
    f"{family.kind}, {name}": one for family in FAMILIES for name, one in family.quantities.items()
}
SEES = ("all", "top", "loss", "nothing")
READS = {  # by what a frame is made of: how many arguments its function takes of it
    "traces": 2, "coverage": 1, "regret": 3, "streams": 1, "logs": 1, "nothing": 0,
}  # fmt: skip
COLOURS = (*style.COLOURS, "#000000")


def is_sentence(text: str) -> bool:
    return text[:1].isupper() and text.endswith(".") and text == " ".join(text.split())


def takes(function, *arguments, **options) -> str:
    """Why a function does not take some arguments; empty if it does."""
    try:
        inspect.signature(function).bind(*arguments, **options)
    except TypeError as error:
        return str(error)
    return ""


# --- settings
def of_setting(setting: Setting) -> list[str]:
    """What is wrong with a setting of a learner or of an experiment."""
    found = [] if is_sentence(setting.about) else [f"{setting.name} is not described by a sentence"]
    defaults = {"default": setting.rule.get("default"), "absent": setting.absent}
    try:
        jsonschema.Draft202012Validator.check_schema(setting.schema)
        for name, value in defaults.items():
            if value is not None:
                jsonschema.validate(
                    list(value) if isinstance(value, tuple) else value, setting.schema
                )
            elif name in setting.rule:
                jsonschema.validate(None, setting.schema)
    except jsonschema.SchemaError as error:
        found.append(f"the rule of {setting.name} is no JSON schema: {error.message}")
    except jsonschema.ValidationError as error:
        found.append(f"what {setting.name} is by default breaks its rule: {error.message}")
    return found


def of_experiments(family) -> list[str]:
    """What is wrong with the settings of a family's experiments."""
    names = [setting.name for setting in family.settings]
    taken = {*COMMON, family.place.key, "kind", "figures"}
    found = [f"{name} is declared twice, or every experiment has it" for name in names
             if names.count(name) > 1 or name in taken]  # fmt: skip
    for setting in family.settings:
        found += of_setting(setting)
        found += [
            f"{setting.name} does nothing under {name}, which is no setting"
            for name in setting.unless
            if name not in names
        ]
        if setting.some and not any(
            setting.name in learner.heeds for learner in family.learners.values()
        ):
            found.append(f"no learner heeds {setting.name}")
    return found


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
def test_settings_of_experiments_are_whole(family):
    assert not of_experiments(family)


# --- learners
def of_learner(learner: type, family) -> list[str]:
    """What a class lacks of what it is to declare in a family, or declares amiss."""
    own, known = vars(learner), settings_of(learner)
    found = [f"declares no {name}" for name in ("kind", "about", "looks") if not own.get(name)]
    if learner.about and not is_sentence(learner.about):
        found.append("about is no sentence")
    if not all(map(_drawn, learner.looks.values())):
        found.append("has a look that is no Look in a colour of the palette")
    if learner.sees not in SEES:
        found.append(f"sees {learner.sees!r}, which is none of {', '.join(SEES)}")
    heeded = {setting.name for setting in family.settings if setting.some}
    if {*learner.heeds} - heeded:
        found.append(f"heeds {learner.heeds}, of which no setting of {family.kind} is one")
    if len(known) < len(learner.settings):
        found.append("declares a setting twice")
    for setting in known.values():
        found += of_setting(setting)
        if setting.when and setting.when[0] not in known:
            found.append(f"{setting.name} needs {setting.when[0]}, which is not declared")
    of_base = next((check for base, check in BASES.items() if issubclass(learner, base)), None)
    return [*found, *of_base(learner)] if of_base else found


def _drawn(look) -> bool:
    return (
        isinstance(look, Look)
        and look.colour in COLOURS
        and look.marker in MarkerStyle.markers
        and look.line in style.LINES
    )


def methods(learner, *names) -> list[str]:
    """The methods that a class lacks."""
    return [f"there is no {name}(...)" for name in names if not callable(getattr(learner, name))]


def arguments(taken, declared) -> list[str]:
    """How the arguments of `__init__` and the settings that are declared differ."""
    found = [f"takes {name}, but declares no such setting" for name in {*taken} - {*declared}]
    return found + [f"declares {name}, but does not take it" for name in {*declared} - {*taken}]


def lookless(learner) -> list[str]:
    return [] if "" in learner.looks else ["has no look under the key ''"]


GRIDS = {"rates", "lambdas", "alphas"}  # settings that list what to play and choose from


def of_contextual(learner) -> list[str]:
    """A learner that sees every grade: its settings are those of `Settings` in its module."""
    found = methods(learner, "rank", "learn") + lookless(learner)
    settings = getattr(inspect.getmodule(learner), "Settings", online.Settings)
    known, declared = {field.name for field in fields(settings)}, {*settings_of(learner)}
    defaults = {*learner.defaults, *learner.released, *learner.released_simulated}
    found += [
        f"has {name}, which Settings has not" for name in (declared - GRIDS | defaults) - known
    ]
    if learner.learns != bool(declared & GRIDS):
        found.append("has rates if, and only if, it learns")
    if "loop" not in vars(learner) and not isinstance(vars(learner).get("branch"), int):
        found.append("declares no branch of the compiled loop")
    return found


def of_top(learner) -> list[str]:
    """A learner that descends on a surrogate: a look for each, its own surrogate or a setting."""
    found = methods(learner, "rank", "learn", "events", "suffered")
    named = settings_of(learner).get("surrogate")
    surrogates = named.rule["enum"] if named else top.OBJECTIVES
    found += [
        f"has no look for the surrogate {name}" for name in surrogates if name not in learner.looks
    ]
    if learner.learns != ("rates" in settings_of(learner)):
        found.append("has rates if, and only if, it learns")
    if bool(learner.objective) == ("surrogate" in settings_of(learner)):
        found.append("has neither a surrogate of its own nor a setting for it, or both")
    if (learner.sees == "top") != ("k" in settings_of(learner)):
        found.append("has the setting k if, and only if, it sees the top alone")
    return found


def of_clicks(learner) -> list[str]:
    """A learner from clicks: its settings are those of `scant.rankers.click_learners.Settings`."""
    found = methods(learner, "rank", "learn", "events", "direction") + lookless(learner)
    known = {field.name for field in fields(click_learners.Settings)} - {"click", "stop", "look"}
    unknown = {*settings_of(learner)} - known - {"rates"}
    found += [f"has {name}, which Settings has not" for name in unknown]
    if not isinstance(getattr(learner, "published_rate", None), float):
        found.append("declares no published rate")
    return found


def of_player(learner) -> list[str]:
    """A player of games: its settings are the arguments of `__init__` after facts and random."""
    taken = [*inspect.signature(learner).parameters.values()][2:]
    taken, declared = {one.name: one.default for one in taken}, settings_of(learner)
    found = methods(learner, "rank", "learn") + lookless(learner) + arguments(taken, declared)
    return found + [
        f"takes {name}={taken[name]!r} by default, but declares {setting.absent!r}"
        for name, setting in declared.items()
        if name in taken and taken[name] != setting.absent
    ]


def of_ads(learner) -> list[str]:
    """A learner of ads: its settings are the arguments of `__init__`, but for lambda."""
    found, declared = lookless(learner), settings_of(learner)
    if learner.regularised != ("lambdas" in declared):
        found.append("is regularised if, and only if, it has the setting lambdas")
    if learner.learns not in ("ad", "log", ""):
        found.append(f"learns from {learner.learns!r}, which is neither ad, log nor nothing")
    wanted = {"ad": ("fit", "score"), "log": ("fit", "best", "scores"), "": ("choice",)}
    found += methods(learner, *wanted.get(learner.learns, ()))
    if learner.learns:
        taken = [name for name in inspect.signature(learner).parameters if name != "regularisation"]
        found += arguments(taken, [name for name in declared if name != "lambdas"])
        if learner.regularised and takes(learner, regularisation=1.0, **dict.fromkeys(taken)):
            found.append("is regularised, but does not take regularisation")
    return found


# A family whose learners are none of these has no rules of its own here.
BASES = {top.Top: of_top, click_learners.FromClicks: of_clicks, online.Contextual: of_contextual}
BASES |= {Player: of_player, AdLearner: of_ads}


@pytest.mark.parametrize(("family", "kind"), BUILT_IN.values(), ids=BUILT_IN)
def test_a_learner_declares_all_of_itself(family, kind):
    learner = family.learners[kind]
    assert learner.kind == kind
    assert not of_learner(learner, family)


def test_no_two_learners_have_one_branch():
    branches = [learner.branch for learner in online.LEARNERS.values()]
    assert sorted(branches) == [*range(len(branches))]


class Flat(Scorer):
    kind, about, looks = "mine", "Scores all alike.", {"": Look("pink", "P")}
    settings = (
        KINDS["logistic"].settings[0],
        Setting("width", {"type": "number"}, "How wide it is.", absent=1.0),
    )

    def __init__(self, regularisation, width):
        self.width = width

    def fit(self, features, clicked, random):
        pass

    def score(self, features):
        return features[:, 0]


TEMPLATES = {  # what each is made with besides its settings
    "examples.my_learner:DeclaredPairwiseLogistic": {"features", "rate", "random"},
    "examples.my_player:EpsilonGreedy": {"items", "rounds", "random"},
    "examples.my_scorer:BinnedBayes": {"regularisation"},
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_templates_of_ones_own_learners_declare_what_they_take(kind, monkeypatch):
    monkeypatch.chdir(ROOT)
    learner = own_class(kind)
    assert is_sentence(learner.about) and all(map(_drawn, learner.looks.values()))
    assert "" in learner.looks
    taken = [name for name in inspect.signature(learner).parameters if name not in TEMPLATES[kind]]
    assert taken and not arguments(taken, settings_of(learner))
    assert not [defect for setting in learner.settings for defect in of_setting(setting)]


# --- figures, tables, quantities and families
def of_dotted(dotted: str) -> str:
    """Why what "module:function" names cannot be called; empty if it can."""
    try:
        return "" if callable(families.called(dotted)) else f"{dotted} is no function"
    except (ImportError, AttributeError, ValueError) as error:
        return f"{dotted} cannot be imported: {error}"


def of_shown(shown: Shown) -> list[str]:
    """What is wrong with a figure or table."""
    found = [] if is_sentence(shown.caption) else ["the caption is no sentence"]
    if shown.heading and (not shown.heading[0].isupper() or shown.heading.endswith(".")):
        found.append("the heading is no heading")
    if shown.draw and not shown.heading:
        found.append("a figure has no heading")
    if shown.draw and not shown.name.startswith("figure-"):
        found.append("the name of a figure does not begin with figure-")
    if shown.reads not in READS:
        found.append(f"reads {shown.reads!r}, which is none of {', '.join(READS)}")
    missing = [of_dotted(dotted) for dotted in (shown.frame, shown.draw) if dotted]
    found += [words for words in missing if words]
    if len(found) == 0:
        frame = families.called(shown.frame)
        seed = (
            {"seed": 1}
            if shown.reads == "nothing" and "seed" in inspect.signature(frame).parameters
            else {}
        )
        found += filter(None, [takes(frame, *[None] * READS[shown.reads], **seed, **shown.options)])
        found += filter(None, [takes(families.called(shown.draw), None)] if shown.draw else [])
    return found


@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_a_figure_or_table_is_declared_whole(shown):
    assert not of_shown(shown)


def test_a_name_stands_for_one_figure_or_table():
    # two families may share one
    assert all(SHOWN[shown.name] is shown for _, shown in families.shown())


def of_quantity(quantity: Quantity) -> list[str]:
    """What is wrong with a quantity that claims may be of."""
    if missing := of_dotted(quantity.values):
        return [missing]
    found = takes(families.called(quantity.values), None, **dict.fromkeys(quantity.options))
    worded = quantity.words and not quantity.words.endswith(".")
    return [*filter(None, [found, "" if worded else "it has no words"])]


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES)
def test_a_quantity_is_declared_whole(quantity):
    assert not of_quantity(quantity)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
def test_a_family_says_where_learners_play_and_what_makes_a_run(family):
    place = family.place
    assert families.FAMILIES[family.kind].startswith(type(family).__module__)
    assert family.about and is_sentence(place.about)
    jsonschema.Draft202012Validator.check_schema(place.schema)
    assert place.schema["additionalProperties"] is False
    assert {*place.readings} <= {*place.schema["properties"]}
    draws = families.called(place.simulations[1]).values() if place.simulations else ()
    # the adversary's scale changes nothing
    taken = {name for draw in draws for name in defaults_of(draw)} - {"radius"}
    assert taken <= {*place.rules}
    assert {*family.told} <= {setting.name for setting in family.settings}
    assert not of_dotted(family.engine)
    assert not takes(families.called(family.engine), {}, "target", [0], {})
    assert not family.toys or (
        not of_dotted(family.toys) and not takes(families.called(family.toys))
    )
    assert family.memory > 0 and family.minutes > 0
