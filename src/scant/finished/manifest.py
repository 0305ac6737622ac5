"""What made the results of a study: its settings, its code, the versions of packages, its claims
and its data.
"""

import hashlib
import json
import platform
import sys
from pathlib import Path

from scant.data.registry import reading_modules
from scant.errors import DataError, SettingError, printable
from scant.files import anew, check_unlinked, sha256, write_text
from scant.finished import provenance
from scant.schema import PROJECT, check, parsed, read_yaml, with_defaults
from scant.study import code
from scant.study.plan import ORIGINAL, Plan
from scant.study.schema import ID_RULE, WRITTEN, schema
from scant.verdict import selection

NAME = "manifest.json"
DIGITS = 12  # hexadecimal, of a digest

# What results may depend on; others draw figures or plan jobs.
VERSIONS = ("Python", "scant", "numpy", "scipy", "pandas", "scikit-learn", "numba", "pyarrow")
# what a manifest says of one run alone: references leave it out
OF_A_RUN = ("made", "results", "workflow", "elsewhere")
SCHEMA = read_yaml(Path(__file__).with_name("manifest.schema.yaml"))
SCHEMA["$defs"]["id"] = ID_RULE
SCHEMA["properties"]["settings"]["properties"]["attribution"] = WRITTEN["study"]["attribution"]
SCHEMA["$defs"]["checksums"]["propertyNames"] = {"pattern": f"^({provenance.PLAIN.pattern})$"}
# keys of a claim that do not test it
WORDS = ("source", "statement", "row", "chosen", "family", "data", "figure")


def write(
    config: dict,
    plan: Plan,
    stated: dict,
    folder,
    facts: dict,
    made: dict,
    target,
    study_file: str = "",
) -> None:
    """Write the manifest of a study whose claims and tables are made.

    Parameters
    ----------
    config : the content of the study file
    plan : of the study
    stated : its claims, see `scant.study.settings.claims`; empty if it judges none
    folder : the study's results, results/{study}
    facts : what the page says of the study, see `scant.page.about.facts`
    made : when and from what it was made, see `scant.finished.provenance.made`
    study_file : the path of the study's file

    Raises
    ------
    OSError : a claims file or a table is not there
    """
    folder, entries = Path(folder), modules(plan, stated)
    inputs, elsewhere = provenance.inputs(plan.study, stated, study_file)
    content = {
        "study": plan.study["study"],
        "files": checksums(folder, files(plan)),
        "settings": _settings(config),
        "claims": {name: _tested(claim) for name, claim in stated.items()},
        "code": {part: code.digest(*names) for part, names in entries.items()},
        "modules": code.digests(*(name for names in entries.values() for name in names)),
        "versions": {name: facts["environment"][name] for name in VERSIONS}
        | {"system": f"{sys.platform}, {platform.machine()}"},
        "data": {
            f"{row['data set']}/{row['part']}": _checksum(row, plan, folder)
            for row in facts["datasets"]
        },
        "sources": facts["sources"],
        "made": made,
        "results": checksums(folder, provenance.results(plan, stated)),
        "workflow": checksums(PROJECT, provenance.workflow()),
        "inputs": {name: sha256(path) for name, path in inputs.items()},
        "elsewhere": elsewhere,
    }
    save(content, target)


def read(folder, advice: str = "") -> dict:
    """The manifest of a study, whole and with plain paths alone; empty if there is none.

    advice : what to do if it is damaged; by default to make it anew

    Raises
    ------
    DataError : it is damaged, or not a manifest; or the folder holds a link
    """
    path = Path(folder, NAME)
    check_unlinked(folder)
    if not path.is_file():
        return {}
    try:
        content = parsed(path.read_text(encoding="utf-8"), "manifest")
        check(content, SCHEMA, "manifest")
    except (ValueError, SettingError) as error:
        reason = f"is no whole manifest of a study ({printable(error)})"
        raise DataError(path, reason, advice=advice or anew(path)) from None
    return content


def save(content: dict, target) -> None:
    """Write a manifest, as text that shows in a diff what has changed."""
    write_text(target, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def files(plan: Plan) -> list[str]:
    """The files of results that studies are compared by, below the folder of results."""
    judged = ["claims.csv", "claims-readings.csv"] if plan.study["claims"] else []
    return judged + [f"tables/{name}.csv" for name in plan.tables]


def checksums(folder: Path, names) -> dict[str, str]:
    """SHA-256 of some files of a folder."""
    return {name: sha256(folder / name) for name in names}


def modules(plan: Plan, stated: dict) -> dict[str, list[str]]:
    """The modules that the jobs of a study start from: of each family, the data, the tables and the
    verdicts.

    All that they import belongs to them, too, see `scant.study.code`.
    """
    study, entries = plan.study, {}
    for name, family in plan.families.items():
        entries.setdefault(family.kind, []).extend(plan.modules(name))
    entries["data"] = ["scant.data.tables", "scant.data.packing", "scant.data.simulated"]
    generators = (stream.get("generator", "") for stream in study["streams"].values())
    entries["data"] += (name.partition(":")[0] for name in generators if ":" in name)
    if study["logs"]:
        entries["data"] += ["scant.bandits.campaigns", "scant.ads.draw"]
    for dataset in plan.datasets.values():
        if study["logs"] or ":" in dataset.parser:
            entries["data"] += reading_modules(dataset)
    if any(plan.comparators.values()):
        entries["comparators"] = ["scant.rankers.comparator"]
    if any(target.shown.reads == "coverage" for target in plan.figures.values()):
        entries["coverage"] = ["scant.ads.coverage"]
    entries["tables"] = ["scant.present.traces"]
    for target in plan.tables.values():
        entries["tables"] += target.shown.modules
    if study["claims"]:
        judging = ("scant.study.settings", "scant.verdict.tables")
        entries["verdicts"] = [*judging, *selection.modules(stated)]
    return {part: list(dict.fromkeys(names)) for part, names in entries.items()}


def _settings(config: dict) -> dict:
    """The settings with defaults filled in, sweeps not spread, without `study` and `data`."""
    settings = with_defaults(config, schema())
    return {key: settings[key] for key in settings if key not in ("study", "data")}


def _tested(claim: dict) -> str:
    """A digest of a claim's entries that decide its verdict, all but `WORDS`."""
    tests = {key: value for key, value in claim.items() if key not in WORDS}
    return hashlib.sha256(json.dumps(tests, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _checksum(row: dict, plan: Plan, folder: Path) -> str | None:
    """SHA-256 of a part of a data set: as registered, else of the file read; None if it is gone.

    row : of `datasets` in `scant.page.about.facts`
    """
    stored = plan.datasets[row["data set"]].stored
    path = folder.parent / ORIGINAL.removeprefix("results/").format(
        dataset=stored, part=row["part"]
    )
    return row["SHA-256"] or (sha256(path) if path.is_file() else None)
