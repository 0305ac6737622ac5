"""The papers' bounds: by hand, and never exceeded at any round of many streams."""

import math

import numpy as np
import pytest
import yaml

from scant.data import simulated, stream
from scant.measures import rank
from scant.randomness import generator
from scant.rankers.adversary import LowerBoundAdversary
from scant.rankers.learners import Contextual, Settings, class_of
from scant.rankers.play import play, play_plain, query_order
from scant.rankers.run import general_bound
from scant.theory import bounds

LEARNERS = {
    "slam-ap": {"kind": "slam", "measure": "ap"},
    "slam-ndcg": {"kind": "slam", "measure": "ndcg"},
    "slam-ndcg@10": {"kind": "slam", "measure": "ndcg@10"},
    "max-hinge": {"kind": "max-hinge"},
    "max-hinge-ap": {"kind": "max-hinge", "measure": "ap"},
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())


def made(learner, facts, rate="theory", seed=0, source="text"):
    noise = generator(seed, "noise")
    return class_of(learner["kind"]).from_study(
        learner, {"source": source}, {"features": 2} | facts, rate, noise
    )


def test_bounds_by_hand():
    assert bounds.slam_rate(20, 3.0, 5.0) == 1 / 3600
    assert bounds.slam_rate(1, 3.0, 1.0) == 1 / 36
    assert bounds.slam_separable(20, 3.0, 5.0, 0.5) == 14_400
    assert bounds.slam_separable(1, 3.0, 1.0, 0.5) == 144
    assert bounds.binary_separable(3.0, 0.5) == 36
    # The sum of the surrogates is 9 and the separable term 4 * 2^2 * 1 * 1^2 * 1 = 16: 9 + sqrt(16
    # * 9) + 16.
    assert bounds.general(9.0, 2.0, 1, 1.0, 1.0) == 37
    assert bounds.general_at_rate(9.0, 2.0, 1, 1.0, 1.0) == 34
    assert bounds.general(9.0, 1.0, 2, 1.0, 2.0) == 37  # m and v_max count in both terms


@pytest.mark.parametrize("margin", [0.25, 2.0])
def test_a_separating_ranker_gives_the_separable_bound(margin):
    """At u / margin, |u| = 1, no surrogate is positive: the general bounds become the separable."""
    for general in (bounds.general, bounds.general_at_rate):
        for m, ratio in ((7, 2.0), (1, 1.0)):
            separable = bounds.slam_separable(m, 3.0, ratio, margin)
            assert general(0.0, 1 / margin, m, 3.0, ratio) == pytest.approx(separable)


def test_which_bound_a_learner_has():
    facts = {"largest_query": 20, "radius": 3.0, "margin": 0.5}
    facts["weight_ratio"] = {"ap": 1.0, "ndcg": 6.0, "ndcg@10": 5.0}
    expected = {
        ("slam", "ap"): (20 * 144, 1 / 720),
        ("slam", "ndcg"): (20 * 6 * 144, 1 / 4320),
        ("slam", "ndcg@10"): (10 * 5 * 144, 1 / 1800),  # Theorem 8: k in place of m
        ("max-hinge", "ap"): (144, 1 / 36),
        ("max-hinge", "ndcg@10"): (144, 1 / 36),
    }
    for (kind, measure), (bound, rate) in expected.items():
        learner = made({"kind": kind, "measure": measure}, facts)
        assert learner.bound(None) == pytest.approx(bound)
        assert learner.rate == pytest.approx(rate)
    slam = {"kind": "slam", "measure": "ndcg@10"}
    # Its instances are differences: of twice the norm.
    assert made({"kind": "binary-perceptron"}, facts, 1.0).bound(None) == 4 * 36
    assert made(slam, facts | {"largest_query": 4}).general_constants() == (4, 5.0)
    for kind in ("listnet", "random", "ideal"):
        assert math.isnan(made({"kind": kind}, facts, 1.0).bound(None))
    for margin in (None, 0.0, -0.1, np.inf):
        assert math.isnan(made(slam, facts | {"margin": margin}).bound(None))


CHANGES = yaml.safe_load(
    "[{margin: 0.5}, {margin: grade-gap}, {averaged: true}, {decay: 0.5}, {by_loss: true}]"
)


@pytest.mark.parametrize("change", [*CHANGES, {"trigger": "ap"}], ids=str)
def test_a_learner_of_other_settings_has_no_bound(packed, change):
    there = simulate(packed, "separable", 0, queries=10)
    for learner in (LEARNERS["slam-ndcg@10"], LEARNERS["max-hinge"]):
        learnt, whole, general = played(there, learner | change, 0, rounds=20, rate=0.1)
        assert whole.updated.any()
        assert math.isnan(learnt.bound(None))
        assert general is None


def played(there, learner, seed, rounds=400, rate="theory"):
    learnt = made(learner, there.metadata, rate, seed)
    queries = query_order(there, generator(seed, "queries"), rounds, empty="skip")
    whole = play(there, queries, learnt)
    assert len(whole.loss) == rounds
    return learnt, whole, general_bound(there, queries, whole, learnt)


def simulate(packed, name, seed, **settings):
    queries, ranker = simulated.GENERATORS[name](np.random.default_rng(seed), **settings)
    return packed(
        [
            (grades, x)
            for _, grades, x in stream.arrange(
                queries, generator(seed, "documents"), "as-is", "shuffled"
            )
        ],
        ranker,
    )


SHAPES = [  # margin, documents, features, highest grade
    (1, 20, 20, 4), (5.0, 20, 20, 4), (5.0, 6, 3, 4), (1.0, 30, 5, 1), (0.2, 8, 20, 2),
    (8.0, 15, 2, 1), (3.0, 3, 4, 4)
]  # fmt: skip
SEPARABLE = [("released-code", 0, {"queries": 100})]
for seed, (margin, m, d, top) in enumerate(SHAPES):
    shape = {"margin": margin, "documents": m, "features": d, "grades": top, "queries": 100}
    SEPARABLE.append(("separable", seed, shape))


@pytest.mark.parametrize(("name", "seed", "settings"), SEPARABLE)
@pytest.mark.parametrize("again", range(2))
def test_no_separable_run_ever_loses_more_than_its_bounds(packed, name, seed, settings, again):
    there = simulate(packed, name, 10 * again + seed, **settings)
    assert there.metadata["margin"] > 0
    for learner in LEARNERS.values():
        learnt, whole, general = played(there, learner, seed)
        loss, separable = np.cumsum(whole.loss), learnt.bound(None)
        assert loss[-1] > 0  # there is something to bound
        assert loss.max() <= separable
        assert np.all(loss <= general)
        # the separating ranker is one of the comparators
        assert general.min() <= separable * (1 + 1e-9)
    for rate in (2.0**-7, 1.0, 3.0):  # perceptrons of which no rate matters
        for kind in ("max-hinge", "binary-perceptron"):
            learnt, whole, _ = played(there, {"kind": kind}, seed, rate=rate)
            assert 0 < whole.loss.sum() <= learnt.bound(None)


@every_learner
def test_queries_without_a_relevant_document_break_no_bound(packed, learner):
    """No ranking of them is better than another: nothing to lose, whatever the measure says."""
    queries, ranker = simulated.separable(
        np.random.default_rng(0), 20, documents=5, features=4, margin=4.0
    )
    there = packed([(grades * (q % 2), x) for q, grades, x in queries], ranker)
    learnt, order = (
        made(learner, there.metadata),
        query_order(there, generator(0, "queries"), 20_000),
    )
    whole = play(there, order, learnt, "zero")
    loss = np.cumsum(whole.loss)
    assert loss[-1] <= learnt.bound(None)
    assert np.all(loss <= general_bound(there, order, whole, learnt))


@every_learner
@pytest.mark.parametrize(("seed", "noise"), [(0, 0.0), (1, 0.5), (2, 1.0), (3, 5.0)])
def test_the_general_bound_holds_where_no_separating_ranker_is_known(packed, learner, seed, noise):
    there = simulate(packed, "linear", seed, queries=150, noise=noise, features=6, documents=10)
    learnt, whole, general = played(there, learner, seed, rounds=1500)
    assert math.isnan(learnt.bound(None))
    assert whole.updated.sum() > 30
    assert np.all(np.cumsum(whole.loss) <= general)
    assert np.all(np.diff(general) >= 0)


def test_there_is_no_general_bound_for_other_learners(packed):
    there = simulate(packed, "separable", 0, queries=10)
    for kind in ("listnet", "random", "binary-perceptron"):
        assert played(there, {"kind": kind}, 0, rate=1.0)[2] is None
    released = made(LEARNERS["slam-ap"], there.metadata, 1.0, source="released-code")
    assert (
        general_bound(there, np.arange(10), play(there, np.arange(10), released), released) is None
    )
    assert math.isnan(released.bound(None))


# --- the adversary
def oppose(opponent, learner, rate=1.0):
    player = made(learner, opponent.metadata(), rate)
    return player, play_plain(opponent, opponent.rounds, player)


DETERMINISTIC = LEARNERS | {"listnet": {"kind": "listnet"}}


@pytest.mark.parametrize("learner", DETERMINISTIC.values(), ids=DETERMINISTIC.keys())
@pytest.mark.parametrize(("ratio", "documents"), [(3, 2), (12, 5), (40, 20)])
def test_every_deterministic_learner_loses_to_the_adversary(learner, ratio, documents):
    opponent = LowerBoundAdversary(ratio, documents)
    player, whole = oppose(opponent, learner, 3.0 if learner["kind"] == "listnet" else "theory")
    assert len(whole.loss) == opponent.rounds == ratio - 1
    ndcg = 1 - whole.measured[:, :2]
    assert ndcg.min() >= 1 - 1 / math.log2(3) - 1e-12
    assert whole.loss.sum() >= (ratio - 1) * (1 - 1 / math.log2(3)) - 1e-9
    if learner["kind"] != "listnet":
        assert whole.loss.sum() <= player.bound(None)


class ByRule(Contextual):
    """A learner that ranks as it likes, of what it was shown so far."""

    def __init__(self, rule, facts):
        super().__init__(facts, None, Settings("by-rule"), generator(0))
        self.rule, self.seen = rule, 0

    def rank(self, features):
        return self.rule(features, self.seen)

    def learn(self, features, grades, ranking):
        self.seen += 1
        return False


RULES = {
    "as they are": lambda x, t: np.arange(len(x)),
    "reversed": lambda x, t: np.arange(len(x))[::-1],
    "in turn": lambda x, t: np.roll(np.arange(len(x)), t),
    "by a feature": lambda x, t: rank(x[:, 0]),
    "by all": lambda x, t: rank(x @ np.cos(np.arange(x.shape[1]))),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_the_stream_stays_separable_whatever_the_learner(rule):
    opponent, shown = LowerBoundAdversary(30, 6), []

    def record():
        for x, answer in opponent:
            shown.append([x, None])
            yield (
                x,
                lambda ranking, answer=answer: (
                    shown[-1].__setitem__(1, answer(ranking)) or shown[-1][1]
                ),
            )

    whole = play_plain(record(), opponent.rounds, ByRule(rule, opponent.metadata()))
    assert whole.loss.min() >= 1 - 1 / math.log2(3) - 1e-12
    facts, unit = opponent.metadata(), opponent.ranker / np.linalg.norm(opponent.ranker)
    assert np.linalg.norm(opponent.ranker) < 1
    for x, grades in shown:
        assert grades.sum() == 1
        assert np.linalg.norm(x, axis=1).max() <= facts["radius"]
        assert (
            stream.gap(x @ unit, grades)
            >= stream.gap(x @ opponent.ranker, grades)
            >= facts["margin"] - 1e-12
        )
    assert facts["radius"] ** 2 / facts["margin"] ** 2 == pytest.approx(30)
    assert shown[0][0].shape == (facts["largest_query"], facts["features"])


@pytest.mark.parametrize("documents", [2, 7])
def test_the_ideal_ranker_loses_nothing(documents):
    _, whole = oppose(LowerBoundAdversary(30, documents), {"kind": "ideal"})
    assert (whole.measured == 1).all()
    assert not whole.loss.any()
