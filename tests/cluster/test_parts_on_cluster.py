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
    finished = ("sacct", "--noheader", "--allocations", "--format=JobID,State")
    before = {*slurm(*finished).splitlines()}
    printed = folder.workflow("--workflow-profile", ROOT / "profiles/slurm", *waits, *site)
    folder.check()
    states = [row.split()[1] for row in slurm(*finished).splitlines() if row not in before]
    assert len(states) == printed.count("has been submitted") == 5, "the policy, each part, and all together"
    assert {*states} == {"COMPLETED"}
