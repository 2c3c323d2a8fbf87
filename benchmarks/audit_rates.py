"""The audit's first guess of the noise rate on rows that were not looked at while its constants were chosen.

    DML_MIRROR=/data python benchmarks/audit_rates.py --weights mobilenet_v1_075.safetensors --peer /tmp/peer

Beside cleanlab's confident joint, on the same vectors (see `benchmarks/audit.py`, which also says what the mirror holds
and puts the result, `rates.md` in its `--cache`, into its page). The rows and this file were written before any of them
had been computed. Omniglot's letters and the images of CIFAR-100 and MNIST are others than in `benchmarks/audit.py`,
labels are drawn with another seed, and the digits of scikit-learn are new; Flowers and Cars have the same images.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import audit as benchmark
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import dml
from dml import audit, files
from dml.audit._audit import VERSION

SEED = 1  # of wrong labels
ROWS = {  # row: data, noise model, rate
    "CIFAR-100, human": ("cifar", "human", None),
    "CIFAR-100, human, 20 groups": ("cifar", "human_groups", None),
    "CIFAR-100, uniform 10%": ("cifar", "uniform", 0.1),
    "CIFAR-100, similarity 10%": ("cifar", "similarity", 0.1),
    "CIFAR-100, as they are": ("cifar", "uniform", 0.0),
    "Omniglot letters, uniform 10%": ("omniglot", "uniform", 0.1),
    "Omniglot letters, uniform 40%": ("omniglot", "uniform", 0.4),
    "MNIST, similarity 20%": ("mnist", "similarity", 0.2),
    "Digits, uniform 10%": ("digits", "uniform", 0.1),
    "Digits, uniform 30%": ("digits", "uniform", 0.3),
    "Flowers, uniform 20%": ("flowers", "uniform", 0.2),
    "Cars, uniform 20%": ("cars", "uniform", 0.2),
    "Cars, as they are": ("cars", "uniform", 0.0),
}
UNSEEN = {"cifar": slice(45_000, 50_000), "mnist": slice(10_000, 15_000), "omniglot": slice(5_000, 7_000)}


def load(data: str, arguments: argparse.Namespace) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Representations and true labels, cached."""
    if data == "digits":
        pixels, labels = load_digits(return_X_y=True)
        return {"pixels": pixels.astype(np.float32)}, labels
    if data not in UNSEEN:
        return benchmark.load(data, 10_000, arguments)
    path = arguments.cache / f"{data}-unseen.npz"
    if not path.exists():
        benchmark.LETTERS = 500  # of which the first 250 are those of benchmarks/audit.py
        images, labels = (values[UNSEEN[data]] for values in benchmark.READERS[data](arguments.mirror))
        found = {"frozen": benchmark.frozen(images, benchmark.SIDES[data], arguments.weights), "labels": labels}
        if data in benchmark.PIXELS:
            found["pixels"] = images[:, :: images.shape[1] // 28, :: images.shape[1] // 28].reshape(len(images), -1)
        with files.replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **found)
    with np.load(path) as file:
        content = dict(file)
    labels = np.unique(content.pop("labels"), return_inverse=True)[1]
    return {name: values.astype(np.float32) for name, values in content.items()}, labels


def given_labels(
    row: str, vectors: dict[str, np.ndarray], true: np.ndarray, mirror: Path
) -> tuple[np.ndarray, np.ndarray]:
    """The labels as given, and the true ones of the same level."""
    data, noise, rate = ROWS[row]
    if noise.startswith("human"):
        level = "coarse" if noise == "human_groups" else "fine"
        table = pd.read_csv(mirror / "cifar100n/cifar100n.csv")[UNSEEN[data]]
        return table[f"noisy_{level}"].to_numpy(), table[f"clean_{level}"].to_numpy()
    features = vectors.get("frozen", next(iter(vectors.values())))
    context = {"features": features / np.linalg.norm(features, axis=1, keepdims=True)} if noise == "similarity" else {}
    return dml.noise.build(noise, rate=rate).corrupt(true, seed=SEED, **context).observed, true


def compute(row: str, arguments: argparse.Namespace) -> dict:
    """The guess, the truth and cleanlab's confident joint of a row."""
    vectors, true = load(ROWS[row][0], arguments)
    given, true = given_labels(row, vectors, true, arguments.mirror)
    enough = np.bincount(given)[given] >= 5  # an image for each fold
    vectors, true, given = {key: values[enough] for key, values in vectors.items()}, true[enough], given[enough]
    start = time.process_time()
    found = audit.audit(vectors, given)
    seconds, wrong = time.process_time() - start, given != true
    used, codes = vectors[found.representation], np.unique(given, return_inverse=True)[1]
    return {
        "images": len(true),
        "classes": int(codes.max()) + 1,
        "noise": float(wrong.mean()),
        "representation": found.representation,
        "rate": {key: getattr(found.rate, key) for key in ("guess", "sure", "joint", "spread", "evenness")},
        "confident_joint": benchmark.cleanlab(used, codes, wrong)["joint"],
        "cpu_seconds": seconds,
    }


TEXT = """
### Fresh rows

`python benchmarks/audit_rates.py`: rows that were not looked at while the guess and its constant were chosen
(CIFAR-100's last 5,000 training images, 100 other letters of Omniglot, 5,000 other images of MNIST, scikit-learn's
digits by their pixels; Flowers and Cars are the same images with other noise; other seeds, other rates). They were
written down first, and each is computed once.
Not computed yet: {missing}.

At most half as far off as cleanlab's confident joint: {halved} of {rows} rows (goal: all). Farther off: {farther}.
Mean error {guess:.3f}, of the joint {joint:.3f}; largest {worst:.3f} ({where}).

| | images | true | guess | confident joint | error of the guess / of the joint | sure | evenness |
|---|---|---|---|---|---|---|---|
{table}
"""


def report(results: dict[str, dict]) -> str:
    """The section of the page."""
    off = {row: abs(one["rate"]["guess"] - one["noise"]) for row, one in results.items()}
    joint = {row: abs(one["confident_joint"] - one["noise"]) for row, one in results.items()}
    ratio = {row: off[row] / max(joint[row], 1e-9) for row in results}
    worst = max(off, key=off.__getitem__)
    lines = [
        f"| {row} | {one['images']:,} | {one['noise']:.3f} | {one['rate']['guess']:.3f} | {one['confident_joint']:.3f} "
        f"| {ratio[row]:.2f} | {one['rate']['sure']:.3f} | {one['rate']['evenness']:.2f} |"
        for row, one in results.items()
    ]
    return TEXT.format(
        halved=sum(value <= 0.5 for value in ratio.values()),
        rows=len(results),
        farther="; ".join(row for row, value in ratio.items() if value > 0.5) or "none",
        guess=np.mean(list(off.values())),
        joint=np.mean(list(joint.values())),
        missing="; ".join(row for row in ROWS if row not in results) or "none",
        worst=off[worst],
        where=worst,
        table="\n".join(lines),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, default=Path(os.environ.get("DML_MIRROR", ".")))
    parser.add_argument("--weights", type=Path, default=Path("mobilenet_v1_075.safetensors"))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/dml-audit"))
    parser.add_argument("--peer", type=Path, default=Path("."), help="the folder where cleanlab is installed")
    parser.add_argument("--only-report", action="store_true", help="compute no row: report what is in the cache")
    arguments = parser.parse_args()
    sys.path.append(str(arguments.peer))
    results = {}
    for row in ROWS:
        path = arguments.cache / "rates" / f"{row}-{VERSION}.json".replace(" ", "-")
        if not path.exists() and not arguments.only_report:
            print(row, flush=True)
            try:
                files.write_json(path, compute(row, arguments))
            except FileNotFoundError as error:
                print(f"  skipped: {error.filename} is missing (--mirror, --weights)")
                continue
        if path.exists():
            results[row] = files.read_json(path)
    files.write_text(arguments.cache / "rates.md", report(results))
    print(report(results))


if __name__ == "__main__":
    main()
