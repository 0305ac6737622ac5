"""Logs of lists judged: prefix, item-position and whole-list weights, each under its premise; what
is refused; and the two tests of a log, of its users and of what its propensities are of.
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_ads_arms import rows_of
from worlds_of_lists import (
    BEST,
    KINDS,
    LISTS,
    LOGGED,
    LOGGING,
    SOFT,
    USERS,
    abandoned,
    clicks_by_place,
    kinds,
    log_of,
    shuffled,
)

import scant_ads as sa
from scant.cli import main
from scant.errors import DataError, SettingError
from scant_ads.diagnosis import lists, premise
from scant_ads.reading.lists import Order, weights_of


def read(frame, kind, **columns):
    return sa.Log.from_frame(frame, {"list": "visit"} | columns, propensity_of=kind)


def truth(user, target=BEST):
    """The clicks a visit of a policy and of the logging one."""
    clicks = clicks_by_place(user).sum(axis=2)
    return [(chance * clicks).sum(axis=1).mean() for chance in (target, LOGGING)]


def every_list(kind, target=BEST):
    """The chance of each list of each context, (480), and the weights of its rows, (480 x 3)."""
    logged, judged = kinds(LOGGING), kinds(target)
    place = np.tile(np.arange(3), 480)
    order = Order.of(np.repeat(np.arange(480), 3), place)
    ratio = (judged[kind] / logged[kind]).reshape(-1, 1)
    weights = weights_of(ratio, kind, order, np.zeros(len(place), int))
    return LOGGING.ravel() / 4, weights.reshape(480, 3)


@pytest.mark.parametrize(
    ("kind", "user"),
    [
        *(("above", user) for user in USERS),
        *(("list", user) for user in USERS),
        ("place", "position"),
        ("place", "random"),
    ],
)
@pytest.mark.parametrize("target", [BEST, SOFT], ids=["best", "soft"])
def test_weights_are_unbiased_where_their_premise_holds(kind, user, target):
    chance, weights = every_list(kind, target)
    clicks = clicks_by_place(user).reshape(480, 3)
    assert chance @ (weights * clicks).sum(axis=1) == pytest.approx(
        truth(user, target)[0], abs=1e-9
    )
    assert chance @ weights == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("rows", ["in order", "shuffled"])
def test_a_policy_of_lists_is_judged_by_what_its_clicks_a_visit_are(rows):
    log = log_of(4000, "navigational", "above", seed=3)
    log = log if rows == "in order" else log.sample(frac=1, random_state=2)
    found = sa.evaluate("best", read(log, "above"))
    today, row = found.rows
    best, logged = truth("navigational")
    assert today["estimate"] == pytest.approx(log["reward"].sum() / 4000)
    assert today["low"] < logged < today["high"] and row["low"] < best < row["high"]
    assert row["lift_low"] < best / logged - 1 < row["lift_high"]
    places = [row[f"place_{number}"] for number in (1, 2, 3)]
    of_best = BEST[:, :, None] * clicks_by_place("navigational")
    assert places[0] == pytest.approx(of_best.sum(axis=1).mean(axis=0)[0], rel=0.1)
    assert row["bound"] == "betting, by list" and row["warnings"] == ""
    text = found.text()
    premise = "if what stands below an item does not change its clicks"
    (answer,) = [line for line in text.splitlines() if line.startswith("  best")]
    assert f"{row['verdict']}, {premise}" in answer
    assert (
        found.decision().startswith(f"{premise.capitalize()}: best is ")
        and "4,000 lists of up to 3 places" in text
    )


def test_weights_of_prefixes_are_products_from_the_top_down():
    frame = pd.DataFrame(
        {
            "visit": ["b", "a", "b", "a", "a"],
            "position": [1, 0, 0, 2, 1],
            "action": [5, 6, 7, 8, 9],
            "reward": 0,
            "propensity": [0.5, 0.25, 0.2, 0.5, 0.4],
            "policy:one": [0.25, 0.5, 0.1, 0.1, 0.8],
        }
    )
    visits = read(frame, "above").visits
    assert visits.place.tolist() == [1, 0, 0, 2, 1]
    order = Order.of(visits.list.astype(int), visits.place)
    ratio = (visits.probabilities[:, 0] / visits.propensity)[:, None]
    assert order.accumulated(np.multiply, ratio)[:, 0] == pytest.approx([0.25, 2, 0.5, 0.8, 4])


def test_weights_that_a_log_does_not_carry_count_nothing():
    """Ten items of ten in ten places: a list of ten has a weight of 10! now and then."""
    random, lists_, places = np.random.default_rng(1), 400, 10
    shown = np.argsort(random.random((lists_, places)), axis=1)
    place = np.tile(np.arange(places), lists_)
    frame = pd.DataFrame(
        {
            "visit": np.repeat(np.arange(lists_), places),
            "position": place + 1,
            "action": shown.ravel(),
            "reward": (random.random(lists_ * places) < 0.3).astype(int),
            "propensity": 1 / (places - place),
            "policy:sorted": (shown.ravel() == place) * 1.0,
        }
    )
    found = sa.evaluate("sorted", read(frame, "above"))
    row = rows_of(found)["sorted"]
    shown_places = [number for number in range(1, 11) if row[f"place_{number}"] >= 0]
    assert shown_places == [1] and row["verdict"] == "cannot tell"
    assert row["low"] < 3 < row["high"] and row["high"] > 8
    assert any("the log carries it to place" in note for note in found.notes)


def test_where_clicks_depend_on_what_stands_above_weights_of_places_give_no_answer():
    for seed in range(3):
        found = sa.evaluate("best", read(abandoned(2000, seed), "place"))
        row = rows_of(found)["best"]
        assert row["verdict"] == "none" and premise.MATTERS in row["warnings"]
        withheld = [row[key] for key in ("estimate", "low", "lift", "place_1")]
        assert np.isnan(withheld).all() and not found.choice
        assert "none: clicks depend on what stands above. Log" in found.text()
        assert "say --propensity-of above" in found.text()
    above = rows_of(sa.evaluate("best", read(abandoned(5000, 1, "above"), "above")))["best"]
    assert above["low"] < 0.875 < above["high"] and above["verdict"] == "cannot tell"


@pytest.mark.parametrize("user", ["position", "random", "mixed"])
def test_right_users_are_not_accused(user):
    """Users who differ have clicks that go with clicks above: half of `mixed` see one place."""
    values = [
        premise.depends_on_above(read(log_of(1000, user, "place", seed=seed), "place").visits).p
        for seed in range(20)
    ]
    assert min(values) > premise.LEVEL and np.mean(np.array(values) < 0.5) > 0.2
    found = sa.evaluate("best", read(log_of(3000, user, "place", seed=1), "place"))
    row = rows_of(found)["best"]
    assert row["verdict"] != "none" and row["warnings"] == ""
    if user != "mixed":
        assert row["low"] < truth(user)[0] < row["high"]


def test_no_click_is_held_against_itself_where_users_differ():
    """Of users half click on nothing: clicks go with clicks above, and with pulls of few visits."""
    for seed in range(5):
        log, random = abandoned(2000, seed), np.random.default_rng(seed)
        clicks_at_all = (random.random(2000) < 0.5)[log["visit"]]
        log["reward"] = (clicks_at_all & (random.random(len(log)) < 0.6)).astype(int)
        log["kind"] = log["visit"] // 10
        assert premise.depends_on_above(read(log, "place").visits).p > premise.LEVEL


def test_users_who_leave_are_seen_and_kinds_of_visits_that_never_come_again_are_not_tested():
    for kind in ("place", "above"):
        for seed in range(5):
            log = log_of(1000, "navigational", kind, seed=seed)
            assert premise.depends_on_above(read(log, kind).visits).p < premise.LEVEL
    log["x"] = np.sin(log["visit"])
    assert np.isnan(premise.depends_on_above(read(log, "above").visits).p)
    by_place = log_of(100, "position", "place").assign(x=lambda log: np.sin(log["visit"]))
    assert premise.NOTED in kinds_of_problems(by_place, "place")
    notes = sa.evaluate("best", read(log.drop(columns="x"), "above")).notes
    assert any("Propensities by place would not do here" in note for note in notes)


@pytest.mark.parametrize("user", ["position", "navigational"])
def test_kinds_of_propensities_are_told_apart(user):
    """Taken for those of a place, such of a soft policy have a mean weight of exactly 1, too."""
    wrong = {"place": lists.ABOVE, "above": lists.PLACE}
    for seed in range(10):
        for kind, other in (("place", "above"), ("above", "place")):
            log = log_of(1000, user, kind, SOFT, seed=seed)
            assert not {*wrong.values()} & kinds_of_problems(log, kind)
            assert wrong[other] in kinds_of_problems(log, other)
    with pytest.raises(DataError, match=r"given what stands above.*propensity_of='above'"):
        sa.evaluate("best", read(log_of(1000, user, "above", SOFT), "place"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--policy uniform", "uniform is not for logs of lists"),
        ("--policy best --baseline uniform", "uniform is not for logs of lists"),
        ("--policy best --split 0.5", "--split is not for logs of lists"),
        ("--policy best --train log.csv", "--train is not for logs of lists"),
        ("--policy best --ignore visit", "column 'visit' is the list, and --ignore leaves it out"),
    ],
)
def test_what_is_not_for_lists_is_refused_by_its_name(
    tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    log_of(300, "position", "above").to_csv("log.csv", index=False)
    reading = "log.csv --list visit --propensity-of above"
    assert main(["ads", "evaluate", *reading.split(), *words.split()]) == 1
    assert message in capsys.readouterr().err
    fit = "--policy logistic --output policy.arrow"
    assert main(["ads", "fit", *reading.split(), *fit.split()]) == 1
    assert "a policy that is learnt chooses one ad" in capsys.readouterr().err


def kinds_of_problems(frame, kind):
    return {problem["kind"] for problem in read(frame, kind).check()["problems"]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_of_which_a_log_lacks_items_has_a_lower_bound_alone(kind):
    """Of lists whose best three items are shuffled in 30 % of visits the mean weights are far from
    1 at the first place: an upper end by what is missed would be wrong.
    """
    log = log_of(3000, "position", kind, logging=shuffled(0.3), seed=2)
    found = sa.evaluate("best", read(log, kind))
    row = rows_of(found)["best"]
    assert row["verdict"] == "none" and row["lower"] < truth("position")[0]
    assert (
        np.isnan([row["estimate"], row["high"], row["place_1"]]).all()
        and "mean-weight" in row["warnings"]
    )
    assert any("the mean weight at place" in note for note in found.notes)


def wide(frame):
    """A row for each list."""
    named = ["position", "action", "reward", "propensity", "policy:best"]
    rows = frame.groupby("visit", sort=False)
    return pd.concat([rows["query"].first(), rows[named].agg(list)], axis=1).reset_index()


def numbers(found):
    columns = ("estimate", "low", "high", "lift_low", "place_1", "verdict")
    return [[row[column] for column in columns] for row in found.rows]


@pytest.mark.parametrize(
    "form", ["frame", "csv", "parquet", "folder", "wide", "wide csv", "bars csv"]
)
def test_every_form_of_a_log_gives_the_same_numbers(form, tmp_path):
    frame = log_of(600, "navigational", "above", seed=4)
    expected = numbers(sa.evaluate("best", read(frame, "above")))
    path, columns = tmp_path / "log", {"list": "visit"}
    path = path.with_suffix(".csv" if "csv" in form else ".parquet")
    if "wide" in form or "bars" in form:
        frame, columns = wide(frame).drop(columns=["visit", "position"]), {}
    if "bars" in form:
        frame = frame.map(lambda cell: "|".join(map(str, cell)) if isinstance(cell, list) else cell)
    if form == "folder":
        path = tmp_path
        for number, part in frame.groupby(frame.index // 1000):
            part.to_parquet(tmp_path / f"{number}.parquet")
    elif form.endswith("csv"):
        frame.to_csv(path, index=False)
    elif form != "frame":
        frame.to_parquet(path)
    source = sa.Log.from_frame if form == "frame" else sa.Log.read
    log = source(frame if form == "frame" else path, columns, propensity_of="above")
    assert numbers(sa.evaluate("best", log)) == expected


def ccb(frame):
    """The same log as lines of CCB."""
    lines = []
    for number, rows in frame.groupby("visit"):
        outcomes = [
            {
                "_label_cost": -row.reward,
                "_a": [row.action, *({*range(6)} - {row.action})],
                "_p": [row.propensity, *[0.0] * 5],
                "policy:best": row.best,
            }
            for row in rows.rename(columns={"policy:best": "best"}).itertuples()
        ]
        context = {
            "query": rows["query"].iloc[0],
            "_multi": [{"_tag": f"item-{item}"} for item in range(6)],
            "_slots": [{}] * 3,
        }
        event = {"EventId": str(number), "c": context, "_outcomes": outcomes}
        lines.append(json.dumps(event) + "\n")
    return lines


def test_outcomes_of_ccb_are_places_of_lists(tmp_path, capsys):
    frame, path = log_of(400, "navigational", "above", seed=5), tmp_path / "log.json"
    path.write_text("".join(ccb(frame)))
    expected = numbers(sa.evaluate("best", read(frame, "above")))
    assert numbers(sa.evaluate("best", sa.Log.read(path))) == expected
    assert main(["ads", "evaluate", str(path)]) == 0
    out = capsys.readouterr().out
    assert "400 lists of up to 3 places" in out and "what stands below an item" in out
    one = json.loads(ccb(frame)[0])
    slates = one | {"_label_cost": -1, "_outcomes": [{"_a": [0], "_p": [0.5]}]}
    path.write_text("".join([*ccb(frame)[:3], json.dumps(slates) + "\n"]))
    with pytest.raises(DataError, match="line 4 is of slates, with one cost for all decisions"):
        sa.evaluate("best", sa.Log.read(path))


def changed(**columns):
    return log_of(100, "navigational", "above").assign(**columns)


REFUSED = {
    "a place twice": (
        lambda: changed(position=lambda log: log["position"].replace(3, 2)),
        "row 3: a list has place 2 twice .99 more rows",
    ),
    "an item twice": (
        lambda: changed(action=lambda log: log["action"].where(log.index != 4, log["action"][3])),
        "row 5: a list has item '\\d' twice",
    ),
    "an arm twice": (
        lambda: changed(action=lambda log: np.where(log.index == 4, "b", "a")),
        "row 2: a list has item 'a' twice .*all rows of a list have one action",
    ),
    "one list": (lambda: pd.concat([changed(visit=1)] * 4), "a list has more than 1,000 rows"),
    "a gap": (lambda: changed().query("position != 2"), "row 2: a list has place 3, and not all"),
    "no places": (
        lambda: changed().drop(columns="position"),
        "no column says at which place.*'position': 'COLUMN'",
    ),
    "a reward of the list": (
        lambda: changed(reward=lambda log: log["visit"] % 2),
        "all rows of a list have the same reward.*write one row for each list",
    ),
    "a missing list": (
        lambda: changed(visit=lambda log: log["visit"].where(log.index > 0)),
        "row 1: the list is missing",
    ),
    "lengths": (
        lambda: wide(changed()).assign(reward=[[1, 0]] + [[0, 1, 0]] * 99),
        "row 1: 'reward' has 2 values, and 'action' 3",
    ),
    "one reward for a wide list": (
        lambda: wide(changed()).assign(reward=1),
        "'action' has lists, and 'reward' none.*write it as one text",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_log_of_lists_is_refused(what):
    frame, message = REFUSED[what]
    with pytest.raises(DataError, match=message):
        sa.evaluate("best", read(frame(), "above"))


def test_what_propensities_are_of_is_never_guessed():
    frame = log_of(300, "navigational", "above")
    with pytest.raises(DataError, match=r"not said what propensities.*propensity_of='above'"):
        sa.evaluate("best", sa.Log.from_frame(frame, {"list": "visit"}))
    with pytest.raises(DataError, match=r"propensity_of='above' is for lists.*--list COLUMN"):
        sa.evaluate("best", sa.Log.from_frame(frame, propensity_of="above"))
    with pytest.raises(SettingError, match=r"unknown kind of .propensity_of. 'marginal'"):
        read(frame, "marginal")
    with pytest.raises(DataError, match="row 2: probabilities of a list differ"):
        sa.evaluate("best", read(frame, "list"))


@pytest.mark.parametrize(
    ("policy", "settings", "message"),
    [
        ("ad:1", {}, "ad:1 chooses one ad for a visit, and no list"),
        ("logistic", {}, "logistic chooses one ad"),
        ("best", {"least_propensity": 0.1}, "least_propensity. is not for logs of lists"),
        ("best", {"covariate": "x"}, "covariate.? is not for logs of lists"),
    ],
)
def test_what_is_not_for_lists_is_refused(policy, settings, message):
    log = read(log_of(200, "navigational", "above"), "above")
    with pytest.raises(SettingError, match=message):
        sa.evaluate(policy, log, **settings)


def test_halves_of_a_log_of_lists_are_refused():
    train, test = read(log_of(200, "navigational", "above"), "above").split(0.5)
    with pytest.raises(SettingError, match=r"Log.split. is not for logs of lists"):
        sa.evaluate("best", test, train=train)
    with pytest.raises(SettingError, match=r"split. is not for logs of lists"):
        sa.evaluate("best", test)


def test_a_column_that_looks_like_users_leaves_no_answer_until_it_is_named():
    frame = log_of(400, "navigational", "above").assign(user=lambda log: log["visit"] // 4)
    found = sa.evaluate("best", read(frame, "above"))
    assert rows_of(found)["best"]["verdict"] == "none"
    named = sa.evaluate("best", read(frame, "above", user="user"))
    row = rows_of(named)["best"]
    assert row["verdict"] != "none" and row["bound"] == "betting, by user"
    assert row["estimate"] == pytest.approx(
        rows_of(sa.evaluate("best", read(frame.drop(columns="user"), "above")))["best"]["estimate"],
        rel=0.01,
    )
    assert "1,200 rows of 100 users" in named.text()


def test_the_command_the_table_and_the_report_say_the_premise(tmp_path, capsys):
    frame, path = log_of(3000, "navigational", "above", seed=1), str(tmp_path / "log.csv")
    frame.to_csv(path, index=False)
    of_lists = ["--list", "visit", "--propensity-of", "above"]
    assert main(["ads", "check", path, *of_lists]) == 0
    assert "lists: 3,000, with up to 3 places each" in capsys.readouterr().out
    outputs = ["--output", str(tmp_path / "table.json"), "--report", str(tmp_path / "report.html")]
    assert main(["ads", "evaluate", path, *of_lists, *outputs]) == 0
    out, report = capsys.readouterr().out, (tmp_path / "report.html").read_text()
    premise_ = "if what stands below an item does not change its clicks"
    assert out.count(premise_) >= 3 and premise_[1:] in report.partition("</h1>")[0]
    assert "place 3" in out and "place 3" in report
    table = json.loads((tmp_path / "table.json").read_text())
    assert table["policies"][1]["premise"] == premise_ and table["policies"][1]["place_1"] > 0.8
    assert main(["ads", "check", path]) == 1
    assert "--list" in capsys.readouterr().out


def test_both_kinds_of_propensities_say_what_differs_at_the_second_place():
    log, by_place = (log_of(4000, "navigational", kind, SOFT) for kind in ("above", "place"))
    log = log.assign(**{"place:propensity": by_place["propensity"]})
    log = log.assign(**{"place:best": by_place["policy:best"]})
    (note,) = [note for note in sa.evaluate("best", read(log, "above")).notes if "place 2" in note]
    more, low, high = map(float, re.findall(r"[+-][\d.]+\d", note))
    chance, weights = every_list("place", SOFT)
    truth_ = SOFT[:, :, None] * clicks_by_place("navigational")
    clicks = clicks_by_place("navigational").reshape(480, 3)
    expected = (chance @ (weights * clicks))[1] - truth_.sum(axis=1).mean(axis=0)[1]
    assert 0 < low < expected < high and more == pytest.approx(expected, abs=0.1)


# --- what documents say


def documented(section: str) -> list[str]:
    """The code in a section of docs/ads.md."""
    text = (Path(__file__).parents[2] / "docs" / "ads.md").read_text().partition(section)[2]
    return [part.partition("```")[0] for part in text.split("```python\n")[1:]]


def test_scores_become_probabilities_of_the_ad_shown():
    code, score, sums = documented("## A policy of your own, from its scores")[0], LOGGED, {}
    for ad in range(6):
        names = {"np": np, "score": score, "shown": np.full(4, ad)}
        exec(code, names)
        for name in ("always_best", "drawn", "explored"):
            sums[name] = sums.get(name, 0) + names[name]
    assert [*map(list, sums.values())] == [pytest.approx([1] * 4)] * 3


def test_scores_become_probabilities_of_the_items_of_a_list():
    code, log = documented("## A policy of your own, from its scores")[1], {}
    exec(
        code,
        {"np": np, "score": LOGGED.repeat(120, 0), "shown": np.tile(LISTS, (4, 1)), "log": log},
    )
    assert log["policy:mine"] == pytest.approx(kinds(LOGGING)["above"].ravel())


def test_a_log_as_expected_says_how_many_visits_a_test_needs(capsys):
    exec(documented("**How many visits a test needs.**")[0], {})
    assert (
        "cannot tell: about 15,000 test rows would give it an even chance"
        in capsys.readouterr().out
    )
