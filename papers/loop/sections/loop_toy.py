"""Classes of points in the plane, embedded on a sphere with and without LoOp."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.statistics import summary
from papers.loop.theory import loop_toy
from papers.loop.theory.loop_toy import ARMS, PER_CLASS, STEPS, Run
from papers.series import Series, draw

SCORES = ("seen", "unseen", "inside", "gain")
COLOURS = {"untrained": figures.MUTED, "one end": figures.OCHRE, "four ends": figures.BLUE, "LoOp": figures.VERMILION}


class LoopToy:
    """A small network trained on synthetic classes."""

    anchor, title = "loop-toy", "LoOp: a toy with and without it"

    def content(self) -> Iterator[Block | None]:
        """A figure and a table."""
        yield Paragraph(
            "Classes are pairs of clusters in the plane. A network with two hidden layers embeds them on the sphere in "
            "three dimensions, where LoOp gains most, with the triplet loss between pairs. The distance to the other "
            "class is that of one end of each pair, of the nearest of the four ends, or of the arcs (LoOp). Batches, "
            "pairs and initial weights are the same for all. A toy shows what happens, and decides no claim."
        )
        caption = (
            f"Left three: embeddings of the six training classes after {STEPS} steps, seed 0 (longitude and the sine "
            "of the latitude: areas are true). Right: R-precision of new points of the training classes, by seed; bar: "
            "the mean."
        )
        alt = "Embeddings on the sphere for three distances between pairs, and their scores by seed."
        yield Drawing("loop-toy", *_figure(), alt, caption)
        yield _table()


def _figure() -> tuple[Figure, pd.DataFrame]:
    runs = loop_toy.runs()
    figure = Figure(figsize=(8.2, 2.7), layout="constrained")
    *maps, scores = figure.subplots(1, 4, width_ratios=(1, 1, 1, 0.9))
    series = [dots for arm in ARMS[1:] for run in runs if (run.arm, run.seed) == (arm, 0) for dots in _map(run)]
    for place, arm in enumerate(ARMS):
        seen = [100 * run.seen for run in runs if run.arm == arm]
        bar, ends = f"{arm}, mean", [place - 0.3, place + 0.3]
        series.append(Series("R-precision, %", arm, [place] * len(seen), seen, "o", color=COLOURS[arm], alpha=0.7))
        series.append(Series("R-precision, %", bar, ends, [np.mean(seen)] * 2, color=COLOURS[arm]))
    frame = draw((*maps, scores), series)
    for axes in maps:
        axes.set_xlim(-np.pi, np.pi)
        axes.set_ylim(-1, 1)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color(figures.GRID)
        axes.grid(visible=False)
    scores.set_xticks(range(len(ARMS)), ["un-\ntrained", "one\nend", "four\nends", "LoOp"], fontsize=8)
    scores.grid(visible=False, axis="x")
    return figure, frame


def _map(run: Run) -> Iterator[Series]:
    x, y, z = run.embeddings.T
    for label, (colour, marker) in zip(np.unique(run.labels), figures.LOOKS, strict=False):
        members = run.labels == label
        look = {"color": colour, "markersize": 3, "alpha": 0.75}
        yield Series(run.arm, f"class {label}", np.arctan2(y, x)[members], z[members], marker, **look)


def _table() -> Table:
    frame = pd.DataFrame([run._asdict() for run in loop_toy.runs()]).drop(columns=["embeddings", "labels"])
    by_arm = frame.set_index(["arm", "seed"])
    rows = []
    for arm in ARMS:
        row: dict[str, object] = {"arm": arm}
        for key in SCORES:
            factor = 1 if key == "gain" else 100
            row[key] = factor * float(by_arm.loc[arm, key].mean())
        for key in ("seen", "unseen"):
            if arm not in ("LoOp", "untrained"):
                gain = summary(100 * (by_arm.loc["LoOp", key] - by_arm.loc[arm, key]).to_numpy())
                row |= {f"loop {key}": gain.mean, f"loop {key} low": gain.low, f"loop {key} high": gain.high}
        rows.append(row)
    note = "points of R-precision by which LoOp is above this row, with the 95% interval over seeds"
    columns = (
        Column("arm", "Distance between pairs", "name"),
        Column("seen", "Training classes", "percent", "R-precision of new points of the training classes"),
        Column("loop seen", "LoOp leads by", "difference_interval", note),
        Column("unseen", "New classes", "percent", "R-precision of classes that were not trained"),
        Column("loop unseen", "LoOp leads by", "difference_interval", note),
        Column("inside", "LoOp's points", "percent", "whose nearest other sample is of their own class"),
        Column("gain", "Gain over the ends", "number", "distance of the nearest ends less that of the arcs"),
    )
    caption = (
        f"Means over {frame['seed'].nunique()} seeds. R-precision: the share of the own class among the "
        f"{PER_CLASS - 1} nearest, in percent."
    )
    return Table("loop-toy", "The toy's scores", caption, columns, pd.DataFrame(rows))
