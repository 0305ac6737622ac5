"""Numbers and verdicts in README and docs are those of the studies' references."""

import re

import declared
import prose
import pytest

from scant.files import read_rows
from scant.study import settings as studies
from scant.verdict.words import UNTESTABLE


@pytest.mark.parametrize("path", prose.documents(), ids=lambda path: path.name)
def test_numbers_that_carry_a_mark_are_those_of_their_tables(path):
    wrong = [marked for marked in prose.numbers(path) if marked.printed != marked.expected]
    assert not wrong, "python tests/prose.py --write puts them right"


@pytest.mark.parametrize("path", prose.documents(), ids=lambda path: path.name)
def test_tables_of_settings_are_what_the_package_declares(path):
    text = path.read_text(encoding="utf-8")
    assert declared.renewed(text) == text, "python tests/prose.py --write puts them right"


@pytest.mark.parametrize("path", prose.documents(), ids=lambda path: path.name)
def test_no_result_stands_without_a_mark(path):
    assert list(prose.bare(path)) == [], "see tests/prose.py"


def test_images_show_what_the_references_do():
    # references of earlier versions know none
    known = {name: pair for name, pair in prose.images().items() if pair[1]}
    wrong = [name for name, (shown, expected) in known.items() if shown != expected]
    assert known and not wrong, (
        "play these studies, and python tests/prose.py --write puts their images right"
    )
    missing = [
        name
        for name in prose.images()
        if not (prose.ROOT / "docs/images" / f"{name}.png").is_file()
    ]
    assert not missing


def test_each_claim_is_judged_in_a_reference_or_names_the_data_that_it_lacks():
    """A statement without any verdict says nothing, unless its data may not be handed on."""
    references = (prose.ROOT / "results/reference").glob("*/claims.csv")
    judged = {
        row["id"]
        for path in references
        for row in read_rows(path)[1]
        if row["verdict"] != UNTESTABLE
    }
    claims = studies.claims(*(prose.ROOT / "config/claims").glob("*.yaml"))
    unjudged = {name: claim.get("data", "") for name, claim in claims.items() if name not in judged}
    lacked = {
        name for name, data in unjudged.items() if re.search("on request|a download of", data)
    }
    assert lacked == {*unjudged}
