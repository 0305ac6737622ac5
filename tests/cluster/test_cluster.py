"""The study on a real Slurm: the bytes of one machine, also after deaths of jobs and nodes."""

import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.cluster]
TROUBLED = ("cancelled", "crashed", "greedy", "late")
RUNS = {
    name: f"results/cluster/runs/perceptron/digits/{name}/seed-0-1.parquet" for name in TROUBLED
}
SIMULATED = "results/cluster/runs/simulated/linear/listnet/seed-0-1.parquet"
ALONE = ("--group-components", "run=1")  # no job is in a group with others


def test_the_profile_gives_the_bytes_of_a_run_on_one_machine(study):
    printed = study.snakemake(*study.profile(), study="cluster")
    assert study.digests("cluster") == study.reference
    rows = study.slurm(
        "sacct", "--noheader", "--allocations", "--format=JobName%60,Account,State"
    ).splitlines()
    assert len(rows) == len(re.findall("has been submitted", printed)) <= 16, (
        "short jobs share a Slurm job"
    )
    assert {tuple(row.split()[1:]) for row in rows} == {("science", "COMPLETED")}


def test_one_allocation_gives_the_bytes_too(study):
    size = ("--cpus-per-task", 1, "--mem", 3000, "--time", 5)
    script = (study.folder / "profiles/allocation.sh", SIMULATED, "--configfile")
    script += ("config/studies/cluster.yaml",)
    place = ("--chdir", study.folder, f"--export=ALL,PYTHONPATH={study.folder / 'src'}")
    study.slurm("sbatch", "--wait", *size, *place, *script)
    study.check(SIMULATED)


def test_faults_end_in_the_same_bytes(study):
    """One run of four jobs, each with a fault of its own; at a retry each has what it takes."""
    held = {name: study.trouble(name, 600 if name == "greedy" else 1) for name in TROUBLED}
    little = ("--set-resources", "run:mem_mb=600*attempt")
    process = study.start(*study.profile(*RUNS.values()), *ALONE, *little)
    at = {name: study.place(name) for name in TROUBLED}
    jobs = {name: job for name, (job, _) in at.items()}
    study.slurm("scontrol", "update", f"JobId={jobs['late']}", "TimeLimit=1")
    study.slurm("scancel", jobs["cancelled"])
    study.slurm.script("crash", study.slurm.folder, at["crashed"][1])

    # in their order
    ends = {"cancelled": "CANCELLED", "greedy": "FAILED", "crashed": "NODE_FAIL", "late": "TIMEOUT"}
    for name, state in ends.items():
        study.wait(lambda name=name, state=state: jobs[name] in study.slurm.jobs(state))
        held[name].unlink()
    assert process.wait(600) == 0, study.printed()
    for job in jobs.values():
        assert f"{job}.log (check log file(s) for error details)" in study.printed()
    study.check(*RUNS.values())


def test_a_killed_snakemake_is_taken_up_again(study):
    held = study.trouble("late")
    study.start(*study.profile(*RUNS.values()), *ALONE)
    job, _ = study.place("late")
    study.kill()
    assert job in study.slurm.jobs(), "the jobs of a killed Snakemake go on"

    assert "locked" in study.snakemake(*study.profile(*RUNS.values()), study="cluster", ok=False)
    name = re.search(r"SLURM run ID: (\S+)", study.printed())[1]
    study.slurm("scancel", "--name", name)
    study.wait(lambda: not study.slurm.jobs())
    held.unlink()
    study.snakemake("--unlock", study="cluster")
    study.snakemake(*study.profile(*RUNS.values()), study="cluster")
    study.check(*RUNS.values())
