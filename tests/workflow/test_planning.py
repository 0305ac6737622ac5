"""Every study can be planned, named targets ask for their stage alone, and the workflow is
clean.
"""

import re
from pathlib import Path

import pytest

from scant.ads.family import log_origin, logs_in_use
from scant.declare import families
from scant.rankers.steps import FREE
from scant.schema import read_yaml
from scant.study import settings as studies
from scant.study.plan import Plan

ROOT = Path(__file__).parents[2]
STUDIES = [
    "config/config.yaml",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("config/studies/*.yaml")),
]

KINDS = ("perceptron", "top", "fixed_items", "ads", "generalisation")
RUNS = {"fetch", "convert", "make_stream", "simulate", "campaign", "make_log", "run"}
TABLES = RUNS | {"best_weights", "tables_theory", *(f"tables_{kind}" for kind in KINDS)}
CLAIMS = RUNS | {"best_weights", "tables_theory", "coverage", "judge", "claims"}
FIGURES = RUNS | {"best_weights", "coverage", *(f"figures_{kind}" for kind in KINDS)}
TABLES_OF = {  # by kind of experiment: those of runs, and those of theory
    "perceptron": {"finals", "theorems-perceptron", "streams"},
    "top": {"top", "variance", "theorems-top", "streams"},
    "fixed-items": {
        "games",
        "slopes",
        "table-3.1",
        "table-3.2",
        "table-b.1",
        "observability",
        "theorems-games",
    },
    "ads": {"ads", "theorems-ads"},
    "generalisation": {"generalisation", "theorems-generalisation", "constants", "table-4.1"},
    "rankings": {"rankings", "rankings-places", "rankings-learnt"},
}
TABLES_OF_STEPS = {"perceptron": "steps", "top": "steps-top"}  # if a learner's steps need no rate
TABLES_OF_LOGS = {"classification": "table-5.1", "campaign": "table-5.2", "log": "table-5.2"}


def planned(settings) -> Plan:
    return Plan(*studies.load(settings, ROOT / "config/datasets.yaml"))


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
    assert plan.figures and jobs["all"] == 1 and {jobs[job] for job in plan.shown_by} == {1}
    # each kind has runs
    assert {plan.study["experiments"][name]["kind"] for name in plan.played} == kinds
    assert jobs.get("run", 0) == len(plan.runs)
    drawing = ("simulate", "make_log", "make_click_log")
    assert sum(jobs.get(job, 0) for job in drawing) == sum(map(len, plan.draws.values()))
    assert len(plan.played) == len(plan.study["experiments"]) - timed
    assert jobs.get("times", 0) == timed
    tables = set().union(*(TABLES_OF[kind] for kind in kinds))
    if not plan.study["claims"]:  # nor is theory checked
        tables -= {shown.name for _, shown in families.shown() if shown.reads == "nothing"}
    tables |= {"regret"} if regret else set()
    tables |= (
        {"atlas"}
        if any("figure-observability" in one.get("figures", ()) for one in experiments)
        else set()
    )
    free = {name for name, learner in whole["learners"].items() if learner.get("steps") in FREE}
    tables |= {
        TABLES_OF_STEPS[one.get("kind", "perceptron")]
        for one in experiments
        if free.intersection(one["learners"])
    }
    seen = {name for name, learner in whole["learners"].items() if learner["kind"] == "seen"}
    tables |= {"seen"} if any(seen.intersection(one["learners"]) for one in experiments) else set()
    logs = [plan.study["logs"][log] for log in logs_in_use(plan.study)]
    tables |= {TABLES_OF_LOGS[log_origin(log, plan.datasets)] for log in logs}
    assert {*plan.tables} == tables
    assert jobs.get("coverage", 0) == coverage
    assert ("best_weights" in jobs) == regret
    judged = whole.get("claims", True) is not None
    assert jobs.get("claims", 0) == judged and jobs["report"] == 1


def test_a_sweep_adds_runs_and_nothing_else(bare, project):
    settings = bare.settings()
    assert any("sweep" in one for one in settings["experiments"].values())
    for one in settings["experiments"].values():
        one.pop("sweep", None)
    project.write(settings)
    more, fewer = bare.jobs(), project.jobs()
    assert more.keys() == fewer.keys()
    assert {rule for rule in more if more[rule] != fewer[rule]} == {"simulate", "run"}
    assert bare.jobs("tables") == project.jobs("tables")


def test_without_a_study_file_it_is_the_default_study(bare):
    assert bare.jobs(study=None) == bare.jobs(study="config/config.yaml")


def test_the_profile_is_read(bare):
    assert "Using workflow specific profile profiles/default" in bare.snakemake("--dry-run")


@pytest.mark.parametrize(
    ("target", "rules"),
    [
        ("claims", CLAIMS),
        ("report", FIGURES | TABLES | CLAIMS | {"report"}),
        ("data", {"fetch", "convert"}),
        ("streams", {"fetch", "convert", "make_stream", "simulate"}),
        ("runs", RUNS),
        ("figures", FIGURES),
        (
            "results/tiny/figures/figure-5.1.svg",
            {"fetch", "convert", "campaign", "make_log", "run", "coverage", "figures_ads"},
        ),
        (
            "results/tiny/tables/table-5.1.csv",
            {"fetch", "convert", "campaign", "make_log", "run", "tables_ads"},
        ),
        ("results/tiny/tables/table-3.1.csv", {"tables_theory"}),
        (
            "results/tiny/tables/regret.csv",
            {"fetch", "convert", "make_stream", "simulate", "run", "best_weights", "tables_top"},
        ),
        ("results/tiny/figures/figure-observability.svg", {"run", "figures_fixed_items"}),
        ("tables", TABLES),
    ],
)
def test_a_target_asks_for_its_stage_alone(bare, target, rules):
    jobs = bare.jobs(target)
    assert jobs.keys() - ({target} - rules) == rules
    plan, name = planned(bare.settings()), Path(target).stem
    together = {"figures": plan.figures, "tables": plan.tables}
    shown = together.get(target) or next(
        (targets for targets in plan.shown_by.values() if name in targets), None
    )
    experiments = {one for of in shown.values() for one in of.experiments} if shown else plan.played
    wanted = sum(len(plan.jobs[name]) for name in experiments)
    assert jobs.get("run", 0) == (wanted if "run" in rules else 0)


def test_the_groups_of_the_cluster_profile_are_of_rules():
    profile = read_yaml(ROOT / "profiles/slurm/profile.yaml")
    texts = (file.read_text() for file in (ROOT / "rules").glob("*.smk"))
    rules = {name for text in texts for name in re.findall(r"(?m)^rule (\w+)", text)}
    assert {*profile["groups"]} <= rules and "run" in profile["groups"]
    assert {*profile["groups"].values()} == {*profile["group-components"]}
