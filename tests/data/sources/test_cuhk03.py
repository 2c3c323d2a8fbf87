"""CUHK03: one MATLAB 7.3 file, single-shot and multi-shot galleries."""

import numpy as np
import pytest
from small_archives import Row, Small, mirrored, quiet, zipped

from dml.data import sources
from dml.data.packing import open_packed, pack


def make(folder):
    h5py = pytest.importorskip("h5py", reason="cuhk03 is read by h5py, which is not installed")
    held, rows, fine = [(1, 2), (2, 1)], [], -1
    with h5py.File(folder / "cuhk-03.mat", "w", userblock_size=512) as file:
        cells = file.create_group("#refs#")

        def put(content):
            return cells.create_dataset(f"c{len(cells)}", data=content).ref

        empty = np.zeros(2, np.uint64)  # MATLAB writes an empty cell as its shape
        pairs = []
        for pair, persons in ((1, 2), (2, 1)):
            references = np.full((10, persons), None, dtype=h5py.ref_dtype)
            for person in range(persons):
                fine += 1
                for place in range(10):
                    if place not in (0, 5, 6):
                        references[place, person] = put(empty)
                        continue
                    value = 10 * len(rows) + 20
                    references[place, person] = put(np.full((3, 60, 160), value, np.uint8))  # (C, W, H)
                    view = 1 if place < 5 else 2
                    test = (pair, person + 1) in held
                    role = ("query" if view == 1 else "gallery") if test else "train"
                    rows.append(Row(fine, -1, "test" if test else "train", role, value, 2 * pair + view - 3))
            pairs.append(put(references))
        for boxes in ("labeled", "detected"):
            file.create_dataset(boxes, data=np.array([pairs], dtype=h5py.ref_dtype))
        tests = [put(np.array(held, np.float64).T), put(np.array([(1, 1)], np.float64).T)]
        file.create_dataset("testsets", data=np.array([tests], dtype=h5py.ref_dtype))
    zipped(folder / "cuhk03_release.zip", {"cuhk03_release/cuhk-03.mat": (folder / "cuhk-03.mat").read_bytes()})
    (folder / "cuhk-03.mat").unlink()
    return Small({"shots": "all"}, rows)


def test_single_shot_has_one_gallery_image_per_person(tmp_path, monkeypatch):
    _, raw, small = mirrored("cuhk03", make, tmp_path, monkeypatch)
    source = sources.build("cuhk03", complete=False)
    source.download(raw, quiet)
    pack(source, raw, tmp_path / "packed", 16, report=quiet)
    index = open_packed(tmp_path / "packed").index
    roles = source.roles(index)
    held = [row for row in small.rows if row.part == "test"]
    gallery = index[roles == "gallery"]
    assert gallery["fine"].tolist() == sorted({row.fine for row in held})
    assert (gallery["camera"] % 2 == 1).all()
    assert set(index["height"]) == {160}
    assert set(index["width"]) == {60}
    assert np.sum(roles == "query") == sum(row.role == "query" for row in held)
    assert np.sum(roles == "unused") == sum(row.role == "gallery" for row in held) - len(gallery)


@pytest.mark.parametrize("shots", ["single", "all"])
def test_a_seed_selects_the_split_of_images_that_are_packed_once(tmp_path, monkeypatch, shots):
    _, raw, _ = mirrored("cuhk03", make, tmp_path, monkeypatch)
    options = {"shots": shots, "complete": False}
    by_seed = sources.build("cuhk03", split="seed", **options)
    by_seed.download(raw, quiet)
    pack(by_seed, raw, tmp_path / "packed", 16, report=quiet)
    index = open_packed(tmp_path / "packed").index
    assert index.groupby("fine")["part"].first().tolist() == ["1", "0", "0"]
    for split in (0, 1):
        one = sources.build("cuhk03", split=split, **options)
        pack(one, raw, tmp_path / f"packed{split}", 16, report=quiet)
        chosen = by_seed.for_seed(split)
        expected = one.roles(open_packed(tmp_path / f"packed{split}").index)
        assert chosen.roles(index).tolist() == expected.tolist()
        assert chosen.options == by_seed.options
        assert one.for_seed(7).roles(open_packed(tmp_path / f"packed{split}").index).tolist() == expected.tolist()
    assert by_seed.roles(index).tolist() == by_seed.for_seed(0).roles(index).tolist() != expected.tolist()
    assert list(by_seed.seeds) == list(range(20))
    assert one.seeds is None
    with pytest.raises(ValueError, match="split is 'seed': expected seeds from 0 to 19, got 20"):
        by_seed.for_seed(20)
