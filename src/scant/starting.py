"""Begin a study in a folder of its own: a Snakefile that imports the workflow, a study file, and
profiles.

Beside a small study are files of what may be one's own, which it names in comments.
"""

import os
from pathlib import Path

from scant.errors import SettingError, check_name
from scant.files import write_text
from scant.schema import PACKAGE, PROJECT

PROFILES = ("profiles/default/profile.yaml", "profiles/slurm/profile.yaml")
STUDY = "study.yaml"
SHOWN = 8  # names of files that a message has


def begin(folder, study: str = "") -> list[Path]:
    """Write the files of a first study to a folder, which may exist, and return their paths.

    study : a study that comes with scant, such as clicks or default, to begin with; "" for a small
        one

    Raises
    ------
    SettingError : one of the files is there already, or a file in the place of a folder, or no such
        study comes with scant; nothing is written then
    """
    folder, starter = Path(folder), PACKAGE / "starter"
    sources = {file.name: file for file in sorted(starter.iterdir()) if file.is_file()}
    sources |= {name: PROJECT / name for name in PROFILES}
    if study:
        sources = {name: file for name, file in sources.items() if not name.startswith("my_")}
        sources[STUDY] = shipped(study)
    texts = [file.read_text(encoding="utf-8") for file in sources.values()]
    paths = [folder / name for name in sources]
    taken = [path for path in paths if os.path.lexists(path)]
    taken += [
        above for path in paths for above in path.parents if above.exists() and not above.is_dir()
    ]
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    first = ", ".join(names[:SHOWN]) + more
    if taken:
        it_has = f". It has: {first}" if names else ""
        raise SettingError(
            f"{taken[0]} is there already: name a folder that has no study yet{it_has}"
        )
    if names:
        print(f"{folder} is not empty, and what is there stays as it is: {first}")
    for path, text in zip(paths, texts, strict=True):
        write_text(path, text)
    return paths


def shipped(study: str) -> Path:
    """The path of a study that comes with scant; a SettingError for another name."""
    studies = {path.stem: path for path in sorted((PROJECT / "config/studies").glob("*.yaml"))}
    studies["default"] = PROJECT / "config/config.yaml"
    check_name("study", study, studies)
    return studies[study]
