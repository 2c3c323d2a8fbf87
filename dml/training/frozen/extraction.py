"""Compute the backbone's features of all packed images, shard by shard.

    store/features/<id>/features.npy, backbone.safetensors, manifest.json

The array grows in `.<id>.partial` beside its place, where `done/<shard>` marks each shard that is on the disk. A killed
run leaves at most the shards of that moment to be computed again. The folder is renamed when it is complete.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from dml import evaluation, files, models
from dml.data import augment as augmentations
from dml.data.packing import Packed, ProgressLine, check_space, open_packed
from dml.training.descriptions import describe_augment, describe_backbone
from dml.training.frozen.opening import ARRAY, BACKBONE, MANIFEST, open_features
from dml.training.frozen.recipe import BATCH, SHARD, derive_seed, features_id, recipe
from dml.types import TrainingSpec


@dataclass(frozen=True)
class Extraction:
    """Shards of features that can be written in any process. It pickles as paths and plain values."""

    images: Path  # the packed folder
    folder: Path  # of the growing array
    backbone: str  # as `describe_backbone`, JSON
    augment: str  # as `describe_augment`, JSON
    precision: str
    device: str

    def write(self, shard: int) -> int:
        """Compute one shard, write it into the array and mark it. Returns its number of images.

        On a CPU one thread computes, so that the numbers do not depend on the number of cores.

        Raises
        ------
        ValueError : a feature is infinite or NaN, as features above 65504 are in float16.
        OSError : the disk is full; marked shards are kept.
        """
        packed = open_packed(self.images)
        rows = np.arange(shard * SHARD, min((shard + 1) * SHARD, len(packed.images)))
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            found = evaluation.embed_images(
                _network(self.backbone, self.folder / BACKBONE, self.device),
                packed.images,
                rows,
                augment=augmentations.build(**json.loads(self.augment)),
                device=self.device,
                precision=self.precision,
                batch=BATCH,
            )
        finally:
            torch.set_num_threads(threads)
        array = np.lib.format.open_memmap(self.folder / ARRAY, mode="r")
        with np.errstate(over="ignore"):
            values = found.cpu().numpy().astype(array.dtype)
        _check_finite(values, packed, rows)
        _write(self.folder / ARRAY, array.offset + shard * SHARD * array.shape[1] * array.itemsize, values)
        _mark(self.folder, shard).touch()
        return len(rows)


Run = Callable[[Extraction, Sequence[int]], Iterator[int]]
"""Writes shards, here or in other processes, and yields the number of images of each when it is done."""


def in_process(work: Extraction, shards: Sequence[int]) -> Iterator[int]:
    """Write shards one after another in this process."""
    return map(work.write, shards)


def extract(
    packed: Packed,
    training: TrainingSpec,
    store: Path,
    run: Run = in_process,
    report: Callable[[str], None] = print,
) -> Path:
    """Compute the features of all packed images in evaluation mode, unless they are there. Returns their folder.

    An untrained backbone has the weights of one fixed seed.

    Parameters
    ----------
    training : of a frozen trial.
    store : the folder of all features.

    Raises
    ------
    ValueError : the backbone or its weights do not fit, a feature is not finite, or there is no space on the disk.
    OSError : the disk is full; the shards that are done are kept.
    """
    made = recipe(training, packed.manifest)
    name = features_id(made)
    out, partial = store / name, store / f".{name}.partial"
    with files.locked(store / f"{name}.lock", on_wait=lambda: report(f"{out}: waiting for another process")):
        if (out / MANIFEST).is_file():
            width = open_features(out).array.shape[1]
            report(f"{out}: computed already ({len(packed.images)} x {width})")
            return out
        work = Extraction(
            packed.folder.resolve(),
            partial.resolve(),
            json.dumps(describe_backbone(training, packed.manifest)),
            json.dumps(describe_augment(training, packed.manifest)),
            training.precision,
            training.device,
        )
        started, width = time.monotonic(), _prepare(work, packed, np.dtype(training.frozen_precision))
        shards = [shard for shard in range(-(-len(packed.images) // SHARD)) if not _mark(partial, shard).exists()]
        left = sum(min(SHARD, len(packed.images) - shard * SHARD) for shard in shards)
        if left < len(packed.images):
            report(f"features {name}: resuming, {len(packed.images) - left} of {len(packed.images)} images are done")
        count, progress = 0, ProgressLine(f"features {name}", left, report)
        for images in run(work, shards):
            count += images
            progress(count)
        seconds = time.monotonic() - started
        files.write_json(partial / MANIFEST, {"images": len(packed.images), "features": width, "recipe": made})
        for mark in (partial / "done").iterdir():
            mark.unlink()
        (partial / "done").rmdir()
        files.move(partial, out)
    report(f"{out}: {len(packed.images)} x {width} features, {left / max(seconds, 1e-9):.0f} images/s")
    return out


def _prepare(work: Extraction, packed: Packed, stored: np.dtype[Any]) -> int:
    """Write the backbone's weights and an array without values, if they are not there. Returns the width D."""
    (work.folder / "done").mkdir(parents=True, exist_ok=True)
    weights, array = work.folder / BACKBONE, work.folder / ARRAY
    if not weights.is_file():
        network = _untouched(json.loads(work.backbone))
        check_space(work.folder, sum(value.nbytes for value in network.state_dict().values()), "the backbone")
        with files.replacing(weights) as temporary:
            save_file({key: value.contiguous() for key, value in network.state_dict().items()}, temporary)
    width = int(_network(work.backbone, weights, "cpu").features)  # type: ignore[arg-type]
    if not array.is_file():
        shape = (len(packed.images), width)
        check_space(
            work.folder, shape[0] * width * stored.itemsize, "the features (`frozen_precision: float16` halves them)"
        )
        with files.replacing(array) as temporary:
            np.lib.format.open_memmap(temporary, mode="w+", dtype=stored, shape=shape)
    return width


def _untouched(described: dict[str, Any]) -> nn.Module:
    """The backbone with the weights that its settings name; without any, those of the fixed seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed())
        return models.build(**described, embedding_size=1).backbone  # type: ignore[return-value]


@lru_cache(maxsize=1)
def _network(backbone: str, weights: Path, device: str) -> nn.Module:
    """The backbone with the weights that all processes share, on its device; kept for the next shard."""
    described = json.loads(backbone)
    network = _untouched(models.find(described["backbone"]).without_weights(described))
    network.load_state_dict(load_file(weights))
    return network.to(device).eval()


def _check_finite(values: np.ndarray, packed: Packed, rows: np.ndarray) -> None:
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        path = packed.index["path"].iloc[int(rows[bad][0])]
        hint = "; `frozen_precision: float32` has a larger range" if values.dtype == np.float16 else ""
        raise ValueError(f"the backbone's features of {path} are infinite or NaN{hint}")


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
