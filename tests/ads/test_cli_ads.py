"""`scant ads`, end to end: two simulated logs, what they hold, and which policy would have earned
more clicks.
"""

import json
import time

import pandas as pd
import pytest
from ads_logs import ads

from scant import cli
from scant.cli import main
from scant_ads import progress

COMMANDS = ("simulate", "check", "evaluate")
QUICK = ["--policy", "logistic", "--steps", "3000", "--lambdas", "0.1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Logs of the hotel's campaign: train.parquet of its own policy, test.csv and test.parquet of
    chance.
    """
    folder = tmp_path_factory.mktemp("campaign")
    assert simulate(folder / "train.parquet", "targeted", seed=1) == 0
    for name in ("test.csv", "test.parquet"):
        assert simulate(folder / name, "uniform", seed=2) == 0
    return folder


def simulate(path, policy, campaign="hotel", rows=3000, seed=0, settings=None):
    options = ["--policy", policy, "--rows", str(rows), "--seed", str(seed), "--output", str(path)]
    return main(["ads", "simulate", campaign, *options, "--settings", json.dumps(settings or {})])


def test_a_log_is_checked(folder, capsys):
    assert main(["ads", "check", str(folder / "test.csv")]) == 0
    assert "propensities: 0.2 in all rows" in capsys.readouterr().out
    assert main(["ads", "check", str(folder / "train.parquet"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows"], len(facts["actions"]), len(facts["features"])) == (3000, 5, 30)


def test_a_simulated_log_has_the_form_of_a_users(folder):
    frame = pd.read_parquet(folder / "test.parquet")
    assert frame.columns[:4].tolist() == ["action", "reward", "propensity", "x1"]
    assert frame.shape == (3000, 33)
    csv = pd.read_csv(folder / "test.csv", dtype={"action": str})
    pd.testing.assert_frame_equal(frame, csv, check_dtype=False)
    assert (frame["propensity"] == 0.2).all()


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


def test_one_log_is_split(folder, capsys):
    for split, code in {"0.5": 0, "time": 1, "time:0.8": 1}.items():
        assert main(["ads", "evaluate", str(folder / "test.csv"), "--split", split, *QUICK]) == code
        assert ("test part: 1,500 rows" if split == "0.5" else "no column timestamp") in "".join(
            capsys.readouterr()
        )


def test_long_work_is_reported_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0.02)
    monkeypatch.setattr(progress, "AGAIN", 0.1)
    with progress.Progress() as say:
        say("quick")
        say("slow")
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and all(line.endswith("slow") for line in lines)


LOGISTIC = "--policy logistic --steps 3000 --lambdas 0.1"
TRAINED = f"evaluate test.csv --train train.parquet {LOGISTIC}"
ERRORS = {
    "no log": ("check none.csv", "none.csv: there is no such file"),
    "no test": (f"evaluate none.csv {LOGISTIC}", "none.csv: there is no such file"),
    "no training log": (f"evaluate test.csv {LOGISTIC}", "from a log: give one with --train"),
    "unknown policy": ("evaluate test.csv --policy forst", "did you mean 'forest'"),
    "the same log": (f"evaluate test.csv --train test.parquet {LOGISTIC}", "the same log as test"),
    "propensities": (f"evaluate train.parquet --train test.csv {LOGISTIC}", "--least-propensity"),
    "setting": (f"{TRAINED} --undersample 0", "undersample is 0"),
    "epsilon": (f"{TRAINED} --epsilon 2", "epsilon is 2.0"),
    "a column of no log": ("check test.csv --columns reward=x99", "test.csv: unknown column 'x99'"),
    "a column of one log": (
        f"evaluate test.csv --train one.csv {LOGISTIC} --columns action=ad",
        "test.csv: unknown column",
    ),
    "a column of nothing to learn from": (
        "fit train.parquet --columns reward=rewrd --policy logistic --output out",
        "train.parquet: unknown column 'rewrd': did you mean 'reward'",
    ),
    "a setting twice": (
        'fit test.csv --policy sklearn.linear_model:Ridge={"alpha":1,"alpha":2} --output out',
        "has the key 'alpha' twice in one object",
    ),
    "campaign": ("simulate hotels --policy uniform --rows 9 --output out", "did you mean 'hotel'"),
    "rows": ("simulate hotel --policy uniform --rows 0 --output out", "rows is 0"),
}


@pytest.mark.parametrize(("words", "message"), ERRORS.values(), ids=ERRORS)
def test_an_error_says_what_is_wrong_and_leaves_nothing(
    folder, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(folder)
    pd.read_csv("test.csv").rename(columns={"action": "ad"}).to_csv("one.csv", index=False)
    before = sorted(folder.iterdir())
    assert ads(words + " --output out.csv" * words.startswith("evaluate")) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("scant: ") and message in printed.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "COMMAND"),
        ("fit test.csv --output ranker.arrow", "--policy"),
        ("evaluate test.csv --output table.xls", "ends neither in .csv nor in .json"),
        ("evaluate test.csv --split 7", "'7' is no share between 0 and 1, nor 'time'"),
        ("check test.csv --columns click", "'click' is not ROLE=COLUMN, such as reward=click"),
        ("simulate hotel --policy random --rows 9 --output out", "invalid choice: 'random'"),
        ('simulate hotel --settings {"n":1,"n":2}', "has the key 'n' twice in one object"),
        ("evaluate x --columns reward=a reward=b", "reward is given twice, 'a' and 'b': give one"),
        ("evaluate x --columns reward=a --columns reward=b", "reward is given twice, 'a' and 'b'"),
        ("evaluate x --user a --columns user=b", "user is given twice, 'a' and 'b'"),
        ("evaluate x --columns timestamp=a --time a", "timestamp is given twice, 'a' and 'a'"),
        ("evaluate x --guard a=0.05 --guard a=0.1", "a is given twice, 0.05 and 0.1"),
    ],
)
def test_wrong_grammar_is_refused(words, message, capsys):
    with pytest.raises(SystemExit) as caught:
        ads(words)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


# that options take, where "1" is none
VALUES = {"--split": "0.5", "--settings": "{}", "--output": "out.csv"}
SEVERAL = (
    *("-h", "--columns", "--id", "--user", "--time", "--eligible"),
    *("--ignore", "--categorical", "--keep", "--policy", "--guard"),
)


@pytest.mark.parametrize("name", ("simulate", "check", "evaluate", "fit", "apply"))
def test_what_may_be_given_once_and_is_given_twice_is_refused(name, capsys):
    (groups,) = [action for action in cli.parser()._actions if isinstance(action.choices, dict)]
    (commands,) = [
        action for action in groups.choices["ads"]._actions if isinstance(action.choices, dict)
    ]
    for action in commands.choices[name]._actions:
        option = action.option_strings[:1]
        if not option or option[0] in SEVERAL:
            continue
        value = VALUES.get(option[0], next(iter(action.choices or ["1"])))
        option += [] if action.nargs == 0 else [value]
        with pytest.raises(SystemExit) as caught:
            main(["ads", name, *option, *option])
        said = f"argument {option[0]}: it is given twice"
        assert caught.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit):
        main(["ads", name, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: scant ads {name} ")
