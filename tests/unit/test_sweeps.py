"""Sweeps of readings: the experiments they become, what they share, what claims make of them."""

import json
import re
from copy import deepcopy
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import cells_table, claims_table

from scant.data import packing, simulated, stream
from scant.declare import families
from scant.errors import SettingError
from scant.rankers.run import run
from scant.study import settings as studies
from scant.study.plan import Plan, untitled
from scant.study.schema import readings, schema
from scant.verdict import claims

ROOT = Path(__file__).parents[2]
READINGS = schema()["$defs"]["sweep"]["propertyNames"]["enum"]
ID = re.compile(schema()["$defs"]["id"]["pattern"])
TOP = {"kind": "top", "streams": ["sim"], "rounds": 20}
CONFIG = {
    "study": "small",
    "streams": {
        "sim": {"generator": "linear", "settings": {"queries": 12, "documents": 4, "features": 3}},
        "back": {"generator": "linear", "documents": "reversed"},
        "digits": {"dataset": "digits", "retrieval": {}},
        "real": {"dataset": "mslr-web10k"},  # not published normalised
        "adversary": {"generator": "adversary", "settings": {"ratio": 9}},
    },
    "games": {"flip": {"stream": "flip", "loss": "dcg"}},
    "logs": {"digits": {"dataset": "digits"}},
    "populations": {"lists": {"stream": "digits"}},
    "coverage": None,
    "learners": {
        "slam": {"kind": "slam", "rates": ["theory", 0.1]},
        "random": {"kind": "random"},
        "smooth": {"kind": "rtop", "surrogate": "smoothdcg"},
        "smooth-1": {"kind": "rtop", "surrogate": "smoothdcg", "epsilon": 1.0},
        "kl": {"kind": "rtop", "surrogate": "kl"},
        "ftpl": {"kind": "ftpl"},
        "logistic": {"kind": "logistic"},
        "forest": {"kind": "forest"},
        "ranker": {"kind": "auc-ranker"},
        "uniform": {"kind": "uniform"},
        "full": {"kind": "ogd", "surrogate": "squared"},
        "erm": {"kind": "erm-l2", "surrogate": "smoothdcg"},
        "erm-l1": {"kind": "erm-l1"},
        "ogd": {"kind": "averaged-ogd"},
        "regularised": {"kind": "regularised-erm"},
    },
    "experiments": {
        "text": {"streams": ["sim", "back"], "learners": ["slam", "random"]},
        "real": {"streams": ["real", "digits"], "learners": ["slam"]},
        "lower": {"streams": ["adversary"], "learners": ["slam"], "tuning": "paper"},
        "top": TOP | {"learners": ["smooth", "smooth-1", "kl"]},
        "full": TOP | {"learners": ["full", "kl"]},
        "games": {"kind": "fixed-items", "games": ["flip"], "rounds": 20}
        | {"learners": ["ftpl", "random"], "baseline": "ftpl"},
        "ads": {"kind": "ads", "logs": ["digits"]}
        | {"learners": ["logistic", "ranker"], "baseline": "ranker"},
        "samples": {"kind": "generalisation", "populations": ["lists"]}
        | {"learners": ["erm", "erm-l1", "ogd", "regularised"]}
        | {"n": [10], "m": [4], "reference": 100},
    },
}
CLAIM = yaml.safe_load("""
{source: {document: thesis, place: '1'}, statement: So it is., family: ads, data: logs,
 quantity: ctr, where: {kind: ads}, learner: {kind: auc-ranker}, against: {kind: logistic},
 comparison: greater}
""")


def planned(config) -> Plan:
    return Plan(*studies.load(config, ROOT / "config/datasets.yaml"))


def load(config):
    return planned(config).study


def job_of(plan, experiment, *ids):
    """The first job of a place and learner."""
    return next(job for job in plan.jobs[experiment] if tuple(job.path.split("/")[1:-1]) == ids)


def swept(name, *sweep, **changes):
    """The study CONFIG, in which one experiment sweeps."""
    config = deepcopy(CONFIG)
    config["experiments"][name] |= changes | {"sweep": list(sweep)}
    return config


def made(study, name):
    """What the sweep of an experiment made: levels by id."""
    experiments = study["experiments"].items()
    return {
        one: settings["sweeps"]
        for one, settings in experiments
        if settings.get("stands_for") == name
    }


# --- expansion
def test_each_combination_is_an_experiment_after_its_own():
    study = load(swept("text", {"empty": ["skip", "one"], "keep": [0.5]}, {"order": ["as-is"]}))
    assert made(study, "text") == {
        "text+empty-skip+keep-0.5": {"empty": "skip", "keep": 0.5},
        "text+empty-one+keep-0.5": {"empty": "one", "keep": 0.5},
        "text+order-as-is": {"order": "as-is"},
    }
    assert list(study["experiments"])[:5] == ["text", *made(study, "text"), "real"]
    own, variant = (study["experiments"][name] for name in ("text", "text+order-as-is"))
    changed = {key for key in variant if variant[key] != own.get(key)}
    assert changed == {"title", "stands_for", "sweeps", "order"}
    assert variant["title"] == "text, order as-is" and variant["figures"] == []


def test_streams_and_learners_stand_in_only_where_they_differ():
    study = load(swept("text", {"documents": ["reversed"]}))
    streams = study["experiments"]["text+documents-reversed"]["streams"]
    assert streams == ["sim+documents-reversed", "back"]
    changed = {"documents": "reversed", "stands_for": "sim", "title": "sim"}
    assert study["streams"]["sim+documents-reversed"] == study["streams"]["sim"] | changed
    study = load(swept("top", {"epsilon": [0.1, 1.0]}))
    assert [study["experiments"][f"top+epsilon-{level}"]["learners"] for level in (0.1, 1.0)] == [
        ["smooth+epsilon-0.1", "smooth-1+epsilon-0.1", "kl"],
        ["smooth+epsilon-1.0", "smooth-1", "kl"],
    ]
    study = load(swept("ads", {"pair_loss": ["hinge"]}))
    variant = study["experiments"]["ads+pair_loss-hinge"]
    assert variant["learners"] == ["logistic", "ranker+pair_loss-hinge"]
    assert variant["baseline"] == "ranker+pair_loss-hinge"


def test_the_scale_of_features_is_that_of_the_data_set_unless_the_stream_says_it():
    study = load(swept("real", {"features": ["query-minmax", "as-is"]}))
    result = [study["experiments"][name]["streams"] for name in made(study, "real")]
    assert result == [["real", "digits+features-query-minmax"], ["real+features-as-is", "digits"]]


LEVELS = yaml.safe_load("""
{source: [text, released-code], rounds: [null, 5, 7], empty: [zero, one, skip],
 order: [shuffled, as-is], keep: [0.25, 0.5, 1.0], features: [query-minmax, as-is],
 documents: [shuffled, as-is, reversed]}
""")


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_a_product_has_all_combinations_but_the_experiment_s_own(data):
    keys = data.draw(st.lists(st.sampled_from(sorted(LEVELS)), min_size=1, max_size=4, unique=True))
    sweep = {
        key: data.draw(st.lists(st.sampled_from(LEVELS[key]), min_size=1, unique=True))
        for key in keys
    }
    before = load(CONFIG)
    study = load(swept("text", sweep, streams=["sim"]))
    own = before["experiments"]["text"] | {"features": "as-is", "documents": "shuffled"}
    found = made(study, "text")
    assert len(found) == prod(map(len, sweep.values())) - all(
        own[key] in levels for key, levels in sweep.items()
    )
    wanted = [dict(zip(sweep, levels, strict=True)) for levels in product(*sweep.values())]
    wanted = [{key: level for key, level in one.items() if level != own[key]} for one in wanted]
    assert all(levels in wanted for levels in found.values())
    assert all(not one or one in found.values() for one in wanted)
    parts = ("experiments", "streams", "learners")
    assert all(ID.fullmatch(name) for part in parts for name in study[part])
    for name, one in before["experiments"].items():
        assert study["experiments"][name] == one | ({"streams": ["sim"]} if name == "text" else {})
    for place in ("streams", "learners"):
        assert before[place].items() <= study[place].items()
        new = {*study[place]} - {*before[place]}
        assert {study[place][name]["stands_for"] for name in new} <= {*before[place]}


# for each reading that the schema lets sweep, an experiment that has it and a level that is not its
# own
FITTING = {"source": ("text", "released-code"), "rounds": ("text", 9), "empty": ("text", "skip")}
FITTING |= {"order": ("text", "as-is"), "keep": ("text", 0.5), "queries": ("real", "all")}
FITTING |= {"schedule": ("top", "aistats16"), "mismatch": ("top", 1), "radius": ("top", 2)}
FITTING |= {"comparator": ("games", "horizon"), "validation": ("ads", 0.5)}
FITTING |= {"threshold": ("ads", "recall"), "undersample": ("ads", 2)}
FITTING |= {"undersampled": ("ads", "all"), "standardise": ("ads", False), "select": ("ads", 0.5)}
FITTING |= {"W": ("samples", 2), "W1": ("samples", 2), "sigma": ("samples", 0.5)}
FITTING |= {"features": ("text", "query-minmax"), "documents": ("text", "as-is")}
FITTING |= {"drop_last": ("real", True), "lists": ("samples", "cut"), "centre": ("full", True)}
FITTING |= {"sign": ("top", "as-printed"), "epsilon": ("top", 0.5), "epsilon_decay": ("top", 0.5)}
FITTING |= {"parameters": ("games", "ailon"), "pair_loss": ("ads", "hinge"), "step": ("samples", 3)}
FITTING |= {"lambda": ("samples", 0.1)}


def test_each_reading_that_is_declared_can_be_swept():
    assert list(FITTING) == READINGS == list(readings())
    declared = [name for family in families.families().values() for name in declares(family)]
    assert {*READINGS} == {*declared}
    for key, (name, value) in FITTING.items():
        more = {"undersample": 2} if key == "undersampled" else {}
        config = swept(name, {key: [value]}, **more)
        assert list(made(load(config), name).values()) == [{key: value}], key
        kind = config["experiments"][name].get("kind", "perceptron")
        assert key in declares(families.family(kind))


def declares(family) -> list[str]:
    """The readings of a family: of its experiments, its places and its learners."""
    of_learners = (one for learner in family.learners.values() for one in learner.settings)
    settings = [*family.settings, *of_learners]
    return [one.name for one in settings if one.reading] + list(family.place.readings)


# --- what is refused
CODE = {"source": ["released-code"], "schedule": ["aistats16"]}
BAD = {
    "unknown reading": ("text", {"emty": ["skip"]}, "'empty'"),
    "unknown level": ("text", {"empty": ["skipp"]}, "'skip'"),
    "other kind": ("text", {"mismatch": [10]}, "in an experiment of kind 'perceptron'"),
    "stream reading of ads": ("ads", {"features": ["as-is"]}, "in an experiment of kind 'ads'"),
    "other learners": ("full", {"epsilon": [0.5]}, "epsilon does nothing for the learners"),
    "other streams": ("text", {"drop_last": [True]}, "drop_last does nothing for the streams"),
    "adversary": ("lower", {"order": ["as-is"]}, "order does nothing against the adversary"),
    "undersampled of all": ("ads", {"undersampled": ["all"]}, "where undersample is none"),
    "schedule of the code": ("top", CODE, "schedule does nothing where source"),
    "several horizons": ("text", {"rounds": [[5, 9]]}, "rounds: [5, 9] is not valid"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_sweep_that_cannot_be_is_named(case):
    name, sweep, says = BAD[case]
    with pytest.raises(SettingError, match=re.escape(says)) as caught:
        load(swept(name, sweep))
    assert f"experiments.{name}.sweep" in str(caught.value)


UNHEEDED = {
    "source": ("text", "released-code", ["random"]),
    "mismatch": ("top", 1, ["full"]),
    "threshold": ("ads", "recall", ["logistic"]),
    # rankers keep their negatives, unless `undersampled` says all
    "select": ("ads", 0.5, ["uniform"]),
}


@pytest.mark.parametrize("key", UNHEEDED)
def test_a_reading_that_no_learner_heeds_is_refused(key):
    name, level, learners = UNHEEDED[key]
    config = swept(name, {key: [level]}, learners=learners)
    config["experiments"][name].pop("baseline", None)
    with pytest.raises(SettingError, match=rf"{name}\.sweep: {key} does nothing without a learner"):
        load(config)


def test_names_that_are_taken_are_refused():
    experiment = {"streams": ["sim"], "learners": ["random"]}
    for owner, key, level, place, name, one in (
        ("text", "empty", "skip", "experiments", "text+empty-skip", experiment),
        ("text", "documents", "as-is", "streams", "sim+documents-as-is", {"generator": "linear"}),
        ("top", "sign", "as-printed", "learners", "smooth+sign-as-printed", {"kind": "random"}),
    ):
        config = swept(owner, {key: [level]})
        config[place][name] = one
        with pytest.raises(SettingError, match=rf"{owner}\.sweep: .*{re.escape(name)}.*already"):
            load(config)
    with pytest.raises(SettingError, match=r"experiments\.games\.sweep: .*already"):
        load(swept("games", {"rounds": [40, [40]]}))


def test_two_experiments_share_a_stand_in():
    config = swept("text", {"documents": ["as-is"]})
    config["experiments"]["more"] = config["experiments"]["text"] | {"empty": "one"}
    study = load(config)
    one, other = (study["experiments"][f"{name}+documents-as-is"] for name in ("text", "more"))
    assert one["streams"] == other["streams"]
    assert sum("stands_for" in one for one in study["streams"].values()) == 2


# --- what is played


def drawn(study, name, folder, seed=3):
    simulated.simulate(name, untitled(study["streams"][name]), folder / name, study["seed"], seed)
    return stream.read(folder / name)


def test_a_stand_in_of_a_simulation_holds_the_same_queries(tmp_path):
    sweep = {"documents": ["as-is", "reversed"]}, {"features": ["query-minmax"]}
    study = load(swept("text", *sweep, streams=["sim"]))
    names = ("sim", "sim+documents-as-is", "sim+documents-reversed", "sim+features-query-minmax")
    own, as_is, back, scaled = (drawn(study, name, tmp_path) for name in names)
    for q in range(len(own)):
        np.testing.assert_array_equal(as_is[q][1], back[q][1][::-1])
        np.testing.assert_array_equal(as_is[q][0], back[q][0][::-1])
        assert sorted(map(tuple, as_is[q][0])) == sorted(map(tuple, own[q][0]))
        np.testing.assert_array_equal(scaled[q][1], own[q][1])  # the same shuffle
    assert not np.array_equal(scaled.features, own.features)
    simulated.simulate("other", study["streams"]["sim"], tmp_path / "other", study["seed"], 3)
    # a name of its own
    assert not np.array_equal(stream.read(tmp_path / "other").features, own.features)


def test_a_stand_in_of_a_data_set_holds_the_same_queries(tmp_path, monkeypatch):
    x = np.random.default_rng(1).normal(size=(120, 5)).astype(np.float32)
    table = x, np.repeat(np.arange(4), 30)
    monkeypatch.setattr(packing.tables, "read_classification", lambda paths: table)
    lists = {"queries": 9, "documents": 5}
    settings = {"dataset": "digits", "retrieval": lists, "documents": "as-is"}
    own, stand_in, other = (
        packed(name, settings | more, tmp_path)
        for name, more in (("d", {}), ("d+", {"stands_for": "d"}), ("e", {}))
    )
    np.testing.assert_array_equal(own.features, stand_in.features)
    assert not np.array_equal(own.features, other.features)


def packed(name, settings, folder):
    packing.pack(name, settings, [], folder / name, 7)
    return stream.read(folder / name)


def test_runs_of_a_stand_in_have_the_order_and_noise_of_what_it_stands_for(tmp_path):
    plan = planned(swept("top", {"documents": ["as-is"], "mismatch": [1]}, seeds=2))
    drawn(plan.study, "sim", tmp_path)

    def rows(name, experiment):
        job = job_of(plan, experiment, name, "kl").settings | {
            "study": "small",
            "experiment": experiment,
        }
        run(
            job | {"stream": name, "learner": "kl", "mismatch": 10},
            tmp_path / "run",
            [3],
            [tmp_path / "sim"],
        )
        table = pq.read_table(tmp_path / "run")
        about = json.loads(table.schema.metadata[b"scant"])
        return table.replace_schema_metadata(None).to_pandas(), about

    own, _ = rows("sim", "top")
    other, about = rows("sim+documents-as-is", "top+mismatch-1+documents-as-is")
    pd.testing.assert_frame_equal(own, other)  # of the same file: what is left is order and noise
    assert about["stream"] == "sim+documents-as-is"
    assert about["stream_settings"]["stands_for"] == "sim"


# --- figures, tables and claims
def test_no_figure_and_no_table_shows_a_swept_experiment():
    config = swept("text", {"empty": ["skip"], "features": ["query-minmax"]})
    sweeps = {"top": ("radius", 2), "games": ("comparator", "horizon")}
    for name, (key, level) in (sweeps | {"ads": ("threshold", "recall")}).items():
        config["experiments"][name]["sweep"] = [{key: [level]}]
    config["experiments"]["top"] |= {"figures": ["figure-3.4"]}
    plan, before = planned(config), deepcopy(config)
    for one in before["experiments"].values():
        one.pop("sweep", None)
    before = planned(before)
    assert len(plan.study["experiments"]) == len(before.study["experiments"]) + 4
    assert plan.stated == list(before.study["experiments"])
    assert plan.figures == before.figures and plan.tables == before.tables
    for target in (*plan.figures.values(), *plan.tables.values()):
        assert plan.files(target) == before.files(target)


def ctrs(plan, better):
    """Traces of the ads experiments; `better`: the ranker's CTR above the others' in each."""
    study, found = plan.study, {}
    common = {"source": "classification", "lambda": 1.0, "fitted_on": "all", "chosen": True}
    common |= {"epsilon": 0.0, "estimator": "full-information", "bound": "", "refused": ""}
    for name, experiment in study["experiments"].items():
        if experiment["kind"] != "ads":
            continue
        rows = []
        for log, learner, seed in product(experiment["logs"], experiment["learners"], range(12)):
            estimate = 0.5 + 0.001 * seed * (1 + (learner == "logistic"))
            estimate += better(experiment) * ("ranker" in learner)
            of = {"experiment": name, "stream": log, "learner": learner, "seed": seed}
            kind = study["learners"][learner]["kind"]
            rows.append(common | of | {"kind": kind, "estimate": estimate})
        found[name] = (pd.DataFrame(rows), plan.details(name))
    return found


def judged(config, better, **stated):
    plan = planned(config)
    stated = {name: CLAIM | one for name, one in stated.items()}
    examined = claims.examine(stated, plan, ctrs(plan, better))
    return claims_table(examined, plan.study).set_index("id"), cells_table(examined)


def test_a_claim_names_the_reading_that_it_depends_on():
    sweep = {"threshold": ["recall"]}, {"standardise": [False]}
    config = swept("ads", *sweep, tuning="paper", seeds=12)
    table, cells = judged(config, lambda one: 0.3 if one["threshold"] == "f1" else -0.3, claim={})
    row = table.loc["claim"]
    assert (row["verdict"], row["readings_holding"], row["readings_total"]) == ("holds", 2, 3)
    assert (row["matters"], row["experiment"]) == ("threshold", "ads")
    assert row["matters_share"] > 0.9
    assert set(cells["stream"]) == {"digits"} and cells["first"].sum() == 1
    cells = cells.set_index("experiment")
    verdicts = {"ads": "holds", "ads+threshold-recall": "fails", "ads+standardise-false": "holds"}
    assert cells["verdict"].to_dict() == verdicts
    assert cells["threshold"]["ads+threshold-recall"] == "recall"


def test_a_learner_s_reading_is_a_reading_of_a_claim_that_leaves_it_open():
    config = swept("ads", {"pair_loss": ["hinge"]}, tuning="paper", seeds=12)
    table, cells = judged(
        config,
        lambda one: 0.3 if "ranker" in one["learners"] else -0.3,
        left={},
        default={"learner": {"kind": "auc-ranker", "pair_loss": None}},
        pinned={"learner": {"kind": "auc-ranker", "pair_loss": [None, "logistic"]}},
        other={"learner": {"kind": "auc-ranker", "pair_loss": "hinge"}},
        named={"learner": {"ids": "ranker"}},
    )
    holding = table[["verdict", "readings_holding", "readings_total"]].T.to_dict("list")
    assert holding == yaml.safe_load("""
    {left: [holds, 1, 2], default: [holds, 1, 2], pinned: [holds, 1, 1], other: [fails, 0, 1],
     named: [holds, 1, 2]}
    """)
    assert table.loc["left", "matters"] == "pair_loss"
    assert set(cells["learner"]) == {"ranker, epsilon 0"}
    assert set(cells.loc[cells["claim"] == "left", "pair_loss"]) == {"logistic", "hinge"}


def test_a_claim_of_two_experiments_compares_those_of_equal_readings():
    sweep = [{"undersample": [2]}, {"standardise": [False], "undersample": [None, 2]}]
    config = swept("ads", *sweep, tuning="paper", seeds=12)
    level = {(None, True): 0.0, (2, True): 0.1, (None, False): 0.1, (2, False): 0.0}
    stated = CLAIM | {"where": {"kind": "ads", "undersample": 2}, "other": {"undersample": None}}
    stated.pop("against")
    plan = planned(config)
    traces = ctrs(plan, lambda one: level[one["undersample"], one["standardise"]])
    examined = claims.examine({"claim": stated}, plan, traces)
    cells = cells_table(examined).set_index("experiment")
    estimates = {"ads+undersample-2": 0.1, "ads+undersample-2+standardise-false": -0.1}
    assert cells["estimate"].round(6).to_dict() == estimates
    assert cells["against"].tolist() == ["ranker (ads)", "ranker (ads+standardise-false)"]


def test_a_level_that_a_claim_s_learners_do_not_heed_is_no_reading():
    sweep = [{"threshold": ["recall"]}, {"standardise": [False]}, {"undersample": [2]}]
    config = swept("ads", *sweep, learners=["logistic", "forest", "ranker"], seeds=12)
    table, cells = judged(
        config,
        lambda one: 0.0,
        ranker={},
        peers={"learner": {"kind": "logistic"}, "against": {"kind": "forest"}},
        forest={"learner": {"kind": "forest"}, "against": 0.4},
    )
    # Tuning doubles the first two; the forest has neither lambda nor threshold, and is not scaled.
    assert table["readings_total"].to_dict() == {"ranker": 8, "peers": 6, "forest": 2}
    forest = cells[cells["claim"] == "forest"]
    assert forest["experiment"].tolist() == ["ads", "ads+undersample-2"]
    assert "threshold" not in forest.dropna(axis=1)
