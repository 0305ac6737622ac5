"""What runs again after a change, and that a disturbed run ends in the same bytes as an undisturbed one."""

import os
import signal
import subprocess
import time
import zipfile

import psutil
import pytest

pytestmark = pytest.mark.slow

VERDICT = {"claims": 1, "claims_figure": 5, "report": 1}  # what every run leads to: claims, their figures, the page
JUDGED = ("claims", "claims_figure")
# What the perceptron runs of the tiny study lead to, besides traces and `all`.
REPORT = VERDICT | {"figure": 3, "table": 3}


def without_all(jobs):
    """Planned jobs, but for the rule that only collects."""
    return {rule: count for rule, count in jobs.items() if rule != "all"}


def test_a_second_run_does_nothing(finished):
    assert "Nothing to be done" in finished.snakemake("--cores", 2)


def test_a_killed_run_can_be_taken_up_again_on_one_core(finished):
    """What two cores had done is kept, one core does the rest: all has the bytes of an undisturbed run."""
    finished.forget()
    runs = finished.folder / "results/tiny/runs"
    kill_when(finished, lambda: len(list(runs.rglob("seed-*.parquet"))) >= 12)
    times = {path: path.stat().st_mtime_ns for path in runs.rglob("seed-*.parquet")}
    assert 12 <= len(times) < 60

    assert "locked" in finished.snakemake("--cores", 2, ok=False).lower()
    finished.snakemake("--unlock")
    finished.snakemake("--cores", 1)

    assert finished.digests() == finished.reference
    again = [path for path, before in times.items() if path.stat().st_mtime_ns != before]
    assert len(again) <= 4, "runs that were whole were made again"
    assert "Nothing to be done" in finished.snakemake("--cores", 2)


def kill_when(project, ready):
    """Start the tiny study, and end it with SIGKILL, jobs and all, as soon as `ready` says so."""
    process = subprocess.Popen(
        project.command("--cores", 2),
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
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        os.killpg(process.pid, signal.SIGKILL)
        for member in family:  # those of a group of their own
            if member.is_running():
                member.kill()
        process.wait()
        psutil.wait_procs(family, timeout=60)


def test_a_touch_changes_nothing(finished):
    for folder in ("src", "rules", "config", "workflow"):
        for path in (finished.folder / folder).rglob("*.*"):
            if path.suffix in (".py", ".smk", ".yaml", ".rst"):
                path.touch()
    assert finished.jobs() == {}


def test_new_rates_rerun_the_runs_of_their_learner_alone(finished):
    settings = finished.settings()
    settings["learners"]["listnet"]["rates"] = [0.1, 2.0]
    finished.write(settings)
    # 3 streams x (2 + 1) seeds, each a batch, and one batch of the released code and of either of its sweep; the lower
    # bound has no ListNet
    assert without_all(finished.jobs()) == REPORT | {"run": 3 * 3 + 3, "traces": 4}


def test_a_new_seed_reruns_no_batch_that_was_full(finished):
    settings = finished.settings()
    settings["experiments"]["perceptron"]["tuning_seeds"] = 2
    finished.write(settings)
    # one more batch of one seed for each of three streams and learners that have rates to choose from
    wanted = REPORT | {"simulate": 1, "run": 3 * 3, "traces": 1, "streams_table": 1}
    assert without_all(finished.jobs()) == wanted


def test_a_new_seed_reruns_its_batch_alone(finished):
    settings = finished.settings()
    settings["experiments"]["perceptron-released"]["seeds"] = 3
    finished.write(settings)
    wanted = VERDICT | {"simulate": 2, "run": 3 * 2, "traces": 3, "figure": 1, "table": 3, "streams_table": 1}
    assert without_all(finished.jobs()) == wanted


def test_a_new_title_reruns_no_learner(finished):
    settings = finished.settings()
    settings["learners"]["listnet"]["title"] = "List net"
    finished.write(settings)
    assert without_all(finished.jobs()) == REPORT | {"traces": 4}


def test_a_changed_claim_reruns_the_verdict_alone(finished):
    path = finished.folder / "config/claims.yaml"
    text = path.read_text()
    assert "is soon near 1." in text
    path.write_text(text.replace("is soon near 1.", "is soon close to 1."))
    assert without_all(finished.jobs()) == VERDICT


def test_a_new_level_plays_its_experiment_alone(finished):
    settings = finished.settings()
    settings["experiments"]["ads"]["sweep"].append({"threshold": ["recall"]})
    finished.write(settings)
    assert without_all(finished.jobs()) == VERDICT | {"learn": 10, "traces": 1}


@pytest.mark.parametrize(
    ("file", "rules"),
    [
        ("report/figures.py", {"figure", "claims_figure"}),
        ("report/style.py", {"figure", "claims_figure"}),
        ("report/tables.py", {"figure", "table", "streams_table", "theory_table", "logs_table", *JUDGED}),
        ("report/verdicts.py", {*JUDGED}),
        ("report/page.py", set()),
        ("online/learners.py", {"run", "comparator", "traces", "figure", "table", *JUDGED}),
        ("games/learners.py", {"play", "traces", "figure", "table", *JUDGED}),
        ("theory/observability.py", {"figure", "theory_table", *JUDGED}),
        ("ads/scorers.py", {"learn", "traces", "figure", "table", *JUDGED}),
        ("ads/draw.py", {"draw", "learn", "traces", "figure", "table", "logs_table", *JUDGED}),
        ("ads/coverage.py", {"coverage", "learn", "traces", "figure", "table", *JUDGED}),
        (
            "data/uci.py",
            {"convert", "pack", "run", "comparator", "draw", "learn", "traces", "figure", "table"}
            | {"streams_table", "logs_table", *JUDGED},
        ),
    ],
)
def test_an_edit_reruns_what_depends_on_the_file(finished, file, rules):
    with open(finished.folder / "src/scant" / file, "a") as source:
        source.write("# edited\n")
    assert without_all(finished.jobs()).keys() == rules | {"report"}


@pytest.mark.parametrize(("name", "rule"), [("figure-2.2", "figure"), ("figure-claims-ads", "claims_figure")])
def test_one_figure_alone_is_drawn_again(finished, name, rule):
    for ending in ("svg", "png", "csv"):
        (finished.folder / f"results/tiny/figures/{name}.{ending}").unlink()
    assert without_all(finished.jobs()) == {rule: 1, "report": 1}
    finished.snakemake("--cores", 1)
    assert finished.digests() == finished.reference


@pytest.mark.parametrize("name", ["report.zip", "report.html"])
def test_the_report_holds_every_figure_and_caption(finished, name):
    finished.snakemake("--report", name)
    path = finished.folder / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            files = archive.namelist()
            page = archive.read(next(file for file in files if file.endswith("report.html"))).decode()
        figures = ("figure-2.1", "figure-2.2", "figure-2.ap", "figure-3.4", "figure-top-k", "figure-top-regret")
        figures += ("figure-3.1", "figure-games-horizon", "figure-observability", "figure-claims-perceptron")
        tables = (
            "finals",
            "bounds",
            "rates",
            "top",
            "regret",
            "variance",
            "streams",
            "games",
            "slopes",
            "table-b.1",
            "claims",
        )
        for file in (*(f"{name}.svg" for name in figures), *(f"{name}.csv" for name in tables)):
            assert any(entry.endswith(file) for entry in files), file
    else:
        page = path.read_text()
    assert "Time-averaged" in page and "bounds of the perceptron paper" in page
