"""Puts the files of the workflow into the package, as scant/project, so that an installed scant
needs no clone, and the commit that it was built from.
"""

import json
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
BUILT = "built.json"
FILES = (
    "Snakefile",
    "CITATION.cff",
    "requirements.lock",
    "rules/*",
    "workflow/**/*",
    "config/**/*",
    "profiles/**/*",
    "examples/**/*",
)


def built_from() -> str:
    """The commit that is built from, and whether nothing has changed since, as JSON: as a clone's
    git says, or a source archive, else null.
    """
    git = ["git", "-C", ROOT]
    try:
        if not (ROOT / ".git").exists():  # git would look in the folders above
            raise FileNotFoundError
        commit, changed = (
            subprocess.run([*git, *command], capture_output=True, text=True, check=True).stdout
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain"])
        )
    except (OSError, subprocess.CalledProcessError):
        there = ROOT / BUILT
        return there.read_text() if there.is_file() else '{"commit": null, "clean": null}'
    return json.dumps({"commit": commit.strip(), "clean": not changed})


class WithCommit(sdist):
    """Packs the sources with their commit."""

    def make_release_tree(self, base_dir, files):
        built = built_from()
        super().make_release_tree(base_dir, files)
        Path(base_dir, BUILT).write_text(built)


class WithWorkflow(build_py):
    """Builds the modules, then copies the workflow beside them."""

    def run(self):
        built = built_from()
        super().run()
        if self.editable_mode:
            return
        for file in (file for pattern in FILES for file in sorted(ROOT.glob(pattern))):
            if file.is_file() and "__pycache__" not in file.parts:
                target = Path(self.build_lib, "scant/project", file.relative_to(ROOT))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
        Path(self.build_lib, "scant/project", BUILT).write_text(built)


setup(cmdclass={"build_py": WithWorkflow, "sdist": WithCommit})
