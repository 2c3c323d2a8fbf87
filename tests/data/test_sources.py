"""Every source on small archives in the real layout, taken from a mirror: downloaded, unpacked, packed, given roles."""

import gzip
import io
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

import dml.data
from dml import discovery
from dml.data import DataError
from dml.data.packed import open_packed, pack, packed_id

ROLES = {"train", "seen", "test", "query", "gallery", "unused"}
PAPERS = {"cars196", "cifar100", "cub200", "cuhk03", "flowers102", "market1501", "mnist", "omniglot", "sop"}


def encoded(value, form="JPEG", size=(12, 10), mode="RGB"):
    """An image of one grey value, which JPEG keeps within one or two steps."""
    file = io.BytesIO()
    colour = value if mode in ("L", "1") else (value,) * 3
    Image.new(mode, size, colour).save(file, form)
    return file.getvalue()


def tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def matfile(**content):
    file = io.BytesIO()
    savemat(file, content)
    return file.getvalue()


def idx(array):
    head = struct.pack(f">{1 + array.ndim}i", 0x800 + array.ndim, *array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())


# Each maker writes a source's archives into a folder and returns options, and one row an image:
# (fine, coarse, part, role, grey value, camera).


def mnist(folder):
    rows = []
    for part, stem, digits in (("train", "train", [0, 7, 5, 3]), ("test", "t10k", [5, 6, 9])):
        images = np.stack([np.full((28, 28), 10 * d + len(part)) for d in digits])
        (folder / f"{stem}-images-idx3-ubyte.gz").write_bytes(idx(images))
        (folder / f"{stem}-labels-idx1-ubyte.gz").write_bytes(idx(np.array(digits)))
        for d in digits:
            role = ("train" if part == "train" else "seen") if d <= 5 else ("unused" if part == "train" else "test")
            rows.append((d, d % 2, part, role, 10 * d + len(part), -1))
    return {}, rows


def omniglot(folder):
    rows, fine, coarse = [], -1, -1
    sets = {"background": {"Greek": 2, "Latin": 1}, "evaluation": {"Angelic": 2}}
    for part, alphabets in sets.items():
        members = {f"images_{part}/": b""}
        for alphabet, characters in alphabets.items():
            coarse += 1
            for character in range(1, characters + 1):
                fine += 1
                for drawing in (1, 2):
                    ink = drawing % 2
                    name = f"images_{part}/{alphabet}/character{character:02d}/{fine:04d}_{drawing:02d}.png"
                    members[name] = encoded(ink, "PNG", (105, 105), "1")
                    role = "train" if part == "background" else "test"
                    rows.append((fine, coarse, part, role, 255 * ink, -1))
        zipped(folder / f"images_{part}.zip", members)
    return {}, rows


def cub200(folder):
    classes = [1, 100, 101, 200]
    members = {"CUB_200_2011/attributes/x.txt": b"", "attributes.txt": b"1 has_bill_shape::curved\n"}
    tables = dict.fromkeys(("images", "image_class_labels", "train_test_split"), "")
    rows = []
    for number, (kind, flag) in enumerate([(k, f) for k in classes for f in (1, 0)], start=1):
        path = f"{kind:03d}.Some_Bird/Some_Bird_{number:04d}.jpg"
        members[f"CUB_200_2011/images/{path}"] = encoded(20 * number)
        tables["images"] += f"{number} {path}\n"
        tables["image_class_labels"] += f"{number} {kind}\n"
        tables["train_test_split"] += f"{number} {flag}\n"
        role = "train" if kind <= 100 else "test"
        rows.append((kind - 1, -1, "train" if flag else "test", role, 20 * number, -1))
    tables["classes"] = "".join(f"{k} {k:03d}.Some_Bird\n" for k in range(1, 201))
    members |= {f"CUB_200_2011/{name}.txt": text.encode() for name, text in tables.items()}
    tar(folder / "CUB_200_2011.tgz", members)
    return {}, rows


CARS = [(1, 0), (98, 1), (99, 0), (196, 1)]
CAR_NAMES = np.array([f"Car {n}" for n in range(1, 197)], dtype=object)


def cars196(folder):
    kind = np.dtype([("relative_im_path", "O"), ("class", "O"), ("test", "O")])
    entries = [(f"car_ims/{n:06d}.jpg", c, t) for n, (c, t) in enumerate(CARS, start=1)]
    annotations = np.array(entries, dtype=kind)
    tar(folder / "car_ims.tgz", {name: encoded(30 * n) for n, (name, _, _) in enumerate(entries, start=1)})
    (folder / "cars_annos.mat").write_bytes(matfile(annotations=annotations, class_names=CAR_NAMES))
    rows = [
        (c - 1, -1, "test" if t else "train", "train" if c <= 98 else "test", 30 * n, -1)
        for n, (c, t) in enumerate(CARS, start=1)
    ]
    return {}, rows


def cars196_separate(folder):
    kind = np.dtype([("fname", "O"), ("class", "O")])
    rows, tables = [], {}
    for flag, part in ((0, "train"), (1, "test")):
        chosen = [(n, c) for n, (c, t) in enumerate(CARS, start=1) if t == flag]
        tar(folder / f"cars_{part}.tgz", {f"cars_{part}/{n:05d}.jpg": encoded(30 * n) for n, _ in chosen})
        tables[part] = matfile(annotations=np.array([(f"{n:05d}.jpg", c) for n, c in chosen], dtype=kind))
        rows += [(c - 1, -1, part, "train" if c <= 98 else "test", 30 * n, -1) for n, c in chosen]
    meta = matfile(class_names=CAR_NAMES)
    tar(folder / "car_devkit.tgz", {"devkit/cars_meta.mat": meta, "devkit/cars_train_annos.mat": tables["train"]})
    (folder / "cars_test_annos_withlabels.mat").write_bytes(tables["test"])
    return {"layout": "separate"}, rows


def sop(folder):
    members, rows = {}, []
    lists = {"train": [(1, 1, "bicycle"), (1, 1, "bicycle"), (2, 12, "toaster")], "test": [(11319, 1, "bicycle")]}
    number = 0
    for part, entries in lists.items():
        text = "image_id class_id super_class_id path\n"
        for product, kind, name in entries:
            number += 1
            path = f"{name}_final/{111000000000 + product}_{number}.JPG"
            members[f"Stanford_Online_Products/{path}"] = encoded(40 * number)
            text += f"{number} {product} {kind} {path}\n"
            rows.append((product - 1, kind - 1, part, part, 40 * number, -1))
        members[f"Stanford_Online_Products/Ebay_{part}.txt"] = text.encode()
    zipped(folder / "Stanford_Online_Products.zip", members)
    return {}, rows


def flowers102(folder):
    labels, parts = [1, 51, 52, 102, 1], ["train", "val", "test", "test", "test"]
    tar(folder / "102flowers.tgz", {f"jpg/image_{n:05d}.jpg": encoded(40 * n) for n in range(1, 6)})
    (folder / "imagelabels.mat").write_bytes(matfile(labels=np.array([labels], np.uint8)))
    ids = {key: np.array([[n for n, p in enumerate(parts, 1) if p == part]]) for key, part in IDS.items()}
    (folder / "setid.mat").write_bytes(matfile(**ids))
    rows = [
        (c - 1, -1, p, "train" if c <= 51 else "test", 40 * n, -1)
        for n, (c, p) in enumerate(zip(labels, parts, strict=True), start=1)
    ]
    return {}, rows


IDS = {"trnid": "train", "valid": "val", "tstid": "test"}


def market1501(folder):
    names = {
        "bounding_box_train": [("0002_c1s1_000451_03", 2, 0, "train"), ("0007_c6s3_077392_04", 7, 5, "train")],
        "query": [("0001_c1s1_001051_00", 1, 0, "query")],
        "bounding_box_test": [
            ("-1_c1s1_000401_03", 1502, 0, "unused"),
            ("0000_c1s1_000151_01", 0, 0, "gallery"),
            ("0001_c2s1_000301_00", 1, 1, "gallery"),
        ],
    }
    members, rows = {"Market-1501-v15.09.15/bounding_box_test/Thumbs.db": b"x"}, []
    for place, entries in names.items():
        part = {"bounding_box_train": "train", "bounding_box_test": "gallery"}.get(place, place)
        for name, person, camera, role in entries:
            value = 25 * (len(rows) + 1)
            members[f"Market-1501-v15.09.15/{place}/{name}.jpg"] = encoded(value, size=(64, 128))
            rows.append((person, -1, part, role, value, camera))
    zipped(folder / "Market-1501-v15.09.15.zip", members)
    return {}, rows


def cifar100(folder):
    rows, members = [], {}
    for part, labels in {"train": [(0, 3), (49, 4), (50, 3)], "test": [(49, 4), (99, 19)]}.items():
        data = np.stack([np.full(3072, 60 + 10 * fine // 7) for fine, _ in labels]).astype(np.uint8)
        batch = {"data": data, "fine_labels": [f for f, _ in labels], "coarse_labels": [c for _, c in labels]}
        members[f"cifar-100-python/{part}"] = pickle.dumps(batch, protocol=2)
        for fine, coarse in labels:
            role = ("train" if part == "train" else "seen") if fine < 50 else ("unused" if part == "train" else "test")
            rows.append((fine, coarse, part, role, 60 + 10 * fine // 7, -1))
    meta = {"fine_label_names": [f"fine{n}" for n in range(100)], "coarse_label_names": [f"c{n}" for n in range(20)]}
    members["cifar-100-python/meta"] = pickle.dumps(meta, protocol=2)
    tar(folder / "cifar-100-python.tar.gz", members)
    return {}, rows


def cuhk03(folder):
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
                    rows.append((fine, -1, "test" if test else "train", role, value, 2 * pair + view - 3))
            pairs.append(put(references))
        for boxes in ("labeled", "detected"):
            file.create_dataset(boxes, data=np.array([pairs], dtype=h5py.ref_dtype))
        tests = [put(np.array(held, np.float64).T), put(np.array([(1, 1)], np.float64).T)]
        file.create_dataset("testsets", data=np.array([tests], dtype=h5py.ref_dtype))
    zipped(folder / "cuhk03_release.zip", {"cuhk03_release/cuhk-03.mat": (folder / "cuhk-03.mat").read_bytes()})
    (folder / "cuhk-03.mat").unlink()
    return {"shots": "all"}, rows


MAKERS = (mnist, omniglot, cub200, cars196, cars196_separate, sop, flowers102, market1501, cifar100, cuhk03)


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def made(request, tmp_path, monkeypatch):
    """Name, options, expected rows and the raw folder of one source whose archives lie in a mirror."""
    name = request.param.__name__.split("_")[0]
    folder = tmp_path / "mirror" / name
    folder.mkdir(parents=True)
    options, rows = request.param(folder)
    monkeypatch.setenv("DML_MIRROR", str(tmp_path / "mirror"))
    return name, options, rows, tmp_path / "raw"


def quiet(line):
    pass


def test_all_the_papers_datasets_are_there():
    assert {*PAPERS, "digits", "imagefolder"} == set(discovery.names("dml.data.sources"))


def test_from_a_mirrors_archives_to_packed_images_and_roles(made, tmp_path):
    name, options, expected, raw = made
    source = dml.data.build(name, complete=False, **options)
    source.download(raw, quiet)
    size = {"mnist": None, "cifar100": None}.get(name, 16)
    manifest = pack(source, raw, tmp_path / "packed", size, report=quiet)
    packed = open_packed(tmp_path / "packed")
    index = packed.index
    got = list(
        zip(
            index["fine"],
            index["coarse"],
            index["part"],
            source.roles(index),
            packed.images[:, 5, 5, 0].tolist(),
            index["camera"],
            strict=True,
        )
    )
    assert [row[:4] + row[5:] for row in got] == [row[:4] + row[5:] for row in expected]
    np.testing.assert_allclose([row[4] for row in got], [row[4] for row in expected], atol=2)
    assert manifest["images"] == len(expected)
    assert manifest["channels"] == (1 if name in ("mnist", "omniglot") else 3)


def test_the_index_keeps_its_promises(made, tmp_path):
    name, options, expected, raw = made
    source = dml.data.build(name, complete=False, **options)
    source.download(raw, quiet)
    pack(source, raw, tmp_path / "packed", 16, report=quiet)
    index = open_packed(tmp_path / "packed").index
    assert index["index"].tolist() == list(range(len(expected)))
    for column in ("index", "fine", "coarse", "camera", "height", "width"):
        assert index[column].dtype == np.int64
    assert index["path"].is_unique
    assert (index["coarse"] >= 0).all() == ("coarse" in source.levels)
    roles = source.roles(index)
    assert set(roles) <= ROLES
    training = set(index["fine"][roles == "train"])
    assert training.isdisjoint(index["fine"][np.isin(roles, ["test", "query", "gallery"])])
    assert set(index["fine"][roles == "seen"]) <= training


def test_a_part_of_a_dataset_is_not_the_whole(made, tmp_path, monkeypatch):
    """Complete is the default: the download says what is missing, and packing would too."""
    name, options, _, raw = made
    source = dml.data.build(name, **options)
    with pytest.raises(DataError, match=rf"{name}: .* has \d+ .*, expected \d+"):
        source.download(raw, quiet)
    assert [path.name for path in raw.iterdir() if path.suffix != ".lock"] == []
    dml.data.build(name, complete=False, **options).download(raw, quiet)
    with pytest.raises(DataError, match=rf"{name}: .* has \d+ .*, expected \d+"):
        pack(source, raw, tmp_path / "packed", 16, report=quiet)
    assert not (tmp_path / "packed").exists()


def test_a_second_download_does_nothing(made, monkeypatch):
    name, options, _, raw = made
    source = dml.data.build(name, complete=False, **options)
    source.download(raw, quiet)
    monkeypatch.setenv("DML_MIRROR", "/nowhere")
    lines = []
    source.download(raw, lines.append)
    assert lines == [f"{name}: downloaded and verified already"]


def test_nothing_downloaded_says_which_file_is_missing(made, tmp_path):
    name, options, _, _ = made
    source = dml.data.build(name, complete=False, **options)
    with pytest.raises(DataError, match=rf"{tmp_path / 'empty'}.* is missing: run the download stage"):
        pack(source, tmp_path / "empty", tmp_path / "packed", 16, report=quiet)


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_no_network_and_no_mirror_says_where_to_put_the_file(name, tmp_path, monkeypatch):
    if name == "cuhk03":
        pytest.importorskip("h5py", reason="cuhk03 is read by h5py, which is not installed")
    monkeypatch.delenv("DML_MIRROR", raising=False)
    monkeypatch.setattr("urllib.request.urlopen", _no_network)
    source = dml.data.build(name)
    first = source.archives[0].name
    with pytest.raises(DataError) as raised:
        source.download(tmp_path / "raw", quiet)
    assert str(tmp_path / "raw" / first) in str(raised.value)
    assert "DML_MIRROR=<mirror>" in str(raised.value)
    assert f"<mirror>/{name}/{first}" in str(raised.value)


def _no_network(*arguments, **keywords):
    import urllib.error

    raise urllib.error.URLError("Name or service not known")


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_archives_have_checksums_of_the_right_length(name):
    for archive in dml.data.build(name).archives:
        assert archive.md5 is None or len(bytes.fromhex(archive.md5)) == 16
        assert archive.sha256 is None or len(bytes.fromhex(archive.sha256)) == 32
        assert archive.md5 or archive.sha256
        assert archive.urls or archive.hint


def test_options_that_cannot_be(tmp_path):
    for name, options in {
        "cars196": {"layout": "kaggle"},
        "cifar100": {"disjoint": "superfine"},
        "cuhk03": {"boxes": "drawn"},
    }.items():
        with pytest.raises(ValueError, match="Choices"):
            dml.data.build(name, **options)
    with pytest.raises(ValueError, match="0 to 19"):
        dml.data.build("cuhk03", split=20)
    with pytest.raises(ValueError, match=r"unknown setting 'layuot'.*did you mean 'layout'"):
        dml.data.build("cars196", layuot="separate")


def test_other_options_another_folder():
    ids = {
        packed_id(dml.data.build("cuhk03")),
        packed_id(dml.data.build("cuhk03", split=1)),
        packed_id(dml.data.build("cuhk03"), 64),
        packed_id(dml.data.build("cuhk03"), on_corrupt="skip"),
        packed_id(dml.data.build("cuhk03"), decode="late"),
    }
    assert len(ids) == 5
    assert packed_id(dml.data.build("cuhk03")) == packed_id(dml.data.build("cuhk03", split=0))


def test_cuhk03_single_shot_has_one_gallery_image_a_person(tmp_path, monkeypatch):
    (tmp_path / "cuhk03").mkdir()
    _, expected = cuhk03(tmp_path / "cuhk03")
    monkeypatch.setenv("DML_MIRROR", str(tmp_path))
    source = dml.data.build("cuhk03", complete=False)
    source.download(tmp_path / "raw", quiet)
    pack(source, tmp_path / "raw", tmp_path / "packed", 16, report=quiet)
    index = open_packed(tmp_path / "packed").index
    roles = source.roles(index)
    held = [row for row in expected if row[2] == "test"]
    gallery = index[roles == "gallery"]
    assert gallery["fine"].tolist() == sorted({row[0] for row in held})
    assert (gallery["camera"] % 2 == 1).all()
    assert set(index["height"]) == {160}
    assert set(index["width"]) == {60}
    assert np.sum(roles == "query") == sum(row[3] == "query" for row in held)
    assert np.sum(roles == "unused") == sum(row[3] == "gallery" for row in held) - len(gallery)


def test_cifar100_pixels_are_rows_of_a_channel_after_another(tmp_path):
    """The dataset's page: 1024 red, 1024 green, 1024 blue, each row by row. The order is told by three pixels."""
    data = np.zeros((1, 3072), np.uint8)
    data[0, 1] = data[0, 1024 + 32] = data[0, 2048 + 33] = 255
    batch = {"data": data, "fine_labels": [0], "coarse_labels": [0]}
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for part in ("train", "test"):
        (folder / part).write_bytes(pickle.dumps(batch))
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": ["a"], "coarse_label_names": ["b"]}))
    image = next(iter(dml.data.build("cifar100").images(tmp_path)))["image"]
    assert np.argwhere(image == 255).tolist() == [[0, 1, 0], [1, 0, 1], [1, 1, 2]]


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    class Hostile:
        def __reduce__(self):
            return (print, ("code ran",))

    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": Hostile()}, protocol=2))
    with pytest.raises(DataError, match=r"meta: .*print is not allowed"):
        list(dml.data.build("cifar100").images(tmp_path))


def test_market1501_names_that_say_no_person(tmp_path):
    for folder in ("bounding_box_train", "query", "bounding_box_test"):
        (tmp_path / "Market-1501-v15.09.15" / folder).mkdir(parents=True)
    (tmp_path / "Market-1501-v15.09.15" / "query" / "cat.jpg").write_bytes(encoded(1))
    with pytest.raises(DataError, match=r"cat\.jpg: expected a name such as 0002_c1s1"):
        list(dml.data.build("market1501").images(tmp_path))


@pytest.mark.parametrize("damage", ["truncated", "fewer labels", "another kind of file", "longer"])
def test_damaged_idx_files(damage, tmp_path):
    mnist(tmp_path)
    images, labels = tmp_path / "train-images-idx3-ubyte.gz", tmp_path / "train-labels-idx1-ubyte.gz"
    if damage == "truncated":
        images.write_bytes(images.read_bytes()[:-20])
    elif damage == "fewer labels":
        labels.write_bytes(idx(np.array([1, 2])))
    elif damage == "another kind of file":
        images.write_bytes(labels.read_bytes())
    else:
        content = gzip.decompress(images.read_bytes())
        images.write_bytes(gzip.compress(content + b"\0"))
    with pytest.raises(DataError, match="train-"):
        list(dml.data.build("mnist").images(tmp_path))


def test_damaged_mat_and_text_files(tmp_path):
    (tmp_path / "cars_annos.mat").write_bytes(b"MATLAB 5.0 no more")
    with pytest.raises(DataError, match=r"cars_annos\.mat: truncated"):
        list(dml.data.build("cars196").images(tmp_path))
    (tmp_path / "Stanford_Online_Products").mkdir()
    (tmp_path / "Stanford_Online_Products" / "Ebay_train.txt").write_text("image_id class_id\n1 1\n")
    with pytest.raises(DataError, match=r"Ebay_train\.txt:2: expected 4 columns"):
        list(dml.data.build("sop").images(tmp_path))


# Malformed raw files: one error that names the file, what is in it and what was expected.


def edited(name, old, new):
    """Replaces bytes of a text file below the raw folder."""

    def edit(raw):
        content = (raw / name).read_bytes()
        assert content.count(old) >= 1
        (raw / name).write_bytes(content.replace(old, new, 1))

    return edit


def rewritten(name, make):
    """Writes a file below the raw folder anew."""
    return lambda raw: (raw / name).write_bytes(make())


def cars_annotations(names=CAR_NAMES, kind=("relative_im_path", "class", "test"), label=1):
    entry = tuple({"relative_im_path": "car_ims/000001.jpg", "class": label, "test": 0}[field] for field in kind)
    content = {"annotations": np.array([entry], dtype=[(field, "O") for field in kind]), "class_names": names}
    return matfile(**{key: value for key, value in content.items() if value is not None})


def cifar_batch(**changes):
    batch = {"data": np.zeros((2, 3072), np.uint8), "fine_labels": [0, 1], "coarse_labels": [0, 1]} | changes
    return pickle.dumps({key: value for key, value in batch.items() if value is not None}, protocol=2)


CUB, SOP, CIFAR = "CUB_200_2011", "Stanford_Online_Products", "cifar-100-python"
IDX_IMAGES, IDX_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
MALFORMED = {
    "cub: class 300": (
        cub200,
        edited(f"{CUB}/image_class_labels.txt", b"2 1\n", b"2 300\n"),
        r"image_class_labels\.txt: image 2: the label is '300', expected an integer from 1 to 200",
    ),
    "cub: a label that is no number": (
        cub200,
        edited(f"{CUB}/image_class_labels.txt", b"2 1\n", b"2 wren\n"),
        r"image 2: the label is 'wren'",
    ),
    "cub: no label": (
        cub200,
        edited(f"{CUB}/image_class_labels.txt", b"2 1\n", b""),
        r"image_class_labels\.txt: expected a row for '2'",
    ),
    "cub: no name": (
        cub200,
        edited(f"{CUB}/classes.txt", b"100 100.Some_Bird\n", b""),
        r"classes\.txt: expected a row for '100'",
    ),
    "cub: no part": (
        cub200,
        edited(f"{CUB}/train_test_split.txt", b"2 0\n", b""),
        r"train_test_split\.txt: expected a row for '2'",
    ),
    "cub: no UTF-8": (
        cub200,
        edited(f"{CUB}/images.txt", b"001.Some", b"001.\xff\xfe"),
        r"images\.txt: expected text in UTF-8",
    ),
    "sop: product 22635": (
        sop,
        edited(f"{SOP}/Ebay_test.txt", b" 11319 ", b" 22635 "),
        r"Ebay_test\.txt: image 4: class_id: the label is '22635', expected an integer from 1 to 22634",
    ),
    "sop: kind 13": (
        sop,
        edited(f"{SOP}/Ebay_train.txt", b" 12 ", b" 13 "),
        r"Ebay_train\.txt: image 3: super_class_id: the label is '13', expected an integer from 1 to 12",
    ),
    "cars: class 197": (
        cars196,
        rewritten("cars_annos.mat", lambda: cars_annotations(label=197)),
        r"cars_annos\.mat: car_ims/000001\.jpg: the label is 197, expected an integer from 1 to 196",
    ),
    "cars: a class without a name": (
        cars196,
        rewritten("cars_annos.mat", lambda: cars_annotations(names=CAR_NAMES[:3], label=4)),
        "the label is 4, expected an integer from 1 to 3",
    ),
    "cars: class 1.5": (
        cars196,
        rewritten("cars_annos.mat", lambda: cars_annotations(label=1.5)),
        r"the label is .*1\.5",
    ),
    "cars: no names": (
        cars196,
        rewritten("cars_annos.mat", lambda: cars_annotations(names=None)),
        r"cars_annos\.mat: expected the variables annotations, class_names; it lacks class_names, has annotations",
    ),
    "cars: no field": (
        cars196,
        rewritten("cars_annos.mat", lambda: cars_annotations(kind=("relative_im_path", "class"))),
        r"cars_annos\.mat: expected annotations to be structs .*, class, test; it has relative_im_path, class",
    ),
    "cars: no structs": (
        cars196_separate,
        rewritten("cars_test_annos_withlabels.mat", lambda: matfile(annotations=np.arange(3.0))),
        r"cars_test_annos_withlabels\.mat: expected annotations to be structs",
    ),
    "flowers: class 500": (
        flowers102,
        rewritten("imagelabels.mat", lambda: matfile(labels=np.array([[1, 500, 2, 3, 4]], np.uint16))),
        r"imagelabels\.mat: image 2: the label is 500, expected an integer from 1 to 102",
    ),
    "flowers: class 0": (
        flowers102,
        rewritten("imagelabels.mat", lambda: matfile(labels=np.array([[0, 1, 2, 3, 4]], np.uint8))),
        "image 1: the label is 0",
    ),
    "flowers: no labels": (
        flowers102,
        rewritten("imagelabels.mat", lambda: matfile(other=np.arange(5))),
        r"imagelabels\.mat: expected the variables labels; it lacks labels, has other",
    ),
    "flowers: no part": (
        flowers102,
        rewritten("setid.mat", lambda: matfile(trnid=np.arange(5))),
        r"setid\.mat: expected the variables .* it lacks valid, tstid",
    ),
    "cifar: fine 150": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: cifar_batch(fine_labels=[0, 150])),
        "train: row 1: fine: the label is 150, expected an integer from 0 to 99",
    ),
    "cifar: fine -1": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: cifar_batch(fine_labels=[0, -1])),
        "train: row 1: fine: the label is -1",
    ),
    "cifar: coarse 20": (
        cifar100,
        rewritten(f"{CIFAR}/test", lambda: cifar_batch(coarse_labels=[20, 0])),
        "test: row 0: coarse: the label is 20, expected an integer from 0 to 19",
    ),
    "cifar: fewer labels": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: cifar_batch(fine_labels=[0])),
        "train: expected fine_labels to be a list of 2 labels, got 1",
    ),
    "cifar: labels of another type": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: cifar_batch(coarse_labels=7)),
        "train: expected coarse_labels to be a list of 2 labels, got int",
    ),
    "cifar: no labels": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: cifar_batch(fine_labels=None)),
        "train: expected a dictionary with data, fine_labels, coarse_labels, got data, coarse_labels",
    ),
    "cifar: floats": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: cifar_batch(data=np.zeros((2, 3072)))),
        r"train: expected data to be an array of uint8 \(N, 3072\), got float64 \(2, 3072\)",
    ),
    "cifar: images of another size": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: cifar_batch(data=np.zeros((2, 1024), np.uint8))),
        r"got uint8 \(2, 1024\)",
    ),
    "cifar: no dictionary": (
        cifar100,
        rewritten(f"{CIFAR}/train", lambda: pickle.dumps([1, 2])),
        "train: expected a dictionary with .*, got list",
    ),
    "cifar: too many names": (
        cifar100,
        rewritten(
            f"{CIFAR}/meta",
            lambda: pickle.dumps({"fine_label_names": ["a"] * 101, "coarse_label_names": ["b"] * 20}),
        ),
        "meta: expected fine_label_names to be a list of 100 names",
    ),
    "mnist: digit 12": (
        mnist,
        rewritten(IDX_LABELS, lambda: idx(np.array([0, 7, 12, 3]))),
        rf"{IDX_LABELS}: row 2: the label is 12, expected an integer from 0 to 9",
    ),
    "mnist: images of another size": (
        mnist,
        rewritten(IDX_IMAGES, lambda: idx(np.zeros((4, 14, 14)))),
        rf"{IDX_IMAGES}: its header says 4 x 14 x 14, expected at most 60000 x 28 x 28",
    ),
    "mnist: a header that would fill the memory": (
        mnist,
        rewritten(IDX_IMAGES, lambda: gzip.compress(struct.pack(">4i", 0x803, 1, 2**30, 2**30))),
        rf"{IDX_IMAGES}: its header says 1 x 1073741824 x 1073741824",
    ),
    "mnist: too many labels": (
        mnist,
        rewritten(IDX_LABELS, lambda: idx(np.zeros(60_001))),
        rf"{IDX_LABELS}: its header says 60001, expected at most 60000",
    ),
    "mnist: a negative number": (
        mnist,
        rewritten(IDX_LABELS, lambda: gzip.compress(struct.pack(">2i", 0x801, -1))),
        "its header says -1",
    ),
    "market1501: person 1502": (
        market1501,
        lambda raw: (raw / "Market-1501-v15.09.15/query/1502_c1s1_1_00.jpg").write_bytes(encoded(1)),
        r"1502_c1s1_1_00\.jpg: the label is '1502', expected an integer from 0 to 1501",
    ),
    "market1501: camera 7": (
        market1501,
        lambda raw: (raw / "Market-1501-v15.09.15/query/0001_c7s1_1_00.jpg").write_bytes(encoded(1)),
        r"0001_c7s1_1_00\.jpg: expected a name such as",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_raw_files(case, tmp_path, monkeypatch):
    maker, damage, match = MALFORMED[case]
    name = maker.__name__.split("_")[0]
    (tmp_path / "mirror" / name).mkdir(parents=True)
    options, _ = maker(tmp_path / "mirror" / name)
    monkeypatch.setenv("DML_MIRROR", str(tmp_path / "mirror"))
    source = dml.data.build(name, complete=False, **options)
    source.download(tmp_path / "raw", quiet)
    damage(tmp_path / "raw")
    with pytest.raises(DataError, match=match):
        list(source.images(tmp_path / "raw"))
