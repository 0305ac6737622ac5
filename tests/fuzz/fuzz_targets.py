"""What is fuzzed: `TARGETS` has what reads any bytes, and small files to start from, by name.

A reader is given a file of any bytes. It returns if they were read rightly or refused with a
`ScantError`; every other exception, a crash or a wrong result is a finding.
"""

import atexit
import gzip
import io
import itertools
import json
import os
import re
import shutil
import struct
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scant import files, schema
from scant.data import fetch, letor, logs, openbandit, registry, tables, uci
from scant.data.registry import Archive, Dataset, Part
from scant.errors import ScantError
from scant.study import settings as study
from scant_ads import Log, Policy
from scant_ads.evaluation import basis, compare
from scant_ads.policies import applying, encoding
from scant_ads.reading import formats
from scant_ads.reading.visits import Options

ROOT = Path(__file__).parents[2]
FOLDER = Path(tempfile.mkdtemp(prefix="scant-fuzz-"))
OWN = os.getpid()
# children leave it
atexit.register(lambda: os.getpid() == OWN and shutil.rmtree(FOLDER, ignore_errors=True))
D, TOP = 3, 4  # features and highest grade of what is fuzzed
PARTS = {"all": Part("all", "toy")}
RANKING = Dataset("toy", "ranking", "parquet", D, PARTS, ("all",), "toy", grades=TOP)
EXAMPLES = Dataset("toy", "classification", "parquet", D, PARTS, ("all",), "toy")
REGISTRY, REGISTRY_SCHEMA = (
    ROOT / name for name in ("config/datasets.yaml", "workflow/schemas/datasets.schema.yaml")
)
_numbers = itertools.count()


def run(name: str, data: bytes) -> None:
    """Let a target read a new file of these bytes, in a folder of its own."""
    # names are used once, as an earlier file may still be mapped
    path = FOLDER / f"{next(_numbers)}/file"
    path.parent.mkdir()
    path.write_bytes(data)
    try:
        with patch.object(files, "check_seal"), suppress(ScantError):
            TARGETS[name][0](path)
    finally:
        shutil.rmtree(path.parent)


def as_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", write_statistics=False)
    return sink.getvalue().to_pybytes()


# --- text
def read_letor(path: Path) -> None:
    """Rows do not depend on the blocks in which they are read."""
    for qid in ("field", "comment"):
        whole, small = (_letor(path, qid, block) for block in (1 << 16, 64))
        assert (whole is None) == (small is None)
        for one, other in zip(whole or (), small or (), strict=True):
            np.testing.assert_array_equal(one, other)


def _letor(path: Path, qid: str, block: int) -> list[np.ndarray] | None:
    """Query, grade, features and line of all rows; None if the file is refused."""
    try:
        blocks = list(letor.read_letor(path, D, TOP, block, qid))
    except ScantError:
        return None
    query, grade, features, line, _ = map(np.concatenate, zip(*blocks, strict=True))
    assert len(query) == len(grade) == len(line) > 0 and features.shape == (len(line), D)
    assert np.isfinite(features).all() and grade.min() >= 0 and grade.max() <= TOP
    return [query, grade, features, line]


def read_uci(path: Path) -> None:
    for label, classes in itertools.product(("first", "last"), (None, ("1", "a"))):
        with suppress(ScantError):
            for names, features, line in uci.read_uci(path, D, label, classes):
                assert features.shape == (len(names), D) == (len(line), D)
                assert np.isfinite(features).all()


# --- logs
def read_log(path: Path) -> None:
    """Logs of one's own and of the Open Bandit Dataset: what is read can be written and read."""
    for read in (formats.read_log, lambda path: logs.read(path)[0], openbandit.read):
        with suppress(ScantError):
            log = read(path)
            logs.check(log, "log")
            logs.write(log, copy := path.with_name("copy"))
            again, _ = logs.read(copy)
            assert again.actions == log.actions and again.names == log.names
            for name, column in log.columns().items():
                np.testing.assert_array_equal(column, getattr(again, name))


def read_visits(path: Path) -> None:
    """Everyday logs: what is read is checked, judged and encoded; what is wrong has a place."""
    with suppress(ScantError):
        str(Log.read(path, propensities="percent").check())
    opened = formats.read(path, Options({"reward": "click"}, ("drop",), ("y",)))
    errors = [problem for problem in opened.problems if problem.severity == "error"]
    assert (opened.visits is None) == bool(errors)
    for problem in opened.problems:
        assert opened.place(problem) or problem.row is None
    if opened.visits is None:
        return
    log = Log.read(path, {"reward": "click"})
    str(log.check())
    with suppress(ScantError):
        policies = opened.visits.policies
        compare.evaluate(policies, log, least_propensity=basis.UNKNOWN).text()
    visits = opened.visits
    assert ((visits.reward >= 0) & (visits.reward <= 1)).all()
    assert ((visits.propensity > 0) & (visits.propensity <= 1)).all()
    assert not np.isinf(visits.features).any()
    logs.check(encoding.fit(visits).transform(visits), "log")


# --- policies
def apply(path: Path) -> None:
    """New visits, for which a policy chooses ads: a whole file with a row for each, or none."""
    for target in (path.with_name("out.csv"), path.with_name("out.parquet")):
        try:
            applied = applying.apply(_policy("logistic"), path, target, epsilon=0.3, seed=1)
        except ScantError:
            assert [*path.parent.iterdir()] == [path]
            continue
        table = pa.csv.read_csv(target) if target.suffix == ".csv" else pq.read_table(target)
        assert table.num_rows == applied.rows > 0
        target.unlink()


@cache
def _policy(kind: str) -> Policy:
    random = np.random.default_rng(0)
    columns = {"action": random.choice(["a", "b", "c"], 60), "reward": random.integers(0, 2, 60)}
    columns |= {"propensity": [1 / 3] * 60, "x": [None, *random.random(59)]}
    columns |= {"city": random.choice(["u", "v"], 60)}
    return Policy(kind, steps=50, lambdas=(0.1,), trees=2).fit(pa.table(columns))


def read_policy(path: Path) -> None:
    """What is loaded chooses among its ads, or does not fit them, which an error says."""
    policy = Policy.load(path)
    encoder = policy.learnt.encoder
    values = {name: ["u", ""] if name in encoder.texts else [0.5, None] for name in encoder.names}
    table = pa.table(values)
    with files.foreign(path, "saved policy"):
        assert {*policy.predict(table)} <= {*policy.actions}


# --- parquet and Arrow
def read_parquet(path: Path) -> None:
    """Parquet of one's own."""
    for dataset in (RANKING, EXAMPLES):
        with suppress(ScantError):
            for block in tables.READERS["parquet"](path, dataset):
                assert np.isfinite(block.features).all()
                assert block.features.shape == (len(block.line), D)


# --- settings and archives
def read_yaml(path: Path) -> None:
    """A study or a registry. Of what is read, keys are text, and all can be printed."""
    content = schema.read_yaml(path)
    json.dumps(content, default=str)
    assert all(isinstance(key, str) for key in _keys(content))
    with suppress(ScantError):
        study.load(content, REGISTRY)
    registry.load(path, schema=REGISTRY_SCHEMA)


def _keys(content):
    """All keys of a document, at whatever depth."""
    if isinstance(content, dict):
        yield from content
        content = list(content.values())
    for value in content if isinstance(content, list) else ():
        yield from _keys(value)


def read_archive(path: Path) -> None:
    """One byte says what the rest is: a file that is plain, .gz or .Z, or an archive."""
    form, content = path.read_bytes()[:1] or b"\0", path.read_bytes()[1:]
    suffix = ("", ".gz", ".Z", None)[form[0] % 4]
    archive = Archive("https://toy") if suffix is None else None
    part = {"all": Part("all", "a.txt")}
    wanted = Dataset("toy", "ranking", "letor", D, part, ("all",), "toy", archive=archive, own=True)
    cached = fetch.cache_name(wanted) if archive else ""
    mirror, target = path.parent / "mirror", path.parent / "out/target"
    for folder in (mirror / "toy", target.parent):
        folder.mkdir(parents=True)
    given = target.with_name(cached) if archive else mirror / f"toy/a.txt{suffix}"
    given.write_bytes(content)
    try:
        fetch.fetch(wanted, "all", target, str(mirror), log=lambda text: None)
    finally:
        assert {one.name for one in target.parent.iterdir()} <= {"target", cached, ".toy.lock"}
        assert {one.name for one in path.parent.iterdir()} == {"file", "mirror", "out"}


# --- files to start from
def of_log() -> list[bytes]:
    text = (
        b"action,reward,propensity,timestamp,position,propensity:a,propensity:b,policy:p,x,y=1\n"
        b"a,0,0.25,2019-11-24 00:03:13+00:00,1,0.25,0.75,0.5,31,1\n"
        b"b,1,0.75,2019-11-24T00:03:13Z,2,0.25,0.75,1,-4e2,0\n"
    )
    (given := FOLDER / "log.csv").write_bytes(text)
    logs.write(formats.read_log(given), own := FOLDER / "own.parquet")
    frame = {"action": [1, 2], "reward": [0.0, 1.0], "propensity": [0.5, 0.5], "x": [1, 2]}
    return [text, own.read_bytes(), as_parquet(pa.table(frame))]


def of_visits() -> list[bytes]:
    columns = {"action": ["a", "b", "a"], "click": [0, 1, None], "propensity": [0.5] * 3}
    columns |= {"y": [1, 2, None], "city": ["u", None, "v"], "drop": [1, 2, 3]}
    columns |= {"when": pa.array([0, 1, 2], pa.timestamp("s")), "context": ['{"a": [1]}'] * 3}
    event = {"_label_cost": -1, "_label_probability": 0.5, "_labelIndex": 1, "a": [2, 1]}
    event |= {"p": [0.5, 0.5], "EventId": "e", "Timestamp": "2021-02-04T16:31:29Z", "pdrop": 0}
    event |= {"c": {"User": [{"age": 1}], "_multi": [{"_tag": "a"}, {"i": {"id": "b"}}]}}
    csv = b"action;click;propensity;y;city\na;0;0,25;1;Ulm\nb;1;0,75;2;\n"
    wabbit = b"shared |u a:1 b\n0:-1:0.5 t|A x\n|A y\n\nshared | a\n|A x\n0:0:0.5 |A y\n"
    texts = [csv, b"1:-1:0.5 2:0 'tag| a b:0.5 |n:2 x:1\n2:0:0.5 |n x\n", wabbit]
    return [*texts, json.dumps(event).encode(), as_parquet(pa.table(columns))]


def of_policies() -> list[bytes]:
    path = FOLDER / "policy.arrow"
    kinds = ("logistic", "forest", "auc-ranker", "cost-sensitive-oaa", "filter-tree")
    return [_policy(kind).save(path) or path.read_bytes() for kind in kinds]


def of_tables() -> list[bytes]:
    features = {f"f{i + 1}": pa.array([0.5, i, -1], pa.float32()) for i in range(D)}
    ranking = pa.table({"query": [1, 1, 2], "grade": [0, 4, 1]} | features)
    examples = pa.table({"label": ["a", "1", "01"]} | features)
    return [as_parquet(ranking), as_parquet(examples)]


def of_settings() -> list[bytes]:
    tiny = (ROOT / "config/studies/tiny.yaml").read_bytes()
    own = b"{task: ranking, parser: letor, features: 3, parts: {all: {file: a.txt, sha256: null}}}"
    aliases = b"a: {1: &a 1, 1.0: 2}\n? &b c\n: 0xff\nd: {<<: {e: *a}}\n"
    return [aliases, b"toy: " + own, re.sub(rb"(?m)^ *#.*\n", b"", tiny)]


def of_archives() -> list[bytes]:
    content = b"0 qid:1 1:0.5\n" * 3
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), content, zipfile.ZIP_DEFLATED)
    packed = gzip.compress(content, mtime=0)
    compressed = b"\x1f\x9d\x90" + struct.pack("<5H", 97, 2, 3, 4, 5)
    forms = [content, packed, compressed, zipped.getvalue()]
    return [bytes([form]) + one for form, one in enumerate(forms)]


LETOR = b"2 qid:10 1:0.5 2:-1e-3 3:7 # doc\n0 qid:10 2:.25\r\n\r\n# note\n+1.0 qid:11 1:1 3:1e2\n"
TARGETS = {
    "letor": (read_letor, lambda: [LETOR, b"0 1:2 # 7\n1 3:0.1#7 x\n4 # 8"]),
    "uci": (read_uci, lambda: [b"a,1,2.5,-3e2\nb, 4,5,6\r\n", b"1 2\t3 a\n4 5 6 1.0"]),
    "log": (read_log, of_log),
    "visits": (read_visits, of_visits),
    "apply": (apply, lambda: [b"x,city,more\n1,Ulm,a\n,Bonn,b\nNA,,c\n2.5,Ulm,d\n"]),
    "policy": (read_policy, of_policies),
    "parquet": (read_parquet, of_tables),
    "yaml": (read_yaml, of_settings),
    "archive": (read_archive, of_archives),
}
