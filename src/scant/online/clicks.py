"""Simulated users, who click on what they are shown (Guo, Liu & Wang 2009; Hofmann 2013).

A user looks at the documents shown from the top down. A document of grade r is clicked with probability `click[r]`;
after a click the user leaves with probability `stop[r]`, and else looks at the next one: a cascade with several clicks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scant.errors import SettingError, unknown

# The probabilities of a click, and of leaving after it, by grade; the key is the largest grade that they are for: 1 is
# Hofmann's (2013), 2 that of MQ2007 and MQ2008, 4 that of MSLR and Yahoo (Oosterhuis & de Rijke 2018, Table 1).
USERS = {
    "perfect": {
        1: ((0.0, 1.0), (0.0, 0.0)),
        2: ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
        4: ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    },
    "navigational": {
        1: ((0.05, 0.95), (0.2, 0.9)),
        2: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        4: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        1: ((0.4, 0.9), (0.1, 0.5)),
        2: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        4: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
}
OWN = "own"  # what a user with probabilities of a study's own is called in results
PROBABILITIES = {"type": "array", "minItems": 1, "items": {"type": "number", "minimum": 0, "maximum": 1}}
RULE = {  # the JSON schema of the setting `user`
    "if": {"type": "object"},
    "then": {
        "additionalProperties": False,
        "required": ["click", "stop"],
        "properties": {
            "click": {"description": "The probability of a click on a document, by its grade from 0.", **PROBABILITIES},
            "stop": {"description": "The probability of leaving after that click, likewise.", **PROBABILITIES},
        },
    },
    "else": {"enum": list(USERS)},
}


@dataclass(frozen=True)
class User:
    """A simulated user: probabilities by grade, from 0, of a click, and of leaving after it."""

    click: tuple[float, ...]
    stop: tuple[float, ...]

    def clicks(self, grades: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Which documents are clicked: bool of the shape of `grades`, the grades of the list shown."""
        clicked = np.zeros(len(grades), bool)
        for place, grade in enumerate(grades):
            clicked[place] = random.random() < self.click[grade]
            if clicked[place] and random.random() < self.stop[grade]:
                break
        return clicked


def check(user: str | Mapping) -> None:
    """Raise a SettingError if a user's two lists are not of one length."""
    if isinstance(user, Mapping) and len(user["click"]) != len(user["stop"]):
        raise SettingError(
            f"user: click is for grades 0 to {len(user['click']) - 1}, stop for grades 0 to {len(user['stop']) - 1}; "
            "they have to be for the same"
        )


def user_for(user: str | Mapping, largest_grade: int) -> User:
    """The user of a setting, on a stream with grades up to `largest_grade`.

    user : a name in `USERS`, whose probabilities for the fewest grades that suffice are taken; or probabilities of a
        study's own, under "click" and "stop"

    Raises
    ------
    SettingError : the name is unknown, or there are no probabilities for grades as large as the stream's
    """
    if isinstance(user, Mapping):
        check(user)
        tables = {len(user["click"]) - 1: (user["click"], user["stop"])}
    elif user in USERS:
        tables = USERS[user]
    else:
        raise unknown("user", user, USERS)
    most = max(tables)
    if most < largest_grade:
        known = "click and stop have" if isinstance(user, Mapping) else f"the literature's {user} user has"
        raise SettingError(
            f"user: {known} probabilities for grades 0 to {most}, and the stream's grades go up to {largest_grade}. "
            "Give user: {click: [...], stop: [...]} with a probability for each grade"
        )
    click, stop = tables[min(grade for grade in tables if grade >= largest_grade)]
    return User(tuple(map(float, click)), tuple(map(float, stop)))
