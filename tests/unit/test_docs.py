"""What the documents name is there: modules, functions, files and sections."""

import csv
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
FOLDERS = "src|rules|tests|examples|config|workflow|benchmarks|profiles"


def is_there(dotted: str) -> bool:
    """Whether a dotted name is one of a module, or of what is in one."""
    module, _, name = dotted.rpartition(".")
    try:
        importlib.import_module(dotted)
    except ImportError:
        try:
            return hasattr(importlib.import_module(module), name)
        except ImportError:
            return False
    return True


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_names_of_modules_and_functions(document):
    text = document.read_text()
    named = re.findall(r"`(scant(?:\.\w+)+)`", text)
    named = [name for name in named if not (ROOT / name).exists()]  # scant.def is a file
    for module, names in re.findall(
        r"^(?:>>> )?from (scant[\w.]*) import (.+)$", text, re.MULTILINE
    ):
        named += [f"{module}.{name.strip()}" for name in names.split(",")]
    assert [name for name in named if not is_there(name)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_paths_in_the_project(document):
    named = re.findall(rf"`((?:{FOLDERS})/[\w./-]+)`", document.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


def sections(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_links_to_files_and_sections(document):
    lost = []
    for link in re.findall(r"\]\((?!http)([^)\s]+)\)", document.read_text()):
        name, _, section = link.partition("#")
        target = document.parent / name if name else document
        if not target.exists() or (section and section not in sections(target)):
            lost.append(link)
    assert lost == []


def test_the_table_of_folders_names_each_folder_of_the_code():
    table = (ROOT / "docs/extending.md").read_text()
    named = [
        name
        for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(.+?)`", row)
    ]
    files = [*(ROOT / "src/scant").glob("[!_]*/*.*"), *(ROOT / "src/scant_ads").glob("*/*.py")]
    folders = {
        "src/scant",
        "src/scant_ads",
        *(path.parent.relative_to(ROOT).as_posix() for path in files),
    }
    assert sorted(name if "/" in name else f"src/scant/{name}" for name in named) == sorted(folders)


def python_of(document: str) -> list[str]:
    text = (ROOT / document).read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_mathematics_that_readme_imports_comes_to_what_it_says():
    (example,) = [block for block in python_of("README.md") if block.startswith(">>> ")]
    parsed = doctest.DocTestParser().get_doctest(example, {}, "README", None, None)
    assert doctest.DocTestRunner().run(parsed) == (0, 5)  # failed, attempted


def test_a_start_from_a_models_lists_is_one_call():
    (block,) = python_of("docs/judged.md")
    exec(block, names := {})
    board = names["board"].set_index("learner")
    assert {*board.index} == {"ridge-chosen", "ridge"}
    assert abs(board.loc["ridge", "difference"]) < 0.05  # such lists do not hurt


def test_bounds_on_generalisation_come_to_what_is_said_beside_them():
    (block,) = python_of("docs/generalisation.md")
    names, stated = {}, re.findall(r"^(\w+\(.+\)) +# ([\d.,]*\d)", block, re.MULTILINE)
    exec(block, names)
    assert len(stated) == 3
    for expression, number in stated:
        value, decimals = eval(expression, names), len(number.partition(".")[2])
        assert f"{value:,.{decimals}f}" == number, expression


def test_the_page_shipped_is_that_of_the_default_studys_reference():
    page = ROOT / "docs/example/report.html"
    assert page.stat().st_size < 1_500_000
    text = page.read_text(encoding="utf-8")
    shown = dict(re.findall(r'<tbody id="claim-([\w.-]+)" data-verdict="([\w -]+)"', text))
    with open(ROOT / "results/reference/default/claims.csv", encoding="utf-8") as file:
        judged = {row["id"]: row["verdict"] for row in csv.DictReader(file)}
    assert shown == judged, "python docs/example.py results/default, see CONTRIBUTING.md"
    ids = {*re.findall(r' id="([^"]+)"', text)}
    linked = {*re.findall(r'href="([^"]+)"', text)}
    inside = {f"#{id}" for id in ids} | {"../findings/"}  # of the site
    assert {link for link in linked if not re.match("https?:|data:", link)} <= inside
