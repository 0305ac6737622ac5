# One rule for the runs of every family: a job for each place, learner (or all learners) and batch of seeds. Further
# rules for the best fixed weights that regret is measured against, the times of rounds, and the coverage of bounds.


rule runs:
    input:
        [file for name in PLAN.played for file in PLAN.run_files(name)],


for name, path, files, limits in run_rules():

    rule:
        name:
            name
        input:
            lambda wildcards, path=path: list(
                dict.fromkeys(file for job in runs_of(path, wildcards) for file in job.files)
            ),
        output:
            files,
        log:
            f"<results>/logs/run/{path}.log",
        benchmark:
            f"<results>/benchmarks/run/{path}.jsonl"
        wildcard_constraints:
            **limits,
        priority: 5
        resources:
            mem_mb=lambda wildcards, attempt, path=path: family_of(path, wildcards).memory * attempt,
            runtime=lambda wildcards, attempt, path=path: minutes_of(path, wildcards) * attempt,
        params:
            runs=lambda wildcards, path=path: played(path, wildcards),
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
        **needs(1000, 5),
    params:
        job=lambda wildcards: compared(COMPARATORS[wildcards.run]),
    shell:
        "scant {params.job} 2>&1 | tee {log:q}"


rule times:
    output:
        kept(plan.TIMES),
    log:
        "<results>/logs/times/{experiment}.log",
    benchmark:
        "<results>/benchmarks/times/{experiment}.jsonl"
    priority: 5
    resources:
        **needs(2000, 5),
    params:
        code=lambda wildcards: code(
            "scant.games.run", *modules_of(STUDY["experiments"][wildcards.experiment]["learners"])
        ),
        settings=lambda wildcards: compact(dict(zip(("jobs", "details"), times_job(STUDY, wildcards.experiment)))),
    shell:
        "scant job times --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


rule coverage:
    output:
        kept(plan.COVERAGE),
    log:
        "<results>/logs/coverage.log",
    benchmark:
        "<results>/benchmarks/coverage.jsonl"
    priority: 5
    resources:
        **needs(1000, 5),
    params:
        code=code("scant.ads.coverage"),
        settings=compact({"settings": STUDY["coverage"], "study_seed": STUDY["seed"]}),
    shell:
        "scant job coverage --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"
