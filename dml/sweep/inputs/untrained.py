"""Scores of what a study's trials start from, to compare what they learn with.

Of trials with frozen features that is the features without a head, of all others pixels. Features are also scored by
their principal components, as many as embeddings have dimensions: what no head is needed to shorten them to.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from torch import nn

from dml.data.class_splits import dataset_of
from dml.models.identity import Identity
from dml.sweep.inputs.vectors import PIXELS, evaluated_rows, inputs, name_of, on_new_images, on_sets, with_vectors
from dml.sweep.plan.plan import Plan
from dml.training.closed_form import fit, taking_part
from dml.training.data import TrialData
from dml.training.evaluator import Evaluator
from dml.training.frozen.opening import open_trial
from dml.training.frozen.rows import FeatureRows
from dml.types import TrialSpec

Scores = dict[str, dict[str, dict[str, float]]]
"""By dataset and what is scored (`pixels`, `vectors` or the name of features): scores by `<set>/<level>/<metric>`."""

COMPONENTS = "{name}, {count} components"


def scores_by_split(
    plan: Plan, data_root: Path, report: Callable[[str], None] = print
) -> dict[str, dict[str, list[dict[str, float]]]]:
    """`untrained_scores` of each class split, in a list; empty if there is only one."""
    if plan.study.splits == 1:
        return {}
    each = [untrained_scores(plan, data_root, report, split) for split in range(plan.study.splits)]
    return {
        dataset: {name: [own[dataset][name] for own in each] for name in found}
        for dataset, found in each[0].items()
        if all(dataset in own and set(own[dataset]) == set(found) for own in each)
    }


def means(by_split: dict[str, dict[str, list[dict[str, float]]]]) -> Scores:
    """The mean over class splits of what `scores_by_split` returned."""
    return {
        dataset: {name: {key: fmean(own[key] for own in each) for key in each[0]} for name, each in found.items()}
        for dataset, found in by_split.items()
    }


def untrained_scores(
    plan: Plan, data_root: Path, report: Callable[[str], None] = print, split: int | None = None
) -> Scores:
    """Scores without training on the images that confirmed trials neither train on nor are chosen by.

    Also on their training images where a study asks for them (`train`): a network that finds those worse has learned
    nothing. Projections fitted to labels have no such scores, since they would have been fitted to those images.

    A dataset that cannot be scored is reported and left out: the trials' own results do not need it.

    Parameters
    ----------
    split : of the trials of one class split; None: the mean over all.
    """
    found: Scores = {}
    jobs = [job for job, _ in plan.ended() if job.phase == "confirm" and (split is None or job.split == split)]
    for dataset in dict.fromkeys(job.cell.dataset for job in jobs):
        try:
            own = _of_dataset([job.spec for job in jobs if job.cell.dataset == dataset], data_root, report)
        except (OSError, ValueError, RuntimeError, MemoryError) as error:  # a TrainingError too: vectors not finite
            report(f"{plan.study.name}: no scores of {dataset} without training: {error}")
        else:
            found |= {dataset: own} if own else {}
    return found


def _of_dataset(trials: list[TrialSpec], data_root: Path, report: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """By the name of what trials start from: its scores, the mean over class splits or those that seeds select."""
    kinds: dict[str, dict[str, TrialSpec]] = {}
    for spec in {(repr(spec.training), spec.dataset.split): spec for spec in trials}.values():
        kinds.setdefault(name_of(spec, data_root), {})[spec.dataset.split] = spec
    found = {}
    for name, by_split in kinds.items():
        what = PIXELS if name == PIXELS else "features"
        report(f"{dataset_of(trials[0].dataset.name)}: scoring the {what} without training ({name})")
        each = [_scored(spec, data_root, name) for spec in by_split.values()]
        for kind in each[0]:
            found[kind] = {key: fmean(own[kind][key] for own in each) for key in each[0][kind]}
    return found


def _scored(spec: TrialSpec, data_root: Path, name: str) -> dict[str, dict[str, float]]:
    """The scores of a trial's input, and of its components, on new images and on training images where asked."""
    found = _of_sets(on_new_images(spec), data_root, name)
    if "train" in spec.evaluation.sets:  # by itself: pixels are less the mean image of what is scored
        for kind, scores in _of_sets(on_sets(spec, ("train",)), data_root, name).items():
            found[kind] = found.get(kind, {}) | scores
    return found


def _of_sets(asked: TrialSpec, data_root: Path, name: str) -> dict[str, dict[str, float]]:
    """The scores of a trial's input on its evaluation sets, taken on the CPU as those of its embeddings are."""
    if not asked.evaluation.sets:
        return {}
    data, size = open_trial(asked, data_root), asked.training.embedding_size
    models: dict[str, nn.Module] = {name: Identity()}
    if name == PIXELS:
        rows = evaluated_rows(asked, data)
        data = with_vectors(data, rows, inputs(name, data, rows, asked.evaluation.views))
    elif size < data.packed.images.shape[-1]:
        models[COMPONENTS.format(name=name, count=size)] = _components(data, size, name)
    augment, device = FeatureRows(), torch.device("cpu")
    return {kind: Evaluator(asked, data, model, augment, device).scores(0) for kind, model in models.items()}  # type: ignore[arg-type]


def _components(data: TrialData, size: int, name: str) -> nn.Module:
    """The first principal components of the training images' features: (m, D) -> (m, size)."""
    kept = taking_part(np.zeros(len(data.rows), int))
    features = inputs(name, data, np.sort(data.rows)[kept])[:, 0]
    found = fit("components", features, np.zeros(len(features), int), size)
    model = nn.Linear(features.shape[1], size)
    model.weight.data, model.bias.data = found.weight, found.bias
    return model
