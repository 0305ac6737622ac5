"""Saved policies whose parts do not fit each other, with a right seal, are refused where they are
loaded.

When only the paths of trees were looked at, of 4,719 such files 651 ended in a traceback and 2,593
were taken.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from test_ads_api import LEARNT, QUICK, frame

import scant_ads as sa
from scant import files
from scant.errors import DataError, SettingError

ODD = (None, -5, 1e999, [7], {"a": 1}, [["a"], "a"])
TYPES = (pa.int64(), pa.int32(), pa.float32(), pa.float64())


@pytest.fixture(scope="module", params=LEARNT)
def saved(request, tmp_path_factory):
    """The arrays and the metadata of a saved policy, by name, and a path to write others to."""
    path = tmp_path_factory.mktemp("saved") / "policy.arrow"
    log = frame(600)
    extra = pd.DataFrame({"action": ["never"] * 20, "reward": 0, "propensity": 0.1, "kind": "red"})
    log = pd.concat([log, extra], ignore_index=True)
    sa.fit(log, request.param, epsilon=0.25, select=0.8, **QUICK).save(path)
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        table = reader.read_all()
    arrays = {name: table.column(name).chunk(0).flatten() for name in table.column_names}
    return arrays, files.metadata_of(table.schema), path


def write(path, arrays, described) -> None:
    columns = {name: pa.ListArray.from_arrays([0, len(one)], one) for name, one in arrays.items()}
    table = pa.table(columns).replace_schema_metadata(files.encoded(described))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    files.seal(path)


def of_metadata(described: dict):
    """Metadata without one of their keys, or with another value for it."""
    for key, value in described.items():
        yield {name: one for name, one in described.items() if name != key}
        yield from (described | {key: odd} for odd in ODD if odd != value)
    settings, names = described["settings"], described["names"]
    for key in settings:
        yield described | {"settings": {name: settings[name] for name in settings if name != key}}
        yield described | {"settings": settings | {key: {"a": 1}}}
    yield described | {"settings": settings | {"epsilon": 1.5}}
    yield described | {"settings": settings | {"threshold": "best"}}
    for key in ("names", "actions"):
        yield described | {key: described[key] + described[key][:1]}
        yield described | {key: described[key][1:]}
    yield described | {"untrained": ["somebody"]}
    yield described | {"texts": {name: ["a", "a"] for name in names}}


def of_array(values: pa.Array):
    """An array with a number more or less, of another type, or with a number that cannot be."""
    plain = values.to_numpy()
    yield pa.array(np.append(plain, plain.dtype.type(0)), values.type)
    if not len(plain):
        return
    yield from (values.cast(other, safe=False) for other in TYPES if other != values.type)
    yield from (values[1:], pa.nulls(len(plain), values.type), pa.array(["a"] * len(plain)))
    least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    floating = pa.types.is_floating(values.type)
    for place in {0, len(plain) // 2, len(plain) - 1}:
        for odd in (np.nan, np.inf, -np.inf) if floating else (least, -2, most):
            changed = plain.copy()
            changed[place] = odd
            yield pa.array(changed, values.type, from_pandas=False)


def test_each_part_of_a_saved_policy_fits_the_others(saved):
    arrays, described, path = saved
    damaged = [(arrays, other) for other in of_metadata(described)]
    for name, values in arrays.items():
        damaged += [(arrays | {name: other}, described) for other in of_array(values)]
        damaged.append(({key: one for key, one in arrays.items() if key != name}, described))
    for other in damaged:
        write(path, *other)
        with pytest.raises((DataError, SettingError)) as error:
            pytest.fail(f"taken: {sa.Policy.load(path).predict_proba(frame(5))}, of {other}")
        assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
    assert len(damaged) > 200
    write(path, arrays, described)
    assert sa.Policy.load(path).actions == tuple(described["actions"])


def test_a_feature_too_far_from_those_of_training_is_said(saved):
    arrays, described, path = saved
    far = np.full(len(arrays["centre"]), np.finfo(np.float32).max)
    write(path, arrays | {"centre": pa.array(-far), "width": pa.array(far * 0 + 0.5)}, described)
    with pytest.raises(SettingError, match="a feature is too far from those of training"):
        sa.Policy.load(path).predict(frame(5))


def test_files_of_the_first_version_are_read(saved):
    """They had more: what follows from the rest."""
    arrays, described, path = saved
    write(path, arrays, described)
    probabilities = sa.Policy.load(path).predict_proba(frame(50))
    more = {"version": 1, "encoded": ["age"], "threshold": "f1", "fitted_on": "all"}
    write(path, arrays | {"numeric": pa.array([0])}, described | more)
    np.testing.assert_array_equal(sa.Policy.load(path).predict_proba(frame(50)), probabilities)
