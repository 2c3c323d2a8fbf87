"""Where easy positives want each neighbour of an anchor (Levi et al. 2021, claims 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.figures import Series, draw
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.eps.theory import expected_risk, ranks
from papers.eps.theory.collapse import label_probabilities
from papers.eps.verdicts.of_neighbour_order import (
    ALL_CHANCES,
    CHANCES,
    FOREIGN,
    MANY,
    PLACES,
    SAMPLES,
    SHOWN,
    beyond,
    claim_3,
    claim_4,
    orders,
    pushed,
)
from papers.verdict_statements import stated


class NeighbourOrder:
    """At most one neighbour is pulled by the margin loss; the triplet loss pulls more, the more samples there are."""

    anchor, title = "order", "Which neighbours easy positives pull and push"

    def content(self) -> Iterator[Block | None]:
        """Verdicts, two figures and a table."""
        yield Paragraph(
            "Two groups, and one anchor whose neighbours are sorted by distance. Each neighbour's best distance "
            "follows from how probable it is that it is the easy positive, and that it is a negative. Claim 3: beyond "
            "some place M, D = beta + alpha is best (margin). Claim 4: of two neighbours that are more than M places "
            "apart, the farther one is best alpha beyond the nearer one (triplet)."
        )
        yield stated(self.verdicts(), ("Claim 3, margin", "Claim 4, triplet", "All but k neighbours are pushed away"))
        caption = (
            "Best distance against the place in the neighbour order. Filled: a neighbour of the anchor's group. Top: "
            "margin loss. Bottom: triplet loss, relative to the nearest neighbour; at 0 every distance within alpha is "
            f"equally good. Right: {FOREIGN} neighbours of the other group come first."
        )
        alt = "The best distance of each neighbour for three orders of the groups and three probabilities."
        yield Drawing("order", *_places(), alt, caption)
        caption = (
            "Solid: the least M that is right for every order of the groups. Dotted: the M of the proof. Right: how "
            "many neighbours of its group an anchor pulls in the sum over all triples, if both groups are collapsed."
        )
        alt = "The places up to which neighbours can be pulled, against the probability of a right label."
        yield Drawing("pulled", *_pulled(), alt, caption)
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """For claims 3 and 4, and for the number of neighbours that are not pushed away."""
        return [claim_3(), claim_4(), pushed()]


def _table() -> Table:
    rows = []
    for p in ALL_CHANCES:
        row = {"p": p, "margin": ranks.pulled_up_to(p), "margin proven": ranks.proven_for_margin(p)}
        for place in PLACES:
            row |= dict(zip((f"t{place}", f"t{place} proven"), beyond(p, place), strict=True))
        rows.append(row | {f"n{n}": ranks.pulled_by_all_triples(n, p) for n in MANY})
    columns = (
        Column("p", "p", "number", "probability of a right label"),
        Column("margin", "Claim 3, M", "count"),
        Column("margin proven", "by the proof", "count"),
        *(
            Column(f"t{t}{kind}", f"Claim 4, place {t}" if not kind else "by the proof", "count")
            for t in PLACES
            for kind in ("", " proven")
        ),
        *(Column(f"n{n}", f"Pulled, n = {n}", "count", "by the sum over all triples, groups collapsed") for n in MANY),
    )
    note = "The least M that is right for every order of the groups, and the M that the paper's bounds give."
    return Table("order", "Places from which neighbours are pushed", note, columns, pd.DataFrame(rows))


def _places() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 4.6), layout="constrained")
    grid = figure.subplots(2, 3, sharex=True, sharey="row")
    titles = (*ranks.ORDERS[:2], f"{FOREIGN} of the other group first")
    found = []
    for order, title in zip(orders(), titles, strict=True):
        own = order[:SHOWN] < SAMPLES // 2
        for index, (p, shade) in enumerate(zip(CHANCES, figures.THREE, strict=True)):
            best = ranks.best_distance(order, p, 1.0, 0.0)[:SHOWN]
            weights = expected_risk.triplet_weights(label_probabilities(SAMPLES, 2, p), 0, order, easy=True)
            force = weights[0, 1:SHOWN] - weights[1:SHOWN, 0]
            force[np.abs(force) < 1e-12] = 0
            for loss, first, y in (("margin", 1, best), ("triplet", 2, np.sign(force))):
                x, y = np.arange(first, SHOWN + 1), y + 0.16 * (1 - index)
                for name, shown, face in (("", own, shade), ("other group, ", ~own, figures.PAPER)):
                    dots = {"color": shade, "markerfacecolor": face} | ({"label": ""} if name else {})
                    chosen = shown[first - 1 :]
                    found.append(Series(f"{loss}, {title}", f"{name}p = {p:g}", x[chosen], y[chosen], "o", **dots))
    frame = draw(grid.T.flat, found)
    for top, bottom, title in zip(*grid, titles, strict=True):
        top.set_title(title)
        bottom.set_title("")
    grid[0, 0].set_yticks([-1, 1], ["beta \N{MINUS SIGN} alpha", "beta + alpha"])
    grid[1, 0].set_yticks([-1, 0, 1], ["D(1) \N{MINUS SIGN} alpha", "any", "D(1) + alpha"])
    grid[0, 0].set_ylabel("margin: best D")
    grid[1, 0].set_ylabel("triplet: best D")
    grid[0, 0].set_ylim(-1.5, 1.5)
    grid[1, 0].set_ylim(-1.5, 1.5)
    grid[0, 0].set_xticks([1, 4, 8, 12, 16])
    grid[0, 0].legend(frameon=False, fontsize=8, loc="center right")
    figure.supxlabel("place in the neighbour order", color=figures.MUTED, fontsize=9)
    return figure, frame


def _pulled() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.0), layout="constrained")
    margin, triplet, many = figure.subplots(1, 3)
    chances = np.linspace(0.52, 0.95, 44)
    found = [
        Series("claim 3: M", "least", chances, [ranks.pulled_up_to(p) for p in chances], color=figures.BLUE),
        Series("claim 3: M", "proof", chances, [ranks.proven_for_margin(p) for p in chances], ":", color=figures.BLUE),
    ]
    for place, shade in zip(PLACES, figures.THREE, strict=True):
        least, proof = zip(*(beyond(float(p), place) for p in chances[::3]), strict=True)
        found.append(Series("claim 4: M", f"place {place}", chances[::3], least, color=shade))
        found.append(Series("claim 4: M", f"proof, place {place}", chances[::3], proof, ":", color=shade, label=""))
    for p, shade in zip(CHANCES, figures.THREE, strict=True):
        pulled = [ranks.pulled_by_all_triples(n, p) for n in MANY]
        found.append(Series("pulled by all triples", f"p = {p:g}", MANY, pulled, "o-", color=shade))
    frame = draw((margin, triplet, many), found)
    for axes in (margin, triplet, many):
        axes.set_yscale("log")
        axes.set_xlabel("samples" if axes is many else "p")
        axes.set_yticks([1, 10, 100], ["1", "10", "100"])
        axes.minorticks_off()
    many.set_xscale("log")
    many.set_xticks(MANY, [str(n) for n in MANY])
    many.minorticks_off()
    triplet.legend(frameon=False, fontsize=8)
    many.legend(frameon=False, fontsize=8)
    return figure, frame
