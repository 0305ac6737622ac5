"""A log in a folder as a workflow, a job for each part: what `scant ads evaluate` of the folder gives."""

import os
import subprocess
import sys

import pytest
from projects import ROOT

pytestmark = pytest.mark.slow
SIMULATE = ("ads", "simulate", "hotel", "--settings", '{"dimensions": 6}')


class Folder:
    """A folder with a training log and a log in three parts, and the workflow on them."""

    def __init__(self, folder, **variables):
        self.folder = folder
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SCANT_", "SNAKEMAKE_"))}
        self.environment = kept | {"PYTHONPATH": str(ROOT / "src")} | variables
        self.run("scant", *SIMULATE, "--policy", "uniform", "--rows", 3000, "--parts", 3, "--output", "log")
        self.run("scant", *SIMULATE, "--policy", "targeted", "--rows", 2000, "--seed", 1, "--output", "train.parquet")

    def run(self, module, *arguments, ok=True) -> str:
        done = subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)], cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    def workflow(self, *arguments, ok=True, **settings) -> str:
        asked = {"log": "log", "train": "train.parquet", "policies": "logistic", "fitting": "--steps 1000"} | settings
        asked = [f"{key}={value}" for key, value in asked.items() if value]
        return self.run("snakemake", "-s", ROOT / "workflow/parts/Snakefile", *arguments, "--config", *asked, ok=ok)

    def check(self) -> None:
        """That the results of the workflow are those of one process."""
        evaluate = ("ads", "evaluate", "log", "--train", "train.parquet", "--policy", "logistic", "--steps", 1000)
        self.run("scant", *evaluate, "--output", "one.json")
        found = (self.folder / "parts/evaluation.json").read_bytes()
        assert found == (self.folder / "one.json").read_bytes() and b"logistic" in found


def test_the_workflow_gives_what_one_process_gives(tmp_path):
    folder = Folder(tmp_path)
    folder.workflow("--cores", 1)
    folder.check()
    assert "Nothing to be done" in folder.workflow("--cores", 1)
    result = tmp_path / "parts/parts/part-00001.parquet"
    result.write_bytes(result.read_bytes()[:-100])  # as if a disk had been full
    assert "part-00001.parquet: not a result" in folder.workflow("--cores", 1, "--show-failed-logs", ok=False)
    result.unlink()
    printed = folder.workflow("--cores", 1)
    assert printed.count("rule part:") == 1
    folder.check()
    for settings, message in (
        ({"policies": ""}, "say --config policies="),
        ({"log": "nowhere"}, "nowhere: cannot be read (No such file or directory)"),
        ({"train": ""}, "logistic is learnt from a log: say --config train="),
    ):
        assert message in folder.workflow("--cores", 1, ok=False, **settings)


def test_the_workflow_is_formatted():
    command = [sys.executable, "-m", "snakefmt.snakefmt", "--check", "workflow/parts/Snakefile"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, timeout=100, check=False).returncode == 0
