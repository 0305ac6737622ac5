"""Propensities against showings: right logs pass, wrong ones do not, and lose all numbers."""

import math
import statistics
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from ads_logs import problems, rows_of
from hypothesis import given
from hypothesis import strategies as st

import scant_ads as sa
from scant_ads.diagnosis import order, showings
from scant_ads.diagnosis.order import BLOCKS
from scant_ads.diagnosis.showings import Groups, Showings
from scant_ads.reading import amounts
from scant_ads.reading.visits import Visits


def visits(propensities: np.ndarray, seed=0, logged=None) -> Visits:
    """A log by these propensities, float64 (rows x ads); `logged` are those it says instead."""
    random = np.random.default_rng(seed)
    rows, ads = propensities.shape
    action = (
        (propensities.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1).astype(np.int32)
    )
    told = (propensities if logged is None else logged)[np.arange(rows), action]
    features = np.random.default_rng([seed, 1]).standard_normal((rows, 2)).astype(np.float32)
    return Visits(features, action, np.zeros(rows), told, tuple("abcdefghij"[:ads]), ("x", "y"))


def blocks(made: Visits) -> np.ndarray:
    return np.arange(len(made)) * BLOCKS // len(made)


def looked_at(made: Visits, batches: int = 1) -> Showings:
    found = Showings(Groups.of(made))
    for rows in np.array_split(np.arange(len(made)), batches):
        found.add(made.take(rows), blocks(made)[rows])
    return found


def e_values(found: Showings, most_visits: float = 1) -> np.ndarray:
    """The e-value of each ad and group, without room for rounding; float64 (ads x groups)."""
    next_to = found.order.after(showings.LEAST)
    values = [
        showings._evidence(showings._sums(found, ad, next_to[ad]), most_visits, 0.0)
        for ad in found.ads
    ]
    return np.exp(values)


def of_log(found: Showings) -> float:
    """The e-value of a log."""
    return float(np.exp(showings.log_terms(found, rounded=0.0)).sum())


def logs_of(likely: np.ndarray):
    """All logs of as many rows as there are shares, (rows x ads), each with how likely it is."""
    rows, ads = likely.shape
    for shown in product(range(ads), repeat=rows):
        actions, propensity = np.array(shown, np.int32), likely[np.arange(rows), shown]
        names = tuple("abcdefgh"[:ads])
        features = np.arange(rows, dtype=np.float32)[:, None] % 3
        yield (
            Visits(features, actions, np.zeros(rows), propensity, names, ("x",)),
            propensity.prod(),
        )


def test_the_evidence_of_a_right_log_is_one_at_most_by_enumeration():
    """Over all logs of six rows by their chances, the mean e-value of each ad is at most 1."""
    mean, total = 0.0, 0.0
    for made, likely in logs_of(np.tile([0.1, 0.3, 0.6], (6, 1))):
        found = looked_at(made)
        values = e_values(found)
        assert np.isfinite(values).all()
        mean, total = mean + likely * values, total + likely * of_log(found)
    # not by much less, or nothing would be found
    assert (mean <= 1 + 1e-12).all() and mean.max() > 0.9
    assert total <= 1


def test_the_evidence_of_a_log_that_learns_is_one_at_most_by_enumeration():
    """A row's propensities follow from the rows before: an ad shown more often is likelier."""
    mean = 0.0
    for shown in product(range(2), repeat=8):
        before = np.array([shown[:row].count(0) for row in range(8)])
        first = (before + 1) / (np.arange(8) + 2)
        propensity = np.where(np.array(shown) == 0, first, 1 - first)
        columns = np.zeros((8, 0), np.float32), np.array(shown, np.int32), np.zeros(8), propensity
        made = Visits(*columns, ("a", "b"), ())
        mean = mean + propensity.prod() * e_values(looked_at(made))
    assert (mean <= 1 + 1e-12).all() and mean.max() > 0.9


def test_the_evidence_of_ads_that_appear_one_after_the_other_is_one_at_most_by_enumeration():
    """Of eight ads three rows show three at most, and only ads seen are looked at."""
    total = 0.0
    for made, likely in logs_of(np.full((3, 8), 1 / 8)):
        seen = sorted({*made.action.tolist()})
        actions = tuple("abcdefgh"[ad] for ad in seen)
        made = replace(made, action=np.searchsorted(seen, made.action), actions=actions)
        total += likely * of_log(looked_at(made))
    assert total <= 1


@pytest.mark.parametrize("rows", [2, 50, 10**6])
def test_weights_are_those_of_the_last_ad_to_appear_and_the_same_for_all_groups_of_a_kind(rows):
    """The j-th ad may have 1 / (j (1 + log n)): at most 1 over the n ads that n rows can show."""
    kinds = np.array([*["all"], *["time"] * BLOCKS, *["feature"] * 7, "next"])
    assert sum(showings.WEIGHTS.values()) == pytest.approx(1)
    of_last = [showings._weights(kinds, ads, rows, 0) for ads in range(1, min(rows, 1000) + 1)]
    # exp(1/2) is what a first showing can add
    assert sum(weights.sum() for weights in of_last) <= np.exp(-0.5)
    without_texts = (1 - showings.WEIGHTS["text"]) * np.exp(-0.5)
    assert of_last[0].sum() == pytest.approx(without_texts / (1 + np.log(rows)))
    shares, last = dict(showings.WEIGHTS), of_last[-1]
    text = shares.pop("text")
    of_chosen = showings._weights(np.r_[kinds, ["text"] * 2], len(of_last), rows, 30)[-2:]
    expected = text * last[0] / shares["all"]
    assert of_chosen * 30 * (1 + np.log(rows)) == pytest.approx(expected)
    for kind, share in shares.items():
        of_kind = last[kinds == kind]
        assert np.ptp(of_kind) < 1e-15
        assert of_kind.sum() == pytest.approx(share * last.sum() / (1 - text))


def test_a_first_showing_adds_no_more_than_weights_allow():
    """The factor of a row is at most exp(1/2), whatever its propensity and the rate of the bet."""
    terms = 10.0 ** np.linspace(-3, 4, 2000)
    psi = -np.log1p(-showings.RATES) - showings.RATES
    factors = np.multiply.outer(showings.RATES, terms) - np.multiply.outer(psi, terms**2)
    assert factors.max() <= 0.5 and factors.max() > 0.49


@pytest.mark.slow
def test_propensities_may_be_rounded_downwards_in_a_log_so_large_that_it_tells():
    truly = np.tile([0.99649, 0.00351], (2_000_000, 1))
    assert showings.problem(looked_at(visits(truly, logged=truly.round(3)))) is None


@given(st.lists(st.sampled_from([-1.5, 0.0, 2.0, 3.0, 7.5, math.nan]), min_size=1, max_size=9))
def test_a_feature_with_numbers_parts_the_rows_about_the_median(values):
    features, zeros = np.array(values, np.float32)[:, None], np.zeros(len(values))
    made = Visits(features, zeros.astype(np.int32), zeros, zeros + 1, ("a",), ("x",))
    middles = Groups.of(made).middles
    present = [value for value in values if value == value]
    if len({*present}) < 2:
        assert middles == {}
        return
    # where half of them are the largest
    below_the_largest = max(value for value in present if value < max(present))
    assert middles == {"x": min(statistics.median_low(present), below_the_largest)}


def problem_of(made: Visits):
    return showings.problem(looked_at(made))


def test_an_ad_that_is_shown_more_often_than_its_propensity_says_is_named():
    truly = np.tile([0.1, 0.12, 0.14, 0.17, 0.21, 0.26], (50_000, 1))
    found = problem_of(visits(truly, logged=np.full((50_000, 6), 1 / 6)))
    assert found.severity == "error" and "ad 'f' is in 1" in found.reason
    assert "about 8,333 at most" in found.reason


def test_shares_of_all_rows_are_no_propensities_where_users_see_other_ads():
    """The usual mistake: over all rows each ad's share is right."""
    # of `visits`
    first = np.random.default_rng([0, 1]).standard_normal((20_000, 2)).astype(np.float32)[:, :1] > 0
    truly = np.where(first, [[0.6, 0.2, 0.2]], [[0.3, 0.4, 0.3]])
    found = problem_of(visits(truly, logged=np.tile(truly.mean(axis=0), (20_000, 1))))
    assert "where 'x' is above" in found.reason and "ad 'a'" in found.reason


def test_a_change_that_the_propensities_do_not_follow_is_found_in_its_part_of_the_log():
    logged, late = np.tile([0.5, 0.25, 0.25], (10_000, 1)), np.tile([0.1, 0.7, 0.2], (1000, 1))
    found = problem_of(visits(np.r_[logged[:9000], late], logged=logged))
    assert "in part 10 of 10 of the log: ad 'b'" in found.reason


def test_propensities_may_be_rounded_to_three_digits():
    truly = np.tile([1 / 7, 6 / 7], (400_000, 1))
    assert problem_of(visits(truly, logged=truly.round(3))) is None
    assert problem_of(visits(truly, logged=truly.round(1))) is not None


def timed(made: Visits, seed=0, moments=60) -> Visits:
    """Rows in random order, many of which have the same time."""
    random = np.random.default_rng(seed)
    hours = random.integers(0, moments, len(made)) * np.timedelta64(1, "h")
    return replace(made, timestamp=np.datetime64("2026-01-01", "us") + hours)


def content(showings):
    """The sums as lists, which can be compared."""
    rows = showings.order
    arrays = [showings.rows, *showings.ads.values(), *showings.eligible.values(), rows.kept]
    others = rows.rows, [*rows.ads], rows.timed, rows.rewarded, rows.runs, rows.last
    return [array.tolist() for array in arrays], [*showings.ads], showings.range, others


@pytest.mark.parametrize("kept", [20, order.KEPT])
@pytest.mark.parametrize("times", [False, True])
def test_sums_do_not_depend_on_batches(kept, times, monkeypatch):
    monkeypatch.setattr(order, "KEPT", kept)
    made = visits(np.random.default_rng(3).dirichlet(np.ones(5), 3000), 3)
    made = timed(made) if times else made
    whole, parted = looked_at(made), looked_at(made, 7)
    assert content(whole) == content(parted)
    assert len(whole.order.kept) == min(10 * kept, 3000)


def test_rows_next_to_each_other_by_hand():
    """By time a b b | a a, of users 1 2 1 3 4: the second visit of user 1 is left out."""
    times = np.datetime64("2026-01-01", "us") + np.array([5, 1, 2, 4, 3]) * np.timedelta64(1, "D")
    action, propensity = np.array([0, 0, 1, 0, 1], np.int32), np.array([0.5, 0.5, 0.2, 0.25, 0.2])
    columns = np.zeros((5, 0), np.float32), action, np.zeros(5), propensity
    made = Visits(*columns, ("a", "b"), (), timestamp=times)
    users = replace(made, user=np.array([4, 1, 2, 3, 1], np.uint64))
    for of, b in ((made, [2, 1, 5, 25]), (users, [1, 0, 0, 0])):
        sums = looked_at(of).order.after(1e-4)
        assert {ad: sums[ad].tolist() for ad in sums} == {"a": [2, 1, 2, 4], "b": b}


@pytest.mark.parametrize(
    ("propensity", "ads", "count"),
    [
        (0.333, 3, 3),
        (0.17, 6, 6),
        (float(np.float32(1 / 3)), 3, 3),
        (0.00333, 291, 300),
        (0.003, 300, 300),
        (0.05, 20, 20),
        (1e-6, 1200, 10**6),
        (0.5, 1, 2),
        (0.3, 2, None),
        (0.003, 200, None),
        (0.9, 1, None),
        (1e-100, 2, 10**100),
    ],
)
def test_how_many_ads_a_propensity_stands_for(propensity, ads, count):
    """As its digits tell: 0.333 is 1/3; 0.003 may be a 290th, too, unless there are 300 ads."""
    found = amounts.uniform_ads(propensity, ads)
    assert found == count or found == pytest.approx(count, rel=1e-12)


def frame(rows=6000, shares=(0.2, 0.3, 0.5), told=None, seed=0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    action = random.choice(len(shares), rows, p=shares)
    kind = random.choice(["new", "old"], rows)
    reward = random.random(rows) < np.where(action == 0, 0.3, 0.1)
    made = {"action": np.array(list("abc"))[action], "reward": reward * 1.0}
    made |= {"propensity": np.array(told or shares)[action], "kind": kind, "x": random.random(rows)}
    return pd.DataFrame(made | {"policy:mine": (action == 0) * 1.0})


THIRDS = (1 / 3, 1 / 3, 1 / 3)


def test_wrong_propensities_withhold_every_number_and_are_said_first():
    log = sa.Log.from_frame(frame(told=THIRDS))
    assert [*problems(log)] == [showings.WRONG] and not log.check().ok
    found = sa.evaluate(["mine"], log)
    said = "No verdict: propensities are not those by which ads were shown: ad 'c'"
    assert found.text().startswith(said)
    assert {row["refused"] for row in found.rows} == {showings.WRONG}
    assert found.to_frame()[["estimate", "lower", "low", "high"]].isna().all(axis=None)
    assert found.choice is None and not len(found.pairs) and found.rows[-1]["verdict"] == "none"
    right = sa.evaluate(["mine"], sa.Log.from_frame(frame()), least_propensity=0.2)
    assert not right.rows[-1]["refused"] and right.rows[-1]["verdict"] == "yes"


def test_a_column_that_tells_of_the_ad_shown_is_named_to_be_left_out():
    """Propensities look wrong among rows chosen by their ad: the choice may be wrong."""
    made = frame()
    made["its topic"] = np.where(made["action"] == "c", "cars", "food")
    ((kind, problem),) = problems(made).items()
    assert kind == showings.WRONG and "where 'its topic' is" in problem["reason"]
    assert problem["mend"].endswith("leave it out with --ignore 'its topic'")
    assert "--user COLUMN" in problem["mend"]
    assert sa.Log.from_frame(made, ignore=["its topic"]).check().ok
    # the whole log shows it best
    assert "--ignore" not in problems(frame(told=THIRDS))[showings.WRONG]["mend"]


def test_wrong_propensities_of_the_training_log_are_noted():
    train = sa.Log.from_frame(frame(told=THIRDS, seed=7))
    found = sa.evaluate(["mine"], sa.Log.from_frame(frame()), train=train, least_propensity=0.2)
    said = "data frame: propensities are not those by which ads were shown"
    assert any(said in note for note in found.notes) and not found.rows[-1]["refused"]


def test_the_policy_that_shows_all_ads_alike_is_over_the_ads_of_both_logs():
    """The test log lacks an ad of training: nothing is said of showing all others alike."""
    train, test = frame(seed=1), frame(shares=(0.4, 0.6, 0.0), told=(0.4, 0.6, 1.0), seed=2)
    train, test = map(sa.Log.from_frame, (train, test))
    found = sa.evaluate([], test, train=train, least_propensity=0.2)
    uniform = rows_of(found)["uniform"]
    assert uniform["mean_weight"] == pytest.approx(2 / 3, abs=0.02)
    assert uniform["verdict"] == "none"
    assert any("never shows 1 of the 3 ads ('c')" in note for note in found.notes)


def test_where_todays_policy_shows_all_ads_alike_there_is_one_row():
    alike = frame(shares=THIRDS)
    found = sa.evaluate(["mine"], sa.Log.from_frame(alike))
    assert [row["policy"] for row in found.rows] == ["logging", "mine"]
    assert "uniform: all 3 ads alike" in found.about[0]
    other = sa.evaluate(["mine"], sa.Log.from_frame(frame()), least_propensity=0.2)
    assert [row["policy"] for row in other.rows] == ["logging", "uniform", "mine"]


def test_the_policy_that_nobody_asked_for_is_never_chosen():
    made = frame(seed=4)
    made["policy:mine"] = made["propensity"]  # as today, which is worse than showing all ads alike
    found = sa.evaluate(["mine"], sa.Log.from_frame(made), least_propensity=0.2)
    assert found.rows[1]["policy"] == "uniform" and found.rows[1]["lower"] > found.rows[2]["lower"]
    assert found.choice["policy"] == "mine" and found.choice["of"] == 1


def sticky(rows=12_000, seed=0) -> pd.DataFrame:
    """An A/B test that draws an arm for a user, who keeps it; few users make very many visits."""
    random = np.random.default_rng(seed)
    user = np.minimum(random.geometric(0.02, rows), 300)
    arm = np.where(random.random(301) < 0.5, "A", "B")[user]
    reward = (random.random(rows) < 0.1) * 1.0
    return pd.DataFrame({"action": arm, "propensity": 0.5, "reward": reward, "user": user})


def test_arms_that_stay_with_a_user_raise_no_alarm_where_the_user_is_known():
    """As independent visits, such showings would be impossible."""
    alarms = np.zeros(2, int)
    for seed in range(40):
        made = sticky(seed=seed)
        logs = sa.Log.from_frame(made, {"user": "user"}), sa.Log.from_frame(made, ignore=["user"])
        alarms += [showings.WRONG in problems(log) for log in logs]
    assert alarms[0] == 0 and alarms[1] > 20


def test_the_evidence_of_dependent_visits_is_one_at_most_by_enumeration():
    """Of three users with two visits each, of which the second shows what the first did."""
    shares, mean = np.array([0.2, 0.8]), 0.0
    for shown in product(range(2), repeat=3):
        actions = np.repeat(np.array(shown, np.int32), 2)
        features = np.zeros((6, 1), np.float32)
        made = Visits(features, actions, np.zeros(6), shares[actions], ("a", "b"), ("x",))
        made = replace(made, user=np.repeat(np.arange(3), 2).astype(np.uint64))
        visits = np.r_[np.full(len(Groups().described) - 1, 2.0), 1.0]
        mean = mean + shares[list(shown)].prod() * e_values(looked_at(made), visits)
    assert (mean <= 1 + 1e-12).all() and mean[:, -1].max() > 0.9
