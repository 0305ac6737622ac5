"""What is fuzzed: one function for each parser of outside data, and files to start from.

A target is given any bytes. It returns if they were read rightly or refused with a `ScantError`; every other exception,
a crash or a wrong result is a finding. `fuzz.py` runs the targets under coverage, `tests/unit/test_fuzzing.py` with
Hypothesis and on the corpus.
"""

import atexit
import contextlib
import errno
import gzip
import hashlib
import io
import itertools
import json
import math
import os
import re
import shutil
import socket
import struct
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import urllib3

from scant import files, schema
from scant.ads import campaigns
from scant.compare import archive as crates
from scant.compare import differences, finished, provenance, pruning, verifying
from scant.compare.results import Results
from scant.data import fetch, letor, logs, openbandit, registry, stream, tables, uci
from scant.data.registry import Archive, Dataset, Part
from scant.errors import ScantError
from scant.online import learners, play
from scant.present import traces
from scant.study import settings as study
from scant.study.plan import Runs
from scant.verdict import readings
from scant_ads import Log, Policy
from scant_ads.evaluation import advise, basis, evaluated
from scant_ads.policies import applying, encoding
from scant_ads.reading import batches, formats, summaries, summing

ROOT = Path(__file__).parents[2]
FOLDER = Path(tempfile.mkdtemp(prefix="scant-fuzz-"))
OWN = os.getpid()
atexit.register(lambda: os.getpid() == OWN and shutil.rmtree(FOLDER, ignore_errors=True))  # children leave it
D, TOP = 3, 4  # features and highest grade of what is fuzzed
ranking = Dataset("toy", "ranking", "parquet", D, {"all": Part("all", "toy")}, ("all",), "toy", grades=TOP)
examples = Dataset("toy", "classification", "parquet", D, {"all": Part("all", "toy")}, ("all",), "toy")
_numbers = itertools.count()


@contextmanager
def written(data: bytes):
    """A new file of these bytes; a name is never used twice, since an earlier file may still be mapped."""
    path = FOLDER / f"{next(_numbers)}"
    path.write_bytes(data)
    try:
        with patch.object(files, "check_seal"), patch.object(stream, "check_seal"):
            yield path
    finally:
        path.unlink()


# --- text


def fuzz_letor(data: bytes) -> None:
    """The compiled parser agrees with the grammar in regular expressions, however the file is cut into blocks."""
    with written(data) as path:
        for qid in ("field", "comment"):
            stated = letor_rows(data, qid)
            for size in (64, 1 << 16):
                try:
                    found = list(letor.read_letor(path, D, TOP, size, qid))
                except ScantError:
                    assert stated is None or not stated or split_queries(stated)
                    continue
                assert stated is not None
                query, grade, features, line, _ = map(np.concatenate, zip(*found, strict=True))
                assert line.tolist() == [row[0] for row in stated]
                assert query.tolist() == [row[1] for row in stated]
                assert grade.tolist() == [row[2] for row in stated]
                np.testing.assert_allclose(features, [row[3] for row in stated], rtol=2e-7, atol=2e-45)


NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def fuzz_groups(data: bytes) -> None:
    """The numbers of rows of queries, a zero byte, and a text without query ids, converted to a table, whole or not."""
    sizes, _, text = data.partition(b"\0")
    lines = [line.strip() for line in sizes.removeprefix(files.BOM).decode("latin-1").split("\n")]
    rows, groups = letor_rows(text, "beside"), [line for line in lines if line]
    whole = rows and text.endswith(b"\n") and all(re.fullmatch(r"[1-9]\d{0,8}", line, re.ASCII) for line in groups)
    whole = whole and sum(map(int, groups)) == len(rows)
    with folder_of({"a.txt": text, "a.txt.query": sizes}) as folder:
        part = Part("all", str(folder / "a.txt"))
        wanted = Dataset("toy", "ranking", tables.GROUPS, D, {"all": part}, ("all",), "toy", grades=TOP)
        try:
            tables.convert(wanted, "all", part.file, target := folder / "table.parquet")
        except ScantError:
            assert not whole and {path.name for path in folder.iterdir()} == {"a.txt", "a.txt.query"}
            return
        assert whole
        query, grade, features = map(np.concatenate, zip(*tables.read_ranking(target), strict=True))
    assert query.tolist() == [query for query, size in enumerate(groups, 1) for _ in range(int(size))]
    assert grade.tolist() == [row[2] for row in rows]
    np.testing.assert_allclose(features, [row[3] for row in rows], rtol=2e-7, atol=2e-45)


@contextmanager
def folder_of(contents: dict[str, bytes]):
    """A new folder with these files, which is removed."""
    folder = FOLDER / f"{next(_numbers)}"
    folder.mkdir()
    try:
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        with patch.object(files, "check_seal"), patch.object(stream, "check_seal"):
            yield folder
    finally:
        shutil.rmtree(folder)


def letor_rows(data: bytes, qid: str) -> list | None:
    """(line, query, grade, features) of each row, None if malformed; `qid`: where ids are, field, comment or beside."""
    rows, ids, used = [], [], False
    for number, line in enumerate(data.removeprefix(files.BOM).decode("latin-1").split("\n"), 1):
        text, hash_mark, comment = line.partition("#")
        fields = re.split("[ \t\r]+", text.strip(" \t\r"))
        if fields == [""]:
            if hash_mark or not text.strip(" \t\r"):
                continue
            return None
        grade = re.fullmatch(r"\+?(\d{1,18})(\.0*)?", fields.pop(0), re.ASCII)
        if qid == "beside":
            query = re.match("()", "")
        elif qid == "comment":
            query = re.match(r"[ \t\r]*(\d{1,18})(?![^ \t\r#])", comment, re.ASCII)
        else:
            query = re.fullmatch(r"qid:(\d{1,18})", fields.pop(0) if fields else "", re.ASCII)
        if not grade or int(grade[1]) > TOP or not query:
            return None
        x, last = [0.0] * D, 0
        for field in fields:
            index, colon, value = field.partition(":")
            if not colon or not re.fullmatch(r"\d{1,9}", index, re.ASCII) or not last < int(index) <= D:
                return None
            if not NUMBER.fullmatch(value) or abs(float(value)) > 3.40282356e38:
                return None
            last, used = int(index), True
            x[last - 1] = float(value)
        ids.append(query[1])
        rows.append((number, int(query[1] or 0), int(grade[1]), np.float32(x)))
    padded = {len(id) for id in ids if id[:1] == "0" and id != "0"}
    alike = len(padded) > 1 or any(len(id) < width for id in ids for width in padded)
    return None if alike or (rows and not used) else rows


def split_queries(rows: list) -> bool:
    """Whether a query's rows are not all together."""
    runs = [key for key, _ in itertools.groupby(row[1] for row in rows)]
    return len(runs) != len(set(runs))


def fuzz_uci(data: bytes) -> None:
    """Tables of numbers and a label; with blanks in place of its commas, a table says the same."""
    for label, classes in itertools.product(("first", "last"), (None, ("1", "a"))):
        found = _examples(data, label, classes)
        if found is not None and b"," in data and b"\v" not in data:
            blanks = _examples(data.replace(b",", b" "), label, classes)
            same = all(not re.search(r"\s", name) for name in found[0])
            if same and len(found[0]) == len(blanks[0] if blanks else ()):
                np.testing.assert_array_equal(found[1], blanks[1])
                assert found[0] == blanks[0]
            else:
                assert not same, "a table that commas separate, and blanks do not"


def _examples(data: bytes, label: str, classes) -> tuple[list[str], np.ndarray] | None:
    """Labels and features of a table; None if it is refused."""
    names, parts = [], []
    with written(data) as path, suppress(ScantError):
        for label_, features, line in uci.read_uci(path, D, label, classes):
            assert features.shape == (len(label_), D) == (len(line), D) and np.isfinite(features).all()
            assert all(isinstance(one, str) for one in label_)
            names += label_.tolist()
            parts.append(features)
        return names, np.concatenate(parts)
    return None


def fuzz_log(data: bytes) -> None:
    """A log of one's own, CSV or parquet; what is accepted can be written, read and advised on."""
    with written(data) as path:
        with suppress(ScantError):
            _log(formats.read_log(path))
        with suppress(ScantError):
            _log(logs.read(path)[0])


def fuzz_visits(data: bytes) -> None:
    """Everyday logs: what is read is checked, and encoded; what is wrong has a place."""
    with written(data) as path, suppress(ScantError):
        str(Log.read(path, propensities="percent").check())
    with written(data) as path, suppress(ScantError):
        reading = formats.read(path, {"reward": "click"}, ("drop",), ("y",))
        assert (reading.visits is None) == any(problem.severity == "error" for problem in reading.problems)
        for problem in reading.problems:
            assert reading.place(problem) or problem.row is None
        if reading.visits is None:
            return
        str(Log.read(path, {"reward": "click"}).check())
        with suppress(ScantError):
            found = advise.compare(reading.visits.policies, Log.read(path, {"reward": "click"}), declared=basis.UNKNOWN)
            json.dumps(evaluated._plain(found.rows[-1])), found.text(), found._repr_html_()
        log = reading.visits
        assert ((log.reward >= 0) & (log.reward <= 1)).all() and ((log.propensity > 0) & (log.propensity <= 1)).all()
        assert ((log.action >= 0) & (log.action < len(log.actions))).all() and not np.isinf(log.features).any()
        encoded = encoding.fit(log).transform(log)
        logs.check(encoded, "log")


def fuzz_parts(data: bytes) -> None:
    """A folder of parquet files, one of any bytes: numbers do not depend on how the rows are read."""
    if not data:
        return
    with folder_of(
        {f"{data[0] % 2}.parquet": data[1:]} | ({"2.parquet": _part()} if data[0] % 4 > 1 else {})
    ) as folder:
        found = []
        for rows in (2, 1 << 18):
            with suppress(ScantError):
                log = Log.read(folder, {"reward": "click"}, ("drop",), ("y",))
                str(log.check()), log.column_names
                found.append(advise.compare(("uniform",), log, rows=rows).rows)
        if len(found) == 2:
            for first, second in zip(*found, strict=True):
                assert repr(first) == repr(second)


PLACES = ("{}.parquet", "day=1/{}.parquet", ".{}.parquet", "_temporary/0/{}.parquet", "a/.b/{}.parquet", "{}.crc")


def fuzz_folder(data: bytes) -> None:
    """A folder in which each byte is an entry: a part, a file that is none, or a link to an earlier entry."""
    shown, hidden, twice = set(), set(), False
    with folder_of({}) as folder:
        for number, byte in enumerate(data[:12]):
            place, kind = byte % len(PLACES), byte // len(PLACES) % 4
            path = folder / PLACES[place].format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            others = sorted(shown | hidden)
            if kind < 2 or not others:
                path.write_bytes(_part())
            else:
                first = others[byte % len(others)]
                (os.symlink if kind == 2 else os.link)(first, path)
                twice |= place < 2 and any(path.samefile(other) for other in shown)
            (shown if place < 2 else hidden).add(path)
        try:
            log = Log.read(folder, {"reward": "click"})
        except ScantError:
            assert twice or not shown
            return
        assert (
            not twice
            and {*log.folder.files} == shown
            and {*log.folder.left_out} == hidden
            and len(log) == 2 * len(shown)
        )


def fuzz_part(data: bytes) -> None:
    """What a job has kept of a part: only a result of that part is used, and only numbers that make sense."""
    with folder_of({"0.parquet": data}) as folder:
        _used(folder)


def fuzz_sums(data: bytes) -> None:
    """Sums of a part that are forged, as JSON, in a result that is otherwise right."""
    log = Log.read(_log_of_one_part())
    with folder_of({}) as folder, suppress(ScantError):
        try:
            sums = json.loads(data)
        except (ValueError, RecursionError):
            return
        summaries.write(log, "0.parquet", target := folder / "0.parquet", {})
        table = files.read_parquet(target)
        files.write_parquet(table, target, files.metadata_of(table.schema) | {"summary": sums})
        _used(folder)


def _used(results: Path) -> None:
    """Use results for the log that they are of, and for another one, which refuses them."""
    log = Log.read(_log_of_one_part())
    with suppress(ScantError):
        summary = summaries.read(log, results, {})
        wrong = any(problem.severity == "error" for _, problem, _ in summary.problems.values())
        assert wrong or summary.all().rows == len(log)
        str(log.check())
        advise.compare(("uniform",), log, summarised=partial(summaries.read, log, results))
    with suppress(ScantError):
        summaries.read(Log.read(_log_of_one_part(changed=True)), results, {})
        raise AssertionError("a result of rewards that have changed since")


@cache
def _log_of_one_part(changed: bool = False) -> Path:
    """A folder with one part; `changed` rewards leave its size and time as they are."""
    (folder := FOLDER / f"log of one part{changed}").mkdir()
    reward = [1, 0, 0, 1] * 20 if changed else [0, 1, 1, 0] * 20
    table = pa.table({"action": ["a", "b"] * 40, "reward": reward, "propensity": [0.5] * 80, "x": range(80)})
    (path := folder / "0.parquet").write_bytes(_parquet(table))
    os.utime(path, ns=(0, 0))
    return folder


def fuzz_apply(data: bytes) -> None:
    """New visits, for which a policy chooses ads: the file is whole, with a row for each, or there is none."""
    with folder_of({"visits": data}) as folder:
        for name, keep in (("out.csv", ("more",)), ("out.parquet", ("city", "more")), ("out.csv", ())):
            target = folder / name
            try:
                done = applying.apply(_policy(), folder / "visits", target, epsilon=0.3, seed=1, keep=keep)
            except ScantError:
                assert {path.name for path in folder.iterdir()} == {"visits"}
                continue
            table = pa.csv.read_csv(target) if name.endswith(".csv") else pq.read_table(target)
            assert table.num_rows == done.rows > 0 and table.column_names == [*keep, "action", "propensity"]
            target.unlink()


@cache
def _policy() -> Policy:
    random = np.random.default_rng(0)
    log = pa.table({
        "action": random.choice(["a", "b"], 60), "reward": random.integers(0, 2, 60), "propensity": [0.5] * 60,
        "x": [None, *random.random(59)], "city": random.choice(["u", "v"], 60),
    })  # fmt: skip
    return Policy("logistic", steps=50, lambdas=(0.1,)).fit(log)


@cache
def _part() -> bytes:
    """A good part of a folder, like that of `_visits`."""
    return _parquet(pa.table({
        "action": ["a", "b"], "click": [0, 1], "propensity": [0.5, 0.5], "y": [1, 2], "city": ["u", "v"],
        "when": pa.array([0, 1], pa.timestamp("s")), "drop": [1, 2],
    }))  # fmt: skip


def fuzz_contexts(data: bytes) -> None:
    """New visits, read batch by batch for a policy that learnt from a number and a text."""
    with written(data) as path, suppress(ScantError):
        for table in batches.read(path, ("x", "city"), ("city",), rows=2):
            found = batches.contexts(table, ("x", "city"), ("city",), path)
            assert len(found) == table.num_rows > 0 and not np.isinf(found.features).any()
            assert (found.features[:, 1] < len(found.categories["city"])).all()


def fuzz_policy(data: bytes) -> None:
    """Saved policies: what is loaded chooses among its ads."""
    with written(data) as path, suppress(ScantError):
        policy = Policy.load(path)
        columns = {name: ["u", ""] if name in policy.learnt.encoder.texts else [0.5, None]
                   for name in policy.learnt.encoder.names}  # fmt: skip
        table = pa.table(columns)
        assert {*policy.predict(table)} <= {*policy.actions}
        np.testing.assert_allclose(policy.predict_proba(table).sum(axis=1), 1, atol=1e-9)


def fuzz_openbandit(data: bytes) -> None:
    with written(data) as path, suppress(ScantError):
        _log(openbandit.read(path))


def _log(log) -> None:
    logs.check(log, "log")
    copy = FOLDER / "copy.parquet"
    logs.write(log, copy)
    again, _ = logs.read(copy)
    assert again.actions == log.actions and again.names == log.names
    for name, column in log.columns().items():
        np.testing.assert_array_equal(column, getattr(again, name))


# --- parquet and Arrow


def fuzz_parquet(data: bytes) -> None:
    """Parquet of one's own, and the project's tables."""
    with written(data) as path:
        for dataset in (ranking, examples):
            with suppress(ScantError):
                for block in tables.READERS["parquet"](path, dataset):
                    assert np.isfinite(block.features).all() and block.features.shape == (len(block.line), D)
        with suppress(ScantError):
            for query, grade, features in tables.read_ranking(path):
                assert len(query) == len(grade) == len(features)
        with suppress(ScantError):
            features, label = tables.read_classification(path)
            assert len(features) == len(label)


def fuzz_stream(data: bytes) -> None:
    """What is accepted is played by the compiled loops, which do not look where they read."""
    with written(data) as path:
        try:
            there = stream.read(path)
        except ScantError:
            return
        if len(there) <= 100 and there.features.shape[1] <= 1000:
            slam, random = {"kind": "slam", "measure": "ndcg"}, np.random.default_rng(0)
            learner = learners.Slam.from_study(slam, {"source": "text"}, there.metadata, 1.0, random)
            play.play(there, np.arange(len(there)), learner)
            json.dumps(there.metadata)


def fuzz_run(data: bytes) -> None:
    """Run files, measured times and comparators."""
    with written(data) as path:
        for read in (
            lambda: traces.read([Runs("perceptron", [path], {"kind": "perceptron", "seeds": 1})]),
            lambda: traces.read_rows([path]),
            lambda: traces.read_comparators([path]),
        ):
            with suppress(ScantError):
                read()


def fuzz_seal(data: bytes) -> None:
    """Whatever a file holds: it has no seal, a broken one, or one that every changed bit breaks."""
    path = FOLDER / f"{next(_numbers)}"
    try:
        for content in (data, data + files.MARK, data + files.MARK + files.BLANK.encode() + data[:9]):
            path.write_bytes(content)
            with suppress(ValueError):
                files.check_seal(path)
        files.seal(path)
        files.check_seal(path)
        sealed = path.read_bytes()
        at = zlib.crc32(data) % len(sealed)
        path.write_bytes(sealed[:at] + bytes([sealed[at] ^ 1 << len(data) % 8]) + sealed[at + 1 :])
        try:
            files.check_seal(path)
        except ValueError:
            return
        raise AssertionError(f"byte {at} changed, and nobody saw it")
    finally:
        path.unlink()


def fuzz_results(data: bytes) -> None:
    """A folder of results of somebody else: manifest, claims, tables, runs."""
    names = ("manifest.json", "claims.parquet", "claims-readings.csv", "tables/finals.csv", "runs/e/s/l/run.parquet")
    name = names[data[0] % len(names)] if data else "manifest.json"
    with folder_of({}) as folder:
        (path := folder / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[1:])
        there = Results(folder)
        for look in (
            lambda: there.manifest, lambda: there.claims, lambda: there.readings, lambda: there.finals,
            lambda: there.runs("e"), lambda: readings.read(folder / "claims-readings.csv"),
            lambda: readings.claims(folder / "claims.parquet"),
        ):  # fmt: skip
            with suppress(ScantError):
                look()


STUDY = {  # a finished study: what its manifest lists, what earlier settings asked for, and what is a user's
    "results/small/claims.csv": b"id,verdict,estimate,low,high,n\na,holds,1,0,2,3\n",
    "results/small/tables/finals.csv": b"learner,mean\na,1\n",
    "results/small/report.html": b"<p>page</p>",
    "results/small/tables/old.csv": b"old",
    "results/small/tables/mine.csv": b"mine",
    "results/other/tables/old.csv": b"of another study",
    "results/reference/other/claims.csv": b"of another reference",
    "precious.zip": b"mine",
}
OLD = "results/small/tables/old.csv"


def fuzz_manifest(data: bytes) -> None:
    """Somebody's manifest: all commands that read it end, and change only what is theirs."""
    with folder_of({}) as root, patch.object(provenance, "workflow", list), contextlib.chdir(root):
        for name, content in STUDY.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content)
        folder = Path("results/small")
        (folder / "manifest.json").write_bytes(data)
        study = Results(folder)
        for look in (
            lambda: study.manifest, lambda: verifying.verify(folder), lambda: finished.keep(folder),
            lambda: differences.describe(differences.compare(finished.read(folder), finished.read(folder))),
            lambda: pruning.delete(folder, pruning.prunable(folder, drawn=True)),
            lambda: crates.write(folder), lambda: crates.write(folder, "precious.zip"),
        ):  # fmt: skip
            try:
                look()
            except OSError as error:  # one line on the command line, too
                assert error.errno == errno.ENAMETOOLONG
            except ScantError as error:
                assert "\n" not in str(error)
        for name, content in STUDY.items():
            assert Path(name).read_bytes() == content if name != OLD or Path(name).exists() else True, name
        there = {path.as_posix() for path in Path().rglob("*") if path.is_file()}
        assert all(name.startswith("results/reference/small/") or name in ("small.zip", "results/small/manifest.json")
                   for name in there - {*STUDY}), there  # fmt: skip
        if Path("small.zip").exists():
            with zipfile.ZipFile("small.zip") as packed:
                assert not any(name.startswith("/") or ".." in name.split("/") for name in packed.namelist())


# --- settings


def fuzz_yaml(data: bytes) -> None:
    """A study, a registry, claims. Of what is read, keys are text, and all can be printed."""
    with written(data) as path, _files_of_the_project():
        with suppress(ScantError):
            json.dumps(content := schema.read_yaml(path), default=str)
            assert all(isinstance(key, str) for key in _keys(content))
        with suppress(ScantError):
            study.load(schema.read_yaml(path), REGISTRY)
        with suppress(ScantError):
            registry.load(path, schema=DATASETS_SCHEMA)
        with suppress(ScantError):
            study.claims(path, ROOT / study.CLAIMS_SCHEMA)


def _keys(content):
    """All keys of a document, at whatever depth."""
    if isinstance(content, dict):
        yield from content
    for value in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from _keys(value)


REGISTRY, DATASETS_SCHEMA = ROOT / "config/datasets.yaml", ROOT / "workflow/schemas/datasets.schema.yaml"
_load, _read = registry.load, schema.read_yaml
_once = cache(_read)


def _files_of_the_project():
    """A context in which files of the project are read once, and its registry is checked once."""

    def read(path):
        return _once(path) if ROOT in Path(path).parents else _read(path)

    def load(path, extra=None, schema=DATASETS_SCHEMA, study=""):
        if path != REGISTRY:
            return _load(path, extra, schema, study)
        (empty := FOLDER / "empty.yaml").write_text("{}")
        return _registered() | _load(empty, extra, schema, study)

    stack = ExitStack()
    for module in (registry, study):
        stack.enter_context(patch.object(module, "read_yaml", read))
    stack.enter_context(patch.object(registry, "load", load))
    return stack


@cache
def _registered() -> dict:
    return _load(REGISTRY, schema=DATASETS_SCHEMA)


def fuzz_campaign(data: bytes) -> None:
    with written(data) as path, suppress(ScantError):
        campaign = campaigns.load(path)
        log = campaign.log(8, np.random.default_rng(0))
        logs.check(log, "log")


# --- archives


def fuzz_archive(data: bytes) -> None:
    """One byte says what the rest is: a file that is plain, .gz or .Z, or an archive."""
    if not data:
        return
    suffix = ("", ".gz", ".Z", None)[data[0] % 4]
    part, url = Part("all", "a.txt"), "https://toy"
    archive = Archive(url) if suffix is None else None
    wanted = Dataset("toy", "ranking", "letor", D, {"all": part}, ("all",), "toy", archive=archive, own=True)
    cache = fetch.cache_name(wanted) if archive else ""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        folder = Path(folder)
        mirror, target = folder / "mirror", folder / "out/target"
        (mirror / "toy").mkdir(parents=True)
        target.parent.mkdir()
        (target.parent / cache if suffix is None else mirror / f"toy/a.txt{suffix}").write_bytes(data[1:])
        with suppress(ScantError):
            fetch.fetch(wanted, "all", target, str(mirror), log=lambda text: None)
        there = {path.name for path in target.parent.iterdir()}
        assert there <= {"target", cache, ".toy.lock"}, there
        assert {path.name for path in folder.iterdir()} == {"mirror", "out"}


def fuzz_answer(data: bytes) -> None:
    """What a server answers, as raw bytes: one byte says whether it is a mirror, or has the file or an archive."""
    if not data:
        return
    url = "http://toy/a.gz" if data[0] % 8 > 3 else "http://toy/a"
    place = ("mirror", "url", "archive", "url")[data[0] % 4]
    part, archive = Part("all", "a.txt", url=url if place == "url" else None), Archive(url)
    wanted = Dataset(
        *("toy", "ranking", "letor", D, {"all": part}, ("all",), "toy"),
        archive=archive if place == "archive" else None, plain_http=True, own=True,
    )  # fmt: skip

    def connected(connection):
        ours, theirs = socket.socketpair()
        theirs.sendall(data[1:])
        theirs.shutdown(socket.SHUT_WR)
        opened.callback(theirs.close)
        opened.callback(ours.close)
        return ours

    with ExitStack() as opened, tempfile.TemporaryDirectory(dir=FOLDER) as folder, suppress(ScantError):
        opened.enter_context(patch.object(urllib3.connection.HTTPConnection, "_new_conn", connected))
        opened.enter_context(patch.object(fetch.time, "sleep"))
        opened.enter_context(patch.dict(os.environ, {"NO_PROXY": "*", "no_proxy": "*"}))
        (target := Path(folder, "out/target")).parent.mkdir()
        try:
            mirror = url if place == "mirror" else folder
            assert fetch.fetch(wanted, "all", target, mirror, log=lambda text: None)["bytes"] <= 1100 * len(data)
        except ScantError as error:
            assert len(str(error)) < 900 and str(error).isprintable()
            assert not target.exists()
            raise
        finally:
            there = {path.name for path in target.parent.iterdir()}
            assert there <= {"target", ".toy.lock"} | ({fetch.cache_name(wanted)} if wanted.archive else set()), there


TARGETS = {name.removeprefix("fuzz_"): target for name, target in list(globals().items()) if name.startswith("fuzz_")}


# --- files to start from


def seeds(name: str) -> list[bytes]:
    """Small files that the target accepts, and some that it refuses."""
    return _SEEDS[name]()


def _letor() -> list[bytes]:
    return [
        b"2 qid:10 1:0.5 2:-1e-3 3:7 # doc\n0 qid:10 2:.25\r\n\n# note\n+1.0 qid:11 1:1 3:1e2\n",
        b"0 1:2 # 7\n1 3:0.1#7 x\n4 # 8",
        b"1 qid:1 1:nan\n",
        b"1 qid:1 1:1e39\n2 qid:1 1:1e-0001\n0 qid:2 1:123456789012345678901234567890e-30 2:0.000000000000000001\n",
    ]


def _uci() -> list[bytes]:
    blanks = [b"a 1\t2.5  -3e2\n b 4 5 6\r\n", b"1 2 3 a\n4 5 6 1.0", b"1 2;3 4 a\n"]
    return [*blanks, b"a,1,2.5,-3e2\nb, 4,5,6\r\n\n01.,7,8,9\n", b"1,2,3,a\n4,5,6,1.0\n", b"1,nan,3,4\n", b"1,2\n"]


def _logs() -> list[bytes]:
    text = (
        b"action,reward,propensity,timestamp,position,propensity:a,propensity:b,policy:p,x,y=1\n"
        b"a,0,0.25,2019-11-24 00:03:13+00:00,1,0.25,0.75,0.5,31,1\nb,1,0.75,2019-11-24T00:03:13Z,2,0.25,0.75,1,-4e2,0\n"
    )
    log = formats.read_log(_put(text))
    logs.write(log, own := FOLDER / "own.parquet")
    frame = pa.table(
        {"action": [1, 2], "reward": [0.0, 1.0], "propensity": [0.5, 0.5], "policy:p": [0.1, 1], "x": [1, 2]}
    )
    return [text, b"action,reward,propensity,x\n1,0,.5,1\n1,1,.5,2\n", own.read_bytes(), _parquet(frame)]


def _visits() -> list[bytes]:
    text = (
        b"action;click;propensity;timestamp;y;city;x\na;0;0,25;1574553793;1;Ulm;1,5\nb;1;0,75;1574553794;2;;NA\n"
        b"a;1;0,25;1574553795;1;Bonn;-2\n"
    )
    frame = pa.table({
        "action": pa.array(["a", "b", "a"]).dictionary_encode(), "click": [0, 1, None], "propensity": [0.5, 0.5, 0.5],
        "y": [1, 2, None], "city": ["u", None, "v"], "when": pa.array([0, 1, 2], pa.timestamp("s")), "drop": [1, 2, 3],
    })  # fmt: skip
    made = [text, text.replace(b";", b"\t"), b"\x1f\x8b" + gzip.compress(text, mtime=0)[2:], _parquet(frame)]
    for table in (frame, frame.slice(0, 2)):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        made.append(sink.getvalue().to_pybytes())
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream_:
        stream_.write(text)
    return [*made, packed.getvalue().to_pybytes(), *_objects()]


def _objects() -> list[bytes]:
    """Logs with contexts as objects, and logs of Vowpal Wabbit."""
    context = {"age": 1, "geo": {"city": "u"}, "tags": [1]}
    table = {"action": ["a", "b", "a"], "click": [0, 1, 0], "propensity": [0.5] * 3, "y": [1, 2, 3]}
    texts = [json.dumps(context), '{"age": "2", "vip": true}', None]
    event = {
        "_label_cost": -1, "_label_probability": 0.5, "_labelIndex": 1, "a": [2, 1], "p": [0.5, 0.5], "EventId": "e",
        "Timestamp": "2021-02-04T16:31:29Z", "pdrop": 0,
        "c": {"User": [context], "_multi": [{"_tag": "a"}, {"i": {"id": "b"}}]},
    }  # fmt: skip
    return [
        _parquet(pa.table(table | {"context": texts})), _parquet(pa.table(table | {"context": [context, {}, None]})),
        (json.dumps(event) + "\n" + json.dumps({"RewardValue": 1}) + "\n").encode(),
        b"1:-1:0.5 2:0 'tag| a b:0.5 |n:2 x:1 city:paris\n2:0:0.5 |n x\n",
        b"shared |u a:1 b\n0:-1:0.5 t|A x\n|A y\n\nshared | a\n|A x\n0:0:0.5 |A y\n",
        b",action,click,propensity,x\n0,a,0,25 %,1\n1,b,1,50 %,2\n",
    ]  # fmt: skip


def _openbandit() -> list[bytes]:
    return [
        b",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1\n"
        b"0,2019-11-24 00:00:17.0041+00:00,1,3,0,0.5,81ce,0.0,1.5\n1,2019-11-24 00:00:18+00:00,0,1,1,0.5,81cf,0.0,0\n",
        b"timestamp,item_id,position,click,action_prob,user_feature_0,user-item_affinity_0\n2019-11-24,0,3,0,1,a,0.0\n",
    ]


def _features() -> dict:
    return {f"f{i + 1}": pa.array([0.5, i, -1], pa.float32()) for i in range(D)}


def _tables() -> list[bytes]:
    own = {"query": [1, 1, 2], "grade": [0, 4, 1]} | _features()
    made = []
    for dataset, table in ((ranking, pa.table(own)), (examples, pa.table({"label": ["a", "1", "01"]} | _features()))):
        made.append(_parquet(table))
        tables.convert(dataset, "all", _put(made[-1]), target := FOLDER / "made.parquet")
        made.append(target.read_bytes())
    return made


def _streams() -> list[bytes]:
    path = FOLDER / "seed.arrow"
    queries = [(q, np.arange(q + 2) % 3, np.arange(2.0 * (q + 2)).reshape(-1, 2)) for q in range(3)]
    stream.write(path, queries, {"stream": "toy"}, np.array([1.0, 0.0]))
    return [path.read_bytes()]


def _runs() -> list[bytes]:
    identity = {"kind": "perceptron", "experiment": "e", "stream": "s", "learner": "l", "source": "paper"}
    about = identity | {
        "own_measure": "ndcg",
        "learner_settings": {"kind": "slam"},
        "resolved": {},
        "stream_settings": {},
    }
    rows = pa.table({"seed": [0, 1], "rate": [1.0, np.nan], "theory": [0, 1], "round": [1, 1], "ndcg": [0.5, 1.0]})
    game = {"kind": "fixed-items", "experiment": "e", "stream": "s", "items": 3, "loss": "sum", "gain": False}
    best = pa.table({"seed": [0], "round": [1], "best": [1.0], "gap": [0.1], "norm": [1.0]})
    made = []
    for table, metadata in (
        (rows, about),
        (rows, game | {"game": {"stream": "g"}}),
        (rows, about | {"kind": "ads"}),
        (best, {"experiment": "e", "stream": "s", "judge": "kl"}),
    ):
        files.write_parquet(table, path := FOLDER / "run.parquet", metadata)
        made.append(path.read_bytes())
    return made


def _answers() -> list[bytes]:
    text, head = b"2 qid:10 1:0.5\n", b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s"
    packed = gzip.compress(text, mtime=0)
    whole = [head % (len(text), b"", text), head % (len(packed), b"Content-Encoding: gzip\r\n", packed)]
    found = [
        b"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n" % to for to in (b"https://[::1", b"/b", b"http://b:9/c", b"")
    ]
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n2 qid\r\n3\r\n:1\n\r\n0\r\n\r\n"
    others = [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 -1 no\r\n\r\n", b"HTTP/1.1 404 Not Found\r\n\r\n", chunks]
    return [bytes([place]) + answer for place in range(5) for answer in (*whole, *found, *others)]


def _settings() -> list[bytes]:
    names = ("config/studies/tiny.yaml", "config/studies/ads.yaml", "config/studies/games.yaml")
    small = [
        b"a: &a [1, 2]\nb: *a\nc: {<<: {d: 1}}\n",
        b"true: 1\nTrue: 2\n",
        b"a: {1: 1, 1.0: 2, 0x1: 3}\n? &b c\n: 0xff\n*b : 1e400\n",
        b"~: 1\nnull: !!set {a, b}\n",
        b"toy:\n  title: T\n  home: https://h\n  terms: None.\n  task: ranking\n  parser: letor\n  features: 3\n"
        b"  grades: 2\n  normalised: false\n  parts: {all: {file: a.txt, sha256: null}}\n",
    ]
    return [*small, *(re.sub(rb"(?m)^ *#.*\n", b"", (ROOT / name).read_bytes()) for name in names)]


def _campaigns() -> list[bytes]:
    pieces = campaigns.Pieces("linear", np.array([0, 1]), np.array([0, 1]), np.zeros((2, 2)))
    made = campaigns.Campaign(
        "hotel", campaigns.Settings(dimensions=3, informative=2), 100, np.full(5, 0.2), np.full(5, 0.1),
        np.array([np.nan, np.nan, 0.5]), pieces, np.ones((2, 5)), np.zeros(5), np.ones((3, 5)), np.zeros(5),
    )  # fmt: skip
    campaigns.save(made, path := FOLDER / "campaign.json")
    held = json.loads(path.read_text())
    del held[files.SEAL]
    return [json.dumps(held).encode()]


def _archives() -> list[bytes]:
    content = b"0 qid:1 1:0.5\n" * 3
    made = [
        b"\0" + content,
        b"\1" + gzip.compress(content, mtime=0),
        b"\2\x1f\x9d\x90" + struct.pack("<5H", 97, 2, 3, 4, 5),
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), content, zipfile.ZIP_DEFLATED)
    made.append(b"\3" + packed.getvalue())
    for kind in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=kind) as archive:
            for name in ("b" * 101, "a.txt") if kind == tarfile.PAX_FORMAT else ("./a.txt",):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        made.append(b"\3" + gzip.compress(packed.getvalue(), mtime=0))
        made.append(b"\3" + packed.getvalue()[:2048] + bytes(1024))
    return made


def _put(data: bytes) -> Path:
    path = FOLDER / "seed"
    path.write_bytes(data)
    return path


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", write_statistics=False)
    return sink.getvalue().to_pybytes()


def _contexts() -> list[bytes]:
    text = b"x,city,more\n1,Ulm,a\n,Bonn,b\nNA,,c\n2.5,Ulm,d\n"
    frame = pa.table({"x": [1.0, None, 2.0], "city": ["u", None, "v"], "more": [1, 2, 3]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, frame.schema) as writer:
        writer.write_table(frame)
    packed = b"\x1f\x8b" + gzip.compress(text, mtime=0)[2:]
    wrong = b"x;city\nold;Ulm\n", b"city,y=1\nUlm,2\n", b"x,city\n"
    return [text, text.replace(b",", b";"), packed, _parquet(frame), sink.getvalue().to_pybytes(), *wrong]


def _policies() -> list[bytes]:
    random = np.random.default_rng(0)
    log = pa.table({
        "action": random.choice(["a", "b", "c"], 60), "reward": random.integers(0, 2, 60), "propensity": [1 / 3] * 60,
        "x": [None, *random.random(59)], "city": random.choice(["u", "v"], 60),
    })  # fmt: skip
    made = []
    for kind in ("logistic", "forest", "auc-ranker", "cost-sensitive-oaa", "filter-tree"):
        Policy(kind, steps=50, lambdas=(0.1,), trees=2).fit(log).save(path := FOLDER / "policy.arrow")
        made.append(path.read_bytes())
    return made


def _groups() -> list[bytes]:
    text = b"2 1:0.5 3:7\n0 2:.25 # doc\n\n+1.0 1:1\r\n"
    return [b"2\n1\n\0" + text, b"3\n\0" + text, b" 1\r\n2 \0# note\n" + text, b"1\n\0" + text, b"x\n\0" + text]


def _parts() -> list[bytes]:
    made = [_part(), *(seed for seed in _visits() if seed.startswith(b"PAR1"))]
    many = pa.table({
        "action": ["a", "b"] * 40, "click": [0, 1, 1, 0] * 20, "propensity": [0.5] * 80, "y": [*range(80)],
        "city": ["u", "v"] * 40, "when": pa.array([*range(80)], pa.timestamp("s")),
    })  # fmt: skip
    made += [_parquet(many), _parquet(many.drop_columns("city")), _parquet(many.set_column(0, "action", [[1, 2] * 40]))]
    return [bytes([at % 4]) + content for at, content in enumerate(made * 2)]


def _part_results() -> list[bytes]:
    log = Log.read(_log_of_one_part())
    summaries.write(log, "0.parquet", target := FOLDER / "result.parquet", {})
    return [target.read_bytes()]


def _sums() -> list[bytes]:
    log = Log.read(_log_of_one_part())
    return [json.dumps(summing.summary(log).packed()).encode()]


def _results() -> list[bytes]:
    claims = pa.table({"id": ["a"], "verdict": ["holds"], "estimate": [0.5]})
    files.write_parquet(claims, path := FOLDER / "claims.parquet", {"readings": "00000000"})
    rows = b"claim,reading,first,place,against,estimate,low,high,n\na,paper,True,x,y (e),0.5,0.1,0.9,20\n"
    made = [b"\0" + b'{"study": {"a": 1}}', b"\1" + path.read_bytes(), b"\2" + rows, b"\3measure,value\nndcg,0.5\n"]
    return made + [b"\4" + run for run in _runs()]


def _manifests() -> list[bytes]:
    names = ("claims.csv", "tables/finals.csv", "report.html", "tables/old.csv")
    sums = {name: hashlib.sha256(STUDY[f"results/small/{name}"]).hexdigest() for name in names}
    made = {"date": "2026-11-23T05:46:42+00:00", "commit": "ce9418c", "clean": True, "lock": None}
    whole = {"study": "small", "files": {name: sums[name] for name in names[:2]}, "settings": {"rates": [1, math.inf]},
             "claims": {"a": "1"}, "code": {"top": "2"}, "modules": {"m": "3"}, "versions": {"numpy": "2"},
             "data": {"d/test": None}, "made": made, "results": {name: sums[name] for name in names[:3]},
             "earlier": {names[3]: sums[names[3]]}, "workflow": {}}  # fmt: skip
    other = whole | {"study": "../other", "earlier": sums | {"../../precious.zip": "0" * 64}}
    return [json.dumps(content).encode() for content in (whole, {**whole, "results": {}}, other, [whole])]


_SEEDS = {
    "manifest": _manifests,
    "letor": _letor,
    "groups": _groups,
    "parts": _parts,
    "part": _part_results,
    "folder": lambda: [bytes(range(12)), bytes(range(6, 24)), bytes((0, 1, 12)), bytes((0, 1, 18)), bytes((2, 12, 1))],
    "sums": _sums,
    "apply": _contexts,
    "seal": lambda: [b"", files.MARK, b"{" + files.MARK + b"0000", *_campaigns(), *_runs()[:1]],
    "results": _results,
    "uci": _uci,
    "log": _logs,
    "visits": _visits,
    "contexts": _contexts,
    "policy": _policies,
    "openbandit": _openbandit,
    "parquet": _tables,
    "stream": _streams,
    "run": _runs,
    "yaml": _settings,
    "campaign": _campaigns,
    "archive": _archives,
    "answer": _answers,
}
