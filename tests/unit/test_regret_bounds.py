"""Bounds on RTop-kF's regret: constants hold for the estimates, rates make bounds smallest."""

import itertools

import numpy as np
import pytest
import yaml

from scant.errors import SettingError
from scant.randomness import generator
from scant.rankers import estimators, top
from scant.theory import bounds

READINGS = {"source": "text", "schedule": "thesis", "mismatch": 1, "radius": 1.5, "judge": None}
FACTS = {"largest_query": 4, "radius": 2.0, "largest_grade": 2, "features": 3, "rounds": 1000}


def made(kind="rtop", surrogate="squared", rate=0.1, facts=FACTS, **changes):
    learner = {"kind": kind, "surrogate": surrogate}
    learner |= {key: changes.pop(key) for key in ("k", "gamma") if key in changes}
    return top.DESCENDING[kind].from_study(learner, READINGS | changes, facts, rate, generator(0))


def worst_case(random, m=4, radius=2.0, ball=1.5, largest=2):
    """A query whose documents are as long, and whose scores as far, as the bounds allow."""
    x = random.standard_normal((m, 3))
    x *= radius / np.linalg.norm(x, axis=1)[:, None]
    w = x[0] / radius * ball
    return x, x @ w, random.integers(0, largest + 1, m)


@pytest.mark.parametrize("surrogate", ["squared", "kl", "ranksvm", "listnet"])
def test_no_gradient_is_longer_than_the_bound(surrogate):
    random = np.random.default_rng(1)
    for _ in range(300):
        x, scores, grades = worst_case(random)
        _, g = estimators.value_and_gradient(surrogate, scores, grades)
        assert np.linalg.norm(x.T @ g) <= bounds.gradient_norm(surrogate, 4, 2.0, 2, 1.5) * (
            1 + 1e-12
        )


def test_the_bound_on_gradients_is_reached():
    # One document, its score as low as can be and its grade as high: 2 |s - R| R_X.
    x = np.array([[-2.0]])
    scores, grades = x @ [1.5], np.array([2])
    _, g = estimators.value_and_gradient("squared", scores, grades)
    assert np.linalg.norm(x.T @ g) == bounds.gradient_norm("squared", 1, 2.0, 2, 1.5) == 20.0


@pytest.mark.parametrize("surrogate", ["squared", "kl", "ranksvm"])
@pytest.mark.parametrize("largest", [1, 2, 4])
def test_exploring_loses_at_most_the_bound(surrogate, largest):
    random = np.random.default_rng(2)
    most = bounds.exploration_loss(surrogate, 5, largest)
    drawn = random.integers(0, largest + 1, (20, 5)).tolist()
    for scores in itertools.product((0.0, 1.0), repeat=5):
        for grades in ([largest] * 5, [0] * 5, [0, 0, 0, largest, largest], *drawn):
            result = estimators.value_and_gradient(surrogate, np.array(scores), grades)[0]
            assert result <= most * (1 + 1e-12)


def test_exploring_can_lose_the_bound():
    wrong = np.array([0.0, 0.0, 1.0, 1.0, 1.0]), [1, 1, 0, 0, 0]
    for surrogate, (scores, grades) in {
        "squared": (wrong[0] * 0, [4] * 5),
        "kl": (wrong[0] * 0, [4] * 5),
        "ranksvm": wrong,
    }.items():
        most = bounds.exploration_loss(surrogate, 5, max(grades))
        assert estimators.value_and_gradient(surrogate, scores, grades)[0] == pytest.approx(most)
    assert bounds.exploration_loss("ranksvm", 5, 1) == 12


@pytest.mark.parametrize("fixed", [True, False])
def test_the_rates_make_the_bounds_smallest(fixed):
    best = bounds.top_rate(50.0, 1.5, 0.1, fixed)
    at = [
        bounds.top_regret(1000, rate, 50.0, 1.5, 0.1, 3.0, fixed)
        for rate in (best / 1.1, best, best * 1.1)
    ]
    assert at[1] < min(at[0], at[2])
    best = bounds.descent_rate(7.0, 1.5, fixed)
    at = [
        bounds.descent_regret(1000, rate, 7.0, 1.5, fixed)
        for rate in (best / 1.1, best, best * 1.1)
    ]
    assert at[1] < min(at[0], at[2])


def test_bounds_by_hand():
    # T = 1000: T^2/3 = 100. Fixed: U^2/(2 rate) + rate C/(2 gamma) + gamma L = 1 + 5 + 0.3.
    assert bounds.top_regret(1000, 0.5, 2.0, 1.0, 0.1, 3.0, True) == pytest.approx(630)
    # Falling: 2 U^2/rate + 3/4 rate C/gamma + 3/2 gamma L = 4 + 7.5 + 0.45.
    assert bounds.top_regret(1000, 0.5, 2.0, 1.0, 0.1, 3.0, False) == pytest.approx(1195)
    assert bounds.descent_regret(100, 0.5, 2.0, 1.0, True) == pytest.approx(20)
    assert bounds.descent_regret(100, 0.5, 2.0, 1.0, False) == pytest.approx(60)


def test_theory_rate_of_a_learner():
    constant = bounds.estimate_constant("squared", 4, 2.0, 2, 1.5)
    assert constant == 8 * 64 * (9 + 4)
    assert made(rate="theory").rate == bounds.top_rate(constant, 1.5, 0.1, False)
    fixed = made(rate="theory", schedule="aistats16", gamma=0.3)
    assert fixed.setup.gamma == pytest.approx(0.03)
    assert fixed.rate == pytest.approx(bounds.top_rate(constant, 1.5, 0.3, True))
    assert made("ogd", "listnet", "theory").rate == bounds.descent_rate(4.0, 1.5, False)


def test_a_bound_fixed_at_the_horizon_is_that_of_the_horizon():
    along = made(schedule="aistats16").bound(np.array([10, 1000]))
    assert along[0] == along[1]
    falling = made().bound(np.array([1, 1000]))
    assert falling[1] == pytest.approx(100 * falling[0])


@pytest.mark.parametrize(
    ("kind", "changes"),
    yaml.safe_load("""
[[rtop, {mismatch: 10}], [rtop, {k: 2}], [rtop, {judge: kl}], [rtop, {surrogate: smoothdcg}], [rtop,
 {surrogate: ranksvm, source: released-code}], [ogd, {surrogate: ndcg-squared}]]
"""),
)
def test_what_no_bound_is_proved_for_has_none(kind, changes):
    with pytest.raises(SettingError, match="no regret bound is proved"):
        made(kind, rate="theory", **changes)
    assert np.isnan(made(kind, **changes).bound(np.array([1, 10]))).all()


def test_an_infinite_bound_is_said_and_gives_no_rate():
    raw = FACTS | {"radius": 1e6}
    assert made(surrogate="kl", facts=raw).bound(np.array([1, 10])).tolist() == [np.inf, np.inf]
    with pytest.raises(SettingError, match="infinite on this stream"):
        made(surrogate="kl", rate="theory", facts=raw)


def test_the_floor_of_table_b_1_is_the_least_mean_regret_over_all_scores():
    from scipy.optimize import minimize

    from scant.data import table_b1
    from scant.surrogates import ndcg_squared

    def regret(s, counts):
        """How much the scores s lose a round to the best ones, in expectation."""
        losses = [lambda t, v=v: ndcg_squared(t, np.array(v))[0] for v in table_b1.VECTORS]

        def expected(t):
            return sum(n * loss(t) for n, loss in zip(counts, losses, strict=True)) / 20

        return expected(s) - minimize(expected, np.full(3, 0.3)).fun

    both = list(table_b1.TWENTIETHS.values())
    least = minimize(lambda s: sum(regret(s, counts) for counts in both) / 2, np.full(3, 0.3)).fun
    assert (
        bounds.impossible_floor()
        == pytest.approx(least, abs=1e-8)
        == pytest.approx(0.0024, abs=5e-5)
    )
