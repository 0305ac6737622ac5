"""Verifying and archiving a finished study."""

import gzip
import json
import os
import platform
import zipfile
from base64 import urlsafe_b64encode

import pytest
import yaml
from rocrate.rocrate import ROCrate

from scant.cli import main
from scant.errors import DataError
from scant.files import FOLDER_MARK
from scant.finished import archive, manifest, provenance, reading, verifying
from scant.finished.results import Results
from scant.schema import PROJECT
from scant.study import code

FILES = yaml.safe_load("""
{report.html: <html></html>, study.json: "{}", claims.csv: "id\\n", tables/finals.csv: "a\\n1\\n",
 figures/figure-2.1.svg: <svg/>, figures/figure-2.1.png: PNG, runs/a/b/c/seed-0.parquet: PAR1}
""")
RUN = "runs/a/b/c/seed-0.parquet"


@pytest.fixture
def study(tmp_path):
    """A folder like that of a finished study."""
    folder = tmp_path / "results/small"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "hers.yaml").write_text("{}")
    content = {name: {} for name in ("settings", "claims", "code", "modules", "data")} | {
        "study": "small",
        "files": manifest.checksums(folder, ["tables/finals.csv"]),
        "made": provenance.made(),
        "results": manifest.checksums(folder, FILES),
        "workflow": manifest.checksums(PROJECT, provenance.workflow()),
        "settings": {"datasets": {}},
        "versions": {"Python": platform.python_version()},
        "inputs": manifest.checksums(tmp_path, ["hers.yaml"]),
        "elsewhere": ["the Python module far"],
    }
    manifest.save(content, folder / manifest.NAME)
    return folder


@pytest.fixture
def scant(study, capsys):
    """Runs a command on the study, or on another; gives its exit code and what it printed."""

    def scant(command, *arguments, of=study):
        status = main([command, str(of), *map(str, arguments)])
        return status, "".join(capsys.readouterr())

    return scant


def contents(folder) -> dict:
    """All files of a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def change(folder, **changes):
    """Change entries of the manifest."""
    manifest.save(manifest.read(folder) | changes, folder / manifest.NAME)


def test_nothing_has_changed(study, scant):
    assert verifying.verify(study)[:6] == (7, [], [], 0, (), 0)
    status, said = scant("verify")
    assert status == 0 and "7 files are what they were" in said


@pytest.mark.parametrize("digest", ["", "0123456789ab"])
def test_whether_the_code_here_made_it(study, scant, digest):
    change(
        study, modules=code.digests("scant.errors") | ({"scant.errors": digest} if digest else {})
    )
    said = scant("verify")[1]
    if digest:
        assert "The code here is not the code that made the study" in said
        assert "scant.errors differs, for example" in said
    else:
        assert "The code here is the code that made the study" in said


def test_code_is_not_compared_between_versions_of_python(study, scant):
    change(study, versions={"Python": "3.0.1"}, modules={"scant.errors": "0123456789ab"})
    assert "cannot be told under another version" in scant("verify")[1]


def test_what_changed_and_what_is_gone(study, scant, tmp_path):
    (study / "tables/finals.csv").write_text("a\n2\n")
    (study / RUN).unlink()
    assert verifying.verify(study)[:6] == (5, ["tables/finals.csv"], [RUN], 0, (), 0)
    status, said = scant("verify")
    assert status == 1 and f"changed: tables/finals.csv\ngone: {RUN}" in said
    with pytest.raises(DataError, match="is not what it was"):
        archive.write(study, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_what_was_never_packed_is_no_loss(study, scant):
    (study / RUN).unlink()
    (study.parents[1] / provenance.CRATE).write_text("{}")
    status, said = scant("verify")
    assert status == 0 and "1 runs, streams and logs were never packed into this archive" in said


def test_a_study_without_checksums_is_not_verified(study):
    (study / manifest.NAME).unlink()
    with pytest.raises(DataError, match=r"manifest\.json: is not there, or lists no results"):
        verifying.verify(study)


def test_the_archive_is_a_crate_that_others_read(study, tmp_path):
    path = archive.write(study, tmp_path / "small.zip")
    names = set(zipfile.ZipFile(path).namelist())
    results = {f"results/small/{name}" for name in {*FILES, "manifest.json"} - {RUN}}
    workflow = {"Snakefile", "rules/runs.smk", "requirements.lock", "config/datasets.yaml"}
    assert results | workflow | {provenance.CRATE, "README.md", "hers.yaml"} <= names
    # the study reads none
    assert not any(name.startswith(("config/claims", "config/config")) for name in names)
    zipfile.ZipFile(path).extractall(tmp_path / "crate")
    assert "the Python module far" in (tmp_path / "crate/README.md").read_text()
    crate = ROCrate(tmp_path / "crate")
    main_entity = crate.mainEntity
    assert main_entity["@id"] == "Snakefile" and "ComputationalWorkflow" in main_entity.type
    assert main_entity["programmingLanguage"]["name"] == "Snakemake"
    described = {entity.id for entity in crate.data_entities}
    assert described == names - {provenance.CRATE}, "each file is described, and nothing else"
    files = [entity for entity in crate.data_entities if "File" in entity.type]
    assert all(entity.get("encodingFormat") for entity in files)
    assert crate.get("README.md")["about"] is crate.root_dataset
    run = crate.get("#run")
    assert run["instrument"] is main_entity and run["object"].id == "results/small/study.json"
    assert {item.id for item in run["result"]} == results - {"results/small/study.json"}
    graph = json.loads((tmp_path / "crate" / provenance.CRATE).read_text())["@graph"]
    values = [value for entity in graph for value in entity.values()]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    named = {item["@id"] for item in items if isinstance(item, dict)}
    assert {id for id in named if not id.startswith("http")} <= {entity["@id"] for entity in graph}


SAID = yaml.safe_load(
    """{authors: [A. Author, B. Author], publisher: Institute, url: "https://a.org",
    licence: CC0-1.0}"""
)


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
    """All that the profiles of RO-Crate recommend of the results, the run and its software."""
    made = manifest.read(study)["made"] | {"project": project}
    said = settings.get("attribution", {})
    own = {"task": "ranking", "parser": "letor", "features": 2, "grades": 2, "terms": "CC0-1.0"}
    own["parts"] = {"all": {"file": "x"}}
    data = {"mq2008/fold1-train": "", "optdigits/train": "", "optdigits/test": "", "mine/all": ""}
    change(study, settings={"datasets": {"mine": own}} | settings, made=made, data=data)
    with zipfile.ZipFile(archive.write(study, tmp_path / "small.zip")) as packed:
        graph = json.loads(packed.read(provenance.CRATE))["@graph"]
        text = packed.read("README.md").decode()
    graph = {entity["@id"]: entity for entity in graph}
    root, run, workflow = graph["./"], graph["#run"], graph["Snakefile"]

    def names(entities):
        entities = entities if isinstance(entities, list) else [entities]
        return [graph[entity["@id"]]["name"] for entity in entities]

    assert names(root["author"]) == names(run["agent"]) == authors
    assert names(root["license"]) == [licence] and names(workflow["license"]) == ["MIT"]
    assert names(workflow["author"]) == ["The scant contributors"]
    based = [graph[entity["@id"]] for entity in root["isBasedOn"]]
    titles = ["LETOR 4.0 MQ2008", "Optical Recognition of Handwritten Digits", "mine"]
    assert [entity["name"] for entity in based] == titles
    assert [one["license"] for one in based[1:]] == ["CC BY 4.0.", "CC0-1.0"]
    organizations = [entity for entity in graph.values() if entity["@type"] == "Organization"]
    assert graph[root["publisher"]["@id"]] in organizations
    addresses = {entity["url"] for entity in organizations if "url" in entity}
    assert addresses == {address for key, address in said.items() if key == "url"}
    persons = [entity for entity in graph.values() if entity["@type"] == "Person"]
    assert all(graph[entity["affiliation"]["@id"]] for entity in persons)
    assert f"authors: {', '.join(authors)}\n" in text
    assert f"licence of the results: {licence}\n" in text


def test_a_file_of_any_name_is_described_where_others_look_for_it(study, tmp_path):
    (study / "figures/a b%41#.svg").write_text("<svg/>")
    change(study, results=manifest.checksums(study, [*FILES, "figures/a b%41#.svg"]))
    with zipfile.ZipFile(archive.write(study, tmp_path / "small.zip")) as packed:
        ids = [entity["@id"] for entity in json.loads(packed.read(provenance.CRATE))["@graph"]]
        folder = "results/small/figures"
        assert f"{folder}/a b%41#.svg" in packed.namelist() and f"{folder}/a%20b%2541%23.svg" in ids


def test_the_same_study_gives_the_same_archive_of_all_that_is_listed(study, tmp_path):
    paths = [archive.write(study, tmp_path / name, runs=True) for name in ("a.zip", "b.zip")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    listed = manifest.read(study)
    results = {f"results/small/{name}" for name in (*listed["results"], manifest.NAME)}
    others = {*listed["workflow"], *listed["inputs"], archive.README, provenance.CRATE}
    assert {*zipfile.ZipFile(paths[0]).namelist()} == results | others
    assert "rules/present.smk" in listed["workflow"]


def test_streams_that_were_deleted_are_not_gone(study, scant, tmp_path):
    stream = study / "streams/linear/0-1/seed-0.arrow"
    stream.parent.mkdir(parents=True)
    stream.write_bytes(b"x")
    change(study, results=manifest.checksums(study, [*FILES, str(stream.relative_to(study))]))
    stream.unlink()
    assert verifying.verify(study)[:6] == (7, [], [], 1, (), 0)
    status, said = scant("verify")
    assert status == 0 and "1 streams and logs are gone: what needs them draws them again" in said
    archive.write(study, tmp_path / "whole.zip", runs=True)  # without the stream
    stream.write_bytes(b"y")
    assert verifying.verify(study).changed == ["streams/linear/0-1/seed-0.arrow"]


# --- only what is theirs
@pytest.mark.parametrize("name", ["../x", "./small", "reference", "data", "x", "", "/x", "a/b"])
def test_a_manifest_of_another_study_makes_no_reference(study, scant, name):
    change(study, study=name)
    before = contents(study.parent)
    status, said = scant("reference")
    assert status == 1 and said.count("\n") == 1
    assert contents(study.parent) == before


def test_a_study_that_is_a_link_is_left_alone(study, scant):
    reference = reading.keep(study)
    kept = contents(reference)
    (link := study.parent / "alias").symlink_to(study)
    status, said = scant("reference", of=link)
    assert status == 1 and "is of the study small, and not of alias" in said
    assert contents(reference) == kept


def test_a_reference_has_what_figures_show(study):
    def figures(**texts):
        paths = {f"figures/{name}.csv": study / f"figures/{name}.csv" for name in texts}
        for path, text in zip(paths.values(), texts.values(), strict=True):
            path.write_text(text)
        change(study, results=manifest.checksums(study, paths))
        return paths

    figures(old="x\n1\n", new="x\n2\n")
    reading.keep(study)
    (new,) = figures(new="x\n3\n").values()
    kept = {path.name: path for path in (reading.keep(study) / "figures").iterdir()}
    assert [*kept] == ["new.csv.gz"], "the old one is gone"
    assert gzip.decompress(kept["new.csv.gz"].read_bytes()) == new.read_bytes()
    new.write_text("edited")
    with pytest.raises(DataError, match=r"new\.csv: has changed since"):
        reading.keep(study)


def test_a_reference_leaves_what_is_not_its_own(study, tmp_path, scant):
    kept = reading.keep(study)
    # it does not say when it was made
    assert not {"made", "results"} & json.loads((kept / manifest.NAME).read_text()).keys()
    (kept / "notes.txt").write_text("mine")
    (kept / "tables/mine.csv").write_text("mine")
    reading.keep(study)
    assert (kept / "notes.txt").read_text() == (kept / "tables/mine.csv").read_text() == "mine"


def test_an_archive_is_named_by_the_folder_and_replaces_nothing(
    study, tmp_path, monkeypatch, scant
):
    (place := tmp_path / "work").mkdir()
    monkeypatch.chdir(place)
    copy = study.rename(study.parent / "before")
    assert scant("archive", of=copy)[0] == 0
    made = (place / "before.zip").read_bytes()
    for option in ([], ["--output", "before.zip"], ["--output=before.zip"]):
        status, said = scant("archive", *option, of=copy)
        assert (
            status == 1 and "before.zip is there already: delete it, or give another name" in said
        )
    assert (place / "before.zip").read_bytes() == made


@pytest.mark.parametrize("name", ["report.html", "manifest.json", "tables/finals.csv", "new.zip"])
def test_no_archive_is_written_into_the_study(study, scant, name):
    before = contents(study)
    status, said = scant("archive", "--output", study / name)
    assert status == 1 and "which is an input" in said and contents(study) == before


NAMES = yaml.safe_load(
    r"""[../outside.txt, /etc/hostname, a/../../outside.txt, ./claims.csv, a//b, a\b, "", ".", "..",
    a/.x, "a\n"]"""
)


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_no_plain_paths_are_refused(study, tmp_path, scant, name):
    (study.parent / "outside.txt").write_text("secret")
    digest = manifest.checksums(study.parent, ["outside.txt"])["outside.txt"]
    change(study, results=manifest.read(study)["results"] | {name: digest})
    for command in (["verify"], ["archive", "--output", tmp_path / "x.zip"]):
        status, said = scant(*command)
        assert status == 1 and "is no whole manifest" in said and said.count("\n") == 1
    assert not (tmp_path / "x.zip").exists()


def test_what_a_study_reads_is_packed_as_it_was(study, tmp_path, scant):
    (tmp_path / "hers.yaml").write_text("{edited: true}")
    status, said = scant("verify")
    assert status == 0 and "hers.yaml differs" in said
    with pytest.raises(DataError, match=r"lists another hers\.yaml than there is here"):
        archive.write(study, tmp_path / "x.zip")


# --- all that is packed is verified
@pytest.mark.parametrize(
    "name", ["report.html", "figures/figure-2.1.svg", "figures/figure-2.1.png", "study.json"]
)
def test_a_forged_file_is_noticed(study, tmp_path, scant, name):
    with (study / name).open("a") as file:
        file.write("<p>forged</p>")
    again = f"--forcerun results/small/{name}"
    status, said = scant("verify")
    assert status == 1 and f"changed: {name}\n" in said and again in said
    status, said = scant("archive", "--output", tmp_path / "x.zip")
    assert status == 1 and again in said


def test_another_workflow_is_said_and_not_archived(study, tmp_path, scant):
    change(study, workflow=manifest.read(study)["workflow"] | {"rules/present.smk": "0" * 64})
    status, said = scant("verify")
    assert status == 0 and "not the one that the manifest lists: rules/present.smk" in said
    how = r"lists another .*present.smk than .* here.*--forcerun results/small/manifest\.json"
    with pytest.raises(DataError, match=how):
        archive.write(study, tmp_path / "x.zip")


# --- links
COMMANDS = [["archive", "--runs"], ["verify"], ["compare", "reference"], ["show"], ["table"]]
COMMANDS += [["show", "finals"], ["reference"]]
LINKED = [*FILES, manifest.NAME, "tables", "runs/a", f"figures/{FOLDER_MARK}", "more.txt"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", LINKED)
def test_no_link_in_results_is_followed(study, scant, tmp_path, monkeypatch, name, command):
    """A file or folder may be a link whether the manifest lists it or not."""
    reading.keep(study)
    monkeypatch.chdir(tmp_path)
    moved = moved_and_linked(study / name, tmp_path / "elsewhere")
    before = contents(tmp_path)
    status, said = scant(*command)
    assert status and f"{study / name}: a link, or no file, which is not followed" in said
    assert contents(tmp_path) == before and "secret" not in said
    (study / name).unlink()
    moved.rename(study / name)
    assert command != ["verify"] or scant(*command)[0] == 0


def moved_and_linked(path, elsewhere):
    """Move a file or folder away, or make a secret there, and link to it."""
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.write_text("secret")
    path.symlink_to(elsewhere)
    return elsewhere


def test_what_never_ends_is_not_read(study, scant):
    (study / "tables/finals.csv").unlink()
    os.mkfifo(study / "tables/finals.csv")
    assert "or no file, which is not followed" in scant("show", "finals")[1]


@pytest.mark.parametrize("depth", range(3))
def test_an_archive_follows_no_link_of_snakemakes_records(study, scant, tmp_path, depth):
    """A record that is a link, and a link to a folder of records."""
    name = urlsafe_b64encode(b"results/small/report.html").decode()
    place = tmp_path / ".snakemake/metadata" / name
    place.parent.mkdir(parents=True)
    place.write_text("secret")
    status, said = scant("archive", "--output", tmp_path / "whole.zip")
    names = zipfile.ZipFile(tmp_path / "whole.zip").namelist()
    assert status == 0 and f".snakemake/metadata/{name}" in names
    moved_and_linked([place, *place.parents][depth], tmp_path / "elsewhere")
    status, said = scant("archive", "--output", tmp_path / "x.zip")
    assert status == 1 and f"{place}: a link" in said and not (tmp_path / "x.zip").exists()


def test_a_reference_is_written_through_no_link(study, scant, tmp_path):
    (mine := tmp_path / "mine/tables").mkdir(parents=True)
    (mine / "finals.csv").write_text("mine")
    (study.parent / "reference").mkdir()
    (study.parent / "reference/small").symlink_to(mine.parent)
    status, said = scant("reference")
    assert status == 1 and "reference/small: a link" in said
    assert contents(mine.parent) == {mine / "finals.csv": b"mine"}


def test_results_that_are_a_link_as_a_whole_are_read(study, scant, tmp_path):
    """Whoever has them elsewhere has made the link."""
    study.rename(tmp_path / "elsewhere")
    study.symlink_to(tmp_path / "elsewhere")
    assert scant("verify")[0] == 0 and scant("archive", "--output", tmp_path / "x.zip")[0] == 0


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
    "an attribution that is a number": WHOLE | {"settings": {"attribution": 5}},
    "data sets in a list": WHOLE | {"settings": {"datasets": []}},
    "data without a part": WHOLE | {"data": {"nosuch": None}},
    "a checksum of data that is a number": WHOLE | {"data": {"a/b": 5}},
    "a source without text": WHOLE | {"sources": [{"title": 5, "url": ""}]},
    "inputs without what an archive says of them": WHOLE | {"made": MADE, "inputs": {}},
    "more than anybody makes": json.dumps(WHOLE | {"data": {"a/b": [0] * 200_000}}).encode(),
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
def test_a_damaged_manifest_is_no_whole_one(study, content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (study / manifest.NAME).write_bytes(data)
    for read in (verifying.verify, lambda folder: Results(folder).manifest):
        with pytest.raises(DataError, match="is no whole manifest"):
            read(study)


@pytest.mark.parametrize("command", ["verify", "archive", "compare", "reference"])
def test_a_damaged_manifest_is_one_line(study, scant, command):
    (study / manifest.NAME).write_bytes(DAMAGED["deep"])
    before = contents(study.parents[1])
    more = {"archive": ["--output", study.parent / "x.zip"], "compare": [study]}
    status, said = scant(command, *more.get(command, []))
    assert status in (1, 2) and said.count("\n") == 1 and "is no whole manifest" in said
    assert contents(study.parents[1]) == before


def test_a_manifest_may_hold_infinite_settings(study):
    change(study, settings={"datasets": {}, "rates": [float("inf")]})
    assert verifying.verify(study).same == 7
