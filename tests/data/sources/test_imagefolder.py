"""A user's own images: folders of one and two levels, and what is wrong with them."""

import os

import pytest
from PIL import Image
from small_archives import Row, Small, packed_of

from dml.data import DataError
from dml.data.packing import open_packed, pack
from dml.data.sources import Imagefolder


def make(folder):
    rows = []
    for coarse, fine, kind in ((0, 0, "cat/manx"), (0, 1, "cat/tabby"), (1, 2, "dog/boxer"), (1, 3, "dog/pug")):
        for number in range(2):
            path = folder / "photos" / kind / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 9), (30 * fine + number,) * 3).save(path)
            rows.append(Row(fine, coarse, "", "train" if fine < 2 else "test", 30 * fine + number))
    return Small({"root": str(folder / "photos")}, rows)


def test_one_level(written, tmp_path):
    source = Imagefolder(written("b/1.png", "a/2.PNG", "c/sub.png", "b/0.jpg"))
    (tmp_path / "root" / "notes.txt").write_text("no image")
    (tmp_path / "root" / ".hidden").mkdir()
    (tmp_path / "root" / ".hidden" / "x.png").write_bytes(b"")
    index = packed_of(source, tmp_path).index
    assert index["path"].tolist() == ["a/2.PNG", "b/0.jpg", "b/1.png", "c/sub.png"]
    assert index["fine"].tolist() == [0, 1, 1, 2]
    assert index["fine_name"].tolist() == ["a", "b", "b", "c"]
    assert index["coarse"].tolist() == [-1] * 4


def test_two_levels(written, tmp_path):
    source = Imagefolder(written("cats/tabby/1.png", "dogs/x/2.png", "dogs/tabby/3.png", "dogs/x/4.png"))
    data = packed_of(source, tmp_path)
    index = data.index
    assert index["fine_name"].tolist() == ["cats/tabby", "dogs/tabby", "dogs/x", "dogs/x"]
    assert index["fine"].tolist() == [0, 1, 2, 2]
    assert index["coarse"].tolist() == [0, 1, 1, 1]
    assert data.images[:, 0, 0, 0].tolist() == [0, 20, 10, 30]


def test_classes_are_split_in_the_order_of_their_names(written, tmp_path):
    root = written(*(f"{coarse}/{fine}/{n}.png" for coarse in "abc" for fine in "xy" for n in range(2)))
    index = packed_of(Imagefolder(root), tmp_path).index
    assert Imagefolder(root).roles(index).tolist() == ["train"] * 6 + ["test"] * 6
    assert Imagefolder(root, test_share=0.34, disjoint="coarse").roles(index).tolist() == ["train"] * 8 + ["test"] * 4
    assert set(Imagefolder(root, test_share=0).roles(index)) == {"train"}


def test_a_changed_folder_is_packed_again(written, tmp_path):
    source = Imagefolder(written("a/1.png", "b/2.png"))
    assert len(packed_of(source, tmp_path).images) == 2
    Image.new("RGB", (8, 8), "red").save(tmp_path / "root" / "b" / "3.bmp")
    assert len(packed_of(source, tmp_path).images) == 3
    before = open_packed(tmp_path / "packed").manifest["digest"]
    path = tmp_path / "root" / "b" / "3.bmp"
    state = path.stat()
    Image.new("RGB", (8, 8), "lime").save(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert path.stat().st_size == state.st_size
    assert packed_of(source, tmp_path).manifest["digest"] != before
    lines = []
    pack(source, tmp_path / "raw", tmp_path / "packed", report=lines.append)
    assert "packed already" in lines[0]


def test_links_that_lead_back_are_named(written, tmp_path):
    root = tmp_path / "root"
    source = Imagefolder(written("a/1.png", "b/2.png"))
    for name in "ab":
        (root / name / "up").symlink_to(root)
    with pytest.raises(DataError, match=r"root/a/up: .*found a link back"):
        packed_of(source, tmp_path)
    for name, other in ("ab", "ba"):
        (root / name / "up").unlink()
        (root / name / "up").symlink_to(root / other)
    with pytest.raises(DataError, match=r"root/a/up/up: .*found a link back"):
        packed_of(source, tmp_path)
    for name in "ab":
        (root / name / "up").rename(root / name / "up.png").unlink()
        (root / name / "up.png").symlink_to("up.png")
    with pytest.raises(DataError, match=r"a/up.png: cannot be read: "):
        packed_of(source, tmp_path)
