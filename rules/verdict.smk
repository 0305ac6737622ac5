# The claims of the papers, judged on the study's traces; their figures; and the page that shows all results, with the
# manifest, which says what made them.
from scant.compare import manifest, provenance

JUDGED = bool(STUDY["claims"])
THEORY = [name for name, target in PLAN.tables.items() if target.shown.reads == "nothing"]
PARTS = selection.parts(PLAN, CLAIMED) if JUDGED else {}
JUDGES = ("scant.study.settings", "scant.verdict.tables", *selection.modules())
JUDGED_ON = {  # whatever the claims are about
    "tables": [f"<results>/tables/{table}.csv" for table in THEORY] if JUDGED else [],
    "coverage": plan.COVERAGE.format(study=STUDY["study"]) if JUDGED and STUDY["coverage"] else [],
    "study": STUDY_FILE,
    "claims": [of_project(file) for file in studies.claims_files(STUDY)],
    "schema": of_project(studies.CLAIMS_SCHEMA),
}
MADE_BY = [module for modules in manifest.modules(PLAN).values() for module in modules]


# Claims are judged as the traces that they need come, and then gathered. A change of what they are judged on redoes all
# of that, since files of judged claims do not stay.
for part, (experiments, _) in PARTS.items():

    rule:
        name:
            f"judged_{part.replace('-', '_')}"
        input:
            **JUDGED_ON,
            traces=[plan.TRACES.format(study=STUDY["study"], experiment=name) for name in experiments],
            comparators=PLAN.comparator_files(experiments),
        output:
            temp(f"<results>/judged/{part}.json"),
        log:
            f"<results>/logs/judged/{part}.log",
        benchmark:
            f"<results>/benchmarks/judged/{part}.jsonl"
        priority: 20
        resources:
            **needs(1500, 5),
        params:
            code=code(*JUDGES),
            settings=compact({"part": part}),
            files=lambda wildcards, input: inputs_by(input, "study", "traces", "comparators", "tables", "coverage"),
        shell:
            "scant job judged {params.files} --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


rule claims:
    input:
        **JUDGED_ON,
        judged=[f"<results>/judged/{part}.json" for part in PARTS],
    output:
        csv=report(f"{CLAIMS}.csv", caption="../workflow/report/claims.rst", category="Claims"),
        parquet=f"{CLAIMS}.parquet",
        tex=f"{CLAIMS}.tex",
        readings=report(f"{CLAIMS}-readings.csv", caption="../workflow/report/readings.rst", category="Claims"),
    log:
        "<results>/logs/claims.log",
    benchmark:
        "<results>/benchmarks/claims.jsonl"
    priority: 20
    resources:
        **needs(1000, 5),
    params:
        code=code(*JUDGES),
        settings=compact({"study": STUDY["study"]}),
        files=lambda wildcards, input: inputs_by(input, "judged"),
    shell:
        "scant job claims {params.files} --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


# Some figures to a job: they are drawn last, when nothing else is left to do.
for number, names in enumerate(CLAIM_FIGURES_OF_JOBS):

    rule:
        name:
            f"claims_figures_{number}"
        input:
            readings=rules.claims.output.readings,
            claims=rules.claims.output.parquet,  # which has the checksum of the readings
        output:
            svg=report(claims_figures(names, "svg"), caption="../workflow/report/claims-figures.rst", category="Claims"),
            png=claims_figures(names, "png"),
            csv=claims_figures(names, "csv"),
        log:
            f"<results>/logs/claims-figures/{number}.log",
        benchmark:
            f"<results>/benchmarks/claims-figures/{number}.jsonl"
        priority: 15
        resources:
            **needs(1500, 5),
        params:
            code=code(
                "scant.verdict.drawings",
                "scant.verdict.readings",
                "scant.present.figures",
                "scant.study.plan",
                "scant.study.code",
            ),
            settings=compact({"figures": [CLAIM_FIGURES[name] for name in names], "titles": titles()}),
            drawn=compact(STUDY["figures"]),
        shell:
            "scant job claims_figures --input readings {input.readings:q} --settings {params.settings:q}"
            " --output {output.csv:q} 2>&1 | tee {log:q}"


rule report:
    input:
        rules.figures.input,
        rules.tables.input,
        traces=[
            plan.TRACES.format(study=STUDY["study"], experiment=name) for name in PLAN.stated if name in PLAN.played
        ],
        claims=rules.claims.output.parquet if JUDGED else [],
        readings=rules.claims.output.readings if JUDGED else [],
        study=STUDY_FILE,
        citation=of_project("CITATION.cff"),
        page=[os.path.relpath(file) for file in sorted((PACKAGE / "page/assets").glob("*.*"))],
    output:
        page="<results>/report.html",
        manifest=f"<results>/{manifest.NAME}",
        settings=f"<results>/{provenance.STUDY}",
    log:
        "<results>/logs/report.log",
    benchmark:
        "<results>/benchmarks/report.jsonl"
    resources:
        **needs(1000, 5),
    params:
        code=code(
            "scant.page.about",
            "scant.page.page",
            "scant.compare.manifest",
            "scant.study.settings",
            *selection.modules(),
            *MADE_BY,
        ),
        captions=compact([[shown.name, shown.heading, shown.caption] for _, shown in families.shown()]),
        settings=compact({"study_file": os.path.relpath(workflow.configfiles[-1])}),
        files=lambda wildcards, input: inputs_by(input, "study", "traces", "claims", "readings"),
    shell:
        "scant job report {params.files} --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"
