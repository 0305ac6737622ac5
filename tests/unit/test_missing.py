"""Studies that leave out what needs data sets that cannot be had."""

from pathlib import Path

import pytest
import yaml

from scant.errors import SettingError
from scant.study import absent_data
from scant.study import settings as studies
from scant.study.plan import ORIGINAL, TABLE, Plan
from scant.verdict import claims, selection

ROOT = Path(__file__).parents[2]
BY_HAND = {"task": "ranking", "parser": "letor", "features": 2, "grades": 2, "get": "Ask for it"}


def config(**changes) -> dict:
    """A study of two data sets, each in streams of its own and in one experiment of both."""
    sets = {"here": BY_HAND | {"parts": {"all": {"file": "here.txt"}}}}
    sets |= {
        "gone": BY_HAND
        | {"title": "The gone set", "parts": {"a": {"file": "a.txt"}, "b": {"file": "b.txt"}}}
    }
    experiment = {"learners": ["random", "slam"], "seeds": 2, "rounds": 5}
    return {
        "study": "some",
        "missing": "leave-out",
        "datasets": sets,
        "claims": None,
        "streams": yaml.safe_load(
            """{one: {dataset: here}, two: {dataset: gone, parts: [b]}, three: {dataset: gone,
            parts: [a], features: as-is}, drawn: {generator: separable}}"""
        ),
        "populations": {"of-two": {"stream": "two"}},
        "learners": {"random": {"kind": "random"}, "slam": {"kind": "slam", "rates": [1.0]}},
        "experiments": {
            "both": experiment | {"streams": ["one", "two", "drawn"]},
            "swept": experiment | {"streams": ["three"], "sweep": [{"rounds": [5, 7]}]},
        },
    } | changes


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder whose data/ has one of the two sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCANT_DATA", raising=False)
    put(tmp_path / "data/here/here.txt")
    return tmp_path


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


def load(settings: dict) -> tuple[dict, dict]:
    return studies.load(settings, ROOT / "config/datasets.yaml")


def decided(settings: dict) -> dict:
    return studies.decide_missing(settings, ROOT / "config/datasets.yaml")[0]


def test_by_default_nothing_is_left_out():
    stopping = {key: value for key, value in config().items() if key != "missing"}
    assert decided(stopping) is stopping
    assert decided(stopping | {"missing": "stop"})["missing"] == "stop"
    study, _ = load(stopping)
    assert "left_out" not in study and {"two", "three"} <= study["streams"].keys()
    assert absent_data.notices(study) == []


def test_what_needs_a_missing_set_is_left_out_and_nothing_else():
    settings = decided(config())
    assert settings == config(missing=["gone"])
    study, datasets = load(settings)
    assert {*study["streams"]} == {"one", "drawn"} and study["populations"] == {}
    result = {name: experiment["streams"] for name, experiment in study["experiments"].items()}
    assert result == {"both": ["one", "drawn"]}
    whole = load(config(missing="stop"))
    jobs = {job.path: job for job in Plan(*whole).jobs["both"]}
    left = Plan(study, datasets).jobs["both"]
    assert [job.path for job in left] == [path for path in jobs if "/two/" not in path]
    # so that nothing is played anew once the set is there
    assert all(jobs[job.path] == job for job in left)
    studies.check_own_files(study, datasets)
    assert decided(settings) == settings  # decided once


def test_the_line_says_the_set_and_what_does_without_it():
    study, _ = load(decided(config()))
    assert absent_data.notices(study) == [
        "The gone set (gone) is missing. Left out: streams two, three; populations of-two; "
        "experiments swept, swept+rounds-7."
    ]
    said = absent_data.notices(
        study, studies.decide_missing(config(), ROOT / "config/datasets.yaml")[1]
    )
    assert said[0].startswith(
        "The gone set (gone) is missing (no gone/b.txt in data/ or a mirror). Left out: streams"
    )


@pytest.mark.parametrize(
    "there",
    [
        "data/gone/b.txt.gz",
        "mirror/gone/b.txt",
        TABLE.format(dataset="gone@some", part="b"),
        ORIGINAL.format(dataset="gone@some", part="b"),
    ],
)
def test_a_file_in_data_mirror_or_results_is_there(folder, monkeypatch, there):
    monkeypatch.setenv("SCANT_DATA", "mirror")
    (folder / "mirror").mkdir()
    put(folder / there)
    assert absent_data.absent(*load(config())) == {"gone": "gone/a.txt"}  # the other part is not
    del (settings := config())["streams"]["three"], settings["experiments"]["swept"]
    assert decided(settings)["missing"] == []


def test_what_can_be_downloaded_is_not_missing():
    sets = config()["datasets"]
    sets["gone"] = {key: value for key, value in sets["gone"].items() if key != "get"}
    sets["gone"]["archive"] = {"url": "https://nowhere.example/gone.zip", "sha256": None}
    assert decided(config(datasets=sets))["missing"] == []
    by_hand = sets["gone"] | {"get": "Accept the terms"}
    assert decided(config(datasets=sets | {"gone": by_hand}))["missing"] == ["gone"]


def test_a_study_of_which_nothing_is_left_is_refused(folder):
    (folder / "data/here/here.txt").unlink()
    settings = config()
    settings["experiments"]["both"]["streams"] = ["one", "two"]
    with pytest.raises(SettingError, match="nothing is left to play"):
        load(decided(settings))


def test_a_claim_about_a_missing_set_says_so():
    claim = yaml.safe_load(
        "{id: c, family: f, quantity: final, comparison: greater, where: {}, measure: ndcg@10}"
    )
    claim |= {"learner": {"kind": "slam"}, "against": {"kind": "random"}}
    plan, whole = Plan(*load(decided(config()))), Plan(*load(config(missing="stop")))
    said = {
        name: claims.examine({"c": claim | {"on": {"dataset": name}}}, plan, {}, whole=whole)[
            "c"
        ].missing
        for name in ("gone", "here")
    }
    assert said["gone"] == "The gone set" and "The gone set" not in said["here"]
    assert selection.lacking(plan, None, claim) == ""
