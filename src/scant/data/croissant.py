"""The registry's data sets in Croissant, the vocabulary in which data repositories and search
engines describe data.

The texts are JSON-LD of Croissant 1.0 (http://mlcommons.org/croissant/1.0): where each file is, its
checksum. What a row of a file holds is not described, since the files are of LETOR's and other text
formats, which it has no words for.
"""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from scant.data.registry import Dataset
from scant.files import write_text

FORMAT = "http://mlcommons.org/croissant/1.0"
CONTEXT = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "fileObject": "cr:fileObject", "fileSet": "cr:fileSet", "citeAs": "cr:citeAs",
}  # fmt: skip
LICENCES = {  # the terms of the registry that a licence's address is known for
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC BY-NC-SA 4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
}
ENDINGS = {
    ".zip": "application/zip",
    ".gz": "application/gzip",
    ".csv": "text/csv",
    ".rar": "application/vnd.rar",
}


def described(dataset: Dataset) -> dict:
    """A data set as JSON-LD, with a file for its archive and for each part, as far as they have
    checksums.

    Croissant allows no file without one; the description names the files that are not listed.
    """
    archive, files, unlisted = dataset.archive, [], []
    if archive and archive.sha256:
        files.append(_file("archive", "", archive.url, archive.sha256))
    for part in dataset.parts.values():
        if not part.sha256:
            unlisted.append(part.id)
            continue
        within = archive is not None and part.url is None
        if within and archive.sha256:
            files.append(_file(part.id, part.file, f"{archive.members}{part.file}", part.sha256))
            files[-1]["containedIn"] = {"@id": "archive"}
        else:
            address = (
                f"{archive.url}#{archive.members}{part.file}"
                if within
                else part.url or dataset.home
            )
            files.append(_file(part.id, part.file, address, part.sha256))
    about = f"{dataset.title}, for {dataset.task}."
    if unlisted:
        about += f" Not listed, since no checksum of theirs is published: {', '.join(unlisted)}."
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": FORMAT,
        "name": dataset.id,
        "description": about,
        "url": dataset.home,
        "license": terms(dataset),
        "distribution": files,
    }


def terms(dataset: Dataset) -> str:
    """The address of a data set's licence, if it is known; else its terms in words."""
    addresses = (url for name, url in LICENCES.items() if dataset.terms.startswith(name))
    return next(addresses, dataset.terms)


def _file(name: str, file: str, address: str, checksum: str) -> dict:
    ending = PurePosixPath(file).suffix
    return {
        "@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": address,
        "encodingFormat": ENDINGS.get(
            ending, "text/plain" if name != "archive" else "application/zip"
        ),
        "sha256": checksum,
    }  # fmt: skip


def write(datasets: dict[str, Dataset], folder) -> Iterator[Path]:
    """Write `folder`/{id}.json for each data set, and give the paths."""
    for dataset in datasets.values():
        path = Path(folder, f"{dataset.id}.json")
        write_text(path, json.dumps(described(dataset), indent=1, ensure_ascii=False) + "\n")
        yield path
