# A job for each place, learner and batch of seeds; where learners meet in one play, as in games, for all of them. Then
# the best fixed weights that regret is measured against, the times of rounds, and the coverage of bounds.


rule runs:
    input:
        [file for name in PLAN.played for file in PLAN.run_files(name)],


rule run:
    input:
        lambda wildcards: plan.sources(PLAN.runs["/".join(wildcards)].files),
    output:
        "<results>/runs/{experiment}/{place}/{learner}/{seeds}.parquet",
    log:
        "<results>/logs/run/{experiment}/{place}/{learner}/{seeds}.log",
    benchmark:
        "<results>/benchmarks/run/{experiment}/{place}/{learner}/{seeds}.jsonl"
    priority: 5
    resources:
        mem_mb=limit("memory"),
        runtime=limit("minutes"),
    params:
        study=SETTLED,
        digest=DIGESTS.run,
    shell:
        "scant job run {wildcards.experiment:q} {wildcards.place:q} {wildcards.learner:q} {wildcards.seeds}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule play:
    input:
        lambda wildcards: plan.sources(PLAN.runs["/".join(wildcards)].files),
    output:
        "<results>/runs/{experiment}/{place}/{seeds}.parquet",
    log:
        "<results>/logs/run/{experiment}/{place}/{seeds}.log",
    benchmark:
        "<results>/benchmarks/run/{experiment}/{place}/{seeds}.jsonl"
    priority: 5
    resources:
        mem_mb=limit("memory"),
        runtime=limit("minutes"),
    params:
        study=SETTLED,
        digest=DIGESTS.run,
    shell:
        "scant job play {wildcards.experiment:q} {wildcards.place:q} {wildcards.seeds}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule comparator:
    input:
        lambda wildcards: plan.sources(PLAN.compared["/".join(wildcards)].files),
    output:
        "<results>/comparators/{experiment}/{place}/{judge}/{seeds}.parquet",
    log:
        "<results>/logs/comparator/{experiment}/{place}/{judge}/{seeds}.log",
    benchmark:
        "<results>/benchmarks/comparator/{experiment}/{place}/{judge}/{seeds}.jsonl"
    priority: 5
    resources:
        **needs(1000, 5),
    params:
        study=SETTLED,
        digest=DIGESTS.comparator,
    shell:
        "scant job comparator {wildcards.experiment:q} {wildcards.place:q} {wildcards.judge:q} {wildcards.seeds}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule times:
    output:
        "<results>/times/{experiment}.parquet",
    log:
        "<results>/logs/times/{experiment}.log",
    benchmark:
        "<results>/benchmarks/times/{experiment}.jsonl"
    priority: 5
    resources:
        **needs(2000, 5),
    params:
        study=SETTLED,
        digest=DIGESTS.times,
    shell:
        "scant job times {wildcards.experiment:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


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
        study=SETTLED,
        code=code("scant.ads.coverage"),
        settings=digest([STUDY["coverage"], STUDY["seed"]]),
    shell:
        "scant job coverage --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"
