"""Fetching over HTTP from a server on this machine, from mirrors, and from files put in place by hand."""

import errno
import hashlib
import http.server
import importlib
import io
import json
import os
import socket
import ssl
import struct
import threading
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml.config import DatasetSpec
from dml.data import DataError, _http, download
from dml.data._http import Unavailable, get
from dml.data.download import Archive, fetch
from dml.data.packed import content_digest


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; cuts connections after `cut` bytes as often as `cuts` says; keeps the requests' headers."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.requests, self.cuts, self.cut = {}, [], 0, 1000
        self.ranges, self.status, self.lie_about_range = True, None, False
        self.reset, self.says_size = False, False  # cut by a TCP reset; a 416 says how long the file is
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        if server.status is not None:
            return self.send_error(server.status)
        if self.path not in server.files:
            return self.send_error(404)
        content = server.files[self.path]
        start = 0
        if server.ranges and (asked := self.headers.get("Range")):
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_response(416)
                if server.says_size:
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            start = 0 if server.lie_about_range else start
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.cuts > 0:
            server.cuts -= 1
            self.wfile.write(body[: server.cut])
            self.close_connection = True
            if server.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(self.connection.detach())
            return None
        self.wfile.write(body)
        return None

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _no_mirror_no_pause(monkeypatch):
    monkeypatch.delenv("DML_MIRROR", raising=False)
    monkeypatch.setattr(_http.time, "sleep", lambda seconds: None)


def quiet(line):
    pass


def picture(value):
    file = io.BytesIO()
    Image.fromarray(np.full((4, 4), value, np.uint8)).save(file, "PNG")
    return file.getvalue()


def archive_of(values, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for number, value in enumerate(values):
            archive.writestr(f"toys/{number}.png", picture(value))
    return file.getvalue()


CONTENT = archive_of([10, 20, 30])


class Toys:
    """A source of three grey images in one zip file."""

    name = "toys"
    levels = ("fine",)

    def __init__(self, *urls, md5=None, content=None):
        self.counts = {"all": {"images": 3}}
        self.archives = (Archive("toys.zip", urls, md5=md5, hint="Ask the toymaker."),)
        self.content = content

    def images(self, raw):
        for number, path in enumerate(sorted((raw / "toys").iterdir())):
            yield {"image": path, "fine": number, "path": f"toys/{path.name}"}

    def roles(self, index: pd.DataFrame):
        return np.full(len(index), "train")


def md5(content):
    return hashlib.md5(content).hexdigest()


# One file by HTTP.


def test_get(server, tmp_path):
    server.files["/a.zip"] = bytes(range(256)) * 100
    get(f"{server.url}/a.zip", tmp_path / "sub" / "a.zip", quiet)
    assert (tmp_path / "sub" / "a.zip").read_bytes() == server.files["/a.zip"]
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["a.zip"]


def test_an_interrupted_connection_is_resumed_where_it_ended(server, tmp_path):
    server.files["/a.zip"] = bytes(range(256)) * 100
    server.cuts = 3
    lines = []
    get(f"{server.url}/a.zip", tmp_path / "a.zip", lines.append)
    assert (tmp_path / "a.zip").read_bytes() == server.files["/a.zip"]
    assert [asked for _, asked in server.requests] == [None, "bytes=1000-", "bytes=2000-", "bytes=3000-"]
    assert "going on from 1000 bytes" in lines[0]


def test_a_part_file_of_an_earlier_call_is_gone_on_from(server, tmp_path):
    server.files["/a.zip"] = bytes(range(256)) * 100
    (tmp_path / "a.zip.part").write_bytes(server.files["/a.zip"][:700])
    get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert (tmp_path / "a.zip").read_bytes() == server.files["/a.zip"]
    assert server.requests == [("/a.zip", "bytes=700-")]


@pytest.mark.parametrize("how", ["no ranges", "another range"])
def test_a_server_that_cannot_resume_sends_all_again(how, server, tmp_path):
    server.files["/a.zip"] = bytes(range(256)) * 100
    server.ranges, server.lie_about_range = how != "no ranges", how == "another range"
    (tmp_path / "a.zip.part").write_bytes(b"x" * 700)
    get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert (tmp_path / "a.zip").read_bytes() == server.files["/a.zip"]


def test_a_part_file_longer_than_the_file_is_dropped(server, tmp_path):
    server.files["/a.zip"] = b"short"
    (tmp_path / "a.zip.part").write_bytes(b"x" * 700)
    get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert (tmp_path / "a.zip").read_bytes() == b"short"


def test_a_part_file_that_is_the_whole_file_is_not_fetched_again(server, tmp_path):
    server.files["/a.zip"], server.says_size = bytes(range(256)), True
    (tmp_path / "a.zip.part").write_bytes(bytes(range(256)))
    get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert (tmp_path / "a.zip").read_bytes() == bytes(range(256))
    assert server.requests == [("/a.zip", "bytes=256-")]
    assert not (tmp_path / "a.zip.part").exists()


def test_a_part_file_longer_than_the_file_said_is_dropped(server, tmp_path):
    server.files["/a.zip"], server.says_size = b"short", True
    (tmp_path / "a.zip.part").write_bytes(b"x" * 700)
    get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert (tmp_path / "a.zip").read_bytes() == b"short"


def test_a_reset_connection_keeps_what_came(server, tmp_path):
    """An orderly end gives the reader its bytes; after a reset a read that waits for more would lose them."""
    server.files["/a.zip"] = bytes(range(256)) * 100
    server.cuts, server.reset = 3, True
    get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert (tmp_path / "a.zip").read_bytes() == server.files["/a.zip"]
    assert [asked for _, asked in server.requests] == [None, "bytes=1000-", "bytes=2000-", "bytes=3000-"]


@pytest.fixture
def failing(monkeypatch):
    """Has the first answers' bodies fail with the errors given, after 10 bytes each."""

    def fail(*errors):
        waiting, ask = list(errors), urllib.request.urlopen

        def urlopen(*arguments, **keywords):
            answer = ask(*arguments, **keywords)
            if waiting:
                answer.fp = io.BufferedReader(Failing(waiting.pop(0)))
            return answer

        monkeypatch.setattr(urllib.request, "urlopen", urlopen)

    return fail


class Failing(io.RawIOBase):
    def __init__(self, error):
        self.error, self.first = error, True

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self.first:
            raise self.error
        self.first = False
        buffer[:10] = bytes(10)
        return 10


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EHOSTUNREACH, "No route to host"), ssl.SSLError("bad mac"), TimeoutError("timed out")],
)
def test_any_error_of_the_connection_is_tried_again(error, server, tmp_path, failing):
    server.files["/a.zip"] = bytes(1000)
    failing(error, error)
    lines = []
    get(f"{server.url}/a.zip", tmp_path / "a.zip", lines.append)
    assert (tmp_path / "a.zip").read_bytes() == bytes(1000)
    assert [asked for _, asked in server.requests] == [None, "bytes=10-", "bytes=20-"]
    assert all(f"{server.url}/a.zip: {error}; going on from" in line for line in lines)


def test_an_error_of_the_disk_is_not_tried_again(server, tmp_path, monkeypatch):
    server.files["/a.zip"] = bytes(1000)

    def full(*arguments, **keywords):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_http, "open", full, raising=False)
    with pytest.raises(DataError, match=r"a\.zip\.part: no space left on the disk"):
        get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert len(server.requests) == 1


def test_five_interruptions_keep_what_came(server, tmp_path):
    server.files["/a.zip"] = bytes(10_000)
    server.cuts = 5
    with pytest.raises(Unavailable, match="the connection ended at 5000 of 10000 bytes"):
        get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert not (tmp_path / "a.zip").exists()
    assert (tmp_path / "a.zip.part").stat().st_size == 5000


def test_404_is_not_tried_again(server, tmp_path):
    with pytest.raises(Unavailable, match="HTTP 404"):
        get(f"{server.url}/none.zip", tmp_path / "a.zip", quiet)
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [503, 429, 408])
def test_a_failing_server_is_tried_again(status, server, tmp_path):
    server.status = status
    with pytest.raises(Unavailable, match=rf"{status}.*5 attempts"):
        get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert len(server.requests) == 5


def test_no_server(server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(Unavailable, match="refused"):
        get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)


def test_progress_is_reported(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_http, "BLOCK", 1000)
    monkeypatch.setattr(_http, "EVERY", 0.0)
    server.files["/a.zip"] = bytes(3 * 2**20)
    lines = []
    get(f"{server.url}/a.zip", tmp_path / "a.zip", lines.append)
    assert any(line.startswith("a.zip: 1 of 3 MB") and "MB/s" in line and "s left" in line for line in lines)


# A source's archives.


def test_public_download(server, tmp_path):
    server.files["/toys.zip"] = CONTENT
    fetch(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert len(list((tmp_path / "raw" / "toys").iterdir())) == 3
    assert json.loads((tmp_path / "raw" / "verified.json").read_text()) == {
        "entries": ["toys"],
        "checked_by_content": [],
    }


def test_the_second_url_where_the_first_has_nothing(server, tmp_path):
    server.files["/second.zip"] = CONTENT
    fetch(Toys(f"{server.url}/first.zip", f"{server.url}/second.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert [path for path, _ in server.requests] == ["/first.zip", "/second.zip"]


def test_a_wrong_checksum_is_an_error_that_leaves_nothing(server, tmp_path):
    server.files["/toys.zip"] = archive_of([1, 2, 3])
    with pytest.raises(DataError) as raised:
        fetch(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)
    said = str(raised.value)
    assert md5(CONTENT) in said
    assert md5(server.files["/toys.zip"]) in said
    assert {path.name for path in (tmp_path / "raw").iterdir()} <= {"verified.json.lock"}


def test_a_resumed_file_with_a_wrong_checksum_is_fetched_afresh(server, tmp_path):
    server.files["/toys.zip"] = CONTENT
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "toys.zip.part").write_bytes(b"of another file")
    fetch(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert len(server.requests) == 2


def test_nothing_anywhere_says_where_the_file_goes(server, tmp_path, monkeypatch):
    monkeypatch.setenv("DML_MIRROR", str(tmp_path / "typo"))
    with pytest.raises(DataError) as raised:
        fetch(Toys(f"{server.url}/toys.zip"), tmp_path / "raw", quiet)
    said = str(raised.value)
    for part in (
        f"{tmp_path / 'typo'}/toys/toys.zip (DML_MIRROR): no such file",
        "toys.zip: HTTP 404",
        f"Put it at {tmp_path / 'raw' / 'toys.zip'}",
        "DML_MIRROR=<mirror>",
        "Ask the toymaker.",
    ):
        assert part in said


def test_a_mirror_comes_before_the_public_url(server, tmp_path, monkeypatch):
    server.files["/toys.zip"] = CONTENT
    mirror = tmp_path / "mirror" / "toys"
    mirror.mkdir(parents=True)
    (mirror / "toys.zip").write_bytes(CONTENT)
    monkeypatch.setenv("DML_MIRROR", f"{tmp_path / 'mirror'}/")
    fetch(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert server.requests == []


def test_a_mirror_by_url(server, tmp_path, monkeypatch):
    server.files["/data/toys/toys.zip"] = CONTENT
    monkeypatch.setenv("DML_MIRROR", f"{server.url}/data")
    fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert [path for path, _ in server.requests] == ["/data/toys/toys.zip"]


def test_a_mirror_without_the_file_is_passed_over(server, tmp_path, monkeypatch):
    server.files["/toys.zip"] = CONTENT
    monkeypatch.setenv("DML_MIRROR", f"{server.url}/data")
    fetch(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert [path for path, _ in server.requests] == ["/data/toys/toys.zip", "/toys.zip"]


@pytest.mark.parametrize("mirror", ["://", "http://host:port", "http://[::1", "gopher://host", "http://a b"])
def test_a_mirror_that_is_no_url_is_passed_over(mirror, server, tmp_path, monkeypatch):
    server.files["/toys.zip"] = CONTENT
    monkeypatch.setenv("DML_MIRROR", mirror)
    fetch(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)
    with pytest.raises(DataError) as raised:
        fetch(Toys(), tmp_path / "other", quiet)
    assert f"{mirror.rstrip('/')}/toys/toys.zip (DML_MIRROR): " in str(raised.value)
    assert "attempts" not in str(raised.value)


@pytest.fixture
def mirrored(tmp_path, monkeypatch):
    """Puts an archive into a mirror folder."""

    def put(content):
        folder = tmp_path / "mirror" / "toys"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "toys.zip").write_bytes(content)
        monkeypatch.setenv("DML_MIRROR", str(tmp_path / "mirror"))

    return put


def known_content(tmp_path):
    fetch(Toys(), tmp_path / "known", quiet)
    return content_digest(Toys(), tmp_path / "known")


def test_a_mirrors_repacked_archive_is_judged_by_its_content(tmp_path, mirrored):
    mirrored(CONTENT)
    content = known_content(tmp_path)
    repacked = archive_of([10, 20, 30], zipfile.ZIP_DEFLATED)
    assert repacked != CONTENT
    mirrored(repacked)
    lines = []
    fetch(Toys(md5=md5(CONTENT), content=content), tmp_path / "raw", lines.append)
    assert "toys: toys.zip: not known by checksum; checking the content" in lines
    assert (tmp_path / "raw" / "toys" / "0.png").is_file()


@pytest.mark.parametrize(
    ("values", "match"), [([10, 20], "all has 2 images, expected 3"), ([10, 20, 31], "content digest")]
)
def test_a_mirror_with_other_content_is_refused_and_taken_away(values, match, tmp_path, mirrored):
    mirrored(CONTENT)
    content = known_content(tmp_path)
    mirrored(archive_of(values))
    with pytest.raises(DataError, match=match):
        fetch(Toys(md5=md5(CONTENT), content=content), tmp_path / "raw", quiet)
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {"verified.json.lock"}
    mirrored(CONTENT)
    fetch(Toys(md5=md5(CONTENT), content=content), tmp_path / "raw", quiet)


def test_a_mirrors_truncated_archive(tmp_path, mirrored):
    mirrored(CONTENT[:200])
    with pytest.raises(DataError, match=r"toys\.zip: .*truncated"):
        fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {"verified.json.lock"}


@pytest.mark.parametrize("error", [RuntimeError, KeyError, KeyboardInterrupt])
def test_whatever_goes_wrong_a_doubtful_archive_is_taken_away(error, tmp_path, mirrored, monkeypatch):
    """Left in `raw` it would count as put there by hand, and a mirror that was repaired would never be asked."""
    mirrored(archive_of([1, 2, 3]))

    def broken(*arguments):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(download, "list_images", broken)
        with pytest.raises(error):
            fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {"verified.json.lock"}
    mirrored(CONTENT)
    fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert (tmp_path / "raw" / "toys.zip").read_bytes() == CONTENT


@pytest.mark.parametrize("error", [DataError, KeyboardInterrupt])
def test_an_archive_that_has_its_checksum_stays(error, tmp_path, mirrored, monkeypatch):
    mirrored(CONTENT)

    def broken(*arguments):
        raise error

    monkeypatch.setattr(download, "extract", broken)
    with pytest.raises(error):
        fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {"verified.json.lock", "toys.zip"}


def test_a_file_put_in_place_by_hand_is_used_and_never_deleted(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "toys.zip").write_bytes(CONTENT)
    fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert (tmp_path / "raw" / "toys" / "2.png").is_file()

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "toys.zip").write_bytes(archive_of([1]))
    with pytest.raises(DataError, match="expected 3"):
        fetch(Toys(md5=md5(CONTENT)), tmp_path / "other", quiet)
    assert (tmp_path / "other" / "toys.zip").is_file()


def test_an_unpacked_folder_that_was_deleted_is_made_again(tmp_path, mirrored):
    mirrored(CONTENT)
    fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    for path in (tmp_path / "raw" / "toys").iterdir():
        path.unlink()
    (tmp_path / "raw" / "toys").rmdir()
    fetch(Toys(md5=md5(CONTENT)), tmp_path / "raw", quiet)
    assert (tmp_path / "raw" / "toys" / "0.png").is_file()


def test_no_space_for_the_download(server, tmp_path, monkeypatch):
    server.files["/toys.zip"] = CONTENT
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(DataError, match="no space left"):
        fetch(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw", quiet)


def test_two_downloads_at_once_fetch_once(server, tmp_path):
    server.files["/toys.zip"] = CONTENT
    lines = []
    source = Toys(f"{server.url}/toys.zip", md5=md5(CONTENT))
    threads = [threading.Thread(target=fetch, args=(source, tmp_path / "raw", lines.append)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 1
    assert lines[-1] == "toys: downloaded and verified already"


def test_the_documentation_names_the_folder_of_archives_put_in_place(monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.syspath_prepend(str(root / "pipelines"))
    raw_folder = importlib.import_module("_stage").raw_folder
    said = (root / "docs" / "datasets.md").read_text(encoding="utf-8")
    assert f"`{raw_folder(DatasetSpec(source='cub200'))}/`" in said
    separate = DatasetSpec(source="cars196", options={"layout": "separate"})
    assert f"`options: {{layout: separate}}` reads `{raw_folder(separate)}/`" in said


def test_checksum(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert download.checksum(tmp_path / "a", "md5") == "900150983cd24fb0d6963f7d28e17f72"
