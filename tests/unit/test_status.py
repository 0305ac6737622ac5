"""How far a study is, from what Snakemake and its jobs leave."""

import base64
import json
import logging
import math
from pathlib import Path

import pytest
import yaml
from snakemake_interface_logger_plugins.common import LogEvent

from scant.cli import main
from scant.errors import DataError
from scant.page import status as statuses
from scant.page.status import describe, status
from scant.study import events

PLAN = ("run_info", {"stats": {"figure": 2, "run": 3, "total": 5}})
END = ("ended", {})


def done(job, rule="run"):
    """The events of a job that begins and is finished."""
    return [("job_info", {"jobid": job, "rule_name": rule}), ("job_finished", {"job_id": job})]


def failed(job, path, *output):
    """The event of a job that failed."""
    return [
        ("job_error", {"jobid": job, "output": list(output), "log": [f"results/s/logs/{path}.log"]})
    ]


@pytest.fixture
def root(tmp_path):
    """A folder in which the study `s` runs: three jobs have ended."""
    (tmp_path / "s.yaml").write_text("study: s\n")
    for name, rule, wildcards, seconds, memory in (
        ("run/a", "run", {"run": "e/x/kl/seed-0"}, 2.0, 100.0),
        ("run/b", "run", {"run": "e/x/squared/seed-0"}, 3.0, None),
        ("figure/f", "figure", {"figure": "f"}, 1.0, 50.0),
    ):
        path = tmp_path / f"results/s/benchmarks/{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"rule_name": rule, "s": seconds, "max_rss": memory, "wildcards": wildcards})
            + "\n"
        )
    (tmp_path / "results/s/logs/run/e/x/l").mkdir(parents=True)
    (tmp_path / "results/s/logs/run/e/x/l/seed-0.log").write_text(
        "".join(f"line {i}\n" for i in range(9))
    )
    (tmp_path / ".snakemake/scant").mkdir(parents=True)
    (tmp_path / ".snakemake/scant/s.file").write_text("s.yaml")
    return tmp_path


def wrote(root, *said):
    lines = [
        json.dumps({"event": event, "time": 100.0 + at} | told)
        for at, (event, told) in enumerate((PLAN, *said))
    ]
    (root / ".snakemake/scant/s.jsonl").write_text("\n".join(lines) + "\n")


TWO = [*done(1), *done(2, "figure")]
RUN = failed(3, "run/e/x/l/seed-0", "results/s/runs/e/x/l/seed-0.parquet", "results/s/other")
FIGURE = failed(4, "figure/f", "results/s/figures/f.svg")


def test_a_run_that_was_killed(root):
    wrote(root, *TWO)
    found = status(root / "results/s", root)
    assert (found.state, found.done, found.planned) == ("interrupted", 2, 5)
    assert math.isnan(found.left)
    rules = {row["rule"]: row for row in found.rules}
    assert rules["run"] == yaml.safe_load(
        "{rule: run, to do: 2, jobs: 2, seconds: 5.0, longest: 3.0, memory: 100}"
    )
    assert rules["figure"]["to do"] == 1
    result = [(row["learner"], row["jobs"], row["memory"]) for row in found.learners]
    assert result == [("squared", 1, 0), ("kl", 1, 100)]
    with open(root / ".snakemake/scant/s.jsonl", "a") as file:
        file.write('{"event": "job_in')  # killed while it wrote
    assert describe(status(root / "results/s", root)) == describe(found)


def test_jobs_that_play_several_learners_are_no_learners(root):
    game = {"rule_name": "run", "s": 2.0, "max_rss": 1.0, "wildcards": {"run": "e/game/seed-0"}}
    weights = yaml.safe_load(
        "{rule_name: best_weights, s: 1.0, max_rss: 1.0, wildcards: {run: e/x/kl/seed-0}}"
    )
    (root / "results/s/benchmarks/run/c.jsonl").write_text(
        f"{json.dumps(game)}\n{json.dumps(weights)}\n"
    )
    found = status(root / "results/s", root)
    result = {row["rule"]: row["jobs"] for row in found.rules}
    assert result == {"run": 3, "figure": 1, "best_weights": 1}
    assert [(row["learner"], row["jobs"]) for row in found.learners] == [("squared", 1), ("kl", 1)]


def test_a_run_under_way(root, monkeypatch):
    wrote(root, *TWO)
    monkeypatch.setattr(statuses, "_alive", lambda place: place == root)
    target = "results/s/runs/e/x/l/seed-1.parquet"
    (root / ".snakemake/incomplete").mkdir()
    for name in (target, "results/other/runs/x.parquet"):
        (root / ".snakemake/incomplete" / base64.b64encode(name.encode(), b"-_").decode()).touch()
    (root / ".snakemake/incomplete/no marker").touch()
    found = status(root / "results/s", root)
    assert found.state == "running" and found.running == [target]
    assert (found.seconds, found.left) == (4.0, 6.0)
    assert "Under way:\n  " + target in describe(found) and " to go" in describe(found)


def test_failed_jobs_are_told_with_their_logs_and_how_to_repeat_them(root):
    wrote(root, *TWO, *RUN, *FIGURE, END)
    found = status(root / "results/s", root)
    assert found.state == "failed"
    run, figure = found.failed
    assert run.log == "results/s/logs/run/e/x/l/seed-0.log"
    assert run.lines == [f"line {i}" for i in range(4, 9)]
    assert run.repeat == (
        "snakemake results/s/runs/e/x/l/seed-0.parquet --cores 1 --configfile s.yaml"
    )
    assert figure.repeat.startswith("snakemake results/s/figures/f.svg") and figure.lines == []
    text = describe(found)
    assert "Failed, results/s/logs/run/e/x/l/seed-0.log:\n  line 4\n" in text
    assert f"Again: {run.repeat}" in text
    assert (
        text.index("line 8")
        < text.index("without a word in their logs")
        < text.index(figure.repeat)
    )


def test_a_job_that_a_retry_finished_has_not_failed(root):
    wrote(root, *RUN, *FIGURE, *done(3), *done(4, "figure"), END)
    found = status(root / "results/s", root)
    assert found.state == "interrupted" and not found.failed
    wrote(root, *RUN, *RUN, *FIGURE, *done(4, "figure"), END)
    found = status(root / "results/s", root)
    assert found.state == "failed" and [failure.log for failure in found.failed] == RUN[0][1]["log"]


def test_a_run_that_has_all_its_jobs_done_is_finished(root):
    wrote(root, *(event for job in range(5) for event in done(job)), END)
    found = status(root / "results/s", root)
    assert (found.state, found.done, found.failed) == ("finished", 5, [])


def said(event=None, **told):
    """A record of Snakemake's logger."""
    return logging.makeLogRecord({"event": event, "msg": None} | told)


def test_the_record_is_of_the_latest_run_that_had_jobs_to_do(tmp_path):
    path = tmp_path / "s.jsonl"
    for job in (1, 2):
        handler = events.Events(path)
        records = (said(LogEvent.WORKFLOW_STARTED), said(LogEvent.RUN_INFO, stats={"total": 1}))
        records += (said(), said(LogEvent.JOB_INFO, jobid=job, rule_name="run", input=object()))
        records += (said(LogEvent.JOB_FINISHED, job_id=job),)
        for record in records:
            handler.handle(record)
        killed = events.read(path)
        handler.close()
    assert [event["event"] for event in killed] == ["run_info", "job_info", "job_finished"]
    assert events.read(path)[:-1] == killed and killed[-1]["job_id"] == 2
    assert events.read(path)[-1]["event"] == "ended"
    before = path.read_text()
    handler = events.Events(path)
    handler.handle(said(LogEvent.WORKFLOW_STARTED))  # nothing to be done
    handler.close()
    assert path.read_text() == before and {*events.KEPT} <= {str(event) for event in LogEvent}


def test_a_study_without_a_record_has_its_jobs(root):
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
    result = statuses.describe(status(root / "results/s", root)).splitlines()[2:]
    assert result == describe(right).splitlines()[2:]
    (root / "results/s/benchmarks/run/.a.jsonl.x.jsonl").write_text(path.read_text())
    assert status(root / "results/s", root).rules == right.rules


def test_snakemake_at_work_is_seen(tmp_path):
    assert not statuses._alive(tmp_path)
    assert not statuses._alive(Path.cwd() / "nowhere")


NO_EVENTS = ("5", "null", "[]", "{}", "[" * 100_000, "\udcff", '{"event": "run_info"}')
NO_EVENTS += ('{"event": ["run_info"], "time": 1}',)
NO_EVENTS += ('{"event": "run_info", "time": "x", "stats": {}}',)
NO_EVENTS += ('{"event": "run_info", "time": 1, "stats": {"run": "x"}}',)
NO_EVENTS += ('{"event": "job_info", "time": 1, "jobid": [], "rule_name": "run"}',)
NO_EVENTS += ('{"event": "other", "time": 1}',)
NO_EVENTS += ('{"event": "job_info", "time": 1, "jobid": 9, "rule_name": null}',)
NO_EVENTS += ('{"event": "job_finished", "time": 1, "job_id": 9}',)
NO_EVENTS += ('{"event": "job_error", "time": 1, "jobid": 1, "output": null, "log": []}',)
NO_EVENTS += ('{"event": "job_error", "time": 1, "jobid": 1, "output": [5], "log": []}',)


@pytest.mark.parametrize("line", NO_EVENTS, ids=range(len(NO_EVENTS)))
def test_a_record_with_a_line_that_is_no_event_is_refused(root, capsys, monkeypatch, line):
    monkeypatch.chdir(root)
    wrote(root, *TWO)
    record = root / ".snakemake/scant/s.jsonl"
    lines = record.read_bytes().splitlines()
    for number in (1, 3):
        damaged = [*lines[: number - 1], line.encode(errors="surrogateescape")]
        damaged += [*lines[number - 1 :]]
        record.write_bytes(b"\n".join(damaged) + b"\n")
        assert main(["status", "results/s"]) == 1
        said = (
            f"s.jsonl, line {number}: is no event of a run. Delete the file: the next run "
            "writes it anew\n"
        )
        assert capsys.readouterr().err.endswith(said)


def test_a_record_begins_with_the_plan_and_may_end_in_a_line_that_was_cut(root):
    record = root / ".snakemake/scant/s.jsonl"
    wrote(root, *TWO)
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(lines[1:]))
    with pytest.raises(DataError, match="line 1: is no event of a run"):
        events.read(record)
    record.write_text("".join(lines)[:-5])
    assert events.read(record) == [json.loads(line) for line in lines[:-1]]


def test_names_of_files_cannot_steer_the_terminal(root):
    wrote(root, *failed(3, "a\x1b[31m", "results/s/\x1b[31m"), END)
    assert "\x1b" not in describe(status(root / "results/s", root))


def test_a_command_to_repeat_a_job_quotes_the_study_file(root):
    (root / ".snakemake/scant/s.file").write_text("my $(study).yaml")
    wrote(root, *RUN, END)
    (failure,) = status(root / "results/s", root).failed
    assert failure.repeat.endswith(" --configfile 'my $(study).yaml'")
