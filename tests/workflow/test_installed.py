"""The workflow outside of a clone: installed from a wheel, and imported as a module from another folder."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import yaml
from projects import PARTS, ROOT

SMALL = {  # what of the study that `scant init` writes is played here
    "streams": {"linear": {"generator": "linear", "settings": {"queries": 60, "documents": 6, "features": 4}}},
    "experiment": {"rounds": 50, "seeds": 2, "tuning_seeds": 1, "batch": 3, "streams": ["linear"]},
}


def run(*command, folder, package, ok=True):
    """Run a command with the package of another folder, and return what it printed."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SCANT_", "SNAKEMAKE_"))}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    command = [sys.executable, "-m", *map(str, command)]
    environment = kept | {"PYTHONPATH": str(package)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout + done.stderr


def small(study: dict) -> dict:
    """The study that `scant init` writes, at toy size."""
    experiments = {name: settings | SMALL["experiment"] for name, settings in study["experiments"].items()}
    return study | {"streams": SMALL["streams"], "experiments": experiments}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The folder of the package as a wheel installs it."""
    folder = tmp_path_factory.mktemp("wheel")
    clone, site = folder / "clone", folder / "site"
    clone.mkdir()
    for part in (*PARTS, "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, clone / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, clone / part)
    command = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, clone]
    run(*command, folder=folder, package=folder)
    zipfile.ZipFile(next(folder.glob("scant-*.whl"))).extractall(site)
    return site


@pytest.mark.slow
def test_a_study_from_the_wheel_needs_no_clone(wheel, tmp_path):
    folder = tmp_path / "mine"
    assert "snakemake --cores all" in run("scant", "init", folder, folder=tmp_path, package=wheel)
    study = yaml.safe_load((folder / "study.yaml").read_text())
    (folder / "study.yaml").write_text(yaml.safe_dump(small(study)))
    run("snakemake", "--cores", 2, folder=folder, package=wheel)
    results = folder / "results" / study["study"]
    assert (results / "report.html").stat().st_size > 10**5
    assert len(pd.read_csv(results / "claims.csv")) > 100, "the claims that came with the package"
    assert "is there already" in run("scant", "init", folder, folder=tmp_path, package=wheel, ok=False)


@pytest.mark.slow
def test_another_workflow_imports_it(tmp_path, project):
    """As `module` and snakedeploy do: the rules of a clone, with the study file of another folder."""
    study = small(yaml.safe_load((ROOT / "src/scant/starter/study.yaml").read_text())) | {"claims": None}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(study))
    package, target = project.folder / "src", f"results/{study['study']}/tables/finals.csv"
    for snakefile in ("workflow/Snakefile", "Snakefile"):
        source = str(project.folder / snakefile)
        lines = ['configfile: "config.yaml"', "module scant:", f"    snakefile: {source!r}", "    config: config"]
        (tmp_path / "Snakefile").write_text("\n".join([*lines, "use rule * from scant", ""]))
        assert re.search(r"^total +\d\d", run("snakemake", "-n", folder=tmp_path, package=package), re.M), "all of it"
    run("snakemake", target, "--cores", 2, folder=tmp_path, package=package)
    assert (tmp_path / target).is_file()


def deployed(folder: Path, source: Path) -> Path:
    """Lay out a folder as `snakedeploy deploy-workflow` does: the configuration, and a Snakefile that imports ours."""
    shutil.copytree(source / "config", folder / "config")
    (folder / "workflow").mkdir()
    lines = [
        "from snakemake.utils import min_version", 'min_version("6.10.0")', 'configfile: "config/config.yaml"',
        "module scant:", f"    snakefile: {str(source / 'workflow/Snakefile')!r}", "    config: config",
        "use rule * from scant",
    ]  # fmt: skip
    (folder / "workflow/Snakefile").write_text("\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:]) + "\n")
    return folder


@pytest.mark.slow
def test_a_deployed_workflow_has_what_comes_with_it(wheel, tmp_path):
    """Example logs are found where scant is, by the package of a clone and by that of a wheel."""
    folder = deployed(tmp_path, ROOT)
    for package, study in ((ROOT / "src", "config.yaml"), (wheel, "studies/tiny.yaml")):
        id = yaml.safe_load((ROOT / "config" / study).read_text())["study"]
        log = f"results/data/original/example-logs@{id}/targeted.txt"
        shutil.copy(ROOT / "config" / study, folder / "config/config.yaml")
        assert re.search(r"^total +\d\d", run("snakemake", "-n", folder=folder, package=package), re.M)
        run("snakemake", "--cores", 1, "--forcerun", "fetch", "--", log, folder=folder, package=package)
        assert (folder / log).read_bytes() == (ROOT / "examples/logs/targeted.csv").read_bytes()


@pytest.mark.slow
def test_a_deployed_workflow_makes_its_page(saved, tmp_path):
    """From the runs of a finished study, none of which it plays again."""
    folder = deployed(tmp_path, ROOT)
    shutil.copy(ROOT / "config/studies/tiny.yaml", folder / "config/config.yaml")
    for part in ("results/data", "results/tiny"):
        shutil.copytree(saved / part, folder / part, symlinks=True)
    tiny, made = folder / "results/tiny", saved / "results/tiny"
    for name in ("report.html", "manifest.json", "claims.csv", "tables/finals.csv"):
        (tiny / name).unlink()
    run("snakemake", "--cores", 1, folder=folder, package=ROOT / "src")
    for name in ("claims.csv", "tables/finals.csv"):
        assert (tiny / name).read_bytes() == (made / name).read_bytes()
    assert (tiny / "report.html").stat().st_size > 10**6 and (tiny / "manifest.json").is_file()
    runs = [path.relative_to(made) for path in made.glob("runs/**/*.parquet")]
    assert runs and all((tiny / run).stat().st_mtime_ns == (made / run).stat().st_mtime_ns for run in runs)
