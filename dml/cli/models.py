"""Finds a trained model by what a user calls it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer
from PIL import Image
from rich.console import Console
from rich.progress import track

from dml.cli.project import find_project
from dml.data import raw
from dml.data.packing.decoding import CorruptImage, decode, resize
from dml.data.packing.listing import ordered
from dml.data.sources._table import LABELS, check_finite, read_vectors, row_names, table_of
from dml.data.sources._table import SUFFIXES as FILES
from dml.files import read_json
from dml.training.model_files import TrainedEmbedder

DESCRIPTION = "model.json"
NOTHING = f"{{text}}: no trained model: expected {DESCRIPTION} and model.safetensors in it or in its model/"


def find_model(text: str, dataset: str | None = None, noise: str | None = None) -> Path:
    """The folder of a trained model, by its folder, its trial's, a study or the URI of a model in MLflow.

    Of a study, `dataset` is one of several, and `noise` a noise or a level in place of labels as given.
    """
    from dml.tracking.connection import default_uri, model_folder

    if text.startswith(("models:/", "runs:/")):
        try:  # in a project its database needs no MLFLOW_TRACKING_URI, and its folder is the working one
            project = find_project()
        except ValueError:
            folder = model_folder(text)
        else:
            with chdir(project.root):
                folder = model_folder(text, default_uri())
    elif (here := model_folder_of(Path(text))) is not None:
        folder = here
    else:
        return _of_study(text, dataset, noise)  # also where a folder of images has its name
    if dataset is not None or noise is not None:
        raise ValueError(f"{text}: is one model: --dataset and --noise choose among those of a study")
    return folder


def model_folder_of(folder: Path) -> Path | None:
    """The folder of a model that is given by its own folder, or that of its trial; None if it is not."""
    return next((path for path in (folder, folder / "model") if (path / DESCRIPTION).is_file()), None)


def _of_study(study: str, dataset: str | None, noise: str | None) -> Path:
    """The best seed with a model here, of the cell with the best validation score (without tuning: mean score)."""
    import pandas as pd

    from dml.discovery import suggestion
    from dml.sweep.store.init_from import cells_for_use, validation_scores

    try:
        project = find_project()
    except ValueError as error:
        if Path(study).is_dir():
            raise ValueError(NOTHING.format(text=study)) from None
        raise ValueError(f"{study}: no such folder. Studies are found in a project only; {error}") from None
    tables = {path.parent.name for path in project.results.glob("*/trials.parquet")}
    if study not in tables:
        if Path(study).is_dir():
            raise ValueError(NOTHING.format(text=study))
        if study in project.names():
            raise ValueError(f"study {study!r} has no results here: run it with `dml run {study}`")
        raise ValueError(
            f"{study!r}: expected a trial's folder, a model of MLflow (models:/...), or a study with "
            f"results{suggestion(study, sorted(tables) or project.names())}"
        )
    trials = cells_for_use(pd.read_parquet(project.results / study / "trials.parquet"), study, dataset, noise)
    confirmed, order = trials[trials["phase"] == "confirm"], validation_scores(trials)
    if order.empty:
        order = confirmed.groupby("cell")["objective"].mean().sort_values(ascending=False, kind="stable")
    by = ["split", "objective"] if "split" in confirmed else ["objective"]
    for cell in order.index:
        trials = confirmed[confirmed["cell"] == cell].sort_values(by, ascending=[name == "split" for name in by])
        for key in trials["key"]:
            folder = project.store / "trials" / key / "model"
            if (folder / DESCRIPTION).is_file():
                return folder
    raise ValueError(
        f"study {study!r}: none of its {len(confirmed)} confirmed trials with these labels has a model in "
        f"{project.store / 'trials'}. Published trials have none: `DML_SNAPSHOTS=off dml run {study}` trains them here"
    )


def describe(folder: Path) -> str:
    """A model's place and network, and the noise if it was not trained with labels as they are, for a message."""
    from dml.config.data import makes_noise
    from dml.types import NoiseLevel

    network = (read_json(folder / DESCRIPTION) or {})["network"]
    noise = (read_json(folder.parent / "spec.json") or {}).get("spec", {}).get("noise", {})
    relative = os.path.relpath(folder)
    place = relative if not relative.startswith("..") else folder
    text = f"{place}: {network['backbone']}, {network['embedding_size']} numbers"
    if not noise.get("rate") or not makes_noise(noise["model"]):
        return text
    return f"{text}; trained at {NoiseLevel(noise['model'], noise['rate'])}, not with labels as given"


BATCH = 128  # images
ROWS = 8192  # vectors


class Embedded(NamedTuple):
    """Vectors of image files, or of rows of a file of vectors."""

    paths: Sequence[Path | str]  # of images; of rows their text or path as it is
    vectors: np.ndarray  # float32 (N, D)

    def row(self, text: str) -> Embedded:
        """One of the rows, by its name or number."""
        row = row_of(text, self.paths)
        return Embedded([self.paths[row]], self.vectors[[row]])


def image_files(places: Iterable[Path]) -> list[Path]:
    """Files as given, and the images below folders, in the order of names. Prints what is left out of a folder."""
    places, files = list(places), []
    for place in places:
        if not place.exists():
            raise ValueError(f"{place}: no such file or folder")
        inside = raw.image_files(place) if place.is_dir() else raw.ImageFiles([raw.check_text(place)], "")
        files += inside.paths
        if inside.left_out:
            print(f"{place}: {inside.left_out}", file=sys.stderr)
    if not files:
        raise ValueError(f"{', '.join(map(str, places))}: no images ({', '.join(raw.walking.suffixes())})")
    return files


def embed_files(model: Path, paths: Sequence[Path], skip_corrupt: bool = False) -> Embedded:
    """Embed image files, resized as the model's training images were. Shows a progress bar on stderr."""
    embedder = TrainedEmbedder(model)
    described = read_json(model / DESCRIPTION) or {}
    shape, how = described.get("image_shape"), described.get("resize")
    if not isinstance(shape, list) or len(shape) != 3:
        raise ValueError(f"{model}: this model does not take images (image_shape is {shape!r})")
    height, width, channels = shape

    def read(path: Path) -> np.ndarray | str:
        try:
            image = decode(path, channels)
            if not how:  # a model of images of one size, which need not be squares
                image = image.resize((width, height), Image.Resampling.BILINEAR)
            return resize(image, how or None)
        except CorruptImage as error:
            return f"{path}: {error}"

    pixels = ordered(read, paths, os.cpu_count() or 1)
    shown = track(pixels, "embedding", len(paths), console=Console(stderr=True), disable=not sys.stderr.isatty())
    kept, parts, corrupt = [], [], []
    images = zip(paths, shown, strict=True)
    while batch := list(islice(images, BATCH)):
        corrupt += [image for _, image in batch if isinstance(image, str)]
        if corrupt and not skip_corrupt:
            raise ValueError(f"{corrupt[0]} (--skip-corrupt leaves such files out)")
        good = [(path, image) for path, image in batch if not isinstance(image, str)]
        if good:
            kept += [path for path, _ in good]
            parts.append(embedder(np.stack([image for _, image in good])))
    if not parts:
        raise ValueError(f"none of {len(paths)} images can be decoded, such as {corrupt[0]}")
    if corrupt:
        print(f"{len(corrupt)} left out, such as {corrupt[0]}", file=sys.stderr)
    return Embedded(kept, np.concatenate(parts))


def takes_vectors(model: Path) -> bool:
    """Whether a trained model takes vectors in place of images."""
    return len((read_json(model / DESCRIPTION) or {}).get("image_shape") or ()) == 1


def embed_rows(model: Path, place: Path, columns: Mapping[str, str], table: Path | None = None) -> Embedded:
    """As `embed_vectors`, each row under the path or text that a table, the file itself or a `.csv` beside it says."""
    vectors = embed_vectors(model, [place], columns)
    return Embedded(row_names(table or table_of(place), len(vectors), columns.get("path")), vectors)


def row_of(text: str, names: Sequence[Path | str]) -> int:
    """The row of a file of vectors that a query means: by its name, else by its number."""
    if text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < len(names):
        return int(text)
    raise typer.BadParameter(
        f"{text}: expected a file of vectors, the number of a row from 0 to {len(names) - 1}, or the path or "
        f"text of one, such as {str(names[0])!r}"
    )


def embed_vectors(model: Path, places: Sequence[Path], columns: Mapping[str, str]) -> np.ndarray:
    """Embed the vectors of one file: float32 (N, D). `columns`: what a table calls those that are no dimensions."""
    embedder = TrainedEmbedder(model)
    (size,), (path, *others) = embedder.shape, places
    if others or path.suffix.lower() not in FILES:
        got = ", ".join(map(str, places))
        raise ValueError(
            f"this model takes vectors of {size} numbers: expected one file ({', '.join(FILES)}), got {got}"
        )
    vectors = read_vectors(path, (*LABELS, *columns.values()))
    if vectors.shape[1] != size:
        raise ValueError(f"{path}: expected vectors of {size} numbers, got {vectors.shape[1]}")
    check_finite(path, vectors)
    starts = range(0, len(vectors), ROWS)
    return np.concatenate([embedder(np.asarray(vectors[i : i + ROWS], dtype=np.float32)) for i in starts])
