"""What every study file plans is what it planned before: digests of jobs, what reports are told, and what is shown.

Whoever changes on purpose what a study plans writes the digests anew, and says in the commit what changed and why:

    python tests/unit/test_plan_digests.py
"""

import hashlib
import json
from pathlib import Path

import pytest

from scant.games.family import times_job
from scant.schema import read_yaml
from scant.study import settings as studies
from scant.study.plan import Plan, untitled

ROOT = Path(__file__).parents[2]
DIGESTS = Path(__file__).with_name("plan_digests.json")
FILES = ["config/config.yaml", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("config/studies/*.yaml")))]
FILES += ["examples/my_study.yaml"]


def planned(path) -> dict[str, dict]:
    """What a study file amounts to, by category: entries by their names."""
    study, datasets = studies.load(read_yaml(ROOT / path), ROOT / "config/datasets.yaml")
    plan = Plan(study, datasets)
    jobs = [job for jobs in plan.jobs.values() for job in jobs]
    comparators = [job for jobs in plan.comparators.values() for job in jobs]
    return {
        "runs": {job.path: [job.settings, job.seeds] for job in jobs},
        "inputs": {job.path: job.inputs for job in (*jobs, *comparators)},
        "comparators": {job.path: [job.settings, job.seeds] for job in comparators},
        "times": {name: times_job(study, name) for name in plan.jobs if name not in plan.played},
        "details": {name: plan.details(name) for name in study["experiments"]},
        "streams": {name: untitled(settings) for name, settings in study["streams"].items()},
        "logs": {name: untitled(settings) for name, settings in study["logs"].items()},
        "figures": {name: target.experiments for name, target in plan.figures.items()},
        "tables": {name: target.experiments for name, target in plan.tables.items()},
    }


def digest(entries: dict) -> str:
    """How many entries there are, and the start of the SHA-256 of all."""
    text = json.dumps(entries, sort_keys=True)
    return f"{len(entries)}: {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def digests(path) -> dict[str, str]:
    return {category: digest(entries) for category, entries in planned(path).items()}


def test_every_study_file_has_its_digests():
    assert list(json.loads(DIGESTS.read_text())) == FILES


@pytest.mark.parametrize("path", FILES)
def test_a_study_plans_what_it_planned(path):
    assert digests(path) == json.loads(DIGESTS.read_text())[path]


def test_a_digest_is_of_every_setting_seed_and_name():
    plan = planned("config/studies/tiny.yaml")
    jobs = plan["runs"]
    name, (settings, seeds) = next(iter(jobs.items()))
    others = {key: value for key, value in jobs.items() if key != name}
    assert digest(jobs) == digest(others | {name: [dict(reversed(settings.items())), seeds]})  # in any order
    changed = [
        {name: [settings | {"study_seed": 1}, seeds]}, {name: [settings, [*seeds, 9]]}, {f"{name}-more": jobs[name]}
    ]  # fmt: skip
    assert len({digest(jobs), *(digest(others | change) for change in changed)}) == 4
    assert [category for category, entries in plan.items() if not entries] == ["times"]
    assert planned("config/config.yaml")["times"]


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps({path: digests(path) for path in FILES}, indent=1) + "\n")
