"""Any bytes are read rightly or refused with a ScantError: arbitrary ones, files with defects, odd
columns, the corpus.

The targets and the files to start from are those of the fuzzer, `tests/fuzz`.
"""

import json
import zipfile
from datetime import date, datetime
from decimal import Decimal

import fuzz_seeds
import fuzz_targets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

SEEDS = {name: fuzz_seeds.seeds(name) for name in fuzz_targets.TARGETS}
every_target = pytest.mark.parametrize("name", fuzz_targets.TARGETS)


@every_target
def test_files_to_start_from(name):
    for seed in SEEDS[name]:
        fuzz_targets.TARGETS[name](seed)


@every_target
@given(data=st.data())
def test_files_with_defects(name, data):
    """A byte changed, a slice left out, doubled or replaced, a file cut short; one to three
    times.
    """
    content = data.draw(st.sampled_from(SEEDS[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        middle = data.draw(
            st.sampled_from((b"", content[start:stop] * 2)) | st.binary(min_size=1, max_size=9)
        )
        stop = data.draw(st.sampled_from((start + 1, stop, len(content))))
        content = content[:start] + middle + content[stop:]
    fuzz_targets.TARGETS[name](content)


@every_target
def test_what_the_fuzzer_kept(name):
    with zipfile.ZipFile(fuzz_targets.ROOT / f"tests/fuzz/corpus/{name}.zip") as archive:
        for member in archive.namelist():
            fuzz_targets.TARGETS[name](archive.read(member))


# --- manifests that are JSON, but not of a study

NAMES = st.text(max_size=5) | st.sampled_from(
    yaml.safe_load(
        r"""["../other", "../../precious.zip", "/etc/hostname", "tables/../../x", ".",
        "tables/old.csv", "Snakefile", "a\0", "small"]"""
    )
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
WHOLE = json.loads(SEEDS["manifest"][0])


FORGED = st.dictionaries(
    st.sampled_from(list(WHOLE)), JSON | st.dictionaries(NAMES, st.just("0" * 64)), max_size=3
)


@given(FORGED)
def test_forged_manifests(changes):
    fuzz_targets.fuzz_manifest(json.dumps(WHOLE | changes).encode())


# --- parquet of types that nobody expects


NUMBER = st.floats() | st.sampled_from((0.0, 1.0, -1.0, 1e39, 2.0**63, -(2.0**63)))
KINDS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): NUMBER,
    pa.float16(): st.floats(width=16),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=3)
    | st.sampled_from(("1", "01", "nan", "9" * 5000, "2019-11-24")),
    pa.string_view(): st.sampled_from(("a", "1", "", "2019-11-24")),
    pa.binary(): st.binary(max_size=3),
    pa.timestamp("ns"): st.just(datetime(2019, 11, 24)),
    pa.timestamp("s", "UTC"): st.just(datetime(9999, 11, 24)),
    pa.date32(): st.just(date(1, 1, 1)),
    pa.duration("s"): st.integers(-9, 9),
    pa.decimal128(5, 2): st.just(Decimal("1.25")),
    pa.list_(pa.float64()): st.lists(NUMBER, max_size=2),
    pa.struct({"a": pa.int8()}): st.just({"a": 1}),
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from("ab"),
    pa.null(): st.none(),
}


@st.composite
def odd_parquet(draw, names):
    """A parquet file of these columns: some of odd types, some doubled or left out."""
    rows, columns = draw(st.integers(0, 3)), {}
    for name in draw(st.permutations(names)):
        kind = draw(st.sampled_from(list(KINDS)))
        values = KINDS[kind] | st.none() if draw(st.booleans()) else KINDS[kind]
        if draw(st.integers(0, 3)):  # mostly what it should be
            kind, values = pa.float64(), st.sampled_from((0.0, 1.0, 0.5))
        columns[name] = pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind)
    keep = draw(st.sampled_from((0, 0, 0, 1)))
    names = list(columns)[keep:]
    doubled = names + names[:1] if draw(st.integers(0, 9)) == 0 else names
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays([columns[name] for name in doubled], doubled), sink)
    return sink.getvalue().to_pybytes()


LOG = ["propensity", "timestamp", "policy:p", "x", "y"]
ODD = {  # columns by what reads them
    "log": [*LOG, "action", "reward", "position", "propensity:a"],
    "visits": [*LOG, "action", "click", "propensity:a", "drop"],
    "parquet": ["query", "grade", "label", "f1", "f2", "f3"],
    "contexts": ["x", "city", "more"],
    "apply": ["x", "city", "more"],
    "parts": [*LOG, "action", "click", "drop"],
}


@pytest.mark.parametrize("name", ODD)
@given(data=st.data())
def test_odd_columns(name, data):
    content = data.draw(odd_parquet(ODD[name]))
    form = bytes([data.draw(st.integers(0, 3))]) if name == "parts" else b""
    getattr(fuzz_targets, f"fuzz_{name}")(form + content)
