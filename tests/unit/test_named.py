"""Files that are where others belong are refused, whatever their times say."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml

from scant.cli import main
from scant.data import stream
from scant.errors import DataError
from scant.files import metadata_of, read_parquet, write_parquet
from scant.present import traces
from scant.study import named, settings
from scant.study.plan import Plan

RUN = {"study": "s", "experiment": "e", "stream": "a", "learner": "l", "seeds": [0, 1], "rounds": 20, "rate": 0.5}


def put(folder, path, metadata, **columns):
    """A parquet file with these metadata, at a path below results/s."""
    target = (folder / "results/s" / path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(pa.table(columns or {"x": [1]}), target, metadata)
    return target


RIGHT = {
    "runs/e/a/l/seed-0-1.parquet": RUN,
    "runs/e/a/seed-0.parquet": {"study": "s", "experiment": "e", "stream": "a", "seeds": [0]},
    "comparators/e/a/kl/seed-2.parquet": {"study": "s", "experiment": "e", "stream": "a", "judge": "kl", "seeds": [2]},
    "traces/e.parquet": {"study": "s", "experiment": "e"},
    "bandit/digits/seed-3/train.parquet": {"log": "digits", "seed": 3, "part": "train"},
    "../data/tables/letor/fold-1.parquet": {"dataset": "letor", "part": "fold-1"},
    "../data/tables/mine@s/all.parquet": {"dataset": "mine", "part": "all"},
}


@pytest.mark.parametrize("path", RIGHT)
def test_a_file_is_what_its_name_says(tmp_path, path):
    right = RIGHT[path]
    named.check([put(tmp_path, path, right)])
    for key, value in right.items():
        if key in ("rounds", "rate"):
            continue
        other = [7] if key == "seeds" else 7 if key == "seed" else f"{value}-2"
        with pytest.raises(DataError, match=f"its {key} is .*, not .*--forcerun results/"):
            named.check([put(tmp_path, path, right | {key: other})])
    with pytest.raises(DataError, match="is null, not"):
        named.check([put(tmp_path, path, {})])


def test_files_elsewhere_say_nothing_by_their_names(tmp_path):
    write_parquet(pa.table({"x": [1]}), tmp_path / "runs.parquet", {})
    named.check([tmp_path / "runs.parquet", tmp_path / "none", tmp_path / "results/s/runs/e/a/l/seed-0.parquet"])


def test_every_path_of_a_plan_is_known():
    plan = Plan(*settings.load(yaml.safe_load(Path("config/studies/tiny.yaml").read_text())))
    for experiment, jobs in plan.jobs.items():
        for job, path in zip(jobs, plan.run_files(experiment), strict=True):
            kind, parts = named.named(path)
            assert (kind, parts.pop("study"), parts.pop("seeds")) == ("run", "tiny", job.seeds)
            assert parts == job.identity
            assert all(named.named(file) for role, files in job.inputs.items() for file in files if role != "campaign")
    for path in plan.comparator_files(plan.played):
        assert named.named(path)[0] == "comparator"


@pytest.mark.parametrize("changes", [{"seed": 1}, {"stream": "b"}])
def test_a_stream_of_another_seed_name_or_setting(tmp_path, changes):
    path = tmp_path / "results/s/streams/a/seed-0.arrow"
    made = {"stream": "a", "seed": 0, "settings": {"generator": "linear", "settings": {"queries": 5}}}
    queries = [(0, np.array([1]), np.ones((1, 2)))]
    stream.write(path, queries, made)
    named.check([path], made["settings"])
    with pytest.raises(DataError, match="made with other settings"):
        named.check([path], {"generator": "linear", "settings": {"queries": 6}})
    stream.write(path, queries, made | changes)
    with pytest.raises(DataError, match=f"its {next(iter(changes))} is"):
        named.check([path], made["settings"])


def test_a_log_of_another_campaign_or_settings(tmp_path):
    made = {"log": "hotel", "seed": 0, "part": "test", "campaign": "hotel", "settings": {"dimensions": 6}}
    place = {"campaign": "hotel", "settings": {"dimensions": 6}, "train_rows": 10}
    path = put(tmp_path, "bandit/hotel/seed-0/test.parquet", made)
    named.check([path], place)
    for other in ({"campaign": "ads"}, {"settings": {"dimensions": 7}}):
        with pytest.raises(DataError):
            named.check([path], place | other)
    shared = made | {"dataset": "digits", "settings": {"share": 0.7}}
    path = put(tmp_path, "bandit/hotel/seed-0/test.parquet", {k: v for k, v in shared.items() if k != "campaign"})
    named.check([path], {"dataset": "digits"})
    with pytest.raises(DataError, match="other settings"):
        named.check([path], {"dataset": "digits", "share": 0.5})


def test_runs_of_other_settings_are_not_gathered(tmp_path):
    label = {"settings": ["rate", "rounds"], "runs": {"a/l": named.digest({"rounds": 20, "rate": 0.5})}}
    named.check_runs([put(tmp_path, "runs/e/a/l/seed-0-1.parquet", RUN)], label)
    for other in ({"rounds": 21}, {"rate": 0.25}):
        with pytest.raises(DataError, match="other settings than this study has"):
            named.check_runs([put(tmp_path, "runs/e/a/l/seed-0-1.parquet", RUN | other)], label)


@pytest.mark.slow
def test_every_job_of_a_study_refuses_what_is_not_its_own(tmp_path, monkeypatch, capsys):
    """A toy study is played by the commands of its rules; then its files are exchanged for others."""
    experiment = {"streams": ["a", "b"], "learners": ["l", "r"], "seeds": 2, "batch": 1, "rounds": 10}
    config = {
        "study": "s", "claims": None,
        "streams": {name: {"generator": "linear", "settings": {"queries": 12, "documents": 4}} for name in "ab"},
        "learners": {"l": {"kind": "slam", "rates": [0.5]}, "r": {"kind": "random"}},
        "experiments": {"e": experiment, "f": experiment | {"rounds": 9}},
    }  # fmt: skip
    plan = Plan(*settings.load(config))
    monkeypatch.chdir(tmp_path)

    def scant(job, target, settings, **inputs):
        files = [word for role, paths in inputs.items() for word in ("--input", role, *paths)]
        return main(["job", job, *files, "--settings", json.dumps(settings), "--output", target])

    def run(job, path):
        identity = {"study": "s"} | {key: value for key, value in job.identity.items() if key != "learner"}
        given = {"engine": plan.families[job.identity["experiment"]].engine, "identity": identity, "seeds": job.seeds}
        given |= {"settings": job.settings, "learners": [{"learner": job.identity["learner"]}]}
        return scant("run", path, given, streams=job.inputs["streams"])

    for jobs in plan.jobs.values():
        for job in jobs:
            for path, seed in zip(job.inputs["streams"], job.seeds, strict=True):
                drawn = {"stream": job.identity["stream"], "settings": job.settings["stream_settings"]}
                assert scant("simulate", path, drawn | {"study_seed": 1, "seeds": [seed]}) == 0
    files = {name: plan.run_files(name) for name in "ef"}
    for name, jobs in plan.jobs.items():
        for job, path in zip(jobs, files[name], strict=True):
            assert run(job, path) == 0

    def gather(name):
        return scant(
            "traces", f"results/s/traces/{name}.parquet", {"details": named.told(plan, name)}, runs=files[name]
        )

    def table(name):
        told = {name: named.digest(named.told(plan, name))}
        given = {"name": "finals", "told": told, "study_seed": 1}
        return scant("table", "t.csv", given, files=[f"results/s/traces/{name}.parquet"])

    assert gather("e") == gather("f") == table("e") == 0
    assert metadata_of(read_parquet("results/s/traces/e.parquet").schema)["experiment"] == "e"
    first = files["e"][0]
    kept = Path(first).read_bytes()
    for other in (*files["e"][1:], files["f"][0]):  # another seed, learner, stream, experiment
        shutil.copy(other, first)
        assert gather("e") == 1 and "is not what its name says" in capsys.readouterr().err
    Path(first).write_bytes(kept)
    assert gather("e") == 0
    shutil.copy("results/s/traces/f.parquet", "results/s/traces/e.parquet")
    assert table("e") == 1 and "its experiment is" in capsys.readouterr().err
    swapped = plan.jobs["e"][0]
    shutil.copy(plan.jobs["e"][1].inputs["streams"][0], swapped.inputs["streams"][0])
    assert run(swapped, "again.parquet") == 1 and "its seed is 1, not 0" in capsys.readouterr().err
    config["learners"]["l"]["rates"] = [0.25]  # a study whose rates have changed, while Snakemake forgot what it made
    plan = Plan(*settings.load(config, Path(__file__).parents[2] / "config/datasets.yaml"))
    assert gather("e") == 1 and "other settings than this study has" in capsys.readouterr().err
    assert table("f") == 1 and "of other settings or seeds" in capsys.readouterr().err


def test_misplaced_traces_are_said_to_be_so(tmp_path):
    columns = {"experiment": pa.array(["f"]).dictionary_encode(), "round": [1]}
    path = put(tmp_path, "elsewhere/e.parquet", {"kind": "fixed-items"}, **columns)
    with pytest.raises(DataError, match="not a whole traces file \\(it is of f\\)"):
        traces.read([path])
