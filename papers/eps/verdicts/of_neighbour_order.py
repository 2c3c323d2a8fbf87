"""The verdicts on claims 3 and 4, and on how many neighbours are pulled."""

from __future__ import annotations

from functools import cache

import numpy as np

from dml.report.sections import TheoryVerdict
from papers.eps.theory import ranks

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
    return tuple(int(found[-1]) + 1 if len(found) else 0 for found in places)


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
    found = {place: [beyond(p, place) for p in ALL_CHANCES] for place in PLACES}
    inside = all(least <= proven for pairs in found.values() for least, proven in pairs)
    finding = (
        f"The least M over all orders is {_texts(m for m, _ in found[1])} for the nearest neighbour and "
        f"{_texts(m for m, _ in found[3])} for the third nearest, for p = {_texts(ALL_CHANCES)}; the proof's bounds "
        f"give {_texts(m for _, m in found[1])} and {_texts(m for _, m in found[3])}. M depends on the place t."
    )
    return TheoryVerdict("eps-claim-4", "confirmed" if inside else "undecided", finding)


@cache
def pushed() -> TheoryVerdict:
    """Refuted if, for one p, k differs between orders of the groups and numbers of samples."""
    own, mixed, other = (list(places) for places in zip(*map(_last, ALL_CHANCES), strict=True))
    pulled = {p: [ranks.pulled_by_all_triples(n, p) for n in MANY] for p in CHANCES}
    grows = all(counts[0] < counts[-1] for counts in pulled.values())
    finding = (
        "Margin loss: at most one neighbour is pulled, the nearest of the anchor's group. For p = "
        f"{_texts(ALL_CHANCES)} its place k is {_texts(own)} if the own group comes first, {_texts(mixed)} if the "
        f"groups alternate and {_texts(other)} behind {FOREIGN} of the other group (0: none is pulled). Triplet loss, "
        f"summed over all triples at collapsed groups: for p = {CHANCES[1]:g}, {_texts(pulled[CHANCES[1]])} are pulled "
        f"among {_texts(MANY)} samples."
    )
    corrected = (
        "With the margin loss at most the nearest sample of the own group is pulled, all others are pushed away; p "
        "only decides whether it is pulled behind nearer samples of the other group. With the triplet loss k also "
        "grows with the number of samples."
    )
    refuted = len(set(own)) == 1 and own != other and grows
    return TheoryVerdict(
        "eps-pushed-away", "refuted" if refuted else "undecided", finding, corrected if refuted else ""
    )


def _texts(values: object) -> str:
    return ", ".join(f"{value:g}" for value in values)  # type: ignore[attr-defined]
