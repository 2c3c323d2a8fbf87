"""How long a trial's steps and evaluations take on this machine, on random images, features or activations."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor

from dml import evaluation, files, models
from dml.models import EmbeddingNetwork
from dml.training.build import build_augment, build_loss, build_miner, describe_model
from dml.training.data import TrialData
from dml.training.descriptions import describe_head, image_shape
from dml.training.frozen.shapes import stored_shape
from dml.training.optimizers import build_optimizer
from dml.types import TrialSpec

SCORED = 4000  # embeddings that are scored to time it
CLASSES = 50  # of these
ENOUGH = 20  # steps, whose median is known well


@dataclass(frozen=True)
class Timing:
    """What a trial's network costs."""

    step_seconds: float  # of a training step
    image_seconds: float  # of embedding a view of an image, to evaluate
    length: int = 1  # of an embedding


class NotTimed(RuntimeError):
    """A step failed while it was timed."""


def time_steps(spec: TrialSpec, manifest: Mapping[str, Any], seconds: float, threads: int = 1) -> Timing:
    """Time training steps of a trial, and embedding without gradients, on random images. Downloads no weights.

    Parameters
    ----------
    spec : the trial; it trains on `training.device`.
    manifest : `height`, `width` and `channels` of the packed images.
    seconds : to spend. A step that takes longer is timed once.
    threads : of the CPU for one trial.

    Raises
    ------
    ValueError : a part rejects its settings.
    NotTimed : a step failed in another way.
    """
    device, batch = torch.device(spec.training.device), spec.training.batch
    shape = (batch.size, manifest["channels"], manifest["height"], manifest["width"])
    classes = max(2, batch.classes)
    with _threads(threads), torch.random.fork_rng(devices=[]):
        model, images = _network(spec, manifest), torch.randint(0, 256, shape, dtype=torch.uint8)
        one: tuple[int, ...] = shape[1:]
        if spec.training.frozen:
            model, images = _head(spec, model), torch.rand(batch.size, model.backbone.features, 1, 1)
        elif spec.training.train_from is not None:
            of_one = image_shape(spec.training, manifest)
            model.backbone = models.FromBlock(model.backbone, spec.training.train_from, of_one)  # type: ignore[assignment]
            one = stored_shape(spec.training, manifest)[1:]
            images = torch.rand(batch.size, math.prod(one), 1, 1)  # as `StoredViews`
        model, images = model.to(device), images.to(device)
        loss = build_loss(spec, classes, model.embedding_size).to(device)
        mine, augment = build_miner(spec, loss), build_augment(spec, _data(manifest, one))
        optimizer, _ = build_optimizer(replace(spec.training, steps=1), model, loss)
        labels = torch.arange(batch.size).remainder(classes).to(device)
        generator = torch.Generator(device=device).manual_seed(0)

        def embed(training: bool) -> Tensor:
            half = spec.training.precision == "bfloat16"
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
                return model(augment(images, training=training, generator=generator if training else None)).float()

        def step() -> None:
            if not spec.training.total_steps:  # in closed form
                return
            embeddings = embed(training=True)
            truth = {"truth": labels} if getattr(mine, "takes_truth", False) else {}
            tuples = None if mine is None else mine(embeddings.detach(), labels, generator=generator, **truth)
            optimizer.zero_grad(set_to_none=True)
            loss(embeddings, labels, tuples).backward()
            optimizer.step()

        try:
            step_seconds = _typical_seconds(step, seconds, device)
            model.eval()
            with torch.inference_mode():
                image_seconds = _typical_seconds(lambda: embed(training=False), seconds / 4, device) / batch.size
        except ValueError:
            raise
        except Exception as error:  # of any part, also another package's
            parts = f"loss {spec.loss.name!r}, backbone {spec.training.backbone!r}"
            raise NotTimed(f"a step could not be timed: {files.first_line(error)} ({parts})") from error
    return Timing(step_seconds, image_seconds, model.embedding_size)


def time_scores(spec: TrialSpec, images: int, length: int, threads: int = 1) -> float:
    """Seconds to score one evaluation of so many images, once they are embedded in so many dimensions.

    Timed on random embeddings. For more than `SCORED`, seconds grow as from half of these to all: with the number of
    images for clusterings, with its square for neighbours.

    Raises
    ------
    NotTimed : a metric failed.
    """
    wanted, most = spec.evaluation, min(images, SCORED)

    def score(rows: int) -> float:
        embeddings = torch.rand(rows, length, generator=torch.Generator().manual_seed(0))
        started = time.perf_counter()
        evaluation.evaluate(
            embeddings,
            {level: torch.arange(rows) % CLASSES for level in spec.dataset.evaluate_on},
            metrics=list(wanted.metrics),
            over_clustering=wanted.over_clustering,
        )
        return time.perf_counter() - started

    try:
        with _threads(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few samples for many clusters
            score(min(most, CLASSES))  # imports
            seconds, half = score(most), score(most // 2) if images > most else 0.0
    except Exception as error:  # of any metric
        raise NotTimed(f"an evaluation could not be timed: {files.first_line(error)}") from error
    if images <= most:
        return seconds
    power = min(2.0, max(1.0, math.log2(seconds / half)))
    return float(seconds * (images / most) ** power)


def _data(manifest: Mapping[str, Any], one: tuple[int, ...] = ()) -> TrialData:
    """All that networks and augmentations need to know of the data. `one`: the shape of an image."""
    images = SimpleNamespace(one=one)
    return cast(TrialData, SimpleNamespace(packed=SimpleNamespace(manifest=manifest, images=images)))


def _network(spec: TrialSpec, manifest: Mapping[str, Any]) -> EmbeddingNetwork:
    network = describe_model(spec, _data(manifest))["network"]
    offline = models.find(spec.training.backbone).without_weights(network)
    return models.build(**{**network, **offline})


def _head(spec: TrialSpec, whole: EmbeddingNetwork) -> EmbeddingNetwork:
    """What a frozen trial trains."""
    training, width = spec.training, int(whole.backbone.features)  # type: ignore[arg-type]
    return models.build_head(width, embedding_size=training.embedding_size, **describe_head(training))


def _typical_seconds(work: Callable[[], Any], seconds: float, device: torch.device) -> float:
    def timed() -> float:
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - started

    first = timed()  # it also allocates memory, so it counts only if there is no time for others
    if first > seconds:
        return first
    found = [timed()]
    while sum(found) < seconds and len(found) < ENOUGH:
        found.append(timed())
    return median(found)  # other processes delay some steps


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, number))
    try:
        yield
    finally:
        torch.set_num_threads(before)
