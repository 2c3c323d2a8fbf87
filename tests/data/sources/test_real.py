"""The complete real MNIST and Omniglot, from the mirror that DML_MIRROR names or the folder ../shared/data."""

import gzip
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from small_archives import quiet
from torchvision.datasets import MNIST, Omniglot

from dml.data import sources
from dml.data.packing import open_packed, pack

BESIDE = Path(__file__).parents[3] / "../shared/data"
MIRROR = os.environ.get("DML_MIRROR") or (str(BESIDE.resolve()) if BESIDE.is_dir() else "")
MEMORY = Path("/dev/shm")  # 32,000 small files are unpacked and deleted much faster in memory than on a disk


@pytest.fixture(scope="module", params=["mnist", "omniglot"])
def real(request, tmp_path_factory):
    """A source, its raw folder (the download checks counts and content digest) and the packed data, at full size."""
    if not MIRROR or ("://" not in MIRROR and not Path(MIRROR, request.param).is_dir()):
        pytest.skip(f"the real {request.param} is not available (set DML_MIRROR to a folder that has it)")
    spacious = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2**31
    folder = Path(tempfile.mkdtemp(dir=MEMORY)) if spacious else tmp_path_factory.mktemp(request.param)
    try:
        source = sources.build(request.param)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DML_MIRROR", MIRROR)
            source.download(folder / "raw", quiet)
        pack(source, folder / "raw", folder / "packed", report=quiet)
        yield source, folder / "raw", open_packed(folder / "packed")
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
def test_the_papers_counts(real):
    source, _, data = real
    roles, fine = source.roles(data.index), data.index["fine"].to_numpy()
    assert data.manifest["content"] == source.content
    if source.name == "mnist":
        assert data.images.shape == (70000, 28, 28, 1)
        assert sorted(set(fine[roles == "train"])) == [0, 1, 2, 3, 4, 5]
        assert sorted(set(fine[roles == "test"])) == [6, 7, 8, 9]
        assert np.bincount(fine).tolist() == [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
    else:
        assert data.images.shape == (32460, 105, 105, 1)
        assert (np.sum(roles == "train"), np.sum(roles == "test")) == (19280, 13180)
        assert np.bincount(fine).tolist() == [20] * 1623
        alphabets = {role: set(data.index["coarse"][roles == role]) for role in ("train", "test")}
        assert (len(alphabets["train"]), len(alphabets["test"])) == (30, 20)
        assert alphabets["train"].isdisjoint(alphabets["test"])


@pytest.mark.slow
def test_packing_again_gives_the_same_bytes(real):
    source, raw, data = real
    assert pack(source, raw, raw.parent / "again", report=quiet, workers=3) == data.manifest
    for name in ("images.npy", "index.parquet", "manifest.json"):
        assert (raw.parent / "again" / name).read_bytes() == (data.folder / name).read_bytes()


@pytest.mark.slow
def test_torchvision_reads_the_same(real):
    """An independent reader of the same files. (Its Omniglot orders classes as the file system does.)"""
    source, raw, data = real
    root = raw.parent / "torchvision"
    if source.name == "mnist":
        (root / "MNIST" / "raw").mkdir(parents=True)
        for path in raw.glob("*.gz"):
            (root / "MNIST" / "raw" / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        theirs = [MNIST(str(root), train=train) for train in (True, False)]
        np.testing.assert_array_equal(data.images[:, :, :, 0], np.concatenate([t.data.numpy() for t in theirs]))
        np.testing.assert_array_equal(data.index["fine"], np.concatenate([t.targets.numpy() for t in theirs]))
        return
    (root / "omniglot-py").mkdir(parents=True)
    mine = {path.split("/")[-1]: row for row, path in enumerate(data.index["path"])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Omniglot, "_check_integrity", lambda self: True)  # it would need the zip files
        for background in (True, False):
            part = "images_background" if background else "images_evaluation"
            (root / "omniglot-py" / part).symlink_to(raw / part)
            theirs = Omniglot(str(root), background=background)
            for position in range(0, len(theirs), 97):
                image, character = theirs[position]
                row = mine[theirs._flat_character_images[position][0]]
                np.testing.assert_array_equal(data.images[row, :, :, 0], np.asarray(image.convert("L")))
                assert data.index["fine_name"][row] == theirs._characters[character]
