"""Easy positives: what the expected loss asks of a neighbour at a given place in an anchor's order (claims 3 and 4).

Levi et al., appendix B, for two groups: a sample has its group's label with probability p, q = 1 - p. Of the neighbours
nearer than the one in question, `group` are of the anchor's group and `other` are not.

Margin: a neighbour that is the easy positive with probability P and a negative with probability N is best at D = beta -
alpha if P > N, and at beta + alpha if P < N. Triplet: of two neighbours the farther one is best at alpha beyond the
nearer one if "nearer is the positive, farther a negative" is likelier than the reverse.

    P = p p q^group p^other + q q p^group q^other     (a neighbour of the anchor's group)
    N = 2 p q, or p p + q q for one of the other group

P > N is only possible for the nearest sample of the anchor's group: P <= 2 p q if group >= 1, and a sample of the
other group has P <= 2 p q <= N.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from papers.eps.theory import collapse, expected_risk

ORDERS = ("own group first", "alternating", "other group first")


def order_of(name: str, n: int, foreign: int = 0) -> np.ndarray:
    """int64 (n - 1,): the neighbours of sample 0, nearest first, if samples 0 to n / 2 - 1 are of its group.

    `foreign`: for `other group first`, how many of the other group come first, then all of the own; 0: all.
    """
    group, other = np.arange(1, n // 2), np.arange(n // 2, n)
    if name == ORDERS[0]:
        return np.concatenate([group, other])
    if name == ORDERS[1]:
        return np.concatenate([np.stack([other[:-1], group], axis=1).ravel(), other[-1:]])
    first = foreign or len(other)
    return np.concatenate([other[:first], group, other[first:]])


def margin_terms(order: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """float (n - 1,) both: P and N of each neighbour, nearest first; `order` from `order_of`."""
    labels = collapse.label_probabilities(len(order) + 1, 2, p)
    positive = expected_risk.positive_weights(labels, 0, order, easy=True).sum(axis=1)
    return positive, 1 - labels[order] @ labels[0]


def best_distance(order: np.ndarray, p: float, alpha: float, beta: float) -> np.ndarray:
    """float (n - 1,): where the margin loss with EPS wants each neighbour, nearest first."""
    positive, negative = margin_terms(order, p)
    return np.where(positive > negative, beta - alpha, beta + alpha)


def pulled_up_to(p: float) -> int:
    """The last place at which a neighbour can be pulled by the margin loss, over all orders: claim 3's least M.

    It is reached if all nearer neighbours are of the other group. Own group first: 1, whatever p.
    """
    q, other = 1 - p, 0
    while p ** (3 + other) + q ** (3 + other) > 2 * p * q:
        other += 1
    return other + 1


def proven_for_margin(p: float) -> int:
    """The least M from which the proof's bound 4 p^(j - 1) is below 2 p q for all j > M."""
    q = 1 - p
    return math.floor(1 + math.log(p * q / 2) / math.log(p))


def triplet_terms(p: float, nearer: tuple[int, int, bool], between: tuple[int, int], far: bool) -> tuple[float, float]:
    """P(the nearer is the easy positive, the farther a negative), and P(the farther is the positive, the nearer not).

    Parameters
    ----------
    nearer : how many of the anchor's and the other group come before the nearer neighbour, and if it is of the former.
    between : how many of the anchor's and the other group come between the two.
    far : whether the farther neighbour is of the anchor's group.
    """
    before_group, before_other, near = nearer
    first = second = 0.0
    for chance in (p, 1 - p):  # the anchor has its group's label, or the other's; members of its group agree with it
        agrees = {True: chance, False: 1 - chance}
        free = chance * (1 - agrees[True]) ** before_group * (1 - agrees[False]) ** before_other
        first += free * agrees[near] * (1 - agrees[far])
        inside = (1 - agrees[True]) ** between[0] * (1 - agrees[False]) ** between[1]
        second += free * (1 - agrees[near]) * inside * agrees[far]
    return first, second


def pushed_beyond(p: float, place: int, most: int) -> int:
    """Claim 4's least M for the neighbour at `place` (1: the nearest), over all orders of the groups, up to `most`.

    For every j > M the neighbour at `place + j` is best at alpha beyond the one at `place`.
    """
    last = 0
    for before_group in range(place):
        for near, far in product((True, False), repeat=2):
            for step in range(last + 1, most + 1):
                for inside in {0, step - 1}:  # the second chance is convex in `inside`
                    nearer = (before_group, place - 1 - before_group, near)
                    first, second = triplet_terms(p, nearer, (inside, step - 1 - inside), far)
                    if second >= first * (1 - 1e-12):
                        last = max(last, step)
    return last


def proven_for_triplet(p: float, place: int) -> int:
    """The least M from which the proof's bounds, q^(t + 1) > 4 p^(t + j - 1), hold; t = place + 1 counts the anchor."""
    t = place + 1
    return math.floor(math.log((1 - p) ** (t + 1) / 4) / math.log(p) - t + 1)


def pulled_by_all_triples(n: int, p: float) -> int:
    """How many neighbours the sum over all triples pulls, if both groups are collapsed, alpha apart.

    The slope of an anchor's risk as one neighbour of its group moves outwards: triples in which it is the positive,
    minus triples in which it is the negative.
    """
    labels = collapse.label_probabilities(n, 2, p)
    weights = expected_risk.triplet_weights(labels, 0, np.arange(1, n), easy=True)
    slopes = weights.sum(axis=1) - weights.sum(axis=0)
    return int((slopes[: n // 2 - 1] > 0).sum())
