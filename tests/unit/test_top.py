"""Learners with feedback at the top: settings, schedules, and what their loop is of."""

from dataclasses import asdict

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from scant import measures, surrogates
from scant.data.stream import discounts, gains
from scant.errors import SettingError
from scant.kernels import pieces, top
from scant.measures import rank
from scant.rankers import estimators
from scant.rankers.learners import class_of
from scant.rankers.top import DESCENDING, OBJECTIVES, Settings

GRADES = 4
GAINS, DISCOUNTS, EXPONENTIALS = gains(GRADES), discounts(60), np.exp(-np.arange(GRADES + 1.0))
QUARTERS = st.integers(-12, 12).map(lambda quarter: quarter / 4)  # exact, and often tied
READINGS = {"source": "text", "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": None}


@st.composite
def queries(draw, largest=40, grades=GRADES):
    m = draw(st.integers(1, largest))
    scores = draw(st.lists(QUARTERS, min_size=m, max_size=m))
    labels = draw(st.lists(st.integers(0, grades), min_size=m, max_size=m))
    return np.array(scores, np.float32), np.array(labels, np.int16)


def nans(*shape):
    return np.full(shape, np.nan)


def sort(scores):
    return rank(scores).astype(np.int32)


# --- settings
def complete(learner, readings, rounds):
    """The complete settings of a learner, and its rates."""
    cls = class_of(learner["kind"], DESCENDING)
    settings = cls.complete_settings(learner, readings, {"rounds": rounds})
    return settings, cls.rates(learner, readings)


def at(settings, rates, t):
    """The step and the exploration of round t."""
    [rate] = rates
    return rate * settings.scale * t**-settings.decay, settings.gamma * t**-settings.gamma_decay


SCHEDULED = {  # the step and the exploration in rounds 1, 8 and 1000 of 1000, by hand
    ("thesis", "rtop"): [(0.01, 0.1), (0.0025, 0.05), (0.0001, 0.01)],
    ("thesis", "ogd"): [(0.01, 0), (0.01 / 8**0.5, 0), (0.01 / 1000**0.5, 0)],
    ("aistats16", "rtop"): [(0.01, 0.1)] * 3,
    ("aistats16", "ogd"): [(1 / 1000**0.5, 0)] * 3,
    ("released-code", "rtop"): [(0.1, 0.1), (0.025, 0.05), (0.001, 0.01)],
    ("released-code", "ogd"): [(0.1, 0), (0.1 / 8**0.5, 0), (0.1 / 1000**0.5, 0)],
}


@pytest.mark.parametrize(("schedule", "kind"), SCHEDULED)
def test_steps_and_exploration_by_hand(schedule, kind):
    readings = READINGS | {"schedule": schedule}
    if schedule == "released-code":  # it has its own, whatever the reading of the text
        readings = READINGS | {"source": schedule, "schedule": "aistats16"}
    learner = {"kind": kind, "surrogate": "squared"}
    found = [at(*complete(learner, readings, 1000), t) for t in (1, 8, 1000)]
    np.testing.assert_allclose(found, SCHEDULED[schedule, kind], rtol=1e-12)
    if kind == "ogd":
        listnet = complete({"kind": "listnet"}, readings, 1000)
        assert [at(*listnet, t) for t in (1, 8, 1000)] == found
    else:
        (settings, rates) = complete(learner | {"gamma": 0.4, "rates": [3.0, 1.0]}, readings, 1000)
        of_the_schedule = complete(learner, readings, 1000)[0]
        factor = 0.4 if schedule == "aistats16" else 4.0
        assert settings.gamma == pytest.approx(factor * of_the_schedule.gamma)
        assert rates == [3.0, 1.0]


PLAYED = "kind objective judge k gamma gamma_decay decay scale mismatch ordered epsilon sign radius"


def same(settings, expected):
    """Whether a learner plays by these settings."""
    names = PLAYED.split()
    return all(getattr(settings, name) == getattr(expected, name) for name in names)


def test_what_readings_make_of_a_learner():
    for surrogate, k in {"squared": 1, "kl": 1, "smoothdcg": 1, "ranksvm": 2}.items():
        settings, rates = complete({"kind": "rtop", "surrogate": surrogate}, READINGS, 100)
        expected = Settings("rtop", surrogate, surrogate, k, 0.1, 1 / 3, decay=2 / 3, mismatch=10)
        assert same(settings, expected)
        smoothing = {"ordered": False, "epsilon": 0.01, "epsilon_decay": 0, "sign": "negated"}
        assert smoothing.items() <= asdict(settings).items()
        assert rates == [0.01]
        settings, _ = complete({"kind": "rtop", "surrogate": surrogate, "k": 7}, READINGS, 100)
        assert settings.k == 7
    for surrogate in OBJECTIVES:
        changes = {"judge": "kl", "radius": 2.5, "mismatch": 3.0}
        settings, _ = complete({"kind": "ogd", "surrogate": surrogate}, READINGS | changes, 100)
        # nothing is hidden, so none mismatched
        assert same(settings, Settings("ogd", surrogate, "kl", radius=2.5))
    listnet, _ = complete({"kind": "listnet"}, READINGS, 100)
    assert same(listnet, Settings("listnet", "listnet", "listnet"))
    own = {"epsilon": 0.5, "epsilon_decay": 0.25, "sign": "as-printed"}
    settings, _ = complete({"kind": "rtop", "surrogate": "smoothdcg"} | own, READINGS, 100)
    assert own.items() <= asdict(settings).items()
    assert settings.measure == "ndcg@10"


def test_what_the_released_code_makes_of_a_learner():
    readings = READINGS | {"source": "released-code"}
    for kind in ("rtop", "ogd"):
        learner = {"kind": kind, "surrogate": "smoothdcg", "sign": "negated"}
        settings, _ = complete(learner, readings, 100)
        assert (settings.epsilon, settings.sign) == (0.001, "as-printed")
    for k, ordered in {2: True, 3: False}.items():
        learner = {"kind": "rtop", "surrogate": "ranksvm", "k": k}
        assert complete(learner, readings, 100)[0].ordered is ordered
    assert complete({"kind": "ogd", "surrogate": "ranksvm"}, readings, 100)[0].ordered is False
    settings, _ = complete({"kind": "rtop", "surrogate": "squared", "k": 2}, readings, 100)
    assert (settings.ordered, settings.epsilon, settings.sign) == (False, 0.01, "negated")


REFUSED = {
    "kind": ({"kind": "rtopp"}, {}, "unknown kind of learner 'rtopp': did you mean 'rtop'"),
    "ListNet": ({"surrogate": "listnet"}, {}, "listnet cannot be learnt from the top 1"),
    "NDCG": ({"surrogate": "ndcg-squared", "k": 2}, {}, "ndcg-squared cannot be learnt from the"),
    "no exploration": ({"gamma": 0.0}, {}, "gamma is 0 in round 1, and has to be above 0"),
    "much exploration": ({"gamma": 0.5001}, {}, "gamma is 0.5 in round 1, .* at most 1/2"),
    "no number": ({"gamma": float("nan")}, {}, "gamma is nan in round 1"),
    "a short horizon": ({}, {"schedule": "aistats16"}, r"T = 7: play 8 rounds or more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_learnt_is_refused(name):
    changes, readings, message = REFUSED[name]
    with pytest.raises(SettingError, match=message):
        complete({"kind": "rtop", "surrogate": "squared"} | changes, READINGS | readings, 7)


# --- surrogates, compiled
def by_name(name, scores, labels, epsilon):
    return estimators.value_and_gradient(name, scores.astype(float), labels, epsilon)


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(queries(), st.sampled_from([0.01, 0.5, 3.0]), st.sampled_from([1.0, 50.0]))
# no relevant document
@example((np.array([0.5, -1, 0.5], np.float32), np.zeros(3, np.int16)), 0.5, 1.0)
@example((np.array([2.0], np.float32), np.array([3], np.int16)), 0.5, 1.0)
def test_each_surrogate_is_the_readable_one(objective, query, epsilon, scale):
    scores, labels = query
    scores = scores * np.float32(scale)
    m, g = len(scores), nans(len(scores))
    query = scores, sort(scores), labels, measures.dcg(rank(labels), labels)
    scratch = nans(m), np.full(m, -1), nans(2, GRADES + 1)
    number = OBJECTIVES.index(objective)
    value, clipped = top.surrogate(number, *query, epsilon, GAINS, EXPONENTIALS, *scratch, g)
    expected, gradient = by_name(objective, scores, labels, epsilon)
    size = max(1.0, np.exp(min(float(scores.max()), 300))) if objective == "kl" else scale**2
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-12 * size * m)
    np.testing.assert_allclose(g, gradient, rtol=1e-9, atol=1e-12 * scale / min(1, epsilon))
    over = int(np.sum(scores > 709.5 * epsilon)) if objective == "smoothdcg" else 0
    assert clipped == over  # of kl, no score is beyond 300 here


@pytest.mark.parametrize(
    ("scores", "clipped"),  # the second is at the edge, not beyond
    yaml.safe_load("""
[[[0.0, -2.5, 3.0], 0], [[300.0, 299.5, 0.0], 0], [[300.5, 0.0, -300.5], 1],
 [[1000.0, 301.0, 300.0], 2], [[3.0e+38, -3.0e+38, 0.0], 1], [[-800.0, -1000000.0, -1.0], 0]]
"""),
)
def test_kl_beyond_its_clip(scores, clipped):
    scores, labels, g = np.array(scores, np.float32), np.array([0, 2, 4], np.int16), nans(3)
    value, found = pieces.kl(scores, labels, EXPONENTIALS, np.full(3, -1), g)
    expected, gradient = surrogates.kl(scores, labels)
    assert found == clipped
    assert np.isfinite(value) and value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(g, gradient, rtol=1e-11)


@given(queries(), st.sampled_from([1e-4, 0.01, 1.0, 30.0]), st.sampled_from([1.0, 1e3, 1e30]))
def test_softmax(query, temperature, scale):
    scores = query[0] * np.float32(scale)
    p, scaled = nans(len(scores)), nans(len(scores))
    over = pieces.softmax(scores, temperature, scaled, np.full(len(scores), -1), p)
    exact = scores.astype(float) / temperature
    expected = np.exp(exact - exact.max())
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-9, atol=1e-300)
    assert p.sum() == pytest.approx(1.0, rel=1e-12)
    with np.errstate(over="ignore"):
        assert over == np.isinf(np.exp(exact)).sum()


@given(queries(40, 30), st.integers(0, 2**16), st.sampled_from([1.0, 0.25, 100.0]))
def test_ranksvm_of_some_of_the_documents(query, seed, scale):
    """Many labels and ties; `g` of the others is let alone."""
    scores, labels = query
    scores = scores * np.float32(scale)
    some = np.random.default_rng(seed).random(len(scores)) < 0.7
    order = sort(scores)
    order = order[some[order]]
    g = np.full(len(scores), 77.0)
    value = pieces.ranksvm(scores, order, labels, nans(31), nans(31), g)
    if not some.any():
        assert value == 0
    else:
        expected, gradient = surrogates.ranksvm(scores[some], labels[some])
        assert value == pytest.approx(expected, rel=1e-11, abs=1e-11)
        np.testing.assert_array_equal(g[some], gradient)
    assert np.all(g[~some] == 77.0)


# --- the rest of a round
@given(queries(), st.integers(1, 45), st.sampled_from([0.0, 1.0]), st.integers(0, 2**16))
def test_a_ranking_is_measured(query, cut, empty, seed):
    _, labels = query
    order = np.random.default_rng(seed).permutation(len(labels)).astype(np.int32)
    expected = {
        f"ndcg@{cut}": measures.ndcg(order, labels, cut, empty),
        "ndcg": measures.ndcg(order, labels, None, empty),
        "ap": measures.average_precision(order, labels, empty),
        "dcg": measures.dcg(order, labels),
        f"dcg@{cut}": measures.dcg(order, labels, cut),
        f"precision@{cut}": measures.precision_at(order, labels, cut),
        "err": measures.err(order, labels),
        f"err@{cut}": measures.err(order, labels, cut),
        "mrr": measures.reciprocal_rank(order, labels, None, empty),
        f"mrr@{cut}": measures.reciprocal_rank(order, labels, cut, empty),
        f"recall@{cut}": measures.recall_at(order, labels, cut),
        "linear_ndcg": measures.linear_ndcg(order, labels, None, empty),
        f"linear_ndcg@{cut}": measures.linear_ndcg(order, labels, cut, empty),
    }
    assert {name.partition("@")[0] for name in expected} == set(measures.RECORDABLE)
    best, out, ideals = rank(labels), nans(len(expected)), nans(len(expected))
    for at, name in enumerate(expected):
        top_of = measures.named(name)[1]
        ideals[at] = measures.dcg(best, labels, top_of)
        if name.startswith("linear"):
            ideals[at] = pieces.linear_dcg(labels[best], top_of or len(best), DISCOUNTS)
    query = order, labels, np.full(len(labels), -1, np.int16), np.count_nonzero(labels)
    tables = ideals, empty, measures.codes_of(expected), GAINS, DISCOUNTS
    pieces.measure_ranking(*query, *tables, out)
    np.testing.assert_allclose(out, list(expected.values()), rtol=1e-12)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.sampled_from([0.5, 1.0, 7.0]))
def test_projection(weights, radius):
    weights = np.array(weights)
    before, length = weights.copy(), np.linalg.norm(weights)
    pieces.project(weights, radius)
    if length <= radius * (1 - 1e-12):
        np.testing.assert_array_equal(weights, before)
    else:
        np.testing.assert_allclose(
            weights, before * min(1.0, radius / length), rtol=1e-12, atol=1e-300
        )
        assert np.linalg.norm(weights) <= radius * (1 + 1e-12)


def test_on_the_ball_nothing_is_shortened():
    weights = np.array([3.0, -4.0])
    for radius in (5.0, 6.0):  # and nothing within it is lengthened
        pieces.project(weights, radius)
        assert weights.tolist() == [3.0, -4.0]
    pieces.project(weights, 2.5)
    np.testing.assert_allclose(weights, [1.5, -2.0])
