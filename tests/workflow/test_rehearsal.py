"""The papers' study, thin, on stand-ins for its data sets: first without Yandex's, then with it."""

import importlib.util
import re

import pytest
from projects import ROOT

from scant.files import read_rows

YANDEX = "yandex-imat2009"


@pytest.fixture(scope="module")
def rehearsal():
    """The module benchmarks/rehearsal.py."""
    spec = importlib.util.spec_from_file_location("rehearsal", ROOT / "benchmarks/rehearsal.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stand_ins_are_read_as_their_sets_are(tmp_path, rehearsal):
    """Every oddity is there; a ranking set's tables are as the registry says."""
    rehearsal.make(tmp_path, 0.002)
    train = (tmp_path / f"data/{YANDEX}/imat2009_learning.txt").read_text()
    assert re.search(r"^2\.33333 ", train, re.MULTILINE) and re.search(
        r" # \d+$", train, re.MULTILINE
    )
    folds = tmp_path / "data/mslr-web10k"
    assert (folds / "Fold1/test.txt").read_bytes() == (folds / "Fold2/vali.txt").read_bytes()
    assert (folds / "Fold1/vali.txt").read_bytes() == (folds / "Fold5/test.txt").read_bytes()


@pytest.mark.slow
def test_the_papers_study_goes_through_without_a_set_and_then_with_it(project, rehearsal):
    rehearsal.make(project.folder, 0.003)
    left, waiting = project.folder / "data" / YANDEX, project.folder / "waiting"
    left.rename(waiting)
    printed = project.snakemake("--cores", 2, study="./paper.yaml", timeout=3000)
    assert printed.count(f"({YANDEX}) is missing") == 1
    assert f"no {YANDEX}/imat2009_learning.txt" in printed
    results = project.folder / "results/paper"
    assert "Yandex Internet Mathematics 2009" in (results / "report.html").read_text()
    verdicts = {row["id"]: row for row in read_rows(results / "claims.csv")[1]}
    assert (
        "missing here: Yandex Internet Mathematics 2009"
        in verdicts["top-kl-like-squared-yandex"]["data"]
    )
    assert not list(results.glob("runs/*/yandex*"))
    original = project.folder / "results/data/original/mslr-web10k"
    assert all(path.is_symlink() for path in original.glob("*.txt"))
    assert len(list(original.iterdir())) >= 5
    played = {path: path.stat().st_mtime_ns for path in results.glob("runs/**/*.parquet")}

    waiting.rename(left)
    project.snakemake("--cores", 2, study="./paper.yaml", timeout=3000)
    assert {path: path.stat().st_mtime_ns for path in played} == played  # nothing is played anew
    assert list(results.glob("runs/top-yandex/yandex/*/*.parquet"))
    verdicts = {row["id"]: row for row in read_rows(results / "claims.csv")[1]}
    assert "missing here" not in verdicts["top-kl-like-squared-yandex"]["data"]
    assert project.jobs(study="./paper.yaml") == {}
