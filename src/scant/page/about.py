"""What the page of a study shows besides results: captions, data sets, environment, timings,
citation, commands.
"""

import os
import platform
import re
import shlex
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from scant.declare import families
from scant.files import read_rows
from scant.page import status
from scant.page.boards import boards
from scant.schema import of_project, read_yaml
from scant.study import absent_data, plan
from scant.study.plan import Plan, Runs
from scant.study.settings import DEFAULT

CITATION = Path("CITATION.cff")
OURS = "scant"  # the document of questions that no paper asks
# at the end of a heading
OF_A_PAPER = re.compile(r" \((?:thesis|perceptron paper|AISTATS'1[56]), [^)]+\)$")
CSV = "The CSV file of the same name holds exactly what is shown."
PACKAGES = (
    *(
        "scant",
        "snakemake",
        "numpy",
        "pandas",
        "scikit-learn",
        "seaborn",
        "matplotlib",
        "pyarrow",
        "numba",
        "scipy",
    ),
)


def facts(
    plan: Plan, stated: dict, folder, study_file: str = "", runs: Iterable[Runs] = ()
) -> dict:
    """The argument `about` of `scant.page.page.make`.

    plan : of the study
    stated : its claims, see `scant.study.settings.claims`; empty if it judges none
    folder : the folder of its results
    study_file : the path of its file; empty for the default study
    runs : those whose final measures are compared

    Raises
    ------
    DataError : invalid citation or benchmarks, or damaged runs
    """
    study, datasets, names = plan.study, plan.datasets, [*plan.figures, *plan.tables]
    return {
        "files": names,
        "studied": studied(study),
        "left_out": absent_data.notices(study),
        "sources": sources(stated),
        "links": {
            name: claim["source"]["url"]
            for name, claim in stated.items()
            if "url" in claim["source"]
        },
        "captions": captions(names, folder, plan.shown),
        "headings": headings(_documents(stated), plan.shown),
        "titles": titles(plan),
        "experiments": {
            name: settings.get("title", name) for name, settings in study["experiments"].items()
        },
        "compared": {name: compared(claim) for name, claim in stated.items()},
        "boards": boards(runs),
        "shows": {name: target.experiments for name, target in plan.figures.items()},
        "datasets": _datasets(study, datasets),
        "environment": _environment(),
        "timings": status.by("rule", status.benchmarks(folder)),
        "authors": authors(),
        "citation": citation(),
        "commands": _commands(study, datasets, Path(folder), study_file),
    }


def captions(names, folder, shown_of_study: Iterable) -> dict[str, str]:
    """The captions of the figures and tables of these names, in the order of the families.

    folder : the study's results; the caption of a figure also says what its CSV file there has
    shown_of_study : see `scant.study.plan.Plan.shown`
    """
    texts = {shown.name: caption(shown) for _, shown in shown_of_study if shown.name in names}
    files = {name: Path(folder, "figures", f"{name}.csv") for name in texts}
    return {name: f"{text} {shown_in(files[name])}".strip() for name, text in texts.items()}


def shown_in(path) -> str:
    """What a figure shows, from its CSV file: its data, learning rates, rounds and n, as far as it
    has them.
    """
    if not Path(path).is_file():
        return ""
    head, rows = read_rows(path)
    columns = {name: list(dict.fromkeys(row[name] for row in rows if row[name])) for name in head}
    said = []
    if data := columns.get("panel") or columns.get("campaign"):
        said.append(f"Data: {'; '.join(data)}.")
    texts = columns.get("horizon") or columns.get("rounds") or columns.get("round") or []
    if lengths := [
        int(float(length)) for text in texts for length in re.findall(r"\d+(?:\.\d+)?", text)
    ]:
        said.append(f"Rounds: {'up to ' if len(lengths) > 1 else ''}{max(lengths):,}.")
    # in figures of ads it is a click rate
    if {"label", "rate", "tuning"} <= columns.keys() and "of" not in columns:
        rates: dict[str, dict[str, None]] = {}  # by learner, its different rates in order
        for row in rows:
            if row["rate"] not in ("", "none"):
                rates.setdefault(row["label"], {})[_rate(row["rate"])] = None
        if rates:
            of_learners = [f"{learner} {_spread(values)}" for learner, values in rates.items()]
            said.append(f"Learning rates: {'; '.join(of_learners)}.")
    if counts := sorted({int(float(n)) for n in columns.get("n") or columns.get("repeats") or ()}):
        said.append(f"n = {' to '.join(f'{n:,}' for n in dict.fromkeys((counts[0], counts[-1])))}.")
    return " ".join(said)


def _rate(text: str) -> str:
    """A rate as printed, and what follows it: the exploration chosen with it, or that it is the
    last of its grid.
    """
    number = re.match(r"[\d.]+(?:e[-+]?\d+)?", text)
    return f"{float(number[0]):.3g}{text[number.end() :]}" if number else text


def _spread(values) -> str:
    """Up to three values; of more, how many there are."""
    return ", ".join(values) if len(values) <= 3 else f"{len(values)} different ones"


def caption(shown: families.Shown) -> str:
    """The caption of a figure or table."""
    return f"{shown.caption} {CSV}" if shown.draw else shown.caption


def headings(
    of_papers: Iterable[str] = (), shown_of_study: Iterable | None = None
) -> dict[str, str]:
    """The headings of figures and tables on the page, for those that declare one.

    of_papers : the documents of the project whose statements the study judges; without any,
        headings do not name the figure of a paper, which the study does not repeat
    shown_of_study : see `scant.study.plan.Plan.shown`; by default those that families declare
    """
    declared = {
        shown.name: shown.heading
        for _, shown in shown_of_study or families.shown()
        if shown.heading
    }
    return (
        declared
        if of_papers
        else {name: OF_A_PAPER.sub("", heading) for name, heading in declared.items()}
    )


def titles(plan: Plan) -> dict[str, dict[str, str]]:
    """The titles of each experiment's places and learners, by their ids."""
    details = {
        name: family.details(plan.study, name)["titles"] for name, family in plan.families.items()
    }
    return {name: by_kind["streams"] | by_kind["learners"] for name, by_kind in details.items()}


def compared(claim: dict) -> str:
    """What a claim about the difference of two rows of a table compares, by what tells them apart;
    "" for others.
    """
    against = claim.get("against")
    if "table" not in claim or not isinstance(against, dict):
        return ""
    row = {key: claim["cell"][key] for key in against}

    def name(keys: dict) -> str:
        return ", ".join(
            f"{value}" if isinstance(value, str) else f"{key} = {value}"
            for key, value in keys.items()
        )

    return f"{name(row)} minus {name(against)}"


def studied(study: dict) -> list[dict[str, str]]:
    """What each family of the study's experiments plays: `kind`, `about`, `places`, `learners` and
    `seeds`, as text.
    """
    rows = []
    for kind, family in families.families().items():
        experiments = [
            experiment
            for experiment in study["experiments"].values()
            if families.of(experiment) is family and "stands_for" not in experiment
        ]
        if not experiments:
            continue
        counts = sorted({plan.total(experiment["seeds"]) for experiment in experiments})
        row = {
            "kind": kind,
            "about": family.about.removeprefix("learners ").removeprefix("they "),
            "place": family.place.name,
        }
        for key, section in {"places": family.place.key, "learners": "learners"}.items():
            ids = dict.fromkeys(id for experiment in experiments for id in experiment[section])
            titles = dict.fromkeys(study[section][id].get("title", id) for id in ids)
            row |= {key: "; ".join(titles), f"{key}_count": str(len(titles))}
        rows.append(
            row
            | {"seeds": " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))}
        )
    return rows


def sources(stated: dict) -> list[dict[str, str]]:
    """The documents whose statements are tested: `authors`, `title`, `year` and `url`, each "" if
    it is not known.

    They are those of CITATION.cff if a claim is about one of the project's documents, and those
    that claims describe.
    """
    described: dict[str, dict] = {}  # several claims of a document may each say a part
    for source in (claim["source"] for claim in stated.values() if "title" in claim["source"]):
        described[source["title"]] = described.get(source["title"], {}) | source
    others = [
        {key: source.get(key, "") for key in ("authors", "title", "year", "url")}
        for source in described.values()
    ]
    if not _documents(stated):
        return others
    return others + [
        {
            "authors": " and ".join(
                f"{author['given-names']} {author['family-names']}"
                for author in reference["authors"]
            )
        }
        | {"title": reference["title"], "year": str(reference["year"]), "url": reference["url"]}
        for reference in read_yaml(of_project(CITATION))["references"]
    ]


def _documents(stated: dict) -> set[str]:
    """The project's documents whose statements are among the claims."""
    return {claim["source"].get("document", OURS) for claim in stated.values()} - {OURS}


def authors() -> str:
    """Who made the project, as CITATION.cff has them, within a sentence: "the scant
    contributors".
    """
    names = [author["name"] for author in read_yaml(of_project(CITATION))["authors"]]
    return " and ".join(name[:1].lower() + name[1:] for name in names)


def citation() -> str:
    """BibTeX entries that cite the project and the documents that it tests, from CITATION.cff."""
    cited = read_yaml(of_project(CITATION))
    return "\n\n".join([_bibtex(cited), *map(_bibtex, cited["references"])])


def _bibtex(cited: dict) -> str:
    """The BibTeX entry of the project or of a reference, as CITATION.cff describes it."""
    kind = {"software": "software", "thesis": "phdthesis", "conference-paper": "inproceedings"}.get(
        cited["type"], "misc"
    )
    people = [
        f"{{{author['name']}}}" if "name" in author else _person(author)
        for author in cited["authors"]
    ]
    year = cited.get("year") or cited["date-released"][:4]
    pages = f"{cited['start']}--{cited['end']}" if "start" in cited else None
    fields = {
        "author": " and ".join(people),
        "title": f"{{{cited['title']}}}",
        "school": cited.get("institution", {}).get("name"),
        "booktitle": cited.get("collection-title"),
        "volume": cited.get("volume"),
        "pages": pages,
        "year": year,
        "version": cited.get("version"),
        "license": cited.get("license"),
        "note": next((identifier["value"] for identifier in cited.get("identifiers", ())), None),
        "url": cited.get("url"),
    }
    words = [word.strip(":") for word in cited["title"].split()]
    key = (
        "scant" if kind == "software" else f"{people[0].partition(',')[0]}{year}{words[-1]}".lower()
    )
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _person(author: dict) -> str:
    return f"{author['family-names']}, {author['given-names']}"


def _datasets(study: dict, datasets: dict) -> list[dict]:
    """A row for each part of the data sets that a study reads."""
    places = [
        settings
        for key in families.places()
        for settings in study[key].values()
        if "dataset" in settings
    ]
    used, rows = dict.fromkeys(settings["dataset"] for settings in places), []
    for name in (*used, *(id for id in study["tables_of"] if id not in used)):
        dataset = datasets[name]
        reading = [settings for settings in places if settings["dataset"] == name]
        wanted = {part for settings in reading for part in plan.parts_read(settings, dataset)}
        for part in dataset.parts.values():
            if wanted and part.id not in wanted:
                continue
            rows.append(
                {
                    "data set": name,
                    "title": dataset.title,
                    "part": part.id,
                    "file": Path(part.file).name,
                }
                | {
                    "rows": part.rows,
                    "queries": part.queries,
                    "home": dataset.home,
                    "terms": dataset.terms,
                }
                | {"read as": _reading(dataset), "SHA-256": part.sha256 or ""}
            )
    return rows if any(row["read as"] for row in rows) else [
        {key: value for key, value in row.items() if key != "read as"} for row in rows
    ]  # fmt: skip


def _reading(dataset) -> str:
    """What is made of values of a data set that single precision cannot hold; "" if there are
    none.
    """
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
    return versions | {
        "system": f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores"
    }


def _commands(study: dict, datasets: dict, folder: Path, study_file: str) -> dict[str, str]:
    option = f" --configfile {shlex.quote(study_file)}" if study_file not in ("", DEFAULT) else ""
    figures = list(Plan(study, datasets).figures)
    commands = {"The whole study": f"snakemake --cores all{option}"}
    if figures:
        commands["One figure, from finished runs"] = (
            f"snakemake {folder}/figures/{figures[0]}.svg --force --cores 1{option}"
        )
    commands["All figures, tables or claims, or this page"] = "\n".join(
        f"snakemake {target} --cores all{option}"
        for target in ("figures", "tables", "claims", "report")
    )
    commands["Claims and tables in the terminal"] = f"scant show {folder}"
    return commands
