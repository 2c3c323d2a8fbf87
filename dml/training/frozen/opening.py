"""Open stored features and activations, and give them to a trial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dml import files
from dml.data import class_splits
from dml.data.packing import of_vectors
from dml.training.data import TrialData, open_data, open_packed_of
from dml.training.frozen.recipe import features_id, of_each_view, recipe
from dml.training.frozen.rows import StoredViews
from dml.types import TrainingSpec, TrialSpec

ARRAY, MANIFEST, BACKBONE = "features.npy", "manifest.json", "backbone.safetensors"
FOLDER = "features"  # in a project's store, and in the cache of all projects
AGAIN = "delete the folder and run `dvc repro -f features`"


@dataclass(frozen=True)
class StoredFeatures:
    """Stored features or activations of a dataset."""

    array: (
        np.ndarray
    )  # float16 or float32 (n, D) or (n, views, C, H, W), mapped; row i belongs to row i of the packed images
    backbone: Path  # the weights of the network that computed them
    manifest: dict[str, Any]


def is_complete(folder: Path) -> bool:
    """Whether a folder has complete features."""
    return (folder / MANIFEST).is_file()


def open_features(folder: Path) -> StoredFeatures:
    """Open a folder of complete features. The array is mapped, not read.

    Raises
    ------
    FileNotFoundError : there are none; the message names the stage to run.
    ValueError : the files differ from the manifest.
    """
    manifest = files.read_json(folder / MANIFEST)
    if manifest is None:
        raise FileNotFoundError(f"{folder}: the features are missing; the stage `features` writes them")
    try:
        array = np.lib.format.open_memmap(folder / ARRAY, mode="r")
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder / ARRAY} cannot be read: {error}; {AGAIN}") from error
    shape, stored = (manifest["images"], *_of_one(manifest)), manifest["recipe"]["stored"]
    if array.shape != shape or array.dtype != np.dtype(stored):
        raise ValueError(
            f"{folder}: the manifest says {stored} {shape}, {ARRAY} is {array.dtype} {array.shape}; {AGAIN}"
        )
    return StoredFeatures(array, folder / BACKBONE, manifest)


def _of_one(manifest: dict[str, Any]) -> list[int]:
    """The shape of what is stored of one image."""
    return manifest["shape"] if "shape" in manifest else [manifest["features"]]


def find_features(data_root: Path, dataset: str, training: TrainingSpec) -> StoredFeatures:
    """The features or activations that a trial on one of a study's datasets needs. Raises as `open_features` does."""
    name = features_id(recipe(training, open_packed_of(data_root, dataset).manifest))
    path = data_root / "features.json"
    listed = (files.read_json(path) or {}).get(class_splits.dataset_of(dataset), {})
    if name not in listed:
        raise FileNotFoundError(
            f"{path} has no features {name!r} of dataset {dataset!r}; the stage `features` writes them "
            "(run `dvc repro`)"
        )
    return open_features((data_root / listed[name]["folder"]).resolve())


def open_trial(spec: TrialSpec, data_root: Path) -> TrialData:
    """A trial's data, as `dml.training.data.open_data`; with stored features or activations in place of the images.

    They are images of one pixel with D channels: `packed.images` is then float (n, 1, 1, D), or `StoredViews`. Mirror
    images are opened too, if their embeddings are evaluated.

    Raises
    ------
    FileNotFoundError : a stage's output is missing; the message names the stage to run.
    """
    data = open_data(spec, data_root)
    if not spec.training.stored or of_vectors(data.packed.manifest):
        return data
    views = spec.evaluation.views if spec.evaluation.sets else "one"
    each = of_each_view(spec.training, views)
    found, *mirrored = (find_features(data_root, spec.dataset.name, training) for training in each)
    arrays = [one.array[:, None] if spec.training.frozen else one.array for one in (found, *mirrored)]
    rows: Any = arrays[0][:, None] if spec.training.frozen and not mirrored else StoredViews(*arrays)
    layers = dict(found.manifest.get("layers", ())) or None
    return replace(data, packed=replace(data.packed, images=rows), backbone=found.backbone, layers=layers)
