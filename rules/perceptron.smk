# Learners with full feedback: a run for each stream, learner and seed, then one file of traces an experiment.


rule runs:
    input:
        [run_files(experiment) for experiment in STUDY["experiments"]],


rule run:
    input:
        stream=lambda wildcards: stream_file(wildcards.stream, wildcards.seed),
        own=lambda wildcards: own_module(wildcards.learner),
        code=code("measures", "surrogates", "data/stream", "kernels", "online", "theory"),
    output:
        RUN,
    log:
        "<results>/logs/run/{experiment}/{stream}/{learner}/seed-{seed}.log",
    benchmark:
        "<results>/benchmarks/run/{experiment}/{stream}/{learner}/seed-{seed}.jsonl"
    resources:
        mem_mb=1000,
    params:
        study=STUDY["study"],
        settings=lambda wildcards: compact(
            studies.job(STUDY, wildcards.experiment, wildcards.stream, wildcards.learner)
        ),
        stream=lambda wildcards, input: ["--input", input.stream] if input.stream else [],
    shell:
        "scant run --study {params.study:q} --experiment {wildcards.experiment:q} --stream {wildcards.stream:q}"
        " --learner {wildcards.learner:q} --seed {wildcards.seed} --settings {params.settings:q}"
        " {params.stream:q} --output {output:q} 2>&1 | tee {log:q}"


rule traces:
    input:
        runs=lambda wildcards: run_files(wildcards.experiment),
        code=code("report/traces"),
    output:
        TRACES,
    log:
        "<results>/logs/traces/{experiment}.log",
    benchmark:
        "<results>/benchmarks/traces/{experiment}.jsonl"
    resources:
        mem_mb=2000,
    params:
        details=lambda wildcards: compact(studies.details(STUDY, wildcards.experiment)),
    shell:
        "scant gather {input.runs:q} --details {params.details:q} --output {output:q} 2>&1 | tee {log:q}"
