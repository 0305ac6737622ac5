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
        """The digest of the entry of a data set's part in the registry or the study."""
        dataset = self.plan.stored(wildcards.dataset)
        entry = {key: value for key, value in asdict(dataset).items() if key not in WORDS}
        return digest(entry | asdict(dataset.part(wildcards.part)))

    def reader(self, wildcards) -> str:
        """The digest of the code outside of scant, a package's or a user's, that reads a data set;
        "" if scant reads it.
        """
        modules = reading_modules(self.plan.stored(wildcards.dataset))
        return code.digest(*modules) if modules else ""

    def stream(self, wildcards) -> str:
        """The digest of a stream's settings, and of its data set or generator."""
        settings = self.study["streams"][wildcards.stream]
        dataset = self.plan.datasets.get(settings.get("dataset"))
        module, own, _ = settings.get("generator", "").partition(":")
        modules = [code.digest(module)] if own else []
        normalised = dataset and dataset.normalised
        return digest([untitled(settings), normalised, self.study["seed"], *modules])

    def ads_log(self, wildcards) -> str:
        """The digest of the settings of a log of ads."""
        return digest([untitled(self.study["logs"][wildcards.ads_log]), self.study["seed"]])

    def click_log(self, wildcards) -> str:
        """The digest of a click log's settings, without the settings of its stream."""
        return digest([untitled(self.study["click_logs"][wildcards.click_log]), self.study["seed"]])

    def run(self, wildcards) -> str:
        """The digest of the settings of a run, and of the code that plays it."""
        job = self.plan.runs[wildcards.run]
        return digest([job.settings, self.settled.code_of(job)])

    def best_weights(self, wildcards) -> str:
        """The digest of the settings and code by which best fixed weights are found."""
        settings = self.plan.compared[wildcards.run].settings
        return digest([settings, code.digest("scant.rankers.comparator")])

    def shown(self, targets: Mapping[str, Target]) -> str:
        """The digest of what figures or tables depend on besides files: titles, options, code, and,
        for figures, the looks of learners.
        """
        made_of = []
        for target in targets.values():
            besides = [self.study["seed"], target.shown.caption, target.shown.printed]
            if target.shown.draw:
                besides = [self._looks(target), self.study["figures"]]
            made_of.append([self._target(target), besides])
        return digest(made_of)

    def _target(self, target: Target) -> list:
        played = target.experiments if target.shown.reads in ("traces", "regret") else ()
        details = list(map(self.plan.details, played))
        made_by = code.digest("scant.present.making", *target.shown.modules)
        return [details, dict(target.shown.options), made_by]

    def _looks(self, target: Target) -> dict:
        """The looks of a figure's learners, its family's and users' own, which digests of code
        leave out.
        """
        looks = {kind: learner.looks for kind, learner in target.family.learners.items()}
        for experiment in target.experiments:
            for id in self.study["experiments"][experiment]["learners"]:
                kind = self.study["learners"][id]["kind"]
                for learner in families.classes(kind) if ":" in kind else ():
                    looks[kind] = learner.looks
        return looks
