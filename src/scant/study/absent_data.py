"""The data sets that a study cannot have, and the study without what needs them: the study's key
`missing`.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from scant.data import fetch
from scant.data.registry import Dataset, find
from scant.declare import families
from scant.errors import SettingError
from scant.study.plan import ORIGINAL, TABLE, parts_read

STOP, LEAVE_OUT = "stop", "leave-out"


def absent(study: Mapping, datasets: Mapping[str, Dataset]) -> dict[str, str]:
    """The data sets that a study reads and cannot have, each with its first missing file.

    A file is not missing if results hold it or its table; if it is on this machine (see
    `scant.data.fetch.on_disk`); or if its publisher lets anybody download it.

    study, datasets : as `scant.study.settings.load` returns them
    """
    mirror, read = study["data"]["mirror"] or os.environ.get("SCANT_DATA"), {}
    for _, _, settings in _places(study):
        if "dataset" in settings:
            parts = parts_read(settings, datasets[settings["dataset"]])
            read.setdefault(settings["dataset"], {}).update(dict.fromkeys(parts))
    for name in study["tables_of"]:
        read.setdefault(name, {}).update(dict.fromkeys(datasets[name].cover))
    files = {}
    for name, parts in read.items():
        dataset = datasets[name]
        nowhere = [part for part in parts if not _can_be_had(dataset, part, mirror)]
        if nowhere:
            files[name] = f"{dataset.folder}/{dataset.part(nowhere[0]).file}"
    return files


def _can_be_had(dataset: Dataset, part: str, mirror: str | None) -> bool:
    made = (path.format(dataset=dataset.stored, part=part) for path in (TABLE, ORIGINAL))
    wanted = dataset.part(part)
    return (
        any(Path(path).is_file() for path in made)
        or fetch.downloadable(dataset, wanted)
        or fetch.on_disk(dataset, wanted, mirror) is not None
    )


def without(study: dict, datasets: Mapping[str, Dataset], names: list[str]) -> dict:
    """A complete study without some data sets, the places that need them, and the experiments left
    without a place.

    What was left out is in its key `left_out`: for each data set its `title` and the ids of the
    places, by section, and of the experiments that need it.

    Raises
    ------
    SettingError : there is no such data set, or nothing is left to play
    """
    left_out = {name: {"title": find(datasets, name).title or name} for name in names}
    if not left_out:
        return study
    needing = {}  # the data set that a place needs, by section and id
    for section, id, settings in _places(study):
        needed = settings.get("dataset") or needing.get(("streams", settings.get("stream")))
        if needed in left_out:
            needing[section, id] = needed
            left_out[needed].setdefault(section, []).append(id)
    kept, experiments = {section: {} for section in families.places()}, {}
    for section, id, settings in _places(study):
        if (section, id) not in needing:
            kept[section][id] = settings
    for name, experiment in study["experiments"].items():
        section = families.of(experiment).place.key
        places = [id for id in experiment[section] if (section, id) not in needing]
        if places:
            experiments[name] = experiment | {section: places}
        else:
            for needed in dict.fromkeys(needing[section, id] for id in experiment[section]):
                left_out[needed].setdefault("experiments", []).append(name)
    if not experiments:
        what = "all experiments need data sets that are missing, so that nothing is left to play"
        raise SettingError(f"missing: {what}")
    own = {name: entry for name, entry in study["datasets"].items() if name not in left_out}
    tables = [name for name in study["tables_of"] if name not in left_out]
    kept |= {"datasets": own, "tables_of": tables, "experiments": experiments, "left_out": left_out}
    return study | kept


def _places(study: Mapping) -> Iterator[tuple[str, str, Mapping]]:
    """The section, id and settings of each place of a study; streams come before what is made of
    them.
    """
    for section in families.places():
        yield from ((section, id, settings) for id, settings in study[section].items())


def notices(study: Mapping, files: Mapping[str, str] | None = None) -> list[str]:
    """A line for each data set that was left out, with all that needs it.

    files : the missing files, if they are to be named, see `absent`
    """
    lines = []
    for name, left in study.get("left_out", {}).items():
        keys = (key for key in (*families.places(), "experiments") if left.get(key))
        ids = [f"{key} {', '.join(left[key])}" for key in keys]
        title = left["title"] if left["title"] == name else f"{left['title']} ({name})"
        file = (files or {}).get(name)
        looked_for = f" (no {file} in data/ or a mirror)" if file else ""
        lines.append(f"{title} is missing{looked_for}. Left out: {'; '.join(ids) or 'its table'}.")
    return lines
