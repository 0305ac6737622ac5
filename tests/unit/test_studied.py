"""Results from Python: `scant.results` reads what the files hold, and names what is wrong."""

import json
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pytest
from test_show import CELL, ROWS

import scant
from scant.errors import DataError, SettingError
from scant.files import write_parquet
from scant.finished import manifest

MADE = {"date": "2000-01-01T00:00:00+00:00", "commit": None, "clean": None, "lock": None}


@pytest.fixture
def folder(tmp_path):
    for name in ("tables", "figures"):
        (tmp_path / name).mkdir()
    (tmp_path / "tables/finals.csv").write_text("learner,mean\nslam,0.5\n")
    (tmp_path / "figures/figure-2.1.csv").write_text("round,mean\n1,0.5\n")
    pd.DataFrame([CELL | {"claim": "c"}]).to_csv(tmp_path / "claims-readings.csv", index=False)
    (tmp_path / "manifest.json").write_text(
        json.dumps(
            {"study": "s", "made": MADE} | {name: {} for name in manifest.SCHEMA["required"][1:]}
        )
    )
    write_parquet(pa.Table.from_pylist([ROWS[0] | {"id": "c"}]), tmp_path / "claims.parquet", {})
    streams, learners = {"a": {"generator": "linear"}}, {"slam": {"kind": "slam"}}
    study = {"study": "s", "streams": streams, "learners": learners}  # which has `e` no more
    study["experiments"] = {"d": {"streams": ["a"], "learners": ["slam"]}}
    (tmp_path / "study.json").write_text(json.dumps(study))
    for learner in ("slam", "listnet"):
        for seed in (0, 1):
            columns = {"seed": [seed], "rate": [0.1], "theory": [0], "round": [9]}
            columns |= {"ndcg@10": [0.25 + seed]}
            rows = pa.table(columns)
            about = {"kind": "perceptron", "experiment": "e", "stream": "a", "learner": learner}
            path = tmp_path / f"runs/e/a/{learner}/seed-{seed}.parquet"
            write_parquet(rows, path, about)
    return tmp_path


def test_frames_are_those_of_the_files(folder):
    results = scant.results(folder)
    assert results.claims.loc["c", "verdict"] == "holds" and results.manifest["study"] == "s"
    assert results.finals.equals(pd.DataFrame({"learner": ["slam"], "mean": [0.5]}))
    result = (results.tables, results.figures, results.experiments)
    assert result == (["finals"], ["figure-2.1"], ["e"])
    assert results.figure("figure-2.1")["mean"].tolist() == [0.5]
    assert results.readings["claim"].tolist() == ["c"]


def test_runs_of_an_experiment_can_be_told_apart(folder):
    results = scant.results(folder)
    result = results.runs("e").groupby("learner")["ndcg@10"].sum().to_dict()
    assert result == {"slam": 1.5, "listnet": 1.5}
    rows = results.runs("e", stream="a", learner="slam")
    assert rows["seed"].tolist() == [0, 1] and set(rows["stream"]) == {"a"}
    assert set(rows["experiment"]) == {"e"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda results: results.runs("f"), "unknown experiment 'f'"),
        (lambda results: results.runs("e", learner="slan"), "slam"),
        (lambda results: results.table("final"), "finals"),
        (lambda results: results.figure("figure-2.2"), "figure-2.1"),
    ],
)
def test_what_is_not_there_is_named(folder, call, message):
    with pytest.raises(SettingError, match=message):
        call(scant.results(folder))


def test_a_folder_or_file_that_is_not_there_is_named(folder):
    with pytest.raises(DataError, match="nowhere"):
        scant.results(folder / "nowhere")
    (folder / "claims.parquet").unlink()
    with pytest.raises(DataError, match=r"claims\.parquet"):
        _ = scant.results(folder).claims


def test_importing_the_package_imports_no_pandas():
    code = "import scant, sys; assert scant.results; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
