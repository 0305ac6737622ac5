"""Measures and learners against plain references, written apart from them after the papers.

Each keeps its own books, in fractions or in dictionaries by ranking, and shares no code with the
project.
"""

import math
from itertools import permutations, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scant.games.learners import Facts, make
from scant.games.losses import make as make_loss

# --- games: what a ranking costs, place by place
PLACES = {
    "dcg": lambda place, items: -1 / math.log2(place + 1),
    "dcg@2": lambda place, items: -1 / math.log2(place + 1) if place <= 2 else 0.0,
    "sum-loss": lambda place, items: float(place),
    "precision@2": lambda place, items: -1.0 if place <= 2 else 0.0,
}


def cost(loss: str, ranking: tuple, values) -> float:
    """The loss of a ranking (minus a gain): over places, the sum of weight times value."""
    return sum(
        PLACES[loss](place, len(ranking)) * values[item] for place, item in enumerate(ranking, 1)
    )


def game(loss: str, items: int, rounds: int, **others) -> Facts:
    return Facts(items, rounds, make_loss(loss), 0.0, 1.0, items**2 / 4, **others)


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """A solution of a symmetric system, by elimination with pivots; free unknowns are 0."""
    n, rows = len(right), [[*row, value] for row, value in zip(matrix, right, strict=True)]
    used: list[tuple[int, int]] = []
    for _ in range(n):
        rows_used, columns_used = {i for i, _ in used}, {j for _, j in used}
        left = [
            (i, j)
            for i in range(n)
            for j in range(n)
            if i not in rows_used and j not in columns_used
        ]
        i, j = max(left, key=lambda at: abs(rows[at[0]][at[1]]))
        if abs(rows[i][j]) < 1e-9:
            break
        used.append((i, j))
        for other in range(n):
            if other != i:
                share = rows[other][j] / rows[i][j]
                rows[other] = [x - share * y for x, y in zip(rows[other], rows[i], strict=True)]
    solution = [0.0] * n
    for i, j in used:
        solution[j] = rows[i][n] / rows[i][j]
    return solution


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["dcg", "sum-loss"]),
    st.integers(2, 3),
    st.integers(0, 10_000),
    st.floats(0.01, 0.12),
)
def test_comb_band(loss, items, seed, eta):
    """Cesa-Bianchi & Lugosi 2012: the loss seen times the inverse mean matrix of the plays."""
    values_of = [[1.0 if item == n % items else 0.0 for item in range(items)] for n in range(items)]
    rankings = list(permutations(range(items)))
    every = [cost(loss, ranking, values) for ranking in rankings for values in values_of]
    gain = loss == "dcg"
    seen_losses = (-max(every), -min(every)) if gain else (min(every), max(every))
    learner = make(
        "comb-band", game(loss, items, 10, losses=seen_losses), np.random.default_rng(seed)
    )
    learner.eta, learner.gamma = eta, share = eta, min(1.0, eta * items * (items - 1))
    cells = list(product(range(items), range(items)))
    vector = {
        ranking: [1.0 if ranking[at] == item else 0.0 for item, at in cells] for ranking in rankings
    }
    weights = dict.fromkeys(rankings, 1.0)
    for n in range(10):
        total = sum(weights.values())
        chances = {
            ranking: (1 - share) * weights[ranking] / total + share / len(rankings)
            for ranking in rankings
        }
        expected = [chances[tuple(ranking)] for ranking in learner.rankings.tolist()]
        played = tuple(learner.rank().tolist())
        np.testing.assert_allclose(learner.p, expected, rtol=1e-7)
        paid = cost(loss, played, values_of[(seed + n) % items])
        learner.learn(np.array(played), -paid if gain else paid)
        scaled = (paid - min(every)) / (max(every) - min(every))
        size = items * items
        mean = [
            [sum(chances[r] * vector[r][a] * vector[r][b] for r in rankings) for b in range(size)]
            for a in range(size)
        ]
        direction = solved(mean, vector[played])
        for ranking in rankings:
            estimate = scaled * sum(x * y for x, y in zip(vector[ranking], direction, strict=True))
            weights[ranking] *= math.exp(-eta * estimate)
