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


def claims_figures(ending):
    """The files of all figures of claims with this ending."""
    return [f"<results>/figures/{plan.OF_CLAIMS}{name}.{ending}" for name in CLAIM_FIGURES]


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
    """Jobs of one process as flags of a command: study, experiment, place, learners, seeds, and input files."""
    flags, identities = {"study": [STUDY["study"]]}, [job.identity for job in jobs]
    flags |= {name: dict.fromkeys(identity[name] for identity in identities) for name in identities[0]}
    flags |= {"seeds": map(str, jobs[0].seeds)}
    words = [f"--{name} {' '.join(map(shlex.quote, values))}" for name, values in flags.items()]
    inputs = jobs[0].inputs.items()
    words += [f"--input {name} {' '.join(map(shlex.quote, files))}" for name, files in inputs if files]
    return " ".join(words)


def shared_settings(jobs):
    """The settings that are the same in all of several jobs."""
    return {
        name: value
        for name, value in jobs[0].settings.items()
        if all(name in job.settings and compact(job.settings[name]) == compact(value) for job in jobs)
    }


def own_settings(jobs):
    """The settings of each of several jobs that are not the same in all of them."""
    shared = shared_settings(jobs)
    return [{name: value for name, value in job.settings.items() if name not in shared} for job in jobs]


def together(wildcards):
    """The jobs that one process plays."""
    return TOGETHER[f"{wildcards.experiment}/{wildcards.stream}/{wildcards.seeds}"]


def rules_together():
    """The rules of processes that play several learners: the experiment, learners, places and seeds of each, by name.

    Several for an experiment in which not all learners play the same seeds.
    """
    seeds, places = {}, {}
    for path, jobs in TOGETHER.items():
        experiment, place, batch = path.split("/")
        learners = tuple(job.identity["learner"] for job in jobs)
        seeds.setdefault((experiment, learners, place), []).append(batch)
    for (experiment, learners, place), batches in seeds.items():
        places.setdefault((experiment, learners, tuple(batches)), []).append(place)
    rules = {}
    for (experiment, learners, batches), at in places.items():
        name = f"run_{re.sub('[^A-Za-z0-9]', '_', experiment)}"
        while name in rules:
            name += "_more"
        rules[name] = (experiment, learners, at, batches)
    return rules


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
