"""Verifying and archiving a finished study."""

import json
import os
import re
import shutil
import zipfile

import pytest
from rocrate.rocrate import ROCrate

from scant.cli import main
from scant.errors import DataError
from scant.files import FOLDER_MARK
from scant.finished import archive, manifest, provenance, pruning, reading, verifying
from scant.finished.results import Results
from scant.schema import PROJECT

FILES = {
    "report.html": "<html></html>", "study.json": "{}", "claims.csv": "id\n",
    "tables/finals.csv": "a\n1\n",
    "figures/figure-2.1.svg": "<svg/>", "figures/figure-2.1.png": "PNG",
    "runs/a/b/c/seed-0.parquet": "PAR1",
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
    (tmp_path / "hers.yaml").write_text("{}")
    content["settings"] = {"datasets": {}}
    content["versions"] = {"Python": "3.11"}
    content |= {
        "inputs": manifest.checksums(tmp_path, ["hers.yaml"]),
        "elsewhere": ["the Python module far"],
    }
    manifest.save(content, folder / manifest.NAME)
    return folder


def asked_for_earlier(study, name, content=b"x"):
    """A file that the study's earlier settings asked for, as its manifest says; a draw is in a
    folder of a job.
    """
    path = study / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if draw := re.match("(streams|bandit)/[^/]+/[^/]+", name):
        (study / draw[0] / FOLDER_MARK).touch()
    if (study / manifest.NAME).is_file():
        change(
            study,
            earlier=manifest.read(study).get("earlier", {}) | manifest.checksums(study, [name]),
        )
    return path


def change(folder, **changes):
    """Change entries of the manifest."""
    content = json.loads((folder / manifest.NAME).read_text())
    manifest.save(content | changes, folder / manifest.NAME)


def test_nothing_has_changed(study, capsys):
    assert verifying.verify(study) == (7, [], [], 0, (), 0)
    assert (
        main(["verify", str(study)]) == 0
        and "7 files are what they were" in capsys.readouterr().out
    )


def test_what_changed_and_what_is_gone(study, capsys):
    (study / "tables/finals.csv").write_text("a\n2\n")
    (study / "runs/a/b/c/seed-0.parquet").unlink()
    assert verifying.verify(study) == (
        5,
        ["tables/finals.csv"],
        ["runs/a/b/c/seed-0.parquet"],
        0,
        (),
        0,
    )
    assert main(["verify", str(study)]) == 1
    assert "changed: tables/finals.csv\ngone: runs/a/b/c/seed-0.parquet" in capsys.readouterr().out
    with pytest.raises(DataError, match="is not what it was"):
        archive.write(study, study.parent / "x.zip")
    assert not (study.parent / "x.zip").exists()


def test_what_was_never_packed_is_no_loss(study, capsys):
    (study / "runs/a/b/c/seed-0.parquet").unlink()
    (study.parents[1] / provenance.CRATE).write_text("{}")
    assert main(["verify", str(study)]) == 0
    assert "1 runs, streams and logs were never packed into this archive" in capsys.readouterr().out


def test_a_study_without_checksums_is_not_verified(study):
    (study / manifest.NAME).unlink()
    with pytest.raises(DataError, match=r"manifest\.json: is not there, or lists no results"):
        verifying.verify(study)


def test_the_archive_is_a_crate_that_others_read(study, tmp_path):
    path = archive.write(study, tmp_path / "small.zip")
    names = set(zipfile.ZipFile(path).namelist())
    results = {
        f"results/small/{name}"
        for name in {*FILES, "manifest.json"} - {"runs/a/b/c/seed-0.parquet"}
    }
    workflow = {"Snakefile", "rules/runs.smk", "requirements.lock", "config/datasets.yaml"}
    assert results | workflow | {"ro-crate-metadata.json", "README.md", "hers.yaml"} <= names
    assert not any(name.startswith(("config/claims", "config/config")) for name in names), (
        "the study reads none"
    )
    zipfile.ZipFile(path).extractall(tmp_path / "crate")
    assert "the Python module far" in (tmp_path / "crate/README.md").read_text()
    crate = ROCrate(tmp_path / "crate")
    assert (
        crate.mainEntity["@id"] == "Snakefile" and "ComputationalWorkflow" in crate.mainEntity.type
    )
    assert crate.mainEntity["programmingLanguage"]["name"] == "Snakemake"
    described = {entity.id for entity in crate.data_entities}
    assert described == names - {"ro-crate-metadata.json"}, (
        "each file is described, and nothing else"
    )
    files = [entity for entity in crate.data_entities if "File" in entity.type]
    assert [entity.id for entity in files if not entity.get("encodingFormat")] == []
    assert crate.get("README.md")["about"] is crate.root_dataset
    run = crate.get("#run")
    assert run["instrument"] is crate.mainEntity and run["object"].id == "results/small/study.json"
    assert {item.id for item in run["result"]} == results - {"results/small/study.json"}
    ids = {
        entity["@id"]
        for entity in json.loads((tmp_path / "crate" / provenance.CRATE).read_text())["@graph"]
    }
    for entity in json.loads((tmp_path / "crate" / provenance.CRATE).read_text())["@graph"]:
        for value in entity.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict) and not item["@id"].startswith("http"):
                    assert item["@id"] in ids, item


SAID = {
    "authors": ["A. Author", "B. Author"],
    "publisher": "Institute",
    "url": "https://a.org",
    "licence": "CC0-1.0",
}


@pytest.mark.parametrize(
    ("settings", "project", "authors", "licence"),
    [
        ({"attribution": SAID}, False, SAID["authors"], "CC0-1.0"),
        ({"attribution": SAID}, True, SAID["authors"], "CC0-1.0"),
        ({"attribution": {"licence": "MIT"}}, False, ["the authors of the study small"], "MIT"),
        ({}, False, ["the authors of the study small"], "not stated"),
        ({}, True, ["The scant contributors"], "MIT"),
    ],
)
def test_results_are_whose_the_study_says_they_are(
    study, tmp_path, settings, project, authors, licence
):
    """All that the profiles of RO-Crate recommend of the results, the run and its software is
    there.
    """
    made = json.loads((study / manifest.NAME).read_text())["made"]
    change(study, settings={"datasets": {}} | settings, made=made | {"project": project})
    with zipfile.ZipFile(archive.write(study, tmp_path / "small.zip")) as packed:
        graph = {
            entity["@id"]: entity for entity in json.loads(packed.read(provenance.CRATE))["@graph"]
        }
        text = packed.read("README.md").decode()
    root, run, workflow = graph["./"], graph["#run"], graph["Snakefile"]

    def names(entities):
        return [
            graph[entity["@id"]]["name"]
            for entity in (entities if isinstance(entities, list) else [entities])
        ]

    assert names(root["author"]) == names(run["agent"]) == authors and names(root["license"]) == [
        licence
    ]
    assert names(workflow["author"]) == ["The scant contributors"] and names(
        workflow["license"]
    ) == ["MIT"]
    organizations = [entity for entity in graph.values() if entity["@type"] == "Organization"]
    assert graph[root["publisher"]["@id"]] in organizations and all(
        entity["url"] for entity in organizations
    )
    assert all(
        graph[entity["affiliation"]["@id"]]
        for entity in graph.values()
        if entity["@type"] == "Person"
    )
    assert (
        f"authors: {', '.join(authors)}\n" in text
        and f"licence of the results: {licence}\n" in text
    )


def test_a_file_of_any_name_is_described_where_others_look_for_it(study, tmp_path):
    (study / "figures/a b%41#.svg").write_text("<svg/>")
    change(study, results=manifest.checksums(study, [*FILES, "figures/a b%41#.svg"]))
    with zipfile.ZipFile(archive.write(study, tmp_path / "small.zip")) as packed:
        ids = [entity["@id"] for entity in json.loads(packed.read(provenance.CRATE))["@graph"]]
        folder = "results/small/figures"
        assert f"{folder}/a b%41#.svg" in packed.namelist() and f"{folder}/a%20b%2541%23.svg" in ids


def test_the_same_study_gives_the_same_archive(study, tmp_path):
    first, second = (
        archive.write(study, tmp_path / name, runs=True) for name in ("a.zip", "b.zip")
    )
    assert first.read_bytes() == second.read_bytes()
    assert "results/small/runs/a/b/c/seed-0.parquet" in zipfile.ZipFile(first).namelist()


def test_references_do_not_say_when_they_were_made(study):
    reference = reading.keep(study)
    kept = json.loads((reference / manifest.NAME).read_text())
    assert not {"made", "results"} & kept.keys()
    shutil.rmtree(reference)


def test_results_that_no_setting_asks_for_are_listed_and_deleted(study, capsys):
    assert main(["prune", str(study)]) == 0
    assert "0 files" in capsys.readouterr().out
    before = {path for path in study.rglob("*") if path.is_file()}
    extra = asked_for_earlier(study, "runs/e/s/gone/seed-0.parquet")
    (study / "logs").mkdir(exist_ok=True)
    (study / "logs/kept.log").write_text("kept")
    assert main(["prune", str(study)]) == 0
    assert "runs/e/s/gone/seed-0.parquet" in capsys.readouterr().out and extra.is_file()
    assert main(["prune", str(study), "--delete"]) == 0
    assert not extra.exists() and before <= {*study.rglob("*")}
    assert (study / "logs/kept.log").is_file()


def test_streams_can_be_deleted_and_nothing_is_gone(study, capsys, tmp_path):
    name = "streams/linear/0-1/seed-0.arrow"
    stream = asked_for_earlier(study, name, b"x" * 2_000_000)
    content = json.loads((study / manifest.NAME).read_text())
    change(study, results=content["results"] | content["earlier"], earlier={})
    assert main(["prune", str(study), "--delete"]) == 0 and stream.is_file()
    assert main(["prune", str(study), "--drawn"]) == 0 and stream.is_file()
    assert "1 files, 2 MB, can be made again" in capsys.readouterr().out
    assert main(["prune", str(study), "--drawn", "--delete"]) == 0 and not stream.exists()
    assert verifying.verify(study) == (7, [], [], 1, (), 0)
    assert main(["verify", str(study)]) == 0
    assert "1 streams and logs were deleted by scant prune --drawn" in capsys.readouterr().out
    archive.write(study, tmp_path / "whole.zip", runs=True)  # without the stream
    stream.parent.mkdir(parents=True, exist_ok=True)
    stream.write_bytes(b"y")
    assert verifying.verify(study).changed == [name]


def test_draws_that_no_setting_asks_for_are_deleted_with_their_folder(study, capsys):
    """Snakemake would take a folder that is there for drawn, and one without its mark for made
    anew.
    """
    kept = "streams/linear/0-1/seed-0.arrow"
    asked_for_earlier(study, kept)
    change(study, results=manifest.checksums(study, [*FILES, kept]), earlier={})
    before = {*study.rglob("*")}
    stale = [f"bandit/hotel/0-1/seed-{seed}/train.parquet" for seed in (0, 1)] + [
        "streams/linear/0-2/seed-0.arrow"
    ]
    for name in stale:
        asked_for_earlier(study, name)
    assert main(["prune", str(study), "--delete"]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == stale
    assert {*study.rglob("*")} == before and study / "streams/linear/0-1" / FOLDER_MARK in before


# --- only what is theirs


def test_nothing_behind_a_link_is_deleted(study, tmp_path, capsys):
    outside = tmp_path / "outside"
    (study / "runs").rename(outside)
    (outside / "mine.parquet").write_bytes(b"x")
    (study / "runs").symlink_to(outside)
    asked_for_earlier(study, "runs/old.parquet")
    target = asked_for_earlier(study, "tables/link.csv").rename(tmp_path / "target.csv")
    (study / "tables/link.csv").symlink_to(target)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    assert main(["prune", str(study), "--drawn", "--delete"]) == 0
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
    assert target.is_file() and (study / "tables/link.csv").is_symlink()
    kept = [
        f"not what manifest.json lists, kept: {name}"
        for name in ("runs/old.parquet", "tables/link.csv")
    ]
    assert capsys.readouterr().out.splitlines()[:2] == kept


def test_only_what_a_manifest_of_the_study_listed_is_deleted(study, capsys):
    ours = asked_for_earlier(study, "figures/old.svg")
    mine = study / "figures/mine.pdf"
    mine.write_bytes(b"x")
    os.mkfifo(study / "figures/old.png")
    change(study, earlier=manifest.read(study)["earlier"] | {"figures/old.png": "0" * 64})
    assert main(["prune", str(study), "--delete"]) == 0
    assert mine.exists() and not ours.exists()
    assert (
        "figures/old.svg\nnot what manifest.json lists, kept: figures/old.png\n1 files"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("name", ["figures/old.svg", "streams/linear/0/seed-0.arrow"])
def test_what_has_other_content_is_kept_whatever_its_time(study, capsys, name):
    ours = asked_for_earlier(study, name)
    if name.startswith("streams"):
        change(
            study,
            results=manifest.read(study)["results"] | manifest.read(study)["earlier"],
            earlier={},
        )
    before = ours.stat()
    ours.write_bytes(b"y")
    os.utime(ours, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert main(["prune", str(study), "--drawn", "--delete"]) == 0 and ours.read_bytes() == b"y"
    assert f"not what manifest.json lists, kept: {name}\n0 files" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["../x", "./small", "reference", "data", "x", "", "/x", "a/b"])
def test_a_manifest_of_another_study_deletes_nothing(study, capsys, name):
    for other in ("reference/small", "x", "data"):
        asked_for_earlier(study.parent / other, "tables/precious.csv")
    old = asked_for_earlier(study, "tables/old.csv")
    change(study, study=name)
    before = {*study.parent.rglob("*")}
    assert (
        main(["prune", str(study), "--drawn", "--delete"]) == 1 == main(["reference", str(study)])
    )
    assert {*study.parent.rglob("*")} == before and old.exists()
    assert capsys.readouterr().err.count("\n") == 2


def test_nothing_is_deleted_while_a_run_is_at_work(study, capsys):
    old = asked_for_earlier(study, "tables/old.csv")
    (locks := study.parents[1] / ".snakemake/locks").mkdir(parents=True)
    (locks / "0.output.lock").touch()
    assert main(["prune", str(study), "--delete"]) == 1 and old.exists()
    assert "a run of Snakemake is at work here" in capsys.readouterr().err
    (locks / "0.output.lock").unlink()
    assert main(["prune", str(study), "--delete"]) == 0 and not old.exists()


def test_what_is_deleted_is_said_before(study, capsys, monkeypatch):
    old = asked_for_earlier(study, "tables/old.csv", b"x" * 3_000_000)

    def stop(*_):
        raise OSError("stopped")

    monkeypatch.setattr(pruning, "delete", stop)
    assert main(["prune", str(study), "--delete"]) == 1 and old.exists()
    assert (
        "tables/old.csv\n1 files, 3 MB, are asked for by no setting of the study; they"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("command", [["prune", "--delete"], ["reference"]])
def test_a_study_that_is_a_link_is_left_alone(study, capsys, command):
    old = asked_for_earlier(study, "tables/old.csv")
    reading.keep(study)
    kept = {path: path.read_bytes() for path in (study.parent / "reference").rglob("*.*")}
    (link := study.parent / "alias").symlink_to(study)
    assert main([command[0], str(link), *command[1:]]) == 1 and old.exists()
    assert f"{link} is a link" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (study.parent / "reference").rglob("*.*")} == kept


def test_a_reference_is_not_written_through_a_link_and_leaves_what_is_not_its_own(
    study, tmp_path, capsys
):
    kept = reading.keep(study)
    (kept / "notes.txt").write_text("mine")
    (kept / "tables/mine.csv").write_text("mine")
    reading.keep(study)
    assert (kept / "notes.txt").read_text() == (kept / "tables/mine.csv").read_text() == "mine"
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere" / manifest.NAME).stat().st_mtime_ns
    assert main(["reference", str(study)]) == 1 and "nothing is written" in capsys.readouterr().err
    assert (tmp_path / "elsewhere" / manifest.NAME).stat().st_mtime_ns == before


def test_an_archive_is_named_by_the_folder_and_replaces_only_itself(
    study, tmp_path, monkeypatch, capsys
):
    (place := tmp_path / "work/deep/deeper").mkdir(parents=True)
    monkeypatch.chdir(place)
    (precious := tmp_path / "work/precious").mkdir()
    (precious / "backup.zip").write_bytes(b"mine")
    whole = json.loads((study / manifest.NAME).read_text())
    change(study, study="../../precious/backup")
    assert main(["archive", str(study)]) == 1 and (precious / "backup.zip").read_bytes() == b"mine"
    manifest.save(whole, study / manifest.NAME)
    for name in ("small.zip", "notes.txt"):
        (place / name).write_bytes(b"mine")
        assert (
            main(["archive", str(study), "--output", name])
            == 1
            == main(["archive", str(study), f"--output={name}"])
        )
        assert (
            place / name
        ).read_bytes() == b"mine" and "no archive of the study small" in capsys.readouterr().err
    with zipfile.ZipFile(place / "other.zip", "w") as other:
        other.writestr("a.txt", "mine")
    assert main(["archive", str(study), "--output", "other.zip"]) == 1
    copy = study.rename(study.parent / "before")
    assert main(["archive", str(copy)]) == 0 == main(["archive", str(copy)]), (
        "its own archive is replaced"
    )
    assert "before.zip" in {path.name for path in place.iterdir()}


@pytest.mark.parametrize("name", ["report.html", "manifest.json", "tables/finals.csv", "new.zip"])
def test_no_archive_is_written_into_the_study(study, capsys, name):
    before = {path: path.read_bytes() for path in study.rglob("*.*")}
    assert main(["archive", str(study), "--output", str(study / name)]) == 1
    assert "which is an input" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in study.rglob("*.*")} == before


@pytest.mark.parametrize(
    "name",
    [
        "../outside.txt",
        "/etc/hostname",
        "a/../../outside.txt",
        "./claims.csv",
        "a//b",
        "a\\b",
        "",
        ".",
        "..",
        "a/.x",
        "a\n",
    ],
)
def test_names_that_are_no_plain_paths_are_refused(study, tmp_path, capsys, name):
    (study.parent / "outside.txt").write_text("secret")
    whole = json.loads((study / manifest.NAME).read_text())
    change(
        study,
        results=whole["results"]
        | {name: manifest.checksums(study.parent, ["outside.txt"])["outside.txt"]},
    )
    for command in (["verify"], ["archive", "--output", str(tmp_path / "x.zip")], ["prune"]):
        assert main([command[0], str(study), *command[1:]]) == 1
        error = capsys.readouterr().err
        assert "is no whole manifest" in error and error.count("\n") == 1
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize("name", ["README.md", "ro-crate-metadata.json"])
def test_what_a_study_reads_has_no_name_that_an_archive_has_of_its_own(study, tmp_path, name):
    (tmp_path / name).write_text("forged")
    change(study, inputs=manifest.checksums(tmp_path, [name]))
    with pytest.raises(DataError, match=f"lists {name}, which the archive has"):
        archive.write(study, tmp_path / "x.zip")


def test_what_a_study_reads_is_packed_as_it_was(study, tmp_path, capsys):
    (tmp_path / "hers.yaml").write_text("{edited: true}")
    assert main(["verify", str(study)]) == 0 and "hers.yaml differs" in capsys.readouterr().out
    with pytest.raises(DataError, match=r"lists another hers\.yaml than there is here"):
        archive.write(study, tmp_path / "x.zip")


# --- all that is packed is verified


@pytest.mark.parametrize(
    "name", ["report.html", "figures/figure-2.1.svg", "figures/figure-2.1.png", "study.json"]
)
def test_a_forged_file_is_noticed(study, tmp_path, capsys, name):
    with (study / name).open("a") as file:
        file.write("<p>forged</p>")
    assert main(["verify", str(study)]) == 1
    out = capsys.readouterr().out
    assert f"changed: {name}\n" in out and f"--forcerun results/small/{name}" in out
    assert main(["archive", str(study), "--output", str(tmp_path / "x.zip")]) == 1
    assert f"--forcerun results/small/{name}" in capsys.readouterr().err


def test_all_that_is_packed_is_listed(study, tmp_path):
    listed = json.loads((study / manifest.NAME).read_text())
    packed = {*zipfile.ZipFile(archive.write(study, tmp_path / "x.zip", runs=True)).namelist()}
    results = {f"results/small/{name}" for name in (*listed["results"], manifest.NAME)}
    assert packed == {
        *results,
        *listed["workflow"],
        *listed["inputs"],
        archive.README,
        provenance.CRATE,
    }
    assert "rules/present.smk" in listed["workflow"]


def test_another_workflow_is_said_and_not_archived(study, tmp_path, capsys):
    made_by = json.loads((study / manifest.NAME).read_text())["workflow"]
    change(study, workflow=made_by | {"rules/present.smk": "0" * 64})
    assert main(["verify", str(study)]) == 0
    assert "not the one that the manifest lists: rules/present.smk" in capsys.readouterr().out
    with pytest.raises(
        DataError,
        match=(
            r"lists another .*present.smk than .* here.*--forcerun "
            r"results/small/manifest\.json"
        ),
    ):
        archive.write(study, tmp_path / "x.zip")


# --- damaged manifests

WHOLE = {"study": "small", "files": {}} | {name: {} for name in manifest.SCHEMA["required"][2:]}
MADE = {"date": "2026-11-23T05:46:42+00:00", "commit": None, "clean": None, "lock": None}
DAMAGED = {
    "a list of results": WHOLE | {"made": MADE, "results": ["claims.csv"]},
    "a text": WHOLE | {"made": MADE, "results": "claims.csv"},
    "null": WHOLE | {"made": MADE, "results": None},
    "numbers for checksums": WHOLE | {"made": MADE, "results": {"claims.csv": 7}},
    "results without what made them": WHOLE | {"results": {}},
    "no date": WHOLE | {"made": MADE | {"date": "yesterday"}, "results": {}},
    "a commit that is a number": WHOLE | {"made": MADE | {"commit": 7}, "results": {}},
    "a list of settings": WHOLE | {"settings": []},
    "half of a surrogate pair": WHOLE | {"versions": {"numpy": "\ud800"}},
    "not a number": WHOLE | {"settings": {"a": float("nan")}},
    "deep": b'{"settings": ' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
    "rather deep": json.dumps(WHOLE)[:-1].encode() + b', "more": ' + b"[" * 960 + b"]" * 960 + b"}",
    "a long number": json.dumps(WHOLE)[:-1].encode() + b', "more": ' + b"9" * 5000 + b"}",
    "not JSON": b"study: small\n",
    "cut": json.dumps(WHOLE)[:-1].encode(),
    "not UTF-8": b'{"study": "\xff"}',
    "UTF-16": json.dumps(WHOLE).encode("utf-16"),
    "empty": b"",
    "null alone": b"null",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize(
    "command", ["verify", "prune", "archive", "compare", "reference", "results"]
)
def test_a_damaged_manifest_is_one_line(study, capsys, command, content):
    old = asked_for_earlier(study, "tables/old.csv")
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (study / manifest.NAME).write_bytes(data)
    before = {*study.parents[1].rglob("*")}
    if command == "results":
        with pytest.raises(DataError, match="is no whole manifest"):
            print(Results(study).manifest)
        return
    more = {
        "prune": ["--delete"],
        "archive": ["--output", str(study.parent / "x.zip")],
        "compare": [str(study)],
    }
    assert main([command, str(study), *more.get(command, [])]) in (1, 2)
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "is no whole manifest" in error
    assert {*study.parents[1].rglob("*")} == before and old.exists()


def test_a_manifest_may_hold_infinite_settings(study):
    change(study, settings={"rates": [float("inf")]})
    assert verifying.verify(study).same == 7
