"""What is packed, when it is packed again, and in which order."""

import hashlib

import numpy as np
import pytest
from made_source import Made, arrays, packed_bytes, png
from small_archives import quiet

from dml.data import DataError, sources
from dml.data.packing import open_packed, pack, packed_id, packer
from dml.data.packing.listing import CHUNK, ordered


def test_what_is_packed(tmp_path):
    images = arrays(70)
    manifest = pack(Made(images), tmp_path, tmp_path / "out", report=quiet)
    data = open_packed(tmp_path / "out")
    np.testing.assert_array_equal(data.images[:, :, :, 0], np.stack(images))
    assert isinstance(data.images, np.memmap)
    assert not data.images.flags.writeable
    assert data.manifest == manifest
    expected = {"source": "made", "resize": None, "images": 70, "height": 6, "width": 5, "channels": 1, "skipped": []}
    assert expected.items() <= manifest.items()
    assert set(packed_bytes(tmp_path / "out")) == {"images.npy", "index.parquet", "manifest.json", "origin.json"}


def test_the_digest_is_the_hash_of_pixels_and_labels(tmp_path):
    images = arrays(70)
    source = Made(images)
    manifest = pack(source, tmp_path, tmp_path / "out", report=quiet)
    labels = np.array([source.labels, [0] * 70], "<i8").tobytes()
    assert manifest["digest"] == hashlib.sha256(np.stack(images).tobytes() + labels).hexdigest()
    other = Made(images, [*source.labels[:-1], 7])
    assert pack(other, tmp_path, tmp_path / "other", report=quiet)["digest"] != manifest["digest"]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_same_bytes_with_any_number_of_workers(workers, tmp_path):
    images = [png(image) for image in arrays(3 * CHUNK + 7, shape=(6, 5, 3))]
    images[40] = b"broken"
    for number, folder in ((3, "a"), (workers, "b")):
        pack(Made(images), tmp_path / "raw", tmp_path / folder, 4, "skip", workers=number, report=quiet)
    assert packed_bytes(tmp_path / "a") == packed_bytes(tmp_path / "b")


def test_other_settings_or_another_fingerprint_pack_again(tmp_path):
    source = Made(arrays(5))
    pack(source, tmp_path, tmp_path / "out", report=quiet)
    assert pack(source, tmp_path, tmp_path / "out", 4, report=quiet)["height"] == 4
    source.fingerprint = lambda raw: "new"
    source.pictures = arrays(6)
    source.labels = [0] * 6
    assert pack(source, tmp_path, tmp_path / "out", 4, report=quiet)["images"] == 6
    assert len(open_packed(tmp_path / "out").images) == 6
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.lock"}


def test_other_raw_files_pack_again_and_no_other_files_do(tmp_path):
    raw, out, lines = tmp_path / "raw", tmp_path / "raw" / "out", []
    (raw / "images").mkdir(parents=True)
    (raw / "images" / "a").write_bytes(b"1234")

    def said():
        pack(Made(arrays(5)), raw, out, report=lines.append)
        return lines[-1].removeprefix(f"{out}: ")

    again, already = "5 images packed, 0 skipped", "packed already (5 images)"
    assert [said(), said()] == [again, already]
    (raw / "images" / "a").write_bytes(b"12345")
    assert [said(), said()] == [again, already]
    (raw / "images" / "b").write_bytes(b"")
    assert [said(), said()] == [again, already]
    (raw / "verified.json").write_text('{"sha256": "1"}')
    assert said() == again
    (raw / "verified.json").write_text('{"sha256": "2"}')
    assert [said(), said()] == [again, already]
    (raw / "x.zip.part").write_bytes(b"")
    (raw / "verified.json.lock").write_bytes(b"")
    assert said() == already


@pytest.mark.parametrize("name", ["images.npy", "index.parquet"])
@pytest.mark.parametrize("harm", ["gone", "empty", "shorter", "longer"])
def test_incomplete_packed_files_are_packed_again(name, harm, tmp_path):
    pack(Made(arrays(5)), tmp_path / "raw", tmp_path / "out", report=quiet)
    before = packed_bytes(tmp_path / "out")
    path = tmp_path / "out" / name
    harmed = {"empty": b"", "shorter": before[name][:-10], "longer": before[name] + b"0123456789"}
    path.unlink() if harm == "gone" else path.write_bytes(harmed[harm])
    with pytest.raises(DataError, match=rf"{name}.* (is missing|cannot be read|is longer).*; delete the folder"):
        open_packed(tmp_path / "out")
    lines = []
    pack(Made(arrays(5)), tmp_path / "raw", tmp_path / "out", report=lines.append)
    assert lines[0].startswith("packing again: ")
    assert packed_bytes(tmp_path / "out") == before


@pytest.mark.parametrize("raised", ["packing", "source"])
def test_a_raised_version_packs_again(raised, tmp_path, monkeypatch):
    source, before = Made(arrays(5)), packed_id(Made([]))
    pack(source, tmp_path / "raw", tmp_path / "out", report=quiet)
    monkeypatch.setattr(packer if raised == "packing" else Made, "version", 9)
    lines = []
    manifest = pack(source, tmp_path / "raw", tmp_path / "out", report=lines.append)
    assert lines == [f"{tmp_path / 'out'}: 5 images packed, 0 skipped"]
    assert manifest[{"packing": "packing", "source": "source_version"}[raised]] == 9
    assert packed_id(source) != before


def test_the_names_of_packed_folders_depend_on_what_packing_depends_on():
    source = sources.build("cuhk03")
    ids = {
        packed_id(source),
        packed_id(sources.build("cuhk03", split=1)),
        packed_id(source, 64),
        packed_id(source, on_corrupt="skip"),
    }
    assert len(ids) == 4
    assert packed_id(type("Own", (type(source),), {"__module__": "mine.v1"})()) not in ids  # of the same name
    assert packed_id(source) == packed_id(sources.build("cuhk03", split=0))
    assert packed_id(source).startswith("cuhk03-full-")
    assert packed_id(source, 32).startswith("cuhk03-32-")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_is_ordered_and_never_far_ahead(workers):
    taken, done = 0, []

    def items():
        nonlocal taken
        for number in range(40 * CHUNK):
            taken += 1
            yield number

    ahead = 0
    for value in ordered(lambda number: 2 * number, items(), workers):
        done.append(value)
        ahead = max(ahead, taken - len(done))
    assert done == [2 * number for number in range(40 * CHUNK)]
    assert ahead <= 2 * workers * CHUNK
