"""A study's settings: completed, checked, and in step with the code."""

import json
import re
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from small_studies import STUDIES, load, put, shipped, small, with_ads, with_games, with_top

from scant.declare import families
from scant.errors import SettingError
from scant.schema import read_yaml, with_defaults
from scant.study import settings as studies
from scant.study.schema import experiment_settings, schema

SCHEMA = schema()
PLACES = (*families.places(), "learners")
CONTEXTUAL = {  # defaults of experiments on streams
    "seeds": 10, "batch": 5, "tuning_seeds": 5, "tuning": "held-out", "source": "text",
    "rounds": None, "empty": "zero",
    "order": "shuffled", "keep": 1.0, "queries": None, "figures": [],
}  # fmt: skip


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
    # which does not exist here: as if it had been renamed
    assert Path("record").read_text() == "more.yaml"
    studies.check_file(small(seed=3), "b.yaml", "record")
    Path("b.yaml").write_text(json.dumps(small(seed=3)))
    Path("results/small").rmdir()
    studies.check_file(small(seed=4), "c.yaml", "record")
    assert Path("record").read_text() == "c.yaml"


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCANT_DATA", raising=False)
    own = yaml.safe_load(
        "{task: ranking, parser: letor, features: 3, parts: {all: {file: october.txt}}}"
    )
    study, datasets = load(small(datasets={"mine": own}))
    Path("oktober.txt").write_text("")
    with pytest.raises(SettingError, match=r"no file october\.txt; did you mean oktober\.txt"):
        studies.check_own_files(study, datasets)
    Path("data/mine").mkdir(parents=True)
    Path("data/mine/october.txt.gz").write_bytes(b"")
    studies.check_own_files(study, datasets)


# --- defaults
def test_defaults_of_a_clause_are_those_of_what_its_condition_is_true_of():
    clause = {"if": {"required": ["a"]}, "then": {"properties": {"b": {"default": 2}}}}
    for content, of_clause in (({"a": 1}, {"b": 2}), ({"a": 1, "c": 3}, {"b": 2}), ({"c": 3}, {})):
        assert with_defaults(content, {"allOf": [clause]}) == content | of_clause


def test_every_absent_key_has_its_default():
    study, datasets = load(small())
    assert (study["seed"], study["data"], study["datasets"]) == (2016, {"mirror": None}, {})
    assert study["tables_of"] == []
    assert study["streams"]["sim"] == yaml.safe_load(
        "{generator: separable, settings: {}, shared: false, documents: shuffled, drop_last: false}"
    )
    # a learner's defaults are those of its Settings
    assert study["learners"]["random"] == {"kind": "random"}
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
        "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": None, "regret": False,
        "grid": "all-seeds", "judged": 0.4, "unvisited": 0,
    }  # fmt: skip
    games = {"batch": 5, "figures": [], "comparator": "prefix", "baseline": None}
    assert completed(with_games()) == games
    assert completed(with_ads()) == yaml.safe_load(
        """{batch: 5, figures: [], baseline: null, tuning: held-out, validation: 0.2,
        threshold: f1, undersample: null, undersampled: classifiers,
        standardise: true, select: 1.0, epsilons: [0.0], level: 0.95, users: 262144}"""
    )  # fmt: skip


def test_what_is_set_stays_and_what_was_given_is_not_changed():
    given = small(seed=0, data={"mirror": "/there"})
    given["experiments"]["all"] |= {"tuning": "paper", "tuning_seeds": 0, "rounds": 7}
    before = deepcopy(given)
    study, _ = load(given)
    assert given == before
    assert (study["seed"], study["data"]["mirror"]) == (0, "/there")
    result = {"tuning": "paper", "tuning_seeds": 0, "rounds": 7}.items()
    assert result <= study["experiments"]["all"].items()
    study["data"]["mirror"] = study["streams"]["sim"]["settings"]["queries"] = 1
    study["tables_of"].append("letter")
    study["experiments"]["all"]["learners"].append("more")
    assert given == before
    again, _ = load(given)  # defaults are no one's to change
    assert (again["streams"]["sim"]["settings"], again["tables_of"]) == ({}, [])


# --- schema, declarations and code in step
def parts(schema, path="study"):
    """Every property in the schema and its path; a kind's learner or experiment below its kind."""
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}", part
        yield from parts(part, f"{path}.{name}")
    for name, part in schema.get("$defs", {}).items():
        yield name, part
        yield from parts(part, name)
    for kind, then in clauses(schema).items():
        for place, part in parts(then, f"{path}.{kind}"):
            # else it narrows one of those
            if place.removeprefix(f"{path}.{kind}.") not in schema["properties"]:
                yield place, part


def clauses(schema) -> dict[str, dict]:
    """What a schema adds for each kind (of streams, generator); ":" is one's own learners."""
    found = {}
    for clause in schema.get("allOf", ()):
        (rule,) = clause["if"]["properties"].values()
        found[rule.get("const") or rule["pattern"]] = clause["then"]
    return found


def test_unknown_keys_are_refused_everywhere():
    open_ones = {f"study.{key}" for key in ("datasets", *PLACES, "experiments")}
    open_ones |= {"learner.:.options", "sweep"}
    open_ones |= {"learner", "experiment", "stream.settings"}  # whose clauses are closed
    objects = {
        path: part
        for path, part in parts(SCHEMA)
        if part.get("type") in ("object", ["object", "null"])
    }
    assert {
        path for path, part in objects.items() if part.get("additionalProperties") is not False
    } == open_ones
    assert SCHEMA["additionalProperties"] is False
    for name in ("learner", "experiment"):
        of_kinds = clauses(SCHEMA["$defs"][name])
        assert [
            kind for kind, then in of_kinds.items() if then.get("additionalProperties") is not False
        ] == (
            [":"] if name == "learner" else []  # what one's own may have, its class says
        )


@pytest.mark.parametrize("path", STUDIES)
def test_the_studies_are_whole(path):
    study, _ = shipped(path)
    assert Path(path).stem in (study["study"], "config")
    used = {
        key: {one for e in study["experiments"].values() for one in e.get(key, ())}
        for key in PLACES
    }
    places = [*study["populations"].values(), *study["click_logs"].values()]
    used["streams"] |= {place["stream"] for place in places if "stream" in place}
    assert used == {key: set(study[key]) for key in used}  # nothing is left over


def rule(kind, name) -> dict:
    """The rule of a setting of a family's experiments."""
    return experiment_settings(families.family(kind))[name]


# --- what is wrong is said
UNPLAYED = yaml.safe_load("""
grid: {kind: rtop, surrogate: squared, rates: [0.1, 1.0]}
in-theory: {kind: listnet, rates: [theory]}
top-in-theory: {kind: rtop, surrogate: squared, rates: [theory]}
ap: {kind: listnet, measure: ap}
late: {kind: listnet, decay: 0.5}
""")
BAD = yaml.safe_load("""
- [sede, 1, "study: top level: unknown key 'sede': did you mean 'seed'"]
- [learners.random.title, slam, "all: learners: slam and random have the same title, 'slam'"]
- [learners.slam.ratse, [1], "study: learners.slam: .*'rates'"]
- [learners, null, "'learners' is a required property"]
- [learners.own, {}, "learners.own: 'kind' is a required property"]
- [experiments.all.learners, [slamm], "experiments.all.learners: .*'slam'"]
- [experiments.all.streams, [reel], "experiments.all.streams: .*'real'"]
- [streams.sim.settings, {noise: 1}, "streams.sim.settings: .*'noise'"]
- [streams.real.dataset, oshumed, "streams.real: .*'ohsumed'"]
- [streams.real.parts, [fold1-tset], "streams.real: .*did you mean 'fold1-test'"]
- [experiments.all.source, code, "all.source: .*Known: released-code, text"]
- [experiments.all.seeds, [999999, 2], "experiments.all: seeds: 1,000,000 are the most"]
- [experiments.all.tuning_seeds, 0, "experiments.all: .*needs tuning_seeds"]
- [learners.own, {kind: binary-perceptron, rates: [theory]}, "learners.own: theory gives"]
- [learners.slam.options, {a: 1}, "learners.slam: unknown key .options"]
- [streams.real.retrieval, {}, "streams.real: .*ohsumed is a ranking"]
- [streams.uci, {dataset: letter}, "streams.uci: .*letter is a classification"]
- [study, ../up, "study: study: '../up' does not match"]
- [datasets, {x: {task: rank}}, "the study's own data sets"]
- [learners.top.surrogate, null, "learners.top: .* needs a surrogate"]
- [experiments.top.kind, tops, "experiments.top.kind: .*'top'"]
- [experiments.top.schedule, released-code, "experiments.top.schedule: unknown value"]
- [experiments.top.figures, [figure-3.5], "experiments.top.figures.0: .*'figure-3.4'"]
- [learners.top.surrogate, listnet, "experiments.top: listnet .*Lemma 27"]
- [experiments.top.learners, [slam], "experiments.top: .*'slam'.*kind 'top'"]
- [experiments.all.learners, [top], "all: .*'rtop'.*kind 'perceptron'"]
- [streams.sim.dataset, ohsumed, "streams.sim: "]
- [streams.real, {dataset: obd-men}, "obd-men is a set of bandit logs"]
- [streams.real, {dataset: obd-men, retrieval: {queries: 5}}, "obd-men is a set of bandit logs"]
- [experiments.all, {learners: [random]}, "needs streams"]
- [experiments.all.learners, [in-theory], theory]
- [experiments.top.learners, [top-in-theory], theory]
- [experiments.top.learners, [ap], "measure of the learner 'ap' does nothing"]
- [experiments.top.learners, [late], "decay of the learner 'late' does nothing"]
- - experiments.top
  - {kind: top, streams: [sim], learners: [top], schedule: aistats16, rounds: 7}
  - experiments.top. gamma is 0.523 in round 1.*play 8 rounds or more
- - experiments.top
  - {kind: top, streams: [sim, foe], learners: [top]}
  - "experiments.top: the adversary plays against learners that see every grade"
- - experiments.top
  - {kind: top, streams: [sim], learners: [top, grid], tuning_seeds: 0}
  - "experiments.top: .*needs tuning_seeds"
- - experiments.top
  - {kind: top, streams: [sim], learners: [top, grid], grid: tuning-seeds, seeds: 7, batch: 11}
  - "experiments.top: grid: tuning-seeds needs all seeds .*batch: 12 or more"
- - experiments.top
  - {kind: top, streams: [sim], learners: [top, grid], grid: tuning-seeds, tuning: paper}
  - "experiments.top: grid: tuning-seeds needs tuning: held-out"
""")


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_what_is_wrong_is_named_with_the_nearest_that_is_right(path, value, message):
    config = with_top()
    config["learners"] |= UNPLAYED
    config["streams"]["foe"] = {"generator": "adversary", "settings": {"ratio": 9}}
    load(config)
    put(config, path, value)
    with pytest.raises(SettingError, match=message) as caught:
        load(config)
    assert len(str(caught.value)) < 600


def test_plain_snakemake_plays_the_study_of_an_unpacked_archive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("results/small").mkdir(parents=True)
    manifest = Path("results/small/manifest.json")
    manifest.write_text(json.dumps({"made": {"study_file": "mine.yaml"}}))
    assert studies.study_file() == studies.DEFAULT, "it is no archive"
    Path("ro-crate-metadata.json").touch()
    assert studies.study_file() == "mine.yaml"
    manifest.write_text(json.dumps({"made": {"study_file": ""}}))
    assert studies.study_file() == "results/small/study.json"


def test_what_no_experiment_names_is_noted():
    config = small()
    assert not studies.unplayed(config)
    config["learners"] |= {"idle": {"kind": "random"}, "idler": {"kind": "random"}}
    config["streams"]["unseen"] = config["streams"]["sim"]
    config["populations"] = {"cut": {"stream": "unseen"}, "whole": {"stream": "sim"}}
    assert studies.unplayed(config) == [
        "populations: no experiment names cut, whole",
        "learners: no experiment names idle, idler",
    ]


IDLE = yaml.safe_load("""
streams.real: {settings: {queries: 10}}
streams.sim: {parts: [a], retrieval: {queries: 10}}
experiments.all: {schedule: thesis, mismatch: 10, radius: 1.0, judge: kl, regret: false}
learners.slam:
  {surrogate: kl, k: 2, gamma: 0.1, epsilon: 0.1, epsilon_decay: 0.5, sign: negated}
learners.listnet: {surrogate: listnet, k: 2, gamma: 0.1, epsilon: 0.1, margin: 1.0}
learners.top:
  {measure: ap, decay: 0.5, margin: 1.0, averaged: true, epsilon: 0.1, epsilon_decay: 0.5,
   sign: as-printed}
learners.full: {k: 2, gamma: 0.1, epsilon: 0.1, epsilon_decay: 0.1, sign: negated, decay: 0.5}
learners.random: {rates: [0.1], surrogate: kl, k: 2}
""")


@pytest.mark.parametrize("place", IDLE)
def test_a_setting_that_would_do_nothing_is_refused(place):
    for key, value in IDLE[place].items():
        config = with_top()
        put(config, f"{place}.{key}", value)
        with pytest.raises(SettingError, match=rf"{re.escape(place)}: .*{key}('|.* does nothing)"):
            load(config)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"- a\n- b\n", "a mapping is expected"),
        (b"", "a mapping"),
        (b"a: [", "not YAML"),
    ],
)
def test_a_file_that_is_no_study(tmp_path, content, message):
    if content is not None:
        (tmp_path / "study.yaml").write_bytes(content)
    with pytest.raises(SettingError, match=message) as caught:
        read_yaml(tmp_path / "study.yaml")
    assert str(tmp_path / "study.yaml") in str(caught.value)


# --- games on fixed items
def refused(config, words) -> None:
    """A study is refused with these words."""
    with pytest.raises(SettingError) as error:
        load(config)
    assert not [word for word in words if word not in str(error.value)], error.value


def with_game_learner(**learner):
    config = with_games()
    config["learners"]["top"] = learner
    return config


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            with_games(rounds=None),
            ["experiments.e.rounds", "The horizon T, or a list of horizons", "no default"],
        ),
        (with_games(games=[]), ["needs games"]),
        (with_games(games=["h"]), ["experiments.e.games", "unknown game 'h'"]),
        (with_games(streams=["g"]), ["experiments.e: unknown key 'streams'"]),
        (with_games(figures=["figure-3.4"]), ["e.figures.0: unknown value 'figure-3.4'"]),
        (with_games(baseline="none"), ["baseline", "unknown learner"]),
        (with_games(rounds=[2, 100]), ["top on g", "T = 2", "m = 6", "k = 2"]),
        (
            with_game_learner(kind="rtopkf", blocks=90, k=1),
            ["K = 90", "T = 100", "m = 6", "k = 1", "largest K is 16"],
        ),
        (with_game_learner(kind="slam"), ["does not play in an experiment of kind 'fixed-items'"]),
        (with_game_learner(kind="ftpl", blocks=3), ["learners.top: unknown key 'blocks'"]),
        (with_game_learner(kind="comb-band"), ["up to 5 items"]),
    ],
)
def test_what_an_experiment_on_fixed_items_cannot_be(config, words):
    refused(config, words)


def test_a_game_has_no_default_horizon():
    config = with_games()
    del config["experiments"]["e"]["rounds"]
    refused(config, ["experiments.e: ", "needs rounds: a horizon, or a list of them"])


# --- ads
WRONG_ADS = yaml.safe_load("""
- [experiments.e.logs, [], needs logs]
- [experiments.e.logs, [hotels], "experiments.e.logs: unknown log 'hotels': did you mean 'hotel'"]
- [experiments.e.rounds, 10, "experiments.e: unknown key 'rounds'"]
- [experiments.e.baseline, oracle, "baseline: unknown learner 'oracle'"]
- [experiments.e.figures, [figure-3.1], "e.figures.0: unknown value 'figure-3.1'"]
- [experiments.e.figures, [figure-5.1], "figure-5.1.*hotel, which is a campaign"]
- [experiments.e.epsilons, [1.5], epsilons]
- - experiments.e
  - {kind: ads, logs: [men], learners: [oracle], seeds: 3}
  - oracle on men.*needs a campaign
- - experiments.e
  - {kind: ads, logs: [hotel], learners: [ranker], seeds: 3, figures: [figure-ctr-by-rate]}
  - add a learner of kind uniform
- - experiments.e
  - {kind: ads, logs: [digits], learners: [ranker], figures: [figure-5.1], epsilons: [0.1]}
  - add 0 to epsilons
- [logs.hotel, {campaign: motel}, hotel]
- [logs.hotel, {campaign: hotel, dataset: digits}, logs.hotel]
- [logs.hotel, {campaign: hotel, settings: {floor: 0.5}}, "logs.hotel.*floor is 0.5"]
- [logs.hotel, {campaign: hotel, train: x}, train does nothing for this log]
- [logs.hotel, {dataset: digits, least_propensity: 0.1}, least_propensity does nothing]
- [logs.hotel, {dataset: mq2008}, mq2008 is a ranking set]
- [logs.hotel, {dataset: obd-men, train: bts}, test is needed]
- [logs.hotel, {dataset: obd-men, train: bts, test: bts}, same part]
- [logs.hotel, {dataset: obd-men, train: bts, test: randon}, did you mean 'random']
- [logs.hotel, {dataset: obd-men, train: bts, test: random, share: 0.5}, share does nothing]
""")


@pytest.mark.parametrize(("path", "value", "message"), WRONG_ADS)
def test_what_an_experiment_of_ads_and_a_log_cannot_be(path, value, message):
    config = with_ads()
    put(config, path, value)
    with pytest.raises(SettingError, match=message):
        load(config)
