"""Fuzz the parsers of outside data, guided by coverage (needs `pip install atheris`).

    python tests/fuzz/fuzz.py letor --seconds 600    findings: fuzz-findings/letor, one file a kind
    python tests/fuzz/fuzz.py visits apply --keep    in turn; what reached new code: fuzz/corpus

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

HERE = Path(__file__).parent
MOST = 16_000  # bytes of a corpus that is kept, so that all are small
SECONDS, KILOBYTES = 5, 1 << 20  # of processor time and of memory that one input may take


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    parser.add_argument(
        "--memory", type=int, default=3000, help="MB, beyond which a target is ended"
    )
    parser.add_argument(
        "--corpus", type=Path, help="a folder with one for each target, to go on with"
    )
    parser.add_argument("--keep", action="store_true", help="keep the corpus")
    arguments = parser.parse_args()
    os.environ.setdefault("NUMBA_BOUNDSCHECK", "1")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(arguments.findings / "numba"))

    import atheris

    sys.path.insert(0, str(HERE))
    import scant.kernels

    for module in pkgutil.iter_modules(scant.kernels.__path__, "scant.kernels."):
        importlib.import_module(module.name)  # Numba cannot compile what is instrumented
    with atheris.instrument_imports(
        include=["scant", "scant_ads", "fuzz_targets", "fuzz_seeds", "zipfile"]
    ):
        import fuzz_seeds
        import fuzz_targets
    folder = arguments.corpus or Path(tempfile.mkdtemp(prefix="scant-corpus-"))
    for name in arguments.targets:
        findings, corpus = arguments.findings / name, folder / name
        findings.mkdir(parents=True, exist_ok=True)
        corpus.mkdir(parents=True, exist_ok=True)
        kept = HERE / "corpus" / f"{name}.zip"
        if kept.exists():
            zipfile.ZipFile(kept).extractall(corpus)
        for number, seed in enumerate(fuzz_seeds.seeds(name)):
            (corpus / f"seed-{number}").write_bytes(seed)
            fuzz_targets.TARGETS[name](seed)  # compiles
        print(f"TARGET {name}", flush=True)
        options = ["-max_len=16384", "-timeout=60", f"-max_total_time={arguments.seconds}"]
        options += ["-print_final_stats=1"]
        options += [
            f"-rss_limit_mb={arguments.memory}",
            f"-artifact_prefix={findings}/crash-",
            str(corpus),
        ]
        if not (child := os.fork()):  # libFuzzer ends the process that it runs in
            atheris.Setup([sys.argv[0], *options], watched(fuzz_targets.TARGETS[name], findings))
            atheris.Fuzz()
        os.waitpid(child, 0)
        if arguments.keep:
            keep(corpus, kept)
    raise SystemExit(any(any((arguments.findings / name).iterdir()) for name in arguments.targets))


def watched(target, findings: Path):
    """The target, which goes on after a finding; of each kind the first is written down."""
    found = set()

    def note(kind: str, data: bytes, about: str) -> None:
        if kind not in found:
            found.add(kind)
            (findings / kind).write_bytes(data)
            print(f"FINDING {kind}: {about[:200]!r}", flush=True)

    def run(data: bytes) -> None:
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        try:
            target(data)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)
            ours = next(
                (frame for frame in reversed(last) if "/scant/" in frame.filename), last[-1]
            )
            note(
                f"{type(error).__name__}-{Path(ours.filename).stem}-{ours.lineno}", data, str(error)
            )
        spent, taken = (
            time.process_time() - began,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before,
        )
        if spent > SECONDS:
            note("slow", data, f"{spent:.1f} s")
        if taken > KILOBYTES:
            note("large", data, f"{taken / 1024:.0f} MB")

    return run


def keep(folder: Path, kept: Path) -> None:
    """The files of a folder in one archive, the small ones first, up to MOST bytes of it."""
    kept.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir(), key=lambda path: (path.stat().st_size, path.name)):
            if not path.name.startswith("seed-") and archive.fp.tell() < MOST:
                archive.writestr(
                    zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED
                )


if __name__ == "__main__":
    main()
