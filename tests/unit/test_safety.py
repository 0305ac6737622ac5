"""Data from outside are data: nothing is run, and nothing takes more than a limit allows."""

import ast
import json
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from scant import files, schema
from scant.bandits import campaigns
from scant.cli import LOOK, main, parser
from scant.data import logs, registry, stream, tables
from scant.declare.declarations import looking, own
from scant.errors import DataError, SettingError
from scant.present import traces
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
    harmless = name in ("re.compile", "platform.system")
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


ONE = pa.array([1.0], pa.float32())
LOG = {"features": pa.array([[1.0]], pa.list_(pa.float32(), 1)), "reward": [1.0]}
LOG |= {"action": pa.array([0], pa.int32()), "propensity": [1.0]}
BEST = {name: [1.0] for name in ("best", "gap", "norm", "at_zero")}
OURS = {  # columns, metadata, and what reads them
    "log": (LOG, {"kind": logs.KIND, "actions": ["a"], "names": ["x"]}, logs.read),
    "ranking": (
        {"query": [1], "grade": pa.array([1], pa.int16()), "f1": ONE},
        {"task": "ranking"},
        lambda path: list(tables.read_ranking(path)),
    ),
    "classification": (
        {"label": ["a"], "f1": ONE},
        {"task": "classification"},
        tables.read_classification,
    ),
    "comparator": (
        {"seed": [0], "round": [1]} | BEST,
        {"experiment": "e", "stream": "s", "judge": "kl"},
        lambda path: traces.read_comparators([path]),
    ),
}


@pytest.mark.parametrize("kind", OURS)
def test_forged_files_of_our_own_are_refused(tmp_path, kind):
    columns, metadata, read = OURS[kind]
    path = tmp_path / "a.parquet"
    files.write_parquet(pa.table(columns), path, metadata)
    read(path)
    for name in columns:
        absent = {key: value for key, value in columns.items() if key != name}
        other = columns | {name: ["?"] if name != "label" else [1]}
        empty = columns | {name: pa.nulls(1, pa.array(columns[name]).type)}
        for forged in (absent, other) if kind == "comparator" else (absent, other, empty):
            files.write_parquet(pa.table(forged), path, metadata)
            with pytest.raises(DataError):
                read(path)
    for text in (b"[" * 100_000, b"\xff", b"[]", b"{}"):
        table = pa.table(columns).replace_schema_metadata({files.METADATA_KEY: text})
        pq.write_table(table, path)
        with pytest.raises(DataError):
            read(path)


# --- streams, on which the compiled loops rely
@pytest.fixture
def made(tmp_path):
    """A stream of queries of 2, 3 and 4 documents: what forges it, its columns and metadata."""
    path = tmp_path / "a.arrow"
    queries = [(q, np.arange(q + 2) % 3, np.arange(2.0 * (q + 2)).reshape(-1, 2)) for q in range(3)]
    metadata = stream.write(path, queries, {"stream": "toy"}, np.array([1.0, 0.0]))
    with pa.ipc.open_file(path) as reader:
        batch = reader.get_batch(0)
        columns = {name: batch.column(name) for name in batch.schema.names}

    def forge(changes=(), absent="", **of_metadata):
        """The stream with other columns or metadata, as it is read."""
        forged = {name: one for name, one in (columns | dict(changes)).items() if name != absent}
        batch = pa.RecordBatch.from_pydict(forged)
        schema = files.with_metadata(batch.schema, metadata | of_metadata)
        with pa.ipc.new_file(path, schema) as writer:
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
        files.seal(path)
        return stream.read(path)

    return forge, columns, metadata


def lists(offsets, values, of):
    return pa.Array.from_buffers(
        of, len(offsets) - 1, [None, pa.py_buffer(np.int64(offsets))], children=[values]
    )


@pytest.mark.parametrize(
    "offsets", [[0, 1 << 40, 5, 9], [0, -7, 5, 9], [0, 5, 5, 9], [1, 2, 5, 9], [0, 2, 5, 8]]
)
def test_forged_offsets(made, offsets):
    forge, columns, _ = made
    names = ("grades", "features")
    forged = {name: lists(offsets, columns[name].values, columns[name].type) for name in names}
    with pytest.raises(DataError, match="offsets"):
        forge(forged)
    with pytest.raises(DataError, match="of other sizes"):
        forge({"features": forged["features"]})


def test_forged_sizes(made):
    forge, _, metadata = made
    keys = ("queries", "documents", "features", "largest_query", "largest_grade")
    keys += ("without_relevant",)
    for key, value in product(keys, (0, -1, 1 << 40, 2.5, "2", None, [2])):
        if metadata[key] != value:
            with pytest.raises(DataError):
                forge(**{key: value})


def test_other_forged_streams(made):
    forge, columns, _ = made
    assert len(forge()) == 3
    grades, offsets = np.array(columns["grades"].values), [0, 2, 5, 9]
    for bad in (-1, 31, 30_000):
        column = pa.array(np.where(np.arange(9) == 4, bad, grades).astype(np.int16))
        with pytest.raises(DataError, match="grades outside"):
            forge({"grades": lists(offsets, column, columns["grades"].type)})
    for name in columns:
        with pytest.raises(DataError):
            forge(absent=name)
        with pytest.raises(DataError, match="of other types"):
            forge({name: pa.array([1.5, 2.5, 3.5], pa.float16())})
    for key, value in (
        *(("ranker", [1.0]), ("ranker", [1, 2]), ("radius", None), ("weight_ratio", {})),
        ("margin", "1"),
    ):
        with pytest.raises(DataError):
            forge(**{key: value})
    with pytest.raises(DataError, match="ideal DCG"):
        forge({"ideal_dcg": pa.array([1.0, np.nan, 1.0])})


def test_a_stream_has_features_that_are_finite_and_of_one_number(tmp_path):
    for odd in (np.array([[1.0, np.nan]]), np.array([[1.0, np.inf]]), np.ones((1, 3))):
        queries = [(0, np.array([1]), np.ones((1, 2))), (1, np.array([1]), odd)]
        with pytest.raises(DataError, match="query 1 has"):
            stream.write(tmp_path / "a.arrow", queries, {})
    assert not list(tmp_path.iterdir())


# --- campaigns
def test_forged_campaigns(tmp_path, monkeypatch):
    path = tmp_path / "campaign.json"
    monkeypatch.setattr(campaigns, "POINTS", campaigns.CHUNK)
    campaigns.save(campaigns.make("hotel", shape="linear", dimensions=3, informative=2), path)
    held = json.loads(path.read_text())
    del held[files.SEAL]
    path.write_text(json.dumps(held))
    with pytest.raises(DataError, match="it has no seal"):
        campaigns.load(path)
    monkeypatch.setattr(files, "check_seal", lambda path: None)
    campaigns.load(path)
    forged = [
        json.dumps(held | changes)
        for changes in (
            {"pieces": held["pieces"] | {"first": [0, 3]}},
            {"pieces": held["pieces"] | {"second": [0.5, 1]}},
            {"shares": [0.5, 0.5]},
            {"weights": [[np.nan] * 5] * 2},
            {"view": [["a"] * 5] * 3},
            {"rows": 0},
            {"settings": held["settings"] | {"strength": 0}},
            {"settings": held["settings"] | {"shape": "tree"}},
            {"name": "motel"},
        )
    ]
    for text in (*forged, "[" * 100_000):
        path.write_text(text)
        with pytest.raises(DataError, match="not a campaign of this project"):
            campaigns.load(path)


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


def test_what_a_study_names_is_not_imported_by_those_who_look():
    message = "is code of the study, which is not run by a command that only"
    with looking(), pytest.raises(SettingError, match=message):
        own("scant.errors:short", "learner", "Class")
    assert callable(own("scant.errors:short", "learner", "Class"))


def test_every_command_is_known_to_look_or_to_run():
    runs = {"init", "fetch", "convert", "schema", "compile", "ads", "job"}
    assert {*parser()._actions[-1].choices} == {*LOOK} | runs
