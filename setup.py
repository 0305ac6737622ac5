"""Puts the files of the workflow into the package, as scant/project, so that an installed scant
needs no clone.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
FILES = (
    "Snakefile",
    "CITATION.cff",
    "rules/*",
    "workflow/**/*",
    "config/**/*",
    "profiles/**/*",
    "examples/**/*",
)


class WithWorkflow(build_py):
    """Builds the modules, then copies the workflow beside them."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for file in (file for pattern in FILES for file in sorted(ROOT.glob(pattern))):
            if file.is_file() and "__pycache__" not in file.parts:
                target = Path(self.build_lib, "scant/project", file.relative_to(ROOT))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)


setup(cmdclass={"build_py": WithWorkflow})
