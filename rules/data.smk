# From original files, checked, to parquet tables and to streams.


rule data:
    input:
        data_tables(),


rule streams:
    input:
        stream_files(),


rule fetch:
    input:
        own=lambda wildcards: own_file(wildcards.dataset, wildcards.part),
    output:
        ORIGINAL,
    log:
        "results/data/logs/fetch/{dataset}/{part}.log",
    benchmark:
        "results/data/benchmarks/fetch/{dataset}/{part}.jsonl"
    retries: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(30),
    params:
        code=code("schema", "data/registry", "data/fetch"),
        own=lambda wildcards: own(wildcards.dataset),
    shell:
        "scant fetch {wildcards.dataset:q} {wildcards.part:q}"
        " --own {params.own:q} --output {output:q} 2>&1 | tee {log:q}"


rule convert:
    input:
        original=ORIGINAL,
    output:
        TABLE,
    log:
        "results/data/logs/convert/{dataset}/{part}.log",
    benchmark:
        "results/data/benchmarks/convert/{dataset}/{part}.jsonl"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("schema", "data/registry", "data/letor", "data/uci", "data/logs", "data/openbandit", "data/tables"),
        own=lambda wildcards: own(wildcards.dataset),
    shell:
        "scant convert {wildcards.dataset:q} {wildcards.part:q}"
        " --own {params.own:q} --input {input.original:q} --output {output:q} 2>&1 | tee {log:q}"


rule pack:
    input:
        tables=lambda wildcards: tables_of(
            STUDY["streams"][wildcards.stream]["dataset"], STUDY["streams"][wildcards.stream].get("parts")
        ),
    output:
        STREAM,
    log:
        "<results>/logs/pack/{stream}.log",
    benchmark:
        "<results>/benchmarks/pack/{stream}.jsonl"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("data/packing", "data/stream", "data/simulated", "data/table_b1", "data/tables", "kernels/pieces"),
        settings=lambda wildcards: compact(
            studies.untitled(STUDY["streams"][wildcards.stream])
            | {"normalised": DATASETS[STUDY["streams"][wildcards.stream]["dataset"]].normalised}
        ),
        seed=STUDY["seed"],
    shell:
        "scant pack {wildcards.stream:q} {input.tables:q}"
        " --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule simulate:
    output:
        DRAW,
    log:
        "<results>/logs/simulate/{stream}/seed-{seed}.log",
    benchmark:
        "<results>/benchmarks/simulate/{stream}/seed-{seed}.jsonl"
    resources:
        mem_mb=growing(2500),
        runtime=growing(5),
    params:
        code=code("data/packing", "data/stream", "data/simulated", "data/table_b1", "kernels/pieces"),
        settings=lambda wildcards: compact(studies.untitled(STUDY["streams"][wildcards.stream])),
        seed=STUDY["seed"],
    shell:
        "scant simulate {wildcards.stream:q} --seed {wildcards.seed}"
        " --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"
