"""Which figures and tables there are, and what each reads. Light to import: the workflow reads it to plan."""

from collections.abc import Iterator

SEPARABLE = ("separable", "released-code")  # generators of streams that a ranker separates
PERCEPTRON = {  # figure of every perceptron experiment: the measure, and whether it shows the separable streams
    "figure-2.1": ("ndcg@10", True),
    "figure-2.2": ("ndcg@10", False),
    "figure-2.ap": ("ap", False),
}
TOP = (  # figures of feedback at the top: an experiment says which of them it is shown in
    "figure-3.4",
    "figure-aistats16.1",
    "figure-top-k",
    "figure-top-regret",
    "figure-smoothdcg",
)
GAMES = (  # of games on fixed items; likewise
    "figure-3.1",
    "figure-3.2",
    "figure-3.3",
    "figure-aistats15.1",
    "figure-aistats15.2",
    "figure-games-rounds",
    "figure-games-horizon",
    "figure-games-items",
    "figure-games-time",
    "figure-observability",
)
TIMED = "figure-games-time"  # reads how long rounds take, not traces
ADS = {  # of ads; likewise, and what logs each can show (`scant.study.settings.source`)
    "figure-5.1": ("classification",),
    "figure-5.2": ("campaign",),
    "figure-ctr-by-rate": ("campaign",),
    "figure-logs": ("log",),
}
COVERAGE = ("figure-coverage", "ads-coverage")  # a figure and a table of the study of bounds, which has no runs
CHOSEN = {"perceptron": (), "top": TOP, "fixed-items": GAMES, "ads": tuple(ADS)}  # by kind of experiment
OF_CLAIMS = "figure-claims-"  # and the family: one figure for each
FIGURES = (*PERCEPTRON, *TOP, *GAMES, *ADS)
TABLES = {  # table: the kind of experiments that it is of
    "finals": "perceptron",
    "bounds": "perceptron",
    "rates": "perceptron",
    "top": "top",
    "regret": "top",
    "games": "fixed-items",
    "slopes": "fixed-items",
    "ads": "ads",
    "ads-estimates": "ads",
    "ads-readings": "ads",
}
LOGS = {"table-5.1": ("classification",), "table-5.2": ("campaign", "log")}  # tables of logs, and of which
THEORY = {  # tables that need no run, for studies with experiments of a kind
    "variance": "top",
    "table-3.1": "fixed-items",
    "table-3.2": "fixed-items",
    "table-b.1": "fixed-items",
    "observability": "fixed-items",
}
REGRET = ("regret", "figure-top-regret")  # these read comparators, the best fixed weights, too


def stated(study: dict) -> list[str]:
    """The experiments that a study states: those that a sweep makes of them are for claims alone."""
    return [name for name, one in study["experiments"].items() if "stands_for" not in one]


def played(study: dict) -> list[str]:
    """The experiments that have runs, not only times."""
    return [name for name, one in study["experiments"].items() if one["figures"] != [TIMED]]


def shown(study: dict, figure: str) -> list[str]:
    """The experiments that a figure shows; none for a figure that there is not."""
    if figure not in PERCEPTRON:
        return [name for name, one in study["experiments"].items() if figure in one["figures"]]
    _, wants_separable = PERCEPTRON[figure]

    def shows(stream: str) -> bool:
        generator = study["streams"][stream].get("generator")
        return generator != "adversary" and (generator in SEPARABLE) == wants_separable

    experiments = [(name, study["experiments"][name]) for name in stated(study)]
    return [name for name, one in experiments if one["kind"] == "perceptron" and any(map(shows, one["streams"]))]


def figures(study: dict) -> list[str]:
    """The figures that a study gives something to show in."""
    return [name for name in FIGURES if shown(study, name)] + ([COVERAGE[0]] if study["coverage"] else [])


def tabled(study: dict, table: str) -> list[str]:
    """The experiments that a table is of; none for a table that there is not."""
    experiments = [(name, study["experiments"][name]) for name in stated(study) if name in played(study)]
    return [
        name for name, one in experiments if one["kind"] == TABLES.get(table) and (table not in REGRET or one["regret"])
    ]


def tables(study: dict) -> list[str]:
    """The tables of runs that a study gives something to put in."""
    return [name for name in TABLES if tabled(study, name)] + ([COVERAGE[1]] if study["coverage"] else [])


def theory(study: dict) -> list[str]:
    """The tables that need no run and belong to the study's experiments."""
    return [name for name, kind in THEORY.items() if kind in {one["kind"] for one in study["experiments"].values()}]


def wants_comparators(name: str) -> bool:
    """Whether a figure or table reads the best fixed weights of its experiments besides their traces."""
    return name in REGRET


def fits(value, wanted) -> bool:
    """Whether a setting is what is wanted: of a list, one of its members; of a mapping, the same in its keys."""
    if isinstance(wanted, list):
        return any(value == one if isinstance(one, list) else fits(value, one) for one in wanted)
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all_fit(value, wanted, "")
    return bool(value == wanted)


def all_fit(settings: dict, wanted: dict, name: str) -> bool:
    """Whether all settings of the experiment, stream or learner `name` are what is wanted; "ids" are names."""
    return all(fits(name if key == "ids" else settings.get(key), value) for key, value in wanted.items())


def chosen(study: dict, place: str, name: str, wanted: dict) -> bool:
    """Whether a stream, game, log or learner of a study is what is wanted.

    One that takes another's place in a sweep goes by its name. What is wanted to be null, left to the default, it may
    have from the sweep, if the other has it not.
    """
    settings = study[place][name]
    source = settings.get("stands_for", name)
    swept = {key for key, value in wanted.items() if value is None and key not in study[place][source]}
    return all_fit(settings, {key: value for key, value in wanted.items() if key not in swept}, source)


def families(study: dict, claims: dict) -> list[str]:
    """The families of claims that have a figure: those with a claim of something that the study plays."""
    found = dict.fromkeys(claim["family"] for claim in claims.values() if any(_played(study, claim)))
    return list(found)


def _played(study: dict, claim: dict) -> Iterator[bool]:
    """For each experiment, whether it has what a claim is of: settings, a place and learners that fit."""
    if "learner" not in claim:  # of a table, or not testable
        return
    against = claim.get("against")
    wanted = [("learners", claim["learner"])] + ([("learners", against)] if isinstance(against, dict) else [])
    for name in played(study):
        experiment = study["experiments"][name]
        places = [(place, claim.get("on", {})) for place in ("streams", "games", "logs") if experiment[place]]
        yield all_fit(experiment, claim["where"], name) and all(
            any(chosen(study, key, one, settings) for one in experiment[key]) for key, settings in (*places, *wanted)
        )
