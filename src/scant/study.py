"""A study: its settings checked and completed, and the jobs that they amount to."""

from itertools import product

from scant.data import registry
from scant.errors import SettingError, unknown
from scant.online.learners import LEARNERS, RELEASED_RATES
from scant.schema import check, read_yaml, with_defaults

SCHEMA = "workflow/schemas/config.schema.yaml"
USED_BY = {  # settings of a learner that only some kinds use
    "rates": ("slam", "max-hinge", "listnet", "binary-perceptron"),
    "decay": ("slam", "max-hinge", "listnet", "binary-perceptron"),
    "trigger": ("slam", "max-hinge"),
    "by_loss": ("slam", "max-hinge"),
    "margin": ("slam",),
    "averaged": ("slam",),
    "learn_on_empty": ("listnet",),
}


def load(config: dict, schema_path=SCHEMA, registry_path="config/datasets.yaml") -> tuple[dict, dict]:
    """Check a study's settings, fill in the defaults, and read the registry.

    Returns
    -------
    The settings, and the data sets by id.

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
    for name, stream in study["streams"].items():
        try:
            _check_stream(stream, datasets)
        except SettingError as error:
            raise SettingError(f"streams.{name}: {error}") from None
    for name, learner in study["learners"].items():
        try:
            _check_learner(learner)
        except SettingError as error:
            raise SettingError(f"learners.{name}: {error}") from None
    for name, experiment in study["experiments"].items():
        for key in ("streams", "learners"):
            for one in experiment[key]:
                if one not in study[key]:
                    raise SettingError(f"experiments.{name}.{key}: {unknown(key[:-1], one, study[key])}")
        if experiment["tuning"] == "held-out" and not experiment["tuning_seeds"]:
            raise SettingError(
                f"experiments.{name}: tuning 'held-out' needs tuning_seeds of 1 or more, or set tuning: paper"
            )
    return study, datasets


def _check_learner(learner: dict) -> None:
    kind = learner["kind"]
    if ":" not in kind and kind not in LEARNERS:
        raise unknown("kind of learner", kind, LEARNERS)
    for key, kinds in USED_BY.items():
        if key in learner and kind not in kinds and ":" not in kind:
            raise SettingError(f"{key} does nothing for the kind {kind!r}")
    if "options" in learner and ":" not in kind:
        raise SettingError("options are for learners of your own (kind: module:Class)")
    if "theory" in learner.get("rates", []) and kind not in ("slam", "max-hinge"):
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
        if (dataset.task == "ranking") == ("retrieval" in stream):
            raise SettingError(
                "retrieval makes a ranking stream of a classification set: it is needed for those, and "
                f"{dataset.id} is a {dataset.task} set"
            )


def runs(study: dict, name: str) -> list[tuple[str, str, int]]:
    """The runs (stream, learner, seed) of the experiment `name`: its reported seeds, then those that choose rates.

    A learner with one rate has nothing to choose. The adversary leaves nothing to chance: seed 0 alone is played.
    """
    experiment = study["experiments"][name]
    jobs = []
    for stream, learner in product(experiment["streams"], experiment["learners"]):
        kind, rates = study["learners"][learner]["kind"], study["learners"][learner].get("rates", [1.0])
        fixed = len(rates) == 1 or (experiment["source"] == "released-code" and kind in RELEASED_RATES)
        seeds = experiment["seeds"] + (0 if fixed else experiment["tuning_seeds"])
        if study["streams"][stream].get("generator") == "adversary":
            seeds = 1
        jobs += [(stream, learner, seed) for seed in range(seeds)]
    return jobs


def untitled(settings: dict) -> dict:
    """Settings without their title, so that a new title changes no result."""
    return {key: value for key, value in settings.items() if key != "title"}


def job(study: dict, experiment: str, stream: str, learner: str) -> dict:
    """The settings of a run, but for its seed: what `scant run` is given, and all that can change its result."""
    settings = study["experiments"][experiment]
    return {
        "study_seed": study["seed"],
        "stream_settings": untitled(study["streams"][stream]),
        "learner_settings": untitled(study["learners"][learner]),
        **{key: settings[key] for key in ("source", "rounds", "empty", "order", "keep")},
    }


def details(study: dict, name: str) -> dict:
    """What the reports need to know of the experiment `name`: seeds, tuning reading and the names to show."""
    experiment = study["experiments"][name]
    return {
        "seeds": experiment["seeds"],
        "tuning": experiment["tuning"],
        "title": experiment.get("title", name),
        "titles": {
            key: {one: study[key][one].get("title", one) for one in experiment[key]} for key in ("streams", "learners")
        },
    }
