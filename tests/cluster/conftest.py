"""A real Slurm on this machine, and a copy of the project to run on it.

The tests are skipped, and say so, where Slurm's daemons cannot be started; with SCANT_SLURM set
they are never skipped.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from projects import Forked

HERE = Path(__file__).parent
# What is made: of each family a figure and a table, by a job of each rule that a cluster runs many
# of.
ASKED = [
    f"results/cluster/{file}"
    for file in (
        "figures/figure-2.2.svg",
        "figures/figure-5.2.svg",
        "tables/finals.csv",
        "tables/ads.csv",
    )
]
NEEDED = ("munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd")


def missing() -> str:
    """Why Slurm cannot be started here; empty if it can."""
    if os.geteuid() != 0:
        return "only root can start the daemons of Slurm"
    absent = [name for name in NEEDED if shutil.which(name) is None]
    return f"there is no {', '.join(absent)}: see tests/cluster/slurm.sh install" if absent else ""


class Slurm:
    """A Slurm of four nodes with one CPU each."""

    def __init__(self, folder: Path):
        self.folder = folder
        path = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        self.variables = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": ":".join(path)}

    def script(self, *arguments):
        subprocess.run(["bash", HERE / "slurm.sh", *arguments], check=True, timeout=120)

    def __call__(self, *command) -> str:
        """What one of Slurm's own commands prints."""
        done = subprocess.run(
            list(map(str, command)),
            env=os.environ | self.variables,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def jobs(self, *states) -> list[str]:
        """The numbers of the jobs in these states, as Slurm names them; else of unfinished ones."""
        chosen = ["--states", ",".join(states)] if states else []
        return self("squeue", "--noheader", "--format=%i", *chosen).split()


class Study(Forked):
    """The small study in a copy of the project of its own, and how to run it on the cluster."""

    def __init__(self, folder: Path, slurm: Slurm):
        super().__init__(folder)
        self.slurm, self.process = slurm, None
        shutil.copy2(HERE / "troubled.py", folder)
        shutil.copy2(HERE / "study.yaml", folder / "config/studies/cluster.yaml")
        (folder / "trouble").mkdir()

    def environment(self, **variables) -> dict:
        return super().environment(**self.slurm.variables | variables)

    def forget(self) -> None:
        """Remove all results, and all that Snakemake knows of them."""
        for part in ("results", ".snakemake"):
            shutil.rmtree(self.folder / part, ignore_errors=True)

    def profile(self, *targets) -> list:
        """Arguments to run with the profile, for some targets or all that are asked for."""
        waits = ["--slurm-init-seconds-before-status-checks", 2, "--latency-wait", 5]
        site = ["--default-resources", "slurm_account=science", "slurm_partition=main"]
        return [*(targets or ASKED), "--workflow-profile", "slurm", *waits, *site]

    def start(self, *arguments) -> subprocess.Popen:
        """Snakemake in the background; what it prints goes to the file `printed`."""
        with open(self.folder / "printed", "w") as printed:
            self.process = subprocess.Popen(
                self.command(*arguments, study="cluster"),
                cwd=self.folder,
                env=self.environment(),
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.process

    def kill(self) -> None:
        """End Snakemake at once if it still runs; its jobs are not its children, and go on."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def printed(self) -> str:
        return (self.folder / "printed").read_text()

    def check(self, *files) -> None:
        """That these files are there, with what else is there, all as in the reference."""
        digests = self.digests("cluster")
        assert {str(Path(file).relative_to("results/cluster")) for file in files} <= digests.keys()
        assert digests.items() <= self.reference.items()

    def trouble(self, name, megabytes=1) -> Path:
        """Get the jobs of the learner `name` into trouble; remove the file to end it."""
        file = self.folder / "trouble" / name
        file.write_text(str(megabytes))
        return file

    def place(self, name) -> tuple[str, str]:
        """The Slurm job and the node of a learner in trouble, as soon as it is."""
        file = self.folder / "trouble" / f"{name}.at"
        self.wait(lambda: file.exists() and file.read_text())
        job, node = file.read_text().split()
        return job, node

    def wait(self, ready, seconds=600) -> None:
        """Wait until `ready` says so."""
        deadline = time.monotonic() + seconds
        while not ready():
            assert time.monotonic() < deadline, self.printed()
            time.sleep(0.2)


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    why = missing()
    if why and "SCANT_SLURM" not in os.environ:
        pytest.skip(why)
    slurm = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        slurm.script("up", slurm.folder)
        yield slurm
    finally:
        slurm.script("down", slurm.folder)


@pytest.fixture(scope="session")
def _study(slurm, tmp_path_factory):
    """The study after a run on this machine, whose digests are the `reference`."""
    study = Study(tmp_path_factory.mktemp("cluster") / "project", slurm)
    study.snakemake(*ASKED, "--cores", 2, study="cluster")
    study.reference = study.digests("cluster")
    return study


@pytest.fixture
def study(_study, slurm):
    """The study with no results, and a cluster with nothing to do."""
    _study.forget()
    yield _study
    _study.kill()
    slurm("scancel", "--user", "root")
    _study.wait(lambda: not slurm.jobs())
    for file in (_study.folder / "trouble").iterdir():
        file.unlink()
