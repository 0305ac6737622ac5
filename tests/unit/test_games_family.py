"""What the family of games declares is what the project had in its tables; and all that it names is there."""

import inspect
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from scant import families
from scant.declared import settings_of
from scant.errors import SettingError
from scant.games import frames, quantities
from scant.games.family import TIMED, FixedItems, times_job
from scant.games.learners import LEARNERS
from scant.page import about
from scant.present import catalogue, figures, style, tables, traces
from scant.schema import read_yaml
from scant.study import settings as studies
from scant.study import sweeps
from scant.study.plan import span
from scant.verdict import quantities as before

ROOT = Path(__file__).parents[2]
SCHEMA = read_yaml(ROOT / studies.SCHEMA)["$defs"]
FILES = sorted([ROOT / "config/config.yaml", *ROOT.glob("config/studies/*.yaml")])
FAMILY = FixedItems()


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def study(request):
    """A study of the project and its data sets."""
    return studies.load(read_yaml(request.param), ROOT / studies.SCHEMA, ROOT / "config/datasets.yaml")


def experiments(study):
    return [name for name, experiment in study["experiments"].items() if experiment["kind"] == "fixed-items"]


# --- planning


def test_jobs_are_those_that_were_planned(study):
    study, datasets = study
    for name in experiments(study):
        jobs = [(job.path, job.settings, job.seeds, job.files) for job in FAMILY.jobs(study, datasets, name)]
        planned = [
            (f"{name}/{game}/seed-{span(seeds)}", studies.match(study, name, game), seeds, [])
            for game, seeds in studies.matches(study, name)
        ]
        assert jobs == (planned if name in catalogue.played(study) else [])


def test_details_and_times_are_as_they_were(study):
    study, _ = study
    for name in experiments(study):
        details = studies.details(study, name)
        assert FAMILY.details(study, name) == details
        games = study["experiments"][name]["games"]
        jobs = [studies.match(study, name, game) | {"experiment": name, "stream": game} for game in games]
        assert times_job(study, name) == (jobs, details)


def test_every_game_and_experiment_passes_its_check(study):
    study, datasets = study
    for settings in study["games"].values():
        FAMILY.place.check(settings, datasets)
    for name in experiments(study):
        FAMILY.check(study, datasets, study["experiments"][name])


@pytest.mark.parametrize(
    ("game", "words"),
    [
        ({"loss": "dgc"}, "did you mean 'dcg'"),
        ({"settings": {"grades": 3}}, "unknown setting .*'grades'"),
        ({"stream": "graded", "loss": "ap"}, "0 or 1"),
        ({"settings": {"items": 21}, "loss": "ap"}, "up to 20 items"),
    ],
)
def test_a_game_that_cannot_be_is_refused_without_a_learner(game, words):
    with pytest.raises(SettingError, match=words):
        FAMILY.place.check({"stream": "flip", "settings": {}, "loss": "dcg"} | game, {})


def test_an_experiment_that_cannot_be_played_is_refused():
    study = {
        "games": {"g": {"stream": "flip", "settings": {"items": 6, "relevant": 2}, "loss": "dcg"}},
        "learners": {"l": {"title": "L", "kind": "rtopkf", "blocks": 50}},
    }
    experiment = {"games": ["g"], "learners": ["l"], "rounds": [1000, 120], "figures": []}
    with pytest.raises(SettingError, match="l on g: K = 50 blocks of T = 120"):
        FAMILY.check(study, {}, experiment)
    FAMILY.check(study, {}, experiment | {"rounds": 1000})
    with pytest.raises(SettingError, match="needs rounds: a horizon, or a list of them"):
        FAMILY.check(study, {}, {name: experiment[name] for name in experiment if name != "rounds"})


# --- settings


def test_a_game_has_the_schema_that_it_had():
    assert FAMILY.place.schema == SCHEMA["game"]
    jsonschema.Draft202012Validator.check_schema(FAMILY.place.schema)


def test_experiments_have_the_settings_that_they_had():
    kinds = studies.FOR_KINDS
    declared = {setting.name: setting for setting in FAMILY.settings}
    assert {*declared, "games", "figures"} == {name for name in kinds if "fixed-items" in kinds[name]}
    readings = SCHEMA["sweep"]["propertyNames"]["enum"]
    for name, setting in declared.items():
        jsonschema.Draft202012Validator.check_schema(setting.schema)
        assert setting.reading == (name in readings)
        assert setting.plays == (name in studies.READINGS["fixed-items"])
        rule = SCHEMA["experiment"]["properties"][name]
        for key in {*rule} - {"description", "oneOf"} if name != "rounds" else ():
            assert setting.rule[key] == rule[key]
    choices = SCHEMA["experiment"]["properties"]["rounds"]["oneOf"]
    assert declared["rounds"].rule["oneOf"] == [choice for choice in choices if choice["type"] != "null"]


def test_learners_have_the_settings_that_they_had():
    assert FAMILY.learners is LEARNERS
    rules = SCHEMA["learner"]["properties"]
    for kind, learner in LEARNERS.items():
        assert kind in studies.KINDS["fixed-items"]
        used = {name for name, kinds in studies.USED_BY.items() if kind in kinds}
        assert {*settings_of(learner)} == used - {"measure"}  # which the contextual learner random has
        for name, setting in settings_of(learner).items():
            assert setting.rule == {key: value for key, value in rules[name].items() if key != "description"}
            swept = name in sweeps.OF_LEARNERS and kind in sweeps.OF_LEARNERS[name][0]
            assert setting.reading == swept
            assert not swept or setting.absent == sweeps.OF_LEARNERS[name][1]


def test_learners_look_as_they_looked():
    colours = ("blue", "orange", "green", "vermilion", "purple", "brown", "pink", "grey", "yellow", "sky")
    palette = dict(zip(colours, style.PALETTE, strict=True))
    looks = {
        (kind, name): (palette.get(look.colour, look.colour), look.marker, look.line)
        for kind, learner in LEARNERS.items()
        for name, look in learner.looks.items()
    }
    assert {kind: look for (kind, name), look in looks.items() if not name} == {
        kind: style.LOOKS[kind, ""] for kind in LEARNERS
    }
    assert {name: look for (_, name), look in looks.items() if name} == style.VARIETIES


# --- what is shown


def test_figures_and_tables_are_those_that_were_made():
    drawn = [shown.name for shown in FAMILY.shown if shown.draw]
    tabled = [shown.name for shown in FAMILY.shown if not shown.draw]
    assert drawn == list(catalogue.GAMES)
    assert tabled == [name for name, kind in (catalogue.TABLES | catalogue.THEORY).items() if kind == "fixed-items"]
    assert len({shown.heading for shown in FAMILY.shown}) == len(FAMILY.shown)
    for shown in FAMILY.shown:
        assert shown.heading[0].isupper() and shown.caption.endswith(".")
        added = " The CSV file of the same name holds exactly what is shown." if shown.draw else ""
        assert shown.caption + added == about.caption("figure" if shown.draw else "table", shown.name)
        frame = families.called(shown.frame)
        if shown.draw:
            frame_before, draw_before = figures.MAKERS[shown.name]
            assert families.called(shown.draw) is draw_before
            assert shown.options.get("start", 0.0) == getattr(frame_before, "keywords", {}).get("start", 0.0)
            assert frame is getattr(frame_before, "func", frame_before) or shown.name == "figure-observability"
        elif shown.reads == "traces":
            assert frame is tables.MAKERS[shown.name]
        taken = [
            name for name, argument in inspect.signature(frame).parameters.items() if argument.default is argument.empty
        ]
        assert taken == {"nothing": [], "times": ["rows", "details"]}.get(shown.reads, ["traces", "details"])


def test_figures_show_the_experiments_that_ask_for_them(study):
    study, _ = study
    for figure in (shown for shown in FAMILY.shown if shown.draw):
        names = [name for name in experiments(study) if figure.shows(study, name, figure.name)]
        assert names == [name for name in catalogue.shown(study, figure.name) if name in experiments(study)]


def test_the_atlas_has_the_slopes_that_were_measured(monkeypatch):
    measured = pd.DataFrame({"measure": ["dcg"], "m": [3], "k": [1], "slope": [0.7], "low": [0.6], "high": [0.8]})
    monkeypatch.setattr(frames, "observed", lambda traces, details: measured)
    frame = families.called("scant.games.atlas:measured")(None, {})
    assert frame.dropna(subset="slope")[["measure", "m", "k", "slope"]].to_numpy().tolist() == [["dcg", 3, 1, 0.7]]
    pd.testing.assert_frame_equal(frame, figures._atlas(None, {}))


# --- what claims are of


@pytest.fixture
def played():
    """Two games of one stream and loss and another, two horizons and more, as played by two learners over two seeds."""
    random, rows = np.random.default_rng(0), []
    for game, items in {"small": 5, "middle": 10, "large": 20, "other": 5}.items():
        for learner in ("one", "two"):
            for seed in (0, 1):
                for horizon in (100, 300, 1000, 3000):
                    rounds = np.array([1, 10, 30, 100, 300, 1000, 3000])
                    for t in rounds[rounds <= horizon]:
                        best, worse = 2.0 * t, random.random() * t**0.7 * items - (game == "other") * 5
                        rows.append((game, learner, seed, horizon, t, items, best - worse, best, 8.0 * t))
    columns = ["stream", "learner", "seed", "horizon", "round", "items", "value", "best", "bound"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["game"] = np.where(frame["stream"] == "other", "zipf", "flip")
    frame.loc[frame["learner"] == "two", "bound"] = np.nan
    frame = frame.assign(experiment="e", loss="dcg", gain=True, best_at_horizon=frame["best"])
    return before.Played("e", None, frame, {"kind": "fixed-items", "comparator": "prefix"}, None)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("game_regret", {}),
        ("game_regret", {"horizon": 300}),
        *(("game_slope", {"along": along}) for along in ("horizon", "rounds", "items")),
        ("game_slope", {}),
        ("bound_share", {}),
    ],
)
def test_quantities_are_what_they_were(played, name, options):
    made = families.called(FAMILY.quantities[name].values)(played, **options)
    assert len(made)
    pd.testing.assert_frame_equal(made, before.QUANTITIES[name].values(played, **options))


def test_quantities_are_declared_as_they_were():
    declared = {name: quantity for name, quantity in before.QUANTITIES.items() if "fixed-items" in quantity.kinds}
    assert {*FAMILY.quantities} == {*declared}
    for name, quantity in FAMILY.quantities.items():
        assert (quantity.words, quantity.tuned) == (declared[name].words, declared[name].tuned)
        assert quantity.between == before.SHARES.get(name)
        options = [*inspect.signature(families.called(quantity.values)).parameters][1:]
        assert list(quantity.options) == options


# --- running and gathering


def test_a_run_is_played_and_identified(tmp_path):
    from scant.files import metadata_of, read_parquet

    job = {
        "study_seed": 3, "kind": "fixed-items", "learners": [["all", {"kind": "ftpl"}]], "rounds": [60],
        "game": {"stream": "flip", "settings": {"items": 6, "relevant": 2}, "loss": "dcg", "shared": False},
        "study": "s", "experiment": "e", "stream": "g",
    }  # fmt: skip
    FAMILY.run(job, tmp_path / "run.parquet", [0], {})
    table = read_parquet(tmp_path / "run.parquet")
    run = metadata_of(table.schema)
    assert {key: run[key] for key in job} == job
    assert FAMILY.identity(run) == traces.IDENTITIES["fixed-items"](run)
    assert FAMILY.completed(table, 1) is table
    assert (FAMILY.code, FAMILY.memory, FAMILY.minutes) == (("scant.games.run",), 1000, 5)


def test_slopes_need_as_many_points_as_tables_do(played):
    few = played.traces[played.traces["horizon"] <= 300]
    assert quantities.game_slope(before.Played("e", None, few, played.details, None)).empty


def test_only_the_time_is_measured():
    experiment = {"figures": [TIMED], "games": ["g"], "learners": [], "rounds": 10, "seeds": 1, "batch": 1}
    study = {"seed": 0, "games": {"g": {"stream": "flip"}}, "learners": {}, "experiments": {"e": experiment}}
    study["experiments"]["e"]["kind"] = "fixed-items"
    assert FAMILY.jobs(study, {}, "e") == []
    experiment["figures"] = [TIMED, "figure-games-rounds"]
    assert [job.path for job in FAMILY.jobs(study, {}, "e")] == ["e/g/seed-0"]


def test_declaring_is_light():
    import subprocess
    import sys

    code = """
import sys
import scant.games.family
heavy = {"numba", "pandas", "matplotlib", "scipy", "pyarrow"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0
