"""Scores without training, which training must beat: of what trials start from, and of its closed-form projections.

Projections (`dml.training.closed_form`) are fitted to the training rows and observed labels of each confirmed trial.
`free` is what observed labels choose among them and among layers (`dml.training.free`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from dml import evaluation
from dml.data import splits as class_splits
from dml.models import Layers
from dml.models.small import Identity
from dml.sweep.inputs.vectors import PIXELS, evaluated_rows, inputs, name_of, on_new_images, on_sets, with_vectors
from dml.sweep.plan.plan import Plan
from dml.training.closed_form import KINDS, ClosedForm, apply, fit, taking_part
from dml.training.data import TrialData
from dml.training.evaluator import Evaluator
from dml.training.free import WORDS, choose
from dml.training.frozen.opening import FeatureRows, open_trial
from dml.types import TrialSpec, Views

Report = Callable[[str], None]
Scores = dict[str, dict[str, float]]
"""By the name of a projection: scores by `<set>/<level>/<metric>`."""

FREE = "free"
FAILURES = (OSError, ValueError, RuntimeError, MemoryError)


def closed_form_scores(plan: Plan, data_root: Path, report: Report = print) -> list[dict[str, Any]]:
    """Scores on the images that confirmed trials neither train on nor are chosen by.

    What cannot be scored is reported and left out.

    Returns
    -------
    Records with `dataset`, `noise`, `rate`, `name` (`<input>, whitened`, `<input>, 128 LDA`, ...), `seeds` and `scores`
    by `<set>/<level>/<metric>`; of several class splits also `by_split`, the scores of each; of `<input>, free` also
    `chosen`, what was chosen in each class split and seed.
    """
    records = []
    for dataset, specs in _confirmed(plan).items():
        try:
            names = {repr(spec.training): name_of(spec, data_root) for spec in specs}
        except FAILURES as error:
            report(f"{plan.study.name}: no closed forms of {dataset}: {error}")
            continue
        for name in dict.fromkeys(names.values()):
            of_name = [spec for spec in specs if names[repr(spec.training)] == name]
            records += _Input(name, of_name, data_root, report, plan.study.resources.device).scores()
    return records


def _confirmed(plan: Plan) -> dict[str, list[TrialSpec]]:
    """The specs of the confirmed trials by dataset."""
    by_dataset: dict[str, list[TrialSpec]] = {}
    for job, _ in plan.ended():
        if job.phase == "confirm":
            by_dataset.setdefault(job.cell.dataset, []).append(job.spec)
    return by_dataset


class _Fitted(NamedTuple):
    """The scores of the projections of one trial's training rows, and what was chosen as free."""

    scores: Scores
    chosen: str


class _Input:
    """What some trials on one dataset start from."""

    def __init__(self, name: str, specs: list[TrialSpec], data_root: Path, report: Report, device: str):
        self._name, self._specs, self._data_root, self._report, self._device = name, specs, data_root, report, device
        self._layered = name != PIXELS and any(spec.training.layers for spec in specs)
        self._sizes = sorted({spec.training.embedding_size for spec in specs})
        self._fits: dict[str, _Fitted] = {}  # by the rows and labels that projections are fitted to
        self._failed: set[str] = set()

    def scores(self) -> list[dict[str, Any]]:
        """The records of all noise models and rates."""
        conditions: dict[tuple[str, float], dict[tuple[int, int], TrialSpec]] = {}
        for spec in self._specs:
            position = class_splits.split_of(spec.dataset.name), spec.seed
            conditions.setdefault((spec.noise.model, spec.noise.rate), {}).setdefault(position, spec)
        records = []
        for (noise, rate), trials in conditions.items():
            dataset, what = self._dataset, "pixels" if self._name == PIXELS else "features"
            self._report(f"{dataset}: scoring closed forms of the {what} at {noise} {rate:g} ({self._name})")
            fits = {at: fitted for at, spec in trials.items() if (fitted := self._of_seed(spec)) is not None}
            if len(fits) < len(trials):
                continue
            first, *others = (fitted.scores for fitted in fits.values())
            splits, seeds = (sorted(set(values)) for values in zip(*trials, strict=True))
            for name in (name for name in first if all(name in scores for scores in others)):
                record = {"dataset": dataset, "noise": noise, "rate": rate, "name": name, "seeds": seeds}
                record["scores"] = _mean([fitted.scores[name] for fitted in fits.values()])
                if name == _named(self._name, FREE, None):
                    record["chosen"] = [fitted.chosen for fitted in fits.values()]
                if len(splits) > 1:
                    each = {split: [f.scores[name] for at, f in fits.items() if at[0] == split] for split in splits}
                    record["by_split"] = [_mean(scores) for scores in each.values()]
                records.append(record)
        return records

    @property
    def _dataset(self) -> str:
        return class_splits.dataset_of(self._specs[0].dataset.name)

    def _of_seed(self, spec: TrialSpec) -> _Fitted | None:
        """The scores of all projections fitted to one trial's training rows; those that fail are left out."""
        try:
            spec = on_new_images(spec)
            if not spec.evaluation.sets:
                return None
            data = open_trial(spec, self._data_root)
            fitted_to = data.rows.tobytes() + data.observed.tobytes() + spec.dataset.split.encode()
            digest = hashlib.sha256(fitted_to).hexdigest()
            if digest not in self._fits:
                self._fits[digest] = self._fitted(spec, data)
        except FAILURES as error:
            self._say(str(error))
            return None
        return self._fits[digest]

    def _fitted(self, spec: TrialSpec, data: TrialData) -> _Fitted:
        kept, tested = taking_part(data.observed), evaluated_rows(spec, data)
        fitted, vectors = _vectors(self._name, data, data.rows[kept], tested, spec.evaluation.views)
        forms = ClosedForm(torch.tensor(fitted[:, 0], device=self._device), data.observed[kept])
        sizes = [size for size in self._sizes if size < fitted.shape[2]]
        scores: Scores = {}
        chosen = ""
        for kind, size in product(KINDS, [None, *sizes]):
            try:
                projected = apply(forms.projection(kind, size), vectors)
                scores[_named(self._name, WORDS[kind], size)] = _scored(spec, data, tested, projected)
            except FAILURES as error:
                self._say(str(error))
        try:
            layers = {Layers.last: fitted}, {Layers.last: vectors}
            if self._layered:
                layers = self._layers(spec, data.rows[kept]), self._layers(spec, tested)
            free = choose(layers[0], data.observed[kept], spec.evaluation.metrics[0])
            embeddings = free.embed(layers[1])
            scores[_named(self._name, FREE, None)] = _scored(spec, data, tested, embeddings[:, None])
            chosen = str(free.chosen)
            moved = evaluation.augmented(embeddings).numpy()
            scores[_named(self._name, f"{FREE}, re-ranked", None)] = _scored(spec, data, tested, moved[:, None])
        except FAILURES as error:
            self._say(str(error))
        return _Fitted(scores, chosen)

    def _layers(self, spec: TrialSpec, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The stored features of some rows by layer, float32 (n, V, D) each."""
        data = open_trial(replace(spec, training=replace(spec.training, layers=True)), self._data_root)
        assert data.layers is not None
        ends = np.cumsum(list(data.layers.values()))[:-1]
        return dict(zip(data.layers, np.split(inputs(self._name, data, rows), ends, axis=2), strict=True))

    def _say(self, problem: str) -> None:
        if problem not in self._failed:
            self._failed.add(problem)
            self._report(f"{self._dataset}: no scores of a closed form of {self._name}: {problem}")


def _scored(spec: TrialSpec, data: TrialData, tested: np.ndarray, vectors: np.ndarray) -> dict[str, float]:
    """The scores of the evaluated rows from vectors of V views (m, V, d)."""
    projected = with_vectors(data, tested, vectors)
    return Evaluator(spec, projected, Identity(), FeatureRows(), torch.device("cpu")).scores(0)  # type: ignore[arg-type]


def _mean(scores: list[dict[str, float]]) -> dict[str, float]:
    return {key: fmean(one[key] for one in scores) for key in scores[0]}


def _vectors(
    name: str, data: TrialData, fitted: np.ndarray, tested: np.ndarray, views: Views
) -> tuple[np.ndarray, np.ndarray]:
    """The inputs of two sets of rows, of all views: float32 (n, V, D) and (m, V, D).

    Pixels are less the mean image of the first set.
    """
    if name != PIXELS:
        return inputs(name, data, fitted), inputs(name, data, tested)
    both = inputs(name, data, np.concatenate([fitted, tested]), views)  # reduced to the same size
    both -= both[: len(fitted)].mean(axis=0).mean(axis=0)
    return both[: len(fitted)], both[len(fitted) :]


def _named(name: str, what: str, size: int | None) -> str:
    return f"{name}, {what}" if size is None else f"{name}, {size} {what}"


ScoresBySet = dict[str, dict[str, dict[str, float]]]
BySplit = dict[str, dict[str, list[dict[str, float]]]]
"""By dataset and what is scored (`pixels`, `vectors` or the name of features): scores by `<set>/<level>/<metric>`."""


def untrained_scores(plan: Plan, data_root: Path, report: Report = print) -> tuple[ScoresBySet, BySplit]:
    """Scores without training on the images that confirmed trials neither train on nor are chosen by; means, and by
    class split if there are several.

    Also on their training images where a study asks for them (`train`): a network that finds those worse has learned
    nothing. A dataset that cannot be scored is reported and left out: the trials' own results do not need it.
    """
    means: ScoresBySet = {}
    by_split: BySplit = {}
    for dataset, specs in _confirmed(plan).items():
        try:
            each = _of_dataset(specs, data_root, report)
        except FAILURES as error:  # a TrainingError too: vectors not finite
            report(f"{plan.study.name}: no scores of {dataset} without training: {error}")
            continue
        if each:
            means[dataset] = {name: _mean(scores) for name, scores in each.items()}
            by_split |= {dataset: each} if plan.study.splits > 1 else {}
    return means, by_split


def _of_dataset(specs: list[TrialSpec], data_root: Path, report: Report) -> dict[str, list[dict[str, float]]]:
    """By the name of what trials start from: its scores on each class split in order, or on those that seeds select."""
    kinds: dict[str, dict[str, TrialSpec]] = {}
    specs = sorted(specs, key=lambda spec: class_splits.split_of(spec.dataset.name))
    for spec in {(repr(spec.training), spec.dataset.split): spec for spec in specs}.values():
        kinds.setdefault(name_of(spec, data_root), {})[spec.dataset.split] = spec
    scores: dict[str, list[dict[str, float]]] = {}
    for name, by_split in kinds.items():
        what = PIXELS if name == PIXELS else "features"
        report(f"{class_splits.dataset_of(specs[0].dataset.name)}: scoring the {what} without training ({name})")
        each = [_scored_start(spec, data_root, name) for spec in by_split.values()]
        scores |= {kind: [of_split[kind] for of_split in each] for kind in each[0]}
    return scores


def _scored_start(spec: TrialSpec, data_root: Path, name: str) -> dict[str, dict[str, float]]:
    """The scores of a trial's input, and of its components, on new images and on training images where asked."""
    scores = _of_sets(on_new_images(spec), data_root, name)
    if "train" in spec.evaluation.sets:  # by itself: pixels are less the mean image of what is scored
        for kind, of_train in _of_sets(on_sets(spec, ("train",)), data_root, name).items():
            scores[kind] = scores.get(kind, {}) | of_train
    return scores


def _of_sets(spec: TrialSpec, data_root: Path, name: str) -> dict[str, dict[str, float]]:
    """The scores of a trial's input on its evaluation sets, taken on the CPU as those of its embeddings are."""
    if not spec.evaluation.sets:
        return {}
    data, size = open_trial(spec, data_root), spec.training.embedding_size
    models: dict[str, nn.Module] = {name: Identity()}
    if name == PIXELS:
        rows = evaluated_rows(spec, data)
        data = with_vectors(data, rows, inputs(name, data, rows, spec.evaluation.views))
    elif size < data.packed.images.shape[-1]:
        models[f"{name}, {size} components"] = _components(data, size, name)
    augment, device = FeatureRows(), torch.device("cpu")
    return {kind: Evaluator(spec, data, model, augment, device).scores(0) for kind, model in models.items()}  # type: ignore[arg-type]


def _components(data: TrialData, size: int, name: str) -> nn.Module:
    """The first principal components of the training images' features: (m, D) -> (m, size)."""
    kept = taking_part(np.zeros(len(data.rows), int))
    features = inputs(name, data, np.sort(data.rows)[kept])[:, 0]
    projection = fit("components", features, np.zeros(len(features), int), size)
    model = nn.Linear(features.shape[1], size)
    model.weight.data, model.bias.data = projection.weight, projection.bias
    return model
