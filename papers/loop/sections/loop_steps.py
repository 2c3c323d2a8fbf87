"""LoOp's gradients, its choice of (p1, p2), and HPHN against lifted structure (supplement 5, section 3.3.3)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dml.report.page.blocks import Block, Column, Drawing, Folded, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.loop.figures import nine_steps
from papers.loop.theory.loop_losses import Difference, differences
from papers.loop.theory.pair_steps import Form
from papers.loop.verdicts import of_steps as computed
from papers.verdict_statements import stated


class LoopSteps:
    """What a gradient step of LoOp's loss does."""

    anchor, title = "loop-steps", "LoOp: gradients, and which points to push apart"

    def content(self) -> Iterator[Block | None]:
        """Verdicts, a figure and tables."""
        yield Paragraph(
            "LoOp's triplet loss is [d(x1, x2) - d(p1, p2) + m]+, with p1 on the arc x1 to x2 and p2 on the arc y1 to "
            "y2. The supplement compares nine choices of the two points and concludes from two drawn examples that the "
            "closest pair gives the best step: x1 and x2 approach each other, and y1 and y2 are not driven apart."
        )
        yield stated(
            self.verdicts(), ("The closest pair is best", "The printed gradients", "HPHN equals lifted structure")
        )
        caption = (
            "One gradient step of the loss with each choice, from the same four samples on the sphere. Hollow: before; "
            "solid: after; lines: the arcs after the step; small dots: p1 and p2. Framed: the closest of the nine, and "
            "the closest points of the arcs, which LoOp uses. Below each panel: the change of three distances. Here "
            "the closest of the nine drives y1 and y2 apart; the closest points do so only by the square of the step."
        )
        alt = "Four samples before and after a gradient step, for nine choices of the two points that repel each other."
        yield Drawing("loop-steps", *nine_steps.figure(), alt, caption)
        yield _choices("plain")
        yield Folded("The same with the printed gradients", (_choices("squared"),))
        yield Folded("The gradients against central differences", (_gradients(),))
        yield Folded("HPHN and lifted structure", (_losses(),))

    def verdicts(self) -> list[TheoryVerdict]:
        """For the closest pair, the gradients, and the equality of two losses."""
        return [computed.closest_pair(), computed.printed_gradients(), computed.equal_losses()]


def _choices(form: Form) -> Table:
    rows = [
        {"arcs": kind, "D": size} | row._asdict()
        for (kind, size), found in computed.rows(form).items()
        for row in found
    ]
    note = "share of pairs of arcs for which "
    columns = (
        Column("arcs", "Arcs", "name"),
        Column("D", "Dimensions", "count"),
        Column("rule", "Points that repel each other", "name"),
        Column("together", "x1 x2 approach", "rate", note + "x1 and x2 approach each other"),
        Column("kept", "y1 y2 not driven apart", "rate", note + "the distance of y1 and y2 does not grow"),
        Column("apart", "Arcs separate", "rate", note + "the least distance of the arcs grows"),
        Column("good", "All three", "rate"),
        Column(
            "better", "Another is better", "rate", note + "one of the nine meets all three and this fails or is slower"
        ),
    )
    what = "plain distances, as the loss has them" if form == "plain" else "squared distances, as equations 27 to 30"
    caption = (
        f"To first order along the gradients of {what}; {computed.ARCS:,} pairs of arcs in each row, without those "
        "that cross. The nine are the ends and the middles. Another is better: it meets all three, and this one fails "
        "or separates the arcs more slowly."
    )
    frame = pd.DataFrame(rows).round(3)
    return Table(f"loop-steps-{form}", "What a step does, by the choice of points", caption, columns, frame)


def _gradients() -> Table:
    names = {"squared": "as printed", "plain": "divided by twice the distances"}
    losses = {"squared": "squared distances", "plain": "plain distances (equation 26)"}
    rows = [(names[a.formula], losses[a.loss], a.median, a.largest) for a in computed.agreements().values()]
    columns = (
        Column("formula", "Gradient", "name"),
        Column("loss", "Loss", "name"),
        Column("median", "Median error", "number", "relative to each directional derivative"),
        Column("largest", "Largest error", "number", "relative to the largest directional derivative"),
    )
    sizes = " and ".join(map(str, computed.GRADIENT_DIMENSIONS))
    caption = f"Random directions on the sphere in {sizes} dimensions, float64."
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return Table("loop-gradients", "Gradients against central differences", caption, columns, frame)


def _losses() -> Table:
    columns = (
        Column("per_class", "Samples per class", "count"),
        Column("synthesis", "Synthesis", "name"),
        Column("value", "Largest difference", "number"),
        Column("gradient", "Largest difference of gradients", "number"),
        Column("size", "Mean value", "number"),
    )
    frame = pd.DataFrame(differences(), columns=list(Difference._fields))
    caption = "`hphn_triplet` and `lifted_hinge` with a margin of 0.5 on random batches of 24 samples, float64."
    return Table("loop-hphn", "HPHN triplet loss less lifted structure loss", caption, columns, frame)
