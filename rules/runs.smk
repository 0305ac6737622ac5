# One rule for the runs of every family: a job for each place, learner (or all of them) and batch of seeds. Besides, the
# best fixed weights that regret is measured against, how long rounds take, and how often bounds on click rates hold.
from scant.games.family import times_job


def family_of(path):
    """The family of a run file's experiment."""
    return PLAN.families[path.partition("/")[0]]


def own_modules(job):
    """The modules of one's own learners that play in a job: its learner, or all of its experiment."""
    alone = job.identity.get("learner")
    return modules_of([alone] if alone else STUDY["experiments"][job.identity["experiment"]]["learners"])


def modules_of(learners):
    """The modules of those learners that are one's own."""
    kinds = [STUDY["learners"][learner]["kind"] for learner in learners]
    return [kind.partition(":")[0] for kind in kinds if ":" in kind]


def named(words):
    """Flags with their values, quoted: `--name value`, or `--input name file file` for lists of files."""
    return " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in words.items())


def inputs_of(job):
    """The files that a job reads, each list by what it is."""
    return " ".join(
        f"--input {name} {' '.join(map(shlex.quote, files))}" for name, files in job.inputs.items() if files
    )


rule runs:
    input:
        [file for name in PLAN.played for file in PLAN.run_files(name)],


rule run:
    input:
        lambda wildcards: RUNS[wildcards.run].files,
    output:
        kept(plan.RUN),
    log:
        "<results>/logs/run/{run}.log",
    benchmark:
        "<results>/benchmarks/run/{run}.jsonl"
    resources:
        mem_mb=lambda wildcards, attempt: family_of(wildcards.run).memory * attempt,
        runtime=lambda wildcards, attempt: family_of(wildcards.run).minutes * attempt,
    params:
        code=lambda wildcards: code(*family_of(wildcards.run).code, *own_modules(RUNS[wildcards.run])),
        identity=lambda wildcards: named({"study": STUDY["study"]} | RUNS[wildcards.run].identity),
        settings=lambda wildcards: compact(RUNS[wildcards.run].settings),
        seeds=lambda wildcards: RUNS[wildcards.run].seeds,
        inputs=lambda wildcards: inputs_of(RUNS[wildcards.run]),
    shell:
        "scant run {params.identity} --seeds {params.seeds} --settings {params.settings:q} {params.inputs}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule comparator:
    input:
        lambda wildcards: COMPARATORS[wildcards.run].files,
    output:
        kept(plan.COMPARATOR),
    log:
        "<results>/logs/comparator/{run}.log",
    benchmark:
        "<results>/benchmarks/comparator/{run}.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=lambda wildcards: code("scant.online.comparator"),
        identity=lambda wildcards: named({"study": STUDY["study"]} | COMPARATORS[wildcards.run].identity),
        settings=lambda wildcards: compact(COMPARATORS[wildcards.run].settings),
        seeds=lambda wildcards: COMPARATORS[wildcards.run].seeds,
        inputs=lambda wildcards: inputs_of(COMPARATORS[wildcards.run]),
    shell:
        "scant comparator {params.identity} --seeds {params.seeds} --settings {params.settings:q} {params.inputs}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule times:
    output:
        kept(plan.TIMES),
    log:
        "<results>/logs/times/{experiment}.log",
    benchmark:
        "<results>/benchmarks/times/{experiment}.jsonl"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=lambda wildcards: code(
            "scant.games.run", *modules_of(STUDY["experiments"][wildcards.experiment]["learners"])
        ),
        jobs=lambda wildcards: compact(times_job(STUDY, wildcards.experiment)[0]),
        details=lambda wildcards: compact(times_job(STUDY, wildcards.experiment)[1]),
    shell:
        "scant time --jobs {params.jobs:q} --details {params.details:q} --output {output:q} 2>&1 | tee {log:q}"


rule coverage:
    output:
        kept(plan.COVERAGE),
    log:
        "<results>/logs/coverage.log",
    benchmark:
        "<results>/benchmarks/coverage.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=code("scant.ads.coverage"),
        settings=compact(STUDY["coverage"]),
        seed=STUDY["seed"],
    shell:
        "scant coverage --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"
