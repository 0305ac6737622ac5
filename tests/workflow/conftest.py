"""Studies of a copy of the project, and one that is restored before each test."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from projects import Finished, Forked


@pytest.fixture
def project(tmp_path):
    """A copy of the project that has not run."""
    return Forked(tmp_path / "project")


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """A copy of the project that has not run, for tests that change nothing in it."""
    return Forked(tmp_path_factory.mktemp("bare") / "project")


@pytest.fixture(scope="session")
def saved(tmp_path_factory, worker_id):
    """A project after its tiny study: SCANT_FINISHED, or one that the first worker runs."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "finished"
    whole = place.with_suffix(".whole")
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            shutil.rmtree(place, ignore_errors=True)
            project = Forked(place)
            if done := os.environ.get("SCANT_FINISHED"):
                for part in ("results/data", "results/tiny", ".snakemake"):
                    shutil.copytree(Path(done, part), place / part)
            project.snakemake("--cores", 2)
            whole.touch()
    return place


@pytest.fixture(scope="session")
def _finished(saved, tmp_path_factory):
    return Finished(tmp_path_factory.mktemp("own"), saved)


@pytest.fixture
def finished(_finished):
    """The project after its tiny study, restored before each test."""
    _finished.restore()
    return _finished


@pytest.fixture(scope="session")
def tiny(saved):
    """The folder of the tiny study's results, to be read only."""
    return saved / "results" / "tiny"
