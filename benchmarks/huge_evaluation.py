"""Evaluation of millions of vectors by a compressed index, within a bound on memory, beside exact faiss.

    python benchmarks/huge_evaluation.py --rows 1,10 --queries 20000 --memory "4 GB"

Vectors of 64 float16 numbers around class centres are written in chunks to `--folder` (130 bytes a row) and deleted
afterwards. Each evaluation is its own process. The kernel refuses it more than `--memory` of private memory
(RLIMIT_DATA); its peak is sampled from /proc. The exact method is `dml.evaluation.evaluate` with the same queries, up
to a million rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from dml.counting import bytes_of

WIDTH, PER_CLASS, CHUNK = 64, 500, 1 << 18
SPREAD = 1.4  # of a class about its centre
METRICS, OF_CLUSTERS = "recall@1,recall@10,map@r,nmi,f1", ("nmi", "f1")
CANDIDATES = 1000


def make(rows: int, folder: Path) -> None:
    """Write x.npy, float16 (rows, 64), and y.npy, int32 (rows,), chunk by chunk."""
    classes = rows // PER_CLASS
    x = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype=np.float16, shape=(rows, WIDTH))
    y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.int32, shape=(rows,))
    centres = np.random.default_rng(0).standard_normal((classes, WIDTH), dtype=np.float32)
    for start in range(0, rows, CHUNK):
        stop, draw = min(start + CHUNK, rows), np.random.default_rng([1, start])
        numbers = (np.arange(start, stop) * 7919) % classes  # every class has as many rows, none beside another
        noise = draw.standard_normal((stop - start, WIDTH), dtype=np.float32)
        y[start:stop], x[start:stop] = numbers, centres[numbers] + SPREAD * noise
    x.flush()
    y.flush()


class Memory:
    """The peaks of a process's private memory and of mapped files' pages, sampled in a thread."""

    def __init__(self) -> None:
        self.private = self.mapped = 0
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while True:
            found = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            self.private = max(self.private, int(found["RssAnon"].split()[0]) << 10)
            self.mapped = max(self.mapped, int(found["RssFile"].split()[0]) << 10)
            time.sleep(0.1)


def measure(method: str, folder: Path, queries: int, memory: str, metrics: list[str]) -> dict:
    """One evaluation in this process."""
    sampled, times, last = Memory(), {}, [time.process_time()]

    def report(line: str) -> None:
        print(f"  {line}", file=sys.stderr, flush=True)
        step, _, rest = line.partition(":")
        if rest and "left" not in rest:
            now = time.process_time()
            times[step], last[0] = times.get(step, 0) + now - last[0], now

    y = np.load(folder / "y.npy", mmap_mode="r")
    if method == "compressed":
        resource.setrlimit(resource.RLIMIT_DATA, (bytes_of(memory),) * 2)
        from dml.evaluation.compressed import evaluate_compressed

        given = {"memory": memory, "candidates": CANDIDATES, "queries": queries, "report": report}
        scores = evaluate_compressed(folder / "x.npy", y, metrics, folder=folder / "index", **given)
    else:
        from dml.evaluation import evaluate
        from dml.seeding import numpy_generator

        chosen = np.zeros(len(y), bool)
        chosen[numpy_generator(0, "queries").choice(len(y), queries, replace=False, shuffle=False)] = True
        x = np.load(folder / "x.npy", mmap_mode="r")
        scores = {}
        for what, clustering in (("searching", False), ("clustering", True)):
            if some := [name for name in metrics if (name in OF_CLUSTERS) == clustering]:
                started = time.process_time()
                scores |= evaluate(x, np.array(y), some, queries=chosen, backend="faiss")
                times[what] = time.process_time() - started
    disk = sum(path.stat().st_size for path in (folder / "index").rglob("*") if path.is_file())
    return {
        "scores": dict(scores),
        "accuracy": getattr(scores, "accuracy", {}),
        "seconds": times,
        "private": sampled.private,
        "mapped": sampled.mapped,
        "disk": disk,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,10", help="millions, with commas between")
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--memory", default="4 GB")
    parser.add_argument("--metrics", default=METRICS, help="with commas between; nmi,f1 need no search")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--results", type=Path, help="write the figures as JSON, after each evaluation")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        wanted = given.metrics.split(",")
        print(json.dumps(measure(given.one[0], Path(given.one[1]), given.queries, given.memory, wanted)))
        return
    found = {}
    for millions in given.rows.split(","):
        rows = int(float(millions) * 1_000_000)
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            make(rows, Path(folder))
            for method in ["exact", "compressed"] if rows <= 1_000_000 else ["compressed"]:
                command = [sys.executable, __file__, "--one", method, folder]
                command += ["--queries", str(given.queries), "--memory", given.memory]
                command += ["--metrics", given.metrics]
                started = time.perf_counter()
                out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                result = json.loads(out.splitlines()[-1]) | {"wall": time.perf_counter() - started}
                found[f"{method} {millions}"] = result
                print(method, millions, json.dumps(result), flush=True)
                if given.results:
                    given.results.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
