"""What the histogram loss estimates, what it costs, and its derivatives (Ustinova and Lempitsky 2016)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table, folded
from dml.report.sections import TheoryVerdict
from papers.histogram.theory import reverse_order
from papers.histogram.theory.quadruplet_cost import costs
from papers.histogram.verdicts import of_histogram as computed
from papers.series import Series, draw
from papers.verdict_statements import stated

LOOKS = ((figures.VERMILION, "s"), (figures.BLUE, "o"), (figures.GREEN, "^"))


class HistogramEstimate:
    """The loss as an estimate of a probability."""

    anchor, title = "histogram-estimate", "Histogram loss: what it estimates, and its derivatives"

    def content(self) -> Iterator[Block | None]:
        """Verdicts, a figure and tables."""
        yield Paragraph(
            "The histogram loss estimates p, the probability that a random negative pair is more similar than a random "
            "positive pair, from two histograms with R nodes. Each similarity is shared between its two neighbouring "
            "nodes, so that near ties count by about half a step too much: the loss is close to P(s- > s+ - step / 2)."
        )
        names = ("It estimates the probability of reverse order", "It takes all quadruplets", "Derivatives")
        yield stated(self.verdicts(), names)
        caption = (
            "Left: the loss over the exact p against the number of nodes. Middle: the loss less p against the step; "
            "lines: half a step times the density of s- - s+ at 0. Right: derivatives of the loss by each similarity "
            "(R = 21), by equations 4 and 5 against central differences: as printed (crosses) and corrected (dots)."
        )
        alt = "The histogram loss relative to the exact probability, its bias, and its derivatives."
        yield Drawing("histogram-estimate", *_figure(), alt, caption)
        yield _bias()
        yield folded(_cost())

    def verdicts(self) -> list[TheoryVerdict]:
        """For the estimate, the quadruplets and the derivatives."""
        return [computed.estimate(), computed.quadruplets(), computed.derivatives()]


def _bias() -> Table:
    columns = (
        Column("similarities", "Similarities", "name"),
        Column("R", "R", "count", "nodes"),
        Column("exact", "p", "number", "share of all quadruplets whose negative pair is the more similar"),
        Column("loss", "Loss", "number"),
        Column("ratio", "Loss / p", "number"),
        Column("bias", "Loss \N{MINUS SIGN} p", "number"),
        Column("predicted", "Half a step times density", "number", "of s- less s+ at 0"),
        Column("margin", "P(s- > s+ \N{MINUS SIGN} step / 2)", "number"),
    )
    sizes = {f"{len(s.positive):,} and {len(s.negative):,}" for s in computed.similarities().values()}
    caption = (
        f"Wide and tight classes: 16 classes of 8 samples in 16 dimensions. The toy's network: LoOp's toy, seed 0. "
        f"Positive and negative pairs: {'; '.join(sorted(sizes))}."
    )
    return Table(
        "histogram-bias", "The loss and the exact probability", caption, columns, pd.DataFrame(computed.rows())
    )


def _cost() -> Table:
    rows = [cost._asdict() | {"per pair": cost.made / cost.pairs} for cost in costs()]
    columns = (
        Column("batch", "Batch", "count"),
        Column("pairs", "Pairs", "count"),
        Column("quadruplets", "Quadruplets", "count"),
        Column("made", "Elements made", "count", "of all tensors of the forward pass, which computes the slopes too"),
        Column("per pair", "Per pair", "number"),
        Column("largest", "Largest tensor", "count", "in elements"),
    )
    caption = f"The loss as implemented, R = {computed.USUAL}, 4 samples per class."
    return Table("histogram-cost", "The work of the loss against all quadruplets", caption, columns, pd.DataFrame(rows))


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.0), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    frame = pd.DataFrame(computed.rows())
    loss, bias, series = "loss / p", "loss \N{MINUS SIGN} p", []
    for (name, rows), (colour, marker) in zip(frame.groupby("similarities", sort=False), LOOKS, strict=True):
        series.append(Series(loss, str(name), rows["R"], rows["ratio"], f"{marker}-", color=colour))
        series.append(Series(bias, str(name), rows["step"], rows["bias"], marker, color=colour))
        series.append(Series(bias, f"{name}, line", rows["step"], rows["predicted"], color=colour, linewidth=1))
    exact = np.concatenate(reverse_order.differences(computed.small(), 21))
    for name, colour, marker in (("printed", figures.VERMILION, "x"), ("corrected", figures.BLUE, "o")):
        gradient = np.concatenate(reverse_order.gradient(computed.small(), 21, name == "printed"))
        series.append(Series("dL/ds", name, exact, gradient, marker, color=colour, markersize=4))
    points = draw((left, middle, right), series)
    left.axhline(1, color=figures.MUTED, linewidth=0.8)
    left.set_xscale("log")
    left.set_xticks([11, 51, 201, 1001], ["11", "51", "201", "1001"])
    left.minorticks_off()
    left.set_xlabel("nodes R")
    left.legend(frameon=False, fontsize=8)
    middle.set_xscale("log")
    middle.set_yscale("log")
    middle.set_xlabel("step")
    right.ticklabel_format(axis="both", scilimits=(-3, 3))
    right.set_xlabel("central difference")
    right.legend(frameon=False, fontsize=8)
    return figure, points
