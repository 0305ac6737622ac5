"""Every study can be planned, named targets ask for their stage alone, and the workflow is clean."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from projects import Forked

from scant.ads.family import log_origin, logs_in_use
from scant.online.steps import STEPS
from scant.schema import read_yaml
from scant.study import settings as studies
from scant.study.plan import Plan

ROOT = Path(__file__).parents[2]
STUDIES = ["config/config.yaml", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("config/studies/*.yaml"))]

RUNS = {"fetch", "convert", "pack", "simulate", "campaign", "draw", "run"}
TABLES = {"traces", "comparator", "coverage", "table"}
CLAIMS = RUNS | {"traces", "comparator", "table", "coverage", "judged", "claims"}
FIGURES = CLAIMS | {"figure", "claims_figures"}
TABLES_OF = {  # by kind of experiment: those of runs, and those of theory
    "perceptron": {"finals", "bounds", "rates", "theorems-perceptron", "streams"},
    "top": {"top", "variance", "theorems-top", "streams"},
    "fixed-items": {"games", "slopes", "table-3.1", "table-3.2", "table-b.1", "observability", "theorems-games"},
    "ads": {"ads", "theorems-ads", "ads-estimates", "ads-readings"},
    "generalisation": {
        *("generalisation", "generalisation-slopes", "generalisation-bounds"),
        *("theorems-generalisation", "constants", "table-4.1"),
    },
}
TABLES_OF_STEPS = {"perceptron": "steps", "top": "steps-top"}  # if a learner's steps need no rate
TABLES_OF_LOGS = {"classification": "table-5.1", "campaign": "table-5.2", "log": "table-5.2"}


def planned(settings) -> Plan:
    return Plan(*studies.load(settings, ROOT / "config/datasets.yaml"))


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """A project whose tiny study makes each figure and table by a process of its own."""
    project = Forked(tmp_path_factory.mktemp("apart") / "project")
    project.write(project.settings() | {"together": True})
    return project


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_can_be_planned(bare, study):
    whole = read_yaml(ROOT / study) | {"missing": "stop"}  # also what needs data that are not here
    plan = planned(whole)
    experiments = whole["experiments"].values()
    kinds = {one.get("kind", "perceptron") for one in experiments}
    regret = any(one.get("regret") for one in experiments)
    coverage = whole.get("coverage") is not None
    timed = sum(one.get("figures") == ["figure-games-time"] for one in experiments)
    jobs = bare.jobs("--config", "missing=stop", study=study)
    assert jobs["figure"] == len(plan.shared(plan.figures) or plan.figures) > 0 and jobs["all"] == 1
    assert {plan.study["experiments"][name]["kind"] for name in plan.played} == kinds  # each kind has runs
    assert jobs["run"] == len(plan.processes)
    assert (len(plan.processes) < sum(map(len, plan.jobs.values()))) == bool(whole.get("together"))
    assert len(plan.played) == len(plan.study["experiments"]) - timed
    of_kind = Counter(plan.families[name].kind for name in plan.played)
    together = sum(-(-count // 20) for count in of_kind.values())  # processes, of at most twenty experiments each
    assert jobs["traces"] == (together if whole.get("together") == "all" else len(plan.played))
    assert jobs.get("times", 0) == timed
    tables = set().union(*(TABLES_OF[kind] for kind in kinds))
    tables |= {"regret"} if regret else set()
    tables |= {"atlas"} if any("figure-observability" in one.get("figures", ()) for one in experiments) else set()
    tables |= {"ads-coverage"} if coverage else set()
    free = {name for name, learner in whole["learners"].items() if learner.get("steps") in STEPS}
    tables |= {
        TABLES_OF_STEPS[one.get("kind", "perceptron")] for one in experiments if free.intersection(one["learners"])
    }
    seen = {name for name, learner in whole["learners"].items() if learner["kind"] == "seen"}
    tables |= {"seen", "seen-steps"} if any(seen.intersection(one["learners"]) for one in experiments) else set()
    logs = [plan.study["logs"][log] for log in logs_in_use(plan.study)]
    tables |= {TABLES_OF_LOGS[log_origin(log, plan.datasets)] for log in logs}
    assert {*plan.tables} == tables and jobs["table"] == len(plan.shared(plan.tables) or tables)
    assert jobs.get("coverage", 0) == coverage
    assert ("comparator" in jobs) == regret
    judged = whole.get("claims", True) is not None
    assert jobs.get("claims", 0) == judged and jobs["report"] == 1
    assert ("claims_figures" in jobs) == judged


def test_a_sweep_adds_runs_and_traces_and_nothing_else(apart, project):
    settings = apart.settings()
    assert any("sweep" in one for one in settings["experiments"].values())
    for one in settings["experiments"].values():
        one.pop("sweep", None)
    project.write(settings)
    more, fewer = apart.jobs(), project.jobs()
    assert more.keys() == fewer.keys()
    assert {rule for rule in more if more[rule] != fewer[rule]} == {"simulate", "run", "traces"}
    assert apart.jobs("tables") == project.jobs("tables")


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
        ("results/tiny/figures/figure-claims-ads.svg", CLAIMS | {"claims_figures"}),
        ("results/tiny/figures/figure-5.1.svg", {"fetch", "convert", "draw", "run", "traces", "figure"}),
        ("results/tiny/figures/figure-coverage.svg", {"coverage", "figure"}),
        ("results/tiny/tables/table-5.1.csv", {"fetch", "convert", "draw", "table"}),
        ("results/tiny/tables/table-3.1.csv", {"table"}),
        (
            "results/tiny/tables/regret.csv",
            {"fetch", "convert", "pack", "simulate", "run", "traces", "comparator", "table"},
        ),
        ("results/tiny/figures/figure-observability.svg", {"run", "traces", "figure"}),
        ("tables", RUNS | TABLES),
        ("results/tiny/tables/streams.csv", {"fetch", "convert", "pack", "simulate", "table"}),
    ],
)
def test_a_target_asks_for_its_stage_alone(apart, target, rules):
    jobs = apart.jobs(target)
    assert jobs.keys() - ({target} - rules) == rules
    plan, name = planned(apart.settings()), Path(target).stem
    shown = (plan.figures | plan.tables).get(name)
    if shown is None or shown.shown.reads in (
        "traces",
        "regret",
    ):  # the runs of the experiments that it is of, no other
        experiments = shown.experiments if shown else plan.stated if target == "tables" else plan.played
        wanted = sum(path.partition("/")[0] in experiments for path in plan.processes)
        assert jobs.get("run", 0) == (wanted if "run" in rules else 0)
        assert jobs.get("traces", 0) == (len(experiments) if "traces" in rules else 0)


def test_the_groups_of_the_cluster_profile_are_of_rules():
    profile = read_yaml(ROOT / "profiles/slurm/profile.yaml")
    named = r'(?:^rule |rules_of\("|draws_of\("|yield ")(\w+)'  # a rule, or one in a loop, which may have several names
    rules = {name for file in (ROOT / "rules").glob("*.smk") for name in re.findall(named, file.read_text(), re.M)}
    assert {*profile["groups"]} <= rules and "run" in profile["groups"]
    assert {*profile["groups"].values()} == {*profile["group-components"]}


def test_snakemake_finds_nothing_to_complain_of(bare):
    for study in ("config/config.yaml", "tiny"):
        assert "good condition" in bare.snakemake("--lint", study=study)


def test_rules_are_formatted():
    command = [sys.executable, "-m", "snakefmt.snakefmt", "--check", "Snakefile", "rules"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
