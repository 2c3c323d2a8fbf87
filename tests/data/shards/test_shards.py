"""Shards beside the packed array that they come from, and what goes wrong with them."""

import errno
import hashlib
import multiprocessing
import os
import pickle
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dml import files
from dml.data import DataError, sources
from dml.data.batches import build
from dml.data.batches.balanced import Balanced
from dml.data.packing import open_packed, pack
from dml.data.shards import ShardCache, ShardJob, plan_layout, shard_packed, storage, write_members, write_shard
from dml.data.shards.cache import ABSENT

pytestmark = pytest.mark.slow

SIZE = 12 << 10


def silent(line: str) -> None:
    pass


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "packed"
    pack(sources.build("digits"), folder.parent / "raw", folder / "digits", report=silent)
    return folder / "digits"


@pytest.fixture
def sharded(packed, tmp_path):
    def make(cache: int = 4 * SIZE, place: str | None = "storage", out: str = "packed/shards") -> Path:
        given = {"size": SIZE, "cache": cache, "storage": None if place is None else str(tmp_path / place)}
        shard_packed(packed, tmp_path / out, report=silent, **given)
        return tmp_path / out

    return make


@pytest.mark.parametrize("place", [None, "storage"])
def test_rows_are_those_of_the_packed_array(packed, sharded, place):
    one, other = open_packed(packed), open_packed(sharded(place=place))
    draw = np.random.default_rng(0)
    for rows in (
        draw.integers(1797, size=700),
        np.arange(5),
        7,
        -1,
        slice(3, 900, 7),
        np.arange(1797) % 3 == 0,
        [3, 1],
        np.arange(0),
    ):
        np.testing.assert_array_equal(other.images[rows], one.images[rows])
    assert (other.images.shape, other.images.dtype, len(other.images)) == (one.images.shape, one.images.dtype, 1797)
    assert other.index.equals(one.index)
    assert other.manifest["digest"] == one.manifest["digest"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(other)).images[:9], one.images[:9])
    with pytest.raises(IndexError, match="expected 0 to 1796, got 3 to 1797"):
        other.images[np.array([3, 1797])]


def test_a_class_that_fits_is_in_one_shard_and_shards_are_bounded(packed, sharded):
    images = open_packed(sharded()).images
    assert max(images.table.sizes) <= SIZE
    draw = np.random.default_rng(0)
    for _ in range(50):
        sizes = draw.integers(1, 30, size=draw.integers(1, 40))
        most = int(draw.integers(3, 60))
        layout = plan_layout(sizes, 8, 8 * most + 3)
        assert layout.starts[0] == 0
        assert layout.starts[-1] == sizes.sum()
        assert (np.diff(layout.starts) >= 1).all()
        assert (np.diff(layout.starts) <= most).all()
        ends = sizes.cumsum()
        for size, end in zip(sizes, ends, strict=True):
            inside = ((layout.starts > end - size) & (layout.starts < end)).sum()
            assert inside == 0 if size <= most else inside >= 1
    with pytest.raises(ValueError, match="a row has 100 bytes: expected a size of at least as many, got 64"):
        plan_layout(np.array([3]), 100, 64)


def first_row(images, number: int) -> np.ndarray:
    """The first row of a shard."""
    return images._read(np.array([number * images.table.most]))


def here(images) -> list[int]:
    """The shards in the cache."""
    return np.flatnonzero(images.cache._opened.offsets != ABSENT).tolist()


def test_the_cache_stays_below_its_limit_and_keeps_what_was_read_lately(sharded):
    images = open_packed(sharded(cache=3 * SIZE)).images
    cache, count = images.cache, len(images.table.names)
    assert count > 7
    for number in range(count):
        first_row(images, number)
        assert len(here(images)) == min(number + 1, 3)
    assert cache.path.stat().st_size <= 3 * SIZE + 4096
    assert [path.name for path in cache.folder.iterdir() if path != cache.path] == ["lock"]
    misses, last = cache.misses, count - 1
    first_row(images, last)
    assert cache.misses == misses == count
    again = ShardCache(cache.folder.parent, 3 * SIZE, images.table)
    again.read(np.array([last * images.table.most]))
    assert again.misses == 0  # another process takes what is there
    for number in range(last):
        first_row(images, number)
        first_row(images, last)
    assert cache.misses == count + last  # what is read again and again stays


def test_a_batch_of_more_shards_than_the_cache_holds(packed, sharded):
    one, other = open_packed(packed).images, open_packed(sharded(cache=SIZE)).images
    rows = np.random.default_rng(0).integers(1797, size=300)
    assert other.cache.slots == 1
    for misses in (len(other.table.names), 2 * len(other.table.names) - 1):  # what is here is read first
        np.testing.assert_array_equal(other[rows], one[rows])
        assert other.cache.misses == misses


def test_a_reader_whose_slot_is_filled_again_reads_again(packed, sharded, monkeypatch):
    """Another process fills the slot of a shard after a reader has looked where it is, and before it copies."""
    folder = sharded(cache=SIZE)
    reader, other = open_packed(folder).images, open_packed(folder).images
    expected = np.array(first_row(reader, 0))

    class Meanwhile(np.ndarray):
        def take(self, *given):
            first_row(other, 1)
            return np.asarray(self).take(*given)

    opened = reader.cache._opened
    opened.rows = opened.rows.view(Meanwhile)
    np.testing.assert_array_equal(first_row(reader, 0), expected)
    assert (reader.cache.misses, other.cache.misses) == (2, 1)


def test_a_cache_that_is_smaller_than_a_shard_is_refused(sharded, tmp_path):
    with pytest.raises(DataError, match=r"cache: expected at least the size of a shard \(12288 bytes\), got 100"):
        sharded(cache=100)
    images = open_packed(sharded()).images
    images.cache = ShardCache(tmp_path, 1000, images.table)
    with pytest.raises(DataError, match=r"a shard of .*storage has .* KB, and the cache 0.977 KB: expected a cache"):
        images.cache.read(np.array([0]))


def test_a_shard_that_is_missing_or_changed_is_named(packed, sharded, tmp_path):
    images = open_packed(sharded()).images
    (tmp_path / "storage/000001.npy").unlink()
    with pytest.raises(DataError, match=r"shard 000001.npy is missing in .*storage: write the shards again"):
        first_row(images, 1)
    path = tmp_path / "storage/000002.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x77")
    with pytest.raises(DataError, match=r"shard 000002.npy in .*: its SHA-256 is .* expected"):
        first_row(images, 2)
    assert here(images) == []
    np.testing.assert_array_equal(first_row(images, 0).shape[1:], images.shape[1:])  # the others are read


def test_a_shard_that_became_longer_does_not_reach_into_the_next_slot(sharded, tmp_path):
    images = open_packed(sharded()).images
    expected = [np.array(first_row(images, number)) for number in range(4)]  # all four slots
    path = tmp_path / f"storage/{images.table.names[4]}"
    path.write_bytes(path.read_bytes() + b"\x77" * SIZE)
    with pytest.raises(DataError, match="its SHA-256 is"):
        first_row(images, 4)
    assert len(here(images)) == 3
    for number in here(images):
        np.testing.assert_array_equal(first_row(images, number), expected[number])


def test_a_full_disk_is_said_and_leaves_a_free_slot(packed, sharded, monkeypatch):
    images = open_packed(sharded()).images
    first_row(images, 0)

    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as caught:
            first_row(images, 1)
    assert caught.value.filename == str(images.cache.path)
    assert here(images) == [0]
    np.testing.assert_array_equal(images[:], open_packed(packed).images[:])


def test_another_dataset_has_another_file_and_unused_ones_make_room(packed, sharded):
    one = open_packed(sharded(cache=4 * SIZE)).images
    other = open_packed(sharded(cache=6 * SIZE, place="elsewhere", out="packed/other")).images
    assert one.cache.folder == other.cache.folder
    assert one.cache.path != other.cache.path
    first_row(one, 0)
    first_row(other, 0)
    assert one.cache.path.is_file()  # in use
    path = one.cache.path
    del one
    again = open_packed(sharded(cache=6 * SIZE, place="elsewhere", out="packed/other")).images
    first_row(again, 0)
    assert again.cache.misses == 0
    assert not path.exists()


def test_a_cache_that_was_deleted_while_in_use_is_filled_again(packed, sharded):
    one, images = open_packed(packed).images, open_packed(sharded()).images
    np.testing.assert_array_equal(images[:300], one[:300])
    shutil.rmtree(images.cache.folder)
    np.testing.assert_array_equal(images[:], one[:])
    assert images.cache._opened.is_at(images.cache.path)


def _read_slowly(folder: str) -> None:
    images = open_packed(folder).images
    first_row(images, 0)
    read = storage.read

    def stuck(*given):
        yield next(iter(read(*given)))[:999]
        Path(folder, "stuck").touch()
        time.sleep(60)

    storage.read = stuck
    first_row(images, 1)


def test_a_process_that_is_killed_while_it_fills_a_slot_leaves_it_free(packed, sharded):
    folder = sharded(cache=SIZE)
    killed = multiprocessing.get_context("spawn").Process(target=_read_slowly, args=(str(folder),))
    killed.start()
    while not (folder / "stuck").exists():
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.join()
    images = open_packed(folder).images
    first_row(images, 0)
    assert images.cache.misses == 1  # it had left for the one that was not finished
    np.testing.assert_array_equal(images[:], open_packed(packed).images[:])


def _fill(folder: str, out: str, seed: int) -> None:
    images = open_packed(folder).images
    rows = np.random.default_rng(seed).integers(1797, size=(200, 2))
    digest = hashlib.sha256(b"".join(images[some].tobytes() for some in rows)).hexdigest()
    Path(out).write_text(f"{digest} {images.cache.misses}")


def test_processes_fill_one_cache_without_harm(packed, sharded, tmp_path):
    folder, context = sharded(cache=2 * SIZE), multiprocessing.get_context("spawn")
    outs = [tmp_path / f"{number}.txt" for number in range(2)]
    processes = [context.Process(target=_fill, args=(str(folder), str(out), 7)) for out in outs]
    for process in processes:
        process.start()
    killed = context.Process(target=_fill, args=(str(folder), str(tmp_path / "killed"), 8))
    killed.start()
    time.sleep(1.5)
    os.kill(killed.pid, signal.SIGKILL)
    for process in processes:
        process.join(60)
    rows = np.random.default_rng(7).integers(1797, size=(200, 2))
    expected = hashlib.sha256(open_packed(packed).images[rows.reshape(-1)].tobytes()).hexdigest()
    assert [out.read_text().split()[0] for out in outs] == [expected] * 2
    assert open_packed(folder).images.cache.path.stat().st_size <= 2 * SIZE + 4096


def test_a_thread_prefetches_while_another_evaluates(packed, sharded):
    one, other = open_packed(packed).images, open_packed(sharded(cache=2 * SIZE)).images
    rows = np.random.default_rng(7).integers(1797, size=(8, 15, 12))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda several: [other[some] for some in several], rows))
    np.testing.assert_array_equal(np.array(found), one[rows.reshape(-1)].reshape(*rows.shape, *one.shape[1:]))


def test_a_stopped_writing_resumes_with_the_next_shard(packed, tmp_path):
    given = {"size": SIZE, "storage": str(tmp_path / "storage"), "report": silent}

    def stopping(function, inputs):
        for number, one in enumerate(inputs):
            if number == 4:
                raise KeyboardInterrupt
            yield [function(*one)]

    with pytest.raises(KeyboardInterrupt):
        shard_packed(packed, tmp_path / "out", run=stopping, **given)
    with pytest.raises(DataError, match="no packed dataset here"):
        open_packed(tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "storage").iterdir()}
    assert len(times) == 4
    made = shard_packed(packed, tmp_path / "out", **given)
    assert all(path.stat().st_mtime_ns == at for path, at in times.items())
    np.testing.assert_array_equal(open_packed(tmp_path / "out").images[:], open_packed(packed).images[:])
    assert shard_packed(packed, tmp_path / "out", run=None, **given) == made  # nothing is written again


def test_a_lazily_decoded_folder_has_no_array_to_shard(tmp_path):
    files.write_json(tmp_path / "lazy/manifest.json", {"decode": "lazy"})
    with pytest.raises(DataError, match=r"expected a packed folder with images\.npy"):
        shard_packed(tmp_path / "lazy", tmp_path / "out")


def test_a_shard_is_written_from_any_reader_of_rows(tmp_path):
    layout = plan_layout(np.array([4, 3]), 2, 1000)

    def read(rows):
        return np.stack([rows, rows % 3], 1).reshape(-1, 1, 1, 2)

    job = ShardJob(read, layout, (7, 1, 1, 2), "uint8", str(tmp_path))
    entry = write_shard(job, 0)
    data = (tmp_path / entry["name"]).read_bytes()
    assert (entry["digest"], entry["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
    np.testing.assert_array_equal(np.load(tmp_path / entry["name"])[:, 0, 0], [[r, r % 3] for r in range(7)])


def test_a_storage_that_cannot_be_reached_is_named():
    with pytest.raises(DataError, match="storage 'nosuch://bucket'"):
        storage.opened("nosuch://bucket")


def labels_in_parts(labels, size=37):
    return lambda: (labels[start : start + size] for start in range(0, len(labels), size))


@pytest.mark.parametrize(("classes", "per_class"), [(4, 3), (7, 5), (9, 40)])
def test_batches_from_members_on_disk_are_those_of_the_balanced_sampler(tmp_path, classes, per_class):
    draw = np.random.default_rng(0)
    labels = draw.choice([-1, *range(3, 30, 3)], p=np.r_[0.1, np.full(9, 0.1)], size=800)
    members = write_members(labels_in_parts(labels), tmp_path)
    ours = Balanced.stored(members, classes, per_class, seed=5)
    theirs = build("balanced", labels=labels, classes=classes, per_class=per_class, seed=5)
    for _ in range(300):
        batch = next(ours)
        np.testing.assert_array_equal(batch, next(theirs))
        found, count = np.unique(labels[batch], return_counts=True)
        assert len(found) == classes
        assert (count == per_class).all()


def test_the_state_of_stored_batches_resumes_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr("dml.data.batches._stream.KEPT", 20)
    labels = np.random.default_rng(0).integers(11, size=500)
    members = write_members(labels_in_parts(labels), tmp_path / "a")
    whole, part = (Balanced.stored(members, 4, 3, seed=1) for _ in range(2))
    expected = [next(whole) for _ in range(60)]
    for _ in range(23):
        next(part)
    resumed = Balanced.stored(write_members(labels_in_parts(labels, 100), tmp_path / "b"), 4, 3, seed=1)
    resumed.load_state_dict(part.state_dict())
    np.testing.assert_array_equal([next(resumed) for _ in range(37)], expected[23:])
    other = Balanced.stored(write_members(labels_in_parts(labels[::-1]), tmp_path / "c"), 4, 3, seed=1)
    with pytest.raises(ValueError, match="this state belongs to other labels"):
        other.load_state_dict(part.state_dict())


def test_labels_that_cannot_be_drawn_from_are_refused(tmp_path):
    with pytest.raises(ValueError, match="none of the labels is usable"):
        write_members(labels_in_parts(np.full(9, -1)), tmp_path)
    with pytest.raises(ValueError, match="expected labels from 0"):
        write_members(labels_in_parts(np.array([0, -2])), tmp_path)
    with pytest.raises(ValueError, match="5 classes per batch, but the 9 usable labels have only 3"):
        Balanced.stored(write_members(labels_in_parts(np.arange(9) % 3), tmp_path), 5, 2)
