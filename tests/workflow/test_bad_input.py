"""What is wrong is said where it is, with the nearest right name; nothing half-made is left."""

import pytest
from small_studies import put

# Of each place that finds one: what the schema cannot know, and sweeps; all others are in
# unit/test_study.py.
BAD = (
    ("learners.listnet.kind", "nowhere:Mine", ("learners.listnet", "cannot be imported")),
    ("experiments.perceptron.sweep", [{"emty": ["one"]}], ("experiments.perceptron", "'empty'")),
)


@pytest.mark.parametrize(("path", "value", "says"), BAD)
def test_a_wrong_setting_is_named_beside_the_nearest_right_one(project, path, value, says):
    settings = project.settings()
    put(settings, path, value)
    project.write(settings)
    printed = project.snakemake("--cores", 1, ok=False)
    for text in says:
        assert text in printed, printed
    assert "Traceback" not in printed
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize("flag", ["--workflow-profile", "--profile"])
def test_a_profile_that_is_not_there_is_refused(project, flag):
    printed = project.snakemake("--cores", 1, flag, "slrum", ok=False)
    assert "slrum" in printed and "profile" in printed
    assert ("profiles/ has default, slurm" in printed) == (flag == "--workflow-profile")
    assert not (project.folder / "results").exists()


def letor(project, dataset="mq2008", part="fold1-test", own=None):
    """Make the tiny study one of a ranking set."""
    settings = project.settings()
    settings["streams"] = {"real": {"dataset": dataset, "parts": [part]}}
    experiment = {"streams": ["real"], "learners": ["random"], "seeds": 1}
    settings["experiments"] = {"perceptron": experiment}
    settings |= {"datasets": own or {}, "logs": {}, "coverage": None}
    project.write(settings)


@pytest.mark.slow
def test_a_defect_is_named_by_file_and_line_and_leaves_no_table(project):
    file = project.folder / "mine.txt"
    file.write_text("0 qid:1 1:0.5\n1 qid:1 1:0.25\n2 qid:1 1:cat\n")
    entry = {"task": "ranking", "parser": "letor", "features": 1}
    entry["parts"] = {"all": {"file": "mine.txt"}}
    letor(project, "mine", "all", {"mine": entry})
    printed = project.snakemake("data", "--cores", 1, ok=False)
    assert "line 3: " in printed and "Traceback" not in printed
    assert [path.name for path in whole_files(project)] == ["all.txt"]


def whole_files(project):
    """The data files that a run left behind, hidden ones too."""
    folders = (project.folder / "results/data" / part for part in ("original", "tables"))
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
