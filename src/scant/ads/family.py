"""The family of ads: policies that choose ads are learnt from the log of another policy, and
evaluated on a second log.

The origin of a log is "classification" if it is made from a classification set, anew for each seed;
"campaign" if it is drawn from a simulated campaign, anew for each seed; or "log" if it is as it was
logged, the same for all seeds.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import ClassVar

from scant.ads.questions import ADS
from scant.bandits.campaigns import RULES
from scant.bandits.learners import KINDS, LAMBDAS, Uniform, learner_of
from scant.bandits.scorers import UNDERSAMPLED, check
from scant.declare.declarations import Setting, check_numbers, whole_number
from scant.declare.families import Family, Job, Place, Quantity, Shown
from scant.errors import SettingError, errors_of
from scant.study.plan import BANDIT, CAMPAIGN, COVERAGE, OPEN, batches, span, tables_of, untitled

LOG = {
    "description": "Logs have either a campaign or a dataset.",
    "oneOf": [{"required": ["campaign"]}, {"required": ["dataset"]}],
    "properties": {
        "campaign": {
            "description": (
                "A simulated campaign; its targeted policy logs what trains, its "
                "uniform policy what tests."
            )
        },
        "settings": {
            "description": "Settings of the campaign. docs/ad-studies.md says their defaults."
        },
        "train_rows": {
            "description": (
                "Rows of the log that trains; by default the campaign's impressions "
                "times its share."
            ),
            **whole_number(2),
        },
        "test_rows": {
            "description": "Rows of the log that tests, likewise.",
            **whole_number(2),
        },
        "dataset": {
            "description": "A classification set, which is made a log anew for each seed, or a set "
            "of the task ads, whose parts train and test for every seed.",
            "$ref": "#/$defs/id",
        },
        "share": {
            "description": (
                "The share of a classification set's examples that trains (0.7 if absent)."
            ),
            "type": "number",
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
        },
        "train": {
            "description": "The part of a set of the task ads that trains.",
            "$ref": "#/$defs/id",
        },
        "test": {
            "description": (
                "The part that tests, and must have been logged by a policy that shows every ad."
            ),
            "$ref": "#/$defs/id",
        },
        "least_propensity": {
            "description": "The least propensity that the policy which logged the test gives any "
            "ad; needed where its propensities differ.",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
        },
    },
}
SETTINGS_BY_ORIGIN = {  # the settings that only logs of one origin have
    "campaign": ("settings", "train_rows", "test_rows"),
    "classification": ("share",),
    "log": ("train", "test", "least_propensity"),
}
STUDY_OF_BOUNDS = {
    "description": (
        "The study of how often bounds on CTR hold, over simulated campaigns; null for none."
    ),
    "type": ["object", "null"],
    "default": None,
    "additionalProperties": False,
    "properties": {
        "repeats": {
            "description": "How many campaigns are simulated for each setting.",
            **whole_number(1, 10_000_000, default=2000),
        },
        "rows": {
            "description": "How many rows their logs have.",
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": whole_number(40),
            "default": [2000, 20000, 200000],
        },
        "drifts": {
            "description": (
                "How click rates drift in further logs, of the hotel and of sorted classes."
            ),
            "type": "array",
            "uniqueItems": True,
            "items": {"enum": ["falling", "rising", "linear", "seasons", "sorted"]},
            "default": [],
        },
    },
}


# --- logs


def log_origin(log: Mapping, datasets: Mapping) -> str:
    """What a log of a study is made from, given its settings: "classification", "campaign" or
    "log".
    """
    if "campaign" in log:
        return "campaign"
    return "log" if datasets[log["dataset"]].task == "ads" else "classification"


def _check_log(log: dict, datasets: dict) -> None:
    """Raise a SettingError for a log that cannot be made from these settings."""
    from scant.bandits import campaigns
    from scant.data import registry

    if "campaign" in log:
        campaigns.check(log["campaign"], log["settings"])
        rows = max(log.get("train_rows", 0), log.get("test_rows", 0))
        check_numbers(rows=rows, dimensions=campaigns.Settings(**log["settings"]).dimensions)
    else:
        dataset = registry.find(datasets, log["dataset"])
        if dataset.task not in ("ads", "classification"):
            raise SettingError(
                f"{dataset.id} is a {dataset.task} set; logs are of classification or ads sets"
            )
        if dataset.task == "ads":
            _check_parts(log, dataset)
    allowed = SETTINGS_BY_ORIGIN[log_origin(log, datasets)]
    for key in (key for keys in SETTINGS_BY_ORIGIN.values() for key in keys):
        if log.get(key) and key not in allowed:
            raise SettingError(f"{key} does nothing for this log")


def _check_parts(log: dict, dataset) -> None:
    """Raise a SettingError unless the data set has the log's parts for training and testing, and
    they differ.
    """
    for part in ("train", "test"):
        if part not in log:
            raise SettingError(f"{part} is needed: the part of {dataset.id} that is to {part}")
        dataset.part(log[part])
    if log["train"] == log["test"]:
        raise SettingError(
            "train and test are the same part: a policy must not be learnt from what tests it"
        )


def logs_in_use(study: Mapping) -> list[str]:
    """The ids of the logs that a study's experiments use, each once."""
    experiments = (
        experiment for experiment in study["experiments"].values() if experiment["kind"] == Ads.kind
    )
    return list(dict.fromkeys(log for experiment in experiments for log in experiment["logs"]))


def tables(study: Mapping, datasets: Mapping, log: str) -> list[str]:
    """The tables of a log's data set, or of its parts train and test if it is as it was logged;
    none for a campaign.
    """
    settings = study["logs"][log]
    if "dataset" not in settings:
        return []
    parts = (
        [settings["train"], settings["test"]] if log_origin(settings, datasets) == "log" else None
    )
    return tables_of(datasets, settings["dataset"], parts)


def campaign_file(study: Mapping, log: str) -> list[str]:
    """The file of the campaign that a log is drawn from, in a list; empty if the log is not
    simulated.
    """
    simulated = "campaign" in study["logs"][log]
    return [CAMPAIGN.format(study=study["study"], stream=log)] if simulated else []


def drawn_from(study: Mapping, datasets: Mapping, log: str) -> list[str]:
    """The files that a log is drawn or made from: the campaign's file, or the tables of the data
    set.
    """
    return campaign_file(study, log) or tables(study, datasets, log)


def files(study: Mapping, datasets: Mapping, log: str, part: str, seeds: list[int]) -> list[str]:
    """The files of the part "train" or "test" of a log: one for each seed, or one for all if it is
    as it was logged.
    """
    if log_origin(study["logs"][log], datasets) == "log":
        return [tables(study, datasets, log)[part == "test"]]
    return [
        BANDIT.format(study=study["study"], stream=log, seeds=OPEN, seed=seed, part=part)
        for seed in seeds
    ]


# --- what is shown


def _has_coverage(study: dict, experiment: str) -> bool:
    return bool(study["coverage"])


FRAMES, DRAWINGS = "scant.ads.frames", "scant.ads.drawings"


def _figure(
    name: str, frame: str, heading: str, *, caption: str, source: str, repeats: str = ""
) -> Shown:
    """A figure of logs of one origin, which experiments ask for; `frame` names its frame and its
    drawing.
    """
    return Shown(
        name,
        heading=heading,
        repeats=repeats,
        caption=caption,
        frame=f"{FRAMES}:{frame}",
        draw=f"{DRAWINGS}:{frame}",
        asked=True,
        sources=(source,),
    )


FIGURES = (
    _figure(
        "figure-5.1",
        "deterministic",
        "Which ad policy has the highest CTR on classification sets?",
        repeats="Figure 5.1 of the thesis",
        caption="CTR on the test part, of which everything is known, of policies learnt from a "
        "bandit log of the training part. Points are means over seeds (a new split and a new log "
        "each), bars 95 % t intervals.",
        source="classification",
    ),
    _figure(
        "figure-5.2",
        "weighted",
        "How far is the CTR estimated from logs from the truth?",
        repeats="Figure 5.2 of the thesis",
        caption="What a log of the uniform policy says of policies learnt from a log of the "
        "targeted one: the importance-weighted CTR, its lower bounds by Student's t and by "
        "betting, and the true CTR. Means over seeds.",
        source="campaign",
    ),
    _figure(
        "figure-ctr-by-rate",
        "by_rate",
        "Does learning from logs pay where clicks are rare?",
        caption="True CTR over that of the uniform policy, against the click rate of the training "
        "log. Points are means over seeds, bars 95 % t intervals.",
        source="campaign",
    ),
    _figure(
        "figure-logs",
        "weighted",
        "What CTR would new policies have had in the test log?",
        caption="What the test log says of policies learnt from the training log: the "
        "importance-weighted CTR, and its lower bounds by Student's t and by betting. Means over "
        "seeds.",
        source="log",
    ),
    Shown(
        "figure-coverage",
        heading="How often do bounds on CTR hold?",
        caption="How often each bound on CTR held in simulated logs of a campaign, with the policy "
        "and the number of rows for which it held least often; and how wide it was.",
        frame=f"{FRAMES}:coverage",
        draw=f"{DRAWINGS}:coverage",
        reads="coverage",
        shows=_has_coverage,
    ),
)
TABLES = (
    Shown(
        "ads",
        heading="CTR of ad policies",
        caption="Ad policies: CTR by the best knowledge there is (true, full information, or "
        "importance-weighted), with 95 % t intervals over seeds, and paired differences to the "
        "experiment's baseline.",
        frame=f"{FRAMES}:ads_table",
        printed=(
            "experiment",
            "stream",
            "learner",
            "kind",
            "of",
            "ctr",
            "difference",
            "gain",
            "lambda",
            "n",
        ),
    ),
    Shown(
        "table-5.1",
        heading="Classification sets as bandit logs",
        repeats="Table 5.1 of the thesis",
        caption="The classification sets as bandit logs: sizes and clicks.",
        frame=f"{FRAMES}:table_5_1",
        reads="logs",
        sources=("classification",),
    ),
    Shown(
        "table-5.2",
        heading="Impressions and clicks of each ad",
        repeats="Table 5.2 of the thesis",
        caption="Impressions and clicks of each ad in the logs.",
        frame=f"{FRAMES}:table_5_2",
        reads="logs",
        sources=("campaign", "log"),
    ),
    Shown(
        "theorems-ads",
        heading="Theorems on importance-weighted CTR",
        caption="The expectation of estimates of a policy's CTR, over all logs of a few rows. No "
        "run is needed.",
        frame="scant.ads.theorems:ads_table",
        reads="nothing",
    ),
)


class Ads(Family):
    """Ads from logs of another policy (Chaudhuri 2016, chapter 5)."""

    kind = "ads"
    about = "choose ads from logs of another policy"
    place = Place(
        key="logs",
        name="log",
        about="Bandit logs, by id - drawn from a simulated campaign, made of a classification data "
        "set, or those of a data set of the task ads. Each has a part that trains and one that "
        "tests.",
        keys=LOG,
        simulations=("campaign", "scant.bandits.campaigns:SIMULATIONS"),
        rules=RULES,
        check=_check_log,
    )
    settings = (
        Setting(
            "tuning",
            {"enum": ["held-out", "paper"], "default": "held-out"},
            about="Reading: the lambda that is best on a part of the training log (held-out), or "
            "on the test itself (paper). Tables show both; figures and the finals follow this one.",
        ),
        Setting(
            "baseline",
            {"type": ["string", "null"], "default": None},
            about="The learner that the others are compared with, seed by seed.",
            plays=False,
        ),
        Setting(
            "validation",
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.2},
            about="The share of the training log that chooses lambda under the reading held-out.",
            reading=True,
            some=True,
            unless={"tuning": "paper"},
        ),
        Setting(
            "threshold",
            {"enum": ["f1", "precision", "recall", "none"], "default": "f1"},
            about="Reading: what a ranker's thresholds maximise on the training log; none for no "
            "thresholds.",
            reading=True,
            some=True,
        ),
        Setting(
            "undersample",
            whole_number(type=["integer", "null"], default=None),
            about="Reading: negatives kept for each positive, drawn at random; null for all.",
            reading=True,
            some=True,
        ),
        Setting(
            "undersampled",
            {"enum": list(UNDERSAMPLED), "default": "classifiers"},
            about="Reading: whose negatives - those of classifiers, such as logistic and forest "
            "(classifiers), or rankers' too (all).",
            reading=True,
            some=True,
            unless={"undersample": None},
        ),
        Setting(
            "standardise",
            {"type": "boolean", "default": True},
            about="Reading: whether features get mean 0 and deviation 1 over the training log.",
            reading=True,
            some=True,
        ),
        Setting(
            "select",
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 1.0},
            about="Reading: the share of features that are kept, those of the most information "
            "gain.",
            reading=True,
            some=True,
        ),
        Setting(
            "epsilons",
            {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": "number", "minimum": 0, "maximum": 1},
                "default": [0.0],
            },
            about="The epsilons of the epsilon-greedy policies; 0 is the deterministic one.",
        ),
        Setting(
            "level",
            {"type": "number", "minimum": 0.5, "exclusiveMaximum": 1, "default": 0.95},
            about="The confidence of the bounds on CTR.",
        ),
        Setting(
            "users",
            whole_number(2, default=262144),
            about="Over how many users of a campaign the true CTR is averaged.",
        ),
    )
    learners = KINDS
    methods = ("fit", "score")
    shown = (*FIGURES, *TABLES)
    questions = ADS
    quantities: ClassVar = {
        "ctr": Quantity(
            "CTR", "scant.ads.quantities:ctr", tuned=True, range=(0.0, 1.0), better="high"
        ),
        # In percent of the mean CTR compared with, which is taken as known.
        "ctr_gain": Quantity(
            "gain in CTR (%)", "scant.ads.quantities:ctr", tuned=True, compared=True
        ),
        "coverage": Quantity(
            "share of logs",
            "scant.ads.quantities:coverage",
            options=("bound",),
            share=True,
            range=(0.0, 1.0),
            reads="coverage",
        ),
    }
    told = ("baseline", "tuning")
    sections: ClassVar = {"coverage": STUDY_OF_BOUNDS}
    engine = "scant.ads.run:run_job"
    toys = "scant.ads.toys:fit"
    memory, minutes = 3000, 30

    # --- planning

    def check(self, study: dict, datasets: dict, experiment: dict) -> None:
        origins = {log: log_origin(study["logs"][log], datasets) for log in experiment["logs"]}
        for log, learner in product(experiment["logs"], experiment["learners"]):
            with errors_of(f"{learner} on {log}"):
                check(study["learners"][learner], experiment, origins[log])
        kinds = {study["learners"][learner]["kind"] for learner in experiment["learners"]}
        if "figure-ctr-by-rate" in experiment["figures"] and Uniform.kind not in kinds:
            raise SettingError(
                "figure-ctr-by-rate shows CTR over that of the uniform policy: add a learner of "
                "kind uniform"
            )
        if "figure-5.1" in experiment["figures"] and 0 not in experiment["epsilons"]:
            raise SettingError("figure-5.1 shows deterministic policies: add 0 to epsilons")
        for figure in (figure for figure in FIGURES if figure.name in experiment["figures"]):
            if misfits := [log for log in experiment["logs"] if origins[log] not in figure.sources]:
                raise SettingError(
                    f"{figure.name} is of logs of another kind than {misfits[0]}, which is a "
                    f"{origins[misfits[0]]}"
                )

    def jobs(self, study: dict, datasets: Mapping, name: str) -> list[Job]:
        experiment = study["experiments"][name]
        spans = batches(experiment["seeds"], experiment["batch"])
        return [
            Job(
                f"{name}/{log}/{learner}/seed-{span(seeds)}",
                settings,
                seeds,
                _inputs(study, datasets, log, seeds),
            )
            for log, learner, settings in self._settings(study, experiment)
            for seeds in spans
        ]

    def _settings(self, study: dict, experiment: dict) -> Iterator[tuple[str, str, dict]]:
        """Each log and learner of an experiment, with all settings that can change the learner's
        results on the log.
        """
        readings = self.played(experiment)
        for log, learner in product(experiment["logs"], experiment["learners"]):
            settings = {
                "study_seed": study["seed"],
                "kind": self.kind,
                "log_settings": untitled(study["logs"][log]),
                "learner_settings": untitled(study["learners"][learner], "stands_for"),
            }
            yield log, learner, settings | readings

    def read(self, plan, shown: Shown) -> list[str]:
        if shown.reads == "coverage":
            return [COVERAGE.format(study=plan.study["study"])] if plan.study["coverage"] else []
        study, datasets = plan.study, plan.datasets
        logs = [
            log
            for log in logs_in_use(study)
            if log_origin(study["logs"][log], datasets) in shown.sources
        ]
        parts = product(logs, ("train", "test"))
        return [file for log, part in parts for file in files(study, datasets, log, part, [0])]

    def drawn_anew(
        self, study: dict, datasets: Mapping, experiment: dict, place: str, learner: str
    ) -> bool:
        simulated = log_origin(study["logs"][place], datasets) != "log"
        settings = study["learners"][learner]
        fitted = learner_of(settings["kind"])
        several = fitted.regularised and len(settings.get("lambdas", LAMBDAS)) > 1
        splits_rows = several and experiment["tuning"] == "held-out"
        undersamples = fitted.learns == "ad" and experiment["undersample"] is not None
        return simulated or self.draws(study, learner) or splits_rows or undersamples

    # --- presenting

    def identity(self, run: dict) -> dict:
        metadata = {key: run[key] for key in ("experiment", "stream", "learner", "source")}
        return metadata | {"kind": run["learner_settings"]["kind"]}

    def tunings(self, study: dict, details: dict, traces, learners: set[str]) -> list[str | None]:
        chosen = details["tuning"]
        fitted = any(
            learner_of(study["learners"][learner]["kind"]).regularised for learner in learners
        )
        return [chosen, "paper"] if chosen != "paper" and fitted else [chosen]


def _inputs(study: dict, datasets: Mapping, log: str, seeds: list[int]) -> dict[str, list[str]]:
    """The files that a run reads: the logs "train" and "test" (see `files`), and the "campaign", if
    any.
    """
    logs = {part: files(study, datasets, log, part, seeds) for part in ("train", "test")}
    return logs | {"campaign": campaign_file(study, log)}
