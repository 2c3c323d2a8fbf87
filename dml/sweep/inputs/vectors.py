"""What a trial starts from: frozen features, vectors, or the pixels of its images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dml.data.packing import of_vectors
from dml.sweep.inputs.pixels import pixels
from dml.training.data import TrialData, open_packed_of
from dml.training.frozen.recipe import features_id, of_whole_backbone, recipe
from dml.types import EvaluationSet, TrialSpec, Views

PIXELS, VECTORS = "pixels", "vectors"
SIDE = 32  # pixels of the longer side of an image, at most
LEARNED_FROM = ("train", "validation")  # evaluation sets that say nothing of new images


def name_of(spec: TrialSpec, data_root: Path) -> str:
    """The name of what a trial starts from: `pixels`, `vectors` or that of its frozen features.

    A trial on stored activations starts from the features of its whole backbone.
    """
    manifest = open_packed_of(data_root, spec.dataset.name).manifest
    if of_vectors(manifest):
        return VECTORS
    training = of_whole_backbone(spec.training)
    return features_id(recipe(training, manifest)) if training.frozen else PIXELS


def on_new_images(spec: TrialSpec) -> TrialSpec:
    """The confirmed trial with the evaluation sets that it neither trains on nor is chosen by; there may be none."""
    return on_sets(spec, tuple(name for name in spec.evaluation.sets if name not in LEARNED_FROM))


def on_sets(spec: TrialSpec, sets: tuple[EvaluationSet, ...]) -> TrialSpec:
    """The confirmed trial with these evaluation sets, on the features of the whole backbone if it has activations."""
    wanted = replace(spec.evaluation, sets=sets)
    return replace(spec, phase="confirm", training=of_whole_backbone(spec.training), evaluation=wanted)


def evaluated_rows(spec: TrialSpec, data: TrialData) -> np.ndarray:
    """The rows (m,) of all evaluation sets of a trial, sorted."""
    return np.unique(np.concatenate([data.evaluation_rows(name) for name in spec.evaluation.sets]))


def inputs(name: str, data: TrialData, rows: np.ndarray, views: Views = "one") -> np.ndarray:
    """What a trial starts from, float32 (m, V, D): each view of the stored features, vectors or reduced images (m,).

    Pixels are those of `dml.sweep.inputs.pixels`, less the mean image of these rows.
    """
    if name == PIXELS:
        return pixels(data.packed, rows, SIDE, views)
    return np.asarray(data.packed.images[rows], dtype=np.float32)[:, 0]


def with_vectors(data: TrialData, rows: np.ndarray, vectors: np.ndarray) -> TrialData:
    """The data with vectors of V views (m, V, D) in place of the images at sorted rows (m,); it has no others."""
    return replace(data, packed=replace(data.packed, images=_SomeRows(rows, vectors)))


class _SomeRows:
    """Vectors of V views (m, V, D) of some rows of an array, as images of a row of V pixels."""

    def __init__(self, rows: np.ndarray, vectors: np.ndarray):
        self._rows, self._vectors = rows, vectors

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self._vectors[np.searchsorted(self._rows, rows), None]
