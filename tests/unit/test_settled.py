"""The settled study: jobs read what planning decided, whole or not at all; digests."""

import json
import re
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
import yaml
from snakemake.iocontainers import Wildcards
from toys import SETTLED, command, settle

from scant.cli import main
from scant.errors import DataError
from scant.files import BLANK, SEAL, seal
from scant.schema import of_project, read_yaml
from scant.study import code, settings, settled
from scant.study.digests import Digests
from scant.study.plan import Plan

EXPERIMENT = {"streams": ["sim", "real"], "learners": ["slam", "random"], "seeds": 2, "rounds": 10}
GAMES = {"kind": "fixed-items", "games": ["flip"], "learners": ["ftpl"], "rounds": 10}
OWN = {"task": "ranking", "parser": "letor", "features": 2, "parts": {"all": {"file": "mine.txt"}}}


def config(**changes):
    return {
        "study": "s",
        "claims": None,
        "datasets": {"mine": OWN},
        "streams": {"sim": {"generator": "linear"}, "real": {"dataset": "mine"}},
        "games": {"flip": {"stream": "flip", "loss": "dcg"}},
        "logs": {"hotel": {"campaign": "hotel", "settings": {}}},
        "learners": yaml.safe_load("""
            slam: {kind: slam, rates: [0.1, 1.0]}
            listnet: {kind: listnet}
            random: {kind: random}
            kl: {kind: rtop, surrogate: kl}
            ftpl: {kind: ftpl}
            forest: {kind: forest}
        """),
        "experiments": {
            "all": EXPERIMENT,
            "top": EXPERIMENT | {"kind": "top", "learners": ["kl", "random"], "regret": True},
            "games": GAMES,
            "ads": {"kind": "ads", "logs": ["hotel"], "learners": ["forest"]},
        },
    } | changes  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").touch()


# --- what jobs read
@pytest.mark.parametrize("path", ["config/config.yaml", "config/studies/tiny.yaml"])
def test_jobs_read_what_was_planned(path):
    given = read_yaml(of_project(path))
    plan = Plan(*settings.load(given))
    claims = settings.claims(*settings.claims_files(plan.study))
    settled.save(SETTLED, settled.content(given, plan, claims))
    made = settled.read(SETTLED)
    result = (made.given, made.study, made.claims, made.draws)
    assert result == (given, plan.study, claims, plan.draws)
    assert made.datasets == plan.datasets and made.plan.made == plan.made
    for name in plan.jobs:
        alone = made.plan_of(name)  # though others draw what it reads
        assert alone.jobs == {name: plan.jobs[name]}
        assert alone.comparators == {name: plan.comparators[name]}
    assert all(
        made.code_of(job) == code.digest(*plan.modules(*ids(job))) for job in plan.runs.values()
    )


def ids(job):
    return job.identity["experiment"], job.identity.get("learner", "")


def refused(capsys):
    """Check that a job refuses the settled study in one line that says what to do."""
    assert main(command("show", "tables_theory")) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"scant: {SETTLED}: is no settled study, or was changed (")
    assert said.count("\n") == 1
    assert "Only the workflow writes such a file: snakemake" in said


def test_a_study_of_which_a_byte_was_changed_is_refused(capsys):
    settle(config())
    whole = Path(SETTLED).read_bytes()
    for at in (*range(0, len(whole), len(whole) // 100), *range(len(whole) - 20, len(whole))):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        Path(SETTLED).write_bytes(damaged)
        with pytest.raises(DataError, match="is no settled study, or was changed"):
            settled.read(SETTLED)
    refused(capsys)
    settle(config())  # which writes it anew
    assert Path(SETTLED).read_bytes() == whole


SEALED = f'{{"{SEAL}": "{BLANK}"}}'


@pytest.mark.parametrize(
    "text", [None, "", "study: s\n", json.dumps(config()), SEALED, f"[{SEALED}]"]
)
def test_a_study_that_somebody_made_by_hand_is_refused(capsys, text):
    if text is not None:
        Path(SETTLED).write_text(text)
    if SEALED in str(text):
        seal(SETTLED)
    refused(capsys)


def test_a_study_that_is_being_played_is_not_settled_anew():
    """As by a dry run after its settings were changed: its jobs go on with what was planned."""
    before = settle(config()).study
    lock = Path(".snakemake/locks/0.output.lock")
    lock.parent.mkdir(parents=True)
    lock.write_text("results/s/runs/all/sim/slam/seed-0-1.parquet\n")
    assert settle(config(seed=3)).study["seed"] == 3
    assert settled.read(SETTLED).study == before
    lock.write_text("results/other/runs/s.parquet\n")
    settle(config(seed=3))
    assert settled.read(SETTLED).study["seed"] == 3


# --- what redoes a job
def digests(config) -> dict[str, str]:
    """The digests of all jobs of a study, by their rule and ids."""
    made = settle(config)
    plan, of = made.plan, Digests(made)
    wildcards = {
        "dataset": [{"dataset": "mine@s", "part": "all"}],
        "stream": [{"stream": name} for name in made.study["streams"]],
        "ads_log": [{"ads_log": name} for name in made.study["logs"]],
        "run": [{"run": path} for path in plan.runs],
        "best_weights": [{"run": path} for path in plan.compared],
    }
    return {
        f"{rule} {'/'.join(ids.values())}": getattr(of, rule)(Wildcards(fromdict=ids))
        for rule, several in wildcards.items()
        for ids in several
    } | {f"shown {job}": of.shown(targets) for job, targets in plan.shown_by.items()}


SHOWN = {  # figures and tables of experiments
    "all": "shown .*_perceptron",
    "top": "shown .*_top",
    "games": "shown tables_fixed_items",
    "ads": "shown tables_ads",
}
CHANGES = [  # of a setting, and the jobs whose digests change: no other do
    # Tables and figures of runs know which streams are drawn, and from which seed.
    (
        ("seed",),
        3,
        "(stream|ads_log|run|best_weights) .*|shown (tables|figures_(perceptron|top)).*",
    ),
    (("figures",), {"width": "column"}, "shown figures.*"),
    (("datasets", "mine", "features"), 3, "dataset .*"),
    (("streams", "sim", "title"), "Sim", f"{SHOWN['all']}|{SHOWN['top']}"),
    (
        ("streams", "sim", "settings"),
        {"queries": 9},
        f"stream sim|(run|best_weights) .*/sim/.*|{SHOWN['all']}|{SHOWN['top']}",
    ),
    (("logs", "hotel", "train_rows"), 99, "ads_log hotel|run ads/.*"),
    (("games", "flip", "settings"), {"items": 5}, "run games/.*"),
    (("learners", "slam", "rates"), [0.2, 1.0], "run all/.*/slam/.*"),
    (("experiments", "all", "tuning"), "paper", SHOWN["all"]),
    (("experiments", "all", "seeds"), [2, 1], ""),
    (("experiments", "all", "learners"), ["slam", "listnet", "random"], SHOWN["all"]),
    (("experiments", "ads", "level"), 0.9, f"run ads/.*|{SHOWN['ads']}"),
]


@pytest.mark.parametrize(
    ("keys", "value", "redone"), CHANGES, ids=[".".join(keys) for keys, *_ in CHANGES]
)
def test_a_setting_redoes_the_jobs_that_depend_on_it_and_no_other(keys, value, redone):
    given = deepcopy(config())
    before = digests(given)
    entry = reduce(getitem, keys[:-1], given)
    entry[keys[-1]] = value
    after = digests(given)
    result = {name for name in before if after.get(name) != before[name]}
    assert result == {name for name in before if re.fullmatch(redone, name)}
