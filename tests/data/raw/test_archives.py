"""Hostile and broken archives: one clear error, and no files left behind."""

import io
import stat
import tarfile
import zipfile

import numpy as np
import pytest

from dml.data import DataError
from dml.data.raw import download
from dml.data.raw.download import extract

GOOD = {"birds/a.txt": b"a" * 1000, "birds/deep/b.txt": b"b", "readme.txt": b"hello"}


def make(path, members, links=()):
    """An archive of the kind that its suffix names. `links` are (name, target, symlink | hardlink | fifo | device)."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
            for name, target, _ in links:
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
                archive.writestr(info, target)
        return path
    modes = {".tgz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}
    with tarfile.open(path, modes.get(path.suffix, "w")) as archive:
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
    """A path for an archive, outside of the folder that receives its files."""
    return tmp_path / f"archive{request.param}"


@pytest.fixture
def folder(tmp_path):
    """A folder with a file in it."""
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


@pytest.mark.parametrize("name", ["../evil.txt", "birds/../../evil.txt"])
def test_paths_out_of_the_folder(name, archive, folder):
    refused(make(archive, GOOD | {name: b"evil"}), folder, "outside")


@pytest.mark.parametrize("kind", ["symlink", "hardlink"])
def test_links_out_of_the_folder(kind, tmp_path, folder):
    refused(make(tmp_path / "a.tar", GOOD, [("birds/link", "../../etc", kind)]), folder, "refused: .*outside")


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_devices_and_pipes(kind, tmp_path, folder):
    refused(make(tmp_path / "a.tar", GOOD, [("birds/pipe", "", kind)]), folder, "refused: .*special file")


@pytest.mark.parametrize("suffix", [".zip", ".tgz"])
def test_a_bomb(suffix, tmp_path, folder, monkeypatch):
    monkeypatch.setattr(download, "SLACK", 2**20)
    bomb = make(tmp_path / f"bomb{suffix}", {"zeros": bytes(8 * 2**20)})
    assert bomb.stat().st_size < 20_000
    refused(bomb, folder, "decompression bomb")


def test_a_zip_that_lies_about_its_size(tmp_path, folder, monkeypatch):
    """The header says 10 bytes, the data unpack to 8 MiB."""
    monkeypatch.setattr(download, "SLACK", 2**20)
    path = make(tmp_path / "liar.zip", {"zeros": bytes(8 * 2**20)})
    real, said = (8 * 2**20).to_bytes(4, "little"), (10).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(real, said))
    refused(path, folder, "decompression bomb|truncated or corrupt")


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


@pytest.mark.parametrize("suffix", [".tgz", ".tar.xz", ".tar.bz2"])
def test_flipped_bytes_of_a_compressed_tar(suffix, tmp_path, folder):
    """tar has no checksum of the files' bytes, and the compression's checksum is at the very end."""
    noise = np.random.default_rng(0).integers(0, 256, 300_000, np.uint8).tobytes()
    path = make(tmp_path / f"a{suffix}", {"birds/a.txt": noise, "birds/b.txt": b"b"})
    whole = path.read_bytes()
    middle = len(whole) // 2
    for place in (middle, middle + 1, len(whole) - (30 if suffix == ".tar.xz" else 6)):
        content = bytearray(whole)
        content[place] ^= 0x10
        path.write_bytes(content)
        refused(path, folder, "truncated or corrupt")
    path.write_bytes(whole)
    extract(path, folder)
