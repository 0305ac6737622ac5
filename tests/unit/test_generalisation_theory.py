"""Theory of generalisation: constants against searches, bounds against formulas, lemmas."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize, minimize_scalar

from scant import surrogates
from scant.generalisation import theory_tables
from scant.generalisation.theorems import theorems_table
from scant.theory import constants, entropy, generalisation, identities, later_bounds, suprema
from scant.theory.generalisation import Problem, problem

SMOOTH = ("listnet", "smoothdcg", "squared", "kl")
CASE = yaml.safe_load("""
{m: 7, d: 30, ball: 3.0, radius: 0.5, lipschitz: 2.0, lipschitz_l2: 1.25, smoothness: 1.5,
 largest_loss: 4.0, best_risk: 0.3}
""")
CASE = Problem(**CASE)


def value(surrogate, scores, grades, sigma=1.0):
    function = getattr(surrogates, surrogate)
    return (
        function(scores, grades, sigma)[0]
        if surrogate == "smoothdcg"
        else function(scores, grades)[0]
    )


# --- constants
def test_constants_that_are_known():
    assert constants.lipschitz("listnet", 5, math.inf) == 2
    assert constants.lipschitz("listnet", 5, math.inf, norm="l2") == pytest.approx(math.sqrt(2))
    assert constants.smoothness("listnet", 5, 4) == 1
    # the logistic function of a difference
    assert constants.lipschitz("smoothdcg", 2, 1, sigma=0.5) == 1
    assert constants.lipschitz("ranksvm", 10, 1) == 50  # 2 r (m - r), r = 5
    assert constants.lipschitz("ranksvm", 10, 1, norm="l2") == pytest.approx(math.sqrt(250))
    assert constants.lipschitz("squared", 3, 4, 2.0) == 36
    assert constants.smoothness("squared", 3, 4) == 6
    assert constants.smoothness("squared", 3, 4, norm="l2") == 2
    assert constants.smoothness("kl", 3, 4, 1.0) == pytest.approx(3 * math.e)
    assert constants.smoothness("ranksvm", 3, 4) == math.inf
    # of all scores
    assert constants.lipschitz("kl", 3, 4) == constants.lipschitz("squared", 3, 4) == math.inf


@pytest.mark.parametrize("surrogate", constants.SURROGATES)
def test_one_document_or_one_grade_has_no_pairs(surrogate):
    if surrogate in ("listnet", "smoothdcg"):
        assert constants.lipschitz(surrogate, 1, 4) == constants.smoothness(surrogate, 1, 4) == 0
    if surrogate == "ranksvm":
        assert (
            constants.lipschitz(surrogate, 5, 0)
            == constants.largest_loss(surrogate, 5, 0, 1.0)
            == 0
        )


def test_what_the_thesis_prints():
    assert (
        constants.printed_lipschitz("listnet", 5, 4)
        == constants.printed_lipschitz("listnet", 5, 4, norm="l2")
        == 2
    )
    assert constants.printed_lipschitz("smoothdcg", 5, 3, sigma=0.5) == 2 * 7 / 0.5
    assert constants.printed_smoothness("listnet") == 2
    assert math.isnan(constants.printed_lipschitz("ranksvm", 5, 4))


@pytest.mark.parametrize("norm", constants.NORMS)
@pytest.mark.parametrize("m", [2, 3, 6])
@pytest.mark.parametrize("surrogate", constants.SURROGATES)
def test_a_search_finds_the_constants(surrogate, m, norm):
    bound = 2.0 if surrogate in ("squared", "kl") else 20.0
    found = suprema.largest_gradient(surrogate, m, 2, bound, 0.5, norm)
    assert found == pytest.approx(constants.lipschitz(surrogate, m, 2, bound, 0.5, norm), rel=1e-5)
    if surrogate != "ranksvm":
        found = suprema.largest_hessian(surrogate, m, 2, bound, 0.5, norm)
        assert found == pytest.approx(
            constants.smoothness(surrogate, m, 2, bound, 0.5, norm), rel=1e-5
        )


@pytest.mark.parametrize(("m", "largest"), [(3, 1), (4, 1), (4, 2), (4, 3), (5, 2)])
def test_ranksvm_is_steepest_where_all_hinges_are_positive(m, largest):
    """All grades and, by scores on a grid of halves, all sets of positive hinges nearby."""
    norms = [[], []]
    for grades in product(range(largest + 1), repeat=m):
        for scores in product((0.0, 0.6, 1.2), repeat=m):
            gradient = surrogates.ranksvm(np.array(scores), np.array(grades))[1]
            for found, order in zip(norms, (1, 2), strict=True):
                found.append(np.linalg.norm(gradient, order))
    assert max(norms[0]) == constants.lipschitz("ranksvm", m, largest)
    assert max(norms[1]) == pytest.approx(constants.lipschitz("ranksvm", m, largest, norm="l2"))


@pytest.mark.parametrize("surrogate", SMOOTH)
def test_the_hessian_is_the_derivative_of_the_gradient(surrogate):
    random = np.random.default_rng(1)
    scores, grades = random.normal(size=5), random.integers(0, 4, 5)
    numeric = approx_fprime(scores, lambda s: suprema.gradient(surrogate, s, grades, 0.8), 1e-7)
    np.testing.assert_allclose(
        suprema.hessian(surrogate, scores, grades, 0.8), numeric, atol=1e-5, rtol=1e-5
    )
    vector = random.normal(size=5)
    product_with = suprema._times(surrogate, scores, grades, 0.8, vector)
    np.testing.assert_allclose(
        product_with, suprema.hessian(surrogate, scores, grades, 0.8) @ vector
    )


@pytest.mark.parametrize("surrogate", constants.SURROGATES)
@pytest.mark.parametrize(
    ("m", "largest", "bound"), [(1, 2, 1.0), (2, 1, 0.3), (3, 2, 1.5), (4, 1, 2.0)]
)
def test_the_largest_loss_is_that_of_corners(surrogate, m, largest, bound):
    """Losses are convex in scores; ListNet's is linear in softmax(y), KL's largest at an end."""
    losses = [
        value(surrogate, np.array(scores), np.array(grades))
        for grades in product(range(largest + 1), repeat=m)
        for scores in product((-bound, bound), repeat=m)
    ]
    stated = constants.largest_loss(surrogate, m, largest, bound)
    if surrogate == "smoothdcg":
        assert stated == 2**largest - 1 == pytest.approx(max(losses) - min(losses))
    elif surrogate == "ranksvm" and largest > 1:
        assert max(losses) <= stated
    else:
        assert stated == pytest.approx(max(losses))


def test_an_operator_norm_by_all_signs():
    random = np.random.default_rng(2)
    matrix = random.normal(size=(5, 5))
    matrix = matrix + matrix.T
    signs = list(product((-1, 1), repeat=5))
    assert suprema.operator_norm(matrix, "sup") == pytest.approx(
        max(u @ matrix @ v for u in signs for v in map(np.array, signs))
    )
    assert suprema.operator_norm(np.ones((40, 40)), "sup") == 1600
    assert suprema.operator_norm(matrix, "l2") == pytest.approx(np.linalg.norm(matrix, 2))


# --- bounds
def test_bounds_of_gradient_descent_and_regularised_erm():
    assert generalisation.descent_excess(8, CASE) == pytest.approx(2 * 3 * 0.5 * math.sqrt(2 / 8))
    assert generalisation.descent_rate(8, CASE) == pytest.approx(3 / (2 * 0.5 * 4))
    assert generalisation.regularised_excess(8, CASE) == pytest.approx(2 * 3 * (1 + 0.5))
    result = generalisation.regularisation(8, CASE)
    assert result == pytest.approx(math.sqrt(4 / 8 / (9 / 2 + 4 * 9 / 8)))


def test_the_bound_of_chapelle_and_wu():
    expected = 3 * 1.25 * 3 * 0.5 * math.sqrt(7 / 50) + 4 * math.sqrt(8 * math.log(20) / 50)
    assert generalisation.chapelle_wu(50, CASE) == pytest.approx(expected)


def test_theorem_38_term_by_term():
    n, root = 10_000, 3 * math.sqrt(math.log2(3 * 7 * 10_000) / 10_000)
    width = 10 * root * math.log(6 * 4 / (5 * root))
    spread = 3 * 4 * math.sqrt(math.log(40) / (2 * n))
    assert generalisation.uniform_gap_l2(n, CASE) == pytest.approx(2 * width + spread)
    hoeffding = 4 * math.sqrt(math.log(20) / (2 * n))
    assert generalisation.erm_excess_l2(n, CASE) == pytest.approx(2 * width + spread + hoeffding)


def test_theorem_40_term_by_term():
    n, logs = 1000, math.sqrt(math.log(30) * math.log2(24 * 7 * 1000 * 3))
    argument = (4 + 24 * 7 * 1000 * 3) / (40 * math.sqrt(2) * 3 * logs)
    width = 120 * math.sqrt(2) * 3 * logs / math.sqrt(n) * math.log(argument) ** 2
    spread = 3 * 4 * math.sqrt(math.log(40) / (2 * n))
    assert generalisation.uniform_gap_l1(n, CASE) == pytest.approx(2 * width + spread)


def test_covering_numbers():
    # ceil((3/2)^2) = 3
    assert generalisation.covering_l2(2.0, 10, CASE) == pytest.approx(3 * math.log2(141))
    assert generalisation.covering_l2(100.0, 10, CASE) == pytest.approx(math.log2(141))
    result = generalisation.covering_l1(3.0, 10, CASE)
    assert result == pytest.approx(math.ceil(288 * (2 + math.log(30))) * math.log2(2 * 8 * 70 + 1))
    result = generalisation.covering_smooth(1.0, 10, CASE, 0.5)
    assert result == pytest.approx(math.ceil(12 * 1.5 * 0.25 * 9 * 0.5) * math.log2(141))


def test_corollary_37_is_the_least_over_alpha_but_for_its_constant():
    n = 10**6
    factor = 10 * 3 * math.sqrt(math.log2(3 * 7 * n) / n)
    least = minimize_scalar(
        lambda alpha: 4 * alpha + factor * math.log(4 / alpha), bounds=(1e-9, 4), method="bounded"
    )
    stated = generalisation.rademacher_l2(n, CASE)
    assert (
        least.fun
        <= stated
        == pytest.approx(least.fun + factor * math.log(6 / (2 * math.e)), rel=1e-6)
    )


def test_bounds_are_nan_where_they_are_not_proved():
    # 24 m n G W R_X below 1
    assert math.isnan(generalisation.rademacher_l1(100, replace(CASE, ball=1e-9)))
    # log log 2 is negative
    assert math.isnan(generalisation.smooth_gap(2, replace(CASE, ball=1e-9), 0.1))
    shown = generalisation.rademacher_l2(np.array([1, 10**6]), CASE)
    assert np.isnan(shown).tolist() == [True, False]


@pytest.mark.parametrize(
    "bound",
    [
        generalisation.descent_excess,
        generalisation.regularised_excess,
        generalisation.chapelle_wu,
        generalisation.uniform_gap_l2,
        generalisation.erm_excess_l1,
        generalisation.optimistic_excess,
        entropy.dudley_gap_l2,
        later_bounds.maurer_gap,
        later_bounds.maurer_gap_l1,
    ],
)
def test_from_which_n_a_bound_says_something(bound):
    at = generalisation.first_telling(bound, CASE)
    assert 1 < at < 10**18
    assert bound(at, CASE) < CASE.largest_loss and not bound(at - 1, CASE) < CASE.largest_loss
    if bound is not entropy.dudley_gap_l2:  # which has one n
        both = bound(np.array([at, 4 * at]), CASE)
        np.testing.assert_array_equal(both, [bound(at, CASE), bound(4 * at, CASE)])
    assert bound(4 * at, CASE) < bound(at, CASE)


def test_a_bound_that_never_says_anything():
    assert (
        generalisation.first_telling(
            generalisation.optimistic_excess, replace(CASE, smoothness=math.inf)
        )
        == math.inf
    )


def test_theorem_44_at_its_fixed_point():
    n = 10**7
    star = generalisation._fixed_point(n, CASE)
    assert generalisation.rademacher_smooth(n, CASE, star) == pytest.approx(star)
    width = 5 * math.sqrt(3) * 3 * 0.5 * math.sqrt(1.5 * math.log2(3 * 7 * n) / n)
    assert star == pytest.approx((4 * width * math.log(3 * 2 / width)) ** 2)


def test_optimistic_rates():
    n = np.array([10.0**8, 10.0**9])
    slope = lambda case: np.diff(np.log10(generalisation.optimistic_excess(n, case)))[0]  # noqa: E731
    assert slope(replace(CASE, best_risk=0.0)) == pytest.approx(-1)
    assert slope(CASE) == pytest.approx(-0.5, abs=1e-3)


@given(
    n=st.floats(1, 1e6),
    ball=st.floats(0.01, 100),
    smooth=st.floats(0.01, 100),
    risk=st.floats(0, 100),
    log_rate=st.floats(-10, -1e-6),
)
def test_no_step_size_is_better_than_that_of_4_7_and_4_8_is_above_it(
    n, ball, smooth, risk, log_rate
):
    case = replace(CASE, ball=ball, smoothness=smooth, best_risk=risk)
    best = generalisation.descent_risk(n, case, generalisation.optimistic_rate(n, case))
    other = generalisation.descent_risk(n, case, math.exp(log_rate) / (4 * case.weight_smoothness))
    assert best <= other * (1 + 1e-9)
    assert best <= (risk + generalisation.optimistic_excess(n, case)) * (1 + 1e-9)


def test_a_problem_has_the_exact_constants_unless_told():
    made = problem("listnet", 5, 10, 4, 2.0, 0.5, delta=0.1)
    assert made.lipschitz == constants.lipschitz("listnet", 5, 4) and made.smoothness == 1
    assert made.delta == 0.1
    assert made.largest_loss == constants.largest_loss("listnet", 5, 4, 1.0)
    assert problem("listnet", 5, 10, 4, 2.0, 0.5, lipschitz=2.0).lipschitz == 2.0
    assert made.scale == pytest.approx(made.lipschitz) and made.weight_smoothness == 0.25


# --- the entropy integral, and later bounds
@pytest.mark.parametrize("n", [30, 1000, 10**6])
@pytest.mark.parametrize("largest", [0.4, 3.0, 50.0])
def test_the_exact_integral_is_just_below_the_sum(n, largest):
    case = replace(CASE, largest_loss=largest)
    at = lambda scale: generalisation.covering_l2(scale, n, case)  # noqa: E731
    summed = entropy.dudley(at, n, min(largest, case.scale))
    exact = entropy.dudley_l2(n, case)
    assert exact <= summed * (1 + 1e-12) and summed <= 1.005 * exact


def test_many_pieces_of_the_integral_are_bounded_by_a_logarithm(monkeypatch):
    exact = entropy.dudley_l2(10**6, CASE)
    monkeypatch.setattr(entropy, "PIECES", 100)
    assert exact < entropy.dudley_l2(10**6, CASE) < 1.001 * exact


def test_later_bounds():
    n = 10_000
    spread = 3 * 4 * math.sqrt(math.log(40) / (2 * n))
    result = later_bounds.maurer_gap(n, CASE)
    assert result == pytest.approx(2 * math.sqrt(2) * 1.25 * 1.5 * math.sqrt(7 / n) + spread)


# --- lemmas


def test_norms_of_a_matrix_from_its_rows():
    x, random = np.array([[3.0, -4.0], [0.0, 5.5]]), np.random.default_rng(4)
    for p, largest in ((1.0, 7.0), (2.0, 5.5), (math.inf, 5.5)):
        assert identities.largest_row(x, p) == largest
        assert identities.norm_of_transpose(x, p, random) == pytest.approx(largest)
        assert identities.norm_to_sup(x, p, random) == pytest.approx(largest)
    assert [identities.dual(p) for p in (1, 2, 4, math.inf)] == [math.inf, 2, 4 / 3, 1]


def test_functions_of_lemma_41_are_as_smooth_as_stated():
    random = np.random.default_rng(5)
    for name, function, smooth in identities.smooth_functions(random):
        at = np.linspace(-6, 6, 4001)
        values = np.array([function(t) for t in at])
        second = np.diff(values, 2) / np.diff(at)[0] ** 2
        assert values.min() >= 0 and np.abs(second).max() <= smooth * (1 + 1e-6) + 1e-6, name


def test_the_entropy_is_listnet_s_least_value():
    random = np.random.default_rng(6)
    for m in (1, 2, 5):
        grades = random.integers(0, 4, m)
        found = minimize(
            lambda s, grades=grades: surrogates.listnet(s, grades), np.zeros(m), jac=True
        )
        assert identities.softmax_entropy(grades) == pytest.approx(found.fun, abs=1e-6)
    assert identities.softmax_entropy(np.zeros((3, 8))) == pytest.approx(np.full(3, math.log(8)))


# --- tables
@pytest.fixture(scope="module")
def theorems():
    return theorems_table()


def test_which_theorems_of_chapter_four_fail_as_printed(theorems):
    assert {*theorems.loc[~theorems["holds"], "check"]} == {
        *("listnet, l2 constant", "smoothdcg, l2 constant", "permutation invariance, one document"),
        *("corollary 37", "corollary 43", "theorem 38, from which m", "theorem 44, last line"),
    }


def test_constants_found_are_the_least(theorems):
    table = theory_tables.constants_table()
    some = table.dropna(subset="found")
    np.testing.assert_allclose(some["found"], some["least"], rtol=1e-5)
    printed = table.dropna(subset="printed")
    assert (printed["least"] <= printed["printed"]).all()
    slopes = table[table["norm"] == "sup"].groupby(["surrogate", "constant"])["slope"].first()
    assert slopes["ranksvm", "lipschitz"] == pytest.approx(2)
    assert slopes["listnet", "lipschitz"] == pytest.approx(0, abs=0.01)
    assert slopes["smoothdcg", "lipschitz"] == 0


def test_table_4_1_in_numbers():
    table = theory_tables.table_4_1()
    smallest = table.loc[table.groupby(["surrogate", "m", "n"])["value"].idxmin()]
    assert {*smallest.loc[smallest["surrogate"] != "smoothdcg", "bound"]} == {"Theorem 35"}
    assert {*table.loc[table["surrogate"] == "smoothdcg", "nonconvex"]} == {True}
    np.testing.assert_allclose(table.loc[table["bound"] == "Theorem 35", "constant"], math.sqrt(2))
