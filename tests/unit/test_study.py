"""A study's settings: completed, checked, in step with the code, and turned into runs."""

import inspect
import json
import re
import sys
from copy import deepcopy
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scant.ads import campaigns, scorers
from scant.ads.family import SETTINGS_BY_ORIGIN, log_origin
from scant.data import simulated
from scant.errors import SettingError
from scant.games.streams import STREAMS
from scant.learning import families
from scant.learning.declarations import settings_of
from scant.learning.families import TUNING
from scant.online import top
from scant.online.generators import GENERATORS
from scant.online.streams import SEPARABLE
from scant.schema import check, read_yaml, with_defaults
from scant.study import settings as studies
from scant.study.plan import Plan, sources, span, spanned, tables_of, total
from scant.study.schema import experiment_settings, readings, schema

ROOT = Path(__file__).parents[2]
SCHEMA = schema()
STREAM = SCHEMA["$defs"]["stream"]["properties"]
PLACES = (*families.places(), "learners")
STUDIES = [ROOT / "config/config.yaml", *sorted((ROOT / "config/studies").glob("*.yaml"))]
CONTEXTUAL = {  # defaults of experiments on streams
    "seeds": 10, "batch": 5, "tuning_seeds": 5, "tuning": "held-out", "source": "text", "rounds": None, "empty": "zero",
    "order": "shuffled", "keep": 1.0, "queries": None, "figures": [],
}  # fmt: skip


def load(config):
    return studies.load(config, ROOT / "config/datasets.yaml")


def planned(config) -> Plan:
    return Plan(*load(config))


def runs(plan, experiment) -> list[tuple]:
    """Place, learner and seed of each run of an experiment, in their order."""
    return [(*job.path.split("/")[1:-1], seed) for job in plan.jobs[experiment] for seed in job.seeds]


def batches(plan, experiment) -> list[tuple]:
    """Place, learner (if jobs have one) and seeds of each job."""
    return [(*job.path.split("/")[1:-1], job.seeds) for job in plan.jobs[experiment]]


def settings_of_job(plan, experiment, *ids) -> dict:
    """The settings of the jobs of a place and learner."""
    found = [job.settings for job in plan.jobs[experiment] if tuple(job.path.split("/")[1:-1]) == ids]
    assert found and all(settings == found[0] for settings in found)
    return found[0]


def small(**changes):
    return {
        "study": "small",
        "streams": {"sim": {"generator": "separable"}, "real": {"dataset": "ohsumed"}},
        "learners": {"slam": {"kind": "slam", "rates": [0.1, "theory"]}, "random": {"kind": "random"}},
        "experiments": {"all": {"streams": ["sim", "real"], "learners": ["slam", "random"]}},
    } | changes


# --- one file for each study


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A working folder with results of the study `small`, whose file is a.yaml."""
    monkeypatch.chdir(tmp_path)
    Path("results/small").mkdir(parents=True)
    Path("a.yaml").write_text(json.dumps(small()))
    studies.check_file(small(), "a.yaml", "record")
    return tmp_path


def test_a_second_study_file_with_the_id_of_another_is_refused(results):
    other = small(seed=3)
    Path("b.yaml").write_text(json.dumps(other))
    with pytest.raises(SettingError, match=r"b\.yaml and a\.yaml are both named 'small'"):
        studies.check_file(other, "b.yaml", "record")
    assert Path("record").read_text() == "a.yaml"
    studies.check_file(small(seed=4), "a.yaml", "record")  # an edit of the same file


def test_more_seeds_a_new_name_or_no_results_make_no_second_study(results):
    more = small()
    more["experiments"] = {"all": more["experiments"]["all"] | {"seeds": [5, 3]}}
    studies.check_file(more, "more.yaml", "record")
    assert Path("record").read_text() == "more.yaml"  # which does not exist here: as if it had been renamed
    studies.check_file(small(seed=3), "b.yaml", "record")
    Path("b.yaml").write_text(json.dumps(small(seed=3)))
    Path("results/small").rmdir()
    studies.check_file(small(seed=4), "c.yaml", "record")
    assert Path("record").read_text() == "c.yaml"


def test_two_studies_may_have_own_data_with_one_id():
    own = {"task": "ranking", "parser": "letor", "features": 3, "grades": 3, "parts": {"all": {"file": "a.txt"}}}
    tables = []
    for name in ("one", "two"):
        _, datasets = load(small(study=name, datasets={"mine": own}))
        tables += tables_of(datasets, "mine")
        assert tables_of(datasets, "ohsumed", ["f1-train"]) == ["results/data/tables/ohsumed/f1-train.parquet"]
    assert tables == ["results/data/tables/mine@one/all.parquet", "results/data/tables/mine@two/all.parquet"]


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCANT_DATA", raising=False)
    own = {"task": "ranking", "parser": "letor", "features": 3, "parts": {"all": {"file": "october.txt"}}}
    study, datasets = load(small(datasets={"mine": own}))
    Path("oktober.txt").write_text("")
    with pytest.raises(SettingError, match=r"there is no file october\.txt; did you mean oktober\.txt"):
        studies.check_own_files(study, datasets)
    Path("data/mine").mkdir(parents=True)
    Path("data/mine/october.txt.gz").write_bytes(b"")
    studies.check_own_files(study, datasets)


def test_a_learner_that_cannot_be_imported_is_named_with_the_nearest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("mine_here.py").write_text("class Learner:\n    pass\n")
    Path("broken_here.py").write_text("1 / 0\n")
    for kind, message in (
        ("mine_her:Learner", "did you mean mine_here:Learner"), ("mine_here:Lerner", "did you mean mine_here:Learner"),
        ("broken_here:Learner", "ZeroDivisionError: division by zero"),
    ):  # fmt: skip
        with pytest.raises(SettingError, match=message):
            load(small(learners={"slam": {"kind": kind}, "random": {"kind": "random"}}))


# --- defaults


def test_every_absent_key_has_its_default():
    study, datasets = load(small())
    assert (study["seed"], study["data"], study["datasets"], study["tables_of"]) == (2016, {"mirror": None}, {}, [])
    assert study["streams"]["sim"] == {
        "generator": "separable", "settings": {}, "shared": False, "documents": "shuffled", "drop_last": False,
    }  # fmt: skip
    assert study["learners"]["random"] == {"kind": "random"}  # a learner's defaults are those of its Settings
    assert study["experiments"]["all"] == CONTEXTUAL | {
        "kind": "perceptron", "streams": ["sim", "real"], "learners": ["slam", "random"]
    }  # fmt: skip
    assert "ohsumed" in datasets


def completed(config, name="e"):
    """An experiment with its defaults alone."""
    given = config["experiments"][name]
    made = load(config)[0]["experiments"][name]
    assert given.items() <= made.items()
    return {key: value for key, value in made.items() if key not in given}


def test_an_experiment_has_the_settings_of_its_own_family_alone():
    """A perceptron has no users, an experiment of ads no horizon."""
    assert completed(with_top(), "top") == CONTEXTUAL | {
        "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": None, "regret": False
    }  # fmt: skip
    assert completed(with_games()) == {"batch": 5, "figures": [], "comparator": "prefix", "baseline": None}
    assert completed(with_ads()) == {
        "batch": 5, "figures": [], "baseline": None, "tuning": "held-out", "validation": 0.2, "threshold": "f1",
        "undersample": None, "undersampled": "classifiers", "standardise": True, "select": 1.0, "epsilons": [0.0],
        "level": 0.95, "users": 262144,
    }  # fmt: skip


def test_what_is_set_stays_and_what_was_given_is_not_changed():
    given = small(seed=0, data={"mirror": "/there"})
    given["experiments"]["all"] |= {"tuning": "paper", "tuning_seeds": 0, "rounds": 7}
    before = deepcopy(given)
    study, _ = load(given)
    assert given == before
    assert (study["seed"], study["data"]["mirror"]) == (0, "/there")
    assert {"tuning": "paper", "tuning_seeds": 0, "rounds": 7}.items() <= study["experiments"]["all"].items()
    study["data"]["mirror"] = study["streams"]["sim"]["settings"]["queries"] = 1
    study["tables_of"].append("letter")
    study["experiments"]["all"]["learners"].append("more")
    assert given == before
    again, _ = load(given)  # defaults are no one's to change
    assert (again["streams"]["sim"]["settings"], again["tables_of"]) == ({}, [])


def test_defaults_reach_through_references_and_maps():
    schema = {
        "properties": {"a": {"default": {}, "properties": {"b": {"default": [1]}}}, "c": {"$ref": "#/$defs/map"}},
        "$defs": {
            "map": {"additionalProperties": {"$ref": "#/$defs/one"}},
            "one": {"properties": {"d": {"default": 2}}},
        },
    }
    assert with_defaults({"c": {"x": {}, "y": {"d": 3}}}, schema) == {
        "a": {"b": [1]},
        "c": {"x": {"d": 2}, "y": {"d": 3}},
    }


# --- schema, declarations and code in step


def parts(schema, path="study"):
    """Every property in the schema and its path; those of one kind of learner or experiment below its kind."""
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}", part
        yield from parts(part, f"{path}.{name}")
    for name, part in schema.get("$defs", {}).items():
        yield name, part
        yield from parts(part, name)
    for kind, then in clauses(schema).items():
        for place, part in parts(then, f"{path}.{kind}"):
            if place.removeprefix(f"{path}.{kind}.") not in schema["properties"]:  # else it narrows one of those
                yield place, part


def clauses(schema) -> dict[str, dict]:
    """What a schema adds for each kind (of streams, generator); ":" is one's own learners."""
    found = {}
    for clause in schema.get("allOf", ()):
        (rule,) = clause["if"]["properties"].values()
        found[rule.get("const") or rule["pattern"]] = clause["then"]
    return found


def test_every_property_is_described():
    found = dict(parts(SCHEMA))
    assert len(found) > 150 and {"study.seed", "learner.slam.rates", "experiment.ads.users", "log.train"} <= {*found}
    assert [path for path, part in found.items() if not part.get("description", "").endswith((".", "]"))] == []


def test_every_default_keeps_its_own_schema():
    found = {path: part for path, part in parts(SCHEMA) if "default" in part}
    assert len(found) >= 50
    for part in found.values():
        jsonschema.Draft202012Validator(part | {"$defs": SCHEMA["$defs"]}).validate(part["default"])


def test_unknown_keys_are_refused_everywhere():
    open_ones = {f"study.{key}" for key in ("datasets", *PLACES, "experiments")}
    open_ones |= {"learner.:.options", "sweep"}
    open_ones |= {"learner", "experiment", "stream.settings"}  # whose clauses are closed
    objects = {path: part for path, part in parts(SCHEMA) if part.get("type") in ("object", ["object", "null"])}
    assert {path for path, part in objects.items() if part.get("additionalProperties") is not False} == open_ones
    assert SCHEMA["additionalProperties"] is False
    for name in ("learner", "experiment"):
        of_kinds = clauses(SCHEMA["$defs"][name])
        assert [kind for kind, then in of_kinds.items() if then.get("additionalProperties") is not False] == (
            [":"] if name == "learner" else []  # what one's own may have, its class says
        )


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_studies_are_whole(path):
    plan = planned(read_yaml(path))
    study = plan.study
    assert path.stem in (study["study"], "config")
    used = {key: {one for e in study["experiments"].values() for one in e.get(key, ())} for key in PLACES}
    used["streams"] |= {place["stream"] for place in study["populations"].values() if "stream" in place}
    assert used == {key: set(study[key]) for key in used}  # nothing is left over
    for name, experiment in study["experiments"].items():
        assert plan.jobs[name] or experiment["figures"] == ["figure-games-time"]


def test_study_ids_differ():
    ids = [read_yaml(path)["study"] for path in STUDIES]
    assert len(set(ids)) == len(ids)


def parameters(function):
    return set(inspect.signature(function).parameters) - {"random"}


def test_generators_have_the_settings_that_the_schema_says():
    made = {name: parameters(function) for name, function in GENERATORS.items()}
    made["adversary"] -= {"radius"}  # a scale, which changes nothing
    assert set(STREAM["generator"]["else"]["enum"]) == set(made), "or one's own, with a colon"
    allowed = {name: then["properties"]["settings"] for name, then in clauses(SCHEMA["$defs"]["stream"]).items()}
    built_in = allowed.pop("^[^:]*$")
    assert built_in["additionalProperties"] is False
    assert {name: set(rule["propertyNames"]["enum"]) for name, rule in allowed.items()} == made
    assert {name: rule["required"] for name, rule in allowed.items() if "required" in rule} == {"adversary": ["ratio"]}
    assert set(built_in["properties"]) == set().union(*made.values())
    assert set(SEPARABLE) <= set(simulated.GENERATORS)


def test_retrieval_has_the_settings_that_the_schema_says():
    assert set(STREAM["retrieval"]["properties"]) == parameters(simulated.retrieval) - {"x", "labels"}


def test_games_have_the_settings_that_the_schema_says():
    game = SCHEMA["$defs"]["game"]["properties"]
    assert game["stream"]["enum"] == list(STREAMS)
    made = {name for function in STREAMS.values() for name in parameters(function)}
    made -= {"rounds", "loss"}  # the experiment's, and the game's own
    assert set(game["settings"]["properties"]) == made


def test_logs_have_the_settings_that_the_schema_says():
    log = SCHEMA["$defs"]["log"]["properties"]
    assert log["campaign"]["enum"] == list(campaigns.CAMPAIGNS)
    assert set(log["settings"]["properties"]) == {field.name for field in fields(campaigns.Settings)}
    assert log["settings"]["properties"]["shape"]["enum"] == list(campaigns.SHAPES)
    read = {
        kind: [one.sources for one in families.family("ads").shown if one.reads == kind] for kind in ("logs", "traces")
    }
    assert {source for sources in read["traces"] for source in sources} <= {*SETTINGS_BY_ORIGIN}
    assert {source for sources in read["logs"] for source in sources} == {*SETTINGS_BY_ORIGIN}


def rule(kind, name) -> dict:
    """The rule of a setting of a family's experiments."""
    return experiment_settings(families.family(kind))[name]


def test_readings_of_ads_are_those_of_the_scorers():
    assert {*scorers.READINGS, "regularisation", "options", "passes"} == {one.name for one in fields(scorers.Settings)}
    assert {*scorers.READINGS} <= {one.name for one in families.family("ads").settings}


def test_each_kind_of_learner_has_the_settings_of_its_classes_and_no_other():
    found = clauses(SCHEMA["$defs"]["learner"])
    assert [*found] == [*families.kinds(), ":"]
    for family in families.families().values():
        for kind, made_of in family.learners.items():
            assert kind == made_of.kind and kind in SCHEMA["$defs"]["learner"]["properties"]["kind"]["description"]
            check({"kind": kind}, SCHEMA["$defs"]["learner"] | {"$defs": SCHEMA["$defs"]}, "learner")
            for name, setting in settings_of(made_of).items():
                assert found[kind]["properties"][name] == setting.schema
    for kind, classes in families.kinds().items():
        settings = {name for made_of in classes for name in settings_of(made_of)}
        assert {*found[kind]["properties"]} == {"title", "kind"} | settings
        assert all(made_of.about in found[kind]["description"] for made_of in classes)


def test_experiments_have_the_settings_that_their_families_declare():
    experiment = SCHEMA["$defs"]["experiment"]
    assert experiment["properties"]["kind"]["enum"] == list(families.FAMILIES) == list(families.families())
    assert experiment["properties"]["kind"]["default"] == "perceptron"
    for kind, family in families.families().items():
        assert family.kind == kind
        declared = {one.name for one in family.settings}
        common = {"title", "learners", "seeds", "batch", "sweep", "figures", "kind"}
        assert {*clauses(experiment)[kind]["properties"]} == declared | common | {family.place.key}
        assert {one.name for one in family.settings if one.reading} <= {*readings()}
    assert set(rule("top", "schedule")["enum"]) | {"released-code"} == set(top.SCHEDULES)


# --- what is wrong is said


def put(*path, value):
    def change(config):
        for key in path[:-1]:
            config = config.setdefault(key, {})
        config[path[-1]] = value

    return change


EXPERIMENT_OF, TOP = ("experiments", "all"), ("experiments", "top")


def with_top(**changes):
    """A study that has learners and an experiment at the top besides."""
    config = small()
    config["learners"] |= {
        "top": {"kind": "rtop", "surrogate": "squared"},
        "smooth": {"kind": "rtop", "surrogate": "smoothdcg"},
        "full": {"kind": "ogd", "surrogate": "ranksvm"},
        "listnet": {"kind": "listnet"},
    }
    config["experiments"]["top"] = {"kind": "top", "streams": ["sim"], "learners": ["top"]} | changes
    return config


BAD = {
    "no setting any more": (put("together", value=True), "^together: there is no such setting any more, .*Delete it"),
    "unknown key": (put("sede", value=1), r"study: top level: unknown key 'sede': did you mean 'seed'"),
    "unknown key of a stream": (put("streams", "sim", "setings", value={}), "study: streams.sim: .*'settings'"),
    "unknown key of a learner": (put("learners", "slam", "rate", value=[1]), "study: learners.slam: .*'rates'"),
    "unknown key of an experiment": (put(*EXPERIMENT_OF, "seed", value=1), "experiments.all: .*did you mean 'seeds'"),
    "missing key": (lambda config: config.pop("learners"), "'learners' is a required property"),
    "no kind": (put("learners", "own", value={}), "learners.own: 'kind' is a required property"),
    "learner": (put(*EXPERIMENT_OF, "learners", value=["slamm"]), "experiments.all.learners: .*'slam'"),
    "stream": (put(*EXPERIMENT_OF, "streams", value=["reel"]), "experiments.all.streams: .*'real'"),
    "kind": (put("learners", "slam", "kind", value="max-hing"), "learners.slam: .*'max-hinge'"),
    "measure": (put("learners", "slam", "measure", value="ndcg@1"), "learners.slam.measure: .*'ndcg@10'"),
    "generator": (put("streams", "sim", "generator", value="seperable"), "streams.sim.generator: .*'separable'"),
    "generator's setting": (put("streams", "sim", "settings", value={"noise": 1}), "streams.sim.settings: .*'noise'"),
    "data set": (put("streams", "real", "dataset", value="oshumed"), "streams.real: .*'ohsumed'"),
    "part": (put("streams", "real", "parts", value=["fold1-tset"]), "streams.real: .*did you mean 'fold1-test'"),
    "table": (put("tables_of", value=["leter"]), "unknown data set 'leter': did you mean 'letter'"),
    "reading source": (put(*EXPERIMENT_OF, "source", value="code"), "all.source: .*Known: released-code, text"),
    "more seeds than have numbers": (
        put(*EXPERIMENT_OF, "seeds", value=[999_999, 2]), "experiments.all: seeds: 1,000,000 are the most"
    ),
    "nothing to tune on": (put(*EXPERIMENT_OF, "tuning_seeds", value=0), "experiments.all: .*needs tuning_seeds"),
    "theory's rate": (
        put("learners", "own", value={"kind": "binary-perceptron", "rates": ["theory"]}), "learners.own: theory gives"
    ),
    "options": (put("learners", "slam", "options", value={"a": 1}), "learners.slam: options are for learners of your"),
    "retrieval of rankings": (put("streams", "real", "retrieval", value={}), "streams.real: .*ohsumed is a ranking"),
    "no retrieval": (put("streams", "uci", value={"dataset": "letter"}), "streams.uci: .*letter is a classification"),
    "an id as a path": (put("study", value="../up"), "study: study: '../up' does not match"),
    "a data set of one's own": (put("datasets", value={"x": {"task": "rank"}}), "the study's own data sets"),
    "surrogate": (put("learners", "top", "surrogate", value="sqared"), "learners.top.surrogate: .*'squared'"),
    "no surrogate": (lambda config: config["learners"]["top"].pop("surrogate"), "learners.top: .* needs a surrogate"),
    "no surrogate of ogd": (put("learners", "ogd", value={"kind": "ogd"}), "learners.ogd: .* needs a surrogate, one"),
    "kind of experiment": (put(*TOP, "kind", value="tops"), "experiments.top.kind: .*'top'"),
    "schedule of the code": (put(*TOP, "schedule", value="released-code"), "experiments.top.schedule: unknown value"),
    "figure": (put(*TOP, "figures", value=["figure-3.5"]), "experiments.top.figures.0: .*'figure-3.4'"),
    "pairs of one": (
        put("learners", "top", value={"kind": "rtop", "surrogate": "ranksvm", "k": 1}),
        "experiments.top: ranksvm cannot be learnt from the top 1: .*Lemma 26",
    ),
    "ListNet of the top": (put("learners", "top", "surrogate", value="listnet"), "experiments.top: listnet .*Lemma 27"),
    "NDCG of the top": (
        put("learners", "top", value={"kind": "rtop", "surrogate": "ndcg-squared", "k": 3}),
        "experiments.top: ndcg-squared .*Theorem 32",
    ),
    "a short horizon": (
        lambda config: config["experiments"]["top"].update(schedule="aistats16", rounds=7),
        "experiments.top: gamma is 0.523 in round 1.*play 8 rounds or more",
    ),
    "slam at the top": (put(*TOP, "learners", value=["slam"]), "experiments.top: .*'slam'.*kind 'top'"),
    "rtop elsewhere": (put(*EXPERIMENT_OF, "learners", value=["top"]), "all: .*'rtop'.*kind 'perceptron'"),
    "ogd elsewhere": (put(*EXPERIMENT_OF, "learners", value=["full"]), "all: .*'ogd'.*kind 'perceptron'"),
    "the adversary at the top": (
        lambda config: (
            config["streams"].update(foe={"generator": "adversary", "settings": {"ratio": 9}}),
            config["experiments"]["top"].update(streams=["sim", "foe"]),
        ),
        "experiments.top: the adversary plays against learners that see every grade",
    ),
    "nothing to tune on at the top": (
        lambda config: (
            config["learners"]["top"].update(rates=[0.1, 1.0]),
            config["experiments"]["top"].update(tuning_seeds=0, learners=["top", "smooth"]),
        ),
        "experiments.top: .*needs tuning_seeds",
    ),
    "both kinds of stream": (put("streams", "sim", "dataset", value="ohsumed"), "streams.sim: "),
    "no kind of stream": (put("streams", "none", value={"title": "None"}), "streams.none: "),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_named_with_the_nearest_that_is_right(change, message):
    config = with_top()
    load(config)
    change(config)
    with pytest.raises(SettingError, match=message) as caught:
        load(config)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["all", "top"])
def test_a_rate_that_theory_does_not_give_is_refused_before_anything_is_run(name):
    """ListNet's among perceptrons; and RTop-kF's of a biased estimate, which the default mismatch of 10 makes."""
    config = with_top(learners=["top"])
    config["learners"]["top"]["rates"] = config["learners"]["listnet"]["rates"] = ["theory"]
    config["experiments"]["all"]["learners"] = ["slam" if name == "top" else "listnet"]
    config["experiments"]["top"]["mismatch"] = 10 if name == "top" else 1
    with pytest.raises(SettingError, match="theory"):
        load(config)


IDLE = {
    "settings of a data set": put("streams", "real", "settings", value={"queries": 10}),
    "parts of a simulation": put("streams", "sim", "parts", value=["a"]),
    "retrieval of a simulation": put("streams", "sim", "retrieval", value={"queries": 10}),
    **{
        f"{key} of perceptrons": put(*EXPERIMENT_OF, key, value=value)
        for key, value in {
            "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": None, "regret": False, "figures": [],
        }.items()
    },
    **{f"{key} of {learner}": put("learners", learner, key, value=value) for learner, several in {
        "slam": {"surrogate": "kl", "k": 2, "gamma": 0.1, "epsilon": 0.1, "epsilon_decay": 0.5, "sign": "negated"},
        "listnet": {"surrogate": "listnet", "k": 2, "gamma": 0.1, "epsilon": 0.1, "margin": 1.0},
        "top": {"measure": "ap", "decay": 0.5, "margin": 1.0, "averaged": True,
                "epsilon": 0.1, "epsilon_decay": 0.5, "sign": "as-printed"},
        "full": {"k": 2, "gamma": 0.1, "epsilon": 0.1, "epsilon_decay": 0.1, "sign": "negated", "decay": 0.5},
        "random": {"rates": [0.1], "surrogate": "kl", "k": 2},
    }.items() for key, value in several.items()},
}  # fmt: skip


@pytest.mark.parametrize("change", IDLE.values(), ids=IDLE.keys())
def test_a_setting_that_would_do_nothing_is_refused(change):
    config = with_top()
    change(config)
    with pytest.raises(SettingError, match=r"(streams\.(sim|real)|experiments\.all|learners\.\w+): .* does nothing"):
        load(config)


@pytest.mark.parametrize(("key", "value"), [("decay", 0.5), ("measure", "ap")])
def test_a_listnet_setting_of_perceptrons_is_refused_at_the_top(key, value):
    config = with_top(learners=["listnet"])
    config["experiments"]["all"]["learners"] = ["slam"]
    load(config)
    config["learners"]["listnet"][key] = value
    with pytest.raises(SettingError, match=f"{key} of the learner 'listnet' does nothing"):
        load(config)


def test_rates_of_ones_own_learner_at_the_top_need_seeds_to_choose_them(own):
    config = with_top(learners=["own"], tuning_seeds=0)
    config["learners"]["own"] = {"kind": own, "rates": [0.1, 1.0]}
    with pytest.raises(SettingError, match="needs tuning_seeds"):
        load(config)


def test_the_table_of_variance_belongs_to_experiments_at_the_top():
    assert theory(planned(with_top())) == ["theorems-perceptron", "variance", "theorems-top"]
    assert theory(planned(small())) == ["theorems-perceptron"]


def theory(plan) -> list[str]:
    """The tables of a study that need no run."""
    return [name for name, target in plan.tables.items() if target.shown.reads == "nothing"]


def test_what_is_of_use_is_not(own):
    for surrogate in top.OBJECTIVES:
        config = with_top(learners=["top", "listnet", "full", "random", "ideal", "own"], judge=surrogate, radius=0.5)
        config["learners"]["full"]["surrogate"] = surrogate
        config["learners"] |= {"ideal": {"kind": "ideal"}, "own": {"kind": own, "options": {"a": 1}, "k": 3}}
        config["learners"]["top"] |= {"k": 4, "gamma": 0.5, "rates": [0.1, 3]}
        config["learners"]["smooth"] |= {"epsilon": 2.0, "epsilon_decay": 0.5, "sign": "as-printed"}
        config["experiments"]["more"] = {"streams": ["sim"], "learners": ["own", "smooth"], "kind": "top"}
        study, _ = load(config)
        assert study["experiments"]["top"]["judge"] == surrogate
    load(with_top(schedule="aistats16", rounds=8))
    load(with_top(schedule="aistats16"))  # one pass, which is not known yet
    load(with_top(tuning_seeds=0))  # one rate is no choice


# --- learners of one's own

OWN = """
from scant.learning.declarations import Learner, Setting
from scant.errors import SettingError


class Bare:
    def __init__(self, features, rate, random, **options):
        pass

    def rank(self, features):
        pass

    def learn(self, features, grades, ranking):
        pass


class Own(Bare, Learner):
    settings = (
        Setting("depth", {"type": "integer", "minimum": 1}, "How deep it looks.", absent=2),
        Setting("mode", {"enum": ["fast", "thorough"]}, "How it looks.", absent="fast"),
        Setting("width", {"type": "number"}, "How broadly.", when=("mode", "thorough")),
    )

    @classmethod
    def check(cls, settings):
        if settings.get("mode") == "thorough" and settings.get("depth", 2) > 8:
            raise SettingError("depth is to be 8 at most where mode is thorough")


OBJECT = Bare(0, 0, 0)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The kind of a learner in a module beside the project, which declares settings."""
    (tmp_path / "learners_of_ones_own.py").write_text(OWN)
    (tmp_path / "broken_learner.py").write_text("def Own(:\n")
    (tmp_path / "learner_of_missing.py").write_text("import nowhere_to_be_found\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "learners_of_ones_own:Own"
    for name in ("learners_of_ones_own", "broken_learner", "learner_of_missing"):
        sys.modules.pop(name, None)


def with_own(**settings):
    """A study in which a learner of one's own plays beside a built-in one."""
    config = small()
    config["learners"]["own"] = settings
    config["experiments"]["all"]["learners"] = ["own", "random"]
    return config


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"title": "Mine", "rates": [0.1, 1], "measure": "ap", "k": 2, "lambdas": [0.1], "options": {"any": "one"}},
        {"depth": 3}, {"mode": "thorough", "width": 0.5, "depth": 8}, {"options": {"depth": 3}},
    ],
)  # fmt: skip
def test_what_ones_own_learner_may_have(own, settings):
    plan = planned(with_own(kind=own, **settings))
    made = settings_of_job(plan, "all", "sim", "own")["learner_settings"]
    assert made == {"kind": own} | {key: value for key, value in settings.items() if key != "title"}


def test_ones_own_that_declares_nothing_has_what_all_have(own):
    bare = own.replace("Own", "Bare")
    load(with_own(kind=bare, rates=[0.1], options={"depth": 0}))
    with pytest.raises(SettingError, match=r"learners\.own: unknown key 'depth': Known: k, kind, lambdas"):
        load(with_own(kind=bare, depth=3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"deepth": 3}, "study: learners.own: unknown key 'deepth': did you mean 'depth'? Known: "),
        ({"depth": 0}, "study: learners.own.depth: 0 is less than the minimum of 1"),
        ({"depth": "3"}, "study: learners.own.depth: '3' is not of type 'integer'"),
        ({"options": {"depth": 0}}, "study: learners.own.options.depth: 0 is less than the minimum of 1"),
        ({"mode": "thorogh"}, "study: learners.own.mode: unknown value 'thorogh': did you mean 'thorough'?"),
        ({"width": 0.5}, "learners.own: width does nothing for the mode 'fast'"),
        ({"mode": "fast", "width": 0.5}, "learners.own: width does nothing for the mode 'fast'"),
        ({"mode": "thorough", "depth": 9}, "learners.own: depth is to be 8 at most where mode is thorough"),
        # what all have is held to the rules of the built-in learners
        ({"rates": [0]}, "study: learners.own.rates.0: 0 is not valid"),
        ({"rates": ["theory"]}, "learners.own: theory gives no rate for the kind 'learners_of_ones_own:Own'"),
        ({"measure": "ndcg@1"}, "study: learners.own.measure: unknown value 'ndcg@1': did you mean 'ndcg@10'?"),
        ({"k": 0}, "study: learners.own.k: 0 is less than the minimum of 1"),
    ],
)
def test_what_ones_own_learner_cannot_have(own, settings, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        load(with_own(kind=own, **settings))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("nowhere_to_be_found:Own", "No module named 'nowhere_to_be_found'"),
        ("learner_of_missing:Own", "No module named 'nowhere_to_be_found'"),
        ("learners_of_ones_own:Nothing", "no attribute 'Nothing'"),
        ("broken_learner:Own", "invalid syntax"),
        (".relative:Own", "relative import"),
    ],
)
def test_a_learner_that_cannot_be_imported_is_refused_before_anything_is_run(own, kind, reason):
    with pytest.raises(SettingError, match=rf"^learners\.own: learner '{kind}' cannot be imported \(.*{reason}"):
        load(with_own(kind=kind))


@pytest.mark.parametrize(
    ("kind", "experiment", "reason"),
    [
        ("os:system", "perceptron", "rank and learn, and os:system has no rank"),
        ("math:pi", "top", "rank and learn, and math:pi has no rank"),
        ("learners_of_ones_own:OBJECT", "perceptron", "rank and learn, and learners_of_ones_own:OBJECT is no class"),
        ("collections:Counter", "fixed-items", "rank and learn, and collections:Counter has no rank"),
        ("learners_of_ones_own:Own", "ads", "fit and score, and learners_of_ones_own:Own has no fit"),
        ("learners_of_ones_own:Own", "generalisation", "fit, and learners_of_ones_own:Own has no fit"),
    ],
)
def test_what_is_no_learner_of_an_experiment_is_refused_before_anything_is_run(own, kind, experiment, reason):
    config = small()
    config["learners"] = {"own": {"kind": kind}}
    key = families.family(experiment).place.key
    places = {
        "streams": {"generator": "linear"}, "games": {"stream": "flip", "loss": "dcg"}, "logs": {"campaign": "hotel"},
        "populations": {"generator": "linear"},
    }  # fmt: skip
    config |= {
        key: {"place": places[key]},
        "experiments": {"e": {"kind": experiment, key: ["place"], "learners": ["own"]}},
    }
    with pytest.raises(SettingError) as caught:
        load(config)
    kind_of = f"of an experiment of kind {experiment!r} is to be a class with"
    assert str(caught.value) == f"experiments.e: the learner 'own' {kind_of} {reason}"


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), (b"- a\n- b\n", "a mapping is expected"), (b"", "a mapping"), (b"a: [", "not YAML")],
)
def test_a_file_that_is_no_study(tmp_path, content, message):
    if content is not None:
        (tmp_path / "study.yaml").write_bytes(content)
    with pytest.raises(SettingError, match=message) as caught:
        read_yaml(tmp_path / "study.yaml")
    assert str(tmp_path / "study.yaml") in str(caught.value)


# --- runs


def test_runs_are_the_reported_seeds_and_then_those_that_choose():
    plan = planned(
        small(
            streams={"sim": {"generator": "separable"}, "foe": {"generator": "adversary", "settings": {"ratio": 9}}},
            experiments={
                "all": {"streams": ["sim", "foe"], "learners": ["slam", "random"], "seeds": 2, "tuning_seeds": 1},
                "code": {"source": "released-code", "streams": ["sim"], "learners": ["slam"], "seeds": 2},
            },
        )
    )
    assert runs(plan, "all") == [
        ("sim", "slam", 0), ("sim", "slam", 1), ("sim", "slam", TUNING),
        ("sim", "random", 0), ("sim", "random", 1),  # it has no rate to choose
        ("foe", "slam", 0), ("foe", "random", 0),  # nothing is left to chance
    ]  # fmt: skip
    assert runs(plan, "code") == [("sim", "slam", 0), ("sim", "slam", 1)]  # the code has one rate


def test_runs_at_the_top():
    config = with_top(learners=["top", "smooth", "listnet", "random"], seeds=2, tuning_seeds=1, source="released-code")
    config["learners"]["top"]["rates"] = [0.1, 1.0]
    config["learners"]["listnet"]["rates"] = [0.01, 0.1]  # here the code's is one of the study's, as with other sets
    assert runs(planned(config), "top") == [
        ("sim", "top", 0), ("sim", "top", 1), ("sim", "top", TUNING), ("sim", "smooth", 0), ("sim", "smooth", 1),
        ("sim", "listnet", 0), ("sim", "listnet", 1), ("sim", "listnet", TUNING),
        ("sim", "random", 0), ("sim", "random", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["all", "top"])
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_batches_are_the_runs(name, batch):
    config = with_top(learners=["top", "listnet", "random"], streams=["sim", "real"])
    config["streams"]["foe"] = {"generator": "adversary", "settings": {"ratio": 9}}
    config["learners"]["listnet"]["rates"] = [0.1, 1.0]
    config["experiments"]["all"]["streams"].append("foe")
    for seeds, tuning_seeds in ((4, 3), (5, 3), (9, 3), (9, 0), ([4, 5], 3)):
        config["experiments"][name] |= {"seeds": seeds, "tuning_seeds": tuning_seeds, "batch": batch, "tuning": "paper"}
        jobs = batches(planned(config), name)
        config["experiments"][name]["batch"] = 1
        apart = [(stream, learner, seed) for stream, learner, several in jobs for seed in several]
        assert sorted(apart) == sorted(runs(planned(config), name))
        assert all(len(several) <= batch for _, _, several in jobs)
        played = {}
        for stream, learner, seed in apart:
            played.setdefault((stream, learner), []).append(seed)
        for (stream, learner), several in played.items():
            reported = [0] if stream == "foe" else list(range(total(seeds)))
            # of the learners that have rates to choose from
            tuning = range(tuning_seeds if learner in ("slam", "listnet") and stream != "foe" else 0)
            assert sorted(several) == reported + [TUNING + seed for seed in tuning]


@pytest.mark.parametrize("batch", [1, 3, 11])
@pytest.mark.parametrize("tuning_seeds", [0, 3])
def test_seeds_that_are_added_are_played_alone(batch, tuning_seeds):
    """Streams, best fixed weights, games and logs alike: no job changes, and none is left without use."""
    tuned = {"tuning": "paper", "tuning_seeds": tuning_seeds, "regret": True}
    studies = {"top": with_top(learners=["top", "listnet"], **tuned), "e": with_games()}
    studies["top"]["learners"]["listnet"]["rates"] = [0.1, 1.0]
    for name, config in (*studies.items(), ("e", with_ads())):
        before, added = {}, []
        for seeds in (4, [4, 3], [4, 3, 6]):
            config["experiments"][name] |= {"seeds": seeds, "batch": batch}
            plan = planned(config)
            now = {(kind, job.path): job for kind in ("jobs", "comparators") for job in getattr(plan, kind)[name]}
            assert before.items() <= now.items()
            added.append({seed for key in now.keys() - before.keys() for seed in now[key].seeds})
            before = now
        first = {*range(4), *(TUNING + seed for seed in range(tuning_seeds if name == "top" else 0))}
        assert added == [first, {4, 5, 6}, {*range(7, 13)}]


def test_one_job_draws_all_seeds_that_a_run_is_the_first_to_need():
    config = with_top(learners=["random"], streams=["sim", "real"], batch=4, seeds=[3, 5])
    del config["experiments"]["all"]
    spans = ["0-2", "3-6", "7"]
    assert planned(config).draws == {"results/small/streams/sim": spans}  # `real` is of a data set
    config["experiments"]["more"] = config["experiments"]["top"] | {"seeds": [3, 5, 2], "batch": 10}
    assert planned(config).draws == {"results/small/streams/sim": [*spans, "8-9"]}
    config["learners"]["listnet"]["rates"] = [0.1, 1.0]
    config["experiments"]["top"]["learners"] = ["listnet", "random"]  # the first one tunes
    assert planned(config).draws == {"results/small/streams/sim": ["0-2", "3-6", "7", "tuning-0-3", "tuning-4", "8-9"]}
    assert planned(with_ads()).draws == {f"results/ads/bandit/{log}": ["0-2"] for log in ("digits", "hotel")}


ALIKE = load(small(learners={"added": {"kind": "listnet", "rates": [0.1, 1.0]}, **small()["learners"]}))
EVERY = {  # what may differ between experiments on one stream that tune alike
    "seeds": st.lists(st.integers(1, 4), min_size=1, max_size=3),
    "learners": st.sampled_from([["random"], ["slam"], ["random", "slam"]]),
}
BATCHES = st.sampled_from([1, 3, 9])  # with little room for seeds that tune, and with much


@given(st.lists(st.fixed_dictionaries(EVERY), min_size=1, max_size=3), BATCHES, st.integers(1, 4), st.data())
def test_each_seed_is_drawn_once_and_what_is_added_changes_no_draw(experiments, batch, tuning_seeds, data):
    study, datasets = ALIKE
    common = study["experiments"]["all"] | {"streams": ["sim"], "batch": batch, "tuning_seeds": tuning_seeds}

    def plan(*settings):
        numbered = {f"e{number}": common | changes for number, changes in enumerate(settings)}
        return Plan(study | {"experiments": numbered}, datasets)

    before = plan(*experiments)
    (place, spans), *others = before.draws.items()
    files = [f"{place}/{name}/seed-{seed}.arrow" for name in spans for seed in spanned(name)]
    assert not others and len({Path(file).name for file in files}) == len(files)
    assert {file for job in before.runs.values() for file in job.files} == {*files}
    assert {*sources(files)} == {f"{place}/{name}" for name in spans}

    most = max(range(len(experiments)), key=lambda number: sum(experiments[number]["seeds"]))
    changed = [dict(settings) for settings in experiments]
    changed[most]["seeds"] = [*changed[most]["seeds"], 2]
    any_of = changed[data.draw(st.integers(0, len(changed) - 1))]
    at = data.draw(st.integers(0, len(any_of["learners"])))
    any_of["learners"] = [*any_of["learners"][:at], "added", *any_of["learners"][at:]]
    after = plan(*changed, data.draw(st.fixed_dictionaries(EVERY)))
    assert {*spans} <= {*after.draws[place]}
    assert all(after.runs[path] == job for path, job in before.runs.items())


def test_names_of_jobs_say_their_seeds():
    names = {
        "3": [3], "0-4": [*range(5)], "tuning-0": [TUNING], "tuning-2-3": [TUNING + 2, TUNING + 3],
        "0-1+tuning-0-2": [0, 1, *range(TUNING, TUNING + 3)],
    }  # fmt: skip
    for name, seeds in names.items():
        assert (span(seeds), spanned(name)) == (name, seeds)


def test_titles_reach_reports_and_no_run():
    config = small()
    config["streams"]["sim"]["title"], config["learners"]["slam"]["title"] = "Separable", "SLAM"
    plan = planned(config)
    assert settings_of_job(plan, "all", "sim", "slam") == {
        "study_seed": 2016,
        "kind": "perceptron",
        "stream_settings": load(small())[0]["streams"]["sim"],
        "learner_settings": {"kind": "slam", "rates": [0.1, "theory"]},
        "source": "text", "rounds": None, "empty": "zero", "order": "shuffled", "keep": 1.0,
    }  # fmt: skip
    assert plan.jobs == planned(small()).jobs
    details = plan.details("all")
    assert details["titles"] == {
        "streams": {"sim": "Separable", "real": "real"}, "learners": {"slam": "SLAM", "random": "random"},
    }  # fmt: skip
    assert (details["tuning"], details["title"]) == ("held-out", "all")


def test_queries_are_drawn_anew_where_a_stream_has_real_data():
    config = with_top(streams=["sim", "real"], learners=["top", "listnet"], regret=True)
    config["streams"]["made"] = {"dataset": "digits", "retrieval": {}}
    config["streams"]["foe"] = {"generator": "adversary", "settings": {"ratio": 9}}
    config["experiments"]["all"]["streams"] = ["sim", "real", "made", "foe"]

    def resampled(name):
        plan = planned(config)
        jobs = [*plan.jobs[name], *plan.comparators[name]]
        assert {job.settings.get("queries") for job in jobs} <= {None, "resampled"}
        streams = {job.path.split("/")[1] for job in jobs if "queries" in job.settings}
        assert not streams & {job.path.split("/")[1] for job in jobs if "queries" not in job.settings}
        return streams

    assert (resampled("all"), resampled("top")) == ({"real", "made"}, {"real"})
    for experiment in config["experiments"].values():
        experiment["queries"] = "all"
    assert (resampled("all"), resampled("top")) == (set(), set())
    for experiment in config["experiments"].values():
        experiment["queries"] = "resampled"
    assert (resampled("all"), resampled("top")) == ({"sim", "real", "made"}, {"sim", "real"})


def test_what_a_seed_draws_anew():
    config = with_top(streams=["sim", "real"], learners=["top", "full", "listnet"])
    config["streams"]["shared"] = {"generator": "linear", "shared": True}
    config["streams"]["foe"] = {"generator": "adversary", "settings": {"ratio": 9}}
    as_is = {"order": "as-is", "queries": "all"}

    def drawn(name, learner, **changes):
        study, datasets = load(config)
        experiment, family = study["experiments"][name] | changes, families.of(study["experiments"][name])
        return [family.drawn_anew(study, datasets, experiment, place, learner) for place in study["streams"]]

    assert list(load(config)[0]["streams"]) == ["sim", "real", "shared", "foe"]
    assert drawn("all", "slam") == [True, True, True, False]  # nothing is left to chance against the adversary
    assert drawn("all", "slam", order="as-is") == [True, True, False, False]
    assert drawn("all", "slam", **as_is) == [True, False, False, False]
    assert drawn("all", "slam", **as_is | {"keep": 0.8}) == [True, True, True, False]
    assert drawn("all", "slam", **as_is | {"queries": "resampled"}) == [True, True, True, False]
    assert drawn("all", "random", **as_is) == drawn("top", "top", **as_is) == [True] * 4
    assert drawn("top", "full", **as_is) == drawn("top", "listnet", **as_is) == [True, False, False, False]


def test_a_seed_of_a_game_draws_its_stream_or_its_learner_does():
    config = with_games(learners=["all", "best"])
    config["learners"]["best"] = {"kind": "best-fixed"}
    config["games"] |= {"shared": config["games"]["g"] | {"shared": True}, "ties": {"stream": "ties", "loss": "dcg"}}
    study, datasets = load(config)
    experiment, family = study["experiments"]["e"], families.family("fixed-items")

    def drawn(learner):
        return [family.drawn_anew(study, datasets, experiment, game, learner) for game in study["games"]]

    assert (drawn("all"), drawn("best")) == ([True, True, True], [True, False, False])


def test_a_job_at_the_top_has_its_readings():
    config = with_top(judge="kl", mismatch=1, schedule="aistats16", rounds=50, batch=3, figures=["figure-3.4"])
    config["learners"]["top"]["title"] = "Squared"
    plan = planned(config)
    assert settings_of_job(plan, "top", "sim", "top") == {
        "study_seed": 2016, "kind": "top",
        "stream_settings": load(small())[0]["streams"]["sim"],
        "learner_settings": {"kind": "rtop", "surrogate": "squared"},
        "source": "text", "rounds": 50, "empty": "zero", "order": "shuffled", "keep": 1.0,
        "schedule": "aistats16", "mismatch": 1, "radius": 1.0, "judge": "kl",
    }  # fmt: skip
    details = plan.details("top")
    assert (details["kind"], details["readings"]["judge"], details["readings"]["mismatch"]) == ("top", "kl", 1)
    assert plan.details("all")["kind"] == "perceptron"
    assert "judge" not in plan.details("all")["readings"]


def test_regret_is_judged_by_each_surrogate_once():
    learners = ["listnet", "top", "full", "smooth", "random", "more"]  # of which SmoothDCG is not convex
    config = with_top(learners=learners, regret=True)
    config["learners"]["more"] = {"kind": "ogd", "surrogate": "squared"}
    assert judges(config) == ["listnet", "squared", "ranksvm"]
    config["experiments"]["top"] |= {"judge": "kl", "batch": 3, "seeds": 4}
    jobs = [(job.path, job.seeds) for job in planned(config).comparators["top"]]
    assert jobs == [("top/sim/kl/seed-0-2", [0, 1, 2]), ("top/sim/kl/seed-3", [3])]  # the reported seeds alone
    assert judges(config) == ["kl"]
    config["experiments"]["top"]["regret"] = False
    assert judges(config) == []
    assert planned(config).comparators["all"] == []


def judges(config) -> list[str]:
    """The surrogates that an experiment at the top is judged by."""
    return list(dict.fromkeys(job.path.split("/")[2] for job in planned(config).comparators["top"]))


def test_only_figures_with_something_to_show_are_asked_for():
    def asked(*generators):
        streams = {f"s{i}": {"generator": one} if one else {"dataset": "ohsumed"} for i, one in enumerate(generators)}
        for stream in streams.values():
            stream |= {"settings": {"ratio": 9}} if stream.get("generator") == "adversary" else {}
        experiment = {"streams": list(streams), "learners": ["slam"]}
        figures = planned(small(streams=streams, experiments={"all": experiment})).figures
        return [name for name in figures if name.startswith("figure-2.")]

    assert asked("separable") == asked("released-code", "adversary") == ["figure-2.1"]
    assert asked("linear") == asked(None) == ["figure-2.2", "figure-2.ap"]
    assert asked("separable", None) == ["figure-2.1", "figure-2.2", "figure-2.ap"]
    assert asked("adversary") == []


# --- games on fixed items


def with_games(**changes):
    experiment = {"kind": "fixed-items", "games": ["g"], "learners": ["top", "all"], "rounds": [100, 200], "seeds": 3}
    return {
        "study": "games",
        "games": {"g": {"stream": "flip", "settings": {"items": 6, "relevant": 2}, "loss": "dcg", "title": "G"}},
        "learners": {"top": {"kind": "rtopkf", "k": 2, "title": "Top"}, "all": {"kind": "ftpl"}},
        "experiments": {"e": experiment | changes},
    }


def test_a_study_of_games_alone_is_one():
    plan = planned(with_games(batch=2))
    assert batches(plan, "e") == [("g", [0, 1]), ("g", [2])]
    job = settings_of_job(plan, "e", "g")
    assert job["learners"] == [["top", {"kind": "rtopkf", "k": 2}], ["all", {"kind": "ftpl"}]]
    assert job["rounds"] == [100, 200] and job["game"]["stream"] == "flip" and "title" not in job["game"]
    assert settings_of_job(planned(with_games(rounds=100)), "e", "g")["rounds"] == [100]
    details = plan.details("e")
    assert details["titles"] == {"streams": {"g": "G"}, "learners": {"top": "Top", "all": "all"}}
    assert (details["comparator"], details["baseline"]) == ("prefix", None)
    assert list(plan.tables) == ["games", "slopes", *theory(plan)] and "table-b.1" in theory(plan)


def test_an_experiment_that_is_only_timed_has_no_tables():
    plan = planned(with_games(figures=["figure-games-time"]))
    assert list(plan.figures) == ["figure-games-time"] and list(plan.tables) == theory(plan) and plan.played == []


def refused(config, words) -> None:
    """A study is refused with these words."""
    with pytest.raises(SettingError) as error:
        load(config)
    assert not [word for word in words if word not in str(error.value)], error.value


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rounds": None}, ["experiments.e.rounds", "The horizon T, or a list of horizons", "no default"]),
        ({"games": []}, ["needs games"]),
        ({"games": ["h"]}, ["experiments.e.games", "unknown game 'h'"]),
        ({"streams": ["g"]}, ["streams does nothing", "fixed-items"]),
        ({"keep": 0.5}, ["keep does nothing", "fixed-items"]),
        ({"mismatch": 1}, ["mismatch does nothing"]),
        ({"figures": ["figure-3.4"]}, ["figure-3.4 is no figure", "fixed-items"]),
        ({"baseline": "none"}, ["baseline", "unknown learner"]),
        ({"rounds": [2, 100]}, ["top on g", "T = 2", "m = 6", "k = 2"]),
        ({"rounds": [0]}, ["rounds"]),
    ],
)
def test_what_an_experiment_on_fixed_items_cannot_be(changes, words):
    refused(with_games(**changes), words)


def test_an_experiment_on_fixed_items_needs_a_horizon():
    config = with_games()
    del config["experiments"]["e"]["rounds"]
    with pytest.raises(SettingError, match=r"experiments\.e: .*needs rounds: a horizon, or a list of them"):
        load(config)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        ({"kind": "rtopkf", "blocks": 90, "k": 1}, ["K = 90", "T = 100", "m = 6", "k = 1", "largest K is 16"]),
        ({"kind": "slam"}, ["does not play in an experiment of kind 'fixed-items'"]),
        ({"kind": "ftpl", "blocks": 3}, ["blocks does nothing for the kind 'ftpl'"]),
        ({"kind": "comb-band"}, ["up to 5 items"]),
    ],
)
def test_what_a_learner_on_fixed_items_cannot_be(learner, words):
    config = with_games()
    config["learners"]["top"] = learner
    refused(config, words)


def test_games_and_horizons_are_not_for_contextual_learners():
    config = small()
    config["experiments"]["all"]["rounds"] = [10, 20]
    with pytest.raises(SettingError, match=r"experiments\.all\.rounds: \[10, 20\] .*The horizon, one number"):
        load(config)
    config["experiments"]["all"] |= {"rounds": 10, "games": ["h"]}
    for games in ({"h": {"stream": "flip", "loss": "dcg"}}, {}):
        with pytest.raises(SettingError, match="games does nothing in an experiment of kind 'perceptron'"):
            load(config | {"games": games})
    config["experiments"]["all"] = {"learners": ["random"]}
    with pytest.raises(SettingError, match="needs streams"):
        load(config)


# --- ads


def with_ads(**changes):
    experiment = {"kind": "ads", "logs": ["digits", "hotel"], "learners": ["ranker", "forest"], "seeds": 3}
    return {
        "study": "ads",
        "logs": {
            "digits": {"dataset": "digits", "title": "Digits"},
            "hotel": {"campaign": "hotel", "settings": {"share": 0.1}},
            "men": {"dataset": "obd-men", "train": "bts", "test": "random"},
        },
        "learners": {
            "ranker": {"kind": "auc-ranker", "title": "Ranker"},
            "forest": {"kind": "forest"},
            "oracle": {"kind": "oracle"},
        },
        "experiments": {"e": experiment | changes},
    }


def test_a_study_of_ads_alone_is_one():
    plan = planned(with_ads(batch=2))
    assert batches(plan, "e")[:2] == [("digits", "ranker", [0, 1]), ("digits", "ranker", [2])]
    assert len(runs(plan, "e")) == 12
    job = settings_of_job(plan, "e", "hotel", "ranker")
    assert job["log_settings"] == {"campaign": "hotel", "settings": {"share": 0.1}}
    assert job["learner_settings"] == {"kind": "auc-ranker"} and job["threshold"] == "f1"
    assert plan.details("e")["titles"] == {
        "streams": {"digits": "Digits", "hotel": "hotel"}, "learners": {"ranker": "Ranker", "forest": "forest"}
    }  # fmt: skip
    sources = [log_origin(log, plan.datasets) for log in plan.study["logs"].values()]
    assert sources == ["classification", "campaign", "log"]
    tables = ["ads", "ads-estimates", "ads-readings", "table-5.1", "table-5.2", "theorems-ads"]
    assert list(plan.tables) == tables and not plan.figures


def test_the_study_of_bounds_is_asked_for():
    plan = planned(with_ads() | {"coverage": {}})
    assert plan.study["coverage"] == {"repeats": 2000, "rows": [2000, 20000, 200000], "drifts": []}
    assert list(plan.figures) == ["figure-coverage"] and "ads-coverage" in plan.tables


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"logs": []}, ["needs logs"]),
        ({"logs": ["hotels"]}, ["experiments.e.logs", "unknown log 'hotels': did you mean 'hotel'"]),
        ({"rounds": 10}, ["rounds does nothing", "'ads'"]),
        ({"tuning_seeds": 1}, ["tuning_seeds does nothing"]),
        ({"baseline": "oracle"}, ["baseline: unknown learner 'oracle'"]),
        ({"figures": ["figure-3.1"]}, ["figure-3.1 is no figure", "'ads'"]),
        ({"figures": ["figure-5.1"]}, ["figure-5.1", "hotel, which is a campaign"]),
        ({"logs": ["men"], "learners": ["oracle"]}, ["oracle on men", "needs a campaign"]),
        ({"logs": ["hotel"], "figures": ["figure-ctr-by-rate"]}, ["add a learner of kind uniform"]),
        ({"logs": ["digits"], "figures": ["figure-5.1"], "epsilons": [0.1]}, ["add 0 to epsilons"]),
        ({"epsilons": [1.5]}, ["epsilons"]),
        ({"select": 0}, ["select"]),
        ({"validation": 1}, ["validation"]),
    ],
)
def test_what_an_experiment_of_ads_cannot_be(changes, words):
    refused(with_ads(**changes), words)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ({"campaign": "motel"}, ["hotel"]),
        ({"campaign": "hotel", "dataset": "digits"}, ["logs.hotel"]),
        ({"campaign": "hotel", "settings": {"floor": 0.5}}, ["logs.hotel", "floor is 0.5"]),
        ({"campaign": "hotel", "train": "x"}, ["train does nothing for this log"]),
        ({"dataset": "digits", "least_propensity": 0.1}, ["least_propensity does nothing"]),
        ({"dataset": "mq2008"}, ["mq2008 is a ranking set"]),
        ({"dataset": "obd-men", "train": "bts"}, ["test is needed"]),
        ({"dataset": "obd-men", "train": "bts", "test": "bts"}, ["same part"]),
        ({"dataset": "obd-men", "train": "bts", "test": "randon"}, ["did you mean 'random'"]),
        ({"dataset": "obd-men", "train": "bts", "test": "random", "share": 0.5}, ["share does nothing"]),
    ],
)
def test_what_a_log_cannot_be(log, words):
    config = with_ads()
    config["logs"]["hotel"] = log
    refused(config, words)


def test_bandit_logs_are_no_stream():
    config = small()
    for stream in ({"dataset": "obd-men"}, {"dataset": "obd-men", "retrieval": {"queries": 5}}):
        config["streams"]["real"] = stream
        with pytest.raises(SettingError, match="obd-men is a set of bandit logs"):
            load(config)


@pytest.mark.parametrize(("key", "value"), [("trees", 5), ("lambdas", [0.1]), ("rates", [0.1])])
def test_a_setting_that_does_nothing_for_a_scorer_is_refused(key, value):
    config = with_ads()
    config["learners"]["forest" if key == "lambdas" else "ranker"][key] = value
    with pytest.raises(SettingError, match=f"{key} does nothing for the kind"):
        load(config)


def test_values_of_the_command_line_are_yaml():
    given = {"shared": "true", "seed": 3, "figures": {"pdf": "true", "font_size": "10"}, "title": "a: b: c"}
    figures = {"pdf": "true", "font_size": "10", "width": "true"}
    config = {"shared": "true", "seed": 3, "figures": figures, "title": "a: b: c", "of the file": "true"}
    studies.understand(config, given)
    figures = {"pdf": True, "font_size": 10, "width": "true"}
    assert config == {"shared": True, "seed": 3, "figures": figures, "title": "a: b: c", "of the file": "true"}
