# scant: reproducible studies of learning to rank from scant feedback.
#
#   snakemake --cores 8                                         the default study
#   snakemake --cores 8 --configfile config/studies/real.yaml   another study, whole in its own file
#   snakemake --cores 8 figures                                 only the figures
#                                                               (or: tables, claims, report, runs, streams, data)
#
# Stages: data (fetch -> tables -> streams, logs), runs (of every family), present (traces, figures, tables), verdict
# (claims, the page).
from scant.study.settings import study_file
from snakemake.utils import min_version

min_version("9.14.8")

# A study file is whole: it replaces the default one, nothing is merged into it.
if "study" not in config:

    configfile: study_file()


# Not in the repository: `apptainer build scant.sif scant.def` makes it (docs/running.md). Snakemake looks for it only
# if it is told to: --software-deployment-method apptainer.
container: "scant.sif"


include: "rules/settle.smk"
include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/runs.smk"
include: "rules/present.smk"
include: "rules/verdict.smk"


localrules:  # `fetch`, since the nodes of a cluster often reach no other machine
    all,
    data,
    fetch,
    streams,
    runs,
    figures,
    tables,


rule all:
    default_target: True
    input:
        rules.data.input,
        rules.figures.input,
        rules.tables.input,
        rules.report.output,
