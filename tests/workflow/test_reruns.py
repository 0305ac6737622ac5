"""What runs again after a change; a disturbed run ends in the bytes of an undisturbed one."""

import gzip
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest
import yaml
from sklearn import datasets

from scant.finished.provenance import DRAWN
from scant.study import settings as studies
from scant.study.plan import Plan, spanned

pytestmark = pytest.mark.slow

# What every run leads to: claims, all of which are judged again, and the page.
PAGE = {"boards": 1, "report": 1}
VERDICT = PAGE | {"judge": 7, "claims": 1}
JUDGED = ("judge", "claims")
# What the perceptron runs of the tiny study lead to, besides `all`.
REPORT = VERDICT | {"figures_perceptron": 1, "tables_perceptron": 1}


def shown(kind):
    """The jobs of the figures and of the tables of a kind of experiments."""
    return {f"figures_{kind}": 1, f"tables_{kind}": 1}


def without_all(jobs):
    """Planned jobs, but for the rule that only collects."""
    return {rule: count for rule, count in jobs.items() if rule != "all"}


def counted(planned):
    """How many jobs of each rule are planned."""
    return {rule: len(files) for rule, files in planned.items()}


def appended(path, text="EDITED = True\n"):
    """Put a text at the end of a file."""
    with open(path, "a") as file:
        file.write(text)


def test_a_second_run_does_nothing_after_a_touch_nor_after_edits_that_change_no_result(finished):
    """Comments, docstrings, comments of rules and the study file, and modules of no job."""
    modules = list((finished.folder / "src").rglob("*.py"))
    assert len(modules) > 80
    for path in modules:
        text = path.read_text()
        path.write_text(text.replace('"""', '"""Edited. ', 1) + "\n# edited\n")
    for path in (
        *(finished.folder / "rules").glob("*.smk"),
        finished.folder / "config/studies/tiny.yaml",
    ):
        path.write_text(f"# edited\n{path.read_text()}")
    for file in ("cli", "finished/differences", "page/generated", "page/show"):
        appended(finished.folder / f"src/scant/{file}.py")
    for file in ("evaluation/compare", "commands"):
        appended(finished.folder / f"src/scant_ads/{file}.py")
    for folder in ("config", "workflow"):
        for path in (finished.folder / folder).rglob("*.*"):
            path.touch()
    assert "Nothing to be done" in finished.snakemake("--cores", 2)


def test_another_study_with_the_same_data_redoes_none_of_it(finished):
    shared = "results/data/tables/digits/test.parquet"
    assert finished.jobs(shared, study=None) == {}  # of the default study


# What the killed run was asked for: a table and a figure, and all that these need, from files that
# are fetched to draws, runs and a study of bounds.
ASKED = ["results/tiny/tables/games.csv", "results/tiny/figures/figure-logs.svg"]


def test_a_killed_run_can_be_taken_up_again_on_one_core(finished):
    """What two cores had done is kept, one core does the rest: bytes of an undisturbed run.

    Most jobs of that one were forked by a server, those of the rest start on their own.
    """
    finished.forget()
    runs = finished.folder / "results/tiny/runs"
    kill_when(finished, lambda: len(list(runs.rglob("seed-*.parquet"))) >= 20)
    times = {path: path.stat().st_mtime_ns for path in runs.rglob("seed-*.parquet")}
    assert 20 <= len(times) < 28, "all runs were there"

    assert "locked" in finished.snakemake(*ASKED, "--cores", 2, ok=False).lower()
    finished.snakemake(*ASKED, "--unlock")
    finished.snakemake(*ASKED, "--cores", 1, SCANT_SERVER="")

    digests = finished.digests()
    assert digests.items() <= finished.reference.items() and len(digests) > 30
    assert {file.removeprefix("results/tiny/") for file in ASKED} <= digests.keys()
    again = [path for path, before in times.items() if path.stat().st_mtime_ns != before]
    assert len({path.relative_to(runs).parts[:2] for path in again}) <= 2, (
        "runs that were whole were made again"
    )
    assert "Nothing to be done" in finished.snakemake(*ASKED, "--cores", 2)


def kill_when(project, ready):
    """Start what is asked for, and end it by SIGKILL, jobs and all, once `ready` says so."""
    process = subprocess.Popen(
        project.command(*ASKED, "--cores", 2),
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 600
        while not ready() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert ready() and process.poll() is None, "the study ended before it could be killed"
    finally:
        family = [psutil.Process(process.pid)]
        family += [*psutil.Process(process.pid).children(recursive=True)]
        os.killpg(process.pid, signal.SIGKILL)
        for member in family:  # those of a group of their own
            with suppress(psutil.NoSuchProcess):
                member.kill()
        process.wait()
        psutil.wait_procs(family, timeout=60)


def test_what_is_new_or_has_new_rates_is_played_alone(finished):
    settings = finished.settings()
    settings["learners"]["listnet"]["rates"] = [0.1, 2.0]
    settings["learners"]["random-again"] = settings["learners"]["random"]
    settings["experiments"]["top"]["learners"].append("random-again")
    settings["experiments"]["ads"]["sweep"].append({"threshold": ["recall"]})
    finished.write(settings)
    # ListNet's: 3 streams x (2 + 1) seeds, each a batch, and one batch of the released code and of
    # either of its sweep; the lower bound has no ListNet.
    planned = without_all(finished.planned())
    played = Counter(Path(file).parent.name for file in planned["run"])
    assert played.pop("listnet") == 3 * 3 + 3 and played.pop("random-again") == 2
    assert len(played) == 5 and {*played.values()} == {2}
    assert counted(planned) == REPORT | shown("top") | {"run": 12 + 2 + 5 * 2}


def test_new_seeds_rerun_the_batch_that_they_fill_and_none_that_was_full(finished):
    settings = finished.settings()
    settings["experiments"]["perceptron"]["tuning_seeds"] = 2
    settings["experiments"]["perceptron-released"]["seeds"] = 3
    finished.write(settings)
    # One more batch of one seed on each of three streams, for the three learners that choose a
    # rate; and the one batch of three learners, of each level of a sweep.
    wanted = REPORT | {"simulate": 3, "run": 3 * 3 + 3 * 2, "tables_top": 1}  # with that of streams
    assert without_all(finished.jobs()) == wanted


def test_added_seeds_are_played_alone(finished):
    settings = finished.settings()
    experiments = settings["experiments"]
    names = ("perceptron", "choice", "ads-campaigns")
    before = {name: experiments[name]["seeds"] for name in names}
    for name, seeds in before.items():
        experiments[name]["seeds"] = [seeds, 2]
    finished.write(settings)
    planned = without_all(finished.planned())
    # On each of three streams six learners play two more seeds, in jobs of one; one stream is
    # drawn.
    assert counted(planned) == VERDICT | {
        "simulate": 2, "make_log": 1, "run": 3 * 2 * 6 + 3 + 6, "tables_top": 1,
        **shown("perceptron"), **shown("fixed_items"), **shown("ads"),
    }  # fmt: skip
    for file in map(Path, planned["run"]):
        assert min(spanned(file.stem.removeprefix("seed-"))) >= before[file.parts[3]]
    plan = Plan(*studies.load(settings, finished.folder / "config/datasets.yaml"))
    for name in before:
        runs = finished.folder / "results/tiny/runs" / name
        kept = {f"{path.relative_to(finished.folder)}" for path in runs.rglob("*.parquet")}
        assert kept <= {*plan.run_files(name)}, "runs are left that nothing reads"


def test_a_new_title_reruns_no_learner(finished):
    settings = finished.settings()
    settings["learners"]["listnet"]["title"] = "List net"
    finished.write(settings)
    assert without_all(finished.jobs()) == REPORT


def test_a_changed_claim_reruns_the_verdict_alone(finished):
    path = finished.folder / "config/claims/perceptron.yaml"
    text = path.read_text()
    assert "is above 0.99." in text
    path.write_text(text.replace("is above 0.99.", "is more than 0.99."))
    assert without_all(finished.jobs()) == VERDICT


ALL = ("perceptron", "top", "fixed-items", "ads", "generalisation")  # kinds of experiments
SEEN = {"figures", "tables", *JUDGED}  # what new runs lead to


@pytest.mark.parametrize(
    ("file", "rules", "kinds"),
    [
        ("present/tables.py", {"tables", *JUDGED}, ()),
        ("page/page.py", set(), ()),
        ("rankers/learners.py", {"run", "best_weights", *SEEN}, ("perceptron", "top")),
        ("ads/coverage.py", {"coverage", "figures", *JUDGED}, ()),
        ("kernels/pieces.py", {"run", "best_weights", *SEEN}, ALL),
        (
            "data/fetch.py",
            {"fetch", "convert", "make_stream", "run", "best_weights", "make_log", *SEEN},
            ("perceptron", "top", "ads"),
        ),
    ],
)
def test_an_edit_reruns_what_depends_on_the_file(finished, file, rules, kinds):
    appended(finished.folder / "src/scant" / file)
    planned = without_all(finished.planned())
    stages = {re.sub("(figures|tables)_.*", r"\1", rule) for rule in planned}
    assert {re.sub("theorems_.*", "tables", stage) for stage in stages} == rules | {*PAGE}
    assert kinds_of(finished, planned.get("run", ())) == {*kinds}


def kinds_of(project, files):
    """The kinds of the experiments that run files are of."""
    kinds = {
        name: one.get("kind", "perceptron")
        for name, one in project.settings()["experiments"].items()
    }
    return {kinds[file.split("/")[3].partition("+")[0]] for file in files}


def edit(project, file, old, new):
    """Replace what is once in a file of the package."""
    path = project.folder / "src/scant" / file
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_another_look_draws_the_figures_of_its_family_alone(finished):
    look = 'looks: ClassVar = {"": Look("blue", "o")'
    edit(finished, "rankers/learners.py", look, look.replace("blue", "pink"))
    assert without_all(finished.planned()).keys() == {"figures_perceptron", *PAGE}


def test_other_words_of_a_figure_or_setting_make_the_page_alone(finished):
    for file, old, new in (
        ("ads/family.py", "CTR on the test part, of which", "CTR on the test, of which"),
        ("ads/family.py", "Over how many users of a campaign", "Over how many campaign's users"),
        ("bandits/learners.py", 'about="Trees of a forest', 'about="How many trees it has'),
    ):
        edit(finished, file, old, new)
    assert without_all(finished.jobs()) == PAGE


def test_a_learner_of_ones_own_is_played_again_when_what_it_imports_is_edited(finished):
    for name, text in {"mine.py": OWN, "mine_parts.py": "STEP = 1\n"}.items():
        (finished.folder / name).write_text(text)
    settings = finished.settings()
    settings["learners"]["mine"] = {"kind": "mine:Mine"}
    settings["experiments"]["perceptron-released"]["learners"].append("mine")
    finished.write(settings)
    played = ["results/tiny/runs/perceptron-released/separable-released/mine/seed-0-1.parquet"]
    assert [
        file for file in finished.planned()["run"] if file.split("/")[3] == "perceptron-released"
    ] == played
    finished.snakemake(*played, "--cores", 1)
    (finished.folder / "mine_parts.py").write_text("STEP = 1  # a comment\n")
    assert finished.jobs(*played) == {}
    (finished.folder / "mine_parts.py").write_text("STEP = 2\n")
    assert finished.jobs(*played) == {"run": 1}


OWN = """
from mine_parts import STEP


class Mine:
    def __init__(self, features, rate, random):
        self.random = random

    def rank(self, features):
        return self.random.permutation(len(features))

    def learn(self, features, grades, ranking):
        return False
"""


def test_claims_are_judged_by_the_first_experiment_of_the_file_not_of_the_alphabet(finished):
    """The study is handed on in its own order."""
    settings = finished.settings()
    once = settings["experiments"]["perceptron-released"]
    del once["sweep"]
    once["learners"] = ["slam-ndcg@10", "max-hinge", "listnet"]  # all that claims name
    two = {"more": once | {"rounds": 40}, "less": once | {"rounds": 30}}
    settings["experiments"] = two | settings["experiments"]
    finished.write(settings)
    finished.snakemake("claims", "--cores", 2)
    deciding = pd.read_csv(finished.folder / "results/tiny/claims.csv")["experiment"]
    assert "more" in {*deciding} and "less" not in {*deciding}


def test_a_figure_that_is_lost_is_drawn_again(finished):
    for ending in ("svg", "png", "csv"):
        (finished.folder / f"results/tiny/figures/figure-2.2.{ending}").unlink()
    assert without_all(finished.jobs()) == {"figures_perceptron": 1} | PAGE
    finished.snakemake("--cores", 1)
    assert finished.digests() == finished.reference


def test_a_changed_entry_of_the_registry_is_noticed(project, tmp_path):
    """Its checksum, and where it comes from; not the words about it."""
    mirror, table = tmp_path / "mirror", "results/data/tables/optdigits/test.parquet"
    (mirror / "optdigits").mkdir(parents=True)
    digits = Path(datasets.__file__).parent / "data/digits.csv.gz"  # the same rows
    (mirror / "optdigits/optdigits.tes").write_bytes(gzip.decompress(digits.read_bytes()))
    small = yaml.safe_load("""
study: tiny
seed: 1
claims: null
streams: {linear: {generator: linear}}
learners: {random: {kind: random}}
tables_of: [optdigits]
experiments: {e: {streams: [linear], learners: [random], seeds: 2}}
""")
    project.write(small | {"data": {"mirror": str(mirror)}})
    project.snakemake(table, "--cores", 1)
    registry = project.folder / "config/datasets.yaml"
    text = registry.read_text()
    entry = yaml.safe_load(text)["optdigits"]
    for old, again in ((entry["home"], {}), (entry["archive"]["url"], {"fetch": 1, "convert": 1})):
        assert old in text
        registry.write_text(text.replace(old, "https://example.org/digits.zip"))
        assert project.jobs(table) == again
    checksum = "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
    registry.write_text(text.replace(checksum, 64 * "f"))
    assert 64 * "f" in project.snakemake(table, "--cores", 1, ok=False)
    assert not (project.folder / "results/data/original/optdigits/test.txt").exists()


def test_draws_that_were_deleted_are_drawn_again_only_for_what_needs_them(finished):
    """A study without its streams is whole; a new learner draws those it plays on again, alike."""
    for folder in DRAWN:
        shutil.rmtree(finished.folder / "results/tiny" / folder, ignore_errors=True)
    assert finished.jobs() == {}
    finished.snakemake("results/tiny/streams/linear/0", "--cores", 1)
    stream = "streams/linear/0/seed-0.arrow"
    assert finished.digests()[stream] == finished.reference[stream]
