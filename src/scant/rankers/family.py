"""The families `perceptron`, whose learners see every grade, and `top`, whose learners see the
grades of the top k.
"""

from collections.abc import Callable, Mapping
from itertools import product

from scant import measures
from scant.declare.declarations import Setting, whole_number
from scant.declare.families import Family, Job, Quantity, Shown
from scant.errors import SettingError, errors_of
from scant.rankers import click_learners, clicks, judges, learners, steps, top
from scant.rankers.questions import PERCEPTRON, TOP
from scant.rankers.streams import ADVERSARY, SEPARABLE, STREAMS, largest_grade, sizes
from scant.study.plan import DRAW, OPEN, STREAM, batches, span, total, untitled

# stands for the horizon in checks where it is the length of the stream: longer than any stream
ANY_HORIZON = 10**9
BANDS = "Lines are means over seeds, bands 95 % t intervals."
TUNED = "Each learner is at the rate that its experiment's tuning reading chose."
CHECKED = (
    "share is how much of a bound is used, at most 1 where it holds; over several cases, that of "
    "the worst. No run is needed."
)

SOURCE = Setting(
    "source",
    {"enum": ["text", "released-code"], "default": "text"},
    about=(
        "Reading: the algorithms as the papers' text has them, or as the authors' released code "
        "does."
    ),
    reading=True,
    some=True,
)
ROUNDS = Setting(
    "rounds",
    {"default": None, "oneOf": [{"type": "null"}, whole_number()]},
    about=(
        "The horizon, one number; null for one pass over the stream. Longer horizons pass over "
        "it again."
    ),
    reading=True,
)
EMPTY = Setting(
    "empty",
    {"enum": ["zero", "one", "skip"], "default": "zero"},
    about="Reading: the measures of a query without a relevant document, or skip to leave it out.",
    reading=True,
)
ORDER = Setting(
    "order",
    {"enum": ["shuffled", "as-is"], "default": "shuffled"},
    about="Reading: queries shuffled anew in each pass, or as they are in the files.",
    reading=True,
)
KEEP = Setting(
    "keep",
    {"type": "number", "minimum": 1e-6, "maximum": 1, "default": 1.0},
    about="Reading: the probability with which each query of a pass is kept.",
    reading=True,
)
QUERIES = Setting(
    "queries",
    {"enum": [None, "all", "resampled"], "default": None},
    about="Reading: each seed plays every query (all), or as many queries drawn from these with "
    "replacement (resampled), so that intervals are about queries like these. Null for resampled "
    "on streams of data sets, and for all on simulated ones.",
    # runs are told what it amounts to on their stream, see `Contextual._which_queries`
    plays=False,
    reading=True,
)
TUNING = Setting(
    "tuning",
    {"enum": ["held-out", "paper"], "default": "held-out"},
    about="Reading: the rate with the best final time average on seeds of its own (held-out) or on "
    "the very seeds "
    "that are reported (paper). Tables show both; figures and the finals follow this one.",
    plays=False,
)
TUNING_SEEDS = Setting(
    "tuning_seeds",
    whole_number(0, 1_000_000, default=5),
    about="How many further seeds choose the learning rates under the reading held-out.",
    plays=False,
)
CHOOSING = "tuning-seeds"  # seeds of their own choose before the reported ones play
GRID = Setting(
    "grid",
    {"enum": ["all-seeds", CHOOSING], "default": "all-seeds"},
    about="Which seeds play all rates, and all values that are chosen like rates. Under "
    "tuning-seeds the reported seeds play alone what the others chose, which is quicker; then "
    "nothing can be read at the best rate of the reported seeds, and one job plays all seeds.",
    plays=False,  # runs are told if it is tuning-seeds, see `Top.settings_of_run`
)
UNVISITED = Setting(
    "unvisited",
    {"type": "number", "minimum": 0, "default": 0},
    about="How many queries of a stream that is played whole each seed keeps out of all rounds, so "
    "that learners' own rankings are measured on queries that they never visited: their number, or "
    "their share if it is below 1. Where queries are resampled, those that a seed did not draw are "
    "such.",
    plays=False,  # runs are told it where it counts, see `Contextual._which_queries`
)
UNVISITED_BESIDE_JUDGED = 0.3  # the share that is never visited if the experiment names none
JUDGED = Setting(
    "judged",
    {"type": "number", "minimum": 0, "default": 0.4},
    about="Where learners start from judged lists: how many queries each seed has judged. They are "
    "kept out of all rounds, and so are those never visited, a share of 0.3 unless unvisited says "
    "how many; a number, or a share if it is below 1.",
    plays=False,
)
SCHEDULE = Setting(
    "schedule",
    {"enum": ["thesis", "aistats16"], "default": "thesis"},
    about="Reading: step and exploration fall with the round (thesis), or are fixed at the horizon "
    "(aistats16). The released code has its own.",
    reading=True,
    some=True,
    unless={"source": "released-code"},
)
MISMATCH = Setting(
    "mismatch",
    {"type": "number", "exclusiveMinimum": 0, "default": 10},
    about="Reading: multiplies, in the estimate, the probability of what only exploration puts on "
    "top. 1 alone is unbiased.",
    reading=True,
    some=True,
)
RADIUS = Setting(
    "radius",
    {"type": "number", "exclusiveMinimum": 0, "default": 1.0},
    about="Reading: U, the radius of the ball that weights are kept in.",
    reading=True,
    some=True,
)
JUDGE = Setting(
    "judge",
    {"enum": [*top.OBJECTIVES, None], "default": None},
    about="The surrogate whose loss is recorded; null for each learner's own.",
)
REGRET = Setting(
    "regret",
    {"type": "boolean", "default": False},
    about="Whether the best fixed weights are found, and the regret against them.",
    plays=False,
)
MEASURES = Setting(
    "measures",
    {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
    about="Measures to record besides NDCG@10, NDCG and AP, which every run records, such as err, "
    "precision@5 or ndcg@5; or your own as module:function.",
    adds=True,
)
# readings that change nothing against it
IDLE_AGAINST_ADVERSARY = ("rounds", "order", "keep", "queries", "empty")


def _with_learner(fits: Callable[[dict], bool]):
    """The condition of `Shown.shows` that `fits` holds for the settings of a learner of the
    experiment.
    """

    def shows(study: dict, experiment: str) -> bool:
        return any(
            fits(study["learners"][learner])
            for learner in study["experiments"][experiment]["learners"]
        )

    return shows


NEEDS_NO_RATE = _with_learner(lambda learner: learner.get("steps") in steps.STEPS)
STARTS_FROM_LISTS = _with_learner(lambda learner: "lists" in learner)
LEARNS_FROM_WHAT_IT_SAW = _with_learner(lambda learner: learner["kind"] == "seen")


def _steps(suffix: str, of: str, seen: str) -> tuple[Shown, Shown]:
    """The figure and the table that compare steps that need no rate with steps at a rate.

    suffix : of the figure's and the table's ids; of, seen : words of their captions and headings
    """
    caption = (
        f"Steps that need no rate, and steps at a rate, of {of}: time-averaged NDCG@10 at the "
        "horizon. The best rate in hindsight is the best of its grid on the reported seeds "
        "themselves, the tuned one the best on others."
    )
    frames = "scant.rankers.frames_steps"
    figure = Shown(
        f"figure-steps{suffix}",
        caption=f"{caption} Bars are 95 % t intervals over seeds.",
        frame=f"{frames}:compared",
        draw="scant.rankers.drawings:steps",
        shows=NEEDS_NO_RATE,
        heading=f"Is a tuned learning rate needed when {seen} is seen?",
    )
    table = Shown(
        f"steps{suffix}",
        caption=f"{caption} With 95 % t intervals over seeds, and paired differences to the same "
        "learner, and to ListNet, at the best rate in hindsight.",
        frame=f"{frames}:table",
        shows=NEEDS_NO_RATE,
        heading=f"Final NDCG@10 by how steps are taken, {of}",
    )
    return figure, table


STREAMS_TABLE = Shown(
    "streams",
    caption="The streams as they are: sizes, grades, norms, margins.",
    frame="scant.rankers.frames:streams_table",
    reads="streams",
    heading="Streams",
)
QUANTITIES = "scant.rankers.quantities"
BEHIND_BEST = Quantity(
    "NDCG@10 beyond that of the best rate in hindsight",
    f"{QUANTITIES}:behind_best",
    plays=("Random",),
    compared=True,
    range=(-1.0, 1.0),
)
FINAL = "time-averaged measure"  # the quantity `final` in figures


def _final(function: str) -> Quantity:
    """The declaration of the quantity `final`, for a function of `scant.rankers.quantities`."""
    options = ("measure", "at", "last")
    return Quantity(
        FINAL, f"{QUANTITIES}:{function}", options, tuned=True, range=(0.0, 1.0), better="high"
    )


class Contextual(Family):
    """What both families share.

    Their learners rank the documents of a stream's queries by features.
    """

    place = STREAMS
    methods = ("rank", "learn")
    told = ("tuning",)
    engine = "scant.rankers.run:run_job"
    toys = "scant.rankers.toys:play"

    def check(self, study, datasets, experiment):
        for learner in experiment["learners"]:
            settings = study["learners"][learner]
            if "theory" in settings.get("rates", []) and not self._class_of(settings).gives_rate:
                raise SettingError(
                    f"theory gives the learner {learner!r} no rate in an experiment of kind "
                    f"{self.kind!r}"
                )
        for measure in experiment.get("measures", ()):
            measures.named(measure)
            if measure in learners.MEASURES:
                raise SettingError(f"measures: {measure} is recorded of every run; leave it out")
            if measures.is_own(measure):
                with errors_of("measures"):
                    measures.check_own(measure)
        if experiment["source"] == "released-code":
            for learner in experiment["learners"]:
                if idle := sorted(
                    study["learners"][learner].keys() & {"steps", "exploration", "iterate"}
                ):
                    raise SettingError(
                        f"{idle[0]} of the learner {learner!r} does nothing under source: "
                        "released-code, which has a schedule of its own"
                    )
        if experiment["tuning"] == "held-out" and not experiment["tuning_seeds"]:
            entries = (study["learners"][learner] for learner in experiment["learners"])
            if any(self._has_several(entry, experiment) for entry in entries):
                raise SettingError(
                    "tuning 'held-out' needs tuning_seeds of 1 or more, or set tuning: paper"
                )

    def _class_of(self, settings: dict) -> type[learners.Contextual]:
        """The class that plays learners with these settings."""
        return learners.class_of(settings["kind"], self.learners)

    def jobs(self, study, datasets, name):
        experiment, jobs = study["experiments"][name], []
        for stream, learner in product(experiment["streams"], experiment["learners"]):
            settings = self.settings_of_run(study, experiment, stream, learner)
            seeds, tuning = experiment["seeds"], self._tuning_seeds(study, experiment, learner)
            if study["streams"][stream].get("generator") == ADVERSARY:
                seeds, tuning = 1, 0
            for batch in batches(seeds, experiment["batch"], tuning):
                path = f"{name}/{stream}/{learner}/seed-{span(batch)}"
                jobs.append(Job(path, settings, batch, {"streams": files(study, stream, batch)}))
        return jobs

    def details(self, study, name):
        """See `Family.details`; with `drawn`: for each simulated stream whose queries are all
        played, its id (`name`), `study_seed` and `settings`.
        """
        experiment, drawn = study["experiments"][name], {}
        for stream in experiment["streams"]:
            settings = study["streams"][stream]
            simulated = "generator" in settings and settings["generator"] != ADVERSARY
            in_part = self._which_queries(study, experiment, stream) or experiment["keep"] < 1
            if simulated and not in_part:
                drawn[stream] = {
                    "name": stream,
                    "study_seed": study["seed"],
                    "settings": untitled(settings),
                }
        return super().details(study, name) | {"drawn": drawn}

    def settings_of_run(self, study: dict, experiment: dict, stream: str, learner: str) -> dict:
        """The settings of a run, except its seeds."""
        return {
            "study_seed": study["seed"],
            "kind": self.kind,
            "stream_settings": untitled(study["streams"][stream]),
            "learner_settings": untitled(study["learners"][learner], "stands_for"),
            **self.played(experiment),
            **self._which_queries(study, experiment, stream),
        }

    def _which_queries(self, study: dict, experiment: dict, stream: str) -> dict:
        """The settings of a run that say which queries it visits: `queries` if they are resampled,
        or else `unvisited` if some are kept out; `unvisited` and `judged` if a learner of the
        experiment starts from judged lists; none against the adversary.
        """
        settings = study["streams"][stream]
        chosen = experiment["queries"] or ("resampled" if "dataset" in settings else "all")
        if settings.get("generator") == ADVERSARY:
            return {}
        resampled = {"queries": chosen} if chosen == "resampled" else {}
        apart = experiment.get("unvisited")
        if any("lists" in study["learners"][learner] for learner in experiment["learners"]):
            apart = apart or UNVISITED_BESIDE_JUDGED
            return resampled | {"unvisited": apart, "judged": experiment["judged"]}
        return {"unvisited": apart} if apart and not resampled else resampled

    def _tuning_seeds(self, study: dict, experiment: dict, learner: str) -> int:
        """How many seeds are set aside to choose a learner's rate and variant: none if it has only
        one of each.
        """
        several = self._has_several(study["learners"][learner], experiment)
        return experiment["tuning_seeds"] if several else 0

    def _has_several(self, settings: dict, experiment: dict) -> bool:
        """Whether a learner has several rates or variants, of which one is chosen."""
        cls = self._class_of(settings)
        return len(cls.rates(settings, experiment)) * len(cls.variants(settings)) > 1

    def read(self, plan, shown):
        """The stream files of the experiments that a figure or table shows."""

        here = (name for name in plan.stated if plan.families[name].place is self.place)
        experiments = [name for name in here if shown.includes(plan.study, name)]
        files = (file for name in experiments for job in plan.jobs[name] for file in job.files)
        return list(dict.fromkeys(files))

    def certain(self, study, place):
        return study["streams"].get(place, {}).get("generator") == ADVERSARY

    def drawn_anew(self, study, datasets, experiment, place, learner):
        settings = study["streams"][place]
        if self.draws(study, learner):
            return True
        if settings.get("generator") == ADVERSARY:
            return False
        ordered = experiment["order"] == "shuffled" or experiment["keep"] < 1
        simulated = "generator" in settings and not settings["shared"]
        return simulated or ordered or bool(self._which_queries(study, experiment, place))

    def idle(self, study, experiment, name):
        generators = {study["streams"][stream].get("generator") for stream in experiment["streams"]}
        return (
            "against the adversary"
            if name in IDLE_AGAINST_ADVERSARY and generators == {ADVERSARY}
            else ""
        )

    def identity(self, run):
        from scant.rankers.traces import identity

        return identity(run)

    def completed(self, table):
        from scant.rankers.traces import completed

        return completed(table)

    def feedback(self, traces):
        from scant.rankers.frames_seen import WITHOUT_GRADES

        first = traces[~traces["learner"].duplicated()].set_index("learner")
        without = first["kind"].map(WITHOUT_GRADES).mask(first["user"] != "", "clicks").dropna()
        return super().feedback(traces) | without.to_dict()

    def further_measures(self, columns):
        from scant.rankers.traces import further_measures

        return further_measures(columns)

    def tunings(self, study, details, traces, learners):
        set_aside = traces["tuning_seed"] & traces["learner"].isin(learners)
        if details.get("grid") == CHOOSING:
            return ["held-out"]
        first, second = (
            ("held-out", "paper") if details["tuning"] == "held-out" else ("paper", "held-out")
        )
        return [first, second] if set_aside.any() else [first]


def _on(separable: bool, measure: str):
    """The condition of `Shown.shows` that the experiment has a stream that is separable (or, if
    not `separable`, one that is not), the adversary aside; and, if `measure` is "ap", that a
    learner of the study learns AP.
    """

    def shows(study: dict, experiment: str) -> bool:
        streams = study["experiments"][experiment]["streams"]
        generators = {study["streams"][stream].get("generator") for stream in streams} - {ADVERSARY}
        measures = {learner.get("measure") for learner in study["learners"].values()}
        has_learners = measure != "ap" or measure in measures
        return has_learners and any((one in SEPARABLE) == separable for one in generators)

    return shows


def _curves(
    name: str, heading: str, repeats: str, words: str, measure: str, separable: bool
) -> Shown:
    draw, what = ("losses", "One minus time-averaged") if separable else ("curves", "Time-averaged")
    return Shown(
        name,
        caption=f"{what} {words} {BANDS} {TUNED}",
        frame="scant.rankers.frames:curves",
        draw=f"scant.rankers.drawings:{draw}",
        asked=True,
        options={"measure": measure, "separable": separable},
        shows=_on(separable, measure),
        heading=heading,
        repeats=repeats,
    )


NOT_SEPARABLE = (
    "of the rankings shown, by round, on the streams that no ranker ranks without fault."
)


class Perceptron(Contextual):
    """Perceptron-like algorithms that see every grade (thesis, chapter II; perceptron paper)."""

    kind = "perceptron"
    about = "learners see every grade of a query"
    settings = (SOURCE, ROUNDS, EMPTY, ORDER, KEEP, QUERIES, MEASURES, TUNING, TUNING_SEEDS)
    learners = learners.LEARNERS
    shown = (
        _curves(
            "figure-2.1",
            "How fast does NDCG@10 approach 1 on separable streams?",
            "Figure 2.1 of the thesis",
            "NDCG@10 of the rankings shown, by round, on the separable streams.",
            "ndcg@10",
            True,
        ),
        _curves(
            "figure-2.2",
            "Which learner ranks best when every grade is seen?",
            "Figure 2.2 of the thesis",
            f"NDCG@10 {NOT_SEPARABLE}",
            "ndcg@10",
            False,
        ),
        _curves(
            "figure-2.ap",
            "Which learner ranks best by AP when every grade is seen?",
            "Figure 2 of the perceptron paper",
            f"AP (grades above 0 relevant) {NOT_SEPARABLE}",
            "ap",
            False,
        ),
        Shown(
            "finals",
            caption="Final time-averaged measures at the chosen rates, with 95 % t intervals over "
            "seeds, and paired differences to ListNet, under both tuning readings.",
            frame="scant.rankers.frames:finals_table",
            printed=(
                "experiment",
                "stream",
                "learner",
                "source",
                "measure",
                "tuning",
                "rate",
                "rounds",
                "mean",
                "difference",
                "n",
            ),
            heading="Final measures of perceptrons",
        ),
        *_steps("", "learners that see every grade", "every grade"),
        Shown(
            "figure-iterates",
            caption="Time-averaged NDCG@10 at the horizon of learners that see every grade, by "
            "which of its weights a learner ranks: the last, the average of all so far, or of a "
            "suffix (the last half to three quarters of the rounds). Bars are 95 % t intervals "
            f"over seeds. {TUNED}",
            frame="scant.rankers.frames_seen:iterates",
            draw="scant.rankers.drawings:steps",
            shows=_with_learner(lambda learner: "iterate" in learner),
            heading="Does averaging the weights help when every grade is seen?",
        ),
        Shown(
            "theorems-perceptron",
            caption=(
                "Theorems on perceptrons and their surrogates, held against exact numbers. "
                f"{CHECKED}"
            ),
            frame="scant.rankers.theorems:perceptron_table",
            reads="nothing",
            heading="Theorems on perceptrons",
        ),
        STREAMS_TABLE,
    )
    questions = PERCEPTRON
    quantities: Mapping = {
        "final": _final("final_at_own_rates"),
        "late_mistakes": Quantity(
            "share of late rounds with a mistake",
            f"{QUANTITIES}:late_mistakes",
            tuned=True,
            most=0.0,
        ),
        "bound_share": Quantity(
            "loss / bound", f"{QUANTITIES}:loss_share", ("bound",), plays=("Random",), most=1.0
        ),
        "behind_best": BEHIND_BEST,
    }


def _rounds_figure(name: str, heading: str, repeats: str) -> Shown:
    return Shown(
        name,
        caption="Time-averaged NDCG@10 of the lists shown, by round, with feedback on the top "
        f"documents alone; dashed learners see every grade. {BANDS} {TUNED}",
        frame="scant.rankers.frames_top:curves",
        draw="scant.rankers.drawings:curves",
        asked=True,
        heading=heading,
        repeats=repeats,
    )


def _by_use(name: str, heading: str) -> Shown:
    return Shown(
        name,
        caption="Time-averaged NDCG@10 at the horizon of the lists shown, by what a learner makes "
        f"of what it sees. Bars are 95 % t intervals over seeds. {TUNED}",
        frame="scant.rankers.frames_seen:by_use",
        draw="scant.rankers.drawings:steps",
        asked=True,
        heading=heading,
    )


def _asks_for_regret(study: dict, experiment: str) -> bool:
    return study["experiments"][experiment]["regret"]


class Top(Contextual):
    """Feedback at the top: the grades of the k documents ranked highest (thesis 3.3;
    AISTATS'16).
    """

    kind = "top"
    about = "they see the grades of the k documents on top"
    settings = (
        SOURCE,
        ROUNDS,
        EMPTY,
        ORDER,
        KEEP,
        QUERIES,
        UNVISITED,
        JUDGED,
        MEASURES,
        SCHEDULE,
        MISMATCH,
        RADIUS,
        JUDGE,
        TUNING,
        TUNING_SEEDS,
        GRID,
        REGRET,
    )
    told = ("tuning", "grid")
    learners: Mapping = top.LEARNERS
    shown = (
        _rounds_figure(
            "figure-3.4",
            "Which learner ranks best when only the top is seen?",
            "Figures 3.4 and 3.5 of the thesis",
        ),
        _rounds_figure(
            "figure-aistats16.1",
            "How fast do learners improve when only the top is seen?",
            "Figure 1 of AISTATS'16",
        ),
        Shown(
            "figure-top-k",
            caption="Time-averaged NDCG@10 at the horizon against the number of grades seen. "
            "Filled points are of the "
            "lists shown, hollow ones of the learner's own ranking, without exploration. Bars, and "
            f"bands of the reference lines, are 95 % t intervals over seeds. {TUNED}",
            frame="scant.rankers.frames_top:against_k",
            draw="scant.rankers.drawings:against_k",
            asked=True,
            heading="Does seeing more grades raise NDCG@10?",
        ),
        Shown(
            "figure-top-regret",
            caption="Cumulative regret against the best fixed weights, by round, both logarithmic. "
            "Lines are means over seeds, bands 95 % t intervals; beside each line the slope of the "
            "log of the mean regret on log round from a hundredth of the horizon on, with its 95 % "
            "bootstrap interval over seeds. Thin lines have the slopes 1/2, 2/3 and 1. Where the "
            "best weights' certified gap is above 5 % of the regret, the dotted line adds it: the "
            f"regret is between the two. {TUNED}",
            frame="scant.rankers.frames_top:regret_curves",
            draw="scant.rankers.drawings:regrets",
            reads="regret",
            asked=True,
            heading="How fast does regret grow when only the top is seen?",
        ),
        Shown(
            "figure-smoothdcg",
            caption="Time-averaged NDCG@10 at the horizon, of the lists shown (filled) and of the "
            "learner's own ranking without exploration (hollow), for each variant. Bars, and bands "
            f"of ListNet and Random, are 95 % t intervals over seeds. {TUNED}",
            frame="scant.rankers.frames_top:ends",
            draw="scant.rankers.drawings:dots",
            asked=True,
            heading="Which variant of SmoothDCG ranks best?",
        ),
        Shown(
            "top",
            caption="Feedback on the top documents: final time-averaged NDCG@10 of the lists shown "
            "and of the learner's own ranking, at the chosen rates, with 95 % t intervals over "
            "seeds, paired differences to ListNet and Random, and the settings as played.",
            frame="scant.rankers.frames_top:top_table",
            printed=(
                "experiment",
                "stream",
                "learner",
                "k",
                "rate",
                "mean",
                "unvisited",
                "to_listnet",
                "to_random",
                "n",
            ),
            heading="Final NDCG@10, feedback at the top",
        ),
        Shown(
            "regret",
            caption="Feedback on the top documents: regret at the horizon against the best fixed "
            "weights, with 95 % t intervals over seeds, and the slope of the log of the mean "
            "regret on log round, with 95 % bootstrap intervals over seeds.",
            frame="scant.rankers.frames_top:regret_table",
            printed=(
                "experiment",
                "stream",
                "learner",
                "k",
                "rate",
                "tuning",
                "rounds",
                "regret",
                "slope",
                "bound",
                "bound_share",
                "n",
            ),
            reads="regret",
            shows=_asks_for_regret,
            heading="Regret at the horizon, feedback at the top",
        ),
        *_steps("-top", "learners with feedback at the top", "only the top"),
        Shown(
            "figure-feedback",
            caption="What each bit of feedback costs learners that remember no grade: how far "
            "time-averaged NDCG@10 at the horizon, exploration included, is behind that of the "
            "best linear learner that sees every grade, by how many they see in each round. "
            "They take steps on a loss of the documents seen as it is; or fit their grades "
            "by least squares, with optimism at place k if that is better; or take steps on "
            "unbiased estimates, of which the papers' may have its constant. Of several "
            "learners the best is chosen on seeds of its own, as rates are. Bars are 95 % t "
            "intervals over seeds.",
            frame="scant.rankers.frames_seen:by_feedback",
            draw="scant.rankers.drawings:feedback",
            asked=True,
            heading="How far behind full feedback is a learner that sees few grades?",
        ),
        Shown(
            "figure-returns",
            caption="NDCG@10 of learners from one grade a round, and from every grade, less that "
            "of the best linear learner that sees every grade and forgets, by how often a query "
            "returns. Of the lists shown, by learners that forget grades and by learners that rank "
            "a document whose grade they saw by it; and of queries that are never visited, after "
            "the last round. Of several learners the best is chosen on seeds of its own, as rates "
            "are. Lines join simulated streams; bars are 95 % t intervals over seeds.",
            frame="scant.rankers.frames_seen:by_returns",
            draw="scant.rankers.drawings:returns",
            asked=True,
            heading="What does one grade cost where queries come back?",
        ),
        _by_use("figure-seen-worlds", "Which learner ranks best where feedback may mislead?"),
        _by_use("figure-clicks", "Which way to learn from clicks ranks best?"),
        Shown(
            "figure-worth",
            caption="What judged lists are worth. Left: NDCG@10 on queries never visited, by how "
            "many grades were bought: one a round by the cold learner, or whole lists at once, by "
            "judge; the thin line reads off ten human lists, in rounds. Right: NDCG@10 of the "
            "lists shown over the first 1,000 rounds, less the cold learner's, after a start that "
            "is trusted, or shows only while it predicts the grades seen best (chosen). Bars are "
            f"95 % t intervals over seeds. {TUNED}",
            frame="scant.rankers.frames_judged:by_grades",
            draw="scant.rankers.drawings:worth",
            asked=True,
            heading="What is a judged list worth, and is starting from it safe?",
        ),
        Shown(
            "figure-one-click",
            caption="Time-averaged NDCG@10 at the horizon of the lists shown, by user: learners "
            "from the click on the first document alone, beside learners from clicks on ten. Bars "
            f"are 95 % t intervals over seeds. {TUNED}",
            frame="scant.rankers.frames_judged:by_user",
            draw="scant.rankers.drawings:steps",
            asked=True,
            heading="Is one click a list enough?",
        ),
        Shown(
            "judged",
            caption="Starts from judged lists: NDCG@10 on queries never visited; what the lists "
            "are worth in rounds of one grade, and after how many rounds the cold learner "
            "overtakes their ranker; and the lists shown over the first 1,000 rounds (first) and "
            "the last tenth (late), less the cold learner's, with 95 % t intervals over seeds.",
            frame="scant.rankers.frames_judged:table",
            printed=(
                "experiment",
                "stream",
                "learner",
                "start",
                "lists",
                "unvisited",
                "worth",
                "overtaken",
                "first",
                "late",
                "n",
            ),
            shows=STARTS_FROM_LISTS,
            heading="Starts from judged lists",
        ),
        Shown(
            "seen",
            caption="Learners that descend on what they saw: final time-averaged NDCG@10 of the "
            "lists shown, by loss, by what is made of it (way) and by the number of grades seen, "
            "with 95 % t intervals over seeds; of the learner's own ranking (own), and of both "
            "over the last tenth of the rounds (late, own_late); and paired differences to "
            "ListNet, to the unbiased estimate from as many grades, and to every grade seen.",
            frame="scant.rankers.frames_seen:table",
            printed=(
                "experiment",
                "stream",
                "learner",
                "way",
                "k",
                "mean",
                "own_late",
                "to_listnet",
                "to_unbiased",
                "to_full",
            ),
            shows=LEARNS_FROM_WHAT_IT_SAW,
            heading="Final NDCG@10 by what is made of the grades seen",
        ),
        Shown(
            "variance",
            caption="What one round's estimate of a gradient is off by, in squared norms of the "
            "gradient, by the "
            "number of grades seen: bias and variance, exact on small lists; the variance also as "
            "it is (raw_variance), and for longer lists and the grades of web search.",
            frame="scant.rankers.variance:variance_table",
            reads="nothing",
            heading="Bias and variance of gradient estimates",
        ),
        Shown(
            "theorems-top",
            caption="Theorems on gradient estimates from the top and on what they cannot learn, "
            f"held against exact numbers. {CHECKED}",
            frame="scant.rankers.theorems:top_table",
            reads="nothing",
            heading="Theorems on feedback at the top",
        ),
        STREAMS_TABLE,
    )
    questions = TOP
    quantities: Mapping = {
        "final": _final("final"),
        "worth": Quantity("rounds of one grade", f"{QUANTITIES}:worth", tuned=True),
        "overtaken": Quantity("rounds until overtaken", f"{QUANTITIES}:overtaken", tuned=True),
        "regret": Quantity("regret", f"{QUANTITIES}:regret", tuned=True),
        "regret_slope": Quantity("slope of regret", f"{QUANTITIES}:regret_slope", tuned=True),
        "regret_share": Quantity(
            "regret / bound", f"{QUANTITIES}:regret_share", plays=("weights 0",), tuned=True
        ),
        "floor_share": Quantity("regret / floor", f"{QUANTITIES}:floor_share", tuned=True),
        "behind_best": BEHIND_BEST,
        "lead_share": Quantity(
            "lead over Random / ListNet's", f"{QUANTITIES}:lead_share", ("measure",), tuned=True
        ),
    }

    def check(self, study, datasets, experiment):
        for learner in experiment["learners"]:
            settings = study["learners"][learner]
            if settings["kind"] in top.DESCENDING:
                complete = self._complete(settings, experiment)
                if (complete.centre or complete.intercept) and experiment["regret"]:
                    raise SettingError(
                        f"regret is against weights for features as they are: leave {learner!r}, "
                        "which has others, out"
                    )
                if "theory" in settings.get("rates", []):
                    top.check_theory(complete)
            if "user" in settings or settings["kind"] in click_learners.LEARNERS:
                self._check_user(study, datasets, experiment["streams"], learner)
            if "lists" in settings:
                self._check_lists(study, datasets, experiment, learner)
        if "figure-top-regret" in experiment["figures"] and not experiment["regret"]:
            raise SettingError("figure-top-regret shows what regret: true finds")
        if experiment["regret"] and experiment["judge"] == top.NOT_CONVEX:
            raise SettingError(
                "regret is against the best fixed weights, which smoothdcg, not being convex, does "
                "not certify"
            )
        if ADVERSARY in [
            study["streams"][stream].get("generator") for stream in experiment["streams"]
        ]:
            raise SettingError(
                "the adversary plays against learners that see every grade: kind perceptron"
            )
        if experiment["grid"] == CHOOSING:
            self._check_grid(experiment)
        for stream in experiment["streams"]:
            self._check_apart(study, datasets, experiment, stream)
        super().check(study, datasets, experiment)

    def _check_grid(self, experiment: dict) -> None:
        """Raise a SettingError if reported seeds cannot play what other seeds chose."""
        seeds, aside = experiment["seeds"], experiment["tuning_seeds"]
        if experiment["tuning"] != "held-out" or not aside:
            raise SettingError(
                f"grid: {CHOOSING} needs tuning: held-out, and tuning_seeds of 1 or more"
            )
        if len(batches(seeds, experiment["batch"], aside)) > 1:
            raise SettingError(
                f"grid: {CHOOSING} needs all seeds in one job: give their number as seeds, and "
                f"batch: {total(seeds) + aside} or more"
            )

    def settings_of_run(self, study, experiment, stream, learner):
        alone = {"grid": CHOOSING} if experiment["grid"] == CHOOSING else {}
        return super().settings_of_run(study, experiment, stream, learner) | alone

    def _complete(self, settings: dict, experiment: dict) -> top.Settings:
        """The complete settings of a learner that descends on a surrogate."""
        facts = {"rounds": experiment["rounds"] or ANY_HORIZON}
        cls = self._class_of(settings)
        return cls.complete_settings(cls.variants(settings)[0], experiment, facts)

    def _check_user(self, study: dict, datasets: dict, streams: list[str], learner: str) -> None:
        """Raise a SettingError if the learner's user has no probability for a grade of one of the
        streams.
        """
        user = study["learners"][learner].get("user", click_learners.USER.absent)
        for stream in streams:
            grade = largest_grade(study["streams"][stream], datasets)
            with errors_of(f"the learner {learner!r} on the stream {stream!r}"):
                clicks.user_for(user, grade or 0)  # if it is not known, runs check it

    def _check_lists(self, study: dict, datasets: dict, experiment: dict, learner: str) -> None:
        """Raise a SettingError if a stream has too few queries for a learner's judged lists, or
        does not fit their judge, as far as this is known without data.
        """
        settings = study["learners"][learner]
        judge = settings.get("judged_by")
        for stream in experiment["streams"]:
            entry = study["streams"][stream]
            facts, dataset = sizes(entry, datasets), datasets.get(entry.get("dataset"))
            with errors_of(f"the learner {learner!r} on the stream {stream!r}"):
                judges.check_column(judge, dataset and dataset.judged)
                judges.check_fits(judge, largest_grade(entry, datasets), facts.get("features"))
                if queries := facts.get("queries"):
                    judges.check_number(settings["lists"], experiment["judged"], queries)

    def _check_apart(self, study: dict, datasets: dict, experiment: dict, stream: str) -> None:
        """Raise a SettingError if no query of a stream is left to visit, as far as this is known
        without data.
        """
        which = self._which_queries(study, experiment, stream)
        apart = [which.get(key, 0) for key in ("unvisited", "judged")]
        queries = sizes(study["streams"][stream], datasets).get("queries")
        if not (queries and any(apart)):
            return
        if sum(judges.part_of(number, queries) for number in apart) >= queries:
            raise SettingError(
                f"of the {queries:,} queries of the stream {stream!r} none is left to visit: lower "
                "unvisited or judged"
            )

    def comparators(self, study, name):
        experiment = study["experiments"][name]
        if not experiment["regret"]:
            return []
        jobs = []
        for stream, judge in product(experiment["streams"], self._judges(study, experiment)):
            settings = {
                "study_seed": study["seed"],
                "kind": self.kind,
                "stream_settings": untitled(study["streams"][stream]),
                **{key: experiment[key] for key in ("rounds", "empty", "order", "keep", "radius")},
                **self._which_queries(study, experiment, stream),
            }
            for batch in batches(experiment["seeds"], experiment["batch"]):
                path = f"{name}/{stream}/{judge}/seed-{span(batch)}"
                jobs.append(
                    Job(path, settings, batch, {"streams": files(study, stream, batch)}, "judge")
                )
        return jobs

    def _judges(self, study: dict, experiment: dict) -> list[str]:
        """The convex surrogates that judge the learners of an experiment, each once."""
        entries = (study["learners"][learner] for learner in experiment["learners"])
        complete = (
            self._complete(entry, experiment)
            for entry in entries
            if entry["kind"] in top.DESCENDING
        )
        judges = (settings.judge for settings in complete)
        return [judge for judge in dict.fromkeys(judges) if judge != top.NOT_CONVEX]


def file(study: dict, stream: str, seed: int) -> str | None:
    """The file that a run reads: the stream of a data set, or the draw of a simulation for the
    run's seed.

    If all seeds share a draw, it is that of seed 0. None for the adversary, whose queries depend on
    the learner.
    """
    settings = study["streams"][stream]
    if "dataset" in settings:
        return STREAM.format(study=study["study"], stream=stream)
    if settings["generator"] == ADVERSARY:
        return None
    return DRAW.format(
        study=study["study"], stream=stream, seeds=OPEN, seed=0 if settings["shared"] else seed
    )


def files(study: dict, stream: str, seeds: list[int]) -> list[str]:
    """The stream files that a job reads: one for each of its seeds, one for all of them, or
    none.
    """
    paths = (file(study, stream, seed) for seed in seeds)
    return list(dict.fromkeys(path for path in paths if path))
