"""What `scant ads` is asked for is done as it is meant, or refused."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ads_logs import ads

import scant_ads as sa
from scant.errors import SettingError

QUICK = {"steps": 2000, "lambdas": (0.1,)}
TRAIN = "--train train.parquet"


def frame(rows=400, seed=0):
    """A log of two ads, shown by chance, the first of which is for those with a positive x."""
    random = np.random.default_rng(seed)
    x, shown = random.normal(size=(rows, 2)), random.integers(2, size=rows)
    liked = (x[:, 0] > 0) == (shown == 0)
    clicked = random.random(rows) < np.where(liked, 0.6, 0.2)
    columns = {"action": np.array(["a", "b"])[shown], "reward": clicked.astype(int)}
    columns |= {"propensity": 0.5, "x": x[:, 0], "y": x[:, 1]}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with logs, a log in parts, and saved policies of two days."""
    folder = tmp_path_factory.mktemp("asked")
    for seed, name in enumerate(("train", "test", "log/0", "log/1")):
        (folder / name).parent.mkdir(exist_ok=True)
        frame(seed=seed).to_parquet(folder / f"{name}.parquet", index=False)
    train = sa.Log.read(folder / "train.parquet")
    cases = (("mon/ranker", 0.0), ("tue/ranker", 0.5), ("logistic", 0.3), ("uniform", 0.0))
    for name, epsilon in cases:
        (folder / name).parent.mkdir(exist_ok=True)
        sa.fit(train, "logistic", epsilon=epsilon, **QUICK).save(folder / f"{name}.arrow")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of them, as the working directory."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def evaluated(log, *policies, options=""):
    """The names of the policies in the table, and their epsilons."""
    asked = " ".join(f"--policy {policy}" for policy in policies)
    assert ads(f"evaluate {log} {asked} {options} --output table.csv") == 0
    table = pd.read_csv("table.csv").iloc[1:]
    return dict(zip(table["policy"], table["epsilon"], strict=True))


def refused(capsys, command, *more):
    """The message of a command that is refused, which leaves all files as they were."""

    def files():
        return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}

    before = files()
    assert ads(command, *more) == 1
    message = capsys.readouterr().err
    assert message.startswith("scant: ") and files() == before
    return message


# --- names of policies
def test_a_saved_policy_that_meets_another_has_the_name_of_its_file(folder):
    pair = ("mon/ranker.arrow", "tue/ranker.arrow")
    assert evaluated("test.parquet", *pair) == dict(zip(pair, (0, 0.5), strict=True))
    assert evaluated("test.parquet", "tue/ranker.arrow") == {"ranker": 0.5}
    both = evaluated("test.parquet", "logistic", "logistic.arrow", options=TRAIN)
    assert both == {"logistic": 0, "logistic.arrow": 0.3}
    assert evaluated("test.parquet", "logistic.arrow") == {"logistic": 0.3}
    assert evaluated("test.parquet", "uniform.arrow", "uniform") == {"uniform.arrow": 0}


def test_a_column_is_not_taken_for_a_policy_of_that_name(folder, capsys):
    columns = {"policy:logging": 0.5, "policy:logistic": 0.5}
    frame(seed=9).assign(**columns).to_parquet("named.parquet", index=False)
    for name, options in (("logging", ""), ("logistic", TRAIN)):
        message = refused(capsys, f"evaluate named.parquet --policy {name} {options}")
        assert f"say column:{name}, or leave the column out with --ignore policy:{name}" in message
        assert [*evaluated("named.parquet", f"column:{name}")] == [f"column:{name}"]
    options = f"{TRAIN} --ignore policy:logistic"
    assert evaluated("named.parquet", "logistic", options=options) == {"logistic": 0}


@pytest.mark.parametrize("name", ["logistic.arrow", "logistic", "sklearn.linear_model:Ridge"])
def test_the_same_policy_twice_is_refused(folder, capsys, name):
    asked = f"--policy {name} --policy {name}"
    assert "given twice" in refused(capsys, f"evaluate test.parquet {TRAIN} {asked}")


def test_names_in_python_are_none_of_those_always_compared(folder):
    test = sa.Log.from_frame(frame(seed=9).assign(**{"policy:mine": 0.5, "policy:logistic 2": 0.5}))
    policy, other = sa.Policy.load("logistic.arrow"), sa.Policy.load("mon/ranker.arrow")
    refused, twice = "a policy cannot be called", "is given twice"
    for asked, message in (
        ({"uniform": policy}, refused),
        ({"mine": "uniform"}, refused),
        ({"": policy}, refused),
        ({1: policy}, refused),
        ({"policy:mine": policy}, refused),
        ([policy, policy], twice),
        (["mine", "column:mine"], twice),
        ({"a": "mine", "b": "column:mine"}, twice),
    ):
        with pytest.raises(SettingError, match=message):
            sa.evaluate(asked, test)
    rows = sa.evaluate([policy, "logistic 2", other, "mine"], test).rows[1:]
    assert [row["policy"] for row in rows] == ["logistic", "logistic 2", "logistic 3", "mine"]
    assert [row["policy"] for row in sa.evaluate({"logging": "logging"}, test).rows] == ["logging"]


# --- files to write
def test_no_command_overwrites_what_it_reads_nor_writes_a_file_twice(folder, capsys):
    os.link("logistic.arrow", "linked.csv")
    os.link("test.parquet", "linked.html")
    evaluate = "evaluate test.parquet --policy logistic.arrow"
    for words in (
        f"{evaluate} --output linked.csv",
        f"{evaluate} --report linked.html",
        f"{evaluate} --report TEST.parquet",
        f"{evaluate} --train train.parquet --report ./train.parquet",
        "evaluate log --policy logistic.arrow --report log/0.parquet",
        "apply logistic.arrow test.parquet --output linked.csv",
        "apply logistic.arrow test.parquet --output test.parquet",
        "fit train.parquet --policy logistic --output train.parquet",
    ):
        message = refused(capsys, words)
        assert "is also an input" in message or "which is an input" in message, words
    for name in ("same.json", "SAME.json", "log/../same.json"):
        message = refused(capsys, f"{evaluate} --output same.json --report {name}")
        assert "is to be written twice" in message


# --- numbers
EVALUATE = f"evaluate test.parquet {TRAIN} --policy logistic"
LOGISTIC = "evaluate --policy logistic.arrow"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{LOGISTIC} log --level nan", "level is nan; a confidence is from 0.5"),
        (f"{EVALUATE} --seed -1", "seed is -1"),
        ("check test.parquet --user y --ignore y", "column 'y' is the user, and --ignore leaves"),
        (f"{LOGISTIC} log --columns id=x --ignore x", "column 'x' is the id, and --ignore leaves"),
        *(
            (f"{LOGISTIC} {log} --least-propensity={least}", "at most 1, here from 1e-100")
            for log in ("test.parquet", "log")
            for least in ("1e-300", "nan", "0")
        ),
    ],
)
def test_numbers_and_names_that_cannot_be_are_refused(folder, capsys, words, message):
    assert message in refused(capsys, words)


# --- texts of somebody's log
# clears the screen, begins a line, and turns what follows round
STEER = "\x1b[2J\nno problems found\u202e"


def test_names_in_a_log_do_not_steer_a_terminal(folder, capsys):
    for seed, name in enumerate(("train", "test")):
        log = frame(seed=seed).rename(columns={"x": f"x{STEER}"})
        log = log.assign(action=log["action"].map(lambda ad: ad + STEER), kind=f"k{STEER}")
        log.loc[log["action"].str.startswith("b"), "reward"] = 0
        log.assign(**{f"policy:mine{STEER}": 0.5}).to_parquet(f"{name}.parquet", index=False)
    forest = "--train train.parquet --policy forest --policy"
    for words, *more in (
        ("check test.parquet",),
        (f"evaluate test.parquet {forest}", f"mine{STEER}"),
        ("fit train.parquet --policy logistic --output new.arrow",),
        ("apply new.arrow test.parquet --output new.csv",),
    ):
        assert ads(words, *more) == 0
        printed = capsys.readouterr().out
        assert r"\x1b[2J\nno problems found\u202e" in printed
        assert "\x1b" not in printed and "\u202e" not in printed
        assert not any(line.startswith("no problems") for line in printed.splitlines()[:-1])


@pytest.mark.parametrize("form", ["large_string", "string", "string_view"])
def test_ids_are_written_as_they_are_read(folder, form):
    names = {"a": '=HYPERLINK("x")', "b": "-1"}
    made = frame().replace({"action": names})
    sa.fit(made, "logistic", **QUICK).save("policy.arrow")
    ids = ["@a", "+1 b", "-2.5", "=1", "plain", "", None, "\tx", "1e5", "'quoted"]
    visits = frame(len(ids)).assign(number=-1.5)[["x", "y", "number"]]
    table = pa.Table.from_pandas(visits, preserve_index=False)
    table = table.append_column("=id", pa.array(ids, getattr(pa, form)()))
    pq.write_table(table, "visits.parquet")
    apply = "apply policy.arrow visits.parquet --seed 1 --epsilon 0.5 --keep =id number --output"
    assert ads(f"{apply} new.csv") == 0 and ads(f"{apply} new.parquet") == 0
    written = pd.read_csv("new.csv", dtype=str, keep_default_na=False)
    kept = pq.read_table("new.parquet").to_pydict()
    assert kept["=id"] == ids and {*kept["action"]} == {*names.values()}
    assert written["=id"].tolist() == [cell or "" for cell in ids]
    assert {*written["number"]} == {"-1.5"} and written["action"].tolist() == kept["action"]
