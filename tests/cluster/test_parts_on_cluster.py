"""The parts of a log as jobs of a real Slurm: what one process gives."""

import sys
from pathlib import Path

import pytest
from projects import ROOT

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))
from test_parts import Folder

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


def test_parts_are_jobs_of_a_cluster(slurm, tmp_path):
    folder = Folder(tmp_path, **slurm.variables)
    waits = ("--slurm-init-seconds-before-status-checks", 2, "--latency-wait", 5)
    site = ("--default-resources", "slurm_account=science", "slurm_partition=main")
    printed = folder.workflow("--workflow-profile", ROOT / "profiles/slurm", *waits, *site)
    folder.check()
    names = slurm("sacct", "--noheader", "--allocations", "--format=State,Comment%60").splitlines()
    assert printed.count("has been submitted") >= 5, "a job for the policy, each part, and all together"
    assert len(names) >= 5 and all(row.split()[0] == "COMPLETED" for row in names)
