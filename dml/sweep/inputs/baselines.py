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
    confirmed = [job for job, _ in plan.ended() if job.phase == "confirm"]
    found = []
    for dataset in dict.fromkeys(job.cell.dataset for job in confirmed):
        specs = [job.spec for job in confirmed if job.cell.dataset == dataset]
        try:
            by_name: dict[str, list[TrialSpec]] = {}
            names = {repr(spec.training): name_of(spec, data_root) for spec in specs}
            for spec in specs:
                by_name.setdefault(names[repr(spec.training)], []).append(spec)
        except FAILURES as error:
            report(f"{plan.study.name}: no closed forms of {dataset}: {error}")
            continue
        for name, own in by_name.items():
            found += _Input(name, own, data_root, report, plan.study.resources.device).scores()
    return found


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
        self._known: dict[str, _Fitted] = {}  # by the rows and labels that projections are fitted to
        self._failed: set[str] = set()

    def scores(self) -> list[dict[str, Any]]:
        """The records of all noise models and rates."""
        conditions: dict[tuple[str, float], dict[tuple[int, int], TrialSpec]] = {}
        for spec in self._specs:
            place = class_splits.split_of(spec.dataset.name), spec.seed
            conditions.setdefault((spec.noise.model, spec.noise.rate), {}).setdefault(place, spec)
        found = []
        for (noise, rate), by_place in conditions.items():
            dataset, what = self._dataset, "pixels" if self._name == PIXELS else "features"
            self._report(f"{dataset}: scoring closed forms of the {what} at {noise} {rate:g} ({self._name})")
            fitted = {place: own for place, spec in by_place.items() if (own := self._of_seed(spec)) is not None}
            each = {place: own.scores for place, own in fitted.items()}
            first = next(iter(each.values()), {})
            shared = [name for name in first if all(name in own for own in each.values())]
            for name in shared if len(each) == len(by_place) else ():
                seeds = sorted({seed for _, seed in by_place})
                record = {"dataset": dataset, "noise": noise, "rate": rate, "name": name, "seeds": seeds}
                record["scores"] = _mean([own[name] for own in each.values()])
                if name == _named(self._name, FREE, None):
                    record["chosen"] = [own.chosen for own in fitted.values()]
                splits = sorted({split for split, _ in by_place})
                if len(splits) > 1:
                    of_split = [[own[name] for (own_split, _), own in each.items() if own_split == s] for s in splits]
                    record["by_split"] = [_mean(own) for own in of_split]
                found.append(record)
        return found

    @property
    def _dataset(self) -> str:
        return class_splits.dataset_of(self._specs[0].dataset.name)

    def _of_seed(self, spec: TrialSpec) -> _Fitted | None:
        """The scores of all projections fitted to one trial's training rows; those that fail are left out."""
        try:
            asked = on_new_images(spec)
            if not asked.evaluation.sets:
                return None
            data = open_trial(asked, self._data_root)
            own = hashlib.sha256(
                data.rows.tobytes() + data.observed.tobytes() + spec.dataset.split.encode()
            ).hexdigest()
            if own not in self._known:
                self._known[own] = self._fitted(asked, data)
        except FAILURES as error:
            self._say(str(error))
            return None
        return self._known[own]

    def _fitted(self, spec: TrialSpec, data: TrialData) -> _Fitted:
        kept, tested = taking_part(data.observed), evaluated_rows(spec, data)
        fitted, vectors = _vectors(self._name, data, data.rows[kept], tested, spec.evaluation.views)
        forms = ClosedForm(torch.tensor(fitted[:, 0], device=self._device), data.observed[kept])
        sizes = [size for size in self._sizes if size < fitted.shape[2]]
        found: Scores = {}
        chosen = ""
        for kind, size in product(KINDS, [None, *sizes]):
            try:
                projected = apply(forms.projection(kind, size), vectors)
                found[_named(self._name, WORDS[kind], size)] = _scored(spec, data, tested, projected)
            except FAILURES as error:
                self._say(str(error))
        try:
            layers = {Layers.last: fitted}, {Layers.last: vectors}
            if self._layered:
                layers = self._layers(spec, data.rows[kept]), self._layers(spec, tested)
            free = choose(layers[0], data.observed[kept], spec.evaluation.metrics[0])
            embeddings = free.embed(layers[1])
            found[_named(self._name, FREE, None)] = _scored(spec, data, tested, embeddings[:, None])
            chosen = str(free.chosen)
            moved = evaluation.augmented(embeddings).numpy()
            found[_named(self._name, f"{FREE}, re-ranked", None)] = _scored(spec, data, tested, moved[:, None])
        except FAILURES as error:
            self._say(str(error))
        return _Fitted(found, chosen)

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
    return {key: fmean(own[key] for own in scores) for key in scores[0]}


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

COMPONENTS = "{name}, {count} components"


def untrained_scores(plan: Plan, data_root: Path, report: Report = print) -> tuple[ScoresBySet, BySplit]:
    """Scores without training on the images that confirmed trials neither train on nor are chosen by; means, and by
    class split if there are several.

    Also on their training images where a study asks for them (`train`): a network that finds those worse has learned
    nothing. A dataset that cannot be scored is reported and left out: the trials' own results do not need it.
    """
    means: ScoresBySet = {}
    by_split: BySplit = {}
    specs = [job.spec for job, _ in plan.ended() if job.phase == "confirm"]
    for dataset in dict.fromkeys(class_splits.dataset_of(spec.dataset.name) for spec in specs):
        own = [spec for spec in specs if class_splits.dataset_of(spec.dataset.name) == dataset]
        try:
            each = _of_dataset(own, data_root, report)
        except FAILURES as error:  # a TrainingError too: vectors not finite
            report(f"{plan.study.name}: no scores of {dataset} without training: {error}")
            continue
        if each:
            means[dataset] = {name: _mean(scores) for name, scores in each.items()}
            by_split |= {dataset: each} if plan.study.splits > 1 else {}
    return means, by_split


def _of_dataset(specs: list[TrialSpec], data_root: Path, report: Report) -> dict[str, list[dict[str, float]]]:
    """By the name of what trials start from: its scores on each class split, or on those that seeds select."""
    kinds: dict[str, dict[str, TrialSpec]] = {}
    for spec in {(repr(spec.training), spec.dataset.split): spec for spec in specs}.values():
        kinds.setdefault(name_of(spec, data_root), {})[spec.dataset.split] = spec
    found: dict[str, list[dict[str, float]]] = {}
    for name, by_split in kinds.items():
        what = PIXELS if name == PIXELS else "features"
        report(f"{class_splits.dataset_of(specs[0].dataset.name)}: scoring the {what} without training ({name})")
        each = [_scored_start(spec, data_root, name) for spec in by_split.values()]
        found |= {kind: [scores[kind] for scores in each] for kind in each[0]}
    return found


def _scored_start(spec: TrialSpec, data_root: Path, name: str) -> dict[str, dict[str, float]]:
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
