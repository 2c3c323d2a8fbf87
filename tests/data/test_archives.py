"""Hostile and broken archives: one clear error, and nothing left behind."""

import errno
import io
import stat
import tarfile
import zipfile

import pytest

from dml.data import DataError, archives
from dml.data.archives import extract

GOOD = {"birds/a.txt": b"a" * 1000, "birds/deep/b.txt": b"b", "readme.txt": b"hello"}


def make(path, members, links=()):
    """An archive by its suffix; `links` are (name, target, kind) with kind symlink, hardlink, fifo or device."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
            for name, target, _ in links:
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
                archive.writestr(info, target)
        return path
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        kinds = {"symlink": tarfile.SYMTYPE, "hardlink": tarfile.LNKTYPE, "fifo": tarfile.FIFOTYPE}
        for name, target, kind in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kinds.get(kind, tarfile.CHRTYPE), target
            archive.addfile(info)
    return path


@pytest.fixture(params=[".zip", ".tgz", ".tar"])
def archive(request, tmp_path):
    """A path for an archive, outside of the folder that is unpacked to."""
    return tmp_path / f"archive{request.param}"


@pytest.fixture
def folder(tmp_path):
    """A folder that holds something already."""
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "before.txt").write_text("before")
    return folder


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(archive, folder, match):
    with pytest.raises(DataError, match=match) as raised:
        extract(archive, folder)
    assert str(archive) in str(raised.value)
    assert contents(folder) == {"before.txt": b"before"}
    assert not list(folder.glob(".*"))
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, archive.name}


def test_all_is_unpacked(archive, folder):
    entries = extract(make(archive, GOOD), folder)
    assert entries == [folder / "birds", folder / "readme.txt"]
    assert contents(folder) == GOOD | {"before.txt": b"before"}


def test_unpacking_again_replaces(archive, folder):
    extract(make(archive, GOOD), folder)
    (folder / "birds" / "stale.txt").write_text("x")
    extract(make(archive, GOOD), folder)
    assert contents(folder) == GOOD | {"before.txt": b"before"}


@pytest.mark.parametrize("name", ["../evil.txt", "birds/../../evil.txt", "/tmp/evil-dml.txt", "..\\evil.txt", "C:\\x"])
def test_paths_out_of_the_folder(name, archive, folder):
    refused(make(archive, GOOD | {name: b"evil"}), folder, "outside of its folder")


@pytest.mark.parametrize("target", ["../../etc", "/etc/passwd", "birds"])
@pytest.mark.parametrize("kind", ["symlink", "hardlink"])
def test_links(target, kind, archive, folder):
    refused(make(archive, GOOD, [("birds/link", target, kind)]), folder, "is a link or a device")


def test_a_file_written_through_a_link(archive, folder, tmp_path):
    """The classic: a link to a folder outside, then a file below the link."""
    outside = tmp_path / "raw" / ".." / "outside"
    with tarfile.open(tmp_path / "two.tar", "w") as file:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = tarfile.SYMTYPE, str(outside)
        file.addfile(info)
        file.addfile(tarfile.TarInfo("link/evil.txt"))
    with pytest.raises(DataError, match="is a link or a device"):
        extract(tmp_path / "two.tar", folder)
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_devices_and_pipes(kind, tmp_path, folder):
    refused(make(tmp_path / "a.tar", GOOD, [("birds/pipe", "", kind)]), folder, "is a link or a device")


@pytest.mark.parametrize("suffix", [".zip", ".tgz"])
def test_a_bomb(suffix, tmp_path, folder, monkeypatch):
    monkeypatch.setattr(archives, "SLACK", 2**20)
    bomb = make(tmp_path / f"bomb{suffix}", {"zeros": bytes(8 * 2**20)})
    assert bomb.stat().st_size < 20_000
    refused(bomb, folder, "decompression bomb")


def test_a_zip_that_lies_about_its_size(tmp_path, folder, monkeypatch):
    """The header says 10 bytes, the data unpack to 8 MiB: what is read counts, not what is said."""
    monkeypatch.setattr(archives, "SLACK", 2**20)
    path = make(tmp_path / "liar.zip", {"zeros": bytes(8 * 2**20)})
    real, said = (8 * 2**20).to_bytes(4, "little"), (10).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(real, said))
    refused(path, folder, "decompression bomb|truncated or corrupt")


def test_a_bomb_within_the_ratio_but_too_large(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(archives, "MAX_BYTES", 500)
    monkeypatch.setattr(archives, "SLACK", 100)
    refused(make(tmp_path / "large.zip", GOOD), folder, "refused")


@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_truncated(share, archive, folder):
    content = make(archive, GOOD | {f"birds/{n}.txt": bytes([n]) * 5000 for n in range(50)}).read_bytes()
    archive.write_bytes(content[: int(share * len(content))])
    refused(archive, folder, "truncated")


def test_flipped_bytes_fail_the_archives_own_checksum(tmp_path, folder):
    path = make(tmp_path / "a.zip", {"noise": bytes(range(256)) * 40})
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    refused(path, folder, "corrupt")


def test_neither_zip_nor_tar(tmp_path, folder):
    page = tmp_path / "CUB_200_2011.tgz"
    page.write_text("<html>404 not found</html>")
    refused(page, folder, "neither a zip nor a tar")


def test_no_space(archive, folder, monkeypatch):
    make(archive, GOOD)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    refused(archive, folder, "no space")


def test_the_disk_fills_while_unpacking(archive, folder, monkeypatch):
    make(archive, GOOD)

    def full(*arguments, **keywords):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archives, "_copy", full)
    refused(archive, folder, "no space left")
