# The study, checked, and its plan: jobs, targets, and the functions that rules share. Paths are those of
# `scant.study.plan`.
import argparse
import gc
import json
import os
import re
import shlex
import sys
from collections import Counter
from dataclasses import asdict
from functools import cache
from itertools import groupby
from pathlib import Path

from scant import families
from scant.ads import family as logs
from scant.data.registry import groups_beside
from scant.errors import ScantError
from scant.files import braces, write_text
from scant.games.family import times_job
from scant.schema import PACKAGE, check_file, of_project
from scant.study import code as codes
from scant.study import named, plan
from scant.study import settings as studies
from scant.verdict import selection

# A plan has millions of objects that stay. To search them for garbage takes a third of the time.
gc.set_threshold(200_000, 50, 100)

flag = argparse.ArgumentParser(add_help=False)
flag.add_argument("--workflow-profile", default="none")
profile = flag.parse_known_args()[0].workflow_profile
folders = [Path(), Path("profiles"), Path(workflow.basedir, "profiles")]
if profile != "none" and not any(Path(folder, profile).exists() for folder in folders):
    known = ", ".join(sorted(file.parent.name for file in folders[-1].glob("*/profile.yaml")))
    raise WorkflowError(f"there is no workflow profile {profile!r}; profiles/ has {known}")

try:
    for file in workflow.configfiles:
        check_file(file)
    STUDY, DATASETS = studies.load(config)
    studies.check_own_files(STUDY)
    if workflow.configfiles:
        studies.check_file(
            config, os.path.relpath(workflow.configfiles[-1]), f".snakemake/scant/{config['study']}.file"
        )
    CLAIMED = studies.claims(STUDY["claims"]) if STUDY["claims"] else {}
except ScantError as error:
    raise WorkflowError(str(error)) from None

PLAN = plan.Plan(STUDY, DATASETS)
RUNS = {path: jobs[0] for path, jobs in PLAN.processes.items() if len(jobs) == 1}
TOGETHER = {path: jobs for path, jobs in PLAN.processes.items() if len(jobs) > 1}
SIMULATED, DRAWN = PLAN.drawn(plan.DRAW), PLAN.drawn(plan.BANDIT)  # streams and logs with the seeds that a job draws
COMPARATORS = {job.path: job for jobs in PLAN.comparators.values() for job in jobs}
CLAIM_FIGURES = selection.figures(PLAN, CLAIMED)  # the claims in each figure of claims
CLAIM_FIGURES_OF_JOBS = [list(CLAIM_FIGURES)[at : at + 12] for at in range(0, len(CLAIM_FIGURES), 12)]

# The settings in the order of the study file, for jobs that need all of them. A file holds them, since a command cannot
# be longer than 128 KB. It is in Snakemake's own folder, since a dry run writes it, too.
STUDY_FILE = f".snakemake/scant/{STUDY['study']}.json"
if not Path(STUDY_FILE).is_file() or Path(STUDY_FILE).read_text() != json.dumps(config):
    write_text(STUDY_FILE, json.dumps(config))


# To hold its limit of 100 jobs a second, Snakemake looks at all ready jobs again a second after each look, and each job
# that ends adds a look: after a few hundred jobs it does little else. Cores, or the cluster, are limit enough.
onstart:
    workflow.scheduler.job_rate_limiter = None


onerror:
    print(f"Which jobs failed, and why: scant status results/{STUDY['study']}", file=sys.stderr)


pathvars:
    results=f"results/{STUDY['study']}",


# Jobs call the `scant` of the environment that Snakemake runs in, even if it is not activated. This prefix replaces
# Snakemake's, so it has to set pipefail: else `| tee` would hide that a job failed. A killed job cannot say so itself.
shell.prefix(
    """set -euo pipefail; trap '[ $? != 137 ] || echo "A job was killed, as where memory runs out." >&2' EXIT; """
    f"PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; export SCANT_JOB=1; "
)
if STUDY["data"]["mirror"]:
    os.environ.update(SCANT_DATA=STUDY["data"]["mirror"])
os.environ.update(SCANT_FIGURES=json.dumps(STUDY["figures"]))

FIGURE = "<results>/figures/{figure}"
STUDY_TABLE = "<results>/tables/{table}"
CLAIMS = "<results>/claims"


def claims_figures(names, ending):
    """The files of some figures of claims with this ending."""
    return [f"<results>/figures/{plan.OF_CLAIMS}{name}.{ending}" for name in names]


def one_of(names):
    """A pattern for a wildcard that is one of some names."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    dataset="[^/]+",
    part="[^/]+",
    stream="[^/]+",
    experiment="[^/]+",
    run=".+",
    seed="[0-9]+",
    figure=one_of(PLAN.figures),
    table=one_of(PLAN.tables),


compact = named.compact


def growing(amount):
    """A job's memory (MB) or time (minutes): more at each retry, since the job may have failed for lack of it."""
    return lambda wildcards, attempt: amount * attempt


def code(*modules):
    """A digest of the source code that some modules run, so that an edit to it reruns the job.

    It is a parameter of the rule: with source files as inputs, planning ten thousand jobs would take twice as long.
    """
    return codes.digest(*modules)


def kept(path):
    """The pattern of a path of `scant.study.plan`, of this study's results."""
    return path.replace("results/{study}", "<results>")


def study_file():
    """The path of the study file that the command line names, relative to the working folder."""
    return os.path.relpath(workflow.configfiles[-1])


def dataset_id(wildcards):
    """The id of a data set in the study, of which a study's own have another name among the tables."""
    ids = {dataset.stored: id for id, dataset in DATASETS.items()}
    return ids.get(wildcards.dataset, wildcards.dataset)


def own_file(dataset, part):
    """The local files of a part of the study's own data set, so that an edit reruns jobs; [] for other data sets.

    With one that says how many rows its queries have, if there is one beside it.
    """
    file = STUDY["datasets"].get(dataset, {}).get("parts", {}).get(part, {}).get("file")
    beside = groups_beside(file) if file else None
    return [path for path in (file, beside and str(beside)) if path and Path(path).is_file()]


def own_entry(dataset):
    """The study's own entry of a data set as JSON; "{}" if the data set is in the registry."""
    entry = STUDY["datasets"].get(dataset)
    return compact({dataset: entry} if entry else {})


def entry(dataset, part):
    """What the registry, or the study, says of a part of a data set, but for words, so that a change reruns jobs."""
    found = DATASETS[dataset]
    words = ("title", "home", "terms", "get", "parts", "cover", "normalised")
    return compact({key: value for key, value in asdict(found).items() if key not in words} | asdict(found.part(part)))


def data_tables():
    """The parquet tables that the study's streams and logs, and its key `tables_of`, need."""
    wanted = [
        plan.tables_of(DATASETS, settings["dataset"], settings.get("parts"))
        for settings in STUDY["streams"].values()
        if "dataset" in settings
    ]
    wanted += [logs.tables(STUDY, DATASETS, log) for log in logs.logs_in_use(STUDY) if "dataset" in STUDY["logs"][log]]
    wanted += [plan.tables_of(DATASETS, dataset) for dataset in STUDY["tables_of"]]
    return list(dict.fromkeys(table for tables in wanted for table in tables))


def family_of(path):
    """The family of the experiment that a run file belongs to."""
    return PLAN.families[path.partition("/")[0]]


def own_modules(job):
    """The modules of users' own learners that play in a job: its learner, or all learners of its experiment."""
    learner = job.identity.get("learner")
    return modules_of([learner] if learner else STUDY["experiments"][job.identity["experiment"]]["learners"])


def modules_of(learners):
    """The modules of those learners that are users' own."""
    kinds = [STUDY["learners"][learner]["kind"] for learner in learners]
    return [kind.partition(":")[0] for kind in kinds if ":" in kind]


def job_flags(*jobs):
    """Jobs on the same files as flags of a command: study, experiment, place, learners, seeds, and input files."""
    flags, identities = {"study": [STUDY["study"]]}, [job.identity for job in jobs]
    flags |= {name: dict.fromkeys(identity[name] for identity in identities) for name in identities[0]}
    flags |= {"seeds": map(str, jobs[0].seeds)}
    words = [f"--{name} {' '.join(map(shlex.quote, values))}" for name, values in flags.items()]
    inputs = jobs[0].inputs.items()
    words += [f"--input {name} {braces(files)}" for name, files in inputs if files]
    return " ".join(words)


def one_after_another(commands):
    """Commands of `scant` as one, whose process starts once."""
    return " --then ".join(commands)


def together(wildcards):
    """The jobs that one process plays, see `scant.study.plan.Plan.processes`."""
    names = (getattr(wildcards, name, None) for name in ("experiment", "stream", "seeds"))
    return TOGETHER["/".join(filter(None, names))]


def runs_together(wildcards):
    """The command that plays the jobs of one process: those of a place, one after another, and then of the next."""
    family = PLAN.families[wildcards.experiment]
    digest = code(family.code)
    commands = []
    for _, jobs in groupby(together(wildcards), key=lambda job: (job.identity["stream"], job.inputs)):
        jobs = list(jobs)
        shared = {
            name: value
            for name, value in jobs[0].settings.items()
            if all(name in job.settings and compact(job.settings[name]) == compact(value) for job in jobs)
        }
        own = [{name: value for name, value in job.settings.items() if name not in shared} for job in jobs]
        files = braces(plan.RUN.format(study=STUDY["study"], run=job.path) for job in jobs)
        commands.append(
            f"run --engine {family.engine} {job_flags(*jobs)} --code {digest} --settings {shlex.quote(compact(shared))}"
            f" --own {shlex.quote(compact(own))} --output {files}"
        )
    return one_after_another(commands)


def rules_together():
    """The rules of processes that play several jobs: by name, the experiment, the run files as patterns, and what the
    wildcards `stream` and `seeds` may be.

    Several for an experiment in which not all learners play the same seeds.
    """
    batches = {}
    for path, jobs in TOGETHER.items():
        experiment, *place, seeds = path.split("/")
        files = [str(Path(job.path).relative_to(experiment).parent) for job in jobs]  # place/learner, or place alone
        if place:
            files = [file.replace(place[0], "{stream}", 1) for file in files]
        streams, spans = batches.setdefault((experiment, tuple(files)), ([], []))
        streams += place
        spans.append(seeds)
    rules = {}
    for (experiment, files), (streams, spans) in batches.items():
        name = f"run_{re.sub('[^A-Za-z0-9]', '_', experiment)}"
        while name in rules:
            name += "_more"
        patterns = [kept(plan.RUN).format(run=f"{{experiment}}/{file}/{{seeds}}") for file in files]
        rules[name] = (experiment, "{experiment}/{stream}/{seeds}" if streams else "{experiment}/{seeds}", patterns)
        rules[name] += (dict.fromkeys(streams), dict.fromkeys(spans))
    return rules


def traces_together():
    """The experiments whose traces one process gathers: those of a family, at most 20; by the process's name."""
    kinds = {}
    for experiment in PLAN.played if STUDY["together"] == "all" else ():
        kinds.setdefault(PLAN.families[experiment].kind.replace("-", "_"), []).append(experiment)
    return {
        f"{kind}_{at // 20 + 1}" if at else kind: names[at : at + 20]  # a command holds at most 128 KB
        for kind, names in kinds.items()
        for at in range(0, len(names), 20)
    }


def gathered(experiments):
    """The command that gathers the traces of some experiments, one after another."""
    return one_after_another(
        f"gather {braces(PLAN.run_files(name))} --details {shlex.quote(compact(named.told(PLAN, name)))}"
        f" --output {shlex.quote(plan.TRACES.format(study=STUDY['study'], experiment=name))}"
        for name in experiments
    )


@cache
def told_of(experiment):
    """A digest of what the traces of an experiment carry."""
    return named.digest(named.told(PLAN, experiment))


def told(target):
    """The digests of what the traces that a figure or table reads carry, by experiment."""
    return {name: told_of(name) for name in target.experiments if target.shown.reads in ("traces", "regret")}


def looks(name):
    """How a figure is drawn, as digests of code do not say: its family's learners, one's own, and the key `figures`."""
    target = PLAN.figures[name]
    learners = (learner for shown in target.experiments for learner in STUDY["experiments"][shown]["learners"])
    own = {kind for kind in (STUDY["learners"][learner]["kind"] for learner in learners) if ":" in kind}
    declared = {kind: learner.looks for kind in own for learner in families.classes(kind)}
    declared |= {kind: learner.looks for kind, learner in target.family.learners.items()}
    return declared | {"figures": STUDY["figures"]}


def titles():
    """The titles of places and learners, by their ids, for figures of claims; without ids that have several titles."""
    sections = [STUDY[key] for key in (*families.places(), "learners")]
    named = {(name, entry.get("title", name)) for section in sections for name, entry in section.items()}
    counts = Counter(name for name, _ in named)
    return {name: title for name, title in named if counts[name] == 1 and title != name}


def made_alone(targets):
    """Those figures, or tables, of the study that have a process of their own."""
    return () if STUDY["together"] == "all" else targets


def files_of(targets):
    """The files that some figures or tables read."""
    files = (file for target in targets.values() for file in (*PLAN.files(target), *PLAN.compared(target)))
    return list(dict.fromkeys(files))


def inputs_of(targets):
    """The files that each of some figures or tables reads."""
    return {
        name: {"inputs": PLAN.files(target), "comparators": PLAN.compared(target), "told": told(target)}
        for name, target in targets.items()
    }


def code_of(targets):
    """A digest of the code that makes some figures or tables."""
    return code("scant.present.making", *(module for target in targets.values() for module in target.shown.modules))


def options_of(targets):
    """What the declarations of some figures or tables ask of their frames."""
    return compact({name: dict(target.shown.options) for name, target in targets.items()})
