"""`scant ads`, end to end: two simulated logs, what they hold, and which policy would have earned
more clicks.
"""

import json
import re
import time

import pandas as pd
import pytest

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


def test_policies_are_compared(folder, tmp_path, capsys):
    logs_ = [str(folder / "test.csv"), "--train", str(folder / "train.parquet")]
    arguments = ["ads", "evaluate", *logs_, *QUICK, "--policy", "auc-ranker", "--epsilon", "0.2"]
    assert main([*arguments, "--output", str(tmp_path / "table.csv")]) == 0
    printed = capsys.readouterr()
    # progress, if the machine is busy
    assert all(re.match(r" *\d+ s  ", line) for line in printed.err.splitlines())
    frame = pd.read_csv(tmp_path / "table.csv")
    assert frame["policy"].tolist() == ["logging", "uniform", "logistic", "auc-ranker"]
    for row in frame.itertuples():
        assert f"{row.policy} " in printed.out
        assert f"{100 * row.low:.3f}" in printed.out
    assert frame["lower"].le(frame["estimate"]).all()
    assert main([*arguments, "--output", str(tmp_path / "again.csv")]) == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "table.csv").read_bytes()


def test_a_simulated_log_has_the_form_of_a_users(folder):
    frame = pd.read_parquet(folder / "test.parquet")
    assert frame.columns[:4].tolist() == [
        "action",
        "reward",
        "propensity",
        "x1",
    ] and frame.shape == (3000, 33)
    pd.testing.assert_frame_equal(
        frame, pd.read_csv(folder / "test.csv", dtype={"action": str}), check_dtype=False
    )
    assert (frame["propensity"] == 0.2).all()


def test_a_log_is_checked_whose_columns_are_named_otherwise(folder, tmp_path, capsys):
    path = str(tmp_path / "log.csv")
    frame = pd.read_csv(folder / "test.csv").rename(columns={"reward": "click", "action": "ad_id"})
    frame.assign(visit=range(3000)).to_csv(path, index=False)
    assert main(["ads", "check", path]) == 1
    printed = capsys.readouterr().out
    assert (
        "problems: 2 that must be mended, 1 to know of" in printed
        and "--columns reward=click" in printed
    )
    assert (
        main(
            ["ads", "check", path, "--columns", "reward=click", "action=ad_id", "--ignore", "visit"]
        )
        == 0
    )
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


ERRORS = {
    "no log": (["check", "none.csv"], "none.csv: there is no such file"),
    "no test": (["evaluate", "none.csv", *QUICK], "none.csv: there is no such file"),
    "no training log": (["evaluate", "test.csv", *QUICK],
                        "logistic is learnt from a log: give one with --train"),
    "unknown policy": (["evaluate", "test.csv", "--policy", "forst"], "did you mean 'forest'"),
    "the same log": (["evaluate", "test.csv", "--train", "test.parquet", *QUICK],
                     "the same log as test.parquet"),
    "propensities that differ": (["evaluate", "train.parquet", "--train", "test.csv", *QUICK],
                                 "--least-propensity"),
    "setting": (["evaluate", "test.csv", "--train", "train.parquet", *QUICK, "--undersample", "0"],
                "undersample is 0"),
    "epsilon": (["evaluate", "test.csv", "--train", "train.parquet", *QUICK, "--epsilon", "2"],
                "epsilon is 2.0"),
    "a column of no log": (["check", "test.csv", "--columns", "reward=x99"],
                           "test.csv: unknown column 'x99': did you"),
    "a column of one log": (
        ["evaluate", "test.csv", "--train", "one.csv", *QUICK, "--columns", "action=ad"],
        "test.csv: unknown column"
    ),
    "a column of nothing to learn from": (
        ["fit", "train.parquet", "--columns", "reward=rewrd", "--policy", "logistic", "--output",
         "out"],
        "train.parquet: unknown column 'rewrd': did you mean 'reward'",
    ),
    "a setting twice": (
        ["fit", "test.csv", "--policy", 'sklearn.linear_model:Ridge={"alpha": 1, "alpha": 2}',
         "--output", "out"],
        "has the key 'alpha' twice in one object",
    ),
    "campaign": (
        ["simulate", "hotels", "--policy", "uniform", "--rows", "9", "--output", "out"],
        "did you mean 'hotel'"
    ),
    "rows": (["simulate", "hotel", "--policy", "uniform", "--rows", "0", "--output", "out"],
             "rows is 0"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_says_what_is_wrong_and_leaves_nothing(
    folder, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(folder)
    pd.read_csv("test.csv").rename(columns={"action": "ad"}).to_csv("one.csv", index=False)
    before = sorted(folder.iterdir())
    assert (
        main(["ads", *arguments, *(["--output", "out.csv"] if arguments[0] == "evaluate" else [])])
        == 1
    )
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("scant: ")
    assert message in printed.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["fit", "test.csv", "--output", "ranker.arrow"], "--policy"),
        (
            ["evaluate", "test.csv", *QUICK, "--output", "table.xls"],
            "ends neither in .csv nor in .json",
        ),
        (
            ["evaluate", "test.csv", *QUICK, "--split", "7"],
            "'7' is no share between 0 and 1, nor 'time'",
        ),
        (
            ["check", "test.csv", "--columns", "click"],
            "'click' is not ROLE=COLUMN, such as reward=click",
        ),
        (
            ["simulate", "hotel", "--policy", "random", "--rows", "9", "--output", "out"],
            "invalid choice: 'random'",
        ),
        (
            ["simulate", "hotel", "--settings", '{"n": 1, "n": 2}'],
            "has the key 'n' twice in one object",
        ),
    ],
)
def test_wrong_grammar_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["ads", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


# that options take, where "1" is none
VALUES = {"--split": "0.5", "--settings": "{}", "--output": "out.csv"}
SEVERAL = (
    *("-h", "--columns", "--id", "--user", "--time", "--eligible", "--list"),
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
        assert (
            caught.value.code == 2
            and f"argument {option[0]}: it is given twice" in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--columns", "reward=click", "reward=buy"],
            "reward is given twice, 'click' and 'buy': give one",
        ),
        (
            ["--columns", "reward=click", "--columns", "reward=buy"],
            "reward is given twice, 'click' and 'buy'",
        ),
        (["--user", "a", "--columns", "user=b"], "user is given twice, 'a' and 'b'"),
        (["--columns", "timestamp=a", "--time", "a"], "timestamp is given twice, 'a' and 'a'"),
        (["--id", "a", "--id", "b"], "id is given twice, 'a' and 'b'"),
        (["--guard", "buy=0.05", "--guard", "buy=0.1"], "buy is given twice, 0.05 and 0.1"),
    ],
)
def test_a_role_or_a_guard_rail_that_is_given_twice_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["ads", "evaluate", "none.csv", *arguments])
    assert caught.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit):
        main(["ads", name, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: scant ads {name} ")
