"""Broken measurement is seen, leaves no false answer, and is not seen in right logs."""

from dataclasses import astuple
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from ads_logs import problems, rows_of
from scipy import stats

import scant_ads as sa
from scant_ads.diagnosis import measurement
from scant_ads.diagnosis.measurement import Rewards
from scant_ads.diagnosis.order import BLOCKS
from scant_ads.diagnosis.showings import Groups, Showings

ROWS = 3000


def visits(seed=0, money=False, rows=ROWS) -> pd.DataFrame:
    """A right log of two ads, of a text with two values and a number."""
    random = np.random.default_rng(seed)
    shown, web = random.random(rows) < 0.5, random.random(rows) < 0.5
    clicked = random.random(rows) < np.where(shown, 0.12, 0.1) * np.where(web, 1.2, 0.8)
    made = {"action": np.where(shown, "b", "a"), "propensity": 0.5}
    made |= {"os": np.where(web, "web", "ios")}
    made |= {"reward": clicked * (np.exp(random.normal(3, 0.8, rows)) if money else 1.0)}
    made |= {"x": random.normal(size=rows)}
    return pd.DataFrame(made | {"policy:mine": np.where(random.random(rows) < 0.5, 1.0, 0.0)})


def of_b(log):
    return log["action"] == "b"


def on_ios(log):
    return log["os"] == "ios"


def later(log):
    return log.index > 0.5 * len(log)


def all_rewarded(log):
    """Clicks without a visit, of which nothing else is known."""
    rows = log.index % 20 == 7
    return log.assign(reward=log["reward"].where(~rows, 1.0), x=log["x"].where(~rows))


def cut_off(log):
    limit = log["reward"][of_b(log) & (log["reward"] > 0)].quantile(0.7)
    return log.assign(reward=log["reward"].where(~of_b(log), log["reward"].clip(upper=limit)))


def from_clicks(log):
    by_chance = np.random.default_rng(9).random(len(log)) < 0.45
    return log.assign(**{"policy:mine": np.where(log["reward"] > 0, 1.0, by_chance)})


def scaled(log):
    return log.assign(reward=log["reward"] * np.where(of_b(log), 100, 1))


def rows_without(which):
    """What takes rewards from the rows that `which` is of."""
    return lambda log: log.assign(reward=log["reward"].where(~which(log), 0.0))


# by kind: what breaks a log, what is said of it, whether rewards are money, whether answers are
# left
BROKEN = {
    "dead-segment": (rows_without(on_ios), "no visit where 'os' is 'ios' has", False, True),
    "unwanted": (
        rows_without(lambda log: on_ios(log) & of_b(log)),
        "'b' has no reward",
        False,
        True,
    ),
    "dead": (
        rows_without(lambda log: ~on_ios(log) & of_b(log) & later(log)),
        "ad 'b' lost its rewards",
        False,
        False,
    ),
    "all-rewarded": (all_rewarded, "all 150 visits where 'x' is missing have a", False, False),
    "late-ad": (
        rows_without(lambda log: (log.index > 0.6 * ROWS) & of_b(log)),
        "ad 'b': rewards of",
        False,
        False,
    ),
    "scale": (scaled, "on average", True, False),
    "clipped": (cut_off, "of the rewards of ad 'b' are the largest", True, False),
}


def read(log):
    return sa.Log.from_frame(log, reward_max=max(float(log["reward"].max()), 1.0))


def kinds(log) -> dict[str, str]:
    return {kind: problem["reason"] for kind, problem in problems(read(log)).items()}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_measurement_is_seen_and_leaves_no_answer_where_ads_differ_by_it(kind):
    broken, words, money, answered = BROKEN[kind]
    right = visits(money=money, rows=ROWS * (1 + (kind == "dead")))
    assert not kinds(right).keys() & {*BROKEN, "late"}
    log = broken(right)
    assert words in kinds(log)[kind]
    found = sa.evaluate("each-ad", read(log), baseline="logging")
    assert any(words in note for note in found.notes)
    verdicts = {row["verdict"] for row in found.rows[1:]}
    assert verdicts <= {"yes", "no", "cannot tell"} if answered else verdicts == {"none"}
    assert answered or "see above" in found.text()
    assert answered or any(words in sentence for sentence in found.about)


def test_a_policy_that_was_made_from_the_clicks_has_no_answer_and_others_have():
    log = from_clicks(visits())
    assert "policy:mine would show the ad of" in kinds(log)["hindsight"]
    rows = rows_of(sa.evaluate(["mine", "ad:a"], read(log), least_propensity=0.5))
    assert rows["mine"]["verdict"] == "none" and "hindsight" in rows["mine"]["warnings"]
    assert rows["ad:a"]["verdict"] in ("yes", "no", "cannot tell")
    named = sa.evaluate({"mine": "ad:a"}, read(visits()))  # an ad that is called so is no column
    assert rows_of(named)["mine"]["verdict"] != "none"


def test_a_policy_of_the_only_ad_that_is_clicked_was_not_made_from_the_clicks():
    log = rows_without(lambda log: ~of_b(log))(visits())
    log["policy:mine"] = of_b(log) * 1.0
    assert "hindsight" not in kinds(log)
    assert "hindsight" not in kinds(log.assign(**{"policy:mine": np.where(of_b(log), 0.1, 0.9)}))


@pytest.mark.parametrize("money", [False, True])
def test_right_logs_are_not_accused(money):
    """Nor those with a rare kind of visits, or an ad that is worth ten times another."""
    for seed in range(20):
        log = visits(seed, money, 1500)
        log.loc[log.index % 50 == 0, "os"] = "rare"
        log.loc[of_b(log), "reward"] *= 10 if money else 1
        assert not kinds(log).keys() & {*BROKEN, "hindsight"}


def of_counts(rows, rewards) -> SimpleNamespace:
    """The summary of a log: rows, and those with a reward, int (ads x texts x parts of the log)."""
    ads, texts = "abcd"[: len(rows)], tuple("wxyz"[: len(rows[0])])
    course = np.zeros((len(ads), 2, BLOCKS, 1 + BLOCKS + len(texts) + 1), np.int64)
    both = np.stack([rows, rewards], axis=1)
    course[..., 0] = both.sum(axis=2)
    course[..., np.arange(BLOCKS), 1 + np.arange(BLOCKS)] = both.sum(axis=2)
    course[..., 1 + BLOCKS : -1] = both.swapaxes(2, 3)
    of_rows, of_rewards = course.sum(axis=2).swapaxes(0, 1)
    groups = Groups({}, {"os": texts}, {"os": ()}, seen=len(texts))
    shown = {ad: np.tile(sums, (3, 1)) for ad, sums in zip(ads, of_rows, strict=True)}
    rewards = (dict(zip(ads, sums, strict=True)) for sums in (of_rewards, course))
    shown = Showings(groups, of_rows.sum(axis=0), shown)
    return SimpleNamespace(showings=shown, rewards=Rewards(*rewards))


def test_dead_segments_share_the_error():
    """One more row, and its lack of rewards is a chance below a thousandth over all tests."""
    tests, answers = (BLOCKS + 2 + 1 + 2) * 2, set()
    for rows in range(2, 40):
        inside = np.array([[[rows] * BLOCKS, [100] * BLOCKS]])
        summary = of_counts(inside, np.array([[[0] * BLOCKS, [6] * BLOCKS]]))
        chance = stats.hypergeom(10 * (rows + 100), 60, 10 * rows).pmf(0)
        found = [*measurement._dead(summary, 1.0)]
        assert bool(found) == (chance < measurement.ALARM / tests)
        answers.add((bool(found), chance < measurement.ALARM))
    assert answers == {(False, False), (False, True), (True, True)}


def test_losses_are_less_likely_than_all_that_might_have_been():
    """Ad a has no rewards in the last part, or the first; b has as many as in the next part."""
    groups, answers = 1 + 1 + 1 + 1, set()  # all, the text, others, and the text that was seen
    for rewards in range(1, 60):
        given = np.full((2, 1, BLOCKS), rewards)
        given[0, 0, -1] = 0
        summary = of_counts(np.full((2, 1, BLOCKS), 1000), given)
        cases = (2000, rewards, 1000), (3 * rewards, rewards, rewards)
        chance = max(stats.hypergeom(*case).pmf(0) for case in cases)
        tests = 3 * groups * (BLOCKS - 1)
        found = [problem.kind for problem in measurement._lost(summary, 1.0)]
        assert ("dead" in found) == (chance * tests * 2 < measurement.LOSS)  # of either ad
        summary = of_counts(np.full((2, 1, BLOCKS), 1000), given[:, :, ::-1])
        begun = [problem for problem in measurement._lost(summary, 1.0) if problem.kind == "dead"]
        assert len(begun) == ("dead" in found)
        assert all("ad 'a' did not yet have its rewards" in problem.reason for problem in begun)
        answers.add(("dead" in found, chance < measurement.LOSS / tests, chance < measurement.LOSS))
    none, each = (False, False, False), (True, True, True)
    assert answers == {none, (False, False, True), (False, True, True), each}


def test_what_ads_and_groups_have_in_common_is_no_loss():
    """Rates that change alike for all ads, that differ by ad and group, or that fall to none."""
    rows, course = np.full((2, 2, BLOCKS), 1000), np.array([50] * 6 + [0] * 4)
    others = np.full(BLOCKS, 40)
    for rewards in (
        [[course, others], [course, others]],  # all that the group has
        # each of two ads suits one of two kinds of visitors
        [[others, 0 * others], [0 * others, others]],
        [[np.arange(BLOCKS)[::-1] ** 2 // 4, others], [others, others]],
    ):
        lost = measurement._lost(of_counts(rows, np.array(rewards)), 1.0)
        assert "dead" not in [of.kind for of in lost]
    several = [[course, others], [course, others], [others, others]]
    (found,) = measurement._lost(of_counts(np.full((3, 2, BLOCKS), 1000), np.array(several)), 1.0)
    said = "ads 'a', 'b' lost their rewards where 'os' is 'w' in parts 7 to 10"
    assert found.kind == "dead" and said in found.reason


def browsers(seed=0, rows=12_000) -> pd.DataFrame:
    """A right log of a control and a new ad: four frequent browsers, thirty rare, some unknown."""
    random = np.random.default_rng(seed)
    rare = [f"rare {at}" for at in range(30)]
    names = np.array(["Chrome", "Safari", "Edge", "Firefox", *rare, None], object)
    browser = random.choice(names, rows, p=[*[0.2] * 4, *[0.005] * 30, 0.05])
    shown = random.random(rows) < 0.5
    reward = (random.random(rows) < np.where(shown, 0.11, 0.1)) * 1.0
    made = {"action": np.where(shown, "b", "a"), "propensity": 0.5, "reward": reward}
    return pd.DataFrame(made | {"browser": browser, "x": random.normal(size=rows)})


def added(log, rows=240, **columns):
    """The log with further rows, all with a reward, among the others."""
    more = log.sample(rows, random_state=0).assign(reward=1.0, **columns)
    return pd.concat([log, more]).sample(frac=1, random_state=1, ignore_index=True)


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ({"browser": "rare 7"}, "where 'browser' is 'rare 7'"),
        ({"browser": None}, "where 'browser' is missing"),
        ({"x": np.nan}, "where 'x' is missing"),
        ({"browser": "new"}, "where 'browser' is 'new'"),
    ],
)
def test_few_visits_of_one_kind_that_decide_an_answer_leave_none(columns, place):
    """Robots of a rare browser click on one ad; or clicks without a visit lack something."""
    robots = added(browsers(), action="b", **columns)
    accused = {"all-rewarded", "dead", "dead-segment", "wrong-propensities"}
    assert not kinds(browsers()).keys() & accused
    assert f"{place}: ad 'b' is in" in kinds(robots)["wrong-propensities"]
    found = sa.evaluate("each-ad", read(robots), baseline="logging")
    assert {row["verdict"] for row in found.rows[1:]} == {"none"}


def test_rare_texts_make_one_group():
    log = browsers()
    log.loc[log["browser"].fillna("").str.startswith("rare"), "reward"] = 0.0
    assert "where 'browser' is none of its frequent texts" in kinds(log)["dead-segment"]


def test_all_of_a_small_group_may_click_if_nearly_all_visits_do():
    random = np.random.default_rng(9)
    log = browsers().assign(reward=(random.random(12_000) < 0.9) * 1.0)
    few, many = (
        kinds(added(log, rows, browser="new", action=random.choice(["a", "b"], rows)))
        for rows in (150, 2400)
    )
    assert "all-rewarded" not in few and "where 'browser' is 'new'" in many["all-rewarded"]


def test_all_of_a_group_may_have_some_of_an_amount():
    """As customers who always spend something; an amount is no click."""
    log = added(browsers(), 2400, browser="new", action="a")
    spent = log["reward"] * np.random.default_rng(3).uniform(1, 20, len(log))
    assert "all-rewarded" in kinds(log)
    assert "all-rewarded" not in kinds(log.assign(reward=spent))


def test_an_ad_whose_rewards_are_all_alike_does_not_hide_that_another_s_are_cut_off():
    log = visits(money=True)
    log.loc[~of_b(log) & (log["reward"] > 0), "reward"] = 20.0
    assert "cut-off" not in kinds(log) and "of ad 'b'" in kinds(cut_off(log))["cut-off"]
    third = cut_off(log)
    third["action"] = np.where((log.index % 3 == 0) & ~of_b(log), "c", log["action"])
    third["propensity"] = third["action"].map({"b": 0.5, "a": 1 / 3, "c": 1 / 6})
    assert "of ad 'b'" in kinds(third)["cut-off"]
    prices, bought = 10.0 + 20 * (log["x"] > 0.2), of_b(log) & (log["reward"] > 0)
    assert "cut-off" not in kinds(log.assign(reward=log["reward"].where(~bought, prices)))


# the same rewards as they are, as costs, and with losses possible
WAYS = {
    "gains": (lambda amount: amount, {}),
    "costs": (lambda amount: amount, {"less": True}),
    "shifted": (lambda amount: amount, {"reward_min": -900.0}),
    "losses": (lambda amount: -amount, {"reward_min": -50_000.0, "reward_max": 10.0}),
    "signed": (
        lambda amount: amount * np.resize([1] * 6 + [-1] * 6, ROWS),
        {"reward_min": -50_000.0},
    ),
}


def of_arms(amounts, way="gains", arms=2) -> dict[str, dict]:
    """The problems of a log whose amounts, float (rows), are written in one of the `WAYS`."""
    written, settings = WAYS[way]
    action = np.arange(len(amounts)) % arms
    columns = {"action": action, "reward": written(amounts), "propensity": 1 / arms}
    shuffled = pd.DataFrame(columns).sample(frac=1, random_state=1)
    return problems(shuffled, **{"reward_max": 50_000.0} | settings)


def amounts(seed=4) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(3, 0.8, ROWS)).round(2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("arms", "factor"), [(2, 1000), (3, 100), (3, 0.01)])
def test_another_unit_is_seen_whichever_way_rewards_are_written(way, arms, factor):
    mixed = amounts() * np.where(np.arange(ROWS) % arms == 1, factor, 1)
    assert "ad '1' are on average" in of_arms(mixed.clip(max=50_000), way, arms)["scale"]["reason"]
    assert "scale" not in of_arms(amounts() * (1 + 20 * (np.arange(ROWS) % arms == 1)), way, arms)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("share", [0.03, 0.1, 0.4])
def test_rewards_cut_off_in_one_arm_leave_no_answer(way, share):
    whole, of_one = amounts(), np.arange(ROWS) % 2 == 1
    cut = np.where(of_one, whole.clip(max=np.quantile(whole, 1 - share).round(2)), whole)
    assert "of ad '1' are the largest one" in of_arms(cut, way)["clipped"]["reason"]
    right = {
        "whole": whole,
        "one maximum for all": np.minimum(whole * (1 + of_one), np.quantile(whole, 0.8)),
        "prices": np.where(of_one, np.resize([5.0, 9, 9, 20], ROWS), whole),
    }
    for name, amount in right.items():
        assert not {"clipped", "cut-off"} & of_arms(amount, way).keys(), name


@pytest.mark.parametrize("arms", [2, 3])
def test_counts_cut_off_in_an_arm_leave_no_answer(arms):
    """Of counts the largest one of an arm that is cut off is as frequent as all above it elsewhere.

    Of 4,500 right logs of 15 kinds, of 2 to 4 arms of 40 to 20,000 rewards whose means differ by a
    factor of 2 and more, none was accused.
    """
    random, others = np.random.default_rng(6), np.arange(20_000) % arms > 0  # but the first arm
    whole = 1.0 + random.poisson(4, 20_000)
    cut = np.where(others, whole.clip(max=7), whole)
    assert "the largest one: they look cut off" in of_arms(cut, arms=arms)["clipped"]["reason"]
    fewer = np.where(others, 1.0 + random.poisson(2, 20_000), whole)
    no_more = np.where(others, 1.0 + random.binomial(6, 0.6, 20_000), whole)
    for right in (whole, fewer, no_more, whole.clip(max=7)):
        assert not {"clipped", "cut-off"} & of_arms(right, arms=arms).keys()


def test_an_arm_whose_rewards_end_lower_does_not_hide_that_another_s_are_cut_off():
    """Of 60 such logs 0 were seen while it counted among the others, and 55 are since."""
    random, arm = np.random.default_rng(6), np.arange(18_000) % 3
    limit = np.array([99, 7, 5])[arm]
    cut = np.minimum(1.0 + random.poisson(4, 18_000), limit)
    assert "of ad '1' are the largest one" in of_arms(cut, arms=3)["clipped"]["reason"]


def test_visits_without_costs_are_no_cut():
    log = visits(money=True)
    # 88 and 95 % of the visits of each ad have no costs
    log["reward"] = -log["reward"].where(of_b(log) | (log.index % 2 == 1), 0.0)
    assert "cut-off" not in problems(log, reward_min=-500, reward_max=0)


def test_visits_of_one_user_count_once():
    """All clicks are of a few users, none of whom is on ios: that is chance."""
    log = visits(rows=2000)
    log["visitor"] = log.index // 100
    log["os"] = np.where(log["visitor"] % 2 == 0, "ios", "web")
    log["reward"] = (log["visitor"].isin([1, 5]) * 1.0) * (log.index % 3 == 0)
    assert "dead-segment" in kinds(log.drop(columns="visitor"))
    assert "dead-segment" not in problems(log, {"user": "visitor"})


def test_rewards_add_up_over_batches():
    log = read(visits(money=True)).visits
    groups = Groups({"x": 0.0}, {"os": ("ios", "web")}, {"os": ()})
    block, whole, parts = np.arange(ROWS) * 10 // ROWS, Rewards(), Rewards()
    marks = groups.marks(log, block)
    whole.add(log, marks, block)
    for rows in (slice(2000, ROWS), slice(0, 700), slice(700, 2000)):
        parts.add(log.take(rows), marks[rows], block[rows])
    assert parts.policy_rows == whole.policy_rows
    for ad, gains in whole.sizes[1].items():
        assert astuple(parts.sizes[1][ad]) == pytest.approx(astuple(gains))
    assert parts.counts.keys() == whole.counts.keys() == {"a", "b"}
    for ad, counts in whole.counts.items():
        np.testing.assert_array_equal(parts.counts[ad], counts)
        np.testing.assert_array_equal(parts.course[ad], whole.course[ad])
        np.testing.assert_array_equal(whole.course[ad].sum(axis=1)[1], counts)
        np.testing.assert_array_equal(whole.course[ad][1, :, 0], counts[1:11])
        assert counts[0] == np.count_nonzero(log.reward[log.action == log.actions.index(ad)])
        assert counts[0] == counts[-3:-1].sum() == counts[1:11].sum()
