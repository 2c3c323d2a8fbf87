"""What LoOp gains over the nearest ends, against dimension and against the tightness of the classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from papers.loop.theory import gain as arc_gain
from papers.loop.theory.gain import Gain
from papers.series import Series, draw

DIMENSIONS = (2, 3, 4, 8, 16, 32, 64, 128, 256, 512)
LINES = ((3, figures.VERMILION), (16, figures.PURPLE), (128, figures.GREEN), (512, figures.BLUE))  # of the right panel
SPREADS = (0.1, 0.2, 0.35, 0.55, 0.8, 1.2, 2.0, 5.0)
TIGHT = 0.8  # the spread of the second line of the left panel
PAIRS, CLASS_PAIRS = 6_000, 3_000


class LoopGain:
    """How much nearer the arcs are than their ends."""

    anchor, title = "loop-gain", "LoOp: what it gains over the nearest ends"

    def content(self) -> Iterator[Block | None]:
        """A figure and a table."""
        wide = dict(zip(DIMENSIONS, _dimensions(None), strict=True))
        yield Paragraph(
            "The gain is the distance of the nearest two ends less that of the arcs: what LoOp adds to mining the "
            "hardest of the four distances, which the paper does not compare. On random arcs it falls from "
            f"{wide[3].mean:.3f} in 3 dimensions to {wide[512].mean:.4f} in 512, in many dimensions about as 1 / "
            "sqrt(dimension). In tight classes it is smaller still, because the closest points are mostly ends."
        )
        caption = (
            f"Left: mean gain against the dimension, {PAIRS:,} pairs of arcs for each point; dashed: 0.07 / "
            f"sqrt(dimension). Within classes: ends around random class means, about {_tight_angle():.0f}° apart in "
            "many dimensions. Right: mean gain as a share of the distance of the nearest ends against the mean angle "
            f"between two samples of a class, {CLASS_PAIRS:,} pairs of arcs for each point."
        )
        alt = "LoOp's mean gain over the nearest ends, against the dimension and against the angle within a class."
        yield Drawing("loop-gain", *_figure(), alt, caption)
        yield _table()


@cache
def _dimensions(spread: float | None) -> list[Gain]:
    return arc_gain.against_dimension(DIMENSIONS, PAIRS, spread)


@cache
def _tightness(dimension: int) -> list[Gain]:
    return arc_gain.against_tightness(SPREADS, dimension, CLASS_PAIRS)


def _tight_angle() -> float:
    return _dimensions(TIGHT)[-1].within


def _table() -> Table:
    rows = []
    for spread, name in ((None, "random"), (TIGHT, "within classes")):
        for size, gains in zip(DIMENSIONS, _dimensions(spread), strict=True):
            row: dict[str, Any] = {
                "arcs": name,
                "D": size,
                "angle": gains.within,
                "mean": gains.mean,
                "relative": gains.relative,
            }
            row |= {"mean low": gains.mean - 1.96 * gains.error, "mean high": gains.mean + 1.96 * gains.error}
            rows.append(row | {"median": gains.median, "interior": gains.interior, "corners": gains.corners})
    for row in rows:
        row |= {key: round(row[key], 3) for key in ("interior", "corners")} | {"relative": round(row["relative"], 4)}
        row["angle"] = round(row["angle"], 1)
        row["median"] = row["median"] if row["median"] > 1e-9 else 0.0
    columns = (
        Column("arcs", "Arcs", "name"),
        Column("D", "Dimensions", "count"),
        Column("angle", "Angle within", "number", "mean angle between the two ends of an arc, in degrees"),
        Column("mean", "Mean gain", "number"),
        Column("median", "Median gain", "number"),
        Column("relative", "Share", "rate", "mean gain over the mean distance of the nearest ends"),
        Column("interior", "Between the ends", "rate", "share of pairs whose closest points are inside both arcs"),
        Column("corners", "Ends", "rate", "share of pairs whose closest points are ends, where the gain is 0"),
    )
    caption = "The CSV file has the 95% interval of each mean."
    return Table("loop-gain", "LoOp's gain over the nearest ends", caption, columns, pd.DataFrame(rows))


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = np.array(DIMENSIONS)
    near, dashed = 0.07 / np.sqrt(sizes[1:]), {"color": figures.CONTEXT, "linewidth": 1.2}
    gain, share = "gain over the nearest ends", "share of the distance of the nearest ends"
    series = [Series(gain, "0.07 / sqrt(dimension)", sizes[1:], near, "--", **dashed)]
    for spread, name, colour, look in (
        (None, "random", figures.BLUE, "o-"),
        (TIGHT, "within classes", figures.GREEN, "s-"),
    ):
        series.append(Series(gain, name, sizes, [g.mean for g in _dimensions(spread)], look, color=colour))
    for size, colour in LINES:
        gains = _tightness(size)
        relative = [g.relative for g in gains]
        series.append(Series(share, f"{size}-d", [g.within for g in gains], relative, "o-", color=colour))
    frame = draw((left, right), series)
    left.set_xscale("log", base=2)
    left.set_yscale("log")
    left.set_xticks([2, 8, 32, 128, 512], ["2", "8", "32", "128", "512"])
    left.minorticks_off()
    left.set_xlabel("dimensions")
    left.set_ylabel("mean gain, in distance")
    left.legend(frameon=False, loc="lower left")
    right.set_yscale("log")
    right.set_yticks([1e-5, 1e-4, 1e-3, 1e-2, 1e-1], ["0.001%", "0.01%", "0.1%", "1%", "10%"])
    right.minorticks_off()
    right.set_xlabel("angle between two samples of a class (degrees)")
    right.legend(frameon=False, loc="lower right", ncols=2)
    return figure, frame
