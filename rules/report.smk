# From traces to what a paper shows. Each figure comes with the CSV of exactly what it shows.


TABLE_CODE = ("catalogue", "intervals", "perceptron", "tables", "top", "traces")  # of the report: all but drawings


rule figures:
    input:
        [
            f"{FIGURE}.{ending}".format(figure=figure)
            for figure in catalogue.figures(STUDY)
            for ending in ("svg", "png", "csv")
        ],


rule tables:
    input:
        [
            f"{STUDY_TABLE}.{ending}".format(table=table)
            for table in (*catalogue.tables(STUDY), *catalogue.theory(STUDY), "streams")
            for ending in ("csv", "tex")
        ],


rule figure:
    input:
        traces=lambda wildcards: [
            TRACES.format(experiment=experiment) for experiment in catalogue.shown(STUDY, wildcards.figure)
        ],
        comparators=lambda wildcards: [
            file
            for experiment in catalogue.shown(STUDY, wildcards.figure)
            for file in comparator_files(experiment)
            if catalogue.wants_comparators(wildcards.figure)
        ],
        code=code("report"),
    output:
        svg=report(f"{FIGURE}.svg", caption="../workflow/report/figure.rst", category="Figures"),
        png=f"{FIGURE}.png",
        csv=f"{FIGURE}.csv",
    log:
        "<results>/logs/figure/{figure}.log",
    benchmark:
        "<results>/benchmarks/figure/{figure}.jsonl"
    resources:
        mem_mb=1500,
    params:
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant figure {wildcards.figure:q} {input.traces:q} --comparators {input.comparators:q}"
        " --output {params.stem:q} 2>&1 | tee {log:q}"


rule table:
    input:
        traces=lambda wildcards: [
            TRACES.format(experiment=experiment) for experiment in catalogue.tabled(STUDY, wildcards.table)
        ],
        comparators=lambda wildcards: [
            file
            for experiment in catalogue.tabled(STUDY, wildcards.table)
            for file in comparator_files(experiment)
            if catalogue.wants_comparators(wildcards.table)
        ],
        code=code(*(f"report/{name}" for name in TABLE_CODE), "theory/bounds"),
    output:
        csv=report(f"{STUDY_TABLE}.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex=f"{STUDY_TABLE}.tex",
    log:
        "<results>/logs/table/{table}.log",
    benchmark:
        "<results>/benchmarks/table/{table}.jsonl"
    resources:
        mem_mb=1500,
    params:
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant table {wildcards.table:q} {input.traces:q} --comparators {input.comparators:q}"
        " --output {params.stem:q} 2>&1 | tee {log:q}"


rule streams_table:
    input:
        streams=stream_files(),
        code=code("report/tables", "data/stream"),
    output:
        csv=report("<results>/tables/streams.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex="<results>/tables/streams.tex",
    log:
        "<results>/logs/table/streams.log",
    benchmark:
        "<results>/benchmarks/table/streams.jsonl"
    resources:
        mem_mb=1000,
    params:
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant streams {input.streams:q} --output {params.stem:q} 2>&1 | tee {log:q}"


rule theory_table:
    input:
        code=code("measures", "surrogates", "online/estimators", "report/variance", "report/tables"),
    output:
        csv=report("<results>/tables/variance.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex="<results>/tables/variance.tex",
    log:
        "<results>/logs/table/variance.log",
    benchmark:
        "<results>/benchmarks/table/variance.jsonl"
    resources:
        mem_mb=500,
    params:
        seed=STUDY["seed"],
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant theory variance --study-seed {params.seed} --output {params.stem:q} 2>&1 | tee {log:q}"
