"""Estimated gradients: right on average over all rankings, and what has no estimate."""

from functools import partial
from itertools import combinations, permutations, product
from math import exp, factorial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scant import surrogates
from scant.data.stream import gains
from scant.errors import SettingError
from scant.kernels import top
from scant.kernels.pieces import Tables
from scant.measures import rank
from scant.rankers.estimators import ALL, NEEDS, check, estimate, inclusion, value_and_gradient
from scant.rankers.top import CODES

GRADES = 4
# the fewest grades that will do
LEAST = {"squared": 1, "kl": 1, "smoothdcg": 1, "ranksvm": 2, "logistic": 2}
GAINS, EXPONENTIALS = gains(GRADES), np.exp(-np.arange(GRADES + 1.0))
every_estimator = pytest.mark.parametrize("surrogate", LEAST)


def rankings(scores, gamma, slot=None):
    """Every ranking and its probability under RTop-kF; if only place `slot` explores, its own."""
    m, own = len(scores), tuple(rank(scores))
    if slot:
        start = min(slot, m) - 1
        for place in range(start, m):
            shown = np.insert(np.delete(own, place), start, own[place])
            yield shown, (1 - gamma) * (place == start) + gamma / (m - start)
        return
    for shown in permutations(range(m)):
        yield np.array(shown), (1 - gamma) * (shown == own) + gamma / factorial(m)


def mean(scores, gamma, of):
    """The mean of `of(shown)` over the rankings."""
    return sum(p * of(shown) for shown, p in rankings(scores, gamma))


def gradient(surrogate, scores, grades, epsilon):
    if surrogate == "smoothdcg":
        return surrogates.smoothdcg(scores, grades, epsilon)[1]
    return getattr(surrogates, surrogate)(scores, grades)[1]


def unseen(grades, shown, k, poison):
    """The grades, but for those that the top k do not show."""
    known = np.array(poison)
    known[shown[:k]] = grades[shown[:k]]
    return known


# settings of an estimate, and what they are unless they are given
SETTINGS = {"epsilon": 0.01, "mismatch": 1.0, "ordered": False, "floor": 0.0, "control": False}


def plain(surrogate, scores, grades, shown, k, gamma, *settings, slot=False):
    known = unseen(grades, shown, k, -np.ones_like(grades))
    settings = dict(zip(SETTINGS, settings, strict=False))
    return estimate(surrogate, scores, known, shown, k, gamma, slot=slot, **settings)


def compiled(
    surrogate, scores, grades, shown, k, gamma, *settings, explored=True, slot=False, events=False
):
    """The compiled estimate, or it and its events, with any scratch and unseen grades reversed."""
    m, order = len(scores), rank(scores).astype(np.int32)
    k, inside = min(k, m), np.zeros(m, np.int8)
    inside[order[:k]] = 1
    if not explored:
        assert np.array_equal(order, shown)
        inside = 1 - inside  # not to be looked at
    settings = SETTINGS | dict(zip(SETTINGS, settings, strict=False))
    epsilon = settings.pop("epsilon")
    nothing = top.Learner._make([0.0] * len(top.Learner._fields))
    learner = nothing._replace(objective=CODES.index(surrogate), slot=slot, **settings)
    others = unseen(grades, shown, k, GRADES - grades).astype(np.int16)
    scores, shown = np.asarray(scores, np.float32), shown.astype(np.int32)
    feedback = top.Feedback(scores, order, shown, explored, inside, k, others)
    sums, tables = np.full((2, GRADES + 1), np.nan), Tables(GAINS, np.empty(0), EXPONENTIALS)
    scratch = top.Scratch(np.full(m, np.nan), np.full(m, -1), sums, np.full(m, -1, np.int16))
    g = np.full(m, np.nan)
    happened = top.estimate(learner, feedback, gamma, epsilon, tables, scratch, g)
    return (g, happened) if events else g


def close(value, expected, scale=1.0):
    atol = 1e-11 * max(1.0, float(np.max(scale)))
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=atol)


QUARTERS = st.integers(-8, 8).map(lambda quarter: quarter / 4)  # exact, and often tied
SCORES = st.one_of(QUARTERS, st.floats(-2, 2, width=32))
GAMMAS = st.one_of(st.floats(0.001, 0.5), st.just(0.5))
EPSILONS = st.sampled_from([0.01, 0.5, 2.0])


@st.composite
def queries(draw, largest=5):
    m = draw(st.integers(1, largest))
    scores = draw(st.lists(SCORES, min_size=m, max_size=m))
    grades = draw(st.lists(st.integers(0, GRADES), min_size=m, max_size=m))
    return np.array(scores, np.float32).astype(float), np.array(grades)


# --- right on average
def both_are_right(surrogate, scores, grades, k, gamma, epsilon):
    """Plain and compiled are one, ranking by ranking, and their mean is the gradient."""
    total, largest = 0.0, 0.0
    for shown, p in rankings(scores, gamma):
        one = plain(surrogate, scores, grades, shown, k, gamma, epsilon)
        total, largest = total + p * one, max(largest, np.abs(one).max())
        close(compiled(surrogate, scores, grades, shown, k, gamma, epsilon), one, largest)
    close(total, gradient(surrogate, scores, grades, epsilon), largest)


@every_estimator
@given(queries(), st.integers(0, 4), GAMMAS, EPSILONS)
@example((np.zeros(3), np.array([0, 1, 2])), 0, 0.5, 0.5)
@example((np.array([0.5]), np.array([3])), 1, 0.1, 0.01)
def test_the_mean_over_all_rankings_is_the_gradient(surrogate, query, more, gamma, epsilon):
    both_are_right(surrogate, *query, LEAST[surrogate] + more, gamma, epsilon)


@every_estimator
@given(
    queries(4),
    st.integers(0, 3),
    GAMMAS,
    EPSILONS,
    st.sampled_from([10.0, 100.0, 0.25]),
    st.booleans(),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.booleans(),
)
def test_the_compiled_estimate_is_the_plain_one(
    surrogate, query, more, gamma, epsilon, mismatch, ordered, floor, control
):
    """Also where it is biased; a ranking that exploration shares with the scores is no other."""
    scores, grades = query
    k = LEAST[surrogate] + (0 if ordered else more)
    ordered = ordered and surrogate == "ranksvm"
    settings = (k, gamma, epsilon, mismatch, ordered, floor, control)
    idle = surrogate in ("ranksvm", "logistic") and len(scores) == 1
    for shown, _ in rankings(scores, gamma):
        expected = plain(surrogate, scores, grades, shown, *settings)
        for explored in (True, False) if np.array_equal(shown, rank(scores)) else (True,):
            options = {"explored": explored, "events": True}
            value, events = compiled(surrogate, scores, grades, shown, *settings, **options)
            close(value, expected, np.abs(expected).max())
            assert events == (0, idle)


@pytest.mark.parametrize("surrogate", ["squared", "logistic", "listnet", "ranksvm"])
@given(queries(5), st.integers(1, 5), GAMMAS)
def test_without_weights_it_is_the_gradient_of_the_loss_of_what_was_seen(
    surrogate, query, k, gamma
):
    """By the surrogates themselves, on the documents seen as a list of their own."""
    scores, grades = query
    random = np.random.default_rng(len(scores) + k)
    for shown, explored in ((rank(scores), False), (random.permutation(len(scores)), True)):
        seen, expected = shown[:k], np.zeros(len(scores))
        expected[seen] = getattr(surrogates, surrogate)(scores[seen], grades[seen])[1]
        settings = (surrogate, scores, grades, shown, k, gamma, 1.0, 1.0, False, 1.0, True)
        close(plain(*settings), expected, 10)
        close(compiled(*settings, explored=explored), expected, 10)


@pytest.mark.parametrize("surrogate", [*LEAST, "control"])
@given(queries(), st.integers(1, 6), st.one_of(GAMMAS, st.just(1.0)), EPSILONS)
def test_a_slots_mean_is_the_gradient_of_what_can_be_seen(surrogate, query, k, gamma, epsilon):
    """Of single grades that is the whole; of pairs those with a document above place k.

    Plain and compiled are one.
    """
    (scores, grades), control = query, surrogate == "control"
    surrogate = "squared" if control else surrogate
    k, own, total, largest = max(k, LEAST[surrogate]), rank(scores), 0.0, 0.0
    for shown, p in rankings(scores, gamma, slot=k):
        settings = (surrogate, scores, grades, shown, k, gamma, epsilon, 1.0, False, 0.0, control)
        one = plain(*settings, slot=True)
        total, largest = total + p * one, max(largest, np.abs(one).max())
        for explored in (True, False) if np.array_equal(shown, own) else (True,):
            close(compiled(*settings, explored=explored, slot=True), one, largest)
    expected = gradient(surrogate, scores, grades, epsilon)
    if LEAST[surrogate] == 2:
        below = own[min(k, len(own)) - 1 :]
        expected = np.array(expected)
        expected[below] -= gradient(surrogate, scores[below], grades[below], epsilon)
    close(total, expected, largest)


@given(queries(), st.integers(1, 4), GAMMAS)
def test_the_control_variate_leaves_the_mean(query, k, gamma):
    scores, grades = query
    settings = (k, gamma, 1.0, 1.0, False, 0.0, True)
    for estimator in (plain, compiled):
        of_query = partial(estimator, "squared", scores, grades)
        expected = mean(scores, gamma, lambda shown, of=of_query: of(shown, *settings))
        close(expected, surrogates.squared(scores, grades)[1], 10 / gamma)


@pytest.mark.parametrize("control", [True, False])
def test_clipped_weights_by_hand(control):
    """Probabilities 0.8 and 0.1, 0.1; the second document is shown, and clipped to 0.5."""
    scores, grades = np.array([1.0, 0.5, 0.0]), np.array([0, 4, 0])
    expected = [0.0, 2 * (0.5 - 4) / 0.5, 0.0] if control else [2.0, 1.0 - 2 * 4 / 0.5, 0.0]
    settings = (np.array([1, 0, 2]), 1, 0.3, 1.0, 1.0, False, 0.5, control)
    for of in (plain, compiled):
        close(of("squared", scores, grades, *settings), expected)


@pytest.mark.parametrize("slot", [False, True])
@given(queries(), st.integers(1, 7), GAMMAS)
def test_inclusion_is_how_often_documents_are_on_top(slot, query, k, gamma):
    scores, m = query[0], len(query[0])
    p, pairs = np.zeros(m), np.zeros((m, m))
    for shown, chance in rankings(scores, gamma, k if slot else None):
        for i, j in product(shown[:k], shown[:k]):
            p[i] += chance * (i == j)
            pairs[i, j] += chance
    found = inclusion(rank(scores), k, gamma, slot=slot)
    np.testing.assert_allclose(found[0], p, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[1], pairs, rtol=1e-12, atol=1e-15)


def test_inclusion_by_hand():
    p, pairs = inclusion([0, 2, 1], 2, 0.3, mismatch=10)
    np.testing.assert_allclose(p, [0.9, 2.0, 0.9])  # what is multiplied is no probability any more
    np.testing.assert_allclose(pairs, [[0.9, 1.0, 0.8], [1.0, 2.0, 1.0], [0.8, 1.0, 0.9]])


# --- the papers' own formulas
def of_the_papers(surrogate, s, r, shown, gamma, epsilon):
    """The estimate of thesis 3.3.3 (with SmoothDCG negated), by the probabilities of its 3.3.4."""
    m, own, top = len(s), list(rank(s)), shown[0]
    e = np.eye(m)
    p = (1 - gamma + gamma / m) if top == own[0] else gamma / m
    if surrogate == "squared":
        return 2 * (s - r[top] * e[top] / p)
    if surrogate == "kl":
        return (exp(s[top]) - exp(r[top])) * e[top] / p
    if surrogate == "logistic":
        i, j = shown[:2] if r[shown[0]] > r[shown[1]] else shown[1::-1]
        p = (1 - gamma) * ({i, j} == {*own[:2]}) + 2 * gamma / (m * (m - 1))
        return (r[i] != r[j]) * (e[j] - e[i]) / (1 + exp(s[i] - s[j])) / p
    if surrogate == "smoothdcg":
        exps = [exp(one / epsilon) for one in s]
        total = sum(exps)
        softmax = np.array(exps) / total
        inner = softmax[top] * (e[top] - softmax)
        return -(2 ** int(r[top]) - 1) / p * inner / epsilon

    def h(i, j):
        return float(r[i] > r[j]) * float(1 + s[j] > s[i]) * (e[j] - e[i])

    def both(i, j):
        part = gamma / (m * (m - 1))
        return 1 - gamma + part if [i, j] == own[:2] else part

    i, j = shown[:2]
    return (h(i, j) + h(j, i)) / (both(i, j) + both(j, i))


@every_estimator
@given(queries(), GAMMAS)
def test_the_fewest_grades_are_the_papers_estimators(surrogate, query, gamma):
    scores, grades = query
    if len(scores) < LEAST[surrogate]:
        return
    for shown, _ in rankings(scores, gamma):
        value = plain(surrogate, scores, grades, shown, LEAST[surrogate], gamma, 0.5)
        expected = of_the_papers(surrogate, scores, grades, shown, gamma, 0.5)
        close(value, expected, np.abs(expected).max())


@given(queries(4).filter(lambda query: len(query[0]) > 1), GAMMAS)
@example((np.array([0.0, 0.25, 0.5]), np.array([2, 1, 0])), 0.25)
def test_the_released_codes_pairs_are_twice_the_gradient(query, gamma):
    """It divides by the probability of the two documents in their order, and either is shown."""
    scores, grades = query

    def of(shown):
        return plain("ranksvm", scores, grades, shown, 2, gamma, 0.01, 1.0, True)

    close(mean(scores, gamma, of), 2 * surrogates.ranksvm(scores, grades)[1], 1 / gamma)


# --- the reading `mismatch` is a bias, of what exploration alone shows
BY_SQUARES = [1.0, 0.5, 0.0], [2, 1, 4]
MISMATCHED = {  # scores, grades, k, mismatch, the mean
    "squared": (*BY_SQUARES, 1, 10.0, [2 * (1 - 2), 2 * (0.5 - 0.1), 2 * (0 - 0.4)]),
    "squared, the top 2": (*BY_SQUARES, 2, 10.0, [2 * (1 - 2), 2 * (0.5 - 1), 2 * (0 - 0.4)]),
    "squared, too rare": (*BY_SQUARES, 1, 0.5, [2 * (1 - 2), 2 * (0.5 - 2), 2 * (0 - 8)]),
    "squared, all seen": (*BY_SQUARES, 3, 10.0, [2 * (1 - 2), 2 * (0.5 - 1), 2 * (0 - 4)]),
    "kl": ([0.0, -1.0], [1, 2], 1, 100.0, [1 - exp(1), (exp(-1) - exp(2)) / 100]),
    # gains 3 and 1, and p (1 - p) = 1/4 of both
    "smoothdcg": ([0.0, 0.0], [2, 1], 1, 10.0, [-(3 - 0.1) / 4, (3 - 0.1) / 4]),
    "ranksvm": ([0.5, 0.25, 0.0], [0, 1, 2], 2, 10.0, [1 + 0.1, -1 + 0.1, -0.1 - 0.1]),
    "ranksvm, 4": ([0.5, 0.25, 0.0, -0.25], [0, 1, 0, 1], 3, 10.0, [1.1, -2, 1.1, -0.2]),
}


@pytest.mark.parametrize("name", MISMATCHED)
def test_the_bias_by_hand(name):
    scores, grades, k, mismatch, expected = MISMATCHED[name]
    scores, grades, surrogate = np.array(scores), np.array(grades), name.partition(",")[0]
    for of in (plain, compiled):
        found = 0.0
        for shown, p in rankings(scores, 0.3):
            found = found + p * of(surrogate, scores, grades, shown, k, 0.3, 1.0, mismatch)
        close(found, expected)


def test_exponentials_stay_finite():
    scores, grades, shown = np.array([1000.0, 300.0, 0.0]), np.array([1, 0, 4]), np.arange(3)
    for k in (1, 2, 3):
        p = 1 - 0.25 + 0.25 * k / 3
        expected = np.array([exp(300) - exp(1), exp(300) - 1, 1 - exp(4)]) / p
        expected[k:] = 0
        settings = ("kl", scores, grades, shown, k, 0.25)
        np.testing.assert_allclose(plain(*settings), expected, rtol=1e-12)
        for explored in (True, False):
            found, events = compiled(*settings, explored=explored, events=True)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            assert events == (1, False)
    # not seen, not taken
    assert compiled("kl", scores[::-1], grades, shown, 2, 0.25, events=True)[1] == (0, False)
    settings = ("smoothdcg", np.array([1e30, -1e30, 9e29]), grades, shown, 2, 0.25, 1e-3)
    found, events = compiled(*settings, events=True)
    for value in (plain(*settings), found):
        np.testing.assert_allclose(value, np.zeros(3), atol=1e-290)  # all weight is on one document
    assert events == (2, False)  # the two above 709 * epsilon


# --- what cannot be estimated
def interaction(surrogate, scores, levels):
    """The largest set of documents over which the mixed difference of a term of the gradient (Eq.

    3.9) is not 0.
    """
    m, largest = len(scores), 0
    for size in range(1, m + 1):
        for documents in combinations(range(m), size):
            difference = np.zeros(m)
            for ones in product([0, 1], repeat=size):
                grades = np.zeros(m, int)
                grades[list(documents)] = ones
                slope = value_and_gradient(surrogate, scores, grades * levels, 1.0)[1]
                difference += (-1) ** (size - sum(ones)) * slope
            if np.abs(difference).max() > 1e-6:
                largest = size
    return largest


def needed(surrogate, m):
    least = NEEDS[surrogate][0]
    return m if least == ALL else least


@pytest.mark.parametrize("surrogate", CODES)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_how_many_grades_a_gradient_takes_at_once(surrogate, m):
    """Lemmas 26 and 27, for any k below m; by Lemma 25 no estimate from fewer is unbiased."""
    assert interaction(surrogate, np.arange(m) / 4, 1 + np.arange(m)) == needed(surrogate, m)


@pytest.mark.parametrize(
    ("surrogate", "k", "message"),
    [
        ("ranksvm", 1, r"ranksvm cannot be learnt from the top 1: .*Lemma 26.* Use k: 2 or more"),
        ("listnet", 10**6, r"listnet cannot be learnt from the top 1000000: .* Use kind: ogd"),
        ("ndcg-squared", 2, r"ndcg-squared cannot be learnt from the top 2: .*Theorem 32"),
    ],
)
def test_too_few_grades_are_refused(surrogate, k, message):
    with pytest.raises(SettingError, match=message):
        check(surrogate, k)
