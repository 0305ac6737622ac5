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

from snakemake.logging import logger

from scant import families
from scant.ads import family as logs
from scant.data.registry import groups_beside
from scant.errors import ScantError
from scant.files import braces, write_text
from scant.games.family import times_job
from scant.schema import PACKAGE, check_file, of_project
from scant.study import code as codes
from scant.study import events, missing, named, plan
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
    studies.understand(config, workflow.config_settings.config)
    # The process that plans decides what is left out for lack of data and checks the settings, also for the Snakemake of
    # each job on a cluster.
    planned = not workflow.is_main_process
    decided = Path(f".snakemake/scant/{config['study']}.json")
    settled = (json.loads(decided.read_text()), {}) if planned and decided.is_file() else studies.settled(config)
    SETTINGS, missing_files = settled
    STUDY, DATASETS = studies.load(SETTINGS, checked=planned)
    studies.check_own_files(STUDY, DATASETS)
    if workflow.configfiles:
        studies.check_file(
            config, os.path.relpath(workflow.configfiles[-1]), f".snakemake/scant/{config['study']}.file"
        )
    CLAIMED = studies.claims(*studies.claims_files(STUDY), checked=planned)
except ScantError as error:
    raise WorkflowError(str(error)) from None

PLAN = plan.Plan(STUDY, DATASETS)
COMPARATORS = {job.path: job for jobs in PLAN.comparators.values() for job in jobs}
CLAIM_FIGURES = selection.figures(PLAN, CLAIMED)  # the claims in each figure of claims
CLAIM_FIGURES_OF_JOBS = [list(CLAIM_FIGURES)[at : at + 8] for at in range(0, len(CLAIM_FIGURES), 8)]

# The settings in the order of the study file, for jobs that need all of them. A file holds them, since a command cannot
# be longer than 128 KB. It is in Snakemake's own folder, since a dry run writes it, too.
STUDY_FILE = f".snakemake/scant/{STUDY['study']}.json"
if not Path(STUDY_FILE).is_file() or Path(STUDY_FILE).read_text() != json.dumps(SETTINGS):
    write_text(STUDY_FILE, json.dumps(SETTINGS))


for line in missing.notices(STUDY, missing_files) if workflow.is_main_process else ():
    logger.warning(line)

if workflow.is_main_process and not workflow.output_settings.dryrun:
    logger.addHandler(events.Events(events.RECORD.format(study=STUDY["study"])))


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


def needs(memory, minutes):
    """A job's memory (MB) and time: more at each retry, since the job may have failed for lack of it."""
    return {
        "mem_mb": lambda wildcards, attempt: memory * attempt,
        "runtime": lambda wildcards, attempt: minutes * attempt,
    }


def code(*modules):
    """A digest of the source code that some modules run, so that an edit to it reruns the job.

    It is a parameter of the rule: with source files as inputs, planning ten thousand jobs would take twice as long.
    """
    return codes.digest(*modules)


def kept(path):
    """The pattern of a path of `scant.study.plan`, of this study's results."""
    return path.replace("results/{study}", "<results>")


def dataset_id(wildcards):
    """The id of a data set in the study, of which a study's own have another name among the tables."""
    ids = {dataset.stored: id for id, dataset in DATASETS.items()}
    return ids.get(wildcards.dataset, wildcards.dataset)


def own_file(dataset, part):
    """The files of a part of the study's own data set, with sizes of queries beside it, so that an edit reruns jobs."""
    file = STUDY["datasets"].get(dataset, {}).get("parts", {}).get(part, {}).get("file")
    file = file and str(of_project(file))
    beside = groups_beside(file) if file else None
    return [path for path in (file, beside and str(beside)) if path and Path(path).is_file()]


def own_entry(dataset):
    """The study's own entry of a data set as JSON; "{}" if the data set is in the registry."""
    return compact({id: entry for id, entry in STUDY["datasets"].items() if id == dataset})


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


def players(job):
    """The learners that a job plays: its own, or all of its experiment."""
    learner = job.identity.get("learner")
    return [learner] if learner else STUDY["experiments"][job.identity["experiment"]]["learners"]


def modules_of(learners):
    """The modules of those learners that are users' own."""
    return [kind.partition(":")[0] for kind in (STUDY["learners"][name]["kind"] for name in learners) if ":" in kind]


def command(job, outputs, settings, **inputs):
    """A call of `scant job`, see `scant.jobs`: inputs are files by role.

    Where a rule has it as a parameter, a change of settings reruns the job; but not if the function that gives the
    parameter takes `input` or `output`, since Snakemake then takes the parameter for derived from these.
    """
    words = [f"job {job} --settings {shlex.quote(compact(settings))}", inputs_by(inputs, *inputs)]
    return " ".join([*words, f"--output {braces(outputs)}"])


def inputs_by(files, *roles):
    """Files by role as arguments of `scant job`."""
    named = {role: [files[role]] if isinstance(files[role], str) else files[role] for role in roles}
    return " ".join(f"--input {role} {braces(paths)}" for role, paths in named.items() if paths)


def one_after_another(commands):
    """Commands of `scant` as one, whose process starts once."""
    return " --then ".join(commands)


# A rule whose jobs make one thing each has one name and a wildcard. If the study's key `together` has its jobs make
# several, it stands in a loop, and has a name for each group of them.


def rules_of(job, groups, wildcard):
    """Names of a rule, each with the name of its log and the ids of what its job makes."""
    if not groups:
        return [(job, wildcard, [wildcard])]
    return [(f"{job}_{name}".replace("-", "_"), name, ids) for name, ids in groups.items()]


def draws_of(job, pattern):
    """Names of a rule that draws streams or logs, each with the place's id, its job's seeds, and a name for its log."""
    drawn = enumerate(PLAN.drawn(pattern))
    named = [(f"{job}_{number}", stream, seeds, plan.span(seeds)) for number, (stream, seeds) in drawn]
    return named or [(job, "{stream}", ["{seed}"], "{seed}")]


def drawing(role, section, place, seeds, wildcards):
    """The settings of a job that draws some seeds of a stream or log, whose id `scant.jobs` calls `role`."""
    (id,) = filled([place], wildcards)
    settings = {"settings": plan.untitled(STUDY[section][id]), "study_seed": STUDY["seed"]}
    return compact(settings | {role: id, "seeds": [int(seed) for seed in filled(seeds, wildcards)]})


def filled(patterns, wildcards):
    """Ids in which wildcards stand for themselves."""
    return [str(pattern).format(**dict(wildcards.items())) for pattern in patterns]


def runs_of(path, wildcards):
    """The run files that a process makes, see `scant.study.plan.Plan.processes`."""
    return PLAN.processes[filled([path], wildcards)[0]]


def family_of(path, wildcards):
    """The family of a process's experiment."""
    return PLAN.families[runs_of(path, wildcards)[0].identity["experiment"]]


def minutes_of(path, wildcards):
    """The minutes that a process may take."""
    return family_of(path, wildcards).minutes * len(runs_of(path, wildcards))


def identity(jobs, code):
    """What jobs on the same files have in common: study, experiment, place, code."""
    shared = {name: value for name, value in jobs[0].identity.items() if name != "learner"}
    return shared | {"study": STUDY["study"], "code": code}


def played(path, wildcards):
    """The command that makes a process's run files: those of a place, one after another, and then of the next."""
    family, commands = family_of(path, wildcards), []
    for _, jobs in groupby(runs_of(path, wildcards), key=lambda job: (job.identity["stream"], job.inputs)):
        jobs = list(jobs)
        shared = {
            name: value
            for name, value in jobs[0].settings.items()
            if all(name in job.settings and compact(job.settings[name]) == compact(value) for job in jobs)
        }
        learners = [
            {name: value for name, value in job.settings.items() if name not in shared}
            | {name: value for name, value in job.identity.items() if name == "learner"}
            for job in jobs
        ]
        settings = {"engine": family.engine, "settings": shared, "learners": learners, "seeds": jobs[0].seeds}
        own = modules_of(sorted({learner for job in jobs for learner in players(job)}))
        settings["identity"] = identity(jobs, code(family.code, *own))
        files = [plan.RUN.format(study=STUDY["study"], run=job.path) for job in jobs]
        commands.append(command("run", files, settings, **jobs[0].inputs))
    return one_after_another(commands)


def compared(job):
    """The command that finds the best fixed weights of a job."""
    settings = {
        "settings": job.settings,
        "seeds": job.seeds,
        "identity": identity([job], code("scant.online.comparator")),
    }
    return command("comparator", [plan.COMPARATOR.format(study=STUDY["study"], run=job.path)], settings, **job.inputs)


def run_rules():
    """Names of the rule `run`, each with the path of its processes, their files, and what wildcards in these may be.

    The path of a process, see `scant.study.plan.Plan.processes`, names its log.
    """
    alone, rules = [], {}
    for path, jobs in PLAN.processes.items():
        if len(jobs) == 1:
            alone.append(path)
            continue
        place, (experiment, *where, seeds) = jobs[0].identity["stream"], path.split("/")
        patterns = [f"{file.removesuffix(seeds)}{{seeds}}" for file in (path, *(job.path for job in jobs))]
        if where == [place]:
            patterns = [
                pattern.replace(f"{experiment}/{place}/", f"{experiment}/{{stream}}/", 1) for pattern in patterns
            ]
        names = rules.setdefault(tuple(patterns), {"stream": [], "seeds": []})
        names["stream"].append(place)
        names["seeds"].append(seeds)
    if alone or not rules:
        yield "run", "{run}", [kept(plan.RUN)], {"run": one_of(alone) if rules else ".+"}
    counts = Counter()
    for (path, *files), names in rules.items():
        name = f"run_{re.sub('[^A-Za-z0-9]', '_', path.partition('/')[0])}"
        counts[name] += 1
        limits = {wildcard: one_of(dict.fromkeys(known)) for wildcard, known in names.items()}
        # The learners of an experiment may play different seeds, or be many: it then has several rules.
        yield name + "_more" * (counts[name] - 1), path, [kept(plan.RUN).format(run=file) for file in files], limits


def traces_together():
    """The experiments whose traces one job gathers: those of a family, at most 20; by the job's name."""
    kinds = {}
    for experiment in PLAN.played if STUDY["together"] == "all" else ():
        kinds.setdefault(PLAN.families[experiment].kind, []).append(experiment)
    return {
        f"{kind}-{at // 20 + 1}" if at else kind: names[at : at + 20]  # a command holds at most 128 KB
        for kind, names in kinds.items()
        for at in range(0, len(names), 20)
    }


def gathered(experiments):
    """The command that gathers the traces of some experiments, one after another."""
    return one_after_another(
        command(
            "traces",
            [plan.TRACES.format(study=STUDY["study"], experiment=name)],
            {"details": named.told(PLAN, name)},
            runs=PLAN.run_files(name),
        )
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


def files_of(targets, names):
    """The files that some figures or tables read."""
    files = (file for name in names for file in (*PLAN.files(targets[name]), *PLAN.compared(targets[name])))
    return list(dict.fromkeys(files))


def shown(job, targets, names, **settings):
    """The command that makes some figures or tables, one after another."""
    folder = f"results/{STUDY['study']}/{job}s"
    return one_after_another(
        command(
            job,
            [f"{folder}/{name}.csv"],
            {"name": name, "told": told(targets[name]), **settings},
            files=PLAN.files(targets[name]),
            comparators=PLAN.compared(targets[name]),
        )
        for name in names
    )


def code_of(targets, names):
    """A digest of the code that makes some figures or tables."""
    return code("scant.present.making", *(module for name in names for module in targets[name].shown.modules))


def options_of(targets, names):
    """What the declarations of some figures or tables ask of their frames."""
    return compact({name: dict(targets[name].shown.options) for name in names})
