"""Tables in documents that are written from what the package declares.

Such a table stands between two comments of Markdown. The first names it:

    <!-- learners top -->     the learners of a family, with their settings and defaults
    <!-- generators games --> what simulates a place (streams, games, populations)
    ...
    <!-- end -->

What a learner does is its `about`. What a generator draws is the head of its docstring.
"""

import inspect
import json
import re
from dataclasses import fields
from typing import Any

from scant.declare.declarations import Learner, called, defaults_of, settings_of
from scant.declare.families import family, places
from scant.rankers.learners import Contextual, Settings

MARK = r"(?P<mark><!-- (?P<what>learners|generators) (?P<of>[\w-]+) -->\n)"
TABLE = re.compile(MARK + "(?P<table>.*?)(?=^<!-- end -->)", re.MULTILINE | re.DOTALL)


def renewed(text: str) -> str:
    """A document with its tables as they are declared."""
    made = {"learners": _learners, "generators": _generators}
    return TABLE.sub(lambda match: match["mark"] + made[match["what"]](match["of"]), text)


def _learners(kind: str) -> str:
    """The table of a family's learners."""
    rows = []
    for name, learner in family(kind).learners.items():
        rows.append((name, learner.about, _defaults(learner)))
    return _table("kind | what it does", rows)


def _defaults(learner: type[Learner]) -> dict[str, Any]:
    """The default of each setting of a learner; None if it has none, or one that varies."""
    defaults = {}
    if issubclass(learner, Contextual):
        defaults = {field.name: field.default for field in fields(Settings)} | learner.defaults
    if rate := vars(learner).get("published_rate"):
        defaults["rates"] = [rate]
    absent = {name: setting.absent for name, setting in settings_of(learner).items()}
    return {name: defaults.get(name, value) for name, value in absent.items()}


def _generators(key: str) -> str:
    """The table of what simulates the places in this section of a study."""
    place = next(place for place in places().values() if place.key == key)
    rows = []
    for name, function in called(place.simulations[1]).items():
        described, *_ = re.split(r"\n\n(?=\w+ : |Parameters)", inspect.getdoc(function))
        defaults = dict.fromkeys(inspect.signature(function).parameters) | defaults_of(function)
        settings = {name: value for name, value in defaults.items() if name in place.rules}
        rows.append((name, " ".join(described.split()), settings))
    return _table("generator | what it draws", rows)


def _table(heads: str, rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    """A table of names, what each is, and its settings as a study has them."""
    lines = [f"| {heads} | settings and defaults |", "|---|---|---|"]
    for name, about, settings in rows:
        stated = ", ".join(_setting(key, value) for key, value in settings.items())
        lines.append(f"| `{name}` | {about} | {stated} |")
    return "\n".join(lines) + "\n"


def _setting(key: str, default: Any) -> str:
    if default is None:
        return f"`{key}`"
    return f"`{key}: {default if isinstance(default, str) else json.dumps(default)}`"
