"""Packing: what is written, that it is written whole or not at all, and that it never changes."""

import hashlib
import io
import json
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml.data import DataError, _store, packed
from dml.data._stream import CHUNK, Progress, ordered
from dml.data.packed import content_digest, open_packed, pack, packed_id


class Made:
    """A source of images given to it: arrays, bytes, or the files of a folder."""

    name = "made"
    levels = ("fine", "coarse")

    def __init__(self, images, labels=None, counts=None, content=None):
        self.pictures, self.labels = images, labels or [n % 3 for n in range(len(images))]
        self.counts, self.content = counts, content

    def images(self, raw):
        for number, (image, label) in enumerate(zip(self.pictures, self.labels, strict=True)):
            path = image.relative_to(raw).as_posix() if isinstance(image, Path) else f"{number:03d}"
            yield {"image": image, "fine": label, "coarse": 0, "path": path, "part": "all"}

    def roles(self, index: pd.DataFrame):
        return np.full(len(index), "train")


def options_of_nothing(source):
    return {}


@pytest.fixture(autouse=True)
def _no_options(monkeypatch):
    monkeypatch.setattr(packed, "options_of", options_of_nothing)


def quiet(line):
    pass


def arrays(count, seed=0, shape=(6, 5)):
    return list(np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8))


def png(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


def packed_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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


def test_resize_is_pillows(tmp_path):
    images = arrays(3, shape=(20, 30, 3))
    pack(Made(images), tmp_path, tmp_path / "out", 8, report=quiet)
    got = open_packed(tmp_path / "out").images
    for row, image in enumerate(images):
        expected = Image.fromarray(image).resize((8, 8), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(got[row], np.asarray(expected))


def test_packed_already(tmp_path):
    pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    lines = []
    pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=lines.append)
    assert lines == [f"{tmp_path / 'out'}: packed already (5 images)"]
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}


def test_other_settings_or_another_origin_pack_anew(tmp_path):
    source = Made(arrays(5))
    pack(source, tmp_path, tmp_path / "out", report=quiet)
    assert pack(source, tmp_path, tmp_path / "out", 4, report=quiet)["height"] == 4
    source.fingerprint = lambda raw: "new"
    source.pictures = arrays(6)
    source.labels = [0] * 6
    assert pack(source, tmp_path, tmp_path / "out", 4, report=quiet)["images"] == 6
    assert len(open_packed(tmp_path / "out").images) == 6
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.lock"}


def test_other_raw_files_pack_anew_and_no_other_ones_do(tmp_path):
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
def test_what_is_no_longer_whole_is_packed_again(name, harm, tmp_path):
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


# What is there already is not pack's to delete.


@pytest.mark.parametrize("there", ["photo.jpg", "manifest.json", "images.npy", "a/photo.jpg"])
def test_a_folder_of_the_users_is_left_as_it_is(there, tmp_path):
    path = tmp_path / "out" / there
    path.parent.mkdir(parents=True)
    path.write_text('{"name": "an app"}')
    with pytest.raises(DataError, match=rf"expected a new or empty folder, .*found {there.split('/')[0]}: nothing is"):
        pack(Made(arrays(5)), tmp_path / "raw", tmp_path / "out", report=quiet)
    assert path.read_text() == '{"name": "an app"}'


def test_a_packed_folder_that_a_user_keeps_notes_in_is_left_as_it_is(tmp_path):
    pack(Made(arrays(5)), tmp_path / "raw", tmp_path / "out", report=quiet)
    for number in range(9):
        (tmp_path / "out" / f"note{number}").write_text("mine")
    with pytest.raises(DataError, match=r"found note0, note1, note2, \.\.\.: nothing"):
        pack(Made(arrays(6)), tmp_path / "raw", tmp_path / "out", 4, report=quiet)
    assert (tmp_path / "out" / "note8").read_text() == "mine"


def test_a_file_of_the_users_is_left_as_it_is(tmp_path):
    (tmp_path / "out").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("out", "link"):
        with pytest.raises(DataError, match="found a file"):
            pack(Made(arrays(5)), tmp_path / "raw", tmp_path / name, report=quiet)
    assert (tmp_path / "out").read_text() == "mine"


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    assert pack(Made(arrays(5)), tmp_path / "raw", tmp_path / "out", report=quiet)["images"] == 5


@pytest.mark.parametrize("out", ["data/raw", "data/images", "data", "data/raw/../images", "link"])
def test_the_sources_own_files_are_left_as_they_are(out, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    source = Made(arrays(5))
    source.root = str(tmp_path / "data" / "images")
    with pytest.raises(DataError, match=r"out is .*, which would replace the (raw folder|root) "):
        pack(source, tmp_path / "data" / "raw", tmp_path / out, report=quiet)
    assert list((tmp_path / "data").iterdir()) == []


def test_changed_code_packs_anew(tmp_path, monkeypatch):
    raw = tmp_path / "raw"
    pack(Made(arrays(5)), raw, tmp_path / "out", report=quiet)
    (tmp_path / "other.py").write_text("# another reader of the same files")
    monkeypatch.setattr(packed.inspect, "getfile", lambda kind: tmp_path / "other.py")
    lines = []
    pack(Made(arrays(5)), raw, tmp_path / "out", report=lines.append)
    assert lines == [f"{tmp_path / 'out'}: 5 images packed, 0 skipped"]


def test_a_worker_maps_the_same_file(tmp_path):
    pack(Made(arrays(5000)), tmp_path, tmp_path / "out", report=quiet)
    data = open_packed(tmp_path / "out")
    sent = pickle.dumps(data)
    assert len(sent) < 1000
    again = pickle.loads(sent)
    assert isinstance(again.images, np.memmap)
    np.testing.assert_array_equal(again.images, data.images)


# Corrupt images.


def test_corrupt_images_are_fatal_by_default_and_all_listed(tmp_path):
    images = [png(image) for image in arrays(5)]
    images[1], images[3] = b"", images[3][:60]
    with pytest.raises(DataError) as raised:
        pack(Made(images), tmp_path, tmp_path / "out", report=quiet)
    assert "2 of 5 images are corrupt" in str(raised.value)
    assert "001: an empty file" in str(raised.value)
    assert "003: cannot be decoded: " in str(raised.value)
    images[1] = images[0]
    with pytest.raises(DataError, match="003: cannot be decoded: "):
        pack(Made(images), tmp_path, tmp_path / "out", report=quiet)
    assert {path.name for path in tmp_path.iterdir()} == {"out.lock"}


def test_corrupt_images_are_skipped_by_choice_and_listed(tmp_path):
    images = [png(image) for image in arrays(5)]
    images[1], images[3] = b"", images[3][:60]
    manifest = pack(Made(images), tmp_path, tmp_path / "out", on_corrupt="skip", report=quiet)
    data = open_packed(tmp_path / "out")
    assert [entry["path"] for entry in manifest["skipped"]] == ["001", "003"]
    assert data.index["path"].tolist() == ["000", "002", "004"]
    assert data.index["index"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.images[:, :, :, 0], np.stack(arrays(5))[[0, 2, 4]])
    assert (tmp_path / "out" / "images.npy").stat().st_size == 128 + 3 * 30


def test_nothing_but_corrupt_images(tmp_path):
    with pytest.raises(DataError, match="2 of 2 images are corrupt"):
        pack(Made([b"", b"x"]), tmp_path, tmp_path / "out", on_corrupt="skip", report=quiet)


def test_images_of_several_sizes_need_resize(tmp_path):
    images = [*arrays(2), *arrays(1, shape=(7, 5))]
    with pytest.raises(DataError, match=r"several sizes \(000 is 6 x 5, 002 is 7 x 5\): give `resize`"):
        pack(Made(images), tmp_path, tmp_path / "out", report=quiet)
    assert pack(Made(images), tmp_path, tmp_path / "out", 4, report=quiet)["images"] == 3


def test_no_images(tmp_path):
    with pytest.raises(DataError, match="made: no images"):
        pack(Made([]), tmp_path, tmp_path / "out", report=quiet)


def test_one_colour_image_makes_all_of_them_colour(tmp_path):
    pack(Made([*arrays(2), *arrays(1, shape=(6, 5, 3))]), tmp_path, tmp_path / "out", report=quiet)
    images = open_packed(tmp_path / "out").images
    assert images.shape == (3, 6, 5, 3)
    np.testing.assert_array_equal(images[0, :, :, 0], images[0, :, :, 2])


@pytest.mark.parametrize("label", [-1, 1.5, float("nan"), "1", None, True])
def test_labels_that_are_none(label, tmp_path):
    with pytest.raises(DataError, match=r"row 1 \(001\): fine is .*, expected an integer of at least 0"):
        pack(Made(arrays(2), [0, label]), tmp_path, tmp_path / "out", report=quiet)


@pytest.mark.parametrize(("keyword", "value"), [("on_corrupt", "ignore"), ("decode", "never")])
def test_unknown_choices(keyword, value, tmp_path):
    with pytest.raises(ValueError, match=rf"{keyword}: '{value}'. Choices"):
        pack(Made(arrays(2)), tmp_path, tmp_path / "out", **{keyword: value})


# What the source states of itself.


def test_counts(tmp_path):
    good = {"train": {"images": 6, "fine": 3, "coarse": 1}, "all": {"images": 6}}
    pack(Made(arrays(6), counts=good), tmp_path, tmp_path / "out", report=quiet)
    for wrong, match in (
        ({"train": {"images": 7}}, "train has 6 images, expected 7"),
        ({"train": {"fine": 4}}, "train has 3 fine classes, expected 4"),
        ({"test": {"coarse": 1}}, "test has 0 coarse classes, expected 1"),
    ):
        with pytest.raises(DataError, match=match):
            pack(Made(arrays(6), counts=wrong), tmp_path, tmp_path / "other", report=quiet)
    assert not (tmp_path / "other").exists()


def test_content_is_the_same_whatever_the_encoding_and_the_packed_size(tmp_path):
    images = arrays(6)
    content = content_digest(Made(images), tmp_path)
    assert content == content_digest(Made([png(image) for image in images]), tmp_path, workers=2)
    pack(Made(images, content=content), tmp_path, tmp_path / "out", 4, report=quiet)
    images[2] = images[2].copy()
    images[2][0, 0] ^= 1
    with pytest.raises(DataError, match="are not the dataset's"):
        pack(Made(images, content=content), tmp_path, tmp_path / "other", 4, report=quiet)
    with pytest.raises(DataError, match="1 of 6 images are corrupt"):
        content_digest(Made([*arrays(5), b""]), tmp_path)
    truncated = png(images[0])[:60]
    with pytest.raises(DataError, match=r"2 of 7 images are corrupt(?s:.*)005(?s:.*)006"):
        content_digest(Made([*arrays(5), truncated, truncated]), tmp_path)


# Decoding at training time.


@pytest.fixture
def files(tmp_path):
    """Twelve JPEG files of several sizes."""
    paths = []
    for number, size in enumerate([(20, 24), (30, 22), (17, 40)] * 4):
        path = tmp_path / "raw" / f"{number:02d}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(arrays(1, number, (*size, 3))[0]).save(path)
        paths.append(path)
    return paths


@pytest.mark.parametrize("rows", [3, -1, slice(2, 9, 3), [4, 0, 4], np.array([1, 11]), np.arange(12) % 2 == 0])
def test_late_gives_the_same_pixels_and_digest(rows, files, tmp_path):
    raw = tmp_path / "raw"
    early = pack(Made(files), raw, tmp_path / "early", 16, report=quiet)
    late = pack(Made(files), raw, tmp_path / "late", 16, report=quiet, decode="late")
    assert late["digest"] == early["digest"]
    assert not (tmp_path / "late" / "images.npy").exists()
    expected, got = open_packed(tmp_path / "early").images, open_packed(tmp_path / "late").images
    assert got.shape == expected.shape
    assert len(got) == 12
    np.testing.assert_array_equal(got[rows], expected[rows])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(got))[rows], expected[rows])


def test_late_says_what_has_changed_since(files, tmp_path):
    raw = tmp_path / "raw"
    pack(Made(files), raw, tmp_path / "late", 16, report=quiet, decode="late")
    images = open_packed(tmp_path / "late").images
    files[3].write_bytes(b"gone bad")
    with pytest.raises(DataError, match=r"03\.jpg: not an image of a known format, though it was whole"):
        images[[1, 3]]
    files[3].unlink()
    with pytest.raises(DataError, match=r"03\.jpg: the file is missing"):
        images[3]
    with pytest.raises(IndexError):
        images[12]


def test_late_needs_files(tmp_path):
    with pytest.raises(DataError, match="not files of their own"):
        pack(Made(arrays(3)), tmp_path, tmp_path / "out", report=quiet, decode="late")


# Written whole or not at all.


class Stop(Exception):
    pass


@pytest.mark.parametrize("where", ["NpyWriter.write", "save_json", "sync"])
def test_a_failure_leaves_what_was_there(where, tmp_path, monkeypatch):
    pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    before = packed_bytes(tmp_path / "out")

    def fail(*arguments):
        raise Stop

    with monkeypatch.context() as patch:
        if where == "save_json":
            patch.setattr(packed, "save_json", fail)
        elif where == "sync":
            patch.setattr(_store, "sync", fail)
        else:
            patch.setattr(_store.NpyWriter, "write", fail)
        with pytest.raises(Stop):
            pack(Made(arrays(9)), tmp_path, tmp_path / "out", 4, report=quiet)
    assert packed_bytes(tmp_path / "out") == before
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.lock"}


def test_a_killed_process_leaves_nothing_that_looks_whole_and_the_next_one_cleans_up(tmp_path):
    script = textwrap.dedent(f"""
        import os, numpy as np
        from pathlib import Path
        from dml.data import packed, _store
        packed.options_of = lambda source: {{}}
        class Source:
            name = "made"
            def images(self, raw):
                for n in range(5):
                    yield {{"image": np.zeros((6, 5), np.uint8), "fine": 0, "path": str(n)}}
        write = _store.NpyWriter.write
        def die(self, pixels):
            if self.count == 3:
                os.kill(os.getpid(), 9)
            write(self, pixels)
        _store.NpyWriter.write = die
        packed.pack(Source(), Path({str(tmp_path / "raw")!r}), Path({str(tmp_path / "out")!r}))
    """)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.glob(".out.new-*"))) == 1
    with pytest.raises(DataError, match="no packed dataset here"):
        open_packed(tmp_path / "out")
    pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.lock"}


def test_no_space_is_seen_beforehand(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(DataError, match=r"made .*no space left"):
        pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    assert {path.name for path in tmp_path.iterdir()} == {"out.lock"}


def test_the_disk_fills_meanwhile(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_store.NpyWriter, "write", full)
    with pytest.raises(DataError, match="no space left on the disk; nothing is left behind"):
        pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    assert {path.name for path in tmp_path.iterdir()} == {"out.lock"}


def test_two_at_once_pack_once(tmp_path):
    script = textwrap.dedent(f"""
        import time, numpy as np
        from pathlib import Path
        from dml.data import packed
        packed.options_of = lambda source: {{}}
        class Source:
            name = "made"
            def images(self, raw):
                for n in range(20):
                    time.sleep(0.02)
                    yield {{"image": np.full((6, 5), n, np.uint8), "fine": 0, "path": str(n)}}
        packed.pack(Source(), Path({str(tmp_path / "raw")!r}), Path({str(tmp_path / "out")!r}))
    """)
    running = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert sum("20 images packed" in text for text in said) == 1
    assert sum("packed already" in text for text in said) == 1
    assert open_packed(tmp_path / "out").images[:, 0, 0, 0].tolist() == list(range(20))


# Opening.


def test_opening_what_is_no_packed_folder(tmp_path):
    with pytest.raises(DataError, match="no packed dataset here"):
        open_packed(tmp_path)
    pack(Made(arrays(5)), tmp_path, tmp_path / "out", report=quiet)
    path = tmp_path / "out" / "images.npy"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"images\.npy cannot be read"):
        open_packed(tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"images": 4}))
    np.save(path, np.zeros((5, 6, 5, 1), np.uint8))
    with pytest.raises(DataError, match="the manifest says"):
        open_packed(tmp_path / "out")
    for other in ('{"name": "an app"}', "[1]"):
        manifest.write_text(other)
        with pytest.raises(DataError, match=r"manifest\.json is not that of a packed dataset"):
            open_packed(tmp_path / "out")
    manifest.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="no packed dataset here"):
        open_packed(tmp_path / "out")


def test_names_of_packed_folders():
    source = Made([])
    assert packed_id(source).startswith("made-full-")
    assert packed_id(source, 32).startswith("made-32-")


# Streaming.


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


def test_a_stream_runs_on_several_threads_and_stops_at_an_error():
    names = set()
    barrier = threading.Barrier(2, timeout=20)

    def work(number):
        names.add(threading.current_thread().name)
        if number in (0, CHUNK):
            barrier.wait()
        if number == 2 * CHUNK:
            raise Stop
        return number

    with pytest.raises(Stop):
        list(ordered(work, iter(range(100 * CHUNK)), 2))
    assert len(names) == 2


def test_progress():
    lines = []
    progress = Progress("packing made", 10, lines.append, every=0.0)
    progress(5)
    assert lines[0].startswith("packing made: 5 of 10, ")
    assert lines[0].endswith(" s left")
    Progress("packing made", 10, lines.append)(5)
    assert len(lines) == 1
