"""Data in shards beside the mapped array: packing, noise, batches, within a bound on memory.

    python benchmarks/shards.py --rows 10 --memory "4 GB"

Rows of 64 uint8 numbers in 500-row classes, no two of a class side by side, are written in chunks to `--folder` and
deleted afterwards. The kernel refuses the measured process more than `--memory` of private memory (RLIMIT_DATA).
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from huge_evaluation import Memory

from dml.counting import bytes_of

WIDTH, PER_CLASS, CHUNK = 64, 500, 1 << 18
CLASSES, SAMPLES, BATCHES, ROUNDS = 32, 4, 400, 7


def make(rows: int, folder: Path) -> None:
    """Write a packed folder, chunk by chunk."""
    classes = rows // PER_CLASS
    images = np.lib.format.open_memmap(folder / "images.npy", mode="w+", dtype=np.uint8, shape=(rows, 1, 1, WIDTH))
    schema = pa.schema([(name, pa.int64()) for name in ("index", "fine", "coarse")])
    with pq.ParquetWriter(folder / "index.parquet", schema) as writer:
        for start in range(0, rows, CHUNK):
            stop, draw = min(start + CHUNK, rows), np.random.default_rng([1, start])
            images[start:stop] = draw.integers(256, size=(stop - start, 1, 1, WIDTH), dtype=np.uint8)
            index = np.arange(start, stop)
            columns = [index, index * 7919 % classes, np.full(stop - start, -1)]
            writer.write_table(pa.table(columns, schema=schema))
    images.flush()
    manifest = {"images": rows, "height": 1, "width": 1, "channels": WIDTH, "decode": "eager", "digest": "0" * 64}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"resize": None, "root": None}))


class Steps:
    """The processor time and the wall time of steps."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, float]] = {}
        self._last = time.process_time(), time.perf_counter()

    def __call__(self, name: str) -> None:
        now = time.process_time(), time.perf_counter()
        self.seconds[name] = now[0] - self._last[0], now[1] - self._last[1]
        self._last = now


def measure(folder: Path, memory: str) -> dict:
    """All steps in this process."""
    sampled = Memory()
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_of(memory),) * 2)
    from dml.data.batches.balanced import Balanced
    from dml.data.shards import ShardCache, ShardedImages, ShardTable, StoredMembers, shard_packed, write_members
    from dml.noise._sharded import corrupt_shard, flips_of_shards

    steps, out = Steps(), folder / "sharded"
    rows = len(np.load(folder / "packed/images.npy", mmap_mode="r"))
    shard_packed(folder / "packed", out, size=rows * WIDTH // 39, storage=str(folder / "storage"), cache="2 GB")
    steps("shards written")
    order = StoredMembers(out / "classes")
    starts = np.append(pq.read_table(out / "shards.parquet")["start"].to_numpy(), len(order.members))
    flips = flips_of_shards(np.diff(starts), 0.3, 0)
    labels = np.lib.format.open_memmap(folder / "labels.npy", mode="w+", dtype=np.int64, shape=order.members.shape)
    observed = np.lib.format.open_memmap(folder / "observed.npy", mode="w+", dtype=np.int64, shape=labels.shape)
    for shard, flip in enumerate(flips):
        part = slice(int(starts[shard]), int(starts[shard + 1]))
        labels[part] = order.names[order.starts.searchsorted(np.arange(part.start, part.stop), "right") - 1]
        found = corrupt_shard(labels[part], order.names, int(flip), 0, shard).observed
        observed[order.members[part]] = found  # by row
    steps("noise, 30%")
    members = write_members(
        lambda: (observed[a : a + CHUNK] for a in range(0, len(observed), CHUNK)), folder / "members"
    )
    steps("samples by observed class")
    memory_of_steps = sampled.private

    table = ShardTable.read(out, str(folder / "storage"), (1, 1, WIDTH), "uint8")
    images = ShardedImages(out, table, ShardCache(folder / "cache", 2 << 30, table))
    images[order.members[starts[:-1]]]
    steps("cache filled")
    mapped = np.load(folder / "packed/images.npy", mmap_mode="r")
    sampler = Balanced.stored(members, CLASSES, SAMPLES, seed=0)
    drawn = [next(sampler) for _ in range(BATCHES)]
    steps(f"{BATCHES} batches drawn")
    exact = all((np.unique(observed[b], return_counts=True)[1] == SAMPLES).all() for b in drawn)
    exact &= all(len(np.unique(observed[b])) == CLASSES for b in drawn)
    exact &= all((images[b] == mapped[b]).all() for b in drawn)
    restored = Balanced.stored(members, CLASSES, SAMPLES, seed=0)
    restored.load_state_dict(sampler.state_dict())
    resumes = all((next(restored) == next(sampler)).all() for _ in range(50))

    def spent(read, drawing: bool) -> float:
        own, started = Balanced.stored(members, CLASSES, SAMPLES, seed=0), time.process_time()
        for batch in drawn:
            read[next(own) if drawing else batch]
        return (time.process_time() - started) / BATCHES

    times: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for what, drawing in (("read", False), ("draw and read", True)):
            for name, read in (("mapped", mapped), ("shards", images)):
                times.setdefault(f"{what}, {name}", []).append(spent(read, drawing))
    ratios = {
        what: [b / a for a, b in zip(times[f"{what}, mapped"], times[f"{what}, shards"], strict=True)]
        for what in ("read", "draw and read")
    }
    room = ShardCache(folder / "small", len(observed) * WIDTH // 4, table)
    small = ShardedImages(out, table, room)
    started = time.process_time()
    for batch in drawn[:20]:
        small[batch]
    pure = [next(Balanced(np.array(observed), CLASSES, SAMPLES, seed=0)) for _ in range(1)]
    return {
        "seconds": steps.seconds,
        "exact": bool(exact),
        "as the sampler in memory": bool((pure[0] == drawn[0]).all()),
        "resumes": bool(resumes),
        "shards": len(table.names),
        "private, until the batches": memory_of_steps,
        "private": sampled.private,
        "mapped": sampled.mapped,
        "ms a batch": {name: 1e3 * statistics.median(values) for name, values in times.items()},
        "ratio": {what: [statistics.median(v), min(v), max(v)] for what, v in ratios.items()},
        "a cache of a quarter": {"misses a batch": room.misses / 20, "ms": (time.process_time() - started) * 50},
    }


def main() -> None:
    global WIDTH
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=10, help="millions")
    parser.add_argument("--width", type=int, default=64, help="bytes of a row")
    parser.add_argument("--memory", default="4 GB")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    WIDTH = given.width
    if given.one:
        print(json.dumps(measure(Path(given.one), given.memory), indent=1))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        (Path(folder) / "packed").mkdir()
        make(int(given.rows * 1_000_000), Path(folder) / "packed")
        command = [sys.executable, __file__, "--one", folder, "--memory", given.memory, "--width", str(WIDTH)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
