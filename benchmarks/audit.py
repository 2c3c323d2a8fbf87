"""Finding wrong labels: dml.audit beside cleanlab and beside neighbours, on data whose truth is known.

    pip install --target /tmp/peer cleanlab          # for this benchmark only: cleanlab is AGPL, never a dependency
    DML_MIRROR=/data python benchmarks/audit.py --weights mobilenet_v1_075.safetensors --peer /tmp/peer \
        --out docs/benchmarks/audit.md

The mirror holds `cifar100/cifar-100-python.tar.gz`, `cifar100n/cifar100n.csv`, `mnist/`, `omniglot/`, and for Flowers
and Cars the folders `flowers89` and `cars100`, each with a `table.csv` (path, fine). Rows whose data are absent are
skipped with a message. Features and finished rows are saved in `--cache`, so an interrupted run resumes; `--rows`
chooses rows.
All methods of a row get the same features and the same folds' count (5).
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import io
import os
import pickle
import subprocess
import sys
import tarfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from torch.nn import functional

import dml
from dml import audit, files
from dml.audit._audit import VERSION
from dml.audit._folds import deal
from dml.audit._neighbours import vote
from dml.audit._probabilities import Representation

ROWS = {  # row: data, noise model, rate
    "CIFAR-100, human": ("cifar", "human", None),
    "CIFAR-100, uniform 20%": ("cifar", "uniform", 0.2),
    "CIFAR-100, uniform 40%": ("cifar", "uniform", 0.4),
    "CIFAR-100, similarity 20%": ("cifar", "similarity", 0.2),
    "CIFAR-100, small cluster 25%": ("cifar", "small_cluster", 0.25),
    "Omniglot letters, uniform 20%": ("omniglot", "uniform", 0.2),
    "MNIST, uniform 20%": ("mnist", "uniform", 0.2),
    "Flowers, similarity 20%": ("flowers", "similarity", 0.2),
    "Cars, similarity 20%": ("cars", "similarity", 0.2),
    "CIFAR-100, human, 20 groups": ("cifar", "human_groups", None),
}
EXTRA = ("CIFAR-100, human, 20 groups",)  # not among the nine rows
SIDES = {"cifar": 96, "flowers": 128, "cars": 128, "mnist": 64, "omniglot": 64}  # the network's input, pixels
PIXELS = ("mnist", "omniglot")  # pixels are a second representation
LETTERS = 250  # of Omniglot's background set
METHODS = {
    "dml": "dml.audit",
    "cleanlab": "cleanlab, logistic regression",
    "own": "cleanlab's score on dml's first round",
}


def cifar(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    with tarfile.open(folder / "cifar100/cifar-100-python.tar.gz") as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("/train"))
        file = archive.extractfile(member)
        assert file is not None
        data = pickle.load(file, encoding="bytes")
    return data[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), np.array(data[b"fine_labels"])


def mnist(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    def values(name: str, skip: int) -> np.ndarray:
        with gzip.open(folder / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    images = values("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1)
    return images, values("train-labels-idx1-ubyte.gz", 8).astype(np.int64)


def omniglot(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    with zipfile.ZipFile(folder / "omniglot/images_background.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".png"))
        labels = np.unique([name.rsplit("/", 1)[0] for name in names], return_inverse=True)[1]
        names = [name for name, label in zip(names, labels, strict=True) if label < LETTERS]
        read = [Image.open(io.BytesIO(archive.read(name))).convert("L").resize((56, 56), 4) for name in names]
    return 255 - np.stack([np.asarray(image) for image in read])[..., None], labels[: len(names)]


def folder_of_images(folder: Path, side: int = 128) -> tuple[np.ndarray, np.ndarray]:
    table, images = pd.read_csv(folder / "table.csv"), []
    for path in table["path"]:
        image = Image.open(folder / path).convert("RGB")
        scale = side / min(image.size)
        size = tuple(max(side, round(length * scale)) for length in image.size)
        left, top = (size[0] - side) // 2, (size[1] - side) // 2
        images.append(np.asarray(image.resize(size, 3).crop((left, top, left + side, top + side))))
    return np.stack(images), np.unique(table["fine"], return_inverse=True)[1]


READERS = {
    "cifar": cifar,
    "mnist": mnist,
    "omniglot": omniglot,
    "flowers": lambda folder: folder_of_images(folder / "flowers89"),
    "cars": lambda folder: folder_of_images(folder / "cars100"),
}


@torch.inference_mode()
def frozen(images: np.ndarray, side: int, weights: Path) -> np.ndarray:
    """Features of MobileNet v1 0.75, float32 (n, 768)."""
    import timm.models.efficientnet as family
    from safetensors.torch import load_file

    net = family._gen_mobilenet_v1("mobilenetv1_100", 0.75, num_classes=0, pad_type="same")
    net.load_state_dict(load_file(weights), strict=True)
    net = net.eval().to(memory_format=torch.channels_last)
    out = []
    for start in range(0, len(images), 250):
        batch = torch.from_numpy(np.array(images[start : start + 250])).permute(0, 3, 1, 2).float() / 127.5 - 1
        batch = batch.expand(-1, 3, -1, -1)
        if batch.shape[-1] != side:
            batch = functional.interpolate(batch, size=(side, side), mode="bilinear", align_corners=False)
        out.append(net(batch.contiguous(memory_format=torch.channels_last)))
        print(f"\r  features {start + len(batch)} of {len(images)}", end="", flush=True)
    print()
    return torch.cat(out).numpy()


def load(data: str, most: int, arguments: argparse.Namespace) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Representations and true labels of the first `most` images, cached."""
    path = arguments.cache / f"{data}-{most}.npz"
    if not path.exists():
        images, labels = READERS[data](arguments.mirror)
        images, labels = images[:most], labels[:most]
        found = {"frozen": frozen(images, SIDES[data], arguments.weights), "labels": labels}
        if data in PIXELS:
            found["pixels"] = images[:, :: images.shape[1] // 28, :: images.shape[1] // 28].reshape(len(images), -1)
        with files.replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **found)
    with np.load(path) as file:
        content = dict(file)
    labels = content.pop("labels")
    return {name: values.astype(np.float32) for name, values in content.items()}, labels


def corrupt(
    noise: str, rate: float | None, features: np.ndarray, true: np.ndarray, mirror: Path
) -> tuple[np.ndarray, np.ndarray]:
    """The labels as given, and the true ones of the same level."""
    if noise.startswith("human"):
        level = "coarse" if noise == "human_groups" else "fine"
        table = pd.read_csv(mirror / "cifar100n/cifar100n.csv")[: len(true)]
        return table[f"noisy_{level}"].to_numpy(), table[f"clean_{level}"].to_numpy()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    context = {} if noise == "uniform" else {"features": unit}
    return dml.noise.build(noise, rate=rate).corrupt(true, seed=0, **context).observed, true


def scores(wrong: np.ndarray, score: np.ndarray) -> dict[str, float]:
    first = np.argsort(-score, kind="stable")[: int(wrong.sum())]
    return {
        "ap": average_precision_score(wrong, score),
        "auroc": roc_auc_score(wrong, score),
        "precision": float(wrong[first].mean()),
    }


def row(name: str, arguments: argparse.Namespace) -> dict:
    """All methods on one row."""
    data, noise, rate = ROWS[name]
    vectors, true = load(data, arguments.cifar if data == "cifar" else arguments.others, arguments)
    given, true = corrupt(noise, rate, vectors["frozen"], true, arguments.mirror)
    enough = np.bincount(given)[given] >= 5  # an image for each fold
    vectors, true, given = {key: values[enough] for key, values in vectors.items()}, true[enough], given[enough]
    wrong, judged = given != true, np.ones(len(true), dtype=bool)
    start = time.process_time()
    found = audit.audit(vectors, given)
    out: dict = {
        "images": len(true),
        "classes": len(np.unique(true)),
        "noise": float(wrong.mean()),
        "representation": found.representation,
        "cpu_seconds": time.process_time() - start,
        "rate": {key: getattr(found.rate, key) for key in ("guess", "sure", "joint", "spread", "evenness")},
        "methods": {"dml": scores(wrong, found.score)},
        "neighbours": {},
    }
    codes = np.unique(given, return_inverse=True)[1]
    for key, values in vectors.items():
        near = vote(torch.from_numpy(values), codes, np.ones(len(codes)), 30, 1.0)
        out["neighbours"][key] = average_precision_score(wrong, -near.own / near.weight)
    used = vectors[found.representation]
    layer = Representation(torch.from_numpy(used), codes, deal(codes, 5, 0))
    out["methods"]["own"] = scores(wrong, -layer.round("first", judged).own)
    out["review"] = reviews(found, wrong, arguments.reviews)
    path = arguments.cache / "peer" / f"{name}-{len(codes)}-{found.representation}.json".replace(" ", "-")
    if not path.exists() and arguments.peer is not None:
        files.write_json(path, cleanlab(used, codes, wrong))
    peer = files.read_json(path)
    if peer is None:
        print("  cleanlab is left out (see --peer)")
        return out
    out["methods"]["cleanlab"] = peer["scores"]
    return out | {"confident_joint": peer["joint"], "peer_cpu_seconds": peer["cpu_seconds"]}


def cleanlab(vectors: np.ndarray, codes: np.ndarray, wrong: np.ndarray) -> dict:
    """The peer's scores, on its usual probabilities: logistic regression, 5 stratified folds."""
    from cleanlab.count import estimate_joint
    from cleanlab.rank import get_label_quality_scores

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        split = StratifiedKFold(5, shuffle=True, random_state=0)
        probabilities = cross_val_predict(LogisticRegression(), vectors, codes, cv=split, method="predict_proba")
        found = scores(wrong, -get_label_quality_scores(codes, probabilities))
        joint = float(1 - np.trace(estimate_joint(codes, probabilities)))
    return {"scores": found, "joint": joint, "cpu_seconds": time.process_time() - start}


def reviews(found: audit.Audit, wrong: np.ndarray, count: int) -> dict[str, float]:
    """Simulated reviews of 200 looks: coverage, and the width against that of simple random looks."""
    ends = []
    for seed in range(count):
        plan = audit.review_plan(found, 200, seed=seed)
        result = audit.estimate(plan, {int(i): "wrong" if wrong[i] else "right" for i in plan.rows})
        ends.append((result.low, result.high))
    low, high = np.array(ends).T
    rate = wrong.mean()
    simple = 2 * 1.96 * np.sqrt(rate * (1 - rate) / 200)
    covered = float(((low <= rate) & (rate <= high)).mean())
    width = float((high - low).mean() / simple)
    return {"reviews": count, "coverage": covered, "width": width, "least": least(found.score, wrong)}


def least(score: np.ndarray, wrong: np.ndarray) -> float:
    """The least width against simple random looks that any unbiased design reaches with these scores.

    Neyman's allocation for infinitely many strata: looks in proportion to sqrt(p (1 - p)), where p is the true share of
    wrong labels among images of that score (isotonic in the score, from the true labels, so a little too sharp).
    """
    chance = IsotonicRegression().fit(score, wrong).predict(score)
    return float(np.sqrt(chance * (1 - chance)).mean() / np.sqrt(wrong.mean() * (1 - wrong.mean())))


HEADER = """# Finding wrong labels

{command}

commit {commit}, {date}. Features of a frozen MobileNet v1 0.75 (and pixels for MNIST and Omniglot), one run each.
Images are the first of each dataset: {cifar:,} of CIFAR-100's 50,000 training images, at most {others:,} of the others,
where Omniglot's first 250 letters have 5,000. All methods of a row get the same features; "used" is the representation
that `dml.audit` chose, and cleanlab gets it too. The last row is not among the nine. What a head is worth without the
suspects: [retraining.md](retraining.md). Networks that are trained on the other folds, beside pixels:
[audit-trained.md](audit-trained.md).

## Average precision

At least 2 points above cleanlab: {above} of {compared} rows (goal: 7 of 9). Below cleanlab: {below}.

A part of the gain is the classifier: cleanlab gets the probabilities of scikit-learn's logistic regression with its
defaults, on vectors as they are, by 5 folds. Beside cleanlab's score on the probabilities of `dml.audit`'s first round,
`dml.audit` is at least 2 points above on {above_own} rows. Below that: {below_own}.
"""
RATE = """
## The first guess of the noise rate

At most half as far off as cleanlab's confident joint: {halved} of {compared} rows (goal: all). Farther off: {farther}.
"""
LOOKS = """
## 200 looks: interval, and CPU seconds

Coverage of at least 93%: {covered} of {rows} rows (goal: all). At most half as wide as simple random looks: {narrow}
rows (goal: all). "least possible" is the width of Neyman's allocation with the true share of wrong labels at each
score; where it is above 0.5, no unbiased design can be half as wide with these scores: {impossible} rows.
"""
SPEED = """
## Time and memory

`python benchmarks/audit_speed.py n,D,K` on random vectors, one representation. Other work on the machine stretches
the clock, not the processor time. Goals on two cores: 50,000 x 768 in under 3 minutes and 1 GB, a million x 128 in
under 4 GB.

"""


def report(results: dict[str, dict], cifar: int, others: int) -> str:
    nine = {name: one for name, one in results.items() if name not in EXTRA and has_peer(one)}
    gains = {name: 100 * (ap(one, "dml") - ap(one, "cleanlab")) for name, one in nine.items()}
    beside_own = {name: 100 * (ap(one, "dml") - ap(one, "own")) for name, one in nine.items()}
    ratios = {name: off(one) for name, one in results.items() if has_peer(one)}
    looks = [one["review"] for one in results.values()]
    methods = " | ".join(METHODS.values())
    return "\n".join(
        [
            HEADER.format(
                command=f"    python benchmarks/audit.py --cifar {cifar} --others {others}",
                cifar=cifar,
                others=others,
                commit=_commit(),
                date=datetime.date.today(),
                above=sum(gain >= 2 for gain in gains.values()),
                compared=len(gains),
                below="; ".join(name for name, gain in gains.items() if gain < 0) or "none",
                above_own=sum(gain >= 2 for gain in beside_own.values()),
                below_own="; ".join(name for name, gain in beside_own.items() if gain < 0) or "none",
            ),
            f"| | images | wrong | used | {methods} | neighbours | gain |",
            "|---" * (6 + len(METHODS)) + "|",
            *(_precision(name, one) for name, one in results.items()),
            "",
            "## AUROC, and precision at the true count",
            "",
            f"| | {methods} |",
            "|---" * (1 + len(METHODS)) + "|",
            *(_others(name, one) for name, one in results.items()),
            RATE.format(
                halved=sum(ratio <= 0.5 for ratio in ratios.values()),
                compared=len(ratios),
                farther="; ".join(name for name, ratio in ratios.items() if ratio > 0.5) or "none",
            ),
            "| | true | guess | confident joint | error of the guess / of the joint | sure | evenness |",
            "|---" * 7 + "|",
            *(_rate(name, one) for name, one in results.items()),
            LOOKS.format(
                covered=sum(one["coverage"] >= 0.93 for one in looks),
                rows=len(looks),
                narrow=sum(one["width"] <= 0.5 for one in looks),
                impossible=sum(one["least"] > 0.5 for one in looks),
            ),
            "| | coverage | width against simple random looks | least possible | dml.audit, CPU s | cleanlab, CPU s |",
            "|---" * 6 + "|",
            *(_looks(name, one) for name, one in results.items()),
            "",
        ]
    )


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()


def ap(one: dict, method: str) -> float:
    return one["methods"][method]["ap"]


def has_peer(one: dict) -> bool:
    return "cleanlab" in one["methods"]


def off(one: dict) -> float:
    """The error of the guess as a share of the confident joint's."""
    return abs(one["rate"]["guess"] - one["noise"]) / max(abs(one["confident_joint"] - one["noise"]), 1e-9)


def _precision(name: str, one: dict) -> str:
    cells = [f"{ap(one, key):.3f}" if key in one["methods"] else "" for key in METHODS]
    near = ", ".join(f"{key} {value:.3f}" for key, value in one["neighbours"].items())
    gain = f"{100 * (ap(one, 'dml') - ap(one, 'cleanlab')):+.1f}" if has_peer(one) else ""
    start = f"| {name} | {one['images']:,} | {one['noise']:.1%} | {one['representation']} | "
    return start + " | ".join(cells) + f" | {near} | {gain} |"


def _others(name: str, one: dict) -> str:
    parts = [one["methods"].get(key) for key in METHODS]
    cells = ["" if part is None else f"{part['auroc']:.3f}, {part['precision']:.3f}" for part in parts]
    return f"| {name} | " + " | ".join(cells) + " |"


def _rate(name: str, one: dict) -> str:
    rate = one["rate"]
    cells = [f"{one['confident_joint']:.3f}", f"{off(one):.2f}"] if has_peer(one) else ["", ""]
    start = f"| {name} | {one['noise']:.3f} | {rate['guess']:.3f} | {cells[0]} | {cells[1]} "
    return start + f"| {rate['sure']:.3f} | {rate['evenness']:.2f} |"


def _looks(name: str, one: dict) -> str:
    seen = one["review"]
    peer = f"{one['peer_cpu_seconds']:.0f}" if has_peer(one) else ""
    start = f"| {name} | {seen['coverage']:.3f} | {seen['width']:.2f} | {seen['least']:.2f} "
    return start + f"| {one['cpu_seconds']:.0f} | {peer} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, default=Path(os.environ.get("DML_MIRROR", ".")))
    parser.add_argument("--weights", type=Path, default=Path("mobilenet_v1_075.safetensors"))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/dml-audit"))
    parser.add_argument("--peer", type=Path, help="the folder where cleanlab is installed")
    parser.add_argument("--rows", default="", help="parts of the rows' names, separated by |; default: all")
    parser.add_argument("--cifar", type=int, default=50_000, help="CIFAR-100's first images")
    parser.add_argument("--others", type=int, default=10_000, help="the first images of the other data")
    parser.add_argument("--reviews", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="where the tables are written; default: printed")
    arguments = parser.parse_args()
    if arguments.peer is not None:
        sys.path.append(str(arguments.peer))
    results = {}
    for name, (data, *_) in ROWS.items():
        if not any(part in name for part in arguments.rows.split("|")):
            continue
        most = arguments.cifar if data == "cifar" else arguments.others
        path = arguments.cache / "rows" / f"{name}-{most}-{VERSION}.json".replace(" ", "-")
        if not path.exists():
            print(name, flush=True)
            try:
                files.write_json(path, row(name, arguments))
            except FileNotFoundError as error:
                print(f"  skipped: {error.filename} is missing (--mirror, --weights)")
                continue
        results[name] = files.read_json(path)
    text = report(results, arguments.cifar, arguments.others)
    rates = arguments.cache / "rates.md"  # from audit_rates.py
    if rates.exists():
        text = text.replace(LOOKS.splitlines()[1], f"{rates.read_text().strip()}\n\n{LOOKS.splitlines()[1]}")
    times = arguments.cache / "speed"  # from audit_speed.py
    if times.exists():
        text += SPEED + "".join(f"- {path.read_text()}" for path in sorted(times.iterdir()))
    if arguments.out is None:
        print(text)
    else:
        files.write_text(arguments.out, text)


if __name__ == "__main__":
    main()
