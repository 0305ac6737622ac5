"""Speed of the LETOR parser against scikit-learn's loader, on one generated file, one thread.

Run: python benchmarks/parsing.py [megabytes]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from scant.data.letor import read_letor

FEATURES = 136


def generate(path: Path, megabytes: int) -> None:
    """Write a file like MSLR's: counts and decimals, about 120 documents a query."""
    random, size, query = np.random.default_rng(1), 0, 0
    with open(path, "w") as file:
        while size < megabytes * 1e6:
            query += 1
            counts = random.integers(0, 300, (120, FEATURES))
            decimals = np.round(random.random((120, FEATURES)) * 100, 6)
            for grade, row, fine in zip(random.integers(0, 5, 120), counts, decimals, strict=True):
                values = (f"{j + 1}:{fine[j] if j % 3 == 0 else row[j]}" for j in range(FEATURES))
                size += file.write(f"{grade} qid:{query} {' '.join(values)} \n")


def ours(path: Path) -> int:
    return sum(len(block.grade) for block in read_letor(path, FEATURES))


def theirs(path: Path) -> int:
    return len(load_svmlight_file(str(path), n_features=FEATURES, query_id=True, dtype=np.float32)[1])


def speed(read, path: Path, times: int) -> float:
    """MB/s of the fastest of several runs."""
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        read(path)
        best = min(best, time.perf_counter() - start)
    return path.stat().st_size / 1e6 / best


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "generated.txt")
        generate(path, megabytes)
        ours(path)  # compile, or load from the cache
        fast, slow = speed(ours, path, 5), speed(theirs, path, 2)
    print(f"scant         {fast:7.0f} MB/s")
    print(f"scikit-learn  {slow:7.0f} MB/s")
    print(f"ratio         {fast / slow:7.1f}")


if __name__ == "__main__":
    main()
