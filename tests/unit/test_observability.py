"""Partial monitoring: the thesis' tables and proofs, every shortcut against the definition."""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product
from math import factorial

import numpy as np
import pytest
from scipy.optimize import linprog

from scant.theory import observability
from scant.theory.observability import (
    atlas,
    globally_observable,
    locally_observable,
    loss_matrix,
    neighbourhood,
    neighbours,
    rankings,
    regret_rate,
    relevances,
    signal_matrix,
    table_b_1,
)

WHOLE = ["sum-loss", "pairwise-loss", "auc", "dcg", "ndcg", "ap", "err"]
IRRATIONAL = ("dcg", "ndcg")


def every_measure(m):
    cut = [f"{base}@{c}" for base in ("dcg", "ndcg") for c in range(1, m)]
    return WHOLE + cut + [f"precision@{c}" for c in range(1, m + 1)]


# The definitions, as plain as can be.


def exact_loss(measure, shown, grades):
    """The loss as a Fraction, for measures without a discount; binary relevance."""
    base, _, cut = measure.partition("@")
    seen = [grades[item] for item in shown]
    relevant = [q for q, r in enumerate(seen, start=1) if r]
    wrong = sum(above < below for above, below in combinations(seen, 2))
    if base == "sum-loss":
        return Fraction(sum(relevant))
    if base == "pairwise-loss":
        return Fraction(wrong)
    if base == "auc":
        return Fraction(wrong, (len(relevant) * (len(seen) - len(relevant))) or 1)
    if base == "precision":
        return -Fraction(sum(seen[: int(cut)]))
    if base == "ap":
        return -sum((Fraction(j, q) for j, q in enumerate(relevant, start=1)), Fraction(0)) / (
            len(relevant) or 1
        )
    assert base == "err"
    return -sum((Fraction(1, q * 2**j) for j, q in enumerate(relevant, start=1)), Fraction(0))


def exact_losses(measure, m):
    return [
        [exact_loss(measure, shown, r) for r in product((0, 1), repeat=m)] for shown in rankings(m)
    ]


class ExactSpan:
    """The row space of a rational matrix, by Gaussian elimination."""

    def __init__(self, rows):
        self.basis = {}
        for row in rows:
            row = self.reduce(row)
            pivot = next((at for at, x in enumerate(row) if x), None)
            if pivot is not None:
                self.basis[pivot] = [x / row[pivot] for x in row]

    def reduce(self, row):
        row = [Fraction(x) for x in row]
        for pivot, one in sorted(self.basis.items()):
            if row[pivot]:
                row = [x - row[pivot] * y for x, y in zip(row, one, strict=True)]
        return row

    def __contains__(self, row):
        return not any(self.reduce(row))


class FloatSpan:
    """The same to rounding, for irrational losses."""

    def __init__(self, rows):
        self.rows = np.array(rows, dtype=float).T

    def __contains__(self, row):
        best = np.linalg.lstsq(self.rows, row, rcond=None)[0]
        return np.abs(self.rows @ best - row).max() < 1e-9


@lru_cache
def span(m, k, top_grade, members, exact):
    """Of the stacked signal matrices of some rankings."""
    rows = []
    for shown in rankings(m)[list(members)]:
        seen = relevances(m, top_grade)[:, shown[:k]]
        rows += [np.all(seen == one, axis=1).tolist() for one in relevances(k, top_grade)]
    return ExactSpan(rows) if exact else FloatSpan(rows)


def losses_of(measure, m, top_grade):
    """The losses, exact if they are rational, and whether they are."""
    exact = not measure.startswith(IRRATIONAL) and top_grade == 1
    if not exact:
        return loss_matrix(measure, m, top_grade), False
    return np.array(exact_losses(measure, m), dtype=object), True


def globally_by_definition(measure, m, k, top_grade=1):
    losses, exact = losses_of(measure, m, top_grade)
    everything = span(m, k, top_grade, tuple(range(factorial(m))), exact)
    # A difference of two rankings is one of differences to the first: a span holds them all if it
    # holds these.
    return all(loss - losses[0] in everything for loss in losses)


def common_face(losses, members):
    """The dimension of the intersection of the members' cells, and a relatively interior point."""
    outcomes = losses.shape[1]
    rows = np.vstack([np.eye(outcomes)] + [losses - losses[i] for i in members])
    rows = rows[np.abs(rows).max(axis=1) > 1e-12]
    goal = np.concatenate([np.zeros(outcomes), -np.ones(len(rows))])
    solved = linprog(
        goal,
        np.hstack([-rows, np.eye(len(rows))]),
        np.zeros(len(rows)),
        bounds=[(0, None)] * outcomes + [(0, 1)] * len(rows),
        method="highs",
    )
    p, slack = np.split(solved.x, [outcomes])
    assert np.all((slack < 1e-6) | (slack > 1 - 1e-6))
    tight = rows[slack < 0.5]
    return outcomes - 1 - (np.linalg.matrix_rank(tight, tol=1e-9) if len(tight) else 0), p / p.sum()


def neighbourhoods_by_definition(measure, m, pairs, top_grade=1):
    """The neighbourhood action set of those pairs that are neighbours."""
    losses = loss_matrix(measure, m, top_grade)
    found = {}
    for i, j in pairs:
        dimension, p = common_face(losses, (i, j))
        if dimension == losses.shape[1] - 2:
            # On the face a loss is at least that of i; equal inside the face, it is equal on all of
            # it.
            found[i, j] = np.flatnonzero((losses - losses[i]) @ p < 1e-9)
    return found


def locally_by_definition(measure, m, sets, top_grade=1):
    """The answers for k = 1..m, `sets` being the neighbourhoods."""
    losses, exact = losses_of(measure, m, top_grade)
    differences = [(losses[i] - losses[j], tuple(some.tolist())) for (i, j), some in sets.items()]
    return [
        all(one in span(m, k, top_grade, some, exact) for one, some in differences)
        for k in range(1, m + 1)
    ]


# The thesis; its tables are held in test_atlas.


@pytest.mark.parametrize(("m", "k"), [(3, 1), (3, 2), (3, 3), (4, 2)])
def test_a_signal_says_which_feedback_was_given(m, k):
    symbols = list(product(range(2), repeat=k))
    for shown in rankings(m):
        signals = signal_matrix(shown, k)
        assert signals.shape == (len(symbols), 2**m)
        for signal, grades in zip(signals.T, relevances(m), strict=True):
            assert [symbols[at] for at in np.flatnonzero(signal)] == [tuple(grades[shown[:k]])]


def test_the_distributions_of_table_b_1_look_alike_and_have_other_best_rankings():
    table = table_b_1()
    order = [np.flatnonzero((relevances(3) == r).all(axis=1))[0] for r in table.relevances]
    p = np.zeros((2, 8), dtype=object)
    p[:, order] = table.probabilities
    for shown in rankings(3):
        assert np.array_equal(signal_matrix(shown, 1) @ p[0], signal_matrix(shown, 1) @ p[1])
    expected = [loss_matrix("ndcg", 3) @ one.astype(float) for one in p]
    best = [rankings(3)[np.isclose(losses, losses.min())].tolist() for losses in expected]
    assert best == [[[1, 0, 2]], [[2, 0, 1], [2, 1, 0]]]


# Shortcuts against definitions.


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_losses_by_definition(m):
    for measure in every_measure(m):
        if not measure.startswith(IRRATIONAL):
            expected, found = exact_losses(measure, m), loss_matrix(measure, m)
            np.testing.assert_allclose(found, np.array(expected, float), atol=1e-14)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_global_observability_by_definition(m):
    for measure, k in product(every_measure(m), range(1, m + 1)):
        found = globally_observable(measure, m, k)
        assert found is globally_by_definition(measure, m, k), (measure, k)


@pytest.mark.parametrize(("m", "top_grade"), [(2, 2), (2, 4), (3, 2)])
def test_global_observability_by_definition_with_grades(m, top_grade):
    graded = ["sum-loss", "dcg", "ndcg", "ndcg@1", "dcg@2"]
    for measure, k in product(graded, range(1, m + 1)):
        found = globally_observable(measure, m, k, top_grade)
        assert found is globally_by_definition(measure, m, k, top_grade), (measure, k)


@pytest.mark.parametrize("m", [2, 3])
def test_cells_neighbours_and_local_observability_by_definition(m):
    everyone = range(factorial(m))
    for measure in every_measure(m):
        losses = loss_matrix(measure, m)
        # Every ranking is Pareto-optimal.
        assert {common_face(losses, (i,))[0] for i in everyone} == {2**m - 1}, measure
        sets = neighbourhoods_by_definition(measure, m, permutations(everyone, 2))
        assert {*map(tuple, np.argwhere(neighbours(measure, m)))} == {*sets}, measure
        for (i, j), expected in sets.items():
            if i == 0:
                assert neighbourhood(measure, m, j).tolist() == expected.tolist(), (measure, j)
        found = [locally_observable(measure, m, k) for k in range(1, m + 1)]
        assert found == locally_by_definition(measure, m, sets), measure


@pytest.mark.parametrize("measure", ["sum-loss", "dcg", "ndcg", "dcg@1", "ndcg@2"])
@pytest.mark.parametrize(("m", "top_grade"), [(2, 3), (3, 2)])
def test_neighbours_and_local_observability_by_definition_with_grades(measure, m, top_grade):
    sets = neighbourhoods_by_definition(measure, m, permutations(range(factorial(m)), 2), top_grade)
    assert {*map(tuple, np.argwhere(neighbours(measure, m, top_grade)))} == {*sets}
    for (i, j), expected in sets.items():
        if i == 0:
            assert neighbourhood(measure, m, j, top_grade).tolist() == expected.tolist(), j
    found = [locally_observable(measure, m, k, top_grade) for k in range(1, m + 1)]
    assert found == locally_by_definition(measure, m, sets, top_grade)


@pytest.mark.parametrize("measure", ["dcg", "dcg@2", "ndcg", "ndcg@1", "ndcg@3"])
@pytest.mark.parametrize(("m", "top_grade"), [(3, 1), (3, 3), (4, 2)])
def test_losses_as_combinations_of_irrational_numbers(measure, m, top_grade):
    game = observability._game(measure, m, top_grade)
    coefficients, enclosures = observability._formal_losses(game, rankings(m))
    numbers = np.array([float(Fraction(x, 10**40)) for x in enclosures])
    losses = loss_matrix(measure, m, top_grade)
    np.testing.assert_allclose(coefficients @ numbers, losses, atol=1e-12)


def test_four_items_by_definition_seen_from_one_ranking():
    """By symmetry each pair of rankings is as one that is seen from any one ranking."""
    pairs = [(0, j) for j in range(1, 24)]
    for measure in every_measure(4):
        sets = neighbourhoods_by_definition(measure, 4, pairs)
        claimed = neighbours(measure, 4)
        assert {pair for pair in pairs if claimed[pair]} == set(sets), measure
        for (_, j), expected in sets.items():
            assert neighbourhood(measure, 4, j).tolist() == expected.tolist(), (measure, j)
        found = [locally_observable(measure, 4, k) for k in (1, 2, 3, 4)]
        assert found == locally_by_definition(measure, 4, sets), measure


# The atlas.

EXPECTED = {  # the rate's exponent for k = 1..m; m = 2, 3, 4, 5
    ("sum-loss", 1): "1/2 1/2, 2/3 1/2 1/2, 2/3 2/3 1/2 1/2, 2/3 2/3 2/3 1/2 1/2",
    ("pairwise-loss", 1): "1/2 1/2, 2/3 1/2 1/2, 2/3 2/3 1/2 1/2, 2/3 2/3 2/3 1/2 1/2",
    ("dcg", 1): "1/2 1/2, 2/3 1/2 1/2, 2/3 2/3 1/2 1/2, 2/3 2/3 2/3 1/2 1/2",
    ("dcg", 2): "1/2 1/2, 2/3 1/2 1/2, 2/3 2/3 1/2 1/2, 2/3 2/3 2/3 1/2 1/2",
    ("auc", 1): "1/2 1/2, 2/3 1/2 1/2, 1 1 2/3 1/2, 1 1 2/3 2/3 1/2",
    ("ndcg", 1): "1/2 1/2, 1 2/3 1/2, 1 1 2/3 1/2, 1 1 1 2/3 1/2",
    ("ndcg", 2): "1 1/2, 1 1 1/2, 1 1 1 1/2, 1 1 1 1 1/2",
    ("ap", 1): "1/2 1/2, 1 2/3 1/2, 1 1 2/3 1/2, 1 1 1 2/3 1/2",
    ("err", 1): "1/2 1/2, 1 1/2 1/2, 1 1 1/2 1/2, 1 1 1 1/2 1/2",
    ("precision@1", 1): "1/2 1/2, 1/2 1/2 1/2, 1/2 1/2 1/2 1/2, 1/2 1/2 1/2 1/2 1/2",
    ("precision@2", 1): ", 1/2 1/2 1/2, 1/2 1/2 1/2 1/2, 1/2 1/2 1/2 1/2 1/2",
    ("precision@3", 1): ", , 1/2 1/2 1/2 1/2, 1/2 1/2 1/2 1/2 1/2",
    ("precision@4", 1): ", , , 1/2 1/2 1/2 1/2 1/2",
    ("dcg@1", 1): "1/2 1/2, 1/2 1/2 1/2, 1/2 1/2 1/2 1/2, 1/2 1/2 1/2 1/2 1/2",
    ("dcg@2", 1): ", 2/3 1/2 1/2, 2/3 1/2 1/2 1/2, 2/3 1/2 1/2 1/2 1/2",
    ("dcg@3", 1): ", , 2/3 2/3 1/2 1/2, 2/3 2/3 1/2 1/2 1/2",
    ("dcg@4", 1): ", , , 2/3 2/3 2/3 1/2 1/2",
    ("ndcg@1", 1): "1/2 1/2, 1/2 1/2 1/2, 1/2 1/2 1/2 1/2, 1/2 1/2 1/2 1/2 1/2",
    ("ndcg@2", 1): ", 1 2/3 1/2, 1 1 2/3 1/2, 1 1 1 2/3 1/2",
    ("ndcg@3", 1): ", , 1 1 2/3 1/2, 1 1 1 2/3 1/2",
    ("ndcg@4", 1): ", , , 1 1 1 2/3 1/2",
}
RATES = {"1/2": "T^(1/2)", "2/3": "T^(2/3)", "1": "T"}


def test_the_atlas():
    found = {}
    for row in atlas():
        found.setdefault((row.measure, row.top_grade), {})[row.m, row.k] = row.rate
    for game, text in EXPECTED.items():
        for m, part in enumerate(text.split(","), 2):
            rates = {k: rate for (items, k), rate in found[game].items() if items == m}
            assert rates == {k: RATES[x] for k, x in enumerate(part.split(), 1)}, (game, m)
    assert found.keys() == EXPECTED.keys()


@pytest.mark.parametrize(
    ("measure", "m"), [("sum-loss", 1), ("ap", 1), ("precision@1", 1), ("precision@3", 3)]
)
def test_where_no_ranking_loses_more_there_is_nothing_to_regret(measure, m):
    assert regret_rate(measure, m, 1).rate == "0"
    assert not neighbours(measure, m).any()


# Structure.


def test_a_combination_too_close_to_zero_is_not_decided():
    enclosures = [10**40, 5 * 10**39, 63 * 10**38]  # 1, 1/2 and some number about 0.63
    rows = np.array([[0, 0, 0], [1, -1, 0], [2, 0, -3]])
    assert observability._nonzero(rows, enclosures).tolist() == [0, 1, 1]
    with pytest.raises(ArithmeticError, match="zero"):
        observability._nonzero(np.array([[1, -2, 0]]), enclosures)


def test_enclosures_of_the_discounts():
    game = observability._game("dcg", 5, 1)
    one, second, third, fourth, fifth = observability._formal_losses(game, [range(5)])[1]
    assert one == 10**40 and third == 5 * 10**39
    assert second == 6309297535714574370995271143427608542996  # 1 / log2(3)
    assert fourth == 4306765580733930506701065687639656320698  # 1 / log2(5)
    # log2(6) = 1 + log2(3)
    assert abs(fifth * (10**40 + second) - second * 10**40) < 4 * 10**40
