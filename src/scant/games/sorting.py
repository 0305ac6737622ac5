"""Noisy sorting: the two procedures of OnlineRank, and the exact distributions of their rankings
(Ailon, section 3).

Both put item u above item v with probability `1 / (1 + exp(w_v - w_u))` (Lemma 6.1).
"""

import math
from itertools import permutations

import numpy as np


def before(difference: float) -> float:
    """The probability that an item comes before another, `1 / (1 + exp(-difference))`, without
    overflow.

    difference : the item's weight less the other item's
    """
    return 1 / (1 + math.exp(-difference)) if difference > -700 else 0.0


def quicksort(weights, random) -> np.ndarray:
    """A ranking by noisy QuickSort (Ailon, Algorithm 2).

    A pivot is drawn uniformly; each other item goes before it with probability `before(its weight -
    the pivot's)`; then both sides are sorted in the same way. Of two items the second is the pivot,
    since the choice makes no difference.

    weights : float64 (m)
    random : an object whose `random()` returns uniform numbers: one is used for each pivot among
        three items or more, and one for each comparison
    """

    def sort(items: list) -> list:
        if len(items) < 2:
            return items
        place = int(random.random() * len(items)) if len(items) > 2 else 1
        pivot, sides = items[place], ([], [])
        for item in items[:place] + items[place + 1 :]:
            first = random.random() < before(weights[item] - weights[pivot])
            sides[0 if first else 1].append(item)
        return [*sort(sides[0]), pivot, *sort(sides[1])]

    return np.array(sort(list(range(len(weights)))))


def plackett_luce(weights, random) -> np.ndarray:
    """A ranking by the Plackett-Luce model (Ailon, Algorithm 3), drawn by sorting `weights` plus
    Gumbel noise.

    weights : float64 (m)
    random : a NumPy generator
    """
    noise = [-math.log(random.standard_exponential()) for _ in weights]
    return np.argsort(-(np.asarray(weights) + noise), kind="stable")


def quicksort_distribution(weights) -> dict[tuple, float]:
    """The probability of each ranking by noisy QuickSort, found by enumeration, which only a few
    items allow.
    """

    def sort(items: tuple) -> dict[tuple, float]:
        if len(items) < 2:
            return {items: 1.0}
        probabilities = {}
        for place, pivot in enumerate(items):
            others = items[:place] + items[place + 1 :]
            for sides in range(2 ** len(others)):
                first = tuple(item for i, item in enumerate(others) if sides >> i & 1)
                last = tuple(item for i, item in enumerate(others) if not sides >> i & 1)
                probability = 1 / len(items)
                for item in others:
                    comes_first = before(weights[item] - weights[pivot])
                    probability *= comes_first if item in first else 1 - comes_first
                for a, p in sort(first).items():
                    for b, q in sort(last).items():
                        ranking = (*a, pivot, *b)
                        probabilities[ranking] = (
                            probabilities.get(ranking, 0.0) + probability * p * q
                        )
        return probabilities

    return sort(tuple(range(len(weights))))


def plackett_luce_distribution(weights) -> dict[tuple, float]:
    """The probability of each ranking by the Plackett-Luce model, for a few items."""
    strength = np.exp(np.asarray(weights, float) - np.max(weights))
    return {
        ranking: math.prod(
            strength[item] / strength[list(ranking[i:])].sum() for i, item in enumerate(ranking)
        )
        for ranking in permutations(range(len(strength)))
    }


def marginals(distribution: dict[tuple, float]) -> np.ndarray:
    """The matrix of the probabilities that item u comes before item v, float64 (m x m), 0 on the
    diagonal.

    distribution : the probability of each ranking
    """
    m = len(next(iter(distribution)))
    above = np.zeros((m, m))
    for ranking, probability in distribution.items():
        for i, u in enumerate(ranking):
            above[u, list(ranking[i + 1 :])] += probability
    return above
