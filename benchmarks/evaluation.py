"""Evaluation beside pytorch-metric-learning and beside the floor: a bare faiss search and bare faiss k-means.

    python benchmarks/evaluation.py --sizes cub,sop,million --out docs/benchmarks/evaluation.md

Each measurement is its own process, the methods of a size take turns, and medians are shown. Memory is the peak of the
process minus what it held before (imports and vectors). The embeddings are random around class centres, with the sizes
of CUB's and SOP's test sets. `million` is only retrieval, by default with `--queries` of the million rows as queries:
all of them take most of an hour on two cores. Time is proportional to the queries; memory grows with them only by one
value for each query and metric.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

SIZES = {  # samples, dimensions, classes
    "cub": (5_924, 128, 100),
    "sop": (60_502, 512, 11_316),
    "million": (1_000_000, 128, 100_000),
}
SPREAD = {"cub": 2.5, "sop": 2.2, "million": 1.2}  # of a class about its centre: recall@1 near that of the field
RETRIEVAL = ["recall@1", "recall@2", "recall@4", "recall@8", "precision@1", "map@r"]
ALL = [*RETRIEVAL, "nmi", "nmi+", "ami", "f1"]
PEER = ["precision@1", "map@r", "nmi", "ami"]
METHODS = {
    "floor": "bare faiss: search and k-means",
    "dml": "dml: all metrics but map",
    "dml+map": "dml: all metrics, map too",
    "dml-peer": "dml: the peer's metrics",
    "peer": "pytorch-metric-learning",
}


def make(size: str, folder: Path) -> None:
    """Write x.npy, float32 (n, D) of unit length, and y.npy, int64 (n,)."""
    n, dimensions, classes = SIZES[size]
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(np.arange(classes), 2), rng.integers(classes, size=n - 2 * classes)])
    rng.shuffle(y)
    x = SPREAD[size] * rng.standard_normal((n, dimensions), dtype=np.float32)
    x += rng.standard_normal((classes, dimensions), dtype=np.float32)[y]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)


def run(method: str, size: str, x: np.ndarray, y: np.ndarray, queries: int, device: str) -> dict[str, float]:
    """One method, once; what it found."""
    classes, retrieval_only = SIZES[size][2], size == "million"
    if method == "floor":
        import faiss

        faiss.knn(x[:queries], x, int(np.bincount(y).max()))
        for k in () if retrieval_only else (classes, 10 * classes):
            if k < len(x):
                means = faiss.Kmeans(
                    x.shape[1], k, spherical=True, min_points_per_centroid=1, max_points_per_centroid=len(x)
                )
                means.train(x)
                means.index.search(x, 1)
        return {}
    if method == "peer":
        from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

        include = ("precision_at_1", "mean_average_precision_at_r")
        if not retrieval_only:
            include += ("NMI", "AMI")
        peer = AccuracyCalculator(include=include, k="max_bin_count")
        return peer.get_accuracy(x[:queries], y[:queries], x, y, ref_includes_query=True)
    from dml.evaluation import evaluate

    metrics = {"dml": ALL, "dml+map": [*ALL, "map"], "dml-peer": PEER}[method]
    if retrieval_only:
        metrics = [name for name in metrics if name in RETRIEVAL]
    asking = np.arange(len(x)) < queries
    return evaluate(x, y, metrics, queries=asking, device=device)


def memory(field: str) -> float:
    """VmHWM (peak) or VmRSS (now) of this process, in MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def child(method: str, size: str, folder: Path, queries: int, device: str) -> None:
    """Measure one run, after a tiny one, and print it as JSON."""
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    small = np.random.default_rng(0).integers(10, size=300)
    warnings.simplefilter("ignore")  # more clusters than these 300
    run(method, size, np.eye(10, x.shape[1], dtype=np.float32)[small], small, 300, device)  # what is imported late
    before = memory("VmRSS")
    start = time.perf_counter()
    scores = run(method, size, x, y, queries, device)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "mib": memory("VmHWM") - before, "scores": dict(scores)}))


def measure(size: str, methods: list[str], repeats: int, queries: int, device: str) -> list[str]:
    """The section of one size, as lines of Markdown."""
    n, dimensions, classes = SIZES[size]
    queries = queries if size == "million" else n
    results: dict[str, list[dict]] = {method: [] for method in methods}
    with tempfile.TemporaryDirectory() as name:
        make(size, Path(name))
        for _ in range(repeats):
            for method in methods:
                command = [sys.executable, __file__, "--child", method, "--sizes", size, "--data", name]
                command += ["--queries", str(queries), "--device", device]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{size} {method}: failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                    continue
                results[method].append(json.loads(done.stdout.splitlines()[-1]))
                print(f"{size} {method}: {results[method][-1]['seconds']:.2f} s", file=sys.stderr, flush=True)
    median = {m: statistics.median(r["seconds"] for r in runs) for m, runs in results.items() if runs}
    queried = "" if queries == n else f"; {queries:,} of them ask"
    lines = [f"## {size}: {n:,} x {dimensions}, {classes:,} classes{queried}", ""]
    lines += [
        "| | seconds (median) | runs | against the floor | peak above the vectors, MiB |",
        "|---|---|---|---|---|",
    ]
    for method, seconds in median.items():
        ratio = f"{seconds / median['floor']:.2f}" if "floor" in median else ""
        peak = max(run["mib"] for run in results[method])
        lines.append(f"| {METHODS[method]} | {seconds:.2f} | {len(results[method])} | {ratio} | {peak:.0f} |")
    if "peer" in median and "dml-peer" in median:
        lines += ["", f"The peer takes {median['peer'] / median['dml-peer']:.2f} times as long for the same metrics."]
        scores = results["dml-peer"][0]["scores"], results["peer"][0]["scores"]
        same = {"precision@1": "precision_at_1", "map@r": "mean_average_precision_at_r", "nmi": "NMI", "ami": "AMI"}
        pairs = [f"{a} {scores[0][a]:.6f} / {scores[1][b]:.6f}" for a, b in same.items() if a in scores[0]]
        lines += ["", "Values (dml / peer): " + ", ".join(pairs) + "."]
    return [*lines, ""]


def main() -> None:
    """Measure, print Markdown, write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="cub,sop,million")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, default=10_000, help="queries for `million`")
    parser.add_argument("--device", default="cpu", help="where dml computes")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.sizes, given.data, given.queries, given.device)
        return
    import faiss
    import torch

    lines = ["# Evaluation: time and memory", "", f"`python benchmarks/evaluation.py {' '.join(sys.argv[1:])}`", ""]
    lines += [
        f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}, faiss {faiss.__version__}.",
        "",
    ]
    lines += ["The floor searches as many neighbours as the largest class has samples, and clusters into as many", ""]
    lines[-1:] = ["clusters as there are classes and, where there are enough samples, ten times as many (NMI+).", ""]
    for size in given.sizes.split(","):
        methods = [m for m in given.methods.split(",") if size != "million" or m != "dml+map"]
        lines += measure(size, methods, given.repeats, given.queries, given.device)
    print("\n".join(lines))
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
