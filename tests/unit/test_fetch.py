"""Fetching: where files are looked for, what is accepted, and what is refused.

Downloads are from this machine.
"""

import base64
import gzip
import hashlib
import io
import socket
import threading
import zipfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import pytest
import requests
import urllib3
import yaml

from scant.data.conversion import convert as converted
from scant.data.fetch import fetch
from scant.data.registry import Archive, Dataset, Part
from scant.data.tables import convert
from scant.errors import DataError, SettingError

CONTENT = b"0 qid:1 1:0.5 #docid = 1\r\n" * 5
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, without a mirror and without a proxy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCANT_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server(tmp_path):
    """The folder `served` under a loopback URL; gives (folder, URL, list of requests)."""
    folder, requests = tmp_path / "served", []
    folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, form, *args):
            requests.append(form % args)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}", requests
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def at_once(monkeypatch):
    """Downloads are tried again without a pause."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def dataset(archive=None, get="", own=False, folder="toy", parts=None, plain_http=False, **part):
    parts = parts or {"test": Part("test", **{"file": "Fold1/test.txt", "sha256": SHA256, **part})}
    common = yaml.safe_load(
        "{task: ranking, parser: letor, features: 1, home: 'http://home', terms: None.}"
    )
    common |= {"archive": archive, "get": get, "own": own, "plain_http": plain_http}
    return Dataset("toy", parts=parts, cover=("test",), folder=folder, **common)


def put(path, content=CONTENT):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# CONTENT as the program compress packs it, which few machines have
PACKED = base64.b85decode(
    "ADxgeK*UKyMn?<~F?7IiQ3J#XGH=EZ1knRw0|fyG7Ce}6VZ(<JCsvGcF(W~P2o*AP2vH&#iWV^nJjqez$Ce^vn"
    "%tPuBg>F4M_vQ"
)
PACK = {"": bytes, ".gz": gzip.compress, ".Z": lambda content: PACKED}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("place", ["mirror", "SCANT_DATA", "data"])
def test_files_are_found_plain_or_compressed(tmp_path, monkeypatch, place, suffix):
    source = put(tmp_path / place / "toy/Fold1" / f"test.txt{suffix}", PACK[suffix](CONTENT))
    if place == "SCANT_DATA":
        monkeypatch.setenv("SCANT_DATA", str(tmp_path / place))
    mirror = str(tmp_path / place) if place == "mirror" else None
    lines = []
    source_used = fetch(dataset(), "test", tmp_path / "out/test.txt", mirror, log=lines.append)
    assert (tmp_path / "out/test.txt").read_bytes() == CONTENT
    # a plain file is used where it is
    assert (tmp_path / "out/test.txt").is_symlink() == (suffix == "")
    assert str(source).endswith(source_used) and len(lines) == 1 and SHA256 in lines[0]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["test.txt"]


def test_a_mirror_is_a_folder():
    with pytest.raises(SettingError, match=r"mirror https://a\.b is not a folder"):
        fetch(dataset(), "test", "out.txt", "https://a.b")


def test_a_wrong_mirror_file_is_never_passed_over_and_stays(server, tmp_path):
    folder, url, requests = server
    put(folder / "test.txt")
    put(tmp_path / "data/toy/Fold1/test.txt")
    wrong = put(tmp_path / "mirror/toy/Fold1/test.txt", b"wrong")
    with pytest.raises(DataError) as caught:
        fetch(dataset(url=f"{url}/test.txt"), "test", "out/test.txt", str(tmp_path / "mirror"))
    for text in (str(wrong), SHA256, hashlib.sha256(b"wrong").hexdigest(), "Replace the file"):
        assert text in str(caught.value)
    assert not requests and wrong.read_bytes() == b"wrong" and not (tmp_path / "out").exists()


def kept(path: Path) -> tuple:
    """What writing a file changes; reading it may change when it was read."""
    facts = path.stat()
    return facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def test_what_replaces_a_link_leaves_the_users_file_as_it_was(tmp_path):
    source = put(tmp_path / "data/toy/Fold1/test.txt")
    source.chmod(0o640)
    before = kept(source)
    fetch(dataset(), "test", "out/test.txt")
    fetch(dataset(), "test", "out/test.txt")  # again, over the link
    # the whole folder can be moved
    assert Path("out/test.txt").readlink() == Path("../data/toy/Fold1/test.txt")
    put(tmp_path / "mirror/toy/Fold1/test.txt.gz", gzip.compress(CONTENT))
    fetch(dataset(), "test", "out/test.txt", str(tmp_path / "mirror"))
    assert not Path("out/test.txt").is_symlink() and source.read_bytes() == CONTENT
    assert kept(source) == before
    with pytest.raises(SettingError, match="is also an input"):
        fetch(dataset(), "test", source)
    assert kept(source) == before


def test_a_link_whose_file_is_gone_says_so(tmp_path):
    source = put(tmp_path / "data/toy/Fold1/test.txt")
    fetch(dataset(), "test", "out/test.txt")
    source.unlink()
    with pytest.raises(DataError, match=r"a link to \S*Fold1/test\.txt, which is not there"):
        convert(dataset(), "test", "out/test.txt", "table.parquet")


@pytest.mark.parametrize("suffix", [".gz", ".Z"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-8] + bytes(8),
        lambda data: b"",
        lambda data: b"not compressed at all" * 9,
    ],
    ids=["truncated", "changed", "empty", "foreign"],
)
def test_damaged_compressed_files_are_refused(tmp_path, suffix, damage):
    source = put(tmp_path / f"data/toy/Fold1/test.txt{suffix}", damage(PACK[suffix](CONTENT)))
    with pytest.raises(DataError) as caught:
        fetch(dataset(), "test", "out/test.txt")
    assert source.name in str(caught.value)
    assert not (tmp_path / "out/test.txt").exists()


def test_files_are_known_by_their_git_blob(tmp_path):
    put(tmp_path / "data/toy/Fold1/test.txt")
    fetch(dataset(sha256=None, git_blob=BLOB), "test", "out.txt")
    with pytest.raises(DataError, match=f"expected git blob id {'0' * 40}, found {BLOB}"):
        fetch(dataset(sha256=None, git_blob="0" * 40), "test", "out.txt")


def test_where_no_checksum_is_published_the_content_is_reported(tmp_path):
    put(tmp_path / "data/toy/Fold1/test.txt")
    lines = []
    fetch(dataset(sha256=None), "test", "out.txt", log=lines.append)
    assert SHA256 in lines[0]


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("absolute", [True, False])
def test_own_files_are_taken_from_the_path_given(tmp_path, suffix, absolute):
    path = put(tmp_path / f"my files/set.txt{suffix}", PACK[suffix](CONTENT))
    file = str(path if absolute else path.relative_to(tmp_path))
    assert fetch(dataset(own=True, file=file, sha256=None), "test", "out.txt") == file
    assert Path("out.txt").read_bytes() == CONTENT


def test_gated_sets_say_what_to_get_and_where_to_put_it(server):
    folder, url, requests = server
    put(folder / "test.txt")
    gated = dataset(get="Ask the publisher", url=f"{url}/test.txt")
    with pytest.raises(SettingError, match=r"Ask the publisher(.|\n)*data/toy/Fold1/test.txt"):
        fetch(gated, "test", "out.txt")
    assert not requests


def test_scikit_learn_brings_the_digits():
    content = "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
    digits = dataset(package="sklearn/datasets/data/digits.csv.gz", sha256=content)
    assert fetch(digits, "test", "out.csv").endswith("/digits.csv.gz")


def test_a_file_is_downloaded(server):
    folder, url, _ = server
    put(folder / "test.txt.gz", gzip.compress(CONTENT))
    wanted = dataset(url=f"{url}/test.txt.gz?version=1")
    assert fetch(wanted, "test", "out/test.txt") == f"{url}/test.txt.gz?version=1"


def test_a_failed_download_says_where_to_put_the_file(server, tmp_path, at_once):
    _, url, _ = server
    with pytest.raises(DataError, match=r"the download failed.*data/toy/Fold1/test\.txt"):
        fetch(dataset(url=f"{url}/absent.txt"), "test", "out/test.txt")
    assert not list((tmp_path / "out").iterdir())


def zipped(members) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in members:
            archive.writestr(info, content)
    return file.getvalue()


def serve(server, content: bytes, sha256=None, **part):
    folder, url, _ = server
    put(folder / "toy.zip", content)
    return dataset(archive=Archive(f"{url}/toy.zip", sha256, "toy/"), **part)


@pytest.mark.parametrize("suffix", PACK)
def test_a_part_is_taken_from_the_archive(server, suffix):
    content = zipped(
        [
            ("/evil", b"evil"),
            ("../evil", b"evil"),
            (f"toy/Fold1/test.txt{suffix}", PACK[suffix](CONTENT)),
        ]
    )
    toy = serve(server, content, hashlib.sha256(content).hexdigest())
    fetch(toy, "test", "out/toy/test.txt")
    assert not list(server[0].parent.rglob("*evil*"))


def test_parts_share_one_download(server, tmp_path):
    names = [f"p{i}" for i in range(6)]
    parts = {name: Part(name, f"{name}.txt", SHA256) for name in names}
    toy = serve(server, zipped([(f"toy/{name}.txt", CONTENT) for name in names]), parts=parts)
    jobs = [
        threading.Thread(target=fetch, args=(toy, name, f"out/toy/{name}.txt")) for name in names
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert all((tmp_path / f"out/toy/{name}.txt").read_bytes() == CONTENT for name in names)
    assert sum("GET /toy.zip" in line for line in server[2]) == 1


def test_an_archive_is_that_of_the_entry_whenever_it_is_read(server, tmp_path, capsys):
    folder, url, requests = server
    made = serve(server, zipped([("toy/Fold1/test.txt", CONTENT)]), sha256=None)
    fetch(made, "test", "out/test.txt")
    other = zipped([("toy/Fold1/test.txt", CONTENT), ("more", b"1")])
    put(folder / "toy.zip", other)
    fetch(made, "test", "out/test.txt")
    assert len(requests) == 1  # as long as the entry is the same
    changed = replace(
        made, archive=Archive(f"{url}/toy.zip", hashlib.sha256(other).hexdigest(), "toy/")
    )
    fetch(changed, "test", "out/test.txt")
    assert len(requests) == 2 and "downloaded again" in capsys.readouterr().out
    put(folder / "new.zip", other)
    fetch(
        replace(changed, archive=replace(changed.archive, url=f"{url}/new.zip")),
        "test",
        "out/test.txt",
    )
    assert len(requests) == 3


def test_what_is_converted_is_what_was_fetched(tmp_path):
    put(tmp_path / "copy.txt", CONTENT + b"1 qid:2 1:0.5\n")
    for registered in (dataset(), dataset(sha256=None, git_blob=BLOB)):
        with pytest.raises(DataError, match=r"copy\.txt: checksum mismatch"):
            converted(registered, "test", tmp_path / "copy.txt", tmp_path / "table.parquet")


def test_plain_http_without_a_checksum_is_refused_unless_it_is_meant(server):
    folder, url, _ = server
    put(folder / "test.txt")
    with pytest.raises(SettingError, match=r"plain http.*plain_http: true"):
        fetch(dataset(url=f"{url}/test.txt", sha256=None), "test", "out/test.txt")
    fetch(dataset(url=f"{url}/test.txt", sha256=None, plain_http=True), "test", "out/test.txt")


# --- servers that answer wrongly
@pytest.fixture
def answering():
    """A function that gives the loopback URL of a server that always answers with these bytes."""
    sockets = []

    def serve(answer: bytes) -> str:
        sockets.append(server := socket.create_server(("127.0.0.1", 0)))

        def loop():
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        connection.recv(1 << 16)
                        connection.sendall(answer)
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(1 << 16):
                            pass

        threading.Thread(target=loop, daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    yield serve
    for server in sockets:
        server.close()


OK = b"HTTP/1.1 200 OK\r\n"
FOUND = b"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n"
WRONG_ANSWERS = {
    "nothing": (b"", "RemoteDisconnected"),
    "garbage": (b"a" * 60_000 + b"\r\n", "BadStatusLine..a{20}"),
    "colours": (b"HTTP/1.1 500 \x1b[31mred\r\n\r\n", r"500 Server Error: \\x1b\[31mred"),
    "cut short": (OK + b"Content-Length: 10\r\n\r\nx", "IncompleteRead"),
    "to no address": (FOUND % b"https://[::1", "Invalid IPv6"),
    "to itself": (FOUND % b"/", "Exceeded 30 redirects"),
    "to a file": (FOUND % b"file:///etc/passwd", "No connection adapters"),
}


@pytest.mark.parametrize(
    ("place", "fault"),
    [*product(["url"], WRONG_ANSWERS), ("archive", "cut short")],
)
def test_what_a_server_does_wrong_is_said_in_a_line(tmp_path, answering, at_once, place, fault):
    answer, reason = WRONG_ANSWERS[fault]
    url = answering(answer)
    wanted = dataset(
        archive=Archive(f"{url}/a.zip") if place == "archive" else None,
        url=f"{url}/a.txt" if place == "url" else None,
    )
    with pytest.raises(DataError, match=f"the download failed: .*({reason})") as caught:
        fetch(wanted, "test", "out/test.txt")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {".toy.lock"}


@pytest.fixture
def web(monkeypatch):
    """A web of answers to addresses, that one fills: status, headers, content.

    Gives it and what was read of each.
    """
    answers, read = {}, {}

    class Content(io.BytesIO):
        def __init__(self, url, content):
            super().__init__(content)
            self.url = url

        def read(self, size=-1):
            data = super().read(size)
            read[self.url] = read.get(self.url, 0) + len(data)
            return data

    def send(adapter, request, **options):
        status, headers, content = answers[request.url]
        body = Content(request.url, content)
        raw = urllib3.HTTPResponse(
            body, headers, status, preload_content=False, decode_content=False
        )
        return adapter.build_response(request, raw)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    return answers, read


@pytest.mark.parametrize("place", ["url", "archive"])
def test_https_does_not_lead_to_plain_http_without_a_checksum(web, place):
    content = zipped([("toy/Fold1/test.txt", CONTENT)]) if place == "archive" else CONTENT
    answers, read = web
    answers["https://a/b"] = 302, {"Location": "http://c/d"}, b""
    answers["http://c/d"] = 302, {"Location": "https://e/f"}, b""
    answers["https://e/f"] = 200, {}, content
    digest = hashlib.sha256(content).hexdigest()

    def led(checksum, **settings):
        if place == "archive":
            return dataset(Archive("https://a/b", checksum, "toy/"), sha256=None, **settings)
        return dataset(url="https://a/b", sha256=checksum, **settings)

    with pytest.raises(SettingError, match="toy: https://a/b leads to http://c/d, which is plain"):
        fetch(led(None), "test", "out/test.txt")
    assert not read.get("https://e/f")
    for wanted in (led(None, plain_http=True), led(digest)):
        fetch(wanted, "test", f"{wanted.plain_http}/test.txt")


@pytest.mark.parametrize(
    "start", ["<!DOCTYPE html>", "\ufeff\n <HTML lang=de>", "<?xml version='1.0'?><Error>"]
)
def test_a_web_page_is_no_data(web, at_once, start, tmp_path):
    web[0]["https://a/b.gz"] = 200, {}, start.encode() + b"<p>Sign in"
    for wanted in (dataset(url="https://a/b.gz", sha256=None), dataset(url="https://a/b.gz")):
        with pytest.raises(DataError, match=r"https://a/b\.gz: it is a web page, as a server"):
            fetch(wanted, "test", "out/test.txt")
    assert not list((tmp_path / "out").iterdir())


def test_a_wrong_archive_is_refused(server, tmp_path):
    toy = serve(server, zipped([("toy/Fold1/test.txt", CONTENT)]), "0" * 64)
    with pytest.raises(DataError, match=f"expected SHA-256 {'0' * 64}, found "):
        fetch(toy, "test", "out/test.txt")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".toy.lock"]


HELD = bytes(range(256)) * 999
BAD_ARCHIVES = {
    "other members": (zipped([("toy/other.txt", CONTENT)]), "has no toy/Fold1/test.txt"),
    "cut zip": (zipped([("toy/Fold1/test.txt", CONTENT)])[:100], "not a zip file"),
    "page": (b"<html>this page has moved</html>", "it is a web page"),
    "changed": (
        zipped([("toy/Fold1/test.txt", HELD)]).replace(b"\xff", b"\0"),
        "corrupt or cut short",
    ),
}


@pytest.mark.parametrize(("content", "reason"), BAD_ARCHIVES.values(), ids=BAD_ARCHIVES)
def test_archives_that_cannot_be_used(server, tmp_path, content, reason):
    with pytest.raises(DataError, match=reason):
        fetch(serve(server, content), "test", "out/test.txt")
    assert not (tmp_path / "out/test.txt").exists()
