"""Photographs of birds, cars, products and flowers, for metric learning. Each class is a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dml.data.raw import Archive
from dml.data.sources._files import FetchedSource, entry, halves, label, mat, rows, structs
from dml.settings import check_choice

BIRDS = 200


class Cub200(FetchedSource):
    """CUB-200-2011: 11,788 photographs of 200 kinds of birds (Wah et al. 2011).

    The first 100 classes train (5,864 images), the other 100 test (5,924), as in all of the papers. `part` is the
    dataset's own split of the images, which metric learning does not use.

    URL: CaltechDATA record 65de6-vp158. MD5: public loaders. SHA-256: TensorFlow Datasets. `complete`: False accepts a
    part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "cub200"
    archives: Sequence[Archive] = (
        Archive(
            "CUB_200_2011.tgz",
            ("https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",),
            md5="97eceeb196236b17998738112f37df78",
            sha256="0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081",
        ),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 5864, "fine": 100},
        "test": {"images": 5924, "fine": 100},
    }

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files in the order of `images.txt`."""
        folder = raw / "CUB_200_2011"
        tables = [folder / f"{name}.txt" for name in ("classes", "image_class_labels", "train_test_split")]
        names, labels, train = (dict(rows(table, 2)) for table in tables)
        for image, path in rows(folder / "images.txt", 2):
            number = entry(labels, image, tables[1])
            fine = label(number, BIRDS, f"{tables[1]}: image {image}")
            yield {
                "image": folder / "images" / path,
                "fine": fine,
                "fine_name": entry(names, number, tables[0]),
                "path": f"CUB_200_2011/images/{path}",
                "part": "train" if entry(train, image, tables[2]) == "1" else "test",
            }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (classes 1-100) and test (101-200)."""
        return halves(index["fine"].to_numpy(), last=99)


GONE = "The original host (ai.stanford.edu/~jkrause/cars) no longer serves the dataset; data platforms offer copies."
CARS = 196
LAYOUTS: Mapping[str, tuple[Archive, ...]] = {
    "combined": (
        Archive("car_ims.tgz", md5="d5c8f0aa497503f355e17dc7886c3f14", hint=GONE),
        Archive("cars_annos.mat", md5="b407c6086d669747186bd1d764ff9dbc", extract=False, hint=GONE),
    ),
    "separate": (
        Archive("cars_train.tgz", sha256="512b227b30e2f0a8aab9e09485786ab4479582073a144998da74d64b801fd288", hint=GONE),
        Archive("cars_test.tgz", sha256="bffea656d6f425cba3c91c6d83336e4c5f86c6cffd8975b0f375d3a10da8e243", hint=GONE),
        Archive("car_devkit.tgz", sha256="b97deb463af7d58b6bfaa18b2a4de9829f0f79e8ce663dfa9261bf7810e9accd", hint=GONE),
        Archive(
            "cars_test_annos_withlabels.mat",
            sha256="790f75be8ea34eeded134cc559332baf23e30e91367e9ddca97d26ed9b895f05",
            extract=False,
            hint=GONE,
        ),
    ),
}


class Cars196(FetchedSource):
    """Cars196: 16,185 photographs of 196 models of cars (Krause et al. 2013).

    The first 98 classes train (8,054 images), the other 98 test (8,131). The original host no longer serves the files,
    so put them in place by hand or use a mirror. Two layouts contain the same images and classes:

    - `combined`: car_ims.tgz and cars_annos.mat, which the metric-learning papers read;
    - `separate`: cars_train.tgz, cars_test.tgz, car_devkit.tgz, cars_test_annos_withlabels.mat, as torchvision reads.

    MD5 sums of `combined`: public loaders. SHA-256 sums of `separate`: TensorFlow Datasets. `layout`: which archives to
    read. `complete`: False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "cars196"
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 8054, "fine": 98},
        "test": {"images": 8131, "fine": 98},
    }

    def __init__(self, layout: str = "combined", complete: bool = True) -> None:
        check_choice("layout", layout, tuple(LAYOUTS))
        super().__init__(complete)
        self.layout = layout
        self.options = {"layout": layout, "complete": complete}
        self.archives = LAYOUTS[layout]

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files in the order of the annotations; `separate` has the training part first."""
        if self.layout == "combined":
            table = raw / "cars_annos.mat"
            content = mat(table, "annotations", "class_names")
            names = np.atleast_1d(content["class_names"])
            for entry in structs(content, "annotations", table, "relative_im_path", "class", "test"):
                part = "test" if entry["test"] else "train"
                yield _record(raw, table, str(entry["relative_im_path"]), entry["class"], names, part)
            return
        names = np.atleast_1d(mat(raw / "devkit" / "cars_meta.mat", "class_names")["class_names"])
        tables = {"train": raw / "devkit" / "cars_train_annos.mat", "test": raw / "cars_test_annos_withlabels.mat"}
        for part, table in tables.items():
            for entry in structs(mat(table, "annotations"), "annotations", table, "fname", "class"):
                yield _record(raw, table, f"cars_{part}/{entry['fname']}", entry["class"], names, part)

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (classes 1-98) and test (99-196)."""
        return halves(index["fine"].to_numpy(), last=97)


def _record(raw: Path, table: Path, path: str, number: Any, names: np.ndarray, part: str) -> dict[str, Any]:
    fine = label(number, min(CARS, len(names)), f"{table}: {path}")
    return {"image": raw / path, "fine": fine, "fine_name": str(names[fine]), "path": path, "part": part}


FOLDER = "Stanford_Online_Products"
PRODUCTS, KINDS = 22634, 12


class Sop(FetchedSource):
    """Stanford Online Products: 120,053 photographs of 22,634 products of 12 kinds (Oh Song et al. 2016).

    Fine is the product, coarse its kind. The split is the dataset's own and class-disjoint: 11,318 products train
    (59,551 images), 11,316 test (60,502).

    URLs: the authors' server, by HTTP and FTP. MD5: public loaders. SHA-256: TensorFlow Datasets. `complete`: False
    accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "sop"
    levels: ClassVar[tuple[str, ...]] = ("fine", "coarse")
    archives: Sequence[Archive] = (
        Archive(
            f"{FOLDER}.zip",
            (f"http://ftp.cs.stanford.edu/cs/cvgl/{FOLDER}.zip", f"ftp://cs.stanford.edu/cs/cvgl/{FOLDER}.zip"),
            md5="7f73d41a2f44250d4779881525aea32e",
            sha256="b04fa78210e69fab050ce73939550e1cd0f96890bdd98ec9fee732c3b756ef48",
        ),
    )
    counts: Mapping[str, Mapping[str, int]] = {
        "train": {"images": 59551, "fine": 11318, "coarse": 12},
        "test": {"images": 60502, "fine": 11316, "coarse": 12},
    }

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files in the order of `Ebay_train.txt`, then `Ebay_test.txt`."""
        folder = raw / FOLDER
        for part in ("train", "test"):
            table = folder / f"Ebay_{part}.txt"
            for image, product, kind, path in rows(table, 4, header=True):
                yield {
                    "image": folder / path,
                    "fine": label(product, PRODUCTS, f"{table}: image {image}: class_id"),
                    "coarse": label(kind, KINDS, f"{table}: image {image}: super_class_id"),
                    "fine_name": product,
                    "coarse_name": path.split("/")[0].removesuffix("_final"),
                    "path": f"{FOLDER}/{path}",
                    "part": part,
                }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """The dataset's own train and test."""
        return index["part"].to_numpy().astype(str)


URL = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
FLOWERS = 102
PARTS = {"trnid": "train", "valid": "val", "tstid": "test"}


def _archive(name: str, md5: str, extract: bool = False) -> Archive:
    return Archive(name, (URL + name,), md5=md5, extract=extract)


class Flowers102(FetchedSource):
    """Oxford 102 Flowers: 8,189 photographs of 102 kinds of flowers (Nilsback and Zisserman 2008).

    The first 51 classes train, the other 51 test: the usual class-disjoint halves of this dataset. The label-noise
    paper (Le and Odobez) names the dataset but not its split. `part` is the dataset's own split of the images (train,
    val, test), whose classes are not disjoint. No source at hand states the number of images in each half, so only the
    total is checked.

    URLs and MD5 sums: torchvision.datasets.Flowers102. `complete`: False accepts a part of the dataset.
    """

    version: ClassVar[int] = 1
    name: ClassVar[str] = "flowers102"
    archives: Sequence[Archive] = (
        _archive("102flowers.tgz", "52808999861908f626f3c1f4e79d11fa", extract=True),
        _archive("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        _archive("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    )
    counts: Mapping[str, Mapping[str, int]] = {"train": {"fine": 51}, "test": {"fine": 51}, "all": {"images": 8189}}

    def images(self, raw: Path) -> Iterator[Mapping[str, Any]]:
        """Records of JPEG files by number."""
        table = raw / "imagelabels.mat"
        labels = np.atleast_1d(mat(table, "labels")["labels"]).tolist()
        sets = mat(raw / "setid.mat", *PARTS)
        parts = {int(image): part for key, part in PARTS.items() for image in np.atleast_1d(sets[key])}
        for number, value in enumerate(labels, start=1):
            fine = label(value, FLOWERS, f"{table}: image {number}")
            path = f"jpg/image_{number:05d}.jpg"
            yield {
                "image": raw / path,
                "fine": fine,
                "fine_name": f"{fine + 1:03d}",
                "path": path,
                "part": parts.get(number, ""),
            }

    def roles(self, index: pd.DataFrame) -> np.ndarray:
        """train (classes 1-51) and test (52-102)."""
        return halves(index["fine"].to_numpy(), last=50)
