"""What the learners of ads heed and look like, and what their models keep to."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import yaml
from test_declarations import Flat

from scant.bandits.learners import HEEDED, KINDS, AdLearner, Scorer
from scant.bandits.scorers import Settings, train
from scant.data.logs import Log

FAST = Settings(0.1, options={"steps": 20_000, "trees": 20})
LEARNT = [kind for kind, learner in KINDS.items() if learner.learns]
GRADED = [kind for kind in LEARNT if KINDS[kind].graded]
SCORERS = [kind for kind, learner in KINDS.items() if learner.learns == "ad"]
every_kind = pytest.mark.parametrize("kind", LEARNT)


def drawn(seed, rows=1500, d=5, actions=4):
    """A log of a uniform policy: ad a is clicked where feature a is the largest of the first K."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((rows, d)).astype(np.float32)
    action = random.integers(0, actions, rows, dtype=np.int32)
    good = features[:, :actions].argmax(axis=1) == action
    reward = (random.random(rows) < np.where(good, 0.8, 0.05)).astype(float)
    ids = tuple("abcdefgh"[:actions])
    return Log(
        features, action, reward, np.full(rows, 1 / actions), ids, tuple(f"f{j}" for j in range(d))
    )


LOG = drawn(0)
NEW = drawn(1, rows=600).features
HEADS = np.random.default_rng(2).random(len(LOG)) < 0.5


def fitted(kind, log=LOG, seed=0, settings=FAST):
    return train(kind, log, np.random.default_rng(seed), settings)


def test_what_a_learner_heeds_follows_from_what_it_is():
    every = {"validation", "standardise", "select"}
    expected = {"logistic": every | {"undersample"}, "forest": {"undersample", "select"}}
    expected |= {"auc-ranker": every | {"threshold", "undersample", "undersampled"}}
    expected |= {"cost-sensitive-oaa": every, "filter-tree": every, "uniform": set()}
    expected |= {"logging": set(), "oracle": set()}
    assert {kind: {*KINDS[kind].heeds} for kind in expected} == expected
    for fact, readings in HEEDED.items():
        assert type("Such", (AdLearner,), {fact: True}).heeds == readings
    assert type("Says", (Scorer,), {"heeds": ("select",)}).heeds == ("select",)


@pytest.mark.parametrize(
    ("facts", "undersampled", "heeded"),
    yaml.safe_load("""
[[{classifier: true}, classifiers, true], [{classifier: true}, all, true],
 [{ranker: true}, classifiers, false], [{ranker: true}, all, true], [{}, all, false]]
"""),
)
def test_negatives_are_under_sampled_where_the_class_says_so(
    monkeypatch, facts, undersampled, heeded
):
    """A sweep keeps the levels of `undersample` for the scorers whose negatives it changes."""
    rows = []
    fit = {
        "fit": lambda self, features, clicked, random: rows.append(
            (int(clicked.sum()), len(clicked))
        )
    }
    third = type("Third", (Flat,), facts | fit | {"kind": "third"})
    monkeypatch.setitem(KINDS, "third", third)
    assert third.heeds_in("undersample", {"undersampled": undersampled}) is heeded
    fitted("third", settings=Settings(undersample=1, undersampled=undersampled))
    assert all((2 * clicks == count) is heeded for clicks, count in rows)
    assert len(rows) == 4


@every_kind
def test_a_model_learns_whom_to_show_what(kind):
    model = fitted(kind)
    right = np.mean(model.best(NEW) == NEW[:, :4].argmax(axis=1))
    assert right > (0.7 if kind == "filter-tree" else 0.8)  # chance: 0.25
    assert (model.kind, model.actions, model.untrained) == (kind, LOG.actions, ())


@every_kind
def test_equal_generators_give_equal_models_and_the_log_stays_as_it_is(kind):
    before = {name: column.copy() for name, column in LOG.columns().items()}
    settings = replace(FAST, undersample=2, undersampled="all")
    one, other = fitted(kind, settings=settings), fitted(kind, settings=settings)
    np.testing.assert_array_equal(one.best(NEW), other.best(NEW))
    if kind != "filter-tree":
        np.testing.assert_array_equal(one.scores(NEW), other.scores(NEW))
    for name, column in LOG.columns().items():
        np.testing.assert_array_equal(column, before[name])


@every_kind
def test_other_generators_give_other_models_if_the_learner_draws_random_numbers(kind):
    one, other = fitted(kind), fitted(kind, seed=1)
    if KINDS[kind].draws:
        assert np.any(one.scores(NEW) != other.scores(NEW))
    else:
        np.testing.assert_array_equal(one.best(NEW), other.best(NEW))


@pytest.mark.parametrize("kind", SCORERS)
def test_the_scorer_of_an_ad_learns_from_its_own_rows_alone(kind):
    settings = replace(FAST, standardise=False)  # whose mean is that of all rows
    reward = np.where(LOG.action == 1, 1 - LOG.reward, LOG.reward)
    scores = fitted(kind, settings=settings).scores(NEW)
    changed = fitted(kind, replace(LOG, reward=reward), settings=settings).scores(NEW)
    same = np.all(scores == changed, axis=0)
    assert same.tolist() == [True, False, True, True]


@every_kind
def test_the_best_ad_is_the_one_of_the_largest_score(kind):
    model = fitted(kind)
    best = model.best(NEW)
    assert best.dtype == np.int32
    assert best.shape == (600,)
    if kind == "filter-tree":
        return
    scores = model.scores(NEW)
    assert scores.shape == (600, 4)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    shifted = scores - model.thresholds["f1"] if KINDS[kind].ranker else scores
    reached = shifted[np.arange(600), best]
    np.testing.assert_allclose(reached, shifted.max(axis=1), atol=1e-5)


@every_kind
@pytest.mark.parametrize("state", ["no click", "only clicks", "never shown"])
def test_an_ad_that_nothing_can_be_learnt_of_is_never_chosen(kind, state):
    if state == "never shown":
        log = LOG.take(LOG.action != 2)
    else:
        log = replace(
            LOG, reward=np.where(LOG.action == 2, float(state == "only clicks"), LOG.reward)
        )
    model = fitted(kind, log)
    assert model.untrained == ("c",)
    assert set(model.best(NEW)) == {0, 1, 3}
    if kind != "filter-tree":
        assert np.all(model.scores(NEW)[:, 2] == -np.inf)
        assert np.isfinite(model.scores(NEW)[:, [0, 1, 3]]).all()


@pytest.mark.parametrize("kind", GRADED)
def test_rewards_other_than_clicks_are_learnt_from(kind):
    """All are above 0, and those of good ads larger on average."""
    reward = np.where(LOG.reward > 0, np.where(HEADS, 1.0, 1 / 3), np.where(HEADS, 0.2, 0.4))
    model = fitted(kind, replace(LOG, reward=reward))
    right = np.mean(model.best(NEW) == NEW[:, :4].argmax(axis=1))
    assert right > 0.5  # chance: 0.25
    assert model.untrained == ()


@every_kind
def test_where_nothing_can_be_learnt_the_first_ad_is_chosen(kind):
    model = fitted(kind, replace(LOG, reward=np.zeros(len(LOG))))
    assert model.untrained == LOG.actions
    assert not model.best(NEW).any()


@every_kind
def test_a_single_ad_that_can_be_learnt_is_always_chosen(kind):
    log = replace(LOG, reward=np.where(LOG.action == 3, LOG.reward, 0.0))
    assert np.all(fitted(kind, log).best(NEW) == 3)


@every_kind
def test_contexts_are_judged_one_by_one_and_models_can_be_kept(kind):
    model = fitted(kind)
    best = model.best(NEW)
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(np.concatenate([kept.best(NEW[:7]), kept.best(NEW[7:])]), best)
    assert model.best(NEW[:0]).shape == (0,)
