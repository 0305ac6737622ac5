"""The report of an evaluation: one file that says what the evaluation says."""

import re

import pytest
from test_ads_api import frame

import scant.advice as sa
from scant import files
from scant.cli import main
from scant.data import formats


@pytest.fixture
def paths(tmp_path):
    found = [tmp_path / f"{name}.csv" for name in ("train", "test")]
    for seed, path in enumerate(found):
        frame(seed=seed).to_csv(path, index=False)
    return found


def test_a_report_needs_nothing_else_and_says_what_the_evaluation_says(paths, tmp_path, capsys):
    train, test = map(str, paths)
    out = tmp_path / "out.html"
    asked = ["--policy", "logistic", "--policy", "forest", "--steps", "2000", "--trees", "5", "--report", str(out)]
    assert main(["ads", "evaluate", test, "--train", train, *asked]) == 0
    page, printed = out.read_text(), capsys.readouterr().out
    assert not re.findall(r'(?:src|href)="(?!#)', page) and "<script" not in page and "default-src 'none'" in page
    for line in printed.splitlines():
        if line.startswith(("logistic", "forest", "uniform", "logging")):
            for cell in line.split():
                assert f">{cell}<" in page
    decision = next(line for line in printed.splitlines() if line.startswith("Best of 2"))
    assert decision.replace("'", "&#39;") in page
    for path in paths:
        assert files.sha256(path) in page and str(path) in page
    assert page.count("<svg") == 1 and "<td>lambdas</td><td>0.01, 0.1, 1.0, 10.0</td>" in page
    first = out.read_bytes()
    assert main(["ads", "evaluate", test, "--train", train, *asked]) == 0
    assert out.read_bytes() == first


def test_texts_of_a_log_are_no_markup(tmp_path):
    made = frame(600).replace({"a": "<script>alert(1)</script>"})
    log = sa.Log.from_frame(made)
    sa.evaluate({"<b>": sa.Policy("logistic", steps=500)}, *log.split()[1:], train=log.split()[0]).report(
        tmp_path / "out.html", log, settings={"<i>": "<u>"}
    )
    page = (tmp_path / "out.html").read_text()
    assert not re.search("<script|<b>|<i>|<u>", page) and "&lt;script&gt;" in page


def test_a_log_of_which_nothing_can_be_said_has_a_report(tmp_path):
    log = sa.Log.from_frame(frame(300).assign(reward=0))
    sa.evaluate([], log).report(tmp_path / "out.html", log)
    page = (tmp_path / "out.html").read_text()
    assert "No policy can be judged" in page and "rewards look missing" in page
    assert formats.read_frame(frame(3)).visits is not None


def test_a_report_does_not_overwrite_a_log(paths, capsys):
    test = str(paths[1])
    assert main(["ads", "evaluate", test, "--policy", "uniform", "--report", test]) == 1
    assert "never overwritten" in capsys.readouterr().err
