"""Rows that are places of a list have no answer; visits of their own are not taken for such
rows.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads, rows_of

import scant_ads as sa
from scant.errors import DataError
from scant_ads.diagnosis import lists

LISTS, ADS, PLACES = 400, 6, 3
START = pd.Timestamp("2026-03-01 10:00")


def of_lists(above=False, seed=0) -> pd.DataFrame:
    """Places of lists of ads that differ, by equal chance; propensities by place, or given what
    stands above.
    """
    random = np.random.default_rng(seed)
    shown = np.argsort(random.random((LISTS, ADS)), axis=1)[:, :PLACES].ravel()
    place = np.tile(np.arange(PLACES), LISTS)
    made = {
        "visit": np.repeat(np.arange(LISTS), PLACES),
        "position": place + 1,
        "action": shown,
        "reward": (random.random(LISTS * PLACES) < 0.2 + 0.1 * (shown == 0)).astype(int),
        "propensity": 1 / (ADS - place) if above else 1 / ADS,
        "policy:mine": (shown == place) * 1.0,
    }
    return pd.DataFrame(made)


def of_visits(rows=LISTS * PLACES, ads=ADS, seed=0) -> pd.DataFrame:
    """Visits of their own, of 3 of each user, an ad each by equal chance."""
    random = np.random.default_rng(seed)
    action, reward = random.integers(0, ads, rows), random.integers(0, 2, rows)
    made = {"who": np.arange(rows) // 3, "action": action, "reward": reward, "propensity": 1 / ads}
    return pd.DataFrame(made | {"x": random.normal(size=rows)})


def renamed(name, log=None):
    log = of_lists() if log is None else log
    return log.drop(columns="position").rename(columns={"visit": name})


def at_times(log, visit):
    return log.assign(time=START + pd.to_timedelta(7 * visit, unit="s"))


def independent(log):
    """The same rows with an ad drawn for each, whatever others of its list have."""
    return log.assign(action=np.random.default_rng(5).integers(0, ADS, len(log)))


def answers(log, roles=None):
    found = sa.evaluate("ad:0", sa.Log.from_frame(log, roles), baseline="logging")
    return [row["verdict"] for row in found.judged]


def with_price(log):
    return log.assign(price=np.sin(log.index))


def on_slots():
    log = independent(of_lists()).drop(columns="position")
    return log.assign(slot=np.tile(["top", "side", "foot"], LISTS))


def several_of_a_user():
    log = of_lists()
    return at_times(log.assign(visit=log["visit"] // 4), log["visit"])


TIMED = {"timestamp": "time"}
FORMS = {  # logs of lists, and the roles that are said of them
    "visit": (of_lists, {}),
    "in any order": (lambda: of_lists().sample(frac=1, random_state=1), {}),
    "id": (of_lists, {"id": "visit"}),
    "user": (lambda: renamed("visit"), {"user": "visit"}),
    "user, items": (lambda: with_price(renamed("visit")), {"user": "visit"}),
    "users at times": (several_of_a_user, {"user": "visit"} | TIMED),
    "times": (lambda: at_times(renamed("one").assign(one=1), of_lists()["visit"]), TIMED),
    "features": (lambda: renamed("x").assign(x=lambda log: np.sin(log["x"])), {}),
    "any name": (lambda: with_price(renamed("zz")), {}),
    "places": (lambda: of_lists().drop(columns="visit"), {}),
    "slots": (on_slots, {"user": "visit"}),
    "visits": (lambda: renamed("visit", independent(of_lists())), {}),
    "called so": (lambda: renamed("request_id", independent(of_lists())), {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_a_list_have_no_answer(form):
    log, roles = FORMS[form]
    found = sa.evaluate("mine", sa.Log.from_frame(log(), roles))
    today, row = found.rows[0], rows_of(found)["mine"]
    assert row["verdict"] == "none" and found.choice is None and not found.comparisons
    keys = "estimate", "low", "high", "lift"
    assert np.isnan([row[key] for key in keys]).all()
    assert today["low"] < today["estimate"] < today["high"]
    assert sum("lists apart by --list" in note for note in found.notes) == 1
    assert "none: several rows are of one visit" in found.text()


def in_days():
    log = renamed("who")
    times = START.normalize() + pd.to_timedelta(log["who"] % 4, unit="D")
    return log.assign(time=times, who=log["who"] // 4)


def in_pairs():
    log = of_visits(ads=2).drop(columns="who")
    return log.assign(action=(log["action"] // 2 + log.index) % 2, x=log.index // 2)


def ad_by_hour():
    log = of_visits(ads=3)
    odd = log.index % 2
    return log.assign(action=log["action"] + 3 * odd, x=odd, who=log.index // 2)


def few_at_one_time():
    log = at_times(of_visits(6000, 3), np.arange(6000)).assign(who=np.arange(6000) // 2)
    few, together = log.index < 100, START - pd.to_timedelta(log["who"], unit="s")
    log["action"] = np.where(few, log.index % 2, log["action"])
    return log.assign(time=np.where(few, together, log["time"]))


EACH, USER = np.arange(LISTS * PLACES), {"user": "who"}
RIGHT = {  # logs of visits, which nobody is to take for places of a list
    "users": (of_visits, USER),
    "users, unsaid": (of_visits, {}),
    "users at times": (lambda: at_times(of_visits(), EACH), USER | TIMED),
    "no ad twice for a user": (lambda: at_times(renamed("who"), EACH), USER | TIMED),
    "no ad twice in a day": (in_days, USER | TIMED),
    "busy seconds": (lambda: at_times(of_visits(), EACH // 3).drop(columns="who"), TIMED),
    "a place": (lambda: of_visits().assign(position=1 + EACH * 7 // 5 % 3), {}),
    "one place": (lambda: of_visits().assign(position=1), USER),
    "number of the visit": (lambda: of_visits().assign(visit=EACH % 30), USER),
    "matched pairs": (in_pairs, {}),
    "an ad by hour": (ad_by_hour, USER),
    "few retries": (lambda: of_visits().assign(request_id=EACH - (EACH % 200 == 1)), {}),
    "few at one time": (few_at_one_time, USER | TIMED),
    "ids": (lambda: of_visits().assign(visit=EACH), {"id": "visit"} | USER),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_visits_are_not_taken_for_lists(kind):
    log, roles = RIGHT[kind]
    kinds = {problem.kind for problem in sa.Log.from_frame(log(), roles).problems}
    assert not kinds & {lists.LISTS, lists.ABOVE}


def test_the_ways_out_give_an_answer():
    log = of_lists()
    assert answers(log) == ["none"]
    first = log[log["position"] == 1]
    for roles in ({}, {"id": "visit"}, {"user": "visit"}):
        assert "none" not in answers(first, roles)
    assert answers(log.drop(columns="visit")) == ["none"]
    assert "none" not in answers(log.drop(columns=["visit", "position"]))


def test_a_part_of_a_log_of_lists_is_one(tmp_path, capsys):
    log = of_lists().assign(x=lambda log: log.index % 7).drop(columns="visit")
    log.to_csv(tmp_path / "log.csv", index=False)
    words = f"evaluate {tmp_path}/log.csv --split 0.5 --policy logistic"
    assert ads(f"{words} --report {tmp_path}/report.html") == 0
    assert "look like places of 400 lists" in (tmp_path / "report.html").read_text()
    assert "none: several rows are of one visit" in capsys.readouterr().out
    whole = sa.Log.from_frame(log)
    of_whole, *of_parts = (
        [problem.reason for problem in one.problems if problem.kind == lists.LISTS]
        for one in (whole, *whole.split(0.5))
    )
    assert of_parts == [of_whole] * 2 and len(of_whole) == 1


@pytest.mark.parametrize("roles", [{}, {"id": "visit"}, {"user": "visit"}])
@pytest.mark.parametrize("with_place", [True, False])
def test_propensities_given_what_stands_above_are_an_error(roles, with_place):
    log = of_lists(above=True).drop(columns=[] if with_place else "position")
    log["propensity"] = log["propensity"].round(3)
    with pytest.raises(DataError, match=r"given what stands above.*place \(5.988, 5, 4\)"):
        sa.evaluate("mine", sa.Log.from_frame(log, roles))
    log = of_lists().drop(columns=[] if with_place else "position")
    assert lists.ABOVE not in {problem.kind for problem in sa.Log.from_frame(log, roles).problems}
    first = of_lists(above=True).query("position == 1")
    assert sa.Log.from_frame(first, roles).check().ok


def test_slots_with_fewer_ads_further_down_have_propensities_of_their_place():
    random, place = np.random.default_rng(2), np.tile(np.arange(3), LISTS)
    action = (random.random(len(place)) * (3 - place)).astype(int)
    log = of_lists().assign(action=action, propensity=1 / (3 - place))
    kinds = {problem.kind for problem in sa.Log.from_frame(log).problems}
    assert lists.LISTS in kinds and lists.ABOVE not in kinds


@pytest.mark.parametrize("size", [2, 3, 4])
def test_rows_drawn_alike_differ_most_often_where_chance_is_uniform(size):
    random, differ = np.random.default_rng(1), [*itertools.permutations(range(4), size)]
    chances = [np.full(4, 1 / 4), *random.dirichlet(np.ones(4), 50)]
    of_uniform, *others = [chance[np.array(differ)].prod(axis=1).sum() for chance in chances]
    assert of_uniform == pytest.approx(np.prod(1 - np.arange(size) / 4))
    assert max(others) < of_uniform


def test_what_chance_does_once_in_a_million_is_no_chance():
    """Of 28 visits of two rows and two ads none has an ad twice with a probability of about 4e-9,
    by the bound 8e-7.
    """
    for visits, seen in ((28, True), (27, False)):
        visit, ad = np.repeat(np.arange(visits), 2), np.tile([0, 1], visits)
        assert lists._hardly_twice(visit, ad, 0.5, 1) == seen
        assert not lists._hardly_twice(np.arange(2 * visits), ad, 0.5, 1)
