"""Measures, figures and quantities of one's own: what is none is refused when planned."""

import sys

import numpy as np
import pytest
import yaml
from small_studies import load, small, with_top

from scant import measures
from scant.data import simulated
from scant.declare import families
from scant.errors import SettingError
from scant.files import read_parquet
from scant.rankers import run
from scant.rankers.toys import JOB
from scant.study import settings as studies
from scant.study.plan import Plan
from scant.verdict import selection

MODULE = """
import numpy as np
from scant.declare.families import Quantity, Shown

def first(grades):
    return float(grades[0] > 0)

def words(grades):
    return "good"

def nothing(grades):
    return float("nan")

def fails_later(grades):
    if len(grades) > 3:
        raise ZeroDivisionError("no")
    return 1.0

FIGURE = Shown(
    "figure-mine",
    "Mine.",
    "parts_of_ones_own:first",
    "parts_of_ones_own:first",
    heading="Mine at last",
)
TABLE = Shown("mine", "Mine.", "parts_of_ones_own:first")
TWICE = Shown("finals", "Mine.", "parts_of_ones_own:first")
READS = Shown("reads", "Mine.", "parts_of_ones_own:first", reads="trace")
NO_FRAME = Shown("mine", "Mine.", "parts_of_ones_own:frist")
NO_FUNCTION = Shown("mine", "Mine.", "parts_of_ones_own:FIGURE")
QUANTITY = Quantity("mine", "parts_of_ones_own:first")
OPTIONS = Quantity("mine", "parts_of_ones_own:first", options=("measure",))
"""
OWN = "parts_of_ones_own"
CLAIM = {
    "source": {"title": "Mine", "place": "1"}, "statement": "So it is.", "family": "f",
    "data": "any",
    "quantity": f"{OWN}:QUANTITY", "where": {"kind": "perceptron"}, "learner": {"kind": "slam"},
    "comparison": "less", "against": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / f"{OWN}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop(OWN, None)
    measures._own_function.cache_clear()


def with_own(**settings):
    config = small()
    config["experiments"]["all"] |= settings
    return config


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"measures": [f"{OWN}:frist"]}, f"'{OWN}:frist' cannot .*did you mean {OWN}:first"),
        ({"measures": [f"{OWN}:FIGURE"]}, "fails for the grades .*not callable"),
        ({"measures": [f"{OWN}:nothing"]}, "fails for the grades .* is nan"),
        ({"figures": [f"{OWN}:FIGRUE"]}, f"figures: .*cannot be imported .* {OWN}:FIGURE"),
        ({"figures": [f"{OWN}:first"]}, "is function, and is to be a scant.declare.families.Shown"),
        ({"figures": [f"{OWN}:TWICE"]}, "of scant's own has the name 'finals'"),
        ({"figures": [f"{OWN}:READS"]}, "unknown input .*'trace': did you mean 'traces'"),
        ({"figures": [f"{OWN}:NO_FRAME"]}, "frame of .*cannot be imported .*did you mean"),
        ({"figures": ["figure-9"]}, "all.figures.0: .*'figure-9'"),
    ],
)
def test_what_is_no_part_is_refused(settings, words):
    with pytest.raises(SettingError, match=rf"experiments\..*{words}"):
        load(with_own(**settings))


def test_a_figure_is_of_experiments_of_one_kind():
    config = with_top()
    for experiment in config["experiments"].values():
        experiment["figures"] = [f"{OWN}:FIGURE"]
    with pytest.raises(SettingError, match="shows experiments of another kind, too"):
        load(config)


def test_figures_and_tables_are_planned_and_their_code_is_known():
    plan = Plan(
        *load(with_own(figures=[f"{OWN}:FIGURE", f"{OWN}:TABLE"], measures=[f"{OWN}:first"]))
    )
    assert plan.figures["figure-mine"].experiments == plan.tables["mine"].experiments == ["all"]
    assert plan.files(plan.tables["mine"]) == plan.run_files("all")
    assert OWN in plan.modules("all") and OWN in plan.tables["mine"].shown.modules
    result = {f"{OWN}:{name}" for name in ("FIGURE", "TABLE", "first")}
    assert result <= {*studies.own_names(plan.study, {})}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quantity": f"{OWN}:QUANTITIE"}, f"cannot be imported .*did you mean {OWN}:QUANTITY"),
        ({"quantity": f"{OWN}:FIGURE"}, "is Shown, and is to be a scant.declare.families.Quantity"),
        ({"quantity": f"{OWN}:OPTIONS"}, "has no options"),
        ({"where": {"tuning": "paper"}}, "where: name the kind of experiment"),
        ({"cells": [{}, {"quantity": f"{OWN}:TABLE"}]}, "cells.2: .*is Shown"),
    ],
)
def test_what_is_no_quantity_is_refused(tmp_path, change, words):
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({"mine": CLAIM | change}))
    with pytest.raises(SettingError, match=rf"claims\.yaml: mine.*{words}"):
        studies.claims(path)


def test_a_quantity_is_of_every_kind_and_its_code_counts(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({"mine": CLAIM}))
    stated = studies.claims(path)
    assert {*selection.declared(f"{OWN}:QUANTITY")} == {*families.FAMILIES}
    assert OWN in selection.modules(stated) and OWN not in selection.modules({})
    assert f"{OWN}:QUANTITY" in studies.own_names(load(small())[0], stated)


@pytest.mark.parametrize("kind", ["slam", "ideal"])
def test_a_measure_is_of_the_grades_in_the_order_shown(tmp_path, kind):
    """In compiled loops it is what a built-in measure of the lists is, which stays as it was."""
    stream, target = tmp_path / "s.arrow", tmp_path / "run.parquet"
    simulated.simulate("s", JOB["stream_settings"], stream, 0, 0)
    job = JOB | {"kind": "perceptron", "learner_settings": {"kind": kind}}
    rows = {}
    for asked in (["precision@1", f"{OWN}:first"], ["precision@1"]):
        run.run(job | {"measures": asked}, target, [0], [stream])
        rows[len(asked)] = read_parquet(target).to_pandas()
    assert np.array_equal(rows[2][f"{OWN}:first"], rows[1]["precision@1"])
    assert rows[2].drop(columns=f"{OWN}:first").equals(rows[1])
    with pytest.raises(SettingError, match=rf"round 1: ZeroDivisionError: .*{OWN}.py, line 16"):
        run.run(job | {"measures": [f"{OWN}:fails_later"]}, target, [0], [stream])
