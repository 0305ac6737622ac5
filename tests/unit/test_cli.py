"""The command line, end to end: a simulated stream, runs, traces, tables and figures; and what it says of errors."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scant import cli
from scant.ads.family import Ads
from scant.cli import main
from scant.data import stream
from scant.files import metadata_of
from scant.games.family import FixedItems
from scant.games.run import run_job
from scant.online.family import Perceptron
from scant.page import generated

SIMULATED = {
    "generator": "separable",
    "settings": {"queries": 20, "documents": 6, "features": 4},
    "documents": "shuffled",
}
JOB = {
    "study_seed": 1, "kind": "perceptron", "stream_settings": SIMULATED, "source": "text", "rounds": 40,
    "empty": "zero", "order": "shuffled", "keep": 1.0,
}  # fmt: skip
LEARNERS = {"slam": {"kind": "slam", "rates": [0.1, "theory"]}, "listnet": {"kind": "listnet", "rates": [0.1, 1.0]}}
READINGS_OF_ADS = {
    "tuning": "held-out", "validation": 0.2, "threshold": "f1", "undersample": None, "undersampled": "classifiers",
    "standardise": True, "select": 1.0, "epsilons": [0.0], "level": 0.95, "users": 2000,
}  # fmt: skip
DETAILS = {
    "kind": "perceptron", "readings": {"source": "text"}, "seeds": 1, "tuning": "held-out", "title": "text",
    "titles": {"streams": {"sim": "Separable"}, "learners": {"slam": "SLAM", "listnet": "ListNet"}},
}  # fmt: skip


def job(name, *outputs, settings=None, **inputs):
    """The arguments of a job; inputs are files by role, a list or one."""
    words = ["job", name, "--settings", json.dumps(settings or {})]
    for role, files in inputs.items():
        if files := files if isinstance(files, list) else [files]:
            words += ["--input", role, *map(str, files)]
    return [*words, "--output", *map(str, outputs)]


def drawing(*targets, seeds=(0,)):
    return job(
        "simulate", *targets, settings={"stream": "sim", "settings": SIMULATED, "study_seed": 1, "seeds": list(seeds)}
    )


def simulate(folder, seed=0):
    target = folder / f"seed-{seed}.arrow"
    assert main(drawing(target, seeds=[seed])) == 0
    return target


def test_commands_with_then_between_run_one_after_another_up_to_the_first_that_fails(tmp_path, capsys):
    nowhere = str(tmp_path / "nowhere")
    assert main(["datasets", "--then", "schema", "--print"]) == 0
    printed = capsys.readouterr().out
    assert 0 <= printed.index("digits ") < printed.index("together:")
    assert main(["verify", nowhere, "--then", "datasets"]) == 1
    assert capsys.readouterr().out == ""
    with pytest.raises(SystemExit):  # what cannot be run is found before anything is
        main(["datasets", "--then", "no-such-command"])
    assert capsys.readouterr().out == ""


def test_a_job_says_what_it_made(tmp_path, monkeypatch, capsys):
    simulate(tmp_path)
    assert "made" not in capsys.readouterr().out
    monkeypatch.setenv("SCANT_JOB", "1")
    simulate(tmp_path)
    assert capsys.readouterr().out == f"made {tmp_path / 'seed-0.arrow'}\n"
    targets = [str(tmp_path / f"{name}.arrow") for name in "abc"]
    assert main(drawing(*targets, seeds=(3, 5, 8))) == 0
    assert capsys.readouterr().out == f"made {targets[0]} and 2 more like it\n"
    theory = [tmp_path / f"{name}.csv" for name in ("table-3.1", "table-3.2")]
    assert main([*table("table-3.1", target=theory[0]), "--then", *table("table-3.2", target=theory[1])]) == 0
    assert capsys.readouterr().out == f"made {theory[0]} and 1 more like it\n"


def test_several_seeds_are_drawn_with_the_bytes_of_each_alone(tmp_path, capsys):
    alone = [simulate(tmp_path, seed).read_bytes() for seed in (3, 5)]
    targets = [tmp_path / "a.arrow", tmp_path / "b.arrow"]
    assert main(drawing(*targets, seeds=(3, 5))) == 0
    assert [target.read_bytes() for target in targets] == alone
    assert main(drawing(targets[0], seeds=(3, 5))) == 1
    assert "1 files to write for 2 seeds: each seed has 1" in capsys.readouterr().err


def run_command(stream_files, *targets, learner="slam", seeds=(0,), code=None, own=None, **changes):
    """The arguments of a run of one learner, or of those of `own`, each with its own settings."""
    alone = {"learner": learner, "learner_settings": LEARNERS.get(learner, {"kind": learner})}
    settings = JOB | ({} if own else {"learner_settings": alone["learner_settings"]}) | changes
    identity = {"study": "toy", "experiment": "all", "stream": "sim"} | ({"code": code} if code else {})
    run = {"engine": Perceptron.engine, "identity": identity, "seeds": list(seeds), "settings": settings}
    run["learners"] = own or [{"learner": learner}]
    return job("run", *targets, settings=run, streams=stream_files)


def table(name, *inputs, target):
    return job("table", target, settings={"name": name, "told": {}, "study_seed": 1}, files=list(inputs))


def figure(name, *inputs, target):
    return job("figure", target, settings={"name": name, "told": {}}, files=list(inputs))


def scant(*arguments):
    return subprocess.run([sys.executable, "-m", "scant", *arguments], capture_output=True, text=True, check=False)


def test_a_run_by_the_command_line(tmp_path):
    source, target = simulate(tmp_path), tmp_path / "out" / "run.parquet"
    done = scant(*run_command(source, target))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert main(run_command(source, tmp_path / "again.parquet")) == 0
    assert (tmp_path / "again.parquet").read_bytes() == target.read_bytes()
    assert pq.read_table(target)["round"].to_pylist()[-1] == 40
    assert sorted(path.name for path in target.parent.iterdir()) == ["run.parquet"]


def test_a_run_file_says_which_code_made_it_and_differs_in_nothing_else(tmp_path):
    source, target = simulate(tmp_path), tmp_path / "run.parquet"
    assert main(run_command(source, target)) == 0
    without = pq.read_table(target)
    assert main(run_command(source, target, code="0123456789ab")) == 0
    assert pq.read_table(target).to_pandas().equals(without.to_pandas())
    assert metadata_of(pq.read_schema(target)) == metadata_of(without.schema) | {"code": "0123456789ab"}


@pytest.mark.parametrize("where", ["rank", "learn", "weights"])
def test_a_learner_of_ones_own_that_fails_is_named(tmp_path, monkeypatch, capsys, where):
    monkeypatch.chdir(tmp_path)
    name = f"faulty_{where}"
    Path(f"{name}.py").write_text(
        "import numpy as np\nclass Faulty:\n"
        "    def __init__(self, features, rate, random):\n        self.weights, self.rounds = np.zeros(features), 0\n"
        "    def rank(self, features):\n        self.rounds += 1\n"
        f"        if '{where}' == 'rank' and self.rounds == 3: raise KeyError('oh')\n"
        "        return np.arange(len(features))\n"
        "    def learn(self, features, grades, ranking):\n"
        f"        if '{where}' == 'learn' and self.rounds == 3: raise KeyError('oh')\n"
        f"        if '{where}' == 'weights' and self.rounds == 3: self.weights[0] = np.nan\n"
        "        return True\n"
    )
    own = {"learner_settings": {"kind": f"{name}:Faulty", "rates": [0.1]}}
    done = main(run_command(simulate(tmp_path), tmp_path / "run.parquet", learner="mine", **own))
    said = capsys.readouterr().err
    assert "mine on sim, seed 0, rate 0.1, round 3: " in said
    if where == "weights":
        assert done == 0 and "no longer finite" in said
    else:
        assert done == 1 and "KeyError: 'oh'" in said and f"{name}.py, line" in said
        assert not (tmp_path / "run.parquet").exists()


def test_a_defect_is_of_ones_own_file_not_of_its_copy(tmp_path, capsys):
    copy = tmp_path / "copy.txt"
    copy.write_text("1 qid:1 1:0.5\n1 qid:1 1:x\n")
    own = {"task": "ranking", "parser": "letor", "features": 1, "parts": {"all": {"file": "mine/data.txt"}}}
    flags = ["--own", json.dumps({"mine": own}), "--input", str(copy), "--output", str(tmp_path / "table.parquet")]
    assert main(["convert", "mine", "all", *flags]) == 1
    assert "mine/data.txt, line 2" in capsys.readouterr().err


def test_several_seeds_by_the_command_line(tmp_path, capsys):
    draws, target = [simulate(tmp_path, seed) for seed in (4, 5)], tmp_path / "run.parquet"
    at_the_top = {"kind": "top", "schedule": "thesis", "mismatch": 10, "radius": 1.0, "judge": "kl"}
    at_the_top["learner_settings"] = {"kind": "rtop", "surrogate": "ranksvm"}
    assert main(run_command(draws, target, learner="ranksvm", seeds=(4, 5), **at_the_top)) == 0
    table = pq.read_table(target)
    assert sorted(set(table["seed"].to_pylist())) == [4, 5]
    metadata = metadata_of(table.schema)
    assert (metadata["seeds"], list(metadata["inputs"])) == ([4, 5], ["seed-4.arrow", "seed-5.arrow"])
    adversary = {"stream_settings": {"generator": "adversary", "settings": {"ratio": 9}}}
    assert main(run_command([], target, learner="slam", seeds=(0,), **adversary)) == 0
    assert metadata_of(pq.read_schema(target))["inputs"] == {}
    assert capsys.readouterr() == ("", "")


def test_learners_that_are_played_together_have_the_bytes_of_those_played_alone(tmp_path, monkeypatch):
    draws, learners = [simulate(tmp_path, seed) for seed in (4, 5)], ("slam", "listnet", "random")
    for learner in learners:
        assert main(run_command(draws, tmp_path / learner, learner=learner, seeds=(4, 5))) == 0
    looked_through, file_digest = [], hashlib.file_digest
    monkeypatch.setattr(
        hashlib, "file_digest", lambda file, name: looked_through.append(file) or file_digest(file, name)
    )
    own = [{"learner": learner, "learner_settings": LEARNERS.get(learner, {"kind": learner})} for learner in learners]
    together = [tmp_path / f"together-{learner}" for learner in learners]
    assert main(run_command(draws, *together, seeds=(4, 5), own=own)) == 0
    for learner, file in zip(learners, together, strict=True):
        assert Path(file).read_bytes() == (tmp_path / learner).read_bytes()
    assert len(looked_through) == len(draws)


def test_a_job_has_the_files_and_settings_of_its_rule(tmp_path, capsys):
    source, targets = simulate(tmp_path), [tmp_path / "run.parquet", tmp_path / "further.parquet"]
    assert main(run_command(source, *targets)) == 1
    assert "2 files to write for 1 learners" in capsys.readouterr().err
    assert main(job("pack", targets[0], settings={"streem": "sim"}, tables=source)) == 1
    assert "scant job pack, --settings: missing a required argument: 'stream'" in capsys.readouterr().err
    assert main(job("pakc", targets[0])) == 1
    assert "unknown job 'pakc': did you mean 'pack'" in capsys.readouterr().err
    assert main(job("_show", targets[0])) == 1
    assert "unknown job '_show'" in capsys.readouterr().err


def imported(*command):
    """The modules that a command imports, which is to succeed."""
    code = "import sys; from scant.cli import main; print(main(sys.argv[1:]), *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, check=True)
    code, *modules = done.stdout.split()
    assert (code, done.stderr) == ("0", "")
    return set(modules)


# to import; numba has scipy load its package, but none of what is in it
SLOW = {"pandas", "sklearn", "seaborn", "matplotlib", "scipy.stats", "scipy.linalg", "jsonschema", "pooch"}


def test_a_run_needs_none_of_the_packages_that_are_slow_to_import(tmp_path):
    modules = imported(*run_command(simulate(tmp_path), tmp_path / "run.parquet"))
    assert {*SLOW, "scipy.special", "pyarrow.dataset"}.isdisjoint(modules) and "numba" in modules
    assert not any(module.endswith(".family") for module in modules)  # nor what families declare


def test_simulations_draws_games_and_ads_need_less_still(tmp_path):
    """Of ads only those learners do that scikit-learn has."""
    modules = imported(*drawing(tmp_path / "seed-0.arrow"))
    assert {*SLOW, "scipy", "numba", "pyarrow.parquet"}.isdisjoint(modules)

    campaign, logs = tmp_path / "hotel.json", [tmp_path / "train.parquet", tmp_path / "test.parquet"]
    settings = {"dimensions": 3, "informative": 2, "share": 0.02}
    assert main(job("campaign", campaign, settings={"name": "hotel", "settings": settings})) == 0
    drawn = {"log": "hotel", "settings": {"campaign": "hotel", "settings": settings}, "study_seed": 1, "seeds": [0]}
    modules = imported(*job("draw", *logs, settings=drawn, source=campaign))
    assert {*SLOW, "numba", "pyarrow.dataset"}.isdisjoint(modules)

    settings = READINGS_OF_ADS | {"study_seed": 1, "kind": "ads", "log_settings": {}}
    run = {"engine": Ads.engine, "identity": {"study": "s", "experiment": "e", "stream": "hotel"}, "seeds": [0]}
    run |= {"settings": settings, "learners": [{"learner": "uniform", "learner_settings": {"kind": "uniform"}}]}
    files = {"train": logs[0], "test": logs[1], "campaign": campaign}
    modules = imported(*job("run", tmp_path / "ads.parquet", settings=run, **files))
    assert {*SLOW, "numba", "pyarrow.dataset"}.isdisjoint(modules)

    modules = imported(*game_command(tmp_path / "game.parquet"))
    assert {*SLOW, "scipy.special", "pyarrow.dataset"}.isdisjoint(modules) and "numba" in modules


def test_a_figure_or_table_is_made_without_what_learning_needs(tmp_path):
    traces, target = gathered(tmp_path), tmp_path / "out"
    others = {"numba", "scipy.optimize", "scipy.stats", *SLOW - {"pandas", "matplotlib"}}
    assert others.isdisjoint(imported(*figure("figure-2.1", traces, target=target)))
    assert {*others, "matplotlib"}.isdisjoint(imported(*table("finals", traces, target=target)))
    assert {*others, "matplotlib", "scipy"}.isdisjoint(imported(*gathering(tmp_path, tmp_path / "again.parquet")))


GAME = {
    "study_seed": 3, "kind": "fixed-items", "learners": [["all", {"kind": "ftpl"}]], "rounds": [60],
    "game": {"stream": "flip", "settings": {"items": 6, "relevant": 2}, "loss": "dcg", "shared": False},
}  # fmt: skip
GAME_IDS = {"study": "s", "experiment": "e", "stream": "g"}


def game_command(target):
    run = {"engine": FixedItems.engine, "identity": GAME_IDS, "seeds": [0, 2], "settings": GAME, "learners": [{}]}
    return job("run", target, settings=run)


def test_a_run_of_a_game_by_the_command_line(tmp_path):
    assert main(game_command(tmp_path / "a.parquet")) == 0
    run_job(GAME | GAME_IDS, tmp_path / "b.parquet", [0, 2], {})
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_what_is_made_of_declarations_is_written_anew(tmp_path):
    assert main(["schema", "--root", str(tmp_path)]) == 0
    made = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*.*")}
    assert made == generated.texts()


def test_from_a_simulation_to_figures_and_tables(tmp_path, capsys):
    runs = []
    for seed in range(2):
        for learner in LEARNERS:
            runs.append(str(tmp_path / f"{learner}-{seed}.parquet"))
            assert main(run_command(simulate(tmp_path, seed), runs[-1], learner=learner, seeds=[seed])) == 0
    traces, out = tmp_path / "all.parquet", tmp_path / "out"
    assert main(job("traces", traces, settings={"details": DETAILS}, runs=runs)) == 0
    for name in ("finals", "bounds", "rates"):
        assert main(table(name, traces, target=out / f"{name}.csv")) == 0
    assert main(figure("figure-2.1", traces, target=out / "figure-2.1.csv")) == 0
    draws = [str(tmp_path / f"seed-{seed}.arrow") for seed in range(2)]
    assert main(table("streams", *draws, target=out / "streams.csv")) == 0
    assert main(table("table-3.1", target=out / "table-3.1.csv")) == 0  # of nothing but the theory
    assert sorted(path.name for path in out.iterdir()) == sorted(
        ["figure-2.1.csv", "figure-2.1.png", "figure-2.1.svg"]
        + [f"{name}.{end}" for name in ("finals", "bounds", "rates", "streams", "table-3.1") for end in ("csv", "tex")]
    )
    assert capsys.readouterr() == ("", "")


def test_from_a_file_of_ones_own_to_a_stream(tmp_path, monkeypatch):
    (tmp_path / "my.txt").write_text("2 qid:1 1:4 2:1\n0 qid:1 1:2\n1 qid:2 2:7\n")
    own = {"mine": {"task": "ranking", "parser": "letor", "features": 2, "folder": str(tmp_path)}}
    own["mine"]["parts"] = {"all": {"file": "my.txt"}}
    names = ["mine", "all", "--own", json.dumps(own), "--output"]
    assert main(["fetch", *names, str(tmp_path / "original.txt")]) == 0
    assert main(["convert", *names, str(tmp_path / "t.parquet"), "--input", str(tmp_path / "original.txt")]) == 0
    packed = {"stream": "mine", "settings": {"drop_last": False, "documents": "as-is"}, "study_seed": 1}
    target = tmp_path / "mine.arrow"
    assert main(job("pack", target, settings=packed, tables=tmp_path / "t.parquet")) == 0
    there = stream.read(target)
    assert there.grades.tolist() == [2, 0, 1]
    assert there.features.tolist() == [[1, 1], [0, 0], [0, 0]]  # scaled within each query


# --- errors


def broken(folder):
    path = simulate(folder)
    path.write_bytes(path.read_bytes()[:-50])
    return path


ERRORS = {
    "missing input": (lambda folder: run_command(folder / "none.arrow", folder / "out"), "there is no such stream"),
    "cut input": (lambda folder: run_command(broken(folder), folder / "out"), "not a whole stream"),
    "unknown learner": (
        lambda folder: run_command(simulate(folder), folder / "out", learner="slamm"),
        "did you mean 'slam'",
    ),
    "unknown data set": (
        lambda folder: ["fetch", "oshumed", "fold1-test", "--output", str(folder / "out")],
        "unknown data set 'oshumed': did you mean 'ohsumed'",
    ),
    "unknown part": (
        lambda folder: ["fetch", "letter", "al", "--output", str(folder / "out")],
        "did you mean 'all'",
    ),
    "no registry": (
        lambda folder: ["fetch", "letter", "all", "--registry", "none.yaml", "--output", str(folder / "out")],
        "none.yaml: there is no such file",
    ),
    "missing run": (
        lambda folder: gathering(folder, folder / "out", "none.parquet"),
        "none.parquet: there is no such run file",
    ),
    "unknown table": (
        lambda folder: table("final", gathered(folder), target=folder / "out"),
        "did you mean 'finals'",
    ),
    "figure of nothing": (
        lambda folder: figure("figure-2.2", gathered(folder), target=folder / "out"),
        "the study has no stream for this figure",
    ),
    "missing traces": (
        lambda folder: table("finals", folder / "none.parquet", target=folder / "out"),
        "none.parquet",
    ),
    "missing stream": (
        lambda folder: table("streams", folder / "none.arrow", target=folder / "out"),
        "none.arrow: there is no such stream",
    ),
}  # fmt: skip


def gathering(folder, target, run="run.parquet"):
    return job("traces", target, settings={"details": DETAILS}, runs=folder / run)


def gathered(folder):
    assert main(run_command(simulate(folder), folder / "run.parquet")) == 0
    assert main(gathering(folder, folder / "all.parquet")) == 0
    return folder / "all.parquet"


@pytest.mark.parametrize(("command", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_says_what_is_wrong_and_leaves_nothing(tmp_path, capsys, command, message):
    arguments = command(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("scant: ")
    assert message in printed.err
    assert sorted(tmp_path.iterdir()) == before


def test_an_error_ends_the_process_with_1(tmp_path):
    done = scant(*run_command(tmp_path / "none.arrow", tmp_path / "out"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"scant: {tmp_path / 'none.arrow'}: there is no such stream")
    assert "Traceback" not in done.stderr


def test_where_an_error_came_from_is_shown_on_request(tmp_path):
    from scant.errors import DataError

    with pytest.raises(DataError):
        main(["--traceback", *run_command(tmp_path / "none.arrow", tmp_path / "out")])


# --- grammar


def left(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code, capsys.readouterr()


def test_every_command_explains_itself(capsys):
    code, printed = left(["--help"], capsys)
    assert code == 0
    commands = [name for names in cli.GROUPS.values() for name in names]
    for name in commands:
        assert re.search(rf"^  {name} +[A-Z]", printed.out, re.MULTILINE)
        code, one = left([name, "--help"], capsys)
        assert code == 0
        assert one.out.startswith(f"usage: scant {name} ")
        options = re.sub(r"\n {10,}", "  ", one.out.partition("options:")[2]).strip().splitlines()
        for line in options:
            assert re.search(r"[\w\]]  +\w", line), f"{line} has no help"
    assert sorted(commands) == sorted(re.findall(r"'(\w+)'", left(["no"], capsys)[1].err.partition("choose from")[2]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["rum"], "invalid choice: 'rum'"),
        (["job", "table", "--settings", "{}"], "--output"),
        (
            ["job", "run", "--input", "x.arrow", "--output", "y"],
            "--input: expected a role and files, not 'x.arrow' alone",
        ),
        (["job", "traces", "--output", "y", "--settings", "{"], "not JSON"),
        (["job", "traces", "--output", "y", "--settings", "[]"], "no object of JSON"),
    ],
)
def test_wrong_grammar_is_refused(arguments, message, capsys):
    code, printed = left(arguments, capsys)
    assert code == 2
    assert message in printed.err


def test_long_lists_of_files_come_from_a_file(tmp_path, capsys):
    (tmp_path / "arguments").write_text("\n".join(table("streams", tmp_path / "none.arrow", target=tmp_path / "out")))
    assert main([f"@{tmp_path / 'arguments'}"]) == 1
    assert "none.arrow" in capsys.readouterr().err


def test_the_console_script_finds_a_learner_of_the_project(tmp_path):
    """`python -m scant` has the project's root on its path; the console script has not by itself."""
    own = {"kind": "examples.my_learner:PairwiseLogistic", "rates": [0.1]}
    run = run_command(simulate(tmp_path), tmp_path / "run.parquet", learner="toy", learner_settings=own)
    done = subprocess.run([str(Path(sys.executable).parent / "scant"), *run], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert pq.read_table(tmp_path / "run.parquet")["updates"][-1].as_py() == 40


def test_a_locale_without_letters_shows_others_in_their_place(tmp_path):
    command = [sys.executable, "-m", "scant", "status", str(tmp_path / "ü")]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no job of this study has ended" in done.stderr and done.stderr.isascii()
