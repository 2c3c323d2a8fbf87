"""Finding wrong labels: networks that a study trains on the other folds, beside pixels. The truth is known.

    DML_MIRROR=/data python benchmarks/audit_trained.py --out docs/benchmarks/audit-trained.md

Digits come with scikit-learn; the mirror holds `cifar100/cifar-100-python.tar.gz`. Labels get uniform noise, and every
representation the same ones. The networks are `small_conv`, trained from random weights as `ROWS` says; one run each.
Finished networks and rows stay in `--cache`.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import average_precision_score

import dml
from dml import audit, files
from dml.audit.images import Audited, pixels
from dml.audit.training import TrainedVectors
from dml.config import AuditSection, Study
from dml.data import sources
from dml.data.packing import open_packed, pack

RATE, SEED = 0.2, 0
LOSSES: dict[str, dict[str, Any]] = {
    "triplet": {"name": "triplet", "positives": ["easy"], "negatives": ["semihard_random"]},
    "softmax": {"name": "softmax"},
}
ROWS: dict[str, dict[str, Any]] = {
    "digits": {
        "dataset": {"name": "digits"},
        "classes": 10,  # its first ones
        "losses": ["triplet", "softmax"],
        "training": {"steps": 300, "batch": {"classes": 10, "per_class": 8}},
    },
    "CIFAR-100, 20 classes": {
        "dataset": {"name": "cifar100"},
        "classes": 20,
        "losses": ["triplet", "softmax"],
        "training": {"steps": 600, "batch": {"classes": 16, "per_class": 4}},
    },
}
HEADER = """# Finding wrong labels with networks that are trained on the other folds

    DML_MIRROR=/data python benchmarks/audit_trained.py

commit {commit}, {date}. Uniform noise {rate}, seed {seed}, one run each. `small_conv` from random weights, embeddings
of 64 numbers, Adam at 0.001 ({settings} images).
Each loss trains five networks on the given labels of four folds each, and for the second round five more without the
suspects. `triplet`: easy positives, random semi-hard negatives. The loss is the mean -log P of the held-out given
labels, by which the audit chooses. Seconds are of one processor core, with training.

| | images | representation | average precision | loss | guess (true 0.2) | CPU s |
|---|---|---|---|---|---|---|
"""
FOOTER = """
On 2026-11-22, the networks won where pixels say little (CIFAR-100), most of all with softmax, which the likelihood
chose. They hardly helped where pixels say nearly all: on digits all three find nearly all wrong labels, and the
likelihood chose the least good of them. What the second training without the suspects and the calibration are worth:
[LOG.md](../LOG.md).
"""


def study_of(settings: dict[str, Any]) -> Study:
    network = {"backbone": "small_conv", "embedding_size": 64, "learning_rate": 0.001, **settings["training"]}
    return Study(
        title="t",
        datasets=[{"id": "data", **settings["dataset"]}],
        losses=[LOSSES[name] for name in settings["losses"]],
        training=network,
        name="benchmark",
    )


def audited(study: Study, classes: int, cache: Path) -> tuple[Audited, np.ndarray, Path]:
    """The images of the first classes with wrong labels, which of them are wrong, and the folder of the data."""
    section = study.datasets[0]
    source, root = sources.build(section.name, **section.settings), cache / "data" / section.name
    folder = root / "packed"
    if not (folder / "manifest.json").is_file():
        source.download(root / "raw")
        pack(source, root / "raw", folder, resize=section.packing["resize"])
    packed = open_packed(folder)
    files.write_json(root / "pack.json", {"data": {**packed.manifest, "folder": "packed"}})
    right = packed.index["fine"].to_numpy(np.int64)
    rows = np.flatnonzero(right < classes)
    given = dml.noise.build("uniform", rate=RATE).corrupt(right[rows], seed=SEED).observed
    return Audited("data", "fine", packed, rows, given, given.astype(str)), given != right[rows], root


def row(settings: dict[str, Any], cache: Path) -> list[dict[str, Any]]:
    """What each representation finds: pixels, and the networks of each loss."""
    study = study_of(settings)
    source, wrong, root = audited(study, settings["classes"], cache)
    named: dict[str, Any] = {"pixels": pixels(source.packed, source.rows, 32)}
    for loss in settings["losses"]:
        named[loss] = TrainedVectors(study, AuditSection(trained={"loss": loss}), source, root, root / "trained")
    lines = []
    for method, vectors in named.items():
        started = time.process_time()
        result = audit.audit({method: vectors}, source.labels, seed=SEED)
        lines.append(
            {
                "images": len(wrong),
                "representation": method,
                "ap": float(average_precision_score(wrong, result.score)),
                "loss": result.losses[method],
                "guess": result.rate.guess,
                "seconds": time.process_time() - started,
            }
        )
        print(lines[-1], flush=True)
    return lines


def report(results: dict[str, list[dict[str, Any]]]) -> str:
    lines = []
    for name, rows in results.items():
        chosen = min(rows, key=lambda one: one["loss"])
        for one in rows:
            used = " (the audit's choice)" if one is chosen else ""
            cells = [f"{one['ap']:.3f}", f"{one['loss']:.3f}", f"{one['guess']:.3f}", f"{one['seconds']:.0f}"]
            lines.append(f"| {name} | {one['images']:,} | {one['representation']}{used} | " + " | ".join(cells) + " |")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    settings = "; ".join(f"{name}: {_steps(ROWS[name]['training'])}" for name in results)
    header = HEADER.format(commit=commit, date=datetime.date.today(), rate=f"{RATE:.0%}", seed=SEED, settings=settings)
    return header + "\n".join(lines) + "\n" + FOOTER


def _steps(training: dict[str, Any]) -> str:
    return f"{training['steps']} steps of {training['batch']['classes']} x {training['batch']['per_class']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path("/tmp/dml-audit-trained"))
    parser.add_argument("--rows", default="", help="parts of the rows' names, separated by |; default: all")
    parser.add_argument("--out", type=Path, help="where the table is written; default: printed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = {}
    for name, settings in ROWS.items():
        if not any(part in name for part in arguments.rows.split("|")):
            continue
        path = arguments.cache / "rows" / f"{name}.json"
        if not path.exists():
            files.write_json(path, row(settings, arguments.cache))
        results[name] = files.read_json(path)
    text = report(results)
    if arguments.out is None:
        print(text)
    else:
        files.write_text(arguments.out, text)


if __name__ == "__main__":
    main()
