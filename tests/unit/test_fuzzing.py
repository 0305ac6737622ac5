"""Any bytes are read rightly or refused with a ScantError: files with defects, odd columns, the
corpus.

Targets and the files to start from are those of the fuzzer, `tests/fuzz`.
"""

import zipfile
from datetime import datetime
from decimal import Decimal

import fuzz_targets
import pyarrow as pa
import pytest
from fuzz_targets import TARGETS
from hypothesis import given
from hypothesis import strategies as st

every_target = pytest.mark.parametrize("name", TARGETS)


@every_target
def test_what_the_fuzzer_kept(name):
    with zipfile.ZipFile(fuzz_targets.ROOT / f"tests/fuzz/corpus/{name}.zip") as archive:
        for member in archive.namelist():
            fuzz_targets.run(name, archive.read(member))


@every_target
def test_files_with_defects(name):
    """A byte changed, a slice left out, doubled or replaced, a file cut short; 1 to 3 times."""
    seeds = TARGETS[name][1]()

    @given(st.data())
    def damaged(data):
        content = data.draw(st.sampled_from(seeds))
        for _ in range(data.draw(st.integers(0, 3))):
            start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
            doubled = st.sampled_from((b"", content[start:stop] * 2))
            middle = data.draw(doubled | st.binary(min_size=1, max_size=9))
            stop = data.draw(st.sampled_from((start + 1, stop, len(content))))
            content = content[:start] + middle + content[stop:]
        fuzz_targets.run(name, content)

    damaged()


# two rows of types that nobody expects
ODD = [
    pa.array([None, 2**63 - 1]),
    pa.array([0, 2**64 - 1], pa.uint64()),
    pa.array([float("nan"), 1e39]),
    pa.array([True, None]),
    pa.array(["01", "9" * 5000]),
    pa.array(["", "2019-11-24"], pa.string_view()),
    pa.array([b"\xff", b""]),
    pa.array([datetime(2019, 11, 24), datetime(9999, 11, 24)], pa.timestamp("s", "UTC")),
    pa.array([-9, 9], pa.duration("s")),
    pa.array([Decimal("1.25"), None]),
    pa.array([[1.0], []]),
    pa.array([{"a": 1}, None]),
    pa.array(["a", "b"]).dictionary_encode(),
    pa.nulls(2),
]
COLUMNS = {  # by what reads them
    "log": "propensity timestamp policy:p x y action reward position propensity:a",
    "visits": "propensity timestamp policy:p x y action click propensity:a drop",
    "parquet": "query grade label f1 f2 f3",
    "apply": "x city more",
}


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_odd_columns(name, data):
    """A parquet file in which some columns are odd, left out or there twice."""
    named = st.sampled_from(COLUMNS[name].split())
    odd = data.draw(st.dictionaries(named, st.sampled_from(ODD), max_size=3))
    columns = dict.fromkeys(COLUMNS[name].split(), pa.array([0.5, 1.0])) | odd
    columns.pop(data.draw(st.none() | named), None)
    names = [*columns, *data.draw(st.just([]) | st.lists(st.sampled_from([*columns]), max_size=1))]
    table = pa.Table.from_arrays([columns[name] for name in names], names)
    fuzz_targets.run(name, fuzz_targets.as_parquet(table))
