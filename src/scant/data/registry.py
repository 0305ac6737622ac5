"""The registry: which data sets exist, where their files come from, and how they are read."""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PurePosixPath

from scant.errors import SettingError, unknown
from scant.schema import check, of_project, read_yaml


@dataclass(frozen=True)
class Part:
    """One file of a data set; the checksums `sha256` and `git_blob` are those of its decompressed
    content.
    """

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
    """The publisher's archive of a data set; `members` is the prefix of its files in the
    archive.
    """

    url: str
    sha256: str | None = None
    members: str = ""


@dataclass(frozen=True)
class Dataset:
    """One data set, with the fields that the schema of the registry describes.

    `own` is true for a study's own sets, and `study` is the id of that study, if it is known.
    `features` is None for logs (task `ads`), whose header names the features.
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
    fractions: str | None = None
    first_index: int = 1
    unsorted: bool = False
    overflow: float | str | None = None
    judged: str | None = None
    classes: tuple[str, ...] | None = None
    archive: Archive | None = None
    get: str = ""
    plain_http: bool = False
    sample: bool = False
    own: bool = False
    study: str = ""

    @property
    def stored(self) -> str:
        """Its name among the tables of all studies: its id, with the study's for a study's own set,
        since other studies may use the id.
        """
        return f"{self.id}@{self.study}" if self.study else self.id

    @property
    def text(self) -> dict:
        """How its files in LETOR's format are read: settings of `scant.data.letor.read_letor`."""
        return {
            name: getattr(self, name)
            for name in ("fractions", "first_index", "unsorted", "overflow")
        }

    def part(self, name: str) -> Part:
        """The part with this id; if there is none, a SettingError that suggests the nearest id."""
        if name not in self.parts:
            raise unknown(f"part of {self.id}", name, self.parts)
        return self.parts[name]


def load(
    path="config/datasets.yaml",
    extra: dict | None = None,
    schema="workflow/schemas/datasets.schema.yaml",
    study: str = "",
) -> dict[str, Dataset]:
    """Read and check the registry.

    Parameters
    ----------
    path : the registry, YAML
    extra : a study's own data sets by id, in the same form; title, home, terms and checksums may be
        absent
    schema : the JSON schema of the registry, YAML
    study : the id of the study whose own data sets these are

    Returns
    -------
    Data sets by id.
    """
    rules = read_yaml(of_project(schema))
    registered, extra = read_yaml(of_project(path)), extra or {}
    check(registered, rules, where=str(path))
    check(
        extra, {"$ref": "#/$defs/own", "$defs": rules["$defs"]}, where="the study's own data sets"
    )
    if both := sorted(registered.keys() & extra.keys()):
        raise SettingError(
            f"the study's own data sets: {both[0]} is in {path} already. Choose another id"
        )
    return {
        **{name: _dataset(name, entry) for name, entry in registered.items()},
        **{name: _dataset(name, entry, own=True, study=study) for name, entry in extra.items()},
    }


def groups_beside(path) -> Path | None:
    """The file beside another that says how many rows each query has, LightGBM's `.query` or
    XGBoost's `.group`; None if there is none.
    """
    path = Path(path)
    names = (
        f"{stem}{ending}" for stem in (path.name, path.stem) for ending in (".query", ".group")
    )
    return next((file for name in names if (file := path.with_name(name)).is_file()), None)


def find(datasets: dict[str, Dataset], name: str) -> Dataset:
    """The data set with this id; if there is none, a SettingError that suggests the nearest id."""
    if name not in datasets:
        raise unknown("data set", name, datasets)
    return datasets[name]


def _dataset(name: str, entry: dict, own: bool = False, study: str = "") -> Dataset:
    parts = {key: Part(key, **part) for key, part in entry["parts"].items()}
    cover = tuple(entry.get("cover", parts))
    for part in cover:
        if part not in parts:
            raise SettingError(f"{name}.cover: {unknown('part', part, parts)}")
    inside_paths = [part.package for part in parts.values() if part.package]
    if not own:
        inside_paths += [entry.get("folder", name), *(part.file for part in parts.values())]
    for path in inside_paths:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise SettingError(f"{name}: {path!r} leads out of the data folder")
    fields = {
        "features": entry.get("features"),
        "parts": parts,
        "cover": cover,
        "folder": entry.get("folder", name),
        "classes": tuple(map(str, entry["classes"])) if "classes" in entry else None,
        "archive": Archive(**entry["archive"]) if "archive" in entry else None,
    }
    dataset = Dataset(name, own=own, study=study, **{**entry, **fields})
    for part in parts.values():
        for url in filter(None, (part.url, dataset.archive and dataset.archive.url)):
            check_address(dataset, part, url)
    return dataset


def check_address(dataset: Dataset, part: Part, url: str, origin: str | None = None) -> None:
    """Raise a SettingError for plain http without a checksum, unless the entry says it is meant.

    origin : the address that led to `url`; by default `url` itself
    """
    origin = origin or url
    archive = dataset.archive
    of_archive = archive.sha256 if archive and archive.url == origin else None
    checked = part.sha256 or part.git_blob or of_archive or dataset.plain_http
    if url.lower().startswith("http:") and not checked:
        where = url if url == origin else f"{origin} leads to {url}, which"
        raise SettingError(
            f"{dataset.id}: {where} is plain http, so that anybody on the way could change it, and "
            "no checksum would tell. Use https, give its sha256, or say that it is meant: "
            "`plain_http: true` in the set's entry"
        )


def reading_modules(dataset: Dataset) -> list[str]:
    """The modules outside `scant.data` that read a data set's files: a package's or a user's."""
    if ":" in dataset.parser:
        return [dataset.parser.partition(":")[0]]
    parser = reader(dataset.parser)
    return [parser.module] if parser else []


@cache
def reader(parser: str) -> EntryPoint | None:
    """The function of another package that reads the files of a parser: an entry point of the group
    `scant.readers`. None for the parsers of this package.
    """
    return next(iter(entry_points(group="scant.readers", name=parser)), None)
