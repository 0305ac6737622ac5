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


def drawn(items: int, rounds: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (rounds, items)).astype(float)


CASES = st.tuples(
    st.sampled_from(list(PLACES)), st.integers(2, 4), st.integers(0, 10_000), st.floats(0.01, 1.5)
)


def balanced(matrix: list[list[float]]) -> list[list[float]]:
    """Rows and columns are divided by their sums in turn, until nothing changes."""
    for _ in range(5000):
        rows = [[x / sum(row) for x in row] for row in matrix]
        columns = [sum(column) for column in zip(*rows, strict=True)]
        new = [[x / total for x, total in zip(row, columns, strict=True)] for row in rows]
        if (
            max(
                abs(x - y)
                for a, b in zip(matrix, new, strict=True)
                for x, y in zip(a, b, strict=True)
            )
            < 1e-15
        ):
            break
        matrix = new
    return matrix


@settings(max_examples=8, deadline=None)
@given(CASES)
def test_permelearn(case):
    """Weights are Helmbold & Warmuth's, and rankings put each item where its weights say."""
    loss, items, seed, eta = case
    learner = make("permelearn", game(loss, items, 8), np.random.default_rng(0))
    learner.eta, learner.TOLERANCE = eta, 1e-12
    prices = [PLACES[loss](place, items) for place in range(1, items + 1)]
    span = (max(prices) - min(prices)) or 1.0
    weights = [[1 / items] * items for _ in range(items)]
    for values in drawn(items, 8, seed):
        learner.learn(learner.rank(), values)
        scaled = [(price - min(prices)) / span for price in prices]
        for item, at in product(range(items), range(items)):
            weights[item][at] *= math.exp(-eta * values[item] * scaled[at])
        weights = balanced(weights)
        np.testing.assert_allclose(learner.weights, weights, rtol=1e-7, atol=1e-9)
    placed = np.zeros((items, items))  # over a fine grid of what the generator may draw
    grid = 500
    for step in range(grid):
        learner.random = type(
            "Fixed", (), {"random": staticmethod(lambda step=step: (step + 0.5) / grid)}
        )
        placed[learner.rank(), np.arange(items)] += 1 / grid
    np.testing.assert_allclose(placed, weights, atol=2 * items * items / grid)


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
