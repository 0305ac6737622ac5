# One rule for the runs of every family: a job for each place, learner (or all learners) and batch of seeds. Further
# rules for the best fixed weights that regret is measured against, the times of rounds, and the coverage of bounds.


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
    wildcard_constraints:
        run=one_of(RUNS) if TOGETHER else ".+",
    priority: 5
    resources:
        mem_mb=lambda wildcards, attempt: family_of(wildcards.run).memory * attempt,
        runtime=lambda wildcards, attempt: family_of(wildcards.run).minutes * attempt,
    params:
        code=lambda wildcards: code(family_of(wildcards.run).code, *own_modules(RUNS[wildcards.run])),
        engine=lambda wildcards: family_of(wildcards.run).engine,
        job=lambda wildcards: job_flags(RUNS[wildcards.run]),
        settings=lambda wildcards: compact(RUNS[wildcards.run].settings),
    shell:
        "scant run --engine {params.engine} {params.job} --code {params.code} --settings {params.settings:q} --output {output:q}"
        " 2>&1 | tee {log:q}"


# With the study's key `together`: a rule for each experiment, a job of which plays several learners.
for name, (experiment, path, files, places, batches) in rules_together().items():

    rule:
        name:
            name
        input:
            lambda wildcards: list(dict.fromkeys(file for job in together(wildcards) for file in job.files)),
        output:
            files,
        log:
            f"<results>/logs/run/{path}.log",
        benchmark:
            f"<results>/benchmarks/run/{path}.jsonl"
        wildcard_constraints:
            experiment=re.escape(experiment),
            stream=one_of(places),
            seeds=one_of(batches),
        priority: 5
        resources:
            mem_mb=lambda wildcards, attempt: PLAN.families[wildcards.experiment].memory * attempt,
            runtime=lambda wildcards, attempt: PLAN.families[wildcards.experiment].minutes
            * len(together(wildcards))
            * attempt,
        params:
            runs=lambda wildcards: runs_together(wildcards),
        shell:
            "scant {params.runs} 2>&1 | tee {log:q}"


rule comparator:
    input:
        lambda wildcards: COMPARATORS[wildcards.run].files,
    output:
        kept(plan.COMPARATOR),
    log:
        "<results>/logs/comparator/{run}.log",
    benchmark:
        "<results>/benchmarks/comparator/{run}.jsonl"
    priority: 5
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=lambda wildcards: code("scant.online.comparator"),
        job=lambda wildcards: job_flags(COMPARATORS[wildcards.run]),
        settings=lambda wildcards: compact(COMPARATORS[wildcards.run].settings),
    shell:
        "scant comparator {params.job} --code {params.code} --settings {params.settings:q} --output {output:q}"
        " 2>&1 | tee {log:q}"


rule times:
    output:
        kept(plan.TIMES),
    log:
        "<results>/logs/times/{experiment}.log",
    benchmark:
        "<results>/benchmarks/times/{experiment}.jsonl"
    priority: 5
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
    priority: 5
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=code("scant.ads.coverage"),
        settings=compact(STUDY["coverage"]),
        seed=STUDY["seed"],
    shell:
        "scant coverage --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"
