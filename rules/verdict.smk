# The claims of the papers, judged on the study's runs, and the page that shows all results, with the manifest, which
# says what made them.

# By the kinds of experiments that they can be read in: the experiments, and the claims that one job judges on these.
CLAIMS_OF = selection.jobs(PLAN, CLAIMS)
# What claims are judged on besides, if the study judges any.
COVERAGE = [plan.COVERAGE.format(study=STUDY["study"])] if STUDY["coverage"] else []
JUDGED_ON = PLAN.theory + COVERAGE if CLAIMS else []
# In the order of their files: of several experiments that a claim fits, the first decides.
JUDGING = code("scant.verdict.tables", *selection.modules(CLAIMS))
JUDGED = digest([json.dumps([STUDY, CLAIMS]), JUDGING])


# Claims are judged as the runs that they need come, and then gathered. A change of what they are judged on redoes
# both, since files of judged claims do not stay.
rule judge:
    input:
        runs_to_judge,
        JUDGED_ON,
    output:
        temp("<results>/verdicts/{kinds}.json"),
    log:
        "<results>/logs/judge/{kinds}.log",
    benchmark:
        "<results>/benchmarks/judge/{kinds}.jsonl"
    priority: 20
    resources:
        **needs(1500, 5),
    params:
        study=settled_file,
        digest=JUDGED,
    shell:
        "scant job judge {wildcards.kinds:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


rule claims:
    input:
        expand("<results>/verdicts/{kinds}.json", kinds=CLAIMS_OF),
        JUDGED_ON,
    output:
        csv="<results>/claims.csv",
        parquet="<results>/claims.parquet",
        tex="<results>/claims.tex",
        readings="<results>/claims-readings.csv",
    log:
        "<results>/logs/claims.log",
    benchmark:
        "<results>/benchmarks/claims.jsonl"
    priority: 20
    resources:
        **needs(1000, 5),
    params:
        study=settled_file,
        digest=JUDGED,
    shell:
        "scant job claims --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"


REPORT = ("scant.page.page", "scant.page.about", "scant.finished.manifest")
ASSETS = [of_project("CITATION.cff"), *sorted((PACKAGE / "page/assets").glob("*.*"))]


rule report:
    input:
        rules.figures.input,
        rules.tables.input,
        rules.boards.output,
        rules.claims.output if CLAIMS else [],
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
        study=settled_file,
        code=code(*REPORT, *selection.modules(CLAIMS)),
        made_by=code(*(name for names in manifest.modules(PLAN, CLAIMS).values() for name in names)),
        texts=digest([sha256(file) for file in ASSETS]),
        captions=digest([[one.heading, one.caption, one.repeats] for _, one in PLAN.shown]),
        digest=digest(json.dumps([settled_study.given, STUDY, CLAIMS])),
        study_file=os.path.relpath(study_files[-1]) if study_files else "",
    shell:
        "scant job report {params.study_file:q} --study {params.study:q} --output {output:q} 2>&1 | tee {log:q}"
