"""What a log calls things, and what columns are by their values, as `check` says."""

import json
import re
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import yaml
from ads_logs import problems

import scant_ads as sa
from scant.cli import main
from scant.errors import DataError
from scant_ads.reading import formats


def made(rows=2000, seed=0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    columns = {"action": random.integers(0, 4, rows), "reward": random.random(rows) < 0.1}
    return pd.DataFrame(columns | {"propensity": 0.25, "x": random.standard_normal(rows)})


def test_users_are_known_by_what_people_call_them():
    users = np.random.default_rng(1).integers(0, 300, 2000)
    for name in ("gaid", "ip_address", "household_id", "msisdn", "email_sha256", "cid", "login"):
        assert f"--user {name}" in problems(made().assign(**{name: users}))["user"]["mend"]
    for name in ("email_opens", "user_age", "tip", "zip", "skip_rate"):
        assert "user" not in problems(made().assign(**{name: users}))


@pytest.mark.parametrize("as_text", [False, True])
def test_visits_that_keep_their_ad_are_of_users_whatever_the_column_is_called(as_text):
    frame, random = made(), np.random.default_rng(2)
    who = random.integers(0, 200, len(frame))
    who = np.char.add("w", who.astype(str)) if as_text else who
    kept = dict(zip(np.unique(who), random.integers(0, 4, 200), strict=False))
    said = problems(frame.assign(whose=who, action=[kept[value] for value in who]))["user"]
    assert "users who keep their ad" in said["reason"] and "whose" in said["mend"]
    assert "user" not in problems(frame.assign(whose=who))
    # a sorted file keeps no ads
    assert "user" not in problems(frame.assign(whose=who).sort_values("action"))


def test_right_logs_do_not_keep_ads():
    # contexts choose the ad in 9 of 10 visits, as their propensities say
    for seed in range(100):
        random = np.random.default_rng(seed)
        context = random.integers(0, 30, 1000)
        best, other = context % 3, random.integers(0, 3, 1000)
        explored = random.random(1000) < 0.15
        action = np.where(explored, other, best)
        frame = {"action": action, "reward": random.random(1000) < 0.1, "context": context}
        frame = pd.DataFrame(frame | {"propensity": np.where(action == best, 0.9, 0.05)})
        assert "user" not in problems(frame)


@pytest.mark.parametrize(
    ("ids", "alike"),
    yaml.safe_load(r"""
[[[' promo', promo], ''' promo'' and ''promo'''], [[café, café], '''cafe\u0301'' and ''caf\xe9'''],
 [['0', '0.0'], '''0'' and ''0.0'''], [[a.0, a], null], [[Ab, ab], null]]
"""),
)
def test_ids_that_look_alike_are_named(ids, alike):
    frame = made().assign(action=np.array(["x", "y", *ids])[made()["action"]])
    said = problems(frame).get("ids", {"reason": "None"})["reason"]
    assert str(alike) in said
    notes = sa.evaluate(["ad:x"], sa.Log.from_frame(frame)).notes
    assert any("look alike" in note for note in notes) == (alike is not None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("example 0: 21cf6d39 0 6.7\n0 exid:0 11:2\n", "is no header of several columns"),
        ("ad1;0;0.25\nad2;1;0.25\n", "its first line is no header, but data: '0.25'"),
        ("spring,0,a4f9,Ulm,-1\nsummer,1,99b0,Bonn,2.5\n", "no header, but data: '-1'"),
        ("1\tU7\t11/9/2019 9:05 AM\tN5 N81-1\n2\tU3\t11/11/2019 7:15 PM\tN7-1 N81\n", "MIND"),
        ("17 id-5 0 |user 1 9 |id-5 |id-7\n18 id-7 1 |user 1 4 8 |id-5\n", "--propensity uniform"),
    ],
)
def test_a_first_line_of_data_is_no_header(text, reason, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(DataError, match="its first line is no header") as refused:
        formats.read(path)
    assert reason in refused.value.text


def test_names_with_digits_are_a_header(tmp_path):
    """Of 200 logs with such names above texts with digits, read with roles and without, none was
    refused.
    """
    names = ["v1", "x.1", "age=18-25", "q1 2026", "p50", "out", "2024"]
    cells = ["b7", "v.2", "0-1", "k3 2019", "a4f9", "1", "0.5"]
    path = tmp_path / "log.csv"
    path.write_text("".join(",".join(row) + "\n" for row in [names] + [cells] * 9))
    assert formats.read(path).columns == tuple(names)


def test_columns_may_be_called_by_numbers(tmp_path):
    path = tmp_path / "log.csv"
    made().to_csv(path, index=False, header=["0", "1", "2", "3"])
    assert sa.Log.read(path, {"action": "0", "reward": "1", "propensity": "2"}).check().ok
    made().rename(columns={"x": "7"}).to_csv(path, index=False)
    assert sa.Log.read(path).check().ok


def test_probabilities_of_all_ads_are_offered_as_a_policy():
    pi = np.random.default_rng(3).dirichlet(np.ones(4), 2000)
    frame = made().assign(**{f"pi_{ad}": pi[:, ad] for ad in range(4)})
    mend = problems(frame)["distribution"]["mend"]
    recipe = re.search(r"in pandas (log\['policy:pi'\] = .*), and evaluate it with --pol", mend)[1]
    exec(recipe, {"log": (log := frame.copy()), "str": str})
    np.testing.assert_array_equal(log["policy:pi"], pi[np.arange(2000), log["action"]])
    notes = sa.evaluate(["each-ad"], frame).notes
    assert any("sum to 1 in every row" in note for note in notes)
    assert "distribution" not in problems(frame.assign(pi_3=0.1))
    assert "distribution" not in problems(frame.drop(columns="pi_3"))


@pytest.mark.parametrize("write", ["|".join, ",".join, str])
def test_lists_that_have_the_ad_shown_are_proposed_as_the_eligible_ads(write):
    frame = made()
    ads = frame["action"].map(lambda ad: [str(ad), *{"0", "1", "2"} - {str(ad)}])
    of_others = frame.assign(pool=ads.map(lambda ads: write(ads[1:])))
    with_one = frame.assign(pool=frame["action"].map(lambda ad: write([str(ad), "big"])))
    assert "pool" in problems(frame.assign(pool=ads.map(write)))["candidates"]["reason"]
    for log in (of_others, with_one):
        assert "candidates" not in problems(log)


def test_times_are_no_ids_and_a_column_is_proposed_only_where_it_is_called_alike():
    times = 1_650_600_000_000 + 60_000 * np.arange(2000)
    said = problems(made().assign(time_ms=times))
    assert "--time time_ms" in said["time"]["mend"] and "id" not in said
    assert "id" in problems(made().assign(serial=times))
    columns = made().rename(columns={"action": "variant", "x": "duration_ms"})
    assert "variant" in problems(columns)["column"]["mend"]
    assert "duration" not in problems(columns.drop(columns="variant"))["column"]["mend"]


def write(path, lines) -> None:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts))


def test_json_of_vowpal_wabbit_is_read_as_its_dsjson_is(tmp_path):
    random, plain, ds = np.random.default_rng(0), [], []
    for age in random.integers(20, 60, 100).tolist():
        place, cost = int(random.integers(3)), -float(random.random() < 0.5)
        context = {"User": {"age": age}, "_multi": [{"id": f"ad{at}"} for at in range(3)]}
        label = {"_label_cost": cost, "_label_probability": 0.25, "_labelIndex": place}
        ds.append(label | {"c": deepcopy(context)})
        context["_multi"][place]["_label"] = f"0:{cost}:0.25"
        plain.append(context)
    write(tmp_path / "plain.json", plain)
    write(tmp_path / "ds.json", ds)
    found, expected = (sa.Log.read(tmp_path / name) for name in ("plain.json", "ds.json"))
    assert found.form == "Vowpal Wabbit's JSON, reward = -cost"
    assert found.visits.names == ("User.age",)
    for name in ("features", "action", "reward", "propensity"):
        assert getattr(found.visits, name).tolist() == getattr(expected.visits, name).tolist()
    assert found.visits.actions == expected.visits.actions == ("ad0", "ad1", "ad2")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["1:-1:0.5 2:0 | a", "1:0:0.5 | a"], "has several known costs, also '2:0'"),
        ([{"_multi": [{"_label": "0:0:0.5"}, {"_label": "0:-1:0.5"}]}], "has several known costs"),
        ([{"_multi": [{"_label": {"Cost": 1}}]}], "which is not action:cost:probability"),
        ([{"_label_ca": {"cost": 0, "pdf_value": 0.004, "action": 89.2}}], "continuous actions"),
    ],
)
def test_what_is_no_choice_of_one_ad_is_named(lines, said, tmp_path, capsys):
    write(tmp_path / "log.txt", lines)
    assert main(["ads", "check", str(tmp_path / "log.txt")]) == 1
    assert said in "".join(capsys.readouterr())


def test_ads_that_may_be_chosen_without_a_cost_are_no_costs(tmp_path):
    write(tmp_path / "log.txt", ["1:-1:0.5 2 | a", "1 2:0:0.5 | b"])
    assert sa.Log.read(tmp_path / "log.txt").visits.reward.tolist() == [1, 0]
