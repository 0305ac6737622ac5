"""Studies of a copy of the project, and one that is restored before each test."""

import shutil
from pathlib import Path

import pytest
from projects import LEAVE, Project


class Finished(Project):
    """A project whose tiny study has run, on two cores; `restore` brings that state back.

    Compiled code is cached by the path of its source, so tests that run learners share this one folder.
    """

    def __init__(self, folder: Path):
        super().__init__(folder / "project")
        self.printed = self.snakemake("--cores", 2)
        self.reference = self.digests()
        self.saved = folder / "saved"
        shutil.copytree(self.folder, self.saved, ignore=LEAVE)

    def forget(self) -> None:
        """Remove all results, and all that Snakemake knows of them."""
        for part in ("results", ".snakemake"):
            shutil.rmtree(self.folder / part, ignore_errors=True)

    def restore(self) -> None:
        """Bring back every file as it was when the study had run, its time included."""
        self.forget()
        shutil.copytree(self.saved, self.folder, dirs_exist_ok=True)


@pytest.fixture
def project(tmp_path):
    """A copy of the project that has not run."""
    return Project(tmp_path / "project")


@pytest.fixture(scope="session")
def bare(tmp_path_factory):
    """A copy of the project that has not run, for tests that change nothing in it."""
    return Project(tmp_path_factory.mktemp("bare") / "project")


@pytest.fixture(scope="session")
def _finished(tmp_path_factory):
    return Finished(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def finished(_finished):
    """The project after its tiny study, restored before each test."""
    _finished.restore()
    return _finished


@pytest.fixture(scope="session")
def tiny(_finished):
    """The folder of the tiny study's results, to be read only."""
    return _finished.saved / "results" / "tiny"
