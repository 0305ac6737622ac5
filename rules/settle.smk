# The study: checked, settled and planned. Rules read STUDY, CLAIMS, PLAN and DIGESTS, which are made here.
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


# What Snakemake 9 does not offer a Snakefile in public: each in one function, with what would let it go.
def profile_asked():
    """The workflow profile of the command line, "none" without one. Snakemake takes one that is not there for none, and
    a study meant for a cluster would run here. It goes once Snakemake refuses such a profile itself.
    """
    flag = argparse.ArgumentParser(add_help=False)
    flag.add_argument("--workflow-profile", default="none")
    return flag.parse_known_args()[0].workflow_profile


def module_prefix():
    """The prefix of a module's paths; None without one. It goes once a module can ask for its prefix."""
    return workflow.modifier.path_modifier.prefix


def plans():
    """Whether this process plans the study, unlike the Snakemake of a job on a cluster. It goes once documented."""
    return workflow.is_main_process


def config_files():
    """The files of `--configfile` and `configfile:`. It goes once they are documented."""
    return workflow.configfiles


def lift_rate_limit():
    """Have Snakemake start jobs as they are ready. To hold its limit of 100 jobs a second, it looks at all ready jobs
    again a second after each look, and each job that ends adds a look: after a few hundred jobs it does little else.
    Cores, or the cluster, are limit enough. It goes once the limit can be set to none."""
    workflow.scheduler.job_rate_limiter = None


profile = profile_asked()
folders = [Path(), Path("profiles"), Path(workflow.basedir, "profiles")]
if profile != "none" and not any(Path(folder, profile).exists() for folder in folders):
    known = ", ".join(sorted(file.parent.name for file in folders[-1].glob("*/profile.yaml")))
    raise WorkflowError(f"there is no workflow profile {profile!r}; profiles/ has {known}")

if module_prefix():
    what = "module prefix: a study's paths are its own. Give each study an id, or a working folder, of its own"
    raise WorkflowError(what)

# The process that plans settles the study; the Snakemake of each job on a cluster takes it as it is.
SETTLED = settled.FILE.format(study=config.get("study"))
try:
    # Another study's file is there where both are modules of one workflow.
    files = config_files()
    study_files = [file for file in files if read_yaml(file).get("study") == config.get("study")]
    if plans():
        settled_study, lacking = studies.settle(config, study_files, SETTLED)
    else:
        settled_study, lacking = settled.read(SETTLED), {}
except ScantError as error:
    raise WorkflowError(str(error)) from None

STUDY, CLAIMS, PLAN = settled_study.study, settled_study.claims, settled_study.plan
DIGESTS = Digests(settled_study)

if plans():
    for line in [*absent_data.notices(STUDY, lacking), *studies.unplayed(settled_study.given)]:
        logger.warning(line)
