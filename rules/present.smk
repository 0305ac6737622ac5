# From runs to figures and tables. Each figure comes with a CSV file of exactly the data that it shows.
FIGURE, TABLE = ("svg", "png", "csv"), ("csv", "tex")


rule figures:
    input:
        expand("<results>/figures/{figure}.{ending}", figure=PLAN.figures, ending=FIGURE),


rule tables:
    input:
        expand("<results>/tables/{table}.{ending}", table=PLAN.tables, ending=TABLE),


# A family has a job for its figures, one for tables of runs, and one for tables of theorems, since starts take long.
for job, targets in PLAN.shown_by.items():
    folder, endings = ("figures", FIGURE) if job.startswith("figures") else ("tables", TABLE)

    rule:
        name:
            job
        input:
            lambda wildcards, targets=targets: PLAN.shown_from(targets),
        output:
            expand(f"<results>/{folder}/{{name}}.{{ending}}", name=targets, ending=endings),
        log:
            f"<results>/logs/{job}.log",
        benchmark:
            f"<results>/benchmarks/{job}.jsonl"
        # before runs of other families: else the longest comes last
        priority: 8
        resources:
            **needs(1500, 10),
        params:
            study=SETTLED,
            job=job,
            digest=lambda wildcards, targets=targets: DIGESTS.shown(targets),
        shell:
            "scant job show {params.job:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule boards:
    input:
        [file for name in PLAN.stated for file in PLAN.run_files(name)],
    output:
        temp("<results>/boards.json"),
    log:
        "<results>/logs/boards.log",
    benchmark:
        "<results>/benchmarks/boards.jsonl"
    priority: 10
    resources:
        **needs(1000, 5),
    params:
        study=SETTLED,
        digest=digest([code("scant.page.boards"), [PLAN.details(name) for name in PLAN.stated]]),
    shell:
        "scant job boards --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"
