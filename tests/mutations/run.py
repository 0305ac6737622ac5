"""Put faults into a copy of src, one at a time, each of which must make a test fail.

    python tests/mutations/run.py         all of `table.MUTATIONS`
    python tests/mutations/run.py 10      every tenth of them

It fails if a mutation survives its tests, or no longer applies, or if a test fails without any.
Loops run as plain Python, not compiled, since each process would compile them anew. The table
takes about eleven minutes of one core.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"

import hypothesis  # noqa: F401  what tests import is imported once, but nothing of scant
import numba  # noqa: F401
import pandas  # noqa: F401
import pytest
import scipy.optimize
import scipy.stats  # noqa: F401
from table import MUTATIONS

ROOT = Path(__file__).parents[2]
# what the package looks for beside src, see `scant.schema.PROJECT`
PROJECT = (
    "Snakefile",
    "CITATION.cff",
    "requirements.lock",
    "config",
    "profiles",
    "rules",
    "workflow",
)
SECONDS = 300  # of the processor, for each file or test that is named
PASSED, FAILED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED


def tested(src: Path, tests: list[str], printed: Path) -> int:
    """Run tests on the package in `src`, in a fork; pytest's exit code.

    What it prints goes to a file.
    """
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.setitimer(signal.ITIMER_PROF, SECONDS * len(tests))
    for stream in (1, 2):
        os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.chdir(ROOT)
    sys.path.insert(0, str(src))
    from scant.kernels import pieces

    assert Path(pieces.__file__).is_relative_to(src)
    code = pytest.main(
        ["-x", "-q", "-m", "", "-p", "no:cacheprovider", *(f"tests/{test}" for test in tests)]
    )
    sys.stdout.flush()
    os._exit(code)


def run(mutations: list[tuple[str, str, str, str]]) -> list[str]:
    """Apply each mutation to a copy of src, with the project around it; what is wrong, by line."""
    with tempfile.TemporaryDirectory(prefix="scant-mutations-") as folder:
        src, printed = Path(folder, "src"), Path(folder, "printed")
        shutil.copytree(ROOT / "src", src, ignore=shutil.ignore_patterns("__pycache__"))
        for name in PROJECT:
            Path(folder, name).symlink_to(ROOT / name)
        if tested(src, sorted({test for _, test, *_ in mutations}), printed) != PASSED:
            return [f"tests fail without a mutation:\n{printed.read_text()}"]
        wrong = []
        for number, (file, test, old, new) in enumerate(mutations, 1):
            path = src / file
            text = path.read_text()
            if text.count(old) != 1:
                wrong.append(f"{file}: {old!r} occurs {text.count(old)} times, not once")
                continue
            path.write_text(text.replace(old, new))
            # else bytecode of the same second and size would be taken for its own
            os.utime(path, (number, number))
            printed.write_text("")
            code = tested(src, [test], printed)
            print(
                f"{number:3}",
                "fails as it should:" if code == FAILED else "SURVIVES:",
                file,
                repr(new),
                flush=True,
            )
            if code != FAILED:
                wrong.append(
                    f"{file}: {old!r} as {new!r}: pytest ended with {code} on "
                    f"{test}\n{printed.read_text()}"
                )
            shutil.copy2(ROOT / "src" / file, path)
        return wrong


if __name__ == "__main__":
    wrong = run(MUTATIONS[:: int(sys.argv[1]) if len(sys.argv) > 1 else 1])
    sys.exit("\n".join(wrong) or None)
