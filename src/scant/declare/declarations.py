"""How learners and families declare themselves: their settings, and how figures draw a learner."""

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from scant.errors import SettingError, nearest

MOST = 1_000_000_000  # of a number that a study sets: no machine can play more
NUMBERS = 10_000_000_000  # of a stream, a game or a log
TUNING = 1_000_000  # the first seed that chooses learning rates; those below are reported


def whole_number(least: int = 1, most: int = MOST, **rule) -> dict:
    """The JSON schema of a whole number."""
    return {"type": "integer", "minimum": least, "maximum": most, **rule}


def check_numbers(**counts: int) -> None:
    """Raise a SettingError if the product of some settings, given by name, is more numbers than a
    machine can hold.
    """
    if (numbers := math.prod(counts.values())) > NUMBERS:
        raise SettingError(
            f"{' x '.join(counts)}: {numbers:,} numbers, and {NUMBERS:,} are the most: lower them"
        )


@dataclass(frozen=True)
class Setting:
    """A setting of a learner, or of the experiments of a family.

    name : its key in a study file
    rule : the JSON schema of its values, including the default, if there is one
    about : what it means, in a sentence
    plays : whether it is passed to runs, because it may change their results
    adds : whether it only makes runs record more, and changes nothing else in them
    reading : whether it is a reading: a choice that the papers leave open, and that a sweep may
        vary
    some : whether it affects only the learners that list it in `Learner.heeds`; else it affects all
    absent : for a setting of a learner, its value if the study gives none
    when : for a setting of a learner, (name, value) of another setting: this one has an effect only
        if that one has this value
    unless : settings of the experiment by name: this one has no effect if one of them has the value
        listed here
    ours : whether it goes beyond the papers, so that a claim that does not name it is about
        learners without it
    """

    name: str
    rule: Mapping[str, Any]
    about: str = ""
    plays: bool = True
    adds: bool = False
    reading: bool = False
    some: bool = False
    absent: Any = None
    when: tuple[str, Any] | None = None
    unless: Mapping[str, Any] = field(default_factory=dict)
    ours: bool = False

    @property
    def schema(self) -> dict:
        """The JSON schema of its values, with its description."""
        return {"description": self.about, **self.rule}


class Look(NamedTuple):
    """How figures draw a learner.

    colour : a name from `scant.present.style.COLOURS`, or any colour of Matplotlib
    marker, line : of Matplotlib, such as "o" and "--"
    """

    colour: str
    marker: str
    line: str = "-"


class Learner:
    """What a learner of any family declares about itself. A user's own learner may declare the
    same.

    kind : its name in study files
    about : what it is, in a sentence, with its source
    settings : the settings that a study may give it, besides title and kind
    looks : how figures draw it. The key is its measure or surrogate, or "#" and its id in the
        study, for figures that show several learners of this kind; "" is the look of all others
    sees : the feedback that it gets in a round: "all", "top" (on the first k of its ranking),
        "loss" or "nothing"
    draws : whether it draws random numbers. If it does not, seeds that share their place's draws
        are one observation
    heeds : the readings that affect it, among those of its family that affect only some learners
        (`Setting.some`)
    released : the settings that differ in the authors' released code (the reading `source:
        released-code`)
    released_rates : the learning rates in that code; None if it takes the study's rates
    """

    kind: ClassVar[str] = ""
    about: ClassVar[str] = ""
    settings: ClassVar[tuple[Setting, ...]] = ()
    looks: ClassVar[Mapping[str, Look]] = {}
    sees: ClassVar[str] = "all"
    draws: ClassVar[bool] = True
    heeds: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[Mapping[str, Any]] = {}
    released_rates: ClassVar[tuple | None] = None

    @classmethod
    def heeds_in(cls, name: str, experiment: Mapping) -> bool:
        """Whether the reading `name` affects the learner, under the experiment's other readings."""
        return name in cls.heeds

    @classmethod
    def check(cls, settings: Mapping) -> None:
        """Raise a SettingError if the settings contradict each other.

        Each by itself fits its rule already.
        """


def settings_of(learner: type) -> dict[str, Setting]:
    """The settings that a learner's class declares, by name; none for a user's own class that
    declares nothing, or has something else by this name.
    """
    declared = getattr(learner, "settings", ())
    declared = declared if isinstance(declared, list | tuple) else ()
    return {setting.name: setting for setting in declared if isinstance(setting, Setting)}


_looking: ContextVar[bool] = ContextVar("looking", default=False)


@contextmanager
def looking() -> Iterator[None]:
    """A context in which `own` imports no module that a study names: somebody else's results are
    looked at, and their code is not run.
    """
    before = _looking.set(True)
    try:
        yield
    finally:
        _looking.reset(before)


def own_class(kind: str) -> type:
    """The class of a user's own learner, named as "module:Class", see `own`."""
    return own(kind, "learner", "Class")


def own(named: str, what: str, form: str) -> Any:
    """The object that "module:name" names in a user's module, which may be in the working folder.

    what, form : for errors: what it should be, "learner", and the form of the name, "Class"

    Raises
    ------
    SettingError : it cannot be imported, or must not be, see `looking`
    """
    if _looking.get():
        raise SettingError(
            f"{what} {named!r} is code of the study, which is not run by a command that only looks"
        )
    module, _, name = named.partition(":")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)  # the console script does not look there
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever a user's module does when it is imported
        if isinstance(error, AttributeError) and (loaded := sys.modules.get(module)):
            near = nearest(name, [other for other in vars(loaded) if not other.startswith("_")])
            hint = f"; did you mean {module}:{near}?" if near else ""
        else:
            near = nearest(module, [path.stem for path in Path().glob("*.py")])
            hint = f"; did you mean {near}:{name}?" if near and near != module else ""
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, ImportError | AttributeError):
            reason = str(error)
        raise SettingError(
            f"{what} {named!r} cannot be imported ({reason}{hint}). It is to be module:{form}"
        ) from error


def defaults_of(function: Callable) -> dict[str, Any]:
    """The default of each parameter of a function that has one."""
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def called(dotted: str) -> Callable:
    """The function that is named as "module:function"."""
    module, _, name = dotted.partition(":")
    return getattr(importlib.import_module(module), name)
