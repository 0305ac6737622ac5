# From runs to figures and tables. Each figure comes with a CSV file of exactly the data that it shows.
FIGURE, TABLE = ("svg", "png", "csv"), ("csv", "tex")


rule figures:
    input:
        expand("<results>/figures/{figure}.{ending}", figure=PLAN.figures, ending=FIGURE),


rule tables:
    input:
        expand("<results>/tables/{table}.{ending}", table=PLAN.tables, ending=TABLE),


# One job draws all figures of a family, one makes its tables of runs, and one its tables of theorems: to start pandas
# and Matplotlib takes longer than most of them. A rule's outputs have to be listed, so a loop makes a rule of the name
# of each such job:
#   rule figures_perceptron, rule figures_top, rule figures_fixed_items, rule figures_ads, rule figures_generalisation,
#   rule figures_rankings, rule tables_perceptron, rule tables_top, rule tables_fixed_items, rule tables_ads,
#   rule tables_generalisation, rule tables_rankings, rule theorems_perceptron, rule theorems_top,
#   rule theorems_fixed_items, rule theorems_ads, rule theorems_generalisation;
# and one for each figure or table of a user's own.
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
        priority: 8
        resources:
            **needs(1500, 10),
        params:
            study=settled_file,
            job=job,
            # whose folder says where; all outputs would be a command of 1,300 characters
            first=lambda wildcards, output: output[0],
            digest=lambda wildcards, targets=targets: DIGESTS.shown(targets),
        shell:
            "scant job show {params.job:q} --study {params.study:q} --output {params.first:q} 2>&1 | tee {log:q}"


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
        study=settled_file,
        digest=digest([code("scant.page.boards"), [PLAN.details(name) for name in PLAN.stated]]),
    shell:
        "scant job boards --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"
