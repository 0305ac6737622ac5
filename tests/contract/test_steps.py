"""Steps as large as the gradients so far tell: compiled loops and plain classes alike."""

from itertools import product

import numpy as np
import pytest

from scant.errors import SettingError
from scant.kernels import steps as kernel
from scant.randomness import generator
from scant.rankers import learners, steps, top
from scant.rankers.play import play, play_plain, query_order
from scant.rankers.steps import CHOICES, SCHEDULE, STEPS, CoinBetting

READINGS = {"source": "text", "schedule": "thesis", "mismatch": 1, "radius": 1.0, "judge": None}
FULL = {"slam": {"kind": "slam"}, "slam-ap": {"kind": "slam", "measure": "ap", "by_loss": True}}
FULL |= {"max-hinge": {"kind": "max-hinge"}, "listnet": {"kind": "listnet"}}


@pytest.fixture(params=["noisy", "odd"])
def any_stream(request):
    return request.getfixturevalue(request.param)


def made(stream, learner, known, rounds=80, seed=3, **readings):
    """A learner at the only rate that it has."""
    cls, readings, facts = (
        known[learner["kind"]],
        READINGS | readings,
        stream.metadata | {"rounds": rounds},
    )
    [rate] = cls.rates(learner, readings)
    return cls.from_study(learner, readings, facts, rate, generator(seed, "noise"))


def of_top(stream, learner, rounds=80, plain=False, seed=3, **readings):
    queries = query_order(stream, generator(seed, "queries"), rounds)
    player = made(stream, learner, top.DESCENDING, rounds, seed, **readings)
    if plain:
        return play_plain((stream[q] for q in queries), rounds, player)
    return play(stream, queries, player)


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("learner", FULL)
def test_the_compiled_loop_is_the_plain_class_with_every_grade_seen(any_stream, learner, kind):
    one, other = (
        made(any_stream, FULL[learner] | {"steps": kind}, learners.LEARNERS) for _ in range(2)
    )
    assert one.rate is None and one.setup.decay == 0
    queries = query_order(any_stream, generator(3, "queries"), 90)
    compiled = play(any_stream, queries, one)
    played = play_plain((any_stream[q] for q in queries), 90, other)
    np.testing.assert_array_equal(compiled.updated, played.updated)
    np.testing.assert_allclose(compiled.measured, played.measured, rtol=1e-12)
    np.testing.assert_allclose(compiled.weights, played.weights, rtol=1e-5, atol=1e-7)
    assert compiled.weights.any()


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("objective", top.OBJECTIVES)
def test_the_compiled_loop_is_the_plain_class_on_the_ball(any_stream, objective, kind):
    """With and without every grade seen, inside the ball and at its edge."""
    options = {"surrogate": objective, "steps": kind}
    options |= {"epsilon": 0.3} if objective == "smoothdcg" else {}
    both = [{"kind": "ogd"}, {"kind": "rtop", "k": 2, "gamma": 0.5}]
    for learner, radius in product(both, (0.05, 5.0)):
        if learner["kind"] == "rtop" and objective in ("listnet", "ndcg-squared"):
            continue
        one, two = (
            of_top(any_stream, learner | options, plain=plain, radius=radius)
            for plain in (False, True)
        )
        np.testing.assert_array_equal(one.events, two.events)
        np.testing.assert_array_equal(one.updated, two.updated)
        for name in ("measured", "ranker"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-12)
        np.testing.assert_allclose(one.weights, two.weights, rtol=1e-5, atol=1e-8)
        assert np.linalg.norm(one.weights) <= radius * (1 + 1e-12)
        assert (len(one.watched) == 0) == (kind == SCHEDULE)


@pytest.mark.parametrize("kind", STEPS)
def test_the_horizon_and_its_schedule_change_no_step(noisy, kind):
    learner = {"kind": "ogd", "surrogate": "squared", "steps": kind}
    one, two = (of_top(noisy, learner, schedule=schedule) for schedule in ("thesis", "aistats16"))
    assert one.weights.tobytes() == two.weights.tobytes()


@pytest.mark.parametrize("kind", ["adagrad", "coin", "cocob"])
def test_steps_do_not_depend_on_the_scale_of_gradients(kind):
    """A power of two as the factor is exact. DoG's first step alone has a scale, of the weights."""
    random = np.random.default_rng(5)
    gradients, ends = random.standard_normal((200, 4)) + 0.1, []
    for factor in (1.0, 2.0**12, 2.0**-12):
        weights, way = np.zeros(4), STEPS[kind](4, 1.0)
        for gradient in gradients:
            way.take(weights, factor * gradient)
        ends.append(weights)
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, rtol=1e-12)
    assert np.linalg.norm(ends[0]) > 0.01


@pytest.mark.parametrize("kind", STEPS)
def test_nothing_moves_while_gradients_are_zero(kind):
    weights, way = np.zeros(3), STEPS[kind](3, 1.0)
    for _ in range(5):
        way.take(weights, np.zeros(3))
    assert not weights.any()
    way.take(weights, np.array([1.0, 0.0, 0.0]))
    moved = weights.copy()
    assert moved[0] < 0 and not moved[1:].any()
    # what is bet on depends on gradients alone, that of others on their sum of squares
    if kind in ("coin", "cocob"):
        way.take(weights, np.zeros(3))
        np.testing.assert_array_equal(weights, moved)


def test_small_cases_by_hand():
    ones = np.array([1.0])
    weights, adagrad = np.zeros(1), steps.AdaGrad(1, 3.0)
    for t, expected in ((1, -3 * np.sqrt(2)), (2, -3 * np.sqrt(2) - 3)):
        adagrad.take(weights, ones)
        assert weights[0] == pytest.approx(expected), t
    weights, dog = np.zeros(1), steps.DistanceOverGradients(1, 1.0)
    dog.take(weights, 4 * ones)
    assert weights[0] == pytest.approx(-1e-6)
    dog.take(weights, 3 * ones)
    assert weights[0] == pytest.approx(-1e-6 - 3 / 5 * 1e-6)
    weights, coin = np.zeros(1), CoinBetting(1, 1.0)
    # share heads / (coins + 1) of a wealth that grows so
    for expected in (-1 / 2, -2 / 3 * 3 / 2, -3 / 4 * 5 / 2):
        coin.take(weights, ones)
        assert weights[0] == pytest.approx(expected)
    weights, cocob = np.zeros(1), steps.Cocob(1, 1.0)
    for expected in (-1 / 100, -2 / 100 * 1.01):
        cocob.take(weights, ones)
        assert weights[0] == pytest.approx(expected)


def plain_cocob(gradients):
    """A coordinate after each of its gradients: Orabona and Tommasi 2017, Algorithm 2, from 0."""
    largest = lengths = reward = total = weight = 0.0
    for gradient in gradients:
        largest = max(largest, abs(gradient))
        lengths += abs(gradient)
        reward = max(reward - weight * gradient, 0.0)
        total -= gradient
        if largest:
            weight = total / (largest * max(lengths + largest, 100 * largest)) * (largest + reward)
        yield weight


def test_cocob_is_its_algorithm_until_what_limits_its_bets_are_the_sums():
    """400 gradients whose sums end above 100 times the largest; some are 0 at first."""
    random = np.random.default_rng(11)
    gradients = random.uniform(0.3, 1.0, (400, 3)) * np.where(random.random((400, 3)) < 0.7, -1, 1)
    gradients[:5, 1], gradients[200:, 2] = 0.0, 1.5 * gradients[200:, 2]
    expected = np.array([list(plain_cocob(column)) for column in gradients.T.tolist()]).T
    plain, compiled = np.zeros(3), np.zeros(3)
    cocob, sums, memory = steps.Cocob(3, 1.0), np.zeros(kernel.KEPT), np.zeros((kernel.ROWS, 3))
    for t, gradient in enumerate(gradients):
        cocob.take(plain, gradient)
        kernel.take(kernel.COCOB, 1.0, gradient.copy(), compiled, sums, memory)
        np.testing.assert_allclose([plain, compiled], [expected[t]] * 2, rtol=1e-10)
    assert np.all(np.abs(gradients).sum(axis=0) > 120 * np.abs(gradients).max(axis=0))


@pytest.mark.parametrize("known", [0.0, 40.0])
def test_the_bettor_is_never_ruined(known):
    """Whatever the coins, also if some are a thousand times as large as all before."""
    random = np.random.default_rng(7)
    for _ in range(50):
        weights, coin = np.zeros(2), CoinBetting(2, 1.0)
        coin.largest = known  # as if a gradient had been as long
        for t in range(100):
            gradient = random.standard_normal(2) * (1000 if t % 37 == 36 and not known else 1)
            if random.random() < 0.5:
                gradient = weights / max(np.linalg.norm(weights), 1e-9) * np.linalg.norm(gradient)
            coin.take(weights, gradient)
            assert coin.largest + coin.reward > 0 or not weights.any()


@pytest.mark.parametrize("key", ["rates", "decay"])
@pytest.mark.parametrize("kind", STEPS)
def test_a_rate_for_steps_that_need_none_is_refused(kind, key):
    value = {"rates": [0.1], "decay": 0.5}[key]
    for cls, learner in (
        (learners.Slam, {"kind": "slam"}),
        (top.RTop, {"kind": "rtop", "surrogate": "squared"}),
    ):
        learner |= {"steps": kind, key: value}
        if key == "rates" or cls is learners.Slam:
            with pytest.raises(SettingError, match=f"{kind}.*{key} would do nothing"):
                cls.check(learner)
    learners.Slam.check({"kind": "slam", "steps": SCHEDULE, key: value})
