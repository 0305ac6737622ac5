# Games on fixed items: a job for each game and batch of seeds, which plays all learners, since a round takes about a
# microsecond and a process a second to start; and how long rounds take, where that is shown.


rule play:
    input:
        own=lambda wildcards: own_modules(wildcards.experiment),
    output:
        GAME_RUN,
    log:
        "<results>/logs/run/{experiment}/{game}/seed-{seeds}.log",
    benchmark:
        "<results>/benchmarks/run/{experiment}/{game}/seed-{seeds}.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=code(*GAME_CODE),
        study=STUDY["study"],
        settings=lambda wildcards: compact(studies.match(STUDY, wildcards.experiment, wildcards.game)),
        seeds=lambda wildcards: spanned(wildcards.seeds),
    shell:
        "scant play --study {params.study:q} --experiment {wildcards.experiment:q} --stream {wildcards.game:q}"
        " --seeds {params.seeds} --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


rule times:
    input:
        own=lambda wildcards: own_modules(wildcards.experiment),
    output:
        TIMES,
    log:
        "<results>/logs/times/{experiment}.log",
    benchmark:
        "<results>/benchmarks/times/{experiment}.jsonl"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code(*GAME_CODE),
        jobs=lambda wildcards: compact(
            [
                studies.match(STUDY, wildcards.experiment, game) | {"experiment": wildcards.experiment, "stream": game}
                for game in STUDY["experiments"][wildcards.experiment]["games"]
            ]
        ),
        details=lambda wildcards: compact(studies.details(STUDY, wildcards.experiment)),
    shell:
        "scant time --jobs {params.jobs:q} --details {params.details:q} --output {output:q} 2>&1 | tee {log:q}"
