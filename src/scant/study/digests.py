"""What the jobs of a study are made of besides their files, as digests: the parameters of the
workflow's rules.

Snakemake does a job again if its parameters change: so a change of settings or code redoes the jobs
that depend on it and no other. With source files as inputs, planning ten thousand jobs would take
twice as long.
"""

from collections.abc import Mapping
from dataclasses import asdict

from scant.data.registry import reading_modules
from scant.declare import families
from scant.study import code
from scant.study.paths import digest
from scant.study.plan import Target, untitled
from scant.study.settled import Settled

# of a data set: they change no table
WORDS = ("title", "home", "terms", "get", "parts", "cover", "normalised")


class Digests:
    """The digests of the jobs of a settled study, by the wildcards of their rules."""

    def __init__(self, settled: Settled):
        self.settled, self.study, self.plan = settled, settled.study, settled.plan

    def dataset(self, wildcards) -> str:
        """Of what the registry, or the study, says of a part of a data set."""
        dataset = self.plan.stored(wildcards.dataset)
        entry = {key: value for key, value in asdict(dataset).items() if key not in WORDS}
        return digest(entry | asdict(dataset.part(wildcards.part)))

    def reader(self, wildcards) -> str:
        """Of the code of another package, or of the user, that reads a data set; "" if none
        does.
        """
        modules = reading_modules(self.plan.stored(wildcards.dataset))
        return code.digest(*modules) if modules else ""

    def stream(self, wildcards) -> str:
        """Of the settings of a stream."""
        settings = self.study["streams"][wildcards.stream]
        normalised = (
            self.plan.datasets[settings["dataset"]].normalised if "dataset" in settings else None
        )
        modules = [
            code.digest(name.partition(":")[0])
            for name in [settings.get("generator", "")]
            if ":" in name
        ]
        return digest([untitled(settings), normalised, self.study["seed"], *modules])

    def log(self, wildcards) -> str:
        """Of the settings of a log."""
        return digest([untitled(self.study["logs"][wildcards.log]), self.study["seed"]])

    def run(self, wildcards) -> str:
        """Of the settings of a run, and of the code that plays it."""
        job = self.plan.runs[wildcards.run]
        return digest([job.settings, self.settled.code_of(job)])

    def best_weights(self, wildcards) -> str:
        """Of the settings and code by which the best fixed weights are found."""
        return digest(
            [self.plan.compared[wildcards.run].settings, code.digest("scant.rankers.comparator")]
        )

    def times(self, wildcards) -> str:
        """Of the settings and code of an experiment of which the time is measured."""
        experiment = self.study["experiments"][wildcards.experiment]
        entries = [
            self.study[section][id]
            for section in ("games", "learners")
            for id in experiment[section]
        ]
        return digest(
            [experiment, entries, self.study["seed"], self.settled.code[wildcards.experiment][""]]
        )

    def shown(self, targets: Mapping[str, Target]) -> str:
        """Of what figures or tables are made of: titles, options, code; and how learners of figures
        are drawn.
        """
        made_of = []
        for target in targets.values():
            besides = (
                [self._looks(target), self.study["figures"]]
                if target.shown.draw
                else self.study["seed"]
            )
            made_of.append([self._target(target), besides])
        return digest(made_of)

    def _target(self, target: Target) -> list:
        played = target.experiments if target.shown.reads in ("traces", "regret") else ()
        details = [self.plan.details(name) for name in played]
        return [
            details,
            dict(target.shown.options),
            code.digest("scant.present.making", *target.shown.modules),
        ]

    def _looks(self, target: Target) -> dict:
        """The looks of a figure's learners, its family's and users' own, which digests of code
        leave out.
        """
        learners = {
            id for name in target.experiments for id in self.study["experiments"][name]["learners"]
        }
        kinds = {self.study["learners"][id]["kind"] for id in learners}
        of_users = {
            kind: learner.looks
            for kind in kinds
            if ":" in kind
            for learner in families.classes(kind)
        }
        return of_users | {kind: learner.looks for kind, learner in target.family.learners.items()}
