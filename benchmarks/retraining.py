"""Is a head better without the labels that the audit suspects? On human noise (CIFAR-100N), for docs/benchmarks.

    DML_MIRROR=/data python benchmarks/retraining.py --weights mobilenet_v1_075.safetensors \\
        --out docs/benchmarks/retraining.md

Linear heads are trained on features of a frozen MobileNet v1 0.75 of CIFAR-100's training images with the labels that
people gave, and evaluated on other images by verified labels:

- unseen kinds: trained on the images that people gave one of the first 50 kinds, evaluated on images of the other 50;
- groups: trained on the 20 groups, evaluated on all 100 kinds;
- seen kinds: trained on all 100 kinds, evaluated on other images of them.

The audit sees the training images and their given labels only. Training is at one setting:
triplet loss, easy positives, semi-hard random negatives, 64 dimensions, 800 steps of 20 classes x 5
images, Adam at 0.001. Differences are paired by seed: the same start of the head.
"""

from __future__ import annotations

import argparse
import datetime
import os
from pathlib import Path

import audit_data
import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from dml import audit, files, losses, miners
from dml.evaluation import evaluate
from dml.statistics import summary

STEPS, CLASSES, PER_CLASS, SIZE, RATE = 800, 20, 5, 64, 1e-3
ARMS = ("as given", "suspects left out", "as many random ones left out", "suggestions taken", "wrong ones left out")
SETTINGS = ("unseen kinds", "groups", "seen kinds")
POSITIVES = ("easy",)  # the better of the studies' two
KINDS = 50  # that are trained on, if the others are unseen


def train(vectors: Tensor, labels: np.ndarray, positives: str, seed: int) -> nn.Linear:
    """A head on vectors (n, D) and labels (n,)."""
    torch.manual_seed(seed)
    head = nn.Linear(vectors.shape[1], SIZE)
    loss, mine = losses.build("triplet"), miners.build(positives=positives, negatives="semihard_random")
    optimizer, draw = torch.optim.Adam(head.parameters(), lr=RATE), np.random.default_rng(seed)
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    for _ in range(STEPS):
        chosen = draw.choice(len(members), min(CLASSES, len(members)), replace=False)
        rows = np.concatenate([draw.choice(members[c], PER_CLASS, replace=len(members[c]) < PER_CLASS) for c in chosen])
        embeddings, given = head(vectors[torch.from_numpy(rows)]), torch.from_numpy(labels[rows])
        tuples = mine(functional.normalize(embeddings.detach()), given)
        optimizer.zero_grad()
        loss(embeddings, given, tuples).backward()
        optimizer.step()
    return head


def arms(
    audited: audit.Audit, given: np.ndarray, wrong: np.ndarray, seed: int
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The training rows and their labels of each arm."""
    rows, suspects = np.arange(len(given)), audited.suspects()
    random = np.random.default_rng(seed).permutation(len(given))[int(suspects.sum()) :]
    taken = np.where(suspects, audited.suggested, given)
    kept = {"as given": rows, "suspects left out": rows[~suspects], "as many random ones left out": np.sort(random)}
    out = {name: (chosen, given[chosen]) for name, chosen in kept.items()}
    return out | {"suggestions taken": (rows, taken), "wrong ones left out": (rows[~wrong], given[~wrong])}


def setting(name: str, vectors: np.ndarray, table: pd.DataFrame, train_on: int, seeds: int) -> list[str]:
    """The lines of one setting."""
    level, every = "coarse" if name == "groups" else "fine", name != "unseen kinds"
    given, true = table[f"noisy_{level}"].to_numpy(), table[f"clean_{level}"].to_numpy()
    before, fine = np.arange(len(given)) < train_on, table["clean_fine"].to_numpy()
    chosen, tested = before & ((given < KINDS) | every), ~before & ((fine >= KINDS) | every)
    unit = functional.normalize(torch.from_numpy(vectors))
    learned, seen = unit[torch.from_numpy(chosen)], unit[torch.from_numpy(tested)]
    given, wrong = given[chosen], (given != true)[chosen]
    audited = audit.audit(learned.numpy(), given)
    suspects = audited.suspects()
    lines = [
        f"## {name.capitalize()}",
        "",
        f"{len(given):,} training images, {wrong.mean():.1%} wrong; the audit suspects {suspects.mean():.1%}, "
        f"{wrong[suspects].mean():.1%} of them wrong, and finds {suspects[wrong].mean():.1%} of the wrong ones. "
        f"{int(tested.sum()):,} test images; R@1 of the features themselves: {recall(seen, fine[tested]):.1f}.",
        "",
        "| positives | labels | R@1 [95% interval] | beside as given [95% interval] |",
        "|---|---|---|---|",
    ]
    for positives in POSITIVES:
        scores: dict[str, list[float]] = {arm: [] for arm in ARMS}
        for seed in range(seeds):
            for arm, (rows, labels) in arms(audited, given, wrong, seed).items():
                head = train(learned[torch.from_numpy(rows)], labels, positives, seed)
                scores[arm].append(recall(head(seen).detach(), fine[tested]))
            print(name, positives, seed, {arm: round(values[-1], 1) for arm, values in scores.items()}, flush=True)
        for arm, values in scores.items():
            gain = np.array(values) - np.array(scores["as given"])
            beside = "" if arm == "as given" else _shown(gain, "+.1f")
            lines.append(f"| {positives} | {arm} | {_shown(values, '.1f')} | {beside} |")
    return [*lines, ""]


def recall(vectors: Tensor, labels: np.ndarray) -> float:
    return 100 * evaluate(vectors, labels, metrics=["recall@1"])["recall@1"]


def _shown(values: list[float] | np.ndarray, form: str) -> str:
    interval = summary(values)
    return f"{interval.mean:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, default=Path(os.environ.get("DML_MIRROR", ".")))
    parser.add_argument("--weights", type=Path, default=Path("mobilenet_v1_075.safetensors"))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/dml-audit"))
    parser.add_argument("--cifar", type=int, default=50_000, help="CIFAR-100's first images; 3 of 5 are for training")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=SETTINGS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    vectors, _ = audit_data.load("cifar", slice(0, arguments.cifar), arguments)
    table = pd.read_csv(arguments.mirror / "cifar100n/cifar100n.csv")[: arguments.cifar]
    lines = ["# Without the suspects", "", (__doc__ or "").strip(), ""]
    lines += [f"`--cifar {arguments.cifar} --seeds {arguments.seeds}`, {datetime.date.today()}.", ""]
    for name in arguments.settings:
        path = arguments.cache / "retraining" / f"{name}-{arguments.cifar}-{arguments.seeds}-{audit_data.VERSION}.json"
        if not path.exists():
            train_on = 3 * arguments.cifar // 5
            files.write_json(path, setting(name, vectors["frozen"], table, train_on, arguments.seeds))
        lines += files.read_json(path)
    text = "\n".join(lines)
    print(text)
    if arguments.out is not None:
        files.write_text(arguments.out, text)


if __name__ == "__main__":
    main()
