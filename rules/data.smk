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
        mem_mb=growing(500),
        runtime=growing(30),
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
        mem_mb=growing(2000),
        runtime=growing(5),
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
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("scant.data.packing"),
        settings=lambda wildcards: compact(
            plan.untitled(STUDY["streams"][wildcards.stream])
            | {"normalised": DATASETS[STUDY["streams"][wildcards.stream]["dataset"]].normalised}
        ),
        seed=STUDY["seed"],
    shell:
        "scant pack {wildcards.stream:q} {input.tables:q}"
        " --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule simulate:
    output:
        kept(plan.DRAW),
    log:
        "<results>/logs/simulate/{stream}/seed-{seed}.log",
    benchmark:
        "<results>/benchmarks/simulate/{stream}/seed-{seed}.jsonl"
    wildcard_constraints:
        stream="(?!)" if SIMULATED else "[^/]+",
    priority: 6
    resources:
        mem_mb=growing(2500),
        runtime=growing(5),
    params:
        code=code("scant.data.simulated"),
        settings=lambda wildcards: compact(plan.untitled(STUDY["streams"][wildcards.stream])),
        seed=STUDY["seed"],
    shell:
        "scant simulate {wildcards.stream:q} --seed {wildcards.seed}"
        " --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


# If the study's key `together` is "all": a rule for all seeds of a stream that a job needs.
for number, (stream, seeds) in enumerate(SIMULATED):

    rule:
        name:
            f"simulate_{number}"
        output:
            [kept(plan.DRAW).format(stream=stream, seed=seed) for seed in seeds],
        log:
            f"<results>/logs/simulate/{stream}/seed-{plan.span(seeds)}.log",
        benchmark:
            f"<results>/benchmarks/simulate/{stream}/seed-{plan.span(seeds)}.jsonl"
        priority: 6
        resources:
            mem_mb=growing(2500),
            runtime=growing(5),
        params:
            code=code("scant.data.simulated"),
            settings=compact(plan.untitled(STUDY["streams"][stream])),
            stream=stream,
            seed=STUDY["seed"],
            seeds=seeds,
        shell:
            "scant simulate {params.stream:q} --seed {params.seeds}"
            " --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule campaign:
    output:
        kept(plan.CAMPAIGN),
    log:
        "<results>/logs/campaign/{stream}.log",
    benchmark:
        "<results>/benchmarks/campaign/{stream}.jsonl"
    priority: 6
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("scant.ads.campaigns"),
        campaign=lambda wildcards: STUDY["logs"][wildcards.stream]["campaign"],
        settings=lambda wildcards: compact(STUDY["logs"][wildcards.stream]["settings"]),
    shell:
        "scant campaign {params.campaign:q} --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


rule draw:
    input:
        source=lambda wildcards: logs.drawn_from(STUDY, DATASETS, wildcards.stream),
    output:
        kept(plan.BANDIT).replace("{part}", "train"),
        kept(plan.BANDIT).replace("{part}", "test"),
    log:
        "<results>/logs/draw/{stream}/seed-{seed}.log",
    benchmark:
        "<results>/benchmarks/draw/{stream}/seed-{seed}.jsonl"
    wildcard_constraints:
        stream="(?!)" if DRAWN else "[^/]+",
    priority: 6
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("scant.ads.draw"),
        settings=lambda wildcards: compact(plan.untitled(STUDY["logs"][wildcards.stream])),
        seed=STUDY["seed"],
    shell:
        "scant draw {wildcards.stream:q} {input.source:q} --seed {wildcards.seed}"
        " --settings {params.settings:q} --study-seed {params.seed} --outputs {output:q} 2>&1 | tee {log:q}"


for number, (log_id, seeds) in enumerate(DRAWN):

    rule:
        name:
            f"draw_{number}"
        input:
            source=logs.drawn_from(STUDY, DATASETS, log_id),
        output:
            [
                kept(plan.BANDIT).format(stream=log_id, seed=seed, part=part)
                for seed in seeds
                for part in ("train", "test")
            ],
        log:
            f"<results>/logs/draw/{log_id}/seed-{plan.span(seeds)}.log",
        benchmark:
            f"<results>/benchmarks/draw/{log_id}/seed-{plan.span(seeds)}.jsonl"
        priority: 6
        resources:
            mem_mb=growing(2000),
            runtime=growing(5),
        params:
            code=code("scant.ads.draw"),
            settings=compact(plan.untitled(STUDY["logs"][log_id])),
            log_id=log_id,
            seed=STUDY["seed"],
            seeds=seeds,
        shell:
            "scant draw {params.log_id:q} {input.source:q} --seed {params.seeds}"
            " --settings {params.settings:q} --study-seed {params.seed} --outputs {output:q} 2>&1 | tee {log:q}"
