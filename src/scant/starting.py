"""Begin a study in a folder of its own: a Snakefile that imports the workflow, a study file, and a profile."""

import os
from pathlib import Path

from scant.errors import SettingError
from scant.files import write_text
from scant.schema import PACKAGE, PROJECT

PROFILE = "profiles/default/profile.yaml"
SHOWN = 8  # names of files that a message has


def begin(folder, log=print) -> list[Path]:
    """Write the files of a first study to a folder, which may exist, and return their paths.

    log : a function that takes a line of text about what else is in the folder

    Raises
    ------
    SettingError : one of the files is there already, or a file in the place of a folder; nothing is written then
    """
    folder, starter = Path(folder), PACKAGE / "starter"
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(starter.iterdir()) if file.is_file()}
    texts[PROFILE] = (PROJECT / PROFILE).read_text(encoding="utf-8")
    paths = [folder / name for name in texts]
    taken = [path for path in paths if os.path.lexists(path)]
    taken += [above for path in paths for above in path.parents if above.exists() and not above.is_dir()]
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    if taken:
        raise SettingError(
            f"{taken[0]} is there already: name a folder that has no study yet"
            + (f". It has: {shown}" if names else "")
        )
    if names:
        log(f"{folder} is not empty, and what is there stays as it is: {shown}")
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
    return paths
