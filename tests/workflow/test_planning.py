"""Studies are planned by the workflow, named targets ask for their stage alone."""

import re
from collections import Counter
from pathlib import Path

import pytest

from scant.schema import read_yaml
from scant.study import settings as studies
from scant.study.plan import Plan

ROOT = Path(__file__).parents[2]
# As unlike as can be; the first is the one that is planned where none is named.
STUDIES = {"config/config.yaml": None, "config/studies/real-top.yaml": "real-top"}
KINDS = ("perceptron", "top", "fixed_items", "ads", "generalisation")
RUNS = {"fetch", "convert", "make_stream", "simulate", "campaign", "make_log", "run"}
THEOREMS = {f"theorems_{kind}" for kind in KINDS}
TABLES = RUNS | THEOREMS | {"best_weights", *(f"tables_{kind}" for kind in KINDS)}
CLAIMS = RUNS | THEOREMS | {"best_weights", "coverage", "judge", "claims"}
FIGURES = RUNS | {"best_weights", "coverage", *(f"figures_{kind}" for kind in KINDS)}


def planned(settings) -> Plan:
    return Plan(*studies.load(settings, ROOT / "config/datasets.yaml"))


@pytest.mark.parametrize("study", STUDIES)
def test_the_workflow_has_the_jobs_of_the_plan(bare, study):
    """What all studies plan is in unit/test_plan_digests.py."""
    whole = read_yaml(ROOT / study) | {"missing": "stop"}  # also what needs data that are not here
    plan = planned(whole)
    experiments = whole["experiments"].values()
    jobs = bare.jobs("--config", "missing=stop", study=STUDIES[study])
    assert jobs["all"] == 1 and {jobs[job] for job in plan.shown_by} == {1}
    # each kind has runs
    kinds = {one.get("kind", "perceptron") for one in experiments}
    assert {plan.study["experiments"][name]["kind"] for name in plan.jobs} == kinds
    assert jobs.get("run", 0) == len(plan.runs)
    drawing = ("simulate", "make_log", "make_click_log")
    assert sum(jobs.get(job, 0) for job in drawing) == sum(map(len, plan.draws.values()))
    assert jobs.get("coverage", 0) == (whole.get("coverage") is not None)
    assert ("best_weights" in jobs) == any(one.get("regret") for one in experiments)
    assert jobs["claims"] == jobs["report"] == 1


def test_a_sweep_adds_runs_and_nothing_else():
    settings = read_yaml(ROOT / "config/studies/tiny.yaml")
    more = planned(settings)
    swept = [one.pop("sweep", None) for one in settings["experiments"].values()]
    fewer = planned(settings)
    assert any(swept) and fewer.runs.items() < more.runs.items()
    for several in ("tables", "figures", "shown_by"):
        assert getattr(more, several).keys() == getattr(fewer, several).keys()
    assert more.compared.keys() == fewer.compared.keys()


TARGETS = {
    "claims": CLAIMS,
    "report": FIGURES | TABLES | CLAIMS | {"boards", "report"},
    "data": {"fetch", "convert"},
    "streams": {"fetch", "convert", "make_stream", "simulate"},
    "figures": FIGURES,
    "results/tiny/figures/figure-5.1.svg": {
        "fetch", "convert", "campaign", "make_log", "run", "coverage", "figures_ads",
    },
    "results/tiny/tables/regret.csv": {
        "fetch", "convert", "make_stream", "simulate", "run", "best_weights", "tables_top",
    },
    "tables": TABLES,
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(bare):
    """The rule of each planned job, by number, and the numbers of the jobs that it waits for."""
    dot = bare.snakemake(*TARGETS, "--dag")
    rules = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)', dot, re.MULTILINE))
    waits = {job: set() for job in rules}
    for first, then in re.findall(r"^\s*(\d+) -> (\d+)", dot, re.MULTILINE):
        waits[then].add(first)
    return rules, waits


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_asks_for_its_stage_alone(bare, graph, target):
    plan, name, rules = planned(bare.settings()), Path(target).stem, TARGETS[target]
    together = {"figures": plan.figures, "tables": plan.tables}
    making = target
    if "/" in target:
        (making,) = (rule for rule, made in plan.shown_by.items() if name in made)
    shown = together.get(target) or plan.shown_by.get(making)
    experiments = {one for of in shown.values() for one in of.experiments} if shown else plan.jobs
    wanted = sum(len(plan.jobs[name]) for name in experiments)

    rule_of, waits = graph
    (last,) = (job for job, rule in rule_of.items() if rule == making)
    jobs, left = {last}, [last]
    while left:
        new = waits[left.pop()] - jobs
        jobs |= new
        left += new
    asked = Counter(rule_of[job] for job in jobs)
    assert asked.keys() - ({target} - rules) == rules
    assert asked["run"] == (wanted if "run" in rules else 0)


def test_rules_that_a_loop_makes_are_named_in_their_file():
    named = re.findall(r"rule (\w+_\w+)", (ROOT / "rules/present.smk").read_text())
    assert sorted(planned(read_yaml(ROOT / "config/config.yaml")).shown_by) == sorted(named)


def test_the_groups_of_the_cluster_profile_are_of_rules():
    profile = read_yaml(ROOT / "profiles/slurm/profile.yaml")
    texts = (file.read_text() for file in (ROOT / "rules").glob("*.smk"))
    rules = {name for text in texts for name in re.findall(r"(?m)^rule (\w+)", text)}
    assert {*profile["groups"]} <= rules and "run" in profile["groups"]
    assert {*profile["groups"].values()} == {*profile["group-components"]}
