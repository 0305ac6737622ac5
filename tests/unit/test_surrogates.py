"""The surrogates: hand cases, definitions written naively, what theory says always holds."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from scant.measures import average_precision, ndcg, rank
from scant.surrogates import (
    EXP_CLIP,
    average_within_grade,
    kl,
    listnet,
    max_hinge,
    ndcg_squared,
    ranksvm,
    slam,
    slam_weights,
    smoothdcg,
    squared,
)

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=60)


def ndcg_weights_by_grade(grades, k=None):
    """Weights that the scores do not move, as a loss convex in the scores needs."""
    return average_within_grade(slam_weights("ndcg", np.zeros(len(grades)), grades, k), grades)


CONVEX = {"slam-ap": lambda s, r: slam(s, r, slam_weights("ap", s, r))}
CONVEX |= {"slam-ndcg": lambda s, r: slam(s, r, ndcg_weights_by_grade(r))}
CONVEX |= {"slam-ndcg@2": lambda s, r: slam(s, r, ndcg_weights_by_grade(r, 2))}
CONVEX |= {"slam-grade-gap": lambda s, r: slam(s, r, ndcg_weights_by_grade(r), margin="grade-gap")}
CONVEX |= {"max-hinge": max_hinge, "ranksvm": ranksvm, "squared": squared}
CONVEX |= {"ndcg-squared": ndcg_squared, "listnet": listnet, "kl": kl}
SURROGATES = CONVEX | {"smoothdcg": lambda s, r: smoothdcg(s, r, 0.5)}
every_surrogate = pytest.mark.parametrize("phi", SURROGATES.values(), ids=SURROGATES.keys())
QUARTERS = st.integers(-12, 12).map(lambda quarter: quarter / 4)  # exact, and often tied


def queries(score=QUARTERS, copies=1):
    """`copies` score vectors of one query, and its grades."""

    def query(m):
        scores = st.lists(score, min_size=m, max_size=m).map(np.array)
        grades = st.lists(st.integers(0, 4), min_size=m, max_size=m).map(np.array)
        return st.tuples(*[scores] * copies, grades)

    return st.integers(1, 8).flatmap(query)


def random_query(seed, m=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=m), rng.integers(0, 5, size=m)


def naive_slam(scores, grades, weights, margin):
    """Equation 9 as written, the first of the best-scored documents of lower grade as maximiser."""
    value, gradient = 0.0, np.zeros(len(scores))
    for i in range(len(scores)):
        hinge, at = 0.0, None
        for j in range(len(scores)):
            if grades[j] < grades[i]:
                gap = grades[i] - grades[j] if margin == "grade-gap" else margin
                if gap + scores[j] - scores[i] > hinge:
                    hinge, at = gap + scores[j] - scores[i], j
        if at is not None:
            value += weights[i] * hinge
            gradient[at] += weights[i]
            gradient[i] -= weights[i]
    return value, gradient


def same(result, expected):
    assert result[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(result[1], expected[1], rtol=1e-12, atol=1e-12)


S, R = [0.0, 1.0, 0.5], [1, 0, 2]  # each better document lies below a worse one
D2 = 1 / np.log2(3)


@pytest.mark.parametrize(
    "result, expected",
    [
        (slam(S, R, slam_weights("ap", S, R)), (1.75, [-0.5, 1, -0.5])),
        (slam(S, R, [0.2, 0.0, 0.8], margin="grade-gap"), (0.2 * 2 + 0.8 * 2.5, [-0.2, 1, -0.8])),
        (max_hinge(S, R), (2, [-1, 1, 0])),
        # of equal pairs the smaller indices
        (max_hinge([0, 0, 1, 1], [1, 1, 0, 0]), (2, [-1, 0, 1, 0])),
        # chosen before the margin rounds
        (max_hinge([-1e-20, -2e-20, 0], [1, 1, 0]), (1, [0, -1, 1])),
        (max_hinge([2, 1], [1, 0]), (0, [0, 0])),
        (max_hinge([2, 1], [1, 0], margin=3), (2, [-1, 1])),
        (ranksvm(S, R), (2 + 1.5 + 0.5, [0, 2, -2])),
        (squared(S, R), (1 + 1 + 2.25, [-2, 2, -3])),
        (ndcg_squared([0, 0], [2, 1]), ((9 + 1) / (3 + D2) ** 2, [-6 / (3 + D2), -2 / (3 + D2)])),
        (ndcg_squared([1, -1], [0, 0]), (2, [2, -2])),
        (listnet([0, 0], [1, 0]), (np.log(2), 0.5 - softmax([1, 0]))),
        (kl([0, 1], [1, 1]), (1, [1 - np.e, 0])),
        (smoothdcg([0, 0], [2, 0], 0.5), (-1.5, [-1.5, 1.5])),
    ],
)
def test_hand_cases(result, expected):
    same(result, expected)


def test_slam_weights_by_hand():
    scores, grades = [0.0, 1.0, 0.5, 0.5, 9.0], [1, 2, 1, 1, 0]
    assert slam_weights("ap", scores, grades).tolist() == [1 / 4, 1 / 4, 1 / 4, 1 / 4, 0]
    # By grade, score and index the order is 1, 2, 3, 0, 4.
    gains = np.array([1 / np.log2(5), 3, D2, 1 / 2, 0])
    np.testing.assert_allclose(
        slam_weights("ndcg", scores, grades), gains / gains.sum(), rtol=1e-15
    )
    top_2 = np.array([0, 3, D2, 0, 0]) / (3 + D2)
    np.testing.assert_allclose(slam_weights("ndcg", scores, grades, k=2), top_2, rtol=1e-15)
    mean = (1 / np.log2(5) + D2 + 1 / 2) / 3
    np.testing.assert_allclose(
        average_within_grade(gains, grades), [mean, 3, mean, mean, 0], rtol=1e-15
    )


@pytest.mark.parametrize("kind, k", [("ap", None), ("ndcg", None), ("ndcg", 1), ("ndcg", 3)])
@EXAMPLES
@given(queries())
def test_slam_is_an_upper_bound_of_its_measure_s_loss(kind, k, query):
    scores, grades = query
    weights, ranking = slam_weights(kind, scores, grades, k), rank(scores)
    ap = kind == "ap"
    measure = average_precision(ranking, grades, 1.0) if ap else ndcg(ranking, grades, k, 1.0)
    relevant = grades.max() > 0
    for v in (weights, average_within_grade(weights, grades)):
        assert v.min() >= 0
        assert v.sum() == pytest.approx(float(relevant), abs=1e-12)
    for margin in (1.0, "grade-gap"):
        assert slam(scores, grades, weights, margin)[0] >= 1 - measure - 1e-12
    assert relevant or slam(scores, grades, weights)[0] == 0


@pytest.mark.parametrize("margin", [1.0, 0.25, "grade-gap"])
@EXAMPLES
@given(queries())
def test_slam_equals_its_definition(margin, query):
    scores, grades = query
    weights = slam_weights("ndcg", scores, grades) + 0.125 * (grades == 2)
    same(slam(scores, grades, weights, margin), naive_slam(scores, grades, weights, margin))


@EXAMPLES
@given(queries())
def test_max_hinge_and_ranksvm_equal_their_definitions(query):
    scores, grades = query
    pairs = [(i, j) for i, j in np.ndindex(len(grades), len(grades)) if grades[i] > grades[j]]
    hinges = {(i, j): max(0.0, 1 + scores[j] - scores[i]) for i, j in pairs}
    value, gradient = max_hinge(scores, grades)
    assert value == max(hinges.values(), default=0.0)
    if value > 0:
        assert hinges[int(np.argmin(gradient)), int(np.argmax(gradient))] == value
    assert np.abs(gradient).sum() == (2 if value > 0 else 0)
    total, counts = ranksvm(scores, grades)
    assert total == sum(hinges.values())
    wrong = [pair for pair, hinge in hinges.items() if hinge > 0]
    for u in range(len(grades)):
        assert counts[u] == sum((u == j) - (u == i) for i, j in wrong)


@EXAMPLES
@given(queries(score=st.floats(-1e3, 1e3, width=32)), st.integers(-7, 7))
def test_max_hinge_chooses_the_same_wrong_pair_at_every_scale(query, power):
    scores, grades = query
    value, gradient = max_hinge(scores, grades)
    assume(value >= 1)  # some pair is ranked wrongly
    assert np.array_equal(max_hinge(scores * 2.0**power, grades)[1], gradient)


@pytest.mark.parametrize("phi", CONVEX.values(), ids=CONVEX.keys())
@EXAMPLES
@given(queries(copies=2))
def test_convex_surrogates_lie_above_their_tangents(phi, query):
    here, there, grades = query
    value, gradient = phi(here, grades)
    bound = value + gradient @ (there - here)
    assert phi(there, grades)[0] >= bound - 1e-9 * (1 + abs(bound))
    assert value >= -1e-12


@every_surrogate
@pytest.mark.parametrize("seed", range(3))
def test_gradients_equal_finite_differences(phi, seed):
    scores, grades = random_query(seed)
    moves = 1e-6 * np.eye(len(scores))
    moved = [phi(scores + move, grades)[0] - phi(scores - move, grades)[0] for move in moves]
    difference = np.array(moved) / 2e-6
    np.testing.assert_allclose(phi(scores, grades)[1], difference, rtol=1e-6, atol=1e-6)


@every_surrogate
@pytest.mark.parametrize("seed", range(3))
def test_renumbering_the_documents_renumbers_the_gradient(phi, seed):
    scores, grades = random_query(seed)
    new = np.random.default_rng(seed + 100).permutation(len(scores))
    value, gradient = phi(scores, grades)
    same(phi(scores[new], grades[new]), (value, gradient[new]))
    weights = slam_weights("ndcg", scores, grades, 4)
    np.testing.assert_allclose(slam_weights("ndcg", scores[new], grades[new], 4), weights[new])


@every_surrogate
@pytest.mark.parametrize("seed", range(3))
def test_huge_scores_and_single_documents_give_finite_numbers(phi, seed):
    scores, grades = random_query(seed)
    huge = [(1e5 * scores, grades), (-1e5 * abs(scores), grades), ([1e5], [1]), ([0.0], [0])]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for query in huge:
            value, gradient = phi(*query)
            assert isinstance(value, float) and gradient.dtype == np.float64
            assert np.isfinite(value) and np.isfinite(gradient).all()


def test_kl_goes_on_along_its_tangent_beyond_the_clip():
    value, gradient = kl([EXP_CLIP + 5], [1])
    assert gradient[0] == np.exp(EXP_CLIP) - np.e
    assert value == pytest.approx(6 * np.exp(EXP_CLIP))
    assert kl([EXP_CLIP], [1])[0] == pytest.approx(np.exp(EXP_CLIP))
