"""`scant ads`, end to end: two simulated logs, what they hold, which policy would earn more."""

import json
import time

import pandas as pd
import pytest
from ads_logs import ads

from scant.cli import main
from scant_ads import progress
from scant_ads.policies.learning import LEARNT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Logs of the hotel's campaign: train.parquet of its own policy, test.* of chance."""
    folder = tmp_path_factory.mktemp("campaign")
    assert simulate(folder / "train.parquet", "targeted", seed=1) == 0
    for name in ("test.csv", "test.parquet"):
        assert simulate(folder / name, "uniform", seed=2) == 0
    return folder


def simulate(path, policy, seed):
    return ads(f"simulate hotel --policy {policy} --rows 3000 --seed {seed} --output {path}")


def test_a_log_is_checked(folder, capsys):
    assert main(["ads", "check", str(folder / "test.csv")]) == 0
    assert "propensities: 0.2 in all rows" in capsys.readouterr().out
    assert main(["ads", "check", str(folder / "train.parquet"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows"], len(facts["actions"]), len(facts["features"])) == (3000, 5, 30)


@pytest.mark.parametrize("policy", ["uniform", "targeted"])
def test_a_simulated_log_of_lists_is_judged(policy, tmp_path, capsys):
    path = f"{tmp_path}/lists.csv"
    simulated = f"simulate hotel --policy {policy} --places 3 --rows 4000 --output {path}"
    assert ads(simulated) == 0
    log, offers = pd.read_csv(path), range(1, 6)
    lists = log.pivot_table(index="visit", columns="position", values="action")
    assert [*lists] == [1, 2, 3] and (lists.nunique(axis=1) == 3).all() and len(lists) == 4000
    if policy == "uniform":  # of 5 offers, and of those that are left
        assert log["propensity"].to_numpy() == pytest.approx([1 / 5, 1 / 4, 1 / 3] * 4000)
    weight = (1 / log["propensity"]).groupby(log["visit"]).prod()  # 60 on average: of 60 lists each
    assert abs(weight.mean() / 60 - 1) < 5 * weight.std() / 60 / 4000**0.5 + 1e-9
    weight = log["policy:best"] / log["propensity"]
    mean = weight.groupby(log["position"]).mean()
    assert ((mean - 1).abs() < 5 * weight.groupby(log["position"]).std() / 4000**0.5).all()
    assert set(offers) == set(log["action"]) and log["reward"].mean() < 0.1
    assert ads(f"evaluate {path} --list visit --propensity-of above") == 0
    assert "better than today's policy" in capsys.readouterr().out
    assert ads(simulated.replace("4000", "0")) == 1


def test_a_log_is_checked_whose_columns_are_named_otherwise(folder, tmp_path, capsys):
    path = str(tmp_path / "log.csv")
    frame = pd.read_csv(folder / "test.csv").rename(columns={"reward": "click", "action": "ad_id"})
    frame.assign(visit=range(3000)).to_csv(path, index=False)
    assert ads(f"check {path}") == 1
    printed = capsys.readouterr().out
    assert "problems: 2 that must be mended, 1 to know of" in printed
    assert "--columns reward=click" in printed
    assert ads(f"check {path} --columns reward=click action=ad_id --ignore visit") == 0
    assert "no problems found" in capsys.readouterr().out


def test_long_work_is_reported_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0.02)
    monkeypatch.setattr(progress, "AGAIN", 0.1)
    with progress.Progress() as say:
        say("quick")
        say("slow")
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and all(line.endswith("slow") for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("fit test.csv --output ranker.arrow", "--policy"),
        ("evaluate test.csv --split 7", "'7' is no share between 0 and 1, nor 'time'"),
        ("check test.csv --columns click", "'click' is not ROLE=COLUMN, such as reward=click"),
        ("simulate hotel --policy random --rows 9 --output out", "invalid choice: 'random'"),
        ("evaluate x --columns reward=a reward=b", "reward is given twice, 'a' and 'b': give one"),
        ("evaluate x --user a --columns user=b", "user is given twice, 'a' and 'b'"),
        ("evaluate x --guard a=0.05 --guard a=0.1", "a is given twice, 0.05 and 0.1"),
    ],
)
def test_wrong_grammar_is_refused(words, message, capsys):
    with pytest.raises(SystemExit) as caught:
        ads(words)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "fit"])
def test_the_help_names_all_kinds_of_learners(command, capsys):
    with pytest.raises(SystemExit):
        ads(f"{command} --help")
    printed = "".join(capsys.readouterr().out.split())  # lines are wrapped at hyphens
    assert all(kind in printed for kind in LEARNT)
