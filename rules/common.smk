# What rules share.
#
# `<results>` in a path is the study's folder, results/{study}; paths that code reads, too, are in `scant.study.plan`.
# `code`, `settings`, `digest` and others of `params` stand in no command: they are digests of what a job's result
# depends on besides its input files; a change of them makes Snakemake do the job again (`scant.study.digests`).
# `priority` decides among jobs that could start: what is drawn (6) before runs (5), since runs wait for it; what is
# judged (20), ranked (10), drawn as a figure or put in a table (8) as soon as its runs are there, so that no core is
# idle at the end.


onstart:
    lift_rate_limit()
    serving.start(workflow)


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


wildcard_constraints:
    **dict.fromkeys(
        ["dataset", "part", "stream", "ads_log", "click_log", "kinds", "seeds"], "[^/]+"
    ),
    run="[^/]+/[^/]+(/[^/]+)?/seed-[^/]+",  # experiment, place, learner (or what judges) unless all play, seeds


def needs(memory, minutes):
    """A job's memory (MB) and time: more at each retry, since the job may have failed for lack of it."""
    return {
        "mem_mb": lambda _, attempt: memory * attempt,
        "runtime": lambda _, attempt: minutes * attempt,
    }


def settled_file(wildcards, threads):
    """The settled study. Snakemake records no parameter that depends on threads: else another study's name would redo
    the data that studies share."""
    return SETTLED


def limit(name):
    """A limit of the runs of a family, "memory" or "minutes", likewise."""
    return lambda wc, attempt: getattr(PLAN.families[wc.run.split("/")[0]], name) * attempt


def own_files(wildcards):
    """The files of a part of the study's own data set, with sizes of queries beside it, so that an edit reruns jobs."""
    parts = STUDY["datasets"].get(PLAN.stored(wildcards.dataset).id, {"parts": {}})["parts"]
    file = str(of_project(parts[wildcards.part]["file"])) if wildcards.part in parts else ""
    paths = [file, groups_beside(file)] if file else []
    return [str(path) for path in paths if path and Path(path).is_file()]


def runs_to_judge(wildcards):
    """The files of runs, and of best fixed weights, that the claims on experiments of some kinds are judged on."""
    experiments, _ = CLAIMS_OF[wildcards.kinds]
    runs = [file for name in experiments for file in PLAN.run_files(name)]
    return runs + PLAN.comparator_files(experiments)
