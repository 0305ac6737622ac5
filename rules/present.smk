# From runs to traces, with one file for each experiment, and to figures and tables. Each figure comes with a CSV file
# of exactly the data that it shows.


for name, log, experiments in rules_of("traces", traces_together(), "{experiment}"):

    rule:
        name:
            name
        input:
            lambda wildcards, ids=experiments: [run for id in filled(ids, wildcards) for run in PLAN.run_files(id)],
        output:
            [kept(plan.TRACES).format(experiment=experiment) for experiment in experiments],
        log:
            f"<results>/logs/traces/{log}.log",
        benchmark:
            f"<results>/benchmarks/traces/{log}.jsonl"
        priority: 10
        resources:
            **needs(2000, 5),
        params:
            code=lambda wildcards, ids=experiments: code(
                "scant.present.traces", PLAN.families[filled(ids, wildcards)[0]].__module__
            ),
            traces=lambda wildcards, ids=experiments: gathered(filled(ids, wildcards)),
        shell:
            "scant {params.traces} 2>&1 | tee {log:q}"


rule figures:
    input:
        [
            f"<results>/figures/{figure}.{ending}"
            for figure in (*PLAN.figures, *map(plan.OF_CLAIMS.__add__, CLAIM_FIGURES))
            for ending in ("svg", "png", "csv")
        ],


rule tables:
    input:
        [f"<results>/tables/{table}.{ending}" for table in PLAN.tables for ending in ("csv", "tex")],


for name, log, ids in rules_of("figure", PLAN.shared(PLAN.figures), "{figure}"):

    rule:
        name:
            name
        input:
            lambda wildcards, ids=ids: files_of(PLAN.figures, filled(ids, wildcards)),
        output:
            svg=[
                report(f"<results>/figures/{id}.svg", caption="../workflow/report/figure.rst", category="Figures")
                for id in ids
            ],
            png=[f"<results>/figures/{id}.png" for id in ids],
            csv=[f"<results>/figures/{id}.csv" for id in ids],
        log:
            f"<results>/logs/figure/{log}.log",
        benchmark:
            f"<results>/benchmarks/figure/{log}.jsonl"
        resources:
            **needs(1500, 5),
        params:
            code=lambda wildcards, ids=ids: code_of(PLAN.figures, filled(ids, wildcards)),
            options=lambda wildcards, ids=ids: options_of(PLAN.figures, filled(ids, wildcards)),
            looks=lambda wildcards, ids=ids: compact({figure: looks(figure) for figure in filled(ids, wildcards)}),
            figures=lambda wildcards, ids=ids: shown("figure", PLAN.figures, filled(ids, wildcards)),
        shell:
            "scant {params.figures} 2>&1 | tee {log:q}"


for name, log, ids in rules_of("table", PLAN.shared(PLAN.tables), "{table}"):

    rule:
        name:
            name
        input:
            lambda wildcards, ids=ids: files_of(PLAN.tables, filled(ids, wildcards)),
        output:
            csv=[
                report(f"<results>/tables/{id}.csv", caption="../workflow/report/table.rst", category="Tables")
                for id in ids
            ],
            tex=[f"<results>/tables/{id}.tex" for id in ids],
        log:
            f"<results>/logs/table/{log}.log",
        benchmark:
            f"<results>/benchmarks/table/{log}.jsonl"
        resources:
            **needs(1500, 5),
        params:
            code=lambda wildcards, ids=ids: code_of(PLAN.tables, filled(ids, wildcards)),
            options=lambda wildcards, ids=ids: options_of(PLAN.tables, filled(ids, wildcards)),
            tables=lambda wildcards, ids=ids: shown(
                "table", PLAN.tables, filled(ids, wildcards), study_seed=STUDY["seed"]
            ),
        shell:
            "scant {params.tables} 2>&1 | tee {log:q}"
