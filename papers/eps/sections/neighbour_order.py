"""Where easy positives want each neighbour of an anchor (Levi et al. 2021, claims 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.eps.theory import expected_risk, ranks
from papers.eps.theory.collapse import label_probabilities
from papers.series import Series, draw
from papers.verdict_statements import stated

CHANCES = (0.6, 0.8, 0.95)  # p of the figures
ALL_CHANCES = (0.55, 0.6, 0.7, 0.8, 0.9, 0.95)
PLACES = (1, 2, 3)  # of the nearer neighbour in claim 4
SAMPLES, SHOWN, FOREIGN = 120, 16, 3  # FOREIGN: of the other group come first, in the third order
MANY = (64, 256, 1024)


def orders() -> list[np.ndarray]:
    """The three orders that are shown: int64 (SAMPLES - 1,) each."""
    return [ranks.order_of(name, SAMPLES, FOREIGN) for name in ranks.ORDERS]


@cache
def _last(p: float) -> tuple[int, ...]:
    """For each order, the last place that is pulled; 0: none."""
    places = [np.flatnonzero(ranks.best_distance(order, p, 0.2, 1.2) < 1.2) for order in orders()]
    return tuple(int(pulled[-1]) + 1 if len(pulled) else 0 for pulled in places)


@cache
def beyond(p: float, place: int) -> tuple[int, int]:
    """Claim 4's least M, and that of its proof."""
    proven = ranks.proven_for_triplet(p, place)
    return ranks.pushed_beyond(p, place, proven + 1), proven


@cache
def claim_3() -> TheoryVerdict:
    """Confirmed if no order of the groups needs a larger M than the proof gives."""
    least = [ranks.pulled_up_to(p) for p in ALL_CHANCES]
    proven = [ranks.proven_for_margin(p) for p in ALL_CHANCES]
    inside = all(max(_last(p)) <= m <= bound for p, m, bound in zip(ALL_CHANCES, least, proven, strict=True))
    finding = (
        f"The least M over all orders of the groups is {_texts(least)} for p = {_texts(ALL_CHANCES)}; the proof's "
        f"bound gives {_texts(proven)}. A neighbour beyond place 1 is pulled only behind samples of the other group."
    )
    return TheoryVerdict("eps-claim-3", "confirmed" if inside else "undecided", finding)


@cache
def claim_4() -> TheoryVerdict:
    """As for claim 3, for the places of `PLACES`."""
    bounds = {place: [beyond(p, place) for p in ALL_CHANCES] for place in PLACES}
    inside = all(least <= proven for pairs in bounds.values() for least, proven in pairs)
    finding = (
        f"The least M over all orders is {_texts(m for m, _ in bounds[1])} for the nearest neighbour and "
        f"{_texts(m for m, _ in bounds[3])} for the third nearest, for p = {_texts(ALL_CHANCES)}; the proof's bounds "
        f"give {_texts(m for _, m in bounds[1])} and {_texts(m for _, m in bounds[3])}. M depends on the place t."
    )
    return TheoryVerdict("eps-claim-4", "confirmed" if inside else "undecided", finding)


@cache
def pushed() -> TheoryVerdict:
    """Refuted if, for one p, k differs between orders of the groups and numbers of samples."""
    first, mixed, other = (list(places) for places in zip(*map(_last, ALL_CHANCES), strict=True))
    pulled = {p: [ranks.pulled_by_all_triples(n, p) for n in MANY] for p in CHANCES}
    grows = all(counts[0] < counts[-1] for counts in pulled.values())
    finding = (
        "Margin loss: at most one neighbour is pulled, the nearest of the anchor's group. For p = "
        f"{_texts(ALL_CHANCES)} its place k is {_texts(first)} if the own group comes first, {_texts(mixed)} if the "
        f"groups alternate and {_texts(other)} behind {FOREIGN} of the other group (0: none is pulled). Triplet loss, "
        f"summed over all triples at collapsed groups: for p = {CHANCES[1]:g}, {_texts(pulled[CHANCES[1]])} are pulled "
        f"among {_texts(MANY)} samples."
    )
    corrected = (
        "With the margin loss at most the nearest sample of the own group is pulled, all others are pushed away; p "
        "only decides whether it is pulled behind nearer samples of the other group. With the triplet loss k also "
        "grows with the number of samples."
    )
    refuted = len(set(first)) == 1 and first != other and grows
    return TheoryVerdict(
        "eps-pushed-away", "refuted" if refuted else "undecided", finding, corrected if refuted else ""
    )


def _texts(values: object) -> str:
    return ", ".join(f"{value:g}" for value in values)  # type: ignore[attr-defined]


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
    series = []
    for order, title in zip(orders(), titles, strict=True):
        in_group = order[:SHOWN] < SAMPLES // 2
        for index, (p, shade) in enumerate(zip(CHANCES, figures.THREE, strict=True)):
            best = ranks.best_distance(order, p, 1.0, 0.0)[:SHOWN]
            weights = expected_risk.triplet_weights(label_probabilities(SAMPLES, 2, p), 0, order, easy=True)
            force = weights[0, 1:SHOWN] - weights[1:SHOWN, 0]
            force[np.abs(force) < 1e-12] = 0
            for loss, first, y in (("margin", 1, best), ("triplet", 2, np.sign(force))):
                x, y = np.arange(first, SHOWN + 1), y + 0.16 * (1 - index)
                for name, shown, face in (("", in_group, shade), ("other group, ", ~in_group, figures.PAPER)):
                    dots = {"color": shade, "markerfacecolor": face} | ({"label": ""} if name else {})
                    chosen = shown[first - 1 :]
                    series.append(Series(f"{loss}, {title}", f"{name}p = {p:g}", x[chosen], y[chosen], "o", **dots))
    frame = draw(grid.T.flat, series)
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
    series = [
        Series("claim 3: M", "least", chances, [ranks.pulled_up_to(p) for p in chances], color=figures.BLUE),
        Series("claim 3: M", "proof", chances, [ranks.proven_for_margin(p) for p in chances], ":", color=figures.BLUE),
    ]
    for place, shade in zip(PLACES, figures.THREE, strict=True):
        least, proof = zip(*(beyond(float(p), place) for p in chances[::3]), strict=True)
        series.append(Series("claim 4: M", f"place {place}", chances[::3], least, color=shade))
        series.append(Series("claim 4: M", f"proof, place {place}", chances[::3], proof, ":", color=shade, label=""))
    for p, shade in zip(CHANCES, figures.THREE, strict=True):
        pulled = [ranks.pulled_by_all_triples(n, p) for n in MANY]
        series.append(Series("pulled by all triples", f"p = {p:g}", MANY, pulled, "o-", color=shade))
    frame = draw((margin, triplet, many), series)
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
