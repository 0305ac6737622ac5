"""The registry in Croissant: what has to be there is, and what is not known is not claimed."""

import json

import pytest

from scant.cli import main
from scant.data import croissant, registry

DATASETS = registry.load()


@pytest.mark.parametrize("name", DATASETS)
def test_a_description_has_all_that_croissant_requires(name):
    dataset = DATASETS[name]
    described = croissant.described(dataset)
    assert described["@type"] == "sc:Dataset"
    assert described["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert all(described[key] for key in ("@context", "name", "description", "license", "url"))
    files = {file["@id"]: file for file in described["distribution"]}
    assert len(files) == len(described["distribution"])
    for id, file in files.items():
        assert file["@type"] == "cr:FileObject" and file["contentUrl"] and file["encodingFormat"]
        assert len(file["sha256"]) == 64
        if "containedIn" in file:
            assert file["containedIn"]["@id"] in files
        else:
            assert file["contentUrl"].startswith("https://") or file["contentUrl"].startswith(
                "http://"
            ), id
    for part in dataset.parts.values():
        assert (part.id in files) == bool(part.sha256)
        assert part.sha256 is None or files[part.id]["sha256"] == part.sha256
        assert part.sha256 or part.id in described["description"]


def test_the_command_writes_a_file_for_each(tmp_path, capsys):
    assert main(["datasets", "--croissant", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.split()) == len(DATASETS)
    assert {json.loads(path.read_text())["name"] for path in tmp_path.glob("*.json")} == {*DATASETS}
    assert main(["datasets"]) == 0
    assert "ohsumed" in capsys.readouterr().out


@pytest.mark.parametrize("name", DATASETS)
def test_others_read_it(name, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant")
    [path] = croissant.write({name: DATASETS[name]}, tmp_path)
    assert mlcroissant.Dataset(jsonld=path).metadata.name == name
