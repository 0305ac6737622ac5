# From runs to traces, one file an experiment, and to what a paper shows. Each figure comes with the CSV of exactly
# what it shows.


TABLE_CODE = ("ads", "catalogue", "games", "intervals", "perceptron", "tables", "top", "traces")  # all but drawings
FIGURE_CODE = ("atlas", "drawing", "drawing_ads", "drawing_atlas", "drawing_games", "figures", "panels", "style")
THEORY_CODE = {"variance": ("surrogates", "online/estimators", "report/variance")}  # the others are of observability
THEORY_CODE |= dict.fromkeys(set(catalogue.THEORY) - {"variance"}, ("theory/observability", "report/atlas"))


rule runs:
    input:
        [run_files(name) for name in catalogue.played(STUDY)],


rule traces:
    input:
        runs=lambda wildcards: run_files(wildcards.experiment),
    output:
        TRACES,
    log:
        "<results>/logs/traces/{experiment}.log",
    benchmark:
        "<results>/benchmarks/traces/{experiment}.jsonl"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("present/traces"),
        runs=lambda wildcards, input: braces(input.runs),
        details=lambda wildcards: compact(studies.details(STUDY, wildcards.experiment)),
    shell:
        "scant gather {params.runs} --details {params.details:q} --output {output:q} 2>&1 | tee {log:q}"


rule figures:
    input:
        [
            f"{FIGURE}.{ending}".format(figure=figure)
            for figure in (*catalogue.figures(STUDY), *map(catalogue.OF_CLAIMS.__add__, FAMILIES))
            for ending in ("svg", "png", "csv")
        ],


rule tables:
    input:
        [
            f"{STUDY_TABLE}.{ending}".format(table=table)
            for table in (
                *catalogue.tables(STUDY),
                *catalogue.theory(STUDY),
                *(table for table in catalogue.LOGS if logs_of(table)),
                *(["streams"] if stream_files() else []),
            )
            for ending in ("csv", "tex")
        ],


rule figure:
    input:
        traces=lambda wildcards: traces_of(wildcards.figure, catalogue.shown(STUDY, wildcards.figure)),
        comparators=lambda wildcards: [
            file
            for experiment in catalogue.shown(STUDY, wildcards.figure)
            for file in comparator_files(experiment)
            if catalogue.wants_comparators(wildcards.figure)
        ],
    output:
        svg=report(f"{FIGURE}.svg", caption="../workflow/report/figure.rst", category="Figures"),
        png=f"{FIGURE}.png",
        csv=f"{FIGURE}.csv",
    log:
        "<results>/logs/figure/{figure}.log",
    benchmark:
        "<results>/benchmarks/figure/{figure}.jsonl"
    resources:
        mem_mb=growing(1500),
        runtime=growing(5),
    params:
        code=code(
            *(f"report/{name}" for name in (*TABLE_CODE, *FIGURE_CODE)),
            "measures",
            "theory/observability",
            "data/logs",
        ),
        comparators=lambda wildcards, input: braces(input.comparators),
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant figure {wildcards.figure:q} {input.traces:q} --comparators {params.comparators}"
        " --output {params.stem:q} 2>&1 | tee {log:q}"


rule table:
    input:
        traces=lambda wildcards: traces_of(wildcards.table, catalogue.tabled(STUDY, wildcards.table)),
        comparators=lambda wildcards: [
            file
            for experiment in catalogue.tabled(STUDY, wildcards.table)
            for file in comparator_files(experiment)
            if catalogue.wants_comparators(wildcards.table)
        ],
    output:
        csv=report(f"{STUDY_TABLE}.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex=f"{STUDY_TABLE}.tex",
    log:
        "<results>/logs/table/{table}.log",
    benchmark:
        "<results>/benchmarks/table/{table}.jsonl"
    resources:
        mem_mb=growing(1500),
        runtime=growing(5),
    params:
        code=code(*(f"present/{name}" for name in TABLE_CODE), "theory/bounds"),
        comparators=lambda wildcards, input: braces(input.comparators),
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant table {wildcards.table:q} {input.traces:q} --comparators {params.comparators}"
        " --output {params.stem:q} 2>&1 | tee {log:q}"


rule streams_table:
    input:
        streams=stream_files(catalogue.stated(STUDY)),
    output:
        csv=report("<results>/tables/streams.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex="<results>/tables/streams.tex",
    log:
        "<results>/logs/table/streams.log",
    benchmark:
        "<results>/benchmarks/table/streams.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=code("present/tables", "data/stream"),
        streams=lambda wildcards, input: braces(input.streams),
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant streams {params.streams} --output {params.stem:q} 2>&1 | tee {log:q}"


rule logs_table:
    input:
        logs=lambda wildcards: logs_of(wildcards.logs_table),
    output:
        csv=report("<results>/tables/{logs_table}.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex="<results>/tables/{logs_table}.tex",
    log:
        "<results>/logs/table/{logs_table}.log",
    benchmark:
        "<results>/benchmarks/table/{logs_table}.jsonl"
    resources:
        mem_mb=growing(1500),
        runtime=growing(5),
    params:
        code=code("ads/frames", "present/tables", "data/logs"),
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant logs {wildcards.logs_table:q} {input.logs:q} --output {params.stem:q} 2>&1 | tee {log:q}"


rule theory_table:
    output:
        csv=report("<results>/tables/{theory}.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex="<results>/tables/{theory}.tex",
    log:
        "<results>/logs/table/{theory}.log",
    benchmark:
        "<results>/benchmarks/table/{theory}.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=lambda wildcards: code("measures", *THEORY_CODE[wildcards.theory], "data/table_b1", "present/tables"),
        seed=STUDY["seed"],
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant theory {wildcards.theory:q} --study-seed {params.seed} --output {params.stem:q} 2>&1 | tee {log:q}"
