"""The workflow outside of a clone: installed from a wheel, and imported as a module."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import forks
import pandas as pd
import pytest
import yaml
from projects import LEAVE, PARTS, ROOT, environment

from scant import __version__

# What of the study that `scant init` writes is played here.
SMALL = yaml.safe_load("""
streams: {linear: {generator: linear, settings: {queries: 60, documents: 6, features: 4}}}
experiment: {rounds: 50, seeds: 2, tuning_seeds: 1, batch: 3, streams: [linear]}
""")


def run(module, *arguments, folder, package, ok=True):
    """Run a command with the package of another folder, and return what it printed."""
    arguments, there = [*map(str, arguments)], environment(package)
    if module == "snakemake":
        code, printed = forks.snakemake(arguments, folder, there, 600)
    else:
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=folder,
            env=there,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        code, printed = done.returncode, done.stdout
    assert (code == 0) == ok, printed
    return printed


def small(study: dict) -> dict:
    """The study that `scant init` writes, at toy size."""
    experiments = {
        name: settings | SMALL["experiment"] for name, settings in study["experiments"].items()
    }
    return study | {"streams": SMALL["streams"], "experiments": experiments}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The folder of the package as a wheel installs it."""
    folder = tmp_path_factory.mktemp("wheel")
    clone, site = folder / "clone", folder / "site"
    clone.mkdir()
    needed = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", ".gitignore")
    for part in (*PARTS, *needed):
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, clone / part, ignore=LEAVE)
        else:
            shutil.copy(source, clone / part)
    git = ("git", "-C", clone, "-c", "user.name=A. Author", "-c", "user.email=a@example.org")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "All")):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    packing = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", folder]
    subprocess.run(packing, cwd=clone, check=True, capture_output=True)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    sources = next(folder.glob("scant-*.tar.gz"))
    run("pip", "wheel", *options, sources, folder=folder, package=folder)
    built = next(folder.glob("scant-*.whl"))
    assert json.loads(zipfile.Path(built, "scant/project/built.json").read_text()) == {
        "commit": commit, "clean": True,
    }  # fmt: skip
    zipfile.ZipFile(next(folder.glob("scant-*.whl"))).extractall(site)
    return site


HERS = """
hers-beats-chance:
  source: {title: Her paper, authors: A. Author, url: "https://example.org/hers", place: Table 1}
  row: question
  statement: Her learner ranks better than chance.
  family: perceptron
  data: a stream, her learner and a random one
  where: {kind: perceptron}
  learner: {kind: "hers:PairwiseLogistic"}
  against: {kind: random}
  quantity: final
  comparison: greater
"""


@pytest.mark.slow
def test_a_study_of_ones_own_from_the_wheel_travels(wheel, tmp_path):
    """Its archive, unpacked elsewhere, is finished, and plays its runs to the same bytes."""
    folder, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    init = ("scant", "init", folder)
    assert "snakemake --cores all" in run(*init, folder=tmp_path, package=wheel)
    assert "is there already" in run(*init, folder=tmp_path, package=wheel, ok=False)
    study = small(yaml.safe_load((folder / "study.yaml").read_text()))
    rows = [f"{d % 3} qid:{q} 1:{d * q % 7} 2:{d}" for q in range(1, 9) for d in range(4)]
    (folder / "own.txt").write_text("\n".join([*rows, ""]))
    (folder / "hers.py").write_text((ROOT / "examples/my_learner.py").read_text())
    (folder / "hers.yaml").write_text(HERS)
    own = {"task": "ranking", "parser": "letor", "features": 2, "grades": 2, "terms": "CC0-1.0"}
    study |= yaml.safe_load("""
claims: [config/claims/steps.yaml, hers.yaml]
streams: {own: {dataset: own}}
learners: {hers: {kind: "hers:PairwiseLogistic", rates: [0.1]}, random: {kind: random}}
""")
    study["datasets"] = {"own": own | {"parts": {"all": {"file": "own.txt"}}}}
    full = {"streams": ["own"], "learners": ["hers", "random"]}
    study["experiments"] = {"full": study["experiments"]["full-feedback"] | full}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    run("snakemake", "--cores", 2, folder=folder, package=wheel)
    results = f"results/{study['study']}"
    judged = {*pd.read_csv(folder / results / "claims.csv")["id"]}
    assert {"hers-beats-chance"} < judged, "and those of the package"
    run("scant", "archive", results, "--output", "../mine.zip", folder=folder, package=wheel)
    with zipfile.ZipFile(tmp_path / "mine.zip") as packed:
        packed.extractall(elsewhere)
        names = {*packed.namelist()}
    assert {"study.yaml", "hers.py", "hers.yaml", "own.txt", "config/claims/steps.yaml"} <= names
    assert "requirements.lock" in names
    assert not {"config/config.yaml", "config/claims/top.yaml"} & names
    shutil.rmtree(folder)
    read_me = (elsewhere / "README.md").read_text()
    commands = re.findall(r"^(?:snakemake|scant) [^#\n]*", read_me, re.M)
    finished, replay, verify = map(str.split, commands)
    there = {"folder": elsewhere, "package": wheel}
    commit = json.loads((wheel / "scant/project/built.json").read_text())["commit"]
    assert f"Install scant {__version__}, commit `{commit}`" in read_me
    verified = run(*verify, **there)
    assert "were never packed" in verified
    by = f"scant {__version__}, commit {commit}"
    assert f"The code here is the code that made the study ({by})." in verified
    assert "Nothing to be done" in run(*finished, "--dry-run", **there)
    run(*replay, **there)
    assert "files are what they were" in run(*verify, **there)
    hers = elsewhere / "hers.py"
    hers.write_text(hers.read_text().replace("decay=0.5", "decay=0.7"))
    assert "run" in run(*finished, "--dry-run", **there), "its code is on record"


@pytest.mark.slow
def test_each_addition_that_the_first_study_offers_is_played_and_travels(wheel, tmp_path):
    """Learner, measure, quantity, figure, table, stream, data set, claim, by lines of #: alone."""
    folder, results = tmp_path / "mine", tmp_path / "mine/results/first"
    run("scant", "init", folder, folder=tmp_path, package=wheel)
    text = re.sub("^#:", "", (folder / "study.yaml").read_text(), flags=re.M)
    study = yaml.safe_load(text.replace("claims: null", "claims: my_claims.yaml"))
    study["experiments"] = {"mine": study["experiments"]["mine"] | {"rounds": 50}}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    run("snakemake", "--cores", 2, folder=folder, package=wheel)
    finals = pd.read_csv(results / "tables/finals.csv")
    assert {*finals["stream"]} == {"my-stream", "my-data"} and "my-learner" in {*finals["learner"]}
    rbp = finals.loc[finals["measure"] == "my_measure:rank_biased_precision", "mean"]
    assert rbp.between(0.01, 0.99).all()
    updates = pd.read_csv(results / "tables/my-updates.csv").set_index(["stream", "learner"])
    share = updates["share"]
    assert share["my-stream", "my-learner"] == 1 and share["my-stream", "random"] == 0
    (claim,) = pd.read_csv(results / "claims.csv").to_dict("records")
    assert claim["source"] == "My paper, Figure 2" and claim["estimate"] == 1
    assert claim["quantity"] == "share of rounds with an update"
    page = (results / "report.html").read_text()
    assert "<dt>Source</dt><dd>My paper, Figure 2" in page and "example.org" not in page
    below = page.partition("How often do learners update?")[2]
    assert "<small>My paper, Figure 2</small>" in below
    assert (results / "figures/figure-my-updates.png").is_file()
    own = {path.name for path in folder.glob("my_*")}
    listed = json.loads((results / "manifest.json").read_text())
    modules = {f"{name}.py" for name in listed["modules"] if name.startswith("my_")}
    assert modules == {one for one in own if ".py" in one}
    packing = ("archive", "results/first", "--output", "../mine.zip")
    run("scant", *packing, folder=folder, package=wheel)
    with zipfile.ZipFile(tmp_path / "mine.zip") as packed:
        assert {"study.yaml", *own} <= {*packed.namelist()} and len(own) == 8
    cases = (("measure", {"run"}), ("figure", {"figures_figure_my_updates", "tables_my_updates"}))
    cases += (("quantity", {"judge"}),)
    for name, rules in cases:
        file, before = folder / f"my_{name}.py", (folder / f"my_{name}.py").read_text()
        file.write_text(
            before.replace("0.8", "0.7")
            .replace(".mean()", ".max()")
            .replace("value=", "value=0.5 * ")
        )
        planned = run("snakemake", "-n", folder=folder, package=wheel)
        assert file.read_text() != before and rules <= {*re.findall(r"^(\w+) +\d+$", planned, re.M)}
        assert name == "measure" or not re.search(r"^run +\d", planned, re.M)
        file.write_text(before)


@pytest.mark.slow
def test_another_workflow_imports_it(tmp_path, project):
    """As `module` and snakedeploy do: a clone's rules, with another folder's study file."""
    study = small(yaml.safe_load((ROOT / "src/scant/starter/study.yaml").read_text()))
    study["claims"] = None
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(study))
    there = {"folder": tmp_path, "package": project.folder / "src"}
    target = f"results/{study['study']}/tables/finals.csv"

    def imports(snakefile, *more):
        source = str(project.folder / snakefile)
        lines = ['configfile: "config.yaml"', "module scant:", f"    snakefile: {source!r}"]
        lines += ["    config: config", *more, "use rule * from scant", ""]
        (tmp_path / "Snakefile").write_text("\n".join(lines))

    imports("workflow/Snakefile")
    assert re.search(r"^total +\d\d", run("snakemake", "-n", **there), re.M), "all of it"
    imports("Snakefile")
    run("snakemake", target, "--cores", 2, **there)
    assert (tmp_path / target).is_file()
    imports("Snakefile", '    prefix: "there"')
    assert "module prefix: a study's paths" in run("snakemake", "-n", **there, ok=False)


def deployed(folder: Path, source: Path) -> Path:
    """Lay out a folder as `snakedeploy deploy-workflow` does: configuration and a Snakefile."""
    shutil.copytree(source / "config", folder / "config")
    (folder / "workflow").mkdir()
    lines = [
        "from snakemake.utils import min_version", 'min_version("6.10.0")',
        'configfile: "config/config.yaml"',
        "module scant:", f"    snakefile: {str(source / 'workflow/Snakefile')!r}",
        "    config: config",
        "use rule * from scant",
    ]  # fmt: skip
    (folder / "workflow/Snakefile").write_text(
        "\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:]) + "\n"
    )
    return folder


@pytest.mark.slow
def test_a_deployed_workflow_has_what_comes_with_it(wheel, tmp_path):
    """Example logs are found where scant is, by the package of a clone and by that of a wheel."""
    folder = deployed(tmp_path, ROOT)
    for package, study in ((ROOT / "src", "config.yaml"), (wheel, "studies/tiny.yaml")):
        id = yaml.safe_load((ROOT / "config" / study).read_text())["study"]
        log = f"results/data/original/example-logs@{id}/targeted.txt"
        shutil.copy(ROOT / "config" / study, folder / "config/config.yaml")
        there = {"folder": folder, "package": package}
        if package == wheel:
            assert re.search(r"^total +\d\d", run("snakemake", "-n", **there), re.M)
        run("snakemake", "--cores", 1, "--forcerun", "fetch", "--", log, **there)
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
    assert runs
    assert all((tiny / run).stat().st_mtime_ns == (made / run).stat().st_mtime_ns for run in runs)
