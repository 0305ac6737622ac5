# From runs to traces, with one file for each experiment, and to figures and tables. Each figure comes with a CSV file
# of exactly the data that it shows.


rule traces:
    input:
        runs=lambda wildcards: PLAN.run_files(wildcards.experiment),
    output:
        kept(plan.TRACES),
    log:
        "<results>/logs/traces/{experiment}.log",
    benchmark:
        "<results>/benchmarks/traces/{experiment}.jsonl"
    wildcard_constraints:
        experiment=one_of(made_alone(PLAN.played)),
    priority: 10
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=lambda wildcards: code("scant.present.traces", PLAN.families[wildcards.experiment].__module__),
        traces=lambda wildcards: gathered([wildcards.experiment]),
    shell:
        "scant {params.traces} 2>&1 | tee {log:q}"


# If the study's key `together` is "all": a rule for the traces of each family.
for kind, experiments in traces_together().items():

    rule:
        name:
            f"traces_{kind}"
        input:
            [file for experiment in experiments for file in PLAN.run_files(experiment)],
        output:
            [kept(plan.TRACES).format(experiment=experiment) for experiment in experiments],
        log:
            f"<results>/logs/traces/{kind}.log",
        benchmark:
            f"<results>/benchmarks/traces/{kind}.jsonl"
        priority: 10
        resources:
            mem_mb=growing(2000),
            runtime=growing(5),
        params:
            code=code("scant.present.traces", PLAN.families[experiments[0]].__module__),
            traces=lambda wildcards, output: gathered([Path(file).stem for file in output]),
        shell:
            "scant {params.traces} 2>&1 | tee {log:q}"


rule figures:
    input:
        [
            f"{FIGURE}.{ending}".format(figure=figure)
            for figure in (*PLAN.figures, *map(plan.OF_CLAIMS.__add__, CLAIM_FIGURES))
            for ending in ("svg", "png", "csv")
        ],


rule tables:
    input:
        [f"{STUDY_TABLE}.{ending}".format(table=table) for table in PLAN.tables for ending in ("csv", "tex")],


rule figure:
    input:
        files=lambda wildcards: PLAN.files(PLAN.figures[wildcards.figure]),
        comparators=lambda wildcards: PLAN.compared(PLAN.figures[wildcards.figure]),
    output:
        svg=report(f"{FIGURE}.svg", caption="../workflow/report/figure.rst", category="Figures"),
        png=f"{FIGURE}.png",
        csv=f"{FIGURE}.csv",
    log:
        "<results>/logs/figure/{figure}.log",
    benchmark:
        "<results>/benchmarks/figure/{figure}.jsonl"
    wildcard_constraints:
        figure=one_of(made_alone(PLAN.figures)),
    resources:
        mem_mb=growing(1500),
        runtime=growing(5),
    params:
        code=lambda wildcards: code("scant.present.making", *PLAN.figures[wildcards.figure].shown.modules),
        options=lambda wildcards: compact(dict(PLAN.figures[wildcards.figure].shown.options)),
        looks=lambda wildcards: compact(looks(wildcards.figure)),
        comparators=lambda wildcards, input: braces(input.comparators),
        told=lambda wildcards: compact(told(PLAN.figures[wildcards.figure])),
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant figure {wildcards.figure:q} {input.files:q} --comparators {params.comparators} --told {params.told:q}"
        " --output {params.stem:q} 2>&1 | tee {log:q}"


rule table:
    input:
        files=lambda wildcards: PLAN.files(PLAN.tables[wildcards.table]),
        comparators=lambda wildcards: PLAN.compared(PLAN.tables[wildcards.table]),
    output:
        csv=report(f"{STUDY_TABLE}.csv", caption="../workflow/report/table.rst", category="Tables"),
        tex=f"{STUDY_TABLE}.tex",
    log:
        "<results>/logs/table/{table}.log",
    benchmark:
        "<results>/benchmarks/table/{table}.jsonl"
    wildcard_constraints:
        table=one_of(made_alone(PLAN.tables)),
    resources:
        mem_mb=growing(1500),
        runtime=growing(5),
    params:
        code=lambda wildcards: code("scant.present.making", *PLAN.tables[wildcards.table].shown.modules),
        options=lambda wildcards: compact(dict(PLAN.tables[wildcards.table].shown.options)),
        files=lambda wildcards, input: braces(input.files),
        comparators=lambda wildcards, input: braces(input.comparators),
        told=lambda wildcards: compact(told(PLAN.tables[wildcards.table])),
        seed=STUDY["seed"],
        stem=lambda wildcards, output: output.csv.removesuffix(".csv"),
    shell:
        "scant table {wildcards.table:q} {params.files} --comparators {params.comparators} --told {params.told:q}"
        " --study-seed {params.seed} --output {params.stem:q} 2>&1 | tee {log:q}"


# If the study's key `together` is "all": a rule for the figures of each family, and one for its tables.
for kind, targets in PLAN.shared(PLAN.figures).items():

    rule:
        name:
            f"figures_{kind}".replace("-", "_")
        input:
            files_of(targets),
        output:
            svg=[
                report(
                    f"{FIGURE}.svg".format(figure=figure), caption="../workflow/report/figure.rst", category="Figures"
                )
                for figure in targets
            ],
            png=[f"{FIGURE}.png".format(figure=figure) for figure in targets],
            csv=[f"{FIGURE}.csv".format(figure=figure) for figure in targets],
        log:
            f"<results>/logs/figure/{kind}.log",
        benchmark:
            f"<results>/benchmarks/figure/{kind}.jsonl"
        resources:
            mem_mb=growing(1500),
            runtime=growing(5),
        params:
            code=code_of(targets),
            options=options_of(targets),
            looks=compact({figure: looks(figure) for figure in targets}),
            made=compact(inputs_of(targets)),
            folder=lambda wildcards, output: Path(output.csv[0]).parent,
        shell:
            "scant figures {params.made:q} --output {params.folder:q} 2>&1 | tee {log:q}"


for kind, targets in PLAN.shared(PLAN.tables).items():

    rule:
        name:
            f"tables_{kind}".replace("-", "_")
        input:
            files_of(targets),
        output:
            csv=[
                report(
                    f"{STUDY_TABLE}.csv".format(table=table), caption="../workflow/report/table.rst", category="Tables"
                )
                for table in targets
            ],
            tex=[f"{STUDY_TABLE}.tex".format(table=table) for table in targets],
        log:
            f"<results>/logs/table/{kind}.log",
        benchmark:
            f"<results>/benchmarks/table/{kind}.jsonl"
        resources:
            mem_mb=growing(1500),
            runtime=growing(5),
        params:
            code=code_of(targets),
            options=options_of(targets),
            made=compact(inputs_of(targets)),
            folder=lambda wildcards, output: Path(output.csv[0]).parent,
            seed=STUDY["seed"],
        shell:
            "scant tables {params.made:q} --study-seed {params.seed} --output {params.folder:q} 2>&1 | tee {log:q}"
