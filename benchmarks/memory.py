"""Measure the memory of every kind of job on a ranking set of the shape of MSLR-WEB30K.

    python benchmarks/memory.py [--share 1.0] [--rounds 100000] [--cores 2] [--folder DIR]

The set is made up: 31,531 queries with 3,771,125 documents of 136 features in five files of LETOR text, 4 GB in all;
`--share` takes so much of it. The study has a stream of all of it, and plays the perceptrons and the learners of the
top, with regret, from the text to the page. It runs in a copy of the project, in a new folder that is removed
afterwards, or in `--folder`, which is kept. It needs 15 GB of disk.

`private` is the peak of a process's own memory (RssAnon and RssShmem of Linux, looked at every 20 ms): what it would
take beside others that read the same stream. The stream itself is mapped: its pages are shared by all jobs of a
machine, and can be dropped at any time. `all` (VmHWM) counts those too.
"""

import argparse
import contextlib
import re
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from projects import Project

QUERIES, DOCUMENTS, FEATURES, PARTS = 31_531, 3_771_125, 136, 5
SIZES = re.compile(r"^(VmHWM|RssAnon|RssShmem):\s+(\d+) kB$", re.MULTILINE)


def write_letor(path: Path, queries: range, documents: int, random: np.random.Generator) -> None:
    """A file of LETOR text: a hundred documents that come again and again, in queries of very different sizes."""
    counts = np.arange(FEATURES) % 3  # whole numbers, as of counts, and others
    values = np.where(counts == 0, random.integers(0, 2000, (100, FEATURES)), random.normal(0, 50, (100, FEATURES)))
    lines = [
        " ".join(f"{i + 1}:{value:.0f}" if counts[i] == 0 else f"{i + 1}:{value:.6f}" for i, value in enumerate(row))
        for row in values
    ]
    sizes = random.multinomial(documents - len(queries), random.dirichlet(np.full(len(queries), 2.0))) + 1
    with open(path, "w") as file:
        for query, size in zip(queries, sizes, strict=True):
            chosen, grades = random.integers(0, 100, size), random.binomial(4, 0.15, size)
            file.write("".join(f"{g} qid:{query} {lines[at]}\n" for g, at in zip(grades, chosen, strict=True)))


def settings(rounds: int) -> dict:
    """A study of that set."""
    parts = [f"s{number}" for number in range(1, PARTS + 1)]
    perceptrons = {
        "slam": {"kind": "slam", "rates": [0.01, 0.1]},
        "slam-ap": {"kind": "slam", "measure": "ap", "rates": [0.1]},
        "max-hinge": {"kind": "max-hinge", "rates": [0.1]},
        "listnet": {"kind": "listnet", "rates": [0.01, 0.1]},
        "random": {"kind": "random"},
    }
    surrogates = ("squared", "kl", "smoothdcg", "ranksvm")
    top = {f"top-{name}": {"kind": "rtop", "surrogate": name} for name in surrogates}
    both = {"streams": ["mslr"], "seeds": 2, "tuning_seeds": 1, "rounds": rounds}
    return {
        "study": "memory",
        "seed": 1,
        "datasets": {
            "made-up": {
                "task": "ranking",
                "parser": "letor",
                "features": FEATURES,
                "parts": {part: {"file": f"{part}.txt"} for part in parts},
            }
        },
        "streams": {"mslr": {"dataset": "made-up"}},
        "learners": perceptrons | top,
        "experiments": {
            "perceptron": {**both, "learners": list(perceptrons)},
            "top": {**both, "kind": "top", "learners": [*top, "random"], "regret": True, "figures": ["figure-3.4"]},
        },
    }


class Watch(threading.Thread):
    """The peaks of all jobs in a folder by subcommand, in MB, as long as it is not `stopped`."""

    def __init__(self, folder: Path):
        super().__init__(daemon=True)
        self.folder = folder
        self.stopped = threading.Event()
        self.peaks = defaultdict(lambda: [0.0, 0.0])

    def run(self):
        while not self.stopped.wait(0.02):
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError, KeyError):  # it has ended
                    words = (process / "cmdline").read_bytes().decode().split("\0")
                    if len(words) > 2 and words[1].endswith("bin/scant") and (process / "cwd").samefile(self.folder):
                        sizes = {name: int(kb) / 1024 for name, kb in SIZES.findall((process / "status").read_text())}
                        peak = self.peaks[words[2]]
                        peak[:] = max(peak[0], sizes["RssAnon"] + sizes["RssShmem"]), max(peak[1], sizes["VmHWM"])


def measure(folder: Path, arguments) -> None:
    """Make the data, run the study, and print what its jobs took."""
    project, random = Project(folder), np.random.default_rng(0)
    project.write(settings(arguments.rounds), study="memory")
    start, ends = time.perf_counter(), np.linspace(0, arguments.share * QUERIES, PARTS + 1).astype(int)
    for part in range(PARTS):
        queries = range(ends[part] + 1, ends[part + 1] + 1)
        write_letor(folder / f"s{part + 1}.txt", queries, int(arguments.share * DOCUMENTS / PARTS), random)
    print(f"made up in {time.perf_counter() - start:.0f} s", flush=True)

    watch, start = Watch(folder), time.perf_counter()
    watch.start()
    project.snakemake("--cores", arguments.cores, study="memory", timeout=None)
    watch.stopped.set()
    watch.join()
    print(f"run in {time.perf_counter() - start:.0f} s; MB, the most of any job:")
    for name, (private, everything) in sorted(watch.peaks.items(), key=lambda one: -one[1][0]):
        print(f"{name:14} private {private:6.0f}   all {everything:6.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to run, kept afterwards")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scant-memory-")))
        measure(place, arguments)
