"""Scores of what a study's trials start from, to compare what they learn with.

Of trials with frozen features that is the features without a head, of all others pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from dml.data.packing import of_vectors
from dml.models.identity import Identity
from dml.sweep.cells import Job
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

SIDE = 32  # pixels of the longer side of an image, at most
LEARNED_FROM = ("train", "validation")  # sets that say nothing of new images


def untrained_scores(plan: Plan, data_root: Path, report: Callable[[str], None] = print) -> Scores:
    """Scores without training on the images that confirmed trials neither train on nor are chosen by.

    What cannot be scored is reported and left out: the trials' own results do not need it.
    """
    found: Scores = {}
    try:
        for dataset, name, spec in _distinct([job for job, _ in plan.ended() if job.phase == "confirm"], data_root):
            report(f"{dataset}: scoring the {'pixels' if name == 'pixels' else 'features'} without training ({name})")
            own = _scored(spec, data_root)
            if own:
                found.setdefault(dataset, {})[name] = own
    except (OSError, ValueError, RuntimeError) as error:  # a TrainingError too: vectors that are not finite
        report(f"{plan.study.name}: no scores without training: {error}")
    return found


def _distinct(jobs: list[Job], data_root: Path) -> Iterator[tuple[str, str, TrialSpec]]:
    """(dataset, name, a trial) of all that is to be scored."""
    seen = set()
    for job in {(job.cell.dataset, repr(job.spec.training)): job for job in jobs}.values():
        known = (job.cell.dataset, _name(job.spec, data_root))
        if known not in seen:
            seen.add(known)
            yield *known, job.spec


def _name(spec: TrialSpec, data_root: Path) -> str:
    manifest = open_packed_of(data_root, spec.dataset.name).manifest
    if of_vectors(manifest):
        return "vectors"
    return features_id(recipe(spec.training, manifest)) if spec.training.frozen else "pixels"


def _scored(spec: TrialSpec, data_root: Path) -> dict[str, float]:
    """The scores of a trial's input, taken on the CPU as those of its embeddings are."""
    sets = tuple(name for name in spec.evaluation.sets if name not in LEARNED_FROM)
    if not sets:
        return {}
    asked = replace(spec, phase="confirm", evaluation=replace(spec.evaluation, sets=sets, keep_per_query=False))
    data = open_trial(asked, data_root)
    if not spec.training.frozen:
        data = _with_pixels(data, sets)
    return Evaluator(asked, data, Identity(), FeatureRows(), torch.device("cpu")).scores(0)  # type: ignore[arg-type]


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
