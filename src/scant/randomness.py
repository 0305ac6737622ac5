"""Independent random streams of one study seed, addressed by name."""

import hashlib
from numbers import Integral

import numpy as np

from scant.errors import SettingError


def generator(seed: int, *names) -> np.random.Generator:
    """The random stream that `names` address under the study `seed`.

    Each name (text, or anything by its text: 12 is "12") becomes two words of a `SeedSequence`
    spawn key, so that streams with different names are independent, and equal names give equal
    streams on every machine and in any order of jobs. Jobs that should share noise (two learners on
    one stream and seed) use the same names.

    Raises
    ------
    SettingError : the seed is not a whole number from 0
    """
    if not isinstance(seed, Integral) or seed < 0:
        raise SettingError(f"seed is {seed!r}; it must be a whole number, 0 or more")
    key = []
    for name in names:
        digest = hashlib.sha256(str(name).encode()).digest()
        key += [int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
