"""What the family `rankings` declares: click logs of rankings, what they say of another ranker, and
rankers that are learnt from them.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from scant.clicklogs.learners import ESTIMATORS, LEARNERS
from scant.clicklogs.policies import EXPLORATIONS
from scant.clicklogs.questions import RANKINGS
from scant.declare.declarations import Setting, whole_number
from scant.declare.families import Family, Job, Place, Quantity, Shown, titles
from scant.errors import SettingError, check_name, errors_of
from scant.rankers import clicks
from scant.rankers.streams import largest_grade
from scant.study.plan import CLICKS, OPEN, STREAM, batches, learners_of, span, untitled

VISIT = whole_number(2, 100_000_000)  # one has no variance; a log is held in memory
CLICK_LOG = {
    "description": "A click log of the queries of a stream.",
    "required": ["stream"],
    "properties": {
        "stream": {
            "description": "The id of a stream, made of a data set, whose queries are visited.",
            "$ref": "#/$defs/id",
        },
        "user": {
            "description": "Who clicks: a user of the literature, by name, or probabilities of a "
            "click and of leaving after it, by grade, and of looking, by place.",
            **clicks.RULE,
            "default": "position",
        },
        "places": {
            "description": "How many documents a list has. Queries with fewer are not visited.",
            **whole_number(1, 10, default=10),
        },
        "visits": {"description": "How many visits the log has.", **VISIT, "default": 10000},
        "held_out": {
            "description": "How many of the stream's queries, the last ones, are not visited, and "
            "tell how well a ranker ranks.",
            **whole_number(default=100),
        },
        "logging_queries": {
            "description": "On the grades of how many queries, the first ones, the logging ranker "
            "is fitted.",
            **whole_number(default=20),
        },
        "exploration": {
            "description": "How the logging policy explores: by lists from the Plackett-Luce model "
            "of its scores (pl), or, in a share of the visits, by its first three documents "
            "(shuffle), or all (epsilon), in random order.",
            "enum": [name for name in EXPLORATIONS if name != "none"],
            "default": "pl",
        },
        "spread": {
            "description": "The standard deviation of the scores within a query: the larger, the "
            "less pl explores.",
            "type": "number",
            "exclusiveMinimum": 0,
            "default": 1.5,
        },
        "share": {
            "description": "The share of visits that explore, for shuffle and epsilon.",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
            "default": 0.2,
        },
    },
}


def _check_log(log: dict, datasets: dict) -> None:
    """Raise a SettingError for a user whose probabilities do not fit each other."""
    clicks.check(log["user"])


def _check_stream(study: dict, datasets: Mapping, log: dict) -> None:
    """Raise a SettingError if a click log's stream is missing or simulated, or has grades that the
    user has no probabilities for.
    """
    check_name("stream", log["stream"], study["streams"])
    stream = study["streams"][log["stream"]]
    if "dataset" not in stream:
        raise SettingError(
            f"the stream {log['stream']!r} is simulated; a click log needs one of a data set"
        )
    if (grade := largest_grade(stream, datasets)) is not None:
        clicks.user_for(log["user"], grade)


VISITS = Setting(
    "visits",
    {"type": "array", "minItems": 1, "uniqueItems": True, "items": VISIT, "default": [1000, 10000]},
    "How many visits of the log are used, from its beginning; a list.",
)


# --- what is shown

FRAMES, QUANTITIES = "scant.clicklogs.frames", "scant.clicklogs.quantities"


def _estimates(study: dict, experiment: str) -> bool:
    """Whether the experiment has an estimator."""
    return any(kind in ESTIMATORS for kind in _kinds(study, experiment))


def _learns(study: dict, experiment: str) -> bool:
    """Whether the experiment has a learner."""
    return any(kind not in ESTIMATORS for kind in _kinds(study, experiment))


def _kinds(study: dict, experiment: str) -> list[str]:
    """The kinds of the learners of an experiment."""
    learners = study["experiments"][experiment]["learners"]
    return [study["learners"][learner]["kind"] for learner in learners]


FIGURES = (
    Shown(
        "figure-premises",
        heading="What does a wrong premise on users cost?",
        caption="The root mean squared error of estimates of a ranker's clicks, as a share of its "
        "true clicks, against the number of visits in the log, both logarithmic. Bars are 95 % t "
        "intervals of the mean square, over seeds. Where an estimator's premise on users holds, "
        "its error falls as n^(-1/2); where not, it stays. Beside each line is the bias that no "
        "number of visits removes, which is computed, and in how many logs the interval by betting "
        "held at the last point.",
        frame=f"{FRAMES}:premises",
        draw="scant.clicklogs.drawings:premises",
        asked=True,
    ),
    Shown(
        "figure-learning",
        heading="How well do rankers learnt from click logs rank?",
        caption="NDCG@10, on queries that are held out, of rankers learnt from a click log, by the "
        "number of visits in it; with the ranker that logs, the same learner with all grades, "
        "and one that shows its own lists. Means over seeds, bars are 95 % t intervals.",
        frame=f"{FRAMES}:learning",
        draw="scant.clicklogs.drawings:learning",
        asked=True,
    ),
    Shown(
        "figure-strength",
        heading="When does it pay to correct clicks for places?",
        caption="By how much the NDCG@10 of rankers learnt from a click log, on queries that were "
        "not visited, is above that of the ranker that logs, against this ranker's own, which is "
        "fitted to more and more queries with grades: from the clicks as they are, doubly "
        "robustly, by the safe rule, and from all grades. Means over seeds, bars are 95 % t "
        "intervals.",
        frame=f"{FRAMES}:strength",
        draw="scant.clicklogs.drawings:strength",
        asked=True,
    ),
)
TABLES = (
    Shown(
        "rankings",
        heading="Clicks of a ranker, estimated from logs of another",
        caption="Estimates of a ranker's clicks in a visit, by estimator and number of visits: "
        "means over seeds. bias and error are shares of the true clicks, and so is limit, the bias "
        "that no number of visits removes; near is the share of logs whose estimate is within 5 % "
        "of the truth; held is in which share a 95 % interval held, and width how wide it was, in "
        "clicks: by betting, by Student's t, and by empirical likelihood.",
        frame=f"{FRAMES}:estimates_table",
        printed=(
            "experiment",
            "stream",
            "learner",
            "visits",
            "truth",
            "estimate",
            "bias",
            "error",
            "near",
            "limit",
            "held_betting",
            "width_betting",
        ),
        shows=_estimates,
    ),
    Shown(
        "rankings-places",
        heading="Clicks of a ranker by place, estimated from logs of another",
        caption="Estimates of a ranker's clicks in each place, from all visits: means over seeds, "
        "with those of the ends of the 95 % interval by betting.",
        frame=f"{FRAMES}:places_table",
        shows=_estimates,
    ),
    Shown(
        "rankings-learnt",
        heading="NDCG@10 of rankers learnt from click logs",
        caption="NDCG@10 on held-out queries of rankers learnt from click logs, and the true "
        "clicks in a visit of visited queries if a ranker's lists are shown, with 95 % t intervals "
        "over seeds.",
        frame=f"{FRAMES}:learnt_table",
        shows=_learns,
    ),
)


class Rankings(Family):
    """Click logs of rankings: another ranker's clicks, and what can be learnt."""

    kind = "rankings"
    about = "judge and learn rankers by a click log of another one's lists"
    place = Place(
        key="click_logs",
        name="click log",
        about="Click logs, by id: the lists that a policy showed to simulated users, with their "
        "probabilities, and the clicks.",
        keys=CLICK_LOG,
        check=_check_log,
    )
    settings = (VISITS,)
    learners = LEARNERS
    methods = ("values",)
    shown = (*FIGURES, *TABLES)
    questions = RANKINGS
    quantities: ClassVar = {
        "click_limit": Quantity(
            "(limit of estimates - true clicks) / true clicks",
            f"{QUANTITIES}:click_limit",
            certain=True,
        ),
        "click_error": Quantity(
            "|estimated - true clicks| / true clicks",
            f"{QUANTITIES}:click_error",
            options=("visits",),
        ),
        "click_near": Quantity(
            "share of logs that tell the true clicks to within 5 %",
            f"{QUANTITIES}:click_near",
            options=("visits",),
            share=True,
            range=(0.0, 1.0),
        ),
        "click_coverage": Quantity(
            "share of logs in which the interval holds",
            f"{QUANTITIES}:click_coverage",
            options=("visits", "bound"),
            share=True,
            range=(0.0, 1.0),
        ),
        "held_out_ndcg": Quantity(
            "NDCG@10 on held-out queries",
            f"{QUANTITIES}:held_out_ndcg",
            options=("visits",),
            range=(0.0, 1.0),
            better="high",
        ),
        "no_fewer_clicks": Quantity(
            "share of logs in which the ranker has no fewer clicks than the one that logs",
            f"{QUANTITIES}:no_fewer_clicks",
            options=("visits",),
            share=True,
            range=(0.0, 1.0),
        ),
        "no_harm": Quantity(
            "share of logs in which the ranker does no harm on other queries",
            f"{QUANTITIES}:no_harm",
            options=("visits",),
            share=True,
            range=(0.0, 1.0),
        ),
    }
    engine = "scant.clicklogs.run:run"
    toys = "scant.clicklogs.toys:play"
    memory, minutes = 2000, 15

    def check(self, study: dict, datasets: dict, experiment: dict) -> None:
        for name in experiment["click_logs"]:
            log = study["click_logs"][name]
            with errors_of(name):
                _check_stream(study, datasets, log)
                if max(experiment["visits"]) > log["visits"]:
                    raise SettingError(
                        f"visits is {max(experiment['visits']):,}, and the log has "
                        f"{log['visits']:,}: raise its visits, or lower these"
                    )

    def jobs(self, study: dict, datasets: Mapping, name: str) -> list[Job]:
        experiment, jobs = study["experiments"][name], []
        for log in experiment["click_logs"]:
            settings = {
                "study_seed": study["seed"],
                "kind": self.kind,
                "click_log": untitled(study["click_logs"][log]),
                "learners": learners_of(study, experiment),
                **self.played(experiment),
            }
            stream = stream_file(study, log)
            for seeds in batches(experiment["seeds"], experiment["batch"]):
                drawn = [
                    CLICKS.format(study=study["study"], stream=log, seeds=OPEN, seed=seed)
                    for seed in seeds
                ]
                inputs = {"streams": [stream], "logs": drawn}
                jobs.append(Job(f"{name}/{log}/seed-{span(seeds)}", settings, seeds, inputs))
        return jobs

    def details(self, study: dict, name: str) -> dict:
        streams, worlds = titles(study["streams"]), {}
        for log in study["experiments"][name]["click_logs"]:
            settings = study["click_logs"][log]
            user = settings["user"] if isinstance(settings["user"], str) else clicks.OWN
            worlds[log] = [
                f"{streams[settings['stream']]}, {user}",
                f"spread {settings['spread']:g}",
            ]
        return super().details(study, name) | {"worlds": worlds}

    def identity(self, run: dict) -> dict[str, Any]:
        return {key: run[key] for key in ("experiment", "stream")}


def stream_file(study: Mapping, log: str) -> str:
    """The file of the stream whose queries a click log has."""
    return STREAM.format(study=study["study"], stream=study["click_logs"][log]["stream"])
