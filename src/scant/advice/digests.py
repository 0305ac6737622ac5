"""Digests of rows, by which equal rows of logs are found that are larger than memory.

A digest has 128 bits, two sums modulo 2^64 over the columns. What a column adds is its entry times an odd number that
comes of the column's name, mixed as splitmix64 ends (Steele, Lea & Flood 2014). So the order of the columns does not
matter, and as 0 adds nothing, a one-hot column that a part lacks counts as one of zeros. Equal rows have the same
digest. Different rows may, too, with a probability of about 2^-128 for each two: among 10^10 rows any two have with
about 10^-19. That is for logs as they come, not for rows made to collide.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np

from scant.data import logs
from scant.data.visits import Visits

MIXERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
GROUPS = 256  # of digests, by their first byte: what is looked through at a time
TABLE = 40  # low bits that the table of a training log's digests ignores, of their first 64


def of(log: Visits, roles: Sequence[str] | None = None) -> np.ndarray:
    """The digests of a log's rows, uint64 (2 x rows).

    log : a log; that its texts have other codes, and its features another order than a second log's does not matter
    roles : columns besides features and ads, of reward, propensity, position, timestamp, which the log has; None for
        all, and those of policies
    """
    texts = {f"feature:{name}": (known, log.features[:, log.names.index(name)].astype(np.int64))
             for name, known in log.categories.items()}  # fmt: skip
    texts["action"] = log.actions, log.action
    numeric = [at for at, name in enumerate(log.names) if name not in log.categories]
    given = log.given if roles is None else None
    roles = roles_of(log) if roles is None else roles
    names = [*(f"feature:{log.names[at]}" for at in numeric), *roles]
    names += [] if given is None else [f"policy:{name}" for name in log.policies]
    weights = np.array([_of_text(name) for name in names], np.uint64).T | np.uint64(1)
    found = np.empty((2, len(log)), np.uint64)
    for start in range(0, len(log), logs.CHUNK):
        rows = slice(start, start + logs.CHUNK)
        features = log.features[rows] if len(numeric) == len(log.names) else log.features[rows, numeric]
        columns = [features, *(getattr(log, role)[rows] for role in roles), *([] if given is None else [given[rows]])]
        bits = np.concatenate([_bits(column) for column in columns], axis=1, dtype=np.uint64)
        for half in range(2):
            found[half, rows] = _mixed(bits * weights[half]).sum(axis=1)
    for name, (known, code) in texts.items():
        entries = np.array([_of_text(text) for text in known], np.uint64).reshape(-1, 2).T
        weight = np.array(_of_text(name), np.uint64) | np.uint64(1)
        for half in range(2):
            found[half] += _mixed(entries[half] * weight[half])[code]
    return found


def roles_of(log: Visits, optional: Sequence[str] = logs.OPTIONAL) -> tuple[str, ...]:
    """The columns besides features and ads that a log has.

    optional : those of timestamp and position that a second log has, too
    """
    return ("reward", "propensity", *(role for role in optional if getattr(log, role) is not None))


def _bits(column: np.ndarray) -> np.ndarray:
    """Entries as whole numbers, uint (rows x columns), equal where entries are."""
    if column.dtype.kind == "f":
        column = column + column.dtype.type(0)  # turns -0 into 0
    return column.view(f"u{column.dtype.itemsize}").reshape(len(column), -1)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Whole numbers mixed one to one, 0 to 0, in place; uint64 of any shape."""
    for shift, mixer in zip((30, 27), MIXERS, strict=True):
        x ^= x >> np.uint64(shift)
        x *= mixer
    x ^= x >> np.uint64(31)
    return x


def _of_text(text: str) -> tuple[int, int]:
    """128 bits of a text as two whole numbers."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


class Known:
    """The digests of a training log, uint64 (2 x rows), among which those of other rows are looked for."""

    def __init__(self, found: np.ndarray):
        order = np.argsort(found[0])
        self.first, self.second = found[:, order]
        self.table = np.zeros(1 << (64 - TABLE), bool)  # whether one begins so: spares most of the searching
        self.table[self.first >> np.uint64(TABLE)] = True

    def has(self, found: np.ndarray) -> np.ndarray:
        """Whether each digest is among them, bool (rows)."""
        here = self.table[found[0] >> np.uint64(TABLE)]
        rows = np.flatnonzero(here)
        places = np.minimum(np.searchsorted(self.first, found[0, rows]), len(self.first) - 1)
        here[rows] = (self.first[places] == found[0, rows]) & (self.second[places] == found[1, rows])
        return here


class Digests:
    """All digests of a log, 16 bytes for each row, in a temporary file that ends with the process."""

    def __init__(self):
        self.file, self.counts, self.repeats = None, [], None

    def add(self, found: np.ndarray) -> None:
        """Add the digests of further rows, uint64 (2 x rows)."""
        self.file = self.file or tempfile.TemporaryFile(prefix="scant-digests-")  # noqa: SIM115 (lives with this object)
        group = (found[0] >> np.uint64(56)).astype(np.uint8)
        self.file.write(found[:, np.argsort(group, kind="stable")].tobytes())
        self.counts.append(np.bincount(group, minlength=GROUPS))
        self.repeats = None

    def mark(self) -> list[int]:
        """Three whole numbers that tell these rows, in any order, from others."""
        sums = sum((run.sum(axis=1) for run in self.runs()), np.zeros(2, np.uint64))
        return [int(sum(count.sum() for count in self.counts)), *map(int, sums)]

    def runs(self) -> Iterator[np.ndarray]:
        """The digests as they were added, but ordered by group; uint64 (2 x rows) each."""
        start = 0
        for rows in (int(count.sum()) for count in self.counts):
            yield self._read(start, 2 * rows).reshape(2, rows)
            start += 2 * rows

    def equal(self) -> int:
        """How many rows equal an earlier one."""
        if self.repeats is None:
            self.repeats = self._equal() if self.counts else 0
        return self.repeats

    def _equal(self) -> int:
        counts = np.array(self.counts)
        ends = np.cumsum(counts, axis=1)
        rows = ends[:, -1]
        places = (2 * (np.cumsum(rows) - rows))[:, None] + ends - counts  # of each group in each run
        count = 0
        for place, size in zip(places.T, counts.T, strict=True):
            first = np.concatenate([self._read(*part) for part in zip(place, size, strict=True)])
            ranked = np.sort(first)
            twice = ranked[1:][ranked[1:] == ranked[:-1]]
            if not len(twice):
                continue
            second = np.concatenate([self._read(*part) for part in zip(place + rows, size, strict=True)])
            suspects = np.isin(first, twice)
            first, second = first[suspects], second[suspects]
            order = np.lexsort((second, first))
            count += int(np.count_nonzero((np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)))
        return count

    def _read(self, start: int, count: int) -> np.ndarray:
        """Some of the numbers in the file, by the first one's place."""
        self.file.flush()
        return np.frombuffer(os.pread(self.file.fileno(), 8 * int(count), 8 * int(start)), np.uint64)
