"""The family of ads: it plans, plays and shows them, and all that it names is there.

Digests of its plans: test_plan_digests.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from scant.ads import family as ads
from scant.ads import quantities
from scant.ads import run as runs
from scant.ads.family import Ads
from scant.bandits import policies, scorers
from scant.bandits.learners import KINDS
from scant.data import logs
from scant.declare.declarations import called
from scant.study.plan import OPEN
from scant_ads.reading import formats

ROOT = Path(__file__).parents[2]
FAMILY = Ads()
EXAMPLES = ROOT / "examples/logs"
STUDY = {
    "study": "s",
    "seed": 3,
    "coverage": None,
    "logs": {
        "drawn": {"campaign": "hotel", "settings": {}},
        "made": {"dataset": "letter"},
        "logged": {"dataset": "clicks", "train": "a", "test": "b"},
    },
    "learners": {kind: {"kind": kind} for kind in KINDS},
}
DATASETS = {
    "letter": SimpleNamespace(id="letter", stored="letter", task="classification", cover=("all",)),
    "clicks": SimpleNamespace(
        id="clicks",
        stored="clicks@s",
        task="ads",
        cover=("a", "b"),
        part=lambda name: {"a": 1, "b": 2}[name],
    ),
}
EXPERIMENT = {
    "kind": "ads",
    "logs": ["drawn"],
    "learners": ["logistic", "uniform"],
    "seeds": 3,
    "batch": 2,
    "figures": [],
    "baseline": None,
} | {setting.name: setting.rule["default"] for setting in FAMILY.settings}


def with_experiment(**changes):
    return STUDY | {"experiments": {"e": EXPERIMENT | changes}}


def drawn_files(log, *parts, seeds=(0,)):
    """Those of a log, before it is planned which job draws them."""
    return [
        f"results/s/bandit/{log}/{OPEN}/seed-{seed}/{part}.parquet"
        for part in parts
        for seed in seeds
    ]


# --- planning


def test_a_seed_draws_something_anew_unless_logs_and_learner_are_fixed():
    def drawn(log, learner, study=STUDY, **changes):
        return FAMILY.drawn_anew(study, DATASETS, EXPERIMENT | changes, log, learner)

    assert all(drawn(log, learner) for log in ("drawn", "made") for learner in KINDS)
    on_log = {learner: drawn("logged", learner) for learner in KINDS}
    controls = dict.fromkeys(("uniform", "logging", "oracle"), False)
    assert on_log == dict.fromkeys(KINDS, True) | controls
    # Without a lambda to choose on a part of the log, those that draw nothing else are the same for
    # all seeds.
    on_log = {learner: drawn("logged", learner, tuning="paper", undersample=2) for learner in KINDS}
    assert on_log == dict.fromkeys(KINDS, True) | controls | {
        "cost-sensitive-oaa": False,
        "filter-tree": False,
    }
    single = STUDY | {"learners": {"filter-tree": {"kind": "filter-tree", "lambdas": [0.1]}}}
    assert not drawn("logged", "filter-tree", single)


def test_jobs_have_a_batch_of_seeds_of_one_learner_on_one_log():
    study = with_experiment(logs=["drawn", "made", "logged"])
    jobs = FAMILY.jobs(study, DATASETS, "e")
    learnt = [(learner, seeds) for learner in ("logistic", "uniform") for seeds in ("0-1", "2")]
    assert [job.path for job in jobs[:4]] == [f"e/drawn/{one}/seed-{n}" for one, n in learnt]
    settings = jobs[0].settings
    defaults = {one.name: one.rule["default"] for one in FAMILY.settings if one.plays}
    assert {name: settings.pop(name) for name in defaults} == defaults
    assert settings == {
        "study_seed": 3,
        "kind": "ads",
        "log_settings": STUDY["logs"]["drawn"],
        "learner_settings": {"kind": "logistic"},
    }
    inputs = {
        job.path.split("/")[1]: job.inputs for job in jobs if job.path.endswith("logistic/seed-0-1")
    }
    table = "results/data/tables/clicks@s/{}.parquet"
    assert inputs["drawn"] == {
        "train": drawn_files("drawn", "train", seeds=(0, 1)),
        "test": drawn_files("drawn", "test", seeds=(0, 1)),
        "campaign": ["results/s/campaigns/drawn.json"],
    }
    assert inputs["made"]["test"] == drawn_files("made", "test", seeds=(0, 1))
    assert inputs["logged"] == {
        "train": [table.format("a")],
        "test": [table.format("b")],
        "campaign": [],
    }


def test_files_that_logs_are_drawn_from():
    study = with_experiment(logs=["logged", "drawn"])
    assert ads.logs_in_use(study) == ["logged", "drawn"]
    assert ads.drawn_from(study, DATASETS, "drawn") == ["results/s/campaigns/drawn.json"]
    assert ads.drawn_from(study, DATASETS, "made") == ["results/data/tables/letter/all.parquet"]
    for origin, log in (("classification", "made"), ("campaign", "drawn"), ("log", "logged")):
        assert ads.log_origin(study["logs"][log], DATASETS) == origin


def test_what_tables_read():
    plan = SimpleNamespace(
        study=with_experiment(logs=["drawn", "logged", "made"]), datasets=DATASETS
    )
    shown = {one.name: one for one in FAMILY.shown}
    parts = ("train", "test")
    assert FAMILY.read(plan, shown["table-5.1"]) == drawn_files("made", *parts)
    assert FAMILY.read(plan, shown["table-5.2"]) == [
        *drawn_files("drawn", *parts),
        *(f"results/data/tables/clicks@s/{part}.parquet" for part in ("a", "b")),
    ]
    assert FAMILY.read(plan, shown["figure-coverage"]) == []
    plan.study["coverage"] = {"repeats": 10, "rows": [100]}
    assert FAMILY.read(plan, shown["figure-coverage"]) == ["results/s/coverage.parquet"]


# --- settings


def test_readings_that_a_sweep_may_vary_and_who_heeds_them():
    swept = {setting.name for setting in FAMILY.settings if setting.reading}
    some = {setting.name for setting in FAMILY.settings if setting.some}
    names = {"validation", "threshold", "undersample", "undersampled", "standardise", "select"}
    assert swept == some == names
    assert swept == {name for learner in KINDS.values() for name in learner.heeds}
    assert {setting.name: setting.unless for setting in FAMILY.settings if setting.unless} == {
        "validation": {"tuning": "paper"},
        "undersampled": {"undersample": None},
    }
    assert [setting.name for setting in FAMILY.settings if not setting.plays] == ["baseline"]
    rules = {setting.name: setting.rule for setting in FAMILY.settings}
    assert rules["undersampled"]["enum"] == list(scorers.UNDERSAMPLED)
    assert {*rules["threshold"]["enum"]} == {*policies.THRESHOLDS}


# --- running


def test_a_run_is_that_of_the_engine(tmp_path):
    inputs = {}
    for part, name in (("train", "targeted"), ("test", "uniform")):
        logs.write(formats.read_log(EXAMPLES / f"{name}.csv"), tmp_path / f"{part}.parquet")
        inputs[part] = [str(tmp_path / f"{part}.parquet")]
    job = FAMILY.jobs(with_experiment(), DATASETS, "e")[0].settings
    job |= {"study": "s", "experiment": "e", "stream": "drawn", "learner": "tree", "users": 10}
    job["learner_settings"] = {"kind": "forest", "trees": 3}
    called(FAMILY.engine)(job, tmp_path / "run.parquet", [0, 1], inputs)
    runs.run(job, tmp_path / "same.parquet", [0, 1], inputs["train"], inputs["test"])
    assert (tmp_path / "run.parquet").read_bytes() == (tmp_path / "same.parquet").read_bytes()
    metadata = json.loads(pq.read_schema(tmp_path / "run.parquet").metadata[b"scant"])
    identity = {"experiment": "e", "stream": "drawn", "learner": "tree"}
    assert FAMILY.identity(metadata) == identity | {"source": "log", "kind": "forest"}


# --- presenting


@pytest.mark.parametrize(
    ("tuning", "learners", "expected"),
    [
        ("held-out", {"logistic"}, ["held-out", "paper"]),
        ("held-out", {"forest", "uniform"}, ["held-out"]),
        ("held-out", {"forest", "auc-ranker"}, ["held-out", "paper"]),
        ("paper", {"logistic"}, ["paper"]),
    ],
)
def test_lambda_is_chosen_in_two_ways_where_there_is_one(tuning, learners, expected):
    assert FAMILY.tunings(STUDY, {"tuning": tuning}, None, learners) == expected


def test_quantities_worked_by_hand():
    rows = [("true", "", 0.10, np.nan), ("ips", "t", 0.12, 0.08), ("ips", "betting", 0.12, 0.11)]
    frame = pd.DataFrame(rows, columns=["estimator", "bound", "estimate", "lower"])
    frame = frame.assign(
        experiment="e", stream="l", learner="a", kind="forest", epsilon=0.0, seed=0, chosen=True
    )
    frame = frame.assign(**{"lambda": np.nan, "fitted_on": "all"})
    played = SimpleNamespace(traces=frame, tuning="held-out", details={"tuning": "held-out"})
    assert quantities.ctr(played)["value"].tolist() == [0.10]


def test_a_bound_holds_in_as_many_logs_as_were_counted():
    counted = [
        ("t", 20_000, "lower", 3),
        ("betting", 20_000, "lower", 4),
        ("t", 20_000, "two-sided", 1),
        ("t", 500, "lower", 0),
    ]
    rows = pd.DataFrame(counted, columns=["bound", "rows", "side", "covered"])
    rows = rows.assign(campaign="bank", policy="deterministic", repeats=4)
    held = quantities.coverage(rows)
    assert held["value"].tolist() == [1, 1, 1, 0] + [0] * 4
    assert held["seed"].tolist() == [0, 1, 2, 3] * 2
    streams = [f"bank, deterministic, {rows} rows" for rows in ("20,000", "500")]
    assert list(held["stream"].unique()) == streams
    betting = quantities.coverage(rows, bound="betting")
    assert betting["value"].tolist() == [1] * 4 and set(betting["learner"]) == {"betting"}
    assert quantities.coverage(rows, bound="none").empty
    assert quantities.coverage(rows[rows["side"] == "two-sided"])["value"].tolist() == [1, 0, 0, 0]
