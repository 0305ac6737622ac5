"""Click logs of rankings: lists that a policy showed, with their probabilities, and a simulated
user's clicks.

A world is who visits, who logs and who clicks. The last queries of a stream's file are held out:
they tell how well a ranker ranks. The logging ranker is fitted to the grades of the first ones. All
that are not held out and have enough documents are visited, with equal probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from scant.clicklogs import fitting, policies
from scant.clicklogs.policies import Policy
from scant.errors import SettingError
from scant.rankers.clicks import User, user_for

if TYPE_CHECKING:
    from scant.data.stream import Stream  # whose module takes long to import


@dataclass(frozen=True)
class Log:
    """A click log of n visits, each with a list of K documents."""

    query: np.ndarray  # int (n), among the queries that are visited
    document: np.ndarray  # int (n, K), by place
    click: np.ndarray  # bool (n, K)
    given_above: np.ndarray  # float64 (n, K), P(document in its place | documents above it)
    marginal: np.ndarray  # float64 (n, K), P(document in its place)

    def __len__(self) -> int:
        return len(self.query)

    def take(self, visits) -> Log:
        """The log of some visits, given as a slice or a mask."""
        return Log(*(getattr(self, field.name)[visits] for field in fields(self)))


@dataclass(frozen=True)
class World:
    """Who visits, who logs and who clicks.

    grades : int (m), of each query that is visited
    logging : the policy that logs
    user : who clicks
    """

    grades: tuple[np.ndarray, ...]
    logging: Policy
    user: User

    def draw(self, visits: int, random: np.random.Generator) -> Log:
        """A log of so many visits."""
        query, places = random.integers(len(self.grades), size=visits), self.logging.places
        document = np.empty((visits, places), np.int64)
        given_above, marginal = np.empty((2, visits, places))
        shown = np.empty((visits, places), np.int64)  # their grades
        for q, of_query in enumerate(self.grades):
            rows = np.flatnonzero(query == q)
            document[rows] = lists = self.logging.draw(q, len(rows), random)
            prefixes = self.logging.prefixes(q, lists)
            given_above[rows] = prefixes / np.c_[np.ones(len(rows)), prefixes[:, :-1]]
            marginal[rows] = self.logging.marginals[q][lists, np.arange(places)]
            shown[rows] = of_query[lists]
        return Log(query, document, clicked(self.user, shown, random), given_above, marginal)

    def clicks_of(self, policy: Policy) -> np.ndarray:
        """The expected clicks of a policy that does not explore, by place: float64 (places)."""
        return self.rates_of(policy).mean(axis=0)

    def rates_of(self, policy: Policy) -> np.ndarray:
        """As `clicks_of`, by query: float64 (queries, places)."""
        tops = [order[: policy.places] for order in policy.orders]
        shown = [grades[top] for grades, top in zip(self.grades, tops, strict=True)]
        return click_rates(self.user, np.array(shown))

    def clicks_in_log(self) -> list[np.ndarray]:
        """For each query, the probability that a visit with it has a document in a place and a
        click on it there: float64 (m, places).

        NaN below the first place for users who leave and whose chances of a click differ by place.
        """
        chances, stop = self.user.chances(self.logging.places), np.array(self.user.stop)
        by_place = stop.any() and np.ptp(chances, axis=0).any()
        stays = np.full(len(stop), np.nan) if by_place else 1 - chances[0] * stop
        reached = self.logging.reached(stays[grades] for grades in self.grades)
        pairs = zip(reached, self.grades, strict=True)
        return [of_query * chances[:, grades].T for of_query, grades in pairs]


def click_rates(user: User, grades: np.ndarray) -> np.ndarray:
    """The probability that each document of some lists is clicked: float64 (n, places).

    grades : int (n, places), of the documents listed
    """
    chances = user.chances(grades.shape[1])[np.arange(grades.shape[1]), grades]
    goes_on = 1 - chances * np.array(user.stop)[grades]
    return chances * np.cumprod(np.c_[np.ones(len(grades)), goes_on[:, :-1]], axis=1)


def clicked(user: User, grades: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Which documents of lists are clicked by users who are each shown one: bool (n, places).

    grades : see `click_rates`
    """
    chances, stop = user.chances(grades.shape[1]), np.array(user.stop)
    clicks, stays = np.zeros(grades.shape, bool), np.ones(len(grades), bool)
    for place, shown in enumerate(grades.T):
        clicks[:, place] = stays & (random.random(len(shown)) < chances[place, shown])
        stays &= ~(clicks[:, place] & (random.random(len(shown)) < stop[shown]))
    return clicks


# --- worlds of a study


@dataclass(frozen=True)
class Split:
    """The queries of a stream, by what a click log does with them; each int (queries)."""

    trained_on: np.ndarray  # not held out
    visited: np.ndarray  # of these, with enough documents
    held_out: np.ndarray  # with a relevant document


def split(stream: Stream, settings: Mapping) -> Split:
    """The queries of a click log with these settings.

    Raises
    ------
    SettingError : no query is visited, or held out, or too few train the logging ranker
    """
    places, before = settings["places"], len(stream) - settings["held_out"]
    if before < settings["logging_queries"]:
        raise SettingError(
            f"the stream has {len(stream)} queries, of which {settings['held_out']} are held out "
            f"and {settings['logging_queries']} train the logging ranker: lower held_out or "
            "logging_queries"
        )
    trained_on, sizes = np.arange(before), np.diff(stream.offsets)
    visited = trained_on[sizes[:before] >= places]
    held_out = np.flatnonzero(stream.relevant > 0)
    held_out = held_out[held_out >= before]
    if not len(visited):
        raise SettingError(f"no query to visit has {places} documents: lower places")
    if not len(held_out):
        raise SettingError("no query that is held out has a relevant document: raise held_out")
    return Split(trained_on, visited, held_out)


def world(stream: Stream, settings: Mapping, queries: Split) -> World:
    """The `World` of the click log that `settings` declare, see `scant.clicklogs.family`."""
    scores = scored(stream, queries.visited, logging_ranker(stream, settings, queries))
    logging = policies.made(settings, scores, settings["places"])
    grades = tuple(stream[q][1].astype(np.int64) for q in queries.visited)
    return World(grades, logging, user_for(settings["user"], stream.metadata["largest_grade"]))


def logging_ranker(stream: Stream, settings: Mapping, queries: Split) -> np.ndarray:
    """The weights of the ranker that logs."""
    return graded_ranker(stream, queries.trained_on[: settings["logging_queries"]])


def graded_ranker(stream: Stream, queries) -> np.ndarray:
    """The weights of ridge regression on the grades of some queries: float64 (d)."""
    grades = np.concatenate([stream[q][1] for q in queries]).astype(float)
    return fitting.ridge(fitting.documents(stream, queries).features, grades)[0]


def scored(stream: Stream, queries, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """The scores of the documents of some queries by the ranker with these weights.

    Rows are summed by themselves: in a product of matrices rounding depends on the rows around, so
    that equal documents would not tie.
    """
    return tuple((stream[q][0] * weights).sum(axis=1) for q in queries)
