"""Draws what each free step and training are worth, for README and docs/benchmarks/regime.md.

    python benchmarks/regime_picture.py CACHE docs/figures/regime.svg

Reads the results of `benchmarks/free.py` in CACHE, scores without suspects from the table that `benchmarks/acting.py`
printed into CACHE/acting.md, and trained networks from the published snapshots.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import free as steps
import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd

PANELS: tuple[tuple[str, str, int, tuple[str, Any], str], ...] = (  # title, dataset, pixels, labels, study
    ("Cars,\ncorrect labels", "cars", 224, steps.CLEAN, "regime-cars"),
    ("Cars,\n40% wrong", "cars", 224, steps.WRONG, "regime-cars"),
    ("Cars, 40% wrong,\nof similar classes", "cars", 224, steps.NOISES[1], "regime-cars"),
    ("Flowers,\ncorrect labels", "flowers", 224, steps.CLEAN, "regime-flowers"),
    ("Flowers,\n40% wrong", "flowers", 224, steps.WRONG, "regime-flowers"),
    ("Flowers, 40% wrong,\nof similar classes", "flowers", 224, steps.NOISES[1], "regime-flowers"),
    ("CIFAR-100N,\n37% wrong, by people", "cifar100", 96, steps.HUMAN, "regime-human"),
)
SMALL, PIXELS, WHITENED, VIEWS, UNSUSPECTED, BOTH, ADDED = STEPS = (
    "features, 128 pixels",
    "224 pixels (CIFAR: 96)",
    "whitened",
    "both views",
    "suspects left out",
    "both views, two networks",
    "upper blocks trained",
)
FREE, TRAINED, INK = "#8fa8c8", "#1f4e8c", "#24292f"


def bars(
    records: Any, acting: str, dataset: str, pixels: int, labels: tuple[str, Any], study: str
) -> dict[str, float | None]:
    """R@1 in percent by step; training is not in a panel whose study lacks it."""

    def score(side: int, kind: tuple[str, Any], projection: str, views: str, network: str = steps.LITE) -> float | None:
        seeds = [r for case, r in records.items() if case[:5] == (dataset, network, side, *kind)]
        if not seeds:
            return None
        scores = steps.classes_of(seeds, steps.candidate(steps.LAST, projection, views))
        return float(steps.averaged(scores)[0])

    values = {
        PIXELS: score(pixels, labels, "none", "one"),
        WHITENED: score(pixels, labels, "whitening", "one"),
        VIEWS: score(pixels, labels, "whitening", "mirror"),
        BOTH: score(pixels, labels, "whitening", "mirror", f"{steps.LITE}+{steps.SMALL}"),
    }
    if dataset in steps.PHOTOGRAPHS:
        values[SMALL] = score(128, steps.CLEAN, "none", "one")
    for line in acting.splitlines() if labels != steps.CLEAN else ():
        cells = [cell.strip() for cell in line.split("|")] if line.startswith("|") else ["", "", ""]
        arm = {"as given": VIEWS, "without suspects": UNSUSPECTED}.get(cells[2])
        if arm and cells[1] == f"{dataset}, {labels[0]} {labels[1] or ''}".strip():
            values[arm] = float(cells[6].split(" / ")[0])
    trials = pd.read_parquet(f"docs/results/{study}/trials.parquet")
    rate = trials["rate"].sub(labels[1]).abs() < 1e-9 if labels[1] is not None else trials["rate"] > 0
    rows = (
        (trials["phase"] == "confirm") & trials["loss"].str.startswith("multi") & rate & (trials["noise"] == labels[0])
    )
    return values | {ADDED: 100 * float(trials.loc[rows, "test/fine/recall@1"].mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    records = steps.results(args.cache, Path(), 2, stored=True)
    acting = (args.cache / "acting.md").read_text(encoding="utf-8")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "dml", "font.family": "sans-serif", "text.color": INK}
    figure, axes = plt.subplots(1, len(PANELS), figsize=(12, 2.9), sharey=True, layout="constrained")
    for axis, (title, dataset, pixels, labels, study) in zip(axes, PANELS, strict=True):
        values = bars(records, acting, dataset, pixels, labels, study)
        for row, step in enumerate(STEPS):
            score = values.get(step)
            axis.barh(row, score or 0, color=TRAINED if step == ADDED else FREE)
            axis.text(score or 0, row, f" {score:.1f}" if score else "-", va="center", fontsize=8.5)
        axis.set_title(title, fontsize=8.5, loc="left")
        axis.set_xlim(0, 125)
        axis.set_xticks([])
        axis.set_yticks(range(len(STEPS)), STEPS)
        axis.tick_params(axis="y", length=0, labelsize=8.5, labelcolor=INK)
        axis.spines[:].set_visible(False)
    axes[0].invert_yaxis()
    figure.savefig(args.out, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
