"""Verifying and archiving a finished study."""

import base64
import json
import os
import shutil
import zipfile

import pytest
from rocrate.rocrate import ROCrate

from scant.cli import main
from scant.compare import archive, finished, manifest, provenance
from scant.errors import DataError
from scant.schema import PROJECT

FILES = {
    "report.html": "<html></html>", "study.json": "{}", "claims.csv": "id\n", "tables/finals.csv": "a\n1\n",
    "figures/figure-2.1.svg": "<svg/>", "runs/a/b/c/seed-0.parquet": "PAR1",
}  # fmt: skip


@pytest.fixture
def study(tmp_path):
    """A folder like that of a finished study."""
    folder = tmp_path / "results/small"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    content = {name: {} for name in ("settings", "claims", "code", "modules", "versions", "data")}
    content |= {"study": "small", "files": manifest.checksums(folder, ["tables/finals.csv"])}
    content |= {"made": provenance.made(), "results": manifest.checksums(folder, FILES)}
    content |= {"workflow": manifest.checksums(PROJECT, provenance.workflow())}
    manifest.save(content, folder / manifest.NAME)
    return folder


def made_by_a_job(study, name, content=b"x", recorded=True):
    """A file that a job made before the study was finished, and Snakemake's record of it."""
    path = study / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(0, 0))
    if recorded:
        record = base64.urlsafe_b64encode(f"results/{study.name}/{name}".encode()).decode()
        (records := study.parents[1] / ".snakemake/metadata").mkdir(parents=True, exist_ok=True)
        (records / record).write_text("{}")
    return path


def change(study, **changes):
    """Change entries of the manifest."""
    content = json.loads((study / manifest.NAME).read_text())
    manifest.save(content | changes, study / manifest.NAME)


def test_nothing_has_changed(study, capsys):
    assert provenance.verify(study) == (6, [], [], 0, ())
    assert main(["verify", str(study)]) == 0 and "6 files are what they were" in capsys.readouterr().out


def test_what_changed_and_what_is_gone(study, capsys):
    (study / "tables/finals.csv").write_text("a\n2\n")
    (study / "runs/a/b/c/seed-0.parquet").unlink()
    assert provenance.verify(study) == (4, ["tables/finals.csv"], ["runs/a/b/c/seed-0.parquet"], 0, ())
    assert main(["verify", str(study)]) == 1
    assert "changed: tables/finals.csv\ngone: runs/a/b/c/seed-0.parquet" in capsys.readouterr().out
    with pytest.raises(DataError, match="is not what it was"):
        archive.write(study, study.parent / "x.zip")
    assert not (study.parent / "x.zip").exists()


def test_a_study_without_checksums_is_not_verified(study):
    (study / manifest.NAME).unlink()
    with pytest.raises(DataError, match=r"manifest\.json: is not there, or lists no results"):
        provenance.verify(study)


def test_the_archive_is_a_crate_that_others_read(study, tmp_path):
    path = archive.write(study, tmp_path / "small.zip")
    names = set(zipfile.ZipFile(path).namelist())
    assert {"report.html", "claims.csv", "tables/finals.csv", "figures/figure-2.1.svg", "manifest.json"} <= names
    assert {"Snakefile", "rules/runs.smk", "requirements.lock", "ro-crate-metadata.json", "study.json"} <= names
    assert not any(name.startswith("runs/") for name in names)
    zipfile.ZipFile(path).extractall(tmp_path / "crate")
    crate = ROCrate(tmp_path / "crate")
    assert crate.mainEntity["@id"] == "Snakefile" and "ComputationalWorkflow" in crate.mainEntity.type
    assert crate.mainEntity["programmingLanguage"]["name"] == "Snakemake"
    described = {entity.id for entity in crate.data_entities}
    assert described == names - {"ro-crate-metadata.json"}, "each file is described, and nothing else"
    files = [entity for entity in crate.data_entities if "File" in entity.type]
    assert [entity.id for entity in files if not entity.get("encodingFormat")] == []
    run = crate.get("#run")
    assert run["instrument"] is crate.mainEntity and run["object"].id == "study.json"
    assert {item.id for item in run["result"]} == {*FILES, "manifest.json"} - {
        "study.json",
        "runs/a/b/c/seed-0.parquet",
    }
    ids = {entity["@id"] for entity in json.loads((tmp_path / "crate" / archive.CRATE).read_text())["@graph"]}
    for entity in json.loads((tmp_path / "crate" / archive.CRATE).read_text())["@graph"]:
        for value in entity.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict) and not item["@id"].startswith("http"):
                    assert item["@id"] in ids, item


def test_the_same_study_gives_the_same_archive(study, tmp_path):
    first, second = (archive.write(study, tmp_path / name, runs=True) for name in ("a.zip", "b.zip"))
    assert first.read_bytes() == second.read_bytes()
    assert "runs/a/b/c/seed-0.parquet" in zipfile.ZipFile(first).namelist()


def test_references_do_not_say_when_they_were_made(study):
    reference = finished.keep(study)
    kept = json.loads((reference / manifest.NAME).read_text())
    assert not {"made", "results"} & kept.keys()
    shutil.rmtree(reference)


def test_results_that_no_setting_asks_for_are_listed_and_deleted(study, capsys):
    assert main(["prune", str(study)]) == 0
    assert "0 files" in capsys.readouterr().out
    before = {path for path in study.rglob("*") if path.is_file()}
    extra = made_by_a_job(study, "runs/e/s/gone/seed-0.parquet")
    (study / "logs").mkdir(exist_ok=True)
    (study / "logs/kept.log").write_text("kept")
    assert main(["prune", str(study)]) == 0
    assert "runs/e/s/gone/seed-0.parquet" in capsys.readouterr().out and extra.is_file()
    assert main(["prune", str(study), "--delete"]) == 0
    assert not extra.exists() and before <= {*study.rglob("*")}
    assert (study / "logs/kept.log").is_file()


def test_streams_can_be_deleted_and_nothing_is_gone(study, capsys, tmp_path):
    stream = made_by_a_job(study, "streams/linear/seed-0.arrow", b"x" * 2_000_000)
    content = json.loads((study / manifest.NAME).read_text())
    content["results"] |= manifest.checksums(study, ["streams/linear/seed-0.arrow"])
    manifest.save(content, study / manifest.NAME)
    assert main(["prune", str(study), "--delete"]) == 0 and stream.is_file()
    assert main(["prune", str(study), "--drawn"]) == 0 and stream.is_file()
    assert "1 files, 2 MB, can be made again" in capsys.readouterr().out
    assert main(["prune", str(study), "--drawn", "--delete"]) == 0 and not stream.exists()
    assert provenance.verify(study) == (6, [], [], 1, ())
    assert main(["verify", str(study)]) == 0
    assert "1 streams and logs were deleted by scant prune --drawn" in capsys.readouterr().out
    archive.write(study, tmp_path / "whole.zip", runs=True)  # without the stream
    stream.write_bytes(b"y")
    assert provenance.verify(study).changed == ["streams/linear/seed-0.arrow"]
