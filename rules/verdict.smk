# The verdict: the claims of the papers, judged on the study's traces, their figures, and the page to read it all on.


JUDGED = bool(STUDY["claims"])


rule claims:
    input:
        traces=[TRACES.format(experiment=name) for name in catalogue.played(STUDY)] if JUDGED else [],
        comparators=[file for name in catalogue.played(STUDY) for file in comparator_files(name)] if JUDGED else [],
        tables=[f"{STUDY_TABLE}.csv".format(table=table) for table in catalogue.theory(STUDY)] if JUDGED else [],
        claims=STUDY["claims"] or [],
        schema=studies.CLAIMS_SCHEMA,
    output:
        csv=report(f"{CLAIMS}.csv", caption="../workflow/report/claims.rst", category="Claims"),
        parquet=f"{CLAIMS}.parquet",
        tex=f"{CLAIMS}.tex",
        readings=report(f"{CLAIMS}-readings.csv", caption="../workflow/report/readings.rst", category="Claims"),
    log:
        "<results>/logs/claims.log",
    benchmark:
        "<results>/benchmarks/claims.jsonl"
    resources:
        mem_mb=growing(1500),
        runtime=growing(5),
    params:
        code=code(*(f"report/{name}" for name in CLAIMS_CODE), "study", "sweeps", "theory/bounds"),
        study=compact(config),
        comparators=lambda wildcards, input: braces(input.comparators),
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant claims {input.traces:q} --study {params.study:q} --comparators {params.comparators}"
        " --tables {input.tables:q} --output {params.stem:q} 2>&1 | tee {log:q}"


rule claims_figure:
    input:
        readings=rules.claims.output.readings,
    output:
        svg=report(f"{CLAIMS_FIGURE}.svg", caption="../workflow/report/figure.rst", category="Claims"),
        png=f"{CLAIMS_FIGURE}.png",
        csv=f"{CLAIMS_FIGURE}.csv",
    log:
        "<results>/logs/claims_figure/{family}.log",
    benchmark:
        "<results>/benchmarks/claims_figure/{family}.jsonl"
    resources:
        mem_mb=growing(1500),
        runtime=growing(5),
    params:
        code=code("report/claims", "report/drawing_claims", "report/figures", "report/panels", "report/style"),
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant claims-figure {wildcards.family:q} {input.readings:q} --output {params.stem:q} 2>&1 | tee {log:q}"


rule report:
    input:
        rules.figures.input,
        rules.tables.input,
        claims=rules.claims.output.parquet if JUDGED else [],
        captions=["workflow/report/figure.rst", "workflow/report/table.rst", "CITATION.cff"],
        page=sorted(str(file) for file in Path("src/scant/report/page").glob("*.*")),
    output:
        "<results>/report.html",
    log:
        "<results>/logs/report.log",
    benchmark:
        "<results>/benchmarks/report.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=code("report/about", "report/catalogue", "report/inline", "report/page", "status", "study", "sweeps"),
        study=compact(config),
        file=study_file(),
        claims=lambda wildcards, input: ["--claims", input.claims] if JUDGED else [],
    shell:
        "scant page --study {params.study:q} --study-file {params.file:q} {params.claims:q} --output {output:q}"
        " 2>&1 | tee {log:q}"
