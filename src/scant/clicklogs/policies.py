"""Policies that show lists of documents, and the exact probabilities of what they show.

A policy sorts a query's documents by their scores, ties by index, and explores in one of the ways
in `EXPLORATIONS`. The lists have `places` documents of the query, each at most once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scant.measures import rank

EXPLORATIONS = {  # how a policy explores, and how many documents on top it then shuffles
    "none": 0,
    "pl": 0,  # the list is drawn from the Plackett-Luce model of the scores
    "shuffle": 3,  # in a share of the visits the first three documents come in random order
    "epsilon": None,  # in a share of the visits all documents do
}


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy that shows lists of some queries' documents.

    scores : for each query, its documents' scores, float64 (m)
    places : how many documents a list has; no query has fewer
    exploration : a key of `EXPLORATIONS`
    share : of the visits that explore, for shuffle and epsilon
    """

    scores: tuple[np.ndarray, ...]
    places: int
    exploration: str = "none"
    share: float = 0.0

    @cached_property
    def orders(self) -> list[np.ndarray]:
        """Each query's documents, by descending score."""
        return [rank(scores) for scores in self.scores]

    @cached_property
    def marginals(self) -> list[np.ndarray]:
        """For each query the probability of each document in each place: float64 (m, places)."""
        return self.reached([np.ones(len(scores)) for scores in self.scores])

    def reached(self, stays: Iterable[np.ndarray]) -> list[np.ndarray]:
        """For each query the probability that each document is in each place, and that a user comes
        to it: float64 (m, places).

        stays : for each query, float64 (m), the probability that a user who comes to a document
            goes on to the next
        """
        return [self._reached(*of) for of in zip(self.scores, self.orders, stays, strict=True)]

    def _reached(self, scores: np.ndarray, order: np.ndarray, stays: np.ndarray) -> np.ndarray:
        from scant.kernels import plackett_luce

        if self.exploration == "pl":
            return plackett_luce.marginals(scores, self.places, stays)
        top, sorted_list = order[: self.places], np.zeros((len(order), self.places))
        sorted_list[top, np.arange(self.places)] = np.cumprod(np.r_[1.0, stays[top[:-1]]])
        if self.exploration == "none":
            return sorted_list
        shuffled, first = sorted_list.copy(), order[: self._width(order)]
        places = min(len(first), self.places)
        shuffled[:, :places] = 0.0
        in_random_order = plackett_luce.marginals(np.zeros(len(first)), places, stays[first])
        shuffled[first, :places] = in_random_order
        return (1 - self.share) * sorted_list + self.share * shuffled

    def _width(self, order: np.ndarray) -> int:
        """How many documents on top are shuffled."""
        return min(EXPLORATIONS[self.exploration] or len(order), len(order))

    def prefixes(self, q: int, lists: np.ndarray) -> np.ndarray:
        """The probability of the first k documents of lists of query q, for each k: float64 (n,
        places).

        lists : integers (n, places), documents by their index in the query
        """
        if self.exploration == "pl":
            return np.cumprod(self._drawn(q, lists), axis=1)
        order = self.orders[q]
        same = np.cumprod(lists == order[: self.places], axis=1).astype(float)
        if self.exploration == "none":
            return same
        width, place = self._width(order), np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        places = np.arange(self.places)
        possible = (place[lists] == places) | ((place[lists] < width) & (places < width))
        shuffled = np.cumprod(possible / np.maximum(width - places, 1), axis=1)
        return (1 - self.share) * same + self.share * shuffled

    def _drawn(self, q: int, lists: np.ndarray) -> np.ndarray:
        """The Plackett-Luce probability of each document given those above it."""
        odds = np.exp(self.scores[q] - self.scores[q].max())
        listed = np.zeros((len(lists), len(odds)), bool)
        np.put_along_axis(listed, lists, True, axis=1)
        unlisted = np.where(listed, 0.0, odds).sum(axis=1)
        # from the last place up, so that no digits are lost by subtraction
        below = np.cumsum(odds[lists][:, ::-1], axis=1)[:, ::-1]
        return odds[lists] / (below + unlisted[:, None])

    def draw(self, q: int, n: int, random: np.random.Generator) -> np.ndarray:
        """Lists for n visits with query q: integers (n, places)."""
        order = self.orders[q]
        if self.exploration == "pl":
            keys = self.scores[q] + random.gumbel(size=(n, len(order)))
            return np.argsort(-keys, axis=1)[:, : self.places]
        lists = np.tile(order, (n, 1))
        if self.exploration != "none":
            width, explores = self._width(order), random.random(n) < self.share
            lists[explores, :width] = random.permuted(lists[explores, :width], axis=1)
        return lists[:, : self.places]


def made(settings: Mapping, scores: list[np.ndarray], places: int) -> Policy:
    """The policy that the settings `exploration`, `share` and `spread` of a click log declare.

    spread : what scores, standardised within each query, are multiplied by
    """
    standardised = (settings["spread"] * _standardised(of_query) for of_query in scores)
    return Policy(tuple(standardised), places, settings["exploration"], settings["share"])


def _standardised(scores: np.ndarray) -> np.ndarray:
    deviation = scores.std()
    return (scores - scores.mean()) / (deviation if deviation > 0 else 1.0)
