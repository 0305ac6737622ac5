"""Fuzz the parsers of outside data, guided by coverage (needs `pip install atheris`).

    python tests/fuzz/fuzz.py letor --seconds 600    findings: fuzz-findings/letor, one file a kind

What is compiled runs with checks of bounds. An input that takes 5 s of processor time, or a
gigabyte, is a finding.
"""

import argparse
import importlib
import os
import pkgutil
import resource
import sys
import tempfile
import time
import traceback
import zipfile
from pathlib import Path

FINDINGS = Path("fuzz-findings")
SECONDS, KILOBYTES = 5, 1 << 20  # of processor time and of memory that one input may take


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    arguments = parser.parse_args()
    os.environ.setdefault("NUMBA_BOUNDSCHECK", "1")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(FINDINGS / "numba"))

    import atheris

    import scant.kernels

    for module in pkgutil.iter_modules(scant.kernels.__path__, "scant.kernels."):
        importlib.import_module(module.name)  # Numba cannot compile what is instrumented
    instrumented = ["scant", "scant_ads", "fuzz_targets", "zipfile"]
    with atheris.instrument_imports(include=instrumented):
        import fuzz_targets
    for name in arguments.targets:
        (findings := FINDINGS / name).mkdir(parents=True, exist_ok=True)
        corpus = Path(tempfile.mkdtemp(prefix=f"scant-corpus-{name}-"))
        zipfile.ZipFile(Path(__file__).parent / f"corpus/{name}.zip").extractall(corpus)
        for number, seed in enumerate(fuzz_targets.TARGETS[name][1]()):
            (corpus / f"seed-{number}").write_bytes(seed)
            fuzz_targets.run(name, seed)  # compiles
        print(f"TARGET {name}", flush=True)
        options = ["-max_len=16384", "-timeout=60", f"-max_total_time={arguments.seconds}"]
        options += ["-rss_limit_mb=3000", f"-artifact_prefix={findings}/crash-", str(corpus)]
        if not (child := os.fork()):  # libFuzzer ends the process that it runs in
            atheris.Setup([sys.argv[0], *options], watched(fuzz_targets.run, name, findings))
            atheris.Fuzz()
        os.waitpid(child, 0)
    raise SystemExit(any(any((FINDINGS / name).iterdir()) for name in arguments.targets))


def watched(run, name: str, findings: Path):
    """A run of the target that goes on after a finding; of each kind the first is written."""

    def note(kind: str, data: bytes, about: str) -> None:
        if not (findings / kind).exists():
            (findings / kind).write_bytes(data)
            print(f"FINDING {kind}: {about[:200]!r}", flush=True)

    def memory() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def watch(data: bytes) -> None:
        before, began = memory(), time.process_time()
        try:
            run(name, data)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "/scant" in frame.filename] or frames
            place = f"{Path(ours[-1].filename).stem}-{ours[-1].lineno}"
            note(f"{type(error).__name__}-{place}", data, str(error))
        if (spent := time.process_time() - began) > SECONDS:
            note("slow", data, f"{spent:.1f} s")
        if (taken := memory() - before) > KILOBYTES:
            note("large", data, f"{taken / 1024:.0f} MB")

    return watch


if __name__ == "__main__":
    main()
