# The study, checked and settled, its plan, and what rules share. Paths are those of `scant.study.plan`.
import argparse
import gc
import json
import os
import shlex
import sys
from pathlib import Path

from snakemake.logging import logger

from scant.ads import family as ads
from scant.clicklogs import family as rankings
from scant.finished import manifest, provenance
from scant.data.registry import groups_beside
from scant.errors import ScantError
from scant.files import sha256
from scant import serving
from scant.schema import PACKAGE, of_project, read_yaml
from scant.study import absent_data, plan, settings as studies, settled
from scant.study.code import digest as code
from scant.study.digests import Digests
from scant.study.paths import digest
from scant.verdict import selection

# A plan has millions of objects that stay. To search them for garbage takes a third of the time.
gc.set_threshold(200_000, 50, 100)

# Snakemake takes a workflow profile that is not there for none: a study that was meant for a cluster would run here.
flag = argparse.ArgumentParser(add_help=False)
flag.add_argument("--workflow-profile", default="none")
profile = flag.parse_known_args()[0].workflow_profile
folders = [Path(), Path("profiles"), Path(workflow.basedir, "profiles")]
if profile != "none" and not any(Path(folder, profile).exists() for folder in folders):
    known = ", ".join(sorted(file.parent.name for file in folders[-1].glob("*/profile.yaml")))
    raise WorkflowError(f"there is no workflow profile {profile!r}; profiles/ has {known}")

if workflow.modifier.path_modifier.prefix:
    what = "module prefix: a study's paths are its own. Give each study an id, or a working folder, of its own"
    raise WorkflowError(what)

# The process that plans settles the study; the Snakemake of each job on a cluster takes it as it is.
SETTLED = settled.FILE.format(study=config.get("study"))
try:
    # Another study's file is there where both are modules of one workflow.
    files = workflow.configfiles
    study_files = [file for file in files if read_yaml(file).get("study") == config.get("study")]
    if workflow.is_main_process:
        settled_study, lacking = studies.settle(config, study_files, SETTLED)
    else:
        settled_study, lacking = settled.read(SETTLED), {}
except ScantError as error:
    raise WorkflowError(str(error)) from None

STUDY, CLAIMS, PLAN = settled_study.study, settled_study.claims, settled_study.plan
DIGESTS = Digests(settled_study)

if workflow.is_main_process:
    for line in [*absent_data.notices(STUDY, lacking), *studies.unplayed(settled_study.given)]:
        logger.warning(line)


# To hold its limit of 100 jobs a second, Snakemake looks at all ready jobs again a second after each look, and each job
# that ends adds a look: after a few hundred jobs it does little else. Cores, or the cluster, are limit enough.
onstart:
    workflow.scheduler.job_rate_limiter = None
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
    **dict.fromkeys(["dataset", "part", "stream", "log", "experiment", "seeds"], "[^/]+"),
    run="[^/]+/[^/]+(/[^/]+)?/seed-[^/]+",  # experiment, place, learner (or what judges) unless all play, seeds


def needs(memory, minutes):
    """A job's memory (MB) and time: more at each retry, since the job may have failed for lack of it."""
    return {
        "mem_mb": lambda _, attempt: memory * attempt,
        "runtime": lambda _, attempt: minutes * attempt,
    }


def limit(name):
    """A limit of the runs of a family, "memory" or "minutes", likewise."""
    return lambda wc, attempt: getattr(PLAN.families[wc.run.split("/")[0]], name) * attempt


def own_files(wildcards):
    """The files of a part of the study's own data set, with sizes of queries beside it, so that an edit reruns jobs."""
    parts = STUDY["datasets"].get(PLAN.stored(wildcards.dataset).id, {"parts": {}})["parts"]
    file = str(of_project(parts[wildcards.part]["file"])) if wildcards.part in parts else ""
    paths = [file, groups_beside(file)] if file else []
    return [str(path) for path in paths if path and Path(path).is_file()]


# What claims are judged on, if the study judges any: all of a part of them by one job, see `selection.jobs`.
PARTS = selection.jobs(PLAN, CLAIMS)
COVERAGE = [plan.COVERAGE.format(study=STUDY["study"])] if STUDY["coverage"] else []
JUDGED_ON = PLAN.theory + COVERAGE if CLAIMS else []
# In the order of their files: of several experiments that a claim fits, the first decides.
JUDGING = code("scant.verdict.tables", *selection.modules(CLAIMS))
JUDGED = digest([json.dumps([STUDY, CLAIMS]), JUDGING])


def runs_to_judge(wildcards):
    """The files of runs, and of best fixed weights, that a part of the claims is judged on."""
    experiments, _ = PARTS[wildcards.part]
    runs = [file for name in experiments for file in PLAN.run_files(name)]
    return runs + PLAN.comparator_files(experiments)
