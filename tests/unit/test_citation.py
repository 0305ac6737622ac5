"""CITATION.cff and codemeta.json keep to the rules of their formats, and say the same."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
DESCRIBED = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Of the Citation File Format 1.2.0 (https://doi.org/10.5281/zenodo.5171937), as far as the file uses it.
KEYS = {
    *("abstract", "authors", "cff-version", "date-released", "keywords", "license", "message", "references", "title"),
    *("type", "version"),
}
PERSON = {"affiliation", "alias", "email", "family-names", "given-names", "name-particle", "name-suffix", "orcid"}
ENTITY = {"name", "address", "city", "country", "date-end", "date-start", "location", "region", "website"}
OF_REFERENCES = {
    *("authors", "collection-title", "conference", "doi", "end", "identifiers", "institution", "journal", "start"),
    *("thesis-type", "title", "type", "url", "volume", "year"),
}
TYPES = {"article", "conference-paper", "thesis"}
CODEMETA = {  # of CodeMeta 3.0 and schema.org's SoftwareSourceCode
    *("@context", "@type", "author", "dateModified", "description", "developmentStatus", "keywords", "license", "name"),
    *("operatingSystem", "programmingLanguage", "referencePublication", "runtimePlatform", "softwareRequirements"),
    "version",
}


def people(authors) -> None:
    """Each is a person with a name, or an entity with one."""
    assert authors
    for author in authors:
        assert (author.keys() <= PERSON and author.get("family-names")) or (author.keys() <= ENTITY and author["name"])


def test_the_citation_has_all_that_is_required_and_no_other_keys():
    assert {"authors", "cff-version", "message", "title"} <= CITED.keys() <= KEYS
    assert CITED["cff-version"] == "1.2.0" and CITED["type"] == "software"
    people(CITED["authors"])
    assert len(set(CITED["keywords"])) == len(CITED["keywords"])
    assert isinstance(CITED["version"], str)
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", CITED["date-released"]), "a quoted text: YAML reads a date otherwise"


@pytest.mark.parametrize("reference", CITED["references"], ids=lambda reference: reference["title"])
def test_a_reference_has_all_that_is_required_and_no_other_keys(reference):
    assert {"authors", "title", "type"} <= reference.keys() <= OF_REFERENCES and reference["type"] in TYPES
    people(reference["authors"])
    assert reference["url"].startswith("https://") and isinstance(reference["year"], int)
    assert all(identifier.keys() == {"type", "value"} for identifier in reference.get("identifiers", ()))
    assert all(identifier["type"] in ("doi", "other", "swh", "url") for identifier in reference.get("identifiers", ()))
    assert all({*reference.get(key, {"name": ""})} <= ENTITY for key in ("conference", "institution"))


def test_codemeta_has_terms_of_its_context_only():
    assert DESCRIBED["@context"] == "https://w3id.org/codemeta/3.0" and DESCRIBED.keys() <= CODEMETA
    assert all(reference["@type"] == "ScholarlyArticle" for reference in DESCRIBED["referencePublication"])


def test_both_say_what_the_package_says():
    assert CITED["version"] == DESCRIBED["version"] == PROJECT["version"]
    assert CITED["license"] == DESCRIBED["license"].rpartition("/")[2] == "MIT"
    assert CITED["date-released"] == DESCRIBED["dateModified"]
    assert {*CITED["keywords"]} <= {*DESCRIBED["keywords"]}
    listed = [(reference["title"], reference["url"]) for reference in CITED["references"]]
    assert listed == [(reference["name"], reference["url"]) for reference in DESCRIBED["referencePublication"]]
