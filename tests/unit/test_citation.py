"""CITATION.cff, codemeta.json and CHANGELOG.md say what the package says."""

import json
import re
import tomllib
from pathlib import Path

import yaml

from scant import __version__

ROOT = Path(__file__).parents[2]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
DESCRIBED = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_all_say_what_the_package_says():
    newest = re.search(
        r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert newest.groups() == (CITED["version"], CITED["date-released"])
    assert CITED["version"] == DESCRIBED["version"] == PROJECT["version"] == __version__
    versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert all(len(version.splitlines()) <= 60 for version in versions)
    assert CITED["license"] == DESCRIBED["license"].rpartition("/")[2] == "MIT"
    assert CITED["date-released"] == DESCRIBED["dateModified"]
    assert {*CITED["keywords"]} <= {*DESCRIBED["keywords"]}
    listed = [(reference["title"], reference["url"]) for reference in CITED["references"]]
    assert listed == [
        (reference["name"], reference["url"]) for reference in DESCRIBED["referencePublication"]
    ]
