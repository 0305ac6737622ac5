"""Scorers minimise what they say, models choose what they say, and lambda is selected as said."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from scant.ads import run
from scant.bandits import learners, scorers
from scant.bandits.learners import KINDS, LAMBDAS, Logistic
from scant.bandits.policies import threshold
from scant.bandits.scorers import Model, Settings
from scant.data.logs import Log
from scant.errors import DataError, SettingError
from scant.kernels import pairs

SCORERS = [kind for kind, learner in KINDS.items() if learner.learns == "ad"]


def log_of(features, action, reward, propensity=0.5, actions=None):
    features, action = np.asarray(features, np.float32), np.asarray(action, np.int32)
    ids = tuple(f"ad{a}" for a in range(actions or action.max() + 1))
    propensity = np.broadcast_to(np.float64(propensity), action.shape).copy()
    names = tuple(f"f{j}" for j in range(features.shape[1]))
    return Log(features, action, np.asarray(reward, np.float64), propensity, ids, names)


def drawn(seed, rows=300, d=4, actions=3, rate=0.3):
    """A log of a uniform policy, in which ad a is clicked where feature a is large."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((rows, d)).astype(np.float32)
    action = random.integers(0, actions, rows)
    reward = random.random(rows) < rate * 2 / (
        1 + np.exp(-2 * features[np.arange(rows), action % d])
    )
    return log_of(features, action, reward, 1 / actions, actions)


def fitted(kind, features, clicked, regularisation=0.01, **options):
    model = learners.made(kind, regularisation, options)
    model.fit(features, clicked, np.random.default_rng(0))
    return model


def linear(weights, intercept=0.0):
    model = Logistic(0.1, 1)
    model.weights, model.intercept = weights, intercept
    return model


def examples(seed, rows=400, d=8, rate=0.1, shift=0.7):
    random = np.random.default_rng(seed)
    clicked = random.random(rows) < rate
    features = random.standard_normal((rows, d)) + shift * clicked[:, None] * random.random(d)
    return ((features - features.mean(axis=0)) / features.std(axis=0)).astype(np.float32), clicked


# --- stochastic gradient descent reaches the optimum
def logistic_objective(model, x, clicked, regularisation):
    margin = (x @ model.weights + model.intercept) * np.where(clicked, 1, -1)
    return np.logaddexp(0, -margin).mean() + regularisation / 2 * model.weights @ model.weights


def pair_objective(weights, x, clicked, regularisation, loss):
    margin = np.subtract.outer(x[clicked] @ weights, x[~clicked] @ weights)
    value = np.maximum(0, 1 - margin) if loss == "hinge" else np.logaddexp(0, -margin)
    return value.mean() + regularisation / 2 * weights @ weights


SETS = {"few clicks": (0, 400, 8, 0.1, 0.7), "separable": (1, 150, 6, 0.2, 9.0)}
SETS |= {"more features": (2, 60, 90, 0.2, 0.5)}
every_set = pytest.mark.parametrize("made", SETS.values(), ids=SETS.keys())


@every_set
@pytest.mark.parametrize("regularisation", LAMBDAS)
def test_the_logistic_scorer_is_at_scikit_learns_optimum(made, regularisation):
    x, clicked = examples(*made)
    found = fitted("logistic", x, clicked, regularisation)
    peer = LogisticRegression(C=1 / (regularisation * len(x)), tol=1e-10, max_iter=10_000).fit(
        x.astype(float), clicked
    )
    least = logistic_objective(
        linear(peer.coef_[0], peer.intercept_[0]), x, clicked, regularisation
    )
    value = logistic_objective(found, x, clicked, regularisation)
    assert least * (1 - 1e-7) <= value <= least * 1.002
    if regularisation >= 0.1:
        assert value <= least * (1 + 1e-5)
        assert found.intercept == pytest.approx(peer.intercept_[0], abs=0.005)


def pairs_peer(loss, C):
    """Scikit-learn's minimiser of the logistic loss, or, by a quadratic programme, of the hinge."""
    if loss == "logistic":
        return LogisticRegression(C=C, tol=1e-10, max_iter=10_000, fit_intercept=False)
    return LinearSVC(
        C=C, loss="hinge", fit_intercept=False, tol=1e-6, max_iter=20_000, random_state=0
    )


@every_set
@pytest.mark.parametrize("regularisation", [min(LAMBDAS), max(LAMBDAS)])
@pytest.mark.parametrize(
    ("loss", "below", "above"), [("logistic", 1e-7, (1e-4, 0)), ("hinge", 1e-4, (0.002, 5e-5))]
)
def test_the_ranker_is_at_scikit_learns_optimum_on_all_pairs(
    made, regularisation, loss, below, above
):
    x, clicked = examples(*made)
    found = fitted("auc-ranker", x, clicked, regularisation, pair_loss=loss)
    differences = (x[clicked].astype(float)[:, None] - x[~clicked][None]).reshape(-1, x.shape[1])
    # two classes
    both, label = np.concatenate([differences, -differences]), np.repeat([1, 0], len(differences))
    peer = pairs_peer(loss, 1 / (regularisation * len(both))).fit(both, label)
    least = pair_objective(peer.coef_[0], x, clicked, regularisation, loss)
    value = pair_objective(found.weights, x, clicked, regularisation, loss)
    assert least * (1 - below) <= value <= least * (1 + above[0]) + above[1]
    assert found.intercept == 0


def test_one_step_from_nothing_is_the_gradient_step():
    positive, negative = np.array([[3, 1]], np.float32), np.array([[1, 2]], np.float32)
    for hinge, slope in ((False, 0.5), (True, 1.0)):
        weights = pairs.descend_pairs(
            positive, negative, 0.5, 3.0, 1, hinge, np.random.default_rng(0)
        )
        np.testing.assert_allclose(weights, slope * np.array([2, -1]) / (0.5 * 4))
    weights, intercept = pairs.descend_examples(
        positive, np.array([True]), 0.5, 3.0, 0.0, 1, np.random.default_rng(0)
    )
    np.testing.assert_allclose(weights, 0.5 * positive[0] / (0.5 * 4))
    assert intercept == 2.0


# --- bad input
def trained(kind, log, settings=None, **options):
    """A model that is learnt with seed 0; options are those of the learner."""
    settings = settings or Settings(options=options)
    return scorers.train(kind, log, np.random.default_rng(0), settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"regularisation": 0}, "lambda must be a number above 0"),
        ({"undersample": 0}, "undersample is 0"),
        ({"undersample": 1.5}, "whole number"),
        ({"undersampled": "rankers"}, "unknown undersampled"),
    ],
)
def test_settings_that_cannot_be(settings, reason):
    with pytest.raises(SettingError, match=reason):
        Settings(**settings)


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("logistic", {"steps": 0}, "logistic: steps: 0 is less than the minimum of 1"),
        ("forest", {"tree": 3}, "did you mean 'trees'"),
    ],
)
def test_settings_of_learners_that_cannot_be(kind, options, reason):
    with pytest.raises(SettingError, match=reason):
        learners.check_options(kind, options)
    with pytest.raises(SettingError, match=reason):
        run.fits(kind, drawn(0), np.random.default_rng(0), Settings(options=options))


def test_an_unknown_kind_and_rewards_that_are_no_clicks():
    log = drawn(0)
    for kind, reason in (("forrest", "did you mean 'forest'"), ("uniform", "is a control")):
        with pytest.raises(SettingError, match=reason):
            trained(kind, log)
    half = replace(log, reward=np.where(np.arange(300) == 7, 0.5, log.reward))
    for kind in ("logistic", "auc-ranker"):
        with pytest.raises(DataError, match=rf"row 8: reward 0\.5; {kind} learns from clicks"):
            trained(kind, half)
    with pytest.raises(SettingError, match=r"rewards are no clicks \(row 8: reward 0\.5\)"):
        trained("forest", half, Settings(undersample=1))


# --- steps that follow from an ad's rows
@pytest.mark.parametrize(
    ("passes", "options", "expected"),
    [
        (None, {}, [1_000_000] * 3),
        (None, {"steps": 7}, [7] * 3),
        (1, {}, [50_000, 50_000, 60_000]),
        (20, {}, [50_000, 60_000, 1_000_000]),
        (20, {"steps": 55_000}, [50_000, 55_000, 55_000]),
    ],
)
@pytest.mark.parametrize("kind", ["logistic", "auc-ranker"])
def test_steps_make_so_many_passes_over_the_rows_of_an_ad(
    monkeypatch, kind, passes, options, expected
):
    seen = []

    def fit(self, features, clicked, random):
        seen.append(self.steps)
        self.weights = np.zeros(1)

    monkeypatch.setattr(KINDS[kind], "fit", fit)
    action = np.repeat([0, 1, 2], [100, 3000, 60_000])
    log = log_of(np.zeros((len(action), 1)), action, np.arange(len(action)) % 2)
    scorers.train(kind, log, np.random.default_rng(0), Settings(options=options, passes=passes))
    assert seen == expected


def test_passes_are_over_the_rows_that_are_kept(monkeypatch):
    seen = []
    monkeypatch.setattr(scorers, "LEAST_STEPS", 1)
    monkeypatch.setattr(Logistic, "fit", lambda self, x, y, _: seen.append((self.steps, len(y))))
    trained("logistic", drawn(0), Settings(undersample=1, passes=3))
    assert [steps for steps, _ in seen] == [3 * rows for _, rows in seen] and len(seen) == 3
    result = trained("forest", drawn(0), Settings(options={"trees": 1}, passes=3)).scorers[0].trees
    assert result == 1


# --- under-sampling
@given(st.lists(st.booleans(), max_size=40), st.integers(1, 3), st.integers(0, 1000))
def test_under_sampling_keeps_the_clicks_and_so_many_others(clicked, ratio, seed):
    clicked = np.array(clicked, bool)
    kept = scorers.undersample(clicked, ratio, np.random.default_rng(seed))
    assert np.all(np.diff(kept) > 0) and {*np.flatnonzero(clicked)} <= {*kept}
    assert (~clicked[kept]).sum() == min(ratio * clicked.sum(), (~clicked).sum())


def rows_learnt_from(monkeypatch, kind, settings):
    seen = []

    def fit(self, features, clicked, random):
        seen.append((int(clicked.sum()), len(clicked)))

    monkeypatch.setattr(KINDS[kind], "fit", fit)
    monkeypatch.setattr(KINDS[kind], "score", lambda self, features: np.zeros(len(features)))
    log = drawn(1, rows=3000, rate=0.1)
    scorers.train(kind, log, np.random.default_rng(0), settings)
    whole = [
        (int(log.reward[log.action == a].sum()), int((log.action == a).sum())) for a in range(3)
    ]
    return seen, whole


@pytest.mark.parametrize("kind", SCORERS)
@pytest.mark.parametrize("whose", scorers.UNDERSAMPLED)
def test_whose_negatives_are_under_sampled(monkeypatch, kind, whose):
    seen, whole = rows_learnt_from(monkeypatch, kind, Settings(undersample=2, undersampled=whose))
    if kind == "auc-ranker" and whose == "classifiers":
        assert seen == whole
    else:
        assert seen == [(clicks, 3 * clicks) for clicks, _ in whole]
    seen, whole = rows_learnt_from(monkeypatch, kind, Settings(undersampled=whose))
    assert seen == whole


# --- models
def linear_model(weights, kind="logistic", untrained=(), thresholds=None, centre=None, width=None):
    weights = np.asarray(weights, float)
    ids = tuple(f"ad{a}" for a in range(len(weights)))
    made = tuple(
        None if name in untrained else linear(w) for name, w in zip(ids, weights, strict=True)
    )
    d = weights.shape[1]
    centre = np.zeros(d, np.float32) if centre is None else np.asarray(centre, np.float32)
    width = np.ones(d, np.float32) if width is None else np.asarray(width, np.float32)
    return Model(kind, ids, centre, width, untrained, made, None, thresholds or {})


def test_the_best_ad_has_the_largest_score_and_ties_go_to_the_first():
    model = linear_model([[1, 0], [0, 1], [1, 1]], untrained=("ad2",))
    features = np.array([[2, 1], [1, 3], [1, 1], [-1, -2]], np.float32)
    assert model.best(features).tolist() == [0, 1, 0, 0]
    assert model.best(features).dtype == np.int32
    assert model.scores(features)[:, :2].tolist() == features.tolist()
    assert np.all(model.scores(features)[:, 2] == -np.inf)


def test_rankers_are_compared_less_their_thresholds():
    shifts = {"f1": np.array([0.0, 5.0]), "recall": np.array([9.0, 0.0]), "precision": np.zeros(2)}
    model = linear_model([[1, 0], [0, 1]], "auc-ranker", thresholds=shifts)
    features = np.array([[2, 6], [2, 8], [9, 1]], np.float32)
    assert model.best(features).tolist() == [0, 1, 0]
    assert model.best(features, "recall").tolist() == [1, 1, 1]
    assert model.best(features, "precision").tolist() == [1, 1, 0]
    assert (
        model.best(features, "none").tolist()
        == model.scores(features).argmax(axis=1).tolist()
        != [0, 1, 0]
    )


def test_features_are_scaled_as_in_training():
    model = linear_model([[1, 0], [0, 1]], centre=[10, 0], width=[2, 4])
    assert model.scores(np.array([[14, 4]], np.float32)).tolist() == [[2, 1]]
    log = drawn(3)
    wide = replace(log, features=log.features * np.float32(8) + np.float32(4))
    models = [trained("logistic", one, steps=3000) for one in (log, wide)]
    scores = [model.scores(one.features) for model, one in zip(models, (log, wide), strict=True)]
    np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(models[1].centre, wide.features.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(models[1].width, wide.features.std(axis=0), rtol=1e-5)
    as_is = trained("logistic", wide, Settings(standardise=False, options={"steps": 30}))
    assert not as_is.centre.any() and np.all(as_is.width == 1)


def test_a_constant_feature_has_no_weight_even_where_it_varies_later():
    log = drawn(4)
    log.features[:, 1] = 1e7 + 1
    other = log.features.copy()
    other[:, 1] = 5
    for kind in ("logistic", "auc-ranker"):
        model = trained(kind, log, steps=500)
        assert all(one.weights[1] == 0 and one.weights[0] != 0 for one in model.scorers)
        np.testing.assert_allclose(model.scores(other), model.scores(log.features), rtol=1e-5)


@pytest.mark.parametrize("kind", SCORERS)
def test_ads_do_not_share_random_numbers(kind):
    log, ads = drawn(10, actions=1), np.tile([0, 1], 300)
    twice = log_of(np.repeat(log.features, 2, axis=0), ads, np.repeat(log.reward, 2))
    options = {"trees": 5} if kind == "forest" else {"steps": 1000}
    scores = trained(kind, twice, **options).scores(log.features)
    assert np.any(scores[:, 0] != scores[:, 1])
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1.0)


def test_a_rankers_thresholds_are_those_of_the_rows_that_it_learnt_from():
    log = drawn(5)
    model = trained("auc-ranker", log, steps=2000)
    scores = model.scores(log.features)
    for by, values in model.thresholds.items():
        for ad in range(3):
            held = log.action == ad
            best = threshold(scores[held, ad], log.reward[held] > 0, by)
            assert values[ad] == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert set(model.thresholds) == {"precision", "recall", "f1"}
    assert not trained("logistic", log, steps=10).thresholds


def test_large_inputs_are_scored_in_chunks(monkeypatch):
    model = linear_model([[1, 0], [0, 1]])
    features = np.random.default_rng(0).random((23, 2)).astype(np.float32)
    whole = model.scores(features)
    monkeypatch.setattr(scorers, "CHUNK", 20)  # five rows
    np.testing.assert_array_equal(model.scores(features), whole)
    np.testing.assert_array_equal(model.best(features), whole.argmax(axis=1))


# --- peers
def test_one_against_all_is_ridge_regression_of_the_importance_weighted_reward():
    log = drawn(6)
    log = replace(log, propensity=np.random.default_rng(0).uniform(0.2, 0.6, len(log)))
    x = log.features.astype(float)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    scores = trained("cost-sensitive-oaa", log, Settings(0.3)).scores(log.features)
    for ad in range(3):
        target = np.where(log.action == ad, log.reward / log.propensity, 0)
        weights = np.linalg.solve(x.T @ x / len(x) + 0.3 * np.eye(4), x.T @ target / len(x))
        np.testing.assert_allclose(scores[:, ad], x @ weights + target.mean(), atol=1e-4)


def test_a_filter_tree_worked_by_hand():
    # Clicks: ad 0 where x < 0, ad 1 where x > 0, ad 2 at both ends with thrice their weight, ad 3
    # thrice in between.
    x = np.array([-3, -1, 1, 3, -3.1, 3.1, -0.9, 0.9, 0.1, -0.1, 0.2, -0.2])
    action = np.array([0, 0, 1, 1, 2, 2, 0, 1, 3, 3, 3, 3])
    reward = np.array([1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1])
    propensity = np.where(action == 2, 1 / 6, 1 / 2)
    log = log_of(x[:, None], action, reward, propensity, 4)
    # nothing but clicks
    assert trained("filter-tree", log, Settings(1e-3)).untrained == ("ad0", "ad1", "ad2")
    added = ([5.0] * 3, [0, 1, 2], [0, 0, 0], [0.5] * 3)
    columns = zip((x, action, reward, propensity), added, strict=True)
    x, *others = (np.append(*both) for both in columns)
    more = log_of(x[:, None], *others, 4)
    model = trained("filter-tree", more, Settings(1e-3))
    assert model.untrained == ()
    (left, right, first), (other_left, other_right, second), final = model.whole.matches
    assert (left, right, other_left, other_right) == (0, 1, 2, 3)
    assert final[:2] == (4, 5)
    grid = np.array([[-2.0], [-0.5], [0.5], [2.0]], np.float32)
    scaled = (grid - model.centre) / model.width
    assert first.predict(scaled).tolist() == [True, True, False, False]
    # Ad 2's two clicks weigh 6 each against ad 3's three of 2, and both lie on either side: ad 2
    # wins everywhere.
    assert second.predict(scaled).all()
    # In the final 6 + 6 stand against six clicks of 2: the sides are level, and so is x.
    weight = {True: 0.0, False: 0.0}
    below = np.where(first.predict((more.features - model.centre) / model.width), 0, 1)
    for row in range(len(more)):
        if more.action[row] in (below[row], 2):
            weight[bool(more.action[row] == below[row])] += more.reward[row] / more.propensity[row]
    assert weight == {True: pytest.approx(12), False: pytest.approx(12)}
    with pytest.raises(SettingError, match="without scoring"):
        model.scores(grid)


def test_a_filter_tree_with_an_odd_ad_and_matches_without_rows():
    # Ad 1 is never clicked; ad 0 only on the left and ad 2 on the right, ad 3 everywhere: leaves 0,
    # 2, 3.
    x = np.array([-2, -1, -2, -1, 1, 2, 1, 2, -3, 3, 0, 0.0])
    action = np.array([0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 1, 3])
    reward = np.array([1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1])
    log = log_of(x[:, None], action, reward, 0.25, 4)
    model = trained("filter-tree", log, Settings(0.01))
    assert model.untrained == ("ad1",)
    assert model.whole.leaves.tolist() == [0, 2, 3]
    assert [match[:2] for match in model.whole.matches] == [(0, 1), (3, 2)]
    assert model.best(np.array([[-1.5], [1.5]], np.float32)).tolist() == [0, 2]


@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 9), st.sampled_from(LAMBDAS))
@settings(max_examples=20, deadline=None)
def test_a_referee_is_the_logistic_regression_of_scikit_learn(seed, rows, d, regularisation):
    random = np.random.default_rng(seed)
    features = random.standard_normal((rows, d)).astype(np.float32)
    gain = random.choice([-2.0, -0.5, 0.0, 0.0, 1.0, 3.0], rows)
    gain[:2] = 1.0, -0.5
    referee, kept = learners._referee(features, gain, regularisation), gain != 0
    peer = LogisticRegression(C=1 / (regularisation * np.abs(gain).sum()), max_iter=1000)
    peer.fit(features[kept].astype(float), gain[kept] > 0, np.abs(gain[kept]))
    np.testing.assert_allclose(referee.weights, peer.coef_[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(referee.intercept, peer.intercept_[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(referee.predict(features), peer.predict(features))


def test_constant_referees():
    features = np.zeros((3, 1), np.float32)
    assert learners._referee(features, np.array([1.0, 0, 2]), 1.0) is True
    assert learners._referee(features, np.array([-1.0, 0, -2]), 1.0) is False
    assert learners._referee(features, np.zeros(3), 1.0) is True  # no row: the left one
    left, right = np.zeros(3), np.ones(3)
    assert learners._decide(True, features, left, right) is left
    assert learners._decide(False, features, left, right) is right


# --- forests
FIRST = int(np.random.default_rng(0).integers(2**31))  # the seed that a forest draws for its trees


@given(
    st.integers(0, 10**6),
    st.integers(2, 150),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 200),
    st.integers(1, 30),
)
@settings(max_examples=30, deadline=None)
def test_a_forest_is_that_of_scikit_learn(seed, rows, d, trees, tree_rows, leaf):
    random = np.random.default_rng(seed)
    # ties at thresholds
    features = random.standard_normal((rows, d)).astype(np.float32).round(random.integers(3))
    clicked = random.permutation(np.arange(rows) < random.integers(1, rows))
    forest = fitted("forest", features, clicked, 1.0, trees=trees, leaf=leaf, tree_rows=tree_rows)
    most = tree_rows if tree_rows < rows else None
    peer = RandomForestClassifier(
        trees, min_samples_leaf=leaf, max_samples=most, random_state=FIRST
    )
    others = random.standard_normal((50, d)).astype(np.float32).round(1)
    expected = peer.fit(features, clicked).predict_proba(np.concatenate([features, others]))[:, 1]
    np.testing.assert_array_equal(forest.score(np.concatenate([features, others])), expected)


@given(st.integers(0, 10**6), st.integers(2, 150), st.integers(1, 9), st.integers(1, 30))
@settings(max_examples=20, deadline=None)
def test_a_forest_of_rewards_is_that_of_scikit_learns_regression_trees(seed, rows, d, leaf):
    random = np.random.default_rng(seed)
    features = random.standard_normal((rows, d)).astype(np.float32).round(random.integers(3))
    rewards = random.random(rows).round(random.integers(1, 4))
    rewards[:2] = 0.25, 0.75
    forest = fitted("forest", features, rewards, trees=5, leaf=leaf)
    peer = RandomForestRegressor(5, min_samples_leaf=leaf, max_features="sqrt", random_state=FIRST)
    expected = peer.fit(features, rewards).predict(features)
    np.testing.assert_allclose(forest.score(features), expected, rtol=0, atol=1e-12)


def test_a_forest_scores_rows_of_several_blocks():
    features, clicked = examples(3)
    forest = fitted("forest", features, clicked, trees=7)
    many = np.random.default_rng(0).standard_normal((10_000, 8)).astype(np.float32)
    peer = RandomForestClassifier(7, random_state=FIRST).fit(features, clicked)
    np.testing.assert_array_equal(forest.score(many), peer.predict_proba(many)[:, 1])


# --- lambda
def test_a_grid_has_a_paired_model_for_each_lambda():
    log = drawn(7)

    def grid_of(kind, lambdas, undersample=None, **options):
        settings = Settings(undersample=undersample, options=options)
        return scorers.fit_grid(kind, log, np.random.default_rng(1), lambdas, settings)

    grid = grid_of("logistic", (0.1, 10), 1, steps=2000)
    assert list(grid) == [0.1, 10]
    again = grid_of("logistic", (10,), 1, steps=2000)
    np.testing.assert_array_equal(grid[10].scores(log.features), again[10].scores(log.features))
    norms = [sum(np.linalg.norm(one.weights) for one in grid[value].scorers) for value in (0.1, 10)]
    assert norms[0] > 3 * norms[1]
    for lambdas in ((), (1, 1), (1, 0)):
        with pytest.raises(SettingError, match="lambda"):
            grid_of("logistic", lambdas, steps=10)


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 99))
def test_a_split_is_one(rows, share, seed):
    log = log_of(np.arange(rows)[:, None], np.arange(rows) % 2, np.zeros(rows), actions=2)
    count = round(share * rows)
    if count in (0, rows):
        with pytest.raises(SettingError, match="without any"):
            scorers.split(log, share, np.random.default_rng(seed))
        return
    one, other = scorers.split(log, share, np.random.default_rng(seed))
    assert len(other) == count
    assert sorted([*one.features[:, 0], *other.features[:, 0]]) == list(range(rows))
    assert all(np.all(np.diff(part.features[:, 0]) > 0) for part in (one, other))
    assert np.array_equal(other.action, other.features[:, 0] % 2)


def test_validation_is_the_importance_weighted_click_rate():
    models = {1.0: linear_model([[1], [0]]), 10.0: linear_model([[0], [1]])}
    log = log_of([[1], [1], [-1], [-1]], [0, 1, 0, 1], [1, 1, 0, 1], [0.5, 0.25, 0.5, 0.8])
    assert scorers.validate(models, log) == pytest.approx({1.0: (2 + 1.25) / 4, 10.0: 4 / 4})
    thresholds = {"f1": np.zeros(2), "recall": np.array([9.0, 0])}
    ranker = linear_model([[1], [0]], "auc-ranker", thresholds=thresholds)
    assert scorers.validate({1.0: ranker}, log, "recall") == {1.0: pytest.approx((4 + 1.25) / 4)}


def test_the_best_lambda_is_selected():
    none = dict.fromkeys((0.01, 0.1, 1, 10), 0.0)
    assert scorers.select({0.01: 0.9, 0.1: 0.1, 1: 0.2, 10: 0.3}, none) == 0.01
    equal = {0.01: 0.2, 0.1: 0.3, 1: 0.3, 10: 0.1}
    assert scorers.select(equal, none) == 1  # the larger of two equals
    assert scorers.select(equal, none | {0.1: 0.4, 1: 0.5}) == 0.1  # that of the smaller loss
