"""Sorting with noise: Lemma 6.1 by exact enumeration, and samples of the compiled procedures."""

import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from scant.games import sorting
from scant.kernels import games as kernels
from scant.kernels.sorting import COUNTING_LIMIT, place_by, sorter

EDGES = yaml.safe_load("""
[[0.0, 0.0], [1.0, -2.0], [0.0, 0.3, -1.0], [2.0, 2.0, 2.0], [0.0, 1.0, 2.0, -0.5],
 [5.0, 0.0, 0.0, -5.0]]
""")
PROCEDURES = [sorting.quicksort_distribution, sorting.plackett_luce_distribution]


# --- Lemma 6.1
@pytest.mark.parametrize("distribution", PROCEDURES)
@pytest.mark.parametrize("weights", EDGES)
def test_pairs_are_in_order_with_logistic_probability(distribution, weights):
    chances = distribution(weights)
    assert len(chances) == math.factorial(len(weights))
    assert sum(chances.values()) == pytest.approx(1, rel=1e-14)
    above = sorting.marginals(chances)
    for u, v in permutations(range(len(weights)), 2):
        assert above[u, v] == pytest.approx(1 / (1 + math.exp(weights[v] - weights[u])), rel=1e-12)


@given(st.lists(st.floats(-4, 4), min_size=2, max_size=4))
def test_so_they_are_for_any_weights(weights):
    for distribution in PROCEDURES:
        above = sorting.marginals(distribution(weights))
        for u, v in permutations(range(len(weights)), 2):
            assert above[u, v] == pytest.approx(sorting.before(weights[u] - weights[v]), rel=1e-10)


def test_the_two_procedures_are_not_the_same_distribution():
    one, two = (distribution([0.0, 1.0, 2.0]) for distribution in PROCEDURES)
    assert max(abs(one[ranking] - two[ranking]) for ranking in one) > 0.005


class Scripted:
    """Stands in for a generator: the n-th draw takes the n-th branch, 0 of `draw < p` with p."""

    def __init__(self, script):
        self.script, self.chances, self.taken = script, [], 0

    def random(self):
        return self

    def _branch(self, chances):
        branch = self.script[self.taken] if self.taken < len(self.script) else 0
        self.chances.append(chances)
        self.taken += 1
        self.chosen = branch
        return branch

    def __mul__(self, n):
        return self._branch([Fraction(1, n)] * n)

    def __lt__(self, p):
        return self._branch([p, 1 - p]) == 0


def enumerate_runs(run):
    """Every run of `run(random)`, with its probability: (result, chance)."""
    waiting = [()]
    while waiting:
        script = waiting.pop()
        random = Scripted(script)
        result = run(random)
        path = [*script, *[0] * (random.taken - len(script))]
        yield (
            result,
            math.prod(
                float(chances[branch]) for chances, branch in zip(random.chances, path, strict=True)
            ),
        )
        for at in range(len(script), random.taken):
            waiting += [(*path[:at], branch) for branch in range(1, len(random.chances[at]))]


@pytest.mark.parametrize("weights", [*EDGES[:4], [0.0, 1.0, 2.0, -0.5]])
def test_every_run_of_the_code_itself(weights):
    """The lemma holds of `quicksort` as it is written, over all that its random numbers can do."""
    chances = {}
    for ranking, chance in enumerate_runs(
        lambda random: tuple(sorting.quicksort(weights, random).tolist())
    ):
        chances[ranking] = chances.get(ranking, 0.0) + chance
    expected = sorting.quicksort_distribution(weights)
    assert chances == {
        ranking: pytest.approx(chance, rel=1e-12) for ranking, chance in expected.items()
    }


# --- samples
def compiled_quicksort(weights, random, count):
    m = len(weights)
    odds, place = kernels.even_odds(m), np.empty(m, np.uint32)
    for u, weight in enumerate(weights):
        kernels.set_odds(float(weight), odds, u)
    for _ in range(count):
        kernels.quicksort(odds, random, np.empty(m), place)
        yield tuple(np.argsort(place).tolist())


def test_compiled_quicksort_is_the_plain_one():
    random = np.random.default_rng(1)
    for m in (1, 2, 3, 10, 40):
        for scale in (0.0, 0.1, 5.0, 1000.0):
            weights, seed = random.standard_normal(m) * scale, int(random.integers(1000))
            plain = np.random.default_rng(seed)
            for ranking in compiled_quicksort(weights, np.random.default_rng(seed), 20):
                assert ranking == tuple(sorting.quicksort(weights, plain).tolist())


def test_weights_that_are_far_apart():
    """Of two items far below a third, the heavier comes first as often as it should."""
    first, weights, count = 0, [-2001.0, 0.0, -2000.0], 2000
    for ranking in compiled_quicksort(weights, np.random.default_rng(2), count):
        assert ranking[0] == 1
        first += ranking[1] == 0
    chance = sorting.before(-1.0)
    assert abs(first - count * chance) < 4 * math.sqrt(count * chance * (1 - chance))
    assert sorting.before(-1e4) == 0
    assert sorting.before(1e4) == 1
    assert sorting.marginals(sorting.quicksort_distribution(weights))[0, 2] == pytest.approx(chance)


def places(scores):
    place, order = np.empty((2, len(scores)), np.uint32)
    place_by(scores, place, order, sorter(scores))
    return place


@given(
    st.integers(1, 400),
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        ["normal", "tied", "outlier", "infinite", "far apart", "close", "rising", "pairs"]
    ),
    st.sampled_from([np.float32, np.float64]),
)
@example(COUNTING_LIMIT, 0, "tied", np.float64)
@example(COUNTING_LIMIT + 1, 0, "tied", np.float64)
@example(400, 0, "rising", np.float64)
@example(400, 0, "pairs", np.float64)
def test_places_are_those_of_numpys_stable_sort(m, seed, kind, precision):
    random = np.random.default_rng(seed)
    ties = kind in ("tied", "outlier")
    scores = random.integers(-3, 4, m) / 4 if ties else random.standard_normal(m)
    if kind == "outlier":  # beside it all others have one key
        scores[random.integers(m)] = -1e9
    elif kind == "infinite":
        scores[random.integers(m, size=2)] = np.inf, -np.inf
    elif kind == "far apart":
        scores *= np.finfo(precision).max / 8
    elif kind == "close":
        scores = scores.astype(int) * np.finfo(precision).smallest_subnormal
    elif kind == "pairs":  # too few ties to sort in another way
        scores[m - m // 2 :] = scores[: m // 2]
    elif kind == "rising":  # all in reverse
        scores = np.sort(scores)
    scores = scores.astype(precision)
    np.testing.assert_array_equal(np.argsort(places(scores)), np.argsort(-scores, kind="stable"))


@given(st.floats(-1e6, 1e6))
def test_odds_are_the_exponential_of_the_weight(weight):
    odds = kernels.even_odds(1)
    kernels.set_odds(weight, odds, 0)
    mantissa, exponent = odds.mantissas[0], int(odds.exponents[0])
    assert 1 - 1e-9 < mantissa < 2 + 1e-9
    result = math.log(mantissa) + exponent * math.log(2)
    assert result == pytest.approx(weight, rel=1e-15, abs=1e-15)


def test_a_pair_comes_first_or_not():
    above = sorting.marginals({(0, 1, 2): 0.25, (2, 1, 0): 0.75})
    for u, v in combinations(range(3), 2):
        assert (above[u, v], above[v, u]) == (0.25, 0.75)
