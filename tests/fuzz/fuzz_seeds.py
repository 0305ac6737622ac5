"""Files to start fuzzing from: small ones that the targets accept, and some that they refuse."""

import gzip
import hashlib
import io
import json
import math
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from fuzz_targets import FOLDER, ROOT, STUDY, D, as_parquet, examples, good_part, ranking

from scant import files
from scant.bandits import campaigns
from scant.data import logs, stream, tables
from scant_ads import Policy
from scant_ads.reading import formats


def seeds(name: str) -> list[bytes]:
    """Small files that the target accepts, and some that it refuses."""
    return _SEEDS[name]()


def _letor() -> list[bytes]:
    return [
        b"2 qid:10 1:0.5 2:-1e-3 3:7 # doc\n0 qid:10 2:.25\r\n\n# note\n+1.0 qid:11 1:1 3:1e2\n",
        b"0 1:2 # 7\n1 3:0.1#7 x\n4 # 8",
        b"1 qid:1 1:nan\n",
        (
            b"1 qid:1 1:1e39\n2 qid:1 1:1e-0001\n0 qid:2 1:123456789012345678901234567890e-30 "
            b"2:0.000000000000000001\n"
        ),
    ]


def _uci() -> list[bytes]:
    blanks = [b"a 1\t2.5  -3e2\n b 4 5 6\r\n", b"1 2 3 a\n4 5 6 1.0", b"1 2;3 4 a\n"]
    return [
        *blanks,
        b"a,1,2.5,-3e2\nb, 4,5,6\r\n\n01.,7,8,9\n",
        b"1,2,3,a\n4,5,6,1.0\n",
        b"1,nan,3,4\n",
        b"1,2\n",
    ]


def _logs() -> list[bytes]:
    text = (
        b"action,reward,propensity,timestamp,position,propensity:a,propensity:b,policy:p,x,y=1\n"
        b"a,0,0.25,2019-11-24 "
        b"00:03:13+00:00,1,0.25,0.75,0.5,31,1\nb,1,0.75,2019-11-24T00:03:13Z,2,0.25,0.75,1,-4e2,0\n"
    )
    log = formats.read_log(_put(text))
    logs.write(log, own := FOLDER / "own.parquet")
    frame = {"action": [1, 2], "reward": [0.0, 1.0], "propensity": [0.5, 0.5]}
    frame |= {"policy:p": [0.1, 1], "x": [1, 2]}
    least = b"action,reward,propensity,x\n1,0,.5,1\n1,1,.5,2\n"
    return [text, least, own.read_bytes(), as_parquet(pa.table(frame))]


def _visits() -> list[bytes]:
    text = (
        b"action;click;propensity;timestamp;y;city;x\na;0;0,25;1574553793;1;Ulm;1,5\nb;1;0,75;1574553794;2;;NA\n"
        b"a;1;0,25;1574553795;1;Bonn;-2\n"
    )
    columns = {"action": pa.array(["a", "b", "a"]).dictionary_encode(), "click": [0, 1, None]}
    columns |= {"propensity": [0.5, 0.5, 0.5], "y": [1, 2, None], "city": ["u", None, "v"]}
    columns |= {"when": pa.array([0, 1, 2], pa.timestamp("s")), "drop": [1, 2, 3]}
    frame = pa.table(columns)
    made = [text, text.replace(b";", b"\t"), b"\x1f\x8b" + gzip.compress(text, mtime=0)[2:]]
    made += [as_parquet(frame)]
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
    event = {"_label_cost": -1, "_label_probability": 0.5, "_labelIndex": 1, "a": [2, 1]}
    event |= {"p": [0.5, 0.5], "EventId": "e", "Timestamp": "2021-02-04T16:31:29Z", "pdrop": 0}
    event |= {"c": {"User": [context], "_multi": [{"_tag": "a"}, {"i": {"id": "b"}}]}}
    return [
        *(
            as_parquet(pa.table(table | {"context": contexts}))
            for contexts in (texts, [context, {}, None])
        ),
        (json.dumps(event) + "\n" + json.dumps({"RewardValue": 1}) + "\n").encode(),
        b"1:-1:0.5 2:0 'tag| a b:0.5 |n:2 x:1 city:paris\n2:0:0.5 |n x\n",
        b"shared |u a:1 b\n0:-1:0.5 t|A x\n|A y\n\nshared | a\n|A x\n0:0:0.5 |A y\n",
        b",action,click,propensity,x\n0,a,0,25 %,1\n1,b,1,50 %,2\n",
    ]


def _openbandit() -> list[bytes]:
    return [
        b",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1\n"
        b"0,2019-11-24 00:00:17.0041+00:00,1,3,0,0.5,81ce,0.0,1.5\n1,2019-11-24 "
        b"00:00:18+00:00,0,1,1,0.5,81cf,0.0,0\n",
        b"timestamp,item_id,position,click,action_prob,user_feature_0,user-item_affinity_0\n2019-11-24,0,3,0,1,a,0.0\n",
    ]


def _features() -> dict:
    return {f"f{i + 1}": pa.array([0.5, i, -1], pa.float32()) for i in range(D)}


def _tables() -> list[bytes]:
    own = {"query": [1, 1, 2], "grade": [0, 4, 1]} | _features()
    made = []
    for dataset, table in (
        (ranking, pa.table(own)),
        (examples, pa.table({"label": ["a", "1", "01"]} | _features())),
    ):
        made.append(as_parquet(table))
        tables.convert(dataset, "all", _put(made[-1]), target := FOLDER / "made.parquet")
        made.append(target.read_bytes())
    return made


def _streams() -> list[bytes]:
    path = FOLDER / "seed.arrow"
    queries = [(q, np.arange(q + 2) % 3, np.arange(2.0 * (q + 2)).reshape(-1, 2)) for q in range(3)]
    stream.write(path, queries, {"stream": "toy"}, np.array([1.0, 0.0]))
    return [path.read_bytes()]


def _runs() -> list[bytes]:
    place = {"experiment": "e", "stream": "s"}
    about = {"kind": "perceptron", **place, "learner": "l", "source": "paper"}
    about |= {"own_measure": "ndcg", "learner_settings": {"kind": "slam"}}
    about |= {"resolved": {}, "stream_settings": {}}
    rows = {"seed": [0, 1], "rate": [1.0, np.nan], "theory": [0, 1]}
    rows = pa.table(rows | {"round": [1, 1], "ndcg": [0.5, 1.0]})
    game = {"kind": "fixed-items", **place, "items": 3, "loss": "sum", "gain": False}
    best = pa.table({"seed": [0], "round": [1], "best": [1.0], "gap": [0.1], "norm": [1.0]})
    made = []
    cases = ((rows, about), (rows, game | {"game": {"stream": "g"}}))
    cases += ((rows, about | {"kind": "ads"}), (best, place | {"judge": "kl"}))
    for table, metadata in cases:
        files.write_parquet(table, path := FOLDER / "run.parquet", metadata)
        made.append(path.read_bytes())
    return made


def _answers() -> list[bytes]:
    text, head = b"2 qid:10 1:0.5\n", b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s"
    packed = gzip.compress(text, mtime=0)
    whole = [head % (len(text), b"", text)]
    whole += [head % (len(packed), b"Content-Encoding: gzip\r\n", packed)]
    found = [
        b"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n" % to
        for to in (b"https://[::1", b"/b", b"http://b:9/c", b"")
    ]
    chunks = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n2 qid\r\n3\r\n:1\n\r\n0\r\n\r\n"
    )
    others = [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 -1 no\r\n\r\n"]
    others += [b"HTTP/1.1 404 Not Found\r\n\r\n", chunks]
    return [bytes([place]) + answer for place in range(5) for answer in (*whole, *found, *others)]


def _settings() -> list[bytes]:
    names = ("config/studies/tiny.yaml", "config/studies/ads.yaml", "config/studies/games.yaml")
    small = [
        b"a: &a [1, 2]\nb: *a\nc: {<<: {d: 1}}\n",
        b"true: 1\nTrue: 2\n",
        b"a: {1: 1, 1.0: 2, 0x1: 3}\n? &b c\n: 0xff\n*b : 1e400\n",
        b"~: 1\nnull: !!set {a, b}\n",
        b"toy:\n  title: T\n  home: https://h\n  terms: None.\n  task: ranking\n  parser: letor\n  "
        b"features: 3\n"
        b"  grades: 2\n  normalised: false\n  parts: {all: {file: a.txt, sha256: null}}\n",
    ]
    return [*small, *(re.sub(rb"(?m)^ *#.*\n", b"", (ROOT / name).read_bytes()) for name in names)]


def _campaigns() -> list[bytes]:
    pieces = campaigns.Pieces("linear", np.array([0, 1]), np.array([0, 1]), np.zeros((2, 2)))
    made = campaigns.Campaign(
        "hotel",
        campaigns.Settings(dimensions=3, informative=2),
        100,
        np.full(5, 0.2),
        np.full(5, 0.1),
        np.array([np.nan, np.nan, 0.5]),
        pieces,
        np.ones((2, 5)),
        np.zeros(5),
        np.ones((3, 5)),
        np.zeros(5),
    )
    campaigns.save(made, path := FOLDER / "campaign.json")
    held = json.loads(path.read_text())
    del held[files.SEAL]
    return [json.dumps(held).encode()]


def _archives() -> list[bytes]:
    content = b"0 qid:1 1:0.5\n" * 3
    made = [b"\0" + content, b"\1" + gzip.compress(content, mtime=0)]
    made += [b"\2\x1f\x9d\x90" + struct.pack("<5H", 97, 2, 3, 4, 5)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), content, zipfile.ZIP_DEFLATED)
    made.append(b"\3" + packed.getvalue())
    return made


def _put(data: bytes) -> Path:
    path = FOLDER / "seed"
    path.write_bytes(data)
    return path


def _contexts() -> list[bytes]:
    text = b"x,city,more\n1,Ulm,a\n,Bonn,b\nNA,,c\n2.5,Ulm,d\n"
    frame = pa.table({"x": [1.0, None, 2.0], "city": ["u", None, "v"], "more": [1, 2, 3]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, frame.schema) as writer:
        writer.write_table(frame)
    packed = b"\x1f\x8b" + gzip.compress(text, mtime=0)[2:]
    wrong = b"x;city\nold;Ulm\n", b"city,y=1\nUlm,2\n", b"x,city\n"
    return [
        text,
        text.replace(b",", b";"),
        packed,
        as_parquet(frame),
        sink.getvalue().to_pybytes(),
        *wrong,
    ]


def _policies() -> list[bytes]:
    random = np.random.default_rng(0)
    columns = {"action": random.choice(["a", "b", "c"], 60), "reward": random.integers(0, 2, 60)}
    columns |= {"propensity": [1 / 3] * 60, "x": [None, *random.random(59)]}
    columns |= {"city": random.choice(["u", "v"], 60)}
    log = pa.table(columns)
    made = []
    for kind in ("logistic", "forest", "auc-ranker", "cost-sensitive-oaa", "filter-tree"):
        Policy(kind, steps=50, lambdas=(0.1,), trees=2).fit(log).save(
            path := FOLDER / "policy.arrow"
        )
        made.append(path.read_bytes())
    return made


def _groups() -> list[bytes]:
    text = b"2 1:0.5 3:7\n0 2:.25 # doc\n\n+1.0 1:1\r\n"
    return [
        b"2\n1\n\0" + text,
        b"3\n\0" + text,
        b" 1\r\n2 \0# note\n" + text,
        b"1\n\0" + text,
        b"x\n\0" + text,
    ]


def _parts() -> list[bytes]:
    made = [good_part(), *(seed for seed in _visits() if seed.startswith(b"PAR1"))]
    columns = {"action": ["a", "b"] * 40, "click": [0, 1, 1, 0] * 20, "propensity": [0.5] * 80}
    columns |= {"y": [*range(80)], "city": ["u", "v"] * 40}
    columns |= {"when": pa.array([*range(80)], pa.timestamp("s"))}
    many = pa.table(columns)
    made += [
        as_parquet(many),
        as_parquet(many.drop_columns("city")),
        as_parquet(many.set_column(0, "action", [[1, 2] * 40])),
    ]
    return [bytes([at % 4]) + content for at, content in enumerate(made * 2)]


def _results() -> list[bytes]:
    claims = pa.table({"id": ["a"], "verdict": ["holds"], "estimate": [0.5]})
    files.write_parquet(claims, path := FOLDER / "claims.parquet", {"readings": "00000000"})
    rows = (
        b"claim,reading,first,place,against,estimate,low,high,n\na,paper,True,x,y "
        b"(e),0.5,0.1,0.9,20\n"
    )
    made = [b"\0" + b'{"study": {"a": 1}}', b"\1" + path.read_bytes(), b"\2" + rows]
    made += [b"\3measure,value\nndcg,0.5\n"]
    return made + [b"\4" + run for run in _runs()]


def _manifests() -> list[bytes]:
    names = ("claims.csv", "tables/finals.csv", "report.html")
    sums = {name: hashlib.sha256(STUDY[f"results/small/{name}"]).hexdigest() for name in names}
    made = {"date": "2026-11-23T05:46:42+00:00", "commit": "ce9418c", "clean": True, "lock": None}
    whole = {"study": "small", "files": {name: sums[name] for name in names[:2]}}
    whole |= {"settings": {"rates": [1, math.inf]}, "claims": {"a": "1"}, "code": {"top": "2"}}
    whole |= {"modules": {"m": "3"}, "versions": {"numpy": "2"}, "data": {"d/test": None}}
    whole |= {"made": made, "results": sums, "workflow": {}}
    other = whole | {"study": "../other", "results": sums | {"../../precious.zip": "0" * 64}}
    return [
        json.dumps(content).encode()
        for content in (whole, {**whole, "results": {}}, other, [whole])
    ]


_SEEDS = {
    "manifest": _manifests,
    "letor": _letor,
    "groups": _groups,
    "parts": _parts,
    "folder": lambda: [
        bytes(range(12)),
        bytes(range(6, 24)),
        bytes((0, 1, 12)),
        bytes((0, 1, 18)),
        bytes((2, 12, 1)),
    ],
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
