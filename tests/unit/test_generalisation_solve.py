"""ERM on balls of weights: gradients, projections, independent solvers, certificates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import Lasso

from scant import surrogates
from scant.generalisation import solve
from scant.generalisation.solve import Ball, Mean, Sample, minimise
from scant.kernels import batch

CONVEX = [name for name in solve.OBJECTIVES if name != solve.NOT_CONVEX]
SMOOTH = [name for name in CONVEX if name != "ranksvm"]
D = 5
every_surrogate = pytest.mark.parametrize("surrogate", solve.OBJECTIVES)
every_convex = pytest.mark.parametrize("surrogate", CONVEX)
every_ball = pytest.mark.parametrize("norm", ["l2", "l1"])


def sample(n=12, m=6, d=D, seed=1, grades=3):
    random = np.random.default_rng(seed)
    features = random.uniform(-1, 1, (n, m, d)).astype(np.float32)
    noisy = features @ random.normal(size=d) + 0.5 * random.normal(size=(n, m))
    return Sample(features, np.clip(np.round(noisy + 1), 0, grades).astype(np.int16))


def losses(sample, surrogate, weights, sigma=1.0):
    """Each query's surrogate by `scant.surrogates`, and the mean's (sub)gradient in the weights."""
    function = getattr(surrogates, surrogate)
    options = (sigma,) if surrogate == "smoothdcg" else ()
    values, gradient = [], np.zeros(sample.d)
    for features, grades in zip(*sample.lists, strict=True):
        value, of_scores = function(features.astype(float) @ weights, grades, *options)
        values.append(value)
        gradient += features.T.astype(float) @ of_scores / sample.n
    return np.array(values), gradient


def points(ball, count, d=D, seed=2):
    """Weights in a ball, half of them on its surface."""
    random = np.random.default_rng(seed)
    shares = np.where(np.arange(count) % 2, 1.0, random.random(count))
    return [share * solve.random_weights(random, d, ball) for share in shares]


# --- sums and gradients
@every_surrogate
def test_losses_and_gradients_are_those_of_the_plain_surrogates(surrogate):
    sigma = 0.5
    queries, weights = sample(), np.random.default_rng(0).normal(size=D)
    mean = Mean(queries, surrogate, sigma)
    values, gradient = losses(queries, surrogate, weights, sigma)
    np.testing.assert_allclose(mean.losses(weights), values, rtol=1e-12)
    value, smooth, support, found = mean.evaluate(weights, 1e-9)
    assert value == pytest.approx(values.mean(), rel=1e-12)
    np.testing.assert_allclose(found, gradient, rtol=1e-6, atol=1e-9)
    assert smooth == pytest.approx(value, rel=1e-6)
    assert support == pytest.approx(value, rel=1e-6)


def test_the_first_queries_are_a_sample_of_their_own():
    whole = sample(20)
    part, weights = whole.first(7), np.ones(D)
    assert np.shares_memory(part.features, whole.features)
    mean = losses(whole, "listnet", weights)[0][:7].mean()
    assert Mean(part, "listnet").evaluate(weights).value == pytest.approx(mean)
    assert part.lists[0].shape == (7, 6, D)


@given(
    st.integers(1, 60),
    st.integers(1, 4),
    st.sampled_from([2.0, 0.5, 1e-3]),
    st.sampled_from([0.1, 3.0]),
    st.integers(0, 99),
)
def test_sorting_gives_the_hinges_of_all_pairs(m, grades, smoothing, scale, seed):
    random = np.random.default_rng(seed)
    scores = np.round(scale * random.normal(size=m), 1 + seed % 3)  # with ties
    labels = random.integers(0, grades + 1, m).astype(np.int16)
    plain, by_sorting = np.empty(m), np.empty(m)
    expected = batch.hinges(scores, labels, smoothing, np.empty(m, np.int64), plain)
    np.testing.assert_allclose(
        batch.sorted_hinges(scores, labels, smoothing, by_sorting), expected, atol=1e-8
    )
    np.testing.assert_allclose(by_sorting, plain, atol=1e-8 / smoothing)


# --- balls
@given(st.sampled_from(["l2", "l1"]), st.integers(1, 8), st.floats(0.1, 5), st.integers(0, 99))
def test_the_projection_is_the_nearest_point(norm, d, radius, seed):
    ball, random = Ball(norm, radius), np.random.default_rng(seed)
    weights = 3 * random.normal(size=d) * (random.random(d) < 0.8)
    nearest = ball.project(weights)
    assert ball.length(nearest) <= radius * (1 + 1e-12)
    assert all((weights - nearest) @ (v - nearest) <= 1e-9 for v in points(ball, 20, d))
    if ball.length(weights) <= radius:
        np.testing.assert_array_equal(nearest, weights)


@every_ball
def test_the_support_is_the_largest_product(norm):
    ball, gradient = Ball(norm, 1.7), np.array([1.0, -3.0, 0.5])
    products = [gradient @ v for v in points(ball, 4000, 3)]
    assert max(products) <= ball.support(gradient)
    assert ball.support(gradient) == pytest.approx(max(products), rel=0.1)


# --- optima and certificates
def scipy_least(queries, surrogate, norm, radius, ridge=0.0):
    """The least mean loss in a ball by SLSQP; l1 by the weights' positive and negative parts."""
    parts, start, bounds = np.eye(D), np.zeros(D), None
    constraint = {"fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}
    if norm == "l1":
        parts, start = np.c_[np.eye(D), -np.eye(D)], np.full(2 * D, 0.01)
        bounds = [(0, None)] * (2 * D)
        constraint = {"fun": lambda v: radius - v.sum(), "jac": lambda v: -np.ones(2 * D)}

    def value_and_gradient(v):
        weights = parts @ v
        values, gradient = losses(queries, surrogate, weights)
        value = values.mean() + ridge / 2 * weights @ weights
        return value, parts.T @ (gradient + ridge * weights)

    settings = {"jac": True, "bounds": bounds, "options": {"maxiter": 1000, "ftol": 1e-13}}
    settings["constraints"] = [constraint | {"type": "ineq"}]
    found = optimize.minimize(value_and_gradient, start, method="SLSQP", **settings)
    assert found.success
    return found.fun


@every_ball
@pytest.mark.parametrize("surrogate", SMOOTH)
@pytest.mark.parametrize("radius", [0.3, 30.0], ids=["on the surface", "inside"])
def test_smooth_surrogates_have_the_optimum_of_scipy(surrogate, norm, radius):
    queries = sample(40)
    found = minimise(Mean(queries, surrogate), np.zeros(D), Ball(norm, radius), enough=1e-8)
    assert found.status == "certified"
    assert found.value == pytest.approx(scipy_least(queries, surrogate, norm, radius), rel=1e-6)
    first = losses(queries, surrogate, np.zeros(D))[0].mean()
    assert found.gap <= 1e-8 * found.value + 1e-6 * first


@pytest.mark.parametrize("surrogate", SMOOTH)
def test_regularised_erm_has_the_optimum_of_scipy(surrogate):
    queries = sample(40)
    mean = Mean(queries, surrogate, ridge=0.8)
    found = minimise(mean, np.zeros(D), Ball("l2", 30.0), enough=1e-8)
    assert found.value == pytest.approx(scipy_least(queries, surrogate, "l2", 30.0, 0.8), rel=1e-6)


def test_squared_in_the_l1_ball_is_scikit_learns_lasso():
    queries = sample(40)
    x, y = queries.features.astype(float), queries.grades.astype(float)
    lasso = Lasso(alpha=0.1, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(x, y)
    assert 0 < np.count_nonzero(lasso.coef_) < D
    ball = Ball("l1", np.abs(lasso.coef_).sum())
    found = minimise(Mean(queries, "squared"), np.zeros(D), ball, enough=1e-9)
    np.testing.assert_allclose(found.weights, lasso.coef_, atol=1e-4)


def test_ranksvm_in_the_l1_ball_is_a_linear_program():
    queries, radius, rows = sample(15), 2.0, []
    for features, grades in zip(*queries.lists, strict=True):
        better, worse = np.nonzero(grades[:, None] > grades[None, :])
        rows.append(features[worse].astype(float) - features[better])
    gaps = np.concatenate(rows)
    pairs = len(gaps)
    cost = np.r_[np.zeros(2 * D), np.full(pairs, 1 / queries.n)]
    above = csr_matrix(np.c_[gaps, -gaps, -np.eye(pairs)])  # 1 + gap w <= slack
    ball = csr_matrix(np.r_[np.ones(2 * D), np.zeros(pairs)])
    program = optimize.linprog(cost, vstack([above, ball]), np.r_[-np.ones(pairs), radius])
    found = minimise(Mean(queries, "ranksvm"), np.zeros(D), Ball("l1", radius))
    assert found.status == "certified"
    assert program.fun <= found.value + 1e-9
    assert found.value - found.gap <= program.fun + 1e-9
    assert found.value == pytest.approx(program.fun, rel=2e-5)


@every_convex
@every_ball
@pytest.mark.parametrize("passes", [3, 5, 10, 3000])
def test_no_weights_are_below_the_certificate(surrogate, norm, passes):
    queries, ball = sample(30), Ball(norm, 2.0)
    mean = Mean(queries, surrogate)
    least = minimise(mean, np.zeros(D), ball, enough=1e-9)
    found = minimise(mean, ball.project(np.ones(D)), ball, passes=passes)
    value = losses(queries, surrogate, found.weights)[0].mean()
    assert found.value == pytest.approx(value, rel=1e-9)
    # the certificate is no less than the true distance
    assert found.gap >= found.value - least.value - 1e-9
    assert all(mean.evaluate(w).value >= found.value - found.gap - 1e-9 for w in points(ball, 60))
    assert ball.length(found.weights) <= ball.radius * (1 + 1e-9)


def test_a_search_that_does_not_reach_its_certificate_says_so():
    mean, ball = Mean(sample(30), "ranksvm"), Ball("l2", 5.0)
    short = minimise(mean, np.zeros(D), ball, passes=4)
    assert (short.status, short.passes) == ("not certified", 4)
    assert short.gap > solve.ENOUGH * short.value
    assert minimise(mean, np.zeros(D), ball).status == "certified"


@every_convex
def test_features_on_scales_far_apart_are_certified(surrogate):
    queries = sample(60)
    queries.features *= np.array([1, 0.1, 0.01, 0.003, 0.001], np.float32)
    found = minimise(Mean(queries, surrogate), np.zeros(D), Ball("l2", 50.0))
    assert found.status == "certified"
    assert found.passes < 250


def test_smoothdcg_has_no_certificate_and_the_best_of_several_starts():
    queries, ball = sample(30), Ball("l2", 3.0)
    mean = Mean(queries, "smoothdcg", 0.3)
    found, spread = solve.from_starts(mean, ball, 6, np.random.default_rng(0))
    alone, none = solve.from_starts(mean, ball, 1, np.random.default_rng(0))
    assert found.status == alone.status == "local"
    assert np.isnan(found.gap) and np.isnan(none)
    assert found.value <= alone.value and spread >= 0
    assert found.passes > alone.passes
    # A local minimum: no step along the projected gradient improves it by much.
    gradient = mean.evaluate(found.weights).gradient
    assert np.linalg.norm(ball.project(found.weights - 0.01 * gradient) - found.weights) < 1e-3


@every_convex
def test_gradient_descent_is_the_plain_loop(surrogate):
    queries, ball, rate = sample(25), Ball("l2", 0.8), 0.03
    weights, visited = np.zeros(D), []
    for q in range(queries.n):
        visited.append(weights)
        one = Sample(*(part[q : q + 1] for part in queries.lists))
        weights = ball.project(weights - rate * losses(one, surrogate, weights)[1])
    found = solve.descend(Mean(queries, surrogate), ball, rate)
    np.testing.assert_allclose(found.weights, np.mean(visited, axis=0), rtol=1e-6, atol=1e-9)
    least = minimise(Mean(queries, surrogate), np.zeros(D), ball)
    assert (found.status, found.passes) == ("one pass", 1)
    assert found.gap >= found.value - least.value - 1e-9


@every_surrogate
def test_a_difference_of_means_has_the_difference_of_gradients(surrogate):
    samples, weights = (
        (sample(9, seed=3), sample(14, seed=4)),
        np.random.default_rng(3).normal(size=D),
    )
    difference = solve.Difference(*(Mean(one, surrogate) for one in samples))
    first, second = (losses(one, surrogate, weights)[0].mean() for one in samples)
    found = difference.evaluate(weights)
    assert found.value == pytest.approx(first - second)
    if surrogate != "ranksvm":
        numeric = optimize.approx_fprime(weights, lambda at: difference.evaluate(at).value, 1e-6)
        np.testing.assert_allclose(found.gradient, numeric, rtol=1e-4, atol=1e-5)
