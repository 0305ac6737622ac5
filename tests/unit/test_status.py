"""How far a study is, from what Snakemake and its jobs leave."""

import base64
import json
import math
from pathlib import Path

import pytest

from scant.cli import main
from scant.errors import DataError
from scant.page import status as statuses
from scant.page.status import describe, status

HEAD = """Assuming unrestricted shared filesystem usage.
  Command: snakemake --cores 2
  Config file(s): {config}
Job stats:
job       count
------  -------
figure        2
run           3
total         5

Select jobs to execute...
"""
DONE = "[Sat Nov 21 18:42:46 2026]\nFinished jobid: {id} (Rule: {rule})\n{n} of 5 steps ({n}0%) done\n"
FAILED = """CalledProcessError in file "rules/runs.smk", line 22:
Command 'set -euo pipefail; PATH=bin:$PATH;  scant run --study s --settings '{{"a": 1}}' --output results/s/runs/e/x/l/seed-0.parquet 2>&1 | tee results/s/logs/run/e/x/l/seed-0.log' returned non-zero exit status 1.
CalledProcessError in file "rules/present.smk", line 22:
Command 'set -euo pipefail; PATH=bin:$PATH;  scant figure f --output results/s/figures/f 2>&1 | tee results/s/logs/figure/f.log' returned non-zero exit status 1.
"""  # noqa: E501
ENDED = "Complete log(s): x.log\nElapsed time: 0:00:30\n"


@pytest.fixture
def root(tmp_path):
    """A folder in which the study `s` runs: three jobs have ended."""
    (tmp_path / "s.yaml").write_text("study: s\n")
    for name, rule, wildcards, seconds, memory in (
        ("run/a", "run", {"run": "e/x/kl/seed-0"}, 2.0, 100.0),
        ("run/b", "run", {"run": "e/x/squared/seed-0-4"}, 3.0, None),
        ("figure/f", "figure", {"figure": "f"}, 1.0, 50.0),
    ):
        path = tmp_path / f"results/s/benchmarks/{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"rule_name": rule, "s": seconds, "max_rss": memory, "wildcards": wildcards}) + "\n")
    (tmp_path / "results/s/logs/run/e/x/l").mkdir(parents=True)
    (tmp_path / "results/s/logs/run/e/x/l/seed-0.log").write_text("".join(f"line {i}\n" for i in range(9)))
    (tmp_path / ".snakemake/log").mkdir(parents=True)
    return tmp_path


def wrote(root, text, name="2026-11-21T184244.044027", config="['s.yaml']"):
    (root / f".snakemake/log/{name}.snakemake.log").write_text(HEAD.format(config=config) + text)


TWO = DONE.format(id=1, rule="run", n=1) + DONE.format(id=2, rule="figure", n=2)


@pytest.mark.parametrize("config", ["['s.yaml']", "[PosixPath('{root}/s.yaml')]"])
def test_a_run_that_was_killed(root, config):
    wrote(root, TWO, config=config.format(root=root))
    found = status(root / "results/s", root)
    assert (found.state, found.done, found.planned) == ("interrupted", 2, 5) and math.isnan(found.left)
    rules = {row["rule"]: row for row in found.rules}
    assert rules["run"] == {"rule": "run", "to do": 2, "jobs": 2, "seconds": 5.0, "longest": 3.0, "memory": 100}
    assert rules["figure"]["to do"] == 1
    assert [(row["learner"], row["jobs"], row["memory"]) for row in found.learners] == [
        ("squared", 1, 0),
        ("kl", 1, 100),
    ]


def test_jobs_that_play_several_learners_are_no_learners(root):
    game = {"rule_name": "run", "s": 9.0, "max_rss": 1.0, "wildcards": {"run": "e/game/seed-0-4"}}
    weights = {"rule_name": "comparator", "s": 1.0, "max_rss": 1.0, "wildcards": {"run": "e/x/kl/seed-0"}}
    (root / "results/s/benchmarks/run/c.jsonl").write_text(f"{json.dumps(game)}\n{json.dumps(weights)}\n")
    found = status(root / "results/s", root)
    assert {row["rule"]: row["jobs"] for row in found.rules} == {"run": 3, "figure": 1, "comparator": 1}
    assert [(row["learner"], row["jobs"]) for row in found.learners] == [("squared", 1), ("kl", 1)]


def test_jobs_that_play_learners_together_count_as_runs(root):
    wildcards = {"experiment": "top", "stream": "x", "seeds": "seed-0-4"}
    played = {"rule_name": "run_top", "s": 4.0, "max_rss": 1.0, "wildcards": wildcards}
    (root / "results/s/benchmarks/run/c.jsonl").write_text(f"{json.dumps(played)}\n")
    wrote(root, DONE.format(id=1, rule="run_top", n=1) + DONE.format(id=2, rule="run", n=2))
    log = next((root / ".snakemake/log").iterdir())
    log.write_text(log.read_text().replace("run           3\n", "run           1\nrun_top       2\n"))
    found = status(root / "results/s", root)
    rules = {row["rule"]: (row["to do"], row["jobs"], row["seconds"]) for row in found.rules}
    assert rules == {"run": (1, 3, 9.0), "figure": (2, 1, 1.0)}
    assert [row["learner"] for row in found.learners] == ["squared", "kl"]


def test_a_run_under_way(root, monkeypatch):
    wrote(root, TWO)
    monkeypatch.setattr(statuses, "_alive", lambda place: place == root)
    target = "results/s/runs/e/x/l/seed-1.parquet"
    (root / ".snakemake/incomplete").mkdir()
    for name in (target, "results/other/runs/x.parquet"):
        (root / ".snakemake/incomplete" / base64.b64encode(name.encode(), b"-_").decode()).touch()
    (root / ".snakemake/incomplete/no marker").touch()
    found = status(root / "results/s", root)
    assert found.state == "running" and found.running == [target]
    assert found.left == pytest.approx(found.seconds * 3 / 2)
    assert "Under way:\n  " + target in describe(found) and " to go" in describe(found)


def test_failed_jobs_are_told_with_their_logs_and_how_to_repeat_them(root):
    wrote(root, TWO + FAILED + ENDED)
    found = status(root / "results/s", root)
    assert found.state == "failed"
    run, figure = found.failed
    assert run.log == "results/s/logs/run/e/x/l/seed-0.log" and run.lines == [f"line {i}" for i in range(4, 9)]
    assert run.repeat == "snakemake results/s/runs/e/x/l/seed-0.parquet --cores 1 --configfile s.yaml"
    assert figure.repeat.startswith("snakemake results/s/figures/f.csv") and figure.lines == []
    text = describe(found)
    assert "Failed, results/s/logs/run/e/x/l/seed-0.log:\n  line 4\n" in text and f"Again: {run.repeat}" in text


IN_FULL = """    message: Error in group run
[Sat Nov 21 22:45:58 2026]
    Error in rule run:
        message: None
        jobid: {id}
        input: a.arrow, src/scant/files.py
        output: results/s/runs/e/x/{learner}/seed-0.parquet, results/s/other
        log: results/s/logs/run/e/x/{learner}/seed-0.log (check log file(s) for error details)
        shell:
            scant run --settings '{{}}'
            (command exited with non-zero exit code)
Trying to restart job 7.
"""


def test_failed_jobs_of_a_cluster_are_told_unless_a_retry_was_right(root):
    tried = IN_FULL.format(id=8, learner="l") + IN_FULL.format(id=1, learner="m") + IN_FULL.format(id=9, learner="n")
    wrote(root, tried + TWO + IN_FULL.format(id=8, learner="l") + statuses.FAILED + "\n" + ENDED)
    found = status(root / "results/s", root)
    assert found.state == "failed"
    assert [failure.log for failure in found.failed] == [f"results/s/logs/run/e/x/{name}/seed-0.log" for name in "ln"]
    assert found.failed[0].lines[-1] == "line 8" and found.failed[1].lines == []
    assert found.failed[1].repeat == "snakemake results/s/runs/e/x/n/seed-0.parquet --cores 1 --configfile s.yaml"
    text = describe(found)
    assert text.index("line 8") < text.index("without a word in their logs") < text.index(found.failed[1].repeat)


def test_the_latest_run_of_the_study_counts(root):
    wrote(root, TWO + FAILED + ENDED)
    rest = "".join(DONE.format(id=n, rule="run", n=n) for n in range(1, 6))
    wrote(root, rest + ENDED, name="2026-11-21T190000.000000")
    wrote(root, "This was a dry-run (flag -n).\n", name="2026-11-21T191000.000000")
    (root / "other.yaml").write_text("study: other\n")
    wrote(root, FAILED, name="2026-11-21T192000.000000", config="['other.yaml']")
    found = status(root / "results/s", root)
    assert (found.state, found.done, found.failed) == ("finished", 5, [])


def test_a_study_whose_logs_are_gone_has_its_jobs(root):
    found = status(root / "results/s", root)
    assert found.state == "unknown" and sum(row["jobs"] for row in found.rules) == 3
    assert "unknown" in describe(found)


def test_what_cannot_be_read_is_said(root, capsys):
    with pytest.raises(DataError, match="no job of this study has ended"):
        status(root / "results/none", root)
    assert main(["status", str(root / "results/none")]) == 1 and "Run it" in capsys.readouterr().err


def test_a_benchmark_that_was_cut_short_is_left_out(root):
    path = root / "results/s/benchmarks/run/a.jsonl"
    right, cut = status(root / "results/s", root), path.read_text()[:-20]
    path.write_text(f"{path.read_text()}{cut}\n")
    assert statuses.describe(status(root / "results/s", root)).splitlines()[2:] == describe(right).splitlines()[2:]
    (root / "results/s/benchmarks/run/.a.jsonl.x.jsonl").write_text(path.read_text())
    assert status(root / "results/s", root).rules == right.rules


def test_snakemake_at_work_is_seen(tmp_path):
    assert not statuses._alive(tmp_path)
    assert not statuses._alive(Path.cwd() / "nowhere")
