"""What learners that see the top of rankings keep to, compiled loop and plain class alike."""

import importlib.util
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from scant.data import simulated
from scant.errors import SettingError
from scant.measures import ndcg, rank
from scant.randomness import generator
from scant.rankers import learners
from scant.rankers.estimators import value_and_gradient
from scant.rankers.play import play, play_plain, query_order
from scant.rankers.top import DESCENDING, LOSSES, OBJECTIVES, SCHEDULES, Settings, Top

READINGS = {"source": "text", "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": None}
RTOP = ("squared", "kl", "smoothdcg", "ranksvm")
EXPLORED, MISMATCHED, CLIPPED, IDLE = range(4)


@pytest.fixture(scope="module")
def digits(packed):
    """Real: which handwritten digits are the query's? No package of sklearn is imported."""
    root = Path(importlib.util.find_spec("sklearn").origin).parent
    table = np.loadtxt(root / "datasets/data/digits.csv.gz", delimiter=",")
    queries, _ = simulated.retrieval(np.random.default_rng(1), table[:, :-1], table[:, -1], 60, 12)
    return packed((grades, x) for _, grades, x in queries)


@pytest.fixture(params=["digits", "noisy", "odd"])
def stream(request):
    return request.getfixturevalue(request.param)


def complete(learner, readings, rounds):
    """The complete settings of a learner; readings are those that differ from READINGS."""
    kind = DESCENDING[learner["kind"]]
    return kind.complete_settings(learner, READINGS | readings, {"rounds": rounds})


def after(stream, queries, settings, rate, seed=3):
    """The play of these queries in the compiled loop."""
    return play(stream, queries, Top(stream.metadata, rate, settings, generator(seed, "noise")))


def compiled(stream, settings, rate, rounds=60, seed=3, empty="zero", measures=()):
    queries = query_order(stream, generator(seed, "queries"), rounds)
    learner = Top(stream.metadata, rate, settings, generator(seed, "noise"))
    return play(stream, queries, learner, empty, measures)


def plain(stream, settings, rate, rounds=60, seed=3, empty="zero", measures=()):
    queries = query_order(stream, generator(seed, "queries"), rounds)
    learner = Top(stream.metadata, rate, settings, generator(seed, "noise"))
    return play_plain((stream[q] for q in queries), rounds, learner, empty, measures)


def alike(one, two):
    assert one.failed_in == two.failed_in
    np.testing.assert_array_equal(one.events, two.events)
    np.testing.assert_array_equal(one.updated, two.updated)
    for name in ("measured", "loss", "ranker"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(two, name), rtol=1e-12, atol=1e-13, err_msg=name
        )
    np.testing.assert_allclose(one.surrogate, two.surrogate, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-6, atol=1e-8)


# --- the compiled loop is the plain class
@pytest.mark.parametrize("source", ["text", "released-code"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_compiled_loop_is_the_plain_class(stream, objective, source):
    """Each k, with judges, schedules, mismatches, rates and radii in turn."""
    judges, rates = (None, "ranksvm", "smoothdcg"), ((1.0, 1.0), (0.03, 50.0))
    turns = [*product(judges, ("thesis", "aistats16"), (1, 10), rates)]
    start = 5 * OBJECTIVES.index(objective) + 12 * (source == "text")
    for number, k in enumerate((0, 0, 1, 1, 2, 2, 2, 3, 7, 7, 100)):
        learner = {"kind": "rtop", "k": k, "gamma": 0.5} if k else {"kind": "ogd"}
        learner |= {"surrogate": objective}
        if objective == "smoothdcg":
            sign = ("negated", "as-printed")[k % 2]
            learner |= {"epsilon": 0.2, "epsilon_decay": 0.1, "sign": sign}
        judge, schedule, mismatch, (rate, radius) = turns[(start + 7 * number) % len(turns)]
        readings = {"source": source, "schedule": schedule, "mismatch": mismatch}
        try:
            settings = complete(learner, readings | {"radius": radius, "judge": judge}, 40)
        except SettingError:
            assert k and (objective not in RTOP or (objective, k) == ("ranksvm", 1))
            continue
        assert (settings.judge, settings.k) == (judge or objective, k)
        one = compiled(stream, settings, rate / settings.scale, 40)
        alike(one, plain(stream, settings, rate / settings.scale, 40))
        assert len(one.loss) == 40
        assert one.events[:, EXPLORED].any() == (k > 0)


@pytest.mark.parametrize("objective", LOSSES)
def test_the_compiled_loop_is_the_plain_class_for_what_was_seen(stream, objective):
    """Each k, with and without weights, exploration, a control variate and an intercept."""
    ways = ({"exploration": 0}, {"exploration": 0.3}, {"exploration": "slot"})
    ways += ({"exploration": 0.5, "weights": "full"},)
    ways += ({"exploration": "schedule", "weights": "full"},)
    ways += ({"exploration": "slot", "weights": "full"},)
    ways += ({"exploration": "slot", "weights": "full", "gamma": 0.5},)
    for k, way in product((1, 2, 3, 10, "all"), ways):
        if (k == 1 and objective != "squared") or ("weights" in way and objective == "listnet"):
            continue
        learner = {"kind": "seen", "surrogate": objective, "k": k, **way}
        if objective == "squared":
            learner |= {"centre" if "weights" in way else "intercept": k in (2, 3)}
        DESCENDING["seen"].check(learner)
        settings = complete(learner, {"radius": 3.0}, 40)
        if "weights" in way and k in (2, 10):  # as the table of steps has it
            settings = replace(settings, floor=0.1, control=k == 10)
        one = compiled(stream, settings, 0.3, 40)
        alike(one, plain(stream, settings, 0.3, 40))
        assert one.weights.any() and one.events[:, EXPLORED].any() == (way["exploration"] != 0)


@pytest.mark.parametrize("objective", ["squared", "ranksvm"])
def test_with_full_weights_and_the_schedule_but_no_control_variate_it_is_rtopkf(noisy, objective):
    common = {"surrogate": objective, "k": 3, "gamma": 0.5}
    seen = {"kind": "seen", "weights": "full", "exploration": "schedule"}
    one, two = (complete(common | kind, {"mismatch": 1}, 60) for kind in (seen, {"kind": "rtop"}))
    one, two = (compiled(noisy, settings, 0.3) for settings in (replace(one, control=False), two))
    for name in ("measured", "loss", "updated", "weights", "ranker", "surrogate", "events"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@pytest.mark.parametrize("objective", ["squared", "kl", "smoothdcg"])
@pytest.mark.parametrize("exploration", ["slot", 0.3, "thesis", "aistats16"])
def test_the_compiled_loop_is_the_plain_class_however_it_explores(noisy, objective, exploration):
    for k in (1, 4):
        learner = {"kind": "rtop", "surrogate": objective, "exploration": exploration, "k": k}
        learner |= {"epsilon": 0.3} if objective == "smoothdcg" else {}
        settings = complete(learner, {}, 40)
        assert settings.decay == {"thesis": 2 / 3, "aistats16": 0}.get(exploration, 1 / 2)
        alike(compiled(noisy, settings, 0.3, 40), plain(noisy, settings, 0.3, 40))


@pytest.mark.parametrize("schedule", ["thesis", "aistats16"])
def test_a_papers_exploration_is_that_of_its_reading(schedule):
    """Whatever the experiment's is."""
    for kind, reading in product(("rtop", "seen"), ("thesis", "aistats16")):
        learner = {"kind": kind, "surrogate": "squared"}
        by_reading = complete(learner | {"exploration": "schedule"}, {"schedule": schedule}, 1000)
        by_name = complete(learner | {"exploration": schedule}, {"schedule": reading}, 1000)
        assert replace(by_name, exploration="schedule") == by_reading


def test_a_slot_shows_the_own_ranking_but_for_place_k_which_holds_any_from_there_on(noisy):
    k, places, rounds = 3, [], 3000
    slot = {"kind": "seen", "surrogate": "squared", "k": k, "exploration": "slot"}
    settings = complete(slot, {}, rounds)
    learner, (x, _) = Top(noisy.metadata, 0.1, settings, generator(3, "noise")), noisy[0]
    for _ in range(rounds):
        ranking = learner.rank(x)
        own = learner.own_ranking
        np.testing.assert_array_equal(ranking[: k - 1], own[: k - 1])
        np.testing.assert_array_equal(np.delete(ranking, k - 1), own[own != ranking[k - 1]])
        places.append(int(np.flatnonzero(own == ranking[k - 1])[0]))
    counts = np.bincount(places, minlength=len(x))
    assert not counts[: k - 1].any()
    assert stats.chisquare(counts[k - 1 :]).pvalue > 0.001


@pytest.mark.parametrize("kind", ["ogd", "seen", "rtop"])
def test_centred_features_come_to_the_same_as_the_setting(packed, digits, kind):
    """A stream of the same documents, less their query's mean, is learnt alike up to rounding."""
    queries = (digits[q] for q in range(len(digits)))
    moved = packed((grades, x - x.mean(axis=0, dtype=float)) for x, grades in queries)
    more = {} if kind == "ogd" else {"k": 3, "exploration": "slot"}
    settings = complete({"kind": kind, "surrogate": "squared", **more}, {"radius": 10.0}, 60)
    one = compiled(digits, replace(settings, centre=True), 0.001)
    other, without = (compiled(stream, settings, 0.001) for stream in (moved, digits))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one.surrogate, other.surrogate, rtol=1e-4)
    assert np.linalg.norm(one.weights - without.weights) > 0.1 * np.linalg.norm(one.weights)


@pytest.mark.parametrize("steps", ["schedule", "adagrad"])
def test_an_intercept_is_a_feature_that_is_1_for_all_documents(packed, noisy, steps):
    queries = (noisy[q] for q in range(len(noisy)))
    ones = packed((grades, np.c_[x, np.ones(len(grades))]) for x, grades in queries)
    learner = {"kind": "seen", "surrogate": "squared", "k": 2, "steps": steps}
    settings = complete(learner, {"radius": 9.0}, 60)
    one, other = (
        compiled(noisy, replace(settings, intercept=True), 0.1),
        compiled(ones, settings, 0.1),
    )
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.measured, other.measured)


def test_each_way_to_weigh_what_is_seen_has_its_intercept():
    weighed = {"intercept": True, "weights": "full", "exploration": 0.1}
    for settings, use in (({"centre": True}, "intercept: true"), (weighed, "centre: true")):
        with pytest.raises(SettingError, match=f"[Uu]se {use}"):
            DESCENDING["seen"].check({"kind": "seen", "surrogate": "squared", **settings})


@pytest.mark.parametrize("empty", ["zero", "one"])
def test_queries_without_a_relevant_document_are_learnt_from(odd, empty):
    """The top does not tell them from others."""
    settings = complete({"kind": "rtop", "surrogate": "kl", "k": 2, "gamma": 0.5}, {}, 60)
    one = compiled(odd, settings, 0.5, empty=empty)
    alike(one, plain(odd, settings, 0.5, empty=empty))
    there = odd.relevant[query_order(odd, generator(3, "queries"), 60)] > 0
    assert 0 < there.sum() < 60
    assert one.updated.all()
    np.testing.assert_array_equal(one.measured[~there], float(empty == "one"))
    np.testing.assert_array_equal(one.ranker[~there], float(empty == "one"))
    assert not one.loss[~there].any()
    np.testing.assert_array_equal(one.loss[there], 1 - one.measured[there, 0])


# --- feedback
class Watched(Top):
    """Keeps what it is shown."""

    def learn(self, features, grades, ranking):
        self.seen = [*getattr(self, "seen", []), (ranking.copy(), grades.copy())]
        norm = np.linalg.norm(self.weights)
        learned = super().learn(features, grades, ranking)
        self.norms = [*getattr(self, "norms", [norm]), np.linalg.norm(self.weights)]
        return learned


def watched(stream, settings, rate, rounds=60):
    queries = query_order(stream, generator(3, "queries"), rounds)
    one = Watched(stream.metadata, rate, settings, generator(3, "noise"))
    play_plain((stream[q] for q in queries), rounds, one)
    return queries, one


@pytest.mark.parametrize("objective", RTOP)
@pytest.mark.parametrize("k", [2, 5])
def test_what_is_not_on_top_is_not_seen(stream, packed, objective, k):
    """Nor does it change anything, plain or compiled, when it is another grade."""
    learner = {"kind": "rtop", "surrogate": objective, "k": k, "gamma": 0.5}
    settings = complete(learner, {}, len(stream))
    queries, learner = watched(stream, settings, 0.5, rounds=len(stream))  # each query once
    others, hidden = {}, 0
    for q, (ranking, seen) in zip(queries, learner.seen, strict=True):
        grades = stream[q][1].astype(int)
        on_top = np.isin(np.arange(len(grades)), ranking[:k])
        np.testing.assert_array_equal(seen, np.where(on_top, grades, -1))
        others[q] = np.where(on_top, grades, 4 - grades)
        hidden += np.count_nonzero(others[q] != grades)
    assert hidden > 50
    turned = packed((others[q], stream[q][0]) for q in range(len(stream)))
    for of in (plain, compiled):
        one, two = of(stream, settings, 0.5, len(stream)), of(turned, settings, 0.5, len(stream))
        assert one.weights.tobytes() == two.weights.tobytes()
        assert one.events.tobytes() == two.events.tobytes()
        assert one.measured.tobytes() != two.measured.tobytes()


@pytest.mark.parametrize("objective", RTOP)
@pytest.mark.parametrize("mismatch", [1, 10])
def test_who_sees_everything_descends_on_the_gradient(stream, objective, mismatch):
    """Exploring or not."""
    learner = {"kind": "rtop", "surrogate": objective, "k": 45, "gamma": 0.5, "epsilon": 0.3}
    settings = complete(learner, {"mismatch": mismatch}, 60)
    one = compiled(stream, settings, 0.3)
    two = compiled(stream, replace(settings, k=0), 0.3)
    assert not two.events[:, EXPLORED].any()  # whatever gamma is: there is nothing to explore
    assert one.events[:, EXPLORED].sum() > 5 and not one.events[:, MISMATCHED].any()
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(one.ranker, two.measured[:, 0])


# --- exploration
def flat(settings, **changes):
    """The same exploration in every round."""
    return replace(settings, gamma_decay=0.0, **changes)


def test_exploration_is_drawn_by_the_schedule(noisy):
    """Round by round: a uniform number below gamma_t."""
    rounds = 400
    queries = query_order(noisy, generator(3, "queries"), rounds)
    pairs = ("text", "thesis"), ("text", "aistats16"), ("released-code", "thesis")
    for source, schedule in pairs:
        readings = {"source": source, "schedule": schedule}
        settings = complete({"kind": "rtop", "surrogate": "squared"}, readings, rounds)
        expected, random = [], generator(3, "noise")
        for t, q in enumerate(queries):
            gamma = 400 ** (-1 / 3) if schedule == "aistats16" else 0.1 * (t + 1) ** (-1 / 3)
            expected.append(random.random() < gamma)
            if expected[-1]:
                random.random(len(noisy[q][1]))
        played = compiled(noisy, settings, 0.01, rounds)
        np.testing.assert_array_equal(played.events[:, EXPLORED], expected)
        assert sum(expected) > 5


def test_the_ranker_and_the_surrogate_of_an_explored_round(noisy):
    """The ranker's measure is by its weights; the loss by the scores shown, uniform if explored."""
    settings = flat(Settings("rtop", "squared", "kl", 1, 0.5, radius=5.0))
    queries = query_order(noisy, generator(3, "queries"), 80)
    whole, random, explored = compiled(noisy, settings, 0.2, 80), generator(3, "noise"), 0
    for t, q in enumerate(queries):
        x, grades = noisy[q]
        before = after(noisy, queries[:t], settings, 0.2).weights
        scores = (x.astype(float) @ before).astype(np.float32)
        assert whole.ranker[t] == pytest.approx(ndcg(rank(scores), grades), rel=1e-12)
        if random.random() < 0.5:
            explored += 1
            scores = np.array([random.random() for _ in grades], np.float32)
        assert whole.measured[t, 0] == pytest.approx(ndcg(rank(scores), grades), rel=1e-12)
        value, _ = value_and_gradient("kl", scores.astype(float), grades)
        assert whole.surrogate[t] == pytest.approx(value)
    assert explored == whole.events[:, EXPLORED].sum() > 20


# --- full feedback
def test_descent_on_listnet_is_the_learner_of_the_perceptron_study(stream):
    """If that learns from queries without a relevant document too, and the ball is no bound."""
    queries = query_order(stream, generator(3, "queries"), 90)
    entry = {"kind": "listnet", "learn_on_empty": True}
    other = learners.ListNet.from_study(entry, READINGS, stream.metadata, 0.3, generator(0))
    expected = play(stream, queries, other)
    for learner in ({"kind": "listnet"}, {"kind": "ogd", "surrogate": "listnet"}):
        played = after(stream, queries, complete(learner, {"radius": 1e9}, 90), 0.3)
        for name in ("measured", "loss", "updated", "weights", "ranker"):
            np.testing.assert_array_equal(getattr(played, name), getattr(expected, name))
        assert not played.events.any()


@pytest.mark.parametrize("judge", OBJECTIVES)
def test_the_judge_changes_no_play(noisy, judge):
    ranksvm = {"kind": "rtop", "surrogate": "ranksvm", "gamma": 0.5}
    for learner in ({"kind": "ogd", "surrogate": "squared"}, ranksvm):
        own = complete(learner, {}, 60)
        one, two = (compiled(noisy, each, 0.1) for each in (own, replace(own, judge=judge)))
        assert one.weights.tobytes() == two.weights.tobytes()
        assert one.events.tobytes() == two.events.tobytes()
        alike = one.surrogate.tobytes() == two.surrogate.tobytes()
        assert alike == (judge == learner["surrogate"])


# --- steps
def test_the_step_is_the_schedules(packed):
    """One document of feature and grade 1: squared descends by 2 eta_t (w - 1) in any case."""
    stream, rounds = packed([([1], np.ones((1, 1)))]), 30
    queries = np.zeros(rounds, np.int64)
    for kind, schedule in product(("rtop", "ogd"), SCHEDULES):
        source = "released-code" if schedule == "released-code" else "text"
        reading = {"source": source, "schedule": "thesis" if source != "text" else schedule}
        learner = {"kind": kind, "surrogate": "squared"}
        settings = complete(learner, reading, rounds)
        [rate] = DESCENDING[kind].rates(learner, READINGS | reading)
        power, w = 2 / 3 if kind == "rtop" else 1 / 2, 0.0
        for t in range(1, rounds + 1):
            of_round = {
                "thesis": 0.01 * t**-power, "aistats16": rounds**-power,
                "released-code": 0.1 * t**-power
            }[schedule]  # fmt: skip
            w -= of_round * 2 * (np.float32(w) - 1.0)
            played = after(stream, queries[:t], settings, rate)
            assert played.weights[0] == pytest.approx(w, rel=1e-6)


def test_smoothings_schedule_and_sign(packed):
    """Two tied documents of gains 1 and 0: the first step is 1/4 over epsilon, signed as read."""
    stream = packed([([1, 0], np.eye(2))])
    smooth = Settings("ogd", "smoothdcg", "smoothdcg", epsilon=0.5, radius=9)
    for (sign, way), kind in product({"negated": 1.0, "as-printed": -1.0}.items(), ("ogd", "rtop")):
        settings = replace(smooth, kind=kind, sign=sign)
        if kind == "rtop":
            settings = replace(settings, k=1, gamma=1e-9)
        played = after(stream, np.array([0]), settings, 0.1)
        np.testing.assert_allclose(played.weights, way * 0.1 * np.array([0.5, -0.5]), rtol=1e-8)
        assert played.surrogate.tolist() == [-0.5]  # of the loss, whichever way it descends
    settings = replace(smooth, decay=0.0, epsilon_decay=1.0, radius=1e-3)
    surrogate = after(stream, np.zeros(4, np.int64), settings, 9.0).surrogate
    scores = np.float32(1e-3 / np.sqrt(2)) * np.array([1.0, -1.0])
    for t in (2, 3, 4):
        expected = value_and_gradient("smoothdcg", scores, [1, 0], 0.5 / t)[0]
        assert surrogate[t - 1] == pytest.approx(expected, rel=1e-6)
    # the sign is SmoothDCG's alone
    squared = Settings("ogd", "squared", "squared", sign="as-printed", radius=9)
    np.testing.assert_allclose(compiled(stream, squared, 0.1, 1).weights, [0.2, 0.0])


@pytest.mark.parametrize("radius", [0.01, 1.0])
def test_weights_never_leave_the_ball(noisy, radius):
    top = {"kind": "rtop", "surrogate": "kl", "gamma": 0.5}
    for learner in ({"kind": "ogd", "surrogate": "squared"}, top):
        settings = complete(learner, {"radius": radius}, 40)
        queries, one = watched(noisy, settings, 0.5, 40)
        assert max(one.norms) == pytest.approx(radius, rel=1e-12)  # they do reach it
        played = [after(noisy, queries[:t], settings, 0.5).weights for t in range(1, 41)]
        lengths = np.linalg.norm(played, axis=1)
        np.testing.assert_allclose(lengths, one.norms[1:], rtol=1e-6)
        assert max(lengths) <= radius * (1 + 1e-12)


# --- what goes wrong


def test_clipped_exponents_are_counted(packed):
    """Scores of 400 and 350 after one step to the ball; of the top k under feedback at the top."""
    stream = packed([([2, 2, 1], [[400.0], [350.0], [250.0]])])
    for k, expected in {0: 2, 1: 1, 2: 2}.items():
        settings = Settings("rtop" if k else "ogd", "kl", "squared", k, 1e-9 if k else 0.0)
        for of in (compiled, plain):
            played = of(stream, settings, 1.0, 3)
            assert played.events[0, CLIPPED] == 0  # scores are 0
            assert played.events[1, CLIPPED] == expected
            assert np.isfinite(played.weights).all()
    for k in (0, 1):  # all scores are in the softmax; those above 709 epsilon would overflow
        kind, gamma = ("rtop", 1e-9) if k else ("ogd", 0.0)
        settings = Settings(kind, "smoothdcg", "kl", k, gamma, epsilon=0.4)
        for of in (compiled, plain):
            assert of(stream, settings, 100.0, 2).events[:, CLIPPED].tolist() == [0, 2]
