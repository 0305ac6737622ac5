"""Data from outside are data: nothing is run, and nothing takes more than a limit allows.

What was wrong without a word, or hung, or ended in a traceback; what happens since; and the tests:

| before | since | tests |
|---|---|---|
| `scant archive` followed links among Snakemake's records: a secret was packed | refused | unit/test_archive (no_link, records) |
| 0.4 KB of YAML aliases hung; ten tracebacks on foreign `study.json` | limits on values; one line | unit/test_settings_attack, test_safety (others) |
| `visits: 10**12`, a stream whose queries are all kept out: found out by jobs | refused at planning | unit/test_settings_attack (no_machine) |
| of 948 damaged policies with a right seal 438 were taken, 144 tracebacks | 375 of 618 refused, no traceback; the rest are possible policies | ads/test_ads_saved |
| ESC, BEL and U+202E raw in HTML and CSV | escaped | unit/test_files (spreadsheet), test_errors |
| a log larger than memory: Arrow ended the process without a word | the message names the file | unit/test_cli (unpacks) |
| the clock set back a day: no word in the documents | a row there | workflow/test_faults (clock) |
| `scant.play` gave a class of one's own one grade of 20: "fails" | it sees all | unit/test_notebook (sees_every_grade) |
| 16 kinds of arrays and numbers ended in tracebacks | converted, or one line | unit/test_notebook |
| `judged` of LETOR's texts: the human's own grades were the judge's | refused at planning | unit/test_registry, test_judged |
| queries 01 and 1, 1e3 and 1000 of CSV were one | told apart | unit/test_tables (ids_of_csv) |
| a misspelt id narrowed a claim from 4 cells to 3: "holds" | refused | unit/test_claims_file (narrow) |
| `evaluate` said yes where `check` said error | no answer, for each kind of error | ads/test_ads_severity |
| units mixed by arm escaped with `--less`: "1,190 higher, yes" | no answer | ads/test_ads_measurement (unit) |
| rewards cut off in two arms at different sizes: one of them unseen | both are named | ads/test_ads_measurement (end_lower) |
| `--policy uniform` on lists: no row, exit 0; `trees=-1` | refused | ads/test_ads_rankings, test_ads_settings |
| 1.10, read as 1.1 by pandas, was another text to `apply` | the text, or refused | ads/test_ads_applying (text) |
| `fit` showed one ad to all where `evaluate` promised +201 % | it shows what was validated | ads/test_ads_validated |
| an A/B test of two rankers, a row a place: four dead ends | judged by visit, +114 % | ads/test_ads_list_bounds (one_arm) |
| intervals of lists 3.7 to 6.3 times as wide as the best | at most 2 times | ads/test_ads_list_bounds (wider) |
| no power of the test of what stands above | beside the answer | ads/test_ads_list_bounds (power) |
| interleaving, ratios, logs without chance: features without a word | named | ads/test_ads_tables |
| intervals in a document of an old version | all commands are run, what they print compared | workflow/test_commands |
| 13 of 74 mutations survived | none | mutations/table.py |
"""

# ruff: noqa: E501

import ast
import copy
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from small_studies import put

from scant import files, schema
from scant.cli import LOOK, main, parser
from scant.data import registry, stream
from scant.declare.declarations import looking, own
from scant.errors import DataError, SettingError
from scant_ads.reading import batches, formats

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "rules", "workflow", "benchmarks", "examples")
SOURCES = [path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*.py")]

# --- nothing is run
# What can run what a file holds, or write where an archive says: functions by their last name, and
# modules.
UNSAFE = yaml.safe_load(
    """[eval, exec, compile, __import__, system, popen, read_pickle, read_hdf, unsafe_load,
    full_load, load_all, extractall, extract, unpack_archive]"""
)
MODULES = yaml.safe_load(
    "[pickle, cPickle, _pickle, dill, cloudpickle, joblib, shelve, marshal, runpy]"
)
IMPORTERS = {  # may import by name: the learners that a study names; what families declare
    "src/scant/declare/declarations.py",
    "src/scant/declare/families.py",
    "src/scant/__init__.py",  # a module of its own, when `scant.results` is called
    "src/scant_ads/__init__.py",  # likewise, for its public names
    "src/scant/serving.py",  # what jobs import
}
# compiled code, as Numba packs it, of folders that are one's own
PICKLES = {"src/scant/kernels/__init__.py"}


def test_no_source_can_run_what_a_file_holds():
    for source in SOURCES:
        path, tree = str(source.relative_to(ROOT)), ast.parse(source.read_text())
        modules = {*MODULES} - ({"pickle"} if path in PICKLES else set())
        for node in ast.walk(tree):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & modules, path
            if isinstance(node, ast.Call):
                check_call(path, node)


def check_call(path: str, call: ast.Call) -> None:
    """Assert that a call runs nothing that a file holds."""
    name = ast.unparse(call.func)
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    harmless = name in ("re.compile", "platform.system", "loop.compile")  # of Numba
    assert name.rpartition(".")[2] not in UNSAFE or harmless, (path, name)
    assert options.get("allow_pickle", "False") == options.get("shell", "False") == "False", path
    if name in ("np.load", "numpy.load"):
        assert options["allow_pickle"] == "False", path
    if name in ("yaml.load", "yaml.parse"):
        assert options["Loader"] == "loader", path  # the safe one: below
    if name.endswith("import_module"):
        assert path in IMPORTERS


def test_yaml_is_loaded_by_the_safe_loader(tmp_path):
    loader = 'getattr(yaml, "CSafeLoader", yaml.SafeLoader)'
    assert (ROOT / "src/scant/schema.py").read_text().count(loader) == 1
    (tmp_path / "a.yaml").write_text("a: !!python/object/apply:os.system [exit]")
    with pytest.raises(SettingError, match="could not determine a constructor"):
        schema.read_yaml(tmp_path / "a.yaml")


def test_pyarrow_unpickles_no_extension_types():
    assert tuple(map(int, pa.__version__.split(".")[:2])) >= (14, 1)  # CVE-2023-47248


# --- what is downloaded
SCHEMA = ROOT / "workflow/schemas/datasets.schema.yaml"


def test_whatever_is_downloaded_comes_by_https_and_is_checked():
    for dataset in registry.load(ROOT / "config/datasets.yaml", schema=SCHEMA).values():
        archive = dataset.archive
        for part in dataset.parts.values():
            for url in filter(None, (part.url, archive and archive.url)):
                assert url.startswith("https://") or part.sha256 or archive.sha256, url
                assert part.sha256 or part.git_blob or archive.sha256, f"{dataset.id}/{part.id}"


@pytest.mark.parametrize("package", ["../a/b", "sklearn/../../b", "sklearn", "a.b/c", "/a"])
def test_a_packages_file_is_inside_the_package(package):
    part = {"file": "a.csv", "package": package}
    own = {"toy": {"task": "ranking", "parser": "letor", "features": 1, "parts": {"all": part}}}
    with pytest.raises(SettingError, match=r"package|leads out"):
        registry.load(ROOT / "config/datasets.yaml", own, SCHEMA)


# --- settings
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a: " + b"[" * 100_000, "100 levels"),
        (b"- " * 100_000, "100 levels"),
        (b"a: 2001-99-99", "month must be in 1..12"),
        (b"a: *b", "undefined alias"),
    ],
    ids=["brackets", "dashes", "date", "no alias"],
)
def test_settings_that_ask_for_too_much(tmp_path, text, reason):
    (tmp_path / "study.yaml").write_bytes(text)
    with pytest.raises(SettingError, match=reason):
        schema.read_yaml(tmp_path / "study.yaml")


# --- text


def test_a_row_of_a_users_log_has_a_limit_and_so_has_the_first_line(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 1 << 17)
    monkeypatch.setattr(formats, "BLOCK", 1 << 12)
    head, row, path = b"action,reward,propensity,x", b"\na,1,0.5,1", tmp_path / "a.csv"
    first, long = ", line 1: the line", b"1" * (1 << 13)
    for content, what, limit in (
        (head + long + row, first, "4,096"),
        (b"x" * (1 << 18), first, "131,072"),
        (head + row + row + long + b"\n", r": not readable as \w+ \(a row", "4,096"),
    ):
        path.write_bytes(content)
        for read in (formats.read, lambda path: list(batches.read(path, ("x",), ()))):
            with pytest.raises(DataError, match=f"{path}{what} is longer than {limit} bytes"):
                read(path)


# --- parquet


def test_a_stream_has_features_that_are_finite_and_of_one_number(tmp_path):
    for odd in (np.array([[1.0, np.nan]]), np.array([[1.0, np.inf]]), np.ones((1, 3))):
        queries = [(0, np.array([1]), np.ones((1, 2))), (1, np.array([1]), odd)]
        with pytest.raises(DataError, match="query 1 has"):
            stream.write(tmp_path / "a.arrow", queries, {})
    assert not list(tmp_path.iterdir())


# --- somebody else's results
OWN = """\
study: s
datasets:
  theirs: {task: ranking, parser: "evil:read", features: 1, parts: {all: {file: data.txt}}}
streams: {drawn: {generator: "evil:blocks"}, theirs: {dataset: theirs}}
learners: {own: {kind: "evil:Learner"}, random: {kind: random}}
experiments:
  online:
    streams: [drawn, theirs]
    learners: [own, random]
    measures: ["evil:measure"]
    figures: ["evil:FIGURE"]
claims: [claims.yaml]
"""


@pytest.mark.parametrize("command", LOOK)
def test_a_command_that_only_looks_runs_no_code_of_a_study(tmp_path, monkeypatch, command):
    """Modules that study and claims name, and that lie in the working folder, are not imported."""
    monkeypatch.chdir(tmp_path)
    Path("results/s/.x").mkdir(parents=True)
    Path("evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    Path("results/s/study.json").write_text(OWN)
    Path("claims.yaml").write_text('a: {quantity: "evil:QUANTITY"}')
    folders = {"compare": ["results/s", "reference"], "datasets": []}.get(command, ["results/s"])
    main([command, *folders])
    assert not Path("ran").exists()


THEIRS = yaml.safe_load("""
study: s
claims: null
streams: {a: {generator: linear, settings: {queries: 12, documents: 4}}, d: {dataset: ohsumed}}
learners: {l: {kind: slam, rates: [0.5]}}
experiments: {e: {streams: [a, d], learners: [l], rounds: 10, seeds: 2}}
""")


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("experiments.e.seeds", 10**9, "experiments.e.seeds: 1,000,000,000 is above the limit"),
        ("experiments.e.sweep", [{"rounds": [*range(1, 7001)]}], "combinations"),
        ("study", None, "'study' is a required property"),
        ("study", "a/b", "does not match"),
        ("experiments", [1], r"experiments: \[1\] is not of type 'object'"),
        ("experiments.e.title", 5, "experiments.e.title: 5 is not of type 'string'"),
        ("experiments.e.learners", ["nobody"], "not a study whose parts fit"),
        ("experiments.e.streams", ["nowhere"], "not a study whose parts fit each other"),
        ("experiments.e.streams", None, "holds no runs"),
        ("learners.l.kind", "nosuch", "unknown kind of learner 'nosuch'"),
        ("datasets", {"nosuch": None}, "nosuch"),
        ("attribution", 5, "attribution"),
        ("missing", ["nosuch"], "nosuch"),
        ("claims", 5, "claims"),
    ],
)
def test_a_study_of_others_is_checked_before_it_is_used(
    tmp_path, monkeypatch, capsys, path, value, reason
):
    monkeypatch.chdir(tmp_path)
    put(config := copy.deepcopy(THEIRS), path, value)
    Path("results/s").mkdir(parents=True)
    Path("results/s/study.json").write_text(json.dumps(config))
    assert main(["table", "results/s"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "study.json" in line or "results/s: holds no runs" in line, line
    assert re.search(reason, line), line


def test_a_study_of_others_may_not_be_a_part_of_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("results/s").mkdir(parents=True)
    Path("results/s/study.json").write_text("&e {a: *e}")
    assert main(["table", "results/s"]) == 1
    assert "study.json: line 1: more than 200,000 values" in capsys.readouterr().err


def test_what_a_study_names_is_not_imported_by_those_who_look():
    message = "is code of the study, which is not run by a command that only"
    with looking(), pytest.raises(SettingError, match=message):
        own("scant.errors:short", "learner", "Class")
    assert callable(own("scant.errors:short", "learner", "Class"))


def test_every_command_is_known_to_look_or_to_run():
    runs = {"init", "fetch", "convert", "schema", "compile", "ads", "job"}
    assert {*parser()._actions[-1].choices} == {*LOOK} | runs
