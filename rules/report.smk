# From traces to what a paper shows. Each figure comes with the CSV of exactly what it shows.


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
            for table in (*catalogue.TABLES, "streams")
            for ending in ("csv", "tex")
        ],


rule figure:
    input:
        traces=[TRACES.format(experiment=experiment) for experiment in STUDY["experiments"]],
        code=code("report"),
    output:
        svg=report(FIGURE + ".svg", caption="../workflow/report/figure.rst", category="Figures"),
        png=FIGURE + ".png",
        csv=FIGURE + ".csv",
    log:
        RESULTS + "/logs/figure/{figure}.log",
    benchmark:
        RESULTS + "/benchmarks/figure/{figure}.jsonl"
    resources:
        mem_mb=1500,
    params:
        stem=FIGURE,
    shell:
        "{SCANT} figure {wildcards.figure:q} {input.traces:q} --output {params.stem:q} > {log:q} 2>&1"


rule table:
    input:
        traces=[TRACES.format(experiment=experiment) for experiment in STUDY["experiments"]],
        code=code("report", "theory"),
    output:
        csv=report(STUDY_TABLE + ".csv", caption="../workflow/report/table.rst", category="Tables"),
        tex=STUDY_TABLE + ".tex",
    log:
        RESULTS + "/logs/table/{table}.log",
    benchmark:
        RESULTS + "/benchmarks/table/{table}.jsonl"
    resources:
        mem_mb=1500,
    params:
        stem=STUDY_TABLE,
    shell:
        "{SCANT} table {wildcards.table:q} {input.traces:q} --output {params.stem:q} > {log:q} 2>&1"


rule streams_table:
    input:
        streams=stream_files(),
        code=code("report/tables", "data/stream"),
    output:
        csv=report(RESULTS + "/tables/streams.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex=RESULTS + "/tables/streams.tex",
    log:
        RESULTS + "/logs/table/streams.log",
    benchmark:
        RESULTS + "/benchmarks/table/streams.jsonl"
    resources:
        mem_mb=1000,
    params:
        stem=RESULTS + "/tables/streams",
    shell:
        "{SCANT} streams {input.streams:q} --output {params.stem:q} > {log:q} 2>&1"
