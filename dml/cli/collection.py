"""A person's images or vectors without a project: names, labels, and features that are computed once.

`features/<id>/` in `dml.files.cache` is as in a project's store, whose stages take features from here; `seen/<id>/` is
what a folder or table contained. Deleting them costs time only.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer

from dml import evaluation, files, models
from dml.cli.models import image_files, row_of
from dml.cli.proposal import BLOCK, LENGTH, PHOTOGRAPH, PRETRAINED
from dml.counting import counted
from dml.data import DataError, raw, sources
from dml.data.packing import open_packed, pack, packed_id
from dml.data.packing.decoding import CorruptImage, How, decode, header, resize
from dml.data.sources._table import (
    LABELS,
    check_finite,
    columns_of,
    has_vectors,
    read_vectors,
    row_names,
    table_not_used,
    table_of,
)
from dml.models import Layers
from dml.protocols import Source
from dml.tables import is_table, read_rows
from dml.training import free
from dml.training.frozen.extraction import extract, on_cores
from dml.training.frozen.opening import FOLDER, is_complete, open_features
from dml.training.frozen.recipe import features_id, of_each_view, recipe
from dml.training.process import on_threads
from dml.types import TrainingSpec, Views

NAMES = {PRETRAINED: "EfficientNet-Lite0", "pixels": "the pixels", "vectors": "your vectors"}
PIXELS, VECTORS = "pixels", "vectors"
SIDE = 16  # pixels of images without a network: more make closed forms slow
TIMED = 8  # images whose features are timed, after as many that warm up
SHOWN = 200  # pixels of a picture

Report = Callable[[str], None]


class Slow(ValueError):
    """Features would take longer than they may."""


@dataclass(frozen=True)
class Collection:
    """What a folder, table or file of vectors contains. n rows."""

    place: Path
    names: list[str]  # paths relative to the root, texts, or numbers of rows
    labels: np.ndarray  # (n,) texts, as given; all "" if there are none
    features: Mapping[str, np.ndarray]  # by name, float32 (n, V, D): the first is what is compared with
    left_out: list[str]  # sentences about what is not read
    paths: list[Path] | None  # of the images
    how: How  # they are resized
    index: pd.DataFrame | None = None  # of the images, as packing lists them
    source: Source | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # what the table of vectors calls its columns

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""
        return bool((self.labels != "").any())

    @property
    def network(self) -> str:
        """What makes the first features, as a sentence names it."""
        return NAMES[next(iter(self.features))]

    @property
    def views(self) -> Views:
        """Whether mirror images are looked at too."""
        return "mirror" if next(iter(self.features.values())).shape[1] > 1 else "one"

    @cached_property
    def codes(self) -> np.ndarray:
        """The labels as numbers int64 (n,); -1 where there is none."""
        _, codes = np.unique(self.labels, return_inverse=True)
        return np.where(self.labels == "", -1, codes)

    def pictures(self, rows: np.ndarray) -> np.ndarray:
        """uint8 (m, H, W, 3) of some images."""
        assert self.paths is not None
        return np.stack([resize(decode(self.paths[row], 3), {"side": SHOWN}) for row in rows])

    def free(self) -> free.Free:
        """The best embedding without training as the labels choose it; without enough of them, features as they are."""
        with_labels = self.codes >= 0
        if len(np.unique(self.codes[with_labels])) >= free.FEWEST:
            return free.choose(self.features, self.codes)
        return free.Free(free.Candidate(next(iter(self.features)), free.NO_PROJECTION, self.views), None, {})

    def queries(self, places: Sequence[str]) -> tuple[Sequence[Path | str], dict[str, np.ndarray]]:
        """What to search with, and the same features of it: images; or rows of vectors, or a file of other vectors."""
        if self.paths is not None:
            paths = image_files(map(Path, places))
            return paths, {name: _features(name, paths, self.how, self.views) for name in self.features}
        names: list[str] = []
        vectors: list[np.ndarray] = []
        for text in places:
            if os.path.isfile(text):  # not pathlib's, for which a long text is an error
                rows = read_vectors(other := Path(text), (*LABELS, *self.columns.values()))
                check_finite(other, rows)
                names += row_names(table_of(other), len(rows), self.columns.get("path"))
                vectors.append(np.array(rows, dtype=np.float32)[:, None])
            else:
                row = row_of(text, self.names)
                names, vectors = [*names, self.names[row]], [*vectors, self.features[VECTORS][[row]]]
        lengths = sorted({each.shape[2] for each in (*vectors, self.features[VECTORS])})
        if len(lengths) > 1:
            raise ValueError(f"{self.place}: expected vectors of one length, got {' and '.join(map(str, lengths))}")
        return names, {VECTORS: np.concatenate(vectors)}


def collect(
    place: Path,
    labels: Path | None = None,
    root: Path | None = None,
    columns: Mapping[str, str] | None = None,
    mirror: bool | None = None,
    report: Report = print,
    limit: float = math.inf,
) -> Collection:
    """Read a place, and compute the features that are missing, after saying how long that takes.

    Parameters
    ----------
    place : a folder of images, one for each class or without classes; a table of images; or a file of vectors.
    labels : the table of the labels of vectors.
    root : what the paths of a table are relative to; None: its folder.
    columns : what a table calls its columns.
    mirror : whether mirror images show the same; None: if the images look like photographs.
    limit : seconds that features may take, else Slow is raised; small images are then compared by their pixels.
    """
    kind, options = source_of(place, labels, root, columns)
    if kind == "features":
        return _vectors(place, options, report)
    options, unlabelled = _of_folder(place) if place.is_dir() else (options, False)
    source = sources.build("imagefolder", **options)
    download(source, place)
    name = hashlib.sha256(str(place.resolve()).encode()).hexdigest()[:16]
    with files.locked(
        files.cache() / "seen" / f"{name}.lock", on_wait=lambda: report(f"waiting for another look at {place}")
    ):
        return _images(place, source, options, unlabelled, mirror, report, limit)


def download(source: Source, place: Path, report: Report = lambda line: None) -> None:
    """As the source does. Errors name the option of a command in place of a study's settings."""
    try:
        source.download(place, report)
    except DataError as error:
        raise DataError(re.sub(r"`settings: {columns: {(.+?): (.+)}}`", r"`--column '\1=\2'`", str(error))) from error


def source_of(
    place: Path, labels: Path | None = None, root: Path | None = None, columns: Mapping[str, str] | None = None
) -> tuple[str, dict[str, Any]]:
    """The source that reads a place, `imagefolder` or `features`, and its settings. Parameters as of `collect`."""
    for path in (place, *([root] if root else []), *([labels] if labels else [])):
        raw.check_text(path.resolve())
    columns = dict(columns or {})
    if place.is_dir():
        if root is not None or columns or labels is not None:
            raise typer.BadParameter(f"--root, --column and --labels are about a table or vectors, {place} is a folder")
        return "imagefolder", {"root": str(place.resolve())}
    images = labels is None and (is_table(place) if root is not None else not has_vectors(place, columns))
    table = place if images else labels or table_of(place)
    columns = {**(columns_of(table, images) if table else {}), **columns}
    given = {"columns": columns} if columns else {}
    if images:
        return "imagefolder", {"root": str((root or place.parent).resolve()), "table": str(place.resolve()), **given}
    if root is not None:
        raise typer.BadParameter(f"--root is about a table of images, and {place} has vectors")
    return "features", {"vectors": str(place.resolve()), **({"table": str(table.resolve())} if table else {}), **given}


def _of_folder(place: Path) -> tuple[dict[str, Any], bool]:
    """The settings of the source `imagefolder`, and whether the images have no labels: all are in the folder itself."""
    root, inside = place.resolve(), raw.image_files(place).paths
    if not inside or any(path.parent != place for path in inside):
        return {"root": str(root)}, False
    table = files.cache() / "seen" / f"{packed_id(sources.build('imagefolder', root=str(root)))}.csv"
    text = pd.DataFrame({"path": [path.name for path in inside], "fine": "-"}).to_csv(index=False)
    if not table.is_file() or table.read_text(encoding="utf-8") != text:
        files.write_text(table, text)
    return {"root": str(root), "table": str(table)}, True


def _images(
    place: Path,
    source: Source,
    options: dict[str, Any],
    unlabelled: bool,
    mirror: bool | None,
    report: Report,
    limit: float,
) -> Collection:
    count, small = _glance(source, place)
    try:
        training, how = _of_network(options)
    except ValueError as error:
        report(f"images are compared by their pixels, since no network is here: {error}")
        training, how = None, SIDE
    folder = files.cache() / "seen" / packed_id(source, how, "skip")
    manifest, store = _seen(folder, source, place), files.cache() / FOLDER
    views: Views = "mirror" if (not small if mirror is None else mirror) else "one"
    each = [] if training is None else of_each_view(training, views)
    missing = [one for one in each if manifest is None or not is_complete(store / features_id(recipe(one, manifest)))]
    if missing:
        assert training is not None
        seconds = count * len(missing) * _seconds_each(training.backbone) / (os.cpu_count() or 1) + 5
        text = f"features of {NAMES[PRETRAINED]} take about {_duration(seconds)}"
        if seconds <= limit:
            mirrored = ", with those of mirror images" if len(missing) > 1 else ""
            kept = f"they are kept in {files.cache()}, for dml audit, search and new too"
            report(f"{counted(count, 'image')}: {text}{mirrored} ({kept})")
        elif small:
            each, missing = [], []
        else:
            raise Slow(text)
    if missing or manifest is None:
        shutil.rmtree(folder, ignore_errors=True)

        def progress(line: str) -> None:
            if " left" in line:  # not where files are
                report(line)

        manifest = pack(source, place, folder, how, "skip", report=progress)
        for one in each:
            extract(open_packed(folder), one, store, on_cores, progress)
        (folder / "images.npy").unlink()
    index = pd.read_parquet(folder / "index.parquet")
    base = Path(str(options["root"]))
    paths = [base / path for path in index["path"]]
    arrays = [open_features(store / features_id(recipe(one, manifest))).array for one in each]
    features = {PRETRAINED: np.stack([np.asarray(array, np.float32) for array in arrays], axis=1)} if arrays else {}
    if small or not features:
        features[PIXELS] = _features(PIXELS, paths, SIDE, views)
    labels = np.full(len(index), "") if unlabelled else _labels(index)
    skipped = [f"{entry['path']}: {entry['reason']}" for entry in manifest["skipped"]]
    left_out = [text for text in (sources.left_out(source), manifest.get("lost_classes"), *skipped) if text]
    return Collection(place, index["path"].tolist(), labels, features, left_out, paths, how, index, source)


def _glance(source: Source, place: Path) -> tuple[int, bool]:
    """The number of images, and whether those that are looked at are too small, or too grey, for photographs."""
    images = [record["image"] for record in source.images(place)]
    sides, greys = [], []
    for image in images[:: max(1, len(images) // 20)]:
        with suppress(CorruptImage):
            *size, grey = header(image)
            sides.append(min(size[:2]))
            greys.append(grey)
    return len(images), all(greys) or bool(np.median(sides) < PHOTOGRAPH)


def _of_network(options: Mapping[str, Any]) -> tuple[TrainingSpec, How]:
    """The features that the study of `dml new` starts from, so that it finds them, and the pixels that they take."""
    from dml.config import study_from
    from dml.sweep.inputs.vectors import frozen_trainings

    models.find(PRETRAINED).check_installed({})
    dataset = {"name": "imagefolder", "id": "images", "settings": dict(options), "resize": "network", "mirror": True}
    network = {"backbone": PRETRAINED, "train_from": BLOCK, "embedding_size": LENGTH}
    content = {"title": "look", "datasets": [dataset], "losses": ["whitening"], "recipe": "partial"}
    study = study_from({**content, "training": network, "search": {"sampler": "fixed"}}, "look")
    return frozen_trainings(study, "images")[0], study.datasets[0].packing["resize"]


def _seen(folder: Path, source: Source, place: Path) -> dict[str, Any] | None:
    """The manifest of a place that was read before, if its files are as they were."""
    manifest, origin = (files.read_json(folder / name) for name in ("manifest.json", "origin.json"))
    same = isinstance(origin, dict) and origin.get("files") == source.fingerprint(place)
    return manifest if same and isinstance(manifest, dict) and (folder / "index.parquet").is_file() else None


def _seconds_each(backbone: str) -> float:
    """Seconds of one core for the features of one view of an image."""
    side = models.pixels_of([(backbone, {})]).side
    network = models.build(backbone, embedding_size=1, image_size=side).backbone
    images = torch.rand(TIMED, 3, side, side)
    with on_threads(1):
        evaluation.embed(network, [images], TIMED)
        began = time.perf_counter()
        evaluation.embed(network, [images], TIMED)
        return (time.perf_counter() - began) / TIMED


def _features(name: str, paths: Sequence[Path], how: How, views: Views) -> np.ndarray:
    return free.features_of(paths, name, side=SIDE if name == PIXELS else how, views=views)[Layers.last]


def _labels(index: pd.DataFrame) -> np.ndarray:
    """The name of each image's class as given; a number without one is its name."""
    named = index.loc[index["fine_name"] != "", ["fine", "fine_name"]].drop_duplicates("fine")
    names = dict(zip(named["fine"], named["fine_name"], strict=True))
    given = index["given_fine"] if "given_fine" in index else index["fine"]
    return np.array([names.get(number, str(number)) for number in given], dtype=str)


def _vectors(place: Path, options: Mapping[str, Any], report: Report) -> Collection:
    """Vectors as they are; their labels, and the paths or texts of rows, from a table, if there is one."""
    table, columns = Path(options["table"]) if "table" in options else None, options.get("columns", {})
    named = set() if table is None else {*read_rows(table)[0], *columns}
    source, rows = None, read_vectors(place, (*LABELS, *columns.values()))
    unlabelled = [f"{other}. --labels names a table"] if table is None and (other := table_not_used(place)) else []
    if named & {"fine", "given"}:
        source = sources.build("features", **options)
        download(source, place)
        classes = _labels(pd.DataFrame(source.images(place)))
    else:
        check_finite(place, rows)
        if table is not None:
            others = ", ".join(str(name) for name in read_rows(table)[0])
            unlabelled = [f"No column of {table.name} is known as labels. --column fine=NAME names one of: {others}"]
        classes = np.full(len(rows), "")
    names = row_names(table, len(rows), columns.get("path"))
    vectors = np.array(rows, dtype=np.float32)[:, None]
    report(f"{counted(len(vectors), 'vector')} of {vectors.shape[2]} numbers, taken as they are")
    return Collection(place, names, classes, {VECTORS: vectors}, unlabelled, None, None, None, source, columns)


def _duration(seconds: float) -> str:
    return f"{10 * round(seconds / 10 + 0.5)} s" if seconds < 100 else f"{round(seconds / 60)} min"
