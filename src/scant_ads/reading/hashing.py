"""Hashes of entries, which add up to the hashes of rows: sums modulo 2^64 over the columns.

What a column adds is its entry times an odd number that comes of the column's name, mixed as
splitmix64 ends (Steele, Lea & Flood 2014). So the order of the columns does not matter, and 0 adds
nothing.
"""

import hashlib

import numpy as np

from scant.data import logs

MIXERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SECRETS = ("scant: id, first", "scant: id, other")  # of the two hashes of a text, of 16 bytes each


def of_text(text: str) -> tuple[int, int]:
    """A hash of a text, 128 bits as two whole numbers."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def weights_of(name: str) -> np.ndarray:
    """The two odd numbers that a column's entries are multiplied by, from its name; uint64 (2)."""
    return np.array(of_text(name), np.uint64) | np.uint64(1)


def mixed(x: np.ndarray) -> np.ndarray:
    """`x`, uint64 of any shape, mixed in place by a bijection that keeps 0."""
    for shift, mixer in zip((30, 27), MIXERS, strict=True):
        x ^= x >> np.uint64(shift)
        x *= mixer
    x ^= x >> np.uint64(31)
    return x


def of_columns(*columns: np.ndarray) -> np.ndarray:
    """A hash of each row of columns of whole numbers, uint64 (rows)."""
    sums = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        sums = mixed((sums + np.uint64(1)) * MIXERS[0] + mixed(column.astype(np.uint64)))
    return sums


def bits(column: np.ndarray) -> np.ndarray:
    """Entries as unsigned whole numbers (rows x columns), which are equal exactly where entries
    are.
    """
    if column.dtype.kind == "f":
        column = column + column.dtype.type(0)  # turns -0 into 0
    return column.view(f"u{column.dtype.itemsize}").reshape(len(column), -1)


def add(sums: np.ndarray, name: str, values: np.ndarray) -> None:
    """Add a column's part to the hashes of rows, in place.

    sums : uint64 (rows x 2), the hashes
    name : the column's
    values : its entries (rows), of 8 bytes each
    """
    for start in range(0, len(values), logs.CHUNK):
        rows = slice(start, start + logs.CHUNK)
        entries = bits(values[rows])[:, 0]
        for half, weight in enumerate(weights_of(name)):
            sums[rows, half] += mixed(entries * weight)


def of_texts(texts: np.ndarray) -> np.ndarray:
    """Two hashes of each text, uint64 (rows x 2), of an array of objects (rows)."""
    import pandas as pd

    halves = [pd.util.hash_array(texts, hash_key=secret, categorize=False) for secret in SECRETS]
    return np.stack(halves, axis=1)
