# From original files, which are checked, to parquet tables, streams, and the logs of each seed.


rule data:
    input:
        data_tables(),


rule streams:
    input:
        list(
            dict.fromkeys(
                file for jobs in PLAN.jobs.values() for job in jobs for file in job.inputs.get("streams", ())
            )
        ),


rule fetch:
    input:
        own=lambda wildcards: own_file(dataset_id(wildcards), wildcards.part),
    output:
        plan.ORIGINAL,
    log:
        "results/data/logs/fetch/{dataset}/{part}.log",
    benchmark:
        "results/data/benchmarks/fetch/{dataset}/{part}.jsonl"
    retries: 1
    resources:
        **needs(500, 30),
    params:
        code=code("scant.data.fetch"),
        dataset=lambda wildcards: dataset_id(wildcards),
        entry=lambda wildcards: entry(dataset_id(wildcards), wildcards.part),
        own=lambda wildcards: own_entry(dataset_id(wildcards)),
    shell:
        "scant fetch {params.dataset:q} {wildcards.part:q}"
        " --own {params.own:q} --output {output:q} 2>&1 | tee {log:q}"


rule convert:
    input:
        original=plan.ORIGINAL,
    output:
        plan.TABLE,
    log:
        "results/data/logs/convert/{dataset}/{part}.log",
    benchmark:
        "results/data/benchmarks/convert/{dataset}/{part}.jsonl"
    priority: 6
    resources:
        **needs(2000, 5),
    params:
        code=code("scant.data.fetch", "scant.data.tables"),
        dataset=lambda wildcards: dataset_id(wildcards),
        entry=lambda wildcards: entry(dataset_id(wildcards), wildcards.part),
        own=lambda wildcards: own_entry(dataset_id(wildcards)),
    shell:
        "scant convert {params.dataset:q} {wildcards.part:q}"
        " --own {params.own:q} --input {input.original:q} --output {output:q} 2>&1 | tee {log:q}"


rule pack:
    input:
        tables=lambda wildcards: plan.tables_of(
            DATASETS, STUDY["streams"][wildcards.stream]["dataset"], STUDY["streams"][wildcards.stream].get("parts")
        ),
    output:
        kept(plan.STREAM),
    log:
        "<results>/logs/pack/{stream}.log",
    benchmark:
        "<results>/benchmarks/pack/{stream}.jsonl"
    priority: 6
    resources:
        **needs(2000, 5),
    params:
        code=code("scant.data.packing"),
        settings=lambda wildcards: compact(
            {
                "stream": wildcards.stream,
                "settings": plan.untitled(STUDY["streams"][wildcards.stream])
                | {"normalised": DATASETS[STUDY["streams"][wildcards.stream]["dataset"]].normalised},
                "study_seed": STUDY["seed"],
            }
        ),
    shell:
        "scant job pack --input tables {input.tables:q}"
        " --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


for name, stream, seeds, draws in draws_of("simulate", plan.DRAW):

    rule:
        name:
            name
        output:
            [kept(plan.DRAW).format(stream=stream, seed=seed) for seed in seeds],
        log:
            f"<results>/logs/simulate/{stream}/seed-{draws}.log",
        benchmark:
            f"<results>/benchmarks/simulate/{stream}/seed-{draws}.jsonl"
        priority: 6
        resources:
            **needs(2500, 5),
        params:
            code=code("scant.data.simulated"),
            settings=lambda wildcards, stream=stream, seeds=seeds: drawing(
                "stream", "streams", stream, seeds, wildcards
            ),
        shell:
            "scant job simulate --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


rule campaign:
    output:
        kept(plan.CAMPAIGN),
    log:
        "<results>/logs/campaign/{stream}.log",
    benchmark:
        "<results>/benchmarks/campaign/{stream}.jsonl"
    priority: 6
    resources:
        **needs(2000, 5),
    params:
        code=code("scant.ads.campaigns"),
        settings=lambda wildcards: compact(
            {
                "name": STUDY["logs"][wildcards.stream]["campaign"],
                "settings": STUDY["logs"][wildcards.stream]["settings"],
            }
        ),
    shell:
        "scant job campaign --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


for name, log_id, seeds, draws in draws_of("draw", plan.BANDIT):

    rule:
        name:
            name
        input:
            source=lambda wildcards, log_id=log_id: logs.drawn_from(STUDY, DATASETS, *filled([log_id], wildcards)),
        output:
            [
                kept(plan.BANDIT).format(stream=log_id, seed=seed, part=part)
                for seed in seeds
                for part in ("train", "test")
            ],
        log:
            f"<results>/logs/draw/{log_id}/seed-{draws}.log",
        benchmark:
            f"<results>/benchmarks/draw/{log_id}/seed-{draws}.jsonl"
        priority: 6
        resources:
            **needs(2000, 5),
        params:
            code=code("scant.ads.draw"),
            settings=lambda wildcards, log_id=log_id, seeds=seeds: drawing("log", "logs", log_id, seeds, wildcards),
        shell:
            "scant job draw --input source {input.source:q}"
            " --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"
