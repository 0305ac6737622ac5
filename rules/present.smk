# From runs to figures and tables. Each figure comes with a CSV file of exactly the data that it shows.


rule figures:
    input:
        expand("<results>/figures/{figure}.{ending}", figure=PLAN.figures, ending=["svg", "png", "csv"]),


rule tables:
    input:
        expand("<results>/tables/{table}.{ending}", table=PLAN.tables, ending=["csv", "tex"]),


rule figure:
    input:
        lambda wildcards: plan.sources(PLAN.files(PLAN.figures[wildcards.figure])),
    output:
        csv="<results>/figures/{figure}.csv",
        svg=report("<results>/figures/{figure}.svg", caption="../workflow/report/figure.rst", category="Figures"),
        png="<results>/figures/{figure}.png",
    log:
        "<results>/logs/figure/{figure}.log",
    benchmark:
        "<results>/benchmarks/figure/{figure}.jsonl"
    resources:
        **needs(1500, 5),
    params:
        study=SETTLED,
        digest=DIGESTS.figure,
    shell:
        "scant job figure {wildcards.figure:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule table:
    input:
        lambda wildcards: plan.sources(PLAN.files(PLAN.tables[wildcards.table])),
    output:
        csv=report("<results>/tables/{table}.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex="<results>/tables/{table}.tex",
    log:
        "<results>/logs/table/{table}.log",
    benchmark:
        "<results>/benchmarks/table/{table}.jsonl"
    resources:
        **needs(1500, 5),
    params:
        study=SETTLED,
        digest=DIGESTS.table,
    shell:
        "scant job table {wildcards.table:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"
