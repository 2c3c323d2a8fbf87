"""The training loop: one trial, from its spec to its result, or from the checkpoint in its folder.

On a CPU an interrupted and resumed trial gives the numbers of an uninterrupted one, bit for bit. Where the study says
so, a linear head in closed form is its start (`head_start`) or is evaluated (`head_refit`).
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from dml import evaluation
from dml.miners import PolicyMiner
from dml.models import EmbeddingNetwork, Layers
from dml.protocols import Augmentation, Loss, Miner
from dml.seeding import generator
from dml.training import closed_form, free
from dml.training.batch_loader import BatchLoader
from dml.training.build import (
    build_augment,
    build_filter,
    build_loss,
    build_miner,
    build_model,
    build_sampler,
    describe_model,
    loss_normalizes,
    whole_network,
)
from dml.training.collectives import average_gradients, gather, parallel, share_of_batch
from dml.training.data import TrialData
from dml.training.evaluator import Evaluator
from dml.training.frozen.opening import open_trial
from dml.training.model_files import save_model
from dml.training.optimizers import build_optimizer, clip
from dml.training.process import not_finite
from dml.training.resuming import Diagnostics, Filtering, History, RandomStreams, TrialState, discard, resumes
from dml.types import EvaluationPoint, Pairs, TrialResult, TrialSpec

Mined = tuple[Tensor, Tensor, Any, Tensor | None]
"""What the miner saw and chose: detached embeddings (N, D), labels (N,), tuples, and which samples it could choose."""


def step_loss(
    loss: Loss,
    mine: Miner | None,
    embeddings: Tensor,
    labels: Tensor,
    kept: Tensor | None,
    generator: torch.Generator | None,
    truth: Tensor | None = None,
) -> tuple[Tensor, Mined | None]:
    """The loss of the batch without the samples left out, a differentiable scalar; and what the miner did.

    They are masked where loss and miner can skip them, so that nothing waits for the device, and removed otherwise.
    embeddings (N, D), labels int64 (N,), kept bool (N,), None: all; truth int64 (N,), for a miner that takes it.
    """
    skips = loss.takes_padding and getattr(loss, "left_out", "removed") in ("skipped", "counted")
    if kept is not None and not (skips and (mine is None or isinstance(mine, PolicyMiner))):
        truth = None if truth is None else truth[kept]
        embeddings, labels, kept = embeddings[kept], labels[kept], None  # waits for the device
    tuples: Any = None
    if mine is not None:
        more = {name: value for name, value in (("kept", kept), ("truth", truth)) if value is not None}
        tuples = mine(embeddings.detach(), labels, generator=generator, **more)
    elif kept is not None:
        same, both = labels[:, None] == labels, kept[:, None] & kept
        tuples = Pairs((same & both).fill_diagonal_(False), both & ~same)
    value = loss(embeddings, labels, tuples)
    if kept is not None and loss.left_out == "counted":  # type: ignore[attr-defined]
        value = value * (len(kept) / kept.sum().clamp(min=1).to(value.dtype))
    return value, None if mine is None else (embeddings.detach(), labels, tuples, kept)


_Head = tuple[Tensor, Tensor, str]  # the weight and the bias of a linear head, and what `free` chose, or ""
REMEMBERED = 16  # the last heads that trials started from
_starts: dict[bytes, _Head] = {}


def with_copied_head(model: EmbeddingNetwork) -> EmbeddingNetwork:
    """A network that shares a network's backbone, with a copy of its head."""
    network = copy.copy(model)
    network._modules = {**model._modules, "head": copy.deepcopy(model.head)}
    return network


def fit_head(
    model: EmbeddingNetwork,
    kind: str,
    spec: TrialSpec,
    data: TrialData,
    augment: Augmentation,
    device: torch.device,
    start: bool = False,
) -> str:
    """Give a linear head the weights of `closed_form`, or `free`, for the present features; what `free` chose, or "".

    `start`: before the first step. A worker trains many heads on the same features, and a fit takes longer than the
    steps of a short trial, so those of starts are remembered. Raises ValueError.
    """
    kept = closed_form.taking_part(data.observed)
    features = evaluation.embed_images(
        model.backbone,  # type: ignore[arg-type]
        data.packed.images,
        data.rows[kept],
        augment=augment,
        device=device,
        precision=spec.training.precision,
    )
    fit = _remembered if start else _fit
    widths = data.layers or getattr(model.backbone, "widths", {Layers.last: features.shape[1]})
    metric = spec.evaluation.metrics[0]
    weight, bias, choice = fit(kind, features, data.observed[kept], model.embedding_size, dict(widths), metric)
    with torch.no_grad():
        model.head.weight.copy_(weight)  # type: ignore[operator,union-attr]
        model.head.bias.copy_(bias)  # type: ignore[operator,union-attr]
    return choice


def _fit(kind: str, features: Tensor, labels: np.ndarray, size: int, widths: Mapping[str, int], metric: str) -> _Head:
    """The head of a kind; `widths`, `metric`: of the layers side by side, and by which `free` chooses."""
    if kind != free.KIND:
        projection = closed_form.fit(kind, features, labels, size)
        return projection.weight, projection.bias, ""
    layers = zip(widths, features.cpu().split(list(widths.values()), dim=1), strict=True)
    best = free.choose({name: layer.numpy()[:, None] for name, layer in layers}, labels, metric, size)
    return *best.head(widths, size), str(best.chosen)


def _remembered(
    kind: str, features: Tensor, labels: np.ndarray, size: int, widths: Mapping[str, int], metric: str
) -> _Head:
    """`_fit`, computed once for the same arguments."""
    of_free = (widths, metric) if kind == free.KIND else ()
    options = repr((kind, size, *of_free, features.device, tuple(features.shape), features.dtype, labels.dtype))
    digest = hashlib.blake2b(options.encode())
    for values in (features.cpu().numpy(), labels):
        digest.update(np.ascontiguousarray(values).data)
    key = digest.digest()
    if key not in _starts:
        weight, bias, choice = _fit(kind, features, labels, size, widths, metric)
        _starts[key] = weight.cpu(), bias.cpu(), choice
        if len(_starts) > REMEMBERED:
            del _starts[next(iter(_starts))]
    return _starts[key]


class Training:
    """A trial in progress, in its own `folder`, with the outputs of the data stages in `data_root` (`data/<study>`).

    `version` covers everything in this room that decides numbers: the step, the optimisers and schedules, the learning
    rate of the loss's parameters, the random streams, and the head on the backbone. `trained` is the network that is
    evaluated and saved: `model`, with `training.head_refit` with a head of its own. Raises FileNotFoundError if the
    output of a data stage is missing, ValueError if a part refuses its settings or the batch cannot be shared equally.
    """

    version: ClassVar[int] = 1

    def __init__(
        self,
        spec: TrialSpec,
        data_root: Path,
        folder: Path,
        device: torch.device | str = "cpu",
        checkpoint_seconds: float = 30.0,
    ):
        training = spec.training
        self.spec, self.total_steps = spec, training.total_steps
        self._folder, self._device, self._checkpoint_seconds = Path(folder), torch.device(device), checkpoint_seconds
        self._rank, workers = share = share_of_batch(training.batch.size)
        self.data = data = open_trial(spec, Path(data_root))
        self._augment = build_augment(spec, data)
        self._streams = RandomStreams(spec.seed, self._rank, workers, self._device)
        with self._streams.as_global():
            self.model = build_model(spec, data, resumes(self._folder)).to(self._device)
            if training.channels_last:
                self.model = self.model.to(memory_format=torch.channels_last)
            self.loss = build_loss(spec, data.classes, self.model.embedding_size).to(self._device)
        self._history = History()
        if (kind := training.head_start) != "random" and not resumes(self._folder):
            self._history.chosen = fit_head(self.model, kind, spec, data, self._augment, self._device, start=True)
        self.trained = self.model if training.head_refit is None else with_copied_head(self.model)
        self._mine = build_miner(spec, self.loss)
        self._truth: Tensor | None = None
        if getattr(self._mine, "takes_truth", False):  # an oracle
            self._truth = torch.from_numpy(data.labels(spec.dataset.train_on, data.rows)).to(self._device)
        part = build_filter(spec, data.classes, self.model.embedding_size, self.loss)
        self._filtering = None if part is None else Filtering(part, len(data.rows), self._device)
        self._forward = parallel(self.model, self._device)
        self._optimizer, self._schedule = build_optimizer(training, self.model, self.loss)
        sampler = build_sampler(spec, data)
        views = generator(spec.seed, "views") if training.views > 1 else None
        self._batches = BatchLoader(data.packed.images, data.rows, data.observed, sampler, self._device, share, views)
        self._evaluator = Evaluator(spec, data, self.trained, self._augment, self._device)
        self.diagnostics = Diagnostics(self._device, count_distances=self._mine is not None and loss_normalizes(spec))
        self._state = TrialState(
            self.model,
            self.loss,
            self._optimizer,
            self._schedule,
            self._batches,
            self._streams,
            self.diagnostics,
            self._history,
            self._filtering,
        )
        self._state.resume(self._folder)

    @property
    def step(self) -> int:
        """Training steps done."""
        return self._history.step

    @property
    def finished(self) -> bool:
        """Whether all steps are done and evaluated."""
        curve = self._history.curve
        return self.step >= self.total_steps and bool(curve) and curve[-1].step == self.step

    def advance(self) -> EvaluationPoint:
        """Train to the next evaluation (or the end), evaluate, and save a checkpoint. Raises TrainingError."""
        assert not self.finished, "a finished trial cannot advance"
        every = self.spec.evaluation.every or max(1, self.total_steps)
        at_start = self.spec.evaluation.at_start and not self._history.curve
        target = 0 if at_start else min(self.total_steps, (self.step // every + 1) * every)
        while self.step < target:
            self._train(target)
            if self.step < target and self._rank == 0:
                self._state.save(self._folder)
        with self._history.timed():
            self._history.curve.append(EvaluationPoint(self.step, self.evaluate() if self._rank == 0 else {}))
        if self._rank == 0:
            self._save()
        return self._history.curve[-1]

    def evaluate(self) -> dict[str, float]:
        """Scores on clean labels, by `<set>/<level>/<metric>`: validation classes to tune, else the test split."""
        scored = self.spec.phase != "confirm" or self.spec.evaluation.sets or self.step >= self.total_steps
        if scored and (kind := self.spec.training.head_refit) is not None:
            fit_head(self.trained, kind, self.spec, self.data, self._augment, self._device)
        return self._evaluator.scores(self.step)

    def result(self) -> TrialResult:
        """The scores and diagnostics after the last evaluation."""
        assert self._history.curve, "a trial without an evaluation has no result"
        curve, seconds = tuple(self._history.curve), self._history.seconds
        images = self.step * self.spec.training.batch.size
        means = {**self.diagnostics.means(self.step), "images_per_second": images / seconds}
        means["training_classes"] = self.data.classes
        if self._filtering is not None:
            means |= self._filtering.agreement(self.data.flipped)
        return TrialResult(curve[-1].scores, curve, means, seconds, self.diagnostics.counts())

    def discard_checkpoint(self) -> None:
        """Delete the checkpoint. Called once the result is recorded."""
        discard(self._folder)

    def close(self) -> None:
        """Stop what runs in the background."""
        self._batches.close()

    def _train(self, target: int) -> None:
        """Train to the step `target`, or until a checkpoint is due."""
        due = time.perf_counter() + self._checkpoint_seconds
        with self._history.timed(), self._streams.as_global():
            while self.step < target:
                self._train_step()
                if time.perf_counter() > due:
                    break
            step = self.diagnostics.first_not_finite()
            if step is not None:
                raise not_finite("the loss", f"at step {step}", self.spec)

    def _train_step(self) -> None:
        """Draw a batch, embed it, choose tuples, and update the network and the loss."""
        self._streams.begin_step(self.step)
        batch = self._batches.next()
        images = self._augment(batch.images, training=True, generator=self._streams.augment)
        if self.spec.training.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        half = self.spec.training.precision == "bfloat16"
        autocast = torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=half)
        with autocast, self._streams.of_process(self.step):
            embeddings = self._forward(images)
        embeddings = gather(embeddings.float())

        kept = None if self._filtering is None else self._filtering(embeddings, batch.labels, batch.positions)
        truth = None if self._truth is None else self._truth[batch.positions]
        loss, mined = step_loss(self.loss, self._mine, embeddings, batch.labels, kept, self._streams.miner, truth)
        if mined is not None:
            self.diagnostics.add_tuples(self.step, *mined)

        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        average_gradients(self.loss)
        clip(self.spec.training, (*self.model.parameters(), *self.loss.parameters()))
        self._optimizer.step()
        self._schedule.step()
        self._history.step += 1
        stats = [part.stats for part in (self._mine, self._filtering) if part is not None]
        self.diagnostics.add_step(self.step, loss.detach(), self.loss.stats, *stats)

    def _save(self) -> None:
        """Save a checkpoint after an evaluation; at the end of a confirmed trial also the model."""
        if self.finished and self.spec.phase == "confirm":
            whole = whole_network(self.spec, self.data, self.trained)
            chosen = {"chosen": self._history.chosen} if self._history.chosen else {}
            save_model(self._folder / "model", whole, describe_model(self.spec, self.data) | chosen)
            if self.spec.evaluation.keep_embeddings:
                self._evaluator.save_embeddings(self._folder / "embeddings.npz")
            self._evaluator.save_classes(self._folder / "classes.npz")
        self._state.save(self._folder)  # last, since a trial that resumes as finished saves nothing
