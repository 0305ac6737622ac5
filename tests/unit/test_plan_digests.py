"""What every study file plans is what it planned before: digests of jobs, what reports are told,
and what is shown.

Figures and tables are held once their names are among those of the digests: one that is added fails
nothing. Whoever changes on purpose what a study plans writes the digests anew, and says in the
commit what changed and why:

    PYTHONPATH=tests python tests/unit/test_plan_digests.py
"""

import hashlib
import json
from pathlib import Path

import pytest
from small_studies import STUDIES, shipped

from scant.declare import families
from scant.study.plan import Plan, untitled

DIGESTS = Path(__file__).with_name("plan_digests.json")
FILES = [*STUDIES, "examples/my_study.yaml"]
SHOWN = list(dict.fromkeys(shown.name for _, shown in families.shown()))


def planned(path, names) -> dict[str, dict]:
    """What a study file amounts to, by category: entries by their names."""
    study, datasets = shipped(path)
    plan = Plan(study, datasets)
    jobs = [job for jobs in plan.jobs.values() for job in jobs]
    comparators = [job for jobs in plan.comparators.values() for job in jobs]
    return {
        "runs": {job.path: [job.settings, job.seeds] for job in jobs},
        "inputs": {job.path: job.inputs for job in (*jobs, *comparators)},
        "comparators": {job.path: [job.settings, job.seeds] for job in comparators},
        "details": {name: plan.details(name) for name in study["experiments"]},
        "streams": {name: untitled(settings) for name, settings in study["streams"].items()},
        "logs": {name: untitled(settings) for name, settings in study["logs"].items()},
        "figures": {
            name: target.experiments for name, target in plan.figures.items() if name in names
        },
        "tables": {
            name: target.experiments for name, target in plan.tables.items() if name in names
        },
    }


def digest(entries: dict) -> str:
    """How many entries there are, and the start of the SHA-256 of all."""
    text = json.dumps(entries, sort_keys=True)
    return f"{len(entries)}: {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def digests(path, names) -> dict[str, str]:
    return {category: digest(entries) for category, entries in planned(path, names).items()}


def test_every_study_file_has_its_digests():
    assert list(json.loads(DIGESTS.read_text())) == ["shown", *FILES]


@pytest.mark.parametrize("path", FILES)
def test_a_study_plans_what_it_planned(path):
    known = json.loads(DIGESTS.read_text())
    assert digests(path, known["shown"]) == known[path]


def test_a_digest_is_of_every_setting_seed_and_name():
    plan = planned("config/studies/tiny.yaml", SHOWN)
    jobs = plan["runs"]
    name, (settings, seeds) = next(iter(jobs.items()))
    others = {key: value for key, value in jobs.items() if key != name}
    # in any order
    assert digest(jobs) == digest(others | {name: [dict(reversed(settings.items())), seeds]})
    changed = [
        {name: [settings | {"study_seed": 1}, seeds]}, {name: [settings, [*seeds, 9]]},
        {f"{name}-more": jobs[name]}
    ]  # fmt: skip
    assert len({digest(jobs), *(digest(others | change) for change in changed)}) == 4


if __name__ == "__main__":
    known = {"shown": SHOWN} | {path: digests(path, SHOWN) for path in FILES}
    DIGESTS.write_text(json.dumps(known, indent=1) + "\n")
