"""Files that are where others belong are refused, whatever their times say."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from small_studies import shipped
from toys import command, play, settle

from scant.cli import main
from scant.data import stream
from scant.declare.families import Job
from scant.errors import DataError
from scant.files import write_parquet
from scant.study import paths
from scant.study.plan import Plan

RUN = yaml.safe_load(
    "{study: s, experiment: e, stream: a, learner: l, seeds: [0, 1], rounds: 20, rate: 0.5}"
)


def put(folder, path, metadata, **columns):
    """A parquet file with these metadata, at a path below results/s."""
    target = (folder / "results/s" / path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(pa.table(columns or {"x": [1]}), target, metadata)
    return target


RIGHT = {
    "runs/e/a/l/seed-0-1.parquet": RUN,
    **yaml.safe_load("""
runs/e/a/seed-0.parquet: {study: s, experiment: e, stream: a, seeds: [0]}
comparators/e/a/kl/seed-2.parquet: {study: s, experiment: e, stream: a, judge: kl, seeds: [2]}
bandit/digits/0-4/seed-3/train.parquet: {log: digits, seed: 3, part: train}
../data/tables/letor/fold-1.parquet: {dataset: letor, part: fold-1}
../data/tables/mine@s/all.parquet: {dataset: mine, part: all}
"""),
}


@pytest.mark.parametrize("path", RIGHT)
def test_a_file_is_what_its_name_says(tmp_path, path):
    right = RIGHT[path]
    paths.check([put(tmp_path, path, right)])
    for key, value in right.items():
        if key in ("rounds", "rate"):
            continue
        other = [7] if key == "seeds" else 7 if key == "seed" else f"{value}-2"
        with pytest.raises(DataError, match=f"its {key} is .*, not .*--forcerun results/"):
            paths.check([put(tmp_path, path, right | {key: other})])
    with pytest.raises(DataError, match="is null, not"):
        paths.check([put(tmp_path, path, {})])


def test_files_elsewhere_say_nothing_by_their_names(tmp_path):
    write_parquet(pa.table({"x": [1]}), tmp_path / "runs.parquet", {})
    absent = ("none", "results/s/runs/e/a/l/seed-0.parquet")
    paths.check([tmp_path / "runs.parquet", *(tmp_path / name for name in absent)])


def test_every_path_of_a_plan_is_known():
    plan = Plan(*shipped("config/studies/tiny.yaml"))
    for experiment, jobs in plan.jobs.items():
        for job, path in zip(jobs, plan.run_files(experiment), strict=True):
            kind, parts = paths.named(path)
            assert (kind, parts.pop("study"), parts.pop("seeds")) == ("run", "tiny", job.seeds)
            assert parts == job.identity
            inputs = [files for role, files in job.inputs.items() if role != "campaign"]
            assert all(paths.named(file) for files in inputs for file in files)
    for path in plan.comparator_files(plan.jobs):
        assert paths.named(path)[0] == "comparator"


@pytest.mark.parametrize("changes", [{"seed": 1}, {"stream": "b"}])
def test_a_stream_of_another_seed_name_or_setting(tmp_path, changes):
    path, settings = tmp_path / "results/s/streams/a/0-4/seed-0.arrow", {"generator": "linear"}
    made = {"stream": "a", "seed": 0, "settings": settings}
    queries = [(0, np.array([1]), np.ones((1, 2)))]
    stream.write(path, queries, made)
    paths.check([path], settings)
    with pytest.raises(DataError, match="made with other settings"):
        paths.check([path], settings | {"settings": {"queries": 6}})
    stream.write(path, queries, made | changes)
    with pytest.raises(DataError, match=f"its {next(iter(changes))} is"):
        paths.check([path], settings)


def test_a_log_of_another_campaign_or_settings(tmp_path):
    file, made = "bandit/hotel/0/seed-0/test.parquet", {"log": "hotel", "seed": 0, "part": "test"}
    place = {"campaign": "hotel", "settings": {"dimensions": 6}}
    path = put(tmp_path, file, made | place)
    paths.check([path], place | {"train_rows": 10})
    for other in ({"campaign": "ads"}, {"settings": {"dimensions": 7}}):
        with pytest.raises(DataError):
            paths.check([path], place | other)
    put(tmp_path, file, made | {"dataset": "digits", "settings": {"share": 0.7}})
    paths.check([path], {"dataset": "digits"})
    with pytest.raises(DataError, match="other settings"):
        paths.check([path], {"dataset": "digits", "share": 0.5})


def test_runs_of_other_settings_are_refused(tmp_path):
    path = put(tmp_path, "runs/e/a/l/seed-0-1.parquet", RUN)
    job = Job("e/a/l/seed-0-1", {"rounds": 20, "rate": 0.5}, [0, 1], {})
    paths.check([path], jobs={str(path): job})
    for other in ({"rounds": 21}, {"rate": 0.25}):
        with pytest.raises(DataError, match="its run had other settings than this study has"):
            paths.check([path], jobs={str(path): replace(job, settings=job.settings | other)})


@pytest.mark.slow
def test_every_job_of_a_study_refuses_what_is_not_its_own(tmp_path, monkeypatch, capsys):
    """A toy study is played by its rules' commands; then its files are exchanged for others."""
    config = yaml.safe_load("""
study: s
claims: null
streams:
  a: &small {generator: linear, settings: {queries: 12, documents: 4}}
  b: *small
learners: {l: {kind: rtop, surrogate: kl}, r: {kind: rtop, surrogate: squared}}
experiments:
  e: &e
    {kind: top, streams: [a, b], learners: [l, r], seeds: 2, batch: 1, rounds: 10, tuning: paper,
     tuning_seeds: 0, regret: true, figures: [figure-top-regret]}
  f: {<<: *e, rounds: 9}
""")
    monkeypatch.chdir(tmp_path)
    plan = settle(config).plan
    play(plan)
    table = command("show", "tables_top")
    run = command("run", "e", "a", "l", "seed-0", output="again.parquet")

    def refuses(words, path, *others):
        kept = Path(path).read_bytes()
        for other in others:
            shutil.copy(other, path)
            assert main(words) == 1
            assert "is not what its name says" in capsys.readouterr().err
        Path(path).write_bytes(kept)
        assert main(words) == 0

    # each of another seed, learner or judge, stream, or experiment
    runs = plan.run_files("e")
    refuses(table, runs[0], runs[1], runs[2], runs[4], plan.run_files("f")[0])
    best = plan.comparator_files(["e", "f"])
    refuses(table, best[0], best[1], best[2], best[4], best[8])
    draws = sorted({stream for job in plan.jobs["e"] for stream in job.inputs["streams"]})
    refuses(run, *draws)
    other = {"kind": "rtop", "surrogate": "kl", "rates": [0.25]}
    settle(config | {"learners": config["learners"] | {"l": other}})
    assert main(table) == 1
    assert "its run had other settings than this study has" in capsys.readouterr().err
    settle(config | {"streams": config["streams"] | {"a": {"generator": "linear"}}})
    assert main(run) == 1 and "made with other settings" in capsys.readouterr().err
