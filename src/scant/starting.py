"""Begin a study in a folder of its own: a Snakefile that imports the workflow, a study file, and a profile."""

from pathlib import Path

from scant.errors import SettingError
from scant.files import write_text
from scant.schema import PACKAGE, PROJECT

PROFILE = "profiles/default/profile.yaml"


def begin(folder) -> list[Path]:
    """Write the files of a first study to a folder, which may exist, and return their paths.

    Raises
    ------
    SettingError : one of the files is there already
    """
    folder, starter = Path(folder), PACKAGE / "starter"
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(starter.iterdir()) if file.is_file()}
    texts[PROFILE] = (PROJECT / PROFILE).read_text(encoding="utf-8")
    if there := [name for name in texts if (folder / name).exists()]:
        raise SettingError(f"{folder / there[0]} is there already: name a folder that has no study yet")
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]
