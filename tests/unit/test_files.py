"""Files are whole or absent."""

import csv
import hashlib
import os
import stat
import subprocess
import sys
import zlib
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from scant import files
from scant.data import stream
from scant.errors import DataError, SettingError
from scant.files import (
    MARK,
    arrow_array,
    atomic,
    check_seal,
    foreign,
    metadata_of,
    read_parquet,
    seal,
    sha256,
    visible,
    write_csv,
    write_parquet,
    write_text,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_block_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic(tmp_path / "new.txt") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_a_failed_block_leaves_what_was_there(tmp_path):
    target = tmp_path / "old.txt"
    target.write_text("whole")
    with pytest.raises(RuntimeError), atomic(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert names(tmp_path) == ["old.txt"]
    assert target.read_text() == "whole"


def test_the_target_is_replaced_whole_and_only_at_the_end(tmp_path):
    target = tmp_path / "deep" / "er" / "file.txt"  # folders are made
    write_text(target, "first, and longer\r\n")
    with atomic(target) as temporary:
        assert temporary.parent == target.parent  # a rename within one file system
        assert temporary.suffix == ".txt"  # writers that go by the ending
        temporary.write_text("second")
        assert target.read_bytes() == b"first, and longer\r\n"
    assert target.read_text() == "second"
    assert names(target.parent) == ["file.txt"]


WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from scant import cli
from scant import files
from scant.data import stream
from scant.errors import DataError, SettingError
from scant.files import atomic

def wait(*arguments):
    def queries():
        yield 0, np.array([1]), np.ones((1, 2))
        with atomic({folder!r} + "/figure-5.1.svg") as temporary:
            temporary.write_text("<svg")
            print("begun", flush=True)
            time.sleep(60)
    stream.write({folder!r} + "/a.arrow", queries(), {{}})

cli._compile = wait
cli.main(["compile"])
"""


@pytest.fixture
def writer(tmp_path):
    """A process that has begun to write a figure and a stream."""
    script = WRITER.format(folder=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()


def test_what_a_killed_writer_leaves_is_seen_by_nobody_and_swept_by_the_next(tmp_path, writer):
    left = names(tmp_path)
    assert len(left) == 2
    assert all(name.startswith((".figure-5.1.svg.", ".a.arrow.")) for name in left)
    write_text(tmp_path / "figure-5.1.svg", "<svg/>")
    assert len(names(tmp_path)) == 3  # the other writer is alive, so that what it has is left to it
    writer.kill()
    writer.wait()
    assert [path.name for path in visible(tmp_path, "*.svg")] == ["figure-5.1.svg"]
    write_text(tmp_path / "figure-5.1.svg", "<svg/>")
    stream.write(tmp_path / "a.arrow", [(0, np.array([1]), np.ones((1, 2)))], {})
    assert names(tmp_path) == ["a.arrow", "figure-5.1.svg"]


def test_what_is_swept_is_no_link_to_elsewhere(tmp_path):
    (tmp_path / "kept").write_text("kept")
    (tmp_path / ".a.txt.link").symlink_to(tmp_path / "kept")
    write_text(tmp_path / "a.txt", "")
    assert (tmp_path / "kept").read_text() == "kept"


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_are_those_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "file.txt", "")
        assert os.umask(mask) == mask  # it is left as it was
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file.txt").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("content", [b"", b"abc", b"x" * 70_000])
def test_sha256(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert sha256(path) == hashlib.sha256(content).hexdigest()


def test_parquet_carries_metadata_and_equal_tables_make_equal_bytes(tmp_path):
    facts = {"b": [1, 2.5], "a": {"é": None}}
    table = pa.table({"x": [1, 2, 3]})
    for name, metadata in {"one": facts, "two": dict(reversed(facts.items()))}.items():
        write_parquet(table, tmp_path / name, metadata)
    assert pq.read_table(tmp_path / "one").equals(table)
    assert metadata_of(pq.read_schema(tmp_path / "one")) == facts
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, -2, 3], pa.int32()),
        ([0.1, float("nan")], pa.float64()),
        ([], pa.float64()),
        (["", "é", "1,5"], pa.string()),
        ([], pa.string()),
        ([True, False] * 9 + [True], pa.bool_()),
        (np.array(["2026-01-02T03:04:05.000006"], "datetime64[us]"), pa.timestamp("us")),
    ],
)
def test_arrays_are_those_of_arrow(values, kind):
    found = arrow_array(values, kind)
    found.validate(full=True)
    assert found.type == kind
    assert repr(found.to_pylist()) == repr(pa.array(values, kind).to_pylist())


def test_a_bit_that_turns_anywhere_is_noticed(tmp_path):
    path = tmp_path / "one.parquet"
    table = pa.table({"seed": range(20), "learner": pa.array(["a", "b"] * 10).dictionary_encode()})
    write_parquet(table, path, {"kind": "perceptron"})
    content, right = path.read_bytes(), read_parquet(path)
    assert right.cast(table.schema).equals(table)
    assert metadata_of(right.schema) == {"kind": "perceptron"}
    for place in range(len(content)):
        path.write_bytes(
            content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
        )
        with pytest.raises(DataError), foreign(path):
            read_parquet(path)


def test_rows_that_a_damaged_page_lacks_are_noticed(tmp_path):
    """Arrow itself gives the rows before the page, or none, and says nothing."""
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"x": [1.0, 2.0]}),
        path,
        use_dictionary=False,
        compression="none",
        write_statistics=False,
    )
    content, lost = path.read_bytes(), 0
    for place in range(4, len(content) - 8):
        path.write_bytes(content[:place] + b"\0" + content[place + 1 :])
        with suppress(pa.ArrowException, OSError), pq.ParquetFile(path) as file:
            if sum(batch.num_rows for batch in file.iter_batches()) != file.metadata.num_rows:
                lost += 1
                with pytest.raises(ValueError, match=r"[02] rows, where its metadata say [02]"):
                    read_parquet(path, ours=False)
    assert lost


def test_a_seal_that_is_cut_is_none(tmp_path):
    for content, reason in ((b"", "empty"), (b"a", "no seal"), (MARK, "CRC"), (MARK + b"0", "CRC")):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(ValueError, match=reason):
            check_seal(tmp_path / "a")


@pytest.mark.parametrize("read", range(1, 40))
def test_a_seal_is_of_all_bytes_wherever_blocks_end(tmp_path, monkeypatch, read):
    monkeypatch.setattr(files, "READ", read)
    content = MARK + b"an earlier one" + MARK + b"00000000" + b"what follows"
    for before in (b"", b"what comes before"):
        path = tmp_path / "a"
        path.write_bytes(before + content)
        seal(path)
        crc = b"%08x" % zlib.crc32(before + content)
        assert path.read_bytes() == before + content.replace(b"00000000", crc)
        check_seal(path)
        for at in range(len(before) + len(content)):
            damaged = bytearray(before + content.replace(b"00000000", crc))
            damaged[at] ^= 1
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=r"CRC-32|it has no seal"):
                check_seal(path)


def test_cells_that_a_spreadsheet_would_run_are_text(tmp_path):
    texts = yaml.safe_load(
        r"""[=cmd|' /C calc'!A0, +1+1, -2+3, '@SUM(A1)', "\t=1", a=b, '-1.5', +1e3, '', null]"""
    )
    frame = pd.DataFrame({"ad": texts, "=head": range(10), "number": [-1.5] * 10})
    write_csv(frame, tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["ad", "'=head", "number"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in texts[:5]), *texts[5:9], ""]
    assert {row[2] for row in rows} == {"-1.5"}
    steering = pd.DataFrame({"a\x1b": ["=\x07", "\u202e", "two\nlines", "-\x9b"]})
    write_csv(steering, tmp_path / "c.csv")
    escaped = ["'=\\x07", "\\u202e", "two\nlines", "'-\\x9b"]
    assert pd.read_csv(tmp_path / "c.csv")["a\\x1b"].tolist() == escaped
    plain = pd.DataFrame({"a": ["x", "-1"], "b": [-1, 2]})
    write_csv(plain, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == plain.to_csv(index=False)


@pytest.mark.parametrize(
    "named", ["log.csv", "linked.csv", "hard.csv", "LOG.csv", "./x/../log.csv", "parts/new"]
)
def test_what_is_read_is_never_written(tmp_path, named):
    (tmp_path / "x").mkdir()
    (tmp_path / "parts").mkdir()
    log = tmp_path / "log.csv"
    log.write_text("a")
    (tmp_path / "linked.csv").symlink_to(log)
    os.link(log, tmp_path / "hard.csv")
    with pytest.raises(SettingError, match=r"is also an input|would become"):
        files.check_outputs([f"{tmp_path}/{named}"], [log, tmp_path / "parts"])
    files.check_outputs(
        [tmp_path / "other.csv", tmp_path / "another.csv"], [log, tmp_path / "parts"]
    )
