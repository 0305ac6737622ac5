"""The settled study: the one file from which each job of a study takes all that it is to do.

The workflow writes it once it has checked the study: defaults are filled in, sweeps are expanded,
what lacks data is left out, and the data sets, the claims and the digests of the code are copied
in. A job finds its part by its ids, and checks nothing again.
"""

import json
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from scant.data.registry import Archive, Dataset, Part
from scant.declare.families import Job
from scant.errors import DataError, check_name
from scant.files import read_sealed, write_sealed
from scant.study.code import digest
from scant.study.plan import Plan

FILE = ".snakemake/scant/{study}.json"  # in Snakemake's own folder, since a dry run writes it, too
LOCKS = ".snakemake/locks"


class Settled:
    """A settled study, made from what `content` returns.

    given : the settings as the study file has them
    study : the complete settings, see `scant.study.settings.load`
    datasets : by id, as `load` returns them
    claims : by id, see `scant.study.settings.claims`
    draws : see `scant.study.plan.Plan`
    code : by experiment and learner, a digest of the code that plays; "" for all learners of the
        experiment
    """

    def __init__(self, content: dict):
        self.given, self.study, self.claims = (content[key] for key in ("given", "study", "claims"))
        self.draws, self.code = content["draws"], content["code"]
        self.datasets = {name: _dataset(entry) for name, entry in content["datasets"].items()}

    @cached_property
    def plan(self) -> Plan:
        """The plan of the whole study."""
        return Plan(self.study, self.datasets, self.draws)

    def plan_of(self, experiment: str) -> Plan:
        """The plan of one experiment alone, which imports no other family; of no experiment for "".

        Raises
        ------
        SettingError : there is no such experiment; names the nearest
        """
        experiments, alone = self.study["experiments"], {}
        if experiment:
            check_name("experiment", experiment, experiments)
            alone = {experiment: experiments[experiment]}
        return Plan(self.study | {"experiments": alone}, self.datasets, self.draws)

    def code_of(self, job: Job) -> str:
        """The digest of the code that makes a run file."""
        return self.code[job.identity["experiment"]][job.identity.get("learner", "")]


def _dataset(entry: dict) -> Dataset:
    parts = {name: Part(**part) for name, part in entry["parts"].items()}
    archive = entry["archive"] and Archive(**entry["archive"])
    tuples = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
    return Dataset(**entry | tuples | {"parts": parts, "archive": archive})


def content(given: dict, plan: Plan, claims: dict[str, dict]) -> dict:
    """The content of a settled study: values that JSON can hold; see `Settled` for the
    parameters.
    """
    datasets = {name: asdict(dataset) for name, dataset in plan.datasets.items()}
    code = {}
    for name, experiment in plan.study["experiments"].items():
        learners = ("", *experiment["learners"])
        code[name] = {learner: digest(*plan.modules(name, learner)) for learner in learners}
    settled = {"given": given, "study": plan.study, "datasets": datasets, "draws": plan.draws}
    # with lists in place of tuples
    return json.loads(json.dumps(settled | {"claims": claims, "code": code}))


def read(file) -> Settled:
    """The settled study in a file.

    Raises
    ------
    DataError : there is none, or it was changed since the workflow wrote it
    """
    try:
        return Settled(read_sealed(file))
    except (OSError, ValueError, KeyError, TypeError) as error:
        advice = "Only the workflow writes such a file: snakemake --cores all"
        raise DataError(
            file, f"is no settled study, or was changed ({error})", advice=advice
        ) from None


def save(file, content: dict) -> None:
    """Write a settled study, and seal it.

    A file whose study is being played stays: its jobs read it, and a dry run of changed settings
    must not change them.
    """
    if Path(file).is_file() and _is_played(content["study"]["study"]):
        return
    write_sealed(file, content)


def _is_played(study: str) -> bool:
    """Whether a run of Snakemake holds the lock on results of a study."""
    locks = Path(LOCKS).glob("*.output.lock")
    return any(f"results/{study}/" in lock.read_text(encoding="utf-8") for lock in locks)
