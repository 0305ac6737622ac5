"""Steps that need no rate: bounds, how they are planned, and shown beside rates."""

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from toys import SHOWN

from scant.data import simulated
from scant.errors import SettingError
from scant.present import making
from scant.randomness import generator
from scant.rankers import comparator, frames_steps, top
from scant.rankers.frames_steps import BEST, THEORY, TUNED
from scant.rankers.play import play, query_order
from scant.rankers.steps import STEPS, AdaGrad, CoinBetting
from scant.study import settings as studies
from scant.study.plan import Plan
from scant.theory import bounds
from scant.verdict.selection import chosen

GRADIENTS = st.lists(st.tuples(*[st.floats(-1, 1)] * 2), min_size=1, max_size=60).map(np.array)
READINGS = {"source": "text", "schedule": "thesis", "mismatch": 1, "radius": 1.0, "judge": None}


# --- bounds
def linear_regret(steps, gradients, radius):
    """The regret of steps on linear losses with these gradients (rounds x d), on a ball: its best
    weights are then minus its radius times the direction of the gradients' sum.
    """
    weights, loss = np.zeros(gradients.shape[1]), 0.0
    for gradient in gradients:
        loss += gradient @ weights
        steps.take(weights, gradient)
        weights *= min(1.0, radius / max(np.linalg.norm(weights), 1e-300))
    return float(loss + radius * np.linalg.norm(gradients.sum(axis=0)))


def coin_regret(norm, lengths, largest):
    """Orabona and Pal 2016: `L (1 + max over x of x ||u|| - F(x))` after S coins, for the potential
    `F(x) = 2^S Gamma((S + 1 + x) / 2) Gamma((S + 1 - x) / 2) / (pi Gamma(S + 1))`. Coins are
    gradients over L, at most 1 long, and S is the sum of their lengths: log F is convex in that of
    a coin and the wealth linear, and both agree where it is 0 and 1.
    """
    coins = lengths / largest
    x = np.linspace(0, coins, 100_001)
    log_wealth = gammaln((coins + 1 + x) / 2) + gammaln((coins + 1 - x) / 2)
    log_wealth += coins * np.log(2) - np.log(np.pi) - gammaln(coins + 1)
    return largest * (1 + np.max(x * norm - np.exp(np.minimum(log_wealth, 700))))


@given(GRADIENTS, st.sampled_from([0.1, 1.0, 30.0]))
def test_adagrads_bound_holds_for_all_gradients(gradients, radius):
    steps = AdaGrad(2, radius)
    regret = linear_regret(steps, gradients, radius)
    assert steps.squares == pytest.approx(np.sum(gradients**2))
    assert regret <= bounds.adagrad_regret(steps.squares, radius) + 1e-9


@given(GRADIENTS, st.sampled_from([0.1, 1.0, 30.0]), st.sampled_from([1.5, 5.0]))
def test_coin_bettings_bound_holds_for_all_gradients_below_a_known_norm(gradients, radius, largest):
    steps = CoinBetting(2, radius)
    steps.largest = largest
    regret = linear_regret(steps, gradients, radius)
    assert steps.largest == largest
    assert regret <= coin_regret(radius, steps.lengths, largest) * (1 + 1e-6) + 1e-6


def test_the_bound_of_coin_betting_is_the_wealth_of_heads_alone():
    """After T heads the wealth is F(T): weights for which x = T is best meet the bound."""
    steps, rounds, weights = CoinBetting(1), 20, np.zeros(1)
    for _ in range(rounds):
        steps.take(weights, np.array([-1.0]))
    wealth = 1 + steps.reward
    norm = 4 * wealth  # so large that x ||u|| - F(x) grows up to x = T
    result = coin_regret(norm, rounds, 1.0)
    assert result == pytest.approx(1 + rounds * norm - wealth, rel=1e-06)
    # against 0 no more than the first wealth is lost
    assert coin_regret(0.0, rounds, 1.0) <= 1


def made(learner, facts, seed, **readings):
    """A learner at the only rate that it has."""
    cls, readings = top.DESCENDING[learner["kind"]], READINGS | readings
    [rate] = cls.rates(learner, readings)
    return cls.from_study(learner, readings, facts, rate, generator(seed))


@pytest.fixture(scope="module")
def short(packed):
    queries, _ = simulated.linear(np.random.default_rng(2), 100, 6, 5)
    return packed((grades, x) for _, grades, x in queries)


@pytest.mark.parametrize("objective", comparator.CONVEX)
@pytest.mark.parametrize("radius", [0.3, 3.0])
def test_adagrads_regret_against_the_best_fixed_weights_is_below_its_bound(
    short, objective, radius
):
    """In every run if every grade is seen, and at every round, with the certified gap on top."""
    entry = {"kind": "ogd", "surrogate": objective, "steps": "adagrad"}
    learner = made(entry, short.metadata | {"rounds": 400}, 1, radius=radius)
    queries = query_order(short, generator(1, "queries"), 400)
    played = play(short, queries, learner)
    rounds = comparator.prefixes(400)
    best, gap, _ = comparator.best_fixed(short, queries, objective, radius, rounds)
    bound = learner.bound(rounds, played.watched[rounds - 1])
    regret = np.cumsum(played.surrogate)[rounds - 1] - best + gap
    assert np.all(regret <= bound)
    assert np.any(regret > 0.01 * bound)
    smooth = played.watched[:, 0]
    assert np.all(np.diff(smooth) >= 0)


def test_no_bound_is_stated_where_none_is_proved():
    sizes, watched = {"largest_query": 5, "largest_grade": 2, "features": 3}, np.ones((1, 2))
    for learner, readings in (
        ({"kind": "ogd", "surrogate": "squared", "steps": "dog"}, {}),
        ({"kind": "ogd", "surrogate": "squared", "steps": "coin"}, {}),
        ({"kind": "ogd", "surrogate": "smoothdcg", "steps": "adagrad"}, {}),
        ({"kind": "ogd", "surrogate": "squared", "steps": "adagrad"}, {"judge": "kl"}),
        ({"kind": "rtop", "surrogate": "squared", "steps": "adagrad"}, {"mismatch": 10}),
        ({"kind": "rtop", "surrogate": "squared", "exploration": 0.1}, {}),
        ({"kind": "rtop", "surrogate": "squared", "steps": "adagrad", "exploration": "slot"}, {}),
        ({"kind": "ogd", "surrogate": "squared", "centre": True}, {}),
    ):
        player = made(learner, sizes | {"radius": 1.0, "rounds": 100}, 0, **readings)
        assert np.isnan(player.bound(np.array([1]), watched)).all()


# --- planning
def study(learner, **experiment):
    experiment = {"streams": ["s"], "learners": ["l"], "seeds": 2, "tuning_seeds": 1} | experiment
    return {"study": "t", "claims": None, "streams": {"s": {"generator": "linear"}}} | {
        "learners": {"l": learner},
        "experiments": {"e": experiment},
    }


@pytest.mark.parametrize("kind", STEPS)
def test_steps_that_need_no_rate_need_no_tuning_seeds(kind):
    for learner, family in (
        ({"kind": "slam", "steps": kind}, "perceptron"),
        ({"kind": "rtop", "surrogate": "kl", "steps": kind}, "top"),
    ):
        [job] = Plan(*studies.load(study(learner, kind=family))).jobs["e"]
        assert job.seeds == [0, 1]
        assert job.settings["learner_settings"]["steps"] == kind


@pytest.mark.parametrize(
    ("learner", "experiment", "message"),
    yaml.safe_load("""
- [{kind: slam, steps: dog, rates: [0.1, 1.0]}, {}, 'learners.l: steps ''dog'' need no rate.*rates']
- [{kind: slam, steps: dog, decay: 0.5}, {}, 'learners.l: steps ''dog'' need no rate.*decay']
- [{kind: listnet, steps: coin, rates: [theory]}, {kind: top}, need no rate]
- [{kind: slam, steps: doog}, {}, dog]
- [{kind: binary-perceptron, steps: dog}, {}, steps]
- [{kind: slam, steps: dog}, {source: released-code}, steps of the learner 'l' does nothing under]
- [{kind: rtop, surrogate: kl, exploration: 0.1, gamma: 0.1}, {kind: top},
   'learners.l: gamma does nothing unless exploration']
- [{kind: rtop, surrogate: kl, exploration: clever}, {kind: top}, exploration.*clever]
- [{kind: rtop, surrogate: kl, exploration: 0}, {kind: top}, exploration]
- [{kind: rtop, surrogate: kl, gamma: 0.6}, {kind: top}, gamma is 0.6.*at most 1/2]
- [{kind: rtop, surrogate: ranksvm, exploration: slot}, {kind: top}, leaves pairs unseen]
- [{kind: ogd, surrogate: kl, exploration: 0.1}, {kind: top}, exploration]
- [{kind: ogd, surrogate: kl, centre: true}, {kind: top}, centre does nothing]
- [{kind: ogd, surrogate: squared, centre: true}, {kind: top, regret: true}, as they are]
- [{kind: rtop, surrogate: kl, exploration: [0.1, 0.2], steps: dog}, {kind: top},
   which these steps have none of]
- [{kind: rtop, surrogate: kl, exploration: [0.1, 0.2], rates: [theory]}, {kind: top},
   no regret bound]
"""),
)
def test_bad_settings_are_refused_at_planning(learner, experiment, message):
    with pytest.raises(SettingError, match=message):
        studies.load(study(learner, **experiment))


def test_a_claim_that_names_no_steps_is_about_none():
    learners = {name: {"kind": "slam", "steps": name} for name in ("schedule", "dog")} | {
        "plain": {"kind": "slam"}
    }
    whole = {"learners": learners}
    result = [chosen(whole, "learners", name, {"kind": "slam"}) for name in learners]
    assert result == [True, False, True]
    result = [chosen(whole, "learners", name, {"steps": "dog"}) for name in learners]
    assert result == [False, True, False]


# --- frames
def traced(learner, seed, values, steps="schedule", tuning=False, **more) -> list[dict]:
    """The final rows of a learner's run at each of its rates; "none" for steps that need none."""
    alike = yaml.safe_load("""
    {experiment: e, stream: s, rate: 0.1, round: 100, failed_in: 0, explored: 5, kind: slam,
     own_measure: ndcg@10, objective: '', k: 0, exploration: '', way: '', gamma: .nan,
     iterate: last, loss: 1.0, surrogate_loss: 1.0}
    """) | {"learner": learner, "seed": seed, "tuning_seed": tuning, "steps": steps}
    measures = ("ndcg", "ndcg@10", "ap", "ranker_ndcg@10")
    return [
        alike | {"setting": setting} | dict.fromkeys(measures, value) | more
        for setting, value in values.items()
    ]


DETAILS = {"e": {"title": "text", "titles": {"streams": {"s": "S"}, "learners": {}}}}


@pytest.fixture
def both():
    """Traces of SLAM: rate 1 is best on seeds set aside, 0.1 on those reported; their details."""
    rows = []
    for seed, (low, high) in enumerate([(0.5, 0.3), (0.4, 0.4), (0.6, 0.5)]):
        rows += traced("slam", seed, {"0.1": low, "1.0": high, "theory": 0.2})
        rows += traced("dog", seed, {"none": low + 0.1 * seed}, "dog")
        # a second learner of the same steps does not count
        rows += traced("again", seed, {"none": 0.9}, "dog")
        rows += traced("listnet", seed, {"0.1": 0.7, "1.0": 0.1}, kind="listnet")
        rows += traced("random", seed, {"none": 0.1}, kind="random")
    rows += traced("slam", 1_000_000, {"0.1": 0.1, "1.0": 0.9, "theory": 0.2}, tuning=True)
    rows += traced("listnet", 1_000_000, {"0.1": 0.1, "1.0": 0.0}, tuning=True, kind="listnet")
    details = {
        "e": DETAILS["e"]
        | {
            "titles": {
                "streams": {"s": "S"},
                "learners": dict.fromkeys(("slam", "dog", "listnet"), "title"),
            }
        }
    }
    return pd.DataFrame(rows), details


def test_ways_to_take_steps_are_compared_on_the_same_seeds(both):
    frame = frames_steps.compared(*both)
    slam = frame[frame["base"] == "SLAM (NDCG@10)"].set_index("steps")
    assert slam.index.tolist() == [BEST, TUNED, THEORY, "DoG"]
    assert slam["rate"].tolist() == ["0.1", "1.0", "theory", "none"]
    np.testing.assert_allclose(slam["mean"], [0.5, 0.4, 0.2, 0.6])
    np.testing.assert_allclose(slam["to_best"], [0.0, -0.1, -0.3, 0.1], atol=1e-12)
    np.testing.assert_allclose(slam["to_listnet"], [-0.2, -0.3, -0.5, -0.1])
    assert slam["n"].tolist() == [3] * 4
    assert set(frame["base"]) == {"SLAM (NDCG@10)", "ListNet"}
    assert slam.loc["DoG", "explored"] == pytest.approx(0.05)


def test_where_reported_seeds_played_one_rate_none_is_the_best_of_a_grid(both):
    rows, details = both
    played = rows["tuning_seed"] | rows["setting"].isin(["1.0", "none"])
    frame = frames_steps.compared(rows[played], details)
    slam = frame[frame["base"] == "SLAM (NDCG@10)"].set_index("steps")
    assert slam.index.tolist() == [TUNED, "DoG"] and slam["to_best"].isna().all()


@pytest.mark.parametrize("name", ["figure-steps", "figure-steps-top"])
def test_the_figure_says_what_it_shows(name, both, tmp_path):
    making.make(SHOWN[name], tmp_path / name, *both)
    svg = (tmp_path / f"{name}.svg").read_text()
    for text in ("best rate in hindsight", "DoG", "SLAM (NDCG@10)", "3 seeds", "95 % t interval"):
        assert text in svg, text


def test_a_frame_without_such_steps_is_refused():
    rows = traced("slam", 0, {"0.1": 0.5, "1.0": 0.4})
    with pytest.raises(SettingError, match="no run has steps that need no rate"):
        frames_steps.compared(pd.DataFrame(rows), DETAILS)
