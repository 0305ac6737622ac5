# Ads: campaigns, the logs of each seed, a job for each log, learner and batch of seeds; and how often bounds hold.


rule campaign:
    output:
        CAMPAIGN,
    log:
        "<results>/logs/campaign/{stream}.log",
    benchmark:
        "<results>/benchmarks/campaign/{stream}.jsonl"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("ads/campaigns", "data/logs"),
        campaign=lambda wildcards: STUDY["logs"][wildcards.stream]["campaign"],
        settings=lambda wildcards: compact(STUDY["logs"][wildcards.stream]["settings"]),
    shell:
        "scant campaign {params.campaign:q} --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}"


rule draw:
    input:
        source=lambda wildcards: campaign_of(wildcards.stream) or data_of(wildcards.stream),
    output:
        BANDIT.replace("{part}", "train"),
        BANDIT.replace("{part}", "test"),
    log:
        "<results>/logs/draw/{stream}/seed-{seed}.log",
    benchmark:
        "<results>/benchmarks/draw/{stream}/seed-{seed}.jsonl"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        code=code("ads/campaigns", "ads/convert", "ads/draw", "data/logs", "data/tables"),
        settings=lambda wildcards: compact(studies.untitled(STUDY["logs"][wildcards.stream])),
        seed=STUDY["seed"],
    shell:
        "scant draw {wildcards.stream:q} {input.source:q} --seed {wildcards.seed}"
        " --settings {params.settings:q} --study-seed {params.seed} --outputs {output:q} 2>&1 | tee {log:q}"


rule learn:
    input:
        train=lambda wildcards: log_files(wildcards.stream, "train", spanned(wildcards.seeds)),
        test=lambda wildcards: log_files(wildcards.stream, "test", spanned(wildcards.seeds)),
        campaign=lambda wildcards: campaign_of(wildcards.stream),
    output:
        RUN,
    log:
        "<results>/logs/run/{experiment}/{stream}/{learner}/seed-{seeds}.log",
    benchmark:
        "<results>/benchmarks/run/{experiment}/{stream}/{learner}/seed-{seeds}.jsonl"
    wildcard_constraints:
        experiment=one_of(experiments_of("ads")),
    resources:
        mem_mb=growing(3000),
        runtime=growing(30),
    params:
        code=code("ads", "data/logs", "kernels/pairs", "runs"),
        study=STUDY["study"],
        settings=lambda wildcards: compact(
            studies.job(STUDY, wildcards.experiment, wildcards.stream, wildcards.learner)
        ),
        seeds=lambda wildcards: spanned(wildcards.seeds),
        campaign=lambda wildcards, input: f"--campaign {shlex.quote(input.campaign[0])}" if input.campaign else "",
    shell:
        "scant learn --study {params.study:q} --experiment {wildcards.experiment:q} --stream {wildcards.stream:q}"
        " --learner {wildcards.learner:q} --seeds {params.seeds} --settings {params.settings:q}"
        " --train {input.train:q} --test {input.test:q} {params.campaign} --output {output:q} 2>&1 | tee {log:q}"


rule coverage:
    output:
        COVERAGE,
    log:
        "<results>/logs/coverage.log",
    benchmark:
        "<results>/benchmarks/coverage.jsonl"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        code=code("ads/coverage", "ads/evaluation", "ads/intervals"),
        settings=compact(STUDY["coverage"]),
        seed=STUDY["seed"],
    shell:
        "scant coverage --settings {params.settings:q} --study-seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"
