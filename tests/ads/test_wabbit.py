"""Logs of Vowpal Wabbit in its documented forms; propensities and rewards written otherwise."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
import yaml
from ads_logs import problems
from test_ads_parts import written as written_in_parts

import scant_ads as sa
from scant.errors import DataError, SettingError
from scant_ads.reading import batches, formats, wabbit

ADS = ("Cappucino", "Cold brew", "Latte")
CONSTANT = 11650396  # the hash of the feature that Vowpal Wabbit adds to every line
LARGE = "9" * 400  # a whole number that no double can hold


def frame(rows=60, seed=0):
    """Visits, a column for each thing that a log says of them."""
    random = np.random.default_rng(seed)
    made = {"action": random.choice(ADS, rows), "reward": random.choice([0.0, 0.5, 1.0], rows)}
    made |= {"propensity": random.choice([0.25, 0.5], rows)}
    made |= {"weather": random.choice(["Sunny", "Rainy"], rows)}
    made |= {"age": random.integers(18, 70, rows)}
    return pd.DataFrame(made).assign(vip=made["age"] > 60)


def event(visit, number, ads=None, **more):
    """An event of dsjson as documented; `more` replaces what it holds, and None leaves it out."""
    place = ADS.index(visit.action)
    ads = ads or [
        {"_tag": ad, "i": {"constant": 1, "id": ad}, "j": [{"type": "hot"}]} for ad in ADS
    ]
    order = [place, *(other for other in range(3) if other != place)]
    user = {"age": visit.age, "vip": visit.vip, "_x": 1}
    context = {"_synthetic": False, "FromUrl": [{"weather": visit.weather}], "User": user}
    made = {"_label_cost": -visit.reward, "_label_probability": visit.propensity}
    made |= {"_label_Action": place + 1, "_labelIndex": place}
    made |= {"o": [{"v": visit.reward, "EventId": f"e{number}", "ActionTaken": False}]}
    made |= {"Timestamp": f"2021-02-04T16:31:{number % 60:02}.2460000Z", "Version": "1"}
    made |= {"EventId": f"e{number}", "a": [one + 1 for one in order]}
    made |= {"c": context | {"_multi": ads}, "VWState": {"m": "N/A"}}
    made |= {"p": [visit.propensity, *[(1 - visit.propensity) / 2] * 2]}
    return {key: value for key, value in (made | more).items() if value is not None}


def events(visits, **more):
    return [event(visit, number, **more) for number, visit in enumerate(visits.itertuples())]


def written(path, things):
    path.write_text("".join(json.dumps(thing) + "\n" for thing in things))
    return path


def text(visits, ads=None):
    numbers = [ADS.index(ad) + 1 for ad in visits["action"]]
    rows = zip(numbers, visits.itertuples(), strict=True)
    return "".join(
        f"{number}:{-visit.reward}:{visit.propensity} |User age:{visit.age}{' vip' * visit.vip} "
        f"|W weather:{visit.weather}\n"
        for number, visit in rows
    )


def rows(log):
    """What a log says of each visit: ad, reward, propensity."""
    visits = log.visits
    shown = [visits.actions[ad] for ad in visits.action]
    return [*zip(shown, visits.reward, visits.propensity, strict=True)]


def features(log):
    visits = log.visits
    found = {}
    for at, name in enumerate(visits.names):
        texts, column = visits.categories.get(name), visits.features[:, at]
        found[name] = [texts[int(code)] for code in column] if texts else column.tolist()
    return found


def error(log):
    """The one error of a log, after its place."""
    (problem,) = [problem for problem in log.check()["problems"] if problem["severity"] == "error"]
    return f"{problem['place']}: {problem['reason']}"


# --- dsjson
def test_dsjson_is_read_as_documented(tmp_path):
    visits = frame()
    path = written(tmp_path / "log.json", events(visits))
    log = sa.Log.read(path)
    assert log.form == "Vowpal Wabbit's dsjson, reward = -cost"
    assert rows(log) == [
        *visits[["action", "reward", "propensity"]].itertuples(index=False, name=None)
    ]
    assert features(log) == {
        "c.FromUrl.weather": visits["weather"].tolist(),
        "c.User.age": visits["age"].tolist(),
        "c.User.vip": visits["vip"].tolist(),
    }
    assert log.visits.timestamp[1] == np.datetime64("2021-02-04T16:31:01.246")
    assert len(np.unique(log.visits.id, axis=0)) == len(visits) and not problems(log)
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows(sa.Log.read(packed)) == rows(log) and "packed with gzip" in sa.Log.read(packed).form
    ignored = ["c.FromUrl", "EventId", "timestamp"]
    part = sa.Log.read(path, columns={"user": "c.User.age"}, ignore=ignored).visits
    assert part.names == ("c.User.vip",) and part.user is not None
    assert part.id is None and part.timestamp is None
    names = sa.Log.read(path, columns={"id": "c.User.age"}).visits.names
    assert names == ("c.FromUrl.weather", "c.User.vip")


NUMBERED = [{"id": number, "name": ad} for number, ad in enumerate(ADS)]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"EventId": None, "Timestamp": None},
        {
            "c": {
                "A": [{"b": "x"}, {"d": {"e": 1}}],
                "l": [1],
                "t": "2021-02-04",
                "_multi": NUMBERED,
            }
        },
        {"c": {"x": True, "y.z": 2, "_multi": [{"i": {"id": ad}, "id": ""} for ad in ADS]}},
    ],
)
@pytest.mark.parametrize("ignore", [(), ("c.User", "EventId"), ("c",)])
def test_dsjson_whose_lines_are_alike_is_read_as_line_by_line(tmp_path, monkeypatch, more, ignore):
    path = written(tmp_path / "log.json", events(frame(), **more))
    alike = sa.Log.read(path, ignore=ignore)
    content = wabbit._alike(path.read_bytes(), frozenset(ignore))
    assert content is not None
    monkeypatch.setattr(wabbit, "_alike", lambda *given: None)
    by_line = sa.Log.read(path, ignore=ignore)
    for name, column in by_line.visits.columns().items():
        np.testing.assert_array_equal(alike.visits.columns()[name], column)
    assert alike.visits.names == by_line.visits.names
    assert alike.visits.categories == by_line.visits.categories
    assert str(alike.check()) == str(by_line.check())


@pytest.mark.parametrize(
    "odd",
    [
        {"_label_cost": True},
        {"_labelIndex": 1.0},
        {"_labelIndex": 7},
        {"pdrop": 0.5},
        {"Timestamp": None},
        {"c": {"User": {"age": 2}, "_multi": NUMBERED}},
    ],
)
def test_dsjson_whose_lines_differ_is_read_line_by_line(tmp_path, odd):
    visits = frame(4)
    lines = [json.dumps(one) for one in (*events(visits)[:3], events(visits, **odd)[3])]
    assert wabbit._alike("\n".join(lines).encode(), frozenset()) is None
    several = events(visits[:2])
    assert (
        wabbit._alike(
            f"\n\n{json.dumps(several[0])} {json.dumps(several[1])}".encode(), frozenset()
        )
        is None
    )


def test_dsjson_that_says_less_is_the_same(tmp_path):
    """What was chosen is said in several places, of which each will do."""
    visits = frame()
    whole = rows(sa.Log.read(written(tmp_path / "0.json", events(visits))))
    no_index = {"_labelIndex": None}
    for less in (no_index, no_index | {"_label_Action": None}, {"_label_probability": None}):
        log = sa.Log.read(written(tmp_path / "1.json", events(visits, **less)))
        assert rows(log) == whole
    less = dict.fromkeys(("EventId", "Timestamp", "p", "a"))
    log = sa.Log.read(written(tmp_path / "2.json", events(visits, **less)))
    assert rows(log) == whole and log.visits.id is None and log.visits.timestamp is None


@pytest.mark.parametrize(
    ("ads", "names"),
    [
        ([{"id": "x", "f": 1}, {"id": "y", "f": 2}, {"id": 7, "f": 3}], ("x", "y", "7")),
        ([{"name": "x"}, {"name": "y"}, {"name": "z"}], ("x", "y", "z")),
        ([{"i": {"id": "x"}}, {"i": {"id": "y"}}, {"i": {"id": "z"}}], ("x", "y", "z")),
        ([{"_tag": "x", "id": "1"}, {"id": "2"}, {"_tag": "z", "id": "3"}], ("1", "2", "3")),
        ([{"TAction": {"topic": topic}} for topic in "abc"], ("0", "1", "2")),
    ],
)
def test_ads_are_known_by_an_id_or_else_by_their_place(tmp_path, ads, names):
    visits = frame()
    log = sa.Log.read(written(tmp_path / "log.json", events(visits, ads=ads)))
    assert [row[0] for row in rows(log)] == [names[ADS.index(ad)] for ad in visits["action"]]
    assert not problems(log)


def test_visits_with_other_ads_have_lists_of_eligible_ones(tmp_path):
    made = events(frame())
    made[3]["c"]["_multi"].append({"_tag": "Tea"})
    log = sa.Log.read(written(tmp_path / "log.json", made))
    assert log.visits.actions == (*ADS, "Tea") and "offered" not in problems(log)
    eligible = np.column_stack([np.ones((60, 3)), np.arange(60) == 3])
    np.testing.assert_array_equal(log.visits.eligible, eligible)
    assert sa.Log.read(tmp_path / "log.json", ignore=["eligible"]).visits.eligible is None
    made = events(frame(), ads=[{"TAction": {"topic": topic}} for topic in "abc"])
    made[3]["c"]["_multi"] = [{"TAction": {"topic": topic}} for topic in "bca"]
    found = problems(sa.Log.read(written(tmp_path / "log.json", made)))
    assert "known by their places alone" in found["offered"]["reason"]
    assert "_tag" in found["offered"]["mend"]


def test_events_that_tell_nothing_are_left_out_and_counted(tmp_path):
    visits = frame()
    made = events(visits)
    whole = rows(sa.Log.read(written(tmp_path / "0.json", made)))
    made.insert(5, made[5] | {"_skipLearn": True})
    late = {"RewardValue": 1.0, "EnqueuedTimeUtc": "2021-02-04T16:31:29Z", "EventId": "e99"}
    made.insert(9, late)
    made[3]["pdrop"] = None  # nothing was dropped
    log = sa.Log.read(written(tmp_path / "1.json", made))
    assert rows(log) == whole
    assert sorted(problem["reason"] for problem in log.check()["problems"]) == [
        "1 lines are left out: rewards of visits that are not there",
        "1 lines are left out: visits that are not to be learnt from (_skipLearn)",
    ]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"_label_cost": None}, "line 4 has no cost"),
        ({"_label_cost": "much"}, "line 4 has the cost 'much', which is not a number"),
        ({"_labelIndex": 5}, "line 4 has the ad 5, where there are 3"),
        ({"c": None}, "line 4 has no context c"),
        ({"c": {"_slots": []}}, "line 4 has several decisions, and no outcomes"),
        ({"_outcomes": [{"_a": [0], "_p": [1.0]}]}, "line 4 is of slates, with one cost"),
        ({"_label_probability": None, "p": []}, "line 4 is not as the form has it"),
        ({"pdrop": 1}, "line 4 has the pdrop 1, which is not in [0, 1)"),
        ({"pdrop": 0.9}, "visits were dropped with different probabilities (pdrop): 0.0, 0.9"),
        ({"_label_probability": 1.5}, "line 4: propensity 1.5 is not in (0, 1]"),
        ({"Timestamp": None}, "line 4: timestamp is missing"),
    ],
)
def test_dsjson_that_is_wrong_is_refused_with_the_line(tmp_path, more, reason):
    made = events(frame())
    made[3] = event(next(frame().itertuples()), 3, **more)
    assert reason in error(sa.Log.read(written(tmp_path / "log.json", made)))


@pytest.mark.parametrize(
    ("there", "instead", "reason"),
    [
        ('"_label_cost": ', '"_label_cost": 1, "_label_cost": ', "has the key '_label_cost' twice"),
        ('"c": {', '"c": {"x": {"y": 1, "y": 1}, ', "has the key 'y' twice in one object"),
        ('"_label_cost": ', f'"_label_cost": {LARGE}, "z": ', "has a whole number of 400 digits"),
    ],
)
def test_json_that_python_reads_and_nobody_means_is_refused_with_the_line(
    tmp_path, there, instead, reason
):
    path = written(tmp_path / "log.json", events(frame()))
    lines = path.read_text().splitlines()
    assert there in lines[3]
    lines[3] = lines[3].replace(there, instead, 1)
    path.write_text("\n".join(lines) + "\n")
    assert f"line 4 {reason}" in error(sa.Log.read(path))


def test_lines_that_are_cut(tmp_path):
    path = written(tmp_path / "log.json", events(frame()))
    whole = path.read_text()
    path.write_text(whole.replace('"Version": "1"', '"Version"', 1))
    (problem,) = problems(sa.Log.read(path)).values()
    assert "line 1 is not JSON" in problem["reason"] and problem["count"] == 1
    path.write_text(whole[:-200])
    found = problems(sa.Log.read(path))
    assert "may have been cut" in found["cut"]["reason"]
    assert "line 60 is not JSON" in found["lines"]["reason"]


def test_other_json_is_refused_with_the_command_that_mends_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = {"action": ["a", "b"], "reward": [0, 1], "context": [{"age": 1}, {"age": 2}]}
    made = pd.DataFrame(made).assign(propensity=0.5)
    for lines in (True, False):
        made.to_json("log.json", orient="records", lines=lines)
        with pytest.raises(DataError, match="not Vowpal Wabbit's dsjson") as error:
            sa.Log.read("log.json")
        eval(f"pd.{error.value.advice.partition('pandas: ')[2]}", {"pd": pd})
        assert sa.Log.read("log.parquet").visits.names == ("context.age",)


# --- text
def test_the_parts_of_a_line(tmp_path):
    path = tmp_path / "log.vw"
    path.write_text(
        "1:-1:0.5 2 3 'first| a c:0.5 |n:2 x:3 x y:-1e1\n\n2:0:0.25 |n y\r\n"
        "3:-0.5:0.5 the| action a:2 |m x=1\n| a\n"
    )
    log = sa.Log.read(path)
    assert log.form == "Vowpal Wabbit's text, reward = -cost"
    assert rows(log) == [("1", 1, 0.5), ("2", 0, 0.25), ("3", 0.5, 0.5)]
    assert features(log) == yaml.safe_load("""
    {a: [1, 0, 2], c: [0.5, 0, 0], n.x: [8, 0, 0], n.y: [-20, 1, 0], .action: [0, 0, 1],
     m.x=1: [0, 0, 1]}
    """)
    assert "lines without action:cost:probability" in problems(log)["passed"]["reason"]
    assert sa.Log.read(path, ignore=["n.x", "n.y"]).visits.names == ("a", "c", ".action", "m.x=1")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1:0:0.5 2:0:0.5 | a", "line 2 does not begin with one action:cost:probability"),
        ("one:0:0.5 | a", "line 2 does not begin with one action:cost:probability"),
        ("1:zero:0.5 | a", "line 2 has the cost 'zero', which is not a number"),
        ("1:0:0.5 | a:red a:blue", "line 2 has two 'a'"),
        ("1:0:0 | a", "line 2: propensity 0.0 is not in (0, 1]"),
    ],
)
def test_text_that_is_wrong_is_refused_with_the_line(tmp_path, line, reason):
    path = tmp_path / "log.vw"
    path.write_text(f"1:0:0.5 | a\n{line}\n1:-1:0.5 | b\n")
    assert reason in error(sa.Log.read(path))


def groups(visits, tags=True):
    """The text with a line for each ad, of the same visits."""
    found = []
    for visit in visits.itertuples():
        vip = " vip" * visit.vip
        found.append(f"shared |User age:{visit.age}{vip} |W weather:{visit.weather}\n")
        for ad in ADS:
            label = f"0:{-visit.reward}:{visit.propensity} " * (ad == visit.action)
            name = ad.replace(" ", "_")
            found.append(f"{label}{name * tags}|A {name}\n")
        found.append("\n")
    return "".join(found)


@pytest.mark.parametrize("tags", [True, False])
def test_text_with_a_line_for_each_ad(tmp_path, tags):
    visits = frame()
    (tmp_path / "log.vw").write_text(text(visits))
    (tmp_path / "groups.vw").write_text(groups(visits, tags))
    log = sa.Log.read(tmp_path / "groups.vw")
    names = [ad.replace(" ", "_") if tags else str(place) for place, ad in enumerate(ADS)]
    assert [row[0] for row in rows(log)] == [names[ADS.index(ad)] for ad in visits["action"]]
    one_line = sa.Log.read(tmp_path / "log.vw")
    assert [row[1:] for row in rows(log)] == [row[1:] for row in rows(one_line)]
    assert features(log) == features(one_line)
    assert "offered" not in problems(log)
    two_labels = "shared | a\n0:0:0.5 | x\n0:-1:0.5 | y\n\n"
    (tmp_path / "groups.vw").write_text(two_labels + groups(visits, tags))
    found = problems(sa.Log.read(tmp_path / "groups.vw"))
    assert "line 1 begins a visit with more than one" in found["lines"]["reason"]


def test_text_of_too_many_features_or_of_several_decisions_is_refused(tmp_path):
    many = "".join(f"1:0:0.5 | word{number}\n" for number in range(1001))
    several = "ccb shared |S a\nccb action |A b\nccb slot 0:0.8:0.8 |D c\n"
    for text, reason in (
        (many, "more than 1,000 keys"),
        (several, "several decisions a visit"),
    ):
        (tmp_path / "log.vw").write_text(text)
        with pytest.raises(DataError, match=reason):
            sa.Log.read(tmp_path / "log.vw")


# --- costs
def test_costs_from_0_to_1_are_rewards_below_0(tmp_path):
    visits, path = frame(), tmp_path / "log.vw"
    path.write_text(text(visits.assign(reward=visits["reward"] - 1)))  # costs are 1 - reward
    (problem,) = problems(sa.Log.read(path)).values()
    assert (
        "is not in [0, 1]; they are from -1 to 0" in problem["reason"]
        and problem["severity"] == "error"
    )
    assert "--reward-min -1 --reward-max 0, and with --less if" in problem["mend"]
    log = sa.Log.read(path, reward_min=-1, reward_max=0)
    assert log.form == "Vowpal Wabbit's text, reward = -cost" and log.check().ok
    assert log.visits.reward.tolist() == visits["reward"].tolist()


def test_costs_in_a_column():
    visits = frame().assign(weather=1)

    def read(column, **options):
        return sa.Log.from_frame(visits.assign(reward=column), **options).visits.reward.tolist()

    costs, expected = -visits["reward"], visits["reward"].tolist()
    assert read(costs, less=True, reward_min=-1, reward_max=0) == expected
    assert read(1 + costs, less=True) == expected
    with pytest.raises(DataError, match=r"reward_min=-1 .*, and with `less=True`"):
        read(costs)


# --- propensities
WAYS = {"percent": lambda p: 100 * p, "log": np.log}
WAYS |= {"signs": lambda p: (100 * p).map("{:g} %".format)}


@pytest.mark.parametrize("way", WAYS)
def test_propensities_in_percent_and_logarithms(tmp_path, way):
    visits = frame().replace({"action": {ad: str(at) for at, ad in enumerate(ADS)}})
    p = visits["propensity"]
    made = visits.assign(propensity=WAYS[way](p))
    for at in range(0 if way == "signs" else 3):
        of_ad = np.where(visits["action"] == str(at), p, (1 - p) / 2)
        made[f"propensity:{at}"] = WAYS[way](of_ad)
    option = "percent" if way == "signs" else way
    made.to_csv(tmp_path / "log.csv", index=False)
    written_in_parts(tmp_path / "folder", made)
    for path in (tmp_path / "log.csv", tmp_path / "folder"):
        log = sa.Log.read(path, propensities=option)
        np.testing.assert_allclose(log.visits.propensity, p, rtol=1e-15)
        assert log.check().ok
        mends = " ".join(problem["mend"] for problem in problems(sa.Log.read(path)).values())
        assert f"Read them with --propensities {option}" in mends
    log = sa.Log.from_frame(made, propensities=option)
    np.testing.assert_allclose(log.visits.propensity, p, rtol=1e-15)
    with pytest.raises(SettingError, match="propensities 'logs': did you mean 'log'"):
        sa.Log.from_frame(made, propensities="logs")


# --- index columns
def test_an_index_without_a_name_is_left_out_and_told(tmp_path):
    """As pandas writes it, and as Open Bandit's files have it."""
    roles = {"action": "item_id", "reward": "click", "propensity": "propensity_score"}
    visits, path = frame().rename(columns=roles), tmp_path / "log.csv"
    for index in (visits.index, visits.index[::-1], visits.index * 7 + 3):
        visits.set_axis(index).to_csv(path)
        log = sa.Log.read(path, roles)
        assert log.visits.names == ("weather", "age", "vip")
        assert "it is an index, and left out" in problems(log)["index"]["reason"]
    mends = " ".join(one["mend"] for one in sa.Log.read(path).check()["problems"])
    assert all(f"--columns {role}={name}" in mends for role, name in roles.items())
    for index in ([1] * 60, [f"r{at}" for at in range(60)]):
        visits.set_axis(index).to_csv(path)
        with pytest.raises(DataError, match="column 1 has no name, and does not number the rows"):
            sa.Log.read(path, roles)


def test_new_visits_may_have_an_index_and_neither_they_nor_a_study_are_in_these_forms(tmp_path):
    visits = frame()
    visits.to_csv(tmp_path / "new.csv")
    (table,) = batches.read(tmp_path / "new.csv", ("age",), ())
    assert table.to_pydict() == {"age": visits["age"].tolist()}
    path = written(tmp_path / "new.json", events(visits))
    with pytest.raises(DataError, match=r"it is Vowpal Wabbit's dsjson, .*column c of JSON"):
        list(batches.read(path, ("c.User.age",), ()))
    with pytest.raises(DataError, match="A study takes CSV, parquet and Arrow"):
        formats.read_log(path)


def test_a_policy_learnt_from_dsjson_is_used_on_its_contexts(tmp_path):
    made = events(frame(300).round({"reward": 0}).astype({"reward": int}))
    log = sa.Log.read(written(tmp_path / "log.json", made))
    policy = sa.fit(log, "logistic", steps=500, lambdas=(0.1,))
    contexts = [{"FromUrl": one["c"]["FromUrl"][0], "User": one["c"]["User"]} for one in made]
    new = pd.DataFrame({"c": [*map(json.dumps, contexts)]})
    np.testing.assert_array_equal(policy.predict_proba(new), policy.predict_proba(log))


# --- as Vowpal Wabbit itself reads them
PARTS = (
    "1:-1:0.5 2 3 'first| a c:0.5 |n:2 x:3 x y:-1e1\n2:0:0.25 |n y |W weather:Rainy\r\n"
    "3:-0.5:0.5 the| action a:2 |m x=1\n"
)
DSJSON = "".join(f"{json.dumps(one)}\n" for one in events(frame(), ads=[{}] * 3))
DSJSON = "".join(f"{json.dumps(one)}\n" for one in events(frame(), ads=[{}] * 3))
FORMS = {  # what is written, the options by which Vowpal Wabbit reads it, and what parts visits
    "text": (text(frame()), "--cb 3", "\n"),
    "parts": (PARTS, "--cb 3", "\n"),
    "groups": (groups(frame(), tags=False), "--cb_adf", "\n\n"),
    "dsjson": (DSJSON, "--cb_adf --dsjson", "\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_log_is_read_as_vowpal_wabbit_reads_it(tmp_path, form):
    """Ad, reward, propensity, and each feature, which Vowpal Wabbit knows by its hash."""
    theirs = pytest.importorskip("vowpalwabbit")
    content, options, ending = FORMS[form]
    reader = theirs.Workspace(f"{options} --chain_hash -b 32 --sparse_weights --quiet")
    (tmp_path / "log").write_text(content)
    log = sa.Log.read(tmp_path / "log")
    columns = features(log)

    def hashed(row: int) -> dict[int, float]:
        found = {CONSTANT: 1.0}
        for name, column in columns.items():
            space, _, feature = name.removeprefix("c." * (form == "dsjson")).rpartition(".")
            key, value = reader.hash_feature(feature, reader.hash_space(space or " ")), column[row]
            if isinstance(value, str) and value:  # a feature of its own
                found[reader.hash_feature(value, key)] = 1.0
            elif value:
                found[key] = value
        return found

    visits = [visit for visit in content.split(ending) if visit]
    assert len(visits) == len(rows(log)) > 2
    for row, (visit, (ad, reward, propensity)) in enumerate(zip(visits, rows(log), strict=True)):
        parsed = reader.parse(visit)
        examples = parsed if isinstance(parsed, list) else [parsed]
        kind = theirs.LabelType.CONTEXTUAL_BANDIT
        labels = [(at, of.get_label(kind).costs) for at, of in enumerate(examples)]
        ((place, label),) = [(at, of) for at, costs in labels for of in costs if of.probability > 0]
        # the first of several is the visit's own line
        place = place - 1 if len(examples) > 1 else label.action
        assert (place, -label.cost, label.probability) == (int(ad), reward, propensity)
        found = {}
        for key, value in examples[0].iter_features():
            found[key] = found.get(key, 0.0) + value
        assert found == pytest.approx(hashed(row))
        reader.finish_example(parsed)
