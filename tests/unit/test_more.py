"""`scant more`: which seeds would decide which claims, what they cost, and the study file that asks for them."""

import json
import math
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from test_show import CELL, ROWS

from scant.cli import main
from scant.errors import DataError, SettingError
from scant.files import write_parquet
from scant.page import status
from scant.schema import read_yaml
from scant.study import settings as studies
from scant.study.plan import Plan, spanned
from scant.verdict.more import describe, more, study_with

ROOT = Path(__file__).parents[2]
STUDY = """\
study: s  # the id
streams:
  drawn: {generator: linear, settings: {queries: 5}}
  same: {generator: linear, settings: {queries: 5}, shared: true}
games:
  flip: {stream: flip, loss: dcg}
learners:
  slam: {kind: slam, rates: [0.1, 1.0]}
  random: {kind: random}
  ftpl: {kind: ftpl}
experiments:
  online: &online
    streams: [drawn, same]
    learners: [slam, random]
    seeds: 8  # as many as a batch, with those that tune
    batch: 10
    tuning_seeds: 2
  like-it: {<<: *online, streams: [same]}
  games:
    kind: fixed-items
    games: [flip]
    learners: [ftpl]
    rounds: 100
    sweep: [{rounds: [200]}]
"""
CLAIM = ROWS[1] | {"verdict": "undecided", "experiment": "games", "needed": 25.0, "n": 10}
# Undecided: of games, of a variant that its sweep adds, of runs on streams; one that compares two experiments.
CLAIMS = {
    "games-a": CLAIM,
    "games-b": CLAIM | {"experiment": "games+rounds-200", "needed": 40.0},
    "online-a": CLAIM | {"experiment": "online", "needed": 12.0, "n": 8},
    "two": CLAIM | {"experiment": "online", "needed": 20.0, "n": 8},
    "never": CLAIM | {"needed": math.inf},
    "unknown": CLAIM | {"needed": math.nan, "n": 1},
    "too-many": CLAIM | {"needed": 2e6},
    "bounds": CLAIM | {"experiment": ""},  # judged on the study of bounds, which has no seeds to add
    "decided": CLAIM | {"verdict": "holds", "needed": math.nan},
}
READINGS = [("two", True, "slam (like-it)"), ("two", False, "slam (games)"), ("online-a", True, "random")]


def benchmark(folder, job, seconds, **more):
    path = folder / "benchmarks" / f"{job}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"s": 99.0}) + "\n" + json.dumps({"s": seconds, "cpu_time": "NA"} | more) + "\n")


def state(folder, claims):
    table = pd.DataFrame([claim | {"id": name} for name, claim in claims.items()])
    write_parquet(pa.Table.from_pandas(table, preserve_index=False), folder / "claims.parquet", {})


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """A finished study: a run takes half a second, and a tenth for each seed; a seed is drawn in 0.3 s."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(STUDY)
    for name in ("config/datasets.yaml", "workflow/schemas/datasets.schema.yaml"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    folder = tmp_path / "results/s"
    plan = Plan(*studies.load(read_yaml("s.yaml")))
    for path, job in plan.runs.items():
        benchmark(folder, f"run/{path}", 0.5 + 0.1 * len(job.seeds))
    for place, spans in plan.draws.items():
        for seeds in spans:
            benchmark(folder, f"simulate/{Path(place).name}/{seeds}", 0.3 * len(spanned(seeds)))
    state(folder, CLAIMS)
    readings = [CELL | dict(zip(("claim", "first", "against"), reading, strict=True)) for reading in READINGS]
    pd.DataFrame(readings).to_csv(folder / "claims-readings.csv", index=False)
    return folder


def test_steps_are_in_order_of_what_a_claim_costs(finished):
    found = more(finished, "s.yaml")
    steps = [(step.seeds, step.claims, round(step.seconds, 6)) for step in found.steps]
    # Two jobs of games, in batches of five: of the experiment and of the one that its sweep adds.
    games = [({"games": (10, 25)}, 15), ({"games": (25, 40)}, 15)]
    batch, seed = 2 * 0.5, 2 * 0.1
    costs = [3 * batch + count * seed for _, count in games]
    # Four runs, one batch; and each seed draws a stream. `two` compares with an experiment of two runs, whose stream
    # is the same for all seeds.
    online = 4 * 0.5 + 4 * (4 * 0.1 + 0.3)
    two = 4 * 0.5 + 8 * (4 * 0.1 + 0.3) + 2 * (2 * 0.5) + 12 * 2 * 0.1
    assert steps == [
        ({"online": (8, 12)}, ("online-a",), pytest.approx(online)),
        (games[0][0], ("games-a",), pytest.approx(costs[0])),
        (games[1][0], ("games-b",), pytest.approx(costs[1])),
        ({"online": (12, 20), "like-it": (8, 20)}, ("two",), pytest.approx(two)),
    ]
    assert found.never == ["never", "unknown", "too-many", "bounds"] and found.beyond == []
    assert found.seconds == pytest.approx(online + sum(costs) + two)
    assert found.seeds == {"online": (8, 20), "games": (10, 40), "like-it": (8, 20)}


def test_seeds_that_decide_several_claims_are_one_step(finished):
    state(finished, {name: CLAIM | {"needed": needed} for name, needed in (("a", 25.0), ("b", 24.5), ("c", 24.0))})
    steps = more(finished, "s.yaml").steps
    assert [(step.seeds, step.claims) for step in steps] == [({"games": (10, 25)}, ("a", "b", "c"))]


@pytest.mark.parametrize(
    ("seconds", "processor", "counted"), [(9.0, 2.0, 2.5), (2.1, 2.0, 2.1), (14.0, 0, 0.5), (90.0, 20.0, 50.0)]
)
def test_a_job_costs_what_it_took_of_a_core_that_it_shared(finished, seconds, processor, counted):
    for path in (finished / "benchmarks/run").glob("games*/flip/*.jsonl"):
        benchmark(finished, path.relative_to(finished / "benchmarks").with_suffix(""), seconds, cpu_time=processor)
    state(finished, {"a": CLAIM | {"needed": 15.0}})
    assert more(finished, "s.yaml").seconds == pytest.approx(2 * (0.5 + 5 * (counted - 0.5) / 5))


def test_a_claim_with_failed_runs_needs_more_seeds_than_there_are(finished):
    state(finished, {"a": CLAIM | {"needed": 9.0, "n": 6}})
    assert more(finished, "s.yaml").seeds == {"games": (10, 13)}


@pytest.mark.parametrize("within", ["nan", "-1", "0", "inf"])
def test_seconds_are_a_number_above_0(tmp_path, capsys, within):
    assert main(["more", str(tmp_path), "--study-file", "s.yaml", f"--within={within}"]) == 1
    assert capsys.readouterr().err == f"scant: --within: {within} is no number of seconds above 0\n"


def test_only_what_fits_is_taken(finished):
    everything = more(finished, "s.yaml")
    some = more(finished, "s.yaml", within=everything.steps[0].seconds + everything.steps[1].seconds + 1e-6)
    assert some.steps == everything.steps[:2] and some.beyond == ["games-b", "two"]
    nothing = more(finished, "s.yaml", within=0.1)
    assert nothing.steps == [] and len(nothing.beyond) == 4
    assert "More than 0 s in all:\n    games-a, games-b, online-a, two" in describe(nothing, 0.1)


def test_what_is_written_plays_new_seeds_alone(finished):
    found = more(finished, "s.yaml")
    text = study_with("s.yaml", found)
    wanted = yaml.safe_load(STUDY)
    for name, seeds in {"online": [8, 12], "like-it": [8, 12], "games": [10, 30]}.items():
        wanted["experiments"][name] = wanted["experiments"][name] | {"seeds": seeds}
    assert yaml.safe_load(text) == wanted
    before, after = (Plan(*studies.load(yaml.safe_load(one))) for one in (STUDY, text))
    for name, jobs in before.jobs.items():
        there = {job.path: job for job in after.jobs[name]}
        assert all(there[job.path] == job for job in jobs)


def test_the_command_says_what_to_do(finished, tmp_path, capsys):
    (tmp_path / ".snakemake/scant").mkdir(parents=True)
    (tmp_path / ".snakemake/scant/s.file").write_text("s.yaml")
    assert main(["more", "results/s"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Study s: 8 claims are undecided.") and "would decide 4," in text
    assert "4 more seeds of online (8 so far): 4.8 s, 4.8 s for each claim\n    online-a\n" in text
    assert "8 more seeds of online (12 so far) and 12 more seeds of like-it (8 so far)" in text
    assert (
        "no number of seeds would decide:\n    never, unknown, too-many, bounds\n" in text and "--output FILE" in text
    )
    assert main(["more", "results/s", "--within", "5", "--output", "new.yaml"]) == 0
    assert "snakemake --cores all --configfile new.yaml" in capsys.readouterr().out
    new = read_yaml("new.yaml")["experiments"]
    assert (new["online"]["seeds"], new["like-it"]["seeds"]) == ([8, 4], 8)
    state(finished, {"decided": CLAIMS["decided"]})
    assert main(["more", "results/s", "--output", "none.yaml"]) == 0
    assert "every claim that can be tested is decided" in capsys.readouterr().out
    assert not (tmp_path / "none.yaml").exists()


@pytest.mark.parametrize("output", ["s.yaml", "results/s/claims.csv", "results/s/new.yaml", "./results/../s.yaml"])
def test_no_file_of_the_study_is_replaced(finished, tmp_path, capsys, output):
    (finished / "claims.csv").write_text("id\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert main(["more", "results/s", "--study-file", "s.yaml", "--output", output]) == 1
    assert "an input" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


def test_a_study_that_is_not_finished_is_refused(finished, capsys):
    path = next((finished / "benchmarks/run/online").rglob("*.jsonl"))
    text = path.read_text()
    path.unlink()
    with pytest.raises(DataError, match=r"has not run\. Finish the study first: snakemake .*--configfile s.yaml"):
        more(finished, "s.yaml")
    path.write_text("{}\n")
    with pytest.raises(DataError, match="not a benchmark of Snakemake"):
        more(finished, "s.yaml")
    path.write_text(text)
    (finished / "claims.parquet").unlink()
    assert main(["more", str(finished), "--study-file", "s.yaml"]) == 1
    assert "there are no claims to decide. Finish the study first" in capsys.readouterr().err


def test_the_settings_of_another_study_are_refused(finished, tmp_path):
    (tmp_path / "other.yaml").write_text(STUDY.replace("study: s ", "study: t "))
    with pytest.raises(SettingError, match=r"is of the study 't'.*--study-file"):
        more(finished, "other.yaml")
    state(finished, {"a": CLAIM | {"experiment": "gone"}})
    with pytest.raises(SettingError, match=r"claim a is judged on the experiment 'gone'.*--study-file"):
        more(finished, "s.yaml")


def test_settings_are_those_of_the_latest_run_or_those_among_the_results(finished):
    with pytest.raises(SettingError, match="name its --study-file"):
        status.study_file(finished)
    copy = finished / "study.json"
    copy.write_text(json.dumps(yaml.safe_load(STUDY)))
    assert status.study_file(finished).samefile(copy)
    text = study_with(copy, more(finished, copy))
    assert text.startswith("study: s\n") and yaml.safe_load(text)["experiments"]["online"]["seeds"] == [8, 12]
