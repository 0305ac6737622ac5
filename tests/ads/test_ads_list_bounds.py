"""Bounds of lists: what they may hang on, how wide they are, and how often they hold."""

import numpy as np
import pandas as pd
import pytest
from test_ads_arms import rows_of
from worlds_of_lists import BEST, LOGGING, SOFT, clicks_by_place, log_of

import scant_ads as sa
from scant.errors import DataError
from scant_ads.diagnosis import premise
from scant_ads.evaluation import clusters, lists
from scant_ads.evaluation.quotients import regressed

KEY = "policy:best"
NUMBERS = ("estimate", "low", "high", "lift", "lift_low", "lift_high", "place_1", "place_3")


def read(frame, kind, **units):
    return sa.Log.from_frame(frame, {"list": "visit"}, propensity_of=kind, **units)


def numbers(frame, kind="above", **units):
    row = rows_of(sa.evaluate("best", read(frame, kind, **units)))["best"]
    return np.array([row[name] for name in NUMBERS]), row["verdict"]


def by_list(frame, kind, seed=0):
    log, users = read(frame, kind).visits, clusters.Users()
    users.add(log.together, {"": np.ones(len(log)), KEY: log.weights[:, 0]}, log.reward)
    return lists.ByList(users, lists.Places(log), np.random.default_rng(seed))


@pytest.mark.parametrize("change", ["rows", "names", "both"])
def test_bounds_do_not_hang_on_the_order_of_rows_or_the_names_of_lists(change):
    frame = log_of(600, "navigational", "above", SOFT, seed=1)
    other = frame if change == "names" else frame.sample(frac=1, random_state=3)
    if change != "rows":
        other = other.assign(visit=1000 - other["visit"])
    assert numbers(other)[0] == pytest.approx(numbers(frame)[0], rel=1e-9)


@pytest.mark.parametrize("kind", ["above", "place"])
def test_a_shift_of_rewards_and_less_change_no_answer(kind):
    """Clicks of one more each, and clicks of which less is better: means move with them, and bounds
    stay as far away, but for what their search begins with.
    """
    frame = log_of(4000, "position", kind, SOFT, seed=2)
    (low, high), plain = numbers(frame, kind)[0][1:3], numbers(frame, kind)
    shifted = numbers(frame.assign(reward=frame["reward"] + 1), kind, reward_min=1, reward_max=2)
    less = numbers(frame, kind, less=True)
    estimate = plain[0][0]
    assert shifted[0][0] == pytest.approx(estimate + 3) and less[0][0] == pytest.approx(-estimate)
    assert shifted[0][6:] == pytest.approx(plain[0][6:] + 1)
    assert less[0][6:] == pytest.approx(-plain[0][6:])
    slack = 0.15 * (high - low)
    assert shifted[0][1:3] - 3 == pytest.approx([low, high], abs=slack)
    assert -less[0][2:0:-1] == pytest.approx([low, high], abs=slack)
    assert (plain[1], shifted[1], less[1]) == ("yes", "yes", "no")


def test_what_weights_explain_is_taken_out_exactly():
    """Over all lists, with their chances, gains less any multiple of the excesses have the mean of
    the policy; and one excess's slope is that of least squares.
    """
    from test_ads_rankings import every_list

    chance, weights = every_list("above", SOFT)
    clicks = clicks_by_place("navigational").reshape(480, 3)
    truth = (SOFT[:, :, None] * clicks_by_place("navigational")).sum(axis=(1, 2)).mean()
    for c in ([0.0, 0.0, 0.0], [0.9, 0.2, 0.1], [1.0, 1.0, 1.0]):
        less = (weights * clicks).sum(axis=1) - (weights - 1) @ c
        assert chance @ less == pytest.approx(truth)
    terms = np.array([[1.0, 4.0, 2.0], [1.0, 1.0, 1.0], [0.5, -1.0, 2.0], [1.0, 1.0, -1.0]])
    slopes, mean = regressed(terms.sum(axis=1), terms @ terms.T)
    fit = np.linalg.lstsq(terms[2:].T, terms[:2].T, rcond=None)[0].T
    assert slopes == pytest.approx(fit)
    rest = (terms[:2] - fit @ terms[2:]).sum(axis=1)
    assert mean == pytest.approx(rest[0] / rest[1])


def normal_width(frame, kind):
    """That of the normal interval of the best estimate: w r less what w - 1 tells, by place."""
    log = read(frame, kind).visits
    order = np.lexsort((log.place, log.list))
    weight, reward = (of[order].reshape(-1, 3) for of in (log.weights[:, 0], log.reward))
    gain, excess = (weight * reward).sum(axis=1), weight - 1
    slope = np.linalg.lstsq(excess - excess.mean(axis=0), gain - gain.mean(), rcond=None)[0]
    return 2 * 1.96 * np.std(gain - excess @ slope) / np.sqrt(len(gain))


@pytest.mark.parametrize(
    ("kind", "user", "target", "wide"),
    [
        ("place", "position", BEST, 1.6),
        ("above", "position", BEST, 2.5),
        ("above", "navigational", SOFT, 2.5),
        ("list", "navigational", SOFT, 5.0),
    ],
    ids=["place", "above, strong", "above", "list"],
)
def test_bounds_hold_and_are_not_much_wider_than_normal_ones(kind, user, target, wide):
    """Normal intervals of `list` held in 75 % of such logs, and of `above` in 75 to 97 %."""
    truth = (target * clicks_by_place(user).sum(axis=2)).sum(axis=1).mean()
    today = (LOGGING * clicks_by_place(user).sum(axis=2)).sum(axis=1).mean()
    holds, ratios = [], []
    for seed in range(25):
        frame = log_of(2000, user, kind, target, seed=seed)
        found = by_list(frame, kind, seed)
        rate, lift = found.rate(KEY, np.inf), found.lift((KEY, ""), (np.inf, 1.0))
        low, high = 3 * rate.lower(0.975), 3 * min(rate.upper(0.975), 1.0)
        holds += [low < truth < high, lift.lower(0.975) < truth / today < lift.upper(0.975)]
        ratios.append((high - low) / normal_width(frame, kind))
    assert np.mean(holds) >= 0.94 and np.median(ratios) < wide


def test_a_list_of_a_large_weight_counts_less():
    found = by_list(log_of(2000, "navigational", "list", SOFT), "list")
    carried = found.carried(KEY)
    weight = np.bincount(found.number, found.places.weight(KEY))
    assert carried.largest < weight.max() and lists.CUT[0] < carried.cut <= lists.CUT[1] + 1e-9
    taken = np.maximum(weight - carried.largest, 0).sum() / weight.sum()
    assert taken == pytest.approx(carried.cut)
    assert (carried.gain <= carried.largest * (1 + 1e-9)).all()


def peaked(visits, seed, items=20):
    """Lists of 4 of items whose scores are from e^5 to 1, with the chance of each whole list; the
    policy shows all lists alike.
    """
    random, score = np.random.default_rng(seed), np.linspace(5, 0, items)
    shown = np.argsort(-(score + random.gumbel(size=(visits, items))), axis=1)[:, :4]
    weight = np.exp(score)[shown]
    above = np.cumsum(weight, axis=1) - weight
    chance = (weight / (np.exp(score).sum() - above)).prod(axis=1)
    clicks = random.random((visits, 4)) < np.linspace(0.05, 0.4, items)[shown]
    return pd.DataFrame(
        {
            "visit": np.repeat(np.arange(visits), 4),
            "position": np.tile(np.arange(1, 5), visits),
            "action": shown.ravel(),
            "reward": clicks.ravel().astype(int),
            "propensity": np.repeat(chance, 4),
            KEY: 1 / np.prod(items - np.arange(4)),
        }
    )


def test_weights_whose_largest_are_rare_are_not_accused():
    for seed in range(12):
        found = sa.evaluate("best", read(peaked(1000, seed), "list"))
        row = rows_of(found)["best"]
        assert "mean-weight" not in row["warnings"]
        if "large-weights" in row["warnings"]:
            assert row["high"] == pytest.approx(4) and row["verdict"] != "no"
            assert any("its largest weights are rare" in note for note in found.notes)


@pytest.mark.parametrize("size", [400, 3000])
def test_the_power_of_the_test_of_what_stands_above_is_beside_the_answer(size):
    frame = log_of(size, "position", "place", seed=1)
    log = read(frame, "place")
    found = sa.evaluate("best", log)
    power, decision = found.rows[0]["power"], found.decision()
    assert decision.startswith("If nothing else in a list changes the clicks on an item: ")
    assert f"users who leave after a click in {20 * power:.0f} of 20 cases" in decision
    assert (power > 0.9) == (size > 400) and 0 <= power <= 1
    untested = [problem for problem in log.check()["problems"] if "untested" in problem["reason"]]
    assert len(untested) == (power < 0.5)
    above = sa.evaluate("best", read(log_of(size, "position", "above", seed=1), "above"))
    assert np.isnan(above.rows[0]["power"]) and "of 20 cases" not in above.decision()


def shelf(visits, leaves, seed):
    """Lists of four of eight items, whose users leave after a click or never do."""
    random, rate = np.random.default_rng(seed), np.linspace(0.08, 0.33, 8)
    shown = np.argsort(random.random((visits, 8)), axis=1)[:, :4]
    clicks = random.random((visits, 4)) < rate[shown]
    clicks &= (np.cumsum(clicks, axis=1) <= 1) | (not leaves)
    return pd.DataFrame(
        {
            "visit": np.repeat(np.arange(visits), 4),
            "position": np.tile(np.arange(1, 5), visits),
            "action": shown.ravel(),
            "reward": clicks.ravel().astype(int),
            "propensity": 1 / 8,
        }
    )


@pytest.mark.parametrize("visits", [1000, 2500, 10_000])
def test_the_power_said_by_a_right_log_is_about_how_often_users_who_leave_are_seen(visits):
    tested = {
        leaves: [
            premise.depends_on_above(read(shelf(visits, leaves, seed), "place").visits)
            for seed in range(12)
        ]
        for leaves in (True, False)
    }
    seen = np.mean([test.p < premise.LEVEL for test in tested[True]])
    assert abs(seen - np.mean([test.power for test in tested[False]])) < 0.35
    assert min(test.p for test in tested[False]) > premise.LEVEL


def test_probabilities_of_lists_that_are_taken_for_others_are_named():
    problems = read(log_of(2000, "position", "list", SOFT), "above").check()["problems"]
    assert "Say --propensity-of list" in {problem["mend"] for problem in problems}


def test_places_counted_from_below_and_rewards_of_one_place_alone_are_errors():
    frame = log_of(2000, "navigational", "above", SOFT)
    upside_down = frame.assign(position=4 - frame["position"])
    (problem,) = read(upside_down, "above").check()["problems"]
    assert problem["severity"] == "error" and "counted from below" in problem["reason"]
    clicked = frame["reward"].groupby(frame["visit"]).transform("sum").clip(upper=1)
    for place in (3, 2, 1):
        first = clicked.where(frame["position"] == place, 0)
        with pytest.raises(DataError, match=f"all rewards are those of place {place} of a list"):
            sa.evaluate("best", read(frame.assign(reward=first), "above"))
    few = frame.assign(reward=first.where(frame["visit"] < 300, 0))
    assert read(few, "above").check().ok


def two_rankers(visits=1500, seed=0):
    """An A/B test of two rankers of eight items, lists of four."""
    random = np.random.default_rng(seed)
    new = random.random(visits) < 0.5
    shown = np.argsort(random.random((visits, 8)), axis=1)
    clicks = random.random((visits, 4)) < 0.05 * (1 + new[:, None])
    return pd.DataFrame(
        {
            "visit": np.repeat(np.arange(visits), 4),
            "action": np.repeat(np.where(new, "new", "control"), 4),
            "slot": np.tile(np.arange(1, 5), visits),
            "product": shown[:, :4].ravel(),
            "reward": clicks.ravel().astype(int),
            "device": np.repeat(random.choice(["desk", "phone"], visits), 4),
        }
    )


@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize("kind", [None, "above"])
def test_rows_of_a_list_that_have_one_arm_are_judged_by_visit(kind, less):
    frame = two_rankers().sample(frac=1, random_state=1)
    settings = {"propensity": 0.5, "less": less}
    log = sa.Log.from_frame(frame, {"list": "visit"}, propensity_of=kind, **settings)
    whole = frame.groupby("visit", sort=False).agg(
        {"action": "first", "reward": "sum", "device": "first"}
    )
    expected = sa.evaluate("each-ad", sa.Log.from_frame(whole, reward_max=4, **settings))
    found = sa.evaluate("each-ad", log)
    for row, other in zip(found.rows, expected.rows, strict=True):
        for name in ("estimate", "low", "high", "lift", "lift_low", "verdict"):
            assert row[name] == other[name] or row[name] != row[name]
    assert log.unit.name == "clicks a visit" and log.visits.names == ("device",)
    assert rows_of(found)["ad:new"]["verdict"] == ("no" if less else "yes")
    assert any("slot, product" in note or "product, slot" in note for note in found.notes)


def test_rewards_of_a_range_of_their_own_are_summed_within_that_range():
    frame = two_rankers().assign(reward=lambda log: np.where(log["reward"] > 0, 5.0, -2.0))
    frame = frame[(frame["slot"] < 4) | (frame["visit"] % 2 == 0)]  # lists of three, too
    log = sa.Log.from_frame(
        frame, {"list": "visit"}, propensity=0.5, reward_min=-2, reward_max=5, reward_unit="EUR"
    )
    assert (log.unit.least, log.unit.largest, log.unit.name) == (-8, 20, "EUR")
    sums = frame.groupby("visit", sort=False)["reward"].sum().to_numpy()
    assert log.unit.least + log.visits.reward * log.unit.width == pytest.approx(sums)


def test_a_test_of_two_rankers_whose_lists_are_not_named_says_how():
    problems = sa.Log.from_frame(two_rankers(), propensity=0.5).check()["problems"]
    mends = [problem["mend"] for problem in problems if problem["kind"] == "lists"]
    assert len(mends) == 1 and "by --list, and each is judged as one visit" in mends[0]
