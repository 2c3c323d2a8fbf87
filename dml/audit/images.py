"""What an audit of a study is given: labels as people gave them, and representations of the images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from dml import audit, evaluation
from dml.config import Study, audited_dataset
from dml.data.packing import Packed, of_vectors
from dml.sweep.inputs.vectors import SIDE, audited_trainings, extract_in_workers, frozen_trainings, pixels
from dml.training.data import open_packed_of
from dml.training.frozen.extraction import extract
from dml.training.frozen.opening import open_features
from dml.training.frozen.recipe import features_id, of_each_view, recipe


class Audited(NamedTuple):
    """The images that are audited: all that have a label, whatever their role in the split."""

    dataset: str
    level: str  # of the labels: that on which the study trains
    packed: Packed
    rows: np.ndarray  # int64 (n,): their rows in the packed array
    numbers: np.ndarray  # int64 (n,): the labels as given, as in the packed index
    labels: np.ndarray  # (n,): their names; a number without a name of its own is its name

    @property
    def paths(self) -> list[str]:
        """Their files."""
        return [str(path) for path in self.packed.index["path"].to_numpy()[self.rows]]

    def images(self, places: np.ndarray) -> np.ndarray:
        """uint8 (m, H, W, C) of some of the n images."""
        return np.asarray(self.packed.images[self.rows[places]])


def audited(study: Study, data_root: Path) -> Audited:
    """The images of the audited dataset, with labels as given. Verified labels are not read if there are others."""
    dataset = audited_dataset(study)
    level, packed = study.dataset(dataset).train_on, open_packed_of(data_root, dataset)
    column = f"given_{level}" if f"given_{level}" in packed.index else level
    numbers = packed.index[column].to_numpy(np.int64)
    rows = np.flatnonzero(numbers >= 0)
    names = _names(packed.index, level)
    labels = np.array([names.get(number, str(number)) for number in numbers[rows].tolist()], dtype=str)
    audit.check_labels(labels)
    return Audited(dataset, level, packed, rows, numbers[rows], labels)


def verified(images: Audited) -> np.ndarray | None:
    """The verified labels int64 (n,), if there are any beside the given ones. Only measures of an audit use them."""
    if f"given_{images.level}" not in images.packed.index:
        return None
    return images.packed.index[images.level].to_numpy(np.int64)[images.rows]


def representations(
    study: Study, images: Audited, store: Path, report: Callable[[str], None] = print
) -> dict[str, np.ndarray]:
    """Vectors float32 (n, D) by name: pixels, the study's frozen features and those that its audit names.

    Of a dataset of vectors, only these. Ray's workers compute features that are missing.
    """
    if of_vectors(images.packed.manifest):
        return {"vectors": np.asarray(images.packed.images[images.rows][:, 0, 0], dtype=np.float32)}
    views, run = study.evaluation.views, partial(extract_in_workers, study.resources)
    vectors = {"pixels": _joined([*pixels(images.packed, images.rows, SIDE, views).swapaxes(0, 1)])}
    specs = [*frozen_trainings(study, images.dataset), *audited_trainings(study, images.dataset)]
    needed = {features_id(recipe(spec, images.packed.manifest)): spec for spec in specs}
    for name, spec in needed.items():
        folders = (extract(images.packed, one, store, run, report) for one in of_each_view(spec, views))
        short = name.rpartition("-")[0]
        taken = [other.rpartition("-")[0] for other in needed].count(short) > 1
        each = [open_features(folder).array[images.rows].astype(np.float32) for folder in folders]
        vectors[name if taken else short] = _joined(each)
    return vectors


def _joined(views: Sequence[np.ndarray]) -> np.ndarray:
    return views[0] if len(views) == 1 else evaluation.joined([torch.from_numpy(view) for view in views]).numpy()


def _names(index: pd.DataFrame, level: str) -> dict[int, str]:
    """The name of each class; none where names are missing or shared by classes."""
    named = index.loc[index[level] >= 0, [level, f"{level}_name"]].drop_duplicates(level)
    names = {int(number): str(name) for number, name in named.itertuples(index=False)}
    return names if all(names.values()) and len(set(names.values())) == len(names) else {}
