"""What `scant show` prints of a finished study, and what its page says besides the results."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from scant.cli import main
from scant.errors import DataError, SettingError
from scant.page import about, page
from scant.page.show import show

ROWS = [
    {"id": "top-a", "verdict": "holds", "family": "top", "estimate": 0.5, "low": 0.4, "high": 0.6, "n": 8,
     "readings_holding": 2, "readings_total": 3, "needed": np.nan, "statement": "It learns.", "data": "Digits"},
    {"id": "top-b", "verdict": "undecided", "family": "top", "estimate": 0.1, "low": -0.1, "high": 0.3, "n": 8,
     "readings_holding": 0, "readings_total": 1, "needed": 30.0, "statement": "It may.", "data": "Digits"},
    {"id": "ads-c", "verdict": "not testable here", "family": "ads", "estimate": np.nan, "low": np.nan,
     "high": np.nan, "n": 0, "readings_holding": 0, "readings_total": 0, "needed": np.nan, "statement": "It earns.",
     "data": "missing here: logs"},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The results of a study with three claims and a table."""
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "tables").mkdir()
    pd.DataFrame({"learner": ["kl", "squared"], "ndcg": [0.123456789, np.nan], "n": [5, 5]}).to_csv(
        tmp_path / "tables/top.csv", index=False
    )
    pd.DataFrame(ROWS).to_parquet(tmp_path / "claims.parquet")
    return tmp_path


def test_claims_are_shown_by_family_with_what_they_came_to(folder):
    text = show(folder)
    assert text.startswith("Of 3 claims, 1 holds, 0 fail, 1 is undecided, and 1 could not be tested here.")
    lines = text.splitlines()
    assert "  ✓ top-a; 0.5 [0.4, 0.6], n = 8; holds under 2 of 3 readings" in lines
    assert "  ? top-b; 0.1 [-0.1, 0.3], n = 8; 30 seeds would decide it" in lines
    assert f"  {page.ABSENT} ads-c" in lines and "      It earns. missing here: logs" in lines
    assert lines.index("top") < lines.index("ads") and lines[-1].endswith("top")
    assert max(map(len, lines[:3])) < 100


def test_claims_are_chosen(folder):
    text = show(folder, verdict="undecided", family="top")
    assert "top-b" in text and "top-a;" not in text and "ads-c" not in text
    assert show(folder, brief=True).count("\n") <= 3 and "top-a" not in show(folder, brief=True)


def test_a_table_is_shown(folder):
    head, first, second = show(folder, "top").splitlines()
    assert head.split() == ["learner", "ndcg", "n"]
    assert first.split() == ["kl", "0.1235", "5"] and second.split() == ["squared", page.ABSENT, "5"]


def test_what_is_not_there_is_said(folder, tmp_path, capsys):
    with pytest.raises(SettingError, match="unknown table 'tops': did you mean 'top'"):
        show(folder, "tops")
    with pytest.raises(SettingError, match="unknown verdict 'hold': did you mean 'holds'"):
        show(folder, verdict="hold")
    with pytest.raises(SettingError, match="unknown family"):
        show(folder, family="tops")
    with pytest.raises(SettingError, match="no claim has both"):
        show(folder, verdict="fails", family="top")
    with pytest.raises(DataError, match="holds no finished claims"):
        show(tmp_path / "none")
    with pytest.raises(DataError, match="holds no tables"):
        show(tmp_path / "none", "top")
    (folder / "claims.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="not a whole file of claims"):
        show(folder)
    (folder / "tables/top.csv").write_text("")
    with pytest.raises(DataError, match="not a whole table"):
        show(folder, "top")
    assert main(["show", str(tmp_path / "none")]) == 1 and "Run the study" in capsys.readouterr().err


def test_the_command_prints(folder, capsys):
    assert main(["show", str(folder), "--summary"]) == 0
    assert capsys.readouterr().out == show(folder, brief=True)


# --- what the page says besides


def test_the_facts_of_the_default_study(tmp_path):
    config = yaml.safe_load(Path("config/config.yaml").read_text())
    for part in ("figures/figure-2.1.svg", "figures/figure-claims-top.svg", "figures/figure-3.1.svg", "tables/top.csv"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).touch()
    facts = about.facts(config, tmp_path)
    assert list(facts["captions"]) == ["figure-2.1", "figure-3.1", "figure-claims-top", "top"]
    assert all(len(text) > 40 and "\n" not in text for text in facts["captions"].values())
    sets = {row["data set"]: row for row in facts["datasets"]}
    assert sets.keys() == {"digits", "example-logs"} and len(sets["digits"]["SHA-256"]) == 64
    assert facts["environment"]["numpy"] == np.__version__ and "not installed" not in facts["environment"].values()
    assert facts["timings"] == []
    assert facts["citation"].startswith("@software{scant,") and facts["citation"].count("{") == facts["citation"].count(
        "}"
    )
    assert all("--configfile" not in command for command in facts["commands"].values())
    assert str(tmp_path) in facts["commands"]["Claims and tables in the terminal"]
    other = about.facts(config, tmp_path, "config/studies/real.yaml")["commands"]
    assert sum("--configfile config/studies/real.yaml" in command for command in other.values()) == 3


def test_parts_that_a_study_reads_are_its_data_sets(tmp_path):
    config = yaml.safe_load(Path("config/studies/real.yaml").read_text())
    rows = about.facts(config, tmp_path)["datasets"]
    released = config["streams"]["mq2008-released"]["parts"]
    assert {row["part"] for row in rows if row["data set"] == "mq2008"} >= set(released)
    assert {"letter", "isolet", "ohsumed"} <= {row["data set"] for row in rows}


def test_a_study_without_claims_has_a_page(tmp_path):
    config = yaml.safe_load(Path("config/studies/tiny.yaml").read_text())
    study, target = tmp_path / "study.json", tmp_path / "report.html"
    study.write_text(json.dumps(config))
    assert main(["page", "--study", str(study), "--output", str(target)]) == 0
    assert "This study tests no claim." in target.read_text()
