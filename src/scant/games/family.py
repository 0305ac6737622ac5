"""The family of games on fixed items: the same items are ranked in each round, without features.

A round takes about a microsecond, but a process takes a second to start. So one job plays all
learners of a game.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar

from scant.declare.declarations import Setting, whole_number
from scant.declare.families import Family, Job, Place, Quantity, Shown
from scant.errors import SettingError, errors_of
from scant.games.learners import LEARNERS
from scant.games.questions import FIXED_ITEMS
from scant.games.streams import CERTAIN, RULES, choices, grades
from scant.study.plan import batches, learners_of, span, untitled

# Losses and gains that need no cut-off.
LOSSES = [
    "sum-loss",
    "pairwise-loss",
    "position-loss",
    "spearman-loss",
    "auc-loss",
    "ap",
    "dcg",
    "ndcg",
]
ATLAS = "figure-observability"  # whose experiments have a table, too


def _in_the_atlas(study: dict, experiment: str) -> bool:
    """Whether the experiment's slopes are shown in the atlas."""
    return ATLAS in study["experiments"][experiment]["figures"]


def _check_game(game: dict, datasets: dict) -> None:
    """Raise a SettingError for a stream that cannot be drawn, or for which the loss is not
    defined.
    """
    from scant.games.run import probe

    probe(game)


GAME = {
    "description": "A game on a fixed set of items.",
    "required": ["stream", "loss"],
    "properties": {
        "stream": {
            "description": (
                "What the items are worth in each round, by the name of a stream in docs/games.md."
            ),
        },
        "settings": {
            "description": "Settings of the stream; docs/games.md has them, with their defaults."
        },
        "shared": {
            "description": "Whether all seeds share one draw of the stream, as in AISTATS'15; else "
            "each seed draws its own.",
            "type": "boolean",
            "default": False,
        },
        "loss": {
            "description": (
                "By name; after dcg, ndcg and precision also with a cut-off, as in ndcg@5."
            ),
            "type": "string",
            "if": {"pattern": "@|^precision$"},
            "then": {"pattern": "^(dcg|ndcg|precision)(@[1-9][0-9]*)?$"},
            "else": {"enum": LOSSES},
        },
    },
}


# --- what is shown

AVERAGES = {
    "caption": "Regret up to a round, over the round, against the best fixed ranking. Lines are "
    "means over seeds, bands 95 % t intervals; dashed learners see all items.",
    "frame": "scant.games.frames:averages",
    "draw": "scant.games.drawings:averages",
    "asked": True,
}
GROWTH = (
    "both logarithmic, with 95 % t intervals over seeds. Beside each line is the slope of the mean "
    "regret, with its 95 % bootstrap interval over seeds. Dotted lines are the learners' bounds."
)
FIGURES = (
    Shown(
        name="figure-3.1",
        heading="How does the number of blocks change regret?",
        repeats="Figure 3.1 of the thesis",
        **AVERAGES,
    ),
    Shown(
        name="figure-3.2",
        heading="How much does seeing more items lower regret?",
        repeats="Figure 3.2 of the thesis",
        **AVERAGES,
    ),
    Shown(
        name="figure-3.3",
        heading="What does it cost to see only the top item?",
        repeats="Figure 3.3 of the thesis",
        options={"start": 0.1},  # the thesis shows rounds 1,000 to 10,000
        **AVERAGES,
    ),
    Shown(
        name="figure-aistats15.1",
        heading="Does average regret vanish when only the top item is seen?",
        repeats="Figure 1 of AISTATS'15",
        **AVERAGES,
    ),
    Shown(
        name="figure-aistats15.2",
        heading="Does average regret vanish faster when all items are seen?",
        repeats="Figure 2 of AISTATS'15",
        **AVERAGES,
    ),
    Shown(
        name="figure-games-rounds",
        heading="Do learners that do not know the horizon keep up?",
        **AVERAGES,
    ),
    Shown(
        name="figure-games-horizon",
        heading="How fast does regret grow with the horizon?",
        caption=f"Regret at the horizon against the horizon, {GROWTH}",
        frame="scant.games.frames:against_horizon",
        draw="scant.games.drawings:against_horizon",
        asked=True,
    ),
    Shown(
        name="figure-games-items",
        heading="How fast does regret grow with the number of items?",
        caption=f"Regret at the horizon against the number of items, {GROWTH}",
        frame="scant.games.frames:against_items",
        draw="scant.games.drawings:against_items",
        asked=True,
    ),
    Shown(
        name=ATLAS,
        heading="How fast must regret grow, and how fast does it?",
        caption="Minimax regret of each measure with m items and the top k seen, computed from "
        "global and local observability; in a cell the exponent of T, and, small, the slope of the "
        "mean regret over seeds on the horizon, measured, of the study's best learner there, with "
        "its 95 % bootstrap interval. Where slopes are measured, a cell has its full colour if "
        "regret grows no faster than it must: if the interval is below the exponent plus 0.05, or, "
        "where the exponent is 1, above 0.9.",
        frame="scant.games.atlas:measured",
        draw="scant.games.drawing_atlas:atlas",
        asked=True,
    ),
)
TABLES = (
    Shown(
        name="games",
        heading="Regret on fixed items",
        caption="Games on fixed items: regret at each horizon against the best fixed ranking, with "
        "95 % t intervals over seeds, the bound beside it, and paired differences to the "
        "experiment's baseline.",
        frame="scant.games.frames:games_table",
        printed=(
            "experiment",
            "stream",
            "learner",
            "rounds",
            "items",
            "loss",
            "k",
            "regret",
            "difference",
            "bound",
            "bound_share",
            "n",
        ),
    ),
    Shown(
        name="slopes",
        heading="Slopes of regret on fixed items",
        caption="Games on fixed items: the slope of the log of the mean regret over seeds on log "
        "rounds, horizon or number of items, with 95 % bootstrap intervals over seeds, and that of "
        "the bound.",
        frame="scant.games.frames:slopes_table",
    ),
    Shown(
        name="table-3.1",
        heading="SumLoss of each ranking",
        repeats="Table 3.1 of the thesis",
        caption="SumLoss of each ranking for each relevance vector, m = 3.",
        frame="scant.games.atlas:table_3_1",
        reads="nothing",
    ),
    Shown(
        name="table-3.2",
        heading="What top-1 feedback shows",
        repeats="Table 3.2 of the thesis",
        caption="What top-1 feedback shows of each relevance vector and ranking, m = 3.",
        frame="scant.games.atlas:table_3_2",
        reads="nothing",
    ),
    Shown(
        name="table-b.1",
        heading="Two distributions that top-1 feedback cannot tell apart",
        repeats="Table B.1 of the thesis",
        caption="Two distributions of relevances that top-1 feedback cannot tell apart, and that "
        "NDCG ranks differently.",
        frame="scant.games.atlas:table_b_1",
        reads="nothing",
    ),
    Shown(
        name="observability",
        heading="Observability and minimax rates",
        caption="Global and local observability and the minimax rate of each measure, m and k, "
        "beside what the thesis states.",
        frame="scant.games.atlas:atlas_table",
        reads="nothing",
    ),
    Shown(
        name="atlas",
        heading="Possible and measured growth of regret",
        caption="Cells of the atlas that were played: the growth of minimax regret, and the slope "
        "of the log of each learner's mean regret over seeds on log T, with its 95 % bootstrap "
        "interval, on the game where it is largest. It agrees if this is below the exponent plus "
        "0.05, or, where the rate is T, above 0.9. constant is the mean regret at the longest "
        "horizon over the horizon to the exponent.",
        frame="scant.games.atlas:cells_table",
        shows=_in_the_atlas,
    ),
    Shown(
        name="theorems-games",
        heading="Theorems on games on fixed items",
        caption="Theorems on games on fixed items and on noisy sorting, held against exact "
        "numbers. share is how much of a bound is used, at most 1 where it holds; over several "
        "cases, that of the worst. No run is needed.",
        frame="scant.games.theorems:games_table",
        reads="nothing",
    ),
)


class FixedItems(Family):
    """Games on fixed items (Chaudhuri 2016, 3.2; Ailon)."""

    kind = "fixed-items"
    about = "rank the same items in each round"
    place = Place(
        key="games",
        name="game",
        about=(
            "Games on fixed items, by id - a stream of what the items are worth, and what "
            "rankings are judged by."
        ),
        keys=GAME,
        simulations=("stream", "scant.games.streams:STREAMS"),
        rules=RULES,
        check=_check_game,
    )
    settings = (
        Setting(
            "rounds",
            {
                "oneOf": [
                    whole_number(),
                    {
                        "type": "array",
                        "minItems": 1,
                        "uniqueItems": True,
                        "items": whole_number(),
                    },
                ]
            },
            about=(
                "The horizon T, or a list of horizons, each of which is a game of its own. It "
                "has no default."
            ),
            reading=True,
        ),
        Setting(
            "comparator",
            {"enum": ["prefix", "horizon"], "default": "prefix"},
            about="Reading: regret at a round is against the ranking that is best up to that round "
            "(prefix) or over all rounds (horizon).",
            plays=False,
            reading=True,
        ),
        Setting(
            "baseline",
            {"type": ["string", "null"], "default": None},
            about="The learner that the others are compared with, seed by seed.",
            plays=False,
        ),
    )
    learners = LEARNERS
    methods = ("rank", "learn")
    shown = (*FIGURES, *TABLES)
    questions = FIXED_ITEMS
    quantities: ClassVar = {
        "bound_share": Quantity("loss / bound", "scant.games.quantities:bound_share", most=1.0),
        "game_regret": Quantity(
            "regret", "scant.games.quantities:game_regret", options=("round",), better="low"
        ),
        "average_change": Quantity(
            "change of average regret", "scant.games.quantities:average_change", options=("since",)
        ),
        "game_share": Quantity(
            "regret / bound", "scant.games.quantities:game_share", options=("bound",)
        ),
        "game_slope": Quantity(
            "slope of regret", "scant.games.quantities:game_slope", options=("along", "since")
        ),
    }
    told = ("comparator", "baseline")
    engine = "scant.games.run:run_job"
    toys = "scant.games.toys:play_all"
    memory, minutes = 1000, 5

    def check(self, study: dict, datasets: dict, experiment: dict) -> None:
        from scant.games import run

        if experiment.get("rounds") is None:
            raise SettingError(
                f"an experiment of kind {self.kind!r} needs rounds: a horizon, or a list of them"
            )
        for game, learner, horizon in product(
            experiment["games"], experiment["learners"], horizons(experiment)
        ):
            with errors_of(f"{learner} on {game}"):
                run.check(
                    study["games"][game],
                    untitled(study["learners"][learner], "stands_for"),
                    horizon,
                )

    def jobs(self, study: dict, datasets: Mapping, name: str) -> list[Job]:
        experiment = study["experiments"][name]
        shared = {
            "study_seed": study["seed"],
            "kind": self.kind,
            "learners": learners_of(study, experiment),
            "rounds": horizons(experiment),
        }
        return [
            Job(
                f"{name}/{game}/seed-{span(seeds)}",
                shared | {"game": untitled(study["games"][game])},
                seeds,
                {},
            )
            for game in experiment["games"]
            for seeds in batches(experiment["seeds"], experiment["batch"])
        ]

    def drawn_anew(
        self, study: dict, datasets: Mapping, experiment: dict, place: str, learner: str
    ) -> bool:
        game = study["games"][place]
        return self.draws(study, learner) or not (game["shared"] or game["stream"] in CERTAIN)

    def identity(self, run: dict) -> dict[str, Any]:
        metadata = {key: run[key] for key in ("experiment", "stream", "items", "loss", "gain")}
        game = run["game"]
        name, settings = game["stream"], game["settings"]
        return metadata | {
            "game": name,
            "choices": choices(name, settings),
            "grades": grades(name, settings),
        }


def horizons(experiment: Mapping) -> list[int]:
    """The horizons of an experiment; each is a game of its own."""
    rounds = experiment["rounds"]
    return rounds if isinstance(rounds, list) else [rounds]
