"""Studies of a copy of the project, and one that is restored before each test."""

import fcntl
import shutil
from pathlib import Path

import pytest
from projects import LEAVE, Project, digests


class Finished(Project):
    """A project whose tiny study has run; `restore` brings that state back.

    saved : the folder of the project as it was when the study had run, never changed; `reference` are its digests
    """

    def __init__(self, folder: Path, saved: Path):
        super().__init__(folder / "project")
        self.take_compiled(saved)
        self.saved, self.reference = saved, digests(saved / "results" / "tiny")

    def forget(self) -> None:
        """Remove all results, and all that Snakemake knows of them."""
        for part in ("results", ".snakemake"):
            shutil.rmtree(self.folder / part, ignore_errors=True)

    def restore(self) -> None:
        """Bring back every file as it was when the study had run, its time included."""
        self.forget()
        shutil.copytree(self.saved, self.folder, ignore=LEAVE, dirs_exist_ok=True)


@pytest.fixture
def project(tmp_path):
    """A copy of the project that has not run."""
    return Project(tmp_path / "project")


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """A copy of the project that has not run, for tests that change nothing in it."""
    return Project(tmp_path_factory.mktemp("bare") / "project")


@pytest.fixture(scope="session")
def saved(tmp_path_factory, worker_id):
    """The folder of a project after its tiny study, which the first worker that asks for it runs, on two cores."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "finished"
    whole = place.with_suffix(".whole")
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            shutil.rmtree(place, ignore_errors=True)
            Project(place).snakemake("--cores", 2)
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
