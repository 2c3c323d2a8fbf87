"""LoOp's proposition 1: counterexamples, and the conditions under which it holds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.loop.figures import class_regions
from papers.loop.theory import class_membership, leaving_shares
from papers.loop.theory.class_membership import Counterexample
from papers.loop.theory.leaving_shares import Share
from papers.verdict_statements import stated

Word = Literal["confirmed", "refuted", "undecided"]
DIMENSION = 3


class LoopProposition:
    """Whether arcs stay within their class."""

    anchor, title = "loop-proposition", "LoOp: does the way between two samples stay in their class?"

    def content(self) -> Iterator[Block | None]:
        """A verdict, a figure and a table."""
        yield Paragraph(
            "Proposition 1 of LoOp: if the covariances of two classes have identical eigenvalues, every point between "
            "two samples of a class is more probable under that class than under the other. The proof takes the "
            "boundary between the classes for a hyperplane, but equal eigenvalues do not make it one."
        )
        yield stated(self.verdicts(), ("Proposition 1",))
        caption = (
            "Shaded: more probable under the blue class. Dots: two samples on its side. Cross: the middle between "
            "them, on the other side. Left: Gaussians N((0, 0), diag(9, 1)) and N((0, 2), diag(1, 9)) with their "
            "contours at one and two standard deviations. Middle: two laws on the sphere that are rotations of each "
            "other, viewed from above. Right: equal covariances, but the boundary does not pass through the centre of "
            "the sphere, so that the blue cap exceeds a half sphere. Arcs are geodesics."
        )
        alt = (
            "Three pairs of classes for which the way between two samples of one class enters the region of the other."
        )
        yield Drawing("loop-proposition", *class_regions.figure(_examples()), alt, caption)
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """For the proposition."""
        return [_verdict()]


def _examples() -> tuple[Counterexample, Counterexample, Counterexample]:
    return (
        class_membership.flat_counterexample(),
        class_membership.sphere_counterexample(),
        class_membership.cap_counterexample(),
    )


@cache
def _shares() -> list[Share]:
    return leaving_shares.shares(DIMENSION)


def _verdict() -> TheoryVerdict:
    flat, sphere, _ = (example.log_ratios() for example in _examples())
    broken = [min(ratios[:2]) > 0 > ratios[2] for ratios in (flat, sphere)]
    promised = [share.leaving for share in _shares() if share.conditions]
    verdict: Word = (
        "refuted" if any(broken) else "confirmed" if not any(share.leaving for share in _shares()) else "undecided"
    )
    leaving = {(share.laws, share.samples): share.leaving for share in _shares()}
    finding = (
        f"For N((0, 0), diag(9, 1)) and N((0, 2), diag(1, 9)), the log ratio of the densities is {flat[0]:.2f} at (-4, "
        f"1.5), {flat[1]:.2f} at (4, 1.5) and {flat[2]:.2f} at their middle. For two rotations of one law on the "
        f"sphere it is {sphere[0]:.2f}, {sphere[1]:.2f} and {sphere[2]:.2f}. Of random pairs of own-side samples, "
        f"{leaving['equal eigenvalues', 'own side']:.1%} leave their class with equal eigenvalues, and "
        f"{max(promised):.1%} under the corrected conditions."
    )
    corrected = (
        "If the boundary is a hyperplane (equal covariances, their directions included), the segment between two "
        "samples that are both on their own side stays there. On the sphere the hyperplane must also pass through the "
        "centre (for example two rotations of one law that is round about its mean), because a cap larger than a half "
        "sphere is not geodesically convex."
    )
    holds = verdict == "refuted" and max(promised) == 0
    return TheoryVerdict("loop-proposition-1", verdict, finding, corrected if holds else "")


def _table() -> Table:
    rows = [share._asdict() for share in _shares()]
    for row in rows:
        row["conditions"] = "yes" if row["conditions"] else "no"
        row["leaving"] = float(np.round(row["leaving"], 4))
    columns = (
        Column("space", "Space", "name"),
        Column("laws", "The two classes", "name"),
        Column("samples", "Samples", "name", "own side: only samples that are more probable under their own class"),
        Column("conditions", "Corrected conditions", "name", "whether they promise a share of 0"),
        Column("pairs", "Pairs", "count"),
        Column("leaving", "Leave their class", "rate", "share of pairs between which some point is of the other class"),
    )
    caption = (
        f"Random pairs of classes in {DIMENSION} dimensions, and pairs of samples of one class. Flat: Gaussians with "
        "eigenvalues 9 to 1 whose means are 3 apart."
    )
    return Table("loop-proposition", "How often the way leaves the class", caption, columns, pd.DataFrame(rows))
