"""Compute the backbone's features of all packed images, or the activations before a block, shard by shard.

The array grows in `.<id>.partial`, where `done/<shard>` marks each shard that is on the disk, so that a killed run goes
on; the folder is renamed when it is complete.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from dml import evaluation, files, models
from dml.data import augment as augmentations
from dml.data.packing import Packed, ProgressLine, open_packed
from dml.protocols import Augmentation
from dml.training.frozen.opening import ARRAY, BACKBONE, FOLDER, MANIFEST, is_complete, open_features
from dml.training.frozen.recipe import (
    BATCH,
    SHARD,
    UNTRAINED_SEED,
    describe_augment,
    describe_backbone,
    features_id,
    recipe,
    stored_shape,
    view_generator,
)
from dml.training.process import keep_freed_memory, on_threads
from dml.types import TrainingSpec


@dataclass(frozen=True)
class Extraction:
    """Shards of features or activations that any process can write. It pickles as paths and plain values."""

    images: Path  # the packed folder
    folder: Path  # of the growing array
    backbone: str  # as `describe_backbone`, JSON
    augment: str  # as `describe_augment`, JSON
    precision: str
    device: str
    shard: int = SHARD  # images
    block: str | None = None  # before which activations are taken; None: features
    views: int = 1  # of each image: as in evaluation, and random ones
    mirrored: bool = False  # of the mirror image

    def write(self, shard: int) -> int:
        """Compute one shard on one thread, so that no number depends on the cores; the number of its images."""
        keep_freed_memory()
        packed = open_packed(self.images)
        rows = np.arange(shard * self.shard, min((shard + 1) * self.shard, len(packed.images)))
        with on_threads(1):
            each = torch.stack([self._embed(packed, rows, shard, view) for view in range(self.views)], dim=1)
        array = np.lib.format.open_memmap(self.folder / ARRAY, mode="r")
        with np.errstate(over="ignore"):
            values = each.cpu().numpy().astype(array.dtype)
        finite = np.isfinite(values.reshape(len(rows), -1)).all(axis=1)
        if not finite.all():
            path = packed.index["path"].iloc[int(rows[~finite][0])]
            what = "features" if self.block is None else "activations"
            raise ValueError(
                f"the backbone's {what} of {path} are infinite or NaN, or larger than {values.dtype} holds"
            )
        _write(self.folder / ARRAY, array.offset + shard * self.shard * array[0].nbytes, values)
        _mark(self.folder, shard).touch()
        return len(rows)

    def _embed(self, packed: Packed, rows: np.ndarray, shard: int, view: int) -> Tensor:
        """float32 (m, D): the features of one view of each image, or its activations in one row."""
        network = _network(self.backbone, self.folder / BACKBONE, self.device)
        if self.block is not None:
            network = nn.Sequential(models.BeforeBlock(network, self.block), nn.Flatten())  # type: ignore[arg-type]
        draw = None if view == 0 else view_generator(shard, view, self.device)
        augment = _View(augmentations.build(**json.loads(self.augment)), draw, self.mirrored)
        return evaluation.embed_images(
            network, packed.images, rows, augment=augment, device=self.device, precision=self.precision, batch=BATCH
        )


class _View:
    """What an augmentation makes of images or their mirror images, at random if there is a generator."""

    version: ClassVar[int] = 1  # as of the recipe

    def __init__(self, augment: Augmentation, generator: torch.Generator | None, mirrored: bool):
        self._augment, self._generator, self._mirrored = augment, generator, mirrored
        self.image_size = augment.image_size

    def __call__(self, images: Tensor, training: bool, generator: torch.Generator | None = None) -> Tensor:
        given = images.flip(-1) if self._mirrored else images
        return self._augment(given, training=self._generator is not None, generator=self._generator)


Run = Callable[[Extraction, Sequence[int]], Iterator[int]]
"""Writes shards, here or in other processes, and yields the number of images of each when it is done."""


def in_process(work: Extraction, shards: Sequence[int]) -> Iterator[int]:
    """Write shards one after another in this process."""
    return map(work.write, shards)


def on_cores(work: Extraction, shards: Sequence[int]) -> Iterator[int]:
    """Write shards in a process for each core."""
    if (cores := min(len(shards), os.cpu_count() or 1)) < 2 or work.device != "cpu":
        yield from in_process(work, shards)
        return
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work.write, shards)


def extract(
    packed: Packed, training: TrainingSpec, store: Path, run: Run = in_process, report: Callable[[str], None] = print
) -> Path:
    """Compute the features or activations of all packed images in `store`, unless they are there. Returns their folder.

    Those in `dml.files.cache` are copied from there. An untrained backbone has the weights of one fixed seed; views but
    the first are augmented as in training, by generators of fixed seeds. Raises ValueError if the backbone or its
    weights do not fit or a number is not finite, OSError if the disk is full; shards that are done are kept.
    """
    made = recipe(training, packed.manifest)
    name = features_id(made)
    out, partial = store / name, store / f".{name}.partial"
    with files.locked(store / f"{name}.lock", on_wait=lambda: report(f"{out}: waiting for another process")):
        if is_complete(out):
            report(f"{out}: computed already ({_sizes(open_features(out).array.shape)})")
            return out
        if is_complete(kept := files.cache() / FOLDER / name):
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(kept, partial)
            files.move(partial, out)
            report(f"{out}: computed already, copied from {kept}")
            return out
        work = Extraction(
            packed.folder.resolve(),
            partial.resolve(),
            json.dumps(describe_backbone(training, packed.manifest)),
            json.dumps(describe_augment(training, packed.manifest)),
            training.precision,
            training.device,
            SHARD if training.train_from is None else BATCH,
            training.train_from,
            training.views,
            training.mirrored,
        )
        started, shape = time.monotonic(), _prepare(work, packed, training)
        shards = [shard for shard in range(-(-len(packed.images) // work.shard)) if not _mark(partial, shard).exists()]
        left = sum(min(work.shard, len(packed.images) - shard * work.shard) for shard in shards)
        if left < len(packed.images):
            report(f"features {name}: resuming, {len(packed.images) - left} of {len(packed.images)} images are done")
        count, progress = 0, ProgressLine(f"features {name}", left, report)
        for images in run(work, shards):
            count += images
            progress(count)
        seconds = time.monotonic() - started
        size: dict[str, Any] = {"features": shape[0]} if work.block is None else {"shape": list(shape)}
        if training.layers:
            network: Any = _network(work.backbone, partial / BACKBONE, "cpu")
            size["layers"] = list(network.widths.items())  # in their order
        files.write_json(partial / MANIFEST, {"images": len(packed.images), **size, "recipe": made})
        for mark in (partial / "done").iterdir():
            mark.unlink()
        (partial / "done").rmdir()
        files.move(partial, out)
    what = f"{_sizes((len(packed.images), *shape))} {'features' if work.block is None else 'activations'}"
    what += " of mirror images" if work.mirrored else ""
    report(f"{out}: {what}, {left / max(seconds, 1e-9):.0f} images/s")
    return out


def _prepare(work: Extraction, packed: Packed, training: TrainingSpec) -> tuple[int, ...]:
    """Write the backbone's weights and an array without values, if they are not there."""
    (work.folder / "done").mkdir(parents=True, exist_ok=True)
    weights, array = work.folder / BACKBONE, work.folder / ARRAY
    if not weights.is_file():
        network = _untouched(json.loads(work.backbone))
        files.check_space(work.folder, sum(value.nbytes for value in network.state_dict().values()), "the backbone")
        with files.replacing(weights) as temporary:
            save_file({key: value.contiguous() for key, value in network.state_dict().items()}, temporary)
    network = _network(work.backbone, weights, "cpu")
    shape = (int(network.features),) if work.block is None else stored_shape(training, packed.manifest)  # type: ignore[arg-type]
    if not array.is_file():
        what = "the features"
        if work.block is not None:
            what = (
                f"the activations before {work.block!r} ({_sizes(shape)} an image): a higher block or fewer `views` "
                "take less"
            )
        stored = np.dtype(training.frozen_precision)
        files.check_space(work.folder, len(packed.images) * math.prod(shape) * stored.itemsize, what)
        with files.replacing(array) as temporary:
            np.lib.format.open_memmap(temporary, mode="w+", dtype=stored, shape=(len(packed.images), *shape))
    return shape


def _sizes(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _untouched(described: dict[str, Any]) -> nn.Module:
    """The backbone with the weights that its settings name; without any, those of the fixed seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(UNTRAINED_SEED)
        return models.build(**described, embedding_size=1).backbone  # type: ignore[return-value]


@lru_cache(maxsize=1)
def _network(backbone: str, weights: Path, device: str) -> nn.Module:
    """The backbone with the weights that all processes share, on its device; kept for the next shard."""
    described = json.loads(backbone)
    network = _untouched(models.find(described["backbone"]).without_weights(described))
    network.load_state_dict(load_file(weights))
    return network.to(device).eval()


def _write(path: Path, offset: int, values: np.ndarray) -> None:
    """Write values at a place in a file, and flush them to the disk before they are marked as done."""
    try:
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(values.tobytes())
        files.sync(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(error.errno, str(error.strerror), str(path)) from error
        raise


def _mark(folder: Path, shard: int) -> Path:
    return folder / "done" / f"{shard:06d}"
