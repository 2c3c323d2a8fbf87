"""One file over HTTP, from a server that cuts connections."""

import errno
import io
import ssl
import urllib.request

import pytest
from small_archives import quiet

from dml.data import DataError
from dml.data.raw import download
from dml.data.raw.download import Unavailable, get


@pytest.mark.parametrize("reset", [False, True])
def test_an_interrupted_connection_is_resumed_where_it_ended(reset, server, tmp_path):
    """After a reset, a read that waits for more bytes would lose those that arrived."""
    server.files["/a.zip"] = bytes(range(256)) * 100
    server.cuts, server.reset = 3, reset
    lines = []
    get(f"{server.url}/a.zip", tmp_path / "a.zip", lines.append)
    assert (tmp_path / "a.zip").read_bytes() == server.files["/a.zip"]
    assert [asked for _, asked in server.requests] == [None, "bytes=1000-", "bytes=2000-", "bytes=3000-"]
    assert "resuming from 1000 bytes" in lines[0]


@pytest.mark.parametrize("kept", [700, 25_600])
def test_a_part_file_of_an_earlier_call_is_resumed_and_a_whole_one_is_not_fetched_again(kept, server, tmp_path):
    server.files["/a.zip"], server.says_size = bytes(range(256)) * 100, True
    (tmp_path / "a.zip.part").write_bytes(server.files["/a.zip"][:kept])
    get(f"{server.url}/a.zip", tmp_path / "a.zip", quiet)
    assert (tmp_path / "a.zip").read_bytes() == server.files["/a.zip"]
    assert server.requests == [("/a.zip", f"bytes={kept}-")]


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


class Failing(io.RawIOBase):
    """The body of a response that fails after 10 bytes."""

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
    "error", [OSError(errno.EHOSTUNREACH, "No route to host"), ssl.SSLError("bad mac"), TimeoutError("timed out")]
)
def test_any_error_of_the_connection_is_retried(error, server, tmp_path, monkeypatch):
    server.files["/a.zip"] = bytes(1000)
    waiting, ask = [error, error], urllib.request.urlopen

    def urlopen(*arguments, **keywords):
        answer = ask(*arguments, **keywords)
        if waiting:
            answer.fp = io.BufferedReader(Failing(waiting.pop()))
        return answer

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    lines = []
    get(f"{server.url}/a.zip", tmp_path / "a.zip", lines.append)
    assert (tmp_path / "a.zip").read_bytes() == bytes(1000)
    assert [asked for _, asked in server.requests] == [None, "bytes=10-", "bytes=20-"]
    assert all(f"{server.url}/a.zip: {error}; resuming from" in line for line in lines)


def test_an_error_of_the_disk_is_not_retried(server, tmp_path, monkeypatch):
    server.files["/a.zip"] = bytes(1000)

    def full(*arguments, **keywords):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "open", full, raising=False)
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
