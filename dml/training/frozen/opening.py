"""Open stored features and activations, and give them to a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from dml import files
from dml.data import splits
from dml.data.packing import of_vectors
from dml.training.data import TrialData, open_data, open_packed_of
from dml.training.frozen.recipe import features_id, of_each_view, recipe
from dml.types import TrainingSpec, TrialSpec


class FeatureRows:
    """Stands in the place of an augmentation: stored features -> float32, unchanged."""

    version: ClassVar[int] = 1  # of the protocol; a trial's key contains that of the recipe
    image_size: int | None = None

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """float (B, D, 1, V) of V views -> float32 (B, D) of the first."""
        return images[..., 0].flatten(1).float()


class StoredViews:
    """Stands in for packed images, by stored views float (n, views, ...) and mirrored ones (n, 1, ...) as one pixel."""

    def __init__(self, array: np.ndarray, mirrored: np.ndarray | None = None):
        self._array = array.reshape(*array.shape[:2], -1)
        self._columns = [self._array] if mirrored is None else [self._array, mirrored.reshape(len(array), 1, -1)]
        self.views, self.one = array.shape[1], array.shape[2:]
        self.shape = (len(array), 1, len(self._columns), math.prod(self.one))

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return np.stack([column[rows, 0] for column in self._columns], axis=1)[:, None]

    def random(self, rows: np.ndarray, generator: torch.Generator) -> np.ndarray:
        """A random view of each of some images: rows (m,) -> (m, 1, 1, D)."""
        chosen = torch.randint(self.views, (len(rows),), generator=generator).numpy()
        return self._array[rows, chosen][:, None, None]


class Activations:
    """Stands in the place of an augmentation: rows of `StoredViews` -> float32 activations. `shape` (C, H, W)."""

    version: ClassVar[int] = 1  # as of `FeatureRows`
    image_size: int | None = None

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        """float (B, D, 1, V) -> float32 (B, C, H, W) of the first of V views, in a layout that CPUs convolve faster."""
        layout = torch.channels_last if len(self._shape) == 3 else torch.contiguous_format
        return images[..., 0].reshape(len(images), *self._shape).to(torch.float32, memory_format=layout)


ARRAY, MANIFEST, BACKBONE = "features.npy", "manifest.json", "backbone.safetensors"
FOLDER = "features"  # in a project's store, and in the cache of all projects
AGAIN = "delete the folder and run `dvc repro -f features`"


@dataclass(frozen=True)
class StoredFeatures:
    """Stored features or activations of a dataset."""

    array: np.ndarray  # float16 or float32 (n, D) or (n, views, C, H, W), mapped; row i belongs to packed image i
    backbone: Path  # the weights of the network that computed them
    manifest: dict[str, Any]


def is_complete(folder: Path) -> bool:
    """Whether a folder has complete features."""
    return (folder / MANIFEST).is_file()


def open_features(folder: Path) -> StoredFeatures:
    """Open a folder of complete features. The array is mapped, not read. Raises FileNotFoundError, ValueError."""
    manifest = files.read_json(folder / MANIFEST)
    if manifest is None:
        raise FileNotFoundError(f"{folder}: the features are missing; the stage `features` writes them")
    try:
        array = np.lib.format.open_memmap(folder / ARRAY, mode="r")
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder / ARRAY} cannot be read: {error}; {AGAIN}") from error
    of_one = manifest["shape"] if "shape" in manifest else [manifest["features"]]
    shape, stored = (manifest["images"], *of_one), manifest["recipe"]["stored"]
    if array.shape != shape or array.dtype != np.dtype(stored):
        raise ValueError(
            f"{folder}: the manifest says {stored} {shape}, {ARRAY} is {array.dtype} {array.shape}; {AGAIN}"
        )
    return StoredFeatures(array, folder / BACKBONE, manifest)


def find_features(data_root: Path, dataset: str, training: TrainingSpec) -> StoredFeatures:
    """The features or activations that a trial on one of a study's datasets needs. Raises as `open_features` does."""
    name = features_id(recipe(training, open_packed_of(data_root, dataset).manifest))
    path = data_root / "features.json"
    listed = (files.read_json(path) or {}).get(splits.dataset_of(dataset), {})
    if name not in listed:
        raise FileNotFoundError(
            f"{path} has no features {name!r} of dataset {dataset!r}; the stage `features` writes them "
            "(run `dvc repro`)"
        )
    return open_features((data_root / listed[name]["folder"]).resolve())


def open_trial(spec: TrialSpec, data_root: Path) -> TrialData:
    """A trial's data, as `dml.training.data.open_data`; with stored features or activations in place of the images."""
    data = open_data(spec, data_root)
    if not spec.training.stored or of_vectors(data.packed.manifest):
        return data
    views = spec.evaluation.views if spec.evaluation.sets else "one"
    each = [find_features(data_root, spec.dataset.name, view) for view in of_each_view(spec.training, views)]
    arrays = [stored.array[:, None] if spec.training.frozen else stored.array for stored in each]
    rows: Any = arrays[0][:, None] if spec.training.frozen and len(arrays) == 1 else StoredViews(*arrays)
    layers = dict(each[0].manifest.get("layers", ())) or None
    return replace(data, packed=replace(data.packed, images=rows), backbone=each[0].backbone, layers=layers)
