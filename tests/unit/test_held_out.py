"""Rankers that have seen every grade of the other queries."""

import numpy as np
import pytest
import yaml

from scant.errors import SettingError
from scant.measures import ndcg
from scant.randomness import generator
from scant.rankers import held_out
from scant.rankers.held_out import HeldOut
from scant.rankers.play import play, play_plain, query_order
from scant.study import settings as studies

try:
    import lightgbm
except (ImportError, OSError):  # OSError: it is installed, but not OpenMP's library
    lightgbm = None
needs_lightgbm = pytest.mark.skipif(
    lightgbm is None, reason="no LightGBM: install the extra `trees`"
)
MODELS = [pytest.param("trees", marks=needs_lightgbm), "linear"]


def made(stream, model, seed=3, radius=10.0):
    readings, facts = {"source": "text", "radius": radius}, stream.metadata | {"rounds": 50}
    return HeldOut.from_study(
        {"kind": "held-out", "model": model}, readings, facts, None, generator(seed, "noise")
    )


def queries(count, turned=(), copies=1, seed=5):
    """Queries of eight documents; the first feature is the grade with little noise, or minus it in
    some queries.
    """
    random = np.random.default_rng(seed)
    for q in range(count):
        grades = random.permutation([0, 0, 0, 1, 1, 2, 3, 4])
        features = np.c_[
            grades * (-1.0 if q in turned else 1.0) + random.normal(0, 0.1, 8),
            random.normal(size=(8, 2)),
        ]
        for _ in range(copies):
            order = random.permutation(8)
            yield grades[order], features[order].astype(np.float32)


@pytest.mark.parametrize("model", MODELS)
def test_the_compiled_loop_ranks_as_the_plain_class(packed, model):
    stream = packed(queries(30))
    rounds = query_order(stream, generator(3, "queries"), 50)
    one, again, other = (made(stream, model) for _ in range(3))
    other.fit(stream)
    compiled = play(stream, rounds, one, measures=("err",))
    plain = play_plain((stream[q] for q in rounds), 50, other, measures=("err",))
    np.testing.assert_allclose(compiled.measured, plain.measured, rtol=1e-12)
    np.testing.assert_allclose(compiled.ranker, plain.ranker, rtol=1e-12)
    assert compiled.ranker.mean() > 0.95 and not compiled.updated.any()
    assert (
        play(stream, rounds, again, measures=("err",)).measured.tobytes()
        == compiled.measured.tobytes()
    )


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_no_query_is_scored_by_a_model_that_saw_it_or_a_copy_of_it(
    packed, monkeypatch, model, copies
):
    stream, fit, seen_by = packed(queries(12, copies=copies)), held_out.MODELS[model], {}

    def watched(stream, fitted, radius):
        found = fit(stream, fitted, radius)
        seen_by[found] = fitted
        return found

    monkeypatch.setitem(held_out.MODELS, model, watched)
    learner = made(stream, model)
    learner.fit(stream)
    assert len(seen_by) == held_out.FOLDS
    for q in range(len(stream)):
        seen = seen_by[learner.models[held_out._documents(stream[q][0])]].reshape(12, copies)
        assert not seen[q // copies].any() and seen.all(1).sum() >= 12 - 3


@pytest.mark.parametrize("model", MODELS)
def test_a_query_s_own_grades_do_not_reach_its_scores(packed, model):
    """One query whose grades are the other way round is ranked as all others are, and so badly."""
    stream = packed(queries(30, turned=[7]))
    learner = made(stream, model)
    learner.fit(stream)
    values = [
        ndcg(learner.rank(features), grades, k=10)
        for features, grades in map(stream.__getitem__, range(30))
    ]
    assert values[7] == min(values) < 0.7 and np.mean(np.delete(values, 7)) > 0.95


def test_the_linear_ranker_stays_in_the_ball(packed):
    stream, largest = packed(queries(20)), {}
    for radius in (1e-3, 10.0):
        learner = made(stream, "linear", radius=radius)
        learner.fit(stream)
        largest[radius] = max(
            np.abs(learner.scores(features)).max()
            for features, _ in map(stream.__getitem__, range(20))
        )
    assert largest[1e-3] <= 1.001e-3 * np.linalg.norm(stream.features, axis=1).max() < largest[10.0]


def test_queries_that_are_all_the_same_are_refused(packed):
    stream = packed(queries(1, copies=5))
    with pytest.raises(SettingError, match="needs queries that differ"):
        made(stream, "linear").fit(stream)


def test_without_lightgbm_a_study_is_refused_and_the_extra_is_named(monkeypatch):
    study = yaml.safe_load("""
        study: mine
        streams: {linear: {generator: linear}}
        learners: {ceiling: {kind: held-out, model: linear}}
        experiments: {all: {kind: top, streams: [linear], learners: [ceiling]}}
    """)
    monkeypatch.setattr(held_out, "find_spec", lambda name: None)
    studies.load(study)
    study["learners"]["ceiling"] = {"kind": "held-out"}
    with pytest.raises(SettingError, match=r"learners\.ceiling.*pip install 'scant\[trees\]'"):
        studies.load(study)
