"""One zip of a finished study, to send, keep or deposit: a Workflow Run RO-Crate.

It is a Workflow Run Crate 0.5 on RO-Crate 1.1: `ro-crate-metadata.json` names the workflow, the settings that it was
given, the results, and the run that made them (https://w3id.org/ro/wfrun/workflow/0.5).
"""

import json
import os
import zipfile
import zlib
from importlib import metadata
from pathlib import Path

from scant import __version__
from scant.compare import finished, manifest, provenance, verifying
from scant.errors import DataError, SettingError
from scant.files import anew, atomic, check_outputs
from scant.schema import PROJECT, of_project, read_yaml

CRATE = "ro-crate-metadata.json"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TYPES = {
    ".csv": "text/csv", ".json": "application/json", ".html": "text/html", ".svg": "image/svg+xml",
    ".png": "image/png", ".pdf": "application/pdf", ".tex": "application/x-tex",
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.file", ".yaml": "application/yaml", ".cff": "application/yaml",
    ".smk": "text/plain", ".lock": "text/plain", ".rst": "text/x-rst", ".md": "text/markdown", "": "text/plain",
}  # fmt: skip
LARGE = ("runs/", "comparators/", "streams/", "bandit/", "campaigns/")  # left out unless asked for
LARGEST = 1 << 26  # bytes of a manifest
ABOUT = "Verdicts on claims of papers on learning to rank from scant feedback, with tables, figures and settings."


def write(folder, target=None, runs: bool = False) -> Path:
    """Write the archive of a finished study, and return its path.

    Parameters
    ----------
    folder : the study's results, results/{study}
    target : the file to write. It may replace an earlier archive of the study, and no other file. By default it has
        the folder's name, with .zip, and is in the working folder
    runs : whether to pack run files and streams, too, which are large and can be made again

    Raises
    ------
    SettingError : the file to write exists and is no archive of the study, or is in its folder
    DataError : the study is not finished, or its files or the workflow have changed since
    """
    folder = Path(folder)
    found = verifying.verify(folder)
    if wrong := found.gone + found.changed:
        raise DataError(folder / wrong[0], "is not what it was when the study was made", advice=anew(folder / wrong[0]))
    if found.workflow:
        path = folder / manifest.NAME
        raise DataError(path, f"lists another {found.workflow[0]} than the workflow has here", advice=anew(path))
    content = finished.manifest_of(folder)
    target = Path(target or f"{folder.absolute().name}.zip")
    check_outputs([target], [folder])
    if os.path.lexists(target) and _study_of(target) != content["study"]:
        raise SettingError(
            f"{target} is there, and is no archive of the study {content['study']}: give another name, with --output"
        )
    names = [name for name in content["results"] if runs or not name.startswith(LARGE)]
    results = {name: folder / name for name in (manifest.NAME, *names) if (folder / name).is_file()}
    workflow = {name: PROJECT / name for name in provenance.workflow()}
    if taken := results.keys() & {CRATE, *workflow}:
        raise DataError(
            folder / manifest.NAME, f"lists {min(taken)}, which is no result", advice=anew(folder / manifest.NAME)
        )
    stamp = tuple(int(part) for part in content["made"]["date"][:19].replace("T", "-").replace(":", "-").split("-"))
    with atomic(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(
            archive, CRATE, json.dumps(crate(content, results, workflow), indent=1, ensure_ascii=False).encode(), stamp
        )
        for name, path in (results | workflow).items():
            _add(archive, name, path.read_bytes(), stamp)
    return target


def _study_of(path: Path) -> str | None:
    """The id of the study whose archive this file is; None for other files."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(manifest.NAME) as file:
            archive.getinfo(CRATE)
            if archive.getinfo(manifest.NAME).compress_type != zipfile.ZIP_DEFLATED:  # others raise more errors
                return None
            return json.loads(file.read(LARGEST))["study"]
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, LookupError, TypeError, RuntimeError):
        return None  # NotImplementedError, of zips that cannot be read, and RecursionError are RuntimeErrors


def _add(archive: zipfile.ZipFile, name: str, content: bytes, stamp: tuple) -> None:
    """Add a file with the time at which the study was made: the same study gives the same archive."""
    entry = zipfile.ZipInfo(name, stamp)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(entry, content)


def crate(content: dict, results: dict[str, Path], workflow: dict[str, Path]) -> dict:
    """The metadata of the archive, as JSON-LD.

    content : the study's manifest
    results, workflow : the files of both, by their names in the archive
    """
    from rocrate.model import ContextEntity
    from rocrate.rocrate import ROCrate

    cited, made = read_yaml(of_project("CITATION.cff")), content["made"]
    found = ROCrate(version="1.1")
    found.metadata.extra_contexts.append("https://w3id.org/ro/terms/workflow-run")

    def add(id: str, kind: str, **properties):
        return found.add(ContextEntity(found, id, {"@type": kind, **properties}))

    licence = add(f"https://spdx.org/licenses/{cited['license']}", "CreativeWork", name=cited["license"],
                  identifier=cited["license"])  # fmt: skip
    settings, made_of_it = (
        found.add_formal_parameter(name, "File", f"#{id}", properties=properties)
        for id, name, properties in (("settings", "study file", {}), ("results", "results", {"multipleValues": True}))
    )
    main = found.add_workflow(
        workflow.get("Snakefile"), "Snakefile", main=True, lang="snakemake", lang_version=metadata.version("snakemake"),
        properties={"name": cited["title"], "version": _version(made), "encodingFormat": "text/plain",
                    "license": licence, "input": settings, "output": made_of_it},
    )  # fmt: skip
    files = {}
    for name, path in (results | workflow).items():
        if name != "Snakefile":
            about = {"name": name, "contentSize": str(path.stat().st_size)}
            about |= {"encodingFormat": TYPES[path.suffix]} if path.suffix in TYPES else {}
            about |= {"exampleOfWork": settings if name == provenance.STUDY else made_of_it} if name in results else {}
            files[name] = found.add_file(path, name, properties=about)
    run = found.add_action(
        main, "#run", object=files.get(provenance.STUDY),
        result=[file for name, file in files.items() if name in results and name != provenance.STUDY],
        properties={"name": f"Run of the study {content['study']}", "endTime": made["date"],
                    "description": "Snakemake made all results from the study file and the code named in the manifest.",
                    "actionStatus": "http://schema.org/CompletedActionStatus"},
    )  # fmt: skip
    about = {
        "name": f"Results of the study {content['study']}, made by scant", "description": ABOUT, "license": licence,
        "datePublished": made["date"], "mentions": run,
        "conformsTo": [add(id, "CreativeWork", name=name, version=id.rpartition("/")[2])
                       for id, name in PROFILES.items()],
        "citation": [add(source["url"] or f"#source-{number}", "ScholarlyArticle", name=source["title"])
                     for number, source in enumerate(content.get("sources", []), 1)],
    }  # fmt: skip
    for name, value in about.items():
        found.root_dataset[name] = value
    return found.metadata.generate()


def _version(made: dict) -> str:
    """The version of the workflow: with its commit, if that is known."""
    commit = f"+{made['commit'][:12]}" if made["commit"] else ""
    return f"{__version__}{commit}{'-changed' if made['clean'] is False else ''}"
