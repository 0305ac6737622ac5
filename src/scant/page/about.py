"""What the page of a study shows besides results: captions, data sets, environment, timings,
citation, commands.
"""

import json
import os
import platform
import re
import shlex
from collections.abc import Iterable, Mapping
from importlib import metadata
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from scant.declare import families
from scant.files import read_rows, visible
from scant.schema import of_project, read_yaml
from scant.study import absent_data, plan
from scant.study.plan import Plan
from scant.study.settings import DEFAULT

CITATION = Path("CITATION.cff")
OURS = "scant"  # the document of questions that no paper asks
CSV = "The CSV file of the same name holds exactly what is shown."
PACKAGES = (
    "scant", "snakemake", "numpy", "pandas", "scikit-learn", "matplotlib", "pyarrow", "numba",
    "scipy",
)  # fmt: skip


def facts(
    plan: Plan, stated: dict, folder, study_file: str = "", boards: Mapping = MappingProxyType({})
) -> dict:
    """The argument `about` of `scant.page.page.make`.

    plan : of the study
    stated : its claims, see `scant.study.settings.claims`; empty if it judges none
    folder : the folder of its results
    study_file : the path of its file; empty for the default study
    boards : see `scant.page.boards.boards`

    Raises
    ------
    DataError : invalid citation or benchmarks, or damaged runs
    """
    study, names = plan.study, [*plan.figures, *plan.tables]
    sourced = {name: claim["source"] for name, claim in stated.items()}
    return {
        "files": names,
        "studied": studied(study),
        "left_out": absent_data.notices(study),
        "sources": sources(stated),
        "links": {name: source["url"] for name, source in sourced.items() if "url" in source},
        "captions": captions(names, folder, plan.shown, _documents(stated)),
        "headings": {one.name: one.heading for _, one in plan.shown if one.heading},
        "titles": titles(plan),
        "experiments": families.titles(study["experiments"]),
        "compared": {name: compared(claim) for name, claim in stated.items()},
        "boards": boards,
        "shows": {name: target.experiments for name, target in plan.figures.items()},
        "datasets": _datasets(plan),
        "environment": _environment(),
        "timings": timings(folder),
        "authors": authors(),
        "citation": citation(),
        "commands": _commands(plan, folder, study_file),
    }


def captions(
    names, folder, shown_of_study: Iterable, of_papers: Iterable[str] = ()
) -> dict[str, str]:
    """The captions of the figures and tables of these names, in the order of the families.

    folder : the study's results; the caption of a figure also says what its CSV file there has
    shown_of_study : see `scant.study.plan.Plan.shown`
    of_papers : the documents of the project whose statements the study judges; without any, the
        study repeats no figure of a paper, and captions name none
    """
    texts = {
        shown.name: caption(shown, bool(of_papers))
        for _, shown in shown_of_study
        if shown.name in names
    }
    for name in texts:
        texts[name] += f" {shown_in(Path(folder, 'figures', f'{name}.csv'))}".rstrip()
    return texts


def shown_in(path) -> str:
    """Sentences on a figure's data, rounds, rates and n, as far as its CSV file has them."""
    if not Path(path).is_file():
        return ""
    head, rows = read_rows(path)
    columns = {name: list(dict.fromkeys(row[name] for row in rows if row[name])) for name in head}
    said = []
    if data := columns.get("panel") or columns.get("campaign"):
        said.append(f"Data: {'; '.join(data)}.")
    texts = columns.get("horizon") or columns.get("rounds") or columns.get("round") or []
    if lengths := [int(float(one)) for one in re.findall(r"\d+(?:\.\d+)?", " ".join(texts))]:
        said.append(f"Rounds: {'up to ' if len(lengths) > 1 else ''}{max(lengths):,}.")
    # in figures of ads it is a click rate
    if {"label", "rate", "tuning"} <= columns.keys() and "of" not in columns:
        rates = {}  # by learner, its different rates in order
        for row in rows:
            if row["rate"] not in ("", "none"):
                rates.setdefault(row["label"], {})[_rate(row["rate"])] = None
        if rates:
            of_learners = [f"{learner} {_spread(values)}" for learner, values in rates.items()]
            said.append(f"Learning rates: {'; '.join(of_learners)}.")
    if counts := {int(float(n)) for n in columns.get("n") or columns.get("repeats") or ()}:
        said.append(f"n = {_ends(counts)}.")
    return " ".join(said)


def _ends(counts: Iterable[int]) -> str:
    """The range of some counts: "10", "8 to 1,000"."""
    least, most = f"{min(counts):,}", f"{max(counts):,}"
    return least if least == most else f"{least} to {most}"


def _rate(text: str) -> str:
    """A rate as text, its number to three digits; what follows it (such as its edge) stays."""
    number = re.match(r"[\d.]+(?:e[-+]?\d+)?", text)
    return f"{float(number[0]):.3g}{text[number.end() :]}" if number else text


def _spread(values) -> str:
    """Up to three values, listed; of more: "5 different ones"."""
    return ", ".join(values) if len(values) <= 3 else f"{len(values)} different ones"


def caption(shown: families.Shown, repeats: bool = False) -> str:
    """The caption of a figure or table; if the study `repeats` papers, with what it repeats."""
    source = f"It repeats {shown.repeats}." if repeats and shown.repeats else ""
    return " ".join(filter(None, (shown.caption, source, CSV if shown.draw else "")))


def titles(plan: Plan) -> dict[str, dict[str, str]]:
    """The titles of each experiment's places and learners, by their ids."""
    by_kind = {name: plan.details(name)["titles"] for name in plan.families}
    return {name: titles["streams"] | titles["learners"] for name, titles in by_kind.items()}


def compared(claim: dict) -> str:
    """The two rows of a table whose difference a claim is about, by the columns that tell them
    apart: "ips minus dm"; "" for all other claims.
    """
    against = claim.get("against")
    if "table" not in claim or not isinstance(against, dict):
        return ""
    row = {key: claim["cell"][key] for key in against}

    def name(keys: dict) -> str:
        items = keys.items()
        return ", ".join(key if isinstance(key, str) else f"{of} = {key}" for of, key in items)

    return f"{name(row)} minus {name(against)}"


def studied(study: dict) -> list[dict[str, str]]:
    """What each family of the study's experiments plays: `kind`, `about`, `places`, `learners` and
    `seeds`, as text.
    """
    rows = []
    for kind, family in families.families().items():
        stated = (one for one in study["experiments"].values() if "stands_for" not in one)
        experiments = [one for one in stated if one["kind"] == kind]
        if not experiments:
            continue
        row = {
            "kind": kind,
            "about": family.about.removeprefix("learners ").removeprefix("they "),
            "place": family.place.name,
            "seeds": _ends([plan.total(one["seeds"]) for one in experiments]).replace(",", ""),
        }
        for key, section in {"places": family.place.key, "learners": "learners"}.items():
            by_id = families.titles(study[section])
            titles = dict.fromkeys(by_id[id] for one in experiments for id in one[section])
            row |= {key: "; ".join(titles), f"{key}_count": str(len(titles))}
        rows.append(row)
    return rows


def sources(stated: dict) -> list[dict[str, str]]:
    """The documents whose statements are tested: `authors`, `title`, `year` and `url`, each "" if
    it is not known.

    They are described in claims, or references of CITATION.cff if a claim is about one of the
    project's documents.
    """
    described = {}  # several claims of a document may each say a part
    for source in (claim["source"] for claim in stated.values()):
        if "title" in source:
            described[source["title"]] = described.get(source["title"], {}) | source
    documents = [*described.values()]
    for cited in read_yaml(of_project(CITATION))["references"] if _documents(stated) else ():
        people = ("{given-names} {family-names}".format(**one) for one in cited["authors"])
        documents.append(cited | {"authors": " and ".join(people), "year": str(cited["year"])})
    keys = ("authors", "title", "year", "url")
    return [{key: one.get(key, "") for key in keys} for one in documents]


def _documents(stated: dict) -> set[str]:
    """The project's documents whose statements are among the claims."""
    return {claim["source"].get("document", OURS) for claim in stated.values()} - {OURS}


def timings(folder) -> list[dict]:
    """The time and memory of a study's finished jobs by rule, from Snakemake's extended benchmarks.

    Lines that are not what Snakemake writes, such as one that was cut short, are left out. Of a job
    that a server forked, Snakemake measures the client that waits; so the memory is from the job's
    log, if it is there.

    Returns
    -------
    rows : in descending order of seconds, with `rule`, `jobs` (how many), `seconds` (in all),
        `longest` (seconds of the longest job) and `memory` (the largest, MB)
    """
    jobs = {}
    benchmarks, logs = Path(folder, "benchmarks"), Path(folder, "logs")
    for path in visible(benchmarks, "**/*.jsonl"):
        log = logs / path.relative_to(benchmarks).with_suffix(".log")
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                job = json.loads(line)
                seconds, memory = float(job["s"]), job.get("max_rss")  # unknown if it was short
                memory = float(memory) if isinstance(memory, int | float) else 0.0
                memory = _logged_memory(log) or memory
                jobs.setdefault(job["rule_name"], []).append((seconds, memory))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
    rows = []
    for rule, of_rule in jobs.items():
        seconds, memory = zip(*of_rule, strict=True)
        row = {"rule": rule, "jobs": len(of_rule), "seconds": round(sum(seconds), 2)}
        rows.append(row | {"longest": round(max(seconds), 2), "memory": round(max(memory))})
    return sorted(rows, key=lambda row: (-row["seconds"], row["rule"]))


def _logged_memory(log: Path) -> float:
    """The memory of a job (MB), from the last line of its log (`scant.client`); 0 without one."""
    end = log.read_bytes()[-100:] if log.is_file() else b""
    match = re.search(rb", at most (\d+) MB\n$", end)
    return float(match[1]) if match else 0.0


def authors() -> str:
    """Who made the project, as CITATION.cff has them, within a sentence: "the scant
    contributors".
    """
    names = [author["name"] for author in read_yaml(of_project(CITATION))["authors"]]
    return " and ".join(name[:1].lower() + name[1:] for name in names)


def citation() -> str:
    """The BibTeX entry that cites the project, from CITATION.cff."""
    cited = read_yaml(of_project(CITATION))
    fields = {
        "author": " and ".join(f"{{{author['name']}}}" for author in cited["authors"]),
        "title": f"{{{cited['title']}}}",
        "year": cited["date-released"][:4],
        **{name: cited.get(name) for name in ("version", "license", "url")},
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return "@software{scant,\n" + ",\n".join(lines) + "\n}"


def _datasets(study_plan: Plan) -> list[dict]:
    """A row for each part of the data sets that a study reads."""
    study, rows, used = study_plan.study, [], {}
    for settings in (place for key in families.places() for place in study[key].values()):
        if "dataset" in settings:
            used.setdefault(settings["dataset"], []).append(settings)
    for name in (*used, *(id for id in study["tables_of"] if id not in used)):
        dataset = study_plan.datasets[name]
        reading = (plan.parts_read(settings, dataset) for settings in used.get(name, ()))
        wanted = {*chain.from_iterable(reading)} or dataset.parts
        for part in (part for part in dataset.parts if part in wanted):
            one = dataset.parts[part]
            rows.append(
                {
                    "data set": name,
                    "title": dataset.title,
                    "part": part,
                    "file": Path(one.file).name,
                    "rows": one.rows,
                    "queries": one.queries,
                    "home": dataset.home,
                    "terms": dataset.terms,
                    "read as": _reading(dataset),
                    "SHA-256": one.sha256 or "",
                }
            )
    if not any(row["read as"] for row in rows):
        for row in rows:
            del row["read as"]
    return rows


def _reading(dataset) -> str:
    """What a data set's values beyond single precision become, in words; "" if it has none."""
    if dataset.overflow is None:
        return ""
    value = "missing" if isinstance(dataset.overflow, str) else f"{dataset.overflow:,g}"
    return f"values beyond single precision are {value}"


def _environment() -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    system = f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores"
    return versions | {"system": system}


def _commands(plan: Plan, folder, study_file: str) -> dict[str, str]:
    option = f" --configfile {shlex.quote(study_file)}" if study_file not in ("", DEFAULT) else ""
    commands = {"The whole study": f"snakemake --cores all{option}"}
    for figure in [*plan.figures][:1]:
        one = f"snakemake {folder}/figures/{figure}.svg --force --cores 1{option}"
        commands["One figure, from finished runs"] = one
    targets = ("figures", "tables", "claims", "report")
    each = "\n".join(f"snakemake {target} --cores all{option}" for target in targets)
    commands["All figures, tables or claims, or this page"] = each
    commands["Claims and tables in the terminal"] = f"scant show {folder}"
    return commands
