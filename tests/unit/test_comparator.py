"""The best fixed weights in hindsight: their sums, their certificate and their file."""

from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from scipy import optimize

from scant import __version__, files, surrogates
from scant.data import stream as streams
from scant.declare.runs import kept_rounds
from scant.errors import SettingError
from scant.kernels import batch
from scant.randomness import generator
from scant.rankers import comparator, minimum
from scant.rankers.comparator import CONVEX, ENOUGH, best_fixed, compare, prefixes
from scant.rankers.estimators import value_and_gradient
from scant.rankers.minimum import Total, minimise
from scant.rankers.play import query_order
from scant.rankers.run import run
from scant.rankers.top import OBJECTIVES

SMOOTH = [name for name in CONVEX if name != "ranksvm"]
D = 4


def draw(random, queries=12, features=D, grades=3):
    """Queries of several sizes, some of no relevant document; one feature is nearly a sum."""
    for q in range(queries):
        m = 1 + q % 7
        x = random.normal(size=(m, features)).astype(np.float32)
        if features > 2:
            x[:, -1] = x[:, 0] + x[:, 1] + 0.05 * x[:, -1]
        yield random.integers(0, grades + 1, m) * (q % 4 != 3), x


@pytest.fixture(scope="module")
def stream(packed):
    return packed(draw(np.random.default_rng(3)))


@pytest.fixture(scope="module")
def queries(stream):
    return np.random.default_rng(5).integers(0, len(stream), 40)


def summed(stream, queries, objective, weights):
    """F and its (sub)gradient, query by query, by `scant.surrogates`."""
    value, gradient = 0.0, np.zeros(len(weights))
    for q in queries:
        x, grades = stream[q]
        one, g = value_and_gradient(objective, x.astype(float) @ weights, grades)
        value, gradient = value + one, gradient + x.T.astype(float) @ g
    return value, gradient


def total_of(stream, queries, objective):
    return Total(stream, OBJECTIVES.index(objective), np.bincount(queries, minlength=len(stream)))


def in_ball(random, radius, n, d=D):
    """Points of the ball, half of them on its surface."""
    v = random.normal(size=(n, d))
    length = np.where(np.arange(n) % 2, 1.0, random.random(n) ** (1 / d))
    return radius * v * (length / np.linalg.norm(v, axis=1))[:, None]


def differences(function, at, step):
    """Central differences of a function of the weights, one row for each weight."""
    moves = step * np.eye(len(at))
    return np.array([(function(at + move) - function(at - move)) / (2 * step) for move in moves])


# --- the prefixes
@pytest.mark.parametrize("horizon", [1, 2, 7, 40, 99, 100, 101, 300, 784, 10_000, 1_234_567])
def test_prefixes_are_kept_rounds_four_a_decade_up_to_the_horizon(horizon):
    rounds = prefixes(horizon)
    assert set(rounds) <= set(kept_rounds(horizon))
    assert rounds.dtype == np.int64 and np.all(np.diff(rounds) > 0)
    assert rounds[-1] == horizon and prefixes(0).tolist() == []
    assert rounds[0] == pytest.approx(100, rel=0.06) if horizon >= 100 else rounds[0] == 1
    decades = np.log10(horizon / rounds[0])
    assert len(rounds) <= 4 * decades + 2.2
    if horizon >= 100:
        assert len(rounds) >= 4 * decades + 0.8
        assert np.all(rounds[1:] / rounds[:-1] < 10**0.25 * 1.13)


# --- the sums
@pytest.mark.parametrize("objective", CONVEX)
@pytest.mark.parametrize("scale", [0.0, 0.3, 4.0])
def test_the_sum_is_that_of_the_surrogates(stream, queries, objective, scale):
    weights = scale * np.random.default_rng(1).normal(size=D)
    value, smooth, support, gradient = total_of(stream, queries, objective).evaluate(weights, 1e-9)
    expected, slope = summed(stream, queries, objective, weights)
    assert value == pytest.approx(expected, rel=1e-10)
    # the smoothing is too small to matter
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9)
    assert support == pytest.approx(value, rel=1e-7) and smooth == pytest.approx(value, rel=1e-7)
    if objective in SMOOTH:
        assert value == smooth == support


def test_the_tangent_of_kl_is_summed_too(packed):
    """Scores beyond the largest exponent that is taken: 200 times 2."""
    one = packed([([1, 0], [[200.0], [-200.0]])])
    value, _, _, gradient = total_of(one, [0], "kl").evaluate(np.array([2.0]))
    expected, g = surrogates.kl([400.0, -400.0], [1, 0])
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient[0] == pytest.approx(200 * g[0] - 200 * g[1], rel=1e-12)
    hessian = np.empty((1, 1))
    batch.curvature(total_of(one, [0], "kl").queries, batch.KL, 1.0, np.array([2.0]), hessian)
    assert hessian[0, 0] < 1e-100  # a straight line, but for e^-400


@pytest.mark.parametrize("smoothing", [0.3, 2.0])
def test_smoothed_hinges_are_what_they_are_defined_to_be(stream, queries, smoothing):
    weights = np.array([0.4, -0.7, 0.2, 0.5])
    smooth = support = value = 0.0
    gradient = np.zeros(D)
    for q in queries:
        x, grades = stream[q]
        x = x.astype(float)
        for i in range(len(x)):
            for j in range(len(x)):
                if grades[i] > grades[j]:
                    z = 1 + (x[j] - x[i]) @ weights
                    a = min(1.0, max(0.0, z / smoothing))
                    value += max(0.0, z)
                    smooth += a * z - smoothing * a**2 / 2
                    support += a * z
                    gradient += a * (x[j] - x[i])
    found = total_of(stream, queries, "ranksvm").evaluate(weights, smoothing)
    np.testing.assert_allclose(found[:3], [value, smooth, support], rtol=1e-12)
    np.testing.assert_allclose(found[3], gradient, rtol=1e-10, atol=1e-10)
    assert smooth < support < value


@pytest.mark.parametrize("objective", CONVEX)
def test_gradient_and_curvature_are_those_of_finite_differences(stream, queries, objective):
    total, smoothing = total_of(stream, queries, objective), 1.5
    weights = np.array([0.4, -0.7, 0.2, 0.5])
    gradient = total.evaluate(weights, smoothing).gradient
    expected = differences(lambda w: total.evaluate(w, smoothing).smooth, weights, 1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-5)
    hessian = np.full((D, D), np.nan)
    batch.curvature(total.queries, total.objective, smoothing, weights, hessian)
    np.testing.assert_array_equal(hessian, hessian.T)
    expected = differences(lambda w: total.evaluate(w, smoothing).gradient, weights, 1e-6)
    np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-4)
    assert np.abs(hessian).min() > 0.01  # else an entry could be wrong unseen


# --- the step within the ball
def model_step(hessian, gradient, weights, radius):
    step = np.full(len(weights), np.nan)
    batch.model_step(hessian, gradient, weights, radius, step)
    return step


@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("radius", [0.01, 1.0, 30.0])
def test_the_step_minimises_the_model_in_the_ball(rank, radius):
    """By the minimum's conditions: H v = target - shift v, shift >= 0, and 0 if v is inside."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        root, weights = random.normal(size=(rank, 6)), in_ball(random, radius, 1, 6)[0]
        hessian, gradient = root.T @ root, root.T @ random.normal(size=rank)
        step = model_step(hessian, gradient, weights, radius)
        there, slope = weights + step, gradient + hessian @ step
        assert np.linalg.norm(there) <= radius * (1 + 1e-15)
        shift = -slope @ there / radius**2
        scale = np.linalg.norm(gradient)
        if np.linalg.norm(there) < radius * (1 - 1e-9):
            shift = 0.0
        assert shift >= -1e-7 * scale / radius
        np.testing.assert_allclose(slope, -shift * there, atol=1e-7 * scale)


def test_features_on_scales_far_apart_do_not_spoil_the_step():
    random = np.random.default_rng(0)
    scales = 10.0 ** np.array([-4, -2, 0, 3, 6, 8])
    root, solution = random.normal(size=(50, 6)), random.normal(size=6)
    hessian = (root * scales).T @ (root * scales)
    weights = np.zeros(6)
    for _ in range(3):
        weights = weights + model_step(
            hessian, hessian @ (weights - solution / scales), weights, 1e6
        )
    np.testing.assert_allclose(weights * scales, solution, rtol=1e-6)


# --- the best fixed weights
@pytest.mark.parametrize("objective", CONVEX)
@pytest.mark.parametrize("radius", [0.25, 8.0])
def test_two_documents_and_one_feature(packed, objective, radius):
    """Documents 1 and 0 of grades 1 and 0: w is their score difference, 1 is right for most."""
    one = packed([([1, 0], [[1.0], [0.0]])])
    (best,), (gap,), (norm,) = best_fixed(one, [0, 0, 0], objective, radius, [3])
    w = min(radius, 1.0)
    expected = {"squared": (1 - w) ** 2, "ndcg-squared": (1 - w) ** 2, "ranksvm": 1 - w}
    expected |= {"kl": np.e * (1 - w) - np.e + np.exp(w)}
    expected |= {"listnet": np.log(1 + np.exp(w)) - w * np.e / (1 + np.e)}
    assert best == pytest.approx(3 * expected[objective], abs=1e-9, rel=2e-6)
    assert 0 <= gap <= max(ENOUGH[objective] * best, 1e-9)
    if radius < 1:
        assert norm == pytest.approx(radius, rel=1e-12)
    elif objective != "ranksvm":
        assert norm == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("objective", ["squared", "ndcg-squared"])
@pytest.mark.parametrize("radius", [0.05, 0.3, 100.0])
def test_least_squares_in_a_ball(stream, queries, objective, radius):
    """Against the eigenvectors of X'X and the root of the secular equation."""
    x = np.concatenate([stream[q][0] for q in queries]).astype(float)
    grades = [stream[q][1] for q in queries]
    gradients = [value_and_gradient(objective, np.zeros(len(one)), one)[1] for one in grades]
    target = -np.concatenate(gradients) / 2  # the gradient at 0 is -2 target
    values, vectors = np.linalg.eigh(x.T @ x)
    aligned, shift = vectors.T @ (x.T @ target), 0.0
    beyond = lambda one: np.linalg.norm(aligned / (values + one)) - radius  # noqa: E731
    if beyond(0.0) > 0:
        shift = optimize.brentq(beyond, 0.0, 1e9, xtol=1e-13)
    weights = vectors @ (aligned / (values + shift))
    (best,), (gap,), (length,) = best_fixed(stream, queries, objective, radius, [len(queries)])
    assert best == pytest.approx(np.sum((x @ weights - target) ** 2), rel=1e-11)
    assert length == pytest.approx(np.linalg.norm(weights), rel=1e-7)
    assert 0 <= gap <= 1e-6 * best
    assert (length < radius * 0.99) == (radius == 100.0)


@pytest.mark.parametrize("objective", ["kl", "listnet"])
@pytest.mark.parametrize("radius", [0.1, 0.8, 50.0])
def test_smooth_surrogates_against_scipy(stream, queries, objective, radius):
    found = optimize.minimize(
        partial(summed, stream, queries, objective),
        np.full(D, 1e-3),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w},
        options={"ftol": 1e-12, "maxiter": 100},
    )
    weights, value, gap = minimise(
        total_of(stream, queries, objective), np.zeros(D), radius, ENOUGH[objective]
    )
    assert value == pytest.approx(found.fun, rel=1e-6)
    assert value - gap <= found.fun + 1e-9
    assert value == pytest.approx(summed(stream, queries, objective, weights)[0], rel=1e-10)
    assert np.linalg.norm(weights) <= radius * (1 + 1e-12)
    assert 0 <= gap <= 1e-6 * value


@pytest.mark.parametrize("radius", [0.1, 0.6, 5.0])
def test_ranksvm_on_a_line_against_every_corner(packed, radius):
    """F of one weight is piecewise linear: its minimum is at a corner or an end of the interval."""
    one = packed(draw(np.random.default_rng(8), 20, 1))
    queries, corners = np.arange(20), [-radius, radius]
    for x, grades in (one[q] for q in queries):
        gaps = (x.T.astype(float) - x)[grades[:, None] > grades]
        corners += [-1 / gap for gap in gaps[gaps != 0] if abs(gap) >= 1 / radius]
    least = min(summed(one, queries, "ranksvm", np.array([w]))[0] for w in corners)
    (best,), (gap,), _ = best_fixed(one, queries, "ranksvm", radius, [20])
    assert best - gap - 1e-9 <= least <= best + 1e-9
    assert 0 <= gap <= 1e-5 * best


def test_where_nothing_is_relevant_the_best_weights_are_none(packed):
    one = packed([([0, 0], [[1.0], [2.0]]), ([0], [[3.0]])])
    for objective in CONVEX:
        (best,), (gap,), (norm,) = best_fixed(one, [0, 1], objective, 1.0, [2])
        assert best == pytest.approx(np.log(2) if objective == "listnet" else 0.0, abs=1e-12)
        assert gap == pytest.approx(0.0, abs=1e-12) and norm == 0


# --- the certificate
@pytest.mark.parametrize("objective", CONVEX)
@pytest.mark.parametrize("radius", [0.1, 1.0, 20.0])
def test_no_weights_in_the_ball_are_better_than_certified(stream, queries, objective, radius):
    """Also of a search that is stopped early, whose gap is wide."""
    random, total = np.random.default_rng(4), total_of(stream, queries, objective)
    close, least, _ = minimise(total, np.zeros(D), radius, ENOUGH[objective])
    near = close + 0.05 * radius * random.normal(size=(30, D))
    near *= np.minimum(1, radius / np.linalg.norm(near, axis=1))[:, None]
    points = np.r_[in_ball(random, radius, 60), near]
    values = np.array([total.evaluate(v).value for v in points])
    widths = []
    for enough in (1.0, 0.1, 1e-3, ENOUGH[objective]):
        weights, value, gap = minimise(total, np.zeros(D), radius, enough)
        assert value == total.evaluate(weights).value
        assert 0 <= gap <= enough * value + 1e-9
        assert value - gap <= least + 1e-9
        assert np.all(value - gap <= values + 1e-9)
        widths.append(gap)
    assert widths[0] > widths[-1]


def test_a_search_that_is_out_of_steps_says_how_far_it_got(stream, queries, monkeypatch):
    total = total_of(stream, queries, "ranksvm")
    _, least, small = minimise(total, np.zeros(D), 5.0, 1e-5)
    values, gaps = [], []
    for steps in range(1, 15):
        monkeypatch.setattr(minimum, "STEPS", steps)
        _, value, gap = minimise(total, np.zeros(D), 5.0, 1e-5)
        assert value - gap <= least <= value + 1e-9 * least
        values.append(value)
        gaps.append(gap)
    assert gaps[3] > 100 * small
    # the best so far, not the last
    assert np.all(np.diff(values) <= 0) and np.all(np.diff(gaps) <= 0)


# --- prefixes of a run


@pytest.mark.parametrize("objective", CONVEX)
def test_a_query_shown_twice_counts_twice_and_an_empty_one_too(stream, objective):
    best, gap, _ = best_fixed(stream, np.r_[:12, :12], objective, 0.7, [12, 24])
    assert best[1] == pytest.approx(2 * best[0], abs=gap[1] + 2 * gap[0] + 1e-9)
    assert stream.relevant[3] == 0 and len(stream[3][1]) > 1
    (alone,), _, _ = best_fixed(stream, [0, 1, 2], objective, 0.7, [3])
    (more,), _, _ = best_fixed(stream, [0, 1, 2, 3], objective, 0.7, [4])
    assert more > alone + 1e-6 if objective != "ranksvm" else more == pytest.approx(alone, abs=1e-4)


# --- the file
@pytest.fixture(scope="module")
def path(tmp_path_factory):
    target = tmp_path_factory.mktemp("comparator") / "s.arrow"
    drawn = draw(np.random.default_rng(6), 60)
    streams.write(target, ((q, grades, x) for q, (grades, x) in enumerate(drawn)), {})
    return target


JOB = yaml.safe_load("""
{study: s, study_seed: 7, experiment: top, kind: top, stream: small, stream_settings: {},
 judge: squared, radius: 0.5, rounds: 150, empty: zero, order: shuffled, keep: 1.0, source: text}
""")


def test_the_file_holds_what_was_found_and_where_it_is_from(path, tmp_path):
    one = JOB | {"judge": "listnet"}
    compare(one, tmp_path / "a.parquet", [3, 5], [path])
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.schema.remove_metadata().equals(comparator.SCHEMA)
    assert files.metadata_of(table.schema) == one | {
        "seeds": [3, 5],
        "versions": {"scant": __version__, "numpy": np.__version__},
        "inputs": {"s.arrow": files.sha256(path)},
    }
    rounds, stream = prefixes(150), streams.read(path)
    assert table["seed"].to_pylist() == [3] * len(rounds) + [5] * len(rounds)
    assert table["round"].to_pylist() == [*rounds, *rounds]
    for seed in (3, 5):
        shown = query_order(stream, generator(7, "perceptron", "small", seed, "queries"), 150)
        here = table.filter(np.array(table["seed"].to_pylist()) == seed)
        found = best_fixed(stream, shown, "listnet", 0.5, rounds)
        for name, column in zip(("best", "gap", "norm"), found, strict=True):
            assert here[name].to_pylist() == column.tolist()
    compare(one, tmp_path / "b.parquet", [3, 5], [path, path])
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@pytest.mark.parametrize("judge", CONVEX)
@pytest.mark.parametrize(
    "readings",
    [{"keep": 0.7, "empty": "skip"}, {"rounds": None, "order": "as-is"}, {"queries": "resampled"}],
    ids=["kept and skipped", "one pass", "resampled"],
)
def test_the_queries_are_those_of_the_runs(path, tmp_path, judge, readings):
    """Weights that stay 0 suffer, run by run, what is best in a ball of next to no radius."""
    still = JOB | {"judge": judge, "radius": 1e-9} | readings
    learner = {"kind": "ogd", "surrogate": judge, "rates": [1e-12]}
    more = {"learner": "still", "learner_settings": learner, "schedule": "thesis", "mismatch": 1.0}
    run(still | more, tmp_path / "run.parquet", [0, 4], [path])
    compare(still, tmp_path / "best.parquet", [0, 4], [path])
    columns = pq.read_table(tmp_path / "run.parquet", columns=["seed", "round", "surrogate_loss"])
    suffered = {(row["seed"], row["round"]): row["surrogate_loss"] for row in columns.to_pylist()}
    found = pq.read_table(tmp_path / "best.parquet").to_pylist()
    assert len(found) == 2 * len(prefixes(max(t for _, t in suffered)))
    for row in found:
        assert row["best"] == pytest.approx(suffered[row["seed"], row["round"]], rel=1e-6)
        assert row["norm"] <= 1e-9 * (1 + 1e-12)


def test_jobs_that_cannot_be_done_say_why(path, tmp_path):
    target = tmp_path / "none.parquet"
    for changes, paths, message in (
        ({"rounds": None, "keep": 1e-9}, [path], r"streams\.small: no query is left"),
    ):
        with pytest.raises(SettingError, match=message):
            compare(JOB | changes, target, [0], paths)
    with pytest.raises(ValueError, match="zip"):
        compare(JOB, target, [0, 1, 2], [path, path])
    assert not target.exists()
