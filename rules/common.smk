# The study's settings, checked, and the names of its files. No other rule file composes a path.
import argparse
import gc
import hashlib
import json
import os
import re
import shlex
import sys
from pathlib import Path

from scant.errors import ScantError
from scant.files import braces
from scant.present import catalogue
from scant.study import code as codes
from scant.study import settings as studies

# Plans are millions of objects that stay: to search them for garbage after every 700 new ones takes a third of the time.
gc.set_threshold(200_000, 50, 100)

# A workflow profile that is not there would be passed over without a word, and all jobs run on this machine.
flag = argparse.ArgumentParser(add_help=False)
flag.add_argument("--workflow-profile", default="none")
profile = flag.parse_known_args()[0].workflow_profile
places = [Path(), Path("profiles"), Path(workflow.basedir, "profiles")]
if profile != "none" and not any(Path(place, profile).exists() for place in places):
    there = ", ".join(sorted(file.parent.name for file in places[-1].glob("*/profile.yaml")))
    raise WorkflowError(f"there is no workflow profile {profile!r}; profiles/ has {there}")

try:
    STUDY, DATASETS = studies.load(config)
    CLAIMED = studies.claims(STUDY["claims"]) if STUDY["claims"] else {}
except ScantError as error:
    raise WorkflowError(str(error)) from None


FAMILIES = catalogue.families(STUDY, CLAIMED)  # of claims, those that the study draws a figure of


pathvars:
    results=f"results/{STUDY['study']}",


# Jobs call the `scant` of the environment that Snakemake runs in, activated or not. The prefix takes the place of
# Snakemake's own, without which `| tee` would hide that a job failed. What is killed cannot say so itself.
shell.prefix(
    """set -euo pipefail; trap '[ $? != 137 ] || echo "A job was killed, as where memory runs out." >&2' EXIT; """
    f"PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
)
if STUDY["data"]["mirror"]:
    os.environ.update(SCANT_DATA=STUDY["data"]["mirror"])

ORIGINAL = "results/data/original/{dataset}/{part}.txt"
TABLE = "results/data/tables/{dataset}/{part}.parquet"
STREAM = "<results>/streams/{stream}.arrow"
DRAW = "<results>/streams/{stream}/seed-{seed}.arrow"
RUN = "<results>/runs/{experiment}/{stream}/{learner}/seed-{seeds}.parquet"
GAME_RUN = "<results>/runs/{experiment}/{game}/seed-{seeds}.parquet"
CAMPAIGN = "<results>/campaigns/{stream}.json"
BANDIT = "<results>/bandit/{stream}/seed-{seed}/{part}.parquet"
COVERAGE = "<results>/coverage.parquet"
TIMES = "<results>/times/{experiment}.parquet"
COMPARATOR = "<results>/comparators/{experiment}/{stream}/{judge}/seed-{seeds}.parquet"
TRACES = "<results>/traces/{experiment}.parquet"
FIGURE = "<results>/figures/{figure}"
STUDY_TABLE = "<results>/tables/{table}"
CLAIMS = "<results>/claims"
CLAIMS_FIGURE = f"<results>/figures/{catalogue.OF_CLAIMS}{{family}}"
CLAIMS_CODE = ("ads", "atlas", "catalogue", "claims", "games", "intervals", "quantities", "tables", "top", "traces")
CLAIMS_CODE += ("variance", "verdicts")
GAME_CODE = ("measures", "runs", "kernels", "games", "data/table_b1", "theory/game_bounds")


wildcard_constraints:
    dataset="[^/]+",
    part="[^/]+",
    stream="[^/]+",
    game="[^/]+",
    experiment="[^/]+",
    learner="[^/]+",
    judge="[^/]+",
    seed="[0-9]+",
    seeds="[0-9]+(-[0-9]+)?",
    figure=f"(?!{catalogue.OF_CLAIMS})[^/]+",
    family="[^/]+",
    table="|".join(map(re.escape, (*catalogue.TABLES, catalogue.COVERAGE[1]))),
    logs_table="|".join(map(re.escape, catalogue.LOGS)),
    theory="|".join(map(re.escape, catalogue.THEORY)),


def compact(value):
    """Settings as one canonical line of JSON, so that equal settings are equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def growing(amount):
    """A job's memory (MB) or time (minutes): once more at each retry, since too little of it may be why it failed."""
    return lambda wildcards, attempt: amount * attempt


def code(*places):
    """A digest of the package's source that a job depends on: of these modules and of all that they import."""
    return codes.digest(*(f"scant.{place.replace('/', '.')}" for place in places))


def study_file():
    """The study's file, as the command line named it."""
    return os.path.relpath(workflow.configfiles[-1])


def experiments_of(*kinds):
    """The experiments of some kinds."""
    return [name for name, one in STUDY["experiments"].items() if one["kind"] in kinds]


def one_of(names):
    """A pattern that a wildcard fits if it is one of some names."""
    return "|".join(map(re.escape, names)) or "(?!)"


def own_file(dataset, part):
    """The local file of a part of the study's own data, so that an edit to it is noticed; none for other data."""
    file = STUDY["datasets"].get(dataset, {}).get("parts", {}).get(part, {}).get("file")
    return [file] if file and Path(file).is_file() else []


def own_module(learner):
    """The source file of a learner of one's own, if it lies in the project."""
    place, _, name = STUDY["learners"][learner]["kind"].partition(":")
    file = Path(*place.split(".")).with_suffix(".py")
    return [str(file)] if name and file.is_file() else []


def own_modules(experiment):
    """Those of all learners of an experiment."""
    return [file for learner in STUDY["experiments"][experiment]["learners"] for file in own_module(learner)]


def own(dataset):
    """The study's own entry of a data set, as JSON; empty for one of the registry."""
    entry = STUDY["datasets"].get(dataset)
    return compact({dataset: entry} if entry else {})


def tables_of(dataset, parts=None):
    """The parquet tables of a data set's parts, by default those that hold each query or row once."""
    return [TABLE.format(dataset=dataset, part=part) for part in parts or DATASETS[dataset].cover]


def stream_file(stream, seed):
    """The file that a run reads: the data set's stream, the draw for its seed (or draw 0, if all seeds share it), or
    none against the adversary."""
    settings = STUDY["streams"][stream]
    if "dataset" in settings:
        return STREAM.format(stream=stream)
    if settings["generator"] == "adversary":
        return []
    return DRAW.format(stream=stream, seed=0 if settings["shared"] else seed)


def stream_files(experiments=None):
    """Every stream file of some experiments, by default of all, each once."""
    wanted = [
        stream_file(stream, seed)
        for experiment in experiments_of(*studies.CONTEXTUAL)
        if experiments is None or experiment in experiments
        for stream, learner, seed in studies.runs(STUDY, experiment)
    ]
    return list(dict.fromkeys(file for file in wanted if file))


def data_tables():
    """The parquet tables that the study's streams, and its `tables_of`, ask for."""
    wanted = [tables_of(one["dataset"], one.get("parts")) for one in STUDY["streams"].values() if "dataset" in one]
    wanted += [data_of(log) for log in logs_in_use() if "dataset" in STUDY["logs"][log]]
    wanted += [tables_of(dataset) for dataset in STUDY["tables_of"]]
    return list(dict.fromkeys(table for tables in wanted for table in tables))


def source_of(log):
    """What a log is: see `studies.source`."""
    return studies.source(STUDY["logs"][log], DATASETS)


def logs_in_use():
    """The logs of the study's experiments, each once."""
    return list(dict.fromkeys(log for name in experiments_of("ads") for log in STUDY["experiments"][name]["logs"]))


def data_of(log):
    """The tables that a log is made of, or is: the parts train and test of a set of logs."""
    settings = STUDY["logs"][log]
    parts = [settings["train"], settings["test"]] if source_of(log) == "log" else None
    return tables_of(settings["dataset"], parts)


def log_files(log, part, seeds):
    """The part train or test of a log for each seed; one for all if it was logged."""
    if source_of(log) == "log":
        return [data_of(log)[part == "test"]]
    return [BANDIT.format(stream=log, seed=seed, part=part) for seed in seeds]


def campaign_of(log):
    """The file of the campaign that a log is of, if it is simulated."""
    return [CAMPAIGN.format(stream=log)] if source_of(log) == "campaign" else []


def logs_of(table):
    """The logs of the first seed that a table of logs is of."""
    wanted = [log for log in logs_in_use() if source_of(log) in catalogue.LOGS[table]]
    return [file for log in wanted for part in ("train", "test") for file in log_files(log, part, [0])]


def span(seeds):
    """The seeds of a job as in its file's name: "3", or "0-4"."""
    return "-".join(str(seed) for seed in dict.fromkeys((seeds[0], seeds[-1])))


def spanned(text):
    """The seeds that such a name stands for."""
    return list(range(int(text.split("-")[0]), int(text.split("-")[-1]) + 1))


def run_files(experiment):
    """The run files of an experiment."""
    if experiment in experiments_of("fixed-items"):
        return [
            GAME_RUN.format(experiment=experiment, game=game, seeds=span(seeds))
            for game, seeds in studies.matches(STUDY, experiment)
        ]
    return [
        RUN.format(experiment=experiment, stream=stream, learner=learner, seeds=span(seeds))
        for stream, learner, seeds in studies.batches(STUDY, experiment)
    ]


def traces_of(name, experiments):
    """What a figure or table reads: the traces of experiments, their times, or the study of bounds."""
    if name in catalogue.COVERAGE:
        return [COVERAGE]
    return [(TIMES if name == catalogue.TIMED else TRACES).format(experiment=one) for one in experiments]


def comparator_files(experiment):
    """The files of the best fixed weights that the regret of an experiment is measured against."""
    return [
        COMPARATOR.format(experiment=experiment, stream=stream, judge=judge, seeds=span(seeds))
        for stream, judge, seeds in studies.comparators(STUDY, experiment)
    ]


def streams_of(stream, seeds):
    """The stream files that a job of these seeds reads, each once: one for all, one for each, or none."""
    files = (stream_file(stream, seed) for seed in seeds)
    return list(dict.fromkeys(file for file in files if file))
