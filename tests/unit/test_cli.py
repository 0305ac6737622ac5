"""The command line, end to end: from settings to figures and tables; and what it says of errors."""

import gzip
import inspect
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from toys import command, play, settle

from scant import client, jobs
from scant.cli import main
from scant.data import stream
from scant.errors import DataError
from scant.files import metadata_of
from scant.page import generated
from scant.present import making
from scant.study import settled

CONFIG = yaml.safe_load("""
study: s
claims: null
streams:
  sim:
    {generator: linear, settings: {queries: 20, documents: 6, features: 4}, documents: shuffled}
  foe: {generator: adversary, settings: {ratio: 9}}
games: {flip: {stream: flip, settings: {items: 6, relevant: 2}, loss: dcg}}
logs:
  hotel:
    {campaign: hotel, settings: {dimensions: 3, informative: 2}, train_rows: 400, test_rows: 300}
learners:
  slam: {kind: slam, rates: [0.1, theory]}
  listnet: {kind: listnet, rates: [0.1, 1.0]}
  ranksvm: {kind: rtop, surrogate: ranksvm}
  ftpl: {kind: ftpl}
  uniform: {kind: uniform}
experiments:
  all: &all
    {streams: [sim], learners: [slam, listnet], seeds: 2, tuning: paper, tuning_seeds: 0,
     rounds: 40, figures: [figure-2.2]}
  top:
    {<<: *all, kind: top, learners: [ranksvm], figures: [figure-top-regret], regret: true}
  lower: {<<: *all, learners: [slam], streams: [foe]}
  games: {kind: fixed-items, games: [flip], learners: [ftpl], seeds: 2, rounds: 60}
  ads: {kind: ads, logs: [hotel], learners: [uniform], seeds: 1, users: 1000}
""")
EXPERIMENT = CONFIG["experiments"]["all"] | {"learners": ["slam"]}
EXPERIMENT = yaml.safe_load(
    """{streams: [sim], learners: [slam], seeds: 2, tuning: paper, tuning_seeds: 0,
    rounds: 40}"""
)
PLACE = ("all", "sim", "slam")
RUN = command("run", *PLACE, "seed-0-1", output="run.parquet")


def config(**changes):
    """A study file of each kind of place."""
    return CONFIG | changes


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The settled study, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return settle(config())


@pytest.fixture
def drawn(study):
    """That study, with its simulated stream."""
    assert main(command("simulate", "sim", "0-1")) == 0
    return study


def alone(learner):
    """A study file of one experiment, of the learner `mine` alone."""
    experiments = {"all": EXPERIMENT | {"learners": ["mine"]}}
    return config(learners={"mine": learner}, experiments=experiments)


def test_a_job_says_what_it_made(study, monkeypatch, capsys):
    def said(*words):
        monkeypatch.setattr(sys, "argv", ["scant", *words])
        assert client.main() == 0
        return capsys.readouterr().out

    assert "made" not in said(*command("simulate", "sim", "0-1"))
    monkeypatch.setenv("SCANT_JOB", "1")
    used = r": \d+\.\d\d s of processor, at most \d+ MB\n"
    draws = said(*command("simulate", "sim", "0-1"))
    assert re.fullmatch(rf"made results/s/streams/sim/0-1{used}", draws)
    monkeypatch.setattr(making, "make", lambda *_: None)
    play(study.plan)
    capsys.readouterr()
    tables = said(*command("show", "tables_ads"), "b.tex", "c.csv")
    assert re.fullmatch(rf"made results/s/tables/tables_ads.csv and 2 more like it{used}", tables)


def test_several_seeds_are_drawn_with_the_bytes_of_each_alone(drawn):
    settle(config(experiments={"all": EXPERIMENT | {"batch": 1}}))
    folder = Path("results/s/streams/sim")
    for seed in range(2):
        assert main(command("simulate", "sim", str(seed))) == 0
        both, one = (folder / seeds / f"seed-{seed}.arrow" for seeds in ("0-1", str(seed)))
        assert one.read_bytes() == both.read_bytes()


def test_a_run_file_says_which_code_made_it_and_differs_in_nothing_else(drawn):
    assert main(RUN) == 0
    first = pq.read_table("run.parquet")
    metadata = metadata_of(first.schema)
    assert metadata["code"] == drawn.code["all"]["slam"]
    code = drawn.code | {"all": {"slam": "0123456789ab"}}
    settled.save("other.json", settled.content(drawn.given, drawn.plan, {}) | {"code": code})
    assert main(command("run", *PLACE, "seed-0-1", output="run.parquet", study="other.json")) == 0
    again = pq.read_table("run.parquet")
    assert again.to_pandas().equals(first.to_pandas())
    assert metadata_of(again.schema) == metadata | {"code": "0123456789ab"}


FAULTY = """
import numpy as np

class Faulty:
    def __init__(self, features, rate, random):
        self.weights, self.rounds = np.zeros(features), 0

    def rank(self, features):
        self.rounds += 1
        self.fail("rank")
        return np.arange(len(features))

    def learn(self, features, grades, ranking):
        self.fail("learn")
        return True

    def fail(self, where):
        if self.rounds == 3 and where == WHERE:
            raise KeyError("oh")
        if self.rounds == 3 and WHERE == "weights":
            self.weights[0] = np.nan
"""


@pytest.mark.parametrize("where", ["rank", "learn", "weights"])
def test_a_learner_of_ones_own_that_fails_is_named(tmp_path, monkeypatch, capsys, where):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"faulty_{where}"
    Path(f"{name}.py").write_text(FAULTY + f"\nWHERE = {where!r}\n")
    settle(alone({"kind": f"{name}:Faulty", "rates": [0.1]}))
    assert main(command("simulate", "sim", "0-1")) == 0
    done = main(command("run", "all", "sim", "mine", "seed-0-1", output="run.parquet"))
    said = capsys.readouterr().err
    assert "mine on sim, seed 0, rate 0.1, round 3: " in said
    if where == "weights":
        assert done == 0 and "no longer finite" in said
    else:
        assert done == 1 and "KeyError: 'oh'" in said and f"{name}.py, line" in said
        assert not Path("run.parquet").exists()


OWN = yaml.safe_load(
    "{mine: {task: ranking, parser: letor, features: 2, parts: {all: {file: my.txt}}}}"
)


def own_data(text):
    """A file of one's own, and a study with a stream of it."""
    Path("my.txt").write_text(text)
    experiments = {"all": EXPERIMENT | {"streams": ["mine"]}}
    settle(config(datasets=OWN, streams={"mine": {"dataset": "mine"}}, experiments=experiments))
    folder = "results/data"
    fetched = command("fetch", "mine@s", "all", output=f"{folder}/original/mine@s/all.txt")
    assert main(fetched) == 0
    return command("convert", "mine@s", "all", output=f"{folder}/tables/mine@s/all.parquet")


def test_from_a_file_of_ones_own_to_a_stream(study):
    assert main(own_data("2 qid:1 1:4 2:1\n0 qid:1 1:2\n1 qid:2 2:7\n")) == 0
    assert main(command("make_stream", "mine")) == 0
    there = stream.read("results/s/streams/mine.arrow")
    assert there.grades.tolist() == [2, 0, 1]
    assert there.features.tolist() == [[1, 1], [0, 0], [0, 0]]  # scaled within each query


def test_a_defect_is_of_ones_own_file_not_of_its_copy(study, capsys):
    assert main(own_data("1 qid:1 1:0.5\n1 qid:1 1:x\n")) == 1
    assert "scant: my.txt, line 2" in capsys.readouterr().err


# to import; numba has scipy load its package, but none of what is in it
SLOW = yaml.safe_load(
    """[pandas, sklearn, seaborn, matplotlib, scipy.stats, scipy.linalg, scipy.special, jsonschema,
    pooch, pyarrow.dataset]"""
)


def test_a_run_needs_none_of_the_packages_that_are_slow_to_import(drawn):
    code = "import sys; from scant.cli import main; print(main(sys.argv[1:]), *sys.modules)"
    words = [sys.executable, "-c", code, *RUN]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    code, *modules = done.stdout.split()
    assert (code, done.stderr) == ("0", "")
    assert {*SLOW}.isdisjoint(modules) and "numba" in modules
    # nor what other families declare
    assert [one for one in modules if one.endswith(".family")] == ["scant.rankers.family"]


def test_what_is_made_of_declarations_is_written_anew(tmp_path):
    assert main(["schema", "--root", str(tmp_path)]) == 0
    made = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*.*")}
    assert made == {generated.SCHEMA: generated.text()}


def test_from_settings_to_figures_and_tables(study, capsys):
    plan = study.plan
    play(plan)
    for job, targets in plan.shown_by.items():
        figures = job.startswith("figures")
        folder, endings = ("figures", "svg png csv") if figures else ("tables", "csv tex")
        names = product(targets, endings.split())
        first, *others = (f"results/s/{folder}/{name}.{ending}" for name, ending in names)
        if job != "tables_theory":
            assert main([*command("show", job, output=first), *others]) == 0
    made = {str(path.relative_to("results/s")) for path in Path("results/s").glob("[ft]*/*")}
    some = ("figure-2.2.svg", "figure-top-regret.png")
    assert {*(f"figures/{name}" for name in some), "tables/ads.csv", "tables/streams.tex"} < made
    assert len(made) == 3 * len(plan.figures) + 2 * (len(plan.tables) - len(plan.theory))
    assert capsys.readouterr() == ("", "")


# --- errors
def cut(path):
    Path(path).write_bytes(Path(path).read_bytes()[:-50])


STREAMS = Path("results/s/streams/sim/0-1")
FETCH, OUT = ["fetch", "letter", "all", "--output", "out"], {"output": "out"}
ERRORS = [  # what is done to the study with its stream, a command, and what it says then
    (lambda: shutil.rmtree(STREAMS), RUN, "seed-0.arrow: there is no such stream"),
    (None, ["fetch", "leter", *FETCH[2:]], "unknown data set 'leter': did you mean 'letter'"),
    (None, [*FETCH, "--registry", "none.yaml"], "none.yaml: there is no such file"),
    (None, command("show", "tables_perceptron", **OUT), "seed-0-1.parquet: there is no such run"),
    (None, command("coverage", study="none.json"), "none.json: is no settled study"),
    (None, command("campaign", **OUT), "scant job campaign: missing a required argument: 'log'"),
    (None, ["job", "simulat", *command("simulate", **OUT)[2:]], "did you mean 'simulate'"),
]


def refused(words, message, capsys):
    """Check that a command is refused in one line that says so, and that it leaves nothing."""
    capsys.readouterr()
    before = sorted(Path().rglob("*"))
    assert main(words) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("scant: ") and printed.err.count("\n") == 1
    assert message in printed.err
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(("done", "words", "message"), ERRORS)
def test_an_error_says_what_is_wrong_and_leaves_nothing(drawn, capsys, done, words, message):
    if done:
        done()
    refused(words, message, capsys)


def test_memory_that_ends_is_of_the_file_that_was_read(tmp_path, monkeypatch, capsys):
    (path := tmp_path / "log.csv.gz").touch()

    def run_out(*arguments, **settings):
        raise MemoryError

    monkeypatch.setattr("scant_ads.reading.formats.first_bytes", run_out)
    assert main(["ads", "check", str(path)]) == 1
    message = f"not enough memory for {path} (no more is known). Run it where there is more"
    assert capsys.readouterr().err == f"scant: {message}\n"


LITTLE = """
import resource, sys
import scant_ads
from scant.cli import main
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (300 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.exit(main(["ads", "check", sys.argv[1]]))
"""


def test_a_log_that_unpacks_to_more_than_memory_holds_is_named(tmp_path):
    """Before Arrow itself runs out of memory, which may end the process without a word."""
    rows = b"a,1,0.5\nb,0,0.5\n" * (1 << 23)
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"action,reward,propensity\n" + rows, 1))
    command = [sys.executable, "-c", LITTLE, path]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 1
    assert f"scant: not enough memory for {path} (Unable to allocate" in ended.stderr


# ids that the study has not, by job, and the nearest that it has; "" if it has none of that sort
UNKNOWN = {"fetch": (("mine@t", "all"), "mine@s"), "convert": (("mine@s", "al"), "all")}
UNKNOWN |= {"make_stream": (("mina",), "mine"), "simulate": (("sim", "0-2"), "0-1")}
UNKNOWN |= {"campaign": (("hotels",), "hotel"), "make_log": (("hotel", "0-1"), "0")}
UNKNOWN |= {"make_click_log": (("visit", "0"), "visits")}
UNKNOWN |= {"run": (("al", "sim", "slam", "seed-0-1"), "all")}
UNKNOWN |= {"best_weights": (("top", "sim", "kl", "seed-0-1"), "top/sim/ranksvm/seed-0-1")}
UNKNOWN |= {"show": (("figures_tops",), "figures_top")}
UNKNOWN |= {"judge": (("theroy",), "theory")}


def test_ids_that_a_study_has_not_are_named_with_the_nearest(study, capsys):
    rules = {
        name: inspect.signature(job).parameters
        for name, job in vars(jobs).items()
        if getattr(job, "__module__", "") == jobs.__name__ and name[0] != "_"
    }
    named = {name for name, parameters in rules.items() if len(parameters) > 2}
    assert named - {"report"} == UNKNOWN.keys()  # the page's second argument is a file
    Path("my.txt").touch()
    streams = study.given["streams"] | {"mine": {"dataset": "mine"}}
    visited = {"visits": {"stream": "mine"}}
    settle(config(datasets=OWN, streams=streams, click_logs=visited, claims="config/claims"))
    for rule, (ids, nearest) in UNKNOWN.items():
        refused(command(rule, *ids, output="out"), f"did you mean {nearest!r}?", capsys)
    others = {"make_stream": ["sim"], "campaign": ["digits"], "simulate": ["mine", "0"]}
    for rule, ids in others.items():
        refused(command(rule, *ids, output="out"), "unknown", capsys)  # ids of another rule


def test_an_error_ends_the_process_with_1_and_where_it_came_from_is_shown_on_request(study):
    command = [sys.executable, "-m", "scant", *RUN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"scant: {STREAMS}/seed-0.arrow: there is no such stream")
    assert "Traceback" not in done.stderr
    with pytest.raises(DataError):
        main(["--traceback", *RUN])


# --- grammar
def left(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code, capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["rum"], "invalid choice: 'rum'"),
        (["job", "show", "tables_top", "--study", "x"], "--output"),
        (["job", "show", "tables_top", "--output", "x"], "--study"),
    ],
)
def test_wrong_grammar_is_refused(arguments, message, capsys):
    code, printed = left(arguments, capsys)
    assert code == 2
    assert message in printed.err


def test_the_console_script_finds_a_learner_of_the_project(tmp_path):
    """`python -m scant` has the project's root on its path; the console script has not."""
    learner = {"kind": "examples.my_learner:PairwiseLogistic", "rates": [0.1]}
    settle(alone(learner), tmp_path / "settled.json")
    shutil.copytree("examples", tmp_path / "examples")
    script = str(Path(sys.executable).parent / "scant")
    run = command("run", "all", "sim", "mine", "seed-0-1", output="run")
    for words in (command("simulate", "sim", "0-1"), run):
        done = subprocess.run([script, *words], capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    assert pq.read_table(tmp_path / "run")["updates"][-1].as_py() == 40
