# Contextual learners: a job for each stream, learner and batch of seeds; and, where regret is asked for, the best fixed
# weights to measure it against.


rule run:
    input:
        streams=lambda wildcards: streams_of(wildcards.stream, spanned(wildcards.seeds)),
        own=lambda wildcards: own_module(wildcards.learner),
    output:
        RUN,
    log:
        "<results>/logs/run/{experiment}/{stream}/{learner}/seed-{seeds}.log",
    benchmark:
        "<results>/benchmarks/run/{experiment}/{stream}/{learner}/seed-{seeds}.jsonl"
    wildcard_constraints:
        experiment=one_of(experiments_of(*studies.CONTEXTUAL)),
    resources:
        mem_mb=growing(2500),
        runtime=growing(15),
    params:
        code=code("measures", "surrogates", "runs", "data/stream", "kernels", "online", "theory/bounds"),
        study=STUDY["study"],
        settings=lambda wildcards: compact(
            studies.job(STUDY, wildcards.experiment, wildcards.stream, wildcards.learner)
        ),
        seeds=lambda wildcards: spanned(wildcards.seeds),
    shell:
        "scant run --study {params.study:q} --experiment {wildcards.experiment:q} --stream {wildcards.stream:q}"
        " --learner {wildcards.learner:q} --seeds {params.seeds} --settings {params.settings:q}"
        " --input {input.streams:q} --output {output:q} 2>&1 | tee {log:q}"


rule comparator:
    input:
        streams=lambda wildcards: streams_of(wildcards.stream, spanned(wildcards.seeds)),
    output:
        COMPARATOR,
    log:
        "<results>/logs/comparator/{experiment}/{stream}/{judge}/seed-{seeds}.log",
    benchmark:
        "<results>/benchmarks/comparator/{experiment}/{stream}/{judge}/seed-{seeds}.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=code("measures", "surrogates", "runs", "data/stream", "kernels", "online"),
        study=STUDY["study"],
        settings=lambda wildcards: compact(studies.comparison(STUDY, wildcards.experiment, wildcards.stream)),
        seeds=lambda wildcards: spanned(wildcards.seeds),
    shell:
        "scant compare --study {params.study:q} --experiment {wildcards.experiment:q} --stream {wildcards.stream:q}"
        " --judge {wildcards.judge:q} --seeds {params.seeds} --settings {params.settings:q}"
        " --input {input.streams:q} --output {output:q} 2>&1 | tee {log:q}"
