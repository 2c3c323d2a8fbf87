"""What a trial starts from: frozen features, vectors, or the pixels of its images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from dml.config import ResourcesSection, Study, audited_dataset
from dml.config import study as closed_forms
from dml.data.packing import Packed, of_vectors
from dml.sweep.execution.cluster import in_workers
from dml.training.data import TrialData, open_packed_of
from dml.training.frozen.extraction import Extraction, extract, in_process
from dml.training.frozen.recipe import features_id, of_each_view, of_whole_backbone, recipe
from dml.types import EvaluationSet, TrainingSpec, TrialSpec, Views

PIXELS, VECTORS = "pixels", "vectors"
SIDE = 32  # pixels of the longer side of an image, at most
LEARNED_FROM = ("train", "validation")  # evaluation sets that say nothing of new images
FEW = 2  # shards that are computed sooner than Ray starts
NUMBERS = 50_000_000  # pixels of all images together: 200 MB; more images are reduced further
SMALLEST = 4  # pixels of a side
CHUNK = 1024  # images


def pixels(packed: Packed, rows: np.ndarray, side: int, views: Views = "one") -> np.ndarray:
    """Reduced images as vectors of their views, float32 (n, V, h w C), from 0 to 1, less the mean image."""
    height, width, channels = packed.images.shape[1:]
    most = max(SMALLEST, int((NUMBERS / (len(rows) * channels)) ** 0.5))
    scale = min(1.0, min(side, most) / max(height, width))
    size = (max(1, round(height * scale)), max(1, round(width * scale)))
    out = np.empty((len(rows), size[0] * size[1] * channels), np.float32)
    for start in range(0, len(rows), CHUNK):
        images = np.array(packed.images[rows[start : start + CHUNK]])
        part = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
        if size != (height, width):
            part = functional.interpolate(part, size=size, mode="bilinear", antialias=True, align_corners=False)
        out[start : start + CHUNK] = part.flatten(1).numpy()
    together = out[:, None]
    if views == "mirror":
        mirrored = out.reshape(len(rows), channels, *size)[..., ::-1].reshape(out.shape)
        together = np.stack([out, mirrored], axis=1)
    together -= together.mean(axis=0, dtype=np.float64).mean(axis=0).astype(np.float32)
    return together


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
    evaluation = replace(spec.evaluation, sets=sets)
    return replace(spec, phase="confirm", training=of_whole_backbone(spec.training), evaluation=evaluation)


def evaluated_rows(spec: TrialSpec, data: TrialData) -> np.ndarray:
    """The rows (m,) of all evaluation sets of a trial, sorted."""
    return np.unique(np.concatenate([data.evaluation_rows(name) for name in spec.evaluation.sets]))


def inputs(name: str, data: TrialData, rows: np.ndarray, views: Views = "one") -> np.ndarray:
    """What a trial starts from, float32 (m, V, D): each view of the features, vectors or `pixels` of some rows (m,)."""
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


def frozen_trainings(study: Study, dataset: str) -> list[TrainingSpec]:
    """The settings among `stored_trainings` of features of images as they are."""
    return [training for training in stored_trainings(study, dataset) if training.frozen and not training.mirrored]


def stored_trainings(study: Study, dataset: str) -> list[TrainingSpec]:
    """The settings of the study's trials on stored features or activations of a dataset of images.

    With those on activations come those on the features of the whole backbone, from which such trials start, with the
    method `free` those of several layers, and with `evaluation.views: mirror` those of the mirror images.
    """
    if study.dataset(dataset).passes_on is not None:
        return []
    trainings = []
    for cell in (cell for cell in study.cells() if cell.dataset == dataset):
        training = study.training_of(cell).spec(device=study.resources.device)
        if training.stored:
            fitted = closed_forms.training_of(cell.loss.name, training, images=True)
            trainings += [training, of_whole_backbone(training), *([fitted] if fitted.layers else [])]
    return _of_each_view(study, trainings)


def _of_each_view(study: Study, specs: Sequence[TrainingSpec]) -> list[TrainingSpec]:
    """The settings, each once, and for each those of all views that the study evaluates."""
    return list({repr(one): one for spec in specs for one in of_each_view(spec, study.evaluation.views)}.values())


def audited_trainings(study: Study, dataset: str) -> list[TrainingSpec]:
    """The network whose features the study's section `audit` asks for, as the settings of a frozen trial."""
    section = None if study.audit is None or audited_dataset(study) != dataset else study.audit.training()
    return [] if section is None else [section.spec(device=study.resources.device)]


def extract_all(study: Study, data_root: Path, store: Path) -> dict[str, dict[str, Path]]:
    """The folders of the features and activations that a study needs, by dataset and id; computed if they are missing.

    Those of its trials on them, and of the network that its section `audit` names.
    """
    folders: dict[str, dict[str, Path]] = {}
    run = partial(extract_in_workers, study.resources)
    for label in (dataset.label for dataset in study.datasets):
        packed = open_packed_of(data_root, label)
        trainings = [*stored_trainings(study, label), *_of_each_view(study, audited_trainings(study, label))]
        by_id = {features_id(recipe(training, packed.manifest)): training for training in trainings}
        folders[label] = {name: extract(packed, training, store, run) for name, training in by_id.items()}
    return folders


def extract_in_workers(resources: ResourcesSection, work: Extraction, shards: Sequence[int]) -> Iterator[int]:
    """Write shards in Ray's workers, with a trial's resources each; a few shards in this process."""
    if len(shards) <= FEW:
        yield from in_process(work, shards)
        return
    for done in in_workers(resources, Extraction.write, [(work, shard) for shard in shards]):
        yield from done
