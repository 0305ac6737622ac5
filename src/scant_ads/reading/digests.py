"""Digests of rows, which find equal rows in logs larger than memory.

A digest has 128 bits, two sums modulo 2^64 over the columns (`scant_ads.reading.hashing`). As 0
adds nothing, a one-hot column that a part lacks counts as one of zeros. Two different rows have
the same digest with a probability of about 2^-128, any two of 10^10 rows with about 10^-19, unless
rows were made to collide.

Numbers are compared as they were given. Where a log has some in single precision, a log written
from it as text has the same only in single precision: then that is what is compared.

Rows of a log with ids are told apart by id, ad and position alone: its digests begin with a hash of
the id.
"""

import tempfile
import weakref
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from scant.data import logs
from scant_ads.reading import hashing
from scant_ads.reading.visits import Visits

GROUPS = 16  # of digests, by their first four bits; one group is searched at a time
TABLE = 40  # low bits that the table of a training log's digests ignores, of their first 64


def of(log: Visits, roles: Sequence[str] | None = None, single: bool = False) -> np.ndarray:
    """The digests of a log's rows, uint64 (2 x rows).

    log : a log; codes of texts and the order of features may differ between logs
    roles : columns to digest besides features and ads: some of reward, propensity, position,
        timestamp, user and list. None stands for all that the log has, with its columns of
        policies; in a log with ids it stands for id, ad and position alone, without features
    single : whether features are rounded to single precision
    """
    if roles is None and log.id is not None:
        return _of_ids(log)
    # the digests of numbers as they were given, in double precision
    exact = None if single else log.exact
    numeric = [index for index, name in enumerate(log.names) if name not in log.categories]
    digests = _of_numbers(
        log,
        features=numeric if exact is None else [],
        roles=roles_of(log) if roles is None else roles,
        probabilities=log.probabilities if roles is None else None,
    )
    if exact is not None:
        digests += exact.T
    if log.eligible is not None:
        _add_eligible(digests, log)
    for name, labels in log.categories.items():
        _add_texts(digests, f"feature:{name}", labels, log.codes(name))
    _add_texts(digests, "action", log.actions, log.action)
    return digests


def _of_numbers(
    log: Visits, features: list[int], roles: Sequence[str], probabilities: np.ndarray | None
) -> np.ndarray:
    """What some numeric features, some roles and the policies' probabilities (unless None) add to
    digests, uint64 (2 x rows).
    """
    names = [*(f"feature:{log.names[index]}" for index in features), *roles]
    if probabilities is not None:
        names += [f"policy:{name}" for name in log.policies]
    weights = np.array([hashing.weights_of(name) for name in names]).T
    digests = np.empty((2, len(log)), np.uint64)
    for start in range(0, len(log), logs.CHUNK):
        rows = slice(start, start + logs.CHUNK)
        values = (
            log.features[rows] if len(features) == len(log.names) else log.features[rows, features]
        )
        columns = [values, *(getattr(log, role)[rows] for role in roles)]
        if probabilities is not None:
            columns.append(probabilities[rows])
        bits = np.concatenate([hashing.bits(column) for column in columns], axis=1, dtype=np.uint64)
        for half in range(2):
            digests[half, rows] = hashing.mixed(bits * weights[half]).sum(axis=1)
    return digests


def _of_ids(log: Visits) -> np.ndarray:
    """The digests of rows by id, ad and position, uint64 (2 x rows): a hash of the id, and one of
    all three.
    """
    digests = log.id.T.copy()
    rest = np.zeros_like(digests)
    _add_texts(rest, "action", log.actions, log.action)
    if log.position is not None:
        rest[1] += hashing.mixed(log.position.astype(np.uint64) * hashing.weights_of("position")[1])
    digests[1] += rest[1]
    return digests


def _add_eligible(digests: np.ndarray, log: Visits) -> None:
    """Add to digests, in place, the hashes of each row's eligible ads, summed so that their order
    does not matter.
    """
    entries = np.array([hashing.of_text(ad) for ad in log.actions], np.uint64) * hashing.weights_of(
        "eligible"
    )
    for start in range(0, len(log), logs.CHUNK):
        rows = slice(start, start + logs.CHUNK)
        digests[:, rows] += hashing.mixed((log.eligible[rows].astype(np.uint64) @ entries).T.copy())


def _add_texts(digests: np.ndarray, name: str, labels: Sequence[str], code: np.ndarray) -> None:
    """Add to digests, in place, the hash of each row's text, `labels[code]`."""
    entries = np.array([hashing.of_text(text) for text in labels], np.uint64).reshape(-1, 2).T
    for half, weight in enumerate(hashing.weights_of(name)):
        digests[half] += hashing.mixed(entries[half] * weight)[code]


def roles_of(log: Visits) -> tuple[str, ...]:
    """The columns, besides features and ads, by which rows of a log without ids are told apart."""
    optional = (*logs.OPTIONAL, "user", "list")
    return ("reward", "propensity", *(role for role in optional if getattr(log, role) is not None))


class Index:
    """The digests of a training log, uint64 (2 x rows), in which other rows are looked up."""

    def __init__(self, digests: np.ndarray):
        order = np.argsort(digests[0])
        self.first, self.second = digests[:, order]
        # by the first bits of a digest, whether there is any with these: most digests that are none
        # of these end here
        self.table = np.zeros(1 << (64 - TABLE), bool)
        self.table[self.first >> np.uint64(TABLE)] = True

    def has(self, digests: np.ndarray) -> np.ndarray:
        """Whether the log has a row with each digest, bool (rows)."""
        present = self.table[digests[0] >> np.uint64(TABLE)]
        rows = np.flatnonzero(present)
        places = np.minimum(np.searchsorted(self.first, digests[0, rows]), len(self.first) - 1)
        present[rows] = (self.first[places] == digests[0, rows]) & (
            self.second[places] == digests[1, rows]
        )
        return present


class Digests:
    """All digests of a log, 16 bytes a row, in temporary files that are deleted with this object.

    rows : how many there are
    sums : uint64 (2), their sums
    """

    def __init__(self):
        self.rows, self.sums = 0, np.zeros(2, np.uint64)
        with ExitStack() as stack:
            self.files = [
                stack.enter_context(tempfile.TemporaryFile(prefix="scant-digests-"))
                for _ in range(GROUPS)
            ]
            weakref.finalize(self, stack.pop_all().close)

    def add(self, digests: np.ndarray) -> None:
        """Add the digests of further rows, uint64 (2 x rows)."""
        self.rows, self.sums = self.rows + digests.shape[1], self.sums + digests.sum(axis=1)
        group = (digests[0] >> np.uint64(60)).astype(np.uint8)
        ends = np.cumsum(np.bincount(group, minlength=GROUPS))
        ranked = digests[:, np.argsort(group, kind="stable")].T
        for file, part in zip(self.files, np.split(ranked, ends[:-1]), strict=True):
            file.write(part.tobytes())

    def mark(self) -> list[int]:
        """A fingerprint of the rows, in any order: three whole numbers."""
        return [self.rows, *map(int, self.sums)]

    def equal(self, half: bool = False) -> int:
        """How many rows equal an earlier row.

        half : compare only the first halves of digests, which are hashes of ids
        """
        count = 0
        for file in self.files:
            file.seek(0)
            first, second = np.fromfile(file, np.uint64).reshape(-1, 2).T
            ranked = np.sort(first)
            twice = ranked[1:][ranked[1:] == ranked[:-1]]
            if half or not len(twice):
                count += len(twice)
                continue
            suspects = np.isin(first, twice)
            first, second = first[suspects], second[suspects]
            order = np.lexsort((second, first))
            count += np.count_nonzero((np.diff(first[order]) == 0) & (np.diff(second[order]) == 0))
        return int(count)
