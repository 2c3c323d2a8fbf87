"""Scores of what a study's trials start from, to compare what they learn with.

Of trials with frozen features that is the features without a head, of all others pixels. Features are also scored by
their principal components, as many as embeddings have dimensions: what no head is needed to shorten them to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import nn

from dml.data.packing import of_vectors
from dml.models.identity import Identity
from dml.sweep.pixels import pixels
from dml.sweep.plan import Plan
from dml.training.data import TrialData, open_packed_of
from dml.training.evaluator import Evaluator
from dml.training.frozen.opening import open_trial
from dml.training.frozen.recipe import features_id, recipe
from dml.training.frozen.rows import FeatureRows
from dml.types import TrialSpec

Scores = dict[str, dict[str, dict[str, float]]]
"""By dataset and what is scored (`pixels`, `vectors` or the name of features): scores by `<set>/<level>/<metric>`."""

PIXELS = "pixels"
SIDE = 32  # pixels of the longer side of an image, at most
COMPONENTS = "{name}, {count} components"
FITTED = 10_000  # training images that the components are computed from, at most
LEARNED_FROM = ("train", "validation")  # sets that say nothing of new images


def untrained_scores(plan: Plan, data_root: Path, report: Callable[[str], None] = print) -> Scores:
    """Scores without training on the images that confirmed trials neither train on nor are chosen by.

    A dataset that cannot be scored is reported and left out: the trials' own results do not need it.
    """
    found: Scores = {}
    jobs = [job for job, _ in plan.ended() if job.phase == "confirm"]
    for dataset in dict.fromkeys(job.cell.dataset for job in jobs):
        try:
            own = _of_dataset([job.spec for job in jobs if job.cell.dataset == dataset], data_root, report)
        except (OSError, ValueError, RuntimeError, MemoryError) as error:  # a TrainingError too: vectors not finite
            report(f"{plan.study.name}: no scores of {dataset} without training: {error}")
        else:
            found |= {dataset: own} if own else {}
    return found


def _of_dataset(trials: list[TrialSpec], data_root: Path, report: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """By the name of what trials start from: its scores, the mean over the splits that seeds select."""
    kinds: dict[str, dict[str, TrialSpec]] = {}
    for spec in {(repr(spec.training), spec.dataset.split): spec for spec in trials}.values():
        kinds.setdefault(_name(spec, data_root), {})[spec.dataset.split] = spec
    found = {}
    for name, by_split in kinds.items():
        what = PIXELS if name == PIXELS else "features"
        report(f"{trials[0].dataset.name}: scoring the {what} without training ({name})")
        each = [_scored(spec, data_root, name) for spec in by_split.values()]
        for kind in each[0]:
            found[kind] = {key: fmean(own[kind][key] for own in each) for key in each[0][kind]}
    return found


def _name(spec: TrialSpec, data_root: Path) -> str:
    manifest = open_packed_of(data_root, spec.dataset.name).manifest
    if of_vectors(manifest):
        return "vectors"
    return features_id(recipe(spec.training, manifest)) if spec.training.frozen else PIXELS


def _scored(spec: TrialSpec, data_root: Path, name: str) -> dict[str, dict[str, float]]:
    """The scores of a trial's input, and of its components, taken on the CPU as those of its embeddings are."""
    sets = tuple(name for name in spec.evaluation.sets if name not in LEARNED_FROM)
    if not sets:
        return {}
    asked = replace(spec, phase="confirm", evaluation=replace(spec.evaluation, sets=sets, keep_per_query=False))
    data, size = open_trial(asked, data_root), spec.training.embedding_size
    models: dict[str, nn.Module] = {name: Identity()}
    if name == PIXELS:
        data = _with_pixels(data, sets)
    elif size < data.packed.images.shape[-1]:
        models[COMPONENTS.format(name=name, count=size)] = _components(data, size)
    rows, device = FeatureRows(), torch.device("cpu")
    return {kind: Evaluator(asked, data, model, rows, device).scores(0) for kind, model in models.items()}  # type: ignore[arg-type]


def _components(data: TrialData, size: int) -> nn.Module:
    """The first principal components of the training images' features: (m, D) -> (m, size)."""
    rows = np.sort(data.rows)[:: -(-len(data.rows) // FITTED)]
    features = np.asarray(data.packed.images[rows], dtype=np.float32).reshape(len(rows), -1)
    found = PCA(min(size, *features.shape), svd_solver="full").fit(features)
    model = nn.Linear(features.shape[1], len(found.components_))
    model.weight.data = torch.from_numpy(found.components_)
    model.bias.data = torch.from_numpy(-found.components_ @ found.mean_)
    return model


def _with_pixels(data: TrialData, sets: tuple[str, ...]) -> TrialData:
    """The data with reduced images as vectors, of the rows of some evaluation sets alone."""
    rows = np.unique(np.concatenate([data.evaluation_rows(name) for name in sets]))
    return replace(data, packed=replace(data.packed, images=_SomeRows(rows, pixels(data.packed, rows, SIDE))))


class _SomeRows:
    """Vectors (m, D) of some rows of an array, as images of one pixel."""

    def __init__(self, rows: np.ndarray, vectors: np.ndarray):
        self._rows, self._vectors = rows, vectors

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self._vectors[np.searchsorted(self._rows, rows), None, None, :]
