"""What is committed names no machine and no package index, and the lock file is whole."""

import inspect
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from PIL import Image
from snakemake.scheduling import job_scheduler

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
# Paths of somebody's machine, at the start of a word; and hosts and options of package indexes.
MACHINE = re.compile(
    r"(?<![\w.~>}/-])/(?:home|root|work|tmp|Users|opt|mnt|scratch|usr/local)/\w|\b[A-Z]:\\\w"
)
INDEX = re.compile(
    r"pypi\.(?:org|io)|pythonhosted|anaconda\.(?:org|com)/\w|index-url|find-links|artifactory", re.I
)


def committed():
    """Text of the files that are committed, or would be, by path."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a clone")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    paths = (ROOT / name for name in names.split("\0") if name)
    return {str(path.relative_to(ROOT)): text_of(path) for path in paths if path.is_file()}


def text_of(path: Path) -> str:
    """What a file says: of an image its metadata, since any word may occur in compressed pixels."""
    return (
        "\n".join(Image.open(path).text.values())
        if path.suffix == ".png"
        else path.read_text(errors="replace")
    )


def lines(pattern, besides=()):
    """Where a pattern occurs, as file, line and text; this file is left out."""
    besides = {*besides, str(Path(__file__).relative_to(ROOT))}
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in committed().items()
        if name not in besides
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_machine():
    assert lines(MACHINE) == []


def test_no_file_names_a_package_index():
    assert lines(INDEX, besides={"Makefile"}) == []
    hits = INDEX.findall((ROOT / "Makefile").read_text())
    assert hits == ["index-url"], "only the option that keeps index addresses out of the lock file"


def test_only_ci_looks_beside_the_clone():
    assert {hit.partition(":")[0] for hit in lines(re.compile(r"\.\./shared"))} <= {".ci/run"}


def test_every_requirement_is_pinned_and_hashed():
    assert "://" not in LOCK and not INDEX.search(LOCK)
    entries = re.split(r"(?<!\\)\n", LOCK.strip())
    assert len(entries) > 50
    for entry in entries:
        head, *hashes = [part.strip() for part in entry.split("\\\n")]
        assert re.match(r"[a-z0-9._-]+==\S+( ; .+)?$", head), head
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), (
            head
        )


def test_the_lock_has_every_direct_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["test"]
    names = {re.match(r"[A-Za-z0-9._-]+", one)[0].lower() for one in wanted}
    assert names <= set(re.findall(r"^([a-z0-9._-]+)==", LOCK, re.MULTILINE))


def test_ci_can_be_run():
    assert os.access(ROOT / ".ci/run", os.X_OK)
    subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, check=True, timeout=60)


def test_make_knows_its_targets():
    targets = ("study", "data", "streams", "runs", "figures", "tables", "test", "lint", "lock")
    targets += ("clean",)
    for target in targets:
        subprocess.run(
            ["make", "-n", target], cwd=ROOT, check=True, capture_output=True, timeout=60
        )


def test_make_clean_leaves_references(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    kept, gone = (
        tmp_path / "results/reference/tiny/claims.csv",
        tmp_path / "results/tiny/claims.csv",
    )
    paths = (kept, gone, tmp_path / "results/.hidden")
    paths += (*(tmp_path / name for name in ("src", "tests", "benchmarks")),)
    for path in paths:
        path.mkdir(parents=True)
    for _ in range(2):  # the second time there is nothing but references
        subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
        assert kept.exists()
        assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["reference"]
    shutil.rmtree(tmp_path / "results")
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True, timeout=60)


def test_of_the_results_only_references_are_committed():
    committed()  # skips where there is no clone
    for path, ignored in {
        "results/tiny/claims.csv": True,
        "results/reference/tiny/claims.csv": False,
    }.items():
        command = ["git", "check-ignore", "--quiet", "--no-index", path]
        assert (
            subprocess.run(command, cwd=ROOT, check=False, timeout=60).returncode == 0
        ) == ignored, path


def test_the_limit_that_the_workflow_lifts_is_snakemakes():
    """rules/common.smk sets `job_rate_limiter` to None: a Snakemake that calls it would be slow."""
    source = inspect.getsource(job_scheduler.JobScheduler)
    assert "self.job_rate_limiter = (" in source and "if self.job_rate_limiter is None" in source
