"""Every step of docs/extending.md, as a new user would take it, in a copy of the project.

Commands and code are taken from the document, so that it says what is tried here.
"""

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from projects import LEAVE, ROOT, Forked

from scant.errors import SettingError
from scant.present.ranking import leaderboard
from scant.present.style import COLOURS
from scant.study import settings as studies
from scant.study.plan import Plan, Runs

pytestmark = pytest.mark.slow
STUDY = "examples/my_study.yaml"
OWN = {"pairwise-logistic", "declared"}
_, *SECTIONS = re.split(r"^#+ (.+)$", (ROOT / "docs/extending.md").read_text(), flags=re.MULTILINE)
TEXTS = dict(zip(SECTIONS[::2], SECTIONS[1::2], strict=True))


def blocks(heading: str, language: str) -> list[str]:
    """The code blocks of a section of the document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXTS[heading], re.MULTILINE | re.DOTALL)


class Copy(Forked):
    """A copy of the project that a user works in."""

    def shell(self, command: str, ok: bool = True) -> str:
        """Run a command of the document, and give what it prints."""
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=self.folder,
            env=self.environment(),
            text=True,
            timeout=300,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    def edit(self, path: str, before: str, new: str) -> None:
        """Put new text before the first place where a file has the text `before`."""
        file = self.folder / path
        head, found, rest = file.read_text().partition(before)
        assert found, f"{path} has no {before!r}"
        file.write_text(head + new + found + rest)

    def replace(self, path: str, line: str, new: str) -> None:
        """Put a new line in the place of the one that matches."""
        file = self.folder / path
        text, count = re.subn(line, lambda found: new, file.read_text(), flags=re.MULTILINE)
        assert count == 1, f"{path} has {count} lines like {line!r}"
        file.write_text(text)

    def table(self, name: str, study: str = "my-study") -> pd.DataFrame:
        return pd.read_csv(self.folder / f"results/{study}/tables/{name}.csv")

    def drawn(self, name: str, study: str = "my-study") -> tuple[pd.DataFrame, str]:
        """What a figure shows, and its drawing."""
        stem = self.folder / f"results/{study}/figures/{name}"
        return pd.read_csv(f"{stem}.csv"), Path(f"{stem}.svg").read_text()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project after the example study, played by the document's commands."""
    made = Copy(tmp_path_factory.mktemp("copy") / "project")
    (commands,) = blocks("Extending", "bash")
    made.shell(commands)
    assert (made.folder / "results/my-study/report.html").is_file()
    return made


# --- what needs no edit of the package
def test_learners_of_ones_own_are_in_tables_and_figures(copy):
    finals, (curves, drawing) = copy.table("finals"), copy.drawn("figure-2.2")
    for stream in ("linear", "patients"):
        assert {*finals.loc[finals["stream"] == stream, "learner"]} > OWN
        assert {*curves.loc[curves["stream"] == stream, "learner"]} > OWN
    assert finals["ok"].eq(finals["n"]).all()
    main = finals[finals["main"] & (finals["measure"] == "ndcg@10")]
    means = main.set_index(["stream", "learner"])["mean"]
    for stream, own in product(("linear", "patients"), OWN):
        assert means[stream, own] > means[stream, "random"] + 0.1
    assert means["linear", "declared"] != means["linear", "pairwise-logistic"]
    # the look that it declares
    assert "Pairwise logistic, steady steps" in drawing and COLOURS["pink"] in drawing


def test_measures_that_the_study_asks_for_are_in_the_table(copy):
    finals = copy.table("finals")
    asked, _ = blocks("A measure", "yaml")
    asked = yaml.safe_load(asked)["experiments"]["comparison"]["measures"]
    assert {"err", "precision@5"} <= {*asked}
    for measure, largest in {"err": 1, "precision@5": 5}.items():
        rows = finals[finals["measure"] == measure]
        assert {*rows["learner"]} > OWN and rows["mean"].between(0, largest).all()


def test_a_player_of_ones_own_is_in_the_table_and_the_figure(copy):
    games, (curves, drawing) = copy.table("games"), copy.drawn("figure-games-rounds")
    own = games.set_index("learner").loc["epsilon-greedy"]
    assert own["k"] == 2 and 0.03 < own["explored"] / own["rounds"] < 0.07
    assert own["difference_high"] < 0 and own["n"] == 5
    assert "epsilon-greedy" in {*curves["learner"]}
    assert "Epsilon-greedy, top 2" in drawing and COLOURS["pink"] in drawing


def test_a_scorer_of_ones_own_is_in_the_table_and_the_figure(copy):
    ads, (points, drawing) = copy.table("ads"), copy.drawn("figure-logs")
    assert {*ads["learner"]} == {"bayes", "logistic"} and ads["ctr"].gt(0).all()
    assert "bayes" in {*points["learner"]} and "Binned Bayes" in drawing


@pytest.mark.parametrize(
    ("heading", "key", "wrong", "words"),
    [
        ("What it declares", "decay", {"decya": 0.5}, "unknown key 'decya': did you mean 'decay'?"),
        ("What it declares", "decay", {"decay": -1}, "-1 is less than the minimum of 0"),
        ("A player of games", "epsilon", {"epsilon": 2}, "2 is above the limit of 1: lower it"),
        ("A scorer of ads", "bins", {"bins": 1}, "1 is less than the minimum of 2"),
    ],
)
def test_what_a_class_declares_is_checked_before_anything_runs(
    copy, monkeypatch, heading, key, wrong, words
):
    settings = yaml.safe_load((copy.folder / STUDY).read_text())
    (said,) = blocks(heading, "yaml")
    (name, entry), *_ = yaml.safe_load(said)["learners"].items()
    entry["kind"] = entry["kind"].replace(
        "my_learner:MyLearner", "examples.my_learner:DeclaredPairwiseLogistic"
    )
    settings["learners"][name] = {one: value for one, value in entry.items() if one != key} | wrong
    monkeypatch.chdir(copy.folder)
    with pytest.raises(SettingError, match=re.escape(words)) as refused:
        studies.load(settings)
    assert f"learners.{name}" in str(refused.value)


def test_the_entries_of_the_document_are_of_studies(copy):
    """Those of variants, streams and data sets, all in one study that is planned, not played."""
    settings = yaml.safe_load((copy.folder / STUDY).read_text())
    for heading in ("A data set", "A stream", "A learner in the study file"):
        (said,) = blocks(heading, "yaml")
        for key, entries in yaml.safe_load(said).items():
            settings[key] |= entries
    comparison = settings["experiments"]["comparison"]
    comparison |= {"learners": ["slam-ap-decay"], "streams": [*settings["streams"]]}
    at_the_top = yaml.safe_load(blocks("At the top", "yaml")[0])
    settings["learners"] |= at_the_top["learners"]
    settings["learners"]["mine-top"]["kind"] = "examples.my_learner:PairwiseLogistic"
    settings["experiments"] |= at_the_top["experiments"]
    settings["experiments"]["top"]["streams"] = ["digits-long"]
    for heading in ("A player of games", "A scorer of ads"):
        said = yaml.safe_load(blocks(heading, "yaml")[0])
        settings["learners"] |= said["learners"]
        settings["experiments"][heading.replace(" ", "-")] = said["experiments"]["mine"]
    settings["study"] = "entries"
    copy.write(settings, "entries")
    assert copy.jobs("runs", study="entries")["run"] > 10


@pytest.mark.parametrize("heading", ["A measure", "A figure or table", "A quantity of claims"])
def test_what_the_document_has_of_ones_own_is_in_a_first_study(heading):
    """Which test_installed.py plays."""
    starter, name = ROOT / "src/scant/starter", heading.split()[1]
    assert blocks(heading, "python")[0] in (starter / f"my_{name}.py").read_text()
    named = re.findall(r'"(my_\w+:\w+)"', "".join(blocks(heading, "yaml")))
    files = "".join(path.read_text() for path in starter.glob("*.yaml"))
    assert named and all(one in files for one in named)


def test_a_learner_runs_without_a_study_and_the_study_has_the_same_numbers(copy, monkeypatch):
    (script,) = blocks("Without a study", "python")
    copy.shell(f"python - <<'END'\n{script}board.to_csv('board.csv', index=False)\nEND")
    board = pd.read_csv(copy.folder / "board.csv").set_index("learner")
    assert board.loc["random", "verdict"] == "holds"
    assert board.loc["random", "ahead"] == board.loc["random", "n"] == 12
    copy.shell("snakemake runs --cores 2 --configfile mine.yaml")
    runs = [*(copy.folder / "results/play/runs").rglob("*.parquet")]
    monkeypatch.chdir(copy.folder)
    plan = Plan(*studies.load(yaml.safe_load((copy.folder / "mine.yaml").read_text())))
    of_study = leaderboard(Runs("play", runs, plan.details("play"))).set_index("learner")
    for column in ("mean", "low", "high", "n"):
        np.testing.assert_allclose(board[column], of_study.loc[board.index, column], rtol=1e-12)


def test_runs_can_be_named_to_be_done_again(copy):
    (command,) = blocks("After an edit", "bash")
    planned = copy.shell(command.rstrip("\n") + " --dry-run")
    assert "run          2" in re.sub(r"^run +", "run          ", planned, flags=re.MULTILINE)


def test_an_edit_of_a_look_draws_figures_anew_and_an_edit_of_words_runs_nothing(copy):
    path, before = "examples/my_learner.py", (copy.folder / "examples/my_learner.py").read_text()
    copy.replace(path, '"""The same learner, .*$', '"""The same learner in other words."""')
    assert copy.jobs("runs", "figures", study=STUDY) == {}
    copy.replace(path, r'Look\("pink", "P"\)', 'Look("brown", "P")')
    assert copy.jobs("runs", "figures", study=STUDY) == {"figures_perceptron": 1, "figures": 1}
    (copy.folder / path).write_text(before)


# --- what edits the package, in the order of the document
def test_a_built_in_player(copy):
    (code,) = blocks("On games", "python")
    path = "src/scant/games/learners.py"
    copy.edit(path, "BUILT_IN = (", f"{code}\n\n")
    copy.replace(path, r"^BUILT_IN = \($", "BUILT_IN = (\n    Leader,")
    settings = yaml.safe_load((copy.folder / STUDY).read_text())
    settings["study"] = "leader"  # another file has another id
    settings["learners"]["leader"] = {"title": "Leader", "kind": "leader"}
    settings["experiments"]["games"]["learners"].append("leader")
    copy.write(settings, "leader")
    copy.snakemake("--cores", 2, "results/leader/tables/games.csv", study="leader")
    games = copy.table("games", "leader").set_index("learner")
    assert len(games) == 4 and games.loc["leader", "difference_high"] < 0


def test_a_figure_and_a_table(copy):
    heading = "A figure or table"
    (_, code), (cp, commands) = blocks(heading, "python"), blocks(heading, "bash")
    copy.shell(cp)
    copy.edit("src/scant/rankers/family.py", "class Perceptron(", f"{code}\n\n")
    before = '        _curves(\n            "figure-2.1"'
    copy.edit("src/scant/rankers/family.py", before, "        *UPDATES,\n")
    printed = copy.shell(commands)
    assert not re.search(r"rule (run|simulate|make_stream):", printed)
    curves, drawing = copy.drawn("figure-updates")
    assert {*curves["learner"]} > OWN and curves["mean"].between(0, 1).all()
    assert "Pairwise logistic" in drawing
    updates = copy.table("updates").set_index(["stream", "learner"])["mean"]
    assert updates["linear", "listnet"] == 1 and updates["linear", "random"] == 0


def test_a_family(copy):
    heading = "A family of experiments"
    (line,), (cp, commands) = blocks(heading, "python"), blocks(heading, "bash")
    copy.shell(cp)
    copy.edit("src/scant/declare/families.py", "}\nHEADLINE", line)
    printed = copy.shell(commands)
    assert "regret_low" in printed
    results = copy.folder / "results/my-bandits"
    table = copy.table("bandit", "my-bandits").set_index(["stream", "learner"])
    assert len(table) == 6 and table["n"].eq(12).all()
    assert table.loc[("two", "ucb"), "regret_high"] < table.loc[("two", "random"), "regret_low"]
    curves, drawing = copy.drawn("figure-bandit", "my-bandits")
    assert len(curves.groupby(["stream", "learner"])) == 6 and "UCB1" in drawing
    claims = pd.read_csv(results / "claims.csv").set_index("id")
    assert claims.loc["ucb-learns", "verdict"] == "holds" and claims.loc["ucb-learns", "n"] == 12
    page = (results / "report.html").read_text()
    assert "How fast does the regret of bandits grow?" in page
    assert "UCB1 regrets less than random pulls." in page
    assert "bandits" in (copy.folder / "workflow/schemas/config.schema.yaml").read_text()
    assert copy.jobs(study="src/scant/bandit/study.yaml") == {}


def test_the_code_of_compiled_learners_and_measures_fits_where_the_document_puts_it(copy):
    """Without compiling anything: tests of the classes and functions hold what is there already."""
    learner, constants, branch = blocks("On streams", "python")
    path = "src/scant/rankers/learners.py"
    copy.edit(path, "BUILT_IN = (Slam", f"{learner}\n\n")
    built_in = "BUILT_IN = (Slam, MaxHinge, ListNet, BinaryPerceptron, Random, Ideal, LeastSquares)"
    copy.replace(path, r"^BUILT_IN = \(Slam.*$", built_in)
    copy.replace("src/scant/kernels/full.py", r"^RANDOM, IDEAL, .*$", constants.rstrip("\n"))
    copy.edit("src/scant/kernels/full.py", "        elif learner.kind in (SLAM, MAX_HINGE)", branch)
    _, function, line, constants, branch = blocks("A measure", "python")
    copy.edit("src/scant/measures.py", "# --- by name", f"{function}\n\n")
    copy.edit("src/scant/measures.py", "}\n\n\ndef is_own", line)
    copy.replace("src/scant/kernels/pieces.py", r"^NDCG, AP, DCG, .*$", constants.rstrip("\n"))
    copy.replace(
        "src/scant/kernels/pieces.py",
        r"^ +out\[j\] = err\(ranked, cut, gains\)$",
        f"            out[j] = err(ranked, cut, gains)\n{branch}".rstrip("\n"),
    )
    settings = yaml.safe_load((copy.folder / STUDY).read_text())
    settings["study"] = "squares"
    settings["learners"]["squares"] = {"kind": "least-squares", "rates": [0.1, 1.0]}
    settings["experiments"]["comparison"] |= {"learners": ["squares"], "measures": ["rbp"]}
    copy.write(settings, "squares")
    assert copy.jobs("runs", study="squares")["run"] > 0
    copy.shell("scant schema")
    assert "least-squares" in (copy.folder / "workflow/schemas/config.schema.yaml").read_text()
    script = "from scant.measures import function_of as of; print(of('rbp')([2, 0, 1], [1, 0, 0]))"
    assert float(copy.shell(f'python -c "{script}"')) == 0.2 * 0.8


def test_the_projects_own_tests_hold_with_all_of_that(copy):
    """What families declare and studies plan; and the default claims are planned."""
    unit = [f"tests/unit/test_{name}.py" for name in ("shown", "architecture", "study")]
    tests = ["tests/contract/test_declarations.py", *unit]
    shutil.copytree(ROOT / "tests", copy.folder / "tests", ignore=LEAVE)
    for path in (copy.folder / "config/studies").iterdir():
        if not (ROOT / path.relative_to(copy.folder)).exists():  # written by the tests above
            path.unlink()
    for name in ("docs", "README.md", "pyproject.toml"):
        (copy.folder / name).symlink_to(ROOT / name)
    copy.shell(f"python -m pytest -q {' '.join(tests)}")
    assert copy.jobs("claims", study=None)["claims"] == 1
