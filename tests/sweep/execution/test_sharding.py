"""Shards and noise by Ray's workers, beside one process."""

from pathlib import Path

import numpy as np
import pytest

from dml.config import ResourcesSection
from dml.data import sources
from dml.data.packing import open_packed, pack
from dml.data.shards import plan_layout, shard_packed
from dml.noise._sharded import flips_of_shards
from dml.sweep.execution.sharding import corrupt_in_workers, corrupt_one, shard_in_workers

pytestmark = pytest.mark.slow


def test_workers_write_what_one_process_writes(tmp_path):
    resources = ResourcesSection(cpus_per_trial=1)
    pack(sources.build("digits"), tmp_path / "raw", tmp_path / "packed", report=lambda line: None)
    given = {"size": 12 << 10, "report": lambda line: None}
    shard_in_workers(resources, tmp_path / "packed", tmp_path / "there", **given)
    shard_packed(tmp_path / "packed", tmp_path / "here", **given)
    there, here = (open_packed(tmp_path / name).images for name in ("there", "here"))
    assert there.table.digests == here.table.digests
    labels = np.sort(np.arange(3000) % 30)
    np.save(tmp_path / "labels.npy", labels)
    starts = plan_layout(np.full(30, 100), 1, 400).starts
    paths = corrupt_in_workers(resources, tmp_path / "labels.npy", starts, 0.2, 5, tmp_path / "noise")
    observed = np.concatenate([np.load(path) for path in paths])
    assert (observed != labels).sum() == 600
    flips = flips_of_shards(np.diff(starts), 0.2, 5)
    for shard in range(len(flips)):
        out = Path(tmp_path / "again.npy")
        run = (int(starts[shard]), int(starts[shard + 1]), np.arange(30), int(flips[shard]), 5, shard, out)
        corrupt_one(tmp_path / "labels.npy", *run)
        np.testing.assert_array_equal(np.load(out), np.load(paths[shard]))
