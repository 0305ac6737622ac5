"""The paper has the sections that JOSS asks for, cites what it lists, and lists what it cites."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PAPER, SOURCES = (ROOT.joinpath(name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))


def test_its_head_and_sections():
    head = yaml.safe_load(PAPER.split("---")[1])
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= head.keys()
    assert {"Summary", "Statement of need", "State of the field"} <= set(re.findall(r"^# (.*)$", PAPER, re.MULTILINE))
    assert 250 <= len(PAPER.split("---", 2)[2].split()) <= 1000


def test_its_references():
    listed = re.findall(r"^@\w+\{(\w+),$", SOURCES, re.MULTILINE)
    assert len(listed) == len(set(listed)) and set(listed) == set(re.findall(r"@(\w+)", PAPER.split("---", 2)[2]))
    urls = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    assert all(reference["url"] in SOURCES for reference in urls)
