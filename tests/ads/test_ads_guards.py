"""Guard rails: another reward must not fall by more than a share."""

import json

import numpy as np
import pytest
from ads_logs import ads
from test_ads_api import SUITED, frame

import scant_ads as sa
from scant.errors import SettingError
from scant_ads.evaluation import guards


def row(low, lift, high, policy="a"):
    return {"policy": policy, "lift": lift, "lift_low": low, "lift_high": high}


@pytest.mark.parametrize(
    ("low", "high", "share", "answer"),
    [
        (-0.04, 0.2, 0.05, "holds"),
        (-0.06, 0.2, 0.05, "is open"),
        (-0.2, -0.06, 0.05, "is broken"),
        (-0.05, 0.2, 0.05, "is open"),
        (-0.2, -0.05, 0.05, "is open"),
        (0.001, 0.2, 0, "holds"),
        (np.nan, np.nan, 0.05, "is open"),
        (-1, np.inf, 0.9, "is open"),
    ],
)
def test_the_interval_of_the_lift_decides(low, high, share, answer):
    today, judged = row(np.nan, np.nan, np.nan, "logging"), row(low, (low + high) / 2, high)
    (found,) = guards.judged("purchase", share, [today, row(0, 0, 0)], [today, judged])
    assert found["answer"] == answer and [*found] == [*guards.COLUMNS]


@pytest.fixture
def log(tmp_path):
    """Of visits whose purchases suit the ads that clicks suit; others suit none, or others."""
    made, random = frame(6000, 3), np.random.default_rng(0)
    suits = made["kind"].map(SUITED) == made["action"]
    made["bought"] = (random.random(6000) < np.where(suits, 0.6, 0.4)).astype(int)
    made["returned"] = (random.random(6000) < np.where(suits, 0.1, 0.6)).astype(int)
    made["any"] = (random.random(6000) < 0.004).astype(int)
    path = tmp_path / "log.csv"
    made.to_csv(path, index=False)
    return path


def test_the_command_judges_other_rewards(log, tmp_path, capsys):
    out, page = tmp_path / "out.json", tmp_path / "out.html"
    asked = f"evaluate {log} --split 0.5 --policy logistic"
    rails = "--guard bought=0.05 --guard returned=0.05 --guard any=0.05"
    assert ads(f"{asked} {rails} --output {out} --report {page}") == 0
    printed, found = capsys.readouterr().out, json.loads(out.read_text())
    answers = {rail["guard"]: rail["answer"] for rail in found["guards"]}
    assert answers == {"bought": "holds", "returned": "is broken", "any": "is open"}
    for name, answer in answers.items():
        assert f"Its guard rail {name} {answer}" in printed
        assert f"<td>  {name} (5 %), logistic</td>" in page.read_text()
    assert "; but it breaks a guard rail</h1>" in page.read_text()
    assert 'class="answer no"' in page.read_text()
    assert ads(f"{asked} --ignore bought returned any --output {out}") == 0
    assert json.loads(out.read_text())["policies"] == found["policies"]  # rewards are no features


def test_a_guard_rail_is_the_lift_of_an_evaluation_by_its_reward(log):
    rewards = {"reward", "bought", "returned", "any"}

    def halves(reward):
        return sa.Log.read(log, {"reward": reward}, sorted(rewards - {reward})).split(0.5)

    (train, test), (other_train, other_test) = halves("reward"), halves("bought")
    policy = sa.fit(train, "logistic", steps=2000, lambdas=(0.1,))
    found = sa.evaluate([policy], test, train=train)
    bought = sa.evaluate([policy], other_test, train=other_train)
    guarded = found.guarded("bought", 0.05, bought)
    assert guarded.guards[0]["lift_low"] == bought.rows[-1]["lift_low"] and not found.guards
    assert "the lift of another reward over today's, which must not" in guarded.text()
    of, arm = [policy, "ad:a"], {"baseline": "ad:a"}
    over = sa.evaluate(of, test, train=train, **arm)
    over = over.guarded("bought", 0.05, sa.evaluate(of, other_test, train=other_train, **arm))
    assert "the lift of another reward over that of ad:a, which" in over.text()
    assert found.decision() in guarded.decision()
    assert guarded.decision().endswith("Its guard rail bought holds")
    for other, share, message in (
        (sa.evaluate([], test), 0.05, "logistic was not evaluated"),
        (bought, 1.0, "1.0 is no share"),
        (sa.evaluate([policy], test, level=0.9), 0.05, "the level 0.9, not 0.95"),
    ):
        with pytest.raises(SettingError, match=message):
            found.guarded("bought", share, other)


@pytest.mark.parametrize("rail", ["bought", "bought=1", "=0.1", "bought=x"])
def test_what_is_no_guard_rail_is_refused(rail, capsys):
    with pytest.raises(SystemExit):
        ads(f"evaluate log.csv --policy logistic --guard {rail}")
    assert "is not COLUMN=SHARE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ("boght=0.1", "--guard: unknown column 'boght': did you mean 'bought'"),
        ("reward=0.1", "--guard reward: it is the log's reward; a guard rail is another reward"),
        ("bought=0.1 --columns reward=bought", "--guard bought: it is the log's reward"),
        ("age=0.1", "line 2: --guard age: reward 3.0 is not in [0, 1]; all are alike (79 more"),
        ("ill=0.1", "line 3: --guard ill: reward is missing. A guard rail is from 0 to 1"),
    ],
)
def test_a_guard_rail_is_another_reward_of_the_log_from_0_to_1(guard, message, tmp_path, capsys):
    path = tmp_path / "log.csv"
    rows = [f"{'ab'[at % 2]},{at % 3 // 2},0.5,1,3,{'' if at == 1 else 1}\n" for at in range(80)]
    path.write_text("action,reward,propensity,bought,age,ill\n" + "".join(rows))
    assert ads(f"evaluate {path} --policy ad:a --guard {guard}") == 1
    assert message in capsys.readouterr().err
