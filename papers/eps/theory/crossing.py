"""Claims 1 and 2: from how many samples on two modes have less expected risk than one, with easy positives.

Levi et al., appendix B: in f1 every group is one point, and the points are `separation` apart; f2 differs in that the
halves of the first group are `separation` apart. Only the anchors of the first group differ between the two, so the
sign of f1 - f2 is that of one such anchor, and thousands of samples are cheap.

The proofs give an M from which f2 is the lower one. Deviations: the factor 1 / (2 t) that the sum over k leaves is
missing from the left side of claim 1's last condition, its right side prints p^(M / 4) for p^(M / 2t), and the sums of
powers of p are printed as those of q; the condition below has these corrected.
"""

from __future__ import annotations

from collections.abc import Callable

from papers.eps.theory import modes

ALPHA = 1.0  # all risks scale with it


def advantage(n: int, groups: int, p: float, loss: str, separation: float = 1.0, beta: float = 1.0) -> float:
    """f1 - f2 of one anchor of the first group, in alphas; `separation` and `beta` are in alphas too.

    Parameters
    ----------
    n : samples, a multiple of `2 * groups`.
    loss : `triplet`, or `margin`, which has the `beta`.
    """
    size = n // groups
    one, two = (modes.blocks(n, groups, p, mode) for mode in (size, size // 2))
    if loss == "triplet":
        return modes.triplet(one, ALPHA, separation, separation) - modes.triplet(two, ALPHA, separation, separation)
    f1, f2 = (modes.margin(weights, ALPHA, beta, separation, separation) for weights in (one, two))
    return f1 - f2


def crossing(
    groups: int, p: float, loss: str, most: int = 1000, separation: float = 1.0, beta: float = 1.0
) -> int | None:
    """The least n from which f2 is the lower one for every n up to `most`; None if it is not at the last."""
    least = None
    for n in range(most // (2 * groups) * 2 * groups, 0, -2 * groups):
        if advantage(n, groups, p, loss, separation, beta) <= 0:
            break
        least = n
    return least


def proven_for_triplet(groups: int, p: float) -> int:
    """Claim 1's M, for two groups as the proof has them."""
    q = 1 - p

    def enough(n: int) -> bool:
        half = n / (2 * groups)
        return q**2 * (1 - q**half) / (1 - q) / (2 * groups) > 4 * p**half / q

    return _first(enough, groups)


def proven_for_margin(groups: int, p: float) -> int:
    """Claim 2's M."""
    q = 1 - p

    def enough(n: int) -> bool:
        half = n / (2 * groups)
        return 2 * p * q > p**2 * q ** (half - 2) + q**2 * p ** (half - 2)

    return _first(enough, groups)


def _first(enough: Callable[[int], bool], groups: int) -> int:
    """The least admissible n that is enough; both conditions keep holding for larger n."""
    n = 2 * groups
    while not enough(n):
        n += 2 * groups
    return n
