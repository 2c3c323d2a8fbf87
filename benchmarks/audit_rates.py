"""The audit's first guess of the noise rate on rows that were not looked at while its constants were chosen.

    DML_MIRROR=/data python benchmarks/audit_rates.py --weights mobilenet_v1_075.safetensors --peer /tmp/peer

Beside cleanlab's confident joint, on the same vectors (see `benchmarks/audit.py`, which puts the result, `rates.md`
in its `--cache`, into its page). The rows were written before any of them
had been computed. Omniglot's letters and the images of CIFAR-100 and MNIST are others than in `benchmarks/audit.py`,
labels are drawn with another seed, and the digits of scikit-learn are new; Flowers and Cars have the same images.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import audit_data
import numpy as np
from audit import cleanlab

from dml import audit, files

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
UNSEEN = {
    "cifar": slice(45_000, 50_000),
    "mnist": slice(10_000, 15_000),
    "omniglot": slice(5_000, 7_000),
    "digits": slice(0, 1_797),
    "flowers": slice(0, 10_000),
    "cars": slice(0, 10_000),
}


def compute(row: str, arguments: argparse.Namespace) -> dict:
    """The guess, the truth and cleanlab's confident joint of a row."""
    vectors, given, true = audit_data.corrupted(*ROWS[row], UNSEEN[ROWS[row][0]], SEED, arguments)
    start = time.process_time()
    audited = audit.audit(vectors, given)
    seconds, wrong = time.process_time() - start, given != true
    used, codes = vectors[audited.representation], np.unique(given, return_inverse=True)[1]
    return {
        "images": len(true),
        "classes": int(codes.max()) + 1,
        "noise": float(wrong.mean()),
        "representation": audited.representation,
        "rate": {key: getattr(audited.rate, key) for key in ("guess", "sure", "joint", "spread", "evenness")},
        "confident_joint": cleanlab(used, codes, wrong)["joint"],
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

Where features say little, the guess is much poorer than the ratio to the joint sounds: look at `sure`, the labels that
are wrong beyond doubt, and at 200 images.
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
    arguments = audit_data.parser(__doc__).parse_args()

    def place(name: str) -> Path:
        return arguments.cache / "rates" / f"{name}-{audit_data.VERSION}.json".replace(" ", "-")

    text = report(dict(audit_data.finished(ROWS, place, lambda name: compute(name, arguments), arguments)))
    files.write_text(arguments.cache / "rates.md", text)
    print(text)


if __name__ == "__main__":
    main()
