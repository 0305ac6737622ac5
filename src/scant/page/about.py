"""What a study's page says besides its results: captions, data sets, environment, timings, citation, commands."""

import os
import platform
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

from scant.files import foreign, read_parquet
from scant.page import status
from scant.present import catalogue
from scant.schema import read_yaml
from scant.study import settings as studies

CAPTIONS = Path("workflow/report")  # templates that Snakemake's own report fills in, too
CITATION = Path("CITATION.cff")
DEFAULT = "config/config.yaml"  # the study that Snakemake runs if no other is named
PACKAGES = (
    *("scant", "snakemake", "numpy", "pandas", "scikit-learn", "seaborn", "matplotlib", "pyarrow", "numba", "scipy"),
)


def facts(config: dict, folder, study_file: str = "") -> dict:
    """What `scant.page.page.make` takes as `about`.

    config : the study's settings, as its file has them
    folder : its results
    study_file : that file's path; empty for the default study's

    Raises
    ------
    SettingError, DataError : the settings, the citation or a benchmark cannot be used
    """
    study, datasets = studies.load(config)
    return {
        "captions": captions(folder),
        "datasets": _datasets(study, datasets),
        "environment": _environment(),
        "timings": status.by("rule", status.benchmarks(folder)),
        "citation": citation(),
        "commands": _commands(study, Path(folder), study_file),
    }


def claims(path) -> list[dict] | None:
    """The claims of a study, of the parquet file that `scant.verdict.claims.write` wrote; None without one.

    Raises
    ------
    DataError : the file is not whole
    """
    if path is None:
        return None
    with foreign(path, "whole file of claims", "Make the claims again"):
        return read_parquet(path).to_pandas().to_dict("records")


def captions(folder) -> dict[str, str]:
    """The captions of a study's figures and tables by their files' names, in the order of the catalogue."""
    order = (*catalogue.FIGURES, *catalogue.COVERAGE, *catalogue.TABLES, *catalogue.LOGS, *catalogue.THEORY)
    found = {}
    for kind, ending in {"figure": "svg", "table": "csv"}.items():
        names = {path.stem for path in Path(folder, f"{kind}s").glob(f"*.{ending}")}
        for name in sorted(names, key=lambda one: (order.index(one) if one in order else len(order), one)):
            found[name] = caption(kind, name)
    return found


def caption(kind: str, name: str) -> str:
    """The caption of a figure or table, as Snakemake's report has it."""
    import jinja2

    template = jinja2.Template((CAPTIONS / f"{kind}.rst").read_text(encoding="utf-8"), undefined=jinja2.StrictUndefined)
    output = SimpleNamespace(svg=f"{name}.svg", csv=f"{name}.csv")
    return " ".join(template.render(snakemake=SimpleNamespace(output=output)).split())


def citation() -> str:
    """How to cite the project, as BibTeX, of CITATION.cff."""
    about = read_yaml(CITATION)
    authors = " and ".join(f"{{{one['name']}}}" if "name" in one else _person(one) for one in about["authors"])
    return (
        f"@software{{scant,\n  author = {{{authors}}},\n  title = {{{{{about['title']}}}}},\n"
        f"  version = {{{about['version']}}},\n  license = {{{about['license']}}}\n}}"
    )


def _person(one: dict) -> str:
    return f"{one['family-names']}, {one['given-names']}"


def _datasets(study: dict, datasets: dict) -> list[dict]:
    """A row for each part of the data sets that a study reads."""
    streams = [one for one in study["streams"].values() if "dataset" in one]
    used = dict.fromkeys([*(one["dataset"] for one in (*streams, *study["logs"].values()) if "dataset" in one)])
    rows = []
    for name in (*used, *(one for one in study["tables_of"] if one not in used)):
        dataset = datasets[name]
        wanted = {part for one in streams if one["dataset"] == name for part in one.get("parts", dataset.cover)}
        for part in dataset.parts.values():
            if wanted and part.id not in wanted:
                continue
            rows.append(
                {"data set": name, "title": dataset.title, "part": part.id, "file": Path(part.file).name}
                | {"rows": part.rows, "queries": part.queries, "home": dataset.home, "terms": dataset.terms}
                | {"SHA-256": part.sha256 or ""}
            )
    return rows


def _environment() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found | {"system": f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores"}


def _commands(study: dict, folder: Path, study_file: str) -> dict[str, str]:
    own = f" --configfile {study_file}" if study_file not in ("", DEFAULT) else ""
    drawn = catalogue.figures(study)
    found = {"The whole study": f"snakemake --cores all{own}"}
    if drawn:
        found["One figure, from finished runs"] = f"snakemake {folder}/figures/{drawn[0]}.svg --force --cores 1{own}"
    found["All figures, tables or claims, or this page"] = "\n".join(
        f"snakemake {target} --cores all{own}" for target in ("figures", "tables", "claims", "report")
    )
    found["Claims and tables in the terminal"] = f"scant show {folder}"
    return found
