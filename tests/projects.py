"""A copy of the project to run studies in, so that no test touches the project itself."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import forks
import yaml

ROOT = Path(__file__).parents[1]
PARTS = (
    "Snakefile", "rules", "config", "workflow", "profiles", "src", "examples",
    "CITATION.cff", "requirements.lock",
)  # fmt: skip
LEAVE = shutil.ignore_patterns("*.egg-info")
MADE = ("results", ".snakemake")  # by running a study
# The same bytes on every run; logs and benchmarks are not.
RESULTS = ("runs", "comparators", "tables", "figures", "streams", "campaigns", "bandit")


def environment(package: Path, **variables) -> dict:
    """The environment with a package ahead of any other, this Python's commands, no mirror."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SCANT_", "SNAKEMAKE_"))
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"PATH": path, "PYTHONPATH": str(package)} | variables


class Project:
    """A copy of the project in `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder
        for part in PARTS:
            source, target = ROOT / part, folder / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=LEAVE)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)

    def command(self, *arguments, study="tiny") -> list[str]:
        """Snakemake's command line; targets come first.

        `study` is an id in config/studies, a path, or None.
        """
        command = [sys.executable, "-m", "snakemake", *map(str, arguments)]
        if study is None:
            return command
        return [*command, "--configfile", study if "/" in study else f"config/studies/{study}.yaml"]

    def environment(self, **variables) -> dict:
        return environment(self.folder / "src", **variables)

    def snakemake(self, *arguments, study="tiny", ok=True, timeout=1800, **variables) -> str:
        """Run Snakemake and give what it prints; `ok` says whether it has to succeed or to fail."""
        done = subprocess.run(
            self.command(*arguments, study=study),
            cwd=self.folder,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    def jobs(self, *arguments, study="tiny") -> dict[str, int]:
        """How many jobs of each rule a dry run plans."""
        text = self.snakemake(*arguments, "--dry-run", study=study)
        if "Nothing to be done" in text:
            return {}
        rows, found = text.partition("Job stats:")[2].partition("total")[0], Counter()
        for rule, count in re.findall(r"^(\w+) +(\d+)$", rows, re.MULTILINE):
            found[rule] += int(count)
        return dict(found)

    def planned(self, *arguments, study="tiny") -> dict[str, list[str]]:
        """What a dry run would make, by rule: the first file of each job."""
        text = self.snakemake(*arguments, "--dry-run", "--quiet", "host", study=study)
        found = {}
        jobs = r"^(?:local)?rule (\w+):\n(?: {4}(?!output:).*\n)* {4}output: ([^,\n]+)"
        for rule, file in re.findall(jobs, text, re.MULTILINE):
            found.setdefault(rule, []).append(file)
        return found

    def settings(self, study="tiny") -> dict:
        """The settings of a study file, to be changed and given to `write`."""
        return yaml.safe_load((self.folder / f"config/studies/{study}.yaml").read_text())

    def write(self, settings: dict, study="tiny") -> None:
        """Write a study file."""
        (self.folder / f"config/studies/{study}.yaml").write_text(
            yaml.safe_dump(settings, sort_keys=False)
        )

    def digests(self, study="tiny") -> dict[str, str]:
        """Those of the results of a study."""
        return digests(self.folder / "results" / study)


class Forked(Project):
    """A project whose Snakemake is a fork of a process that has imported it, and starts sooner."""

    def snakemake(self, *arguments, study="tiny", ok=True, timeout=1800, **variables) -> str:
        _, _, _, *words = self.command(*arguments, study=study)
        code, printed = forks.snakemake(words, self.folder, self.environment(**variables), timeout)
        assert (code == 0) == ok, printed
        return printed


class Finished(Forked):
    """A project whose tiny study has run; `restore` brings that state back."""

    def __init__(self, folder: Path, saved: Path):
        super().__init__(folder / "project")
        self.saved, self.reference, self.restored = saved, digests(saved / "results" / "tiny"), {}

    def forget(self) -> None:
        """Remove all results, and all that Snakemake knows of them."""
        for part in MADE:
            shutil.rmtree(self.folder / part, ignore_errors=True)

    def restore(self) -> None:
        """Bring back every touched file as it was when the study had run, its time included."""
        saved = {path.relative_to(self.saved): path for path in sorted(self.saved.rglob("*"))}
        for part in MADE:
            # a folder after what is in it
            for path in sorted((self.folder / part).rglob("*"), reverse=True):
                if path.relative_to(self.folder) not in saved:
                    path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()
        folders = [name for name, path in saved.items() if path.is_dir() and not path.is_symlink()]
        for name in folders:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for name in saved.keys() - {*folders}:
            target = self.folder / name
            if self.restored.get(name, ()) != state(target):
                target.unlink(missing_ok=True)
                shutil.copy2(saved[name], target, follow_symlinks=False)
                self.restored[name] = state(target)
        for name in reversed(folders):  # whose times have just changed
            shutil.copystat(saved[name], self.folder / name)


def state(path: Path) -> tuple[int, ...] | None:
    """What any change to a file changes, even one that puts its time back."""
    if not os.path.lexists(path):
        return None
    found = path.lstat()
    return found.st_ino, found.st_ctime_ns, found.st_size


def digests(results: Path) -> dict[str, str]:
    """SHA-256 of every result file.

    What a killed job was writing has a hidden name, and is no result.
    """
    paths = [path for part in RESULTS for path in (results / part).rglob("[!.]*") if path.is_file()]
    paths += results.glob("claims*.*")
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
    }
