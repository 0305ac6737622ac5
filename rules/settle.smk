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
