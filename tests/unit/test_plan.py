"""Studies turned into runs, jobs and draws, and into the figures and tables that they have."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from small_studies import load, planned, settings_of_job, small, with_ads, with_games, with_top

from scant.ads.family import log_origin
from scant.declare import families
from scant.declare.declarations import TUNING
from scant.rankers.family import files
from scant.study.plan import Plan, sources, spanned, tables_of, total


def runs(plan, experiment) -> list[tuple]:
    """Place, learner and seed of each run of an experiment, in their order."""
    return [
        (*job.path.split("/")[1:-1], seed) for job in plan.jobs[experiment] for seed in job.seeds
    ]


def batches(plan, experiment) -> list[tuple]:
    """Place, learner (if jobs have one) and seeds of each job."""
    return [(*job.path.split("/")[1:-1], job.seeds) for job in plan.jobs[experiment]]


def test_two_studies_may_have_own_data_with_one_id():
    own = yaml.safe_load(
        """{task: ranking, parser: letor, features: 3, grades: 3, parts: {all: {file: a.txt}}}"""
    )
    tables = []
    for name in ("one", "two"):
        _, datasets = load(small(study=name, datasets={"mine": own}))
        tables += tables_of(datasets, "mine")
        result = tables_of(datasets, "ohsumed", ["f1-train"])
        assert result == ["results/data/tables/ohsumed/f1-train.parquet"]
    assert tables == [
        "results/data/tables/mine@one/all.parquet",
        "results/data/tables/mine@two/all.parquet",
    ]


def theory(plan) -> list[str]:
    """The tables of a study that need no run."""
    return [name for name, target in plan.tables.items() if target.shown.reads == "nothing"]


def test_runs_are_the_reported_seeds_and_then_those_that_choose():
    plan = planned(
        small(
            streams={
                "sim": {"generator": "separable"},
                "foe": {"generator": "adversary", "settings": {"ratio": 9}},
            },
            experiments=yaml.safe_load("""
                all: {streams: [sim, foe], learners: [slam, random], seeds: 2, tuning_seeds: 1}
                code: {source: released-code, streams: [sim], learners: [slam], seeds: 2}
            """),
        )
    )
    assert runs(plan, "all") == [
        ("sim", "slam", 0), ("sim", "slam", 1), ("sim", "slam", TUNING),
        ("sim", "random", 0), ("sim", "random", 1),  # it has no rate to choose
        ("foe", "slam", 0), ("foe", "random", 0),  # nothing is left to chance
    ]  # fmt: skip
    assert runs(plan, "code") == [("sim", "slam", 0), ("sim", "slam", 1)]  # the code has one rate


@pytest.mark.parametrize("name", ["all", "top"])
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_batches_are_the_runs(name, batch):
    config = with_top(learners=["top", "listnet", "random"], streams=["sim", "real"])
    config["streams"]["foe"] = {"generator": "adversary", "settings": {"ratio": 9}}
    config["learners"]["listnet"]["rates"] = [0.1, 1.0]
    config["experiments"]["all"]["streams"].append("foe")
    for seeds, tuning_seeds in ((4, 3), (5, 3), (9, 3), (9, 0), ([4, 5], 3)):
        config["experiments"][name] |= {
            "seeds": seeds,
            "tuning_seeds": tuning_seeds,
            "batch": batch,
            "tuning": "paper",
        }
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
            tuning = range(
                tuning_seeds if learner in ("slam", "listnet") and stream != "foe" else 0
            )
            assert sorted(several) == reported + [TUNING + seed for seed in tuning]


@pytest.mark.parametrize("batch", [1, 3, 11])
@pytest.mark.parametrize("tuning_seeds", [0, 3])
def test_seeds_that_are_added_are_played_alone(batch, tuning_seeds):
    """Streams, best fixed weights, games and logs alike: no job changes or is left without use."""
    tuned = {"tuning": "paper", "tuning_seeds": tuning_seeds, "regret": True}
    studies = {"top": with_top(learners=["top", "listnet"], **tuned), "e": with_games()}
    studies["top"]["learners"]["listnet"]["rates"] = [0.1, 1.0]
    for name, config in (*studies.items(), ("e", with_ads())):
        before, added = {}, []
        for seeds in (4, [4, 3], [4, 3, 6]):
            config["experiments"][name] |= {"seeds": seeds, "batch": batch}
            plan = planned(config)
            now = {
                (kind, job.path): job
                for kind in ("jobs", "comparators")
                for job in getattr(plan, kind)[name]
            }
            assert before.items() <= now.items()
            added.append({seed for key in now.keys() - before.keys() for seed in now[key].seeds})
            before = now
        first = {
            *range(4),
            *(TUNING + seed for seed in range(tuning_seeds if name == "top" else 0)),
        }
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
    assert planned(config).draws == {
        "results/small/streams/sim": ["0-2", "3-6", "7", "tuning-0-3", "tuning-4", "8-9"]
    }
    assert planned(with_ads()).draws == {
        f"results/ads/bandit/{log}": ["0-2"] for log in ("digits", "hotel")
    }


ALIKE = load(
    small(learners={"added": {"kind": "listnet", "rates": [0.1, 1.0]}, **small()["learners"]})
)
EVERY = {  # what may differ between experiments on one stream that tune alike
    "seeds": st.lists(st.integers(1, 4), min_size=1, max_size=3),
    "learners": st.sampled_from([["random"], ["slam"], ["random", "slam"]]),
}
BATCHES = st.sampled_from([1, 3, 9])  # with little room for seeds that tune, and with much


@given(
    st.lists(st.fixed_dictionaries(EVERY), min_size=1, max_size=3),
    BATCHES,
    st.integers(1, 4),
    st.data(),
)
def test_each_seed_is_drawn_once_and_what_is_added_changes_no_draw(
    experiments, batch, tuning_seeds, data
):
    study, datasets = ALIKE
    common = study["experiments"]["all"] | {
        "streams": ["sim"],
        "batch": batch,
        "tuning_seeds": tuning_seeds,
    }

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
        assert not streams & {
            job.path.split("/")[1] for job in jobs if "queries" not in job.settings
        }
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
        experiment, family = (
            study["experiments"][name] | changes,
            families.of(study["experiments"][name]),
        )
        return [
            family.drawn_anew(study, datasets, experiment, place, learner)
            for place in study["streams"]
        ]

    assert list(load(config)[0]["streams"]) == ["sim", "real", "shared", "foe"]
    files_of = {name: files(load(config)[0], name, [0, 3]) for name in ("sim", "shared", "foe")}
    assert [len(paths) for paths in files_of.values()] == [2, 1, 0]
    # nothing is left to chance against the adversary
    assert drawn("all", "slam") == [True, True, True, False]
    assert drawn("all", "slam", order="as-is") == [True, True, False, False]
    assert drawn("all", "slam", **as_is) == [True, False, False, False]
    assert drawn("all", "slam", **as_is | {"keep": 0.8}) == [True, True, True, False]
    assert drawn("all", "slam", **as_is | {"queries": "resampled"}) == [True, True, True, False]
    assert drawn("all", "random", **as_is) == drawn("top", "top", **as_is) == [True] * 4
    assert (
        drawn("top", "full", **as_is)
        == drawn("top", "listnet", **as_is)
        == [True, False, False, False]
    )


def test_a_seed_of_a_game_draws_its_stream_or_its_learner_does():
    config = with_games(learners=["all", "best"])
    config["learners"]["best"] = {"kind": "best-fixed"}
    config["games"] |= {
        "shared": config["games"]["g"] | {"shared": True},
        "ties": {"stream": "ties", "loss": "dcg"},
    }
    study, datasets = load(config)
    experiment, family = study["experiments"]["e"], families.family("fixed-items")

    def drawn(learner):
        return [
            family.drawn_anew(study, datasets, experiment, game, learner) for game in study["games"]
        ]

    assert (drawn("all"), drawn("best")) == ([True, True, True], [True, False, False])


def test_a_job_at_the_top_has_its_readings():
    config = with_top(
        judge="kl", mismatch=1, schedule="aistats16", rounds=50, batch=3, figures=["figure-3.4"]
    )
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
    result = (details["kind"], details["readings"]["judge"], details["readings"]["mismatch"])
    assert result == ("top", "kl", 1)
    assert plan.details("all")["kind"] == "perceptron"
    assert "judge" not in plan.details("all")["readings"]


def test_regret_is_judged_by_each_surrogate_once():
    # of which SmoothDCG is not convex
    learners = ["listnet", "top", "full", "smooth", "random", "more"]
    config = with_top(learners=learners, regret=True)
    config["learners"]["more"] = {"kind": "ogd", "surrogate": "squared"}
    assert judges(config) == ["listnet", "squared", "ranksvm"]
    config["experiments"]["top"] |= {"judge": "kl", "batch": 3, "seeds": 4}
    jobs = [(job.path, job.seeds) for job in planned(config).comparators["top"]]
    # the reported seeds alone
    assert jobs == [("top/sim/kl/seed-0-2", [0, 1, 2]), ("top/sim/kl/seed-3", [3])]
    assert judges(config) == ["kl"]
    config["experiments"]["top"]["regret"] = False
    assert judges(config) == []
    assert planned(config).comparators["all"] == []


def judges(config) -> list[str]:
    """The surrogates that an experiment at the top is judged by."""
    return list(dict.fromkeys(job.path.split("/")[2] for job in planned(config).comparators["top"]))


def test_of_the_figures_asked_for_only_those_with_something_to_show_are_planned():
    def asked(*generators):
        streams = {
            f"s{i}": {"generator": one} if one else {"dataset": "ohsumed"}
            for i, one in enumerate(generators)
        }
        for stream in streams.values():
            stream |= {"settings": {"ratio": 9}} if stream.get("generator") == "adversary" else {}
        experiment = {"streams": list(streams), "learners": ["slam"]}
        experiment["figures"] = ["figure-2.1", "figure-2.2", "figure-2.ap"]
        figures = planned(small(streams=streams, experiments={"all": experiment})).figures
        return [name for name in figures if name.startswith("figure-2.")]

    assert asked("separable") == asked("released-code", "adversary") == ["figure-2.1"]
    assert asked("linear") == asked(None) == ["figure-2.2"]
    assert asked("separable", None) == ["figure-2.1", "figure-2.2"]
    assert asked("adversary") == []


def test_a_study_of_games_alone_is_one():
    plan = planned(with_games(batch=2))
    assert batches(plan, "e") == [("g", [0, 1]), ("g", [2])]
    job = settings_of_job(plan, "e", "g")
    assert job["learners"] == [["top", {"kind": "rtopkf", "k": 2}], ["all", {"kind": "ftpl"}]]
    assert job["rounds"] == [100, 200] and job["game"]["stream"] == "flip"
    assert "title" not in job["game"]
    assert settings_of_job(planned(with_games(rounds=100)), "e", "g")["rounds"] == [100]
    details = plan.details("e")
    assert details["titles"] == {"streams": {"g": "G"}, "learners": {"top": "Top", "all": "all"}}
    assert (details["comparator"], details["baseline"]) == ("prefix", None)
    assert list(plan.tables) == ["games", "slopes", *theory(plan)] and "table-b.1" in theory(plan)


def test_a_study_of_ads_alone_is_one():
    plan = planned(with_ads(batch=2))
    assert batches(plan, "e")[:2] == [("digits", "ranker", [0, 1]), ("digits", "ranker", [2])]
    assert len(runs(plan, "e")) == 12
    job = settings_of_job(plan, "e", "hotel", "ranker")
    assert job["log_settings"] == {"campaign": "hotel", "settings": {"share": 0.1}}
    assert job["learner_settings"] == {"kind": "auc-ranker"} and job["threshold"] == "f1"
    assert plan.details("e")["titles"] == {
        "streams": {"digits": "Digits", "hotel": "hotel"},
        "learners": {"ranker": "Ranker", "forest": "forest"}
    }  # fmt: skip
    sources = [log_origin(log, plan.datasets) for log in plan.study["logs"].values()]
    assert sources == ["classification", "campaign", "log"]
    tables = ["ads", "table-5.1", "table-5.2", "theorems-ads"]
    assert list(plan.tables) == tables and not plan.figures
