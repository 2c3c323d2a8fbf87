"""Shards written, and their labels corrupted, by Ray's workers: each holds a part of one shard at a time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dml import files
from dml.config import ResourcesSection
from dml.data.shards import shard_packed
from dml.noise._sharded import corrupt_shard, flips_of_shards
from dml.sweep.execution.tasks import in_workers


def shard_in_workers(
    resources: ResourcesSection, packed: Path | str, out: Path | str, **options: Any
) -> dict[str, Any]:
    """`dml.data.shards.shard_packed` over a cluster, or over this machine's cores; all nodes need to reach `packed`."""
    return shard_packed(Path(packed).resolve(), Path(out).resolve(), run=partial(in_workers, resources), **options)


def corrupt_in_workers(
    resources: ResourcesSection, labels: Path, starts: np.ndarray, rate: float, seed: int, out: Path
) -> list[Path]:
    """Uniform noise on labels in the order of the shards. Returns a file of observed labels, int64, for each shard.

    Parameters
    ----------
    labels : a `.npy` file of integers (n,), at least 0, which all nodes reach.
    starts : int64 (s + 1,), as of `dml.data.shards.Layout`.
    out : a folder for the files; those that are there are kept, so another rate or seed needs another folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    given = np.load(labels, mmap_mode="r")
    classes = np.flatnonzero(np.bincount(given)) if given.max() < 1 << 31 else np.unique(given)
    flips = flips_of_shards(np.diff(starts), rate, seed)
    paths = [out / f"{shard:06d}.npy" for shard in range(len(flips))]
    inputs = [
        (labels, int(starts[shard]), int(starts[shard + 1]), classes, int(flips[shard]), seed, shard, path)
        for shard, path in enumerate(paths)
        if not path.is_file()
    ]
    for _ in in_workers(resources, corrupt_one, inputs):
        pass
    return paths


def corrupt_one(
    labels: Path, start: int, stop: int, classes: np.ndarray, flips: int, seed: int, shard: int, out: Path
) -> None:
    """Write the observed labels of one shard."""
    found = corrupt_shard(np.load(labels, mmap_mode="r")[start:stop], classes, flips, seed, shard)
    with files.replacing(out) as temporary, open(temporary, "wb") as file:
        np.save(file, found.observed)
