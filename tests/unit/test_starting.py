"""`scant init`: the files of a first study, in a folder that may have others."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from scant import starting
from scant.errors import SettingError
from scant.schema import read_yaml
from scant.starter import my_figure, my_learner, my_quantity
from scant.study import settings
from scant.study.plan import Plan


def tree(folder) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_study_begins_in_a_new_folder(tmp_path, capsys):
    written = starting.begin(tmp_path / "new")
    assert not capsys.readouterr().out and all(path.stat().st_size for path in written)
    own = {
        f"my_{name}.py" for name in ("learner", "measure", "stream", "data", "figure", "quantity")
    }
    first = {"Snakefile", "study.yaml", "my_claims.yaml", "my_data.csv", *own, *starting.PROFILES}
    assert {*tree(tmp_path / "new")} == first


@pytest.mark.parametrize("claims", [None, "my_claims.yaml", ["config/claims", "my_claims.yaml"]])
def test_it_has_no_figure_or_theorem_of_the_papers_that_it_does_not_ask_for(tmp_path, claims):
    starting.begin(tmp_path)
    study = read_yaml(tmp_path / "study.yaml") | {"claims": claims}
    plan = Plan(*settings.load(study))
    assert list(plan.figures) == ["figure-2.2", "figure-3.4"]
    assert ("theorems-top" in plan.tables) == isinstance(claims, list)
    for experiment in study["experiments"].values():
        del experiment["figures"]
    assert not Plan(*settings.load(study)).figures


def test_what_else_is_in_the_folder_is_said_and_stays(tmp_path, capsys):
    (tmp_path / "workflow").mkdir()
    for number in range(12):
        (tmp_path / f"a{number:02d}").write_text("mine")
    starting.begin(tmp_path)
    assert capsys.readouterr().out == (
        f"{tmp_path} is not empty, and what is there stays as it is: a00, a01, a02, a03, a04, a05, "
        "a06, a07 and 5 more\n"
    )
    assert len(tree(tmp_path)) == 24 and tree(tmp_path)["a11"] == b"mine"


@pytest.mark.parametrize(
    "name", ["Snakefile", "study.yaml", *starting.PROFILES, "profiles", "profiles/default"]
)
def test_nothing_is_overwritten_and_nothing_half_written(tmp_path, name):
    for file in ("other", name):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(SettingError, match=f"{name} is there already: .*other") as caught:
        starting.begin(tmp_path)
    assert tree(tmp_path) == before and "\n" not in str(caught.value)


def test_a_link_to_nowhere_stays(tmp_path):
    (tmp_path / "study.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SettingError, match="is there already"):
        starting.begin(tmp_path)
    assert (tmp_path / "study.yaml").is_symlink()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SettingError, match="file is there already"):
        starting.begin(tmp_path / "file")


def test_a_study_that_comes_with_scant_is_a_beginning(tmp_path):
    for name, file in (("clicks", "config/studies/clicks.yaml"), ("default", "config/config.yaml")):
        starting.begin(tmp_path / name, name)
        result = (tmp_path / name / "study.yaml").read_bytes()
        assert result == (starting.PROJECT / file).read_bytes()
        assert not [*(tmp_path / name).glob("my_*")]
    with pytest.raises(SettingError, match="unknown study 'click': did you mean 'clicks'"):
        starting.begin(tmp_path / "new", "click")
    assert not (tmp_path / "new").exists()


def test_what_a_study_begins_with_learns_draws_and_counts(monkeypatch):
    learner = my_learner.Squared(1, 0.5, None)
    for _ in range(50):
        learner.learn(np.ones((2, 1)), np.array([1, 3]), None)
    assert learner.weights == pytest.approx([2])
    ids = {"experiment": "e", "stream": "s", "learner": "l", "seed": 0}
    rows = pd.DataFrame(ids | {"round": [2, 10], "updates": [2, 4]})
    assert my_figure.updates(rows, {})["share"].tolist() == [0.4]
    monkeypatch.setattr(my_quantity, "at_tuned_rates", lambda traces, *_: traces)
    values = my_quantity.updates(SimpleNamespace(traces=rows, tuning="paper"))["value"]
    assert values.tolist() == [0.4]
