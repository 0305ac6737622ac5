"""One zip of a finished study, to send, keep or deposit: a Workflow Run RO-Crate, and a folder to
run the study in.

It is a Workflow Run Crate 0.5 on RO-Crate 1.1: `ro-crate-metadata.json` names the workflow, the
settings that it was given, the results, and the run that made them
(https://w3id.org/ro/wfrun/workflow/0.5). What the study reads, and its results, are where they were
below the working folder; by Snakemake's records of them, nothing has to be made anew.
"""

import json
import os
import re
import shlex
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from scant import __version__
from scant.data import registry
from scant.errors import SettingError
from scant.files import FOLDER_MARK, atomic, check_outputs, damaged, linked
from scant.finished import manifest, provenance, reading, verifying
from scant.finished.provenance import REGISTRY
from scant.page import templates
from scant.schema import PROJECT, read_yaml

README = "README.md"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TYPES = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".tex": "application/x-tex",
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.file",
    ".yaml": "application/yaml",
    ".cff": "application/yaml",
    ".py": "text/x-python",
    ".txt": "text/plain",
    ".smk": "text/plain",
    ".lock": "text/plain",
    ".rst": "text/x-rst",
    ".md": "text/markdown",
    "": "text/plain",
}
ABOUT = (
    "A study of learning to rank from scant feedback: verdicts on claims, tables, figures and "
    "settings."
)


def write(folder, target=None, runs: bool = False) -> Path:
    """Write the archive of a finished study, and return its path.

    Parameters
    ----------
    folder : the study's results, results/{study}
    target : the file to write, which may not be there yet. By default it has the folder's name,
        with .zip, and is in the working folder
    runs : whether to pack run files and streams, too, which are large and can be made again

    Raises
    ------
    SettingError : the file to write is there, or is in the study's folder
    DataError : the study is not finished, or its files or the workflow have changed since
    """
    folder = Path(folder)
    verified = verifying.verify(folder)
    if wrong := verified.gone + verified.changed:
        raise damaged(folder / wrong[0], "is not what it was when the study was made")
    content, listed = reading.manifest_of(folder), folder / manifest.NAME
    if verified.workflow:
        raise damaged(listed, f"lists another {verified.workflow[0]} than there is here")
    if "inputs" not in content:
        raise damaged(listed, "does not list what the study reads, as newer ones do")
    study = content["study"]
    target = Path(target or f"{folder.absolute().name}.zip")
    check_outputs([target], [folder])
    if os.path.lexists(target):
        raise SettingError(
            f"{target} is there already: delete it, or give another name, with --output"
        )
    names = [name for name in content["results"] if runs or not name.startswith(provenance.LARGE)]
    results = {f"results/{study}/{name}": folder / name for name in (*names, manifest.NAME)}
    results = {name: path for name, path in results.items() if path.is_file()}
    workflow = {name: PROJECT / name for name in content["workflow"]}
    workflow |= {
        name: provenance.source(name, folder) for name in content["inputs"] if name not in results
    }
    stamp = tuple(map(int, re.findall(r"\d+", content["made"]["date"])[:6]))
    # checks the study's own ones, too
    known = registry.load(extra=content["settings"]["datasets"])
    read_me = readme(content, workflow).encode()
    described = crate(content, results, workflow, known)
    described = json.dumps(described, indent=1, ensure_ascii=False).encode()
    with (
        atomic(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        _add(archive, provenance.CRATE, described, stamp)
        _add(archive, README, read_me, stamp)
        for name, path in (workflow | results | _records(results, folder)).items():
            _add(archive, name, path.read_bytes(), stamp)
    return target


def _records(results: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Snakemake's records of how results were made, and its marks in folders that are outputs, by
    name in the archive: with them, only what depends on a change is made again.
    """
    place, records = folder.absolute().parents[1], {}
    for name in dict.fromkeys(
        name for result in results for name in (str(Path(result).parent), result)
    ):
        text = urlsafe_b64encode(name.encode()).decode()
        # as Snakemake's persistence
        *parts, last = (text[start : start + 254] for start in range(0, len(text), 254))
        record = "/".join([".snakemake/metadata", *(f"@{part}" for part in parts), last])
        mark = folder.joinpath(*Path(name).parts[2:], FOLDER_MARK)
        both = {record: place / record, f"{name}/{FOLDER_MARK}": mark}
        records |= {name: path for name, path in both.items() if path.is_file()}
        if record in records and records[record].resolve() != place.resolve() / record:
            raise linked(records[record])
    return records


class Attribution(NamedTuple):
    """Whose results these are, with neutral words where the study says nothing.

    persons : whether `authors` are persons
    """

    authors: list[str]
    persons: bool
    publisher: str
    url: str
    licence: str | None


def attribution(content: dict) -> Attribution:
    """Whose results a study's are: what its settings say; the project's, for a study that comes
    with scant.
    """
    cited, stated = read_yaml(PROJECT / "CITATION.cff"), content["settings"].get("attribution", {})
    if not stated and content["made"]["project"]:
        names = [author["name"] for author in cited["authors"]]
        return Attribution(names, False, names[0], cited.get("url", ""), cited["license"])
    nobody = f"the authors of the study {content['study']}"
    authors = stated.get("authors", [nobody])
    publisher = stated.get("publisher", nobody)
    url, licence = stated.get("url", ""), stated.get("licence")
    return Attribution(authors, "authors" in stated, publisher, url, licence)


def readme(content: dict, workflow: dict[str, Path]) -> str:
    """The archive's README: its contents, whose results they are, how to run the study again, and
    what a run needs.

    content, workflow : as for `crate`
    """
    study, made = content["study"], content["made"]
    file = made["study_file"] or f"results/{study}/{provenance.STUDY}"
    own, registry, parts = content["settings"]["datasets"], read_yaml(workflow[REGISTRY]), []
    for name, checksum in content["data"].items():
        id, part = name.split("/", 1)
        entry = own.get(id) or registry.get(id, {})
        path = entry.get("parts", {}).get(part, {}).get("file", "")
        there = "got by `scant fetch`"
        if id in own:
            there = "here" if path in workflow else "to be put there"
        terms = " ".join(entry.get("terms", "not stated").split())
        row = {"name": name, "path": path, "there": there, "terms": terms, "checksum": checksum}
        parts.append(row)
    return templates.render(
        "archive.md",
        study=study,
        content=content,
        made=made,
        whose=attribution(content),
        results=f"results/{study}",
        option=f"--cores all --configfile {shlex.quote(file)}",
        version=_version(made),
        scant=__version__,
        parts=parts,
    )


def _add(archive: zipfile.ZipFile, name: str, content: bytes, stamp: tuple) -> None:
    """Add a file; its time is when the study was made: the same study, the same bytes."""
    entry = zipfile.ZipInfo(name, stamp)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(entry, content)


def crate(
    content: dict, results: dict[str, Path], workflow: dict[str, Path], known: Mapping
) -> dict:
    """The metadata of the archive, as JSON-LD.

    content : the study's manifest
    results, workflow : path by name in the archive; what the study reads is in `workflow`
    known : the data sets, by id
    """
    from rocrate.model import ContextEntity
    from rocrate.rocrate import ROCrate

    cited, made, whose = read_yaml(PROJECT / "CITATION.cff"), content["made"], attribution(content)
    given = f"results/{content['study']}/{provenance.STUDY}"
    archive = ROCrate(version="1.1")
    archive.metadata.extra_contexts.append("https://w3id.org/ro/terms/workflow-run")

    def add(id: str, kind: str, **properties):
        return archive.add(ContextEntity(archive, id, {"@type": kind, **properties}))

    def licence(name: str):
        return add(f"https://spdx.org/licenses/{name}", "CreativeWork", name=name, identifier=name)

    def organisation(id: str, name: str, url: str):
        address = {"url": url} if url else {}
        return add(id, "Organization", name=name, **address)

    publisher = organisation("#publisher", whose.publisher, whose.url)
    authors = [
        add(f"#author-{number}", "Person", name=name, affiliation=publisher)
        for number, name in enumerate(whose.authors if whose.persons else (), 1)
    ]
    by = authors or [publisher]
    by = by[0] if len(by) == 1 else by
    name, url = cited["authors"][0]["name"], cited.get("url", "")
    settings = archive.add_formal_parameter("study file", "File", "#settings", properties={})
    several = {"multipleValues": True}
    outcome = archive.add_formal_parameter("results", "File", "#results", properties=several)
    about = {
        "name": cited["title"],
        "version": _version(made),
        "encodingFormat": "text/plain",
        "license": licence(cited["license"]),
        "input": settings,
        "output": outcome,
        "author": organisation("#scant", name, url),
    }
    language = {"lang": "snakemake", "lang_version": metadata.version("snakemake")}
    file = workflow.get("Snakefile")
    main = archive.add_workflow(file, "Snakefile", main=True, properties=about, **language)
    about = {"name": README, "about": archive.root_dataset, "encodingFormat": TYPES[".md"]}
    archive.add_file(None, README, properties=about)
    files = {}
    for name, path in (results | workflow).items():
        if name == "Snakefile":  # added above
            continue
        about = {"name": name, "contentSize": str(path.stat().st_size)}
        if path.suffix in TYPES:
            about["encodingFormat"] = TYPES[path.suffix]
        if name in results:
            about["exampleOfWork"] = settings if name == given else outcome
        files[name] = archive.add_file(path, name, properties=about)
    outcomes = [file for name, file in files.items() if name in results and name != given]
    about = {
        "name": f"Run of the study {content['study']}",
        "endTime": made["date"],
        "agent": by,
        "description": "Snakemake made all results of the study file and the manifest's code.",
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    run = archive.add_action(
        main, "#run", object=files.get(given), result=outcomes, properties=about
    )
    unsaid = {
        "name": "not stated",
        "description": "The study states no licence of its results: ask its authors.",
    }
    about = {
        "name": f"Results of the study {content['study']}, made by scant",
        "description": ABOUT,
        "author": by,
        "publisher": publisher,
        "license": licence(whose.licence)
        if whose.licence
        else add("#licence", "CreativeWork", **unsaid),
        "datePublished": made["date"],
        "mentions": run,
        "conformsTo": [
            add(id, "CreativeWork", name=name, version=id.rpartition("/")[2])
            for id, name in PROFILES.items()
        ],
        "citation": [
            add(source["url"] or f"#source-{number}", "ScholarlyArticle", name=source["title"])
            for number, source in enumerate(content.get("sources", []), 1)
        ],
    }
    about |= {"url": whose.url} if whose.url else {}
    read = dict.fromkeys(name.partition("/")[0] for name in content["data"])
    about["isBasedOn"] = [
        add(f"#data-{id}", "Dataset", name=known[id].title or id, license=known[id].terms)
        for id in read
        if id in known
    ]
    for name, value in about.items():
        archive.root_dataset[name] = value
    return archive.metadata.generate()


def _version(made: dict) -> str:
    """The version of the workflow: "1.0+0123456789ab-changed", as far as this is known."""
    commit = f"+{made['commit'][:12]}" if made["commit"] else ""
    return f"{__version__}{commit}{'-changed' if made['clean'] is False else ''}"
