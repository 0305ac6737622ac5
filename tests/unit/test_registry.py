"""The registry file, and what it says of entries that cannot be used."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from scant.data import registry
from scant.errors import SettingError

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow/schemas/datasets.schema.yaml"
OWN = yaml.safe_load(
    """{task: ranking, parser: letor, features: 136, grades: 4,
    parts: {test: {file: path/to/file.txt}}}"""
)  # fmt: skip
LOG = {"task": "ads", "parser": "log", "parts": {"october": {"file": "path/to/october.csv"}}}


def load(extra=None, path=ROOT / "config/datasets.yaml"):
    return registry.load(path, extra, SCHEMA)


@pytest.mark.parametrize("dataset", load().values(), ids=lambda dataset: dataset.id)
def test_an_entry_is_complete(dataset):
    assert dataset.title and dataset.home and dataset.terms.endswith(".")
    assert set(dataset.cover) <= set(dataset.parts)
    # a file is to be had from a package, by download, or by hand
    by_part = all(part.package or part.url for part in dataset.parts.values())
    assert bool(dataset.archive) + bool(dataset.get) + by_part == 1
    if dataset.task == "ranking":
        assert dataset.grades and dataset.classes is None
    elif dataset.task == "classification":
        assert len(dataset.classes) == len(set(dataset.classes)) and dataset.grades is None
    assert (dataset.features is None) == (dataset.task == "ads")


@pytest.mark.parametrize("name", ["mq2008", "ohsumed", "mslr-web10k", "mslr-web30k"])
def test_folds_share_their_parts(name):
    """A fold's validation part is another fold's test part, in all sets of five folds."""
    parts = load()[name].parts
    assert len(parts) == 15
    sha = {
        split: {parts[f"fold{k}-{split}"].sha256 for k in range(1, 6)}
        for split in ("train", "vali", "test")
    }
    assert sha["vali"] == sha["test"] and len(sha["test"]) == 5
    assert len(sha["train"]) == 5 and not sha["train"] & sha["test"]


def test_a_study_brings_its_own_sets():
    mine = load({"mine": OWN})["mine"]
    assert mine.own and mine.cover == ("test",) and mine.folder == "mine"
    assert mine.part("test").sha256 is None and not mine.normalised


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**OWN, "feature": 3}, "mine: unknown key 'feature': did you mean 'features'?"),
        ({**OWN, "classes": [1, 2]}, "mine.classes: "),
        ({**OWN, "parts": {"test": {}}}, "mine.parts.test: 'file' is a required property"),
        ({**OWN, "parts": {"test": {"file": "a", "sha": "b"}}}, "test: unknown key 'sha'"),
        (
            {**OWN, "parts": {"test": {"file": "a", "sha256": "b"}}},
            "test.sha256: 'b' does not match",
        ),
        ({**OWN, "cover": ["tset"]}, "mine.cover: unknown part 'tset': did you mean 'test'?"),
        ({**LOG, "features": 3}, "mine.features: this key does not apply to a data set"),
        # keys of which other parsers would know nothing
        ({**OWN, "judged": "llm"}, "mine.judged: this key does not apply"),
        ({**OWN, "parser": "csv", "judged": "f1"}, "mine.judged: 'f1' does not match"),
        ({**OWN, "parser": "csv", "first_index": 0}, "mine.first_index: this key does not apply"),
    ],
)
def test_a_bad_entry_is_refused_by_its_key(entry, message):
    with pytest.raises(SettingError) as caught:
        load({"mine": entry})
    assert message in str(caught.value)


def test_own_sets_do_not_hide_registered_ones():
    with pytest.raises(SettingError, match=r"letter is in .* already"):
        load({"letter": OWN})


def test_the_logs_of_open_bandit_share_a_folder_and_are_downloaded_one_by_one():
    for who in ("men", "women"):
        entry = load()[f"obd-{who}"]
        assert entry.folder == "obd" and set(entry.parts) == {"random", "bts"}
        for part in entry.parts.values():
            assert part.url.endswith(f"/obd/{part.file}")
            assert part.file == f"{part.id}/{who}/{who}.csv"


SECRET = {**OWN, "title": "t", "home": "http://h", "terms": "t.", "normalised": True,
          "parts": {"a": {"file": "../../secret", "sha256": None}}}  # fmt: skip
UNTOLD = {**OWN, "normalised": True, "parts": {"test": {"file": "file.txt", "sha256": None}}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (yaml.safe_dump({"mine": UNTOLD}), r"mine: '(title|home|terms)' is a required property"),
        (yaml.safe_dump({"mine": SECRET}), "leads out of the data folder"),
        ("[1, 2", r"datasets\.yaml"),
        ("just text", r"datasets\.yaml"),
        (None, "no such file"),
    ],
)
def test_a_registry_that_cannot_be_is_refused(tmp_path, text, message):
    if text:
        (tmp_path / "datasets.yaml").write_text(text)
    with pytest.raises(SettingError, match=message):
        load(path=tmp_path / "datasets.yaml")


def test_the_schema_is_strict_and_described():
    schema = yaml.safe_load(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)

    def objects(node, path=()):
        if isinstance(node, dict):
            if node.get("type") == "object":
                yield path, node
            for key, value in node.items():
                yield from objects(value, (*path, key))

    for path, node in objects(schema):
        assert "additionalProperties" in node, path
        for key, value in node.get("properties", {}).items():
            assert "description" in value, (*path, key)
