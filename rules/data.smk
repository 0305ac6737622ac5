# From original files, which are checked, to parquet tables, streams, and the logs of each seed.


rule data:
    input:
        PLAN.data_tables(),


rule streams:
    input:
        PLAN.stream_files(),


rule fetch:
    input:
        own_files,
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
        study=settled_file,
        code=code("scant.data.fetch"),
        dataset=DIGESTS.dataset,
    shell:
        "scant job fetch {wildcards.dataset:q} {wildcards.part:q}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule convert:
    input:
        plan.ORIGINAL,
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
        study=settled_file,
        code=code("scant.data.fetch", "scant.data.tables"),
        dataset=DIGESTS.dataset,
        reader=DIGESTS.reader,
    shell:
        "scant job convert {wildcards.dataset:q} {wildcards.part:q}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule make_stream:
    input:
        lambda wildcards: PLAN.stream_tables(wildcards.stream),
    output:
        "<results>/streams/{stream}.arrow",
    log:
        "<results>/logs/make_stream/{stream}.log",
    benchmark:
        "<results>/benchmarks/make_stream/{stream}.jsonl"
    priority: 6
    resources:
        **needs(2000, 5),
    params:
        study=settled_file,
        code=code("scant.data.packing"),
        settings=DIGESTS.stream,
    shell:
        "scant job make_stream {wildcards.stream:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule simulate:
    output:
        directory("<results>/streams/{stream}/{seeds}"),
    log:
        "<results>/logs/simulate/{stream}/{seeds}.log",
    benchmark:
        "<results>/benchmarks/simulate/{stream}/{seeds}.jsonl"
    priority: 6
    resources:
        **needs(2500, 5),
    params:
        study=settled_file,
        code=code("scant.data.simulated"),
        settings=DIGESTS.stream,
    shell:
        "scant job simulate {wildcards.stream:q} {wildcards.seeds}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule campaign:
    output:
        "<results>/campaigns/{ads_log}.json",
    log:
        "<results>/logs/campaign/{ads_log}.log",
    benchmark:
        "<results>/benchmarks/campaign/{ads_log}.jsonl"
    priority: 6
    resources:
        **needs(2000, 5),
    params:
        study=settled_file,
        code=code("scant.bandits.campaigns"),
        settings=DIGESTS.ads_log,
    shell:
        "scant job campaign {wildcards.ads_log:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule make_log:
    input:
        lambda wildcards: ads.drawn_from(STUDY, PLAN.datasets, wildcards.ads_log),
    output:
        directory("<results>/bandit/{ads_log}/{seeds}"),
    log:
        "<results>/logs/make_log/{ads_log}/{seeds}.log",
    benchmark:
        "<results>/benchmarks/make_log/{ads_log}/{seeds}.jsonl"
    priority: 6
    resources:
        **needs(2000, 5),
    params:
        study=settled_file,
        code=code("scant.ads.draw"),
        settings=DIGESTS.ads_log,
    shell:
        "scant job make_log {wildcards.ads_log:q} {wildcards.seeds}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule make_click_log:
    input:
        lambda wildcards: rankings.stream_file(STUDY, wildcards.click_log),
    output:
        directory("<results>/clicks/{click_log}/{seeds}"),
    log:
        "<results>/logs/make_click_log/{click_log}/{seeds}.log",
    benchmark:
        "<results>/benchmarks/make_click_log/{click_log}/{seeds}.jsonl"
    priority: 6
    resources:
        **needs(2000, 5),
    params:
        study=settled_file,
        code=code("scant.clicklogs.run"),
        settings=DIGESTS.click_log,
    shell:
        "scant job make_click_log {wildcards.click_log:q} {wildcards.seeds}"
        " --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"
