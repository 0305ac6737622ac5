"""Results from Python: what `scant.results` reads is what the files hold, and what is wrong is named."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_show import CELL, ROWS

import scant
from scant.compare import export, manifest
from scant.errors import DataError, SettingError
from scant.files import write_parquet
from scant.learning.families import TUNING

MADE = {"date": "2000-01-01T00:00:00+00:00", "commit": None, "clean": None, "lock": None}


@pytest.fixture
def folder(tmp_path):
    for name in ("tables", "figures"):
        (tmp_path / name).mkdir()
    (tmp_path / "tables/finals.csv").write_text("learner,mean\nslam,0.5\n")
    (tmp_path / "figures/figure-2.1.csv").write_text("round,mean\n1,0.5\n")
    pd.DataFrame([CELL | {"claim": "c"}]).to_csv(tmp_path / "claims-readings.csv", index=False)
    (tmp_path / "manifest.json").write_text(
        json.dumps({"study": "s", "made": MADE} | {name: {} for name in ("files", *manifest.SECTIONS)})
    )
    write_parquet(pa.Table.from_pylist([ROWS[0] | {"id": "c"}]), tmp_path / "claims.parquet", {})
    streams, learners = {"a": {"generator": "linear"}}, {"slam": {"kind": "slam"}}
    study = {"study": "s", "streams": streams, "learners": learners}  # which has `e` no more
    study["experiments"] = {"d": {"streams": ["a"], "learners": ["slam"]}}
    (tmp_path / "study.json").write_text(json.dumps(study))
    for learner in ("slam", "listnet"):
        for seed in (0, 1):
            rows = pa.table({"seed": [seed], "rate": [0.1], "theory": [0], "round": [9], "ndcg@10": [0.25 + seed]})
            about = {"kind": "perceptron", "experiment": "e", "stream": "a", "learner": learner}
            path = tmp_path / f"runs/e/a/{learner}/seed-{seed}.parquet"
            write_parquet(rows, path, about)
    return tmp_path


def test_frames_are_those_of_the_files(folder):
    results = scant.results(folder)
    assert results.claims.loc["c", "verdict"] == "holds" and results.manifest["study"] == "s"
    assert results.finals.equals(pd.DataFrame({"learner": ["slam"], "mean": [0.5]}))
    assert (results.tables, results.figures, results.experiments) == (["finals"], ["figure-2.1"], ["e"])
    assert results.figure("figure-2.1")["mean"].tolist() == [0.5] and results.readings["claim"].tolist() == ["c"]


def test_runs_of_an_experiment_can_be_told_apart(folder):
    results = scant.results(folder)
    assert results.runs("e").groupby("learner")["ndcg@10"].sum().to_dict() == {"slam": 1.5, "listnet": 1.5}
    rows = results.runs("e", stream="a", learner="slam")
    assert rows["seed"].tolist() == [0, 1] and set(rows["stream"]) == {"a"} and set(rows["experiment"]) == {"e"}


def test_the_long_table_has_a_row_for_each_number(folder, tmp_path_factory):
    rows = scant.results(folder).long("e")
    assert [*rows] == export.COLUMNS
    assert set(rows["measure"]) == {"ndcg@10"} and set(rows["timestamp"]) == {946_684_800_000}
    assert rows.set_index("run_id")["value"].to_dict() == {
        f"e/a/{learner}[rate=0.1]/{seed}": 0.25 + seed for learner in ("slam", "listnet") for seed in (0, 1)
    }
    path = tmp_path_factory.mktemp("elsewhere") / "rows.parquet"
    scant.results(folder).export(path)
    kept = pd.read_parquet(path)
    assert pq.read_metadata(path).metadata, "without which benchopt reads no file"
    pd.testing.assert_frame_equal(kept[[*rows]], rows.astype(kept[[*rows]].dtypes))
    first = kept.iloc[0]
    assert (first["key"], first["objective_name"], first["data_name"]) == ("ndcg:10", "ndcg@10", "e/a")
    assert (first["solver_name"], first["stop_val"], first["objective_value"]) == ("listnet[rate=0.1]", 9, 0.25)


def test_the_long_table_tells_all_rows_of_a_run_apart():
    """Rows of ads differ in settings and bounds. Tuning seeds and missing numbers are left out."""
    ads = {"experiment": "e", "stream": "log", "learner": "l", "seed": 0, "lambda": [0.5, 0.5, 2.0], "estimate": 0.25}
    bounds = {"bound": ["", "t", "t"], "lower": [np.nan, 0.125, 0.125], "exact": True}
    rows = export.long(pd.DataFrame(ads | bounds), MADE["date"])
    assert not rows.duplicated(["run_id", "measure", "step"]).any() and len(rows) == 5
    assert set(rows["settings"]) == {"lambda=0.5", "lambda=0.5, bound=t", "lambda=2, bound=t"}
    runs = {"experiment": "e", "stream": "s", "learner": "l", "seed": [0, TUNING], "round": 7, "bound": 3.0}
    rows = export.long(pd.DataFrame(runs | {"tuning_seed": [False, True]}), MADE["date"])
    assert rows[["seed", "step", "measure", "value"]].to_numpy().tolist() == [[0, 7, "bound", 3.0]]


def test_an_export_leaves_no_half_file_and_replaces_nothing_of_the_study(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("elsewhere") / "rows.parquet"
    with pytest.raises(SettingError, match="is an input"):
        scant.results(folder).export(folder / "rows.parquet")
    (folder / "runs/e/a/slam/seed-0.parquet").write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"slam/seed-0\.parquet"):
        scant.results(folder).export(path)
    assert [*path.parent.iterdir()] == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda results: results.runs("f"), "unknown experiment 'f'"),
        (lambda results: results.runs("e", stream="b"), "unknown stream 'b'"),
        (lambda results: results.runs("e", learner="slan"), "slam"),
        (lambda results: results.table("final"), "finals"),
        (lambda results: results.figure("figure-2.2"), "figure-2.1"),
        (lambda results: results.traces("e"), "unknown experiment 'e': Known: d"),
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
