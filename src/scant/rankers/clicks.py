"""Simulated users, who click on what they are shown: tables of probabilities.

A user goes through the documents shown from the top down, and looks at the one in place k with
probability `look[k]`. A document of grade r that is looked at is clicked with probability
`click[k][r]`; after a click the user leaves with probability `stop[r]`, and else goes on. There are
two kinds of users in the literature:

- cascades, who look at everything until they leave, and click by grade alone (Guo, Liu & Wang 2009;
  Hofmann 2013);
- users who look by position, `look[k] = 1 / k`, and never leave (Joachims, Swaminathan & Schnabel
  2017). With trust bias a document on top is clicked more easily because it is there, above all if
  it is not relevant (Agarwal et al. 2019; Vardasbi, Oosterhuis & de Rijke 2020).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scant.errors import SettingError, unknown

# Of cascades, the probabilities of a click, and of leaving after it, by grade; the key is the
# largest grade that they are for: 1 is Hofmann's (2013), 2 that of MQ2007 and MQ2008, 4 that of
# MSLR and Yahoo (Oosterhuis & de Rijke 2018, Table 1).
CASCADES = {
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
    "almost-random": {  # Hofmann (2013); between his two grades evenly spaced (Schuth et al. 2016)
        1: ((0.4, 0.6), (0.5, 0.5)),
        2: ((0.4, 0.5, 0.6), (0.5, 0.5, 0.5)),
        4: ((0.4, 0.45, 0.5, 0.55, 0.6), (0.5, 0.5, 0.5, 0.5, 0.5)),
    },
}
PLACES = np.arange(1, 11)  # of the documents shown in studies

# Of users who look by position, the probabilities of a click on a document of grade 0, and of the
# largest grade, by place, once it is looked at; grades between are evenly spaced.
BY_POSITION = {
    "position": (np.full(10, 0.1), np.ones(10)),  # Joachims, Swaminathan & Schnabel 2017
    # Agarwal et al. 2019, as Vardasbi et al. (2020) simulate it
    "trust": (0.65 / PLACES, 1 - (PLACES + 1) / 100),
}
USERS = (*CASCADES, *BY_POSITION)
OWN = "own"  # what a user with probabilities of a study's own is called in results
PROBABILITIES = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "number", "minimum": 0, "maximum": 1},
}
RULE = {  # the JSON schema of the setting `user`
    "if": {"type": "object"},
    "then": {
        "additionalProperties": False,
        "required": ["click", "stop"],
        "properties": {
            "click": {
                "description": "The probability of a click on a document, by its grade from 0.",
                **PROBABILITIES,
            },
            "stop": {
                "description": "The probability of leaving after that click, likewise.",
                **PROBABILITIES,
            },
            "look": {
                "description": "The probability of looking at a document, by its place from the "
                "top; the last is that of all further places. 1 if absent.",
                **PROBABILITIES,
            },
        },
    },
    "else": {"enum": list(USERS)},
}


@dataclass(frozen=True)
class User:
    """A simulated user. The last row of `click` and the last entry of `look` are those of all
    further places.

    click : the probability of a click on a document that is looked at, by place and grade
    stop : the probability of leaving after it, by grade
    look : the probability of looking at a document, by place
    """

    click: tuple[tuple[float, ...], ...]
    stop: tuple[float, ...]
    look: tuple[float, ...] = (1.0,)

    def propensities(self, places: int) -> np.ndarray:
        """The probability that each place is looked at by a user who does not leave before: float64
        (places).
        """
        return np.array(self.look)[np.minimum(np.arange(places), len(self.look) - 1)]

    def chances(self, places: int) -> np.ndarray:
        """The probability of a click by a user who comes to a place, by grade: float64 (places,
        grades).
        """
        return self.propensities(places)[:, None] * self._by_place(places)

    def affine(self, places: int) -> tuple[np.ndarray, np.ndarray]:
        """a and b / a of `Ips`, float64 (places) each: a is P(click | largest grade) - P(click |
        grade 0), b is P(click | grade 0).

        The probability of looking cancels in b / a: where clicks depend on the place by looking
        alone, it is the same at each place to the last bit.
        """
        click = self._by_place(places)
        lead = click[:, -1] - click[:, 0]
        return self.propensities(places) * lead, click[:, 0] / lead

    def _by_place(self, places: int) -> np.ndarray:
        """The probability of a click by a user who looks, by place and grade: float64 (places,
        grades).
        """
        return np.array(self.click)[np.minimum(np.arange(places), len(self.click) - 1)]

    def clicks(self, grades: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Which documents are clicked: bool of the shape of `grades`, the grades of the list
        shown.
        """
        clicked, chances = np.zeros(len(grades), bool), self.chances(len(grades))
        for place, grade in enumerate(grades):
            clicked[place] = random.random() < chances[place, grade]
            if clicked[place] and random.random() < self.stop[grade]:
                break
        return clicked


def check(user: str | Mapping) -> None:
    """Raise a SettingError if a user's two lists are not of one length."""
    if isinstance(user, Mapping) and len(user["click"]) != len(user["stop"]):
        raise SettingError(
            f"user: click is for grades 0 to {len(user['click']) - 1}, stop for grades 0 to "
            f"{len(user['stop']) - 1}; they have to be for the same"
        )


def user_for(user: str | Mapping, largest_grade: int) -> User:
    """The user of a setting, on a stream with grades up to `largest_grade`.

    user : a name in `USERS`, or probabilities of a study's own under "click", "stop" and "look".
        The name of a cascade stands for its probabilities for the fewest grades that suffice

    Raises
    ------
    SettingError : the name is unknown, or there are no probabilities for grades as large as the
        stream's
    """
    if isinstance(user, str) and user in BY_POSITION:
        largest = max(1, largest_grade)
        click = np.linspace(*BY_POSITION[user], largest + 1, axis=1)
        return User(
            tuple(map(tuple, click.tolist())), (0.0,) * (largest + 1), tuple((1 / PLACES).tolist())
        )
    if isinstance(user, Mapping):
        check(user)
        tables, look = (
            {len(user["click"]) - 1: (user["click"], user["stop"])},
            user.get("look", (1.0,)),
        )
    elif user in CASCADES:
        tables, look = CASCADES[user], (1.0,)
    else:
        raise unknown("user", user, USERS)
    most = max(tables)
    if most < largest_grade:
        owner = (
            "click and stop have"
            if isinstance(user, Mapping)
            else f"the literature's {user} user has"
        )
        raise SettingError(
            f"user: {owner} probabilities for grades 0 to {most}, and the stream's grades go up to "
            f"{largest_grade}. Give user: {{click: [...], stop: [...]}} with a probability for "
            "each grade"
        )
    click, stop = tables[min(grade for grade in tables if grade >= largest_grade)]
    return User((tuple(map(float, click)),), tuple(map(float, stop)), tuple(map(float, look)))


def check_propensities(propensities: str, user) -> None:
    """Raise a SettingError if the clicks of a user cannot be corrected by these propensities:
    "known", "affine" or "swapped".
    """
    user = user_for(user, 0)
    if propensities in ("known", "affine") and any(user.stop):
        raise SettingError(
            f"propensities: {propensities} needs a user who looks by position, and never leaves. "
            "Whether this one comes to a place depends on the documents above it. Use "
            "propensities: swapped, or another user"
        )
    if propensities == "affine" and min(row[-1] - row[0] for row in user.click) <= 0:
        raise SettingError(
            "propensities: affine needs a user who clicks more on the largest grade than on grade "
            "0. Use known"
        )
    if min(user.look) == 0:
        raise SettingError(
            "user: with look 0 a place is never looked at, and has no inverse propensity"
        )
