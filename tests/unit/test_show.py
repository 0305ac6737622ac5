"""What `scant show` prints of a finished study, and what its page says besides the results."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

from scant.cli import main
from scant.errors import DataError, SettingError, printable
from scant.files import write_parquet
from scant.page import about, page
from scant.page.show import show
from scant.study import settings
from scant.study.plan import Plan

KNOWN = yaml.safe_load(
    """{family: top, n: 8, needed: .nan, source: "thesis, 3.2", words: it learns,
    chosen: Ten rounds., quantity: difference in NDCG@10, test: t, tightness: .nan,
    matters: tuning, matters_share: 0.6, figure: figure-3.4, data: Digits,
    readings_holding: 0, readings_total: 1, cells_holding: 0, cells_failing: 0,
    cells_silent: 0, cells_total: 1, experiment: e, deciding: kl on Digits,
    note: "", says_from: .nan, refuted_by: a mean below -1, control: Random,
    control_verdict: fails, control_estimate: -0.5, control_low: -0.6,
    control_high: -0.4, premise: "", agreeing: 7.0, agreeing_least: 0.47,
    tipping: 0.25, worst: 0.05, mark: "", by_cell: "", named: ""}"""
)  # fmt: skip
STEERED = ("id", "family", "source", "words", "chosen", "quantity", "test", "matters", "figure")
STEERED += ("data", "statement")
NOTHING = dict.fromkeys(("estimate", "low", "high"), np.nan) | {
    "n": 0,
    "readings_total": 0,
    "cells_total": 0,
}
ROWS = [
    KNOWN | yaml.safe_load(
        """{id: top-a, row: theorem, verdict: holds, estimate: 0.5, low: 0.4, high: 0.6,
        readings_holding: 2, readings_total: 3, statement: It learns.,
        cells_holding: 1, cells_failing: 1, cells_total: 2, tightness: 0.5,
        premise: seeds near normal, mark: whatever seeds are like,
        by_cell: holds on digits; fails on letter}"""
    ),
    KNOWN | yaml.safe_load(
        """{id: top-b, row: reproduction, verdict: undecided, estimate: 0.1, low: -0.1,
        high: 0.3, needed: 30.0, statement: It may.}"""
    ),
    KNOWN | NOTHING | yaml.safe_load(
        """{id: ads-c, row: reproduction, verdict: not testable here, family: ads,
        statement: It earns., data: "missing here: logs", test: "", matters: ""}"""
    ),
]  # fmt: skip
CELL = yaml.safe_load(
    """{claim: top-a, statement: It learns., family: top, row: theorem, quantity: NDCG@10,
    test: t, experiment: e, tuning: held-out, first: true, stream: digits,
    learner: kl, against: "", estimate: 0.5, low: 0.4, high: 0.6, n: 8, from: 0.1,
    to: .inf, verdict: holds, agreeing: 8.0, agreeing_least: 0.63, tipping: 0.25,
    worst: 0.3, mark: ""}"""
)  # fmt: skip
CELLS = [
    CELL,
    CELL
    | {"stream": "letter", "estimate": -0.5, "low": np.nan, "high": np.nan, "verdict": "fails"},
    CELL | {"tuning": "paper", "first": False, "estimate": 0.7},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The results of a study with three claims and a table."""
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "tables").mkdir()
    pd.DataFrame({"learner": ["kl", "squared"], "ndcg": [0.123456789, np.nan], "n": [5, 5]}).to_csv(
        tmp_path / "tables/top.csv", index=False
    )
    write_parquet(pa.Table.from_pandas(pd.DataFrame(ROWS)), tmp_path / "claims.parquet", {})
    pd.DataFrame(CELLS).to_csv(tmp_path / "claims-readings.csv", index=False)
    return tmp_path


def test_claims_are_shown_by_kind_and_family_with_what_they_came_to(folder):
    text = show(folder)
    assert text.startswith("Of 2 statements that the papers measured, 1 is undecided; 1 could not")
    lines = text.splitlines()
    facts = "0.5 [0.4, 0.6], n = 8; holds in 1 of 2 cells, fails in 1; holds under 2 of 3 readings"
    assert f"  ✓ top-a: holds; {facts}" in lines
    assert "  ? top-b: undecided; 0.1 [-0.1, 0.3], n = 8; 30 seeds or more would decide it" in lines
    assert f"  {page.ABSENT} ads-c" in lines and "      It earns. missing here: logs" in lines
    heads = [line for line in lines if line.startswith(("Reproductions", "Extensions", "Theorem"))]
    assert heads == ["Reproductions, top", "Reproductions, ads", "Theorem checks, top"]
    assert lines[-1].endswith("top")
    assert max(map(len, lines[:3])) < 100


def test_claims_are_chosen(folder):
    text = show(folder, verdict="undecided", family="top")
    assert "top-b" in text and "top-a:" not in text and "ads-c" not in text
    assert "top-a:" in show(folder, row="theorem") and "top-b" not in show(folder, row="theorem")
    brief = show(folder, brief=True)
    assert brief.split() == " ".join(page.sentences(ROWS)).split()
    assert "is 50 % of the bounds" in brief


def test_cells_follow_their_claim(folder):
    lines = show(folder, cells=True).splitlines()
    at = lines.index("      stream  learner  estimate        claimed    n  verdict")
    assert lines[at - 1].strip() == "It learns."
    assert [line.split() for line in lines[at + 1 : at + 3]] == [
        ["digits", "kl", "0.5", "[0.4,", "0.6]", "above", "0.1", "8", "holds"],
        ["letter", "kl", "-0.5", "above", "0.1", "8", "fails"],
    ]
    assert "0.7" not in show(folder, cells=True)  # of another reading


def test_a_claim_is_shown_whole(folder):
    text = show(folder, claim="top-a")
    assert text.startswith("✓ top-a: holds\n  It learns.\n")
    told = dict(line[2:].split("  ", 1) for line in text.split("\n\n")[1].splitlines())
    told = {name: fact.strip() for name, fact in told.items()}
    assert told["source"] == 'thesis, 3.2: "it learns"' and told["chosen"] == "Ten rounds."
    assert told["quantity"] == "difference in NDCG@10; claimed: above 0.1"
    assert told["test"] == ("t, n = 8")
    assert told["supposes"] == "seeds near normal; it is so whatever seeds are like"
    assert (
        told["seeds"] == "7 of 8 seeds, hence in at least 47 % of all"
        and told["worst seed"] == "0.05"
    )
    assert told["overturned"].startswith("one seed in 4 would have to be as far against it")
    assert told["by cell"].endswith("on letter")
    assert told["cells"] == "holds in 1 of 2 cells, fails in 1"
    assert told["tightness"].endswith("to 50 %")
    first, second = (text.index(f"tuning {tuning}") for tuning in ("held-out", "paper"))
    assert text.index("letter") < second and first < second and text.index("0.7 [") > second
    assert "which the verdict is under" in text[first:second] and "which" not in text[second:]
    untested = show(folder, claim="ads-c")
    assert "missing here: logs" in untested and "estimate" not in untested
    assert "cells" not in untested


def test_a_table_is_shown(folder):
    head, first, second = show(folder, "top").splitlines()
    assert head.split() == ["learner", "ndcg", "n"]
    assert first.split() == ["kl", "0.123", "5"] and second.split() == ["squared", page.ABSENT, "5"]


def test_what_is_not_there_is_said(folder, tmp_path, capsys):
    for asked, message in (
        ({"name": "tops"}, "unknown table 'tops': did you mean 'top'"),
        ({"verdict": "hold"}, "unknown verdict 'hold': did you mean 'holds'"),
        ({"family": "tops"}, "unknown family"),
        ({"row": "theory"}, "unknown row 'theory'"), ({"claim": "top-c"}, "unknown claim 'top-c'"),
        ({"verdict": "fails", "family": "top"}, "no claim has all"),
    ):  # fmt: skip
        with pytest.raises(SettingError, match=message):
            show(folder, **asked)
    (folder / "claims.parquet").write_bytes(b"PAR1")
    (folder / "tables/top.csv").write_text("")
    for place, table, message in (
        (tmp_path / "none", (), "holds no finished claims"),
        (tmp_path / "none", ("top",), "holds no tables"),
        (folder, (), "not a whole file of claims"), (folder, ("top",), "is no table with a head"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=message):
            show(place, *table)
    assert main(["show", str(tmp_path / "none")]) == 1
    assert "Run the study" in capsys.readouterr().err


STEERING = "\x1b[2J\x9b31m\r\nforged"


def test_what_could_steer_a_terminal_is_escaped(folder):
    rows = [
        {name: f"{value}{STEERING}" if name in STEERED else value for name, value in row.items()}
        for row in ROWS
    ]
    write_parquet(pa.Table.from_pandas(pd.DataFrame(rows)), folder / "claims.parquet", {})
    odd = ("claim", "experiment", "tuning", "stream", "learner", "against")
    pd.DataFrame([row | {name: f"{row[name]}{STEERING}" for name in odd} for row in CELLS]).to_csv(
        folder / "claims-readings.csv", index=False
    )
    pd.DataFrame({f"learner{STEERING}": [STEERING]}).to_csv(
        folder / f"tables/odd{STEERING[:4]}.csv", index=False
    )
    shown = [show(folder), show(folder, cells=True), show(folder, f"odd{STEERING[:4]}")]
    shown.append(show(folder, claim=printable("top-a" + " ".join(STEERING.split()))))
    for text in shown:
        assert not {"\x1b", "\x9b", "\r"} & {*text} and "\\x1b[2J" in text
        assert not any(line.startswith("forged") for line in text.splitlines())


def test_the_command_prints(folder, capsys):
    assert main(["show", str(folder), "--summary"]) == 0
    assert capsys.readouterr().out == show(folder, brief=True)
    assert main(["show", str(folder), "--claim", "top-a"]) == 0
    assert capsys.readouterr().out == show(folder, claim="top-a")


# --- what the page says besides
def facts_of(config, folder, study_file=""):
    plan = Plan(*settings.load(config))
    return about.facts(
        plan, settings.claims(*settings.claims_files(plan.study)), folder, study_file
    )


def test_the_facts_of_the_default_study(tmp_path):
    config = yaml.safe_load(Path("config/config.yaml").read_text())
    facts = facts_of(config, tmp_path)
    wanted = ["figure-2.1", "top", "figure-3.1"]
    assert [name for name in facts["captions"] if name in wanted] == wanted
    assert sorted(facts["captions"]) == sorted(facts["files"])
    assert all(len(text) > 40 and "\n" not in text for text in facts["captions"].values())
    sets = {row["data set"]: row for row in facts["datasets"]}
    assert sets.keys() == {"digits", "example-logs"} and len(sets["digits"]["SHA-256"]) == 64
    assert facts["environment"]["numpy"] == np.__version__
    assert "not installed" not in facts["environment"].values()
    assert facts["timings"] == []
    citation = facts["citation"]
    assert citation.startswith("@software{scant,") and citation.count("{") == citation.count("}")
    assert all("--configfile" not in command for command in facts["commands"].values())
    assert str(tmp_path) in facts["commands"]["Claims and tables in the terminal"]
    other = facts_of(config, tmp_path, "config/studies/real.yaml")["commands"]
    result = sum("--configfile config/studies/real.yaml" in command for command in other.values())
    assert result == 3


def test_jobs_are_timed_by_rule_without_lines_that_were_cut_short(tmp_path):
    jobs = [
        ("run/a", "run", 2.0, 100.0),
        ("run/b", "run", 3.0, None),
        ("claims", "claims", 1.0, 50),
    ]
    for name, rule, seconds, memory in jobs:
        path = tmp_path / f"benchmarks/{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"rule_name": rule, "s": seconds, "max_rss": memory})
        path.write_text(f"{line}\n{line[:-9]}\n")
    (tmp_path / "benchmarks/run/.a.jsonl.x.jsonl").write_text(path.read_text())
    assert about.timings(tmp_path) == [
        {"rule": "run", "jobs": 2, "seconds": 5.0, "longest": 3.0, "memory": 100},
        {"rule": "claims", "jobs": 1, "seconds": 1.0, "longest": 1.0, "memory": 50},
    ]


def test_parts_that_a_study_reads_are_its_data_sets(tmp_path):
    config = yaml.safe_load(Path("config/studies/real.yaml").read_text())
    rows = facts_of(config, tmp_path)["datasets"]
    released = config["streams"]["mq2008-released"]["parts"]
    assert {row["part"] for row in rows if row["data set"] == "mq2008"} >= set(released)
    assert {"letter", "isolet", "ohsumed"} <= {row["data set"] for row in rows}


def test_a_study_without_claims_has_a_page(tmp_path):
    config, target = (
        yaml.safe_load(Path("config/studies/tiny.yaml").read_text()),
        tmp_path / "report.html",
    )
    facts = about.facts(Plan(*settings.load(config)), {}, tmp_path, "")
    page.make(config, tmp_path, target, [], facts)
    assert "This study tests no claim." in target.read_text()
