"""Every kind of problem has one severity, and an error in `check` is no answer anywhere else."""

import ast
import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ads_logs import ads, problems
from test_ads_tables import clients, interleaved, places
from test_wabbit import event, frame

import scant_ads as sa
from scant.errors import DataError
from scant_ads.reading import layout
from scant_ads.severity import DOUBTS, QUIET, REFUSED, REPEATED, SEVERITY, WITHHELD

ROWS, SOURCE = 4000, Path(sa.__file__).parent
PLACED = "--list visit"
ABOVE = f"{PLACED} --propensity-of above"


def visits(rows=ROWS, ads="abcd", **columns) -> pd.DataFrame:
    """A right log of four ads shown by chance; `columns` replace what it has."""
    random = np.random.default_rng(1)
    action = random.choice([*ads], rows)
    made = {"action": action, "reward": (random.random(rows) < 0.1 + 0.2 * (action == "a")) * 1}
    made |= {"propensity": 1 / len(ads), "x": random.normal(size=rows).round(3)}
    return pd.DataFrame(made | columns)


def spoilt(column: str, value, row: int = 7, **columns) -> pd.DataFrame:
    made = visits(400, **columns).astype({column: object} if column in "reward action x" else {})
    made.loc[row, column] = value
    return made


def lists(places=3, items=6, **columns) -> pd.DataFrame:
    """Lists of some items in random order, with probabilities of items given those above."""
    random, place = np.random.default_rng(2), np.tile(np.arange(places), 1000)
    item = np.argsort(random.random((1000, items)), axis=1)[:, :places].ravel()
    made = {"visit": np.repeat(np.arange(1000), places), "position": place + 1, "action": item}
    made |= {"reward": (random.random(len(item)) < 0.2) * 1, "propensity": 1 / (items - place)}
    return pd.DataFrame(made | columns)


def full(**columns) -> pd.DataFrame:
    return visits(400, **{f"propensity:{ad}": 0.25 for ad in "abcd"} | columns)


def scheduled() -> pd.DataFrame:
    """An ad for 50 rows, and then the next one."""
    return visits(action=np.resize(np.repeat([*"abcd"], 50), ROWS))


def dsjson(**more) -> str:
    made = [event(visit, number) for number, visit in enumerate(frame(60).itertuples())]
    made[5] |= more
    return "".join(json.dumps(one) + "\n" for one in made)


TABLE = visits(400).to_csv(index=False)
OBJECTS = np.array(['{"k": 1}', '{"k": 2}', '{"k": 3}', '{"k": 4}'] * 100, object)
MORE_A = np.random.default_rng(3).choice([*"aabcd"], ROWS)  # an ad in 40 % of rows
# by kind of error a log with it: a table, or a text; and words of `scant ads`
ERRORS = {
    "column": (visits().drop(columns="reward"), ""),
    "cut": (TABLE.rstrip("\n"), ""),
    "eligible": (visits(400, eligible="a|b|c"), ""),
    "fields": (TABLE + "a,1\n", ""),
    "full-differs": (full(propensity=0.3), ""),
    "full-eligible": (full(eligible="a|b|c"), ""),
    "full-range": (full(**{"propensity:a": -0.25, "propensity:b": 0.75}), ""),
    "full-sum": (full(**{"propensity:a": 0.2}), ""),
    "id-twice": (pd.concat([visits().assign(visit=range(ROWS))] * 2), "--id visit"),
    "infinite": (spoilt("x", np.inf), ""),
    "interleaved": (interleaved(), "--columns action=team reward=clicked --propensity 0.5"),
    "item-twice": (lists(action=1), ABOVE),
    "json": (visits(400, c=np.where(np.arange(400) == 7, '{"k": ', OBJECTS)), ""),
    "lines": (dsjson(_label_probability="likely"), ""),
    "list-cells": (visits(400, action=[f"[{i}, {i + 1}, {i + 2}]" for i in range(400)]), ""),
    "list-column": (lists().drop(columns="visit"), "--propensity-of above"),
    "list-long": (lists(visit=1), ABOVE),
    "list-propensity": (lists(), f"{PLACED} --propensity-of list"),
    "list-reward": (lists(reward=np.repeat(np.arange(1000) % 3 == 0, 3) * 1), ABOVE),
    "listed": (visits(400, c=np.where(np.arange(400) == 107, '{"k": [1]}', OBJECTS)), ""),
    "missing": (spoilt("reward", None), ""),
    "mixed": (spoilt("x", "much"), ""),
    "no-chance": (places(), ""),
    "pdrop": (dsjson(pdrop=0.5), ""),
    "percent": (visits(400, propensity=25), ""),
    "place-gap": (lists(position=np.tile([1, 2, 4], 1000)), ABOVE),
    "place-twice": (lists(position=np.tile([1, 2, 2], 1000)), ABOVE),
    "policy-sum": (visits(**{"policy:mine": 0.5}), ""),
    "propensity-of": (lists(), PLACED),
    "range": (visits(400, reward=5), ""),
    "ratio": (
        clients(), "--columns action=branch reward=ad_clicks --propensity 0.5 --reward-max 99"
    ),
    "rows": (TABLE.partition("\n")[0] + "\n", ""),
    "split": (visits().drop(columns="propensity"), "--propensity a=0.5,b=0.5"),
    "sums": (pd.DataFrame({"action": [*"ab"], "clicks": [90, 95], "visits": [900, 905]}), ""),
    "text": (spoilt("reward", "bought"), ""),
    "texts": (visits(400, town=[f"town {row % 40}" for row in range(400)]), ""),
    "timestamp": (visits(400, timestamp="24.11.2019"), ""),
    "type": (visits(400, x=[[1]] * 400), ""),
    "given-above": (lists(), f"{PLACED} --propensity-of place"),
    "of-place": (lists(propensity=1 / 6), ABOVE),
    "certain": (visits(propensity=1), ""),
    "wrong-propensities": (visits(action=MORE_A), ""),
    "schedule": (scheduled(), ""),
}  # fmt: skip


def test_each_kind_has_one_severity():
    assert len(SEVERITY) == sum(map(len, (REFUSED, WITHHELD, DOUBTS, REPEATED, QUIET)))
    assert {kind for kind, severity in SEVERITY.items() if severity == "error"} == {*ERRORS}


def kinds_of(node, module) -> set:
    """The kinds that an argument of a call may be, as far as the source tells."""
    if isinstance(node, ast.IfExp):
        return kinds_of(node.body, module) | kinds_of(node.orelse, module)
    name = getattr(node, "attr", getattr(node, "id", ""))
    value = node.value if isinstance(node, ast.Constant) else getattr(module, name, None)
    return {value} if isinstance(value, str) else set()


def test_each_kind_of_the_source_has_a_severity():
    kinds = set()
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        module = importlib.import_module(".".join(["scant_ads", *parts]).removesuffix(".__init__"))
        for node in ast.walk(ast.parse(path.read_text())):
            called = getattr(node, "func", None)
            name = getattr(called, "attr", getattr(called, "id", ""))
            makes = name in ("Problem", "_of_rows", "fault") or ast.unparse(node)[:9] == "self.add("
            if isinstance(node, ast.Call) and makes and node.args:
                kinds |= kinds_of(node.args[0], module)
    assert len(kinds) > 60 and kinds <= SEVERITY.keys()


def answers(log: sa.Log, tmp_path: Path, *train) -> None:
    """Nothing is judged by a log: it is refused, or the table has no numbers, yes or no."""
    try:
        policies = log.policies or ["each-ad"]
        found = sa.evaluate(policies, log, train=train[0] if train else None)
    except DataError:
        return
    assert {row["verdict"] for row in found.rows} <= {"none", ""} and found.choice is None
    assert np.isnan([row["estimate"] for row in found.rows]).all()
    found.report(tmp_path / "report.html", log)
    assert "<h1>These logs give no verdict</h1>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("kind", ERRORS)
def test_no_answer_where_check_has_an_error(tmp_path, monkeypatch, capsys, kind):
    monkeypatch.setattr(layout, "HEAD", 100)
    monkeypatch.setattr(layout, "CODES", 40)
    content, words = ERRORS[kind]
    path = tmp_path / ("log.parquet" if kind == "type" else "log.csv")
    if isinstance(content, str):
        path.write_text(content)
    else:
        (content.to_parquet if kind == "type" else content.to_csv)(path, index=False)
    assert ads(f"check {path} {words} --json") == 1
    facts = json.loads(capsys.readouterr().out)
    assert kind in {one["kind"] for one in facts["problems"] if one["severity"] == "error"}
    output = tmp_path / "policy.arrow"
    assert ads(f"fit {path} {words} --policy logistic --output {output}") == 1
    assert not output.exists()
    whole = f"evaluate {path} {words} --report {tmp_path / 'report.html'}"
    for more in ("", "--split 0.5 --policy logistic"):
        if not (code := ads(f"{whole} {more}")):
            assert kind in WITHHELD and "yes" not in capsys.readouterr().out
            assert "<h1>These logs give no verdict</h1>" in (tmp_path / "report.html").read_text()
        assert code == (kind not in WITHHELD)


@pytest.mark.parametrize("kind", ["cut", "fields", "infinite", "mixed"])
def test_no_ad_is_chosen_where_check_has_an_error(tmp_path, kind):
    policy, output = tmp_path / "policy.arrow", tmp_path / "shown.csv"
    sa.Policy("logistic", steps=9).fit(visits()).save(policy)
    content, path = ERRORS[kind][0], tmp_path / "new.csv"
    path.write_text(content if isinstance(content, str) else content.to_csv(index=False))
    assert ads(f"apply {policy} {path} --output {output}") == 1 and not output.exists()


def test_errors_that_only_a_whole_log_shows_are_told_of_its_halves():
    """An ad in 27.5 % of rows, by its propensity in 25 %."""
    shares = np.array([0.275, *[0.725 / 3] * 3])
    for seed in range(9):
        action = np.random.default_rng(seed).choice([*"abcd"], 10_000, p=shares)
        log = sa.Log.from_frame(visits(10_000, action=action))
        train, test = log.split(0.5)
        if "wrong-propensities" in problems(log) and "wrong-propensities" not in problems(test):
            break
    found = sa.evaluate(["each-ad"], test, train=train)
    assert {row["verdict"] for row in found.rows} <= {"none", ""} and found.choice is None
    assert {row["refused"] for row in found.rows} == {"wrong-propensities"}
