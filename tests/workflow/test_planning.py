"""Every study can be planned, named targets ask for their stage alone, and the workflow is clean."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
STUDIES = ["config/config.yaml", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("config/studies/*.yaml"))]

RUNS = {"fetch", "convert", "pack", "simulate", "run", "play", "campaign", "draw", "learn"}
TABLES = {"traces", "comparator", "coverage", "table", "streams_table", "theory_table", "logs_table"}
CLAIMS = RUNS | {"traces", "comparator", "theory_table", "claims"}
FIGURES = CLAIMS | {"coverage", "figure", "claims_figure"}


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_can_be_planned(bare, study):
    whole = yaml.safe_load((ROOT / study).read_text())
    experiments = whole["experiments"].values()
    kinds = {one.get("kind", "perceptron") for one in experiments}
    regret = any(one.get("regret") for one in experiments)
    jobs = bare.jobs(study=study)
    assert jobs["figure"] > 0 and jobs["all"] == 1
    assert ("run" in jobs) == bool(kinds & {"perceptron", "top"})
    fixed, ads = "fixed-items" in kinds, "ads" in kinds
    coverage = whole.get("coverage") is not None
    assert jobs["table"] == 3 * ("perceptron" in kinds) + ("top" in kinds) + regret + 2 * fixed + 3 * ads + coverage
    assert ("learn" in jobs) == ads and jobs.get("coverage", 0) == coverage
    assert jobs.get("theory_table", 0) == ("top" in kinds) + 4 * fixed
    assert ("play" in jobs) == fixed
    assert ("comparator" in jobs) == regret
    judged = whole.get("claims", True) is not None
    assert jobs.get("claims", 0) == judged and jobs["report"] == 1
    assert ("claims_figure" in jobs) == judged


def test_a_sweep_adds_runs_and_traces_and_nothing_else(bare, project):
    settings = project.settings()
    assert any("sweep" in one for one in settings["experiments"].values())
    for one in settings["experiments"].values():
        one.pop("sweep", None)
    project.write(settings)
    more, fewer = bare.jobs(), project.jobs()
    assert more.keys() == fewer.keys()
    assert {rule for rule in more if more[rule] != fewer[rule]} == {"simulate", "run", "learn", "traces"}
    assert bare.jobs("tables") == project.jobs("tables")


def test_without_a_study_file_it_is_the_default_study(bare):
    assert bare.jobs(study=None) == bare.jobs(study="config/config.yaml")


def test_the_profile_is_read(bare):
    assert "Using workflow specific profile profiles/default" in bare.snakemake("--dry-run")


@pytest.mark.parametrize(
    ("target", "rules"),
    [
        ("claims", CLAIMS),
        ("report", FIGURES | TABLES | {"report"}),
        ("data", {"fetch", "convert"}),
        ("streams", {"fetch", "convert", "pack", "simulate"}),
        ("runs", RUNS),
        ("figures", FIGURES),
        ("results/tiny/figures/figure-claims-ads.svg", CLAIMS | {"claims_figure"}),
        ("results/tiny/figures/figure-5.1.svg", {"fetch", "convert", "draw", "learn", "traces", "figure"}),
        ("results/tiny/figures/figure-coverage.svg", {"coverage", "figure"}),
        ("results/tiny/tables/table-5.1.csv", {"fetch", "convert", "draw", "logs_table"}),
        ("results/tiny/figures/figure-observability.svg", {"play", "traces", "figure"}),
        ("tables", RUNS | TABLES),
        ("results/tiny/tables/streams.csv", {"fetch", "convert", "pack", "simulate", "streams_table"}),
    ],
)
def test_a_target_asks_for_its_stage_alone(bare, target, rules):
    assert bare.jobs(target).keys() - ({target} - rules) == rules


def test_snakemake_finds_nothing_to_complain_of(bare):
    for study in ("config/config.yaml", "tiny"):
        assert "good condition" in bare.snakemake("--lint", study=study)


def test_rules_are_formatted():
    command = [sys.executable, "-m", "snakefmt.snakefmt", "--check", "Snakefile", "rules"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
