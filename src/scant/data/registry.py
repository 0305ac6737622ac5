"""The registry: which data sets exist, where their files come from, and how they are read."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from scant.errors import SettingError, unknown
from scant.schema import check, read_yaml


@dataclass(frozen=True)
class Part:
    """One file of a data set; `sha256` and `git_blob` are of its decompressed content."""

    id: str
    file: str
    sha256: str | None = None
    git_blob: str | None = None
    url: str | None = None
    package: str | None = None
    rows: int | None = None
    queries: int | None = None


@dataclass(frozen=True)
class Archive:
    """The publisher's archive of a data set; `members` is the prefix of the parts' files in it."""

    url: str
    sha256: str | None = None
    members: str = ""


@dataclass(frozen=True)
class Dataset:
    """One data set, as the schema of the registry describes it; `own` is true for a study's own sets.

    `features` is None for logs (task `ads`), whose own header says which there are.
    """

    id: str
    task: str
    parser: str
    features: int | None
    parts: dict[str, Part]
    cover: tuple[str, ...]
    folder: str
    title: str = ""
    home: str = ""
    terms: str = ""
    grades: int | None = None
    normalised: bool = False
    classes: tuple[str, ...] | None = None
    archive: Archive | None = None
    get: str = ""
    own: bool = False

    def part(self, name: str) -> Part:
        """The part called `name`; a SettingError that suggests the nearest one if there is none."""
        if name not in self.parts:
            raise unknown(f"part of {self.id}", name, self.parts)
        return self.parts[name]


def load(
    path="config/datasets.yaml",
    extra: dict | None = None,
    schema="workflow/schemas/datasets.schema.yaml",
) -> dict[str, Dataset]:
    """Read and check the registry.

    Parameters
    ----------
    path : the registry, YAML
    extra : a study's own data sets by id, in the same form; title, home, terms and checksums may be absent
    schema : the JSON schema of the registry, YAML

    Returns
    -------
    Data sets by id.

    Raises
    ------
    SettingError : names the key at fault, and the nearest valid name where there is one.
    """
    rules = read_yaml(schema)
    registered, extra = read_yaml(path), extra or {}
    check(registered, rules, where=str(path))
    check(extra, {"$ref": "#/$defs/own", "$defs": rules["$defs"]}, where="the study's own data sets")
    if both := sorted(registered.keys() & extra.keys()):
        raise SettingError(f"the study's own data sets: {both[0]} is in {path} already. Choose another id")
    return {
        **{name: _dataset(name, entry) for name, entry in registered.items()},
        **{name: _dataset(name, entry, own=True) for name, entry in extra.items()},
    }


def find(datasets: dict[str, Dataset], name: str) -> Dataset:
    """The data set called `name`; a SettingError that suggests the nearest one if there is none."""
    if name not in datasets:
        raise unknown("data set", name, datasets)
    return datasets[name]


def _dataset(name: str, entry: dict, own: bool = False) -> Dataset:
    parts = {key: Part(key, **part) for key, part in entry["parts"].items()}
    cover = tuple(entry.get("cover", parts))
    for part in cover:
        if part not in parts:
            raise SettingError(f"{name}.cover: {unknown('part', part, parts)}")
    inside = [part.package for part in parts.values() if part.package]
    if not own:
        inside += [entry.get("folder", name), *(part.file for part in parts.values())]
    for path in inside:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise SettingError(f"{name}: {path!r} leads out of the data folder")
    settled = {
        "features": entry.get("features"),
        "parts": parts,
        "cover": cover,
        "folder": entry.get("folder", name),
        "classes": tuple(map(str, entry["classes"])) if "classes" in entry else None,
        "archive": Archive(**entry["archive"]) if "archive" in entry else None,
    }
    return Dataset(name, own=own, **{**entry, **settled})
