"""LoOp's gradients, its choice of (p1, p2), and HPHN against lifted structure (supplement 5, section 3.3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from dml.report.page.blocks import Block, Column, Drawing, Folded, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.loop.figures import nine_steps
from papers.loop.theory import gradients as loop_gradients
from papers.loop.theory import pair_choices, random_arcs
from papers.loop.theory.gradients import Agreement
from papers.loop.theory.loop_losses import Difference, differences
from papers.loop.theory.pair_choices import Row
from papers.loop.theory.pair_steps import Form
from papers.verdict_statements import stated

Word = Literal["confirmed", "refuted", "undecided"]
DIMENSIONS, ARCS, SPREAD = (3, 128), 1200, 0.6
GRADIENT_DIMENSIONS = (3, 16)
EXACT, OFF = 1e-5, 0.1  # errors of a gradient, relative to the largest derivative


@cache
def rows(form: Form) -> dict[tuple[str, int], list[Row]]:
    rng = np.random.default_rng(0)
    by_arcs = {}
    for size in DIMENSIONS:
        by_arcs["random", size] = pair_choices.compare(random_arcs.uniform(rng, ARCS, size), form)
        by_arcs["within classes", size] = pair_choices.compare(random_arcs.of_classes(rng, ARCS, size, SPREAD), form)
    return by_arcs


def closest_pair() -> TheoryVerdict:
    every = [*rows("plain").values(), *rows("squared").values()]
    nine, loop, middle = ([of_arcs[k] for of_arcs in every] for k in range(3))
    failing = [1 - row.good for row in nine]
    verdict: Word = "confirmed" if max(failing) < 0.01 else "refuted" if min(failing) > 0.01 else "undecided"
    finding = (
        f"With ends and middles, as the supplement draws the nine choices, the closest pair fails the criteria for "
        f"{_range(failing)} of the pairs of arcs (random arcs and arcs within classes, {_sizes()} dimensions, plain "
        f"and printed gradients), and the two middles for {_range([1 - row.good for row in middle])}. At the closest "
        f"points of the arcs, which LoOp uses, they hold for {_range([row.good for row in loop])}; for "
        f"{_range([rules[1].better for rules in rows('plain').values()])} of the pairs another choice meets them too "
        "and separates the arcs faster (plain gradients)."
    )
    corrected = (
        "At the closest points of the two arcs, to first order in the step, x1 and x2 always approach each other, y1 "
        "and y2 are never driven apart, and the arcs always separate: these are the KKT conditions. The closest of "
        "nine ends and middles need not do so, and neither choice is always the one that separates the arcs fastest."
    )
    holds = verdict == "refuted" and min(row.good for row in loop) == 1
    return TheoryVerdict("loop-closest-pair", verdict, finding, corrected if holds else "")


@cache
def agreements() -> dict[tuple[str, str], Agreement]:
    """By formula and loss, the worst over the dimensions."""
    worst: dict[tuple[str, str], Agreement] = {}
    for size in GRADIENT_DIMENSIONS:
        for agreement in loop_gradients.compare(size):
            key = agreement.formula, agreement.loss
            worst[key] = max(worst.get(key, agreement), agreement, key=lambda a: a.largest)
    return worst


def printed_gradients() -> TheoryVerdict:
    worst = agreements()
    of_loss, of_squares, right = (worst[k] for k in (("squared", "plain"), ("squared", "squared"), ("plain", "plain")))
    verdict: Word = "refuted" if of_loss.largest > OFF else "confirmed" if of_loss.largest < EXACT else "undecided"
    finding = (
        f"Against central differences, the printed gradients are off by {of_loss.median:.0%} (median) for the loss of "
        f"equation 26 and by at most {of_squares.largest:.0e} of the largest slope for the same loss with squared "
        f"distances. With each term divided by twice its distance, the error for equation 26 is at most "
        f"{right.largest:.0e}."
    )
    corrected = (
        "Equations 27 to 30 are the gradients with squared distances. For the plain distances of equation 26, divide "
        "the term of x1 - x2 by 2 d(x1, x2) and that of p1 - p2 by 2 d(p1, p2)."
    )
    holds = max(of_squares.largest, right.largest) < EXACT
    return TheoryVerdict("loop-gradients", verdict, finding, corrected if verdict == "refuted" and holds else "")


def equal_losses() -> TheoryVerdict:
    two, four = ([d for d in differences() if d.per_class == n] for n in (2, 4))
    largest = max(max(d.value, d.gradient) for d in two)
    verdict: Word = "confirmed" if largest < 1e-12 else "refuted"
    finding = (
        f"As implemented, with and without synthesis, values and gradients differ by at most {largest:.0e} on random "
        f"batches with 2 samples per class, and the values by up to {max(d.value for d in four):.2f} with 4. The set P "
        "that the paper calls classes is the set of positive pairs."
    )
    return TheoryVerdict("loop-hphn-lifted", verdict, finding)


def _range(shares: list[float]) -> str:
    low, high = (f"{s:.1%}" if 0 < s < 0.01 or 0.99 < s < 1 else f"{s:.0%}" for s in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"


def _sizes() -> str:
    return " and ".join(map(str, DIMENSIONS))


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
        return [closest_pair(), printed_gradients(), equal_losses()]


def _choices(form: Form) -> Table:
    choices = [{"arcs": kind, "D": size} | row._asdict() for (kind, size), rules in rows(form).items() for row in rules]
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
        f"To first order along the gradients of {what}; {ARCS:,} pairs of arcs in each row, without those "
        "that cross. The nine are the ends and the middles. Another is better: it meets all three, and this one fails "
        "or separates the arcs more slowly."
    )
    frame = pd.DataFrame(choices).round(3)
    return Table(f"loop-steps-{form}", "What a step does, by the choice of points", caption, columns, frame)


def _gradients() -> Table:
    names = {"squared": "as printed", "plain": "divided by twice the distances"}
    losses = {"squared": "squared distances", "plain": "plain distances (equation 26)"}
    rows = [(names[a.formula], losses[a.loss], a.median, a.largest) for a in agreements().values()]
    columns = (
        Column("formula", "Gradient", "name"),
        Column("loss", "Loss", "name"),
        Column("median", "Median error", "number", "relative to each directional derivative"),
        Column("largest", "Largest error", "number", "relative to the largest directional derivative"),
    )
    sizes = " and ".join(map(str, GRADIENT_DIMENSIONS))
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
