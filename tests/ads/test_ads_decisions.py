"""Decisions among policies: differences, joint answers, the best."""

import math

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads, rows_of
from hypothesis import given
from hypothesis import strategies as st
from test_ads_api import SUITED, frame

import scant_ads as sa
from scant_ads import text
from scant_ads.evaluation import pairs
from scant_ads.unit import CLICKS


def test_of_many_pairs_those_of_the_choice_are_printed(tmp_path):
    random = np.random.default_rng(0)
    made = {"action": random.integers(0, 10, 4000), "reward": (random.random(4000) < 0.1) * 1}
    found = sa.evaluate("each-ad", sa.Log.from_frame(pd.DataFrame(made).assign(propensity=0.1)))
    lines = found.text().partition("answers hold together\n")[2].partition("\n\n")[0].splitlines()
    assert len(found.comparisons) == 55 and len(lines) == 11
    assert all(found.choice["policy"] in line for line in lines[:-1])
    assert lines[-1] == "  and 45 pairs without it: --output FILE.json and --report have all"
    found.report(tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text().count('data-label="difference"') == 55


P = st.sampled_from([0.001, 0.006, 0.007, 0.009, 0.011, 0.014, 0.02, 0.03, 0.045, 0.06])


@given(st.lists(P, max_size=8))
def test_answers_that_hold_together_are_holms(p):
    """By the textbook: with p-values in order, reject while p_(k) <= alpha / (m - k + 1)."""
    decide = {
        at: (lambda level, one=one: "yes" if one <= 1 - level else "") for at, one in enumerate(p)
    }
    expected, order = dict.fromkeys(decide, ""), np.argsort(p)
    for rank, at in enumerate(order):
        if p[at] > 0.05 / (len(p) - rank) * (1 + 1e-12):
            break
        expected[int(at)] = "yes"
    assert pairs.holm(decide, 0.95) == expected


def chosen(ends, estimates=(0.1, 0.3, 0.2), verdicts=("cannot tell",) * 3):
    rows = {"policy": [*"abc"], "lift_low": ends, "estimate": estimates, "verdict": verdicts}
    rows = pd.DataFrame(rows).assign(low=0.1, lift=0.2, lift_high=0.3)
    return pairs.chosen(rows.to_dict("records"))


def test_the_choice_is_the_row_with_the_largest_lower_end_and_says_what_it_says():
    cases = (((0, 0, 0), "b"), ((0.05, 0, 0.05), "c"), ((0.1, 0.2, 0.15), "b"), ((0.1, 0, 0), "a"))
    for ends, best in cases:
        choice = chosen(ends)
        assert choice["policy"] == best and choice["lift_lower"] == max(ends) and choice["of"] == 3
        assert not (choice["better"] or choice["worse"])
    assert chosen((0.1, 0, 0), verdicts=("yes", "no", "no"))["better"]
    assert chosen((-0.1, -0.2, -0.2), verdicts=("no",) * 3)["worse"]
    assert chosen((np.nan,) * 3)["policy"] == "b"


def test_alike_arms_are_seldom_said_to_be_better():
    """Headline and table are one rule: of 120 tests of three equal arms 5 % may say yes or no."""
    wrong = 0
    for seed in range(120):
        random = np.random.default_rng(seed)
        arm, clicked = random.integers(0, 3, 900), random.random(900) < 0.2
        shown = np.array(["control", "B", "C"])[arm]
        made = pd.DataFrame({"action": shown, "reward": clicked * 1, "propensity": 1 / 3})
        found = sa.evaluate("each-ad", sa.Log.from_frame(made))
        if found.choice is None:  # chance has shown an arm so seldom that propensities look wrong
            continue
        answers, choice = {row["policy"]: row["verdict"] for row in found.judged}, found.choice
        assert choice["better"] == (answers[choice["policy"]] == "yes")
        assert {*answers} == {"ad:B", "ad:C"}
        wrong += any(answer != "cannot tell" for answer in answers.values())
    assert wrong <= 14  # more than that have a chance of 0.1 % at 5 %


def test_the_lifts_of_two_policies_hold_together():
    random = np.random.default_rng(0)
    shown = np.array(["control", "B", "C"])[random.integers(0, 3, 900)]
    made = pd.DataFrame({"action": shown, "reward": random.random(900) < 0.2, "propensity": 1 / 3})
    log = sa.Log.from_frame(made)

    def ends(policies, level):
        rows = sa.evaluate(policies, log, level=level, baseline="control").judged
        return [(row["lift_low"], row["lift_high"]) for row in rows if row["policy"] == "ad:B"]

    assert ends(["ad:B", "ad:C"], 0.9) == ends(["ad:B"], 0.95)


# --- what an evaluation says
def test_pairs_and_the_choice_are_told():
    train, test = (sa.Log.from_frame(frame(3000, seed)) for seed in (0, 1))
    epsilons = {"a": 0, "b": 0.6}
    policies = {name: sa.Policy("logistic", steps=2000, epsilon=e) for name, e in epsilons.items()}
    found = sa.evaluate(policies, test, train=train)
    (pair,), rows, choice = found.comparisons, rows_of(found), found.choice
    assert (pair["policy"], pair["other"], pair["better"]) == ("a", "b", "a")
    expected = rows["a"]["estimate"] - rows["b"]["estimate"]
    assert pair["difference"] == pytest.approx(expected) and np.isnan(pair["needed"])
    assert pair["low"] < expected < pair["high"]
    assert choice["policy"] == "a" and choice["better"]
    assert choice["lift_lower"] == rows["a"]["lift_low"]
    said = "Best of 2 by its lower bound: a. It is better than today's policy: its CTR is"
    assert found.decision().startswith(said)
    ends = ((choice[key], CLICKS, key) for key in ("lift", "lift_lower", "lift_upper"))
    lift, low, high = (text.signed(*end) for end in ends)
    assert found.decision().endswith(f"{lift[1:]} % higher (95 % interval: {low} to {high})")
    assert "a is better" in found.text() and found.decision() in found.text()
    halves = test.split(0.5)
    same = sa.evaluate(policies, halves[1], train=halves[0])
    named = [(pair["policy"], pair["other"]) for pair in same.comparisons]
    assert ("logging", "a") in named  # today's policy logged the test, too


def test_the_same_policy_gets_the_same_numbers_whatever_it_is_called():
    """A column, by all bounds that bet on rows in random order, and a learnt policy."""
    made, names = frame(400), ("better", "target", "kappa", "b")
    share = np.where(made["kind"].map(SUITED) == made["action"], 0.8, 0.1)
    made = made.assign(who=np.arange(400) // 2, **{f"policy:{name}": share for name in names})
    logs = [sa.Log.from_frame(made, ignore=["who"]), sa.Log.from_frame(made, {"user": "who"})]
    found = [
        sa.evaluate(names, log, least_propensity=least)
        for log in logs
        for least in (None, "unknown")
    ]
    learnt = {name: sa.Policy("logistic", steps=500, epsilon=0.2) for name in names}
    train = sa.Log.from_frame(frame(400, 1))
    test = sa.Log.from_frame(frame(400))
    found.append(sa.evaluate(learnt, test, train=train))
    for evaluation in found:
        first, *others = [row | {"policy": ""} for row in evaluation.rows if row["policy"] in names]
        assert "betting" in first["bound"] and len(others) == 3
        assert all(repr(other) == repr(first) for other in others)
        assert evaluation.choice["policy"] == names[0]


def test_open_pairs_say_how_many_rows_would_tell():
    made = frame(2000, 3).assign(**{"policy:one": 1 / 3, "policy:two": 1 / 3})
    found = sa.evaluate(["one", "two"], sa.Log.from_frame(made))
    pair = found.comparisons[-1]
    assert (pair["difference"], pair["better"], pair["needed"]) == (0, "", math.inf)
    assert "open: too close for 1,000 times as many rows" in found.text()


def test_no_least_propensity_needs_to_be_known(tmp_path, capsys):
    train, test = (sa.Log.from_frame(frame(3000, seed)) for seed in (0, 1))
    policy = sa.Policy("logistic", steps=2000, epsilon=0.1)
    known, found = (
        sa.evaluate([policy], test, train=train, least_propensity=least)
        for least in (None, "unknown")
    )
    row, other = found.rows[-1], known.rows[-1]
    assert (row["bound"], row["declared_weight"]) == ("betting, no range", math.inf)
    assert found.comparisons == ()
    assert row["low"] < row["lower"] < row["estimate"] < other["high"] < row["high"]
    assert abs(row["lower"] - other["lower"]) < 0.03 and row["verdict"] == "yes"
    frame(3000, 1).assign(**{"policy:mine": 1 / 3}).to_csv(tmp_path / "test.csv", index=False)
    asked = f"evaluate {tmp_path}/test.csv --policy mine --output {tmp_path}/table.json"
    assert ads(f"{asked} --least-propensity unknown") == 0
    assert '"declared_weight": null' in (tmp_path / "table.json").read_text()
    with pytest.raises(SystemExit):
        ads(f"{asked} --least-propensity unknwn")
    assert "invalid number_or_unknown value: 'unknwn'" in capsys.readouterr().err


def test_deficient_support_is_named():
    """In half of the visits the right ad cannot be shown; the policy always shows it."""
    random = np.random.default_rng(0)
    rows, kind, free = 6000, random.integers(0, 3, 6000), random.random(6000) < 0.5
    shown = np.where(free, random.integers(0, 3, rows), (kind + random.integers(1, 3, rows)) % 3)
    made = frame(rows).assign(
        action=np.array(list("abc"))[shown],
        kind=np.array(["red", "green", "blue"])[kind],
        reward=(random.random(rows) < np.where(shown == kind, 0.6, 0.1)).astype(int),
        propensity=np.where(free, 1 / 3, 1 / 2),
    )
    train, test = sa.Log.from_frame(made).split(0.5)
    policy = sa.Policy("logistic", steps=2000)
    found = sa.evaluate([policy], test, train=train, least_propensity=1 / 3)
    assert found.rows[-1]["verdict"] == "none"
    assert "logistic" not in [name for pair in found.comparisons for name in pair.values()]
    assert "none: deficient support or wrong propensities, see below" in found.text()
    said = "% of visits (deficient support): what these earn is not known"
    assert any(said in note for note in found.notes)
