"""A source's archives from public URLs, mirrors, and files put in place by hand."""

import hashlib
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from small_archives import encoded, quiet

from dml.data import DataError
from dml.data.packing import check_content, content_digest, opening
from dml.data.raw import Archive, fetch
from dml.data.sources._files import SourceDefaults


def archive_of(values, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for number, value in enumerate(values):
            archive.writestr(f"toys/{number}.png", encoded(value, "PNG", (4, 4), "L"))
    return file.getvalue()


CONTENT = archive_of([10, 20, 30])


class Toys(SourceDefaults):
    """A source of three grey images in one zip file."""

    version, name, options = 1, "toys", {}

    def __init__(self, *urls, md5=None, content=None):
        self.counts = {"all": {"images": 3}}
        self.archives = (Archive("toys.zip", urls, md5=md5, hint="Ask the toymaker."),)
        self.content = content

    def images(self, raw):
        for number, path in enumerate(sorted((raw / "toys").iterdir())):
            yield {"image": path, "fine": number, "path": f"toys/{path.name}"}

    def roles(self, index):
        return np.full(len(index), "train")


def md5(content):
    return hashlib.md5(content).hexdigest()


def fetched(source, raw, report=quiet):
    fetch(source, raw, check_content, report)


def test_public_download(server, tmp_path):
    server.files["/toys.zip"] = CONTENT
    fetched(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw")
    assert len(list((tmp_path / "raw" / "toys").iterdir())) == 3
    assert json.loads((tmp_path / "raw" / "verified.json").read_text()) == {
        "entries": ["toys"],
        "checked_by_content": [],
    }


def test_a_wrong_checksum_is_an_error_that_leaves_nothing(server, tmp_path):
    server.files["/toys.zip"] = archive_of([1, 2, 3])
    with pytest.raises(DataError) as raised:
        fetched(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw")
    said = str(raised.value)
    assert md5(CONTENT) in said
    assert md5(server.files["/toys.zip"]) in said
    assert {path.name for path in (tmp_path / "raw").iterdir()} <= {"verified.json.lock"}


def test_a_resumed_file_with_a_wrong_checksum_is_fetched_afresh(server, tmp_path):
    server.files["/toys.zip"] = CONTENT
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "toys.zip.part").write_bytes(b"of another file")
    fetched(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw")
    assert len(server.requests) == 2


def test_a_mirror_comes_before_the_public_url(server, tmp_path, mirrored, monkeypatch):
    server.files["/toys.zip"] = CONTENT
    mirrored(CONTENT)
    monkeypatch.setenv("DML_MIRROR", f"{tmp_path / 'mirror'}/")
    fetched(Toys(f"{server.url}/toys.zip", md5=md5(CONTENT)), tmp_path / "raw")
    assert server.requests == []


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
    fetched(Toys(), tmp_path / "known")
    return content_digest(Toys(), tmp_path / "known")


def test_a_mirrors_repacked_archive_is_judged_by_its_content(tmp_path, mirrored):
    mirrored(CONTENT)
    content = known_content(tmp_path)
    repacked = archive_of([10, 20, 30], zipfile.ZIP_DEFLATED)
    assert repacked != CONTENT
    mirrored(repacked)
    lines = []
    fetched(Toys(md5=md5(CONTENT), content=content), tmp_path / "raw", lines.append)
    assert "toys: toys.zip: unknown checksum; checking the content" in lines
    assert (tmp_path / "raw" / "toys" / "0.png").is_file()


@pytest.mark.parametrize(
    ("values", "match"), [([10, 20], "all has 2 images, expected 3"), ([10, 20, 31], "content digest")]
)
def test_a_mirror_with_other_content_is_refused_and_deleted(values, match, tmp_path, mirrored):
    mirrored(CONTENT)
    content = known_content(tmp_path)
    mirrored(archive_of(values))
    with pytest.raises(DataError, match=match):
        fetched(Toys(md5=md5(CONTENT), content=content), tmp_path / "raw")
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {"verified.json.lock"}
    mirrored(CONTENT)
    fetched(Toys(md5=md5(CONTENT), content=content), tmp_path / "raw")


@pytest.mark.parametrize("error", [RuntimeError, KeyError, KeyboardInterrupt])
def test_a_doubtful_archive_is_deleted_after_any_error(error, tmp_path, mirrored, monkeypatch):
    """In `raw` it would count as put there by hand, and a repaired mirror would never be read."""
    mirrored(archive_of([1, 2, 3]))

    def broken(*arguments):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(opening, "list_images", broken)
        with pytest.raises(error):
            fetched(Toys(md5=md5(CONTENT)), tmp_path / "raw")
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {"verified.json.lock"}
    mirrored(CONTENT)
    fetched(Toys(md5=md5(CONTENT)), tmp_path / "raw")
    assert (tmp_path / "raw" / "toys.zip").read_bytes() == CONTENT


def test_a_file_put_in_place_by_hand_is_used_and_never_deleted(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "toys.zip").write_bytes(CONTENT)
    fetched(Toys(md5=md5(CONTENT)), tmp_path / "raw")
    assert (tmp_path / "raw" / "toys" / "2.png").is_file()

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "toys.zip").write_bytes(archive_of([1]))
    with pytest.raises(DataError, match="expected 3"):
        fetched(Toys(md5=md5(CONTENT)), tmp_path / "other")
    assert (tmp_path / "other" / "toys.zip").is_file()


def test_two_downloads_at_once_fetch_once(server, tmp_path):
    server.files["/toys.zip"] = CONTENT
    lines = []
    source = Toys(f"{server.url}/toys.zip", md5=md5(CONTENT))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: fetched(source, tmp_path / "raw", lines.append), range(2)))
    assert len(server.requests) == 1
    assert lines[-1] == "toys: downloaded and verified already"
