"""What `scant ads` is asked for is done as it is meant, or refused: names that meet, numbers, files to write, texts."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scant.advice as sa
from scant.cli import main
from scant.errors import SettingError

QUICK = {"steps": 2000, "lambdas": (0.1,)}
STEPS = ("--steps", "2000", "--lambdas", "0.1")


def frame(rows=400, seed=0):
    """A log of two ads, shown by chance, the first of which is for those with a positive x."""
    random = np.random.default_rng(seed)
    x, shown = random.normal(size=(rows, 2)), random.integers(2, size=rows)
    liked = (x[:, 0] > 0) == (shown == 0)
    clicked = random.random(rows) < np.where(liked, 0.6, 0.2)
    return pd.DataFrame({"action": np.array(["a", "b"])[shown], "reward": clicked.astype(int), "propensity": 0.5,
                         "x": x[:, 0], "y": x[:, 1]})  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with logs, a log in parts, and saved policies of two days and with names that others have."""
    folder = tmp_path_factory.mktemp("asked")
    for seed, name in enumerate(("train", "test", "log/0", "log/1")):
        (folder / name).parent.mkdir(exist_ok=True)
        frame(seed=seed).to_parquet(folder / f"{name}.parquet", index=False)
    train = sa.Log.read(folder / "train.parquet")
    for name, epsilon in (("mon/ranker", 0.0), ("tue/ranker", 0.5), ("logistic", 0.3), ("uniform", 0.0)):
        (folder / name).parent.mkdir(exist_ok=True)
        sa.fit(train, "logistic", epsilon=epsilon, **QUICK).save(folder / f"{name}.arrow")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of them, as the working directory."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def evaluated(log, *policies, options=()):
    """The names of the policies in the table, and their epsilons."""
    asked = [word for policy in policies for word in ("--policy", policy)]
    assert main(["ads", "evaluate", log, *asked, *options, "--output", "table.csv"]) == 0
    table = pd.read_csv("table.csv").iloc[2:]
    return dict(zip(table["policy"], table["epsilon"], strict=True))


def refused(capsys, *words):
    """The message of a command that is refused, which leaves all files as they were."""

    def files():
        return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}

    before = files()
    assert main(["ads", *map(str, words)]) == 1
    message = capsys.readouterr().err
    assert message.startswith("scant: ") and files() == before
    return message


# --- names of policies


def test_saved_policies_that_meet_are_told_apart_by_their_folders(folder):
    pair = ("mon/ranker.arrow", "tue/ranker.arrow")
    assert evaluated("test.parquet", *pair) == {"mon/ranker": 0, "tue/ranker": 0.5}
    assert evaluated("test.parquet", "tue/ranker.arrow") == {"ranker": 0.5}
    shutil.copytree(folder / "mon", folder / "deep/mon")
    names = evaluated("test.parquet", "mon/ranker.arrow", f"{folder}/deep/mon/ranker.arrow", pair[1])
    assert [*names] == ["mon/ranker", "deep/mon/ranker", "tue/ranker"]


def test_a_saved_policy_that_meets_another_has_the_name_of_its_file(folder):
    both = evaluated("test.parquet", "logistic", "logistic.arrow", options=("--train", "train.parquet", *STEPS))
    assert both == {"logistic": 0, "logistic.arrow": 0.3}
    assert evaluated("test.parquet", "logistic.arrow") == {"logistic": 0.3}
    assert evaluated("test.parquet", "uniform.arrow", "uniform") == {"uniform.arrow": 0}


def test_a_column_is_not_taken_for_a_policy_of_that_name(folder, capsys):
    frame(seed=9).assign(**{"policy:logging": 0.5, "policy:logistic": 0.5}).to_parquet("named.parquet", index=False)
    for name, options in (("logging", ()), ("logistic", ("--train", "train.parquet", *STEPS))):
        message = refused(capsys, "evaluate", "named.parquet", "--policy", name, *options)
        assert f"say column:{name}, or leave the column out with --ignore policy:{name}" in message
        assert [*evaluated("named.parquet", f"column:{name}")] == [f"column:{name}"]
    options = ("--train", "train.parquet", *STEPS, "--ignore", "policy:logistic")
    assert evaluated("named.parquet", "logistic", options=options) == {"logistic": 0}


@pytest.mark.parametrize(
    "pair", [("logistic.arrow", "./logistic.arrow"), ("logistic", "logistic"), ("mon/../logistic.arrow",) * 2]
)
def test_the_same_policy_twice_is_refused(folder, capsys, pair):
    asked = ("--policy", pair[0], "--policy", pair[1])
    assert "given twice" in refused(capsys, "evaluate", "test.parquet", "--train", "train.parquet", *asked)


def test_parts_have_the_same_names(folder):
    asked = ("mon/ranker.arrow", "tue/ranker.arrow", "uniform.arrow")
    words = [word for policy in asked for word in ("--policy", policy)]
    for part in ("0.parquet", "1.parquet"):
        assert main(["ads", "part", "log", part, *words, "--output", f"sums/{part}"]) == 0
    whole = evaluated("log", *asked)
    assert [*whole] == ["mon/ranker", "tue/ranker", "uniform.arrow"]
    assert evaluated("log", *asked, options=("--parts", "sums")) == whole


def test_names_in_python_are_none_of_those_always_compared(folder):
    test = sa.Log.from_frame(frame(seed=9).assign(**{"policy:mine": 0.5, "policy:logistic 2": 0.5}))
    policy, other = sa.Policy.load("logistic.arrow"), sa.Policy.load("mon/ranker.arrow")
    for asked in ({"uniform": policy}, {"mine": "uniform"}, {"": policy}, {1: policy}, {"policy:mine": policy}):
        with pytest.raises(SettingError, match="a policy cannot be called"):
            sa.evaluate(asked, test)
    for asked in ([policy, policy], ["mine", "mine"], ["mine", "column:mine"], {"a": "mine", "b": "column:mine"}):
        with pytest.raises(SettingError, match="is given twice"):
            sa.evaluate(asked, test)
    rows = sa.evaluate([policy, "logistic 2", other, "mine"], test).rows[2:]
    assert [row["policy"] for row in rows] == ["logistic", "logistic 2", "logistic 3", "mine"]
    assert [row["policy"] for row in sa.evaluate({"logging": "logging"}, test).rows] == ["logging", "uniform"]
