# A job for each place, learner and batch of seeds; where learners meet in one play, as in games, for all of them. Then
# the best fixed weights that regret is measured against, and the coverage of bounds.


rule runs:
    input:
        [file for name in PLAN.jobs for file in PLAN.run_files(name)],


rule run:
    input:
        lambda wildcards: plan.sources(PLAN.runs[wildcards.run].files),
    output:
        "<results>/runs/{run}.parquet",
    log:
        "<results>/logs/run/{run}.log",
    benchmark:
        "<results>/benchmarks/run/{run}.jsonl"
    priority: 5
    resources:
        mem_mb=limit("memory"),
        runtime=limit("minutes"),
    params:
        study=settled_file,
        digest=DIGESTS.run,
    shell:
        "scant job run {wildcards.run:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule best_weights:
    input:
        lambda wildcards: plan.sources(PLAN.compared[wildcards.run].files),
    output:
        "<results>/comparators/{run}.parquet",
    log:
        "<results>/logs/best_weights/{run}.log",
    benchmark:
        "<results>/benchmarks/best_weights/{run}.jsonl"
    priority: 5
    resources:
        **needs(1000, 5),
    params:
        study=settled_file,
        digest=DIGESTS.best_weights,
    shell:
        "scant job best_weights {wildcards.run:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule coverage:
    output:
        "<results>/coverage.parquet",
    log:
        "<results>/logs/coverage.log",
    benchmark:
        "<results>/benchmarks/coverage.jsonl"
    priority: 5
    resources:
        **needs(1000, 5),
    params:
        study=settled_file,
        code=code("scant.ads.coverage"),
        settings=digest([STUDY["coverage"], STUDY["seed"]]),
    shell:
        "scant job coverage --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"
