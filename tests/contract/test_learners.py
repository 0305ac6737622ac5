"""What every learner with full feedback keeps to, the compiled loop and the plain classes alike."""

from itertools import product

import numpy as np
import pytest
import yaml

from scant.errors import SettingError
from scant.measures import rank
from scant.randomness import generator
from scant.rankers import learners
from scant.rankers.learners import LEARNERS, MEASURES, Linear, Settings, UserLearner, class_of
from scant.rankers.play import play, play_plain, query_order, recorded

VARIANTS = yaml.safe_load("""
{slam-ap: {kind: slam, measure: ap}, slam-ndcg: {kind: slam, measure: ndcg},
 slam-ndcg@10: {kind: slam, measure: ndcg@10}, slam-settings: {kind: slam, measure: ndcg,
 trigger: ap, decay: 0.5, margin: 2.0, by_loss: true}, slam-averaged: {kind: slam, measure: ndcg@10,
 margin: grade-gap, averaged: true}, slam-averaged-ap: {kind: slam, measure: ap, averaged: true},
 max-hinge: {kind: max-hinge}, max-hinge-ap: {kind: max-hinge, measure: ap, decay: 0.25},
 listnet: {kind: listnet}, listnet-ap: {kind: listnet, measure: ap, decay: 0.0},
 slam-average: {kind: slam, iterate: average}, slam-suffix: {kind: slam, measure: ap,
 iterate: suffix}, max-hinge-average: {kind: max-hinge, iterate: average},
 listnet-suffix: {kind: listnet, iterate: suffix}, binary-perceptron: {kind: binary-perceptron},
 binary-perceptron-ap: {kind: binary-perceptron, measure: ap}, random: {kind: random},
 ideal: {kind: ideal}}
""")
SOURCES = ("text", "released-code")
CASES = {
    f"{name}, {source}": (VARIANTS[name], source) for name, source in product(VARIANTS, SOURCES)
}
every_case = pytest.mark.parametrize(("learner", "source"), CASES.values(), ids=CASES.keys())
every_kind = pytest.mark.parametrize("kind", LEARNERS)
# Each measure that runs may record, whole and cut: below, at and above the sizes of queries and the
# papers' 10.
FURTHER = ("err", "err@3", "precision@1", "precision@5", "dcg", "dcg@10", "ndcg@1", "ndcg@5")
FURTHER += ("ndcg@40", "ndcg@100")
LINEAR = [kind for kind, learner in LEARNERS.items() if issubclass(learner, Linear)]


def test_no_built_in_learner_is_left_out():
    assert {learner["kind"] for learner in VARIANTS.values()} == set(LEARNERS)
    assert {learner.get("measure", "ndcg@10") for learner in VARIANTS.values()} == set(MEASURES)


def odd_queries(random, features, relevant=None):
    """Queries of every odd kind: one document, none relevant, one grade, equal documents."""
    for q, m in enumerate([1, 2, 5, 12, 20, 33, 45] * 4):
        grades = random.integers(0, 5, m)
        if relevant:
            grades = np.r_[
                random.integers(1, 5, min(relevant, m)), np.zeros(max(0, m - relevant), int)
            ]
        elif q % 7 == q // 7:
            grades[:] = 0
        elif (q + 3) % 7 == q // 7:
            grades[:] = 3
        x = features(m)
        if m > 5:
            x[3], x[4] = x[0], x[1]
        yield grades, x


@pytest.fixture(scope="module")
def stream(packed):
    random = np.random.default_rng(11)
    return packed(odd_queries(random, lambda m: random.standard_normal((m, 9)).astype(np.float32)))


@pytest.fixture(scope="module")
def exact_stream(packed):
    """Features are of 1/64, and powers of two are relevant: perceptrons' sums have no rounding."""
    random = np.random.default_rng(12)
    return packed(odd_queries(random, lambda m: random.integers(-64, 65, (m, 9)) / 64, relevant=4))


def readings(source, simulated=True):
    return {"source": source, "stream_settings": {"generator": "linear"} if simulated else {}}


def made(stream, learner, source="text", rate=0.3, seed=3):
    noise = generator(seed, "noise")
    return class_of(learner["kind"]).from_study(
        learner, readings(source), stream.metadata, rate, noise
    )


def compiled_run(stream, learner, source="text", rate=0.3, empty="zero", rounds=90, measures=()):
    queries = query_order(stream, generator(3, "queries"), rounds, empty=empty)
    one = made(stream, learner, source, rate)
    return one.setup, queries, play(stream, queries, one, empty, measures)


def both(stream, learner, source, rate, empty="zero", rounds=90, measures=()):
    setup, queries, compiled = compiled_run(stream, learner, source, rate, empty, rounds, measures)
    other = made(stream, learner, source, rate)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = play_plain((stream[q] for q in queries), len(queries), other, empty, measures)
    return setup, queries, compiled, plain


def alike(compiled, plain):
    np.testing.assert_array_equal(compiled.updated, plain.updated)
    np.testing.assert_allclose(compiled.measured, plain.measured, rtol=1e-12)
    np.testing.assert_allclose(compiled.loss, plain.loss, rtol=1e-12, atol=1e-13)
    assert compiled.failed_in == plain.failed_in


@every_case
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_the_compiled_loop_is_the_plain_class(stream, learner, source, empty):
    settings, queries, compiled, plain = both(stream, learner, source, 0.3, empty)
    alike(compiled, plain)
    assert len(compiled.loss) == len(queries) == 90
    if settings.kind in LINEAR:
        assert compiled.updated.sum() > 10
        np.testing.assert_allclose(compiled.weights, plain.weights, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "learner", ["slam-ap", "slam-averaged-ap", "max-hinge", "binary-perceptron"]
)
@pytest.mark.parametrize("rate", [2.0**-5, 4.0])
def test_where_arithmetic_is_exact_they_are_equal_to_the_last_bit(exact_stream, learner, rate):
    _, _, compiled, plain = both(exact_stream, VARIANTS[learner], "text", rate, rounds=300)
    alike(compiled, plain)
    np.testing.assert_array_equal(compiled.weights, plain.weights)


@every_kind
def test_other_noise_gives_another_run_if_the_learner_draws_random_numbers(stream, kind):
    queries, runs = query_order(stream, generator(3, "queries"), 90), []
    for seed in (3, 4):
        one, other = (made(stream, {"kind": kind}, seed=seed) for _ in range(2))
        runs.append(
            (play(stream, queries, one), play_plain((stream[q] for q in queries), 90, other))
        )
    for one, other in zip(*runs, strict=True):
        assert np.array_equal(one.measured, other.measured) != LEARNERS[kind].draws


@every_case
@pytest.mark.parametrize("empty", ["zero", "one"])
def test_an_update_is_made_where_something_is_lost(stream, learner, source, empty):
    settings, queries, played = compiled_run(stream, learner, source, empty=empty)
    there = stream.relevant[queries] > 0
    assert not played.loss[~there].any()  # no ranking would have lost less
    np.testing.assert_array_equal(played.measured[~there], float(empty == "one"))
    if settings.kind == "binary-perceptron":
        np.testing.assert_array_equal(played.loss, played.updated)
        return
    measured = played.measured[:, list(MEASURES).index(settings.measure)]
    np.testing.assert_array_equal(played.loss[there], 1 - measured[there])
    # what is shown does not say so
    if settings.kind in ("slam", "max-hinge") and settings.iterate != "last":
        shown = {key: value for key, value in learner.items() if key != "iterate"}
        last = compiled_run(stream, shown, source, empty=empty)[2]
        np.testing.assert_array_equal(played.updated, last.updated)
    elif settings.kind in ("slam", "max-hinge"):
        trigger = played.measured[:, list(MEASURES).index(settings.trigger)]
        np.testing.assert_array_equal(played.updated, there & (trigger < 1))
    # every round; the released code's also where no document is relevant
    elif settings.kind == "listnet":
        np.testing.assert_array_equal(played.updated, there | (source == "released-code"))
    elif not LEARNERS[settings.kind].learns:
        assert not played.updated.any()


@every_case
def test_a_ranking_is_made_before_its_grades_are_seen(stream, learner, source):
    """A round measures the ranking by the weights of the rounds before it, or by their mean."""
    if learner["kind"] not in LINEAR:
        return
    queries = query_order(stream, generator(3, "queries"), 60)
    whole = play(stream, queries, made(stream, learner, source))
    for t, suffix in {0: 0, 1: 0, 7: 2, 30: 8, 59: 16}.items():
        start = {"last": t, "average": 0, "suffix": suffix}[learner.get("iterate", "last")]
        before = (
            play(stream, queries[:u], made(stream, learner, source)) for u in range(start, t + 1)
        )
        weights = np.mean([played.weights for played in before], axis=0)
        features, grades = stream[queries[t]]
        ranking = rank((features.astype(float) @ weights).astype(np.float32))
        expected = [measure(ranking, grades) for measure in MEASURES.values()]
        np.testing.assert_allclose(whole.measured[t], expected, rtol=1e-12)


def test_a_learner_without_a_branch_of_the_compiled_loop_plays_as_it_is(stream):
    class Plain(learners.Slam):
        branch = None

    queries, slam = query_order(stream, generator(3, "queries"), 90), {"kind": "slam"}
    one, other = (
        Plain.from_study(slam, readings("text"), stream.metadata, 0.3, generator(3))
        for _ in range(2)
    )
    whole, plain = play(stream, queries, one), play_plain((stream[q] for q in queries), 90, other)
    for name in ("measured", "loss", "updated", "weights"):
        assert getattr(whole, name).tobytes() == getattr(plain, name).tobytes()
    assert one.round == 90  # the compiled loop counts for itself


def test_the_plain_loop_asks_for_grades_after_the_ranking(monkeypatch):
    shown = []

    class Mine:
        def __init__(self, features, rate, random):
            pass

        def rank(self, features):
            shown.append("ranking")
            return rank(features[:, 0])

        def learn(self, features, grades, ranking):
            shown.append("learning")

    def answer(ranking):
        shown.append("grades")
        return np.array([0, 1, 2])

    features = np.array([[1.0], [3.0], [2.0]])
    monkeypatch.setattr(learners, "own_class", {"mine:Mine": Mine}.get)
    learner = UserLearner.from_study(
        {"kind": "mine:Mine"}, readings("text"), {"features": 1}, 1.0, generator(0)
    )
    played = play_plain([(features, answer)] * 2, 2, learner)
    assert shown == ["ranking", "grades", "learning"] * 2
    assert played.measured[0] == pytest.approx(
        [measure([1, 2, 0], [0, 1, 2]) for measure in MEASURES.values()]
    )
    assert (played.weights, played.updated.tolist(), played.failed_in) == (None, [0, 0], 0)


# --- further measures
@every_kind
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_further_measures_are_those_of_the_plain_loop_and_change_nothing_else(stream, kind, empty):
    _, queries, compiled, plain = both(stream, {"kind": kind}, "text", 0.3, empty, measures=FURTHER)
    alike(compiled, plain)
    assert compiled.measured.shape == plain.measured.shape == (90, len(MEASURES) + len(FURTHER))
    without = compiled_run(stream, {"kind": kind}, empty=empty)[2]
    assert compiled.measured[:, : len(MEASURES)].tobytes() == without.measured.tobytes()
    for name in ("loss", "updated", "weights"):
        assert getattr(compiled, name).tobytes() == getattr(without, name).tobytes()
    nothing = compiled.measured[stream.relevant[queries] == 0, len(MEASURES) :]
    normalised = [float(empty == "one" and name.startswith("ndcg")) for name in FURTHER]
    np.testing.assert_array_equal(nothing, np.broadcast_to(normalised, nothing.shape))
    assert len(nothing) > 0 or empty == "skip"


def test_the_ideal_ranking_has_the_greatest_of_each(stream):
    queries = query_order(stream, generator(3, "queries"), 90, empty="skip")
    names, plays = recorded(FURTHER), {}
    for kind in ("ideal", "random"):
        plays[kind] = play(stream, queries, made(stream, {"kind": kind}), "skip", FURTHER).measured
    assert (plays["ideal"] >= plays["random"] - 1e-12).all()
    normalised = [name.startswith(("ndcg", "ap")) for name in names]
    assert (plays["ideal"][:, normalised] == 1).all()  # to the last bit, at every cut


# --- rates
RATES = 2.0 ** np.arange(-7, 8)


def traces(stream, learner, source):
    return [compiled_run(stream, learner, source, rate)[2].measured.tobytes() for rate in RATES]


@pytest.mark.parametrize(
    ("learner", "source"),
    [
        ("max-hinge", "text"),
        ("max-hinge", "released-code"),  # its step is the round's loss, times t^-1/2
        ("max-hinge-ap", "text"),
        ("binary-perceptron", "text"),
    ],
)
def test_the_rate_of_these_changes_no_ranking(stream, learner, source):
    assert len(set(traces(stream, VARIANTS[learner], source))) == 1


@pytest.mark.parametrize("learner", ["slam-ap", "max-hinge", "listnet", "binary-perceptron"])
@pytest.mark.parametrize("rate", [1e38, 1e300])
def test_scores_that_are_not_finite_end_the_play(stream, learner, rate):
    _, queries, compiled, plain = both(stream, VARIANTS[learner], "text", rate)
    alike(compiled, plain)
    assert 1 < compiled.failed_in <= len(queries)
    assert (
        len(compiled.loss)
        == len(compiled.measured)
        == len(compiled.updated)
        == compiled.failed_in - 1
    )
    assert np.isfinite(compiled.measured).all()


# --- settings
def complete(learner, source="text", simulated=False):
    """The complete settings of a learner, and its rates."""
    cls, of_run = class_of(learner.get("kind", "")), readings(source, simulated)
    return cls.complete_settings(learner, of_run, {}), cls.rates(learner, of_run)


def test_what_the_readings_make_of_a_learner():
    result = complete({"kind": "slam", "measure": "ap", "rates": [0.5, "theory"]})
    assert result == (Settings("slam", "ap", "ap"), [0.5, "theory"])
    assert complete({"kind": "listnet"}) == (Settings("listnet", "ndcg@10", "ndcg@10", 0.5), [1.0])
    assert complete({"kind": "listnet", "decay": 0.0})[0].decay == 0
    assert complete({"kind": "random"})[1] == [None]
    released = {
        "slam": Settings("slam", "ap", "ndcg@10", 0.5, False, "grade-gap", True),
        "max-hinge": Settings("max-hinge", "ap", "ndcg@10", 0.0, True),
        "listnet": Settings("listnet", "ap", "ap", 0.5, learn_on_empty=True),
        "random": Settings("random", "ap", "ap"),
    }
    for kind, settings in released.items():
        result = complete({"kind": kind, "measure": "ap", "rates": [9.0]}, "released-code")[0]
        assert result == settings
    # the code has one rate, whatever the study's grid
    for kind in ("slam", "max-hinge", "listnet"):
        assert complete({"kind": kind, "rates": [3.0, "theory"]}, "released-code")[1] == [1.0]
    assert complete({"kind": "max-hinge"}, "released-code", simulated=True)[0].decay == 0.5


OWN = """
from scant.measures import rank

class First:
    def __init__(self, features, rate, random, place=0):
        self.made = (features, rate, random.random(), place)

    def rank(self, features):
        return rank(features[:, self.made[-1]])

    def learn(self, features, grades, ranking):
        return True
"""


def test_a_learner_of_ones_own(stream, tmp_path, monkeypatch):
    (tmp_path / "own_learner.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    learner = made(stream, {"kind": "own_learner:First", "options": {"place": 2}}, rate=0.5)
    assert learner.player.made == (9, 0.5, generator(3, "noise").random(), 2)
    played = play(stream, np.arange(len(stream)), learner)
    assert played.updated.all()
    for q in (0, 9, 20):
        x, grades = stream[q]
        assert played.measured[q, 2] == MEASURES["ap"](rank(x[:, 2]), grades)
    for kind in ("own_learner:Second", "no_such_module:First"):
        with pytest.raises(SettingError, match=f"'{kind}' cannot be imported .*module:Class"):
            made(stream, {"kind": kind})
    with pytest.raises(SettingError, match=r"cannot be made with its options: .*'places'"):
        made(stream, {"kind": "own_learner:First", "options": {"places": 2}})
