"""What learners, places and experiments declare of themselves: their settings, how they look, what they heed."""

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from scant.errors import SettingError


@dataclass(frozen=True)
class Setting:
    """One setting of a learner, or of the experiments of a family.

    name : its key in a study file
    rule : the JSON schema of its values, with their default, if there is one
    about : what it means, in a sentence
    plays : whether runs are given it, since it may change their results
    adds : whether it only adds to what runs record, and changes nothing else of them
    reading : whether it is a reading, a choice that the papers leave open: a sweep may have levels of it
    some : whether only the learners heed it that name it in `Learner.heeds`
    absent : of a learner, what it is where the study does not say
    when : of a learner, another setting and the value that it must have for this one to do something
    unless : settings of the experiment, and the values under which this one does nothing
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

    @property
    def schema(self) -> dict:
        """Its JSON schema, with its description."""
        return {"description": self.about, **self.rule}


class Look(NamedTuple):
    """How figures draw a learner: a colour of `scant.present.style.PALETTE` by name, a marker, a line."""

    colour: str
    marker: str
    line: str = "-"


class Learner:
    """What a learner declares of itself, whatever its family: one's own may declare the same.

    kind : its name in study files
    about : what it is, in a sentence, with its source
    settings : those that a study may give it, besides title and kind
    looks : how it is drawn, by its measure or surrogate, or by "#" and the id that a study gives it, where figures have
        several of its kind; "" for all others
    sees : what it is shown of a round: "all", "top" (the first k of its ranking), "loss" or "nothing"
    heeds : those readings of its family that only some learners heed, and this one does
    released : settings that the authors' released code has otherwise (the reading `source: released-code`)
    released_rates : the rates that it has there; None for those of the study
    """

    kind: ClassVar[str] = ""
    about: ClassVar[str] = ""
    settings: ClassVar[tuple[Setting, ...]] = ()
    looks: ClassVar[Mapping[str, Look]] = {}
    sees: ClassVar[str] = "all"
    heeds: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[Mapping[str, Any]] = {}
    released_rates: ClassVar[tuple | None] = None

    @classmethod
    def heeds_in(cls, name: str, experiment: Mapping) -> bool:
        """Whether the learner heeds a reading under the others of an experiment."""
        return name in cls.heeds

    @classmethod
    def check(cls, settings: Mapping) -> None:
        """Raise a SettingError for settings that each keep their own rule, but not together."""


def settings_of(learner: type) -> dict[str, Setting]:
    """The settings that a class declares, by name; none for one's own that declares nothing."""
    return {setting.name: setting for setting in getattr(learner, "settings", ())}


def own_class(kind: str) -> type:
    """The class that one's own `module:Class` names, which may lie in the working folder.

    Raises
    ------
    SettingError : it cannot be imported
    """
    module, _, name = kind.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # the console script does not look there, and modules of one's own are there
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingError(f"learner {kind!r} cannot be imported ({error}). It is to be module:Class") from error
