"""The compiled pieces of a round do what `scant.measures` and `scant.surrogates` say, and NumPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scant import measures, surrogates
from scant.data.stream import discounts, gains
from scant.kernels import full, pieces, sorting

GRADES = 4
GAINS, DISCOUNTS = gains(GRADES), discounts(400)
TABLES = pieces.Tables(GAINS, DISCOUNTS, np.exp(-np.arange(GRADES + 1.0)))
QUARTERS = st.integers(-12, 12).map(lambda quarter: quarter / 4)  # exact, and often tied
SIXTY_FOURTHS = st.integers(-64, 64).map(lambda part: part / 64)


def sort(scores):
    order = np.empty(len(scores), np.uint32)
    sorting.sort_scores(scores, order, sorting.sorter(scores))
    return order


def vector(values, m, kind):
    return st.lists(values, min_size=m, max_size=m).map(lambda one: np.array(one, kind))


queries = st.integers(1, 40).flatmap(
    lambda m: st.tuples(
        vector(QUARTERS, m, np.float32), vector(st.integers(0, GRADES), m, np.int16)
    )
)


# --- sorting
@given(
    st.integers(1, 300),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["normal", "tied", "bits", "signs", "constant"]),
)
@example(1, 0, "constant")
@example(sorting.COUNTING_LIMIT, 0, "bits")
@example(sorting.COUNTING_LIMIT + 1, 0, "bits")
@example(300, 0, "constant")
def test_sorting_is_numpys_stable_one_of_descending_scores(m, seed, kind):
    random = np.random.default_rng(seed)
    scores = {
        "normal": lambda: random.standard_normal(m),
        "tied": lambda: random.integers(-3, 4, m) / 4,
        "bits": lambda: random.integers(0, 2**32, m, np.uint32).view(np.float32),
        "signs": lambda: random.choice([0.0, -0.0, 1e-45, -1e-45, np.inf, -np.inf], m),
        "constant": lambda: np.full(m, -2.5),
    }[kind]().astype(np.float32)
    scores[np.isnan(scores)] = 0.0
    before = scores.copy()
    np.testing.assert_array_equal(sort(scores), np.argsort(-scores, kind="stable"))
    np.testing.assert_array_equal(scores.view(np.uint32), before.view(np.uint32))


# --- measures
@given(queries, st.integers(1, 45))
def test_measures_are_those_of_the_readable_module(query, cut):
    scores, grades = query
    order = sort(scores)
    value = pieces.dcg(grades[order], cut, GAINS, DISCOUNTS)
    assert value == pytest.approx(measures.dcg(order, grades, cut), rel=1e-13)
    ideal = pieces.ideal_dcg(grades, cut, GAINS, DISCOUNTS, np.empty(GRADES + 1, np.int64))
    assert ideal == pytest.approx(measures.dcg(measures.rank(grades), grades, cut), rel=1e-13)
    if relevant := np.count_nonzero(grades):
        value = pieces.average_precision(grades[order], relevant)
        assert value == pytest.approx(measures.average_precision(order, grades), rel=1e-13)
        assert (value == 1.0) == bool(np.all(grades[order[:relevant]] > 0))


def cascade(ranked, cut):
    """ERR from its definition: a user reads past what does not satisfy (Chapelle et al., 2009)."""
    satisfied = [Fraction(2 ** int(grade) - 1, 2**4) for grade in ranked[:cut]]
    stops = [
        one * math.prod(1 - before for before in satisfied[:at]) for at, one in enumerate(satisfied)
    ]
    return float(sum(stop / (at + 1) for at, stop in enumerate(stops)))


@given(queries, st.integers(1, 45))
def test_err_is_that_of_a_user_who_reads_until_satisfied(query, cut):
    scores, grades = query
    order = sort(scores)
    expected = pytest.approx(cascade(grades[order], cut), rel=1e-12)
    assert pieces.err(grades[order], cut, GAINS) == expected
    assert measures.err(order, grades, cut) == expected
    assert pieces.precision(grades[order], cut) == sum(grades[order[:cut]] > 0)


@given(queries, st.integers(1, 45), st.booleans(), st.randoms(use_true_random=False))
def test_dcg_is_the_ideal_one_to_the_last_bit_exactly_where_the_top_is_ideal(
    query, cut, sorted_top, random
):
    scores, grades = query
    m = len(grades)
    order = sort(scores)
    if sorted_top:  # else ideal tops would be rare
        order = np.argsort(-grades, kind="stable").astype(np.int32)
        tail = order[cut:].tolist()
        random.shuffle(tail)
        order[cut:] = tail
    ideal = pieces.ideal_dcg(grades, cut, GAINS, DISCOUNTS, np.empty(GRADES + 1, np.int64))
    value = pieces.dcg(grades[order], cut, GAINS, DISCOUNTS)
    right = np.array_equal(grades[order[:cut]], -np.sort(-grades)[:cut])
    assert right or not (sorted_top and m)
    assert value == ideal if right else value < ideal


# --- surrogates
@given(
    queries,
    st.sampled_from([("ap", None), ("ndcg", None), ("ndcg", 10), ("ndcg", 2)]),
    st.booleans(),
    st.sampled_from([1.0, 0.25, 2.0, "grade-gap"]),
)
def test_slam(query, weights, averaged, margin):
    (scores, grades), (kind, cut) = query, weights
    labels = np.minimum(grades, 1) if kind == "ap" else grades
    cut = None if averaged else cut  # the kernel's callers average over whole lists only
    g, by_grade = np.full(len(grades), np.nan), margin == "grade-gap"
    margins = 1.0 if by_grade else margin, by_grade
    choice = pieces.Slam(cut or len(grades), kind == "ap", *margins, averaged)
    scratch = np.full((6, GRADES + 1), np.nan), np.empty(len(grades), np.uint32)
    value = pieces.slam(scores, sort(scores), labels, choice, TABLES, *scratch, g)
    expected = surrogates.slam_weights(kind, scores, labels, cut)
    if averaged:
        expected = surrogates.average_within_grade(expected, labels)
    expected, gradient = surrogates.slam(scores, labels, expected, margin)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(g, gradient, rtol=1e-12, atol=1e-13)


@given(queries, st.booleans())
def test_max_hinge(query, binary):
    scores, grades = query
    labels = np.minimum(grades, 1) if binary else grades
    g = np.full(len(grades), np.nan)
    value = pieces.max_hinge(scores, sort(scores), labels, np.full((6, GRADES + 1), np.nan), g)
    expected, gradient = surrogates.max_hinge(scores, labels)
    assert value == expected
    np.testing.assert_array_equal(g, gradient)


@given(queries, st.sampled_from([1.0, 100.0, 1e4, 1e37]))
@example((np.array([0.0, -0.0, 0.0], np.float32), np.array([0, 0, 0], np.int16)), 1.0)
def test_listnet(query, scale):
    scores, labels = query
    scores = (scores * np.float32(scale)).astype(np.float32)
    g = np.full(len(labels), np.nan)
    exponentials = np.exp(-np.arange(GRADES + 1.0))
    pieces.listnet(
        scores, labels, exponentials, np.empty(len(labels), np.int64), np.empty(GRADES + 1), g
    )
    np.testing.assert_allclose(g, surrogates.listnet(scores, labels)[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("m", [1, 3, 20, 33])
@pytest.mark.parametrize("label", range(GRADES + 1))
def test_listnet_has_nothing_to_learn_of_equal_scores_and_grades(m, label):
    """Not even by rounding: with weights of 0, that would order the documents of the next query."""
    g, exponentials = np.full(m, np.nan), np.exp(-np.arange(GRADES + 1.0))
    scores, labels = np.full(m, 0.75, np.float32), np.full(m, label, np.int16)
    pieces.listnet(scores, labels, exponentials, np.empty(m, np.int64), np.empty(GRADES + 1), g)
    assert not g.any()


def test_the_fast_exponential():
    values = np.r_[np.linspace(-700, 0, 100_001), -np.geomspace(1e-300, 700, 1001), 0.0].astype(
        np.float32
    )
    out = np.empty(len(values))
    pieces.exponentials_below(values, 0.0, out, np.empty(len(values), np.int64))
    np.testing.assert_allclose(out, np.exp(values.astype(float)), rtol=3e-13)
    assert out[-1] == 1.0
    far = np.array([-701.0, -1e4, -3e38, -np.inf], np.float32)
    pieces.exponentials_below(far, 0.0, out[:4], np.empty(4, np.int64))
    assert np.all((out[:4] >= 0) & (out[:4] < 1e-300))


# --- products
@st.composite
def products(draw):
    m, d = draw(st.integers(1, 7)), draw(st.integers(1, 37))
    features = draw(vector(SIXTY_FOURTHS, m * d, np.float32)).reshape(m, d)
    g = vector(st.sampled_from([0, 0, 1, -0.5]), m, float)
    return features, draw(vector(SIXTY_FOURTHS, d, np.float64)), draw(g)


@given(products(), st.integers(0, 100))
def test_score_and_step_are_numpys(product, coming):
    features, weights, g = product
    before, scores = weights.copy(), np.empty(len(features), np.float32)
    assert pieces.score(features, weights, scores, np.ones(coming, np.float32))
    # exact: all are of 1/64
    np.testing.assert_array_equal(scores, (features @ weights).astype(np.float32))
    np.testing.assert_array_equal(weights, before)
    pieces.step(features, g, 0.25, weights, features.ravel())
    np.testing.assert_array_equal(weights, before - 0.25 * (features.T @ g))


def test_a_step_passes_over_documents_of_gradient_zero():
    features = np.array(
        [[np.nan, np.inf], [1, 2], [np.nan, 1], [3, 4], [1, 1], [np.nan] * 2], np.float32
    )
    weights = np.zeros(2)
    pieces.step(features, np.array([0.0, 1, 0, -1, 0.5, 0]), 2.0, weights, features.ravel()[:0])
    assert weights.tolist() == [3.0, 3.0]


def test_scores_that_are_not_finite_stay_so():
    features = np.array([[np.nan, 0.0], [np.inf, 1], [1e30, 0], [1, 0]], np.float32)
    scores = np.empty(4, np.float32)
    assert not pieces.score(features, np.array([1e10, 0.0]), scores, features[0, :0])
    assert np.isnan(scores[0])
    assert scores[1:].tolist() == [np.inf, np.inf, 1e10]
    for place in range(3):
        assert not pieces.score(
            features[place : place + 1], np.array([1e10, 0.0]), scores[:1], features[0, :0]
        )


def slam_value(kind, cut=None):
    return lambda s, r: surrogates.slam(s, r, surrogates.slam_weights(kind, s, r, cut))[0]


@pytest.mark.parametrize(
    ("kind", "places", "uniform", "surrogate"),
    [
        (full.SLAM, 30, True, slam_value("ap")),
        (full.SLAM, 30, False, slam_value("ndcg")),
        (full.SLAM, 10, False, slam_value("ndcg", 10)),
        (full.MAX_HINGE, 1, False, lambda s, r: surrogates.max_hinge(s, r)[0]),
        (full.MAX_HINGE, 1, True, lambda s, r: surrogates.max_hinge(s, r)[0]),
    ],
)
def test_the_sum_of_surrogates_at_fixed_weights(packed, kind, places, uniform, surrogate):
    random = np.random.default_rng(5)
    sizes = [1, 12, 30, 7, 15]
    stream = packed(
        [(random.integers(0, 5, m), random.integers(-64, 65, (m, 6)) / 64) for m in sizes]
    )
    labels = np.minimum(stream.grades, 1) if uniform else stream.grades.copy()
    labels.flags.writeable = False
    order, updated = random.integers(0, 5, 40), random.integers(0, 2, 40).astype(np.uint8)
    weights, multiples, sums = (
        random.integers(-64, 65, 6) / 64,
        np.array([0.25, 1.0, 8.0]),
        np.empty((3, 40)),
    )
    rounds = pieces.Rounds(stream.features, stream.offsets, stream.grades, stream.relevant, order)
    full.surrogates_along(
        rounds, labels, updated, kind, places, uniform, TABLES, weights, multiples, sums
    )
    for multiple, found in zip(multiples, sums, strict=True):
        total = 0.0
        for t, q in enumerate(order):
            if updated[t]:
                scores = stream[q][0] @ (multiple * weights)
                total += surrogate(scores, labels[stream.offsets[q] : stream.offsets[q + 1]])
            assert found[t] == pytest.approx(total, rel=1e-12, abs=1e-13)
