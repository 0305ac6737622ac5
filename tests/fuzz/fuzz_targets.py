"""What is fuzzed: one function for each parser of outside data, and files to start from.

A target is given any bytes. It returns if they were read rightly or refused with a `ScantError`;
every other exception, a crash or a wrong result is a finding. `fuzz.py` runs the targets under
coverage, `tests/unit/test_fuzzing.py` with Hypothesis and on the corpus.
"""

import atexit
import contextlib
import errno
import itertools
import json
import os
import re
import shutil
import socket
import tempfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import urllib3

from scant import files, schema
from scant.bandits import campaigns
from scant.data import fetch, letor, logs, openbandit, registry, stream, tables, uci
from scant.data.registry import Archive, Dataset, Part
from scant.errors import ScantError
from scant.finished import archive as crates
from scant.finished import differences, provenance, reading, verifying
from scant.finished.results import Results
from scant.present import traces
from scant.rankers import learners, play
from scant.study import settings as study
from scant.study.plan import Runs
from scant.verdict import readings
from scant_ads import Log, Policy
from scant_ads.evaluation import basis, compare, result
from scant_ads.policies import applying, encoding
from scant_ads.reading import batches, formats

ROOT = Path(__file__).parents[2]
FOLDER = Path(tempfile.mkdtemp(prefix="scant-fuzz-"))
OWN = os.getpid()
# children leave it
atexit.register(lambda: os.getpid() == OWN and shutil.rmtree(FOLDER, ignore_errors=True))
D, TOP = 3, 4  # features and highest grade of what is fuzzed
ranking = Dataset(
    "toy", "ranking", "parquet", D, {"all": Part("all", "toy")}, ("all",), "toy", grades=TOP
)
examples = Dataset(
    "toy", "classification", "parquet", D, {"all": Part("all", "toy")}, ("all",), "toy"
)
_numbers = itertools.count()


@contextmanager
def written(data: bytes):
    """A new file of these bytes; names are used once, as an earlier file may still be mapped."""
    path = FOLDER / f"{next(_numbers)}"
    path.write_bytes(data)
    try:
        with patch.object(files, "check_seal"), patch.object(stream, "check_seal"):
            yield path
    finally:
        path.unlink()


def as_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", write_statistics=False)
    return sink.getvalue().to_pybytes()


# --- text
def fuzz_letor(data: bytes) -> None:
    """The compiled parser agrees with the grammar in regular expressions, for any blocks."""
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
                np.testing.assert_allclose(
                    features, [row[3] for row in stated], rtol=2e-7, atol=2e-45
                )


NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def fuzz_groups(data: bytes) -> None:
    """Sizes of queries, a zero byte, and a text without query ids become a table, or none."""
    sizes, _, text = data.partition(b"\0")
    lines = [line.strip() for line in sizes.removeprefix(files.BOM).decode("latin-1").split("\n")]
    rows, groups = letor_rows(text, "beside"), [line for line in lines if line]
    whole = (
        rows
        and text.endswith(b"\n")
        and all(re.fullmatch(r"[1-9]\d{0,8}", line, re.ASCII) for line in groups)
    )
    whole = whole and sum(map(int, groups)) == len(rows)
    with folder_of({"a.txt": text, "a.txt.query": sizes}) as folder:
        part = Part("all", str(folder / "a.txt"))
        wanted = Dataset(
            "toy", "ranking", tables.GROUPS, D, {"all": part}, ("all",), "toy", grades=TOP
        )
        try:
            tables.convert(wanted, "all", part.file, target := folder / "table.parquet")
        except ScantError:
            assert not whole
            assert {path.name for path in folder.iterdir()} == {"a.txt", "a.txt.query"}
            return
        assert whole
        query, grade, features = map(np.concatenate, zip(*tables.read_ranking(target), strict=True))
    assert query.tolist() == [
        query for query, size in enumerate(groups, 1) for _ in range(int(size))
    ]
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
    """(line, query, grade, features) of each row, or None; `qid`: field, comment or beside."""
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
            if (
                not colon
                or not re.fullmatch(r"\d{1,9}", index, re.ASCII)
                or not last < int(index) <= D
            ):
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
            assert features.shape == (len(label_), D) == (len(line), D)
            assert np.isfinite(features).all()
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
        opened = formats.read(path, {"reward": "click"}, ("drop",), ("y",))
        assert (opened.visits is None) == any(
            problem.severity == "error" for problem in opened.problems
        )
        for problem in opened.problems:
            assert opened.place(problem) or problem.row is None
        if opened.visits is None:
            return
        str(Log.read(path, {"reward": "click"}).check())
        with suppress(ScantError):
            found = compare.evaluate(
                opened.visits.policies,
                Log.read(path, {"reward": "click"}),
                least_propensity=basis.UNKNOWN,
            )
            json.dumps(result._plain(found.rows[-1])), found.text(), found._repr_html_()
        log = opened.visits
        assert ((log.reward >= 0) & (log.reward <= 1)).all()
        assert ((log.propensity > 0) & (log.propensity <= 1)).all()
        assert ((log.action >= 0) & (log.action < len(log.actions))).all()
        assert not np.isinf(log.features).any()
        encoded = encoding.fit(log).transform(log)
        logs.check(encoded, "log")


def fuzz_parts(data: bytes) -> None:
    """A folder of parquet files, one of any bytes: numbers do not depend on how rows are read."""
    if not data:
        return
    with folder_of(
        {f"{data[0] % 2}.parquet": data[1:]}
        | ({"2.parquet": good_part()} if data[0] % 4 > 1 else {})
    ) as folder:
        found = []
        for rows in (2, 1 << 18):
            with suppress(ScantError):
                log = Log.read(folder, {"reward": "click"}, ("drop",), ("y",))
                str(log.check()), log.column_names
                found.append(compare.evaluate(("uniform",), log, rows=rows).rows)
        if len(found) == 2:
            for first, second in zip(*found, strict=True):
                assert repr(first) == repr(second)


PLACES = ("{}.parquet", "day=1/{}.parquet", ".{}.parquet", "_temporary/0/{}.parquet")
PLACES += ("a/.b/{}.parquet", "{}.crc")


def fuzz_folder(data: bytes) -> None:
    """A folder in which each byte is an entry: a part, another file, or a link to one before."""
    shown, hidden, twice = set(), set(), False
    with folder_of({}) as folder:
        for number, byte in enumerate(data[:12]):
            place, kind = byte % len(PLACES), byte // len(PLACES) % 4
            path = folder / PLACES[place].format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            others = sorted(shown | hidden)
            if kind < 2 or not others:
                path.write_bytes(good_part())
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
        assert not twice and {*log.source.files} == shown and {*log.source.left_out} == hidden
        assert len(log) == 2 * len(shown)


def fuzz_apply(data: bytes) -> None:
    """New visits, for which a policy chooses ads: a whole file with a row for each, or none."""
    with folder_of({"visits": data}) as folder:
        cases = (("out.csv", ("more",)), ("out.parquet", ("city", "more")), ("out.csv", ()))
        for name, keep in cases:
            target = folder / name
            try:
                done = applying.apply(
                    _policy(), folder / "visits", target, epsilon=0.3, seed=1, keep=keep
                )
            except ScantError:
                assert {path.name for path in folder.iterdir()} == {"visits"}
                continue
            table = pa.csv.read_csv(target) if name.endswith(".csv") else pq.read_table(target)
            assert table.num_rows == done.rows > 0
            assert table.column_names == [*keep, "action", "propensity"]
            target.unlink()


@cache
def _policy() -> Policy:
    random = np.random.default_rng(0)
    shown = {"action": random.choice(["a", "b"], 60), "reward": random.integers(0, 2, 60)}
    seen = {"x": [None, *random.random(59)], "city": random.choice(["u", "v"], 60)}
    log = pa.table(shown | {"propensity": [0.5] * 60} | seen)
    return Policy("logistic", steps=50, lambdas=(0.1,)).fit(log)


@cache
def good_part() -> bytes:
    """A good part of a folder, like that of `_visits`."""
    columns = {"action": ["a", "b"], "click": [0, 1], "propensity": [0.5, 0.5], "y": [1, 2]}
    columns |= {"city": ["u", "v"], "when": pa.array([0, 1], pa.timestamp("s")), "drop": [1, 2]}
    return as_parquet(pa.table(columns))


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
        columns = {
            name: ["u", ""] if name in policy.learnt.encoder.texts else [0.5, None]
            for name in policy.learnt.encoder.names
        }
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
                    assert np.isfinite(block.features).all()
                    assert block.features.shape == (len(block.line), D)
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
            learner = learners.Slam.from_study(
                slam, {"source": "text"}, there.metadata, 1.0, random
            )
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
        for seal in (b"", files.MARK, files.MARK + files.BLANK.encode() + data[:9]):
            path.write_bytes(data + seal)
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
    names = ("manifest.json", "claims.parquet", "claims-readings.csv", "tables/finals.csv")
    names += ("runs/e/s/l/run.parquet",)
    name = names[data[0] % len(names)] if data else "manifest.json"
    with folder_of({}) as folder:
        (path := folder / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[1:])
        there = Results(folder)
        for look in (
            lambda: there.manifest,
            lambda: there.claims,
            lambda: there.readings,
            lambda: there.finals,
            lambda: there.runs("e"),
            lambda: readings.read(folder / "claims-readings.csv"),
            lambda: readings.claims(folder / "claims.parquet"),
        ):
            with suppress(ScantError):
                look()


# a finished study: what its manifest lists, and what is a user's
STUDY = {
    "results/small/claims.csv": b"id,verdict,estimate,low,high,n\na,holds,1,0,2,3\n",
    "results/small/tables/finals.csv": b"learner,mean\na,1\n",
    "results/small/report.html": b"<p>page</p>",
    "results/small/tables/mine.csv": b"mine",
    "results/other/tables/old.csv": b"of another study",
    "results/reference/other/claims.csv": b"of another reference",
    "precious.zip": b"mine",
}


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
            lambda: study.manifest,
            lambda: verifying.verify(folder),
            lambda: reading.keep(folder),
            lambda: differences.describe(
                differences.compare(reading.read(folder), reading.read(folder))
            ),
            lambda: crates.write(folder),
            lambda: crates.write(folder, "precious.zip"),
        ):
            try:
                look()
            except OSError as error:  # one line on the command line, too
                assert error.errno == errno.ENAMETOOLONG
            except ScantError as error:
                assert "\n" not in str(error)
        for name, content in STUDY.items():
            assert Path(name).read_bytes() == content, name
        there = {path.as_posix() for path in Path().rglob("*") if path.is_file()}
        assert all(
            name.startswith("results/reference/small/")
            or name in ("small.zip", "results/small/manifest.json")
            for name in there - {*STUDY}
        ), there
        if Path("small.zip").exists():
            with zipfile.ZipFile("small.zip") as packed:
                assert not any(
                    name.startswith("/") or ".." in name.split("/") for name in packed.namelist()
                )


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
        content = list(content.values())
    for value in content if isinstance(content, list) else ():
        yield from _keys(value)


REGISTRY, DATASETS_SCHEMA = (
    ROOT / "config/datasets.yaml",
    ROOT / "workflow/schemas/datasets.schema.yaml",
)
_load, _read = registry.load, schema.read_yaml
_once = cache(_read)


def _files_of_the_project():
    """A context in which files of the project are read once, and its registry is checked once."""

    def read(path):
        return _once(path) if ROOT in Path(path).parents else _read(path)

    def load(path=REGISTRY, extra=None, schema=DATASETS_SCHEMA, study=""):
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
    wanted = Dataset(
        "toy", "ranking", "letor", D, {"all": part}, ("all",), "toy", archive=archive, own=True
    )
    cache = fetch.cache_name(wanted) if archive else ""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        folder = Path(folder)
        mirror, target = folder / "mirror", folder / "out/target"
        (mirror / "toy").mkdir(parents=True)
        target.parent.mkdir()
        (target.parent / cache if suffix is None else mirror / f"toy/a.txt{suffix}").write_bytes(
            data[1:]
        )
        with suppress(ScantError):
            fetch.fetch(wanted, "all", target, str(mirror), log=lambda text: None)
        there = {path.name for path in target.parent.iterdir()}
        assert there <= {"target", cache, ".toy.lock"}, there
        assert {path.name for path in folder.iterdir()} == {"mirror", "out"}


def fuzz_answer(data: bytes) -> None:
    """A server's raw answer; one byte says whether it is a mirror, has the file or an archive."""
    if not data:
        return
    url = "http://toy/a.gz" if data[0] % 8 > 3 else "http://toy/a"
    place = ("mirror", "url", "archive", "url")[data[0] % 4]
    part, archive = Part("all", "a.txt", url=url if place == "url" else None), Archive(url)
    wanted = Dataset(
        *("toy", "ranking", "letor", D, {"all": part}, ("all",), "toy"),
        archive=archive if place == "archive" else None,
        plain_http=True,
        own=True,
    )

    def connected(connection):
        ours, theirs = socket.socketpair()
        theirs.sendall(data[1:])
        theirs.shutdown(socket.SHUT_WR)
        opened.callback(theirs.close)
        opened.callback(ours.close)
        return ours

    with (
        ExitStack() as opened,
        tempfile.TemporaryDirectory(dir=FOLDER) as folder,
        suppress(ScantError),
    ):
        opened.enter_context(
            patch.object(urllib3.connection.HTTPConnection, "_new_conn", connected)
        )
        opened.enter_context(patch.object(fetch.time, "sleep"))
        opened.enter_context(patch.dict(os.environ, {"NO_PROXY": "*", "no_proxy": "*"}))
        (target := Path(folder, "out/target")).parent.mkdir()
        try:
            mirror = url if place == "mirror" else folder
            result = fetch.fetch(wanted, "all", target, mirror, log=lambda text: None)["bytes"]
            assert result <= 1100 * len(data)
        except ScantError as error:
            assert len(str(error)) < 900 and str(error).isprintable()
            assert not target.exists()
            raise
        finally:
            there = {path.name for path in target.parent.iterdir()}
            assert there <= {"target", ".toy.lock"} | (
                {fetch.cache_name(wanted)} if wanted.archive else set()
            ), there


TARGETS = {
    name.removeprefix("fuzz_"): target
    for name, target in list(globals().items())
    if name.startswith("fuzz_")
}
