"""A study: its settings checked and completed, and the jobs that they amount to."""

from itertools import product

from scant.ads import campaigns
from scant.ads import run as ads
from scant.data import registry
from scant.errors import SettingError, unknown
from scant.games import run as games
from scant.games.learners import LEARNERS as PLAYERS
from scant.online import top
from scant.online.learners import LEARNERS, RELEASED_RATES
from scant.present import catalogue
from scant.schema import check, read_yaml, with_defaults
from scant.study import sweeps

SCHEMA = "workflow/schemas/config.schema.yaml"
CLAIMS_SCHEMA = "workflow/schemas/claims.schema.yaml"
READINGS = {  # of an experiment, by its kind: what can change a run's result
    "perceptron": ("source", "rounds", "empty", "order", "keep"),
    "top": ("source", "rounds", "empty", "order", "keep", "schedule", "mismatch", "radius", "judge"),
    "fixed-items": ("rounds",),
    "ads": (
        "tuning", "validation", "threshold", "undersample", "undersampled", "standardise", "select", "epsilons",
        "level", "users",
    ),
}  # fmt: skip
KINDS = {  # of experiments, and the kinds of their learners
    "perceptron": tuple(LEARNERS),
    "top": (*top.KINDS, "random", "ideal"),
    "fixed-items": tuple(PLAYERS),
    "ads": ads.KINDS,
}
PLACES = {"perceptron": "streams", "top": "streams", "fixed-items": "games", "ads": "logs"}  # what they play on
CONTEXTUAL = ("perceptron", "top")
FOR_KINDS = {  # settings of an experiment that only some kinds have
    **dict.fromkeys(("streams", "source", "empty", "order", "keep", "tuning_seeds"), CONTEXTUAL),
    **dict.fromkeys(("schedule", "mismatch", "radius", "judge", "regret"), ("top",)),
    **dict.fromkeys(("games", "comparator"), ("fixed-items",)),
    **dict.fromkeys(("logs", *READINGS["ads"]), ("ads",)),
    "rounds": (*CONTEXTUAL, "fixed-items"),
    "tuning": (*CONTEXTUAL, "ads"),
    "baseline": ("fixed-items", "ads"),
    "figures": ("top", "fixed-items", "ads"),
}
USED_BY = {  # settings of a learner that only some kinds use
    "measure": tuple(LEARNERS),
    "rates": ("slam", "max-hinge", "listnet", "binary-perceptron", "rtop", "ogd"),
    "decay": ("slam", "max-hinge", "listnet", "binary-perceptron"),
    "trigger": ("slam", "max-hinge"),
    "by_loss": ("slam", "max-hinge"),
    "margin": ("slam",),
    "averaged": ("slam",),
    "learn_on_empty": ("listnet",),
    "surrogate": ("rtop", "ogd"),
    "k": ("rtop", "rtopkf", "rtopkf-anytime", "rtopkf-adaptive"),
    "gamma": ("rtop",),
    "epsilon": ("rtop", "ogd", "ftpl"),
    "epsilon_decay": ("rtop", "ogd"),
    "sign": ("rtop", "ogd"),
    "eta": ("fpl-gumbel", "online-rank", "hedge", "multiplicative-weights", "permelearn", "comb-band"),
    "sort": ("online-rank",),
    "blocks": ("rtopkf",),
    "rest": ("rtopkf", "rtopkf-anytime", "rtopkf-adaptive"),
    "black_box": ("rtopkf",),
    "lambdas": tuple(kind for kind in ads.KINDS if kind not in ads.WITHOUT_LAMBDA),
    "steps": ("logistic", "auc-ranker"),
    "trees": ("forest",),
    "pair_loss": ("auc-ranker",),
}


def load(config: dict, schema_path=SCHEMA, registry_path="config/datasets.yaml") -> tuple[dict, dict]:
    """Check a study's settings, fill in the defaults, and read the registry.

    Returns
    -------
    The settings, with an experiment for each combination that one sweeps (`scant.study.sweeps`), and the data sets by id.

    Raises
    ------
    SettingError : names the key at fault, and the nearest valid name where there is one.
    """
    schema = read_yaml(schema_path)
    check(config, schema, "study")
    study = with_defaults(config, schema)
    datasets = registry.load(registry_path, study["datasets"])
    for name in study["tables_of"]:
        registry.find(datasets, name)
    _check(study, datasets, config["experiments"])
    study = sweeps.expand(study, datasets, schema, FOR_KINDS)
    if any("stands_for" in one for one in study["experiments"].values()):
        _check(study, datasets, config["experiments"])
    return study, datasets


def claims(path, schema_path=CLAIMS_SCHEMA) -> dict[str, dict]:
    """The claims that a file states, by their ids.

    Raises
    ------
    SettingError : names the claim and the key at fault
    """
    stated, schema = read_yaml(path), read_yaml(schema_path)
    check(stated, schema, str(path))
    return with_defaults(stated, schema)


def _check(study: dict, datasets: dict, given: dict) -> None:
    """Check what the schema cannot; `given` are the experiments as the file has them."""
    for name, stream in study["streams"].items():
        try:
            _check_stream(stream, datasets)
        except SettingError as error:
            raise SettingError(f"streams.{name}: {error}") from None
    for name, log in study["logs"].items():
        try:
            _check_log(log, datasets)
        except SettingError as error:
            raise SettingError(f"logs.{name}: {error}") from None
    for name, learner in study["learners"].items():
        try:
            _check_learner(learner)
        except SettingError as error:
            raise SettingError(f"learners.{name}: {error}") from None
    for name, experiment in study["experiments"].items():
        for key in (*dict.fromkeys(PLACES.values()), "learners"):
            for one in experiment[key]:
                if one not in study[key]:
                    raise SettingError(f"experiments.{name}.{key}: {unknown(key[:-1], one, study[key])}")
        try:
            keys = {*given[experiment.get("stands_for", name)], *experiment.get("sweeps", ())}
            _check_experiment(study, datasets, experiment, keys)
        except SettingError as error:
            swept = experiment.get("sweeps")
            where = f"{experiment['stands_for']}.sweep: {sweeps.said(swept)}" if swept else name
            raise SettingError(f"experiments.{where}: {error}") from None


def _check_experiment(study: dict, datasets: dict, experiment: dict, given: set) -> None:
    kind = experiment["kind"]
    for key in sorted(given & set(FOR_KINDS)):
        if kind not in FOR_KINDS[key]:
            raise SettingError(f"{key} does nothing in an experiment of kind {kind!r}")
    if not experiment[PLACES[kind]]:
        raise SettingError(f"an experiment of kind {kind!r} needs {PLACES[kind]}")
    if experiment.get("sweep") and experiment["figures"] == [catalogue.TIMED]:
        raise SettingError("sweep does nothing in an experiment of which only the time is measured")
    if experiment["baseline"] not in (None, *experiment["learners"]):
        raise SettingError(f"baseline: {unknown('learner', experiment['baseline'], experiment['learners'])}")
    for learner in experiment["learners"]:
        settings = study["learners"][learner]
        if ":" not in settings["kind"] and settings["kind"] not in KINDS[kind]:
            raise SettingError(
                f"the learner {learner!r} is of the kind {settings['kind']!r}, which does not play in an experiment "
                f"of kind {kind!r}"
            )
    for figure in experiment["figures"]:
        if figure not in catalogue.CHOSEN[kind]:
            raise SettingError(f"{figure} is no figure of an experiment of kind {kind!r}")
    if kind == "fixed-items":
        _check_games(study, experiment)
    elif kind == "ads":
        _check_ads(study, datasets, experiment)
    else:
        _check_contextual(study, experiment)


def _check_games(study: dict, experiment: dict) -> None:
    if experiment["rounds"] is None:
        raise SettingError("an experiment of kind 'fixed-items' needs rounds: a horizon, or a list of them")
    horizons = _horizons(experiment)
    for game, learner, horizon in product(experiment["games"], experiment["learners"], horizons):
        try:
            games.check(study["games"][game], untitled(study["learners"][learner], "stands_for"), horizon)
        except SettingError as error:
            raise SettingError(f"{learner} on {game}: {error}") from None


def _check_ads(study: dict, datasets: dict, experiment: dict) -> None:
    sources = {log: source(study["logs"][log], datasets) for log in experiment["logs"]}
    for log, learner in product(experiment["logs"], experiment["learners"]):
        try:
            ads.check(study["learners"][learner], experiment, sources[log])
        except SettingError as error:
            raise SettingError(f"{learner} on {log}: {error}") from None
    kinds = {study["learners"][one]["kind"] for one in experiment["learners"]}
    if "figure-ctr-by-rate" in experiment["figures"] and "uniform" not in kinds:
        raise SettingError(
            "figure-ctr-by-rate shows CTR over that of the uniform policy: add a learner of kind uniform"
        )
    if "figure-5.1" in experiment["figures"] and 0 not in experiment["epsilons"]:
        raise SettingError("figure-5.1 shows deterministic policies: add 0 to epsilons")
    for figure in experiment["figures"]:
        wanted = catalogue.ADS[figure]
        if other := [log for log in experiment["logs"] if sources[log] not in wanted]:
            raise SettingError(f"{figure} is of logs of another kind than {other[0]}, which is a {sources[other[0]]}")


def source(log: dict, datasets: dict) -> str:
    """What the logs of a study's log are: "classification" made of a set, "campaign" drawn, or "log" as logged."""
    if "campaign" in log:
        return "campaign"
    return "log" if datasets[log["dataset"]].task == "ads" else "classification"


def _check_log(log: dict, datasets: dict) -> None:
    if "campaign" in log:
        campaigns.check(log["campaign"], log["settings"])
        used = ("settings", "train_rows", "test_rows")
    else:
        dataset = registry.find(datasets, log["dataset"])
        if dataset.task not in ("ads", "classification"):
            raise SettingError(f"{dataset.id} is a {dataset.task} set; logs are of classification or ads sets")
        used = ("share",) if dataset.task == "classification" else ("train", "test", "least_propensity")
        if dataset.task == "ads":
            for part in ("train", "test"):
                if part not in log:
                    raise SettingError(f"{part} is needed: the part of {dataset.id} that is to {part}")
                dataset.part(log[part])
            if log["train"] == log["test"]:
                raise SettingError("train and test are the same part: a policy must not be learnt from what tests it")
    for key in ("settings", "train_rows", "test_rows", "share", "train", "test", "least_propensity"):
        if log.get(key) and key not in used:
            raise SettingError(f"{key} does nothing for this log")


def _horizons(experiment: dict) -> list[int]:
    rounds = experiment["rounds"]
    return rounds if isinstance(rounds, list) else [rounds]


def _check_contextual(study: dict, experiment: dict) -> None:
    kind, several = experiment["kind"], False
    if isinstance(experiment["rounds"], list):
        raise SettingError("several horizons are for experiments of kind 'fixed-items': here rounds is one number")
    for learner in experiment["learners"]:
        settings = study["learners"][learner]
        if kind == "top" and settings["kind"] not in top.KINDS:
            several |= len(settings.get("rates", [1])) > 1
        if kind == "top" and settings["kind"] in top.KINDS:
            for key in ("decay", "measure", "learn_on_empty"):
                if key in settings:
                    raise SettingError(f"{key} of the learner {learner!r} does nothing in an experiment of kind 'top'")
            resolved, rates = top.resolve(settings, experiment, experiment["rounds"] or 10**9)
            several |= len(rates) > 1
            if "theory" in rates:
                top.check_theory(resolved)
        elif "theory" in settings.get("rates", []) and settings["kind"] not in ("slam", "max-hinge"):
            raise SettingError(f"theory gives the learner {learner!r} no rate in an experiment of kind {kind!r}")
    if "figure-top-regret" in experiment["figures"] and not experiment["regret"]:
        raise SettingError("figure-top-regret shows what regret: true finds")
    if experiment["regret"] and experiment["judge"] == "smoothdcg":
        raise SettingError(
            "regret is against the best fixed weights, which smoothdcg, not being convex, does not certify"
        )
    if kind == "top" and "adversary" in [study["streams"][one].get("generator") for one in experiment["streams"]]:
        raise SettingError("the adversary plays against learners that see every grade: kind perceptron")
    if experiment["tuning"] == "held-out" and not experiment["tuning_seeds"] and (several or kind == "perceptron"):
        raise SettingError("tuning 'held-out' needs tuning_seeds of 1 or more, or set tuning: paper")


def _check_learner(learner: dict) -> None:
    kind = learner["kind"]
    kinds = dict.fromkeys(one for kinds in KINDS.values() for one in kinds)
    if ":" not in kind and kind not in kinds:
        raise unknown("kind of learner", kind, kinds)
    if kind in ("rtop", "ogd"):
        if "surrogate" not in learner:
            raise SettingError(f"the kind {kind!r} needs a surrogate, one of {', '.join(top.OBJECTIVES)}")
        for key in ("epsilon", "epsilon_decay", "sign"):
            if key in learner and learner["surrogate"] != "smoothdcg":
                raise SettingError(f"{key} does nothing for the surrogate {learner['surrogate']!r}")
    for key, kinds in USED_BY.items():
        if key in learner and kind not in kinds and ":" not in kind:
            raise SettingError(f"{key} does nothing for the kind {kind!r}")
    if "options" in learner and ":" not in kind:
        raise SettingError("options are for learners of your own (kind: module:Class)")
    if "theory" in learner.get("rates", []) and kind not in ("slam", "max-hinge", *top.KINDS):
        raise SettingError(f"theory gives no rate for the kind {kind!r}. Use numbers")


def _check_stream(stream: dict, datasets: dict) -> None:
    others = ("settings", "shared") if "dataset" in stream else ("parts", "retrieval", "drop_last")
    for key in others:
        if stream.get(key):
            raise SettingError(f"{key} does nothing for a {'data set' if 'dataset' in stream else 'generator'}")
    if "dataset" in stream:
        dataset = registry.find(datasets, stream["dataset"])
        for part in stream.get("parts", []):
            dataset.part(part)
        if dataset.task == "ads":
            raise SettingError(f"{dataset.id} is a set of bandit logs, which are for experiments of kind ads: see logs")
        if (dataset.task == "ranking") == ("retrieval" in stream):
            raise SettingError(
                "retrieval makes a ranking stream of a classification set: it is needed for those, and "
                f"{dataset.id} is a {dataset.task} set"
            )


def runs(study: dict, name: str) -> list[tuple[str, str, int]]:
    """The runs (stream, learner, seed) of the experiment `name`, contextual or of ads (on logs).

    Its reported seeds come first, then those that choose rates; a learner with one rate has nothing to choose. The
    adversary leaves nothing to chance: seed 0 alone is played.
    """
    experiment = study["experiments"][name]
    jobs = []
    if experiment["kind"] == "ads":
        return list(product(experiment["logs"], experiment["learners"], range(experiment["seeds"])))
    for stream, learner in product(experiment["streams"], experiment["learners"]):
        kind, rates = study["learners"][learner]["kind"], study["learners"][learner].get("rates", [1.0])
        released = experiment["source"] == "released-code" and experiment["kind"] == "perceptron"
        fixed = len(rates) == 1 or (released and kind in RELEASED_RATES)
        seeds = experiment["seeds"] + (0 if fixed else experiment["tuning_seeds"])
        if study["streams"][stream].get("generator") == "adversary":
            seeds = 1
        jobs += [(stream, learner, seed) for seed in range(seeds)]
    return jobs


def batches(study: dict, name: str) -> list[tuple[str, str, list[int]]]:
    """The runs of the experiment `name` as jobs (stream, learner, seeds), each of up to `batch` seeds.

    A job's first seed is a multiple of `batch`, so that further seeds leave the full batches as they are.
    """
    size, jobs = study["experiments"][name]["batch"], {}
    for stream, learner, seed in runs(study, name):
        jobs.setdefault((stream, learner, seed // size), []).append(seed)
    return [(stream, learner, seeds) for (stream, learner, _), seeds in jobs.items()]


def untitled(settings: dict, *more: str) -> dict:
    """Settings without their title (and more), so that a new title changes no result."""
    return {key: value for key, value in settings.items() if key not in ("title", *more)}


def job(study: dict, experiment: str, stream: str, learner: str) -> dict:
    """The settings of a run, but for its seeds: what `scant run` is given, and all that can change its result."""
    settings = study["experiments"][experiment]
    place = PLACES[settings["kind"]]
    return {
        "study_seed": study["seed"],
        "kind": settings["kind"],
        f"{place[:-1]}_settings": untitled(study[place][stream]),
        "learner_settings": untitled(study["learners"][learner], "stands_for"),
        **{key: settings[key] for key in READINGS[settings["kind"]]},
    }


def spans(study: dict, name: str) -> list[list[int]]:
    """The reported seeds of the experiment `name`, in batches."""
    experiment = study["experiments"][name]
    seeds, size = list(range(experiment["seeds"])), experiment["batch"]
    return [seeds[i : i + size] for i in range(0, len(seeds), size)]


def matches(study: dict, name: str) -> list[tuple[str, list[int]]]:
    """The jobs (game, seeds) of the experiment `name` on fixed items. Each plays all the learners."""
    return list(product(study["experiments"][name]["games"], spans(study, name)))


def match(study: dict, name: str, game: str) -> dict:
    """The settings of such a job, but for its seeds: what `scant play` is given."""
    experiment = study["experiments"][name]
    return {
        "study_seed": study["seed"],
        "kind": experiment["kind"],
        "game": untitled(study["games"][game]),
        "learners": [[one, untitled(study["learners"][one], "stands_for")] for one in experiment["learners"]],
        "rounds": _horizons(experiment),
    }


def judges(study: dict, name: str) -> list[str]:
    """The convex surrogates by which the experiment `name` is judged, if its regret is asked for."""
    experiment = study["experiments"][name]
    if not experiment["regret"]:
        return []
    learners = [study["learners"][one] for one in experiment["learners"]]
    own = [top.resolve(one, experiment, 10**9)[0].judge for one in learners if one["kind"] in top.KINDS]
    return [judge for judge in dict.fromkeys(own) if judge != "smoothdcg"]


def comparators(study: dict, name: str) -> list[tuple[str, str, list[int]]]:
    """The jobs (stream, judge, seeds) that find the best fixed weights for the regret of the experiment `name`."""
    return list(product(study["experiments"][name]["streams"], judges(study, name), spans(study, name)))


def comparison(study: dict, name: str, stream: str) -> dict:
    """The settings of such a job: what `scant compare` is given."""
    settings = study["experiments"][name]
    return {
        "study_seed": study["seed"],
        "kind": settings["kind"],
        "stream_settings": untitled(study["streams"][stream]),
        **{key: settings[key] for key in ("rounds", "empty", "order", "keep", "radius")},
    }


def details(study: dict, name: str) -> dict:
    """What the reports need to know of the experiment `name`: kind, readings, seeds and the names to show."""
    experiment = study["experiments"][name]
    kind = experiment["kind"]
    more = {key: experiment[key] for key in ("comparator", "baseline", "tuning") if kind in FOR_KINDS[key]}

    def titles(key: str) -> dict:
        return {one: study[key][one].get("title", one) for one in experiment[key]}

    return {
        "kind": kind,
        "readings": {key: experiment[key] for key in READINGS[kind]},
        "seeds": experiment["seeds"],
        **more,
        "title": experiment.get("title", name),
        "titles": {"streams": titles(PLACES[kind]), "learners": titles("learners")},
    }
